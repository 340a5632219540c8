/* source.c - reading and copying bytes of every kind of source. */
#include "base/limits.h"
#include "unit/files.h"

#include <pthread.h>
#include <sys/stat.h>
#ifdef __linux__
#include <sys/vfs.h>
#endif
#include <unistd.h>
#include <zlib.h>

enum { BIG = 3 << 20 }; /* more than one tile, more than one inflater buffer */

static uint8_t *pattern(size_t n)
{
    uint8_t *p = malloc(n);
    uint32_t x = 1;
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525 + 1013904223;
        p[i] = i % 3 ? (uint8_t)(x >> 24) : (uint8_t)(i >> 12);
    }
    return p;
}

static Source *file_source(Ctx *cx, const char *dir, const void *p, size_t n)
{
    char *path = path_in(dir, "in");
    write_file(path, p, n);
    Source *s = source_file(cx, path);
    free(path);
    assert_non_null(s);
    return s;
}

static uint8_t *deflated(const uint8_t *p, size_t n, size_t *packed)
{
    z_stream z = { 0 };
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    *packed = deflateBound(&z, n);
    uint8_t *out = malloc(*packed);
    z.next_in = (uint8_t *)p, z.avail_in = (uInt)n, z.next_out = out, z.avail_out = (uInt)*packed;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    *packed = z.total_out;
    deflateEnd(&z);
    return out;
}

static bool fill_with_arg(Ctx *cx, const void *arg, uint8_t *out, uint64_t size)
{
    (void)cx;
    memset(out, *(const uint8_t *)arg, size);
    return true;
}

static bool collect(void *user, const void *p, size_t n)
{
    FILE *f = user;
    return fwrite(p, 1, n, f) == n;
}

static void every_kind_copies_the_same_bytes(void **state)
{
    Ctx *cx = *state;
    char *dir = folder();
    char *to = path_in(dir, "out");
    uint8_t *p = pattern(BIG);
    size_t packed;
    uint8_t *z = deflated(p, BIG, &packed);
    Source *memory = source_memory(cx, p, BIG);
    Source *file = file_source(cx, dir, p, BIG);
    Source *inflating = source_deflated(cx, source_memory(cx, z, packed), 0, packed, BIG);
    static const uint8_t five = 5;
    Source *recipe = source_recipe(cx, fill_with_arg, &five, 1000);
    uint8_t *want = malloc(4 * (size_t)BIG);
    for (int through_fd = 0; through_fd < 2; through_fd++) {
        size_t n = 0;
        FILE *f = fopen(to, "wb");
        Sink s = through_fd ? (Sink){ .fd = fileno(f) }
                            : (Sink){ .fd = -1, .write = collect, .user = f };
        assert_true(sink_copy(cx, &s, (Bytes){ memory, 5, BIG - 5 }));
        assert_true(sink_copy(cx, &s, (Bytes){ file, 7, BIG - 8 }));
        assert_true(sink_copy(cx, &s, (Bytes){ inflating, 9, BIG - 9 }));
        assert_true(sink_copy(cx, &s, (Bytes){ recipe, 0, 1000 }));
        assert_true(sink_copy(cx, &s, (Bytes){ recipe, 10, 0 }));
        assert_true(sink_pad(cx, &s, 5000));
        memcpy(want + n, p + 5, BIG - 5), n += BIG - 5;
        memcpy(want + n, p + 7, BIG - 8), n += BIG - 8;
        memcpy(want + n, p + 9, BIG - 9), n += BIG - 9;
        memset(want + n, 5, 1000), n += 1000;
        memset(want + n, 0, 5000), n += 5000;
        assert_int_equal(s.at, n);
        fclose(f);
        assert_true(file_holds(to, want, n));
    }
    free(want), free(p), free(z), free(to);
    remove_folder(dir);
}

static void a_deflated_source_can_be_read_anywhere(void **state)
{
    Ctx *cx = *state;
    uint8_t *p = pattern(BIG), got[1000];
    size_t packed;
    uint8_t *z = deflated(p, BIG, &packed);
    Source *a = source_deflated(cx, source_memory(cx, z, packed), 0, packed, BIG);
    Source *b = source_deflated(cx, source_memory(cx, z, packed), 0, packed, BIG);
    static const size_t places[] = { 0, 1000, 200000, 100, BIG - 1000, 0, BIG - 1000 };
    for (size_t i = 0; i < COUNT(places); i++) {
        Source *s = i % 2 ? a : b;
        assert_true(bytes_read(cx, (Bytes){ s, 0, BIG }, places[i], got, sizeof got));
        assert_memory_equal(got, p + places[i], sizeof got);
    }
    free(p), free(z);
}

