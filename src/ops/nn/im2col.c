/* im2col.c - im2col and col2im: the windows of an image as columns, and back.
 *
 * Along an axis of the padded image, tap t of window w lies at t * dilation + w * stride: a table
 * of places, [taps, windows], for each axis. im2col gathers by them, one axis after the other. For
 * col2im ONNX has Col2Im from opset 18 on; where that or its kernel is missing, the columns are
 * added up at their places. */
#include "ops/internal.h"

enum { AXES = 2 };

typedef struct Fold2d {
    int64_t kernel[AXES], dilation[AXES], pad[AXES], stride[AXES];
    Dim windows[AXES]; /* how many there are along each axis */
    bool alone;        /* the input has no batch axis */
} Fold2d;

/* The two numbers of a parameter, each `least` (0 or 1) or more. False after an error. */
static bool pair_of(Op *op, const char *name, int64_t least, int64_t out[AXES])
{
    Ints v = arg_ints_n(op, name, AXES);
    if (ctx_failed(op->cx))
        return false;
    if (v.n != AXES)
        return fail(op->cx, E_VALUE, "It is expected %s equals to 2, but got size %zu", name, v.n);
    for (size_t i = 0; i < AXES; i++) {
        out[i] = v.at[i];
        if (out[i] < least)
            return fail(op->cx, E_VALUE, "%s should be %s zero, but got %lld", name,
                        least ? "greater than" : "at least", (long long)out[i]);
        if (out[i] > INT32_MAX)
            return fail(op->cx, E_LIMIT, "%s is too large: %lld", name, (long long)out[i]);
    }
    return true;
}

static bool fold_args(Op *op, Fold2d *f)
{
    return pair_of(op, "kernel_size", 1, f->kernel) && pair_of(op, "dilation", 1, f->dilation) &&
        pair_of(op, "padding", 0, f->pad) && pair_of(op, "stride", 1, f->stride);
}

/* Sets f->windows for an image of these sizes. False after an error: there is none. */
static bool count_windows(Op *op, Fold2d *f, const Dim size[AXES])
{
    Ctx *cx = op->cx;
    for (int i = 0; i < AXES; i++) {
        int64_t reach = f->dilation[i] * (f->kernel[i] - 1) + 1;
        Dim room = dim_add(cx, size[i], dim_int(cx, 2 * f->pad[i] - reach));
        f->windows[i] = dim_add(cx, dim_floordiv(cx, room, dim_int(cx, f->stride[i])),
                                dim_int(cx, 1));
        if (dim_lt(cx, f->windows[i], dim_int(cx, 1)) == YES)
            return fail(cx, E_VALUE,
                        "calculated shape of the array of sliding blocks is too small "
                        "(non-positive): size %s of axis %d",
                        dim_text(cx, size[i])->s, i);
    }
    return true;
}

/* [taps, windows]: where tap t of window w lies along the axis. */
static Ox places(Op *op, Windows1d w)
{
    int64_t *tap = new_array(op->cx, int64_t, w.taps);
    if (!tap)
        return POISON;
    for (int64_t i = 0; i < w.taps; i++)
        tap[i] = i * w.dilation;
    Ox taps = ox_const(op->g, const_make(op->cx, DT_INT64, 2, (const int64_t[]){ w.taps, 1 }, tap));
    Ox zero = ox_int(op->g, 0);
    Ox end = ox_dim_value(op->g, dim_mul(op->cx, w.count, dim_int(op->cx, w.stride)));
    Ox by = ox_int(op->g, w.stride);
    Ox windows = ox(op, "Range", zero, end, by);
    return ox(op, "Add", taps, windows);
}

bool needs_windows(Op *op, Ox x)
{
    return ox_ok(x) && (dtype_is_int(ox_dtype(x)) || (ox_dtype(x) == DT_DOUBLE && op->g->ort));
}

Ox windows_along(Op *op, Ox x, int axis, Windows1d w)
{
    Ox at = places(op, w);
    return ox_with(op, "Gather", INPUTS(x, at), INT("axis", axis));
}

static Windows1d windows_of(const Fold2d *f, int axis)
{
    return (Windows1d){ f->kernel[axis], f->dilation[axis], f->stride[axis], f->windows[axis] };
}

/* Argument self, of rank `batched` or one less, with a batch axis. *alone: it had none. False after
 * an error. */
static bool image_input(Op *op, int batched, Ox *x, bool *alone)
{
    int rank;
    *x = arg(op, "self");
    if (!need_rank(op, *x, batched, &rank))
        return false;
    if (rank != batched && rank != batched - 1)
        return fail(op->cx, E_VALUE,
                    "Expected %dD or %dD (batch mode) tensor, but got input with sizes: %s",
                    batched - 1, batched, type_text(op->cx, (*x)->type)->s);
    *alone = rank == batched - 1;
    if (*alone)
        *x = unsqueeze_axis(op, *x, 0);
    return ox_ok(*x);
}

static Ox without_batch(Op *op, Ox y, bool alone)
{
    Ox axes = ints(op, 0);
    return alone ? ox(op, "Squeeze", y, axes) : y;
}

static Ox padded(Op *op, const Fold2d *f, Ox x)
{
    Ox pads = ints(op, 0, 0, f->pad[0], f->pad[1], 0, 0, f->pad[0], f->pad[1]);
    if (!f->pad[0] && !f->pad[1])
        return x;
    return ox(op, "Pad", x, pads);
}

