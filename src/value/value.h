/* value.h - the values of a running program: their kinds, how they are made, and what can be asked
 * of them.
 *
 * Numbers, strings, lists, dicts, objects and modules are concrete; only tensors, and numbers that
 * depend on a dynamic dimension or on data, are staged. Copy a Value freely: List, Dict, Obj and
 * Tensor are shared by pointer and have identity, as in Python. All mutable state lies in cells,
 * which value/heap.h writes. Tensors are in value/tensor.h. */
#ifndef PT2ONNX_VALUE_VALUE_H
#define PT2ONNX_VALUE_VALUE_H

#include "onnx/onnx.h"

typedef enum {
    V_POISON, /* an error or refusal has happened: flows through everything */
    V_NONE,
    V_BOOL,
    V_INT,
    V_FLOAT,
    V_COMPLEX,
    V_STR,
    V_DEVICE, /* s: "cpu", "cuda:0" */
    V_DTYPE, /* only where the file tells (pt2); TorchScript has plain ints: arg_dtype takes both */
    V_SYMINT,   /* an int that is a Dim; from data: a fresh symbol with an origin */
    V_SYMFLOAT, /* ox: 0-d double (or the tensor's own type), counts as a Python number */
    V_SYMBOOL,  /* a predicate over dims, or ox: 0-d bool */
    V_TENSOR,
    V_LIST,
    V_TUPLE,
    V_DICT,
    V_OBJ,
    V_ENUM,   /* e: class, name, value */
    V_FUTURE, /* of fork: the value itself, already computed */
    V_CLASS,
    V_FUNCTION,
    V_NAMESPACE, /* callables and paths, inside eval only */
    V_UNINIT,    /* uninitialized(T): may be passed around, never read */
    V_CHOICE,    /* one of several known strings or members of an enum, as the running model decides
                    (choice.c) */
    V_MAYBE,     /* None or a value, as the running model decides: may be passed around, asked `is
                    None`, and read behind that */
} ValTag;

typedef struct List List;
typedef struct Tuple Tuple;
typedef struct Dict Dict;
typedef struct Obj Obj;
typedef struct Tensor Tensor;
typedef struct Storage Storage;

typedef struct Maybe Maybe;
/* ox NULL: the predicate `a rel b`; else ox: where it is true `left` and `right` are, if they are
 * there. */
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
        const struct Maybe *maybe;
        const struct Choice *choice;
        const void *any;
    };
} Value;
typedef VEC(Value) Values;

typedef struct Choice {
    const Value *at;
    int64_t n;
    Value index; /* an int below n */
} Choice;
struct Maybe {
    Value present; /* a bool */
    Value value;   /* zeros while it is None: nobody reads them */
    bool key;      /* of a dict's entry: is the key there? */
};

typedef struct Cell {
    Value v;
} Cell; /* written by heap.c only */

/* A list whose length ONNX decides is *stacked* (eval/lists/stacked.h): `at` and `n` say nothing
 * then, so whoever looks at a list asks first. */
struct List {
    Cell *at;
    int64_t n, cap, front /* free cells before the first */;
    Str elem; /* "int", "Tensor": of empty ones; may be NULL */
    struct Stacked *stacked;
    uint64_t created;
    struct ListAlias *aliases; /* lists that may be this very one (list_maybe_same) */
    Tensor *mark;              /* container_mark */
};
struct Tuple {
    int64_t n;
    Str type; /* NamedTuple's class or NULL */
    const Str *fields;
    Value at[];
};
typedef struct {
    Value key;
    Cell val;
} DictEntry;
struct Dict {
    DictEntry *at;
    int64_t n, cap;
    Str type;
    struct DictIndex *index;
    uint64_t created;
    struct DictAlias *aliases;
    Str invalid; /* why nobody may look at it, once a peer was written */
    Tensor *mark;
    bool some_dynamic; /* some entries were, or are, a Maybe of a key */
    bool unordered;    /* and their order only the running model knows */
};
struct Obj {
    const struct ClassDef *cls;
    Cell *slot;
    int64_t n;
    Str path; /* "layer1.0" of a module, "" the root, NULL a plain object */
    const Str *names;
    uint64_t created;
    size_t tracked; /* state.c's number for it, 0 none */
    Tensor *mark;
};
typedef struct EnumMember {
    const struct ClassDef *cls;
    Str name;
    Value value;
} EnumMember;

/* Why nobody may read a value: it could not be joined, or is behind a loop that ONNX runs. */
typedef struct Unset {
    Str why;
    SourceId at;
    Str text;    /* of val_staged_text */
    bool branch; /* `at` is a branch that an assumption decides */
    Ox varies;   /* a tensor that has another rank in each branch: the model may return it, and do
                    nothing else with it */
} Unset;

