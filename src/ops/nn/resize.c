/* resize.c - upsample_* as ONNX's Resize.
 *
 * Either sizes are given or scales. A given scale also says where samples are taken (PyTorch uses
 * it, not the quotient of the sizes), so Resize gets it as it is. Resize gets sizes only where
 * PyTorch computes the quotient itself. */
#include "ops/nn/resize.h"

#include <math.h>

/* A positive number; false for anything else. */
static bool scale_of(Value v, double *out)
{
    if (v.tag != V_FLOAT && v.tag != V_INT)
        return false;
    *out = v.tag == V_FLOAT ? v.f : (double)v.i;
    return *out > 0;
}

/* The .vec form: output_size or a list of scale_factors. False after an error or refusal. */
static bool target_vec(Op *op, Target *t)
{
    if (arg_given(op, "output_size")) {
        t->size = arg_dims(op, "output_size");
        return !ctx_failed(op->cx);
    }
    Value v = arg_value(op, "scale_factors"); /* lists arrive as tuples: bind has copied them */
    if (v.tag != V_TUPLE)
        return fail(op->cx, E_VALUE, "Must specify exactly one of output_size and scale_factors");
    if (v.tuple->n != t->spatial)
        return fail(op->cx, E_VALUE,
                    "Input and scale_factors must have the same number of spatial dimensions");
    t->scaled = true;
    for (int i = 0; i < t->spatial; i++)
        if (!scale_of(v.tuple->at[i], &t->scale[i])) {
            op_refuse(op, "scale factors that are not known");
            return false;
        }
    return true;
}

/* The scale of an axis for which only the size is given; false: a size is dynamic. */
static bool scale_of_sizes(Ox x, Target *t, int i)
{
    int64_t in, out;
    if (!dim_known(ox_dim(x, 2 + i), &in) || !dim_known(t->size.at[i], &out) || !in || !out)
        return false;
    t->scale[i] = (double)out / (double)in;
    return true;
}

/* A call that gives scales for some axes: those of the others follow from the sizes. */
static bool complete_scales(Op *op, Ox x, Target *t)
{
    if (t->size.n != (size_t)t->spatial || ox_rank(x) != t->spatial + 2)
        return true; /* lower_upsample refuses that */
    for (int i = 0; i < t->spatial; i++)
        if (t->scale[i] == 0 && !scale_of_sizes(x, t, i)) {
            op_refuse(op, "a scale for some of the axes only: make the sizes static with -i");
            return false;
        }
    return true;
}

/* The plain form: the sizes, and scales or none. False after an error or refusal. */
static bool target_plain(Op *op, Ox x, Target *t)
{
    static const char *const names[4][3] = {
        { 0 }, { "scales" }, { "scales_h", "scales_w" }, { "scales_d", "scales_h", "scales_w" }
    };
    int given = 0;
    t->size = arg_dims(op, "output_size");
    for (int i = 0; i < t->spatial && !ctx_failed(op->cx); i++)
        given += scale_of(arg_value(op, names[t->spatial][i]), &t->scale[i]);
    t->scaled = given > 0;
    if (given && !complete_scales(op, x, t))
        return false;
    return !ctx_failed(op->cx);
}

/* ---- the scale as ONNX keeps it, a float32 ---- */

/* The size that ONNX Runtime gives n elements, in float32; PyTorch computes it in double. */
static int64_t onnx_size(int64_t n, float scale) { return whole_part(floorf((float)n * scale)); }

/* The size that onnx's shape inference and reference give n elements: of 10 and the float32 of 1.8,
 * which lies below 1.8, 17 where ONNX Runtime rounds the product to 18. */
static int64_t inferred_size(int64_t n, float scale)
{
    return whole_part(floor((double)n * (double)scale));
}

enum { SIZES_TRIED = 1 << 16 }; /* of a size that is not known, from the smallest on */

/* Does the float32 `kept` give the sizes that `scale` gives? inferred: to shape inference too. */
static bool scale_agrees(Ctx *cx, Dim in, double scale, float kept, bool inferred)
{
    int64_t lo, hi;
    dim_range(cx, in, &lo, &hi);
    int64_t n;
    for (int64_t k = 0; k < SIZES_TRIED && add_ok(lo, k, &n) && n <= hi; k++) {
        int64_t size = whole_part(floor((double)n * scale));
        if (onnx_size(n, kept) != size || (inferred && inferred_size(n, kept) != size))
            return false;
    }
    return true;
}

/* The float32 nearest to scale that gives PyTorch's sizes: itself or a neighbour, which moves no
 * sample by more than a rounding. False: none of them does. */
