/* infer_reduce.c - operators that work along axes: reductions, ArgMax, softmax, running sums,
 * TopK. */
#include "onnx/infer/infer.h"

static bool same_first(Node *n) { return out_like(n, 0, ox_dtype(n->in[0]), n->in[0]); }

/* The axis attribute must be an axis; the shape stays. */
static bool same_along_axis(Node *n)
{
    int axis, r = ox_rank(n->in[0]);
    if (r > 0 && !wrap_axis(n, node_int(n, "axis", -1), r, &axis))
        return false;
    return same_first(n);
}

/* Which axes go: true in drop[]. *known is false when data decides. */
static bool reduced_axes(Node *n, int rank, bool *drop, bool *known)
{
    Ox axes = node_in(n, 1);
    const int64_t *at = NULL;
    int64_t count = 0;
    size_t n_attr = 0;
    *known = true;
    if (!axes && node_ints(n, "axes", &at, &n_attr))
        count = (int64_t)n_attr;
    else if (axes && !node_in_ints(n, 1, &at, &count)) {
        int64_t size;
        *known = ox_rank(axes) == 1 && dim_known(ox_dim(axes, 0), &size) && size == 0;
        if (!*known)
            return true;
    }
    if (count == 0) {
        bool all = !node_int(n, "noop_with_empty_axes", 0);
        for (int i = 0; i < rank; i++)
            drop[i] = all;
        return true;
    }
    for (int64_t i = 0; i < count; i++) {
        int axis;
        if (!wrap_axis(n, at[i], rank, &axis))
            return false;
        drop[axis] = true;
    }
    return true;
}

/* Near int64's end sums wrap; dims do not. Folding does those. */
static bool tame(Dim d)
{
    int64_t v;
    return !dim_known(d, &v) || (v >= INT32_MIN && v <= INT32_MAX);
}

static Dim join_items(Ctx *cx, const char *op, Dim a, Dim b)
{
    if (!a || !b || !tame(a) || !tame(b))
        return NULL;
    static const struct {
        const char *op;
        Dim (*join)(Ctx *cx, Dim a, Dim b);
    } joins[] = {
        { "ReduceProd", dim_mul },
        { "ReduceSum", dim_add },
        { "ReduceMax", dim_max },
        { "ReduceMin", dim_min },
    };
    for (size_t i = 0; i < COUNT(joins); i++)
        if (!strcmp(op, joins[i].op))
            return joins[i].join(cx, a, b);
    return NULL;
}

/* Contents: the sum, product, least or largest of all items of a vector. */
static void reduce_items(Node *n)
{
    Ox x = n->in[0];
    int64_t count, one;
    const char *op = n->op->name;
    bool takes = !strcmp(op, "ReduceProd") || !strcmp(op, "ReduceSum") ||
        !strcmp(op, "ReduceMax") || !strcmp(op, "ReduceMin");
    if (!takes || !x->items || !may_have_items(x, &count) || count == 0 ||
        !may_have_items(n->out[0], &one))
        return;
    Dim acc = item_at(x, 0);
    for (int64_t i = 1; i < count; i++)
        acc = join_items(node_cx(n), op, acc, item_at(x, i));
    out_items(n, 0, &acc, 1);
}

/* Axes that are data leave every size unknown, and without keepdims the rank too. */
static bool infer_reduce_op(Node *n)
{
    Shape x = shape_of(n->in[0]);
    Shape s = { .rank = 0 };
    bool drop[MAX_RANK] = { false };
    bool known;
    bool keep = node_int(n, "keepdims", 1) != 0;
    DType t = ox_dtype(n->in[0]);
    if (x.rank >= 0 && !reduced_axes(n, x.rank, drop, &known))
        return false;
    if (x.rank < 0 || (!known && !keep)) {
        s.rank = -1;
        return out_shape(n, 0, t, &s);
    }
    Shape fresh = { .rank = 0 };
    for (int i = 0; i < x.rank; i++) {
        if (!known) {
            s.d[s.rank] = fresh.d[s.rank] = fresh_in(n, 0, DIM_MAX);
            fresh.rank = ++s.rank;
        } else if (!drop[i] || keep)
            s.d[s.rank++] = drop[i] ? dim_int(node_cx(n), 1) : x.d[i];
    }
    if (!out_shape(n, 0, t, &s))
        return false;
    set_origins(n, 0, &fresh);
    if (known && x.rank == 1 && drop[0])
        reduce_items(n);
    return true;
}

static bool infer_arg_extreme(Node *n)
{
    Shape x = shape_of(n->in[0]);
    Shape s = { .rank = 0 };
    int axis;
    if (x.rank < 0)
        return out_shape(n, 0, DT_INT64, &x);
    if (!wrap_axis(n, node_int(n, "axis", 0), x.rank, &axis))
        return false;
    if (dim_is(x.d[axis], 0))
        return node_fail(n, "axis %d is empty: there is no largest or smallest item", axis);
    for (int i = 0; i < x.rank; i++)
        if (i != axis || node_int(n, "keepdims", 1))
            s.d[s.rank++] = i == axis ? dim_int(node_cx(n), 1) : x.d[i];
    return out_shape(n, 0, DT_INT64, &s);
}

/* Values and indices of the k largest along an axis */
static bool infer_topk(Node *n)
{
    Shape x = shape_of(n->in[0]);
    Shape fresh = { .rank = 0 };
    int axis = 0;
    if (x.rank >= 0) {
        if (!wrap_axis(n, node_int(n, "axis", -1), x.rank, &axis))
            return false;
        Dim k = item_at(n->in[1], 0);
        Dim size = x.d[axis];
        int64_t v;
        if (k && dim_known(k, &v) && v < 0)
            return node_fail(n, "k is %lld", (long long)v);
        if (k && dim_lt(node_cx(n), size, k) == YES)
            return node_fail(n, "selected index k out of range: k is %s, axis %d has %s",
                             dim_text(node_cx(n), k)->s, axis, dim_text(node_cx(n), size)->s);
        x.d[axis] = k ? k : fresh_in(n, 0, DIM_MAX);
        if (!k)
            fresh = (Shape){ .rank = axis + 1, .d[0] = NULL }, fresh.d[axis] = x.d[axis];
    }
    if (!out_shape(n, 0, ox_dtype(n->in[0]), &x) || !out_shape(n, 1, DT_INT64, &x))
        return false;
    set_origins(n, 0, &fresh);
    return true;
}

const InferRow infer_reduce[] = { { "ArgMax", infer_arg_extreme },
                                  { "ArgMin", infer_arg_extreme },
                                  { "CumProd", same_first },
                                  { "CumSum", same_first },
                                  { "Hardmax", same_along_axis },
                                  { "LogSoftmax", same_along_axis },
                                  { "LpNormalization", same_along_axis },
                                  { "ReduceL1", infer_reduce_op },
                                  { "ReduceL2", infer_reduce_op },
                                  { "ReduceLogSum", infer_reduce_op },
                                  { "ReduceLogSumExp", infer_reduce_op },
                                  { "ReduceMax", infer_reduce_op },
                                  { "ReduceMean", infer_reduce_op },
                                  { "ReduceMin", infer_reduce_op },
                                  { "ReduceProd", infer_reduce_op },
                                  { "ReduceSum", infer_reduce_op },
                                  { "ReduceSumSquare", infer_reduce_op },
                                  { "Softmax", same_along_axis },
                                  { "TopK", infer_topk },
                                  { 0 } };
