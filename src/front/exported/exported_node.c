/* exported_node.c - a node of a .pt2 as a statement: its target as an operator, its results as
 * targets, its place.
 *
 * Assertions are counted and dropped; graphs that only mark a region are written into the function
 * around them (exported_region.c). */
#include "front/exported/exported.h"

/* ---- nodes ---- */

/* The graph of a region or scan is read when its operands are known. */
static bool read_node_arg(ExScope *s, Json *j, ExNode *n, Expr **out)
{
    Json ahead = *j, graph;
    Str tag, name;
    ExArg a;
    bool later = n->region || n->scan;
    if (later && !ex_union(s->x, &ahead, &tag, &graph))
        return false;
    if (later && str_is(tag, "as_graph")) {
        *j = ahead;
        *out = ex_expr(s->x, X_NONE);
        n->has_graph = true;
        return ex_find_graph(s, &graph, &name, &n->graph);
    }
    bool ok = ex_arg(s, j, &a);
    *out = a.value;
    return ok;
}

/* {"name": "dim", "arg": {"as_int": 1}, "kind": 1}; a positional argument may have the name "". */
static bool read_named_arg(ExScope *s, Json *j, ExNode *n)
{
    Str key;
    Arg a = { 0 };
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key)) {
        bool ok;
        if (str_is(key, "name"))
            ok = json_str(j, &a.name);
        else if (str_is(key, "arg"))
            ok = read_node_arg(s, j, n, &a.value);
        else
            ok = json_skip(j);
        if (!ok)
            return false;
    }
    if (j->failed || !a.value)
        return j->failed ? false : ex_bad(s->x, j, "an argument without a value");
    if (a.name && a.name->len == 0)
        a.name = NULL;
    return vec_push(s->x->cx, &n->args, a);
}

static bool read_named_args(ExScope *s, Json *j, ExNode *n)
{
    memcpy(&n->args, &s->x->spare_args, sizeof n->args);
    memset(&s->x->spare_args, 0, sizeof s->x->spare_args);
    if (!json_enter_array(j))
        return false;
    while (json_more(j))
        if (!read_named_arg(s, j, n))
            return false;
    return !j->failed;
}

static bool read_metadata(Json *j, ExNode *n)
{
    Str key;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key)) {
        bool ok;
        if (str_is(key, "stack_trace"))
            ok = json_str(j, &n->trace);
        else if (str_is(key, "nn_module_stack"))
            ok = json_text(j, &n->modules);
        else
            ok = json_skip(j);
        if (!ok)
            return false;
    }
    return !j->failed;
}

/* Does the target only assert types that the file records anyway? They are compared with the
 * computed ones. */
static bool repeats_types(Str target)
{
    return str_starts(target, "torch.ops.aten._assert_tensor_metadata.");
}

/* An assertion about data or sizes, checked when the model runs in PyTorch. It has no result. */
static bool is_assertion(Str target)
{
    static const char *const names[] = {
        "torch.ops.aten._assert_scalar.",
        "torch.ops.aten._assert_async.",
        "torch.ops.aten.sym_constrain_range.",
        "torch.ops.aten.sym_constrain_range_for_size.",
        "torch.ops.aten._functional_assert_scalar.",
        "torch.ops.aten._functional_assert_async.",
    };
    for (size_t i = 0; i < COUNT(names); i++)
        if (str_starts(target, names[i]))
            return true;
    return false;
}

/* torch.ops.aten.add.Tensor -> aten::add, Tensor; _operator.add -> _operator::add. detach_ stands
 * behind every literal tensor; despite its name it writes nothing. */
void ex_split_target(Ctx *cx, Str target, Expr *op)
{
    static const char prefix[] = "torch.ops.";
    const char *at = target->s;
    op->overload = NULL;
    if (str_is(target, "torch.ops.aten.detach_.default"))
        target = str_of(cx, "torch.ops.aten.detach.default"), at = target->s;
    if (str_is(target, "torch.ops.aten._print.default")) {
        op->op = op_named(cx, "prim::Print");
        return;
    }
    if (str_starts(target, "torch.ops.higher_order.")) {
        Str name = str_fmt(cx, "higher_order::%s", at + strlen("torch.ops.higher_order."));
        op->op = op_find(cx, name);
        return;
    }
    if (str_starts(target, prefix)) {
        at += sizeof prefix - 1;
        const char *dot = strchr(at, '.');
        const char *last = strrchr(at, '.');
        if (dot && last > dot) {
            Str name = str_fmt(cx, "%.*s::%.*s", (int)(dot - at), at, (int)(last - dot - 1),
                               dot + 1);
            op->op = op_find(cx, name);
            op->overload = strcmp(last + 1, "default") ? str_of(cx, last + 1) : str_of(cx, "");
            return;
        }
    }
    const char *dot = strrchr(at, '.');
    Str name = dot ? str_fmt(cx, "%.*s::%s", (int)(dot - at), at, dot + 1) : target;
    op->op = op_find(cx, name);
}

