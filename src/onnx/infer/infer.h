/* infer.h - what inference functions share: the table of each family, shapes as arrays, outputs set
 * from them, and the items of small integer tensors.
 *
 * An inference function reads its inputs as Shapes, asks dim_require and dim_broadcast what must
 * agree, and ends with out_shape or, where data decides a size, out_partial. */
#ifndef PT2ONNX_ONNX_INFER_H
#define PT2ONNX_ONNX_INFER_H

#include "onnx/internal.h"

/* ---- the families: each one's file ends with its rows, {0} last ---- */

typedef struct InferRow {
    const char *op;
    InferFn fn;
} InferRow;
extern const InferRow *const infer_families[]; /* ends with NULL */
extern const InferRow infer_elementwise[], infer_shape[], infer_index[], infer_reduce[], infer_nn[],
    infer_linalg[], infer_control[], infer_misc[], infer_text[];

/* ---- shapes, outputs, items (infer_common.c) ---- */

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
/* What d was in the example, as a number; NULL: not known. */
Dim example_of(Ctx *cx, Dim d);
/* What the fresh symbols of a shape were in the example; NULL: not one, or not known. */
void set_examples(const Shape *s, const Dim *example);
/* Item i of v's contents, or NULL when it is not known. */
Dim item_at(Ox v, int64_t i);
/* Items as output contents when the output is a small int tensor of rank 0 or 1; else nothing
 * happens. */
void out_items(Node *n, int i, const Dim *items, int64_t count);
/* May v, a value of rank 0 or 1 with a known count, carry items? */
bool may_have_items(Ox v, int64_t *count);

/* How many items a shape-like input (rank 1) has; false when not even that is known. */
bool shape_count(Ox v, int64_t *count);

#endif
