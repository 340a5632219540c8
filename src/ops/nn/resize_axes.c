/* resize_axes.c - resizing where ONNX's Resize cannot: each axis is a product with a matrix of
 * weights, or a Gather.
 *
 * That is nearest pixels where ONNX Runtime rounds to another than PyTorch, Lanczos's filter,
 * antialiasing with align_corners or before opset 18, nearest and linear pixels at sizes that
 * Upsample cannot say before opset 11, float64 (a scale is float32 in ONNX, and ONNX Runtime has no
 * kernel), and uint8, which PyTorch resizes in whole numbers: weights of 16 bits, and each axis
 * rounded to uint8 again. Sizes must be known. */
#include "ops/nn/resize.h"

#include <math.h>

/* One axis: in pixels become out; step is how far apart samples are taken, reach how many pixels
 * the filter sees to each side: 1 linear, 2 cubic, 3 Lanczos's. */
typedef struct Axis {
    int64_t in, out;
    double step;
    int reach;
    bool antialias, corners;
} Axis;

/* ---- weights ---- */

static double sinc(double x)
{
    double angle = x * 3.14159265358979323846;
    return x == 0 ? 1 : sin(angle) / angle;
}

/* PyTorch's cubic takes -0.75 for its one parameter, with antialiasing -0.5. */
static double filter(const Axis *a, double x)
{
    double p = a->antialias ? -0.5 : -0.75;
    x = fabs(x);
    if (a->reach == 3)
        return x < 3 ? sinc(x) * sinc(x / 3) : 0;
    if (a->reach == 1)
        return x < 1 ? 1 - x : 0;
    return x < 1 ? ((p + 2) * x - (p + 3)) * x * x + 1
        : x < 2  ? (((x - 5) * x + 8) * x - 4) * p
                 : 0;
}

/* The pixels around the sample; those beyond the border count for the one at the border. */
static void plain_row(const Axis *a, double *row, int64_t i)
{
    int64_t taps = 2 * a->reach;
    double half = a->corners ? 0 : 0.5;
    double center = a->step * ((double)i + half) - half;
    int64_t first = (int64_t)floor(center) - (taps / 2 - 1);
    for (int64_t k = first; k < first + taps; k++)
        row[k < 0 ? 0 : k >= a->in ? a->in - 1 : k] += filter(a, (double)k - center);
}

/* The pixels that the filter, made wider where the image shrinks, reaches; their weights are shared
 * out over those that are there. With align_corners PyTorch takes the step of the corners, but not
 * their places. */
static void antialiased_row(const Axis *a, double *row, int64_t i)
{
    double wide = a->step >= 1 ? a->step : 1;
    double support = a->reach * wide;
    double center = a->step * ((double)i + 0.5);
    double sum = 0;
    int64_t first = (int64_t)(center - support + 0.5);
    int64_t end = (int64_t)(center + support + 0.5);
    for (int64_t k = first > 0 ? first : 0; k < end && k < a->in; k++)
        sum += row[k] = filter(a, ((double)k - center + 0.5) / wide);
    for (int64_t k = 0; k < a->in && sum != 0; k++)
        row[k] /= sum;
}

/* [out, in], NULL after an error */
static double *weights_of(Op *op, const Axis *a)
{
    double *at = a->in > 0 && a->out > 0 && a->in < INT64_MAX / 8 / a->out
        ? new_array(op->cx, double, a->in * a->out)
        : NULL;
    if (!at && !ctx_failed(op->cx))
        fail(op->cx, E_VALUE, "resizing %lld to %lld elements", (long long)a->in,
             (long long)a->out);
    for (int64_t i = 0; at && i < a->out; i++)
        (a->antialias ? antialiased_row : plain_row)(a, at + i * a->in, i);
    return at;
}

static Ox matrix(Op *op, const Axis *a, DType t)
{
    double *w = weights_of(op, a);
    Ox m = w
        ? ox_const(op->g, const_make(op->cx, DT_DOUBLE, 2, (const int64_t[]){ a->out, a->in }, w))
        : POISON;
    return ox_cast(op->g, m, t);
}

/* ---- uint8: weights are whole numbers of 2^-bits, the most bits with which they fit into 16
 * ---- */

static Ox whole_matrix(Op *op, const Axis *a, int *bits)
{
    double *w = weights_of(op, a);
    double most = 0;
    int32_t *at = w ? new_array(op->cx, int32_t, a->in * a->out) : NULL;
    for (int64_t i = 0; at && i < a->in * a->out; i++)
        most = w[i] > most ? w[i] : most;
    for (*bits = 0; *bits < 22 && (int)(0.5 + most * (1 << (*bits + 1))) < 1 << 15; ++*bits)
        ;
    for (int64_t i = 0; at && i < a->in * a->out; i++)
        at[i] = (int32_t)(w[i] * (1 << *bits) + (w[i] < 0 ? -0.5 : 0.5));
    return at
        ? ox_const(op->g, const_make(op->cx, DT_INT32, 2, (const int64_t[]){ a->out, a->in }, at))
        : POISON;
}

