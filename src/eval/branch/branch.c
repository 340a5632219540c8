/* branch.c - a condition that ONNX decides: both branches run from the same state (branch_run.c),
 * and an If joins what differs (join.c).
 *
 * A branch that raises is never taken: the condition becomes a fact, or a check that is dropped
 * with a note.
 *
 * Some branches cannot be joined, while the condition asks whether anything was found (`n > 0`,
 * where n is a size that depends on data). Then the model takes the branch for `something was
 * found`. This is an assumption: a restart makes it (facts.c), a note reports it, and the
 * metadata keep it. */
#include "eval/branch/branch.h"

/* ---- branches that raise ---- */

/* Notes that the model assumes `a rel b`, if neither facts.c nor the model itself reports that.
 * An equation needs no note: it either fixes a size of an input, which facts.c notes, or the
 * running model finds out that it does not hold. */
static bool noted_as_assumption(Eval *ev, Rel rel, Dim a, Dim b, const char *raised)
{
    static const char *const sign[] = {
        [REL_EQ] = "==", [REL_NE] = "!=", [REL_LT] = "<", [REL_LE] = "<="
    };
    if (ev->staged == 0)
        note(ev->cx, NOTE_ASSUMED, "%s %s %s: the model raises otherwise (%s)",
             dim_text(ev->cx, a)->s, sign[rel], dim_text(ev->cx, b)->s, raised);
    return !ctx_failed(ev->cx);
}

/* A check that depends on data becomes no node: the running model does not raise where PyTorch
 * would. */
static bool drop_check(Eval *ev)
{
    Pos pos;
    bool known = place_pos(ev->cx, where_intern(ev->cx), &pos) && pos.file;
    Str at = known ? str_fmt(ev->cx, "%s:%u", pos.file->s, pos.line)
                   : str_of(ev->cx, "in the model");
    note(ev->cx, NOTE_DROPPED, "a check that depends on data (%s): %s", at->s,
         ev->raised ? ev->raised->s : "it raises");
    return true;
}

/* The branch in which the condition is not `truth` raises, so from here on the condition is
 * known to be `truth`. */
static bool learn(Eval *ev, Value condition, bool truth)
{
    const SymBool *s = condition.sb;
    if (s->ox)
        return drop_check(ev);
    Rel rel = s->rel;
    Dim a = s->a;
    Dim b = s->b;
    if (!truth)
        rel_not(&rel, &a, &b);
    const char *raised = ev->raised ? ev->raised->s : "";
    if (!noted_as_assumption(ev, rel, a, b, raised))
        return false;
    if (rel == REL_EQ)
        return dim_require(ev->cx, a, b, "the model raises otherwise: %s", raised);
    return dim_assume(ev->cx, rel, a, b) || ctx_failed(ev->cx) ||
        fail(ev->cx, E_VALUE, "the model raises an error for the sizes that are known: %s", raised);
}

bool raises_surely(const Block *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        if (b->at[i]->value && b->at[i]->value->kind == X_OP &&
            str_is(b->at[i]->value->op->name, "prim::RaiseException"))
            return true;
    return false;
}

/* Both branches raise, so the if statement does. */
static Flow raise_again(Eval *ev)
{
    if (ev->staged > 0)
        return FLOW_RAISE;
    fail_at(ev->cx, ev->raised_at, E_VALUE, "the model raises an error: %s", ev->raised->s);
    return FLOW_FAIL;
}

/* ---- both branches ---- */

static Flow run_branch_block(Eval *ev, void *arg, Value *result)
{
    const Block *const *block = arg;
    Flow flow = run_block(ev, *block);
    if (flow == FLOW_RETURN)
        *result = ev->frame->result;
    return flow;
}

/* One branch raises, so the other one runs as if there were no condition, in the graph around
 * the if. */
static Flow take_other(Eval *ev, Value condition, const Block *other, bool truth)
{
    Str raised = ev->raised;
    bool ok = learn(ev, condition, truth);
    ev->raised = NULL;
    if (!ok)
        return FLOW_FAIL;
    Flow flow = run_block(ev, other);
    if (flow == FLOW_RAISE && ev->staged == 0) {
        ev->raised = ev->raised ? ev->raised : raised;
        return raise_again(ev);
    }
    return flow;
}

/* ---- branches that cannot be joined ---- */

static Dim look_for_data(void *arg, Dim sym)
{
    struct {
        Ctx *cx;
        bool found;
    } *l = arg;
    Ox from;
    int axis;
    l->found = l->found || (dim_origin(l->cx, sym, &from, &axis) && from->kind == OX_NODE);
    return NULL;
}

