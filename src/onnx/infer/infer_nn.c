/* infer_nn.c - windows over images (convolution, pooling), normalisation, recurrent layers,
 * resizing and sampling. */
#include "onnx/infer/infer.h"

#include <math.h>

static DType first_type(const Node *n) { return ox_dtype(n->in[0]); }
static bool same_first(Node *n) { return out_like(n, 0, first_type(n), n->in[0]); }

/* ---- windows ---- */

enum { MAX_WINDOW = MAX_RANK - 2 };

/* How a window moves over the spatial axes. */
typedef struct Window {
    int n;
    Dim kernel[MAX_WINDOW];
    int64_t stride[MAX_WINDOW], dilation[MAX_WINDOW], before[MAX_WINDOW], after[MAX_WINDOW];
    enum { PADS_GIVEN, PADS_SAME, PADS_VALID } pads;
} Window;

/* Attribute ints of exactly `count` items, or `deflt` for each. */
static bool spatial_ints(Node *n, const char *name, int count, int64_t deflt, int64_t least,
                         int64_t *out)
{
    const int64_t *at;
    size_t have;
    bool given = node_ints(n, name, &at, &have);
    if (given && (int64_t)have != count)
        return node_fail(n, "%s has %zu items, not %d", name, have, count);
    for (int i = 0; i < count; i++) {
        out[i] = given ? at[i] : deflt;
        if (out[i] < least || out[i] > INT32_MAX)
            return node_fail(n, "%s[%d] is %lld", name, i, (long long)out[i]);
    }
    return true;
}

/* The attributes of a window over so many spatial axes, but for the kernel's size; false when one
 * has another length or a value out of its range. */
static bool window_read(Node *n, int spatial, Window *w)
{
    int64_t pads[2 * MAX_WINDOW];
    const char *mode = node_str(n, "auto_pad", "NOTSET");
    w->n = spatial;
    if (spatial < 0 || spatial > MAX_WINDOW)
        return node_fail(n, "the input needs a batch and a channel axis");
    if (!spatial_ints(n, "strides", spatial, 1, 1, w->stride) ||
        !spatial_ints(n, "dilations", spatial, 1, 1, w->dilation) ||
        !spatial_ints(n, "pads", 2 * spatial, 0, INT32_MIN, pads))
        return false;
    w->pads = PADS_GIVEN;
    if (!strncmp(mode, "SAME", 4))
        w->pads = PADS_SAME;
    else if (!strcmp(mode, "VALID"))
        w->pads = PADS_VALID;
    for (int i = 0; i < spatial; i++) {
        w->before[i] = w->pads == PADS_GIVEN ? pads[i] : 0;
        w->after[i] = w->pads == PADS_GIVEN ? pads[i + spatial] : 0;
    }
    return true;
}

static bool kernel_attr(Node *n, Window *w)
{
    int64_t k[MAX_WINDOW];
    if (!spatial_ints(n, "kernel_shape", w->n, 0, 1, k))
        return false;
    for (int i = 0; i < w->n; i++)
        w->kernel[i] = dim_int(node_cx(n), k[i]);
    return true;
}

/* How many places the window has along axis i:  (size + pads - dilation*(kernel - 1) - 1) /
 * stride + 1. ceil: a last, partial place counts when it starts inside the input or the padding
 * before it. */
static Dim window_places(Node *n, const Window *w, int i, Dim size, bool ceil)
{
    Ctx *cx = node_cx(n);
    Dim one = dim_int(cx, 1);
    Dim stride = dim_int(cx, w->stride[i]);
    int64_t v;
    if (w->pads == PADS_SAME)
        return dim_ceildiv(cx, size, stride);
    Dim reach = dim_add(
        cx, dim_mul(cx, dim_int(cx, w->dilation[i]), dim_sub(cx, w->kernel[i], one)), one);
    Dim room = dim_sub(cx, dim_add(cx, size, dim_int(cx, w->before[i] + w->after[i])), reach);
    if (room && dim_known(room, &v) && v < 0) {
        node_fail(n,
                  "Calculated padded input size per channel: (%s). Kernel size: (%s). Kernel size "
                  "can't be greater than actual input size",
                  dim_text(cx, dim_add(cx, room, reach))->s, dim_text(cx, reach)->s);
        return NULL;
    }
    if (!ceil)
        return room ? dim_add(cx, dim_floordiv(cx, room, stride), one) : NULL;
    Dim all = room ? dim_add(cx, dim_ceildiv(cx, room, stride), one) : NULL;
    /* (all - 1) * stride < size + before   <=>   all <= ceil((size + before) / stride) */
    return all
        ? dim_min(cx, all, dim_ceildiv(cx, dim_add(cx, size, dim_int(cx, w->before[i])), stride))
        : NULL;
}

