/* resize.c - upsample_*: Resize in ONNX's words.
 *
 * Either the sizes are given or the scales. A scale that is given also says where samples are taken (PyTorch uses it, not the
 * quotient of the sizes), so it is handed on as it is; sizes only where PyTorch computes the quotient itself. */
#include "ops/internal.h"

#include <math.h>

/* datum: what differs between the operators */
typedef enum { NEAREST, NEAREST_EXACT, LINEAR, CUBIC, LINEAR_AA, CUBIC_AA } ResizeMode;

typedef struct Target { int spatial; bool scaled; double scale[3]; Dims size; } Target;

static bool scale_of(Value v, double *out)
{
    if (v.tag != V_FLOAT && v.tag != V_INT)
        return false;
    *out = v.tag == V_FLOAT ? v.f : (double)v.i;
    return *out > 0;
}

/* The .vec form: output_size or a list of scale_factors. */
static bool target_vec(Op *op, Target *t)
{
    if (arg_given(op, "output_size")) {
        t->size = arg_dims(op, "output_size");
        return !ctx_failed(op->cx);
    }
    Value v = arg_value(op, "scale_factors");           /* lists arrive as tuples: bind has copied them */
    if (v.tag != V_TUPLE)
        return fail(op->cx, E_VALUE, "Must specify exactly one of output_size and scale_factors");
    if (v.tuple->n != t->spatial)
        return fail(op->cx, E_VALUE, "Input and scale_factors must have the same number of spatial dimensions");
    t->scaled = true;
    for (int i = 0; i < t->spatial; i++)
        if (!scale_of(v.tuple->at[i], &t->scale[i]))
            return op_refuse(op, "scale factors that are not known"), false;
    return true;
}

/* The plain form: the sizes, and perhaps every scale. */
static bool target_plain(Op *op, Target *t)
{
    static const char *const names[4][3] = { { 0 }, { "scales" }, { "scales_h", "scales_w" }, { "scales_d", "scales_h", "scales_w" } };
    t->size = arg_dims(op, "output_size");
    t->scaled = true;
    for (int i = 0; i < t->spatial; i++)
        t->scaled &= scale_of(arg_value(op, names[t->spatial][i]), &t->scale[i]);
    return !ctx_failed(op->cx);
}

/* Does the float32 that ONNX keeps of a scale give the size that PyTorch computes in double? Unknown sizes: trust it where it is exact. */
static bool scale_is_safe(Dim in, double scale)
{
    int64_t n;
    double kept = (double)(float)scale;
    if (!dim_known(in, &n))
        return kept == scale;
    return floor((double)n * scale) == floor((double)((float)n * (float)scale));
}

static Ox scales_value(Op *op, Ox x, const Target *t)
{
    float all[MAX_RANK];
    int64_t rank = ox_rank(x);
    for (int64_t i = 0; i < rank; i++)
        all[i] = i < 2 ? 1.f : (float)t->scale[i - 2];
    return ox_const(op->g, const_make(op->cx, DT_FLOAT, 1, &rank, all));
}

static Ox sizes_value(Op *op, Ox x, const Target *t)
{
    Dim all[MAX_RANK];
    for (int i = 0; i < ox_rank(x); i++) {
        all[i] = ox_dim(x, i);
        int64_t n;
        if (i >= 2 && t->size.n)
            all[i] = t->size.at[i - 2];
        else if (i >= 2 && dim_known(all[i], &n))
            all[i] = dim_int(op->cx, (int64_t)floor((double)n * t->scale[i - 2]));
        else if (i >= 2)
            return op_refuse(op, "the scale %g of a dynamic size", t->scale[i - 2]);
    }
    return ox_dims(op->g, all, (size_t)ox_rank(x));
}

static Ox resize(Op *op, Ox x, const Target *t)
{
    ResizeMode mode = (ResizeMode)op->row->datum;
    bool nearest = mode == NEAREST || mode == NEAREST_EXACT, cubic = mode == CUBIC || mode == CUBIC_AA, antialias = mode == LINEAR_AA || mode == CUBIC_AA;
    bool corners = !nearest && arg_bool(op, "align_corners"), safe = t->scaled;
    for (int i = 0; i < t->spatial; i++)
        safe = safe && scale_is_safe(ox_dim(x, i + 2), t->scale[i]);
    Ox scales = safe && !corners ? scales_value(op, x, t) : NULL;
    Ox sizes = scales ? NULL : sizes_value(op, x, t);
    const char *place_of = mode == NEAREST ? "asymmetric" : corners ? "align_corners" : "half_pixel";
    const Attr attr[] = {
        STRING("mode", str_of(op->cx, nearest ? "nearest" : cubic ? "cubic" : "linear")),
        STRING("coordinate_transformation_mode", str_of(op->cx, place_of)),
        nearest ? STRING("nearest_mode", str_of(op->cx, mode == NEAREST ? "floor" : "round_prefer_ceil")) : NO_ATTR,
        cubic ? FLOAT("cubic_coeff_a", antialias ? -0.5 : -0.75) : NO_ATTR,
        antialias ? INT("antialias", 1) : NO_ATTR,
        antialias ? INT("exclude_outside", 1) : NO_ATTR,        /* weights beyond the border are shared out again */
    };
    return ox_make(op->g, "Resize", INPUTS(x, NULL, scales, sizes), attr, COUNT(attr));
}

