/* handed.c - a trace graph that another language hands over (pt2onnx_trace) as a Program.
 *
 * A trace has no names: every value has a number, every node is one statement. So the program is
 * one function whose locals are the values, numbered as the caller numbers them; weights and tensor
 * constants are read through Program.constant. Branches and loops come from scripted functions that
 * the trace calls (prim::If, prim::Loop). What the trace records of types is kept and compared
 * after each operator (the guard).
 *
 * Does not look inside prim::PythonOp: its class is the caller's to lower, through a symbolic
 * callback, which gets the node's number in the argument NODE_ARGUMENT (symbolic.c takes it out
 * again). */
#include "front/front.h"
#include "pt2onnx.h"

#include <ctype.h>

typedef VEC(Stmt *) Stmts;

typedef struct Handed {
    const pt2onnx_trace *t;
    Program *p;
    Map asked;                           /* operators that the caller lowers */
    VEC(const pt2onnx_tensor *) tensors; /* by X_CONSTANT's number: weights, then constants */
    size_t n_weight;
    Stmts body; /* of the block that is being read */
    Str calls;  /* of the node that is being read, or of the node whose block it stands in; NULL:
                   none */
    const pt2onnx_node **constant; /* by value: the prim::Constant that it is, or NULL */
    bool *users;     /* by value: it comes from an operator that the caller lowers, so that what the
                        trace says of it may not hold */
    uint32_t *parts; /* by value: how many items prim::ListUnpack takes of it; 0: none does */
    uint32_t n_slot; /* values, then a condition for each while loop */
} Handed;

/* ---- checks: the caller is another program, but its numbers index our arrays ---- */

static bool check_value(Ctx *cx, const Handed *h, uint32_t v)
{
    return v < h->t->n_value ||
        fail(cx, E_FORMAT, "the trace uses value %u, it has %zu", v, h->t->n_value);
}

static bool check_values(Ctx *cx, const Handed *h, const uint32_t *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!check_value(cx, h, v[i]))
            return false;
    return true;
}

/* ---- positions: "net.py(12): forward", one a line, innermost first ---- */

typedef struct Frame {
    const char *file;
    size_t n_file;
    uint32_t line;
    const char *function;
    size_t n_function;
} Frame;

/* One line of a stack; false when it is not of that form. */
static bool read_frame(const char *s, size_t n, Frame *f)
{
    const char *close = memchr(s, ')', n);
    const char *open = close;
    while (open && open > s && *open != '(')
        open--;
    if (!close || open == s || *open != '(' || (size_t)(close - s) + 2 >= n || close[1] != ':')
        return false;
    *f = (Frame){ s, (size_t)(open - s), 0, close + 3, n - (size_t)(close - s) - 3 };
    for (const char *d = open + 1; d < close && isdigit((unsigned char)*d); d++)
        f->line = f->line * 10 + (uint32_t)(*d - '0');
    return true;
}

/* Is the file part of the torch package, or of the pt2onnx package that called torch? */
static bool is_of_torch(const Frame *f)
{
    static const char *const parts[] = { "-packages/torch/", "/torch/nn/modules/",
                                         "-packages/pt2onnx/", "/python/pt2onnx/" };
    for (size_t i = 0; i < COUNT(parts); i++)
        if (sys_find(f->file, f->n_file, parts[i], strlen(parts[i])))
            return true;
    return false;
}

/* The user's own line: the innermost that is not torch's. */
static bool locate_in_stack(Ctx *cx, const Text *text, uint32_t start, uint32_t end, Pos *out)
{
    (void)start, (void)end;
    Frame best = { 0 }, f;
    const char *s = ((Str)text->locate_arg)->s;
    while (*s) {
        size_t n = strcspn(s, "\n");
        if (read_frame(s, n, &f)) {
            bool of_torch = is_of_torch(&f);
            if (!best.file || !of_torch)
                best = f;
            if (!of_torch)
                break;
        }
        s += n + (s[n] == '\n');
    }
    if (!best.file)
        return false;
    *out = (Pos){ .file = str_n(cx, best.file, best.n_file),
                  .line = best.line,
                  .function = str_n(cx, best.function, best.n_function) };
    return true;
}

