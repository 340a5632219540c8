/* view.c - tensors that share a storage: what is read after a write, and what a chain of views
 * costs. */
#include "unit/test.h"

#include "ops/ops.h"
#include "value/heap.h"

static Value slice(Graph *g, Value x, int64_t start)
{
    OpArg args[4] = {
        { NULL, x }, { NULL, val_int(0) }, { NULL, val_int(start) }, { NULL, val_int(INT64_MAX) }
    };
    return op_call(g, str_of(g->cx, "aten::slice"), NULL, args, 4, NULL, 0);
}

static Value call(Graph *g, const char *name, Value x, Value y)
{
    OpArg args[2] = { { NULL, x }, { NULL, y } };
    return op_call(g, str_of(g->cx, name), NULL, args, 2, NULL, 0);
}

static Value floats(Graph *g, int n)
{
    float data[64];
    int64_t dims[1] = { n };
    for (int i = 0; i < n; i++)
        data[i] = (float)i;
    return val_tensor(g->cx, ox_const(g, const_make(g->cx, DT_FLOAT, 1, dims, data)));
}

static void reads(Graph *g, Value t, const float *want, int n)
{
    float got[64];
    Ox v = tensor_read(g, t.t);
    assert_int_equal(v->kind, OX_CONST);
    assert_int_equal(const_numel(v->k), n);
    assert_true(const_read(g->cx, v->k, got));
    for (int i = 0; i < n; i++)
        assert_true(got[i] == want[i]);
}

static void every_view_sees_a_write(void **state)
{
    Graph *g = graph_new(*state, NULL, str_of(*state, "main"));
    Value x = floats(g, 4);
    Value y = slice(g, x, 1);
    Value z = slice(g, y, 1);
    assert_true(val_ok(call(g, "aten::mul_", y, val_int(10))));
    reads(g, x, (float[]){ 0, 10, 20, 30 }, 4);
    reads(g, z, (float[]){ 20, 30 }, 2);
    assert_true(val_ok(call(g, "aten::add_", z, val_int(1))));
    reads(g, x, (float[]){ 0, 10, 21, 31 }, 4);
    reads(g, y, (float[]){ 10, 21, 31 }, 3);
}

static void a_slice_of_a_slice_is_one_slice(void **state)
{
    Graph *g = graph_new(*state, NULL, str_of(*state, "main"));
    Value x = floats(g, 8);
    Value y = slice(g, slice(g, x, 1), 2);
    assert_true(y.t->base->base == NULL && y.t->base->st == x.t->st);
    reads(g, y, (float[]){ 3, 4, 5, 6, 7 }, 5);
}

static void an_undone_write_is_not_remembered_by_views(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_new(cx, NULL, str_of(cx, "main"));
    Value x = floats(g, 3);
    Value y = slice(g, x, 1);
    TrailMark m = trail_open(cx);
    assert_true(val_ok(call(g, "aten::add_", x, val_int(5))));
    reads(g, y, (float[]){ 6, 7 }, 2);
    trail_undo(cx, m);
    reads(g, y, (float[]){ 1, 2 }, 2);
    assert_true(val_ok(call(g, "aten::add_", x, val_int(1))));
    reads(g, y, (float[]){ 2, 3 }, 2);
}

static void clone_has_its_own_memory(void **state)
{
    Graph *g = graph_new(*state, NULL, str_of(*state, "main"));
    Value x = floats(g, 3);
    OpArg one = { NULL, x };
    Value y = op_call(g, str_of(g->cx, "aten::clone"), NULL, &one, 1, NULL, 0);
    Value z = op_call(g, str_of(g->cx, "aten::detach"), NULL, &one, 1, NULL, 0);
    assert_true(val_ok(call(g, "aten::add_", x, val_int(1))));
    reads(g, y, (float[]){ 0, 1, 2 }, 3);
    reads(g, z, (float[]){ 1, 2, 3 }, 3);
}

static void memory_that_others_overlap_is_not_written(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_new(cx, NULL, str_of(cx, "main"));
    Value x = floats(g, 3);
    x.t->st->shared_bytes = true;
    x.t->st->name = str_of(cx, "w");
    assert_false(val_ok(call(g, "aten::add_", x, val_int(1))));
    assert_non_null(strstr(cx->error.text->s, "writing to w"));
}

static void a_lost_peer_cannot_be_read(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_new(cx, NULL, str_of(cx, "main"));
    Value x = floats(g, 3);
    Value y = floats(g, 3);
    Value z = floats(g, 3);
    tensor_maybe_shared(cx, x.t, y.t, str_of(cx, "nobody knows"));
    tensor_maybe_shared(cx, y.t, z.t, str_of(cx, "nobody knows"));
    assert_true(val_ok(call(g, "aten::add_", x, val_int(1))));
    reads(g, x, (float[]){ 1, 2, 3 }, 3);
    assert_false(ox_ok(tensor_read(g, z.t)));
    assert_non_null(strstr(cx->error.text->s, "nobody knows"));
}

/* t() of known sizes: flattening it copies, flattening what it came from does not. */
static void strides_decide_what_reshape_shares(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_new(cx, NULL, str_of(cx, "main"));
    Value flat = val_list(cx, (Value[]){ val_int(-1) }, 1, "int");
    Value shape = val_list(cx, (Value[]){ val_int(2), val_int(3) }, 2, "int");
    Value x = call(g, "aten::reshape", floats(g, 6), shape);
    OpArg one = { NULL, x };
    Value t = op_call(g, str_of(cx, "aten::t"), NULL, &one, 1, NULL, 0);
    assert_int_equal(tensor_contiguous(cx, x.t), YES);
    assert_int_equal(tensor_contiguous(cx, t.t), NO);
    assert_ptr_equal(call(g, "aten::reshape", x, flat).t->st, x.t->st);
    assert_ptr_not_equal(call(g, "aten::reshape", t, flat).t->st, x.t->st);
}

/* A chain that does not fold into one view: read and written in one walk each. */
static void a_long_chain_costs_one_walk(void **state)
{
    enum { DEPTH = 5000 };
    Ctx *cx = *state;
    Graph *g = graph_new(cx, NULL, str_of(cx, "main"));
    Value same = val_list(cx, (Value[]){ val_int(-1) }, 1, "int");
    Value x = floats(g, 8);
    Value y = x;
    for (int i = 0; i < DEPTH; i++)
        y = call(g, "aten::view", y, same);
    assert_true(val_ok(call(g, "aten::add_", x, val_int(1))));
    reads(g, y, (float[]){ 1, 2, 3, 4, 5, 6, 7, 8 }, 8);
    size_t before = arena_bytes(cx->run);
    assert_true(val_ok(call(g, "aten::add_", y, val_int(1))));
    reads(g, x, (float[]){ 2, 3, 4, 5, 6, 7, 8, 9 }, 8);
    assert_true(arena_bytes(cx->run) - before < (size_t)DEPTH * 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_view_sees_a_write),
        TEST(a_slice_of_a_slice_is_one_slice),
        TEST(an_undone_write_is_not_remembered_by_views),
        TEST(clone_has_its_own_memory),
        TEST(memory_that_others_overlap_is_not_written),
        TEST(a_lost_peer_cannot_be_read),
        TEST(strides_decide_what_reshape_shares),
        TEST(a_long_chain_costs_one_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
