/* const.c - constants: bytes that stay where they are. Views of a constant are stride arithmetic;
 * const_read gathers.
 *
 * Gathering walks the *source* in its own order, a tile at a time, and scatters into the result: a
 * transposed weight is read front to back once, never element by element. Strides are never
 * negative. */
#include "onnx/fold/fold.h"

#include <assert.h>

enum {
    GATHER_TILE = 1 << 19, /* bytes of source held at once: half of what an L2 often has */
    SMALL_TILE = 1 << 16,  /* for so many a room, which begins with a huge page, is too much */
};

int64_t numel_of_ints(int rank, const int64_t *dims)
{
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        if (dims[i] == 0)
            return 0;
    for (int i = 0; i < rank; i++)
        if (!mul_ok(n, dims[i], &n))
            return INT64_MAX;
    return n;
}

bool strides_fit(Ctx *cx, int rank, const int64_t *dims)
{
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        if (dims[i] > 1 && !mul_ok(n, dims[i], &n))
            return fail(cx, E_VALUE, "Stride calculation overflowed");
    return true;
}

int64_t const_numel(const Const *k) { return numel_of_ints(k->rank, k->dims); }

bool const_contiguous(const Const *k)
{
    if (!k->strides)
        return true;
    int64_t step = 1;
    for (int i = k->rank; i-- > 0; step *= k->dims[i])
        if (k->dims[i] == 0)
            return true;
    step = 1;
    for (int i = k->rank; i-- > 0; step *= k->dims[i])
        if (k->dims[i] != 1 && k->strides[i] != step)
            return false;
    return true;
}

/* ---- reading ---- */

typedef struct Axis {
    int64_t n, from, to;
} Axis; /* extent, stride in the source, stride in the result */
typedef struct Gather {
    Ctx *cx;
    const Const *k;
    size_t size; /* of an element */
    int n;
    Axis axis[MAX_RANK]; /* largest source stride first */
    uint8_t *tile;
    uint64_t tile_size;
} Gather;

/* Bytes from the first to the end of the last element of the block of axes i.. */
static uint64_t span(const Gather *g, int i)
{
    uint64_t n = 1;
    for (; i < g->n; i++)
        n += (uint64_t)(g->axis[i].n - 1) * (uint64_t)g->axis[i].from;
    return n * g->size;
}

/* Two axes: in squares, so that the lines of memory on both sides are used up while they are in the
 * cache. Where the square is turned it passes through one of its own: rows of a matrix often lie a
 * power of two apart, and of such lines a cache holds only a few. */
enum { SQUARE = 32 };
static inline int64_t in_square(int64_t left) { return left < SQUARE ? left : SQUARE; }

/* n in whole squares, where there is one. */
static inline int64_t whole_squares(int64_t n) { return n < SQUARE ? n : n - n % SQUARE; }

/* Four numbers of 32 bits at once, an extension of C that gcc and clang have: what they make of a
 * loop over single numbers takes half as long again. */
typedef uint32_t Four __attribute__((vector_size(16)));

