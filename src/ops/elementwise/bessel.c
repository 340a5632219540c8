/* bessel.c - Bessel functions of orders 0 and 1, of a real and of an imaginary argument, and the
 * Airy function.
 *
 * Near 0 each is a polynomial (bessel_data.h, fitted by tools/gen-special.py), with a logarithm
 * where it is infinite there. Far out they fall off like 1/sqrt(x), times an exponential or a sine:
 * what is left of them then is a polynomial in 1/x. */
#include "ops/elementwise/special.h"
#include "ops/elementwise/bessel_data.h"

/* t of a polynomial over 0 <= x <= top: 2 (x / top)^2 - 1; and over x >= start: 2 (start / x)^2
 * - 1 */
static Ox near_zero(Op *op, Ox x, double top)
{
    return add(op, mul(op, square(op, x), 2 / (top * top)), -1);
}
static Ox far_out(Op *op, Ox x, double start)
{
    return add(op, mul(op, square(op, ox(op, "Reciprocal", x)), 2 * start * start), -1);
}

static Ox over(Op *op, double v, Ox x) { return ox(op, "Div", num(op, v), x); }

/* ---- of an imaginary argument: I0 and I1 ---- */

/* From two polynomials that meet at 8; row->datum: 1 leaves the result multiplied with exp(-|x|) */
static Ox bessel_i(Op *op, bool first)
{
    Ox x = wide(op, "self");
    Ox size = ox(op, "Abs", x);
    Ox t = add(op, mul(op, size, 0.25), -1);
    Ox u = add(op, over(op, 16, size), -1);
    Ox near = first ? ox(op, "Mul", POLY(op, t, i1e_near), size) : POLY(op, t, i0e_near);
    Ox far = first ? POLY(op, u, i1e_far) : POLY(op, u, i0e_far);
    Ox root = ox(op, "Sqrt", size);
    Ox falling = ox(op, "Div", far, root);
    Ox value = pick(op, below(op, size, 8), near, falling);
    if (first)
        value = ox(op, "Mul", value, ox(op, "Sign", x));
    if (!op->row->datum)
        value = ox(op, "Mul", value, ox(op, "Exp", size));
    return rounded(op, value);
}

static Ox lower_i0(Op *op) { return bessel_i(op, false); }
static Ox lower_i1(Op *op) { return bessel_i(op, true); }

/* ---- of an imaginary argument: K0 and K1, for x > 0 ---- */

/* log(x/2) I0(x) or I1(x) and a polynomial up to 2; row->datum: 1 leaves the result multiplied with
 * exp(x) */
static Ox bessel_k(Op *op, bool first)
{
    Ox x = wide(op, op->row->datum ? "x" : "self");
    Ox t = near_zero(op, x, 2);
    Ox log_half = ox(op, "Log", mul(op, x, 0.5));
    Ox power = op->row->datum ? ox(op, "Exp", x) : NULL, near;
    if (first) {
        Ox inner = ox(op, "Mul", POLY(op, t, i1_small), log_half);
        Ox sum = ox(op, "Add", POLY(op, t, k1_small), inner);
        near = ox(op, "Add", ox(op, "Mul", sum, x), over(op, 1, x));
    } else {
        Ox inner = ox(op, "Mul", POLY(op, t, i0_small), log_half);
        near = ox(op, "Sub", POLY(op, t, k0_small), inner);
    }
    Ox u = add(op, over(op, 4, x), -1);
    Ox far = first ? POLY(op, u, k1_large) : POLY(op, u, k0_large);
    Ox falling = ox(op, "Div", far, ox(op, "Sqrt", x));
    near = power ? ox(op, "Mul", near, power) : near;
    falling = power ? falling : ox(op, "Mul", falling, ox(op, "Exp", ox(op, "Neg", x)));
    Ox value = pick(op, below(op, x, 2), near, falling);
    Ox zero = is(op, x, 0);
    return rounded(op, pick(op, zero, num(op, INFINITY), value));
}

static Ox lower_k0(Op *op) { return bessel_k(op, false); }
static Ox lower_k1(Op *op) { return bessel_k(op, true); }

/* ---- of a real argument ---- */

