/* heap.h - the only functions that write lists, dicts, objects and storages, and the trail that
 * undoes their writes.
 *
 * A branch that ONNX decides is run with the trail open: trail_open, run it, read off what it has
 * changed, trail_undo; then the other branch starts from the same state. So every write must come
 * through here; tools/check-layers finds any other. A write that finds no memory is dropped, and so
 * is one that would make a list or dict part of itself: the context has failed. */
#ifndef PT2ONNX_VALUE_HEAP_H
#define PT2ONNX_VALUE_HEAP_H

#include "value/tensor.h"

/* ---- making what can be written (empty when there is no memory: the context has failed) ---- */

/* Memory for values, which goes with the evaluation; what a reader keeps stays. As mem_array. */
void *mem_values(Ctx *cx, size_t n, size_t size);
#define new_value(cx, T) ((T *)mem_values((cx), 1, sizeof(T)))

List *list_new(Ctx *cx, int64_t cap, Str elem); /* empty, with room for cap items */
Dict *dict_new(Ctx *cx, Str type);
/* n slots of V_UNINIT. cls, names and path: see Obj; not copied. */
Obj *obj_new(Ctx *cx, const struct ClassDef *cls, int64_t n, const Str *names, Str path);
/* The same for the locals of a call: scratch of it (base.h), unless a branch is open, whose trail
 * knows them for longer. */
Obj *obj_of_locals(Ctx *cx, int64_t n, const Str *names);
Storage *storage_new(Ctx *cx, Ox v);
/* The storage is the file's, although a branch has met it first: writing it there is logged. */
void storage_was_there(Storage *st);

/* ---- writes of the program ---- */

/* Whatever may be the same container becomes invalid; so does what holds it (container_mark). */

void list_set(Ctx *cx, List *l, int64_t i, Value v); /* 0 <= i < n */
void list_append(Ctx *cx, List *l, Value v);
void list_insert(Ctx *cx, List *l, int64_t i, Value v); /* 0 <= i <= n */
Value list_remove(Ctx *cx, List *l, int64_t i);         /* what it held; 0 <= i < n */
void list_resize(Ctx *cx, List *l, int64_t n);          /* truncates, or grows with V_NONE */
/* The list is stacked from now on; s NULL: it is empty, with items of its own again. */
void list_stack(Ctx *cx, List *l, struct Stacked *s);
void dict_set(Ctx *cx, Dict *d, Value key, Value v);
bool dict_remove(Ctx *cx, Dict *d, Value key); /* false when the key is absent */
void obj_set(Ctx *cx, Obj *o, int64_t i, Value v);
void storage_set(Ctx *cx, Storage *st, Ox v); /* of any tensor: use tensor_write */

/* ---- writes of the evaluator ---- */

/* These make a container what it is behind a branch or in an iteration. They are logged as the
 * others are, but nothing becomes invalid. list_become: l holds what `from` does, which must
 * not be used afterwards. */
void list_become(Ctx *cx, List *l, const List *from);
void dict_become(Ctx *cx, Dict *d, const Dict *from);
void list_put(Ctx *cx, List *l, int64_t i, Value v);   /* one item; i == n: one more */
void list_cut(Ctx *cx, List *l, int64_t n);            /* keeps the first n items */
void dict_enter(Ctx *cx, Dict *d, Value key, Value v); /* one entry */
bool dict_drop(Ctx *cx, Dict *d, Value key);           /* without that key; false when absent */
void dict_invalidate(Ctx *cx, Dict *d, Str why);       /* reading it is an error from now on */

/* ---- cells that belong to no list, dict or object ---- */

void cell_set(Ctx *cx, Cell *c, Value v);
/* The same for a cell that was made when the clock said `created`: a branch that has made it itself
 * logs nothing. */
void cell_put(Ctx *cx, Cell *c, uint64_t created, Value v);
void cell_init(Cell *c, Value v); /* one that nothing refers to yet: never logged */

