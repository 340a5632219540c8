/* exported_effect.c - an operator inside a higher-order one that says how it acts, not what it
 * computes.
 *
 *     with_effects(token, op, arguments..) -> token, results
 *         op runs in the order of the tokens, which hold nothing
 *     auto_functionalized_v2(op, arguments by name, _x_base_index=i, _all_bases=[..])
 *         -> results, bases
 *         op writes to its argument x: to a copy of base i, which becomes the new base
 *         _x_alias=True                                   x is the base itself
 *         _x_slice_dim, _x_slice_start, _x_slice_end      x is that slice of it
 *         _x_size, _x_stride, _x_storage_offset           x is that view of it
 *         _x_length=n         x is a list, whose items are described as arguments x_0, x_1, ..
 *
 * Both become the operator itself, which may then be unknown by its own name, or be taught by a
 * rule. */
#include "front/exported/exported.h"

static bool is_effect(Str target) { return str_is(target, "torch.ops.higher_order.with_effects"); }

bool ex_wraps(Str target)
{
    return is_effect(target) || str_starts(target, "torch.ops.higher_order.auto_functionalized");
}

/* Takes the operator, argument number `at`, out of the arguments. */
static Expr *wrapped_op(ExScope *s, const ExNode *n, size_t at)
{
    if (n->args.n <= at || n->args.at[at].value->kind != X_STR) {
        ex_bad(s->x, &n->inputs, "a node without the operator that it is about");
        return NULL;
    }
    Expr *op = ex_expr(s->x, X_OP);
    ex_split_target(s->x->cx, n->args.at[at].value->s, op);
    return op;
}

/* Assigns the operator's results to the targets from..to. An operator without a result has one
 * target too. */
static void assign_part(ExScope *s, Expr *op, const ExTargets *all, size_t from, size_t to,
                        const ExNode *n)
{
    ExTargets own = { 0 };
    for (size_t i = from; i < to; i++) {
        vec_push(s->x->cx, &own.slot, all->slot.at[i]);
        vec_push(s->x->cx, &own.type, all->type.at[i]);
    }
    ex_place(s->x, ex_assign(s, op, &own, own.slot.n > 1), n);
}

static bool write_effect(ExScope *s, ExNode *n)
{
    ExResults r = { 0 };
    Expr *op = wrapped_op(s, n, 1);
    if (!op || !ex_results(s, &n->outputs, &r))
        return false;
    if (r.targets.slot.n < 1 || r.lists.n)
        return ex_bad(s->x, &n->outputs, "with_effects gives a token and single results");
    op->args = n->args.at + 2;
    op->n_args = (uint32_t)n->args.n - 2;
    assign_part(s, op, &r.targets, 1, r.targets.slot.n, n);
    return true;
}

/* ---- writes ---- */

/* `_x_base_index` is argument x. NULL: another name. */
static Str written_argument(Ctx *cx, Str name, const char *suffix)
{
    size_t n = strlen(suffix);
    return str_ends(name, suffix) && name->len > n + 1 ? str_n(cx, name->s + 1, name->len - n - 1)
                                                       : NULL;
}

static Expr *named_arg(const ExNode *n, const char *name)
{
    for (size_t i = 0; i < n->args.n; i++)
        if (n->args.at[i].name && str_is(n->args.at[i].name, name))
            return n->args.at[i].value;
    return NULL;
}

/* ..suffix of `_x_suffix`, which describes the view of a base that argument x is */
typedef struct WrappedView {
    const char *op, *part[3];
} WrappedView;
static const WrappedView view_kinds[] = {
    { "aten::slice", { "slice_dim", "slice_start", "slice_end" } },
    { "aten::as_strided", { "size", "stride", "storage_offset" } },
    { NULL, { "alias", "alias", "alias" } },
};
enum { VIEW_KINDS = sizeof view_kinds / sizeof *view_kinds };

