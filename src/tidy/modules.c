/* modules.c - calls of modules as functions of the model: what export_modules_as_functions asks
 * for.
 *
 * One idea: a node knows, by its place, the calls of modules that it stands in (WHERE_CALLS,
 * which whoever hands a trace over gives). Before any pass joins nodes, a border goes into each
 * value between two calls, a node that no pass knows, so that nothing is joined across it. When all
 * is done borders go, and the nodes of a call move into a graph of their own, the body of a
 * function (FUNCTION_BODY), which wire.c writes once for all calls of an equal body. Calls within a
 * call are cut out of its body in the same way.
 *
 * A body sees nothing of outside: values, and weights, that its nodes need are its inputs in the
 * order of their first use. Constants of the program are in it. A call is cut out only when no way
 * leads out of its nodes and back; one that is not stays as it is, and a note says so. */
#include "tidy/internal.h"

#define BORDER_DOMAIN "border"

enum { LARGE = 1024 }; /* bytes: a constant that may go to a file of its own cannot lie in a body */

/* ---- borders ---- */

static bool is_border(const Node *n) { return str_is(n->domain, BORDER_DOMAIN); }

/* A border node for v in g: the nodes of this call use its output in place of v. */
static Ox border(Rewrite *rw, Graph *g, Ox v, Str call)
{
    Map *borders = rw->arg;
    Str key = str_fmt(rw->cx, "%zx %u %s", (size_t)(uintptr_t)g, v->id, call ? call->s : "");
    Ox b = map_get(borders, key);
    if (b)
        return b;
    if (!ox_make_custom(g, str_of(rw->cx, BORDER_DOMAIN), str_of(rw->cx, "Border"), INPUTS(v), NULL,
                        0, &v->type, &b, 1))
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
        if (v &&
            (v->kind == OX_INPUT ||
             (v->kind == OX_NODE && place_calls(rw->cx, v->node->at) != call)))
            n->in[i] = border(rw, n->graph, v, call);
    }
    return true;
}

bool pass_borders(Graph *g, const TidyOptions *o)
{
    Map borders = { 0 };
    return !o->functions || rewrite(g, o, put_borders, &borders);
}

/* ---- every place where a node says what it needs ---- */

typedef void (*SlotFn)(void *arg, Ox *at);

/* Is this attribute the body of a function, which uses no value from outside? */
static bool is_closed(const Attr *a)
{
    return a->kind == ATTR_GRAPH && strcmp(a->name, FUNCTION_BODY) == 0;
}
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

/* ---- borders go ---- */

static Ox behind(Ox v)
{
    while (v->kind == OX_NODE && is_border(v->node))
        v = v->node->in[0];
    return v;
}

/* Removes the border at an output of g: the value in front of it becomes the output, by an
 * Identity where it cannot be one itself. */
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
        for (int k = 0; k < n->n_in && !is_border(n); k++)
            n->in[k] = n->in[k] ? behind(n->in[k]) : NULL;
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

/* ---- the nodes of a graph and their calls ---- */

typedef struct Item {
    Node *n;  /* NULL: the node that stood here has moved into a function */
    Str call; /* the outermost call not handled yet, a line of pt2onnx_node.calls; NULL: none */
    const char *rest; /* the lines behind `call` */
    int depth;        /* how many lines stand before `call` */
} Item;
typedef VEC(Item) Items;

/* The outlining of one graph. Uses are counted once for the whole graph, so that the work for a
 * call depends on the items from its first to its last alone. */
typedef struct Outline {
    Ctx *cx;
    Graph *g;
    Items items;
    Map left;  /* call -> how many items it has */
    Map uses;  /* value -> how often items and outputs of g need it */
    Map given; /* value that has moved into a body -> the call's output that replaces it in g */
} Outline;

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

static Items items_of(const Graph *g, int depth)
{
    Items items = { 0 };
    for (size_t i = 0; i < g->nodes.n; i++)
        vec_push(g->cx, &items, item_of(g->cx, g->nodes.at[i], depth));
    return items;
}

static void add(Ctx *cx, Map *counts, const void *key, int more)
{
    map_put(cx, counts, key, (void *)((intptr_t)map_get(counts, key) + more));
}

static void count_use(void *arg, Ox *at)
{
    Outline *o = arg;
    if ((*at)->kind == OX_NODE && (*at)->graph == o->g)
        add(o->cx, &o->uses, *at, 1);
}

static void take_given(void *arg, Ox *at)
{
    const Outline *o = arg;
    Ox v = map_get(&o->given, *at);
    *at = v ? v : *at;
}

/* "7 my.net Block layer1.0" */
typedef struct Called {
    Str domain, name, path;
} Called;

static Called called(Ctx *cx, Str line)
{
    const char *domain = strchr(line->s, ' ') + 1;
    const char *name = strchr(domain, ' ') + 1;
    const char *path = strchr(name, ' ') + 1;
    return (Called){ str_n(cx, domain, (size_t)(name - domain) - 1),
                     str_n(cx, name, (size_t)(path - name) - 1), str_of(cx, path) };
}

