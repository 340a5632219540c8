/* value.h - what the evaluator computes with, and all of eval that operators may see.
 *
 * Numbers, strings, lists, dicts, objects and modules are concrete; only tensors, and numbers that depend on a dynamic
 * dimension or on data, are staged. Copy a Value freely: List, Dict, Obj and Tensor are shared by pointer and have
 * identity, as in Python. All mutable state lies in cells; heap.c is the only writer and keeps the undo trail that makes
 * branches right (tools/check-layers says when somebody else writes one). */
#ifndef PT2ONNX_VALUE_H
#define PT2ONNX_VALUE_H

#include "onnx/onnx.h"

typedef enum {
    V_POISON,       /* an error or refusal has happened: flows through everything */
    V_NONE, V_BOOL, V_INT, V_FLOAT, V_COMPLEX, V_STR,
    V_DEVICE,       /* s: "cpu", "cuda:0" */
    V_DTYPE,        /* only where the file tells (pt2); TorchScript has plain ints: arg_dtype takes both */
    V_SYMINT,       /* an int that is a Dim; from data: a fresh symbol with an origin */
    V_SYMFLOAT,     /* ox: 0-d double (or the tensor's own type), counts as a Python number */
    V_SYMBOOL,      /* a predicate over dims, or ox: 0-d bool */
    V_TENSOR, V_LIST, V_TUPLE, V_DICT, V_OBJ,
    V_ENUM,         /* e: class, name, value */
    V_FUTURE,       /* of fork: the value itself, already computed */
    V_CLASS, V_FUNCTION, V_NAMESPACE,   /* callables and paths, inside eval only */
    V_UNINIT,       /* uninitialized(T): may be passed around, never read */
    V_CHOICE,       /* one of several known strings or members of an enum, as the running model decides (choice.c) */
    V_MAYBE,        /* None or a value, as the running model decides: may be passed around, asked `is None`, and read behind that */
} ValTag;

typedef struct List List;
typedef struct Tuple Tuple;
typedef struct Dict Dict;
typedef struct Obj Obj;
typedef struct Tensor Tensor;
typedef struct Storage Storage;

typedef struct Maybe Maybe;
/* ox NULL: the predicate `a rel b`; else ox: where it is true `left` and `right` are, if they are there. */
typedef struct SymBool { Rel rel; Dim a, b; Ox ox; const struct SymBool *left, *right; } SymBool;

typedef struct Value {
    ValTag tag;
    union {
        bool b; int64_t i; double f; const double *c /* re, im */; Str s; DType dtype;
        Dim dim; Ox ox; const SymBool *sb;
        Tensor *t; List *list; Tuple *tuple; Dict *dict; Obj *obj;
        const struct EnumMember *e; const struct Value *future; const struct Maybe *maybe; const struct Choice *choice; const void *any;
    };
} Value;

typedef struct Choice { const Value *at; int64_t n; Value index; /* an int below n */ } Choice;
struct Maybe { Value present; /* a bool */ Value value; /* zeros while it is None: nobody reads them */ bool key; /* of a dict's entry: is the key there? */ };

typedef struct Cell { Value v; } Cell;          /* written by heap.c only */

/* A list whose length ONNX decides is *stacked* (eval/stacked.h): `at` and `n` say nothing then, so whoever looks at a list asks first. */
struct List { Cell *at; int64_t n, cap, front /* free cells before the first */; Str elem; /* "int", "Tensor": of empty ones; may be NULL */ struct Stacked *stacked; uint64_t born;
              struct ListPeer *peers; /* lists that may be this very one (list_maybe_same) */ Tensor *mark; /* container_mark */ };
struct Tuple { int64_t n; Str type; /* NamedTuple's class or NULL */ const Str *fields; Value at[]; };
typedef struct { Value key; Cell val; } DictEntry;
struct Dict { DictEntry *at; int64_t n, cap; Str type; struct DictIndex *index; uint64_t born;
              struct DictPeer *peers; Str lost; /* why nobody may look at it, once a peer was written */ Tensor *mark;
              bool some_open; /* some entries were, or are, a Maybe of a key */ bool unordered; /* and their order only the running model knows */ };
