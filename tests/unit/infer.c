/* Unit tests of onnx/infer_*.c: symbolic sizes, contents, and types that come from subgraphs. What
 * each operator gives on plain sizes is tests/python/test_infer_fold.py. */
#include "unit/test.h"
#include "unit/graphs.h"

#define x_of(g, shape) input((g), "x", DT_FLOAT, (shape))

/* The type of v as text; for dims and constants their items too. */
static const char *shown(Ctx *cx, Ox v)
{
    Buf b = buf_new(cx);
    if (!ox_ok(v))
        return ctx_failed(cx) ? cx->error.text->s : "poison";
    buf_str(&b, type_text(cx, v->type)->s);
    for (int64_t i = 0; v->items && i < v->n_items; i++)
        buf_fmt(&b, "%s%s", i ? ", " : " = ", v->items[i] ? dim_text(cx, v->items[i])->s : "?");
    return buf_done(&b)->s;
}

#define gives(v, text) assert_string_equal(shown(*state, (v)), (text))

static Ox dims(Graph *g, const char *a, const char *b)
{
    Dim d[2] = { dim_parse(g->cx, a, strlen(a)), b ? dim_parse(g->cx, b, strlen(b)) : NULL };
    return ox_dims(g, d, b ? 2 : 1);
}

static Ox one_int(Graph *g, int64_t v) { return ox_ints(g, &v, 1); }

/* ---- broadcasting ---- */

static void a_known_size_wins_over_one(void **state)
{
    Graph *g = graph_of(*state);
    gives(ox_g(g, "Add", x_of(g, "N;1;3"), input(g, "y", DT_FLOAT, "4;3")), "float32[N,4,3]");
}

static void sizes_that_differ_are_told_in_pytorchs_words(void **state)
{
    Graph *g = graph_of(*state);
    gives(ox_g(g, "Mul", x_of(g, "2;3"), input(g, "y", DT_FLOAT, "4")),
          "Mul: The size of tensor a (3) must match the size of tensor b (4) at non-singleton "
          "dimension 1");
}

static void unknown_rank_stays_unknown(void **state)
{
    Graph *g = graph_of(*state);
    Ox any = graph_input(g, str_of(*state, "y"), type_tensor(*state, DT_FLOAT, -1, NULL));
    gives(ox_g(g, "Add", x_of(g, "2;3"), any), "float32[?]");
    gives(ox_g(g, "Relu", any), "float32[?]");
}

/* ---- contents ---- */

static void sizes_go_through_arithmetic(void **state)
{
    Graph *g = graph_of(*state);
    Ox shape = ox_g(g, "Shape", x_of(g, "N;3;H"));
    gives(shape, "int64[3] = N, 3, H");
    Ox n = ox_g(g, "Gather", shape, ox_int(g, 0));
    Ox h = ox_g(g, "Gather", shape, ox_int(g, -1));
    gives(n, "int64[] = N");
    Ox twice = ox_g(g, "Mul", n, ox_int(g, 2));
    gives(ox_g(g, "Add", twice, ox_int(g, 1)), "int64[] = 2*N + 1");
    gives(ox_g(g, "Div", h, ox_int(g, 16)), "int64[] = H//16");
    Ox axes = one_int(g, 0);
    Ox up = ox_g(g, "Unsqueeze", n, axes);
    gives(ox_g_with(g, "Concat", INPUTS(up, one_int(g, -1)), INT("axis", 0)), "int64[2] = N, -1");
    assert_int_equal(g->nodes.n, 0); /* arithmetic of sizes needs no nodes */
}

static void division_below_zero_is_not_guessed(void **state)
{
    Graph *g = graph_of(*state);
    Ox n = ox_g(g, "Gather", ox_g(g, "Shape", x_of(g, "N")), ox_int(g, 0));
    Ox maybe_negative = ox_g(g, "Sub", n, ox_int(g, 5));
    Ox half = ox_g(g, "Div", maybe_negative, ox_int(g, 2));
    assert_int_equal(half->kind, OX_NODE); /* it truncates: only floor is in the language of dims */
    gives(half, "int64[]");
    gives(ox_g(g, "Mod", maybe_negative, ox_int(g, 2)), "int64[] = (N + 1)%2"); /* Mod does floor */
}