static size_t behind_last(Slice s, char c)
{
    const char *at = sys_find_last(s.p, s.n, c);
    return at ? (size_t)(at - (const char *)s.p) + 1 : 0;
}

/* "key,path,class;key,path,class": the innermost. A path's "@1" counts the calls of one module. */
static void innermost_module(Ctx *cx, Slice stack, StmtMeta *out)
{
    size_t from = behind_last(stack, ';');
    Slice last = { stack.p + from, stack.n - from };
    const uint8_t *path = memchr(last.p, ',', last.n);
    const uint8_t *end = last.p + last.n;
    const uint8_t *type = path ? memchr(path + 1, ',', (size_t)(end - path - 1)) : NULL;
    if (!type)
        return;
    const uint8_t *at = memchr(path, '@', (size_t)(type - path));
    out->module = str_n(cx, path + 1, (size_t)((at ? at : type) - path - 1));
    out->module_type = str_n(cx, type + 1, (size_t)(end - type - 1));
    if (program_is_shown(cx))
        out->module_stack = str_n(cx, stack.p, stack.n);
}

/* ---- results ---- */

static bool add_target(ExScope *s, const Json *j, ExTargets *t, Str name)
{
    uint32_t slot;
    if (!name)
        slot = ex_slot(s->x, s->fn, str_of(s->x->cx, "_"));
    else if (!ex_define(s, j, name, &slot))
        return false;
    return vec_push(s->x->cx, &t->slot, slot) && vec_push(s->x->cx, &t->type, *ex_type_of(s, name));
}

/* t is copied. */
Stmt *ex_assign(ExScope *s, Expr *value, const ExTargets *t, bool unpack)
{
    Ctx *cx = s->x->cx;
    Stmt *st = ex_stmt(s->x, t->slot.n ? S_ASSIGN : S_EXPR, value);
    st->target = t->slot.n ? mem_copy(cx, t->slot.at, t->slot.n * sizeof *t->slot.at) : NULL;
    st->n_target = st->target ? (uint32_t)t->slot.n : 0;
    st->unpack = unpack;
    StmtMeta *m = stmt_meta(cx, st);
    if (t->type.n)
        m->recorded = ex_shared(s->x, t->type.at, t->type.n * sizeof *t->type.at);
    m->n_recorded = m->recorded ? (uint32_t)t->type.n : 0;
    vec_push(cx, &s->fn->body, st);
    return st;
}

static bool add_names(ExScope *s, Json *j, ExTargets *t)
{
    Str name;
    if (!json_enter_array(j))
        return false;
    while (json_more(j))
        if (!ex_name(j, &name) || !add_target(s, j, t, name))
            return false;
    return !j->failed;
}

/* The name in a result that is one value; NULL for as_none and for a plain number. */
bool ex_result_name(ExScope *s, Str tag, Json *value, Str *name)
{
    *name = NULL;
    if (str_is(tag, "as_tensor") || str_is(tag, "as_custom_obj"))
        return ex_name(value, name) && (*name || ex_bad(s->x, value, "a result without a name"));
    if (!str_starts(tag, "as_sym_"))
        return true;
    Str kind;
    Json at;
    if (!ex_union(s->x, value, &kind, &at))
        return false;
    return !str_is(kind, "as_name") || json_str(&at, name);
}

/* One result of a node becomes a target. One that is a list is a target too, whose members are
 * assigned by a statement of their own: r->lists. */
static bool read_result(ExScope *s, Json *j, ExResults *r)
{
    Str tag, name = NULL;
    if (!ex_open_union(s->x, j, &tag))
        return false;
    Json value = *j;
    bool is_list = str_is(tag, "as_tensors");
    bool is_tensor = str_is(tag, "as_tensor"); /* which nearly all are: read where it stands */
    if (!is_list && !ex_result_name(s, tag, is_tensor ? j : &value, &name))
        return false;
    if ((!is_tensor && !json_skip(j)) || !ex_close_union(s->x, j))
        return false;
    if (!add_target(s, j, &r->targets, name))
        return false;
    return !is_list ||
        vec_push(s->x->cx, &r->lists,
                 (ExLater){ r->targets.slot.at[r->targets.slot.n - 1], value });
}

