/* onnx.h - what ONNX itself says: element types, dimensions, types, constants, the graph being
 * built, its building, operators. Files are in wire/model_file.h.
 *
 * One idea: the graph is built by expressions. `ox_g(g, "Add", a, b)` checks types, infers, folds
 * small constants, shares an equal node, appends - and returns a typed value. All of it speaks *one
 * pinned newest form*, opset 26; tidy/legal/legalise.c takes the finished graph down to the target.
 * Values given POISON return POISON and add nothing.
 *
 * Nobody outside onnx/dim compares dimensions: equal pointer means equal, a different pointer
 * means nothing. */
#ifndef PT2ONNX_ONNX_H
#define PT2ONNX_ONNX_H

#include "base/base.h"

enum { ONNX_NEWEST = 26, ONNX_OLDEST_TARGET = 9, ONNX_LAST_TARGET = 28, ONNX_DEFAULT_TARGET = 18 };

/* ---- element types: the numbers are TensorProto.DataType's ---- */

typedef enum {
    DT_NONE = 0,
    DT_FLOAT = 1,
    DT_UINT8,
    DT_INT8,
    DT_UINT16,
    DT_INT16,
    DT_INT32,
    DT_INT64,
    DT_STRING,
    DT_BOOL,
    DT_FLOAT16,
    DT_DOUBLE,
    DT_UINT32,
    DT_UINT64,
    DT_COMPLEX64,
    DT_COMPLEX128,
    DT_BFLOAT16,
    DT_FLOAT8E4M3FN,
    DT_FLOAT8E4M3FNUZ,
    DT_FLOAT8E5M2,
    DT_FLOAT8E5M2FNUZ,
    DT_UINT4,
    DT_INT4,
    DT_FLOAT4E2M1,
    DT_FLOAT8E8M0,
    DT_UINT2,
    DT_INT2,
    DT_COUNT
} DType;

int dtype_bits(DType t);    /* bits an element; 0 for strings and DT_NONE */
size_t dtype_size(DType t); /* bytes an element; 1 for sub-byte types, 0 for strings and DT_NONE */
/* Bytes of numel packed elements, sub-byte types included; INT64_MAX where there are more. */
uint64_t dtype_bytes(DType t, uint64_t numel);
const char *dtype_name(DType t); /* numpy's name: "float32", "bfloat16", "complex64", "bool" */
DType dtype_named(const char *s, size_t n); /* DT_NONE when there is none */
bool dtype_is_packed(DType t);              /* several elements share a byte: int4, uint2 */
bool dtype_is_float(DType t);               /* float16, bfloat16, float32, float64, float8s */
bool dtype_is_int(DType t);                 /* signed and unsigned, not bool */
bool dtype_is_signed(DType t);              /* signed ints */
bool dtype_is_complex(DType t);
DType dtype_of_parts(
    DType t); /* float32 of complex64, float64 of complex128; any other is itself */

/* ---- dimensions ---- */

/* An integer expression over named symbols, hash-consed in a normal form. Lives until the next
 * restart. NULL after an error: functions take it, make NULL of it, and nothing is known of it. */
typedef const struct DimRec *Dim;
typedef enum { NO, YES, UNKNOWN } Tri;
static inline Tri tri_of(bool b) { return b ? YES : NO; }
static inline Tri tri_not(Tri t) { return t == UNKNOWN ? UNKNOWN : tri_of(t == NO); }
#define DIM_MAX INT64_MAX /* "no upper bound" */

typedef struct OxValue *Ox;
typedef struct Graph Graph;
typedef struct Node Node;

Dim dim_int(Ctx *cx, int64_t v);
Dim dim_sym(Ctx *cx, Str name);     /* the symbol of that name; range [0, DIM_MAX] when new */
Dim dim_sym_int(Ctx *cx, Str name); /* the same for a number: of any sign when new */
Dim dim_fresh(Ctx *cx, const char *prefix); /* a symbol of a new name: "u0", "u1" */
Dim dim_fresh_int(Ctx *cx,
                  const char *prefix); /* the same for a number that comes out of data: any sign */