static inline Four four_at(const uint8_t *p)
{
    Four v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline Four first_pairs(Four a, Four b) { return (Four){ a[0], b[0], a[1], b[1] }; }
static inline Four last_pairs(Four a, Four b) { return (Four){ a[2], b[2], a[3], b[3] }; }

/* Four rows of four become four columns; the rows lie `row` bytes apart. */
static inline void turn_fours(const uint8_t *from, int64_t row, Four *out)
{
    Four a = four_at(from);
    Four b = four_at(from + row);
    Four c = four_at(from + 2 * row);
    Four d = four_at(from + 3 * row);
    Four ac = first_pairs(a, c);
    Four bd = first_pairs(b, d);
    out[0] = first_pairs(ac, bd);
    out[1] = last_pairs(ac, bd);
    ac = last_pairs(a, c);
    bd = last_pairs(b, d);
    out[2] = first_pairs(ac, bd);
    out[3] = last_pairs(ac, bd);
}

/* A whole square of numbers of 32 bits. Its rows lie `row` bytes apart, those of the result
 * `to_row`. */
static void turn_square(const uint8_t *from, int64_t row, uint8_t *to, int64_t to_row)
{
    uint32_t square[SQUARE][SQUARE];
    for (int x = 0; x < SQUARE; x += 4)
        for (int y = 0; y < SQUARE; y += 4) {
            Four turned[4];
            turn_fours(from + x * row + y * (int64_t)sizeof(uint32_t), row, turned);
            for (int i = 0; i < 4; i++)
                memcpy(&square[y + i][x], &turned[i], sizeof turned[i]);
        }
    for (int y = 0; y < SQUARE; y++)
        memcpy(to + y * to_row, square[y], sizeof square[y]);
}

#define COPY_PLANE(NAME, T)                                                                        \
    static inline void NAME##_turned(const uint8_t *from, int64_t rows, int64_t row, uint8_t *to,  \
                                     int64_t columns, int64_t column)                              \
    {                                                                                              \
        const int64_t size = (int64_t)sizeof(T);                                                   \
        if (size == sizeof(uint32_t) && rows == SQUARE && columns == SQUARE) {                     \
            turn_square(from, row * size, to, column * size);                                      \
            return;                                                                                \
        }                                                                                          \
        T square[SQUARE][SQUARE];                                                                  \
        for (int64_t x = 0; x < rows; x++)                                                         \
            for (int64_t y = 0; y < columns; y++)                                                  \
                memcpy(&square[y][x], from + (x * row + y) * size, sizeof(T));                     \
        for (int64_t y = 0; y < columns; y++)                                                      \
            memcpy(to + y * column * size, square[y], (size_t)rows * sizeof(T));                   \
    }                                                                                              \
    static void NAME(Axis a, Axis b, const uint8_t *from, uint8_t *to)                             \
    {                                                                                              \
        for (int64_t k = 0; k < b.n; k += SQUARE)                                                  \
            for (int64_t i = 0; i < a.n; i += SQUARE) {                                            \
                int64_t rows = in_square(a.n - i);                                                 \
                int64_t columns = in_square(b.n - k);                                              \
                const uint8_t *f = from + (i * a.from + k * b.from) * (int64_t)sizeof(T);          \
                uint8_t *t = to + (i * a.to + k * b.to) * (int64_t)sizeof(T);                      \
                if (b.from == 1 && a.to == 1 && rows == SQUARE && columns == SQUARE)               \
                    NAME##_turned(f, SQUARE, a.from, t, SQUARE, b.to);                             \
                else if (b.from == 1 && a.to == 1)                                                 \
                    NAME##_turned(f, rows, a.from, t, columns, b.to);                              \
                else                                                                               \
                    for (int64_t x = 0; x < rows; x++)                                             \
                        for (int64_t y = 0; y < columns; y++)                                      \
                            memcpy(t + (x * a.to + y * b.to) * (int64_t)sizeof(T),                 \
                                   f + (x * a.from + y * b.from) * (int64_t)sizeof(T), sizeof(T)); \
            }                                                                                      \
    }
COPY_PLANE(copy_plane_1, uint8_t)
COPY_PLANE(copy_plane_2, uint16_t)
COPY_PLANE(copy_plane_4, uint32_t)
COPY_PLANE(copy_plane_8, uint64_t)
typedef struct Pair64 {
    uint64_t at[2];
} Pair64;
COPY_PLANE(copy_plane_16, Pair64)

static void copy_plane(size_t size, Axis a, Axis b, const uint8_t *from, uint8_t *to)
{
    switch (size) {
    case 1:  copy_plane_1(a, b, from, to); break;
    case 2:  copy_plane_2(a, b, from, to); break;
    case 4:  copy_plane_4(a, b, from, to); break;
    case 8:  copy_plane_8(a, b, from, to); break;
    default: copy_plane_16(a, b, from, to); break;
    }
}

