/* dim.c - dimensions: integer expressions over named symbols.
 *
 * One idea: every expression has a normal form and is made once. An *atom* is a symbol, a floor division, a modulo, a
 * min or a max; a *term* is an integer times a product of atoms; an expression is a sum of terms, sorted. So equal
 * pointer means equal, and what is left to decide (dim_eq, dim_le) is a proof that may fail: yes, no or unknown.
 *
 * Nothing here guesses. A proof uses the ranges of symbols, the facts that dim_assume and dim_require have recorded, and
 * the bounds that floor division, modulo, min and max have by their meaning. Facts belong to the scope (an arm of a branch, the
 * body of a loop) in which they were learnt. */
#include "onnx/internal.h"

#include <assert.h>
#include <stdlib.h>

typedef enum { D_SUM, D_SYM, D_DIV, D_MOD, D_MIN, D_MAX } Kind;

typedef struct Term { int64_t coef; uint32_t n; const Dim *atom; } Term;    /* atoms sorted by id; none: a constant */

struct DimRec {
    uint8_t kind;
    uint32_t id;                        /* in order of making */
    uint32_t hash;
    struct Dims *owner;
    Dim self;                           /* an atom as the one factor of its term */
    struct DimRec *is;                  /* an atom that a fact has replaced */
    Dim now; uint32_t now_epoch;        /* the expression with all replacements done, as of that epoch */
    /* What was found out about it, as of `learned`: shared parts of a large expression are looked at once. */
    int64_t lo, hi; uint32_t range_learned;
    bool nonneg; uint32_t nonneg_learned;
    union {
        struct { uint32_t n; const Term *term; } sum;
        struct { uint32_t n; const Dim *arg; } of;      /* DIV, MOD: 2; MIN, MAX: 2 or more, sorted by id */
        struct {
            Str name;
            int64_t lo, hi;
            bool fresh;                 /* made by dim_fresh: nobody's input */
            Ox origin; int axis;
            Dim left, right;            /* a broadcast of these two; else NULL */
        } sym;
    };
};

typedef struct Fact { Rel rel; Dim e; } Fact;           /* REL_LE: e >= 0. REL_NE: e != 0 */
typedef struct Pair { Dim a, b, result; } Pair;         /* equal, or one is 1 */

/* What dim_scope_close undoes: a symbol's range, an atom's replacement. */
typedef struct Undo { struct DimRec *atom; bool is_range; int64_t lo, hi; } Undo;
typedef struct Scope { size_t undo, facts, pairs; uint32_t first; /* ids from here on were made in it: what is learnt about those stays */ } Scope;

struct Dims {
    Ctx *cx;
    struct DimRec **slot; size_t n_slot, n;
    uint32_t next_id, epoch;
    uint32_t learned;                   /* counts facts and narrowed ranges, from 1: what was found out before may be too little now */
    int next_fresh;
    Map symbols;                        /* Str -> DimRec */
    VEC(Fact) facts;
    VEC(Pair) pairs;
    VEC(Undo) undo; VEC(Scope) scopes;
    VEC(struct DimRec *) measured;      /* symbols with an origin */
    DimPin pin;
    Dim small[257];                     /* 0..256 */
};

enum { MAX_TERMS = 256, MAX_DEGREE = 64, MAX_ARGS = 64, PROOF_DEPTH = 5, PROOF_BUDGET = 400 };
#define NO_LOW INT64_MIN

static struct Dims *dims_of(Ctx *cx)
{
    if (!cx->dims) {
        cx->dims = new(cx, struct Dims);
        cx->dims->cx = cx;
        cx->dims->learned = 1;
    }
    return cx->dims;
}

/* ---- making ------------------------------------------------------------------------------------------ */

static uint64_t hash_term(const Term *t, uint64_t seed)
{
    uint64_t h = hash_bytes(&t->coef, sizeof t->coef, seed);
    for (uint32_t i = 0; i < t->n; i++)
        h = hash_bytes(&t->atom[i]->id, sizeof t->atom[i]->id, h);
    return h;
}

static uint32_t hash_rec(const struct DimRec *r)
{
    uint64_t h = r->kind;
    if (r->kind == D_SUM)
        for (uint32_t i = 0; i < r->sum.n; i++)
            h = hash_term(&r->sum.term[i], h + 1);
    else
        for (uint32_t i = 0; i < r->of.n; i++)
            h = hash_bytes(&r->of.arg[i]->id, sizeof r->of.arg[i]->id, h);
    return (uint32_t)(h ^ h >> 32);
}

static bool same_term(const Term *a, const Term *b)
{
    return a->coef == b->coef && a->n == b->n && (a->n == 0 || memcmp(a->atom, b->atom, a->n * sizeof(Dim)) == 0);
}

static bool same_rec(const struct DimRec *a, const struct DimRec *b)
{
    if (a->kind != b->kind || a->hash != b->hash)
        return false;
    if (a->kind != D_SUM)
        return a->of.n == b->of.n && memcmp(a->of.arg, b->of.arg, a->of.n * sizeof(Dim)) == 0;
    if (a->sum.n != b->sum.n)
        return false;
    for (uint32_t i = 0; i < a->sum.n; i++)
        if (!same_term(&a->sum.term[i], &b->sum.term[i]))
            return false;
    return true;
}

static void grow_slots(Ctx *cx, struct Dims *ds)
{
    size_t n = ds->n_slot ? ds->n_slot * 2 : 256;
    struct DimRec **slot = new_array(cx, struct DimRec *, n);
    if (!slot)
        return;
    for (size_t i = 0; i < ds->n_slot; i++)
        if (ds->slot[i]) {
            size_t at = ds->slot[i]->hash & (n - 1);
            while (slot[at])
                at = (at + 1) & (n - 1);
            slot[at] = ds->slot[i];
        }
    ds->slot = slot;
    ds->n_slot = n;
}

static const Dim *copy_dims(Ctx *cx, const Dim *d, uint32_t n)
{
    return n ? mem_copy(cx, d, n * sizeof *d) : NULL;
}

/* The one record equal to *r; r's arrays are copied when it is new. */
static Dim intern(Ctx *cx, struct DimRec *r)
{
    struct Dims *ds = dims_of(cx);
    if (ds->n * 2 >= ds->n_slot)
        grow_slots(cx, ds);
    if (ds->n * 2 >= ds->n_slot + ds->n_slot / 2)
        return NULL;                            /* no memory: the context has failed */
    r->hash = hash_rec(r);
    size_t at = r->hash & (ds->n_slot - 1);
    for (; ds->slot[at]; at = (at + 1) & (ds->n_slot - 1))
        if (same_rec(ds->slot[at], r))
            return ds->slot[at];
    struct DimRec *d = new(cx, struct DimRec);
    *d = *r;
    d->id = ds->next_id++;
    d->owner = ds;
    d->self = d;
    if (r->kind == D_SUM && r->sum.n) {
        Term *t = mem_copy(cx, r->sum.term, r->sum.n * sizeof *t);
        for (uint32_t i = 0; i < r->sum.n; i++)
            t[i].atom = copy_dims(cx, t[i].atom, t[i].n);
        d->sum.term = t;
    } else if (r->kind != D_SUM) {
        d->of.arg = copy_dims(cx, r->of.arg, r->of.n);
    }
    ds->slot[at] = d;
    ds->n++;
    return d;
}

static Dim make_sum(Ctx *cx, const Term *t, size_t n)
{
    if (n == 1 && t->coef == 1 && t->n == 1)
        return t->atom[0];
    struct DimRec r = { .kind = D_SUM };
    r.sum.n = (uint32_t)n;
    r.sum.term = t;
    return intern(cx, &r);
}

static Dim make_atom(Ctx *cx, Kind kind, const Dim *arg, size_t n)
{
    struct DimRec r = { .kind = (uint8_t)kind };
    r.of.n = (uint32_t)n;
    r.of.arg = arg;
    return intern(cx, &r);
}

Dim dim_int(Ctx *cx, int64_t v)
{
    struct Dims *ds = dims_of(cx);
    bool small = v >= 0 && v < (int64_t)COUNT(ds->small);
    if (small && ds->small[v])
        return ds->small[v];
    Term t = { .coef = v };
    Dim d = make_sum(cx, &t, v != 0);
    if (small)
        ds->small[v] = d;
    return d;
}

