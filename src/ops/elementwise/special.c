/* special.c - special functions: those of the normal distribution, the gamma family.
 *
 * ONNX has erf and nothing else. The rest is computed from polynomials (special_data.h, fitted
 * by tools/gen-special.py), Stirling's series and recurrences; float64 results are good to some
 * 1e-14. */
#include "ops/elementwise/special.h"
#include "onnx/fold/erfcx_data.h"
#include "ops/elementwise/special_data.h"

/* ---- the normal distribution ---- */

/* exp(x^2) erfc(x); below 0 by erfc(-x) = 2 - erfc(x) */
static Ox erfcx_of(Op *op, Ox x)
{
    Ox size = ox(op, "Abs", x);
    Ox above = add(op, size, -2);
    Ox under = add(op, size, 2);
    Ox ratio = ox(op, "Div", above, under);
    Ox infinite = is(op, size, INFINITY);
    Ox t = pick(op, infinite, num(op, 1), ratio);
    Ox scale = add(op, mul(op, size, 2), 1);
    Ox right = ox(op, "Div", POLY(op, t, erfcx), scale);
    Ox power = ox(op, "Exp", square(op, x));
    Ox left = ox(op, "Sub", mul(op, power, 2), right);
    return pick(op, below(op, x, 0), left, right);
}

static Ox lower_erfcx(Op *op) { return rounded(op, erfcx_of(op, wide(op, "self"))); }

/* log of the normal distribution up to x: left of 0 it is log(erfcx(-x / sqrt 2) / 2) - x^2 / 2,
 * which never gets small */
static Ox lower_log_ndtr(Op *op)
{
    Ox x = wide(op, "self");
    Ox t = mul(op, x, -0.70710678118654752440);
    Ox scaled = erfcx_of(op, t);
    Ox log_scaled = ox(op, "Log", mul(op, scaled, 0.5));
    Ox power = square(op, t);
    Ox tail = ox(op, "Sub", log_scaled, power);
    Ox size = ox(op, "Abs", t);
    Ox damped = ox(op, "Exp", ox(op, "Neg", power));
    Ox half = mul(op, ox(op, "Mul", damped, erfcx_of(op, size)), 0.5); /* what lies beyond |x| */
    Ox near = ox(op, "Log", ox(op, "Sub", num(op, 1), half));
    return rounded(op, pick(op, below(op, x, 0), tail, near));
}

/* erfinv(y) / y from w = -log(1 - y^2): three polynomials, the outer ones in sqrt(w) */
static Ox erfinv_factor(Op *op, Ox w)
{
    Ox root = ox(op, "Sqrt", w);
    Ox middle = POLY(op, add(op, mul(op, w, 0.32), -1), erfinv_middle);
    Ox near = POLY(op, mul(op, add(op, root, -4.5), 0.5), erfinv_near);
    Ox far = POLY(op, mul(op, add(op, root, -17), 1 / 10.5), erfinv_far);
    Ox outer = pick(op, below(op, root, 6.5), near, far);
    return pick(op, below(op, w, 6.25), middle, outer);
}

/* The result of erfinv(y): `inside` where |y| < 1, infinite at 1 and -1, NaN beyond. */
static Ox with_ends(Op *op, Ox y, Ox size, Ox inside)
{
    Ox signs = ox(op, "Sign", y);
    Ox ends = mul(op, signs, INFINITY);
    Ox at_end = pick(op, is(op, size, 1), ends, num(op, NAN));
    return pick(op, below(op, size, 1), inside, at_end);
}

static Ox lower_erfinv(Op *op)
{
    Ox y = wide(op, "self");
    Ox size = ox(op, "Abs", y);
    Ox rest = ox(op, "Sub", num(op, 1), size);
    Ox more = add(op, size, 1);
    Ox product = ox(op, "Mul", rest, more);
    Ox w = ox(op, "Neg", ox(op, "Log", product));
    Ox inside = ox(op, "Mul", y, erfinv_factor(op, w));
    return rounded(op, with_ends(op, y, size, inside));
}

