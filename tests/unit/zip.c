/* zip.c - sound archives in every form, and hostile ones. */
#include "unit/test.h"
#include "unit/bytes.h"

#include "archive/archive.h"

static const char code[] = "class Net(Module):\n  def forward(self, x):\n    return x\n";

static Out usual(bool zip64)
{
    ZipOut z = { 0 };
    zip_add(&z, "net/data/0", "weights weights", 15, 0, NULL);
    zip_add(&z, "net/code/net.py", code, sizeof code - 1, 8, NULL);
    zip_add(&z, "net/empty", "", 0, 0, NULL);
    zip_add(&z, "net/folder/", "", 0, 0, NULL);
    zip_add(&z, "net/version", "3\n", 2, 0, NULL);
    return zip_end(&z, zip64);
}

static Zip *opened(Ctx *cx, Out o) { return zip_open(cx, source_memory(cx, o.p, o.n), 0, o.n); }

static void assert_usual(Ctx *cx, Zip *z)
{
    assert_non_null(z);
    assert_int_equal(z->n, 4); /* the folder is no record */
    assert_string_equal(z->root->s, "net/");
    assert_null(zip_find(z, "version"));
    const ZipEntry *w = zip_find(z, "net/data/0");
    const ZipEntry *c = zip_find_in_root(z, "code/net.py");
    Bytes b;
    Slice s;
    char out[16] = { 0 };
    assert_true(zip_bytes(cx, z, w, &b));
    assert_int_equal(b.off % 64, z->off % 64);
    assert_true(bytes_read(cx, b, 0, out, 15));
    assert_string_equal(out, "weights weights");
    assert_true(zip_slice(cx, z, c, &s));
    assert_int_equal(s.n, sizeof code - 1);
    assert_string_equal((const char *)s.p, code);
    for (size_t i = 0; i < z->n; i++)
        assert_true(zip_check_crc(cx, z, &z->entry[i]));
}

static void archives_as_torch_writes_them(void **state)
{
    for (int zip64 = 0; zip64 < 2; zip64++) {
        Out o = usual(zip64);
        assert_usual(*state, opened(*state, o));
        out_free(&o);
    }
}

static void a_closed_archive_is_read_again(void **state)
{
    Ctx *cx = *state;
    Out o = usual(false);
    Zip *z = opened(cx, o);
    zip_close(cx, z);
    assert_null(zip_find(z, "net/data/0"));
    assert_null(zip_find_in_root(z, "code/net.py"));
    assert_true(zip_again(cx, z));
    assert_usual(cx, z);
    assert_true(zip_again(cx, z));
    out_free(&o);
}

/* What was learnt of the records goes by their number. */
static void a_changed_archive_is_not_read_again(void **state)
{
    Ctx *cx = *state;
    static const char name[] = "net/empty";
    Out o = usual(false);
    Zip *z = opened(cx, o);
    zip_close(cx, z);
    size_t at = o.n - sizeof name; /* in the directory, which is behind all records */
    while (memcmp((char *)o.p + at, name, sizeof name - 1) != 0)
        at--;
    ((char *)o.p)[at + sizeof name - 2] = '/';
    assert_false(zip_again(cx, z));
    assert_string_equal(cx->error.text->s, "the file has changed while it was read");
    assert_null(zip_find(z, "net/data/0"));
    out_free(&o);
}

static void a_record_is_found_by_its_folder(void **state)
{
    Ctx *cx = *state;
    Out o = usual(false);
    Zip *z = opened(cx, o);
    const ZipEntry *w = zip_find(z, "net/data/0");
    assert_non_null(w);
    assert_true(zip_in_root(z, w));
    assert_ptr_equal(zip_find_in(z, "data/", "0"), w);
    assert_ptr_equal(zip_find_in(z, "", "data/0"), w);
    assert_null(zip_find_in(z, "data/", ""));
    assert_null(zip_find_in(z, "data/", "00"));
    assert_null(zip_find_in(z, "dat", "0"));
    out_free(&o);
}

