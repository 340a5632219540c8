/* fractional.c - fractional max pooling: windows of one size whose places follow from a sample u of
 * [0, 1), another for each image, channel and axis.
 *
 * Window i of n over an axis begins at floor((i + u) alpha) - floor(u alpha), alpha = (size -
 * kernel) / (n - 1); the last one ends where the axis ends. GatherElements lays the windows of each
 * axis side by side, and each window gives its largest element. */
#include "ops/internal.h"

typedef struct Fractional {
    Ox x;       /* [N, C, ..] */
    Ox samples; /* [N, C, n] */
    int n;      /* spatial axes */
    int64_t kernel[3], out[3];
    int64_t taps; /* elements of a window */
    bool alone;   /* the input has no batch axis */
} Fractional;

/* Reads the arguments; row->datum: the number of spatial axes. False after an error. */
static bool fractional_args(Op *op, Fractional *f)
{
    int rank;
    int n = (int)op->row->datum;
    f->n = n;
    f->taps = 1;
    f->x = arg(op, "self");
    f->samples = arg(op, "random_samples");
    Ints kernel = arg_ints_n(op, "kernel_size", n);
    Ints out = arg_ints_n(op, "output_size", n);
    if (ctx_failed(op->cx) || !need_rank(op, f->x, n + 2, &rank))
        return false;
    if (rank != n + 1 && rank != n + 2)
        return fail(op->cx, E_VALUE, "Expected %dD or %dD tensor, but got: %s", n + 1, n + 2,
                    type_text(op->cx, f->x->type)->s);
    f->alone = rank == n + 1;
    if (f->alone)
        f->x = unsqueeze_axis(op, f->x, 0);
    for (int i = 0; i < n; i++) {
        f->kernel[i] = kernel.at[i];
        f->out[i] = out.at[i];
        if (f->kernel[i] < 1 || f->out[i] < 1)
            return fail(op->cx, E_VALUE, "kernel_size and output_size must be greater than zero");
        if (f->kernel[i] > INT32_MAX || f->out[i] > INT32_MAX ||
            !mul_ok(f->taps, f->kernel[i], &f->taps))
            return fail(op->cx, E_LIMIT, "kernel_size or output_size is too large");
    }
    return ox_ok(f->x) && ox_ok(f->samples);
}

/* 0, 1, .. n - 1 as a constant. */
static Ox range_of(Op *op, int64_t n)
{
    int64_t *at = new_array(op->cx, int64_t, (size_t)n + 1);
    if (!at)
        return POISON;
    for (int64_t i = 0; i < n; i++)
        at[i] = i;
    return ox_ints(op->g, at, (size_t)n);
}

/* Where each window of axis i begins, [N, C, windows]. A sample's first number is for depth in 3-D,
 * but for width in 2-D. */
static Ox starts(Op *op, const Fractional *f, int i)
{
    Dim column = dim_int(op->cx, f->n == 2 ? 1 - i : i);
    Ox size = ox_dim_value(op->g, ox_dim(f->x, 2 + i));
    Ox room = ox(op, "Sub", size, ox_int(op->g, f->kernel[i]));
    Dim one = dim_int(op->cx, 1);
    Ox last = reshape_to(op, room, (const Dim[]){ one, one, one }, 3);
    Dim each[] = { ox_dim(f->x, 0), ox_dim(f->x, 1), dim_int(op->cx, 1) };
    if (f->out[i] == 1)
        return expand_dims(op, last, each, 3);
    Ox u = slice_axis(op, f->samples, 2, column, dim_add(op->cx, column, dim_int(op->cx, 1)), 1);
    Ox numbers = range_of(op, f->out[i] - 1);
    Ox count = number_like(op, (double)f->out[i] - 1, u);
    if (!ox_ok(u) || !ox_ok(numbers) || !ox_ok(room))
        return POISON;
    Ox alpha = ox(op, "Div", ox_cast(op->g, room, ox_dtype(u)), count);
    Ox place = ox(op, "Add", u, ox_cast(op->g, numbers, ox_dtype(u)));
    Ox from = ox(op, "Mul", place, alpha);
    Ox first = ox(op, "Mul", u, alpha);
    if (!ox_ok(from) || !ox_ok(first))
        return POISON;
    Ox whole = ox_cast(op->g, from, DT_INT64);
    Ox begin = ox(op, "Sub", whole, ox_cast(op->g, first, DT_INT64));
    Ox end = expand_dims(op, last, each, 3);
    return concat_axis(op, (const Ox[]){ begin, end }, 2, 2);
}

