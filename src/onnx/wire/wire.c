/* wire.c - writes the finished graph as an ONNX file (the protobuf wire format of onnx.proto).
 *
 * One idea: the same functions measure and write. The first walk has no sink and only adds up
 * lengths, the second writes them and the bytes (wire_put.c). So nothing is ever built in memory,
 * weights least of all (wire_const.c). Before both, wire_plan.c names every value and node.
 *
 * Does not: change the graph. What cannot be written as it stands is our own mistake (E_BUG),
 * except a file over 2 GB. */
#include "onnx/wire/wire.h"
#include "pt2onnx.h"

/* ---- what is where in onnx.proto ---- */

enum {
    MODEL_IR = 1,
    MODEL_PRODUCER = 2,
    MODEL_PRODUCER_VERSION = 3,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    MODEL_PROPS = 14,
    MODEL_FUNCTION = 25
};
enum {
    FUNCTION_NAME = 1,
    FUNCTION_INPUT = 4,
    FUNCTION_OUTPUT = 5,
    FUNCTION_ATTR = 6,
    FUNCTION_NODE = 7,
    FUNCTION_OPSET = 9,
    FUNCTION_DOMAIN = 10
};
enum {
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    GRAPH_VALUE = 13
};
enum {
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_NAME = 3,
    NODE_OP = 4,
    NODE_ATTR = 5,
    NODE_DOC = 6,
    NODE_DOMAIN = 7,
    NODE_PROPS = 9
};
enum {
    ATTR_F_NAME = 1,
    ATTR_F_F = 2,
    ATTR_F_I = 3,
    ATTR_F_S = 4,
    ATTR_F_T = 5,
    ATTR_F_G = 6,
    ATTR_F_FLOATS = 7,
    ATTR_F_INTS = 8,
    ATTR_F_STRINGS = 9,
    ATTR_F_TYPE_PROTO = 14,
    ATTR_F_KIND = 20
};

enum {
    IR_OF_FUNCTIONS = 8,      /* the first that has functions in a model */
    IR_OF_DEFAULTS = 4,       /* the first in which an initializer may be the default of an input */
    ONE_FILE_MAX = INT32_MAX, /* protobuf's own limit for one message */
    EXTERNAL_MIN = 1024, /* smaller tensors stay in the model: shape inference reads them there */
    PAGE = 4096,         /* reflinks and mappings need offsets equal modulo this */
    ALIGN = 64,          /* of tensors in the data file that are not copied from a file */
};

int onnx_ir_version(int opset)
{
    static const struct {
        int opset, ir;
    } first[] = {
        /* the release of ONNX that brought the opset */
        { 28, 14 }, { 25, 13 }, { 24, 12 }, { 23, 11 }, { 21, 10 }, { 19, 9 },
        { 15, 8 },  { 12, 7 },  { 11, 6 },  { 10, 5 },  { 9, 4 },
    };
    for (size_t i = 0; i < COUNT(first); i++)
        if (opset >= first[i].opset)
            return first[i].ir;
    return 3;
}

/* ---- types ---- */

static Str dim_name(Wire *w, Dim d)
{
    Str s = map_get(&w->dims, d);
    if (!s) {
        s = dim_text(w->cx, d);
        map_put(w->cx, &w->dims, d, s);
    }
    return s;
}

static void put_shape(Wire *w, Type t)
{
    enum { TYPE_SHAPE = 2, SHAPE_DIM = 1, DIM_VALUE = 1, DIM_PARAM = 2 };
    Msg shape = open_msg(w, TYPE_SHAPE);
    for (int a = 0; a < t->rank; a++) {
        Msg dim = open_msg(w, SHAPE_DIM);
        int64_t known;
        if (dim_known(t->dim[a], &known))
            put_int(w, DIM_VALUE, known);
        else
            put_str(w, DIM_PARAM, dim_name(w, t->dim[a]));
        close_msg(w, dim);
    }
    close_msg(w, shape);
}