static bool slide(Node *n, const Window *w, bool ceil, const Shape *x, Shape *y)
{
    for (int i = 0; i < w->n; i++) {
        y->d[2 + i] = window_places(n, w, i, x->d[2 + i], ceil);
        if (!y->d[2 + i])
            return ctx_failed(node_cx(n))
                ? false
                : node_fail(n, "the size of axis %d cannot be expressed", 2 + i);
    }
    return true;
}

/* ---- convolution ---- */

static bool conv_kernel(Node *n, const Shape *weight, Window *w)
{
    if (weight->rank < 0)
        return kernel_attr(n, w);
    for (int i = 0; i < w->n; i++)
        w->kernel[i] = weight->d[2 + i];
    return true;
}

/* The input has as many channels as the weight takes, in PyTorch's words. */
static bool conv_channels(Node *n, int i_x, int i_w, Dim channels, Dim per_group)
{
    Ctx *cx = node_cx(n);
    int64_t group = node_int(n, "group", 1);
    Dim want = dim_mul(cx, per_group, dim_int(cx, group));
    return dim_require(cx, channels, want,
                       "Given groups=%lld, weight of size %s, expected input %s to "
                       "have %s channels, but got %s channels instead",
                       (long long)group, type_text(cx, n->in[i_w]->type)->s,
                       type_text(cx, n->in[i_x]->type)->s, dim_text(cx, want)->s,
                       dim_text(cx, channels)->s);
}

/* Conv, ConvInteger and QLinearConv: result of type t; i_x and i_w: which inputs are X and W. An
 * unknown rank of one of them is that of the other. */
static bool conv_as(Node *n, DType t, int i_x, int i_w)
{
    Ctx *cx = node_cx(n);
    Shape x = shape_of(n->in[i_x]);
    Shape wt = shape_of(n->in[i_w]);
    int rank = x.rank >= 0 ? x.rank : wt.rank;
    Window w;
    Shape y = { .rank = rank };
    if (rank < 0)
        return out_shape(n, 0, t, &y);
    if (x.rank >= 0 && wt.rank >= 0 && x.rank != wt.rank)
        return node_fail(n, "Expected %dD input for a weight of rank %d, but got input of size: %s",
                         wt.rank, wt.rank, type_text(cx, n->in[i_x]->type)->s);
    if (!window_read(n, rank - 2, &w))
        return false;
    if (x.rank < 0) {
        y.d[1] = wt.d[0];
        return out_partial(n, 0, t, &y);
    }
    if (!conv_kernel(n, &wt, &w) || !slide(n, &w, false, &x, &y))
        return false;
    if (wt.rank >= 0 && !conv_channels(n, i_x, i_w, x.d[1], wt.d[1]))
        return false;
    y.d[0] = x.d[0];
    y.d[1] = wt.rank >= 0 ? wt.d[0] : NULL;
    return out_partial(n, 0, t, &y);
}

static bool infer_conv(Node *n) { return conv_as(n, first_type(n), 0, 1); }
static bool infer_conv_integer(Node *n) { return conv_as(n, DT_INT32, 0, 1); }
/* x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias */
static bool infer_qlinear_conv(Node *n) { return conv_as(n, ox_dtype(n->in[7]), 0, 3); }

/* DeformConv(X, W, offset, B?, mask?) */
static bool infer_deform_conv(Node *n) { return conv_as(n, first_type(n), 0, 1); }

