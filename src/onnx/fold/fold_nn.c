/* fold_nn.c - the value of LayerNormalization, ConvTranspose and Resize: what queries, windows and
 * positions that are weights go through.
 *
 * Sums are kept in double, rounded once. Where Resize takes its samples is computed in float32, as
 * ONNX Runtime does: a place that lies between two samples is then the same one. Forms that no
 * lowering emits (crops, output_shape, axes) are left to the runtime. */
#include "onnx/fold/fold.h"

#include <math.h>

/* ---- LayerNormalization ---- */

/* Each row's mean and variance in double; its second and third outputs are the mean and 1 / the
 * standard deviation. */
static bool fold_layer_norm(Fold *f)
{
    const Data *x = &f->in[0];
    bool shift = f->node->n_in > 2 && f->in[2].at;
    int64_t axis = node_int(f->node, "axis", -1);
    axis += axis < 0 ? x->rank : 0;
    if (axis < 0 || axis >= x->rank)
        return false;
    int64_t inner = 1;
    for (int64_t i = axis; i < x->rank; i++)
        inner *= x->dims[i];
    if (inner < 1 || f->in[1].numel != inner || (shift && f->in[2].numel != inner))
        return false;
    double *at = fold_reals(f, 0);
    double *scale = fold_reals(f, 1);
    double *bias = shift ? fold_reals(f, 2) : NULL;
    double epsilon = (float)node_float(f->node, "epsilon", 1e-5);
    if (!at || !scale || (shift && !bias))
        return false;
    for (int64_t r = 0; r < x->numel / inner; r++, at += inner) {
        double mean = 0;
        double var = 0;
        for (int64_t i = 0; i < inner; i++)
            mean += at[i] / (double)inner;
        for (int64_t i = 0; i < inner; i++)
            var += (at[i] - mean) * (at[i] - mean) / (double)inner;
        double by = 1 / sqrt(var + epsilon);
        for (int64_t i = 0; i < inner; i++)
            at[i] = (at[i] - mean) * by * scale[i] + (shift ? bias[i] : 0);
        store_reals(f->out[0].dtype, item_ptr(&f->out[0], r * inner), inner, at);
        if (f->node->n_out > 1)
            store_reals(f->out[1].dtype, item_ptr(&f->out[1], r), 1, &mean);
        if (f->node->n_out > 2)
            store_reals(f->out[2].dtype, item_ptr(&f->out[2], r), 1, &by);
    }
    return true;
}

/* ---- ConvTranspose ---- */

enum { MOST_PRODUCTS = 1 << 28 };

typedef struct Window {
    int spatial;
    int64_t step[MAX_RANK], dilation[MAX_RANK], before[MAX_RANK];
} Window;

static void read_each(const Node *n, const char *attr, int count, int64_t otherwise, int64_t *out)
{
    const int64_t *given;
    size_t have;
    bool has = node_ints(n, attr, &given, &have);
    for (int i = 0; i < count; i++)
        out[i] = has && (size_t)i < have ? given[i] : otherwise;
}

/* Where element `from` of an input plane lands with element `tap` of the kernel; -1: outside. */
static int64_t lands_at(const Window *w, const Data *x, const Data *kernel, const Data *y,
                        int64_t from, int64_t tap)
{
    int64_t at = 0;
    int64_t stride = 1;
    for (int i = w->spatial - 1; i >= 0; i--) {
        int64_t in = x->dims[2 + i];
        int64_t k = kernel->dims[2 + i];
        int64_t out = y->dims[2 + i];
        int64_t place = from % in * w->step[i] + tap % k * w->dilation[i] - w->before[i];
        if (place < 0 || place >= out)
            return -1;
        at += place * stride;
        stride *= out;
        from /= in;
        tap /= k;
    }
    return at;
}

static int64_t plane(const Data *d)
{
    int64_t n = 1;
    for (int i = 2; i < d->rank; i++)
        n *= d->dims[i];
    return n;
}

