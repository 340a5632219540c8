/* reduce.c - sums, products, means, extremes and variances over one axis, several or all; softmax
 * along an axis. Norms are in norm.c, running sums in cumulative.c. */
#include "ops/internal.h"
#include "value/autograd.h"

#include <math.h>

/* ---- the common shape of a reduction ---- */

/* ONNX sums no ints of 8 or 16 bits and compares none of 16. Both are reduced in int32: the low
 * bits of a sum or product are the same there. */
static bool needs_int32(const char *name, Ox x)
{
    bool sums = strcmp(name, "ReduceSum") == 0 || strcmp(name, "ReduceProd") == 0;
    bool compares = strcmp(name, "ReduceMax") == 0 || strcmp(name, "ReduceMin") == 0;
    if (!ox_ok(x) || !dtype_is_int(ox_dtype(x)))
        return false;
    size_t size = dtype_size(ox_dtype(x));
    return (sums && size < 4) || (compares && size == 2);
}

/* ReduceSum and ReduceMean of complex numbers reduce the parts, which lie on one more axis at the
 * end: no other axis gets another number. */
static Ox reduce_parts(Op *op, const char *name, Ox x, const Axes *axes, bool keep)
{
    Axes over = *axes;
    if (strcmp(name, "ReduceSum") != 0 && strcmp(name, "ReduceMean") != 0)
        return op_fail(op, E_UNSUPPORTED, "%s of complex numbers", name);
    if (ox_rank(x) == 0)
        return x;
    if (over.n == 0) /* all axes, of which the parts' is none */
        for (; over.n < ox_rank(x); over.n++)
            over.at[over.n] = over.n;
    Ox parts = reduce(op, name, ox_pair(op->g, x), &over, keep);
    return ox_of_pair(op->g, parts);
}

Ox reduce(Op *op, const char *name, Ox x, const Axes *axes, bool keep)
{
    int64_t at[MAX_RANK];
    if (needs_int32(name, x)) {
        Ox wide = reduce(op, name, ox_cast(op->g, x, DT_INT32), axes, keep);
        return ox_cast(op->g, wide, ox_dtype(x));
    }
    if (ox_is_complex(x))
        return reduce_parts(op, name, x, axes, keep);
    Attr keepdims = INT("keepdims", keep);
    if (axes->n == ox_rank(x) || axes->n == 0)
        return ox_make(op->g, name, INPUTS(x), &keepdims, 1);
    for (int i = 0; i < axes->n; i++)
        at[i] = axes->at[i];
    Ox list = ox_ints(op->g, at, (size_t)axes->n);
    return ox_make(op->g, name, INPUTS(x, list), &keepdims, 1);
}

bool has_param(Op *op, const char *name) { return param_named(op->call->schema, name) >= 0; }

bool reduced_axes(Op *op, Ox x, Axes *axes, bool *keep)
{
    int rank;
    *keep = has_param(op, "keepdim") && arg_bool(op, "keepdim");
    *axes = (Axes){ 0 };
    if (!has_param(op, "dim") && ox_ok(x) && ox_rank(x) < 0)
        return true;
    if (!need_rank(op, x, -1, &rank))
        return false;
    if (has_param(op, "dim"))
        return arg_axes(op, "dim", rank, axes);
    for (int i = 0; i < rank; i++) {
        axes->at[axes->n++] = i;
        axes->has[i] = true;
    }
    return true;
}

Ox outdone(Op *op, Ox x, bool max)
{
    static const struct {
        DType t;
        int64_t lo, hi;
    } range[] = {
        { DT_INT8, INT8_MIN, INT8_MAX },    { DT_UINT8, 0, UINT8_MAX },
        { DT_INT16, INT16_MIN, INT16_MAX }, { DT_INT32, INT32_MIN, INT32_MAX },
        { DT_INT64, INT64_MIN, INT64_MAX },
    };
    for (size_t i = 0; i < COUNT(range); i++)
        if (ox_dtype(x) == range[i].t)
            return ox_integer(op->g, range[i].t, max ? range[i].lo : range[i].hi);
    return number_like(op, max ? -INFINITY : INFINITY, x);
}

