/* index.c - picking and placing elements by index: x[i, :, j], gather, masks.
 *
 * Reading x[i, :, j] with tensors i, j becomes one Gather where one axis is picked, else one
 * GatherND on x with the picked axes moved to the front; writing is the ScatterND of the same plan.
 * A bool mask is the indices of its true elements. */
#include "ops/internal.h"

#include <math.h>

/* ---- small helpers ---- */

Ox scalar_of(Op *op, const char *name, Ox like)
{
    return number_stored(op, arg_value(op, name), ox_dtype(like));
}

bool is_index(Op *op, Ox index, bool may_be_int32, const char *expected)
{
    if (!ox_ok(index))
        return false;
    DType t = ox_dtype(index);
    return t == DT_INT64 || (may_be_int32 && t == DT_INT32) ||
        fail(op->cx, E_VALUE, "%s, but got %s", expected, torch_dtype_name(t));
}

bool is_mask(Op *op, Ox mask, const char *expected)
{
    if (!ox_ok(mask))
        return false;
    DType t = ox_dtype(mask);
    return t == DT_BOOL || t == DT_UINT8 ||
        fail(op->cx, E_VALUE, "%s, but got mask with dtype %s", expected, torch_dtype_name(t));
}

bool ranks_known(Op *op, const Ox *at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int rank;
        if (!at[i] || !ox_ok(at[i]) || !need_rank(op, at[i], -1, &rank))
            return false;
    }
    return true;
}

/* ---- x[i, :, j] ---- */

/* Which axes of x are picked, by which indices, and where the picked axes stand in the result.
 * x[:, i, j] with i and j of shape [4]: n 2, axis 1 and 2, front 1, dim [4]. */
typedef struct Picks {
    int rank;           /* of x */
    int n;              /* how many axes are picked */
    int axis[MAX_RANK]; /* picked, ascending */
    Ox index[MAX_RANK]; /* int64, all broadcast to `dim` */
    int front;          /* where the broadcast axes stand in the result */
    int b_rank;
    Dim dim[MAX_RANK]; /* the broadcast shape */
} Picks;

static bool add_pick(Op *op, Picks *p, int axis, Ox index)
{
    if (axis >= p->rank)
        return fail(op->cx, E_VALUE, "too many indices for tensor of dimension %d", p->rank);
    p->axis[p->n] = axis;
    p->index[p->n++] = index;
    return true;
}

/* Has the mask the sizes of x's axes at, at+1, ..? False after PyTorch's error. */
static bool mask_fits(Op *op, Ox x, int at, Ox mask)
{
    if (at + ox_rank(mask) > ox_rank(x))
        return fail(op->cx, E_VALUE, "too many indices for tensor of dimension %d", ox_rank(x));
    for (int i = 0; i < ox_rank(mask); i++)
        if (surely_differ(op, ox_dim(mask, i), ox_dim(x, at + i)))
            return fail(op->cx, E_VALUE,
                        "The shape of the mask %s at index %d does not match the shape of the "
                        "indexed tensor %s at index %d",
                        shape_text(op, mask)->s, i, shape_text(op, x)->s, at + i);
    return true;
}

/* A bool mask over axes at, at+1, .. of x: one list of coordinates an axis. */
static bool add_mask(Op *op, Picks *p, Ox x, int at, Ox mask)
{
    int m = ox_rank(mask);
    if (m == 0)
        return op_refuse(op, "a mask of rank 0"), false;
    if (!mask_fits(op, x, at, mask))
        return false;
    Ox where = ox(op, "NonZero", mask); /* [m, count] */
    for (int i = 0; i < m; i++) {
        Ox row = ints(op, i);
        Ox one = ox_with(op, "Gather", INPUTS(where, row), INT("axis", 0));
        Ox axes = ints(op, 0);
        Ox flat = ox(op, "Squeeze", one, axes);
        if (!ox_ok(flat) || !add_pick(op, p, at + i, flat))
            return false;
    }
    return true;
}

