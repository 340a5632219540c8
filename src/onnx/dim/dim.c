/* dim.c - dimensions: integer expressions over named symbols.
 *
 * One idea: every expression has a normal form and is made once. An *atom* is a symbol, a floor
 * division, a modulo, a min or a max; a *term* is an integer times a product of atoms; an
 * expression is a sum of terms, sorted. So equal pointer means equal, and what is left to decide
 * (dim_eq, dim_le) is a proof that may fail: yes, no or unknown.
 *
 * Nothing here guesses. A proof uses the ranges of symbols, the facts that dim_assume and
 * dim_require have recorded, and the bounds that floor division, modulo, min and max have by their
 * meaning. Facts belong to the scope (a branch of an if, the body of a loop) in which they were
 * learnt. */
#include "onnx/dim/dim.h"

#include <stdlib.h>

struct Dims *dims_of(Ctx *cx)
{
    if (!cx->dims) {
        cx->dims = new(cx, struct Dims);
        cx->dims->cx = cx;
        cx->dims->learned = 1;
    }
    return cx->dims;
}

/* ---- making ---- */

static uint64_t hash_term(const Term *t, uint64_t seed)
{
    uint64_t h = hash_also(seed, (uint64_t)t->coef);
    for (uint32_t i = 0; i < t->n; i++)
        h = hash_also(h, t->atom[i]->id);
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
            h = hash_also(h, r->of.arg[i]->id);
    return (uint32_t)(h ^ h >> 32);
}

static bool same_term(const Term *a, const Term *b)
{
    return a->coef == b->coef && a->n == b->n &&
        (a->n == 0 || memcmp(a->atom, b->atom, a->n * sizeof(Dim)) == 0);
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

const Dim *dim_copy_list(Ctx *cx, const Dim *d, uint32_t n)
{
    return n ? mem_copy(cx, d, n * sizeof *d) : NULL;
}

/* Gives d copies of its arrays, which belong to the caller. */
static bool own_arrays(Ctx *cx, struct DimRec *d)
{
    if (d->kind != D_SUM) {
        d->of.arg = dim_copy_list(cx, d->of.arg, d->of.n);
        return d->of.arg || d->of.n == 0;
    }
    Term *t = d->sum.n ? mem_copy(cx, d->sum.term, d->sum.n * sizeof *t) : NULL;
    if (!t)
        return d->sum.n == 0;
    for (uint32_t i = 0; i < d->sum.n; i++) {
        t[i].atom = dim_copy_list(cx, t[i].atom, t[i].n);
        if (!t[i].atom && t[i].n)
            return false;
    }
    d->sum.term = t;
    return true;
}

static void count_level(struct DimRec *r, Dim part)
{
    if (part->levels >= r->levels)
        r->levels = part->levels + 1;
}

/* Sets how deep r is. False: too deep for what walks it by recursion. How many parts it has when
 * each shared one is counted again is no bound: 2^k of them come from k steps of n//2 + n%3, and
 * what walks those remembers what it has seen. */
static bool is_shallow(Ctx *cx, struct DimRec *r)
{
    r->levels = 1;
    if (r->kind == D_SUM)
        for (uint32_t i = 0; i < r->sum.n; i++)
            for (uint32_t k = 0; k < r->sum.term[i].n; k++)
                count_level(r, r->sum.term[i].atom[k]);
    else
        for (uint32_t i = 0; i < r->of.n; i++)
            count_level(r, r->of.arg[i]);
    return r->levels <= MAX_LEVELS ||
        fail(cx, E_LIMIT, "a size is computed from sizes more than 5000 steps deep");
}

/* The one record equal to *r; r's arrays are copied when it is new. NULL without memory. */
static Dim intern(Ctx *cx, struct DimRec *r)
{
    struct Dims *ds = dims_of(cx);
    if (ds->n * 2 >= ds->n_slot)
        grow_slots(cx, ds);
    if (ds->n * 2 >= ds->n_slot + ds->n_slot / 2)
        return NULL; /* no memory: the context has failed */
    r->hash = hash_rec(r);
    size_t at = r->hash & (ds->n_slot - 1);
    for (; ds->slot[at]; at = (at + 1) & (ds->n_slot - 1))
        if (same_rec(ds->slot[at], r))
            return ds->slot[at];
    if (!is_shallow(cx, r))
        return NULL;
    struct DimRec *d = new(cx, struct DimRec);
    *d = *r;
    if (!own_arrays(cx, d))
        return NULL;
    d->id = ds->next_id++;
    d->owner = ds;
    d->self = d;
    ds->slot[at] = d;
    ds->n++;
    return d;
}

Dim dim_make_sum(Ctx *cx, const Term *t, size_t n)
{
    if (n == 1 && t->coef == 1 && t->n == 1)
        return t->atom[0];
    struct DimRec r = { .kind = D_SUM };
    r.sum.n = (uint32_t)n;
    r.sum.term = t;
    return intern(cx, &r);
}

Dim dim_make_atom(Ctx *cx, Kind kind, const Dim *arg, size_t n)
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
    Dim d = dim_make_sum(cx, &t, v != 0);
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
    d->sym.example = -1;
    map_put(cx, &ds->symbols, name, d);
    return d;
}

