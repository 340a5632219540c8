/* infer_shape.c - operators that move, pick, join and cut: their output shapes follow from
 * contents. A size that is in the contents of an input (Reshape's shape, Slice's ends) is taken as
 * the dimension expression it is; a size that only data decides becomes a fresh symbol whose origin
 * is that axis of the output. */
#include "onnx/infer/infer.h"

static DType first_type(const Node *n) { return ox_dtype(n->in[0]); }

/* The items of x go on unchanged, in order, as many as fit. */
static void pass_items(Node *n)
{
    Ox x = n->in[0];
    if (x->items)
        out_items(n, 0, x->items, x->n_items);
}

/* ---- Shape, Size ---- */

static int64_t within(int64_t v, int64_t lo, int64_t hi)
{
    if (v > hi)
        return hi;
    return v < lo ? lo : v;
}

/* Shape: its result is the input's sizes from start to end, which both may count from the back. */
static bool infer_shape_op(Node *n)
{
    Shape x = shape_of(n->in[0]);
    Shape s = { .rank = 1 };
    if (x.rank < 0) {
        s.d[0] = fresh_in(n, 0, MAX_RANK);
        return out_shape(n, 0, DT_INT64, &s);
    }
    int64_t start = node_int(n, "start", 0);
    int64_t end = node_int(n, "end", x.rank);
    start = within(start < 0 ? start + x.rank : start, 0, x.rank);
    end = within(end < 0 ? end + x.rank : end, start, x.rank);
    s.d[0] = dim_int(node_cx(n), end - start);
    if (!out_shape(n, 0, DT_INT64, &s))
        return false;
    out_items(n, 0, x.d + start, end - start);
    return true;
}

static bool infer_size(Node *n)
{
    Shape x = shape_of(n->in[0]);
    Shape s = { .rank = 0 };
    if (!out_shape(n, 0, DT_INT64, &s))
        return false;
    if (x.rank >= 0) {
        Dim count = dim_product(node_cx(n), x.d, x.rank);
        out_items(n, 0, &count, 1);
    }
    return true;
}

/* ---- Reshape, Flatten, Squeeze, Unsqueeze, Transpose ---- */

static Str shape_text(Node *n, const Shape *s)
{
    Buf b = buf_new(node_cx(n));
    buf_str(&b, "[");
    for (int i = 0; i < s->rank; i++) {
        buf_str(&b, i ? ", " : "");
        buf_str(&b, s->d[i] ? dim_text(node_cx(n), s->d[i])->s : "?");
    }
    buf_str(&b, "]");
    return buf_done(&b);
}

/* Extents that are on both sides cancel: what is left says more about the rest. A left-out 0 makes
 * no difference here: with an empty tensor either side is empty, and -1 beside a 0 is refused by
 * every runtime. */
static void cancel(Ctx *cx, Shape *a, Shape *b)
{
    for (int i = 0; i < a->rank; i++)
        for (int k = 0; k < b->rank; k++)
            if (!dim_is(a->d[i], 0) && dim_eq(cx, a->d[i], b->d[k]) == YES) {
                a->d[i--] = a->d[--a->rank];
                b->d[k] = b->d[--b->rank];
                break;
            }
}

/* The extent for -1, from all others: numel(x) / product(others). */
static bool reshape_rest(Node *n, const Shape *x, const Shape *to, int hole, Dim *out)
{
    Ctx *cx = node_cx(n);
    Shape have = *x;
    Shape rest = { .rank = 0 };
    int64_t v;
    for (int i = 0; i < to->rank; i++)
        if (i != hole)
            rest.d[rest.rank++] = to->d[i];
    for (int i = 0; i < rest.rank; i++)
        if (dim_is(rest.d[i], 0))
            return node_fail(n,
                             "cannot reshape tensor of 0 elements into shape %s because the "
                             "unspecified dimension size -1 can be any value and is ambiguous",
                             shape_text(n, to)->s);
    cancel(cx, &have, &rest);
    Dim total = dim_product(cx, have.d, have.rank);
    Dim part = dim_product(cx, rest.d, rest.rank);
    if (!total || !part)
        return false;
    if (dim_divide(cx, total, part, out))
        return true;
    if (dim_known(total, &v) && dim_known(part, &v))
        return node_fail(n, "shape %s is invalid for input of size %s", shape_text(n, to)->s,
                         dim_text(cx, dim_product(cx, x->d, x->rank))->s);
    *out = dim_floordiv(cx, total, part); /* the program says that it divides */
    return *out != NULL;
}

