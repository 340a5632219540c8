/* wire_read.c - an ONNX file back as a graph: for `show`, for tests, for fuzzing.
 *
 * The three outer messages - the model, its graph, the graph's initializers - are walked in the
 * file itself, so that weights stay where they are, as ranges of the file. Everything inside them
 * is small: it is loaded piece by piece (a node, a type) and read from memory. Trusts no byte:
 * every length comes from a bounded cursor, nesting is counted, and memory is asked for only after
 * the bytes that fill it have been counted.
 *
 * Types are those written, nothing is inferred. Nodes lose their names (the writer makes them again
 * from module paths); values keep theirs. Local functions and training information are passed over,
 * with a note. A dimension that is neither a number nor named becomes a fresh symbol. */
#include "onnx/wire/wire_read.h"

typedef struct Scope {
    Map values;
    Map types;
    const struct Scope *up;
} Scope;

/* ---- values by name ---- */

static Ox look_up(const Scope *s, Str name)
{
    for (; s; s = s->up) {
        Ox v = map_get(&s->values, name);
        if (v)
            return v;
    }
    return NULL;
}

static bool define(In *in, Scope *s, Str name, Ox v)
{
    if (map_find(&s->values, name))
        return fail(in->cx, E_FORMAT, "the value %s is defined twice", name->s);
    map_put(in->cx, &s->values, name, v);
    return true;
}

static Type given_type(In *in, const Scope *s, Str name)
{
    Type t = (Type)map_get(&s->types, name);
    return t ? t : type_tensor(in->cx, DT_NONE, -1, NULL);
}

/* ---- attributes ---- */

static Graph *read_graph(In *in, Slice message, Graph *up, const Scope *outer);

/* Every field on its own: a file may hold several, the last `type` decides. */
typedef struct RawAttr {
    Str name, s;
    int64_t kind, i;
    double f;
    const Const *t;
    Graph *g;
    Type type;
    Numbers ints, floats;
    VEC(Str) strs;
    bool has_f, has_i;
} RawAttr;

static uint32_t fixed32(Slice s)
{
    Cursor c = over(s);
    return cur_u32(&c);
}

/* How a field of an attribute is written; -1: either way, or not read. */
static int attr_wire(uint32_t number)
{
    switch (number) {
    case 2:  return WIRE_FIXED32;
    case 3:
    case 20: return WIRE_VARINT;
    case 1:
    case 4:
    case 5:
    case 6:
    case 9:
    case 14: return WIRE_LENGTH;
    default: return -1;
    }
}

/* One field of an AttributeProto into *r. A field of another wire type than the format says is
 * damage; a kind that pt2onnx does not read is refused. */
static bool attr_field(In *in, const Cursor *c, const Field *f, RawAttr *r, Graph *g,
                       const Scope *scope)
{
    if (attr_wire(f->number) >= 0 && f->type != attr_wire(f->number))
        return in_damaged(in, "attribute", c);
    Str unused;
    switch (f->number) {
    case 1: r->name = in_text(in, f); return true;
    case 2:
        r->has_f = true;
        r->f = float_of(fixed32(f->bytes));
        return true;
    case 3:
        r->has_i = true;
        r->i = (int64_t)f->v;
        return true;
    case 4:  r->s = in_text(in, f); return true;
    case 5:  return (r->t = in_tensor(in, f->bytes, &unused)) != NULL;
    case 6:  return (r->g = read_graph(in, f->bytes, g, scope)) != NULL;
    case 7:  return in_fixed(in, f, 4, &r->floats);
    case 8:  return in_numbers(in, f, &r->ints);
    case 9:  vec_push(in->cx, &r->strs, in_text(in, f)); return true;
    case 14: return (r->type = in_type(in, f->bytes)) != NULL;
    case 20: r->kind = (int64_t)f->v; return true;
    case 10:
    case 11:
    case 15:
    case 21:
    case 22:
    case 23:
        return fail(in->cx, E_UNSUPPORTED,
                    "attribute %s is of a kind that is not read (a list of tensors or graphs, "
                    "sparse, or a reference)",
                    r->name ? r->name->s : "?");
    default: return true;
    }
}