static void an_archive_inside_another_one(void **state)
{
    Ctx *cx = *state;
    Out inner = usual(true);
    for (int method = 0; method <= 8; method += 8) {
        ZipOut z = { 0 };
        zip_add(&z, "serialized_state_dict.pt", inner.p, inner.n, method, NULL);
        zip_add(&z, "version", "8.3", 3, 0, NULL);
        Out o = zip_end(&z, false);
        Zip *outer = opened(cx, o);
        assert_non_null(outer);
        assert_string_equal(outer->root->s, "");
        Bytes b;
        assert_true(zip_bytes(cx, outer, zip_find(outer, "serialized_state_dict.pt"), &b));
        assert_usual(cx, zip_open(cx, b.src, b.off, b.len));
        out_free(&o);
    }
    out_free(&inner);
}

static void a_comment_may_follow(void **state)
{
    Ctx *cx = *state;
    Out o = usual(false);
    o.p[o.n - 2] = 5;
    out_text(&o, "PK\5\6!");
    assert_usual(cx, opened(cx, o));
    out_free(&o);
}

/* Cut anywhere: an error, or (never) the whole. */
static void every_truncation_is_refused(void **state)
{
    (void)state;
    Out o = usual(true);
    for (size_t n = 0; n < o.n; n++) {
        uint8_t *cut = malloc(n ? n : 1);
        memcpy(cut, o.p, n);
        Ctx *cx = ctx_new();
        assert_null(zip_open(cx, source_memory(cx, cut, n), 0, n));
        assert_int_equal(cx->error.code, E_FORMAT);
        ctx_free(cx);
        free(cut);
    }
    out_free(&o);
}

/* Any byte of the headers changed: no crash, and no bytes from outside. */
static void every_changed_byte_is_survived(void **state)
{
    (void)state;
    Out o = usual(true);
    for (size_t i = 0; i < o.n; i++)
        for (int bit = 0; bit < 8; bit += 3) {
            o.p[i] ^= (uint8_t)(1 << bit);
            Ctx *cx = ctx_new();
            Zip *z = opened(cx, o);
            Slice s;
            for (size_t k = 0; z && k < z->n; k++)
                if (!zip_slice(cx, z, &z->entry[k], &s))
                    break;
            ctx_free(cx);
            o.p[i] ^= (uint8_t)(1 << bit);
        }
    out_free(&o);
}

static void refused(Ctx *cx, ZipOut *z, bool zip64, const char *text)
{
    Out o = zip_end(z, zip64);
    Zip *zip = opened(cx, o);
    Slice s;
    for (size_t i = 0; zip && i < zip->n; i++)
        if (!zip_slice(cx, zip, &zip->entry[i], &s))
            break;
    assert_true(ctx_failed(cx));
    assert_string_equal(cx->error.text->s, text);
    ctx_restart(cx);
    out_free(&o);
}

