/* grid.c - sampling an image at the points of a grid, and the grids that an affine map makes.
 *
 * ONNX has GridSample from opset 16 on, in three dimensions and for doubles from 20 on. Below that
 * the pixels around each point are gathered and weighed: a tap is a place along one axis, a corner
 * one tap of each axis. AffineGrid came with opset 20; below, the points are a constant and the map
 * is a product. Resampling at a regular grid is in resize.c. */
#include "ops/internal.h"

enum { LINEAR, NEAREST, CUBIC };
enum { ZEROS, BORDER, REFLECTION };
enum { MAX_TAPS = 4, MAX_AXES = 3 };

/* ---- arithmetic in x's own type ---- */

static Ox with_number(Op *op, const char *name, Ox x, double v)
{
    Ox n = number_like(op, v, x);
    return ox(op, name, x, n);
}

static Ox plus(Op *op, Ox x, double v) { return v == 0 ? x : with_number(op, "Add", x, v); }
static Ox times(Op *op, Ox x, double v) { return v == 1 ? x : with_number(op, "Mul", x, v); }

/* size + more as a 0-d number of type t. */
static Ox size_as(Op *op, Dim size, int64_t more, DType t)
{
    Ox v = ox_dim_value(op->g, dim_add(op->cx, size, dim_int(op->cx, more)));
    return ox_cast(op->g, v, t);
}

static Ox clip(Op *op, Ox x, double low, Ox high)
{
    Ox least = number_like(op, low, x);
    return ox(op, "Clip", x, least, high);
}

/* ---- where a point lies ---- */

typedef struct Sampler {
    Ox x;
    int n;             /* spatial axes */
    int mode, padding; /* of the enums above */
    bool corners;      /* align_corners */
} Sampler;

/* A place outside the image reflected at its ends, as often as it takes: the distance from the low
 * end, folded back and forth over the span between both. */
static Ox reflect(Op *op, const Sampler *s, Ox at, Dim size)
{
    double low = s->corners ? 0 : -0.5;
    if (s->corners && dim_is(size, 1))
        return times(op, at, 0);
    Ox span = size_as(op, size, s->corners ? -1 : 0, ox_dtype(at));
    if (s->corners && dim_le(op->cx, dim_int(op->cx, 2), size) != YES)
        span = ox(op, "Max", span, number_like(op, 1, span)); /* of one pixel the clip gives it */
    Ox away = ox(op, "Abs", plus(op, at, -low));
    Ox turns = ox(op, "Div", away, span);
    Ox flips = ox(op, "Floor", turns);
    Ox whole = ox(op, "Mul", flips, span);
    Ox extra = ox(op, "Sub", away, whole);
    Ox half = ox(op, "Floor", times(op, flips, 0.5));
    Ox pairs = times(op, half, 2);
    Ox even = ox(op, "Equal", flips, pairs);
    Ox back = ox(op, "Sub", span, extra);
    Ox folded = ox(op, "Where", even, extra, back);
    return plus(op, folded, low);
}

/* A place after the padding mode: with zeros it may stay outside the image. */
static Ox into_image(Op *op, const Sampler *s, Ox at, Dim size)
{
    if (s->padding == ZEROS)
        return at;
    if (s->padding == REFLECTION)
        at = reflect(op, s, at, size);
    return clip(op, at, 0, size_as(op, size, -1, ox_dtype(at)));
}

/* A place from -1 .. 1 as one from 0 .. size - 1 (corners) or -0.5 .. size - 0.5. */
static Ox unnormalized(Op *op, const Sampler *s, Ox g, Dim size)
{
    Ox from = plus(op, g, 1);
    Ox scale = size_as(op, size, s->corners ? -1 : 0, ox_dtype(g));
    Ox wide = ox(op, "Mul", from, scale);
    return times(op, s->corners ? wide : plus(op, wide, -1), 0.5);
}

/* ---- taps: per axis their places and weights ---- */

typedef struct Taps {
    int n;
    Ox at[MAX_TAPS];
    Ox weight[MAX_TAPS]; /* NULL: 1 */
} Taps;

/* Keys' kernel with a = -0.75 at distance t, one cubic for t <= 1 (near) and one for 1 < t <= 2:
 * c[0] t^3 + c[1] t^2 + c[2] t + c[3] */
static Ox cubic_weight(Op *op, Ox t, bool near)
{
    static const double poly[2][4] = { { -0.75, 3.75, -6, 3 }, { 1.25, -2.25, 0, 1 } };
    const double *c = poly[near];
    Ox y = plus(op, times(op, t, c[0]), c[1]);
    y = plus(op, ox(op, "Mul", y, t), c[2]);
    return plus(op, ox(op, "Mul", y, t), c[3]);
}

/* The four taps around a point: low is the one below it, t the distance from it, rest that from the
 * next. */
