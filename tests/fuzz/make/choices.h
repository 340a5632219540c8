/* choices.h - a fuzzer's bytes as the choices of a generator: each byte decides one thing, so that
 * libFuzzer's mutations change one thing, and its coverage says which choices lead on. Bytes that
 * have run out are zeros: choice 0 is the one that ends. */
#ifndef PT2ONNX_FUZZ_CHOICES_H
#define PT2ONNX_FUZZ_CHOICES_H

#include "unit/bytes.h"

#include <stdarg.h>
#include <stdio.h>

typedef struct Choices {
    const uint8_t *at;
    size_t n;
} Choices;

static inline uint32_t next_byte(Choices *c)
{
    if (c->n == 0)
        return 0;
    c->n--;
    return *c->at++;
}

/* One of 0 .. n - 1. */
static inline uint32_t choose(Choices *c, uint32_t n)
{
    uint32_t v = next_byte(c);
    if (n > 256)
        v = v << 8 | next_byte(c);
    return n ? v % n : 0;
}

/* Seldom, and never once the bytes have run out. */
static inline bool one_in(Choices *c, uint32_t n) { return choose(c, n) == n - 1; }

#define CHOICE_OF(c, table) ((table)[choose((c), sizeof(table) / sizeof *(table))])

/* A short text, at the end of o. */
__attribute__((format(printf, 2, 3))) static inline void out_fmt(Out *o, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    out_text(o, text);
}

#endif