/* sqrt(2) erfinv(2p - 1); 1 - y^2 is 4 p (1 - p), which keeps a small p whole */
static Ox lower_ndtri(Op *op)
{
    Ox p = wide(op, "self");
    Ox y = add(op, mul(op, p, 2), -1);
    Ox rest = ox(op, "Sub", num(op, 1), p);
    Ox product = mul(op, ox(op, "Mul", p, rest), 4);
    Ox w = ox(op, "Neg", ox(op, "Log", product));
    Ox inside = mul(op, ox(op, "Mul", y, erfinv_factor(op, w)), 1.41421356237309504880);
    Ox right = pick(op, is(op, p, 1), num(op, INFINITY), num(op, NAN));
    Ox ends = pick(op, is(op, p, 0), num(op, -INFINITY), right);
    Ox above = ox(op, "Greater", p, num(op, 0));
    Ox under = below(op, p, 1);
    Ox within = ox(op, "And", above, under);
    return rounded(op, pick(op, within, inside, ends));
}

/* ---- the gamma family ---- */

enum { SHIFT = 10 }; /* Stirling's series is taken at x + SHIFT, recurrences lead back */

/* B(2k) / (2k): of the series of digamma; those of the others follow from it */
static const double bernoulli[] = {
    1. / 12,       -1. / 120, 1. / 252,      -1. / 240,      1. / 132,
    -691. / 32760, 1. / 12,   -3617. / 8160, 43867. / 14364, -174611. / 6600,
};

static Ox whole_negative(Op *op, Ox x) /* 0, -1, -2, ..: poles */
{
    Ox whole = ox(op, "Equal", x, ox(op, "Round", x));
    Ox up = ox(op, "LessOrEqual", x, num(op, 0));
    return ox(op, "And", whole, up);
}

/* log gamma of x > 0: (z - 1/2) log z - z + log(2 pi) / 2 + sum B(2k) / (2k (2k - 1) z^(2k-1)) at z
 * = x + SHIFT, less log of the product x (x + 1) .. (z - 1) */
Ox log_gamma(Op *op, Ox x)
{
    Ox z = add(op, x, SHIFT);
    Ox inverse = ox(op, "Reciprocal", z);
    Ox log_z = ox(op, "Log", z);
    double c[COUNT(bernoulli)];
    for (size_t k = 0; k < COUNT(bernoulli); k++)
        c[COUNT(bernoulli) - 1 - k] = bernoulli[k] / (2 * (double)k + 1);
    Ox series = ox(op, "Mul", POLY(op, square(op, inverse), c), inverse);
    Ox main = ox(op, "Sub", ox(op, "Mul", add(op, z, -0.5), log_z), z);
    Ox product = x;
    for (int k = 1; k < SHIFT; k++)
        product = ox(op, "Mul", product, add(op, x, k));
    Ox sum = add(op, ox(op, "Add", main, series), 0.91893853320467274178);
    Ox out = ox(op, "Sub", sum, ox(op, "Log", product));
    Ox huge = ox(op, "Greater", x, num(op, 1e15));
    Ox alone = ox(op, "Mul", x,
                  add(op, ox(op, "Log", x), -1)); /* the product overflows before the result does */
    Ox finite = pick(op, huge, alone, out);
    return pick(op, is(op, x, INFINITY), x, finite);
}

/* pi times the distance of x from the nearest whole number, with a sign: within its rounding pi x
 * has the sine and cosine of that, but for their common sign. A large x keeps its fraction, and one
 * close to a whole number its distance, which its fraction loses on one side. */
static Ox angle_of(Op *op, Ox x)
{
    Ox nearest = ox(op, "Round", x);
    return mul(op, ox(op, "Sub", x, nearest), PI);
}

