/* Unit tests of ops/bind.c and call.c: which overload a call means, what its arguments become, what
 * is said when none fits. */
#include "unit/test.h"

#include "ops/internal.h"

static Graph *graph_of(Ctx *cx)
{
    Graph *g = graph_new(cx, NULL, str_of(cx, "main"));
    g->target = 18;
    return g;
}

static Value tensor(Graph *g, DType t, int rank)
{
    Dim d[4] = { dim_int(g->cx, 2), dim_int(g->cx, 3), dim_int(g->cx, 4), dim_int(g->cx, 5) };
    return val_tensor(
        g->cx, graph_input(g, str_fmt(g->cx, "x%zu", g->inputs.n), type_tensor(g->cx, t, rank, d)));
}

/* The overload that a call chooses, "none" when none fits. */
static const char *chosen(Graph *g, const char *name, const char *overload, const OpArg *args,
                          size_t n, Value **bound)
{
    CallForm form;
    Entry *e = table_resolve(g->cx, str_of(g->cx, name), &form);
    Candidate *c = bind_choose(g, e, overload ? str_of(g->cx, overload) : NULL, args, n, bound);
    return c ? c->schema->overload->s : "none";
}

#define POS(v)           { NULL, (v) }
#define KEY(cx, name, v) { str_of((cx), (name)), (v) }

static void kinds_choose_the_overload(void **state)
{
    Graph *g = graph_of(*state);
    Value x = tensor(g, DT_FLOAT, 2), *bound;
    assert_string_equal(chosen(g, "aten::max", NULL, (OpArg[]){ POS(x) }, 1, &bound), "");
    assert_string_equal(
        chosen(g, "aten::max", NULL, (OpArg[]){ POS(x), POS(val_int(1)) }, 2, &bound), "dim");
    assert_string_equal(chosen(g, "aten::max", NULL, (OpArg[]){ POS(x), POS(x) }, 2, &bound),
                        "other");
    assert_string_equal(
        chosen(g, "aten::add", NULL, (OpArg[]){ POS(x), POS(val_int(1)) }, 2, &bound), "Scalar");
    assert_string_equal(
        chosen(g, "aten::arange", NULL, (OpArg[]){ POS(val_int(1)), POS(val_int(4)) }, 2, &bound),
        "start");
}

static void to_is_told_apart(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Value x = tensor(g, DT_FLOAT, 2);
    Value device = { .tag = V_DEVICE, .s = str_of(cx, "cpu") };
    Value *bound;
    assert_string_equal(
        chosen(g, "aten::to", NULL, (OpArg[]){ POS(x), POS(val_int(6)) }, 2, &bound), "dtype");
    assert_string_equal(chosen(g, "aten::to", NULL, (OpArg[]){ POS(x), POS(x) }, 2, &bound),
                        "other");
    assert_string_equal(chosen(g, "aten::to", NULL, (OpArg[]){ POS(x), POS(device) }, 2, &bound),
                        "prim_Device");
    assert_string_equal(
        chosen(g, "aten::to", NULL, (OpArg[]){ POS(x), POS(device), POS(val_int(6)) }, 3, &bound),
        "device");
    assert_string_equal(
        chosen(g, "aten::to", NULL, (OpArg[]){ POS(x), KEY(cx, "dtype", val_int(6)) }, 2, &bound),
        "dtype");
}

static void an_exact_overload_is_taken(void **state)
{
    Graph *g = graph_of(*state);
    Value x = tensor(g, DT_FLOAT, 2), *bound;
    assert_string_equal(
        chosen(g, "aten::add", "Tensor", (OpArg[]){ POS(x), POS(val_int(1)) }, 2, &bound),
        "Tensor");
    assert_int_equal(bound[1].tag, V_TENSOR);
    assert_true(bound[1].t->number);
}

static void there_may_be_no_place(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    const Schema *s = schema_parse(cx, "my::f(*, int k) -> Tensor");
    Value *bound;
    Str why = NULL;
    assert_int_equal(bind_try(g, s, (OpArg[]){ POS(val_int(1)) }, 1, true, &bound, &why),
                     BIND_NO_MATCH);
    assert_string_equal(why->s, "too many positional arguments");
    assert_int_equal(bind_try(g, s, (OpArg[]){ KEY(cx, "k", val_int(1)) }, 1, true, &bound, &why),
                     BIND_DONE);
}

