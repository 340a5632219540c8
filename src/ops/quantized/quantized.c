/* quantized.c - tensors that carry their scale: quantize_per_tensor, dequantize and the operators
 * on them, as DequantizeLinear, the operator on floats, QuantizeLinear: runtimes fuse that form
 * into integer kernels.
 *
 * PyTorch computes in integers and rounds once; so does the fused form. Run unfused, a result that
 * lies between two steps may be rounded to the other one. Fake quantisation is in
 * fake_quantized.c, layers with packed parameters in quantized_layers.c. */
#include "ops/quantized/quantized.h"
#include "value/c10_dtype.h"

#include <math.h>

/* ---- to and from integers ---- */

static bool can_store(DType t) { return eight_bits(t) || t == DT_INT32; }

/* The least and the largest step of a type that can store them. */
static double least_of(DType t)
{
    switch (t) {
    case DT_INT32: return INT32_MIN;
    case DT_INT8:  return INT8_MIN;
    default:       return 0;
    }
}
static double most_of(DType t)
{
    switch (t) {
    case DT_INT32: return INT32_MAX;
    case DT_INT8:  return INT8_MAX;
    default:       return UINT8_MAX;
    }
}

Ox along_axis(Op *op, Ox p, int axis, int rank)
{
    Dim dims[MAX_RANK];
    if (!p || !ox_ok(p) || axis < 0 || ox_rank(p) != 1)
        return p;
    for (int i = 0; i < rank; i++)
        dims[i] = i == axis ? ox_dim(p, 0) : dim_int(op->cx, 1);
    return reshape_to(op, p, dims, rank);
}

Ox four_bits(Op *op, Ox bytes) { return taken_apart(op, bytes, 4); }

/* In floats: x - 16 floor(x / 16) is the low half of a byte, floor(x / 16) the high one. */
Ox taken_apart(Op *op, Ox bytes, int bits)
{
    Ox part[4];
    Ox left = ox_cast(op->g, bytes, DT_FLOAT);
    if (!ox_ok(left))
        return left;
    int rank = ox_rank(left);
    int n = 8 / bits;
    int range = 1 << bits;
    Dim dims[MAX_RANK];
    ox_sizes(left, dims);
    dims[rank - 1] = dim_mul(op->cx, dims[rank - 1], dim_int(op->cx, n));
    for (int i = 0; i < n - 1; i++) {
        Ox shifted = ox(op, "Mul", left, number_like(op, 1.0 / range, left));
        Ox above = ox(op, "Floor", shifted);
        Ox back = ox(op, "Mul", above, number_like(op, range, left));
        part[i] = unsqueeze_axis(op, ox(op, "Sub", left, back), rank);
        left = above;
    }
    part[n - 1] = unsqueeze_axis(op, left, rank);
    return reshape_to(op, concat_axis(op, part, (size_t)n, rank), dims, rank);
}

/* QuantizeLinear written out, for zero points and stored types that it does not take. Steps of 32
 * bits are cut off in double, because their largest is no float. */
static Ox quantize_by_parts(Op *op, Ox x, const QuantInfo *q)
{
    Ox scale = along_axis(op, q->scale, q->axis, ox_rank(x));
    Ox zero = along_axis(op, q->zero_point, q->axis, ox_rank(x));
    Ox steps = ox(op, "Div", x, scale);
    if (!ox_ok(steps) || !ox_ok(zero))
        return POISON;
    Ox v = ox(op, "Round", ox(op, "Add", steps, ox_cast(op->g, zero, DT_FLOAT)));
    if (q->dtype == DT_INT32)
        v = ox_cast(op->g, v, DT_DOUBLE);
    Ox least = number_like(op, least_of(q->dtype), v);
    Ox most = number_like(op, most_of(q->dtype), v);
    Ox kept = ox(op, "Clip", v, least, most);
    return ox_cast(op->g, kept, q->dtype);
}

/* DequantizeLinear written out. */
static Ox dequantize_by_parts(Op *op, Ox v, const QuantInfo *q)
{
    Ox scale = along_axis(op, q->scale, q->axis, ox_rank(v));
    Ox zero = along_axis(op, q->zero_point, q->axis, ox_rank(v));
    if (!is_float_zero(q->zero_point)) {
        Ox steps = ox(op, "Sub", v, zero);
        return ox(op, "Mul", ox_cast(op->g, steps, DT_FLOAT), scale);
    }
    Ox x = q->dtype == DT_UINT4 ? four_bits(op, q->bytes) : ox_cast(op->g, v, DT_FLOAT);
    return ox(op, "Mul", ox(op, "Sub", x, zero), scale);
}

