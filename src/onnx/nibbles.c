/* nibbles.c - whole numbers of 8 bits as constants of 4 bits, packed while they are written.
 *
 * PyTorch's files keep 4 bits in a byte each. ONNX packs two to a byte, the first in the low bits;
 * so does MatMulNBits, whose codes count from 0 and whose rows begin at a byte. */
#include "onnx/internal.h"

/* What is written of k, an int8 or uint8 constant: `bits` of each element after adding `zero`;
 * elements follow each other in runs of `row`, each from a whole byte on. */
typedef struct Packing {
    const Const *k;
    int bits, zero;
    uint64_t row;
} Packing;

static uint64_t packed_row(const Packing *p) { return (p->row * (uint64_t)p->bits + 7) / 8; }

/* The code of one byte; *beyond where 4 bits do not hold it. */
static uint8_t code_of(const Packing *p, uint8_t byte, bool *beyond)
{
    int v = (p->k->dtype == DT_INT8 ? (int8_t)byte : byte) + p->zero;
    int least = p->zero == 0 && p->k->dtype == DT_INT8 ? -8 : 0;
    *beyond |= p->bits == 4 && (v < least || v > least + 15);
    return p->bits == 4 ? (uint8_t)(v & 15) : (uint8_t)v;
}

static bool pack_row(const Packing *p, const uint8_t *from, uint8_t *to)
{
    bool beyond = false;
    for (uint64_t i = 0; i < p->row; i++) {
        uint8_t code = code_of(p, from[i], &beyond);
        if (p->bits == 8)
            to[i] = code;
        else if (i % 2 == 0)
            to[i / 2] = code;
        else
            to[i / 2] = (uint8_t)(to[i / 2] | code << 4);
    }
    return !beyond;
}

/* A RecipeFn. What 4 bits cannot hold is an error: nothing else may be written for it. */
static bool pack(Ctx *cx, const void *arg, uint8_t *out, uint64_t size)
{
    const Packing *p = arg;
    uint64_t n = (uint64_t)const_numel(p->k);
    uint8_t *room = room_take(cx, n);
    bool ok = room || fail(cx, E_MEMORY, "out of memory");
    ok = ok && const_read(cx, p->k, room);
    for (uint64_t i = 0; ok && i * packed_row(p) < size; i++)
        if (!pack_row(p, room + i * p->row, out + i * packed_row(p)))
            ok = fail(cx, E_VALUE, "a weight of 4 bits, %s, has other numbers than those of 4 bits",
                      p->k->name ? p->k->name->s : "without a name");
    if (room)
        room_give(cx, room, n);
    return ok;
}

static const Const *packed(Ctx *cx, Packing how, DType t, int rank, const int64_t *dims)
{
    Packing *p = new(cx, Packing);
    Const *k = new(cx, Const);
    uint64_t rows = how.row ? (uint64_t)const_numel(how.k) / how.row : 0;
    *p = how;
    *k = (Const){ .dtype = t, .rank = rank };
    k->dims = mem_copy(cx, dims, (size_t)rank * sizeof *dims);
    uint64_t size = rows * packed_row(p);
    k->bytes = (Bytes){ source_recipe(cx, pack, p, size), 0, size };
    Str name = how.k->name ? how.k->name : how.k->derived;
    k->derived = name ? str_cat(cx, name->s, ".", dtype_name(t)) : NULL;
    return k;
}

const Const *const_as_nibbles(Ctx *cx, const Const *k)
{
    DType t = k->dtype == DT_INT8 ? DT_INT4 : DT_UINT4;
    Packing p = { .k = k, .bits = 4, .row = (uint64_t)const_numel(k) };
    return packed(cx, p, t, k->rank, k->dims);
}

const Const *const_of_nibbles(const Const *k)
{
    const Source *s = k->bytes.src;
    const Packing *p = s && s->kind == SRC_RECIPE && s->recipe == pack ? s->arg : NULL;
    return p && p->row == (uint64_t)const_numel(p->k) ? p->k : NULL;
}

const Const *const_as_codes(Ctx *cx, const Const *k, int bits, int rank, const int64_t *dims)
{
    Packing p = { .k = k, .bits = bits, .zero = bits == 8 ? 128 : 8 };
    p.row = (uint64_t)k->dims[k->rank - 1];
    return packed(cx, p, DT_UINT8, rank, dims);
}
