/* shape.c - joining, repeating, reordering: new tensors made of the elements of others. Views are
 * in view.c. At the top, the shape arithmetic that several families use. */
#include "ops/internal.h"

#include <assert.h>

/* ---- shared helpers ---- */

bool same_dims(Ctx *cx, Ox x, const Dim *dims, int n)
{
    if (ox_rank(x) != n)
        return false;
    for (int i = 0; i < n; i++)
        if (dim_eq(cx, ox_dim(x, i), dims[i]) != YES)
            return false;
    return true;
}

/* One symbolic dim among known ones is written -1, so that the shape is a constant. Not beside a 0:
 * -1 is ambiguous then. */
Ox reshape_to(Op *op, Ox x, const Dim *dims, int n)
{
    int64_t at[MAX_RANK];
    int symbolic = 0;
    bool zero = false;
    if (!ox_ok(x) || ctx_failed(op->cx) || same_dims(op->cx, x, dims, n))
        return ctx_failed(op->cx) ? POISON : x;
    if (n > MAX_RANK)
        return op_fail(op, E_LIMIT, "a tensor of %d dimensions: the most is %d", n, MAX_RANK);
    for (int i = 0; i < n; i++) {
        assert(dims[i]); /* of a dim that could not be made the context failed */
        if (!dim_known(dims[i], &at[i]))
            at[i] = -1, symbolic++;
        zero |= at[i] == 0;
    }
    Ox shape = symbolic > 1 || (symbolic == 1 && zero) ? ox_dims(op->g, dims, (size_t)n)
                                                       : ox_ints(op->g, at, (size_t)n);
    return zero ? ox_with(op, "Reshape", INPUTS(x, shape), INT("allowzero", 1))
                : ox(op, "Reshape", x, shape);
}

/* Dims that x has already are written 1: they need no node. */
Ox expand_dims(Op *op, Ox x, const Dim *dims, int n)
{
    Dim at[MAX_RANK];
    if (!ox_ok(x) || ctx_failed(op->cx) || same_dims(op->cx, x, dims, n))
        return ctx_failed(op->cx) ? POISON : x;
    if (!need_expand(op, x, dims, n))
        return POISON;
    int own = ox_rank(x);
    for (int i = 0; i < n; i++) {
        int k = i - (n - own);
        at[i] = k >= 0 && dim_eq(op->cx, ox_dim(x, k), dims[i]) == YES ? dim_int(op->cx, 1)
                                                                       : dims[i];
    }
    Ox shape = ox_dims(op->g, at, (size_t)n);
    return ox(op, "Expand", x, shape);
}

Ox permute_to(Op *op, Ox x, const int *perm, int n)
{
    int64_t at[MAX_RANK];
    bool same = true;
    for (int i = 0; i < n; i++) {
        at[i] = perm[i];
        same &= perm[i] == i;
    }
    return same ? x : ox_with(op, "Transpose", INPUTS(x), INT_LIST("perm", at, (size_t)n));
}

Ox slice_axis(Op *op, Ox x, int axis, Dim start, Dim end, int64_t step)
{
    if (!ox_ok(x) || ctx_failed(op->cx))
        return POISON;
    if (step == 1 && dim_is(start, 0) && dim_eq(op->cx, end, ox_dim(x, axis)) == YES)
        return x;
    Ox from = ox_dims(op->g, &start, 1);
    Ox axes = ints(op, axis);
    Ox by = ints(op, step);
    Ox to = dim_eq(op->cx, end, ox_dim(x, axis)) == YES ? ints(op, INT64_MAX)
                                                        : ox_dims(op->g, &end, 1);
    return step == 1 ? ox(op, "Slice", x, from, to, axes) : ox(op, "Slice", x, from, to, axes, by);
}

Ox concat_axis(Op *op, const Ox *at, size_t n, int axis)
{
    Oxs some = { 0 };
    for (size_t i = 0; i < n; i++)
        if (at[i])
            vec_push(op->cx, &some, at[i]);
    return some.n == 1 ? some.at[0] : ox_with(op, "Concat", LIST(some), INT("axis", axis));
}

