/* loop.c - a loop whose iteration count or condition ONNX decides: one Loop node.
 *
 * What the body changes is carried. Which things those are, and what types hold for every
 * iteration, is found by running the body aside until nothing new turns up: a changed value starts
 * with the type it has before the loop; where an iteration ends with another size, that size
 * becomes a symbol; a Python number that changes becomes symbolic. Each run starts from the same
 * state (the trail is undone) with the carried things generalised. The last run's graph is the
 * body.
 *
 * A whole number that each iteration changes by the same amount (the i of `for i in range(n)` with
 * a break, which is saved as a while) is counted: in the body it is `first + step * iteration`, so
 * that it is known not to be negative; one that changes in another way may still never be. What the
 * condition says about such numbers holds in the iteration that follows; both are supposed, run,
 * and seen to hold again at the end of the run.
 *
 * A list that changes its length is carried as one tensor (stacked.h). When an iteration only
 * appends one item and never looks at the list, which the run itself tells, the tensor is not
 * carried either: the items are a scan output. */
#include "eval/loop/loop_internal.h"

enum {
    MAX_RUNS = 24
}; /* each run finds a new carried thing, or widens a size: nets of loops stay under 8 */

bool loop_give_up(Loop *l, Str why)
{
    fail(l->ev->cx, E_UNSUPPORTED, "a loop that ONNX runs: %s", why->s);
    fail_hint(l->ev->cx,
              "a fixed number of iterations is unrolled instead: give the sizes that the "
              "loop runs over with -i");
    return false;
}

/* ---- one run of the body ---- */

static bool keep_going(Loop *l)
{
    Value c;
    if (!l->plan->condition) {
        l->keep_going = l->cond_in;
        return true;
    }
    if (!l->plan->condition(l->ev, l->plan->arg, &c))
        return false;
    if (!val_is_plain_number(c))
        return fail(l->ev->cx, E_VALUE, "%s is no condition", val_kind(c));
    l->keep_going = carry_ox(l->g, c);
    return ox_ok(l->keep_going) && iteration_start_learn(l->g->up, &l->start, c, &l->again);
}

static bool run_body(Loop *l, Dim iteration)
{
    Flow flow = l->plan->body(l->ev, l->plan->arg, val_dim(l->ev->cx, iteration));
    if (flow == FLOW_RETURN)
        return fail(l->ev->cx, E_UNSUPPORTED, "a loop that ONNX runs returns from its middle");
    return flow == FLOW_NEXT;
}

/* Has this run written to a tensor that is older than the run, that the run was given, or that
 * has another name? */
static bool has_written(const Loop *l, const Change *changes, size_t n, uint64_t shared_before)
{
    bool written = heap_shared_writes(l->ev->cx) > shared_before;
    for (size_t i = 0; !written && i < n; i++)
        written = changes[i].kind == CHANGE_STORAGE && changes[i].before_ox;
    for (size_t i = 0; !written && i < l->leaves.n; i++) {
        const Leaf *leaf = &l->leaves.at[i];
        written = !leaf->dead && leaf->form == LEAF_TENSOR && leaf->fed &&
            leaf->fed->st->now != leaf->input;
    }
    return written;
}

/* A graph for the body with a Loop's inputs: the iteration's number, the condition, the leaves.
 * Gives the number. */
static Ox make_body(Loop *l)
{
    Ctx *cx = l->ev->cx;
    l->g = graph_new(cx, l->ev->g, NULL);
    Ox iteration = graph_input(l->g, NULL, type_tensor(cx, DT_INT64, 0, NULL));
    l->cond_in = graph_input(l->g, NULL, type_tensor(cx, DT_BOOL, 0, NULL));
    for (size_t i = 0; i < l->leaves.n; i++)
        if (!l->leaves.at[i].dead)
            leaf_make_input(l, &l->leaves.at[i]);
    return iteration;
}

/* What is known at the beginning of every iteration becomes facts, and the body's inputs stand
 * in the place of what is carried. */
static bool begin_iteration(Loop *l, Dim counter)
{
    bool ok = iteration_start_suppose(l->ev, l->g->up, &l->start, counter);
    l->fed = (Map){ 0 };
    for (size_t i = 0; i < l->carried.n; i++)
        loop_set(l, &l->carried.at[i], false);
    for (size_t i = 0; i < l->invalid.n; i++)
        loop_invalidate(l, l->invalid.at[i]);
    l->run_opened = heap_now(l->ev->cx);
    l->seen = (Map){ 0 };
    return ok;
}

