/* infer_common.c - what all inference functions share: shapes as plain arrays, broadcasting, axes,
 * contents. Dimensions are never compared here: dim_eq, dim_broadcast and dim_require decide, and
 * may answer "unknown". */
#include "onnx/infer/infer.h"

Shape shape_of(Ox v)
{
    Shape s = { .rank = v && v->type && v->type->kind == T_TENSOR ? ox_rank(v) : -1 };
    for (int i = 0; i < s.rank; i++)
        s.d[i] = ox_dim(v, i);
    return s;
}

bool out_shape(Node *n, int i, DType t, const Shape *s)
{
    if (i >= n->n_out)
        return true;
    for (int k = 0; k < s->rank; k++)
        if (!s->d[k])
            return node_fail(n, "the size of axis %d of output %d cannot be expressed", k, i);
    set_out(n, i, t, s->rank, s->rank >= 0 ? s->d : NULL);
    return true;
}

bool out_partial(Node *n, int i, DType t, Shape *s)
{
    Shape fresh = { .rank = s->rank < 0 ? 0 : s->rank };
    for (int k = 0; k < s->rank; k++)
        if (!s->d[k])
            s->d[k] = fresh.d[k] = fresh_in(n, 0, DIM_MAX);
    if (!out_shape(n, i, t, s))
        return false;
    set_origins(n, i, &fresh);
    return true;
}

bool out_like(Node *n, int i, DType t, Ox v)
{
    Shape s = shape_of(v);
    return out_shape(n, i, t, &s);
}

/* *into becomes the broadcast of both, as PyTorch does it: axes are aligned at the end. An unknown
 * rank makes the result's unknown; false, with PyTorch's message, when sizes cannot agree. */
bool shape_broadcast(Node *n, Shape *into, const Shape *with)
{
    if (into->rank < 0 || with->rank < 0) {
        into->rank = -1;
        return true;
    }
    Ctx *cx = node_cx(n);
    const Shape a = *into;
    const Shape *b = with;
    into->rank = a.rank > b->rank ? a.rank : b->rank;
    for (int i = 0; i < into->rank; i++) {
        int ia = i - (into->rank - a.rank);
        int ib = i - (into->rank - b->rank);
        if (ia < 0 || ib < 0)
            into->d[i] = ia < 0 ? b->d[ib] : a.d[ia];
        else if (!dim_broadcast(cx, a.d[ia], b->d[ib], &into->d[i]))
            return node_fail(n,
                             "The size of tensor a (%s) must match the size of tensor b (%s) at "
                             "non-singleton dimension %d",
                             dim_text(cx, a.d[ia])->s, dim_text(cx, b->d[ib])->s, i);
    }
    return true;
}

bool wrap_axis(Node *n, int64_t axis, int rank, int *out)
{
    if (axis < -rank || axis >= rank)
        return node_fail(n, "axis %lld is out of range for rank %d", (long long)axis, rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return true;
}

bool need_rank_of(Node *n, Ox v, const char *what, int least, int most)
{
    int r = v ? ox_rank(v) : -1;
    if (r < 0 || (r >= least && r <= most))
        return true;
    if (least == most)
        return node_fail(n, "%s must have rank %d, not %d", what, least, r);
    if (most == MAX_RANK)
        return node_fail(n, "%s must have at least rank %d, not %d", what, least, r);
    return node_fail(n, "%s must have rank %d to %d, not %d", what, least, most, r);
}

Dim fresh_in(Node *n, int64_t lo, int64_t hi)
{
    Dim d = dim_fresh(node_cx(n), "u");
    if (d)
        dim_set_range(node_cx(n), d, lo, hi);
    return d;
}

void set_origins(Node *n, int i, const Shape *fresh)
{
    for (int k = 0; i < n->n_out && k < fresh->rank; k++)
        if (fresh->d[k])
            dim_set_origin(node_cx(n), fresh->d[k], n->out[i], k);
}

Dim example_of(Ctx *cx, Dim d)
{
    int64_t size;
    return dim_example(cx, d, &size) ? dim_int(cx, size) : NULL;
}

void set_examples(const Shape *s, const Dim *example)
{
    for (int k = 0; k < s->rank; k++) {
        int64_t size;
        if (dim_known(example[k], &size))
            dim_set_example(s->d[k], size);
    }
}

Dim item_at(Ox v, int64_t i)
{
    return v && v->items && i >= 0 && i < v->n_items ? v->items[i] : NULL;
}

bool may_have_items(Ox v, int64_t *count)
{
    if (!v || !v->type || v->type->kind != T_TENSOR || ox_rank(v) < 0 || ox_rank(v) > 1)
        return false;
    if (ox_dtype(v) != DT_INT64 && ox_dtype(v) != DT_INT32)
        return false;
    *count = 1;
    return (ox_rank(v) == 0 || dim_known(ox_dim(v, 0), count)) && *count >= 0 &&
        *count <= MAX_ITEMS;
}

void out_items(Node *n, int i, const Dim *items, int64_t count)
{
    int64_t want;
    if (i >= n->n_out || !may_have_items(n->out[i], &want) || want != count)
        return;
    for (int64_t k = 0; k < count; k++)
        if (items[k]) { /* at least one is known: worth keeping */
            set_items(n, i, items, count);
            return;
        }
    if (count == 0)
        set_items(n, i, items, 0);
}

bool item_is_zero(DType t, const uint8_t *p)
{
    size_t size = dtype_size(t);
    bool sign = dtype_is_float(t) || dtype_is_complex(t); /* a sign alone is still zero */
    size_t half = dtype_is_complex(t) ? size / 2 : size;
    for (size_t i = 0; i < size; i++)
        if (p[i] & (sign && (i + 1) % half == 0 ? 0x7f : 0xff))
            return false;
    return true;
}

bool shape_count(Ox v, int64_t *count)
{
    return v && ox_rank(v) == 1 && dim_known(ox_dim(v, 0), count) && *count <= MAX_RANK;
}