/* Give the broadcast shape `rank` axes: those in front are 1. */
static void widen_picks(Op *op, Picks *p, int rank)
{
    int more = rank - p->b_rank;
    memmove(p->dim + more, p->dim, (size_t)p->b_rank * sizeof(Dim));
    for (int j = 0; j < more; j++)
        p->dim[j] = dim_int(op->cx, 1);
    p->b_rank = rank;
}

/* The common shape of all indices, in p->dim: [3, 1] and [4] give [3, 4]. */
static bool broadcast_picks(Op *op, Picks *p)
{
    for (int i = 0; i < p->n; i++) {
        int r = ox_rank(p->index[i]);
        if (r > p->b_rank)
            widen_picks(op, p, r);
        for (int j = 0; j < r; j++) {
            Dim *d = &p->dim[p->b_rank - r + j];
            if (!dim_broadcast(op->cx, *d, ox_dim(p->index[i], j), d))
                return fail(op->cx, E_VALUE,
                            "shape mismatch: indexing tensors could not be broadcast together");
        }
    }
    return true;
}

/* Add the index of *axis and move *axis behind the axes that it picks: one, or as many as a mask
 * has. NULL picks nothing: the `:` of x[:, i]. */
static bool add_index(Op *op, Picks *p, Ox x, int *axis, Ox index)
{
    int at = *axis;
    if (!index) {
        *axis = at + 1;
        return true;
    }
    if (ox_ok(index) && dtype_is_float(ox_dtype(index)) && dtype_is_assumable(op->cx, index))
        return assume_dtype(op->cx, index, DT_INT64, op->call->schema->name->s);
    if (!ranks_known(op, &index, 1))
        return false;
    DType t = ox_dtype(index);
    bool mask = t == DT_BOOL || t == DT_UINT8;
    *axis = at + (mask ? ox_rank(index) : 1);
    if (mask)
        return add_mask(op, p, x, at, ox_cast(op->g, index, DT_BOOL));
    if (t != DT_INT64 && t != DT_INT32)
        return fail(op->cx, E_VALUE,
                    "tensors used as indices must be long, int, byte or bool tensors");
    return add_pick(op, p, at, ox_cast(op->g, index, DT_INT64));
}

/* The plan of `indices` on a tensor of x's rank. false after an error. n = 0: nothing is picked. */
static bool plan_picks(Op *op, Ox x, Oxs indices, Picks *p)
{
    *p = (Picks){ .rank = ox_rank(x) };
    int axis = 0;
    for (size_t i = 0; i < indices.n; i++)
        if (!add_index(op, p, x, &axis, indices.at[i]))
            return false;
    if (!broadcast_picks(op, p))
        return false;
    bool adjacent = p->n > 0 && p->axis[p->n - 1] - p->axis[0] == p->n - 1;
    p->front = adjacent ? p->axis[0] : 0;
    return true;
}

/* perm[]: picked axes first, the others after them in order. */
static void picked_first(const Picks *p, int *perm)
{
    int at = 0;
    bool picked[MAX_RANK] = { 0 };
    for (int i = 0; i < p->n; i++) {
        perm[at++] = p->axis[i];
        picked[p->axis[i]] = true;
    }
    for (int i = 0; i < p->rank; i++)
        if (!picked[i])
            perm[at++] = i;
}

/* The coordinates that GatherND and ScatterND want: [broadcast shape, n]. */
static Ox coordinates(Op *op, const Picks *p)
{
    Ox parts[MAX_RANK];
    for (int i = 0; i < p->n; i++) {
        Ox full = expand_dims(op, p->index[i], p->dim, p->b_rank);
        parts[i] = unsqueeze_axis(op, full, p->b_rank);
    }
    return concat_axis(op, parts, (size_t)p->n, p->b_rank);
}

/* GatherND gives [broadcast, rest]; move the broadcast axes to p->front, where PyTorch has them.
 * inverse: from PyTorch's order to ScatterND's. */