/* Goes through all that the iteration has changed since m: do the types hold with which the
 * iteration began? */
static bool check_iteration(Loop *l, TrailMark m, uint64_t shared_before)
{
    Ctx *cx = l->ev->cx;
    const Change *changes;
    const ItemChange *items;
    Map by_items = { 0 };
    size_t n = trail_changes(cx, m, &changes);
    size_t n_items = trail_items(cx, m, &items);
    l->writes = has_written(l, changes, n, shared_before);
    for (size_t i = 0; i < n; i++)
        if (loop_goes_by_items(l, &changes[i]))
            map_put(cx, &by_items, changes[i].what, (void *)(uintptr_t)(i + 1));
        else if (!loop_check(l, &changes[i]))
            return false;
    for (size_t i = 0; i < n_items; i++) {
        uintptr_t of = (uintptr_t)map_get(&by_items, items[i].of);
        if (of && !loop_check_item(l, &changes[of - 1], &items[i]))
            return false;
    }
    return loop_look_again(l);
}

static bool run_iteration(Loop *l, Ox iteration, TrailMark m)
{
    Eval *ev = l->ev;
    Ctx *cx = ev->cx;
    Dim counter = dim_fresh(cx, "i");
    dim_set_origin(cx, counter, iteration, -1);
    bool begun = begin_iteration(l, counter);
    uint64_t shared_writes = heap_shared_writes(cx);
    Findings *around = loop_enter_body(l);
    bool ok = begun && run_body(l, dim_add(cx, counter, dim_int(cx, l->plan->done))) &&
        keep_going(l) && check_iteration(l, m, shared_writes);
    ev->findings = around;
    return ok;
}

/* Run the body aside, in a graph of its own, and undo what it did. l->again says whether another
 * run is needed: `h = cat([h, x])` begins with h of size 3, ends with 4, and runs again with h of
 * any size. False after an error. */
static bool run_once(Loop *l)
{
    Eval *ev = l->ev;
    Ctx *cx = ev->cx;
    size_t known = l->carried.n;
    l->again = false;
    l->left.n = 0;
    Ox iteration = make_body(l);
    TrailMark m = trail_open(cx);
    dim_scope_open(cx);
    ev->g = l->g;
    ev->staged++;
    bool ok = run_iteration(l, iteration, m);
    ev->staged--;
    ev->g = l->g->up;
    dim_scope_close(cx);
    trail_undo(cx, m);
    if (!ok && ev->raised && !ctx_failed(cx))
        fail_at(cx, ev->raised_at, E_UNSUPPORTED, "a loop that ONNX runs raises an error: %s",
                ev->raised->s);
    return ok && loop_first_values(l, known) && !ctx_failed(cx);
}

/* ---- the node ---- */

/* A list that the iterations only append to is carried by no leaf: its items are a scan output. */
static void forget_lists(Loop *l)
{
    size_t n = 0;
    Map scanned = { 0 };
    for (size_t i = 0; i < l->leaves.n; i++)
        if (l->leaves.at[i].item)
            map_put(l->ev->cx, &scanned, l->leaves.at[i].input, NULL);
    for (size_t i = 0; i < l->g->inputs.n; i++)
        if (!map_find(&scanned, l->g->inputs.at[i]))
            l->g->inputs.at[n++] = l->g->inputs.at[i];
    l->g->inputs.n = n;
}

static bool is_carried(const Leaf *leaf) { return !leaf->dead && !leaf->item; }

typedef VEC(Ox) OxVec;
typedef VEC(Leaf *) Leaves;

/* The Loop's inputs, and the body's outputs in the same order: what is carried first, then the
 * scan outputs. `made` has the leaf of each output of the Loop. */
static void connect_leaves(Loop *l, OxVec *in, Leaves *made)
{
    Ctx *cx = l->ev->cx;
    for (size_t i = 0; i < l->leaves.n; i++) {
        Leaf *leaf = &l->leaves.at[i];
        if (!is_carried(leaf))
            continue;
        vec_push(cx, in, leaf->init);
        graph_output(l->g, leaf->last ? leaf->last : leaf->input, NULL);
        vec_push(cx, made, leaf);
    }
    if (made->n == 0 && !l->plan->condition)
        in->at[1] = ox_bool(l->ev->g, true); /* ONNX's Loop has two inputs at least */
    for (size_t i = 0; i < l->leaves.n; i++)
        if (l->leaves.at[i].item) {
            graph_output(l->g, l->leaves.at[i].item, NULL);
            vec_push(cx, made, &l->leaves.at[i]);
        }
}

