/* arena.c - memory: arenas, freed whole; the arenas of a context.
 *
 * An arena is chunks, in which small things lie one behind the other, and blocks: a large array has
 * one of its own, so that it can grow where it stands (pages.c) and go when it is outgrown. The
 * chunks of an evaluation that has restarted serve the next one.
 *
 * A small allocation never fails, so that code need not test each one. When malloc refuses, an
 * arena falls back on a reserve made with it, which was never touched before; when the user's limit
 * is passed, memory is given for a sixteenth of the limit more. Either way the context has failed,
 * and code that has not looked at ctx_failed() when that too is used up does not go on: give_up. */
#include "base/internal.h"
#include "base/limits.h"

#include <stdlib.h>

enum {
    ALIGN = 8,
    SMALL_MAX = 64 << 10, /* an allocation of up to this size never fails */
#ifdef PT2ONNX_FAULTS
    CHUNK_MIN = 8 << 10, /* many small chunks: many places where memory can run out */
    CHUNK_MAX = 8 << 10,
    DENSE = 1 << 10,
#else
    CHUNK_MIN = 64 << 10, /* chunks double from this ... */
    CHUNK_MAX = 4 << 20,  /* ... to this */
    DENSE = 8 << 10,      /* a piece for dense things */
#endif
#ifdef __SANITIZE_ADDRESS__
    BLOCK_MIN = 64, /* a read of an array that is outgrown is found */
#else
    BLOCK_MIN = 16 << 10, /* arrays from this size on are blocks */
#endif
    RESERVE = 1 << 20,
};

typedef struct Chunk {
    struct Chunk *older;
    size_t size, used; /* without this head */
    size_t clean;      /* from here on nothing was ever written: it is zero */
    _Alignas(ALIGN) uint8_t at[];
} Chunk;

typedef struct Block {
    struct Block *newer, *older;
    Arena *of;
    size_t size;     /* without this head */
    uint64_t number; /* in order of making */
    _Alignas(ALIGN) uint8_t at[];
} Block;

/* Where mem_dense puts things: a piece of the chunk `in`. */
typedef struct Dense {
    Chunk *in;
    uint8_t *at;
    size_t left;
} Dense;

struct Arena {
    Chunk *newest, *reserve;
    Dense dense;
    Chunk *spare;     /* to be used again, empty */
    Block *blocks;    /* newest first */
    uint64_t n_block; /* made so far */
    size_t bytes;     /* of chunks in use and blocks, but for the untouched reserve */
    size_t next_size;
    bool spent;
    bool no_block; /* malloc has refused one: an array of that size may lie in a chunk */
};

/* ---- memory that nobody may look at, for the sanitizer ---- */

#ifdef __SANITIZE_ADDRESS__
void __asan_poison_memory_region(const volatile void *p, size_t n);
void __asan_unpoison_memory_region(const volatile void *p, size_t n);
static void forbid(const uint8_t *p, size_t n) { __asan_poison_memory_region(p, n); }
static void allow(const uint8_t *p, size_t n) { __asan_unpoison_memory_region(p, n); }
#else
static void forbid(const uint8_t *p, size_t n) { (void)p, (void)n; }
static void allow(const uint8_t *p, size_t n) { (void)p, (void)n; }
#endif

/* ---- chunks ---- */

static Chunk *chunk_new(size_t size)
{
    Chunk *c = pages_untouched(sizeof *c, size);
    if (c)
        c->size = size;
    return c;
}

static void chunks_free(Chunk *c)
{
    for (Chunk *older; c; c = older) {
        older = c->older;
        pages_untouched_free(c, sizeof *c, c->size);
    }
}

static void push_chunk(Arena *a, Chunk *c)
{
    c->older = a->newest;
    a->newest = c;
    a->bytes += c->size;
}

/* The first spare chunk that is large enough. */
static Chunk *take_spare(Arena *a, size_t size)
{
    for (Chunk **at = &a->spare; *at; at = &(*at)->older)
        if ((*at)->size >= size) {
            Chunk *c = *at;
            *at = c->older;
            return c;
        }
    return NULL;
}

