/* conv.c - convolutions. Rank is a parameter: conv1d, 2d and 3d, transposed or not, are one
 * function. A weight stays the initializer that it is. An input without a batch axis is given one,
 * and the result loses it. Ints, which ONNX does not convolve, become a product of matrices. */
#include "ops/internal.h"

/* Is parameter `padding` a string, as in conv2d(.., padding="same")? */
static bool padding_is_text(Op *op)
{
    int i = param_named(op->call->schema, "padding");
    return i >= 0 && op->call->schema->param[i].base == A_STR;
}

typedef struct Conv {
    Ox x, weight;
    Ox bias; /* or NULL */
    int n;   /* spatial axes */
    bool transposed;
    int64_t groups, stride[MAX_RANK], dilation[MAX_RANK];
    int64_t pads[2 * MAX_RANK]; /* before each spatial axis, then behind each */
    int64_t extra[MAX_RANK];    /* output_padding */
} Conv;

/* One number per spatial axis; `deflt` where the schema has no such parameter. */
static bool per_axis(Op *op, const char *name, int n, int64_t deflt, int64_t *out)
{
    Ints v = { 0 };
    if (has_param(op, name))
        v = arg_ints_n(op, name, n);
    if (has_param(op, name) && v.n == 0 && !ctx_failed(op->cx))
        return fail(op->cx, E_VALUE,
                    "expected %s to be a single integer value or a list of %d values to match the "
                    "convolution dimensions, but got %s=[]",
                    name, n, name);
    for (int i = 0; i < n; i++)
        out[i] = v.n ? v.at[i] : deflt;
    return !ctx_failed(op->cx);
}

/* How far the last number of a kernel lies from its first. False after an error. */
static bool kernel_reach(Op *op, const Conv *c, int i, int64_t kernel, int64_t *out)
{
    return mul_ok(c->dilation[i], kernel - 1, out) ||
        fail(op->cx, E_LIMIT, "dilation is too large: %lld", (long long)c->dilation[i]);
}

/* padding="same" keeps the size; where the padding is odd, there is one more behind. "valid" is
 * none. False after an error. */
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
            return fail(op->cx, E_VALUE,
                        "padding='same' is not supported for strided convolutions");
        if (!dim_known(ox_dim(c->weight, 2 + i), &k))
            return fail(op->cx, E_UNDECIDED, "padding='same' needs a weight of known size");
        int64_t all;
        if (!kernel_reach(op, c, i, k, &all))
            return false;
        c->pads[i] = all / 2;
        c->pads[c->n + i] = all - all / 2;
    }
    return true;
}

/* Is each of n numbers `least` or more? False after an error in PyTorch's words. */
static bool at_least(Op *op, const int64_t *at, int n, int64_t least, const char *otherwise)
{
    for (int i = 0; i < n; i++)
        if (at[i] < least)
            return fail(op->cx, E_VALUE, "%s", otherwise);
    return true;
}

static bool numbers_fit(Op *op, const Conv *c)
{
    return at_least(op, &c->groups, 1, 1, "non-positive groups is not supported") &&
        at_least(op, c->pads, 2 * c->n, 0, "negative padding is not supported") &&
        at_least(op, c->extra, c->n, 0, "negative output_padding is not supported") &&
        at_least(op, c->stride, c->n, 1, "non-positive stride is not supported") &&
        at_least(op, c->dilation, c->n, 1, "dilation should be greater than zero");
}

/* The numbers of a convolution whose tensors are read already. False after an error. */
static bool conv_numbers(Op *op, Conv *c)
{
    int64_t pads[MAX_RANK];
    if (has_param(op, "groups"))
        c->groups = arg_int(op, "groups");
    if (!per_axis(op, "stride", c->n, 1, c->stride) ||
        !per_axis(op, "dilation", c->n, 1, c->dilation) ||
        !per_axis(op, "output_padding", c->n, 0, c->extra))
        return false;
    if (padding_is_text(op))
        return pads_by_name(op, c) && numbers_fit(op, c);
    if (!per_axis(op, "padding", c->n, 0, pads))
        return false;
    for (int i = 0; i < c->n; i++) {
        c->pads[i] = pads[i];
        c->pads[c->n + i] = pads[i];
    }
    return numbers_fit(op, c);
}

/* Is the bias, where there is one, a number for each channel of the result? False after PyTorch's
 * error. */
