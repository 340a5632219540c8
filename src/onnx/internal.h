/* internal.h - what the files of src/onnx share and nobody else sees: how inference and folding
 * functions are found, the generated facts, and the few helpers that need the inside of a value. */
#ifndef PT2ONNX_ONNX_INTERNAL_H
#define PT2ONNX_ONNX_INTERNAL_H

#include "onnx/edit.h"

/* ---- inference and folding: each family's file ends with its rows, {0} last ---- */

typedef struct InferRow {
    const char *op;
    InferFn fn;
} InferRow;
typedef struct FoldRow {
    const char *op;
    FoldFn fn;
} FoldRow;

extern const InferRow infer_elementwise[], infer_shape[], infer_index[], infer_reduce[], infer_nn[],
    infer_linalg[], infer_control[], infer_misc[], infer_text[];
extern const FoldRow fold_elementwise[], fold_shape[], fold_reduce[], fold_linalg[], fold_nn[],
    fold_misc[];

/* ---- the generated facts (optable_data.c), sorted by name ---- */

typedef struct OpFacts {
    const char *name;
    const OpVersion *version;
    int n_version;
} OpFacts;
extern const OpFacts onnx_facts[];
extern const int onnx_facts_count;

/* ---- helpers for infer_* and fold_* ---- */

static inline Ctx *node_cx(const Node *n) { return n->graph->cx; }

/* Input i, or NULL when it is not there (trailing or left out). Inputs are never POISON here:
 * ox_make has looked. */
static inline Ox node_in(const Node *n, int i) { return i < n->n_in ? n->in[i] : NULL; }

/* Input i's contents as plain numbers; false when it is not there or an item is not known. Any
 * integer or bool constant of up to FOLD_NUMEL elements too. */
bool node_in_ints(const Node *n, int i, const int64_t **out, int64_t *count);

/* Set the message "OP: ..." and return false: what an inference function returns when the inputs
 * cannot be right. */