/* TypeProto */
static void put_type(Wire *w, int field, Type t)
{
    enum { TYPE_TENSOR = 1, TYPE_SEQUENCE = 4, TYPE_OPTIONAL = 9, TYPE_ELEM = 1 };
    static const int field_of[] = { [T_TENSOR] = TYPE_TENSOR,
                                    [T_SEQUENCE] = TYPE_SEQUENCE,
                                    [T_OPTIONAL] = TYPE_OPTIONAL };
    Msg type = open_msg(w, field);
    Msg kind = open_msg(w, field_of[t->kind]);
    if (t->kind == T_TENSOR) {
        put_int(w, TYPE_ELEM, t->dtype);
        if (t->rank >= 0)
            put_shape(w, t);
    } else {
        put_type(w, TYPE_ELEM, t->elem);
    }
    close_msg(w, kind);
    close_msg(w, type);
}

/* ValueInfoProto */
static void put_value(Wire *w, int field, Ox v)
{
    Msg m = open_msg(w, field);
    put_str(w, 1, w->value[v->id]);
    put_type(w, 2, v->type);
    close_msg(w, m);
}

/* An output of the model, with the names that the caller has for its sizes. */
static void put_output(Wire *w, Ox v, Type stated)
{
    Dim dim[MAX_RANK];
    Type t = stated ? stated : v->type;
    Str name = w->value[v->id];
    for (int a = 0; t->kind == T_TENSOR && a < t->rank; a++) {
        Str asked = map_get(&w->info->dim_names, str_fmt(w->cx, "%s.%d", name->s, a));
        dim[a] = asked ? dim_sym(w->cx, asked) : t->dim[a];
    }
    Msg m = open_msg(w, GRAPH_OUTPUT);
    put_str(w, 1, name);
    put_type(w, 2,
             t->kind == T_TENSOR && t->rank > 0 ? type_tensor(w->cx, t->dtype, t->rank, dim) : t);
    close_msg(w, m);
}

/* ---- nodes ---- */

static void put_graph(Wire *w, int field, const Graph *g, Str name);

static int attr_proto_kind(AttrKind kind)
{
    switch (kind) {
    case ATTR_FLOAT:   return 1;
    case ATTR_INT:     return 2;
    case ATTR_STRING:  return 3;
    case ATTR_TENSOR:  return 4;
    case ATTR_GRAPH:   return 5;
    case ATTR_FLOATS:  return 6;
    case ATTR_INTS:    return 7;
    case ATTR_STRINGS: return 8;
    case ATTR_TYPE:    return 13;
    case ATTR_NONE:    break;
    }
    return 0;
}

/* AttributeProto */
static void put_attr(Wire *w, const Node *n, const Attr *a)
{
    if (a->kind == ATTR_NONE)
        return;
    Msg m = open_msg(w, NODE_ATTR);
    put_text(w, ATTR_F_NAME, a->name);
    switch (a->kind) {
    case ATTR_INT:    put_int(w, ATTR_F_I, a->i); break;
    case ATTR_FLOAT:  put_float(w, ATTR_F_F, a->f); break;
    case ATTR_STRING: put_str(w, ATTR_F_S, a->s); break;
    case ATTR_TENSOR: put_tensor(w, ATTR_F_T, a->t, NULL, NULL); break;
    case ATTR_TYPE:   put_type(w, ATTR_F_TYPE_PROTO, a->type); break;
    case ATTR_GRAPH:
        put_graph(w, ATTR_F_G, a->g, str_fmt(w->cx, "%s_%s", w->node[n->id]->s, a->name));
        break;
    case ATTR_INTS:
        for (size_t i = 0; i < a->n; i++)
            put_int(w, ATTR_F_INTS, a->ints[i]);
        break;
    case ATTR_FLOATS:
        for (size_t i = 0; i < a->n; i++)
            put_float(w, ATTR_F_FLOATS, a->floats[i]);
        break;
    case ATTR_STRINGS:
        for (size_t i = 0; i < a->n; i++)
            put_str(w, ATTR_F_STRINGS, a->strs[i]);
        break;
    case ATTR_NONE: break;
    }
    put_int(w, ATTR_F_KIND, attr_proto_kind(a->kind));
    close_msg(w, m);
}

