/* Unit tests of onnx/emit.c: poison, checks, contents, folding, sharing and scopes. */
#include "unit/test.h"
#include "unit/graphs.h"

static void poison_flows_and_adds_nothing(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Ox x = input(g, "x", DT_FLOAT, "N");
    assert_ptr_equal(ox_g(g, "Add", x, POISON), POISON);
    assert_ptr_equal(ox_cast(g, POISON, DT_DOUBLE), POISON);
    assert_int_equal(g->nodes.n, 0);
    assert_false(ctx_failed(cx));
}

static void types_are_checked(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    assert_ptr_equal(ox_g(g, "Add", input(g, "x", DT_FLOAT, "N"), input(g, "y", DT_DOUBLE, "N")),
                     POISON);
    assert_string_equal(cx->error.text->s, "Add: B is float64, but A is float32");
}

static void unknown_types_are_checked(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    assert_ptr_equal(ox_g(g, "Sqrt", input(g, "x", DT_INT64, "N")), POISON);
    assert_string_equal(cx->error.text->s, "ONNX's Sqrt does not take int64[N] for X");
}

static void arity_is_checked(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    assert_ptr_equal(ox_g(g, "Add", input(g, "x", DT_FLOAT, "N")), POISON);
    assert_int_equal(cx->error.code, E_BUG);
}

static void attributes_are_checked(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    assert_ptr_equal(ox_g_with(g, "Relu", INPUTS(input(g, "x", DT_FLOAT, "N")), INT("alpha", 1)),
                     POISON);
    assert_string_equal(cx->error.text->s, "Relu has no attribute alpha of this kind");
}

static void equal_nodes_are_shared(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Ox x = input(g, "x", DT_FLOAT, "N");
    Ox a = ox_g(g, "Exp", x);
    assert_ptr_equal(ox_g(g, "Exp", x), a);
    assert_ptr_not_equal(ox_g(g, "Exp", a), a);
    Ox l = ox_g_with(g, "LeakyRelu", INPUTS(x), FLOAT("alpha", 0.5));
    assert_ptr_equal(ox_g_with(g, "LeakyRelu", INPUTS(x), FLOAT("alpha", 0.5)), l);
    assert_ptr_not_equal(ox_g_with(g, "LeakyRelu", INPUTS(x), FLOAT("alpha", 0.25)), l);
    assert_ptr_not_equal(ox_g(g, "RandomNormalLike", x), ox_g(g, "RandomNormalLike", x));
}

static void sharing_ends_with_the_scope(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Graph *then = graph_new(cx, g, str_of(cx, "then"));
    Graph *other = graph_new(cx, g, str_of(cx, "else"));
    Ox x = input(g, "x", DT_FLOAT, "N");
    Ox outside = ox_g(g, "Exp", x);
    assert_ptr_equal(ox_g(then, "Exp", x), outside);
    Ox in_then = ox_g(then, "Abs", x);
    Ox in_else = ox_g(other, "Abs", x);
    assert_ptr_not_equal(in_then, in_else);
    assert_ptr_not_equal(ox_g(g, "Abs", x), in_then);
    assert_ptr_equal(ox_g(g, "Exp", in_then), POISON); /* not visible here */
    assert_int_equal(cx->error.code, E_BUG);
}

static void constants_of_equal_content_are_one_value(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    assert_ptr_equal(ox_int(g, 3), ox_int(g, 3));
    assert_ptr_not_equal(ox_int(g, 3), ox_ints(g, (int64_t[]){ 3 }, 1));
    Const w = *const_make(cx, DT_FLOAT, 1, (int64_t[]){ 1 }, (float[]){ 1 });
    Const v = w;
    w.name = str_of(cx, "a.weight");
    v.name = str_of(cx, "b.weight");
    assert_ptr_equal(ox_const(g, &w), ox_const(g, &w));
    assert_ptr_not_equal(ox_const(g, &w),
                         ox_const(g, &v)); /* equal numbers of two weights stay two */
}

