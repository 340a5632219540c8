/* pool.c - pooling over one, two or three axes, and adaptive pooling. Rank is a parameter.
 *
 * Adaptive pooling asks for output sizes. Window i of n outputs over a size s is [floor(i s / n),
 * ceil((i + 1) s / n)): equal windows are an ordinary pool; else, as windows are boxes, each axis
 * is reduced by itself, slice by slice where the sizes are known. Where they are not, infinite
 * numbers make NaN of a mean's neighbours. */
#include "ops/internal.h"

#include <math.h>

typedef struct Pool {
    Ox x;
    int n;             /* spatial axes */
    bool alone;        /* the input had no batch axis */
    bool ceil, larger; /* larger: a dilated window is larger than the padded image */
    int64_t kernel[MAX_RANK], stride[MAX_RANK], pad[MAX_RANK], dilation[MAX_RANK];
} Pool;

/* The input with a batch axis. */
static bool pool_input(Op *op, int n, Ox *x, bool *alone)
{
    int rank;
    *x = arg(op, "self");
    if (!need_rank(op, *x, n + 2, &rank))
        return false;
    if (rank != n + 1 && rank != n + 2)
        return fail(op->cx, E_VALUE,
                    "Expected %dD or %dD (batch mode) tensor, but got input with sizes: %s", n + 1,
                    n + 2, type_text(op->cx, (*x)->type)->s);
    *alone = rank == n + 1;
    if (*alone)
        *x = unsqueeze_axis(op, *x, 0);
    return ox_ok(*x);
}

static Ox without_batch(Op *op, Ox y, bool alone)
{
    Ox axes = ints(op, 0);
    return alone ? ox(op, "Squeeze", y, axes) : y;
}

static bool numbers(Op *op, const char *name, int n, const int64_t *deflt, int64_t *out)
{
    Ints v = { 0 };
    if (has_param(op, name))
        v = arg_ints_n(op, name, n);
    for (int i = 0; i < n; i++)
        out[i] = v.n ? v.at[i] : deflt ? deflt[i] : strcmp(name, "padding") != 0;
    return !ctx_failed(op->cx);
}

/* What is left of axis i of this size behind its first window */
static int64_t room_behind(const Pool *p, int i, int64_t size)
{
    return size + 2 * p->pad[i] - p->dilation[i] * (p->kernel[i] - 1) - 1;
}

/* With ceil_mode a window may be larger than the padded image: its one place ends where that ends.
 * ONNX has no dilated window like that. */
static void fit_windows(Pool *p)
{
    int64_t size;
    for (int i = 0; i < p->n && p->ceil; i++) {
        int64_t room = dim_known(ox_dim(p->x, 2 + i), &size) ? room_behind(p, i, size) : 0;
        if (room >= 0 || room <= -p->stride[i])
            continue;
        if (p->dilation[i] == 1)
            p->kernel[i] += room;
        else
            p->larger = true;
    }
}

/* Only the batch may be empty; `from`: the first axis that may not. */
static bool not_empty(Op *op, Ox x, int from)
{
    for (int i = from; i < ox_rank(x); i++)
        if (dim_is(ox_dim(x, i), 0))
            return fail(op->cx, E_VALUE,
                        "Expected a tensor whose dimensions are not 0 but for the batch, but got "
                        "input with sizes: %s",
                        type_text(op->cx, x->type)->s);
    return true;
}

/* row->datum: how many axes */
static bool pool_args(Op *op, Pool *p)
{
    *p = (Pool){ .n = (int)op->row->datum };
    if (!pool_input(op, p->n, &p->x, &p->alone) ||
        !numbers(op, "kernel_size", p->n, NULL, p->kernel) ||
        !numbers(op, "stride", p->n, p->kernel, p->stride) ||
        !numbers(op, "padding", p->n, NULL, p->pad) ||
        !numbers(op, "dilation", p->n, NULL, p->dilation))
        return false;
    p->ceil = arg_bool(op, "ceil_mode");
    for (int i = 0; i < p->n; i++)
        if (p->pad[i] < 0 || p->pad[i] > p->kernel[i] / 2)
            return fail(op->cx, E_VALUE,
                        "pad should be at most half of effective kernel size, but got pad=%lld, "
                        "kernel_size=%lld",
                        (long long)p->pad[i], (long long)p->kernel[i]);
    fit_windows(p);
    return not_empty(op, p->x, 1);
}

