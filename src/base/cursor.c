/* cursor.c - a bounded reader of little-endian data. After the first short read it stays failed and
 * gives zeros, so a record is read straight through and checked once. */
#include "base/base.h"

Cursor cur_over(const void *p, size_t n) { return (Cursor){ .base = p, .n = n }; }

Slice cur_take(Cursor *c, size_t n)
{
    if (c->failed || n > c->n - c->at) {
        c->failed = true;
        return (Slice){ 0 };
    }
    Slice s = { c->base + c->at, n };
    c->at += n;
    return s;
}

/* One load each: a pickle and a ZIP directory are read in numbers, hundreds of thousands of
 * them. */
static inline void load(Cursor *c, void *out, size_t n)
{
    Slice s = cur_take(c, n);
    if (s.n)
        memcpy(out, s.p, n);
}

uint8_t cur_u8(Cursor *c)
{
    Slice s = cur_take(c, 1);
    return s.n ? s.p[0] : 0;
}

/* Little-endian as this machine has it. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE(bits, v) (v)
#else
#define NATIVE(bits, v) __builtin_bswap##bits(v)
#endif

uint16_t cur_u16(Cursor *c)
{
    uint16_t v = 0;
    load(c, &v, sizeof v);
    return NATIVE(16, v);
}

uint32_t cur_u32(Cursor *c)
{
    uint32_t v = 0;
    load(c, &v, sizeof v);
    return NATIVE(32, v);
}

uint64_t cur_u64(Cursor *c)
{
    uint64_t v = 0;
    load(c, &v, sizeof v);
    return NATIVE(64, v);
}

double cur_f64be(Cursor *c)
{
    uint64_t bits = __builtin_bswap64(cur_u64(c));
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}
