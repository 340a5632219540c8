/* Unit tests of tidy/legal/legalise.c and types.c: what is left of a node, who is refused and how.
 * That all opsets agree in ONNX Runtime is tests/python/test_legalise.py's. */
#include "unit/test.h"

#include "base/limits.h"
#include "tidy/tidy.h"

static Graph *graph_of(Ctx *cx) { return graph_new(cx, NULL, str_of(cx, "g")); }

static Ox input(Graph *g, const char *name, DType t, int rank)
{
    Dim d[] = { dim_sym(g->cx, str_of(g->cx, "N")), dim_int(g->cx, 3), dim_int(g->cx, 4),
                dim_int(g->cx, 5) };
    return graph_input(g, str_of(g->cx, name), type_tensor(g->cx, t, rank, d));
}

static void legalised(Graph *g, Ox y, int opset, bool ort)
{
    TidyOptions o = { .opset = opset, .target_ort = ort };
    graph_output(g, y, NULL);
    if (!tidy(g, &o))
        fail_msg("%s", g->cx->error.text->s);
}

/* The operators left, in order. */
static void assert_ops(Graph *g, const char *want)
{
    Buf b = buf_new(g->cx);
    for (size_t i = 0; i < g->nodes.n; i++)
        buf_fmt(&b, i ? " %s" : "%s", g->nodes.at[i]->name->s);
    assert_string_equal(buf_done(&b)->s, want);
}

static void a_rule_applies_below_its_opset(void **state)
{
    Graph *g = graph_of(*state);
    legalised(g, ox_g(g, "HardSwish", input(g, "x", DT_FLOAT, 2)), 13, false);
    assert_ops(g, "HardSigmoid Mul");
    g = graph_of(*state);
    legalised(g, ox_g(g, "HardSwish", input(g, "x", DT_FLOAT, 2)), 14, false);
    assert_ops(g, "HardSwish");
}

/* What a rule or function makes is legalised too: ReduceMean's axes become an attribute again. */
static void what_is_made_is_legal(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, 3);
    Ox s = input(g, "s", DT_FLOAT, 1);
    legalised(g, ox_g(g, "LayerNormalization", x, s), 13, false);
    assert_ops(g, "ReduceMean Sub Pow ReduceMean Add Sqrt Div Mul");
    assert_int_equal(g->nodes.at[0]->n_in, 1);
    assert_true(node_has(g->nodes.at[0], "axes"));
}

static void axes_of_reductions_are_counted_from_the_front(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, 3);
    const int64_t axes[] = { 0, -1 };
    const int64_t *made;
    int64_t n;
    legalised(g, ox_g_with(g, "ReduceMax", INPUTS(x, ox_ints(g, axes, 2)), INT("keepdims", 0)), 18,
              false);
    assert_ops(g, "ReduceMax");
    assert_true(ox_known_ints(g, g->nodes.at[0]->in[1], &made, &n));
    assert_int_equal(n, 2);
    assert_int_equal(made[0], 0);
    assert_int_equal(made[1], 2);
    assert_int_equal(node_int(g->nodes.at[0], "keepdims", 1), 0);
}

static void softmax_of_the_last_axis_stays(void **state)
{
    Graph *g = graph_of(*state);
    legalised(g, ox_g_with(g, "Softmax", INPUTS(input(g, "x", DT_FLOAT, 3)), INT("axis", -1)), 9,
              false);
    assert_ops(g, "Softmax");
    assert_int_equal(node_int(g->nodes.at[0], "axis", 99), 2);
    g = graph_of(*state);
    legalised(g, ox_g_with(g, "Softmax", INPUTS(input(g, "x", DT_FLOAT, 3)), INT("axis", 1)), 12,
              false);
    assert_ops(g, "Transpose Softmax Transpose");
}

static void ints_are_compared_not_cast(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_INT64, 2);
    Ox y = input(g, "y", DT_INT64, 2);
    legalised(g, ox_g(g, "Max", x, y), 11, true);
    assert_ops(g, "Greater Where");
}

/* ONNX Runtime's optimizer would make y / x of (1 / x) * y. */
static void nothing_is_one_divided_by_an_int(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_INT64, 2);
    Ox y = input(g, "y", DT_INT64, 2);
    Ox one = ox_ints(g, (int64_t[]){ 1 }, 1);
    Ox part = ox_g(g, "Div", one, x);
    legalised(g, ox_g(g, "Mul", part, y), 18, true);
    assert_ops(g, "Abs Equal Where Mul");
}