static bool goes_by_parts(const QuantInfo *q)
{
    return is_float_zero(q->zero_point) || q->dtype == DT_INT32;
}

Ox quantize(Op *op, Ox x, const QuantInfo *q)
{
    if (goes_by_parts(q) && ox_ok(x))
        return quantize_by_parts(op, x, q);
    return ox_make(op->g, "QuantizeLinear", INPUTS(x, q->scale, q->zero_point),
                   ATTRS(q->axis >= 0 ? INT("axis", q->axis) : NO_ATTR));
}

Ox dequantize(Op *op, Ox v, const QuantInfo *q)
{
    if (q->dtype == DT_UINT4 && !(q->bytes && is_float_zero(q->zero_point)))
        return op_refuse(op, "a quantised tensor of 4 bits whose rows are no whole bytes");
    if (goes_by_parts(q) && ox_ok(v))
        return dequantize_by_parts(op, v, q);
    return ox_make(op->g, "DequantizeLinear", INPUTS(v, q->scale, q->zero_point),
                   ATTRS(q->axis >= 0 ? INT("axis", q->axis) : NO_ATTR));
}

QuantInfo *quant_of_numbers(Op *op, double scale, int64_t zero_point, DType t)
{
    QuantInfo *q = new(op->cx, QuantInfo);
    q->scale = ox_number(op->g, DT_FLOAT, scale);
    q->zero_point = ox_integer(op->g, t, zero_point);
    q->axis = -1;
    q->dtype = t;
    q->exact = scale;
    return q;
}

/* A tensor of kind QUANT, of its integers. */
static Value tensor_of_steps(Op *op, Ox v, const QuantInfo *q)
{
    if (!q || !ox_ok(v))
        return val_poison();
    Tensor *t = tensor_new(op->cx, v);
    t->kind = QUANT;
    t->quant = q;
    return (Value){ .tag = V_TENSOR, .t = t };
}

/* x quantised, as a tensor of kind QUANT. */
static Value quantized_tensor(Op *op, Ox x, const QuantInfo *q)
{
    return tensor_of_steps(op, q ? quantize(op, x, q) : POISON, q);
}

Ox dequantized_arg(Op *op, Value v)
{
    if (v.tag != V_TENSOR)
        return POISON;
    Ox x = tensor_read(op->g, v.t);
    return v.t->quant ? dequantize(op, x, v.t->quant) : x;
}

/* ---- aten::quantize_*, dequantize, int_repr ---- */

/* Argument `dtype`, which must be qint8, quint8 or qint32: int8, uint8, int32; DT_NONE after an
 * error or refusal. Types of 4 bits are read from files only. */
static DType stored_type(Op *op)
{
    Value v = arg_value(op, "dtype");
    bool quantised = false;
    DType t = v.tag == V_INT ? dtype_of_c10(v.i, &quantised) : DT_NONE;
    if (quantised && can_store(t))
        return t;
    if (!ctx_failed(op->cx))
        op_refuse(op, "a quantised tensor of another type than qint8, quint8 and qint32");
    return DT_NONE;
}

/* The scale and zero point are numbers, or tensors of one element. */
static Value lower_quantize_per_tensor(Op *op)
{
    Ox x = arg(op, "self");
    DType t = stored_type(op);
    if (!ox_ok(x) || !can_store(t))
        return val_poison();
    if (arg_value(op, "scale").tag != V_TENSOR) {
        double step = arg_float(op, "scale");
        return quantized_tensor(op, x, quant_of_numbers(op, step, arg_int(op, "zero_point"), t));
    }
    QuantInfo *q = new(op->cx, QuantInfo);
    Ox scale = arg(op, "scale");
    Ox zero = arg(op, "zero_point");
    if (!ox_ok(scale) || !ox_ok(zero))
        return val_poison();
    q->scale = ox_cast(op->g, reshape_to(op, scale, NULL, 0), DT_FLOAT);
    q->zero_point = ox_cast(op->g, reshape_to(op, zero, NULL, 0), t);
    q->axis = -1;
    q->dtype = t;
    return quantized_tensor(op, x, q);
}