/* A size or count that depends on data, so that no -i can give it: how many boxes were found. */
static bool is_count_of_data(Ctx *cx, Dim d)
{
    struct {
        Ctx *cx;
        bool found;
    } l = { cx, false };
    if (dim_known(d, NULL) || !dim_is_count(cx, d))
        return false;
    dim_replace(cx, d, look_for_data, &l);
    return l.found;
}

/* What `a rel b` is when one side is a count of data that is 1 or more, and the other side a
 * known number: `count == 0` is NO, `0 < count` is YES, and of `count < 5` nothing is known. */
static Tri for_any_found(Ctx *cx, const SymBool *s)
{
    int64_t n;
    bool first = dim_known(s->a, &n);
    if ((!first && !dim_known(s->b, &n)) || !is_count_of_data(cx, first ? s->b : s->a))
        return UNKNOWN;
    bool below = n < 1; /* than any count */
    bool at_most = n <= 1;
    switch (s->rel) {
    case REL_EQ: return below ? NO : UNKNOWN;
    case REL_NE: return below ? YES : UNKNOWN;
    case REL_LT:
        if (first)
            return below ? YES : UNKNOWN;
        return at_most ? NO : UNKNOWN;
    case REL_LE:
        if (first)
            return at_most ? YES : UNKNOWN;
        return below ? NO : UNKNOWN;
    }
    return UNKNOWN;
}

/* " (net.py:12, if n > 0)" */
static Str this_line(Ctx *cx)
{
    Pos pos;
    if (!place_pos(cx, where_intern(cx), &pos) || !pos.file)
        return str_of(cx, "");
    const char *line = "";
    if (pos.source)
        line = pos.source->s + strspn(pos.source->s, " \t");
    size_t n = strcspn(line, "\n");
    const char *comma = n ? ", " : "";
    if (n && line[n - 1] == ':')
        n--;
    return str_fmt(cx, " (%s:%u%s%.*s)", pos.file->s, pos.line, comma, (int)n, line);
}

/* Take the branch of the usual case, in which something was found. A note always says so. */
static Flow take_assumed(Eval *ev, const Stmt *s, const SymBool *c, bool truth, Str why)
{
    Ctx *cx = ev->cx;
    Dim size = dim_known(c->a, NULL) ? c->b : c->a;
    Str text = dim_text(cx, size);
    note(cx, NOTE_ASSUMED,
         "%s is not 0 when the model runs%s, since ONNX cannot join the two branches: %s",
         text->len < 60 ? text->s : "what is asked for", this_line(cx)->s, why->s);
    if (!dim_assume(cx, REL_LT, dim_int(cx, 0), size) && !ctx_failed(cx))
        fail(cx, E_UNSUPPORTED, "%s", why->s);
    if (ctx_failed(cx))
        return FLOW_FAIL;
    return run_block(ev, truth ? &s->body : &s->other);
}

/* ---- the statement ---- */

/* An error: one branch returns from the function, while the other goes on behind the if. sizes:
 * the condition is one of sizes, so a restart may take one of the branches by assumption. */
static Flow flows_differ(Eval *ev, bool sizes)
{
    Str differ = str_of(ev->cx, "one branch of an if returns and the other goes on");
    if (!sizes || facts_take_branch(ev->cx, where_intern(ev->cx), differ))
        fail(ev->cx, E_UNSUPPORTED, "%s, and ONNX decides between them", differ->s);
    return FLOW_FAIL;
}

/* Both branches run from the same state, and an If joins them. When one branch surely raises it
 * runs first, since then the other one needs no If. */
Flow run_if(Eval *ev, const Stmt *s, Value condition)
{
    Tri found = condition.sb->ox ? UNKNOWN : for_any_found(ev->cx, condition.sb);
    Str why = found != UNKNOWN ? facts_branch(ev->cx, where_intern(ev->cx)) : NULL;
    if (why)
        return take_assumed(ev, s, condition.sb, found == YES, why);
    const Block *block[2] = { &s->body, &s->other };
    Branch branch[2] = { { .block = block[0], .condition = condition, .truth = true },
                         { .block = block[1], .condition = condition } };
    int first = raises_surely(block[1]) ? 1 : 0;
    for (int i = 0; i < 2; i++) {
        int k = i == 0 ? first : 1 - first;
        Flow flow = run_branch(ev, &branch[k], run_branch_block, &block[k]);
        if (flow == FLOW_FAIL)
            return flow;
        if (flow == FLOW_RAISE)
            return take_other(ev, condition, block[1 - k], k == 1);
    }
    if (branch[0].flow != branch[1].flow)
        return flows_differ(ev, found != UNKNOWN);
    Value result;
    if (!join_branches(ev, condition, found != UNKNOWN, &branch[0], &branch[1], &result))
        return FLOW_FAIL;
    if (branch[0].flow == FLOW_RETURN)
        ev->frame->result = result;
    return branch[0].flow;
}
