/* dim_prove.c - what is known of an expression: its range, its sign, whether two are equal. A proof
 * may fail: yes, no or unknown. It uses the ranges of symbols, the facts that were learnt, and the
 * bounds that floor division, modulo, min and max have by their meaning. */
#include "onnx/dim/dim.h"

#include <assert.h>

/* ---- ranges ---- */

static int64_t sat_add(int64_t a, int64_t b)
{
    if (dim_unbounded(a))
        return a;
    if (dim_unbounded(b))
        return b;
    int64_t r;
    if (add_ok(a, b, &r))
        return r;
    return a > 0 ? DIM_MAX : NO_LOW;
}

static int64_t sat_mul(int64_t a, int64_t b)
{
    if (a == 0 || b == 0)
        return 0;
    int64_t r;
    if (!dim_unbounded(a) && !dim_unbounded(b) && mul_ok(a, b, &r))
        return r;
    return (a < 0) == (b < 0) ? DIM_MAX : NO_LOW;
}

static Range range_mul(Range a, Range b)
{
    int64_t p[4] = { sat_mul(a.lo, b.lo), sat_mul(a.lo, b.hi), sat_mul(a.hi, b.lo),
                     sat_mul(a.hi, b.hi) };
    Range r = { p[0], p[0] };
    for (int i = 1; i < 4; i++) {
        r.lo = p[i] < r.lo ? p[i] : r.lo;
        r.hi = p[i] > r.hi ? p[i] : r.hi;
    }
    return r;
}

static Range range_terms(const Term *t, size_t n);

/* The least x // b for b in y, whose numbers are positive: the largest b brings x nearest to 0. */
static int64_t least_quotient(int64_t x, Range y)
{
    if (x == NO_LOW)
        return NO_LOW;
    if (x < 0)
        return floordiv(x, y.lo);
    return y.hi == DIM_MAX ? 0 : floordiv(x, y.hi);
}

static int64_t largest_quotient(int64_t x, Range y)
{
    if (x == DIM_MAX)
        return DIM_MAX;
    if (x >= 0)
        return floordiv(x, y.lo);
    return y.hi == DIM_MAX ? -1 : floordiv(x, y.hi);
}

/* The quotient is monotone in a; in b it tends to 0 or -1. */
static Range range_div(Dim a, Dim b)
{
    Range x = dim_range_of(a);
    Range y = dim_range_of(b);
    if (y.lo < 1)
        return (Range){ NO_LOW, DIM_MAX };
    return (Range){ least_quotient(x.lo, y), largest_quotient(x.hi, y) };
}

static Range range_mod(Dim a, Dim b)
{
    Range x = dim_range_of(a);
    Range y = dim_range_of(b);
    if (y.lo >= 1) {
        int64_t hi = y.hi == DIM_MAX ? DIM_MAX : y.hi - 1;
        return (Range){ 0, x.lo >= 0 && x.hi < hi ? x.hi : hi };
    }
    if (y.hi <= -1)
        return (Range){ y.lo == NO_LOW ? NO_LOW : y.lo + 1, 0 };
    return (Range){ NO_LOW, DIM_MAX };
}

Range dim_range_atom(Dim d)
{
    if (d->kind == D_SYM)
        return (Range){ d->sym.lo, d->sym.hi };
    if (d->kind == D_DIV)
        return range_div(d->of.arg[0], d->of.arg[1]);
    if (d->kind == D_MOD)
        return range_mod(d->of.arg[0], d->of.arg[1]);
    Range r = dim_range_of(d->of.arg[0]);
    for (uint32_t i = 1; i < d->of.n; i++) {
        Range x = dim_range_of(d->of.arg[i]);
        bool least = d->kind == D_MIN;
        r.lo = (x.lo < r.lo) == least ? x.lo : r.lo;
        r.hi = (x.hi < r.hi) == least ? x.hi : r.hi;
    }
    return r;
}

static Range range_term(const Term *t)
{
    Range r = { t->coef, t->coef };
    for (uint32_t i = 0; i < t->n;) {
        uint32_t power = 0;
        Range x = dim_range_of(t->atom[i]);
        Range p = { 1, 1 };
        for (Dim a = t->atom[i]; i < t->n && t->atom[i] == a; i++, power++)
            p = range_mul(p, x);
        if (power % 2 == 0 && p.lo < 0) /* a square */
            p.lo = 0;
        r = range_mul(r, p);
    }
    return r;
}

