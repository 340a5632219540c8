/* Unit tests of onnx/dim*.c: the normal form, proofs, facts, and that neither ever disagrees with
 * plain integers. */
#include "unit/test.h"

#include "onnx/onnx.h"

static Dim parse(Ctx *cx, const char *s)
{
    Dim d = dim_parse(cx, s, strlen(s));
    if (!d)
        fail_msg("%s: %s", s, cx->error.text->s);
    return d;
}

/* Each line: an expression, and its text in normal form. */
static void normal_form(void **state)
{
    static const char *const cases[][2] = {
        { "3 + 4", "7" },
        { "N + N", "2*N" },
        { "N - N", "0" },
        { "1 + N*2", "2*N + 1" },
        { "N*M + M*N", "2*N*M" },
        { "(N + 1)*(N - 1)", "N*N - 1" },
        { "-N", "-N" },
        { "N//2", "N//2" },
        { "-(N//2)", "-(N//2)" },
        { "3*(N//2)", "3*(N//2)" },
        { "(4*N + 2)//4", "N" },
        { "(4*N + 6)//4", "N + 1" },
        { "(6*N + 3)//9", "(2*N + 1)//3" },
        { "N*M//M", "N" },
        { "(3*N*M)//(2*N)", "M + M//2" },
        { "N//2//2", "N//4" },
        { "N//1099511627776//1099511627776", "(N//1099511627776)//1099511627776" },
        { "(N - 9223372036854775807 - 1)//3", "(N + 1)//3 - 3074457345618258603" },
        { "(N - 9223372036854775807 - 1)%3", "(N + 1)%3" },
        { "((N - 1)//2 + 1 - 1)//2 + 1", "(N + 3)//4" },
        { "5*N//3", "N + (2*N)//3" },
        { "(N*M + 3)//M", "N + 3//M" },
        { "7 // -2", "-4" },
        { "-7 % 3", "2" },
        { "7 % -3", "-2" },
        { "N % 1", "0" },
        { "(4*N + 1) % 4", "1" },
        { "(6*N + 3) % 9", "3*((2*N + 1)%3)" },
        { "(N*M) % M", "0" },
        { "N % 8 % 8", "N%8" },
        { "N % 8 // 8", "0" },
        { "min(N, N + 1)", "N" },
        { "max(N, 0)", "N" },
        { "max(3, min(N, 7))", "max(min(N, 7), 3)" },
        { "min(N, 7, N, 9)", "min(N, 7)" },
        { "max(M, 0 - 9223372036854775807 - 1, 0 - N)", "M" },
        { "min(N, 9223372036854775807)", "N" },
        { "(N - 1)//9223372036854775807", "(N - 1)//9223372036854775807" },
        { "(0 - 1)//9223372036854775807", "-1" },
        { "N - 3*N", "-2*N" },
        { "(N + 1)*(M//2)", "N*(M//2) + M//2" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        Ctx *cx = ctx_new();
        dim_sym(cx, str_of(cx, "N"));
        dim_sym(cx, str_of(cx, "M"));
        const char *got = dim_text(cx, parse(cx, cases[i][0]))->s;
        if (strcmp(got, cases[i][1]) != 0)
            fail_msg("%s: %s, not %s", cases[i][0], got, cases[i][1]);
        assert_ptr_equal(parse(cx, got),
                         parse(cx, cases[i][0])); /* text reads back as the same expression */
        ctx_free(cx);
    }
}

/* Two programs with the same sizes write the same nodes, whichever number was used before. */
static void a_number_comes_last_in_a_min(void **state)
{
    Ctx *cx = ctx_new();
    (void)state;
    Dim four = dim_int(cx, 4);
    Dim n = dim_sym(cx, str_of(cx, "N"));
    assert_string_equal(dim_text(cx, dim_min(cx, four, n))->s, "min(N, 4)");
    assert_string_equal(dim_text(cx, dim_max(cx, n, four))->s, "max(N, 4)");
    ctx_free(cx);
}

static void bad_text(void **state)
{
    static const char *const cases[] = { "",  "N +",   "(N", "min(N", "N M", "99999999999999999999",
                                         "+", "N ** 2" };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        Ctx *cx = ctx_new();
        assert_null(dim_parse(cx, cases[i], strlen(cases[i])));
        assert_int_equal(cx->error.code, E_USAGE);
        ctx_free(cx);
    }
}

