/* legal_index.c - counting, picking and ordering before opset 11: Range, Trilu, CumSum,
 * GatherElements, TopK.
 *
 * One idea: an older opset counts with NonZero: n ones are at 0, 1, .., n-1, whatever n is; with
 * that a mask, a running sum and a place in flat memory are plain arithmetic. */
#include "tidy/legal/legal.h"

#include <math.h>

/* ---- counting ---- */

Ox one_axis(Graph *g, int64_t axis) { return ox_ints(g, (int64_t[]){ axis }, 1); }

Ox permuted(Graph *g, Ox x, const int64_t *perm, int rank)
{
    return ox_g_with(g, "Transpose", INPUTS(x), INT_LIST("perm", perm, (size_t)rank));
}

Ox swapped_with_last(Graph *g, Ox x, int axis)
{
    int64_t perm[MAX_RANK];
    int rank = ox_rank(x);
    if (axis == rank - 1 || !ox_ok(x))
        return x;
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    perm[axis] = rank - 1;
    perm[rank - 1] = axis;
    return permuted(g, x, perm, rank);
}

/* How many numbers Range gives: ceil((limit - start) / delta), none when that is negative; as
 * int64[1]. */
static Ox range_count(Graph *g, Ox start, Ox limit, Ox delta)
{
    Ox way = ox_g(g, "Sub", limit, start), n;
    if (dtype_is_float(ox_dtype(start))) {
        Ox steps = ox_g(g, "Div", way, delta);
        Ox whole = ox_g(g, "Ceil", steps);
        n = ox_cast(g, whole, DT_INT64);
    } else { /* integer division truncates: what is left of the way is one more step */
        Ox steps = ox_g(g, "Div", way, delta);
        Ox back = ox_g(g, "Mul", steps, delta);
        Ox rest = ox_g(g, "Sub", way, back);
        Ox zero = ox_number(g, ox_dtype(start), 0);
        Ox product = ox_g(g, "Mul", rest, delta);
        Ox more = ox_g(g, "Greater", product, zero);
        Ox one = ox_cast(g, more, ox_dtype(start));
        Ox all = ox_g(g, "Add", steps, one);
        n = ox_cast(g, all, DT_INT64);
    }
    Ox some = ox_g(g, "Max", n, ox_int(g, 0));
    return ox_g(g, "Unsqueeze", some, one_axis(g, 0));
}

/* 0, 1, .., n-1 for n as int64[1] */
static Ox count_to(Graph *g, Ox n)
{
    Ox ones = ox_g(g, "Expand", ox_int(g, 1), n);
    Ox at = ox_g(g, "NonZero", ones);
    return ox_g(g, "Squeeze", at, one_axis(g, 0));
}

Verdict legal_range(Legal *l, Node *n, Ox *out)
{
    (void)l;
    Graph *g = n->graph;
    DType t = ox_dtype(n->in[0]);
    Ox length = range_count(g, n->in[0], n->in[1], n->in[2]);
    Ox at = count_to(g, length);
    Ox steps = ox_cast(g, at, t);
    Ox far = ox_g(g, "Mul", steps, n->in[2]);
    out[0] = ox_g(g, "Add", far, n->in[0]);
    return CHANGED;
}

/* 0, 1, .. along an axis of a matrix, as [n, 1] or [1, n] */
static Ox counting(Graph *g, Dim n, bool down)
{
    Ox end = ox_dim_value(g, n);
    Ox zero = ox_int(g, 0);
    Ox one = ox_int(g, 1);
    Ox run = ox_g(g, "Range", zero, end, one);
    return ox_g(g, "Unsqueeze", run, one_axis(g, down ? 1 : 0));
}

/* ---- masks ---- */

/* The triangle is where column - row reaches k. */
Verdict legal_trilu(Legal *l, Node *n, Ox *out)
{
    (void)l;
    Graph *g = n->graph;
    Ox x = n->in[0];
    Ox k = in_of(n, 1);
    int rank = ox_rank(x);
    if (rank < 2)
        return AS_IT_IS;
    Ox row = counting(g, ox_dim(x, rank - 2), true);
    Ox column = counting(g, ox_dim(x, rank - 1), false);
    if (!k)
        k = ox_int(g, 0);
    k = ox_g(g, "Reshape", k, ox_ints(g, NULL, 0));
    Ox edge = ox_g(g, "Add", row, k);
    Ox outside = ox_g(g, node_int(n, "upper", 1) ? "Less" : "Greater", column, edge);
    Ox zero = ox_dtype(x) == DT_BOOL ? ox_bool(g, false) : ox_number(g, ox_dtype(x), 0);
    out[0] = ox_g(g, "Where", outside, zero, x);
    return CHANGED;
}