static bool reshape_check(Node *n, const Shape *x, const Shape *to)
{
    Ctx *cx = node_cx(n);
    Shape a = *x;
    Shape b = *to;
    cancel(cx, &a, &b);
    Dim have = dim_product(cx, a.d, a.rank);
    Dim want = dim_product(cx, b.d, b.rank);
    if (!have || !want)
        return false;
    return dim_require(cx, have, want, "shape '%s' is invalid for input of shape %s",
                       shape_text(n, to)->s, shape_text(n, x)->s);
}

/* Reads the shape that a Reshape asks for. *hole: the axis of a -1, whose size stays NULL, or -1;
 * a 0 keeps the input's size unless allowzero is set. False after an error. */
static bool reshape_wanted(Node *n, const Shape *x, Shape *to, int *hole)
{
    int64_t v;
    bool keeps = node_int(n, "allowzero", 0) == 0;
    *hole = -1;
    for (int i = 0; i < to->rank; i++) {
        Dim d = to->d[i] = item_at(n->in[1], i);
        if (d && dim_known(d, &v) && v < -1)
            return node_fail(n, "invalid shape dimension %lld", (long long)v);
        if (d && dim_is(d, -1)) {
            if (*hole >= 0)
                return node_fail(n, "only one dimension can be inferred");
            *hole = i;
            to->d[i] = NULL;
        } else if (d && dim_is(d, 0) && keeps) {
            if (x->rank >= 0 && i >= x->rank)
                return node_fail(n,
                                 "0 at %d of the shape means to keep an axis that the input of "
                                 "rank %d does not have",
                                 i, x->rank);
            to->d[i] = x->rank < 0 ? NULL : x->d[i];
        }
    }
    return true;
}

/* [4,6] as [2,-1] is [2,12]: the size of -1 is what the others leave, and without a -1 both have as
 * many elements. */
static bool infer_reshape(Node *n)
{
    Shape x = shape_of(n->in[0]);
    Shape to = { .rank = -1 };
    int64_t count;
    int hole;
    if (!shape_count(n->in[1], &count))
        return out_shape(n, 0, first_type(n), &to);
    to.rank = (int)count;
    if (!reshape_wanted(n, &x, &to, &hole))
        return false;
    bool known = x.rank >= 0; /* all sizes, but for the one of the -1 */
    for (int i = 0; i < to.rank; i++)
        known &= i == hole || to.d[i];
    if (known && hole >= 0 && !reshape_rest(n, &x, &to, hole, &to.d[hole]))
        return node_fail(n, "the size for -1 cannot be expressed");
    if (known && hole < 0 && !reshape_check(n, &x, &to))
        return false;
    if (!out_partial(n, 0, first_type(n), &to))
        return false;
    pass_items(n);
    return true;
}

static bool infer_flatten(Node *n)
{
    Shape x = shape_of(n->in[0]);
    Shape s = { .rank = 2 };
    int64_t axis = node_int(n, "axis", 1);
    if (x.rank < 0)
        return out_partial(n, 0, first_type(n), &s);
    if (axis < -x.rank || axis > x.rank)
        return node_fail(n, "axis %lld is out of range for rank %d", (long long)axis, x.rank);
    int a = (int)(axis < 0 ? axis + x.rank : axis);
    s.d[0] = dim_product(node_cx(n), x.d, a);
    s.d[1] = dim_product(node_cx(n), x.d + a, x.rank - a);
    return out_shape(n, 0, first_type(n), &s);
}

/* Axes that input 1 (or, in none, nothing) names, wrapped for `rank`; false after an error. *count
 * is -1 when data decides. */
static bool input_axes(Node *n, int i, int rank, bool *on, int64_t *count)
{
    const int64_t *at;
    if (!node_in_ints(n, i, &at, count)) {
        *count = -1;
        return true;
    }
    for (int64_t k = 0; k < *count; k++) {
        int axis;
        if (!wrap_axis(n, at[k], rank, &axis))
            return false;
        if (on[axis])
            return node_fail(n, "axis %d is there twice", axis);
        on[axis] = true;
    }
    return true;
}