/* Each line: a question and its answer; N in 0.., K in 1..64, H in 2..  */
static void answers(void **state)
{
    static const struct {
        const char *a;
        char rel;
        const char *b;
        Tri want;
    } cases[] = {
        { "N", '=', "N", YES },
        { "N", '=', "M", UNKNOWN },
        { "N", '=', "N + 1", NO },
        { "2*N", '=', "2*M + 1", NO },
        { "N", '=', "-1", NO },
        { "K", '=', "0", NO },
        { "K", '=', "65", NO },
        { "K", '<', "65", YES },
        { "N*K", '=', "0", UNKNOWN },
        { "H*K", '=', "1", NO },
        { "N//2", '<', "N + 1", YES },
        { "2*(N//2)", '<', "N + 1", YES },
        { "N - N//2", '<', "0", NO },
        { "N%8", '<', "8", YES },
        { "8*(N//8) + N%8", '=', "N", YES },
        { "min(N, 7)", '<', "8", YES },
        { "min(N, M)", '<', "N + 1", YES },
        { "max(N, M)", '<', "N", NO },
        { "N*K", '<', "N", NO },
        { "N*H", '<', "N", NO },
        { "N*N", '<', "0", NO },
        { "max(N, 1)", '=', "0", NO },
        { "N", '<', "M", UNKNOWN },
    };
    (void)state;
    Ctx *cx = ctx_new();
    dim_set_range(cx, dim_sym(cx, str_of(cx, "K")), 1, 64);
    dim_set_range(cx, dim_sym(cx, str_of(cx, "H")), 2, DIM_MAX);
    for (size_t i = 0; i < COUNT(cases); i++) {
        Dim a = parse(cx, cases[i].a);
        Dim b = parse(cx, cases[i].b);
        Tri got = cases[i].rel == '=' ? dim_eq(cx, a, b) : dim_lt(cx, a, b);
        if (got != cases[i].want)
            fail_msg("%s %c %s: %d, not %d", cases[i].a, cases[i].rel, cases[i].b, got,
                     cases[i].want);
    }
    ctx_free(cx);
}

static void division_without_rest(void **state)
{
    (void)state;
    Ctx *cx = ctx_new();
    Dim q;
    assert_true(dim_divide(cx, parse(cx, "6*N*M + 3*M"), parse(cx, "3*M"), &q));
    assert_string_equal(dim_text(cx, q)->s, "2*N + 1");
    assert_true(dim_divide(cx, parse(cx, "(N + 1)*(M + 2)"), parse(cx, "M + 2"), &q));
    assert_string_equal(dim_text(cx, q)->s, "N + 1");
    assert_false(dim_divide(cx, parse(cx, "N"), parse(cx, "8"), &q));
    assert_false(dim_divide(cx, parse(cx, "N"), dim_int(cx, 0), &q));
    assert_true(dim_assume(cx, REL_EQ, parse(cx, "N % 8"), dim_int(cx, 0)));
    assert_true(dim_divide(cx, parse(cx, "N"), parse(cx, "8"), &q));
    assert_string_equal(dim_text(cx, q)->s, "N//8");
    assert_int_equal(dim_eq(cx, parse(cx, "8*(N//8)"), parse(cx, "N")), YES);
    ctx_free(cx);
}

static void by_zero_is_an_error(void **state)
{
    (void)state;
    Ctx *cx = ctx_new();
    assert_null(dim_floordiv(cx, dim_sym(cx, str_of(cx, "N")), dim_int(cx, 0)));
    assert_int_equal(cx->error.code, E_VALUE);
    ctx_free(cx);
}

static void overflow_is_an_error(void **state)
{
    (void)state;
    Ctx *cx = ctx_new();
    assert_null(dim_mul(cx, dim_int(cx, INT64_MAX), dim_int(cx, 2)));
    assert_int_equal(cx->error.code, E_VALUE);
    ctx_free(cx);
}

