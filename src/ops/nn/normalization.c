/* normalization.c - normalisation layers and dropout.
 * Batch norm in training mode is refused where it would update the running statistics of the saved
 * model, unless that mode was asked for: nearly always eval() was forgotten. Statistics that are
 * values of the program are updated. Dropout that is on draws random numbers in ONNX too. */
#include "ops/internal.h"

#include <math.h>

/* ---- parameters ---- */

/* p, or a constant of `dims` filled with v when there is none. */
static Ox param_or(Op *op, Ox p, double v, DType t, const Dim *dims, int n)
{
    if (p)
        return p;
    return expand_dims(op, ox_number(op->g, t, v), dims, n);
}

/* x in the type of parameter p: half-precision input beside float32 parameters is normalised in
 * float32, and the result rounded back. */
static Ox to_type_of(Op *op, Ox x, Ox p)
{
    return p && ox_ok(p) ? ox_cast(op->g, x, ox_dtype(p)) : x;
}

static Ox back_to(Op *op, Ox y, DType t) { return ox_cast(op->g, y, t); }

/* An empty tensor, as PyTorch gives it for a result that it has not computed. */
static Ox empty_of(Op *op, DType t)
{
    return ox_const(op->g, const_make(op->cx, t, 1, (const int64_t[]){ 0 }, NULL));
}

/* 1 / sqrt(v + eps) */
static Ox inverse_root(Op *op, Ox v, double eps)
{
    Ox e = number_like(op, eps, v);
    Ox sum = ox(op, "Add", v, e);
    Ox root = ox(op, "Sqrt", sum);
    return ox(op, "Reciprocal", root);
}

/* Mean and variance over some axes, in the type in which PyTorch computes; the variance is divided
 * by n, not n - 1. */
static void moments(Op *op, Ox x, Ox axes, bool keep, Ox *mean, Ox *var)
{
    x = widened(op, x);
    Ox middle = ox_with(op, "ReduceMean", INPUTS(x, axes), INT("keepdims", 1));
    Ox away = ox(op, "Sub", x, middle);
    Ox square = ox(op, "Mul", away, away);
    *mean = keep ? middle : ox_with(op, "ReduceMean", INPUTS(x, axes), INT("keepdims", 0));
    *var = ox_with(op, "ReduceMean", INPUTS(square, axes), INT("keepdims", keep));
}

/* A parameter per channel against x of this rank: [C, 1, 1..]. */
static Ox per_channel(Op *op, Ox p, int rank)
{
    Dim dims[MAX_RANK];
    if (!ox_ok(p) || rank < 3)
        return p;
    dims[0] = ox_dim(p, 0);
    for (int i = 1; i < rank - 1; i++)
        dims[i] = dim_int(op->cx, 1);
    return reshape_to(op, p, dims, rank - 1);
}

/* ---- batch norm ---- */

typedef struct Norm {
    Ox x, weight, bias, mean, var;
    int rank;
    double eps;
    Ox batch_mean, batch_var; /* of the batch, once by_batch_stats has run; axes kept */
} Norm;

/* Reads the arguments that all norms share; the input has rank `least` or more. False after an
 * error. */
static bool norm_args(Op *op, Norm *n, int least)
{
    *n = (Norm){ .x = arg(op, "input"),
                 .weight = arg_opt(op, "weight"),
                 .bias = arg_opt(op, "bias"),
                 .eps = arg_float(op, "eps") };
    if (!need_rank(op, n->x, 4, &n->rank))
        return false;
    if (n->rank < least)
        return fail(op->cx, E_VALUE, "expected at least %dD input (got %dD input)", least, n->rank);
    return true;
}

static Ox by_running_stats(Op *op, Norm *n)
{
    if (!ox_ok(n->mean) || !ox_ok(n->var) || ctx_failed(op->cx))
        return POISON;
    Dim channels = ox_dim(n->x, 1);
    Ox given = n->weight ? n->weight : n->bias;
    DType t = ox_dtype(given ? given : n->mean);
    Ox scale = param_or(op, n->weight, 1, t, &channels, 1);
    Ox shift = param_or(op, n->bias, 0, t, &channels, 1);
    return ox_with(op, "BatchNormalization", INPUTS(n->x, scale, shift, n->mean, n->var),
                   FLOAT("epsilon", n->eps));
}

