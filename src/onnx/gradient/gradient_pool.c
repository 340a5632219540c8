/* gradient_pool.c - gradients of pooling, by formulas that have one: the largest number of a window
 * is picked by its index, and a mean is a convolution with ones over the number of those. */
#include "onnx/gradient/internal.h"

/* v as one axis. */
static Ox flat(Step *s, Ox v)
{
    return ox_g(s->g, "Reshape", v, ox_ints(s->g, (int64_t[]){ -1 }, 1));
}

/* ---- max ---- */

static bool max_pool(Step *s)
{
    Ox x = s->n->in[0];
    Ox out[2];
    int rank;
    if (!step_rank(s, x, &rank))
        return false;
    if (!ox_make_n(s->g, "MaxPool", INPUTS(x), s->n->attr, (size_t)s->n->n_attr, out, 2))
        return false;
    Ox all = flat(s, x);
    Ox where = flat(s, out[1]);
    Ox picked = ox_g_with(s->g, "GatherElements", INPUTS(all, where), INT("axis", 0));
    return ox_ok(picked) && step_through(s, in_shape_of(s->g, picked, s->n->out[0]->type));
}

static bool global_max_pool(Step *s)
{
    Ox x = s->n->in[0];
    int rank;
    if (!step_rank(s, x, &rank))
        return false;
    Dim copied = dim_int(s->cx, 0);
    Dim all = dim_product(s->cx, x->type->dim + 2, rank - 2); /* a -1 fails for a batch of 0 */
    Ox rows = ox_g(s->g, "Reshape", x, ox_dims(s->g, (Dim[]){ copied, copied, all }, 3));
    Ox where = ox_g_with(s->g, "ArgMax", INPUTS(rows), INT("axis", 2));
    Ox picked = ox_g_with(s->g, "GatherElements", INPUTS(rows, where), INT("axis", 2));
    return ox_ok(picked) && step_through(s, in_shape_of(s->g, picked, s->n->out[0]->type));
}

/* ---- average ---- */

/* What an AveragePool of n axes says of its windows. */
typedef struct Windows {
    int n;
    const int64_t *kernel, *strides, *dilations; /* NULL: 1 each */
    int64_t pads[2 * MAX_RANK];
    bool padded;
} Windows;

static int64_t item(const int64_t *list, int i) { return list ? list[i] : 1; }

/* Padding at the end up to where the last windows of ceil_mode end. False: a size is dynamic. */
static bool pad_for_ceil(Step *s, Windows *w)
{
    for (int i = 0; i < w->n; i++) {
        int64_t in, out;
        if (!dim_known(ox_dim(s->n->in[0], 2 + i), &in) ||
            !dim_known(ox_dim(s->n->out[0], 2 + i), &out))
            return step_refuse(s,
                               "the gradient of ceil_mode needs static sizes: give them with -i");
        int64_t reach = (out - 1) * item(w->strides, i) +
            (w->kernel[i] - 1) * item(w->dilations, i) + 1;
        int64_t more = reach - in - w->pads[i];
        if (more > w->pads[w->n + i])
            w->pads[w->n + i] = more;
    }
    return true;
}

/* What the node's attributes say, with ceil_mode as padding. False after an error or a refusal. */
static bool windows_of(Step *s, int rank, Windows *w)
{
    const Node *n = s->n;
    const int64_t *pads;
    size_t count = 0;
    *w = (Windows){ .n = rank - 2 };
    if (!node_ints(n, "kernel_shape", &w->kernel, &count) || (int)count != w->n ||
        strcmp(node_str(n, "auto_pad", "NOTSET"), "NOTSET") != 0)
        return step_refuse(s, "the gradient of auto_pad is not known");
    node_ints(n, "strides", &w->strides, &count);
    node_ints(n, "dilations", &w->dilations, &count);
    if (node_ints(n, "pads", &pads, &count))
        memcpy(w->pads, pads, count * sizeof *pads);
    if (node_int(n, "ceil_mode", 0) && !pad_for_ceil(s, w))
        return false;
    for (int i = 0; i < 2 * w->n; i++)
        w->padded = w->padded || w->pads[i] != 0;
    return true;
}

/* [1, 1, ..] of ones. */
static Ox ones(Step *s, Ox like, const Dim *size, int n)
{
    Dim dims[MAX_RANK];
    dims[0] = dims[1] = dim_int(s->cx, 1);
    for (int i = 0; i < n; i++)
        dims[2 + i] = size[i];
    return ox_g(s->g, "Expand", like_number(s->g, 1, like), ox_dims(s->g, dims, (size_t)n + 2));
}

/* The sum over each window of images, [M, 1, ..]. */
static Ox sums(Step *s, const Windows *w, Ox images)
{
    Dim kernel[MAX_RANK];
    size_t n = (size_t)w->n;
    for (int i = 0; i < w->n; i++)
        kernel[i] = dim_int(s->cx, w->kernel[i]);
    Ox weight = ones(s, images, kernel, w->n);
    Attr strides = w->strides ? INT_LIST("strides", w->strides, n) : NO_ATTR;
    Attr dilations = w->dilations ? INT_LIST("dilations", w->dilations, n) : NO_ATTR;
    return ox_g_with(s->g, "Conv", INPUTS(images, weight), INT_LIST("kernel_shape", w->kernel, n),
                     INT_LIST("pads", w->pads, 2 * n), strides, dilations);
}

/* How many numbers each window has the mean of. */
static Ox counts(Step *s, const Windows *w, Ox x)
{
    double area = 1;
    for (int i = 0; i < w->n; i++)
        area *= (double)w->kernel[i];
    if (!w->padded || node_int(s->n, "count_include_pad", 0))
        return like_number(s->g, area, x);
    return sums(s, w, ones(s, x, x->type->dim + 2, w->n));
}

/* Channels are images of their own. */
static bool average_pool(Step *s)
{
    Ox x = s->n->in[0];
    Windows w;
    Dim dims[MAX_RANK];
    int rank;
    if (!step_rank(s, x, &rank) || !windows_of(s, rank, &w))
        return false;
    dims[0] = dim_mul(s->cx, ox_dim(x, 0), ox_dim(x, 1));
    dims[1] = dim_int(s->cx, 1);
    for (int i = 2; i < rank; i++)
        dims[i] = ox_dim(x, i);
    if (ctx_failed(s->cx))
        return false;
    Ox images = in_shape_of(s->g, x, type_tensor(s->cx, ox_dtype(x), rank, dims));
    Ox sum = ox_ok(images) ? sums(s, &w, images) : POISON;
    Ox mean = ox_g(s->g, "Div", sum, counts(s, &w, x));
    return ox_ok(mean) && step_through(s, in_shape_of(s->g, mean, s->n->out[0]->type));
}

const GradientRow gradient_pool[] = {
    { "AveragePool", average_pool },
    { "GlobalMaxPool", global_max_pool },
    { "MaxPool", max_pool },
    { 0 },
};