bool ex_results(ExScope *s, Json *j, ExResults *r)
{
    if (!json_enter_array(j))
        return false;
    while (json_more(j))
        if (!read_result(s, j, r))
            return false;
    r->unpack = r->targets.slot.n != 1;
    if (r->targets.slot.n != 1 || r->lists.n != 1)
        return !j->failed;
    Json names = r->lists.at[0].names; /* a list is the one result: its members are the targets */
    *r = (ExResults){ .unpack = true };
    return !j->failed && add_names(s, &names, &r->targets);
}

static bool unpack_lists(ExScope *s, const ExResults *r)
{
    for (size_t i = 0; i < r->lists.n; i++) {
        ExTargets members = { 0 };
        Json names = r->lists.at[i].names;
        if (!add_names(s, &names, &members))
            return false;
        ex_assign(s, ex_local(s->x, r->lists.at[i].slot), &members, true);
    }
    return true;
}

/* ---- one node ---- */

/* Finds the keys; what they hold is read when the target is known. */
static bool scan_node(ExScope *s, Json *j, ExNode *n)
{
    Str key;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key)) {
        if (str_is(key, "inputs"))
            n->inputs = *j, n->has_inputs = true;
        if (str_is(key, "outputs"))
            n->outputs = *j, n->has_outputs = true;
        bool is_flag = str_is(key, "is_hop_single_tensor_return") && json_peek(j) != J_NULL;
        bool ok;
        if (str_is(key, "target"))
            ok = json_str(j, &n->target);
        else if (str_is(key, "metadata"))
            ok = read_metadata(j, n);
        else if (is_flag)
            ok = json_bool(j, &n->single);
        else
            ok = json_skip(j);
        if (!ok)
            return false;
    }
    if (j->failed)
        return false;
    return (n->target && n->has_inputs && n->has_outputs) ||
        ex_bad(s->x, j, "a node without target, inputs or outputs");
}

void ex_place(Exported *x, Stmt *st, const ExNode *n)
{
    if (n->trace && n->trace->len)
        stmt_meta(x->cx, st)->text = ex_trace_text(x, n->trace);
    if (n->modules.n)
        innermost_module(x->cx, n->modules, stmt_meta(x->cx, st));
}

/* export.access_subclass_inner_tensor(weight, "qdata"): torch.export takes a tensor of a class of
 * its own apart. The graph is read before it is known which weights there are: load_state
 * (exported.c) fills the value in. */
static bool write_part(ExScope *s, ExNode *n)
{
    Exported *x = s->x;
    ExResults r = { 0 };
    const Arg *a = n->args.at;
    if (n->args.n != 2 || a[0].value->kind != X_LOCAL || a[1].value->kind != X_STR)
        return ex_bad(x, &n->inputs, "a part of a tensor that is not asked for by its name");
    if (!ex_results(s, &n->outputs, &r))
        return false;
    if (r.targets.slot.n != 1)
        return ex_bad(x, &n->outputs, "a part of a tensor that is no tensor");
    ExPart part = { .fn = s->fn,
                    .from = a[0].value->slot,
                    .to = r.targets.slot.at[0],
                    .name = a[1].value->s,
                    .value = ex_expr(x, X_ATTR) };
    part.value->kind = X_NONE; /* for now */
    ex_place(x, ex_assign(s, part.value, &r.targets, false), n);
    return vec_push(x->cx, &x->parts, part);
}

/* Fails at the user's line that the node comes from, where the file has it; returns false. */
static bool refuse_node(Exported *x, const ExNode *n, const char *why, const char *hint)
{
    Where here = { .up = x->cx->at,
                   .kind = WHERE_STATEMENT,
                   .text = n->trace && n->trace->len ? ex_trace_text(x, n->trace) : NULL };
    if (here.text)
        x->cx->at = &here;
    fail(x->cx, E_UNSUPPORTED, "%s", why);
    fail_hint(x->cx, "%s", hint);
    x->cx->at = here.text ? here.up : x->cx->at;
    return false;
}

/* higher_order targets return a tuple even of one result. The vectors of a node serve the next one:
 * what the program has of them is exact. */
static bool write_operator(ExScope *s, ExNode *n)
{
    Exported *x = s->x;
    ExResults r = { .targets = x->spare };
    Expr *op = ex_expr(x, X_OP);
    x->spare = (ExTargets){ 0 };
    ex_split_target(x->cx, n->target, op);
    op->args = mem_copy(x->cx, n->args.at, n->args.n * sizeof *op->args);
    op->n_args = op->args ? (uint32_t)n->args.n : 0;
    for (uint32_t i = 0; str_is(op->op->name, "prim::Print") && i < op->n_args; i++)
        op->args[i].name = NULL;
    if (!ex_results(s, &n->outputs, &r))
        return false;
    if (ex_lacks_casts(s, op, &r.targets))
        return refuse_node(x, n,
                           "the program was exported while autocast was on outside of the model: "
                           "its casts are not in the file",
                           "in the same autocast, program = program.run_decompositions({}) before "
                           "torch.export.save writes them out; or enter autocast in forward");
    ex_autocast(s, op, &r.targets);
    bool higher_order = str_starts(op->op->name, "higher_order::");
    ex_place(x, ex_assign(s, op, &r.targets, r.unpack || (higher_order && !n->single)), n);
    if (!unpack_lists(s, &r))
        return false;
    x->spare = r.targets;
    x->spare.slot.n = x->spare.type.n = 0;
    n->args.n = 0;
    memcpy(&x->spare_args, &n->args, sizeof n->args);
    return true;
}