Dim dim_sym(Ctx *cx, Str name)
{
    Dim d = map_get(&dims_of(cx)->symbols, name);
    return d ? d : new_symbol(cx, name);
}

Dim dim_sym_int(Ctx *cx, Str name)
{
    struct DimRec *d = map_get(&dims_of(cx)->symbols, name);
    if (!d) {
        d = new_symbol(cx, name);
        d->sym.lo = NO_LOW;
    }
    return d;
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
    struct DimRec *d = dim_record(dim_fresh(cx, prefix));
    d->sym.lo = NO_LOW;
    return d;
}

/* ---- terms ---- */

/* Graded, then lexicographic by id: products of ordered monomials stay ordered, which exact
 * division needs. */
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

Dim dim_overflow(Ctx *cx)
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
Dim dim_sum_terms(Ctx *cx, Term *t, size_t n)
{
    qsort(t, n, sizeof *t, order_for_sort);
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        if (m && order(&t[m - 1], &t[i]) == 0) {
            if (!add_ok(t[m - 1].coef, t[i].coef, &t[m - 1].coef))
                return dim_overflow(cx);
        } else {
            t[m++] = t[i];
        }
        if (t[m - 1].coef == 0)
            m--;
    }
    return m > MAX_TERMS ? too_long(cx) : dim_make_sum(cx, t, m);
}

bool dim_sum_fits(Dim a, Dim b)
{
    Term one_a[1], one_b[1];
    size_t na, nb;
    if (!a || !b)
        return false;
    dim_terms(a, one_a, &na);
    dim_terms(b, one_b, &nb);
    return na + nb <= MAX_TERMS;
}

/* Both lists of terms are sorted. */
bool dim_merge(Dim a, int64_t k, Dim b, Term *t, size_t *n)
{
    Term one_a[1], one_b[1];
    size_t na, nb;
    const Term *ta = dim_terms(a, one_a, &na);
    const Term *tb = dim_terms(b, one_b, &nb);
    *n = 0;
    for (size_t i = 0, j = 0; i < na || j < nb; *n += t[*n].coef != 0) {
        int first = j == nb ? -1 : 1;
        if (i < na && j < nb)
            first = order(&ta[i], &tb[j]);
        int64_t times = 0;
        if (first >= 0 && !mul_ok(tb[j].coef, k, &times))
            return false;
        t[*n] = first <= 0 ? ta[i] : tb[j];
        if (!add_ok(first <= 0 ? ta[i].coef : 0, times, &t[*n].coef))
            return false;
        i += first <= 0;
        j += first >= 0;
    }
    return true;
}

Dim dim_combine(Ctx *cx, Dim a, int64_t k, Dim b)
{
    int64_t x, y;
    if (dim_constant(a, &x) && dim_constant(b, &y))
        return mul_ok(k, y, &y) && add_ok(x, y, &x) ? dim_int(cx, x) : dim_overflow(cx);
    Term t[2 * MAX_TERMS];
    size_t n;
    if (!dim_merge(a, k, b, t, &n))
        return dim_overflow(cx);
    return n > MAX_TERMS ? too_long(cx) : dim_make_sum(cx, t, n);
}

Dim dim_plus(Ctx *cx, Dim a, int64_t k) { return k ? dim_combine(cx, a, 1, dim_int(cx, k)) : a; }

Dim dim_add(Ctx *cx, Dim a, Dim b)
{
    return a && b ? dim_combine(cx, dim_now(a), 1, dim_now(b)) : NULL;
}
Dim dim_sub(Ctx *cx, Dim a, Dim b)
{
    return a && b ? dim_combine(cx, dim_now(a), -1, dim_now(b)) : NULL;
}

/* The product of two monomials: their atoms merged. False when the degree or a number grows too
 * far. */
static bool mul_terms(Ctx *cx, const Term *a, const Term *b, Term *out)
{
    *out = (Term){ .n = a->n + b->n };
    if (!mul_ok(a->coef, b->coef, &out->coef))
        return dim_overflow(cx);
    if (out->n > MAX_DEGREE)
        return fail(cx, E_LIMIT, "a dimension expression has a product of more than %d factors",
                    MAX_DEGREE);
    if (a->n == 0 || b->n == 0) {
        out->atom = a->n ? a->atom : b->atom;
        return true;
    }
    Dim *atom = new_array(cx, Dim, out->n);
    if (!atom)
        return false;
    uint32_t i = 0;
    uint32_t j = 0;
    for (uint32_t k = 0; k < out->n; k++) {
        bool left = j == b->n || (i < a->n && a->atom[i]->id <= b->atom[j]->id);
        atom[k] = left ? a->atom[i++] : b->atom[j++];
    }
    out->atom = atom;
    return true;
}