static void broadcasting(void **state)
{
    (void)state;
    Ctx *cx = ctx_new();
    Dim n = parse(cx, "N");
    Dim m = parse(cx, "M");
    Dim out, again;
    assert_true(dim_broadcast(cx, n, dim_int(cx, 1), &out));
    assert_ptr_equal(out, n);
    assert_true(dim_broadcast(cx, n, dim_int(cx, 3), &out));
    assert_true(dim_is(out, 3));
    assert_false(dim_broadcast(cx, dim_int(cx, 2), dim_int(cx, 3), &out));
    assert_true(dim_broadcast(cx, n, m, &out));
    assert_true(dim_is_sym(out, NULL));
    assert_ptr_not_equal(out, n);
    assert_ptr_not_equal(out, m);
    assert_true(dim_broadcast(cx, m, n, &again));
    assert_ptr_equal(out, again);
    assert_int_equal(dim_eq(cx, n, m), UNKNOWN);
    assert_true(dim_assume(cx, REL_LE, dim_int(cx, 2), n));
    assert_true(dim_assume(cx, REL_LE, dim_int(cx, 2), m));
    assert_int_equal(dim_eq(cx, n, m), YES); /* equal, or one is 1: and neither is */
    Dim k = parse(cx, "K");
    Dim l = parse(cx, "L");
    assert_true(dim_broadcast(cx, k, l, &out));
    assert_true(dim_assume(cx, REL_EQ, l, dim_int(cx, 1)));
    assert_int_equal(dim_eq(cx, k, dim_int(cx, 1)),
                     UNKNOWN); /* the pair of k and 1 tells nothing */
    k = parse(cx, "K2");
    assert_true(dim_broadcast(
        cx, k, dim_sub(cx, k, dim_max(cx, dim_int(cx, 0), dim_sub(cx, k, dim_int(cx, 1)))), &out));
    assert_ptr_equal(out, k); /* x / x[-1:]: one row, or none where x has none */
    ctx_free(cx);
}

static void requirements(void **state)
{
    (void)state;
    Ctx *cx = ctx_new();
    Dim n = parse(cx, "N");
    Dim u = dim_fresh(cx, "u");
    assert_true(dim_require(cx, u, dim_add(cx, n, dim_int(cx, 1)), "cat"));
    assert_string_equal(dim_text(cx, u)->s, "N + 1"); /* ours gives way to the user's */
    assert_true(dim_require(cx, dim_mul(cx, n, dim_int(cx, 2)), dim_int(cx, 6), "view"));
    assert_true(dim_is(n, 3));
    assert_true(dim_is(u, 4));
    assert_false(dim_require(cx, u, dim_int(cx, 5), "conv2d: %s", "channels"));
    assert_string_equal(cx->error.text->s, "conv2d: channels: 4 is not 5");
    ctx_free(cx);
}

/* What a view demands is not demanded, and kept, once more by the next view. */
static void a_requirement_is_known_from_then_on(void **state)
{
    (void)state;
    Ctx *cx = ctx_new();
    Dim all = parse(cx, "N*L");
    Dim halves = parse(cx, "2*((N*L)//2)");
    assert_int_equal(dim_eq(cx, halves, all), UNKNOWN);
    assert_true(dim_require(cx, halves, all, "view"));
    assert_int_equal(dim_eq(cx, halves, all), YES);
    ctx_free(cx);
}

/* 3 elements of [N, T, 3] leave one place in each of the others. */
static void sizes_whose_product_is_one(void **state)
{
    (void)state;
    Ctx *cx = ctx_new();
    Dim n = parse(cx, "N");
    Dim steps = parse(cx, "T");
    Dim all = dim_mul(cx, dim_mul(cx, n, steps), dim_int(cx, 3));
    assert_true(dim_require(cx, dim_int(cx, 3), all, "view"));
    assert_true(dim_is(n, 1));
    assert_true(dim_is(steps, 1));
    ctx_free(cx);
}

/* A size that has been read does not wait for one that comes later: it would be used before it is
 * made. What is learned is a fact then. */
static void older_sizes_do_not_rest_on_younger_ones(void **state)
{
    (void)state;
    Ctx *cx = ctx_new();
    Dim n = parse(cx, "N"), u = dim_fresh(cx, "u"), v = dim_fresh(cx, "v");
    Dim product = dim_mul(cx, u, v), twice = dim_mul(cx, v, dim_int(cx, 2));
    assert_true(dim_require(cx, n, product, "view"));
    assert_string_equal(dim_text(cx, n)->s, "N");
    assert_true(dim_assume(cx, REL_EQ, u, twice));
    assert_true(dim_is_fresh(u));
    assert_int_equal(dim_eq(cx, n, product), YES);
    assert_int_equal(dim_eq(cx, u, twice), YES);
    assert_true(dim_assume(cx, REL_EQ, v, dim_add(cx, n, dim_int(cx, 7))));
    assert_string_equal(dim_text(cx, v)->s, "N + 7");
    ctx_free(cx);
}