/* stride*(size - 1) + output_padding + dilation*(kernel - 1) + 1 - pads */
static bool infer_conv_transpose(Node *n)
{
    Ctx *cx = node_cx(n);
    Shape x = shape_of(n->in[0]);
    Shape wt = shape_of(n->in[1]);
    Shape y = x;
    int64_t extra[MAX_WINDOW], wanted[MAX_WINDOW];
    Window w;
    if (x.rank < 0)
        return out_shape(n, 0, first_type(n), &x);
    if (wt.rank >= 0 && x.rank != wt.rank)
        return node_fail(n, "the input has rank %d, the weight %d", x.rank, wt.rank);
    bool sized = node_has(n, "output_shape");
    if (!window_read(n, x.rank - 2, &w) || !conv_kernel(n, &wt, &w) ||
        !spatial_ints(n, "output_padding", w.n, 0, 0, extra) ||
        (sized && !spatial_ints(n, "output_shape", w.n, 0, 1, wanted)))
        return false;
    if (wt.rank >= 0 &&
        !dim_require(cx, x.d[1], wt.d[0],
                     "Given transposed=1, weight of size %s, expected input to "
                     "have %s channels, but got %s channels instead",
                     type_text(cx, n->in[1]->type)->s, dim_text(cx, wt.d[0])->s,
                     dim_text(cx, x.d[1])->s))
        return false;
    y.d[1] = wt.rank >= 0 ? dim_mul(cx, wt.d[1], dim_int(cx, node_int(n, "group", 1))) : NULL;
    for (int i = 0; i < w.n; i++) {
        Dim one = dim_int(cx, 1);
        Dim stride = dim_int(cx, w.stride[i]);
        Dim steps = dim_mul(cx, stride, dim_sub(cx, x.d[2 + i], one));
        Dim reach = dim_mul(cx, dim_int(cx, w.dilation[i]), dim_sub(cx, w.kernel[i], one));
        Dim rest = dim_int(cx, extra[i] + 1 - w.before[i] - w.after[i]);
        if (sized)
            y.d[2 + i] = dim_int(cx, wanted[i]);
        else if (w.pads == PADS_SAME)
            y.d[2 + i] = dim_mul(cx, x.d[2 + i], stride);
        else
            y.d[2 + i] = dim_add(cx, dim_add(cx, steps, reach), rest);
    }
    return out_partial(n, 0, first_type(n), &y);
}

/* ---- pooling ---- */

/* Pools; a second output holds indices. */
static bool infer_pool(Node *n)
{
    Shape x = shape_of(n->in[0]);
    Shape y = x;
    Window w;
    if (x.rank < 0)
        return out_shape(n, 0, first_type(n), &y) && out_shape(n, 1, DT_INT64, &y);
    if (!window_read(n, x.rank - 2, &w) || !kernel_attr(n, &w) ||
        !slide(n, &w, node_int(n, "ceil_mode", 0) != 0, &x, &y))
        return false;
    return out_shape(n, 0, first_type(n), &y) && out_shape(n, 1, DT_INT64, &y);
}

static bool infer_global_pool(Node *n)
{
    Shape x = shape_of(n->in[0]);
    if (!need_rank_of(n, n->in[0], "the input", 2, MAX_RANK))
        return false;
    for (int i = 2; i < x.rank; i++)
        x.d[i] = dim_int(node_cx(n), 1);
    return out_shape(n, 0, first_type(n), &x);
}

/* MaxUnpool(X, I, output_shape?) */
static bool infer_max_unpool(Node *n)
{
    Ctx *cx = node_cx(n);
    Shape x = shape_of(n->in[0]);
    Window w;
    if (x.rank < 0)
        return out_shape(n, 0, first_type(n), &x);
    if (!window_read(n, x.rank - 2, &w) || !kernel_attr(n, &w))
        return false;
    for (int i = 0; i < x.rank; i++)
        if (node_in(n, 2))
            x.d[i] = item_at(n->in[2], i);
        else if (i >= 2)
            x.d[i] = dim_add(
                cx, dim_mul(cx, dim_sub(cx, x.d[i], dim_int(cx, 1)), dim_int(cx, w.stride[i - 2])),
                dim_sub(cx, w.kernel[i - 2], dim_int(cx, w.before[i - 2] + w.after[i - 2])));
    return out_partial(n, 0, first_type(n), &x);
}

