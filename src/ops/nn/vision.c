/* vision.c - torchvision::*: suppression of boxes, pooling over regions, deformable convolution.
 *
 * Regions are [K, 5]: the image's number in the batch, then the corners. ONNX's RoiAlign takes the
 * numbers and the corners as two inputs. */
#include "ops/internal.h"

#include <float.h>
#include <math.h>

/* ---- suppression ---- */

/* PyTorch compares a float32 overlap with a double, ONNX with a float32: the largest one that is
 * not above the double decides the same. */
static float threshold_below(double t)
{
    float f = (float)t;
    return (double)f > t ? nextafterf(f, -INFINITY) : f;
}

/* The indices of the boxes that are kept, by falling score as in PyTorch. ONNX has the corners in
 * another order than PyTorch, which does not change the overlap. */
static Ox lower_nms(Op *op)
{
    Ox boxes = arg(op, "dets");
    Ox scores = arg(op, "scores");
    int rank;
    if (!need_rank(op, boxes, 2, &rank) || !need_rank(op, scores, 1, &rank))
        return POISON;
    if (ox_rank(boxes) != 2)
        return op_fail(op, E_VALUE, "boxes should be a 2d tensor, got %dD", ox_rank(boxes));
    if (ox_rank(scores) != 1)
        return op_fail(op, E_VALUE, "scores should be a 1d tensor, got %dD", ox_rank(scores));
    if (ox_dtype(boxes) != DT_FLOAT || ox_dtype(scores) != DT_FLOAT)
        return op_refuse(op,
                         "boxes and scores of another type than float32: ONNX's "
                         "NonMaxSuppression takes only that");
    boxes = unsqueeze_axis(op, boxes, 0);
    scores = unsqueeze_axis(op, scores, 0);
    scores = unsqueeze_axis(op, scores, 0);
    Ox all = ints(op, INT64_MAX);
    Ox overlap = ox_number(op->g, DT_FLOAT, threshold_below(arg_float(op, "iou_threshold")));
    overlap = reshape_to(op, overlap, (const Dim[]){ dim_of(op, 1) }, 1);
    /* [image, class, box] of each */
    Ox chosen = ox(op, "NonMaxSuppression", boxes, scores, all, overlap);
    Ox column = ox_integer(op->g, DT_INT64, 2);
    return ox_with(op, "Gather", INPUTS(chosen, column), INT("axis", 1));
}

/* ---- pooling over regions ---- */

static bool region_ranks(Op *op, Ox x, Ox rois)
{
    int rank;
    if (!need_rank(op, x, 4, &rank) || !need_rank(op, rois, 2, &rank))
        return false;
    if (ox_rank(x) == 4 && ox_rank(rois) == 2)
        return true;
    return fail(op->cx, E_VALUE,
                "the input must be [N, C, H, W] and the regions [K, 5], got rank %d and %d",
                ox_rank(x), ox_rank(rois));
}

/* The two numbers that say how many bins a region has, rows and columns. False after an error. */
static bool pooled_size(Op *op, int64_t pooled[2])
{
    pooled[0] = arg_int(op, "pooled_height");
    pooled[1] = arg_int(op, "pooled_width");
    for (int i = 0; i < 2; i++)
        if (pooled[i] < 0)
            return fail(op->cx, E_VALUE, "Trying to create tensor with negative dimension %lld",
                        (long long)pooled[i]);
    return !ctx_failed(op->cx);
}

/* [K, channels, rows, columns] of pooled regions */
static Ox as_pooled(Op *op, Ox x, Dim regions, int64_t channels, const int64_t pooled[2])
{
    const Dim dims[] = { regions, dim_of(op, channels), dim_of(op, pooled[0]),
                         dim_of(op, pooled[1]) };
    return reshape_to(op, x, dims, 4);
}

/* RoiAlign: the mean of samples in each bin of each region. aligned: pixels are shifted by half. */
static Ox region_align(Op *op, const char *x_name, bool aligned)
{
    Ox x = arg(op, x_name);
    Ox rois = arg(op, "rois");
    int64_t samples = arg_int(op, "sampling_ratio");
    int64_t pooled[2];
    if (!pooled_size(op, pooled) || !region_ranks(op, x, rois) ||
        (aligned && !need_opset(op, 16, "RoiAlign of aligned regions")))
        return POISON;
    Ox corners = slice_axis(op, rois, 1, dim_of(op, 1), dim_of(op, 5), 1);
    Ox column = ox_integer(op->g, DT_INT64, 0);
    Ox number = ox_with(op, "Gather", INPUTS(rois, column), INT("axis", 1));
    Ox image = ox_cast(op->g, number, DT_INT64);
    Str mode = str_of(op->cx, aligned ? "half_pixel" : "output_half_pixel");
    return ox_with(op, "RoiAlign", INPUTS(x, corners, image),
                   STRING("coordinate_transformation_mode", mode), INT("output_height", pooled[0]),
                   INT("output_width", pooled[1]), INT("sampling_ratio", samples > 0 ? samples : 0),
                   FLOAT("spatial_scale", arg_float(op, "spatial_scale")));
}