static bool nearest_scale(Ctx *cx, Dim in, double scale, bool inferred, float *out)
{
    float near = (float)scale;
    float try[3] = { near, nextafterf(near, INFINITY), nextafterf(near, 0) };
    for (int i = 0; i < 3; i++) {
        *out = try[i];
        if (scale_agrees(cx, in, scale, *out, inferred))
            return true;
    }
    return false;
}

/* The same, of which shape inference says PyTorch's size too where it knows the axis's. */
static bool float_scale(Ctx *cx, Dim in, double scale, float *out)
{
    return (dim_known(in, NULL) && nearest_scale(cx, in, scale, true, out)) ||
        nearest_scale(cx, in, scale, false, out);
}

bool resize_scale(Op *op, Ox x, const Target *t, int i, float *out)
{
    int64_t from, to;
    if (t->scaled)
        return float_scale(op->cx, ox_dim(x, 2 + i), t->scale[i], out);
    if (!dim_known(ox_dim(x, 2 + i), &from) || !dim_known(t->size.at[i], &to) || from == 0)
        return false;
    *out = (float)to / (float)from;
    return true;
}

/* Resize's `scales`. False after a refusal. */
static bool scales_value(Op *op, Ox x, const Target *t, Ox *out)
{
    float all[MAX_RANK] = { 1, 1 };
    int64_t rank = ox_rank(x);
    for (int i = 0; i < t->spatial; i++)
        if (!float_scale(op->cx, ox_dim(x, 2 + i), t->scale[i], &all[2 + i])) {
            op_refuse(op,
                      "no float32 gives the sizes that the scale %g gives for every size %s: make "
                      "the size static with -i",
                      t->scale[i], dim_text(op->cx, ox_dim(x, 2 + i))->s);
            return false;
        }
    *out = ox_const(op->g, const_make(op->cx, DT_FLOAT, 1, &rank, all));
    return true;
}

static bool is_whole(double scale) { return (double)whole_part(scale) == scale; }

/* floor(in * scale), in double as PyTorch computes it: by nodes, unless the scale is whole. False
 * after an error. */
static bool scaled_size(Op *op, Dim in, double scale, Dim *out)
{
    if (is_whole(scale)) {
        *out = dim_mul(op->cx, in, dim_int(op->cx, whole_part(scale)));
        return true;
    }
    Ox n = ox_dim_value(op->g, in);
    Ox by = ox_number(op->g, DT_DOUBLE, scale);
    Ox wide = ox(op, "Mul", ox_cast(op->g, n, DT_DOUBLE), by);
    Ox whole = ox(op, "Floor", wide);
    return ox_ok(whole) &&
        val_dim_of(val_number_of(op->g, ox_cast(op->g, whole, DT_INT64)), op->cx, out);
}

enum { SIZE_MOST = INT32_MAX }; /* that a scale makes of a static size */

bool resized_size(Op *op, Ox x, const Target *t, int i, Dim *out)
{
    int64_t n;
    Dim in = ox_dim(x, 2 + i);
    if (t->size.n) {
        *out = t->size.at[i];
        return true;
    }
    if (!dim_known(in, &n))
        return scaled_size(op, in, t->scale[i], out);
    double size = floor((double)n * t->scale[i]);
    if (size > SIZE_MOST)
        return fail(op->cx, E_LIMIT, "resizing axis %d to more than %d elements", 2 + i, SIZE_MOST);
    *out = dim_int(op->cx, (int64_t)size);
    return true;
}

/* Resize's `sizes`. */
static Ox sizes_value(Op *op, Ox x, const Target *t)
{
    Dim all[MAX_RANK] = { ox_dim(x, 0), ox_dim(x, 1) };
    for (int i = 0; i < t->spatial; i++)
        if (!resized_size(op, x, t, i, &all[2 + i]))
            return POISON;
    return ox_dims(op->g, all, (size_t)ox_rank(x));
}

/* ---- Resize ---- */

/* y, resized by scales, cut to the sizes where both are given: the scale then only says where
 * samples are taken. */
static Ox cut_to_size(Op *op, Ox y, const Target *t)
{
    for (int i = 0; i < t->spatial && ox_ok(y) && t->size.n; i++) {
        Dim have = ox_dim(y, 2 + i);
        Dim want = t->size.at[i];
        int64_t n;
        if (dim_known(want, &n) && dim_le(op->cx, want, have) == UNKNOWN)
            return op_refuse(
                op,
                "the size %lld together with a scale that gives %s: make the size static with -i",
                (long long)n, dim_text(op->cx, have)->s);
        if (dim_lt(op->cx, have, want) == YES)
            return op_refuse(op, "the scale gives %s elements, the size wants %s",
                             dim_text(op->cx, have)->s, dim_text(op->cx, want)->s);
        if (dim_lt(op->cx, want, have) == YES)
            y = slice_axis(op, y, 2 + i, dim_int(op->cx, 0), want, 1);
    }
    return y;
}