/* ---- normalisation ---- */

/* The channel axis of x and the one axis of a parameter agree. */
static bool per_channel(Node *n, int i, const char *what)
{
    Ctx *cx = node_cx(n);
    Shape x = shape_of(n->in[0]);
    Shape p = shape_of(node_in(n, i));
    if (x.rank < 0 || p.rank < 0)
        return true;
    if (p.rank != 1)
        return node_fail(n, "%s must have rank 1, not %d", what, p.rank);
    if (x.rank < 2)
        return x.rank == 1 ? true : node_fail(n, "the input needs a batch and a channel axis");
    return dim_require(cx, x.d[1], p.d[0], "%s should contain %s elements not %s", what,
                       dim_text(cx, x.d[1])->s, dim_text(cx, p.d[0])->s);
}

/* BatchNormalization(X, scale, B, mean, var) -> Y, running_mean?, running_var? */
static bool infer_batch_norm(Node *n)
{
    static const char *const what[] = { "", "weight", "bias", "running_mean", "running_var" };
    for (int i = 1; i < 5; i++)
        if (!per_channel(n, i, what[i]))
            return false;
    return same_first(n) && out_like(n, 1, ox_dtype(n->in[3]), n->in[3]) &&
        out_like(n, 2, ox_dtype(n->in[4]), n->in[4]);
}

static bool infer_channel_norm(Node *n) /* InstanceNormalization, GroupNormalization */
{
    return per_channel(n, 1, "weight") && per_channel(n, 2, "bias") && same_first(n);
}

/* LayerNormalization(X, Scale, B?) -> Y, Mean?, InvStdDev?; the latter have 1 where it was
 * normalised */
static bool infer_layer_norm(Node *n)
{
    Shape x = shape_of(n->in[0]);
    Shape s = x;
    int axis = 0;
    DType stash = (DType)node_int(n, "stash_type", DT_FLOAT);
    if (x.rank >= 0 && !wrap_axis(n, node_int(n, "axis", -1), x.rank, &axis))
        return false;
    for (int i = axis; i < s.rank; i++)
        s.d[i] = dim_int(node_cx(n), 1);
    for (int i = 1; i < 3 && x.rank >= 0; i++) {
        Shape p = shape_of(node_in(n, i));
        Shape both = x;
        if (p.rank > x.rank)
            return node_fail(n, "a parameter has rank %d, more than the input's %d", p.rank,
                             x.rank);
        if (p.rank >= 0 && !shape_broadcast(n, &both, &p))
            return false;
    }
    return same_first(n) && out_shape(n, 1, stash, &s) && out_shape(n, 2, stash, &s);
}

static bool infer_dropout(Node *n) { return same_first(n) && out_like(n, 1, DT_BOOL, n->in[0]); }

/* ---- recurrent layers ---- */

/* LSTM, GRU and RNN: X [length, batch, in] -> Y [length, directions, batch, hidden], Y_h, Y_c
 * [directions, batch, hidden]; with layout 1 the batch comes first. */
