/* quantized_layers.c - convolutions and linear layers whose parameters PyTorch has packed into a
 * C++ object: its saved state is read, and the layer is aten's on floats. Layers whose input is
 * quantised while the model runs are in quantized_dynamic.c. */
#include "ops/quantized/quantized.h"

/* ---- packed parameters: the state that the C++ object saved ---- */

Value packed_item(Value v, int64_t i)
{
    if (v.tag == V_TUPLE)
        return i < v.tuple->n ? v.tuple->at[i] : val_none();
    return v.tag == V_LIST && i < v.list->n ? v.list->at[i].v : val_none();
}

Value packed_value_state(Value v)
{
    if (v.tag == V_TUPLE)
        return v;
    return v.tag == V_OBJ && v.obj->n > 0 ? v.obj->slot[0].v : val_none();
}

Value packed_state(Op *op, const char *name) { return packed_value_state(arg_value(op, name)); }

static Ox unknown_form(Op *op)
{
    return op_refuse(op, "packed parameters of a form that is not known");
}

Ox float_weight(Op *op, Value v)
{
    if (v.tag != V_TENSOR)
        return unknown_form(op);
    if (v.t->quant && v.t->quant->axis >= 0 &&
        !need_opset(op, 13, "weights with a scale for each channel"))
        return POISON;
    return dequantized_arg(op, v);
}

/* Do these weights, of int8, saturate beside numbers of x in ONNX Runtime? as_unsigned() says how.
 * Nothing in a file tells how many of x's 8 bits are used. A zero point beyond 127 does; and who
 * prepares a model for kernels that saturate (fbgemm, x86) uses 7 bits, and a scale for each
 * channel. One scale is what models for mobile processors have, of 8 bits. */
static bool may_saturate(Op *op, const QuantInfo *w, const QuantInfo *x)
{
    double zero;
    if (!op->g->ort || !x || x->dtype != DT_UINT8 || w->dtype != DT_INT8 ||
        is_float_zero(w->zero_point))
        return false;
    return w->axis < 0 || !ox_known_scalar(op->g, x->zero_point, &zero) || zero > 127;
}

/* float_weight() of a layer whose input is quantised so, or has floats (NULL). */
static Ox weight_beside(Op *op, Value v, const QuantInfo *x)
{
    const QuantInfo *q = v.tag == V_TENSOR ? v.t->quant : NULL;
    Ox w = float_weight(op, v);
    if (!ox_ok(w) || !q || !may_saturate(op, q, x))
        return w;
    Ox steps = tensor_read(op->g, v.t);
    q = as_unsigned(op, &steps, q);
    return ox_ok(steps) ? dequantize(op, steps, q) : steps;
}

Ox plain_arg(Op *op, const char *name)
{
    Value v = arg_value(op, name);
    if (v.tag == V_TENSOR && v.t->kind == QUANT)
        return op_fail(op, E_VALUE, "it expects %s to be a tensor of floats", name);
    return arg(op, name);
}

/* ---- convolution ---- */

enum { STRIDE, PADDING, DILATION, OUTPUT_PADDING, CONV_LISTS };

/* The saved numbers of a convolution: its k spatial axes, k numbers of each list above, groups, and
 * flags of which bit 0 says that it is transposed. MAX_CONFIG is enough for k = 3. */
enum { MAX_CONFIG = 16 };
typedef struct QConv {
    Value weight, bias;
    int64_t n, groups, flags;
    Value list[CONV_LISTS];
} QConv;

/* The parameters from these numbers. False after a refusal. */
static bool conv_config(Op *op, const int64_t *at, int64_t count, QConv *c)
{
    if (at[0] < 1 || at[0] > 3 || count < 4 * at[0] + 3) {
        unknown_form(op);
        return false;
    }
    c->n = at[0];
    for (size_t i = 0; i < COUNT(c->list); i++) {
        Value v[3];
        for (int64_t k = 0; k < c->n; k++)
            v[k] = val_int(at[1 + (int64_t)i * c->n + k]);
        c->list[i] = val_list(op->cx, v, c->n, "int");
    }
    c->groups = at[1 + 4 * c->n];
    c->flags = at[2 + 4 * c->n];
    return true;
}