static Str module_type(Ctx *cx, SourceId at)
{
    for (const Place *p = place(cx, at); p; p = place_up(cx, &at))
        if (p->kind == WHERE_MODULE)
            return p->type;
    return NULL;
}

/* Computed once per place: asking for a line may read debug records. */
static const NodeProps *node_props(Wire *w, SourceId at)
{
    NodeProps *p = w->props[at];
    if (p)
        return p;
    p = w->props[at] = new(w->cx, NodeProps);
    Pos pos;
    if (place_line(w->cx, at, &pos) && pos.file)
        p->source = str_fmt(w->cx, "%s:%u", pos.file->s, pos.line);
    p->module = place_module(w->cx, at);
    p->type = module_type(w->cx, at);
    return p;
}

static void put_node_props(Wire *w, const Node *n)
{
    const NodeProps *p = node_props(w, n->at);
    if (p->source)
        put_prop(w, NODE_PROPS, w->source_key, p->source);
    if (p->module && p->module->len)
        put_prop(w, NODE_PROPS, w->module_key, p->module);
    if (p->type)
        put_prop(w, NODE_PROPS, w->class_key, p->type);
}

/* NodeProto */
static void put_node(Wire *w, int field, const Node *n)
{
    Msg m = open_msg(w, field);
    for (int i = 0; i < n->n_in; i++)
        put_str(w, NODE_INPUT, n->in[i] ? w->value[n->in[i]->id] : w->no_name);
    for (int i = 0; i < n->n_out; i++)
        put_str(w, NODE_OUTPUT, n->out[i] ? w->value[n->out[i]->id] : w->no_name);
    put_str(w, NODE_NAME, w->node[n->id]);
    const Graph *body = wire_function_body(n);
    put_str(w, NODE_OP, body ? map_get(&w->function_of, body) : n->name);
    for (int i = 0; i < n->n_attr; i++)
        if (!body || n->attr[i].g != body || n->attr[i].kind != ATTR_GRAPH)
            put_attr(w, n, &n->attr[i]);
    if (w->info->doc_strings && n->at && node_props(w, n->at)->source)
        put_str(w, NODE_DOC, node_props(w, n->at)->source);
    if (n->domain && n->domain->len)
        put_str(w, NODE_DOMAIN, n->domain);
    if (w->info->node_props && n->at)
        put_node_props(w, n);
    close_msg(w, m);
}

/* NodeProto: a Constant */
static void put_constant(Wire *w, int field, Ox v)
{
    Str name = w->value[v->id];
    Msg m = open_msg(w, field);
    put_str(w, NODE_OUTPUT, name);
    put_str(w, NODE_NAME, name);
    put_text(w, NODE_OP, "Constant");
    Msg attr = open_msg(w, NODE_ATTR);
    put_text(w, ATTR_F_NAME, "value");
    put_tensor(w, ATTR_F_T, v->k, NULL, NULL);
    put_int(w, ATTR_F_KIND, attr_proto_kind(ATTR_TENSOR));
    close_msg(w, attr);
    close_msg(w, m);
}

/* ---- graphs and the model ---- */

/* The Constant nodes that `user` is the first to need; `next` walks w->inits, which are in that
 * order but for initializers: nothing waits for one. */
static void put_constants(Wire *w, const Node *user, size_t *next)
{
    for (; *next < w->inits.n; (*next)++) {
        const Init *init = &w->inits.at[*next];
        if (!init->is_node)
            continue;
        if (init->user != user)
            return;
        put_constant(w, GRAPH_NODE, init->v);
    }
}

static void put_nodes(Wire *w, const Graph *g)
{
    size_t next = 0;
    for (size_t i = 0; i < g->nodes.n && !w->failed && !ctx_failed(w->cx); i++) {
        if (g->nodes.at[i]->dead)
            continue;
        if (!g->up)
            put_constants(w, g->nodes.at[i], &next);
        put_node(w, GRAPH_NODE, g->nodes.at[i]);
    }
    if (!g->up)
        put_constants(w, NULL, &next);
}

