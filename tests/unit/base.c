/* base.c - strings, maps, vectors, cursor, numbers. */
#include "unit/test.h"

#include "base/limits.h"

#include <fnmatch.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

static void strings_are_interned(void **state)
{
    Ctx *cx = *state;
    Str a = str_of(cx, "layer1.0.conv1");
    Str b = str_fmt(cx, "layer%d.%d.%s", 1, 0, "conv1");
    assert_ptr_equal(a, b);
    assert_true(str_starts(a, "layer1"));
    assert_true(str_ends(a, "conv1"));
    assert_false(str_starts(a, "layer1.0.conv12"));
    assert_true(str_n(cx, "a\0b", 3) != str_n(cx, "a\0c", 3));
    assert_ptr_equal(str_n(cx, NULL, 0), str_of(cx, ""));
    assert_false(str_is(NULL, ""));
    char many[32];
    for (int i = 0; i < 20000; i++) {
        snprintf(many, sizeof many, "name%d", i);
        Str s = str_of(cx, many);
        assert_ptr_equal(s, str_n(cx, many, strlen(many)));
        assert_string_equal(s->s, many);
    }
}

static void strings_outlive_a_restart(void **state)
{
    Ctx *cx = *state;
    Str s = str_of(cx, "kept");
    keep_begin(cx);
    int *kept = new(cx, int);
    keep_end(cx);
    *kept = 7;
    ctx_restart(cx);
    for (int i = 0; i < 1000; i++)
        memset(mem_alloc(cx, 100), 0xff, 100);
    assert_ptr_equal(s, str_of(cx, "kept"));
    assert_int_equal(*kept, 7);
}

static void a_long_text_grows(void **state)
{
    Ctx *cx = *state;
    Buf b = buf_new(cx);
    for (int i = 0; i < 10000; i++)
        buf_fmt(&b, "%d,", i % 10);
    assert_int_equal(b.n, 20000);
    Str s = buf_done(&b);
    assert_int_equal(s->len, 20000);
    assert_memory_equal(s->s + 19990, "5,6,7,8,9,", 10);
    Buf none = buf_new(cx);
    assert_int_equal(buf_done(&none)->len, 0);
}

/* What has no room in memory is refused at once, not character by character. */
static void a_fill_is_one_step(void **state)
{
    Ctx *cx = *state;
    Buf b = buf_new(cx);
    buf_fill(&b, '-', 0);
    buf_fill(&b, '-', 1000);
    buf_str(&b, "end");
    assert_int_equal(b.n, 1003);
    assert_memory_equal(b.s + 998, "--end", 6);
    cx->limit[LIMIT_HEAP] = 1 << 20;
    buf_fill(&b, '-', (size_t)1 << 40);
    assert_int_equal(b.n, 1003);
    assert_true(ctx_failed(cx));
}

static void the_nearest_word(void **state)
{
    (void)state;
    static const char *const words[] = {
        "opset", "output", "input",
        "a-word-of-sixty-four-letters-or-more-than-that-is-near-to-no-other-word", NULL
    };
    assert_string_equal(word_nearest("opst", 4, words), "opset");
    assert_string_equal(word_nearest("imputs", 6, words), "input");
    assert_string_equal(word_nearest("outputs=3", 7, words), "output");
    assert_string_equal(word_nearest("put", 3, (const char *const[]){ "pat", "pet", NULL }),
                        "pat");                /* the first of equals */
    assert_null(word_nearest("op", 2, words)); /* more than half differs */
    assert_null(word_nearest("", 0, words));
    assert_null(word_nearest(words[3], strlen(words[3]), words));
    assert_null(word_nearest("opset", 5, words + 4));
}

static void map_keeps_insertion_order(void **state)
{
    Ctx *cx = *state;
    Map m = { 0 };
    for (uintptr_t i = 1; i <= 5000; i++)
        map_put(cx, &m, (void *)(i * 64), (void *)i);
    map_put(cx, &m, (void *)64, NULL);
    assert_false(map_add(cx, &m, (void *)64, (void *)1));
    assert_int_equal(m.n, 5000);
    assert_ptr_equal(m.at[0].key, (void *)64);
    assert_null(map_get(&m, (void *)64));
    assert_non_null(map_find(&m, (void *)64));
    assert_null(map_find(&m, (void *)63));
    for (uintptr_t i = 2; i <= 5000; i++)
        assert_ptr_equal(map_get(&m, (void *)(i * 64)), (void *)i);
}