/* Bytes that count in `read` how many of them were asked for. */
typedef struct Counted {
    const uint8_t *p;
    uint64_t read;
} Counted;

static bool count_bytes(Ctx *cx, const void *arg, uint64_t at, uint8_t *out, uint64_t n)
{
    (void)cx;
    Counted *of = MUTABLE(Counted, arg);
    memcpy(out, of->p + at, (size_t)n);
    of->read += n;
    return true;
}

/* Eight readers go through a deflated source side by side, each through a part of its own: nobody
 * begins at its start again for each step. */
static void a_deflated_source_has_several_readers(void **state)
{
    Ctx *cx = *state;
    enum { N = 8, PART = BIG / N, STEP = 1000 };
    uint8_t *p = pattern(BIG);
    uint8_t got[STEP];
    size_t packed;
    uint8_t *z = deflated(p, BIG, &packed);
    Counted of = { z, 0 };
    Source *inner = source_parts(cx, count_bytes, 1, &of, packed);
    Bytes all = { source_deflated(cx, inner, 0, packed, BIG), 0, BIG };
    for (size_t at = 0; at + STEP <= PART; at += STEP)
        for (size_t i = 0; i < N; i++) {
            assert_true(bytes_read(cx, all, i * PART + at, got, STEP));
            assert_memory_equal(got, p + i * PART + at, STEP);
        }
    assert_true(of.read <= N * packed);
    free(p), free(z);
}

static void damaged_compressed_data_is_an_error(void **state)
{
    Ctx *cx = *state;
    uint8_t *p = pattern(100000);
    uint8_t *got = malloc(200000);
    size_t packed;
    uint8_t *z = deflated(p, 100000, &packed);
    Bytes longer = { source_deflated(cx, source_memory(cx, z, packed), 0, packed, 200000), 0,
                     200000 };
    assert_false(bytes_read(cx, longer, 0, got, 200000));
    assert_string_equal(cx->error.text->s, "compressed data ends after 100000 of 200000 bytes");
    ctx_restart(cx);
    Bytes cut = { source_deflated(cx, source_memory(cx, z, packed / 2), 0, packed / 2, 100000), 0,
                  100000 };
    assert_false(bytes_read(cx, cut, 0, got, 100000));
    assert_int_equal(cx->error.code, E_FORMAT);
    ctx_restart(cx);
    memset(z, 0xff, 100);
    Bytes bad = { source_deflated(cx, source_memory(cx, z, packed), 0, packed, 100000), 0, 100000 };
    assert_false(bytes_read(cx, bad, 0, got, 100000));
    assert_string_equal(cx->error.text->s, "compressed data is damaged after 0 bytes");
    free(p), free(z), free(got);
}

static void reading_outside_is_an_error(void **state)
{
    Ctx *cx = *state;
    static const uint8_t p[10] = { 0 };
    uint8_t out[20];
    Source *s = source_memory(cx, p, 10);
    static const struct {
        uint64_t off, len, at;
        size_t n;
    } cases[] = {
        { 0, 11, 0, 11 },        { 5, 6, 0, 1 },  { UINT64_MAX, 1, 0, 1 },
        { 1, UINT64_MAX, 0, 1 }, { 0, 10, 5, 6 }, { 0, 10, UINT64_MAX, 1 },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_false(
            bytes_read(cx, (Bytes){ s, cases[i].off, cases[i].len }, cases[i].at, out, cases[i].n));
        assert_int_equal(cx->error.code, E_FORMAT);
        ctx_restart(cx);
    }
    assert_true(bytes_read(cx, (Bytes){ NULL, 0, 0 }, 0, out, 0));
}

/* To the middle of a page, to the end of one, and a byte too few: what is mapped has zeros there,
 * or nothing. */
