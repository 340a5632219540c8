/* pickle.c - streams built byte by byte: what both writers of torch make, and what an enemy
 * would. */
#include "unit/test.h"
#include "unit/bytes.h"

#include "archive/archive.h"

#define PICKLE(text) pickle(cx, text, sizeof(text) - 1, NULL)

static Pickle *pickle(Ctx *cx, const char *body, size_t n, const char *const *allowed)
{
    Out o = { 0 };
    out_text(&o, "\x80\x02");
    out_put(&o, body, n);
    out_text(&o, ".");
    Pickle *p = pickle_read(cx, (Slice){ o.p, o.n }, "data.pkl", allowed);
    out_free(&o); /* the result holds copies only */
    return p;
}

static void numbers(void **state)
{
    Ctx *cx = *state;
    Pickle *p = PICKLE("(NK\xffM\xff\xffJ\xff\xff\xff\xff\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80"
                       "\x8a\x01\x80\x8a\x00G\x3f\xf8\0\0\0\0\0\0\x88\x89t");
    assert_non_null(p);
    assert_int_equal(p->seq.n, 10);
    Pickle **at = p->seq.at;
    assert_int_equal(at[0]->tag, P_NONE);
    assert_int_equal(at[1]->i, 255);
    assert_int_equal(at[2]->i, 65535);
    assert_int_equal(at[3]->i, -1);
    assert_true(at[4]->i == INT64_MIN);
    assert_int_equal(at[5]->i, -128);
    assert_int_equal(at[6]->i, 0);
    assert_true(at[7]->f == 1.5);
    assert_true(at[8]->b && !at[9]->b && at[8]->tag == P_BOOL);
}

static void strings_hold_any_byte(void **state)
{
    Ctx *cx = *state;
    Pickle *p = PICKLE("X\x03\0\0\0a\0b");
    assert_int_equal(p->s->len, 3);
    assert_memory_equal(p->s->s, "a\0b", 3);
}

static void shared_values_are_one_pointer(void **state)
{
    Ctx *cx = *state;
    Pickle *p = PICKLE("]q\0(K\1K\2eh\0\x86");
    assert_int_equal(p->tag, P_TUPLE);
    assert_ptr_equal(p->seq.at[0], p->seq.at[1]);
    assert_int_equal(p->seq.at[0]->seq.n, 2);
}

/* ((1, 2), (1, 2), (1, 3), (), (), (1, 2.0), (1, 2.0)): sizes and strides come by the thousand. */
static void equal_tuples_of_ints_are_one_value(void **state)
{
    Ctx *cx = *state;
    Pickle *p = PICKLE("((K\1K\2tK\1K\2\x86K\1K\3\x86))"
                       "K\1G\x40\0\0\0\0\0\0\0\x86K\1G\x40\0\0\0\0\0\0\0\x86t");
    assert_int_equal(p->seq.n, 7);
    Pickle **at = p->seq.at;
    assert_ptr_equal(at[0], at[1]);
    assert_ptr_equal(at[3], at[4]);
    assert_true(at[0] != at[2] && at[5] != at[6]);
    assert_int_equal(at[0]->seq.at[1]->i, 2);
    assert_int_equal(at[2]->seq.at[1]->i, 3);
    assert_true(pickle_is_ints(at[0]) && pickle_is_ints(at[3]) && !pickle_is_ints(at[5]));
    assert_false(pickle_is_ints(at[0]->seq.at[0]));
}

