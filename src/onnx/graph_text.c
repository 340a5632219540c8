/* graph_text.c - a graph as text, for --dump-after, `show` and unit tests. One line a node:
 *
 *     graph net(%x: float32[N,3]) {
 *       %3: float32[N,4] = Gemm<transB=1>(%x, "fc.weight": float32[4,3], "fc.bias": float32[4])
 *       %4: float32[N,4] = Relu(%3)
 *       return %4
 *     }
 *
 * Constants stand where they are used: the state_dict name, or the items of a small one, or type
 * and shape only. */
#include "onnx/internal.h"

enum { SHOWN_ITEMS = 8 };

static void put_graph(Buf *b, Graph *g, int depth);

static void indent(Buf *b, int depth)
{
    for (int i = 0; i < depth; i++)
        buf_str(b, "  ");
}

static void put_double(Buf *b, double v)
{
    char text[32];
    format_double(text, v);
    buf_str(b, text);
}

static void put_quoted(Buf *b, const char *s, size_t n)
{
    buf_str(b, "\"");
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\')
            buf_fmt(b, "\\%c", c);
        else if (c < 32 || c == 127)
            buf_fmt(b, "\\x%02x", c);
        else
            buf_add(b, s + i, 1);
    }
    buf_str(b, "\"");
}

/* ---- values ---- */

static void put_type(Buf *b, Type t) { buf_fmt(b, ": %s", t ? type_text(b->cx, t)->s : "?"); }

/* One element at an address that may be unaligned; "?" for types that has_element_text denies. */
static void put_element(Buf *b, DType t, const void *at)
{
    switch (t) {
    case DT_FLOAT: {
        float f;
        memcpy(&f, at, sizeof f);
        put_double(b, (double)f);
        break;
    }
    case DT_DOUBLE: {
        double d;
        memcpy(&d, at, sizeof d);
        put_double(b, d);
        break;
    }
    case DT_INT64: {
        int64_t i;
        memcpy(&i, at, sizeof i);
        buf_fmt(b, "%lld", (long long)i);
        break;
    }
    case DT_INT32: {
        int32_t i;
        memcpy(&i, at, sizeof i);
        buf_fmt(b, "%d", i);
        break;
    }
    case DT_INT8:  buf_fmt(b, "%d", *(const int8_t *)at); break;
    case DT_UINT8: buf_fmt(b, "%u", *(const uint8_t *)at); break;
    case DT_BOOL:  buf_str(b, *(const uint8_t *)at ? "true" : "false"); break;
    default:       buf_str(b, "?"); break;
    }
}

static bool has_element_text(DType t)
{
    return t == DT_FLOAT || t == DT_DOUBLE || t == DT_INT64 || t == DT_INT32 || t == DT_INT8 ||
        t == DT_UINT8 || t == DT_BOOL;
}

/* Small constants of our own show their items; weights never do. */
static void put_const(Buf *b, const Const *k)
{
    Str name = k->name ? k->name : k->derived;
    int64_t n = const_numel(k);
    const uint8_t *data = NULL;
    if (!name && has_element_text(k->dtype) && n <= SHOWN_ITEMS && k->bytes.src &&
        k->bytes.src->kind == SRC_MEMORY)
        data = const_data(b->cx, k);
    if (name)
        put_quoted(b, name->s, name->len);
    else if (data) {
        buf_str(b, "{");
        for (int64_t i = 0; i < n; i++) {
            buf_str(b, i ? ", " : "");
            put_element(b, k->dtype, data + (size_t)i * dtype_size(k->dtype));
        }
        buf_str(b, "}");
    } else
        buf_str(b, "constant");
    put_type(b, type_of_ints(b->cx, k->dtype, k->rank, k->dims));
}

static void put_items(Buf *b, Ox v)
{
    buf_str(b, "dims{");
    for (int64_t i = 0; i < v->n_items; i++) {
        buf_str(b, i ? ", " : "");
        buf_str(b, v->items[i] ? dim_text(b->cx, v->items[i])->s : "?");
    }
    buf_str(b, "}");
    put_type(b, v->type);
}

static void put_name(Buf *b, Ox v)
{
    if (v->name)
        buf_fmt(b, "%%%s", v->name->s);
    else
        buf_fmt(b, "%%%u", v->id);
}

/* A use: the name of what a node or an input makes, a constant in full. */
static void put_use(Buf *b, Ox v)
{
    if (!v)
        buf_str(b, "-");
    else if (v == POISON)
        buf_str(b, "poison");
    else if (v->kind == OX_CONST)
        put_const(b, v->k);
    else if (v->kind == OX_DIMS)
        put_items(b, v);
    else
        put_name(b, v);
}

static void put_definition(Buf *b, Ox v)
{
    if (!v) {
        buf_str(b, "-");
        return;
    }
    put_name(b, v);
    put_type(b, v->type);
}

/* ---- nodes ---- */

static void put_list(Buf *b, const Attr *a)
{
    buf_str(b, "[");
    for (size_t i = 0; i < a->n; i++) {
        buf_str(b, i ? ", " : "");
        if (a->kind == ATTR_INTS)
            buf_fmt(b, "%lld", (long long)a->ints[i]);
        else if (a->kind == ATTR_FLOATS)
            put_double(b, a->floats[i]);
        else
            put_quoted(b, a->strs[i]->s, a->strs[i]->len);
    }
    buf_str(b, "]");
}

