/* fold_shape.c - the value of operators that move elements without computing: they see bytes, not
 * numbers. The one idea: Transpose, Slice, Expand, Tile and their kin are one strided copy. */
#include "onnx/fold/fold.h"

static int64_t product(const int64_t *d, int n)
{
    int64_t p = 1;
    for (int i = 0; i < n; i++)
        p *= d[i];
    return p;
}

/* Axis attribute, counted from the front; inference has checked it. */
static int axis_of(const Fold *f, const char *name, int64_t deflt, int rank)
{
    int64_t a = node_int(f->node, name, deflt);
    return (int)(a < 0 ? a + rank : a);
}

/* An axis, counted from the front. */
static int64_t from_front(int64_t axis, int rank) { return axis < 0 ? axis + rank : axis; }

static int64_t clamp(int64_t v, int64_t lo, int64_t hi)
{
    if (v > hi)
        return hi;
    return v < lo ? lo : v;
}

/* Reshape and the like: the output has the input's elements in the same order. */
static bool fold_same(Fold *f)
{
    uint64_t bytes = dtype_bytes(f->out->dtype, (uint64_t)f->out->numel);
    if (f->out->dtype == DT_STRING)
        return false;
    if (bytes)
        memcpy(f->out->at, f->in[0].at, bytes);
    return true;
}

static bool fold_shape_op(Fold *f)
{
    int64_t start = node_int(f->node, "start", 0);
    int64_t rank = f->in[0].rank;
    start = start < 0 ? start + rank : start;
    start = start < 0 ? 0 : start;
    for (int64_t i = 0; i < f->out->numel; i++)
        ((int64_t *)f->out->at)[i] = f->in[0].dims[start + i];
    return true;
}

static bool fold_size(Fold *f)
{
    *(int64_t *)f->out->at = f->in[0].numel;
    return true;
}

static bool fold_transpose(Fold *f)
{
    const int64_t *perm;
    size_t count;
    int64_t own[MAX_RANK], s[MAX_RANK], size = (int64_t)item_size(f->out->dtype);
    int rank = f->in[0].rank;
    bool given = node_ints(f->node, "perm", &perm, &count);
    if (!size)
        return false;
    plain_strides(rank, f->in[0].dims, own);
    for (int i = 0; i < rank; i++)
        s[i] = own[given ? perm[i] : rank - 1 - i];
    copy_strided(f->out->at, f->in[0].at, (size_t)size, rank, f->out->dims, s);
    return true;
}

static bool fold_expand(Fold *f)
{
    int64_t s[MAX_RANK];
    size_t size = item_size(f->out->dtype);
    if (!size)
        return false;
    broadcast_strides(&f->in[0], f->out->rank, s);
    copy_strided(f->out->at, f->in[0].at, size, f->out->rank, f->out->dims, s);
    return true;
}

/* Tile as a copy of twice the rank: each axis becomes (repeat, size), and the stride along
 * `repeat` is 0. */
static bool fold_tile(Fold *f)
{
    int64_t own[MAX_RANK], dims[WALK_RANK], s[WALK_RANK];
    size_t size = item_size(f->out->dtype);
    int rank = f->in[0].rank;
    if (!size || f->out->numel == 0)
        return size != 0;
    plain_strides(rank, f->in[0].dims, own);
    for (int i = 0; i < rank; i++) {
        dims[2 * i] = f->out->dims[i] / f->in[0].dims[i];
        dims[2 * i + 1] = f->in[0].dims[i];
        s[2 * i] = 0;
        s[2 * i + 1] = own[i];
    }
    copy_strided(f->out->at, f->in[0].at, size, 2 * rank, dims, s);
    return true;
}

/* ---- Slice, Concat, Split, Pad ---- */

/* Where the slice begins, and its strides, are where x's elements lie: inference knows how many are
 * kept. */
