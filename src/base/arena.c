/* arena.c - memory: arenas of chunks, freed whole; the two arenas of a context.
 *
 * A small allocation never fails, so that code need not test each one: when malloc refuses, an arena falls back on a
 * reserve made with it, and the context has failed. The reserve is never touched before, so it costs address space
 * only. A run of code that uses it up has gone on for 1 MB without looking at ctx_failed(): that is our bug. */
#include "base/internal.h"
#include "base/limits.h"

#include <stdlib.h>

enum {
    ALIGN = 16,
    SMALL_MAX = 64 << 10,       /* up to here an allocation never fails */
#ifdef PT2ONNX_FAULTS
    CHUNK_MIN = 8 << 10,        /* many small chunks: many places where memory can run out */
    CHUNK_MAX = 8 << 10,
#else
    CHUNK_MIN = 64 << 10,       /* chunks double from this ... */
    CHUNK_MAX = 4 << 20,        /* ... to this */
#endif
    RESERVE = 1 << 20,
};

typedef struct Chunk {
    struct Chunk *older;
    size_t cap, used;
    _Alignas(ALIGN) uint8_t at[];
} Chunk;

struct Arena {
    Chunk *newest, *reserve;
    size_t bytes;               /* of all chunks but the untouched reserve */
    size_t next_cap;
    bool spent;
};

/* ---- malloc ---- */

#ifdef PT2ONNX_FAULTS
static _Thread_local long fault_countdown = -1;

void fault_after(long n) { fault_countdown = n; }

static bool fault_now(void)
{
    if (fault_countdown > 0)
        fault_countdown--;
    else if (fault_countdown == 0)
        return true;
    return false;
}
#else
static bool fault_now(void) { return false; }
#endif

void *base_malloc(size_t size)
{
    return fault_now() ? NULL : malloc(size);
}

void base_free(void *p) { free(p); }

/* ---- arenas ---- */

static Chunk *chunk_new(size_t cap)
{
    Chunk *c = cap <= SIZE_MAX - sizeof *c ? base_malloc(sizeof *c + cap) : NULL;
    if (c)
        *c = (Chunk){ .cap = cap };
    return c;
}

Arena *arena_new(void)
{
    Arena *a = base_malloc(sizeof *a);
    if (!a)
        return NULL;
    *a = (Arena){ .next_cap = CHUNK_MIN, .reserve = chunk_new(RESERVE) };
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
    base_free(a->reserve);
    base_free(a);
}

static void push_chunk(Arena *a, Chunk *c)
{
    c->older = a->newest;
    a->newest = c;
    a->bytes += c->cap;
}

/* Room for `size` more bytes in the newest chunk. */
static bool make_room(Arena *a, size_t size)
{
    size_t cap = size > a->next_cap ? size : a->next_cap;
    Chunk *c = chunk_new(cap);
    if (c) {
        if (a->next_cap < CHUNK_MAX)
            a->next_cap *= 2;
        push_chunk(a, c);
        return true;
    }
    if (a->spent)
        return false;
    a->spent = true;
    a->reserve->used = 0;
    push_chunk(a, a->reserve);
    return size <= RESERVE;
}

void *arena_alloc(Arena *a, size_t size)
{
    if (size > SIZE_MAX - ALIGN)
        return NULL;
    size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    Chunk *c = a->newest;
    if (!c || c->cap - c->used < size) {
        if (!make_room(a, size)) {
            if (size > SMALL_MAX)
                return NULL;
            abort();        /* the reserve is used up: see the head of this file */
        }
        c = a->newest;
    }
    void *p = c->at + c->used;
    c->used += size;
    return memset(p, 0, size);
}

ArenaMark arena_mark(const Arena *a)
{
    return (ArenaMark){ a->newest, a->newest ? a->newest->used : 0 };
}

void arena_reset(Arena *a, ArenaMark m)
{
    while (a->newest && a->newest != m.chunk) {
        Chunk *c = a->newest;
        a->newest = c->older;
        a->bytes -= c->cap;
        if (c == a->reserve)
            a->spent = false;
        else
            base_free(c);
    }
    if (a->newest)
        a->newest->used = m.used;
}

size_t arena_bytes(const Arena *a) { return a->bytes; }
bool arena_spent(const Arena *a) { return a->spent; }

/* ---- a context's memory ---- */

static Arena *arena_now(Ctx *cx) { return cx->keeping > 0 ? cx->keep : cx->run; }

/* After each allocation: has memory run out, or is the user's limit passed? */
static void check_memory(Ctx *cx, size_t before, const Arena *a)
{
    if (arena_spent(a))
        fail(cx, E_MEMORY, "out of memory");
    else if (arena_bytes(a) != before && !ctx_failed(cx))
        (void)!limit_ok(cx, LIMIT_HEAP, arena_bytes(cx->run) + arena_bytes(cx->keep), "bytes of memory");
}

void *mem_alloc(Ctx *cx, size_t size)
{
    Arena *a = arena_now(cx);
    size_t before = arena_bytes(a);
    void *p = arena_alloc(a, size);
    if (!p || arena_spent(a) || arena_bytes(a) != before)
        check_memory(cx, before, a);
    if (!p)
        fail(cx, E_MEMORY, "out of memory");
    return p;
}

void *mem_array(Ctx *cx, size_t n, size_t size)
{
    uint64_t bytes;
    if (!umul_ok(n, size, &bytes)) {
        fail(cx, E_LIMIT, "an array of %zu items of %zu bytes does not fit in memory", n, size);
        return NULL;
    }
    if (bytes > SMALL_MAX && !limit_ok(cx, LIMIT_HEAP, bytes, "bytes of memory"))
        return NULL;
    return mem_alloc(cx, bytes);
}

void *mem_copy(Ctx *cx, const void *from, size_t n)
{
    void *p = mem_array(cx, n, 1);
    if (p && n)
        memcpy(p, from, n);
    return p;
}

void keep_begin(Ctx *cx) { cx->keeping++; }

void keep_end(Ctx *cx)
{
    cx->keeping--;
}
