/* pad.c - padding with a constant, by reflection, by repeating the border, around the other end.
 *
 * PyTorch lists pairs from the last axis on, ONNX all begins, then all ends. A negative number
 * cuts. Where the border is reflected or repeated, PyTorch cuts after it has padded, so such an
 * axis is a Gather of its elements. Circular padding is Pad's "wrap" from opset 19 on where the
 * sizes are known, else a Concat of the ends. */
#include "ops/internal.h"

typedef enum { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_CIRCULAR } PadMode;
static const char *const onnx_modes[] = { "constant", "reflect", "edge", "wrap" };

typedef struct Padding {
    Ox x;
    PadMode mode;
    int rank;
    Dim begin[MAX_RANK], end[MAX_RANK];
} Padding;

/* Pairs of numbers as begins and ends of each axis: [1, 2] of rank 2 gives begins 0 1, ends 0 2. */
static bool padding_of(Op *op, Padding *p, Ox x, Dims pad, PadMode mode)
{
    int n = (int)pad.n / 2;
    *p = (Padding){ .x = x, .mode = mode };
    if (ctx_failed(op->cx) ||
        !need_rank(op, x, mode == PAD_CONSTANT && n < 2 ? 4 : n + 2, &p->rank))
        return false;
    if (pad.n % 2 || n > p->rank)
        return fail(op->cx, E_VALUE,
                    "Padding length must be divisible by 2 and at most twice the number of "
                    "dimensions of the input");
    bool layout_known = p->rank == n + 1 || p->rank == n + 2; /* channels, perhaps a batch */
    if (mode != PAD_CONSTANT && !layout_known)
        return fail(op->cx, E_VALUE, "Padding size %zu is not supported for %dD input tensor.",
                    pad.n, p->rank);
    for (int i = 0; i < p->rank; i++) {
        int k = p->rank - 1 - i;
        p->begin[i] = k < n ? pad.at[2 * k] : dim_int(op->cx, 0);
        p->end[i] = k < n ? pad.at[2 * k + 1] : dim_int(op->cx, 0);
    }
    return true;
}

/* Does PyTorch accept the padding? Unknown sizes are taken to fit. */
static bool padding_fits(Op *op, const Padding *p)
{
    for (int i = 0; i < p->rank; i++) {
        Dim size = ox_dim(p->x, i);
        Dim most = dim_max(op->cx, p->begin[i], p->end[i]);
        if (p->mode == PAD_REFLECT && !dim_is(most, 0) && dim_le(op->cx, size, most) == YES)
            return fail(op->cx, E_VALUE,
                        "Padding size should be less than the corresponding input dimension, but "
                        "got: padding (%s, %s) at dimension %d of input %s",
                        dim_text(op->cx, p->begin[i])->s, dim_text(op->cx, p->end[i])->s, i,
                        type_text(op->cx, p->x->type)->s);
        if (p->mode == PAD_CIRCULAR && dim_lt(op->cx, size, most) == YES)
            return fail(op->cx, E_VALUE, "Padding value causes wrapping around more than once.");
    }
    return true;
}

static bool unpadded(const Padding *p, int axis)
{
    return dim_is(p->begin[axis], 0) && dim_is(p->end[axis], 0);
}

/* Each place of the padded axis, as the place of the input that it shows: cut off at the ends, or
 * |last - |last - |k|||. */
static Ox by_places(Op *op, const Padding *p, int axis)
{
    Ctx *cx = op->cx;
    Dim zero = dim_int(cx, 0);
    Dim size = ox_dim(p->x, axis);
    Dim end = dim_add(cx, size, p->end[axis]);
    if (dim_le(cx, dim_add(cx, end, p->begin[axis]), zero) == YES)
        return op_fail(op, E_VALUE,
                       "the padded size of dimension %d is %s: it must be greater than zero", axis,
                       dim_text(cx, dim_add(cx, end, p->begin[axis]))->s);
    Ox from = ox_dim_value(op->g, dim_sub(cx, zero, p->begin[axis]));
    Ox to = ox_dim_value(op->g, end);
    Ox one = ox_int(op->g, 1);
    Ox first = ox_int(op->g, 0);
    Ox last = ox_dim_value(op->g, dim_sub(cx, size, dim_int(cx, 1)));
    Ox at = ox(op, "Range", from, to, one);
    if (p->mode == PAD_REFLECT) {
        at = ox(op, "Sub", last, ox(op, "Abs", at));
        at = ox(op, "Sub", last, ox(op, "Abs", at));
    } else {
        at = ox(op, "Min", ox(op, "Max", at, first), last);
    }
    return ox_with(op, "Gather", INPUTS(p->x, at), INT("axis", axis));
}

