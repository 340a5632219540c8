/* weight_range.c - does float16 hold a weight that a factor goes into?
 *
 *     Conv with weights of up to 0.1, times 1e-5    no: 1e-6 has 4 bits in float16
 *     with weights of up to 1000, times 1e-5        yes
 *
 * With --weights-type float16 the passes of fuse.c and scale.c ask before they multiply. A dense
 * weight is read for it, a piece at a time and front to back; one that must be computed is computed
 * for it where it is not large. */
#include "tidy/types/types.h"

#include <float.h>
#include <math.h>

enum {
    PIECE = 1 << 20,         /* bytes that are read at a time */
    MOST_READ = 1 << 26,     /* elements of a weight */
    MOST_COMPUTED = 1 << 22, /* of one that is a recipe */
    MOST_CHANNELS = 1 << 20, /* of a weight that a factor goes into */
};

#define MOST_WEIGHT  0x1p10  /* sums of products with larger ones soon are infinite */
#define LEAST_WEIGHT 0x1p-13 /* rounding, by 2^-25, is off by as little as a float16's last bit */
#define MOST_SUMMAND 0x1p15
#define MOST_FACTOR  0x1p10 /* of a weight that is not read, as LEAST_FACTOR */

/* k with its axes in the order in which they lie in memory; *axis: where that axis is by now. NULL:
 * its elements do not lie one behind the other. */
static const Const *as_stored(Ctx *cx, const Const *k, int *axis)
{
    int perm[MAX_RANK];
    if (!k->strides)
        return k;
    for (int i = 0; i < k->rank; i++) {
        int at = i;
        for (; at > 0 && k->strides[perm[at - 1]] < k->strides[i]; at--)
            perm[at] = perm[at - 1];
        perm[at] = i;
    }
    const Const *stored = const_permute(cx, k, perm);
    for (int i = 0; i < k->rank; i++)
        if (perm[i] == *axis) {
            *axis = i;
            break;
        }
    return stored && const_contiguous(stored) ? stored : NULL;
}

typedef struct Walk {
    double *most;
    int64_t channels, inner; /* elements side by side that are of one channel */
    int64_t c, left;
} Walk;

/* The next n numbers. One that is infinite or NaN counts for nothing. */
static void take(Walk *w, const float *at, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float size = fabsf(at[i]);
        if (size > w->most[w->c] && size <= FLT_MAX)
            w->most[w->c] = size;
        if (--w->left > 0)
            continue;
        w->left = w->inner;
        w->c = w->c + 1 == w->channels ? 0 : w->c + 1;
    }
}

/* Reads k, which is dense, a piece at a time, and gives the pieces to take(). */
static bool read_sizes(Ctx *cx, const Const *k, Walk *w)
{
    int64_t n = const_numel(k);
    float *room = (void *)room_take(cx, PIECE);
    if (!room)
        return fail(cx, E_MEMORY, "out of memory");
    bool ok = true;
    for (int64_t i = 0; ok && i < n; i += PIECE / 4) {
        int64_t count = n - i < PIECE / 4 ? n - i : PIECE / 4;
        uint64_t skip = (uint64_t)i * 4;
        Const part = { .dtype = DT_FLOAT, .rank = 1, .dims = &count };
        part.bytes = (Bytes){ k->bytes.src, k->bytes.off + skip, k->bytes.len - skip };
        ok = const_read(cx, &part, room);
        if (ok)
            take(w, room, count);
    }
    room_give(cx, (void *)room, PIECE);
    return ok;
}

/* Fills in w->most. False: the weight is not looked into, or after an error. */
static bool look_into(Ctx *cx, const Const *k, int axis, Walk *w)
{
    Parts p;
    bool computed = k->bytes.src->kind == SRC_RECIPE;
    if (k->bytes.src->kind == SRC_STREAM || const_numel(k) > (computed ? MOST_COMPUTED : MOST_READ))
        return false;
    const Const *stored = as_stored(cx, k, &axis);
    if (!stored || !parts_begin(cx, stored, true, &p))
        return false;
    for (int i = axis + 1; i < stored->rank; i++)
        w->inner *= stored->dims[i];
    w->left = w->inner;
    bool ok = read_sizes(cx, &p.k, w);
    parts_done(cx, &p);
    return ok;
}

double *channel_sizes(Ctx *cx, const Const *k, int axis)
{
    int64_t channels = k->dims[axis];
    double *most = channels <= MOST_CHANNELS ? new_array(cx, double, channels) : NULL;
    if (!most)
        return NULL;
    Walk w = { .most = most, .channels = channels, .inner = 1 };
    if (look_into(cx, k, axis, &w))
        return most;
    for (int64_t c = 0; c < channels; c++)
        most[c] = NAN;
    return ctx_failed(cx) ? NULL : most;
}

static double largest_in(DType t, const void *at, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        double size = fabs(real_at(t, at, i));
        most = size > most ? size : most;
    }
    return most;
}

double largest_of(Ctx *cx, const Const *k)
{
    int64_t n = const_numel(k);
    bool real = k->dtype == DT_FLOAT || k->dtype == DT_DOUBLE;
    ArenaMark m = arena_mark(cx->run);
    const void *at = real && n <= MOST_CHANNELS ? const_data(cx, k) : NULL;
    double most = at ? largest_in(k->dtype, at, n) : INFINITY;
    arena_reset(cx->run, m);
    return most;
}

bool weight_fits_float16(double most, double factor)
{
    double by = fabs(factor);
    if (isnan(most))
        return by == 0 || (by >= LEAST_FACTOR && by <= MOST_FACTOR);
    double size = most * by;
    if (size > MOST_WEIGHT)
        return by <= 1;
    if (size < LEAST_WEIGHT)
        return by >= 1 || size == 0;
    return by <= DBL_MAX;
}

bool summand_fits_float16(double most) { return most <= MOST_SUMMAND; }