/* May d be above 1, and was it 1 in the trace's example? Then lowering squeeze has assumed that it
 * is, with a note, and the input keeps its dynamic size. */
static bool is_1_as_in_example(Node *n, Dim d)
{
    Ctx *cx = node_cx(n);
    Dim one = dim_int(cx, 1);
    int64_t then;
    return dim_eq(cx, d, one) == UNKNOWN && dim_le(cx, d, one) != YES &&
        dim_example(cx, d, &then) && then == 1;
}

/* The axes given must be of size 1; where none are given those of size 1 go, and the rank is
 * unknown when a size may be 1. */
static bool infer_squeeze(Node *n)
{
    Shape x = shape_of(n->in[0]);
    Shape s = { .rank = -1 };
    bool on[MAX_RANK] = { false };
    int64_t count = 0;
    if (x.rank < 0)
        return out_shape(n, 0, first_type(n), &s);
    if (node_in(n, 1)) {
        if (!input_axes(n, 1, x.rank, on, &count))
            return false;
        if (count < 0)
            return out_shape(n, 0, first_type(n), &s);
    }
    s.rank = 0;
    for (int i = 0; i < x.rank; i++) {
        if (!node_in(n, 1)) {
            Tri one = dim_eq(node_cx(n), x.d[i], dim_int(node_cx(n), 1));
            if (one == UNKNOWN) {
                s.rank = -1; /* the rank depends on a size */
                return out_shape(n, 0, first_type(n), &s);
            }
            on[i] = one == YES;
        } else if (on[i] && !is_1_as_in_example(n, x.d[i]) &&
                   !dim_require(node_cx(n), x.d[i], dim_int(node_cx(n), 1),
                                "Squeeze: axis %d has %s items, not 1", i,
                                dim_text(node_cx(n), x.d[i])->s))
            return false;
        if (!on[i])
            s.d[s.rank++] = x.d[i];
    }
    if (!out_shape(n, 0, first_type(n), &s))
        return false;
    pass_items(n);
    return true;
}

/* Axes count in the result. Axes that are data leave its sizes unknown, not its rank. */
static bool infer_unsqueeze(Node *n)
{
    Shape x = shape_of(n->in[0]);
    Shape s = { .rank = -1 };
    bool on[MAX_RANK] = { false };
    int64_t count;
    if (x.rank < 0 || !shape_count(n->in[1], &count))
        return out_shape(n, 0, first_type(n), &s);
    if (x.rank + count > MAX_RANK)
        return node_fail(n, "rank %lld is more than %d", (long long)(x.rank + count), MAX_RANK);
    int rank = x.rank + (int)count;
    if (!input_axes(n, 1, rank, on, &count))
        return false;
    if (count < 0) {
        s = (Shape){ .rank = rank };
        return out_partial(n, 0, first_type(n), &s);
    }
    s.rank = rank;
    for (int i = 0, k = 0; i < rank; i++)
        s.d[i] = on[i] ? dim_int(node_cx(n), 1) : x.d[k++];
    if (!out_shape(n, 0, first_type(n), &s))
        return false;
    pass_items(n);
    return true;
}

/* perm says which axis of the input each axis of the result is; without it the order is reversed.
 */
static bool infer_transpose(Node *n)
{
    Shape x = shape_of(n->in[0]);
    Shape s = x;
    const int64_t *perm;
    size_t count;
    bool seen[MAX_RANK] = { false };
    if (x.rank < 0)
        return out_shape(n, 0, first_type(n), &s);
    if (node_ints(n, "perm", &perm, &count)) {
        if ((int64_t)count != x.rank)
            return node_fail(n, "perm has %zu items, the input rank %d", count, x.rank);
        for (int i = 0; i < x.rank; i++) {
            if (perm[i] < 0 || perm[i] >= x.rank || seen[perm[i]])
                return node_fail(n, "perm is not a permutation");
            seen[perm[i]] = true;
            s.d[i] = x.d[perm[i]];
        }
    } else
        for (int i = 0; i < x.rank; i++)
            s.d[i] = x.d[x.rank - 1 - i];
    if (!out_shape(n, 0, first_type(n), &s))
        return false;
    pass_items(n);
    return true;
}

/* ---- Concat, Split, Slice ---- */