/* AttributeProto.AttributeType */
enum {
    KIND_FLOAT = 1,
    KIND_INT = 2,
    KIND_STRING = 3,
    KIND_TENSOR = 4,
    KIND_GRAPH = 5,
    KIND_FLOATS = 6,
    KIND_INTS = 7,
    KIND_STRINGS = 8,
    KIND_TYPE = 13,
};

/* The kind of an attribute. Files of the first IR versions have no `type`: there the field with
 * the value decides. */
static int64_t attr_kind(const RawAttr *r)
{
    if (r->kind)
        return r->kind;
    const struct {
        bool there;
        int kind;
    } fields[] = {
        { r->has_f, KIND_FLOAT },        { r->has_i, KIND_INT },
        { r->s != NULL, KIND_STRING },   { r->t != NULL, KIND_TENSOR },
        { r->g != NULL, KIND_GRAPH },    { r->floats.n > 0, KIND_FLOATS },
        { r->strs.n > 0, KIND_STRINGS }, { r->type != NULL, KIND_TYPE },
    };
    for (size_t i = 0; i < COUNT(fields); i++)
        if (fields[i].there)
            return fields[i].kind;
    return KIND_INTS;
}

static bool floats_made(In *in, const RawAttr *r, Attr *a)
{
    double *floats = new_array(in->cx, double, r->floats.n + 1);
    if (!floats)
        return false;
    for (size_t i = 0; i < r->floats.n; i++)
        floats[i] = float_of((uint32_t)r->floats.at[i]);
    *a = (Attr){ .name = a->name, .kind = ATTR_FLOATS, .n = r->floats.n, .floats = floats };
    return true;
}

/* The attribute that the fields make; false for a kind without its field, or an unknown one. */
static bool attr_made(In *in, const RawAttr *r, Attr *a)
{
    const char *name = r->name ? r->name->s : "";
    *a = (Attr){ .name = name };
    switch (attr_kind(r)) {
    case KIND_FLOAT:  *a = FLOAT(name, r->f); return true;
    case KIND_INT:    *a = INT(name, r->i); return true;
    case KIND_STRING: *a = STRING(name, r->s ? r->s : str_of(in->cx, "")); return true;
    case KIND_FLOATS: return floats_made(in, r, a);
    case KIND_INTS:   *a = INT_LIST(name, r->ints.at, r->ints.n); return true;
    case KIND_STRINGS:
        *a = (Attr){ .name = name, .kind = ATTR_STRINGS, .n = r->strs.n, .strs = r->strs.at };
        return true;
    case KIND_TENSOR: *a = (Attr){ .name = name, .kind = ATTR_TENSOR, .t = r->t }; return r->t;
    case KIND_GRAPH:  *a = SUBGRAPH(name, r->g); return r->g;
    case KIND_TYPE:   *a = TYPE(name, r->type); return r->type;
    default:          return false;
    }
}

/* AttributeProto */
static bool read_attr(In *in, Slice message, Graph *g, const Scope *scope, Attr *out)
{
    Cursor c = over(message);
    Field f;
    RawAttr r = { 0 };
    while (in_field(in, &c, "attribute", &f))
        if (!attr_field(in, &c, &f, &r, g, scope))
            return false;
    if (ctx_failed(in->cx))
        return false;
    return attr_made(in, &r, out) || ctx_failed(in->cx) ||
        fail(in->cx, E_FORMAT, "attribute %s does not hold what its type says", out->name);
}

/* ---- nodes ---- */

typedef struct RawNode {
    VEC(Str) in, out;
    VEC(Slice) attr;
    Str op, domain;
} RawNode;

