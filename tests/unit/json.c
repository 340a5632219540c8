/* json.c - values, rules, escapes, the typed helpers; and the shared parsing cases when their
 * folder is there. */
#include "unit/test.h"

#include "archive/archive.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>

static Json over(Ctx *cx, const char *text)
{
    return json_over(cx, "x.json", (Slice){ (const uint8_t *)text, strlen(text) });
}

/* Reads everything; true when the text is sound. */
static bool sound(Ctx *cx, Slice text)
{
    Json j = json_over(cx, "x.json", text);
    JsonTag t;
    do {
        t = json_next(&j);
        if (t == J_STRING)
            json_string(&j);
    } while (t != J_END && t != J_ERROR);
    bool ok = t == J_END;
    assert_int_equal(ok, !ctx_failed(cx));
    ctx_restart(cx);
    return ok;
}

static void tags_come_in_order(void **state)
{
    Json j = over(*state, " {\"a\": [1, -2.5, null, true, false, \"s\"], \"b\": {}, \"c\": []} ");
    static const JsonTag want[] = { J_OBJECT,    J_STRING,     J_ARRAY,      J_INT,    J_FLOAT,
                                    J_NULL,      J_TRUE,       J_FALSE,      J_STRING, J_ARRAY_END,
                                    J_STRING,    J_OBJECT,     J_OBJECT_END, J_STRING, J_ARRAY,
                                    J_ARRAY_END, J_OBJECT_END, J_END,        J_END };
    for (size_t i = 0; i < COUNT(want); i++) {
        assert_int_equal(json_peek(&j), want[i]);
        assert_int_equal(json_next(&j), want[i]);
    }
}

static void numbers_keep_their_value(void **state)
{
    Ctx *cx = *state;
    static const struct {
        const char *text;
        JsonTag tag;
        double v;
    } cases[] = {
        { "0", J_INT, 0 },
        { "-0", J_INT, -0.0 },
        { "-9007199254740993", J_INT, -9007199254740992.0 },
        { "9223372036854775807", J_INT, 9223372036854775807.0 },
        { "-9223372036854775808", J_INT, -9223372036854775808.0 },
        { "9223372036854775808", J_FLOAT, 9223372036854775808.0 },
        { "-9223372036854775809", J_FLOAT, -9223372036854775809.0 },
        { "1e-05", J_FLOAT, 1e-5 },
        { "1e+300", J_FLOAT, 1e300 },
        { "1E2", J_FLOAT, 100 },
        { "-0.0", J_FLOAT, -0.0 },
        { "1e-999", J_FLOAT, 0 },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Json j = over(cx, cases[i].text);
        assert_int_equal(json_next(&j), cases[i].tag);
        assert_true(j.f == cases[i].v && !signbit(j.f) == !signbit(cases[i].v));
    }
    Json j = over(cx, "-9223372036854775808");
    int64_t i;
    assert_true(json_int(&j, &i));
    assert_true(i == INT64_MIN);
    j = over(cx, "9223372036854775808");
    assert_false(json_int(&j, &i));
    assert_string_equal(cx->error.text->s,
                        "x.json: byte 19: an integer of 64 bits is expected, not a number");
    ctx_restart(cx);
    j = over(cx, "1e999");
    assert_int_equal(json_next(&j), J_ERROR);
}

static void words_for_what_is_not_finite(void **state)
{
    Ctx *cx = *state;
    double v;
    Json j = over(cx, "[\"NaN\", \"Infinity\", \"-Infinity\", 3]");
    assert_true(json_enter_array(&j));
    assert_true(json_float(&j, &v) && isnan(v));
    assert_true(json_float(&j, &v) && v == INFINITY);
    assert_true(json_float(&j, &v) && v == -INFINITY);
    assert_true(json_float(&j, &v) && v == 3);
    assert_false(json_more(&j));
    j = over(cx, "[NaN, Infinity, -Infinity]");
    j.nan_words = true;
    assert_true(json_enter_array(&j));
    assert_true(json_float(&j, &v) && isnan(v));
    assert_true(json_float(&j, &v) && v == INFINITY);
    assert_true(json_float(&j, &v) && v == -INFINITY);
    assert_false(sound(cx, (Slice){ (const uint8_t *)"NaN", 3 }));
    assert_false(sound(cx, (Slice){ (const uint8_t *)"[-Infinity]", 11 }));
}

