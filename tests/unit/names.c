/* Unit tests of base/names.c and of what tools/compile_tables.c has written: each row and each rule
 * is found by its name, in the order of the sources, and nothing else is. */
#include "unit/test.h"

#include "eval/builtin/builtin.h"
#include "onnx/fold/fold.h"
#include "onnx/infer/infer.h"
#include "ops/internal.h"

extern const char rules_legal[], rules_find[];
extern const NameTable op_names, builtin_names, legal_names, form_names, root_names;

static const char a_text[] = "onetwothree";
static const NameRow a_row[] = { { 0, 0, 3, 1 }, { 3, 1, 3, 2 }, { 6, 3, 5, 1 } };
static const NameItem an_item[] = { { 1, 0, 0 }, { 2, 0, 0 }, { 22, 0, 0 }, { 3, 0, 0 } };

/* A table of three names in four slots, whatever their hashes are. */
static void a_name_has_its_items(void **state)
{
    uint16_t slot[4] = { 0 };
    const NameTable table = { a_text, a_row, an_item, slot, COUNT(slot) };
    const NameTable empty = { 0 };
    size_t n;
    (void)state;
    for (uint16_t i = 0; i < COUNT(a_row); i++) {
        size_t at = hash_bytes(a_text + a_row[i].text, a_row[i].len, 0) % COUNT(slot);
        while (slot[at])
            at = (at + 1) % COUNT(slot);
        slot[at] = (uint16_t)(i + 1);
    }
    assert_ptr_equal(names_find(&table, "one", 3, &n), &an_item[0]);
    assert_int_equal(n, 1);
    assert_ptr_equal(names_find(&table, "two", 3, &n), &an_item[1]);
    assert_int_equal(n, 2);
    assert_ptr_equal(names_find(&table, "three", 5, &n), &an_item[3]);
    assert_null(names_find(&table, "thre", 4, &n));
    assert_int_equal(n, 0);
    assert_null(names_find(&table, "", 0, &n));
    assert_null(names_find(&empty, "one", 3, &n));
}

/* What has been seen of each name so far. */
static const char *expected(Ctx *cx, Map *seen, const char *line)
{
    Str name = str_n(cx, line, strcspn(line, "(."));
    uintptr_t i = (uintptr_t)map_get(seen, name);
    Entry *e = table_find(cx, name);
    map_put(cx, seen, name, (void *)(i + 1));
    return e && i < e->at.n ? e->at.at[i].line : "no candidate";
}

/* Candidates are the lines of rows and rules, family by family: the order in which they are tried.
 */
static void operators_have_all_rows_and_rules(void **state)
{
    Ctx *cx = *state;
    Map seen = { 0 };
    OpRow r;
    for (const OpFamily *f = op_families; f->name; f++) {
        RuleList rules = { 0 };
        for (size_t row = 0; op_row(f, row, &r); row++)
            assert_string_equal(expected(cx, &seen, r.schema), r.schema);
        Text text = { .name = str_of(cx, f->name),
                      .at = f->rules,
                      .n = f->rules ? strlen(f->rules) : 0 };
        assert_true(rules_scan(cx, &text, &rules));
        for (size_t i = 0; i < rules.n; i++)
            assert_string_equal(expected(cx, &seen, rules.at[i]->head->s), rules.at[i]->head->s);
    }
    for (size_t i = 0; i < seen.n; i++)
        assert_int_equal(table_find(cx, seen.at[i].key)->at.n, (uintptr_t)seen.at[i].val);
    assert_null(table_find(cx, str_of(cx, "aten::no_such_operator")));
    assert_null(table_find(cx, str_of(cx, "aten::ad")));
}