/* Spatial rank by the digit in the name: upsample_bilinear2d, _upsample_nearest_exact1d */
static int spatial_of(const Op *op)
{
    const char *digit = strpbrk(op->row->schema + strlen("aten::"), "123");
    return digit ? *digit - '0' : 0;
}

static Ox lower_upsample(Op *op)
{
    bool vec = strstr(op->row->schema, ".vec(") != NULL;
    Target t = { .spatial = spatial_of(op) };
    Ox x = arg(op, vec ? "input" : "self");
    int rank;
    if (!need_rank(op, x, t.spatial + 2, &rank) || !(vec ? target_vec(op, &t) : target_plain(op, &t)))
        return POISON;
    if (rank != t.spatial + 2)
        return op_fail(op, E_VALUE, "It is expected input_size equals to %d, but got size %d", t.spatial + 2, rank);
    if (!t.scaled && t.size.n != (size_t)t.spatial)
        return op_fail(op, E_VALUE, "It is expected output_size equals to %d, but got size %zu", t.spatial, t.size.n);
    return resize(op, x, &t);
}

#define VEC_ROW(mode, name)         FAMILY(lower_upsample, mode, NULL, PLAIN, "aten::" name ".vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor")
#define VEC_CORNERS(mode, name)     FAMILY(lower_upsample, mode, NULL, PLAIN, "aten::" name ".vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor")
#define SCALES1 "float? scales=None) -> Tensor"
#define SCALES2 "float? scales_h=None, float? scales_w=None) -> Tensor"
#define SCALES3 "float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor"
#define PLAIN_ROW(mode, name, n, scales)     FAMILY(lower_upsample, mode, NULL, PLAIN, "aten::" name "(Tensor self, SymInt[" n "] output_size, " scales)
#define PLAIN_CORNERS(mode, name, n, scales) FAMILY(lower_upsample, mode, NULL, PLAIN, "aten::" name "(Tensor self, SymInt[" n "] output_size, bool align_corners, " scales)

const OpRow ops_resize[] = {
    VEC_ROW(NEAREST, "upsample_nearest1d"), PLAIN_ROW(NEAREST, "upsample_nearest1d", "1", SCALES1),
    VEC_ROW(NEAREST, "upsample_nearest2d"), PLAIN_ROW(NEAREST, "upsample_nearest2d", "2", SCALES2),
    VEC_ROW(NEAREST, "upsample_nearest3d"), PLAIN_ROW(NEAREST, "upsample_nearest3d", "3", SCALES3),
    VEC_ROW(NEAREST_EXACT, "_upsample_nearest_exact1d"), PLAIN_ROW(NEAREST_EXACT, "_upsample_nearest_exact1d", "1", SCALES1),
    VEC_ROW(NEAREST_EXACT, "_upsample_nearest_exact2d"), PLAIN_ROW(NEAREST_EXACT, "_upsample_nearest_exact2d", "2", SCALES2),
    VEC_ROW(NEAREST_EXACT, "_upsample_nearest_exact3d"), PLAIN_ROW(NEAREST_EXACT, "_upsample_nearest_exact3d", "3", SCALES3),
    VEC_CORNERS(LINEAR, "upsample_linear1d"), PLAIN_CORNERS(LINEAR, "upsample_linear1d", "1", SCALES1),
    VEC_CORNERS(LINEAR, "upsample_bilinear2d"), PLAIN_CORNERS(LINEAR, "upsample_bilinear2d", "2", SCALES2),
    VEC_CORNERS(LINEAR, "upsample_trilinear3d"), PLAIN_CORNERS(LINEAR, "upsample_trilinear3d", "3", SCALES3),
    VEC_CORNERS(CUBIC, "upsample_bicubic2d"), PLAIN_CORNERS(CUBIC, "upsample_bicubic2d", "2", SCALES2),
    VEC_CORNERS(LINEAR_AA, "_upsample_bilinear2d_aa"), PLAIN_CORNERS(LINEAR_AA, "_upsample_bilinear2d_aa", "2", SCALES2),
    VEC_CORNERS(CUBIC_AA, "_upsample_bicubic2d_aa"), PLAIN_CORNERS(CUBIC_AA, "_upsample_bicubic2d_aa", "2", SCALES2),
    OPS_END
};
