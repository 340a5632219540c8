/* sort.c - order along an axis: topk, sort, k-th values, medians, modes, quantiles.
 *
 * All are made of TopK, which takes equal elements in their order: every sort is stable. Where
 * PyTorch gives NaN if there is any (median, quantile), NaN is looked for apart, since ONNX does
 * not say where TopK sorts it. */
#include "ops/internal.h"

#include <math.h>

/* One axis that is sorted or reduced. A 0-d tensor counts as one element. */
typedef struct Column {
    Ox x;
    int axis;
    bool scalar;
    bool whole; /* all elements of a tensor, which may have none */
    Dim size;
} Column;

static bool column(Op *op, Column *c)
{
    int rank;
    *c = (Column){ .x = arg(op, "self") };
    if (!need_rank(op, c->x, -1, &rank) || !arg_dim(op, "dim", rank, &c->axis))
        return false;
    c->x = at_least_1d(op, c->x, &c->scalar);
    c->size = ox_dim(c->x, c->axis);
    return true;
}

/* column(), which must not be empty: an element is chosen from it. */
static bool column_of_some(Op *op, Column *c, const char *what)
{
    if (!column(op, c))
        return false;
    return !dim_is(c->size, 0) ||
        fail(op->cx, E_VALUE, "%s(): Expected reduction dim %d to have non-zero size.", what,
             c->axis);
}

/* The first k in order: values and indices. */
static bool first_k(Op *op, const Column *c, Dim k, bool largest, bool sorted, Ox *out)
{
    bool narrow = ox_dtype(c->x) == DT_BOOL;
    Ox in = narrow ? ox_cast(op->g, c->x, DT_UINT8) : c->x;
    Ox count = ox_dims(op->g, &k, 1);
    if (!ox_make_n(op->g, "TopK", INPUTS(in, count),
                   ATTRS(INT("axis", c->axis), INT("largest", largest), INT("sorted", sorted)), out,
                   2))
        return false;
    if (narrow)
        out[0] = ox_cast(op->g, out[0], DT_BOOL);
    return true;
}

static Value both_again(Op *op, Ox *out, bool scalar)
{
    for (int i = 0; i < 2; i++)
        out[i] = scalar_again(op, out[i], scalar);
    return result_tuple(op, out, 2);
}

static Value lower_topk(Op *op)
{
    Column c;
    Ox out[2];
    if (!column(op, &c) ||
        !first_k(op, &c, arg_dim_expr(op, "k"), arg_bool(op, "largest"), arg_bool(op, "sorted"),
                 out))
        return val_poison();
    return both_again(op, out, c.scalar);
}

static Value lower_sort(Op *op)
{
    Column c;
    Ox out[2];
    if (!column(op, &c) || !first_k(op, &c, c.size, arg_bool(op, "descending"), true, out))
        return val_poison();
    return both_again(op, out, c.scalar);
}

static Value lower_argsort(Op *op)
{
    Value both = lower_sort(op);
    return both.tag == V_TUPLE ? both.tuple->at[1] : both;
}

static Ox lower_msort(Op *op)
{
    Value args[] = { arg_value(op, "self"), val_int(0) };
    Value both = call_op(op, "aten::sort", args, 2);
    return both.tag == V_TUPLE ? tensor_read(op->g, both.tuple->at[0].t) : POISON;
}

/* ---- one of the sorted elements ---- */

/* Element number `at` of the axis; the axis is dropped unless it is kept. */
static Ox one_of(Op *op, const Column *c, Ox x, Dim at, bool keep)
{
    Dim next = dim_add(op->cx, at, dim_int(op->cx, 1));
    if (keep && !c->scalar)
        return slice_axis(op, x, c->axis, at, next, 1);
    Ox index = ox_dim_value(op->g, at);
    return ox_with(op, "Gather", INPUTS(x, index), INT("axis", c->axis));
}