/* Cut first; what is left is wrapped. */
static Ox wrapped(Op *op, const Padding *p, int axis)
{
    Ctx *cx = op->cx;
    Dim zero = dim_int(cx, 0);
    Dim size = ox_dim(p->x, axis);
    Dim begin = dim_max(cx, p->begin[axis], zero);
    Dim end = dim_max(cx, p->end[axis], zero);
    Dim from = dim_sub(cx, begin, p->begin[axis]);
    Dim to = dim_sub(cx, size, dim_sub(cx, end, p->end[axis]));
    Dim left = dim_sub(cx, to, from);
    Ox x = slice_axis(op, p->x, axis, from, to, 1);
    Ox part[3] = { NULL, x, NULL };
    if (!dim_is(begin, 0))
        part[0] = slice_axis(op, x, axis, dim_sub(cx, left, begin), left, 1);
    if (!dim_is(end, 0))
        part[2] = slice_axis(op, x, axis, zero, end, 1);
    return concat_axis(op, part, 3, axis);
}

static Ox pad_node(Op *op, const Padding *p, Ox value)
{
    Dim at[2 * MAX_RANK];
    for (int i = 0; i < p->rank; i++) {
        at[i] = p->begin[i];
        at[p->rank + i] = p->end[i];
    }
    Ox pads = ox_dims(op->g, at, 2 * (size_t)p->rank);
    return ox_with(op, "Pad", INPUTS(p->x, pads, value),
                   STRING("mode", str_of(op->cx, onnx_modes[p->mode])));
}

static bool is_padded(const Padding *p)
{
    for (int i = 0; i < p->rank; i++)
        if (!unpadded(p, i))
            return true;
    return false;
}

static bool cuts(Op *op, const Padding *p, int axis)
{
    Dim zero = dim_int(op->cx, 0);
    return dim_lt(op->cx, p->begin[axis], zero) == YES || dim_lt(op->cx, p->end[axis], zero) == YES;
}

/* Reflected and repeated borders: pad the axes that are also cut, by a Gather each. */
static void pad_cut_axes(Op *op, Padding *p)
{
    Dim zero = dim_int(op->cx, 0);
    for (int i = 0; i < p->rank && ox_ok(p->x); i++)
        if (cuts(op, p, i)) {
            p->x = by_places(op, p, i);
            p->begin[i] = zero;
            p->end[i] = zero;
        }
}

/* Can Pad's "wrap" do it? It has no negative numbers, and ONNX Runtime's takes no empty tensor. */
static bool has_wrap(Op *op, const Padding *p)
{
    for (int i = 0; i < p->rank; i++)
        if (cuts(op, p, i))
            return false;
    return op->g->target >= 19 && type_static(p->x->type, NULL);
}

/* Circular padding axis by axis: a Concat of the ends. */
static Ox wrapped_axes(Op *op, Padding *p)
{
    for (int i = 1; i < p->rank && ox_ok(p->x); i++)
        if (!unpadded(p, i))
            p->x = wrapped(op, p, i);
    return p->x;
}

/* x padded by `pad`, pairs of numbers from the last axis on. value: PAD_CONSTANT's. */
static Ox padded(Op *op, Ox x, Dims pad, PadMode mode, Ox value)
{
    Padding p;
    if (!padding_of(op, &p, x, pad, mode) || !padding_fits(op, &p))
        return POISON;
    if (mode == PAD_REFLECT || mode == PAD_EDGE)
        pad_cut_axes(op, &p);
    if (!ox_ok(p.x) || !is_padded(&p))
        return p.x;
    if (mode == PAD_CIRCULAR && !has_wrap(op, &p))
        return wrapped_axes(op, &p);
    return pad_node(op, &p, value);
}