/* How many elements each result is made of. */
static Dim count_over(Op *op, Ox x, const Axes *axes)
{
    Dim n = dim_int(op->cx, 1);
    for (int i = 0; i < axes->n; i++)
        n = dim_mul(op->cx, n, ox_dim(x, axes->at[i]));
    return n;
}

/* The value that a reduction of no elements has. False: it has none. */
static bool neutral_value(const char *name, double *out)
{
    static const struct {
        const char *name;
        double value;
    } neutral[] = { { "ReduceSum", 0 }, { "ReduceProd", 1 }, { "ReduceLogSumExp", -INFINITY } };
    for (size_t i = 0; i < COUNT(neutral); i++)
        if (strcmp(name, neutral[i].name) == 0) {
            *out = neutral[i].value;
            return true;
        }
    return false;
}

/* The result of the row's reduction where x is known to have no elements along the axes:
 * sum(zeros[3, 0], dim=1) is three zeros. NULL: x has elements there, or may have.
 * ONNX says so from opset 20 on only, and ONNX Runtime does so from 1.18 on only. */
static Ox reduced_nothing(Op *op, Ox x, const Axes *axes, bool keep)
{
    Dim dims[MAX_RANK];
    int rank = 0;
    double value;
    if (!neutral_value(op->row->text, &value) || ox_rank(x) < 0 || dtype_is_complex(ox_dtype(x)))
        return NULL;
    if (!dim_is(count_over(op, x, axes), 0))
        return NULL;
    for (int i = 0; i < ox_rank(x); i++)
        if (keep || !axes->has[i])
            dims[rank++] = axes->has[i] ? dim_int(op->cx, 1) : ox_dim(x, i);
    return expand_dims(op, number_like(op, value, x), dims, rank);
}

/* sum, prod, amax, amin, logsumexp: row->text is the ONNX operator. A sum or product that dtype=
 * makes one of bools says whether any is true, or all are. */
static Ox lower_reduce(Op *op)
{
    Ox x = arg(op, "self");
    bool bools = ox_dtype(x) == DT_BOOL;
    Axes axes;
    bool keep;
    if (!reduced_axes(op, x, &axes, &keep) || !ox_ok(x))
        return POISON;
    x = bools ? ox_cast(op->g, x, DT_INT32) : x;
    Ox nothing = reduced_nothing(op, x, &axes, keep);
    Ox out = nothing ? nothing : reduce(op, op->row->text, x, &axes, keep);
    return bools ? ox_cast(op->g, out, DT_BOOL) : out;
}

static Ox count_of(Op *op, Ox x, const Axes *axes, DType t)
{
    Ox v = ox_dim_value(op->g, count_over(op, x, axes));
    return ox_cast(op->g, v, t);
}

/* The mean over no elements is not-a-number in PyTorch and unspecified in ONNX, so a sum is divided
 * by its count where there are none; and where that is not known, if `exact`. */
static Ox mean_over(Op *op, Ox x, const Axes *axes, bool keep, bool exact)
{
    Dim n = ox_ok(x) && axes->n ? count_over(op, x, axes) : NULL;
    if (!n || dim_le(op->cx, dim_int(op->cx, 1), n) == YES || !(exact || dim_is(n, 0)))
        return reduce(op, "ReduceMean", x, axes, keep);
    Ox sum = reduce(op, "ReduceSum", x, axes, keep);
    Ox count = count_of(op, x, axes, ox_dtype(x));
    return ox(op, "Div", sum, count);
}

/* sum_to_size undoes an expand, of [3, 1] to [5, 3, 4] say: the axes in front, here 0, go, and
 * those that become 1, here 2, stay. False after an error. */
static bool axes_to_size(Op *op, Ox x, Dims size, Axes *in_front, Axes *to_one)
{
    int lead = ox_rank(x) - (int)size.n;
    for (int i = 0; i < lead; i++)
        in_front->at[in_front->n++] = i;
    for (int i = lead; i < ox_rank(x); i++) {
        Dim want = size.at[i - lead];
        if (dim_is(want, 1) && !dim_is(ox_dim(x, i), 1))
            to_one->at[to_one->n++] = i;
        else if (!dim_require(op->cx, ox_dim(x, i), want,
                              "sum_to_size: dimension %d is not expandable", i))
            return false;
    }
    return true;
}

