/* dim_facts.c - what is learnt of dimensions: ranges, equations, orders, broadcasts; and in which
 * scope (a branch of an if, the body of a loop) it holds. An equation replaces a symbol from here
 * on. */
#include "onnx/dim/dim.h"

#include <assert.h>

/* ---- facts ---- */

/* The range becomes what both the old one and [lo, hi] say; E_VALUE where nothing is left. One of a
 * single number makes the symbol that number. */
void dim_set_range(Ctx *cx, Dim sym, int64_t lo, int64_t hi)
{
    assert(sym->kind == D_SYM);
    struct DimRec *r = dim_record(sym);
    lo = lo > r->sym.lo ? lo : r->sym.lo;
    hi = hi < r->sym.hi ? hi : r->sym.hi;
    if (lo > hi) {
        fail(cx, E_VALUE, "nothing is left of the range of dimension %s", r->sym.name->s);
        return;
    }
    if (lo != r->sym.lo || hi != r->sym.hi)
        r->owner->learned++;
    if (!dim_is_of_scope(r->owner, sym))
        vec_push(cx, &r->owner->undo,
                 (Undo){ .atom = r, .is_range = true, .lo = r->sym.lo, .hi = r->sym.hi });
    r->sym.lo = lo;
    r->sym.hi = hi;
    if (lo == hi && !r->is)
        dim_replace_atom(sym, dim_int(cx, lo));
}

/* e is k*s + c with one symbol s: narrow its range to e >= 0. */
static bool narrow(Ctx *cx, Dim e)
{
    Term one[1];
    size_t n;
    const Term *t = dim_terms(e, one, &n);
    if (n < 1 || n > 2 || t[0].n != 1 || t[0].atom[0]->kind != D_SYM || (n == 2 && t[1].n))
        return false;
    int64_t c = n == 2 ? t[1].coef : 0;
    int64_t k = t[0].coef;
    if (c == INT64_MIN || k == INT64_MIN)
        return false;
    if (k > 0)
        dim_set_range(cx, t[0].atom[0], -floordiv(c, k), DIM_MAX); /* s >= ceil(-c / k) */
    else
        dim_set_range(cx, t[0].atom[0], NO_LOW, floordiv(c, -k));
    return true;
}