Dim dim_times(Ctx *cx, Dim a, Dim b)
{
    int64_t x, y;
    if (dim_constant(a, &x) && dim_constant(b, &y))
        return mul_ok(x, y, &x) ? dim_int(cx, x) : dim_overflow(cx);
    Term one_a[1], one_b[1];
    size_t na, nb, n = 0;
    const Term *ta = dim_terms(a, one_a, &na);
    const Term *tb = dim_terms(b, one_b, &nb);
    Term t[4 * MAX_TERMS];
    if (na * nb > COUNT(t))
        return too_long(cx);
    for (size_t i = 0; i < na; i++)
        for (size_t j = 0; j < nb; j++)
            if (!mul_terms(cx, &ta[i], &tb[j], &t[n++]))
                return NULL;
    return dim_sum_terms(cx, t, n);
}

Dim dim_mul(Ctx *cx, Dim a, Dim b) { return a && b ? dim_times(cx, dim_now(a), dim_now(b)) : NULL; }

Dim dim_product(Ctx *cx, const Dim *d, int n)
{
    Dim p = dim_int(cx, 1);
    for (int i = 0; i < n; i++)
        p = dim_mul(cx, p, d[i]);
    return p;
}

/* ---- replacing ---- */

typedef struct Replace {
    Dim (*lookup)(void *arg, Dim sym);
    void *arg;
    Map made; /* deep atoms -> Dim: 2^k walks lead to one that is shared k times */
} Replace;

/* As a tree such an expression is small enough to walk, whatever it shares. */
enum { SMALL_LEVELS = 8 };

static Dim rebuild(Ctx *cx, Dim d, Replace *how);

/* What stands for the atom d by itself, whatever its arguments have become; NULL: d still does. */
static Dim replaced_whole(Dim d, const Replace *how)
{
    if (!how)
        return d->is ? dim_now(d->is) : NULL;
    return d->kind == D_SYM ? how->lookup(how->arg, d) : NULL;
}

static Dim of_kind(Ctx *cx, Kind kind, Dim x, Dim y)
{
    switch (kind) {
    case D_DIV: return dim_floor_div(cx, x, y);
    case D_MOD: return dim_modulo(cx, x, y);
    default:    return dim_extreme(cx, kind, x, y);
    }
}

static Dim rebuild_args(Ctx *cx, Dim d, Replace *how)
{
    Dim x = rebuild(cx, d->of.arg[0], how);
    for (uint32_t i = 1; x && i < d->of.n; i++) {
        Dim y = rebuild(cx, d->of.arg[i], how);
        if (!y)
            return NULL;
        x = of_kind(cx, (Kind)d->kind, x, y);
    }
    return x;
}

/* An atom with its symbols replaced as `how` says, or, for NULL, as facts have said: H//16 is 14
 * once H is 224. NULL after an error. */
static Dim rebuild_atom(Ctx *cx, Dim d, Replace *how)
{
    Dim to = replaced_whole(d, how);
    if (to || d->kind == D_SYM)
        return to ? to : d;
    if (!how || d->levels <= SMALL_LEVELS)
        return rebuild_args(cx, d, how);
    to = map_get(&how->made, d);
    if (to)
        return to;
    to = rebuild_args(cx, d, how);
    if (to)
        map_put(cx, &how->made, d, MUTABLE(struct DimRec, to));
    return to;
}

static Dim rebuild(Ctx *cx, Dim d, Replace *how)
{
    if (d->kind != D_SUM)
        return rebuild_atom(cx, d, how);
    Dim sum = dim_int(cx, 0);
    for (uint32_t i = 0; sum && i < d->sum.n; i++) {
        const Term *t = &d->sum.term[i];
        Dim p = dim_int(cx, t->coef);
        for (uint32_t j = 0; p && j < t->n; j++) {
            Dim x = rebuild_atom(cx, t->atom[j], how);
            p = x ? dim_times(cx, p, x) : NULL;
        }
        sum = p ? dim_combine(cx, sum, 1, p) : NULL;
    }
    return sum;
}

Dim dim_replace(Ctx *cx, Dim d, Dim (*lookup)(void *arg, Dim sym), void *arg)
{
    Replace how = { .lookup = lookup, .arg = arg };
    Dim r = d ? rebuild(cx, dim_now(d), &how) : NULL;
    return r ? dim_now(r) : NULL;
}

/* d with everything replaced that facts have replaced so far. An expression that cannot be rebuilt
 * (an overflow) stays. */
