/* complex_number.c - complex numbers in terms of their parts: arithmetic, powers, exponentials and
 * what is made of them. Formulas are those of the textbook; what could overflow on the way does
 * not. */
#include "ops/elementwise/complex.h"

#include <math.h>

Ox part_zeros(Op *op, Ox a)
{
    Ox zero = number_like(op, 0, a);
    Ox shape = ox_ok(a) ? ox_shape(op->g, a) : POISON;
    return ox(op, "Expand", zero, shape);
}

/* atan2(y, x): the quadrant comes from the signs, of zeros too; runtimes have atan in float32
 * only. */
Ox z_angle(Op *op, Ox y, Ox x)
{
    Value args[] = { val_tensor(op->cx, y), val_tensor(op->cx, x) };
    return call_ox(op, "aten::atan2", args, 2);
}

Z z_parts(Op *op, Ox v)
{
    if (!ox_ok(v))
        return (Z){ POISON, POISON };
    if (!dtype_is_complex(ox_dtype(v)))
        return (Z){ v, part_zeros(op, v) };
    Z z;
    z.re = ox_part(op->g, v, 0);
    z.im = ox_part(op->g, v, 1);
    return z;
}

Z z_arg(Op *op, const char *name) { return z_parts(op, arg(op, name)); }

Ox z_joined(Op *op, Z z) { return ox_complex(op->g, z.re, z.im); }

Z z_add(Op *op, Z a, Z b)
{
    Ox re = sum(op, a.re, b.re);
    Ox im = sum(op, a.im, b.im);
    return (Z){ re, im };
}

Z z_sub(Op *op, Z a, Z b)
{
    Ox re = less(op, a.re, b.re);
    Ox im = less(op, a.im, b.im);
    return (Z){ re, im };
}

Z z_mul(Op *op, Z a, Z b)
{
    Ox rr = times(op, a.re, b.re);
    Ox ii = times(op, a.im, b.im);
    Ox ri = times(op, a.re, b.im);
    Ox ir = times(op, a.im, b.re);
    Ox re = less(op, rr, ii);
    Ox im = sum(op, ri, ir);
    return (Z){ re, im };
}

Z z_conj(Op *op, Z a) { return (Z){ a.re, minus(op, a.im) }; }

static Ox size2(Op *op, Z a)
{
    Ox rr = times(op, a.re, a.re);
    Ox ii = times(op, a.im, a.im);
    return sum(op, rr, ii);
}

/* a conj(b) / |b|^2, both divided by b's larger part first, so that nothing overflows; a / 0 is
 * what each part of a divided by 0 is */
Z z_div(Op *op, Z a, Z b)
{
    Ox x = ox(op, "Abs", b.re);
    Ox y = ox(op, "Abs", b.im);
    Ox most = ox(op, "Max", x, y);
    Ox zero = number_like(op, 0, most);
    Ox one = number_like(op, 1, most);
    Ox none = ox(op, "Equal", most, zero);
    Ox by = ox(op, "Where", none, one, most);
    Ox c = ox(op, "Where", none, one, over(op, b.re, by));
    Ox d = over(op, b.im, by);
    Z unit = { c, d };
    Z top = z_mul(op, a, z_conj(op, unit));
    Ox bottom = times(op, size2(op, unit), most);
    Ox re = over(op, top.re, bottom);
    Ox im = over(op, top.im, bottom);
    return (Z){ re, im };
}

/* |a| without overflow: m sqrt((re/m)^2 + (im/m)^2), m the larger part */
Ox z_abs(Op *op, Z a)
{
    Ox x = ox(op, "Abs", a.re);
    Ox y = ox(op, "Abs", a.im);
    Ox most = ox(op, "Max", x, y);
    Ox zero = number_like(op, 0, most);
    Ox one = number_like(op, 1, most);
    Ox none = ox(op, "Equal", most, zero);
    Ox infinite = ox(op, "IsInf", most);
    Ox plain = ox(op, "Or", none, infinite);
    Ox by = ox(op, "Where", plain, one, most);
    Ox c = over(op, a.re, by);
    Ox d = over(op, a.im, by);
    Ox square = size2(op, (Z){ c, d });
    return times(op, ox(op, "Sqrt", square), by);
}

