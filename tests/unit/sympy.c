/* sympy.c - sizes of a .pt2 in both forms of text, understood whole or not at all. */
#include "unit/test.h"

#include "front/internal.h"

static const char *dim_of(Ctx *cx, const char *text)
{
    Dim d = sympy_dim(cx, str_of(cx, text));
    return d ? dim_text(cx, d)->s : NULL;
}

#define N "Symbol('s77', positive=True, integer=True)"
#define U "Symbol('u0', integer=True)"

static void sizes_that_are_understood(void **state)
{
    Ctx *cx = *state;
    static const struct {
        const char *text, *like;
    } cases[] = {
        { N, "s77" },
        { "s77", "s77" },
        { "Symbol(\"s77\")", "s77" },
        { "Symbol('s77', integer=True, positive=True)", "s77" },
        { "Integer(5)", "5" },
        { "Integer(-5)", "-5" },
        { "5", "5" },
        { "Add(" N ", Integer(1))", "s77 + 1" },
        { "Add(Mul(Integer(2), " N "), Integer(-1))", "2*s77 - 1" },
        { "2*s77 - 1", "2*s77 - 1" },
        { "Add(" N ", " U ", Integer(3))", "s77 + u0 + 3" },
        { "Mul(Integer(-1), " N ")", "-s77" },
        { "-s77", "-s77" },
        { "Pow(" N ", Integer(2))", "s77*s77" },
        { "s77**2", "s77*s77" },
        { "PowByNatural(" N ", Integer(2))", "s77*s77" },
        { "FloorDiv(" N ", Integer(2))", "s77//2" },
        { "s77//2", "s77//2" },
        { "floor(s77/2)", "s77//2" },
        { "floor(Mul(Rational(1, 2), " N "))", "s77//2" },
        { "((s77 - 1)//2) + 1", "(s77 - 1)//2 + 1" },
        { "floor(s77/2 - 1/2) + 1", "(s77 - 1)//2 + 1" },
        { "Mul(Rational(1, 2), Mul(Integer(4), " N "))", "2*s77" },
        { "Mod(" N ", Integer(4))", "s77 % 4" },
        { "PythonMod(s77, 4)", "s77 % 4" },
        { "ModularIndexing(s77, 2, 3)", "(s77//2) % 3" },
        { "Max(Integer(1), " N ")", "max(1, s77)" },
        { "Min(" N ", " U ", Integer(7))", "min(s77, u0, 7)" },
        { "CleanDiv(Mul(Integer(4), " N "), Integer(2))", "2*s77" },
        { "Identity(s77)", "s77" },
        { "LShift(" N ", Integer(3))", "8*s77" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Dim got = sympy_dim(cx, str_of(cx, cases[i].text));
        Dim want = dim_parse(cx, cases[i].like, strlen(cases[i].like));
        assert_non_null(want);
        if (got != want)
            fail_msg("%s is %s", cases[i].text, got ? dim_text(cx, got)->s : "not understood");
    }
    assert_false(ctx_failed(cx));
}

static void a_ceiling_rounds_up(void **state)
{
    Ctx *cx = *state;
    Dim n = dim_sym(cx, str_of(cx, "s77"));
    assert_ptr_equal(sympy_dim(cx, str_of(cx, "ceiling(s77/3)")),
                     dim_ceildiv(cx, n, dim_int(cx, 3)));
    assert_ptr_equal(sympy_dim(cx, str_of(cx, "CeilDiv(s77, 3)")),
                     dim_ceildiv(cx, n, dim_int(cx, 3)));
}

/* A part that is not understood spoils the whole: never "s77" of "s77 + sqrt(..)". */
static void sizes_that_are_not(void **state)
{
    Ctx *cx = *state;
    static const char *const texts[] = {
        "",
        " ",
        "s77 +",
        "(s77",
        "s77)",
        "s77 s77",
        "s77 + OpaqueUnaryFn_sqrt(s77)",
        "Add(" N ", Float('1.5', precision=53))",
        "1.5",
        "s77/2",
        "Rational(1, 2)",
        "Piecewise(ExprCondPair(s77, true))",
        "TruncToInt(IntTrueDiv(s77, 2))",
        "Pow(s77, s77)",
        "s77**-1",
        "s77**1000",
        "FloorDiv(s77, 0)",
        "Mod(s77, 0)",
        "Rational(1, 0)",
        "Symbol('s77'",
        "Symbol(s 77)",
        "Symbol('')",
        "Add()",
        "FloorDiv(s77)",
        "99999999999999999999",
        "Foo(s77)",
        "Symbol('s77', ",
        "s77 < 3",
        "\xff",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        const char *d = dim_of(cx, texts[i]);
        if (d)
            fail_msg("%s is %s", texts[i], d);
        assert_false(ctx_failed(cx));
    }
}

static void depth_is_bounded(void **state)
{
    Ctx *cx = *state;
    char text[200001];
    memset(text, '(', 100000);
    memset(text + 100000, ')', 100000);
    text[200000] = 0;
    assert_null(dim_of(cx, text));
    for (int i = 0; i < 100000; i++)
        text[i] = '-';
    assert_null(dim_of(cx, text));
}

int main(void)
{
    const struct CMUnitTest tests[] = { TEST(sizes_that_are_understood), TEST(a_ceiling_rounds_up),
                                        TEST(sizes_that_are_not), TEST(depth_is_bounded) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