static bool bias_fits(Op *op, const Conv *c)
{
    Ctx *cx = op->cx;
    Dim channels = ox_dim(c->weight, 0);
    if (c->transposed)
        channels = dim_mul(cx, ox_dim(c->weight, 1), dim_int(cx, c->groups));
    if (!c->bias || may_have_sizes(op, c->bias, &channels, 1))
        return !ctx_failed(cx);
    return fail(cx, E_VALUE,
                "Given %sweight of size %s, expected bias to be 1-dimensional with %s elements, "
                "but got bias of size %s instead",
                c->transposed ? "transposed=1, " : "", shape_text(op, c->weight)->s,
                dim_text(cx, channels)->s, shape_text(op, c->bias)->s);
}

/* Reads the arguments of any convolution; row->datum: 1 is transposed. False after an error. */
static bool conv_args(Op *op, Conv *c)
{
    int rank, x_rank;
    *c = (Conv){ .x = arg(op, has_param(op, "input") ? "input" : "self"),
                 .weight = arg(op, "weight"),
                 .groups = 1 };
    c->bias = has_param(op, "bias") ? arg_opt(op, "bias") : NULL;
    c->transposed = op->row->datum || (has_param(op, "transposed") && arg_bool(op, "transposed"));
    if (!need_rank(op, c->weight, -1, &rank) || !need_rank(op, c->x, rank, &x_rank))
        return false;
    c->n = rank - 2;
    if (c->n < 1 || (x_rank != rank && x_rank != rank - 1))
        return fail(
            op->cx, E_VALUE,
            "Expected %dD (unbatched) or %dD (batched) input to conv%dd, but got input of size: %s",
            rank - 1, rank, c->n, type_text(op->cx, c->x->type)->s);
    return conv_numbers(op, c) && bias_fits(op, c);
}

static bool any(const int64_t *at, int n)
{
    for (int i = 0; i < n; i++)
        if (at[i])
            return true;
    return false;
}

/* ONNX Runtime takes an output_padding below the stride only. A larger one is taken off the padding
 * that is cut behind, as far as that goes; behind[]: rows that remain, to be padded afterwards. The
 * input does not reach them, so they hold the bias alone. */
static void extra_by_pads(Conv *c, int64_t *behind)
{
    for (int i = 0; i < c->n; i++) {
        int64_t *end = &c->pads[c->n + i];
        behind[i] = 0;
        if (c->extra[i] < c->stride[i])
            continue;
        int64_t shift = c->extra[i] < *end ? c->extra[i] : *end;
        c->extra[i] -= shift;
        *end -= shift;
        if (c->extra[i] < c->stride[i])
            continue;
        behind[i] = c->extra[i];
        c->extra[i] = 0;
    }
}

/* The node Conv or ConvTranspose. */
static Ox conv_emit(Op *op, const Conv *c)
{
    int64_t kernel[MAX_RANK];
    bool known = true;
    size_t n = (size_t)c->n;
    for (int i = 0; i < c->n; i++)
        known &= dim_known(ox_dim(c->weight, 2 + i), &kernel[i]);
    Attr shape = known ? INT_LIST("kernel_shape", kernel, n) : NO_ATTR;
    Attr extra = NO_ATTR;
    if (c->transposed && any(c->extra, c->n))
        extra = INT_LIST("output_padding", c->extra, n);
    return ox_make(
        op->g, c->transposed ? "ConvTranspose" : "Conv", INPUTS(c->x, c->weight, c->bias),
        ATTRS(INT_LIST("dilations", c->dilation, n), INT("group", c->groups), shape, extra,
              INT_LIST("pads", c->pads, 2 * n), INT_LIST("strides", c->stride, n)));
}

static Ox plus_bias(Op *op, const Conv *c, Ox y)
{
    Dim dims[MAX_RANK];
    if (!c->bias || !ox_ok(y))
        return y;
    for (int i = 0; i < c->n + 1; i++)
        dims[i] = i ? dim_int(op->cx, 1) : ox_dim(y, 1);
    return ox(op, "Add", y, reshape_to(op, c->bias, dims, c->n + 1));
}

/* ConvTranspose, with a Pad and then the bias where the output_padding is too large for it. */
static Ox conv_transpose(Op *op, Conv c)
{
    int64_t behind[MAX_RANK] = { 0 };
    int64_t pads[2 * MAX_RANK] = { 0 };
    extra_by_pads(&c, behind);
    if (!any(behind, c.n))
        return conv_emit(op, &c);
    Conv plain = c;
    plain.bias = NULL;
    for (int i = 0; i < c.n; i++)
        pads[c.n + 4 + i] = behind[i];
    Ox y = conv_emit(op, &plain);
    Ox zero = number_like(op, 0, y);
    Ox list = ox_ints(op->g, pads, 2 * (size_t)(c.n + 2));
    return plus_bias(op, &c, ox(op, "Pad", y, list, zero));
}

