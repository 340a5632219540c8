/* fold.h - what folding functions share: the table of each family, what a function gets, elements
 * as wide numbers, walks over broadcast operands, strided copies.
 *
 * The one idea: every float type is computed in double and rounded once, integers in int64 and cut
 * off. */
#ifndef PT2ONNX_ONNX_FOLD_H
#define PT2ONNX_ONNX_FOLD_H

#include "onnx/internal.h"

/* ---- the families: each one's file ends with its rows, {0} last ---- */

typedef struct FoldRow {
    const char *op;
    FoldFn fn;
} FoldRow;
extern const FoldRow *const fold_families[]; /* ends with NULL */
extern const FoldRow fold_elementwise[], fold_shape[], fold_reduce[], fold_linalg[], fold_nn[],
    fold_misc[];

/* ---- what a folding function gets ---- */

struct Fold {
    Ctx *cx;
    const Node *node; /* attributes through node_int(..) */
    const Data *in;   /* at NULL: input not there */
    Data *out;        /* typed and allocated by the caller from the inferred types; fill `at` */
};

/* ---- elements as numbers (fold_common.c) ---- */

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

#endif
