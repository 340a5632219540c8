/* value.h - the values of a running program: their kinds, how they are made, and what can be asked
 * of them.
 *
 * Numbers, strings, lists, dicts, objects and modules are concrete; only tensors, and numbers that
 * depend on a dynamic dimension or on data, are staged (docs/glossary.md). Copy a Value freely:
 * List, Dict, Obj and Tensor are shared by pointer and have identity, as in Python. All mutable
 * state lies in cells, which only value/heap.h writes. Tensors are in value/tensor.h.
 *
 * Values lie in the arena of the evaluation: a restart forgets them. A function that makes a value
 * gives V_POISON after an error or when it is given poison; a pointer inside a value that is not
 * poison is never NULL, unless its comment says so. */
#ifndef PT2ONNX_VALUE_VALUE_H
#define PT2ONNX_VALUE_VALUE_H

#include "onnx/onnx.h"

typedef enum {
    V_POISON, /* the result of an error or a refusal: whatever is made of it is poison too */
    V_NONE,
    V_BOOL,
    V_INT,
    V_FLOAT,
    V_COMPLEX,
    V_STR,
    V_DEVICE,   /* s: "cpu", "cuda:0" */
    V_DTYPE,    /* dtype: in a .pt2 only; TorchScript has c10's ints (value/c10_dtype.h) */
    V_SYMINT,   /* dim: an int; one that is read from a tensor is a new symbol with an origin */
    V_SYMFLOAT, /* ox: 0-d double (or the tensor's own type), counts as a Python number */
    V_SYMBOOL,  /* sb: a predicate over dims, or a 0-d bool */
    V_TENSOR,
    V_LIST,
    V_TUPLE,
    V_DICT,
    V_OBJ,
    V_ENUM,   /* e: class, name, value */
    V_FUTURE, /* future: what fork's function gave, already computed */

    /* Inside src/eval only: what the callee of a call names. */
    V_CLASS,     /* any: the ClassDef */
    V_FUNCTION,  /* any: the Function */
    V_NAMESPACE, /* s: a dotted path that names neither */

    /* In locals only, and in operands of `+` and `len`: whoever else reads one gets a V_STR. */
    V_JOINED, /* joined: text that grows, not yet written out */

    /* Values that may be passed around. Reading one is an error, or needs the running model's
     * decision. */
    V_UNINIT, /* a local that is not assigned, uninitialized(T): any is an Unset, or NULL */
    V_CHOICE, /* choice: one of several known strings or members of an enum */
    V_MAYBE,  /* maybe: None or a value; may be asked `is None`, and read behind that question */
} ValTag;

typedef struct List List;
typedef struct Tuple Tuple;
typedef struct Dict Dict;
typedef struct Obj Obj;
typedef struct Tensor Tensor;
typedef struct Storage Storage;

typedef struct Maybe Maybe;
typedef struct Joined Joined;

/* A bool that the running model decides: the predicate `a rel b` over dimensions where ox is NULL,
 * else the tensor ox. Of `x and y` left and right are x and y, which are true wherever the whole
 * is; NULL: not known. */
typedef struct SymBool {
    Rel rel;
    Dim a, b;
    Ox ox;
    const struct SymBool *left, *right;
} SymBool;

typedef struct Value {
    ValTag tag;
    union {
        bool b;
        int64_t i;
        double f;
        const double *c /* re, im */;
        Str s;
        DType dtype;
        Dim dim;
        Ox ox;
        const SymBool *sb;
        Tensor *t;
        List *list;
        Tuple *tuple;
        Dict *dict;
        Obj *obj;
        const struct EnumMember *e;
        const struct Value *future;
        struct Maybe *maybe;
        const struct Choice *choice;
        Joined *joined;
        const void *any;
    };
} Value;
typedef VEC(Value) Values;

/* at[index]: index is an int below n. */
typedef struct Choice {
    const Value *at;
    int64_t n;
    Value index;
} Choice;

/* `present ? value : None`; value is zeros in the runs in which it is None. */
struct Maybe {
    Value present; /* a bool */
    Value value;
    bool key; /* the value of a dict's entry: present says whether the key is in the dict */
};

