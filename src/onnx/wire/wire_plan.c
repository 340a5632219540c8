/* wire_plan.c - what will be written: every value and node gets its name, every constant in use its
 * place in order. One set of names serves all scopes; the user's names come first (inputs, outputs,
 * then state_dict entries), then names derived from those, then module paths. */
#include "onnx/wire/wire.h"

/* ---- names ---- */

static bool room_for_name(Wire *w, Str name)
{
    if (name->id < w->n_used)
        return true;
    size_t n = ((size_t)name->id + 512) * 2;
    bool *used = mem_grow(w->cx, w->used, w->n_used, n, sizeof *used);
    if (!used)
        return false;
    memset(used + w->n_used, 0, n - w->n_used);
    w->used = used;
    w->n_used = n;
    return true;
}

/* False: another value has this name already. */
static bool take_name(Wire *w, Str name)
{
    bool is_free = !room_for_name(w, name) || !w->used[name->id];
    if (name->id < w->n_used)
        w->used[name->id] = true;
    return is_free;
}

/* Takes `wish`, or the first of wish_1, wish_2, .. that is free. The counter per wish keeps 10,000
 * like-named things linear. */
static Str unique(Wire *w, Str wish)
{
    if (take_name(w, wish) || ctx_failed(w->cx))
        return wish;
    for (uintptr_t i = (uintptr_t)map_get(&w->suffix, wish) + 1;; i++) {
        Str s = str_fmt(w->cx, "%s_%zu", wish->s, (size_t)i);
        if (take_name(w, s) || ctx_failed(w->cx)) {
            map_put(w->cx, &w->suffix, wish, (void *)i);
            return s;
        }
    }
}

static void name_value(Wire *w, Ox v, Str wish)
{
    if (!w->value[v->id])
        w->value[v->id] = unique(w, wish);
}

/* "layer1.0.conv1" -> "/layer1/0/conv1"; "" for none */
static Str module_prefix(Wire *w, SourceId at)
{
    Str path = place_module(w->cx, at);
    Str names = place_names(w->cx, at);
    if (names)
        return names;
    if (!path || path->len == 0)
        return str_of(w->cx, "");
    if (path == w->path)
        return w->prefix;
    char *prefix = new_array(w->cx, char, path->len + 1);
    if (!prefix)
        return path;
    prefix[0] = '/';
    for (uint32_t i = 0; i < path->len; i++)
        prefix[i + 1] = path->s[i] == '.' ? '/' : path->s[i];
    w->path = path;
    return w->prefix = str_n(w->cx, prefix, path->len + 1);
}

/* What the operator calls its i-th input: "shape", "axes". */
static Str formal_name(Wire *w, const Node *n, int i)
{
    const OpVersion *version = n->op ? onnx_version(n->op, w->info->opset) : NULL;
    if (version && i < version->n_in)
        return str_of(w->cx, version->in[i].name);
    return str_fmt(w->cx, "input_%d", i);
}

static Str output_name(Ctx *cx, Str node, int i)
{
    return i == 0 ? str_cat(cx, node->s, "_output_0", "") : str_fmt(cx, "%s_output_%d", node->s, i);
}

static void name_graph(Wire *w, const Graph *g);

static void name_node(Wire *w, const Node *n)
{
    Ctx *cx = w->cx;
    Str name = unique(w, str_cat(cx, module_prefix(w, n->at)->s, "/", n->name->s));
    w->node[n->id] = name;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && n->in[i]->kind == OX_CONST && !w->value[n->in[i]->id])
            name_value(w, n->in[i], str_cat(cx, name->s, "_", formal_name(w, n, i)->s));
    for (int i = 0; i < n->n_attr; i++)
        if (n->attr[i].kind == ATTR_GRAPH)
            name_graph(w, n->attr[i].g);
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i] && !w->value[n->out[i]->id])
            name_value(w, n->out[i], n->out[i]->name ? n->out[i]->name : output_name(cx, name, i));
}