static void a_file_that_shrinks_is_an_error(void **state)
{
    Ctx *cx = *state;
    enum { LEAD = 7 };
    static const off_t left[] = { 1000, 2 << 20, BIG - 1 };
    char *dir = folder();
    char *path = path_in(dir, "in");
    char *to = path_in(dir, "out");
    uint8_t *p = pattern(BIG);
    for (size_t i = 0; i < COUNT(left); i++) {
        Source *s = file_source(cx, dir, p, BIG);
        assert_int_equal(truncate(path, left[i]), 0);
        FILE *f = fopen(to, "wb");
        Sink sink = { .fd = fileno(f) };
        assert_true(sink_pad(cx, &sink, LEAD));
        assert_false(sink_copy(cx, &sink, (Bytes){ s, 0, BIG }));
        assert_string_equal(cx->error.text->s, "the file became shorter while it was read");
        fclose(f);
        ctx_restart(cx);
    }
    free(p), free(path), free(to);
    remove_folder(dir);
}

/* From any place to any place, at the sizes where ways begin. */
static void a_large_copy_has_the_bytes(void **state)
{
    Ctx *cx = *state;
    enum { LARGE = 10 << 20 };
    static const uint64_t places[] = { 0, 64, 4096, 70001 }, leads[] = { 0, 7, 4096 };
    static const uint64_t sizes[] = { 1 << 20, (4 << 20) + 1, 9 << 20 };
    char *dir = folder();
    char *to = path_in(dir, "out");
    uint8_t *p = pattern(LARGE);
    uint8_t *got = malloc(LARGE);
    Source *s = file_source(cx, dir, p, LARGE);
    for (size_t i = 0; i < COUNT(places) * COUNT(leads) * COUNT(sizes); i++) {
        uint64_t at = places[i % COUNT(places)], lead = leads[i / COUNT(places) % COUNT(leads)];
        uint64_t n = sizes[i / COUNT(places) / COUNT(leads)];
        FILE *f = fopen(to, "w+b");
        Sink sink = { .fd = fileno(f) };
        assert_true(sink_pad(cx, &sink, lead) && sink_copy(cx, &sink, (Bytes){ s, at, n }));
        assert_int_equal(sink.at, lead + n);
        assert_int_equal(pread(fileno(f), got, LARGE, (off_t)lead), n);
        assert_memory_equal(got, p + at, n);
        fclose(f);
    }
    free(p), free(got), free(to);
    remove_folder(dir);
}

static void *read_all(void *arg)
{
    const int *from = arg;
    uint8_t *all = malloc(2 * BIG);
    size_t n = 0;
    for (ssize_t got = 1; got > 0; n += (size_t)got)
        got = read(*from, all + n, 2 * BIG - n);
    uint8_t *p = pattern(BIG);
    bool same = n == BIG && memcmp(all, p, BIG) == 0;
    free(all), free(p);
    return same ? arg : NULL;
}

static void a_large_copy_fits_a_pipe(void **state)
{
    Ctx *cx = *state;
    char *dir = folder();
    uint8_t *p = pattern(BIG);
    int ends[2];
    void *same;
    pthread_t reader;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pthread_create(&reader, NULL, read_all, &ends[0]), 0);
    Sink sink = { .fd = ends[1] };
    bool ok = sink_copy(cx, &sink, (Bytes){ file_source(cx, dir, p, BIG), 0, BIG });
    close(ends[1]);
    pthread_join(reader, &same);
    close(ends[0]);
    assert_true(ok && same);
    free(p);
    remove_folder(dir);
}

typedef struct Told {
    int n;
    double last;
} Told;

static void on_progress(void *user, const char *stage, double share)
{
    Told *t = user;
    assert_string_equal(stage, "writing");
    assert_true(share > t->last && share <= 1);
    t->n++;
    t->last = share;
}

/* 200 MB that the kernel copies are told in more than one piece, and the last of them is the
 * whole; what was written before does not count. */
static void what_is_written_is_told_by_its_bytes(void **state)
{
    Ctx *cx = *state;
    char *dir = folder();
    char *path = path_in(dir, "in");
    char *to = path_in(dir, "out");
    Told told = { 0 };
    cx->progress = on_progress;
    cx->progress_user = &told;
    FILE *in = fopen(path, "wb");
    assert_int_equal(ftruncate(fileno(in), 200 << 20), 0);
    FILE *f = fopen(to, "wb");
    Sink sink = { .fd = fileno(f) };
    assert_true(sink_pad(cx, &sink, 10000));
    assert_int_equal(told.n, 0);
    sink_expect(&sink, "writing", 200 << 20);
    assert_true(sink_copy(cx, &sink, (Bytes){ source_file(cx, path), 0, 200 << 20 }));
    assert_true(told.n > 1 && told.last == 1);
    cx->progress = NULL;
    fclose(f);
    fclose(in);
    free(path), free(to);
    remove_folder(dir);
}