static Expr *view_part(Ctx *cx, const ExNode *n, Str x, const char *part)
{
    return named_arg(n, str_fmt(cx, "_%s_%s", x->s, part)->s);
}

/* Is `_x_part` said about a view, x being an argument that is written? */
static bool tells_view(Ctx *cx, const ExNode *n, Str name)
{
    for (size_t i = 0; i < VIEW_KINDS * 3; i++) {
        Str tail = str_fmt(cx, "_%s", view_kinds[i / 3].part[i % 3]);
        if (name->len > tail->len + 1 && str_ends(name, tail->s) &&
            view_part(cx, n, str_n(cx, name->s + 1, name->len - 1 - tail->len), "base_index"))
            return true;
    }
    return false;
}

/* Argument x as a view of its base. */
static Expr *written_view(ExScope *s, const ExNode *n, Str x, Expr *base)
{
    Ctx *cx = s->x->cx;
    for (size_t k = 0; k < VIEW_KINDS; k++) {
        const WrappedView *kind = &view_kinds[k];
        Expr *view = kind->op && view_part(cx, n, x, kind->part[0]) ? ex_expr(s->x, X_OP) : NULL;
        if (!view)
            continue;
        view->op = op_named(cx, kind->op);
        view->args = new_array(cx, Arg, 4);
        if (!view->args)
            return base;
        view->args[view->n_args++] = (Arg){ .value = base };
        for (int i = 0; i < 3; i++) {
            Expr *part = view_part(cx, n, x, kind->part[i]);
            if (!part)
                return ex_bad(s->x, &n->inputs, "half of a view's description"), base;
            view->args[view->n_args++] = (Arg){ .value = part };
        }
        return view;
    }
    return base;
}

/* A fresh copy of each base, in a slot of its own. */
static bool copy_bases(ExScope *s, const Expr *bases, ExOperands *out)
{
    Exported *x = s->x;
    for (uint32_t i = 0; i < bases->n; i++) {
        ExTargets t = { 0 };
        uint32_t slot = ex_slot(x, s->fn, str_of(x->cx, "base"));
        Expr *clone = ex_expr(x, X_OP);
        clone->op = op_named(x->cx, "aten::clone");
        clone->args = new_array(x->cx, Arg, 1);
        if (!clone->args || !vec_push(x->cx, &t.slot, slot) ||
            !vec_push(x->cx, &t.type, (Recorded){ .rank = -1 }))
            return false;
        clone->args[clone->n_args++] = (Arg){ .value = bases->items[i] };
        ex_assign(s, clone, &t, false);
        if (!vec_push(x->cx, out, ex_local(x, slot)))
            return false;
    }
    return true;
}

/* Argument, or item, x: a view of the copy of base `index`, which is None for what is not given. */
static bool written_value(ExScope *s, const ExNode *n, const ExOperands *copies, Str x,
                          const Expr *index, Expr **out)
{
    *out = ex_expr(s->x, X_NONE);
    if (index->kind != X_INT)
        return true;
    if (index->i < 0 || (uint64_t)index->i >= copies->n)
        return ex_bad(s->x, &n->inputs, "a base that is not there");
    *out = written_view(s, n, x, copies->at[index->i]);
    return true;
}

/* `_x_length=2, _x_0_base_index=.., _x_1_base_index=..`: the items of a list. */
static bool written_items(ExScope *s, const ExNode *n, const ExOperands *copies, Str x,
                          const Expr *length, Expr **out)
{
    Ctx *cx = s->x->cx;
    *out = ex_expr(s->x, length->kind == X_INT ? X_LIST : X_NONE);
    if (length->kind != X_INT)
        return true;
    if (length->i < 0 || (uint64_t)length->i > n->args.n)
        return ex_bad(s->x, &n->inputs, "a list without its items");
    (*out)->items = new_array(cx, Expr *, (size_t)length->i + 1);
    for (int64_t i = 0; (*out)->items && i < length->i; i++) {
        Str item = str_fmt(cx, "%s_%lld", x->s, (long long)i);
        const Expr *index = view_part(cx, n, item, "base_index");
        if (!index || !written_value(s, n, copies, item, index, &(*out)->items[(*out)->n++]))
            return index ? false : ex_bad(s->x, &n->inputs, "a list without its items");
    }
    return !ctx_failed(cx);
}