/* By the statistics of this batch, over every axis but the channels'. */
static Ox by_batch_stats(Op *op, Norm *n)
{
    int64_t at[MAX_RANK];
    Ox mean, var;
    Ox x = widened(op, to_type_of(op, n->x, n->weight));
    size_t count = 0;
    for (int i = 0; i < n->rank; i++)
        if (i != 1)
            at[count++] = i;
    moments(op, x, ox_ints(op->g, at, count), true, &mean, &var);
    n->batch_mean = mean;
    n->batch_var = var;
    Ox away = ox(op, "Sub", x, mean);
    Ox by = inverse_root(op, var, n->eps);
    Ox y = ox(op, "Mul", away, by);
    if (n->weight) {
        Ox w = per_channel(op, n->weight, n->rank);
        y = ox(op, "Mul", y, widened(op, w));
    }
    if (n->bias) {
        Ox b = per_channel(op, n->bias, n->rank);
        y = ox(op, "Add", y, widened(op, b));
    }
    return back_to(op, y, ox_dtype(n->x));
}

/* v, [1, C, 1..], as [C]. */
static Ox of_channels(Op *op, Ox v, Norm *n)
{
    Dim channels = ox_dim(n->x, 1);
    return reshape_to(op, v, &channels, 1);
}

/* (1 - m) old + m new */
static Ox moved(Op *op, Ox old, Ox fresh, double m)
{
    if (!ox_ok(old) || !ox_ok(fresh))
        return POISON;
    fresh = ox_cast(op->g, fresh, ox_dtype(old));
    Ox kept = ox(op, "Mul", old, number_like(op, 1 - m, old));
    Ox added = ox(op, "Mul", fresh, number_like(op, m, old));
    return ox(op, "Add", kept, added);
}

/* -> out: the running mean and variance after a batch of `count` numbers a channel. The running
 * variance is that of a sample: times n / (n - 1). */
static void moved_stats(Op *op, const Norm *n, Ox mean, Ox var, Dim count, Ox out[2])
{
    double m = arg_float(op, "momentum");
    Ox all = ox_dim_value(op->g, count);
    Ox less = ox_dim_value(op->g, dim_sub(op->cx, count, dim_int(op->cx, 1)));
    DType t = ox_ok(var) ? ox_dtype(var) : DT_FLOAT;
    Ox n_all = ox_cast(op->g, all, t);
    Ox n_less = ox_cast(op->g, less, t);
    Ox factor = ox(op, "Div", n_all, n_less);
    Ox sample = ox(op, "Mul", var, factor);
    out[0] = moved(op, n->mean, mean, m);
    out[1] = moved(op, n->var, sample, m);
}

static void moved_by_batch(Op *op, Norm *n, Ox out[2])
{
    Dim count = ox_dim(n->x, 0);
    for (int i = 2; i < n->rank; i++)
        count = dim_mul(op->cx, count, ox_dim(n->x, i));
    Ox mean = of_channels(op, n->batch_mean, n);
    Ox var = of_channels(op, n->batch_var, n);
    moved_stats(op, n, mean, var, count, out);
}

/* Writes the running statistics to their tensors. False after an error, or a refusal: they are the
 * saved model's, whose training mode was not asked for. */
static bool write_stats(Op *op, const Ox stats[2])
{
    Tensor *mean = arg_tensor(op, "running_mean");
    Tensor *var = arg_tensor(op, "running_var");
    if (!mean || !var || ((mean->st->state || var->st->state) && !training_is_meant(op->cx))) {
        op_refuse(op,
                  "it is in training mode and would update its running statistics; save the "
                  "model after model.eval()");
        return false;
    }
    return ox_ok(stats[0]) && ox_ok(stats[1]) && tensor_write(op->g, mean, stats[0]) &&
        tensor_write(op->g, var, stats[1]);
}

/* batch: by the batch's statistics, else by the running ones. */
static Ox batch_norm(Op *op, Norm *n, bool batch)
{
    if (!batch && !n->mean)
        return op_fail(op, E_VALUE, "running_mean must be defined in evaluation mode");
    return batch ? by_batch_stats(op, n) : by_running_stats(op, n);
}

/* Is a parameter, where it is given, a vector of a number for each channel? False after PyTorch's
 * error. */
static bool channels_fit(Op *op, const Norm *n, Ox p, const char *name)
{
    Dim channels = ox_dim(n->x, 1);
    if (!p || ox_rank(p) < 0)
        return true;
    if ((ox_dtype(p) == DT_DOUBLE) != (ox_dtype(n->x) == DT_DOUBLE))
        return fail(op->cx, E_VALUE, "mixed dtype (CPU): %s is %s beside an input of %s", name,
                    dtype_name(ox_dtype(p)), dtype_name(ox_dtype(n->x)));
    Dim count = type_numel(op->cx, p->type);
    if (count && surely_differ(op, count, channels))
        return fail(op->cx, E_VALUE, "%s should contain %s elements not %s", name,
                    dim_text(op->cx, channels)->s, dim_text(op->cx, count)->s);
    return ox_rank(p) == 1 || p == n->weight || p == n->bias ||
        fail(op->cx, E_VALUE, "TensorAccessor expected 1 dims but tensor has %d", ox_rank(p));
}

