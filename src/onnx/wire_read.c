/* wire_read.c - an ONNX file back as a graph: for `show`, for tests, for fuzzing.
 *
 * The three outer messages - the model, its graph, the graph's initializers - are walked in the file itself, so that weights
 * stay where they are, as ranges of the file. Everything inside them is small: it is loaded piece by piece (a node, a type)
 * and read from memory. Trusts no byte: every length comes from a bounded cursor, nesting is counted, and memory is asked for
 * only after the bytes that fill it have been counted.
 *
 * Types are those written, nothing is inferred. Nodes lose their names (the writer makes them again from module paths);
 * values keep theirs. Local functions and training information are passed over, with a note. A dimension that is neither a
 * number nor named becomes a fresh symbol. External data is never opened - a name from a file is no file name of ours - so
 * reading such a constant fails. */
#include "onnx/internal.h"

enum { NESTING_MAX = 64, WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2, WIRE_FIXED32 = 5 };

typedef struct Scope { Map values; Map types; const struct Scope *up; } Scope;

typedef struct In {
    Ctx *cx;
    Source *file;
    int depth;
    uint32_t nodes;                 /* made so far: their ids */
    size_t functions;
    int64_t ir_version;
    Slice piece;                    /* loaded last, and where it stands in the file: for messages */
    uint64_t piece_at;
} In;

/* ---- the wire format ---- */

typedef struct Field { uint32_t number; int type; uint64_t v; Slice bytes; } Field;

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

static bool damaged_at(const In *in, const char *message, uint64_t at)
{
    return fail(in->cx, E_FORMAT, "not an ONNX model: the %s at byte %llu is damaged", message, (unsigned long long)at);
}

static bool damaged(const In *in, const char *message, const Cursor *c)
{
    return damaged_at(in, message, in->piece_at + (uint64_t)(c->base - in->piece.p) + c->at);
}

