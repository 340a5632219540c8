/* loop_known.c - what holds whenever an iteration of a staged loop begins, because the condition
 * said so at the end of the iteration before.
 *
 * One idea: induction. A relation of sizes that the condition demands at the end of iteration t is,
 * with the iteration's number shifted by one, a fact of the beginning of iteration t + 1; with the
 * iteration's number 0 it must hold by itself. It is supposed, the body is run with it, and it must
 * be found again in the condition of that run: else it is dropped, and the body runs once more
 * without.
 *
 * limits_of reads the first supposition out of the text, for the body of `while i < n` may need it
 * to have a meaning at all. That is how TorchScript saves `for i in range(n)` with a break: `while
 * c: ..; x = i + 1; c, i = (x < n) & go, x`. */
#include "eval/loop/loop_known.h"

#include "eval/branch/carry.h"
#include "eval/branch/condition.h"

/* ---- induction ---- */

typedef struct Shift {
    Graph *outside;
    Dim from, to;
    bool inner;
} Shift;

static Dim shift_counter(void *arg, Dim sym)
{
    Shift *s = arg;
    if (sym == s->from)
        return s->to;
    s->inner = s->inner || !dim_is_outside(s->outside, sym);
    return NULL;
}

/* d with the iteration's number `from` replaced by `to`. NULL: d has other symbols that only the
 * body knows. */
static Dim shifted(Graph *outside, Dim d, Dim from, Dim to)
{
    Shift s = { outside, from, to, false };
    Dim out = dim_replace(outside->cx, d, shift_counter, &s);
    return s.inner ? NULL : out;
}

/* Does the relation hold when the first iteration begins? */
static bool holds_first(Graph *outside, const IterationStart *t, Known k)
{
    Ctx *cx = outside->cx;
    Dim zero = dim_int(cx, 0);
    Dim a = shifted(outside, k.a, t->counter, zero);
    Dim b = shifted(outside, k.b, t->counter, zero);
    if (!a || !b)
        return false;
    dim_scope_open(cx);
    bool begins = t->first.tag != V_SYMBOOL || assume_condition(cx, t->first.sb, true);
    Value holds = val_rel(cx, k.rel, a, b);
    dim_scope_close(cx);
    return begins && holds.tag == V_BOOL && holds.b;
}

bool iteration_start_add(Graph *outside, IterationStart *t, Known k)
{
    return !holds_first(outside, t, k) || vec_push(outside->cx, &t->known, k);
}

bool iteration_start_suppose(Eval *ev, Graph *outside, IterationStart *t, Dim counter)
{
    Ctx *cx = ev->cx;
    Dim last = t->counter;
    t->counter = counter;
    if (t->first.tag == V_SYMBOOL && !assume_condition(cx, t->first.sb, true))
        return !ctx_failed(cx);
    for (size_t i = 0; i < t->known.n; i++) {
        Known *k = &t->known.at[i];
        k->a = shifted(outside, k->a, last, counter);
        k->b = shifted(outside, k->b, last, counter);
        if (!dim_assume(cx, k->rel, k->a, k->b) && ctx_failed(cx))
            return false;
    }
    return !ctx_failed(cx);
}

static bool learn_relations(Graph *outside, IterationStart *t, const SymBool *s)
{
    if (s->left)
        return learn_relations(outside, t, s->left) && learn_relations(outside, t, s->right);
    if (s->ox || s->rel == REL_EQ)
        return true;
    Dim before = dim_sub(outside->cx, t->counter, dim_int(outside->cx, 1));
    Known k = { s->rel, shifted(outside, s->a, t->counter, before),
                shifted(outside, s->b, t->counter, before) };
    return !k.a || !k.b || iteration_start_add(outside, t, k);
}

static bool is_among(const IterationStart *t, size_t from, Known k)
{
    for (size_t i = from; i < t->known.n; i++)
        if (t->known.at[i].rel == k.rel && t->known.at[i].a == k.a && t->known.at[i].b == k.b)
            return true;
    return false;
}

