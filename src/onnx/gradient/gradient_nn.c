/* gradient_nn.c - gradients of layers: those that normalise are written out, and the formula has
 * the gradient; Conv and ConvTranspose are each other's. */
#include "onnx/gradient/internal.h"

/* ---- layers that normalise ---- */

/* (x - mean) / sqrt(variance + epsilon) over these axes. */
static Ox normalised(Step *s, Ox x, Ox axes, bool centred)
{
    Graph *g = s->g;
    Ox mean = centred ? ox_g(g, "ReduceMean", x, axes) : NULL;
    Ox off = centred ? ox_g(g, "Sub", x, mean) : x;
    Ox square = ox_g(g, "Mul", off, off);
    Ox variance = ox_g(g, "ReduceMean", square, axes);
    if (!ox_ok(variance))
        return POISON;
    Ox epsilon = like_number(g, node_float(s->n, "epsilon", 1e-5), variance);
    Ox deviation = ox_g(g, "Sqrt", ox_g(g, "Add", variance, epsilon));
    return ox_g(g, "Div", off, deviation);
}

/* The axes from `first` on. */
static Ox axes_from(Step *s, int first, int rank)
{
    int64_t axes[MAX_RANK];
    for (int i = first; i < rank; i++)
        axes[i - first] = i;
    return ox_ints(s->g, axes, (size_t)(rank - first));
}

static bool layer_norm(Step *s)
{
    Ox x = s->n->in[0];
    int rank;
    if (!step_rank(s, x, &rank))
        return false;
    for (int i = 1; i < s->n->n_out; i++)
        if (s->grad[i])
            return step_refuse(s, "the gradient of its mean and deviation is not known");
    Ox axes = axes_from(s, axis_of(s->n, -1, rank), rank);
    Ox y = normalised(s, x, axes, node_is(s->n, "LayerNormalization"));
    y = ox_g(s->g, "Mul", y, s->n->in[1]);
    if (step_in(s, 2))
        y = ox_g(s->g, "Add", y, s->n->in[2]);
    return step_through(s, y);
}

/* One number a channel, [C] as [C, 1, 1]. */
static Ox by_channel(Step *s, Ox v, int rank)
{
    int64_t axes[MAX_RANK];
    for (int i = 0; i < rank - 2; i++)
        axes[i] = i + 1;
    return rank > 2 ? ox_g(s->g, "Unsqueeze", v, ox_ints(s->g, axes, (size_t)(rank - 2))) : v;
}

static bool instance_norm(Step *s)
{
    Ox x = s->n->in[0];
    int rank;
    if (!step_rank(s, x, &rank))
        return false;
    Ox y = normalised(s, x, axes_from(s, 2, rank), true);
    Ox scale = by_channel(s, s->n->in[1], rank);
    Ox bias = by_channel(s, s->n->in[2], rank);
    y = ox_g(s->g, "Mul", y, scale);
    return step_through(s, ox_g(s->g, "Add", y, bias));
}

/* [N, C, ..] as [N, groups, C / groups, ..]. */
static bool group_norm(Step *s)
{
    Ox x = s->n->in[0];
    Dim dims[MAX_RANK];
    int64_t groups = node_int(s->n, "num_groups", 1);
    int rank;
    if (!step_rank(s, x, &rank) || rank < 2 || rank + 1 > MAX_RANK)
        return false;
    for (int i = 0; i < rank; i++)
        dims[i + (i > 0)] = ox_dim(x, i);
    dims[1] = dim_int(s->cx, groups);
    dims[2] = dim_floordiv(s->cx, ox_dim(x, 1), dims[1]);
    if (!dims[2])
        return false;
    Type grouped = type_tensor(s->cx, ox_dtype(x), rank + 1, dims);
    Ox y = in_shape_of(s->g, x, grouped);
    y = normalised(s, y, axes_from(s, 2, rank + 1), true);
    y = ox_ok(y) ? in_shape_of(s->g, y, x->type) : POISON;
    Ox scale = by_channel(s, s->n->in[1], rank);
    Ox bias = by_channel(s, s->n->in[2], rank);
    y = ox_g(s->g, "Mul", y, scale);
    return step_through(s, ox_g(s->g, "Add", y, bias));
}