/* Is v, scales or zero points, one number for each of the channels? False after PyTorch's error. */
static bool channel_vector(Op *op, Ox v, const char *what, Dim channels)
{
    int rank;
    if (!need_rank(op, v, 1, &rank))
        return false;
    if (rank != 1)
        return fail(op->cx, E_VALUE, "%s must have dimension 1", what);
    return !surely_differ(op, ox_dim(v, 0), channels) ||
        fail(op->cx, E_VALUE, "length of scales must equal to channel, expected %s got, %s",
             dim_text(op->cx, channels)->s, dim_text(op->cx, ox_dim(v, 0))->s);
}

/* Scales and zero points are vectors along the axis. */
static Value lower_quantize_per_channel(Op *op)
{
    Ox x = arg(op, "self");
    Ox scales = arg(op, "scales");
    Ox zeros = arg(op, "zero_points");
    DType t = stored_type(op);
    QuantInfo *q = new(op->cx, QuantInfo);
    int rank;
    if (!ox_ok(scales) || !ox_ok(zeros) || !need_rank(op, x, 4, &rank) || !can_store(t) ||
        !arg_dim(op, "axis", rank, &q->axis) || !need_opset(op, 13, "a scale for each channel"))
        return val_poison();
    if (!channel_vector(op, scales, "scale tensor", ox_dim(x, q->axis)) ||
        !channel_vector(op, zeros, "zero_points tensor", ox_dim(x, q->axis)))
        return val_poison();
    q->scale = ox_cast(op->g, scales, DT_FLOAT);
    q->zero_point = ox_cast(op->g, zeros, dtype_is_float(ox_dtype(zeros)) ? DT_FLOAT : t);
    q->dtype = t;
    return quantized_tensor(op, x, q);
}

static Ox lower_dequantize(Op *op)
{
    Value v = arg_value(op, "self");
    Ox x = dequantized_arg(op, v);
    return v.tag == V_TENSOR && v.t->kind != QUANT ? ox_cast(op->g, x, DT_FLOAT) : x;
}

static Ox lower_int_repr(Op *op)
{
    Value v = arg_value(op, "self");
    if (v.tag != V_TENSOR || v.t->kind != QUANT)
        return op_fail(op, E_VALUE, "int_repr needs a quantised tensor");
    if (v.t->quant->dtype == DT_UINT4)
        return op_refuse(op, "a quantised tensor of 4 bits");
    return tensor_read(op->g, v.t);
}

/* ---- calls on floats ---- */

Value requantized(Op *op, Ox y, Value like, const char *scale, const char *zero_point)
{
    if (!ox_ok(y))
        return val_poison();
    if (like.tag != V_TENSOR || like.t->kind != QUANT)
        return val_tensor(op->cx, op_fail(op, E_VALUE, "it expects quantised tensors"));
    double step = arg_float(op, scale);
    int64_t zero = arg_int(op, zero_point);
    return quantized_tensor(op, y, quant_of_numbers(op, step, zero, like.t->quant->dtype));
}

/* ---- arithmetic ---- */

/* row->text: the operator on floats */
static Value quantized_binary(Op *op, bool relu)
{
    Value qa = arg_value(op, "qa");
    Value qb = arg_value(op, "qb");
    Ox a = dequantized_arg(op, qa);
    Ox b = dequantized_arg(op, qb);
    Ox y = ox(op, op->row->text, a, b);
    return requantized(op, relu ? ox(op, "Relu", y) : y, qa, "scale", "zero_point");
}

static Value lower_quantized_binary(Op *op) { return quantized_binary(op, false); }
static Value lower_quantized_binary_relu(Op *op) { return quantized_binary(op, true); }

/* ---- with a number: where possible the scale or zero point changes and the steps stay ---- */

/* The arguments of self OP number, all known now. */
typedef struct WithNumber {
    Value self;
    DType type; /* of the steps: uint8 or int8 */
    double scale, zero, number;
} WithNumber;

