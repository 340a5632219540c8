/* fold_common.c - what all folding functions share: elements as wide numbers, walks over broadcast
 * operands, strided copies. The one idea is in fold.h: floats are computed in double and
 * rounded once, integers in int64 and cut off. */
#include "onnx/fold/fold.h"

#include <math.h>

/* ---- elements as numbers ---- */

/* Which of the wide numbers holds every value of t: NUM_NONE for complex numbers, strings and types
 * of less than a byte, which are not folded. */
NumKind num_kind(DType t)
{
    switch (t) {
    case DT_FLOAT:
    case DT_DOUBLE:
    case DT_FLOAT16:
    case DT_BFLOAT16: return NUM_REAL;
    case DT_BOOL:
    case DT_INT8:
    case DT_INT16:
    case DT_INT32:
    case DT_INT64:
    case DT_UINT8:
    case DT_UINT16:
    case DT_UINT32:   return NUM_INT;
    case DT_UINT64:   return NUM_UINT64;
    default:          return NUM_NONE;
    }
}

/* A binary float of `mant` fraction bits and `expo` exponent bits. */
static double unpack_float(uint32_t bits, int mant, int expo)
{
    int bias = (1 << (expo - 1)) - 1;
    int e = (int)(bits >> mant) & ((1 << expo) - 1);
    uint32_t frac = bits & ((1u << mant) - 1);
    double v;
    if (e == (1 << expo) - 1)
        v = frac ? NAN : INFINITY;
    else if (e == 0)
        v = ldexp(frac, 1 - bias - mant);
    else
        v = ldexp((double)(frac | 1u << mant), e - bias - mant);
    return bits >> (mant + expo) & 1 ? -v : v;
}

/* v rounded once, half to even. The hidden bit of q carries into the exponent, for normal numbers
 * and on rounding up. */
static uint32_t pack_float(double v, int mant, int expo)
{
    uint32_t sign = (uint32_t)(signbit(v) != 0) << (mant + expo);
    uint32_t inf = ((1u << expo) - 1) << mant;
    int least = 2 - (1 << (expo - 1)), e;
    if (isnan(v))
        return sign | inf | 1u << (mant - 1);
    if (isinf(v) || v == 0)
        return sign | (v == 0 ? 0 : inf);
    frexp(v, &e);
    e = e - 1 < least ? least : e - 1;
    if (e > -least + 1)
        return sign | inf;
    uint32_t q = (uint32_t)nearbyint(ldexp(fabs(v), mant - e));
    uint32_t bits = ((uint32_t)(e - least) << mant) + q;
    return sign | (bits > inf ? inf : bits);
}

#define EACH(T, expr)                         \
    do {                                      \
        const T *from_ = p;                   \
        for (int64_t i = 0; i < count; i++) { \
            T v = from_[i * step];            \
            out[i] = (expr);                  \
        }                                     \
    } while (0)

/* Weights are mostly float32, side by side. Compilers make vector instructions of eight at a
 * time. */
static void load_floats(const float *from, int64_t count, double *out)
{
    int64_t i = 0;
    for (; i + 8 <= count; i += 8)
        for (int k = 0; k < 8; k++)
            out[i + k] = from[i + k];
    for (; i < count; i++)
        out[i] = from[i];
}

static void store_floats(float *to, int64_t count, const double *from)
{
    int64_t i = 0;
    for (; i + 8 <= count; i += 8)
        for (int k = 0; k < 8; k++)
            to[i + k] = (float)from[i + k];
    for (; i < count; i++)
        to[i] = (float)from[i];
}

/* count elements, `step` apart, as doubles. */
void load_reals(DType t, const void *p, int64_t step, int64_t count, double *out)
{
    if (t == DT_FLOAT && step == 1) {
        load_floats(p, count, out);
        return;
    }
    switch (t) {
    case DT_FLOAT:    EACH(float, v); break;
    case DT_DOUBLE:   EACH(double, v); break;
    case DT_FLOAT16:  EACH(uint16_t, unpack_float(v, 10, 5)); break;
    case DT_BFLOAT16: EACH(uint16_t, unpack_float(v, 7, 8)); break;
    case DT_BOOL:     EACH(uint8_t, v != 0); break;
    case DT_INT8:     EACH(int8_t, v); break;
    case DT_INT16:    EACH(int16_t, v); break;
    case DT_INT32:    EACH(int32_t, v); break;
    case DT_INT64:    EACH(int64_t, (double)v); break;
    case DT_UINT8:    EACH(uint8_t, v); break;
    case DT_UINT16:   EACH(uint16_t, v); break;
    case DT_UINT32:   EACH(uint32_t, v); break;
    case DT_UINT64:   EACH(uint64_t, (double)v); break;
    default:          break;
    }
}