/* sqrt(2 / (pi x)) (P cos a - Q sin a), or (P sin a + Q cos a) for the second kind, at a = x - (2 n
 * + 1) pi / 4 */
static Ox oscillating(Op *op, Ox x, bool first, bool second_kind)
{
    Ox t = far_out(op, x, 8);
    Ox angle = add(op, x, first ? -0.75 * PI : -0.25 * PI);
    Ox cosine = ox(op, "Cos", angle);
    Ox sine = ox(op, "Sin", angle);
    Ox p = first ? POLY(op, t, p1) : POLY(op, t, p0);
    Ox q = ox(op, "Mul", first ? POLY(op, t, q1) : POLY(op, t, q0), over(op, 8, x));
    Ox of_p = ox(op, "Mul", p, second_kind ? sine : cosine);
    Ox of_q = ox(op, "Mul", q, second_kind ? cosine : sine);
    Ox sum = ox_make(op->g, second_kind ? "Add" : "Sub", INPUTS(of_p, of_q), NULL, 0);
    return ox(op, "Mul", sum, ox(op, "Sqrt", over(op, 2 / PI, x)));
}

static Ox lower_j0(Op *op)
{
    Ox x = ox(op, "Abs", wide(op, "self"));
    Ox near = POLY(op, near_zero(op, x, 8), j0_near);
    Ox far = oscillating(op, x, false, false);
    return rounded(op, pick(op, below(op, x, 8), near, far));
}

static Ox lower_j1(Op *op)
{
    Ox x = wide(op, "self");
    Ox size = ox(op, "Abs", x);
    Ox near = ox(op, "Mul", POLY(op, near_zero(op, size, 8), j1_near), x);
    Ox far = ox(op, "Mul", oscillating(op, size, true, false), ox(op, "Sign", x));
    return rounded(op, pick(op, below(op, size, 8), near, far));
}

/* 2/pi log x J(x) and the rest; for x > 0 */
static Ox lower_y0(Op *op)
{
    Ox x = wide(op, "self");
    Ox t = near_zero(op, x, 8);
    Ox first_kind = mul(op, POLY(op, t, j0_near), 2 / PI);
    Ox singular = ox(op, "Mul", first_kind, ox(op, "Log", x));
    Ox near = ox(op, "Add", POLY(op, t, y0_near), singular);
    Ox far = oscillating(op, x, false, true);
    return rounded(op, pick(op, below(op, x, 8), near, far));
}

static Ox lower_y1(Op *op)
{
    Ox x = wide(op, "self");
    Ox t = near_zero(op, x, 8);
    Ox first_kind = mul(op, POLY(op, t, j1_near), 2 / PI);
    Ox singular = ox(op, "Mul", first_kind, ox(op, "Log", x));
    Ox sum = ox(op, "Add", POLY(op, t, y1_near), singular);
    Ox near = ox(op, "Sub", ox(op, "Mul", sum, x), over(op, 2 / PI, x));
    Ox far = oscillating(op, x, true, true);
    Ox value = pick(op, below(op, x, 8), near, far);
    return rounded(op, pick(op, is(op, x, 0), num(op, -INFINITY), value));
}

/* ---- Airy ---- */

/* z = 2/3 |x|^(3/2): exp(-z) and a polynomial from 2 on, sines of z below -4 */
static Ox lower_airy_ai(Op *op)
{
    Ox x = wide(op, "x");
    Ox size = ox(op, "Abs", x);
    Ox root = ox(op, "Sqrt", size);
    Ox z = mul(op, ox(op, "Mul", size, root), 2. / 3);
    Ox middle = POLY(op, mul(op, add(op, x, 1), 1. / 3), airy_middle);
    Ox quarter = ox(op, "Sqrt", root);
    Ox right = POLY(op, add(op, over(op, 2 * 1.88561808316412673174, z), -1), airy_right);
    Ox falling = ox(op, "Exp", ox(op, "Neg", z));
    right = ox(op, "Div", ox(op, "Mul", right, falling), mul(op, quarter, 3.54490770181103205460));
    Ox t = far_out(op, z, 16. / 3);
    Ox angle = add(op, z, PI / 4);
    Ox cosine = ox(op, "Cos", angle);
    Ox sine = ox(op, "Sin", angle);
    Ox p = ox(op, "Mul", POLY(op, t, airy_p), sine);
    Ox q = ox(op, "Mul", POLY(op, t, airy_q), over(op, 16. / 3, z));
    Ox left = ox(op, "Sub", p, ox(op, "Mul", q, cosine));
    left = ox(op, "Div", left, mul(op, quarter, 1.77245385090551602730));
    Ox inner = pick(op, below(op, x, -4), left, middle);
    Ox value = pick(op, below(op, x, 2), inner, right);
    return rounded(
        op, pick(op, is(op, size, INFINITY), num(op, NAN), value)); /* PyTorch's own answer there */
}