/* Reads them; the number may be a 0-d tensor. False after an error or refusal. */
static bool with_number(Op *op, WithNumber *w)
{
    Value number = arg_value(op, "b");
    w->self = arg_value(op, "qa");
    if (w->self.tag != V_TENSOR || w->self.t->kind != QUANT)
        return fail(op->cx, E_VALUE, "it expects quantised tensors");
    const QuantInfo *q = w->self.t->quant;
    w->type = q->dtype;
    Ox b = number.tag == V_TENSOR ? tensor_read(op->g, number.t) : number_as(op, number, DT_DOUBLE);
    if (!ox_ok(b))
        return false;
    if (q->axis >= 0 || !eight_bits(w->type)) {
        op_refuse(op, "it handles quantised tensors of 8 bits with one scale");
        return false;
    }
    if (!ox_known_scalar(op->g, q->scale, &w->scale) ||
        !ox_known_scalar(op->g, q->zero_point, &w->zero) ||
        !ox_known_scalar(op->g, b, &w->number)) {
        op_refuse(op, "the number, or the scale of the tensor, is only known to the running model");
        return false;
    }
    w->scale = q->exact != 0 ? q->exact : w->scale;
    return !ctx_failed(op->cx);
}

/* self's steps with another scale and zero point. row->datum: a Relu follows */
static Value steps_with(Op *op, const WithNumber *w, double scale, double zero)
{
    const QuantInfo *q = quant_of_numbers(op, scale, (int64_t)zero, w->type);
    Ox v = tensor_read(op->g, w->self.t);
    if (!op->row->datum)
        return tensor_of_steps(op, v, q);
    return quantized_tensor(op, ox(op, "Relu", dequantize(op, v, q)), q);
}

/* y, of floats, quantised with this scale and zero point. row->datum: a Relu goes before */
static Value floats_with(Op *op, const WithNumber *w, Ox y, double scale, double zero)
{
    Ox x = op->row->datum ? ox(op, "Relu", y) : y;
    return quantized_tensor(op, x, quant_of_numbers(op, scale, (int64_t)zero, w->type));
}

/* The zero point moves by the number's steps; where it would leave the stored type, the scale grows
 * until the numbers fit. */
static Value lower_add_scalar(Op *op)
{
    WithNumber w;
    if (!with_number(op, &w))
        return val_poison();
    double least = least_of(w.type);
    double most = most_of(w.type);
    double steps = nearbyint(w.number / w.scale);
    double zero = w.zero - steps;
    if (zero >= least && zero <= most)
        return steps_with(op, &w, w.scale, zero);
    if (!(fabs(steps) < 1e9))
        return val_tensor(op->cx, op_refuse(op, "a number of more than a billion steps"));
    Ox x = dequantized_arg(op, w.self);
    Ox more = number_like(op, steps * w.scale, x);
    Ox y = ox(op, "Add", x, more);
    bool below = zero < least;
    double range = below ? most - zero : zero - least; /* in steps of the old scale */
    return floats_with(op, &w, y, range / (most - least) * w.scale, below ? least : most);
}

/* A negative number mirrors the steps: the least becomes the largest. */
static Value lower_mul_scalar(Op *op)
{
    WithNumber w;
    if (!with_number(op, &w))
        return val_poison();
    if (w.number > 0)
        return steps_with(op, &w, w.scale * w.number, w.zero);
    Ox x = dequantized_arg(op, w.self);
    Ox y = ox(op, "Mul", x, number_like(op, w.number, x));
    if (w.number == 0)
        return floats_with(op, &w, y, 1, 0);
    double ends = least_of(w.type) + most_of(w.type);
    return floats_with(op, &w, y, -w.number * w.scale, ends - w.zero);
}

/* ---- operators whose arguments name the result's scale ---- */

/* row->datum: 1 is cat_relu */
static Value lower_quantized_cat(Op *op)
{
    Value list = arg_value(op, "qx");
    Value first = packed_item(list, 0);
    if (list.tag != V_TUPLE || first.tag != V_TENSOR || first.t->kind != QUANT)
        return val_tensor(op->cx, op_fail(op, E_VALUE, "it expects a list of quantised tensors"));
    Value *at = new_array(op->cx, Value, list.tuple->n);
    if (!at)
        return val_poison();
    for (int64_t i = 0; i < list.tuple->n; i++)
        at[i] = val_tensor(op->cx, dequantized_arg(op, list.tuple->at[i]));
    const Value args[] = { val_list(op->cx, at, list.tuple->n, "Tensor"), arg_value(op, "dim") };
    Ox y = call_ox(op, "aten::cat", args, 2);
    y = op->row->datum ? ox(op, "Relu", y) : y;
    if (arg_given(op, "scale"))
        return requantized(op, y, first, "scale", "zero_point");
    return quantized_tensor(op, y, first.t->quant);
}

