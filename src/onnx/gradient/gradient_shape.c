/* gradient_shape.c - gradients of operators that move elements and compute none: each element's
 * gradient goes back to the place it came from, and those of copies are summed. */
#include "onnx/gradient/internal.h"

/* ---- the same elements in another shape ---- */

static bool reshaped(Step *s)
{
    Ox x = s->n->in[0];
    int rank;
    return step_rank(s, x, &rank) && step_gives(s, 0, in_shape_of(s->g, s->grad[0], x->type));
}

static bool turned_back(Step *s)
{
    int64_t perm[MAX_RANK];
    const int64_t *forward;
    size_t n;
    int rank;
    if (!step_rank(s, s->n->in[0], &rank))
        return false;
    bool given = node_ints(s->n, "perm", &forward, &n);
    for (int i = 0; i < rank; i++)
        perm[given ? forward[i] : rank - 1 - i] = i;
    return step_gives(s, 0, transposed(s->g, s->grad[0], perm, rank));
}

static bool cast_back(Step *s) { return step_gives(s, 0, s->grad[0]); }

/* pixel_shuffle, as it is made of a Reshape that splits the channels, a Transpose and a Reshape:
 * [N, C b b, H, W] as [N, C, b, b, H, W], then [N, C, H, b, W, b]. */
static bool from_depth(Step *s)
{
    Ox x = s->n->in[0];
    Dim split[6];
    int rank;
    if (!step_rank(s, x, &rank))
        return false;
    if (strcmp(node_str(s->n, "mode", "DCR"), "CRD") != 0)
        return step_refuse(s, "the gradient of DepthToSpace in the mode DCR is not known");
    Dim block = dim_int(s->cx, node_int(s->n, "blocksize", 1));
    split[0] = ox_dim(x, 0);
    split[1] = dim_floordiv(s->cx, ox_dim(x, 1), dim_mul(s->cx, block, block));
    split[2] = split[3] = block;
    split[4] = ox_dim(x, 2);
    split[5] = ox_dim(x, 3);
    if (ctx_failed(s->cx))
        return false;
    Ox apart = in_shape_of(s->g, x, type_tensor(s->cx, ox_dtype(x), 6, split));
    Ox mixed = ox_ok(apart) ? transposed(s->g, apart, (int64_t[]){ 0, 1, 4, 2, 5, 3 }, 6) : POISON;
    return step_through(s, in_shape_of(s->g, mixed, s->n->out[0]->type));
}

/* ---- copies ---- */

/* summed_to(), which the walk does, is all that Expand needs. */
static bool expanded(Step *s) { return step_gives(s, 0, s->grad[0]); }

/* An axis of d elements repeated r times is [r, d]: the sum over r. */
static bool tiled(Step *s)
{
    const Dim *times;
    int64_t n, axes[MAX_RANK];
    Dim split[2 * MAX_RANK];
    Ox x = s->n->in[0];
    int rank;
    if (!step_rank(s, x, &rank))
        return false;
    if (!ox_items(s->n->in[1], &times, &n) || n != rank || 2 * rank > MAX_RANK)
        return step_refuse(s, "how often it repeats is not known");
    for (int i = 0; i < rank; i++) {
        split[2 * i] = times[i];
        split[2 * i + 1] = ox_dim(x, i);
        axes[i] = 2 * i;
    }
    Ox shape = ox_dims(s->g, split, (size_t)(2 * rank));
    Ox apart = ox_g_with(s->g, "Reshape", INPUTS(s->grad[0], shape), INT("allowzero", 1));
    Ox over = ox_ints(s->g, axes, (size_t)rank);
    return step_gives(s, 0, ox_g_with(s->g, "ReduceSum", INPUTS(apart, over), INT("keepdims", 0)));
}

/* ---- parts ---- */

/* grad between zeros on one axis: `before` of them, and after it as many as make x's size. */
static Ox between_zeros(Step *s, Ox grad, Type x, int axis, Dim before)
{
    Dim pads[2 * MAX_RANK];
    int rank = x->rank;
    Dim none = dim_int(s->cx, 0);
    for (int i = 0; i < 2 * rank; i++)
        pads[i] = none;
    pads[axis] = before;
    pads[rank + axis] = dim_sub(s->cx, x->dim[axis], dim_add(s->cx, before, ox_dim(grad, axis)));
    if (ctx_failed(s->cx))
        return POISON;
    if (dim_is(pads[axis], 0) && dim_is(pads[rank + axis], 0))
        return grad;
    return ox_g(s->g, "Pad", grad, ox_dims(s->g, pads, (size_t)(2 * rank)));
}

