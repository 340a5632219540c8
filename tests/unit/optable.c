/* Unit tests of onnx/optable.c and the generated facts: complete, consistent, and answers that the
 * ONNX documentation gives. */
#include "unit/test.h"

#include "onnx/fold/fold.h"
#include "onnx/infer/infer.h"

static void complete_and_sorted(void **state)
{
    Ctx *cx = *state;
    assert_int_equal(onnx_facts_count, 203);
    for (int i = 0; i < onnx_facts_count; i++) {
        const OnnxOp *op = onnx_op_at(cx, i);
        assert_non_null(op);
        assert_ptr_equal(onnx_op(cx, op->name), op);
        assert_true(i == 0 || strcmp(onnx_op_at(cx, i - 1)->name, op->name) < 0);
    }
    assert_null(onnx_op_at(cx, onnx_facts_count));
    assert_null(onnx_op(cx, "NoSuchOperator"));
}

static bool type_is_named(const OpVersion *v, const char *name)
{
    for (int i = 0; i < v->n_type; i++)
        if (strcmp(v->type[i].name, name) == 0)
            return true;
    return false;
}

/* Versions rise, arities hold their formal arguments, every argument's type is one of the
 * constraints. */
static void consistent(void **state)
{
    Ctx *cx = *state;
    for (int i = 0; i < onnx_facts_count; i++) {
        const OnnxOp *op = onnx_op_at(cx, i);
        for (int k = 0; k < op->n_version; k++) {
            const OpVersion *v = &op->version[k];
            assert_true(k == 0 || op->version[k - 1].since < v->since);
            assert_true(v->min_in <= v->max_in && v->min_out <= v->max_out);
            assert_true(v->max_in == 255 || v->max_in == v->n_in);
            for (int a = 0; a < v->n_in; a++)
                assert_true(type_is_named(v, v->in[a].type));
            for (int a = 0; a < v->n_out; a++)
                assert_true(type_is_named(v, v->out[a].type));
        }
    }
}

static void every_row_names_an_operator(void **state)
{
    Ctx *cx = *state;
    static const InferRow *const rows[] = { infer_elementwise, infer_shape, infer_index,
                                            infer_reduce,      infer_nn,    infer_linalg,
                                            infer_control,     infer_misc,  infer_text };
    for (size_t i = 0; i < COUNT(rows); i++)
        for (const InferRow *r = rows[i]; r->op; r++) {
            const OnnxOp *op = onnx_op(cx, r->op);
            if (!op || op->infer != r->fn)
                fail_msg("%s: no such operator, or two rows", r->op);
        }
}

static void versions(void **state)
{
    Ctx *cx = *state;
    const OnnxOp *resize = onnx_op(cx, "Resize");
    assert_null(onnx_version(resize, 9));
    assert_int_equal(onnx_version(resize, 10)->since, 10);
    assert_int_equal(onnx_version(resize, 12)->since, 11);
    assert_int_equal(onnx_version(resize, 26)->since, 19);
    assert_true(onnx_version(onnx_op(cx, "Upsample"), 18)->deprecated);
    const OpVersion *gelu = onnx_version(onnx_op(cx, "Gelu"), 20);
    assert_string_equal(gelu->attr[0].name, "approximate");
    assert_string_equal(gelu->attr[0].deflt, "none");
}

static void defaults(void **state)
{
    Ctx *cx = *state;
    const OpVersion *leaky = onnx_version(onnx_op(cx, "LeakyRelu"), 16);
    const OpVersion *gemm = onnx_version(onnx_op(cx, "Gemm"), 13);
    const OpVersion *gelu = onnx_version(onnx_op(cx, "Gelu"), 20);
    const OpVersion *conv = onnx_version(onnx_op(cx, "Conv"), 22);
    assert_null(onnx_attr(gemm, "perm"));
    assert_null(onnx_attr(NULL, "perm"));
    assert_int_equal(onnx_default(cx, onnx_attr(gemm, "transA")).i, 0);
    assert_true(onnx_default(cx, onnx_attr(gelu, "approximate")).s == str_of(cx, "none"));
    assert_int_equal(onnx_default(cx, onnx_attr(conv, "strides")).kind, ATTR_NONE);
    const FormalAttr *alpha = onnx_attr(leaky, "alpha");
    const FormalAttr *trans = onnx_attr(gemm, "transA");
    const FormalAttr *approximate = onnx_attr(gelu, "approximate");
    assert_true(onnx_says_default(cx, alpha, &FLOAT("alpha", 0.01))); /* ONNX says 0.00999999978 */
    assert_false(onnx_says_default(cx, alpha, &FLOAT("alpha", 0.011)));
    assert_false(onnx_says_default(cx, alpha, &INT("alpha", 0)));
    assert_true(onnx_says_default(cx, trans, &INT("transA", 0)));
    assert_false(onnx_says_default(cx, trans, &INT("transA", 1)));
    assert_false(onnx_says_default(cx, approximate, &STRING("approximate", str_of(cx, "tanh"))));
    assert_false(onnx_says_default(cx, NULL, &INT("transB", 0)));
}

static void types_taken(void **state)
{
    Ctx *cx = *state;
    const OnnxOp *max = onnx_op(cx, "Max");
    const OnnxOp *concat = onnx_op(cx, "Concat");
    const OnnxOp *reshape = onnx_op(cx, "Reshape");
    assert_false(onnx_takes(max, 11, 0, DT_INT64));
    assert_true(onnx_takes(max, 12, 0, DT_INT64));
    assert_true(onnx_takes(max, 13, 7, DT_BFLOAT16)); /* variadic */
    assert_true(onnx_takes(concat, 13, 2, DT_STRING));
    assert_true(onnx_takes(reshape, 18, 1, DT_INT64)); /* a concrete type */
    assert_false(onnx_takes(reshape, 18, 1, DT_INT32));
    assert_false(onnx_takes(reshape, 18, 2, DT_INT64));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(complete_and_sorted),
        TEST(consistent),
        TEST(every_row_names_an_operator),
        TEST(versions),
        TEST(defaults),
        TEST(types_taken),
    };
    return cmocka_run_group_tests_name("optable", tests, NULL, NULL);
}