static bool infer_recurrent(Node *n)
{
    Ctx *cx = node_cx(n);
    Shape x = shape_of(n->in[0]);
    Shape w = shape_of(n->in[1]);
    Shape r = shape_of(n->in[2]);
    bool batch_first = node_int(n, "layout", 0) != 0;
    if (!need_rank_of(n, n->in[0], "X", 3, 3) || !need_rank_of(n, n->in[1], "W", 3, 3) ||
        !need_rank_of(n, n->in[2], "R", 3, 3))
        return false;
    if (x.rank == 3 && w.rank == 3 &&
        !dim_require(cx, x.d[2], w.d[2],
                     "input.size(-1) must be equal to input_size. Expected %s, got %s",
                     dim_text(cx, w.d[2])->s, dim_text(cx, x.d[2])->s))
        return false;
    int64_t size = node_int(n, "hidden_size", 0);
    Dim length = x.rank < 0 ? NULL : x.d[batch_first];
    Dim batch = x.rank < 0 ? NULL : x.d[!batch_first];
    Dim dirs = dim_int(cx, strcmp(node_str(n, "direction", "forward"), "bidirectional") ? 1 : 2);
    Dim hidden = r.rank == 3 ? r.d[2] : NULL;
    if (size > 0)
        hidden = dim_int(cx, size);
    Shape y = { .rank = 4, .d = { length, dirs, batch, hidden } };
    if (batch_first)
        y = (Shape){ .rank = 4, .d = { batch, length, dirs, hidden } };
    if (!out_partial(n, 0, first_type(n), &y))
        return false;
    Shape last = { .rank = 3, .d = { dirs, y.d[2], y.d[3] } };
    if (batch_first)
        last = (Shape){ .rank = 3, .d = { y.d[0], dirs, y.d[3] } };
    return out_shape(n, 1, first_type(n), &last) && out_shape(n, 2, first_type(n), &last);
}

/* ---- resizing and sampling ---- */

/* floor(size * scale). ONNX and ONNX Runtime multiply in float32: 10 times the float32 below 1.8 is
 * 18, not 17. Of a dynamic size it is known where that is exact arithmetic: scale has a power of
 * two below its fraction bar. */
static Dim scaled(Node *n, Dim size, double scale)
{
    Ctx *cx = node_cx(n);
    int64_t v;
    if (scale == 1)
        return size;
    if (!(scale > 0) || scale > INT32_MAX) {
        node_fail(n, "scale %g", scale);
        return NULL;
    }
    if (dim_known(size, &v)) {
        float product = (float)v * (float)scale;
        if (product < (float)INT64_MAX)
            return dim_int(cx, (int64_t)floorf(product));
        node_fail(n, "size %lld times scale %g", (long long)v, scale);
        return NULL;
    }
    for (int64_t below = 1; below <= 1 << 16; below *= 2) {
        double above = scale * (double)below;
        if (whole_number(above, &v))
            return dim_floordiv(cx, dim_mul(cx, size, dim_int(cx, v)), dim_int(cx, below));
    }
    return NULL;
}

/* Constant float scales, at most MAX_RANK. */
static bool known_scales(Node *n, Ox v, double *out, int64_t *count)
{
    Data d;
    if (!v || v->kind != OX_CONST || const_numel(v->k) > MAX_RANK ||
        !const_to_data(node_cx(n), v->k, &d) || d.dtype != DT_FLOAT)
        return false;
    *count = d.numel;
    for (int64_t i = 0; i < d.numel; i++)
        out[i] = ((const float *)d.at)[i];
    return true;
}

/* keep_aspect_ratio_policy: one scale for all axes, the least (or largest) of wanted / size. False
 * when a size is not known. */
static bool keep_aspect(Node *n, const Shape *x, const int64_t *axes, size_t n_axes, bool least,
                        double *scale)
{
    int64_t size, wanted;
    *scale = 0;
    for (size_t i = 0; i < n_axes; i++) {
        int axis;
        Dim want = item_at(n->in[3], (int64_t)i);
        if (!wrap_axis(n, axes ? axes[i] : (int64_t)i, x->rank, &axis) || !want ||
            !dim_known(want, &wanted) || !dim_known(x->d[axis], &size) || size == 0)
            return false;
        double s = (double)wanted / (double)size;
        bool better = least ? s < *scale : s > *scale;
        if (i == 0 || better)
            *scale = s;
    }
    return true;
}

