/* matrix.h - what the decompositions are written with: matrices [.., m, n] of sizes that may be
 * dynamic, and Loops over their columns.
 *
 * A Loop's body takes a step for a whole batch. It picks row or column k by its number and writes
 * by masks (Where), so that all steps have values of one shape. */
#ifndef PT2ONNX_OPS_MATRIX_H
#define PT2ONNX_OPS_MATRIX_H

#include "ops/internal.h"

Ox matrix_product(Op *op, Ox a, Ox b); /* MatMul, of complex ones too */
Ox matrix_adjoint(Op *op, Ox x);       /* transposed, and conjugated when it is complex */

/* ---- rows and columns ---- */

Ox matrix_transposed(Op *op, Ox x);
/* ONNX's reduction along the axis that is from_end-th from the end; of complex ones ReduceSum. */
Ox matrix_reduce(Op *op, const char *name, Ox x, int from_end, bool keep);
/* 0, 1, .. m - 1 as int64 [m, 1]. */
Ox matrix_rows(Op *op, Ox a);
/* 0, 1, .. n - 1 as int64 [1, n]. */
Ox matrix_columns(Op *op, Ox a);
/* Column (from_end 1) or row (2) number k, as a matrix with one column or row. */
Ox matrix_pick(Op *op, Ox a, Ox k, int from_end);
/* a with rows k and p exchanged; each is a number, or [.., 1, 1]. */
Ox matrix_exchanged(Op *op, Ox a, Ox k, Ox p);
/* The m x n matrix with ones on its diagonal, of like's type and batch. */
Ox matrix_eye(Op *op, Ox like, Dim m, Dim n);
/* A record of a decomposition, one number for each of a's min(m, n) columns: [.., 1, min(m, n)],
 * all `start` (0-d) to begin with. */
Ox matrix_record(Op *op, Ox a, Ox start, Dim *count);
/* The record with v [.., 1, 1] for column number k. */
Ox matrix_recorded(Op *op, Ox record, Ox k, Ox v);
/* An empty tensor of shape [0]. */
Ox matrix_empty(Op *op, DType t);
/* Argument `name` of rank 2 or more, float32 or float64, or complex of such parts; POISON after an
 * error. */
Ox matrix_float(Op *op, const char *name);

/* ---- decompositions ---- */

/* a = q r in double (complex128), by householder.c. q NULL: not asked for. complete: q is square.
 */
MUST_USE bool matrix_qr(Op *op, Ox a, bool complete, Ox *q, Ox *r);
/* a = q h q^H for square a, in a's type, with h's columns 0 below the subdiagonal; q NULL: not
 * asked for. */
MUST_USE bool matrix_hessenberg(Op *op, Ox a, Ox *h, Ox *q);
/* The singular values [.., min(m, n)] in double, the largest first, by jacobi.c. */
Ox matrix_singular_values(Op *op, Ox a);
/* x of a x = b of any size, by lu.c; info: 0 or the number of the first column without a pivot, or
 * NULL. */
Ox matrix_solved(Op *op, Ox a, Ox b, Ox *info);
/* [.., 1, n]: the pivots, and for each -1 where its row was exchanged for another. */
MUST_USE bool matrix_pivots(Op *op, Ox a, Ox *pivots, Ox *signs);
/* a x = b for one triangle of a; with `unit` the diagonal counts as 1. */
Ox matrix_triangle_solved(Op *op, Ox a, Ox b, bool upper, bool unit);
/* Expand both to one batch (solve.c). */
MUST_USE bool matrix_same_batch(Op *op, Ox *a, Ox *b);

#endif