/* Below 1/2 by reflection: |gamma(x) gamma(1 - x)| = pi / |sin(pi x)|. */
static Ox lgamma_of(Op *op, Ox x)
{
    Ox left = below(op, x, 0.5);
    Ox mirror = ox(op, "Sub", num(op, 1), x);
    Ox value = log_gamma(op, pick(op, left, mirror, x));
    Ox sine = ox(op, "Abs", ox(op, "Sin", angle_of(op, x)));
    Ox reflected = ox(op, "Sub", ox(op, "Log", ox(op, "Div", num(op, PI), sine)), value);
    Ox infinite = is(op, x, -INFINITY);
    Ox pole = ox(op, "Or", whole_negative(op, x), infinite);
    return pick(op, pole, num(op, INFINITY), pick(op, left, reflected, value));
}

static Ox lower_lgamma(Op *op) { return rounded(op, lgamma_of(op, wide(op, "self"))); }

/* p (p - 1) / 4 log pi + the sum of lgamma(x - k/2) */
static Ox lower_mvlgamma(Op *op)
{
    int64_t p = arg_int(op, "p");
    if (p < 1 || p > 64)
        return p < 1
            ? op_fail(op, E_VALUE, "p has to be greater than or equal to 1")
            : op_refuse(op, "p = %lld: it is computed term by term up to 64", (long long)p);
    Ox x = wide(op, "self");
    Ox sum = lgamma_of(op, x);
    for (int64_t k = 1; k < p; k++)
        sum = ox(op, "Add", sum, lgamma_of(op, add(op, x, -0.5 * (double)k)));
    return rounded(op, add(op, sum, (double)(p * (p - 1)) / 4 * log(PI)));
}

/* log z - 1/(2z) - sum B(2k) / (2k z^2k) at z = x + SHIFT, less 1/x + 1/(x + 1) + .. */
static Ox digamma_right(Op *op, Ox x)
{
    Ox z = add(op, x, SHIFT);
    Ox inverse = ox(op, "Reciprocal", z);
    Ox inverse2 = square(op, inverse);
    double c[COUNT(bernoulli)];
    for (size_t k = 0; k < COUNT(bernoulli); k++)
        c[COUNT(bernoulli) - 1 - k] = bernoulli[k];
    Ox series = ox(op, "Mul", POLY(op, inverse2, c), inverse2);
    Ox half = mul(op, inverse, 0.5);
    Ox main = ox(op, "Sub", ox(op, "Log", z), half);
    Ox value = ox(op, "Sub", main, series);
    Ox terms = ox(op, "Reciprocal", x);
    for (int k = 1; k < SHIFT; k++)
        terms = ox(op, "Add", terms, ox(op, "Reciprocal", add(op, x, k)));
    return ox(op, "Sub", value, terms);
}

/* cos(pi x) / sin(pi x) */
static Ox cotangent(Op *op, Ox x)
{
    Ox angle = angle_of(op, x);
    Ox top = ox(op, "Cos", angle);
    return ox(op, "Div", top, ox(op, "Sin", angle));
}

/* PyTorch gives the pole at 0 the sign that 1/x has there, no value to the others. */
static Ox digamma_of(Op *op, Ox x)
{
    Ox left = below(op, x, 0.5);
    Ox mirror = ox(op, "Sub", num(op, 1), x);
    Ox value = digamma_right(op, pick(op, left, mirror, x));
    Ox reflected = ox(op, "Sub", value, mul(op, cotangent(op, x), PI));
    Ox inside = pick(op, left, reflected, value);
    Ox at_zero = ox(op, "Neg", ox(op, "Reciprocal", x));
    Ox poles = pick(op, is(op, x, 0), at_zero, num(op, NAN));
    return pick(op, whole_negative(op, x), poles, inside);
}

static Ox lower_digamma(Op *op) { return rounded(op, digamma_of(op, wide(op, "self"))); }

/* The sum of 1/(x + k)^s for k = 0, 1, .. and x > 0: SHIFT terms, the integral of the rest, and its
 * corrections (Euler and Maclaurin), which mean nothing for an s so high that the terms come to an
 * end before (steep). */