Ox unsqueeze_axis(Op *op, Ox x, int axis)
{
    Ox axes = ints(op, axis);
    return ox(op, "Unsqueeze", x, axes);
}

Ox flatten_to_1d(Op *op, Ox x)
{
    int rank;
    if (!need_rank(op, x, -1, &rank))
        return POISON;
    Dim n = type_numel(op->cx, x->type);
    return rank == 1 ? x : reshape_to(op, x, &n, 1);
}

Ox at_least_1d(Op *op, Ox x, bool *scalar)
{
    *scalar = ox_ok(x) && ox_rank(x) == 0;
    return *scalar ? unsqueeze_axis(op, x, 0) : x;
}

Ox scalar_again(Op *op, Ox x, bool scalar)
{
    if (!scalar)
        return x;
    Ox axes = ints(op, 0);
    return ox(op, "Squeeze", x, axes);
}

/* ---- repeating ---- */

/* x with axes of size 1 in front, up to rank n. */
static Ox lift_rank(Op *op, Ox x, int n)
{
    int64_t axes[MAX_RANK];
    int more = n - ox_rank(x);
    if (more <= 0)
        return x;
    for (int i = 0; i < more; i++)
        axes[i] = i;
    Ox at = ox_ints(op->g, axes, (size_t)more);
    return ox(op, "Unsqueeze", x, at);
}

/* x repeated `repeats` times along each axis, of which there are at least as many as x has: missing
 * ones in front are new. [2,3] by (4, 1, 2) is [4,2,6]. */
static Ox tiled(Op *op, Ox x, Dims repeats)
{
    int rank, n = (int)repeats.n;
    bool ones = true;
    if (ctx_failed(op->cx) || !need_rank(op, x, -1, &rank))
        return POISON;
    x = lift_rank(op, x, n);
    for (int i = 0; i < n; i++) {
        int64_t times;
        if (dim_known(repeats.at[i], &times) && times < 0)
            return op_fail(op, E_VALUE, "the number of repeats is negative: %lld",
                           (long long)times);
        ones &= dim_is(repeats.at[i], 1);
    }
    if (ones || !ox_ok(x))
        return x;
    Ox by = ox_dims(op->g, repeats.at, (size_t)n);
    return ox(op, "Tile", x, by);
}

static Ox lower_repeat(Op *op)
{
    Ox x = arg(op, "self");
    Dims repeats = arg_dims(op, "repeats");
    int rank;
    if (!need_rank(op, x, -1, &rank))
        return POISON;
    if ((int)repeats.n < rank)
        return op_fail(op, E_VALUE,
                       "Number of dimensions of repeat dims can not be smaller than number of "
                       "dimensions of tensor");
    return tiled(op, x, repeats);
}

/* tile: missing repeats in front are 1. */
static Ox lower_tile(Op *op)
{
    Ox x = arg(op, "self");
    Dims dims = arg_dims(op, "dims");
    Dims full = { 0 };
    int rank;
    if (!need_rank(op, x, -1, &rank))
        return POISON;
    size_t n = dims.n > (size_t)rank ? dims.n : (size_t)rank;
    full.at = new_array(op->cx, Dim, n + 1);
    if (!full.at)
        return POISON;
    for (; full.n < n; full.n++)
        full.at[full.n] = full.n < n - dims.n ? dim_int(op->cx, 1) : dims.at[full.n - (n - dims.n)];
    return tiled(op, x, full);
}

/* Each element `repeats` times in a row: a new axis, expanded, folded into the one before. */
static Ox lower_repeat_interleave(Op *op)
{
    Ox x = arg(op, "self");
    Dim times = arg_dim_expr(op, "repeats");
    int64_t known;
    int rank, axis = 0;
    if (dim_known(times, &known) && known < 0)
        return op_fail(op, E_VALUE, "Repeats must be non-negative");
    if (!arg_given(op, "dim"))
        x = flatten_to_1d(op, x);
    if (!need_rank(op, x, -1, &rank) || (arg_given(op, "dim") && !arg_dim(op, "dim", rank, &axis)))
        return POISON;
    Dim wide[MAX_RANK + 1], flat[MAX_RANK];
    for (int i = 0; i < rank; i++) {
        flat[i] = i == axis ? dim_mul(op->cx, ox_dim(x, i), times) : ox_dim(x, i);
        wide[i <= axis ? i : i + 1] = ox_dim(x, i);
    }
    wide[axis + 1] = times;
    return reshape_to(op, expand_dims(op, unsqueeze_axis(op, x, axis + 1), wide, rank + 1), flat,
                      rank);
}