static Ox move_picked(Op *op, const Picks *p, Ox x, bool inverse)
{
    int rest = p->rank - p->n;
    int rank = p->b_rank + rest;
    int perm[MAX_RANK], back[MAX_RANK];
    if (rank > MAX_RANK)
        return op_fail(op, E_VALUE, "an index result of rank %d", rank);
    for (int i = 0; i < rank; i++) {
        int from = i;
        if (i < p->front)
            from = p->b_rank + i;
        else if (i < p->front + p->b_rank)
            from = i - p->front;
        perm[i] = from;
        back[from] = i;
    }
    return permute_to(op, x, inverse ? back : perm, rank);
}

/* x at the picked places. */
static Ox pick(Op *op, Ox x, const Picks *p)
{
    if (p->n == 0)
        return x;
    if (p->n == 1)
        return ox_with(op, "Gather", INPUTS(x, p->index[0]), INT("axis", p->axis[0]));
    int perm[MAX_RANK];
    picked_first(p, perm);
    Ox moved = permute_to(op, x, perm, p->rank);
    Ox where = coordinates(op, p);
    return move_picked(op, p, ox(op, "GatherND", moved, where), false);
}

static Ox lower_index(Op *op)
{
    Ox x = arg(op, "self");
    Oxs indices = arg_list(op, "indices");
    Picks p;
    if (ctx_failed(op->cx))
        return POISON;
    if (indices.n == 0)
        return op_fail(op, E_VALUE, "at least one index must be provided");
    if (!ranks_known(op, &x, 1) || !plan_picks(op, x, indices, &p))
        return POISON;
    return pick(op, x, &p);
}

/* The mask that is the only index, and the axis of x that it begins at; NULL: another index stands
 * beside it, or there is none. Of x[:, m] it is m, and 1. */
static Ox only_mask(Oxs indices, int *at)
{
    Ox mask = NULL;
    for (size_t i = 0; i < indices.n; i++) {
        if (!indices.at[i])
            continue;
        if (mask || ox_dtype(indices.at[i]) != DT_BOOL)
            return NULL;
        mask = indices.at[i];
        *at = (int)i;
    }
    return mask;
}

/* x[mask] = one element: a Where, which need not look for the true elements. PyTorch takes the
 * number out of the tensor here, which so may have any type: x[x > 0] = torch.tensor(0). NULL when
 * the call is not of that form. */
static Ox put_by_mask(Op *op, Ox x, Oxs indices, Ox values)
{
    int at;
    Ox mask = only_mask(indices, &at);
    if (!mask || arg_bool(op, "accumulate") || !dim_is(type_numel(op->cx, values->type), 1))
        return NULL;
    if (!ranks_known(op, &mask, 1) || !mask_fits(op, x, at, mask))
        return POISON;
    int behind = ox_rank(x) - at - ox_rank(mask);
    for (int i = 0; i < behind; i++)
        mask = unsqueeze_axis(op, mask, ox_rank(mask));
    if (ox_rank(values) > ox_rank(x))
        values = reshape_to(op, values, NULL, 0);
    return ox(op, "Where", mask, ox_cast(op->g, values, ox_dtype(x)), x);
}

/* Values broadcast to the shape of x's picked places, as PyTorch orders its axes. perm:
 * picked_first()'s. */
static Ox expand_to_picked(Op *op, Ox x, const Picks *p, const int *perm, Ox values)
{
    Dim shape[MAX_RANK];
    int rank = p->b_rank + p->rank - p->n;
    if (rank > MAX_RANK)
        return op_fail(op, E_VALUE, "an index result of rank %d", rank);
    for (int i = 0; i < rank; i++) {
        if (i < p->front)
            shape[i] = ox_dim(x, perm[p->n + i]);
        else if (i < p->front + p->b_rank)
            shape[i] = p->dim[i - p->front];
        else
            shape[i] = ox_dim(x, perm[p->n + i - p->b_rank]);
    }
    if (ox_ok(values) && !may_expand(op, values, shape, rank))
        return op_fail(op, E_VALUE,
                       "shape mismatch: value tensor of shape %s cannot be broadcast to indexing "
                       "result of shape %s",
                       shape_text(op, values)->s, dims_text(op->cx, shape, rank)->s);
    return expand_dims(op, values, shape, rank);
}