static void scatter(const Gather *g, int i, const uint8_t *from, uint8_t *to)
{
    Axis one = { 1, 0, 0 };
    Axis a = i < g->n ? g->axis[i] : one;
    if (i + 1 == g->n && a.from == 1 && a.to == 1) {
        memcpy(to, from, (size_t)a.n * g->size);
        return;
    }
    if (i + 2 >= g->n && !(i + 2 == g->n && g->axis[i + 1].from == 1 && g->axis[i + 1].to == 1)) {
        copy_plane(g->size, a, i + 1 < g->n ? g->axis[i + 1] : one, from, to);
        return;
    }
    for (int64_t k = 0; k < a.n; k++)
        scatter(g, i + 1, from + (uint64_t)(k * a.from) * g->size,
                to + (uint64_t)(k * a.to) * g->size);
}

/* The block of axes i.. that begins `from` bytes behind the first element, in the order of the
 * result. A block that is larger than the tile is read in parts: as many of its items along axis i
 * as fit at once, or each item in parts again. */
static bool gather(Gather *g, int i, uint64_t from, uint8_t *to)
{
    uint64_t bytes = span(g, i);
    if (bytes <= g->tile_size) {
        if (!bytes_read(g->cx, g->k->bytes, from, g->tile, bytes))
            return false;
        scatter(g, i, g->tile, to);
        return true;
    }
    Axis a = g->axis[i];
    uint64_t step = (uint64_t)a.from * g->size;
    uint64_t rest = span(g, i + 1);
    int64_t run = 1; /* how many fit at once */
    if (rest < g->tile_size)
        run = whole_squares(1 + (int64_t)((g->tile_size - rest) / step));
    for (int64_t k = 0; k < a.n; k += run) {
        g->axis[i].n = a.n - k < run ? a.n - k : run;
        bool ok = gather(g, g->axis[i].n > 1 ? i : i + 1, from + (uint64_t)k * step,
                         to + (uint64_t)(k * a.to) * g->size);
        g->axis[i].n = a.n;
        if (!ok)
            return false;
    }
    return true;
}

/* The axes of k that have more than one item, largest source stride first. */
static void set_axes(Gather *g, const Const *k)
{
    int64_t to = 1;
    for (int i = k->rank; i-- > 0; to *= k->dims[i]) {
        if (k->dims[i] == 1)
            continue;
        int at = g->n++;
        for (; at > 0 && g->axis[at - 1].from < k->strides[i]; at--)
            g->axis[at] = g->axis[at - 1];
        g->axis[at] = (Axis){ k->dims[i], k->strides[i], to };
    }
}

/* A constant that is not contiguous, in tiles of the source. The tile is given back where reading
 * cannot have allocated anything that the source keeps. */
static bool read_strided(Ctx *cx, const Const *k, void *out)
{
    if (dtype_is_packed(k->dtype))
        return fail(cx, E_UNSUPPORTED, "a strided constant of %s, several to a byte",
                    dtype_name(k->dtype));
    Gather g = { .cx = cx, .k = k, .size = dtype_size(k->dtype) };
    set_axes(&g, k);
    ArenaMark m = arena_mark(cx->run);
    SourceKind source = k->bytes.src->kind;
    bool plain = cx->keeping == 0 && (source == SRC_FILE || source == SRC_MEMORY);
    g.tile_size = span(&g, 0) < GATHER_TILE ? span(&g, 0) : GATHER_TILE;
    bool small = g.tile_size <= SMALL_TILE;
    g.tile = small ? new_array(cx, uint8_t, g.tile_size) : room_take(cx, GATHER_TILE);
    if (!g.tile)
        return fail(cx, E_MEMORY, "out of memory");
    bool ok = gather(&g, 0, 0, out);
    if (!small)
        room_give(cx, g.tile, GATHER_TILE);
    else if (ok && plain)
        arena_reset(cx->run, m);
    return ok;
}