static Ox lower_roi_align(Op *op) { return region_align(op, "input", arg_bool(op, "aligned")); }

/* -> (the largest of each bin, its index). ONNX does not give the index: it is None, so that using
 * it is an error. */
static Value lower_roi_pool(Op *op)
{
    Ox x = arg(op, "input");
    Ox rois = arg(op, "rois");
    int64_t pooled[2];
    if (!pooled_size(op, pooled) || !region_ranks(op, x, rois))
        return val_poison();
    Ox y = ox_with(op, "MaxRoiPool", INPUTS(x, rois), INT_LIST("pooled_shape", pooled, 2),
                   FLOAT("spatial_scale", arg_float(op, "spatial_scale")));
    if (!ox_ok(y))
        return val_poison();
    return val_tuple(op->cx, (Value[]){ val_tensor(op->cx, y), val_none() }, 2);
}

/* Position-sensitive pooling takes bin i of channel c from channel c * bins + i of x: how many bins
 * and channels that makes. False after an error: they do not divide. */
static bool bins_of(Op *op, Ox x, const int64_t pooled[2], int64_t *bins, int64_t *channels)
{
    int64_t wide;
    if (pooled[0] < 1 || pooled[1] < 1 || !mul_ok(pooled[0], pooled[1], bins) ||
        !dim_known(ox_dim(x, 1), &wide) || wide % *bins)
        return fail(op->cx, E_VALUE,
                    "input channels must be a multiple of pooling height * pooling width");
    *channels = wide / *bins;
    return true;
}

/* The channel that each bin of the result is taken from, int32 [regions, channels, rows,
 * columns]. */
static Ox channel_mapping(Op *op, Dim regions, int64_t channels, const int64_t *pooled)
{
    int64_t dims[4] = { 1, channels, pooled[0], pooled[1] };
    int64_t n = channels * pooled[0] * pooled[1];
    int32_t *at = new_array(op->cx, int32_t, (size_t)n + 1);
    if (!at)
        return POISON;
    for (int64_t i = 0; i < n; i++)
        at[i] = (int32_t)i;
    Ox table = ox_const(op->g, const_make(op->cx, DT_INT32, 4, dims, at));
    const Dim all[] = { regions, dim_of(op, channels), dim_of(op, pooled[0]),
                        dim_of(op, pooled[1]) };
    return expand_dims(op, table, all, 4);
}

/* Bin i of channel c is bin i of RoiAlign's channel c * bins + i: the diagonal of [bins, bins]. */
static Value lower_ps_roi_align(Op *op)
{
    int64_t pooled[2], bins, channels;
    Ox x = arg(op, "input");
    if (!pooled_size(op, pooled))
        return val_poison();
    Ox all = region_align(op, "input", true);
    if (!ox_ok(all) || !bins_of(op, x, pooled, &bins, &channels))
        return val_poison();
    int64_t dims[1] = { bins };
    int64_t *at = new_array(op->cx, int64_t, bins);
    if (!at)
        return val_poison();
    for (int64_t i = 0; i < bins; i++)
        at[i] = i * (bins + 1);
    Dim regions = ox_dim(all, 0);
    const Dim squares[] = { regions, dim_of(op, channels),
                            dim_mul(op->cx, dim_of(op, bins), dim_of(op, bins)) };
    Ox flat = reshape_to(op, all, squares, 3);
    Ox table = ox_const(op->g, const_make(op->cx, DT_INT64, 1, dims, at));
    Ox own = ox_with(op, "Gather", INPUTS(flat, table), INT("axis", 2));
    own = as_pooled(op, own, regions, channels, pooled);
    Ox mapping = channel_mapping(op, regions, channels, pooled);
    return result_tuple(op, (const Ox[]){ own, mapping }, 2);
}

