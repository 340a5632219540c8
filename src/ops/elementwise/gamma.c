/* gamma.c - the incomplete gamma functions P and Q = 1 - P of a (self) and x (other).
 *
 * The smaller of the two is computed, the other follows. Up to a = 100 that is P by its series
 * where x is small, Q by a continued fraction where it is large, each a Loop of as many steps as
 * its slowest element asks for. Beyond, where steps grow like sqrt(a), the integral is taken by
 * Gauss's rule. Elements that a way is not made for take arguments at which it ends at once. */
#include "ops/elementwise/special.h"
#include "ops/elementwise/gamma_data.h"

enum { MOST_STEPS = 1000 }; /* some 110 are needed */
#define INTEGRATED 100.     /* from this a on */

typedef struct Point {
    Ox a, x;
} Point;

/* x^a exp(-x) / gamma(b) */
static Ox factor(Op *op, const Point *p, Ox b)
{
    Ox power = ox(op, "Mul", p->a, ox(op, "Log", p->x));
    Ox less = ox(op, "Sub", power, p->x);
    return ox(op, "Exp", ox(op, "Sub", less, log_gamma(op, b)));
}

/* The sum of x^k / ((a + 1) .. (a + k)): states are the term and the sum. */
static void series_step(Op *op, const void *data, Ox k, const Ox *state, Ox *next, Ox *go)
{
    const Point *p = data;
    Ox n = add(op, ox_cast(op->g, k, DT_DOUBLE), 1);
    Ox ratio = ox(op, "Div", p->x, ox(op, "Add", p->a, n));
    next[0] = ox(op, "Mul", state[0], ratio);
    next[1] = ox(op, "Add", state[1], next[0]);
    *go = any_of(op, ox(op, "Greater", next[0], mul(op, next[1], 1e-17)));
}

/* P of x < a + 1 */
static Ox by_series(Op *op, const Point *p, Ox where)
{
    Point safe = { .a = pick(op, where, p->a, num(op, 1)) };
    safe.x = pick(op, where, p->x, num(op, 0));
    Ox first = ox_ok(where) ? ox_cast(op->g, where, DT_DOUBLE) : POISON;
    Ox state[] = { first, first };
    if (!op_loop(op, ox_int(op->g, MOST_STEPS), series_step, &safe, state, 2))
        return POISON;
    Ox more = add(op, safe.a, 1);
    return ox(op, "Mul", state[1], factor(op, &safe, more));
}

/* 1 / (b0 - 1 (1 - a) / (b1 - 2 (2 - a) / (b2 - ..))), bk = x + 1 - a + 2k, from the front
 * (Lentz): states are the quotients of numerators and of denominators one after the other, and
 * the fraction. */
static void fraction_step(Op *op, const void *data, Ox k, const Ox *state, Ox *next, Ox *go)
{
    const Point *p = data;
    Ox n = add(op, ox_cast(op->g, k, DT_DOUBLE), 1);
    Ox top = ox(op, "Mul", n, ox(op, "Sub", p->a, n));
    Ox rest = add(op, mul(op, n, 2), 1);
    Ox b = ox(op, "Add", ox(op, "Sub", p->x, p->a), rest);
    next[0] = ox(op, "Add", b, ox(op, "Div", top, state[0]));
    next[1] = ox(op, "Reciprocal", ox(op, "Add", b, ox(op, "Mul", top, state[1])));
    Ox change = ox(op, "Mul", next[0], next[1]);
    next[2] = ox(op, "Mul", state[2], change);
    Ox size = ox(op, "Abs", add(op, change, -1));
    *go = any_of(op, ox(op, "Greater", size, num(op, 1e-15)));
}

