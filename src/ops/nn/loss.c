/* loss.c - losses: a term for each element or sample, then all of them (reduction=none), their mean
 * or their sum.
 *
 * ONNX's own NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss are not used: ONNX does not say
 * what the mean of no samples is, nor whether an ignored index may lie outside of the classes, as
 * PyTorch's default of -100 does. */
#include "ops/internal.h"
#include "value/autograd.h"

#include <math.h>

#define PI 3.14159265358979323846

enum { MEAN = 1, SUM = 2 }; /* of `reduction`; 0 is none */

static Ox add(Op *op, Ox x, double v) { return ox(op, "Add", x, number_like(op, v, x)); }
static Ox mul(Op *op, Ox x, double v) { return ox(op, "Mul", x, number_like(op, v, x)); }
static Ox from(Op *op, double v, Ox x) { return ox(op, "Sub", number_like(op, v, x), x); }

/* max(x, v). Where x is v the gradient of Max is shared between them; PyTorch gives it to x. */
static Ox at_least(Op *op, Ox x, double v)
{
    Ox least = number_like(op, v, x);
    if (!autograd_requires(op->cx, x))
        return ox(op, "Max", x, least);
    Ox below = ox(op, "Less", x, least);
    return ox(op, "Where", below, least, x);
}

/* max(x, 0) of the losses that compare classes. At 0 these have no gradient, as Relu has none. */
static Ox excess(Op *op, Ox x)
{
    return autograd_requires(op->cx, x) ? ox(op, "Relu", x) : at_least(op, x, 0);
}

static Ox is(Op *op, Ox x, double v) { return ox(op, "Equal", x, number_like(op, v, x)); }
static Ox or_zero(Op *op, Ox where, Ox x)
{
    return ox(op, "Where", where, x, number_like(op, 0, x));
}

static Ox sum_of(Op *op, Ox x) { return ox_with(op, "ReduceSum", INPUTS(x), INT("keepdims", 0)); }

/* The mean of no elements is 0 / 0, not-a-number. Runtimes give 0 for ReduceMean of none, so that
 * is used only where there are some. */
static Ox mean_of(Op *op, Ox x)
{
    int64_t least = 0, most;
    if (!ox_ok(x))
        return x;
    if (!dtype_is_float(ox_dtype(x)))
        return op_fail(op, E_VALUE,
                       "mean(): could not infer output dtype. Input dtype must be "
                       "either a floating point or complex dtype. Got: %s",
                       torch_dtype_name(ox_dtype(x)));
    if (ox_rank(x) >= 0)
        dim_range(op->cx, type_numel(op->cx, x->type), &least, &most);
    if (least > 0)
        return ox_with(op, "ReduceMean", INPUTS(x), INT("keepdims", 0));
    Ox count = ox_rank(x) < 0 ? ox(op, "Size", x)
                              : ox_dim_value(op->g, type_numel(op->cx, x->type));
    Ox sum = sum_of(op, widened(op, x));
    if (!ox_ok(sum))
        return POISON;
    Ox mean = ox(op, "Div", sum, ox_cast(op->g, count, ox_dtype(sum)));
    return ox_cast(op->g, mean, ox_dtype(x));
}

static Ox reduced(Op *op, Ox each)
{
    switch (arg_int(op, "reduction")) {
    case 0:    return each;
    case MEAN: return mean_of(op, each);
    case SUM:  return sum_of(op, each);
    default:
        return op_fail(op, E_VALUE, "%lld is not a valid value for reduction",
                       (long long)arg_int(op, "reduction"));
    }
}

/* a and b made one type */
static Ox promoted(Op *op, const char *name, Ox a, Ox b)
{
    Ox both[2] = { a, b };
    return one_type(op, both, 2) ? ox(op, name, both[0], both[1]) : POISON;
}

/* a.mul_(b), as name is Mul: computed in the common type of both, the result has a's. Where a loss
 * is made of such steps, a float64 weight of a float32 loss does not make it float64. */
static Ox in_place(Op *op, const char *name, Ox a, Ox b)
{
    Ox y = promoted(op, name, a, b);
    if (!ox_ok(y))
        return POISON;
    if (!dtype_can_store(ox_dtype(y), ox_dtype(a)))
        return op_fail(op, E_VALUE, "result type %s can't be cast to the desired output type %s",
                       torch_dtype_name(ox_dtype(y)), torch_dtype_name(ox_dtype(a)));
    return ox_cast(op->g, y, ox_dtype(a));
}

static Ox log1p_of(Op *op, Ox x)
{
    Value v = val_tensor(op->cx, x);
    Value out = val_ok(v) ? call_op(op, "aten::log1p", &v, 1) : v;
    return out.tag == V_TENSOR ? tensor_read(op->g, out.t) : POISON;
}

/* ---- of the difference ---- */

static Ox difference(Op *op)
{
    Ox x = arg(op, "self");
    Ox y = arg(op, "target");
    return each_sub(op, x, y);
}

