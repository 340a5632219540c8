/* fake_quantized.c - quantisation written with plain tensors: aten::fake_quantize_* of
 * quantisation-aware training, and quantized_decomposed::* of torch.export's quantisation.
 * Operators that observe their input's range are in observed.c, tensors that carry a scale in
 * quantized.c.
 *
 * Ranges that fit 8 bits become QuantizeLinear and DequantizeLinear, the form that runtimes look
 * for, with a Clip between for a narrower range; all others the formula. PyTorch multiplies by the
 * reciprocal of the scale where ONNX divides: a number that lies between two steps to the last bit
 * may be rounded to the other one. Zero points of channels may be floats (those of a learnable
 * quantiser): they need not be whole, and are added before the rounding; a whole one after it. */
#include "ops/quantized/quantized.h"

/* How x is quantised: to steps from least to most. */
typedef struct Steps {
    Ox scale;
    Ox zero_point; /* NULL: 0 */
    int axis;      /* along which scale and zero point lie; -1: one of each */
    int64_t least, most;
    DType type; /* of the steps; DT_NONE: they stay floats */
} Steps;

/* The 8-bit type that holds the range, or DT_NONE. */
static DType type_for(int64_t least, int64_t most)
{
    if (least >= 0 && most <= UINT8_MAX)
        return DT_UINT8;
    return least >= INT8_MIN && most <= INT8_MAX ? DT_INT8 : DT_NONE;
}

/* Is it all of the 8-bit type's range, to which QuantizeLinear cuts off by itself? */
static bool whole_range(const Steps *s)
{
    if (s->type == DT_UINT8)
        return s->least <= 0 && s->most >= UINT8_MAX;
    return s->least <= INT8_MIN && s->most >= INT8_MAX;
}

static Ox bound(Op *op, Ox v, int64_t least, int64_t most)
{
    DType t = ox_ok(v) ? ox_dtype(v) : DT_FLOAT;
    Ox low = ox_number(op->g, t, (double)least);
    Ox high = ox_number(op->g, t, (double)most);
    return ox(op, "Clip", v, low, high);
}

static QuantInfo info_of(Op *op, const Steps *s)
{
    Ox zero = s->zero_point ? ox_cast(op->g, s->zero_point, s->type) : NULL;
    return (QuantInfo){ .scale = s->scale, .zero_point = zero, .axis = s->axis, .dtype = s->type };
}

/* The steps of x as floats, not yet cut off. */
static Ox rounded(Op *op, Ox x, Ox scale, Ox zero)
{
    Ox v = ox(op, "Div", x, scale);
    if (is_float_zero(zero))
        return ox(op, "Round", ox(op, "Add", v, zero));
    v = ox(op, "Round", v);
    return zero ? ox(op, "Add", v, ox_cast(op->g, zero, DT_FLOAT)) : v;
}

/* The steps of x, cut off, in their type. */
static Ox to_steps(Op *op, Ox x, const Steps *s)
{
    if (eight_bits(s->type)) {
        QuantInfo q = info_of(op, s);
        Ox v = quantize(op, x, &q);
        return whole_range(s) ? v : bound(op, v, s->least, s->most);
    }
    Ox scale = along_axis(op, s->scale, s->axis, ox_rank(x));
    Ox zero = along_axis(op, s->zero_point, s->axis, ox_rank(x));
    Ox v = bound(op, rounded(op, x, scale, zero), s->least, s->most);
    return s->type != DT_NONE ? ox_cast(op->g, v, s->type) : v;
}

static Ox from_steps(Op *op, Ox v, const Steps *s)
{
    if (eight_bits(s->type)) {
        QuantInfo q = info_of(op, s);
        return dequantize(op, v, &q);
    }
    Ox x = ox_cast(op->g, v, DT_FLOAT);
    Ox scale = along_axis(op, s->scale, s->axis, ox_rank(v));
    Ox zero = along_axis(op, s->zero_point, s->axis, ox_rank(v));
    if (zero)
        x = ox(op, "Sub", x, ox_cast(op->g, zero, DT_FLOAT));
    return ox(op, "Mul", x, scale);
}

/* ---- arguments ---- */

