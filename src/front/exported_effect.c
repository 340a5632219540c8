/* exported_effect.c - an operator inside a higher-order one that says how it acts, not what it computes.
 *
 *   with_effects(token, op, arguments..) -> token, results      op runs in the order of the tokens, which hold nothing
 *   auto_functionalized_v2(op, arguments by name, _x_base_index=i, _all_bases=[..]) -> results, bases
 *                                                               op writes to its argument x: to a copy of base i, the new base
 *
 * Both become the operator itself, which may then be unknown by its own name, or be taught by a rule. */
#include "front/exported.h"

static bool is_effect(Str target) { return str_is(target, "torch.ops.higher_order.with_effects"); }

bool ex_wraps(Str target) { return is_effect(target) || str_starts(target, "torch.ops.higher_order.auto_functionalized"); }

/* The operator among the arguments, which it is taken from. */
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

/* The results from..to are the operator's own; one that returns nothing has a place for it. */
static void assign_part(ExScope *s, Expr *op, const ExTargets *all, size_t from, size_t to, const ExNode *n)
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
static Str written_argument(Ctx *cx, Str name)
{
    static const char suffix[] = "_base_index";
    bool is = name->s[0] == '_' && str_ends(name, suffix) && name->len > sizeof suffix;
    return is ? str_n(cx, name->s + 1, name->len - sizeof suffix) : NULL;
}

static const Expr *find_bases(const ExNode *n)
{
    for (size_t i = 0; i < n->args.n; i++)
        if (n->args.at[i].name && str_is(n->args.at[i].name, "_all_bases"))
            return n->args.at[i].value;
    return NULL;
}

/* A fresh copy of each base, in a slot of its own. */
static bool copy_bases(ExScope *s, const Expr *bases, ExOperands *out)
{
    Exported *x = s->x;
    for (uint32_t i = 0; i < bases->n; i++) {
        ExTargets t = { 0 };
        uint32_t slot = ex_slot(x, s->fn, str_of(x->cx, "base"));
        Expr *clone = ex_expr(x, X_OP);
        clone->op = str_of(x->cx, "aten::clone");
        clone->args = new_array(x->cx, Arg, 1);
        if (!clone->args || !vec_push(x->cx, &t.slot, slot) || !vec_push(x->cx, &t.type, (Recorded){ .rank = -1 }))
            return false;
        clone->args[clone->n_args++] = (Arg){ .value = bases->items[i] };
        ex_assign(s, clone, &t, false);
        if (!vec_push(x->cx, out, ex_local(x, slot)))
            return false;
    }
    return true;
}

/* The operator's arguments: those given, and those it writes to. A part of a base would have to be found in it. */
static bool written_args(ExScope *s, const ExNode *n, const ExOperands *copies, Expr *op)
{
    op->args = new_array(s->x->cx, Arg, n->args.n);
    for (size_t i = 1; op->args && i < n->args.n; i++) {
        Arg a = n->args.at[i];
        Str written = a.name ? written_argument(s->x->cx, a.name) : NULL;
        if (a.name && str_is(a.name, "_all_bases"))
            continue;
        if (a.name && a.name->s[0] == '_' && !written) {
            fail(s->x->cx, E_UNSUPPORTED, "%s writes to a view of a tensor (%s)", n->args.at[0].value->s->s, a.name->s);
            fail_hint(s->x->cx, "save the program as torch.export.export gives it, before run_decompositions");
            return false;
        }
        if (written && a.value->kind == X_INT) {
            if (a.value->i < 0 || (uint64_t)a.value->i >= copies->n)
                return ex_bad(s->x, &n->inputs, "a base that is not there");
            a.value = copies->at[a.value->i];
        }
        if (written)
            a.name = written;
        op->args[op->n_args++] = a;
    }
    return op->args != NULL;
}

static bool write_functionalized(ExScope *s, ExNode *n)
{
    ExResults r = { 0 };
    ExOperands copies = { 0 };
    Expr *op = wrapped_op(s, n, 0);
    const Expr *bases = find_bases(n);
    if (!op || !ex_results(s, &n->outputs, &r))
        return false;
    if (!bases || bases->kind != X_LIST || r.lists.n || r.targets.slot.n < bases->n) {
        fail(s->x->cx, E_UNSUPPORTED, "which arguments %s writes to is not in the file", n->args.at[0].value->s->s);
        fail_hint(s->x->cx, "save the program as torch.export.export gives it, before run_decompositions");
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