static Ox lower_mse(Op *op)
{
    Ox d = difference(op);
    return reduced(op, ox(op, "Mul", d, d));
}

static Ox lower_l1(Op *op) { return reduced(op, each_size(op, difference(op))); }

/* d^2 / (2 beta) below beta, d - beta / 2 from there on */
static Ox lower_smooth_l1(Op *op)
{
    Ox d = ox(op, "Abs", difference(op));
    double beta = arg_float(op, "beta");
    if (beta < 0)
        return op_fail(op, E_VALUE, "smooth_l1_loss does not support negative values for beta.");
    if (beta == 0)
        return reduced(op, d);
    Ox near = ox(op, "Less", d, number_like(op, beta, d));
    Ox square = mul(op, ox(op, "Mul", d, d), 0.5 / beta);
    Ox line = add(op, d, -0.5 * beta);
    return reduced(op, ox(op, "Where", near, square, line));
}

/* The reduction of `each` in self's type, whatever target's is. */
static Ox reduced_as_input(Op *op, Ox each)
{
    DType own = tensor_type(arg_tensor(op, "self"))->dtype;
    return ox_ok(each) ? reduced(op, ox_cast(op->g, each, own)) : POISON;
}

/* d^2 / 2 up to delta, delta (d - delta / 2) beyond */
static Ox lower_huber(Op *op)
{
    Ox d = ox(op, "Abs", difference(op));
    double delta = arg_float(op, "delta");
    if (delta <= 0)
        return op_fail(op, E_VALUE, "huber_loss does not support non-positive values for delta.");
    Ox near = ox(op, "LessOrEqual", d, number_like(op, delta, d));
    Ox square = mul(op, ox(op, "Mul", d, d), 0.5);
    Ox line = mul(op, add(op, d, -0.5 * delta), delta);
    return reduced_as_input(op, ox(op, "Where", near, square, line));
}

/* ---- of probabilities ---- */

/* log(1 / (1 + exp(-x))): min(x, 0) - log(1 + exp(-|x|)) */
static Ox log_sigmoid(Op *op, Ox x)
{
    if (!ox_ok(x))
        return POISON;
    if (!dtype_is_float(ox_dtype(x)))
        return op_fail(op, E_VALUE, "\"log_sigmoid_cpu\" not implemented for '%s'",
                       torch_dtype_name(ox_dtype(x)));
    Ox size = ox(op, "Abs", x);
    Ox small = ox(op, "Exp", ox(op, "Neg", size));
    Ox rest = log1p_of(op, small);
    Ox zero = number_like(op, 0, x);
    Ox low = ox(op, "Min", x, zero);
    return ox(op, "Sub", low, rest);
}

static Ox weighted(Op *op, Ox each)
{
    Ox weight = arg_opt(op, "weight");
    return reduced(op, weight ? in_place(op, "Mul", each, weight) : each);
}

/* -(t log x + (1 - t) log(1 - x)), where a logarithm is never below -100 */
static Ox lower_bce(Op *op)
{
    Ox x = arg(op, "self");
    Ox t = arg(op, "target");
    Ox weight = arg_opt(op, "weight");
    if (weight && !need_output(op, x, weight))
        return POISON;
    Ox log_x = at_least(op, ox(op, "Log", x), -100);
    Ox log_y = at_least(op, ox(op, "Log", from(op, 1, x)), -100);
    Ox yes = ox(op, "Mul", t, log_x);
    Ox no = ox(op, "Mul", from(op, 1, t), log_y);
    Ox sum = ox(op, "Add", yes, no);
    return weighted(op, ox(op, "Neg", sum));
}

/* grad w (x - t) / (x (1 - x)), where PyTorch divides by 1e-12 or more: x is 0 or 1 where a sigmoid
 * has saturated, and the nodes of the loss have 0 times infinity there. */
static Ox lower_bce_backward(Op *op)
{
    Ox x = arg(op, "self");
    Ox t = arg(op, "target");
    Ox grad = arg(op, "grad_output");
    Ox weight = arg_opt(op, "weight");
    Ox spread = ox(op, "Mul", from(op, 1, x), x);
    Ox slope = ox(op, "Div", ox(op, "Sub", x, t), at_least(op, spread, 1e-12));
    slope = weight ? in_place(op, "Mul", slope, weight) : slope;
    if (!ox_ok(slope))
        return POISON;
    if (arg_int(op, "reduction") == MEAN) {
        Ox count = ox(op, "Size", slope);
        slope = ox(op, "Div", slope, ox_cast(op->g, count, ox_dtype(slope)));
    }
    return ox(op, "Mul", grad, slope);
}

/* The target's is grad w z, z = log(1 - x) - log x: that of a probability of 1/2, which divides by
 * 1/4, at a distance of z / 4 from its target. So the weight and the mean are said once. */
#define OF_BCE                                                                           \
    "self = aten::binary_cross_entropy_backward(grad, self, target, weight, reduction) " \
    "target = aten::binary_cross_entropy_backward(grad, like(0.5, self), "               \
    "Sub(0.5, Mul(Sub(Log(Sub(1, self)), Log(self)), 0.25)), weight, reduction)"

