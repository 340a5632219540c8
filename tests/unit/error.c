/* error.c - the first error wins, positions, the whole message. */
#include "unit/test.h"

#include "base/limits.h"

static const char code[] = "def forward(self, x):\n    a = 1\n\ty = F.grid_sample(x, g)\n";

static Text text_named(Ctx *cx, const char *name)
{
    return (Text){ .name = str_of(cx, name), .at = code, .n = sizeof code - 1 };
}

static void the_first_error_wins(void **state)
{
    Ctx *cx = *state;
    assert_false(fail(cx, E_VALUE, "first %d", 1));
    fail_hint(cx, "do this");
    assert_false(fail(cx, E_BUG, "second"));
    fail_hint(cx, "not that");
    assert_int_equal(cx->error.code, E_VALUE);
    assert_string_equal(error_text(cx, "pt2onnx", "net.pt")->s,
                        "pt2onnx: net.pt: first 1\n  try: do this");
    ctx_restart(cx);
    assert_false(ctx_failed(cx));
    fail(cx, E_BUG, "second");
    fail(cx, E_VALUE, "third");
    fail_hint(cx, "for the third, which nobody sees");
    assert_null(cx->error.hint);
}

static void the_message_shows_line_caret_module_and_calls(void **state)
{
    Ctx *cx = *state;
    Text net = text_named(cx, "net.py");
    uint32_t at = (uint32_t)(strstr(code, "F.grid") - code);
    Where outer = { .kind = WHERE_FUNCTION, .name = str_of(cx, "Net.forward") };
    Where call = { .up = &outer, .kind = WHERE_STATEMENT, .text = &net, .start = 26, .end = 31 };
    Where module = { .up = &call, .kind = WHERE_MODULE, .name = str_of(cx, "decoder.warp") };
    Where inner = { .up = &module, .kind = WHERE_FUNCTION, .name = str_of(cx, "Warp.forward") };
    Where statement = {
        .up = &inner, .kind = WHERE_STATEMENT, .text = &net, .start = at - 4, .end = at + 13
    };
    Where op = { .up = &statement,
                 .kind = WHERE_OP,
                 .name = str_of(cx, "aten::grid_sampler"),
                 .text = &net,
                 .start = at,
                 .end = at + 13 };
    cx->at = &op;
    fail(cx, E_UNSUPPORTED, "a 5-D input needs ONNX opset 20, the target is 17");
    fail_hint(cx, "--opset 20");
    cx->at = NULL;
    assert_string_equal(
        error_text(cx, "pt2onnx", "model.pt")->s,
        "pt2onnx: model.pt: aten::grid_sampler: a 5-D input needs ONNX opset 20, the target is 17\n"
        "  net.py:3:6 in Warp.forward, module decoder.warp\n"
        "       3 | \ty = F.grid_sample(x, g)\n"
        "         | \t    ^^^^^^^^^^^^^\n"
        "  called from net.py:2:5 in Net.forward\n"
        "  try: --opset 20");
}

static bool locate_line_41(Ctx *cx, const Text *t, uint32_t start, uint32_t end, Pos *out)
{
    (void)end;
    if (start == 0)
        return false;
    *out = (Pos){ .file = str_of(cx, "user.py"),
                  .line = 41,
                  .col = 9,
                  .len = 3,
                  .source = str_of(cx, "        é = x"),
                  .function = t->locate_arg };
    return true;
}

