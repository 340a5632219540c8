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

/* With a mean and variance that are given. */
static bool batch_norm(Step *s)
{
    Ox x = s->n->in[0];
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
    return step_through(s, ox_g(s->g, "Add", y, in[1]));
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
    if (step_wants(s, 1))
        return step_refuse(s, "the gradient of its weight is not known");
    if (strcmp(node_str(s->n, "auto_pad", "NOTSET"), "NOTSET") != 0)
        return step_refuse(s, "the gradient of auto_pad is not known");
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