/* The node Resize of these scales or sizes. Without antialiasing, weights of pixels beyond the
 * border are those of the border; with it they are shared out (exclude_outside). */
static Ox resize_node(Op *op, Ox x, ResizeMode mode, bool corners, Ox scales, Ox sizes)
{
    bool nearest = is_nearest(mode);
    bool cubic = is_cubic(mode);
    bool antialias = is_antialiased(mode);
    const char *name = cubic ? "cubic" : "linear";
    if (nearest)
        name = "nearest";
    const char *place_of = corners ? "align_corners" : "half_pixel";
    if (mode == NEAREST)
        place_of = "asymmetric";
    Str rounding = str_of(op->cx, mode == NEAREST ? "floor" : "round_prefer_ceil");
    double coefficient = antialias ? -0.5 : -0.75;
    Attr attr[6];
    attr[0] = STRING("mode", str_of(op->cx, name));
    attr[1] = STRING("coordinate_transformation_mode", str_of(op->cx, place_of));
    attr[2] = nearest ? STRING("nearest_mode", rounding) : NO_ATTR;
    attr[3] = cubic ? FLOAT("cubic_coeff_a", coefficient) : NO_ATTR;
    attr[4] = antialias ? INT("antialias", 1) : NO_ATTR;
    attr[5] = antialias ? INT("exclude_outside", 1) : NO_ATTR;
    return ox_make(op->g, "Resize", INPUTS(x, NULL, scales, sizes), attr, COUNT(attr));
}

/* With corners the sizes say where samples are taken. Do scales say the same, and need no size of
 * the running model? A scale that is no whole number may give a part of a pixel. */
static bool scales_give_corners(Op *op, Ox x, const Target *t)
{
    if (!t->scaled || type_static(x->type, NULL) || is_antialiased((ResizeMode)op->row->datum))
        return false;
    for (int i = 0; i < t->spatial; i++) {
        Dim size, scaled;
        if (!is_whole(t->scale[i]) || !scaled_size(op, ox_dim(x, 2 + i), t->scale[i], &scaled) ||
            !resized_size(op, x, t, i, &size) || dim_eq(op->cx, scaled, size) != YES)
            return false;
    }
    return true;
}

static Ox resize(Op *op, Ox x, const Target *t, bool corners)
{
    ResizeMode mode = (ResizeMode)op->row->datum;
    Ox scales = NULL;
    Ox y = resized_by_axes(op, x, t, mode, corners);
    if (y)
        return y;
    bool by_scale = corners ? scales_give_corners(op, x, t) : t->scaled;
    if (by_scale && !scales_value(op, x, t, &scales))
        return POISON;
    if (!scales)
        return resize_node(op, x, mode, corners, NULL, sizes_value(op, x, t));
    return cut_to_size(op, resize_node(op, x, mode, corners, scales, NULL), t);
}

/* ---- scales that leave an axis at its size ----
 *
 * PyTorch's linear and antialiased filters, and upsample_nearest2d, leave an axis that keeps its
 * size as it is, whatever its scale: 4 pixels by 1.2 are 4. upsample_nearest2d also repeats each
 * pixel of an axis that becomes twice as large, so that 2.1 may mean 2. The other filters take
 * their samples by the scale, where ONNX Runtime copies its input if all sizes stay. */

static bool is_nearest2d(ResizeMode mode, const Target *t)
{
    return mode == NEAREST && t->spatial == 2;
}

/* The whole number of times that the result's size is the size, where a filter may take that for
 * the scale: 1, or 2 for upsample_nearest2d; 0 for none. */
static double whole_scale(ResizeMode mode, const Target *t, int64_t in, int64_t out)
{
    if (out == in)
        return 1;
    return is_nearest2d(mode, t) && out / 2 == in && out % 2 == 0 ? 2 : 0;
}

/* The size from which on `scale` times a dynamic size d is more than d, or for upsample_nearest2d
 * than 2 * d; 0 where the sizes that d may have are that large, or 1 pixel. */