/* The last of the k smallest, and its index. */
static Value lower_kthvalue(Op *op)
{
    Column c;
    Ox out[2];
    Dim k = arg_dim_expr(op, "k");
    bool keep = arg_bool(op, "keepdim");
    if (!column(op, &c))
        return val_poison();
    if (dim_lt(op->cx, c.size, k) == YES || dim_le(op->cx, k, dim_int(op->cx, 0)) == YES) {
        fail(op->cx, E_VALUE, "kthvalue(): selected number k out of range for dimension %d",
             c.axis);
        return val_poison();
    }
    if (!first_k(op, &c, k, false, true, out))
        return val_poison();
    Dim last = dim_sub(op->cx, k, dim_int(op->cx, 1));
    for (int i = 0; i < 2; i++)
        out[i] = one_of(op, &c, out[i], last, keep);
    return result_tuple(op, out, 2);
}

/* ---- medians: of an even number of elements the lower one ---- */

static Ox reduce_column(Op *op, const char *name, Ox x, int axis, bool keep)
{
    Axes one = { .at = { axis }, .n = 1 };
    return reduce(op, name, x, &one, keep);
}

/* Is any element of the axis NaN? */
static Ox some_nan(Op *op, Ox nan, int axis, bool keep)
{
    Ox ones = ox_ok(nan) ? ox_cast(op->g, nan, DT_INT32) : POISON;
    Ox most = reduce_column(op, "ReduceMax", ones, axis, keep);
    return ox_ok(most) ? ox_cast(op->g, most, DT_BOOL) : POISON;
}

/* The sorted elements, and a NaN behind them where there may be none: the middle of none is then
 * this NaN, by the index 0 or -1. */
static Ox never_empty(Op *op, const Column *c, Ox sorted)
{
    int64_t least, most;
    dim_range(op->cx, c->size, &least, &most);
    if (least > 0 || !dtype_is_float(ox_dtype(c->x)))
        return sorted;
    Ox nan = unsqueeze_axis(op, number_like(op, NAN, c->x), 0);
    return ox_with(op, "Concat", INPUTS(sorted, nan), INT("axis", 0));
}

/* Value and index of the element in the middle; of floats, of the first NaN if there is one. */
static bool median(Op *op, const Column *c, bool keep, Ox *out)
{
    Dim one = dim_int(op->cx, 1);
    Dim middle = dim_floordiv(op->cx, dim_sub(op->cx, c->size, one), dim_int(op->cx, 2));
    if (!middle || !first_k(op, c, dim_add(op->cx, middle, one), false, true, out))
        return false;
    if (c->whole)
        out[0] = never_empty(op, c, out[0]);
    for (int i = 0; i < 2; i++)
        out[i] = one_of(op, c, out[i], middle, keep);
    if (!dtype_is_float(ox_dtype(c->x)))
        return true;
    keep = keep && !c->scalar;
    Ox is_nan = ox(op, "IsNaN", c->x);
    Ox some = some_nan(op, is_nan, c->axis, keep);
    Ox nan = number_like(op, NAN, c->x);
    Ox first = ox_make(op->g, "ArgMax",
                       INPUTS(ox_ok(is_nan) ? ox_cast(op->g, is_nan, DT_INT32) : POISON),
                       ATTRS(INT("axis", c->axis), INT("keepdims", keep)));
    out[0] = ox(op, "Where", some, nan, out[0]);
    out[1] = ox(op, "Where", some, first, out[1]);
    return true;
}

/* median() that ignores NaNs: they are sorted to the end, and each column has a middle of its
 * own, at half the count of its numbers. */
static bool nan_median(Op *op, const Column *c, bool keep, Ox *out)
{
    if (!dtype_is_float(ox_dtype(c->x)))
        return median(op, c, keep, out);
    Column filled = *c;
    Ox nan = ox(op, "IsNaN", c->x);
    Ox last = number_like(op, INFINITY, c->x);
    Ox real = ox(op, "Not", nan);
    filled.x = ox(op, "Where", nan, last, c->x);
    Ox count = reduce_column(op, "ReduceSum", ox_ok(real) ? ox_cast(op->g, real, DT_INT64) : POISON,
                             c->axis, true);
    Ox one = ox_int(op->g, 1);
    Ox two = ox_int(op->g, 2);
    Ox less = ox(op, "Sub", count, one);
    Ox middle = ox(op, "Div", less, two); /* -1 / 2 is 0, where there are no numbers */
    if (!ox_ok(filled.x) || !first_k(op, &filled, c->size, false, true, out))
        return false;
    if (c->whole)
        out[0] = never_empty(op, c, out[0]);
    for (int i = 0; i < 2; i++)
        out[i] = ox_with(op, "GatherElements", INPUTS(out[i], middle), INT("axis", c->axis));
    Ox zero = ox_int(op->g, 0);
    Ox none = ox(op, "Equal", count, zero);
    Ox no_number = number_like(op, NAN, c->x);
    Ox axes = ints(op, c->axis);
    out[0] = ox(op, "Where", none, no_number, out[0]);
    if (keep && !c->scalar)
        return true;
    for (int i = 0; i < 2; i++)
        out[i] = ox(op, "Squeeze", out[i], axes);
    return true;
}

