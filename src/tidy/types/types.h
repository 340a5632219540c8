/* types.h - weights and arithmetic of another type (--weights-type): what half.c, quantise.c and
 * converted.c share. Nobody outside src/tidy includes it. */
#ifndef PT2ONNX_TIDY_TYPES_H
#define PT2ONNX_TIDY_TYPES_H

#include "tidy/internal.h"

/* ---- constants that are computed piece by piece while they are written (converted.c) ---- */

/* The float32 constant k in type t, float16 or bfloat16, each element rounded to nearest even. One
 * that is finite and out of range becomes the largest of its sign, which a note counts. NULL
 * without memory. */
const Const *const_as_half(Ctx *cx, const Const *k, DType t);
/* The largest finite number of float16 or bfloat16. */
double half_max(DType t);

/* k as a constant that can be read in parts: a recipe's result is held in memory until parts_done,
 * and so is what is inflated, unless the parts come one after the other (`forward`). */
typedef struct Parts {
    Const k;
    uint8_t *room;
    uint64_t size;
} Parts;
MUST_USE bool parts_begin(Ctx *cx, const Const *k, bool forward, Parts *out);
void parts_done(Ctx *cx, Parts *p);

/* ---- products with weights of 4 or 8 bits ---- */

/* Of a weight [N, K], blocks along K. */
typedef struct NBits {
    int64_t N, K, block;
    int bits;
} NBits;

/* MatMulNBits(x, codes, scales[, zero points]) of com.microsoft. */
Ox matmul_nbits(Graph *g, OxList in, NBits how);

/* ---- products ---- */

bool plain_gemm(const Node *n); /* is a Gemm no more than a product and a sum? */
Ox before_turn(Ox v);           /* what a Transpose turns round to give v; v where none does */

/* The second input of a MatMul or Gemm as it lies: turned says whether as [N, K], which a Transpose
 * or transB turns round. NULL where a Transpose orders it in another way. */
Ox product_matrix(const Node *n, bool *turned);

/* ---- what the user asks for ---- */

/* Does one of --float32's patterns match the node: its operator, its module or a module around it?
 * Counts in o which of them have matched something. */
bool float32_asked(const TidyOptions *o, const Node *n);

#endif