/* The fields of a NodeProto; those after `domain` say nothing that the graph needs. */
static bool node_fields(In *in, Slice message, RawNode *r)
{
    Cursor c = over(message);
    Field f;
    while (in_field(in, &c, "node", &f)) {
        if (f.number > 7)
            continue;
        if (!in_is_message(in, &f, "node", &c))
            return false;
        switch (f.number) {
        case 1:  vec_push(in->cx, &r->in, in_text(in, &f)); break;
        case 2:  vec_push(in->cx, &r->out, in_text(in, &f)); break;
        case 4:  r->op = in_text(in, &f); break;
        case 5:  vec_push(in->cx, &r->attr, f.bytes); break;
        case 7:  r->domain = in_text(in, &f); break;
        default: break;
        }
    }
    if (ctx_failed(in->cx))
        return false;
    if (!r->op)
        return fail(in->cx, E_FORMAT, "a node has no operator");
    if (r->in.n > INT32_MAX || r->out.n > INT32_MAX || r->attr.n > INT32_MAX)
        return fail(in->cx, E_LIMIT, "a %s node has more than %d inputs, outputs or attributes",
                    r->op->s, INT32_MAX);
    return true;
}

static bool node_inputs(In *in, Node *n, const RawNode *r, const Scope *scope)
{
    for (size_t i = 0; i < r->in.n; i++) {
        if (r->in.at[i]->len == 0)
            continue; /* left out */
        n->in[i] = look_up(scope, r->in.at[i]);
        if (!n->in[i])
            return fail(in->cx, E_FORMAT, "a %s node uses %s before anything defines it",
                        n->name->s, r->in.at[i]->s);
    }
    return true;
}

/* A constant is what it holds, whether or not the file says so. */
static Type output_type(In *in, const Node *n, const Scope *scope, Str name)
{
    const Attr *value = node_is(n, "Constant") ? node_attr(n, "value") : NULL;
    if (value && value->kind == ATTR_TENSOR)
        return type_of_ints(in->cx, value->t->dtype, value->t->rank, value->t->dims);
    return given_type(in, scope, name);
}

static bool node_outputs(In *in, Node *n, const RawNode *r, Scope *scope)
{
    for (size_t i = 0; i < r->out.n; i++) {
        Str name = r->out.at[i];
        Ox v = ox_new(n->graph, OX_NODE, output_type(in, n, scope, name));
        v->node = n;
        v->out = (int)i;
        v->name = name;
        n->out[i] = v;
        if (name->len && !define(in, scope, name, v))
            return false;
    }
    return true;
}

/* NodeProto */
static bool read_node(In *in, Slice message, Graph *g, Scope *scope)
{
    RawNode r = { 0 };
    if (!node_fields(in, message, &r))
        return false;
    Node *n = new(in->cx, Node);
    *n = (Node){ .name = r.op,
                 .domain = r.domain ? r.domain : str_of(in->cx, ""),
                 .graph = g,
                 .id = in->nodes++ };
    if (str_is(n->domain, "ai.onnx")) /* the same domain by its long name */
        n->domain = str_of(in->cx, "");
    n->op = n->domain->len == 0 ? onnx_op(in->cx, n->name->s) : NULL;
    n->n_in = (int)r.in.n;
    n->n_out = (int)r.out.n;
    n->n_attr = (int)r.attr.n;
    n->in = new_array(in->cx, Ox, r.in.n + 1);
    n->out = new_array(in->cx, Ox, r.out.n + 1);
    n->attr = new_array(in->cx, Attr, r.attr.n + 1);
    if (!n->in || !n->out || !n->attr || ctx_failed(in->cx))
        return false;
    if (!node_inputs(in, n, &r, scope))
        return false;
    for (size_t i = 0; i < r.attr.n; i++)
        if (!read_attr(in, r.attr.at[i], g, scope, &n->attr[i]))
            return false;
    vec_push(in->cx, &g->nodes, n);
    return node_outputs(in, n, &r, scope);
}

/* ---- graphs ---- */

typedef struct RawGraph {
    Str name;
    VEC(Slice) node, initializer, input, output;
    VEC(Span) in_file; /* initializers of the root */
} RawGraph;

/* One field of a GraphProto: types of values are noted at once, what refers to names waits in *r
 * until all are known. */
