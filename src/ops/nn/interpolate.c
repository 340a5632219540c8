/* interpolate.c - F.interpolate and F.upsample as TorchScript of PyTorch up to 1.5 calls them: one
 * operator for all modes and ranks, which chooses among the upsample_* operators. Unless
 * recompute_scale_factor is False, a scale only gives the sizes, and positions follow from those.
 */
#include "ops/internal.h"

/* The item of a list that is for spatial axis i; a number is for all of them. */
static Value of_axis(Value v, int i) { return v.tag == V_TUPLE ? v.tuple->at[i] : v; }

/* Has a list as many items as there are spatial axes? */
static bool fits(Op *op, const char *name, Value v, int spatial)
{
    return v.tag != V_TUPLE || v.tuple->n == spatial ||
        fail(op->cx, E_VALUE, "%s shape must match input shape. Input is %dD, %s size is %lld",
             name, spatial, name, (long long)v.tuple->n);
}

/* The result's size along spatial axis i: the size that is given, or floor(size * scale). False
 * after an error or refusal. */
static bool spatial_size(Op *op, Ox x, Value size, Value scale, int i, Value *out)
{
    Value s = of_axis(size, i);
    Value f = of_axis(scale, i);
    int64_t extent, times;
    *out = s;
    if (s.tag != V_NONE)
        return true;
    if (f.tag != V_FLOAT && f.tag != V_INT)
        return fail(op->cx, E_VALUE, "either size or scale_factor should be defined");
    double by = f.tag == V_FLOAT ? f.f : (double)f.i;
    if (dim_known(ox_dim(x, i + 2), &extent)) {
        if (!(by >= 0 && by < INT32_MAX && extent < INT32_MAX))
            return fail(op->cx, E_VALUE, "scale_factor gives no size: %g", by);
        *out = val_int(whole_part((double)extent * by));
        return true;
    }
    if (whole_number(by, &times)) {
        *out = val_dim(op->cx, dim_mul(op->cx, ox_dim(x, i + 2), dim_int(op->cx, times)));
        return true;
    }
    op_refuse(op, "a fractional scale of a size that is not known; convert with the input's sizes");
    return false;
}

/* The operator that interpolates over n spatial axes in this mode; NULL: there is none. */
static const char *named(Str mode, int n)
{
    static const struct {
        const char *mode;
        int n;
        const char *op;
    } ops[] = {
        { "nearest", 1, "aten::upsample_nearest1d" },
        { "nearest", 2, "aten::upsample_nearest2d" },
        { "nearest", 3, "aten::upsample_nearest3d" },
        { "area", 1, "aten::adaptive_avg_pool1d" },
        { "area", 2, "aten::adaptive_avg_pool2d" },
        { "area", 3, "aten::adaptive_avg_pool3d" },
        { "linear", 1, "aten::upsample_linear1d" },
        { "bilinear", 2, "aten::upsample_bilinear2d" },
        { "trilinear", 3, "aten::upsample_trilinear3d" },
        { "bicubic", 2, "aten::upsample_bicubic2d" },
    };
    for (size_t i = 0; i < COUNT(ops); i++)
        if (str_is(mode, ops[i].mode) && ops[i].n == n)
            return ops[i].op;
    return NULL;
}

static bool flag(Op *op, const char *name)
{
    Value v = has_param(op, name) ? arg_value(op, name) : val_none();
    return v.tag == V_BOOL && v.b;
}

/* recompute_scale_factor=False: positions follow from the scale itself, as in the upsample_*.vec
 * operators. */
static bool keeps_scale(Op *op)
{
    if (!has_param(op, "recompute_scale_factor"))
        return false;
    Value v = arg_value(op, "recompute_scale_factor");
    return v.tag == V_BOOL && !v.b;
}

/* The call of an upsample_* operator or a pool, as F.interpolate means it. */
typedef struct Upsample {
    const char *name;
    Ox x;
    int spatial; /* axes */
    bool aligns; /* the operator has a parameter align_corners */
    Value align; /* which is this */
} Upsample;