void dim_set_range(Ctx *cx, Dim sym, int64_t lo, int64_t hi); /* narrows */
Dim dim_add(Ctx *cx, Dim a, Dim b);
bool dim_sum_fits(Dim a, Dim b); /* may a + b be written: has an expression room for its terms? */
Dim dim_sub(Ctx *cx, Dim a, Dim b);
Dim dim_mul(Ctx *cx, Dim a, Dim b);
Dim dim_floordiv(Ctx *cx, Dim a, Dim b); /* Python's //; b known 0 is E_VALUE and returns NULL */
Dim dim_ceildiv(Ctx *cx, Dim a, Dim b);
Dim dim_mod(Ctx *cx, Dim a, Dim b); /* Python's %, sign of b */
Dim dim_min(Ctx *cx, Dim a, Dim b);
Dim dim_max(Ctx *cx, Dim a, Dim b);
Dim dim_product(Ctx *cx, const Dim *d, int n); /* 1 for n = 0 */

bool dim_known(Dim d, int64_t *out); /* a constant? (out may be NULL) */
bool dim_is(Dim d, int64_t v);       /* known to be v */
void dim_range(Ctx *cx, Dim d, int64_t *lo, int64_t *hi);
bool dim_is_count(Ctx *cx, Dim d); /* 0 or more, and made of such: no remainder, no square of a
                                      number that may be negative */
/* Is d known to be within +-most, or made of sizes only, which no memory lets grow as large? 2*N +
 * 1 of a size N is, and a number out of data where it has such bounds. */
bool dim_is_small(Ctx *cx, Dim d, int64_t most);
int64_t dim_gcd(int64_t a, int64_t b); /* the greatest common divisor of two numbers */
Tri dim_eq(Ctx *cx, Dim a, Dim b);
Tri dim_le(Ctx *cx, Dim a, Dim b);
Tri dim_lt(Ctx *cx, Dim a, Dim b);
/* a divided by b without rest, when that can be proven */
bool dim_divide(Ctx *cx, Dim a, Dim b, Dim *out);
/* Numpy broadcasting. Unrelated N and M give a fresh symbol and the fact "equal, or one is 1".
 * False: provably incompatible. */
MUST_USE bool dim_broadcast(Ctx *cx, Dim a, Dim b, Dim *out);
/* The program requires a == b. NO: fails with `why`. UNKNOWN: becomes a fact - of an input (the pin
 * handler may restart evaluation, or refuse a dimension that the user asked to stay free), else a
 * substitution from here on. */
MUST_USE bool dim_require(Ctx *cx, Dim a, Dim b, const char *why, ...) PRINTF_LIKE(4, 5);
/* Facts from raising branches and ranges: a rel b holds. False: contradicts what is known. */
typedef enum { REL_EQ, REL_NE, REL_LT, REL_LE } Rel;
MUST_USE bool dim_assume(Ctx *cx, Rel rel, Dim a, Dim b);
Tri dim_related(Ctx *cx, Rel rel, Dim a, Dim b); /* a rel b? */
/* a == b holds, and results keep the name that they have: neither is replaced by the other. */
MUST_USE bool dim_assume_same(Ctx *cx, Dim a, Dim b);
/* What is done when dim_require pins an input's symbol; set by eval. Returns false after fail(). */
typedef bool (*DimPin)(Ctx *cx, Dim sym, Dim value, const char *why);
void dim_on_pin(Ctx *cx, DimPin pin);

/* What is learnt in between is forgotten again, and pins no input: it holds in a branch of an if,
 * or in a loop's body, only. Nests. */
