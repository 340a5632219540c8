/* dim_divide.c - floor division and modulo of expressions, in normal form: what divides is divided,
 * what is left is an atom; and min and max, without arguments that are never the answer. */
#include "onnx/dim/dim.h"

#include <stdlib.h>

/* ---- exact division, floor division, modulo ---- */

/* t / by as monomials. */
static bool divide_term(Ctx *cx, const Term *t, const Term *by, Term *out)
{
    if (by->coef == 0 || t->n < by->n || (by->coef == -1 && t->coef == INT64_MIN) ||
        t->coef % by->coef)
        return false;
    *out = (Term){ .coef = t->coef / by->coef, .n = t->n - by->n };
    Dim left[MAX_DEGREE];
    uint32_t j = 0;
    uint32_t m = 0;
    for (uint32_t i = 0; i < t->n; i++)
        if (j < by->n && t->atom[i] == by->atom[j])
            j++;
        else if (m < out->n)
            left[m++] = t->atom[i];
        else
            return false;
    if (j != by->n)
        return false;
    out->atom = dim_copy_list(cx, left, m);
    return out->atom || m == 0;
}

/* Long division by the leading term; false when something is left over. */
bool dim_divide_exact(Ctx *cx, Dim a, Dim b, Dim *out)
{
    Term one_b[1], q[MAX_TERMS];
    size_t nb, n = 0;
    const Term *tb = dim_terms(b, one_b, &nb);
    if (nb == 0)
        return false;
    while (!dim_is_value(a, 0)) {
        Term one_a[1];
        size_t na;
        const Term *ta = dim_terms(a, one_a, &na);
        if (n == MAX_TERMS || !divide_term(cx, ta, tb, &q[n]))
            return false;
        Dim step = dim_times(cx, dim_make_sum(cx, &q[n], 1), b);
        if (!step || !(a = dim_combine(cx, a, -1, step)))
            return false;
        n++;
    }
    *out = dim_sum_terms(cx, q, n);
    return *out != NULL;
}

/* 2*N by 2 is N; N by 2 is N//2 where a fact says N % 2 = 0, else false. Never an error: by 0 it is
 * false too. */
bool dim_divide(Ctx *cx, Dim a, Dim b, Dim *out)
{
    if (!a || !b)
        return false;
    a = dim_now(a);
    b = dim_now(b);
    int64_t x, y;
    if (dim_constant(b, &y) && y == 0)
        return false;
    if (dim_constant(a, &x) && dim_constant(b, &y)) {
        if ((y == -1 && x == INT64_MIN) || x % y)
            return false;
        *out = dim_int(cx, x / y);
        return true;
    }
    if (dim_divide_exact(cx, a, b, out))
        return true;
    Dim rest = dim_modulo(cx, a, b); /* a fact may say that there is none */
    if (!rest || !dim_is_value(rest, 0))
        return false;
    *out = dim_floor_div(cx, a, b);
    return *out != NULL;
}

int64_t dim_gcd(int64_t a, int64_t b)
{
    uint64_t x = a < 0 ? -(uint64_t)a : (uint64_t)a;
    uint64_t y = b < 0 ? -(uint64_t)b : (uint64_t)b;
    while (y) {
        uint64_t t = x % y;
        x = y;
        y = t;
    }
    return (int64_t)(x >> 63 ? 1 : x);
}

/* Is the number of a sum of n terms made positive before c divides it? Not of a c so large that the
 * sum then leaves 64 bits when the model runs: (N - 1)//(2^63 - 1) is no (N + 2^63 - 2)//.. */
static bool lifts_number(size_t n, int64_t c) { return n == 1 || c <= INT64_MAX / 2; }

/* a = c*whole + rest, term by term: rest's coefficients lie within (-c, c), its number in [0, c) if
 * lifts_number(). */
