/* arithmetic.c - arithmetic on the elements of tensors that may be complex: ONNX's operators on
 * real ones, formulas on the parts of complex ones. */
#include "ops/elementwise/complex.h"

bool ox_is_complex(Ox x) { return ox_ok(x) && dtype_is_complex(ox_dtype(x)); }

/* A sum or difference: ONNX's operator `name` of real tensors, `of` the parts when one is
 * complex. */
static Ox each_sum(Op *op, const char *name, Z (*of)(Op *, Z, Z), Ox a, Ox b)
{
    if (!ox_is_complex(a) && !ox_is_complex(b))
        return ox(op, name, a, b);
    Z x = z_parts(op, a);
    Z y = z_parts(op, b);
    return z_joined(op, of(op, x, y));
}

Ox each_add(Op *op, Ox a, Ox b) { return each_sum(op, "Add", z_add, a, b); }
Ox each_sub(Op *op, Ox a, Ox b) { return each_sum(op, "Sub", z_sub, a, b); }

/* The product or quotient (name) of a complex number and a real one: of each part with the real
 * one. */
static Ox of_parts(Op *op, const char *name, Ox z, Ox real)
{
    Z x = z_parts(op, z);
    Ox re = ox(op, name, x.re, real);
    Ox im = ox(op, name, x.im, real);
    return z_joined(op, (Z){ re, im });
}

Ox each_mul(Op *op, Ox a, Ox b)
{
    if (ox_is_complex(a) && ox_is_complex(b)) {
        Z x = z_parts(op, a);
        Z y = z_parts(op, b);
        return z_joined(op, z_mul(op, x, y));
    }
    if (ox_is_complex(a))
        return of_parts(op, "Mul", a, b);
    return ox_is_complex(b) ? of_parts(op, "Mul", b, a) : ox(op, "Mul", a, b);
}

Ox each_div(Op *op, Ox a, Ox b)
{
    if (!ox_is_complex(b))
        return ox_is_complex(a) ? of_parts(op, "Div", a, b) : ox(op, "Div", a, b);
    Z x = z_parts(op, a);
    Z y = z_parts(op, b);
    return z_joined(op, z_div(op, x, y));
}

Ox each_size(Op *op, Ox x)
{
    return ox_is_complex(x) ? z_abs(op, z_parts(op, x)) : ox(op, "Abs", x);
}

Ox each_pivot_size(Op *op, Ox x)
{
    if (!ox_is_complex(x))
        return ox(op, "Abs", x);
    Z z = z_parts(op, x);
    Ox re = ox(op, "Abs", z.re);
    Ox im = ox(op, "Abs", z.im);
    return sum(op, re, im);
}

Ox each_square(Op *op, Ox x)
{
    if (!ox_is_complex(x))
        return ox(op, "Mul", x, x);
    Z z = z_parts(op, x);
    Ox re = times(op, z.re, z.re);
    Ox im = times(op, z.im, z.im);
    return sum(op, re, im);
}

Ox each_sign(Op *op, Ox x)
{
    if (!ox_is_complex(x))
        return ox(op, "Sign", x);
    Ox size = each_size(op, x);
    Ox none = ox(op, "Equal", size, number_like(op, 0, size));
    Ox by = ox(op, "Where", none, number_like(op, 1, size), size);
    return of_parts(op, "Div", x, by);
}

Ox each_is_zero(Op *op, Ox x)
{
    Ox zero = ox_is_complex(x) ? ox_number(op->g, dtype_of_parts(ox_dtype(x)), 0)
                               : number_like(op, 0, x);
    if (!ox_is_complex(x))
        return ox(op, "Equal", x, zero);
    Z z = z_parts(op, x);
    Ox re = ox(op, "Equal", z.re, zero);
    Ox im = ox(op, "Equal", z.im, zero);
    return ox(op, "And", re, im);
}

Ox each_real(Op *op, Ox x) { return ox_is_complex(x) ? ox_part(op->g, x, 0) : x; }

Ox real_like(Op *op, double v, Ox like)
{
    return ox_ok(like) ? ox_number(op->g, dtype_of_parts(ox_dtype(like)), v) : POISON;
}

DType in_double(Ox x) { return ox_is_complex(x) ? DT_COMPLEX128 : DT_DOUBLE; }