/* A number or a tensor of one element, 0-d. */
static Ox scalar_arg(Op *op, const char *name, DType t)
{
    Value v = arg_value(op, name);
    if (v.tag != V_TENSOR)
        return number_as(op, v, t);
    Ox x = arg(op, name);
    return ox_cast(op->g, reshape_to(op, x, NULL, 0), t);
}

/* Can x be quantised so? False after PyTorch's error. */
static bool quantisable(Op *op, Ox x, const Steps *s)
{
    if (!ox_ok(x) || !ox_ok(s->scale) || (s->zero_point && !ox_ok(s->zero_point)) ||
        ctx_failed(op->cx))
        return false;
    if (s->least > s->most)
        return fail(op->cx, E_VALUE, "`quant_min` should be less than or equal to `quant_max`.");
    if (ox_rank(x) < 0)
        return fail(op->cx, E_UNDECIDED, "the rank of what is quantised is not known");
    return s->axis < 0 || need_opset(op, 13, "a scale for each channel");
}

/* Is v, scales or zero points, one number for each of the channels? False after PyTorch's error. */
static bool channel_vector(Op *op, Ox v, const char *what, Dim channels)
{
    int rank;
    if (!need_rank(op, v, 1, &rank))
        return false;
    if (rank != 1)
        return fail(op->cx, E_VALUE, "%s should be a 1-D tensor", what);
    return !surely_differ(op, ox_dim(v, 0), channels) ||
        fail(op->cx, E_VALUE, "dimensions of %s are not consistent with input tensor", what);
}

/* Reads quant_min and quant_max, and scale and zero point from the parameters of these names. With
 * per_channel they are vectors along parameter `axis`. s->type is left to the caller. False after
 * an error. */
static bool steps_args(Op *op, Ox x, bool per_channel, const char *scale, const char *zero,
                       Steps *s)
{
    *s = (Steps){ .axis = -1, .least = arg_int(op, "quant_min"), .most = arg_int(op, "quant_max") };
    if (!per_channel) {
        s->scale = scalar_arg(op, scale, DT_FLOAT);
        s->zero_point = scalar_arg(op, zero, DT_INT32);
        return quantisable(op, x, s);
    }
    int rank;
    if (!need_rank(op, x, 4, &rank) || !arg_dim(op, "axis", rank, &s->axis))
        return false;
    Ox scales = arg(op, scale);
    Ox zeros = arg_opt(op, zero);
    if (rank == 0) {
        (void)no_dimensions(op, "axis");
        return false;
    }
    bool vectors = str_starts(op->call->schema->name, "aten::"); /* others are only broadcast */
    if (vectors &&
        (!channel_vector(op, scales, "scale", ox_dim(x, s->axis)) ||
         (zeros && !channel_vector(op, zeros, "zero point", ox_dim(x, s->axis)))))
        return false;
    s->scale = ox_cast(op->g, scales, DT_FLOAT);
    if (zeros)
        s->zero_point = ox_cast(op->g, zeros, is_float_zero(zeros) ? DT_FLOAT : DT_INT32);
    return quantisable(op, x, s);
}

/* ---- aten::fake_quantize_* ---- */

/* Argument self and how it is quantised; row->datum: a scale for each channel. False after an
 * error. */
static bool fake_args(Op *op, Ox *x, Steps *s)
{
    *x = arg(op, "self");
    if (!steps_args(op, *x, op->row->datum != 0, "scale", "zero_point", s))
        return false;
    s->type = is_float_zero(s->zero_point) ? DT_NONE : type_for(s->least, s->most);
    return true;
}

static Ox fake_quantized(Op *op, Ox x, const Steps *s)
{
    Ox y = from_steps(op, to_steps(op, ox_cast(op->g, x, DT_FLOAT), s), s);
    return ox_cast(op->g, y, ox_dtype(x));
}

static Ox lower_fake_quantize(Op *op)
{
    Ox x;
    Steps s;
    return fake_args(op, &x, &s) ? fake_quantized(op, x, &s) : POISON;
}