static bool split_by(Ctx *cx, Dim a, int64_t c, Dim *whole, Dim *rest)
{
    Term one[1], w[MAX_TERMS], r[MAX_TERMS];
    size_t n;
    size_t nw = 0;
    size_t nr = 0;
    const Term *t = dim_terms(a, one, &n);
    for (size_t i = 0; i < n; i++) {
        bool lift = !t[i].n && lifts_number(n, c);
        int64_t q = lift ? floordiv(t[i].coef, c) : t[i].coef / c;
        int64_t left = lift ? floormod(t[i].coef, c) : t[i].coef % c;
        if (q)
            w[nw++] = (Term){ q, t[i].n, t[i].atom };
        if (left)
            r[nr++] = (Term){ left, t[i].n, t[i].atom };
    }
    *whole = dim_make_sum(cx, w, nw);
    *rest = dim_make_sum(cx, r, nr);
    return *whole && *rest;
}

/* a = b*whole + rest for a product b of atoms. */
static bool split_by_product(Ctx *cx, Dim a, Dim b, Dim *whole, Dim *rest)
{
    Term one_a[1], one_b[1], w[MAX_TERMS], r[MAX_TERMS];
    size_t n, nb;
    size_t nw = 0;
    size_t nr = 0;
    const Term *t = dim_terms(a, one_a, &n);
    const Term *by = dim_terms(b, one_b, &nb);
    for (size_t i = 0; i < n; i++)
        if (nb == 1 && divide_term(cx, &t[i], by, &w[nw]))
            nw++;
        else
            r[nr++] = t[i];
    *whole = dim_make_sum(cx, w, nw);
    *rest = dim_make_sum(cx, r, nr);
    return *whole && *rest;
}

/* (g*x + k) // g, exact on x and floored on the number: what a common factor of divisor and terms
 * leaves. */
static Dim shrink(Ctx *cx, Dim a, int64_t g)
{
    Term one[1], t[MAX_TERMS];
    size_t n, m = 0;
    const Term *from = dim_terms(a, one, &n);
    for (size_t i = 0; i < n; i++) {
        t[m] = from[i];
        t[m].coef = floordiv(from[i].coef, g);
        m += t[m].coef != 0;
    }
    return dim_make_sum(cx, t, m);
}

/* The greatest common divisor of c and all coefficients but the number's. */
int64_t dim_common(Dim a, int64_t c)
{
    Term one[1];
    size_t n;
    const Term *t = dim_terms(a, one, &n);
    for (size_t i = 0; i < n; i++)
        if (t[i].n)
            c = dim_gcd(c, t[i].coef);
    return c;
}

/* x // c + k as the terms of an expression: false when it has another shape. */
static bool is_quotient(Dim a, Dim *x, int64_t *c, int64_t *k)
{
    Term one[1];
    size_t n;
    const Term *t = dim_terms(a, one, &n);
    if (n < 1 || n > 2 || t[0].coef != 1 || t[0].n != 1 || t[0].atom[0]->kind != D_DIV ||
        (n == 2 && t[1].n))
        return false;
    *k = n == 2 ? t[1].coef : 0;
    *x = t[0].atom[0]->of.arg[0];
    return dim_constant(t[0].atom[0]->of.arg[1], c) && *c > 0;
}

/* rest // c for 0 < c, rest reduced by split_by */
static Dim quotient(Ctx *cx, Dim a, int64_t c)
{
    int64_t g = dim_common(a, c), inner, k, v, both;
    Dim x;
    a = shrink(cx, a, g);
    c /= g;
    if (!a || dim_constant(a, &v))
        return a ? dim_int(cx, floordiv(v, c)) : NULL;
    if (c == 1)
        return a;
    if (is_quotient(a, &x, &inner, &k) && mul_ok(k, inner, &k) && mul_ok(c, inner, &both)) {
        x = dim_plus(cx, x, k); /* (x//i + k)//c = (x + k*i)//(c*i) */
        return x ? dim_floor_div(cx, x, dim_int(cx, both)) : NULL;
    }
    Range r = dim_range_of(a);
    if (!dim_unbounded(r.lo) && !dim_unbounded(r.hi) && floordiv(r.lo, c) == floordiv(r.hi, c))
        return dim_int(cx, floordiv(r.lo, c));
    return dim_make_atom(cx, D_DIV, (Dim[]){ a, dim_int(cx, c) }, 2);
}