/* ---- one call is cut out ---- */

typedef struct Cut {
    Outline *of;
    Ctx *cx;
    Graph *body;
    Str call;
    Called name;
    Items before, mine, after; /* the items from first to end: before the call, in it, and those
                                  that need its results */
    size_t first, end;
    Map inside, late; /* the nodes of `mine`, and of `after` */
    Map fed;          /* value from outside -> the body's input */
    VEC(Ox) in;
    const Map *looked_for;
    bool found;
} Cut;

static void look_for(void *arg, Ox *at)
{
    Cut *c = arg;
    Ox v = *at;
    take_given(c->of, &v);
    c->found |= v->kind == OX_NODE && map_find(c->looked_for, v->node) != NULL;
}

static bool needs(Cut *c, Node *n, const Map *some)
{
    c->looked_for = some;
    c->found = false;
    if (some->n)
        each_need(n, look_for, c);
    return c->found;
}

/* Sorts the items from the call's first to its last into before, mine and after. False: an item
 * of the call needs a result of `after`. */
static bool part(Cut *c)
{
    intptr_t left = (intptr_t)map_get(&c->of->left, c->call);
    for (c->end = c->first; left > 0; c->end++) {
        Item it = c->of->items.at[c->end];
        bool is_late = needs(c, it.n, &c->late);
        if (it.call == c->call) {
            if (is_late)
                return false;
            left--;
            map_put(c->cx, &c->inside, it.n, NULL);
            vec_push(c->cx, &c->mine, it);
        } else if (is_late || needs(c, it.n, &c->inside)) {
            map_put(c->cx, &c->late, it.n, NULL);
            vec_push(c->cx, &c->after, it);
        } else
            vec_push(c->cx, &c->before, it);
        if (ctx_failed(c->cx))
            return false;
    }
    return true;
}

static bool stays_inside(const Const *k)
{
    return !k->name && !k->derived && !k->storage &&
        dtype_bytes(k->dtype, (uint64_t)const_numel(k)) <= LARGE;
}

/* The name of a body's input: that of a weight; NULL for a value that a node makes. */
static Str input_name(Ox v)
{
    if (v->kind == OX_CONST)
        return v->k->name ? v->k->name : v->k->derived;
    return v->kind == OX_INPUT && v->graph->up ? v->name : NULL;
}

/* A value that a node in the body needs and that is made outside becomes an input of the body: the
 * same input wherever it is needed. */