static struct DimRec *new_symbol(Ctx *cx, Str name)
{
    struct Dims *ds = dims_of(cx);
    struct DimRec *d = new(cx, struct DimRec);
    d->kind = D_SYM;
    d->id = ds->next_id++;
    d->owner = ds;
    d->self = d;
    d->sym.name = name;
    d->sym.hi = DIM_MAX;
    map_put(cx, &ds->symbols, name, d);
    return d;
}

Dim dim_sym(Ctx *cx, Str name)
{
    Dim d = map_get(&dims_of(cx)->symbols, name);
    return d ? d : new_symbol(cx, name);
}

Dim dim_fresh(Ctx *cx, const char *prefix)
{
    struct Dims *ds = dims_of(cx);
    Str name;
    do
        name = str_fmt(cx, "%s%d", prefix, ds->next_fresh++);
    while (map_find(&ds->symbols, name));
    struct DimRec *d = new_symbol(cx, name);
    d->sym.fresh = true;
    return d;
}

Dim dim_fresh_int(Ctx *cx, const char *prefix)
{
    struct DimRec *d = (struct DimRec *)dim_fresh(cx, prefix);
    d->sym.lo = NO_LOW;
    return d;
}

/* ---- terms ------------------------------------------------------------------------------------------- */

/* d as terms; one[0] is room for an atom. */
static const Term *terms_of(Dim d, Term one[1], size_t *n)
{
    if (d->kind == D_SUM) {
        *n = d->sum.n;
        return d->sum.term;
    }
    one[0] = (Term){ 1, 1, &d->self };
    *n = 1;
    return one;
}

static bool constant(Dim d, int64_t *v)
{
    if (d->kind != D_SUM || d->sum.n > 1 || (d->sum.n == 1 && d->sum.term->n))
        return false;
    *v = d->sum.n ? d->sum.term->coef : 0;
    return true;
}

static bool is_value(Dim d, int64_t v)
{
    int64_t k;
    return constant(d, &k) && k == v;
}

/* Graded, then lexicographic by id: products of ordered monomials stay ordered, which exact division needs. */
static int order(const Term *a, const Term *b)
{
    if (a->n != b->n)
        return a->n > b->n ? -1 : 1;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->atom[i] != b->atom[i])
            return a->atom[i]->id < b->atom[i]->id ? -1 : 1;
    return 0;
}

static int order_for_sort(const void *a, const void *b) { return order(a, b); }

static Dim overflow(Ctx *cx)
{
    fail(cx, E_VALUE, "a dimension does not fit into 64 bits");
    return NULL;
}

static Dim too_long(Ctx *cx)
{
    fail(cx, E_LIMIT, "a dimension expression has more than %d terms", MAX_TERMS);
    return NULL;
}

/* Sort and join equal monomials in place, then make the sum. */
static Dim sum_terms(Ctx *cx, Term *t, size_t n)
{
    qsort(t, n, sizeof *t, order_for_sort);
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        if (m && order(&t[m - 1], &t[i]) == 0) {
            if (!add_ok(t[m - 1].coef, t[i].coef, &t[m - 1].coef))
                return overflow(cx);
        } else {
            t[m++] = t[i];
        }
        if (t[m - 1].coef == 0)
            m--;
    }
    return m > MAX_TERMS ? too_long(cx) : make_sum(cx, t, m);
}

static Dim now(Dim d);

/* a + k*b */
static Dim combine(Ctx *cx, Dim a, int64_t k, Dim b)
{
    int64_t x, y;
    if (constant(a, &x) && constant(b, &y))
        return mul_ok(k, y, &y) && add_ok(x, y, &x) ? dim_int(cx, x) : overflow(cx);
    Term one_a[1], one_b[1], t[2 * MAX_TERMS];
    size_t na, nb;
    const Term *ta = terms_of(a, one_a, &na), *tb = terms_of(b, one_b, &nb);
    memcpy(t, ta, na * sizeof *t);
    for (size_t i = 0; i < nb; i++) {
        t[na + i] = tb[i];
        if (!mul_ok(tb[i].coef, k, &t[na + i].coef))
            return overflow(cx);
    }
    return sum_terms(cx, t, na + nb);
}

static Dim plus(Ctx *cx, Dim a, int64_t k)
{
    return k ? combine(cx, a, 1, dim_int(cx, k)) : a;
}

Dim dim_add(Ctx *cx, Dim a, Dim b) { return a && b ? combine(cx, now(a), 1, now(b)) : NULL; }
Dim dim_sub(Ctx *cx, Dim a, Dim b) { return a && b ? combine(cx, now(a), -1, now(b)) : NULL; }

/* The product of two monomials: their atoms merged. False when the degree or a number grows too far. */
static bool mul_terms(Ctx *cx, const Term *a, const Term *b, Term *out)
{
    *out = (Term){ .n = a->n + b->n };
    if (!mul_ok(a->coef, b->coef, &out->coef))
        return overflow(cx);
    if (out->n > MAX_DEGREE)
        return fail(cx, E_LIMIT, "a dimension expression has a product of more than %d factors", MAX_DEGREE);
    if (a->n == 0 || b->n == 0) {
        out->atom = a->n ? a->atom : b->atom;
        return true;
    }
    Dim *atom = new_array(cx, Dim, out->n);
    uint32_t i = 0, j = 0;
    for (uint32_t k = 0; k < out->n; k++) {
        bool left = j == b->n || (i < a->n && a->atom[i]->id <= b->atom[j]->id);
        atom[k] = left ? a->atom[i++] : b->atom[j++];
    }
    out->atom = atom;
    return true;
}

static Dim product(Ctx *cx, Dim a, Dim b)
{
    int64_t x, y;
    if (constant(a, &x) && constant(b, &y))
        return mul_ok(x, y, &x) ? dim_int(cx, x) : overflow(cx);
    Term one_a[1], one_b[1];
    size_t na, nb, n = 0;
    const Term *ta = terms_of(a, one_a, &na), *tb = terms_of(b, one_b, &nb);
    Term t[4 * MAX_TERMS];
    if (na * nb > COUNT(t))
        return too_long(cx);
    for (size_t i = 0; i < na; i++)
        for (size_t j = 0; j < nb; j++)
            if (!mul_terms(cx, &ta[i], &tb[j], &t[n++]))
                return NULL;
    return sum_terms(cx, t, n);
}

Dim dim_mul(Ctx *cx, Dim a, Dim b) { return a && b ? product(cx, now(a), now(b)) : NULL; }

Dim dim_product(Ctx *cx, const Dim *d, int n)
{
    Dim p = dim_int(cx, 1);
    for (int i = 0; i < n; i++)
        p = dim_mul(cx, p, d[i]);
    return p;
}

/* ---- ranges ------------------------------------------------------------------------------------------ */

typedef struct { int64_t lo, hi; } Range;       /* NO_LOW and DIM_MAX stand for "no bound" */

static bool unbounded(int64_t v) { return v == NO_LOW || v == DIM_MAX; }

static int64_t sat_add(int64_t a, int64_t b)
{
    if (unbounded(a))
        return a;
    if (unbounded(b))
        return b;
    int64_t r;
    return add_ok(a, b, &r) ? r : a > 0 ? DIM_MAX : NO_LOW;
}

static int64_t sat_mul(int64_t a, int64_t b)
{
    if (a == 0 || b == 0)
        return 0;
    int64_t r;
    if (!unbounded(a) && !unbounded(b) && mul_ok(a, b, &r))
        return r;
    return (a < 0) == (b < 0) ? DIM_MAX : NO_LOW;
}

static Range range_mul(Range a, Range b)
{
    int64_t p[4] = { sat_mul(a.lo, b.lo), sat_mul(a.lo, b.hi), sat_mul(a.hi, b.lo), sat_mul(a.hi, b.hi) };
    Range r = { p[0], p[0] };
    for (int i = 1; i < 4; i++) {
        r.lo = p[i] < r.lo ? p[i] : r.lo;
        r.hi = p[i] > r.hi ? p[i] : r.hi;
    }
    return r;
}

static int64_t floordiv(int64_t a, int64_t b)   /* b > 0 */
{
    return a / b - (a % b < 0);
}

static Range range_of(Dim d);
static Range range_sum(Dim d);

