/* wire_put.c - the protobuf wire format: fields and nested messages, measured or written.
 *
 * The same calls do both. Without a sink they add up bytes, and note the length of each nested
 * message in one array, in the order in which messages open; with one they write, taking the
 * lengths from that array. */
#include "onnx/wire/wire.h"

void wire_flush(Wire *w)
{
    if (w->filled && !w->failed)
        w->failed = !sink_write(w->cx, w->out, w->buf, w->filled);
    w->filled = 0;
}

static void put_large(Wire *w, const void *p, size_t n)
{
    wire_flush(w);
    if (n > sizeof w->buf) {
        w->failed = w->failed || !sink_write(w->cx, w->out, p, n);
        return;
    }
    memcpy(w->buf, p, n);
    w->filled = n;
}

/* A model is written in pieces of a few bytes, each of them twice. */
void put_raw(Wire *w, const void *p, size_t n)
{
    if (!w->out) {
        w->n += n;
    } else if (n > sizeof w->buf - w->filled) {
        put_large(w, p, n);
    } else if (n) {
        memcpy(w->buf + w->filled, p, n);
        w->filled += n;
    }
}

static size_t varint_size(uint64_t v)
{
    size_t n = 1;
    for (; v > 0x7F; v >>= 7)
        n++;
    return n;
}

void put_varint(Wire *w, uint64_t v)
{
    uint8_t b[10];
    if (v <= 0x7F && w->out && w->filled < sizeof w->buf) {
        w->buf[w->filled++] = (uint8_t)v;
        return;
    }
    if (!w->out) {
        w->n += varint_size(v);
        return;
    }
    size_t n = 0;
    for (; v > 0x7F; v >>= 7)
        b[n++] = (uint8_t)(v | 0x80);
    b[n++] = (uint8_t)v;
    put_raw(w, b, n);
}

void put_tag(Wire *w, int field, int type) { put_varint(w, (uint64_t)field << 3 | (uint64_t)type); }

void put_int(Wire *w, int field, int64_t v)
{
    put_tag(w, field, WIRE_VARINT);
    put_varint(w, (uint64_t)v);
}

void put_float(Wire *w, int field, double v)
{
    float f = (float)v; /* ONNX's float attributes are float32 */
    put_tag(w, field, WIRE_FIXED32);
    put_raw(w, &f, sizeof f);
}

static void put_bytes(Wire *w, int field, const void *p, size_t n)
{
    put_tag(w, field, WIRE_LENGTH);
    put_varint(w, n);
    put_raw(w, p, n);
}

void put_text(Wire *w, int field, const char *s) { put_bytes(w, field, s, strlen(s)); }
void put_str(Wire *w, int field, Str s) { put_bytes(w, field, s->s, s->len); }

Msg open_msg(Wire *w, int field)
{
    Msg m = { .field = field, .slot = w->size.n, .outer = w->n };
    if (!w->out) {
        vec_push(w->cx, &w->size, 0);
        w->n = 0;
    } else {
        put_tag(w, field, WIRE_LENGTH);
        put_varint(w, w->size.at[w->next++]);
    }
    return m;
}

void close_msg(Wire *w, Msg m)
{
    if (w->out)
        return;
    uint64_t body = w->n;
    if (m.slot < w->size.n)
        w->size.at[m.slot] = body;
    w->n = m.outer + varint_size((uint64_t)m.field << 3) + varint_size(body) + body;
}

void put_prop(Wire *w, int field, Str key, Str value)
{
    Msg m = open_msg(w, field);
    put_str(w, 1, key);
    put_str(w, 2, value);
    close_msg(w, m);
}