/* row->datum: 1 leaves out NaNs. */
static bool either_median(Op *op, const Column *c, bool keep, Ox *out)
{
    return op->row->datum ? nan_median(op, c, keep, out) : median(op, c, keep, out);
}

static Value lower_median_dim(Op *op)
{
    Column c;
    Ox out[2];
    bool keep = arg_bool(op, "keepdim");
    if (!column_of_some(op, &c, op->row->datum ? "nanmedian" : "median") ||
        !either_median(op, &c, keep, out))
        return val_poison();
    return result_tuple(op, out, 2);
}

static Ox lower_median(Op *op)
{
    Ox x = flatten_to_1d(op, arg(op, "self"));
    Ox out[2];
    if (!ox_ok(x))
        return POISON;
    Column c = { .x = x, .whole = true, .size = ox_dim(x, 0) };
    if (dim_is(c.size, 0) && dtype_is_float(ox_dtype(x)))
        return number_like(op, NAN, x);
    if (dim_is(c.size, 0))
        return op_refuse(op,
                         "of no ints: PyTorch makes an int of a not-a-number there, "
                         "which C leaves open");
    return either_median(op, &c, false, out) ? out[0] : POISON;
}

/* ---- mode ---- */

/* The most frequent value, the smallest of several such, and its last index. Each element is
 * compared with each: [n, n] on the axis. */
static Value lower_mode(Op *op)
{
    Column c;
    bool keep = arg_bool(op, "keepdim");
    if (!column_of_some(op, &c, "mode"))
        return val_poison();
    bool narrow = ox_dtype(c.x) == DT_BOOL;
    keep = keep && !c.scalar;
    Ox x = narrow ? ox_cast(op->g, c.x, DT_INT32) : c.x;
    Ox row = unsqueeze_axis(op, x, c.axis + 1);
    Ox line = unsqueeze_axis(op, x, c.axis);
    Ox same = ox(op, "Equal", row, line);
    Ox ones = ox_ok(same) ? ox_cast(op->g, same, DT_INT64) : POISON;
    Ox count = reduce_column(op, "ReduceSum", ones, c.axis + 1, false);
    Ox most = reduce_column(op, "ReduceMax", count, c.axis, true);
    Ox often = ox(op, "Equal", count, most);
    Ox highest = reduce_column(op, "ReduceMax", x, c.axis, true);
    Ox candidate = ox(op, "Where", often, x, highest);
    Ox value = reduce_column(op, "ReduceMin", candidate, c.axis, true);
    Ox there = ox(op, "Equal", x, value);
    Ox places = ox_ok(there) ? ox_cast(op->g, there, DT_INT32) : POISON;
    Ox axes = ints(op, c.axis);
    Ox out[2] = { keep ? value : ox(op, "Squeeze", value, axes), POISON };
    out[0] = narrow && ox_ok(out[0]) ? ox_cast(op->g, out[0], DT_BOOL) : out[0];
    out[1] = ox_make(
        op->g, "ArgMax", INPUTS(places),
        ATTRS(INT("axis", c.axis), INT("keepdims", keep), INT("select_last_index", 1)));
    return result_tuple(op, out, 2);
}

/* ---- quantiles ---- */

typedef struct Quantile {
    Ox sorted, ranks;
    bool per_column;
} Quantile;

/* The element of each rank, a whole number. */
static Ox of_rank(Op *op, const Quantile *q, Ox rank)
{
    Ox at = ox_ok(rank) ? ox_cast(op->g, rank, DT_INT64) : POISON;
    return ox_with(op, q->per_column ? "GatherElements" : "Gather", INPUTS(q->sorted, at),
                   INT("axis", ox_rank(q->sorted) - 1));
}