static Range range_div(Dim a, Dim b)
{
    Range x = range_of(a), y = range_of(b);
    if (y.lo < 1)
        return (Range){ NO_LOW, DIM_MAX };
    /* the quotient is monotone in a; in b it tends to 0 or -1 */
    Range r;
    r.lo = x.lo >= 0 ? (y.hi == DIM_MAX ? 0 : floordiv(x.lo, y.hi)) : x.lo == NO_LOW ? NO_LOW : floordiv(x.lo, y.lo);
    r.hi = x.hi == DIM_MAX ? DIM_MAX : x.hi >= 0 ? floordiv(x.hi, y.lo) : y.hi == DIM_MAX ? -1 : floordiv(x.hi, y.hi);
    return r;
}

static Range range_mod(Dim a, Dim b)
{
    Range x = range_of(a), y = range_of(b);
    if (y.lo >= 1) {
        int64_t hi = y.hi == DIM_MAX ? DIM_MAX : y.hi - 1;
        return (Range){ 0, x.lo >= 0 && x.hi < hi ? x.hi : hi };
    }
    if (y.hi <= -1)
        return (Range){ y.lo == NO_LOW ? NO_LOW : y.lo + 1, 0 };
    return (Range){ NO_LOW, DIM_MAX };
}

static Range range_atom(Dim d)
{
    if (d->kind == D_SYM)
        return (Range){ d->sym.lo, d->sym.hi };
    if (d->kind == D_DIV)
        return range_div(d->of.arg[0], d->of.arg[1]);
    if (d->kind == D_MOD)
        return range_mod(d->of.arg[0], d->of.arg[1]);
    Range r = range_of(d->of.arg[0]);
    for (uint32_t i = 1; i < d->of.n; i++) {
        Range x = range_of(d->of.arg[i]);
        bool least = d->kind == D_MIN;
        r.lo = (x.lo < r.lo) == least ? x.lo : r.lo;
        r.hi = (x.hi < r.hi) == least ? x.hi : r.hi;
    }
    return r;
}

static Range range_term(const Term *t)
{
    Range r = { t->coef, t->coef };
    for (uint32_t i = 0; i < t->n; ) {
        uint32_t power = 0;
        Range x = range_of(t->atom[i]), p = { 1, 1 };
        for (Dim a = t->atom[i]; i < t->n && t->atom[i] == a; i++, power++)
            p = range_mul(p, x);
        if (power % 2 == 0 && p.lo < 0)         /* a square */
            p.lo = 0;
        r = range_mul(r, p);
    }
    return r;
}

static Range range_of(Dim d)
{
    struct DimRec *rec = (struct DimRec *)d;
    if (d->kind == D_SYM)
        return range_atom(d);
    if (d->range_learned == d->owner->learned)
        return (Range){ d->lo, d->hi };
    Range r = d->kind == D_SUM ? range_sum(d) : range_atom(d);
    rec->lo = r.lo;
    rec->hi = r.hi;
    rec->range_learned = d->owner->learned;
    return r;
}

static Range range_sum(Dim d)
{
    Range r = { 0, 0 };
    for (uint32_t i = 0; i < d->sum.n; i++) {
        Range x = range_term(&d->sum.term[i]);
        r.lo = r.lo == NO_LOW || x.lo == NO_LOW ? NO_LOW : sat_add(r.lo, x.lo);
        r.hi = r.hi == DIM_MAX || x.hi == DIM_MAX ? DIM_MAX : sat_add(r.hi, x.hi);
    }
    return r;
}

void dim_range(Ctx *cx, Dim d, int64_t *lo, int64_t *hi)
{
    (void)cx;
    Range r = range_of(now(d));
    *lo = r.lo;
    *hi = r.hi;
}

/* ---- exact division, floor division, modulo ------------------------------------------------------------ */

/* t / by as monomials. */
static bool divide_term(Ctx *cx, const Term *t, const Term *by, Term *out)
{
    if (by->coef == 0 || t->n < by->n || (by->coef == -1 && t->coef == INT64_MIN) || t->coef % by->coef)
        return false;
    *out = (Term){ .coef = t->coef / by->coef, .n = t->n - by->n };
    Dim left[MAX_DEGREE];
    uint32_t j = 0, m = 0;
    for (uint32_t i = 0; i < t->n; i++)
        if (j < by->n && t->atom[i] == by->atom[j])
            j++;
        else if (m < out->n)
            left[m++] = t->atom[i];
        else
            return false;
    if (j != by->n)
        return false;
    out->atom = copy_dims(cx, left, m);
    return true;
}

/* Long division by the leading term; false when something is left over. */
static bool divide_exact(Ctx *cx, Dim a, Dim b, Dim *out)
{
    Term one_b[1], q[MAX_TERMS];
    size_t nb, n = 0;
    const Term *tb = terms_of(b, one_b, &nb);
    if (nb == 0)
        return false;
    while (!is_value(a, 0)) {
        Term one_a[1];
        size_t na;
        const Term *ta = terms_of(a, one_a, &na);
        if (n == MAX_TERMS || !divide_term(cx, ta, tb, &q[n]))
            return false;
        Dim step = product(cx, make_sum(cx, &q[n], 1), b);
        if (!step || !(a = combine(cx, a, -1, step)))
            return false;
        n++;
    }
    *out = sum_terms(cx, q, n);
    return *out != NULL;
}

static Dim floor_div(Ctx *cx, Dim a, Dim b);
static Dim modulo(Ctx *cx, Dim a, Dim b);
static bool nonneg(Ctx *cx, Dim e);

bool dim_divide(Ctx *cx, Dim a, Dim b, Dim *out)
{
    if (!a || !b)
        return false;
    a = now(a), b = now(b);
    int64_t x, y;
    if (constant(b, &y) && y == 0)
        return false;
    if (constant(a, &x) && constant(b, &y)) {
        if ((y == -1 && x == INT64_MIN) || x % y)
            return false;
        *out = dim_int(cx, x / y);
        return true;
    }
    if (divide_exact(cx, a, b, out))
        return true;
    Dim rest = modulo(cx, a, b);                /* a fact may say that there is none */
    if (!rest || !is_value(rest, 0))
        return false;
    *out = floor_div(cx, a, b);
    return *out != NULL;
}

static int64_t gcd(int64_t a, int64_t b)
{
    uint64_t x = a < 0 ? -(uint64_t)a : (uint64_t)a, y = b < 0 ? -(uint64_t)b : (uint64_t)b;
    while (y) {
        uint64_t t = x % y;
        x = y;
        y = t;
    }
    return (int64_t)(x >> 63 ? 1 : x);
}

/* a = c*whole + rest, term by term: rest's coefficients lie within (-c, c), its number in [0, c). */
static bool split_by(Ctx *cx, Dim a, int64_t c, Dim *whole, Dim *rest)
{
    Term one[1], w[MAX_TERMS], r[MAX_TERMS];
    size_t n, nw = 0, nr = 0;
    const Term *t = terms_of(a, one, &n);
    for (size_t i = 0; i < n; i++) {
        int64_t q = t[i].n ? t[i].coef / c : floordiv(t[i].coef, c);
        if (q)
            w[nw] = t[i], w[nw++].coef = q;
        if (t[i].coef - q * c)
            r[nr] = t[i], r[nr++].coef = t[i].coef - q * c;
    }
    *whole = make_sum(cx, w, nw);
    *rest = make_sum(cx, r, nr);
    return *whole && *rest;
}

/* a = b*whole + rest for a product b of atoms. */
static bool split_by_product(Ctx *cx, Dim a, Dim b, Dim *whole, Dim *rest)
{
    Term one_a[1], one_b[1], w[MAX_TERMS], r[MAX_TERMS];
    size_t n, nb, nw = 0, nr = 0;
    const Term *t = terms_of(a, one_a, &n), *by = terms_of(b, one_b, &nb);
    for (size_t i = 0; i < n; i++)
        if (nb == 1 && divide_term(cx, &t[i], by, &w[nw]))
            nw++;
        else
            r[nr++] = t[i];
    *whole = make_sum(cx, w, nw);
    *rest = make_sum(cx, r, nr);
    return *whole && *rest;
}

/* (g*x + k) // g, exact on x and floored on the number: what a common factor of divisor and terms leaves. */
static Dim shrink(Ctx *cx, Dim a, int64_t g)
{
    Term one[1], t[MAX_TERMS];
    size_t n, m = 0;
    const Term *from = terms_of(a, one, &n);
    for (size_t i = 0; i < n; i++) {
        t[m] = from[i];
        t[m].coef = floordiv(from[i].coef, g);
        m += t[m].coef != 0;
    }
    return make_sum(cx, t, m);
}