static bool both_or_none(Op *op, const Norm *n)
{
    return !n->mean == !n->var ||
        fail(op->cx, E_VALUE,
             "running_mean and running_var must either both be None or neither be None");
}

static bool batch_norm_args(Op *op, Norm *n)
{
    if (!norm_args(op, n, 2))
        return false;
    n->mean = has_param(op, "running_mean") ? arg_opt(op, "running_mean") : NULL;
    n->var = has_param(op, "running_var") ? arg_opt(op, "running_var") : NULL;
    return !ctx_failed(op->cx) && both_or_none(op, n) &&
        channels_fit(op, n, n->mean, "running_mean") &&
        channels_fit(op, n, n->var, "running_var") && channels_fit(op, n, n->weight, "weight") &&
        channels_fit(op, n, n->bias, "bias");
}

/* Batch norm, which updates the running statistics where it is by the batch's. Fills in n. */
static Ox norm_of_batch(Op *op, Norm *n, bool batch)
{
    Ox stats[2];
    if (!batch_norm_args(op, n))
        return POISON;
    Ox y = batch_norm(op, n, batch);
    if (!batch || !n->mean || !ox_ok(y))
        return y;
    moved_by_batch(op, n, stats);
    return write_stats(op, stats) ? y : POISON;
}

static Ox lower_batch_norm(Op *op)
{
    Norm n;
    return norm_of_batch(op, &n, arg_bool(op, "training"));
}

/* The type of batch statistics: that of the parameters, which autocast keeps at float32. */
static DType statistics_type(Op *op, Ox y)
{
    Ox given = arg_opt(op, "weight");
    if (!given && has_param(op, "running_mean"))
        given = arg_opt(op, "running_mean");
    return ox_dtype(given ? given : y);
}

/* -> out: what gradients need, the batch's mean and 1/deviation, [C]; empty where the running ones
 * were used. */
static void saved_stats(Op *op, Norm *n, bool batch, Ox out[2])
{
    if (batch) {
        DType t = statistics_type(op, n->x);
        Ox by = inverse_root(op, n->batch_var, n->eps);
        out[0] = of_channels(op, back_to(op, n->batch_mean, t), n);
        out[1] = of_channels(op, back_to(op, by, t), n);
    } else {
        out[0] = empty_of(op, statistics_type(op, n->x));
        out[1] = empty_of(op, statistics_type(op, n->x));
    }
}

/* row->datum: the form of the operator. Its results are y, the saved mean, the saved 1/deviation;
 * then an empty tensor of bytes in the forms that have one; then the new running statistics in the
 * functional forms, which do not write them. */
enum { AS_TOLD, NO_TRAINING, NO_UPDATE, WITH_UPDATE, FUNCTIONAL, FUNCTIONAL_UPDATE };

static bool normalises_by_batch(Op *op, int form)
{
    if (has_param(op, "training"))
        return arg_bool(op, "training");
    return form == WITH_UPDATE || form == FUNCTIONAL_UPDATE;
}

/* batch_norm without writing the running statistics. Fills in n. */
static Ox functional_norm(Op *op, Norm *n, bool batch)
{
    return batch_norm_args(op, n) ? batch_norm(op, n, batch) : POISON;
}

/* All forms above. A form that writes the running statistics does so in norm_of_batch(); the others
 * return them or ignore them. */
static Value lower_native_batch_norm(Op *op)
{
    Norm n;
    Ox out[6];
    int form = (int)op->row->datum;
    size_t count = 3;
    bool functional = form == FUNCTIONAL || form == FUNCTIONAL_UPDATE;
    bool batch = normalises_by_batch(op, form);
    out[0] = functional ? functional_norm(op, &n, batch) : norm_of_batch(op, &n, batch);
    if (!ox_ok(out[0]))
        return val_poison();
    saved_stats(op, &n, batch, out + 1);
    /* Of empty ones torch 2.13 records the type of the input, and returns that of the weight. */
    if (!batch)
        op->record_errs = RESULT(1) | RESULT(2);
    if (form == NO_UPDATE || form == WITH_UPDATE || form == FUNCTIONAL_UPDATE)
        out[count++] = empty_of(op, DT_UINT8);
    if (!functional)
        return result_tuple(op, out, count);
    if (batch) {
        moved_by_batch(op, &n, out + count);
    } else {
        out[count] = n.mean;
        out[count + 1] = n.var;
    }
    return result_tuple(op, out, count + 2);
}

/* -> y, the saved mean and 1/deviation, an empty tensor of bytes, and 0 for "not by cuDNN". */
static Value lower_batch_norm_impl(Op *op)
{
    Value out[5] = { { 0 } };
    Norm n;
    Ox saved[2];
    Ox y = norm_of_batch(op, &n, arg_bool(op, "training"));
    if (!ox_ok(y))
        return val_poison();
    saved_stats(op, &n, arg_bool(op, "training"), saved);
    out[0] = val_tensor(op->cx, y);
    out[1] = val_tensor(op->cx, saved[0]);
    out[2] = val_tensor(op->cx, saved[1]);
    out[3] = val_tensor(op->cx, empty_of(op, DT_UINT8));
    out[4] = val_int(0);
    return val_tuple(op->cx, out, 5);
}