Z z_exp(Op *op, Z a)
{
    Ox r = ox(op, "Exp", a.re);
    Ox c = ox(op, "Cos", a.im);
    Ox s = ox(op, "Sin", a.im);
    Ox re = times(op, r, c);
    Ox im = times(op, r, s);
    return (Z){ re, im };
}

Z z_log(Op *op, Z a)
{
    Ox re = ox(op, "Log", z_abs(op, a));
    Ox im = z_angle(op, a.im, a.re);
    return (Z){ re, im };
}

/* sqrt((|a| + |re|) / 2) is the larger part, the other is im over twice that; the imaginary part
 * has im's sign */
Z z_sqrt(Op *op, Z a)
{
    Ox size = z_abs(op, a);
    Ox x = ox(op, "Abs", a.re);
    Ox t = ox(op, "Sqrt", scaled(op, sum(op, size, x), 0.5));
    Ox zero = number_like(op, 0, t);
    Ox one = number_like(op, 1, t);
    Ox none = ox(op, "Equal", t, zero);
    Ox safe = ox(op, "Where", none, one, t);
    Ox other = over(op, scaled(op, a.im, 0.5), safe);
    Ox right = ox(op, "GreaterOrEqual", a.re, zero);
    Ox inverse = ox(op, "Reciprocal", a.im);
    Ox low = ox(op, "Less", a.im, zero);
    Ox from_low = ox(op, "Less", inverse, zero); /* -0.0 */
    Ox below = ox(op, "Or", low, from_low);
    Ox turned = ox(op, "Where", below, minus(op, t), t);
    Ox re = ox(op, "Where", right, t, ox(op, "Abs", other));
    Ox im = ox(op, "Where", right, other, turned);
    return (Z){ re, im };
}

Z z_number(Op *op, double re, double im, Ox like)
{
    return (Z){ number_like(op, re, like), number_like(op, im, like) };
}

Z z_turn(Op *op, Z a) { return (Z){ minus(op, a.im), a.re }; }
Z z_back(Op *op, Z a) { return (Z){ a.im, minus(op, a.re) }; }

/* sinh and cosh of a real number, by exp: runtimes have them in float32 only */
static void hyperbolic(Op *op, Ox x, Ox *sinh_x, Ox *cosh_x)
{
    Ox up = ox(op, "Exp", x);
    Ox down = ox(op, "Exp", minus(op, x));
    *sinh_x = scaled(op, less(op, up, down), 0.5);
    *cosh_x = scaled(op, sum(op, up, down), 0.5);
}

Z z_sinh(Op *op, Z a)
{
    Ox sh, ch;
    Ox c = ox(op, "Cos", a.im);
    Ox s = ox(op, "Sin", a.im);
    hyperbolic(op, a.re, &sh, &ch);
    Ox re = times(op, sh, c);
    Ox im = times(op, ch, s);
    return (Z){ re, im };
}

Z z_cosh(Op *op, Z a)
{
    Ox sh, ch;
    Ox c = ox(op, "Cos", a.im);
    Ox s = ox(op, "Sin", a.im);
    hyperbolic(op, a.re, &sh, &ch);
    Ox re = times(op, ch, c);
    Ox im = times(op, sh, s);
    return (Z){ re, im };
}

/* (tanh re (1 + tan^2 im) + i tan im (1 - tanh^2 re)) / (1 + tanh^2 re tan^2 im), multiplied with
 * cos^2 im, so that no tangent is infinite */
Z z_tanh(Op *op, Z a)
{
    Ox th = ox(op, "Tanh", a.re);
    Ox c = ox(op, "Cos", a.im);
    Ox s = ox(op, "Sin", a.im);
    Ox one = number_like(op, 1, th);
    Ox t2 = times(op, th, th);
    Ox s2 = times(op, s, s);
    Ox c2 = times(op, c, c);
    Ox bottom = sum(op, c2, times(op, t2, s2));
    Ox re = over(op, th, bottom);
    Ox cross = times(op, s, c);
    Ox im = over(op, times(op, cross, less(op, one, t2)), bottom);
    return (Z){ re, im };
}