/* ---- making values ---- */

bool val_same_constant(Ctx *cx, Ox a, Ox b); /* two constants of equal elements */

static inline Value val_poison(void) { return (Value){ .tag = V_POISON }; }
static inline Value val_none(void) { return (Value){ .tag = V_NONE }; }
static inline Value val_bool(bool b) { return (Value){ .tag = V_BOOL, .b = b }; }
static inline Value val_int(int64_t i) { return (Value){ .tag = V_INT, .i = i }; }
static inline Value val_float(double f) { return (Value){ .tag = V_FLOAT, .f = f }; }
static inline Value val_str(Str s) { return (Value){ .tag = V_STR, .s = s }; }
static inline bool val_ok(Value v) { return v.tag != V_POISON; }
Value val_dim(Ctx *cx, Dim d); /* V_INT when known, else V_SYMINT; NULL gives poison */
Value val_rel(Ctx *cx, Rel rel, Dim a, Dim b); /* V_BOOL when decided, else V_SYMBOOL */
void rel_not(Rel *rel, Dim *a, Dim *b);        /* the relation that holds when this one does not */
Value val_symbool(Ctx *cx, Ox b);              /* V_BOOL when constant */
Value val_implying(
    Ctx *cx, Value v, Value one,
    Value other); /* v, a V_SYMBOOL with ox; where it is true, so are the two others */
Value val_both(Graph *g, Value x, Value y); /* x and y, each V_BOOL or V_SYMBOOL */
Value val_not(Graph *g, Value v);           /* not v, a V_BOOL or V_SYMBOOL */
Value val_number_of(Graph *g, Ox v); /* item(): V_INT/V_FLOAT/V_BOOL when known, else symbolic (an
                                        int: its item, or a fresh symbol with origin) */
Value val_tensor(Ctx *cx, Ox v);     /* POISON gives V_POISON */
Value val_tuple(Ctx *cx, const Value *at, int64_t n);
Value val_list(Ctx *cx, const Value *at, int64_t n, const char *elem);
Value val_complex(Ctx *cx, double re, double im);
Value val_maybe(Ctx *cx, Value present, Value value);
/* A value that may be passed around, and is an error with this reason, at this place, once it is
 * looked at. */
Value val_never(Ctx *cx, Str why);
Value val_maybe_key(Ctx *cx, Value present, Value value); /* dynamic_dict.c */
bool val_is_maybe_key(Value v);
bool dict_is_dynamic(const Dict *d); /* only the running model knows its keys, or their order */
/* None or not, or a key of a dict, as `like` is. */
Value val_maybe_like(Ctx *cx, const Maybe *like, Value present, Value value);
/* at[index] of n strings, or of n members of one enum; index is an int below n. */
Value val_choice(Ctx *cx, const Value *at, int64_t n, Value index);
static inline bool val_is_optional(Value v) { return v.tag == V_NONE || v.tag == V_MAYBE; }
static inline Value val_present(Value v)
{
    return v.tag == V_MAYBE ? v.maybe->present : val_bool(v.tag != V_NONE);
}

/* Numbers, known or not. */
static inline bool val_is_int(Value v) { return v.tag == V_INT || v.tag == V_SYMINT; }
static inline bool val_is_bool(Value v) { return v.tag == V_BOOL || v.tag == V_SYMBOOL; }
static inline bool val_is_float(Value v) { return v.tag == V_FLOAT || v.tag == V_SYMFLOAT; }
static inline bool val_is_plain_number(Value v)
{
    return val_is_int(v) || val_is_bool(v) || val_is_float(v);
}
/* A string or a member of an enum, known or one of several. */
static inline bool val_is_option(Value v)
{
    return v.tag == V_STR || v.tag == V_ENUM || v.tag == V_CHOICE;
}

bool val_dim_of(Value v, Ctx *cx, Dim *out); /* V_INT, V_BOOL, V_SYMINT as a Dim */
bool val_equal(Ctx *cx, Value a,
               Value b);       /* concrete values, as Python's == ; tensors by identity */
const char *val_kind(Value v); /* "Tensor", "int", "List[int]"...: for messages */
/* Tri truth of a condition: UNKNOWN for symbolic ones. */
Tri val_truth(Ctx *cx, Value v);
Ox symbool_ox(Graph *g, const SymBool *b); /* as a 0-d bool value */

/* c10's numbers of element types, which TorchScript writes as plain ints (c10_dtype.c). DT_NONE for
 * one that names none or that ONNX lacks; quantised ones (12-14) give their storage type and set
 * *quantised (may be NULL). -1: no number. */
DType dtype_of_c10(int64_t code, bool *quantised);
int64_t dtype_to_c10(DType t);

#endif
