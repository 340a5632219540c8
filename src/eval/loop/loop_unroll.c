/* loop_unroll.c - which loops are evaluated iteration by iteration, and which ONNX runs.
 *
 * A loop is unrolled while its iterations are known. Once one is not (a condition of the running
 * model), and where they make too many nodes, ONNX runs the rest; and from the next evaluation on
 * all of it, so that no iteration stands before the Loop. Where ONNX cannot (an index of modules, a
 * first iteration that changes a type) it stays as it was. */
#include "eval/loop/loop.h"
#include "eval/loop/loop_known.h"

static LoopsMode mode_of(const Eval *ev) { return ev->cx->opt ? ev->cx->opt->loops : LOOPS_AUTO; }

static Flow not_unrolled(Eval *ev)
{
    fail(ev->cx, E_UNDECIDED,
         "how often a loop runs is not known, so it cannot be unrolled (--loops=unroll)");
    fail_hint(ev->cx,
              "give the sizes that the loop runs over with -i, or let ONNX run it: --loops=auto");
    return FLOW_FAIL;
}

static Flow run_staged(Eval *ev, const LoopPlan *plan)
{
    if (mode_of(ev) == LOOPS_UNROLL)
        return not_unrolled(ev);
    return run_loop(ev, plan) ? FLOW_NEXT : FLOW_FAIL;
}

static bool is_kept(Eval *ev, const LoopPlan *plan)
{
    LoopFact fact = facts_loop_of(ev->cx, plan->which);
    return fact == LOOP_KEPT || (fact == LOOP_AS_ASKED && mode_of(ev) == LOOPS_KEEP);
}

/* Does the loop go on while a number is below another one that only the running model knows? */
static bool is_open(Eval *ev, const LoopPlan *plan)
{
    Limit limit[MAX_LIMITS];
    int64_t known;
    bool open = false;
    for (int i = plan->text ? limits_of(ev, plan->text, limit) : 0; i > 0 && !open; i--)
        open = !dim_known(limit[i - 1].bound, &known);
    return open && mode_of(ev) != LOOPS_UNROLL &&
        facts_loop_of(ev->cx, plan->which) == LOOP_AS_ASKED;
}

/* ONNX runs the loop, from iteration plan->done on. False: it cannot. */
static bool run_kept(Eval *ev, const LoopPlan *plan, bool tell, Flow *flow)
{
    Ctx *cx = ev->cx;
    *flow = run_loop(ev, plan) ? FLOW_NEXT : FLOW_FAIL;
    ErrorCode e = cx->error.code;
    if (*flow != FLOW_FAIL || (e != E_UNSUPPORTED && e != E_UNDECIDED && e != E_VALUE))
        return true;
    facts_loop(cx, plan->which, LOOP_UNROLLED, tell ? cx->error.text : NULL);
    cx->error = (Error){ .code = E_NONE };
    ev->raised = NULL;
    *flow = FLOW_NEXT;
    return false;
}

/* Would the loop make too many nodes, if each iteration made as many as the last? */
static bool too_large(Eval *ev, const LoopPlan *plan, size_t nodes, int64_t times)
{
    int64_t all;
    return mode_of(ev) == LOOPS_AUTO && facts_loop_of(ev->cx, plan->which) == LOOP_AS_ASKED &&
        (!mul_ok((int64_t)nodes, times, &all) || all > ev->cx->limit[LIMIT_UNROLL]);
}

/* Run the body once; true: go on with the next iteration. */
static bool one_iteration(Eval *ev, const LoopPlan *plan, Flow *flow)
{
    *flow = step(ev) ? plan->body(ev, plan->arg, val_int(plan->done)) : FLOW_FAIL;
    return *flow == FLOW_NEXT;
}

/* A for loop. After two iterations the nodes of one are known: where all would be too many, ONNX
 * runs the rest now, and all of it in the next evaluation. */
Flow run_counted_loop(Eval *ev, LoopPlan *plan)
{
    Flow flow = FLOW_NEXT;
    if (plan->start.tag == V_SYMINT)
        return run_staged(ev, plan);
    int64_t iterations = plan->start.i;
    if (iterations > 0 && is_kept(ev, plan) && run_kept(ev, plan, true, &flow))
        return flow;
    size_t nodes = ev->g->nodes.n;
    for (plan->done = 0; plan->done < iterations; plan->done++) {
        if (plan->done == 2 && too_large(ev, plan, (ev->g->nodes.n - nodes) / 2, iterations)) {
            facts_loop(ev->cx, plan->which, LOOP_KEPT, NULL);
            plan->start = val_int(iterations - 2);
            if (run_kept(ev, plan, false, &flow))
                return flow;
        }
        if (!one_iteration(ev, plan, &flow))
            break;
    }
    return flow;
}

/* A while loop, iteration by iteration for as long as its condition is known. */
Flow run_conditional_loop(Eval *ev, LoopPlan *plan)
{
    Flow flow = FLOW_NEXT;
    size_t nodes = ev->g->nodes.n;
    for (plan->done = 0; flow == FLOW_NEXT; plan->done++) {
        if (!plan->condition(ev, plan->arg, &plan->start))
            return flow_of_failure(ev);
        Tri goes_on = val_truth(ev->cx, plan->start);
        bool open = goes_on == UNKNOWN && plan->start.tag == V_SYMBOOL;
        bool large = too_large(ev, plan, ev->g->nodes.n - nodes, 1);
        if (plan->done > 0 && (open || large) &&
            facts_loop_of(ev->cx, plan->which) == LOOP_AS_ASKED)
            facts_loop(ev->cx, plan->which, LOOP_KEPT, NULL);
        if (open)
            return run_staged(ev, plan);
        if (goes_on != YES)
            return FLOW_NEXT;
        bool kept = large || (plan->done == 0 && (is_kept(ev, plan) || is_open(ev, plan)));
        if (kept && run_kept(ev, plan, mode_of(ev) == LOOPS_KEEP, &flow))
            return flow;
        one_iteration(ev, plan, &flow);
    }
    return flow;
}