/* ---- instance norm ---- */

/* Moves the running statistics towards the mean of the instances' statistics. False after an error
 * or refusal. */
static bool moved_by_instances(Op *op, const Norm *n)
{
    int64_t at[MAX_RANK];
    Ox mean, var, stats[2];
    Ox first = ints(op, 0);
    Dim count = dim_int(op->cx, 1);
    for (int i = 2; i < n->rank; i++) {
        at[i - 2] = i;
        count = dim_mul(op->cx, count, ox_dim(n->x, i));
    }
    moments(op, n->x, ox_ints(op->g, at, (size_t)n->rank - 2), false, &mean, &var);
    mean = ox_with(op, "ReduceMean", INPUTS(mean, first), INT("keepdims", 0));
    var = ox_with(op, "ReduceMean", INPUTS(var, first), INT("keepdims", 0));
    moved_stats(op, n, mean, var, count, stats);
    return write_stats(op, stats);
}

/* By each instance's own statistics, which move the running ones; or by the running ones alone
 * (use_input_stats=False). */
static Ox lower_instance_norm(Op *op)
{
    Norm n;
    if (!norm_args(op, &n, 3))
        return POISON;
    n.mean = arg_opt(op, "running_mean");
    n.var = arg_opt(op, "running_var");
    if (!channels_fit(op, &n, n.mean, "running_mean") ||
        !channels_fit(op, &n, n.var, "running_var"))
        return POISON;
    bool own = arg_bool(op, "use_input_stats");
    if (!own && (!n.mean || !n.var))
        return op_fail(op, E_VALUE,
                       "Expected running_mean and running_var to be defined when "
                       "use_input_stats is false");
    if (!both_or_none(op, &n))
        return POISON;
    if (!own)
        return by_running_stats(op, &n);
    if (n.mean && !moved_by_instances(op, &n))
        return POISON;
    Dim channels = ox_dim(n.x, 1);
    Ox x = to_type_of(op, n.x, n.weight);
    DType t = ox_ok(x) ? ox_dtype(x) : DT_FLOAT;
    Ox scale = param_or(op, n.weight, 1, t, &channels, 1);
    Ox shift = param_or(op, n.bias, 0, t, &channels, 1);
    Ox y = ox_with(op, "InstanceNormalization", INPUTS(x, scale, shift), FLOAT("epsilon", n.eps));
    return back_to(op, y, ox_dtype(n.x));
}

/* ---- group norm ---- */

static Ox group_norm(Op *op, Norm *n, int64_t groups)
{
    int64_t c;
    Dim channels = ox_dim(n->x, 1);
    if (groups <= 0 || (dim_known(channels, &c) && c % groups != 0))
        return op_fail(op, E_VALUE,
                       "Expected number of channels in input to be divisible by num_groups, but "
                       "got input of shape %s and num_groups=%lld",
                       type_text(op->cx, n->x->type)->s, (long long)groups);
    Ox x = to_type_of(op, n->x, n->weight);
    DType t = ox_ok(x) ? ox_dtype(x) : DT_FLOAT;
    Ox scale = param_or(op, n->weight, 1, t, &channels, 1);
    Ox shift = param_or(op, n->bias, 0, t, &channels, 1);
    Ox y = ox_with(op, "GroupNormalization", INPUTS(x, scale, shift), FLOAT("epsilon", n->eps),
                   INT("num_groups", groups),
                   t == DT_DOUBLE ? INT("stash_type", DT_DOUBLE) : NO_ATTR);
    return back_to(op, y, ox_dtype(n->x));
}

static Ox lower_group_norm(Op *op)
{
    Norm n;
    return norm_args(op, &n, 2) ? group_norm(op, &n, arg_int(op, "num_groups")) : POISON;
}

/* -> y, and mean and 1/deviation of each group, [N, groups] */
static Value lower_native_group_norm(Op *op)
{
    Norm n;
    Ox out[3], mean, var;
    int64_t groups = arg_int(op, "group");
    if (!norm_args(op, &n, 2))
        return val_poison();
    out[0] = group_norm(op, &n, groups);
    if (!ox_ok(out[0]))
        return val_poison();
    Dim rest = dim_product(op->cx, n.x->type->dim + 1, n.rank - 1);
    Dim parts = dim_int(op->cx, groups);
    Dim each;
    if (!dim_divide(op->cx, rest, parts, &each))
        each = dim_floordiv(op->cx, rest, parts);
    Ox split = reshape_to(op, n.x, (const Dim[]){ ox_dim(n.x, 0), parts, each }, 3);
    moments(op, split, ints(op, 2), false, &mean, &var);
    out[1] = back_to(op, mean, ox_dtype(n.x));
    out[2] = back_to(op, inverse_root(op, var, n.eps), ox_dtype(n.x));
    return result_tuple(op, out, 3);
}