/* A symbol that divides both goes: (3*N*H)//(2*N) = (3*H)//2, as the divisor is not 0. */
static bool cancel(Ctx *cx, Dim *a, Dim *b)
{
    Term one[1];
    size_t n;
    const Term *t = dim_terms(*b, one, &n);
    for (uint32_t i = 0; n == 1 && i < t->n; i++) {
        Dim x, y;
        if (dim_divide_exact(cx, *a, t->atom[i], &x) && dim_divide_exact(cx, *b, t->atom[i], &y)) {
            *a = x;
            *b = y;
            return true;
        }
    }
    return false;
}

static Dim negative(Ctx *cx, Dim a) { return dim_combine(cx, dim_int(cx, 0), -1, a); }

static Dim divide_by_number(Ctx *cx, Dim a, int64_t c)
{
    Dim whole, rest;
    if (c == 0)
        return fail(cx, E_VALUE, "integer division of a dimension by zero"), NULL;
    if (c == INT64_MIN)
        return dim_overflow(cx);
    if (c < 0) {
        a = negative(cx, a);
        c = -c;
    }
    if (!a || !split_by(cx, a, c, &whole, &rest))
        return NULL;
    rest = quotient(cx, rest, c);
    return rest ? dim_combine(cx, whole, 1, rest) : NULL;
}

/* Is 0 <= rest < b, for room = b - rest? */
static bool is_remainder(Ctx *cx, Dim rest, Dim room)
{
    return room && dim_nonneg(cx, rest) && dim_nonneg(cx, dim_plus(cx, room, -1));
}

/* rest // b for what split_by_product has left; b is no number. */
static Dim divide_rest(Ctx *cx, Dim rest, Dim b)
{
    Dim room = dim_combine(cx, b, -1, rest);
    if (cancel(cx, &rest, &b))
        return dim_floor_div(cx, rest, b);
    if (is_remainder(cx, rest, room))
        return dim_int(cx, 0);
    return dim_make_atom(cx, D_DIV, (Dim[]){ rest, b }, 2);
}

/* Terms that b divides leave the quotient: (2*N + M)//N is 2 + M//N. */
Dim dim_floor_div(Ctx *cx, Dim a, Dim b)
{
    int64_t c;
    Dim exact, whole, rest;
    if (dim_constant(b, &c))
        return divide_by_number(cx, a, c);
    if (dim_divide_exact(cx, a, b, &exact))
        return exact;
    if (!split_by_product(cx, a, b, &whole, &rest))
        return NULL;
    if (!dim_is_value(rest, 0))
        rest = divide_rest(cx, rest, b);
    return rest ? dim_combine(cx, whole, 1, rest) : NULL;
}

Dim dim_floordiv(Ctx *cx, Dim a, Dim b)
{
    return a && b ? dim_floor_div(cx, dim_now(a), dim_now(b)) : NULL;
}

Dim dim_ceildiv(Ctx *cx, Dim a, Dim b)
{
    int64_t c;
    if (!a || !b)
        return NULL;
    a = dim_now(a), b = dim_now(b);
    if (dim_constant(b, &c) &&
        c > 0) { /* (a + c - 1) // c keeps ranges tighter than the general form */
        a = dim_plus(cx, a, c - 1);
        return a ? dim_floor_div(cx, a, b) : NULL;
    }
    Dim minus = negative(cx, a);
    Dim q = minus ? dim_floor_div(cx, minus, b) : NULL;
    return q ? negative(cx, q) : NULL;
}

/* a % c for c > 1: g*(x % c') + k when all terms share g with c */
static Dim remainder_of(Ctx *cx, Dim a, int64_t c)
{
    Dim whole, x, zero = dim_int(cx, 0);
    int64_t v;
    if (!split_by(cx, a, c, &whole, &a))
        return NULL;
    if (dim_constant(a, &v))
        return a;
    Range r = dim_range_of(a);
    if (r.lo >= 0 && r.hi < c)
        return a;
    int64_t g = dim_common(a, c);
    if (g > 1) {
        x = shrink(cx, a, g);
        Dim rest = x ? dim_combine(cx, a, -g, x) : NULL; /* the number that g does not divide */
        x = x && c / g > 1 ? remainder_of(cx, x, c / g) : zero;
        return rest && x ? dim_combine(cx, rest, g, x) : NULL;
    }
    return dim_make_atom(cx, D_MOD, (Dim[]){ a, dim_int(cx, c) }, 2);
}