static void concat_items(Node *n)
{
    Dim items[MAX_ITEMS];
    int64_t at = 0, count, total;
    if (!may_have_items(n->out[0], &total))
        return;
    for (int i = 0; i < n->n_in; i++) {
        if (!may_have_items(n->in[i], &count) || at + count > total)
            return;
        for (int64_t k = 0; k < count; k++)
            items[at++] = item_at(n->in[i], k);
    }
    out_items(n, 0, items, at);
}

/* Input i behind what *s has so far. *known becomes false when there are too many sizes along the
 * axis to add. */
static bool concat_one(Node *n, int i, int axis, const Shape *x, Shape *s, bool *known)
{
    Ctx *cx = node_cx(n);
    if (x->rank != s->rank)
        return node_fail(n, "Tensors must have same number of dimensions: got %d and %d", s->rank,
                         x->rank);
    for (int k = 0; k < s->rank; k++)
        if (k == axis && !dim_sum_fits(s->d[k], x->d[k]))
            *known = false;
        else if (k == axis)
            s->d[k] = dim_add(cx, s->d[k], x->d[k]);
        else if (!dim_require(cx, s->d[k], x->d[k],
                              "Sizes of tensors must match except in dimension %d. Expected "
                              "size %s but got size %s for tensor number %d in the list.",
                              axis, dim_text(cx, s->d[k])->s, dim_text(cx, x->d[k])->s, i))
            return false;
        else if (dim_known(x->d[k], NULL))
            s->d[k] = x->d[k];
    return true;
}

/* Sizes along the axis add up, the others are equal; an input without a rank leaves the sum
 * unknown. */
static bool infer_concat(Node *n)
{
    Shape s = { .rank = -1 };
    int axis = 0;
    bool known = true; /* the size along the axis */
    for (int i = 0; i < n->n_in; i++) {
        Shape x = shape_of(n->in[i]);
        if (x.rank < 0) {
            known = false;
        } else if (s.rank < 0) {
            s = x;
            if (!wrap_axis(n, node_int(n, "axis", 0), s.rank, &axis))
                return false;
        } else if (!concat_one(n, i, axis, &x, &s, &known)) {
            return false;
        }
    }
    if (!known && s.rank >= 0)
        s.d[axis] = NULL;
    if (!out_partial(n, 0, first_type(n), &s))
        return false;
    concat_items(n);
    return true;
}

/* The sizes of the parts: input 1, or num_outputs equal ones with a smaller last. */
static bool split_sizes(Node *n, Dim whole, Dim *size)
{
    Ctx *cx = node_cx(n);
    int64_t count;
    Ox split = node_in(n, 1);
    if (split) {
        if (shape_count(split, &count) && count != n->n_out)
            return node_fail(n, "%lld sizes for %d outputs", (long long)count, n->n_out);
        Dim sum = dim_int(cx, 0);
        for (int i = 0; i < n->n_out; i++) {
            size[i] = item_at(split, i);
            sum = sum && size[i] ? dim_add(cx, sum, size[i]) : NULL;
        }
        return !sum ||
            dim_require(cx, whole, sum,
                        "split_with_sizes expects split_sizes to sum exactly to %s "
                        "(input tensor's size along the axis), but got %s",
                        dim_text(cx, whole)->s, dim_text(cx, sum)->s);
    }
    int64_t parts = node_int(n, "num_outputs", n->n_out);
    if (parts != n->n_out)
        return node_fail(n, "num_outputs is %lld, the node has %d", (long long)parts, n->n_out);
    Dim each = dim_ceildiv(cx, whole, dim_int(cx, parts));
    for (int i = 0; i < n->n_out; i++)
        size[i] = i + 1 < n->n_out || !each
            ? each
            : dim_sub(cx, whole, dim_mul(cx, each, dim_int(cx, parts - 1)));
    return true;
}

/* Each output has the input's shape with its own size along the axis, and its part of the items. */
static bool infer_split(Node *n)
{
    Shape x = shape_of(n->in[0]);
    int axis;
    for (int i = 0; x.rank < 0 && i < n->n_out; i++)
        if (!out_shape(n, i, first_type(n), &x))
            return false;
    if (x.rank < 0)
        return true;
    if (!wrap_axis(n, node_int(n, "axis", 0), x.rank, &axis))
        return false;
    Dim *size = new_array(node_cx(n), Dim, n->n_out);
    if (!size || !split_sizes(n, x.d[axis], size))
        return false;
    int64_t at = 0, count;
    for (int i = 0; i < n->n_out; i++) {
        Shape s = x;
        s.d[axis] = size[i];
        if (!out_partial(n, i, first_type(n), &s))
            return false;
        if (!n->in[0]->items || !may_have_items(n->out[i], &count))
            continue;
        if (at + count <= n->in[0]->n_items)
            out_items(n, i, n->in[0]->items + at, count);
        at += count;
    }
    return true;
}