static void lists_and_dicts_grow_in_order(void **state)
{
    Ctx *cx = *state;
    Out o = { 0 };
    out_text(&o, "]");
    for (int i = 0; i < 1000; i++) {
        if (i % 3)
            out_text(&o, "K"), out_le(&o, (uint64_t)i & 255, 1), out_text(&o, "a");
        else
            out_text(&o, "(K"), out_le(&o, (uint64_t)i & 255, 1), out_text(&o, "e");
    }
    Pickle *p = pickle(cx, (char *)o.p, o.n, NULL);
    assert_int_equal(p->seq.n, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(p->seq.at[i]->i, i & 255);
    out_free(&o);
    p = PICKLE("}K\1K\2s(K\3K\4K\5K\6u");
    assert_int_equal(p->tag, P_DICT);
    assert_int_equal(p->seq.n, 6);
    assert_int_equal(p->seq.at[4]->i, 5);
}

static const char *const torch_allowed[] = { "torch._utils _rebuild_tensor_v2", "torch *",
                                             "__torch__*", "collections OrderedDict", NULL };

static void objects_are_data(void **state)
{
    Ctx *cx = *state;
    static const char module[] = "c__torch__.net\nNet\nq\0)\x81}(X\1\0\0\0wctorch._utils\n_rebuild_"
                                 "tensor_v2\n(X\7\0\0\0storagectorch\nFloatStorage\ntQK\0\x86Rub";
    Pickle *p = pickle(cx, module, sizeof module - 1, torch_allowed);
    assert_non_null(p);
    assert_int_equal(p->tag, P_OBJECT);
    assert_string_equal(p->fn->global.module->s, "__torch__.net");
    assert_string_equal(p->fn->global.name->s, "Net");
    assert_int_equal(p->state->tag, P_DICT);
    Pickle *call = p->state->seq.at[1];
    assert_int_equal(call->tag, P_CALL);
    assert_int_equal(call->args->seq.at[0]->tag, P_PERSISTENT);
    assert_string_equal(call->args->seq.at[0]->pid->seq.at[1]->global.name->s, "FloatStorage");
}

static void an_ordered_dict_is_a_dict(void **state)
{
    Ctx *cx = *state;
    static const char dict[] =
        "ccollections\nOrderedDict\nq\0)Rq\1(X\1\0\0\0wK\1u}X\x09\0\0\0_metadataNsb";
    Pickle *p = pickle(cx, dict, sizeof dict - 1, torch_allowed);
    assert_non_null(p);
    assert_int_equal(p->tag, P_DICT);
    assert_int_equal(p->seq.n, 2);
}

/* The hooks of two tensors, which stand in their arguments, are one dict; one that has a number in
 * the memo may be filled yet. */
static void empty_dicts_of_hooks_are_one_value(void **state)
{
    Ctx *cx = *state;
    static const char call[] = "c__torch__\nA\n(ccollections\nOrderedDict\n)RtR";
    static const char filled[] = "ccollections\nOrderedDict\n)Rq\0X\1\0\0\0wK\1s";
    Buf b = buf_new(cx);
    buf_str(&b, "(");
    buf_add(&b, call, sizeof call - 1);
    buf_add(&b, call, sizeof call - 1);
    buf_add(&b, filled, sizeof filled - 1);
    buf_str(&b, "t");
    Pickle *p = pickle(cx, b.s, b.n, torch_allowed);
    assert_non_null(p);
    assert_int_equal(p->seq.n, 3);
    const Pickle *hooks = p->seq.at[0]->args->seq.at[0];
    assert_ptr_equal(hooks, p->seq.at[1]->args->seq.at[0]);
    assert_int_equal(hooks->tag, P_DICT);
    assert_int_equal(hooks->seq.n, 0);
    assert_int_equal(p->seq.at[2]->seq.n, 2);
}

static void other_classes_are_named(void **state)
{
    Ctx *cx = *state;
    static const char evil[] = "cos\nsystem\n(X\2\0\0\0lstR";
    assert_null(pickle(cx, evil, sizeof evil - 1, torch_allowed));
    assert_string_equal(
        error_text(cx, NULL, NULL)->s,
        "data.pkl: the pickle names the class os.system, which such a file does not hold");
}

static void bad_streams_are_refused(void **state)
{
    Ctx *cx = *state;
    static const struct {
        size_t n;
        const char *body, *text;
    } cases[] = {
#define BAD(body, text) { sizeof(body) - 1, body, text }
        BAD("", "it does not end with one value"),
        BAD("NN", "it does not end with one value"),
        BAD("(N", "it does not end with one value"),
        BAD("N.N", "it does not end with one value"),
        BAD("t", "there is no mark"),
        BAD("N\x86", "too few values are on the stack"),
        BAD("N(\x85", "too few values"),
        BAD("Na", "too few values"),
        BAD("NNa", "items are added to what is no list"),
        BAD("]NNs", "items are added to what is no dict"),
        BAD("}(Nu", "a dict has a key without a value"),
        BAD("(Nd", "a dict has a key without a value"),
        BAD("N(a", "too few values"),
        BAD("Nh\0", "a memo number that was never set"),
        BAD("Nr\xff\xff\xff\xff", "a memo number leaves a gap"),
        BAD("Nq\1", "a memo number leaves a gap"),
        BAD("q\0", "nothing is on the stack"),
        BAD("Nj\xff\xff\xff\xff", "a memo number that was never set"),
        BAD("N)R", "what is called is no class"),
        BAD("NNb", "state is set on what is no object"),
        BAD("ctorch", "a class name without an end"),
        BAD("Q", "nothing is on the stack"),
        BAD("X\xff\xff\xff\xffN", "it is cut short"),
        BAD("\x8a\x09\0\0\0\0\0\0\0\0\1", "an integer of more than 64 bits"),
        BAD("\x8a\xff", "an integer of more"),
        BAD("\x95", "opcode 0x95 is not one that torch writes"),
        BAD("i", "opcode 0x69"),
        BAD("]q\0h\0a", "the pickle holds a value that contains itself"),
        BAD("]q\0}(K\1h\0ua", "the pickle holds a value that contains itself"),
        BAD("(]q\0h\0at", "the pickle holds a value that contains itself"),
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_null(pickle(cx, cases[i].body, cases[i].n, NULL));
        if (!strstr(cx->error.text->s, cases[i].text))
            fail_msg("case %zu: %s", i, cx->error.text->s);
        ctx_restart(cx);
    }
    assert_null(pickle_read(cx, (Slice){ (const uint8_t *)"\x80\x04N.", 4 }, "x", NULL));
    assert_string_equal(cx->error.text->s, "this is no pickle of protocol 2");
}

static void every_truncation_is_refused(void **state)
{
    Ctx *cx = *state;
    static const char whole[] =
        "\x80\x02"
        "c__torch__\nNet\nq\0)\x81}(X\1\0\0\0wG\0\0\0\0\0\0\0\0J\1\2\3\4K\1ub.";
    assert_non_null(
        pickle_read(cx, (Slice){ (const uint8_t *)whole, sizeof whole - 1 }, "x", NULL));
    for (size_t n = 0; n < sizeof whole - 1; n++) {
        uint8_t *cut = malloc(n ? n : 1);
        memcpy(cut, whole, n);
        assert_null(pickle_read(cx, (Slice){ cut, n }, "x", NULL));
        assert_int_equal(cx->error.code, E_FORMAT);
        ctx_restart(cx);
        free(cut);
    }
}

static Out nested(int depth)
{
    Out o = { 0 };
    for (int i = 0; i < depth; i++)
        out_text(&o, "]");
    for (int i = 0; i < depth - 1; i++)
        out_text(&o, "a");
    return o;
}

static void depth_has_a_limit(void **state)
{
    Ctx *cx = *state;
    Out o = nested(200);
    assert_non_null(pickle(cx, (char *)o.p, o.n, NULL));
    out_free(&o);
    o = nested(201);
    assert_null(pickle(cx, (char *)o.p, o.n, NULL));
    assert_string_equal(cx->error.text->s,
                        "201 pickled values inside one another are over the limit of 200");
    out_free(&o);
    ctx_restart(cx);
    o = nested(300000);
    assert_null(pickle(cx, (char *)o.p, o.n, NULL));
    assert_int_equal(cx->error.code, E_LIMIT);
    out_free(&o);
}

/* Depth that grows after a list was put somewhere: the DAG is measured when all is read. */
static void depth_hidden_behind_the_memo(void **state)
{
    Ctx *cx = *state;
    Out o = { 0 };
    out_text(&o, "(");
    for (int i = 0; i < 250; i++) {
        out_text(&o, "]q"), out_le(&o, (uint64_t)i, 1);
        if (i > 0)
            out_text(&o, "h"), out_le(&o, (uint64_t)i - 1, 1), out_text(&o, "a");
    }
    out_text(&o, "t");
    assert_null(pickle(cx, (char *)o.p, o.n, NULL));
    assert_int_equal(cx->error.code, E_LIMIT);
    out_free(&o);
}

static void objects_have_a_limit(void **state)
{
    Ctx *cx = *state;
    cx->limit[LIMIT_OBJECTS] = 3;
    assert_non_null(PICKLE("NN\x86"));
    assert_null(PICKLE("]]]\x87"));
    assert_string_equal(cx->error.hint->s, "--limit objects=4, if you trust the file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(numbers),
        TEST(strings_hold_any_byte),
        TEST(shared_values_are_one_pointer),
        TEST(equal_tuples_of_ints_are_one_value),
        TEST(lists_and_dicts_grow_in_order),
        TEST(objects_are_data),
        TEST(an_ordered_dict_is_a_dict),
        TEST(empty_dicts_of_hooks_are_one_value),
        TEST(other_classes_are_named),
        TEST(bad_streams_are_refused),
        TEST(every_truncation_is_refused),
        TEST(depth_has_a_limit),
        TEST(depth_hidden_behind_the_memo),
        TEST(objects_have_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