bool iteration_start_learn(Graph *outside, IterationStart *t, Value condition, bool *again)
{
    size_t supposed = t->known.n;
    if (t->wrong)
        return true;
    if (condition.tag == V_SYMBOOL && !learn_relations(outside, t, condition.sb))
        return false;
    size_t found = t->known.n - supposed;
    for (size_t i = 0; i < supposed; i++)
        t->wrong = t->wrong || !is_among(t, supposed, t->known.at[i]);
    *again = *again || t->wrong || found > supposed;
    for (size_t i = 0; i < found; i++)
        t->known.at[i] = t->known.at[supposed + i];
    t->known.n = t->wrong ? 0 : found;
    return true;
}

/* ---- what the text says ---- */

/* The expression that assignment s gives to its target number k. NULL: the statement is
 * something else. */
static const Expr *value_of_target(const Stmt *s, uint32_t k)
{
    if (s->kind != S_ASSIGN || s->unpack)
        return NULL;
    if (s->n_values)
        return k < s->n_values ? s->values[k] : NULL;
    return s->n_target == 1 ? s->value : NULL;
}

/* The expression that the block leaves in a slot: the right side of the last plain assignment to
 * it. NULL: there is none, or another kind of statement sets the slot. */
static const Expr *assigned(const Block *b, uint32_t slot)
{
    const Expr *found = NULL;
    for (uint32_t i = 0; i < b->n; i++)
        for (uint32_t k = 0; k < b->at[i]->n_target; k++)
            if (b->at[i]->target[k] == slot)
                found = value_of_target(b->at[i], k);
    return found;
}

/* The expression for which e is the block's own name: after `a = x + 1; b = a` the name b stands
 * for `x + 1`. */
static const Expr *behind_names(const Block *b, const Expr *e)
{
    for (int i = 0; e && e->kind == X_LOCAL && i < 8; i++) {
        const Expr *next = assigned(b, e->slot);
        if (!next)
            break;
        e = next;
    }
    return e;
}

static const Expr *operand(const Expr *e, uint32_t i)
{
    return i < e->n_args ? e->args[i].value : NULL;
}

/* Is e a number that the block does not change? *out: the number, as before the loop. */
static bool steady(Eval *ev, const Block *b, const Expr *e, Dim *out)
{
    Value v;
    bool simple = e && (e->kind == X_INT || (e->kind == X_LOCAL && !assigned(b, e->slot)));
    return simple && eval_expr(ev, e, &v) && val_dim_of(v, ev->cx, out);
}

/* The slot whose value in the next iteration is what this expression is at the end of this one. */
static const Cell *next_value_of(Eval *ev, const Block *b, const Expr *e)
{
    Obj *locals = ev->frame->locals;
    if (!e || e->kind != X_LOCAL)
        return NULL;
    for (int64_t i = 0; i < locals->n; i++) {
        const Expr *to = assigned(b, (uint32_t)i);
        if (to && to->kind == X_LOCAL && to->slot == e->slot)
            return &locals->slot[i];
    }
    return &locals->slot[e->slot];
}

static int add_limits(Eval *ev, const Block *b, const Expr *e, int depth, Limit *out, int n)
{
    e = behind_names(b, e);
    if (!e || e->kind != X_OP || depth > 8)
        return n;
    if (str_is(e->op->name, "aten::__and__")) {
        n = add_limits(ev, b, operand(e, 0), depth + 1, out, n);
        return add_limits(ev, b, operand(e, 1), depth + 1, out, n);
    }
    Rel rel = str_is(e->op->name, "aten::lt") ? REL_LT : REL_LE;
    Limit limit = { next_value_of(ev, b, operand(e, 0)), rel, NULL };
    if ((rel == REL_LT || str_is(e->op->name, "aten::le")) && n < MAX_LIMITS && limit.number &&
        steady(ev, b, operand(e, 1), &limit.bound))
        out[n++] = limit;
    return n;
}

int limits_of(Eval *ev, const Stmt *s, Limit out[MAX_LIMITS])
{
    return add_limits(ev, &s->body, s->value, 0, out, 0);
}