/* A place that the program writes to. Only heap.c assigns to v (tools/check-layers). */
typedef struct Cell {
    Value v;
} Cell;

/* A list whose length the running model decides is *stacked* (eval/lists/stacked.h). `at` and `n`
 * say nothing then, so whoever reads a list looks at `stacked` first. */
struct List {
    Cell *at;
    int64_t n, cap;
    int64_t front; /* free cells before at[0] */
    Str elem;      /* "int", "Tensor": what an empty list is a list of; NULL: not known */
    struct Stacked *stacked;
    uint64_t created;          /* heap_now() when it was made; so in Dict and Obj */
    struct ListAlias *aliases; /* lists that may be this very one (list_maybe_same) */
    Tensor *mark;              /* see container_mark; NULL until that is called */
    uint64_t seen;             /* heap_now() of the last search that met it; so in Tuple, Dict */
};

struct Tuple {
    int64_t n;
    uint64_t seen;
    Str type;          /* the class of a NamedTuple, else NULL */
    const Str *fields; /* n names of a NamedTuple, else NULL */
    Value at[];
};

typedef struct {
    Value key;
    Cell val;
} DictEntry;

/* Entries stand in order of insertion, as in Python. */
struct Dict {
    DictEntry *at;
    int64_t n, cap;
    Str type; /* "Dict[str, Tensor]"; NULL: not known */
    struct DictIndex *index;
    uint64_t created;
    struct DictAlias *aliases; /* dicts that may be this very one (dict_maybe_same) */
    Str invalid;               /* why it may not be read, once an alias was written; else NULL */
    Tensor *mark;
    uint64_t seen;
    bool some_dynamic; /* a value was, or is, a Maybe with key set */
    bool unordered;    /* and the order of the entries is known to the running model only */
};

/* An object of a class; modules too. */
struct Obj {
    const struct ClassDef *cls; /* NULL where there is none, as of a frame's locals */
    Cell *slot;
    int64_t n;
    const Str *names; /* of the slots where the class has no fields; may be NULL */
    Str path;         /* "layer1.0" of a module, "" of the root, NULL of a plain object */
    uint64_t created;
    size_t tracked; /* its number in eval/state/state.c; 0: none */
    Tensor *mark;
};

typedef struct EnumMember {
    const struct ClassDef *cls;
    Str name;
    Value value;
} EnumMember;

/* Why a V_UNINIT may not be read: its two branches do not join, or a loop that ONNX runs leaves
 * it behind. */
typedef struct Unset {
    Str why;
    SourceId at; /* of the branch or the loop, for the message */
    Str text;    /* of val_staged_text, else NULL */
    bool branch; /* reading it takes one branch of the if at `at` by assumption, and restarts */
    Ox varies;   /* a tensor with another rank in each branch: the model may only return it */
} Unset;

/* ---- making values ---- */

static inline Value val_poison(void) { return (Value){ .tag = V_POISON }; }
static inline Value val_none(void) { return (Value){ .tag = V_NONE }; }
static inline Value val_bool(bool b) { return (Value){ .tag = V_BOOL, .b = b }; }
static inline Value val_int(int64_t i) { return (Value){ .tag = V_INT, .i = i }; }
static inline Value val_float(double f) { return (Value){ .tag = V_FLOAT, .f = f }; }
static inline Value val_str(Str s) { return (Value){ .tag = V_STR, .s = s }; }
static inline bool val_ok(Value v) { return v.tag != V_POISON; }

/* The items are copied. Without memory the tuple or list is shorter than asked for, and the context
 * has failed: whoever fills it afterwards goes by its own n. elem, which may be NULL: List.elem. */
Value val_tuple(Ctx *cx, const Value *at, int64_t n);
Value val_list(Ctx *cx, const Value *at, int64_t n, const char *elem);
Value val_complex(Ctx *cx, double re, double im);
Value val_tensor(Ctx *cx, Ox v); /* a new tensor with memory of its own */
/* The number that a tensor of one element holds, as item() gives it: concrete when the contents are
 * known, else symbolic (an int: the item's Dim, or a new symbol that the tensor computes). A type
 * that is no Python number's is E_UNSUPPORTED. */