/* ---- layer norm, RMS norm: over the last axes ---- */

/* normalized_shape must be x's last sizes: -> the axis where they start. False after an error. */
static bool normalized_axis(Op *op, Ox x, Dims shape, int *axis)
{
    int rank;
    if (!need_rank(op, x, (int)shape.n + 1, &rank) || ctx_failed(op->cx))
        return false;
    *axis = rank - (int)shape.n;
    if (shape.n == 0 || *axis < 0)
        return fail(op->cx, E_VALUE,
                    "Expected normalized_shape to be at least 1-dimensional and no longer than the "
                    "input's rank %d, but got %zu sizes",
                    rank, shape.n);
    for (size_t i = 0; i < shape.n; i++)
        if (!dim_require(op->cx, ox_dim(x, *axis + (int)i), shape.at[i],
                         "normalized_shape is %s at %zu, but the input is %s",
                         dim_text(op->cx, shape.at[i])->s, i, type_text(op->cx, x->type)->s))
            return false;
    return true;
}

/* Has a parameter, where it is given, the normalized shape? False after PyTorch's error. */
static bool of_normalized_shape(Op *op, Ox p, const char *name, Dims shape)
{
    return !p || may_have_sizes(op, p, shape.at, (int)shape.n) ||
        fail(op->cx, E_VALUE,
             "Expected %s to be of same shape as normalized_shape, but got %s of shape %s and "
             "normalized_shape = %s",
             name, name, shape_text(op, p)->s, dims_text(op->cx, shape.at, (int)shape.n)->s);
}

/* Is nothing normalised? ONNX Runtime 1.31 refuses to run on it, and the result is as empty as the
 * input. */
static bool is_of_nothing(Dims shape)
{
    for (size_t i = 0; i < shape.n; i++)
        if (dim_is(shape.at[i], 0))
            return true;
    return false;
}

static Ox layer_norm(Op *op, Ox x, Dims shape, int axis, Ox weight, Ox bias, double eps)
{
    if (!of_normalized_shape(op, weight, "weight", shape) ||
        !of_normalized_shape(op, bias, "bias", shape))
        return POISON;
    if (is_of_nothing(shape))
        return x;
    Ox raised = to_type_of(op, x, weight);
    DType t = ox_ok(raised) ? ox_dtype(raised) : DT_FLOAT;
    Ox scale = param_or(op, weight, 1, t, shape.at, (int)shape.n);
    Ox y = ox_with(op, "LayerNormalization", INPUTS(raised, scale, bias), INT("axis", axis),
                   FLOAT("epsilon", eps));
    return back_to(op, y, ox_dtype(x));
}

static Ox lower_layer_norm(Op *op)
{
    Ox x = arg(op, "input");
    Ox weight = arg_opt(op, "weight");
    Ox bias = arg_opt(op, "bias");
    Dims shape = arg_dims(op, "normalized_shape");
    double eps = arg_float(op, "eps");
    int axis;
    if (!normalized_axis(op, x, shape, &axis))
        return POISON;
    return layer_norm(op, x, shape, axis, weight, bias, eps);
}

/* Axes axis, axis + 1, .. rank - 1. */
static Ox last_axes(Op *op, int axis, int rank)
{
    int64_t at[MAX_RANK];
    for (int i = axis; i < rank; i++)
        at[i - axis] = i;
    return ox_ints(op->g, at, (size_t)(rank - axis));
}

/* -> y, mean, 1/deviation. The latter two are nodes of their own, dropped where they are not read.
 */
static Value lower_native_layer_norm(Op *op)
{
    Ox x = arg(op, "input");
    Ox weight = arg_opt(op, "weight");
    Ox bias = arg_opt(op, "bias");
    Ox out[3], mean, var;
    Dims shape = arg_dims(op, "normalized_shape");
    double eps = arg_float(op, "eps");
    int axis;
    if (!normalized_axis(op, x, shape, &axis))
        return val_poison();
    out[0] = layer_norm(op, x, shape, axis, weight, bias, eps);
    moments(op, x, last_axes(op, axis, ox_rank(x)), true, &mean, &var);
    out[1] = back_to(op, mean, ox_dtype(x));
    out[2] = back_to(op, inverse_root(op, var, eps), ox_dtype(x));
    return result_tuple(op, out, 3);
}

/* eps None: the machine's, of float32 for anything narrower [tried on torch 2.13] */
static double rms_eps(Op *op, Ox x)
{
    if (arg_given(op, "eps"))
        return arg_float(op, "eps");
    bool wide = ox_ok(x) && dtype_of_parts(ox_dtype(x)) == DT_DOUBLE;
    return wide ? 2.220446049250313e-16 : 1.1920928955078125e-07;
}