/* Once all runs agree: the Loop around the last run's graph, and its outputs in the place of what
 * is carried.
 *
 *     Loop(count, condition, init..) -> (last.., items..)
 *     body: (i, go, input..) -> (keep_going, last.., item..) */
static bool make_loop(Loop *l)
{
    Eval *ev = l->ev;
    Graph *g = ev->g;
    OxVec in = { 0 };
    Leaves made = { 0 };
    bool counted = !l->plan->condition;
    vec_push(ev->cx, &in, counted ? carry_ox(g, l->plan->start) : NULL);
    vec_push(ev->cx, &in, counted ? NULL : carry_ox(g, l->plan->start));
    if (ctx_failed(ev->cx))
        return false;
    graph_output(l->g, l->keep_going, NULL);
    connect_leaves(l, &in, &made);
    forget_lists(l);
    Ox *out = new_array(ev->cx, Ox, made.n + 1);
    Attr body = SUBGRAPH("body", l->g);
    if (!out || (made.n && !ox_make_n(g, "Loop", LIST(in), &body, 1, out, made.n)))
        return false;
    for (size_t i = 0; i < made.n; i++) {
        Leaf *leaf = made.at[i];
        leaf->made = leaf->item && !leaf->before->empty
            ? ox_g_with(g, "Concat", INPUTS(leaf->init, out[i]), INT("axis", 0))
            : out[i];
    }
    for (size_t i = 0; i < l->carried.n; i++)
        loop_set(l, &l->carried.at[i], true);
    for (size_t i = 0; i < l->invalid.n; i++)
        loop_invalidate(l, l->invalid.at[i]);
    return !ctx_failed(ev->cx);
}

/* Supposes of each condition `i < n`, where i is a number that the loop counts, that it holds
 * when an iteration begins. */
static bool suppose_limits(Loop *l)
{
    Ctx *cx = l->ev->cx;
    Limit limit[MAX_LIMITS];
    int n = l->plan->condition && l->plan->text ? limits_of(l->ev, l->plan->text, limit) : 0;
    for (int i = 0; i < n; i++) {
        const Carried *k = loop_carried(l, limit[i].number);
        const Leaf *leaf = k && k->n == 1 ? &l->leaves.at[k->first] : NULL;
        if (leaf && leaf->counts &&
            !iteration_start_add(l->ev->g, &l->start,
                                 (Known){ limit[i].rel, leaf_counted(l, leaf), limit[i].bound }))
            return false;
    }
    return !ctx_failed(cx);
}

/* The variable of a for loop is not carried: each iteration sets it before reading it, and
 * nothing reads it behind the loop. */
static void forget_variable(Eval *ev, const Stmt *s)
{
    if (s && s->kind == S_FOR && s->n_target)
        assign_slot(
            ev, s->target[0],
            val_never(ev->cx,
                      str_of(ev->cx, "the variable of a loop that ONNX runs is read behind it")));
}

/* Runs the body until a run finds nothing new; the graph of that run is the Loop's body. The
 * first run of a loop in a loop begins with what was found in the last run of the body around
 * (loop_nested.c). */
bool run_loop(Eval *ev, const LoopPlan *plan)
{
    forget_variable(ev, plan->text);
    Loop l = { .ev = ev,
               .plan = plan,
               .opened = heap_now(ev->cx),
               .start.first = plan->condition ? plan->start : val_none() };
    bool begun;
    if (!loop_suppose_findings(&l, &begun) ||
        (begun && l.start.known.n == 0 && !suppose_limits(&l)))
        return false;
    for (int run = 0; run < MAX_RUNS; run++) {
        for (size_t i = 0; i < l.leaves.n; i++)
            l.leaves.at[i].last = l.leaves.at[i].item = NULL;
        if (!run_once(&l))
            return false;
        if (!l.again) {
            loop_keep_findings(&l);
            return make_loop(&l);
        }
        if (run == 0 && !begun && !suppose_limits(&l))
            return false;
    }
    return loop_give_up(&l, str_of(ev->cx, "its types are still not stable after many iterations"));
}
