/* pool.c - pooling over one, two or three axes, and adaptive pooling. Rank is a parameter.
 *
 * Adaptive pooling is given output sizes: window i of n over a size s is [floor(i s / n),
 * ceil((i + 1) s / n)). Equal windows are an ordinary pool. Else each axis is reduced by itself,
 * which windows that are boxes allow: slice by slice where the sizes are known, by a product with a
 * matrix where they are not (there an infinite number makes NaN of other windows' means). */
#include "ops/internal.h"

#include <math.h>

typedef struct Pool {
    Ox x;
    int n;       /* spatial axes */
    bool alone;  /* the input had no batch axis */
    bool ceil;   /* ceil_mode */
    bool larger; /* a dilated window is larger than the padded image */
    int64_t kernel[MAX_RANK], stride[MAX_RANK], pad[MAX_RANK], dilation[MAX_RANK];
} Pool;

/* Argument self, of n spatial axes, with a batch axis. *alone: it had none. False after an error.
 */
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

/* One number for each axis. Of a parameter that is empty or that the schema lacks they are `deflt`.
 * If that is NULL, an empty one is an error, and what the schema lacks is 0 for the padding and 1
 * for any other. False after an error. */
static bool numbers(Op *op, const char *name, int n, const int64_t *deflt, int64_t *out)
{
    Ints v = { 0 };
    if (has_param(op, name))
        v = arg_ints_n(op, name, n);
    if (has_param(op, name) && v.n == 0 && !deflt && !ctx_failed(op->cx))
        return fail(op->cx, E_VALUE, "%s must either be a single int, or a tuple of %d ints", name,
                    n);
    const int64_t *from = v.n ? v.at : deflt;
    for (int i = 0; i < n; i++)
        out[i] = from ? from[i] : strcmp(name, "padding") != 0;
    return !ctx_failed(op->cx);
}

/* A size beyond is no image: all that is computed of windows below fits into 64 bits. */
#define MOST_SIZE ((int64_t)1 << 62)

/* How many elements of axis i, of this size and padded, lie behind its first window. */
static int64_t room_behind(const Pool *p, int i, int64_t size)
{
    size = size < MOST_SIZE ? size : MOST_SIZE;
    return size - p->dilation[i] * (p->kernel[i] - 1) - 1 + 2 * p->pad[i];
}

/* With ceil_mode a window may be larger than the padded image: it has one place, and ends where the
 * image ends. ONNX has no dilated window like that (p->larger). */
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

/* Only axes before `from` may be empty. False after PyTorch's error. */
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

/* PyTorch keeps these numbers in 32 bits, and wants them positive. False after an error. */
static bool positive(Op *op, const char *name, const int64_t *at, int n)
{
    for (int i = 0; i < n; i++)
        if (at[i] < 1 || at[i] > INT32_MAX)
            return fail(op->cx, E_VALUE, "%s should be greater than zero, but got %lld", name,
                        (long long)at[i]);
    return true;
}

/* Reads the arguments of a pool; row->datum: the number of spatial axes. False after an error. */
static bool pool_args(Op *op, Pool *p)
{
    *p = (Pool){ .n = (int)op->row->datum };
    if (!pool_input(op, p->n, &p->x, &p->alone) ||
        !numbers(op, "kernel_size", p->n, NULL, p->kernel) ||
        !numbers(op, "stride", p->n, p->kernel, p->stride) ||
        !numbers(op, "padding", p->n, NULL, p->pad) ||
        !numbers(op, "dilation", p->n, NULL, p->dilation))
        return false;
    if (!positive(op, "kernel_size", p->kernel, p->n) || !positive(op, "stride", p->stride, p->n) ||
        !positive(op, "dilation", p->dilation, p->n))
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

/* The padding as ONNX's `pads`. */
static void both_sides(const Pool *p, int64_t *out)
{
    for (int i = 0; i < p->n; i++) {
        out[i] = p->pad[i];
        out[p->n + i] = p->pad[i];
    }
}

/* ---- by windows: each axis is cut into windows that are reduced ---- */

/* -> the size of axis i and how many windows it has; with ceil_mode the last one must begin in the
 * image or in the padding before it. False after an error or refusal. */
static bool count_windows(Op *op, const Pool *p, int i, int64_t *size, int64_t *count)
{
    if (!dim_known(ox_dim(p->x, 2 + i), size)) {
        op_refuse(op,
                  "the windows along axis %d cannot be counted, as its size is not known: "
                  "give it with -i",
                  2 + i);
        return false;
    }
    if (*size > MOST_SIZE)
        return fail(op->cx, E_LIMIT, "axis %d is too large: %lld", 2 + i, (long long)*size);
    int64_t room = room_behind(p, i, *size);
    if (room < 0 && (!p->ceil || room <= -p->stride[i]))
        return fail(op->cx, E_VALUE, "calculated output size is too small: axis %d of %s", 2 + i,
                    type_text(op->cx, p->x->type)->s);
    int64_t more = p->ceil ? p->stride[i] - 1 : 0;
    *count = (room + more) / p->stride[i] + 1;
    if (p->ceil && (*count - 1) * p->stride[i] >= *size + p->pad[i])
        --*count;
    return true;
}

/* -> how many windows axis i has, and how many elements at its end none of them reaches; below 0,
 * the last one reaches beyond it. False after an error or refusal. */
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
    int64_t pads[2 * MAX_RANK] = { 0 };
    int64_t count[MAX_RANK], unread;
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
        Windows1d each = { p->kernel[i], p->dilation[i], p->stride[i], dim_int(op->cx, count[i]) };
        Ox windows = windows_along(op, x, 2 + i, each);
        Ox axes = ints(op, 2 + i);
        x = ox_with(op, "ReduceSum", INPUTS(windows, axes), INT("keepdims", 0));
    }
    return x;
}