/* Makes room for `room` more bytes in the newest chunk. */
static bool make_room(Arena *a, size_t room)
{
    size_t size = room > a->next_size ? room : a->next_size;
    Chunk *c = take_spare(a, size);
    if (!c && (c = chunk_new(size)) && a->next_size < CHUNK_MAX)
        a->next_size *= 2;
    if (c) {
        push_chunk(a, c);
        return true;
    }
    if (a->spent)
        return false;
    a->spent = true;
    push_chunk(a, a->reserve);
    return room <= a->reserve->size;
}

/* NULL when the newest chunk has no room. */
static inline void *bump(Arena *a, size_t size)
{
    Chunk *c = a->newest;
    size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (!c || c->size - c->used < size)
        return NULL;
    uint8_t *p = c->at + c->used;
    allow(p, size);
    if (c->used < c->clean)
        memset(p, 0, c->clean - c->used < size ? c->clean - c->used : size);
    c->used += size;
    return p;
}

static void go_back(Arena *a, Chunk *c, size_t used)
{
    forbid(c->at + used, c->used - used);
    if (a->dense.in == c && a->dense.at + a->dense.left > c->at + used)
        a->dense = (Dense){ 0 };
    if (c->clean < c->used)
        c->clean = c->used;
    c->used = used;
}

static void drop_newest(Arena *a)
{
    Chunk *c = a->newest;
    a->newest = c->older;
    a->bytes -= c->size;
    go_back(a, c, 0);
    if (c == a->reserve) {
        c->older = NULL;
        a->spent = false;
        return;
    }
    c->older = a->spare;
    a->spare = c;
}

/* ---- blocks ---- */

/* Makes the neighbours of b in the list point at b. */
static void link_block(Block *b)
{
    if (b->older)
        b->older->newer = b;
    if (b->newer)
        b->newer->older = b;
    else
        b->of->blocks = b;
    b->of->bytes += b->size;
}

static void *block_new(Arena *a, size_t size)
{
    Block *b = fault_of_size(size) ? NULL : pages_new(sizeof *b, size);
    if (!b)
        return NULL;
    *b = (Block){ .older = a->blocks, .of = a, .size = size, .number = a->n_block++ };
    link_block(b);
    return b->at;
}

static void block_free(Block *b)
{
    if (b->older)
        b->older->newer = b->newer;
    if (b->newer)
        b->newer->older = b->older;
    else
        b->of->blocks = b->older;
    b->of->bytes -= b->size;
    pages_free(b, sizeof *b, b->size);
}

static bool has_block(const Arena *a, const Block *b)
{
    const Block *at = a ? a->blocks : NULL;
    while (at && at != b)
        at = at->older;
    return at;
}

/* The block of an array of n bytes at p; NULL when it lies in a chunk. Once malloc
 * has refused a block to any arena, an array of this size may lie in a chunk. */
static Block *block_of(Ctx *cx, const void *p, size_t n)
{
    Block *b = (Block *)((uintptr_t)p - offsetof(Block, at));
    if (n < BLOCK_MIN)
        return NULL;
    const Arena *all[PHASES + 2] = { cx->run, cx->keep };
    memcpy(all + 2, cx->phase, sizeof cx->phase);
    bool no_block = false;
    for (size_t i = 0; i < COUNT(all); i++)
        no_block |= all[i] && all[i]->no_block;
    if (!no_block)
        return b;
    for (size_t i = 0; i < COUNT(all); i++)
        if (has_block(all[i], b))
            return b;
    return NULL;
}

/* ---- arenas ---- */

Arena *arena_new(void)
{
    Arena *a = base_malloc(sizeof *a);
    if (!a)
        return NULL;
    *a = (Arena){ .next_size = CHUNK_MIN, .reserve = chunk_new(RESERVE) };
    if (!a->reserve) {
        base_free(a);
        return NULL;
    }
    return a;
}

void arena_free(Arena *a)
{
    if (!a)
        return;
    arena_reset(a, (ArenaMark){ 0 });
    chunks_free(a->spare);
    chunks_free(a->reserve);
    base_free(a);
}

