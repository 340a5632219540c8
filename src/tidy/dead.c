/* dead.c - remove nodes whose results nobody reads. One backward walk: a node lives when a graph returns one of its
 * results or a living node reads one; a subgraph's reads count with the node that holds it. */
#include "tidy/internal.h"

typedef struct Live { bool *value; uint32_t n; } Live;

static void live_graph(Graph *g, Live *live);

static void read_value(Live *live, Ox v)
{
    if (v && v->id < live->n)
        live->value[v->id] = true;
}

static bool any_output_live(const Live *live, const Node *n)
{
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i] && n->out[i]->id < live->n && live->value[n->out[i]->id])
            return true;
    return false;
}

static void live_graph(Graph *g, Live *live)
{
    for (size_t i = 0; i < g->outputs.n; i++)
        read_value(live, g->outputs.at[i]);
    for (size_t i = g->nodes.n; i-- > 0; ) {
        Node *n = g->nodes.at[i];
        if (n->dead)
            continue;
        if (!any_output_live(live, n)) {
            n->dead = true;
            continue;
        }
        for (int k = 0; k < n->n_in; k++)
            read_value(live, n->in[k]);
        for (int k = 0; k < n->n_attr; k++)
            if (n->attr[k].kind == ATTR_GRAPH)
                live_graph(n->attr[k].g, live);
    }
}

bool pass_drop_dead(Graph *g, const TidyOptions *o)
{
    (void)o;
    Uses u;
    if (!uses_count(g, &u))
        return false;
    Live live = { new_array(g->cx, bool, u.n), u.n };
    if (!live.value)
        return false;
    live_graph(g, &live);
    graph_compact(g);
    return true;
}