/* (1 - t) x - ((pos_weight - 1) t + 1) log sigmoid(x), of t's type: 1 - t is what the rest is
 * multiplied with and taken from, in place. */
static Ox lower_bce_logits(Op *op)
{
    Ox x = arg(op, "self");
    Ox t = arg(op, "target");
    Ox pos = arg_opt(op, "pos_weight");
    Ox weight = arg_opt(op, "weight");
    if (!need_output(op, t, x) || (weight && !need_output(op, t, weight)))
        return POISON;
    Ox yes = log_sigmoid(op, x);
    if (pos) {
        Ox more = promoted(op, "Mul", add(op, pos, -1), t);
        yes = in_place(op, "Mul", yes, add(op, more, 1));
    }
    Ox no = in_place(op, "Mul", from(op, 1, t), x);
    return weighted(op, in_place(op, "Sub", no, yes));
}

/* t (log t - x), or exp(t) (t - x) of a target that is a logarithm already; 0 log 0 is 0 */
static bool kl_div_has_type(Op *op, const char *name)
{
    Tensor *given = arg_tensor(op, name);
    DType t = given ? tensor_type(given)->dtype : DT_NONE;
    return !given || dtype_is_float(t) ||
        fail(op->cx, E_VALUE, "kl_div: %s inputs not supported.",
             dtype_is_complex(t) ? "Complex" : "Integral");
}

static Ox lower_kl_div(Op *op)
{
    Ox x = arg(op, "self");
    Ox t = arg(op, "target");
    if (!kl_div_has_type(op, "self") || !kl_div_has_type(op, "target"))
        return POISON;
    if (arg_bool(op, "log_target")) {
        Ox d = ox(op, "Sub", t, x);
        return reduced(op, ox(op, "Mul", ox(op, "Exp", t), d));
    }
    Ox entropy = ox(op, "Mul", t, ox(op, "Log", t));
    Ox none = is(op, t, 0);
    Ox zero = number_like(op, 0, t);
    Ox cross = ox(op, "Mul", t, x);
    Ox kept = ox(op, "Where", none, zero, entropy);
    return reduced(op, ox(op, "Sub", kept, cross));
}

/* exp(x) - t x, or x - t log(x + eps); full adds Stirling's t log t - t + log(2 pi t) / 2 where t >
 * 1 */
static Ox lower_poisson_nll(Op *op)
{
    Ox x = arg(op, "input");
    Ox t = arg(op, "target");
    Ox loss;
    if (arg_bool(op, "log_input")) {
        Ox rate = ox(op, "Exp", x);
        Ox product = ox(op, "Mul", t, x);
        loss = ox(op, "Sub", rate, product);
    } else {
        Ox log_x = ox(op, "Log", add(op, x, arg_float(op, "eps")));
        Ox product = ox(op, "Mul", t, log_x);
        loss = ox(op, "Sub", x, product);
    }
    if (!arg_bool(op, "full"))
        return reduced(op, loss);
    Ox main = ox(op, "Mul", t, add(op, ox(op, "Log", t), -1));
    Ox half = mul(op, ox(op, "Log", mul(op, t, 2 * PI)), 0.5);
    Ox stirling = ox(op, "Add", main, half);
    Ox large = ox(op, "Greater", t, number_like(op, 1, t));
    Ox extra = or_zero(op, large, stirling);
    return reduced(op, ox(op, "Add", loss, extra));
}

/* ---- of margins ---- */

/* log(1 + exp(-t x)) */
static Ox lower_soft_margin(Op *op)
{
    Ox x = arg(op, "self");
    Ox t = arg(op, "target");
    if (!need_output(op, x, t))
        return POISON;
    Ox power = ox(op, "Exp", ox(op, "Neg", ox(op, "Mul", t, x)));
    return reduced_as_input(op, log1p_of(op, power));
}

/* max(0, margin - t (a - b)). Of ints t (a - b) is an int, which wraps round; only the sum with the
 * margin is float32. */
static Ox lower_margin_ranking(Op *op)
{
    Ox a = arg(op, "input1");
    Ox b = arg(op, "input2");
    Ox t = arg(op, "target");
    Ox d = ox(op, "Sub", a, b);
    Ox product = from(op, 0, ox(op, "Mul", t, d));
    if (!dtype_is_float(op->common))
        product = ox_cast(op->g, product, DT_FLOAT);
    Ox loss = add(op, product, arg_float(op, "margin"));
    return reduced(op, at_least(op, loss, 0));
}