void load_ints(DType t, const void *p, int64_t step, int64_t count, int64_t *out)
{
    switch (t) {
    case DT_BOOL:   EACH(uint8_t, v != 0); break;
    case DT_INT8:   EACH(int8_t, v); break;
    case DT_INT16:  EACH(int16_t, v); break;
    case DT_INT32:  EACH(int32_t, v); break;
    case DT_INT64:  EACH(int64_t, v); break;
    case DT_UINT8:  EACH(uint8_t, v); break;
    case DT_UINT16: EACH(uint16_t, v); break;
    case DT_UINT32: EACH(uint32_t, v); break;
    case DT_UINT64: EACH(uint64_t, (int64_t)v); break;
    default:        break;
    }
}

#undef EACH
#define EACH(T, expr)                       \
    do {                                    \
        T *to_ = p;                         \
        for (int64_t i = 0; i < count; i++) \
            to_[i] = (T)(expr);             \
    } while (0)

void store_reals(DType t, void *p, int64_t count, const double *from)
{
    switch (t) {
    case DT_FLOAT:    store_floats(p, count, from); break;
    case DT_DOUBLE:   EACH(double, from[i]); break;
    case DT_FLOAT16:  EACH(uint16_t, pack_float(from[i], 10, 5)); break;
    case DT_BFLOAT16: EACH(uint16_t, pack_float(from[i], 7, 8)); break;
    default:          break;
    }
}

void store_ints(DType t, void *p, int64_t count, const int64_t *from)
{
    switch (t) {
    case DT_BOOL:   EACH(uint8_t, from[i] != 0); break;
    case DT_INT8:
    case DT_UINT8:  EACH(uint8_t, (uint64_t)from[i]); break;
    case DT_INT16:
    case DT_UINT16: EACH(uint16_t, (uint64_t)from[i]); break;
    case DT_INT32:
    case DT_UINT32: EACH(uint32_t, (uint64_t)from[i]); break;
    case DT_INT64:
    case DT_UINT64: EACH(uint64_t, from[i]); break;
    default:        break;
    }
}

#undef EACH

double *fold_reals(const Fold *f, int i)
{
    const Data *d = &f->in[i];
    double *out = num_kind(d->dtype) == NUM_REAL ? new_array(f->cx, double, d->numel + !d->numel)
                                                 : NULL;
    if (out)
        load_reals(d->dtype, d->at, 1, d->numel, out);
    return out;
}

size_t item_size(DType t) { return dtype_is_packed(t) ? 0 : dtype_size(t); }

bool fold_ints(const Fold *f, int i, int64_t most, int64_t *out, int64_t *count)
{
    if (i >= f->node->n_in || (!f->in[i].at && f->in[i].numel != 0) || f->in[i].numel > most)
        return false;
    if (num_kind(f->in[i].dtype) != NUM_INT)
        return false;
    *count = f->in[i].numel;
    load_ints(f->in[i].dtype, f->in[i].at, 1, *count, out);
    return true;
}

/* ---- walks ---- */

void plain_strides(int rank, const int64_t *dims, int64_t *out)
{
    int64_t s = 1;
    for (int i = rank - 1; i >= 0; i--) {
        out[i] = s;
        s *= dims[i];
    }
}

void broadcast_strides(const Data *d, int rank, int64_t *out)
{
    int64_t own[MAX_RANK];
    int pad = rank - d->rank;
    plain_strides(d->rank, d->dims, own);
    for (int i = 0; i < rank; i++)
        out[i] = i < pad || d->dims[i - pad] == 1 ? 0 : own[i - pad];
}

/* Axis i+1 goes on where axis i steps, for all operands: they are one axis. */
static bool joins(const Walk *w, int i, int64_t dim, const int64_t *const *strides, int axis)
{
    for (int k = 0; k < w->n; k++)
        if (w->stride[k][i] != strides[k][axis] * dim)
            return false;
    return true;
}