/* An older schema is lowered by the row above it. */
static void an_older_row_has_its_owner(void **state)
{
    Ctx *cx = *state;
    OpRow r, owner = { 0 };
    for (const OpFamily *f = op_families; f->name; f++)
        for (size_t row = 0; op_row(f, row, &r); row++) {
            owner = r.kind == ROW_OLDER ? owner : r;
            Entry *e = table_find(cx, str_n(cx, r.schema, strcspn(r.schema, "(.")));
            for (size_t i = 0; i < e->at.n; i++)
                if (e->at.at[i].line == r.schema)
                    assert_ptr_equal(e->at.at[i].row->schema, owner.schema);
        }
}

/* A rule that is read by its place is the one that reading the whole text gives. */
static void rules_are_found_where_they_stand(void **state)
{
    Ctx *cx = *state;
    static const struct {
        const char *text, *domain;
        const NameTable *names;
    } sets[] = { { rules_legal, "onnx::", &legal_names }, { rules_find, "one.of::", &form_names } };
    for (size_t k = 0; k < COUNT(sets); k++) {
        RuleSet set = rule_set(cx, "some.rules", sets[k].text, sets[k].names);
        RuleList all = { 0 };
        size_t found = 0;
        assert_true(rules_scan(cx, set.text, &all));
        for (size_t i = 0; i < all.n; i++) {
            if (!str_starts(all.at[i]->head, sets[k].domain))
                continue;
            const char *name = all.at[i]->head->s + strlen(sets[k].domain);
            const Rule *r = rule_named(cx, &set, name, strlen(name));
            assert_non_null(r);
            assert_ptr_equal(r->head, all.at[i]->head);
            assert_int_equal(r->start, all.at[i]->start);
            assert_int_equal(r->end, all.at[i]->end);
            assert_ptr_equal(r, rule_named(cx, &set, name, strlen(name)));
            found++;
        }
        assert_true(found > 10);
        assert_null(rule_named(cx, &set, "NoSuchRule", 10));
    }
}

/* Gelu's formula ends with a product or a quotient, also through forms. */
static void formulas_are_found_by_their_last_operator(void **state)
{
    Ctx *cx = *state;
    RuleSet set = rule_set(cx, "find.rules", rules_find, &form_names);
    static const char *const roots[] = { "Mul", "Div" };
    size_t n;
    for (size_t k = 0; k < COUNT(roots); k++) {
        const NameItem *at = names_find(&root_names, roots[k], 3, &n);
        bool gelu = false;
        for (size_t i = 0; i < n; i++)
            gelu |= str_is(rule_at(cx, &set, at[i])->head, "onnx::Gelu");
        assert_true(gelu);
    }
    assert_null(names_find(&root_names, "Sin", 3, &n));
}

static void builtins_have_all_rows(void **state)
{
    (void)state;
    for (size_t f = 0; builtin_families[f]; f++)
        for (const BuiltinRow *r = builtin_families[f]; r->name; r++) {
            size_t n;
            bool found = false;
            const NameItem *at = names_find(&builtin_names, r->name, strlen(r->name), &n);
            for (size_t i = 0; i < n; i++)
                found |= &builtin_families[at[i].family][at[i].number] == r;
            assert_true(found);
        }
}

static void onnx_operators_have_their_rows(void **state)
{
    Ctx *cx = *state;
    for (size_t f = 0; infer_families[f]; f++)
        for (const InferRow *r = infer_families[f]; r->op; r++)
            if (onnx_op(cx, r->op))
                assert_true(onnx_op(cx, r->op)->infer == r->fn);
    for (size_t f = 0; fold_families[f]; f++)
        for (const FoldRow *r = fold_families[f]; r->op; r++)
            if (onnx_op(cx, r->op))
                assert_true(onnx_op(cx, r->op)->fold == r->fn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_name_has_its_items),
        TEST(operators_have_all_rows_and_rules),
        TEST(an_older_row_has_its_owner),
        TEST(rules_are_found_where_they_stand),
        TEST(formulas_are_found_by_their_last_operator),
        TEST(builtins_have_all_rows),
        TEST(onnx_operators_have_their_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