/* The quantiles at q->ranks: the element of a rank, or, of a fractional rank, what `interpolation`
 * makes of its two neighbours. */
static Ox interpolated(Op *op, const Quantile *q)
{
    static const struct {
        const char *name, *rounding;
    } one_rank[] = { { "lower", "Floor" }, { "higher", "Ceil" }, { "nearest", "Round" } };
    Str how = arg_str(op, "interpolation");
    for (size_t i = 0; i < COUNT(one_rank); i++)
        if (str_is(how, one_rank[i].name))
            return of_rank(op, q, ox(op, one_rank[i].rounding, q->ranks));
    bool midpoint = str_is(how, "midpoint");
    if (!midpoint && !str_is(how, "linear"))
        return op_fail(op, E_VALUE,
                       "quantile() interpolation must be one of linear, lower, higher, midpoint or "
                       "nearest, but got %s",
                       how ? how->s : "None");
    Ox floor = ox(op, "Floor", q->ranks);
    Ox ceil = ox(op, "Ceil", q->ranks);
    Ox below = of_rank(op, q, floor);
    Ox above = of_rank(op, q, ceil);
    Ox weight = midpoint ? number_like(op, 0.5, q->ranks) : ox(op, "Sub", q->ranks, floor);
    if (!ox_ok(below) || !ox_ok(above) || !ox_ok(weight))
        return POISON;
    Value args[] = { val_tensor(op->cx, below), val_tensor(op->cx, above),
                     val_tensor(op->cx, weight) };
    Value v = call_op(op, "aten::lerp", args, 3);
    return val_ok(v) ? tensor_read(op->g, v.t) : POISON;
}

/* The quantiles of the last axis: [.., n] and q of [m] give [.., m]. A column with a NaN gives NaN,
 * or (without_nan) is taken without it. */
static Ox quantiles(Op *op, Ox x, Ox q, bool without_nan)
{
    Column c = { .x = x, .axis = ox_rank(x) - 1 };
    c.size = ox_dim(x, c.axis);
    Ox nan = ox(op, "IsNaN", x);
    Ox one = number_like(op, 1, x);
    Ox out[2], count;
    Quantile at = { .per_column = without_nan };
    if (without_nan) {
        Ox last = number_like(op, INFINITY, x);
        Ox real = ox(op, "Not", nan);
        c.x = ox(op, "Where", nan, last, x);
        count = reduce_column(op, "ReduceSum",
                              ox_ok(real) ? ox_cast(op->g, real, ox_dtype(x)) : POISON, c.axis,
                              true);
    } else {
        count = ox_cast(op->g, ox_dim_value(op->g, c.size), ox_dtype(x));
    }
    if (!ox_ok(c.x) || !first_k(op, &c, c.size, false, true, out))
        return POISON;
    at.sorted = out[0];
    Ox less = ox(op, "Sub", count, one);
    Ox zero = number_like(op, 0, x);
    Ox ranks = ox(op, "Mul", q, less);
    at.ranks = without_nan ? ox(op, "Max", ranks, zero) : ranks;
    Ox found = interpolated(op, &at);
    Ox undefined = without_nan ? ox(op, "Equal", count, zero) : some_nan(op, nan, c.axis, true);
    Ox no_number = number_like(op, NAN, x);
    return ox(op, "Where", undefined, no_number, found);
}

/* Argument q: a number as a 0-d tensor of x's type, or a tensor, which must have that type. */
static Ox quantile_q(Op *op, Ox x)
{
    Value v = arg_value(op, "q");
    Ox q = v.tag == V_TENSOR ? arg(op, "q") : number_as(op, v, ox_dtype(x));
    int rank;
    if (!need_rank(op, q, 1, &rank))
        return POISON;
    if (rank > 1)
        return op_fail(op, E_VALUE, "quantile() q must be a scalar or 1D tensor");
    if (ox_dtype(q) != ox_dtype(x))
        return op_fail(op, E_VALUE, "quantile() q tensor must be same dtype as the input tensor");
    return q;
}

/* The quantiles of x along an axis, quantiles first: the axis is moved to the end for quantiles(),
 * whose last axis is then moved to the front. */