/* Whether PyTorch computes a sum at all: to its own size a tensor is itself. A single number is
 * summed always. */
static bool is_summed(Ox x, Dims size)
{
    int lead = ox_rank(x) - (int)size.n;
    if (size.n == 0 || lead > 0)
        return true;
    if (lead != 0)
        return false;
    for (size_t i = 0; i < size.n; i++)
        if (dim_is(size.at[i], 1) && !dim_is(ox_dim(x, (int)i), 1))
            return true;
    return false;
}

/* self itself where it has that size. */
static Ox summed_to_size(Op *op)
{
    Ox x = arg(op, "self");
    Dims size = arg_dims(op, "size");
    Axes in_front = { 0 };
    Axes to_one = { 0 };
    int rank;
    if (!need_rank(op, x, -1, &rank) || ctx_failed(op->cx))
        return POISON;
    bool complex = dtype_is_complex(ox_dtype(x));
    if (is_summed(x, size) && !dtype_is_float(ox_dtype(x)) && !complex)
        x = ox_cast(op->g, x, DT_INT64); /* PyTorch sums ints in int64 */
    if (size.n > (size_t)rank)
        return op_fail(op, E_VALUE, "size of %zu dims is not expandable to size %s.", size.n,
                       type_text(op->cx, x->type)->s);
    if (!axes_to_size(op, x, size, &in_front, &to_one))
        return POISON;
    Ox sum = complex ? ox_pair(op->g, x) : x; /* the parts' axis is behind all of x's */
    if (to_one.n)
        sum = reduce(op, "ReduceSum", sum, &to_one, true);
    if (in_front.n)
        sum = reduce(op, "ReduceSum", sum, &in_front, false);
    return complex ? ox_of_pair(op->g, sum) : sum;
}

static Value lower_sum_to_size(Op *op)
{
    Value self = arg_value(op, "self");
    Ox sum = summed_to_size(op);
    return arg_dims(op, "size").n > 0 && sum == arg(op, "self") ? self : val_tensor(op->cx, sum);
}

static Ox lower_mean(Op *op)
{
    Ox x = arg(op, "self");
    Axes axes;
    bool keep;
    if (ox_ok(x) && !dtype_is_float(ox_dtype(x)))
        return op_fail(op, E_VALUE,
                       "mean(): could not infer output dtype. Input dtype must be either a "
                       "floating point or complex dtype. Got: %s",
                       torch_dtype_name(ox_dtype(x)));
    return reduced_axes(op, x, &axes, &keep) ? mean_over(op, x, &axes, keep, false) : POISON;
}

/* ReduceMax and ReduceMin, in int32 for bools: ONNX's take bools from opset 20 on only. */
static Ox extreme(Op *op, const char *name, Ox x, const Axes *axes, bool keep)
{
    if (ox_dtype(x) != DT_BOOL)
        return reduce(op, name, x, axes, keep);
    Ox out = reduce(op, name, ox_cast(op->g, x, DT_INT32), axes, keep);
    return ox_cast(op->g, out, DT_BOOL);
}

static Ox lower_extreme(Op *op)
{
    Ox x = arg(op, "self");
    Axes axes;
    bool keep;
    return reduced_axes(op, x, &axes, &keep) ? extreme(op, op->row->text, x, &axes, keep) : POISON;
}

/* Is an empty list of axes given? To any and all these are no axes, to the other reductions
 * all of them. */
static bool over_no_axes(Op *op)
{
    return has_param(op, "dim") && arg_given(op, "dim") && arg_ints(op, "dim").n == 0;
}

/* any and all are ReduceMax and ReduceMin of 0 and 1, in int32. Of no elements those give the
 * lowest and the highest int, so `> 0` is right for both: any of nothing is false, all of nothing
 * true. In PyTorch a uint8 tensor gives uint8 here. */
static Ox lower_any_all(Op *op)
{
    Ox x = arg(op, "self");
    Axes axes;
    bool keep;
    if (!reduced_axes(op, x, &axes, &keep))
        return POISON;
    Ox some = ox_cast(op->g, x, DT_BOOL);
    if (over_no_axes(op))
        return ox_dtype(x) == DT_UINT8 ? ox_cast(op->g, some, DT_UINT8) : some;
    Ox one = ox_cast(op->g, some, DT_INT32);
    Ox most = reduce(op, op->row->text, one, &axes, keep);
    Ox zero = number_like(op, 0, one);
    Ox out = ox(op, "Greater", most, zero);
    return ox_dtype(x) == DT_UINT8 ? ox_cast(op->g, out, DT_UINT8) : out;
}