static void both_sides(const Pool *p, int64_t *out)
{
    for (int i = 0; i < p->n; i++)
        out[i] = out[p->n + i] = p->pad[i];
}

/* ---- by windows: each axis is cut into windows that are reduced ---- */

/* How many windows an axis has: with ceil_mode the last one must begin in the image or in the
 * padding before it. */
static bool count_windows(Op *op, const Pool *p, int i, int64_t *size, int64_t *count)
{
    if (!dim_known(ox_dim(p->x, 2 + i), size))
        return op_refuse(op,
                         "the windows along axis %d cannot be counted, as its size is not known: "
                         "give it with -i",
                         2 + i),
               false;
    int64_t room = room_behind(p, i, *size);
    if (room < 0 && (!p->ceil || room <= -p->stride[i]))
        return fail(op->cx, E_VALUE, "calculated output size is too small: axis %d of %s", 2 + i,
                    type_text(op->cx, p->x->type)->s);
    *count = (p->ceil ? (room + p->stride[i] - 1) / p->stride[i] : room / p->stride[i]) + 1;
    *count -= p->ceil && (*count - 1) * p->stride[i] >= *size + p->pad[i];
    return true;
}

/* Of axis i: how many windows it has, and how much of its end none of them reaches; below 0 the
 * last one reaches beyond it. */
static bool end_of_axis(Op *op, const Pool *p, int i, int64_t *count, int64_t *unread)
{
    int64_t size;
    if (!count_windows(op, p, i, &size, count))
        return false;
    *unread = room_behind(p, i, size) - (*count - 1) * p->stride[i];
    return true;
}

/* The sum in each window; the padding is 0. */
static Ox sums_by_windows(Op *op, const Pool *p)
{
    int64_t pads[2 * MAX_RANK] = { 0 }, count[MAX_RANK], unread;
    int rank = p->n + 2;
    for (int i = 0; i < p->n; i++) {
        if (!end_of_axis(op, p, i, &count[i], &unread))
            return POISON;
        pads[2 + i] = p->pad[i];
        pads[rank + 2 + i] = p->pad[i] - (unread < 0 ? unread : 0);
    }
    Ox list = ox_ints(op->g, pads, 2 * (size_t)rank);
    Ox zero = number_like(op, 0, p->x);
    Ox x = ox(op, "Pad", p->x, list, zero);
    for (int i = 0; i < p->n; i++) {
        Ox windows = windows_along(
            op, x, 2 + i,
            (Windows1d){ p->kernel[i], p->dilation[i], p->stride[i], dim_int(op->cx, count[i]) });
        Ox axes = ints(op, 2 + i);
        x = ox_with(op, "ReduceSum", INPUTS(windows, axes), INT("keepdims", 0));
    }
    return x;
}

/* ---- the largest of what MaxPool does not take: each axis is cut into windows, and what of them
 * lies beyond the border counts for the nearest inside ---- */

/* [taps, windows]: the places along the axis. */
static Ox places_along(Op *op, const Pool *p, int i)
{
    int64_t size, count;
    int64_t taps = p->kernel[i];
    int64_t step = p->dilation[i];
    if (!count_windows(op, p, i, &size, &count))
        return POISON;
    int64_t *at = new_array(op->cx, int64_t, taps *count);
    for (int64_t k = 0; at && k < count; k++) {
        int64_t from = k * p->stride[i] - p->pad[i];
        int64_t low = from < 0 ? (-from + step - 1) / step : 0;
        int64_t high = (size - 1 - from) / step;
        if (from >= size || (high = high < taps ? high : taps - 1) < low)
            return op_refuse(op, "a window that lies outside of the image");
        for (int64_t t = 0; t < taps; t++)
            at[t * count + k] = from + step * (t < low ? low : t > high ? high : t);
    }
    return at
        ? ox_const(op->g, const_make(op->cx, DT_INT64, 2, (const int64_t[]){ taps, count }, at))
        : POISON;
}

/* Where in its image the largest of each window is. at: where what the windows hold came from, NULL
 * for the first axis; worth: a step along this axis. */