void walk_start(Walk *w, int rank, const int64_t *dims, int n, const int64_t *const *strides)
{
    *w = (Walk){ .n = n };
    for (int axis = 0; axis < rank; axis++) {
        w->done |= dims[axis] == 0;
        if (dims[axis] == 1)
            continue;
        bool join = w->rank > 0 && joins(w, w->rank - 1, dims[axis], strides, axis);
        int to = join ? w->rank - 1 : w->rank++;
        w->dims[to] = (join ? w->dims[to] : 1) * dims[axis];
        for (int k = 0; k < n; k++)
            w->stride[k][to] = strides[k][axis];
    }
    w->run = w->rank ? w->dims[w->rank - 1] : 1;
    for (int k = 0; k < n; k++)
        w->step[k] = w->rank ? w->stride[k][w->rank - 1] : 0;
}

void walk_next(Walk *w)
{
    for (int i = w->rank - 2; i >= 0; i--) {
        for (int k = 0; k < w->n; k++)
            w->at[k] += w->stride[k][i];
        if (++w->index[i] < w->dims[i])
            return;
        for (int k = 0; k < w->n; k++)
            w->at[k] -= w->stride[k][i] * w->dims[i];
        w->index[i] = 0;
    }
    w->done = true;
}

/* ---- strided copies ---- */

typedef struct {
    uint64_t lo, hi;
} Wide; /* complex128 */

#define GRID(T)                                                    \
    do {                                                           \
        T *to = out;                                               \
        const T *from = in;                                        \
        for (int64_t i = 0; i < n0; i++)                           \
            for (int64_t k = 0; k < n1; k++)                       \
                to[i * out0 + k * out1] = from[i * in0 + k * in1]; \
    } while (0)

static void copy_grid(void *out, const void *in, size_t size, int64_t n0, int64_t n1, int64_t out0,
                      int64_t out1, int64_t in0, int64_t in1)
{
    switch (size) {
    case 1:  GRID(uint8_t); break;
    case 2:  GRID(uint16_t); break;
    case 4:  GRID(uint32_t); break;
    case 8:  GRID(uint64_t); break;
    case 16: GRID(Wide); break;
    default: break;
    }
}

#undef GRID

/* The last axis jumps in `in`, another one (`flat`) does not: copy in square blocks, so that both
 * sides stay in the cache. */
static void copy_blocks(uint8_t *out, const uint8_t *in, size_t size, const Walk *w, int flat)
{
    enum { BLOCK = 32 };
    int last = w->rank - 1;
    int64_t n0 = w->dims[flat];
    int64_t n1 = w->dims[last];
    int64_t out0 = w->stride[0][flat];
    int64_t in1 = w->stride[1][last];
    Walk outer = *w;
    outer.dims[flat] = outer.dims[last] = 1;
    for (; !outer.done; walk_next(&outer))
        for (int64_t i = 0; i < n0; i += BLOCK)
            for (int64_t k = 0; k < n1; k += BLOCK) {
                int64_t rows = n0 - i < BLOCK ? n0 - i : BLOCK;
                int64_t columns = n1 - k < BLOCK ? n1 - k : BLOCK;
                copy_grid(out + (size_t)(outer.at[0] + i * out0 + k) * size,
                          in + (outer.at[1] + i + k * in1) * (int64_t)size, size, rows, columns,
                          out0, 1, 1, in1);
            }
}

/* A contiguous tensor of `dims` from elements at strides of `in`: a Transpose, Slice or Expand.
 * Strides may be 0 or negative, and `in` points at the first element. */
void copy_strided(void *out, const void *in, size_t size, int rank, const int64_t *dims,
                  const int64_t *strides)
{
    int64_t plain[WALK_RANK];
    Walk w;
    plain_strides(rank, dims, plain);
    walk_start(&w, rank, dims, 2, (const int64_t *const[]){ plain, strides });
    int flat = -1;
    for (int i = 0; i + 1 < w.rank; i++)
        if (w.stride[1][i] == 1)
            flat = i;
    if (flat >= 0 && w.step[1] != 1 && w.step[1] != 0) {
        copy_blocks(out, in, size, &w, flat);
        return;
    }
    for (; !w.done; walk_next(&w)) {
        uint8_t *to = (uint8_t *)out + (size_t)w.at[0] * size;
        const uint8_t *from = (const uint8_t *)in + w.at[1] * (int64_t)size;
        if (w.step[1] == 1 || w.run == 1)
            memcpy(to, from, (size_t)w.run * size);
        else
            copy_grid(to, from, size, 1, w.run, 0, 1, 0, w.step[1]);
    }
}

void fill_items(void *out, const void *from, size_t size, int64_t n)
{
    copy_grid(out, from, size, 1, n, 0, 1, 0, 0);
}