/* With a mean and variance that are given, in their type: that of x may be a narrower one. */
static bool batch_norm(Step *s)
{
    Ox x = ox_cast(s->g, s->n->in[0], ox_dtype(s->n->in[4]));
    int rank;
    if (!step_rank(s, x, &rank))
        return false;
    if (node_int(s->n, "training_mode", 0))
        return step_refuse(s, "the gradient of batch norm in training mode is not known");
    Ox in[4];
    for (int i = 0; i < 4; i++)
        in[i] = by_channel(s, s->n->in[i + 1], rank);
    Ox epsilon = like_number(s->g, node_float(s->n, "epsilon", 1e-5), in[3]);
    Ox deviation = ox_g(s->g, "Sqrt", ox_g(s->g, "Add", in[3], epsilon));
    Ox y = ox_g(s->g, "Div", ox_g(s->g, "Sub", x, in[2]), deviation);
    y = ox_g(s->g, "Mul", y, in[0]);
    y = ox_g(s->g, "Add", y, in[1]);
    return step_through(s, ox_cast(s->g, y, ox_dtype(s->n->in[0])));
}

static bool global_average(Step *s)
{
    int rank;
    if (!step_rank(s, s->n->in[0], &rank))
        return false;
    Ox axes = axes_from(s, 2, rank);
    return step_through(s, ox_g(s->g, "ReduceMean", s->n->in[0], axes));
}

/* ---- Conv ---- */

/* The attributes of these names that n has. */
static size_t copied(const Node *n, const char *const *names, size_t count, Attr *out)
{
    size_t k = 0;
    for (size_t i = 0; i < count; i++)
        if (node_has(n, names[i]))
            out[k++] = *node_attr(n, names[i]);
    return k;
}

/* v in the size of x: where it ends earlier there are zeros, of elements that no window has seen;
 * where it ends later that was the border. */
static Ox in_size_of(Step *s, Ox v, Ox x)
{
    Dim pads[2 * MAX_RANK];
    int rank = ox_rank(x);
    bool any = false;
    for (int i = 0; i < 2 * rank; i++)
        pads[i] = dim_int(s->cx, 0);
    for (int i = 2; i < rank && ox_ok(v); i++) {
        pads[rank + i] = dim_sub(s->cx, ox_dim(x, i), ox_dim(v, i));
        any |= !dim_is(pads[rank + i], 0);
    }
    return any && ox_ok(v) ? ox_g(s->g, "Pad", v, ox_dims(s->g, pads, (size_t)(2 * rank))) : v;
}

static const char *const windows[] = { "dilations", "group", "kernel_shape", "pads", "strides" };

/* The sum over all axes but the channels. */
static Ox of_bias(Step *s, int rank)
{
    int64_t axes[MAX_RANK] = { 0 };
    for (int i = 2; i < rank; i++)
        axes[i - 1] = i;
    Ox over = ox_ints(s->g, axes, (size_t)(rank - 1));
    return ox_g_with(s->g, "ReduceSum", INPUTS(s->grad[0], over), INT("keepdims", 0));
}

/* How much of the border at the end the windows have seen depends on the size: none of it is cut
 * off here, in_size_of() does that. */
static bool border_only_in_front(Step *s, Attr *attr, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(attr[i].name, "pads") != 0)
            continue;
        int64_t *pads = new_array(s->cx, int64_t, attr[i].n);
        if (!pads)
            return false;
        for (size_t k = 0; k < attr[i].n / 2; k++)
            pads[k] = attr[i].ints[k];
        attr[i].ints = pads;
    }
    return true;
}

/* v, [N, group * C, ..], turned by perm as [N, group, C, ..], with the axes `join` and join + 1
 * made one. */
static Ox turned_groups(Step *s, Ox v, Dim group, const int64_t first[3], int join)
{
    Dim apart[MAX_RANK + 1];
    Dim dims[MAX_RANK];
    int64_t perm[MAX_RANK + 1];
    int rank = ox_rank(v);
    apart[0] = ox_dim(v, 0);
    apart[1] = group;
    apart[2] = dim_floordiv(s->cx, ox_dim(v, 1), group);
    for (int i = 2; i < rank; i++)
        apart[i + 1] = ox_dim(v, i);
    for (int i = 0; i <= rank; i++)
        perm[i] = i < 3 ? first[i] : i;
    for (int i = 0, at = 0; at < rank; i++, at++) {
        dims[at] = apart[perm[i]];
        if (i == join)
            dims[at] = dim_mul(s->cx, dims[at], apart[perm[++i]]);
    }
    if (ctx_failed(s->cx))
        return POISON;
    DType t = ox_dtype(v);
    Ox split = in_shape_of(s->g, v, type_tensor(s->cx, t, rank + 1, apart));
    Ox turned = ox_ok(split) ? transposed(s->g, split, perm, rank + 1) : POISON;
    return ox_ok(turned) ? in_shape_of(s->g, turned, type_tensor(s->cx, t, rank, dims)) : POISON;
}

/* The first two axes changed. */
static Ox first_axes_swapped(Step *s, Ox v)
{
    int64_t perm[MAX_RANK];
    int rank = ox_ok(v) ? ox_rank(v) : 0;
    for (int i = 0; i < rank; i++)
        perm[i] = i < 2 ? 1 - i : i;
    return rank > 1 ? transposed(s->g, v, perm, rank) : POISON;
}

