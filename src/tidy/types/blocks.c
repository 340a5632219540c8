/* blocks.c - float32 matrices as int8 or int4 with a scale for each block of a row, computed while
 * they are written.
 *
 * A matrix is seen as N rows of K elements, however it lies in the file; blocks go along a row. A
 * tile is read (ROOM_IN), its blocks are rounded, and the codes collected in the order in which the
 * output has them (ROOM_OUT): by rows, or with a row's elements N apart. In the second order the
 * matrix is read once for each range of K that the room holds. */
#include "tidy/types/blocks.h"

#include <math.h>

enum {
    ROOM_IN = 4 << 20,   /* bytes of float32 */
    ROOM_OUT = 16 << 20, /* of codes or scales */
    ROOM_MOST = 64 << 20,
    SCALES_KEPT = 2 << 20, /* 8 MB of them */
    LANES = 16,            /* elements in one loop of known length, which vectorises */
    STRIPE = 64,           /* rows whose codes are turned round together */
    LONGEST = 1 << 20,
    NIBBLE_LEAST = -8,
    NIBBLE_MOST = 7,
    BYTE_LEAST = -128,
    BYTE_MOST = 127,
    CHUNK = 32 /* elements of a row at a time, where one scale serves all of it */
};

#define ROUNDER   12582912.0f /* 1.5 * 2^23: adding it leaves no digits behind the point */
#define NEXT_ZERO 1e-30f      /* a block of smaller numbers is one of zeros */

/* ---- one block ---- */

static inline float rounded(float x, float least, float most)
{
    float r = (x + ROUNDER) - ROUNDER;
    r = r > least ? r : least; /* a NaN too; these are the processor's own max and min */
    return r < most ? r : most;
}

/* The element of the largest size; *finite false: one is infinite or NaN. */
static float extreme(const float *w, int64_t n, bool *finite)
{
    float high[LANES] = { 0 };
    float low[LANES] = { 0 };
    float check[LANES] = { 0 };
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++) {
            float v = w[i + k];
            high[k] = v > high[k] ? v : high[k];
            low[k] = v < low[k] ? v : low[k];
            check[k] += v * 0;
        }
    for (int k = 0; k < LANES; k++) {
        float v = i + k < n ? w[i + k] : 0;
        check[0] += check[k] * (k > 0) + v * 0;
        high[0] = v > high[0] ? v : high[0];
        high[0] = high[k] > high[0] ? high[k] : high[0];
        low[0] = v < low[0] ? v : low[0];
        low[0] = low[k] < low[0] ? low[k] : low[0];
    }
    *finite = check[0] == 0;
    return high[0] >= -low[0] ? high[0] : low[0];
}

/* How well the codes of w * inverse serve: *qw and *qq are the sums of code * w and of code * code.
 * In two loops, as compilers vectorise no comparison whose result is used twice. */
static void fit(const float *w, int64_t n, float inverse, float *qw, float *qq)
{
    float a[LANES] = { 0 };
    float b[LANES] = { 0 };
    float q[LANES];
    for (int64_t i = 0; i < n; i += LANES) {
        for (int k = 0; k < LANES; k++)
            q[k] = rounded(w[i + k] * inverse, NIBBLE_LEAST, NIBBLE_MOST);
        for (int k = 0; k < LANES; k++) {
            a[k] += q[k] * w[i + k];
            b[k] += q[k] * q[k];
        }
    }
    *qw = *qq = 0;
    for (int k = 0; k < LANES; k++) {
        *qw += a[k];
        *qq += b[k];
    }
}

/* The scale of n elements (a multiple of LANES) with codes of 4 bits: of a few steps that bring the
 * extreme near to -8, the one with the least squared error; then the factor that fits its codes
 * best. Where float32 does not hold the sums, of elements beyond 1e37, the extreme is -8; where it
 * does not hold their squares, of elements below 1e-22, the first step is taken. */
static float scale_of_nibbles(const float *w, int64_t n, float most)
{
    static const float ends[] = { 8, 7.5f, 8.5f, 7 };
    float best = -1;
    float scale = most / NIBBLE_LEAST;
    for (size_t i = 0; i < COUNT(ends); i++) {
        float qw, qq;
        fit(w, n, -ends[i] / most, &qw, &qq);
        if (qq > 0 && isfinite(qw) && qw * (qw / qq) > best) {
            best = qw * (qw / qq);
            scale = qw / qq;
        }
    }
    return scale;
}

/* The extreme has the code of the largest size, -128. What is not finite makes its whole block NaN:
 * a result says so, and no code could. */