/* Calls row->text, the operator on floats, with these arguments but for output_scale,
 * output_zero_point and inplace. Where the schema has no output_scale, the result is quantised as
 * the argument is. */
static Value lower_quantized_as_float(Op *op)
{
    const Schema *s = op->call->schema;
    Value args[16];
    size_t n = 0;
    for (int i = 0; i < s->n_param && n < COUNT(args); i++) {
        if (str_starts(s->param[i].name, "output_") || str_is(s->param[i].name, "inplace"))
            continue;
        Value v = op->call->arg[i];
        if (v.tag == V_TENSOR && v.t->kind == QUANT)
            v = val_tensor(op->cx, dequantized_arg(op, v));
        args[n++] = v;
    }
    Value x = op->call->arg[0];
    Ox y = call_ox(op, op->row->text, args, n);
    if (has_param(op, "output_scale"))
        return requantized(op, y, x, "output_scale", "output_zero_point");
    if (x.tag == V_TENSOR && x.t->kind == QUANT)
        return quantized_tensor(op, y, x.t->quant);
    return val_tensor(op->cx, op_fail(op, E_VALUE, "it expects quantised tensors"));
}

/* The slopes are quantised, and so is the 1 of what is positive: in PyTorch it is the number
 * nearest to 1 that their scale has. */
static Value lower_quantized_prelu(Op *op)
{
    Value qx = arg_value(op, "qx");
    Value slopes = arg_value(op, "weight");
    if (slopes.tag != V_TENSOR || slopes.t->kind != QUANT)
        return val_tensor(op->cx, op_fail(op, E_VALUE, "it expects quantised tensors"));
    Ox x = dequantized_arg(op, qx);
    Ox w = dequantized_arg(op, slopes);
    if (!ox_ok(x) || !ox_ok(w) || !ranks_known(op, &x, 1))
        return val_poison();
    const QuantInfo *q = slopes.t->quant;
    Ox one = dequantize(op, quantize(op, number_like(op, 1, w), q), q);
    Ox zero = number_like(op, 0, x);
    Ox above = ox(op, "Mul", ox(op, "Relu", x), one);
    Ox below = ox(op, "Min", x, zero);
    Ox slope = along_axis(op, w, ox_rank(x) > 1 ? 1 : -1, ox_rank(x));
    Ox sloped = ox(op, "Mul", below, slope);
    return requantized(op, ox(op, "Add", above, sloped), qx, "output_scale", "output_zero_point");
}

/* The tensor itself, in training too, as in PyTorch. */
static Value lower_quantized_dropout(Op *op) { return arg_value(op, "self"); }

/* With the running statistics. row->text: the activation that follows, or NULL */
static Value lower_quantized_batch_norm(Op *op)
{
    Value x = op->call->arg[0];
    const Value args[] = { val_tensor(op->cx, dequantized_arg(op, x)),
                           arg_value(op, "weight"),
                           arg_value(op, "bias"),
                           arg_value(op, "mean"),
                           arg_value(op, "var"),
                           val_bool(false),
                           val_float(0),
                           arg_value(op, "eps"),
                           val_bool(true) };
    Ox y = call_ox(op, "aten::batch_norm", args, COUNT(args));
    y = op->row->text ? ox(op, op->row->text, y) : y;
    return requantized(op, y, x, "output_scale", "output_zero_point");
}

/* With the statistics of each instance, always. */
static Value lower_quantized_instance_norm(Op *op)
{
    Value x = arg_value(op, "input");
    const Value args[] = { val_tensor(op->cx, dequantized_arg(op, x)),
                           arg_value(op, "weight"),
                           arg_value(op, "bias"),
                           val_none(),
                           val_none(),
                           val_bool(true),
                           val_float(0),
                           arg_value(op, "eps"),
                           val_bool(true) };
    Ox y = call_ox(op, "aten::instance_norm", args, COUNT(args));
    return requantized(op, y, x, "output_scale", "output_zero_point");
}

/* ---- aten's operators on quantised tensors ---- */

/* How the result is quantised: as the argument; with `scale` and `zero_point` (of quint8; 128 less
 * for qint8); or not at all. */
