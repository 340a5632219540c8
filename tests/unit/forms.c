/* Unit tests of onnx/forms.c: nodes taken to older forms and users' fragments lifted back, both as
 * text. */
#include "unit/test.h"

#include "onnx/onnx.h"

static Graph *graph(Ctx *cx) { return graph_new(cx, NULL, str_of(cx, "g")); }

static Ox input(Graph *g, const char *name, int rank, const int64_t *dims)
{
    return graph_input(g, str_of(g->cx, name), type_of_ints(g->cx, DT_FLOAT, rank, dims));
}
#define DIMS(...) \
    (const int64_t[]) { __VA_ARGS__ }

/* The last node, after form_lower, as it stands in the text of its graph. */
static void lowered(Graph *g, int opset, const char *want)
{
    Node *n = g->nodes.at[g->nodes.n - 1];
    assert_true(form_lower(g, n, opset));
    assert_false(ctx_failed(g->cx));
    const char *text = graph_text(g)->s;
    const char *at = strstr(text, want);
    if (!at)
        fail_msg("opset %d: %s is not in\n%s", opset, want, text);
}

static void refused(Graph *g, int opset, const char *text, const char *hint)
{
    Ctx *cx = g->cx;
    assert_false(form_lower(g, g->nodes.at[g->nodes.n - 1], opset));
    assert_int_equal(cx->refusals.n, 1);
    assert_string_equal(cx->refusals.at[0].text->s, text);
    assert_string_equal(cx->refusals.at[0].hint->s, hint);
}

static void axes_become_attributes(void **state)
{
    Graph *g = graph(*state);
    Ox x = input(g, "x", 3, DIMS(2, 3, 4));
    ox_g_with(g, "ReduceMean", INPUTS(x, ox_ints(g, DIMS(-1), 1)), INT("keepdims", 0));
    lowered(g, 18, "ReduceMean<keepdims=0>(%x, {-1}: int64[1])");
    lowered(g, 13, "ReduceMean<keepdims=0, axes=[-1]>(%x)");
    ox_g(g, "ReduceSum", x, ox_ints(g, DIMS(1, -1), 2));
    lowered(g, 13, "ReduceSum(%x, {1, -1}: int64[2])");
    lowered(g, 9, "ReduceSum<axes=[1, 2]>(%x)"); /* no negative axes before 11 */
}

static void clip_and_pad(void **state)
{
    Graph *g = graph(*state);
    Ox x = input(g, "x", 2, DIMS(2, 3));
    ox_g(g, "Clip", x, NULL, ox_number(g, DT_FLOAT, 6));
    lowered(g, 9, "Clip<max=6>(%x)");
    ox_g(g, "Pad", x, ox_ints(g, DIMS(1, 2), 2), ox_number(g, DT_FLOAT, 5),
         ox_ints(g, DIMS(-1), 1));
    lowered(g, 13, "Pad(%x, {0, 1, 0, 2}: int64[4], {5}: float32[])");
    lowered(g, 9, "Pad<pads=[0, 1, 0, 2], value=5>(%x)");
}

static void split_counts_its_parts(void **state)
{
    Graph *g = graph(*state);
    Ox x = input(g, "x", 2, DIMS(2, 7)), out[3];
    assert_true(
        ox_make_n(g, "Split", INPUTS(x), ATTRS(INT("axis", 1), INT("num_outputs", 3)), out, 3));
    lowered(g, 13, "Split<axis=1>(%x, {3, 3, 1}: int64[3])");
    lowered(g, 11, "Split<axis=1, split=[3, 3, 1]>(%x)");
}

static void max_pool_ceil_is_padding(void **state)
{
    Graph *g = graph(*state);
    Ox x = input(g, "x", 4, DIMS(1, 1, 8, 7));
    const int64_t kernel[] = { 3, 3 };
    const int64_t strides[] = { 2, 2 };
    ox_g_with(g, "MaxPool", INPUTS(x), INT_LIST("kernel_shape", kernel, 2),
              INT_LIST("strides", strides, 2), INT("ceil_mode", 1));
    lowered(g, 10, "ceil_mode=1>(%x)");
    lowered(g, 9, "MaxPool<kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 0]>(%x)");
}

