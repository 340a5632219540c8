/* dims.c - shape arithmetic becomes nodes where an operator truly needs the number, and only there.
 *
 *     Reshape(x, [N, 12])            ->  Reshape(x, [-1, 12])     one unknown extent: no node
 *     Reshape(x[N,..], [N, 2*H, 3])  ->  Reshape(x, [0, 2*H, 3])  the 0 copies N
 *     Expand(x[N,1], [N, 4])         ->  Expand(x, [1, 4])        1 leaves an extent as it is
 *     Slice(x, 0, N, axis)           ->  Slice(x, 0, INT64_MAX)   to the end of its axis
 *
 * What is left (2*H) is Shape, Gather, Mul, Concat. Where it may be 0 beside another extent of x,
 * that 0 would copy too: allowzero, and N is computed as well. */
#include "tidy/legal/legal.h"

/* Item i as the number that stands for it, or NULL. */
typedef Dim (*StandIn)(const Node *n, const Dim *items, int64_t count, int64_t i);

static Dim reshape_item(const Node *n, const Dim *items, int64_t count, int64_t i)
{
    Ctx *cx = n->graph->cx;
    bool copies = node_int(n, "allowzero", 0) == 0 && i < ox_rank(n->in[0]) &&
        dim_eq(cx, items[i], ox_dim(n->in[0], (int)i)) == YES;
    bool others_known = true;
    bool has_wild = false;
    for (int64_t k = 0; k < count; k++) {
        int64_t v;
        bool known = dim_known(items[k], &v);
        has_wild |= known && v < 0;
        others_known &= k == i || (known && v > 0);
    }
    if (others_known && !has_wild)
        return dim_int(cx, -1); /* right for an extent of 0 too, which the other ways are not */
    return copies ? dim_int(cx, 0) : NULL;
}

/* Where all other extents are known or copied from x, and at least 1, the only unknown one
 * becomes -1. */
static void reshape_wild(const Node *n, Dim *items, const Dim *were, int64_t count)
{
    Ctx *cx = n->graph->cx;
    int64_t wild = -1, v, lo, hi;
    for (int64_t i = 0; i < count; i++) {
        if (!dim_known(items[i], &v)) {
            if (wild >= 0)
                return;
            wild = i;
            continue;
        }
        dim_range(cx, were[i], &lo, &hi);
        if (v < 0 || (v == 0 && lo < 1))
            return;
    }
    if (wild >= 0)
        items[wild] = dim_int(cx, -1);
}

static bool may_be_zero(Ctx *cx, Dim d)
{
    int64_t lo, hi;
    dim_range(cx, d, &lo, &hi);
    return lo <= 0;
}

/* A computed extent that is 0 would copy the extent of x at its place. Is that one surely 0 too
 * in this case? */
static bool copies_a_zero(Ctx *cx, Ox x, int64_t i, Dim item)
{
    Dim rest;
    if (i >= ox_rank(x))
        return false;
    Dim own = ox_dim(x, (int)i);
    return dim_eq(cx, own, item) == YES || dim_divide(cx, own, item, &rest) ||
        (dim_divide(cx, item, own, &rest) && !may_be_zero(cx, rest));
}

static bool may_be_empty(Ctx *cx, Ox x)
{
    for (int i = 0; i < ox_rank(x); i++)
        if (may_be_zero(cx, ox_dim(x, i)))
            return true;
    return ox_rank(x) < 0;
}

/* May a computed extent be 0, so that Reshape would copy another extent of x? This happens only
 * where x is empty. items: the shape, of which the extents to compute are expressions. */
static bool zero_misleads(const Node *n, const Dim *items, int64_t count)
{
    Ctx *cx = n->graph->cx;
    if (node_int(n, "allowzero", 0) || !may_be_empty(cx, n->in[0]))
        return false;
    for (int64_t i = 0; i < count; i++)
        if (!dim_known(items[i], NULL) && may_be_zero(cx, items[i]) &&
            !copies_a_zero(cx, n->in[0], i, items[i]))
            return true;
    return false;
}

/* The shape in full: extents that 0 would copy are computed too. */
static Ox reshape_in_full(Node *n, Ox v)
{
    Dim items[MAX_ITEMS];
    for (int64_t i = 0; i < v->n_items; i++)
        items[i] = dim_is(v->items[i], 0) ? ox_dim(n->in[0], (int)i) : v->items[i];
    node_set_attr(n, INT("allowzero", 1));
    return ox_dims(n->graph, items, (size_t)v->n_items);
}

static Dim expand_item(const Node *n, const Dim *items, int64_t count, int64_t i)
{
    int axis = ox_rank(n->in[0]) - (int)(count - i);
    bool same = ox_rank(n->in[0]) >= 0 && axis >= 0 &&
        dim_eq(n->graph->cx, items[i], ox_dim(n->in[0], axis)) == YES;
    return same ? dim_int(n->graph->cx, 1) : NULL;
}