static Taps cubic_taps(Op *op, const Sampler *s, Ox low, Ox t, Ox rest, Dim size)
{
    Taps out = { .n = 4 };
    for (int i = 0; i < 4; i++) {
        bool near = i == 1 || i == 2;
        Ox place = plus(op, low, i - 1);
        Ox inner = i < 2 ? t : rest;
        Ox away = near ? inner : plus(op, inner, 1);
        out.at[i] = into_image(op, s, place, size);
        out.weight[i] = cubic_weight(op, away, near);
    }
    return out;
}

/* The taps of points at these places along an axis. The padding mode moves the points, but in cubic
 * mode the taps. */
static Taps taps_of(Op *op, const Sampler *s, Ox at, Dim size)
{
    if (s->mode != CUBIC)
        at = into_image(op, s, at, size);
    if (s->mode == NEAREST)
        return (Taps){ .n = 1, .at = { ox(op, "Round", at) } };
    Ox low = ox(op, "Floor", at);
    Ox t = ox(op, "Sub", at, low);
    Ox rest = ox(op, "Sub", number_like(op, 1, at), t);
    if (s->mode == CUBIC)
        return cubic_taps(op, s, low, t, rest, size);
    return (Taps){ .n = 2, .at = { low, plus(op, low, 1) }, .weight = { rest, t } };
}

/* ---- corners ---- */

/* Is a tap in the image, or among the zeros around it? NULL where it always is in it. */
static Ox inside(Op *op, const Sampler *s, Ox at, Dim size)
{
    if (s->padding != ZEROS)
        return NULL;
    Ox zero = number_like(op, 0, at);
    Ox last = size_as(op, size, -1, ox_dtype(at));
    Ox above = ox(op, "GreaterOrEqual", at, zero);
    Ox below = ox(op, "LessOrEqual", at, last);
    return ox(op, "And", above, below);
}

/* a and b, of which NULL stands for nothing. */
static Ox both(Op *op, const char *name, Ox a, Ox b)
{
    if (!a || !b)
        return a ? a : b;
    return ox(op, name, a, b);
}

/* [N, points..] as [N, 1, P] */
static Ox as_row(Op *op, Ox v, Dim points)
{
    if (!ox_ok(v))
        return POISON;
    return reshape_to(op, v, (const Dim[]){ ox_dim(v, 0), dim_int(op->cx, 1), points }, 3);
}

/* The values at one corner of each point, [N, C, P], times their weights. pick: the tap of each
 * axis; flat: x as [N, C, pixels]. */
static Ox corner(Op *op, const Sampler *s, const Taps *taps, const int *pick, Ox flat, Dim points)
{
    Ox place = NULL;
    Ox weight = NULL;
    Ox seen = NULL;
    for (int i = 0; i < s->n; i++) {
        Dim size = ox_dim(s->x, 2 + i);
        Ox at = taps[i].at[pick[i]];
        Ox in = inside(op, s, at, size);
        Ox kept = clip(op, at, 0, size_as(op, size, -1, ox_dtype(at)));
        Ox index = ox_cast(op->g, kept, DT_INT64);
        Ox by = ox_dim_value(op->g, size);
        if (!ox_ok(index))
            return POISON;
        place = place ? ox(op, "Add", ox(op, "Mul", place, by), index) : index;
        weight = both(op, "Mul", weight, taps[i].weight[pick[i]]);
        seen = both(op, "And", seen, in);
    }
    Dim wide[3] = { ox_dim(s->x, 0), ox_dim(s->x, 1), points };
    Ox where = expand_dims(op, as_row(op, place, points), wide, 3);
    Ox v = ox_with(op, "GatherElements", INPUTS(flat, where), INT("axis", 2));
    if (seen) {
        Ox row = as_row(op, seen, points);
        Ox zero = number_like(op, 0, v);
        v = ox(op, "Where", row, v, zero);
    }
    return weight ? ox(op, "Mul", v, as_row(op, weight, points)) : v;
}

/* Counts up to the next corner. False behind the last one. */
static bool next_pick(const Sampler *s, const Taps *taps, int *pick)
{
    for (int i = s->n - 1; i >= 0; i--) {
        if (++pick[i] < taps[i].n)
            return true;
        pick[i] = 0;
    }
    return false;
}

/* GridSample as a sum over the corners of each point. In the grid's last axis the image's last axis
 * comes first: x, y, z. */
