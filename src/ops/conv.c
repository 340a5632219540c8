/* conv.c - convolutions. Rank is a parameter: conv1d, 2d and 3d, transposed or not, are one function. A weight stays the
 * initializer that it is. An input without a batch axis gets one for the while. */
#include "ops/internal.h"

/* conv2d(.., padding="same") */
static bool padding_is_text(Op *op)
{
    int i = param_index(op->call->schema, str_of(op->cx, "padding"));
    return i >= 0 && op->call->schema->param[i].base == A_STR;
}

typedef struct Conv {
    Ox x, weight, bias;
    int n;                                      /* spatial axes */
    bool transposed;
    int64_t groups, stride[MAX_RANK], dilation[MAX_RANK], pads[2 * MAX_RANK], extra[MAX_RANK];
} Conv;

/* One number per spatial axis; `deflt` where the schema has no such parameter. */
static bool per_axis(Op *op, const char *name, int n, int64_t deflt, int64_t *out)
{
    Ints v = { 0 };
    if (has_param(op, name))
        v = arg_ints_n(op, name, n);
    for (int i = 0; i < n; i++)
        out[i] = v.n ? v.at[i] : deflt;
    return !ctx_failed(op->cx);
}

/* "same": what keeps the size, the odd one behind. */
static bool pads_by_name(Op *op, Conv *c)
{
    Str mode = arg_str(op, "padding");
    if (ctx_failed(op->cx) || str_is(mode, "valid"))
        return !ctx_failed(op->cx);
    if (!str_is(mode, "same"))
        return fail(op->cx, E_VALUE, "Invalid padding string: '%s'", mode ? mode->s : "None");
    for (int i = 0; i < c->n; i++) {
        int64_t k;
        if (c->stride[i] != 1)
            return fail(op->cx, E_VALUE, "padding='same' is not supported for strided convolutions");
        if (!dim_known(ox_dim(c->weight, 2 + i), &k))
            return fail(op->cx, E_UNDECIDED, "padding='same' needs a weight of known size");
        int64_t all = c->dilation[i] * (k - 1);
        c->pads[i] = all / 2;
        c->pads[c->n + i] = all - all / 2;
    }
    return true;
}

static bool conv_args(Op *op, Conv *c)
{
    int64_t pads[MAX_RANK];
    int rank, x_rank;
    *c = (Conv){ .x = arg(op, has_param(op, "input") ? "input" : "self"), .weight = arg(op, "weight"), .groups = 1 };
    c->bias = has_param(op, "bias") ? arg_opt(op, "bias") : NULL;
    c->transposed = op->row->datum || (has_param(op, "transposed") && arg_bool(op, "transposed"));
    if (!need_rank(op, c->weight, -1, &rank) || !need_rank(op, c->x, rank, &x_rank))
        return false;
    c->n = rank - 2;
    if (c->n < 1 || (x_rank != rank && x_rank != rank - 1))
        return fail(op->cx, E_VALUE, "Expected %dD (unbatched) or %dD (batched) input to conv%dd, but got input of size: %s", rank - 1, rank,
                    c->n, type_text(op->cx, c->x->type)->s);
    if (has_param(op, "groups"))
        c->groups = arg_int(op, "groups");
    if (!per_axis(op, "stride", c->n, 1, c->stride) || !per_axis(op, "dilation", c->n, 1, c->dilation) ||
        !per_axis(op, "output_padding", c->n, 0, c->extra))
        return false;
    if (padding_is_text(op))
        return pads_by_name(op, c);
    if (!per_axis(op, "padding", c->n, 0, pads))
        return false;
    for (int i = 0; i < c->n; i++)
        c->pads[i] = c->pads[c->n + i] = pads[i];
    return true;
}

static bool any(const int64_t *at, int n)
{
    for (int i = 0; i < n; i++)
        if (at[i])
            return true;
    return false;
}

/* An extra row at the end is one less that padding cuts there. ONNX Runtime takes fewer extra rows than a stride has. */
static void extra_by_pads(Conv *c)
{
    for (int i = 0; i < c->n; i++) {
        int64_t *end = &c->pads[c->n + i], shift = c->extra[i] < c->stride[i] ? 0 : c->extra[i] < *end ? c->extra[i] : *end;
        c->extra[i] -= shift;
        *end -= shift;
    }
}

