/* rewrite.c - the node list built anew: the engine under the passes. tidy/internal.h says how it is
 * used. */
#include "tidy/internal.h"

/* ---- counting ---- */

/* Where a constant's bytes begin: what two tied weights share, and two slices of one do not. */
static const void *storage_key(const Const *k)
{
    uint64_t key[2] = { (uintptr_t)k->bytes.src, k->bytes.off };
    return (const void *)(uintptr_t)hash_bytes(key, sizeof key, 0);
}

/* Room for the uses of a value of this id. */
static bool grow_uses(Rewrite *rw, uint32_t id)
{
    size_t n = rw->n_uses ? rw->n_uses : 64;
    while (n <= id)
        n *= 2;
    uint32_t *more = mem_grow(rw->cx, rw->uses, rw->n_uses, n, sizeof *more);
    if (!more)
        return false;
    memset(more + rw->n_uses, 0, (n - rw->n_uses) * sizeof *more);
    rw->uses = more;
    rw->n_uses = n;
    return true;
}

static void count(Rewrite *rw, Ox v)
{
    if (!v || v == POISON)
        return;
    if (v->id >= rw->n_uses && !grow_uses(rw, v->id))
        return;
    rw->uses[v->id]++;
    if (rw->by_bytes && v->kind == OX_CONST) {
        const void *key = storage_key(v->k);
        uintptr_t n = (uintptr_t)map_get(&rw->by_storage, key);
        map_put(rw->cx, &rw->by_storage, key, (void *)(n + 1));
    }
}

static void count_graph(Rewrite *rw, const Graph *g)
{
    for (size_t i = 0; i < g->nodes.n; i++) {
        const Node *n = g->nodes.at[i];
        if (n->dead)
            continue;
        for (int k = 0; k < n->n_in; k++)
            count(rw, n->in[k]);
        for (int k = 0; k < n->n_attr; k++)
            if (n->attr[k].kind == ATTR_GRAPH)
                count_graph(rw, n->attr[k].g);
    }
    for (size_t i = 0; i < g->outputs.n; i++)
        count(rw, g->outputs.at[i]);
}

uint32_t uses_of(const Rewrite *rw, Ox v) { return v->id < rw->n_uses ? rw->uses[v->id] : 0; }

uint32_t storage_uses(const Rewrite *rw, const Const *k)
{
    return (uint32_t)(uintptr_t)map_get(&rw->by_storage, storage_key(k));
}

/* ---- replacing ---- */

/* See internal.h. The name of an output moves to its replacement at the end, in fix_outputs. */
void replace(Rewrite *rw, Ox from, Ox to)
{
    if (from == to)
        return;
    map_put(rw->cx, &rw->to, from, to);
    dim_move_origins(from, to);
}

Ox current(const Rewrite *rw, Ox v)
{
    if (rw->to.n == 0)
        return v;
    while (v) {
        const MapEntry *e = map_find(&rw->to, v);
        if (!e)
            break;
        v = e->val;
    }
    return v;
}

bool gone(const Rewrite *rw, const Node *n)
{
    if (rw->to.n == 0)
        return false;
    for (int i = 0; i < n->n_out; i++)
        if (uses_of(rw, n->out[i]) && !map_find(&rw->to, n->out[i]))
            return false;
    for (int i = 0; i < n->n_out; i++)
        if (map_find(&rw->to, n->out[i]))
            return true;
    return false;
}

/* Keeps n, unless an equal node is in the new list already. As long as the pass has changed
 * nothing there can be none. */
static void keep(Rewrite *rw, Node *n)
{
    Node *same = rw->to.n == 0 && share_is_stale(n->graph) ? n : node_share(n);
    bool named = false;
    for (int i = 0; i < n->n_out; i++)
        named |= n->out[i]->name != NULL;
    if (same == n || named)
        vec_push(rw->cx, &n->graph->nodes, n);
    else
        for (int i = 0; i < n->n_out; i++)
            replace(rw, n->out[i], same->out[i]);
}

static bool rewrite_graph(Rewrite *rw, Graph *g);

/* The body of a branch or a loop. What nodes that are made anew require of sizes holds in there
 * only: in the arm of `if x.size(0) == 1` a Squeeze takes an axis of N away. */
static bool rewrite_body(Rewrite *rw, Graph *body)
{
    dim_scope_open(rw->cx);
    bool ok = rewrite_graph(rw, body);
    dim_scope_close(rw->cx);
    return ok;
}

/* Handles one node of the old list: replaces its inputs, rebuilds its subgraphs, then calls the
 * step. Nodes that the step emits get n's position in the program. n itself stays unless it is
 * replaced. */
static bool rewrite_node(Rewrite *rw, Node *n)
{
    Graph *g = n->graph;
    count_work(rw->cx);
    for (int i = 0; i < n->n_in; i++)
        n->in[i] = current(rw, n->in[i]);
    for (int i = 0; i < n->n_attr; i++)
        if (n->attr[i].kind == ATTR_GRAPH && !rewrite_body(rw, n->attr[i].g))
            return false;
    size_t from = g->nodes.n;
    rw->placed = false;
    if (!rw->step(rw, n) || ctx_failed(rw->cx)) {
        fail_arose_at(rw->cx, n->at);
        return false;
    }
    for (size_t i = from; i < g->nodes.n; i++)
        if (!g->nodes.at[i]->at)
            g->nodes.at[i]->at = n->at;
    n->dead = gone(rw, n);
    if (!n->dead && !rw->placed)
        keep(rw, n);
    return true;
}