struct Obj { const struct ClassDef *cls; Cell *slot; int64_t n; Str path; /* "layer1.0" of a module, "" the root, NULL a plain object */ const Str *names; uint64_t born; size_t held; /* state.c's number for it, 0 none */
             Tensor *mark; };
typedef struct EnumMember { const struct ClassDef *cls; Str name; Value value; } EnumMember;

/* ---- tensors ---- */

typedef enum { PLAIN = 1, QUANT = 2, PACKED_SEQUENCE = 4 } Kinds;   /* a set */

/* What several tensors see. Written through any of them; `version` counts writes. */
struct Storage {
    Ox now;                         /* the whole, in the shape of the tensor that made it */
    uint32_t version;               /* never the same twice in one evaluation, undone branches included; 0: never written */
    Str name;                       /* state_dict name, or the input's name; NULL for a computed one */
    bool state;                     /* a parameter, buffer or attribute of the saved model */
    SourceId written;               /* of state: where the last write was */
    bool input;
    bool held;                      /* state.c has met it */
    bool shared_bytes;              /* another storage of the file overlaps it: a write is refused */
    struct Peer *peers;             /* storages that may or may not be this very memory (tensor.c) */
    Str lost;                       /* why nobody can tell what it holds, once a peer was written (`now` is POISON then) */
    uint64_t born;                  /* heap.c's clock when it was made: what a branch itself made needs no trail */
};

/* zero_point: of type dtype; float32 where it need not be whole (of a quantised table). axis -1: one of each. bytes: of a saved tensor
 * of 4 bits the bytes that hold two numbers each, the low half first, where its rows are whole bytes; else NULL. exact: the one scale as
 * PyTorch keeps it, where it is known; else 0. */
typedef struct QuantInfo { Ox scale, zero_point; int axis; DType dtype; Ox bytes; double exact; } QuantInfo;

struct Tensor {
    Storage *st;
    Tensor *base;                   /* of a view: the tensor it was made from; NULL: the storage itself */
    const struct OpCall *view;      /* of a view: the bound call that made it, to read again and to write back */
    Ox read; uint32_t read_version; /* the value when st->version was this */
    Kinds kind;
    bool number;                    /* PyTorch's "wrapped number": set when CONSTANTS.cN (0-d) is read, dropped by any operator */
    const int64_t *strides;         /* static multipliers in elements; NULL: contiguous if `contiguous`, else unknown */
    Tri contiguous;                 /* when neither strides nor stride tell */
    const Dim *stride;              /* of views: per axis, in elements; NULL: not told by the view */
    const QuantInfo *quant;
};

Tensor *tensor_new(Ctx *cx, Ox v);                              /* with a fresh storage; contiguous */
/* The result of a view row's call, whose value now is `read`: shares base's storage. For the operators that alias only when
 * PyTorch's would (reshape, flatten, contiguous, to) strides decide: a copy gets a storage of its own; where nobody can tell it
 * does too, and the two become peers. */