/* Resize(X, roi?, scales?, sizes?) */
static bool infer_resize(Node *n)
{
    Shape x = shape_of(n->in[0]);
    const int64_t *axes = NULL;
    size_t n_axes = x.rank >= 0 ? (size_t)x.rank : 0;
    double scale[MAX_RANK];
    Dim example[MAX_RANK] = { NULL }; /* of sizes that no expression says */
    int64_t n_scale = 0;
    if (x.rank < 0)
        return out_shape(n, 0, first_type(n), &x);
    bool sizes = node_in(n, 3) != NULL;
    const char *policy = node_str(n, "keep_aspect_ratio_policy", "stretch");
    bool exact = !strcmp(policy, "stretch");
    double one = 0;
    bool scales = !sizes && known_scales(n, node_in(n, 2), scale, &n_scale);
    if (ctx_failed(node_cx(n)))
        return false;
    node_ints(n, "axes", &axes, &n_axes);
    if (scales && n_scale != (int64_t)n_axes)
        return node_fail(n, "%lld scales for %zu axes", (long long)n_scale, n_axes);
    bool crop = !strcmp(node_str(n, "coordinate_transformation_mode", ""), "tf_crop_and_resize");
    bool kept = sizes && !exact &&
        keep_aspect(n, &x, axes, n_axes, !strcmp(policy, "not_larger"), &one);
    for (size_t i = 0; i < n_axes; i++) {
        int axis;
        int64_t size = 0;
        if (!wrap_axis(n, axes ? axes[i] : (int64_t)i, x.rank, &axis))
            return false;
        if (kept && dim_known(x.d[axis], &size)) {
            x.d[axis] = dim_int(node_cx(n), whole_part(one * (double)size + 0.5)); /* half up */
            continue;
        }
        Dim whole = x.d[axis];
        x.d[axis] = NULL;
        if (sizes && exact)
            x.d[axis] = item_at(n->in[3], (int64_t)i);
        else if (!sizes && scales && !crop)
            x.d[axis] = scaled(n, whole, scale[i]);
        if (!sizes && scales && !crop && !x.d[axis])
            example[axis] = scaled(n, example_of(node_cx(n), whole), scale[i]);
        if (ctx_failed(node_cx(n)))
            return false;
    }
    if (!out_partial(n, 0, first_type(n), &x))
        return false;
    set_examples(&x, example);
    return true;
}

/* GridSample(X [N,C,D..], grid [N,D'..,k]) -> [N,C,D'..] */
static bool infer_grid_sample(Node *n)
{
    Ctx *cx = node_cx(n);
    Shape x = shape_of(n->in[0]);
    Shape g = shape_of(n->in[1]);
    if (x.rank < 0 || g.rank < 0)
        return out_partial(n, 0, first_type(n),
                           x.rank >= 0 ? &(Shape){ .rank = x.rank, .d = { x.d[0], x.d[1] } } : &x);
    if (x.rank != g.rank || x.rank < 3)
        return node_fail(
            n, "expected grid and input to have same number of dimensions, but got %d and %d",
            x.rank, g.rank);
    if (!dim_require(cx, x.d[0], g.d[0],
                     "GridSample: expected grid and input to have same batch size") ||
        !dim_require(cx, g.d[g.rank - 1], dim_int(cx, g.rank - 2),
                     "GridSample: expected grid to have size %d in last dimension", g.rank - 2))
        return false;
    for (int i = 2; i < x.rank; i++)
        x.d[i] = g.d[i - 1];
    return out_shape(n, 0, first_type(n), &x);
}

/* AffineGrid(theta, size [N,C,(D),H,W]) -> [N,(D),H,W,2|3] */
static bool infer_affine_grid(Node *n)
{
    int64_t count;
    Shape s = { .rank = -1 };
    if (ox_rank(n->in[1]) == 1 && dim_known(ox_dim(n->in[1], 0), &count) &&
        (count == 4 || count == 5)) {
        s = (Shape){ .rank = (int)count, .d = { item_at(n->in[1], 0) } };
        for (int i = 1; i + 1 < s.rank; i++)
            s.d[i] = item_at(n->in[1], i + 1);
        s.d[s.rank - 1] = dim_int(node_cx(n), count - 2);
    }
    return out_partial(n, 0, first_type(n), &s);
}