static const Text *text_of_source(Ctx *cx, const char *source)
{
    if (!source || !*source)
        return NULL;
    Text *text = new(cx, Text);
    *text = (Text){ .name = str_of(cx, "trace"),
                    .locate = locate_in_stack,
                    .locate_arg = str_of(cx, source) };
    return text;
}

/* ---- types ---- */

static DType dtype_given(int dtype)
{
    return dtype > DT_NONE && dtype < DT_COUNT ? (DType)dtype : DT_NONE;
}

static const RecordedDim *recorded_dims(Ctx *cx, const pt2onnx_type *t)
{
    RecordedDim *d = new_array(cx, RecordedDim, t->rank > 0 ? t->rank : 1);
    if (!d)
        return NULL;
    for (int i = 0; i < t->rank; i++) {
        bool named = t->dim_name && t->dim_name[i];
        d[i].known = t->dims[i] >= 0 && !named ? t->dims[i] : -1;
        d[i].symbol = named ? str_of(cx, t->dim_name[i]) : NULL;
        d[i].example = named && t->dims[i] > 0 ? t->dims[i] : 0;
    }
    return d;
}

static bool is_tensor(const pt2onnx_type *t) { return t->kind && strcmp(t->kind, "Tensor") == 0; }
static bool is_known(const pt2onnx_type *t)
{
    return is_tensor(t) && dtype_given(t->dtype) && t->rank >= 0 && t->rank <= MAX_RANK;
}

static void record(Ctx *cx, const Handed *h, Stmt *s)
{
    Recorded *r = new_array(cx, Recorded, s->n_target + 1);
    if (!r)
        return;
    for (uint32_t i = 0; i < s->n_target; i++) {
        const pt2onnx_type *t = &h->t->type[s->target[i]];
        r[i] = is_known(t) ? (Recorded){ .dtype = dtype_given(t->dtype),
                                         .rank = t->rank,
                                         .dim = recorded_dims(cx, t) }
                           : (Recorded){ .rank = -1, .what = str_of(cx, t->kind ? t->kind : "?") };
    }
    StmtMeta *m = stmt_meta(cx, s);
    m->recorded = r;
    m->n_recorded = s->n_target;
}

/* ---- expressions ---- */

static Expr *local(Ctx *cx, uint32_t value)
{
    Expr *e = expr_new(cx, value ? X_LOCAL : X_NONE);
    if (value)
        e->slot = value;
    return e;
}

static Expr *sequence(Ctx *cx, ExprKind kind, const uint32_t *value, size_t n)
{
    Expr *e = expr_new(cx, kind);
    e->items = new_array(cx, Expr *, n + 1);
    if (!e->items)
        return e;
    e->n = (uint32_t)n;
    for (size_t i = 0; i < n; i++)
        e->items[i] = local(cx, value[i]);
    return e;
}

static Expr *tensor_constant(Ctx *cx, Handed *h, const pt2onnx_tensor *t)
{
    Expr *e = expr_new(cx, X_CONSTANT);
    e->i = (int64_t)h->tensors.n;
    vec_push(cx, &h->tensors, t);
    return e;
}

/* prim::Constant: its one attribute "value", read as the type of its result says; none is None. */
static Expr *constant(Ctx *cx, Handed *h, const pt2onnx_node *n)
{
    if (n->n_attr == 0)
        return expr_new(cx, X_NONE);
    const pt2onnx_attr *a = &n->attr[0];
    const char *kind = n->n_out ? h->t->type[n->out[0]].kind : NULL;
    Expr *e;
    switch (a->kind) {
    case PT2ONNX_ATTR_INT:
        if (kind && strcmp(kind, "bool") == 0)
            return expr_new(cx, a->i ? X_TRUE : X_FALSE);
        e = expr_new(cx, X_INT);
        e->i = a->i;
        return e;
    case PT2ONNX_ATTR_FLOAT:
        e = expr_new(cx, X_FLOAT);
        e->f = a->f;
        return e;
    case PT2ONNX_ATTR_STRING:
        if (kind && strcmp(kind, "Device") == 0) {
            e = expr_new(cx, X_VALUE);
            e->value = (Value){ .tag = V_DEVICE, .s = str_of(cx, a->s) };
            return e;
        }
        e = expr_new(cx, X_STR);
        e->s = str_of(cx, a->s);
        return e;
    case PT2ONNX_ATTR_TENSOR:  return tensor_constant(cx, h, a->t);
    case PT2ONNX_ATTR_INTS:
    case PT2ONNX_ATTR_FLOATS:
    case PT2ONNX_ATTR_GRAPH:
    case PT2ONNX_ATTR_STRINGS: break;
    }
    fail(cx, E_UNSUPPORTED, "a constant of type %s in the trace is not supported",
         kind ? kind : "?");
    return NULL;
}