/* A bound of a slice as a place in [lo, hi]; NULL when its sign is not known. */
static Dim bound(Ctx *cx, Dim v, Dim size, Dim lo, Dim hi)
{
    int64_t at, least, most;
    if (!v)
        return NULL;
    dim_range(cx, v, &least, &most);
    if (dim_known(v, &at)) {
        if (at > INT64_MAX / 4)
            return hi;
        if (at < INT64_MIN / 4)
            return lo;
    }
    if (least >= 0)
        return dim_min(cx, v, hi);
    return most < 0 ? dim_max(cx, dim_add(cx, v, size), lo) : NULL;
}

/* How many items size[start:end:step] has; NULL when the contents do not tell. */
static Dim slice_count(Ctx *cx, Dim size, Dim start, Dim end, int64_t step)
{
    Dim zero = dim_int(cx, 0);
    Dim one = dim_int(cx, 1);
    if (step == INT64_MIN)
        step++;
    if (step > 0) {
        Dim a = bound(cx, start, size, zero, size);
        Dim b = bound(cx, end, size, zero, size);
        return a && b ? dim_max(cx, zero, dim_ceildiv(cx, dim_sub(cx, b, a), dim_int(cx, step)))
                      : NULL;
    }
    Dim last = dim_sub(cx, size, one);
    Dim none = dim_int(cx, -1);
    Dim a = bound(cx, start, size, zero, last);
    Dim b = bound(cx, end, size, none, last);
    a = a ? dim_min(cx, a, last) : NULL; /* of an empty axis the last is -1 */
    return a && b ? dim_max(cx, zero, dim_ceildiv(cx, dim_sub(cx, a, b), dim_int(cx, -step)))
                  : NULL;
}

/* How many items size[start:end:step] had in the example: 4 of x[:L - 3], where L was 7, although
 * the sign of L - 3 is not known. NULL: not known. */
static Dim slice_example(Ctx *cx, Dim size, Dim start, Dim end, int64_t step)
{
    Dim was = example_of(cx, size);
    Dim from = was ? example_of(cx, start) : NULL;
    Dim to = from ? example_of(cx, end) : NULL;
    return to ? slice_count(cx, was, from, to, step) : NULL;
}

/* The items of a list that is sliced by known numbers. */
static void slice_items(Node *n)
{
    int64_t start, count, step, out;
    const int64_t *a, *s;
    Ox x = n->in[0];
    Dim items[MAX_ITEMS];
    if (!x->items || ox_rank(x) != 1 || !may_have_items(n->out[0], &out) ||
        !node_in_ints(n, 1, &a, &count) || count != 1)
        return;
    step = 1;
    if (node_in(n, 4)) {
        if (!node_in_ints(n, 4, &s, &count) || count != 1 || s[0] == 0)
            return;
        step = s[0];
    }
    start = a[0] < 0 ? a[0] + x->n_items : a[0];
    start = start < 0 ? 0 : start;
    if (step < 0 && start >= x->n_items)
        start = x->n_items - 1;
    for (int64_t i = 0; i < out; i++)
        items[i] = item_at(x, start + i * step);
    out_items(n, 0, items, out);
}