static void vectors_grow(void **state)
{
    Ctx *cx = *state;
    VEC(int) v = { 0 };
    for (int i = 0; i < 100000; i++)
        assert_true(vec_push(cx, &v, i));
    assert_int_equal(v.n, 100000);
    assert_int_equal(v.at[99999], 99999);
}

static void cursor_stays_failed(void **state)
{
    (void)state;
    static const uint8_t bytes[] = { 1, 2, 0, 3, 0, 0, 0, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0, 9 };
    Cursor c = cur_over(bytes, sizeof bytes);
    assert_int_equal(cur_u8(&c), 1);
    assert_int_equal(cur_u16(&c), 2);
    assert_int_equal(cur_u32(&c), 3);
    assert_true(cur_f64be(&c) == 1.5);
    assert_int_equal(cur_left(&c), 1);
    assert_int_equal(cur_u16(&c), 0);
    assert_true(c.failed);
    assert_int_equal(cur_u8(&c), 0);
    assert_int_equal(cur_left(&c), 0);
}

static void hashes_do_not_change(void **state)
{
    (void)state;
    assert_true(hash_bytes("abc", 3, 0) == hash_bytes("abc", 3, 0));
    assert_true(hash_bytes("abc", 3, 0) != hash_bytes("abd", 3, 0));
    assert_true(hash_bytes("abc", 3, 0) != hash_bytes("abc", 3, 1));
    assert_true(hash_bytes("a\0", 2, 0) != hash_bytes("a", 1, 0));
}

static void doubles_print_as_python_does(void **state)
{
    (void)state;
    static const struct {
        double v;
        const char *text;
    } cases[] = {
        { 0, "0" },
        { -0.0, "-0" },
        { 1, "1" },
        { -1.5, "-1.5" },
        { 0.1, "0.1" },
        { 1e-5, "1e-05" },
        { 1e-4, "0.0001" },
        { 1e16, "1e+16" },
        { 1e15, "1000000000000000" },
        { 123456789012345680.0, "1.2345678901234568e+17" },
        { 1.0 / 3, "0.3333333333333333" },
        { 5e-324, "5e-324" },
        { 2.2250738585072014e-308, "2.2250738585072014e-308" },
        { 1.7976931348623157e308, "1.7976931348623157e+308" },
        { 0x1p-44, "5.684341886080802e-14" },
        { 9007199254740993.0, "9007199254740992" },
        { 1e22, "1e+22" },
        { 1e23, "1e+23" },
        { 0.30000000000000004, "0.30000000000000004" },
        { INFINITY, "inf" },
        { -INFINITY, "-inf" },
        { NAN, "nan" },
    };
    char text[32];
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(format_double(text, cases[i].v), strlen(cases[i].text));
        assert_string_equal(text, cases[i].text);
    }
}

static void doubles_read_back(void **state)
{
    (void)state;
    uint64_t bits = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
        double v, back;
        memcpy(&v, &bits, sizeof v);
        char text[32];
        int n = format_double(text, v);
        const char *end;
        back = parse_double(text, (size_t)n, &end);
        assert_ptr_equal(end, text + n);
        assert_true(isnan(v) ? isnan(back) : memcmp(&back, &v, sizeof v) == 0);
    }
}

static void texts_that_are_partly_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t taken;
        double v;
    } cases[] = {
        { "1.5abc", 3, 1.5 },
        { "1e", 1, 1 },
        { "1e+", 1, 1 },
        { "-", 0, 0 },
        { ".", 0, 0 },
        { ".5", 2, 0.5 },
        { "5.", 2, 5 },
        { "", 0, 0 },
        { "1e400", 5, INFINITY },
        { "-1e400", 6, -INFINITY },
        { "1e-400", 6, 0 },
        { "0e999999999999", 14, 0 },
        { "1e99999999999999999999", 22, INFINITY },
        { "000123", 6, 123 },
        { "Infinity", 8, INFINITY },
        { "-inf", 4, -INFINITY },
        { "0.1000000000000000055511151231257827021181583404541015625", 57, 0.1 },
        { "0x10", 1, 0 },
        { " 1", 0, 0 },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *end;
        double v = parse_double(cases[i].text, strlen(cases[i].text), &end);
        assert_int_equal(end - cases[i].text, cases[i].taken);
        assert_true(v == cases[i].v);
    }
    assert_true(parse_double("12345", 2, NULL) == 12);
}