static Ox largest_at(Op *op, Ox windows, Ox at, Ox places, int axis, Dim worth)
{
    Dim lying[MAX_RANK];
    if (!ox_ok(windows))
        return POISON;
    for (int k = 0; k < ox_rank(windows); k++)
        lying[k] = k == axis || k == axis + 1 ? ox_dim(places, k - axis) : dim_int(op->cx, 1);
    Ox upright = reshape_to(op, places, lying, ox_rank(windows));
    Ox whole = ox(op, "Mul", upright, ox_dim_value(op->g, worth));
    Ox axes = ints(op, axis);
    if (at)
        whole = ox(op, "Add", ox_with(op, "Gather", INPUTS(at, places), INT("axis", axis)), whole);
    else
        whole = expand_dims(op, whole, windows->type->dim, ox_rank(windows));
    Ox row = ox_with(op, "ArgMax", INPUTS(windows), INT("axis", axis), INT("keepdims", 1));
    return ox(op, "Squeeze", ox_with(op, "GatherElements", INPUTS(whole, row), INT("axis", axis)),
              axes);
}

/* Axis by axis from the last: the first of equal ones in reading order wins. */
static void max_by_windows(Op *op, const Pool *p, Ox *out, size_t n_out)
{
    Ox x = ox_dtype(p->x) == DT_INT16 ? ox_cast(op->g, p->x, DT_INT32) : p->x;
    Ox at = NULL; /* ReduceMax takes no int16 */
    Dim worth = dim_int(op->cx, 1);
    for (int i = p->n - 1; i >= 0; i--) {
        Ox places = places_along(op, p, i);
        Ox axes = ints(op, 2 + i);
        Ox windows = ox_with(op, "Gather", INPUTS(x, places), INT("axis", 2 + i));
        x = ox_with(op, "ReduceMax", INPUTS(windows, axes), INT("keepdims", 0));
        at = n_out == 2 ? largest_at(op, windows, at, places, 2 + i, worth) : NULL;
        worth = dim_mul(op->cx, worth, ox_dim(p->x, 2 + i));
    }
    out[0] = ox_ok(x) ? without_batch(op, ox_cast(op->g, x, ox_dtype(p->x)), p->alone) : POISON;
    if (n_out == 2)
        out[1] = without_batch(op, at, p->alone);
}

/* What a sum is divided by: the numbers of each window, those of the padding too or not. */
static Ox window_sizes(Op *op, const Pool *p, bool with_padding)
{
    Ox all = NULL;
    for (int i = 0; i < p->n; i++) {
        int64_t size, count;
        if (!count_windows(op, p, i, &size, &count))
            return POISON;
        int64_t *wide = new_array(op->cx, int64_t, count + 1);
        for (int64_t k = 0; wide && k < count; k++) {
            int64_t from = k * p->stride[i] - p->pad[i];
            int64_t to = from + p->kernel[i];
            int64_t last = with_padding ? size + p->pad[i] : size;
            wide[k] = (to < last ? to : last) - (with_padding || from > 0 ? from : 0);
        }
        Dim lying[MAX_RANK];
        for (int k = 0; k < p->n; k++)
            lying[k] = dim_int(op->cx, k == i ? count : 1);
        Ox along = wide ? reshape_to(op, ox_ints(op->g, wide, (size_t)count), lying, p->n) : POISON;
        all = all ? ox(op, "Mul", all, along) : along;
    }
    return ox_cast(op->g, all, ox_dtype(p->x));
}

/* Doubles of a size that is not known stay a node. */
static bool averaged_by_windows(Op *op, const Pool *p)
{
    bool known = true;
    for (int i = 0; i < p->n; i++)
        known &= dim_known(ox_dim(p->x, 2 + i), NULL);
    return needs_windows(op, p->x) && (known || dtype_is_int(ox_dtype(p->x)));
}

/* Before opset 10 there is no ceil_mode: how far the last windows reach beyond the end is padding
 * there. False: it is there, or not asked for, or nobody knows how far that is. */
static bool padded_for_ceil(Op *op, const Pool *p, int64_t *pads)
{
    int64_t count, unread;
    for (int i = 0; i < p->n; i++)
        if (!p->ceil || op->g->target >= 10 || !dim_known(ox_dim(p->x, 2 + i), NULL))
            return false;
    for (int i = 0; i < p->n; i++)
        if (end_of_axis(op, p, i, &count, &unread) && unread < 0)
            pads[p->n + i] -= unread;
    return true;
}

/* ---- max ---- */

/* The number of a place in its own image, as PyTorch counts; ONNX counts through batch and
 * channels. */