/* All of x's planes of one sample and group, spread by the kernel into out's. */
static void spread(const Fold *f, const Window *w, int64_t sample, int64_t group, int64_t groups,
                   const double *x, const double *kernel, double *out)
{
    const Data *dx = &f->in[0];
    const Data *dk = &f->in[1];
    int64_t in_planes = dx->dims[1] / groups;
    int64_t out_planes = dk->dims[1];
    int64_t nx = plane(dx);
    int64_t nk = plane(dk);
    int64_t ny = plane(f->out);
    x += (sample * groups + group) * in_planes * nx;
    kernel += group * in_planes * out_planes * nk;
    out += (sample * groups + group) * out_planes * ny;
    for (int64_t p = 0; p < nx && !ctx_failed(f->cx); p++) {
        count_numbers(f->cx, (uint64_t)(nk * in_planes * out_planes));
        for (int64_t k = 0; k < nk; k++) {
            int64_t at = lands_at(w, dx, dk, f->out, p, k);
            for (int64_t c = 0; at >= 0 && c < in_planes; c++)
                for (int64_t m = 0; m < out_planes; m++)
                    out[m * ny + at] += x[c * nx + p] * kernel[(c * out_planes + m) * nk + k];
        }
    }
}

/* Every element of x spreads over the window of results that it belongs to; padding is cut off.
 * False for automatic padding, and for more products than are worth it while converting. */
static bool fold_conv_transpose(Fold *f)
{
    const Node *n = f->node;
    const Data *x = &f->in[0];
    const Data *w = &f->in[1];
    const Data *y = f->out;
    Window v = { .spatial = x->rank - 2 };
    int64_t groups = node_int(n, "group", 1);
    bool automatic = strcmp(node_str(n, "auto_pad", "NOTSET"), "NOTSET") != 0 ||
        node_has(n, "output_shape");
    bool bias = n->n_in > 2 && f->in[2].at;
    if (automatic || v.spatial < 1 || groups < 1 || !w->numel || !x->numel ||
        (double)x->numel * (double)(w->numel / w->dims[0]) > MOST_PRODUCTS)
        return false;
    read_each(n, "strides", v.spatial, 1, v.step);
    read_each(n, "dilations", v.spatial, 1, v.dilation);
    read_each(n, "pads", v.spatial, 0, v.before);
    double *a = fold_reals(f, 0);
    double *k = fold_reals(f, 1);
    double *b = bias ? fold_reals(f, 2) : NULL;
    double *out = new_array(f->cx, double, y->numel + 1);
    if (!a || !k || !out || (bias && !b))
        return false;
    int64_t size = plane(y);
    for (int64_t i = 0; i < y->numel; i++)
        out[i] = bias ? b[i / size % y->dims[1]] : 0;
    for (int64_t s = 0; s < x->dims[0]; s++)
        for (int64_t g = 0; g < groups; g++)
            spread(f, &v, s, g, groups, a, k, out);
    store_reals(y->dtype, y->at, y->numel, out);
    return true;
}

/* ---- Resize: axis by axis, each result a sum of a few samples ---- */

typedef enum { PLACE_ASYMMETRIC, PLACE_HALF_PIXEL, PLACE_TORCH, PLACE_CORNERS } Spot;
typedef enum { ROUND_FLOOR, ROUND_CEIL, ROUND_PREFER_FLOOR, ROUND_PREFER_CEIL } Rounding;
typedef enum { MODE_NEAREST, MODE_LINEAR, MODE_CUBIC } Mode;
typedef struct Sampler {
    Mode mode;
    Spot place;
    Rounding rounding;
    bool antialias, inside;
    double a;
} Sampler; /* inside: what lies outside counts for nothing */
typedef struct Taps {
    int64_t first, n;
    double *weight;
} Taps; /* of samples from `first` on, which may lie outside */

static bool one_of(const Node *n, const char *attr, const char *deflt, const char *const *names,
                   int count, int *out)
{
    const char *given = node_str(n, attr, deflt);
    for (*out = 0; *out < count; (*out)++)
        if (strcmp(given, names[*out]) == 0)
            return true;
    return false;
}

