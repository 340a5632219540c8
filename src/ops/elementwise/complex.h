/* complex.h - complex numbers as two real tensors. complex_number.c has their arithmetic and
 * functions, complex.c the operators. */
#ifndef PT2ONNX_OPS_COMPLEX_H
#define PT2ONNX_OPS_COMPLEX_H

#include "ops/internal.h"

typedef struct Z {
    Ox re, im;
} Z;

/* ---- real parts ---- */

static inline Ox sum(Op *op, Ox a, Ox b) { return ox(op, "Add", a, b); }
static inline Ox less(Op *op, Ox a, Ox b) { return ox(op, "Sub", a, b); }
static inline Ox times(Op *op, Ox a, Ox b) { return ox(op, "Mul", a, b); }
static inline Ox over(Op *op, Ox a, Ox b) { return ox(op, "Div", a, b); }
static inline Ox minus(Op *op, Ox a) { return ox(op, "Neg", a); }
static inline Ox scaled(Op *op, Ox a, double by)
{
    return ox(op, "Mul", a, number_like(op, by, a));
}
Ox part_zeros(Op *op, Ox a); /* of a's shape and type */

/* ---- complex numbers ---- */

Z z_parts(Op *op, Ox v); /* a real one has a part of zeros */
Z z_arg(Op *op, const char *name);
Ox z_joined(Op *op, Z z); /* parts of one shape */
Z z_number(Op *op, double re, double im, Ox like);
Z z_add(Op *op, Z a, Z b);
Z z_sub(Op *op, Z a, Z b);
Z z_mul(Op *op, Z a, Z b);
Z z_div(Op *op, Z a, Z b);
Z z_pow(Op *op, Z a, Z w);
Z z_scale(Op *op, Z a, double by);
Z z_conj(Op *op, Z a);
Z z_turn(Op *op, Z a); /* i a */
Z z_back(Op *op, Z a); /* -i a */
Ox z_abs(Op *op, Z a);
Ox z_angle(Op *op, Ox y, Ox x); /* atan2 */
Z z_exp(Op *op, Z a);
Z z_log(Op *op, Z a);
Z z_sqrt(Op *op, Z a);
Z z_sinh(Op *op, Z a);
Z z_cosh(Op *op, Z a);
Z z_tanh(Op *op, Z a);
Z z_asinh(Op *op, Z a);
Z z_acosh(Op *op, Z a);
Z z_atanh(Op *op, Z a);
Z z_where(Op *op, Ox yes, Z a, Z b);
Z z_log_sum(Op *op, Z a, Z b); /* log(exp(a) + exp(b)) without overflow */

#endif
