/* special.h - arithmetic of doubles, for the special functions of special.c, bessel.c and gamma.c.
 *
 * They compute in double, whatever the type, and round once. Every branch of a formula is computed
 * for every element and Where picks one, so a branch must give no error for any element. */
#ifndef PT2ONNX_OPS_SPECIAL_H
#define PT2ONNX_OPS_SPECIAL_H

#include "ops/internal.h"

#include <math.h>

#define PI             3.14159265358979323846
#define POLY(op, t, c) poly((op), (t), (c), COUNT(c))

static inline Ox num(Op *op, double v) { return ox_number(op->g, DT_DOUBLE, v); }
static inline Ox add(Op *op, Ox x, double v) { return ox(op, "Add", x, num(op, v)); }
static inline Ox mul(Op *op, Ox x, double v) { return ox(op, "Mul", x, num(op, v)); }
static inline Ox below(Op *op, Ox x, double v) { return ox(op, "Less", x, num(op, v)); }
static inline Ox is(Op *op, Ox x, double v) { return ox(op, "Equal", x, num(op, v)); }
static inline Ox pick(Op *op, Ox where, Ox yes, Ox no) { return ox(op, "Where", where, yes, no); }
static inline Ox square(Op *op, Ox x) { return ox(op, "Mul", x, x); }

/* Horner's scheme, the highest power first. */
static inline Ox poly(Op *op, Ox t, const double *c, size_t n)
{
    Ox sum = add(op, mul(op, t, c[0]), c[1]);
    for (size_t i = 2; i < n; i++)
        sum = add(op, ox(op, "Mul", sum, t), c[i]);
    return sum;
}

/* The argument in double, and a result in the type that PyTorch gives it. */
static inline Ox wide(Op *op, const char *name) { return ox_cast(op->g, arg(op, name), DT_DOUBLE); }
static inline Ox rounded(Op *op, Ox x) { return ox_cast(op->g, x, op->common); }

/* log of the gamma function of x > 0 (special.c) */
Ox log_gamma(Op *op, Ox x);

#endif
