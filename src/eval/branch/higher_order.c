/* higher_order.c - higher-order operators of .pt2: pieces of the program that are functions of
 * their own. */
#include "eval/branch/higher_order.h"

#include "eval/branch/branch.h"
#include "eval/loop/loop.h"
#include "value/walk.h"

typedef struct Call {
    Eval *ev;
    Value fn;
    OpArg *args;
    size_t n;
} Call;

/* The items of a, a list or tuple, as arguments, then those of `more`. Each of a and more may be
 * None. */
static bool operands(Eval *ev, Value a, Value more, OpArg **out, size_t *n)
{
    Value both[2] = { a, more };
    *n = 0;
    for (int k = 0; k < 2; k++)
        *n += (size_t)val_n_parts(both[k]);
    *out = new_array(ev->cx, OpArg, *n + 1);
    if (!*out)
        return false;
    size_t at = 0;
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < val_n_parts(both[k]); i++)
            (*out)[at++].v = val_part(both[k], i);
    return true;
}

static Flow call_branch(Eval *ev, void *arg, Value *result)
{
    const Call *c = arg;
    return call_value(ev, c->fn, c->args, c->n, result) ? FLOW_NEXT : flow_of_failure(ev);
}

static bool bad_cond(Eval *ev)
{
    return ctx_failed(ev->cx)
        ? false
        : fail(ev->cx, E_FORMAT, "cond takes a condition, two graphs and operands");
}

/* cond(condition, true_graph, false_graph, operands): one of the calls where the condition is
 * known, else an If. A graph that raises is an error, unlike a branch of an if statement. */
static bool run_cond(Eval *ev, const OpArg *args, size_t n, Value *out)
{
    Value c;
    Call call = { .ev = ev };
    Branch branch[2] = { { 0 } };
    if (n < 3 || !condition_of(ev, args[0].v, &c) ||
        !operands(ev, n > 3 ? args[3].v : val_none(), val_none(), &call.args, &call.n))
        return bad_cond(ev);
    Tri t = val_truth(ev->cx, c);
    if (t != UNKNOWN)
        return call_value(ev, args[t == YES ? 1 : 2].v, call.args, call.n, out);
    for (int k = 0; k < 2; k++) {
        call.fn = args[1 + k].v;
        if (run_branch(ev, &branch[k], call_branch, &call) == FLOW_NEXT)
            continue;
        return ev->raised ? fail_at(ev->cx, ev->raised_at, E_UNSUPPORTED,
                                    "a branch of cond raises: %s", ev->raised->s)
                          : false;
    }
    return join_branches(ev, c, false, &branch[0], &branch[1], out);
}

typedef struct WhileLoop {
    Value cond, body, additional;
    Obj *state;
} WhileLoop;

static Value as_tuple(Ctx *cx, Value v)
{
    int64_t n;
    if (v.tag == V_TUPLE)
        return v;
    if (v.tag != V_LIST)
        return val_tuple(cx, &v, 1);
    const Value *items = list_values(cx, v.list, &n);
    return items ? val_tuple(cx, items, n) : val_poison();
}

static Flow graph_body(Eval *ev, void *arg, Value iteration)
{
    WhileLoop *w = arg;
    OpArg *args;
    size_t n;
    Value v;
    (void)iteration;
    if (!operands(ev, w->state->slot[0].v, w->additional, &args, &n) ||
        !call_value(ev, w->body, args, n, &v))
        return flow_of_failure(ev);
    obj_set(ev->cx, w->state, 0, as_tuple(ev->cx, v));
    return FLOW_NEXT;
}

static bool graph_condition(Eval *ev, void *arg, Value *out)
{
    WhileLoop *w = arg;
    OpArg *args;
    size_t n;
    Value v;
    if (!operands(ev, w->state->slot[0].v, w->additional, &args, &n) ||
        !call_value(ev, w->cond, args, n, &v))
        return false;
    if (v.tag == V_TUPLE && v.tuple->n == 1)
        v = v.tuple->at[0];
    return condition_of(ev, v, out);
}

static bool run_while_loop(Eval *ev, const Expr *e, const OpArg *args, size_t n, Value *out)
{
    if (n < 3)
        return fail(ev->cx, E_FORMAT, "while_loop takes two graphs and carried values");
    WhileLoop w = { args[0].v, args[1].v, n > 3 ? args[3].v : val_none(),
                    obj_new(ev->cx, NULL, 1, NULL, NULL) };
    LoopPlan plan = {
        .which = e, .body = graph_body, .condition = graph_condition, .arg = &w, .state = w.state
    };
    obj_set(ev->cx, w.state, 0, as_tuple(ev->cx, args[2].v));
    Flow flow = run_conditional_loop(ev, &plan);
    *out = w.state->slot[0].v;
    return flow == FLOW_NEXT;
}

static bool inline_graph(Eval *ev, const OpArg *args, size_t n, size_t graph, Value *out)
{
    return n > graph ? call_value(ev, args[graph].v, args + graph + 1, n - graph - 1, out)
                     : fail(ev->cx, E_FORMAT, "a region without its graph");
}

/* wrap_with_autocast(device, dtype, enabled, cache, graph, ..): the call of the graph, where
 * autocast is off. */
static bool run_autocast(Eval *ev, const OpArg *args, size_t n, Value *out)
{
    if (!args[2].v.b)
        return inline_graph(ev, args, n, 4, out);
    fail(ev->cx, E_UNSUPPORTED,
         "an autocast region: the program does not say which operators it casts");
    fail_hint(ev->cx, "save exported_program.run_decompositions({}), which writes the casts down");
    return false;
}

/* Runs the higher-order operator of this name. A graph among the arguments is a value that is a
 * function. */
Outcome higher_order(Eval *ev, const Expr *e, const OpArg *args, size_t n, Value *out)
{
    bool ok;
    if (str_is(e->op->name, "higher_order::cond"))
        ok = run_cond(ev, args, n, out);
    else if (str_is(e->op->name, "higher_order::while_loop"))
        ok = run_while_loop(ev, e, args, n, out);
    else if (str_is(e->op->name, "higher_order::wrap_with_set_grad_enabled"))
        ok = inline_graph(ev, args, n, 1, out);
    else if (str_is(e->op->name, "higher_order::wrap_with_autocast") && n > 4 &&
             args[2].v.tag == V_BOOL)
        ok = run_autocast(ev, args, n, out);
    else if (str_is(e->op->name, "higher_order::invoke_subgraph"))
        ok = n > 2 && call_value(ev, args[0].v, args + 2, n - 2, out);
    else
        return NOT_MINE;
    return ok && !ev->raised ? outcome_done(ev->cx) : FAILED;
}
