/* find_rotary.c - the positions of RotaryEmbedding: what of a program's cosines and sines its
 * operator takes.
 *
 *     x * cos + turned(x) * sin
 *         turned: the halves of the last axis swapped and the new first one negated; in an
 *         interleaved form the two of each pair
 *
 *     x [batch, heads, rows, size], cos and sin [batch or 1, 1, rows, size]
 *         ->  caches [batch, rows, size/2]
 *     x [batch, rows, heads, size], cos and sin [batch or 1, rows, 1, size]
 *         ->  the same, of x as [batch, rows, heads * size]
 *
 * Programs make cosines twice as long as needed, cat(f, f).cos(). That both halves are equal must
 * be seen: in what computes them, back to the Concat, or in a constant's numbers. Then the same is
 * computed of the first half only. */
#include "tidy/find/find.h"

enum {
    MAX_CHAIN = 16,
    MAX_TABLE = 1 << 20
}; /* most operators between Concat and product; most numbers that are compared */

/* ---- parts of the last axis ---- */

/* Which part of x is v? Elements first, first + step .. below end, along the last axis. */
typedef struct Part {
    Ox x;
    int64_t first, end, step;
} Part;

static bool only_int(Node *n, int input, int64_t deflt, int64_t *out)
{
    const int64_t *at;
    int64_t count;
    *out = deflt;
    if (!in_of(n, input))
        return true;
    if (!ox_known_ints(n->graph, n->in[input], &at, &count) || count != 1)
        return false;
    *out = at[0];
    return true;
}

static bool part_of(Ox v, int64_t size, Part *p)
{
    int64_t axis;
    if (v->kind != OX_NODE || !node_is(v->node, "Slice"))
        return false;
    Node *n = v->node;
    int rank = ox_rank(n->in[0]);
    p->x = n->in[0];
    if (!in_of(n, 3) || !only_int(n, 1, 0, &p->first) || !only_int(n, 2, 0, &p->end) ||
        !only_int(n, 3, 0, &axis) || !only_int(n, 4, 1, &p->step))
        return false;
    p->end = p->end > size ? size : p->end;
    return (axis == rank - 1 || axis == -1) && p->first >= 0 && p->end > p->first && p->step > 0;
}

/* Output `which` of a Split of the last axis into two equal parts. */
static bool split_of(Ox v, int64_t size, Part *p)
{
    int64_t part;
    if (v->kind != OX_NODE || !node_is(v->node, "Split") || v->node->n_out != 2)
        return false;
    int rank = ox_rank(v->node->in[0]);
    int64_t axis = node_int(v->node, "axis", 0);
    if ((axis != rank - 1 && axis != -1) || !dim_known(ox_dim(v, rank - 1), &part) ||
        2 * part != size)
        return false;
    *p = (Part){ v->node->in[0], v->out * part, (v->out + 1) * part, 1 };
    return true;
}

static bool is_part(Ox v, Ox x, int64_t first, int64_t end, int64_t step)
{
    int64_t size;
    Part p;
    if (!v || !dim_known(ox_dim(x, ox_rank(x) - 1), &size) ||
        (!part_of(v, size, &p) && !split_of(v, size, &p)))
        return false;
    return p.x == x && p.first == first && p.step == step &&
        (p.end == end || (step > 1 && p.end == size));
}

/* ---- what repeats itself ---- */

/* pairs: elements 0 and 1, 2 and 3 .. are equal; else both halves. keep: weights stay whole. */
typedef struct Halves {
    Ctx *cx;
    Graph *g;
    bool pairs, keep;
} Halves;

static bool is_scalar(Ox v) { return v && ox_rank(v) == 0; }

/* The input through which the last axis goes as it is, element by element; -1: none. */
static int passes_through(const Node *n)
{
    static const char *const alone[] = { "Cos", "Sin", "Cast", "Neg" };
    static const char *const with_number[] = { "Mul", "Div", "Add", "Sub" };
    for (size_t i = 0; i < COUNT(alone); i++)
        if (node_is(n, alone[i]))
            return 0;
    for (size_t i = 0; i < COUNT(with_number); i++) {
        if (!node_is(n, with_number[i]))
            continue;
        if (is_scalar(n->in[1]))
            return 0;
        return is_scalar(n->in[0]) ? 1 : -1;
    }
    return -1;
}