Range dim_range_of(Dim d)
{
    struct DimRec *rec = dim_record(d);
    if (d->kind == D_SYM)
        return dim_range_atom(d);
    if (d->range_learned == d->owner->learned)
        return (Range){ d->lo, d->hi };
    Range r = d->kind == D_SUM ? range_terms(d->sum.term, d->sum.n) : dim_range_atom(d);
    rec->lo = r.lo;
    rec->hi = r.hi;
    rec->range_learned = d->owner->learned;
    return r;
}

static Range range_terms(const Term *t, size_t n)
{
    Range r = { 0, 0 };
    for (size_t i = 0; i < n; i++) {
        Range x = range_term(&t[i]);
        r.lo = r.lo == NO_LOW || x.lo == NO_LOW ? NO_LOW : sat_add(r.lo, x.lo);
        r.hi = r.hi == DIM_MAX || x.hi == DIM_MAX ? DIM_MAX : sat_add(r.hi, x.hi);
    }
    return r;
}

void dim_range(Ctx *cx, Dim d, int64_t *lo, int64_t *hi)
{
    (void)cx;
    Range r = { NO_LOW, DIM_MAX };
    if (d)
        r = dim_range_of(dim_now(d));
    *lo = r.lo;
    *hi = r.hi;
}

/* Made of what is 0 or more? A quotient is, when what it divides is; a remainder says nothing about
 * how many there are. */
static bool counts(Dim e)
{
    Term one[1];
    size_t n;
    const Term *t = dim_terms(e, one, &n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < t[i].n; j++) {
            Dim atom = t[i].atom[j];
            if (dim_range_of(atom).lo < 0 || atom->kind == D_MOD ||
                (atom->kind == D_DIV && !counts(atom->of.arg[0])))
                return false;
        }
    return true;
}

bool dim_is_count(Ctx *cx, Dim d)
{
    (void)cx;
    if (!d)
        return false;
    Dim now = dim_now(d);
    return dim_range_of(now).lo >= 0 && counts(now);
}

typedef struct Bounds {
    int64_t most;
    bool kept;
} Bounds;

static Dim look_at_bounds(void *arg, Dim sym)
{
    Bounds *b = arg;
    int64_t lo, hi;
    dim_range(NULL, sym, &lo, &hi);
    b->kept &= lo >= 0 || (lo >= -b->most && hi <= b->most);
    return NULL;
}

bool dim_is_small(Ctx *cx, Dim d, int64_t most)
{
    int64_t lo, hi;
    Bounds b = { most, true };
    dim_range(cx, d, &lo, &hi);
    if (lo >= -most && hi <= most)
        return true;
    (void)dim_replace(cx, d, look_at_bounds, &b);
    return b.kept;
}

/* ---- proofs ---- */

/* e with the coefficient of one term changed by removing it: *rest = e - coef*atom, for a term that
 * is one atom. */
Dim dim_without(Ctx *cx, Dim e, const Term *t)
{
    return dim_combine(cx, e, -1, dim_make_sum(cx, t, 1));
}

static bool prove(Ctx *cx, Dim e, int depth, int *budget);

/* Replace k*atom in e by k*bound and try again. */
static bool prove_with(Ctx *cx, Dim e, const Term *t, Dim bound, int depth, int *budget)
{
    Dim rest = bound ? dim_without(cx, e, t) : NULL;
    rest = rest ? dim_combine(cx, rest, t->coef, bound) : NULL;
    return rest && prove(cx, rest, depth - 1, budget);
}

/* k*(x//c) >= k*x/c - k*(c-1)/c for k > 0, >= k*x/c for k < 0: multiply all by c. */
static bool prove_div(Ctx *cx, Dim e, const Term *t, int depth, int *budget)
{
    Dim x = t->atom[0]->of.arg[0];
    Dim by = t->atom[0]->of.arg[1];
    int64_t c;
    if (!dim_constant(by, &c))
        return false;
    Dim rest = dim_without(cx, e, t);
    rest = rest ? dim_times(cx, rest, by) : NULL;
    Dim least = t->coef > 0 ? dim_plus(cx, x, 1 - c) : x;
    rest = rest && least ? dim_combine(cx, rest, t->coef, least) : NULL;
    return rest && prove(cx, rest, depth - 1, budget);
}

