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

#if defined(__SANITIZE_ADDRESS__)
static const size_t LARGE = SIZE_MAX; /* whoever looks beyond the end of malloc's memory is found */
#else
static const size_t LARGE = SYS_MAPS ? SYS_HUGE_PAGE : SIZE_MAX;
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

static size_t mapped_bytes(size_t size)
{
    return SYS_PAGE + ((size + SYS_PAGE - 1) & ~(size_t)(SYS_PAGE - 1));
}

static uint8_t *mapping_of(void *p, size_t head) { return (uint8_t *)p + head - SYS_PAGE; }

static void *large_new(size_t head, size_t size)
{
    uint8_t *mapping = sys_map(mapped_bytes(size));
    return mapping ? mapping + SYS_PAGE - head : NULL;
}

static void *large_grow(void *p, size_t head, size_t old, size_t size)
{
    uint8_t *mapping = sys_map_grow(mapping_of(p, head), mapped_bytes(old), mapped_bytes(size));
    return mapping ? mapping + SYS_PAGE - head : NULL;
}

/* ---- any size ---- */

/* Is there no memory of this size, because of the size or of a test? */
static bool refused(size_t size)
{
    return fault_now() || size > SIZE_MAX - SYS_HUGE_PAGE - SYS_PAGE;
}

void *pages_new(size_t head, size_t size)
{
    if (refused(size))
        return NULL;
    return size < LARGE ? calloc(1, head + size) : large_new(head, size);
}

void *pages_grow(void *p, size_t head, size_t old, size_t size)
{
    if (refused(size))
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
        sys_unmap(mapping_of(p, head), mapped_bytes(size));
    else
        free(p);
}

/* ---- what may stay empty ---- */

/* calloc would write zeros over all of it. */
static bool by_system(size_t size) { return LARGE < SIZE_MAX && size < LARGE; }

void *pages_untouched(size_t head, size_t size)
{
    if (!by_system(size))
        return pages_new(head, size);
    return fault_now() ? NULL : sys_pages(head + size);
}

void pages_untouched_free(void *p, size_t head, size_t size)
{
    if (p && by_system(size))
        sys_unmap(p, head + size);
    else
        pages_free(p, head, size);
}
