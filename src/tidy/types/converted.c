/* converted.c - float32 constants as float16 or bfloat16, converted while they are written: a piece
 * is read, rounded in place and written, so a weight of any size takes the memory of one piece. */
#include "tidy/types/types.h"

enum {
    ROOM = 16 << 20, /* bytes of float32 that are read at a time where rows are not dense */
    PIECE = 1 << 20, /* and where they are */
    RUN = 64,        /* elements rounded in one loop of known length, which vectorises */
};

#define LEAST_NORMAL   0x38800000u /* 2^-14, the least float32 that is a normal float16 */
#define FLOAT_INFINITY 0x7f800000u

double half_max(DType t) { return t == DT_FLOAT16 ? 65504 : 0x1.fep127; }

/* ---- reading in parts ---- */

static uint64_t span_of(const Const *k)
{
    uint64_t last = 0;
    for (int a = 0; a < k->rank; a++)
        last += (uint64_t)((k->dims[a] - 1) * (k->strides ? k->strides[a] : 0));
    return k->strides ? last + 1 : (uint64_t)const_numel(k);
}

bool parts_begin(Ctx *cx, const Const *k, bool forward, Parts *out)
{
    *out = (Parts){ .k = *k };
    SourceKind kind = k->bytes.src->kind;
    if (kind == SRC_FILE || kind == SRC_MEMORY || (forward && kind == SRC_DEFLATED))
        return true;
    out->size = span_of(k) * dtype_size(k->dtype);
    out->room = room_take(cx, out->size);
    if (!out->room)
        return fail(cx, E_MEMORY, "out of memory: a weight of %llu bytes must be computed whole",
                    (unsigned long long)out->size);
    if (!bytes_read(cx, k->bytes, 0, out->room, (size_t)out->size)) {
        parts_done(cx, out);
        return false;
    }
    out->k.bytes = (Bytes){ source_memory(cx, out->room, out->size), 0, out->size };
    return true;
}

void parts_done(Ctx *cx, Parts *p)
{
    if (p->room)
        room_give(cx, p->room, p->size);
    p->room = NULL;
}

/* ---- rounding ---- */