/* 0 <= x % b <= b - 1 for b > 0, and x % b <= x for x >= 0 */
static bool prove_mod(Ctx *cx, Dim e, const Term *t, int depth, int *budget)
{
    Dim x = t->atom[0]->of.arg[0];
    Dim b = t->atom[0]->of.arg[1];
    if (dim_range_of(b).lo < 1)
        return false;
    if (t->coef > 0)
        return prove_with(cx, e, t, dim_int(cx, 0), depth, budget);
    if (dim_range_of(x).lo >= 0 && prove_with(cx, e, t, x, depth, budget))
        return true;
    return prove_with(cx, e, t, dim_plus(cx, b, -1), depth, budget);
}

/* A min that counts positively is one of its arguments, we do not know which; one that counts
 * negatively is at most each. */
static bool prove_extreme(Ctx *cx, Dim e, const Term *t, int depth, int *budget)
{
    Dim d = t->atom[0];
    bool all = (d->kind == D_MIN) == (t->coef > 0);
    for (uint32_t i = 0; i < d->of.n; i++)
        if (prove_with(cx, e, t, d->of.arg[i], depth, budget) != all)
            return !all;
    return all;
}

/* A factor that all terms share, and that is never negative, does not matter. */
static bool prove_factor(Ctx *cx, Dim e, int depth, int *budget)
{
    if (e->kind != D_SUM || e->sum.n < 2)
        return false;
    const Term *t = e->sum.term;
    for (uint32_t j = 0; j < t[0].n; j++) {
        Dim q, atom = t[0].atom[j];
        if (dim_range_of(atom).lo >= 0 && dim_divide_exact(cx, e, atom, &q))
            return prove(cx, q, depth - 1, budget);
    }
    return false;
}

/* Is e >= 0, by what is known of t, one of its terms: a quotient, a remainder or an extreme? */
static bool prove_term(Ctx *cx, Dim e, const Term *t, int depth, int *budget)
{
    switch (t->atom[0]->kind) {
    case D_DIV: return prove_div(cx, e, t, depth, budget);
    case D_MOD: return prove_mod(cx, e, t, depth, budget);
    default:    return prove_extreme(cx, e, t, depth, budget);
    }
}

/* A term of e that has no least value; NULL: there is none. */
static const Term *boundless_term(Dim e)
{
    if (e->kind != D_SUM)
        return NULL;
    for (uint32_t i = 0; i < e->sum.n; i++)
        if (range_term(&e->sum.term[i]).lo == NO_LOW)
            return &e->sum.term[i];
    return NULL;
}

/* Does f say that e >= 0: is e - f, where f >= 0? No expression is made for the difference, as it
 * would be for each pair. */
static bool says_nonneg(Dim f, Dim e)
{
    Term rest[2 * MAX_TERMS];
    size_t n;
    return dim_merge(e, -1, f, rest, &n) && range_terms(rest, n).lo >= 0;
}

static bool facts_about_say_nonneg(Ctx *cx, const Term *t, Dim e)
{
    for (const About *a = dim_fact_about(cx, t); a; a = dim_next_about(cx, a))
        if (says_nonneg(a->e, e))
            return true;
    return false;
}

/* A fact that helps shares a product of atoms with e, with the same sign: without one the least
 * value of e - f is that of e less the largest of f. The product that has no least value must be
 * among the shared ones. */
static bool facts_say_nonneg(Ctx *cx, Dim e)
{
    const Term *boundless = boundless_term(e);
    if (boundless)
        return facts_about_say_nonneg(cx, boundless, e);
    Term one[1];
    size_t n;
    const Term *t = dim_terms(e, one, &n);
    for (size_t i = 0; i < n && t[i].n > 0; i++)
        if (facts_about_say_nonneg(cx, &t[i], e))
            return true;
    return false;
}

/* Is e >= 0 at every point? */
static bool prove(Ctx *cx, Dim e, int depth, int *budget)
{
    if (dim_range_of(e).lo >= 0)
        return true;
    if (depth <= 0 || --*budget <= 0 || ctx_failed(cx))
        return false;
    int64_t v;
    if (dim_constant(e, &v))
        return false;
    if (facts_say_nonneg(cx, e) || prove_factor(cx, e, depth, budget))
        return true;
    Term one[1];
    size_t n;
    const Term *t = dim_terms(e, one, &n);
    for (size_t i = 0; i < n; i++) {
        if (t[i].n != 1 || t[i].atom[0]->kind == D_SYM)
            continue;
        if (prove_term(cx, e, &t[i], depth, budget))
            return true;
    }
    return false;
}

/* A proof multiplies; what grows past 64 bits on the way means "not proven", never an error of the
 * program. */