bool const_read(Ctx *cx, const Const *k, void *out)
{
    int64_t numel = const_numel(k);
    if (numel == 0)
        return true;
    if (!const_contiguous(k))
        return read_strided(cx, k, out);
    return bytes_read(cx, k->bytes, 0, out, dtype_bytes(k->dtype, (uint64_t)numel));
}

/* Bytes of a file that lie in memory start anywhere: elements are read in place only where they are
 * aligned. */
static bool is_aligned(DType t, const uint8_t *p)
{
    size_t size = dtype_size(t);
    return size < 2 || (uintptr_t)p % size == 0;
}

const void *const_data(Ctx *cx, const Const *k)
{
    if (k->bytes.src && k->bytes.src->kind == SRC_MEMORY && const_contiguous(k) &&
        is_aligned(k->dtype, k->bytes.src->mem + k->bytes.off))
        return k->bytes.src->mem + k->bytes.off;
    int64_t numel = const_numel(k);
    size_t bytes = (size_t)dtype_bytes(k->dtype, (uint64_t)numel);
    void *p = new_array(cx, uint8_t, bytes ? bytes : 1);
    return p && const_read(cx, k, p) ? p : NULL;
}

bool const_to_data(Ctx *cx, const Const *k, Data *out)
{
    *out = (Data){ .dtype = k->dtype, .rank = k->rank, .dims = k->dims, .numel = const_numel(k) };
    out->at = MUTABLE(void,
                      const_data(cx, k)); /* a Data is a result too; fold functions read this */
    return out->at != NULL;
}

/* ---- making ---- */

static const int64_t *copy_ints(Ctx *cx, const int64_t *v, int n)
{
    return n ? mem_copy(cx, v, (size_t)n * sizeof *v) : NULL;
}

const Const *const_make(Ctx *cx, DType t, int rank, const int64_t *dims, const void *data)
{
    Const *k = new(cx, Const);
    *k = (Const){ .dtype = t, .rank = rank, .dims = copy_ints(cx, dims, rank) };
    if (!k->dims && rank)
        return NULL;
    size_t n = (size_t)dtype_bytes(t, (uint64_t)const_numel(k));
    uint8_t *copy = new_array(cx, uint8_t, n ? n : 1);
    if (!copy)
        return NULL;
    if (n)
        memcpy(copy, data, n);
    count_numbers(cx, n);
    k->bytes = (Bytes){ source_memory(cx, copy, n), 0, n };
    return k;
}

/* A copy of k to change: no longer the bytes of its state_dict entry, so not of its name either:
 * "fc.weight.T". */
static Const *copy_of(Ctx *cx, const Const *k, const char *change)
{
    Const *c = new(cx, Const);
    *c = *k;
    c->name = NULL;
    c->derived = k->derived || !k->name ? k->derived : str_fmt(cx, "%s.%s", k->name->s, change);
    return c;
}

/* Strides of k, made up when it is contiguous. */
static void strides_of(const Const *k, int64_t *out)
{
    int64_t step = 1;
    for (int i = k->rank; i-- > 0; step *= k->dims[i])
        out[i] = k->strides ? k->strides[i] : step;
}

/* c with such axes: its own copies, and no strides where they are those of a contiguous tensor. */
static const Const *with_axes(Ctx *cx, Const *c, int rank, const int64_t *dims,
                              const int64_t *strides)
{
    c->rank = rank;
    c->dims = copy_ints(cx, dims, rank);
    c->strides = copy_ints(cx, strides, rank);
    if (rank && (!c->dims || !c->strides))
        return NULL;
    if (const_contiguous(c))
        c->strides = NULL;
    return c;
}