/* ScatterND, which sets or adds. The sum of bools is whether any is true, computed in int32. */
static Ox scatter_nd(Op *op, Ox x, Ox where, Ox updates, bool add)
{
    if (!ox_ok(x) || !ox_ok(updates))
        return POISON;
    bool bools = add && ox_dtype(x) == DT_BOOL;
    if (bools) {
        x = ox_cast(op->g, x, DT_INT32);
        updates = ox_cast(op->g, updates, DT_INT32);
    }
    Attr reduction = add ? STRING("reduction", str_of(op->cx, "add")) : NO_ATTR;
    Ox put = ox_with(op, "ScatterND", INPUTS(x, where, updates), reduction);
    return bools ? ox_cast(op->g, put, DT_BOOL) : put;
}

/* x with `values`, broadcast, at the picked places; add: added to the elements that are there. */
static Ox put(Op *op, Ox x, const Picks *p, Ox values, bool add)
{
    int perm[MAX_RANK];
    if (p->n == 0)
        return op_refuse(op, "writing without an index");
    picked_first(p, perm);
    Ox full = expand_to_picked(op, x, p, perm, values);
    Ox updates = move_picked(op, p, full, true);
    Ox moved = permute_to(op, x, perm, p->rank);
    Ox where = coordinates(op, p);
    Ox put = scatter_nd(op, moved, where, updates, add);
    return permute_back(op, put, perm, p->rank);
}

/* x[indices] = values: a Where for x[mask] = one element, else ScatterND. */
static Ox lower_index_put(Op *op)
{
    Ox x = arg(op, "self");
    Ox values = arg(op, "values");
    Oxs indices = arg_list(op, "indices");
    if (ctx_failed(op->cx) || !ranks_known(op, (Ox[]){ x, values }, 2))
        return POISON;
    Ox simple = put_by_mask(op, x, indices, values);
    if (simple)
        return simple;
    if (ox_dtype(values) != ox_dtype(x))
        return op_fail(op, E_VALUE,
                       "Index put requires the source and destination dtypes match, got %s for the "
                       "destination and %s for the source.",
                       dtype_name(ox_dtype(x)), dtype_name(ox_dtype(values)));
    Picks p;
    if (!plan_picks(op, x, indices, &p))
        return POISON;
    return put(op, x, &p, values, arg_bool(op, "accumulate"));
}

/* ---- x[i, j] where a mask is true; elsewhere the indices may be out of range ---- */

/* The plan, with each index clipped to the range of its axis. */
static bool safe_picks(Op *op, Ox x, Picks *p)
{
    Oxs indices = arg_list(op, "indices");
    if (ctx_failed(op->cx) || !ranks_known(op, &x, 1) || !plan_picks(op, x, indices, p))
        return false;
    for (int i = 0; i < p->n; i++) {
        Dim size = ox_dim(x, p->axis[i]);
        Dim one = dim_int(op->cx, 1);
        Dim zero = dim_int(op->cx, 0);
        Ox low = ox_dim_value(op->g, dim_sub(op->cx, zero, size));
        Ox high = ox_dim_value(op->g, dim_sub(op->cx, size, one));
        Ox above = ox(op, "Max", p->index[i], low);
        p->index[i] = ox(op, "Min", above, high);
    }
    return !ctx_failed(op->cx);
}

static Ox lower_masked_index(Op *op)
{
    Ox x = arg(op, "self");
    Ox mask = arg_typed(op, "mask", DT_BOOL);
    Picks p;
    if (!ox_ok(mask) || !safe_picks(op, x, &p))
        return POISON;
    Ox found = pick(op, x, &p);
    Ox fill = scalar_of(op, "fill", x);
    return ox(op, "Where", ox_cast(op->g, mask, DT_BOOL), found, fill);
}