static void put_initializers(Wire *w)
{
    for (size_t i = 0; i < w->inits.n && !w->failed; i++) {
        const Init *init = &w->inits.at[i];
        if (init->is_node)
            continue;
        put_tensor(w, GRAPH_INITIALIZER, init->v->k, w->value[init->v->id], init);
    }
}

/* The default of an input stands among the inputs without that. */
static bool becomes_input(const Init *init) { return !init->is_node && init->v->kind == OX_CONST; }

static void put_signature(Wire *w, const Graph *g)
{
    for (size_t i = 0; i < g->inputs.n; i++)
        put_value(w, GRAPH_INPUT, g->inputs.at[i]);
    if (!g->up && w->info->initializers_as_inputs)
        for (size_t i = 0; i < w->inits.n; i++)
            if (becomes_input(&w->inits.at[i]))
                put_value(w, GRAPH_INPUT, w->inits.at[i].v);
    for (size_t i = 0; i < g->outputs.n; i++)
        if (g->up)
            put_value(w, GRAPH_OUTPUT, g->outputs.at[i]);
        else
            put_output(w, g->outputs.at[i], map_get(&g->stated, (const void *)(uintptr_t)(i + 1)));
}

/* Every value that a node makes, with its type; outputs have theirs in the signature. */
static void put_values(Wire *w, const Graph *g)
{
    for (size_t k = 0; k < g->nodes.n; k++) {
        const Node *n = g->nodes.at[k];
        if (n->dead)
            continue;
        for (int i = 0; i < n->n_out; i++)
            if (n->out[i] && !w->is_output[n->out[i]->id] && type_is_known(n->out[i]->type))
                put_value(w, GRAPH_VALUE, n->out[i]);
    }
}

/* GraphProto. Initializers stand in the root graph only. */
static void put_graph(Wire *w, int field, const Graph *g, Str name)
{
    Msg m = open_msg(w, field);
    put_nodes(w, g);
    put_str(w, GRAPH_NAME, g->name && g->name->len ? g->name : name);
    if (!g->up)
        put_initializers(w);
    put_signature(w, g);
    put_values(w, g);
    close_msg(w, m);
}

static void put_opset(Wire *w, int field, Str domain, int64_t version)
{
    Msg m = open_msg(w, field);
    if (domain)
        put_str(w, 1, domain);
    put_int(w, 2, version);
    close_msg(w, m);
}

static void put_opsets(Wire *w, int field)
{
    put_opset(w, field, NULL, w->info->opset);
    for (size_t i = 0; i < w->info->domains.n; i++)
        put_opset(w, field, w->info->domains.at[i].domain, w->info->domains.at[i].version);
}

/* The constants of a body and of the graphs in it, each once, before everything that needs them. */
static void put_body_constants(Wire *w, const Graph *g, Map *written)
{
    for (size_t k = 0; k < g->nodes.n; k++) {
        const Node *n = g->nodes.at[k];
        if (n->dead)
            continue;
        for (int i = 0; i < n->n_in; i++)
            if (n->in[i] && n->in[i]->kind == OX_CONST && map_add(w->cx, written, n->in[i], NULL))
                put_constant(w, FUNCTION_NODE, n->in[i]);
        for (int i = 0; i < n->n_attr; i++)
            if (n->attr[i].kind == ATTR_GRAPH && n->attr[i].g != wire_function_body(n))
                put_body_constants(w, n->attr[i].g, written);
    }
}

/* FunctionProto. Its attributes are there for a kernel of its name: the body has their values in
 * it. */