static bool no_pin(Ctx *cx, Dim sym, Dim value, const char *why)
{
    return fail(cx, E_UNDECIDED, "%s pins %s to %s", why, dim_text(cx, sym)->s,
                dim_text(cx, value)->s);
}

static void inputs_are_pinned_through_the_handler(void **state)
{
    (void)state;
    Ctx *cx = ctx_new();
    dim_on_pin(cx, no_pin);
    assert_true(dim_require(cx, dim_fresh(cx, "u"), dim_int(cx, 2), "cat"));
    assert_false(dim_require(cx, parse(cx, "3*C"), parse(cx, "9"), "conv2d"));
    assert_string_equal(cx->error.text->s, "conv2d pins C to 3");
    ctx_free(cx);
}

static void facts(void **state)
{
    (void)state;
    Ctx *cx = ctx_new();
    Dim n = parse(cx, "N");
    Dim m = parse(cx, "M");
    Dim five = dim_int(cx, 5);
    assert_true(dim_assume(cx, REL_LT, n, m));
    assert_int_equal(dim_lt(cx, n, m), YES);
    assert_int_equal(dim_eq(cx, n, m), NO);
    assert_false(dim_assume(cx, REL_LE, m, n));
    assert_true(dim_assume(cx, REL_NE, n, five));
    assert_int_equal(dim_eq(cx, n, five), NO);
    assert_true(dim_assume(cx, REL_NE, n, dim_int(cx, 0)));
    assert_int_equal(dim_lt(cx, dim_int(cx, 0), n), YES);
    assert_true(dim_assume(cx, REL_LE, parse(cx, "2*N"), dim_int(cx, 9)));
    int64_t lo, hi;
    dim_range(cx, n, &lo, &hi);
    assert_int_equal(lo, 1);
    assert_int_equal(hi, 4);
    ctx_free(cx);
}

static void equal_sizes_keep_their_names(void **state)
{
    (void)state;
    Ctx *cx = ctx_new();
    Dim n = parse(cx, "N");
    Dim m = parse(cx, "M");
    dim_scope_open(cx);
    assert_true(dim_assume_same(cx, n, m));
    assert_int_equal(dim_eq(cx, n, m), YES);
    assert_string_equal(dim_text(cx, dim_add(cx, n, m))->s, "N + M");
    assert_false(dim_assume_same(cx, n, dim_add(cx, m, dim_int(cx, 1))));
    dim_scope_close(cx);
    assert_int_equal(dim_eq(cx, n, m), UNKNOWN);
    ctx_free(cx);
}

static Dim three_for_n(void *arg, Dim sym)
{
    Str name;
    return dim_is_sym(sym, &name) && str_is(name, "N") ? dim_int(arg, 3) : NULL;
}

static void replacing(void **state)
{
    (void)state;
    Ctx *cx = ctx_new();
    Dim d = dim_replace(cx, parse(cx, "(N + M)//2 + N%2"), three_for_n, cx);
    assert_string_equal(dim_text(cx, d)->s, "(M + 1)//2 + 2"); /* (3 + M)//2 + 1 */
    ctx_free(cx);
}

/* Each step has the one before it twice, and 2^80 walks lead to N. */
static void replacing_walks_shared_parts_once(void **state)
{
    (void)state;
    Ctx *cx = ctx_new();
    Dim n = dim_sym(cx, str_of(cx, "N"));
    Dim d = n;
    int64_t then;
    int64_t steps = 1000000;
    dim_set_example(n, steps);
    for (int i = 0; i < 80; i++) {
        Dim half = dim_floordiv(cx, d, dim_int(cx, 2));
        d = dim_add(cx, half, dim_mod(cx, d, dim_int(cx, 3)));
        steps = steps / 2 + steps % 3;
    }
    assert_true(dim_example(cx, d, &then));
    assert_int_equal(then, steps);
    ctx_free(cx);
}