/* e >= 0 holds from here on. */
static void learn(Ctx *cx, Dim e)
{
    if (e && !dim_nonneg(cx, e) && !narrow(cx, e)) {
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
    if (atom->kind != D_SYM)
        return 1;
    return atom->sym.fresh ? 3 : 2;
}

static Dim look_at_age(void *arg, Dim sym)
{
    uint32_t *id = arg;
    if (sym->sym.fresh && sym->id > *id)
        *id = sym->id;
    return NULL;
}

/* The youngest symbol of ours in d, by its number; 0 without one. Such a symbol has no number
 * before the value is made that it was made for; what has none of them is known at the start. */
static uint32_t youngest(Ctx *cx, Dim d)
{
    uint32_t id = 0;
    (void)dim_replace(cx, d, look_at_age, &id);
    return id;
}

/* May the atom be replaced by what is made of the rest of an equation? Nodes that have read the
 * atom's number stand before those that give a younger one. */
static bool may_rest_on(Ctx *cx, Dim atom, Dim rest)
{
    return rest && !occurs(atom, rest) && youngest(cx, rest) <= youngest(cx, atom);
}

/* e = 0 solved for one atom. */
static bool solve(Ctx *cx, Dim e, Dim *atom, Dim *value)
{
    Term one[1];
    size_t n;
    const Term *t = dim_terms(e, one, &n);
    const Term *best = NULL;
    int64_t g = 0;
    for (size_t i = 0; i < n; i++)
        g = dim_gcd(g, t[i].coef);
    for (size_t i = 0; i < n; i++) {
        if (t[i].n != 1 || (t[i].coef != g && t[i].coef != -g) ||
            !may_rest_on(cx, t[i].atom[0], dim_without(cx, e, &t[i])))
            continue;
        int gain = best ? worth(t[i].atom[0]) - worth(best->atom[0]) : 1;
        if (gain > 0 || (gain == 0 && t[i].atom[0]->id > best->atom[0]->id))
            best = &t[i];
    }
    if (!best)
        return false;
    Dim rest = dim_without(cx, e, best);
    Dim minus = rest ? dim_combine(cx, dim_int(cx, 0), -1, rest) : NULL;
    *atom = best->atom[0];
    return minus && dim_divide_exact(cx, minus, dim_int(cx, best->coef), value);
}

/* One of several sizes whose product is 1, as e = 3*N*T - 3 = 0 says: each of them is 1. NULL: e
 * says something else. */
static Dim one_of_product(Dim e)
{
    Term one[1];
    size_t n;
    const Term *t = dim_terms(e, one, &n);
    int64_t sum;
    if (n != 2 || !add_ok(t[0].coef, t[1].coef, &sum) || sum != 0)
        return NULL;
    const Term *product = t[0].n ? &t[0] : &t[1];
    const Term *number = t[0].n ? &t[1] : &t[0];
    if (product->n < 2 || number->n > 0)
        return NULL;
    for (uint32_t i = 0; i < product->n; i++)
        if (product->atom[i]->kind != D_SYM || dim_range_atom(product->atom[i]).lo < 0)
            return NULL;
    return product->atom[0];
}

static void substitute(Ctx *cx, Dim atom, Dim value)
{
    Range r = dim_range_atom(atom);
    if (r.lo != NO_LOW)
        learn(cx, dim_plus(cx, value, -r.lo));
    if (r.hi != DIM_MAX)
        learn(cx, dim_combine(cx, dim_int(cx, r.hi), -1, value));
    dim_replace_atom(atom, value);
}

/* e = 0 holds from here on, and replaces nothing. */
static void learn_zero(Ctx *cx, Dim e)
{
    struct Dims *ds = dims_of(cx);
    Dim minus = dim_difference(cx, e, dim_int(cx, 0));
    vec_push(cx, &ds->facts, (Fact){ REL_LE, e });
    if (minus)
        vec_push(cx, &ds->facts, (Fact){ REL_LE, minus });
    ds->learned++;
}

/* a == b where neither yes nor no is proven; `why` NULL: a fact, no input is pinned. */
static bool learn_equal(Ctx *cx, Dim a, Dim b, const char *why)
{
    struct Dims *ds = dims_of(cx);
    Dim e = dim_difference(cx, b, a), atom, value, q;
    for (uint32_t i = 0; e && e->kind == D_SUM && e->sum.n && i < e->sum.term[0].n;)
        if (dim_range_atom(e->sum.term[0].atom[i]).lo >= 1 &&
            dim_divide_exact(cx, e, e->sum.term[0].atom[i], &q))
            e = q, i = 0; /* (C - 3)*N = 0 with N >= 1: C = 3 */
        else
            i++;
    if (!e)
        return fail(cx, E_VALUE, "%s and %s cannot be compared", dim_text(cx, a)->s,
                    dim_text(cx, b)->s);
    Dim factor = one_of_product(e);
    if (factor) {
        return learn_equal(cx, factor, dim_int(cx, 1), why) &&
            (dim_equal(cx, dim_now(a), dim_now(b)) == YES ||
             learn_equal(cx, dim_now(a), dim_now(b), why));
    }
    if (solve(cx, e, &atom, &value)) {
        if (why && atom->kind == D_SYM && !atom->sym.fresh && ds->pin && !ds->scopes.n &&
            !ds->pin(cx, atom, value, why))
            return false;
        substitute(cx, atom, value);
    } else {
        learn_zero(cx, e);
    }
    return !ctx_failed(cx);
}

bool dim_has_fresh(Ctx *cx, Dim d) { return d && youngest(cx, dim_now(d)) > 0; }

bool dim_has(Dim d, Dim sym) { return d && sym && occurs(dim_now(sym), dim_now(d)); }

bool dim_define(Ctx *cx, Dim sym, Dim value)
{
    if (!sym || !value)
        return false;
    sym = dim_now(sym), value = dim_now(value);
    assert(sym->kind == D_SYM && !occurs(sym, value));
    substitute(cx, sym, value);
    return !ctx_failed(cx);
}

bool dim_require(Ctx *cx, Dim a, Dim b, const char *why, ...)
{
    if (!a || !b)
        return false;
    a = dim_now(a), b = dim_now(b);
    Tri eq = dim_equal(cx, a, b);
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
    Tri eq = dim_equal(cx, a, b);
    if (eq != UNKNOWN)
        return eq == NO;
    Dim e = dim_difference(cx, a, b);
    if (!e)
        return true;
    if (dim_nonneg(cx, e)) /* at an end of the range: it moves by one */
        learn(cx, dim_plus(cx, e, -1));
    else if (dim_nonneg(cx, dim_difference(cx, e, dim_int(cx, 0))))
        learn(cx, dim_difference(cx, e, dim_int(cx, -1)));
    else
        vec_push(cx, &dims_of(cx)->facts, (Fact){ REL_NE, e });
    return true;
}

bool dim_assume(Ctx *cx, Rel rel, Dim a, Dim b)
{
    if (!a || !b)
        return false;
    a = dim_now(a), b = dim_now(b);
    if (rel == REL_NE)
        return assume_differ(cx, a, b);
    if (rel == REL_EQ) {
        Tri eq = dim_equal(cx, a, b);
        return eq == UNKNOWN ? learn_equal(cx, a, b, NULL) : eq == YES;
    }
    if (rel == REL_LT && !(a = dim_plus(cx, a, 1)))
        return false;
    Tri le = dim_at_most(cx, a, b);
    if (le == UNKNOWN)
        learn(cx, dim_difference(cx, a, b));
    return le != NO;
}

Tri dim_related(Ctx *cx, Rel rel, Dim a, Dim b)
{
    switch (rel) {
    case REL_EQ: return dim_eq(cx, a, b);
    case REL_NE: return tri_not(dim_eq(cx, a, b));
    case REL_LT: return dim_lt(cx, a, b);
    case REL_LE: return dim_le(cx, a, b);
    }
    return UNKNOWN;
}

bool dim_assume_same(Ctx *cx, Dim a, Dim b)
{
    if (!a || !b)
        return false;
    a = dim_now(a), b = dim_now(b);
    Tri eq = dim_equal(cx, a, b);
    Dim e = eq == UNKNOWN ? dim_difference(cx, a, b) : NULL;
    if (e)
        learn_zero(cx, e);
    return eq != NO;
}

void dim_scope_open(Ctx *cx)
{
    struct Dims *ds = dims_of(cx);
    vec_push(cx, &ds->scopes, (Scope){ ds->undo.n, ds->facts.n, ds->pairs.n, ds->next_id });
}

/* What was found out with the facts of the scope is found out again: their numbers never come
 * back. */
void dim_scope_close(Ctx *cx)
{
    struct Dims *ds = dims_of(cx);
    if (!ds->scopes.n)
        return; /* opened without memory: the context has failed */
    Scope s = ds->scopes.at[--ds->scopes.n];
    if (ds->undo.n == s.undo && ds->facts.n == s.facts && ds->pairs.n == s.pairs)
        return;
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
    ds->closed = ++ds->learned;
}

void dim_on_pin(Ctx *cx, DimPin pin) { dims_of(cx)->pin = pin; }

/* ---- what was learnt, found again ---- */

/* The newest of what `sorted` has under a key, by 1 + its number; 0: there is none. */
static uint32_t newest(const Map *sorted, Dim key)
{
    return key ? (uint32_t)(uintptr_t)map_get(sorted, key) : 0;
}

/* `number` becomes the newest. -> the one before. */
static uint32_t put_newest(Ctx *cx, Map *sorted, Dim key, size_t number)
{
    uint32_t before = newest(sorted, key);
    map_put(cx, sorted, key, (void *)(uintptr_t)number);
    return before;
}

/* The product of a term, with the sign of its number and no more of it. */
static Dim product_of(Ctx *cx, const Term *t)
{
    Term product = { t->coef < 0 ? -1 : 1, t->n, t->atom };
    return dim_make_sum(cx, &product, 1);
}

/* e >= 0 becomes a fact about each product in e. */
static void sort_fact(Ctx *cx, Dim e)
{
    struct Dims *ds = dims_of(cx);
    Term one[1];
    size_t n;
    const Term *t = dim_terms(e, one, &n);
    for (size_t i = 0; i < n && t[i].n > 0; i++) { /* the number comes last */
        Dim product = product_of(cx, &t[i]);
        if (product && vec_push(cx, &ds->abouts, (About){ .e = e }))
            ds->abouts.at[ds->abouts.n - 1].next = put_newest(cx, &ds->about, product,
                                                              ds->abouts.n);
    }
}

static Dim younger(Dim a, Dim b) { return a->id > b->id ? a : b; }

/* Facts and pairs that have come since are sorted too; all of them anew where something was
 * replaced, or a scope has taken some away. */
static void sort_learnt(Ctx *cx)
{
    struct Dims *ds = dims_of(cx);
    if (ds->sorted_epoch != ds->epoch) {
        map_clear(&ds->about);
        map_clear(&ds->unequal);
        map_clear(&ds->paired);
        ds->abouts.n = 0;
        ds->sorted_facts = 0;
        ds->sorted_pairs = 0;
        ds->sorted_epoch = ds->epoch;
    }
    while (ds->sorted_facts < ds->facts.n) {
        const Fact *f = &ds->facts.at[ds->sorted_facts++];
        if (f->rel == REL_LE)
            sort_fact(cx, dim_now(f->e));
        else
            map_put(cx, &ds->unequal, dim_now(f->e), ds);
    }
    while (ds->sorted_pairs < ds->pairs.n) {
        Pair *p = &ds->pairs.at[ds->sorted_pairs++];
        Dim key = younger(dim_now(p->a), dim_now(p->b));
        p->next = put_newest(cx, &ds->paired, key, ds->sorted_pairs);
    }
}

const About *dim_fact_about(Ctx *cx, const Term *t)
{
    const struct Dims *ds = dims_of(cx);
    sort_learnt(cx);
    uint32_t number = ds->abouts.n ? newest(&ds->about, product_of(cx, t)) : 0;
    return number ? &ds->abouts.at[number - 1] : NULL;
}

const About *dim_next_about(Ctx *cx, const About *a)
{
    return a->next ? &dims_of(cx)->abouts.at[a->next - 1] : NULL;
}

bool dim_is_unequal(Ctx *cx, Dim e)
{
    sort_learnt(cx);
    return e && map_find(&dims_of(cx)->unequal, e);
}

const Pair *dim_find_pair(Ctx *cx, Dim a, Dim b)
{
    const struct Dims *ds = dims_of(cx);
    const Pair *first = NULL;
    sort_learnt(cx);
    for (uint32_t i = newest(&ds->paired, younger(a, b)); i;) {
        const Pair *p = &ds->pairs.at[i - 1];
        Dim x = dim_now(p->a);
        Dim y = dim_now(p->b);
        if ((x == a && y == b) || (x == b && y == a))
            first = p;
        i = p->next;
    }
    return first;
}

/* ---- broadcasting ---- */

/* What the broadcast of a and b was in the example. */
static void set_pair_example(Ctx *cx, Dim sym, Dim a, Dim b)
{
    int64_t x;
    int64_t y;
    if (!dim_example(cx, a, &x) || !dim_example(cx, b, &y))
        return;
    if (x == y || x == 1 || y == 1)
        dim_set_example(sym, x == 1 ? y : x);
}

/* a broadcast with b, of which nothing more is known: the symbol that an earlier call made for the
 * same two, or a fresh one. */
static bool fresh_pair(Ctx *cx, Dim a, Dim b, Dim *out)
{
    const Pair *p = dim_find_pair(cx, a, b);
    if (p) {
        *out = dim_now(p->result);
        return true;
    }
    struct DimRec *d = dim_record(dim_fresh(cx, "b"));
    Range x = dim_range_of(a);
    Range y = dim_range_of(b);
    d->sym.left = a;
    d->sym.right = b;
    d->sym.lo = x.lo < y.lo ? x.lo : y.lo; /* 0 against 1 is 0 */
    d->sym.hi = x.hi > y.hi ? x.hi : y.hi;
    vec_push(cx, &dims_of(cx)->pairs, (Pair){ .a = a, .b = b, .result = d });
    set_pair_example(cx, d, a, b);
    *out = d;
    return true;
}

/* 1 and N are N; 3 and N are 3 (N is 3 or 1 then, a fact from here on); N and M are a fresh symbol;
 * 2 and 3 are false. */
bool dim_broadcast(Ctx *cx, Dim a, Dim b, Dim *out)
{
    if (!a || !b)
        return false;
    a = dim_now(a);
    b = dim_now(b);
    Dim one = dim_int(cx, 1);
    Tri eq = dim_equal(cx, a, b);
    Tri a_one = dim_equal(cx, a, one);
    Tri b_one = dim_equal(cx, b, one);
    *out = a_one == YES ? b : a;
    if (eq == YES || a_one == YES || b_one == YES)
        return true;
    if (a_one == NO && b_one == NO && eq == NO)
        return false;
    if (a_one == NO && (b_one != NO || eq != NO)) { /* whatever b is, equal or 1, the result is a */
        if (b_one == NO)
            vec_push(cx, &dims_of(cx)->pairs, (Pair){ .a = a, .b = b, .result = a });
        return true;
    }
    if (b_one == NO) {
        *out = b;
        return true;
    }
    /* One row of a, as `a[-1:]` has it: 1 where a has any, else 0. */
    if (dim_equal(cx, b, dim_min(cx, one, a)) == YES ||
        dim_equal(cx, a, dim_min(cx, one, b)) == YES) {
        *out = dim_equal(cx, b, dim_min(cx, one, a)) == YES ? a : b;
        return true;
    }
    return fresh_pair(cx, a, b, out);
}

bool dim_broadcast_of(Dim sym, Dim *a, Dim *b)
{
    if (sym->kind != D_SYM || !sym->sym.left)
        return false;
    *a = dim_now(sym->sym.left);
    *b = dim_now(sym->sym.right);
    return true;
}