/* x where t is 1, max(0, margin - x) where it is -1, both for anything else */
static Ox lower_hinge_embedding(Op *op)
{
    Value given = arg_value(op, "self");
    if (given.tag == V_TENSOR && !dtype_is_float(tensor_type(given.t)->dtype))
        return op_refuse(op, "of whole numbers: convert them to float first");
    Ox x = arg(op, "self");
    Ox t = arg(op, "target");
    Ox far = at_least(op, from(op, arg_float(op, "margin"), x), 0);
    Ox one = is(op, t, 1);
    Ox minus = is(op, t, -1);
    Ox zero = number_like(op, 0, x);
    Ox a = ox(op, "Where", one, zero, far);
    Ox b = ox(op, "Where", minus, zero, x);
    return reduced(op, ox(op, "Add", a, b));
}

static Ox sum_over(Op *op, Ox x, int axis)
{
    return reduce(op, "ReduceSum", x, &(Axes){ .n = 1, .at = { axis } }, false);
}

/* The cosine of the angle between a and b along the axis, a.b / sqrt((a.a + 1e-12) (b.b + 1e-12)).
 */
static Ox cosine_along(Op *op, Ox a, Ox b, int axis)
{
    Ox product = ox(op, "Mul", a, b);
    Ox top = sum_over(op, product, axis);
    Ox aa = ox(op, "Mul", a, a);
    Ox bb = ox(op, "Mul", b, b);
    Ox size_a = add(op, sum_over(op, aa, axis), 1e-12);
    Ox size_b = add(op, sum_over(op, bb, axis), 1e-12);
    Ox bottom = ox(op, "Sqrt", ox(op, "Mul", size_a, size_b));
    return ox(op, "Div", top, bottom);
}

/* 1 - cos where t is 1, max(0, cos - margin) where it is -1. Vectors lie along the axis behind the
 * target's. */
static Ox lower_cosine_embedding(Op *op)
{
    Ox a = arg(op, "input1");
    Ox b = arg(op, "input2");
    Ox t = arg(op, "target");
    int axis;
    if (!need_rank(op, t, 1, &axis) || !ox_ok(a) || !ox_ok(b))
        return POISON;
    if (axis > 1 || ox_rank(a) != axis + 1 || ox_rank(b) != axis + 1)
        return op_fail(
            op, E_VALUE,
            "cosine_embedding_loss: a target of rank %d does not fit inputs of rank %d and %d",
            axis, ox_rank(a), ox_rank(b));
    Ox cosine = cosine_along(op, a, b, axis);
    Ox same = from(op, 1, cosine);
    Ox other = at_least(op, add(op, cosine, -arg_float(op, "margin")), 0);
    Ox one = is(op, t, 1);
    Ox minus = is(op, t, -1);
    Ox yes = or_zero(op, one, same);
    Ox no = or_zero(op, minus, other);
    return reduced(op, ox(op, "Add", yes, no));
}

static Ox distance(Op *op, const char *a, const char *b)
{
    Value args[] = { arg_value(op, a), arg_value(op, b), arg_value(op, "p"), arg_value(op, "eps") };
    return call_ox(op, "aten::pairwise_distance", args, COUNT(args));
}

/* max(0, margin + |anchor - positive| - |anchor - negative|); swap: the negative's distance is that
 * from anchor or from positive, whichever is nearer. */
static Ox lower_triplet_margin(Op *op)
{
    int a = arg_rank(op, "anchor");
    int p = arg_rank(op, "positive");
    int n = arg_rank(op, "negative");
    if (a >= 0 && p >= 0 && n >= 0 && (a != p || a != n))
        return op_fail(op, E_VALUE,
                       "The anchor, positive, and negative tensors are expected to have the same "
                       "number of dimensions, but got: anchor %dD, positive %dD, and negative %dD "
                       "inputs",
                       a, p, n);
    Ox near = distance(op, "anchor", "positive");
    Ox far = distance(op, "anchor", "negative");
    if (arg_bool(op, "swap"))
        far = promoted(op, "Min", far, distance(op, "positive", "negative"));
    Ox d = promoted(op, "Sub", near, far);
    return reduced(op, at_least(op, add(op, d, arg_float(op, "margin")), 0));
}

/* A tensor of one sample as a batch of one. *alone: the result loses that axis again. */
static Ox as_batch(Op *op, Ox x, int rank, bool *alone)
{
    int have;
    *alone = false;
    if (!need_rank(op, x, rank, &have))
        return POISON;
    *alone = have < rank;
    for (; have < rank; have++)
        x = unsqueeze_axis(op, x, 0);
    return x;
}

/* A loss without reduction as a number, where its batch of one was not the program's. */
static Ox first_only(Op *op, Ox x, bool alone)
{
    return alone && arg_int(op, "reduction") == 0 ? reshape_to(op, x, NULL, 0) : x;
}

static Ox pick_class(Op *op, Ox x, Ox at)
{
    return ox_with(op, "GatherElements", INPUTS(x, at), INT("axis", 1));
}

/* 0, 1, .. classes - 1, for x [N, classes] */
static Ox class_numbers(Op *op, Ox x)
{
    Ox zero = ox_int(op->g, 0);
    Ox one = ox_int(op->g, 1);
    Ox n = ox_dim_value(op->g, ox_dim(x, 1));
    return ox(op, "Range", zero, n, one);
}