/* A broadcast was what its sides were: 4 of A - 3 and A - 3*min(A, 1) for 7. */
static void a_broadcast_has_its_sides_example(void **state)
{
    (void)state;
    Ctx *cx = ctx_new();
    Dim joined;
    int64_t then;
    dim_set_example(dim_sym(cx, str_of(cx, "A")), 7);
    assert_true(dim_broadcast(cx, parse(cx, "A - 3"), parse(cx, "A - 3*min(A, 1)"), &joined));
    assert_true(dim_example(cx, joined, &then));
    assert_int_equal(then, 4);
    assert_true(dim_broadcast(cx, parse(cx, "A - 6"), parse(cx, "2*A"), &joined));
    assert_true(dim_example(cx, joined, &then));
    assert_int_equal(then, 14);
    assert_true(dim_broadcast(cx, parse(cx, "A"), parse(cx, "B"), &joined));
    assert_false(dim_example(cx, joined, &then));
    ctx_free(cx);
}

/* ---- against plain integers
 * ---------------------------------------------------------------------------------- */

enum { N_SYM = 3, N_EXPR = 24, ROUNDS = 400, POINTS = 12 };
static const int64_t low[N_SYM] = { 0, 1, 2 }, high[N_SYM] = { 9, 64, 7 };

typedef struct Case {
    Dim d;
    int64_t at[POINTS];
    bool defined;
} Case; /* an expression and its value at each point */

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static int64_t py_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

/* One more random expression over those made so far. */
static Case grow(Ctx *cx, const Case *made, size_t n, uint64_t *seed)
{
    const Case *a = &made[next(seed) % n];
    const Case *b = &made[next(seed) % n];
    int op = (int)(next(seed) % 7);
    Case c = { .defined = true };
    for (int i = 0; i < POINTS; i++) {
        int64_t x = a->at[i];
        int64_t y = b->at[i];
        if ((op == 3 || op == 4) && y == 0)
            return (Case){ .defined = false };
        int64_t v[] = {
            x + y,         x - y,        x * y, y ? py_div(x, y) : 0, y ? x - y * py_div(x, y) : 0,
            x < y ? x : y, x > y ? x : y
        };
        c.at[i] = v[op];
        if (v[op] > 1000000 || v[op] < -1000000)
            return (Case){ .defined = false };
    }
    Dim (*const make[])(Ctx *, Dim, Dim) = { dim_add, dim_sub, dim_mul, dim_floordiv,
                                             dim_mod, dim_min, dim_max };
    c.d = make[op](cx, a->d, b->d);
    return c;
}

typedef struct Point {
    Ctx *cx;
    const Dim *sym;
    int64_t value[N_SYM];
} Point;

static Dim at_point(void *arg, Dim sym)
{
    const Point *p = arg;
    for (int i = 0; i < N_SYM; i++)
        if (p->sym[i] == sym)
            return dim_int(p->cx, p->value[i]);
    return NULL;
}

static void check_pair(Ctx *cx, const Case *a, const Case *b)
{
    Tri eq = dim_eq(cx, a->d, b->d);
    Tri le = dim_le(cx, a->d, b->d);
    for (int i = 0; i < POINTS; i++) {
        bool is_eq = a->at[i] == b->at[i];
        bool is_le = a->at[i] <= b->at[i];
        if ((eq != UNKNOWN && (eq == YES) != is_eq) || (le != UNKNOWN && (le == YES) != is_le))
            fail_msg("%s against %s: eq %d le %d, but %lld against %lld", dim_text(cx, a->d)->s,
                     dim_text(cx, b->d)->s, eq, le, (long long)a->at[i], (long long)b->at[i]);
    }
}

static bool never_pinned(Ctx *cx, Dim sym, Dim value, const char *why)
{
    (void)sym, (void)value, (void)why;
    return fail(cx, E_BUG, "an input was pinned");
}

