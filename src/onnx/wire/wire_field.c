/* wire_field.c - protobuf messages of an ONNX file as fields: from memory, or walked in the file
 * itself so that weights stay where they are. Trusts no byte: every length comes from a bounded
 * cursor. */
#include "onnx/wire/wire_read.h"

/* ---- the wire format ---- */

static uint64_t take_varint(Cursor *c)
{
    uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        uint8_t b = cur_u8(c);
        v |= (uint64_t)(b & 0x7F) << shift;
        if (!(b & 0x80))
            return v;
    }
    c->failed = true;
    return 0;
}

bool in_damaged_at(const In *in, const char *message, uint64_t at)
{
    return fail(in->cx, E_FORMAT, "not an ONNX model: the %s at byte %llu is damaged", message,
                (unsigned long long)at);
}

bool in_damaged(const In *in, const char *message, const Cursor *c)
{
    return in_damaged_at(in, message, in->piece_at + (uint64_t)(c->base - in->piece.p) + c->at);
}

/* The next field of a message that is in memory. False at its end, and after an error that names
 * `message`. */
bool in_field(const In *in, Cursor *c, const char *message, Field *f)
{
    if (cur_left(c) == 0)
        return false;
    uint64_t tag = take_varint(c);
    *f = (Field){ .number = (uint32_t)(tag >> 3), .type = (int)(tag & 7) };
    switch (f->type) {
    case WIRE_VARINT:  f->v = take_varint(c); break;
    case WIRE_FIXED64: f->bytes = cur_take(c, 8); break;
    case WIRE_FIXED32: f->bytes = cur_take(c, 4); break;
    case WIRE_LENGTH:  {
        uint64_t n = take_varint(c);
        if (n > cur_left(c))
            c->failed = true;
        else
            f->bytes = cur_take(c, (size_t)n);
        break;
    }
    default: c->failed = true;
    }
    if (c->failed || f->number == 0 || tag >> 32) {
        in_damaged(in, message, c);
        return false;
    }
    return true;
}

/* ---- the outer messages, in the file ---- */

/* The next field of a message in the file, whose bytes are not read: *span says where they are. *at
 * goes on behind them. False at `end`, and after an error. */
bool in_file_field(In *in, uint64_t *at, uint64_t end, const char *message, Field *f, Span *span)
{
    enum { HEAD = 20 }; /* a tag and a varint */
    uint8_t head[HEAD];
    if (*at >= end)
        return false;
    size_t n = end - *at < HEAD ? (size_t)(end - *at) : HEAD;
    if (!bytes_read(in->cx, (Bytes){ in->file, 0, in->file->size }, *at, head, n))
        return false;
    Cursor c = cur_over(head, n);
    uint64_t tag = take_varint(&c);
    *f = (Field){ .number = (uint32_t)(tag >> 3), .type = (int)(tag & 7) };
    *span = (Span){ 0 };
    switch (f->type) {
    case WIRE_VARINT:  f->v = take_varint(&c); break;
    case WIRE_LENGTH:  span->n = take_varint(&c); break;
    case WIRE_FIXED64: span->n = 8; break;
    case WIRE_FIXED32: span->n = 4; break;
    default:           c.failed = true;
    }
    span->at = *at + c.at;
    if (c.failed || f->number == 0 || tag >> 32 || span->n > end - span->at)
        return in_damaged_at(in, message, *at);
    *at = span->at + span->n;
    return true;
}

Slice in_load(In *in, Span span)
{
    uint8_t *p = span.n < SIZE_MAX ? new_array(in->cx, uint8_t, span.n + 1) : NULL;
    if (!p ||
        !bytes_read(in->cx, (Bytes){ in->file, 0, in->file->size }, span.at, p, (size_t)span.n))
        return (Slice){ 0 };
    in->piece = (Slice){ p, (size_t)span.n };
    in->piece_at = span.at;
    return in->piece;
}

bool in_is_message(const In *in, const Field *f, const char *what, const Cursor *c)
{
    return f->type == WIRE_LENGTH || in_damaged(in, what, c);
}

Str in_text(const In *in, const Field *f) { return str_n(in->cx, f->bytes.p, f->bytes.n); }

bool in_deeper(In *in)
{
    if (++in->depth <= NESTING_MAX)
        return true;
    return fail(in->cx, E_LIMIT, "graphs or types are nested more than %d deep", NESTING_MAX);
}

/* ---- numbers, packed or not ---- */

bool in_numbers(const In *in, const Field *f, Numbers *out)
{
    if (f->type == WIRE_VARINT) {
        vec_push(in->cx, out, (int64_t)f->v);
        return true;
    }
    Cursor c = over(f->bytes);
    while (cur_left(&c))
        vec_push(in->cx, out, (int64_t)take_varint(&c));
    return (!c.failed || in_damaged(in, "list of numbers", &c)) && !ctx_failed(in->cx);
}

bool in_fixed(const In *in, const Field *f, size_t size, Numbers *out)
{
    Cursor c = over(f->bytes);
    if (f->type == WIRE_VARINT || f->bytes.n % size)
        return in_damaged(in, "list of floats", &c);
    while (cur_left(&c))
        vec_push(in->cx, out, size == 4 ? (int64_t)cur_u32(&c) : (int64_t)cur_u64(&c));
    return !ctx_failed(in->cx);
}