typedef enum { AS_ARGUMENT, GIVEN, PLAIN_RESULT } Keeping;
typedef struct OnQuantized {
    const char *name;
    Keeping keeping;
    double scale;
    int64_t zero_point;
} OnQuantized;
#define KEEPS(name)    { "aten::" name, AS_ARGUMENT, 0, 0 }
#define COMPARES(name) { "aten::" name, PLAIN_RESULT, 0, 0 }
static const OnQuantized on_quantized[] = {
    KEEPS("relu"),
    KEEPS("relu6"),
    KEEPS("hardtanh"),
    KEEPS("clamp"),
    KEEPS("leaky_relu"),
    KEEPS("gelu"),
    KEEPS("threshold"),
    KEEPS("max_pool1d"),
    KEEPS("max_pool2d"),
    KEEPS("max_pool3d"),
    KEEPS("avg_pool1d"),
    KEEPS("avg_pool2d"),
    KEEPS("avg_pool3d"),
    KEEPS("adaptive_avg_pool1d"),
    KEEPS("adaptive_avg_pool2d"),
    KEEPS("adaptive_avg_pool3d"),
    KEEPS("mean"),
    KEEPS("std"),
    KEEPS("upsample_nearest2d"),
    KEEPS("upsample_nearest3d"),
    KEEPS("_upsample_nearest_exact2d"),
    KEEPS("upsample_bilinear2d"),
    KEEPS("pad"),
    KEEPS("constant_pad_nd"),
    KEEPS("reflection_pad1d"),
    KEEPS("reflection_pad2d"),
    KEEPS("dropout"),
    KEEPS("flatten"),
    KEEPS("channel_shuffle"),
    KEEPS("pixel_shuffle"),
    KEEPS("pixel_unshuffle"),
    KEEPS("clone"),
    KEEPS("cat"),
    KEEPS("stack"),
    KEEPS("repeat"),
    KEEPS("flip"),
    KEEPS("index_select"),
    KEEPS("index"),
    KEEPS("masked_fill"),
    KEEPS("max"),
    KEEPS("min"),
    KEEPS("topk"),
    KEEPS("sort"),
    COMPARES("eq"),
    COMPARES("ne"),
    COMPARES("lt"),
    COMPARES("le"),
    COMPARES("gt"),
    COMPARES("ge"),
    { "aten::sigmoid", GIVEN, 1.0 / 256, 0 },
    { "aten::hardsigmoid", GIVEN, 1.0 / 256, 0 },
    { "aten::tanh", GIVEN, 2.0 / 256, 128 },
};

/* v with floats for its quantised tensors; *q, where it is NULL: the scale of the first of them. */
static Value on_floats(Op *op, Value v, const QuantInfo **q)
{
    if (v.tag == V_TENSOR && v.t->kind == QUANT) {
        *q = *q ? *q : v.t->quant;
        return val_tensor(op->cx, dequantized_arg(op, v));
    }
    if (v.tag != V_TUPLE)
        return v;
    Value *at = new_array(op->cx, Value, v.tuple->n + 1);
    if (!at)
        return val_poison();
    for (int64_t i = 0; i < v.tuple->n; i++)
        at[i] = on_floats(op, v.tuple->at[i], q);
    return val_list(op->cx, at, v.tuple->n, "Tensor");
}

/* v quantised; of several results the first, as the others are indices. */
static Value kept_as(Op *op, Value v, const QuantInfo *q)
{
    if (v.tag == V_TENSOR)
        return quantized_tensor(op, tensor_read(op->g, v.t), q);
    if (v.tag != V_TUPLE)
        return v;
    if (v.tuple->n == 0)
        return v;
    Value *at = new_array(op->cx, Value, v.tuple->n);
    if (!at)
        return val_poison();
    memcpy(at, v.tuple->at, (size_t)v.tuple->n * sizeof *at);
    at[0] = kept_as(op, at[0], q);
    return val_tuple(op->cx, at, v.tuple->n);
}

static const OnQuantized *row_on_quantized(Str name)
{
    for (size_t i = 0; i < COUNT(on_quantized); i++)
        if (str_is(name, on_quantized[i].name))
            return &on_quantized[i];
    return NULL;
}

/* The operator is called with floats, and its result quantised as the row says. In place a result
 * must be quantised as the argument is. */
