/* cursor.c - a bounded reader of little-endian data. After the first short read it stays failed and
 * gives zeros, so a record is read straight through and checked once. */
#include "base/base.h"

#include <endian.h>

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

uint16_t cur_u16(Cursor *c)
{
    uint16_t v = 0;
    load(c, &v, sizeof v);
    return le16toh(v);
}

uint32_t cur_u32(Cursor *c)
{
    uint32_t v = 0;
    load(c, &v, sizeof v);
    return le32toh(v);
}

uint64_t cur_u64(Cursor *c)
{
    uint64_t v = 0;
    load(c, &v, sizeof v);
    return le64toh(v);
}

double cur_f64be(Cursor *c)
{
    uint64_t bits = __builtin_bswap64(cur_u64(c));
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}