static void refusals_name_the_opset(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Ox x = input(g, "x", DT_UINT64, 2);
    Ox a = ox_g(g, "BitwiseNot", x);
    Ox b = ox_g(g, "BitwiseAnd", a, x);
    legalised(g, b, 17, false);
    assert_int_equal(cx->refusals.n, 2); /* all of them */
    assert_string_equal(cx->refusals.at[0].text->s,
                        "BitwiseNot needs ONNX opset 18, the target is 17");
    assert_string_equal(cx->refusals.at[0].hint->s, "--opset 18");
}

static void a_type_that_comes_later_is_refused(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    legalised(g, ox_cast(g, input(g, "x", DT_FLOAT, 2), DT_BFLOAT16), 12, false);
    assert_int_equal(cx->refusals.n, 1);
    g = graph_of(cx);
    legalised(g, ox_cast(g, input(g, "x", DT_BFLOAT16, 2), DT_FLOAT), 12, false);
    assert_string_equal(cx->refusals.at[cx->refusals.n - 1].text->s,
                        "Cast of bfloat16 needs ONNX opset 13, the target is 12");
    g = graph_of(cx);
    Ox x = input(g, "x", DT_BFLOAT16, 2);
    legalised(g, ox_g(g, "Add", x, x), 12, false); /* casts around it would need 13 themselves */
    assert_string_equal(cx->refusals.at[cx->refusals.n - 1].text->s,
                        "Add of bfloat16 needs ONNX opset 13, the target is 12");
}

static void a_newer_version_without_a_kernel_is_refused(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    legalised(g,
              ox_g_with(g, "RandomNormalLike", INPUTS(input(g, "x", DT_FLOAT, 2)),
                        INT("dtype", DT_FLOAT)),
              22, true);
    assert_string_equal(cx->refusals.at[0].text->s,
                        "ONNX Runtime has no RandomNormalLike of opset 22, only up to opset 21");
    assert_string_equal(cx->refusals.at[0].hint->s,
                        "--opset 21, or --target=onnx for another runtime");
    cx->refusals.n = 0;
    g = graph_of(cx);
    legalised(g,
              ox_g_with(g, "RandomNormalLike", INPUTS(input(g, "x", DT_FLOAT, 2)),
                        INT("dtype", DT_FLOAT)),
              22, false);
    assert_int_equal(cx->refusals.n, 0);
}

static void casts_go_around_what_has_no_kernel(void **state)
{
    Graph *g = graph_of(*state);
    legalised(g, ox_g(g, "Relu", input(g, "x", DT_FLOAT16, 2)), 18, true);
    assert_ops(g, "Cast Relu Cast");
    assert_int_equal(ox_dtype(g->outputs.at[0]), DT_FLOAT16);
    g = graph_of(*state);
    legalised(g, ox_g(g, "Relu", input(g, "x", DT_FLOAT16, 2)), 18, false);
    assert_ops(g, "Relu"); /* pure ONNX takes it */
}

/* Attention of opset 26 has no kernel: its function runs, but not in bfloat16. */
static void casts_go_around_what_is_expanded(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_BFLOAT16, 4);
    legalised(g, ox_g(g, "Attention", x, x, x), 26, true);
    assert_ops(g, "Cast Attention Cast");
    g = graph_of(*state);
    x = input(g, "x", DT_FLOAT, 4);
    legalised(g, ox_g(g, "Attention", x, x, x), 26, true);
    assert_ops(g, "Attention");
}

static void subgraphs_are_legalised_too(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Graph *branch[2] = { graph_new(cx, g, str_of(cx, "then")),
                         graph_new(cx, g, str_of(cx, "else")) };
    Ox x = input(g, "x", DT_FLOAT, 2);
    Ox c = graph_input(g, str_of(cx, "c"), type_tensor(cx, DT_BOOL, 0, NULL));
    for (int i = 0; i < 2; i++)
        graph_output(branch[i], ox_g(branch[i], i ? "HardSwish" : "Mish", x), NULL);
    legalised(g,
              ox_g_with(g, "If", INPUTS(c), SUBGRAPH("then_branch", branch[0]),
                        SUBGRAPH("else_branch", branch[1])),
              13, false);
    assert_ops(branch[0], "Softplus Tanh Mul");
    assert_ops(branch[1], "HardSigmoid Mul");
}