/* ---- max pools that MaxPool does not do: the elements of a window beyond the border are replaced
 * by its nearest element inside ---- */

/* -> the taps, low to high, that are in the image of the window that begins at `from` along axis i,
 * of this size. False: none is. */
static bool taps_inside(const Pool *p, int i, int64_t size, int64_t from, int64_t *low,
                        int64_t *high)
{
    int64_t step = p->dilation[i];
    int64_t last = p->kernel[i] - 1;
    *low = from < 0 ? (-from + step - 1) / step : 0;
    *high = (size - 1 - from) / step;
    if (*high > last)
        *high = last;
    return from < size && *low <= *high;
}

/* [taps, windows]: the place of each tap of each window along axis i. */
static Ox places_along(Op *op, const Pool *p, int i)
{
    int64_t size, count, n, low, high;
    int64_t taps = p->kernel[i];
    if (!count_windows(op, p, i, &size, &count))
        return POISON;
    if (!mul_ok(taps, count, &n))
        return op_fail(op, E_LIMIT, "%lld windows of %lld elements along axis %d", (long long)count,
                       (long long)taps, 2 + i);
    int64_t *at = new_array(op->cx, int64_t, n);
    if (!at)
        return POISON;
    for (int64_t k = 0; k < count; k++) {
        int64_t from = k * p->stride[i] - p->pad[i];
        if (!taps_inside(p, i, size, from, &low, &high))
            return op_refuse(op, "a window that lies outside of the image");
        for (int64_t t = 0; t < taps; t++) {
            int64_t near = t < low ? low : t;
            at[t * count + k] = from + p->dilation[i] * (near > high ? high : near);
        }
    }
    const int64_t dims[] = { taps, count };
    return ox_const(op->g, const_make(op->cx, DT_INT64, 2, dims, at));
}

/* The index in its flattened image of the largest element of each window. at: the indices that the
 * axes behind this one have given, or NULL; worth: how much a step along this axis adds. */
static Ox largest_at(Op *op, Ox windows, Ox at, Ox places, int axis, Dim worth)
{
    Dim dims[MAX_RANK];
    if (!ox_ok(windows))
        return POISON;
    for (int k = 0; k < ox_rank(windows); k++)
        dims[k] = k == axis || k == axis + 1 ? ox_dim(places, k - axis) : dim_int(op->cx, 1);
    Ox along = reshape_to(op, places, dims, ox_rank(windows));
    Ox whole = ox(op, "Mul", along, ox_dim_value(op->g, worth));
    Ox axes = ints(op, axis);
    if (at) {
        Ox behind = ox_with(op, "Gather", INPUTS(at, places), INT("axis", axis));
        whole = ox(op, "Add", behind, whole);
    } else {
        whole = expand_dims(op, whole, windows->type->dim, ox_rank(windows));
    }
    Ox row = ox_with(op, "ArgMax", INPUTS(windows), INT("axis", axis), INT("keepdims", 1));
    Ox picked = ox_with(op, "GatherElements", INPUTS(whole, row), INT("axis", axis));
    return ox(op, "Squeeze", picked, axes);
}

