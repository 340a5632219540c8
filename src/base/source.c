/* source.c - where bytes come from, and how they get into an output without passing through the
 * heap.
 *
 * A file is read with pread and copied by the kernel; we never look into a mapping of one, so a
 * file that shrinks while we read is an error and not a signal. A deflated range is inflated
 * forward, by an inflater for each place that somebody reads at (and of its own level, for an
 * archive deflated inside another one). A recipe is computed when it is read, in parts or whole. */
#include "base/internal.h"
#include "base/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

enum {
    TILE = 1 << 20,
    SMALL = 8 << 10,
    INFLATE_INPUT = 64 << 10,
    READERS = 16, /* places of deflated sources that are read side by side; 200 KB each */
    RESERVE_LEAST = 1 << 20, /* less is written as fast without */
    SYNC_STEP = 1 << 20,     /* goes to the disk at once */
    KERNEL_COPY = 1 << 26,   /* so that progress is told a few times a second */
    WINDOW = 16 << 10,
    WINDOW_LEAST = 4 << 10,
    WINDOW_READ = 2 << 10,
    LARGE_WINDOW = 640 << 10,
    LARGE_WINDOW_READ = 64 << 10,
    LARGE_WINDOW_BACK = 320 << 10, /* stays of it when it moves on: others read that again */
    SPARE = 16 << 20,
    AHEAD = 32,               /* bytes of those that are computed beyond what is asked for */
    COMPUTED = 16 << 10,      /* results of recipes of up to this size are kept .. */
    COMPUTED_MOST = 16 << 20, /* .. as long as all of them are no larger */
    WHOLES_BYTES = 64 << 20,  /* larger ones that are read in parts are kept up to this sum .. */
    WHOLES_LEAST = 4,         /* .. and as many of any size: what a node reads */
}; /* of address space: only what is touched costs memory */

/* n bytes from `at` on of a file, read at once for several readers. */
typedef struct FileWindow {
    uint8_t *room;
    uint64_t at;
    size_t n;
} FileWindow;

/* For reads of up to WINDOW_READ, and of up to LARGE_WINDOW_READ. */
typedef struct FileWindows {
    FileWindow small, large;
} FileWindows;

/* ---- making ---- */

static Source *source_new(Ctx *cx, SourceKind kind, uint64_t size)
{
    keep_begin(cx);
    Source *s = new(cx, Source);
    keep_end(cx);
    s->kind = kind;
    s->size = size;
    s->fd = SYS_NONE;
    s->next = cx->sources;
    cx->sources = s;
    return s;
}

/* Only regular files: what is read must stay readable at any offset. */
Source *source_file(Ctx *cx, const char *path)
{
    SysFile fd = sys_open_read(path);
    SysInfo info;
    if (fd == SYS_NONE || !sys_info(fd, &info)) {
        fail(cx, E_IO, "cannot open it: %s", strerror(errno));
        if (fd != SYS_NONE)
            sys_close(fd);
        return NULL;
    }
    if (info.kind != SYS_REGULAR) {
        if (info.kind == SYS_FOLDER)
            fail(cx, E_IO, "this is a directory, not a file");
        else
            fail(cx, E_IO, "this is not a regular file; save the model to a file first");
        sys_close(fd);
        return NULL;
    }
    Source *s = source_new(cx, SRC_FILE, info.size);
    keep_begin(cx);
    s->windows = new(cx, FileWindows);
    keep_end(cx);
    s->fd = fd;
    s->name = str_of(cx, path);
    return s;
}

Source *source_memory(Ctx *cx, const void *p, uint64_t n)
{
    Source *s = source_new(cx, SRC_MEMORY, n);
    s->mem = p;
    return s;
}

Source *source_deflated(Ctx *cx, Source *inner, uint64_t off, uint64_t packed, uint64_t size)
{
    Source *s = source_new(cx, SRC_DEFLATED, size);
    s->inner = inner;
    s->off = off;
    s->packed = packed;
    return s;
}

Source *source_recipe(Ctx *cx, RecipeFn fn, const void *arg, uint64_t size)
{
    Source *s = source_new(cx, SRC_RECIPE, size);
    s->recipe = fn;
    s->arg = arg;
    return s;
}

Source *source_parts(Ctx *cx, PartFn fn, uint32_t unit, const void *arg, uint64_t size)
{
    Source *s = source_new(cx, SRC_RECIPE, size);
    s->part = fn;
    s->unit = unit;
    s->arg = arg;
    return s;
}