/* Which element each of the repeated ones is: as many before it as have ended there. Of one number,
 * all are repeated so often. */
static Ox repeated_index(Op *op, Ox repeats, Dim n)
{
    int rank;
    if (!need_rank(op, repeats, 1, &rank))
        return POISON;
    if (rank > 1)
        return op_fail(op, E_VALUE, "repeats must be 0-dim or 1-dim tensor");
    repeats = expand_dims(op, flatten_to_1d(op, ox_cast(op->g, repeats, DT_INT64)), &n, 1);
    Ox zero = ox_int(op->g, 0);
    Ox one = ox_int(op->g, 1);
    Ox ends = ox(op, "CumSum", repeats, zero);
    Axes first = { .at = { 0 }, .n = 1 };
    Axes last = { .at = { 1 }, .n = 1 };
    Ox total = reduce(op, "ReduceSum", repeats, &first, false);
    Ox places = ox(op, "Range", zero, total, one);
    Ox ended = ox(op, "LessOrEqual", ends, unsqueeze_axis(op, places, 1));
    return reduce(op, "ReduceSum", ox_ok(ended) ? ox_cast(op->g, ended, DT_INT64) : POISON, &last,
                  false);
}

static Ox lower_repeat_index(Op *op)
{
    Ox repeats = arg(op, "repeats");
    int rank;
    if (!need_rank(op, repeats, 1, &rank))
        return POISON;
    if (rank != 1)
        return op_fail(op, E_VALUE, "repeat_interleave only accept 1D vector as repeat");
    Ox index = repeated_index(op, repeats, ox_dim(repeats, 0));
    return ox_ok(index) ? ox_cast(op->g, index, ox_dtype(repeats)) : POISON;
}

static Ox lower_repeat_by_tensor(Op *op)
{
    Ox x = arg(op, "self");
    Ox repeats = arg(op, "repeats");
    int rank, axis = 0;
    bool scalar;
    if (!arg_given(op, "dim"))
        x = flatten_to_1d(op, x);
    if (!need_rank(op, x, -1, &rank) || (arg_given(op, "dim") && !arg_dim(op, "dim", rank, &axis)))
        return POISON;
    x = at_least_1d(op, x, &scalar);
    Ox index = repeated_index(op, repeats, ox_dim(x, axis));
    return ox_with(op, "Gather", INPUTS(x, index), INT("axis", axis));
}

/* ---- reordering ---- */

static Ox flipped(Op *op, Ox x, const Axes *axes)
{
    int64_t at[MAX_RANK], last[MAX_RANK], stop[MAX_RANK], back[MAX_RANK];
    if (axes->n == 0)
        return x;
    for (int i = 0; i < axes->n; i++) {
        at[i] = axes->at[i];
        last[i] = back[i] = -1;
        stop[i] = INT64_MIN;
    }
    size_t n = (size_t)axes->n;
    Ox from = ox_ints(op->g, last, n);
    Ox to = ox_ints(op->g, stop, n);
    Ox where = ox_ints(op->g, at, n);
    Ox step = ox_ints(op->g, back, n);
    return ox(op, "Slice", x, from, to, where, step);
}

static Ox lower_flip(Op *op)
{
    Ox x = arg(op, "self");
    Axes axes;
    int rank;
    if (!need_rank(op, x, -1, &rank) || !arg_axes(op, "dims", rank, &axes))
        return POISON;
    return arg_ints(op, "dims").n == 0 ? x : flipped(op, x, &axes);
}