static bool graph_field(In *in, const Field *f, RawGraph *r, Scope *scope)
{
    Str name;
    Type type;
    switch (f->number) {
    case 1:  vec_push(in->cx, &r->node, f->bytes); break;
    case 2:  r->name = in_text(in, f); break;
    case 5:  vec_push(in->cx, &r->initializer, f->bytes); break;
    case 11: vec_push(in->cx, &r->input, f->bytes); break;
    case 12:
    case 13:
        if (!in_value_info(in, f->bytes, &name, &type))
            return false;
        map_put(in->cx, &scope->types, name, type);
        if (f->number == 12)
            vec_push(in->cx, &r->output, f->bytes);
        break;
    case 15: return fail(in->cx, E_UNSUPPORTED, "sparse initializers are not read");
    default: break;
    }
    return !ctx_failed(in->cx);
}

static bool graph_fields(In *in, Slice message, RawGraph *r, Scope *scope)
{
    Cursor c = over(message);
    Field f;
    while (in_field(in, &c, "graph", &f))
        if (!in_is_message(in, &f, "graph", &c) || !graph_field(in, &f, r, scope))
            return false;
    return !ctx_failed(in->cx);
}

static bool graph_fields_in_file(In *in, Span message, RawGraph *r, Scope *scope)
{
    Field f;
    Span span;
    for (uint64_t at = message.at;
         in_file_field(in, &at, message.at + message.n, "graph", &f, &span);) {
        if (f.type != WIRE_LENGTH)
            return in_damaged_at(in, "graph", at);
        if (f.number == 5) {
            vec_push(in->cx, &r->in_file, span);
            continue;
        }
        f.bytes = in_load(in, span);
        if (ctx_failed(in->cx) || !graph_field(in, &f, r, scope))
            return false;
    }
    return !ctx_failed(in->cx);
}

/* Every initializer becomes a constant of its name: first those that stay in the file, then those
 * that are in memory with the graph's message. */
static bool read_initializers(In *in, const RawGraph *r, Graph *g, Scope *scope)
{
    for (size_t i = 0; i < r->initializer.n + r->in_file.n; i++) {
        Str name = NULL;
        const Const *k = i < r->in_file.n
            ? in_file_tensor(in, r->in_file.at[i], &name)
            : in_tensor(in, r->initializer.at[i - r->in_file.n], &name);
        if (!k)
            return false;
        if (!name || name->len == 0)
            return fail(in->cx, E_FORMAT, "an initializer has no name");
        Ox v = ox_new(g, OX_CONST, type_of_ints(in->cx, k->dtype, k->rank, k->dims));
        v->k = k;
        v->name = name;
        if (!define(in, scope, name, v))
            return false;
    }
    return true;
}

/* The initializer of an input's name. Up to IR version 3 all initializers are listed as inputs;
 * later it is the default of an input of the root. */
static bool with_initializer(In *in, Ox v, Graph *g, Str name, Type type, Scope *scope)
{
    if (in->ir_version <= 3 || g->up)
        return true;
    Ox input = graph_input(g, name, type);
    graph_input_default(input, v->k);
    map_put(in->cx, &scope->values, name, input);
    return !ctx_failed(in->cx);
}

static bool read_inputs(In *in, const RawGraph *r, Graph *g, Scope *scope)
{
    for (size_t i = 0; i < r->input.n; i++) {
        Str name;
        Type type;
        if (!in_value_info(in, r->input.at[i], &name, &type))
            return false;
        Ox known = map_get(&scope->values, name);
        bool initialised = known && known->kind == OX_CONST;
        if (!(initialised ? with_initializer(in, known, g, name, type, scope)
                          : define(in, scope, name, graph_input(g, name, type))))
            return false;
    }
    return true;
}

static bool read_outputs(In *in, const RawGraph *r, Graph *g, const Scope *scope)
{
    for (size_t i = 0; i < r->output.n; i++) {
        Str name;
        Type type;
        if (!in_value_info(in, r->output.at[i], &name, &type))
            return false;
        Ox v = look_up(scope, name);
        if (!v)
            return fail(in->cx, E_FORMAT, "nothing defines the output %s", name->s);
        vec_push(in->cx, &g->outputs, v);
    }
    return true;
}