static void one_unknown_item_leaves_the_others(void **state)
{
    Graph *g = graph_of(*state);
    Ox data = input(g, "k", DT_INT64, "1");
    Ox mixed = ox_g_with(g, "Concat", INPUTS(data, dims(g, "N", NULL)), INT("axis", 0));
    gives(mixed, "int64[2] = ?, N");
    gives(ox_g(g, "Reshape", x_of(g, "N;6"), mixed), "float32[u0,N]");
    gives(ox_g(g, "Gather", mixed, ox_int(g, 1)), "int64[] = N");
}

/* As many as a mixture of 300 experts has groups of rows. */
static void too_many_sizes_to_add_are_one_that_data_decides(void **state)
{
    Graph *g = graph_of(*state);
    Ox part[300];
    for (int i = 0; i < 300; i++) {
        char name[8], shape[12];
        snprintf(name, sizeof name, "x%d", i);
        snprintf(shape, sizeof shape, "N%d;3", i);
        part[i] = input(g, name, DT_FLOAT, shape);
    }
    gives(ox_g_with(g, "Concat", ((OxList){ part, 3 }), INT("axis", 0)), "float32[N0 + N1 + N2,3]");
    gives(ox_g_with(g, "Concat", ((OxList){ part, 300 }), INT("axis", 0)), "float32[u0,3]");
}

static void numbers_wrap_like_int64(void **state)
{
    Graph *g = graph_of(*state);
    gives(ox_g(g, "Add", ox_int(g, INT64_MAX), ox_int(g, 1)), "int64[] = -9223372036854775808");
    gives(ox_g(g, "Div", ox_int(g, -7), ox_int(g, 2)), "int64[] = -3");
    gives(ox_g(g, "Mod", ox_int(g, -7), ox_int(g, 2)), "int64[] = 1");
}

static void products_and_ranges(void **state)
{
    Graph *g = graph_of(*state);
    Ox shape = ox_g(g, "Shape", x_of(g, "N;3;H"));
    gives(ox_g_with(g, "ReduceProd", INPUTS(shape), INT("keepdims", 0)), "int64[] = 3*N*H");
    gives(ox_g(g, "Size", x_of(g, "N;3")), "int64[] = 3*N");
    gives(ox_g(g, "Range", ox_int(g, 0), ox_int(g, 3), ox_int(g, 1)), "int64[3] = 0, 1, 2");
    Ox n = ox_g(g, "Gather", shape, ox_int(g, 0));
    gives(ox_g(g, "Range", ox_int(g, 0), n, ox_int(g, 1)), "int64[N]");
}

/* ---- Reshape ---- */

static void minus_one_is_what_is_left(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = x_of(g, "N;3;4");
    gives(ox_g(g, "Reshape", x, dims(g, "N", "-1")), "float32[N,12]");
    gives(ox_g(g, "Reshape", x, dims(g, "0", "-1")), "float32[N,12]");
    gives(ox_g(g, "Reshape", x, dims(g, "-1", "6")), "float32[2*N,6]");
    gives(ox_g(g, "Flatten", x), "float32[N,12]");
}

static void a_wrong_count_is_refused(void **state)
{
    Graph *g = graph_of(*state);
    gives(ox_g(g, "Reshape", x_of(g, "2;3"), dims(g, "4", "-1")),
          "Reshape: shape [4, ?] is invalid for input of size 6");
}

/* ---- Slice ---- */

static void slices_of_symbolic_sizes(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = x_of(g, "N;8");
    Ox zero = one_int(g, 0);
    Ox one = one_int(g, 1);
    Ox last = one_int(g, -1);
    Ox end = one_int(g, INT64_MAX);
    Ox begin = one_int(g, INT64_MIN);
    gives(ox_g(g, "Slice", x, zero, end, zero), "float32[N,8]");
    gives(ox_g(g, "Slice", x, zero, one, one), "float32[N,1]");
    gives(ox_g(g, "Slice", x, one, last, one), "float32[N,6]");
    gives(ox_g(g, "Slice", x, last, begin, zero, last), "float32[N,8]");
    gives(ox_g(g, "Slice", x, zero, end, one, one_int(g, 3)), "float32[N,3]");
    gives(ox_g(g, "Slice", x, zero, dims(g, "M", NULL), one), "float32[N,min(M, 8)]");
}