/* Appends the numbers of a constant tensor to at[MAX_CONFIG], which has *n. False after a
 * refusal. */
static bool numbers_of(Op *op, Value v, int64_t *at, int64_t *n)
{
    const int64_t *known = NULL;
    int64_t count = 0;
    Ox x = v.tag == V_TENSOR ? ox_cast(op->g, tensor_read(op->g, v.t), DT_INT64) : POISON;
    if (!ox_ok(x) || !ox_known_ints(op->g, x, &known, &count) || *n + count > MAX_CONFIG) {
        unknown_form(op);
        return false;
    }
    for (int64_t i = 0; i < count; i++)
        at[(*n)++] = known[i];
    return true;
}

/* Version 1: (weight, bias, stride, padding, dilation, groups), where each number is a tensor. It
 * has no output padding and no transposed convolutions. */
static bool conv_of_version_1(Op *op, Value state, QConv *c)
{
    int64_t at[MAX_CONFIG] = { 0 };
    int64_t n = 1;
    for (int64_t list = 2; list < 5; list++) {
        Value numbers = packed_item(state, list);
        for (int64_t i = 0; packed_item(numbers, i).tag != V_NONE; i++)
            if (!numbers_of(op, packed_item(numbers, i), at, &n))
                return false;
    }
    at[0] = (n - 1) / 3;
    for (int64_t i = 0; i < at[0] && n < MAX_CONFIG; i++)
        at[n++] = 0; /* the output padding */
    if (!numbers_of(op, packed_item(state, 5), at, &n) || n >= MAX_CONFIG)
        return false;
    at[n++] = 0; /* the flags */
    *c = (QConv){ .weight = packed_item(state, 0), .bias = packed_item(state, 1) };
    return conv_config(op, at, n, c);
}

/* Version 3: (3, ints, [None, weight, bias]); version 2: ("2", [int16 numbers, weight], [bias]);
 * version 1 begins with the weight. False after a refusal. */
static bool conv_of_state(Op *op, Value state, QConv *c)
{
    Value first = packed_item(state, 0);
    Value second = packed_item(state, 1);
    Value third = packed_item(state, 2);
    int64_t at[MAX_CONFIG] = { 0 };
    int64_t n = 0;
    if (first.tag == V_TENSOR)
        return conv_of_version_1(op, state, c);
    if (first.tag == V_INT) {
        *c = (QConv){ .weight = packed_item(third, 1), .bias = packed_item(third, 2) };
        for (; n < MAX_CONFIG; n++) {
            Value v = packed_item(second, n);
            if (v.tag != V_INT)
                break;
            at[n] = v.i;
        }
        return conv_config(op, at, n, c);
    }
    *c = (QConv){ .weight = packed_item(second, 1), .bias = packed_item(third, 0) };
    return numbers_of(op, packed_item(second, 0), at, &n) && conv_config(op, at, n, c);
}

/* A state of version 3: modules pack their weights when they are loaded. row->datum: the number of
 * spatial axes, and 10 more for a transposed convolution. */
static Value lower_conv_prepack(Op *op)
{
    static const char *const names[CONV_LISTS] = { "stride", "padding", "dilation",
                                                   "output_padding" };
    int64_t n = op->row->datum % 10;
    int64_t at[MAX_CONFIG] = { n };
    int64_t count = 1;
    for (int i = 0; i < CONV_LISTS; i++) {
        Ints v = has_param(op, names[i]) ? arg_ints_n(op, names[i], (int)n) : (Ints){ 0 };
        for (int64_t k = 0; k < n; k++)
            at[count++] = v.n ? v.at[k] : 0;
    }
    at[count++] = arg_int(op, "groups");
    at[count++] = op->row->datum >= 10;
    Value tensors[3] = { val_none(), arg_value(op, "weight"), arg_value(op, "bias") };
    Value numbers[MAX_CONFIG];
    for (int64_t i = 0; i < count; i++)
        numbers[i] = val_int(at[i]);
    const Value state[3] = { val_int(3), val_tuple(op->cx, numbers, count),
                             val_tuple(op->cx, tensors, 3) };
    return ctx_failed(op->cx) ? val_poison() : val_tuple(op->cx, state, 3);
}