static void implicit_conversions(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Value x = tensor(g, DT_FLOAT, 2), *bound;
    /* an int where int[1] is declared */
    assert_string_equal(
        chosen(g, "aten::amax", NULL, (OpArg[]){ POS(x), POS(val_int(1)) }, 2, &bound), "");
    assert_int_equal(bound[1].tuple->n, 1);
    /* trailing ints for the list */
    chosen(g, "aten::view", NULL, (OpArg[]){ POS(x), POS(val_int(3)), POS(val_int(2)) }, 3, &bound);
    assert_int_equal(bound[1].tuple->n, 2);
    assert_int_equal(bound[1].tuple->at[1].i, 2);
    /* a 0-d tensor where an int is declared */
    Value two = val_tensor(cx, ox_int(g, 2));
    chosen(g, "aten::select", NULL, (OpArg[]){ POS(x), POS(val_int(0)), POS(two) }, 3, &bound);
    assert_int_equal(bound[2].i, 2);
    /* an int where a float is declared */
    chosen(g, "aten::isclose", NULL, (OpArg[]){ POS(x), POS(x), POS(val_int(1)) }, 3, &bound);
    assert_int_equal(bound[2].tag, V_FLOAT);
}

static void lists_are_snapshots(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Value x = tensor(g, DT_FLOAT, 2);
    Value item = val_int(6);
    Value list = val_list(cx, &item, 1, "int");
    Value *bound;
    chosen(g, "aten::view", NULL, (OpArg[]){ POS(x), POS(list) }, 2, &bound);
    list_append(cx, list.list, val_int(7));
    assert_int_equal(bound[1].tuple->n, 1);
}

static void keywords_and_input_for_self(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Value x = tensor(g, DT_FLOAT, 2), *bound;
    assert_string_equal(chosen(g, "aten::clamp", NULL,
                               (OpArg[]){ KEY(cx, "input", x), KEY(cx, "max", val_int(1)) }, 2,
                               &bound),
                        "");
    assert_int_equal(bound[1].tag, V_NONE);
    assert_int_equal(bound[2].i, 1);
}

static Str failed(Ctx *cx, Graph *g, const char *name, const OpArg *args, size_t n)
{
    Value v = op_call(g, str_of(cx, name), NULL, args, n, NULL, 0);
    assert_int_equal(v.tag, V_POISON);
    return ctx_failed(cx) ? cx->error.text : cx->refusals.at[cx->refusals.n - 1].text;
}

static void what_does_not_fit_is_said(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    assert_string_equal(
        failed(cx, g, "aten::relu", (OpArg[]){ POS(val_str(str_of(cx, "x"))) }, 1)->s,
        "aten::relu(str) does not fit aten::relu(Tensor self) -> Tensor: argument 'self' is str");
}

static void what_fits_no_overload_is_said(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Value x = tensor(g, DT_FLOAT, 2);
    assert_string_equal(
        failed(cx, g, "aten::max", (OpArg[]){ POS(x), POS(val_str(str_of(cx, "x"))) }, 2)->s,
        "no form of aten::max that pt2onnx knows takes (Tensor, str)");
}

static void unknown_operators_are_noted_not_fatal(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Value x = tensor(g, DT_FLOAT, 2);
    assert_string_equal(failed(cx, g, "my::op", (OpArg[]){ POS(x) }, 1)->s,
                        "pt2onnx does not know this operator");
    assert_false(ctx_failed(cx));
    assert_int_equal(
        op_call(g, str_of(cx, "aten::relu"), NULL, (OpArg[]){ POS(val_poison()) }, 1, NULL, 0).tag,
        V_POISON);
    Value items[2] = { x, val_poison() };
    assert_int_equal(op_call(g, str_of(cx, "aten::cat"), NULL,
                             (OpArg[]){ POS(val_list(cx, items, 2, "Tensor")) }, 1, NULL, 0)
                         .tag,
                     V_POISON);
    assert_int_equal(cx->refusals.n, 1);
    assert_false(ctx_failed(cx));
    assert_int_equal(g->nodes.n, 0);
}

static void a_recorded_type_that_differs_is_an_error(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Value x = tensor(g, DT_FLOAT, 1);
    Type want = type_of_ints(cx, DT_INT64, 1, (int64_t[]){ 2 });
    op_call(g, str_of(cx, "aten::relu"), NULL, (OpArg[]){ POS(x) }, 1, &want, 1);
    assert_string_equal(
        cx->error.text->s,
        "the file records int64[2] for result 0, pt2onnx computed float32[2]: the file is "
        "damaged, or pt2onnx is wrong");
}