static void name_graph(Wire *w, const Graph *g)
{
    for (size_t i = 0; i < g->inputs.n; i++)
        if (!w->value[g->inputs.at[i]->id])
            name_value(w, g->inputs.at[i],
                       g->inputs.at[i]->name ? g->inputs.at[i]->name : str_of(w->cx, "input"));
    for (size_t i = 0; i < g->nodes.n && !ctx_failed(w->cx); i++)
        if (!g->nodes.at[i]->dead)
            name_node(w, g->nodes.at[i]);
    for (size_t i = 0; i < g->outputs.n; i++) /* a constant that nothing else uses */
        name_value(w, g->outputs.at[i], str_of(w->cx, "output"));
}

/* The user's names first, so that they are never the ones that get a suffix. */
static void name_all(Wire *w, const Graph *root)
{
    for (size_t i = 0; i < root->inputs.n; i++)
        if (root->inputs.at[i]->name)
            name_value(w, root->inputs.at[i], root->inputs.at[i]->name);
    for (size_t i = 0; i < root->outputs.n; i++)
        if (root->outputs.at[i]->name)
            name_value(w, root->outputs.at[i], root->outputs.at[i]->name);
    for (size_t i = 0; i < w->inits.n; i++)
        if (w->inits.at[i].v->k->name)
            name_value(w, w->inits.at[i].v, w->inits.at[i].v->k->name);
    for (size_t i = 0; i < w->inits.n; i++)
        if (w->inits.at[i].v->k->derived)
            name_value(w, w->inits.at[i].v, w->inits.at[i].v->k->derived);
    name_graph(w, root);
}

/* ---- what is to be written: ids and the constants in use ---- */

static void see_value(Wire *w, Ox v)
{
    if (v->id >= w->n_value)
        w->n_value = v->id + 1;
}

static void see_graph(Wire *w, const Graph *g);

static void see_node(Wire *w, const Node *n)
{
    if (n->at >= w->n_place)
        w->n_place = n->at + 1;
    if (n->id >= w->n_node)
        w->n_node = n->id + 1;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i])
            see_value(w, n->in[i]);
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i])
            see_value(w, n->out[i]);
    for (int i = 0; i < n->n_attr; i++)
        if (n->attr[i].kind == ATTR_GRAPH)
            see_graph(w, n->attr[i].g);
}

static void see_graph(Wire *w, const Graph *g)
{
    for (size_t i = 0; i < g->inputs.n; i++)
        see_value(w, g->inputs.at[i]);
    for (size_t i = 0; i < g->outputs.n; i++)
        see_value(w, g->outputs.at[i]);
    for (size_t i = 0; i < g->nodes.n; i++)
        if (!g->nodes.at[i]->dead)
            see_node(w, g->nodes.at[i]);
}

const Graph *wire_function_body(const Node *n)
{
    if (n->domain && n->domain->len)
        for (int i = 0; i < n->n_attr; i++)
            if (n->attr[i].kind == ATTR_GRAPH && strcmp(n->attr[i].name, FUNCTION_BODY) == 0)
                return n->attr[i].g;
    return NULL;
}

/* seen: constants in use, inputs, and what the nodes so far have made. A value that is not there
 * would be a cycle in the file, or has no node in it at all. */
static bool use_value(Wire *w, Ox v, bool *seen, SourceId at)
{
    if (v->kind == OX_DIMS || v->kind == OX_POISONED)
        return fail_at(w->cx, at, E_BUG, "a value without a node reached the writer");
    if (v->kind != OX_CONST && !seen[v->id])
        return fail_at(w->cx, at, E_BUG, "a value is used before it is made");
    if (v->kind == OX_CONST && !seen[v->id]) {
        seen[v->id] = true;
        vec_push(w->cx, &w->inits,
                 (Init){ .v = v,
                         .is_node = w->info->constant_nodes && !const_is_weight(v->k),
                         .user = w->user });
    }
    return true;
}