/* A million groups need 8 MB for the scale and bias of an InstanceNormalization, more than --limit
 * heap allows: an error, not a write through NULL. */
static void groups_beyond_the_heap_limit_are_an_error(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    const int64_t groups = 1 << 20;
    Type by_group = type_of_ints(cx, DT_FLOAT, 1, &groups);
    Ox x = graph_input(g, str_of(cx, "x"),
                       type_of_ints(cx, DT_FLOAT, 3, (int64_t[]){ 1, groups, 2 }));
    Ox scale = graph_input(g, str_of(cx, "scale"), by_group);
    Ox bias = graph_input(g, str_of(cx, "bias"), by_group);
    Ox y = ox_g_with(g, "GroupNormalization", INPUTS(x, scale, bias), INT("num_groups", groups));
    graph_output(g, y, NULL);
    cx->limit[LIMIT_HEAP] = 6000000;
    assert_false(tidy(g, &(TidyOptions){ .opset = 18 }));
    assert_int_equal(cx->error.code, E_LIMIT);
}

static Ox scattered(Graph *g, const char *how, Ox index)
{
    return ox_g_with(g, "ScatterND",
                     INPUTS(input(g, "x", DT_FLOAT, 2), index, input(g, "u", DT_FLOAT, 2)),
                     STRING("reduction", str_of(g->cx, how)));
}