/* Nearly all targets are, and none of those that are more than an operator. */
static bool is_of_aten(Str target) { return str_starts(target, "torch.ops.aten."); }

/* The statement of one call: regions, scans, wrapped operators and vmap have writers of their own,
 * any other target is an operator. */
static bool write_node(ExScope *s, ExNode *n)
{
    if (!read_named_args(s, &n->inputs, n))
        return false;
    if (is_of_aten(n->target))
        return write_operator(s, n);
    if (n->region || n->scan)
        return n->region ? ex_write_region(s, n) : ex_write_scan(s, n);
    if (ex_wraps(n->target))
        return ex_write_wrapped(s, n);
    if (str_starts(n->target, "torch.ops.export.access_subclass_inner_tensor."))
        return write_part(s, n);
    if (ex_is_vmap(n->target))
        return ex_write_vmap(s, n);
    return write_operator(s, n);
}

/* ---- what has no graph that could be run ---- */

#define BEFORE_LOWERING "save the program as it was before it was lowered for that runtime"

/* Why a target is refused, by the target's beginning. The row for all other higher-order
 * operators comes last. */
static const struct {
    const char *target, *why, *hint;
} refused[] = {
    { "torch._functorch.predispatch.",
      "the program holds a transform of torch.func, whose operators are not yet written out",
      "program.run_decompositions({}) before torch.export.save: it writes them out" },
    { "torch.ops.higher_order.triton_kernel_wrapper_",
      "the program runs a Triton kernel, code for a GPU",
      "put the kernel into an operator of torch.library.custom_op; a rule for it (--rules FILE) "
      "says what it computes" },
    { "torch.ops.higher_order.call_torchbind",
      "the program calls a method of a C++ object, which is not in the file",
      "do that outside of forward" },
    { "torch.ops.higher_order.flex_attention",
      "flex_attention's scores are changed by a program of their own, which attention in ONNX "
      "cannot take",
      "torch.nn.functional.scaled_dot_product_attention with a mask (attn_implementation=\"sdpa\" "
      "in transformers)" },
    { "torch.ops.higher_order.executorch_call_delegate",
      "a part of the program was compiled for another runtime", BEFORE_LOWERING },
    { "torch.ops.higher_order.aoti_call_delegate",
      "a part of the program was compiled for another runtime", BEFORE_LOWERING },
    { "torch.ops.higher_order.", "this higher-order operator is not known here",
      "program.run_decompositions({}) before torch.export.save may write it out" },
};

/* Is this a higher-order operator that the evaluator runs (eval/branch/higher_order.c), or that
 * this reader rewrites? */
static bool is_known_region(Str target)
{
    return str_is(target, "torch.ops.higher_order.cond") ||
        str_is(target, "torch.ops.higher_order.while_loop") || ex_region(target) ||
        ex_scan(target) || ex_wraps(target) || ex_is_vmap(target);
}

/* False after an error. */
static bool not_refused(Exported *x, const ExNode *n)
{
    for (size_t i = 0; i < COUNT(refused); i++)
        if (str_starts(n->target, refused[i].target))
            return refuse_node(x, n, refused[i].why, refused[i].hint);
    return true;
}

/* One entry of a graph's nodes. Assertions are counted and left out; a target that ONNX has nothing
 * for is refused here, at its own place. */
bool ex_node(ExScope *s, Json *j)
{
    Ctx *cx = s->x->cx;
    ExNode n = { 0 };
    if (!scan_node(s, j, &n))
        return false;
    if (is_assertion(n.target) || repeats_types(n.target)) {
        s->x->n_assertions += is_assertion(n.target);
        return true;
    }
    bool plain = is_of_aten(n.target);
    n.region = plain ? NULL : ex_region(n.target);
    n.scan = plain ? NULL : ex_scan(n.target);
    Where here = { .up = cx->at, .kind = WHERE_OP, .name = n.target };
    cx->at = &here;
    bool ok = plain || is_known_region(n.target) || not_refused(s->x, &n);
    ok = ok && write_node(s, &n);
    cx->at = here.up;
    return ok;
}
