/* strides.c - how tensors lie in memory: strides, what is contiguous, and which shapes are views of
 * the same memory.
 *
 * Strides are Dims, in elements. They exist for one question: does reshape, flatten or contiguous
 * share memory here, as PyTorch's would? An axis of size 1 may have any stride. */
#include "value/tensor.h"

/* The axes in the order of `format`, the one that varies fastest first. False: tensors of that rank
 * have no such format. */
static bool format_axes(int64_t format, int rank, int axis[MAX_RANK])
{
    bool last = (format == FORMAT_CHANNELS_LAST && rank == 4) ||
        (format == FORMAT_CHANNELS_LAST_3D && rank == 5);
    int n = 0;
    if (format != FORMAT_CONTIGUOUS && !last)
        return false;
    if (last)
        axis[n++] = 1;
    for (int i = rank - 1; i >= 0; i--)
        if (!last || i != 1)
            axis[n++] = i;
    return true;
}

bool format_strides(Ctx *cx, Type t, int64_t format, Dim out[MAX_RANK])
{
    int axis[MAX_RANK];
    Dim step = dim_int(cx, 1);
    if (!t || t->rank < 0 || !format_axes(format, t->rank, axis))
        return false;
    for (int i = 0; i < t->rank; i++) {
        out[axis[i]] = step;
        step = dim_mul(cx, step, t->dim[axis[i]]);
        if (!step)
            return false;
    }
    return true;
}

/* The strides of a contiguous tensor of this type. False: not expressible. */
static bool contiguous_strides(Ctx *cx, Type t, Dim out[MAX_RANK])
{
    return format_strides(cx, t, FORMAT_CONTIGUOUS, out);
}

bool tensor_strides(Ctx *cx, Tensor *t, Dim out[MAX_RANK])
{
    Type ty = tensor_type(t);
    if (!ty || ty->rank < 0)
        return false;
    if (!t->stride)
        return t->contiguous == YES && contiguous_strides(cx, ty, out);
    memcpy(out, t->stride, (size_t)ty->rank * sizeof *out);
    return true;
}

/* Each stride is the product of the sizes that vary faster. One axis that certainly is not as
 * expected decides, unless the tensor is empty, as that is contiguous whatever its strides. */
static Tri strides_follow(Ctx *cx, Type ty, const Dim *stride, const int *axis)
{
    Dim one = dim_int(cx, 1);
    Dim expected = one;
    Tri all = YES;
    for (int i = 0; i < ty->rank; i++) {
        Tri single = dim_eq(cx, ty->dim[axis[i]], one);
        Tri same = dim_eq(cx, stride[axis[i]], expected);
        if (single != YES && same != YES) {
            if (single == NO && same == NO)
                return dim_is(type_numel(cx, ty), 0) ? YES : NO;
            all = UNKNOWN;
        }
        expected = dim_mul(cx, expected, ty->dim[axis[i]]);
        if (!expected)
            return UNKNOWN;
    }
    return all;
}

Tri tensor_has_format(Ctx *cx, Tensor *t, int64_t format)
{
    Dim stride[MAX_RANK];
    int axis[MAX_RANK];
    Type ty = tensor_type(t);
    if (!tensor_strides(cx, t, stride) || !format_axes(format, ty->rank, axis))
        return UNKNOWN;
    return strides_follow(cx, ty, stride, axis);
}

Tri tensor_contiguous(Ctx *cx, Tensor *t)
{
    return t->stride ? tensor_has_format(cx, t, FORMAT_CONTIGUOUS) : t->contiguous;
}

/* Does an axis of stride 0 have more than one element? */
static Tri strides_repeat(Ctx *cx, Type t, const Dim *stride)
{
    Tri any = NO;
    if (dim_is(type_numel(cx, t), 0))
        return NO;
    for (int i = 0; i < t->rank; i++) {
        Tri single = dim_is(stride[i], 0) ? dim_eq(cx, t->dim[i], dim_int(cx, 1)) : YES;
        if (single == NO)
            return YES;
        if (single == UNKNOWN)
            any = UNKNOWN;
    }
    return any;
}