/* The greatest common divisor of c and all coefficients but the number's. */
static int64_t common(Dim a, int64_t c)
{
    Term one[1];
    size_t n;
    const Term *t = terms_of(a, one, &n);
    for (size_t i = 0; i < n; i++)
        if (t[i].n)
            c = gcd(c, t[i].coef);
    return c;
}

/* x // c + k as the terms of an expression: false when it has another shape. */
static bool is_quotient(Dim a, Dim *x, int64_t *c, int64_t *k)
{
    Term one[1];
    size_t n;
    const Term *t = terms_of(a, one, &n);
    if (n < 1 || n > 2 || t[0].coef != 1 || t[0].n != 1 || t[0].atom[0]->kind != D_DIV || (n == 2 && t[1].n))
        return false;
    *k = n == 2 ? t[1].coef : 0;
    *x = t[0].atom[0]->of.arg[0];
    return constant(t[0].atom[0]->of.arg[1], c) && *c > 0;
}

/* rest // c for 0 < c, rest reduced by split_by */
static Dim quotient(Ctx *cx, Dim a, int64_t c)
{
    int64_t g = common(a, c), inner, k, v;
    Dim x;
    a = shrink(cx, a, g);
    c /= g;
    if (!a || constant(a, &v))
        return a ? dim_int(cx, floordiv(v, c)) : NULL;
    if (c == 1)
        return a;
    if (is_quotient(a, &x, &inner, &k) && mul_ok(k, inner, &k) && mul_ok(c, inner, &c)) {
        x = plus(cx, x, k);                     /* (x//i + k)//c = (x + k*i)//(c*i) */
        return x ? floor_div(cx, x, dim_int(cx, c)) : NULL;
    }
    Range r = range_of(a);
    if (!unbounded(r.lo) && !unbounded(r.hi) && floordiv(r.lo, c) == floordiv(r.hi, c))
        return dim_int(cx, floordiv(r.lo, c));
    return make_atom(cx, D_DIV, (Dim[]){ a, dim_int(cx, c) }, 2);
}

/* A symbol that divides both goes: (3*N*H)//(2*N) = (3*H)//2, as the divisor is not 0. */
static bool cancel(Ctx *cx, Dim *a, Dim *b)
{
    Term one[1];
    size_t n;
    const Term *t = terms_of(*b, one, &n);
    for (uint32_t i = 0; n == 1 && i < t->n; i++) {
        Dim x, y;
        if (divide_exact(cx, *a, t->atom[i], &x) && divide_exact(cx, *b, t->atom[i], &y)) {
            *a = x;
            *b = y;
            return true;
        }
    }
    return false;
}

static Dim floor_div(Ctx *cx, Dim a, Dim b)
{
    int64_t c;
    Dim whole, rest;
    if (constant(b, &c)) {
        if (c == 0)
            return fail(cx, E_VALUE, "integer division of a dimension by zero"), NULL;
        if (c == INT64_MIN)
            return overflow(cx);
        if (c < 0) {
            a = combine(cx, dim_int(cx, 0), -1, a);
            c = -c;
        }
        if (!a || !split_by(cx, a, c, &whole, &rest) || !(rest = quotient(cx, rest, c)))
            return NULL;
        return combine(cx, whole, 1, rest);
    }
    Dim exact;
    if (divide_exact(cx, a, b, &exact))
        return exact;
    if (!split_by_product(cx, a, b, &whole, &rest))
        return NULL;
    if (!is_value(rest, 0)) {
        Dim room = combine(cx, b, -1, rest);
        if (cancel(cx, &rest, &b))
            rest = floor_div(cx, rest, b);
        else if (room && nonneg(cx, rest) && nonneg(cx, plus(cx, room, -1)))
            rest = dim_int(cx, 0);
        else
            rest = make_atom(cx, D_DIV, (Dim[]){ rest, b }, 2);
    }
    return rest ? combine(cx, whole, 1, rest) : NULL;
}

Dim dim_floordiv(Ctx *cx, Dim a, Dim b) { return a && b ? floor_div(cx, now(a), now(b)) : NULL; }

Dim dim_ceildiv(Ctx *cx, Dim a, Dim b)
{
    int64_t c;
    if (!a || !b)
        return NULL;
    a = now(a), b = now(b);
    if (constant(b, &c) && c > 0) {             /* (a + c - 1) // c keeps ranges tighter than the general form */
        a = plus(cx, a, c - 1);
        return a ? floor_div(cx, a, b) : NULL;
    }
    Dim q = floor_div(cx, combine(cx, dim_int(cx, 0), -1, a), b);
    return q ? combine(cx, dim_int(cx, 0), -1, q) : NULL;
}

/* a % c for c > 1: g*(x % c') + k when all terms share g with c */
static Dim remainder_of(Ctx *cx, Dim a, int64_t c)
{
    Dim whole, x, zero = dim_int(cx, 0);
    int64_t v;
    if (!split_by(cx, a, c, &whole, &a))
        return NULL;
    if (constant(a, &v))
        return a;
    Range r = range_of(a);
    if (r.lo >= 0 && r.hi < c)
        return a;
    int64_t g = common(a, c);
    if (g > 1) {
        x = shrink(cx, a, g);
        Dim rest = x ? combine(cx, a, -g, x) : NULL;    /* the number that g does not divide */
        x = x && c / g > 1 ? remainder_of(cx, x, c / g) : zero;
        return rest && x ? combine(cx, rest, g, x) : NULL;
    }
    return make_atom(cx, D_MOD, (Dim[]){ a, dim_int(cx, c) }, 2);
}

static Dim modulo(Ctx *cx, Dim a, Dim b)
{
    int64_t c;
    Dim whole, rest, out;
    if (constant(b, &c)) {
        if (c == 0)
            return fail(cx, E_VALUE, "modulo of a dimension by zero"), NULL;
        if (c == 1 || c == -1)
            return dim_int(cx, 0);
        if (c < 0) {                            /* a % -c = -(-a % c) */
            if (c == INT64_MIN)
                return overflow(cx);
            Dim minus = combine(cx, dim_int(cx, 0), -1, a);
            Dim m = minus ? remainder_of(cx, minus, -c) : NULL;
            out = m ? combine(cx, dim_int(cx, 0), -1, m) : NULL;
        } else {
            out = remainder_of(cx, a, c);
        }
        return out ? now(out) : NULL;
    }
    if (divide_exact(cx, a, b, &whole))
        return dim_int(cx, 0);
    if (!split_by_product(cx, a, b, &whole, &rest))
        return NULL;
    Dim room = combine(cx, b, -1, rest);
    if (room && nonneg(cx, rest) && nonneg(cx, plus(cx, room, -1)))
        return rest;
    out = make_atom(cx, D_MOD, (Dim[]){ rest, b }, 2);
    return out ? now(out) : NULL;
}

Dim dim_mod(Ctx *cx, Dim a, Dim b) { return a && b ? modulo(cx, now(a), now(b)) : NULL; }

/* ---- min and max ---------------------------------------------------------------------------------------- */

static Tri at_most(Ctx *cx, Dim a, Dim b);