static void lies_are_named(void **state)
{
    Ctx *cx = *state;
    static const struct {
        ZipLie lie;
        int method;
        const char *text;
    } cases[] = {
        { { .set = LIE_PACKED | LIE_SIZE, .packed = 5000, .size = 5000 },
          0,
          "record a lies outside the archive" },
        { { .set = LIE_PACKED, .packed = 1 }, 0, "record a is stored, but its two sizes differ" },
        { { .set = LIE_HEADER, .header = 0xfffffff0 }, 0, "record a lies outside the archive" },
        { { .set = LIE_ZIP64 | LIE_HEADER, .header = UINT64_MAX - 10 },
          0,
          "record a lies outside the archive" },
        { { .set = LIE_ZIP64 | LIE_PACKED | LIE_SIZE,
            .packed = UINT64_MAX - 40,
            .size = UINT64_MAX - 40 },
          0,
          "record a lies outside the archive" },
        { { .set = LIE_SIZE | LIE_ZIP64, .size = 1ull << 40 },
          8,
          "record a claims to unpack 9 bytes to 1099511627776, which deflate cannot" },
        { { .set = LIE_SIZE, .size = 100 }, 8, "compressed data ends after 7 of 100 bytes" },
        { { .set = LIE_SIZE, .size = 3 }, 8, "record a is damaged: its checksum is" },
        { { .set = LIE_CRC, .crc = 1 }, 0, "record a is damaged: its checksum is" },
        { { .set = LIE_FLAGS, .flags = 1 }, 0, "record a is encrypted" },
        { { .set = LIE_METHOD, .method = 12 },
          0,
          "record a is packed by method 12; only stored and deflate are read: pack the archive "
          "again" },
        { { .set = LIE_LOCAL, .local_name_len = 60000 }, 0, "record a has a damaged header" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        ZipOut z = { 0 };
        zip_add(&z, "a", "content", 7, cases[i].method, &cases[i].lie);
        Out o = zip_end(&z, i % 2);
        Zip *zip = opened(cx, o);
        Slice s;
        assert_false(zip && zip_slice(cx, zip, &zip->entry[0], &s));
        if (strncmp(cx->error.text->s, cases[i].text, strlen(cases[i].text)) != 0)
            fail_msg("case %zu: %s", i, cx->error.text->s);
        assert_int_equal(error_exit_code(cx->error.code), 3);
        ctx_restart(cx);
        out_free(&o);
    }
}

static void two_records_on_the_same_bytes(void **state)
{
    Ctx *cx = *state;
    ZipOut z = { 0 };
    zip_add(&z, "a", "content", 7, 0, NULL);
    zip_add(&z, "b", "content", 7, 0, &(ZipLie){ .set = LIE_HEADER, .header = 0 });
    refused(cx, &z, false, "records a and b overlap");
    z = (ZipOut){ 0 };
    zip_add(&z, "a", "1", 1, 0, NULL);
    zip_add(&z, "a", "2", 1, 0, NULL);
    refused(cx, &z, true, "the archive holds two records named a");
}

static void huge_counts_cost_nothing(void **state)
{
    Ctx *cx = *state;
    ZipOut z = { 0 };
    zip_add(&z, "a", "content", 7, 0, NULL);
    z.n = 900000;
    refused(cx, &z, true, "the ZIP archive's directory is too small for its 900000 records");
    z = (ZipOut){ 0 };
    zip_add(&z, "a", "content", 7, 0, NULL);
    z.n = 0xfffffff0;
    refused(cx, &z, true, "4294967280 records are over the limit of 1000000");
    assert_true(arena_bytes(cx->keep) < 4 << 20);
}

/* 10 MB of zeros pack to 10 kB: within deflate's ratio, over what the user allows. */
static void a_bomb_meets_the_limit(void **state)
{
    Ctx *cx = *state;
    size_t n = 10 << 20;
    uint8_t *zeros = calloc(1, n);
    ZipOut z = { 0 };
    zip_add(&z, "bomb", zeros, n, 8, NULL);
    Out o = zip_end(&z, false);
    cx->limit[LIMIT_TEXT] = 1 << 20;
    Zip *zip = opened(cx, o);
    Slice s;
    assert_false(zip_slice(cx, zip, &zip->entry[0], &s));
    assert_int_equal(cx->error.code, E_LIMIT);
    assert_true(arena_bytes(cx->keep) < 4 << 20);
    out_free(&o);
    free(zeros);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(archives_as_torch_writes_them),
        TEST(a_closed_archive_is_read_again),
        TEST(a_changed_archive_is_not_read_again),
        TEST(a_record_is_found_by_its_folder),
        TEST(an_archive_inside_another_one),
        TEST(a_comment_may_follow),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(every_changed_byte_is_survived),
        TEST(lies_are_named),
        TEST(two_records_on_the_same_bytes),
        TEST(huge_counts_cost_nothing),
        TEST(a_bomb_meets_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