static Ox sampled_by_taps(Op *op, const Sampler *s, Ox grid)
{
    Taps taps[MAX_AXES];
    int pick[MAX_AXES] = { 0 };
    Dim dims[MAX_AXES + 2] = { ox_dim(s->x, 0), ox_dim(s->x, 1) };
    Dim flat_dims[3] = { dims[0], dims[1], dim_product(op->cx, s->x->type->dim + 2, s->n) };
    Dim points = dim_product(op->cx, grid->type->dim + 1, s->n);
    for (int i = 0; i < s->n; i++) {
        Dim size = ox_dim(s->x, 2 + i);
        Ox which = ox_int(op->g, s->n - 1 - i);
        Ox g = ox_with(op, "Gather", INPUTS(grid, which), INT("axis", -1));
        taps[i] = taps_of(op, s, unnormalized(op, s, g, size), size);
        dims[2 + i] = ox_dim(grid, 1 + i);
    }
    Ox flat = reshape_to(op, s->x, flat_dims, 3);
    Ox sum = NULL;
    do {
        Ox part = corner(op, s, taps, pick, flat, points);
        sum = both(op, "Add", sum, part);
    } while (next_pick(s, taps, pick));
    return reshape_to(op, sum, dims, s->n + 2);
}

/* Reads and checks the arguments. False after PyTorch's error. */
static bool sampler_args(Op *op, Sampler *s, Ox *grid)
{
    int rank, grid_rank;
    *s = (Sampler){ .x = arg(op, "input"),
                    .mode = (int)arg_int(op, "interpolation_mode"),
                    .padding = (int)arg_int(op, "padding_mode") };
    *grid = arg(op, "grid");
    s->corners = arg_bool(op, "align_corners");
    if (ctx_failed(op->cx) || !need_rank(op, s->x, 4, &rank) ||
        !need_rank(op, *grid, rank, &grid_rank))
        return false;
    s->n = rank - 2;
    if (rank != grid_rank || (rank != 4 && rank != 5))
        return fail(op->cx, E_VALUE,
                    "grid_sampler(): expected 4D or 5D input and grid with same number of "
                    "dimensions, but got input with sizes %s and grid with sizes %s",
                    type_text(op->cx, s->x->type)->s, type_text(op->cx, (*grid)->type)->s);
    if (s->mode < LINEAR || s->mode > CUBIC || s->padding < ZEROS || s->padding > REFLECTION)
        return fail(op->cx, E_VALUE, "grid_sampler(): unknown mode %d or padding %d", s->mode,
                    s->padding);
    if (s->mode == CUBIC && s->n != 2)
        return fail(op->cx, E_VALUE,
                    "grid_sampler(): bicubic interpolation only supports 4D input");
    return dim_require(op->cx, ox_dim(*grid, rank - 1), dim_int(op->cx, s->n),
                       "grid_sampler(): expected grid to have size %d in last dimension", s->n) &&
        dim_require(op->cx, ox_dim(s->x, 0), ox_dim(*grid, 0),
                    "grid_sampler(): expected grid and input to have same batch size");
}

static Ox lower_grid_sampler(Op *op)
{
    static const char *const modes[] = { "linear", "nearest", "cubic" };
    static const char *const paddings[] = { "zeros", "border", "reflection" };
    Sampler s;
    Ox grid;
    if (!sampler_args(op, &s, &grid))
        return POISON;
    bool newer = s.n == 3 || ox_dtype(s.x) == DT_DOUBLE;
    if (op->g->target < (newer ? 20 : 16))
        return sampled_by_taps(op, &s, grid);
    return ox_with(op, "GridSample", INPUTS(s.x, grid), INT("align_corners", s.corners),
                   STRING("mode", str_of(op->cx, modes[s.mode])),
                   STRING("padding_mode", str_of(op->cx, paddings[s.padding])));
}

/* ---- affine grids ---- */

/* The points along an axis, [size]: (2 i - size + 1) / size; with corners / (size - 1), and 0 for a
 * single point. */
static Ox places(Op *op, Dim size, bool corners, DType t)
{
    Ox zero = ox_int(op->g, 0);
    Ox one = ox_int(op->g, 1);
    Ox end = ox_dim_value(op->g, size);
    Ox i = ox(op, "Range", zero, end, one);
    if (!ox_ok(i))
        return POISON;
    Ox doubled = times(op, ox_cast(op->g, i, t), 2);
    Ox last = size_as(op, size, -1, t);
    Ox away = ox(op, "Sub", doubled, last);
    Dim count = size;
    if (corners)
        count = dim_max(op->cx, dim_sub(op->cx, size, dim_int(op->cx, 1)), dim_int(op->cx, 1));
    return ox(op, "Div", away, size_as(op, count, 0, t));
}

/* [n + 1, P]: x, y, (z) and 1 of every point, row by row. */
static Ox homogeneous_points(Op *op, const Dim *size, int n, bool corners, DType t)
{
    Ox row[MAX_AXES + 1];
    Dim flat[2] = { dim_int(op->cx, 1), dim_product(op->cx, size, n) };
    for (int i = 0; i < n; i++) {
        Dim dims[MAX_AXES];
        for (int k = 0; k < n; k++)
            dims[k] = k == i ? size[i] : dim_int(op->cx, 1);
        Ox along = reshape_to(op, places(op, size[i], corners, t), dims, n);
        Ox full = expand_dims(op, along, size, n);
        row[n - 1 - i] = reshape_to(op, full, flat, 2);
    }
    row[n] = expand_dims(op, ox_number(op->g, t, 1), flat, 2);
    return concat_axis(op, row, (size_t)n + 1, 0);
}