static float scale_of(const float *w, int64_t n, int bits)
{
    bool finite;
    float most = extreme(w, n, &finite);
    if (!finite)
        return NAN;
    if (fabsf(most) < NEXT_ZERO)
        return 0;
    return bits == 8 ? most / BYTE_LEAST : scale_of_nibbles(w, n, most);
}

static void encode(const float *w, int64_t n, float scale, int bits, int8_t *out)
{
    float least = bits == 8 ? BYTE_LEAST : NIBBLE_LEAST;
    float most = bits == 8 ? BYTE_MOST : NIBBLE_MOST;
    float inverse = scale != 0 && isfinite(scale) ? 1 / scale : 0;
    for (int64_t i = 0; i < n; i++)
        out[i] = (int8_t)rounded(w[i] * inverse, least, most);
}

/* ---- tiles ---- */

typedef struct Work {
    Ctx *cx;
    const Blocks *b;
    Parts parts;
    float *in;
    uint8_t *out;
    uint64_t size; /* of out */
    float *scales; /* of whole rows, where they are known; else NULL */
    float *keep;   /* where the scales of blocks are kept; or NULL */
} Work;

/* A part of the matrix: rows n0.., elements k0.. of each, dense in w->in. */
typedef struct Tile {
    int64_t n0, n1, k0, k1;
} Tile;

static bool read_tile(Work *w, Tile t)
{
    const Const *k = &w->parts.k;
    const int64_t *strides = k->strides;
    int64_t dims[2] = { t.n1 - t.n0, t.k1 - t.k0 };
    uint64_t skip = (uint64_t)(t.n0 * strides[0] + t.k0 * strides[1]) * sizeof(float);
    Const part = { .dtype = DT_FLOAT, .rank = 2, .dims = dims, .strides = strides };
    part.bytes = (Bytes){ k->bytes.src, k->bytes.off + skip, k->bytes.len - skip };
    return const_read(w->cx, &part, w->in);
}

static bool scales_first(const Blocks *b) { return b->block > BLOCK_LONGEST; }
static int64_t blocks_in_row(const Blocks *b) { return (b->K + b->block - 1) / b->block; }

static int64_t least_of(int64_t a, int64_t b) { return a < b ? a : b; }

typedef bool (*TileFn)(Work *w, Tile t, Tile all);

/* fn for the tiles that make up `all`, along rows first where a row's elements lie together. */
static bool each_tile(Work *w, Tile all, TileFn fn)
{
    const Blocks *b = w->b;
    bool together = b->k->strides[1] <= b->k->strides[0];
    int64_t block = w->scales || b->block > BLOCK_LONGEST ? CHUNK : b->block;
    int64_t width = together ? all.k1 - all.k0 : block;
    int64_t rows = ROOM_IN / (int64_t)sizeof(float) / width;
    for (int64_t k = all.k0; k < all.k1; k += width)
        for (int64_t n = all.n0; n < all.n1; n += rows) {
            Tile t = { n, least_of(n + rows, all.n1), k, least_of(k + width, all.k1) };
            if (!read_tile(w, t) || !fn(w, t, all))
                return false;
        }
    return true;
}

/* The block of the tile's row i that begins at element k (of the matrix), with zeros behind its
 * last element up to a multiple of LANES. */
static int64_t block_at(const Work *w, Tile t, int64_t i, int64_t k, float *padded,
                        const float **at)
{
    int64_t width = t.k1 - t.k0;
    int64_t n = least_of(w->b->block, t.k1 - k);
    *at = w->in + i * width + (k - t.k0);
    if (n % LANES == 0 || n > BLOCK_LONGEST)
        return n;
    memset(padded, 0, BLOCK_LONGEST * sizeof *padded);
    memcpy(padded, *at, (size_t)n * sizeof *padded);
    *at = padded;
    return (n + LANES - 1) / LANES * LANES;
}

/* ---- scales ---- */

static bool scales_of_tile(Work *w, Tile t, Tile all)
{
    const Blocks *b = w->b;
    float padded[BLOCK_LONGEST];
    float *out = (void *)w->out;
    int64_t first = all.k0 / b->block;
    int64_t blocks = (all.k1 - all.k0 + b->block - 1) / b->block;
    for (int64_t n = t.n0; n < t.n1; n++)
        for (int64_t k = t.k0; k < t.k1; k += b->block) {
            const float *at;
            int64_t count = block_at(w, t, n - t.n0, k, padded, &at);
            int64_t i = k / b->block - first;
            int64_t place = b->by_rows ? (n - all.n0) * blocks + i : i * (all.n1 - all.n0) + n;
            out[place] = scale_of(at, count, b->bits);
        }
    return true;
}