/* One part of packed parameters. row->datum: an item of QConv's list, or one of these. */
enum { GROUPS = CONV_LISTS, IS_TRANSPOSED };

static Value lower_conv_part(Op *op)
{
    QConv c;
    if (!conv_of_state(op, packed_state(op, "packed_weights"), &c))
        return val_poison();
    switch (op->row->datum) {
    case GROUPS:        return val_int(c.groups);
    case IS_TRANSPOSED: return val_int(c.flags & 1);
    default:            return c.list[op->row->datum];
    }
}

static Value lower_conv_unpack(Op *op)
{
    QConv c;
    if (!conv_of_state(op, packed_state(op, "packed_weights"), &c))
        return val_poison();
    return val_tuple(op->cx, (const Value[]){ c.weight, c.bias }, 2);
}

/* The convolution of x, on floats, with the packed parameters. Those of a conv1d are of a conv2d
 * whose first spatial axis is 1. */
static Ox packed_conv(Op *op, Ox x, const QuantInfo *of_x)
{
    const char *name = has_param(op, "weight") ? "weight" : "packed_weight";
    QConv c;
    int rank;
    if (!conv_of_state(op, packed_state(op, name), &c))
        return POISON;
    Ox w = weight_beside(op, c.weight, of_x);
    Ox axes = ints(op, 2);
    if (!need_rank(op, x, (int)c.n + 2, &rank) || !ox_ok(w))
        return POISON;
    bool flat = rank == c.n + 1;
    if (flat)
        x = ox(op, "Unsqueeze", x, axes);
    if (!ox_ok(x))
        return POISON;
    const Value args[] = { val_tensor(op->cx, x), val_tensor(op->cx, w),  c.bias,
                           c.list[STRIDE],        c.list[PADDING],        c.list[DILATION],
                           val_bool(c.flags & 1), c.list[OUTPUT_PADDING], val_int(c.groups) };
    Ox y = call_ox(op, "aten::convolution", args, COUNT(args));
    return flat ? ox(op, "Squeeze", y, axes) : y;
}

/* The layer's result y after its activation; row->text: the ONNX operator, or NULL for none. */
static Ox activated(Op *op, Ox y)
{
    if (!op->row->text || !ox_ok(y))
        return y;
    if (!has_param(op, "negative_slope"))
        return ox(op, op->row->text, y);
    Attr alpha = FLOAT("alpha", arg_float(op, "negative_slope"));
    return ox_with(op, op->row->text, INPUTS(y), alpha);
}

static Value lower_quantized_conv(Op *op)
{
    Value qx = arg_value(op, "qx");
    const QuantInfo *of_x = qx.tag == V_TENSOR ? qx.t->quant : NULL;
    Ox y = packed_conv(op, dequantized_arg(op, qx), of_x);
    if (has_param(op, "qaccum")) {
        Ox more = dequantized_arg(op, arg_value(op, "qaccum"));
        y = ox(op, "Add", y, more);
    }
    return requantized(op, activated(op, y), qx, "output_scale", "output_zero_point");
}

/* The scale that PyTorch takes for an input of nothing but zeros. */
static Ox scale_of_zeros(Op *op, Ox x, Ox scale)
{
    Ox most = ox_with(op, "ReduceMax", INPUTS(ox(op, "Abs", x)), INT("keepdims", 0));
    Ox none = ox(op, "Equal", most, number_like(op, 0, x));
    return ox(op, "Where", none, number_like(op, 0.1, x), scale);
}