static Ox place_in_image(Op *op, const Pool *p, Ox indices)
{
    Dim size = dim_product(op->cx, p->x->type->dim + 2, p->n);
    Ox by = ox_dim_value(op->g, size);
    return ox(op, "Mod", indices, by);
}

static bool max_pool(Op *op, const Pool *p, Ox *out, size_t n_out)
{
    int64_t pads[2 * MAX_RANK];
    size_t n = (size_t)p->n;
    if (dtype_is_int(ox_dtype(p->x)) || p->larger) {
        max_by_windows(op, p, out, n_out);
        return ox_ok(out[0]);
    }
    both_sides(p, pads);
    bool ceil = p->ceil && !padded_for_ceil(op, p, pads);
    if (!ox_make_n(op->g, "MaxPool", INPUTS(p->x),
                   ATTRS(INT("ceil_mode", ceil), INT_LIST("dilations", p->dilation, n),
                         INT_LIST("kernel_shape", p->kernel, n), INT_LIST("pads", pads, 2 * n),
                         INT_LIST("strides", p->stride, n)),
                   out, n_out))
        return false;
    if (n_out == 2)
        out[1] = place_in_image(op, p, out[1]);
    for (size_t i = 0; i < n_out; i++)
        out[i] = without_batch(op, out[i], p->alone);
    return true;
}

static Ox lower_max_pool(Op *op)
{
    Pool p;
    Ox out;
    return pool_args(op, &p) && max_pool(op, &p, &out, 1) ? out : POISON;
}

static Value lower_max_pool_with_indices(Op *op)
{
    Pool p;
    Ox out[2];
    return pool_args(op, &p) && max_pool(op, &p, out, 2) ? result_tuple(op, out, 2) : val_poison();
}

/* ---- average ---- */

/* The sum in each window: the padded input with enough behind it that no window is cut, so that
 * each mean is of a whole one. */
static Ox window_sums(Op *op, const Pool *p)
{
    int64_t pads[2 * (MAX_RANK + 2)] = { 0 };
    int64_t count;
    int64_t unread = 0;
    int64_t area = 1;
    int rank = p->n + 2;
    for (int i = 0; i < p->n; i++) {
        if (p->ceil && !end_of_axis(op, p, i, &count, &unread))
            return POISON;
        pads[2 + i] = p->pad[i];
        pads[rank + 2 + i] = p->pad[i] - (unread < 0 ? unread : 0);
        area *= p->kernel[i];
    }
    Ox list = ox_ints(op->g, pads, 2 * (size_t)rank);
    Ox zero = number_like(op, 0, p->x);
    Ox padded = ox(op, "Pad", p->x, list, zero);
    Ox mean = ox_with(op, "AveragePool", INPUTS(padded),
                      INT_LIST("kernel_shape", p->kernel, (size_t)p->n),
                      INT_LIST("strides", p->stride, (size_t)p->n));
    Ox factor = number_like(op, (double)area, p->x);
    return ox(op, "Mul", mean, factor);
}

/* Padding counts, what ceil_mode adds behind it does not: padding that is part of the image says so
 * to every runtime (ONNX Runtime before 1.18 divides by the whole window otherwise). Axes that need
 * no ceil_mode end with their last window. */
static Ox average_of_padded(Op *op, const Pool *p)
{
    int64_t pads[2 * (MAX_RANK + 2)] = { 0 };
    int64_t behind[2 * MAX_RANK] = { 0 };
    int64_t count, unread;
    int rank = p->n + 2;
    for (int i = 0; i < p->n; i++) {
        if (!end_of_axis(op, p, i, &count, &unread))
            return POISON;
        pads[2 + i] = p->pad[i];
        pads[rank + 2 + i] = p->pad[i] - (unread > 0 ? unread : 0);
    }
    bool ceil = !padded_for_ceil(op, p, behind);
    Ox list = ox_ints(op->g, pads, 2 * (size_t)rank);
    Ox zero = number_like(op, 0, p->x);
    Ox padded = ox(op, "Pad", p->x, list, zero);
    return ox_with(op, "AveragePool", INPUTS(padded), INT("ceil_mode", ceil),
                   INT_LIST("kernel_shape", p->kernel, (size_t)p->n),
                   ceil ? NO_ATTR : INT_LIST("pads", behind, 2 * (size_t)p->n),
                   INT_LIST("strides", p->stride, (size_t)p->n));
}