static Graph *make_graph(In *in, const RawGraph *r, Graph *up, Scope *scope)
{
    Graph *g = graph_new(in->cx, up, r->name ? r->name : str_of(in->cx, ""));
    if (!read_initializers(in, r, g, scope) || !read_inputs(in, r, g, scope))
        return NULL;
    for (size_t i = 0; i < r->node.n; i++)
        if (!read_node(in, r->node.at[i], g, scope))
            return NULL;
    return read_outputs(in, r, g, scope) && !ctx_failed(in->cx) ? g : NULL;
}

/* GraphProto */
static Graph *read_graph(In *in, Slice message, Graph *up, const Scope *outer)
{
    RawGraph r = { 0 };
    Scope scope = { .up = outer };
    if (!in_deeper(in) || !graph_fields(in, message, &r, &scope))
        return NULL;
    Graph *g = make_graph(in, &r, up, &scope);
    in->depth--;
    return g;
}

static Graph *read_root_graph(In *in, Span message)
{
    RawGraph r = { 0 };
    Scope scope = { 0 };
    return graph_fields_in_file(in, message, &r, &scope) ? make_graph(in, &r, NULL, &scope) : NULL;
}

/* ---- the model ---- */

static bool read_pair(In *in, Slice message, Str *key, Str *value, int64_t *number)
{
    Cursor c = over(message);
    Field f;
    while (in_field(in, &c, "model", &f)) {
        if (f.number == 1 && f.type == WIRE_LENGTH)
            *key = in_text(in, &f);
        if (f.number == 2 && f.type == WIRE_LENGTH)
            *value = in_text(in, &f);
        if (f.number == 2 && f.type == WIRE_VARINT)
            *number = (int64_t)f.v;
    }
    return !ctx_failed(in->cx);
}

/* One field of the ModelProto but for the graph: IR version, operator sets, properties. */
static bool model_field(In *in, const Field *f, Span span, ModelInfo *info)
{
    Str key = str_of(in->cx, "");
    Str value = key;
    int64_t number = 0;
    if (f->number == 25)
        in->functions++;
    if (f->number == 1 && f->type == WIRE_VARINT)
        in->ir_version = (int64_t)f->v;
    if (f->number != 8 && f->number != 14)
        return true;
    if (f->type != WIRE_LENGTH)
        return in_damaged_at(in, "model", span.at);
    Slice message = in_load(in, span);
    if (!message.p || !read_pair(in, message, &key, &value, &number))
        return false;
    if (f->number == 14)
        vec_push(in->cx, &info->props, (Prop){ key, value });
    else if (key->len == 0 || str_is(key, "ai.onnx"))
        info->opset = number > 0 && number < 1000 ? (int)number : 0;
    else
        vec_push(in->cx, &info->domains, (OpsetImport){ key, number });
    return true;
}

/* The graph of an ONNX file and, into *info, what else the file says. Weights stay where they are
 * in the file. NULL after an error. */
Graph *wire_read(Ctx *cx, Source *file, ModelInfo *info)
{
    In in = { .cx = cx, .file = file };
    Span graph = { 0 }, span;
    Field f;
    *info = (ModelInfo){ 0 };
    for (uint64_t at = 0; in_file_field(&in, &at, file->size, "model", &f, &span);) {
        if (f.number == 7 && f.type == WIRE_LENGTH)
            graph = span;
        if (!model_field(&in, &f, span, info))
            return NULL;
    }
    if (ctx_failed(cx))
        return NULL;
    if (!graph.at)
        return fail(cx, E_FORMAT, "not an ONNX model: it has no graph"), NULL;
    if (in.functions)
        note(cx, NOTE_INFO, "%zu local functions are not shown", in.functions);
    Graph *g = read_root_graph(&in, graph);
    if (g)
        info->graph_name = g->name;
    return g;
}