/* Does n keep the last axis while other axes come, go or are indexed? */
static bool keeps_last(Node *n)
{
    const int64_t *axes;
    int64_t count;
    int rank = ox_rank(n->out[0]);
    if (node_is(n, "Gather"))
        return node_int(n, "axis", 0) >= 0 && node_int(n, "axis", 0) < ox_rank(n->in[0]) - 1;
    int input = 0;
    if (node_is(n, "Unsqueeze"))
        input = 1;
    else if (node_is(n, "Slice"))
        input = 3;
    if (!input || !in_of(n, input) || !ox_known_ints(n->graph, n->in[input], &axes, &count))
        return false;
    for (int64_t i = 0; i < count; i++)
        if ((axes[i] < 0 ? axes[i] + rank : axes[i]) == rank - 1)
            return false;
    return true;
}

/* Concat(f, f) along the last axis; f, f of pairs: Reshape(Concat(Unsqueeze(f), Unsqueeze(f))) or
 * Reshape(Expand(Unsqueeze(f))). */
static Ox twice(const Halves *h, const Node *n)
{
    int64_t two, count;
    if (!h->pairs) {
        bool last = node_is(n, "Concat") && n->n_in == 2 && n->in[0] == n->in[1] &&
            node_int(n, "axis", 0) == ox_rank(n->out[0]) - 1;
        return last ? n->in[0] : NULL;
    }
    Ox wide = node_is(n, "Reshape") ? n->in[0] : NULL;
    int rank = wide ? ox_rank(wide) : 0;
    if (rank < 2 || wide->kind != OX_NODE || !dim_known(ox_dim(wide, rank - 1), &two) || two != 2 ||
        !dim_known(ox_dim(wide, rank - 2), &count) ||
        !dim_is(ox_dim(n->out[0], ox_rank(n->out[0]) - 1), 2 * count))
        return NULL;
    const Node *made = wide->node;
    bool both = node_is(made, "Concat") && made->n_in == 2 && made->in[0] == made->in[1] &&
        node_int(made, "axis", 0) == rank - 1;
    if (!both && !node_is(made, "Expand"))
        return NULL;
    Ox f = made->in[0];
    if (ox_rank(f) != rank || !dim_is(ox_dim(f, rank - 1), 1))
        return NULL;
    for (int i = 0; i < rank - 1; i++)
        if (dim_eq(h->cx, ox_dim(f, i), ox_dim(wide, i)) != YES)
            return NULL;
    return f;
}

/* Does the constant hold each number of its last axis twice: side by side for pairs, else in both
 * halves? Large tables and weights that must stay as they are count as none. */
static bool table_repeats(const Halves *h, const Const *k)
{
    int64_t numel = const_numel(k);
    int64_t size = k->rank ? k->dims[k->rank - 1] : 0;
    int64_t width = (int64_t)dtype_size(k->dtype);
    if (numel <= 0 || numel > MAX_TABLE || size % 2 || (h->keep && k->name))
        return false;
    ArenaMark m = arena_mark(h->cx->run);
    const char *at = const_data(h->cx, k);
    bool equal = at != NULL;
    for (int64_t row = 0; equal && row < numel; row += size)
        for (int64_t i = 0; equal && i < size / 2; i++) {
            int64_t a = row + (h->pairs ? 2 * i : i);
            int64_t b = row + (h->pairs ? 2 * i + 1 : i + size / 2);
            equal = memcmp(at + a * width, at + b * width, (size_t)width) == 0;
        }
    if (at)
        arena_reset(h->cx->run, m);
    return equal;
}

static bool repeats(const Halves *h, Ox v, int depth)
{
    if (depth > MAX_CHAIN || ox_rank(v) < 1)
        return false;
    if (is_const(v))
        return table_repeats(h, v->k);
    if (v->kind != OX_NODE || v->out != 0)
        return false;
    int through = passes_through(v->node);
    if (twice(h, v->node))
        return true;
    if (through < 0 && keeps_last(v->node))
        through = 0;
    return through >= 0 && repeats(h, v->node->in[through], depth + 1);
}

