/* bound.c - what ends a conversion that would not end by itself: it counts the steps, the processor
 * time and the C stack that a file makes us use, and has the way out of a run of code that does not
 * look at ctx_failed().
 *
 * The way out is one longjmp, from give_up to `bounded`, which stands at the public functions only.
 * Nothing is lost by it: memory lies in the arenas, files, temporaries and inflaters in lists of
 * the context, and ctx_free ends them all. Code of the caller is never jumped over (call_user). */
#include "base/internal.h"
#include "base/limits.h"

#include <setjmp.h>

enum {
    STACK_USED = 6 << 20, /* of the 8 MB that a thread has by default */
    LOOK_AFTER = 4096,    /* pieces of work between two looks at the clock */
    NUMBERS_A_LOOK = 1 << 20,
    VALUES_A_STEP = 4, /* a statement costs so much more than a look at a value */
    NS_PER_S = 1000000000,
};

struct WayOut {
    jmp_buf back;
};

/* Three quarters of the stack that there is, when that is less than usual. */
static size_t stack_allowed(uintptr_t here)
{
    size_t there = sys_stack_below(here);
    return there && there / 4 * 3 < STACK_USED ? there / 4 * 3 : STACK_USED;
}

/* A function of the user that is called on the way calls public functions in turn: then this is
 * the inner one, whose stack begins where the outer one's did. */
bool bounded(Ctx *cx, bool (*work)(void *arg), void *arg)
{
    struct WayOut out;
    struct WayOut *outer = cx->way_out;
    Where *at = cx->at;
    cx->way_out = &out;
    if (!cx->stack_base) {
        cx->stack_base = (uintptr_t)__builtin_frame_address(0);
        cx->stack_allowed = stack_allowed(cx->stack_base);
    }
    bool ok = false;
    if (setjmp(out.back) == 0)
        ok = work(arg);
    cx->way_out = outer;
    cx->at = at; /* records behind it lay on the stack that is gone */
    return ok && !ctx_failed(cx);
}

void give_up(Ctx *cx)
{
    if (!cx->way_out)
        return;
    if (cx->error.code == E_RESTART) { /* it came before the error that ends the conversion */
        cx->error.code = E_NONE;
        fail(cx, E_LIMIT, "a limit of memory, steps or depth is reached");
        fail_is_final(cx);
    }
    longjmp(cx->way_out->back, 1);
}

int call_user(Ctx *cx, int (*f)(void *arg), void *arg)
{
    struct WayOut *out = cx->way_out;
    cx->way_out = NULL;
    int answer = f(arg);
    cx->way_out = out;
    return answer;
}

void check_stack(Ctx *cx)
{
    uintptr_t now = (uintptr_t)__builtin_frame_address(0);
    uintptr_t used = now < cx->stack_base ? cx->stack_base - now : now - cx->stack_base;
    if (!cx->way_out || used <= cx->stack_allowed)
        return;
    fail(cx, E_LIMIT, "values, types or sizes are nested too deep: %zu bytes of stack are used",
         (size_t)used);
    fail_is_final(cx);
    give_up(cx);
}

void tell_progress(Ctx *cx, const char *stage, double share)
{
    if (!cx->stage || strcmp(cx->stage, stage) != 0 || share != cx->share)
        cx->progress_ns = sys_thread_ns();
    cx->stage = stage;
    cx->share = share;
    if (cx->progress)
        cx->progress(cx->progress_user, stage, share);
}

void tell_amount(Ctx *cx, const char *unit, uint64_t done)
{
    if (cx->amount)
        cx->amount(cx->progress_user, unit, done);
}

void check_time(Ctx *cx)
{
    int64_t limit = cx->limit[LIMIT_SECONDS];
    if (!cx->stage || ctx_failed(cx) || (sys_thread_ns() - cx->progress_ns) / NS_PER_S < limit)
        return;
    fail_at(cx, cx->computing, E_LIMIT,
            "%lld s of processor time were spent %s, without an end in sight", (long long)limit,
            cx->stage);
    fail_is_final(cx);
    fail_hint(cx, "--limit seconds=%lld, if you trust the file", (long long)limit * 10);
    if (!cx->computing) /* whoever has a weight computed holds room for it, and the fold ends */
        give_up(cx);
}

void count_work(Ctx *cx)
{
    if (++cx->work % LOOK_AFTER == 0)
        check_time(cx);
}

void count_numbers(Ctx *cx, uint64_t n)
{
    cx->numbers += n;
    if (cx->numbers < NUMBERS_A_LOOK)
        return;
    cx->numbers = 0;
    check_time(cx);
}

void count_steps(Ctx *cx, uint64_t n)
{
    count_work(cx);
    cx->steps += n;
    if (cx->steps / LOOK_AFTER != (cx->steps - n) / LOOK_AFTER) {
        tell_amount(cx, "steps", cx->steps);
        tell_progress(cx, "running the program", -1);
    }
    if (cx->steps <= (uint64_t)cx->limit[LIMIT_STEPS])
        return;
    fail(cx, E_LIMIT, "more than %lld steps: statements, operators, values compared or copied",
         (long long)cx->limit[LIMIT_STEPS]);
    fail_is_final(cx);
    fail_hint(cx, "--limit steps=N raises this limit; a model that never ends cannot be converted");
    give_up(cx);
}

void count_values(Ctx *cx, uint64_t n)
{
    cx->values += n;
    if (cx->values < VALUES_A_STEP)
        return;
    count_steps(cx, cx->values / VALUES_A_STEP);
    cx->values %= VALUES_A_STEP;
}
