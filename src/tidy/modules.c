/* modules.c - calls of modules as functions of the model: what export_modules_as_functions asks for.
 *
 * One idea: a node knows, by its place, the calls of modules that it stands in (WHERE_CALLS, told by who hands a trace over). Before any pass
 * joins nodes, a border goes into each value between two calls, a node that no pass knows, so that nothing is joined across it. When all is
 * done borders go, and the nodes of a call move into a graph of their own, the body of a function (FUNCTION_BODY), which wire.c writes once
 * for all calls of an equal body. Calls within a call are cut out of its body in the same way.
 *
 * A body sees nothing of outside: values, and weights, that its nodes need are its inputs in the order of their first use. Constants of the
 * program are in it. A call is cut out only when no way leads out of its nodes and back; one that is not stays as it is, and a note says so. */
#include "tidy/internal.h"

#define BORDER_DOMAIN "border"

enum { LARGE = 1024 };              /* bytes: a constant that may go to a file of its own cannot lie in a body */

/* ---- borders ---------------------------------------------------------------------------------------------------- */

static bool is_border(const Node *n) { return str_is(n->domain, BORDER_DOMAIN); }

/* v, as the nodes of one call in g see it. */
static Ox border(Rewrite *rw, Graph *g, Ox v, Str call)
{
    Map *borders = rw->arg;
    Str key = str_fmt(rw->cx, "%zx %u %s", (size_t)(uintptr_t)g, v->id, call ? call->s : "");
    Ox b = map_get(borders, key);
    if (b)
        return b;
    if (!ox_make_custom(g, str_of(rw->cx, BORDER_DOMAIN), str_of(rw->cx, "Border"), INPUTS(v), NULL, 0, &v->type, &b, 1))
        return v;
    b->items = v->items;
    b->n_items = v->n_items;
    map_put(rw->cx, borders, key, b);
    return b;
}

static bool put_borders(Rewrite *rw, Node *n)
{
    Str call = place_calls(rw->cx, n->at);
    for (int i = 0; i < n->n_in; i++) {
        Ox v = n->in[i];
        if (v && (v->kind == OX_INPUT || (v->kind == OX_NODE && place_calls(rw->cx, v->node->at) != call)))
            n->in[i] = border(rw, n->graph, v, call);
    }
    return true;
}

bool pass_borders(Graph *g, const TidyOptions *o)
{
    Map borders = { 0 };
    return !o->functions || rewrite(g, o, put_borders, &borders);
}

/* ---- every place where a node says what it needs ------------------------------------------------------------------ */

typedef void (*SlotFn)(void *arg, Ox *at);

/* Another function's body needs nothing of outside. */
static bool is_closed(const Attr *a) { return a->kind == ATTR_GRAPH && strcmp(a->name, FUNCTION_BODY) == 0; }
static bool is_open(const Attr *a) { return a->kind == ATTR_GRAPH && !is_closed(a); }

static void each_need(Node *n, SlotFn look, void *arg)
{
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i])
            look(arg, &n->in[i]);
    for (int a = 0; a < n->n_attr; a++)
        for (size_t i = 0; is_open(&n->attr[a]) && i < n->attr[a].g->nodes.n; i++)
            if (!n->attr[a].g->nodes.at[i]->dead)
                each_need(n->attr[a].g->nodes.at[i], look, arg);
}

/* ---- borders go --------------------------------------------------------------------------------------------------- */

static Ox behind(Ox v)
{
    while (v->kind == OX_NODE && is_border(v->node))
        v = v->node->in[0];
    return v;
}

static void look_behind(void *arg, Ox *at)
{
    (void)arg;
    *at = behind(*at);
}

/* The value behind a border takes over as an output; one that cannot be an output of g has an Identity in the border's place. */
static void bare_output(Graph *g, Ox *at)
{
    Ox v = behind(*at);
    if (v == *at)
        return;
    if (v->kind == OX_NODE && v->graph == g && !v->name && !v->is_output) {
        v->name = (*at)->name;
        v->is_output = true;
        *at = v;
        return;
    }
    Node *n = (*at)->node;
    n->op = onnx_op(g->cx, "Identity");
    n->domain = str_of(g->cx, "");
    n->name = str_of(g->cx, "Identity");
    n->in[0] = v;
}