static void a_text_may_know_the_users_line(void **state)
{
    Ctx *cx = *state;
    Text t = text_named(cx, "code/__torch__/net.py");
    t.locate = locate_line_41;
    t.locate_arg = (void *)str_of(cx, "run");
    Where w = { .kind = WHERE_STATEMENT, .text = &t, .start = 1, .end = 2 };
    cx->at = &w;
    Pos p;
    assert_true(place_pos(cx, where_intern(cx), &p));
    assert_int_equal(p.line, 41);
    fail(cx, E_VALUE, "no");
    assert_string_equal(
        error_text(cx, NULL, NULL)->s,
        "no\n  user.py:41:9 in run\n      41 |         é = x\n         |         ^^^");
    ctx_restart(cx);
    w.start = w.end = 0; /* the file does not tell: the text itself is shown */
    cx->at = &w;
    assert_true(place_pos(cx, where_intern(cx), &p));
    assert_string_equal(p.file->s, "code/__torch__/net.py");
    Pos line;
    assert_true(place_line(cx, where_intern(cx), &line));
    assert_ptr_equal(line.file, p.file);
    assert_int_equal(line.line, p.line);
    assert_null(line.source);
    cx->at = NULL;
}

static void equal_chains_are_one_number(void **state)
{
    Ctx *cx = *state;
    assert_int_equal(where_intern(cx), 0);
    assert_null(place(cx, 0));
    Where a = { .kind = WHERE_MODULE, .name = str_of(cx, "layer1") };
    SourceId first = 0;
    for (uint32_t i = 0; i < 3000; i++) {
        Where b = { .up = &a, .kind = WHERE_STATEMENT, .start = i % 1000 };
        cx->at = &b;
        SourceId id = where_intern(cx);
        if (i == 0)
            first = id;
        if (i % 1000 == 0)
            assert_int_equal(id, first);
        assert_ptr_equal(cx->at, &b);
        assert_ptr_equal(b.up, &a);
        assert_string_equal(place_module(cx, id)->s, "layer1");
    }
    cx->at = NULL;
}

/* 1,000 calls of 100 operators: a screen, the first call of as many operators as fit, a number. */
static void refusals_fill_a_screen(void **state)
{
    Ctx *cx = *state;
    size_t lines = 0;
    for (int i = 0; i < 1000; i++)
        refuse(cx, 0, str_fmt(cx, "aten::op_%d", i < 900 ? 0 : i - 900), "call %d", i);
    assert_false(refusals_fail(cx));
    const char *text = error_text(cx, NULL, NULL)->s;
    for (const char *at = text; *at; at++)
        lines += *at == '\n';
    assert_int_equal(lines, 61);
    assert_non_null(strstr(text, "call 19\n"));
    assert_null(strstr(text, "call 20\n"));
    assert_non_null(strstr(text, "aten::op_40: call 940\n  ... and 940 more"));
}

static void refusals_are_listed_once(void **state)
{
    Ctx *cx = *state;
    Str op = str_of(cx, "aten::foo");
    assert_true(refusals_fail(cx));
    refuse(cx, 0, op, "is not known");
    refuse_hint(cx, "write a rule");
    refuse(cx, 0, op, "is not known");
    refuse(cx, 0, str_of(cx, "aten::bar"),
           "aten::bar: ONNX cannot say it"); /* its name is said once */
    assert_false(refusals_fail(cx));
    assert_string_equal(
        error_text(cx, "pt2onnx", "m.pt")->s,
        "pt2onnx: m.pt: 2 operator calls cannot be converted\n"
        "  aten::foo: is not known\n    try: write a rule\n  aten::bar: ONNX cannot say it");
    assert_int_equal(error_exit_code(cx->error.code), 1);
}

static void refusals_that_are_forgotten_may_come_again(void **state)
{
    Ctx *cx = *state;
    Str op = str_of(cx, "aten::foo");
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 1000; i++)
            refuse(cx, 0, op, "call %d", i);
        assert_int_equal(cx->refusals.n, 1000);
        refusals_forget(cx, 10 * (size_t)round);
        assert_int_equal(cx->refusals.n, 10 * round);
    }
    refuse(cx, 0, op, "call 19");
    assert_int_equal(cx->refusals.n, 20);
    ctx_restart(cx);
    refuse(cx, 0, op, "call 19");
    assert_int_equal(cx->refusals.n, 1);
}