/* Q of x >= a + 1 */
static Ox by_fraction(Op *op, const Point *p, Ox where)
{
    Point safe = { .a = pick(op, where, p->a, num(op, 1)) };
    safe.x = pick(op, where, p->x, num(op, 2));
    Ox b = add(op, ox(op, "Sub", safe.x, safe.a), 1);
    Ox first = ox(op, "Reciprocal", b);
    Ox infinite = mul(op, first, 1e300);
    Ox state[] = { infinite, first, first };
    if (!op_loop(op, ox_int(op->g, MOST_STEPS), fraction_step, &safe, state, 3))
        return POISON;
    return ox(op, "Mul", state[2], factor(op, &safe, safe.a));
}

/* log(1 + s) - s: near 0 with log(1 + s) = 2 (r + r^3 / 3 + r^5 / 5 ..) of r = s / (2 + s), whose
 * first term leaves 2r - s = -r s */
static Ox log_less(Op *op, Ox s)
{
    double c[14];
    for (size_t k = 0; k < COUNT(c); k++)
        c[COUNT(c) - 1 - k] = 2. / (2 * (double)k + 3);
    Ox r = ox(op, "Div", s, add(op, s, 2));
    Ox r2 = square(op, r);
    Ox r3 = ox(op, "Mul", r2, r);
    Ox terms = ox(op, "Mul", POLY(op, r2, c), r3);
    Ox near = ox(op, "Sub", terms, ox(op, "Mul", r, s));
    Ox far = ox(op, "Sub", ox(op, "Log", add(op, s, 1)), s);
    return pick(op, below(op, ox(op, "Abs", s), 0.5), near, far);
}

static Ox row_of(Op *op, const double *v, int64_t n)
{
    return ox_const(op->g, const_make(op->cx, DT_DOUBLE, 1, &n, v));
}

/* The integral from x outwards, away from the top of t^m exp(-t) / gamma(m + 1) at m = a - 1, as
 * far as anything counts. At t = m (1 + s) that is exp(m (log(1 + s) - s)) / sqrt(2 pi m) but for
 * Stirling's correction. *upper: it is Q, above the top, else P. */
static Ox by_integral(Op *op, const Point *p, Ox where, Ox *upper)
{
    static const double stirling[] = { -1. / 1680, 1. / 1260, -1. / 360, 1. / 12 };
    Ox a = pick(op, where, p->a, num(op, INTEGRATED));
    Ox x = pick(op, where, p->x, num(op, INTEGRATED));
    Ox m = add(op, a, -1);
    Ox sigma = ox(op, "Sqrt", m);
    Ox away = ox(op, "Sub", x, m);
    Ox z = ox(op, "Div", ox(op, "Abs", away), sigma);
    Ox root = ox(op, "Sqrt", add(op, square(op, z), 76));
    Ox width = ox(op, "Mul", ox(op, "Div", num(op, 76), ox(op, "Add", z, root)),
                  sigma); /* there it has fallen by exp(-38), were it Gauss's */
    *upper = ox(op, "Greater", away, num(op, 0));
    Ox left = ox(op, "Neg", ox(op, "Min", width, x));
    Ox way = pick(op, *upper, mul(op, width, 1.5), left);
    int rank = ox_rank(way);
    Ox points = row_of(op, gauss_points, COUNT(gauss_points));
    Ox weights = row_of(op, gauss_weights, COUNT(gauss_weights));
    Ox start = unsqueeze_axis(op, away, rank);
    Ox steps = ox(op, "Mul", unsqueeze_axis(op, way, rank), points);
    Ox wide_m = unsqueeze_axis(op, m, rank);
    Ox s = ox(op, "Div", ox(op, "Add", start, steps), wide_m);
    Ox heights = ox(op, "Exp", ox(op, "Mul", log_less(op, s), wide_m));
    Ox sum = reduce(op, "ReduceSum", ox(op, "Mul", heights, weights),
                    &(Axes){ .n = 1, .at = { rank } }, false);
    Ox area = ox(op, "Mul", sum, ox(op, "Abs", way));
    Ox inverse = ox(op, "Reciprocal", m);
    Ox series = POLY(op, square(op, inverse), stirling);
    Ox correction = ox(op, "Exp", ox(op, "Neg", ox(op, "Mul", series, inverse)));
    Ox product = ox(op, "Mul", area, correction);
    Ox scale = mul(op, sigma, 2.50662827463100050242);
    return ox(op, "Div", product, scale);
}