/* x rounded to whole numbers, halves away from 0. */
static Ox rounded_away(Op *op, Ox x)
{
    Ox size = ox(op, "Abs", x);
    Ox whole = ox(op, "Floor", size);
    Ox part = ox(op, "Sub", size, whole);
    Ox up = ox(op, "GreaterOrEqual", part, number_like(op, 0.5, x));
    Ox more = ox_cast(op->g, up, ox_dtype(x));
    return ox(op, "Mul", ox(op, "Sign", x), ox(op, "Add", whole, more));
}

/* Column `column` of the regions in pixels of the image, a whole number: [K, 1]. */
static Ox corner_in_pixels(Op *op, Ox rois, int column, Ox scale)
{
    Ox corner = slice_axis(op, rois, 1, dim_of(op, column), dim_of(op, column + 1), 1);
    return rounded_away(op, ox(op, "Mul", corner, scale));
}

/* Where the bins of each region begin (`end`: where they end) along an image's height (i = 0) or
 * width (1), int64 [K, bins]. As in PyTorch, none reaches the image's last pixel. */
static Ox bin_edges(Op *op, Ox rois, int i, int64_t bins, Dim size, bool end)
{
    Ox scale = number_like(op, arg_float(op, "spatial_scale"), rois);
    Ox last = ox_dim_value(op->g, dim_sub(op->cx, size, dim_of(op, 1)));
    Ox from = corner_in_pixels(op, rois, 2 - i, scale);
    Ox to = corner_in_pixels(op, rois, 4 - i, scale);
    Ox reach = ox(op, "Sub", to, from);
    Ox length = ox(op, "Max", reach, number_like(op, 1, rois));
    Ox bin = ox(op, "Div", length, number_like(op, (double)bins, rois));
    int64_t *at = new_array(op->cx, int64_t, bins + 1);
    if (!at)
        return POISON;
    for (int64_t k = 0; k < bins; k++)
        at[k] = k + end;
    Ox numbers = ox_cast(op->g, ox_ints(op->g, at, (size_t)bins), ox_dtype(rois));
    Ox edge = ox(op, "Mul", bin, numbers);
    edge = ox_make(op->g, end ? "Ceil" : "Floor", INPUTS(edge), NULL, 0);
    Ox sum = ox(op, "Add", edge, from);
    Ox place = ox_cast(op->g, sum, DT_INT64);
    return ox(op, "Min", ox(op, "Max", place, ox_int(op->g, 0)), last);
}

/* The sum of all pixels above and left of each pixel, in double and flattened: that of a bin is the
 * difference of four. (So a not-a-number reaches the bins below and right of it, too:
 * docs/limits.md.) */
static Ox sums_before(Op *op, Ox x)
{
    Ox sum = ox_cast(op->g, x, DT_DOUBLE);
    for (int axis = 2; axis < 4; axis++) {
        Ox at = ox_int(op->g, axis);
        sum = ox_with(op, "CumSum", INPUTS(sum, at), INT("exclusive", 1));
    }
    return flatten_to_1d(op, sum);
}

/* Where bins begin (edge[i][0]) and end (edge[i][1]), rows for i = 0 and columns for 1, of shapes
 * that broadcast to [K, channels, rows, columns]. */
static void all_edges(Op *op, Ox x, Ox rois, const int64_t pooled[2], Ox edge[2][2])
{
    for (int i = 0; i < 2; i++)
        for (int end = 0; end < 2; end++) {
            Ox e = bin_edges(op, rois, i, pooled[i], ox_dim(x, 2 + i), end);
            Dim dims[] = { ox_dim(rois, 0), dim_of(op, 1), dim_of(op, 1), dim_of(op, 1) };
            dims[2 + i] = dim_of(op, pooled[i]);
            edge[i][end] = reshape_to(op, e, dims, 4);
        }
}