static bool fold_slice(Fold *f)
{
    int64_t start[MAX_RANK], axes[MAX_RANK], steps[MAX_RANK], s[MAX_RANK];
    int64_t count, n_axes, n_steps;
    int64_t at = 0;
    const Data *x = &f->in[0];
    size_t size = item_size(x->dtype);
    if (!size || !fold_ints(f, 1, MAX_RANK, start, &count))
        return false;
    bool has_axes = fold_ints(f, 3, MAX_RANK, axes, &n_axes);
    bool has_steps = fold_ints(f, 4, MAX_RANK, steps, &n_steps);
    plain_strides(x->rank, x->dims, s);
    for (int64_t i = 0; i < count; i++) {
        int axis = (int)(has_axes ? from_front(axes[i], x->rank) : i);
        int64_t step = has_steps ? steps[i] : 1;
        int64_t dim = x->dims[axis];
        int64_t from = start[i] < 0 ? start[i] + dim : start[i];
        from = clamp(from, 0, step < 0 ? dim - 1 : dim);
        at += from * s[axis];
        s[axis] *= f->out->dims[axis] > 1 ? step : 1;
    }
    if (f->out->numel)
        copy_strided(f->out->at, item_ptr(x, at), size, x->rank, f->out->dims, s);
    return true;
}

/* Blocks of each input, one after the other, for every index before the axis. */
static bool fold_concat(Fold *f)
{
    size_t size = item_size(f->out->dtype);
    int axis = axis_of(f, "axis", 0, f->out->rank);
    int64_t outer = product(f->out->dims, axis);
    int64_t row = f->out->numel / (outer ? outer : 1);
    int64_t at = 0;
    if (!size)
        return false;
    for (int i = 0; i < f->node->n_in; i++) {
        int64_t mine = product(f->in[i].dims + axis, f->in[i].rank - axis);
        if (mine == 0)
            continue;
        for (int64_t o = 0; o < outer; o++)
            memcpy(item_ptr(f->out, o * row + at), item_ptr(&f->in[i], o * mine),
                   (size_t)mine * size);
        at += mine;
    }
    return true;
}

/* Split(x): of every row of x each output takes its own part, one behind the other. */
static bool fold_split(Fold *f)
{
    const Data *x = &f->in[0];
    size_t size = item_size(x->dtype);
    int axis = axis_of(f, "axis", 0, x->rank);
    int64_t outer = product(x->dims, axis);
    int64_t row = product(x->dims + axis, x->rank - axis);
    int64_t at = 0;
    if (!size)
        return false;
    for (int i = 0; i < f->node->n_out; i++) {
        int64_t mine = product(f->out[i].dims + axis, x->rank - axis);
        if (mine == 0)
            continue;
        for (int64_t o = 0; o < outer; o++)
            memcpy(item_ptr(&f->out[i], o * mine), item_ptr(x, o * row + at), (size_t)mine * size);
        at += mine;
    }
    return true;
}

/* Where index i of a padded axis comes from: in [0, n), or -1 for the value. */
static int64_t pad_source(int64_t i, int64_t n, char mode)
{
    if (i >= 0 && i < n)
        return i;
    if (mode == 'c' || n == 0)
        return -1;
    if (mode == 'e')
        return i < 0 ? 0 : n - 1;
    if (mode == 'w')
        return ((i % n) + n) % n;
    int64_t period = n > 1 ? 2 * (n - 1) : 1; /* reflect: 0 1 2 1 0 1 2 .. */
    int64_t k = ((i % period) + period) % period;
    return k < n ? k : period - k;
}

/* Pad: each output row is copied axis by axis through a table of sources. */
static bool fold_pad(Fold *f)
{
    int64_t pads[2 * MAX_RANK], axes[MAX_RANK], count, n_axes;
    int64_t before[MAX_RANK] = { 0 };
    int64_t s[MAX_RANK];
    int64_t index[MAX_RANK] = { 0 };
    const Data *x = &f->in[0];
    size_t size = item_size(x->dtype);
    char mode = node_str(f->node, "mode", "constant")[0];
    uint64_t zero[2] = { 0 };
    const void *value = f->node->n_in > 2 && f->in[2].at ? f->in[2].at : zero;
    if (!size || !fold_ints(f, 1, 2 * MAX_RANK, pads, &count))
        return false;
    bool has_axes = fold_ints(f, 3, MAX_RANK, axes, &n_axes);
    for (int64_t i = 0; i < count / 2; i++)
        before[has_axes ? from_front(axes[i], x->rank) : i] = pads[i];
    plain_strides(x->rank, x->dims, s);
    int last = x->rank - 1;
    if (x->rank == 0)
        return fold_same(f);
    for (int64_t at = 0; at < f->out->numel; at += f->out->dims[last]) {
        int64_t base = 0;
        bool outside = false;
        for (int a = 0; a < last; a++) {
            int64_t from = pad_source(index[a] - before[a], x->dims[a], mode);
            outside |= from < 0;
            base += from * s[a];
        }
        for (int64_t i = 0; i < f->out->dims[last]; i++) {
            int64_t from = outside ? -1 : pad_source(i - before[last], x->dims[last], mode);
            memcpy(item_ptr(f->out, at + i), from < 0 ? value : item_ptr(x, base + from), size);
        }
        for (int a = last - 1; a >= 0 && ++index[a] == f->out->dims[a]; a--)
            index[a] = 0;
    }
    return true;
}

