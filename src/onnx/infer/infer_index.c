/* infer_index.c - operators that pick elements by their place, and those that make a tensor from
 * nothing but sizes. A size that only data decides (how many are not zero, how many are unique)
 * becomes a fresh symbol whose origin is that axis of the output. */
#include "onnx/infer/infer.h"

static DType first_type(const Node *n) { return ox_dtype(n->in[0]); }
static bool same_first(Node *n) { return out_like(n, 0, first_type(n), n->in[0]); }
static bool same_second(Node *n) { return out_like(n, 0, first_type(n), n->in[1]); }

/* ---- Gather and Scatter ---- */

static void gather_items(Node *n)
{
    Ox x = n->in[0];
    const int64_t *at;
    int64_t count, out;
    Dim items[MAX_ITEMS];
    if (!x->items || ox_rank(x) != 1 || !may_have_items(n->out[0], &out) ||
        !node_in_ints(n, 1, &at, &count) || count != out)
        return;
    for (int64_t i = 0; i < count; i++)
        items[i] = item_at(x, at[i] < 0 ? at[i] + x->n_items : at[i]);
    out_items(n, 0, items, count);
}

/* Constant indices must be within the axis, where its size is known. */
static bool check_indices(Node *n, Dim axis_size, int axis)
{
    const int64_t *at;
    int64_t count, size;
    if (!dim_known(axis_size, &size) || !node_in_ints(n, 1, &at, &count))
        return true;
    for (int64_t i = 0; i < count; i++)
        if (at[i] < -size || at[i] >= size)
            return node_fail(n, "index %lld is out of bounds for dimension %d with size %lld",
                             (long long)at[i], axis, (long long)size);
    return true;
}

/* The axis gives way to all axes of the indices: x[5,6,7] by [2,3] on axis 1 is [5,2,3,7]. */
static bool infer_gather(Node *n)
{
    Shape x = shape_of(n->in[0]);
    Shape idx = shape_of(n->in[1]);
    Shape s = { .rank = -1 };
    int axis;
    if (x.rank < 0 || idx.rank < 0)
        return out_shape(n, 0, first_type(n), &s);
    if (!wrap_axis(n, node_int(n, "axis", 0), x.rank, &axis))
        return false;
    if (x.rank - 1 + idx.rank > MAX_RANK)
        return node_fail(n, "rank %d is more than %d", x.rank - 1 + idx.rank, MAX_RANK);
    s.rank = 0;
    for (int i = 0; i < axis; i++)
        s.d[s.rank++] = x.d[i];
    for (int i = 0; i < idx.rank; i++)
        s.d[s.rank++] = idx.d[i];
    for (int i = axis + 1; i < x.rank; i++)
        s.d[s.rank++] = x.d[i];
    if (!check_indices(n, x.d[axis], axis) || !out_shape(n, 0, first_type(n), &s))
        return false;
    gather_items(n);
    return true;
}

static bool infer_gather_elements(Node *n)
{
    Shape x = shape_of(n->in[0]);
    Shape idx = shape_of(n->in[1]);
    int axis;
    if (x.rank >= 0 && idx.rank >= 0 && x.rank != idx.rank)
        return node_fail(
            n, "Index tensor must have the same number of dimensions as input tensor: %d and %d",
            idx.rank, x.rank);
    if (x.rank >= 0 && !wrap_axis(n, node_int(n, "axis", 0), x.rank, &axis))
        return false;
    return same_second(n);
}

/* The indices without their last axis, then the axes of x that a row of indices leaves. */
static bool infer_gather_nd(Node *n)
{
    Shape x = shape_of(n->in[0]);
    Shape idx = shape_of(n->in[1]);
    Shape s = { .rank = -1 };
    int64_t depth, batch = node_int(n, "batch_dims", 0);
    if (x.rank < 0 || idx.rank < 1 || !dim_known(idx.d[idx.rank - 1], &depth))
        return out_shape(n, 0, first_type(n), &s);
    if (batch < 0 || batch + depth > x.rank || batch >= idx.rank)
        return node_fail(
            n, "indices of %lld items over %lld batch axes are more than the data's rank %d",
            (long long)depth, (long long)batch, x.rank);
    s.rank = 0;
    for (int i = 0; i < idx.rank - 1; i++)
        s.d[s.rank++] = idx.d[i];
    for (int i = (int)(batch + depth); i < x.rank; i++)
        s.d[s.rank++] = x.d[i];
    return out_shape(n, 0, first_type(n), &s);
}