/* The sizes of whole rows, of which a tile may hold a part. */
static bool extremes_of_tile(Work *w, Tile t, Tile all)
{
    float *out = (void *)w->out;
    int64_t width = t.k1 - t.k0;
    for (int64_t n = t.n0; n < t.n1; n++) {
        bool finite;
        float most = fabsf(extreme(w->in + (n - t.n0) * width, width, &finite));
        if (!finite)
            most = NAN;
        if (!(out[n - all.n0] >= most) && !isnan(out[n - all.n0]))
            out[n - all.n0] = most;
    }
    return true;
}

/* One scale for each row of `all`, from its codes' 127. */
static bool row_scales(Work *w, Tile all)
{
    float *out = (void *)w->out;
    int64_t n = all.n1 - all.n0;
    memset(out, 0, (size_t)n * sizeof *out);
    if (!each_tile(w, all, extremes_of_tile))
        return false;
    for (int64_t i = 0; i < n; i++)
        out[i] = out[i] < NEXT_ZERO ? 0 : out[i] / BYTE_MOST;
    return true;
}

/* ---- codes ---- */

/* Room for the scales that are found on the way. NULL: for none, they are computed again. */
static float *room_for_scales(Ctx *cx, const Blocks *b)
{
    LastScales *last = b->last;
    last->of = NULL;
    if (scales_first(b) || b->N * blocks_in_row(b) > SCALES_KEPT)
        return NULL;
    if (!last->at)
        last->at = new_array(cx, float, SCALES_KEPT);
    return last->at;
}

static int64_t padded_length(const Blocks *b)
{
    return b->padded ? (b->K + b->block - 1) / b->block * b->block : b->K;
}

static void encode_block(const Work *w, Tile t, int64_t n, int64_t k, int8_t *out)
{
    const Blocks *b = w->b;
    float padded[BLOCK_LONGEST];
    const float *at = w->in + (n - t.n0) * (t.k1 - t.k0) + (k - t.k0);
    int64_t count = least_of(w->scales ? CHUNK : b->block, t.k1 - k);
    float scale;
    if (w->scales) {
        scale = w->scales[n];
    } else {
        const float *whole;
        int64_t length = block_at(w, t, n - t.n0, k, padded, &whole);
        scale = scale_of(whole, length, b->bits);
        if (w->keep)
            w->keep[n * blocks_in_row(b) + k / b->block] = scale;
    }
    encode(at, count, scale, b->bits, out);
}

static bool codes_by_rows(Work *w, Tile t, Tile all)
{
    const Blocks *b = w->b;
    int64_t length = padded_length(b);
    int64_t step = w->scales ? CHUNK : b->block;
    int8_t *out = (void *)w->out;
    for (int64_t n = t.n0; n < t.n1; n++)
        for (int64_t k = t.k0; k < t.k1; k += step)
            encode_block(w, t, n, k, out + (n - all.n0) * length + k);
    return true;
}

/* STRIPE rows at a time, so that what is written lies in whole lines of memory. */
static bool codes_turned(Work *w, Tile t, Tile all)
{
    const Blocks *b = w->b;
    int8_t codes[STRIPE][BLOCK_LONGEST];
    int64_t step = w->scales ? CHUNK : b->block;
    int64_t rows = all.n1 - all.n0;
    int8_t *out = (void *)w->out;
    for (int64_t n = t.n0; n < t.n1; n += STRIPE)
        for (int64_t k = t.k0; k < t.k1; k += step) {
            int64_t some = least_of(STRIPE, t.n1 - n);
            int64_t count = least_of(step, t.k1 - k);
            for (int64_t i = 0; i < some; i++)
                encode_block(w, t, n + i, k, codes[i]);
            for (int64_t j = 0; j < count; j++) {
                int8_t *to = out + (k - all.k0 + j) * rows + n;
                for (int64_t i = 0; i < some; i++)
                    to[i] = codes[i][j];
            }
        }
    return true;
}