/* ---- Gather and Scatter ---- */

/* Indices of an int32 or int64 input, wrapped into [0, n); false when one is outside. */
static bool index_at(const Data *d, int64_t i, int64_t n, int64_t *out)
{
    load_ints(d->dtype, item_ptr(d, i), 1, 1, out);
    *out += *out < 0 ? n : 0;
    return *out >= 0 && *out < n;
}

/* x[.., at, ..] at `axis`: a block of elements for each index. */
static bool fold_gather(Fold *f)
{
    const Data *x = &f->in[0];
    const Data *at = &f->in[1];
    size_t size = item_size(x->dtype);
    int axis = axis_of(f, "axis", 0, x->rank);
    int64_t outer = product(x->dims, axis);
    int64_t block = product(x->dims + axis + 1, x->rank - axis - 1);
    int64_t n = x->dims[axis];
    int64_t from;
    uint8_t *out = f->out->at;
    if (!size)
        return false;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < at->numel; i++, out += (size_t)block * size) {
            if (!index_at(at, i, n, &from))
                return false;
            if (block)
                memcpy(out, item_ptr(x, (o * n + from) * block), (size_t)block * size);
        }
    return true;
}

/* Where element i of an index space lies in a tensor of strides s, leaving out one axis. */
static int64_t place_without(const int64_t *dims, int rank, int64_t i, const int64_t *s, int axis)
{
    int64_t at = 0;
    for (int a = rank - 1; a >= 0; a--) {
        at += a == axis ? 0 : i % dims[a] * s[a];
        i /= dims[a];
    }
    return at;
}

static bool fold_gather_elements(Fold *f)
{
    const Data *x = &f->in[0];
    const Data *at = &f->in[1];
    size_t size = item_size(x->dtype);
    int axis = axis_of(f, "axis", 0, x->rank);
    int64_t s[MAX_RANK], from;
    if (!size)
        return false;
    plain_strides(x->rank, x->dims, s);
    for (int64_t i = 0; i < at->numel; i++) {
        if (!index_at(at, i, x->dims[axis], &from))
            return false;
        memcpy(item_ptr(f->out, i),
               item_ptr(x, place_without(at->dims, at->rank, i, s, axis) + from * s[axis]), size);
    }
    return true;
}

/* The element that a row of indices names, over the axes from `first` on. */
static bool row_place(const Data *at, int64_t row, int64_t depth, const Data *x, int first,
                      const int64_t *s, int64_t *out)
{
    int64_t k;
    *out = 0;
    for (int64_t i = 0; i < depth; i++) {
        if (!index_at(at, row * depth + i, x->dims[first + i], &k))
            return false;
        *out += k * s[first + i];
    }
    return true;
}

/* The last axis of the indices says where in x a block begins, after the batch axes that both
 * share. */
static bool fold_gather_nd(Fold *f)
{
    const Data *x = &f->in[0];
    const Data *at = &f->in[1];
    size_t size = item_size(x->dtype);
    int batch = (int)node_int(f->node, "batch_dims", 0);
    int64_t depth = at->dims[at->rank - 1], s[MAX_RANK], place;
    int64_t batches = product(x->dims, batch);
    int64_t rows = product(at->dims, at->rank - 1);
    int64_t block = product(x->dims + batch + depth, x->rank - batch - (int)depth);
    int64_t per = batches ? rows / batches : 0;
    if (!size)
        return false;
    plain_strides(x->rank, x->dims, s);
    for (int64_t r = 0; r < rows; r++) {
        if (!row_place(at, r, depth, x, batch, s, &place))
            return false;
        place += per ? r / per * product(x->dims + batch, x->rank - batch) : 0;
        if (block)
            memcpy(item_ptr(f->out, r * block), item_ptr(x, place), (size_t)block * size);
    }
    return true;
}