/* Is this name, `_x_3_base_index` or a part of that view, about an item of a list x, for which
 * there is `_x_length` too? */
static bool tells_item(Ctx *cx, const ExNode *n, Str name)
{
    for (size_t i = 2; i < name->len; i++)
        if (name->s[i] == '_' && name->s[i + 1] >= '0' && name->s[i + 1] <= '9' &&
            view_part(cx, n, str_n(cx, name->s + 1, i - 1), "length"))
            return true;
    return false;
}

/* The operator's arguments: those given, and those it writes to. */
static bool written_args(ExScope *s, const ExNode *n, const ExOperands *copies, Expr *op)
{
    Ctx *cx = s->x->cx;
    Str *written = new_array(cx, Str, n->args.n + 1);
    size_t n_written = 0;
    op->args = new_array(cx, Arg, n->args.n);
    if (!op->args || !written)
        return false;
    for (size_t i = 1; i < n->args.n; i++) {
        Arg a = n->args.at[i];
        bool about = a.name && a.name->s[0] == '_';
        if (about &&
            (str_is(a.name, "_all_bases") || tells_item(cx, n, a.name) ||
             tells_view(cx, n, a.name)))
            continue;
        Str one = about ? written_argument(cx, a.name, "_base_index") : NULL;
        Str list = about ? written_argument(cx, a.name, "_length") : NULL;
        if (about && !one && !list) {
            fail(cx, E_UNSUPPORTED,
                 "what %s writes to is described in another way than torch does (%s)",
                 n->args.at[0].value->s->s, a.name->s);
            fail_hint(
                cx, "save the program as torch.export.export gives it, before run_decompositions");
            return false;
        }
        if (!(one ? written_value(s, n, copies, one, a.value, &a.value)
                  : !list || written_items(s, n, copies, list, a.value, &a.value)))
            return false;
        if (one || list)
            a.name = one ? one : list;
        if ((one || list) && a.value->kind != X_NONE)
            written[n_written++] = a.name;
        op->args[op->n_args++] = a;
    }
    op->writes = n_written ? written : NULL;
    return true;
}

/* auto_functionalized: an operator that writes to arguments, made one that returns them. The
 * operator runs on copies of the bases; its own results come first, then the written copies, one
 * for each base. */
static bool write_functionalized(ExScope *s, ExNode *n)
{
    ExResults r = { 0 };
    ExOperands copies = { 0 };
    Expr *op = wrapped_op(s, n, 0);
    const Expr *bases = named_arg(n, "_all_bases");
    if (!op || !ex_results(s, &n->outputs, &r))
        return false;
    if (!bases || bases->kind != X_LIST || r.lists.n || r.targets.slot.n < bases->n) {
        fail(s->x->cx, E_UNSUPPORTED, "which arguments %s writes to is not in the file",
             n->args.at[0].value->s->s);
        fail_hint(s->x->cx,
                  "save the program as torch.export.export gives it, before run_decompositions");
        return false;
    }
    size_t own = r.targets.slot.n - bases->n;
    if (!copy_bases(s, bases, &copies) || !written_args(s, n, &copies, op))
        return false;
    assign_part(s, op, &r.targets, 0, own, n);
    for (size_t i = 0; i < copies.n; i++)
        assign_part(s, copies.at[i], &r.targets, own + i, own + i + 1, n);
    return true;
}

bool ex_write_wrapped(ExScope *s, ExNode *n)
{
    return is_effect(n->target) ? write_effect(s, n) : write_functionalized(s, n);
}