static Ox average(Op *op, Pool *p)
{
    int64_t pads[2 * MAX_RANK], count, unread;
    bool padded = false;
    bool known = true;
    bool beyond = false;
    for (int i = 0; i < p->n; i++) {
        padded |= p->pad[i] > 0;
        known &= dim_known(ox_dim(p->x, 2 + i), NULL);
    }
    for (int i = 0; i < p->n && known && p->ceil; i++) {
        if (!end_of_axis(op, p, i, &count, &unread))
            return POISON;
        beyond |= unread < 0;
    }
    bool counts = padded && arg_bool(op, "count_include_pad");
    bool ceil = known ? beyond : p->ceil;
    if (known && ceil && counts)
        return average_of_padded(op, p);
    both_sides(p, pads);
    ceil = ceil && !padded_for_ceil(op, p, pads);
    return ox_with(
        op, "AveragePool", INPUTS(p->x), INT("ceil_mode", ceil), INT("count_include_pad", counts),
        INT_LIST("kernel_shape", p->kernel, (size_t)p->n), INT_LIST("pads", pads, 2 * (size_t)p->n),
        INT_LIST("strides", p->stride, (size_t)p->n));
}

static Ox lower_avg_pool(Op *op)
{
    Pool p;
    if (!pool_args(op, &p))
        return POISON;
    if (has_param(op, "divisor_override") && arg_given(op, "divisor_override")) {
        double by = (double)arg_int(op, "divisor_override");
        if (by == 0)
            return op_fail(op, E_VALUE, "divisor must be not zero");
        Ox sums = averaged_by_windows(op, &p) ? sums_by_windows(op, &p) : window_sums(op, &p);
        Ox divisor = number_like(op, by, p.x);
        return without_batch(op, ox(op, "Div", sums, divisor), p.alone);
    }
    if (averaged_by_windows(op, &p)) {
        Ox sums = sums_by_windows(op, &p);
        Ox by = window_sizes(op, &p, arg_bool(op, "count_include_pad"));
        return without_batch(op, ox(op, "Div", sums, by), p.alone);
    }
    return without_batch(op, average(op, &p), p.alone);
}

/* ---- adaptive ---- */

typedef struct Adaptive {
    Ox x;
    int n;
    bool alone, all_one, equal;
    Dim size[MAX_RANK];
    int64_t kernel[MAX_RANK];
} Adaptive;

/* row->datum: how many axes. equal: every axis is cut into windows of one static size. */
static bool adaptive_args(Op *op, Adaptive *a)
{
    *a = (Adaptive){ .n = (int)op->row->datum, .all_one = true, .equal = true };
    Dims size = arg_dims(op, "output_size");
    if (ctx_failed(op->cx) || !pool_input(op, a->n, &a->x, &a->alone) || !not_empty(op, a->x, 2))
        return false;
    if (size.n != 1 && size.n != (size_t)a->n)
        return fail(op->cx, E_VALUE, "adaptive pooling: output_size must be %d numbers, not %zu",
                    a->n, size.n);
    for (int i = 0; i < a->n; i++) {
        Dim d = a->size[i] = size.at[size.n == 1 ? 0 : i];
        Dim have = ox_dim(a->x, 2 + i);
        Dim k;
        a->all_one &= dim_is(d, 1);
        a->kernel[i] = 1;
        if (dim_eq(op->cx, d, have) != YES)
            a->equal &= dim_divide(op->cx, have, d, &k) && dim_known(k, &a->kernel[i]);
    }
    return true;
}

/* How one axis is reduced to n parts: values, and the place of the largest when `at` is there. */
typedef struct Parts {
    Ox values, at;
} Parts;

/* One window of an axis. at: places so far, over the axes behind; `stride`: what a step along this
 * axis is worth. */
static Parts window(Op *op, const char *name, Parts from, int axis, int64_t start, Dim stride,
                    bool places)
{
    Ox axes = ints(op, axis);
    Parts out = { .values = ox(op, name, from.values, axes) };
    if (!places)
        return out;
    Ox row = ox_with(op, "ArgMax", INPUTS(from.values), INT("axis", axis), INT("keepdims", 1));
    Ox first = ox_int(op->g, start);
    Ox whole = ox(op, "Add", row, first);
    Ox by = ox_dim_value(op->g, stride);
    out.at = ox(op, "Mul", whole, by);
    if (from.at) {
        Ox behind = ox_with(op, "GatherElements", INPUTS(from.at, row), INT("axis", axis));
        out.at = ox(op, "Add", out.at, behind);
    }
    return out;
}