/* AffineGrid as a product: theta [N, n, n + 1], size [N, C, ..] -> [N, .., n]. The maps of all
 * images are rows of one matrix, so that no MatMul has a batch that could be empty. */
static Ox affine_by_product(Op *op, Ox theta, const Dim *size, int n, bool corners)
{
    Ctx *cx = op->cx;
    Dim dims[MAX_AXES + 2] = { size[0] };
    Dim each = dim_int(cx, n);
    Dim points = dim_product(cx, size + 2, n);
    for (int i = 0; i < n; i++)
        dims[1 + i] = size[2 + i];
    dims[1 + n] = each;
    Ox at = homogeneous_points(op, size + 2, n, corners, ox_dtype(theta));
    Dim rows[] = { dim_mul(cx, size[0], each), dim_int(cx, n + 1) };
    Ox maps = reshape_to(op, theta, rows, 2);
    Ox product = ox(op, "MatMul", maps, at);
    Ox mapped = reshape_to(op, product, (const Dim[]){ size[0], each, points }, 3);
    return reshape_to(op, permute_to(op, mapped, (const int[]){ 0, 2, 1 }, 3), dims, n + 2);
}

/* Does AffineGrid give PyTorch's points for this size? With corners the single point of an axis
 * lies at 0 in PyTorch and at -1 in ONNX; and ONNX Runtime wants at least one point. */
static bool onnx_agrees(Op *op, Dims size, bool corners)
{
    bool agrees = true;
    for (size_t i = 2; i < size.n; i++)
        agrees &= dim_lt(op->cx, dim_int(op->cx, corners), size.at[i]) == YES;
    return agrees;
}

/* Is theta [N, n, n + 1] for this size, [N, C, ..] of n spatial axes? False after PyTorch's error.
 */
static bool check_affine(Op *op, Ox theta, Dims size)
{
    Ctx *cx = op->cx;
    int rank;
    if (ctx_failed(cx) || !need_rank(op, theta, 3, &rank))
        return false;
    if (size.n != 4 && size.n != 5)
        return fail(
            cx, E_VALUE,
            "affine_grid_generator needs 4d (spatial) or 5d (volumetric) inputs, not %zu sizes",
            size.n);
    if (rank != 3)
        return fail(cx, E_VALUE, "Expected a batch of affine matrices, but got %s",
                    type_text(cx, theta->type)->s);
    Dim rows = dim_int(cx, (int64_t)size.n - 2);
    Dim columns = dim_int(cx, (int64_t)size.n - 1);
    return dim_require(cx, ox_dim(theta, 0), size.at[0],
                       "Expected a batch of affine matrices for size of batch %s",
                       dim_text(cx, size.at[0])->s) &&
        dim_require(cx, ox_dim(theta, 1), rows, "Expected affine matrices of %s rows",
                    dim_text(cx, rows)->s) &&
        dim_require(cx, ox_dim(theta, 2), columns, "Expected affine matrices of %s columns",
                    dim_text(cx, columns)->s);
}

static Ox lower_affine_grid_generator(Op *op)
{
    Ox theta = arg(op, "theta");
    Dims size = arg_dims(op, "size");
    if (!check_affine(op, theta, size))
        return POISON;
    bool corners = arg_bool(op, "align_corners");
    if (op->g->target < 20 || !onnx_agrees(op, size, corners))
        return affine_by_product(op, theta, size.at, (int)size.n - 2, corners);
    Ox sizes = ox_dims(op->g, size.at, size.n);
    return ox_with(op, "AffineGrid", INPUTS(theta, sizes), INT("align_corners", corners));
}

OP_ROWS(grid)
{
    LOWER(lower_grid_sampler, NULL, PLAIN,
          "aten::grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
          "bool align_corners) -> Tensor");
    LOWER(lower_grid_sampler, NULL, PLAIN,
          "aten::grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int "
          "padding_mode, bool align_corners) -> Tensor");
    LOWER(lower_grid_sampler, NULL, PLAIN,
          "aten::grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int "
          "padding_mode, bool align_corners) -> Tensor");
    LOWER(lower_grid_sampler, NULL, PLAIN,
          "aten::_grid_sampler_2d_cpu_fallback(Tensor input, Tensor grid, int interpolation_mode, "
          "int padding_mode, bool align_corners) -> Tensor");
    LOWER(lower_affine_grid_generator, NULL, PLAIN,
          "aten::affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor");
}