/* PyTorch quantises the result with the input's scale, and cuts off numbers out of its range. */
static Ox lower_conv_dynamic(Op *op)
{
    QuantInfo q;
    Ox x = plain_arg(op, "qx");
    Ox v = own_scale(op, x, arg_bool(op, "reduce_range"), &q);
    if (!ox_ok(v))
        return v;
    Ox y = packed_conv(op, dequantize(op, v, &q), NULL);
    q.scale = scale_of_zeros(op, x, q.scale);
    Ox kept = ox_ok(y) ? quantize(op, y, &q) : y;
    return ox_ok(kept) ? dequantize(op, kept, &q) : kept;
}

/* ---- linear ---- */

static Ox linear_beside(Op *op, Ox x, Value state, const QuantInfo *of_x)
{
    Ox w = weight_beside(op, packed_item(state, 0), of_x);
    if (!ox_ok(x) || !ox_ok(w))
        return POISON;
    const Value args[] = { val_tensor(op->cx, x), val_tensor(op->cx, w), packed_item(state, 1) };
    return call_ox(op, "aten::linear", args, 3);
}

Ox packed_linear(Op *op, Ox x, Value state) { return linear_beside(op, x, state, NULL); }

static Ox linear(Op *op, Ox x, const QuantInfo *of_x)
{
    return activated(op, linear_beside(op, x, packed_state(op, "W_prepack"), of_x));
}

static Value lower_linear_prepack(Op *op)
{
    return val_tuple(op->cx, (const Value[]){ arg_value(op, "W"), arg_value(op, "B") }, 2);
}

/* A weight rounded to float16, in float32; numbers beyond float16's range become its ends. */
static Value in_half(Op *op, const char *name)
{
    Ox w = plain_arg(op, name);
    if (!ox_ok(w))
        return val_poison();
    Ox least = number_like(op, -65504, w);
    Ox most = number_like(op, 65504, w);
    Ox cut = ox(op, "Clip", w, least, most);
    Ox half = ox_cast(op->g, cut, DT_FLOAT16);
    return val_tensor(op->cx, ox_cast(op->g, half, DT_FLOAT));
}

static Value lower_linear_prepack_fp16(Op *op)
{
    return val_tuple(op->cx, (const Value[]){ in_half(op, "W"), arg_value(op, "B") }, 2);
}

static Value lower_linear_unpack(Op *op)
{
    Value state = packed_state(op, "W_prepack");
    return val_tuple(op->cx, (const Value[]){ packed_item(state, 0), packed_item(state, 1) }, 2);
}

static Value lower_quantized_linear(Op *op)
{
    Value x = arg_value(op, "X");
    const QuantInfo *of_x = x.tag == V_TENSOR ? x.t->quant : NULL;
    Ox y = linear(op, dequantized_arg(op, x), of_x);
    return requantized(op, y, x, "Y_scale_i", "Y_zero_point_i");
}

/* The input is quantised and dequantised with a scale that is an argument. */
static Ox lower_linear_of_rounded(Op *op)
{
    double scale = arg_float(op, "X_scale");
    const QuantInfo *q = quant_of_numbers(op, scale, arg_int(op, "X_zero_point"), DT_UINT8);
    Ox x = quantize(op, plain_arg(op, "X"), q);
    return ox_ok(x) ? linear(op, dequantize(op, x, q), q) : POISON;
}

static Ox lower_linear_fp16(Op *op) { return linear(op, plain_arg(op, "X"), NULL); }

static Ox lower_linear_fp16_unpacked(Op *op)
{
    const Value parts[] = { in_half(op, "weight"), arg_value(op, "bias") };
    Value state = val_tuple(op->cx, parts, 2);
    return packed_linear(op, plain_arg(op, "X"), state);
}