/* ---- of sizes that are not known: which elements belong to which window is computed too ---- */

typedef struct Windows {
    Ox inside /* bool [parts, size] */, count /* [parts, 1], int64 */;
} Windows;

static Windows windows_of(Op *op, Dim size, Dim parts)
{
    Ox zero = ox_int(op->g, 0);
    Ox one = ox_int(op->g, 1);
    Ox s = ox_dim_value(op->g, size);
    Ox n = ox_dim_value(op->g, parts);
    Ox upright = ints(op, 1);
    Ox row = ox(op, "Range", zero, n, one);
    Ox i = ox(op, "Unsqueeze", row, upright);
    Ox j = ox(op, "Range", zero, s, one);
    Ox before = ox(op, "Mul", i, s);
    Ox start = ox(op, "Div", before, n);
    Ox next = ox(op, "Add", i, one);
    Ox reach = ox(op, "Mul", next, s);
    Ox up = ox(op, "Add", reach, ox(op, "Sub", n, one));
    Ox end = ox(op, "Div", up, n);
    Ox from = ox(op, "GreaterOrEqual", j, start);
    Ox to = ox(op, "Less", j, end);
    Windows w = { .inside = ox(op, "And", from, to) };
    w.count = ox(op, "Sub", end, start);
    return w;
}

/* The axis behind all others, or back from there. */
static Ox turned(Op *op, Ox x, int axis, bool back)
{
    int rank = ox_rank(x), perm[MAX_RANK];
    for (int i = 0; i < rank; i++)
        perm[i] = back ? (i < axis        ? i
                              : i == axis ? rank - 1
                                          : i - 1)
                       : (i < axis            ? i
                              : i == rank - 1 ? axis
                                              : i + 1);
    return ox_ok(x) ? permute_to(op, x, perm, rank) : x;
}

/* Means are a product with a matrix; the largest is looked for among the window's elements, all
 * others being -infinity. */
static Parts by_windows(Op *op, const char *name, Parts from, int axis, Dim parts, Dim stride,
                        bool places)
{
    Windows w = windows_of(op, ox_dim(from.values, axis), parts);
    Parts out = { POISON, POISON };
    if (!ox_ok(w.inside))
        return out;
    DType t = ox_dtype(from.values);
    if (strcmp(name, "ReduceMean") == 0) {
        Ox inside = ox_cast(op->g, w.inside, t);
        Ox share = ox(op, "Div", inside, ox_cast(op->g, w.count, t));
        out.values = product_along(op, from.values, share, axis);
        return out;
    }
    Ox x = turned(op, from.values, axis, false);
    Ox none = ox_number(op->g, t, -INFINITY);
    Ox apart = unsqueeze_axis(op, x, ox_rank(x) - 1);
    Ox seen = ox(op, "Where", w.inside, apart, none);
    Ox last = ints(op, -1);
    out.values = turned(op, ox_with(op, "ReduceMax", INPUTS(seen, last), INT("keepdims", 0)), axis,
                        true);
    if (!places)
        return out;
    Ox at = ox_with(op, "ArgMax", INPUTS(seen), INT("axis", -1), INT("keepdims", 0));
    Ox by = ox_dim_value(op->g, stride);
    Ox whole = ox(op, "Mul", at, by);
    if (from.at)
        whole = ox(op, "Add", whole,
                   ox_with(op, "GatherElements", INPUTS(turned(op, from.at, axis, false), at),
                           INT("axis", -1)));
    out.at = turned(op, whole, axis, true);
    return out;
}