static Ox lower_masked_put(Op *op)
{
    Ox x = arg(op, "self");
    Ox mask = arg_typed(op, "mask", DT_BOOL);
    Ox values = arg(op, "values");
    Picks p;
    if (!ox_ok(mask) || !ox_ok(values) || !safe_picks(op, x, &p))
        return POISON;
    Ox zero = number_like(op, 0, x);
    Ox chosen = ox(op, "Where", ox_cast(op->g, mask, DT_BOOL), values, zero);
    return put(op, x, &p, chosen, true);
}

/* ---- along one axis ---- */

static Ox lower_index_select(Op *op)
{
    bool scalar;
    int axis;
    Ox x = arg(op, "self");
    Ox index = arg_typed(op, "index", DT_INT64);
    if (!ranks_known(op, (Ox[]){ x, index }, 2) || !arg_dim(op, "dim", ox_rank(x), &axis))
        return POISON;
    if (ox_rank(index) > 1)
        return op_fail(op, E_VALUE, "index_select(): Index is supposed to be a vector");
    x = at_least_1d(op, x, &scalar);
    Ox picked = ox_with(op, "Gather", INPUTS(x, flatten_to_1d(op, index)), INT("axis", axis));
    return scalar_again(op, picked, scalar);
}

/* See internal.h. A program may give an index of fewer dimensions, which PyTorch refuses. */
Ox trim_to(Op *op, Ox x, Ox like, int axis)
{
    int n = 0;
    int64_t axes[MAX_RANK], starts[MAX_RANK];
    Dim ends[MAX_RANK];
    if (!ox_ok(x) || !ox_ok(like))
        return POISON;
    if (ox_rank(x) > ox_rank(like))
        return op_fail(op, E_VALUE,
                       "Index tensor must have the same number of dimensions as the "
                       "tensors that it indexes");
    for (int i = 0; i < ox_rank(x); i++)
        if (i != axis && dim_eq(op->cx, ox_dim(x, i), ox_dim(like, i)) != YES) {
            axes[n] = i;
            starts[n] = 0;
            ends[n++] = ox_dim(like, i);
        }
    if (n == 0)
        return x;
    Ox from = ox_ints(op->g, starts, (size_t)n);
    Ox to = ox_dims(op->g, ends, (size_t)n);
    Ox at = ox_ints(op->g, axes, (size_t)n);
    return ox(op, "Slice", x, from, to, at);
}

int first_larger(Op *op, Ox index, Ox x, int axis)
{
    for (int i = 0; i < ox_rank(index); i++)
        if (i != axis && dim_lt(op->cx, ox_dim(x, i), ox_dim(index, i)) == YES)
            return i;
    return -1;
}

/* GatherElements. PyTorch's index may be smaller than x on the other axes, and a 0-d tensor
 * counts as one of a single element. */
static Ox lower_gather(Op *op)
{
    bool scalar, scalar_index;
    int axis;
    Ox x = arg(op, "self");
    Ox index = arg_typed(op, "index", DT_INT64);
    if (!is_index(op, index, true, "gather(): Expected dtype int32/int64 for index") ||
        !ranks_known(op, (Ox[]){ x, index }, 2) || !arg_dim(op, "dim", ox_rank(x), &axis))
        return POISON;
    if (dim_is(type_numel(op->cx, index->type), 0)) /* an empty index may have any rank */
        return expand_dims(op, number_like(op, 0, x), index->type->dim, ox_rank(index));
    x = at_least_1d(op, x, &scalar);
    index = at_least_1d(op, ox_cast(op->g, index, DT_INT64), &scalar_index);
    if (ox_rank(x) != ox_rank(index))
        return op_fail(op, E_VALUE,
                       "Index tensor must have the same number of dimensions as input tensor");
    int larger = first_larger(op, index, x, axis);
    if (larger >= 0)
        return op_fail(op, E_VALUE,
                       "Size does not match at dimension %d expected index %s to be no larger "
                       "than self %s apart from dimension %d",
                       larger, shape_text(op, index)->s, shape_text(op, x)->s, axis);
    Ox picked = ox_with(op, "GatherElements", INPUTS(trim_to(op, x, index, axis), index),
                        INT("axis", axis));
    return scalar_again(op, picked, scalar_index);
}

