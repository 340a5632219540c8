/* quantized.c - tensors that carry their scale: quantize_per_tensor, dequantize and what computes on them, as
 * DequantizeLinear, the operator on floats, QuantizeLinear: the form that runtimes fuse into integer kernels.
 *
 * PyTorch computes in integers and rounds once; so does the fused form. Run unfused, a result that lies between two steps may
 * come out as the other one. Fake quantisation is in fake_quantized.c. */
#include "ops/quantized.h"

/* ---- to and from integers ---- */

Ox along_axis(Op *op, Ox p, int axis, int rank)
{
    Dim dims[MAX_RANK];
    if (!p || !ox_ok(p) || axis < 0 || ox_rank(p) != 1)
        return p;
    for (int i = 0; i < rank; i++)
        dims[i] = i == axis ? ox_dim(p, 0) : dim_int(op->cx, 1);
    return reshape_to(op, p, dims, rank);
}

Ox four_bits(Op *op, Ox bytes)
{
    Ox x = ox_ok(bytes) ? ox_cast(op->g, bytes, DT_FLOAT) : bytes;
    if (!ox_ok(x))
        return x;
    int rank = ox_rank(x);
    Dim dims[MAX_RANK];
    memcpy(dims, x->type->dim, (size_t)rank * sizeof *dims);
    dims[rank - 1] = dim_mul(op->cx, dims[rank - 1], dim_int(op->cx, 2));
    Ox high = ox(op, "Floor", ox(op, "Mul", x, number_like(op, 1.0 / 16, x))), low = ox(op, "Sub", x, ox(op, "Mul", high, number_like(op, 16, x)));
    const Ox half[] = { unsqueeze_axis(op, low, rank), unsqueeze_axis(op, high, rank) };
    return reshape_to(op, concat_axis(op, half, 2, rank), dims, rank);
}

/* Zero points that need not be whole are added before the rounding; ONNX's operators take none. */
static bool is_between(const QuantInfo *q) { return q->zero_point && ox_ok(q->zero_point) && dtype_is_float(ox_dtype(q->zero_point)); }

static Ox quantize_between(Op *op, Ox x, const QuantInfo *q)
{
    bool is_signed = q->dtype == DT_INT8;
    Ox scale = along_axis(op, q->scale, q->axis, ox_rank(x)), zero = along_axis(op, q->zero_point, q->axis, ox_rank(x)), steps = ox(op, "Div", x, scale);
    Ox v = ox(op, "Round", ox(op, "Add", steps, zero)), least = number_like(op, is_signed ? -128 : 0, x), most = number_like(op, is_signed ? 127 : 255, x);
    Ox kept = ox(op, "Clip", v, least, most);
    return ox_ok(kept) ? ox_cast(op->g, kept, q->dtype) : kept;
}

static Ox dequantize_between(Op *op, Ox v, const QuantInfo *q)
{
    Ox x = q->dtype == DT_UINT4 ? four_bits(op, q->bytes) : ox_cast(op->g, v, DT_FLOAT);
    Ox scale = along_axis(op, q->scale, q->axis, ox_rank(v)), zero = along_axis(op, q->zero_point, q->axis, ox_rank(v));
    return ox(op, "Mul", ox(op, "Sub", x, zero), scale);
}

Ox quantize(Op *op, Ox x, const QuantInfo *q)
{
    if (is_between(q) && ox_ok(x))
        return quantize_between(op, x, q);
    return ox_make(op->g, "QuantizeLinear", INPUTS(x, q->scale, q->zero_point), ATTRS(q->axis >= 0 ? INT("axis", q->axis) : NO_ATTR));
}

Ox dequantize(Op *op, Ox v, const QuantInfo *q)
{
    if (q->dtype == DT_UINT4 && !(q->bytes && is_between(q)))
        return op_refuse(op, "a quantised tensor of 4 bits whose rows are no whole bytes");
    if (is_between(q) && ox_ok(v))
        return dequantize_between(op, v, q);
    return ox_make(op->g, "DequantizeLinear", INPUTS(v, q->scale, q->zero_point), ATTRS(q->axis >= 0 ? INT("axis", q->axis) : NO_ATTR));
}