static Parts reduce_axis(Op *op, const char *name, Parts from, int axis, Dim parts, Dim stride,
                         bool places)
{
    int64_t n, size;
    Parts bad = { POISON, POISON };
    if (!ox_ok(from.values))
        return bad;
    if (dim_is(parts, 1))
        return window(op, name, from, axis, 0, stride, places);
    if (dim_is(parts, 0)) {
        Ox none = slice_axis(op, from.values, axis, parts, parts, 1);
        return (Parts){ none, !places || !ox_ok(none) ? NULL : ox_cast(op->g, none, DT_INT64) };
    }
    bool same = dim_eq(op->cx, parts, ox_dim(from.values, axis)) == YES;
    if (same && !places)
        return from;
    if (!dim_known(parts, &n) || !dim_known(ox_dim(from.values, axis), &size))
        return by_windows(op, name, from, axis, parts, stride, places);
    Ox *values = new_array(op->cx, Ox, n + 1);
    Ox *at = new_array(op->cx, Ox, n + 1);
    if (!values || !at)
        return bad;
    for (int64_t i = 0; i < n; i++) {
        int64_t start = i * size / n;
        int64_t end = ((i + 1) * size + n - 1) / n;
        Dim a = dim_int(op->cx, start);
        Dim b = dim_int(op->cx, end);
        Parts some = { .values = slice_axis(op, from.values, axis, a, b, 1) };
        some.at = from.at ? slice_axis(op, from.at, axis, a, b, 1) : NULL;
        some = window(op, name, some, axis, start, stride, places);
        values[i] = some.values;
        at[i] = some.at;
    }
    Parts out = { .values = concat_axis(op, values, (size_t)n, axis) };
    out.at = places ? concat_axis(op, at, (size_t)n, axis) : NULL;
    return out;
}

/* Axis by axis from the last: the first of equal ones in reading order wins, as in PyTorch. */
static Parts reduce_axes(Op *op, const Adaptive *a, const char *name, bool places)
{
    Parts now = { .values = a->x };
    Dim stride = dim_int(op->cx, 1);
    for (int i = a->n - 1; i >= 0; i--) {
        Dim size = ox_dim(a->x, 2 + i);
        now = reduce_axis(op, name, now, 2 + i, a->size[i], stride, places);
        stride = dim_mul(op->cx, stride, size);
    }
    return now;
}

static Ox adaptive_pool(Op *op, const Adaptive *a, const char *global, const char *equal,
                        const char *reduce)
{
    if (a->all_one)
        return ox(op, global, a->x);
    if (a->equal && !needs_windows(op, a->x))
        return ox_with(op, equal, INPUTS(a->x), INT_LIST("kernel_shape", a->kernel, (size_t)a->n),
                       INT_LIST("strides", a->kernel, (size_t)a->n));
    return reduce_axes(op, a, reduce, false).values;
}

static Ox lower_adaptive_avg_pool(Op *op)
{
    Adaptive a;
    if (!adaptive_args(op, &a))
        return POISON;
    return without_batch(
        op, adaptive_pool(op, &a, "GlobalAveragePool", "AveragePool", "ReduceMean"), a.alone);
}

/* -> values and places. Places are nodes of their own, gone when nobody reads them. */
static Value lower_adaptive_max_pool(Op *op)
{
    Adaptive a;
    Ox out[2];
    if (!adaptive_args(op, &a))
        return val_poison();
    out[0] = without_batch(op, adaptive_pool(op, &a, "GlobalMaxPool", "MaxPool", "ReduceMax"),
                           a.alone);
    out[1] = without_batch(op, reduce_axes(op, &a, "ReduceMax", true).at, a.alone);
    return result_tuple(op, out, 2);
}

/* ---- the gradient: what each result was worth, to the place that it came from ---- */

/* row->datum: how many axes */
static Ox lower_max_pool_backward(Op *op)
{
    Ox x = arg(op, "self");
    Ox grad = arg(op, "grad_output");
    Ox indices = arg(op, "indices");
    int rank, n = (int)op->row->datum;
    if (!ox_ok(grad) || !ox_ok(indices) || !need_rank(op, x, -1, &rank))
        return POISON;
    if (rank < n || ox_rank(grad) != rank || ox_rank(indices) != rank)
        return op_fail(op, E_VALUE,
                       "self, grad_output and indices must have one rank, of %d or more", n);
    Dim image[2] = { dim_product(op->cx, x->type->dim, rank - n),
                     dim_product(op->cx, x->type->dim + rank - n, n) };
    Dim some[2] = { image[0], dim_product(op->cx, grad->type->dim + rank - n, n) };
    Ox zero = number_like(op, 0, x);
    Ox canvas = expand_dims(op, zero, image, 2);
    Ox at = reshape_to(op, indices, some, 2);
    Ox worth = reshape_to(op, grad, some, 2);
    Ox sum = ox_with(op, "ScatterElements", INPUTS(canvas, at, worth), INT("axis", 1),
                     STRING("reduction", str_of(op->cx, "add")));
    return ox_ok(sum) ? reshape_to(op, sum, x->type->dim, rank) : POISON;
}