static Ox lower_count_nonzero(Op *op)
{
    Ox x = arg(op, "self");
    Axes axes;
    bool keep;
    if (!reduced_axes(op, x, &axes, &keep))
        return POISON;
    Ox some = ox_cast(op->g, x, DT_BOOL);
    Ox one = ox_cast(op->g, some, DT_INT64);
    return reduce(op, "ReduceSum", one, &axes, keep);
}

/* x with 0 for each not-a-number; ints have none. */
static Ox without_nan(Op *op, Ox x)
{
    if (!ox_ok(x) || !dtype_is_float(ox_dtype(x)))
        return x;
    Ox nan = ox(op, "IsNaN", x);
    Ox zero = number_like(op, 0, x);
    return ox(op, "Where", nan, zero, x);
}

static Ox lower_nansum(Op *op)
{
    Ox x = arg(op, "self");
    Axes axes;
    bool keep;
    if (!reduced_axes(op, x, &axes, &keep))
        return POISON;
    return reduce(op, "ReduceSum", without_nan(op, x), &axes, keep);
}

/* The sum of what is a number, divided by how many are. */
static Ox lower_nanmean(Op *op)
{
    Ox x = arg(op, "self");
    Axes axes;
    bool keep;
    if (!reduced_axes(op, x, &axes, &keep))
        return POISON;
    if (!dtype_is_float(ox_dtype(x)))
        return op_fail(
            op, E_VALUE,
            "nanmean(): expected input to have floating point or complex dtype but got %s",
            torch_dtype_name(ox_dtype(x)));
    Ox nan = ox(op, "IsNaN", x);
    Ox real = ox(op, "Not", nan);
    DType t = ox_dtype(x);
    Ox one = ox_cast(op->g, real, t == DT_DOUBLE ? DT_DOUBLE : DT_FLOAT);
    Ox sum = reduce(op, "ReduceSum", without_nan(op, x), &axes, keep);
    Ox count = reduce(op, "ReduceSum", one, &axes, keep); /* float16 counts no more than 2,048 */
    return ox_cast(op->g, ox(op, "Div", widened(op, sum), count), t);
}

/* ---- which element is the extreme ---- */

static Ox arg_extreme(Op *op, const char *name, Ox x, int axis, bool keep)
{
    if (ox_dtype(x) == DT_BOOL)
        x = ox_cast(op->g, x, DT_INT32);
    return ox_make(op->g, name, INPUTS(x), ATTRS(INT("axis", axis), INT("keepdims", keep)));
}

/* The index of a scalar's only element. */
static Ox zero_index(Op *op) { return ox_int(op->g, 0); }

/* Without dim= the index is that in the flattened tensor; keepdim then gives it shape [1, 1, ..].
 * row->text: ArgMax or ArgMin */
static Ox lower_arg_extreme(Op *op)
{
    Ox x = arg(op, "self");
    bool keep = arg_bool(op, "keepdim");
    int rank, axis = 0;
    if (!need_rank(op, x, -1, &rank) || (arg_given(op, "dim") && !arg_dim(op, "dim", rank, &axis)))
        return POISON;
    if (rank == 0)
        return zero_index(op);
    if (arg_given(op, "dim"))
        return arg_extreme(op, op->row->text, x, axis, keep);
    Ox at = arg_extreme(op, op->row->text, flatten_to_1d(op, x), 0, false);
    Dim ones[MAX_RANK];
    for (int i = 0; i < rank; i++)
        ones[i] = dim_int(op->cx, 1);
    return keep ? reshape_to(op, at, ones, rank) : at;
}

/* The extreme and its index -> out[0] and out[1]. Equal elements share the gradient of ReduceMax,
 * and PyTorch gives it to the one at the index: where it is wanted, that element is gathered. */