/* The sum of each bin's pixels, in double. mapping: the channel of each bin. */
static Ox bin_sums(Op *op, Ox x, Ox rois, Ox mapping, Ox sums, Ox edge[2][2])
{
    Dim one = dim_of(op, 1);
    Ox corner[2][2];
    Ox height = ox_dim_value(op->g, ox_dim(x, 2));
    Ox image = ox_cast(op->g, slice_axis(op, rois, 1, dim_of(op, 0), one, 1), DT_INT64);
    Ox first = ox(op, "Mul", image, ox_dim_value(op->g, ox_dim(x, 1)));
    Ox channel = ox_cast(op->g, mapping, DT_INT64);
    Ox planes = reshape_to(op, first, (const Dim[]){ ox_dim(rois, 0), one, one, one }, 4);
    Ox plane = ox(op, "Add", planes, channel);
    Ox top = ox(op, "Mul", plane, height);
    Ox width = ox_dim_value(op->g, ox_dim(x, 3));
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            Ox line = ox(op, "Add", top, edge[0][i]);
            Ox row = ox(op, "Mul", line, width);
            Ox pixel = ox(op, "Add", row, edge[1][k]);
            corner[i][k] = ox(op, "Gather", sums, pixel);
        }
    Ox below = ox(op, "Sub", corner[1][1], corner[1][0]);
    Ox above = ox(op, "Sub", corner[0][1], corner[0][0]);
    return ox(op, "Sub", below, above);
}

/* sum divided by the number of pixels in each bin; 0 for a bin without any. */
static Ox bin_means(Op *op, Ox sum, Ox edge[2][2])
{
    Ox rows = ox(op, "Sub", edge[0][1], edge[0][0]);
    Ox columns = ox(op, "Sub", edge[1][1], edge[1][0]);
    Ox zero = ox_int(op->g, 0);
    Ox high = ox(op, "Greater", rows, zero);
    Ox broad = ox(op, "Greater", columns, zero);
    Ox some = ox(op, "And", high, broad);
    Ox area = ox(op, "Mul", rows, columns);
    Ox safe = ox(op, "Where", some, area, ox_int(op->g, 1));
    Ox mean = ox(op, "Div", sum, ox_cast(op->g, safe, DT_DOUBLE));
    return ox(op, "Where", some, mean, ox_number(op->g, DT_DOUBLE, 0));
}

/* Bin i of channel c is the mean of x's channel c * bins + i over the bin's pixels. */
static Value lower_ps_roi_pool(Op *op)
{
    int64_t pooled[2], bins, channels;
    Ox x = arg(op, "input");
    Ox rois = arg(op, "rois");
    Ox edge[2][2];
    if (!pooled_size(op, pooled) || !region_ranks(op, x, rois) ||
        !bins_of(op, x, pooled, &bins, &channels))
        return val_poison();
    Dim regions = ox_dim(rois, 0);
    all_edges(op, x, rois, pooled, edge);
    Ox sums = sums_before(op, x);
    Ox mapping = channel_mapping(op, regions, channels, pooled);
    Ox sum = bin_sums(op, x, rois, mapping, sums, edge);
    Ox mean = bin_means(op, sum, edge);
    const Dim all[] = { regions, dim_of(op, channels), dim_of(op, pooled[0]),
                        dim_of(op, pooled[1]) };
    Ox out = ox_cast(op->g, expand_dims(op, mean, all, 4), ox_dtype(x));
    if (!ox_ok(out))
        return val_poison();
    return result_tuple(op, (const Ox[]){ out, mapping }, 2);
}

/* ---- deformable convolution ---- */

typedef struct Deform {
    Ox x, weight, offset, mask, bias;
    int64_t stride[2], pad[2], dilation[2], group, offset_group, kernel[2];
} Deform;

static bool has_rank_4(Op *op, const char *name)
{
    int rank;
    if (!need_rank(op, arg(op, name), 4, &rank))
        return false;
    return rank == 4 ||
        fail(op->cx, E_VALUE, "%s must be a 4-dimensional tensor, got %d dimensions", name, rank);
}

/* Reads and checks the arguments; d->mask is NULL without use_mask. False after an error or
 * refusal. */
static bool deform_args(Op *op, Deform *d)
{
    *d = (Deform){
        .x = arg(op, "input"),
        .weight = arg(op, "weight"),
        .offset = arg(op, "offset"),
        .mask = arg(op, "mask"),
        .bias = arg(op, "bias"),
        .stride = { arg_int(op, "stride_h"), arg_int(op, "stride_w") },
        .pad = { arg_int(op, "pad_h"), arg_int(op, "pad_w") },
        .dilation = { arg_int(op, "dilation_h"), arg_int(op, "dilation_w") },
        .group = arg_int(op, "groups"),
        .offset_group = arg_int(op, "offset_groups"),
    };
    bool use_mask = arg_bool(op, "use_mask");
    if (ctx_failed(op->cx))
        return false;
    if (!has_rank_4(op, "input") || !has_rank_4(op, "weight") || !has_rank_4(op, "offset") ||
        (use_mask && !has_rank_4(op, "mask")))
        return false;
    if (!use_mask)
        d->mask = NULL;
    for (int i = 0; i < 2; i++)
        if (!dim_known(ox_dim(d->weight, 2 + i), &d->kernel[i])) {
            op_refuse(op, "a weight whose kernel size is not known");
            return false;
        }
    int64_t taps;
    return mul_ok(d->kernel[0], d->kernel[1], &taps) ||
        fail(op->cx, E_LIMIT, "the kernel is too large");
}

