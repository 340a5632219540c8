/* graph.c - types, made once each; graphs, their inputs and outputs; the nodes' attributes.
 * Nodes are made in emit.c. */
#include "onnx/internal.h"

#include <assert.h>

/* ---- types ---- */

typedef struct TypeRec TypeRec;
struct Types {
    TypeRec **slot;
    size_t n_slot, n;
    Ctx *cx;
    uint32_t next_value;
};

static struct Types *types_of(Ctx *cx)
{
    if (!cx->types)
        cx->types = new(cx, struct Types);
    return cx->types;
}

static uint64_t hash_type(const TypeRec *t)
{
    uint64_t key[4] = { t->kind, t->dtype, (uint64_t)t->rank, (uintptr_t)t->elem };
    uint64_t h = hash_bytes(key, sizeof key, 0);
    return t->rank > 0 ? hash_bytes(t->dim, (size_t)t->rank * sizeof(Dim), h) : h;
}

static bool same_type(const TypeRec *a, const TypeRec *b)
{
    return a->kind == b->kind && a->dtype == b->dtype && a->rank == b->rank && a->elem == b->elem &&
        (a->rank <= 0 || memcmp(a->dim, b->dim, (size_t)a->rank * sizeof(Dim)) == 0);
}

static void grow_types(Ctx *cx, struct Types *ts)
{
    size_t n = ts->n_slot ? ts->n_slot * 2 : 64;
    TypeRec **slot = new_array(cx, TypeRec *, n);
    if (!slot)
        return;
    for (size_t i = 0; i < ts->n_slot; i++)
        if (ts->slot[i]) {
            size_t at = hash_type(ts->slot[i]) & (n - 1);
            while (slot[at])
                at = (at + 1) & (n - 1);
            slot[at] = ts->slot[i];
        }
    ts->slot = slot;
    ts->n_slot = n;
}

/* A copy of t with dims of its own. Never NULL: without memory for the dims its rank is unknown.
 * Where there are none they still lie somewhere, as those who count and copy them may not be given
 * NULL. */
static TypeRec *own_type(Ctx *cx, const TypeRec *t)
{
    static const Dim none[1];
    TypeRec *r = new(cx, TypeRec);
    *r = *t;
    r->cx = cx;
    r->dim = none;
    if (t->rank <= 0)
        return r;
    Dim *dim = mem_copy(cx, t->dim, (size_t)t->rank * sizeof *dim);
    if (dim)
        r->dim = dim;
    else
        r->rank = -1;
    return r;
}

/* The one type equal to *t; its dims are copied when it is new. Never NULL: without memory for
 * the table it is a type of its own, and the context has failed. */
static Type intern_type(Ctx *cx, const TypeRec *t)
{
    struct Types *ts = types_of(cx);
    if (ts->n * 2 >= ts->n_slot)
        grow_types(cx, ts);
    size_t at = 0;
    if (ts->n < ts->n_slot) {
        at = hash_type(t) & (ts->n_slot - 1);
        for (; ts->slot[at]; at = (at + 1) & (ts->n_slot - 1))
            if (same_type(ts->slot[at], t))
                return ts->slot[at];
    }
    TypeRec *r = own_type(cx, t);
    if (ts->n + 1 < ts->n_slot) {
        ts->slot[at] = r;
        ts->n++;
    }
    return r;
}

Type type_tensor(Ctx *cx, DType t, int rank, const Dim *dim)
{
    assert(rank >= -1 && rank <= MAX_RANK);
    return intern_type(cx, &(TypeRec){ .kind = T_TENSOR, .dtype = t, .rank = rank, .dim = dim });
}

Dim ox_no_dim(Ox v, int axis)
{
    Ctx *cx = v->graph ? v->graph->cx : NULL;
    if (v->type)
        cx = v->type->cx;
    if (cx && !ctx_failed(cx)) /* POISON has neither, and an error behind it */
        fail(cx, E_VALUE, "Dimension out of range: a tensor of rank %d has no axis %d", ox_rank(v),
             axis);
    return NULL;
}

Type type_of_ints(Ctx *cx, DType t, int rank, const int64_t *dims)
{
    Dim d[MAX_RANK];
    for (int i = 0; i < rank; i++)
        d[i] = dim_int(cx, dims[i]);
    return type_tensor(cx, t, rank, d);
}

Type type_wrapped(Ctx *cx, TypeKind kind, Type elem)
{
    return intern_type(cx,
                       &(TypeRec){ .kind = kind, .dtype = elem->dtype, .rank = -1, .elem = elem });
}

Dim type_numel(Ctx *cx, Type t) { return t->rank < 0 ? NULL : dim_product(cx, t->dim, t->rank); }

bool type_static(Type t, int64_t *dims)
{
    if (!t || t->kind != T_TENSOR || t->rank < 0)
        return false;
    for (int i = 0; i < t->rank; i++)
        if (!dim_known(t->dim[i], dims ? &dims[i] : NULL))
            return false;
    return true;
}

static void print_type(Buf *b, Type t)
{
    if (!t) {
        buf_str(b, "?");
        return;
    }
    if (t->kind != T_TENSOR) {
        buf_str(b, t->kind == T_SEQUENCE ? "seq(" : "optional(");
        print_type(b, t->elem);
        buf_str(b, ")");
        return;
    }
    buf_str(b, dtype_name(t->dtype));
    buf_str(b, t->rank < 0 ? "[?" : "[");
    for (int i = 0; i < t->rank; i++)
        buf_fmt(b, i ? ",%s" : "%s", dim_text(b->cx, t->dim[i])->s);
    buf_str(b, "]");
}