Value on_quantized_tensor(Op *op, bool in_place)
{
    const Schema *s = op->call->schema;
    const OnQuantized *row = row_on_quantized(s->name);
    const QuantInfo *q = NULL;
    OpArg *args = new_array(op->cx, OpArg, s->n_param + 1);
    if (!args)
        return val_poison();
    if (row)
        for (int i = 0; i < s->n_param; i++)
            args[i] = (OpArg){ s->param[i].name, on_floats(op, op->call->arg[i], &q) };
    if (!row || !q || q->axis >= 0 || (in_place && row->keeping != AS_ARGUMENT))
        return val_tensor(op->cx, op_refuse(op, "it does not handle quantised tensors"));
    Value v = op_call(op->g, s->name, s->overload, args, (size_t)s->n_param, NULL, 0);
    if (row->keeping == PLAIN_RESULT)
        return v;
    if (row->keeping == AS_ARGUMENT)
        return kept_as(op, v, q);
    int64_t zero = row->zero_point - (q->dtype == DT_INT8 ? 128 : 0);
    return kept_as(op, v, quant_of_numbers(op, row->scale, zero, q->dtype));
}

#define BINARY(fn, onnx, name)                                                        \
    OP_ROW(.kind = ROW_CALL,                                                          \
           .schema = "quantized::" name                                               \
                     "(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor", \
           .kinds = PLAIN | QUANT, .call = (fn), .text = (onnx))
#define WITH_NUMBER(name, scalar)                                        \
    OLDER("quantized::" name ".Scalar(Tensor qa, Scalar b) -> Tensor");  \
    OLDER("quantized::" name ".Scalar2(Scalar b, Tensor qa) -> Tensor"); \
    OLDER("quantized::" scalar ".Tensor(Tensor qa, Tensor b) -> Tensor")
#define MAX_POOL(n)                                                                               \
    OP_ROW(.kind = ROW_CALL,                                                                      \
           .schema = "aten::quantized_max_pool" n "d(Tensor self, int[" n "] kernel_size, int[" n \
                     "] stride=[], int[" n "] padding=0, int[" n "] dilation=1, "                 \
                     "bool ceil_mode=False) -> Tensor",                                           \
           .kinds = PLAIN | QUANT, .call = lower_quantized_as_float,                              \
           .text = "aten::max_pool" n "d")
#define NORM_ARGS                                                                                \
    "Tensor? weight, Tensor? bias, Tensor mean, Tensor var, float eps, float output_scale, int " \
    "output_zero_point) -> Tensor"
#define BATCH_NORM(name, act)                                                       \
    OP_ROW(.kind = ROW_CALL, .schema = "quantized::" name "(Tensor qx, " NORM_ARGS, \
           .kinds = PLAIN | QUANT, .call = lower_quantized_batch_norm, .text = (act))
#define AS_FLOAT(aten, line)                                                       \
    OP_ROW(.kind = ROW_CALL, .schema = "quantized::" line, .kinds = PLAIN | QUANT, \
           .call = lower_quantized_as_float, .text = (aten))