Tri tensor_repeats(Ctx *cx, Tensor *t)
{
    Dim stride[MAX_RANK];
    if (tensor_strides(cx, t, stride))
        return strides_repeat(cx, tensor_type(t), stride);
    for (const Tensor *x = t; x->base; x = x->base)
        if (x->view->kind->repeats(x->view))
            return UNKNOWN;
    return NO;
}

/* Going from the last axis to the first: is axis d the first of its chunk? Not when axis d - 1 lies
 * right before it, with the stride `step`, or has one element. */
static Tri chunk_ends(Ctx *cx, Type old, const Dim *stride, int d, Dim step)
{
    if (d == 0)
        return YES;
    Tri follows = dim_eq(cx, stride[d - 1], step);
    if (follows == YES)
        return NO;
    Tri single = dim_eq(cx, old->dim[d - 1], dim_int(cx, 1));
    if (single == YES)
        return NO;
    return single == NO && follows == NO ? YES : UNKNOWN;
}

/* Have the new axes, of which there are `made` elements, filled a chunk of `have`? Not where they
 * are some times as many: N*(M - 1) for M - 1. */
static Tri chunk_filled(Ctx *cx, Dim made, Dim have)
{
    Dim times;
    Tri same = dim_eq(cx, made, have);
    if (same != UNKNOWN || !dim_divide(cx, made, have, &times))
        return same;
    Dim one = dim_int(cx, 1);
    bool more = dim_lt(cx, one, times) == YES && dim_le(cx, one, have) == YES;
    return more ? NO : UNKNOWN;
}

/* Old axes fall into chunks, each of which lies in memory without gaps; the sizes of a chunk must
 * be the product of some new axes, in order. [2,3,4] with strides (1,8,2) is two chunks, 2 and 3*4,
 * so that [2,12] and [2,6,2] are views and [6,4] is none. */
Tri view_strides(Ctx *cx, Type old, const Dim *stride, Type to, Dim out[MAX_RANK])
{
    Dim one = dim_int(cx, 1);
    Dim base = old->rank ? stride[old->rank - 1] : one;
    Dim have = one;
    Dim made = one;
    bool exact = type_static(old, NULL) && type_static(to, NULL);
    bool sure = true; /* that no fewer of the new axes would have filled a chunk */
    int v = to->rank - 1;
    if (old->rank == 0 || (exact && dim_is(type_numel(cx, old), 0)))
        return contiguous_strides(cx, to, out) ? YES : UNKNOWN;
    for (int d = old->rank - 1; d >= 0; d--) {
        have = dim_mul(cx, have, old->dim[d]);
        Tri ends = have ? chunk_ends(cx, old, stride, d, dim_mul(cx, have, base)) : UNKNOWN;
        if (ends == UNKNOWN)
            return UNKNOWN;
        if (ends == NO)
            continue;
        while (v >= 0 && (dim_eq(cx, made, have) != YES || dim_is(to->dim[v], 1))) {
            sure = sure && dim_eq(cx, made, have) != UNKNOWN;
            out[v] = dim_mul(cx, made, base);
            made = dim_mul(cx, made, to->dim[v--]);
            if (!made || (exact && dim_lt(cx, have, made) == YES))
                return made ? NO : UNKNOWN;
        }
        Tri filled = chunk_filled(cx, made, have);
        if (filled != YES)
            return sure ? filled : UNKNOWN;
        base = d > 0 ? stride[d - 1] : base;
        have = made = one;
    }
    if (v < 0)
        return YES;
    return exact ? NO : UNKNOWN;
}

Tri tensor_can_view(Ctx *cx, Tensor *base, Type to)
{
    Dim from[MAX_RANK], out[MAX_RANK];
    Type old = tensor_type(base);
    if (base->contiguous == YES && !base->stride)
        return YES;
    if (old->rank < 0 || to->rank < 0 || !tensor_strides(cx, base, from))
        return UNKNOWN;
    return view_strides(cx, old, from, to, out);
}