static void drop_borders(Graph *g)
{
    for (size_t i = 0; i < g->nodes.n; i++) {
        Node *n = g->nodes.at[i];
        if (!is_border(n))
            each_need(n, look_behind, NULL);
        for (int a = 0; a < n->n_attr; a++)
            if (n->attr[a].kind == ATTR_GRAPH)
                drop_borders(n->attr[a].g);
    }
    for (size_t i = 0; i < g->outputs.n; i++)
        bare_output(g, &g->outputs.at[i]);
    for (size_t i = 0; i < g->nodes.n; i++)
        g->nodes.at[i]->dead |= is_border(g->nodes.at[i]);
    graph_compact(g);
}

/* ---- the nodes of a graph and their calls --------------------------------------------------------------------------- */

typedef struct Item {
    Node *n;
    Str call;                       /* the outermost call that is not looked at yet, a line of pt2onnx_node.calls; NULL: none */
    const char *rest;               /* the lines behind it */
    int depth;                      /* how many lines are before it */
} Item;
typedef VEC(Item) Items;

static void next_call(Ctx *cx, Item *it)
{
    size_t n = strcspn(it->rest, "\n");
    it->call = n ? str_n(cx, it->rest, n) : NULL;
    it->rest += n + (it->rest[n] == '\n');
}

static Item item_of(Ctx *cx, Node *n, int depth)
{
    Str calls = place_calls(cx, n->at);
    Item it = { .n = n, .rest = calls ? calls->s : "", .depth = depth };
    for (int i = 0; i <= depth; i++)
        next_call(cx, &it);
    return it;
}

/* "7 my.net Block layer1.0" */
typedef struct Called { Str domain, name, path; } Called;

static Called called(Ctx *cx, Str line)
{
    const char *domain = strchr(line->s, ' ') + 1, *name = strchr(domain, ' ') + 1, *path = strchr(name, ' ') + 1;
    return (Called){ str_n(cx, domain, (size_t)(name - domain) - 1), str_n(cx, name, (size_t)(path - name) - 1), str_of(cx, path) };
}

/* ---- one call is cut out --------------------------------------------------------------------------------------------- */

typedef struct Cut {
    Ctx *cx;
    Graph *g, *body;
    Str call;
    Called of;
    Map inside, late;               /* its nodes; those of others that need them */
    Map fed, wanted;                /* value of outside -> the body's input; value of the body that others need -> the call's output */
    VEC(Ox) in;
    const Map *looked_for;
    bool found;
} Cut;

static void look_for(void *arg, Ox *at)
{
    Cut *c = arg;
    c->found |= (*at)->kind == OX_NODE && map_find(c->looked_for, (*at)->node) != NULL;
}

static bool needs(Cut *c, Node *n, const Map *some)
{
    c->looked_for = some;
    c->found = false;
    each_need(n, look_for, c);
    return c->found;
}

/* The items from first on up to the call's last: what others need before it, its own, what needs it. False: one of its own needs what needs it. */
static bool part(Cut *c, const Items *items, size_t first, Items *before, Items *mine, Items *after)
{
    size_t end = first;
    for (size_t i = first; i < items->n; i++)
        if (items->at[i].call == c->call)
            end = i + 1;
    for (size_t i = first; i < end; i++) {
        Item it = items->at[i];
        bool is_late = needs(c, it.n, &c->late);
        if (it.call == c->call) {
            if (is_late)
                return false;
            map_put(c->cx, &c->inside, it.n, NULL);
            vec_push(c->cx, mine, it);
        } else if (is_late || needs(c, it.n, &c->inside)) {
            map_put(c->cx, &c->late, it.n, NULL);
            vec_push(c->cx, after, it);
        } else
            vec_push(c->cx, before, it);
    }
    for (size_t i = end; i < items->n; i++)
        vec_push(c->cx, after, items->at[i]);
    return !ctx_failed(c->cx);
}

static bool stays_inside(const Const *k)
{
    return !k->name && !k->derived && !k->storage && dtype_bytes(k->dtype, (uint64_t)const_numel(k)) <= LARGE;
}