static int64_t grows_from(Op *op, Dim d, double scale, bool doubles)
{
    int64_t lo, hi;
    double over = scale - floor(scale);
    if (scale < 1 || scale >= (doubles ? 3 : 2) || over == 0 || over >= 0.5)
        return 0;
    double from = ceil(1 / over);
    dim_range(op->cx, d, &lo, &hi);
    return from < INT32_MAX && (double)lo < from && hi > 1 ? (int64_t)from : 0;
}

static void note_growth(Op *op, Ox x, double scale, int i, int64_t from, const char *who)
{
    const char *name = dim_text(op->cx, ox_dim(x, 2 + i))->s;
    note(op->cx, NOTE_ASSUMED,
         "dimension %d (%s) is %lld or more: below that %s takes the scale %g for %g; -i with "
         "%s=%lld.. decides it",
         2 + i, name, (long long)from, who, scale, floor(scale), name, (long long)from);
}

/* Of a static axis: its scale becomes the one that PyTorch's filter takes. Does that keep its size?
 * False after an error too. Where it gives fewer pixels than the result has, that is noted in t. */
static bool settle_static_axis(Op *op, Ox x, ResizeMode mode, Target *t, int i, int64_t in)
{
    int64_t out;
    Dim size;
    if (!resized_size(op, x, t, i, &size) || !dim_known(size, &out))
        return false;
    bool leaves = mode == LINEAR || is_antialiased(mode) || is_nearest2d(mode, t);
    double whole = whole_scale(mode, t, in, out);
    if (leaves && whole > 0)
        t->scale[i] = whole;
    double scaled = floor((double)in * t->scale[i]);
    t->by_axes = t->by_axes || scaled < (double)out;
    return scaled == (double)in;
}

/* Of a dynamic axis: may its size be the same in the result? Notes the sizes that the model is not
 * right for. */
static bool settle_dynamic_axis(Op *op, Ox x, ResizeMode mode, const Target *t, int i)
{
    double scale = t->scale[i];
    bool by_scale = is_nearest(mode) && !is_nearest2d(mode, t); /* computed by nodes where needed */
    int64_t from = grows_from(op, ox_dim(x, 2 + i), scale, is_nearest2d(mode, t));
    if (from && !by_scale)
        note_growth(op, x, scale, i, from, mode == CUBIC ? "ONNX Runtime" : "PyTorch");
    return scale == 1 || (from && by_scale);
}

/* Settle the scales of axes that keep their size, and t->by_axes. False after an error. */
static bool settle_scales(Op *op, Ox x, ResizeMode mode, Target *t)
{
    bool all = true;
    bool scaled = false;
    for (int i = 0; i < t->spatial; i++) {
        int64_t in;
        bool known = dim_known(ox_dim(x, 2 + i), &in);
        bool kept = known ? settle_static_axis(op, x, mode, t, i, in)
                          : settle_dynamic_axis(op, x, mode, t, i);
        all = all && kept;
        scaled = scaled || t->scale[i] != 1;
    }
    t->by_axes = t->by_axes || (all && scaled);
    return !ctx_failed(op->cx);
}

/* The number of spatial axes: the digit in each name, upsample_bilinear2d,
 * _upsample_nearest_exact1d. */
static int spatial_of(const Op *op) { return *strpbrk(op->row->schema, "123") - '0'; }

/* "H: 4, W: 4" */
static Str sizes_text(Ctx *cx, const Dim *size, int n)
{
    Str text = str_of(cx, "");
    for (int i = 0; i < n; i++)
        text = str_fmt(cx, "%s%s%c: %s", text->s, i ? ", " : "", "DHW"[3 - n + i],
                       dim_text(cx, size[i])->s);
    return text;
}

/* Are the sizes that are asked for above 0, as far as they are known? */
static bool asks_for_some(Op *op, Ox x, const Target *t)
{
    Ctx *cx = op->cx;
    Dim in[3];
    int64_t v;
    bool some = true;
    for (int i = 0; i < t->spatial; i++) {
        in[i] = ox_dim(x, 2 + i);
        some = some && !(dim_known(t->size.at[i], &v) && v <= 0);
    }
    return some ||
        fail(cx, E_VALUE,
             "Input and output sizes should be greater than 0, but got input (%s)%s output (%s)",
             sizes_text(cx, in, t->spatial)->s, t->spatial == 1 ? " and" : "",
             sizes_text(cx, t->size.at, t->spatial)->s);
}

