/* missing_inputs.c - a conversion has failed because something about the inputs is missing: which
 * -i SPECs let it succeed.
 *
 * Each attempt evaluates the program anew, with made-up values for what has none (made_up.c in
 * src/eval). In the first one, types and ranks of tensors are assumed as ever; then all tensors of
 * unknown rank have four dimensions, three, two, one. What the first successful attempt used is the
 * answer. Nothing is written with it: the user sees it and decides. */
#include "session.h"

#include "base/limits.h"

/* The error is known already, so an attempt may not take as long as a conversion: 100,000 nodes
 * take 800,000 steps at the most. */
enum { ATTEMPT_STEPS = 1000000 };

typedef struct Attempt {
    Session *s;
    MadeUp made_up;
} Attempt;

/* One evaluation, all facts of earlier ones forgotten. */
static bool attempt(void *arg)
{
    Attempt *a = arg;
    Ctx *cx = a->s->cx;
    ctx_restart(cx);
    cx->facts = NULL;
    return eval_program(cx, a->s->program) && made_up_wholly(&a->made_up);
}

static void collect(Ctx *cx, const MadeUp *m, Strs *specs)
{
    for (size_t i = 0;; i++) {
        Str spec = made_up_spec(cx, m, i);
        if (!spec)
            return;
        vec_push(cx, specs, spec);
    }
}

static bool try_ranks(Attempt *a)
{
    static const int rank[] = { -1, 4, 3, 2, 1 };
    Ctx *cx = a->s->cx;
    for (size_t i = 0; i < COUNT(rank); i++) {
        a->made_up.rank = rank[i];
        if (bounded(cx, attempt, a))
            return true;
        if (cx->error.final)
            return false;
    }
    return false;
}

bool missing_inputs(Session *s, Strs *specs)
{
    Attempt a = { .s = s };
    int64_t *steps = &s->cx->limit[LIMIT_STEPS];
    int64_t allowed = *steps;
    if (allowed > ATTEMPT_STEPS)
        *steps = ATTEMPT_STEPS;
    s->opt.made_up = &a.made_up;
    bool found = try_ranks(&a);
    s->opt.made_up = NULL;
    *steps = allowed;
    if (found)
        collect(s->cx, &a.made_up, specs);
    return found && specs->n > 0 && !ctx_failed(s->cx);
}