Tensor *tensor_view(Ctx *cx, Tensor *base, const struct OpCall *call, Ox read);
/* squeeze_, t_ and the like: t itself becomes that view of what it was. Views that were made of it stay what they are. */
MUST_USE bool tensor_become(Ctx *cx, Tensor *t, const struct OpCall *call, Ox read);
/* out=: a tensor that is no view takes the shape of what is written to it. Whatever shared its memory is lost, unless it was empty. */
MUST_USE bool tensor_refill(Ctx *cx, Tensor *t, Ox v);
/* set_: t itself becomes another tensor of source's memory. Views that were made of it stay what they are. */
MUST_USE bool tensor_take(Ctx *cx, Tensor *t, Tensor *source);
bool tensor_is_lost(const Tensor *t);                           /* reading it fails */
Ox storage_fail_lost(Ctx *cx, const Storage *st);               /* why it does; POISON */
Ox tensor_read(Graph *g, Tensor *t);                            /* the value now; views are recomputed when their storage has changed */
Ox tensor_read_as(Graph *g, const Tensor *t, Ox whole);         /* what it would be if its storage held that */
/* Write `v` (of t's shape and dtype) through t: every tensor of the storage sees it. False: refused. */
MUST_USE bool tensor_write(Graph *g, Tensor *t, Ox v);
Tri tensor_contiguous(Ctx *cx, Tensor *t);                      /* is_contiguous() */
Tri tensor_repeats(Ctx *cx, Tensor *t);                         /* does one element of memory stand for several of t, as after expand? */
bool tensor_strides(Ctx *cx, Tensor *t, Dim out[MAX_RANK]);     /* stride(); false: unknown */
Type tensor_type(const Tensor *t);                              /* dtype and shape never change by writing */
/* Nobody can tell whether a and b are the same memory: once one is written, reading the other is refused with `why`. */
void tensor_maybe_shared(Ctx *cx, Tensor *a, Tensor *b, Str why);
/* `part` is, or may be, one of the things that `whole` is made of: writing one loses the other, but not the other parts. */
void tensor_holds(Ctx *cx, Tensor *whole, Tensor *part, Str why);
/* Adds to out, as keys, every storage that is or may be this very memory. */
void storage_may_be(Ctx *cx, Storage *st, Map *out);
/* Adds it, what it holds, and what may be the same memory as any of these. What is in out already is not gone through. */
void storage_parts(Ctx *cx, Storage *st, Map *out);
/* st was written: what its peers hold, and theirs, nobody knows any more. */
void storage_lose_peers(Ctx *cx, Storage *st);
/* How often that was a tensor's memory that has peers. */
uint64_t heap_shared_writes(Ctx *cx);
void heap_note_shared_write(Ctx *cx);
Tensor *tensor_alias(Ctx *cx, Tensor *t);                       /* detach: same storage, same view, another identity */

/* Are they of one kind, and quantised alike? Of 4 bits only the same tensor's are: its bytes lie beside its numbers. */
bool tensors_same_kind(Ctx *cx, const Tensor *a, const Tensor *b);
/* Becomes like `one`, plain or quantised, in g. False: its scale is computed deeper. */
MUST_USE bool tensor_set_kind(const Graph *g, Tensor *t, const Tensor *one);

/* ---- making values ---- */

bool val_same_constant(Ctx *cx, Ox a, Ox b);                    /* two constants of equal elements */

static inline Value val_poison(void) { return (Value){ .tag = V_POISON }; }
static inline Value val_none(void) { return (Value){ .tag = V_NONE }; }
static inline Value val_bool(bool b) { return (Value){ .tag = V_BOOL, .b = b }; }
static inline Value val_int(int64_t i) { return (Value){ .tag = V_INT, .i = i }; }
static inline Value val_float(double f) { return (Value){ .tag = V_FLOAT, .f = f }; }
static inline Value val_str(Str s) { return (Value){ .tag = V_STR, .s = s }; }
static inline bool val_ok(Value v) { return v.tag != V_POISON; }
Value val_dim(Ctx *cx, Dim d);                                  /* V_INT when known, else V_SYMINT; NULL gives poison */
Value val_rel(Ctx *cx, Rel rel, Dim a, Dim b);                  /* V_BOOL when decided, else V_SYMBOOL */
void rel_not(Rel *rel, Dim *a, Dim *b);                         /* the relation that holds when this one does not */
Value val_symbool(Ctx *cx, Ox b);                               /* V_BOOL when constant */
Value val_implying(Ctx *cx, Value v, Value one, Value other);   /* v, a V_SYMBOOL with ox; where it is true, so are the two others */
Value val_both(Graph *g, Value x, Value y);                     /* x and y, each V_BOOL or V_SYMBOOL */
Value val_number_of(Graph *g, Ox v);                            /* item(): V_INT/V_FLOAT/V_BOOL when known, else symbolic (an int: its item, or a fresh symbol with origin) */
Value val_tensor(Ctx *cx, Ox v);                                /* POISON gives V_POISON */
Value val_tuple(Ctx *cx, const Value *at, int64_t n);
Value val_list(Ctx *cx, const Value *at, int64_t n, const char *elem);
Value val_complex(Ctx *cx, double re, double im);
Value val_maybe(Ctx *cx, Value present, Value value);
/* A value that may be passed around, and is an error with this reason, at this place, once it is looked at. */
Value val_never(Ctx *cx, Str why);
Value val_maybe_key(Ctx *cx, Value present, Value value);       /* open_dict.c */
bool val_is_maybe_key(Value v);
bool dict_is_open(const Dict *d);                               /* only the running model knows its keys, or their order */
static inline bool val_is_optional(Value v) { return v.tag == V_NONE || v.tag == V_MAYBE; }
static inline Value val_present(Value v) { return v.tag == V_MAYBE ? v.maybe->present : val_bool(v.tag != V_NONE); }

