/* Unit tests of onnx/fold_*.c where tests/python/test_infer_fold.py does not reach: sizes beyond a
 * tile and a block, and that rounding happens once. Values are checked element by element against
 * the plain loop. */
#include "unit/test.h"
#include "unit/graphs.h"

#include "onnx/fold/fold.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_transpose_in_blocks),
        TEST(a_channel_scale_over_many_tiles),
        TEST(a_slice_backwards),
        TEST(concat_along_the_middle),
        TEST(large_ints_are_rounded_once),
        TEST(no_division_by_zero),
        TEST(random_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