/* GatherElements after broadcasting x and the index to each other on all axes but `dim`; without
 * `dim`, of both flattened. */
static Ox lower_take_along_dim(Op *op)
{
    Ox x = arg(op, "self");
    Ox index = arg_typed(op, "indices", DT_INT64);
    if (!is_index(op, index, false, "torch.take_along_dim(): dtype of indices should be Long") ||
        !ranks_known(op, (Ox[]){ x, index }, 2))
        return POISON;
    if (!arg_given(op, "dim")) {
        Ox all = flatten_to_1d(op, x);
        Ox where = flatten_to_1d(op, index);
        return ox_with(op, "GatherElements", INPUTS(all, where), INT("axis", 0));
    }
    int axis;
    if (!arg_dim(op, "dim", ox_rank(x), &axis))
        return POISON;
    if (ox_rank(x) != ox_rank(index))
        return op_fail(op, E_VALUE,
                       "take_along_dim: input and indices must have the same number of dimensions");
    Dim xs[MAX_RANK], is[MAX_RANK];
    for (int i = 0; i < ox_rank(x); i++) {
        xs[i] = ox_dim(x, i);
        is[i] = ox_dim(index, i);
        Dim both;
        if (i == axis)
            continue;
        if (!dim_broadcast(op->cx, xs[i], is[i], &both))
            return op_fail(op, E_VALUE, "take_along_dim: the sizes of axis %d differ", i);
        xs[i] = both;
        is[i] = both;
    }
    Ox wide = expand_dims(op, x, xs, ox_rank(x));
    Ox where = expand_dims(op, index, is, ox_rank(index));
    return ox_with(op, "GatherElements", INPUTS(wide, where), INT("axis", axis));
}

static Ox lower_take(Op *op)
{
    Ox x = arg(op, "self");
    Ox index = arg_typed(op, "index", DT_INT64);
    if (!ranks_known(op, (Ox[]){ x, index }, 2))
        return POISON;
    if (ox_dtype(index) != DT_INT64)
        return op_fail(op, E_VALUE, "take(): Expected a long tensor for index, but got %s",
                       torch_dtype_name(ox_dtype(index)));
    return ox_with(op, "Gather", INPUTS(flatten_to_1d(op, x), index), INT("axis", 0));
}

/* ---- masks ---- */

static Ox lower_masked_fill(Op *op)
{
    Ox x = arg(op, "self");
    Ox mask = arg_typed(op, "mask", DT_BOOL);
    if (!ox_ok(x) || !is_mask(op, mask, "masked_fill_ only supports boolean masks"))
        return POISON;
    if (arg_rank(op, "value") > 0)
        return op_fail(op, E_VALUE,
                       "masked_fill_ only supports a 0-dimensional value tensor, but got tensor "
                       "with %d dimension(s).",
                       arg_rank(op, "value"));
    Ox value = scalar_of(op, "value", x);
    return ox(op, "Where", ox_cast(op->g, mask, DT_BOOL), value, x);
}

bool mask_shape(Op *op, Ox x, Ox mask, Dim *d, int *rank)
{
    Dim one = dim_int(op->cx, 1);
    *rank = ox_rank(x) > ox_rank(mask) ? ox_rank(x) : ox_rank(mask);
    for (int i = 0; i < *rank; i++) {
        int a = i - (*rank - ox_rank(x));
        int b = i - (*rank - ox_rank(mask));
        Dim size = a < 0 ? one : ox_dim(x, a);
        Dim mask_size = b < 0 ? one : ox_dim(mask, b);
        if (!dim_broadcast(op->cx, size, mask_size, &d[i]))
            return fail(op->cx, E_VALUE,
                        "The shape of the mask at axis %d does not match the shape of the tensor",
                        i);
    }
    return true;
}

