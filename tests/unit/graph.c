/* Unit tests of onnx/graph.c, const.c and text.c: types, strided constants, what a graph looks
 * like. */
#include "unit/test.h"

#include "onnx/internal.h"

static void types_are_interned(void **state)
{
    Ctx *cx = *state;
    Dim n = dim_sym(cx, str_of(cx, "N"));
    Dim d[2] = { n, dim_int(cx, 3) };
    Type a = type_tensor(cx, DT_FLOAT, 2, d);
    Type b = type_tensor(cx, DT_FLOAT, 2, (Dim[]){ n, dim_int(cx, 3) });
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, type_tensor(cx, DT_DOUBLE, 2, d));
    assert_string_equal(type_text(cx, a)->s, "float32[N,3]");
    assert_string_equal(
        type_text(cx, type_wrapped(cx, T_SEQUENCE, type_tensor(cx, DT_FLOAT, -1, NULL)))->s,
        "seq(float32[?])");
    assert_string_equal(dim_text(cx, type_numel(cx, a))->s, "3*N");
    assert_false(type_static(a, NULL));
    for (int i = 0; i < 500; i++) /* past several growths of the table */
        assert_ptr_equal(type_of_ints(cx, DT_INT64, 1, (int64_t[]){ i }),
                         type_of_ints(cx, DT_INT64, 1, (int64_t[]){ i }));
}

/* A size of an axis that is not there is an error, and nothing that takes sizes reads beyond it. */
static void no_such_axis(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_new(cx, NULL, str_of(cx, "main"));
    Ox x = graph_input(g, str_of(cx, "x"), type_of_ints(cx, DT_FLOAT, 1, (int64_t[]){ 3 }));
    int64_t lo, hi;
    assert_true(dim_is(ox_dim(x, 0), 3));
    assert_null(ox_dim(POISON, 0));
    assert_false(ctx_failed(cx));
    Dim none = ox_dim(x, 1);
    assert_null(none);
    assert_string_equal(cx->error.text->s,
                        "Dimension out of range: a tensor of rank 1 has no axis 1");
    assert_int_equal(cx->error.code, E_VALUE);
    assert_null(ox_dim(x, -1));
    assert_null(dim_add(cx, none, dim_int(cx, 1)));
    assert_false(dim_known(none, NULL) || dim_is_count(cx, none) || dim_is_sym(none, NULL));
    assert_int_equal(dim_le(cx, none, none), UNKNOWN);
    dim_range(cx, none, &lo, &hi);
    assert_true(hi == DIM_MAX);
    assert_ptr_equal(ox_dim_value(g, none), POISON);
}

static void no_such_axis_of_a_number(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_new(cx, NULL, str_of(cx, "main"));
    assert_null(ox_dim(ox_int(g, 7), 0));
    assert_int_equal(cx->error.code, E_VALUE);
}

static void dtypes(void **state)
{
    (void)state;
    for (int t = DT_NONE + 1; t < DT_COUNT; t++)
        assert_int_equal(dtype_named(dtype_name((DType)t), strlen(dtype_name((DType)t))), t);
    assert_int_equal(dtype_named("float", 5), DT_NONE);
    assert_int_equal(dtype_bytes(DT_INT4, 3), 2);
    assert_int_equal(dtype_bytes(DT_UINT2, 5), 2);
    assert_int_equal(dtype_bytes(DT_COMPLEX64, 3), 24);
    assert_int_equal(dtype_bytes(DT_STRING, 3), 0);
}

static const Const *counting(Ctx *cx, int rank, const int64_t *dims)
{
    int32_t v[4096];
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= dims[i];
    for (int32_t i = 0; i < n; i++)
        v[i] = i;
    return const_make(cx, DT_INT32, rank, dims, v);
}

static void assert_holds(Ctx *cx, const Const *k, const int32_t *want)
{
    int32_t got[4096];
    assert_true(const_read(cx, k, got));
    for (int64_t i = 0; i < const_numel(k); i++)
        assert_int_equal(got[i], want[i]);
}

static void views_of_a_constant(void **state)
{
    Ctx *cx = *state;
    const Const *k = counting(cx, 2, (int64_t[]){ 2, 3 });
    const Const *t = const_permute(cx, k, (int[]){ 1, 0 });
    assert_holds(cx, t, (int32_t[]){ 0, 3, 1, 4, 2, 5 });
    assert_false(const_contiguous(t));
    assert_null(const_reshape(cx, t, 1, (int64_t[]){ 6 }));
    assert_holds(cx, const_reshape(cx, t, 3, (int64_t[]){ 3, 1, 2 }),
                 (int32_t[]){ 0, 3, 1, 4, 2, 5 });
    assert_true(const_contiguous(const_permute(cx, t, (int[]){ 1, 0 })));
    assert_int_equal(numel_of_ints(3, (int64_t[]){ INT64_MAX, 2, 0 }), 0);
    assert_int_equal(numel_of_ints(2, (int64_t[]){ INT64_MAX, 2 }), INT64_MAX);
    const Const *s = const_slice(cx, k, 1, 1, 2, 1);
    assert_holds(cx, s, (int32_t[]){ 1, 2, 4, 5 });
    assert_holds(cx, const_slice(cx, s, 0, 1, 1, 1), (int32_t[]){ 4, 5 });
    assert_holds(cx, const_slice(cx, k, 1, 0, 2, 2), (int32_t[]){ 0, 2, 3, 5 });
    assert_int_equal(const_numel(const_slice(cx, k, 1, 3, 0, 1)), 0);
    const Const *c = counting(cx, 3, (int64_t[]){ 2, 4, 6 });
    const Const *cut = const_reshape(cx, const_permute(cx, c, (int[]){ 1, 0, 2 }), 4,
                                     (int64_t[]){ 2, 2, 2, 6 });
    assert_non_null(cut);
    int32_t want[48];
    for (int a = 0, i = 0; a < 4; a++)
        for (int b = 0; b < 2; b++)
            for (int d = 0; d < 6; d++)
                want[i++] = b * 24 + a * 6 + d;
    assert_holds(cx, cut, want);
}

