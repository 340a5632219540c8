/* pages.c - memory from the system: malloc for what is small, pages of our own for what is large.
 *
 * To touch a page for the first time costs more than most of our steps do with it, and a table that
 * is looked at everywhere misses the TLB at each look. So what is large begins at a huge page, asks
 * for huge pages, and moves by its page tables when it grows: no byte is copied. The few bytes that
 * its owner writes in front (`head`) lie in a small page before, so that an array of 4 MB is two
 * huge pages and not three.
 *
 *     | 4 KB ....... head | huge page | huge page | .. rest in small pages |
 *                         ^ p + head
 *
 * Huge pages are a wish: without them all is well, only slower. */
#include "base/internal.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096, HUGE_PAGE = 2 << 20 };

#if defined(__SANITIZE_ADDRESS__)
static const size_t LARGE = SIZE_MAX; /* whoever looks beyond the end of malloc's memory is found */
#elif defined(__EMSCRIPTEN__)
static const size_t LARGE = SIZE_MAX; /* WebAssembly has one memory, which malloc divides */
#else
static const size_t LARGE = HUGE_PAGE;
#endif

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

static _Thread_local size_t fault_bytes = SIZE_MAX;
static _Thread_local long fault_large_countdown;

void fault_over(size_t bytes, long n)
{
    fault_bytes = n < 0 ? SIZE_MAX : bytes;
    fault_large_countdown = n;
}

bool fault_of_size(size_t size)
{
    if (size <= fault_bytes)
        return false;
    if (fault_large_countdown == 0)
        return true;
    fault_large_countdown--;
    return false;
}

/* The compiler puts a call in front of each basic block: what a test counts as work, whatever the
 * machine and its load. */
static _Thread_local uint64_t blocks_run;

#ifdef __clang__
__attribute__((no_sanitize("coverage")))
#else
__attribute__((no_sanitize_coverage))
#endif
void __sanitizer_cov_trace_pc(void)
{
    blocks_run++;
}

uint64_t work_done(void) { return blocks_run; }
#else
static bool fault_now(void) { return false; }
#endif

void *base_malloc(size_t size) { return fault_now() ? NULL : malloc(size); }
void base_free(void *p) { free(p); }

/* ---- large ---- */

static size_t mapped_bytes(size_t size) { return PAGE + ((size + PAGE - 1) & ~(size_t)(PAGE - 1)); }
static uint8_t *mapping_of(void *p, size_t head) { return (uint8_t *)p + head - PAGE; }

/* Addresses for a mapping of n bytes whose second page begins a huge page; nothing lies there
 * yet. */
static uint8_t *aligned_addresses(size_t n)
{
    uint8_t *all = mmap(NULL, n + HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                        -1, 0);
    if (all == MAP_FAILED)
        return NULL;
    size_t skip = HUGE_PAGE - 1 - ((uintptr_t)all + PAGE - 1) % HUGE_PAGE;
    if (skip)
        munmap(all, skip);
    munmap(all + skip + n, HUGE_PAGE - skip);
    return all + skip;
}

/* All of it, the small page too: the system moves no more than one mapping at a time. */
static void wish_huge(uint8_t *base, size_t n) { (void)!madvise(base, n, MADV_HUGEPAGE); }

static void *large_new(size_t head, size_t size)
{
    size_t n = mapped_bytes(size);
    uint8_t *base = aligned_addresses(n);
    if (!base)
        return NULL;
    if (mmap(base, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
        MAP_FAILED) {
        munmap(base, n);
        return NULL;
    }
    wish_huge(base, n);
    return base + PAGE - head;
}

static void *large_grow(void *p, size_t head, size_t old, size_t size)
{
    size_t from = mapped_bytes(old);
    size_t to = mapped_bytes(size);
    uint8_t *base = mapping_of(p, head);
    uint8_t *moved = mremap(base, from, to, 0);
    if (moved == MAP_FAILED) {
        uint8_t *room = aligned_addresses(to);
        moved = room ? mremap(base, from, to, MREMAP_MAYMOVE | MREMAP_FIXED, room) : MAP_FAILED;
        if (room && moved == MAP_FAILED)
            munmap(room, to);
    }
    if (moved == MAP_FAILED)
        return NULL;
    wish_huge(moved, to);
    return moved + PAGE - head;
}

/* ---- any size ---- */

void *pages_new(size_t head, size_t size)
{
    if (fault_now() || size > SIZE_MAX - HUGE_PAGE - PAGE)
        return NULL;
    return size < LARGE ? calloc(1, head + size) : large_new(head, size);
}

void *pages_grow(void *p, size_t head, size_t old, size_t size)
{
    if (fault_now() || size > SIZE_MAX - HUGE_PAGE - PAGE)
        return NULL;
    if (old >= LARGE)
        return large_grow(p, head, old, size);
    if (size < LARGE)
        return realloc(p, head + size);
    void *grown = large_new(head, size);
    if (grown) {
        memcpy(grown, p, head + old);
        free(p);
    }
    return grown;
}

void pages_free(void *p, size_t head, size_t size)
{
    if (p && size >= LARGE)
        munmap(mapping_of(p, head), mapped_bytes(size));
    else
        free(p);
}
