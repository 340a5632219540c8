/* wire_tensor.c - tensors and types of an ONNX file. The bytes of an initializer stay a range of
 * the file; external data is never opened - a name from a file is no file name of ours - so reading
 * such a constant fails. */
#include "onnx/wire/wire_read.h"

/* ---- tensors ---- */

typedef struct RawTensor {
    Str name, location;
    Numbers dims, ints, floats, doubles; /* ints: int32_data, int64_data or uint64_data */
    VEC(Str) strings;
    int64_t dtype;
    Bytes raw;
    bool has_raw, external;
} RawTensor;

/* Reading another file's bytes is not possible. */
static bool read_elsewhere(Ctx *cx, const void *arg, uint8_t *out, uint64_t size)
{
    (void)out, (void)size;
    return fail(cx, E_IO, "%s lies in an external data file, which is not read", (const char *)arg);
}

static bool external_entry(In *in, Slice entry, RawTensor *t)
{
    Cursor c = over(entry);
    Field f;
    Str key = NULL;
    Str value = NULL;
    while (in_field(in, &c, "external data", &f))
        if (f.type == WIRE_LENGTH && f.number == 1)
            key = in_text(in, &f);
        else if (f.type == WIRE_LENGTH && f.number == 2)
            value = in_text(in, &f);
    if (key && str_is(key, "location"))
        t->location = value;
    return !ctx_failed(in->cx);
}

/* One field of a TensorProto into *t. Elements are in raw_data, in a list of their own kind, or in
 * a file beside the model. */
static bool tensor_field(In *in, const Cursor *c, const Field *f, RawTensor *t)
{
    switch (f->number) {
    case 1:  return in_numbers(in, f, &t->dims);
    case 2:  t->dtype = (int64_t)f->v; return true;
    case 4:  return in_fixed(in, f, 4, &t->floats);
    case 5:
    case 7:
    case 11: return in_numbers(in, f, &t->ints);
    case 6:
        if (!in_is_message(in, f, "text", c))
            return false;
        vec_push(in->cx, &t->strings, in_text(in, f));
        return true;
    case 8: t->name = in_text(in, f); return in_is_message(in, f, "name", c);
    case 9:
        t->raw = (Bytes){ source_memory(in->cx, f->bytes.p, f->bytes.n), 0, f->bytes.n };
        t->has_raw = true;
        return in_is_message(in, f, "tensor", c);
    case 10: return in_fixed(in, f, 8, &t->doubles);
    case 13: return in_is_message(in, f, "external data", c) && external_entry(in, f->bytes, t);
    case 14: t->external = f->v == 1; return true;
    default: return true;
    }
}

static const char *tensor_name(const RawTensor *t)
{
    return t->name && t->name->len ? t->name->s : "(without a name)";
}

/* The elements as they lie in memory, from the lists that are used instead of raw_data. */
static const Const *const_of_lists(In *in, const RawTensor *t, DType dtype, int64_t numel)
{
    const Numbers *list = &t->ints;
    size_t unit = dtype_size(dtype);
    if (t->floats.n) {
        list = &t->floats;
        unit = 4;
    } else if (t->doubles.n) {
        list = &t->doubles;
        unit = 8;
    }
    uint64_t bytes = dtype_bytes(dtype, (uint64_t)numel);
    if (unit == 0 || bytes != list->n * (uint64_t)unit)
        return fail(in->cx, E_FORMAT, "tensor %s has %zu numbers, its shape asks for %lld",
                    tensor_name(t), list->n, (long long)numel),
               NULL;
    uint8_t *data = new_array(in->cx, uint8_t, bytes + 1);
    if (!data)
        return NULL;
    for (size_t i = 0; i < list->n; i++)
        memcpy(data + i * unit, &list->at[i], unit); /* little-endian: the low bytes */
    return const_make(in->cx, dtype, (int)t->dims.n, t->dims.at, data);
}