/* n zeroed bytes in a chunk; NULL: the reserve is used up. */
static void *in_chunk(Arena *a, size_t size)
{
    void *p = bump(a, size);
    if (!p && make_room(a, size + ALIGN))
        p = bump(a, size);
    return p;
}

void *arena_alloc(Arena *a, size_t size)
{
    void *p = size < BLOCK_MIN ? NULL : block_new(a, size);
    if (p || size > SMALL_MAX)
        return p;
    a->no_block |= size >= BLOCK_MIN;
    return in_chunk(a, size);
}

ArenaMark arena_mark(const Arena *a)
{
    return (ArenaMark){ a->newest, a->newest ? a->newest->used : 0, a->n_block };
}

void arena_reset(Arena *a, ArenaMark m)
{
    while (a->newest && a->newest != m.chunk)
        drop_newest(a);
    if (a->newest)
        go_back(a, a->newest, m.used);
    while (a->blocks && a->blocks->number >= m.n_block)
        block_free(a->blocks);
}

size_t arena_bytes(const Arena *a) { return a->bytes; }
bool arena_spent(const Arena *a) { return a->spent; }

/* ---- a context's memory ---- */

static Arena *arena_now(Ctx *cx)
{
    if (cx->keeping == 0)
        return cx->run;
    Arena *own = cx->keeping == cx->in.depth ? cx->phase[cx->in.phase] : NULL;
    return own ? own : cx->keep;
}

static uint64_t memory_held(const Ctx *cx)
{
    uint64_t bytes = arena_bytes(cx->run) + arena_bytes(cx->keep) + arena_bytes(cx->scratch);
    for (Phase p = PHASE_NONE + 1; p < PHASES; p++)
        bytes += cx->phase[p] ? arena_bytes(cx->phase[p]) : 0;
    return bytes;
}

/* After each allocation: has memory run out, or is the user's limit passed? */
static void check_memory(Ctx *cx, size_t before, const Arena *a)
{
    uint64_t limit = (uint64_t)cx->limit[LIMIT_HEAP];
    if (arena_spent(a))
        fail(cx, E_MEMORY, "out of memory");
    if (arena_bytes(a) == before)
        return;
    check_time(cx);
    if (!ctx_failed(cx))
        (void)!limit_ok(cx, LIMIT_HEAP, memory_held(cx), "bytes of memory");
    else if (memory_held(cx) > limit && memory_held(cx) - limit > limit / 16)
        give_up(cx);
}

/* There is no reserve left for a small allocation, whose caller would use NULL unchecked. */
static void no_memory(Ctx *cx)
{
    fail(cx, E_MEMORY, "out of memory");
    give_up(cx);
    abort(); /* a caller outside `bounded`: a unit test, code of the user */
}

/* Where the newest chunk has no room, or for a block. */
static void *alloc_anew(Ctx *cx, Arena *a, size_t size)
{
    size_t before = arena_bytes(a);
    if (size > SMALL_MAX && !limit_ok(cx, LIMIT_HEAP, memory_held(cx) + size, "bytes of memory"))
        return NULL;
    void *p = arena_alloc(a, size);
    check_memory(cx, before, a);
    if (!p && size <= SMALL_MAX)
        no_memory(cx);
    if (!p)
        fail(cx, E_MEMORY, "out of memory");
    return p;
}

/* NULL, after an error, for more than 64 KB only. */
static inline void *alloc_in(Ctx *cx, Arena *a, size_t size)
{
    void *p = size < BLOCK_MIN ? bump(a, size) : NULL;
    return p ? p : alloc_anew(cx, a, size);
}

void *mem_alloc(Ctx *cx, size_t size) { return alloc_in(cx, arena_now(cx), size); }

/* Of a piece that holds nothing but these; NULL as mem_array. */
void *mem_dense(Ctx *cx, size_t size)
{
    Arena *a = arena_now(cx);
    size_t before = arena_bytes(a);
    size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (size > DENSE / 8)
        return mem_array(cx, size, 1);
    if (size > a->dense.left) {
        uint8_t *piece = in_chunk(a, DENSE);
        if (!piece)
            no_memory(cx);
        a->dense = (Dense){ a->newest, piece, DENSE };
    }
    void *p = a->dense.at;
    a->dense.at += size;
    a->dense.left -= size;
    if (arena_bytes(a) != before)
        check_memory(cx, before, a);
    return p;
}