/* fliplr and flipud. row->datum: the axis. */
static Ox lower_flip_axis(Op *op)
{
    Ox x = arg(op, "self");
    Axes axis = { .at = { (int)op->row->datum }, .n = 1 };
    int rank;
    if (!need_rank(op, x, 2, &rank))
        return POISON;
    return rank > axis.at[0] ? flipped(op, x, &axis)
                             : op_fail(op, E_VALUE, "Input must be >= %d-d.", axis.at[0] + 1);
}

/* An axis counted from the front; -1 when it is out of range. */
static int axis_from_front(int64_t dim, int rank)
{
    int64_t axis = dim < 0 ? dim + rank : dim;
    return axis >= 0 && axis < rank ? (int)axis : -1;
}

/* Two different axes in range: those that rot90 turns. */
static bool turned_axes(Op *op, int rank, int *a, int *b)
{
    Ints dims = arg_ints(op, "dims");
    if (ctx_failed(op->cx))
        return false;
    if (dims.n == 2) {
        *a = axis_from_front(dims.at[0], rank);
        *b = axis_from_front(dims.at[1], rank);
        if (*a >= 0 && *b >= 0 && *a != *b)
            return true;
    }
    return fail(op->cx, E_VALUE,
                "rot90: two different dims in range of the tensor's %d dimensions are needed",
                rank);
}

/* k quarter turns from the first axis towards the second: flip one axis and exchange both; a half
 * turn flips both. */
static Ox lower_rot90(Op *op)
{
    Ox x = arg(op, "self");
    int rank, a, b;
    int perm[MAX_RANK];
    int turns = (int)(((arg_int(op, "k") % 4) + 4) % 4);
    if (!need_rank(op, x, 2, &rank) || !turned_axes(op, rank, &a, &b))
        return POISON;
    if (turns == 0)
        return x;
    Axes over = { .at = { turns == 1 ? b : a, b }, .n = turns == 2 ? 2 : 1 };
    Ox out = flipped(op, x, &over);
    if (turns == 2)
        return out;
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    perm[a] = b;
    perm[b] = a;
    return permute_to(op, out, perm, rank);
}

/* The last `by` elements of the axis come first. */
static Ox rolled(Op *op, Ox x, int axis, Dim by)
{
    Dim size = ox_dim(x, axis);
    Dim zero = dim_int(op->cx, 0);
    if (dim_is(size, 0))
        return x;
    Dim divisor = dim_max(op->cx, size, dim_int(op->cx, 1)); /* a dynamic size may be 0 */
    Dim shift = dim_mod(op->cx, by, divisor);
    if (!shift)
        return POISON;
    if (dim_eq(op->cx, shift, zero) == YES)
        return x;
    Dim cut = dim_sub(op->cx, size, shift);
    Ox front = slice_axis(op, x, axis, zero, cut, 1);
    Ox back = slice_axis(op, x, axis, cut, size, 1);
    return concat_axis(op, (const Ox[]){ back, front }, 2, axis);
}

/* roll of each named axis in turn; without dims, of the flattened tensor. */
static Ox lower_roll(Op *op)
{
    Ox x = arg(op, "self");
    Dims shifts = arg_dims(op, "shifts");
    Ints dims = arg_ints(op, "dims");
    int rank;
    if (ctx_failed(op->cx) || !need_rank(op, x, -1, &rank))
        return POISON;
    if (dims.n == 0 && shifts.n == 1)
        return reshape_to(op, rolled(op, flatten_to_1d(op, x), 0, shifts.at[0]), x->type->dim,
                          rank);
    if (dims.n != shifts.n)
        return op_fail(op, E_VALUE, "shifts and dimensions must align. shifts: %zu, dims:%zu",
                       shifts.n, dims.n);
    for (size_t i = 0; i < dims.n && ox_ok(x); i++) {
        int64_t d = dims.at[i] < 0 ? dims.at[i] + rank : dims.at[i];
        if (d < 0 || d >= rank)
            return op_fail(op, E_VALUE, "roll: dim %lld is out of range for rank %d",
                           (long long)dims.at[i], rank);
        specialized_turn(op->cx, ox_dim(x, (int)d), shifts.at[i]);
        x = rolled(op, x, (int)d, shifts.at[i]);
    }
    return x;
}