static void put_function(Wire *w, const Node *call)
{
    const Graph *body = wire_function_body(call);
    Map written = { 0 };
    Msg m = open_msg(w, MODEL_FUNCTION);
    put_str(w, FUNCTION_NAME, map_get(&w->function_of, body));
    for (size_t i = 0; i < body->inputs.n; i++)
        put_str(w, FUNCTION_INPUT, w->value[body->inputs.at[i]->id]);
    for (size_t i = 0; i < body->outputs.n; i++)
        put_str(w, FUNCTION_OUTPUT, w->value[body->outputs.at[i]->id]);
    for (int i = 0; i < call->n_attr; i++)
        if (call->attr[i].kind != ATTR_GRAPH && call->attr[i].kind != ATTR_NONE)
            put_text(w, FUNCTION_ATTR, call->attr[i].name);
    put_body_constants(w, body, &written);
    for (size_t i = 0; i < body->nodes.n; i++)
        if (!body->nodes.at[i]->dead)
            put_node(w, FUNCTION_NODE, body->nodes.at[i]);
    put_opsets(w, FUNCTION_OPSET);
    put_str(w, FUNCTION_DOMAIN, call->domain);
    close_msg(w, m);
}

/* Before IR version 4 an initializer of an input's name is that input for good. */
static bool has_defaults(const Graph *g)
{
    for (size_t i = 0; i < g->inputs.n; i++)
        if (g->inputs.at[i]->k)
            return true;
    return false;
}

/* ModelProto: the whole file */
static void put_model(Wire *w, const Graph *g)
{
    const ModelInfo *info = w->info;
    int ir = onnx_ir_version(info->opset);
    int least = has_defaults(g) ? IR_OF_DEFAULTS : 0;
    if (w->calls.n > 0)
        least = IR_OF_FUNCTIONS;
    put_int(w, MODEL_IR, ir < least ? least : ir);
    put_text(w, MODEL_PRODUCER, "pt2onnx");
    put_text(w, MODEL_PRODUCER_VERSION, PT2ONNX_VERSION);
    put_graph(w, MODEL_GRAPH, g, info->graph_name ? info->graph_name : str_of(w->cx, "main"));
    put_opsets(w, MODEL_OPSET);
    for (size_t i = 0; i < info->props.n; i++)
        put_prop(w, MODEL_PROPS, info->props.at[i].key, info->props.at[i].value);
    for (size_t i = 0; i < w->calls.n; i++)
        put_function(w, w->calls.at[i]);
}

/* ---- the file: where each weight goes, and its length ---- */

static uint64_t round_up(uint64_t at, uint64_t to, uint64_t rest)
{
    return at + (rest + to - at % to) % to;
}

static bool in_file(const Const *k)
{
    return k->bytes.src && k->bytes.src->kind == SRC_FILE && const_contiguous(k);
}

/* In the data file, weights lie one after the other, each at its place modulo a page, so that
 * blocks can be shared. */
static void place_external(Wire *w, Str data_name)
{
    w->data_name = data_name;
    uint64_t at = 0;
    for (size_t i = 0; i < w->inits.n; i++) {
        Init *init = &w->inits.at[i];
        const Const *k = init->v->k;
        init->size = const_bytes(k);
        init->external = k->dtype != DT_STRING && init->size >= EXTERNAL_MIN;
        init->is_node = init->is_node && !init->external;
        if (!init->external)
            continue;
        at = in_file(k) && init->size >= PAGE ? round_up(at, PAGE, k->bytes.off % PAGE)
                                              : round_up(at, ALIGN, 0);
        init->offset = at;
        at += init->size;
    }
}

/* Places weights in the archive itself, if its bytes are those of the weight as they stand. */
static void place_linked(Wire *w, Str archive)
{
    w->data_name = archive;
    for (size_t i = 0; i < w->inits.n; i++) {
        Init *init = &w->inits.at[i];
        const Const *k = init->v->k;
        init->size = const_bytes(k);
        init->external = in_file(k) && init->size >= EXTERNAL_MIN;
        init->offset = k->bytes.off;
    }
}

static uint64_t measure(Wire *w)
{
    if (w->measured)
        return w->measured;
    w->out = NULL;
    w->n = 0;
    put_model(w, w->graph);
    return w->measured = w->n;
}

/* Weights have moved to another file: what was measured is no more so. */
static void forget_measured(Wire *w)
{
    w->measured = 0;
    w->size.n = 0;
}