QuantInfo *quant_of_numbers(Op *op, double scale, int64_t zero_point, DType t)
{
    QuantInfo *q = new(op->cx, QuantInfo);
    if (q)
        *q = (QuantInfo){ .scale = ox_number(op->g, DT_FLOAT, scale), .zero_point = ox_integer(op->g, t, zero_point), .axis = -1, .dtype = t };
    return q;
}

Value quantized_tensor(Op *op, Ox x, const QuantInfo *q)
{
    Ox v = q ? quantize(op, x, q) : POISON;
    if (!ox_ok(v))
        return val_poison();
    Tensor *t = tensor_new(op->cx, v);
    t->kind = QUANT;
    t->quant = q;
    return (Value){ .tag = V_TENSOR, .t = t };
}

Ox dequantized_arg(Op *op, Value v)
{
    if (v.tag != V_TENSOR)
        return POISON;
    Ox x = tensor_read(op->g, v.t);
    return v.t->kind == QUANT && v.t->quant ? dequantize(op, x, v.t->quant) : x;
}

/* ---- aten::quantize_*, dequantize, int_repr ---- */

/* qint8, quint8; ints of 32 bits are what ONNX's QuantizeLinear does not make. */
static DType stored_type(Op *op)
{
    Value v = arg_value(op, "dtype");
    DType t = v.tag == V_INT ? dtype_of_c10(v.i, NULL) : v.tag == V_DTYPE ? v.dtype : DT_NONE;
    if (t != DT_INT8 && t != DT_UINT8 && !ctx_failed(op->cx))
        op_refuse(op, "a quantised tensor of another type than qint8 and quint8");
    return t;
}

static Value lower_quantize_per_tensor(Op *op)
{
    Ox x = arg(op, "self");
    DType t = stored_type(op);
    if (!ox_ok(x) || (t != DT_INT8 && t != DT_UINT8))
        return val_poison();
    if (arg_value(op, "scale").tag != V_TENSOR)
        return quantized_tensor(op, x, quant_of_numbers(op, arg_float(op, "scale"), arg_int(op, "zero_point"), t));
    QuantInfo *q = new(op->cx, QuantInfo);
    Ox scale = arg(op, "scale"), zero = arg(op, "zero_point");
    if (!q || !ox_ok(scale) || !ox_ok(zero))
        return val_poison();
    q->scale = ox_cast(op->g, reshape_to(op, scale, NULL, 0), DT_FLOAT);
    q->zero_point = ox_cast(op->g, reshape_to(op, zero, NULL, 0), t);
    q->axis = -1;
    q->dtype = t;
    return quantized_tensor(op, x, q);
}