bool val_dim_of(Value v, Ctx *cx, Dim *out);                    /* V_INT, V_BOOL, V_SYMINT as a Dim */
bool val_equal(Ctx *cx, Value a, Value b);                      /* concrete values, as Python's == ; tensors by identity */
const char *val_kind(Value v);                                  /* "Tensor", "int", "List[int]"...: for messages */
Str val_text(Ctx *cx, Value v);                                 /* as str() and format() give it in TorchScript */
/* Tri truth of a condition: UNKNOWN for symbolic ones. */
Tri val_truth(Ctx *cx, Value v);
Ox symbool_ox(Graph *g, const SymBool *b);                      /* as a 0-d bool value */

/* c10's numbers of element types, which TorchScript writes as plain ints (dtype.c). DT_NONE for one that names none or that
 * ONNX lacks; quantised ones (12-14) give their storage type and set *quantised (may be NULL). -1: no number. */
DType dtype_of_c10(int64_t code, bool *quantised);
int64_t dtype_to_c10(DType t);

/* ---- heap.c: the only writer. Items of lists are written by list_set, entries of dicts by dict_set, slots of objects by
 * obj_set: those know whether a branch can see them. cell_set is for cells that belong to none of these. ---- */

void cell_set(Ctx *cx, Cell *c, Value v);
void cell_put(Ctx *cx, Cell *c, uint64_t born, Value v);         /* of something that was made then, as a Change says */
void cell_init(Cell *c, Value v);                               /* a cell that nobody else has seen yet: no trail */
void list_set(Ctx *cx, List *l, int64_t i, Value v);            /* 0 <= i < n */
void list_stack(Ctx *cx, List *l, struct Stacked *s);           /* the list is stacked from now on; NULL: empty, with items of its own again */
void obj_set(Ctx *cx, Obj *o, int64_t i, Value v);
void list_append(Ctx *cx, List *l, Value v);
void list_insert(Ctx *cx, List *l, int64_t i, Value v);
Value list_remove(Ctx *cx, List *l, int64_t i);
void list_resize(Ctx *cx, List *l, int64_t n);                  /* truncates, or grows with V_NONE */
/* l holds what `from` does, which nobody uses from here on: the joined state of a branch, the carried one of a loop. No write of the program's. */
void list_become(Ctx *cx, List *l, const List *from);
void list_put(Ctx *cx, List *l, int64_t i, Value v);            /* as list_become, of one item; i == n: one more */
void list_cut(Ctx *cx, List *l, int64_t n);                     /* and with the first n items only */
/* Nobody can tell whether a and b are one list: once one is written, the other is `lost`, which nobody can read. */
void list_maybe_same(Ctx *cx, List *a, List *b, struct Stacked *lost);
const Cell *dict_find(Ctx *cx, Dict *d, Value key);             /* NULL when absent */
void dict_set(Ctx *cx, Dict *d, Value key, Value v);
bool dict_remove(Ctx *cx, Dict *d, Value key);
void dict_become(Ctx *cx, Dict *d, const Dict *from);            /* as list_become */
void dict_enter(Ctx *cx, Dict *d, Value key, Value v);             /* of one key */
bool dict_drop(Ctx *cx, Dict *d, Value key);
void dict_lose(Ctx *cx, Dict *d, Str why);                      /* nobody may look at it */
void dict_maybe_same(Ctx *cx, Dict *a, Dict *b, Str why);       /* as list_maybe_same */
/* A tensor without contents that counts as written whenever this list, dict or object is: for what holds it. NULL for other values. */
Tensor *container_mark(Ctx *cx, Value v);
const Tensor *container_marked(Value v);                        /* the same; NULL where nobody has asked for it yet */
/* An object that is no module. */
static inline bool is_plain_object(Value v) { return v.tag == V_OBJ && !v.obj->path; }
void container_share_mark(Ctx *cx, Value copy, Value v);         /* copy, which is new, counts as written whenever v is */
/* Why nobody can tell what this list, dict or object holds: one that may be the same was written. NULL: it is told. */
Str container_lost(Value v);
Storage *storage_new(Ctx *cx, Ox v);
void storage_set(Ctx *cx, Storage *st, Ox v);
void storage_was_there(Storage *st);                            /* before any branch, though it is first met in one: the file's */
List *list_new(Ctx *cx, int64_t cap, Str elem);
Dict *dict_new(Ctx *cx, Str type);
Obj *obj_new(Ctx *cx, const struct ClassDef *cls, int64_t n, const Str *names, Str path);