/* Add d to the arguments of a min or max unless another one is always better; drop those that it beats. */
static bool add_arg(Ctx *cx, Kind kind, Dim *arg, size_t *n, Dim d)
{
    size_t m = 0;
    for (size_t i = 0; i < *n; i++) {
        bool old_wins = (kind == D_MIN ? at_most(cx, arg[i], d) : at_most(cx, d, arg[i])) == YES;
        if (old_wins)
            return true;
    }
    for (size_t i = 0; i < *n; i++)
        if ((kind == D_MIN ? at_most(cx, d, arg[i]) : at_most(cx, arg[i], d)) != YES)
            arg[m++] = arg[i];
    if (m == MAX_ARGS)
        return fail(cx, E_LIMIT, "a dimension expression has a min or max of more than %d terms", MAX_ARGS);
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

static int by_id(const void *a, const void *b)
{
    uint32_t x = (*(const Dim *)a)->id, y = (*(const Dim *)b)->id;
    return (x > y) - (x < y);
}

static Dim extreme(Ctx *cx, Kind kind, Dim a, Dim b)
{
    Dim arg[MAX_ARGS];
    size_t n = 0;
    if (!add_args(cx, kind, arg, &n, a) || !add_args(cx, kind, arg, &n, b))
        return NULL;
    if (n == 1)
        return arg[0];
    qsort(arg, n, sizeof *arg, by_id);
    return make_atom(cx, kind, arg, n);
}

Dim dim_min(Ctx *cx, Dim a, Dim b) { return a && b ? extreme(cx, D_MIN, now(a), now(b)) : NULL; }
Dim dim_max(Ctx *cx, Dim a, Dim b) { return a && b ? extreme(cx, D_MAX, now(a), now(b)) : NULL; }

/* ---- replacing ------------------------------------------------------------------------------------------- */

typedef struct Replace { Dim (*lookup)(void *arg, Dim sym); void *arg; } Replace;

static Dim rebuild(Ctx *cx, Dim d, const Replace *how);

static Dim rebuild_atom(Ctx *cx, Dim d, const Replace *how)
{
    if (d->kind == D_SYM) {
        Dim to = how ? how->lookup(how->arg, d) : d->is ? now(d->is) : NULL;
        return to ? to : d;
    }
    if (!how && d->is)
        return now(d->is);
    Dim x = rebuild(cx, d->of.arg[0], how);
    for (uint32_t i = 1; x && i < d->of.n; i++) {
        Dim y = rebuild(cx, d->of.arg[i], how);
        if (!y)
            return NULL;
        x = d->kind == D_DIV ? floor_div(cx, x, y) : d->kind == D_MOD ? modulo(cx, x, y) : extreme(cx, (Kind)d->kind, x, y);
    }
    return x;
}

static Dim rebuild(Ctx *cx, Dim d, const Replace *how)
{
    if (d->kind != D_SUM)
        return rebuild_atom(cx, d, how);
    Dim sum = dim_int(cx, 0);
    for (uint32_t i = 0; sum && i < d->sum.n; i++) {
        const Term *t = &d->sum.term[i];
        Dim p = dim_int(cx, t->coef);
        for (uint32_t j = 0; p && j < t->n; j++) {
            Dim x = rebuild_atom(cx, t->atom[j], how);
            p = x ? product(cx, p, x) : NULL;
        }
        sum = p ? combine(cx, sum, 1, p) : NULL;
    }
    return sum;
}

Dim dim_replace(Ctx *cx, Dim d, Dim (*lookup)(void *arg, Dim sym), void *arg)
{
    Replace how = { lookup, arg };
    Dim r = d ? rebuild(cx, now(d), &how) : NULL;
    return r ? now(r) : NULL;
}

/* d with everything replaced that facts have replaced so far. An expression that cannot be rebuilt (an overflow) stays. */
static Dim now(Dim d)
{
    struct Dims *ds = d->owner;
    int64_t v;
    if (ds->epoch == 0 || constant(d, &v))
        return d;
    struct DimRec *r = (struct DimRec *)d;
    if (r->now_epoch != ds->epoch) {
        r->now = d;                             /* ends a cycle, should there be one */
        r->now_epoch = ds->epoch;
        Dim to = rebuild(ds->cx, d, NULL);
        r->now = !to ? d : to == d ? d : now(to);
    }
    return r->now;
}

static bool is_of_scope(const struct Dims *ds, Dim atom) { return !ds->scopes.n || atom->id >= ds->scopes.at[ds->scopes.n - 1].first; }

static void replace_atom(Dim atom, Dim by)
{
    if (!is_of_scope(atom->owner, atom))
        vec_push(atom->owner->cx, &atom->owner->undo, (Undo){ .atom = (struct DimRec *)atom });
    ((struct DimRec *)atom)->is = (struct DimRec *)by;
    atom->owner->epoch++;
    atom->owner->learned++;
}

/* ---- proofs ----------------------------------------------------------------------------------------------- */

/* e with the coefficient of one term changed by removing it: *rest = e - coef*atom, for a term that is one atom. */
static Dim without(Ctx *cx, Dim e, const Term *t)
{
    return combine(cx, e, -1, make_sum(cx, t, 1));
}

static bool prove(Ctx *cx, Dim e, int depth, int *budget);

/* Replace k*atom in e by k*bound and try again. */
static bool prove_with(Ctx *cx, Dim e, const Term *t, Dim bound, int depth, int *budget)
{
    Dim rest = bound ? without(cx, e, t) : NULL;
    rest = rest ? combine(cx, rest, t->coef, bound) : NULL;
    return rest && prove(cx, rest, depth - 1, budget);
}

/* k*(x//c) >= k*x/c - k*(c-1)/c for k > 0, >= k*x/c for k < 0: multiply all by c. */
static bool prove_div(Ctx *cx, Dim e, const Term *t, int depth, int *budget)
{
    Dim x = t->atom[0]->of.arg[0], by = t->atom[0]->of.arg[1];
    int64_t c;
    if (!constant(by, &c))
        return false;
    Dim rest = without(cx, e, t);
    rest = rest ? product(cx, rest, by) : NULL;
    Dim least = t->coef > 0 ? plus(cx, x, 1 - c) : x;
    rest = rest && least ? combine(cx, rest, t->coef, least) : NULL;
    return rest && prove(cx, rest, depth - 1, budget);
}

/* 0 <= x % b <= b - 1 for b > 0, and x % b <= x for x >= 0 */
static bool prove_mod(Ctx *cx, Dim e, const Term *t, int depth, int *budget)
{
    Dim x = t->atom[0]->of.arg[0], b = t->atom[0]->of.arg[1];
    if (range_of(b).lo < 1)
        return false;
    if (t->coef > 0)
        return prove_with(cx, e, t, dim_int(cx, 0), depth, budget);
    if (range_of(x).lo >= 0 && prove_with(cx, e, t, x, depth, budget))
        return true;
    return prove_with(cx, e, t, plus(cx, b, -1), depth, budget);
}

/* A min that counts positively is one of its arguments, we do not know which; one that counts negatively is at most each. */
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
        if (range_of(atom).lo >= 0 && divide_exact(cx, e, atom, &q))
            return prove(cx, q, depth - 1, budget);
    }
    return false;
}

/* Is e >= 0 at every point? */
static bool prove(Ctx *cx, Dim e, int depth, int *budget)
{
    if (range_of(e).lo >= 0)
        return true;
    if (depth <= 0 || --*budget <= 0 || ctx_failed(cx))
        return false;
    int64_t v;
    if (constant(e, &v))
        return false;
    struct Dims *ds = dims_of(cx);
    for (size_t i = 0; i < ds->facts.n; i++) {
        if (ds->facts.at[i].rel != REL_LE)
            continue;
        Dim rest = combine(cx, e, -1, now(ds->facts.at[i].e));
        if (rest && range_of(rest).lo >= 0)
            return true;
    }
    if (prove_factor(cx, e, depth, budget))
        return true;
    Term one[1];
    size_t n;
    const Term *t = terms_of(e, one, &n);
    for (size_t i = 0; i < n; i++) {
        if (t[i].n != 1 || t[i].atom[0]->kind == D_SYM)
            continue;
        Kind kind = (Kind)t[i].atom[0]->kind;
        if (kind == D_DIV ? prove_div(cx, e, &t[i], depth, budget) : kind == D_MOD ? prove_mod(cx, e, &t[i], depth, budget) :
            prove_extreme(cx, e, &t[i], depth, budget))
            return true;
    }
    return false;
}

/* A proof multiplies; what grows past 64 bits on the way means "not proven", never an error of the program. */
static void forget_overflow(Ctx *cx)
{
    if (cx->error.code == E_VALUE || cx->error.code == E_LIMIT)
        cx->error = (Error){ .code = E_NONE };
}

static bool nonneg(Ctx *cx, Dim e)
{
    if (!e || ctx_failed(cx))
        return false;
    struct DimRec *rec = (struct DimRec *)e;
    if (range_of(e).lo >= 0)
        return true;
    if (e->nonneg_learned == dims_of(cx)->learned || (e->nonneg && e->nonneg_learned))
        return e->nonneg;                       /* what is proven stays so: facts are only added */
    int budget = PROOF_BUDGET;
    rec->nonneg = prove(cx, e, PROOF_DEPTH, &budget);
    rec->nonneg_learned = dims_of(cx)->learned;
    forget_overflow(cx);
    return rec->nonneg;
}