static void escapes_are_decoded(void **state)
{
    Ctx *cx = *state;
    static const struct {
        const char *text, *want;
        size_t n;
    } cases[] = {
        { "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8 },
        { "\"\\u0041\\u00e9\\u20AC\"", "A\xc3\xa9\xe2\x82\xac", 6 },
        { "\"\\ud83d\\ude00!\"", "\xf0\x9f\x98\x80!", 5 },
        { "\"a\\u0000b\"", "a\0b", 3 },
        { "\"\\ud83dx\"", "\xef\xbf\xbdx", 4 },
        { "\"\\ude00\"", "\xef\xbf\xbd", 3 },
        { "\"\\ud83d\\ud83d\\ude00\"", "\xef\xbf\xbd\xf0\x9f\x98\x80", 7 },
        { "\"\xc3\xa9\"", "\xc3\xa9", 2 },
        { "\"\"", "", 0 },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Json j = over(cx, cases[i].text);
        Str s;
        assert_true(json_str(&j, &s));
        assert_int_equal(s->len, cases[i].n);
        assert_memory_equal(s->s, cases[i].want, cases[i].n);
    }
}

/* A piece of the text itself, where that is possible. */
static void a_text_may_stay_where_it_is(void **state)
{
    Ctx *cx = *state;
    Json j = over(cx, "[\"plain\", \"\\u0041\\n\", null, \"\", 1]");
    Slice s;
    assert_true(json_enter_array(&j));
    assert_true(json_more(&j) && json_text(&j, &s));
    assert_ptr_equal(s.p, j.text.p + 2);
    assert_int_equal(s.n, 5);
    assert_true(json_more(&j) && json_text(&j, &s));
    assert_int_equal(s.n, 2);
    assert_memory_equal(s.p, "A\n", 2);
    assert_true(json_more(&j) && json_text(&j, &s));
    assert_null(s.p);
    assert_true(json_more(&j) && json_text(&j, &s));
    assert_int_equal(s.n, 0);
    assert_true(json_more(&j));
    assert_false(json_text(&j, &s));
}

/* Strings are read eight bytes at a time: what needs a second look is found at every place. */
static void strings_are_read_to_their_end(void **state)
{
    Ctx *cx = *state;
    static const struct {
        const char *inside;
        bool ok;
    } cases[] = { { "", true },     { "\\n", true },  { "\\u0041", true }, { "\xc3\xa9", true },
                  { "\x7f", true }, { "!#[]", true }, { "\x1f", false },   { "\x80", false },
                  { "\\x", false }, { "\xff", false } };
    for (size_t i = 0; i < COUNT(cases); i++)
        for (int before = 0; before < 20; before++)
            for (int behind = 0; behind < 20; behind++) {
                char text[64];
                int n = snprintf(text, sizeof text, "\"%.*s%s%.*s\"", before,
                                 "abcdefghijklmnopqrstuvwxyz", cases[i].inside, behind,
                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
                uint8_t *exact = malloc((size_t)n); /* a sanitizer sees what is read behind it */
                memcpy(exact, text, (size_t)n);
                if (sound(cx, (Slice){ exact, (size_t)n }) != cases[i].ok)
                    fail_msg("%s", text);
                assert_false(sound(cx, (Slice){ exact, (size_t)n - 1 }));
                free(exact);
            }
}

static void numbers_of_every_length(void **state)
{
    Ctx *cx = *state;
    char text[32];
    int64_t want = 0;
    for (int n = 1; n < 19; n++) {
        int64_t got;
        want = want * 10 + n % 10;
        for (int minus = 0; minus < 2; minus++) {
            snprintf(text, sizeof text, "%s%lld", minus ? "-" : "", (long long)want);
            Json j = over(cx, text);
            assert_true(json_int(&j, &got));
            assert_true(got == (minus ? -want : want) && j.f == (double)got);
        }
    }
}

static void helpers_walk_a_record(void **state)
{
    Ctx *cx = *state;
    Json j = over(cx,
                  "{\"name\": \"x\", \"skipped\": [{\"a\": [1]}, 2], \"on\": true, \"none\": "
                  "null, \"sizes\": [3, 4]}");
    Str key;
    Str name = NULL;
    Str none = str_of(cx, "");
    bool on = false;
    int64_t sum = 0, n;
    assert_true(json_enter_object(&j));
    while (json_key(&j, &key)) {
        if (str_is(key, "name"))
            assert_true(json_str(&j, &name));
        else if (str_is(key, "on"))
            assert_true(json_bool(&j, &on));
        else if (str_is(key, "none"))
            assert_true(json_str(&j, &none));
        else if (str_is(key, "sizes")) {
            assert_true(json_enter_array(&j));
            while (json_more(&j)) {
                assert_true(json_int(&j, &n));
                sum += n;
            }
        } else {
            assert_true(json_skip(&j));
        }
    }
    assert_false(j.failed);
    assert_int_equal(json_next(&j), J_END);
    assert_true(str_is(name, "x") && on && !none && sum == 7);
}

/* A value is skipped a second time by what is remembered of its end; what comes then is the same.
 */
static void ends_are_remembered(void **state)
{
    Ctx *cx = *state;
    Buf b = buf_new(cx);
    buf_str(&b, "{\"small\": [1, {}], \"large\": [[");
    for (int i = 0; i < 100; i++)
        buf_fmt(&b, "%s{\"name\": \"x%d\"}", i ? ", " : "", i);
    buf_str(&b, "], 7], \"behind\": 5}");
    Str text = buf_done(&b);
    JsonEnds ends = { 0 };
    Json j = over(cx, text->s);
    j.ends = &ends;
    for (int i = 0; i < 2; i++) {
        Json again = j;
        assert_true(json_skip(&again));
        assert_int_equal(json_next(&again), J_END);
        assert_int_equal(ends.of.n, 3);
    }
    Str key;
    int64_t n;
    assert_true(json_enter_object(&j));
    assert_true(json_key(&j, &key) && json_skip(&j));
    assert_true(json_key(&j, &key) && json_enter_array(&j));
    assert_true(json_skip(&j));
    assert_true(json_more(&j) && json_int(&j, &n) && n == 7);
    assert_false(json_more(&j));
    assert_true(json_key(&j, &key) && str_is(key, "behind"));
    assert_true(json_int(&j, &n) && n == 5);
    assert_false(json_key(&j, &key));
    assert_int_equal(json_next(&j), J_END);
    json_forget(cx, &ends);
}

/* [[item, ..], 7]: the items are read, their memory goes, and the list is skipped by its end. */
static void text_that_was_read_goes(void **state)
{
    enum { ITEMS = 100000, ITEM = 100 }; /* 10 MB */
    Ctx *cx = *state;
    size_t n = 0, from;
    char *text = new_array(cx, char, ITEMS *(ITEM + 1) + 100);
    assert_non_null(text);
    n += (size_t)sprintf(text, "[[");
    for (int i = 0; i < ITEMS; i++)
        n += (size_t)sprintf(text + n, "%s%*d", i ? "," : "", ITEM, i);
    n += (size_t)sprintf(text + n, "], 7]");
    JsonEnds ends = { 0 };
    Json j = json_over(cx, "text", (Slice){ (const uint8_t *)text, n });
    j.ends = &ends;
    Json items = j;
    Json first = j;
    assert_true(json_skip(&first));
    assert_true(json_enter_array(&items) && json_more(&items) && json_enter_array(&items));
    from = items.at;
    int64_t number;
    for (int i = 0; i < ITEMS; i++) {
        assert_true(json_more(&items) && json_int(&items, &number));
        assert_int_equal(number, i);
        json_discard(&items, &from);
    }
    assert_true(from > 8 << 20);
    assert_true(json_enter_array(&j) && json_more(&j) && json_skip(&j));
    assert_true(json_more(&j) && json_int(&j, &number) && number == 7);
    json_forget(cx, &ends);
}

static void errors_say_where(void **state)
{
    Ctx *cx = *state;
    static const struct {
        const char *text, *error;
    } cases[] = {
        { "", "byte 0: the text ends too early" },
        { "[1 2]", "byte 3: a comma or ] is expected" },
        { "[1,]", "byte 3: a value is expected" },
        { "{\"a\" 1}", "byte 5: a colon is expected after the key" },
        { "{\"a\": 1,}", "byte 8: a key in quotes is expected" },
        { "{1: 2}", "byte 1: a key in quotes is expected" },
        { "\"a", "byte 2: the text ends inside a string" },
        { "\"\\x\"", "byte 1: not an escape sequence" },
        { "\"\n\"", "byte 1: a control character inside a string" },
        { "\"\xff\"", "byte 1: not valid UTF-8" },
        { "1 2", "byte 2: more text follows the value" },
        { "01", "byte 1: more text follows the value" },
        { "1.", "byte 2: a digit is expected after the point" },
        { "[1", "byte 2: the text ends too early" },
        { "nul", "byte 0: a value is expected" },
        { "{\"a\"", "byte 4: a colon is" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Json j = over(cx, cases[i].text);
        while (json_next(&j) != J_ERROR)
            ;
        if (!strstr(cx->error.text->s, cases[i].error))
            fail_msg("%s: %s", cases[i].text, cx->error.text->s);
        assert_int_equal(json_next(&j), J_ERROR);
        ctx_restart(cx);
    }
}

static void loops_end_on_damaged_text(void **state)
{
    Ctx *cx = *state;
    static const char *const texts[] = { "[1, 2", "[1, x, 3]", "{\"a\": 1, \"b\"",
                                         "{\"a\": 1 \"b\": 2}", "[" };
    for (size_t i = 0; i < COUNT(texts); i++) {
        Json j = over(cx, texts[i]);
        int64_t v;
        Str key;
        if (texts[i][0] == '[') {
            assert_true(json_enter_array(&j));
            while (json_more(&j))
                if (!json_int(&j, &v))
                    break;
        } else {
            assert_true(json_enter_object(&j));
            while (json_key(&j, &key))
                if (!json_int(&j, &v))
                    break;
        }
        assert_true(j.failed && ctx_failed(cx));
        ctx_restart(cx);
    }
}

static void depth_has_a_limit(void **state)
{
    Ctx *cx = *state;
    char text[500];
    for (int depth = 200; depth <= 201; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        assert_int_equal(sound(cx, (Slice){ (uint8_t *)text, (size_t)depth * 2 }), depth == 200);
    }
}

/* The rules of the shared cases, for those who have not the folder. */
static void rules(void **state)
{
    static const struct {
        bool ok;
        const char *text;
    } cases[] = {
        { true, "[[],\n{}]" },
        { true, "\"\\u002c\"" },
        { true, "[0e+1]" },
        { true, "[123.456e-7]" },
        { true, "\t[]\r\n" },
        { true, "{\"a\":1,\"a\":2}" },
        { true, "\"\x7f\"" },
        { false, "[-]" },
        { false, "[+1]" },
        { false, "[.5]" },
        { false, "[1e]" },
        { false, "[0x1]" },
        { false, "[1,,2]" },
        { false, "[,1]" },
        { false, "{,}" },
        { false, "{\"a\"}" },
        { false, "{'a':1}" },
        { false, "[1]]" },
        { false, "[True]" },
        { false, "/* */1" },
        { false, "\"\\u12\"" },
        { false, "\"\\uD8\"" },
        { false, "\xef\xbb\xbf{}" },
        { false, "[\f1]" },
        { false, "\"\xc0\xaf\"" },
        { false, "\"\xed\xa0\x80\"" },
        { false, "\"\xf4\x90\x80\x80\"" },
        { false, "[\"a\"\"b\"]" },
        { false, "{\"a\":}" },
        { false, "]" },
        { false, "[}" },
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        if (sound(*state, (Slice){ (const uint8_t *)cases[i].text, strlen(cases[i].text) }) !=
            cases[i].ok)
            fail_msg("%s", cases[i].text);
}

static uint8_t *read_all(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    uint8_t *p = malloc(1 << 20);
    *n = fread(p, 1, 1 << 20, f);
    fclose(f);
    return p;
}

/* y_ must be read, n_ must be refused, i_ may be either but must not crash. */
static void the_shared_cases(void **state)
{
    static const char folder[] = "../shared/data/json-parsing-cases";
    DIR *dir = opendir(folder);
    if (!dir) {
        print_message("the_shared_cases: skipped, there is no folder %s\n", folder);
        skip();
    }
    int n = 0;
    for (struct dirent *e; (e = readdir(dir));) {
        char path[512];
        size_t size;
        if (!strstr(e->d_name, ".json"))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        uint8_t *p = read_all(path, &size);
        bool ok = sound(*state, (Slice){ p, size });
        if ((e->d_name[0] == 'y' && !ok) || (e->d_name[0] == 'n' && ok))
            fail_msg("%s", e->d_name);
        free(p);
        n++;
    }
    closedir(dir);
    assert_true(n > 250);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tags_come_in_order),
        TEST(numbers_keep_their_value),
        TEST(words_for_what_is_not_finite),
        TEST(escapes_are_decoded),
        TEST(a_text_may_stay_where_it_is),
        TEST(strings_are_read_to_their_end),
        TEST(numbers_of_every_length),
        TEST(helpers_walk_a_record),
        TEST(ends_are_remembered),
        TEST(text_that_was_read_goes),
        TEST(errors_say_where),
        TEST(loops_end_on_damaged_text),
        TEST(depth_has_a_limit),
        TEST(rules),
        TEST(the_shared_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