/* Split axis `axis` of x into sizes[0..n). */
static Ox split_axis(Op *op, Ox x, int axis, const Dim *sizes, int n)
{
    Dim dims[2 * MAX_RANK];
    int k = 0;
    int rank = ox_rank(x);
    for (int i = 0; i < rank; i++)
        if (i != axis)
            dims[k++] = ox_dim(x, i);
        else
            for (int j = 0; j < n; j++)
                dims[k++] = sizes[j];
    return reshape_to(op, x, dims, k);
}

/* [N, C, ..]: the channels as [groups, each], transposed and flattened again. */
static Ox lower_channel_shuffle(Op *op)
{
    Ox x = arg(op, "self");
    Dim groups = arg_dim_expr(op, "groups"), each;
    int rank, perm[MAX_RANK];
    if (!need_rank(op, x, 4, &rank))
        return POISON;
    if (rank < 3)
        return op_fail(op, E_VALUE,
                       "channel_shuffle expects input with > 2 dims, but got input with sizes %s",
                       type_text(op->cx, x->type)->s);
    if (!dim_divide(op->cx, ox_dim(x, 1), groups, &each)) {
        if (dim_known(ox_dim(x, 1), NULL) && dim_known(groups, NULL))
            return op_fail(op, E_VALUE, "Number of channels must be divisible by groups.");
        each = dim_floordiv(op->cx, ox_dim(x, 1), groups);
    }
    if (!each)
        return POISON;
    Ox wide = split_axis(op, x, 1, (const Dim[]){ groups, each }, 2);
    for (int i = 0; i <= rank; i++)
        perm[i] = i;
    perm[1] = 2;
    perm[2] = 1;
    return reshape_to(op, permute_to(op, wide, perm, rank + 1), x->type->dim, rank);
}

/* [.., C*r*r, H, W] -> [.., C, H*r, W*r] */
static Ox lower_pixel_shuffle(Op *op)
{
    Ox x = arg(op, "self");
    int64_t r = arg_int(op, "upscale_factor");
    int rank;
    if (!need_rank(op, x, 4, &rank))
        return POISON;
    if (r == 1 && rank >= 3)
        return x;
    if (r < 1 && rank >= 3)
        return op_fail(op, E_VALUE, "pixel_shuffle expects a positive upscale_factor, but got %lld",
                       (long long)r);
    if (rank == 4 && dtype_is_float(ox_dtype(x))) /* runtimes have it for floats only */
        return ox_with(op, "DepthToSpace", INPUTS(x), INT("blocksize", r),
                       STRING("mode", str_of(op->cx, "CRD")));
    if (rank < 3)
        return op_fail(op, E_VALUE,
                       "pixel_shuffle expects input to have at least 3 dimensions, but got input "
                       "with %d dimension(s)",
                       rank);
    Dim by = dim_int(op->cx, r), channels, dims[MAX_RANK];
    if (!dim_divide(op->cx, ox_dim(x, rank - 3), dim_mul(op->cx, by, by), &channels))
        return op_fail(op, E_VALUE,
                       "pixel_shuffle expects its input's 'channel' dimension to be divisible by "
                       "the square of upscale_factor");
    int perm[MAX_RANK], a = rank - 3;
    Ox wide = split_axis(op, x, a, (const Dim[]){ channels, by, by }, 3); /* .. C r r H W */
    for (int i = 0; i < rank; i++) {
        perm[i] = i;
        dims[i] = ox_dim(x, i);
    }
    perm[a + 1] = a + 3, perm[a + 2] = a + 1, perm[a + 3] = a + 4, perm[a + 4] = a + 2;
    dims[a] = channels;
    dims[a + 1] = dim_mul(op->cx, dims[a + 1], by);
    dims[a + 2] = dim_mul(op->cx, dims[a + 2], by);
    return reshape_to(op, permute_to(op, wide, perm, rank + 2), dims, rank);
}