/* Defaults of the root's inputs are initializers of their names. */
static void use_defaults(Wire *w, const Graph *root)
{
    for (size_t i = 0; i < w->info->unused.n; i++)
        vec_push(w->cx, &w->inits, (Init){ .v = w->info->unused.at[i] });
    for (size_t i = 0; i < root->inputs.n; i++)
        if (root->inputs.at[i]->k)
            vec_push(w->cx, &w->inits, (Init){ .v = root->inputs.at[i] });
}

static bool use_function(Wire *w, const Node *n);

/* Constants in the order of their first use. Every other value is made before it is used. */
static bool use_graph(Wire *w, const Graph *g, bool *seen)
{
    for (size_t i = 0; i < g->inputs.n; i++)
        seen[g->inputs.at[i]->id] = true;
    for (size_t k = 0; k < g->nodes.n; k++) {
        const Node *n = g->nodes.at[k];
        if (n->dead)
            continue;
        if (!g->up)
            w->user = n;
        for (int i = 0; i < n->n_in; i++)
            if (n->in[i] && !use_value(w, n->in[i], seen, n->at))
                return false;
        for (int i = 0; i < n->n_attr; i++)
            if (n->attr[i].kind == ATTR_GRAPH &&
                !(n->attr[i].g == wire_function_body(n) ? use_function(w, n)
                                                        : use_graph(w, n->attr[i].g, seen)))
                return false;
        for (int i = 0; i < n->n_out; i++)
            if (n->out[i])
                seen[n->out[i]->id] = true;
    }
    if (!g->up)
        w->user = NULL;
    for (size_t i = 0; i < g->outputs.n; i++)
        if (!use_value(w, g->outputs.at[i], seen, 0))
            return false;
    return true;
}

/* ---- functions ----
 *
 * Bodies of custom nodes (ops/function.c). A body sees nothing of outside, and has its constants as
 * nodes. */

/* Is g the body, or a graph inside it? */
static bool is_inside(const Graph *g, const Graph *body)
{
    while (g && g != body)
        g = g->up;
    return g != NULL;
}

/* Every value that nodes of g use is made in the function's body, or is a constant; else an error.
 * g is the body or a graph inside it. */
static bool sees_itself_only(Wire *w, const Graph *body, const Graph *g, SourceId at)
{
    for (size_t k = 0; k < g->nodes.n; k++) {
        const Node *n = g->nodes.at[k];
        if (n->dead)
            continue;
        for (int i = 0; i < n->n_in; i++)
            if (n->in[i] && n->in[i]->kind != OX_CONST && !is_inside(n->in[i]->graph, body))
                return fail_at(w->cx, at, E_UNSUPPORTED,
                               "the body of function %s needs a value of outside; its rule must do "
                               "without the clause `function`",
                               body->name->s);
        for (int i = 0; i < n->n_attr; i++)
            if (n->attr[i].kind == ATTR_GRAPH && !sees_itself_only(w, body, n->attr[i].g, at))
                return false;
    }
    return true;
}

/* Functions that a body calls: they stand before it. */
static bool use_functions_in(Wire *w, const Graph *g)
{
    for (size_t k = 0; k < g->nodes.n; k++) {
        const Node *n = g->nodes.at[k];
        for (int i = 0; !n->dead && i < n->n_attr; i++)
            if (n->attr[i].kind == ATTR_GRAPH &&
                !(n->attr[i].g == wire_function_body(n) ? use_function(w, n)
                                                        : use_functions_in(w, n->attr[i].g)))
                return false;
    }
    return true;
}