static void an_empty_axis_stays_empty(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = x_of(g, "0;2");
    Ox last = one_int(g, -1);
    Ox begin = one_int(g, INT64_MIN);
    Ox zero = one_int(g, 0);
    gives(ox_g(g, "Slice", x, last, begin, zero, last), "float32[0,2]");
}

/* ---- data decides ---- */

static void a_size_from_data_is_a_symbol_with_an_origin(void **state)
{
    Graph *g = graph_of(*state);
    Ox v = ox_g(g, "NonZero", x_of(g, "N;3")), from;
    int axis;
    gives(v, "int64[2,u0]");
    assert_true(dim_origin(*state, ox_dim(v, 1), &from, &axis));
    assert_ptr_equal(from, v);
    assert_int_equal(axis, 1);
    assert_int_equal(
        dim_le(*state, ox_dim(v, 1),
               dim_mul(*state, dim_sym(*state, str_of(*state, "N")), dim_int(*state, 3))),
        UNKNOWN);
}

/* ---- windows ---- */

static void a_convolution_keeps_symbols(void **state)
{
    Graph *g = graph_of(*state);
    Ox w = input(g, "w", DT_FLOAT, "8;3;3;3");
    const int64_t ones[] = { 1, 1, 1, 1 };
    const int64_t two[] = { 2, 2 };
    gives(ox_g_with(g, "Conv", INPUTS(x_of(g, "N;3;H;W"), w), INT_LIST("pads", ones, 4)),
          "float32[N,8,H,W]");
    gives(ox_g_with(g, "Conv", INPUTS(x_of(g, "N;3;H;32"), w), INT_LIST("pads", ones, 4),
                    INT_LIST("strides", two, 2)),
          "float32[N,8,(H + 1)//2,16]");
}

static void channels_that_differ_are_an_error(void **state)
{
    Graph *g = graph_of(*state);
    Ox y = ox_g(g, "Conv", x_of(g, "N;4;8;8"), input(g, "w", DT_FLOAT, "8;3;3;3"));
    assert_ptr_equal(y, POISON);
    assert_non_null(
        strstr(((Ctx *)*state)->error.text->s, "to have 3 channels, but got 4 channels instead"));
}

static void a_number_has_no_axis_to_be_normalised(void **state)
{
    static const char *const names[] = { "LayerNormalization", "RMSNormalization" };
    for (size_t i = 0; i < COUNT(names); i++) {
        Ctx *cx = ctx_new();
        Graph *g = graph_of(cx);
        Ox y = ox_g(g, names[i], input(g, "x", DT_FLOAT, ""), input(g, "w", DT_FLOAT, ""));
        assert_ptr_equal(y, POISON);
        assert_non_null(strstr(cx->error.text->s, "axis -1 is out of range for rank 0"));
        ctx_free(cx);
    }
    (void)state;
}

static void an_unknown_channel_becomes_known(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = ox_g(g, "Compress", x_of(g, "4;4"), input(g, "c", DT_BOOL, "16")), shaped;
    shaped = ox_g(g, "Reshape", x, dims(g, "1", "-1"));
    gives(ox_g(g, "MatMul", shaped, input(g, "w", DT_FLOAT, "5;2")), "float32[1,2]");
    assert_true(dim_is(ox_dim(shaped, 1), 5) ||
                dim_eq(*state, ox_dim(shaped, 1), dim_int(*state, 5)) == YES);
}

/* ---- subgraphs ---- */

static Graph *branch(Graph *g, Ox (*make)(Graph *, Ox), Ox x)
{
    Graph *a = graph_new(g->cx, g, str_of(g->cx, "arm"));
    graph_output(a, make(a, x), NULL);
    return a;
}

static Ox as_it_is(Graph *g, Ox x) { return ox_g(g, "Relu", x); }
static Ox first_rows(Graph *g, Ox x)
{
    return ox_g(g, "Slice", x, one_int(g, 0), one_int(g, 2), one_int(g, 0));
}
static Ox of_doubles(Graph *g, Ox x) { return ox_cast(g, x, DT_DOUBLE); }
static Ox inner_size(Graph *g, Ox x)
{
    return ox_g(g, "Compress", x, input(graph_root(g), "c", DT_BOOL, "12"));
}