/* Where the last of the weights in a file of their own ends. */
static uint64_t data_size(const Wire *w)
{
    uint64_t end = 0;
    for (size_t i = 0; i < w->inits.n; i++) {
        const Init *init = &w->inits.at[i];
        if (init->external && init->offset + init->size > end)
            end = init->offset + init->size;
    }
    return end;
}

static bool write_data(Wire *w, Sink *data)
{
    Sink *model = w->out;
    uint64_t start = data->at;
    w->out = data;
    sink_expect(data, "writing weights", data_size(w));
    for (size_t i = 0; i < w->inits.n && !w->failed; i++) {
        const Init *init = &w->inits.at[i];
        if (!init->external)
            continue;
        wire_flush(w);
        w->failed = w->failed || !sink_pad(w->cx, data, start + init->offset - data->at);
        put_elements(w, init->v->k);
    }
    wire_flush(w);
    w->out = model;
    return !w->failed;
}

uint64_t wire_size(Ctx *cx, Graph *g, const ModelInfo *info)
{
    Wire *w = wire_plan(cx, g, info);
    return w ? measure(w) : 0;
}

/* Bytes of constants, counted at each use, and nodes: no more than this many of both are far from
 * the limit. */
static void count_graph(const Graph *g, uint64_t *bytes, uint64_t *nodes)
{
    for (size_t k = 0; k < g->nodes.n; k++) {
        const Node *n = g->nodes.at[k];
        for (int i = 0; i < n->n_in; i++)
            if (n->in[i] && n->in[i]->kind == OX_CONST && *bytes < ONE_FILE_MAX)
                *bytes += const_bytes(n->in[i]->k);
        for (int i = 0; i < n->n_attr; i++) {
            if (n->attr[i].kind == ATTR_GRAPH)
                count_graph(n->attr[i].g, bytes, nodes);
            if (n->attr[i].kind == ATTR_TENSOR && *bytes < ONE_FILE_MAX)
                *bytes += const_bytes(n->attr[i].t);
        }
    }
    *nodes += g->nodes.n;
}

bool wire_fits(Wire *w)
{
    uint64_t bytes = 0;
    uint64_t nodes = 0;
    count_graph(w->graph, &bytes, &nodes);
    return (bytes < ONE_FILE_MAX / 2 && nodes < 50000) || measure(w) <= ONE_FILE_MAX;
}

static bool is_too_large(Ctx *cx, uint64_t size)
{
    if (size <= ONE_FILE_MAX)
        return false;
    fail(cx, E_UNSUPPORTED, "the model is %llu bytes; one ONNX file holds at most %d",
         (unsigned long long)size, ONE_FILE_MAX);
    fail_hint(cx, "--weights=external");
    return true;
}

/* Two passes: the first one measures, as a message in the file begins with its length. */
bool wire_write_planned(Wire *w, Sink *out, Sink *data, const char *data_name)
{
    Ctx *cx = w->cx;
    if (data || w->info->weights == WEIGHTS_LINK)
        forget_measured(w);
    if (data)
        place_external(w, str_of(cx, data_name));
    else if (w->info->weights == WEIGHTS_LINK)
        place_linked(w, str_of(cx, w->info->link_name));
    uint64_t size = measure(w);
    uint64_t start = out->at;
    if (ctx_failed(cx) || is_too_large(cx, size))
        return false;
    w->out = out;
    if (data && !write_data(w, data))
        return false;
    sink_expect(out, "writing the model", size);
    put_model(w, w->graph);
    wire_flush(w);
    if (w->failed || ctx_failed(cx))
        return false;
    return out->at - start == size ||
        fail(cx, E_BUG, "wrote %llu bytes, measured %llu", (unsigned long long)(out->at - start),
             (unsigned long long)size);
}

bool wire_write(Ctx *cx, Graph *g, const ModelInfo *info, Sink *out, Sink *data,
                const char *data_name)
{
    Wire *w = wire_plan(cx, g, info);
    return w && wire_write_planned(w, out, data, data_name);
}