/* The elements where the mask is true, 1-D: NonZero and Gather of both broadcast and flattened. */
static Ox lower_masked_select(Op *op)
{
    Ox x = arg(op, "self");
    Ox mask = arg_typed(op, "mask", DT_BOOL);
    Dim d[MAX_RANK];
    int rank;
    if (!ranks_known(op, (Ox[]){ x, mask }, 2))
        return POISON;
    if (ox_dtype(mask) != DT_BOOL && ox_dtype(mask) != DT_UINT8) /* bytes: up to PyTorch 2.0 */
        return op_fail(op, E_VALUE, "masked_select: expected BoolTensor for mask");
    if (!mask_shape(op, x, mask, d, &rank))
        return POISON;
    x = flatten_to_1d(op, expand_dims(op, x, d, rank));
    mask = flatten_to_1d(op, expand_dims(op, mask, d, rank));
    Ox where = ox(op, "NonZero", ox_cast(op->g, mask, DT_BOOL));
    Ox axes = ints(op, 0);
    Ox list = ox(op, "Squeeze", where, axes);
    return ox_with(op, "Gather", INPUTS(x, list), INT("axis", 0));
}

/* x in a type for which runtimes have NonZero: itself, or cast to bool. */
static Ox as_searchable(Op *op, Ox x)
{
    DType t = ox_dtype(x);
    return t == DT_FLOAT || t == DT_INT64 || t == DT_INT32 || t == DT_UINT8
        ? x
        : ox_cast(op->g, x, DT_BOOL);
}

/* The indices of the elements that are not 0: [count, rank]; of a 0-d tensor [0 or 1, 0]. */
static Ox lower_nonzero(Op *op)
{
    bool scalar;
    Ox x = arg(op, "self");
    if (!ranks_known(op, &x, 1))
        return POISON;
    Ox where = ox(op, "NonZero", at_least_1d(op, as_searchable(op, x), &scalar));
    Ox list = permute_to(op, where, (const int[]){ 1, 0 }, 2);
    if (!scalar)
        return list;
    Ox start = ints(op, 0);
    Ox end = ints(op, 0);
    Ox axes = ints(op, 1);
    return ox(op, "Slice", list, start, end, axes);
}

/* The first `size` rows of nonzero(); where there are fewer, rows of fill_value follow. */
static Ox lower_nonzero_static(Op *op)
{
    Ox x = arg(op, "self");
    Ox list = lower_nonzero(op);
    Dim size = arg_dim_expr(op, "size");
    Dim zero = dim_int(op->cx, 0);
    if (!ox_ok(list))
        return POISON;
    if (dim_lt(op->cx, size, zero) == YES)
        return op_fail(op, E_VALUE, "nonzero_static: 'size' must be an non-negative integer");
    Dim rows[2] = { size, ox_dim(list, 1) };
    Ox fill = expand_dims(op, ox_int(op->g, arg_int(op, "fill_value")), rows, 2);
    Ox both = concat_axis(op, (const Ox[]){ list, fill }, 2, 0);
    Ox from = ox_dims(op->g, &zero, 1);
    Ox to = ox_dims(op->g, &size, 1);
    Ox axes = ints(op, 0);
    return ox_rank(x) == 0 ? reshape_to(op, expand_dims(op, ox_int(op->g, 0), rows, 2), rows, 2)
                           : ox(op, "Slice", both, from, to, axes);
}

/* One tensor of coordinates an axis: nonzero_numpy, where(condition). A 0-d tensor counts as
 * 1-d. */
