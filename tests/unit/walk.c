/* walk.c - going through values that hold others, and what holds itself. */
#include "unit/test.h"

#include "value/walk.h"

/* [(1, 2), {"k": 3}, None or 4] */
static Value nest(Ctx *cx)
{
    Value pair[2] = { val_int(1), val_int(2) };
    Dict *d = dict_new(cx, NULL);
    dict_set(cx, d, val_str(str_of(cx, "k")), val_int(3));
    Value items[3] = { val_tuple(cx, pair, 2),
                       { .tag = V_DICT, .dict = d },
                       val_maybe(cx, val_bool(true), val_int(4)) };
    return val_list(cx, items, 3, NULL);
}

/* An object whose one attribute is itself. */
static Value of_itself(Ctx *cx)
{
    Value v = { .tag = V_OBJ, .obj = obj_new(cx, NULL, 1, NULL, NULL) };
    obj_set(cx, v.obj, 0, v);
    return v;
}

static WalkStep add_number(void *arg, Value v)
{
    int64_t *sum = arg;
    if (v.tag == V_INT)
        *sum = 10 * *sum + v.i;
    return v.tag == V_INT && v.i == 3 ? WALK_STOP : WALK_IN;
}

static void parts_are_visited_in_order_until_a_visit_says_stop(void **state)
{
    int64_t seen = 0;
    assert_int_equal(val_walk(*state, nest(*state), 9, add_number, &seen), WALK_STOPPED);
    assert_int_equal(seen, 123);
}

static void a_value_that_is_looked_for_is_found_or_the_levels_are_an_error(void **state)
{
    Ctx *cx = *state;
    int64_t seen = 0;
    assert_true(val_walk_finds(cx, nest(cx), add_number, &seen));
    assert_false(val_walk_finds(cx, val_int(1), add_number, &seen));
    assert_false(ctx_failed(cx));
    assert_false(val_walk_finds(cx, of_itself(cx), add_number, &seen));
    assert_true(ctx_failed(cx));
}

static void a_value_that_holds_itself_is_too_deep(void **state)
{
    Ctx *cx = *state;
    assert_int_equal(val_walk(cx, of_itself(cx), WALK_LEVELS, NULL, NULL), WALK_TOO_DEEP);
    assert_false(val_is_shallow(cx, of_itself(cx), 32));
    assert_true(val_is_shallow(cx, nest(cx), 3));
    assert_false(val_is_shallow(cx, nest(cx), 2));
    Value copy = containers_copy(cx, of_itself(cx));
    assert_true(ctx_failed(cx));
    assert_int_equal(copy.tag, V_OBJ);
}

static bool negate(void *arg, Value *v, int level)
{
    int *deepest = arg;
    *deepest = level > *deepest ? level : *deepest;
    if (v->tag != V_INT)
        return false;
    *v = val_int(-v->i);
    return true;
}

static void containers_are_made_anew_around_other_parts(void **state)
{
    Ctx *cx = *state;
    int deepest = 0;
    Value was = nest(cx);
    Value made = val_map(cx, was, (Mapping){ .replace = negate, .arg = &deepest });
    assert_int_equal(deepest, 3);
    assert_true(made.list != was.list);
    assert_int_equal(val_part(val_part(made, 0), 1).i, -2);
    assert_int_equal(val_part(val_part(made, 1), 0).i, -3);
    assert_int_equal(val_part(val_part(made, 2), 0).i, -4);
    assert_int_equal(val_part(val_part(was, 0), 1).i, 2);
    assert_null(val_part_place(made, 3));
}

static void a_dict_finds_its_part_by_the_key(void **state)
{
    Ctx *cx = *state;
    Dict *a = dict_new(cx, NULL);
    Dict *b = dict_new(cx, NULL);
    for (int i = 0; i < 3; i++) {
        dict_set(cx, a, val_int(i), val_int(i));
        dict_set(cx, b, val_int(2 - i), val_int(10 * (2 - i)));
    }
    Value x = { .tag = V_DICT, .dict = a };
    Value y = { .tag = V_DICT, .dict = b };
    assert_int_equal(val_part_like(cx, y, x, 2)->i, 20);
    assert_false(val_same_containers(cx, x, y));
    dict_remove(cx, b, val_int(2));
    assert_null(val_part_like(cx, y, x, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(parts_are_visited_in_order_until_a_visit_says_stop),
        TEST(a_value_that_is_looked_for_is_found_or_the_levels_are_an_error),
        TEST(a_value_that_holds_itself_is_too_deep),
        TEST(containers_are_made_anew_around_other_parts),
        TEST(a_dict_finds_its_part_by_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