Dim dim_now(Dim d)
{
    struct Dims *ds = d->owner;
    int64_t v;
    if (ds->epoch == 0 || dim_constant(d, &v))
        return d;
    struct DimRec *r = dim_record(d);
    if (r->now_epoch != ds->epoch) {
        r->now = d; /* ends a cycle, should there be one */
        r->now_epoch = ds->epoch;
        Dim to = rebuild(ds->cx, d, NULL);
        r->now = to && to != d ? dim_now(to) : d;
    }
    return r->now;
}

bool dim_is_of_scope(const struct Dims *ds, Dim atom)
{
    return !ds->scopes.n ||
        (atom->kind == D_SYM && atom->id >= ds->scopes.at[ds->scopes.n - 1].first);
}

void dim_replace_atom(Dim atom, Dim by)
{
    if (!dim_is_of_scope(atom->owner, atom))
        vec_push(atom->owner->cx, &atom->owner->undo, (Undo){ .atom = dim_record(atom) });
    dim_record(atom)->is = dim_record(by);
    atom->owner->epoch++;
    atom->owner->learned++;
}

/* ---- symbols ---- */

bool dim_is_sym(Dim d, Str *name)
{
    if (!d)
        return false;
    d = dim_now(d);
    if (d->kind != D_SYM)
        return false;
    if (name)
        *name = d->sym.name;
    return true;
}

bool dim_is_fresh(Dim d)
{
    if (!d)
        return false;
    d = dim_now(d);
    return d->kind == D_SYM && d->sym.fresh;
}

static void add_measure(Ox v, struct DimRec *d)
{
    d->sym.origin = v;
    d->sym.next = v->measures;
    v->measures = d;
}

void dim_set_origin(Ctx *cx, Dim sym, Ox v, int axis)
{
    (void)cx;
    struct DimRec *d = dim_record(sym);
    if (!d || d->kind != D_SYM || d->sym.origin || !ox_ok(v))
        return;
    d->sym.axis = axis;
    add_measure(v, d);
}

void dim_move_origins(Ox from, Ox to)
{
    for (struct DimRec *d = ox_ok(to) ? from->measures : NULL, *next; d; d = next) {
        next = d->sym.next;
        add_measure(to, d);
    }
    if (ox_ok(from))
        from->measures = NULL;
}

bool dim_is_origin(Ox v) { return v->measures != NULL; }

bool dim_origin(Ctx *cx, Dim sym, Ox *v, int *axis)
{
    (void)cx;
    if (!sym)
        return false;
    if (sym->kind != D_SYM || !sym->sym.origin)
        sym = dim_now(sym); /* min(u0, 3*N), since u0 <= 3*N has been learnt: u0 */
    if (sym->kind != D_SYM || !sym->sym.origin)
        return false;
    *v = sym->sym.origin;
    *axis = sym->sym.axis;
    return true;
}

/* ---- looking inside: for dim_nodes.c ---- */

static DimView view_terms(Ctx *cx, Dim d)
{
    Dim *arg = new_array(cx, Dim, d->sum.n);
    if (!arg)
        return (DimView){ .shape = DIM_NUMBER };
    for (uint32_t i = 0; i < d->sum.n; i++)
        arg[i] = dim_make_sum(cx, &d->sum.term[i], 1);
    return (DimView){ .shape = DIM_TOTAL, .n = d->sum.n, .arg = arg };
}

static DimView view_factors(Ctx *cx, const Term *t)
{
    Dim *arg = new_array(cx, Dim, t->n + 1);
    if (!arg)
        return (DimView){ .shape = DIM_NUMBER };
    uint32_t n = 0;
    if (t->coef != 1)
        arg[n++] = dim_int(cx, t->coef);
    for (uint32_t i = 0; i < t->n; i++)
        arg[n++] = t->atom[i];
    return (DimView){ .shape = DIM_FACTORS, .n = n, .arg = arg };
}

/* One level of d: 2*N + 1 is a DIM_TOTAL of 2*N and 1, 2*N the DIM_FACTORS 2 and N. Without memory
 * it is the number 0, and the context has failed. */
DimView dim_view(Ctx *cx, Dim d)
{
    static const DimShape shape[] = {
        [D_DIV] = DIM_QUOTIENT, [D_MOD] = DIM_REMAINDER, [D_MIN] = DIM_LEAST, [D_MAX] = DIM_GREATEST
    };
    int64_t number;
    d = dim_now(d);
    if (d->kind == D_SYM)
        return (DimView){ .shape = DIM_SYMBOL };
    if (d->kind != D_SUM)
        return (DimView){ .shape = shape[d->kind], .n = d->of.n, .arg = d->of.arg };
    if (dim_constant(d, &number))
        return (DimView){ .shape = DIM_NUMBER, .number = number };
    return d->sum.n > 1 ? view_terms(cx, d) : view_factors(cx, d->sum.term);
}
