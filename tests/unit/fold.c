/* Unit tests of onnx/fold_*.c where tests/python/test_infer_fold.py does not reach: sizes beyond a
 * tile and a block, and that rounding happens once. Values are checked element by element against
 * the plain loop. */
#include "unit/test.h"
#include "unit/graphs.h"

#include "onnx/fold/fold.h"

#include <math.h>

/* 0, 1, 2, .. as a constant that emission leaves alone: too large to fold there. */
static Ox ramp(Graph *g, int rank, const int64_t *dims)
{
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= dims[i];
    float *at = new_array(g->cx, float, n);
    for (int64_t i = 0; i < n; i++)
        at[i] = (float)i;
    return ox_const(g, const_make(g->cx, DT_FLOAT, rank, dims, at));
}

/* The node's value as a recipe would compute it. */
static const float *folded(Ox v)
{
    const Const *k = NULL;
    Data d;
    assert_int_equal(v->kind, OX_NODE);
    assert_true(node_fold(v->node, &k));
    assert_true(const_to_data(node_cx(v->node), k, &d));
    return d.at;
}

static void a_transpose_in_blocks(void **state)
{
    Graph *g = graph_of(*state);
    enum { A = 3, B = 70, C = 41 };
    const int64_t perm[] = { 2, 0, 1 };
    const float *y = folded(ox_g_with(g, "Transpose",
                                      INPUTS(ramp(g, 3, (const int64_t[]){ A, B, C })),
                                      INT_LIST("perm", perm, 3)));
    for (int a = 0; a < A; a++)
        for (int b = 0; b < B; b++)
            for (int c = 0; c < C; c++)
                assert_true(y[(c * A + a) * B + b] == (float)((a * B + b) * C + c));
}

static void a_channel_scale_over_many_tiles(void **state)
{
    Graph *g = graph_of(*state);
    enum { A = 8, B = 1100 };
    Ox scale = ramp(g, 2, (const int64_t[]){ A, 1 });
    Ox x = ramp(g, 2, (const int64_t[]){ A, B });
    const float *y = folded(ox_g(g, "Mul", x, scale));
    for (int a = 0; a < A; a++)
        for (int b = 0; b < B; b++)
            assert_true(y[a * B + b] == (float)(a * B + b) * (float)a);
}

static float fraction(int64_t i) { return ((float)(i * 37 % 1001) - 500.5f) / 7; }

static Ox fractions(Graph *g, int64_t rows, int64_t columns)
{
    float *at = new_array(g->cx, float, rows *columns);
    for (int64_t i = 0; i < rows * columns; i++)
        at[i] = fraction(i);
    return ox_const(g, const_make(g->cx, DT_FLOAT, 2, (int64_t[]){ rows, columns }, at));
}

static double computed(const char *op, double a, double b)
{
    switch (op[0]) {
    case 'A': return a + b;
    case 'S': return a - b;
    case 'M': return a * b;
    default:  return a / b;
    }
}

/* Of two matrices, and with one number a row on either side: the bits of double rounded once. */
static void arithmetic_of_floats_is_rounded_once(void **state)
{
    static const char *const ops[] = { "Add", "Sub", "Mul", "Div" };
    Graph *g = graph_of(*state);
    enum { A = 8, B = 1100 };
    Ox all = fractions(g, A, B);
    Ox one = fractions(g, A, 1);
    for (size_t k = 0; k < COUNT(ops); k++) {
        const float *both = folded(ox_g(g, ops[k], all, all));
        const float *last = folded(ox_g(g, ops[k], all, one));
        const float *first = folded(ox_g(g, ops[k], one, all));
        for (int i = 0; i < A * B; i++) {
            double a = fraction(i);
            double b = fraction(i / B);
            assert_true(both[i] == (float)computed(ops[k], a, a));
            assert_true(last[i] == (float)computed(ops[k], a, b));
            assert_true(first[i] == (float)computed(ops[k], b, a));
        }
    }
}

static void a_slice_backwards(void **state)
{
    Graph *g = graph_of(*state);
    const int64_t start[] = { -1, 90 };
    const int64_t end[] = { INT64_MIN, 1 };
    const int64_t axes[] = { 0, 1 };
    const int64_t step[] = { -1, -3 };
    Ox x = ramp(g, 2, (const int64_t[]){ 90, 97 });
    Ox a = ox_ints(g, start, 2);
    Ox b = ox_ints(g, end, 2);
    Ox c = ox_ints(g, axes, 2);
    Ox d = ox_ints(g, step, 2);
    Ox v = ox_g(g, "Slice", x, a, b, c, d);
    const float *y = folded(v);
    assert_string_equal(type_text(*state, v->type)->s, "float32[90,30]");
    for (int i = 0; i < 90; i++)
        for (int k = 0; k < 30; k++)
            assert_true(y[i * 30 + k] == (float)((89 - i) * 97 + 90 - 3 * k));
}

static void concat_along_the_middle(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = ramp(g, 3, (const int64_t[]){ 30, 2, 70 });
    Ox y = ramp(g, 3, (const int64_t[]){ 30, 1, 70 });
    const float *z = folded(ox_g_with(g, "Concat", INPUTS(x, y), INT("axis", 1)));
    for (int i = 0; i < 30; i++)
        for (int k = 0; k < 210; k++)
            assert_true(z[i * 210 + k] ==
                        (k < 140 ? (float)(i * 140 + k) : (float)(i * 70 + k - 140)));
}

/* 2^53 + 1 has no double, so an iteration through double would round twice: to 2^53, and that to
 * float32. */