/* The next field of a message. False at its end, and after an error. */
static bool next_field(const In *in, Cursor *c, const char *message, Field *f)
{
    if (cur_left(c) == 0)
        return false;
    uint64_t tag = take_varint(c);
    *f = (Field){ .number = (uint32_t)(tag >> 3), .type = (int)(tag & 7) };
    switch (f->type) {
    case WIRE_VARINT: f->v = take_varint(c); break;
    case WIRE_FIXED64: f->bytes = cur_take(c, 8); break;
    case WIRE_FIXED32: f->bytes = cur_take(c, 4); break;
    case WIRE_LENGTH: {
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
        damaged(in, message, c);
        return false;
    }
    return true;
}

/* ---- the outer messages, in the file ---- */

typedef struct Span { uint64_t at, n; } Span;

/* The next field of a message that ends at `end`; the payload of WIRE_LENGTH is *span. False at its end, and after an error. */
static bool next_in_file(In *in, uint64_t *at, uint64_t end, const char *message, Field *f, Span *span)
{
    enum { HEAD = 20 };                                     /* a tag and a varint */
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
    if (f->type == WIRE_VARINT)
        f->v = take_varint(&c);
    else if (f->type == WIRE_LENGTH)
        span->n = take_varint(&c);
    else
        span->n = f->type == WIRE_FIXED64 ? 8 : f->type == WIRE_FIXED32 ? 4 : UINT64_MAX;
    span->at = *at + c.at;
    if (c.failed || f->number == 0 || tag >> 32 || span->n > end - span->at)
        return damaged_at(in, message, *at);
    *at = span->at + span->n;
    return true;
}

/* A piece of the file in memory; p is NULL after an error. */
static Slice load(In *in, Span span)
{
    uint8_t *p = span.n < SIZE_MAX ? new_array(in->cx, uint8_t, span.n + 1) : NULL;
    if (!p || !bytes_read(in->cx, (Bytes){ in->file, 0, in->file->size }, span.at, p, (size_t)span.n))
        return (Slice){ 0 };
    in->piece = (Slice){ p, (size_t)span.n };
    in->piece_at = span.at;
    return in->piece;
}

static Cursor over(Slice s) { return cur_over(s.p, s.n); }

static bool is_message(const In *in, const Field *f, const char *what, const Cursor *c)
{
    return f->type == WIRE_LENGTH || damaged(in, what, c);
}

static Str text_of(const In *in, const Field *f) { return str_n(in->cx, f->bytes.p, f->bytes.n); }

static bool deeper(In *in)
{
    if (++in->depth <= NESTING_MAX)
        return true;
    return fail(in->cx, E_LIMIT, "graphs or types are nested more than %d deep", NESTING_MAX);
}

/* ---- numbers, packed or not ---- */

typedef struct Numbers { int64_t *at; size_t n, cap; } Numbers;     /* floats as their bits */

static bool take_numbers(const In *in, const Field *f, Numbers *out)
{
    if (f->type == WIRE_VARINT) {
        vec_push(in->cx, out, (int64_t)f->v);
        return true;
    }
    Cursor c = over(f->bytes);
    while (cur_left(&c))
        vec_push(in->cx, out, (int64_t)take_varint(&c));
    return (!c.failed || damaged(in, "list of numbers", &c)) && !ctx_failed(in->cx);
}

static bool take_fixed(const In *in, const Field *f, size_t size, Numbers *out)
{
    Cursor c = over(f->bytes);
    if (f->type == WIRE_VARINT || f->bytes.n % size)
        return damaged(in, "list of floats", &c);
    while (cur_left(&c))
        vec_push(in->cx, out, size == 4 ? (int64_t)cur_u32(&c) : (int64_t)cur_u64(&c));
    return !ctx_failed(in->cx);
}

static double float_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* ---- tensors ---- */

typedef struct RawTensor {
    Str name, location;
    Numbers dims, ints, floats, doubles;    /* ints: int32_data, int64_data or uint64_data */
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
    Str key = NULL, value = NULL;
    while (next_field(in, &c, "external data", &f))
        if (f.type == WIRE_LENGTH && f.number == 1)
            key = text_of(in, &f);
        else if (f.type == WIRE_LENGTH && f.number == 2)
            value = text_of(in, &f);
    if (key && str_is(key, "location"))
        t->location = value;
    return !ctx_failed(in->cx);
}

static bool tensor_field(In *in, const Cursor *c, const Field *f, RawTensor *t)
{
    switch (f->number) {
    case 1: return take_numbers(in, f, &t->dims);
    case 2: t->dtype = (int64_t)f->v; return true;
    case 4: return take_fixed(in, f, 4, &t->floats);
    case 5: case 7: case 11: return take_numbers(in, f, &t->ints);
    case 6:
        if (!is_message(in, f, "text", c))
            return false;
        vec_push(in->cx, &t->strings, text_of(in, f));
        return true;
    case 8: t->name = text_of(in, f); return is_message(in, f, "name", c);
    case 9:
        t->raw = (Bytes){ source_memory(in->cx, f->bytes.p, f->bytes.n), 0, f->bytes.n };
        t->has_raw = true;
        return is_message(in, f, "tensor", c);
    case 10: return take_fixed(in, f, 8, &t->doubles);
    case 13: return is_message(in, f, "external data", c) && external_entry(in, f->bytes, t);
    case 14: t->external = f->v == 1; return true;
    default: return true;
    }
}

static const char *tensor_name(const RawTensor *t) { return t->name && t->name->len ? t->name->s : "(without a name)"; }

/* The elements as they lie in memory, from the lists that are used instead of raw_data. */
static const Const *const_of_lists(In *in, const RawTensor *t, DType dtype, int64_t numel)
{
    const Numbers *list = t->floats.n ? &t->floats : t->doubles.n ? &t->doubles : &t->ints;
    uint64_t bytes = dtype_bytes(dtype, (uint64_t)numel);
    size_t unit = t->floats.n ? 4 : t->doubles.n ? 8 : dtype_size(dtype);
    if (unit == 0 || bytes != list->n * (uint64_t)unit)
        return fail(in->cx, E_FORMAT, "tensor %s has %zu numbers, its shape asks for %lld", tensor_name(t), list->n, (long long)numel), NULL;
    uint8_t *data = new_array(in->cx, uint8_t, bytes + 1);
    if (!data)
        return NULL;
    for (size_t i = 0; i < list->n; i++)
        memcpy(data + i * unit, &list->at[i], unit);        /* little-endian: the low bytes */
    return const_make(in->cx, dtype, (int)t->dims.n, t->dims.at, data);
}

/* The bytes of the file itself, or a stand-in for another file's. */
static const Const *const_of_bytes(In *in, const RawTensor *t, DType dtype, int64_t numel)
{
    uint64_t bytes = dtype_bytes(dtype, (uint64_t)numel);
    if (!t->external && bytes != t->raw.len)
        return fail(in->cx, E_FORMAT, "tensor %s has %llu bytes, its shape asks for %llu", tensor_name(t), (unsigned long long)t->raw.len,
                    (unsigned long long)bytes), NULL;
    Const *k = new(in->cx, Const);
    *k = (Const){ .dtype = dtype, .rank = (int)t->dims.n, .dims = t->dims.at, .name = t->name };
    k->bytes = t->raw;
    if (t->external)
        k->bytes = (Bytes){ source_recipe(in->cx, read_elsewhere, tensor_name(t), bytes), 0, bytes };
    else if (!t->has_raw)
        k->bytes = (Bytes){ source_memory(in->cx, "", 0), 0, 0 };
    return k;
}

static const Const *const_of_strings(In *in, const RawTensor *t, int64_t numel)
{
    if ((uint64_t)numel != t->strings.n)
        return fail(in->cx, E_FORMAT, "tensor %s has %zu texts, its shape asks for %lld", tensor_name(t), t->strings.n, (long long)numel), NULL;
    Const *k = new(in->cx, Const);
    *k = (Const){ .dtype = DT_STRING, .rank = (int)t->dims.n, .dims = t->dims.at, .name = t->name };
    k->bytes = (Bytes){ source_memory(in->cx, t->strings.at, t->strings.n * sizeof(Str)), 0, t->strings.n * sizeof(Str) };
    return k;
}

static const Const *const_of_tensor(In *in, RawTensor *t);

/* TensorProto */
static const Const *read_tensor(In *in, Slice message, Str *name)
{
    Cursor c = over(message);
    Field f;
    RawTensor t = { 0 };
    while (next_field(in, &c, "tensor", &f))
        if (!tensor_field(in, &c, &f, &t))
            return NULL;
    *name = t.name;
    return ctx_failed(in->cx) ? NULL : const_of_tensor(in, &t);
}

/* The same of an initializer: its raw_data stays in the file. */
static const Const *read_tensor_in_file(In *in, Span message, Str *name)
{
    Field f;
    Span span;
    RawTensor t = { 0 };
    for (uint64_t at = message.at; next_in_file(in, &at, message.at + message.n, "tensor", &f, &span);) {
        if (f.number == 9 && f.type == WIRE_LENGTH) {
            t.raw = (Bytes){ in->file, span.at, span.n };
            t.has_raw = true;
            continue;
        }
        f.bytes = f.type == WIRE_VARINT ? (Slice){ 0 } : load(in, span);
        Cursor c = over(in->piece);
        if (ctx_failed(in->cx) || !tensor_field(in, &c, &f, &t))
            return NULL;
    }
    *name = t.name;
    return ctx_failed(in->cx) ? NULL : const_of_tensor(in, &t);
}

static const Const *const_of_tensor(In *in, RawTensor *t)
{
    if (t->dtype <= DT_NONE || t->dtype >= DT_COUNT)
        return fail(in->cx, E_FORMAT, "tensor %s has the element type %lld, which ONNX does not define", tensor_name(t), (long long)t->dtype), NULL;
    if (t->dims.n > MAX_RANK)
        return fail(in->cx, E_LIMIT, "tensor %s has rank %zu, more than %d", tensor_name(t), t->dims.n, MAX_RANK), NULL;
    int64_t numel = 1;
    for (size_t i = 0; i < t->dims.n; i++)
        if (t->dims.at[i] < 0 || !mul_ok(numel, t->dims.at[i], &numel) || numel > INT64_MAX / 16)
            return fail(in->cx, E_FORMAT, "tensor %s has an impossible shape", tensor_name(t)), NULL;
    if (t->dtype == DT_STRING)
        return const_of_strings(in, t, numel);
    bool lists = t->floats.n || t->doubles.n || t->ints.n;
    return lists && !t->has_raw ? const_of_lists(in, t, (DType)t->dtype, numel) : const_of_bytes(in, t, (DType)t->dtype, numel);
}

/* ---- types ---- */

/* TensorShapeProto.Dimension */
static Dim read_dim(In *in, Slice message)
{
    Cursor c = over(message);
    Field f;
    Dim d = NULL;
    while (next_field(in, &c, "dimension", &f)) {
        if (f.number == 1 && f.type == WIRE_VARINT && (int64_t)f.v >= 0)
            d = dim_int(in->cx, (int64_t)f.v);
        else if (f.number == 2 && f.type == WIRE_LENGTH && f.bytes.n)
            d = dim_sym(in->cx, text_of(in, &f));
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
    while (next_field(in, &c, "type", &f)) {
        if (f.number == 1 && f.v < DT_COUNT)
            dtype = (DType)f.v;
        if (f.number != 2 || f.type != WIRE_LENGTH)
            continue;
        rank = 0;
        Cursor s = over(f.bytes);
        for (Field d; next_field(in, &s, "shape", &d);) {
            if (d.number != 1 || d.type != WIRE_LENGTH)
                continue;
            if (rank == MAX_RANK)
                return fail(in->cx, E_LIMIT, "a value has a rank of more than %d", MAX_RANK), NULL;
            dim[rank++] = read_dim(in, d.bytes);
        }
    }
    return ctx_failed(in->cx) ? NULL : type_tensor(in->cx, dtype, rank, rank > 0 ? dim : NULL);
}

/* TypeProto; maps, sparse tensors and opaque types are types that nothing is known of. */
static Type read_type(In *in, Slice message)
{
    if (!deeper(in))
        return NULL;
    Cursor c = over(message);
    Field f;
    Type t = type_tensor(in->cx, DT_NONE, -1, NULL);
    while (t && next_field(in, &c, "type", &f)) {
        if (f.type != WIRE_LENGTH)
            continue;
        if (f.number == 1)
            t = read_tensor_type(in, f.bytes);
        if (f.number != 4 && f.number != 9)
            continue;
        Cursor e = over(f.bytes);
        Type elem = NULL;
        for (Field g; next_field(in, &e, "type", &g);)
            if (g.number == 1 && g.type == WIRE_LENGTH && !(elem = read_type(in, g.bytes)))
                return NULL;
        if (elem)
            t = type_wrapped(in->cx, f.number == 4 ? T_SEQUENCE : T_OPTIONAL, elem);
    }
    in->depth--;
    return ctx_failed(in->cx) ? NULL : t;
}

/* ValueInfoProto */
static bool read_value_info(In *in, Slice message, Str *name, Type *type)
{
    Cursor c = over(message);
    Field f;
    *name = str_of(in->cx, "");
    *type = type_tensor(in->cx, DT_NONE, -1, NULL);
    while (next_field(in, &c, "value", &f)) {
        if (f.number == 1 && f.type == WIRE_LENGTH)
            *name = text_of(in, &f);
        if (f.number == 2 && f.type == WIRE_LENGTH && !(*type = read_type(in, f.bytes)))
            return false;
    }
    return !ctx_failed(in->cx);
}

/* ---- values by name ---- */

static Ox look_up(const Scope *s, Str name)
{
    for (; s; s = s->up) {
        Ox v = map_get(&s->values, name);
        if (v)
            return v;
    }
    return NULL;
}

static bool define(In *in, Scope *s, Str name, Ox v)
{
    if (map_find(&s->values, name))
        return fail(in->cx, E_FORMAT, "the value %s is defined twice", name->s);
    map_put(in->cx, &s->values, name, v);
    return true;
}

static Type told_type(In *in, const Scope *s, Str name)
{
    Type t = (Type)map_get(&s->types, name);
    return t ? t : type_tensor(in->cx, DT_NONE, -1, NULL);
}

/* ---- attributes ---- */

static Graph *read_graph(In *in, Slice message, Graph *up, const Scope *outer);

/* Every field on its own: a file may hold several, the last `type` decides. */
typedef struct RawAttr {
    Str name, s;
    int64_t kind, i;
    double f;
    const Const *t;
    Graph *g;
    Type type;
    Numbers ints, floats;
    VEC(Str) strs;
    bool has_f, has_i;
} RawAttr;

static uint32_t fixed32(Slice s)
{
    Cursor c = over(s);
    return cur_u32(&c);
}

/* How a field of an attribute is written; -1: either way, or not read. */
static int attr_wire(uint32_t number)
{
    switch (number) {
    case 2: return WIRE_FIXED32;
    case 3: case 20: return WIRE_VARINT;
    case 1: case 4: case 5: case 6: case 9: case 14: return WIRE_LENGTH;
    default: return -1;
    }
}

static bool attr_field(In *in, const Cursor *c, const Field *f, RawAttr *r, Graph *g, const Scope *scope)
{
    if (attr_wire(f->number) >= 0 && f->type != attr_wire(f->number))
        return damaged(in, "attribute", c);
    Str unused;
    switch (f->number) {
    case 1: r->name = text_of(in, f); return true;
    case 2: r->has_f = true; r->f = float_of(fixed32(f->bytes)); return true;
    case 3: r->has_i = true; r->i = (int64_t)f->v; return true;
    case 4: r->s = text_of(in, f); return true;
    case 5: return (r->t = read_tensor(in, f->bytes, &unused)) != NULL;
    case 6: return (r->g = read_graph(in, f->bytes, g, scope)) != NULL;
    case 7: return take_fixed(in, f, 4, &r->floats);
    case 8: return take_numbers(in, f, &r->ints);
    case 9: vec_push(in->cx, &r->strs, text_of(in, f)); return true;
    case 14: return (r->type = read_type(in, f->bytes)) != NULL;
    case 20: r->kind = (int64_t)f->v; return true;
    case 10: case 11: case 15: case 21: case 22: case 23:
        return fail(in->cx, E_UNSUPPORTED, "attribute %s is of a kind that is not read (a list of tensors or graphs, sparse, or a reference)",
                    r->name ? r->name->s : "?");
    default: return true;
    }
}

/* Files of the first IR versions have no `type`: the field that is there tells. */
static int64_t attr_kind(const RawAttr *r)
{
    if (r->kind)
        return r->kind;
    return r->has_f ? 1 : r->has_i ? 2 : r->s ? 3 : r->t ? 4 : r->g ? 5 : r->floats.n ? 6 : r->strs.n ? 8 : r->type ? 13 : 7;
}

static bool attr_made(In *in, const RawAttr *r, Attr *a)
{
    *a = (Attr){ .name = r->name ? r->name->s : "" };
    switch (attr_kind(r)) {
    case 1: a->kind = ATTR_FLOAT; a->f = r->f; return true;
    case 2: a->kind = ATTR_INT; a->i = r->i; return true;
    case 3: a->kind = ATTR_STRING; a->s = r->s ? r->s : str_of(in->cx, ""); return true;
    case 4: a->kind = ATTR_TENSOR; a->t = r->t; return a->t != NULL;
    case 5: a->kind = ATTR_GRAPH; a->g = r->g; return a->g != NULL;
    case 6: {
        double *floats = new_array(in->cx, double, r->floats.n + 1);
        for (size_t i = 0; floats && i < r->floats.n; i++)
            floats[i] = float_of((uint32_t)r->floats.at[i]);
        a->kind = ATTR_FLOATS; a->n = r->floats.n; a->floats = floats;
        return floats != NULL;
    }
    case 7: a->kind = ATTR_INTS; a->n = r->ints.n; a->ints = r->ints.at; return true;
    case 8: a->kind = ATTR_STRINGS; a->n = r->strs.n; a->strs = r->strs.at; return true;
    case 13: a->kind = ATTR_TYPE; a->type = r->type; return a->type != NULL;
    default: return false;
    }
}

/* AttributeProto */
static bool read_attr(In *in, Slice message, Graph *g, const Scope *scope, Attr *out)
{
    Cursor c = over(message);
    Field f;
    RawAttr r = { 0 };
    while (next_field(in, &c, "attribute", &f))
        if (!attr_field(in, &c, &f, &r, g, scope))
            return false;
    if (ctx_failed(in->cx))
        return false;
    return attr_made(in, &r, out) || ctx_failed(in->cx) ||
           fail(in->cx, E_FORMAT, "attribute %s does not hold what its type says", out->name);
}

/* ---- nodes ---- */

typedef struct RawNode { VEC(Str) in, out; VEC(Slice) attr; Str op, domain; } RawNode;

static bool node_fields(In *in, Slice message, RawNode *r)
{
    Cursor c = over(message);
    Field f;
    while (next_field(in, &c, "node", &f)) {
        if (f.number > 7)
            continue;
        if (!is_message(in, &f, "node", &c))
            return false;
        switch (f.number) {
        case 1: vec_push(in->cx, &r->in, text_of(in, &f)); break;
        case 2: vec_push(in->cx, &r->out, text_of(in, &f)); break;
        case 4: r->op = text_of(in, &f); break;
        case 5: vec_push(in->cx, &r->attr, f.bytes); break;
        case 7: r->domain = text_of(in, &f); break;
        default: break;
        }
    }
    if (!r->op && !ctx_failed(in->cx))
        return fail(in->cx, E_FORMAT, "a node has no operator");
    if (r->in.n > INT32_MAX || r->out.n > INT32_MAX || r->attr.n > INT32_MAX)
        return fail(in->cx, E_LIMIT, "a %s node has more than %d inputs, outputs or attributes", r->op->s, INT32_MAX);
    return !ctx_failed(in->cx);
}

static bool node_inputs(In *in, Node *n, const RawNode *r, const Scope *scope)
{
    for (size_t i = 0; i < r->in.n; i++) {
        if (r->in.at[i]->len == 0)
            continue;                                       /* left out */
        n->in[i] = look_up(scope, r->in.at[i]);
        if (!n->in[i])
            return fail(in->cx, E_FORMAT, "a %s node uses %s before anything defines it", n->name->s, r->in.at[i]->s);
    }
    return true;
}

static bool node_outputs(In *in, Node *n, const RawNode *r, Scope *scope)
{
    for (size_t i = 0; i < r->out.n; i++) {
        Str name = r->out.at[i];
        Ox v = ox_new(n->graph, OX_NODE, told_type(in, scope, name));
        v->node = n;
        v->out = (int)i;
        v->name = name;
        n->out[i] = v;
        if (name->len && !define(in, scope, name, v))
            return false;
    }
    return true;
}

/* NodeProto */
static bool read_node(In *in, Slice message, Graph *g, Scope *scope)
{
    RawNode r = { 0 };
    if (!node_fields(in, message, &r))
        return false;
    Node *n = new(in->cx, Node);
    *n = (Node){ .name = r.op, .domain = r.domain ? r.domain : str_of(in->cx, ""), .graph = g, .id = in->nodes++ };
    if (str_is(n->domain, "ai.onnx"))                       /* the same domain by its long name */
        n->domain = str_of(in->cx, "");
    n->op = n->domain->len == 0 ? onnx_op(in->cx, n->name->s) : NULL;
    n->n_in = (int)r.in.n;
    n->n_out = (int)r.out.n;
    n->n_attr = (int)r.attr.n;
    n->in = new_array(in->cx, Ox, r.in.n + 1);
    n->out = new_array(in->cx, Ox, r.out.n + 1);
    n->attr = new_array(in->cx, Attr, r.attr.n + 1);
    if (ctx_failed(in->cx) || !node_inputs(in, n, &r, scope))
        return false;
    for (size_t i = 0; i < r.attr.n; i++)
        if (!read_attr(in, r.attr.at[i], g, scope, &n->attr[i]))
            return false;
    vec_push(in->cx, &g->nodes, n);
    return node_outputs(in, n, &r, scope);
}

/* ---- graphs ---- */

typedef struct RawGraph { Str name; VEC(Slice) node, initializer, input, output; VEC(Span) in_file; /* initializers of the root */ } RawGraph;

static bool graph_field(In *in, const Field *f, RawGraph *r, Scope *scope)
{
    Str name;
    Type type;
    switch (f->number) {
    case 1: vec_push(in->cx, &r->node, f->bytes); break;
    case 2: r->name = text_of(in, f); break;
    case 5: vec_push(in->cx, &r->initializer, f->bytes); break;
    case 11: vec_push(in->cx, &r->input, f->bytes); break;
    case 12: case 13:
        if (!read_value_info(in, f->bytes, &name, &type))
            return false;
        map_put(in->cx, &scope->types, name, (void *)type);
        if (f->number == 12)
            vec_push(in->cx, &r->output, f->bytes);
        break;
    case 15: return fail(in->cx, E_UNSUPPORTED, "sparse initializers are not read");
    default: break;
    }
    return !ctx_failed(in->cx);
}

static bool graph_fields(In *in, Slice message, RawGraph *r, Scope *scope)
{
    Cursor c = over(message);
    Field f;
    while (next_field(in, &c, "graph", &f))
        if (!is_message(in, &f, "graph", &c) || !graph_field(in, &f, r, scope))
            return false;
    return !ctx_failed(in->cx);
}

static bool graph_fields_in_file(In *in, Span message, RawGraph *r, Scope *scope)
{
    Field f;
    Span span;
    for (uint64_t at = message.at; next_in_file(in, &at, message.at + message.n, "graph", &f, &span);) {
        if (f.type != WIRE_LENGTH)
            return damaged_at(in, "graph", at);
        if (f.number == 5) {
            vec_push(in->cx, &r->in_file, span);
            continue;
        }
        f.bytes = load(in, span);
        if (ctx_failed(in->cx) || !graph_field(in, &f, r, scope))
            return false;
    }
    return !ctx_failed(in->cx);
}

static bool read_initializers(In *in, const RawGraph *r, Graph *g, Scope *scope)
{
    for (size_t i = 0; i < r->initializer.n + r->in_file.n; i++) {
        Str name = NULL;
        const Const *k = i < r->in_file.n ? read_tensor_in_file(in, r->in_file.at[i], &name)
                                          : read_tensor(in, r->initializer.at[i - r->in_file.n], &name);
        if (!k)
            return false;
        if (!name || name->len == 0)
            return fail(in->cx, E_FORMAT, "an initializer has no name");
        Ox v = ox_new(g, OX_CONST, type_of_ints(in->cx, k->dtype, k->rank, k->dims));
        v->k = k;
        v->name = name;
        if (!define(in, scope, name, v))
            return false;
    }
    return true;
}

/* The initializer of an input's name. Up to IR version 3 all initializers are listed as inputs; later it is the default of an
 * input of the root. */
static bool with_initializer(In *in, Ox v, Graph *g, Str name, Type type, Scope *scope)
{
    if (in->ir_version <= 3 || g->up)
        return true;
    Ox input = graph_input(g, name, type);
    graph_input_default(input, v->k);
    map_put(in->cx, &scope->values, name, input);
    return !ctx_failed(in->cx);
}

static bool read_inputs(In *in, const RawGraph *r, Graph *g, Scope *scope)
{
    for (size_t i = 0; i < r->input.n; i++) {
        Str name;
        Type type;
        if (!read_value_info(in, r->input.at[i], &name, &type))
            return false;
        Ox known = map_get(&scope->values, name);
        bool initialised = known && known->kind == OX_CONST;
        if (!(initialised ? with_initializer(in, known, g, name, type, scope) : define(in, scope, name, graph_input(g, name, type))))
            return false;
    }
    return true;
}

static bool read_outputs(In *in, const RawGraph *r, Graph *g, const Scope *scope)
{
    for (size_t i = 0; i < r->output.n; i++) {
        Str name;
        Type type;
        if (!read_value_info(in, r->output.at[i], &name, &type))
            return false;
        Ox v = look_up(scope, name);
        if (!v)
            return fail(in->cx, E_FORMAT, "nothing defines the output %s", name->s);
        vec_push(in->cx, &g->outputs, v);
    }
    return true;
}

static Graph *make_graph(In *in, const RawGraph *r, Graph *up, Scope *scope)
{
    Graph *g = graph_new(in->cx, up, r->name ? r->name : str_of(in->cx, ""));
    if (!read_initializers(in, r, g, scope) || !read_inputs(in, r, g, scope))
        return NULL;
    for (size_t i = 0; i < r->node.n; i++)
        if (!read_node(in, r->node.at[i], g, scope))
            return NULL;
    return read_outputs(in, r, g, scope) && !ctx_failed(in->cx) ? g : NULL;
}

/* GraphProto */
static Graph *read_graph(In *in, Slice message, Graph *up, const Scope *outer)
{
    RawGraph r = { 0 };
    Scope scope = { .up = outer };
    if (!deeper(in) || !graph_fields(in, message, &r, &scope))
        return NULL;
    Graph *g = make_graph(in, &r, up, &scope);
    in->depth--;
    return g;
}

static Graph *read_root_graph(In *in, Span message)
{
    RawGraph r = { 0 };
    Scope scope = { 0 };
    return graph_fields_in_file(in, message, &r, &scope) ? make_graph(in, &r, NULL, &scope) : NULL;
}

/* ---- the model ---- */

static bool read_pair(In *in, Slice message, Str *key, Str *value, int64_t *number)
{
    Cursor c = over(message);
    Field f;
    while (next_field(in, &c, "model", &f)) {
        if (f.number == 1 && f.type == WIRE_LENGTH)
            *key = text_of(in, &f);
        if (f.number == 2 && f.type == WIRE_LENGTH)
            *value = text_of(in, &f);
        if (f.number == 2 && f.type == WIRE_VARINT)
            *number = (int64_t)f.v;
    }
    return !ctx_failed(in->cx);
}

static bool model_field(In *in, const Field *f, Span span, ModelInfo *info)
{
    Str key = str_of(in->cx, ""), value = key;
    int64_t number = 0;
    if (f->number == 25)
        in->functions++;
    if (f->number == 1 && f->type == WIRE_VARINT)
        in->ir_version = (int64_t)f->v;
    if (f->number != 8 && f->number != 14)
        return true;
    if (f->type != WIRE_LENGTH)
        return damaged_at(in, "model", span.at);
    Slice message = load(in, span);
    if (!message.p || !read_pair(in, message, &key, &value, &number))
        return false;
    if (f->number == 14)
        vec_push(in->cx, &info->props, (Prop){ key, value });
    else if (key->len == 0 || str_is(key, "ai.onnx"))
        info->opset = number > 0 && number < 1000 ? (int)number : 0;
    else
        vec_push(in->cx, &info->domains, (OpsetImport){ key, number });
    return true;
}

Graph *wire_read(Ctx *cx, Source *file, ModelInfo *info)
{
    In in = { .cx = cx, .file = file };
    Span graph = { 0 }, span;
    Field f;
    *info = (ModelInfo){ 0 };
    for (uint64_t at = 0; next_in_file(&in, &at, file->size, "model", &f, &span);) {
        if (f.number == 7 && f.type == WIRE_LENGTH)
            graph = span;
        if (!model_field(&in, &f, span, info))
            return NULL;
    }
    if (ctx_failed(cx))
        return NULL;
    if (!graph.at)
        return fail(cx, E_FORMAT, "not an ONNX model: it has no graph"), NULL;
    if (in.functions)
        note(cx, NOTE_INFO, "%zu local functions are not shown", in.functions);
    Graph *g = read_root_graph(&in, graph);
    if (g)
        info->graph_name = g->name;
    return g;
}
