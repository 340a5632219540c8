/* gradient_resize.c - the gradient of Resize.
 *
 * Each axis is resized by itself, and that is a product with a matrix of weights: row i says how
 * much of pixel i each pixel of the result has. What Resize makes of the unit matrix is that
 * matrix, in every mode and at every size, and the gradient is the product with the matrix turned
 * round. */
#include "onnx/gradient/internal.h"

/* [1, 1, n, n]: ones where row and column are the same. */
static Ox unit_matrix(Step *s, Dim n, Ox like)
{
    Ox row = counted(s->g, n);
    Ox column = ox_g(s->g, "Unsqueeze", row, ox_ints(s->g, (int64_t[]){ 1 }, 1));
    Ox same = ox_g(s->g, "Equal", column, row);
    if (!ox_ok(same))
        return POISON;
    Ox unit = ox_cast(s->g, same, ox_dtype(like));
    return ox_g(s->g, "Unsqueeze", unit, ox_ints(s->g, (int64_t[]){ 0, 1 }, 2));
}

/* The scale of an axis, [1]. */
static Ox scale_of_axis(Step *s, int axis)
{
    Ox from = ox_ints(s->g, (int64_t[]){ axis }, 1);
    Ox to = ox_ints(s->g, (int64_t[]){ axis + 1 }, 1);
    return ox_g(s->g, "Slice", step_in(s, 2), from, to);
}

/* `scales` for a matrix whose last axis has that of `axis`. */
static Ox scales_of_axis(Step *s, int axis)
{
    Ox own = scale_of_axis(s, axis);
    Ox one = ox_number(s->g, DT_FLOAT, 1);
    Ox ones = ox_g(s->g, "Expand", one, ox_ints(s->g, (int64_t[]){ 3 }, 1));
    return ox_g_with(s->g, "Concat", INPUTS(ones, own), INT("axis", 0));
}

/* The weights of an axis of x, [n, m]. */
static Ox weights_of_axis(Step *s, Ox x, int axis)
{
    Dim one = dim_int(s->cx, 1);
    Dim n = ox_dim(x, axis);
    Dim m = ox_dim(s->n->out[0], axis);
    Ox unit = unit_matrix(s, n, x);
    Ox scales = step_in(s, 2) ? scales_of_axis(s, axis) : NULL;
    Ox sizes = scales ? NULL : ox_dims(s->g, (const Dim[]){ one, one, n, m }, 4);
    Ox resized = ox_make(s->g, "Resize", INPUTS(unit, NULL, scales, sizes), s->n->attr,
                         (size_t)s->n->n_attr);
    if (!ox_ok(resized))
        return POISON;
    return in_shape_of(s->g, resized, type_tensor(s->cx, ox_dtype(x), 2, (const Dim[]){ n, m }));
}

/* Is the axis left as it is? By sizes where its own stays, by scales where that is 1. */
static bool keeps_axis(Step *s, Ox x, int axis)
{
    double scale;
    if (!step_in(s, 2))
        return dim_eq(s->cx, ox_dim(x, axis), ox_dim(s->n->out[0], axis)) == YES;
    Ox own = scale_of_axis(s, axis);
    return ox_ok(own) && ox_known_scalar(s->g, own, &scale) && scale == 1;
}

/* grad times the weights of an axis, turned round. */
static Ox back_along(Step *s, Ox grad, Ox weights, int axis, int rank)
{
    int64_t perm[MAX_RANK];
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    perm[axis] = rank - 1;
    perm[rank - 1] = axis;
    Ox turned = ox_ok(grad) ? transposed(s->g, grad, perm, rank) : POISON;
    Ox product = ox_g(s->g, "MatMul", turned, last_axes_swapped(s->g, weights));
    return ox_ok(product) ? transposed(s->g, product, perm, rank) : POISON;
}

/* The gradient goes back along the axes that were resized, one after the other. */
static bool resized(Step *s)
{
    Ox x = s->n->in[0];
    Ox grad = s->grad[0];
    int rank;
    if (!step_rank(s, x, &rank))
        return false;
    if (step_in(s, 1) || node_has(s->n, "axes") || node_has(s->n, "keep_aspect_ratio_policy"))
        return step_refuse(s, "the gradient of Resize with a region or axes is not known");
    for (int i = 0; i < rank; i++)
        if (!keeps_axis(s, x, i))
            grad = back_along(s, grad, weights_of_axis(s, x, i), i, rank);
    return step_gives(s, 0, grad);
}

const GradientRow gradient_resize[] = {
    { "Resize", resized },
    { 0 },
};