/* Col2Im(x [N, C*prod(block), L], image_shape, block_shape) -> [N, C, image..] */
static bool infer_col2im(Node *n)
{
    Ctx *cx = node_cx(n);
    Shape x = shape_of(n->in[0]);
    Shape s = { .rank = -1 };
    int64_t count, blocks;
    if (ox_rank(n->in[1]) != 1 || !dim_known(ox_dim(n->in[1], 0), &count) || count > MAX_RANK - 2)
        return out_shape(n, 0, first_type(n), &s);
    s = (Shape){ .rank = (int)count + 2, .d = { x.rank == 3 ? x.d[0] : NULL } };
    Dim block = dim_int(cx, 1);
    for (int i = 0; i < count; i++) {
        Dim b = item_at(n->in[2], i);
        s.d[2 + i] = item_at(n->in[1], i);
        block = block && b ? dim_mul(cx, block, b) : NULL;
    }
    if (x.rank == 3 && block && !dim_divide(cx, x.d[1], block, &s.d[1]))
        s.d[1] = dim_known(block, &blocks) && blocks > 0 ? dim_floordiv(cx, x.d[1], block) : NULL;
    return out_partial(n, 0, first_type(n), &s);
}

/* RoiAlign(X [N,C,H,W], rois [R,4], batch_indices [R]) -> [R,C,h,w] */
static bool infer_roi_align(Node *n)
{
    Ctx *cx = node_cx(n);
    Shape x = shape_of(n->in[0]);
    Shape r = shape_of(n->in[1]);
    if (!need_rank_of(n, n->in[0], "X", 4, 4) || !need_rank_of(n, n->in[1], "rois", 2, 2))
        return false;
    Shape y = { .rank = 4 };
    if (r.rank == 2)
        y.d[0] = r.d[0];
    if (x.rank == 4)
        y.d[1] = x.d[1];
    y.d[2] = dim_int(cx, node_int(n, "output_height", 1));
    y.d[3] = dim_int(cx, node_int(n, "output_width", 1));
    return out_partial(n, 0, first_type(n), &y);
}

static bool infer_max_roi_pool(Node *n)
{
    Shape x = shape_of(n->in[0]);
    Shape r = shape_of(n->in[1]);
    Shape y = { .rank = 4 };
    int64_t pooled[2] = { 0 };
    if (!spatial_ints(n, "pooled_shape", 2, 1, 1, pooled))
        return false;
    y.d[0] = r.rank == 2 ? r.d[0] : NULL;
    y.d[1] = x.rank == 4 ? x.d[1] : NULL;
    y.d[2] = dim_int(node_cx(n), pooled[0]);
    y.d[3] = dim_int(node_cx(n), pooled[1]);
    return out_partial(n, 0, first_type(n), &y);
}

/* NonMaxSuppression -> [chosen, 3] */
static bool infer_nms(Node *n)
{
    Shape s = { .rank = 2, .d = { NULL, dim_int(node_cx(n), 3) } };
    return out_partial(n, 0, DT_INT64, &s);
}

const InferRow infer_nn[] = { { "AffineGrid", infer_affine_grid },
                              { "AveragePool", infer_pool },
                              { "BatchNormalization", infer_batch_norm },
                              { "Col2Im", infer_col2im },
                              { "Conv", infer_conv },
                              { "ConvInteger", infer_conv_integer },
                              { "ConvTranspose", infer_conv_transpose },
                              { "DeformConv", infer_deform_conv },
                              { "Dropout", infer_dropout },
                              { "GRU", infer_recurrent },
                              { "GlobalAveragePool", infer_global_pool },
                              { "GlobalLpPool", infer_global_pool },
                              { "GlobalMaxPool", infer_global_pool },
                              { "GridSample", infer_grid_sample },
                              { "GroupNormalization", infer_channel_norm },
                              { "InstanceNormalization", infer_channel_norm },
                              { "LRN", same_first },
                              { "LSTM", infer_recurrent },
                              { "LayerNormalization", infer_layer_norm },
                              { "LpPool", infer_pool },
                              { "MaxPool", infer_pool },
                              { "MaxRoiPool", infer_max_roi_pool },
                              { "MaxUnpool", infer_max_unpool },
                              { "MeanVarianceNormalization", same_first },
                              { "NonMaxSuppression", infer_nms },
                              { "QLinearConv", infer_qlinear_conv },
                              { "RMSNormalization", infer_layer_norm },
                              { "RNN", infer_recurrent },
                              { "Resize", infer_resize },
                              { "RoiAlign", infer_roi_align },
                              { 0 } };