static Ox conv_emit(Op *op, const Conv *c)
{
    int64_t kernel[MAX_RANK];
    bool known = true;
    size_t n = (size_t)c->n;
    for (int i = 0; i < c->n; i++)
        known &= dim_known(ox_dim(c->weight, 2 + i), &kernel[i]);
    Attr shape = known ? INT_LIST("kernel_shape", kernel, n) : NO_ATTR;
    Attr extra = c->transposed && any(c->extra, c->n) ? INT_LIST("output_padding", c->extra, n) : NO_ATTR;
    return ox_make(op->g, c->transposed ? "ConvTranspose" : "Conv", INPUTS(c->x, c->weight, c->bias),
                   ATTRS(INT_LIST("dilations", c->dilation, n), INT("group", c->groups), shape, extra, INT_LIST("pads", c->pads, 2 * n),
                         INT_LIST("strides", c->stride, n)));
}

static Ox lower_conv(Op *op)
{
    Conv c;
    if (!conv_args(op, &c))
        return POISON;
    bool alone = ox_rank(c.x) == c.n + 1;
    if (alone)
        c.x = unsqueeze_axis(op, c.x, 0);
    if (c.transposed)
        extra_by_pads(&c);
    Ox out = conv_emit(op, &c), axes = ints(op, 0);
    return alone ? ox(op, "Squeeze", out, axes) : out;
}

/* conv_tbc: x [time, batch, in], weight [kernel, in, out] */
static Ox lower_conv_tbc(Op *op)
{
    Conv c = { .x = arg(op, "self"), .weight = arg(op, "weight"), .bias = arg(op, "bias"), .n = 1, .groups = 1, .stride = { 1 }, .dilation = { 1 } };
    c.pads[0] = c.pads[1] = arg_int(op, "pad");
    c.x = permute_to(op, c.x, (const int[]){ 1, 2, 0 }, 3);
    c.weight = permute_to(op, c.weight, (const int[]){ 2, 1, 0 }, 3);
    if (!ox_ok(c.x) || !ox_ok(c.weight) || ctx_failed(op->cx))
        return POISON;
    return permute_to(op, conv_emit(op, &c), (const int[]){ 2, 0, 1 }, 3);
}

#define CONV(line) LOWER(lower_conv, NULL, PLAIN, line)
#define TRANSPOSED(line) FAMILY(lower_conv, 1, NULL, PLAIN, line)

const OpRow ops_conv[] = {
    CONV("aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0], SymInt[1] dilation=[1], SymInt groups=1) -> Tensor"),
    OLDER("aten::conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], str padding=\"valid\", SymInt[1] dilation=[1], SymInt groups=1) -> Tensor"),
    CONV("aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor"),
    OLDER("aten::conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], str padding=\"valid\", SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor"),
    CONV("aten::conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor"),
    OLDER("aten::conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], str padding=\"valid\", SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor"),
    CONV("aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor"),
    CONV("aten::_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor"),
    OLDER("aten::_convolution.deprecated(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, int[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled) -> Tensor"),
    CONV("aten::_convolution_mode(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, str padding, SymInt[] dilation, SymInt groups) -> Tensor"),
    CONV("aten::mkldnn_convolution(Tensor self, Tensor weight, Tensor? bias, SymInt[] padding, SymInt[] stride, SymInt[] dilation, SymInt groups) -> Tensor"),
    CONV("aten::thnn_conv2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0]) -> Tensor"),
    CONV("aten::slow_conv3d(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0]) -> Tensor"),
    CONV("aten::slow_conv_dilated2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] dilation=[1, 1]) -> Tensor"),
    CONV("aten::slow_conv_dilated3d(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1]) -> Tensor"),
    TRANSPOSED("aten::conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0], SymInt[1] output_padding=[0], SymInt groups=1, SymInt[1] dilation=[1]) -> Tensor"),
    TRANSPOSED("aten::conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] output_padding=[0, 0], SymInt groups=1, SymInt[2] dilation=[1, 1]) -> Tensor"),
    TRANSPOSED("aten::conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] output_padding=[0, 0, 0], SymInt groups=1, SymInt[3] dilation=[1, 1, 1]) -> Tensor"),
    TRANSPOSED("aten::slow_conv_transpose2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] output_padding=[0, 0], SymInt[2] dilation=[1, 1]) -> Tensor"),
    TRANSPOSED("aten::slow_conv_transpose3d(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] output_padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1]) -> Tensor"),
    LOWER(lower_conv_tbc, NULL, PLAIN, "aten::conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor"),
    OPS_END
};