/* Rows `rows` (1-D int64) of an axis of x are grad's; those named twice are summed. */
static Ox rows_of_zeros(Step *s, Ox grad, Type x, int axis, Ox rows)
{
    int64_t perm[MAX_RANK];
    int rank = x->rank;
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    perm[0] = axis;
    perm[axis] = 0; /* its own inverse */
    Ox front = transposed(s->g, grad, perm, rank);
    Ox zeros = transposed(s->g, zeros_of(s->g, x), perm, rank);
    Ox at = ox_g(s->g, "Unsqueeze", rows, ox_ints(s->g, (int64_t[]){ -1 }, 1));
    Ox sum = ox_g_with(s->g, "ScatterND", INPUTS(zeros, at, front),
                       STRING("reduction", str_of(s->cx, "add")));
    return ox_ok(sum) ? transposed(s->g, sum, perm, rank) : POISON;
}

/* One axis of a Slice: item i of its inputs. */
typedef struct Cut {
    int axis;
    Dim start; /* NULL: not known as a size */
    int64_t step;
} Cut;

/* False where the axes or steps are not known, or there is no such axis. */
static bool cut_of(Step *s, int i, int rank, Cut *out)
{
    const int64_t *axes;
    const Dim *starts;
    const int64_t *steps;
    int64_t n;
    *out = (Cut){ .axis = i, .step = 1 };
    if (step_in(s, 3)) {
        if (!ox_known_ints(s->g, s->n->in[3], &axes, &n) || i >= n)
            return false;
        out->axis = (int)(axes[i] < 0 ? axes[i] + rank : axes[i]);
    }
    if (step_in(s, 4)) {
        if (!ox_known_ints(s->g, s->n->in[4], &steps, &n) || i >= n)
            return false;
        out->step = steps[i];
    }
    if (ox_items(s->n->in[1], &starts, &n) && i < n)
        out->start = starts[i];
    return out->axis >= 0 && out->axis < rank;
}

/* Where the slice starts, when it is known to lie inside of the axis; else NULL. */
static Dim start_inside(Ctx *cx, Dim start, Dim size)
{
    if (!start)
        return NULL;
    if (dim_lt(cx, start, dim_int(cx, 0)) == YES)
        start = dim_add(cx, start, size);
    bool low = dim_le(cx, dim_int(cx, 0), start) == YES;
    return low && dim_le(cx, start, size) == YES ? start : NULL;
}

/* What a Slice along one axis takes: the same Slice of the axis's numbers says which rows. */
static Ox rows_taken(Step *s, Ox x, int i, int axis)
{
    Ox in[5] = { counted(s->g, ox_dim(x, axis)) };
    Ox item = ox_ints(s->g, (int64_t[]){ i }, 1);
    for (int k = 1; k < 5; k++)
        if (step_in(s, k))
            in[k] = ox_g(s->g, "Gather", s->n->in[k], item);
    in[3] = ox_ints(s->g, (int64_t[]){ 0 }, 1);
    return ox_make(s->g, "Slice", (OxList){ in, 5 }, NULL, 0);
}

/* Goes back one axis at a time: grad has x's size on those that are done. */
static bool sliced(Step *s)
{
    Ox x = s->n->in[0];
    Ox grad = s->grad[0];
    int64_t n;
    int rank;
    if (!step_rank(s, x, &rank))
        return false;
    if (ox_rank(s->n->in[1]) != 1 || !dim_known(ox_dim(s->n->in[1], 0), &n))
        return step_refuse(s, "how many axes it cuts is not known");
    for (int i = 0; i < n && ox_ok(grad); i++) {
        Dim size[MAX_RANK];
        Cut cut;
        if (!cut_of(s, i, rank, &cut))
            return step_refuse(s, "the axes or steps that it cuts are not known");
        for (int k = 0; k < rank; k++)
            size[k] = k == cut.axis ? ox_dim(x, k) : ox_dim(grad, k);
        Dim start = cut.step == 1 ? start_inside(s->cx, cut.start, ox_dim(x, cut.axis)) : NULL;
        Type whole = type_tensor(s->cx, ox_dtype(x), rank, size);
        grad = start ? between_zeros(s, grad, whole, cut.axis, start)
                     : rows_of_zeros(s, grad, whole, cut.axis, rows_taken(s, x, i, cut.axis));
    }
    return step_gives(s, 0, grad);
}