/* The mean over classes of weight[y] max(0, margin - x[y] + x[j])^p, j = y left out */
static Ox lower_multi_margin(Op *op)
{
    bool alone, alone_y;
    Ox x = as_batch(op, arg(op, "self"), 2, &alone);
    Ox weight = arg_opt(op, "weight");
    Ox y = as_batch(op, arg_typed(op, "target", DT_INT64), 1, &alone_y);
    double p = trunc(arg_float(op, "p")); /* PyTorch takes an int of it */
    if (!ox_ok(x) || !ox_ok(y))
        return POISON;
    if (p != 1 && p != 2)
        return op_fail(op, E_VALUE, "only p == 1 and p == 2 supported");
    Ox at = unsqueeze_axis(op, y, 1);
    Ox right = pick_class(op, x, at);
    Ox d = ox(op, "Sub", x, right);
    Ox z = excess(op, add(op, d, arg_float(op, "margin")));
    Ox numbers = class_numbers(op, x);
    Ox own = ox(op, "Equal", numbers, at);
    z = p == 2 ? ox(op, "Mul", z, z) : z;
    if (weight)
        z = ox(op, "Mul", z, ox(op, "Gather", weight, at));
    Ox zero = number_like(op, 0, x);
    Ox others = ox(op, "Where", own, zero, z);
    Ox sum = sum_over(op, others, 1);
    Ox classes = ox_cast(op->g, ox_dim_value(op->g, ox_dim(x, 1)), ox_dtype(x));
    return reduced(op, first_only(op, ox(op, "Div", sum, classes), alone));
}

/* The targets of each sample, y [N, classes] up to the first -1. */
typedef struct Labels {
    Ox safe;      /* y, with 0 for what is no target */
    Ox valid;     /* bool [N, classes, 1]: this one is a target */
    Ox is_target; /* bool [N, classes]: this class is among the targets */
} Labels;

/* x: [N, classes]. In a row of y all classes behind the first negative one are no targets. */
static Labels labels_of(Op *op, Ox x, Ox y)
{
    Labels l;
    Ox zero = number_like(op, 0, y);
    Ox end = ox(op, "Less", y, zero);
    Ox ends = ox_cast(op->g, end, DT_INT64);
    Ox axis = ox_int(op->g, 1);
    Ox passed = ox(op, "CumSum", ends, axis);
    Ox counts = is(op, passed, 0);
    l.safe = ox(op, "Where", counts, y, zero);
    Ox numbers = class_numbers(op, x);
    Ox by_target = unsqueeze_axis(op, l.safe, 2);
    Ox is_own = ox(op, "Equal", by_target, numbers);
    l.valid = unsqueeze_axis(op, counts, 2);
    Ox own = ox_cast(op->g, ox(op, "And", is_own, l.valid), DT_INT32);
    Ox marked = reduce(op, "ReduceMax", own, &(Axes){ .n = 1, .at = { 1 } }, false);
    l.is_target = ox_cast(op->g, marked, DT_BOOL);
    return l;
}

/* -> out[0], the loss of each sample: the mean over classes of max(0, 1 - (x[y] - x[j])), summed
 * over all targets y and all classes j that are none; out[1], which classes are targets, in x's
 * type. False after an error. */
static bool multilabel_margin(Op *op, Ox *out)
{
    bool alone, alone_y;
    Ox x = as_batch(op, arg(op, "self"), 2, &alone);
    Ox y = as_batch(op, arg_typed(op, "target", DT_INT64), 2, &alone_y);
    if (!ox_ok(x) || !ox_ok(y))
        return false;
    Labels l = labels_of(op, x, y);
    Ox picked = unsqueeze_axis(op, pick_class(op, x, l.safe), 2);
    Ox each = unsqueeze_axis(op, x, 1);
    Ox d = ox(op, "Sub", picked, each);
    Ox hinge = excess(op, from(op, 1, d));
    Ox none = unsqueeze_axis(op, ox(op, "Not", l.is_target), 1);
    Ox both = ox(op, "And", l.valid, none);
    Ox terms = or_zero(op, both, hinge);
    Ox sum = reduce(op, "ReduceSum", terms, &(Axes){ .n = 2, .at = { 1, 2 } }, false);
    Ox classes = ox_cast(op->g, ox_dim_value(op->g, ox_dim(x, 1)), ox_dtype(x));
    out[0] = reduced(op, first_only(op, ox(op, "Div", sum, classes), alone));
    out[1] = ox_cast(op->g, l.is_target, ox_dtype(x));
    if (alone_y)
        out[1] = reshape_to(op, out[1], (Dim[]){ ox_dim(x, 1) }, 1);
    return ox_ok(out[0]) && ox_ok(out[1]);
}

static Ox lower_multilabel_margin(Op *op)
{
    Ox out[2];
    if (!multilabel_margin(op, out))
        return POISON;
    /* torch 2.13 records [1] in a .pt2 for a vector without reduction */
    if (ox_rank(out[0]) == 0 && op->n_expect == 1 && op->expect[0] && op->expect[0]->rank == 1)
        op->record_errs = RESULT(0);
    return out[0];
}

