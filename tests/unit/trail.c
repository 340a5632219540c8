/* trail.c - the undo trail: an undone branch leaves no trace, a kept one stays, and nested ones do
 * both. */
#include "unit/test.h"

#include "value/heap.h"

enum { CELLS = 6, LISTS = 4, DICTS = 3, STORAGES = 3, KEYS = 12 };

typedef struct World {
    Cell cell[CELLS];
    List *list[LISTS];
    Dict *dict[DICTS];
    Storage *st[STORAGES];
    Obj *obj;
} World;

static World *world_new(Ctx *cx)
{
    World *w = new(cx, World);
    for (int i = 0; i < CELLS; i++)
        cell_init(&w->cell[i], val_int(i));
    for (int i = 0; i < LISTS; i++)
        w->list[i] = list_new(cx, 0, NULL);
    for (int i = 0; i < DICTS; i++)
        w->dict[i] = dict_new(cx, NULL);
    for (int i = 0; i < STORAGES; i++)
        w->st[i] = storage_new(cx, POISON);
    w->obj = obj_new(cx, NULL, CELLS, NULL, NULL);
    return w;
}

/* Everything that a program could see, as text. Storages hold values that only their address tells
 * apart. */
static Str picture(Ctx *cx, const World *w)
{
    Buf b = buf_new(cx);
    for (int i = 0; i < CELLS; i++)
        buf_fmt(&b, "c%lld o%d:%lld ", (long long)w->cell[i].v.i, (int)w->obj->slot[i].v.tag,
                (long long)w->obj->slot[i].v.i);
    for (int i = 0; i < LISTS; i++) {
        buf_fmt(&b, "| %lld:", (long long)w->list[i]->n);
        for (int64_t k = 0; k < w->list[i]->n; k++)
            buf_fmt(&b, " %lld", (long long)w->list[i]->at[k].v.i);
    }
    for (int i = 0; i < DICTS; i++) {
        buf_fmt(&b, "| %lld:", (long long)w->dict[i]->n);
        for (int64_t k = 0; k < w->dict[i]->n; k++)
            buf_fmt(&b, " %lld=%lld", (long long)w->dict[i]->at[k].key.i,
                    (long long)w->dict[i]->at[k].val.v.i);
    }
    for (int i = 0; i < STORAGES; i++)
        buf_fmt(&b, "| %p %u", (void *)w->st[i]->now, w->st[i]->version);
    return buf_done(&b);
}

static uint32_t next(uint32_t *seed) { return *seed = *seed * 1664525u + 1013904223u; }
static uint32_t below(uint32_t *seed, uint32_t n) { return (next(seed) >> 8) % n; }

static void write_something(Ctx *cx, World *w, uint32_t *seed, Ox *values)
{
    List *l = w->list[below(seed, LISTS)];
    Dict *d = w->dict[below(seed, DICTS)];
    Value v = val_int(below(seed, 1000));
    switch (below(seed, 9)) {
    case 0: cell_set(cx, &w->cell[below(seed, CELLS)], v); break;
    case 1: obj_set(cx, w->obj, below(seed, CELLS), v); break;
    case 2: list_append(cx, l, v); break;
    case 3: list_insert(cx, l, below(seed, (uint32_t)l->n + 1), v); break;
    case 4:
        if (l->n)
            list_remove(cx, l, below(seed, (uint32_t)l->n));
        break;
    case 5:
        if (l->n)
            list_set(cx, l, below(seed, (uint32_t)l->n), v);
        break;
    case 6: list_resize(cx, l, below(seed, 20)); break;
    case 7:
        if (below(seed, 3))
            dict_set(cx, d, val_int(below(seed, KEYS)), v);
        else
            dict_remove(cx, d, val_int(below(seed, KEYS)));
        break;
    case 8: storage_set(cx, w->st[below(seed, STORAGES)], values[below(seed, 2)]); break;
    }
}

