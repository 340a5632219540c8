/* wire_const.c - constants as TensorProto. A weight is only a length until the kernel copies it
 * (sink_copy) or, when it is strided, gather() reads it piece by piece. */
#include "onnx/wire/wire.h"

#include <assert.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "raw_data is little-endian; so are all constants in memory");

enum {
    TENSOR_DIMS = 1,
    TENSOR_DTYPE = 2,
    TENSOR_STRINGS = 6,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
    TENSOR_EXTERNAL = 13,
    TENSOR_LOCATION = 14
};

enum {
    ROOM = 16 << 20, /* strided constants are gathered this many bytes at a time */
    SMALL = 2048,    /* constants up to this many bytes go through the buffer */
};

/* A strided constant, its first axes in as many pieces as make it fit the room. */
static bool put_strided(Wire *w, const Const *k, uint8_t *room)
{
    int64_t dims[MAX_RANK];
    int64_t size = (int64_t)dtype_size(k->dtype);
    int64_t row = size;
    for (int a = 1; a < k->rank; a++)
        row *= k->dims[a]; /* cannot overflow: the whole has been measured */
    int64_t most = row > ROOM ? 1 : ROOM / row;
    Const part = *k;
    for (int64_t i = 0; i < k->dims[0] && !w->failed; i += most) {
        part.bytes.off = k->bytes.off + (uint64_t)(i * k->strides[0] * size);
        part.bytes.len = k->bytes.len - (uint64_t)(i * k->strides[0] * size);
        if (row > ROOM) {
            part.rank = k->rank - 1;
            part.dims = k->dims + 1;
            part.strides = k->strides + 1;
            w->failed = !put_strided(w, &part, room);
            continue;
        }
        memcpy(dims, k->dims, (size_t)k->rank * sizeof *dims);
        dims[0] = k->dims[0] - i < most ? k->dims[0] - i : most;
        part.dims = dims;
        w->failed = !const_read(w->cx, &part, room);
        put_raw(w, room, w->failed ? 0 : (size_t)(dims[0] * row));
    }
    return !w->failed;
}

/* Sources that cannot be read here and there (inflated, computed) are read whole. */
static bool gather(Wire *w, const Const *k)
{
    int64_t last = 0;
    for (int a = 0; a < k->rank; a++)
        if (k->strides[a] < 0 || dtype_is_packed(k->dtype))
            return fail(w->cx, E_BUG, "a constant with this layout reached the writer");
        else
            last += (k->dims[a] - 1) * k->strides[a];
    ArenaMark mark = arena_mark(w->cx->run);
    Const whole = *k;
    if (k->bytes.src->kind != SRC_FILE && k->bytes.src->kind != SRC_MEMORY) {
        uint64_t span = ((uint64_t)last + 1) * dtype_size(k->dtype);
        uint8_t *all = new_array(w->cx, uint8_t, span);
        if (!all || !bytes_read(w->cx, k->bytes, 0, all, (size_t)span))
            return false;
        whole.bytes = (Bytes){ source_memory(w->cx, all, span), 0, span };
    }
    uint64_t size = const_bytes(k) < ROOM ? const_bytes(k) : ROOM;
    uint8_t *room = room_take(w->cx, size);
    bool ok = room ? put_strided(w, &whole, room) : fail(w->cx, E_MEMORY, "out of memory");
    if (room)
        room_give(w->cx, room, size);
    arena_reset(w->cx->run, mark);
    return ok;
}

/* k's bytes, as raw_data has them; while measuring only their number. Large ones go from file to
 * file without passing through our memory. */
void put_elements(Wire *w, const Const *k)
{
    uint64_t size = const_bytes(k);
    if (!w->out) {
        w->n += size;
        return;
    }
    if (size == 0)
        return;
    if (!const_contiguous(k)) {
        w->failed = w->failed || !gather(w, k);
        return;
    }
    if (size <= SMALL) { /* 10,000 small ones are not worth a system call each */
        uint8_t data[SMALL];
        w->failed = w->failed || !bytes_read(w->cx, k->bytes, 0, data, (size_t)size);
        put_raw(w, data, (size_t)size);
        return;
    }
    wire_flush(w);
    w->failed = w->failed || !sink_copy(w->cx, w->out, (Bytes){ k->bytes.src, k->bytes.off, size });
}

static void put_external(Wire *w, const Init *init)
{
    Ctx *cx = w->cx;
    put_prop(w, TENSOR_EXTERNAL, str_of(cx, "location"), w->data_name);
    put_prop(w, TENSOR_EXTERNAL, str_of(cx, "offset"),
             str_fmt(cx, "%llu", (unsigned long long)init->offset));
    put_prop(w, TENSOR_EXTERNAL, str_of(cx, "length"),
             str_fmt(cx, "%llu", (unsigned long long)init->size));
    put_int(w, TENSOR_LOCATION, 1);
}

/* A constant of strings holds one Str an element (onnx.h). */
static void put_strings(Wire *w, const Const *k)
{
    assert(const_contiguous(k));
    for (int64_t i = 0, n = const_numel(k); i < n; i++) {
        Str s = NULL;
        if (!bytes_read(w->cx, k->bytes, (uint64_t)i * sizeof s, &s, sizeof s))
            return;
        put_str(w, TENSOR_STRINGS, s);
    }
}

/* TensorProto. init, or NULL, says whether the elements are in a file beside the model. */
void put_tensor(Wire *w, int field, const Const *k, Str name, const Init *init)
{
    Msg m = open_msg(w, field);
    for (int a = 0; a < k->rank; a++)
        put_int(w, TENSOR_DIMS, k->dims[a]);
    put_int(w, TENSOR_DTYPE, k->dtype);
    if (name)
        put_str(w, TENSOR_NAME, name);
    if (k->dtype == DT_STRING) {
        put_strings(w, k);
    } else if (init && init->external) {
        put_external(w, init);
    } else {
        put_tag(w, TENSOR_RAW, WIRE_LENGTH);
        put_varint(w, const_bytes(k));
        put_elements(w, k);
    }
    close_msg(w, m);
}
