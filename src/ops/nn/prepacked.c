/* prepacked.c - layers as optimize_for_mobile leaves them: weights, sizes and bounds in an object
 * of XNNPACK, which the archive holds as the tuple of the arguments that made it. The layer is
 * aten's, and Clip where the result is bounded.
 *
 * Contexts of other phones' backends (Metal, Vulkan) hold weights in a layout of their own and are
 * refused; so are models that optimize_for_inference has changed, whose weights are not in the
 * file. */
#include "ops/quantized/quantized.h"

/* row->datum of a row that runs a context: how many of its items are the layer's arguments; the two
 * behind them are bounds. */
enum { LINEAR = 2, CONV = 6, TRANSPOSED = 7 };

/* y cut off at these bounds, each of which may be None. */
static Ox clamped(Op *op, Ox y, Value low, Value high)
{
    if (low.tag == V_NONE && high.tag == V_NONE)
        return y;
    const Value args[] = { val_tensor(op->cx, y), low, high };
    return call_ox(op, "aten::clamp", args, 3);
}

/* The convolution of argument X with a context's items: weight, bias, stride, padding, then
 * output_padding if it is transposed, dilation, groups. */
static Ox run_conv(Op *op, const Value *item, bool transposed)
{
    const Value none[] = { val_int(0), val_int(0) };
    const Value *rest = item + (transposed ? 5 : 4);
    Value output_padding = transposed ? item[4] : val_list(op->cx, none, 2, "int");
    const Value args[] = { arg_value(op, "X"),   item[0],        item[1], item[2], item[3], rest[0],
                           val_bool(transposed), output_padding, rest[1] };
    return call_ox(op, "aten::convolution", args, COUNT(args));
}

static Ox lower_run(Op *op)
{
    Value state = packed_state(op, "W_prepack");
    int64_t n = op->row->datum;
    if (state.tag != V_TUPLE || state.tuple->n != n + 2)
        return op_refuse(op, "a context of a form that is not known");
    const Value *item = state.tuple->at;
    const Value linear[] = { arg_value(op, "X"), item[0], item[1] };
    Ox y = n == LINEAR ? call_ox(op, "aten::linear", linear, 3)
                       : run_conv(op, item, n == TRANSPOSED);
    return ox_ok(y) ? clamped(op, y, item[n], item[n + 1]) : POISON;
}

/* A context that the model makes itself: the same tuple. */
static Value lower_prepack(Op *op)
{
    return val_tuple(op->cx, op->call->arg, op->call->schema->n_param);
}

/* optimize_for_inference puts weights into oneDNN's own tensors, and saving loses them. That is the
 * one error of such a file: others would only hide it. */
static Value lower_lost_weights(Op *op)
{
    fail(op->cx, E_UNSUPPORTED,
         "the model was saved after optimize_for_inference: its weights are not in the file");
    fail_hint(op->cx, "save it before it is optimised; PyTorch cannot load this file either");
    return val_poison();
}

/* Into oneDNN's layout and back: ONNX has a single layout. */
static Ox lower_layout(Op *op)
{
    Ox x = arg(op, "self");
    return ox_cast(op->g, x, arg_dtype(op, "dtype", ox_dtype(x)));
}

/* aten::convolution, not transposed, of as many spatial axes as the input has. */
static Ox lower_mkldnn_convolution(Op *op)
{
    const Value *a = op->call->arg;
    const Value none[] = { val_int(0), val_int(0), val_int(0) };
    Ox x = arg(op, "input");
    int rank;
    if (!need_rank(op, x, 4, &rank))
        return POISON;
    Value no_extra = val_list(op->cx, none, rank > 4 ? 3 : 2, "int");
    const Value args[] = { a[0], a[1], a[2], a[3], a[4], a[5], val_bool(false), no_extra, a[6] };
    return call_ox(op, "aten::convolution", args, COUNT(args));
}

#define CONTEXT(name) "__torch__.torch.classes.xnnpack." name "OpContext"
#define RUN(n, name, context)         \
    FAMILY(lower_run, n, NULL, PLAIN, \
           "prepacked::" name "(Tensor X, " CONTEXT(context) " W_prepack) -> Tensor")
#define BOUNDS "Scalar? output_min=None, Scalar? output_max=None) -> "
#define PREPACK(name, args, context) \
    CALL(lower_prepack, NULL, PLAIN, \
         "prepacked::" name "(Tensor W, Tensor? B" args BOUNDS CONTEXT(context))
#define OTHER(name, type)                                                                         \
    REFUSE("the model was optimised for " name                                                    \
           ", whose contexts hold weights in a layout of their own: convert it as it was before " \
           "optimize_for_mobile",                                                                 \
           type)

OP_ROWS(prepacked)
{
    RUN(LINEAR, "linear_clamp_run", "Linear");
    RUN(CONV, "conv2d_clamp_run", "Conv2d");
    RUN(TRANSPOSED, "conv2d_transpose_clamp_run", "TransposeConv2d");
    PREPACK("linear_clamp_prepack", "=None, ", "Linear");
    PREPACK("conv2d_clamp_prepack",
            ", int[2] stride, int[2] padding, int[2] dilation, int groups, ", "Conv2d");
    PREPACK("conv2d_transpose_clamp_prepack",
            ", int[2] stride, int[2] padding, int[2] output_padding, int[2] dilation, int groups, ",
            "TransposeConv2d");
    OTHER("Metal", "metal_prepack::conv2d_run(Tensor X, Any W_prepack) -> Tensor");
    OTHER("Metal", "metal_prepack::linear_run(Tensor X, Any W_prepack) -> Tensor");
    OTHER("Vulkan", "vulkan_prepack::run_conv2d_context(Tensor X, Any W_prepack) -> Tensor");
    OTHER("Vulkan", "vulkan_prepack::run_linear_context(Tensor X, Any W_prepack) -> Tensor");
    OTHER("Vulkan", "vulkan_prepack::run_tconv2d_context(Tensor X, Any W_prepack) -> Tensor");
    CALL(lower_lost_weights, NULL, PLAIN, "prim::ConstantMKLDNNTensor() -> Tensor");
    LOWER(lower_mkldnn_convolution, NULL, PLAIN,
          "prim::mkldnn_convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] "
          "padding, int[] dilation, int groups) -> Tensor");
    REFUSE("its result is laid out for a kernel of one CPU; weights of 4 bits are written by "
           "quantize_per_channel_group",
           "aten::_convert_weight_to_int4pack_for_cpu(Tensor self, int innerKTiles) -> Tensor");
    LOWER(lower_layout, NULL, PLAIN,
          "aten::to_mkldnn(Tensor self, ScalarType? dtype=None) -> Tensor");
    ITSELF(
        lower_layout, 0, PLAIN,
        "aten::to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor");
}