/* PyTorch 1.13's _unique2 gives the inverse beside counts: the rank and size of that result, as the
 * file records it. */
static Type inverse_beside_counts(Graph *g, int rank, Type recorded)
{
    Type counts = type_tensor(g->cx, DT_INT64, -1, NULL);
    Type want[3] = { counts, recorded, counts };
    OpArg args[] = { POS(tensor(g, DT_INT64, rank)), POS(val_bool(true)), POS(val_bool(false)),
                     POS(val_bool(true)) };
    Value v = op_call(g, str_of(g->cx, "aten::_unique2"), NULL, args, 4, want, 3);
    assert_int_equal(v.tag, V_TUPLE);
    return tensor_type(v.tuple->at[1].t);
}

static void a_recorded_type_tells_of_the_inverse(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Dim open = dim_fresh(cx, "r");
    Type asked = inverse_beside_counts(g, 2, type_of_ints(cx, DT_INT64, 2, (int64_t[]){ 2, 3 }));
    Type number = inverse_beside_counts(g, 0, type_tensor(cx, DT_INT64, 0, NULL));
    Type none = inverse_beside_counts(g, 1, type_of_ints(cx, DT_INT64, 1, (int64_t[]){ 0 }));
    Type nobody_tells = inverse_beside_counts(g, 1, type_tensor(cx, DT_INT64, 1, &open));
    assert_int_equal(asked->rank, 2);
    assert_int_equal(number->rank, 0);
    assert_true(dim_is(none->dim[0], 0) && dim_is(nobody_tells->dim[0], 0));
    assert_true(dim_is(
        inverse_beside_counts(g, 1, type_of_ints(cx, DT_INT64, 1, (int64_t[]){ 2 }))->dim[0], 2));
}

static void a_users_rule_comes_first(void **state)
{
    Ctx *cx = *state;
    static const char rules[] = "aten::relu(Tensor self) -> Tensor\n    = Neg(self)\nmy::op(Tensor "
                                "x, float k=2.) -> Tensor\n    = Mul(x, k)\n";
    Text text = { .name = str_of(cx, "user.rules"), .at = rules, .n = sizeof rules - 1 };
    assert_true(ops_add_rules(cx, &text));
    Graph *g = graph_of(cx);
    Value x = tensor(g, DT_FLOAT, 1);
    op_call(g, str_of(cx, "aten::relu"), NULL, (OpArg[]){ POS(x) }, 1, NULL, 0);
    op_call(g, str_of(cx, "my::op"), NULL, (OpArg[]){ POS(x) }, 1, NULL, 0);
    assert_string_equal(g->nodes.at[0]->name->s, "Neg");
    assert_string_equal(g->nodes.at[1]->name->s, "Mul");
}

/* A list of numbers is a tensor of their type, also of ints for float[]. */
static void lists_reach_a_users_rule(void **state)
{
    Ctx *cx = *state;
    static const char rules[] =
        "my::shift(Tensor x, float[] by) -> Tensor\n    = Add(x, by)\nmy::view(Tensor x, int[] "
        "size) -> Tensor\n    = Reshape(x, size)\n";
    Text text = { .name = str_of(cx, "user.rules"), .at = rules, .n = sizeof rules - 1 };
    assert_true(ops_add_rules(cx, &text));
    Graph *g = graph_of(cx);
    Value x = tensor(g, DT_FLOAT, 1);
    Value by[] = { val_float(2.5), val_int(3) };
    Value size[] = { val_int(2), val_int(1) };
    op_call(g, str_of(cx, "my::shift"), NULL, (OpArg[]){ POS(x), POS(val_tuple(cx, by, 2)) }, 2,
            NULL, 0);
    op_call(g, str_of(cx, "my::view"), NULL, (OpArg[]){ POS(x), POS(val_tuple(cx, size, 2)) }, 2,
            NULL, 0);
    float floats[2];
    int64_t ints[2];
    assert_int_equal(g->nodes.n, 2);
    assert_int_equal(ox_dtype(g->nodes.at[0]->in[1]), DT_FLOAT);
    assert_true(const_read(cx, g->nodes.at[0]->in[1]->k, floats));
    assert_true(floats[0] == 2.5f && floats[1] == 3);
    assert_int_equal(ox_dtype(g->nodes.at[1]->in[1]), DT_INT64);
    assert_true(const_read(cx, g->nodes.at[1]->in[1]->k, ints));
    assert_true(ints[0] == 2 && ints[1] == 1);
}