void dim_scope_open(Ctx *cx);
void dim_scope_close(Ctx *cx);
Str dim_text(Ctx *cx, Dim d); /* "N", "2*N + 1", "H//16", "min(N, 7)": what dim_param says */
Dim dim_parse(Ctx *cx, const char *s, size_t n); /* the same language; NULL and E_USAGE */
/* Of "N % 2 == 0" in that language: does it hold? UNKNOWN for what is no single comparison too. */
Tri dim_holds(Ctx *cx, Str comparison);
/* Replace symbols; lookup returns NULL to keep one. */
Dim dim_replace(Ctx *cx, Dim d, Dim (*lookup)(void *arg, Dim sym), void *arg);
bool dim_is_sym(Dim d, Str *name);
bool dim_is_fresh(Dim d);           /* is it a symbol that dim_fresh has made, and nothing else? */
bool dim_has_fresh(Ctx *cx, Dim d); /* is d made of a symbol that dim_fresh has made? */
bool dim_has(Dim d, Dim sym);       /* is d made of sym, among others? */
/* From here on sym, which d is not made of, is d, whichever of the two is the older. */
bool dim_define(Ctx *cx, Dim sym, Dim d);
/* The size that a symbol had in the example from which the file was recorded. A symbol that gets
 * two different ones has none. */
void dim_set_example(Dim sym, int64_t size);
bool dim_example(Ctx *cx, Dim d, int64_t *out); /* what d was then; false: not known */
/* What d would have been, had all sizes of the example been so many times as large. */
bool dim_example_times(Ctx *cx, Dim d, int64_t times, int64_t *out);
/* Where a symbol's number comes from when a node must compute it: axis of v's shape, or v itself
 * (0-d int64) for axis -1. The first origin wins. */
void dim_set_origin(Ctx *cx, Dim sym, Ox v, int axis);
bool dim_origin(Ctx *cx, Dim sym, Ox *v, int *axis);

/* ---- types ---- */

typedef enum { T_TENSOR, T_SEQUENCE, T_OPTIONAL } TypeKind;
/* Interned: equal types are equal pointers (for equal Dims). rank -1: unknown. */
typedef const struct TypeRec {
    TypeKind kind;
    DType dtype;
    int rank;
    const Dim *dim; /* rank of them; never NULL */
    const struct TypeRec *elem;
    Ctx *cx;
} *Type;
enum { MAX_RANK = 32 };

Type type_tensor(Ctx *cx, DType t, int rank, const Dim *dim);
Type type_of_ints(Ctx *cx, DType t, int rank, const int64_t *dims);
Type type_wrapped(Ctx *cx, TypeKind kind, Type elem);
Dim type_numel(Ctx *cx, Type t);
bool type_static(Type t, int64_t *dims /* MAX_RANK, or NULL */); /* all dims known */
Str type_text(Ctx *cx, Type t); /* "float32[N,3,224,224]", "seq(float32[?])" */

/* ---- constants ---- */

/* Bytes that stay where they are until something has to look inside. Element (i0,i1,..) is at
 * i.stride from bytes.off. */
typedef struct Const {
    DType dtype;
    int rank;
    const int64_t *dims;
    const int64_t *strides; /* in elements; NULL: contiguous */
    Bytes bytes; /* starts at the first element; may be longer than the tensor. DT_STRING: one Str
                    an element */
    Str name;    /* the state_dict entry whose bytes these are exactly; NULL for anything else */
    Str derived; /* a wish for a name: "conv.weight.bn"; NULL */
    const void *storage; /* equal non-NULL pointers: the same storage in the file */
} Const;

/* Does a weight of the file go into k? What a program writes as numbers has none of these. */
static inline bool const_is_weight(const Const *k) { return k->name || k->storage || k->derived; }

int64_t numel_of_ints(int rank, const int64_t *dims); /* INT64_MAX where that is too small */
/* Do the strides of such a contiguous tensor fit into 64 bits? Those of an empty one need not:
 * sizes 0, 2^62 and 4. False after PyTorch's error. */
MUST_USE bool strides_fit(Ctx *cx, int rank, const int64_t *dims);
int64_t const_numel(const Const *k);
/* All elements, contiguous, into out (numel * dtype_size). Reads in tiles; for weights at write
 * time or in recipes only. */