#ifdef __linux__
/* ext4 sets aside the blocks of what is to come, and the file does not become longer. */
static void room_is_made_for_what_is_expected(void **state)
{
    (void)state;
    char *dir = folder();
    char *to = path_in(dir, "out");
    FILE *f = fopen(to, "wb");
    Sink sink = { .fd = fileno(f) };
    sink_expect(&sink, "writing", 8 << 20);
    struct stat st;
    struct statfs fs;
    assert_int_equal(fstat(fileno(f), &st), 0);
    assert_int_equal(fstatfs(fileno(f), &fs), 0);
    fclose(f);
    free(to);
    remove_folder(dir);
    assert_int_equal(st.st_size, 0);
    if (fs.f_type != 0xEF53 /* ext4 */)
        skip();
    assert_true((uint64_t)st.st_blocks * 512 >= 8 << 20);
}
#endif

/* In order, again, here and there, and behind a piece that the end of the file has cut. */
static void reads_of(size_t most, size_t size)
{
    uint8_t *got = malloc(most);
    uint8_t *all = pattern(size);
    char *dir = folder();
    Ctx *cx = ctx_new();
    Source *s = file_source(cx, dir, all, size);
    uint32_t x = 1;
    uint64_t at = 0;
    for (int i = 0; i < 5000; i++) {
        x = x * 1664525 + 1013904223;
        size_t n = (x >> 16) % most + 1;
        if (i % 7 == 0)
            at = (x >> 8) % size;
        if (i % 11 == 0)
            at -= at < 4 * most ? at : 4 * most;
        if (at + n > size)
            at = size - n;
        memset(got, 0, n);
        assert_true(bytes_read(cx, (Bytes){ s, 0, size }, at, got, n));
        assert_memory_equal(got, all + at, n);
        at += n + (i % 5 == 0 ? most * 3 / 2 : 0);
    }
    ctx_free(cx);
    free(got);
    free(all);
    remove_folder(dir);
}

static void small_reads_give_the_bytes_of_their_place(void **state)
{
    (void)state;
    reads_of(2 << 10, 100000);
    reads_of(64 << 10, 3000000);
    reads_of(100 << 10, 3000000);
}

/* Two that go through the rows of a weight side by side, as its mean and its variance do: what one
 * has read is there for the other, though the file has become shorter meanwhile. */
static void readers_side_by_side_share_what_they_read(void **state)
{
    (void)state;
    enum { SIZE = 8 << 20, ROWS = 256 << 10, READ = 16 << 10 };
    static uint8_t got[READ];
    uint8_t *all = pattern(SIZE);
    char *dir = folder();
    Ctx *cx = ctx_new();
    Source *s = file_source(cx, dir, all, SIZE);
    char *path = path_in(dir, "in");
    uint64_t readable = 0;
    for (uint64_t row = 0; row < ROWS; row += READ)
        assert_true(bytes_read(cx, (Bytes){ s, 0, SIZE }, row, got, READ));
    assert_int_equal(truncate(path, 0), 0);
    while (readable < SIZE && bytes_read(cx, (Bytes){ s, 0, SIZE }, readable, got, READ)) {
        assert_memory_equal(got, all + readable, READ);
        readable += READ;
    }
    assert_in_range(readable, ROWS, SIZE - READ);
    assert_string_equal(cx->error.text->s, "the file became shorter while it was read");
    ctx_free(cx);
    free(path);
    free(all);
    remove_folder(dir);
}

static void what_is_not_a_file_is_named(void **state)
{
    Ctx *cx = *state;
    assert_null(source_file(cx, "/nowhere/at all"));
    assert_string_equal(cx->error.text->s, "cannot open it: No such file or directory");
    ctx_restart(cx);
    assert_null(source_file(cx, "/tmp"));
    assert_string_equal(cx->error.text->s, "this is a directory, not a file");
    ctx_restart(cx);
    assert_null(source_file(cx, "/dev/zero"));
    assert_int_equal(cx->error.code, E_IO);
}

