/* polynomial.c - orthogonal polynomials (Chebyshev's four kinds, Hermite, Laguerre, Legendre) of a
 * degree that is a tensor.
 *
 * Each follows from the two before it. A degree that is one known small number is written out step
 * by step; for all others one Loop takes the steps for all elements at once, and an element stops
 * at its own degree. Steps are taken in the type and the order in which PyTorch takes them, since a
 * sum that cancels, or that leaves the type's range, shows both. */
#include "ops/internal.h"

enum { WRITTEN_OUT = 16 }; /* the highest degree without a Loop */

typedef enum {
    CHEBYSHEV_T,
    CHEBYSHEV_U,
    CHEBYSHEV_V,
    CHEBYSHEV_W,
    HERMITE_H,
    HERMITE_HE,
    LAGUERRE,
    LEGENDRE,
    SHIFTED
} Kind;

typedef struct Polynomial {
    Kind kind;
    Ox y, twice, n; /* the argument, 2 y, and the degree in int64 */
} Polynomial;

static Ox num(Op *op, const Polynomial *p, double v) { return number_like(op, v, p->y); }

/* The polynomial of degree k + 1 from that of degree k (now) and k - 1 (before). */
static Ox step(Op *op, const Polynomial *p, Ox k, Ox now, Ox before)
{
    if (p->kind <= CHEBYSHEV_W) /* 2 y now - before */
        return ox(op, "Sub", ox(op, "Mul", p->twice, now), before);
    if (p->kind == HERMITE_H ||
        p->kind == HERMITE_HE) { /* 2 y now - 2 k before, y now - k before */
        Ox up = ox(op, "Mul", p->kind == HERMITE_H ? p->twice : p->y, now);
        Ox times = p->kind == HERMITE_H ? ox(op, "Add", k, k) : k;
        return ox(op, "Sub", up, ox(op, "Mul", times, before));
    }
    /* ((2 k + 1 - y) now - k before) / (k + 1), ((2 k + 1) y now - k before) / (k + 1) */
    Ox one = num(op, p, 1);
    Ox two_k = ox(op, "Add", k, k);
    Ox next = ox(op, "Add", k, one);
    Ox factor = p->kind == LAGUERRE ? ox(op, "Add", two_k, ox(op, "Sub", one, p->y))
                                    : ox(op, "Mul", ox(op, "Add", two_k, one), p->y);
    Ox up = ox(op, "Mul", factor, now);
    Ox down = ox(op, "Mul", k, before);
    return ox(op, "Div", ox(op, "Sub", up, down), next);
}

static Ox degree_one(Op *op, const Polynomial *p)
{
    switch (p->kind) {
    case CHEBYSHEV_U:
    case HERMITE_H:   return p->twice;
    case CHEBYSHEV_V: return ox(op, "Sub", p->twice, num(op, p, 1));
    case CHEBYSHEV_W: return ox(op, "Add", p->twice, num(op, p, 1));
    case LAGUERRE:    return ox(op, "Sub", num(op, p, 1), p->y);
    default:          return p->y;
    }
}

/* ---- steps ---- */

static Ox written_out(Op *op, const Polynomial *p, int64_t n, Ox shaped_one)
{
    Ox before = shaped_one;
    Ox now = degree_one(op, p);
    if (n <= 0)
        return n < 0 ? ox(op, "Sub", shaped_one, shaped_one) : shaped_one;
    for (int64_t k = 1; k < n; k++) {
        Ox next = step(op, p, num(op, p, (double)k), now, before);
        before = now;
        now = next;
    }
    return now;
}

/* Is any element's degree above k? */
static Ox any_above(Op *op, Ox n, Ox k) { return any_of(op, ox(op, "Greater", n, k)); }

/* body(i, cond, now, before): k = i + 1 has come to an end where the degree is k. */
static Graph *steps_body(Op *op, const Polynomial *p, Type t)
{
    Ctx *cx = op->cx;
    Op in = *op;
    in.g = graph_new(cx, op->g, NULL);
    Ox i = graph_input(in.g, NULL, type_tensor(cx, DT_INT64, 0, NULL));
    graph_input(in.g, NULL, type_tensor(cx, DT_BOOL, 0, NULL));
    Ox now = graph_input(in.g, NULL, t);
    Ox before = graph_input(in.g, NULL, t);
    Ox one = ox_int(in.g, 1);
    Ox k = ox(&in, "Add", i, one);
    Ox goes_on = ox(&in, "Greater", p->n, k);
    Ox next = step(&in, p, ox_cast(in.g, k, t->dtype), now, before);
    Ox new_now = ox(&in, "Where", goes_on, next, now);
    Ox new_before = ox(&in, "Where", goes_on, now, before);
    graph_output(in.g, any_above(&in, p->n, ox(&in, "Add", k, one)), NULL);
    graph_output(in.g, new_now, NULL);
    graph_output(in.g, new_before, NULL);
    return ctx_failed(cx) || !ox_ok(new_now) ? NULL : in.g;
}