static Value lower_multilabel_margin_forward(Op *op)
{
    Ox out[2];
    return multilabel_margin(op, out) ? result_tuple(op, out, 2) : val_poison();
}

/* ---- of classes ---- */

/* One class index a sample, along axis 1 of a batch. */
typedef struct Classes {
    Ox target;  /* int64 [N, ..] */
    Ox ignored; /* bool: it is ignore_index */
    Ox safe;    /* target, with 0 where it is ignored */
    Ox weight;  /* of each sample's class; 0 where it is ignored */
    bool alone; /* the input has no batch axis */
} Classes;

/* Has the target one class for each sample of x, and the weight one number for each class? False
 * after PyTorch's error. */
static bool classes_fit(Op *op, Ox x, Ox target, Ox weight, bool alone)
{
    Dim classes = ox_dim(x, alone ? 0 : 1);
    if (ox_rank(target) < 0)
        return true;
    int samples = alone ? 0 : ox_rank(target);
    for (int i = 0; i < samples; i++)
        if (surely_differ(op, ox_dim(target, i), ox_dim(x, i ? i + 1 : 0)))
            return fail(op->cx, E_VALUE, "size mismatch (got input: %s, target: %s)",
                        shape_text(op, x)->s, shape_text(op, target)->s);
    if (!weight || may_have_sizes(op, weight, &classes, 1))
        return true;
    bool flat = ox_rank(x) > 2 && ox_rank(weight) > 0; /* of images any shape will do */
    return (flat && !surely_differ(op, type_numel(op->cx, weight->type), classes)) ||
        fail(op->cx, E_VALUE,
             "weight tensor should be defined either for all %s classes or no classes but got "
             "weight tensor of shape: %s",
             dim_text(op->cx, classes)->s, shape_text(op, weight)->s);
}

/* Reads target, weight and ignore_index for the input x. False after an error. */
static bool read_classes(Op *op, Ox x, Classes *c)
{
    Ox weight = arg_opt(op, "weight");
    int rank;
    if (!need_rank(op, x, -1, &rank))
        return false;
    c->alone = false;
    c->target = arg_typed(op, "target", DT_INT64);
    if (rank == 1)
        c->target = as_batch(op, c->target, 1, &c->alone);
    if (!ox_ok(c->target))
        return false;
    if (ox_rank(c->target) >= 0 && rank > 1 && ox_rank(c->target) != rank - 1)
        return fail(op->cx, E_VALUE, "a target of rank %d does not fit an input of rank %d",
                    ox_rank(c->target), rank);
    if (rank > 0 && !classes_fit(op, x, c->target, weight, rank == 1))
        return false;
    c->target = ox_cast(op->g, c->target, DT_INT64); /* PyTorch takes uint8, too */
    Ox ignore = ox_int(op->g, arg_int(op, "ignore_index"));
    Ox zero = ox_int(op->g, 0);
    c->ignored = ox(op, "Equal", c->target, ignore);
    c->safe = ox(op, "Where", c->ignored, zero, c->target);
    Ox each = weight ? ox(op, "Gather", weight, c->safe) : number_like(op, 1, x);
    Ox none = number_like(op, 0, x);
    c->weight = ox(op, "Where", c->ignored, none, each);
    return ox_ok(c->weight);
}

/* The samples' losses as `reduction` says. The mean is the sum divided by that of the weights. */
static Ox over_samples(Op *op, Ox each, const Classes *c)
{
    int64_t how = arg_int(op, "reduction");
    if (how == MEAN) {
        Ox sum = sum_of(op, each);
        Ox weights = sum_of(op, c->weight);
        return ox(op, "Div", sum, weights);
    }
    return how == SUM ? sum_of(op, each) : first_only(op, each, c->alone);
}

/* -weight[y] x[y] of each sample; x has its batch axis */
static Ox picked(Op *op, Ox x, const Classes *c)
{
    Ox at = unsqueeze_axis(op, c->safe, 1);
    Ox value = pick_class(op, x, at);
    Ox axes = ints(op, 1);
    Ox flat = ox(op, "Squeeze", value, axes);
    Ox product = ox(op, "Mul", flat, c->weight);
    Ox zero = number_like(op, 0, x);
    /* the weight of an ignored one is 0, but times an infinite x that is not-a-number */
    Ox kept = ox(op, "Where", c->ignored, zero, product);
    return ox(op, "Neg", kept);
}

static Ox batched(Op *op, Ox x, const Classes *c)
{
    return c->alone ? unsqueeze_axis(op, x, 0) : x;
}

static Ox lower_nll(Op *op)
{
    Ox x = arg(op, "self");
    Classes c;
    if (!read_classes(op, x, &c))
        return POISON;
    return over_samples(op, picked(op, batched(op, x, &c), &c), &c);
}

