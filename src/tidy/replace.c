/* replace.c - what the passes share: walking nodes, counting uses, putting one value in another's place. */
#include "tidy/internal.h"

/* ---- walking ---- */

bool each_node(Graph *g, bool (*fn)(Node *n, void *arg), void *arg)
{
    for (size_t i = 0; i < g->nodes.n; i++) {
        Node *n = g->nodes.at[i];
        if (n->dead)
            continue;
        for (int k = 0; k < n->n_attr; k++)
            if (n->attr[k].kind == ATTR_GRAPH && !each_node(n->attr[k].g, fn, arg))
                return false;
        if (!fn(n, arg))
            return false;
    }
    return true;
}

/* ---- uses ---- */

typedef struct Highest { uint32_t id; } Highest;

static void see(Highest *h, Ox v)
{
    if (v && v->id > h->id)
        h->id = v->id;
}

static void highest_of_graph(Graph *g, Highest *h)
{
    for (size_t i = 0; i < g->inputs.n; i++)
        see(h, g->inputs.at[i]);
    for (size_t i = 0; i < g->outputs.n; i++)
        see(h, g->outputs.at[i]);
    for (size_t i = 0; i < g->nodes.n; i++) {
        Node *n = g->nodes.at[i];
        for (int k = 0; k < n->n_in; k++)
            see(h, n->in[k]);
        for (int k = 0; k < n->n_out; k++)
            see(h, n->out[k]);
        for (int k = 0; k < n->n_attr; k++)
            if (n->attr[k].kind == ATTR_GRAPH)
                highest_of_graph(n->attr[k].g, h);
    }
}

static void count_outputs(Graph *g, Uses *u)
{
    for (size_t i = 0; i < g->outputs.n; i++)
        if (g->outputs.at[i]) {
            u->count[g->outputs.at[i]->id]++;
            u->is_output[g->outputs.at[i]->id] = true;
        }
}

static bool count_node(Node *n, void *arg)
{
    Uses *u = arg;
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k])
            u->count[n->in[k]->id]++;
    for (int k = 0; k < n->n_attr; k++)
        if (n->attr[k].kind == ATTR_GRAPH)
            count_outputs(n->attr[k].g, u);
    return true;
}

bool uses_count(Graph *root, Uses *u)
{
    Highest h = { 0 };
    highest_of_graph(root, &h);
    u->n = h.id + 1;
    u->count = new_array(root->cx, uint32_t, u->n);
    u->is_output = new_array(root->cx, bool, u->n);
    if (!u->count || !u->is_output)
        return false;
    count_outputs(root, u);
    return each_node(root, count_node, u);
}

/* ---- replacing ---- */

Ox replaced(const Replacements *r, Ox v)
{
    for (Ox next; v && (next = map_get(&r->with, v)) != NULL; )
        v = next;
    return v;
}

bool can_replace(const Replacements *r, Ox old, Ox with)
{
    with = replaced(r, with);
    if (!is_output(&r->uses, old))
        return true;
    return with->kind == OX_NODE && with->graph == old->graph && !is_output(&r->uses, with) && !with->name;
}

void replace(Graph *g, Replacements *r, Ox old, Ox with)
{
    with = replaced(r, with);
    if (is_output(&r->uses, old)) {
        with->name = old->name;
        if (with->id < r->uses.n)
            r->uses.is_output[with->id] = true;
    }
    map_put(g->cx, &r->with, old, with);
}

static bool apply_node(Node *n, void *arg)
{
    const Replacements *r = arg;
    for (int k = 0; k < n->n_in; k++)
        n->in[k] = replaced(r, n->in[k]);
    for (int k = 0; k < n->n_attr; k++)
        if (n->attr[k].kind == ATTR_GRAPH) {
            Graph *g = n->attr[k].g;
            for (size_t i = 0; i < g->outputs.n; i++)
                g->outputs.at[i] = replaced(r, g->outputs.at[i]);
        }
    return true;
}

bool replacements_apply(Graph *root, Replacements *r)
{
    if (r->with.n == 0)
        return true;
    for (size_t i = 0; i < root->outputs.n; i++)
        root->outputs.at[i] = replaced(r, root->outputs.at[i]);
    return each_node(root, apply_node, r) && pass_drop_dead(root, NULL);
}
