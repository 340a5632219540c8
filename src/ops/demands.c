/* demands.c - what PyTorch demands of the shapes of arguments, in its words. Only what is surely
 * wrong fails: what the running model decides is left to it. */
#include "ops/internal.h"

Str dims_text(Ctx *cx, const Dim *at, int n)
{
    Buf text = buf_new(cx);
    buf_str(&text, "[");
    for (int i = 0; i < n; i++)
        buf_fmt(&text, "%s%s", i ? ", " : "", dim_text(cx, at[i])->s);
    buf_str(&text, "]");
    return buf_done(&text);
}

Str shape_text(Op *op, Ox x) { return dims_text(op->cx, x->type->dim, ox_rank(x)); }

bool surely_differ(Op *op, Dim a, Dim b) { return dim_eq(op->cx, a, b) == NO; }

bool may_expand(Op *op, Ox x, const Dim *dims, int n)
{
    int rank = ox_rank(x);
    Dim one = dim_int(op->cx, 1);
    if (rank > n)
        return false;
    for (int i = 0; i < rank; i++)
        if (surely_differ(op, ox_dim(x, i), one) &&
            surely_differ(op, ox_dim(x, i), dims[n - rank + i]))
            return false;
    return true;
}

/* The first of n dims, counted from the front, that keeps x from being expanded to them; -1: x has
 * more. */
static int first_misfit(Op *op, Ox x, const Dim *dims, int n)
{
    Dim one = dim_int(op->cx, 1);
    int more = n - ox_rank(x);
    for (int i = n - 1; i >= more && more >= 0; i--)
        if (surely_differ(op, ox_dim(x, i - more), one) &&
            surely_differ(op, ox_dim(x, i - more), dims[i]))
            return i;
    return -1;
}

/* See internal.h. The size that does not fit is named, counted from the front. */
bool need_expand(Op *op, Ox x, const Dim *dims, int n)
{
    Ctx *cx = op->cx;
    if (!ox_ok(x) || ctx_failed(cx))
        return false;
    if (may_expand(op, x, dims, n))
        return true;
    int at = first_misfit(op, x, dims, n);
    if (at < 0)
        return fail(cx, E_VALUE,
                    "expand: the number of sizes provided (%d) must be greater or equal to the "
                    "number of dimensions in the tensor (%d)",
                    n, ox_rank(x));
    return fail(cx, E_VALUE,
                "The expanded size of the tensor (%s) must match the existing size (%s) at "
                "non-singleton dimension %d.  Target sizes: %s.  Tensor sizes: %s",
                dim_text(cx, dims[at])->s, dim_text(cx, ox_dim(x, at - n + ox_rank(x)))->s, at,
                dims_text(cx, dims, n)->s, shape_text(op, x)->s);
}

/* The size of x along axis i of `rank` axes, of which x has the last; 1 where it has none. */
static Dim size_at(Op *op, Ox x, int i, int rank)
{
    int own = i - (rank - ox_rank(x));
    return own < 0 ? dim_int(op->cx, 1) : ox_dim(x, own);
}

/* See internal.h. The error tells what both would be broadcast to, where they can be. */
bool need_output(Op *op, Ox out, Ox v)
{
    Ctx *cx = op->cx;
    Dim both[MAX_RANK];
    if (!ox_ok(out) || !ox_ok(v))
        return false;
    if (ox_rank(out) < 0 || may_expand(op, v, out->type->dim, ox_rank(out)))
        return true;
    int rank = ox_rank(out) > ox_rank(v) ? ox_rank(out) : ox_rank(v);
    for (int i = 0; i < rank; i++) {
        Dim a = size_at(op, out, i, rank);
        Dim b = size_at(op, v, i, rank);
        if (!dim_broadcast(cx, a, b, &both[i]))
            return fail(cx, E_VALUE,
                        "The size of tensor a (%s) must match the size of tensor b (%s) at "
                        "non-singleton dimension %d",
                        dim_text(cx, a)->s, dim_text(cx, b)->s, i);
    }
    return fail(cx, E_VALUE, "output with shape %s doesn't match the broadcast shape %s",
                shape_text(op, out)->s, dims_text(cx, both, rank)->s);
}

bool may_have_sizes(Op *op, Ox x, const Dim *dims, int n)
{
    bool same = ox_rank(x) < 0 || ox_rank(x) == n;
    for (int i = 0; i < ox_rank(x) && same; i++)
        same = !surely_differ(op, ox_dim(x, i), dims[i]);
    return same;
}

/* See internal.h. A tensor without elements needs no memory, nor does a stride count where its axis
 * has one place; any other negative stride leads before the start, which PyTorch calls overflow. */
bool need_storage(Op *op, Dims size, Dims stride)
{
    Ctx *cx = op->cx;
    Dim zero = dim_int(cx, 0);
    Dim one = dim_int(cx, 1);
    bool filled = true;
    bool backward = false;
    if (size.n != stride.n)
        return fail(cx, E_VALUE,
                    "dimensionality of sizes (%zu) must match dimensionality of strides (%zu)",
                    size.n, stride.n);
    for (size_t i = 0; i < size.n; i++) {
        filled = filled && surely_differ(op, size.at[i], zero);
        backward = backward ||
            (dim_lt(cx, stride.at[i], zero) == YES && surely_differ(op, size.at[i], one));
    }
    return !filled || !backward ||
        fail(cx, E_VALUE, "Storage size calculation overflowed with sizes=%s and strides=%s",
             dims_text(cx, size.at, (int)size.n)->s, dims_text(cx, stride.at, (int)stride.n)->s);
}
