/* bound.c - what would use up the stack, the steps, the time or the memory ends at `bounded`. */
#include "unit/test.h"

#include "base/limits.h"

#include <pthread.h>

static int dig(Ctx *cx, int depth)
{
    volatile char room[256] = { 0 };
    check_stack(cx);
    return depth < 0 ? 0 : dig(cx, depth + 1) + room[depth % 256];
}

static bool dig_forever(void *cx) { return dig(cx, 0) == 0; }

static bool count_forever(void *cx)
{
    while (cx)
        count_values(cx, 1);
    return true;
}

static bool work_forever(void *cx)
{
    tell_progress(cx, "counting", -1);
    while (cx)
        count_work(cx);
    return true;
}

static bool allocate_forever(void *cx)
{
    while (cx)
        (void)!new_array((Ctx *)cx, char, 100);
    return true;
}

static void assert_ends(Ctx *cx, bool (*work)(void *), const char *text)
{
    assert_false(bounded(cx, work, cx));
    assert_int_equal(cx->error.code, E_LIMIT);
    assert_true(cx->error.final);
    assert_non_null(strstr(cx->error.text->s, text));
}

static void a_recursion_without_end_ends(void **state)
{
    assert_ends(*state, dig_forever, "nested too deep");
}

#ifdef __linux__
/* The short way to the main thread's stack finds what pthread_getattr_np does, but for pages that
 * hold the program's arguments. */
static void the_stack_is_as_large_as_its_thread_says(void **state)
{
    pthread_attr_t attr;
    void *lowest = NULL;
    size_t size = 0;
    uintptr_t here = (uintptr_t)&lowest;
    (void)state;
    assert_int_equal(pthread_getattr_np(pthread_self(), &attr), 0);
    assert_int_equal(pthread_attr_getstack(&attr, &lowest, &size), 0);
    pthread_attr_destroy(&attr);
    assert_in_range(sys_stack_below(here) + (1 << 20), here - (uintptr_t)lowest,
                    here - (uintptr_t)lowest + (2 << 20));
}
#endif

static void *dig_in_a_thread(void *cx)
{
    assert_ends(cx, dig_forever, "nested too deep");
    return NULL;
}

/* Hosts make threads with less stack than `ulimit -s` says: Rust 2 MB, Java 1 MB, musl 128 KB. */
static void a_recursion_ends_on_the_small_stack_of_a_thread(void **state)
{
    enum { SMALL = 256 << 10 };
    pthread_t thread;
    pthread_attr_t attr;
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, SMALL), 0);
    assert_int_equal(pthread_create(&thread, &attr, dig_in_a_thread, *state), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(pthread_attr_destroy(&attr), 0);
}

/* A function of the user, in which the inner recursion ends and which goes on behind it. */
static int ask_for_depth(void *arg)
{
    Ctx *cx = arg;
    assert_false(bounded(cx, dig_forever, cx));
    return 7;
}

static bool call_a_user(void *arg)
{
    Ctx *cx = arg;
    assert_int_equal(call_user(cx, ask_for_depth, cx), 7);
    assert_int_equal(cx->error.code, E_LIMIT);
    return dig_forever(cx); /* and there is a way out again */
}

static void a_recursion_in_a_users_function_ends_there(void **state)
{
    assert_ends(*state, call_a_user, "nested too deep");
}

static void steps_without_end_end(void **state)
{
    Ctx *cx = *state;
    cx->limit[LIMIT_STEPS] = 1000;
    assert_ends(cx, count_forever, "more than 1000 steps");
}

static void time_without_progress_ends(void **state)
{
    Ctx *cx = *state;
    cx->limit[LIMIT_SECONDS] = 0;
    assert_ends(cx, work_forever, "0 s of processor time were spent counting");
}

static void memory_stays_near_the_limit(void **state)
{
    Ctx *cx = *state;
    cx->limit[LIMIT_HEAP] = 20000000;
    assert_ends(cx, allocate_forever, "over the limit of 20000000");
    assert_true(arena_bytes(cx->run) < 26000000);
}

static bool meet_forever(void *cx)
{
    Map met = { 0 };
    for (uintptr_t i = 1; cx; i++) {
        map_put((Ctx *)cx, &met, (void *)i, NULL);
        assert_non_null(map_find(&met, (void *)i));
    }
    return true;
}

static void a_map_that_cannot_grow_ends_the_walk(void **state)
{
    Ctx *cx = *state;
    cx->limit[LIMIT_HEAP] = 20000000;
    assert_ends(cx, meet_forever, "over the limit of 20000000");
}

static bool meet_forever_before_a_restart(void *cx)
{
    return fail((Ctx *)cx, E_RESTART, "begin again") || meet_forever(cx);
}

static void no_restart_is_left_where_a_conversion_ends(void **state)
{
    Ctx *cx = *state;
    cx->limit[LIMIT_HEAP] = 20000000;
    assert_false(bounded(cx, meet_forever_before_a_restart, cx));
    assert_int_equal(cx->error.code, E_LIMIT);
}

static bool fail_softly(void *arg)
{
    Ctx *cx = arg;
    return fail(cx, E_VALUE, "no");
}

static bool succeed(void *cx) { return cx != NULL; }

static void what_work_says_is_what_bounded_says(void **state)
{
    assert_true(bounded(*state, succeed, *state));
    assert_false(bounded(*state, fail_softly, *state));
}

static int use_up_steps(void *arg)
{
    Ctx *cx = arg;
    count_steps(cx, 2000);
    return 7;
}

static bool ask_user(void *arg)
{
    Ctx *cx = arg;
    assert_int_equal(call_user(cx, use_up_steps, cx), 7);
    count_steps(cx, 1);
    return false;
}

/* Nothing jumps over the user's function: it returns, and what comes next gives up. */
static void code_of_the_user_is_not_jumped_over(void **state)
{
    Ctx *cx = *state;
    cx->limit[LIMIT_STEPS] = 1000;
    assert_ends(cx, ask_user, "more than 1000 steps");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef __linux__
        TEST(the_stack_is_as_large_as_its_thread_says),
#endif
        TEST(a_recursion_without_end_ends),
        TEST(a_recursion_ends_on_the_small_stack_of_a_thread),
        TEST(steps_without_end_end),
        TEST(a_recursion_in_a_users_function_ends_there),
        TEST(time_without_progress_ends),
        TEST(memory_stays_near_the_limit),
        TEST(a_map_that_cannot_grow_ends_the_walk),
        TEST(no_restart_is_left_where_a_conversion_ends),
        TEST(what_work_says_is_what_bounded_says),
        TEST(code_of_the_user_is_not_jumped_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