/* -> (the loss, the sum of the weights; 0 without reduction) */
static Value lower_nll_forward(Op *op)
{
    Ox x = arg(op, "self");
    Ox out[2];
    Classes c;
    if (!read_classes(op, x, &c))
        return val_poison();
    out[0] = over_samples(op, picked(op, batched(op, x, &c), &c), &c);
    out[1] = arg_int(op, "reduction") == 0 ? number_like(op, 0, x) : sum_of(op, c.weight);
    return result_tuple(op, out, 2);
}

/* One weight a class, in the shape that multiplies along `axis`. */
static Ox weight_along(Op *op, Ox weight, int axis, int rank)
{
    Dim dims[MAX_RANK];
    for (int i = 0; i < rank; i++)
        dims[i] = i == axis ? ox_dim(weight, 0) : dim_int(op->cx, 1);
    return reshape_to(op, weight, dims, rank);
}

/* The loss of a target of probabilities: -sum of t log softmax(x) over the classes. Label smoothing
 * mixes t with the same share for all. The mean is over samples, whatever their weights. */
static Ox of_probabilities(Op *op, Ox logits, int axis, double smoothing)
{
    Ox t = arg(op, "target");
    Ox weight = arg_opt(op, "weight");
    if (!ox_ok(logits) || !ox_ok(t))
        return POISON;
    Ox classes = ox_cast(op->g, ox_dim_value(op->g, ox_dim(logits, axis)), ox_dtype(t));
    if (smoothing > 0) {
        Ox share = ox(op, "Div", number_like(op, smoothing, t), classes);
        t = ox(op, "Add", mul(op, t, 1 - smoothing), share);
    }
    Ox product = promoted(op, "Mul", logits, t);
    if (weight)
        product = promoted(op, "Mul", product, weight_along(op, weight, axis, ox_rank(logits)));
    Ox each = ox(op, "Neg", sum_over(op, product, axis));
    return reduced(op, each);
}

/* The part of label smoothing: -sum of weight log softmax(x) over all classes. */
static Ox smooth_part(Op *op, Ox logits, const Classes *c)
{
    Ox weight = arg_opt(op, "weight");
    Ox all = logits;
    if (weight)
        all = ox(op, "Mul", logits, weight_along(op, weight, 1, ox_rank(logits)));
    Ox each = ox(op, "Neg", sum_over(op, all, 1));
    Ox zero = number_like(op, 0, each);
    return over_samples(op, ox(op, "Where", c->ignored, zero, each), c);
}

/* The target holds class indices, or probabilities where it is of floats. */
static Ox lower_cross_entropy(Op *op)
{
    Ox x = arg(op, "self");
    Ox target = arg(op, "target");
    double smoothing = arg_float(op, "label_smoothing");
    int rank;
    Classes c;
    if (!need_rank(op, x, 2, &rank) || !ox_ok(target))
        return POISON;
    if (rank == 0)
        return op_fail(op, E_VALUE, "cross_entropy_loss: an input of rank 0 has no classes");
    int axis = rank > 1;
    Ox logits = ox_with(op, "LogSoftmax", INPUTS(x), INT("axis", axis));
    if (dtype_is_float(ox_dtype(target)) && !dtype_is_assumable(op->cx, target))
        return of_probabilities(op, logits, axis, smoothing);
    if (!read_classes(op, x, &c))
        return POISON;
    logits = batched(op, logits, &c);
    Ox loss = over_samples(op, picked(op, logits, &c), &c);
    if (smoothing <= 0)
        return loss;
    Ox classes = ox_cast(op->g, ox_dim_value(op->g, ox_dim(logits, 1)), ox_dtype(x));
    Ox share = ox(op, "Div", number_like(op, smoothing, x), classes);
    Ox others = ox(op, "Mul", smooth_part(op, logits, &c), share);
    Ox main = mul(op, loss, 1 - smoothing);
    return ox(op, "Add", main, others);
}

/* A gradient as a result: empty where parameter `asked` is False, else None, so that using it is an
 * error. */
static Value no_gradient(Op *op, const char *asked, int rank)
{
    if (arg_bool(op, asked))
        return val_none();
    Dim none = dim_int(op->cx, 0);
    Ox zero = number_like(op, 0, arg(op, "input"));
    return val_tensor(op->cx, expand_dims(op, zero, (Dim[]){ none, none }, rank));
}

/* The number of a reduction of this name; 0, none, for any other. */
static int reduction_named(Str name)
{
    if (str_is(name, "mean"))
        return MEAN;
    return str_is(name, "sum") ? SUM : 0;
}

/* nn.LinearCrossEntropyLoss, the loss of a linear layer's result. PyTorch computes it a few samples
 * at a time; the result is the same. */