/* ---- unpooling: each value to its place in an image of zeros ---- */

static Ox lower_max_unpool(Op *op)
{
    Ox x, indices = arg(op, "indices");
    bool alone;
    int n = (int)op->row->datum;
    Dims size = arg_dims(op, "output_size");
    if (ctx_failed(op->cx) || !pool_input(op, n, &x, &alone))
        return POISON;
    if (size.n != (size_t)n)
        return op_fail(op, E_VALUE,
                       "There should be exactly %d elements in output_size, but got %zu elements.",
                       n, size.n);
    Dim from[3] = { ox_dim(x, 0), ox_dim(x, 1), dim_product(op->cx, x->type->dim + 2, n) };
    Dim flat[3] = { from[0], from[1], dim_product(op->cx, size.at, n) };
    Dim out[MAX_RANK] = { from[0], from[1] };
    for (int i = 0; i < n; i++)
        out[2 + i] = size.at[i];
    Ox at = reshape_to(op, indices, from, 3);
    Ox values = reshape_to(op, x, from, 3);
    Ox zero = number_like(op, 0, x);
    Ox canvas = expand_dims(op, zero, flat, 3);
    Ox image = ox_with(op, "ScatterElements", INPUTS(canvas, at, values), INT("axis", 2));
    return without_batch(op, reshape_to(op, image, out, n + 2), alone);
}

#define MAX_POOL(n, line)     FAMILY(lower_max_pool, n, NULL, PLAIN, line)
#define MAX_POOL_AT(n, line)  CALL_FAMILY(lower_max_pool_with_indices, n, NULL, PLAIN, line)
#define AVG_POOL(n, line)     FAMILY(lower_avg_pool, n, NULL, PLAIN, line)
#define ADAPTIVE_AVG(n, line) FAMILY(lower_adaptive_avg_pool, n, NULL, PLAIN, line)
#define ADAPTIVE_MAX(n, line) CALL_FAMILY(lower_adaptive_max_pool, n, NULL, PLAIN, line)

#define BACKWARD(n)                                                                               \
    FAMILY(lower_max_pool_backward, n, NULL, PLAIN,                                               \
           "aten::max_pool" #n "d_with_indices_backward(Tensor grad_output, Tensor self, int[" #n \
           "] kernel_size, "                                                                      \
           "int[" #n "] stride, int[" #n "] padding, int[" #n                                     \
           "] dilation, bool ceil_mode, Tensor indices) -> Tensor")

const OpRow ops_pool[] = {
    MAX_POOL(1,
             "aten::max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] "
             "padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> Tensor"),
    MAX_POOL(2,
             "aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] "
             "padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor"),
    MAX_POOL(3,
             "aten::max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] "
             "padding=0, int[3] dilation=1, bool ceil_mode=False) -> Tensor"),
    MAX_POOL_AT(
        1,
        "aten::max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], "
        "int[1] padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> (Tensor, Tensor)"),
    MAX_POOL_AT(2,
                "aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], "
                "int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)"),
    MAX_POOL_AT(3,
                "aten::max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], "
                "int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)"),
    AVG_POOL(1,
             "aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] "
             "padding=[0], bool ceil_mode=False, bool count_include_pad=True) -> Tensor"),
    AVG_POOL(
        2,
        "aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "
        "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor"),
    AVG_POOL(
        3,
        "aten::avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, "
        "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor"),
    ADAPTIVE_AVG(1, "aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor"),
    ADAPTIVE_AVG(2, "aten::adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor"),
    ADAPTIVE_AVG(3, "aten::adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor"),
    ADAPTIVE_AVG(2, "aten::_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor"),
    ADAPTIVE_AVG(3, "aten::_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor"),
    ADAPTIVE_MAX(1,
                 "aten::adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)"),
    ADAPTIVE_MAX(2,
                 "aten::adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)"),
    ADAPTIVE_MAX(3,
                 "aten::adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)"),
    BACKWARD(2),
    BACKWARD(3),
    FAMILY(lower_max_unpool, 2, NULL, PLAIN,
           "aten::max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor"),
    FAMILY(lower_max_unpool, 3, NULL, PLAIN,
           "aten::max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, "
           "int[3] padding) -> Tensor"),
    OPS_END
};
