/* wire_read.h - reading ONNX files: what wire_field.c, wire_tensor.c and wire_read.c share. Nobody
 * else includes it. */
#ifndef PT2ONNX_ONNX_WIRE_IN_H
#define PT2ONNX_ONNX_WIRE_IN_H

#include "onnx/internal.h"
#include "onnx/wire/model_file.h"

enum { NESTING_MAX = 64, WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2, WIRE_FIXED32 = 5 };

typedef struct In {
    Ctx *cx;
    Source *file;
    int depth;
    uint32_t nodes; /* made so far: their ids */
    size_t functions;
    int64_t ir_version;
    Slice piece; /* loaded last, and where it stands in the file: for messages */
    uint64_t piece_at;
} In;

typedef struct Field {
    uint32_t number;
    int type;
    uint64_t v;
    Slice bytes;
} Field;
typedef struct Span {
    uint64_t at, n;
} Span;
typedef struct Numbers {
    int64_t *at;
    size_t n, cap;
} Numbers; /* floats as their bits */

static inline Cursor over(Slice s) { return cur_over(s.p, s.n); }

/* ---- wire_field.c: messages as fields ---- */

/* Fail because a message is damaged: at a byte of the file, or where the cursor over the piece
 * loaded last stands. */
bool in_damaged_at(const In *in, const char *message, uint64_t at);
bool in_damaged(const In *in, const char *message, const Cursor *c);
/* The next field of a message. False at its end, and after an error. */
bool in_field(const In *in, Cursor *c, const char *message, Field *f);
/* The next field of a message that ends at `end`; the payload of WIRE_LENGTH is *span. False at its
 * end, and after an error. */
bool in_file_field(In *in, uint64_t *at, uint64_t end, const char *message, Field *f, Span *span);
/* A piece of the file in memory; p is NULL after an error. */
Slice in_load(In *in, Span span);
/* Does the field hold bytes? An error if not. */
bool in_is_message(const In *in, const Field *f, const char *what, const Cursor *c);
Str in_text(const In *in, const Field *f);
/* One level of nesting more; in->depth-- when it is left. */
bool in_deeper(In *in);
/* Append numbers, packed or not; in_fixed those of 4 or 8 bytes, as their bits. */
bool in_numbers(const In *in, const Field *f, Numbers *out);
bool in_fixed(const In *in, const Field *f, size_t size, Numbers *out);

/* ---- wire_tensor.c: TensorProto, TypeProto, ValueInfoProto. NULL or false after an error ---- */

const Const *in_tensor(In *in, Slice message, Str *name);
/* The same of an initializer: its raw_data stays in the file. */
const Const *in_file_tensor(In *in, Span message, Str *name);
/* Maps, sparse tensors and opaque types are types that nothing is known of. */
Type in_type(In *in, Slice message);
bool in_value_info(In *in, Slice message, Str *name, Type *type);

static inline double float_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

#endif