/* A weight keeps its name as an input, what a node makes has none. */
static Str input_name(Ox v)
{
    if (v->kind == OX_CONST)
        return v->k->name ? v->k->name : v->k->derived;
    return v->kind == OX_INPUT && v->graph->up ? v->name : NULL;
}

static void feed(void *arg, Ox *at)
{
    Cut *c = arg;
    Ox v = *at;
    bool is_inside = v->kind == OX_CONST && stays_inside(v->k);
    for (const Graph *g = v->graph; g && !is_inside; g = g->up)
        is_inside = g == c->body;
    if (is_inside)
        return;
    Ox input = map_get(&c->fed, v);
    if (!input) {
        input = graph_input(c->body, input_name(v), v->type);
        map_put(c->cx, &c->fed, v, input);
        vec_push(c->cx, &c->in, v);
    }
    *at = input;
}

/* n in g. A copy, because a weight that is computed while the file is written may hold n, which then needs its constants (weights.c). */
static Node *moved(Graph *g, const Node *n)
{
    Node *m = mem_copy(g->cx, n, sizeof *n);
    m->in = new_array(g->cx, Ox, n->n_in + 1);
    if (ctx_failed(g->cx))
        return NULL;
    memcpy(m->in, n->in, (size_t)n->n_in * sizeof *n->in);
    m->graph = g;
    for (int i = 0; i < m->n_out; i++)
        if (m->out[i]) {
            m->out[i]->node = m;
            m->out[i]->graph = g;
        }
    for (int a = 0; a < m->n_attr; a++) {
        if (m->attr[a].kind == ATTR_GRAPH)
            m->attr[a].g->up = g;
        for (size_t i = 0; is_open(&m->attr[a]) && i < m->attr[a].g->nodes.n; i++)
            m->attr[a].g->nodes.at[i] = moved(m->attr[a].g, m->attr[a].g->nodes.at[i]);
    }
    return m;
}

static void move_in(Cut *c, Items *mine)
{
    for (size_t i = 0; i < mine->n; i++) {
        mine->at[i].n = moved(c->body, mine->at[i].n);
        vec_push(c->cx, &c->body->nodes, mine->at[i].n);
    }
    for (size_t i = 0; i < mine->n && !ctx_failed(c->cx); i++)
        each_need(mine->at[i].n, feed, c);
}

static void want(void *arg, Ox *at)
{
    Cut *c = arg;
    if ((*at)->kind == OX_NODE && (*at)->graph == c->body)
        map_put(c->cx, &c->wanted, *at, NULL);
}

static void take_output(void *arg, Ox *at)
{
    Cut *c = arg;
    Ox v = map_get(&c->wanted, *at);
    *at = v ? v : *at;
}

/* What others need of it, in the order of making: that is the same for all calls. */
static Ox *results(Cut *c, const Items *mine, const Items *after, size_t *n)
{
    size_t most = 0;
    for (size_t i = 0; i < after->n; i++)
        each_need(after->at[i].n, want, c);
    for (size_t i = 0; i < c->g->outputs.n; i++)
        want(c, &c->g->outputs.at[i]);
    Ox *at = new_array(c->cx, Ox, c->wanted.n + 1);
    for (size_t i = 0; at && i < mine->n; i++)
        for (int k = 0; k < mine->at[i].n->n_out; k++)
            if (mine->at[i].n->out[k] && map_find(&c->wanted, mine->at[i].n->out[k]))
                at[most++] = mine->at[i].n->out[k];
    *n = most;
    return at;
}

/* The call stands where the module does. */
static Node *make_call(Cut *c, Ox const *result, size_t n)
{
    Ctx *cx = c->cx;
    Ox *out = new_array(cx, Ox, n + 1);
    Type *types = new_array(cx, Type, n + 1);
    Where *before = cx->at, here = { .up = before, .kind = WHERE_MODULE, .name = c->of.path, .type = str_fmt(cx, "%s.%s", c->of.domain->s, c->of.name->s) };
    for (size_t i = 0; types && i < n; i++)
        types[i] = result[i]->type;
    cx->at = &here;
    bool ok = out && types && ox_make_custom(c->g, c->of.domain, c->of.name, (OxList)LIST(c->in), ATTRS(SUBGRAPH(FUNCTION_BODY, c->body)), types, out, n);
    cx->at = before;
    if (!ok)
        return NULL;
    c->g->nodes.n--;                                        /* its place in the list is given by outline */
    for (size_t i = 0; i < n; i++) {
        out[i]->name = result[i]->name;
        out[i]->is_output = result[i]->is_output;
        result[i]->name = NULL;
        result[i]->is_output = true;
        vec_push(cx, &c->body->outputs, result[i]);
        map_put(cx, &c->wanted, result[i], out[i]);
    }
    return out[0]->node;
}