/* RMS norm of complex numbers: PyTorch takes the mean of their squares, not of their sizes. */
static Ox complex_rms_norm(Op *op, Ox x, int axis, double eps)
{
    Axes axes = { 0 };
    for (int i = axis; i < ox_rank(x); i++) {
        axes.at[axes.n++] = i;
        axes.has[i] = true;
    }
    Ox weight = arg_opt(op, "weight");
    Ox mean = reduce(op, "ReduceMean", each_mul(op, x, x), &axes, true);
    Ox sum = each_add(op, mean, real_like(op, eps, x));
    Value args[] = { val_tensor(op->cx, sum) };
    Value by = call_op(op, "aten::rsqrt", args, 1);
    Ox y = by.tag == V_TENSOR ? each_mul(op, x, tensor_read(op->g, by.t)) : POISON;
    return weight ? each_mul(op, y, weight) : y;
}

static Ox rms_norm(Op *op, Ox x, Dims shape, int axis, double eps)
{
    if (ox_is_complex(x))
        return complex_rms_norm(op, x, axis, eps);
    Ox weight = arg_opt(op, "weight");
    bool fused = op->row->kind == ROW_CALL; /* this one broadcasts its weight */
    if (!fused && !of_normalized_shape(op, weight, "weight", shape))
        return POISON;
    if (is_of_nothing(shape))
        return x;
    Ox raised = to_type_of(op, x, weight);
    DType t = ox_ok(raised) ? ox_dtype(raised) : DT_FLOAT;
    Ox scale = param_or(op, weight, 1, t, shape.at, (int)shape.n);
    Ox y = ox_with(op, "RMSNormalization", INPUTS(raised, scale), INT("axis", axis),
                   FLOAT("epsilon", eps));
    return back_to(op, y, ox_dtype(x));
}

static Ox lower_rms_norm(Op *op)
{
    Ox x = arg(op, "input");
    Dims shape = arg_dims(op, "normalized_shape");
    double eps = rms_eps(op, x);
    int axis;
    return normalized_axis(op, x, shape, &axis) ? rms_norm(op, x, shape, axis, eps) : POISON;
}

/* -> y and 1/sqrt(mean of squares + eps) */
static Value lower_fused_rms_norm(Op *op)
{
    Ox x = arg(op, "input");
    Ox out[2];
    Dims shape = arg_dims(op, "normalized_shape");
    double eps = rms_eps(op, x);
    int axis;
    if (!normalized_axis(op, x, shape, &axis))
        return val_poison();
    out[0] = rms_norm(op, x, shape, axis, eps);
    Ox wide = widened(op, x);
    Ox square = ox(op, "Mul", wide, wide);
    Ox axes = last_axes(op, axis, ox_rank(x));
    Ox mean = ox_with(op, "ReduceMean", INPUTS(square, axes), INT("keepdims", 1));
    out[1] = back_to(op, inverse_root(op, mean, eps), ox_dtype(x));
    return result_tuple(op, out, 2);
}

/* ---- dropout ---- */

/* x with elements replaced by 0 with probability p, the others divided by 1 - p. */
static Ox drop(Op *op, Ox x, double p)
{
    if (!ox_ok(x) || !need_opset(op, 12, "dropout in training mode"))
        return POISON;
    if (p == 1) {
        Ox zero = number_like(op, 0, x);
        return ox(op, "Mul", x, zero);
    }
    note(op->cx, training_is_meant(op->cx) ? NOTE_INFO : NOTE_ASSUMED,
         "dropout is on, as the program has it: the model draws random numbers");
    Ox ratio = ox_number(op->g, DT_FLOAT, p);
    Ox on = ox_bool(op->g, true);
    return ox(op, "Dropout", x, ratio, on);
}

/* Is p a probability? PyTorch asks that in evaluation mode too. */
static bool is_probability(Op *op, double p)
{
    return (p >= 0 && p <= 1) ||
        fail(op->cx, E_VALUE, "dropout probability has to be between 0 and 1, but got %g", p);
}

static Ox lower_dropout(Op *op)
{
    Ox x = arg(op, "input");
    double p = arg_float(op, "p");
    if (!is_probability(op, p))
        return POISON;
    return arg_bool(op, "train") && p != 0 ? drop(op, x, p) : x;
}