/* ---- by windows: a product of matrices, which wraps as PyTorch's does, for ints ---- */

/* c->x with stride - 1 zeros after each item of a spatial axis but the last:
 * a b c -> a 0 b 0 c for stride 2. */
static void zeros_between(Op *op, Conv *c, int axis)
{
    int64_t step = c->stride[axis - 2];
    int64_t pads[2 * MAX_RANK] = { 0 };
    int rank = c->n + 2;
    Dim dims[MAX_RANK];
    if (step == 1 || !ox_ok(c->x))
        return;
    for (int d = 0; d < rank; d++)
        dims[d] = d == axis ? dim_mul(op->cx, ox_dim(c->x, d), dim_int(op->cx, step))
                            : ox_dim(c->x, d);
    pads[rank + 1 + axis + 1] = step - 1;
    Ox zero = number_like(op, 0, c->x);
    Ox apart = unsqueeze_axis(op, c->x, axis + 1);
    Ox list = ox_ints(op->g, pads, 2 * (size_t)(rank + 1));
    Ox wide = reshape_to(op, ox(op, "Pad", apart, list, zero), dims, rank);
    Dim end = dim_sub(op->cx, dims[axis], dim_int(op->cx, step - 1));
    c->x = slice_axis(op, wide, axis, dim_int(op->cx, 0), end, 1);
}

/* The weight read backwards along its spatial axes. */
static Ox backwards(Op *op, const Conv *c)
{
    int64_t last[MAX_RANK], stop[MAX_RANK], axes[MAX_RANK];
    size_t n = (size_t)c->n;
    for (int i = 0; i < c->n; i++) {
        last[i] = -1;
        stop[i] = INT64_MIN;
        axes[i] = 2 + i;
    }
    Ox from = ox_ints(op->g, last, n);
    Ox to = ox_ints(op->g, stop, n);
    Ox at = ox_ints(op->g, axes, n);
    return ox(op, "Slice", c->weight, from, to, at, from);
}

/* `channels` divided into c's groups; false and an error where they do not divide. */
static bool divide_channels(Op *op, const Conv *c, Dim channels, Dim *each)
{
    if (dim_divide(op->cx, channels, dim_int(op->cx, c->groups), each))
        return true;
    return fail(op->cx, E_VALUE, "the channels do not divide into %lld groups",
                (long long)c->groups);
}

/* The weight of a transposed convolution, [C, M / groups, ..], as that of a plain one,
 * [M, C / groups, ..], and read backwards along its spatial axes. */
static Ox turned_weight(Op *op, const Conv *c)
{
    Ctx *cx = op->cx;
    int rank = c->n + 2;
    Dim each;
    Ox w = backwards(op, c);
    if (!ox_ok(w) || !divide_channels(op, c, ox_dim(w, 0), &each))
        return POISON;
    Dim groups = dim_int(cx, c->groups);
    Dim apart[MAX_RANK] = { groups, each, ox_dim(w, 1) };
    Dim whole[MAX_RANK] = { dim_mul(cx, groups, ox_dim(w, 1)), each };
    int perm[MAX_RANK] = { 0, 2, 1 };
    for (int i = 2; i < rank; i++) {
        apart[i + 1] = ox_dim(w, i);
        whole[i] = ox_dim(w, i);
        perm[i + 1] = i + 1;
    }
    Ox split = reshape_to(op, w, apart, rank + 1);
    Ox turned = permute_to(op, split, perm, rank + 1);
    return reshape_to(op, turned, whole, rank);
}

/* The size of the kernel along spatial axis i. False after a refusal: it must be known. */
static bool kernel_size(Op *op, const Conv *c, int i, int64_t *out)
{
    if (dim_known(ox_dim(c->weight, 2 + i), out))
        return true;
    op_refuse(op, "%s with a kernel whose size is not known", dtype_name(ox_dtype(c->x)));
    return false;
}

/* A transposed convolution of x becomes a plain one of x with zeros between its items, with the
 * turned weight. False after an error or refusal. */
static bool untransposed(Op *op, Conv *c)
{
    int64_t kernel;
    for (int i = 0; i < c->n; i++) {
        if (!kernel_size(op, c, i, &kernel))
            return false;
        zeros_between(op, c, 2 + i);
        int64_t reach;
        int64_t *end = &c->pads[c->n + i];
        if (!kernel_reach(op, c, i, kernel, &reach))
            return false;
        if (!sub_ok(reach, c->pads[i], &c->pads[i]) || !sub_ok(reach, *end, end) ||
            !add_ok(*end, c->extra[i], end))
            return fail(op->cx, E_LIMIT, "the padding is too large");
        c->stride[i] = 1;
    }
    c->weight = turned_weight(op, c);
    c->transposed = false;
    return ox_ok(c->weight) && ox_ok(c->x);
}