/* ---- reading ---- */

const Cell *dict_find(Ctx *cx, Dict *d, Value key); /* NULL when absent */
/* Copies, in the arena: the items; each key with its value behind it. *n: how many, 0 without
 * memory. */
Value *list_values(Ctx *cx, const List *l, int64_t *n);
Value *dict_values(Ctx *cx, const Dict *d, int64_t *n);
const char *container_name(Value v); /* "list", "dict", "object": for messages */
/* Is v an object that is no module? */
static inline bool is_plain_object(Value v) { return v.tag == V_OBJ && !v.obj->path; }

/* ---- containers that may be one, and what holds a container ---- */

/* It is not known whether a and b are one list (or dict): once one is written, the other is
 * `invalid` (or invalid because of `why`), and reading it is an error. */
void list_maybe_same(Ctx *cx, List *a, List *b, struct Stacked *invalid);
void dict_maybe_same(Ctx *cx, Dict *a, Dict *b, Str why);
/* The mark of a list, dict or object: a tensor without contents that counts as written whenever the
 * container is, for tensor_holds and tensor_maybe_shared. NULL for other values. */
Tensor *container_mark(Ctx *cx, Value v);
const Tensor *container_marked(
    Value v); /* the same; NULL also as long as container_mark has not been called */
/* `copy`, which is new, counts as written whenever v is. */
void container_share_mark(Ctx *cx, Value copy, Value v);
/* Why what this list, dict or object holds is not known (an alias was written); NULL: it is. */
Str container_invalid(Value v);

/* ---- the trail ---- */

/* One write, as the innermost branch logged it: what the thing was before. Each thing has one entry
 * a branch, that of the first write. */
typedef enum { CHANGE_CELL, CHANGE_LIST, CHANGE_DICT, CHANGE_STORAGE } ChangeKind;
typedef struct Change {
    ChangeKind kind;
    void *what;                     /* Cell*, List*, Dict*, Storage* */
    Value before;                   /* CELL */
    Ox before_ox;                   /* STORAGE */
    uint32_t before_version;        /* STORAGE */
    struct Stacked *before_stacked; /* LIST */
    Str before_invalid;             /* DICT */
    /* LIST, DICT: the array itself; an item in it that was written since is in an ItemChange. */
    void *before_home;
    struct DictIndex *before_index; /* DICT, once items have moved: NULL is made again */
    int64_t before_n, before_cap, before_front;
    bool moved; /* LIST, DICT: items have other places now, so ItemChanges do not tell all */
    uint64_t created;
} Change;

/* Item i of a list, or entry i of a dict, was written. */
typedef struct ItemChange {
    const void *of;
    int64_t i;
    Cell *cell; /* where it lay before */
    Value before;
} ItemChange;

typedef size_t TrailMark; /* an open branch; 0: there was no memory for it, and it has no changes */
TrailMark trail_open(Ctx *cx);
bool trail_is_open(Ctx *cx);           /* is any branch open? */
void trail_undo(Ctx *cx, TrailMark m); /* back to the state at m, and the branch is closed */
/* What the branch m, which must be the innermost, has changed so far: how many, and *out, which is
 * the heap's own and good until the next write. Items: only those that were there before. */
size_t trail_changes(Ctx *cx, TrailMark m, const Change **out);
size_t trail_items(Ctx *cx, TrailMark m, const ItemChange **out);
/* Of a CHANGE_LIST or CHANGE_DICT of the innermost branch: a copy of the before_n Cells, or
 * DictEntries, that it had. NULL: it had none, or there is no memory. */
void *trail_before(Ctx *cx, const Change *c);
uint64_t heap_now(Ctx *cx); /* the clock: what is made later has a greater `created` */
/* How often the memory of a tensor that may be another's too was written. */
uint64_t heap_shared_writes(Ctx *cx);
void heap_note_shared_write(Ctx *cx);

#endif