/* A call keeps the operator that it names; what that means may come later. */
static void an_operator_is_one_for_its_name(void **state)
{
    Ctx *cx = *state;
    static const char rules[] = "my::op(Tensor x) -> Tensor\n    = Neg(x)\n";
    Text text = { .name = str_of(cx, "user.rules"), .at = rules, .n = sizeof rules - 1 };
    const Operator *op = op_find(cx, str_of(cx, "my::op"));
    const Operator *in_place = op_find(cx, str_of(cx, "my::op_"));
    assert_false(op_exists(cx, op) || op_exists(cx, in_place));
    assert_true(ops_add_rules(cx, &text));
    assert_true(op_exists(cx, op) && op_exists(cx, in_place));
    assert_ptr_equal(op_find(cx, str_of(cx, "my::op")), op);
    ctx_restart(cx);
    assert_true(op_exists(cx, op));
}

/* Only of these a statement that nobody reads would be lost. */
static void a_users_rule_writes_nothing(void **state)
{
    Ctx *cx = *state;
    static const char rules[] = "my::op(Tensor x) -> Tensor\n    = Neg(x)\nmy::writer(Tensor(a!) "
                                "x, Tensor y) -> ()\n    = Neg(x)\n";
    Text text = { .name = str_of(cx, "user.rules"), .at = rules, .n = sizeof rules - 1 };
    assert_true(ops_add_rules(cx, &text));
    static const struct {
        const char *name;
        bool only_gives;
    } ops[] = {
        { "my::op", true },           { "my::op_", false },     { "my::unknown", true },
        { "aten::heaviside", false }, { "aten::stack", false }, { "aten::stack_", false },
        { "my::writer", false },
    };
    for (size_t i = 0; i < COUNT(ops); i++)
        assert_int_equal(op_only_gives(cx, op_find(cx, str_of(cx, ops[i].name))),
                         ops[i].only_gives);
    static const struct {
        const char *name, *arg;
        bool writes;
    } args[] = {
        { "my::op", "x", false },           { "my::op_", "x", true },
        { "my::op_", "self", true },        { "my::op_", "y", false },
        { "my::unknown", "x", false },      { "my::writer", "x", true },
        { "my::writer", "y", false },       { "my::writer", "z", false },
        { "aten::stack", "tensors", true },
    };
    for (size_t i = 0; i < COUNT(args); i++)
        assert_int_equal(
            op_writes_to(cx, op_find(cx, str_of(cx, args[i].name)), str_of(cx, args[i].arg), true),
            args[i].writes);
    assert_true(op_writes_to(cx, op_find(cx, str_of(cx, "my::op_")), str_of(cx, "x"), false));
}

static DType quotient(Graph *g, const char *name)
{
    OpArg args[] = { POS(tensor(g, DT_INT64, 1)), POS(tensor(g, DT_INT64, 1)) };
    Value v = op_call(g, str_of(g->cx, name), NULL, args, 2, NULL, 0);
    return v.tag == V_TENSOR ? tensor_type(v.t)->dtype : DT_NONE;
}

/* Archives of version 3 divide ints as C does, in place too. */
static void old_archives_keep_their_meaning(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    assert_int_equal(quotient(g, "aten::div"), DT_FLOAT);
    ops_set_version(cx, 4);
    assert_int_equal(quotient(g, "aten::div"), DT_FLOAT);
    ops_set_version(cx, 3);
    assert_int_equal(quotient(g, "aten::div"), DT_INT64);
    assert_int_equal(quotient(g, "aten::div_"), DT_INT64);
    OpArg half = { NULL, val_int(2) };
    OpArg size = { NULL, val_tuple(cx, &half.v, 1) };
    Value v = op_call(g, str_of(cx, "aten::full"), NULL, (OpArg[]){ size, half }, 2, NULL, 0);
    assert_int_equal(tensor_type(v.t)->dtype, DT_FLOAT);
    /* what out= holds decides: full of ints are ints, and floats are divided truly */
    Value tracked = tensor(g, DT_INT64, 1);
    Value ratio = tensor(g, DT_FLOAT, 1);
    Value x = tensor(g, DT_INT64, 1);
    Value y = tensor(g, DT_INT64, 1);
    v = op_call(g, str_of(cx, "aten::full"), NULL, (OpArg[]){ size, half, KEY(cx, "out", tracked) },
                3, NULL, 0);
    assert_int_equal(v.tag, V_TENSOR);
    assert_int_equal(tensor_type(v.t)->dtype, DT_INT64);
    op_call(g, str_of(cx, "aten::div"), NULL, (OpArg[]){ POS(x), POS(y), KEY(cx, "out", ratio) }, 3,
            NULL, 0);
    assert_string_equal(g->nodes.at[g->nodes.n - 1]->name->s, "Div");
    assert_int_equal(ox_dtype(g->nodes.at[g->nodes.n - 1]->in[0]), DT_FLOAT);
}