/* The reduction attribute of a scatter: how an update joins what it finds. */
typedef enum { JOIN_NONE, JOIN_ADD, JOIN_MUL, JOIN_MAX, JOIN_MIN } Join;

static Join join_of(const Fold *f)
{
    static const char *const names[] = {
        [JOIN_NONE] = "none", [JOIN_ADD] = "add", [JOIN_MUL] = "mul", [JOIN_MAX] = "max"
    };
    const char *how = node_str(f->node, "reduction", "none");
    for (size_t i = 0; i < COUNT(names); i++)
        if (!strcmp(how, names[i]))
            return (Join)i;
    return JOIN_MIN;
}

static double join_reals(Join how, double a, double b)
{
    if (how == JOIN_ADD)
        return a + b;
    if (how == JOIN_MUL)
        return a * b;
    if (a != a || b != b) /* NaN */
        return a != a ? a : b;
    return (how == JOIN_MAX) == (a > b) ? a : b;
}

static int64_t join_ints(Join how, int64_t a, int64_t b)
{
    if (how == JOIN_ADD)
        return (int64_t)((uint64_t)a + (uint64_t)b);
    if (how == JOIN_MUL)
        return (int64_t)((uint64_t)a * (uint64_t)b);
    return (how == JOIN_MAX) == (a > b) ? a : b;
}

/* n elements at `to` become what they are joined with those at `from`. False for types that are not
 * folded. */
static bool join_into(DType t, Join how, void *to, const void *from, int64_t n)
{
    size_t size = item_size(t);
    NumKind kind = num_kind(t);
    if (kind != NUM_REAL && kind != NUM_INT)
        return n == 0;
    for (int64_t i = 0; i < n; i++) {
        void *p = (uint8_t *)to + (size_t)i * size;
        const void *q = (const uint8_t *)from + (size_t)i * size;
        if (kind == NUM_REAL) {
            double a, b;
            load_reals(t, p, 1, 1, &a);
            load_reals(t, q, 1, 1, &b);
            a = join_reals(how, a, b);
            store_reals(t, p, 1, &a);
        } else {
            int64_t a, b;
            load_ints(t, p, 1, 1, &a);
            load_ints(t, q, 1, 1, &b);
            a = join_ints(how, a, b);
            store_ints(t, p, 1, &a);
        }
    }
    return true;
}

/* An update of n elements: put at `to`, or joined with what is there. */
static bool update(DType t, Join how, void *to, const void *from, int64_t n)
{
    if (how != JOIN_NONE)
        return join_into(t, how, to, from, n);
    memcpy(to, from, (size_t)n * item_size(t));
    return true;
}

/* x with each update where its index along `axis` says, in order: of two at one place the later one
 * stays. */
static bool fold_scatter_elements(Fold *f)
{
    const Data *x = &f->in[0];
    const Data *at = &f->in[1];
    const Data *up = &f->in[2];
    size_t size = item_size(x->dtype);
    int axis = axis_of(f, "axis", 0, x->rank);
    int64_t s[MAX_RANK], k;
    Join how = join_of(f);
    if (!size || !fold_same(f))
        return false;
    plain_strides(x->rank, x->dims, s);
    for (int64_t i = 0; i < at->numel; i++) {
        if (!index_at(at, i, x->dims[axis], &k))
            return false;
        void *to = item_ptr(f->out, place_without(at->dims, at->rank, i, s, axis) + k * s[axis]);
        if (!update(x->dtype, how, to, item_ptr(up, i), 1))
            return false;
    }
    return true;
}

/* x with blocks of updates, each where a row of indices says. */
static bool fold_scatter_nd(Fold *f)
{
    const Data *x = &f->in[0];
    const Data *at = &f->in[1];
    const Data *up = &f->in[2];
    size_t size = item_size(x->dtype);
    int64_t depth = at->dims[at->rank - 1];
    int64_t rows = product(at->dims, at->rank - 1);
    int64_t s[MAX_RANK], place;
    int64_t block = product(x->dims + depth, x->rank - (int)depth);
    Join how = join_of(f);
    if (!size || !fold_same(f))
        return false;
    if (block == 0)
        return true;
    plain_strides(x->rank, x->dims, s);
    for (int64_t r = 0; r < rows; r++) {
        if (!row_place(at, r, depth, x, 0, s, &place))
            return false;
        if (!update(x->dtype, how, item_ptr(f->out, place), item_ptr(up, r * block), block))
            return false;
    }
    return true;
}