Str type_text(Ctx *cx, Type t)
{
    Buf b = buf_new(cx);
    print_type(&b, t);
    return buf_done(&b);
}

/* ---- graphs ---- */

struct OxValue ox_poison = { .kind = OX_POISONED };

Graph *graph_new(Ctx *cx, Graph *up, Str name)
{
    Graph *g = new(cx, Graph);
    g->cx = cx;
    g->up = up;
    g->name = name;
    g->target = up ? up->target : ONNX_DEFAULT_TARGET;
    g->ort = up && up->ort;
    return g;
}

Graph *graph_root(Graph *g)
{
    while (g->up)
        g = g->up;
    return g;
}

Ox ox_new(Graph *g, OxKind kind, Type t)
{
    Ox v = mem_dense(g->cx, sizeof *v);
    v->kind = kind;
    v->id = ++types_of(g->cx)->next_value;
    v->type = t;
    v->graph = kind == OX_CONST || kind == OX_DIMS ? NULL : g;
    return v;
}

Ox graph_input(Graph *g, Str name, Type t)
{
    Ox v = ox_new(g, OX_INPUT, t);
    v->name = name;
    vec_push(g->cx, &g->inputs, v);
    return v;
}

void graph_input_default(Ox v, const Const *k) { v->k = k; }
void graph_input_name(Ox v, Str name) { v->name = name; }

/* The same value may be returned twice, or be an input or a constant: ONNX wants a name for each,
 * so it gets a node. */
void graph_output(Graph *g, Ox v, Str name)
{
    bool taken = v->kind != OX_NODE || v->graph != g || v->name || v->is_output;
    if (taken && ox_ok(v))
        v = ox_identity(g, v);
    if (ox_ok(v)) {
        v->is_output = true;
        v->name = name ? name : v->name;
    }
    vec_push(g->cx, &g->outputs, v);
}

void graph_state_output(Graph *g, Type t)
{
    map_put(g->cx, &g->stated, (const void *)(uintptr_t)(g->outputs.n + 1), t);
}

bool graph_sees(const Graph *g, const Ox v)
{
    if (!v->graph)
        return true;
    for (; g; g = g->up)
        if (g == v->graph)
            return true;
    return false;
}

void graph_compact(Graph *g)
{
    size_t m = 0;
    for (size_t i = 0; i < g->nodes.n; i++) {
        Node *n = g->nodes.at[i];
        if (n->dead)
            continue;
        for (int k = 0; k < n->n_attr; k++)
            if (n->attr[k].kind == ATTR_GRAPH)
                graph_compact(n->attr[k].g);
        g->nodes.at[m++] = n;
    }
    g->nodes.n = m;
}

/* ---- nodes ---- */

const Attr *node_attr(const Node *n, const char *attr)
{
    for (int i = 0; i < n->n_attr; i++)
        if (n->attr[i].name == attr || strcmp(n->attr[i].name, attr) == 0)
            return &n->attr[i];
    return NULL;
}

bool node_has(const Node *n, const char *attr) { return node_attr(n, attr) != NULL; }

int64_t node_int(const Node *n, const char *attr, int64_t deflt)
{
    const Attr *a = node_attr(n, attr);
    return a && a->kind == ATTR_INT ? a->i : deflt;
}

double node_float(const Node *n, const char *attr, double deflt)
{
    const Attr *a = node_attr(n, attr);
    return a && a->kind == ATTR_FLOAT ? a->f : deflt;
}

const char *node_str(const Node *n, const char *attr, const char *deflt)
{
    const Attr *a = node_attr(n, attr);
    return a && a->kind == ATTR_STRING ? a->s->s : deflt;
}

bool node_ints(const Node *n, const char *attr, const int64_t **out, size_t *count)
{
    const Attr *a = node_attr(n, attr);
    if (!a || a->kind != ATTR_INTS)
        return false;
    *out = a->ints;
    *count = a->n;
    return true;
}

bool node_is(const Node *n, const char *op) { return n->op && strcmp(n->op->name, op) == 0; }

void set_out(Node *n, int i, DType t, int rank, const Dim *dim)
{
    if (i >= n->n_out)
        return;
    for (int k = 0; k < rank; k++)
        if (!dim[k]) /* the arithmetic before has failed and said so */
            return;
    n->out[i]->type = type_tensor(node_cx(n), t, rank, dim);
}

void set_out_type(Node *n, int i, Type t)
{
    if (i < n->n_out)
        n->out[i]->type = t;
}

void set_items(Node *n, int i, const Dim *items, int64_t count)
{
    if (i >= n->n_out || count > MAX_ITEMS)
        return;
    Dim *own = mem_copy(node_cx(n), items, (size_t)count * sizeof *items);
    if (!own)
        return;
    n->out[i]->items = own;
    n->out[i]->n_items = (int)count;
}

bool node_in_ints(const Node *n, int i, const int64_t **out, int64_t *count)
{
    Ox v = node_in(n, i);
    return v && ox_known_ints(n->graph, v, out, count);
}

bool node_fail_here(const Node *n, const char *file, int line, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return fail_here(node_cx(n), file, line, E_VALUE, "%s: %s", n->name->s, text);
}