/* ONNX Runtime's threads lose updates of one place in ScatterND. */
static void places_that_may_repeat_are_no_scatter_nd(void **state)
{
    static const struct {
        const char *how;
        int64_t at[3];
        bool ort;
        const char *want;
    } cases[] = {
        { "add", { 0, 1, 1 }, true, "Reshape Reshape ScatterElements Reshape" },
        { "max", { 0, -1, 1 }, true, "Reshape Reshape ScatterElements Reshape" },
        { "add", { 2, 0, 1 }, true, "ScatterND" },
        { "none", { 0, 1, 1 }, true, "ScatterND" },
        { "add", { 0, 1, 1 }, false, "ScatterND" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Graph *g = graph_of(*state);
        Ox index = ox_g(g, "Unsqueeze", ox_ints(g, cases[i].at, 3),
                        ox_ints(g, (int64_t[]){ 1 }, 1));
        legalised(g, scattered(g, cases[i].how, index), 18, cases[i].ort);
        assert_ops(g, cases[i].want);
    }
}

static Ox matrix(Graph *g, const char *name, DType t, int64_t rows, int64_t columns)
{
    Dim d[] = { dim_int(g->cx, rows), dim_int(g->cx, columns) };
    return graph_input(g, str_of(g->cx, name), type_tensor(g->cx, t, 2, d));
}

/* The ScatterND of n rows of 100 numbers each, any of which may go where another one goes. */
static Ox rows_summed(Graph *g, int64_t n)
{
    Ox x = matrix(g, "x", DT_FLOAT, 30, 100);
    Ox at = matrix(g, "at", DT_INT64, n, 1);
    Ox rows = matrix(g, "rows", DT_FLOAT, n, 100);
    Attr how = STRING("reduction", str_of(g->cx, "add"));
    return ox_g_with(g, "ScatterND", INPUTS(x, at, rows), how);
}

/* As it is where one thread does it, in a few parts one after the other, or else element by
 * element. */
static void sums_of_rows_are_work_for_one_thread(void **state)
{
    static const struct {
        int64_t rows;
        bool ort;
        const char *want;
    } cases[] = {
        { 2000, true, "ScatterND" },
        { 2001, true, "Split Split ScatterND ScatterND" },
        { 4001, true, "Split Split ScatterND ScatterND ScatterND" },
        { 16001, true,
          "Reshape Mul Unsqueeze Add Reshape Reshape Reshape ScatterElements Reshape" },
        { 16001, false, "ScatterND" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Graph *g = graph_of(*state);
        legalised(g, rows_summed(g, cases[i].rows), 18, cases[i].ort);
        assert_ops(g, cases[i].want);
    }
}

/* ONNX Runtime makes FastGelu of it, whose kernel wants an axis. */
static void the_gelu_of_a_number_has_an_axis(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, 0);
    legalised(g, ox_g(g, "Tanh", ox_g(g, "Mul", x, x)), 18, true);
    assert_ops(g, "Mul Reshape Tanh Squeeze");
    g = graph_of(*state);
    legalised(g, ox_g(g, "Tanh", input(g, "x", DT_FLOAT, 0)), 18, true);
    assert_ops(g, "Tanh");
}

/* (c - mean(c)) ** 2, of c = x or of c = Cast(x). */
static Ox variance(Graph *g, DType of)
{
    Ox c = ox_cast(g, input(g, "x", of, 2), DT_FLOAT);
    Ox mean = ox_g(g, "ReduceMean", c, ox_ints(g, (int64_t[]){ -1 }, 1));
    return ox_g(g, "Pow", ox_g(g, "Sub", c, mean), ox_number(g, DT_FLOAT, 2));
}

/* ONNX Runtime would make a LayerNormalization of integers. */
static void the_square_in_a_norm_of_casted_numbers_is_a_product(void **state)
{
    static const struct Case {
        DType of;
        bool ort;
        const char *want;
    } cases[] = {
        { DT_INT64, true, "Cast ReduceMean Sub Mul" },
        { DT_INT64, false, "Cast ReduceMean Sub Pow" },
        { DT_FLOAT, true, "ReduceMean Sub Pow" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Graph *g = graph_of(*state);
        legalised(g, variance(g, cases[i].of), 18, cases[i].ort);
        assert_ops(g, cases[i].want);
    }
}

/* ONNX Runtime finds a norm by the Pow, and rounds the epsilon of doubles to float32. */
static void the_square_in_a_norm_of_doubles_is_a_product(void **state)
{
    static const struct Case {
        const char *op;
        DType of;
        const char *want;
    } cases[] = {
        { "LayerNormalization", DT_FLOAT, "ReduceMean Sub Pow ReduceMean Add Sqrt Div Mul" },
        { "LayerNormalization", DT_DOUBLE, "ReduceMean Sub Mul ReduceMean Add Sqrt Div Mul" },
        { "RMSNormalization", DT_FLOAT, "Pow ReduceMean Add Sqrt Div Mul Mul" },
        { "RMSNormalization", DT_DOUBLE, "Mul ReduceMean Add Sqrt Div Mul Mul" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Graph *g = graph_of(*state);
        Ox x = input(g, "x", cases[i].of, 3);
        legalised(g, ox_g(g, cases[i].op, x, input(g, "s", cases[i].of, 1)), 13, true);
        assert_ops(g, cases[i].want);
    }
}

/* ONNX Runtime has kernels of them for float32 alone. */
static void slopes_of_doubles_are_a_choice(void **state)
{
    static const struct {
        bool ort;
        DType of;
        const char *want;
    } cases[] = {
        { true, DT_FLOAT, "PRelu LeakyRelu" },
        { true, DT_DOUBLE, "Less Mul Where Less Mul Where" },
        { false, DT_DOUBLE, "PRelu LeakyRelu" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Graph *g = graph_of(*state);
        Ox x = input(g, "x", cases[i].of, 2);
        Ox y = ox_g(g, "PRelu", x, input(g, "s", cases[i].of, 1));
        legalised(g, ox_g_with(g, "LeakyRelu", INPUTS(y), FLOAT("alpha", 0.5)), 13, cases[i].ort);
        assert_ops(g, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_rule_applies_below_its_opset),
        TEST(what_is_made_is_legal),
        TEST(axes_of_reductions_are_counted_from_the_front),
        TEST(softmax_of_the_last_axis_stays),
        TEST(ints_are_compared_not_cast),
        TEST(nothing_is_one_divided_by_an_int),
        TEST(refusals_name_the_opset),
        TEST(a_type_that_comes_later_is_refused),
        TEST(a_newer_version_without_a_kernel_is_refused),
        TEST(casts_go_around_what_has_no_kernel),
        TEST(casts_go_around_what_is_expanded),
        TEST(subgraphs_are_legalised_too),
        TEST(groups_beyond_the_heap_limit_are_an_error),
        TEST(places_that_may_repeat_are_no_scatter_nd),
        TEST(sums_of_rows_are_work_for_one_thread),
        TEST(the_gelu_of_a_number_has_an_axis),
        TEST(the_square_in_a_norm_of_casted_numbers_is_a_product),
        TEST(the_square_in_a_norm_of_doubles_is_a_product),
        TEST(slopes_of_doubles_are_a_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