static Value lower_quantize_per_channel(Op *op)
{
    Ox x = arg(op, "self"), scales = arg(op, "scales"), zeros = arg(op, "zero_points");
    DType t = stored_type(op);
    QuantInfo *q = new(op->cx, QuantInfo);
    int rank;
    if (!q || !ox_ok(scales) || !ox_ok(zeros) || !need_rank(op, x, 4, &rank) || (t != DT_INT8 && t != DT_UINT8) || !arg_dim(op, "axis", rank, &q->axis) ||
        !need_opset(op, 13, "a scale for each channel"))
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
    return v.tag == V_TENSOR && v.t->kind != QUANT && ox_ok(x) ? ox_cast(op->g, x, DT_FLOAT) : x;
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

Ox called(Op *op, const char *name, const Value *args, size_t n)
{
    Value v = call_op(op, name, args, n);
    return v.tag == V_TENSOR ? tensor_read(op->g, v.t) : POISON;
}

/* What the result has, with the stored type of the argument. */
Value requantized(Op *op, Ox y, Value like, const char *scale, const char *zero_point)
{
    if (!ox_ok(y))
        return val_poison();
    if (like.tag != V_TENSOR || like.t->kind != QUANT)
        return val_tensor(op->cx, op_fail(op, E_VALUE, "it expects quantised tensors"));
    return quantized_tensor(op, y, quant_of_numbers(op, arg_float(op, scale), arg_int(op, zero_point), like.t->quant->dtype));
}

/* ---- arithmetic ---- */

/* row->text: the operator on floats */
static Value quantized_binary(Op *op, bool relu)
{
    Value qa = arg_value(op, "qa"), qb = arg_value(op, "qb");
    Ox a = dequantized_arg(op, qa), b = dequantized_arg(op, qb), y = ox(op, op->row->text, a, b);
    return requantized(op, relu ? ox(op, "Relu", y) : y, qa, "scale", "zero_point");
}

static Value lower_quantized_binary(Op *op) { return quantized_binary(op, false); }
static Value lower_quantized_binary_relu(Op *op) { return quantized_binary(op, true); }

static Value lower_quantized_cat(Op *op)
{
    Value list = arg_value(op, "qx"), first = packed_item(list, 0);
    if (list.tag != V_TUPLE || first.tag != V_TENSOR || first.t->kind != QUANT)
        return val_tensor(op->cx, op_fail(op, E_VALUE, "it expects a list of quantised tensors"));
    Value *at = new_array(op->cx, Value, list.tuple->n);
    for (int64_t i = 0; at && i < list.tuple->n; i++)
        at[i] = val_tensor(op->cx, dequantized_arg(op, list.tuple->at[i]));
    if (!at)
        return val_poison();
    const Value args[] = { val_list(op->cx, at, list.tuple->n, "Tensor"), arg_value(op, "dim") };
    Ox y = called(op, "aten::cat", args, 2);
    y = op->row->datum ? ox(op, "Relu", y) : y;
    return arg_given(op, "scale") ? requantized(op, y, first, "scale", "zero_point") : quantized_tensor(op, y, first.t->quant);
}

/* row->text: the operator on floats, which takes the same arguments but for the two that say how the result is kept */
static Value lower_quantized_as_float(Op *op)
{
    const Schema *s = op->call->schema;
    Value args[16];
    size_t n = 0;
    for (int i = 0; i < s->n_param && n < COUNT(args); i++) {
        if (str_starts(s->param[i].name, "output_") || str_is(s->param[i].name, "inplace"))
            continue;
        Value v = op->call->arg[i];
        args[n++] = i == 0 ? val_tensor(op->cx, dequantized_arg(op, v)) : v;
    }
    return requantized(op, called(op, op->row->text, args, n), op->call->arg[0], "output_scale", "output_zero_point");
}

/* Always by the statistics of each instance. */
static Value lower_quantized_instance_norm(Op *op)
{
    Value x = arg_value(op, "input");
    const Value args[] = { val_tensor(op->cx, dequantized_arg(op, x)), arg_value(op, "weight"), arg_value(op, "bias"), val_none(), val_none(),
                           val_bool(true), val_float(0), arg_value(op, "eps"), val_bool(true) };
    return requantized(op, called(op, "aten::instance_norm", args, COUNT(args)), x, "output_scale", "output_zero_point");
}

/* ---- aten's operators on quantised tensors ---- */

typedef struct OnQuantized { const char *name; double scale; int64_t zero_point; } OnQuantized;      /* scale 0: as the argument */
static const OnQuantized on_quantized[] = {
    { "aten::relu", 0, 0 }, { "aten::relu6", 0, 0 }, { "aten::hardtanh", 0, 0 }, { "aten::clamp", 0, 0 }, { "aten::leaky_relu", 0, 0 },
    { "aten::max_pool1d", 0, 0 }, { "aten::max_pool2d", 0, 0 }, { "aten::avg_pool2d", 0, 0 }, { "aten::avg_pool3d", 0, 0 },
    { "aten::adaptive_avg_pool1d", 0, 0 }, { "aten::adaptive_avg_pool2d", 0, 0 }, { "aten::adaptive_avg_pool3d", 0, 0 }, { "aten::mean", 0, 0 },
    { "aten::upsample_nearest2d", 0, 0 }, { "aten::upsample_bilinear2d", 0, 0 }, { "aten::dropout", 0, 0 }, { "aten::flatten", 0, 0 },
    { "aten::channel_shuffle", 0, 0 }, { "aten::pixel_shuffle", 0, 0 }, { "aten::clone", 0, 0 },
    { "aten::sigmoid", 1.0 / 256, 0 }, { "aten::hardsigmoid", 1.0 / 256, 0 }, { "aten::tanh", 2.0 / 256, 128 },
};

Value on_quantized_tensor(Op *op, bool in_place)
{
    const Schema *s = op->call->schema;
    const OnQuantized *row = NULL;
    const QuantInfo *q = NULL;
    OpArg *args = new_array(op->cx, OpArg, s->n_param + 1);
    for (size_t i = 0; i < COUNT(on_quantized) && !row; i++)
        if (str_is(s->name, on_quantized[i].name))
            row = &on_quantized[i];
    for (int i = 0; args && i < s->n_param; i++) {
        Value v = op->call->arg[i];
        bool quantised = v.tag == V_TENSOR && v.t->kind == QUANT;
        if (quantised && !q)
            q = v.t->quant;
        args[i] = (OpArg){ s->param[i].name, quantised ? val_tensor(op->cx, dequantized_arg(op, v)) : v };
    }
    if (!row || !q || !args || q->axis >= 0 || (in_place && row->scale != 0))
        return val_tensor(op->cx, op_refuse(op, "it does not handle quantised tensors"));
    Value v = op_call(op->g, s->name, s->overload, args, (size_t)s->n_param, NULL, 0);
    if (v.tag != V_TENSOR)
        return v;
    return quantized_tensor(op, tensor_read(op->g, v.t), row->scale != 0 ? quant_of_numbers(op, row->scale, row->zero_point, DT_UINT8) : q);
}

#define BINARY(fn, onnx, name) { .kind = ROW_CALL, .schema = "quantized::" name "(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor", .kinds = PLAIN | QUANT, .call = (fn), .text = (onnx) }
#define AS_FLOAT(aten, line) { .kind = ROW_CALL, .schema = "quantized::" line, .kinds = PLAIN | QUANT, .call = lower_quantized_as_float, .text = (aten) }

const OpRow ops_quantized[] = {
    CALL(lower_quantize_per_tensor, NULL, PLAIN, "aten::quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype) -> Tensor"),
    CALL(lower_quantize_per_tensor, NULL, PLAIN, "aten::quantize_per_tensor.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, ScalarType dtype) -> Tensor"),
    CALL(lower_quantize_per_channel, NULL, PLAIN, "aten::quantize_per_channel(Tensor self, Tensor scales, Tensor zero_points, int axis, ScalarType dtype) -> Tensor"),
    LOWER(lower_dequantize, NULL, PLAIN | QUANT, "aten::dequantize.self(Tensor self) -> Tensor"),
    LOWER(lower_int_repr, NULL, PLAIN | QUANT, "aten::int_repr(Tensor self) -> Tensor"),
    BINARY(lower_quantized_binary, "Add", "add"),
    BINARY(lower_quantized_binary_relu, "Add", "add_relu"),
    BINARY(lower_quantized_binary, "Mul", "mul"),
    BINARY(lower_quantized_binary_relu, "Mul", "mul_relu"),
    CALL_FAMILY(lower_quantized_cat, 0, NULL, PLAIN | QUANT, "quantized::cat(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor"),
    CALL_FAMILY(lower_quantized_cat, 1, NULL, PLAIN | QUANT, "quantized::cat_relu(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor"),
    AS_FLOAT("aten::hardswish", "hardswish(Tensor input, float output_scale, int output_zero_point) -> Tensor"),
    AS_FLOAT("aten::sigmoid", "sigmoid(Tensor qx, float output_scale, int output_zero_point) -> Tensor"),
    AS_FLOAT("aten::leaky_relu", "leaky_relu(Tensor qx, Scalar negative_slope, bool inplace, float output_scale, int output_zero_point) -> Tensor"),
    AS_FLOAT("aten::softmax", "softmax(Tensor qx, int dim, float output_scale, int output_zero_point) -> Tensor"),
    AS_FLOAT("aten::layer_norm", "layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps, float output_scale, int output_zero_point) -> Tensor"),
    AS_FLOAT("aten::group_norm", "group_norm(Tensor input, int num_groups, Tensor? weight, Tensor? bias, float eps, float output_scale, int output_zero_point) -> Tensor"),
    CALL(lower_quantized_instance_norm, NULL, PLAIN | QUANT, "quantized::instance_norm(Tensor input, Tensor? weight, Tensor? bias, float eps, float output_scale, int output_zero_point) -> Tensor"),
    OPS_END
};
