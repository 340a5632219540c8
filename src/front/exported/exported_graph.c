/* exported_graph.c - a graph of a .pt2 as a function of the program: each node one statement.
 *
 * Names become slots. A graph inside a node (a branch, a loop's body) is a function of its own, for
 * it refers to nothing outside; a region that only marks something (no_grad, a disabled autocast)
 * is written into the function around it. Keys of a graph come in any order, and what a value is
 * stands after the nodes that use it: so the places of all keys are found first and read in the
 * order that we need. */
#include "front/exported/exported.h"

/* ---- making ---- */

bool ex_bad(Exported *x, const Json *j, const char *what)
{
    return fail(x->cx, E_FORMAT, "%s: byte %zu: %s", j->record, json_mark(j), what);
}

Expr *ex_expr(Exported *x, ExprKind kind) { return expr_new(x->cx, kind); }

uint32_t ex_slot(Exported *x, ExFunction *fn, Str name)
{
    vec_push(x->cx, &fn->slots, name);
    return (uint32_t)fn->slots.n - 1;
}

/* One for all uses of the slots of this number: it has no place in a text. */
Expr *ex_local(Exported *x, uint32_t slot)
{
    while (x->locals.n <= slot)
        if (!vec_push(x->cx, &x->locals, NULL))
            return ex_expr(x, X_NONE);
    Expr **e = &x->locals.at[slot];
    if (!*e) {
        *e = ex_expr(x, X_LOCAL);
        (*e)->slot = slot;
    }
    return *e;
}

bool ex_define(ExScope *s, const Json *j, Str name, uint32_t *slot)
{
    if (map_find(&s->slots, name))
        return fail(s->x->cx, E_FORMAT, "%s: byte %zu: the value %s is defined twice", j->record,
                    json_mark(j), name->s);
    *slot = ex_slot(s->x, s->fn, name);
    map_put(s->x->cx, &s->slots, name, (void *)(uintptr_t)(*slot + 1));
    return true;
}

bool ex_use(ExScope *s, const Json *j, Str name, Expr **out)
{
    uintptr_t slot = (uintptr_t)map_get(&s->slots, name);
    if (!slot)
        return fail(s->x->cx, E_FORMAT, "%s: byte %zu: the value %s is used before it is defined",
                    j->record, json_mark(j), name ? name->s : "null");
    *out = ex_local(s->x, (uint32_t)slot - 1);
    return true;
}

/* All statements of fn, whose own lists go. */
static Block take_block(Exported *x, ExFunction *fn)
{
    size_t n = fn->before.n;
    Stmt **all = new_array(x->cx, Stmt *, n + fn->body.n);
    if (!all)
        return (Block){ 0 };
    for (size_t i = 0; i < n; i++)
        all[i] = fn->before.at[i];
    for (size_t i = 0; i < fn->body.n; i++)
        all[n + i] = fn->body.at[i];
    n += fn->body.n;
    mem_give(x->cx, fn->before.at, fn->before.cap * sizeof *fn->before.at);
    mem_give(x->cx, fn->body.at, fn->body.cap * sizeof *fn->body.at);
    fn->before.n = fn->before.cap = fn->body.n = fn->body.cap = 0;
    return (Block){ all, (uint32_t)n };
}

Stmt *ex_stmt(Exported *x, StmtKind kind, Expr *value)
{
    Stmt *s = stmt_new(x->cx, kind);
    s->value = value;
    return s;
}

Function *ex_function(Exported *x, ExFunction *fn, Str name)
{
    Function *f = new(x->cx, Function);
    f->name = f->qualname = name;
    f->body = take_block(x, fn);
    ex_drop_unused(x, &f->body, fn->slots.n);
    f->slot_name = fn->slots.at;
    f->n_slot = (uint32_t)fn->slots.n;
    return f;
}

Expr *ex_int(Exported *x, int64_t i)
{
    Expr *e = ex_expr(x, X_INT);
    e->i = i;
    return e;
}

Expr *ex_op(Exported *x, const char *name, Expr *a, Expr *b, Expr *c)
{
    Expr *e = ex_expr(x, X_OP);
    e->op = op_named(x->cx, name);
    e->args = new_array(x->cx, Arg, 3);
    if (!e->args)
        return e;
    for (Expr **at = (Expr *[]){ a, b, c, NULL }; *at; at++)
        e->args[e->n_args++].value = *at;
    return e;
}

Expr *ex_tuple(Exported *x, const ExArg *args, size_t n)
{
    Expr *e = ex_expr(x, X_TUPLE);
    e->items = new_array(x->cx, Expr *, n);
    for (size_t i = 0; e->items && i < n; i++)
        e->items[e->n++] = args[i].value;
    return e;
}

/* ---- a graph ---- */

enum { G_INPUTS, G_OUTPUTS, G_NODES, G_TENSORS, G_INTS, G_FLOATS, G_BOOLS, G_KEYS };

typedef struct Places_ {
    Json at[G_KEYS];
    bool has[G_KEYS];
} Places_;

/* Where the parts of a graph stand, in p: they are read in another order than the file has them.
 * Inputs, outputs and nodes must be there. */