static void feed(void *arg, Ox *at)
{
    Cut *c = arg;
    take_given(c->of, at);
    Ox v = *at;
    if (v->kind == OX_NODE && v->graph == c->body)
        add(c->cx, &c->of->uses, v, -1);
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

/* A copy of n for the body g. n itself stays as it is: a recipe of weights.c may hold n with its
 * constants. */
static Node *moved(Graph *g, const Node *n)
{
    Node *m = new(g->cx, Node);
    *m = *n;
    m->in = new_array(g->cx, Ox, n->n_in + 1);
    if (!m->in || ctx_failed(g->cx))
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

static void move_in(Cut *c)
{
    for (size_t i = 0; i < c->mine.n; i++) {
        Item *it = &c->mine.at[i];
        it->n = moved(c->body, it->n);
        it->depth++;
        next_call(c->cx, it);
    }
    for (size_t i = 0; i < c->mine.n && !ctx_failed(c->cx); i++)
        each_need(c->mine.at[i].n, feed, c);
}

/* The outputs of the body: values that items outside of it need, in the order in which they are
 * made, which is the same for all calls of the module. */
static void find_outputs(Cut *c)
{
    for (size_t i = 0; i < c->mine.n; i++) {
        const Node *n = c->mine.at[i].n;
        for (int k = 0; k < n->n_out; k++)
            if (n->out[k] && map_get(&c->of->uses, n->out[k]))
                vec_push(c->cx, &c->body->outputs, n->out[k]);
    }
}

/* The node that calls the function; its position is that of the module. */
static Node *make_call(Cut *c)
{
    Ctx *cx = c->cx;
    Graph *g = c->of->g;
    size_t n = c->body->outputs.n;
    Ox *out = new_array(cx, Ox, n + 1);
    Type *types = new_array(cx, Type, n + 1);
    if (!out || !types)
        return NULL;
    Where *before = cx->at;
    Where here = { .up = before,
                   .kind = WHERE_MODULE,
                   .name = c->name.path,
                   .type = str_fmt(cx, "%s.%s", c->name.domain->s, c->name.name->s) };
    for (size_t i = 0; i < n; i++)
        types[i] = c->body->outputs.at[i]->type;
    cx->at = &here;
    bool ok = ox_make_custom(g, c->name.domain, c->name.name, (OxList)LIST(c->in),
                             ATTRS(SUBGRAPH(FUNCTION_BODY, c->body)), types, out, n);
    cx->at = before;
    if (!ok)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        Ox v = c->body->outputs.at[i];
        out[i]->name = v->name;
        out[i]->is_output = v->is_output;
        v->name = NULL;
        v->is_output = true;
        map_put(cx, &c->of->given, v, out[i]);
    }
    return g->nodes.at[--g->nodes.n]; /* put_back inserts it into the list */
}

/* Names the body's inputs without the module's path: "layer1.0.fc.weight" is "fc.weight" in
 * layer1.0. */
static void shorten_inputs(Cut *c)
{
    const Str path = c->name.path;
    if (!path->len)
        return;
    for (size_t i = 0; i < c->body->inputs.n; i++) {
        Ox v = c->body->inputs.at[i];
        if (v->name && str_starts(v->name, path->s) && v->name->s[path->len] == '.')
            v->name = str_of(c->cx, v->name->s + path->len + 1);
    }
}

static bool outline(Graph *g, Items items);

/* Replaces the items from first to end by those before the call, the call, and those after it.
 * They are moved to the end of the range, so that the items to handle next have no gaps. Gives
 * the first of them. */
static size_t put_back(Cut *c, Node *call)
{
    Item *at = c->of->items.at;
    size_t from = c->end - c->before.n - c->after.n - 1;
    size_t k = from;
    for (size_t i = c->first; i < from; i++)
        at[i] = (Item){ .n = NULL };
    for (size_t i = 0; i < c->before.n; i++)
        at[k++] = c->before.at[i];
    at[k++] = (Item){ .n = call, .rest = "" };
    for (size_t i = 0; i < c->after.n; i++)
        at[k++] = c->after.at[i];
    return from;
}

/* The nodes of this call stay where they are. Calls within it may still be cut out. */
static void leave(Cut *c)
{
    Outline *o = c->of;
    note(c->cx, NOTE_DROPPED,
         "the function %s of module '%s': what its nodes need of others needs them, so they stand "
         "by themselves",
         c->name.name->s, c->name.path->s);
    for (size_t i = c->first, left = (size_t)map_get(&o->left, c->call); left > 0; i++) {
        Item *it = &o->items.at[i];
        if (it->call != c->call)
            continue;
        left--;
        it->depth++;
        next_call(c->cx, it);
        if (it->call)
            add(c->cx, &o->left, it->call, 1);
    }
}

/* The call of items.at[*first] becomes one node, if it can; *first is the next item to look at. */
static bool cut_out(Outline *o, size_t *first)
{
    Str call = o->items.at[*first].call;
    Cut c = { .of = o, .cx = o->cx, .call = call, .name = called(o->cx, call), .first = *first };
    if (!part(&c)) {
        if (!ctx_failed(c.cx))
            leave(&c);
        return !ctx_failed(c.cx);
    }
    c.body = graph_new(c.cx, o->g, c.name.name);
    move_in(&c);
    find_outputs(&c);
    Node *n = ctx_failed(c.cx) ? NULL : make_call(&c);
    if (!n || !outline(c.body, c.mine))
        return false;
    shorten_inputs(&c);
    *first = put_back(&c, n);
    return !ctx_failed(c.cx);
}

/* Outlines the graphs inside an item that has stayed. */
static bool outline_inside(const Item *it)
{
    for (int a = 0; a < it->n->n_attr; a++)
        if (is_open(&it->n->attr[a]) &&
            !outline(it->n->attr[a].g, items_of(it->n->attr[a].g, it->depth)))
            return false;
    return true;
}

/* Cuts the calls out of g. items: the nodes of g, in their order. */
static bool outline(Graph *g, Items items)
{
    Outline o = { .cx = g->cx, .g = g, .items = items };
    for (size_t i = 0; i < items.n; i++) {
        if (items.at[i].call)
            add(o.cx, &o.left, items.at[i].call, 1);
        each_need(items.at[i].n, count_use, &o);
    }
    for (size_t i = 0; i < g->outputs.n; i++)
        count_use(&o, &g->outputs.at[i]);
    g->nodes.n = 0;
    for (size_t i = 0; i < items.n && !ctx_failed(g->cx); i++)
        while (o.items.at[i].call)
            if (!cut_out(&o, &i))
                return false;
    for (size_t i = 0; i < items.n && !ctx_failed(g->cx); i++)
        if (o.items.at[i].n) {
            each_need(o.items.at[i].n, take_given, &o);
            vec_push(g->cx, &g->nodes, o.items.at[i].n);
        }
    for (size_t i = 0; i < g->outputs.n; i++)
        take_given(&o, &g->outputs.at[i]);
    for (size_t i = 0; i < items.n && !ctx_failed(g->cx); i++)
        if (o.items.at[i].n && !outline_inside(&o.items.at[i]))
            return false;
    return !ctx_failed(g->cx);
}

bool pass_functions(Graph *g, const TidyOptions *o)
{
    if (!o->functions)
        return true;
    drop_borders(g);
    return outline(g, items_of(g, 0));
}