/* How Resize's attributes want it sampled; false for those that are not folded. */
static bool read_sampler(const Node *n, Sampler *s)
{
    static const char *const places[] = { "asymmetric", "half_pixel", "pytorch_half_pixel",
                                          "align_corners" };
    static const char *const modes[] = { "nearest", "linear", "cubic" };
    static const char *const roundings[] = { "floor", "ceil", "round_prefer_floor",
                                             "round_prefer_ceil" };
    int place, mode, rounding;
    if (!one_of(n, "coordinate_transformation_mode", "half_pixel", places, COUNT(places), &place) ||
        !one_of(n, "mode", "nearest", modes, COUNT(modes), &mode) ||
        !one_of(n, "nearest_mode", "round_prefer_floor", roundings, COUNT(roundings), &rounding))
        return false;
    *s = (Sampler){ .mode = (Mode)mode,
                    .place = (Spot)place,
                    .rounding = (Rounding)rounding,
                    .antialias = node_int(n, "antialias", 0) != 0,
                    .inside = node_int(n, "exclude_outside", 0) != 0,
                    .a = (float)node_float(n, "cubic_coeff_a", -0.75) };
    bool known = !s->antialias || s->mode == MODE_NEAREST ||
        (s->inside && s->place == PLACE_HALF_PIXEL);
    return known && !node_has(n, "axes") &&
        strcmp(node_str(n, "keep_aspect_ratio_policy", "stretch"), "stretch") == 0;
}

static float place_of(const Sampler *s, int64_t i, float scale, int64_t in, int64_t out)
{
    float at = (float)i;
    if (s->place == PLACE_CORNERS)
        return out == 1 ? 0 : at * (float)(in - 1) / (float)(out - 1);
    if (s->place == PLACE_TORCH && out == 1)
        return 0;
    return s->place == PLACE_ASYMMETRIC ? at / scale : (at + 0.5f) / scale - 0.5f;
}

static double nearest(Rounding r, float at)
{
    switch (r) {
    case ROUND_FLOOR:        return floorf(at);
    case ROUND_CEIL:         return ceilf(at);
    case ROUND_PREFER_FLOOR: return ceilf(at - 0.5f);
    default:                 return floorf(at + 0.5f);
    }
}

/* The weight of a sample that lies so far away. */
static double kernel_at(const Sampler *s, double x)
{
    x = fabs(x);
    if (s->mode == MODE_LINEAR)
        return x < 1 ? 1 - x : 0;
    if (x <= 1)
        return ((s->a + 2) * x - (s->a + 3)) * x * x + 1;
    return x < 2 ? ((s->a * x - 5 * s->a) * x + 8 * s->a) * x - 4 * s->a : 0;
}

static int64_t clamped(int64_t i, int64_t n)
{
    if (i < 0)
        return 0;
    return i >= n ? n - 1 : i;
}

static void share_out(Taps *t)
{
    double sum = 0;
    for (int64_t k = 0; k < t->n; k++)
        sum += t->weight[k];
    if (sum == 0)
        return;
    for (int64_t k = 0; k < t->n; k++)
        t->weight[k] /= sum;
}

/* Fewer results than samples: the kernel is as wide as what a result stands for. */
static void wide_taps(const Sampler *s, int64_t i, float scale, int64_t in, Taps *t)
{
    double wide = scale < 1 ? 1 / (double)scale : 1;
    double reach = (s->mode == MODE_LINEAR ? 1 : 2) * wide;
    double centre = ((double)i + 0.5) / (double)scale;
    int64_t last = whole_part(floor(centre + reach + 0.5));
    t->first = whole_part(floor(centre - reach + 0.5));
    t->first = t->first < 0 ? 0 : t->first;
    t->n = (last > in ? in : last) - t->first;
    for (int64_t k = 0; k < t->n; k++)
        t->weight[k] = kernel_at(s, ((double)(t->first + k) - centre + 0.5) / wide);
    share_out(t);
}