/* ---- made anew ---- */

static bool fold_constant_of_shape(Fold *f)
{
    const Attr *value = node_attr(f->node, "value");
    size_t size = item_size(f->out->dtype);
    if (!size)
        return false;
    if (!value) {
        memset(f->out->at, 0, (size_t)f->out->numel * size);
        return true;
    }
    const void *at = const_data(f->cx, value->t);
    if (at)
        fill_items(f->out->at, at, size, f->out->numel);
    return at != NULL;
}

static void range_of_reals(Fold *f)
{
    DType t = f->out->dtype;
    double start, delta;
    load_reals(t, f->in[0].at, 1, 1, &start);
    load_reals(t, f->in[2].at, 1, 1, &delta);
    for (int64_t i = 0; i < f->out->numel; i++) {
        double item = start + (double)i * delta;
        store_reals(t, item_ptr(f->out, i), 1, &item);
    }
}

static void range_of_ints(Fold *f)
{
    DType t = f->out->dtype;
    int64_t start, delta;
    load_ints(t, f->in[0].at, 1, 1, &start);
    load_ints(t, f->in[2].at, 1, 1, &delta);
    for (int64_t i = 0; i < f->out->numel; i++) {
        int64_t item = (int64_t)((uint64_t)start + (uint64_t)i * (uint64_t)delta);
        store_ints(t, item_ptr(f->out, i), 1, &item);
    }
}

/* start + i * delta, which is not the same as adding delta again and again: reals are rounded
 * once. */
static bool fold_range(Fold *f)
{
    NumKind kind = num_kind(f->out->dtype);
    if (kind == NUM_REAL)
        range_of_reals(f);
    else if (kind == NUM_INT)
        range_of_ints(f);
    return kind == NUM_REAL || kind == NUM_INT;
}

/* Trilu(x, k?): zero above (lower) or below (upper, the default) diagonal k of each matrix. */
static bool fold_trilu(Fold *f)
{
    int64_t k = 0, count;
    const Data *x = &f->in[0];
    size_t size = item_size(x->dtype);
    bool upper = node_int(f->node, "upper", 1) != 0;
    if (!size || !fold_same(f) ||
        (f->node->n_in > 1 && f->in[1].at && !fold_ints(f, 1, 1, &k, &count)))
        return false;
    int64_t cols = x->dims[x->rank - 1];
    int64_t rows = x->dims[x->rank - 2];
    if (cols == 0)
        return true;
    for (int64_t r = 0; r < x->numel / cols; r++) {
        int64_t i = r % rows;
        int64_t edge = clamp(k, -rows, cols) + i + !upper; /* first column kept, or dropped */
        edge = clamp(edge, 0, cols);
        int64_t first = upper ? 0 : edge;
        int64_t n = upper ? edge : cols - edge;
        memset(item_ptr(f->out, r * cols + first), 0, (size_t)n * size);
    }
    return true;
}

static void one_of(DType t, void *out)
{
    if (num_kind(t) == NUM_REAL)
        store_reals(t, out, 1, &(double){ 1 });
    else
        store_ints(t, out, 1, &(int64_t){ 1 });
}

static bool fold_eye_like(Fold *f)
{
    DType t = f->out->dtype;
    int64_t k = node_int(f->node, "k", 0);
    int64_t rows = f->out->dims[0];
    int64_t cols = f->out->dims[1];
    if (num_kind(t) == NUM_NONE)
        return false;
    memset(f->out->at, 0, (size_t)f->out->numel * item_size(t));
    for (int64_t r = 0; r < rows; r++)
        if (r + k >= 0 && r + k < cols)
            one_of(t, item_ptr(f->out, r * cols + r + k));
    return true;
}