/* By its .vec overload, which takes the scales. */
static Value by_scales(Op *op, const Upsample *u, Value scale)
{
    Value at[3];
    for (int i = 0; i < u->spatial; i++)
        at[i] = of_axis(scale, i);
    Value x = val_tensor(op->cx, u->x);
    Value scales = val_list(op->cx, at, u->spatial, "float");
    const Value aligned[] = { x, val_none(), u->align, scales };
    const Value plain[] = { x, val_none(), scales };
    return u->aligns ? call_op(op, u->name, aligned, 4) : call_op(op, u->name, plain, 3);
}

/* By the result's sizes. */
static Value by_sizes(Op *op, const Upsample *u, Value size, Value scale)
{
    Value at[3];
    for (int i = 0; i < u->spatial; i++)
        if (!spatial_size(op, u->x, size, scale, i, &at[i]))
            return val_poison();
    const Value args[] = { val_tensor(op->cx, u->x), val_list(op->cx, at, u->spatial, "int"),
                           u->align };
    return call_op(op, u->name, args, u->aligns ? 3 : 2);
}

/* row->text: the mode, where the schema has no such parameter; row->datum: corners are aligned */
static Value lower_interpolate(Op *op)
{
    Ox x = arg(op, "input");
    Value size = arg_value(op, "size");
    Value scale = arg_value(op, "scale_factor");
    Str mode = op->row->text ? str_of(op->cx, op->row->text) : arg_str(op, "mode");
    int rank;
    if (!need_rank(op, x, 4, &rank) || !mode)
        return val_poison();
    const char *name = named(mode, rank - 2);
    if (!name) {
        fail(op->cx, E_VALUE, "mode %s does not go with an input of rank %d", mode->s, rank);
        return val_poison();
    }
    if (!fits(op, "size", size, rank - 2) || !fits(op, "scale_factor", scale, rank - 2))
        return val_poison();
    if (flag(op, "antialias"))
        return val_tensor(op->cx, op_refuse(op, "antialias"));
    bool area = str_is(mode, "area");
    Upsample u = { .name = name,
                   .x = x,
                   .spatial = rank - 2,
                   .aligns = !area && !str_is(mode, "nearest"),
                   .align = val_bool(op->row->datum || flag(op, "align_corners")) };
    if (scale.tag != V_NONE && !area && keeps_scale(op))
        return by_scales(op, &u, scale);
    return by_sizes(op, &u, size, scale);
}

#define INTERPOLATE(overload, size, scale)                                            \
    CALL(lower_interpolate, NULL, PLAIN,                                              \
         "aten::__interpolate" overload "(Tensor input, " size " size=None, " scale   \
         " scale_factor=None, str mode=\"nearest\", bool? align_corners=None, bool? " \
         "recompute_scale_factor=None, bool antialias=False) -> Tensor")
#define UPSAMPLE(overload, size)                                                                   \
    CALL(lower_interpolate, NULL, PLAIN,                                                           \
         "aten::__upsample" overload "(Tensor input, " size                                        \
         " size=None, int? scale_factor=None, str mode=\"nearest\", bool? align_corners=None) -> " \
         "Tensor")
/* aligned: upsample_bilinear always aligns corners */
#define OF_MODE(what, aligned, name, size, scale)                              \
    OP_ROW(.kind = ROW_CALL,                                                   \
           .schema = "aten::" name "(Tensor input, " size " size=None, " scale \
                     " scale_factor=None) -> Tensor",                          \
           .call = lower_interpolate, .datum = (aligned), .text = (what))

OP_ROWS(interpolate)
{
    INTERPOLATE("", "int?", "float?");
    INTERPOLATE(".size_list", "int[]?", "float?");
    INTERPOLATE(".scale_list", "int?", "float[]?");
    INTERPOLATE(".size_list_scale_list", "int[]?", "float[]?");
    UPSAMPLE("", "int?");
    UPSAMPLE(".size_list", "int[]?");
    OF_MODE("nearest", false, "__upsample_nearest", "int?", "int?");
    OF_MODE("nearest", false, "__upsample_nearest.size_list", "int[]?", "int?");
    OF_MODE("bilinear", true, "__upsample_bilinear", "int?", "int?");
    OF_MODE("bilinear", true, "__upsample_bilinear.size_list", "int[]?", "int?");
    OF_MODE("bilinear", true, "__upsample_bilinear.scale_list", "int?", "int[]?");
    OF_MODE("bilinear", true, "__upsample_bilinear.size_list_scale_list", "int[]?", "int[]?");
}