/* ---- made from a shape ---- */

static void value_items(Node *n, const Const *k)
{
    int64_t count, v = 0;
    Dim items[MAX_ITEMS];
    if (!may_have_items(n->out[0], &count))
        return;
    if (k) {
        const void *at = const_data(node_cx(n), k);
        if (!at)
            return;
        v = k->dtype == DT_INT32 ? *(const int32_t *)at : *(const int64_t *)at;
    }
    for (int64_t i = 0; i < count; i++)
        items[i] = dim_int(node_cx(n), v);
    out_items(n, 0, items, count);
}

/* The shape is the input's items; the type that of the value, a float32 zero where there is none.
 */
static bool infer_constant_of_shape(Node *n)
{
    Shape s = { .rank = -1 };
    int64_t count;
    const Attr *value = node_attr(n, "value");
    DType t = value ? value->t->dtype : DT_FLOAT;
    if (!shape_count(n->in[0], &count))
        return out_shape(n, 0, t, &s);
    s.rank = (int)count;
    for (int i = 0; i < s.rank; i++) {
        int64_t v;
        s.d[i] = item_at(n->in[0], i);
        if (s.d[i] && dim_known(s.d[i], &v) && v < 0)
            return node_fail(n, "negative dimension %lld", (long long)v);
    }
    if (!out_partial(n, 0, t, &s))
        return false;
    value_items(n, value ? value->t : NULL);
    return true;
}

/* ceil((limit - start) / delta), not below 0. As the runtime computes it: in double for floats. */
static Dim range_count(Node *n)
{
    Ctx *cx = node_cx(n);
    Dim start = item_at(n->in[0], 0);
    Dim limit = item_at(n->in[1], 0);
    Dim delta = item_at(n->in[2], 0);
    double a, b, d;
    int64_t step;
    if (start && limit && delta && dim_known(delta, &step) && step != 0 && step != INT64_MIN) {
        bool up = step > 0;
        Dim way = up ? dim_sub(cx, limit, start) : dim_sub(cx, start, limit);
        Dim size = dim_int(cx, up ? step : -step);
        Dim count = way ? dim_ceildiv(cx, way, size) : NULL;
        return count ? dim_max(cx, dim_int(cx, 0), count) : NULL;
    }
    if (!ox_known_scalar(n->graph, n->in[0], &a) || !ox_known_scalar(n->graph, n->in[1], &b) ||
        !ox_known_scalar(n->graph, n->in[2], &d) || d == 0)
        return NULL;
    double count = (b - a) / d;
    count = count > 0 ? count : 0;
    int64_t whole = count < 9e15 ? (int64_t)count : 0;
    if (!(count < 9e15))
        return NULL;
    return dim_int(cx, whole + ((double)whole < count));
}

static bool infer_range(Node *n)
{
    Shape s = { .rank = 1, .d = { range_count(n) } };
    int64_t count;
    Dim items[MAX_ITEMS];
    Dim start = item_at(n->in[0], 0);
    Dim delta = item_at(n->in[2], 0);
    if (!out_partial(n, 0, first_type(n), &s))
        return false;
    if (!start || !delta || !dim_known(delta, NULL) || !may_have_items(n->out[0], &count))
        return true;
    for (int64_t i = 0; i < count; i++)
        items[i] = i ? dim_add(node_cx(n), items[i - 1], delta) : start;
    out_items(n, 0, items, count);
    return true;
}

static bool infer_eye_like(Node *n)
{
    if (!need_rank_of(n, n->in[0], "the input", 2, 2))
        return false;
    return out_like(n, 0, (DType)node_int(n, "dtype", first_type(n)), n->in[0]);
}

/* OneHot(indices, depth, values) */
static bool infer_one_hot(Node *n)
{
    Shape x = shape_of(n->in[0]);
    Shape s = { .rank = -1 };
    int axis;
    if (x.rank < 0)
        return out_shape(n, 0, ox_dtype(n->in[2]), &s);
    if (x.rank == MAX_RANK)
        return node_fail(n, "rank %d is more than %d", x.rank + 1, MAX_RANK);
    if (!wrap_axis(n, node_int(n, "axis", -1), x.rank + 1, &axis))
        return false;
    double v;
    Dim depth = item_at(n->in[1], 0);
    if (!depth && ox_known_scalar(n->graph, n->in[1], &v))
        depth = dim_int(node_cx(n), whole_part(v));
    s.rank = x.rank + 1;
    for (int i = 0, k = 0; i < s.rank; i++)
        s.d[i] = i == axis ? depth : x.d[k++];
    return out_partial(n, 0, ox_dtype(n->in[2]), &s);
}