/* Conversions that TorchScript's text writes as words. */
static const char *word_of(const char *kind)
{
    static const char *const words[][2] = { { "aten::Int", "int" },
                                            { "aten::IntImplicit", "int" },
                                            { "aten::Float", "float" },
                                            { "aten::FloatImplicit", "float" },
                                            { "aten::Bool", "bool" } };
    for (size_t i = 0; i < COUNT(words); i++)
        if (strcmp(kind, words[i][0]) == 0)
            return words[i][1];
    return kind;
}

/* aten::add_ -> aten::add: a function for the plain form serves the one in place too. */
static Str plain_name(Ctx *cx, Str name)
{
    return str_ends(name, "_") ? str_n(cx, name->s, name->len - 1) : name;
}

static bool is_asked(Ctx *cx, const Handed *h, Str op)
{
    return map_find(&h->asked, op) || map_find(&h->asked, plain_name(cx, op));
}

static Expr *operator(Ctx *cx, const Handed *h, const pt2onnx_node *n)
{
    Expr *e = expr_new(cx, X_OP);
    e->op = op_named(cx, word_of(n->kind));
    e->overload = n->overload ? str_of(cx, n->overload) : NULL;
    e->args = new_array(cx, Arg, n->n_in + 1);
    for (size_t i = 0; e->args && i < n->n_in; i++)
        e->args[e->n_args++] = (Arg){ n->in_name && n->in_name[i] ? str_of(cx, n->in_name[i])
                                                                  : NULL,
                                      local(cx, n->in[i]) };
    if (e->args && is_asked(cx, h, e->op->name)) {
        Expr *node = expr_new(cx, X_INT);
        node->i = n->id;
        e->args[e->n_args++] = (Arg){ str_of(cx, NODE_ARGUMENT), node };
    }
    return e;
}

/* ---- statements ---- */

static bool is(const pt2onnx_node *n, const char *kind) { return strcmp(n->kind, kind) == 0; }

static Expr *value_of_node(Ctx *cx, Handed *h, const pt2onnx_node *n)
{
    if (is(n, "prim::Constant"))
        return constant(cx, h, n);
    if (is(n, "prim::ListConstruct"))
        return sequence(cx, X_LIST, n->in, n->n_in);
    if (is(n, "prim::TupleConstruct"))
        return sequence(cx, X_TUPLE, n->in, n->n_in);
    if (is(n, "prim::Uninitialized")) {
        Expr *e = expr_new(cx, X_VALUE);
        e->value = (Value){ .tag = V_UNINIT };
        return e;
    }
    if (is(n, "prim::ListUnpack") || is(n, "prim::TupleUnpack") || is(n, "prim::unchecked_cast") ||
        is(n, "prim::unchecked_unwrap_optional"))
        return n->n_in == 1 ? local(cx, n->in[0]) : NULL;
    return operator(cx, h, n);
}

static Stmt *add_statement(Ctx *cx, Handed *h, StmtKind kind, Expr *value)
{
    Stmt *s = stmt_new(cx, kind);
    s->value = value;
    if (h->calls)
        stmt_meta(cx, s)->calls = h->calls;
    vec_push(cx, &h->body, s);
    return s;
}

static void assign(Ctx *cx, Handed *h, uint32_t slot, Expr *value)
{
    Stmt *s = add_statement(cx, h, S_ASSIGN, value);
    s->target = mem_copy(cx, &slot, sizeof slot);
    s->n_target = 1;
}

static bool add_node(Ctx *cx, Handed *h, const pt2onnx_node *n);

/* ---- branches and loops ---- */

/* Assignments to[i] = from[i] at the edge of a block. */
typedef struct Carry {
    const uint32_t *to, *from;
    size_t n;
} Carry;

static void carry(Ctx *cx, Handed *h, Carry c)
{
    for (size_t i = 0; i < c.n; i++) {
        assign(cx, h, c.to[i], local(cx, c.from[i]));
        h->users[c.to[i]] |= h->users[c.from[i]];
    }
}

