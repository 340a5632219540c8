/* heap.c - lists, dicts and objects: what Python's do. */
#include "unit/test.h"

#include "value/heap.h"

static void a_list_inserts_removes_and_resizes(void **state)
{
    Ctx *cx = *state;
    List *l = list_new(cx, 0, NULL);
    for (int i = 0; i < 5; i++)
        list_append(cx, l, val_int(i));
    list_insert(cx, l, 0, val_int(-1));
    list_insert(cx, l, 6, val_int(9));
    assert_int_equal(list_remove(cx, l, 1).i, 0);
    list_set(cx, l, 1, val_int(7));
    static const int64_t want[] = { -1, 7, 2, 3, 4, 9 };
    assert_int_equal(l->n, COUNT(want));
    for (size_t i = 0; i < COUNT(want); i++)
        assert_int_equal(l->at[i].v.i, want[i]);
    list_resize(cx, l, 8);
    assert_int_equal(l->at[7].v.tag, V_NONE);
    list_resize(cx, l, 2);
    assert_int_equal(l->n, 2);
}

static void a_dict_keeps_the_order_of_insertion(void **state)
{
    Ctx *cx = *state;
    Dict *d = dict_new(cx, NULL);
    for (int i = 0; i < 100; i++)
        dict_set(cx, d, val_str(str_fmt(cx, "key%d", (i * 37) % 100)), val_int(i));
    dict_set(cx, d, val_str(str_of(cx, "key37")), val_int(-1)); /* overwriting keeps the place */
    assert_int_equal(d->n, 100);
    assert_true(str_is(d->at[1].key.s, "key37"));
    assert_int_equal(d->at[1].val.v.i, -1);
    assert_true(dict_remove(cx, d, val_str(str_of(cx, "key0"))));
    assert_false(dict_remove(cx, d, val_str(str_of(cx, "key0"))));
    assert_true(str_is(d->at[0].key.s, "key37"));
    for (int i = 1; i < 100; i++) {
        const Cell *c = dict_find(cx, d, val_str(str_fmt(cx, "key%d", (i * 37) % 100)));
        assert_non_null(c);
        assert_int_equal(c->v.i, i == 1 ? -1 : i);
    }
}

static void keys_that_are_equal_numbers_are_one_key(void **state)
{
    Ctx *cx = *state;
    Dict *d = dict_new(cx, NULL);
    for (int i = 0; i < 20; i++)
        dict_set(cx, d, val_int(i), val_int(i));
    dict_set(cx, d, val_float(3.0), val_int(-3));
    dict_set(cx, d, val_bool(true), val_int(-1));
    assert_int_equal(d->n, 20);
    assert_int_equal(dict_find(cx, d, val_int(3))->v.i, -3);
    assert_int_equal(dict_find(cx, d, val_int(1))->v.i, -1);
    assert_null(dict_find(cx, d, val_float(3.5)));
    assert_null(dict_find(cx, d, val_str(str_of(cx, "3"))));
}

/* What stands behind a dict's entries is not its own. */
static void a_key_that_goes_moves_its_own_dict_only(void **state)
{
    Ctx *cx = *state;
    Dict *d = dict_new(cx, NULL);
    for (int i = 0; i < 8; i++)
        dict_set(cx, d, val_int(i), val_int(i));
    int64_t *behind = new_array(cx, int64_t, 256);
    for (int64_t i = 0; i < 256; i++)
        behind[i] = i;
    assert_true(dict_remove(cx, d, val_int(6)));
    assert_int_equal(d->n, 7);
    assert_int_equal(d->at[6].key.i, 7);
    for (int64_t i = 0; i < 256; i++)
        assert_int_equal(behind[i], i);
}

static void an_object_starts_without_values(void **state)
{
    Ctx *cx = *state;
    Obj *o = obj_new(cx, NULL, 3, NULL, NULL);
    for (int i = 0; i < 3; i++)
        assert_int_equal(o->slot[i].v.tag, V_UNINIT);
    obj_set(cx, o, 1, val_int(5));
    assert_int_equal(o->slot[1].v.i, 5);
}

/* A tuple on the way does not hide it; an object may refer to itself. */
static void no_list_or_dict_becomes_part_of_itself(void **state)
{
    Ctx *cx = *state;
    Value list = val_list(cx, NULL, 0, NULL);
    Value dict = { .tag = V_DICT, .dict = dict_new(cx, NULL) };
    Value object = { .tag = V_OBJ, .obj = obj_new(cx, NULL, 1, NULL, NULL) };
    obj_set(cx, object.obj, 0, list);
    list_append(cx, list.list, object);
    dict_set(cx, dict.dict, val_int(1), val_tuple(cx, &list, 1));
    list_append(cx, list.list, val_none());
    list_set(cx, list.list, 1, list.list->at[0].v);
    assert_false(ctx_failed(cx));
    list_append(cx, list.list, val_tuple(cx, &dict, 1));
    assert_int_equal(cx->error.code, E_UNSUPPORTED);
    assert_int_equal(list.list->n, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_list_inserts_removes_and_resizes),
        TEST(a_dict_keeps_the_order_of_insertion),
        TEST(keys_that_are_equal_numbers_are_one_key),
        TEST(a_key_that_goes_moves_its_own_dict_only),
        TEST(an_object_starts_without_values),
        TEST(no_list_or_dict_becomes_part_of_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