/* Branches inside branches; each is undone and must leave no trace. */
static void random_branch(Ctx *cx, World *w, uint32_t *seed, Ox *values, int depth)
{
    Str before = picture(cx, w);
    TrailMark m = trail_open(cx);
    for (int i = 0; i < 12; i++)
        if (depth < 5 && below(seed, 5) == 0)
            random_branch(cx, w, seed, values, depth + 1);
        else
            write_something(cx, w, seed, values);
    trail_undo(cx, m);
    assert_ptr_equal(picture(cx, w), before);
}

static void an_undone_branch_leaves_no_trace(void **state)
{
    Ctx *cx = *state;
    struct OxValue a = { 0 };
    struct OxValue b = { 0 };
    Ox values[2] = { &a, &b };
    for (uint32_t round = 1; round <= 200; round++) {
        uint32_t seed = round;
        World *w = world_new(cx);
        for (int i = 0; i < 10; i++)
            write_something(cx, w, &seed, values);
        Str before = picture(cx, w);
        TrailMark m = trail_open(cx);
        for (int i = 0; i < 6; i++)
            random_branch(cx, w, &seed, values, 0);
        trail_undo(cx, m);
        assert_ptr_equal(picture(cx, w), before);
    }
}

static void a_thing_is_reported_once_with_its_oldest_value(void **state)
{
    Ctx *cx = *state;
    Cell c = { 0 };
    const Change *changes;
    cell_init(&c, val_int(1));
    TrailMark m = trail_open(cx);
    for (int i = 2; i < 50; i++)
        cell_set(cx, &c, val_int(i));
    assert_int_equal(trail_changes(cx, m, &changes), 1);
    assert_ptr_equal(changes[0].what, &c);
    assert_int_equal(changes[0].before.i, 1);
    trail_undo(cx, m);
    assert_int_equal(c.v.i, 1);
}

static void what_a_branch_made_costs_no_entry(void **state)
{
    Ctx *cx = *state;
    const Change *changes;
    TrailMark m = trail_open(cx);
    List *l = list_new(cx, 0, NULL);
    Obj *o = obj_new(cx, NULL, 1, NULL, NULL);
    list_append(cx, l, val_int(1));
    obj_set(cx, o, 0, val_int(1));
    assert_int_equal(trail_changes(cx, m, &changes), 0);
    trail_undo(cx, m);
}

/* A view that was read in an undone branch must not look fresh after another write. */
static void versions_are_never_used_twice(void **state)
{
    Ctx *cx = *state;
    Storage *st = storage_new(cx, POISON);
    TrailMark m = trail_open(cx);
    storage_set(cx, st, POISON);
    uint32_t undone = st->version;
    trail_undo(cx, m);
    assert_int_equal(st->version, 0);
    storage_set(cx, st, POISON);
    assert_int_not_equal(st->version, undone);
}

/* A million writes to one cell in one branch are one entry: the trail must not grow. */
static void writing_again_is_free(void **state)
{
    Ctx *cx = *state;
    Cell c = { 0 };
    TrailMark m = trail_open(cx);
    cell_set(cx, &c, val_int(0));
    size_t before = arena_bytes(cx->run);
    for (int i = 0; i < 1000000; i++)
        cell_set(cx, &c, val_int(i));
    assert_int_equal(arena_bytes(cx->run), before);
    trail_undo(cx, m);
}

/* Items that a branch writes, adds and takes from the end of a long list are what it costs, and
 * what it reports. */