/* Two to a byte, the first in the low bits; MatMulNBits counts from 0. */
static uint64_t pack(const Blocks *b, uint8_t *codes, uint64_t n)
{
    uint8_t zero = 0;
    if (b->biased)
        zero = b->bits == 8 ? 128 : 8;
    if (b->bits == 8) {
        for (uint64_t i = 0; i < n; i++)
            codes[i] = (uint8_t)(codes[i] + zero);
        return n;
    }
    for (uint64_t i = 0; i < n; i += 2) {
        uint8_t low = (uint8_t)(codes[i] + zero) & 15;
        uint8_t high = i + 1 < n ? (uint8_t)(codes[i + 1] + zero) & 15 : 0;
        codes[i / 2] = (uint8_t)(low | high << 4);
    }
    return (n + 1) / 2;
}

/* ---- the streams ---- */

/* How many of `unit` bytes fit the room, and at least one; an even number of them. */
static int64_t that_fit(int64_t unit, int64_t all)
{
    int64_t n = unit > ROOM_OUT / 2 ? 2 : ROOM_OUT / unit / 2 * 2;
    return n < all ? n : all;
}

static bool work_begin(Work *w, Ctx *cx, const Blocks *b, uint64_t size)
{
    *w = (Work){ .cx = cx, .b = b, .size = size };
    if (!parts_begin(cx, b->k, false, &w->parts))
        return false;
    w->out = room_take(cx, size);
    w->in = w->out ? (void *)room_take(cx, ROOM_IN) : NULL;
    return w->in || fail(cx, E_MEMORY, "out of memory");
}

static void work_end(Work *w)
{
    if (w->in)
        room_give(w->cx, (void *)w->in, ROOM_IN);
    if (w->out)
        room_give(w->cx, w->out, w->size);
    parts_done(w->cx, &w->parts);
}

/* Rows by themselves, or elements of all rows, as many at a time as the room holds. */
static bool write_codes_of(Work *w, Sink *to)
{
    const Blocks *b = w->b;
    int64_t step = w->scales ? CHUNK : b->block;
    int64_t unit = b->by_rows ? padded_length(b) : b->N * step;
    int64_t most = b->by_rows ? that_fit(unit, b->N) : that_fit(unit, (b->K + step - 1) / step);
    int64_t end = b->by_rows ? b->N : b->K;
    int64_t by = b->by_rows ? most : most * step;
    for (int64_t i = 0; i < end; i += by) {
        Tile all = { 0, b->N, i, least_of(i + by, b->K) };
        if (b->by_rows)
            all = (Tile){ i, least_of(i + by, b->N), 0, b->K };
        uint64_t n = (uint64_t)(all.n1 - all.n0) *
            (uint64_t)(b->by_rows ? padded_length(b) : all.k1 - all.k0);
        if (b->padded)
            memset(w->out, 0, (size_t)n);
        if (!each_tile(w, all, b->by_rows ? codes_by_rows : codes_turned))
            return false;
        uint64_t bytes = pack(b, w->out, n);
        if (!sink_write(w->cx, to, w->out, (size_t)bytes))
            return false;
    }
    return true;
}

static uint64_t room_for_codes(const Blocks *b)
{
    int64_t unit = b->by_rows ? padded_length(b) : b->N * least_of(b->block, BLOCK_LONGEST);
    return unit > ROOM_OUT / 2 ? (uint64_t)unit * 2 : ROOM_OUT;
}

/* The stream of codes. Where one scale serves a whole row, all are found first. */
static bool write_codes(Ctx *cx, const void *arg, Sink *to)
{
    const Blocks *b = arg;
    Work w;
    bool ok = work_begin(&w, cx, b, room_for_codes(b));
    uint64_t size = (uint64_t)b->N * sizeof(float);
    float *scales = ok && scales_first(b) ? (void *)room_take(cx, size) : NULL;
    if (ok && scales_first(b)) {
        Work first = w;
        first.out = (void *)scales;
        ok = scales ? row_scales(&first, (Tile){ 0, b->N, 0, b->K })
                    : fail(cx, E_MEMORY, "out of memory");
        w.scales = scales;
    }
    w.keep = ok ? room_for_scales(cx, b) : NULL;
    ok = ok && write_codes_of(&w, to);
    b->last->of = ok && w.keep ? b : NULL;
    if (scales)
        room_give(cx, (void *)scales, size);
    work_end(&w);
    return ok;
}

/* The scales of whole rows, which lie one after the other. */
static bool write_row_scales(Ctx *cx, const Blocks *b, Sink *to)
{
    Work w;
    uint64_t size = (uint64_t)b->N * sizeof(float);
    bool ok = work_begin(&w, cx, b, size) && row_scales(&w, (Tile){ 0, b->N, 0, b->K }) &&
        sink_write(cx, to, w.out, (size_t)size);
    work_end(&w);
    return ok;
}