/* Slice(data, starts, ends, axes?, steps?) */
static bool infer_slice(Node *n)
{
    Shape x = shape_of(n->in[0]);
    const int64_t *axes = NULL;
    const int64_t *steps = NULL;
    int64_t count, n_axes, n_steps;
    Dim example[MAX_RANK] = { NULL }; /* of sizes that the contents do not tell */
    if (x.rank < 0)
        return out_shape(n, 0, first_type(n), &x);
    bool known = shape_count(n->in[1], &count) || shape_count(n->in[2], &count);
    if (node_in(n, 3) && (!node_in_ints(n, 3, &axes, &n_axes) || (known && n_axes != count)))
        known = false;
    if (node_in(n, 4) && (!node_in_ints(n, 4, &steps, &n_steps) || (known && n_steps != count)))
        steps = NULL;
    if (!known) { /* which axes are cut is data */
        for (int i = 0; i < x.rank; i++)
            x.d[i] = NULL;
        return out_partial(n, 0, first_type(n), &x);
    }
    for (int64_t i = 0; i < count; i++) {
        int axis;
        if (!wrap_axis(n, axes ? axes[i] : i, x.rank, &axis))
            return false;
        if (steps && !steps[i])
            return node_fail(n, "slice step cannot be zero");
        if (node_in(n, 4) && !steps) { /* a step that is data */
            x.d[axis] = NULL;
            continue;
        }
        Dim size = x.d[axis];
        Dim start = item_at(n->in[1], i);
        Dim end = item_at(n->in[2], i);
        int64_t step = steps ? steps[i] : 1;
        x.d[axis] = slice_count(node_cx(n), size, start, end, step);
        if (!x.d[axis])
            example[axis] = slice_example(node_cx(n), size, start, end, step);
    }
    if (!out_partial(n, 0, first_type(n), &x))
        return false;
    set_examples(&x, example);
    slice_items(n);
    return true;
}

/* ---- Expand, Tile, Pad, Resize-free growth ---- */

/* Contents repeated or stretched: item i is x's item i mod its count. */
static void repeat_items(Node *n)
{
    Ox x = n->in[0];
    int64_t count;
    Dim items[MAX_ITEMS];
    if (!x->items || !x->n_items || !may_have_items(n->out[0], &count))
        return;
    for (int64_t i = 0; i < count; i++)
        items[i] = item_at(x, i % x->n_items);
    out_items(n, 0, items, count);
}

/* The broadcast of the input and the shape. A size that is data may be 1, and is unknown unless the
 * input's is another number there. */
static bool infer_expand(Node *n)
{
    Shape x = shape_of(n->in[0]);
    Shape to = { .rank = -1 };
    int64_t count;
    if (x.rank < 0 || !shape_count(n->in[1], &count))
        return out_shape(n, 0, first_type(n), &to);
    to.rank = (int)count;
    int pad = to.rank - x.rank;
    for (int i = 0; i < to.rank; i++)
        to.d[i] = item_at(n->in[1], i);
    bool unknown[MAX_RANK] = { false };
    for (int i = 0; i < to.rank; i++)
        if (!to.d[i]) { /* broadcast with 1, and unknown afterwards */
            int64_t v;
            bool fixed = i >= pad && dim_known(x.d[i - pad], &v) && v != 1;
            to.d[i] = fixed ? x.d[i - pad] : dim_int(node_cx(n), 1);
            unknown[pad < 0 ? i - pad : i] = !fixed;
        }
    if (!shape_broadcast(n, &to, &x))
        return false;
    for (int i = 0; i < to.rank; i++)
        if (unknown[i])
            to.d[i] = NULL;
    if (!out_partial(n, 0, first_type(n), &to))
        return false;
    repeat_items(n);
    return true;
}

static bool infer_tile(Node *n)
{
    Shape x = shape_of(n->in[0]);
    int64_t count;
    if (x.rank >= 0 && shape_count(n->in[1], &count) && count != x.rank)
        return node_fail(n, "%lld repeats for rank %d", (long long)count, x.rank);
    for (int i = 0; i < x.rank; i++) {
        Dim r = item_at(n->in[1], i);
        x.d[i] = r ? dim_mul(node_cx(n), x.d[i], r) : NULL;
    }
    if (!out_partial(n, 0, first_type(n), &x))
        return false;
    if (x.rank == 1)
        repeat_items(n);
    return true;
}