OP_ROWS(quantized)
{
    CALL(lower_quantize_per_tensor, NULL, PLAIN,
         "aten::quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype) -> "
         "Tensor");
    CALL(lower_quantize_per_tensor, NULL, PLAIN,
         "aten::quantize_per_tensor.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, "
         "ScalarType dtype) -> Tensor");
    CALL(lower_quantize_per_channel, NULL, PLAIN,
         "aten::quantize_per_channel(Tensor self, Tensor scales, Tensor zero_points, int axis, "
         "ScalarType dtype) -> Tensor");
    ITSELF(lower_dequantize, 0, PLAIN | QUANT, "aten::dequantize.self(Tensor self) -> Tensor");
    LOWER(lower_int_repr, NULL, PLAIN | QUANT, "aten::int_repr(Tensor self) -> Tensor");
    BINARY(lower_quantized_binary, "Add", "add");
    BINARY(lower_quantized_binary_relu, "Add", "add_relu");
    BINARY(lower_quantized_binary, "Mul", "mul");
    BINARY(lower_quantized_binary_relu, "Mul", "mul_relu");
    CALL_FAMILY(lower_quantized_cat, 0, NULL, PLAIN | QUANT,
                "quantized::cat(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor");
    CALL_FAMILY(
        lower_quantized_cat, 1, NULL, PLAIN | QUANT,
        "quantized::cat_relu(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor");
    AS_FLOAT("aten::hardswish",
             "hardswish(Tensor input, float output_scale, int output_zero_point) -> Tensor");
    AS_FLOAT("aten::sigmoid",
             "sigmoid(Tensor qx, float output_scale, int output_zero_point) -> Tensor");
    AS_FLOAT("aten::leaky_relu",
             "leaky_relu(Tensor qx, Scalar negative_slope, bool inplace, float "
             "output_scale, int output_zero_point) -> Tensor");
    AS_FLOAT("aten::softmax",
             "softmax(Tensor qx, int dim, float output_scale, int output_zero_point) -> Tensor");
    AS_FLOAT("aten::layer_norm",
             "layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float "
             "eps, float output_scale, int output_zero_point) -> Tensor");
    AS_FLOAT("aten::group_norm",
             "group_norm(Tensor input, int num_groups, Tensor? weight, Tensor? bias, float eps, "
             "float output_scale, int output_zero_point) -> Tensor");
    CALL(lower_quantized_instance_norm, NULL, PLAIN | QUANT,
         "quantized::instance_norm(Tensor input, Tensor? weight, Tensor? bias, float eps, float "
         "output_scale, int output_zero_point) -> Tensor");
    BINARY(lower_quantized_binary, "MatMul", "matmul");
    CALL_FAMILY(lower_add_scalar, 0, NULL, PLAIN | QUANT,
                "quantized::add_scalar(Tensor qa, Scalar b) -> Tensor");
    WITH_NUMBER("add", "add_scalar");
    CALL_FAMILY(lower_add_scalar, 1, NULL, PLAIN | QUANT,
                "quantized::add_scalar_relu(Tensor qa, Scalar b) -> Tensor");
    WITH_NUMBER("add_relu", "add_scalar_relu");
    CALL_FAMILY(lower_mul_scalar, 0, NULL, PLAIN | QUANT,
                "quantized::mul_scalar(Tensor qa, Scalar b) -> Tensor");
    WITH_NUMBER("mul", "mul_scalar");
    CALL_FAMILY(lower_mul_scalar, 1, NULL, PLAIN | QUANT,
                "quantized::mul_scalar_relu(Tensor qa, Scalar b) -> Tensor");
    WITH_NUMBER("mul_relu", "mul_scalar_relu");
    AS_FLOAT("aten::elu",
             "elu(Tensor self, float output_scale, int output_zero_point, Scalar "
             "alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor");
    AS_FLOAT(
        "aten::celu",
        "celu(Tensor self, float output_scale, int output_zero_point, Scalar alpha=1) -> Tensor");
    CALL(lower_quantized_prelu, NULL, PLAIN | QUANT,
         "quantized::prelu(Tensor qx, Tensor weight, float output_scale, int output_zero_point) -> "
         "Tensor");
    AS_FLOAT("aten::relu6", "relu6(Tensor qx, bool inplace=False) -> Tensor");
    AS_FLOAT("aten::clamp", "clamp(Tensor qx, Scalar? min=None, Scalar? max=None) -> Tensor");
    AS_FLOAT("aten::threshold", "threshold(Tensor qx, Scalar threshold, Scalar value) -> Tensor");
    AS_FLOAT("aten::max_pool1d",
             "max_pool1d(Tensor qx, int[] kernel_size, int[] stride, int[] "
             "padding, int[] dilation, bool ceil_mode) -> Tensor");
    AS_FLOAT("aten::max_pool2d",
             "max_pool2d(Tensor qx, int[] kernel_size, int[] stride, int[] "
             "padding, int[] dilation, bool ceil_mode) -> Tensor");
    MAX_POOL("1");
    MAX_POOL("2");
    MAX_POOL("3");
    CALL(lower_quantized_dropout, NULL, PLAIN | QUANT,
         "quantized::dropout(Tensor self, float output_scale, int output_zero_point, Scalar p=0.5, "
         "bool training=False) -> Tensor");
    BATCH_NORM("batch_norm", NULL);
    BATCH_NORM("batch_norm_relu", "Relu");
    BATCH_NORM("batch_norm1d", NULL);
    BATCH_NORM("batch_norm1d_relu", "Relu");
    BATCH_NORM("batch_norm2d", NULL);
    BATCH_NORM("batch_norm2d_relu", "Relu");
    BATCH_NORM("batch_norm3d", NULL);
    BATCH_NORM("batch_norm3d_relu", "Relu");
    CALL(lower_quantized_batch_norm, NULL, PLAIN | QUANT,
         "aten::quantized_batch_norm(Tensor input, " NORM_ARGS);
}