MUST_USE bool const_read(Ctx *cx, const Const *k, void *out);
bool const_contiguous(const Const *k);
const Const *const_make(Ctx *cx, DType t, int rank, const int64_t *dims,
                        const void *data); /* copies data */
/* Stride arithmetic; NULL when it cannot be done without copying. */
const Const *const_permute(Ctx *cx, const Const *k, const int *perm);
const Const *const_reshape(Ctx *cx, const Const *k, int rank, const int64_t *dims);
const Const *const_slice(Ctx *cx, const Const *k, int axis, int64_t start, int64_t count,
                         int64_t step);
/* The int8 or uint8 constant k as int4 or uint4; writing it fails where it has other numbers
 * (nibbles.c). */
const Const *const_as_nibbles(Ctx *cx, const Const *k);
/* The constant that const_as_nibbles made k of. NULL: k is another. */
const Const *const_of_nibbles(const Const *k);
/* The int8 constant k as MatMulNBits has codes and zero points, uint8 of these dims: 8 or 128 is
 * added, and of 4 bits two lie in a byte, each row from a whole byte on. */
const Const *const_as_codes(Ctx *cx, const Const *k, int bits, int rank, const int64_t *dims);
const Const *const_as_pairs(
    Ctx *cx, const Const *k); /* complex as floats with a last axis of 2: the same bytes */

/* ---- values, nodes, graphs ---- */

typedef enum {
    OX_POISONED, /* an error or refusal has happened */
    OX_INPUT,    /* of the graph, or of a subgraph (Loop's carried values) */
    OX_CONST,    /* k: becomes an initializer of the root graph when used at the end */
    OX_DIMS,     /* int64 of rank 0 or 1 whose items are dims, not all known: nodes only where an
                    operator truly needs them (tidy) */
    OX_NODE,     /* output `out` of `node` */
} OxKind;

/* Read the fields; only src/onnx and src/tidy write them. */
struct OxValue {
    OxKind kind : 8;
    bool is_output; /* of the graph that makes it */
    uint32_t id;    /* in order of making; unique in the conversion */
    int out;        /* OX_NODE */
    int n_items;    /* at most MAX_ITEMS */
    Type type;
    Node *node;
    const Const *k;   /* OX_CONST; OX_INPUT: its default, or NULL */
    const Dim *items; /* contents of a small int64/int32 tensor of rank 0 or 1, as far as known;
                         else NULL */
    Graph *graph;     /* the scope that defines it; NULL for OX_CONST and OX_DIMS */
    struct DimRec *measures; /* dim.c: the first of the symbols that are its sizes, or NULL */
    Str name;                /* a name that it must get (inputs, outputs), or NULL */
};
enum { MAX_ITEMS = 64, FOLD_NUMEL = 4096 };

extern struct OxValue ox_poison;
#define POISON (&ox_poison)
static inline bool ox_ok(Ox v) { return v != POISON; }

static inline DType ox_dtype(Ox v) { return v->type ? v->type->dtype : DT_NONE; }
static inline int ox_rank(Ox v) { return v->type ? v->type->rank : -1; }
Dim ox_no_dim(Ox v, int axis); /* fails: v has no such axis; NULL */
/* NULL after an error; an axis that v has not is one: a call that PyTorch refuses, or should. */
static inline Dim ox_dim(Ox v, int axis)
{
    bool there = v->type && axis >= 0 && axis < v->type->rank;
    return there ? v->type->dim[axis] : ox_no_dim(v, axis);
}
/* The sizes of v, whose rank is known, into `out`, which has room for MAX_RANK of them. */
static inline void ox_sizes(Ox v, Dim *out)
{
    for (int i = 0; i < v->type->rank; i++)
        out[i] = v->type->dim[i];
}

