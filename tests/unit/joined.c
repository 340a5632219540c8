/* joined.c - text that grows is what its parts are, however they were put together. */
#include "unit/test.h"

#include "base/limits.h"
#include "value/heap.h"

enum { DEEP = 100000, LONG = 300 };

static Value of_length(Ctx *cx, int n)
{
    Buf b = buf_new(cx);
    for (int i = 0; i < n; i++)
        buf_fmt(&b, "%c", 'a' + i % 26);
    return val_str(buf_done(&b));
}

static Value joined(Ctx *cx, Value left, Value right)
{
    Value made = val_poison();
    assert_true(val_join(cx, left, right, &made));
    assert_int_equal(made.tag, V_JOINED);
    return made;
}

static void text_that_has_grown_at_both_ends_is_written_out(void **state)
{
    Ctx *cx = *state;
    Value start = of_length(cx, LONG);
    Value v = start;
    for (int i = 0; i < DEEP; i++) {
        v = joined(cx, v, val_str(str_of(cx, i % 2 ? "x" : "y")));
        v = joined(cx, val_str(str_of(cx, i % 2 ? "1" : "2")), v);
    }
    Value whole = val_whole(cx, v);
    assert_int_equal(val_text_length(v), 2 * DEEP + LONG);
    assert_int_equal(whole.s->len, 2 * DEEP + LONG);
    for (int i = 0; i < DEEP; i++) {
        assert_int_equal(whole.s->s[DEEP + LONG + i], i % 2 ? 'x' : 'y');
        assert_int_equal(whole.s->s[DEEP - 1 - i], i % 2 ? '1' : '2');
    }
    assert_memory_equal(whole.s->s + DEEP, start.s->s, LONG);
}

static void text_joined_in_another_order_is_the_same_string(void **state)
{
    Ctx *cx = *state;
    Value a = of_length(cx, LONG);
    Value b = of_length(cx, LONG + 1);
    Value left = joined(cx, joined(cx, a, b), a);
    Value right = joined(cx, a, joined(cx, b, a));
    assert_ptr_equal(val_whole(cx, left).s, val_whole(cx, right).s);
    Value more = val_whole(cx, joined(cx, b, left));
    assert_ptr_equal(more.s, str_fmt(cx, "%s%s%s%s", b.s->s, a.s->s, b.s->s, a.s->s));
}

static void two_texts_that_have_grown_are_not_kept_as_parts(void **state)
{
    Ctx *cx = *state;
    Value out;
    Value text = of_length(cx, LONG);
    Value grown = joined(cx, text, text);
    assert_false(val_join(cx, grown, grown, &out));
}

static void what_is_short_empty_or_too_long_is_left_to_who_copies_it(void **state)
{
    Ctx *cx = *state;
    Value out;
    Value text = of_length(cx, LONG);
    assert_false(val_join(cx, of_length(cx, 2), of_length(cx, 3), &out));
    assert_false(val_join(cx, text, of_length(cx, 0), &out));
    assert_false(val_join(cx, text, val_int(1), &out));
    cx->limit[LIMIT_TEXT] = 2 * LONG - 1;
    assert_false(val_join(cx, text, text, &out));
    assert_false(ctx_failed(cx));
}

static void a_branch_sees_whole_text_in_what_it_changes(void **state)
{
    Ctx *cx = *state;
    Value text = of_length(cx, LONG);
    Value grown = joined(cx, text, text);
    Value out;
    const Change *changes;
    Cell cell;
    cell_init(&cell, grown);
    TrailMark m = trail_open(cx);
    assert_false(val_join(cx, grown, text, &out));
    cell_set(cx, &cell, val_int(1));
    assert_int_equal(trail_changes(cx, m, &changes), 1);
    assert_ptr_equal(changes[0].before.s, val_whole(cx, grown).s);
    trail_undo(cx, m);
    assert_int_equal(cell.v.tag, V_STR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(text_that_has_grown_at_both_ends_is_written_out),
        TEST(text_joined_in_another_order_is_the_same_string),
        TEST(two_texts_that_have_grown_are_not_kept_as_parts),
        TEST(what_is_short_empty_or_too_long_is_left_to_who_copies_it),
        TEST(a_branch_sees_whole_text_in_what_it_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