/* The bytes of the file itself, or a stand-in for another file's. */
static const Const *const_of_bytes(In *in, const RawTensor *t, DType dtype, int64_t numel)
{
    uint64_t bytes = dtype_bytes(dtype, (uint64_t)numel);
    if (!t->external && bytes != t->raw.len)
        return fail(in->cx, E_FORMAT, "tensor %s has %llu bytes, its shape asks for %llu",
                    tensor_name(t), (unsigned long long)t->raw.len, (unsigned long long)bytes),
               NULL;
    Const *k = new(in->cx, Const);
    *k = (Const){ .dtype = dtype, .rank = (int)t->dims.n, .dims = t->dims.at, .name = t->name };
    k->bytes = t->raw;
    if (t->external)
        k->bytes = (Bytes){ source_recipe(in->cx, read_elsewhere, tensor_name(t), bytes), 0,
                            bytes };
    else if (!t->has_raw)
        k->bytes = (Bytes){ source_memory(in->cx, "", 0), 0, 0 };
    return k;
}

static const Const *const_of_strings(In *in, const RawTensor *t, int64_t numel)
{
    if ((uint64_t)numel != t->strings.n)
        return fail(in->cx, E_FORMAT, "tensor %s has %zu texts, its shape asks for %lld",
                    tensor_name(t), t->strings.n, (long long)numel),
               NULL;
    Const *k = new(in->cx, Const);
    *k = (Const){ .dtype = DT_STRING, .rank = (int)t->dims.n, .dims = t->dims.at, .name = t->name };
    k->bytes = (Bytes){ source_memory(in->cx, t->strings.at, t->strings.n * sizeof(Str)), 0,
                        t->strings.n * sizeof(Str) };
    return k;
}

static const Const *const_of_tensor(In *in, RawTensor *t);

/* TensorProto */
const Const *in_tensor(In *in, Slice message, Str *name)
{
    Cursor c = over(message);
    Field f;
    RawTensor t = { 0 };
    while (in_field(in, &c, "tensor", &f))
        if (!tensor_field(in, &c, &f, &t))
            return NULL;
    *name = t.name;
    return ctx_failed(in->cx) ? NULL : const_of_tensor(in, &t);
}

/* The TensorProto at a place of the file, and its name; elements in raw_data stay there. NULL after
 * an error. */
const Const *in_file_tensor(In *in, Span message, Str *name)
{
    Field f;
    Span span;
    RawTensor t = { 0 };
    for (uint64_t at = message.at;
         in_file_field(in, &at, message.at + message.n, "tensor", &f, &span);) {
        if (f.number == 9 && f.type == WIRE_LENGTH) {
            t.raw = (Bytes){ in->file, span.at, span.n };
            t.has_raw = true;
            continue;
        }
        f.bytes = f.type == WIRE_VARINT ? (Slice){ 0 } : in_load(in, span);
        Cursor c = over(in->piece);
        if (ctx_failed(in->cx) || !tensor_field(in, &c, &f, &t))
            return NULL;
    }
    *name = t.name;
    return ctx_failed(in->cx) ? NULL : const_of_tensor(in, &t);
}

/* The constant that the fields make, once type and shape are checked: a rank or a number of
 * elements that memory cannot have is an error. */
static const Const *const_of_tensor(In *in, RawTensor *t)
{
    if (t->dtype <= DT_NONE || t->dtype >= DT_COUNT)
        return fail(in->cx, E_FORMAT,
                    "tensor %s has the element type %lld, which ONNX does not define",
                    tensor_name(t), (long long)t->dtype),
               NULL;
    if (t->dims.n > MAX_RANK)
        return fail(in->cx, E_LIMIT, "tensor %s has rank %zu, more than %d", tensor_name(t),
                    t->dims.n, MAX_RANK),
               NULL;
    bool negative = false;
    for (size_t i = 0; i < t->dims.n; i++)
        negative = negative || t->dims.at[i] < 0;
    int64_t numel = negative ? INT64_MAX : numel_of_ints((int)t->dims.n, t->dims.at);
    if (numel > INT64_MAX / 16)
        return fail(in->cx, E_FORMAT, "tensor %s has an impossible shape", tensor_name(t)), NULL;
    if (t->dtype == DT_STRING)
        return const_of_strings(in, t, numel);
    bool lists = t->floats.n || t->doubles.n || t->ints.n;
    return lists && !t->has_raw ? const_of_lists(in, t, (DType)t->dtype, numel)
                                : const_of_bytes(in, t, (DType)t->dtype, numel);
}