const Const *const_permute(Ctx *cx, const Const *k, const int *perm)
{
    int64_t from[MAX_RANK], dims[MAX_RANK], strides[MAX_RANK];
    strides_of(k, from);
    for (int i = 0; i < k->rank; i++) {
        dims[i] = k->dims[perm[i]];
        strides[i] = from[perm[i]];
    }
    return with_axes(cx, copy_of(cx, k, "T"), k->rank, dims, strides);
}

/* Strides for new dims over old ones: runs of old axes that lie one after the other can be cut
 * anew. */
static bool cut_anew(const Const *k, int rank, const int64_t *dims, int64_t *strides)
{
    int64_t from[MAX_RANK];
    strides_of(k, from);
    int i = k->rank - 1;
    int j = rank - 1;
    while (i >= 0) {
        int64_t run = k->dims[i];
        int64_t step = from[i];
        int64_t numel = 1;
        while (i > 0 && (k->dims[i - 1] == 1 || from[i - 1] == run * step || run == 1)) {
            if (run == 1)
                step = from[i - 1];
            run *= k->dims[--i];
        }
        for (; j >= 0 && numel < run; j--) {
            if (dims[j] == 0 || run % (numel * dims[j]))
                return false;
            strides[j] = step * numel;
            numel *= dims[j];
        }
        if (numel != run)
            return false;
        i--;
    }
    for (; j >= 0; j--) {
        if (dims[j] != 1)
            return false;
        strides[j] = 1;
    }
    return true;
}

const Const *const_reshape(Ctx *cx, const Const *k, int rank, const int64_t *dims)
{
    int64_t strides[MAX_RANK];
    bool plain = const_contiguous(k);
    if (!plain && !cut_anew(k, rank, dims, strides))
        return NULL;
    Const *c = copy_of(cx, k, "view");
    c->rank = rank;
    c->dims = copy_ints(cx, dims, rank);
    c->strides = plain ? NULL : copy_ints(cx, strides, rank);
    if (rank && (!c->dims || (!plain && !c->strides)))
        return NULL;
    return c;
}

/* count items along axis, from start on and step apart, all of which k has. NULL for a step that is
 * not positive and for types of which several elements share a byte. */
const Const *const_slice(Ctx *cx, const Const *k, int axis, int64_t start, int64_t count,
                         int64_t step)
{
    if (step < 1 || dtype_is_packed(k->dtype))
        return NULL;
    assert(start >= 0 && count >= 0 && (count == 0 || start + (count - 1) * step < k->dims[axis]));
    int64_t dims[MAX_RANK], strides[MAX_RANK];
    strides_of(k, strides);
    memcpy(dims, k->dims, (size_t)k->rank * sizeof *dims);
    Const *c = copy_of(cx, k, "part");
    if (count) {
        uint64_t skip = (uint64_t)(start * strides[axis]) * dtype_size(k->dtype);
        c->bytes.off += skip;
        c->bytes.len -= skip;
    }
    dims[axis] = count;
    strides[axis] *= step;
    return with_axes(cx, c, k->rank, dims, strides);
}

/* complex64[2,3] as float32[2,3,2]: the same bytes, every stride twice as long. */
const Const *const_as_pairs(Ctx *cx, const Const *k)
{
    Const *pairs = new(cx, Const);
    int64_t *dims = new_array(cx, int64_t, k->rank + 1);
    int64_t *strides = new_array(cx, int64_t, k->rank + 1);
    if (!dims || !strides)
        return NULL;
    *pairs = *k;
    pairs->dtype = dtype_of_parts(k->dtype);
    pairs->rank = k->rank + 1;
    for (int i = 0; i < k->rank; i++) {
        dims[i] = k->dims[i];
        strides[i] = k->strides ? 2 * k->strides[i] : 0;
    }
    dims[k->rank] = 2;
    strides[k->rank] = 1;
    pairs->dims = dims;
    pairs->strides = k->strides ? strides : NULL;
    return pairs;
}