static bool add_nodes(Ctx *cx, Handed *h, const pt2onnx_graph *g)
{
    for (size_t i = 0; i < g->n_node; i++)
        if (g->node[i].kind && is(&g->node[i], "prim::ListUnpack") && g->node[i].n_in == 1 &&
            check_value(cx, h, g->node[i].in[0]))
            h->parts[g->node[i].in[0]] = (uint32_t)g->node[i].n_out;
    for (size_t i = 0; i < g->n_node; i++)
        if (!add_node(cx, h, &g->node[i]))
            return false;
    return true;
}

static bool add_branch(Ctx *cx, Handed *h, const pt2onnx_graph *g, Carry results, Block *out)
{
    Stmts outer = h->body;
    h->body = (Stmts){ 0 };
    bool ok = check_values(cx, h, g->out, g->n_out) && add_nodes(cx, h, g);
    if (ok)
        carry(cx, h, results);
    *out = (Block){ h->body.at, (uint32_t)h->body.n };
    h->body = outer;
    return ok;
}

static bool add_if(Ctx *cx, Handed *h, const pt2onnx_node *n)
{
    if (n->n_block != 2 || n->n_in != 1 || n->block[0]->n_out != n->n_out ||
        n->block[1]->n_out != n->n_out)
        return fail(cx, E_FORMAT, "the trace's prim::If is malformed");
    Stmt *s = add_statement(cx, h, S_IF, local(cx, n->in[0]));
    return add_branch(cx, h, n->block[0], (Carry){ n->out, n->block[0]->out, n->n_out },
                      &s->body) &&
        add_branch(cx, h, n->block[1], (Carry){ n->out, n->block[1]->out, n->n_out }, &s->other);
}

/* Is v this integer (or bool), as a constant outside or in g? */
static bool is_constant(const Handed *h, const pt2onnx_graph *g, uint32_t v, int64_t i)
{
    const pt2onnx_node *n = h->constant[v];
    for (size_t k = 0; !n && k < g->n_node; k++)
        if (is(&g->node[k], "prim::Constant") && g->node[k].n_out == 1 && g->node[k].out[0] == v)
            n = &g->node[k];
    return n && n->n_attr == 1 && n->attr[0].kind == PT2ONNX_ATTR_INT && n->attr[0].i == i;
}

static bool uses(const pt2onnx_graph *g, uint32_t v)
{
    for (size_t i = 0; i < g->n_out; i++)
        if (g->out[i] == v)
            return true;
    for (size_t k = 0; k < g->n_node; k++) {
        const pt2onnx_node *n = &g->node[k];
        for (size_t i = 0; i < n->n_in; i++)
            if (n->in[i] == v)
                return true;
        for (size_t i = 0; i < n->n_block; i++)
            if (uses(n->block[i], v))
                return true;
    }
    return false;
}

static Expr *int_expr(Ctx *cx, int64_t i)
{
    Expr *e = expr_new(cx, X_INT);
    e->i = i;
    return e;
}

static Expr *plus_one(Ctx *cx, uint32_t slot)
{
    Expr *e = expr_new(cx, X_OP);
    e->op = op_named(cx, "aten::add");
    e->args = new_array(cx, Arg, 2);
    if (e->args) {
        e->args[e->n_args++].value = local(cx, slot);
        e->args[e->n_args++].value = int_expr(cx, 1);
    }
    return e;
}

static bool add_body(Ctx *cx, Handed *h, const pt2onnx_node *n, uint32_t condition, bool counts,
                     Block *out)
{
    const pt2onnx_graph *g = n->block[0];
    Stmts outer = h->body;
    h->body = (Stmts){ 0 };
    carry(cx, h, (Carry){ g->in + 1, n->out, n->n_out });
    bool ok = add_nodes(cx, h, g);
    carry(cx, h, (Carry){ n->out, g->out + 1, n->n_out });
    if (condition)
        assign(cx, h, condition, local(cx, g->out[0]));
    if (counts)
        assign(cx, h, g->in[0], plus_one(cx, g->in[0]));
    *out = (Block){ h->body.at, (uint32_t)h->body.n };
    h->body = outer;
    return ok;
}