/* Part i of a Concat is as long as input i. */
static bool concatenated(Step *s)
{
    int rank;
    if (!step_rank(s, s->n->out[0], &rank))
        return false;
    int axis = axis_of(s->n, 0, rank);
    Ox axes = ox_ints(s->g, (int64_t[]){ axis }, 1);
    Dim at = dim_int(s->cx, 0);
    for (int i = 0; i < s->n->n_in; i++) {
        if (ox_rank(s->n->in[i]) != rank)
            return step_refuse(s, "the rank of a tensor is not known");
        Dim end = dim_add(s->cx, at, ox_dim(s->n->in[i], axis));
        if (!end)
            return false;
        if (step_wants(s, i)) {
            Ox from = ox_dims(s->g, &at, 1);
            Ox to = ox_dims(s->g, &end, 1);
            if (!step_gives(s, i, ox_g(s->g, "Slice", s->grad[0], from, to, axes)))
                return false;
        }
        at = end;
    }
    return true;
}

static bool split(Step *s)
{
    int rank;
    Ox *part = new_array(s->cx, Ox, s->n->n_out);
    if (!part || !step_rank(s, s->n->in[0], &rank))
        return false;
    for (int i = 0; i < s->n->n_out; i++)
        part[i] = step_grad(s, i);
    Attr axis = INT("axis", axis_of(s->n, 0, rank));
    return step_gives(s, 0,
                      ox_make(s->g, "Concat", (OxList){ part, (size_t)s->n->n_out }, &axis, 1));
}

/* ---- Pad ---- */

/* Of a border that repeats elements: the same Pad of an axis's numbers says which ones. */
static bool repeating_border(Step *s, const Dim *pads, int rank)
{
    Ox x = s->n->in[0];
    Ox grad = s->grad[0];
    Attr mode = STRING("mode", str_of(s->cx, node_str(s->n, "mode", "constant")));
    for (int i = 0; i < rank && ox_ok(grad); i++) {
        Dim size[MAX_RANK];
        if (dim_is(pads[i], 0) && dim_is(pads[rank + i], 0))
            continue;
        for (int k = 0; k < rank; k++)
            size[k] = k == i ? ox_dim(x, k) : ox_dim(grad, k);
        Type whole = type_tensor(s->cx, ox_dtype(x), rank, size);
        Ox both = ox_dims(s->g, (Dim[]){ pads[i], pads[rank + i] }, 2);
        Ox numbers = counted(s->g, ox_dim(x, i));
        Ox rows = ox_make(s->g, "Pad", INPUTS(numbers, both), &mode, 1);
        grad = rows_of_zeros(s, grad, whole, i, rows);
    }
    return step_gives(s, 0, grad);
}

/* The pads of every axis, first all at the front, then all at the end. */
static bool pads_of(Step *s, int rank, Dim *out)
{
    const Dim *items;
    const int64_t *axes = NULL;
    int64_t n;
    int64_t n_axes = rank;
    if (!ox_items(s->n->in[1], &items, &n))
        return false;
    if (step_in(s, 3) && !ox_known_ints(s->g, s->n->in[3], &axes, &n_axes))
        return false;
    for (int i = 0; i < 2 * rank; i++)
        out[i] = dim_int(s->cx, 0);
    for (int64_t i = 0; i < n_axes && n == 2 * n_axes; i++) {
        int64_t axis = axes ? axes[i] : i;
        axis += axis < 0 ? rank : 0;
        out[axis] = items[i];
        out[rank + axis] = items[n_axes + i];
    }
    return n == 2 * n_axes;
}

static bool padded(Step *s)
{
    Dim pads[2 * MAX_RANK];
    int rank;
    if (!step_rank(s, s->n->in[0], &rank))
        return false;
    if (!pads_of(s, rank, pads))
        return step_refuse(s, "how wide its border is is not known");
    if (step_wants(s, 2))
        return step_refuse(s, "the gradient of the number in its border is not known");
    if (strcmp(node_str(s->n, "mode", "constant"), "constant") != 0)
        return repeating_border(s, pads, rank);
    for (int i = 0; i < 2 * rank; i++)
        pads[i] = dim_sub(s->cx, dim_int(s->cx, 0), pads[i]);
    return step_gives(s, 0, ox_g(s->g, "Pad", s->grad[0], ox_dims(s->g, pads, (size_t)(2 * rank))));
}

const GradientRow gradient_shape[] = {
    { "Reshape", reshaped },
    { "Flatten", reshaped },
    { "Squeeze", reshaped },
    { "Unsqueeze", reshaped },
    { "Transpose", turned_back },
    { "Cast", cast_back },
    { "Expand", expanded },
    { "Tile", tiled },
    { "Slice", sliced },
    { "Concat", concatenated },
    { "Split", split },
    { "Pad", padded },
    { "DepthToSpace", from_depth },
    { 0 },
};
