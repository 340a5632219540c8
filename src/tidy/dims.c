/* dims.c - shape arithmetic becomes nodes where an operator truly needs the number, and only there.
 *
 *     Reshape(x, [N, 12])     ->  Reshape(x, [-1, 12])        one unknown extent: no node at all
 *     Reshape(x[N,..], [N, 2*H, 3])  ->  0 for N, which copies it; Shape, Gather, Mul, Concat for the rest
 *     Expand(x[N,1], [N, 4])  ->  Expand(x, [1, 4])           1 leaves an extent as it is
 *     Slice(x, 0, N, axis)    ->  Slice(x, 0, INT64_MAX)      to the end of its axis */
#include "tidy/internal.h"

/* Item i as the number that stands for it, or NULL. */
typedef Dim (*StandIn)(const Node *n, const Dim *items, int64_t count, int64_t i);

static Dim reshape_item(const Node *n, const Dim *items, int64_t count, int64_t i)
{
    Ctx *cx = n->graph->cx;
    bool copies = node_int(n, "allowzero", 0) == 0 && i < ox_rank(n->in[0]) && dim_eq(cx, items[i], ox_dim(n->in[0], (int)i)) == YES;
    bool others_known = true, has_wild = false;
    for (int64_t k = 0; k < count; k++) {
        int64_t v;
        bool known = dim_known(items[k], &v);
        has_wild |= known && v < 0;
        others_known &= k == i || (known && v > 0);
    }
    if (others_known && !has_wild)
        return dim_int(cx, -1);                 /* also right when the extent is 0: the others are not */
    return copies ? dim_int(cx, 0) : NULL;
}

/* Extents of at least 1 that are copied leave room for one -1. */
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

static Dim expand_item(const Node *n, const Dim *items, int64_t count, int64_t i)
{
    int axis = ox_rank(n->in[0]) - (int)(count - i);
    bool same = ox_rank(n->in[0]) >= 0 && axis >= 0 && dim_eq(n->graph->cx, items[i], ox_dim(n->in[0], axis)) == YES;
    return same ? dim_int(n->graph->cx, 1) : NULL;
}

/* An end that is the extent of its axis. */
static Dim slice_end(const Node *n, const Dim *items, int64_t count, int64_t i)
{
    const int64_t *axes, *steps;
    int64_t n_axes = count, n_steps, axis = i;
    if (in_of(n, 3) && !(ox_known_ints(n->graph, n->in[3], &axes, &n_axes) && i < n_axes))
        return NULL;
    if (in_of(n, 3))
        axis = axes[i];
    if (in_of(n, 4) && !(ox_known_ints(n->graph, n->in[4], &steps, &n_steps) && i < n_steps && steps[i] > 0))
        return NULL;
    int rank = ox_rank(n->in[0]);
    axis += axis < 0 ? rank : 0;
    bool end = rank >= 0 && axis >= 0 && axis < rank && dim_eq(n->graph->cx, items[i], ox_dim(n->in[0], (int)axis)) == YES;
    return end ? dim_int(n->graph->cx, INT64_MAX) : NULL;
}

static Ox stand_ins(const Node *n, Ox v, StandIn fn)
{
    Dim items[MAX_ITEMS];
    for (int64_t i = 0; i < v->n_items; i++) {
        Dim d = dim_known(v->items[i], NULL) ? NULL : fn(n, v->items, v->n_items, i);
        items[i] = d ? d : v->items[i];
    }
    if (fn == reshape_item)
        reshape_wild(n, items, v->items, v->n_items);
    return ox_dims(n->graph, items, (size_t)v->n_items);
}

bool dims_step(Rewrite *rw, Node *n)
{
    static const struct { const char *op; int input; StandIn fn; } ways[] = {
        { "Reshape", 1, reshape_item }, { "Expand", 1, expand_item }, { "Slice", 2, slice_end },
    };
    for (int i = 0; i < n->n_in; i++) {
        if (!n->in[i] || n->in[i]->kind != OX_DIMS)
            continue;
        for (size_t k = 0; k < COUNT(ways); k++)
            if (ways[k].input == i && node_is(n, ways[k].op))
                n->in[i] = stand_ins(n, n->in[i], ways[k].fn);
        n->in[i] = dims_to_nodes(n->graph, n->in[i]);
        if (!ox_ok(n->in[i]))
            return false;
    }
    return !ctx_failed(rw->cx);
}

bool pass_dims(Graph *g, const TidyOptions *o) { return rewrite(g, o, dims_step, NULL); }