#define BOTH           QUANT | PLAIN
#define PACKED_CONV(k) "__torch__.torch.classes.quantized.Conv" k "dPackedParamsBase"
#define CONV_ROW(act, line)                                               \
    OP_ROW(.kind = ROW_CALL, .schema = "quantized::" line, .kinds = BOTH, \
           .call = lower_quantized_conv, .text = (act), .layout = LAYOUT_OWN_ORDER)
#define NEW                "float output_scale, int output_zero_point) -> Tensor"
#define CONV(name, act, k) CONV_ROW(act, name "(Tensor qx, " PACKED_CONV(k) " packed_weight, " NEW)
#define CONV_BEFORE(name, act, k)             \
    CONV_ROW(act,                             \
             name "(Tensor qx, " PACKED_CONV( \
                 k) " weight, int[] stride, int[] padding, int[] dilation, int groups, " NEW)
#define CONV_ADD(name, act) \
    CONV_ROW(act, name "(Tensor qx, Tensor qaccum, " PACKED_CONV("2") " packed_weight, " NEW)
#define CONV_DYNAMIC(name, k)                                                                 \
    LOWER(lower_conv_dynamic, NULL, BOTH,                                                     \
          "quantized::" name                                                                  \
          "(Tensor qx, " PACKED_CONV(k) " packed_weight, bool reduce_range=False) -> Tensor", \
          .layout = LAYOUT_OWN_ORDER)
#define PREPACK(n, name, more, k)                                                  \
    CALL_FAMILY(lower_conv_prepack, n, NULL, BOTH,                                 \
                "quantized::" name                                                 \
                "(Tensor weight, Tensor? bias, int[] stride, int[] padding, " more \
                "int[] dilation, int groups) -> " PACKED_CONV(k))
#define UNPACK(name, k)                                                                        \
    CALL(lower_conv_unpack, NULL, BOTH,                                                        \
         "quantized::" name "_unpack(" PACKED_CONV(k) " packed_weights) -> (Tensor, Tensor?)", \
         .layout = LAYOUT_OWN_ORDER)
#define PART(what, name, k, type)                  \
    CALL_FAMILY(lower_conv_part, what, NULL, BOTH, \
                "quantized::" name "(" PACKED_CONV(k) " packed_weights) -> " type)
#define PARTS(name, k)                                        \
    PART(STRIDE, name "_stride", k, "int[]");                 \
    PART(PADDING, name "_padding", k, "int[]");               \
    PART(DILATION, name "_dilation", k, "int[]");             \
    PART(OUTPUT_PADDING, name "_output_padding", k, "int[]"); \
    PART(GROUPS, name "_groups", k, "int");                   \
    PART(IS_TRANSPOSED, name "_transpose", k, "int")

#define PACKED_LINEAR "__torch__.torch.classes.quantized.LinearPackedParamsBase"
#define LINEAR(fn, act, line)                                                           \
    OP_ROW(.kind = ROW_CALL, .schema = "quantized::" line, .kinds = BOTH, .call = (fn), \
           .text = (act))
#define LINEAR_FLOAT(fn, act, name, more)                                                    \
    OP_ROW(.kind = ROW_LOWER, .schema = "quantized::" name "(Tensor X, " more ") -> Tensor", \
           .kinds = BOTH, .lower = (fn), .text = (act))
#define STATIC(name, act, more)                                                                    \
    LINEAR(lower_quantized_linear, act,                                                            \
           name "(Tensor X, " PACKED_LINEAR " W_prepack, float Y_scale_i, int Y_zero_point_i" more \
                ") -> Tensor")
#define OUTPUT_PAD "int[] output_padding, "

