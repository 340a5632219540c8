/* quantized.c - tensors that carry their scale: quantize_per_tensor, dequantize and what computes on them, as
 * DequantizeLinear, the operator on floats, QuantizeLinear: the form that runtimes fuse into integer kernels.
 *
 * PyTorch computes in integers and rounds once; so does the fused form. Run unfused, a result that lies between two steps may
 * come out as the other one. Fake quantisation is in fake_quantized.c. */
#include "ops/quantized.h"

/* ---- to and from integers ---- */

Ox quantize(Op *op, Ox x, const QuantInfo *q)
{
    return ox_make(op->g, "QuantizeLinear", INPUTS(x, q->scale, q->zero_point), ATTRS(q->axis >= 0 ? INT("axis", q->axis) : NO_ATTR));
}

Ox dequantize(Op *op, Ox v, const QuantInfo *q)
{
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
    DType t = arg_dtype(op, "dtype", DT_NONE);
    if (t != DT_INT8 && t != DT_UINT8 && !ctx_failed(op->cx))
        op_refuse(op, "quantised tensors of %s: only qint8 and quint8", dtype_name(t));
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
    q->zero_point = ox_cast(op->g, zeros, t);
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
    return tensor_read(op->g, v.t);
}

const OpRow ops_quantized[] = {
    CALL(lower_quantize_per_tensor, NULL, PLAIN, "aten::quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype) -> Tensor"),
    CALL(lower_quantize_per_tensor, NULL, PLAIN, "aten::quantize_per_tensor.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, ScalarType dtype) -> Tensor"),
    CALL(lower_quantize_per_channel, NULL, PLAIN, "aten::quantize_per_channel(Tensor self, Tensor scales, Tensor zero_points, int axis, ScalarType dtype) -> Tensor"),
    LOWER(lower_dequantize, NULL, PLAIN | QUANT, "aten::dequantize.self(Tensor self) -> Tensor"),
    LOWER(lower_int_repr, NULL, PLAIN | QUANT, "aten::int_repr(Tensor self) -> Tensor"),
    OPS_END
};
