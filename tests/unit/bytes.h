/* bytes.h - files made byte by byte for tests: a buffer, and a ZIP writer that can lie. */
#ifndef PT2ONNX_TEST_BYTES_H
#define PT2ONNX_TEST_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

typedef struct Out {
    uint8_t *p;
    size_t n, cap;
} Out;

static inline void out_put(Out *o, const void *p, size_t n)
{
    if (o->n + n > o->cap) {
        o->cap = (o->n + n) * 2;
        o->p = realloc(o->p, o->cap);
    }
    if (n)
        memcpy(o->p + o->n, p, n);
    o->n += n;
}

static inline void out_le(Out *o, uint64_t v, int n)
{
    for (int i = 0; i < n; i++, v >>= 8)
        out_put(o, &(uint8_t){ (uint8_t)v }, 1);
}

static inline void out_text(Out *o, const char *s) { out_put(o, s, strlen(s)); }
static inline void out_free(Out *o)
{
    free(o->p);
    *o = (Out){ 0 };
}

/* As torch writes it: sizes and checksum only in the directory, data at multiples of 64. */
typedef struct ZipOut {
    Out file, directory;
    unsigned n;
} ZipOut;
typedef struct ZipLie {
    uint16_t flags, method, local_name_len;
    uint64_t packed, size, header;
    uint32_t crc;
    int set;
} ZipLie;
enum {
    LIE_METHOD = 1,
    LIE_PACKED = 2,
    LIE_SIZE = 4,
    LIE_HEADER = 8,
    LIE_CRC = 16,
    LIE_FLAGS = 32,
    LIE_LOCAL = 64,
    LIE_ZIP64 = 128
};

static inline Out deflate_bytes(const void *p, size_t n)
{
    z_stream z = { 0 };
    deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    Out o = { .cap = deflateBound(&z, n) };
    o.p = malloc(o.cap);
    z.next_in = (uint8_t *)p, z.avail_in = (uInt)n, z.next_out = o.p, z.avail_out = (uInt)o.cap;
    deflate(&z, Z_FINISH);
    o.n = z.total_out;
    deflateEnd(&z);
    return o;
}

static inline void zip_add(ZipOut *z, const char *name, const void *data, size_t n, int method,
                           const ZipLie *lie)
{
    ZipLie l = lie ? *lie : (ZipLie){ 0 };
    Out packed = { 0 };
    if (method == 8)
        packed = deflate_bytes(data, n);
    else
        out_put(&packed, data, n);
    uint64_t header = z->file.n, wide_packed = l.set & LIE_PACKED ? l.packed : packed.n,
             wide_size = l.set & LIE_SIZE ? l.size : n;
    uint64_t wide_header = l.set & LIE_HEADER ? l.header : header;
    uint16_t name_len = (uint16_t)strlen(name),
             pad = (uint16_t)(64 - (z->file.n + 30 + name_len + 4) % 64);
    out_le(&z->file, 0x04034b50, 4), out_le(&z->file, 0, 2), out_le(&z->file, 0x808, 2),
        out_le(&z->file, (uint64_t)method, 2);
    out_le(&z->file, 0, 16);
    out_le(&z->file, l.set & LIE_LOCAL ? l.local_name_len : name_len, 2),
        out_le(&z->file, 4u + pad, 2);
    out_text(&z->file, name);
    out_le(&z->file, 0x4246, 2), out_le(&z->file, pad, 2);
    for (int i = 0; i < pad; i++)
        out_text(&z->file, "Z");
    out_put(&z->file, packed.p, packed.n);
    bool wide = l.set & LIE_ZIP64;
    Out *d = &z->directory;
    out_le(d, 0x02014b50, 4), out_le(d, 0, 4), out_le(d, l.set & LIE_FLAGS ? l.flags : 0x808, 2);
    out_le(d, l.set & LIE_METHOD ? l.method : (uint64_t)method, 2), out_le(d, 0, 4);
    out_le(d, l.set & LIE_CRC ? l.crc : crc32(0, data, (uInt)n), 4);
    out_le(d, wide ? 0xffffffff : wide_packed, 4), out_le(d, wide ? 0xffffffff : wide_size, 4);
    out_le(d, name_len, 2), out_le(d, wide ? 28 : 0, 2), out_le(d, 0, 10),
        out_le(d, wide ? 0xffffffff : wide_header, 4);
    out_text(d, name);
    if (wide) {
        out_le(d, 1, 2), out_le(d, 24, 2);
        out_le(d, wide_size, 8), out_le(d, wide_packed, 8), out_le(d, wide_header, 8);
    }
    out_free(&packed);
    z->n++;
}

/* The finished archive; zip64: with the records that torch always writes, the plain one then says
 * "look there". */
static inline Out zip_end(ZipOut *z, bool zip64)
{
    uint64_t at = z->file.n, size = z->directory.n;
    out_put(&z->file, z->directory.p, z->directory.n);
    if (zip64) {
        uint64_t end64 = z->file.n;
        out_le(&z->file, 0x06064b50, 4), out_le(&z->file, 44, 8), out_le(&z->file, 0, 4),
            out_le(&z->file, 0, 8);
        out_le(&z->file, z->n, 8), out_le(&z->file, z->n, 8), out_le(&z->file, size, 8),
            out_le(&z->file, at, 8);
        out_le(&z->file, 0x07064b50, 4), out_le(&z->file, 0, 4), out_le(&z->file, end64, 8),
            out_le(&z->file, 1, 4);
    }
    out_le(&z->file, 0x06054b50, 4), out_le(&z->file, 0, 4);
    out_le(&z->file, zip64 ? 0xffff : z->n, 2), out_le(&z->file, zip64 ? 0xffff : z->n, 2);
    out_le(&z->file, zip64 ? 0xffffffff : size, 4), out_le(&z->file, zip64 ? 0xffffffff : at, 4),
        out_le(&z->file, 0, 2);
    out_free(&z->directory);
    return z->file;
}

#endif