static inline uint32_t bits_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static inline float float_of(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

/* To nearest even. A number below the least normal one is rounded by adding a power of two that
 * leaves 2^-24 as its last bit. 65504 for what is larger and finite. */
static inline uint16_t to_float16(float v, uint32_t *beyond)
{
    uint32_t u = bits_of(v);
    uint32_t sign = u >> 16 & 0x8000;
    uint32_t size = u & 0x7fffffff;
    uint32_t normal = (size - 0x38000000u + 0xfff + (size >> 13 & 1)) >> 13;
    uint32_t small = bits_of(float_of(size) + 0.5f) - bits_of(0.5f);
    uint32_t out = size < LEAST_NORMAL ? small : normal;
    bool large = size >= 0x477ff000; /* 65520, the first that rounds to infinity */
    uint32_t special = size > FLOAT_INFINITY ? 0x7e00 : 0x7c00;
    uint32_t most = size < FLOAT_INFINITY ? 0x7bff : special;
    *beyond += large & (size < FLOAT_INFINITY);
    out = large ? most : out;
    return (uint16_t)(sign | out);
}

static inline uint16_t to_bfloat16(float v, uint32_t *beyond)
{
    uint32_t u = bits_of(v);
    uint32_t sign = u >> 16 & 0x8000;
    uint32_t size = u & 0x7fffffff;
    uint32_t out = (size + 0x7fff + (size >> 16 & 1)) >> 16;
    bool large = size >= 0x7f7f8000; /* the first that rounds to infinity */
    uint32_t special = size > FLOAT_INFINITY ? 0x7fc0 : 0x7f80;
    uint32_t most = size < FLOAT_INFINITY ? 0x7f7f : special;
    *beyond += large & (size < FLOAT_INFINITY);
    out = large ? most : out;
    return (uint16_t)(sign | out);
}

#define ROUND_ALL(NAME, ONE)                                        \
    static uint64_t NAME(const float *from, uint16_t *to, size_t n) \
    {                                                               \
        uint64_t all = 0;                                           \
        size_t i = 0;                                               \
        for (; i + RUN <= n; i += RUN) {                            \
            float piece[RUN]; /* `to` may be the same memory */     \
            uint32_t beyond = 0;                                    \
            memcpy(piece, from + i, sizeof piece);                  \
            for (int k = 0; k < RUN; k++)                           \
                to[i + (size_t)k] = ONE(piece[k], &beyond);         \
            all += beyond;                                          \
        }                                                           \
        for (; i < n; i++) {                                        \
            float one = from[i];                                    \
            uint32_t beyond = 0;                                    \
            to[i] = ONE(one, &beyond);                              \
            all += beyond;                                          \
        }                                                           \
        return all;                                                 \
    }
ROUND_ALL(round_float16, to_float16)
ROUND_ALL(round_bfloat16, to_bfloat16)

/* n float32 become n halves in the same memory; how many of them were out of range. */
static uint64_t round_all(DType t, uint8_t *at, size_t n)
{
    void *room = at;
    return t == DT_FLOAT16 ? round_float16(room, room, n) : round_bfloat16(room, room, n);
}

/* How many of k's elements were out of range, in words. */
static void note_beyond(Ctx *cx, const Const *k, DType t, uint64_t n)
{
    Str name = derived_name(cx, k, "");
    note(cx, NOTE_CHANGED, "%llu values of %s are beyond %s and became its largest, %g",
         (unsigned long long)n, name ? name->s : "a constant", dtype_name(t), half_max(t));
}

/* ---- the stream ---- */

typedef struct Half {
    const Const *k;
    DType to;
} Half;

typedef struct Writing {
    Ctx *cx;
    Sink *to;
    DType type;
    uint8_t *room;
    uint64_t beyond;
} Writing;

static bool write_rounded(Writing *w, const Const *part)
{
    size_t n = (size_t)const_numel(part);
    if (!const_read(w->cx, part, w->room))
        return false;
    w->beyond += round_all(w->type, w->room, n);
    return sink_write(w->cx, w->to, w->room, n * sizeof(uint16_t));
}

static bool write_dense(Writing *w, const Const *k)
{
    int64_t n = const_numel(k);
    Const part = { .dtype = k->dtype, .rank = 1, .bytes = k->bytes };
    for (int64_t i = 0; i < n; i += PIECE / 4) {
        int64_t count = n - i < PIECE / 4 ? n - i : PIECE / 4;
        part.dims = &count;
        part.bytes.off = k->bytes.off + (uint64_t)i * 4;
        part.bytes.len = k->bytes.len - (uint64_t)i * 4;
        if (!write_rounded(w, &part))
            return false;
    }
    return true;
}

/* Rows along the first axis, as many at once as the room holds; a row that is larger by itself. */
static bool write_strided(Writing *w, const Const *k)
{
    int64_t dims[MAX_RANK];
    int64_t row = 4;
    for (int a = 1; a < k->rank; a++)
        row *= k->dims[a];
    int64_t most = row > ROOM ? 1 : ROOM / row;
    Const part = *k;
    memcpy(dims, k->dims, (size_t)k->rank * sizeof *dims);
    part.dims = dims;
    for (int64_t i = 0; i < k->dims[0]; i += most) {
        uint64_t skip = (uint64_t)(i * k->strides[0]) * 4;
        part.bytes.off = k->bytes.off + skip;
        part.bytes.len = k->bytes.len - skip;
        dims[0] = k->dims[0] - i < most ? k->dims[0] - i : most;
        Const inner = part;
        if (row > ROOM) {
            inner.rank = k->rank - 1;
            inner.dims = k->dims + 1;
            inner.strides = k->strides + 1;
        }
        if (!(row > ROOM ? write_strided(w, &inner) : write_rounded(w, &part)))
            return false;
    }
    return true;
}

/* The stream of a Half: dense elements a piece at a time, others in rows. */
static bool write_half(Ctx *cx, const void *arg, Sink *to)
{
    const Half *h = arg;
    Parts p;
    bool dense = const_contiguous(h->k);
    uint64_t size = dense ? PIECE : ROOM;
    if (!parts_begin(cx, h->k, dense, &p))
        return false;
    Writing w = { .cx = cx, .to = to, .type = h->to, .room = room_take(cx, size) };
    bool ok = w.room || fail(cx, E_MEMORY, "out of memory");
    if (ok)
        ok = dense ? write_dense(&w, &p.k) : write_strided(&w, &p.k);
    if (w.room)
        room_give(cx, w.room, size);
    parts_done(cx, &p);
    if (ok && w.beyond)
        note_beyond(cx, h->k, h->to, w.beyond);
    return ok;
}

/* ---- the constant ---- */

static Str half_name(Ctx *cx, const Const *k, DType t)
{
    return derived_name(cx, k, str_cat(cx, ".", dtype_name(t), "")->s);
}

/* A small one is converted at once: equal numbers are one value, as elsewhere. */
static const Const *small_half(Ctx *cx, const Const *k, DType t)
{
    size_t n = (size_t)const_numel(k);
    uint8_t *room = new_array(cx, uint8_t, n * 4 + 4);
    if (!room || !const_read(cx, k, room))
        return NULL;
    uint64_t beyond = round_all(t, room, n);
    if (beyond && (n > 1 || k->name))
        note_beyond(cx, k, t, beyond);
    return const_make(cx, t, k->rank, k->dims, room);
}

const Const *const_as_half(Ctx *cx, const Const *k, DType t)
{
    uint64_t size = dtype_bytes(t, (uint64_t)const_numel(k));
    Const *made = new(cx, Const);
    Half *h = new(cx, Half);
    *h = (Half){ k, t };
    *made = (Const){ .dtype = t, .rank = k->rank, .dims = k->dims };
    made->bytes = (Bytes){ source_stream(cx, write_half, h, size), 0, size };
    if (const_numel(k) <= FOLD_NUMEL) {
        const Const *small = small_half(cx, k, t);
        if (!small)
            return NULL;
        *made = *small;
    }
    made->derived = half_name(cx, k, t);
    return made;
}