typedef enum {
    ATTR_INT,
    ATTR_FLOAT,
    ATTR_STRING,
    ATTR_INTS,
    ATTR_FLOATS,
    ATTR_STRINGS,
    ATTR_TENSOR,
    ATTR_GRAPH,
    ATTR_TYPE,
    ATTR_NONE
} AttrKind;
typedef struct Attr {
    const char *name; /* interned or static */
    AttrKind kind;    /* ATTR_NONE: not there (an optional one that a macro left out) */
    size_t n;
    union {
        int64_t i;
        double f;
        Str s;
        const int64_t *ints;
        const double *floats;
        const Str *strs;
        const Const *t;
        Graph *g;
        Type type;
    };
} Attr;

struct Node {
    const struct OnnxOp *op; /* NULL for a custom operator */
    Str name, domain;        /* operator name; domain "" is ONNX's own */
    int n_in, n_out, n_attr; /* a Concat of a program's list may have any number of inputs */
    bool dead;
    SourceId at;
    uint32_t id; /* in order of making */
    Ox *in;      /* NULL: an optional input that is not there */
    Ox *out;
    Attr *attr;
    Graph *graph;
};

/* A graph is a scope: names and nodes of `up` are visible in it, not the other way round. */
struct Graph {
    Ctx *cx;
    Graph *up; /* NULL for the root */
    Str name;
    VEC(Node *) nodes; /* topological; dead ones stay until graph_compact */
    VEC(Ox) inputs, outputs;
    Map stated;          /* by number of an output + 1: graph_state_output's Type */
    struct Share *share; /* share.c's tables of what was made in this scope */
    int target; /* the target opset: asked only where another algorithm is better; keep such places
                   few */
    bool
        ort; /* ONNX Runtime must run it: asked only where it has no kernel, and no cast is exact */
};

Graph *graph_new(Ctx *cx, Graph *up, Str name);
Ox graph_input(Graph *g, Str name, Type t);
void graph_input_default(
    Ox v, const Const *k); /* of the root: who feeds nothing gets k (an initializer of its name) */
void graph_input_name(Ox v, Str name);
void graph_output(Graph *g, Ox v, Str name); /* name NULL: made at write time */
void graph_state_output(
    Graph *g,
    Type t); /* the file says t of the output that comes next, whose rank differs between runs */
void graph_compact(Graph *g); /* drop dead nodes, subgraphs too */
Graph *graph_root(Graph *g);
bool graph_sees(const Graph *g, const Ox v); /* is v defined in g or a scope around it? */
Str graph_text(Graph *g);                    /* for --dump-after and show */

/* ---- building ---- */

typedef struct {
    const Ox *at;
    size_t n;
} OxList;
#define INPUTS(...) \
    ((OxList){ (const Ox[]){ __VA_ARGS__ }, sizeof((const Ox[]){ __VA_ARGS__ }) / sizeof(Ox) })
#define LIST(vec) ((OxList){ (vec).at, (vec).n })
#define ATTRS(...) \
    ((const Attr[]){ __VA_ARGS__ }), sizeof((const Attr[]){ __VA_ARGS__ }) / sizeof(Attr)
#define INT(key, v)    ((Attr){ .name = (key), .kind = ATTR_INT, .i = (v) })
#define FLOAT(key, v)  ((Attr){ .name = (key), .kind = ATTR_FLOAT, .f = (v) })
#define STRING(key, v) ((Attr){ .name = (key), .kind = ATTR_STRING, .s = (v) })
#define INT_LIST(key, p, count) \
    ((Attr){ .name = (key), .kind = ATTR_INTS, .n = (size_t)(count), .ints = (p) })
#define SUBGRAPH(key, v) ((Attr){ .name = (key), .kind = ATTR_GRAPH, .g = (v) })
#define TYPE(key, v)     ((Attr){ .name = (key), .kind = ATTR_TYPE, .type = (v) })
#define FUNCTION_BODY                                                                            \
    "function body" /* SUBGRAPH of a custom node: a function of its name that the model carries, \
                       no attribute in the file */
#define NO_ATTR ((Attr){ .kind = ATTR_NONE })