/* Larger than a tile, from a file: a transposed constant is read right across tile borders. */
static void gathering_in_tiles(void **state)
{
    Ctx *cx = *state;
    enum { ROWS = 1300, COLS = 1000 };
    int32_t *v = new_array(cx, int32_t, ROWS *COLS);
    int32_t *got = new_array(cx, int32_t, ROWS *COLS);
    for (int i = 0; i < ROWS * COLS; i++)
        v[i] = i;
    const Const *k = const_make(cx, DT_INT32, 2, (int64_t[]){ ROWS, COLS }, v);
    assert_true(const_read(cx, const_permute(cx, k, (int[]){ 1, 0 }), got));
    for (int i = 0; i < ROWS * COLS; i++)
        assert_int_equal(got[i], i % ROWS * COLS + i / ROWS);
    const Const *long_row = const_reshape(cx, k, 1, (int64_t[]){ ROWS * COLS });
    const Const *odd = const_slice(cx, long_row, 0, 1, ROWS * COLS / 2, 2);
    assert_true(const_read(cx, odd, got));
    for (int i = 0; i < ROWS * COLS / 2; i++)
        assert_int_equal(got[i], 2 * i + 1);
}

/* Matrices of every width of element, with and without rest beside the squares that are turned at
 * once. */
static void turning_matrices(void **state)
{
    Ctx *cx = *state;
    static const DType types[] = { DT_UINT8, DT_FLOAT16, DT_FLOAT, DT_DOUBLE, DT_COMPLEX128 };
    static const int64_t sizes[] = { 1, 31, 32, 65 };
    for (size_t t = 0; t < COUNT(types); t++)
        for (size_t i = 0; i < COUNT(sizes) * COUNT(sizes); i++) {
            int64_t rows = sizes[i / COUNT(sizes)];
            int64_t cols = sizes[i % COUNT(sizes)];
            size_t size = dtype_size(types[t]);
            size_t n = (size_t)(rows * cols) * size;
            uint8_t *v = new_array(cx, uint8_t, n);
            uint8_t *got = new_array(cx, uint8_t, n);
            for (size_t k = 0; k < n; k++)
                v[k] = (uint8_t)(k * 31 >> 3);
            const Const *m = const_make(cx, types[t], 2, (int64_t[]){ rows, cols }, v);
            assert_true(const_read(cx, const_permute(cx, m, (int[]){ 1, 0 }), got));
            for (int64_t r = 0; r < rows; r++)
                for (int64_t c = 0; c < cols; c++)
                    assert_memory_equal(got + (size_t)(c * rows + r) * size,
                                        v + (size_t)(r * cols + c) * size, size);
        }
}

static void a_graph_as_text(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_new(cx, NULL, str_of(cx, "main"));
    Dim n = dim_sym(cx, str_of(cx, "N"));
    Ox x = graph_input(g, str_of(cx, "x"),
                       type_tensor(cx, DT_FLOAT, 2, (Dim[]){ n, dim_int(cx, 3) }));
    Ox y = ox_g(g, "Add", x, ox_number(g, DT_FLOAT, 0.5));
    y = ox_g(g, "Reshape", y, ox_dims(g, (Dim[]){ dim_mul(cx, n, dim_int(cx, 3)) }, 1));
    y = ox_g_with(g, "Softmax", INPUTS(y), INT("axis", 0));
    graph_output(g, y, str_of(cx, "y"));
    graph_output(g, x, str_of(cx, "same"));
    assert_string_equal(graph_text(g)->s,
                        "graph main(%x: float32[N,3]) {\n"
                        "  %3: float32[N,3] = Add(%x, {0.5}: float32[])\n"
                        "  %5: float32[3*N] = Reshape(%3, dims{3*N}: int64[1])\n"
                        "  %y: float32[3*N] = Softmax<axis=0>(%5)\n"
                        "  %same: float32[N,3] = Identity(%x)\n"
                        "  return %y, %same\n"
                        "}\n");
    g->nodes.at[0]->dead = true;
    graph_compact(g);
    assert_int_equal(g->nodes.n, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(types_are_interned),       TEST(no_such_axis),
        TEST(no_such_axis_of_a_number), TEST(dtypes),
        TEST(views_of_a_constant),      TEST(gathering_in_tiles),
        TEST(turning_matrices),         TEST(a_graph_as_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