static Ox deform_conv(Op *op, const Deform *d)
{
    const int64_t pads[4] = { d->pad[0], d->pad[1], d->pad[0], d->pad[1] };
    return ox_with(op, "DeformConv", INPUTS(d->x, d->weight, d->offset, d->bias, d->mask),
                   INT_LIST("dilations", d->dilation, 2), INT("group", d->group),
                   INT_LIST("kernel_shape", d->kernel, 2), INT("offset_group", d->offset_group),
                   INT_LIST("pads", pads, 4), INT_LIST("strides", d->stride, 2));
}

/* Where tap k samples for row r of the output without its offset, r * stride - pad + k * dilation:
 * [taps, rows]. i: 0 for rows, 1 for columns. */
static Ox positions(Op *op, const Deform *d, int i, Dim rows)
{
    int64_t taps = d->kernel[0] * d->kernel[1];
    int64_t dims[2] = { taps, 1 };
    float *at = new_array(op->cx, float, taps);
    if (!at)
        return POISON;
    for (int64_t k = 0; k < taps; k++) {
        int64_t place = i == 0 ? k / d->kernel[1] : k % d->kernel[1];
        at[k] = (float)((double)place * (double)d->dilation[i] - (double)d->pad[i]);
    }
    Ox table = ox_const(op->g, const_make(op->cx, DT_FLOAT, 2, dims, at));
    Ox tap = ox_cast(op->g, table, ox_dtype(d->x));
    Ox zero = ox_integer(op->g, DT_INT64, 0);
    Ox end = ox_dim_value(op->g, rows);
    Ox one = ox_integer(op->g, DT_INT64, 1);
    Ox row = ox_cast(op->g, ox(op, "Range", zero, end, one), ox_dtype(d->x));
    Ox stride = number_like(op, (double)d->stride[i], d->x);
    row = ox(op, "Mul", row, stride);
    return ox(op, "Add", tap, row);
}

/* A coordinate in pixels as that of GridSample with align_corners=0, where -1 and 1 are the outer
 * borders of the outer pixels. */
static Ox normalised(Op *op, Ox pixel, Ox x, Dim size)
{
    Ox two = number_like(op, 2, x);
    Ox one = number_like(op, 1, x);
    Ox n = ox_cast(op->g, ox_dim_value(op->g, size), ox_dtype(x));
    Ox twice = ox(op, "Mul", pixel, two);
    twice = ox(op, "Add", twice, one);
    twice = ox(op, "Div", twice, n);
    return ox(op, "Sub", twice, one);
}

/* The sizes of a deformable convolution. Offset groups count as images of their own. */
typedef struct DeformSizes {
    Dim images, taps; /* batch * offset groups; pixels of the kernel */
    Dim height, width, area;
} DeformSizes;

/* Where each tap of each output pixel samples, for GridSample: [images, taps, height * width, 2].
 */
static Ox deform_grid(Op *op, const Deform *d, const DeformSizes *s)
{
    Dim one = dim_of(op, 1);
    const Dim apart[] = { s->images, s->taps, dim_of(op, 2), s->height, s->width };
    const Dim each[] = { s->images, s->taps, s->height, s->width };
    const Dim points[] = { s->images, s->taps, s->area, one };
    Ox offset = reshape_to(op, d->offset, apart, 5); /* y before x */
    Ox y = reshape_to(op, slice_axis(op, offset, 2, dim_of(op, 0), one, 1), each, 4);
    Ox x = reshape_to(op, slice_axis(op, offset, 2, one, dim_of(op, 2), 1), each, 4);
    Ox rows = positions(op, d, 0, s->height);
    Ox base_y = reshape_to(op, rows, (const Dim[]){ s->taps, s->height, one }, 3);
    Ox columns = positions(op, d, 1, s->width);
    Ox base_x = reshape_to(op, columns, (const Dim[]){ s->taps, one, s->width }, 3);
    y = normalised(op, ox(op, "Add", y, base_y), d->x, ox_dim(d->x, 2));
    x = normalised(op, ox(op, "Add", x, base_x), d->x, ox_dim(d->x, 3));
    x = reshape_to(op, x, points, 4);
    y = reshape_to(op, y, points, 4);
    return concat_axis(op, (const Ox[]){ x, y }, 2, 3);
}