/* One output. Trailing NULL inputs are dropped. Attributes and inputs are copied. */
Ox ox_make(Graph *g, const char *op, OxList in, const Attr *attr, size_t n_attr);
/* n outputs into out[]; false (all POISON) after an error. A NULL-typed trailing output may be
 * asked for with n. */
bool ox_make_n(Graph *g, const char *op, OxList in, const Attr *attr, size_t n_attr, Ox *out,
               size_t n);
/* A custom operator: output types are the caller's (rank -1 where unknown). */
bool ox_make_custom(Graph *g, Str domain, Str op, OxList in, const Attr *attr, size_t n_attr,
                    const Type *types, Ox *out, size_t n);
#define ox_g(g, op, ...)              ox_make((g), (op), INPUTS(__VA_ARGS__), NULL, 0)
#define ox_g_with(g, op, inputs, ...) ox_make((g), (op), (inputs), ATTRS(__VA_ARGS__))

Ox ox_const(
    Graph *g,
    const Const *k); /* equal small constants are one value; weights are shared by Const pointer */
Ox ox_int(Graph *g, int64_t v);                   /* 0-d int64 */
Ox ox_ints(Graph *g, const int64_t *v, size_t n); /* 1-D int64 */
Ox ox_bool(Graph *g, bool v);
Ox ox_number(
    Graph *g, DType t,
    double v); /* 0-d of type t; rounded once; integers beyond 2^53 go through ox_integer */
Ox ox_integer(Graph *g, DType t, int64_t v);
Ox ox_string(Graph *g, Str s);
Ox ox_dims(Graph *g, const Dim *d, size_t n); /* 1-D int64 of dims */
Ox ox_dim_value(Graph *g, Dim d);             /* 0-d int64 */
Ox ox_cast(Graph *g, Ox v, DType to);         /* v itself when it is of that type */
Ox ox_unsigned(Graph *g, Ox v);               /* int8 steps moved up by 128, as uint8 */

/* Complex values (complex_parts.c). While the program runs they have a complex type and the shape
 * that PyTorch gives them, so that views, shapes and writing work as for any other; ONNX's
 * operators on shapes take them. Arithmetic goes through their parts. In the end
 * tidy/split_complex.c makes each a float tensor with a last axis of 2, and nothing complex reaches
 * the file. */
Ox ox_pair(Graph *g, Ox z);            /* the real tensor with that last axis */
Ox ox_of_pair(Graph *g, Ox pair);      /* and back; the last axis must be 2 */
Ox ox_part(Graph *g, Ox z, int part);  /* 0: the real part, 1: the imaginary one */
Ox ox_complex(Graph *g, Ox re, Ox im); /* of parts of one type and shape */
Ox ox_complex_number(Graph *g, DType t, double re, double im);
Ox ox_cast_complex(Graph *g, Ox v, DType to); /* ox_cast to a complex type, of imaginary part 0; or
                                                 to bool. To other real ones it fails */
Ox ox_shape(Graph *g, Ox v);                  /* its shape as OX_DIMS/OX_CONST; no node */
bool ox_never_empty(Ctx *cx, Ox v); /* its rank is known, and that every axis has an element */
/* Contents as ints / dims, when all are known. Any rank for const_ints of constants up to
 * FOLD_NUMEL elements. */
bool ox_known_ints(Graph *g, Ox v, const int64_t **out, int64_t *n);
bool ox_items(Ox v, const Dim **out, int64_t *n);
bool ox_known_scalar(Graph *g, Ox v,
                     double *out); /* a 0-d or one-element constant of any number type */

/* ---- operators: generated facts, inference, folding ---- */