static Ox zeta_right(Op *op, Ox x, Ox s, bool steep)
{
    Ox z = add(op, x, SHIFT);
    Ox power = ox(op, "Neg", s);
    Ox sum = ox(op, "Pow", x, power);
    Ox c[COUNT(bernoulli)];
    Ox rising = s;
    for (int k = 1; k < SHIFT; k++)
        sum = ox(op, "Add", sum, ox(op, "Pow", add(op, x, k), power));
    Ox last = ox(op, "Pow", z, power);
    Ox less = add(op, s, -1);
    Ox rest = ox(op, "Div", ox(op, "Mul", last, z), less);
    for (size_t k = 0; k < COUNT(bernoulli);
         k++) { /* rising: s (s + 1) .. (s + 2k - 2) / (2k - 1)! */
        double two_k = 2 * (double)k;
        c[k] = mul(op, rising, bernoulli[k]);
        Ox next = add(op, s, two_k + 1);
        Ox more = ox(op, "Mul", next, add(op, s, two_k + 2));
        rising = ox(op, "Mul", rising, mul(op, more, 1 / ((two_k + 2) * (two_k + 3))));
    }
    Ox inverse = ox(op, "Reciprocal", z);
    Ox inverse2 = square(op, inverse);
    Ox series = c[COUNT(c) - 1];
    for (size_t k = COUNT(c) - 1; k-- > 0;)
        series = ox(op, "Add", ox(op, "Mul", series, inverse2), c[k]);
    series = ox(op, "Mul", series, ox(op, "Mul", last, inverse));
    Ox half = mul(op, last, 0.5);
    Ox whole = ox(op, "Add", sum, rest);
    Ox value = ox(op, "Add", ox(op, "Add", whole, half), series);
    return steep ? pick(op, ox(op, "Less", last, mul(op, sum, 1e-17)), sum, value) : value;
}

/* Terms up to the first x > 0: states are x and their sum. */
static void zeta_step(Op *op, const void *data, Ox k, const Ox *state, Ox *next, Ox *go)
{
    const Ox *power = data;
    Ox under = ox(op, "LessOrEqual", state[0], num(op, 0));
    Ox one = pick(op, under, num(op, 1), num(op, 0));
    (void)k;
    next[0] = ox(op, "Add", state[0], one);
    next[1] = ox(op, "Add", state[1], pick(op, under, ox(op, "Pow", state[0], *power), num(op, 0)));
    *go = any_of(op, ox(op, "LessOrEqual", next[0], num(op, 0)));
}

/* Hurwitz's zeta function of any x and s. Powers of x < 0 have no value unless s is whole. */
static Ox zeta_of(Op *op, Ox s, Ox x)
{
    Ox like = ox(op, "Add", s, x);
    Ox power = ox(op, "Neg", s);
    Ox pole = whole_negative(op, x);
    Ox inside = pick(op, pole, num(op, 1), x);
    if (!ranks_known(op, &like, 1))
        return POISON;
    Ox state[] = { expand_dims(op, inside, like->type->dim, ox_rank(like)), NULL };
    state[1] = expand_dims(op, num(op, 0), like->type->dim, ox_rank(like));
    if (!op_loop(op, NULL, zeta_step, &power, state, 2))
        return POISON;
    Ox sum = ox(op, "Add", state[1], zeta_right(op, state[0], s, true));
    Ox value = pick(op, pole, num(op, INFINITY), sum);
    Ox right = pick(op, below(op, s, 1), num(op, NAN), value);
    return pick(op, is(op, s, 1), num(op, INFINITY), right);
}

static Ox lower_zeta(Op *op)
{
    Ox s = wide(op, "self");
    Ox x = wide(op, "other");
    return rounded(op, zeta_of(op, s, x));
}

enum { POLYGAMMA_MAX = 32 };

/* The nth derivative of pi cot(pi x), as a polynomial in c = cot(pi x): d/dx c = -pi (1 + c^2).
 * Highest power first. */