/* The scales that write_codes has kept, in the order of the codes. */
static bool write_kept(Ctx *cx, const Blocks *b, Sink *to)
{
    const float *kept = b->last->at;
    int64_t blocks = blocks_in_row(b);
    float row[CHUNK * CHUNK];
    if (b->by_rows)
        return sink_write(cx, to, kept, (size_t)(b->N * blocks) * sizeof *kept);
    for (int64_t i = 0; i < blocks; i++)
        for (int64_t n = 0; n < b->N; n += CHUNK * CHUNK) {
            int64_t some = least_of(CHUNK * CHUNK, b->N - n);
            for (int64_t k = 0; k < some; k++)
                row[k] = kept[(n + k) * blocks + i];
            if (!sink_write(cx, to, row, (size_t)some * sizeof *row))
                return false;
        }
    return true;
}

/* The stream of scales, in the order of the codes: as many rows, or ranges of K, at a time as the
 * room holds. */
static bool write_scales(Ctx *cx, const void *arg, Sink *to)
{
    const Blocks *b = arg;
    Work w;
    if (scales_first(b))
        return write_row_scales(cx, b, to);
    if (b->last->of == b)
        return write_kept(cx, b, to);
    int64_t blocks = blocks_in_row(b);
    int64_t unit = (b->by_rows ? blocks : b->N) * (int64_t)sizeof(float);
    int64_t most = that_fit(unit, b->by_rows ? b->N : blocks);
    bool ok = work_begin(&w, cx, b, (uint64_t)(unit * most));
    int64_t end = b->by_rows ? b->N : blocks;
    for (int64_t i = 0; ok && i < end; i += most) {
        int64_t last = least_of(i + most, end);
        Tile all = { 0, b->N, i * b->block, least_of(last * b->block, b->K) };
        if (b->by_rows)
            all = (Tile){ i, last, 0, b->K };
        ok = each_tile(&w, all, scales_of_tile) &&
            sink_write(cx, to, w.out, (size_t)((last - i) * unit));
    }
    work_end(&w);
    return ok;
}

/* ---- the constants ---- */

/* Fits the rooms: else the weight stays as it is. */
bool blocks_possible(const Blocks *b)
{
    return b->K <= LONGEST && room_for_codes(b) <= ROOM_MOST && b->N <= ROOM_MOST / 4;
}

static Ox stream_const(Graph *g, const Blocks *b, StreamFn fn, DType t, int rank,
                       const int64_t *dims, const char *suffix)
{
    Ctx *cx = g->cx;
    Const *k = new(cx, Const);
    *k = (Const){ .dtype = t, .rank = rank, .dims = mem_copy(cx, dims, (size_t)rank * 8) };
    if (!k->dims)
        return POISON;
    uint64_t size = dtype_bytes(t, (uint64_t)const_numel(k));
    k->bytes = (Bytes){ source_stream(cx, fn, b, size), 0, size };
    k->derived = derived_name(cx, b->named, suffix);
    k->derived = k->derived ? k->derived : str_of(cx, suffix + 1);
    return ox_const(g, k);
}

Ox blocks_codes(Graph *g, const Blocks *b, DType t, int rank, const int64_t *dims)
{
    return stream_const(g, b, write_codes, t, rank, dims, b->bits == 8 ? ".int8" : ".int4");
}

Ox blocks_scales(Graph *g, const Blocks *b, int rank, const int64_t *dims)
{
    return stream_const(g, b, write_scales, DT_FLOAT, rank, dims, ".scale");
}

/* k, of rank 2 with its rows along axis `row`, as N rows of K elements. NULL without memory. */
Blocks *blocks_of(Ctx *cx, const Const *k, int row, int bits, int64_t block, LastScales *last)
{
    Blocks *b = new(cx, Blocks);
    Const *rows = new(cx, Const);
    int64_t *dims = new_array(cx, int64_t, 2);
    int64_t *strides = new_array(cx, int64_t, 2);
    if (!dims || !strides)
        return NULL;
    int64_t plain[2] = { k->dims[1], 1 };
    const int64_t *from = k->strides ? k->strides : plain;
    dims[0] = k->dims[row];
    dims[1] = k->dims[1 - row];
    strides[0] = from[row];
    strides[1] = from[1 - row];
    *rows = *k;
    rows->dims = dims;
    rows->strides = strides;
    *b = (Blocks){ .k = rows, .named = k, .N = dims[0], .K = dims[1], .bits = bits, .last = last };
    b->block = block ? block : b->K;
    return b;
}