/* Without the module's path: "layer1.0.fc.weight" is "fc.weight" in layer1.0. */
static void shorten_inputs(Cut *c)
{
    const Str path = c->of.path;
    for (size_t i = 0; path->len && i < c->body->inputs.n; i++) {
        Ox v = c->body->inputs.at[i];
        if (v->name && str_starts(v->name, path->s) && v->name->s[path->len] == '.')
            v->name = str_of(c->cx, v->name->s + path->len + 1);
    }
}

static bool outline(Graph *g, int depth);

/* The call of items.at[first] becomes one node. *done false: it cannot. */
static bool cut_out(Graph *g, Items *items, size_t first, bool *done)
{
    Cut c = { .cx = g->cx, .g = g, .call = items->at[first].call, .of = called(g->cx, items->at[first].call) };
    Items kept = { 0 }, mine = { 0 }, after = { 0 };
    size_t n = 0;
    for (size_t i = 0; i < first; i++)
        vec_push(c.cx, &kept, items->at[i]);
    *done = part(&c, items, first, &kept, &mine, &after);
    if (!*done || ctx_failed(c.cx))
        return !ctx_failed(c.cx);
    c.body = graph_new(c.cx, g, c.of.name);
    move_in(&c, &mine);
    Ox *result = ctx_failed(c.cx) ? NULL : results(&c, &mine, &after, &n);
    Node *call = ctx_failed(c.cx) ? NULL : make_call(&c, result, n);
    if (!call || !outline(c.body, mine.at[0].depth + 1))
        return false;
    shorten_inputs(&c);
    for (size_t i = 0; i < after.n; i++)
        each_need(after.at[i].n, take_output, &c);
    for (size_t i = 0; i < g->outputs.n; i++)
        take_output(&c, &g->outputs.at[i]);
    vec_push(c.cx, &kept, ((Item){ .n = call, .rest = "" }));
    for (size_t i = 0; i < after.n; i++)
        vec_push(c.cx, &kept, after.at[i]);
    *items = kept;
    return !ctx_failed(c.cx);
}

/* The nodes of a call stay where they are; calls within it may still be cut out. */
static void leave(Ctx *cx, Items *items, Str call)
{
    Called of = called(cx, call);
    note(cx, NOTE_DROPPED, "the function %s of module '%s': what its nodes need of others needs them, so they stand by themselves", of.name->s, of.path->s);
    for (size_t i = 0; i < items->n; i++)
        if (items->at[i].call == call) {
            next_call(cx, &items->at[i]);
            items->at[i].depth++;
        }
}

static bool outline(Graph *g, int depth)
{
    Items items = { 0 };
    for (size_t i = 0; i < g->nodes.n; i++)
        vec_push(g->cx, &items, item_of(g->cx, g->nodes.at[i], depth));
    g->nodes.n = 0;
    for (size_t i = 0; i < items.n; i++)
        while (items.at[i].call) {
            bool done;
            Str call = items.at[i].call;
            if (!cut_out(g, &items, i, &done))
                return false;
            if (!done)
                leave(g->cx, &items, call);
        }
    for (size_t i = 0; i < items.n; i++)
        vec_push(g->cx, &g->nodes, items.at[i].n);
    for (size_t i = 0; i < items.n; i++)
        for (int a = 0; a < items.at[i].n->n_attr; a++)
            if (is_open(&items.at[i].n->attr[a]) && !outline(items.at[i].n->attr[a].g, items.at[i].depth))
                return false;
    return !ctx_failed(g->cx);
}

bool pass_functions(Graph *g, const TidyOptions *o)
{
    if (!o->functions)
        return true;
    drop_borders(g);
    return outline(g, 0);
}