/* Whole channels: one number is drawn for each [N, C]. */
static Ox lower_feature_dropout(Op *op)
{
    Ox x = arg(op, "input");
    double p = arg_float(op, "p");
    int rank;
    if (!is_probability(op, p))
        return POISON;
    if (!arg_bool(op, "train") || p == 0)
        return x;
    if (!need_rank(op, x, 4, &rank))
        return POISON;
    if (rank < 2)
        return op_fail(op, E_VALUE, "Feature dropout requires at least 2 dimensions in the input");
    Dim dims[MAX_RANK];
    for (int i = 0; i < rank; i++)
        dims[i] = i < 2 ? ox_dim(x, i) : dim_int(op->cx, 1);
    Ox ones = expand_dims(op, number_like(op, 1, x), dims, rank);
    Ox mask = drop(op, ones, p);
    return ox(op, "Mul", x, mask);
}

/* SELU's dropout: a dropped element becomes SELU's least value, and a linear map restores mean and
 * variance. row->datum: whole channels are dropped. */
static Ox lower_alpha_dropout(Op *op)
{
    const double least = -1.7580993408473766;
    Ox x = arg(op, "input");
    double p = arg_float(op, "p");
    int rank;
    if (!is_probability(op, p))
        return POISON;
    if (!arg_bool(op, "train") || p == 0 || !ox_ok(x))
        return x;
    if (p == 1)
        return drop(op, x, p);
    if (!need_rank(op, x, 4, &rank))
        return POISON;
    Dim dims[MAX_RANK];
    for (int i = 0; i < rank; i++)
        dims[i] = op->row->datum && i >= 2 ? dim_int(op->cx, 1) : ox_dim(x, i);
    double a = 1 / sqrt((least * least * p + 1) * (1 - p));
    Ox ones = expand_dims(op, number_like(op, 1, x), dims, rank);
    Ox kept = drop(op, ones, p); /* 0 or 1 / (1 - p) */
    Ox scale = ox(op, "Mul", kept, number_like(op, a * (1 - p), x));
    Ox shift = ox(op, "Mul", kept, number_like(op, least * a * (p - 1), x));
    Ox moved = ox(op, "Add", shift, number_like(op, least * a * (1 - p), x));
    Ox scaled = ox(op, "Mul", x, scale);
    return ox(op, "Add", scaled, moved);
}

/* -> x, and the mask: all true */
static Value lower_native_dropout(Op *op)
{
    Ox x = arg(op, "input");
    Ox out[2] = { x };
    if (!arg_given(op, "train") || arg_bool(op, "train"))
        return val_tensor(
            op->cx, op_refuse(op, "it is in training mode; save the model after model.eval()"));
    if (ox_ok(x) && ox_rank(x) < 0)
        fail(op->cx, E_UNDECIDED, "the rank of native_dropout's input is not known");
    if (!ox_ok(x) || ox_rank(x) < 0)
        return val_poison();
    out[1] = expand_dims(op, ox_bool(op->g, true), x->type->dim, ox_rank(x));
    return result_tuple(op, out, 2);
}

/* |v| over every axis but `dim`, which stays with size 1 elsewhere; over all of them for -1. */
static Ox norm_but(Op *op, Ox v, int dim)
{
    Axes axes = { 0 };
    for (int i = 0; i < ox_rank(v); i++)
        if (i != dim)
            axes.at[axes.n++] = i;
    return axes.n ? reduce(op, "ReduceL2", v, &axes, dim >= 0) : ox(op, "Abs", v);
}

/* v * g / |v|, the norm over every dim but `dim`, or over all for -1: torch.nn.utils.weight_norm
 * keeps a weight as g and v. */
static Ox lower_weight_norm(Op *op)
{
    Ox v = arg(op, "v");
    int64_t dim = arg_int(op, "dim");
    int rank;
    if (!need_rank(op, v, -1, &rank))
        return POISON;
    if (dim < -rank || dim >= rank)
        return op_fail(op, E_VALUE, "dim %lld is out of range for rank %d", (long long)dim, rank);
    Ox norm = norm_but(op, v, (int)(dim < -1 ? dim + rank : dim));
    Ox scale = ox(op, "Div", arg(op, "g"), norm);
    return ox(op, "Mul", v, scale);
}

/* -> v * g / |v|, |v|: what weight_norm is in a decomposed program. PyTorch computes 16 bits in
 * float32 and gives the norm so; of float16 a file records float16, which no run gives. */
static Value lower_weight_norm_interface(Op *op)
{
    Ox v = arg(op, "v");
    int64_t dim = arg_int(op, "dim");
    int rank;
    if (!need_rank(op, v, -1, &rank))
        return val_poison();
    if (rank == 0 || (dim != 0 && dim != rank - 1)) {
        fail(op->cx, E_VALUE, "dim %lld is neither the first nor the last of rank %d",
             (long long)dim, rank);
        return val_poison();
    }
    DType type = ox_dtype(v);
    DType wide = type == DT_DOUBLE ? type : DT_FLOAT;
    Ox wide_v = ox_cast(op->g, v, wide);
    Ox wide_g = ox_cast(op->g, arg(op, "g"), wide);
    Ox norm = norm_but(op, wide_v, (int)dim);
    Ox scale = ox(op, "Div", wide_g, norm);
    Ox scaled = ox(op, "Mul", wide_v, scale);
    Ox out[2] = { ox_cast(op->g, scaled, type), norm };
    op->record_errs = type == DT_FLOAT16 ? RESULT(0) | RESULT(1) : 0;
    return result_tuple(op, out, 2);
}