static void mark_output(Ox v, bool is)
{
    if (ox_ok(v))
        v->is_output = is;
}

/* An output of a graph must be made by a node of this graph, have a name, and be no other
 * output. */
static void fix_outputs(Rewrite *rw, Graph *g)
{
    for (size_t i = 0; i < g->outputs.n; i++)
        mark_output(g->outputs.at[i], false);
    for (size_t i = 0; i < g->outputs.n; i++) {
        Ox old = g->outputs.at[i];
        Ox v = current(rw, old);
        bool taken = v->kind != OX_NODE || v->graph != g ||
            (v != old && v->name && old->name && v->name != old->name);
        if ((taken || v->is_output) && ox_ok(v))
            v = ox_identity(g, v);
        mark_output(v, true);
        if (old != v && old->name && ox_ok(v)) {
            v->name = old->name;
            old->name = NULL;
        }
        g->outputs.at[i] = v;
    }
}

static bool rewrite_graph(Rewrite *rw, Graph *g)
{
    Node **old = g->nodes.at;
    size_t n = g->nodes.n;
    size_t cap = g->nodes.cap;
    Node **list = new_array(rw->cx, Node *, cap); /* most passes leave about as many nodes */
    if (!list)
        return false;
    g->nodes.at = list;
    g->nodes.n = 0;
    share_forget_nodes(g);
    for (size_t i = 0; i < n; i++)
        if (!old[i]->dead && !rewrite_node(rw, old[i]))
            return false;
    mem_give(rw->cx, old, cap * sizeof *old);
    fix_outputs(rw, g);
    return !ctx_failed(rw->cx);
}

static bool run(Graph *g, Rewrite *rw)
{
    count_graph(rw, g);
    if (rw->plan)
        rw->plan(rw, g);
    bool ok = rewrite_graph(rw, g);
    mem_give(rw->cx, rw->uses, rw->n_uses * sizeof *rw->uses);
    map_give(rw->cx, &rw->by_storage);
    map_give(rw->cx, &rw->to);
    return ok;
}

static bool has_op(const Graph *g, const OnnxOp *op)
{
    for (size_t i = 0; i < g->nodes.n; i++) {
        const Node *n = g->nodes.at[i];
        if (n->op == op && !n->dead)
            return true;
        for (int k = 0; k < n->n_attr; k++)
            if (n->attr[k].kind == ATTR_GRAPH && has_op(n->attr[k].g, op))
                return true;
    }
    return false;
}

bool graph_has(const Graph *g, const char *op) { return has_op(g, onnx_op(g->cx, op)); }

void each_node(const Graph *g, void (*see)(void *arg, const Node *n), void *arg)
{
    for (size_t i = 0; i < g->nodes.n; i++) {
        const Node *n = g->nodes.at[i];
        for (int k = 0; k < n->n_attr; k++)
            if (n->attr[k].kind == ATTR_GRAPH)
                each_node(n->attr[k].g, see, arg);
        see(arg, n);
    }
}

bool rewrite(Graph *g, const TidyOptions *o, StepFn step, void *arg)
{
    return run(g, &(Rewrite){ .cx = g->cx, .o = o, .step = step, .arg = arg });
}

bool rewrite_weights(Graph *g, const TidyOptions *o, StepFn step, void *arg)
{
    return run(g, &(Rewrite){ .cx = g->cx, .o = o, .step = step, .arg = arg, .by_bytes = true });
}

bool rewrite_planned(Graph *g, const TidyOptions *o, PlanFn plan, StepFn step, void *arg)
{
    return run(g, &(Rewrite){ .cx = g->cx, .o = o, .plan = plan, .step = step, .arg = arg });
}

/* ---- for all passes ---- */

Node *made_by(Ox v, const char *op)
{
    return v && v->kind == OX_NODE && v->out == 0 && node_is(v->node, op) ? v->node : NULL;
}

bool is_one_of(const Node *n, const char *const *ops, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (node_is(n, ops[i]))
            return true;
    return false;
}

bool is_const(Ox v) { return v && v->kind == OX_CONST; }

Str derived_name(Ctx *cx, const Const *k, const char *suffix)
{
    Str base = k->derived ? k->derived : k->name;
    return base ? str_fmt(cx, "%s%s", base->s, suffix) : NULL;
}

Ox heads_joined(Graph *g, Ox x)
{
    Ctx *cx = g->cx;
    Dim to[3] = { ox_dim(x, 0), ox_dim(x, 1), dim_mul(cx, ox_dim(x, 2), ox_dim(x, 3)) };
    Node *n = made_by(x, "Reshape");
    bool same = n && ox_rank(n->in[0]) == 3;
    for (int i = 0; same && i < 3; i++)
        same = dim_eq(cx, ox_dim(n->in[0], i), to[i]) == YES;
    return same ? n->in[0] : ox_g(g, "Reshape", x, ox_dims(g, to, 3));
}