static void a_branch_costs_the_items_that_it_writes(void **state)
{
    Ctx *cx = *state;
    enum { MANY = 100000 };
    List *l = list_new(cx, 0, NULL);
    Dict *d = dict_new(cx, NULL);
    const Change *changes;
    const ItemChange *items;
    for (int i = 0; i < MANY; i++) {
        list_append(cx, l, val_int(i));
        dict_set(cx, d, val_int(i), val_int(i));
    }
    size_t before = arena_bytes(cx->run);
    for (int i = 0; i < 1000; i++) {
        TrailMark m = trail_open(cx);
        list_set(cx, l, i, val_int(-1));
        list_set(cx, l, i, val_int(-2));
        list_remove(cx, l, MANY - 1);
        list_append(cx, l, val_int(-3));
        dict_set(cx, d, val_int(i), val_int(-1));
        dict_set(cx, d, val_int(-1), val_int(-1));
        assert_int_equal(trail_changes(cx, m, &changes), 2);
        assert_int_equal(trail_items(cx, m, &items), 3);
        assert_true(items[0].of == l && items[0].i == i && items[0].before.i == i &&
                    items[1].i == MANY - 1 && items[2].of == d && items[2].i == i);
        trail_undo(cx, m);
        assert_int_equal(l->at[i].v.i, i);
        assert_null(dict_find(cx, d, val_int(-1)));
    }
    assert_int_equal(l->at[MANY - 1].v.i, MANY - 1);
    assert_true(arena_bytes(cx->run) - before < (4 << 20));
}

/* What was there before can be asked for while the branch is open, whatever it has done. */
static void what_was_before_is_told(void **state)
{
    Ctx *cx = *state;
    const Change *changes;
    for (uint32_t round = 1; round <= 200; round++) {
        uint32_t seed = round;
        List *l = list_new(cx, 0, NULL);
        for (int i = 0; i < 10; i++)
            list_append(cx, l, val_int(i));
        TrailMark m = trail_open(cx);
        for (int i = 0; i < 8; i++) {
            Value v = val_int(100 + i);
            switch (below(&seed, 5)) {
            case 0: list_append(cx, l, v); break;
            case 1: list_insert(cx, l, below(&seed, (uint32_t)l->n + 1), v); break;
            case 2: list_remove(cx, l, below(&seed, (uint32_t)l->n)); break;
            case 3: list_set(cx, l, below(&seed, (uint32_t)l->n), v); break;
            case 4: list_resize(cx, l, 5 + below(&seed, 8)); break;
            }
            if (l->n == 0)
                list_append(cx, l, v);
        }
        if (trail_changes(cx, m, &changes)) {
            const Cell *was = trail_before(cx, &changes[0]);
            for (int i = 0; i < 10; i++)
                assert_int_equal(was[i].v.i, i);
        }
        trail_undo(cx, m);
    }
}

/* A queue: however long it is, the items stay where they are. */
static void the_first_item_comes_and_goes_at_no_cost(void **state)
{
    Ctx *cx = *state;
    enum { MANY = 100000 };
    List *l = list_new(cx, 0, NULL);
    for (int i = 0; i < MANY; i++)
        list_append(cx, l, val_int(i));
    const Cell *last = &l->at[MANY - 1];
    for (int i = 0; i < 1000; i++)
        assert_int_equal(list_remove(cx, l, 0).i, i);
    for (int i = 999; i >= 0; i--)
        list_insert(cx, l, 0, val_int(i));
    assert_ptr_equal(&l->at[MANY - 1], last);
    list_insert(cx, l, 0, val_int(-1));
    size_t before = arena_bytes(cx->run);
    last = &l->at[MANY];
    for (int i = 0; i < 1000; i++)
        list_insert(cx, l, 0, val_int(-2 - i));
    assert_ptr_equal(&l->at[MANY + 1000], last);
    assert_int_equal(arena_bytes(cx->run), before);
    for (int i = 0; i < l->n; i++)
        assert_int_equal(l->at[i].v.i, i - 1001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_undone_branch_leaves_no_trace),
        TEST(a_thing_is_reported_once_with_its_oldest_value),
        TEST(what_a_branch_made_costs_no_entry),
        TEST(versions_are_never_used_twice),
        TEST(writing_again_is_free),
        TEST(a_branch_costs_the_items_that_it_writes),
        TEST(what_was_before_is_told),
        TEST(the_first_item_comes_and_goes_at_no_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
