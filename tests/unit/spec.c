/* -i SPEC: what src/value/spec.c reads, and what it says about what it cannot. */
#include "test.h"

#include "value/options.h"

#include <math.h>

static InputSpec good(Ctx *cx, const char *text)
{
    InputSpec s;
    if (!spec_parse(cx, text, &s))
        fail_msg("%s: %s", text, cx->error.text->s);
    assert_string_equal(s.text->s, text);
    return s;
}

static void bad(const char *text, const char *message)
{
    InputSpec s;
    Ctx *mine = ctx_new();
    assert_false(spec_parse(mine, text, &s));
    assert_int_equal(mine->error.code, E_USAGE);
    assert_string_equal(mine->error.text->s, message);
    ctx_free(mine);
}

static void test_sizes_and_names(void **state)
{
    InputSpec s = good(*state, "x:float32[N,3,224,H]");
    assert_string_equal(s.path->s, "x");
    assert_false(s.is_value);
    assert_int_equal(s.dtype, DT_FLOAT);
    assert_int_equal(s.rank, 4);
    assert_int_equal(s.dim[0].kind, SPEC_NAME);
    assert_string_equal(s.dim[0].name->s, "N");
    assert_int_equal(s.dim[0].lo, 0);
    assert_true(s.dim[0].hi == DIM_MAX);
    assert_int_equal(s.dim[1].kind, SPEC_SIZE);
    assert_int_equal(s.dim[1].size, 3);
    assert_string_equal(s.dim[3].name->s, "H");
}

static void test_quantised(void **state)
{
    InputSpec s = good(*state, "x:quint8[N,3]");
    InputSpec plain = good(*state, "x:uint8[2]");
    assert_true(s.quantised);
    assert_int_equal(s.dtype, DT_UINT8);
    assert_int_equal(good(*state, "x:qint8[]").dtype, DT_INT8);
    assert_false(plain.quantised);
    bad("x:qint32[2]",
        "-i: there is no element type \"qint32\"; did you mean int32?\n    x:qint32[2]\n      ^");
}

static void test_ranges_and_unnamed(void **state)
{
    InputSpec s = good(*state, "x:int64[N=1..64,?,M=2..]");
    assert_int_equal(s.dtype, DT_INT64);
    assert_int_equal(s.dim[0].lo, 1);
    assert_int_equal(s.dim[0].hi, 64);
    assert_int_equal(s.dim[1].kind, SPEC_UNNAMED);
    assert_int_equal(s.dim[2].lo, 2);
    assert_true(s.dim[2].hi == DIM_MAX);
}

static void test_sums(void **state)
{
    InputSpec s = good(*state, "m:int64[N,past+length+1,K]");
    assert_int_equal(s.rank, 3);
    assert_int_equal(s.dim[1].kind, SPEC_SUM);
    assert_string_equal(s.dim[1].name->s, "past+length+1");
    assert_string_equal(s.dim[2].name->s, "K");
}

static void test_rank_zero_and_empty(void **state)
{
    assert_int_equal(good(*state, "x:float64[]").rank, 0);
    InputSpec s = good(*state, "x:bool[0]");
    assert_int_equal(s.rank, 1);
    assert_int_equal(s.dim[0].size, 0);
}

static void test_every_dtype(void **state)
{
    for (DType t = DT_FLOAT; t < DT_COUNT; t++) {
        char text[64];
        snprintf(text, sizeof text, "x:%s[1]", dtype_name(t));
        assert_int_equal(good(*state, text).dtype, t);
    }
    assert_int_equal(good(*state, "x:bfloat16[2]").dtype, DT_BFLOAT16);
    assert_int_equal(good(*state, "x:complex64[2]").dtype, DT_COMPLEX64);
}

static void test_short_form(void **state)
{
    InputSpec s = good(*state, "1x3x224x224");
    assert_null(s.path);
    assert_int_equal(s.dtype, DT_FLOAT);
    assert_int_equal(s.rank, 4);
    assert_int_equal(s.dim[3].size, 224);
    s = good(*state, "img:1x3");
    assert_string_equal(s.path->s, "img");
    assert_int_equal(s.rank, 2);
    assert_int_equal(good(*state, "7").rank, 1);
    assert_string_equal(good(*state, "0:float32[1]").path->s, "0");
}

static void test_leaves(void **state)
{
    assert_string_equal(good(*state, "batch.image:float32[1,3,8,8]").path->s, "batch.image");
    assert_string_equal(good(*state, "xs.0:float32[4]").path->s, "xs.0");
    assert_string_equal(good(*state, "cfg.scale=2").path->s, "cfg.scale");
}