static void large_ints_are_rounded_once(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    const int64_t v = (INT64_C(1) << 62) + (INT64_C(1) << 38) +
        1; /* just above the middle of two float32s */
    Ox y = ox_cast(g, ox_integer(g, DT_INT64, v), DT_FLOAT);
    assert_int_equal(y->kind, OX_CONST);
    assert_true(*(const float *)const_data(cx, y->k) == (float)v);
    assert_true((float)v != (float)(double)v); /* the case tells the two apart */
}

static void no_division_by_zero(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Ox y = ox_g(g, "Div", ox_integer(g, DT_INT32, 1), ox_integer(g, DT_INT32, 0));
    assert_int_equal(y->kind, OX_NODE); /* the runtime's business */
    y = ox_g(g, "Div", ox_integer(g, DT_INT8, -128), ox_integer(g, DT_INT8, -1));
    assert_int_equal(*(const int8_t *)const_data(cx, y->k), -128); /* wraps */
}

/* Random numbers are nobody's constants. */
static void random_stays(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = ox_number(g, DT_FLOAT, 1);
    Ox y = ox_g(g, "RandomNormalLike", x);
    Ox z = ox_g(g, "RandomNormalLike", x);
    assert_int_equal(y->kind, OX_NODE);
    assert_ptr_not_equal(y, z);
}

/* Parts of every length and place are what the whole has there; false: v is computed whole only. */
static bool parts_are_the_whole(Ox v)
{
    const FoldParts *p = fold_parts(v->node);
    Ctx *cx = node_cx(v->node);
    int64_t n;
    if (!p)
        return false;
    const float *whole = folded(v);
    assert_true(dim_known(type_numel(cx, v->type), &n));
    float *part = new_array(cx, float, n);
    for (int64_t at = 0, some = 1; at < n; at += some, some = some * 3 + 1) {
        if (some > n - at)
            some = n - at;
        assert_true(fold_part(cx, p, (uint64_t)at * 4, (uint8_t *)part, (uint64_t)some * 4));
        assert_memory_equal(part, whole + at, (size_t)some * 4);
    }
    return true;
}

static Ox ramp_of(Graph *g, int64_t a, int64_t b, int64_t c)
{
    return ramp(g, 3, (const int64_t[]){ a, b, c });
}

static void a_part_is_what_the_whole_has_there(void **state)
{
    Graph *g = graph_of(*state);
    Ox w = ramp_of(g, 6, 50, 70);
    assert_true(parts_are_the_whole(ox_g(g, "Sub", w, ramp_of(g, 6, 1, 1))));
    assert_true(parts_are_the_whole(ox_g(g, "Sub", ramp_of(g, 1, 50, 1), w)));
    assert_true(parts_are_the_whole(ox_g(g, "Add", w, ramp_of(g, 1, 50, 70))));
    assert_true(parts_are_the_whole(ox_g(g, "Add", w, ramp(g, 1, (const int64_t[]){ 70 }))));
    assert_true(parts_are_the_whole(ox_g(g, "Mul", w, w)));
    assert_true(parts_are_the_whole(ox_g(g, "Sqrt", w)));
    assert_true(parts_are_the_whole(
        ox_g(g, "Clip", w, ox_number(g, DT_FLOAT, 10), ox_number(g, DT_FLOAT, 7000))));
    assert_true(parts_are_the_whole(ox_g(g, "Mul", w, ramp_of(g, 6, 50, 1))));
    assert_false(parts_are_the_whole(ox_g(g, "Add", ramp_of(g, 50, 70, 2), ramp_of(g, 1, 1, 2))));
}

static void rows_are_reduced_by_themselves(void **state)
{
    static const char *const ops[] = { "ReduceMean", "ReduceL2", "ReduceSum", "ReduceMax" };
    Graph *g = graph_of(*state);
    Ox w = ramp_of(g, 60, 50, 7);
    Ox one = ramp_of(g, 1, 60, 350);
    const int64_t last[] = { 1, -1 };
    const int64_t first[] = { 0 };
    for (size_t i = 0; i < COUNT(ops); i++) {
        assert_true(parts_are_the_whole(ox_g(g, ops[i], w, ox_ints(g, last, 2))));
        assert_true(parts_are_the_whole(ox_g(g, ops[i], one, ox_ints(g, last + 1, 1))));
        assert_false(parts_are_the_whole(ox_g(g, ops[i], w, ox_ints(g, first, 1))));
        assert_false(parts_are_the_whole(ox_g(g, ops[i], w, ox_ints(g, last + 1, 1))));
    }
}

/* PyTorch's argmin takes not-a-number for the least, its argmax for the largest: the first of
 * several. */
static void not_a_number_is_an_extreme(void **state)
{
    static const float at[] = { 2, NAN, 0, NAN, 3 };
    static const char *const ops[] = { "ArgMax", "ArgMin" };
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    for (size_t i = 0; i < COUNT(ops); i++) {
        Ox x = ox_const(g, const_make(cx, DT_FLOAT, 1, (const int64_t[]){ 5 }, at));
        Ox first = ox_g_with(g, ops[i], INPUTS(x), INT("keepdims", 0));
        Ox last = ox_make(g, ops[i], INPUTS(x),
                          ATTRS(INT("keepdims", 0), INT("select_last_index", 1)));
        assert_int_equal(*(const int64_t *)const_data(cx, first->k), 1);
        assert_int_equal(*(const int64_t *)const_data(cx, last->k), 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_transpose_in_blocks),
        TEST(a_channel_scale_over_many_tiles),
        TEST(arithmetic_of_floats_is_rounded_once),
        TEST(a_slice_backwards),
        TEST(concat_along_the_middle),
        TEST(large_ints_are_rounded_once),
        TEST(no_division_by_zero),
        TEST(random_stays),
        TEST(a_part_is_what_the_whole_has_there),
        TEST(rows_are_reduced_by_themselves),
        TEST(not_a_number_is_an_extreme),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
