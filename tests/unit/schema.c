/* Unit tests of ops/schema.c, and of every schema line in the table. */
#include "unit/test.h"

#include "ops/internal.h"

#include <math.h>

static const Schema *parse(Ctx *cx, const char *line)
{
    const Schema *s = schema_parse(cx, line);
    if (!s)
        fail_msg("%s", cx->error.text->s);
    return s;
}

static void names_and_defaults(void **state)
{
    const Schema *s = parse(*state,
                            "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> "
                            "(Tensor values, Tensor indices)");
    assert_string_equal(s->name->s, "aten::max");
    assert_string_equal(s->overload->s, "dim");
    assert_int_equal(s->n_param, 3);
    assert_int_equal(s->param[1].base, A_INT);
    assert_false(s->param[1].has_default);
    assert_int_equal(s->param[2].deflt.tag, V_BOOL);
    assert_int_equal(s->n_ret, 2);
    assert_string_equal(s->ret[1].name->s, "indices");
}

static void alias_marks(void **state)
{
    const Schema *s = parse(
        *state,
        "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)");
    assert_int_equal(s->param[0].alias, 'a');
    assert_true(s->param[0].writes);
    assert_true(s->ret_writes);
    assert_false(s->param[1].kwonly);
    assert_true(s->param[2].kwonly);
    s = parse(
        *state,
        "aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]");
    assert_true(s->ret_list);
    assert_int_equal(s->ret_alias, 'a');
}

static void lists_and_options(void **state)
{
    const Schema *s = parse(*state,
                            "aten::f(Tensor?[] indices, int[2]? size=None, SymInt[2] stride=1, "
                            "int[] pad=[0, 1], float eps=1.0000000000000001e-05) -> Tensor");
    assert_true(s->param[0].list && s->param[0].elem_optional && !s->param[0].optional);
    assert_true(s->param[1].optional && s->param[1].fixed == 2);
    assert_int_equal(s->param[2].deflt.i, 1);
    assert_int_equal(s->param[3].deflt.tuple->n, 2);
    assert_true(s->param[4].deflt.f == 1e-5);
    s = parse(*state,
              "my::f(int[][] pairs, float low=-inf, float high=2, Scalar step=1e3) -> Tensor");
    assert_int_equal(s->param[0].base, A_ANY);
    assert_true(s->param[1].deflt.f == -INFINITY);
    assert_int_equal(s->param[2].deflt.tag, V_FLOAT);
    assert_true(s->param[3].deflt.f == 1000);
}

static void words_and_strings(void **state)
{
    const Schema *s = parse(*state,
                            "aten::f(Tensor x, str padding=\"valid\", int reduction=Mean, "
                            "MemoryFormat m=contiguous_format, Dict(str, int) d, ...) -> ()");
    assert_string_equal(s->param[1].deflt.s->s, "valid");
    assert_int_equal(s->param[2].deflt.i, 1);
    assert_int_equal(s->param[4].base, A_ANY);
    assert_true(s->varargs);
    assert_int_equal(s->n_ret, 0);
}

static void broken_lines_name_the_column(void **state)
{
    static const struct {
        const char *line, *error;
    } cases[] = {
        { "add(Tensor self) -> Tensor",
          "schema 'add(Tensor self) -> Tensor', column 4: expected "
          "an operator's name, as in aten::add" },
        { "aten::add(Tensor self",
          "schema 'aten::add(Tensor self', column 22: expected ',' or ')'" },
        { "aten::add(Tensor self) Tensor",
          "schema 'aten::add(Tensor self) Tensor', column 24: expected '->'" },
        { "aten::add(Tensor self) -> Tensor x",
          "schema 'aten::add(Tensor self) -> Tensor x', column 34: text after the schema" },
        { "aten::f(int[99999999999] size) -> Tensor",
          "schema 'aten::f(int[99999999999] size) -> Tensor', column 24: expected a number of "
          "items" },
        { "aten::f(int n=9223372036854775808) -> Tensor",
          "schema 'aten::f(int n=9223372036854775808) -> Tensor', column 34: no number of 64 "
          "bits" },
        { "aten::add(Tensor) -> Tensor",
          "schema 'aten::add(Tensor) -> Tensor', column 18: a parameter has no name" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Ctx *cx = *state;
        assert_null(schema_parse(cx, cases[i].line));
        assert_string_equal(cx->error.text->s, cases[i].error);
        ctx_restart(cx);
    }
}

/* Name and overload identify one line in the whole table, rows and rules together. */
static void every_row_parses_and_is_unique(void **state)
{
    Ctx *cx = *state;
    OpRow r;
    for (const OpFamily *f = op_families; f->name; f++)
        for (size_t row = 0; op_row(f, row, &r); row++) {
            const Schema *s = parse(cx, r.schema);
            Entry *e = table_find(cx, s->name);
            int same = 0;
            assert_non_null(e);
            for (size_t i = 0; i < e->at.n; i++)
                same += candidate_schema(cx, &e->at.at[i])->overload == s->overload;
            if (same != 1)
                fail_msg("%s stands %d times in the table", r.schema, same);
        }
}

/* A column names parameters of every schema line it serves, and a row has what its kind needs. */
static void every_row_is_whole(void **state)
{
    Ctx *cx = *state;
    OpRow r, owner = { 0 };
    for (const OpFamily *f = op_families; f->name; f++)
        for (size_t row = 0; op_row(f, row, &r); row++) {
            owner = r.kind == ROW_OLDER ? owner : r;
            assert_true(owner.kind == ROW_REFUSE ? owner.text != NULL : owner.lower || owner.call);
            const Schema *s = parse(cx, r.schema);
            for (const char *p = owner.promote ? strchr(owner.promote, '(') : NULL;
                 p && *p && *p != ')';) {
                p += strspn(p, "(, ");
                size_t n = strcspn(p, ",) ");
                if (param_index(s, str_n(cx, p, n)) < 0)
                    fail_msg("%s: the column %s names no parameter", r.schema, owner.promote);
                p += n;
            }
        }
}

/* run_cases says which rows of a family lack a case; a family without a file would escape it. */
static void every_family_has_cases(void **state)
{
    for (const OpFamily *f = op_families; f->name; f++) {
        FILE *cases = fopen(str_fmt(*state, "tests/ops/%s.txt", f->name)->s, "r");
        if (!cases)
            fail_msg("tests/ops/%s.txt is missing", f->name);
        fclose(cases);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(names_and_defaults),
        TEST(alias_marks),
        TEST(lists_and_options),
        TEST(words_and_strings),
        TEST(broken_lines_name_the_column),
        TEST(every_row_parses_and_is_unique),
        TEST(every_row_is_whole),
        TEST(every_family_has_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
