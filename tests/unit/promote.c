/* Unit tests of ops/promote.c against what PyTorch's promote_types and result_type say (recorded
 * from torch 2.13). */
#include "unit/test.h"

#include "ops/internal.h"

static const DType types[] = { DT_UINT8,   DT_INT8,     DT_INT16, DT_INT32,  DT_INT64,
                               DT_FLOAT16, DT_BFLOAT16, DT_FLOAT, DT_DOUBLE, DT_BOOL };

/* torch.promote_types, row by row in the order of `types` */
static const DType promoted[COUNT(types)][COUNT(types)] = {
    { DT_UINT8, DT_INT16, DT_INT16, DT_INT32, DT_INT64, DT_FLOAT16, DT_BFLOAT16, DT_FLOAT,
      DT_DOUBLE, DT_UINT8 },
    { DT_INT16, DT_INT8, DT_INT16, DT_INT32, DT_INT64, DT_FLOAT16, DT_BFLOAT16, DT_FLOAT, DT_DOUBLE,
      DT_INT8 },
    { DT_INT16, DT_INT16, DT_INT16, DT_INT32, DT_INT64, DT_FLOAT16, DT_BFLOAT16, DT_FLOAT,
      DT_DOUBLE, DT_INT16 },
    { DT_INT32, DT_INT32, DT_INT32, DT_INT32, DT_INT64, DT_FLOAT16, DT_BFLOAT16, DT_FLOAT,
      DT_DOUBLE, DT_INT32 },
    { DT_INT64, DT_INT64, DT_INT64, DT_INT64, DT_INT64, DT_FLOAT16, DT_BFLOAT16, DT_FLOAT,
      DT_DOUBLE, DT_INT64 },
    { DT_FLOAT16, DT_FLOAT16, DT_FLOAT16, DT_FLOAT16, DT_FLOAT16, DT_FLOAT16, DT_FLOAT, DT_FLOAT,
      DT_DOUBLE, DT_FLOAT16 },
    { DT_BFLOAT16, DT_BFLOAT16, DT_BFLOAT16, DT_BFLOAT16, DT_BFLOAT16, DT_FLOAT, DT_BFLOAT16,
      DT_FLOAT, DT_DOUBLE, DT_BFLOAT16 },
    { DT_FLOAT, DT_FLOAT, DT_FLOAT, DT_FLOAT, DT_FLOAT, DT_FLOAT, DT_FLOAT, DT_FLOAT, DT_DOUBLE,
      DT_FLOAT },
    { DT_DOUBLE, DT_DOUBLE, DT_DOUBLE, DT_DOUBLE, DT_DOUBLE, DT_DOUBLE, DT_DOUBLE, DT_DOUBLE,
      DT_DOUBLE, DT_DOUBLE },
    { DT_UINT8, DT_INT8, DT_INT16, DT_INT32, DT_INT64, DT_FLOAT16, DT_BFLOAT16, DT_FLOAT, DT_DOUBLE,
      DT_BOOL },
};

static void promote_types_is_pytorchs(void **state)
{
    (void)state;
    for (size_t a = 0; a < COUNT(types); a++)
        for (size_t b = 0; b < COUNT(types); b++)
            if (promote_types(types[a], types[b]) != promoted[a][b])
                fail_msg("%s with %s gives %s", dtype_name(types[a]), dtype_name(types[b]),
                         dtype_name(promote_types(types[a], types[b])));
}

static void complex_and_float8_are_pytorchs(void **state)
{
    static const struct {
        DType a, b, want;
    } pairs[] = {
        { DT_COMPLEX64, DT_FLOAT, DT_COMPLEX64 },
        { DT_COMPLEX64, DT_DOUBLE, DT_COMPLEX128 },
        { DT_COMPLEX64, DT_COMPLEX128, DT_COMPLEX128 },
        { DT_COMPLEX128, DT_FLOAT, DT_COMPLEX128 },
        { DT_COMPLEX64, DT_FLOAT16, DT_COMPLEX64 },
        { DT_COMPLEX64, DT_INT64, DT_COMPLEX64 },
        { DT_COMPLEX64, DT_BOOL, DT_COMPLEX64 },
        { DT_FLOAT8E5M2, DT_FLOAT8E5M2, DT_FLOAT8E5M2 },
        { DT_FLOAT8E5M2, DT_FLOAT16, DT_NONE },
        { DT_UINT16, DT_FLOAT, DT_FLOAT },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(pairs); i++) {
        assert_int_equal(promote_types(pairs[i].a, pairs[i].b), pairs[i].want);
        assert_int_equal(promote_types(pairs[i].b, pairs[i].a), pairs[i].want);
    }
    assert_string_equal(torch_dtype_name(DT_COMPLEX64), "ComplexFloat");
    assert_string_equal(torch_dtype_name(DT_FLOAT8E5M2), dtype_name(DT_FLOAT8E5M2));
}

static Value operand(Graph *g, DType t, int rank)
{
    Dim two = dim_int(g->cx, 2);
    return val_tensor(
        g->cx,
        graph_input(g, str_fmt(g->cx, "x%zu", g->inputs.n), type_tensor(g->cx, t, rank, &two)));
}

static DType sum_type(Graph *g, Value a, Value b)
{
    OpArg args[] = { { NULL, a }, { NULL, b } };
    Value v = op_call(g, str_of(g->cx, "aten::add"), NULL, args, 2, NULL, 0);
    return v.tag == V_TENSOR ? tensor_type(v.t)->dtype : DT_NONE;
}