/* Argument `value` in x's type; None is 0. */
static Ox pad_value(Op *op, Ox x)
{
    if (!ox_ok(x))
        return POISON;
    return arg_given(op, "value") ? number_stored(op, arg_value(op, "value"), ox_dtype(x))
                                  : number_like(op, 0, x);
}

static Ox lower_constant_pad_nd(Op *op)
{
    Ox x = arg(op, "self");
    Ox value = pad_value(op, x);
    return padded(op, x, arg_dims_any(op, "pad"), PAD_CONSTANT, value);
}

static Ox lower_pad_mode(Op *op)
{
    Ox x = arg(op, "self");
    const Param *padding = &op->call->schema->param[1];
    Dims pad = arg_dims_any(op, padding->name->s);
    if (padding->fixed && pad.n != (size_t)padding->fixed)
        return op_fail(op, E_VALUE, "padding size is expected to be %d, but got: %zu",
                       padding->fixed, pad.n);
    return padded(op, x, pad, (PadMode)op->row->datum, NULL);
}

static Ox pad_by_mode(Op *op, PadMode mode)
{
    Ox x = arg(op, "self");
    Ox value = mode == PAD_CONSTANT ? pad_value(op, x) : NULL;
    return padded(op, x, arg_dims_any(op, "pad"), mode, value);
}

static Ox lower_pad(Op *op)
{
    static const char *const names[] = { "constant", "reflect", "replicate", "circular" };
    Str mode = arg_str(op, "mode");
    for (size_t i = 0; i < COUNT(names); i++)
        if (str_is(mode, names[i]))
            return pad_by_mode(op, (PadMode)i);
    return op_fail(op, E_VALUE, "Unrecognised padding mode %s", mode ? mode->s : "None");
}

static Ox lower__pad_enum(Op *op)
{
    static const PadMode modes[] = { PAD_REFLECT, PAD_EDGE, PAD_CIRCULAR, PAD_CONSTANT };
    int64_t mode = arg_int(op, "mode");
    if (mode < 0 || mode >= (int64_t)COUNT(modes))
        return op_fail(op, E_VALUE, "Unrecognised padding mode %lld", (long long)mode);
    return pad_by_mode(op, modes[mode]);
}

/* Padding makes a new tensor, contiguous unless it has channels; what nothing is added to is a
 * clone. */
static RowLayout layout_of_padded(Op *op, Type result)
{
    Value pad = arg_value(op, "pad");
    bool more = false;
    for (int64_t i = 0; pad.tag == V_TUPLE && i < pad.tuple->n; i++)
        more = more || (pad.tuple->at[i].tag == V_INT && pad.tuple->at[i].i > 0);
    bool has_channels = result->rank < 0 || result->rank >= 4;
    return more && !has_channels ? LAYOUT_CONTIGUOUS : LAYOUT_AS_ARGUMENTS;
}

#define PAD(mode, line) FAMILY(lower_pad_mode, mode, NULL, PLAIN, line)

OP_ROWS(pad)
{
    LOWER(lower_constant_pad_nd, NULL, PLAIN,
          "aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
          .layout_of = layout_of_padded);
    LOWER(
        lower_pad, NULL, PLAIN,
        "aten::pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor",
        .layout_of = layout_of_padded);
    LOWER(lower__pad_enum, NULL, PLAIN,
          "aten::_pad_enum(Tensor self, SymInt[] pad, int mode, float? value=None) -> Tensor");
    PAD(PAD_CIRCULAR, "aten::_pad_circular(Tensor self, SymInt[] pad) -> Tensor");
    PAD(PAD_REFLECT, "aten::reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor");
    PAD(PAD_REFLECT, "aten::reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor");
    PAD(PAD_REFLECT, "aten::reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor");
    PAD(PAD_EDGE, "aten::replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor");
    PAD(PAD_EDGE, "aten::replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor");
    PAD(PAD_EDGE, "aten::replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor");
}