/* c->x with zeros around its spatial axes, as the padding says. */
static Ox padded(Op *op, const Conv *c)
{
    int rank = c->n + 2;
    int64_t pads[2 * MAX_RANK] = { 0 };
    Ox zero = number_like(op, 0, c->x);
    for (int i = 0; i < c->n; i++) {
        pads[2 + i] = c->pads[i];
        pads[rank + 2 + i] = c->pads[c->n + i];
    }
    if (!any(pads, 2 * rank))
        return c->x;
    return ox(op, "Pad", c->x, ox_ints(op->g, pads, 2 * (size_t)rank), zero);
}

/* For 2-D: the windows of x as [N, C, kh, rows, kw, columns], then as a matrix
 * [N, groups, C / groups * kh * kw, rows * columns], which the weight [groups, M / groups, ..] is
 * multiplied with. */
static Ox conv_by_windows(Op *op, Conv *c)
{
    Ctx *cx = op->cx;
    int rank = c->n + 2;
    int perm[2 * MAX_RANK] = { 0, 1 };
    int64_t kernel;
    if (rank > MAX_RANK / 2 || (c->transposed && !untransposed(op, c)))
        return POISON;
    Ox x = padded(op, c);
    Dim out[MAX_RANK] = { ox_dim(c->x, 0), ox_dim(c->weight, 0) };
    Dim taps = ox_dim(c->weight, 1);
    Dim area = dim_int(cx, 1);
    Dim g = dim_int(cx, c->groups);
    Dim each;
    for (int i = 0; i < c->n && ox_ok(x); i++) {
        if (!kernel_size(op, c, i, &kernel))
            return POISON;
        int64_t reach;
        if (!kernel_reach(op, c, i, kernel, &reach))
            return POISON;
        Dim room = dim_sub(cx, ox_dim(x, 2 + 2 * i),
                           dim_add(cx, dim_int(cx, reach), dim_int(cx, 1)));
        out[2 + i] = dim_add(cx, dim_floordiv(cx, room, dim_int(cx, c->stride[i])), dim_int(cx, 1));
        x = windows_along(op, x, 2 + 2 * i,
                          (Windows1d){ kernel, c->dilation[i], c->stride[i], out[2 + i] });
        perm[2 + i] = 2 + 2 * i;
        perm[2 + c->n + i] = 3 + 2 * i;
        taps = dim_mul(cx, taps, dim_int(cx, kernel));
        area = dim_mul(cx, area, out[2 + i]);
    }
    if (!ox_ok(x) || !divide_channels(op, c, out[1], &each))
        return POISON;
    Ox turned = permute_to(op, x, perm, 2 + 2 * c->n);
    Ox columns = reshape_to(op, turned, (const Dim[]){ out[0], g, taps, area }, 4);
    Ox rows = reshape_to(op, c->weight, (const Dim[]){ g, each, taps }, 3);
    return plus_bias(op, c, reshape_to(op, ox(op, "MatMul", rows, columns), out, rank));
}

/* The sizes of x's spatial axes, "3 x 3". */
static Str spatial_text(Op *op, Ox x, int n)
{
    Buf b = buf_new(op->cx);
    for (int i = 0; i < n; i++)
        buf_fmt(&b, "%s%s", i ? " x " : "", dim_text(op->cx, ox_dim(x, 2 + i))->s);
    return buf_done(&b);
}

/* y, the result of a transposed convolution; an error where nothing of it is left. */
static Ox with_sizes(Op *op, Ox x, Ox y, int n)
{
    int64_t size;
    for (int i = 0; ox_ok(y) && i < n; i++)
        if (dim_known(ox_dim(y, 2 + i), &size) && size < 1)
            return op_fail(op, E_VALUE,
                           "Given input size per channel: (%s). Calculated output size per "
                           "channel: (%s). Output size is too small",
                           spatial_text(op, x, n)->s, spatial_text(op, y, n)->s);
    return y;
}

static Ox convolved(Op *op, Conv *c)
{
    Ox x = c->x;
    bool transposed = c->transposed;
    Ox y;
    if (needs_windows(op, c->x))
        y = conv_by_windows(op, c);
    else
        y = c->transposed ? conv_transpose(op, *c) : conv_emit(op, c);
    return transposed ? with_sizes(op, x, y, c->n) : y;
}