static void extreme_at_index(Op *op, Ox x, int axis, bool min, bool keep, Ox *out)
{
    Axes one = { .at = { axis }, .n = 1 };
    const char *index = min ? "ArgMin" : "ArgMax";
    if (!autograd_requires(op->cx, x)) {
        out[0] = extreme(op, min ? "ReduceMin" : "ReduceMax", x, &one, keep);
        out[1] = arg_extreme(op, index, x, axis, keep);
        return;
    }
    out[1] = arg_extreme(op, index, x, axis, true);
    out[0] = ox_with(op, "GatherElements", INPUTS(x, out[1]), INT("axis", axis));
    if (keep)
        return;
    Ox axes = ints(op, axis);
    for (int i = 0; i < 2; i++)
        out[i] = ox(op, "Squeeze", out[i], axes);
}

/* max(x, dim) -> (values, indices); row->datum: 0 max, 1 min */
static Value lower_extreme_dim(Op *op)
{
    Ox x = arg(op, "self");
    Ox out[2];
    bool keep = arg_bool(op, "keepdim");
    bool min = op->row->datum;
    int rank, axis;
    if (!need_rank(op, x, -1, &rank) || !arg_dim(op, "dim", rank, &axis))
        return val_poison();
    if (rank == 0) {
        out[0] = x;
        out[1] = zero_index(op);
    } else {
        extreme_at_index(op, x, axis, min, keep, out);
    }
    return result_tuple(op, out, 2);
}

static Value lower_aminmax(Op *op)
{
    Ox x = arg(op, "self");
    Ox out[2];
    Axes axes;
    bool keep;
    if (!reduced_axes(op, x, &axes, &keep))
        return val_poison();
    out[0] = extreme(op, "ReduceMin", x, &axes, keep);
    out[1] = extreme(op, "ReduceMax", x, &axes, keep);
    return result_tuple(op, out, 2);
}

/* ---- variance ---- */

/* The number that is subtracted from the count: correction=, 1 for unbiased=True, or 1. */
static double correction(Op *op)
{
    if (has_param(op, "correction"))
        return arg_given(op, "correction") ? arg_float(op, "correction") : 1;
    return arg_bool(op, "unbiased");
}

/* sum((x - mean(x))^2) / max(0, n - less), n the count of elements. mean NULL: not wanted. False
 * after an error. */
static bool real_variance(Op *op, Ox x, const Axes *axes, bool keep, double less, Ox *var, Ox *mean)
{
    Ox middle = reduce(op, "ReduceMean", x, axes, true);
    Ox away = ox(op, "Sub", x, middle);
    Ox square = ox(op, "Mul", away, away);
    if (mean)
        *mean = mean_over(op, x, axes, keep, true);
    if (less == 0) {
        *var = mean_over(op, square, axes, keep, true);
        return ox_ok(*var);
    }
    Ox n = count_of(op, x, axes, ox_dtype(x));
    Ox by = number_like(op, less, x);
    Ox left = ox(op, "Sub", n, by);
    Ox zero = number_like(op, 0, x);
    Ox divisor = ox(op, "Max", left, zero);
    Ox sum = reduce(op, "ReduceSum", square, axes, keep);
    *var = ox(op, "Div", sum, divisor);
    return ox_ok(*var);
}

/* The variance of complex numbers is real: the sum of their parts' variances. Their mean is
 * complex. */
static bool complex_variance(Op *op, Ox x, const Axes *axes, bool keep, double less, Ox *var,
                             Ox *mean)
{
    Ox part_var[2], part_mean[2];
    for (int i = 0; i < 2; i++) {
        Ox part = ox_part(op->g, x, i);
        if (!real_variance(op, part, axes, keep, less, &part_var[i], mean ? &part_mean[i] : NULL))
            return false;
    }
    *var = ox(op, "Add", part_var[0], part_var[1]);
    if (mean)
        *mean = ox_complex(op->g, part_mean[0], part_mean[1]);
    return ox_ok(*var);
}

/* The variance of argument `self` over argument `dim`, in the type in which PyTorch computes it,
 * and the mean unless mean is NULL. */