/* *bytes: n * size. False, after an error: so much memory may not be asked for. */
static bool size_ok(Ctx *cx, size_t n, size_t size, uint64_t *bytes)
{
    if (n > SIZE_MAX / 2)
        return fail(cx, E_VALUE, "a size is negative: %lld", (long long)n);
    if (!umul_ok(n, size, bytes))
        return fail(cx, E_LIMIT, "an array of %zu items of %zu bytes does not fit in memory", n,
                    size);
    return *bytes <= INT64_MAX - memory_held(cx) ||
        limit_ok(cx, LIMIT_HEAP, *bytes, "bytes of memory");
}

void *mem_array(Ctx *cx, size_t n, size_t size)
{
    uint64_t bytes;
    return size_ok(cx, n, size, &bytes) ? mem_alloc(cx, bytes) : NULL;
}

void *mem_scratch(Ctx *cx, size_t n, size_t size)
{
    uint64_t bytes;
    return size_ok(cx, n, size, &bytes) ? alloc_in(cx, cx->scratch, bytes) : NULL;
}

void *mem_copy(Ctx *cx, const void *from, size_t n)
{
    void *p = mem_array(cx, n, 1);
    if (p && n)
        memcpy(p, from, n);
    return p;
}

void mem_give(Ctx *cx, const void *p, size_t n)
{
    Block *b = p ? block_of(cx, p, n) : NULL;
    if (b)
        block_free(b);
}

void mem_discard(const void *p, size_t n)
{
    forbid(p, n);
    sys_discard(MUTABLE(uint8_t, p), n);
}

/* A failure comes before the block moves: the error's strings and places may lie in the block. */
static void *block_grow(Ctx *cx, Block *b, size_t size)
{
    if (!limit_ok(cx, LIMIT_HEAP, memory_held(cx) + (size - b->size), "bytes of memory"))
        return NULL;
    Block *grown = fault_of_size(size) ? NULL : pages_grow(b, sizeof *b, b->size, size);
    if (!grown) {
        fail(cx, E_MEMORY, "out of memory");
        return NULL;
    }
    grown->of->bytes -= grown->size;
    grown->size = size;
    link_block(grown);
    return grown->at;
}

void *mem_grow(Ctx *cx, void *old, size_t n, size_t more, size_t size)
{
    uint64_t bytes;
    if (!size_ok(cx, more, size, &bytes))
        return NULL;
    Block *b = old ? block_of(cx, old, n * size) : NULL;
    if (b && b->of == arena_now(cx))
        return block_grow(cx, b, bytes);
    void *p = mem_alloc(cx, bytes);
    if (p && n)
        memcpy(p, old, n * size);
    if (p && b)
        block_free(b);
    return p;
}

ArenaMark scratch_begin(const Ctx *cx) { return arena_mark(cx->scratch); }

void scratch_end(Ctx *cx, ArenaMark m) { arena_reset(cx->scratch, m); }

void keep_begin(Ctx *cx) { cx->keeping++; }

void keep_end(Ctx *cx) { cx->keeping--; }

/* Without memory for an arena, what would lie there is kept. */
PhaseAround phase_begin(Ctx *cx, Phase phase)
{
    PhaseAround around = cx->in;
    if (!cx->phase[phase] && !(cx->phase[phase] = arena_new()))
        fail(cx, E_MEMORY, "out of memory");
    cx->in = (PhaseAround){ phase, ++cx->keeping };
    return around;
}

void phase_end(Ctx *cx, PhaseAround around)
{
    cx->keeping--;
    cx->in = around;
}

/* The arena itself stays, with its reserve: another one would have to be cleared. */
void phase_forget(Ctx *cx, Phase phase)
{
    Arena *a = cx->phase[phase];
    if (!a)
        return;
    arena_reset(a, (ArenaMark){ 0 });
    chunks_free(a->spare);
    a->spare = NULL;
    a->next_size = CHUNK_MIN;
}