/* row->datum: the ResizeMode */
static Ox lower_upsample(Op *op)
{
    bool vec = strstr(op->row->schema, ".vec(") != NULL;
    Target t = { .spatial = spatial_of(op) };
    Ox x = arg(op, vec ? "input" : "self");
    int rank;
    if (!need_rank(op, x, t.spatial + 2, &rank))
        return POISON;
    bool read = vec ? target_vec(op, &t) : target_plain(op, x, &t);
    if (!read)
        return POISON;
    if (rank != t.spatial + 2)
        return op_fail(op, E_VALUE, "It is expected input_size equals to %d, but got size %d",
                       t.spatial + 2, rank);
    if ((t.size.n || !t.scaled) && t.size.n != (size_t)t.spatial)
        return op_fail(op, E_VALUE, "It is expected output_size equals to %d, but got size %zu",
                       t.spatial, t.size.n);
    if (t.size.n && !asks_for_some(op, x, &t))
        return POISON;
    bool corners = !is_nearest((ResizeMode)op->row->datum) && arg_bool(op, "align_corners");
    if (t.scaled && !corners && !settle_scales(op, x, (ResizeMode)op->row->datum, &t))
        return POISON;
    return resize(op, x, &t, corners);
}

#define VEC_ROW(mode, name)                   \
    FAMILY(lower_upsample, mode, NULL, PLAIN, \
           "aten::" name                      \
           ".vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor")
#define VEC_CORNERS(mode, name)                                                                    \
    FAMILY(lower_upsample, mode, NULL, PLAIN,                                                      \
           "aten::" name ".vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? " \
           "scale_factors) -> Tensor")
#define SCALES1 "float? scales=None) -> Tensor"
#define SCALES2 "float? scales_h=None, float? scales_w=None) -> Tensor"
#define SCALES3 "float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor"
#define PLAIN_ROW(mode, name, n, scales)      \
    FAMILY(lower_upsample, mode, NULL, PLAIN, \
           "aten::" name "(Tensor self, SymInt[" n "] output_size, " scales)
#define PLAIN_CORNERS(mode, name, n, scales)  \
    FAMILY(lower_upsample, mode, NULL, PLAIN, \
           "aten::" name "(Tensor self, SymInt[" n "] output_size, bool align_corners, " scales)

OP_ROWS(resize)
{
    VEC_ROW(NEAREST, "upsample_nearest1d");
    PLAIN_ROW(NEAREST, "upsample_nearest1d", "1", SCALES1);
    VEC_ROW(NEAREST, "upsample_nearest2d");
    PLAIN_ROW(NEAREST, "upsample_nearest2d", "2", SCALES2);
    VEC_ROW(NEAREST, "upsample_nearest3d");
    PLAIN_ROW(NEAREST, "upsample_nearest3d", "3", SCALES3);
    VEC_ROW(NEAREST_EXACT, "_upsample_nearest_exact1d");
    PLAIN_ROW(NEAREST_EXACT, "_upsample_nearest_exact1d", "1", SCALES1);
    VEC_ROW(NEAREST_EXACT, "_upsample_nearest_exact2d");
    PLAIN_ROW(NEAREST_EXACT, "_upsample_nearest_exact2d", "2", SCALES2);
    VEC_ROW(NEAREST_EXACT, "_upsample_nearest_exact3d");
    PLAIN_ROW(NEAREST_EXACT, "_upsample_nearest_exact3d", "3", SCALES3);
    VEC_CORNERS(LINEAR, "upsample_linear1d");
    PLAIN_CORNERS(LINEAR, "upsample_linear1d", "1", SCALES1);
    VEC_CORNERS(LINEAR, "upsample_bilinear2d");
    PLAIN_CORNERS(LINEAR, "upsample_bilinear2d", "2", SCALES2);
    VEC_CORNERS(LINEAR, "upsample_trilinear3d");
    PLAIN_CORNERS(LINEAR, "upsample_trilinear3d", "3", SCALES3);
    VEC_CORNERS(CUBIC, "upsample_bicubic2d");
    PLAIN_CORNERS(CUBIC, "upsample_bicubic2d", "2", SCALES2);
    VEC_CORNERS(LINEAR_AA, "_upsample_bilinear2d_aa");
    PLAIN_CORNERS(LINEAR_AA, "_upsample_bilinear2d_aa", "2", SCALES2);
    VEC_CORNERS(CUBIC_AA, "_upsample_bicubic2d_aa");
    PLAIN_CORNERS(CUBIC_AA, "_upsample_bicubic2d_aa", "2", SCALES2);
    VEC_CORNERS(LANCZOS_AA, "_upsample_lanczos2d_aa");
    PLAIN_CORNERS(LANCZOS_AA, "_upsample_lanczos2d_aa", "2", SCALES2);
}