static void test_values(void **state)
{
    InputSpec s = good(*state, "sr=16000");
    assert_true(s.is_value);
    assert_int_equal(s.value_kind, SPEC_INT);
    assert_int_equal(s.i, 16000);
    assert_int_equal(good(*state, "a=-3").i, -3);
    assert_true(good(*state, "a=-9223372036854775808").i == INT64_MIN);
    assert_int_equal(good(*state, "a=1.5").value_kind, SPEC_FLOAT);
    assert_true(good(*state, "a=1e-3").f == 1e-3);
    assert_true(isinf(good(*state, "a=-inf").f));
    assert_int_equal(good(*state, "a=True").value_kind, SPEC_BOOL);
    assert_int_equal(good(*state, "a=True").i, 1);
    assert_int_equal(good(*state, "a=False").i, 0);
    assert_int_equal(good(*state, "mask=None").value_kind, SPEC_NONE);
}

static void test_text_with_and_without_quotes(void **state)
{
    assert_int_equal(good(*state, "mode=fast").value_kind, SPEC_STR);
    assert_string_equal(good(*state, "mode=fast").s->s, "fast");
    assert_string_equal(good(*state, "mode=\"fast\"").s->s, "fast");
    assert_string_equal(good(*state, "mode='True'").s->s, "True");
    assert_int_equal(good(*state, "mode='True'").value_kind, SPEC_STR);
    assert_string_equal(good(*state, "mode=\"a\\\"b\\\\\"").s->s, "a\"b\\");
    assert_int_equal(good(*state, "mode=\"\"").s->len, 0);
}

static void test_messages(void **state)
{
    (void)state;
    bad("x:flot32[1]",
        "-i: there is no element type \"flot32\"; did you mean float32?\n    x:flot32[1]\n      ^");
    bad("x:long[1]",
        "-i: there is no element type \"long\"; did you mean int64?\n    x:long[1]\n      ^");
    bad("x:float32",
        "-i: the dimensions are missing: float32[N,3] has two, float32[] none\n    "
        "x:float32\n             ^");
    bad("x:float32[1,",
        "-i: a dimension is a number, a name (dynamic), or ?\n    x:float32[1,\n                ^");
    bad("x:float32[-1]",
        "-i: a size is not negative; write a name or ? for a dynamic dimension\n  "
        "  x:float32[-1]\n              ^");
    bad("x:float32[N=5..2]", "-i: the range is empty\n    x:float32[N=5..2]\n              ^");
    bad("x:float32[N=5]", "-i: a range is written N=1..64\n    x:float32[N=5]\n                 ^");
    bad("x:float32[99999999999999999999]",
        "-i: the number is too big\n    x:float32[99999999999999999999]\n              ^");
    bad("x",
        "-i: \":\" and a type, or \"=\" and a value, is expected after the name\n    x\n     ^");
    bad("",
        "-i: a name is expected: x:float32[N,3,224,224], batch.image:float32[4], sr=16000\n    "
        "\n    ^");
    bad("a..b=1",
        "-i: a dot stands between two parts of a name: batch.image, xs.0\n    a..b=1\n     ^");
    bad("x:float32[N+]", "-i: a number is expected\n    x:float32[N+]\n                ^");
    bad("x:float32[N+1=2..3]",
        "-i: \",\" or \"]\" is expected\n    x:float32[N+1=2..3]\n                 ^");
    bad("x:float32[1]]", "-i: nothing more is expected here\n    x:float32[1]]\n                ^");
    bad("a=true",
        "-i: Python writes True, False and None; text of this spelling stands in "
        "quotes\n    a=true\n      ^");
    bad("a=[1,2]",
        "-i: lists, tuples and dicts are given leaf by leaf: sizes.0=4 and sizes.1=8\n  "
        "  a=[1,2]\n      ^");
    bad("a=", "-i: a value is expected after \"=\"; empty text is written \"\"\n    a=\n      ^");
    bad("a=\"b", "-i: the text has no closing quote\n    a=\"b\n      ^");
    bad("a=9223372036854775808",
        "-i: the number does not fit 64 bits\n    a=9223372036854775808\n      ^");
    bad("1x3x", "-i: a number is expected\n    1x3x\n        ^");
    bad("\xc3\xa4:foo[1]", "-i: there is no element type \"foo\"\n    \xc3\xa4:foo[1]\n      ^");
}

static void test_too_many_dimensions(void **state)
{
    (void)state;
    char text[256] = "x:int8[1";
    for (int i = 0; i < MAX_RANK; i++)
        strcat(text, ",1");
    strcat(text, "]");
    InputSpec s;
    Ctx *cx = *state;
    assert_false(spec_parse(cx, text, &s));
    assert_non_null(strstr(cx->error.text->s, "more than 32 dimensions"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_sizes_and_names),
        TEST(test_quantised),
        TEST(test_ranges_and_unnamed),
        TEST(test_sums),
        TEST(test_rank_zero_and_empty),
        TEST(test_every_dtype),
        TEST(test_short_form),
        TEST(test_leaves),
        TEST(test_values),
        TEST(test_text_with_and_without_quotes),
        TEST(test_messages),
        TEST(test_too_many_dimensions),
    };
    return cmocka_run_group_tests_name("spec", tests, NULL, NULL);
}
