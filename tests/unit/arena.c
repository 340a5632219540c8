/* arena.c - marks, alignment, zeroing, the heap limit, and running out of memory. */
#include "unit/test.h"

#include "base/limits.h"

#include <stdio.h>

static void memory_is_zeroed_and_aligned(void **state)
{
    Ctx *cx = *state;
    for (size_t n = 0; n < 3000; n += 7) {
        uint8_t *p = mem_alloc(cx, n);
        assert_int_equal((uintptr_t)p % 8, 0);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, n);
    }
}

static void a_mark_gives_memory_back(void **state)
{
    (void)state;
    Arena *a = arena_new();
    uint8_t *kept = arena_alloc(a, 100);
    memset(kept, 1, 100);
    ArenaMark m = arena_mark(a);
    size_t before = arena_bytes(a);
    for (int i = 0; i < 1000; i++)
        memset(arena_alloc(a, 5000), 0xff, 5000);
    assert_true(arena_bytes(a) > before);
    arena_reset(a, m);
    assert_int_equal(arena_bytes(a), before);
    assert_int_equal(kept[99], 1);
    uint8_t *again = arena_alloc(a, 5000);
    for (int i = 0; i < 5000; i++)
        assert_int_equal(again[i], 0);
    arena_free(a);
    arena_free(NULL);
}

static void an_array_grows_with_its_items(void **state)
{
    Ctx *cx = *state;
    for (int keeping = 0; keeping < 2; keeping++) {
        VEC(uint32_t) v = { 0 };
        for (uint32_t i = 0; i < 100000; i++) {
            if (keeping && i == 50000)
                keep_begin(cx); /* what was an array of the run arena becomes one of the other */
            assert_true(vec_push(cx, &v, i));
        }
        size_t kept = arena_bytes(cx->keep);
        if (keeping)
            keep_end(cx);
        for (uint32_t i = 0; i < 100000; i++)
            assert_int_equal(v.at[i], i);
        assert_true(!keeping || kept >= 400000);
    }
}

static void an_outgrown_array_is_given_back(void **state)
{
    Ctx *cx = *state;
    VEC(uint32_t) v = { 0 };
    for (uint32_t i = 0; i < 1000000; i++)
        assert_true(vec_push(cx, &v, i));
    assert_true(arena_bytes(cx->run) < v.cap * sizeof *v.at + (256 << 10));
    mem_give(cx, v.at, v.cap * sizeof *v.at);
    assert_true(arena_bytes(cx->run) < 256 << 10);
}

/* Across the size from which on arrays are moved by their pages, with another behind it that is in
 * the way. */
static void a_large_array_grows_where_others_stand(void **state)
{
    Ctx *cx = *state;
    size_t n = 1 << 20;
    uint32_t *at = mem_array(cx, n, sizeof *at);
    uint32_t *other = mem_array(cx, n, sizeof *other);
    for (uint32_t i = 0; i < n; i++)
        at[i] = i + other[i];
    for (; n < 8 << 20; n *= 2) {
        at = mem_grow(cx, at, n, 2 * n, sizeof *at);
        assert_non_null(at);
        for (uint32_t i = (uint32_t)n; i < 2 * n; i++)
            at[i] = i;
    }
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(at[i], i);
    mem_give(cx, at, n * sizeof *at);
    other[0] = 1;
}

/* Strings and what is kept inside stay, and so does another phase; behind that it begins anew. */
static void a_phase_is_forgotten_whole(void **state)
{
    Ctx *cx = *state;
    PhaseAround around = phase_begin(cx, PHASE_PROGRAM);
    PhaseAround inner = phase_begin(cx, PHASE_PROGRAM);
    char *own = new_array(cx, char, 100000);
    phase_end(cx, inner);
    inner = phase_begin(cx, PHASE_PICKLES);
    char *other = new_array(cx, char, 100000);
    phase_end(cx, inner);
    new_array(cx, char, 100000);
    Str name = str_of(cx, "kept");
    keep_begin(cx);
    char *kept = new_array(cx, char, 1000);
    keep_end(cx);
    phase_end(cx, around);
    assert_non_null(own);
    assert_true(arena_bytes(cx->phase[PHASE_PROGRAM]) >= 200000);
    assert_true(arena_bytes(cx->keep) < 100000);
    phase_forget(cx, PHASE_PROGRAM);
    kept[999] = 1;
    other[99999] = 1;
    assert_string_equal(name->s, "kept");
    around = phase_begin(cx, PHASE_PROGRAM);
    assert_int_equal(new_array(cx, char, 100000)[99999], 0);
    phase_end(cx, around);
    assert_in_range(arena_bytes(cx->phase[PHASE_PROGRAM]), 100000, 199999);
}

static void dense_memory_lies_together_and_goes_with_its_mark(void **state)
{
    Ctx *cx = *state;
    uint8_t *kept = mem_dense(cx, 100);
    uint8_t *between = mem_alloc(cx, 100);
    uint8_t *next = mem_dense(cx, 100);
    assert_ptr_equal(next, kept + 104);
    assert_true(between < kept || between > next);
    memset(kept, 1, 100);
    for (int round = 0; round < 3; round++) {
        ArenaMark m = arena_mark(cx->run);
        for (int i = 0; i < 1000; i++) {
            uint8_t *p = mem_dense(cx, 50);
            uint8_t *q = mem_alloc(cx, 50);
            assert_int_equal((uintptr_t)p % 8, 0);
            for (int k = 0; k < 50; k++)
                assert_int_equal(p[k] | q[k], 0);
            memset(p, 0xff, 50);
            memset(q, 0xff, 50);
        }
        arena_reset(cx->run, m);
    }
    assert_int_equal(kept[99], 1);
}