/* d / by. Nobody knows whether a dynamic size divides: then PyTorch would have raised, and a note
 * says so. */
static bool divided(Op *op, Dim d, Dim by, Dim *out)
{
    if (dim_divide(op->cx, d, by, out))
        return true;
    if (dim_known(d, NULL))
        return false;
    *out = dim_floordiv(op->cx, d, by);
    note(op->cx, NOTE_ASSUMED, "the size %s can be divided by %s", dim_text(op->cx, d)->s,
         dim_text(op->cx, by)->s);
    return *out != NULL;
}

/* [.., C, H*r, W*r] -> [.., C*r*r, H, W] */
static Ox lower_pixel_unshuffle(Op *op)
{
    Ox x = arg(op, "self");
    int64_t r = arg_int(op, "downscale_factor");
    int rank, perm[MAX_RANK];
    Dim by = dim_int(op->cx, r), high, wide, dims[MAX_RANK];
    if (!need_rank(op, x, 4, &rank))
        return POISON;
    int a = rank - 3;
    if (r == 1 && a >= 0)
        return x;
    if (r < 1 && a >= 0)
        return op_fail(op, E_VALUE,
                       "pixel_unshuffle expects a positive downscale_factor, but got %lld",
                       (long long)r);
    if (a < 0 || !divided(op, ox_dim(x, a + 1), by, &high) ||
        !divided(op, ox_dim(x, a + 2), by, &wide))
        return op_fail(
            op, E_VALUE,
            "pixel_unshuffle expects height and width to be divisible by downscale_factor");
    Ox parts = split_axis(op, split_axis(op, x, a + 2, (const Dim[]){ wide, by }, 2), a + 1,
                          (const Dim[]){ high, by }, 2);
    for (int i = 0; i < rank; i++) {
        perm[i] = i;
        dims[i] = ox_dim(x, i);
    }
    perm[a + 1] = a + 2, perm[a + 2] = a + 4, perm[a + 3] = a + 1,
             perm[a + 4] = a + 3; /* C r r H W out of C H r W r */
    dims[a] = dim_mul(op->cx, dims[a], dim_mul(op->cx, by, by));
    dims[a + 1] = high;
    dims[a + 2] = wide;
    return reshape_to(op, permute_to(op, parts, perm, rank + 2), dims, rank);
}

OP_ROWS(shape)
{
    LOWER(lower_repeat, NULL, PLAIN, "aten::repeat(Tensor self, SymInt[] repeats) -> Tensor");
    LOWER(lower_tile, NULL, PLAIN, "aten::tile(Tensor self, SymInt[] dims) -> Tensor");
    LOWER(lower_repeat_interleave, NULL, PLAIN,
          "aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? "
          "output_size=None) -> Tensor");
    LOWER(lower_repeat_index, NULL, PLAIN,
          "aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor");
    LOWER(lower_repeat_by_tensor, NULL, PLAIN,
          "aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, "
          "SymInt? output_size=None) -> Tensor");
    FAMILY(lower_flip_axis, 1, NULL, PLAIN, "aten::fliplr(Tensor self) -> Tensor");
    FAMILY(lower_flip_axis, 0, NULL, PLAIN, "aten::flipud(Tensor self) -> Tensor");
    LOWER(lower_rot90, NULL, PLAIN,
          "aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor",
          .layout = LAYOUT_OWN_ORDER);
    LOWER(lower_flip, NULL, PLAIN, "aten::flip(Tensor self, int[] dims) -> Tensor");
    LOWER(lower_roll, NULL, PLAIN,
          "aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor");
    LOWER(lower_channel_shuffle, NULL, PLAIN,
          "aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor");
    LOWER(lower_channel_shuffle, NULL, PLAIN,
          "aten::native_channel_shuffle(Tensor self, SymInt groups) -> Tensor");
    LOWER(lower_pixel_shuffle, NULL, PLAIN,
          "aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor");
    LOWER(lower_pixel_unshuffle, NULL, PLAIN,
          "aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor");
}
