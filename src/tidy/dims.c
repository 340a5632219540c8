/* dims.c - sizes that an operator needs as numbers become nodes, as few as possible.
 *
 *     Reshape(x[N,3,4], {N, 12})      ->  Reshape(x, {-1, 12})        the one unknown size is what is left
 *     Reshape(x[N,M,4], {N, M, 2, 2}) ->  Reshape(x, {0, 0, 2, 2})    sizes that stay in place are copied
 *     Expand(x[N,1], {N, 5})          ->  Expand(x, {1, 5})           an axis that stays need not be named
 *     Slice(x[N], 0, {N})             ->  Slice(x, 0, {INT64_MAX})    to the end
 *     anything else                   ->  Shape, Gather, arithmetic: dims_to_nodes
 *
 * -1 and 0 do not go together where the copied size may be 0: ONNX Runtime cannot divide then. */
#include "tidy/internal.h"

static bool all_known(Ox v, int64_t *out)
{
    for (int64_t i = 0; i < v->n_items; i++)
        if (!dim_known(v->items[i], &out[i]))
            return false;
    return true;
}

/* The items as Reshape's own language; false when it cannot say them. */
static bool reshape_items(Ctx *cx, Ox x, Ox shape, int64_t *out)
{
    int open = 0, last = -1;
    for (int64_t i = 0; i < shape->n_items; i++) {
        if (dim_known(shape->items[i], &out[i])) {
            if (out[i] <= 0)
                return false;                   /* a true 0 needs allowzero, which forbids the rest */
        } else {
            open++;
            last = (int)i;
        }
    }
    if (open == 1) {
        out[last] = -1;
        return true;
    }
    bool copied_may_be_zero = false;
    int left = 0;
    for (int64_t i = 0; i < shape->n_items; i++) {
        if (dim_known(shape->items[i], NULL))
            continue;
        if (i < ox_rank(x) && dim_eq(cx, shape->items[i], ox_dim(x, (int)i)) == YES) {
            int64_t lo, hi;
            dim_range(cx, shape->items[i], &lo, &hi);
            copied_may_be_zero |= lo <= 0;
            out[i] = 0;
        } else {
            left++;
            out[i] = -1;
        }
    }
    return left == 0 || (left == 1 && !copied_may_be_zero);
}

static bool expand_items(Ctx *cx, Ox x, Ox shape, int64_t *out)
{
    int lead = (int)shape->n_items - ox_rank(x);
    for (int i = 0; i < (int)shape->n_items; i++) {
        if (dim_known(shape->items[i], &out[i]))
            continue;
        if (i < lead || dim_eq(cx, shape->items[i], ox_dim(x, i - lead)) != YES)
            return false;
        out[i] = 1;
    }
    return true;
}

static bool slice_ends(Node *n, int64_t *out)
{
    Ox x = n->in[0], ends = n->in[2];
    const int64_t *axes = NULL;
    int64_t count = 0;
    if (n->n_in > 3 && n->in[3] && !ox_known_ints(n->graph, n->in[3], &axes, &count))
        return false;
    for (int64_t i = 0; i < ends->n_items; i++) {
        int64_t axis = axes ? axes[i] : i;
        axis += axis < 0 ? ox_rank(x) : 0;
        if (dim_known(ends->items[i], &out[i]))
            continue;
        if (axis < 0 || axis >= ox_rank(x) || dim_eq(n->graph->cx, ends->items[i], ox_dim(x, (int)axis)) != YES)
            return false;
        out[i] = INT64_MAX;
    }
    return true;
}

/* The constant that says input i of n without computing anything; NULL when there is none. */
static Ox as_constant(Node *n, int i)
{
    Graph *g = n->graph;
    Ox v = n->in[i];
    int64_t out[MAX_ITEMS];
    if (v->n_items > MAX_ITEMS || ox_rank(v) != 1 || (i > 0 && ox_rank(n->in[0]) < 0))
        return NULL;
    bool said = all_known(v, out);
    if (!said && i == 1 && node_is(n, "Reshape") && !node_int(n, "allowzero", 0))
        said = reshape_items(g->cx, n->in[0], v, out);
    if (!said && i == 1 && node_is(n, "Expand"))
        said = expand_items(g->cx, n->in[0], v, out);
    if (!said && i == 2 && node_is(n, "Slice"))
        said = slice_ends(n, out);
    return said ? ox_ints(g, out, (size_t)v->n_items) : NULL;
}

static bool materialise(Node *n, void *arg)
{
    (void)arg;
    for (int i = 0; i < n->n_in; i++) {
        if (!n->in[i] || n->in[i]->kind != OX_DIMS)
            continue;
        Ox k = as_constant(n, i);
        n->in[i] = k ? k : dims_to_nodes(n->graph, n->in[i]);
        if (!ox_ok(n->in[i]))
            return false;
    }
    return true;
}

/* dims_to_nodes may add nodes to the graphs being walked: walk over a copy of the list. */
static bool materialise_graph(Graph *g)
{
    size_t count = g->nodes.n;
    Node **nodes = mem_copy(g->cx, g->nodes.at, count * sizeof *nodes);
    for (size_t i = 0; nodes && i < count; i++) {
        if (nodes[i]->dead)
            continue;
        for (int k = 0; k < nodes[i]->n_attr; k++)
            if (nodes[i]->attr[k].kind == ATTR_GRAPH && !materialise_graph(nodes[i]->attr[k].g))
                return false;
        if (!materialise(nodes[i], NULL))
            return false;
    }
    for (size_t i = 0; i < g->outputs.n; i++)
        if (g->outputs.at[i]->kind == OX_DIMS)
            return fail(g->cx, E_BUG, "a graph returns sizes without a node of their own");
    return nodes != NULL || count == 0;
}

bool pass_materialise_dims(Graph *g, const TidyOptions *o)
{
    (void)o;
    return materialise_graph(g);
}