/* -> out[0], the largest of each window; out[1], its index, if n_out is 2. Goes axis by axis from
 * the last, so that the first of equal elements in reading order wins. ReduceMax takes no int16. */
static void max_by_windows(Op *op, const Pool *p, Ox *out, size_t n_out)
{
    Ox x = ox_dtype(p->x) == DT_INT16 ? ox_cast(op->g, p->x, DT_INT32) : p->x;
    Ox at = NULL;
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

/* How many elements each window of axis i has, those of the padding too or not: of rank p->n. */
static Ox window_sizes_along(Op *op, const Pool *p, int i, bool with_padding)
{
    int64_t size, count;
    Dim dims[MAX_RANK];
    if (!count_windows(op, p, i, &size, &count))
        return POISON;
    int64_t *wide = new_array(op->cx, int64_t, count + 1);
    if (!wide)
        return POISON;
    int64_t last = with_padding ? size + p->pad[i] : size;
    for (int64_t k = 0; k < count; k++) {
        int64_t from = k * p->stride[i] - p->pad[i];
        int64_t to = from + p->kernel[i];
        int64_t begin = with_padding || from > 0 ? from : 0;
        wide[k] = (to < last ? to : last) - begin;
    }
    for (int k = 0; k < p->n; k++)
        dims[k] = dim_int(op->cx, k == i ? count : 1);
    return reshape_to(op, ox_ints(op->g, wide, (size_t)count), dims, p->n);
}

/* The divisor of each window's sum. */
static Ox window_sizes(Op *op, const Pool *p, bool with_padding)
{
    Ox all = window_sizes_along(op, p, 0, with_padding);
    for (int i = 1; i < p->n && ox_ok(all); i++) {
        Ox along = window_sizes_along(op, p, i, with_padding);
        all = ox(op, "Mul", all, along);
    }
    return ox_cast(op->g, all, ox_dtype(p->x));
}

/* Is the average a sum of windows? Doubles of dynamic size stay an AveragePool. */
static bool averaged_by_windows(Op *op, const Pool *p)
{
    bool known = true;
    for (int i = 0; i < p->n; i++)
        known &= dim_known(ox_dim(p->x, 2 + i), NULL);
    return needs_windows(op, p->x) && (known || dtype_is_int(ox_dtype(p->x)));
}

/* Before opset 10 there is no ceil_mode: padding is added to `pads` by as much as the last windows
 * reach beyond the end. False: there is ceil_mode, or it is not wanted, or the sizes are not
 * known. */
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

/* An index in its own flattened image, as PyTorch has it; ONNX counts through batch and channels.
 */
static Ox place_in_image(Op *op, const Pool *p, Ox indices)
{
    Dim size = dim_product(op->cx, p->x->type->dim + 2, p->n);
    Ox by = ox_dim_value(op->g, size);
    return ox(op, "Mod", indices, by);
}

/* -> out[0], the largest of each window; out[1], its index, if n_out is 2. False after an error. */
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

/* The sum in each window as its mean times its size. The input is padded until no window is cut, so
 * that each mean is of a whole one. */
static Ox window_sums(Op *op, const Pool *p)
{
    int64_t pads[2 * (MAX_RANK + 2)] = { 0 };
    int64_t count;
    int64_t unread = 0;
    double area = 1;
    int rank = p->n + 2;
    for (int i = 0; i < p->n; i++) {
        if (p->ceil && !end_of_axis(op, p, i, &count, &unread))
            return POISON;
        pads[2 + i] = p->pad[i];
        pads[rank + 2 + i] = p->pad[i] - (unread < 0 ? unread : 0);
        area *= (double)p->kernel[i];
    }
    Ox list = ox_ints(op->g, pads, 2 * (size_t)rank);
    Ox zero = number_like(op, 0, p->x);
    Ox padded = ox(op, "Pad", p->x, list, zero);
    Ox mean = ox_with(op, "AveragePool", INPUTS(padded),
                      INT_LIST("kernel_shape", p->kernel, (size_t)p->n),
                      INT_LIST("strides", p->stride, (size_t)p->n));
    Ox factor = number_like(op, area, p->x);
    return ox(op, "Mul", mean, factor);
}

/* The average with count_include_pad and ceil_mode: padding counts, elements that ceil_mode adds
 * behind it do not. The padding is made part of the image by a Pad, since ONNX Runtime before 1.18
 * divides by the whole window otherwise. Axes that need no ceil_mode end with their last window. */
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
    Attr at_end = ceil ? NO_ATTR : INT_LIST("pads", behind, 2 * (size_t)p->n);
    Ox list = ox_ints(op->g, pads, 2 * (size_t)rank);
    Ox zero = number_like(op, 0, p->x);
    Ox padded = ox(op, "Pad", p->x, list, zero);
    return ox_with(op, "AveragePool", INPUTS(padded), INT("ceil_mode", ceil),
                   INT_LIST("kernel_shape", p->kernel, (size_t)p->n), at_end,
                   INT_LIST("strides", p->stride, (size_t)p->n));
}