/* The pixels of all windows along axis i, [N, C, 1.., windows * taps, 1..]. */
static Ox places(Op *op, const Fractional *f, int i)
{
    Ox begin = starts(op, f, i);
    Ox taps = range_of(op, f->kernel[i]);
    Ox at = ox(op, "Add", unsqueeze_axis(op, begin, 3), taps);
    Dim dims[5] = { ox_dim(f->x, 0), ox_dim(f->x, 1) };
    for (int k = 0; k < f->n; k++)
        dims[2 + k] = dim_int(op->cx, k == i ? f->out[i] * f->kernel[i] : 1);
    return reshape_to(op, at, dims, f->n + 2);
}

/* [N, C, out * kernel ..] as [N, C, out.., all taps] */
static Ox by_window(Op *op, const Fractional *f, Ox x)
{
    Dim dims[MAX_RANK] = { ox_dim(f->x, 0), ox_dim(f->x, 1) };
    int perm[MAX_RANK] = { 0, 1 };
    for (int i = 0; i < f->n; i++) {
        dims[2 + 2 * i] = dim_int(op->cx, f->out[i]);
        dims[3 + 2 * i] = dim_int(op->cx, f->kernel[i]);
        perm[2 + i] = 2 + 2 * i;
        perm[2 + f->n + i] = 3 + 2 * i;
    }
    x = permute_to(op, reshape_to(op, x, dims, 2 + 2 * f->n), perm, 2 + 2 * f->n);
    for (int i = 0; i < f->n; i++)
        dims[2 + i] = dim_int(op->cx, f->out[i]);
    dims[2 + f->n] = dim_int(op->cx, f->taps);
    return reshape_to(op, x, dims, 3 + f->n);
}

/* The index of the largest element along the axis: the first of several, but the last not-a-number
 * where there is one. */
static Ox largest(Op *op, Ox x, int axis)
{
    Ox first = ox_with(op, "ArgMax", INPUTS(x), INT("axis", axis), INT("keepdims", 1));
    Ox none = ox(op, "IsNaN", x);
    if (!ox_ok(first) || !ox_ok(none))
        return POISON;
    Ox marks = ox_cast(op->g, none, DT_INT32);
    Ox found = ox_with(op, "ArgMax", INPUTS(marks), INT("axis", axis), INT("keepdims", 1),
                       INT("select_last_index", 1));
    Ox any = reduce(op, "ReduceMax", marks, &(Axes){ .n = 1, .at = { axis } }, true);
    return ox(op, "Where", ox_cast(op->g, any, DT_BOOL), found, first);
}

static Ox picked(Op *op, Ox x, Ox at, int axis)
{
    Ox value = ox_with(op, "GatherElements", INPUTS(x, at), INT("axis", axis));
    Ox axes = ints(op, axis);
    return ox(op, "Squeeze", value, axes);
}

/* -> (the largest element, its index in its flattened image) of each window */
static Value lower_fractional_max_pool(Op *op)
{
    Fractional f;
    Dim dims[5];
    if (!fractional_args(op, &f))
        return val_poison();
    Ox seen = f.x;
    Ox place = ox_int(op->g, 0);
    ox_sizes(f.x, dims);
    for (int i = 0; i < f.n; i++) {
        Ox at = places(op, &f, i);
        Ox size = ox_dim_value(op->g, ox_dim(f.x, 2 + i));
        Ox scaled = ox(op, "Mul", place, size);
        dims[2 + i] = dim_int(op->cx, f.out[i] * f.kernel[i]);
        place = ox(op, "Add", scaled, at);
        Ox everywhere = expand_dims(op, at, dims, f.n + 2);
        seen = ox_with(op, "GatherElements", INPUTS(seen, everywhere), INT("axis", 2 + i));
    }
    int axis = f.n + 2;
    Ox windows = by_window(op, &f, seen);
    Ox from = by_window(op, &f, place);
    Ox best = largest(op, windows, axis);
    Ox out[] = { picked(op, windows, best, axis), NULL };
    out[1] = picked(op, from, best, axis);
    Ox first = ints(op, 0);
    if (f.alone)
        for (int i = 0; i < 2; i++)
            out[i] = ox(op, "Squeeze", out[i], first);
    if (!ox_ok(out[0]) || !ox_ok(out[1]))
        return val_poison();
    return result_tuple(op, out, 2);
}

OP_ROWS(fractional)
{
    CALL_FAMILY(lower_fractional_max_pool, 2, NULL, PLAIN,
                "aten::fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, "
                "Tensor random_samples) -> (Tensor, Tensor)");
    CALL_FAMILY(lower_fractional_max_pool, 3, NULL, PLAIN,
                "aten::fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, "
                "Tensor random_samples) -> (Tensor, Tensor)");
}