/* b - a, or NULL without an error when it does not fit. */
static Dim difference(Ctx *cx, Dim a, Dim b)
{
    if (ctx_failed(cx))
        return NULL;
    Dim e = combine(cx, b, -1, a);
    forget_overflow(cx);
    return e;
}

static Tri at_most(Ctx *cx, Dim a, Dim b)
{
    int64_t x, y;
    if (a == b)
        return YES;
    if (constant(a, &x) && constant(b, &y))
        return x <= y ? YES : NO;
    Dim e = difference(cx, a, b);
    if (!e)
        return UNKNOWN;
    if (nonneg(cx, e))
        return YES;
    Dim minus = difference(cx, e, dim_int(cx, -1));
    return nonneg(cx, minus) ? NO : UNKNOWN;
}

Tri dim_le(Ctx *cx, Dim a, Dim b) { return a && b ? at_most(cx, now(a), now(b)) : UNKNOWN; }

Tri dim_lt(Ctx *cx, Dim a, Dim b)
{
    Tri back = dim_le(cx, b, a);
    return back == YES ? NO : back == NO ? YES : UNKNOWN;
}

/* k*c*(x//c) = k*x - k*(x%c): the form in which a fact about x%c helps. */
static Dim expand_quotients(Ctx *cx, Dim e)
{
    Term one[1];
    size_t n;
    const Term *t = terms_of(e, one, &n);
    for (size_t i = 0; i < n; i++) {
        int64_t c;
        if (t[i].n != 1 || t[i].atom[0]->kind != D_DIV || !constant(t[i].atom[0]->of.arg[1], &c) || t[i].coef % c)
            continue;
        Dim x = t[i].atom[0]->of.arg[0], m = modulo(cx, x, t[i].atom[0]->of.arg[1]);
        Dim exact = m ? combine(cx, x, -1, m) : NULL;
        Dim rest = without(cx, e, &t[i]);
        return exact && rest ? combine(cx, rest, t[i].coef / c, exact) : e;
    }
    return e;
}

/* e = 0 has no solution because the coefficients' common divisor does not divide the number: 2*N + 1 = 2*M. */
static bool never_zero(Dim e)
{
    int64_t g = common(e, 0), k = 0;
    if (e->kind == D_SUM && e->sum.n && e->sum.term[e->sum.n - 1].n == 0)
        k = e->sum.term[e->sum.n - 1].coef;
    return g > 1 && k % g != 0;
}

static bool fact_says_ne(Ctx *cx, Dim e)
{
    struct Dims *ds = dims_of(cx);
    for (size_t i = 0; i < ds->facts.n; i++)
        if (ds->facts.at[i].rel == REL_NE) {
            Dim f = now(ds->facts.at[i].e), sum = combine(cx, e, 1, f);
            if (f == e || (sum && is_value(sum, 0)))
                return true;
        }
    return false;
}

static Tri equal(Ctx *cx, Dim a, Dim b);

/* A pair that has been broadcast is equal once neither can be 1. */
static bool pair_says_eq(Ctx *cx, Dim a, Dim b)
{
    struct Dims *ds = dims_of(cx);
    for (size_t i = 0; i < ds->pairs.n; i++) {
        Dim x = now(ds->pairs.at[i].a), y = now(ds->pairs.at[i].b);
        if ((x == a && y == b) || (x == b && y == a))
            return equal(cx, a, dim_int(cx, 1)) == NO && equal(cx, b, dim_int(cx, 1)) == NO;
    }
    return false;
}

static Tri equal(Ctx *cx, Dim a, Dim b)
{
    int64_t v;
    if (a == b)
        return YES;
    Dim e = difference(cx, b, a);
    if (!e)
        return UNKNOWN;
    if (constant(e, &v))
        return v == 0 ? YES : NO;
    if (never_zero(e) || fact_says_ne(cx, e))
        return NO;
    Dim minus = difference(cx, e, dim_int(cx, 0));
    if (nonneg(cx, difference(cx, dim_int(cx, 1), e)) || nonneg(cx, difference(cx, dim_int(cx, 1), minus)))
        return NO;
    Dim x = expand_quotients(cx, e);
    for (int i = 0; x && x != e && i < 8; i++) {
        e = x;
        x = expand_quotients(cx, e);
    }
    if (is_value(e, 0) || (nonneg(cx, e) && nonneg(cx, minus)))
        return YES;
    bool both_constant = constant(a, &v) && constant(b, &v);
    return !both_constant && pair_says_eq(cx, a, b) ? YES : UNKNOWN;
}

Tri dim_eq(Ctx *cx, Dim a, Dim b) { return a && b ? equal(cx, now(a), now(b)) : UNKNOWN; }