static Value lower_nonzero_numpy(Op *op)
{
    bool scalar;
    Ox x = arg(op, op->row->text);
    if (!ranks_known(op, &x, 1))
        return val_poison();
    x = at_least_1d(op, as_searchable(op, x), &scalar);
    Ox where = ox(op, "NonZero", x);
    Oxs parts = { 0 };
    for (int i = 0; i < ox_rank(x); i++) {
        Ox row = ox_int(op->g, i);
        vec_push(op->cx, &parts, ox_with(op, "Gather", INPUTS(where, row), INT("axis", 0)));
    }
    return result_list(op, parts.at, parts.n);
}

/* tril, and triu (row->datum 1). */
static Ox lower_tri(Op *op)
{
    Ox x = arg(op, "self");
    Ox k = ox_dim_value(op->g, arg_dim_expr(op, "diagonal"));
    int rank;
    if (!need_rank(op, x, 2, &rank))
        return POISON;
    if (rank < 2)
        return op_fail(op, E_VALUE, "%s: input tensor must have at least 2 dimensions",
                       op->row->datum ? "triu" : "tril");
    return ox_with(op, "Trilu", INPUTS(x, k), INT("upper", op->row->datum));
}

OP_ROWS(index)
{
    LOWER(lower_index, NULL, PLAIN, "aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor");
    OLDER("aten::index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor");
    LOWER(lower_index, NULL, PLAIN,
          "aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor");
    LOWER(lower_index_put, NULL, PLAIN,
          "aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) "
          "-> Tensor",
          .fills = true);
    OLDER("aten::index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, bool "
          "accumulate=False) -> Tensor");
    LOWER(lower_index_put, NULL, PLAIN,
          "aten::_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool "
          "accumulate=False) -> Tensor");
    LOWER(lower_masked_index, NULL, PLAIN,
          "aten::_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> "
          "Tensor");
    LOWER(lower_masked_put, NULL, PLAIN,
          "aten::_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, "
          "Tensor values) -> Tensor");
    LOWER(lower_index_select, NULL, PLAIN,
          "aten::index_select(Tensor self, int dim, Tensor index) -> Tensor",
          .layout = LAYOUT_CONTIGUOUS);
    LOWER(lower_gather, NULL, PLAIN,
          "aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
          .layout = LAYOUT_CONTIGUOUS);
    LOWER(lower_take_along_dim, NULL, PLAIN,
          "aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor");
    LOWER(lower_take, NULL, PLAIN, "aten::take(Tensor self, Tensor index) -> Tensor");
    LOWER(lower_masked_fill, NULL, PLAIN,
          "aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
          .fills = true);
    LOWER(lower_masked_fill, NULL, PLAIN,
          "aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
          .fills = true);
    LOWER(lower_masked_select, NULL, PLAIN,
          "aten::masked_select(Tensor self, Tensor mask) -> Tensor");
    LOWER(lower_nonzero, NULL, PLAIN, "aten::nonzero(Tensor self) -> Tensor",
          .layout = LAYOUT_OWN_ORDER);
    LOWER(lower_nonzero, NULL, PLAIN, "aten::argwhere(Tensor self) -> Tensor",
          .layout = LAYOUT_OWN_ORDER);
    LOWER(lower_nonzero_static, NULL, PLAIN,
          "aten::nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor");
    OP_ROW(.kind = ROW_CALL, .schema = "aten::nonzero_numpy(Tensor self) -> Tensor[]",
           .call = lower_nonzero_numpy, .text = "self");
    OP_ROW(.kind = ROW_CALL, .schema = "aten::where(Tensor condition) -> Tensor[]",
           .call = lower_nonzero_numpy, .text = "condition");
    FAMILY(lower_tri, 0, NULL, PLAIN, "aten::tril(Tensor self, int diagonal=0) -> Tensor",
           .fills = true);
    FAMILY(lower_tri, 1, NULL, PLAIN, "aten::triu(Tensor self, int diagonal=0) -> Tensor",
           .fills = true);
}