static void notes_are_said_once(void **state)
{
    Ctx *cx = *state;
    note(cx, NOTE_ASSUMED, "x has rank %d", 4);
    note(cx, NOTE_ASSUMED, "x has rank %d", 4);
    note(cx, NOTE_CHANGED, "x has rank %d", 4);
    assert_int_equal(cx->notes.n, 2);
    ctx_restart(cx);
    assert_int_equal(cx->notes.n, 0);
    keep_begin(cx);
    note(cx, NOTE_DROPPED, "an assertion");
    keep_end(cx);
    note(cx, NOTE_ASSUMED, "x has rank 4");
    ctx_restart(cx);
    assert_int_equal(cx->notes.n, 1);
    assert_string_equal(cx->notes.at[0].text->s, "an assertion");
}

static void notes_that_are_kept_survive_others(void **state)
{
    Ctx *cx = *state;
    note(cx, NOTE_CHANGED, "of this evaluation");
    keep_begin(cx);
    note(cx, NOTE_ASSUMED, "x has 3 channels");
    keep_end(cx);
    ctx_restart(cx);
    assert_int_equal(cx->notes.n, 1);
    assert_string_equal(cx->notes.at[0].text->s, "x has 3 channels");
}

static void a_limit_names_its_option(void **state)
{
    Ctx *cx = *state;
    cx->limit[LIMIT_RECORDS] = 10;
    assert_true(limit_ok(cx, LIMIT_RECORDS, 10, "records"));
    assert_false(limit_ok(cx, LIMIT_RECORDS, 11, "records"));
    assert_string_equal(
        error_text(cx, NULL, NULL)->s,
        "11 records are over the limit of 10\n  try: --limit records=11, if you trust the file");
}

static void assert_printable(Ctx *cx, const char *text, const char *want)
{
    assert_string_equal(text_printable(cx, str_of(cx, text), 8)->s, want);
}

static void control_characters_are_escaped_and_lines_cut(void **state)
{
    Ctx *cx = *state;
    assert_printable(cx, "a\tb\nc", "a\tb\nc");
    assert_printable(cx, "\x1b[2J", "\\x1b[2J");
    assert_printable(cx, "\x7f\xc2\x9b", "\\x7f\\x9b");
    assert_printable(cx,
                     "\xe2\x80\xae"
                     "x",
                     "\\u202ex");
    assert_printable(cx, "\xc3\xa9\xf0\x9f\x98\x80", "\xc3\xa9\xf0\x9f\x98\x80");
    assert_printable(cx, "\xff\xc0\x80\xe2\x80", "\\xff\\xc0\\x80\\xe2\\x80");
    assert_printable(cx, "123456789\n123456789", "12345678 ...\n12345678 ...");
}

/* A program of one line of 10 MB shows the part around the place. */
static void a_long_line_is_shown_around_the_place(void **state)
{
    enum { LINE = 10000000, AT = 5000000 };
    Ctx *cx = *state;
    char *line = new_array(cx, char, LINE);
    memset(line, 'x', LINE);
    Text t = { .name = str_of(cx, "net.py"), .at = line, .n = LINE };
    Where w = { .kind = WHERE_STATEMENT, .text = &t, .start = AT, .end = LINE };
    cx->at = &w;
    fail(cx, E_VALUE, "no");
    Str text = error_text(cx, NULL, NULL);
    assert_true(text->len < 600);
    assert_non_null(strstr(text->s, "net.py:1:5000001\n       1 | ... xxx"));
    assert_non_null(strstr(text->s, "x ...\n         |     "));
    assert_non_null(strstr(text->s, " ^^^"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_error_wins),
        TEST(the_message_shows_line_caret_module_and_calls),
        TEST(a_text_may_know_the_users_line),
        TEST(equal_chains_are_one_number),
        TEST(refusals_are_listed_once),
        TEST(refusals_that_are_forgotten_may_come_again),
        TEST(refusals_fill_a_screen),
        TEST(notes_are_said_once),
        TEST(notes_that_are_kept_survive_others),
        TEST(a_limit_names_its_option),
        TEST(control_characters_are_escaped_and_lines_cut),
        TEST(a_long_line_is_shown_around_the_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