static Dim modulo_number(Ctx *cx, Dim a, int64_t c)
{
    if (c == 0)
        return fail(cx, E_VALUE, "modulo of a dimension by zero"), NULL;
    if (c == 1 || c == -1)
        return dim_int(cx, 0);
    if (c > 0)
        return remainder_of(cx, a, c);
    if (c == INT64_MIN)
        return dim_overflow(cx);
    Dim minus = negative(cx, a); /* a % -c = -(-a % c) */
    Dim m = minus ? remainder_of(cx, minus, -c) : NULL;
    return m ? negative(cx, m) : NULL;
}

/* Terms that b divides are left out: (2*N + M) % N is M % N. */
Dim dim_modulo(Ctx *cx, Dim a, Dim b)
{
    int64_t c;
    Dim whole, rest, out;
    if (dim_constant(b, &c)) {
        out = modulo_number(cx, a, c);
        return out ? dim_now(out) : NULL;
    }
    if (dim_divide_exact(cx, a, b, &whole))
        return dim_int(cx, 0);
    if (!split_by_product(cx, a, b, &whole, &rest))
        return NULL;
    Dim room = dim_combine(cx, b, -1, rest);
    if (is_remainder(cx, rest, room))
        return rest;
    out = dim_make_atom(cx, D_MOD, (Dim[]){ rest, b }, 2);
    return out ? dim_now(out) : NULL;
}

Dim dim_mod(Ctx *cx, Dim a, Dim b)
{
    return a && b ? dim_modulo(cx, dim_now(a), dim_now(b)) : NULL;
}

/* ---- min and max ---- */

/* Add d to the arguments of a min or max unless another one is always better; drop those that it
 * beats. */
static bool add_arg(Ctx *cx, Kind kind, Dim *arg, size_t *n, Dim d)
{
    size_t m = 0;
    for (size_t i = 0; i < *n; i++) {
        bool old_wins = (kind == D_MIN ? dim_at_most(cx, arg[i], d) : dim_at_most(cx, d, arg[i])) ==
            YES;
        if (old_wins)
            return true;
    }
    for (size_t i = 0; i < *n; i++)
        if ((kind == D_MIN ? dim_at_most(cx, d, arg[i]) : dim_at_most(cx, arg[i], d)) != YES)
            arg[m++] = arg[i];
    if (m == MAX_ARGS)
        return fail(cx, E_LIMIT, "a dimension expression has a min or max of more than %d terms",
                    MAX_ARGS);
    arg[m++] = d;
    *n = m;
    return true;
}

static bool add_args(Ctx *cx, Kind kind, Dim *arg, size_t *n, Dim d)
{
    if (d->kind != kind)
        return add_arg(cx, kind, arg, n, d);
    for (uint32_t i = 0; i < d->of.n; i++)
        if (!add_arg(cx, kind, arg, n, d->of.arg[i]))
            return false;
    return true;
}

/* By age, but for a number, which comes last: it may have been made for another size before. */
static int by_age(const void *a, const void *b)
{
    int64_t n;
    Dim x = *(const Dim *)a;
    Dim y = *(const Dim *)b;
    bool x_last = dim_constant(x, &n);
    bool y_last = dim_constant(y, &n);
    return x_last != y_last ? x_last - y_last : (x->id > y->id) - (x->id < y->id);
}

Dim dim_extreme(Ctx *cx, Kind kind, Dim a, Dim b)
{
    Dim arg[MAX_ARGS];
    size_t n = 0;
    if (!add_args(cx, kind, arg, &n, a) || !add_args(cx, kind, arg, &n, b))
        return NULL;
    if (n == 1)
        return arg[0];
    qsort(arg, n, sizeof *arg, by_age);
    return dim_make_atom(cx, kind, arg, n);
}

Dim dim_min(Ctx *cx, Dim a, Dim b)
{
    return a && b ? dim_extreme(cx, D_MIN, dim_now(a), dim_now(b)) : NULL;
}
Dim dim_max(Ctx *cx, Dim a, Dim b)
{
    return a && b ? dim_extreme(cx, D_MAX, dim_now(a), dim_now(b)) : NULL;
}