#define node_fail(n, ...) node_fail_here((n), __FILE__, __LINE__, __VA_ARGS__)
bool node_fail_here(const Node *n, const char *file, int line, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* ---- shapes while inferring (infer_common.c) ---- */

typedef struct Shape {
    int rank;
    Dim d[MAX_RANK];
} Shape; /* rank -1: unknown */
Shape shape_of(Ox v);
/* Set output i when the node has it. False when a dimension could not be made: its error is set, or
 * is set here. */
MUST_USE bool out_shape(Node *n, int i, DType t, const Shape *s);
MUST_USE bool out_like(Node *n, int i, DType t, Ox v); /* of v's shape */
/* The same where a NULL dim is a size that only data decides: a fresh symbol with that axis of the
 * output as its origin. */
MUST_USE bool out_partial(Node *n, int i, DType t, Shape *s);
/* *into becomes the broadcast of both; fails in PyTorch's words. Unknown rank swallows
 * everything. */
MUST_USE bool shape_broadcast(Node *n, Shape *into, const Shape *with);
MUST_USE bool wrap_axis(Node *n, int64_t axis, int rank, int *out);
MUST_USE bool need_rank_of(Node *n, Ox v, const char *what, int least,
                           int most);          /* unknown rank is fine */
Dim fresh_in(Node *n, int64_t lo, int64_t hi); /* a new symbol for a size that data decides */
/* Give output i's symbols among `fresh` (NULL: not one) their origin: that axis of the output. */
void set_origins(Node *n, int i, const Shape *fresh);
/* Item i of v's contents, or NULL when it is not known. */
Dim item_at(Ox v, int64_t i);
/* Items as output contents when the output is a small int tensor of rank 0 or 1; else nothing
 * happens. */
void out_items(Node *n, int i, const Dim *items, int64_t count);
/* May v, a value of rank 0 or 1 with a known count, carry items? */
bool may_have_items(Ox v, int64_t *count);

/* How many items a shape-like input (rank 1) has; false when not even that is known. */
bool shape_count(Ox v, int64_t *count);

/* Is the element at p zero? (-0.0 is) Whole-byte types only. */
bool item_is_zero(DType t, const uint8_t *p);

/* ---- what was made already (share.c) ---- */

typedef enum { SHARED_NODE, SHARED_CONST, SHARED_DIMS, SHARED_WEIGHT } SharedKind;
typedef struct Shared {
    uint32_t hash;
    SharedKind kind;
    void *what;
} Shared;
void share(Graph *g, Shared e);
/* The next entry of that hash and kind from slot *at on; NULL at the end. Start with *at = hash. */
void *next_shared(const struct Share *both, uint32_t hash, SharedKind kind, size_t *at);
/* Is an equal node as good as n? */
bool node_sharable(const Node *n);

/* ---- dims, taken apart: what dim_nodes.c turns into nodes ---- */

typedef enum {
    DIM_NUMBER,
    DIM_SYMBOL,
    DIM_TOTAL,
    DIM_FACTORS,
    DIM_QUOTIENT,
    DIM_REMAINDER,
    DIM_LEAST,
    DIM_GREATEST
} DimShape;
typedef struct DimView {
    DimShape shape;
    int64_t number;
    uint32_t n;
    const Dim *arg;
} DimView;
DimView dim_view(Ctx *cx, Dim d);
/* Is this symbol the broadcast of two dims, equal or one of them 1? */
bool dim_broadcast_of(Dim sym, Dim *a, Dim *b);

/* ---- numbers while folding (fold_common.c) ---- */

/* Every float type is computed in double and rounded once: +, -, *, / and sqrt then give the bits
 * that arithmetic in the type itself gives. Integers and bool are computed in int64, which wraps
 * like the type once its low bits are stored; only uint64 needs unsigned order and division, and is
 * the same bits. Strings, complex and float8 are not folded. */
typedef enum { NUM_NONE, NUM_REAL, NUM_INT, NUM_UINT64 } NumKind;
enum { FOLD_TILE = 512 }; /* numbers converted at a time */

NumKind num_kind(DType t);
/* count elements from p, `step` (0 or 1) elements apart */
void load_reals(DType t, const void *p, int64_t step, int64_t count,
                double *out); /* of any NUM_ kind */
void load_ints(DType t, const void *p, int64_t step, int64_t count,
               int64_t *out);                                          /* ints and bool */
void store_reals(DType t, void *p, int64_t count, const double *from); /* to a float type */
void store_ints(DType t, void *p, int64_t count,
                const int64_t *from); /* to an int type (wraps) or bool */
static inline void *item_ptr(const Data *d, int64_t i)
{
    return (uint8_t *)d->at + (size_t)i * dtype_size(d->dtype);
}
/* Bytes of an element that can be moved by itself; 0: packed below a byte, or a string. */
size_t item_size(DType t);
/* Input i as doubles; NULL when its type is not a float or there is no memory. */
double *fold_reals(const Fold *f, int i);
/* Input i's integers; false when it is not there, not integers, or not exactly up to `most`. */
bool fold_ints(const Fold *f, int i, int64_t most, int64_t *out, int64_t *count);

/* Strides in elements of contiguous dims, and of `d` read as if it had `rank` dims (0 where it is
 * stretched). */
void plain_strides(int rank, const int64_t *dims, int64_t *out);
void broadcast_strides(const Data *d, int rank, int64_t *out);

/* Walks an index space in order, a run of its last axis (or axes, where all operands allow) at a
 * time. */
enum { WALK_MAX = 3, WALK_RANK = 2 * MAX_RANK };
typedef struct Walk {
    int rank, n; /* axes after joining; operands */
    int64_t dims[WALK_RANK], stride[WALK_MAX][WALK_RANK], index[WALK_RANK];
    int64_t at[WALK_MAX], run,
        step[WALK_MAX]; /* this run: where each operand starts, how long, how far apart */
    bool done;
} Walk;
void walk_start(Walk *w, int rank, const int64_t *dims, int n, const int64_t *const *strides);
void walk_next(Walk *w);

/* out, contiguous, gets in's elements in the order of dims; strides in elements, any sign. */
void copy_strided(void *out, const void *in, size_t size, int rank, const int64_t *dims,
                  const int64_t *strides);
/* n elements of `size` bytes, all equal to the one at `from` */
void fill_items(void *out, const void *from, size_t size, int64_t n);

/* ---- constants, dims, types: inside ---- */

/* A Data over k: reads the whole. For small constants, and in recipes. */
MUST_USE bool const_to_data(Ctx *cx, const Const *k, Data *out);
/* A fresh value without a definition: graph.c numbers it. */
Ox ox_new(Graph *g, OxKind kind, Type t);
/* An OX_DIMS value, or OX_CONST when all items are known. rank 0 or 1; dtype int64 or int32. */
Ox ox_of_items(Graph *g, DType t, int rank, const Dim *items, int64_t n);
/* A node even where contents or folding would need none: what dims_to_nodes is made of. Shared as
 * any other. */
Ox ox_make_plain(Graph *g, const char *op, OxList in, const Attr *attr, size_t n_attr);

/* Text that is the same for graphs with the same nodes, constants and wiring (graph_text.c). */
Str graph_key(Ctx *cx, const Graph *g);
#endif
