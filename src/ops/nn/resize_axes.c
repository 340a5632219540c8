/* resize_axes.c - resizing where ONNX's Resize cannot: each axis is a product with a matrix of
 * weights, or a Gather.
 *
 * The cases are: nearest pixels where ONNX Runtime rounds to another than PyTorch; Lanczos's
 * filter; antialiasing with align_corners or before opset 18; nearest and linear pixels at sizes
 * that Upsample before opset 11 has not; float64 (a scale is float32 in ONNX, and ONNX Runtime has
 * no kernel); and uint8, which PyTorch resizes in whole numbers: weights of 16 bits, and each axis
 * rounded to uint8 again. Sizes must be known. */
#include "ops/nn/resize.h"

#include <math.h>

typedef struct Axis {
    int64_t in, out; /* pixels before and after */
    double step;     /* how far apart samples are taken */
    int reach;       /* pixels that the filter sees to each side: 1 linear, 2 cubic, 3 Lanczos's */
    bool antialias, corners;
} Axis;

/* ---- weights ---- */

static double sinc(double x)
{
    double angle = x * 3.14159265358979323846;
    return x == 0 ? 1 : sin(angle) / angle;
}

/* The cubic filter of parameter p at distance x >= 0. */
static double cubic(double p, double x)
{
    if (x < 1)
        return ((p + 2) * x - (p + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * p : 0;
}

/* The weight of a pixel at distance x from the sample. */
static double filter(const Axis *a, double x)
{
    x = fabs(x);
    switch (a->reach) {
    case 1:  return x < 1 ? 1 - x : 0;
    case 2:  return cubic(a->antialias ? -0.5 : -0.75, x);
    default: return x < 3 ? sinc(x) * sinc(x / 3) : 0;
    }
}

/* k, or the nearest of 0 .. n - 1. */
static int64_t within(int64_t k, int64_t n)
{
    if (k < 0)
        return 0;
    return k < n ? k : n - 1;
}

/* Row i of the weights: those of the pixels around the sample. Pixels beyond the border count as
 * that at the border. */
static void plain_row(const Axis *a, double *row, int64_t i)
{
    int64_t taps = 2 * a->reach;
    double half = a->corners ? 0 : 0.5;
    double center = a->step * ((double)i + half) - half;
    int64_t first = (int64_t)floor(center) - (taps / 2 - 1);
    for (int64_t k = first; k < first + taps; k++)
        row[within(k, a->in)] += filter(a, (double)k - center);
}

/* Row i of the weights with antialiasing: the filter is made wider where the image shrinks, and the
 * weights of the pixels it reaches inside the image are made to sum to 1. With align_corners
 * PyTorch takes the step of the corners, but not their places. */
static void antialiased_row(const Axis *a, double *row, int64_t i)
{
    double wide = a->step >= 1 ? a->step : 1;
    double support = a->reach * wide;
    double center = a->step * ((double)i + 0.5);
    double sum = 0;
    int64_t first = (int64_t)(center - support + 0.5);
    int64_t end = (int64_t)(center + support + 0.5);
    for (int64_t k = first > 0 ? first : 0; k < end && k < a->in; k++) {
        row[k] = filter(a, ((double)k - center + 0.5) / wide);
        sum += row[k];
    }
    if (sum == 0)
        return;
    for (int64_t k = 0; k < a->in; k++)
        row[k] /= sum;
}

/* Places of samples from here on are no pixels. */
#define MOST_PLACES 0x1p52

/* The weights [out, in]; NULL after an error. */
static double *weights_of(Op *op, const Axis *a)
{
    if (a->in <= 0 || a->out <= 0 || a->in >= INT64_MAX / 8 / a->out) {
        fail(op->cx, E_VALUE, "resizing %lld to %lld elements", (long long)a->in,
             (long long)a->out);
        return NULL;
    }
    if (!(fabs(a->step) * (double)a->out < MOST_PLACES)) {
        fail(op->cx, E_VALUE, "resizing by a scale of %g", 1 / a->step);
        return NULL;
    }
    double *at = new_array(op->cx, double, a->in * a->out);
    if (!at)
        return NULL;
    for (int64_t i = 0; i < a->out; i++)
        (a->antialias ? antialiased_row : plain_row)(a, at + i * a->in, i);
    return at;
}

static Ox matrix(Op *op, const Axis *a, DType t)
{
    const int64_t dims[] = { a->out, a->in };
    double *w = weights_of(op, a);
    if (!w)
        return POISON;
    return ox_cast(op->g, ox_const(op->g, const_make(op->cx, DT_DOUBLE, 2, dims, w)), t);
}

/* ---- uint8: weights are whole multiples of 2^-bits ---- */

/* The most bits with which the largest of n weights fits into 16; 22 at most, as in PyTorch. */
static int bits_of(const double *w, int64_t n)
{
    double most = 0;
    int bits = 0;
    for (int64_t i = 0; i < n; i++)
        most = w[i] > most ? w[i] : most;
    while (bits < 22 && (int)(0.5 + most * (1 << (bits + 1))) < 1 << 15)
        bits++;
    return bits;
}

static Ox whole_matrix(Op *op, const Axis *a, int *bits)
{
    const int64_t dims[] = { a->out, a->in };
    *bits = 0;
    double *w = weights_of(op, a);
    if (!w)
        return POISON;
    int64_t n = a->in * a->out;
    int32_t *at = new_array(op->cx, int32_t, n);
    if (!at)
        return POISON;
    *bits = bits_of(w, n);
    for (int64_t i = 0; i < n; i++)
        at[i] = (int32_t)(w[i] * (1 << *bits) + (w[i] < 0 ? -0.5 : 0.5));
    return ox_const(op->g, const_make(op->cx, DT_INT32, 2, dims, at));
}

/* The product along spatial axis i, rounded half up and cut to uint8's range. */
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

/* The pixel that PyTorch takes for result k. Of a tensor of doubles it computes the place in double
 * and takes its floor in float32; of any other type all is float32. */
static int64_t nearest_to(const Axis *a, DType t, int64_t k, bool exact)
{
    if (t == DT_DOUBLE)
        return whole_part(floorf((float)(((double)k + (exact ? 0.5 : 0)) * a->step)));
    float at = exact ? (float)k + 0.5f : (float)k;
    float place = at * (float)a->step;
    return whole_part(floorf(place));
}

/* The pixel that ONNX Runtime's Resize takes: it divides by the scale where PyTorch multiplies by
 * its reciprocal, and 9 / 0.6 is just below 15. */
static int64_t runtime_nearest_to(float scale, int64_t k, bool exact)
{
    float place = exact ? ((float)k + 0.5f) / scale - 0.5f : (float)k / scale;
    return whole_part(exact ? roundf(place) : floorf(place));
}

enum { PIXELS_TRIED = 1 << 16 }; /* of a size that is not known */

/* Would Resize take another pixel than PyTorch for some result along spatial axis i? Of a dynamic
 * size it may, if the result's is static, or no float32 gives PyTorch's sizes. */
static bool resize_misses(Op *op, Ox x, const Target *t, ResizeMode mode, int i)
{
    float scale;
    bool exact = mode == NEAREST_EXACT;
    int64_t in = INT64_MAX;
    int64_t out = PIXELS_TRIED;
    if (!is_nearest(mode) || ox_dtype(x) == DT_DOUBLE)
        return false;
    bool known = dim_known(ox_dim(x, 2 + i), &in);
    if (!resize_scale(op, x, t, i, &scale))
        return t->scaled || (!known && dim_known(t->size.at[i], NULL));
    if (!known)
        in = INT64_MAX;
    else if (!t->size.n || !dim_known(t->size.at[i], &out))
        out = whole_part(floor((double)in * t->scale[i]));
    Axis a = { .step = t->scaled ? 1 / t->scale[i] : (double)in / (double)out };
    for (int64_t k = 0; k < out; k++) {
        int64_t theirs = nearest_to(&a, DT_FLOAT, k, exact);
        int64_t ours = runtime_nearest_to(scale, k, exact);
        if ((theirs < in ? theirs : in - 1) != within(ours, in))
            return true;
    }
    return false;
}

/* The nearest pixels along spatial axis i of a size that only the running model knows, by nodes in
 * PyTorch's float32. */
static Ox nearest_computed(Op *op, Ox x, const Target *t, bool exact, int i)
{
    Dim in = ox_dim(x, 2 + i);
    Dim out;
    if (!resized_size(op, x, t, i, &out))
        return POISON;
    Ox n = ox_cast(op->g, ox_dim_value(op->g, in), DT_FLOAT);
    Ox m = ox_cast(op->g, ox_dim_value(op->g, out), DT_FLOAT);
    Ox step = t->scaled ? ox_number(op->g, DT_FLOAT, 1 / t->scale[i]) : ox(op, "Div", n, m);
    Ox zero = ox_int(op->g, 0);
    Ox end = ox_dim_value(op->g, out);
    Ox one = ox_int(op->g, 1);
    Ox k = ox_cast(op->g, ox(op, "Range", zero, end, one), DT_FLOAT);
    if (exact)
        k = ox(op, "Add", k, ox_number(op->g, DT_FLOAT, 0.5));
    Ox place = ox(op, "Mul", k, step);
    Ox from = ox(op, "Floor", place);
    Ox last = ox_dim_value(op->g, dim_sub(op->cx, in, dim_int(op->cx, 1)));
    Ox pixels = ox(op, "Min", ox_cast(op->g, from, DT_INT64), last);
    return ox_with(op, "Gather", INPUTS(x, pixels), INT("axis", 2 + i));
}

/* The nearest pixels along spatial axis i; x itself where each pixel is its own nearest. */
static Ox nearest_along(Op *op, Ox x, const Axis *a, bool exact, int i)
{
    if (a->in <= 0 || a->out <= 0)
        return op_fail(op, E_VALUE, "resizing %lld to %lld elements", (long long)a->in,
                       (long long)a->out);
    int64_t *at = new_array(op->cx, int64_t, a->out);
    if (!at)
        return POISON;
    bool all = a->in == a->out;
    for (int64_t k = 0; k < a->out; k++) {
        int64_t from = nearest_to(a, ox_dtype(x), k, exact);
        at[k] = from < a->in ? from : a->in - 1;
        all = all && at[k] == k;
    }
    if (all)
        return x;
    Ox places = ox_ints(op->g, at, (size_t)a->out);
    return ox_with(op, "Gather", INPUTS(x, places), INT("axis", 2 + i));
}

/* ---- all axes ---- */

/* How many pixels the filter of this mode sees to each side. */
static int reach_of(ResizeMode mode)
{
    if (mode == LANCZOS_AA)
        return 3;
    return is_cubic(mode) ? 2 : 1;
}

/* How far apart samples are taken along spatial axis i. */
static double step_of(const Axis *a, const Target *t, int i)
{
    if (a->corners)
        return a->out > 1 ? (double)(a->in - 1) / (double)(a->out - 1) : 0;
    return t->scaled ? 1 / t->scale[i] : (double)a->in / (double)a->out;
}

/* Fills in a for spatial axis i. False: the sizes are not known. */
static bool axis_of(Op *op, Ox x, const Target *t, ResizeMode mode, bool corners, int i, Axis *a)
{
    Dim size;
    *a = (Axis){ .reach = reach_of(mode), .antialias = is_antialiased(mode), .corners = corners };
    if (!resized_size(op, x, t, i, &size) || !dim_known(ox_dim(x, 2 + i), &a->in) ||
        !dim_known(size, &a->out))
        return false;
    a->step = step_of(a, t, i);
    return true;
}

/* Can it be Upsample, which is Resize before opset 11? That takes scales of 1 or more, and samples
 * at k / scale only. */
static bool upsample_takes(const Target *target, ResizeMode mode)
{
    bool enlarges = mode == NEAREST && target->scaled;
    for (int i = 0; i < target->spatial && enlarges; i++)
        enlarges = target->scale[i] >= 1;
    return enlarges;
}

/* Can it be Resize? ONNX Runtime multiplies no batch of 0 with a matrix, so a dynamic batch is left
 * to Resize, too, and so are cubic modes, which PyTorch's tutorials promise from opset 11 on. */
static bool resize_takes(Op *op, Ox x, const Target *target, ResizeMode mode, bool corners)
{
    bool nearest = is_nearest(mode);
    bool batch = dim_le(op->cx, dim_int(op->cx, 1), ox_dim(x, 0)) == YES;
    DType t = ox_dtype(x);
    if (op->g->target < 11 && mode != CUBIC && (nearest || batch) && !upsample_takes(target, mode))
        return false;
    return t != DT_DOUBLE && mode != LANCZOS_AA && (nearest || t != DT_UINT8) &&
        (!is_antialiased(mode) || (!corners && op->g->target >= 18));
}

static Ox all_nearest(Op *op, Ox x, const Target *t, ResizeMode mode)
{
    Axis a;
    bool exact = mode == NEAREST_EXACT;
    for (int i = t->spatial - 1; i >= 0 && ox_ok(x); i--) {
        bool known = axis_of(op, x, t, mode, false, i, &a);
        x = known ? nearest_along(op, x, &a, exact, i) : nearest_computed(op, x, t, exact, i);
    }
    return x;
}

/* What needs static sizes, for the message of a refusal. */
static const char *needy(DType t, ResizeMode mode, bool corners)
{
    if (mode == LANCZOS_AA)
        return "Lanczos's filter";
    if (t == DT_UINT8)
        return "resizing uint8";
    return corners ? "antialiasing with align_corners"
                   : "antialiasing in float64 or below ONNX opset 18";
}

static bool any_misses(Op *op, Ox x, const Target *t, ResizeMode mode)
{
    for (int i = 0; i < t->spatial; i++)
        if (resize_misses(op, x, t, mode, i))
            return true;
    return false;
}

/* x resized along spatial axis i. */
static Ox resized_along(Op *op, Ox x, ResizeMode mode, const Axis *a, int i)
{
    if (a->antialias && a->in == a->out)
        return x;
    if (is_nearest(mode))
        return nearest_along(op, x, a, mode == NEAREST_EXACT, i);
    if (ox_dtype(x) == DT_UINT8)
        return whole_product(op, x, a, i);
    return product_along(op, x, matrix(op, a, ox_dtype(x)), 2 + i);
}

enum { PIXELS_MOST = 1 << 28 }; /* along an axis; resize_misses looks at each of them */

/* False after an error: a known size is larger. */
static bool sizes_in_range(Op *op, Ox x, const Target *t)
{
    for (int i = 0; i < t->spatial; i++) {
        int64_t n;
        bool sized = t->size.n > 0;
        if (!dim_known(sized ? t->size.at[i] : ox_dim(x, 2 + i), &n))
            continue;
        double out = sized ? (double)n : (double)n * t->scale[i];
        if (out > PIXELS_MOST)
            return fail(op->cx, E_LIMIT, "resizing axis %d to more than %d elements", 2 + i,
                        PIXELS_MOST);
    }
    return true;
}

/* Sizes must be static from where Resize is ruled out, except for nearest pixels. */
Ox resized_by_axes(Op *op, Ox x, const Target *t, ResizeMode mode, bool corners)
{
    DType type = ox_dtype(x);
    Axis axis[3];
    if (is_nearest(mode) && !sizes_in_range(op, x, t))
        return POISON;
    if (is_nearest(mode) && (t->by_axes || any_misses(op, x, t, mode)))
        return all_nearest(op, x, t, mode);
    if (resize_takes(op, x, t, mode, corners) && !t->by_axes)
        return NULL;
    for (int i = 0; i < t->spatial; i++) {
        if (axis_of(op, x, t, mode, corners, i, &axis[i]))
            continue;
        if (ctx_failed(op->cx))
            return POISON;
        if (type != DT_UINT8 && !is_antialiased(mode))
            return NULL; /* Resize takes dynamic sizes */
        return op_refuse(op, "%s needs static sizes: give them with -i",
                         needy(type, mode, corners));
    }
    /* the last axis first, as in PyTorch: uint8 is rounded after each */
    for (int i = t->spatial - 1; i >= 0 && ox_ok(x); i--)
        x = resized_along(op, x, mode, &axis[i], i);
    return x;
}