/* Where one of them is 0 or infinite, below 0 or no number: in PyTorch's order, which tells what
 * not-a-number becomes beside the others. */
static Ox at_ends(Op *op, const Point *p, bool lower)
{
    Ox none = num(op, NAN);
    Ox zero = num(op, !lower);
    Ox one = num(op, lower);
    Ox positive = ox(op, "Greater", p->x, num(op, 0));
    Ox x_ends = is(op, p->x, INFINITY);
    Ox both = pick(op, x_ends, none, zero);
    Ox at_x = pick(op, x_ends, one, none);
    Ox far = pick(op, is(op, p->a, INFINITY), both, at_x);
    Ox some_a = pick(op, is(op, p->x, 0), zero, far);
    Ox no_a = pick(op, positive, one, none);
    Ox ends = pick(op, is(op, p->a, 0), no_a, some_a);
    Ox under = below(op, p->a, 0);
    Ox negative = ox(op, "Or", under, below(op, p->x, 0));
    return pick(op, negative, none, ends);
}

static Ox within(Op *op, Ox v) /* 0 < v < infinity */
{
    Ox positive = ox(op, "Greater", v, num(op, 0));
    Ox finite = below(op, v, INFINITY);
    return ox(op, "And", positive, finite);
}

/* row->datum: 1 for P, 0 for Q */
static Ox lower_incomplete_gamma(Op *op)
{
    bool has = op->common == DT_NONE || dtype_is_float(op->common);
    if (!need_kernel(op, "igamma", op->common, has))
        return POISON;
    Point p = { .a = wide(op, "self") };
    p.x = wide(op, "other");
    if (!ranks_known(op, (const Ox[]){ p.a, p.x }, 2))
        return POISON;
    bool lower = op->row->datum;
    Ox some_a = within(op, p.a);
    Ox inside = ox(op, "And", some_a, within(op, p.x));
    Ox large = ox(op, "GreaterOrEqual", p.a, num(op, INTEGRATED));
    Ox small = ox(op, "And", inside, ox(op, "Not", large));
    Ox early = ox(op, "Less", p.x, add(op, p.a, 1));
    Ox late = ox(op, "Not", early);
    Ox upper;
    Ox series = by_series(op, &p, ox(op, "And", small, early));
    Ox fraction = by_fraction(op, &p, ox(op, "And", small, late));
    Ox area = by_integral(op, &p, ox(op, "And", inside, large), &upper);
    Ox stepped = pick(op, early, series, fraction);
    Ox part = pick(op, large, area, stepped);
    Ox is_upper = pick(op, large, upper, late);
    Ox rest = ox(op, "Sub", num(op, 1), part);
    Ox value = lower ? pick(op, is_upper, rest, part) : pick(op, is_upper, part, rest);
    return rounded(op, pick(op, inside, value, at_ends(op, &p, lower)));
}

/* x^(a - 1) exp(-x) / gamma(a) is what both change by. */
#define DENSITY "Exp(Sub(Sub(Mul(Sub(self, 1), Log(other)), other), aten::lgamma(self)))"
#define INCOMPLETE(lower, line, sign)                                          \
    FAMILY(lower_incomplete_gamma, lower, "default(self, other)", PLAIN, line, \
           .derivative = "other = Mul(grad, " sign ") self = \"PyTorch has none\"")

OP_ROWS(gamma)
{
    INCOMPLETE(1, "aten::igamma(Tensor self, Tensor other) -> Tensor", DENSITY);
    INCOMPLETE(0, "aten::igammac(Tensor self, Tensor other) -> Tensor", "Neg(" DENSITY ")");
    INCOMPLETE(1, "aten::special_gammainc(Tensor self, Tensor other) -> Tensor", DENSITY);
    INCOMPLETE(0, "aten::special_gammaincc(Tensor self, Tensor other) -> Tensor",
               "Neg(" DENSITY ")");
}