static Value lower_linear_cross_entropy(Op *op)
{
    Value layer[] = { arg_value(op, "input"), arg_value(op, "linear_weight"),
                      arg_value(op, "linear_bias") };
    bool each = !has_param(op, "reduction");
    int reduction = each ? 0 : reduction_named(arg_str(op, "reduction"));
    Value smoothing = each ? val_float(0) : arg_value(op, "label_smoothing");
    Value loss[] = { call_op(op, "aten::linear", layer, 3),
                     arg_value(op, "target"),
                     arg_value(op, "weight"),
                     val_int(reduction),
                     arg_value(op, "ignore_index"),
                     smoothing };
    Value out[4] = { call_op(op, "aten::cross_entropy_loss", loss, 6) };
    if (each || !val_ok(out[0]))
        return out[0];
    out[1] = no_gradient(op, "compute_input_grad", 2);
    out[2] = no_gradient(op, "compute_linear_weight_grad", 2);
    out[3] = no_gradient(op, "compute_linear_bias_grad", 1);
    return val_tuple(op->cx, out, 4);
}

#define BOTH "default(self, target)"

OP_ROWS(loss)
{
    LOWER(lower_mse, BOTH, PLAIN,
          "aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor");
    LOWER(lower_l1, BOTH, PLAIN,
          "aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor");
    LOWER(lower_smooth_l1, BOTH, PLAIN,
          "aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> "
          "Tensor");
    LOWER(
        lower_huber, BOTH, PLAIN,
        "aten::huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor");
    LOWER(lower_bce, BOTH, PLAIN,
          "aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int "
          "reduction=1) -> Tensor",
          .derivative = OF_BCE);
    LOWER(lower_bce_backward, "default(grad_output, self, target)", PLAIN,
          "aten::binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, "
          "Tensor? weight=None, int reduction=1) -> Tensor");
    LOWER(lower_bce_logits, NULL, PLAIN,
          "aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, "
          "Tensor? pos_weight=None, int reduction=1) -> Tensor");
    LOWER(lower_kl_div, BOTH, PLAIN,
          "aten::kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> "
          "Tensor");
    LOWER(lower_poisson_nll, "int-to-float(input, target)", PLAIN,
          "aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float "
          "eps, int reduction) -> Tensor");
    LOWER(lower_soft_margin, BOTH, PLAIN,
          "aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor");
    LOWER(lower_margin_ranking, "default(input1, input2, target)", PLAIN,
          "aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., "
          "int reduction=1) -> Tensor");
    LOWER(lower_hinge_embedding, NULL, PLAIN,
          "aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int "
          "reduction=1) -> Tensor");
    LOWER(lower_cosine_embedding, "int-to-float(input1, input2)", PLAIN,
          "aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float "
          "margin=0., int reduction=1) -> Tensor");
    LOWER(lower_triplet_margin, NULL, PLAIN,
          "aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float "
          "margin=1., "
          "float p=2., float eps=1e-06, bool swap=False, int reduction=1) -> Tensor");
    LOWER(lower_multi_margin, NULL, PLAIN,
          "aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, "
          "Tensor? weight=None, int reduction=1) -> Tensor");
    LOWER(lower_multilabel_margin, NULL, PLAIN,
          "aten::multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor");
    CALL(lower_multilabel_margin_forward, NULL, PLAIN,
         "aten::multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> "
         "(Tensor output, Tensor is_target)");
    LOWER(lower_nll, NULL, PLAIN,
          "aten::nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt "
          "ignore_index=-100) -> Tensor");
    LOWER(lower_nll, NULL, PLAIN,
          "aten::nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "
          "SymInt ignore_index=-100) -> Tensor");
    LOWER(lower_nll, NULL, PLAIN,
          "aten::nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "
          "SymInt ignore_index=-100) -> Tensor");
    CALL(lower_nll_forward, NULL, PLAIN,
         "aten::nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt "
         "ignore_index) -> (Tensor output, Tensor total_weight)");
    CALL(lower_nll_forward, NULL, PLAIN,
         "aten::nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, "
         "SymInt ignore_index) -> (Tensor output, Tensor total_weight)");
    LOWER(lower_cross_entropy, NULL, PLAIN,
          "aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int "
          "reduction=1, "
          "SymInt ignore_index=-100, float label_smoothing=0.) -> Tensor");
    CALL(lower_linear_cross_entropy, NULL, PLAIN,
         "torch_nn::_linear_cross_entropy_batch_chunked(Tensor input, Tensor linear_weight, Tensor "
         "target, Tensor? linear_bias, "
         "Tensor? weight, str reduction, SymInt ignore_index, float label_smoothing, SymInt "
         "batch_chunk_size, str acc_policy, ScalarType acc_dtype, bool allow_retain_graph, "
         "bool compute_input_grad, bool compute_linear_weight_grad, bool compute_linear_bias_grad) "
         "-> (Tensor, Tensor, Tensor, Tensor)");
    CALL(lower_linear_cross_entropy, NULL, PLAIN,
         "torch_nn::_linear_cross_entropy_batch_chunked_no_reduction(Tensor input, Tensor "
         "linear_weight, Tensor target, "
         "Tensor? linear_bias, Tensor? weight, SymInt ignore_index, SymInt batch_chunk_size, str "
         "acc_policy, ScalarType acc_dtype) -> Tensor");
}