OP_ROWS(normalization)
{
    LOWER(lower_batch_norm, NULL, PLAIN,
          "aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
          "Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> "
          "Tensor");
    CALL(lower_batch_norm_impl, NULL, PLAIN,
         "aten::_batch_norm_impl_index(Tensor input, Tensor? weight, Tensor? bias, Tensor? "
         "running_mean, Tensor? running_var, bool training, float momentum, float eps, bool "
         "cudnn_enabled) -> (Tensor, Tensor, Tensor, Tensor, int)");
    CALL_FAMILY(lower_native_batch_norm, AS_TOLD, NULL, PLAIN,
                "aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? "
                "running_mean, Tensor? running_var, bool training, float momentum, float eps) -> "
                "(Tensor, Tensor, Tensor)");
    CALL_FAMILY(lower_native_batch_norm, NO_TRAINING, NULL, PLAIN,
                "aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? "
                "bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> "
                "(Tensor, Tensor, Tensor)");
    CALL_FAMILY(lower_native_batch_norm, AS_TOLD, NULL, PLAIN,
                "aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, "
                "Tensor(a!) running_mean, Tensor(b!) running_var, bool training, float momentum, "
                "float eps) -> (Tensor, Tensor, Tensor)");
    CALL_FAMILY(lower_native_batch_norm, AS_TOLD, NULL, PLAIN,
                "aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? "
                "bias, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)");
    CALL_FAMILY(
        lower_native_batch_norm, FUNCTIONAL, NULL, PLAIN,
        "aten::_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, "
        "Tensor running_mean, Tensor running_var, bool training, float momentum, float eps) -> "
        "(Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)");
    CALL_FAMILY(lower_native_batch_norm, WITH_UPDATE, NULL, PLAIN,
                "aten::_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, "
                "Tensor(a!) running_mean, Tensor(b!) running_var, float momentum, float eps) -> "
                "(Tensor, Tensor, Tensor, Tensor)");
    CALL_FAMILY(
        lower_native_batch_norm, FUNCTIONAL_UPDATE, NULL, PLAIN,
        "aten::_batch_norm_with_update_functional(Tensor input, Tensor? weight, Tensor? bias, "
        "Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, "
        "Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)");
    CALL_FAMILY(lower_native_batch_norm, NO_UPDATE, NULL, PLAIN,
                "aten::_batch_norm_no_update(Tensor input, Tensor? weight, Tensor? bias, Tensor? "
                "running_mean, Tensor? running_var, float momentum, float eps) -> (Tensor, Tensor, "
                "Tensor, Tensor)");
    LOWER(lower_instance_norm, NULL, PLAIN,
          "aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
          "Tensor? running_var, bool use_input_stats, float momentum, float eps, bool "
          "cudnn_enabled) -> Tensor");
    LOWER(lower_group_norm, NULL, PLAIN,
          "aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, "
          "float eps=1e-05, bool cudnn_enabled=True) -> Tensor");
    CALL(lower_native_group_norm, NULL, PLAIN,
         "aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, "
         "SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)");
    LOWER(lower_layer_norm, NULL, PLAIN,
          "aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? "
          "bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor",
          .layout = LAYOUT_CONTIGUOUS);
    CALL(lower_native_layer_norm, NULL, PLAIN,
         "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? "
         "bias, float eps) -> (Tensor, Tensor, Tensor)");
    LOWER(lower_rms_norm, NULL, PLAIN,
          "aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? "
          "eps=None) -> Tensor");
    CALL(lower_fused_rms_norm, NULL, PLAIN,
         "aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) "
         "-> (Tensor, Tensor)");
    LOWER(lower_weight_norm, "default(v, g)", PLAIN,
          "aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor");
    CALL(lower_weight_norm_interface, "default(v, g)", PLAIN,
         "aten::_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)");
    ITSELF(lower_dropout, 0, PLAIN, "aten::dropout(Tensor input, float p, bool train) -> Tensor");
    ITSELF(lower_feature_dropout, 0, PLAIN,
           "aten::feature_dropout(Tensor input, float p, bool train) -> Tensor");
    ITSELF(lower_alpha_dropout, 0, PLAIN,
           "aten::alpha_dropout(Tensor input, float p, bool train) -> Tensor");
    ITSELF(lower_alpha_dropout, 1, PLAIN,
           "aten::feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor");
    CALL(lower_native_dropout, NULL, PLAIN,
         "aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)");
}