bool dim_known(Dim d, int64_t *out)
{
    int64_t v;
    if (!d || !constant(now(d), &v))
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

/* ---- facts ------------------------------------------------------------------------------------------------- */

void dim_set_range(Ctx *cx, Dim sym, int64_t lo, int64_t hi)
{
    assert(sym->kind == D_SYM);
    struct DimRec *r = (struct DimRec *)sym;
    lo = lo > r->sym.lo ? lo : r->sym.lo;
    hi = hi < r->sym.hi ? hi : r->sym.hi;
    if (lo > hi) {
        fail(cx, E_VALUE, "nothing is left of the range of dimension %s", r->sym.name->s);
        return;
    }
    if (lo != r->sym.lo || hi != r->sym.hi)
        r->owner->learned++;
    if (!is_of_scope(r->owner, sym))
        vec_push(cx, &r->owner->undo, (Undo){ .atom = r, .is_range = true, .lo = r->sym.lo, .hi = r->sym.hi });
    r->sym.lo = lo;
    r->sym.hi = hi;
    if (lo == hi && !r->is)
        replace_atom(sym, dim_int(cx, lo));
}

/* e is k*s + c with one symbol s: narrow its range to e >= 0. */
static bool narrow(Ctx *cx, Dim e)
{
    Term one[1];
    size_t n;
    const Term *t = terms_of(e, one, &n);
    if (n < 1 || n > 2 || t[0].n != 1 || t[0].atom[0]->kind != D_SYM || (n == 2 && t[1].n))
        return false;
    int64_t c = n == 2 ? t[1].coef : 0, k = t[0].coef;
    if (c == INT64_MIN || k == INT64_MIN)
        return false;
    if (k > 0)
        dim_set_range(cx, t[0].atom[0], -floordiv(c, k), DIM_MAX);      /* s >= ceil(-c / k) */
    else
        dim_set_range(cx, t[0].atom[0], NO_LOW, floordiv(c, -k));
    return true;
}

/* e >= 0 holds from here on. */
static void learn(Ctx *cx, Dim e)
{
    if (e && !nonneg(cx, e) && !narrow(cx, e)) {
        vec_push(cx, &dims_of(cx)->facts, (Fact){ REL_LE, e });
        dims_of(cx)->learned++;
    }
}

static bool occurs(Dim atom, Dim d)
{
    if (d == atom)
        return true;
    if (d->kind == D_SYM)
        return false;
    if (d->kind != D_SUM) {
        for (uint32_t i = 0; i < d->of.n; i++)
            if (occurs(atom, d->of.arg[i]))
                return true;
        return false;
    }
    for (uint32_t i = 0; i < d->sum.n; i++)
        for (uint32_t j = 0; j < d->sum.term[i].n; j++)
            if (occurs(atom, d->sum.term[i].atom[j]))
                return true;
    return false;
}

/* Which atom is best replaced: a symbol of ours, a younger symbol of the user's, anything else. */
static int worth(Dim atom)
{
    return atom->kind != D_SYM ? 1 : atom->sym.fresh ? 3 : 2;
}

/* e = 0 solved for one atom. */
static bool solve(Ctx *cx, Dim e, Dim *atom, Dim *value)
{
    Term one[1];
    size_t n;
    const Term *t = terms_of(e, one, &n), *best = NULL;
    int64_t g = 0;
    for (size_t i = 0; i < n; i++)
        g = gcd(g, t[i].coef);
    for (size_t i = 0; i < n; i++) {
        if (t[i].n != 1 || (t[i].coef != g && t[i].coef != -g) || occurs(t[i].atom[0], without(cx, e, &t[i])))
            continue;
        int gain = best ? worth(t[i].atom[0]) - worth(best->atom[0]) : 1;
        if (gain > 0 || (gain == 0 && t[i].atom[0]->id > best->atom[0]->id))
            best = &t[i];
    }
    if (!best)
        return false;
    Dim rest = without(cx, e, best), minus = rest ? combine(cx, dim_int(cx, 0), -1, rest) : NULL;
    *atom = best->atom[0];
    return minus && divide_exact(cx, minus, dim_int(cx, best->coef), value);
}

static void substitute(Ctx *cx, Dim atom, Dim value)
{
    Range r = range_atom(atom);
    if (r.lo != NO_LOW)
        learn(cx, plus(cx, value, -r.lo));
    if (r.hi != DIM_MAX)
        learn(cx, combine(cx, dim_int(cx, r.hi), -1, value));
    replace_atom(atom, value);
}

/* a == b where neither yes nor no is proven; `why` NULL: a fact, no input is pinned. */
static bool learn_equal(Ctx *cx, Dim a, Dim b, const char *why)
{
    struct Dims *ds = dims_of(cx);
    Dim e = difference(cx, b, a), atom, value, q;
    for (uint32_t i = 0; e && e->kind == D_SUM && e->sum.n && i < e->sum.term[0].n; )
        if (range_atom(e->sum.term[0].atom[i]).lo >= 1 && divide_exact(cx, e, e->sum.term[0].atom[i], &q))
            e = q, i = 0;                       /* (C - 3)*N = 0 with N >= 1: C = 3 */
        else
            i++;
    if (!e)
        return fail(cx, E_VALUE, "%s and %s cannot be compared", dim_text(cx, a)->s, dim_text(cx, b)->s);
    if (solve(cx, e, &atom, &value)) {
        if (why && atom->kind == D_SYM && !atom->sym.fresh && ds->pin && !ds->scopes.n && !ds->pin(cx, atom, value, why))
            return false;
        substitute(cx, atom, value);
    } else {
        vec_push(cx, &ds->facts, (Fact){ REL_LE, e });
        vec_push(cx, &ds->facts, (Fact){ REL_LE, difference(cx, e, dim_int(cx, 0)) });
        ds->learned++;
    }
    return !ctx_failed(cx);
}

bool dim_require(Ctx *cx, Dim a, Dim b, const char *why, ...)
{
    if (!a || !b)
        return false;
    a = now(a), b = now(b);
    Tri eq = equal(cx, a, b);
    if (eq == YES)
        return true;
    va_list ap;
    va_start(ap, why);
    char text[256];
    vsnprintf(text, sizeof text, why, ap);
    va_end(ap);
    if (eq == NO)
        return fail(cx, E_VALUE, "%s: %s is not %s", text, dim_text(cx, a)->s, dim_text(cx, b)->s);
    return learn_equal(cx, a, b, text);
}

static bool assume_differ(Ctx *cx, Dim a, Dim b)
{
    Tri eq = equal(cx, a, b);
    if (eq != UNKNOWN)
        return eq == NO;
    Dim e = difference(cx, a, b);
    if (!e)
        return true;
    if (nonneg(cx, e))                          /* at an end of the range: it moves by one */
        learn(cx, plus(cx, e, -1));
    else if (nonneg(cx, difference(cx, e, dim_int(cx, 0))))
        learn(cx, difference(cx, e, dim_int(cx, -1)));
    else
        vec_push(cx, &dims_of(cx)->facts, (Fact){ REL_NE, e });
    return true;
}

bool dim_assume(Ctx *cx, Rel rel, Dim a, Dim b)
{
    if (!a || !b)
        return false;
    a = now(a), b = now(b);
    if (rel == REL_NE)
        return assume_differ(cx, a, b);
    if (rel == REL_EQ) {
        Tri eq = equal(cx, a, b);
        return eq == UNKNOWN ? learn_equal(cx, a, b, NULL) : eq == YES;
    }
    if (rel == REL_LT && !(a = plus(cx, a, 1)))
        return false;
    Tri le = at_most(cx, a, b);
    if (le == UNKNOWN)
        learn(cx, difference(cx, a, b));
    return le != NO;
}

void dim_scope_open(Ctx *cx)
{
    struct Dims *ds = dims_of(cx);
    vec_push(cx, &ds->scopes, (Scope){ ds->undo.n, ds->facts.n, ds->pairs.n, ds->next_id });
}

/* What was found out with the facts of the scope is found out again: their numbers never come back. */
void dim_scope_close(Ctx *cx)
{
    struct Dims *ds = dims_of(cx);
    if (!ds->scopes.n)
        return;                                 /* opened without memory: the context has failed */
    Scope s = ds->scopes.at[--ds->scopes.n];
    while (ds->undo.n > s.undo) {
        const Undo *u = &ds->undo.at[--ds->undo.n];
        if (u->is_range) {
            u->atom->sym.lo = u->lo;
            u->atom->sym.hi = u->hi;
        } else {
            u->atom->is = NULL;
        }
    }
    ds->facts.n = s.facts;
    ds->pairs.n = s.pairs;
    ds->epoch++;
    ds->learned++;
}

void dim_on_pin(Ctx *cx, DimPin pin) { dims_of(cx)->pin = pin; }

/* ---- broadcasting ---------------------------------------------------------------------------------------------- */

static bool fresh_pair(Ctx *cx, Dim a, Dim b, Dim *out)
{
    struct Dims *ds = dims_of(cx);
    for (size_t i = 0; i < ds->pairs.n; i++) {
        const Pair *p = &ds->pairs.at[i];
        Dim x = now(p->a), y = now(p->b);
        if ((x == a && y == b) || (x == b && y == a)) {
            *out = now(p->result);
            return true;
        }
    }
    struct DimRec *d = (struct DimRec *)dim_fresh(cx, "b");
    Range x = range_of(a), y = range_of(b);
    d->sym.left = a;
    d->sym.right = b;
    d->sym.lo = x.lo < y.lo ? x.lo : y.lo;      /* 0 against 1 is 0 */
    d->sym.hi = x.hi > y.hi ? x.hi : y.hi;
    vec_push(cx, &ds->pairs, (Pair){ a, b, d });
    *out = d;
    return true;
}

bool dim_broadcast(Ctx *cx, Dim a, Dim b, Dim *out)
{
    if (!a || !b)
        return false;
    a = now(a), b = now(b);
    Dim one = dim_int(cx, 1);
    Tri eq = equal(cx, a, b), a_one = equal(cx, a, one), b_one = equal(cx, b, one);
    *out = a_one == YES ? b : a;
    if (eq == YES || a_one == YES || b_one == YES)
        return true;
    if (a_one == NO && b_one == NO && eq == NO)
        return false;
    if (a_one == NO && (b_one != NO || eq != NO)) {     /* whatever b is, equal or 1, the result is a */
        if (b_one == NO)
            vec_push(cx, &dims_of(cx)->pairs, (Pair){ a, b, a });
        return true;
    }
    if (b_one == NO) {
        *out = b;
        return true;
    }
    /* One row of a, as `a[-1:]` has it: 1 where a has any, else 0. */
    if (equal(cx, b, dim_min(cx, one, a)) == YES || equal(cx, a, dim_min(cx, one, b)) == YES) {
        *out = equal(cx, b, dim_min(cx, one, a)) == YES ? a : b;
        return true;
    }
    return fresh_pair(cx, a, b, out);
}

bool dim_broadcast_of(Dim sym, Dim *a, Dim *b)
{
    if (sym->kind != D_SYM || !sym->sym.left)
        return false;
    *a = now(sym->sym.left);
    *b = now(sym->sym.right);
    return true;
}

/* ---- symbols ------------------------------------------------------------------------------------------------------- */

bool dim_is_sym(Dim d, Str *name)
{
    d = now(d);
    if (d->kind != D_SYM)
        return false;
    if (name)
        *name = d->sym.name;
    return true;
}

void dim_set_origin(Ctx *cx, Dim sym, Ox v, int axis)
{
    struct DimRec *d = (struct DimRec *)sym;
    if (d->kind != D_SYM || d->sym.origin)
        return;
    d->sym.origin = v;
    d->sym.axis = axis;
    vec_push(cx, &dims_of(cx)->measured, d);
}

void dim_move_origins(Ctx *cx, Ox from, Ox to)
{
    struct Dims *ds = dims_of(cx);
    for (size_t i = 0; i < ds->measured.n; i++)
        if (ds->measured.at[i]->sym.origin == from)
            ds->measured.at[i]->sym.origin = to;
}

bool dim_is_origin(Ctx *cx, Ox v)
{
    struct Dims *ds = dims_of(cx);
    for (size_t i = 0; i < ds->measured.n; i++)
        if (ds->measured.at[i]->sym.origin == v)
            return true;
    return false;
}

bool dim_origin(Ctx *cx, Dim sym, Ox *v, int *axis)
{
    (void)cx;
    if (sym->kind != D_SYM || !sym->sym.origin)
        return false;
    *v = sym->sym.origin;
    *axis = sym->sym.axis;
    return true;
}

/* ---- looking inside: for dimnodes.c --------------------------------------------------------------------------------- */

DimView dim_view(Ctx *cx, Dim d)
{
    static const DimShape shape[] = { [D_DIV] = DIM_QUOTIENT, [D_MOD] = DIM_REMAINDER, [D_MIN] = DIM_LEAST, [D_MAX] = DIM_GREATEST };
    d = now(d);
    if (d->kind == D_SYM)
        return (DimView){ .shape = DIM_SYMBOL };
    if (d->kind != D_SUM)
        return (DimView){ .shape = shape[d->kind], .n = d->of.n, .arg = d->of.arg };
    if (d->sum.n == 0 || (d->sum.n == 1 && d->sum.term->n == 0))
        return (DimView){ .shape = DIM_NUMBER, .number = d->sum.n ? d->sum.term->coef : 0 };
    if (d->sum.n > 1) {
        Dim *arg = new_array(cx, Dim, d->sum.n);
        for (uint32_t i = 0; i < d->sum.n; i++)
            arg[i] = make_sum(cx, &d->sum.term[i], 1);
        return (DimView){ .shape = DIM_TOTAL, .n = d->sum.n, .arg = arg };
    }
    const Term *t = d->sum.term;
    Dim *arg = new_array(cx, Dim, t->n + 1);
    uint32_t n = 0;
    if (t->coef != 1)
        arg[n++] = dim_int(cx, t->coef);
    for (uint32_t i = 0; i < t->n; i++)
        arg[n++] = t->atom[i];
    return (DimView){ .shape = DIM_FACTORS, .n = n, .arg = arg };
}

/* ---- text ------------------------------------------------------------------------------------------------------------- */

static void print_dim(Buf *b, Dim d);

static void print_operand(Buf *b, Dim d)
{
    int64_t v;
    bool bare = (d->kind != D_SUM && d->kind != D_DIV && d->kind != D_MOD) || (constant(d, &v) && v >= 0);
    if (!bare)
        buf_str(b, "(");
    print_dim(b, d);
    if (!bare)
        buf_str(b, ")");
}

static void print_atom(Buf *b, Dim d)
{
    if (d->kind == D_SYM) {
        buf_str(b, d->sym.name->s);
    } else if (d->kind == D_DIV || d->kind == D_MOD) {
        print_operand(b, d->of.arg[0]);
        buf_str(b, d->kind == D_DIV ? "//" : "%");
        print_operand(b, d->of.arg[1]);
    } else {
        buf_str(b, d->kind == D_MIN ? "min(" : "max(");
        for (uint32_t i = 0; i < d->of.n; i++) {
            buf_str(b, i ? ", " : "");
            print_dim(b, d->of.arg[i]);
        }
        buf_str(b, ")");
    }
}

/* A term without its sign. */
static void print_term(Buf *b, const Term *t, bool alone)
{
    uint64_t k = t->coef < 0 ? -(uint64_t)t->coef : (uint64_t)t->coef;
    if (k != 1 || t->n == 0)
        buf_fmt(b, "%llu", (unsigned long long)k);
    for (uint32_t i = 0; i < t->n; i++) {
        if (i || k != 1)
            buf_str(b, "*");
        if (k == 1 && t->n == 1 && alone)
            print_atom(b, t->atom[i]);
        else
            print_operand(b, t->atom[i]);
    }
}

static void print_dim(Buf *b, Dim d)
{
    Term one[1];
    size_t n;
    const Term *t = terms_of(d, one, &n);
    if (n == 0)
        buf_str(b, "0");
    for (size_t i = 0; i < n; i++) {
        bool minus = t[i].coef < 0;
        buf_str(b, i == 0 ? (minus ? "-" : "") : minus ? " - " : " + ");
        print_term(b, &t[i], i > 0 || !minus);
    }
}

Str dim_text(Ctx *cx, Dim d)
{
    if (!d)
        return str_of(cx, "?");
    Buf b = buf_new(cx);
    print_dim(&b, now(d));
    return buf_done(&b);
}

/* ---- parsing: sum = product (("+" | "-") product)*  product = factor (("*" | "//" | "%") factor)* ----------------------- */

typedef struct Reader { Ctx *cx; const char *s; size_t n, at; int depth; } Reader;

static Dim read_sum(Reader *r);

static Dim bad(Reader *r, const char *what)
{
    fail(r->cx, E_USAGE, "dimension \"%.*s\": %s at column %zu", (int)r->n, r->s, what, r->at + 1);
    return NULL;
}

static bool take(Reader *r, const char *word)
{
    size_t n = strlen(word);
    while (r->at < r->n && r->s[r->at] == ' ')
        r->at++;
    if (r->n - r->at < n || memcmp(r->s + r->at, word, n) != 0)
        return false;
    r->at += n;
    return true;
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static Dim read_number(Reader *r)
{
    int64_t v = 0;
    for (; r->at < r->n && is_digit(r->s[r->at]); r->at++)
        if (!mul_ok(v, 10, &v) || !add_ok(v, r->s[r->at] - '0', &v))
            return bad(r, "a number beyond 64 bits");
    return dim_int(r->cx, v);
}

/* "min(" sum ("," sum)* ")" */
static Dim read_extreme(Reader *r, Dim (*join)(Ctx *, Dim, Dim))
{
    Dim d = read_sum(r);
    while (d && take(r, ","))
        d = join(r->cx, d, read_sum(r));
    return !d || take(r, ")") ? d : bad(r, "a ')' is missing");
}

static Dim read_name(Reader *r)
{
    size_t from = r->at;
    while (r->at < r->n && (is_letter(r->s[r->at]) || is_digit(r->s[r->at]) || r->s[r->at] == '.'))
        r->at++;
    Str name = str_n(r->cx, r->s + from, r->at - from);
    bool least = str_is(name, "min");
    if ((least || str_is(name, "max")) && take(r, "("))
        return read_extreme(r, least ? dim_min : dim_max);
    return dim_sym(r->cx, name);
}

/* factor = "-" factor | number | name | "(" sum ")" | ("min" | "max") "(" sum ("," sum)* ")" */
static Dim read_factor(Reader *r)
{
    if (r->depth > 100)
        return bad(r, "nested too deeply");
    r->depth++;
    Dim d;
    if (take(r, "-"))
        d = dim_sub(r->cx, dim_int(r->cx, 0), read_factor(r));
    else if (take(r, "(")) {
        d = read_sum(r);
        if (d && !take(r, ")"))
            d = bad(r, "a ')' is missing");
    } else if (r->at < r->n && is_digit(r->s[r->at]))
        d = read_number(r);
    else if (r->at < r->n && is_letter(r->s[r->at]))
        d = read_name(r);
    else
        d = bad(r, "a number or a name is missing");
    r->depth--;
    return d;
}

static Dim read_product(Reader *r)
{
    Dim d = read_factor(r);
    while (d) {
        if (take(r, "//"))
            d = dim_floordiv(r->cx, d, read_factor(r));
        else if (take(r, "*"))
            d = dim_mul(r->cx, d, read_factor(r));
        else if (take(r, "%"))
            d = dim_mod(r->cx, d, read_factor(r));
        else
            break;
    }
    return d;
}

static Dim read_sum(Reader *r)
{
    Dim d = read_product(r);
    while (d) {
        if (take(r, "+"))
            d = dim_add(r->cx, d, read_product(r));
        else if (take(r, "-"))
            d = dim_sub(r->cx, d, read_product(r));
        else
            break;
    }
    return d;
}

Dim dim_parse(Ctx *cx, const char *s, size_t n)
{
    Reader r = { .cx = cx, .s = s, .n = n };
    Dim d = read_sum(&r);
    if (d && (take(&r, " "), r.at < r.n))
        return bad(&r, "this is not understood");
    return d;
}