static Ox quantiles_first(Op *op, Ox x, int axis, Ox q)
{
    int perm[MAX_RANK], front[MAX_RANK];
    int n = ox_ok(x) ? ox_rank(x) : 1;
    int at = 0;
    for (int i = 0; i < n; i++) {
        if (i != axis)
            perm[at++] = i;
        front[i] = i ? i - 1 : n - 1;
    }
    perm[at] = axis;
    Ox moved = permute_to(op, x, perm, n);
    Ox list = flatten_to_1d(op, q);
    Ox found = quantiles(op, moved, list, op->row->datum);
    return permute_to(op, found, front, n);
}

/* row->datum: 1 leaves out NaNs. The quantiles are the first axis of the result; a single number as
 * q gives no such axis. quantile(x of [2, 3], q of [5], dim=1, keepdim=True) is [5, 2, 1]. */
static Ox lower_quantile(Op *op)
{
    Ox x = arg(op, "self");
    bool keep = arg_bool(op, "keepdim");
    bool all = !arg_given(op, "dim");
    int rank;
    int axis = 0;
    if (!need_rank(op, x, -1, &rank) || (!all && !arg_dim(op, "dim", rank, &axis)))
        return POISON;
    if (ox_dtype(x) != DT_FLOAT && ox_dtype(x) != DT_DOUBLE)
        return op_fail(op, E_VALUE, "quantile() input tensor must be either float or double dtype");
    Ox q = quantile_q(op, x);
    if (!ox_ok(q))
        return POISON;
    Ox flat = all || rank == 0 ? flatten_to_1d(op, x) : x;
    Ox found = quantiles_first(op, flat, axis, q);
    if (!ox_ok(found))
        return POISON;
    Dim dims[MAX_RANK + 1] = { ox_dim(found, 0) };
    int at = ox_rank(q);
    for (int i = 0; i < rank; i++) {
        if (!all && i != axis)
            dims[at++] = ox_dim(x, i);
        else if (keep)
            dims[at++] = dim_int(op->cx, 1);
    }
    return reshape_to(op, found, dims, at);
}

/* All elements that are the median share its gradient; all NaN, where it is one. */
#define IS_RESULT "Or(Equal(self, result), And(IsNaN(self), IsNaN(result)))"
#define OF_EQUALS                                            \
    "self = Div(Where(" IS_RESULT ", grad, like(0, grad)), " \
    "ReduceSum<keepdims=0>(cast(" IS_RESULT ", dtype(grad))))"

OP_ROWS(sort)
{
    CALL(lower_topk, NULL, PLAIN,
         "aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> "
         "(Tensor values, Tensor indices)");
    CALL(lower_sort, NULL, PLAIN,
         "aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor "
         "indices)");
    CALL(lower_sort, NULL, PLAIN,
         "aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> "
         "(Tensor values, Tensor indices)");
    CALL(lower_argsort, NULL, PLAIN,
         "aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor");
    CALL(lower_argsort, NULL, PLAIN,
         "aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> "
         "Tensor");
    LOWER(lower_msort, NULL, PLAIN, "aten::msort(Tensor self) -> Tensor");
    CALL(lower_kthvalue, NULL, PLAIN,
         "aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, "
         "Tensor indices)");
    FAMILY(lower_median, 0, NULL, PLAIN, "aten::median(Tensor self) -> Tensor",
           .derivative = OF_EQUALS);
    CALL_FAMILY(lower_median_dim, 0, NULL, PLAIN,
                "aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, "
                "Tensor indices)");
    FAMILY(lower_median, 1, NULL, PLAIN, "aten::nanmedian(Tensor self) -> Tensor",
           .derivative = OF_EQUALS);
    CALL_FAMILY(lower_median_dim, 1, NULL, PLAIN,
                "aten::nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, "
                "Tensor indices)");
    CALL(lower_mode, NULL, PLAIN,
         "aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor "
         "indices)");
    /* a number before a tensor: 1 and True are numbers too */
    FAMILY(lower_quantile, 0, NULL, PLAIN,
           "aten::quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str "
           "interpolation=\"linear\") -> Tensor");
    OLDER("aten::quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str "
          "interpolation=\"linear\") -> Tensor");
    FAMILY(lower_quantile, 1, NULL, PLAIN,
           "aten::nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, "
           "str interpolation=\"linear\") -> Tensor");
    OLDER("aten::nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str "
          "interpolation=\"linear\") -> Tensor");
}