void source_keep(Source *s) { s->dear = true; }

Source *source_stream(Ctx *cx, StreamFn fn, const void *arg, uint64_t size)
{
    Source *s = source_new(cx, SRC_STREAM, size);
    s->stream = fn;
    s->arg = arg;
    return s;
}

static uint64_t size_now(const Source *s)
{
    SysInfo info;
    return s->kind == SRC_FILE && sys_info(s->fd, &info) ? info.size : s->size;
}

/* Has the file been written to in the last ten seconds? More than any delay between two writes of
 * a copy, and than what clocks of two machines differ by. */
static bool is_fresh(const Source *s)
{
    SysInfo info;
    return s->kind == SRC_FILE && sys_info(s->fd, &info) && sys_now() - info.modified <= 10;
}

bool source_grows(const Source *s)
{
    if (is_fresh(s) && size_now(s) == s->size)
        sys_sleep_ms(250);
    return size_now(s) != s->size;
}

/* ---- reading ---- */

static bool short_file(Ctx *cx)
{
    return fail(cx, E_IO, "the file became shorter while it was read");
}

static bool read_straight(Ctx *cx, const Source *s, uint64_t at, uint8_t *out, size_t n)
{
    while (n > 0) {
        ptrdiff_t got = sys_read_at(s->fd, out, n, at);
        if (got < 0)
            return fail(cx, E_IO, "cannot read it: %s", strerror(errno));
        if (got == 0)
            return short_file(cx);
        out += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return true;
}

/* How much to read where a few bytes at `at` are wanted: more and more as long as one place
 * follows the other, little where there is a large weight between them. */
static size_t window_size(const FileWindow *w, uint64_t at)
{
    size_t n = WINDOW_LEAST;
    if (at >= w->at && at - w->at <= 2 * w->n)
        while (n <= w->n && n < WINDOW)
            n *= 2;
    return n;
}

static bool window_has(const FileWindow *w, uint64_t at, size_t n)
{
    return at >= w->at && at - w->at <= w->n && n <= w->n - (at - w->at);
}

/* The window begins at `at`, and is `size` bytes long or as long as the file is. What it has of
 * that is not read again. */
static bool move_window(Ctx *cx, const Source *s, FileWindow *w, uint64_t at, size_t size)
{
    size_t n = s->size - at < size ? (size_t)(s->size - at) : size;
    size_t stays = window_has(w, at, 0) ? (size_t)(w->at + w->n - at) : 0;
    if (stays)
        memmove(w->room, w->room + (at - w->at), stays);
    w->at = at;
    w->n = 0;
    if (!w->room || !read_straight(cx, s, at + stays, w->room + stays, n - stays))
        return false;
    w->n = n;
    return true;
}

/* Headers and small weights lie side by side in an archive: a small read takes what follows
 * along. */
static bool read_small(Ctx *cx, Source *s, uint64_t at, uint8_t *out, size_t n)
{
    FileWindow *w = &s->windows->small;
    if (!window_has(w, at, n)) {
        keep_begin(cx);
        w->room = w->room ? w->room : new_array(cx, uint8_t, WINDOW);
        keep_end(cx);
        if (!move_window(cx, s, w, at, window_size(w, at)))
            return false;
    }
    memcpy(out, w->room + (at - w->at), n);
    return true;
}

/* The mean of some rows of a weight and their variance are two readers of the same rows
 * (keep_computed). Reads that do not lie one behind the other are not
 * worth a window: then it is empty, and lies where the last one ended. */
static bool read_large(Ctx *cx, Source *s, uint64_t at, uint8_t *out, size_t n)
{
    FileWindow *w = &s->windows->large;
    if (!window_has(w, at, n)) {
        bool near = at <= w->at + w->n && at + (w->n ? LARGE_WINDOW : 0) >= w->at;
        if (near && !w->room)
            w->room = pages_new(0, LARGE_WINDOW);
        if (!near || !w->room) {
            *w = (FileWindow){ w->room, at + n, 0 };
            return read_straight(cx, s, at, out, n);
        }
        uint64_t back = at > w->at ? at - w->at : 0;
        back = back < LARGE_WINDOW_BACK ? back : LARGE_WINDOW_BACK;
        if (!move_window(cx, s, w, at - back, LARGE_WINDOW))
            return false;
    }
    memcpy(out, w->room + (at - w->at), n);
    return true;
}

static bool read_file(Ctx *cx, Source *s, uint64_t at, uint8_t *out, size_t n)
{
    if (n <= WINDOW_READ)
        return read_small(cx, s, at, out, n);
    return n <= LARGE_WINDOW_READ ? read_large(cx, s, at, out, n)
                                  : read_straight(cx, s, at, out, n);
}

/* An inflater of a deflated source, standing at byte `at` of what it gives. */
typedef struct Inflate {
    struct Inflate *next; /* the one that was read before */
    const Source *src;
    int level;          /* how many deflated sources lie around src */
    uint64_t at, taken; /* bytes given, bytes of input consumed */
    bool ended;
    z_stream z;
    uint8_t in[INFLATE_INPUT], skipped[INFLATE_INPUT];
} Inflate;

static voidpf inflate_alloc(voidpf opaque, uInt items, uInt size)
{
    (void)opaque;
    return base_malloc((size_t)items * size);
}

static void inflate_free(voidpf opaque, voidpf p)
{
    (void)opaque;
    base_free(p);
}

static int level_of(const Source *s)
{
    int level = 0;
    for (s = s->inner; s; s = s->inner) {
        if (s->kind != SRC_DEFLATED)
            break;
        level++;
    }
    return level;
}

static bool is_done(const Inflate *f) { return f->ended || f->at == f->src->size; }

/* The place in the list of the inflater that gets to byte `at` of s soonest; it holds NULL when all
 * of s are behind it already. */
static Inflate **inflate_slot(Ctx *cx, const Source *s, uint64_t at)
{
    Inflate **best = NULL;
    Inflate **slot = &cx->inflate;
    for (; *slot; slot = &(*slot)->next)
        if ((*slot)->src == s && (*slot)->at <= at && (!best || (*slot)->at > (*best)->at))
            best = slot;
    return best ? best : slot;
}

/* The place of one of this level that may begin anew: one that has come to its end, else, when
 * there are enough of them, the one that was not read for longest. It holds NULL when there is
 * none. */
static Inflate **free_slot(Ctx *cx, int level)
{
    Inflate **last = NULL;
    Inflate **slot = &cx->inflate;
    int n = 0;
    for (; *slot; slot = &(*slot)->next) {
        if ((*slot)->level != level)
            continue;
        if (is_done(*slot))
            return slot;
        last = slot;
        n++;
    }
    return n < READERS ? slot : last;
}

/* Takes the inflater out of the list. */
static Inflate *taken_from(Inflate **slot)
{
    Inflate *f = *slot;
    *slot = f->next;
    return f;
}

static void inflate_close(Inflate **slot)
{
    Inflate *f = taken_from(slot);
    inflateEnd(&f->z);
    base_free(f);
}

static Inflate *inflate_new(Ctx *cx, int level)
{
    Inflate *f = base_malloc(sizeof *f);
    if (f) {
        f->level = level;
        f->z = (z_stream){ .zalloc = inflate_alloc, .zfree = inflate_free };
        if (inflateInit2(&f->z, -MAX_WBITS) == Z_OK)
            return f;
        base_free(f);
    }
    fail(cx, E_MEMORY, "out of memory");
    return NULL;
}

/* A stream at the start of the source's deflated bytes, in no list: one of its level (a source
 * inside a source) begun anew, for an archive holds dozens of small ones. NULL when there is no
 * memory. */
static Inflate *inflate_open(Ctx *cx, const Source *s)
{
    int level = level_of(s);
    Inflate **slot = free_slot(cx, level);
    Inflate *f = *slot ? taken_from(slot) : inflate_new(cx, level);
    if (!f)
        return NULL;
    inflateReset(&f->z);
    f->z.avail_in = 0;
    f->src = s;
    f->at = f->taken = 0;
    f->ended = false;
    return f;
}

static bool refill(Ctx *cx, Inflate *f)
{
    uint64_t left = f->src->packed - f->taken;
    size_t n = left < INFLATE_INPUT ? (size_t)left : INFLATE_INPUT;
    Bytes packed = { f->src->inner, f->src->off, f->src->packed };
    if (n > 0 && !bytes_read(cx, packed, f->taken, f->in, n))
        return false;
    f->taken += n;
    f->z.next_in = f->in;
    f->z.avail_in = (uInt)n;
    return true;
}

/* The next n bytes. */
static bool inflate_next(Ctx *cx, Inflate *f, uint8_t *out, size_t n)
{
    while (n > 0) {
        if (f->ended)
            return fail(cx, E_FORMAT, "compressed data ends after %llu of %llu bytes",
                        (unsigned long long)f->at, (unsigned long long)f->src->size);
        if (f->z.avail_in == 0 && !refill(cx, f))
            return false;
        uInt room = n < TILE ? (uInt)n : TILE;
        f->z.next_out = out;
        f->z.avail_out = room;
        int r = inflate(&f->z, Z_NO_FLUSH);
        size_t got = room - f->z.avail_out;
        out += got;
        n -= got;
        f->at += got;
        f->ended = r == Z_STREAM_END || (r == Z_BUF_ERROR && f->taken == f->src->packed);
        if (r == Z_MEM_ERROR)
            return fail(cx, E_MEMORY, "out of memory");
        if (r != Z_OK && !f->ended)
            return fail(cx, E_FORMAT, "compressed data is damaged after %llu bytes",
                        (unsigned long long)f->at);
    }
    return true;
}

/* n bytes from `at` of what the deflated source becomes. An inflater goes forward only: two readers
 * of one source, each in its own place, get one each. */
static bool read_deflated(Ctx *cx, const Source *s, uint64_t at, uint8_t *out, size_t n)
{
    Inflate **slot = inflate_slot(cx, s, at);
    Inflate *f = *slot ? taken_from(slot) : inflate_open(cx, s);
    if (!f)
        return false;
    f->next = cx->inflate;
    cx->inflate = f;
    while (f->at < at) {
        uint64_t skip = at - f->at;
        if (!inflate_next(cx, f, f->skipped,
                          skip < sizeof f->skipped ? (size_t)skip : sizeof f->skipped))
            return false;
    }
    return inflate_next(cx, f, out, n);
}

/* Takes a computed weight out of the list of those that are kept (cx->wholes, below). */
static void forget_whole(Source **link)
{
    Source *s = *link;
    *link = s->next_whole;
    pages_free(MUTABLE(uint8_t, s->mem), 0, (size_t)s->size);
    s->mem = NULL;
    s->known = 0;
}

static void forget_all(Ctx *cx)
{
    while (cx->wholes)
        forget_whole(&cx->wholes);
}

/* Memory of the system for `size` bytes, and for no fewer than `least`. Where there is none,
 * weights that are kept make room. */
static uint8_t *pages_for(Ctx *cx, uint64_t size, uint64_t least)
{
    if (size >= SIZE_MAX || fault_of_size((size_t)size))
        return NULL;
    size_t bytes = (size_t)(size < least ? least : size);
    uint8_t *room = pages_new(0, bytes);
    if (!room && cx->wholes) {
        forget_all(cx);
        room = pages_new(0, bytes);
    }
    return room;
}

/* A model computes dozens of weights, and to get fresh memory from the system takes longer than to
 * compute them: up to SPARE bytes the room is used again. Two are kept: for a weight, and for what
 * is read of the one that it is made of. */
uint8_t *room_take(Ctx *cx, uint64_t size)
{
    if (size <= SPARE && cx->n_spare)
        return cx->spare[--cx->n_spare];
    return pages_for(cx, size, SPARE);
}

void room_give(Ctx *cx, uint8_t *p, uint64_t size)
{
    if (size <= SPARE && cx->n_spare < COUNT(cx->spare))
        cx->spare[cx->n_spare++] = p;
    else
        pages_free(p, 0, size <= SPARE ? SPARE : (size_t)size);
}

static bool compute(Ctx *cx, const Source *s, uint64_t at, uint8_t *out, uint64_t n)
{
    bool ok = s->part ? s->part(cx, s->arg, at, out, n) : s->recipe(cx, s->arg, out, n);
    return ok || ctx_failed(cx) ? ok : fail(cx, E_BUG, "a recipe gave up without an error");
}

static bool begin_to_keep(Ctx *cx, Source *s)
{
    if (s->size > COMPUTED || cx->computed > COMPUTED_MOST)
        return false;
    keep_begin(cx);
    s->mem = new_array(cx, uint8_t, s->size);
    keep_end(cx);
    cx->computed += s->mem ? s->size : 0;
    return s->mem;
}

/* A recipe of a few bytes may need a large weight, and several others ask for it (the mean of a
 * weight): it is computed once, and kept.
 *
 * Where parts can be computed it is no more than the first `upto` bytes and a few ahead: a variance
 * asks for the mean of one row after the other, and both read the row while it is in the window.
 * False: it is not kept, or after an error. */
static bool keep_computed(Ctx *cx, Source *s, uint64_t upto)
{
    if (!s->mem && !begin_to_keep(cx, s))
        return false;
    if (s->known >= upto)
        return true;
    upto = (upto + AHEAD - 1) / AHEAD * AHEAD;
    uint64_t n = (s->part && upto < s->size ? upto : s->size) - s->known;
    if (!compute(cx, s, s->known, MUTABLE(uint8_t, s->mem + s->known), n))
        return false;
    s->known += n;
    return true;
}

/* ---- recipes that are computed as a whole ----
 *
 * A product of two weights that a tile by tile chain reads 16 KB of would be computed once for each
 * tile. So what is read in parts but cannot be computed in parts, or is computed a second time, is
 * kept until others have taken its place: cx->wholes, the last one that was read first. */

/* Forgets those that were not read for longest. What is kept is no more than a quarter of the
 * user's limit on memory, but for the last one. */
static void forget_some(Ctx *cx)
{
    uint64_t most = (uint64_t)cx->limit[LIMIT_HEAP] / 4;
    uint64_t sum = 0;
    Source **link = &cx->wholes;
    for (int i = 0; *link; i++) {
        sum += (*link)->size;
        bool stays = i == 0 || (sum <= most && (i < WHOLES_LEAST || sum <= WHOLES_BYTES));
        if (stays)
            link = &(*link)->next_whole;
        else
            forget_whole(link);
    }
}

/* s, which is kept, was read just now. */
static void move_to_front(Ctx *cx, Source *s)
{
    Source **link = &cx->wholes;
    while (*link && *link != s)
        link = &(*link)->next_whole;
    if (!*link)
        return;
    *link = s->next_whole;
    s->next_whole = cx->wholes;
    cx->wholes = s;
}

static bool fail_for_whole(Ctx *cx, const Source *s)
{
    return fail(cx, E_MEMORY, "out of memory: a weight of %llu bytes must be computed whole",
                (unsigned long long)s->size);
}

static void remember(Ctx *cx, Source *s, uint8_t *all)
{
    s->mem = all;
    s->known = s->size;
    s->next_whole = cx->wholes;
    cx->wholes = s;
    forget_some(cx);
}

/* s comes into the list when it is there: while it is computed, what it is made of may be kept, and
 * others forgotten. */
static bool keep_whole(Ctx *cx, Source *s)
{
    uint8_t *room = pages_for(cx, s->size, 0);
    if (!room)
        return fail_for_whole(cx, s);
    if (!compute(cx, s, 0, room, s->size)) {
        pages_free(room, 0, (size_t)s->size);
        return false;
    }
    remember(cx, s, room);
    return true;
}

void source_learn(Ctx *cx, Source *s, const void *p)
{
    uint8_t *room = s->mem || s->size <= COMPUTED || !p ? NULL : pages_for(cx, s->size, 0);
    if (!room)
        return;
    memcpy(room, p, (size_t)s->size);
    remember(cx, s, room);
}

/* Can these bytes be computed by themselves, without work that is done again for others? */
static bool computes_alone(Source *s, uint64_t at, size_t n)
{
    if (s->dear)
        return false;
    if (s->part)
        return (at % s->unit == 0 && n % s->unit == 0) || (at == 0 && n == s->size);
    bool first = !s->computed;
    s->computed = true;
    return first && at == 0 && n == s->size;
}

static bool read_recipe(Ctx *cx, Source *s, uint64_t at, uint8_t *out, size_t n)
{
    bool kept = keep_computed(cx, s, at + n);
    if (ctx_failed(cx))
        return false;
    if (!kept && computes_alone(s, at, n))
        return compute(cx, s, at, out, n);
    if (!kept && !keep_whole(cx, s))
        return false;
    memcpy(out, s->mem + at, n);
    move_to_front(cx, s);
    return true;
}

/* The stream's bytes, and no more or fewer of them than its size. */
static bool run_stream(Ctx *cx, const Source *s, Sink *to)
{
    uint64_t start = to->at;
    bool ok = s->stream(cx, s->arg, to);
    if (ctx_failed(cx))
        return false;
    return (ok && to->at - start == s->size) || fail(cx, E_BUG, "a weight was not written whole");
}

/* What is wanted of a stream: n bytes from `at` on. `passed`: bytes that have gone by. */
typedef struct Window {
    uint64_t at, n, passed;
    uint8_t *out;
} Window;

static bool take_window(void *user, const void *p, size_t n)
{
    Window *w = user;
    uint64_t from = w->at > w->passed ? w->at : w->passed;
    uint64_t end = w->at + w->n < w->passed + n ? w->at + w->n : w->passed + n;
    if (from < end)
        memcpy(w->out + (from - w->at), (const uint8_t *)p + (from - w->passed),
               (size_t)(end - from));
    w->passed += n;
    return true;
}

/* n bytes from `at` of a stream, all of which is computed for them. */
static bool read_stream(Ctx *cx, const Source *s, uint64_t at, uint8_t *out, size_t n)
{
    Window w = { .at = at, .n = n, .out = out };
    Sink to = { .fd = SYS_NONE, .write = take_window, .user = &w };
    return run_stream(cx, s, &to);
}

static bool in_range(Ctx *cx, Bytes b)
{
    if (b.src && b.off <= b.src->size && b.len <= b.src->size - b.off)
        return true;
    return fail(cx, E_FORMAT, "%llu bytes at %llu lie outside their source of %llu bytes",
                (unsigned long long)b.len, (unsigned long long)b.off,
                (unsigned long long)(b.src ? b.src->size : 0));
}

/* See base.h. What a recipe or a stream gives is computed whole for it. */
bool bytes_read(Ctx *cx, Bytes b, uint64_t at, void *out, size_t n)
{
    if (n == 0)
        return true;
    if (!in_range(cx, b))
        return false;
    if (at > b.len || n > b.len - at)
        return fail(cx, E_FORMAT, "%zu bytes at %llu are wanted of a weight of %llu", n,
                    (unsigned long long)at, (unsigned long long)b.len);
    at += b.off;
    switch (b.src->kind) {
    case SRC_FILE:     return read_file(cx, b.src, at, out, n);
    case SRC_MEMORY:   memcpy(out, b.src->mem + at, n); return true;
    case SRC_DEFLATED: return read_deflated(cx, b.src, at, out, n);
    case SRC_RECIPE:   return read_recipe(cx, b.src, at, out, n);
    case SRC_STREAM:   return read_stream(cx, b.src, at, out, n);
    }
    return fail(cx, E_BUG, "a source of no kind");
}

void sources_close(Ctx *cx)
{
    while (cx->inflate)
        inflate_close(&cx->inflate);
    forget_all(cx);
    for (Source *s = cx->sources; s; s = s->next) {
        if (s->windows && s->windows->large.room)
            pages_free(s->windows->large.room, 0, LARGE_WINDOW);
        if (s->fd != SYS_NONE)
            sys_close(s->fd);
    }
    cx->sources = NULL;
    while (cx->n_spare)
        pages_free(cx->spare[--cx->n_spare], 0, SPARE);
}

/* ---- writing ---- */

void sink_expect(Sink *s, const char *stage, uint64_t bytes)
{
    s->stage = stage;
    s->start = s->at;
    s->expected = bytes;
    if (s->fd != SYS_NONE && bytes >= RESERVE_LEAST)
        sys_reserve(s->fd, bytes);
}

/* The disk works while the rest is made, and little is left to wait for at the end (out_commit). */
static void sync_written(Sink *s)
{
    uint64_t whole = s->at - s->at % SYNC_STEP;
    if (s->fd != SYS_NONE && whole > s->synced) {
        sys_sync_soon(s->fd, s->synced, whole - s->synced);
        s->synced = whole;
    }
}

static void count_written(Ctx *cx, Sink *s, size_t n)
{
    s->at += n;
    sync_written(s);
    if (!s->stage || !s->expected)
        return;
    tell_amount(cx, "bytes", s->at - s->start);
    tell_progress(cx, s->stage, (double)(s->at - s->start) / (double)s->expected);
}

/* A write may take less than all, and goes on. s->at counts what has really been written. */
bool sink_write(Ctx *cx, Sink *s, const void *p, size_t n)
{
    if (s->fd == SYS_NONE) {
        if (n > 0 && s->write && !s->write(s->user, p, n))
            return fail(cx, E_IO, "the receiver of the output stopped it");
        count_written(cx, s, n);
        return true;
    }
    for (const char *from = p; n > 0;) {
        ptrdiff_t put = sys_write(s->fd, from, n);
        if (put < 0)
            return fail(cx, E_IO, "cannot write the output: %s", strerror(errno));
        from += put;
        n -= (size_t)put;
        count_written(cx, s, (size_t)put);
    }
    return true;
}

bool sink_pad(Ctx *cx, Sink *s, uint64_t n)
{
    static const uint8_t zeros[4096];
    while (n > 0 && !ctx_failed(cx)) {
        size_t some = n < sizeof zeros ? (size_t)n : sizeof zeros;
        if (!sink_write(cx, s, zeros, some))
            return false;
        n -= some;
    }
    return n == 0;
}

/* Moves b forward over what it copied. Stops early, without an error, when this way does not
 * work. */
static bool copy_by_kernel(Ctx *cx, Sink *s, Bytes *b, int way)
{
    while (b->len > 0) {
        size_t n = b->len < KERNEL_COPY ? (size_t)b->len : KERNEL_COPY;
        ptrdiff_t put = sys_copy(way, s->fd, b->src->fd, b->off, n);
        if (put == SYS_CANNOT)
            return true;
        if (put < 0)
            return fail(cx, E_IO, "cannot write the output: %s", strerror(errno));
        if (put == 0)
            return true; /* the end of the file, or a file system that cannot: reading will tell */
        b->off += (uint64_t)put;
        b->len -= (uint64_t)put;
        count_written(cx, s, (size_t)put);
    }
    return true;
}

/* The spare room begins with a huge page, which the system clears: for a bias a few bytes of the
 * stack do. */
static bool copy_small(Ctx *cx, Sink *s, Bytes b)
{
    uint8_t small[SMALL];
    return bytes_read(cx, b, 0, small, (size_t)b.len) && sink_write(cx, s, small, (size_t)b.len);
}

static bool copy_by_tiles(Ctx *cx, Sink *s, Bytes b)
{
    if (b.len <= SMALL)
        return copy_small(cx, s, b);
    uint8_t *tile = room_take(cx, TILE);
    if (!tile)
        return fail(cx, E_MEMORY, "out of memory");
    bool ok = true;
    for (uint64_t at = 0; ok && at < b.len;) {
        size_t n = b.len - at < TILE ? (size_t)(b.len - at) : TILE;
        ok = bytes_read(cx, b, at, tile, n) && sink_write(cx, s, tile, n);
        at += n;
    }
    room_give(cx, tile, TILE);
    return ok;
}

/* All of a recipe that is computed as a whole, of which nothing is kept. */
static bool copy_recipe(Ctx *cx, Sink *s, const Source *recipe)
{
    uint8_t *all = room_take(cx, recipe->size);
    if (!all)
        return fail_for_whole(cx, recipe);
    bool ok = compute(cx, recipe, 0, all, recipe->size) &&
        sink_write(cx, s, all, (size_t)recipe->size);
    room_give(cx, all, recipe->size);
    return ok;
}

/* All of a stream goes straight to the sink; of a part of one, the whole is kept. */
static bool copy_stream(Ctx *cx, Sink *s, Bytes b)
{
    if (b.len == b.src->size)
        return run_stream(cx, b.src, s);
    uint8_t *part = room_take(cx, b.len);
    if (!part)
        return fail(cx, E_MEMORY, "out of memory");
    bool ok = read_stream(cx, b.src, b.off, part, (size_t)b.len) &&
        sink_write(cx, s, part, (size_t)b.len);
    room_give(cx, part, b.len);
    return ok;
}

/* See base.h: each kind of source in its cheapest way. */
bool sink_copy(Ctx *cx, Sink *s, Bytes b)
{
    if (b.len == 0)
        return true;
    if (!in_range(cx, b))
        return false;
    if (s->fd == SYS_NONE && !s->write) {
        s->at += b.len;
        return true;
    }
    switch (b.src->kind) {
    case SRC_MEMORY: return sink_write(cx, s, b.src->mem + b.off, (size_t)b.len);
    case SRC_RECIPE:
        if (!b.src->part && !b.src->mem && b.len == b.src->size)
            return copy_recipe(cx, s, b.src);
        break;
    case SRC_STREAM: return copy_stream(cx, s, b);
    case SRC_FILE:
        for (int way = 0; s->fd != SYS_NONE && way < SYS_WAYS; way++)
            if (!copy_by_kernel(cx, s, &b, way))
                return false;
        break;
    case SRC_DEFLATED: break;
    }
    return copy_by_tiles(cx, s, b);
}
