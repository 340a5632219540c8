/* heap.h - cells of lists, dicts, objects and storages: the only functions that write them, and the
 * undo trail that makes branches right.
 *
 * tools/check-layers says when somebody else writes one. */
#ifndef PT2ONNX_VALUE_HEAP_H
#define PT2ONNX_VALUE_HEAP_H

#include "value/tensor.h"

/* Items of lists are written by list_set, entries of dicts by dict_set, slots of objects by
 * obj_set: those know whether a branch can see them. cell_set is for cells that belong to none of
 * these. */

void cell_set(Ctx *cx, Cell *c, Value v);
void cell_put(Ctx *cx, Cell *c, uint64_t created,
              Value v);           /* of something that was made then, as a Change says */
void cell_init(Cell *c, Value v); /* a cell that nobody else has seen yet: no trail */
void list_set(Ctx *cx, List *l, int64_t i, Value v);  /* 0 <= i < n */
void list_stack(Ctx *cx, List *l, struct Stacked *s); /* the list is stacked from now on; NULL:
                                                         empty, with items of its own again */
void obj_set(Ctx *cx, Obj *o, int64_t i, Value v);
void list_append(Ctx *cx, List *l, Value v);
void list_insert(Ctx *cx, List *l, int64_t i, Value v);
Value list_remove(Ctx *cx, List *l, int64_t i);
void list_resize(Ctx *cx, List *l, int64_t n); /* truncates, or grows with V_NONE */
/* l holds what `from` does, which nobody uses from here on: the joined state of a branch, the
 * carried one of a loop. No write of the program's. */
void list_become(Ctx *cx, List *l, const List *from);
void list_put(Ctx *cx, List *l, int64_t i,
              Value v);                     /* as list_become, of one item; i == n: one more */
void list_cut(Ctx *cx, List *l, int64_t n); /* and with the first n items only */
/* Nobody can tell whether a and b are one list: once one is written, the other is `lost`, which
 * nobody can read. */
void list_maybe_same(Ctx *cx, List *a, List *b, struct Stacked *invalid);
const Cell *dict_find(Ctx *cx, Dict *d, Value key); /* NULL when absent */
void dict_set(Ctx *cx, Dict *d, Value key, Value v);
bool dict_remove(Ctx *cx, Dict *d, Value key);
void dict_become(Ctx *cx, Dict *d, const Dict *from);  /* as list_become */
void dict_enter(Ctx *cx, Dict *d, Value key, Value v); /* of one key */
bool dict_drop(Ctx *cx, Dict *d, Value key);
void dict_invalidate(Ctx *cx, Dict *d, Str why);          /* nobody may look at it */
void dict_maybe_same(Ctx *cx, Dict *a, Dict *b, Str why); /* as list_maybe_same */
const char *container_name(Value v);                      /* "list", "dict", "object" */
/* A tensor without contents that counts as written whenever this list, dict or object is: for what
 * holds it. NULL for other values. */
Tensor *container_mark(Ctx *cx, Value v);
const Tensor *container_marked(Value v); /* the same; NULL where nobody has asked for it yet */
/* An object that is no module. */
static inline bool is_plain_object(Value v) { return v.tag == V_OBJ && !v.obj->path; }
void container_share_mark(Ctx *cx, Value copy,
                          Value v); /* copy, which is new, counts as written whenever v is */
/* Why nobody can tell what this list, dict or object holds: one that may be the same was written.
 * NULL: it is told. */
Str container_invalid(Value v);
Storage *storage_new(Ctx *cx, Ox v);
void storage_set(Ctx *cx, Storage *st, Ox v);
void storage_was_there(
    Storage *st); /* before any branch, though it is first met in one: the file's */
List *list_new(Ctx *cx, int64_t cap, Str elem);
Dict *dict_new(Ctx *cx, Str type);
Obj *obj_new(Ctx *cx, const struct ClassDef *cls, int64_t n, const Str *names, Str path);

/* The trail: open a branch, write, see what differs, undo. Branches nest. */
typedef struct Change {
    enum { CHANGE_CELL, CHANGE_LIST, CHANGE_DICT, CHANGE_STORAGE } kind;
    void *what;   /* Cell*, List*, Dict*, Storage* */
    Value before; /* CELL */
    Ox before_ox;
    uint32_t before_version;        /* STORAGE */
    struct Stacked *before_stacked; /* LIST */
    Str before_invalid;             /* DICT */
    void *before_home;
    int64_t before_n, before_cap,
        before_front; /* LIST, DICT: the items themselves are in ItemChanges */
    bool moved; /* LIST, DICT: items have other places than before; ItemChanges do not tell all */
    uint64_t created;
} Change;
/* Item i of a list, or entry i of a dict, was written. */
typedef struct ItemChange {
    const void *of;
    int64_t i;
    Cell *cell; /* where it lay before */
    Value before;
} ItemChange;
typedef size_t TrailMark;
TrailMark trail_open(Ctx *cx);
bool trail_is_open(Ctx *cx); /* is any branch open? */
size_t trail_changes(Ctx *cx, TrailMark m,
                     const Change **out); /* since m; each `what` once, oldest `before` */
size_t trail_items(Ctx *cx, TrailMark m,
                   const ItemChange **out);   /* since m; each item once, if it was there before */
void *trail_before(Ctx *cx, const Change *c); /* LIST, DICT, in the innermost branch: the Cells or
                                                 DictEntries that it had */
void trail_undo(Ctx *cx, TrailMark m);        /* back to the state at m; the branch is closed */
uint64_t heap_now(Ctx *cx); /* the clock: what is born later has a greater number */

/* Copies of the items, and of the keys and values in turn, in the arena. */
Value *list_values(Ctx *cx, const List *l, int64_t *n);
Value *dict_values(Ctx *cx, const Dict *d, int64_t *n);

#endif