static Ox looped(Op *op, const Polynomial *p, Ox shaped_one)
{
    Ox first = ox_ok(shaped_one)
        ? expand_dims(op, degree_one(op, p), shaped_one->type->dim, ox_rank(shaped_one))
        : POISON,
       out[2];
    Graph *body = ox_ok(first) ? steps_body(op, p, first->type) : NULL;
    Ox start = any_above(op, p->n, ox_int(op->g, 1));
    if (!body ||
        !ox_make_n(op->g, "Loop", INPUTS(NULL, start, first, shaped_one),
                   ATTRS(SUBGRAPH("body", body)), out, 2))
        return POISON;
    Ox zero = ox_int(op->g, 0);
    Ox none = ox(op, "Equal", p->n, zero);
    Ox negative = ox(op, "Less", p->n, zero);
    Ox from_zero = ox(op, "Where", none, num(op, p, 1), out[0]);
    return ox(op, "Where", negative, num(op, p, 0), from_zero);
}

/* ---- the angle ----
 * Inside of (-1, 1) Chebyshev's polynomials are sines and cosines of an angle: T_n(cos a) is
 * cos(n a). PyTorch computes them so from some degree on. */

/* The polynomial of y = cos(angle). */
static Ox by_angle(Op *op, const Polynomial *p)
{
    Ox angle = ox(op, "Acos", p->y);
    Ox half = ox(op, "Mul", angle, num(op, p, 0.5));
    Ox n = ox_cast(op->g, p->n, ox_dtype(p->y));
    if (p->kind == CHEBYSHEV_T)
        return ox(op, "Cos", ox(op, "Mul", n, angle));
    if (p->kind == CHEBYSHEV_U) {
        Ox above = ox(op, "Sin", ox(op, "Mul", ox(op, "Add", n, num(op, p, 1)), angle));
        Ox sine = ox(op, "Sin", angle);
        return ox(op, "Div", above, sine);
    }
    Ox turned = ox(op, "Mul", ox(op, "Add", n, num(op, p, 0.5)), angle);
    Ox sine = ox(op, "Sin", half);
    Ox cosine = ox(op, "Cos", half);
    return p->kind == CHEBYSHEV_V ? ox(op, "Div", ox(op, "Cos", turned), cosine)
                                  : ox(op, "Div", ox(op, "Sin", turned), sine);
}

/* Where is the angle used? Inside of (-1, 1), from degree `least` on; for V and W only where the
 * divisor is not 0, which it is once the other function of half the angle is rounded to 1. */
static Ox has_angle(Op *op, const Polynomial *p, int64_t least)
{
    Ox inside = ox(op, "Less", ox(op, "Abs", p->y), num(op, p, 1));
    Ox high = ox(op, "GreaterOrEqual", p->n, ox_int(op->g, least));
    Ox both = ox(op, "And", inside, high);
    if (p->kind != CHEBYSHEV_V && p->kind != CHEBYSHEV_W)
        return both;
    Ox half = ox(op, "Mul", ox(op, "Acos", p->y), num(op, p, 0.5));
    Ox other = ox_make(op->g, p->kind == CHEBYSHEV_V ? "Sin" : "Cos", INPUTS(half), NULL, 0);
    Ox divides = ox(op, "Less", other, num(op, p, 1));
    return ox(op, "And", both, divides);
}

/* ---- the operators ---- */

/* 1, of the result's shape. */
static Ox ones(Op *op, const Polynomial *p)
{
    int rank, n_rank;
    Dim d[MAX_RANK];
    if (!need_rank(op, p->y, -1, &rank) || !need_rank(op, p->n, -1, &n_rank))
        return POISON;
    int most = rank > n_rank ? rank : n_rank;
    for (int i = 0; i < most; i++) {
        int a = i - (most - rank);
        int b = i - (most - n_rank);
        d[i] = a < 0 ? ox_dim(p->n, b) : ox_dim(p->y, a);
        if (a >= 0 && b >= 0 && !dim_broadcast(op->cx, ox_dim(p->y, a), ox_dim(p->n, b), &d[i]))
            return op_fail(op, E_VALUE, "%s and %s cannot be broadcast together",
                           type_text(op->cx, p->y->type)->s, type_text(op->cx, p->n->type)->s);
    }
    return expand_dims(op, num(op, p, 1), d, most);
}