static void scratch_goes_with_the_call_that_took_it(void **state)
{
    Ctx *cx = *state;
    ArenaMark outer = scratch_begin(cx);
    uint8_t *kept = scratch_array(cx, uint8_t, 100);
    memset(kept, 1, 100);
    size_t before = arena_bytes(cx->scratch);
    for (int i = 0; i < 1000; i++) {
        ArenaMark inner = scratch_begin(cx);
        uint8_t *p = scratch_array(cx, uint8_t, 1000);
        assert_int_equal(p[0] | p[999], 0);
        memset(p, 2, 1000);
        memset(scratch_array(cx, uint8_t, 100000), 2, 100000);
        scratch_end(cx, inner);
    }
    assert_int_equal(arena_bytes(cx->scratch), before);
    assert_int_equal(kept[0] & kept[99], 1);
    scratch_end(cx, outer);
    assert_int_equal(arena_bytes(cx->run), 0);
}

static void a_mark_frees_blocks_made_since(void **state)
{
    (void)state;
    Arena *a = arena_new();
    uint8_t *old = arena_alloc(a, 100000);
    size_t before = arena_bytes(a);
    ArenaMark m = arena_mark(a);
    memset(arena_alloc(a, 200000), 1, 200000);
    arena_reset(a, m);
    assert_int_equal(arena_bytes(a), before);
    memset(old, 1, 100000);
    arena_free(a);
}

static void a_restart_gives_zeroed_memory_again(void **state)
{
    Ctx *cx = *state;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 5000; i++) {
            uint8_t *p = mem_alloc(cx, 800);
            for (int k = 0; k < 800; k += 100)
                assert_int_equal(p[k], 0);
            memset(p, 0xff, 800);
        }
        ctx_restart(cx);
        assert_int_equal(arena_bytes(cx->run), 0);
    }
}

static void an_array_that_overflows_is_refused(void **state)
{
    Ctx *cx = *state;
    assert_null(mem_array(cx, SIZE_MAX / 2, 16));
    assert_int_equal(cx->error.code, E_LIMIT);
}

#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
/* Pages that the process holds. */
static long pages_held(void)
{
    long all = 0, held = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld %ld", &all, &held), 2);
    fclose(f);
    return held;
}

/* A short conversion has a handful of arenas, and little in each. */
static void an_arena_takes_no_memory_before_it_is_used(void **state)
{
    enum { MANY = 64 };
    Arena *all[MANY];
    (void)state;
    long before = pages_held();
    for (int i = 0; i < MANY; i++) {
        all[i] = arena_new();
        memset(arena_alloc(all[i], 100), 1, 100);
    }
    assert_true(pages_held() - before < 6 * MANY);
    for (int i = 0; i < MANY; i++)
        arena_free(all[i]);
}
#endif

static void the_heap_limit_names_its_option(void **state)
{
    Ctx *cx = *state;
    cx->limit[LIMIT_HEAP] = 1 << 20;
    assert_non_null(mem_array(cx, 1000, 1));
    assert_null(mem_array(cx, 2 << 20, 1));
    assert_int_equal(cx->error.code, E_LIMIT);
    assert_non_null(strstr(cx->error.hint->s, "--limit heap="));
}

static void many_small_pieces_meet_the_limit_too(void **state)
{
    Ctx *cx = *state;
    cx->limit[LIMIT_HEAP] = 8 << 20;
    for (int i = 0; i < 20000; i++)
        assert_non_null(mem_alloc(cx, 1000)); /* never NULL, but the context has failed */
    assert_int_equal(cx->error.code, E_LIMIT);
}

#ifdef PT2ONNX_FAULTS
static void the_reserve_carries_small_allocations(void **state)
{
    Ctx *cx = *state;
    fault_after(0);
    while (!ctx_failed(cx))
        assert_non_null(mem_alloc(cx, 1000));
    assert_int_equal(cx->error.code, E_MEMORY);
    for (int i = 0; i < 500; i++)
        assert_non_null(mem_alloc(cx, 1000));
    assert_null(mem_array(cx, 1 << 20, 1));
    fault_after(-1);
    assert_string_equal(error_text(cx, "pt2onnx", "net.pt")->s, "pt2onnx: net.pt: out of memory");
}

static void no_context_without_memory(void **state)
{
    (void)state;
    int made = 0;
    for (long n = 0; n < 20 && !made; n++) {
        fault_after(n);
        Ctx *cx = ctx_new();
        fault_after(-1);
        made += cx && !ctx_failed(cx);
        ctx_free(cx);
    }
    assert_int_equal(made, 1);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(memory_is_zeroed_and_aligned),
        TEST(a_mark_gives_memory_back),
        TEST(an_array_that_overflows_is_refused),
        TEST(an_array_grows_with_its_items),
        TEST(an_outgrown_array_is_given_back),
        TEST(a_large_array_grows_where_others_stand),
        TEST(a_phase_is_forgotten_whole),
        TEST(dense_memory_lies_together_and_goes_with_its_mark),
        TEST(scratch_goes_with_the_call_that_took_it),
        TEST(a_mark_frees_blocks_made_since),
        TEST(a_restart_gives_zeroed_memory_again),
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
        TEST(an_arena_takes_no_memory_before_it_is_used),
#endif
        TEST(the_heap_limit_names_its_option),
        TEST(many_small_pieces_meet_the_limit_too),
#ifdef PT2ONNX_FAULTS
        TEST(the_reserve_carries_small_allocations),
        cmocka_unit_test(no_context_without_memory),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