/* v with no more numbers along its axes from 2 on than like has. */
static Ox cut_to(Step *s, Ox v, Ox like)
{
    Dim zeros[MAX_RANK];
    Dim ends[MAX_RANK];
    int64_t axes[MAX_RANK];
    size_t n = 0;
    int rank = ox_ok(v) ? ox_rank(v) : 0;
    for (int i = 2; i < rank; i++) {
        if (dim_eq(s->cx, ox_dim(v, i), ox_dim(like, i)) == YES)
            continue;
        zeros[n] = dim_int(s->cx, 0);
        ends[n] = ox_dim(like, i);
        axes[n++] = i;
    }
    if (n == 0)
        return v;
    Ox from = ox_dims(s->g, zeros, n);
    Ox to = ox_dims(s->g, ends, n);
    Ox along = ox_ints(s->g, axes, n);
    return ox_g(s->g, "Slice", v, from, to, along);
}

/* The attributes of the convolution that gives a weight's gradient: what was between two windows is
 * between two of its numbers, and the other way round. */
static size_t swapped_steps(const Node *n, Attr *out)
{
    static const char *const kept[] = { "group", "pads", "strides", "dilations" };
    size_t count = copied(n, kept, COUNT(kept), out);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(out[i].name, "strides") == 0)
            out[i].name = "dilations";
        else if (strcmp(out[i].name, "dilations") == 0)
            out[i].name = "strides";
    }
    return count;
}

/* The gradient of the weight, [O, C / group, ..], of a Conv: `image` is its input, `windows` the
 * gradient of its result. Each number of the weight is a sum over all windows of the batch: a
 * convolution of the image with the windows' gradients, for which the batch is the channels. Of a
 * ConvTranspose the two have changed places. */
static Ox of_weight(Step *s, Ox image, Ox seen)
{
    Attr attr[4];
    Ox weight = s->n->in[1];
    int64_t groups = node_int(s->n, "group", 1);
    size_t n = swapped_steps(s->n, attr);
    if (ox_rank(image) + 1 > MAX_RANK)
        return POISON;
    if (groups == 1) {
        image = first_axes_swapped(s, image);
        seen = first_axes_swapped(s, seen);
    } else {
        Dim group = dim_int(s->cx, groups);
        image = turned_groups(s, image, group, (int64_t[]){ 2, 1, 0 }, 1);
        seen = turned_groups(s, seen, group, (int64_t[]){ 1, 2, 0 }, 0);
    }
    if (!ox_ok(image) || !ox_ok(seen))
        return POISON;
    Ox sums = first_axes_swapped(s, ox_make(s->g, "Conv", INPUTS(image, seen), attr, n));
    Ox cut = cut_to(s, sums, weight);
    return ox_ok(cut) ? in_shape_of(s->g, cut, weight->type) : POISON;
}

/* Conv takes windows apart and ConvTranspose puts them together, with the same weight. */
static bool convolved(Step *s)
{
    Attr attr[COUNT(windows)];
    size_t n = copied(s->n, windows, COUNT(windows), attr);
    bool forward = node_is(s->n, "Conv");
    Ox x = s->n->in[0];
    int rank;
    if (!step_rank(s, x, &rank))
        return false;
    if (strcmp(node_str(s->n, "auto_pad", "NOTSET"), "NOTSET") != 0)
        return step_refuse(s, "the gradient of auto_pad is not known");
    Ox image = forward ? x : s->grad[0];
    Ox seen = forward ? s->grad[0] : x;
    if (step_wants(s, 1) && !step_gives(s, 1, of_weight(s, image, seen)))
        return false;
    if (step_wants(s, 2) && !step_gives(s, 2, of_bias(s, rank)))
        return false;
    if (!step_wants(s, 0))
        return true;
    const char *back = forward ? "ConvTranspose" : "Conv";
    if (forward && !border_only_in_front(s, attr, n))
        return false;
    Ox dx = ox_make(s->g, back, INPUTS(s->grad[0], s->n->in[1]), attr, n);
    return step_gives(s, 0, forward && ox_ok(dx) ? in_size_of(s, dx, x) : dx);
}

const GradientRow gradient_nn[] = {
    { "LayerNormalization", layer_norm },
    { "RMSNormalization", layer_norm },
    { "InstanceNormalization", instance_norm },
    { "GroupNormalization", group_norm },
    { "BatchNormalization", batch_norm },
    { "GlobalAveragePool", global_average },
    { "Conv", convolved },
    { "ConvTranspose", convolved },
    { 0 },
};