/* What one scope learns, the next does not know; what it learns about its own symbols stays. */
static void scopes(void **state)
{
    (void)state;
    Ctx *cx = ctx_new();
    Dim n = parse(cx, "N");
    Dim m = parse(cx, "M");
    Dim k = parse(cx, "K");
    Dim sum = parse(cx, "N + 1");
    Dim two = dim_int(cx, 2);
    Dim b;
    dim_on_pin(cx, never_pinned);
    dim_scope_open(cx);
    assert_true(dim_require(cx, n, m, "cat"));
    assert_int_equal(dim_eq(cx, n, m), YES);
    dim_scope_open(cx);
    assert_true(dim_require(cx, m, dim_int(cx, 3), "conv"));
    assert_true(dim_is(sum, 4));
    assert_true(dim_assume(cx, REL_LE, two, k));
    Dim own = dim_fresh(cx, "u");
    assert_true(dim_require(cx, own, k, "view"));
    dim_scope_close(cx);
    assert_false(dim_known(sum, NULL));
    assert_int_equal(dim_eq(cx, n, m), YES);
    assert_int_equal(dim_le(cx, two, k), UNKNOWN);
    assert_int_equal(dim_eq(cx, own, k), YES);
    assert_true(dim_assume(cx, REL_NE, dim_add(cx, n, k), dim_int(cx, 5)));
    assert_true(dim_broadcast(cx, m, k, &b));
    dim_scope_close(cx);
    assert_int_equal(dim_eq(cx, n, m), UNKNOWN);
    assert_int_equal(dim_eq(cx, dim_add(cx, n, k), dim_int(cx, 5)), UNKNOWN);
    assert_string_equal(dim_text(cx, dim_add(cx, n, m))->s, "N + M");
    Dim rest = dim_mod(cx, n, dim_int(cx, 4));
    Dim one = dim_int(cx, 1);
    dim_scope_open(cx);
    assert_true(dim_assume(cx, REL_LT, rest, one));
    assert_int_equal(dim_lt(cx, rest, one), YES);
    dim_scope_close(cx);
    assert_int_equal(dim_lt(cx, rest, one), UNKNOWN);
    dim_scope_open(cx);
    Dim half = parse(cx, "N//2"); /* made here, and the same number outside */
    assert_true(dim_require(cx, half, two, "view"));
    assert_true(dim_is(half, 2));
    dim_scope_close(cx);
    assert_false(dim_known(half, NULL));
    assert_false(ctx_failed(cx));
    ctx_free(cx);
}

/* Random expressions evaluated at random points: the normal form has the same value, lies in its
 * range, prints and parses to itself, and whatever dim_eq and dim_le claim holds at every point. */
static void against_integers(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (int round = 0; round < ROUNDS; round++) {
        Ctx *cx = ctx_new();
        Dim sym[N_SYM] = { parse(cx, "A"), parse(cx, "B"), parse(cx, "C") };
        Case made[N_EXPR] = { 0 };
        Point point[POINTS];
        size_t n = 0;
        for (int i = 0; i < POINTS; i++)
            point[i] = (Point){ .cx = cx, .sym = sym };
        for (int s = 0; s < N_SYM; s++, n++) {
            dim_set_range(cx, sym[s], low[s], high[s]);
            made[n] = (Case){ .d = sym[s], .defined = true };
            for (int i = 0; i < POINTS; i++)
                made[n].at[i] = point[i].value[s] = low[s] +
                    (int64_t)(next(&seed) % (uint64_t)(high[s] - low[s] + 1));
        }
        for (int k = -1; k < 4; k++, n++) {
            made[n] = (Case){ .d = dim_int(cx, k * 2 + 1), .defined = true };
            for (int i = 0; i < POINTS; i++)
                made[n].at[i] = k * 2 + 1;
        }
        while (n < N_EXPR) {
            Case c = grow(cx, made, n, &seed);
            if (!c.defined)
                continue;
            if (!c.d &&
                cx->error.code ==
                    E_VALUE) { /* a divisor that is 0 within the ranges, known for sure */
                cx->error = (Error){ .code = E_NONE };
                continue;
            }
            assert_non_null(c.d);
            int64_t lo, hi, v;
            dim_range(cx, c.d, &lo, &hi);
            for (int i = 0; i < POINTS; i++) {
                assert_true(lo <= c.at[i] && c.at[i] <= hi);
                Dim d = dim_replace(cx, c.d, at_point, &point[i]);
                if (!d) { /* a divisor that the normal form no longer guards */
                    assert_int_equal(cx->error.code, E_VALUE);
                    cx->error = (Error){ .code = E_NONE };
                } else if (!dim_known(d, &v) || v != c.at[i])
                    fail_msg("%s: %s at a point, not %lld", dim_text(cx, c.d)->s,
                             dim_text(cx, d)->s, (long long)c.at[i]);
            }
            assert_ptr_equal(parse(cx, dim_text(cx, c.d)->s), c.d);
            made[n++] = c;
        }
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                check_pair(cx, &made[i], &made[j]);
        ctx_free(cx);
    }
}