/* [N, C, H, W] -> [N, C * kh * kw, rows * columns] */
static Ox lower_im2col(Op *op)
{
    Fold2d f = { .alone = false };
    Ox x;
    if (!fold_args(op, &f) || !image_input(op, 4, &x, &f.alone) ||
        !count_windows(op, &f, x->type->dim + 2))
        return POISON;
    Ctx *cx = op->cx;
    Dim all = dim_mul(cx, ox_dim(x, 1), dim_int(cx, f.kernel[0] * f.kernel[1]));
    Dim dims[3] = { ox_dim(x, 0), all, dim_product(cx, f.windows, AXES) };
    Ox tall = windows_along(op, padded(op, &f, x), 2, windows_of(&f, 0));
    Ox wide = windows_along(op, tall, 4, windows_of(&f, 1)); /* [N, C, kh, rows, kw, columns] */
    Ox turned = permute_to(op, wide, (const int[]){ 0, 1, 2, 4, 3, 5 }, 6);
    return without_batch(op, reshape_to(op, turned, dims, 3), f.alone);
}

/* Where each number of a column lies in its flattened, padded image of this width:
 * [kh * kw * rows * columns]. */
static Ox places_in_image(Op *op, const Fold2d *f, Dim width, Dim each)
{
    Ox rows = places(op, windows_of(f, 0));
    Ox columns = places(op, windows_of(f, 1));
    Ox row_axes = ints(op, 1, 3);
    Ox column_axes = ints(op, 0, 2);
    Ox pitch = ox_dim_value(op->g, width);
    Ox down = ox(op, "Mul", rows, pitch);
    Ox from = ox(op, "Unsqueeze", down, row_axes);
    Ox across = ox(op, "Unsqueeze", columns, column_axes);
    Ox at = ox(op, "Add", from, across); /* [kh, kw, rows, columns] */
    return reshape_to(op, at, &each, 1);
}

/* Col2Im written out: each number of x [N, C, taps, windows] is added at its place of the padded
 * image, whose padding is then cut off. */
static Ox added_up(Op *op, const Fold2d *f, Ox x, Dim channels, const Dim size[AXES])
{
    Ctx *cx = op->cx;
    int64_t taps = f->kernel[0] * f->kernel[1];
    Dim each = dim_mul(cx, dim_int(cx, taps), dim_product(cx, f->windows, AXES));
    Dim wide[AXES];
    for (int i = 0; i < AXES; i++)
        wide[i] = dim_add(cx, size[i], dim_int(cx, 2 * f->pad[i]));
    Dim flat[3] = { ox_dim(x, 0), channels, each };
    Dim area[3] = { flat[0], channels, dim_product(cx, wide, AXES) };
    Ox at = places_in_image(op, f, wide[1], each);
    Ox where = expand_dims(op, at, flat, 3);
    Ox values = reshape_to(op, x, flat, 3);
    Ox zero = number_like(op, 0, x);
    Ox canvas = expand_dims(op, zero, area, 3);
    Ox sum = ox_with(op, "ScatterElements", INPUTS(canvas, where, values), INT("axis", 2),
                     STRING("reduction", str_of(cx, "add")));
    Ox image = reshape_to(op, sum, (const Dim[]){ flat[0], channels, wide[0], wide[1] }, 4);
    for (int i = 0; i < AXES; i++) {
        Dim start = dim_int(cx, f->pad[i]);
        image = slice_axis(op, image, 2 + i, start, dim_add(cx, start, size[i]), 1);
    }
    return image;
}

static Ox col2im(Op *op, const Fold2d *f, Ox x, const Dim size[AXES])
{
    Ox image = ox_dims(op->g, size, AXES);
    Ox block = ints(op, f->kernel[0], f->kernel[1]);
    const int64_t pads[2 * AXES] = { f->pad[0], f->pad[1], f->pad[0], f->pad[1] };
    return ox_with(op, "Col2Im", INPUTS(x, image, block), INT_LIST("dilations", f->dilation, AXES),
                   INT_LIST("pads", pads, 2 * AXES), INT_LIST("strides", f->stride, AXES));
}

/* [N, C * kh * kw, rows * columns] -> [N, C, H, W], where overlapping windows are summed. */
static Ox lower_col2im(Op *op)
{
    Fold2d f = { .alone = false };
    Ox x;
    Dim channels;
    Dims size = arg_dims(op, "output_size");
    if (ctx_failed(op->cx) || !fold_args(op, &f) || !image_input(op, 3, &x, &f.alone))
        return POISON;
    if (size.n != AXES)
        return op_fail(op, E_VALUE, "It is expected output_size equals to 2, but got size %zu",
                       size.n);
    if (!count_windows(op, &f, size.at))
        return POISON;
    Dim taps = dim_int(op->cx, f.kernel[0] * f.kernel[1]);
    Dim windows = dim_product(op->cx, f.windows, AXES);
    if (!dim_divide(op->cx, ox_dim(x, 1), taps, &channels))
        return op_fail(op, E_VALUE,
                       "Expected size of input's dimension 1 to be divisible by the product of "
                       "kernel_size, but got input.size(1)=%s and kernel_size=(%lld, %lld).",
                       dim_text(op->cx, ox_dim(x, 1))->s, (long long)f.kernel[0],
                       (long long)f.kernel[1]);
    if (!dim_require(op->cx, ox_dim(x, 2), windows,
                     "Expected size of input's dimension 2 to match the calculated number of "
                     "sliding blocks"))
        return POISON;
    bool has_kernel = op->g->target >= 18 && ox_dtype(x) != DT_DOUBLE;
    Ox image = has_kernel ? col2im(op, &f, x, size.at) : added_up(op, &f, x, channels, size.at);
    return without_batch(op, image, f.alone);
}

OP_ROWS(im2col)
{
    LOWER(lower_im2col, NULL, PLAIN,
          "aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] "
          "stride) -> Tensor");
    LOWER(lower_col2im, NULL, PLAIN,
          "aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, "
          "int[2] padding, int[2] stride) -> Tensor");
}