static Ox lower_conv(Op *op)
{
    Conv c;
    if (!conv_args(op, &c))
        return POISON;
    bool alone = ox_rank(c.x) == c.n + 1;
    if (alone)
        c.x = unsqueeze_axis(op, c.x, 0);
    Ox out = convolved(op, &c);
    Ox axes = ints(op, 0);
    return alone ? ox(op, "Squeeze", out, axes) : out;
}

/* conv_tbc: x [time, batch, in], weight [kernel, in, out] */
static Ox lower_conv_tbc(Op *op)
{
    Conv c = { .x = arg(op, "self"),
               .weight = arg(op, "weight"),
               .bias = arg(op, "bias"),
               .n = 1,
               .groups = 1,
               .stride = { 1 },
               .dilation = { 1 } };
    c.pads[0] = c.pads[1] = arg_int(op, "pad");
    c.x = permute_to(op, c.x, (const int[]){ 1, 2, 0 }, 3);
    c.weight = permute_to(op, c.weight, (const int[]){ 2, 1, 0 }, 3);
    if (!ox_ok(c.x) || !ox_ok(c.weight) || ctx_failed(op->cx))
        return POISON;
    return permute_to(op, convolved(op, &c), (const int[]){ 2, 0, 1 }, 3);
}

#define CONV(line)       LOWER(lower_conv, NULL, PLAIN, line)
#define TRANSPOSED(line) FAMILY(lower_conv, 1, NULL, PLAIN, line)

OP_ROWS(conv)
{
    CONV("aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], "
         "SymInt[1] padding=[0], SymInt[1] dilation=[1], SymInt groups=1) -> Tensor");
    OLDER("aten::conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] "
          "stride=[1], str padding=\"valid\", SymInt[1] dilation=[1], SymInt groups=1) -> Tensor");
    CONV("aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], "
         "SymInt[2] padding=[0, 0], SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor");
    OLDER(
        "aten::conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, "
        "1], str padding=\"valid\", SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor");
    CONV("aten::conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], "
         "SymInt[3] padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor");
    OLDER(
        "aten::conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, "
        "1, 1], str padding=\"valid\", SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor");
    CONV("aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] "
         "padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> "
         "Tensor");
    CONV("aten::_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] "
         "padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, "
         "bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor");
    OLDER("aten::_convolution.deprecated(Tensor input, Tensor weight, Tensor? bias, SymInt[] "
          "stride, SymInt[] padding, SymInt[] dilation, bool transposed, int[] output_padding, "
          "SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled) -> Tensor");
    CONV("aten::_convolution_mode(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, str "
         "padding, SymInt[] dilation, SymInt groups) -> Tensor");
    CONV("aten::mkldnn_convolution(Tensor self, Tensor weight, Tensor? bias, SymInt[] padding, "
         "SymInt[] stride, SymInt[] dilation, SymInt groups) -> Tensor");
    CONV("aten::thnn_conv2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias=None, "
         "SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0]) -> Tensor");
    CONV("aten::slow_conv3d(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? bias=None, "
         "SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0]) -> Tensor");
    CONV("aten::slow_conv_dilated2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? "
         "bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] dilation=[1, 1]) "
         "-> Tensor");
    CONV("aten::slow_conv_dilated3d(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? "
         "bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] "
         "dilation=[1, 1, 1]) -> Tensor");
    TRANSPOSED("aten::conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] "
               "stride=[1], SymInt[1] padding=[0], SymInt[1] output_padding=[0], SymInt groups=1, "
               "SymInt[1] dilation=[1]) -> Tensor");
    TRANSPOSED("aten::conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, "
               "SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] output_padding=[0, "
               "0], SymInt groups=1, SymInt[2] dilation=[1, 1]) -> Tensor");
    TRANSPOSED(
        "aten::conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] "
        "stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] output_padding=[0, 0, 0], SymInt "
        "groups=1, SymInt[3] dilation=[1, 1, 1]) -> Tensor");
    TRANSPOSED("aten::slow_conv_transpose2d(Tensor self, Tensor weight, SymInt[2] kernel_size, "
               "Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] "
               "output_padding=[0, 0], SymInt[2] dilation=[1, 1]) -> Tensor");
    TRANSPOSED("aten::slow_conv_transpose3d(Tensor self, Tensor weight, SymInt[3] kernel_size, "
               "Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], "
               "SymInt[3] output_padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1]) -> Tensor");
    LOWER(lower_conv_tbc, NULL, PLAIN,
          "aten::conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor");
}