/* An end that is the extent of its axis. */
static Dim slice_end(const Node *n, const Dim *items, int64_t count, int64_t i)
{
    const int64_t *axes, *steps;
    int64_t n_axes = count;
    int64_t n_steps;
    int64_t axis = i;
    if (in_of(n, 3) && !(ox_known_ints(n->graph, n->in[3], &axes, &n_axes) && i < n_axes))
        return NULL;
    if (in_of(n, 3))
        axis = axes[i];
    if (in_of(n, 4) &&
        !(ox_known_ints(n->graph, n->in[4], &steps, &n_steps) && i < n_steps && steps[i] > 0))
        return NULL;
    int rank = ox_rank(n->in[0]);
    axis += axis < 0 ? rank : 0;
    bool end = rank >= 0 && axis >= 0 && axis < rank &&
        dim_eq(n->graph->cx, items[i], ox_dim(n->in[0], (int)axis)) == YES;
    return end ? dim_int(n->graph->cx, INT64_MAX) : NULL;
}

static Ox stand_ins(Node *n, Ox v, StandIn fn)
{
    Dim items[MAX_ITEMS];
    for (int64_t i = 0; i < v->n_items; i++) {
        Dim d = dim_known(v->items[i], NULL) ? NULL : fn(n, v->items, v->n_items, i);
        items[i] = d ? d : v->items[i];
    }
    if (fn == reshape_item) {
        reshape_wild(n, items, v->items, v->n_items);
        if (zero_misleads(n, items, v->n_items))
            return reshape_in_full(n, v);
    }
    return ox_dims(n->graph, items, (size_t)v->n_items);
}

/* May the node that computes n's input have the name of n's output? */
static bool can_carry_name(const Node *n)
{
    Ox v = n->in[0];
    return v->kind == OX_NODE && v->graph == n->graph && !v->name && n->out[0]->name;
}

/* Inputs of n that are sizes become nodes, those of `made` where it has them. Where the operator
 * has a number for a size that is not known (-1 in a Reshape) it gets this number instead.
 * An Identity that gave a size the name of an output goes: the node that computes the size carries
 * the name. */
static bool sizes_to_nodes(Rewrite *rw, Node *n, DimNodes *made)
{
    static const struct {
        const char *op;
        int input;
        StandIn fn;
    } ways[] = {
        { "Reshape", 1, reshape_item },
        { "Expand", 1, expand_item },
        { "Slice", 2, slice_end },
    };
    bool named = node_is(n, "Identity") && n->in[0]->kind == OX_DIMS;
    for (int i = 0; i < n->n_in; i++) {
        if (!n->in[i] || n->in[i]->kind != OX_DIMS)
            continue;
        for (size_t k = 0; k < COUNT(ways); k++)
            if (ways[k].input == i && node_is(n, ways[k].op))
                n->in[i] = stand_ins(n, n->in[i], ways[k].fn);
        n->in[i] = dims_to_nodes(n->graph, n->in[i], made);
        if (!ox_ok(n->in[i]))
            return false;
    }
    if (named && can_carry_name(n))
        replace(rw, n->out[0], n->in[0]);
    return !ctx_failed(rw->cx);
}

/* As part of another pass, which may replace what was made. */
bool dims_step(Rewrite *rw, Node *n) { return sizes_to_nodes(rw, n, NULL); }

static bool sizes_step(Rewrite *rw, Node *n) { return sizes_to_nodes(rw, n, rw->arg); }

bool pass_dims(Graph *g, const TidyOptions *o)
{
    return rewrite(g, o, sizes_step, &(DimNodes){ 0 });
}

/* ---- before opset 14 ---- */

static bool has_zero(Ox shape)
{
    const Dim *items;
    int64_t n;
    if (!ox_items(shape, &items, &n))
        return false;
    for (int64_t i = 0; i < n; i++)
        if (dim_is(items[i], 0))
            return true;
    return false;
}

/* Reshape before 14 has no allowzero: a 0 in the shape always copies. So that it copies a 0, x
 * is first given the shape [e, e, .., numel], where e is 0 for an empty x, else 1. */
Verdict legal_reshape(Legal *l, Node *n, Ox *out)
{
    Graph *g = n->graph;
    Ox x = n->in[0];
    Ox shape = n->in[1];
    int rank = ox_rank(n->out[0]);
    if (!node_int(n, "allowzero", 0) || ox_rank(x) < 0 || rank < 1)
        return AS_IT_IS;
    if (has_zero(shape) && ox_dtype(x) != DT_STRING) {
        Ox none = ox_dtype(x) == DT_BOOL ? ox_bool(g, false) : ox_number(g, ox_dtype(x), 0);
        out[0] = ox_g(g, "Expand", none, shape);
        return CHANGED;
    }
    Dim one = dim_int(l->cx, 1), flat[MAX_RANK], empty[MAX_RANK];
    for (int i = 0; i < rank; i++) {
        flat[i] = i < rank - 1 ? one : dim_int(l->cx, -1);
        empty[i] = i < rank - 1 ? dim_min(l->cx, one, type_numel(l->cx, x->type)) : one;
    }
    Ox flat_shape = ox_dims(g, flat, (size_t)rank);
    Ox empty_shape = ox_dims(g, empty, (size_t)rank);
    Ox line = ox_g(g, "Reshape", x, flat_shape);
    Ox by_way = ox_g(g, "Expand", line, empty_shape);
    out[0] = ox_g(g, "Reshape", by_way, shape);
    return CHANGED;
}