/* Chebyshev's polynomials. few: the degree is the known number n and needs no Loop. */
static Ox chebyshev(Op *op, Polynomial *p, Ox one, bool few, int64_t n, bool shifted)
{
    int64_t least = p->kind == CHEBYSHEV_T || shifted ? 7 : 9;
    if (few && n < least)
        return written_out(op, p, n, one);
    Ox angle = by_angle(op, p);
    Ox where = has_angle(op, p, least);
    if (few)
        return ox(op, "Where", where, angle, written_out(op, p, n, one));
    /* elements that have their value by the angle need no iterations */
    p->n = ox(op, "Where", where, ox_int(op->g, 0), p->n);
    Ox stepped = ox_ok(p->n) ? looped(op, p, one) : POISON;
    return ox(op, "Where", where, angle, stepped);
}

/* row->datum: the Kind, plus SHIFTED where the argument is 2 x - 1. */
static Ox lower_polynomial(Op *op)
{
    Ox x = arg(op, "x");
    Ox n = arg(op, "n");
    if (!ox_ok(x) || !ox_ok(n))
        return POISON;
    Str kernel = str_fmt(op->cx, "%s_cpu", op->call->schema->name->s + strlen("aten::special_"));
    bool half = op->common == DT_FLOAT16 || op->common == DT_BFLOAT16;
    if (!kernel || !need_kernel(op, kernel->s, op->common, !half))
        return POISON;
    bool shifted = op->row->datum >= SHIFTED;
    Ox doubled = ox(op, "Add", x, x);
    Ox moved = shifted ? ox(op, "Sub", doubled, number_like(op, 1, x)) : x;
    Polynomial p = { .kind = (Kind)(op->row->datum % SHIFTED),
                     .y = moved,
                     .n = ox_cast(op->g, n, DT_INT64) };
    p.twice = shifted ? ox(op, "Add", moved, moved) : doubled;
    double known = 0;
    bool few = ox_known_scalar(op->g, p.n, &known) && known <= WRITTEN_OUT;
    Ox one = ones(op, &p);
    if (!ox_ok(one))
        return POISON;
    if (p.kind <= CHEBYSHEV_W)
        return chebyshev(op, &p, one, few, (int64_t)known, shifted);
    /* PyTorch gives NaN for Hermite's of a degree above 512, 128 in float32: so do the steps, which
     * left the type's range long before. */
    return few ? written_out(op, &p, (int64_t)known, one) : looped(op, &p, one);
}

#define POLYNOMIAL(kind, name)                                              \
    FAMILY(lower_polynomial, kind, "int-to-float(x, n)", PLAIN,             \
           "aten::special_" name "(Tensor x, Tensor n) -> Tensor");         \
    OLDER("aten::special_" name ".x_scalar(Scalar x, Tensor n) -> Tensor"); \
    OLDER("aten::special_" name ".n_scalar(Tensor x, Scalar n) -> Tensor")

OP_ROWS(polynomial)
{
    POLYNOMIAL(CHEBYSHEV_T, "chebyshev_polynomial_t");
    POLYNOMIAL(CHEBYSHEV_U, "chebyshev_polynomial_u");
    POLYNOMIAL(CHEBYSHEV_V, "chebyshev_polynomial_v");
    POLYNOMIAL(CHEBYSHEV_W, "chebyshev_polynomial_w");
    POLYNOMIAL(HERMITE_H, "hermite_polynomial_h");
    POLYNOMIAL(HERMITE_HE, "hermite_polynomial_he");
    POLYNOMIAL(LAGUERRE, "laguerre_polynomial_l");
    POLYNOMIAL(LEGENDRE, "legendre_polynomial_p");
    POLYNOMIAL(SHIFTED + CHEBYSHEV_T, "shifted_chebyshev_polynomial_t");
    POLYNOMIAL(SHIFTED + CHEBYSHEV_U, "shifted_chebyshev_polynomial_u");
    POLYNOMIAL(SHIFTED + CHEBYSHEV_V, "shifted_chebyshev_polynomial_v");
    POLYNOMIAL(SHIFTED + CHEBYSHEV_W, "shifted_chebyshev_polynomial_w");
}