OP_ROWS(quantized_layers)
{
    CONV("conv1d", NULL, "2");
    CONV("conv1d_relu", "Relu", "2");
    CONV("conv2d.new", NULL, "2");
    CONV("conv2d_relu.new", "Relu", "2");
    CONV_BEFORE("conv2d", NULL, "2");
    CONV_BEFORE("conv2d_relu", "Relu", "2");
    CONV("conv3d.new", NULL, "3");
    CONV("conv3d_relu.new", "Relu", "3");
    CONV_BEFORE("conv3d", NULL, "3");
    CONV_BEFORE("conv3d_relu", "Relu", "3");
    CONV("conv_transpose1d", NULL, "2");
    CONV("conv_transpose2d", NULL, "2");
    CONV("conv_transpose3d", NULL, "3");
    CONV_ADD("conv2d_add", NULL);
    CONV_ADD("conv2d_add_relu", "Relu");
    CONV_DYNAMIC("conv1d_dynamic", "2");
    CONV_DYNAMIC("conv2d_dynamic", "2");
    CONV_DYNAMIC("conv3d_dynamic", "3");
    CONV_DYNAMIC("conv_transpose1d_dynamic", "2");
    CONV_DYNAMIC("conv_transpose2d_dynamic", "2");
    CONV_DYNAMIC("conv_transpose3d_dynamic", "3");
    PREPACK(1, "conv1d_prepack", "", "2");
    PREPACK(2, "conv2d_prepack", "", "2");
    PREPACK(2, "conv_prepack", "", "2");
    PREPACK(3, "conv3d_prepack", "", "3");
    PREPACK(11, "conv_transpose1d_prepack", OUTPUT_PAD, "2");
    PREPACK(12, "conv_transpose2d_prepack", OUTPUT_PAD, "2");
    PREPACK(13, "conv_transpose3d_prepack", OUTPUT_PAD, "3");
    UNPACK("conv1d", "2");
    UNPACK("conv2d", "2");
    UNPACK("conv", "2");
    UNPACK("conv3d", "3");
    UNPACK("conv_transpose1d", "2");
    UNPACK("conv_transpose2d", "2");
    UNPACK("conv_transpose3d", "3");
    PARTS("conv2d", "2");
    PARTS("conv3d", "3");
    PARTS("conv_transpose2d", "2");
    PARTS("conv_transpose3d", "3");
    LINEAR(lower_linear_prepack, NULL,
           "linear_prepack(Tensor W, Tensor? B=None) -> " PACKED_LINEAR);
    LINEAR(lower_linear_prepack_fp16, NULL,
           "linear_prepack_fp16(Tensor W, Tensor? B=None) -> " PACKED_LINEAR);
    LINEAR(lower_linear_unpack, NULL,
           "linear_unpack(" PACKED_LINEAR " W_prepack) -> (Tensor, Tensor?)");
    LINEAR(lower_linear_unpack, NULL,
           "linear_unpack_fp16(" PACKED_LINEAR " W_prepack) -> (Tensor, Tensor?)");
    STATIC("linear", NULL, "");
    STATIC("linear_relu", "Relu", "");
    STATIC("linear_tanh", "Tanh", "");
    STATIC("linear_leaky_relu", "LeakyRelu", ", float negative_slope");
    LINEAR_FLOAT(lower_linear_fp16, NULL, "linear_dynamic_fp16", PACKED_LINEAR " W_prepack");
    LINEAR_FLOAT(lower_linear_fp16, "Relu", "linear_relu_dynamic_fp16", PACKED_LINEAR " W_prepack");
    LINEAR_FLOAT(lower_linear_fp16_unpacked, NULL, "linear_dynamic_fp16_unpacked_weight",
                 "Tensor weight, Tensor? bias");
    LINEAR_FLOAT(lower_linear_of_rounded, NULL, "linear_with_input_q_dq_qweight_dq_output_fp32",
                 "float X_scale, int X_zero_point, " PACKED_LINEAR " W_prepack");
    LINEAR_FLOAT(lower_linear_of_rounded, "Relu",
                 "linear_with_input_q_dq_qweight_dq_relu_output_fp32",
                 "float X_scale, int X_zero_point, " PACKED_LINEAR " W_prepack");
}