/* Rounded half up, and cut to what uint8 holds. */
static Ox whole_product(Op *op, Ox x, const Axis *a, int i)
{
    int bits;
    Ox m = whole_matrix(op, a, &bits);
    Ox sum = product_along(op, ox_cast(op->g, x, DT_INT32), m, 2 + i);
    if (!ox_ok(sum))
        return POISON;
    Ox half = ox_integer(op->g, DT_INT32, bits ? 1 << (bits - 1) : 0);
    Ox unit = ox_integer(op->g, DT_INT32, 1 << bits);
    Ox none = ox_integer(op->g, DT_INT32, 0);
    Ox most = ox_integer(op->g, DT_INT32, 255);
    Ox shifted = ox(op, "Max", ox(op, "Add", sum, half), none);
    Ox rounded = ox(op, "Div", shifted, unit);
    return ox_cast(op->g, ox(op, "Min", rounded, most), DT_UINT8);
}

/* ---- nearest ---- */

/* PyTorch computes the place of a double's sample in double, and takes its floor in float32; of any
 * other type all in float32. */
static int64_t nearest_to(const Axis *a, DType t, int64_t k, bool exact)
{
    if (t == DT_DOUBLE)
        return (int64_t)floorf((float)(((double)k + (exact ? 0.5 : 0)) * a->step));
    float at = exact ? (float)k + 0.5f : (float)k;
    float place = at * (float)a->step;
    return (int64_t)floorf(place);
}

/* What ONNX Runtime's Resize takes: it divides by the scale where PyTorch multiplies by its
 * reciprocal, and 9 / 0.6 is just below 15. */
static int64_t runtime_nearest_to(float scale, int64_t k, bool exact)
{
    float place = exact ? ((float)k + 0.5f) / scale - 0.5f : (float)k / scale;
    return (int64_t)(exact ? roundf(place) : floorf(place));
}

enum { PIXELS_TRIED = 1 << 16 }; /* of a size that is not known */

/* Would Resize take another pixel than PyTorch? Of a fixed size made from an open one it may. */
static bool resize_misses(Op *op, Ox x, const Target *t, ResizeMode mode, int i)
{
    float scale;
    bool exact = mode == NEAREST_EXACT;
    bool open = !dim_known(ox_dim(x, 2 + i), NULL);
    int64_t in = INT64_MAX;
    int64_t out = PIXELS_TRIED;
    if ((mode != NEAREST && !exact) || ox_dtype(x) == DT_DOUBLE)
        return false;
    if (!resize_scale(op, x, t, i, &scale))
        return !t->scaled && open && dim_known(t->size.at[i], NULL);
    if (!open && dim_known(ox_dim(x, 2 + i), &in) && !(t->size.n && dim_known(t->size.at[i], &out)))
        out = (int64_t)floor((double)in * t->scale[i]);
    Axis a = { .step = t->scaled ? 1 / t->scale[i] : (double)in / (double)out };
    for (int64_t k = 0; k < out; k++) {
        int64_t theirs = nearest_to(&a, DT_FLOAT, k, exact);
        int64_t ours = runtime_nearest_to(scale, k, exact);
        if ((theirs < in ? theirs : in - 1) != (ours < 0 ? 0 : ours < in ? ours : in - 1))
            return true;
    }
    return false;
}

/* In PyTorch's float32, where the sizes are only known when the model runs. */
static Ox nearest_computed(Op *op, Ox x, const Target *t, bool exact, int i)
{
    Dim in = ox_dim(x, 2 + i), out;
    if (!resized_size(op, x, t, i, &out))
        return POISON;
    Ox n = ox_cast(op->g, ox_dim_value(op->g, in), DT_FLOAT);
    Ox m = ox_cast(op->g, ox_dim_value(op->g, out), DT_FLOAT);
    Ox step = t->scaled ? ox_number(op->g, DT_FLOAT, 1 / t->scale[i]) : ox(op, "Div", n, m);
    Ox k = ox_cast(op->g,
                   ox(op, "Range", ox_int(op->g, 0), ox_dim_value(op->g, out), ox_int(op->g, 1)),
                   DT_FLOAT);
    Ox from = ox(
        op, "Floor",
        ox(op, "Mul", exact ? ox(op, "Add", k, ox_number(op->g, DT_FLOAT, 0.5)) : k, step));
    Ox last = ox_dim_value(op->g, dim_sub(op->cx, in, dim_int(op->cx, 1)));
    return ox_with(op, "Gather", INPUTS(x, ox(op, "Min", ox_cast(op->g, from, DT_INT64), last)),
                   INT("axis", 2 + i));
}

static Ox nearest_along(Op *op, Ox x, const Axis *a, bool exact, int i)
{
    int64_t *at = a->out > 0 ? new_array(op->cx, int64_t, a->out) : NULL;
    bool all = a->in == a->out;
    for (int64_t k = 0; at && k < a->out; k++) {
        int64_t from = nearest_to(a, ox_dtype(x), k, exact);
        at[k] = from < a->in ? from : a->in - 1;
        all = all && at[k] == k;
    }
    if (at && all)
        return x;
    Ox places = at ? ox_ints(op->g, at, (size_t)a->out) : POISON;
    return ox_with(op, "Gather", INPUTS(x, places), INT("axis", 2 + i));
}