/* prim::Loop(most iterations, first condition, carried..) with block(iteration, carried..) ->
 * (condition, carried..): a `for` when the condition is always true, a `while` when the number of
 * iterations has no limit. */
static bool add_loop(Ctx *cx, Handed *h, const pt2onnx_node *n)
{
    const pt2onnx_graph *g = n->n_block == 1 ? n->block[0] : NULL;
    if (!g || n->n_in != n->n_out + 2 || g->n_in != n->n_out + 1 || g->n_out != n->n_out + 1)
        return fail(cx, E_FORMAT, "the trace's prim::Loop is malformed");
    if (!check_values(cx, h, g->in, g->n_in) || !check_values(cx, h, g->out, g->n_out))
        return false;
    carry(cx, h, (Carry){ n->out, n->in + 2, n->n_out });
    if (is_constant(h, g, n->in[1], 1) && is_constant(h, g, g->out[0], 1)) {
        Stmt *s = add_statement(cx, h, S_FOR, local(cx, n->in[0]));
        s->target = mem_copy(cx, g->in, sizeof *g->in);
        s->n_target = 1;
        return add_body(cx, h, n, 0, false, &s->body);
    }
    if (!is_constant(h, g, n->in[0], INT64_MAX))
        return fail(cx, E_UNSUPPORTED,
                    "a `for` loop that may end early (break, return) in a scripted function that a "
                    "trace calls: "
                    "save the scripted part with torch.jit.save");
    uint32_t condition = h->n_slot++;
    bool counts = uses(g, g->in[0]);
    assign(cx, h, condition, local(cx, n->in[1]));
    if (counts)
        assign(cx, h, g->in[0], int_expr(cx, 0));
    Stmt *s = add_statement(cx, h, S_WHILE, local(cx, condition));
    return add_body(cx, h, n, condition, counts, &s->body);
}

/* ---- nodes ---- */

/* Marks the results too. */
static bool comes_from_user(Ctx *cx, Handed *h, const pt2onnx_node *n, const Expr *value)
{
    bool found = value->kind == X_OP && is_asked(cx, h, value->op->name);
    for (size_t i = 0; i < n->n_in; i++)
        found |= h->users[n->in[i]];
    for (size_t i = 0; i < n->n_out; i++)
        h->users[n->out[i]] |= found;
    return found;
}

/* A node that is one statement: its outputs are assigned what value_of_node makes of it. Its types
 * are recorded unless the user's own function made it. */
static bool add_plain(Ctx *cx, Handed *h, const pt2onnx_node *n)
{
    Expr *value = value_of_node(cx, h, n);
    if (!value)
        return ctx_failed(cx) ? false : fail(cx, E_FORMAT, "the trace's %s is malformed", n->kind);
    Stmt *s = add_statement(cx, h, n->n_out ? S_ASSIGN : S_EXPR, value);
    s->target = n->n_out ? mem_copy(cx, n->out, n->n_out * sizeof *n->out) : NULL;
    s->n_target = s->target ? (uint32_t)n->n_out : 0;
    s->unpack = is(n, "prim::ListUnpack") || is(n, "prim::TupleUnpack");
    s->parts = n->n_out == 1 ? h->parts[n->out[0]] : 0;
    StmtMeta *m = stmt_meta(cx, s);
    m->text = text_of_source(cx, n->source);
    s->end = m->text != NULL;
    m->module = n->scope && *n->scope ? str_of(cx, n->scope) : NULL;
    m->names = n->names ? str_of(cx, n->names) : NULL;
    if (!comes_from_user(cx, h, n, value) && value->kind == X_OP)
        record(cx, h, s);
    if (is(n, "prim::Constant") && n->n_out == 1)
        h->constant[n->out[0]] = n;
    return !ctx_failed(cx);
}

static bool add_kind(Ctx *cx, Handed *h, const pt2onnx_node *n)
{
    if (!n->kind || !check_values(cx, h, n->in, n->n_in) || !check_values(cx, h, n->out, n->n_out))
        return ctx_failed(cx) ? false : fail(cx, E_FORMAT, "a node of the trace has no kind");
    if (is(n, "prim::If"))
        return add_if(cx, h, n);
    if (is(n, "prim::Loop"))
        return add_loop(cx, h, n);
    if (n->n_block > 0 && !is(n, "prim::PythonOp"))
        return fail(cx, E_UNSUPPORTED,
                    "%s with blocks in a trace: save the scripted part with torch.jit.save",
                    n->kind);
    return add_plain(cx, h, n);
}