/* axes=[0, 1], then_branch=graph then(..) {..} */
static void put_attr(Buf *b, const Attr *a, int depth)
{
    buf_fmt(b, "%s=", a->name);
    switch (a->kind) {
    case ATTR_INT:     buf_fmt(b, "%lld", (long long)a->i); break;
    case ATTR_FLOAT:   put_double(b, a->f); break;
    case ATTR_STRING:  put_quoted(b, a->s->s, a->s->len); break;
    case ATTR_TENSOR:  put_const(b, a->t); break;
    case ATTR_TYPE:    buf_str(b, type_text(b->cx, a->type)->s); break;
    case ATTR_GRAPH:   put_graph(b, a->g, depth + 1); break;
    case ATTR_NONE:    buf_str(b, "-"); break;
    case ATTR_INTS:
    case ATTR_FLOATS:
    case ATTR_STRINGS: put_list(b, a); break;
    }
}

/* %5: float32[N,1] = ReduceSum<keepdims=1>(%x, {1}: int64[1]) */
static void put_node(Buf *b, const Node *n, int depth)
{
    indent(b, depth);
    for (int i = 0; i < n->n_out; i++) {
        buf_str(b, i ? ", " : "");
        put_definition(b, n->out[i]);
    }
    buf_str(b, " = ");
    if (n->domain && n->domain->len)
        buf_fmt(b, "%s::", n->domain->s);
    buf_str(b, n->name->s);
    if (n->n_attr) {
        buf_str(b, "<");
        for (int i = 0; i < n->n_attr; i++) {
            buf_str(b, i ? ", " : "");
            put_attr(b, &n->attr[i], depth);
        }
        buf_str(b, ">");
    }
    buf_str(b, "(");
    for (int i = 0; i < n->n_in; i++) {
        buf_str(b, i ? ", " : "");
        put_use(b, n->in[i]);
    }
    buf_str(b, ")\n");
}

/* The nodes stand one step further in than the line that the graph begins on, which the caller has
 * indented. */
static void put_graph(Buf *b, Graph *g, int depth)
{
    buf_fmt(b, "graph %s(", g->name ? g->name->s : "");
    for (size_t i = 0; i < g->inputs.n; i++) {
        buf_str(b, i ? ", " : "");
        put_definition(b, g->inputs.at[i]);
    }
    buf_str(b, ") {\n");
    for (size_t i = 0; i < g->nodes.n; i++)
        if (!g->nodes.at[i]->dead)
            put_node(b, g->nodes.at[i], depth + 1);
    indent(b, depth + 1);
    buf_str(b, "return");
    for (size_t i = 0; i < g->outputs.n; i++) {
        buf_str(b, i ? ", " : " ");
        put_use(b, g->outputs.at[i]);
    }
    buf_str(b, "\n");
    indent(b, depth);
    buf_str(b, "}");
}

Str graph_text(Graph *g)
{
    Buf b = buf_new(g->cx);
    put_graph(&b, g, 0);
    buf_str(&b, "\n");
    return buf_done(&b);
}

/* ---- graphs compared ----
 *
 * Two graphs are equal when their keys are. In a key values are numbered in the order of their
 * making, and constants stand with their bytes. */

typedef struct Key {
    Ctx *cx;
    Buf out;
    Map numbers;
} Key;

static void key_const(Key *k, const Const *c)
{
    size_t n = (size_t)dtype_bytes(c->dtype, (uint64_t)const_numel(c));
    uint8_t *at = new_array(k->cx, uint8_t, n + 1);
    if (!at)
        return;
    buf_str(&k->out, type_text(k->cx, type_of_ints(k->cx, c->dtype, c->rank, c->dims))->s);
    if (c->dtype == DT_STRING)
        buf_fmt(&k->out, ":%zx ",
                (size_t)(uintptr_t)c); /* equal ones are one constant; the key is never shown */
    else if (const_read(k->cx, c, at))
        for (size_t i = 0; i < n; i++)
            buf_fmt(&k->out, "%c%02x", i ? '.' : ':', at[i]);
    buf_str(&k->out, " ");
}

static void key_values(Key *k, Ox const *at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!at[i] || at[i]->kind == OX_CONST) {
            if (at[i])
                key_const(k, at[i]->k);
            buf_str(&k->out, at[i] ? "" : "- ");
            continue;
        }
        if (!map_get(&k->numbers, at[i]))
            map_put(k->cx, &k->numbers, at[i], (void *)(uintptr_t)(k->numbers.n + 1));
        buf_fmt(&k->out, "%%%zu ", (size_t)(uintptr_t)map_get(&k->numbers, at[i]));
    }
}

/* A line for each node: operator, inputs, attributes, outputs; then what the graph returns. */
static void key_graph(Key *k, const Graph *g)
{
    key_values(k, g->inputs.at, g->inputs.n);
    for (size_t i = 0; i < g->nodes.n; i++) {
        const Node *n = g->nodes.at[i];
        if (n->dead)
            continue;
        buf_fmt(&k->out, "\n%s::%s ", n->domain ? n->domain->s : "", n->name->s);
        key_values(k, n->in, (size_t)n->n_in);
        for (int a = 0; a < n->n_attr; a++)
            if (n->attr[a].kind == ATTR_GRAPH)
                key_graph(k, n->attr[a].g);
            else if (n->attr[a].kind == ATTR_TENSOR)
                key_const(k, n->attr[a].t);
            else
                put_attr(&k->out, &n->attr[a], 0);
        key_values(k, n->out, (size_t)n->n_out);
    }
    buf_str(&k->out, "\n= ");
    key_values(k, g->outputs.at, g->outputs.n);
}

Str graph_key(Ctx *cx, const Graph *g)
{
    Key k = { .cx = cx, .out = buf_new(cx) };
    key_graph(&k, g);
    return buf_done(&k.out);
}