/* The values of all taps, after the mask: [images, C / offset groups, taps, height * width]. */
static Ox deform_samples(Op *op, const Deform *d, const DeformSizes *s, Dim channels)
{
    Ctx *cx = op->cx;
    Ox grid = deform_grid(op, d, s);
    const Dim flat[] = { s->images, channels, ox_dim(d->x, 2), ox_dim(d->x, 3) };
    Ox planes = reshape_to(op, d->x, flat, 4);
    Ox seen = ox_with(op, "GridSample", INPUTS(planes, grid), INT("align_corners", 0),
                      STRING("mode", str_of(cx, "linear")),
                      STRING("padding_mode", str_of(cx, "zeros")));
    if (!d->mask)
        return seen;
    const Dim wide[] = { s->images, dim_of(op, 1), s->taps, s->area };
    Ox mask = reshape_to(op, d->mask, wide, 4);
    return ox(op, "Mul", seen, mask);
}

/* DeformConv before opset 19: GridSample, of opset 16, takes every tap of every output pixel; then
 * one product, [groups, out / groups, C / groups * taps] times [N, groups, C / groups * taps,
 * height * width]. */
static Ox deform_by_grid(Op *op, const Deform *d)
{
    Ctx *cx = op->cx;
    Dim batch = ox_dim(d->x, 0);
    Dim out = ox_dim(d->weight, 0);
    Dim one = dim_of(op, 1);
    Dim groups = dim_of(op, d->group);
    Dim offset_groups = dim_of(op, d->offset_group);
    Dim per_offset, per_group;
    DeformSizes s = { .taps = dim_of(op, d->kernel[0] * d->kernel[1]),
                      .height = ox_dim(d->offset, 2),
                      .width = ox_dim(d->offset, 3) };
    s.area = dim_mul(cx, s.height, s.width);
    s.images = dim_mul(cx, batch, offset_groups);
    if (!dim_divide(cx, ox_dim(d->x, 1), offset_groups, &per_offset) ||
        !dim_divide(cx, out, groups, &per_group))
        return op_fail(op, E_VALUE, "channels must be divisible by the groups");
    Ox seen = deform_samples(op, d, &s, per_offset);
    Dim depth = dim_mul(cx, ox_dim(d->weight, 1), s.taps);
    seen = reshape_to(op, seen, (const Dim[]){ batch, groups, depth, s.area }, 4);
    Ox weight = reshape_to(op, d->weight, (const Dim[]){ groups, per_group, depth }, 3);
    Ox product = ox(op, "MatMul", weight, seen);
    Ox result = reshape_to(op, product, (const Dim[]){ batch, out, s.height, s.width }, 4);
    Ox bias = reshape_to(op, d->bias, (const Dim[]){ out, one, one }, 3);
    return ox(op, "Add", result, bias);
}

static Ox lower_deform_conv2d(Op *op)
{
    Deform d;
    if (!deform_args(op, &d))
        return POISON;
    if (op->g->target >= 19)
        return deform_conv(op, &d);
    return need_opset(op, 16, "deformable convolution") ? deform_by_grid(op, &d) : POISON;
}

#define REGIONS \
    "Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width"

OP_ROWS(vision)
{
    LOWER(lower_nms, NULL, PLAIN,
          "torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor");
    LOWER(lower_roi_align, NULL, PLAIN,
          "torchvision::roi_align(" REGIONS ", int sampling_ratio, bool aligned) -> Tensor");
    CALL(lower_roi_pool, NULL, PLAIN, "torchvision::roi_pool(" REGIONS ") -> (Tensor, Tensor)");
    CALL(lower_ps_roi_align, NULL, PLAIN,
         "torchvision::ps_roi_align(" REGIONS ", int sampling_ratio) -> (Tensor, Tensor)");
    CALL(lower_ps_roi_pool, NULL, PLAIN,
         "torchvision::ps_roi_pool(" REGIONS ") -> (Tensor, Tensor)");
    LOWER(lower_deform_conv2d, NULL, PLAIN,
          "torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, "
          "Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, "
          "SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool "
          "use_mask) -> Tensor");
    REFUSE("where two rotated boxes overlap has a number of corners that depends on the data",
           "torchvision::box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor");
}