/* The average as an AveragePool. ceil_mode is asked for only where a window needs it, or where the
 * sizes are not known. */
static Ox average(Op *op, Pool *p)
{
    int64_t pads[2 * MAX_RANK];
    int64_t count, unread;
    bool padded = false;
    bool known = true;
    bool beyond = false;
    for (int i = 0; i < p->n; i++) {
        padded |= p->pad[i] > 0;
        known &= dim_known(ox_dim(p->x, 2 + i), NULL);
    }
    if (known && p->ceil)
        for (int i = 0; i < p->n; i++) {
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

/* divisor_override: each window's sum is divided by that number, whatever the window holds. */
static Ox average_by_divisor(Op *op, const Pool *p)
{
    double by = (double)arg_int(op, "divisor_override");
    if (by == 0)
        return op_fail(op, E_VALUE, "divisor must be not zero");
    Ox sums = averaged_by_windows(op, p) ? sums_by_windows(op, p) : window_sums(op, p);
    Ox divisor = number_like(op, by, p->x);
    return ox(op, "Div", sums, divisor);
}

static Ox averaged(Op *op, Pool *p)
{
    if (has_param(op, "divisor_override") && arg_given(op, "divisor_override"))
        return average_by_divisor(op, p);
    if (!averaged_by_windows(op, p))
        return average(op, p);
    Ox sums = sums_by_windows(op, p);
    Ox sizes = window_sizes(op, p, arg_bool(op, "count_include_pad"));
    return ox(op, "Div", sums, sizes);
}

static Ox lower_avg_pool(Op *op)
{
    Pool p;
    if (!pool_args(op, &p))
        return POISON;
    return without_batch(op, averaged(op, &p), p.alone);
}

/* ---- adaptive ---- */

typedef struct Adaptive {
    Ox x;
    int n;        /* spatial axes */
    bool alone;   /* the input had no batch axis */
    bool all_one; /* every output size is 1 */
    bool equal;   /* every axis is cut into windows of one static size, `kernel` */
    Dim size[MAX_RANK];
    int64_t kernel[MAX_RANK];
} Adaptive;

/* Reads the arguments; row->datum: the number of spatial axes. False after an error. */
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
        if (dim_le(op->cx, dim_int(op->cx, 0), d) == NO)
            return fail(op->cx, E_VALUE,
                        "elements of output_size must be greater than or equal to 0 but received "
                        "%s",
                        dim_text(op->cx, d)->s);
        a->all_one &= dim_is(d, 1);
        a->kernel[i] = 1;
        if (dim_eq(op->cx, d, have) != YES)
            a->equal &= dim_divide(op->cx, have, d, &k) && dim_known(k, &a->kernel[i]);
    }
    return true;
}

/* A tensor whose axes are reduced one after the other. */
typedef struct Parts {
    Ox values;
    Ox at; /* of a maximum: its index over the axes that are reduced already; NULL: not wanted */
} Parts;

/* One window of an axis, `from` from its element `start` on, reduced to one element. `stride`: how
 * much a step along the axis adds to an index; `places`: indices are wanted. */
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

/* ---- of sizes that are not known: nodes compute which elements belong to which window ---- */

typedef struct Windows {
    Ox inside; /* bool [parts, size] */
    Ox count;  /* int64 [parts, 1] */
} Windows;

/* Window i of n over a size s is [i * s / n, ((i + 1) * s + n - 1) / n), in whole numbers. */
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

/* x with the axis put behind all others. */
static Ox axis_last(Op *op, Ox x, int axis)
{
    int perm[MAX_RANK];
    if (!ox_ok(x))
        return x;
    int rank = ox_rank(x);
    for (int i = 0; i < rank; i++)
        perm[i] = i < axis ? i : i + 1;
    perm[rank - 1] = axis;
    return permute_to(op, x, perm, rank);
}