/* ---- numbers at the ends of 64 bits ---- */

/* -2^63 is no literal: it is the least of two numbers. */
#define LEAST "(0 - 9223372036854775807 - 1)"
static const char *const extremes[] = {
    "0",
    "1",
    "-1",
    "9223372036854775807",
    "-9223372036854775807",
    LEAST,
    "4611686018427387904",
    "N",
    "-N",
    "N + 9223372036854775807",
    "N + " LEAST,
    "9223372036854775807*N",
    LEAST "*N",
    LEAST "*N*M + 3*N",
    "4611686018427387904*N*N + 4611686018427387904*M - 1",
    "N//1099511627776",
    "M%9223372036854775807",
    "min(N, " LEAST "*M)",
    "max(M, 9223372036854775807*N - 1)",
};

typedef __int128 Wide; /* where nothing of this wraps */

static Wide wide_div(Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

/* What an operation on two numbers gives; *defined false by zero. */
static Wide wide_of(int op, Wide x, Wide y, bool *defined)
{
    *defined = y != 0 || op < 3 || op > 5;
    if (!*defined)
        return 0;
    switch (op) {
    case 0:  return x + y;
    case 1:  return x - y;
    case 2:  return x * y;
    case 3:  return wide_div(x, y);
    case 4:  return x - y * wide_div(x, y);
    case 5:  return -wide_div(-x, y);
    case 6:  return x < y ? x : y;
    default: return x < y ? y : x;
    }
}

/* An error of a number that does not fit, or of 0, and no other: it is forgotten. */
static void may_overflow(Ctx *cx)
{
    assert_true(cx->error.code == E_NONE || cx->error.code == E_VALUE || cx->error.code == E_LIMIT);
    cx->error = (Error){ .code = E_NONE };
}

static Dim with_5_and_3(void *arg, Dim sym)
{
    Str name;
    return dim_is_sym(sym, &name) ? dim_int(arg, str_is(name, "N") ? 5 : 3) : NULL;
}

/* d where N is 5 and M is 3. False: some step of that does not fit. */
static bool number_at(Ctx *cx, Dim d, int64_t *out)
{
    bool known = dim_known(dim_replace(cx, d, with_5_and_3, cx), out);
    may_overflow(cx);
    return known;
}

static void check_operations(Ctx *cx, Dim a, Dim b)
{
    static Dim (*const operations[])(Ctx *, Dim, Dim) = { dim_add,      dim_sub, dim_mul,
                                                          dim_floordiv, dim_mod, dim_ceildiv,
                                                          dim_min,      dim_max };
    int64_t x, y, got;
    bool defined, fit = number_at(cx, a, &x) && number_at(cx, b, &y);
    for (int op = 0; op < (int)COUNT(operations); op++) {
        Dim d = operations[op](cx, a, b);
        assert_true(d || ctx_failed(cx));
        may_overflow(cx);
        if (!d || !fit || !number_at(cx, d, &got))
            continue;
        Wide want = wide_of(op, x, y, &defined);
        if (defined && want != got)
            fail_msg("operation %d of %s and %s is %s", op, dim_text(cx, a)->s, dim_text(cx, b)->s,
                     dim_text(cx, d)->s);
    }
}

static void check_relations(Ctx *cx, Dim a, Dim b)
{
    int64_t x, y, lo, hi;
    bool fit = number_at(cx, a, &x) && number_at(cx, b, &y);
    Tri eq = dim_eq(cx, a, b);
    Tri le = dim_le(cx, a, b);
    Tri lt = dim_lt(cx, a, b);
    assert_false(ctx_failed(cx));
    dim_range(cx, a, &lo, &hi);
    if (fit) {
        assert_true(eq == UNKNOWN || (eq == YES) == (x == y));
        assert_true(le == UNKNOWN || (le == YES) == (x <= y));
        assert_true(lt == UNKNOWN || (lt == YES) == (x < y));
        assert_true(lo <= x && x <= hi);
    }
}

/* What is learnt of two sizes, in a scope of its own, and asked again, and of others too. */
static void check_facts(Ctx *cx, Dim a, Dim b)
{
    Dim joined, n = parse(cx, "N"), m = parse(cx, "M");
    for (int rel = 0; rel < 6; rel++) {
        dim_scope_open(cx);
        if (rel < 4)
            (void)!dim_assume(cx, ((Rel[]){ REL_EQ, REL_NE, REL_LT, REL_LE })[rel], a, b);
        else if (rel == 4)
            (void)!dim_require(cx, a, b, "cat");
        else
            (void)!dim_broadcast(cx, a, b, &joined);
        may_overflow(cx);
        (void)dim_eq(cx, b, a);
        (void)dim_le(cx, a, b);
        (void)dim_le(cx, n, m);
        may_overflow(cx);
        dim_scope_close(cx);
    }
}

static void numbers_at_the_ends_of_64_bits(void **state)
{
    enum { ALL = COUNT(extremes) };
    (void)state;
    Ctx *cx = ctx_new();
    Dim d[ALL];
    for (size_t i = 0; i < ALL; i++)
        d[i] = parse(cx, extremes[i]);
    for (size_t i = 0; i < ALL; i++)
        for (size_t j = 0; j < ALL; j++) {
            check_operations(cx, d[i], d[j]);
            check_relations(cx, d[i], d[j]);
            check_facts(cx, d[i], d[j]);
        }
    ctx_free(cx);
}

/* n//c + 1 of itself is k levels deep: the product of two divisors has no 64 bits, so none join. */
static void sizes_too_deep_to_walk_are_refused(void **state)
{
    enum { LEVELS = 5000 };
    (void)state;
    Ctx *cx = ctx_new();
    Dim n = dim_sym(cx, str_of(cx, "N"));
    int64_t i = 0;
    for (; n && i < 2 * LEVELS; i++) {
        Dim part = dim_floordiv(cx, n, dim_int(cx, (INT64_C(1) << 40) + i));
        n = dim_add(cx, part, dim_int(cx, 1));
    }
    assert_null(n);
    assert_int_equal(cx->error.code, E_LIMIT);
    assert_true(i > LEVELS / 3);
    ctx_free(cx);
}

/* Each step has the one before it twice in its text. */
static void text_does_not_double(void **state)
{
    (void)state;
    Ctx *cx = ctx_new();
    Dim d = dim_sym(cx, str_of(cx, "N"));
    Dim k = dim_sym(cx, str_of(cx, "K"));
    for (int i = 0; i < 100; i++) {
        Dim half = dim_floordiv(cx, dim_add(cx, d, dim_int(cx, 1)), dim_int(cx, 2));
        Dim third = dim_floordiv(cx, d, dim_int(cx, 3));
        Dim next = dim_add(cx, dim_min(cx, half, k), third);
        assert_string_not_equal(dim_text(cx, next)->s, dim_text(cx, d)->s);
        assert_true(dim_text(cx, next)->len <= 4000);
        d = next;
    }
    assert_false(ctx_failed(cx));
    ctx_free(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normal_form),
        cmocka_unit_test(a_number_comes_last_in_a_min),
        cmocka_unit_test(bad_text),
        cmocka_unit_test(answers),
        cmocka_unit_test(division_without_rest),
        cmocka_unit_test(by_zero_is_an_error),
        cmocka_unit_test(overflow_is_an_error),
        cmocka_unit_test(broadcasting),
        cmocka_unit_test(requirements),
        cmocka_unit_test(a_requirement_is_known_from_then_on),
        cmocka_unit_test(sizes_whose_product_is_one),
        cmocka_unit_test(older_sizes_do_not_rest_on_younger_ones),
        cmocka_unit_test(inputs_are_pinned_through_the_handler),
        cmocka_unit_test(facts),
        cmocka_unit_test(equal_sizes_keep_their_names),
        cmocka_unit_test(scopes),
        cmocka_unit_test(replacing),
        cmocka_unit_test(replacing_walks_shared_parts_once),
        cmocka_unit_test(a_broadcast_has_its_sides_example),
        cmocka_unit_test(against_integers),
        cmocka_unit_test(text_does_not_double),
        cmocka_unit_test(sizes_too_deep_to_walk_are_refused),
        cmocka_unit_test(numbers_at_the_ends_of_64_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