static Ox either(Graph *g, Ox (*yes)(Graph *, Ox), Ox (*no)(Graph *, Ox))
{
    Ox x = x_of(g, "4;3");
    Ox cond = input(g, "cond", DT_BOOL, "");
    return ox_g_with(g, "If", INPUTS(cond), SUBGRAPH("then_branch", branch(g, yes, x)),
                     SUBGRAPH("else_branch", branch(g, no, x)));
}

static void arms_are_joined(void **state)
{
    Graph *g = graph_of(*state);
    gives(either(g, as_it_is, as_it_is), "float32[4,3]");
    gives(either(g, as_it_is, first_rows), "float32[u0,3]");
}

static void arms_of_two_types_are_refused(void **state)
{
    Graph *g = graph_of(*state);
    gives(either(g, as_it_is, of_doubles), "If: output 0 is float32 or float64");
}

static void a_size_of_an_arm_is_not_seen_outside(void **state)
{
    Graph *g = graph_of(*state);
    Ox v = either(g, inner_size, inner_size), from;
    int axis;
    assert_int_equal(ox_rank(v), 1);
    assert_true(dim_origin(*state, ox_dim(v, 0), &from, &axis));
    assert_ptr_equal(from, v); /* this output, not the node inside */
}

/* for i in range(iterations): x = f(x); ys.append(x) */
static void loop(Graph *g, Ox (*step)(Graph *, Ox), const char *carried, Ox *out)
{
    Graph *body = graph_new(g->cx, g, str_of(g->cx, "body"));
    graph_input(body, str_of(g->cx, "i"), type_of(g->cx, DT_INT64, ""));
    Ox go = graph_input(body, str_of(g->cx, "go"), type_of(g->cx, DT_BOOL, ""));
    Ox x = graph_input(body, str_of(g->cx, "v"), type_of(g->cx, DT_FLOAT, carried));
    Ox y = step(body, x);
    graph_output(body, go, NULL);
    graph_output(body, y, NULL);
    graph_output(body, y, NULL);
    Ox iterations = ox_int(g, 5);
    Ox yes = ox_bool(g, true);
    Ox start = x_of(g, "4;3");
    Attr attr = SUBGRAPH("body", body);
    ox_make_n(g, "Loop", INPUTS(iterations, yes, start), &attr, 1, out, 2);
}

static void a_loop_that_never_stops_early_counts_its_trips(void **state)
{
    Graph *g = graph_of(*state);
    Ox out[2];
    loop(g, as_it_is, "4;3", out);
    gives(out[0], "float32[4,3]");
    gives(out[1], "float32[5,4,3]");
}

static void carried_sizes_that_change_are_open(void **state)
{
    Graph *g = graph_of(*state);
    Ox out[2];
    loop(g, first_rows, "R;3", out);
    gives(out[0], "float32[u0,3]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_known_size_wins_over_one),
        TEST(sizes_that_differ_are_told_in_pytorchs_words),
        TEST(unknown_rank_stays_unknown),
        TEST(sizes_go_through_arithmetic),
        TEST(division_below_zero_is_not_guessed),
        TEST(one_unknown_item_leaves_the_others),
        TEST(too_many_sizes_to_add_are_one_that_data_decides),
        TEST(numbers_wrap_like_int64),
        TEST(products_and_ranges),
        TEST(minus_one_is_what_is_left),
        TEST(a_wrong_count_is_refused),
        TEST(slices_of_symbolic_sizes),
        TEST(an_empty_axis_stays_empty),
        TEST(a_size_from_data_is_a_symbol_with_an_origin),
        TEST(a_convolution_keeps_symbols),
        TEST(channels_that_differ_are_an_error),
        TEST(a_number_has_no_axis_to_be_normalised),
        TEST(an_unknown_channel_becomes_known),
        TEST(arms_are_joined),
        TEST(arms_of_two_types_are_refused),
        TEST(a_size_of_an_arm_is_not_seen_outside),
        TEST(a_loop_that_never_stops_early_counts_its_trips),
        TEST(carried_sizes_that_change_are_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
