/* A trace graph handed over through the public interface: what it becomes, what is refused, what a
 * callback may do. */
#include "test.h"

#include <stdio.h>
#include <unistd.h>

#include "pt2onnx.h"

/* y = OP(x), x float32[2] */
typedef struct Small {
    pt2onnx_trace t;
    pt2onnx_node node;
    pt2onnx_type type[3];
    const char *name[3];
    uint32_t in, out;
    int64_t dim;
} Small;

static void make_small(Small *s, const char *op)
{
    memset(s, 0, sizeof *s);
    s->in = 1;
    s->out = 2;
    s->dim = 2;
    s->type[0] = (pt2onnx_type){ .rank = -1, .kind = "" };
    s->type[1] = s->type[2] = (pt2onnx_type){
        .dtype = 1, .rank = 1, .dims = &s->dim, .kind = "Tensor"
    };
    s->name[1] = "x";
    s->name[2] = "y";
    s->node = (pt2onnx_node){ .kind = op,
                              .source = "net.py(7): forward",
                              .scope = "act",
                              .in = &s->in,
                              .n_in = 1,
                              .out = &s->out,
                              .n_out = 1,
                              .id = 42 };
    s->t = (pt2onnx_trace){ .size = sizeof s->t,
                            .graph = { &s->node, 1, &s->in, 1, &s->out, 1 },
                            .n_value = 3,
                            .type = s->type,
                            .name = s->name };
}

static char path[64];

static int in_folder(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/handed_%ld.onnx", (long)getpid());
    return 0;
}

static int remove_output(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static int collect(void *user, const void *bytes, size_t n)
{
    char *text = user;
    strncat(text, bytes, n < 3000 ? n : 3000);
    return 0;
}

static void converts(Small *s, const pt2onnx_options *o, const char *expected)
{
    pt2onnx_error *e = NULL;
    char text[4096] = "";
    if (pt2onnx_convert_trace(&s->t, path, o, &e) != PT2ONNX_OK)
        fail_msg("%s", pt2onnx_error_message(e));
    assert_int_equal(pt2onnx_show(path, collect, text, NULL, &e), PT2ONNX_OK);
    assert_non_null(strstr(text, expected));
}

static void refuses(Small *s, const pt2onnx_options *o, pt2onnx_status status, const char *message)
{
    pt2onnx_error *e = NULL;
    assert_int_equal(pt2onnx_convert_trace(&s->t, path, o, &e), status);
    if (!strstr(pt2onnx_error_message(e), message))
        fail_msg("%s", pt2onnx_error_message(e));
    pt2onnx_error_free(e);
    assert_int_equal(access(path, F_OK), -1); /* nothing is left */
}

static void test_an_operator(void **state)
{
    (void)state;
    Small s;
    make_small(&s, "aten::relu");
    converts(&s, NULL, "%y: float32[2] = Relu(%x)");
}

static void test_numbers_out_of_range(void **state)
{
    (void)state;
    Small s;
    make_small(&s, "aten::relu");
    s.in = 3;
    refuses(&s, NULL, PT2ONNX_UNREADABLE, "the trace uses value 3, it has 3");
}

static void test_recorded_types_are_a_guard(void **state)
{
    (void)state;
    Small s;
    make_small(&s, "aten::relu");
    s.type[2].dtype = 11;
    refuses(&s, NULL, PT2ONNX_UNREADABLE, "records float64[2]");
}

static void test_an_unknown_operator_shows_the_users_line(void **state)
{
    (void)state;
    Small s;
    make_small(&s, "my::op");
    refuses(&s, NULL, PT2ONNX_CANNOT_CONVERT, "net.py:7");
}

/* ---- callbacks ---- */

static int answer_with_neg(void *user, struct pt2onnx_call *c)
{
    pt2onnx_type type;
    const void *constant;
    uint32_t x = 1;
    assert_string_equal(pt2onnx_call_name(c), "my::op");
    assert_int_equal(pt2onnx_call_node(c), 42);
    assert_int_equal(pt2onnx_call_n_in(c), 1);
    assert_int_equal(pt2onnx_call_in(c, 0, &type, &constant), 1);
    assert_int_equal(pt2onnx_call_in(c, 1, &type, &constant), 0);
    uint32_t y = pt2onnx_call_emit(c, user ? user : "Neg", &x, 1, NULL, 0, 1);
    if (!y)
        return -1;
    pt2onnx_call_result(c, &y, 1);
    return 0;
}

static int not_mine(void *user, struct pt2onnx_call *c)
{
    (void)user, (void)c;
    return 1;
}

static int fails(void *user, struct pt2onnx_call *c)
{
    (void)user;
    pt2onnx_call_fail(c, "no, thank you");
    return -1;
}

static pt2onnx_options with(const char *const *name, int (*fn)(void *, struct pt2onnx_call *),
                            void *user)
{
    pt2onnx_options o = PT2ONNX_OPTIONS;
    o.symbolic_names = name;
    o.n_symbolic_names = 1;
    o.symbolic = fn;
    o.user = user;
    return o;
}

static void test_a_callback_lowers_an_operator(void **state)
{
    (void)state;
    Small s;
    make_small(&s, "my::op");
    static const char *const name = "my::op";
    pt2onnx_options o = with(&name, answer_with_neg, NULL);
    converts(&s, &o, "%y: float32[2] = Neg(%x)");
    o.user = "Nothing";
    unlink(path);
    refuses(&s, &o, PT2ONNX_CANNOT_CONVERT, "Nothing is no operator of ONNX");
}

static void test_a_callback_may_leave_it_to_the_built_in(void **state)
{
    (void)state;
    Small s;
    make_small(&s, "aten::relu");
    static const char *const name = "aten::relu";
    pt2onnx_options o = with(&name, not_mine, NULL);
    converts(&s, &o, "%y: float32[2] = Relu(%x)");
}

static void test_a_callback_may_fail(void **state)
{
    (void)state;
    Small s;
    make_small(&s, "aten::relu");
    static const char *const name = "aten::relu";
    pt2onnx_options o = with(&name, fails, NULL);
    refuses(&s, &o, PT2ONNX_CANNOT_CONVERT, "no, thank you");
}

int main(void)
{
#define IN_FOLDER(f) cmocka_unit_test_setup_teardown(f, in_folder, remove_output)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_an_operator),
        IN_FOLDER(test_numbers_out_of_range),
        IN_FOLDER(test_recorded_types_are_a_guard),
        IN_FOLDER(test_an_unknown_operator_shows_the_users_line),
        IN_FOLDER(test_a_callback_lowers_an_operator),
        IN_FOLDER(test_a_callback_may_leave_it_to_the_built_in),
        IN_FOLDER(test_a_callback_may_fail),
    };
    return cmocka_run_group_tests_name("handed", tests, NULL, NULL);
}