/* a + by: the imaginary part keeps the sign of its zero, which a sum with 0 loses, and which says
 * on which side of a branch cut a lies. */
static Z shifted(Op *op, Z a, double by)
{
    return (Z){ sum(op, a.re, number_like(op, by, a.re)), a.im };
}

static Z negative(Op *op, Z a) { return (Z){ minus(op, a.re), minus(op, a.im) }; }

/* log(a + sqrt(a + 1) sqrt(a - 1)) */
Z z_acosh(Op *op, Z a)
{
    Z up = z_sqrt(op, shifted(op, a, 1));
    Z down = z_sqrt(op, shifted(op, a, -1));
    return z_log(op, z_add(op, a, z_mul(op, up, down)));
}

/* log(a + sqrt(a^2 + 1)) */
Z z_asinh(Op *op, Z a)
{
    Z root = z_sqrt(op, shifted(op, z_mul(op, a, a), 1));
    return z_log(op, z_add(op, a, root));
}

/* (log(1 + a) - log(1 - a)) / 2 */
Z z_atanh(Op *op, Z a)
{
    Z up = z_log(op, shifted(op, a, 1));
    Z down = z_log(op, shifted(op, negative(op, a), 1));
    Z d = z_sub(op, up, down);
    Ox re = scaled(op, d.re, 0.5);
    Ox im = scaled(op, d.im, 0.5);
    return (Z){ re, im };
}

Z z_where(Op *op, Ox yes, Z a, Z b)
{
    Ox re = ox(op, "Where", yes, a.re, b.re);
    Ox im = ox(op, "Where", yes, a.im, b.im);
    return (Z){ re, im };
}

/* log(exp(a) + exp(b)) is m + log(1 + exp(l - m)), where m is the one with the larger real part.
 * Where both real parts are -infinity the result is m. */
Z z_log_sum(Op *op, Z a, Z b)
{
    Ox larger = ox(op, "GreaterOrEqual", a.re, b.re);
    Ox least = number_like(op, -INFINITY, a.re);
    Z m = z_where(op, larger, a, b);
    Z l = z_where(op, larger, b, a);
    Z one = z_number(op, 1, 0, a.re);
    Z more = z_log(op, z_add(op, one, z_exp(op, z_sub(op, l, m))));
    Ox nothing = ox(op, "Equal", m.re, least);
    return z_where(op, nothing, m, z_add(op, m, more));
}

Z z_scale(Op *op, Z a, double by)
{
    Ox re = scaled(op, a.re, by);
    Ox im = scaled(op, a.im, by);
    return (Z){ re, im };
}

/* exp(w log a); 0^0 is 1, and by w's real part 0^w is 0, (inf, nan) or (nan, nan) */
Z z_pow(Op *op, Z a, Z w)
{
    Z out = z_exp(op, z_mul(op, w, z_log(op, a)));
    Ox zero = number_like(op, 0, a.re);
    Ox one = number_like(op, 1, a.re);
    Ox a_none = ox(op, "Equal", size2(op, a), zero);
    Ox w_none = ox(op, "Equal", size2(op, w), zero);
    Ox ahead = ox(op, "Greater", w.re, zero);
    Ox back = ox(op, "Less", w.re, zero);
    Ox nan = number_like(op, NAN, a.re);
    Ox other = ox(op, "Where", back, number_like(op, INFINITY, a.re), nan);
    Ox of_zero = ox(op, "Where", ahead, zero, ox(op, "Where", w_none, one, other));
    Ox real = ox(op, "Or", ahead, w_none);
    Ox re = ox(op, "Where", a_none, of_zero, out.re);
    Ox im = ox(op, "Where", a_none, ox(op, "Where", real, zero, nan), out.im);
    return (Z){ re, im };
}