/* f [.., n, 1], which v [.., 2n] has twice, in v's shape but for the last axis. */
static Ox one_of_pairs(const Halves *h, Ox f, Ox v)
{
    Dim to[MAX_RANK];
    int rank = ox_rank(v);
    bool same = ox_rank(f) == rank + 1;
    for (int i = 0; i < rank; i++) {
        to[i] = i < rank - 1 ? ox_dim(v, i) : ox_dim(f, ox_rank(f) - 2);
        same = same && dim_eq(h->cx, to[i], ox_dim(f, i)) == YES;
    }
    if (same)
        return ox_g(h->g, "Squeeze", f, ox_ints(h->g, (int64_t[]){ rank }, 1));
    return ox_g(h->g, "Reshape", f, ox_dims(h->g, to, (size_t)rank));
}

/* v, which repeats its values along the last axis (repeats() has said so), with each value once. */
static Ox half(const Halves *h, Ox v)
{
    if (is_const(v)) {
        int64_t size = v->k->dims[v->k->rank - 1];
        const Const *k = const_slice(h->cx, v->k, v->k->rank - 1, 0, size / 2, h->pairs ? 2 : 1);
        return k ? ox_const(h->g, k) : POISON;
    }
    Node *n = v->node;
    Ox f = twice(h, n), in[8];
    if (f)
        return h->pairs ? one_of_pairs(h, f, n->out[0]) : f;
    int through = passes_through(n);
    through = through < 0 ? 0 : through;
    for (int i = 0; i < n->n_in; i++)
        in[i] = i == through ? half(h, n->in[i]) : n->in[i];
    return ox_make(h->g, n->name->s, (OxList){ in, (size_t)n->n_in }, n->attr, (size_t)n->n_attr);
}

/* ---- caches ---- */

/* Has c the axes of x, but for its axis `heads`, of which c has size 1 or none, so that all
 * heads share it? halved: c has half the size along the last axis. */
static bool lies_along(Ctx *cx, Ox c, Ox x, int heads, int64_t size, bool *halved)
{
    int rank = ox_rank(c);
    int rows = 3 - heads;
    int64_t last;
    if (rank < 2 || rank > 4 || (rank < 4 && heads == 2) || ox_dtype(c) != ox_dtype(x) ||
        !dim_known(ox_dim(c, rank - 1), &last))
        return false;
    *halved = last * 2 == size;
    if ((last != size && !*halved) ||
        dim_eq(cx, ox_dim(c, rank - 4 + rows), ox_dim(x, rows)) != YES ||
        (rank > 2 && !dim_is(ox_dim(c, rank - 4 + heads), 1)))
        return false;
    return rank < 4 || dim_is(ox_dim(c, 0), 1) || dim_eq(cx, ox_dim(c, 0), ox_dim(x, 0)) == YES;
}

/* c as [batch or 1, rows, n], without the axis of heads. Where c has three axes the first of
 * these stands for it. */
static Ox without_heads(const Halves *h, Ox c, int heads, bool halved)
{
    const int64_t *axes;
    int64_t count;
    int rank = ox_rank(c);
    Node *n = rank == 4 ? made_by(c, "Unsqueeze") : NULL;
    bool only = n && ox_known_ints(h->g, n->in[1], &axes, &count) && count == 1 &&
        (axes[0] == heads || axes[0] == heads - 4);
    Ox v = only ? n->in[0] : c;
    v = halved ? v : half(h, v);
    if (!ox_ok(v) || rank == 3 || only)
        return v;
    return rank == 4 ? ox_g(h->g, "Squeeze", v, ox_ints(h->g, (int64_t[]){ heads }, 1))
                     : ox_g(h->g, "Unsqueeze", v, ox_ints(h->g, (int64_t[]){ 0 }, 1));
}

static Ox cache(const Halves *h, Ox c, Ox x, int heads, bool halved)
{
    Ox v = without_heads(h, c, heads, halved);
    if (!ox_ok(v) || dim_eq(h->cx, ox_dim(v, 0), ox_dim(x, 0)) == YES)
        return v;
    Dim to[3] = { ox_dim(x, 0), ox_dim(v, 1), ox_dim(v, 2) };
    return ox_g(h->g, "Expand", v, ox_dims(h->g, to, 3));
}

/* ---- the formula ---- */

enum { X, COS, SIN, LOWER, UPPER, REST, N_PARAM };
typedef struct Rotary {
    Ox x, cos, sin;
    int64_t size;
    int heads;
    bool pairs, halved;
} Rotary; /* heads: x's axis of them */