/* OneHot(indices, depth, [off, on]): an index outside is off everywhere. */
static bool fold_one_hot(Fold *f)
{
    const Data *at = &f->in[0];
    size_t size = item_size(f->out->dtype);
    int axis = axis_of(f, "axis", -1, f->out->rank);
    int64_t depth = f->out->dims[axis];
    int64_t inner = product(f->out->dims + axis + 1, f->out->rank - axis - 1);
    if (!size || num_kind(at->dtype) == NUM_NONE)
        return false;
    fill_items(f->out->at, f->in[2].at, size, f->out->numel);
    for (int64_t i = 0; i < at->numel; i++) {
        double v;
        load_reals(at->dtype, item_ptr(at, i), 1, 1, &v);
        v += v < 0 ? (double)depth : 0;
        if (v >= 0 && v < (double)depth)
            memcpy(item_ptr(f->out, (i / inner * depth + (int64_t)v) * inner + i % inner),
                   item_ptr(&f->in[2], 1), size);
    }
    return true;
}

/* One column per element that is not zero: its index, axis by axis. */
static bool fold_non_zero(Fold *f)
{
    const Data *x = &f->in[0];
    size_t size = item_size(x->dtype);
    int64_t n = f->out->dims[1];
    int64_t col = 0;
    if (!size)
        return false;
    for (int64_t i = 0; i < x->numel && col < n; i++) {
        if (item_is_zero(x->dtype, item_ptr(x, i)))
            continue;
        for (int64_t a = x->rank - 1, rest = i; a >= 0; rest /= x->dims[a], a--)
            ((int64_t *)f->out->at)[a * n + col] = rest % x->dims[a];
        col++;
    }
    return true;
}

/* ---- blocks of an image: [N, C, H, W] read with more axes, permuted ---- */

/* Channels become blocks of positions. Of the channel axis the block comes first in mode DCR, last
 * in CRD. */
static bool fold_depth_to_space(Fold *f)
{
    const Data *x = &f->in[0];
    int64_t b = node_int(f->node, "blocksize", 1);
    int64_t n = x->dims[0];
    int64_t c = x->dims[1] / (b * b);
    int64_t h = x->dims[2];
    int64_t w = x->dims[3];
    bool dcr = strcmp(node_str(f->node, "mode", "DCR"), "CRD") != 0;
    size_t size = item_size(x->dtype);
    int64_t plane = h * w;
    int64_t each = dcr ? plane : plane * b * b;
    int64_t sub = dcr ? plane * c : plane; /* strides of c and of a block's cell */
    if (!size)
        return false;
    copy_strided(f->out->at, x->at, size, 6, (const int64_t[]){ n, c, h, b, w, b },
                 (const int64_t[]){ x->dims[1] * plane, each, w, sub * b, 1, sub });
    return true;
}

static bool fold_space_to_depth(Fold *f)
{
    const Data *x = &f->in[0];
    int64_t b = node_int(f->node, "blocksize", 1);
    int64_t n = x->dims[0];
    int64_t c = x->dims[1];
    int64_t h = x->dims[2] / b;
    int64_t w = x->dims[3] / b;
    size_t size = item_size(x->dtype);
    int64_t row = x->dims[3];
    int64_t plane = x->dims[2] * row;
    if (!size || strcmp(node_str(f->node, "mode", "DCR"), "DCR"))
        return false;
    copy_strided(f->out->at, x->at, size, 6, (const int64_t[]){ n, b, b, c, h, w },
                 (const int64_t[]){ c * plane, row, 1, plane, row * b, b });
    return true;
}

const FoldRow fold_shape[] = { { "BitCast", fold_same },
                               { "Concat", fold_concat },
                               { "ConstantOfShape", fold_constant_of_shape },
                               { "DepthToSpace", fold_depth_to_space },
                               { "Expand", fold_expand },
                               { "EyeLike", fold_eye_like },
                               { "Flatten", fold_same },
                               { "Gather", fold_gather },
                               { "GatherElements", fold_gather_elements },
                               { "GatherND", fold_gather_nd },
                               { "Identity", fold_same },
                               { "NonZero", fold_non_zero },
                               { "OneHot", fold_one_hot },
                               { "Pad", fold_pad },
                               { "Range", fold_range },
                               { "Reshape", fold_same },
                               { "ScatterElements", fold_scatter_elements },
                               { "ScatterND", fold_scatter_nd },
                               { "Shape", fold_shape_op },
                               { "Size", fold_size },
                               { "Slice", fold_slice },
                               { "SpaceToDepth", fold_space_to_depth },
                               { "Split", fold_split },
                               { "Squeeze", fold_same },
                               { "Tile", fold_tile },
                               { "Transpose", fold_transpose },
                               { "Trilu", fold_trilu },
                               { "Unsqueeze", fold_same },
                               { 0 } };