/* ---- all axes ---- */

/* False: the sizes are not known. */
static bool axis_of(Op *op, Ox x, const Target *t, ResizeMode mode, bool corners, int i, Axis *a)
{
    Dim size;
    *a = (Axis){ .reach = mode == LANCZOS_AA ? 3
                     : is_cubic(mode)        ? 2
                                             : 1,
                 .antialias = is_antialiased(mode),
                 .corners = corners };
    if (!resized_size(op, x, t, i, &size) || !dim_known(ox_dim(x, 2 + i), &a->in) ||
        !dim_known(size, &a->out))
        return false;
    a->step = corners ? a->out > 1 ? (double)(a->in - 1) / (double)(a->out - 1) : 0
        : t->scaled   ? 1 / t->scale[i]
                      : (double)a->in / (double)a->out;
    return true;
}

/* Upsample, and Resize before opset 11, know a scale of 1 or more, and no other place of a sample
 * than k / scale. */
static bool upsample_takes(const Target *target, ResizeMode mode)
{
    bool enlarges = mode == NEAREST && target->scaled;
    for (int i = 0; i < target->spatial && enlarges; i++)
        enlarges = target->scale[i] >= 1;
    return enlarges;
}

/* Does Resize say it? ONNX Runtime multiplies no batch of 0 by a matrix, so an dynamic batch is
 * left to it, too; and so is what is cubic, which PyTorch's tutorials promise from opset 11 on. */
static bool resize_takes(Op *op, Ox x, const Target *target, ResizeMode mode, bool corners)
{
    bool nearest = mode == NEAREST || mode == NEAREST_EXACT;
    bool batch = dim_le(op->cx, dim_int(op->cx, 1), ox_dim(x, 0)) == YES;
    DType t = ox_dtype(x);
    if (op->g->target < 11 && mode != CUBIC && (nearest || batch) && !upsample_takes(target, mode))
        return false;
    return t != DT_DOUBLE && mode != LANCZOS_AA && (nearest || t != DT_UINT8) &&
        (!is_antialiased(mode) || (!corners && op->g->target >= 18));
}

/* An axis that keeps its size is left alone by an antialiasing filter, whatever its scale. */
static bool keeps_an_axis(Op *op, Ox x, const Target *t, ResizeMode mode, bool corners)
{
    Axis a;
    for (int i = 0; i < t->spatial && is_antialiased(mode) && t->scaled; i++)
        if (axis_of(op, x, t, mode, corners, i, &a) && a.in == a.out && a.step != 1)
            return true;
    return false;
}

static Ox all_nearest(Op *op, Ox x, const Target *t, ResizeMode mode)
{
    Axis a;
    bool exact = mode == NEAREST_EXACT;
    for (int i = t->spatial - 1; i >= 0 && ox_ok(x); i--)
        x = axis_of(op, x, t, mode, false, i, &a) ? nearest_along(op, x, &a, exact, i)
                                                  : nearest_computed(op, x, t, exact, i);
    return x;
}

Ox resized_by_axes(Op *op, Ox x, const Target *t, ResizeMode mode, bool corners)
{
    DType type = ox_dtype(x);
    Axis axis[3];
    bool misses = false;
    for (int i = 0; i < t->spatial; i++)
        misses = misses || resize_misses(op, x, t, mode, i);
    if (misses)
        return all_nearest(op, x, t, mode);
    if (resize_takes(op, x, t, mode, corners) && !keeps_an_axis(op, x, t, mode, corners))
        return NULL;
    for (int i = 0; i < t->spatial; i++)
        if (!axis_of(op, x, t, mode, corners, i, &axis[i])) {
            if (ctx_failed(op->cx))
                return POISON;
            if (type == DT_UINT8 || is_antialiased(mode))
                return op_refuse(op, "%s needs static sizes: give them with -i",
                                 mode == LANCZOS_AA     ? "Lanczos's filter"
                                     : type == DT_UINT8 ? "resizing uint8"
                                     : corners ? "antialiasing with align_corners"
                                               : "antialiasing in float64 or below ONNX opset 18");
            return NULL;
        }
    for (int i = t->spatial - 1; i >= 0 && ox_ok(x);
         i--) { /* the last one first: uint8 is rounded in between */
        if (axis[i].antialias && axis[i].in == axis[i].out)
            continue;
        if (mode == NEAREST || mode == NEAREST_EXACT)
            x = nearest_along(op, x, &axis[i], mode == NEAREST_EXACT, i);
        else if (type == DT_UINT8)
            x = whole_product(op, x, &axis[i], i);
        else
            x = product_along(op, x, matrix(op, &axis[i], type), 2 + i);
    }
    return x;
}
