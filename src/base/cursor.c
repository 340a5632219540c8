/* cursor.c - a bounded reader of little-endian data. After the first short read it stays failed and gives zeros, so a
 * record is read straight through and checked once. */
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

static uint64_t take_le(Cursor *c, size_t n)
{
    Slice s = cur_take(c, n);
    uint64_t v = 0;
    for (size_t i = s.n; i-- > 0;)
        v = v << 8 | s.p[i];
    return v;
}

uint8_t cur_u8(Cursor *c) { return (uint8_t)take_le(c, 1); }
uint16_t cur_u16(Cursor *c) { return (uint16_t)take_le(c, 2); }
uint32_t cur_u32(Cursor *c) { return (uint32_t)take_le(c, 4); }
uint64_t cur_u64(Cursor *c) { return take_le(c, 8); }

double cur_f64be(Cursor *c)
{
    uint64_t bits = __builtin_bswap64(take_le(c, 8));
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}