static bool add_node(Ctx *cx, Handed *h, const pt2onnx_node *n)
{
    Str around = h->calls;
    if (n->calls && *n->calls)
        h->calls = str_of(cx, n->calls);
    h->p->has_calls |= h->calls != NULL;
    bool ok = add_kind(cx, h, n);
    h->calls = around;
    return ok;
}

/* Weights are assigned to their locals before anything else. */
static bool add_weights(Ctx *cx, Handed *h)
{
    for (size_t i = 0; i < h->t->n_param; i++) {
        uint32_t v = h->t->param[i];
        if (!check_value(cx, h, v))
            return false;
        Stmt *s = stmt_new(cx, S_ASSIGN);
        s->value = tensor_constant(cx, h, &h->t->param_tensor[i]);
        s->target = mem_copy(cx, &v, sizeof v);
        s->n_target = 1;
        vec_push(cx, &h->body, s);
    }
    h->n_weight = h->tensors.n;
    return !ctx_failed(cx);
}

static void add_return(Ctx *cx, Handed *h)
{
    const pt2onnx_graph *g = &h->t->graph;
    Stmt *s = stmt_new(cx, S_RETURN);
    s->value = g->n_out == 1 ? local(cx, g->out[0]) : sequence(cx, X_TUPLE, g->out, g->n_out);
    vec_push(cx, &h->body, s);
}

/* ---- tensors at addresses ---- */

static uint64_t span_of(const pt2onnx_tensor *t)
{
    int64_t last = 0;
    int64_t numel = 1;
    for (int a = 0; a < t->rank; a++) {
        numel *= t->dims[a];
        last += (t->dims[a] - 1) * (t->strides ? t->strides[a] : 0);
    }
    int64_t n = numel;
    if (numel != 0 && t->strides)
        n = last + 1;
    return dtype_bytes(dtype_given(t->dtype), (uint64_t)n);
}

/* A constant over the caller's memory, which is not copied: the trace must outlive the conversion.
 * NULL and an error for a type or rank that ONNX does not have. */
static const Const *const_of_tensor(Ctx *cx, const pt2onnx_tensor *t, bool weight)
{
    if (!dtype_given(t->dtype) || t->rank < 0 || t->rank > MAX_RANK)
        return fail(cx, E_UNSUPPORTED,
                    "the tensor %s has an element type or a rank that ONNX does not have",
                    t->name ? t->name : "?"),
               NULL;
    Const *k = new(cx, Const);
    *k = (Const){ .dtype = dtype_given(t->dtype),
                  .rank = t->rank,
                  .dims = t->dims,
                  .strides = t->strides,
                  .storage = weight ? t->data : NULL };
    if (weight && t->name)
        k->name = str_of(cx, t->name);
    if (const_contiguous(k))
        k->strides = NULL;
    uint64_t bytes = span_of(t);
    k->bytes = (Bytes){ source_memory(cx, t->data, bytes), 0, bytes };
    return k;
}

/* Program.constant: a tensor, fresh in each evaluation. A 0-d constant that is no weight was a
 * Python number. */
static bool read_constant(Ctx *cx, Program *p, int64_t n, Value *out)
{
    const Handed *h = p->front;
    if (n < 0 || (uint64_t)n >= h->tensors.n)
        return fail(cx, E_BUG, "constant %lld of the trace does not exist", (long long)n);
    bool weight = (size_t)n < h->n_weight;
    const Const *k = const_of_tensor(cx, h->tensors.at[n], weight);
    if (!k)
        return false;
    *out = val_tensor(cx, ox_const(p->graph, k));
    if (out->tag != V_TENSOR)
        return false;
    out->t->number = !weight && k->rank == 0;
    out->t->st->state = weight;
    out->t->st->name = k->name;
    return true;
}

/* ---- the program ---- */

static bool is_weight(const pt2onnx_trace *t, uint32_t value)
{
    for (size_t i = 0; i < t->n_param; i++)
        if (t->param[i] == value)
            return true;
    return false;
}

static Str name_of(Ctx *cx, const pt2onnx_trace *t, uint32_t v)
{
    return t->name && t->name[v] ? str_of(cx, t->name[v]) : str_fmt(cx, "%u", v);
}