/* Calls with the same body call one function; another body of the same name gets NAME_1, .. */
static bool use_function(Wire *w, const Node *n)
{
    Ctx *cx = w->cx;
    const Graph *body = wire_function_body(n);
    if (!sees_itself_only(w, body, body, n->at) || !use_functions_in(w, body))
        return false;
    Str full = str_fmt(cx, "%s::%s", n->domain->s, n->name->s);
    Str key = str_cat(cx, full->s, "\n", graph_key(cx, body)->s);
    Str name = map_get(&w->bodies, key);
    if (!name) {
        uintptr_t before = (uintptr_t)map_get(&w->same_name, full);
        name = before ? str_fmt(cx, "%s_%zu", n->name->s, (size_t)before) : n->name;
        map_put(cx, &w->same_name, full, (void *)(before + 1));
        map_put(cx, &w->bodies, key, name);
        vec_push(cx, &w->calls, n);
    }
    map_put(cx, &w->function_of, body, name);
    return !ctx_failed(cx);
}

/* ---- the plan ---- */

/* An output has a name of its own and is made in its graph; tidy puts an Identity where that is not
 * so. A function's has no type in the file. */
static bool check_outputs(Wire *w, const Graph *g, bool typed)
{
    for (size_t i = 0; i < g->outputs.n; i++) {
        Ox v = g->outputs.at[i];
        if (w->is_output[v->id] || (g->up && (v->kind != OX_NODE || v->graph != g)))
            return fail(w->cx, E_BUG, "output %zu of graph %s needs an Identity", i,
                        g->name ? g->name->s : "main");
        if (typed && !type_is_known(v->type))
            return fail(w->cx, E_BUG, "output %zu of graph %s has no type", i,
                        g->name ? g->name->s : "main");
        w->is_output[v->id] = true;
    }
    for (size_t k = 0; k < g->nodes.n; k++) {
        const Node *n = g->nodes.at[k];
        for (int i = 0; !n->dead && i < n->n_attr; i++)
            if (n->attr[i].kind == ATTR_GRAPH &&
                !check_outputs(w, n->attr[i].g, n->attr[i].g != wire_function_body(n)))
                return false;
    }
    return true;
}

/* A few bytes that are read with stride 0, or under many overlapping views, may ask for any number
 * of bytes of output. */
static bool weights_fit(const Wire *w)
{
    uint64_t all = 0;
    for (size_t i = 0; i < w->inits.n; i++)
        if (!uadd_ok(all, const_bytes(w->inits.at[i].v->k), &all))
            all = UINT64_MAX;
    if (w->info->most_weights == 0 || all <= w->info->most_weights)
        return true;
    fail(w->cx, E_LIMIT, "the weights take %llu bytes to write, and the limit is %llu",
         (unsigned long long)all, (unsigned long long)w->info->most_weights);
    fail_is_final(w->cx);
    fail_hint(
        w->cx,
        "--limit output=%llu, if you trust the file; by default it is 256 MB and 16 times what "
        "the file has",
        (unsigned long long)all);
    return false;
}

/* What must be known before the first byte is written: names, which constants are initializers, and
 * the functions. NULL after an error. */
Wire *wire_plan(Ctx *cx, const Graph *g, const ModelInfo *info)
{
    Wire *w = new(cx, Wire);
    w->cx = cx;
    w->graph = g;
    w->info = info;
    w->no_name = str_of(cx, "");
    w->source_key = str_of(cx, "pt2onnx.source");
    w->module_key = str_of(cx, "pt2onnx.module");
    w->class_key = str_of(cx, "pt2onnx.class");
    see_graph(w, g);
    for (size_t i = 0; i < info->unused.n; i++)
        see_value(w, info->unused.at[i]);
    w->value = new_array(cx, Str, w->n_value + 1);
    w->node = new_array(cx, Str, w->n_node + 1);
    w->is_output = new_array(cx, bool, w->n_value + 1);
    w->props = new_array(cx, NodeProps *, w->n_place + 1);
    bool *seen = new_array(cx, bool, w->n_value + 1);
    if (!w->value || !w->node || !w->is_output || !w->props || !seen)
        return NULL;
    use_defaults(w, g);
    if (ctx_failed(cx) || !use_graph(w, g, seen) || !weights_fit(w) || !check_outputs(w, g, true))
        return NULL;
    name_all(w, g);
    return ctx_failed(cx) ? NULL : w;
}