/* Counts its calls in *arg. */
static bool fill_and_count(Ctx *cx, const void *arg, uint8_t *out, uint64_t size)
{
    (void)cx;
    ++*MUTABLE(int, arg);
    memset(out, 3, (size_t)size);
    return true;
}

/* Item i is i, of 4 bytes. */
static bool count_up(Ctx *cx, const void *arg, uint64_t at, uint8_t *out, uint64_t n)
{
    (void)cx;
    *MUTABLE(uint64_t, arg) += n;
    for (uint64_t i = 0; i < n; i += 4)
        memcpy(out + i, &(uint32_t){ (uint32_t)((at + i) / 4) }, 4);
    return true;
}

static void a_recipe_that_is_read_in_parts_runs_once(void **state)
{
    Ctx *cx = *state;
    uint8_t byte;
    static const uint64_t sizes[] = { 1 << 10, 1 << 20, 100 << 20 };
    for (size_t k = 0; k < COUNT(sizes); k++) {
        int calls = 0;
        Source *s = source_recipe(cx, fill_and_count, &calls, sizes[k]);
        for (uint64_t i = 0; i < 5; i++)
            assert_true(bytes_read(cx, (Bytes){ s, 0, sizes[k] }, 7 * i, &byte, 1) && byte == 3);
        assert_int_equal(calls, 1);
    }
}

static void a_recipe_that_is_read_whole_again_is_kept(void **state)
{
    Ctx *cx = *state;
    enum { SIZE = 2 << 20 };
    uint8_t *all = malloc(SIZE);
    int calls = 0;
    Source *s = source_recipe(cx, fill_and_count, &calls, SIZE);
    for (int i = 0; i < 5; i++)
        assert_true(bytes_read(cx, (Bytes){ s, 0, SIZE }, 0, all, SIZE) && all[SIZE - 1] == 3);
    assert_int_equal(calls, 2);
    free(all);
}

static void a_recipe_that_learns_its_result_need_not_run(void **state)
{
    Ctx *cx = *state;
    enum { SIZE = 2 << 20 };
    uint8_t *all = malloc(SIZE);
    int calls = 0;
    Source *s = source_recipe(cx, fill_and_count, &calls, SIZE);
    memset(all, 3, SIZE);
    source_learn(cx, s, all);
    memset(all, 0, SIZE);
    assert_true(bytes_read(cx, (Bytes){ s, 0, SIZE }, 0, all, SIZE) && all[SIZE - 1] == 3);
    assert_int_equal(calls, 0);
    free(all);
}

/* Four large ones, each read in turn, are computed once; a fifth takes the place of the one that
 * was not read for longest. */
static void few_large_recipes_are_kept(void **state)
{
    Ctx *cx = *state;
    enum { N = 5, SIZE = 40 << 20 };
    Source *s[N];
    int calls[N] = { 0 };
    uint8_t byte;
    for (int i = 0; i < N; i++)
        s[i] = source_recipe(cx, fill_and_count, &calls[i], SIZE);
    for (int turn = 0; turn < 3; turn++)
        for (int i = 0; i < 4; i++)
            assert_true(bytes_read(cx, (Bytes){ s[i], 0, SIZE }, (uint64_t)turn, &byte, 1));
    assert_true(bytes_read(cx, (Bytes){ s[0], 0, SIZE }, 0, &byte, 1));
    assert_true(bytes_read(cx, (Bytes){ s[4], 0, SIZE }, 0, &byte, 1));
    for (int i = 0; i < N; i++)
        assert_int_equal(calls[i], 1);
    assert_true(bytes_read(cx, (Bytes){ s[0], 0, SIZE }, 0, &byte, 1));
    assert_true(bytes_read(cx, (Bytes){ s[1], 0, SIZE }, 0, &byte, 1));
    assert_int_equal(calls[0], 1);
    assert_int_equal(calls[1], 2);
}

/* Adds up in *user what it is given. */
static bool add_up(void *user, const void *p, size_t n)
{
    uint64_t *sum = user;
    for (size_t i = 0; i < n; i++)
        *sum += ((const uint8_t *)p)[i];
    return true;
}