static size_t cotangent_derivative(int n, double out[POLYGAMMA_MAX + 3])
{
    double p[POLYGAMMA_MAX + 3] = { 0, PI };
    int degree = 1;
    for (int i = 0; i < n; i++, degree++) {
        double q[POLYGAMMA_MAX + 3] = { 0 };
        for (int k = 1; k <= degree; k++) {
            q[k - 1] -= PI * k * p[k];
            q[k + 1] -= PI * k * p[k];
        }
        memcpy(p, q, sizeof p);
    }
    for (int k = 0; k <= degree; k++)
        out[degree - k] = p[k];
    return (size_t)degree + 1;
}

/* Trigamma below 1/2: (pi / sin(pi x))^2 less its value at 1 - x, `right`. PyTorch rounds pi x to
 * x's type, which decides what comes of the poles at whole numbers, and near them. */
static Ox trigamma_left(Op *op, Ox x, Ox right)
{
    DType t = op->common == DT_DOUBLE ? DT_DOUBLE : DT_FLOAT;
    Ox angle = ox_ok(x) ? ox(op, "Mul", ox_cast(op->g, x, t), ox_number(op->g, t, PI)) : POISON;
    Ox sine = ox(op, "Sin", ox_ok(angle) ? ox_cast(op->g, angle, DT_DOUBLE) : POISON);
    return ox(op, "Sub", square(op, ox(op, "Div", num(op, PI), sine)), right);
}

/* (-1)^(n+1) n! zeta(n + 1, x). Below 1/2: psi_n(x) = (-1)^n psi_n(1 - x) - the nth derivative of
 * pi cot(pi x). */
static Ox polygamma_of(Op *op, Ox x, int n)
{
    double c[POLYGAMMA_MAX + 3], factorial = 1;
    for (int k = 2; k <= n; k++)
        factorial *= k;
    Ox left = below(op, x, 0.5);
    Ox mirror = ox(op, "Sub", num(op, 1), x);
    Ox right = mul(op, zeta_right(op, pick(op, left, mirror, x), num(op, n + 1), false),
                   n % 2 ? factorial : -factorial);
    if (n == 1)
        return pick(op, left, trigamma_left(op, x, right), right);
    size_t terms = cotangent_derivative(n, c);
    Ox turned = poly(op, cotangent(op, x), c, terms);
    Ox reflected = ox(op, "Sub", mul(op, right, n % 2 ? -1 : 1), turned);
    Ox pole = num(op, n % 2 ? INFINITY : -INFINITY);
    Ox value = pick(op, left, reflected, right);
    return pick(op, whole_negative(op, x), pole, value);
}

/* polygamma of a large n: the factorial overflows in the result's type before the product does,
 * and PyTorch's overflows with it. */
static Ox steep_polygamma(Op *op, int64_t n)
{
    DType t = op->common == DT_DOUBLE ? DT_DOUBLE : DT_FLOAT;
    Ox zeta = ox_cast(op->g, zeta_of(op, num(op, (double)n + 1), wide(op, "self")), t);
    Ox factor = ox_number(op->g, t, n % 2 ? tgamma((double)n + 1) : -tgamma((double)n + 1));
    return rounded(op, ox(op, "Mul", zeta, factor));
}

static Ox lower_polygamma(Op *op)
{
    int64_t n = arg_int(op, "n");
    if (n < 0)
        return op_fail(op, E_VALUE, "polygamma(n, x) does not support negative n.");
    if (n > POLYGAMMA_MAX)
        return steep_polygamma(op, n);
    Ox x = wide(op, "self");
    return rounded(op, n == 0 ? digamma_of(op, x) : polygamma_of(op, x, (int)n));
}

/* The one in-place form that has its operands the other way round. */
static Value lower_polygamma_(Op *op)
{
    Value args[] = { arg_value(op, "self"), val_tensor(op->cx, lower_polygamma(op)) };
    return val_ok(args[1]) ? call_op(op, "aten::copy_", args, COUNT(args)) : args[1];
}

#define SPECIAL(fn, line, d) LOWER(fn, "int-to-float(self)", PLAIN, line, .derivative = (d))