/* Which elements of the axis result i is made of, and with what weights: one for "nearest", two for
 * "linear", four for "cubic". They may lie outside of [0, in). */
static void taps_of(const Sampler *s, int64_t i, float scale, int64_t in, int64_t out, Taps *t)
{
    float at = place_of(s, i, scale, in, out);
    if (s->mode == MODE_NEAREST) {
        t->first = (int64_t)nearest(s->rounding, at);
        t->n = 1;
        t->weight[0] = 1;
        return;
    }
    if (s->antialias) {
        wide_taps(s, i, scale, in, t);
        return;
    }
    int64_t around = s->mode == MODE_LINEAR ? 1 : 2;
    t->first = (int64_t)floorf(at) - around + 1;
    t->n = 2 * around;
    for (int64_t k = 0; k < t->n; k++) {
        bool outside = t->first + k < 0 || t->first + k >= in;
        t->weight[k] = s->inside && outside && s->mode == MODE_CUBIC
            ? 0
            : kernel_at(s, (double)at - (double)(t->first + k));
    }
    if (s->inside && s->mode == MODE_CUBIC)
        share_out(t);
}

/* from [outer, in, inner] to [outer, out, inner] */
static bool resize_axis(Ctx *cx, const Sampler *s, float scale, const double *from, double *to,
                        int64_t outer, int64_t in, int64_t out, int64_t inner)
{
    Taps t = { .weight = new_array(cx, double, in + 4) };
    if (!t.weight)
        return false;
    for (int64_t i = 0; i < out && !ctx_failed(cx); i++) {
        taps_of(s, i, scale, in, out, &t);
        count_numbers(cx, (uint64_t)(outer * inner * t.n));
        for (int64_t o = 0; o < outer; o++)
            for (int64_t k = 0; k < inner; k++) {
                double sum = 0;
                for (int64_t j = 0; j < t.n; j++)
                    sum += t.weight[j] * from[(o * in + clamped(t.first + j, in)) * inner + k];
                to[(o * out + i) * inner + k] = sum;
            }
    }
    return true;
}

/* The scale of each axis: as given, or from the sizes. False: the scales are given in a form
 * that is not folded, or for aligned corners, which have none. */
static bool read_scales(const Fold *f, Spot place, float *scale)
{
    const Data *x = &f->in[0];
    const Data *given = f->node->n_in > 2 && f->in[2].numel ? &f->in[2] : NULL;
    bool takes = !given ||
        (given->dtype == DT_FLOAT && given->numel == x->rank && place != PLACE_CORNERS);
    if (!takes)
        return false;
    for (int i = 0; i < x->rank; i++)
        scale[i] = given ? ((const float *)given->at)[i]
                         : (float)f->out->dims[i] / (float)x->dims[i];
    return true;
}

/* One axis after the other, those that stay as they are left out. */
static bool fold_resize(Fold *f)
{
    const Data *x = &f->in[0];
    const Data *y = f->out;
    Sampler s;
    float scale[MAX_RANK];
    if (!x->numel || !y->numel || !read_sampler(f->node, &s) || !read_scales(f, s.place, scale))
        return false;
    double *at = fold_reals(f, 0);
    if (!at)
        return false;
    int64_t outer = 1;
    int64_t inner = x->numel;
    for (int i = 0; i < x->rank; i++) {
        int64_t in = x->dims[i];
        int64_t out = y->dims[i];
        inner /= in;
        if (in != out || scale[i] != 1) {
            double *to = new_array(f->cx, double, outer * out * inner);
            if (!to || !resize_axis(f->cx, &s, scale[i], at, to, outer, in, out, inner))
                return false;
            at = to;
        }
        outer *= out;
    }
    store_reals(y->dtype, y->at, y->numel, at);
    return true;
}

const FoldRow fold_nn[] = { { "ConvTranspose", fold_conv_transpose },
                            { "LayerNormalization", fold_layer_norm },
                            { "Resize", fold_resize },
                            { 0 } };