/* Parameters of forward, in the trace's order; inputs that are weights are left out, add_weights
 * assigns those. */
static bool make_inputs(Ctx *cx, const Handed *h, Function *f)
{
    const pt2onnx_trace *t = h->t;
    Program *p = h->p;
    if (!check_values(cx, h, t->graph.in, t->graph.n_in) ||
        !check_values(cx, h, t->graph.out, t->graph.n_out))
        return false;
    f->param = new_array(cx, ParamDecl, t->graph.n_in + 1);
    p->input = new_array(cx, InputDecl, t->graph.n_in + 1);
    for (size_t i = 0; p->input && f->param && i < t->graph.n_in; i++) {
        uint32_t v = t->graph.in[i];
        if (is_weight(t, v))
            continue;
        const pt2onnx_type *type = &t->type[v];
        f->param[f->n_param++] = (ParamDecl){ .name = name_of(cx, t, v), .slot = v };
        InputDecl *in = &p->input[p->n_input++];
        *in = (InputDecl){ .name = name_of(cx, t, v), .known = is_known(type) };
        if (in->known) {
            in->dtype = dtype_given(type->dtype);
            in->rank = type->rank;
            in->dim = recorded_dims(cx, type);
        }
    }
    return !ctx_failed(cx);
}

static bool is_input(const pt2onnx_graph *g, uint32_t value)
{
    for (size_t i = 0; i < g->n_in; i++)
        if (g->in[i] == value)
            return true;
    return false;
}

static void make_outputs(Ctx *cx, const Handed *h)
{
    const pt2onnx_trace *t = h->t;
    h->p->output_name = new_array(cx, Str, t->graph.n_out + 1);
    h->p->n_output_name = (uint32_t)t->graph.n_out;
    for (size_t i = 0; h->p->output_name && i < t->graph.n_out; i++)
        if (t->name && t->name[t->graph.out[i]] && !is_input(&t->graph, t->graph.out[i]))
            h->p->output_name[i] = str_of(cx, t->name[t->graph.out[i]]);
}

static Function *make_function(Ctx *cx)
{
    Function *f = new(cx, Function);
    f->name = f->qualname = str_of(cx, "forward");
    return f;
}

static void finish_function(Ctx *cx, const Handed *h, Function *f)
{
    Str *names = new_array(cx, Str, h->n_slot + 1);
    if (!names)
        return;
    for (uint32_t i = 0; i < h->n_slot; i++)
        names[i] = str_fmt(cx, "%%%u", i);
    f->n_slot = h->n_slot;
    f->slot_name = names;
    f->body = (Block){ h->body.at, (uint32_t)h->body.n };
}

/* A program from a trace that Python holds; `asked` names the operators that the caller lowers.
 * NULL after an error. */
Program *handed_load(Ctx *cx, const pt2onnx_trace *t, const char *const *asked, size_t n_asked)
{
    if (t->size < sizeof *t || t->n_value > UINT32_MAX / 2)
        return fail(cx, E_USAGE, "the trace record is not of this version"), NULL;
    Handed *h = new(cx, Handed);
    Program *p = new(cx, Program);
    *h = (Handed){ .t = t,
                   .p = p,
                   .n_slot = (uint32_t)t->n_value,
                   .constant = new_array(cx, const pt2onnx_node *, t->n_value + 1),
                   .users = new_array(cx, bool, t->n_value + 1),
                   .parts = new_array(cx, uint32_t, t->n_value + 1) };
    if (!h->constant || !h->users || !h->parts)
        return NULL;
    for (size_t i = 0; i < n_asked; i++)
        map_put(cx, &h->asked, str_of(cx, asked[i]), NULL);
    *p = (Program){ .file = str_of(cx, "trace"),
                    .kind = str_of(cx, "trace graph"),
                    .traced = true,
                    .root = val_none(),
                    .constant = read_constant,
                    .front = h };
    p->entry = make_function(cx);
    if (!make_inputs(cx, h, p->entry) || !add_weights(cx, h) || !add_nodes(cx, h, &t->graph))
        return NULL;
    add_return(cx, h);
    make_outputs(cx, h);
    finish_function(cx, h, p->entry);
    return ctx_failed(cx) ? NULL : p;
}