static void forget_overflow(Ctx *cx)
{
    if (!cx->error.final && (cx->error.code == E_VALUE || cx->error.code == E_LIMIT))
        cx->error = (Error){ .code = E_NONE };
}

bool dim_nonneg(Ctx *cx, Dim e)
{
    if (!e || ctx_failed(cx))
        return false;
    struct DimRec *rec = dim_record(e);
    const struct Dims *ds = dims_of(cx);
    if (dim_range_of(e).lo >= 0)
        return true;
    if (e->nonneg_learned == ds->learned ||
        (e->nonneg && (e->nonneg_always || e->nonneg_learned >= ds->closed)))
        return e->nonneg; /* facts are only added until a scope ends */
    int budget = PROOF_BUDGET;
    rec->nonneg = prove(cx, e, PROOF_DEPTH, &budget);
    rec->nonneg_always = ds->scopes.n == 0;
    rec->nonneg_learned = ds->learned;
    forget_overflow(cx);
    return rec->nonneg;
}

void dim_set_example(Dim sym, int64_t size)
{
    assert(sym->kind == D_SYM);
    struct DimRec *r = dim_record(sym);
    bool same = r->sym.example == -1 || r->sym.example == size;
    r->sym.example = same ? size : -2;
}

typedef struct Example {
    Ctx *cx;
    int64_t times;
} Example;

static Dim look_at_example(void *arg, Dim sym)
{
    const Example *e = arg;
    int64_t size;
    if (sym->sym.example < 0 || !mul_ok(sym->sym.example, e->times, &size))
        return NULL;
    return dim_int(e->cx, size);
}

bool dim_example_times(Ctx *cx, Dim d, int64_t times, int64_t *out)
{
    if (!d || ctx_failed(cx))
        return false;
    Dim then = dim_replace(cx, d, look_at_example, &(Example){ cx, times });
    forget_overflow(cx); /* a division by an example's 0 too */
    return then && dim_known(then, out);
}

bool dim_example(Ctx *cx, Dim d, int64_t *out) { return dim_example_times(cx, d, 1, out); }

/* b - a, or NULL without an error when it does not fit, or one of them did not. */
Dim dim_difference(Ctx *cx, Dim a, Dim b)
{
    if (!a || !b || ctx_failed(cx))
        return NULL;
    Dim e = dim_combine(cx, b, -1, a);
    forget_overflow(cx);
    return e;
}

Tri dim_at_most(Ctx *cx, Dim a, Dim b)
{
    int64_t x, y;
    if (a == b || dim_is_value(a, INT64_MIN) || dim_is_value(b, INT64_MAX))
        return YES;
    if (dim_constant(a, &x) && dim_constant(b, &y))
        return x <= y ? YES : NO;
    Dim e = dim_difference(cx, a, b);
    if (!e)
        return UNKNOWN;
    if (dim_nonneg(cx, e))
        return YES;
    Dim minus = dim_difference(cx, e, dim_int(cx, -1));
    return dim_nonneg(cx, minus) ? NO : UNKNOWN;
}

Tri dim_le(Ctx *cx, Dim a, Dim b)
{
    return a && b ? dim_at_most(cx, dim_now(a), dim_now(b)) : UNKNOWN;
}

Tri dim_lt(Ctx *cx, Dim a, Dim b)
{
    switch (dim_le(cx, b, a)) {
    case YES: return NO;
    case NO:  return YES;
    default:  return UNKNOWN;
    }
}

/* k*c*(x//c) = k*x - k*(x%c): the form in which a fact about x%c helps. */
static Dim expand_quotients(Ctx *cx, Dim e)
{
    Term one[1];
    size_t n;
    const Term *t = dim_terms(e, one, &n);
    for (size_t i = 0; i < n; i++) {
        int64_t c;
        if (t[i].n != 1 || t[i].atom[0]->kind != D_DIV ||
            !dim_constant(t[i].atom[0]->of.arg[1], &c) || t[i].coef % c)
            continue;
        Dim x = t[i].atom[0]->of.arg[0];
        Dim m = dim_modulo(cx, x, t[i].atom[0]->of.arg[1]);
        Dim exact = m ? dim_combine(cx, x, -1, m) : NULL;
        Dim rest = dim_without(cx, e, &t[i]);
        return exact && rest ? dim_combine(cx, rest, t[i].coef / c, exact) : e;
    }
    return e;
}

static Dim expand_all_quotients(Ctx *cx, Dim e)
{
    Dim x = expand_quotients(cx, e);
    for (int i = 0; x && x != e && i < 8; i++) {
        e = x;
        x = expand_quotients(cx, e);
    }
    forget_overflow(cx);
    return e;
}