static bool variance(Op *op, Ox *var, Ox *mean)
{
    Ox x = arg(op, "self");
    Axes axes;
    bool keep;
    double less = correction(op);
    if (!reduced_axes(op, x, &axes, &keep) || ctx_failed(op->cx))
        return false;
    if (dtype_is_complex(ox_dtype(x)))
        return complex_variance(op, x, &axes, keep, less, var, mean);
    if (!dtype_is_float(ox_dtype(x)))
        return fail(op->cx, E_VALUE, "std and var only support floating point and complex dtypes");
    Ox wide = widened(op, x);
    if (!ox_ok(wide) || !real_variance(op, wide, &axes, keep, less, var, mean))
        return false;
    if (mean)
        *mean = ox_cast(op->g, *mean, ox_dtype(x));
    return true;
}

/* The root of a variance. At 0 its derivative is infinite: there PyTorch has none of it, and so has
 * what a program with gradients takes the root of. */
static Ox deviation(Op *op, Ox var)
{
    if (!autograd_requires(op->cx, var))
        return ox(op, "Sqrt", var);
    Ox zero = number_like(op, 0, var);
    Ox one = number_like(op, 1, var);
    Ox none = ox(op, "Equal", var, zero);
    Ox some = ox(op, "Where", none, one, var);
    Ox root = ox(op, "Sqrt", some);
    return ox(op, "Where", none, zero, root);
}

/* The result of that type for a variance; row->datum: 1 takes its root. */
static Ox spread(Op *op, Ox var)
{
    Ox wide = op->row->datum ? deviation(op, var) : var;
    DType t = ox_dtype(arg(op, "self"));
    return dtype_is_float(t) && ox_ok(wide) ? ox_cast(op->g, wide, t) : wide;
}

/* var and std */
static Ox lower_var(Op *op)
{
    Ox var;
    if (!variance(op, &var, NULL))
        return POISON;
    return spread(op, var);
}

static Value lower_var_mean(Op *op)
{
    Ox out[2];
    if (!variance(op, &out[0], &out[1]))
        return val_poison();
    out[0] = spread(op, out[0]);
    return result_tuple(op, out, 2);
}

/* ---- along an axis ---- */

/* Softmax and LogSoftmax: row->text. A scalar is given an axis of one element, and loses it
 * again. */
static Ox lower_softmax(Op *op)
{
    Ox x = arg(op, "self");
    int rank, axis;
    if (!need_rank(op, x, -1, &rank) || !arg_dim(op, "dim", rank, &axis))
        return POISON;
    if (rank > 0)
        return ox_make(op->g, op->row->text, INPUTS(x), ATTRS(INT("axis", axis)));
    Ox one = ox_make(op->g, op->row->text, INPUTS(unsqueeze_axis(op, x, 0)), ATTRS(INT("axis", 0)));
    return reshape_to(op, one, NULL, 0);
}

/* softmax, but a row that is -inf throughout gives zeros and not not-a-number. */
static Ox lower_safe_softmax(Op *op)
{
    Ox x = arg(op, "self");
    int rank, axis;
    if (!need_rank(op, x, -1, &rank) || !arg_dim(op, "dim", rank, &axis))
        return POISON;
    Value args[] = { val_tensor(op->cx, x), val_int(axis) };
    Value v = call_op(op, "aten::softmax", args, 2);
    Axes one = { .at = { axis }, .n = rank ? 1 : 0 };
    Ox lowest = number_like(op, -INFINITY, x);
    Ox masked = ox(op, "Equal", x, lowest);
    Ox as_int = ox_cast(op->g, masked, DT_INT32);
    Ox least = reduce(op, "ReduceMin", as_int, &one, true);
    Ox nothing = ox_cast(op->g, least, DT_BOOL);
    Ox zero = number_like(op, 0, x);
    Ox soft = val_ok(v) ? tensor_read(op->g, v.t) : POISON;
    return ox(op, "Where", nothing, zero, soft);
}

#define REDUCE(onnx, promo, line) UNARY(lower_reduce, onnx, promo, PLAIN, line)
#define EXTREME(onnx, line)       UNARY(lower_extreme, onnx, NULL, PLAIN, line)
#define LONG                      "bool-to-long(self)"
#define SELF                      "default(self)"