/* The mask of elements whose step is in range: those that are not cut off. */
static Ox within_range(Op *op, Ox x, const Steps *s)
{
    Ox wide = ox_cast(op->g, x, DT_FLOAT);
    Ox scale = along_axis(op, s->scale, s->axis, ox_rank(x));
    Ox zero = along_axis(op, s->zero_point, s->axis, ox_rank(x));
    Ox v = rounded(op, wide, scale, zero);
    Ox low = number_like(op, (double)s->least, v);
    Ox high = number_like(op, (double)s->most, v);
    Ox above = ox(op, "GreaterOrEqual", v, low);
    Ox below = ox(op, "LessOrEqual", v, high);
    return ox(op, "And", above, below);
}

Ox fake_quantize(Op *op, Ox x, Ox scale, Ox zero_point, int axis, int64_t least, int64_t most,
                 Ox *within)
{
    Steps s = { scale, zero_point, axis, least, most, type_for(least, most) };
    if (!quantisable(op, x, &s))
        return POISON;
    if (within)
        *within = within_range(op, x, &s);
    return fake_quantized(op, x, &s);
}

/* -> (output, mask of elements that are not cut off). fake_quant_enabled, a tensor of one element,
 * may switch it off: then x itself, and a mask of all. */
static Value lower_fake_quantize_cachemask(Op *op)
{
    Ox out[2];
    Ox x;
    Steps s;
    if (!fake_args(op, &x, &s))
        return val_poison();
    out[0] = fake_quantized(op, x, &s);
    out[1] = within_range(op, x, &s);
    if (has_param(op, "fake_quant_enabled")) {
        Ox one = ox_int(op->g, 1);
        Ox flag = scalar_arg(op, "fake_quant_enabled", DT_INT64);
        Ox on = ox(op, "Equal", flag, one);
        Ox off = ox(op, "Not", on);
        out[0] = ox(op, "Where", on, out[0], x);
        out[1] = ox(op, "Or", out[1], off);
    }
    return result_tuple(op, out, 2);
}

/* ---- quantized_decomposed::* ---- */

/* How x is quantised, in the type that `dtype` says; row->datum: a scale for each channel. False
 * after an error. */
static bool decomposed_args(Op *op, Ox x, Steps *s)
{
    bool read = op->row->datum ? steps_args(op, x, true, "scales", "zero_points", s)
                               : steps_args(op, x, false, "scale", "zero_point", s);
    if (!read)
        return false;
    s->type = arg_dtype(op, "dtype", DT_NONE);
    return !ctx_failed(op->cx);
}

static Ox lower_decomposed_quantize(Op *op)
{
    Ox x = arg(op, "input");
    Steps s;
    if (!decomposed_args(op, x, &s))
        return POISON;
    return to_steps(op, ox_cast(op->g, x, DT_FLOAT), &s);
}

static Ox lower_decomposed_dequantize(Op *op)
{
    Ox v = arg(op, "input");
    Steps s;
    if (!decomposed_args(op, v, &s))
        return POISON;
    if (ox_dtype(v) != s.type)
        return op_fail(op, E_VALUE, "Expecting input to have dtype: %s, but got %s",
                       dtype_name(s.type), dtype_name(ox_dtype(v)));
    Ox x = from_steps(op, v, &s);
    return ox_cast(op->g, x, arg_dtype(op, "out_dtype", DT_FLOAT));
}

static Ox lower_decomposed_fake_quant(Op *op)
{
    Ox x = arg(op, "input");
    Steps s;
    if (!steps_args(op, x, true, "scales", "zero_points", &s))
        return POISON;
    s.type = type_for(s.least, s.most);
    return from_steps(op, to_steps(op, ox_cast(op->g, x, DT_FLOAT), &s), &s);
}

/* PyTorch lets the gradient through where the step is in range, as within_range says. */
#define STEP "Add(Round(Div(self, scale)), zero_point)"
#define OF_STEPS                                                                                \
    "self = Where(And(GreaterOrEqual(" STEP ", quant_min), LessOrEqual(" STEP ", quant_max)), " \
    "grad, like(0, grad))"
#define QD    "quantized_decomposed::"
#define RANGE "int quant_min, int quant_max, ScalarType dtype"

/* A scale for each row, and zero points of 0: float32 both. torch.export records float64 and int64
 * of them, which the operator of PyTorch does not give. */