static bool find_keys(ExScope *s, Json *j, Places_ *p, bool *single)
{
    static const char *const keys[] = { "inputs",         "outputs",        "nodes",
                                        "tensor_values",  "sym_int_values", "sym_float_values",
                                        "sym_bool_values" };
    Str key;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key)) {
        for (int i = 0; i < G_KEYS; i++)
            if (str_is(key, keys[i])) {
                p->at[i] = *j;
                p->has[i] = true;
            }
        if (!(str_is(key, "is_single_tensor_return") ? json_bool(j, single) : json_skip(j)))
            return false;
    }
    if (j->failed)
        return false;
    return (p->has[G_INPUTS] && p->has[G_OUTPUTS] && p->has[G_NODES]) ||
        ex_bad(s->x, j, "a graph without inputs, outputs or nodes");
}

static bool read_types(ExScope *s, Places_ *p)
{
    return (!p->has[G_TENSORS] || ex_tensor_values(s, &p->at[G_TENSORS])) &&
        (!p->has[G_INTS] || ex_sym_values(s, &p->at[G_INTS], "int")) &&
        (!p->has[G_FLOATS] || ex_sym_values(s, &p->at[G_FLOATS], "float")) &&
        (!p->has[G_BOOLS] || ex_sym_values(s, &p->at[G_BOOLS], "bool"));
}

/* An input is a name, or a plain value that was frozen at export. */
static bool read_input(ExScope *s, Json *j, ExArg *out)
{
    Json value;
    uint32_t slot;
    *out = (ExArg){ 0 };
    if (!ex_union(s->x, j, &out->tag, &value))
        return false;
    Json again = value;
    if (str_is(out->tag, "as_custom_obj"))
        return ex_custom_object(s);
    if (!ex_result_name(s, out->tag, &again, &out->name))
        return false;
    if (!out->name)
        return ex_value(s, out->tag, &value, &out->value);
    if (!ex_define(s, j, out->name, &slot))
        return false;
    out->value = ex_local(s->x, slot);
    return true;
}

static bool read_inputs(ExScope *s, Json *j, ExGraph *out)
{
    ExArg a;
    if (!json_enter_array(j))
        return false;
    while (json_more(j))
        if (!read_input(s, j, &a) || !vec_push(s->x->cx, &out->inputs, a))
            return false;
    return !j->failed;
}

static bool bind_operands(ExScope *s, const Json *j, const ExGraph *g, const ExOperands *operands)
{
    if (operands->n != g->inputs.n)
        return ex_bad(s->x, j, "a region's graph takes another number of inputs than it is given");
    for (size_t i = 0; i < operands->n; i++) {
        ExTargets t = { 0 };
        if (!g->inputs.at[i].name)
            continue;
        vec_push(s->x->cx, &t.slot, g->inputs.at[i].value->slot);
        ex_assign(s, operands->at[i], &t, false);
    }
    return true;
}

/* operands: of a region, what its inputs are; NULL: the caller binds them. */
bool ex_read_graph(ExScope *s, Json *j, ExGraph *out, const ExOperands *operands)
{
    Places_ p = { 0 };
    ExArg a;
    if (!find_keys(s, j, &p, &out->single) || !read_types(s, &p) ||
        !read_inputs(s, &p.at[G_INPUTS], out))
        return false;
    if (operands && !bind_operands(s, j, out, operands))
        return false;
    Json *nodes = &p.at[G_NODES];
    Json *outputs = &p.at[G_OUTPUTS];
    if (!json_enter_array(nodes))
        return false;
    size_t from = nodes->at;
    while (json_more(nodes)) {
        if (!ex_node(s, nodes))
            return false;
        if (s->whole && !s->vmap)
            json_discard(nodes, &from);
    }
    if (s->vmap)
        return ex_bad(s->x, nodes, "a vmap that does not end");
    if (nodes->failed || !json_enter_array(outputs))
        return false;
    while (json_more(outputs))
        if (!ex_arg(s, outputs, &a) || !vec_push(s->x->cx, &out->outputs, a))
            return false;
    return !outputs->failed;
}

/* ---- the whole program ---- */

/* The graph's own vectors and names go at once; the types are asked for inputs yet. */
bool ex_graph(Exported *x, Json *j)
{
    ExGraph g = { 0 };
    if (x->fn)
        return ex_bad(x, j, "a second graph");
    x->fn = new(x->cx, ExFunction);
    ex_slot(x, x->fn, str_of(x->cx, "self"));
    ExScope s = { .x = x, .fn = x->fn, .whole = true };
    if (!ex_read_graph(&s, j, &g, NULL))
        return false;
    for (size_t i = 0; i < g.inputs.n; i++)
        vec_push(x->cx, &x->inputs, g.inputs.at[i]);
    for (size_t i = 0; i < g.outputs.n; i++)
        vec_push(x->cx, &x->outputs, g.outputs.at[i]);
    mem_give(x->cx, g.inputs.at, g.inputs.cap * sizeof *g.inputs.at);
    mem_give(x->cx, g.outputs.at, g.outputs.cap * sizeof *g.outputs.at);
    map_give(x->cx, &s.slots);
    x->input_types = s.types;
    return !ctx_failed(x->cx);
}

void ex_prologue(Exported *x, Stmt *s) { vec_push(x->cx, &x->fn->before, s); }
void ex_epilogue(Exported *x, Stmt *s) { vec_push(x->cx, &x->fn->body, s); }

Function *ex_finish(Exported *x, const ParamDecl *param, uint32_t n_param)
{
    Function *f = ex_function(x, x->fn, str_of(x->cx, "forward"));
    f->param = mem_copy(x->cx, param, n_param * sizeof *param);
    f->n_param = f->param ? n_param : 0;
    return f;
}