static bool answer(void *user, Op *op, Value *result)
{
    *(int *)user += (int)arg_int(op, "1");
    *result = val_tensor(op->cx, arg(op, "0"));
    return true;
}

static void a_callback_stands_for_an_operator(void **state)
{
    Ctx *cx = *state;
    int seen = 0;
    ops_add_callback(cx, str_of(cx, "my::call"), answer, &seen);
    Graph *g = graph_of(cx);
    Value v = op_call(g, str_of(cx, "my::call"), NULL,
                      (OpArg[]){ POS(tensor(g, DT_FLOAT, 1)), POS(val_int(5)) }, 2, NULL, 0);
    assert_int_equal(v.tag, V_TENSOR);
    assert_int_equal(seen, 5);
}

/* x[0].add_(1) is seen through x, and through a view that was there before. */
static void a_write_goes_through_views(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Value x = tensor(g, DT_FLOAT, 2);
    Value zero = val_int(0);
    Value one = val_int(1);
    Value row = op_call(g, str_of(cx, "aten::select"), NULL,
                        (OpArg[]){ POS(x), POS(zero), POS(one) }, 3, NULL, 0);
    Value t = op_call(g, str_of(cx, "aten::t"), NULL, (OpArg[]){ POS(x) }, 1, NULL, 0);
    Ox before = tensor_read(g, x.t);
    Value done = op_call(g, str_of(cx, "aten::add_"), NULL, (OpArg[]){ POS(row), POS(one) }, 2,
                         NULL, 0);
    assert_ptr_equal(done.t, row.t);
    Ox after = tensor_read(g, x.t);
    Ox seen = tensor_read(g, t.t);
    assert_ptr_not_equal(before, after);
    assert_string_equal(after->node->name->s, "Concat");
    assert_ptr_equal(seen->node->in[0], after);
}

static void an_expanded_tensor_is_not_written(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Value x = tensor(g, DT_FLOAT, 1);
    Value sizes[2] = { val_int(4), val_int(2) };
    Value wide = op_call(g, str_of(cx, "aten::expand"), NULL,
                         (OpArg[]){ POS(x), POS(val_tuple(cx, sizes, 2)) }, 2, NULL, 0);
    assert_string_equal(
        failed(cx, g, "aten::add_", (OpArg[]){ POS(wide), POS(val_int(1)) }, 2)->s,
        "more than one element of the written-to tensor refers to a single memory location");
}

/* The values of a run are gone once it starts again; another may have got the memory of one that
 * was noted. */
static void a_restart_forgets_torchs_mistakes(void **state)
{
    Ctx *cx = *state;
    Ox first = tensor_read(graph_of(cx), tensor(graph_of(cx), DT_FLOAT, 1).t);
    record_note_erred(cx, first);
    assert_true(record_erred(cx, first));
    ctx_restart(cx);
    for (int i = 0; i < 100; i++)
        assert_false(
            record_erred(cx, tensor_read(graph_of(cx), tensor(graph_of(cx), DT_FLOAT, 1).t)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(kinds_choose_the_overload),
        TEST(to_is_told_apart),
        TEST(an_exact_overload_is_taken),
        TEST(there_may_be_no_place),
        TEST(implicit_conversions),
        TEST(lists_are_snapshots),
        TEST(keywords_and_input_for_self),
        TEST(what_does_not_fit_is_said),
        TEST(what_fits_no_overload_is_said),
        TEST(unknown_operators_are_noted_not_fatal),
        TEST(a_recorded_type_that_differs_is_an_error),
        TEST(a_recorded_type_tells_of_the_inverse),
        TEST(a_users_rule_comes_first),
        TEST(a_restart_forgets_torchs_mistakes),
        TEST(lists_reach_a_users_rule),
        TEST(an_operator_is_one_for_its_name),
        TEST(a_users_rule_writes_nothing),
        TEST(old_archives_keep_their_meaning),
        TEST(a_callback_stands_for_an_operator),
        TEST(a_write_goes_through_views),
        TEST(an_expanded_tensor_is_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