/* ---- what data decides ---- */

/* Not zero: how many is known for constants, otherwise at most all. */
static int64_t count_non_zero(Node *n)
{
    const Const *k = n->in[0]->kind == OX_CONST ? n->in[0]->k : NULL;
    Data d;
    int64_t count = 0;
    if (!k || const_numel(k) > FOLD_NUMEL || !dtype_size(k->dtype) ||
        !const_to_data(node_cx(n), k, &d))
        return -1;
    size_t size = dtype_size(d.dtype);
    for (int64_t i = 0; i < d.numel; i++)
        count += !item_is_zero(d.dtype, (const uint8_t *)d.at + (size_t)i * size);
    return count;
}

/* [rank, count]: the count is known for a constant, else between 0 and the number of elements. */
static bool infer_non_zero(Node *n)
{
    Shape x = shape_of(n->in[0]);
    Shape s = { .rank = 2 };
    Shape fresh = { .rank = 2 };
    Ctx *cx = node_cx(n);
    int64_t count = count_non_zero(n);
    int64_t lo;
    int64_t most = DIM_MAX;
    if (ctx_failed(cx))
        return false;
    if (x.rank >= 0) {
        Dim all = dim_product(cx, x.d, x.rank);
        if (all)
            dim_range(cx, all, &lo, &most);
    }
    s.d[0] = x.rank < 0 ? fresh_in(n, 0, MAX_RANK) : dim_int(cx, x.rank);
    s.d[1] = count >= 0 ? dim_int(cx, count) : (fresh.d[1] = fresh_in(n, 0, most));
    if (!out_shape(n, 0, DT_INT64, &s))
        return false;
    set_origins(n, 0, &fresh);
    return true;
}

/* Compress(x, condition): keeps where the condition holds, along an axis or of all. */
static bool infer_compress(Node *n)
{
    Shape x = shape_of(n->in[0]);
    int axis;
    if (!node_has(n, "axis"))
        x = (Shape){ .rank = 1 };
    else if (x.rank >= 0) {
        if (!wrap_axis(n, node_int(n, "axis", 0), x.rank, &axis))
            return false;
        x.d[axis] = NULL;
    }
    return out_partial(n, 0, first_type(n), &x);
}

/* Unique(x) -> values, indices, inverse, counts */
static bool infer_unique(Node *n)
{
    Shape x = shape_of(n->in[0]);
    Shape y = x;
    Shape fresh = { .rank = 0 };
    int axis = 0;
    bool flat = !node_has(n, "axis");
    if (flat)
        y = (Shape){ .rank = 1 };
    else if (x.rank >= 0 && !wrap_axis(n, node_int(n, "axis", 0), x.rank, &axis))
        return false;
    Dim u = fresh_in(n, 0, DIM_MAX);
    Dim all;
    if (x.rank < 0)
        all = fresh_in(n, 0, DIM_MAX);
    else
        all = flat ? dim_product(node_cx(n), x.d, x.rank) : x.d[axis];
    if (y.rank >= 0) {
        y.d[axis] = u;
        fresh.rank = y.rank;
        fresh.d[axis] = u;
    }
    Shape per = { .rank = 1, .d = { u } };
    Shape inverse = { .rank = 1, .d = { all } };
    if (!out_shape(n, 0, first_type(n), &y) || !out_shape(n, 1, DT_INT64, &per) ||
        !out_shape(n, 2, DT_INT64, &inverse) || !out_shape(n, 3, DT_INT64, &per))
        return false;
    set_origins(n, 0, &fresh);
    return true;
}

const InferRow infer_index[] = { { "Compress", infer_compress },
                                 { "ConstantOfShape", infer_constant_of_shape },
                                 { "EyeLike", infer_eye_like },
                                 { "Gather", infer_gather },
                                 { "GatherElements", infer_gather_elements },
                                 { "GatherND", infer_gather_nd },
                                 { "NonZero", infer_non_zero },
                                 { "OneHot", infer_one_hot },
                                 { "Range", infer_range },
                                 { "ReverseSequence", same_first },
                                 { "ScatterElements", same_first },
                                 { "ScatterND", same_first },
                                 { "TensorScatter", same_first },
                                 { "Trilu", same_first },
                                 { "Unique", infer_unique },
                                 { 0 } };