static void gemm_and_scatter(void **state)
{
    Graph *g = graph(*state);
    Ox x = input(g, "x", 2, DIMS(2, 2));
    ox_g(g, "Gemm", x, x);
    lowered(g, 9, "Gemm(%x, %x, {0}: float32[])");
    Ox i = graph_input(g, str_of(g->cx, "i"), type_of_ints(g->cx, DT_INT64, 2, DIMS(2, 2)));
    ox_g_with(g, "ScatterElements", INPUTS(x, i, x), INT("axis", 0));
    lowered(g, 9, "Scatter<axis=0>(%x, %i, %x)");
}

static void later_attributes(void **state)
{
    Graph *g = graph(*state);
    Ox x = input(g, "x", 1, DIMS(2));
    Ox i = graph_input(g, str_of(g->cx, "i"), type_of_ints(g->cx, DT_INT64, 1, DIMS(2)));
    ox_g_with(g, "ScatterElements", INPUTS(x, i, x), STRING("reduction", str_of(g->cx, "none")));
    lowered(g, 13, "ScatterElements(%x, %i, %x)");
    ox_g_with(g, "ScatterElements", INPUTS(x, i, x), STRING("reduction", str_of(g->cx, "add")));
    refused(g, 13, "ScatterElements with reduction add needs ONNX opset 16, the target is 13",
            "--opset 16");
}

static void before_its_first_opset(void **state)
{
    Graph *g = graph(*state);
    ox_g(g, "Mish", input(g, "x", 1, DIMS(2)));
    refused(g, 17, "Mish needs ONNX opset 18, the target is 17", "--opset 18");
}

static Ox lift(Graph *g, const char *op, int opset, OxList in, const Attr *attr, size_t n)
{
    Ox out = POISON;
    assert_true(form_lift(g, str_of(g->cx, op), opset, in, attr, n, &out, 1));
    graph_output(g, out, NULL);
    return out;
}

/* What users of opset 9 to 12 write in g.op("Clip", x, min_f=0.) */
static void fragments_are_lifted(void **state)
{
    Graph *g = graph(*state);
    Ox x = input(g, "x", 2, DIMS(2, 3));
    lift(g, "Clip", 9, INPUTS(x), ATTRS(FLOAT("min", 0), FLOAT("max", 6)));
    lift(g, "Unsqueeze", 11, INPUTS(x), ATTRS(INT_LIST("axes", DIMS(0), 1)));
    lift(g, "Slice", 9, INPUTS(x),
         ATTRS(INT_LIST("starts", DIMS(1), 1), INT_LIST("ends", DIMS(2), 1),
               INT_LIST("axes", DIMS(1), 1)));
    const char *text = graph_text(g)->s;
    assert_non_null(strstr(text, "Clip(%x, {0}: float32[], {6}: float32[])"));
    assert_non_null(strstr(text, "Unsqueeze(%x, {0}: int64[1])"));
    assert_non_null(
        strstr(text, "float32[2,1] = Slice(%x, {1}: int64[1], {2}: int64[1], {1}: int64[1])"));
}

static void fragment_of_the_wrong_kind(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph(cx);
    Ox x = input(g, "x", 2, DIMS(2, 3)), out;
    assert_false(
        form_lift(g, str_of(cx, "Unsqueeze"), 11, INPUTS(x), ATTRS(INT("axes", 0)), &out, 1));
    assert_string_equal(cx->error.text->s, "Unsqueeze: attribute axes has the wrong type");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(axes_become_attributes),     TEST(clip_and_pad),
        TEST(split_counts_its_parts),     TEST(max_pool_ceil_is_padding),
        TEST(gemm_and_scatter),           TEST(later_attributes),
        TEST(before_its_first_opset),     TEST(fragments_are_lifted),
        TEST(fragment_of_the_wrong_kind),
    };
    return cmocka_run_group_tests_name("forms", tests, NULL, NULL);
}