/* Pad(data, pads, value?, axes?): pads are all begins, then all ends. */
static bool infer_pad(Node *n)
{
    Ctx *cx = node_cx(n);
    Shape x = shape_of(n->in[0]);
    const int64_t *axes = NULL;
    int64_t n_axes = x.rank, count;
    if (x.rank < 0)
        return out_shape(n, 0, first_type(n), &x);
    if (node_in(n, 3) && !node_in_ints(n, 3, &axes, &n_axes)) {
        for (int i = 0; i < x.rank; i++)
            x.d[i] = NULL;
        return out_partial(n, 0, first_type(n), &x);
    }
    if (ox_rank(n->in[1]) == 1 && dim_known(ox_dim(n->in[1], 0), &count) && count != 2 * n_axes)
        return node_fail(n, "%lld pads for %lld axes", (long long)count, (long long)n_axes);
    for (int64_t i = 0; i < n_axes; i++) {
        int axis;
        if (!wrap_axis(n, axes ? axes[i] : i, x.rank, &axis))
            return false;
        Dim a = item_at(n->in[1], i);
        Dim b = item_at(n->in[1], i + n_axes);
        x.d[axis] = a && b ? dim_add(cx, x.d[axis], dim_add(cx, a, b)) : NULL;
        int64_t v;
        if (x.d[axis] && dim_known(x.d[axis], &v) && v < 0)
            return node_fail(n, "pads make axis %d negative: %lld", axis, (long long)v);
    }
    return out_partial(n, 0, first_type(n), &x);
}

/* ---- blocks of an image ---- */

/* A dim of the input divided by a fixed number: it must divide. */
static Dim divided(Node *n, Dim d, int64_t by)
{
    Dim out;
    int64_t v;
    if (dim_divide(node_cx(n), d, dim_int(node_cx(n), by), &out))
        return out;
    if (dim_known(d, &v)) {
        node_fail(n, "%lld is not a multiple of %lld", (long long)v, (long long)by);
        return NULL;
    }
    return dim_floordiv(node_cx(n), d, dim_int(node_cx(n), by));
}

static bool read_blocksize(Node *n, int64_t *b)
{
    *b = node_int(n, "blocksize", 1);
    if (!need_rank_of(n, n->in[0], "the input", 4, 4))
        return false;
    return *b >= 1 && *b <= 1 << 15 ? true : node_fail(n, "blocksize %lld", (long long)*b);
}

static bool infer_depth_to_space(Node *n)
{
    Shape x = shape_of(n->in[0]);
    Ctx *cx = node_cx(n);
    int64_t b;
    if (!read_blocksize(n, &b))
        return false;
    if (x.rank == 4) {
        x.d[1] = divided(n, x.d[1], b * b);
        x.d[2] = dim_mul(cx, x.d[2], dim_int(cx, b));
        x.d[3] = dim_mul(cx, x.d[3], dim_int(cx, b));
    }
    return out_shape(n, 0, first_type(n), &x);
}

static bool infer_space_to_depth(Node *n)
{
    Shape x = shape_of(n->in[0]);
    int64_t b;
    if (!read_blocksize(n, &b))
        return false;
    if (x.rank == 4) {
        x.d[1] = dim_mul(node_cx(n), x.d[1], dim_int(node_cx(n), b * b));
        x.d[2] = divided(n, x.d[2], b);
        x.d[3] = divided(n, x.d[3], b);
    }
    return out_shape(n, 0, first_type(n), &x);
}

/* CenterCropPad(x, shape): the named axes get the wanted sizes. */
static bool infer_center_crop_pad(Node *n)
{
    Shape x = shape_of(n->in[0]);
    const int64_t *axes;
    size_t count;
    bool named = node_ints(n, "axes", &axes, &count);
    for (int i = 0; x.rank >= 0 && i < (named ? (int)count : x.rank); i++) {
        int axis;
        if (!wrap_axis(n, named ? axes[i] : i, x.rank, &axis))
            return false;
        x.d[axis] = item_at(n->in[1], i);
    }
    return out_partial(n, 0, first_type(n), &x);
}

const InferRow infer_shape[] = { { "CenterCropPad", infer_center_crop_pad },
                                 { "Concat", infer_concat },
                                 { "DepthToSpace", infer_depth_to_space },
                                 { "Expand", infer_expand },
                                 { "Flatten", infer_flatten },
                                 { "Pad", infer_pad },
                                 { "Reshape", infer_reshape },
                                 { "Shape", infer_shape_op },
                                 { "Size", infer_size },
                                 { "Slice", infer_slice },
                                 { "SpaceToDepth", infer_space_to_depth },
                                 { "Split", infer_split },
                                 { "Squeeze", infer_squeeze },
                                 { "Tile", infer_tile },
                                 { "Transpose", infer_transpose },
                                 { "Unsqueeze", infer_unsqueeze },
                                 { 0 } };