/* `infinite` where the sum of the triangle's column has a number that is not ordinary, else 0. */
static Ox infinite_behind(Graph *g, Ox ordinary, Ox triangle, double infinite)
{
    DType t = ox_dtype(triangle);
    Ox zero = ox_number(g, t, 0);
    Ox met = ox_cast(g, ox_g(g, "Not", ordinary), t);
    Ox count = ox_g(g, "MatMul", met, triangle);
    Ox some = ox_g(g, "Greater", count, zero);
    return ox_g(g, "Where", some, ox_number(g, t, infinite), zero);
}

/* Sums of x over the triangle's columns. Infinity times 0 is no number, so the product is that of
 * the finite numbers, and the infinities are added to it: both of them where there is a NaN, as
 * their sum is one. */
static Ox sums_of_columns(Graph *g, Ox x, Ox triangle)
{
    DType t = ox_dtype(x);
    if (!dtype_is_float(t))
        return ox_g(g, "MatMul", x, triangle);
    Ox below = ox_g(g, "Less", x, ox_number(g, t, INFINITY));
    Ox above = ox_g(g, "Greater", x, ox_number(g, t, -INFINITY));
    Ox is_finite = ox_g(g, "And", below, above);
    Ox finite = ox_g(g, "Where", is_finite, x, ox_number(g, t, 0));
    Ox sum = ox_g(g, "MatMul", finite, triangle);
    sum = ox_g(g, "Add", sum, infinite_behind(g, below, triangle, INFINITY));
    return ox_g(g, "Add", sum, infinite_behind(g, above, triangle, -INFINITY));
}

/* A running sum is a product with a triangle of ones. The sum of a long axis would be a large
 * one. */
Verdict legal_cumsum(Legal *l, Node *n, Ox *out)
{
    enum { LONGEST = 512 };
    Graph *g = n->graph;
    Ox x = n->in[0];
    DType t = ox_dtype(x);
    const int64_t *at;
    int64_t count, extent, rank = ox_rank(x);
    if (rank < 1 || !ox_known_ints(g, n->in[1], &at, &count) || count != 1)
        return AS_IT_IS;
    int64_t axis = at[0] < 0 ? at[0] + rank : at[0];
    if (axis < 0 || axis >= rank || (dim_known(ox_dim(x, (int)axis), &extent) && extent > LONGEST))
        return AS_IT_IS;
    bool back = node_int(n, "reverse", 0) != 0;
    bool exclusive = node_int(n, "exclusive", 0) != 0;
    Dim length = ox_dim(x, (int)axis);
    Ox from = counting(g, length, true);
    Ox to = counting(g, length, false);
    Ox strictly = ox_g(g, back == exclusive ? "Greater" : "Less", from, to);
    Ox inside = exclusive ? strictly : ox_g(g, "Not", strictly);
    Ox triangle = ox_cast(g, inside, t);
    Ox turned = swapped_with_last(g, x, (int)axis);
    Ox sum = sums_of_columns(g, turned, triangle);
    out[0] = swapped_with_last(g, sum, (int)axis);
    (void)l;
    return CHANGED;
}

/* ---- picking and ordering ---- */

/* Where each item of the indices' shape would be in x's flat memory if its index along `axis` were
 * 0. */
static Ox places(Graph *g, const int64_t *shape, const int64_t *of, int rank, int axis)
{
    int64_t numel = numel_of_ints(rank, shape);
    int64_t *at = new_array(g->cx, int64_t, numel + 1);
    if (!at)
        return POISON;
    for (int64_t k = 0; k < numel; k++) {
        int64_t rest = k;
        int64_t stride = 1;
        for (int i = rank - 1; i >= 0; i--) {
            at[k] += i == axis ? 0 : rest % shape[i] * stride;
            rest /= shape[i];
            stride *= of[i];
        }
    }
    return ox_const(g, const_make(g->cx, DT_INT64, rank, shape, at));
}

static bool static_shape(Ox x, int64_t *shape)
{
    for (int i = 0; i < ox_rank(x); i++)
        if (!dim_known(ox_dim(x, i), &shape[i]))
            return false;
    return ox_rank(x) > 0;
}

/* places() for dynamic sizes: counts along the other axes, times their strides, added up. */
static Ox dynamic_places(Graph *g, Ox x, Ox index, int axis, Ox *stride_of_axis)
{
    int rank = ox_rank(x);
    Dim stride = dim_int(g->cx, 1);
    Ox at = ox_int(g, 0);
    for (int i = rank - 1; i >= 0; i--) {
        Ox step = ox_dim_value(g, stride);
        if (i == axis) {
            *stride_of_axis = step;
        } else {
            int64_t others[MAX_RANK];
            for (int k = 0, n = 0; k < rank; k++)
                if (k != i)
                    others[n++] = k;
            Ox zero = ox_int(g, 0);
            Ox end = ox_dim_value(g, ox_dim(index, i));
            Ox run = ox_g(g, "Range", zero, end, ox_int(g, 1));
            Ox far = ox_g(g, "Mul", run, step);
            Ox along = rank > 1 ? ox_g(g, "Unsqueeze", far, ox_ints(g, others, (size_t)rank - 1))
                                : far;
            at = ox_g(g, "Add", at, along);
        }
        stride = dim_mul(g->cx, stride, ox_dim(x, i));
    }
    return at;
}