static void shape_arithmetic_makes_no_nodes(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Ox x = input(g, "x", DT_FLOAT, "N,3,H");
    Ox n = ox_g_with(g, "Gather", INPUTS(ox_g(g, "Shape", x), ox_int(g, 0)), INT("axis", 0));
    Ox twice = ox_g(g, "Mul", n, ox_int(g, 2));
    Ox shape = ox_g_with(g, "Concat",
                         INPUTS(ox_g(g, "Unsqueeze", twice, ox_ints(g, (int64_t[]){ 0 }, 1)),
                                ox_ints(g, (int64_t[]){ -1 }, 1)),
                         INT("axis", 0));
    assert_int_equal(g->nodes.n, 0);
    assert_int_equal(shape->kind, OX_DIMS);
    assert_string_equal(dim_text(cx, shape->items[0])->s, "2*N");
    assert_ptr_equal(shape, ox_dims(g, shape->items, 2));
    Ox y = ox_g(g, "Reshape", x, shape);
    assert_string_equal(type_text(cx, y->type)->s, "float32[2*N,H + H//2]");
}

/* A number that a trace keeps as a constant is looked at, as a size may follow from it; an entry of
 * the state_dict is not. */
static void weights_wait_for_tidy(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Const number = *const_make(cx, DT_FLOAT, 0, NULL, &(float){ 0.5f });
    Const weight = number;
    number.storage = &number;
    number.derived = str_of(cx, "CONSTANTS.c0");
    weight.storage = &weight;
    weight.name = str_of(cx, "scale");
    assert_int_equal(ox_g(g, "Neg", ox_const(g, &number))->kind, OX_CONST);
    assert_int_equal(ox_g(g, "Neg", ox_const(g, &weight))->kind, OX_NODE);
}

static void numbers_round_once(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    static const struct {
        DType t;
        double v;
        uint16_t bits;
    } cases[] = {
        { DT_FLOAT16, 1, 0x3c00 },
        { DT_FLOAT16, 65504, 0x7bff },
        { DT_FLOAT16, 65520, 0x7c00 },
        { DT_FLOAT16, -0.0, 0x8000 },
        { DT_FLOAT16, 5.960464477539063e-08, 0x0001 },
        { DT_FLOAT16, 2.98e-08, 0x0000 },
        { DT_FLOAT16, 6.103515625e-05, 0x0400 },
        { DT_FLOAT16, 1.00048828125, 0x3c00 },
        { DT_FLOAT16, 1.000488281251, 0x3c01 },
        { DT_FLOAT16, 1.00146484375, 0x3c02 },
        { DT_BFLOAT16, 1, 0x3f80 },
        { DT_BFLOAT16, 3.3895313892515355e38, 0x7f7f },
        { DT_BFLOAT16, 1e39, 0x7f80 },
        { DT_BFLOAT16, 0.1, 0x3dcd },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Ox v = ox_number(g, cases[i].t, cases[i].v);
        assert_int_equal(*(const uint16_t *)const_data(cx, v->k), cases[i].bits);
    }
    double back;
    assert_true(ox_known_scalar(g, ox_number(g, DT_FLOAT16, 5.960464477539063e-08), &back));
    assert_true(back == 5.960464477539063e-08);
    assert_true(ox_known_scalar(g, ox_number(g, DT_BFLOAT16, -1.5), &back));
    assert_true(back == -1.5);
    assert_ptr_equal(ox_number(g, DT_INT64, 1e300), POISON);
}

static void small_integers_keep_their_low_bits(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    static const struct {
        DType t;
        int64_t v;
        uint8_t byte;
    } cases[] = {
        { DT_INT4, -1, 0x0f },  { DT_INT4, 7, 0x07 },  { DT_UINT4, 17, 0x01 },
        { DT_INT2, -2, 0x02 },  { DT_UINT2, 7, 0x03 }, { DT_INT8, 255, 0xff },
        { DT_UINT8, -1, 0xff },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Ox v = ox_integer(g, cases[i].t, cases[i].v);
        assert_int_equal(*(const uint8_t *)const_data(cx, v->k), cases[i].byte);
        assert_ptr_equal(ox_number(g, cases[i].t, (double)cases[i].v), v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(poison_flows_and_adds_nothing),
        TEST(types_are_checked),
        TEST(unknown_types_are_checked),
        TEST(arity_is_checked),
        TEST(attributes_are_checked),
        TEST(equal_nodes_are_shared),
        TEST(sharing_ends_with_the_scope),
        TEST(constants_of_equal_content_are_one_value),
        TEST(shape_arithmetic_makes_no_nodes),
        TEST(weights_wait_for_tidy),
        TEST(numbers_round_once),
        TEST(small_integers_keep_their_low_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