/* ---- types ---- */

/* TensorShapeProto.Dimension */
static Dim read_dim(In *in, Slice message)
{
    Cursor c = over(message);
    Field f;
    Dim d = NULL;
    while (in_field(in, &c, "dimension", &f)) {
        if (f.number == 1 && f.type == WIRE_VARINT && (int64_t)f.v >= 0)
            d = dim_int(in->cx, (int64_t)f.v);
        else if (f.number == 2 && f.type == WIRE_LENGTH && f.bytes.n)
            d = dim_sym(in->cx, in_text(in, &f));
    }
    return d ? d : dim_fresh(in->cx, "u");
}

/* TypeProto.Tensor */
static Type read_tensor_type(In *in, Slice message)
{
    Cursor c = over(message);
    Field f;
    DType dtype = DT_NONE;
    int rank = -1;
    Dim dim[MAX_RANK];
    while (in_field(in, &c, "type", &f)) {
        if (f.number == 1 && f.v < DT_COUNT)
            dtype = (DType)f.v;
        if (f.number != 2 || f.type != WIRE_LENGTH)
            continue;
        rank = 0;
        Cursor s = over(f.bytes);
        for (Field d; in_field(in, &s, "shape", &d);) {
            if (d.number != 1 || d.type != WIRE_LENGTH)
                continue;
            if (rank == MAX_RANK)
                return fail(in->cx, E_LIMIT, "a value has a rank of more than %d", MAX_RANK), NULL;
            dim[rank++] = read_dim(in, d.bytes);
        }
    }
    if (ctx_failed(in->cx))
        return NULL;
    return type_tensor(in->cx, dtype, rank, rank > 0 ? dim : NULL);
}

/* TypeProto */
Type in_type(In *in, Slice message)
{
    if (!in_deeper(in))
        return NULL;
    Cursor c = over(message);
    Field f;
    Type t = type_tensor(in->cx, DT_NONE, -1, NULL);
    while (t && in_field(in, &c, "type", &f)) {
        if (f.type != WIRE_LENGTH)
            continue;
        if (f.number == 1)
            t = read_tensor_type(in, f.bytes);
        if (f.number != 4 && f.number != 9)
            continue;
        Cursor e = over(f.bytes);
        Type elem = NULL;
        for (Field g; in_field(in, &e, "type", &g);)
            if (g.number == 1 && g.type == WIRE_LENGTH && !(elem = in_type(in, g.bytes)))
                return NULL;
        if (elem)
            t = type_wrapped(in->cx, f.number == 4 ? T_SEQUENCE : T_OPTIONAL, elem);
    }
    in->depth--;
    return ctx_failed(in->cx) ? NULL : t;
}

/* ValueInfoProto */
bool in_value_info(In *in, Slice message, Str *name, Type *type)
{
    Cursor c = over(message);
    Field f;
    *name = str_of(in->cx, "");
    *type = type_tensor(in->cx, DT_NONE, -1, NULL);
    while (in_field(in, &c, "value", &f)) {
        if (f.number == 1 && f.type == WIRE_LENGTH)
            *name = in_text(in, &f);
        if (f.number == 2 && f.type == WIRE_LENGTH && !(*type = in_type(in, f.bytes)))
            return false;
    }
    return !ctx_failed(in->cx);
}