/* Beyond a quarter of the limit on memory only the last one is kept. */
static void a_limit_on_memory_holds_for_recipes_too(void **state)
{
    Ctx *cx = *state;
    enum { N = 3, SIZE = 2 << 20 };
    Source *s[N];
    int calls[N] = { 0 };
    uint8_t byte;
    cx->limit[LIMIT_HEAP] = (int64_t)4 * 2 * SIZE;
    for (int i = 0; i < N; i++)
        s[i] = source_recipe(cx, fill_and_count, &calls[i], SIZE);
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < N; i++)
            for (uint64_t at = 0; at < 5; at++)
                assert_true(bytes_read(cx, (Bytes){ s[i], 0, SIZE }, at, &byte, 1));
    for (int i = 0; i < N; i++)
        assert_int_equal(calls[i], 2);
}

/* A piece of a recipe as a weight of its own, and the next piece: it is not computed for each. */
static void pieces_of_a_recipe_are_written_of_one_run(void **state)
{
    Ctx *cx = *state;
    enum { N = 8, SIZE = 2 << 20 };
    int calls = 0;
    Source *s = source_recipe(cx, fill_and_count, &calls, N * SIZE);
    uint64_t sum = 0;
    Sink sink = { .fd = SYS_NONE, .write = add_up, .user = &sum };
    for (uint64_t i = 0; i < N; i++)
        assert_true(sink_copy(cx, &sink, (Bytes){ s, i * SIZE, SIZE }));
    assert_int_equal(calls, 1);
    assert_int_equal(sum, 3 * N * SIZE);
}

static void a_part_is_computed_alone(void **state)
{
    Ctx *cx = *state;
    uint64_t computed = 0;
    uint64_t size = 4 << 20;
    uint32_t at[3];
    Source *s = source_parts(cx, count_up, 4, &computed, size);
    assert_true(bytes_read(cx, (Bytes){ s, 400, size - 400 }, 800, at, sizeof at));
    assert_int_equal(at[2], 302);
    assert_int_equal(computed, sizeof at);
    assert_true(bytes_read(cx, (Bytes){ s, 0, size }, 1202, at, 2)); /* half an item: whole */
    assert_int_equal(computed, sizeof at + size);
}

/* Who asks for one item after the other gets it from what was computed, a few items ahead. */
static void small_parts_are_computed_as_far_as_they_are_asked_for(void **state)
{
    Ctx *cx = *state;
    uint64_t computed = 0;
    uint32_t item;
    enum { SIZE = 4 << 10 };
    Source *s = source_parts(cx, count_up, 4, &computed, SIZE);
    for (uint64_t at = 0; at < SIZE; at += 4) {
        assert_true(bytes_read(cx, (Bytes){ s, 0, SIZE }, at, &item, 4) && item == at / 4);
        assert_in_range(computed, at + 4, at + 64);
    }
    assert_true(bytes_read(cx, (Bytes){ s, 0, SIZE }, 400, &item, 4) && item == 100);
    assert_int_equal(computed, SIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_kind_copies_the_same_bytes),
        TEST(a_deflated_source_can_be_read_anywhere),
        TEST(a_deflated_source_has_several_readers),
        TEST(damaged_compressed_data_is_an_error),
        TEST(reading_outside_is_an_error),
        TEST(a_file_that_shrinks_is_an_error),
        TEST(a_large_copy_has_the_bytes),
        TEST(a_large_copy_fits_a_pipe),
        TEST(small_reads_give_the_bytes_of_their_place),
        TEST(readers_side_by_side_share_what_they_read),
        TEST(what_is_not_a_file_is_named),
        TEST(a_recipe_that_is_read_in_parts_runs_once),
        TEST(a_recipe_that_is_read_whole_again_is_kept),
        TEST(a_recipe_that_learns_its_result_need_not_run),
        TEST(few_large_recipes_are_kept),
        TEST(a_limit_on_memory_holds_for_recipes_too),
        TEST(pieces_of_a_recipe_are_written_of_one_run),
        TEST(a_part_is_computed_alone),
        TEST(small_parts_are_computed_as_far_as_they_are_asked_for),
        TEST(what_is_written_is_told_by_its_bytes),
#ifdef __linux__
        TEST(room_is_made_for_what_is_expected),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