/* x with its last axis put back to this place. */
static Ox last_to_axis(Op *op, Ox x, int axis)
{
    int perm[MAX_RANK];
    if (!ox_ok(x))
        return x;
    int rank = ox_rank(x);
    for (int i = 0; i < rank; i++)
        perm[i] = i < axis ? i : i - 1;
    perm[axis] = rank - 1;
    return permute_to(op, x, perm, rank);
}

/* The mean of each window, as a product with a matrix of shares. */
static Ox means_by_windows(Op *op, Ox x, const Windows *w, int axis)
{
    Ox inside = ox_cast(op->g, w->inside, ox_dtype(x));
    Ox share = ox(op, "Div", inside, ox_cast(op->g, w->count, ox_dtype(x)));
    return product_along(op, x, share, axis);
}

/* Where the largest of each window is, along the last axis: of -infinity throughout the window's
 * first, since those outside of it are as large. */
static Ox place_of_largest(Op *op, Ox seen, Ox most, Ox inside)
{
    Ox at = ox_with(op, "ArgMax", INPUTS(seen), INT("axis", -1), INT("keepdims", 0));
    Ox number = ox_cast(op->g, inside, DT_INT32);
    Ox first = ox_with(op, "ArgMax", INPUTS(number), INT("axis", -1), INT("keepdims", 0));
    Ox none = ox(op, "Equal", most, number_like(op, -INFINITY, most));
    return ox(op, "Where", none, first, at);
}

/* reduce_axis() for sizes that are not known. The largest of a window is that of all elements,
 * where those outside of the window count as -infinity. */
static Parts by_windows(Op *op, const char *name, Parts from, int axis, Dim parts, Dim stride,
                        bool places)
{
    Windows w = windows_of(op, ox_dim(from.values, axis), parts);
    Parts out = { POISON, POISON };
    if (!ox_ok(w.inside))
        return out;
    if (strcmp(name, "ReduceMean") == 0) {
        out.values = means_by_windows(op, from.values, &w, axis);
        return out;
    }
    Ox x = axis_last(op, from.values, axis);
    Ox none = number_like(op, -INFINITY, from.values);
    Ox apart = unsqueeze_axis(op, x, ox_rank(x) - 1);
    Ox seen = ox(op, "Where", w.inside, apart, none);
    Ox last = ints(op, -1);
    Ox most = ox_with(op, "ReduceMax", INPUTS(seen, last), INT("keepdims", 0));
    out.values = last_to_axis(op, most, axis);
    if (!places)
        return out;
    Ox at = place_of_largest(op, seen, most, w.inside);
    Ox by = ox_dim_value(op->g, stride);
    Ox whole = ox(op, "Mul", at, by);
    if (from.at) {
        Ox all = axis_last(op, from.at, axis);
        Ox behind = ox_with(op, "GatherElements", INPUTS(all, at), INT("axis", -1));
        whole = ox(op, "Add", whole, behind);
    }
    out.at = last_to_axis(op, whole, axis);
    return out;
}

/* reduce_axis() for n windows of an axis of this size: slice by slice. */
static Parts by_slices(Op *op, const char *name, Parts from, int axis, int64_t n, int64_t size,
                       Dim stride, bool places)
{
    int64_t most; /* no number below is larger */
    if (n >= INT32_MAX || !add_ok(size, 1, &most) || !mul_ok(n, most, &most)) {
        fail(op->cx, E_LIMIT, "output_size is too large: %lld", (long long)n);
        return (Parts){ POISON, POISON };
    }
    Ox *values = new_array(op->cx, Ox, n + 1);
    Ox *at = new_array(op->cx, Ox, n + 1);
    if (!values || !at)
        return (Parts){ POISON, POISON };
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

/* One axis reduced to `parts` windows; name: ReduceMean or ReduceMax. `stride` and `places` are as
 * in window(). */
static Parts reduce_axis(Op *op, const char *name, Parts from, int axis, Dim parts, Dim stride,
                         bool places)
{
    int64_t n, size;
    if (!ox_ok(from.values))
        return (Parts){ POISON, POISON };
    if (dim_is(parts, 1))
        return window(op, name, from, axis, 0, stride, places);
    if (dim_is(parts, 0)) {
        Parts none = { .values = slice_axis(op, from.values, axis, parts, parts, 1) };
        if (places && ox_ok(none.values))
            none.at = ox_cast(op->g, none.values, DT_INT64);
        return none;
    }
    if (!places && dim_eq(op->cx, parts, ox_dim(from.values, axis)) == YES)
        return from;
    if (!dim_known(parts, &n) || !dim_known(ox_dim(from.values, axis), &size))
        return by_windows(op, name, from, axis, parts, stride, places);
    return by_slices(op, name, from, axis, n, size, stride, places);
}

/* All axes from the last one on, so that the first of equal elements in reading order wins, as in
 * PyTorch. */
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

/* The three arguments name ONNX's operators for one window, for equal windows, and for an axis. */
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
    Ox y = adaptive_pool(op, &a, "GlobalAveragePool", "AveragePool", "ReduceMean");
    return without_batch(op, y, a.alone);
}