/* The trail: open a branch, write, see what differs, undo. Branches nest. */
typedef struct Change {
    enum { CHANGE_CELL, CHANGE_LIST, CHANGE_DICT, CHANGE_STORAGE } kind;
    void *what;                     /* Cell*, List*, Dict*, Storage* */
    Value before;                   /* CELL */
    Ox before_ox; uint32_t before_version;   /* STORAGE */
    struct Stacked *before_stacked;          /* LIST */
    Str before_lost;                         /* DICT */
    void *before_home; int64_t before_n, before_cap, before_front;   /* LIST, DICT: the items themselves are in ItemChanges */
    bool moved;                     /* LIST, DICT: items have other places than before; ItemChanges do not tell all */
    uint64_t born;
} Change;
/* Item i of a list, or entry i of a dict, was written. */
typedef struct ItemChange { const void *of; int64_t i; Cell *cell; /* where it lay before */ Value before; } ItemChange;
typedef size_t TrailMark;
TrailMark trail_open(Ctx *cx);
bool trail_is_open(Ctx *cx);                                     /* is any branch open? */
size_t trail_changes(Ctx *cx, TrailMark m, const Change **out);  /* since m; each `what` once, oldest `before` */
size_t trail_items(Ctx *cx, TrailMark m, const ItemChange **out); /* since m; each item once, if it was there before */
void *trail_before(Ctx *cx, const Change *c);                    /* LIST, DICT, in the innermost branch: the Cells or DictEntries that it had */
void trail_undo(Ctx *cx, TrailMark m);                           /* back to the state at m; the branch is closed */

/* ---- assumptions: what nothing tells. Recorded in cx->facts, then evaluation starts again (E_RESTART) ---- */

/* v's rank is unknown: find the input it comes from, assume `rank`, restart. Returns false always (E_RESTART or E_UNDECIDED). */
bool assume_rank(Ctx *cx, Ox v, int rank, const char *why);
/* May a result have another rank in other runs of the model? Not once an evaluation with such values has failed: they are decided by
 * assumption then. */
bool rank_may_vary(Ctx *cx);
/* It does; usual: what the file says of v where it is an output, since ONNX wants one rank there. */
void rank_varies(Ctx *cx, Ox v, Type usual);
/* v's type was a default, not told: assume dtype. */
bool assume_dtype(Ctx *cx, Ox v, DType t, const char *why);
bool training_is_meant(Ctx *cx);                                 /* the caller wants modes as they are: layers may update the model's statistics */
bool dtype_is_assumable(Ctx *cx, Ox v);                          /* an input whose dtype nobody told, and no assumption yet */

#endif