OP_ROWS(reduce)
{
    REDUCE("ReduceSum", LONG, "aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor");
    OLDER("aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
          "dtype=None) -> Tensor");
    CALL(lower_sum_to_size, NULL, PLAIN, "aten::sum_to_size(Tensor self, SymInt[] size) -> Tensor");
    REDUCE("ReduceProd", LONG, "aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor");
    OLDER("aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) "
          "-> Tensor");
    UNARY(lower_mean, "ReduceMean", SELF, PLAIN,
          "aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor");
    OLDER("aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) "
          "-> Tensor");
    LOWER(lower_nansum, LONG, PLAIN,
          "aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? "
          "dtype=None) -> Tensor");
    LOWER(lower_nanmean, SELF, PLAIN,
          "aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? "
          "dtype=None) -> Tensor");
    REDUCE("ReduceLogSumExp", "int-to-float(self)",
           "aten::special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor");
    REDUCE("ReduceLogSumExp", "int-to-float(self)",
           "aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor");
    EXTREME("ReduceMax", "aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor");
    EXTREME("ReduceMin", "aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor");
    EXTREME("ReduceMax", "aten::max(Tensor self) -> Tensor");
    EXTREME("ReduceMin", "aten::min(Tensor self) -> Tensor");
    CALL_FAMILY(lower_extreme_dim, 0, NULL, PLAIN,
                "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor "
                "indices)");
    CALL_FAMILY(lower_extreme_dim, 1, NULL, PLAIN,
                "aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor "
                "indices)");
    CALL(lower_aminmax, NULL, PLAIN,
         "aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor "
         "max)");
    UNARY(lower_arg_extreme, "ArgMax", NULL, PLAIN,
          "aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor");
    UNARY(lower_arg_extreme, "ArgMin", NULL, PLAIN,
          "aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor");
    CALL(lower_aminmax, NULL, PLAIN, "aten::_aminmax(Tensor self) -> (Tensor, Tensor)");
    OLDER("aten::_aminmax.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)");
    UNARY(lower_any_all, "ReduceMax", NULL, PLAIN, "aten::_is_any_true(Tensor self) -> Tensor");
    UNARY(lower_any_all, "ReduceMin", NULL, PLAIN, "aten::_is_all_true(Tensor self) -> Tensor");
    UNARY(lower_any_all, "ReduceMax", NULL, PLAIN, "aten::any(Tensor self) -> Tensor");
    OLDER("aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor");
    OLDER("aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor");
    UNARY(lower_any_all, "ReduceMin", NULL, PLAIN, "aten::all(Tensor self) -> Tensor");
    OLDER("aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor");
    OLDER("aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor");
    LOWER(lower_count_nonzero, NULL, PLAIN,
          "aten::count_nonzero(Tensor self, int? dim=None) -> Tensor");
    OLDER("aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor");
    FAMILY(lower_var, 1, NULL, PLAIN, "aten::std(Tensor self, bool unbiased=True) -> Tensor");
    OLDER("aten::std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> "
          "Tensor");
    OLDER("aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
          "keepdim=False) -> Tensor");
    FAMILY(lower_var, 0, NULL, PLAIN, "aten::var(Tensor self, bool unbiased=True) -> Tensor");
    OLDER("aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> "
          "Tensor");
    OLDER("aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
          "keepdim=False) -> Tensor");
    CALL_FAMILY(lower_var_mean, 1, NULL, PLAIN,
                "aten::std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)");
    OLDER("aten::std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> "
          "(Tensor, Tensor)");
    OLDER("aten::std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
          "bool keepdim=False) -> (Tensor, Tensor)");
    CALL_FAMILY(lower_var_mean, 0, NULL, PLAIN,
                "aten::var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)");
    OLDER("aten::var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> "
          "(Tensor, Tensor)");
    OLDER("aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
          "bool keepdim=False) -> (Tensor, Tensor)");
    UNARY(lower_softmax, "Softmax", SELF, PLAIN,
          "aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor");
    UNARY(lower_softmax, "Softmax", SELF, PLAIN,
          "aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor");
    UNARY(lower_softmax, "LogSoftmax", SELF, PLAIN,
          "aten::special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor");
    LOWER(lower_safe_softmax, SELF, PLAIN,
          "aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor");
    UNARY(lower_softmax, "Softmax", SELF, PLAIN,
          "aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor");
    UNARY(lower_softmax, "LogSoftmax", SELF, PLAIN,
          "aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor");
    UNARY(lower_softmax, "LogSoftmax", SELF, PLAIN,
          "aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor");
}