/* torch.result_type for tensors with dims, 0-d tensors and numbers */
static void groups_decide_in_order(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_new(cx, NULL, str_of(cx, "main"));
    static const struct {
        DType a;
        int rank_a;
        DType b;
        int rank_b;
        DType want;
    } pairs[] = {
        { DT_INT64, 1, DT_FLOAT, 0, DT_FLOAT },      { DT_FLOAT, 1, DT_DOUBLE, 0, DT_FLOAT },
        { DT_FLOAT16, 1, DT_DOUBLE, 0, DT_FLOAT16 }, { DT_BOOL, 0, DT_INT8, 0, DT_INT8 },
        { DT_BOOL, 1, DT_INT8, 0, DT_INT8 },         { DT_INT8, 1, DT_INT64, 0, DT_INT8 },
    };
    for (size_t i = 0; i < COUNT(pairs); i++)
        assert_int_equal(sum_type(g, operand(g, pairs[i].a, pairs[i].rank_a),
                                  operand(g, pairs[i].b, pairs[i].rank_b)),
                         pairs[i].want);
    assert_int_equal(sum_type(g, operand(g, DT_UINT8, 1), val_int(3)), DT_UINT8);
    assert_int_equal(sum_type(g, operand(g, DT_INT64, 1), val_float(2.5)), DT_FLOAT);
    assert_int_equal(sum_type(g, operand(g, DT_BOOL, 1), val_int(3)), DT_INT64);
    assert_int_equal(sum_type(g, operand(g, DT_INT32, 0), val_float(2.5)), DT_FLOAT);
    assert_int_equal(sum_type(g, operand(g, DT_FLOAT16, 0), val_float(2.5)), DT_FLOAT16);
}

/* In a fragment 0-d constants are numbers, and a double among them is a Python float. */
static void values_of_a_fragment(void **state)
{
    Graph *g = graph_new(*state, NULL, str_of(*state, "main"));
    Ox ints = tensor_read(g, operand(g, DT_INT64, 1).t);
    Ox half = tensor_read(g, operand(g, DT_FLOAT16, 1).t);
    Ox zero = tensor_read(g, operand(g, DT_DOUBLE, 0).t);
    Ox real = ox_number(g, DT_DOUBLE, 0.5);
    Ox whole = ox_int(g, 3);
    Ox bytes = tensor_read(g, operand(g, DT_INT8, 1).t);
    assert_int_equal(promote_values(INPUTS(ints, real)), DT_FLOAT);
    assert_int_equal(promote_values(INPUTS(half, real)), DT_FLOAT16);
    assert_int_equal(promote_values(INPUTS(ints, zero)), DT_DOUBLE);
    assert_int_equal(promote_values(INPUTS(half, zero)), DT_FLOAT16);
    assert_int_equal(promote_values(INPUTS(bytes, whole, NULL)), DT_INT8);
    assert_int_equal(promote_values(INPUTS(real, whole)), DT_FLOAT);
}

static void the_number_flag_counts_as_a_number(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_new(cx, NULL, str_of(cx, "main"));
    Value n = operand(g, DT_DOUBLE, 0);
    n.t->number = true;
    assert_int_equal(sum_type(g, operand(g, DT_INT64, 1), n), DT_FLOAT);
    n.t->number = false;
    assert_int_equal(sum_type(g, operand(g, DT_INT64, 1), n), DT_DOUBLE);
}

static void what_has_no_common_type_is_said(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_new(cx, NULL, str_of(cx, "main"));
    assert_int_equal(sum_type(g, operand(g, DT_UINT16, 1), operand(g, DT_INT32, 1)), DT_NONE);
    assert_string_equal(cx->error.text->s, "Promotion for UInt16 and Int is not supported");
    assert_int_equal(promote_types(DT_INT32, DT_UINT16), DT_NONE);
    assert_int_equal(promote_types(DT_UINT16, DT_UINT8), DT_NONE);
}

static void columns_name_parameters(void **state)
{
    Ctx *cx = *state;
    const Schema *s = schema_parse(cx, "my::f(Tensor a, Tensor b) -> Tensor");
    Str place = str_of(cx, "my.rules:3");
    assert_true(column_check(cx, s, "default(a, b)", place));
    assert_true(column_check(cx, s, "int-to-float( b )", place));
    assert_false(column_check(cx, s, "default(a, bb)", place));
    assert_string_equal(cx->error.text->s, "my.rules:3: promote names no parameter 'bb' of my::f");
}

static DType common_type(Graph *g, const char *column, Value self, Value other)
{
    Value at[] = { self, other };
    OpCall call = { .schema = schema_parse(g->cx, "my::f(Tensor self, Tensor other) -> Tensor"),
                    .arg = at };
    Op op = { .cx = g->cx, .g = g, .call = &call };
    return promote_args(&op, column) ? op.common : DT_NONE;
}

static void a_column_may_name_many(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_new(cx, NULL, str_of(cx, "main"));
    Buf column = buf_new(cx);
    buf_str(&column, "default(other");
    for (int i = 0; i < 100; i++)
        buf_str(&column, ", self");
    buf_str(&column, ")");
    assert_int_equal(
        common_type(g, buf_done(&column)->s, operand(g, DT_INT8, 1), operand(g, DT_INT64, 1)),
        DT_INT64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(promote_types_is_pytorchs),
        TEST(complex_and_float8_are_pytorchs),
        TEST(values_of_a_fragment),
        TEST(groups_decide_in_order),
        TEST(the_number_flag_counts_as_a_number),
        TEST(what_has_no_common_type_is_said),
        TEST(columns_name_parameters),
        TEST(a_column_may_name_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