/* Names are arrays and no pointers, so that nothing in the facts is relocated at start. */
typedef struct FormalArg {
    char name[32], type[16];
    uint8_t option; /* 0 single, 1 optional, 2 variadic */
    bool homogeneous;
} FormalArg;
typedef struct FormalAttr {
    char name[32];
    AttrKind kind; /* ATTR_NONE: a sparse tensor */
    bool required;
    char deflt[20]; /* as text, "" none */
} FormalAttr;
typedef struct FormalType {
    char name[16];
    uint32_t
        dtypes; /* of tensors: bit 1<<DType, and 1<<DT_NONE for types that DType does not name */
    uint32_t seq, optional,
        optional_seq; /* of what sequences, optional tensors and optional sequences are made */
} FormalType;
typedef struct OpVersion {
    uint8_t since;
    bool deprecated;
    uint8_t min_in, max_in, min_out, max_out; /* 255: any number */
    uint8_t n_in, n_out, n_attr, n_type;
    const FormalArg *in, *out;
    const FormalAttr *attr;
    const FormalType *type;
} OpVersion;

/* Sets the types (set_out) and, where it can, the contents (set_items) of n's outputs. False after
 * fail(). */
typedef bool (*InferFn)(Node *n);
/* Computes outputs from constant inputs, of any size: used for small constants at emission and, as
 * a recipe, for weights at write time. False without an error: cannot fold this one. */
typedef struct Fold Fold; /* fold/fold.h */
typedef bool (*FoldFn)(Fold *f);

typedef struct OnnxOp {
    const char *name;
    const OpVersion *version;
    int n_version; /* oldest first */
    InferFn infer; /* NULL: not written yet - emitting it is E_BUG; `pt2onnx_tables` lists them */
    FoldFn fold;   /* NULL: never folded */
    bool random;   /* never shared, never folded */
} OnnxOp;

const OnnxOp *onnx_op(Ctx *cx, const char *name); /* NULL: no such operator */
const OpVersion *onnx_version(const OnnxOp *op,
                              int opset); /* the version in force; NULL before its first */
const OnnxOp *onnx_op_at(Ctx *cx, int i); /* all of them in name order; NULL past the end */
/* Is t allowed for input i of op at opset? */
bool onnx_takes(const OnnxOp *op, int opset, int i, DType t);
const FormalAttr *onnx_attr(const OpVersion *v,
                            const char *name); /* NULL: no such attribute, or no version */
/* What an attribute is where a node does not have it. ATTR_NONE: nothing is said, or a list. */
Attr onnx_default(Ctx *cx, const FormalAttr *a);
bool onnx_says_default(Ctx *cx, const FormalAttr *formal,
                       const Attr *a); /* as files hold it: floats are compared as float32 */

/* For infer_*, fold_*, tidy, legalise: attributes by name, with the operator's own default where
 * the node has none. */
bool node_has(const Node *n, const char *attr);
const Attr *node_attr(const Node *n,
                      const char *attr); /* NULL when not there (defaults not consulted) */
int64_t node_int(const Node *n, const char *attr, int64_t deflt);
double node_float(const Node *n, const char *attr, double deflt);
const char *node_str(const Node *n, const char *attr, const char *deflt);
bool node_ints(const Node *n, const char *attr, const int64_t **out, size_t *count);
bool node_is(const Node *n, const char *op); /* ONNX's own operator of that name */
void set_out(Node *n, int i, DType t, int rank, const Dim *dim);
void set_out_type(Node *n, int i, Type t);
void set_items(Node *n, int i, const Dim *items, int64_t count);

/* The opset-9..25 forms of operators whose attributes became inputs (onnx/forms.c). */
MUST_USE bool form_lower(Graph *g, Node *n,
                         int opset); /* newest -> opset, in place; refuses with fail()/refuse() */
MUST_USE bool form_lift(
    Graph *g, Str op, int opset, OxList in, const Attr *attr, size_t n_attr, Ox *out,
    size_t n_out); /* a user's fragment, in the target's form -> newest, emitted */

/* What has been made of dimensions, by Dim: as int64[1], and 0-d. For as long as none of it is
 * replaced. */
typedef struct DimNodes {
    Map list, single;
} DimNodes;
/* OX_DIMS -> nodes: the value as a real one, usable in g. Made in the root's prelude where its
 * leaves are input dims. made: what earlier calls have made, and this one adds to; or NULL. */
Ox dims_to_nodes(Graph *g, Ox v, DimNodes *made);

#endif