/* Halfway between two doubles, and a hair above it: 800 digits decide. */
static void very_many_digits_round_right(void **state)
{
    (void)state;
    char text[1200];
    int n = snprintf(text, sizeof text, "9007199254740993");
    assert_true(parse_double(text, (size_t)n, NULL) == 9007199254740992.0);
    text[n++] = '.';
    memset(text + n, '0', 1000);
    n += 1000;
    assert_true(parse_double(text, (size_t)n, NULL) == 9007199254740992.0);
    text[n++] = '1';
    assert_true(parse_double(text, (size_t)n, NULL) == 9007199254740994.0);
}

static void numbers_ignore_the_locale(void **state)
{
    (void)state;
    if (!setlocale(LC_ALL, "de_DE.UTF-8"))
        print_message(
            "numbers_ignore_the_locale: no German locale here, so only the C locale was tried\n");
    char text[32];
    format_double(text, 1.5);
    double v = parse_double("2.25", 4, NULL);
    setlocale(LC_ALL, "C");
    assert_string_equal(text, "1.5");
    assert_true(v == 2.25);
}

static void whole_numbers_of_text(void **state)
{
    static const struct {
        const char *text;
        bool fits;
        int64_t v;
    } cases[] = {
        { "0", true, 0 },
        { "-12", true, -12 },
        { "+7", true, 7 },
        { "9223372036854775807", true, INT64_MAX },
        { "9223372036854775808", false, 0 },
        { "-9223372036854775808", true, INT64_MIN },
        { "-9223372036854775809", false, 0 },
        { "", false, 0 },
        { "-", false, 0 },
        { "1.0", false, 0 },
        { "1e3", false, 0 },
        { "0x10", false, 0 },
        { "7 ", false, 0 },
    };
    (void)state;
    int64_t v;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(parse_int(cases[i].text, strlen(cases[i].text), &v), cases[i].fits);
        assert_true(!cases[i].fits || v == cases[i].v);
    }
    assert_true(parse_int("12, 3", 2, &v) && v == 12);
}

static void whole_numbers(void **state)
{
    (void)state;
    int64_t out;
    assert_true(whole_number(-3, &out) && out == -3);
    assert_true(whole_number(-0x1p63, &out) && out == INT64_MIN);
    assert_false(whole_number(0x1p63, &out));
    assert_false(whole_number(0.5, &out));
    assert_false(whole_number(NAN, &out));
    assert_false(whole_number(INFINITY, &out));
}

/* The system's own fnmatch says the same of each pattern of up to five bytes. */
static void patterns_match_as_fnmatch_does(void **state)
{
    static const char bytes[] = "ab*?[]!-\\";
    static const char *const texts[] = { "",  "a", "b", "ab", "ba",  "aab",
                                         "-", "]", "[", "!",  "\\a", "a-b" };
    (void)state;
    char pattern[6];
    for (int i = 0; i < 9 * 9 * 9 * 9 * 9; i++) {
        int n = 0;
        for (int rest = i; rest > 0; rest /= 9)
            pattern[n++] = bytes[rest % 9];
        pattern[n] = '\0';
        for (size_t k = 0; k < COUNT(texts); k++)
            if (word_matches(pattern, texts[k]) != (fnmatch(pattern, texts[k], 0) == 0))
                fail_msg("\"%s\" and \"%s\": %d", pattern, texts[k],
                         word_matches(pattern, texts[k]));
    }
    assert_true(word_matches("encoder.*.attn", "encoder.3.attn"));
    assert_false(word_matches("encoder.*.attn", "encoder.3.attn.q"));
    char text[40001];
    memset(text, 'a', 40000);
    text[40000] = '\0';
    assert_false(word_matches("a*a*a*a*a*b", text)); /* in the time of its length */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(strings_are_interned),
        TEST(strings_outlive_a_restart),
        TEST(the_nearest_word),
        TEST(patterns_match_as_fnmatch_does),
        TEST(a_long_text_grows),
        TEST(a_fill_is_one_step),
        TEST(map_keeps_insertion_order),
        TEST(vectors_grow),
        TEST(cursor_stays_failed),
        TEST(hashes_do_not_change),
        TEST(doubles_print_as_python_does),
        TEST(doubles_read_back),
        TEST(texts_that_are_partly_numbers),
        TEST(very_many_digits_round_right),
        TEST(numbers_ignore_the_locale),
        TEST(whole_numbers_of_text),
        TEST(whole_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