/* -> values and indices. The indices are nodes of their own, dropped where they are not read. */
static Value lower_adaptive_max_pool(Op *op)
{
    Adaptive a;
    Ox out[2];
    if (!adaptive_args(op, &a))
        return val_poison();
    Ox y = adaptive_pool(op, &a, "GlobalMaxPool", "MaxPool", "ReduceMax");
    out[0] = without_batch(op, y, a.alone);
    out[1] = without_batch(op, reduce_axes(op, &a, "ReduceMax", true).at, a.alone);
    return result_tuple(op, out, 2);
}

/* ---- the gradient: that of each result goes to the element it came from ---- */

/* row->datum: the number of spatial axes */
static Ox lower_max_pool_backward(Op *op)
{
    Ox x = arg(op, "self");
    Ox grad = arg(op, "grad_output");
    Ox indices = arg(op, "indices");
    int n = (int)op->row->datum;
    int rank;
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

/* ---- unpooling: each value goes to its place in an image of zeros ---- */

/* indices are those of max_pool: places in the flattened image. row->datum: the number of spatial
 * axes */
static Ox lower_max_unpool(Op *op)
{
    Ox x;
    Ox indices = arg(op, "indices");
    bool alone;
    int n = (int)op->row->datum;
    Dims size = arg_dims(op, "output_size");
    if (ctx_failed(op->cx) || !pool_input(op, n, &x, &alone))
        return POISON;
    if (size.n != (size_t)n)
        return op_fail(op, E_VALUE,
                       "There should be exactly %d elements in output_size, but got %zu elements.",
                       n, size.n);
    if (ox_dtype(indices) != DT_INT64)
        return op_fail(op, E_VALUE, "elements in indices should be type int64 but got: %s",
                       torch_dtype_name(ox_dtype(indices)));
    Type self = tensor_type(arg_tensor(op, "self"));
    if (!may_have_sizes(op, indices, self->dim, self->rank))
        return op_fail(op, E_VALUE,
                       "Expected shape of indices to be same as that of the input tensor (%s) but "
                       "got indices tensor with shape: %s",
                       dims_text(op->cx, self->dim, self->rank)->s, shape_text(op, indices)->s);
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

OP_ROWS(pool)
{
    MAX_POOL(1,
             "aten::max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] "
             "padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> Tensor");
    MAX_POOL(2,
             "aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] "
             "padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor");
    MAX_POOL(3,
             "aten::max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] "
             "padding=0, int[3] dilation=1, bool ceil_mode=False) -> Tensor");
    MAX_POOL_AT(
        1,
        "aten::max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], "
        "int[1] padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> (Tensor, Tensor)");
    MAX_POOL_AT(2,
                "aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], "
                "int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)");
    MAX_POOL_AT(3,
                "aten::max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], "
                "int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)");
    AVG_POOL(1,
             "aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] "
             "padding=[0], bool ceil_mode=False, bool count_include_pad=True) -> Tensor");
    AVG_POOL(
        2,
        "aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "
        "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor");
    AVG_POOL(
        3,
        "aten::avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, "
        "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor");
    ADAPTIVE_AVG(1, "aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor");
    ADAPTIVE_AVG(2, "aten::adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor");
    ADAPTIVE_AVG(3, "aten::adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor");
    ADAPTIVE_AVG(2, "aten::_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor");
    ADAPTIVE_AVG(3, "aten::_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor");
    ADAPTIVE_MAX(1,
                 "aten::adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)");
    ADAPTIVE_MAX(2,
                 "aten::adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)");
    ADAPTIVE_MAX(3,
                 "aten::adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)");
    BACKWARD(2);
    BACKWARD(3);
    FAMILY(lower_max_unpool, 2, NULL, PLAIN,
           "aten::max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor");
    FAMILY(lower_max_unpool, 3, NULL, PLAIN,
           "aten::max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, "
           "int[3] padding) -> Tensor");
}