Value val_number_of(Graph *g, Ox v);
Value val_dim(Ctx *cx, Dim d);                 /* V_INT when known, else V_SYMINT; NULL: poison */
Value val_rel(Ctx *cx, Rel rel, Dim a, Dim b); /* `a rel b`: V_BOOL when decided, else V_SYMBOOL */
Value val_symbool(Ctx *cx, Ox b);              /* of a 0-d bool; V_BOOL when constant */
Value val_both(Graph *g, Value x, Value y);    /* x and y, each V_BOOL or V_SYMBOOL */
Value val_not(Graph *g, Value v);              /* not v, a V_BOOL or V_SYMBOOL */
/* v, a V_SYMBOOL with an ox; wherever v is true the V_SYMBOOLs x and y are true too. */
Value val_implying(Ctx *cx, Value v, Value x, Value y);
/* present, a bool, decides whether it is `value` or None; val_maybe_key: whether the key of a
 * dict's entry is there (eval/lists/dynamic_dict.c). */
Value val_maybe(Ctx *cx, Value present, Value value);
Value val_maybe_key(Ctx *cx, Value present, Value value);
Value val_maybe_like(Ctx *cx, const Maybe *like, Value present,
                     Value value); /* an optional, or the entry of a key, as `like` is */
/* at[index] of n strings, or of n members of one enum; index is an int below n. */
Value val_choice(Ctx *cx, const Value *at, int64_t n, Value index);
/* A value that may be passed around; reading it is an error with this reason, at the place where it
 * is made now. */
Value val_never(Ctx *cx, Str why);

/* ---- text that grows (joined.c) ---- */

/* left + right of two texts, V_STR or V_JOINED, as a V_JOINED: that costs the same however long
 * they are. False: they are no such texts, are better joined at once, or a branch is open. */
bool val_join(Ctx *cx, Value left, Value right, Value *out);
int64_t val_text_length(Value v);  /* of a V_STR or V_JOINED; else -1 */
Value val_whole(Ctx *cx, Value v); /* the V_STR of a V_JOINED; any other v as it is */

/* ---- asking about values ---- */

const char *val_kind(Value v);   /* "Tensor", "int", "List[int]": for messages */
Tri val_truth(Ctx *cx, Value v); /* bool(v); UNKNOWN: the running model decides, or v has none */
/* a == b as in Python, for concrete values; tensors by identity. What the running model would have
 * to decide is E_UNDECIDED, and false. */
bool val_equal(Ctx *cx, Value a, Value b);
bool val_same_constant(Ctx *cx, Ox a, Ox b); /* two constants of one type with equal elements? */
bool val_dim_of(Value v, Ctx *cx, Dim *out); /* V_INT, V_BOOL or V_SYMINT as a Dim; else false */
bool val_is_maybe_key(Value v);              /* a Maybe that says whether a key is there? */
bool dict_is_dynamic(const Dict *d);         /* only the running model knows its keys, or order */
static inline bool val_is_optional(Value v) { return v.tag == V_NONE || v.tag == V_MAYBE; }
/* `v is not None`, as a bool. */
static inline Value val_present(Value v)
{
    return v.tag == V_MAYBE ? v.maybe->present : val_bool(v.tag != V_NONE);
}

/* Is v an int, float or bool, concrete or symbolic? */
static inline bool val_is_int(Value v) { return v.tag == V_INT || v.tag == V_SYMINT; }
static inline bool val_is_bool(Value v) { return v.tag == V_BOOL || v.tag == V_SYMBOOL; }
static inline bool val_is_float(Value v) { return v.tag == V_FLOAT || v.tag == V_SYMFLOAT; }
static inline bool val_is_plain_number(Value v)
{
    return val_is_int(v) || val_is_bool(v) || val_is_float(v);
}
/* A string or a member of an enum: a known one, or one of several. */
static inline bool val_is_option(Value v)
{
    return v.tag == V_STR || v.tag == V_ENUM || v.tag == V_CHOICE;
}

/* ---- truth, relations ---- */

void rel_not(Rel *rel, Dim *a, Dim *b); /* in place: the relation that holds when this one fails */
Ox symbool_ox(Graph *g, const SymBool *b); /* b as a 0-d bool tensor; POISON after an error */

#endif