/* Told, as they are polynomials and limits that are chosen by Where: beside an infinite one no
 * gradient is left. */
#define DERIVATIVE_OF_LGAMMA    "self = Mul(grad, aten::digamma(self))"
#define DERIVATIVE_OF_DIGAMMA   "self = Mul(grad, aten::polygamma(1, self))"
#define DERIVATIVE_OF_POLYGAMMA "self = Mul(grad, aten::polygamma(n + 1, self))"
/* The sum of digamma(x - k/2) for k < p */
#define DERIVATIVE_OF_MVLGAMMA                                                         \
    "self = Mul(grad, ReduceSum<keepdims=0>(aten::digamma(Sub(Unsqueeze(self, [-1]), " \
    "Mul(Range(like(0, self), like(p, self), like(1, self)), 0.5))), [-1]))"
#define DERIVATIVE_OF_ERFINV \
    "self = Mul(grad, Mul(Exp(Mul(result, result)), 0.88622692545275801365))"

OP_ROWS(special)
{
    SPECIAL(lower_erfcx, "aten::special_erfcx(Tensor self) -> Tensor",
            "self = Mul(grad, Sub(Mul(Mul(self, 2), result), 1.12837916709551257390))");
    SPECIAL(lower_log_ndtr, "aten::special_log_ndtr(Tensor self) -> Tensor",
            "self = Mul(grad, Mul(Exp(Neg(Add(result, Mul(Mul(self, self), 0.5)))), "
            "0.39894228040143267794))");
    SPECIAL(lower_erfinv, "aten::erfinv(Tensor self) -> Tensor", DERIVATIVE_OF_ERFINV);
    SPECIAL(lower_erfinv, "aten::special_erfinv(Tensor self) -> Tensor", DERIVATIVE_OF_ERFINV);
    SPECIAL(lower_ndtri, "aten::special_ndtri(Tensor self) -> Tensor",
            "self = Mul(grad, Mul(Exp(Mul(Mul(result, result), 0.5)), 2.50662827463100050242))");
    SPECIAL(lower_lgamma, "aten::lgamma(Tensor self) -> Tensor", DERIVATIVE_OF_LGAMMA);
    SPECIAL(lower_lgamma, "aten::special_gammaln(Tensor self) -> Tensor", DERIVATIVE_OF_LGAMMA);
    SPECIAL(lower_mvlgamma, "aten::mvlgamma(Tensor self, int p) -> Tensor", DERIVATIVE_OF_MVLGAMMA);
    SPECIAL(lower_mvlgamma, "aten::special_multigammaln(Tensor self, int p) -> Tensor",
            DERIVATIVE_OF_MVLGAMMA);
    SPECIAL(lower_digamma, "aten::digamma(Tensor self) -> Tensor", DERIVATIVE_OF_DIGAMMA);
    SPECIAL(lower_digamma, "aten::special_digamma(Tensor self) -> Tensor", DERIVATIVE_OF_DIGAMMA);
    SPECIAL(lower_digamma, "aten::special_psi(Tensor self) -> Tensor", DERIVATIVE_OF_DIGAMMA);
    SPECIAL(lower_polygamma, "aten::polygamma(int n, Tensor self) -> Tensor",
            DERIVATIVE_OF_POLYGAMMA);
    CALL(lower_polygamma_, "int-to-float(self)", PLAIN,
         "aten::polygamma_(Tensor(a!) self, int n) -> Tensor(a!)");
    SPECIAL(lower_polygamma, "aten::special_polygamma(int n, Tensor self) -> Tensor",
            DERIVATIVE_OF_POLYGAMMA);
    LOWER(
        lower_zeta, "int-to-float(self, other)", PLAIN,
        "aten::special_zeta(Tensor self, Tensor other) -> Tensor",
        .derivative = "other = Mul(grad, Mul(Neg(self), aten::special_zeta(Add(self, 1), other))) "
                      "self = \"PyTorch has none\"");
    OLDER("aten::special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor");
    OLDER("aten::special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor");
}