static Value lower_choose_qparams_per_token(Op *op)
{
    Ox x = arg(op, "input");
    DType t = ox_ok(x) ? ox_dtype(x) : DT_NONE;
    if (ox_ok(x) && ((t != DT_FLOAT && t != DT_FLOAT16) || arg_dtype(op, "dtype", t) != DT_INT8))
        return val_tensor(op->cx, op_refuse(op, "another type than int8 of float32 or float16"));
    Ox size = ox(op, "Abs", x);
    Ox axes = ints(op, -1);
    Ox most = ox_with(op, "ReduceMax", INPUTS(size, axes), INT("keepdims", 1));
    Ox least = ox_number(op->g, DT_FLOAT, 1e-5);
    Ox above = ox(op, "Max", ox_cast(op->g, most, DT_FLOAT), least);
    Ox scale = ox(op, "Div", above, ox_number(op->g, DT_FLOAT, 127));
    if (!ox_ok(scale))
        return val_poison();
    Dim rows[MAX_RANK];
    ox_sizes(scale, rows);
    Ox zeros = expand_dims(op, ox_number(op->g, DT_FLOAT, 0), rows, ox_rank(scale));
    op->record_errs = RESULT(0) | RESULT(1);
    return result_tuple(op, (const Ox[]){ scale, zeros }, 2);
}

OP_ROWS(fake_quantized)
{
    CALL(lower_choose_qparams_per_token, NULL, PLAIN,
         QD "choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, Tensor)");
    FAMILY(lower_fake_quantize, 0, NULL, PLAIN,
           "aten::fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int "
           "quant_min, int quant_max) -> Tensor",
           .derivative = OF_STEPS);
    FAMILY(lower_fake_quantize, 0, NULL, PLAIN,
           "aten::fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor "
           "zero_point, int quant_min, int quant_max) -> Tensor",
           .derivative = NO_DERIVATIVE("self") NO_DERIVATIVE("scale"));
    FAMILY(lower_fake_quantize, 1, NULL, PLAIN,
           "aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, "
           "int axis, int quant_min, int quant_max) -> Tensor",
           .derivative = NO_DERIVATIVE("self") NO_DERIVATIVE("scale"));
    CALL_FAMILY(lower_fake_quantize_cachemask, 0, NULL, PLAIN,
                "aten::fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int "
                "zero_point, int quant_min, int quant_max) -> (Tensor output, Tensor mask)");
    CALL_FAMILY(lower_fake_quantize_cachemask, 0, NULL, PLAIN,
                "aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, "
                "Tensor scale, Tensor zero_point, Tensor fake_quant_enabled, int quant_min, int "
                "quant_max) -> (Tensor output, Tensor mask)");
    CALL_FAMILY(
        lower_fake_quantize_cachemask, 1, NULL, PLAIN,
        "aten::fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor "
        "zero_point, int axis, int quant_min, int quant_max) -> (Tensor output, Tensor mask)");
    FAMILY(lower_decomposed_quantize, 0, NULL, PLAIN,
           QD "quantize_per_tensor(Tensor input, float scale, int zero_point, " RANGE
              ") -> Tensor");
    FAMILY(lower_decomposed_quantize, 0, NULL, PLAIN,
           QD "quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, " RANGE
              ") -> Tensor");
    FAMILY(lower_decomposed_dequantize, 0, NULL, PLAIN,
           QD "dequantize_per_tensor(Tensor input, float scale, int zero_point, " RANGE
              ", *, ScalarType? out_dtype=None) -> Tensor");
    FAMILY(lower_decomposed_dequantize, 0, NULL, PLAIN,
           QD "dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, " RANGE
              ", *, ScalarType? out_dtype=None) -> Tensor");
    FAMILY(lower_decomposed_quantize, 1, NULL, PLAIN,
           QD
           "quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, " RANGE
           ") -> Tensor");
    FAMILY(
        lower_decomposed_dequantize, 1, NULL, PLAIN,
        QD
        "dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, " RANGE
        ", *, ScalarType? out_dtype=None) -> Tensor");
    LOWER(lower_decomposed_fake_quant, NULL, PLAIN,
          QD "fake_quant_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, "
             "int quant_min, int quant_max) -> Tensor");
}