#define TORCH_HAS_NONE      "self = \"PyTorch has none\""
#define BESSEL(fn, line, d) LOWER(fn, "int-to-float(self)", PLAIN, line, .derivative = (d))
#define SCALED(fn, line, d) FAMILY(fn, 1, "int-to-float(self)", PLAIN, line, .derivative = (d))

/* Of I1 it is I0 - I1 / x, which is 1/2 at 0; `outside` is 1 there, x elsewhere. */
#define OUTSIDE "Where(Equal(self, 0), like(1, self), self)"
#define AT_0    "Equal(self, 0), like(0.5, self)"
#define OF_I0   "self = Mul(grad, aten::special_i1(self))"
#define OF_I0E  "self = Mul(grad, Sub(aten::special_i1e(self), Mul(Sign(self), result)))"
#define OF_I1   "self = Mul(grad, Where(" AT_0 ", Sub(aten::i0(self), Div(result, " OUTSIDE "))))"
#define OF_I1E                                                                   \
    "self = Mul(grad, Where(" AT_0 ", Sub(aten::special_i0e(self), Mul(result, " \
    "Add(Sign(self), Reciprocal(" OUTSIDE "))))))"

OP_ROWS(bessel)
{
    BESSEL(lower_i0, "aten::i0(Tensor self) -> Tensor", OF_I0);
    BESSEL(lower_i0, "aten::special_i0(Tensor self) -> Tensor", OF_I0);
    BESSEL(lower_i0, "aten::special_modified_bessel_i0(Tensor self) -> Tensor", TORCH_HAS_NONE);
    SCALED(lower_i0, "aten::special_i0e(Tensor self) -> Tensor", OF_I0E);
    BESSEL(lower_i1, "aten::special_i1(Tensor self) -> Tensor", OF_I1);
    BESSEL(lower_i1, "aten::special_modified_bessel_i1(Tensor self) -> Tensor", TORCH_HAS_NONE);
    SCALED(lower_i1, "aten::special_i1e(Tensor self) -> Tensor", OF_I1E);
    BESSEL(lower_k0, "aten::special_modified_bessel_k0(Tensor self) -> Tensor", TORCH_HAS_NONE);
    BESSEL(lower_k1, "aten::special_modified_bessel_k1(Tensor self) -> Tensor", TORCH_HAS_NONE);
    FAMILY(lower_k0, 1, "int-to-float(x)", PLAIN,
           "aten::special_scaled_modified_bessel_k0(Tensor x) -> Tensor");
    FAMILY(lower_k1, 1, "int-to-float(x)", PLAIN,
           "aten::special_scaled_modified_bessel_k1(Tensor x) -> Tensor");
    BESSEL(lower_j0, "aten::special_bessel_j0(Tensor self) -> Tensor", TORCH_HAS_NONE);
    BESSEL(lower_j1, "aten::special_bessel_j1(Tensor self) -> Tensor", TORCH_HAS_NONE);
    BESSEL(lower_y0, "aten::special_bessel_y0(Tensor self) -> Tensor", TORCH_HAS_NONE);
    BESSEL(lower_y1, "aten::special_bessel_y1(Tensor self) -> Tensor", TORCH_HAS_NONE);
    LOWER(lower_airy_ai, "int-to-float(x)", PLAIN, "aten::special_airy_ai(Tensor x) -> Tensor");
}