/* The whole of which x is the first part and `rest` the other. */
static Ox whole_of(Ox x, Ox rest, int64_t size)
{
    int64_t all;
    Part a, b;
    if (!part_of(x, size, &a) || ox_rank(a.x) != 4 || !dim_known(ox_dim(a.x, 3), &all))
        return NULL;
    bool fits = part_of(x, all, &a) && part_of(rest, all, &b) && a.x == b.x && a.step == 1 &&
        b.step == 1;
    return fits && a.first == 0 && a.end == size && b.first == size && b.end == all ? a.x : NULL;
}

/* What a match of find.rules is as a RotaryEmbedding: x of rank 4 by halves or by pairs, cos and
 * sin along its positions. False where a size or a table does not fit. */
static bool rotary_of(const Rewrite *rw, const Ox *in, bool pairs, Rotary *r)
{
    Ctx *cx = rw->cx;
    int64_t size;
    bool halved;
    Ox x = in[X];
    if (!x && in[LOWER]->kind == OX_NODE)
        x = in_of(in[LOWER]->node, 0);
    if (!x || ox_rank(x) != 4 || (ox_dtype(x) != DT_FLOAT && ox_dtype(x) != DT_FLOAT16) ||
        !dim_known(ox_dim(x, 3), &size) || size % 2 || size < 2)
        return false;
    bool parts = pairs
        ? is_part(in[LOWER], x, 0, size, 2) && is_part(in[UPPER], x, 1, size, 2)
        : is_part(in[LOWER], x, 0, size / 2, 1) && is_part(in[UPPER], x, size / 2, size, 1);
    int heads = parts && lies_along(cx, in[COS], x, 1, size, &halved) ? 1 : 2;
    if (!parts || !lies_along(cx, in[COS], x, heads, size, &halved) ||
        !lies_along(cx, in[SIN], x, heads, size, &r->halved) || halved != r->halved)
        return false;
    if (heads == 2 && !dim_known(ox_dim(x, 2), NULL))
        return false;
    Halves h = { .cx = cx, .pairs = pairs, .keep = rw->o->keep_weights };
    if (r->halved != !in[X] ||
        (!r->halved && (!repeats(&h, in[COS], 0) || !repeats(&h, in[SIN], 0))))
        return false;
    *r = (Rotary){ .x = in[REST] ? whole_of(x, in[REST], size) : x,
                   .cos = in[COS],
                   .sin = in[SIN],
                   .size = size,
                   .heads = heads,
                   .pairs = pairs,
                   .halved = r->halved };
    return r->x != NULL;
}

static bool is_interleaved(const RuleMatch *m)
{
    return m->n_attr > 0;
} /* the only attribute that find.rules gives */

bool rotary_fits(const Rewrite *rw, const RuleMatch *m)
{
    Rotary r;
    return rotary_of(rw, m->param, is_interleaved(m), &r) &&
        (rw->o->opset >= 23 || fuses_rotary(rw->o, r.x, r.heads));
}

Ox rotary_write(const Rewrite *rw, Graph *g, const RuleMatch *m, const Ox *in)
{
    Rotary r;
    if (!rotary_of(rw, in, is_interleaved(m), &r))
        return NULL;
    Halves h = { .cx = rw->cx, .g = g, .pairs = r.pairs };
    Ox cos = cache(&h, r.cos, r.x, r.heads, r.halved);
    Ox sin = cache(&h, r.sin, r.x, r.heads, r.halved);
    Ox x = r.heads == 2 ? heads_joined(g, r.x) : r.x;
    int64_t count = 0;
    dim_known(ox_dim(r.x, r.heads), &count);
    Attr pairs = r.pairs ? INT("interleaved", 1) : NO_ATTR;
    Attr heads = r.heads == 2 ? INT("num_heads", count) : NO_ATTR;
    Attr size = in[REST] ? INT("rotary_embedding_dim", r.size) : NO_ATTR;
    Ox y = ox_make(g, "RotaryEmbedding", INPUTS(x, cos, sin), ATTRS(pairs, heads, size));
    return r.heads == 2 ? ox_g(g, "Reshape", y, ox_dims(g, r.x->type->dim, 4)) : y;
}