/* Is e >= 0? x is the same in another form: a fact may be about either. */
static bool either_nonneg(Ctx *cx, Dim e, Dim x)
{
    return dim_nonneg(cx, e) || (x != e && dim_nonneg(cx, x));
}

/* e = 0 has no solution because the coefficients' common divisor does not divide the number: 2*N +
 * 1 = 2*M. */
static bool never_zero(Dim e)
{
    int64_t g = dim_common(e, 0);
    int64_t k = 0;
    if (e->kind == D_SUM && e->sum.n && e->sum.term[e->sum.n - 1].n == 0)
        k = e->sum.term[e->sum.n - 1].coef;
    return g > 1 && k % g != 0;
}

/* A pair that has been broadcast is equal once neither can be 1. Where one is 1 that says nothing,
 * and whether the other is 1 is what was asked. */
static bool pair_says_eq(Ctx *cx, Dim a, Dim b)
{
    if (dim_is_value(a, 1) || dim_is_value(b, 1) || !dim_find_pair(cx, a, b))
        return false;
    return dim_equal(cx, a, dim_int(cx, 1)) == NO && dim_equal(cx, b, dim_int(cx, 1)) == NO;
}

static bool has_facts(Ctx *cx, Dim sym)
{
    const Term more = { 1, 1, &sym };
    const Term less = { -1, 1, &sym };
    return dim_fact_about(cx, &more) || dim_fact_about(cx, &less);
}

/* Two symbols of which nothing is known but their ranges? */
static bool are_free(Ctx *cx, Dim a, Dim b)
{
    return a->kind == D_SYM && b->kind == D_SYM && !has_facts(cx, a) && !has_facts(cx, b) &&
        dims_of(cx)->unequal.n == 0;
}

/* Only what may be 1 and may be more: else a pair can tell. */
bool dim_is_free(Ctx *cx, Dim sym)
{
    Dim now = dim_now(sym);
    Range r = dim_range_of(now);
    return r.lo <= 1 && r.hi > 1 && are_free(cx, now, now);
}

/* Very many are compared, so no expression is made for the difference. */
static Tri free_equal(Ctx *cx, Dim a, Dim b)
{
    Range x = dim_range_atom(a);
    Range y = dim_range_atom(b);
    if (x.hi < y.lo || y.hi < x.lo)
        return NO;
    if (x.lo == x.hi && y.lo == y.hi)
        return YES;
    return pair_says_eq(cx, a, b) ? YES : UNKNOWN;
}

/* NO: they differ whatever their symbols are. UNKNOWN: they may be equal for some. */
Tri dim_equal(Ctx *cx, Dim a, Dim b)
{
    int64_t v;
    if (a == b)
        return YES;
    if (are_free(cx, a, b))
        return free_equal(cx, a, b);
    if (dim_constant(a, &v) && dim_constant(b, &v))
        return NO; /* equal numbers are one */
    Dim e = dim_difference(cx, b, a);
    if (!e)
        return UNKNOWN;
    if (dim_constant(e, &v))
        return v == 0 ? YES : NO;
    Dim minus = dim_difference(cx, e, dim_int(cx, 0));
    if (never_zero(e) || dim_is_unequal(cx, e) || dim_is_unequal(cx, minus))
        return NO;
    if (dim_nonneg(cx, dim_difference(cx, dim_int(cx, 1), e)) ||
        dim_nonneg(cx, dim_difference(cx, dim_int(cx, 1), minus)))
        return NO;
    Dim x = expand_all_quotients(cx, e);
    if (dim_is_value(x, 0))
        return YES;
    if (either_nonneg(cx, e, x) &&
        either_nonneg(cx, minus, x == e ? minus : dim_difference(cx, x, dim_int(cx, 0))))
        return YES;
    return pair_says_eq(cx, a, b) ? YES : UNKNOWN;
}

Tri dim_eq(Ctx *cx, Dim a, Dim b)
{
    return a && b ? dim_equal(cx, dim_now(a), dim_now(b)) : UNKNOWN;
}

bool dim_known(Dim d, int64_t *out)
{
    int64_t v;
    if (!d || !dim_constant(dim_now(d), &v))
        return false;
    if (out)
        *out = v;
    return true;
}

bool dim_is(Dim d, int64_t v)
{
    int64_t k;
    return dim_known(d, &k) && k == v;
}