/* ---- picking ---- */

/* Is this bound of a Range known to be no less than 0? */
static bool never_negative(Ctx *cx, Ox bound)
{
    const Dim *item;
    int64_t n;
    return ox_items(bound, &item, &n) && n == 1 && dim_le(cx, dim_int(cx, 0), item[0]) == YES;
}

/* Gather by a Range: ONNX Runtime 1.31's GatherToSliceFusion makes it a Slice of the same bounds,
 * where one below 0 counts from the end (x[arange(n - 1, -1, -1)] becomes nothing). It does not
 * look through a Neg, so a Range that may have such bounds counts with the other sign. */
Verdict legal_gather(Legal *l, Node *n, Ox *out)
{
    Graph *g = n->graph;
    Ox index = n->in[1], bound[3];
    if (!l->ort || index->kind != OX_NODE || !node_is(index->node, "Range"))
        return AS_IT_IS;
    const Node *range = index->node;
    if (never_negative(l->cx, range->in[0]) && never_negative(l->cx, range->in[1]))
        return AS_IT_IS;
    for (int i = 0; i < 3; i++)
        bound[i] = ox_g(g, "Neg", range->in[i]);
    Ox places = ox_g(g, "Neg", ox_g(g, "Range", bound[0], bound[1], bound[2]));
    out[0] = ox_g_with(g, "Gather", INPUTS(n->in[0], places), INT("axis", node_int(n, "axis", 0)));
    return ox_ok(out[0]) ? CHANGED : REFUSED;
}

/* GatherElements before 11 is a Gather of x as one flat axis. Where all sizes are known the
 * coordinates along the other axes are a constant. */
Verdict legal_gather_elements(Legal *l, Node *n, Ox *out)
{
    enum { MOST = 1 << 20 };
    (void)l;
    Graph *g = n->graph;
    Ox x = n->in[0];
    Ox index = ox_cast(g, n->in[1], DT_INT64);
    Ox step = NULL;
    Ox others;
    int64_t shape[MAX_RANK], of[MAX_RANK];
    int64_t stride = 1;
    int64_t numel = 1;
    int64_t axis = node_int(n, "axis", 0);
    int rank = ox_rank(x);
    if (rank < 1 || ox_rank(index) != rank)
        return AS_IT_IS;
    axis += axis < 0 ? rank : 0;
    bool known = static_shape(x, of) && static_shape(index, shape);
    if (known && (!strides_fit(g->cx, rank, of) || !strides_fit(g->cx, rank, shape)))
        return REFUSED;
    if (known)
        for (int i = 0; i < rank; i++) {
            stride *= i > axis ? of[i] : 1;
            numel *= shape[i];
        }
    if (known && numel <= MOST) {
        step = ox_int(g, stride);
        others = places(g, shape, of, rank, (int)axis);
    } else {
        others = dynamic_places(g, x, index, (int)axis, &step);
    }
    Ox size = ox_dim_value(g, ox_dim(x, (int)axis));
    Ox below = ox_g(g, "Less", index, ox_int(g, 0));
    Ox wrapped = ox_g(g, "Add", index, size);
    Ox from = ox_g(g, "Where", below, wrapped, index);
    Ox far = ox_g(g, "Mul", from, step);
    Ox at = ox_g(g, "Add", far, others);
    Ox flat = ox_g(g, "Reshape", x, one_axis(g, -1));
    out[0] = ox_g_with(g, "Gather", INPUTS(flat, at), INT("axis", 0));
    return CHANGED;
}

/* TopK before 11 has no `largest`: the smallest items of x are the largest of -x. It takes only
 * floats; legal_types.c casts ints that a double holds. */
Verdict legal_topk(Legal *l, Node *n, Ox *out)
{
    Graph *g = n->graph;
    Ox x = n->in[0], pair[2];
    if (node_int(n, "largest", 1) || !dtype_is_float(ox_dtype(x)))
        return AS_IT_IS;
    Ox turned = ox_g(g, "Neg", x);
    const Attr attr[] = { INT("axis", node_int(n, "axis", -1)),
                          INT("sorted", node_int(n, "sorted", 1)) };
    if (!ox_make_n(g, "TopK", INPUTS(turned, n->in[1]), attr, COUNT(attr), pair, 2))
        return ctx_failed(l->cx) ? REFUSED : AS_IT_IS;
    out[0] = ox_g(g, "Neg", pair[0]);
    out[1] = pair[1];
    return CHANGED;
}
