/* search.c - where values are found: searchsorted, isin, unique, counts and histograms.
 *
 * Searching compares every value with every boundary and counts: no Loop, any shape. Counts are
 * added up by ScatterElements. */
#include "ops/internal.h"

#include <math.h>

/* How many of an axis are true. */
static Ox count_true(Op *op, Ox b, int axis)
{
    Axes one = { .at = { axis }, .n = 1 };
    return reduce(op, "ReduceSum", ox_ok(b) ? ox_cast(op->g, b, DT_INT64) : POISON, &one, false);
}

/* ---- searchsorted, bucketize ---- */

/* How many boundaries are before each value: those below it, or (right) not above it. The last axis
 * of the boundaries is searched; NaN is behind all boundaries. */
static Ox positions(Op *op, Ox boundaries, Ox x, bool right)
{
    int rank, own;
    if (!need_rank(op, boundaries, 1, &own) || !need_rank(op, x, -1, &rank))
        return POISON;
    if (own != 1 && own != rank)
        return op_fail(op, E_VALUE,
                       "torch.searchsorted(): boundaries tensor should be 1 dimension or the first "
                       "N-1 dimensions of boundaries tensor and input value tensor must match");
    Ox wide = unsqueeze_axis(op, x, rank);
    Ox row = own == 1 ? boundaries : unsqueeze_axis(op, boundaries, own - 1);
    Ox beyond = ox(op, right ? "Greater" : "GreaterOrEqual", row, wide);
    Ox before = ox(op, "Not", beyond);
    Ox n = count_true(op, before, rank);
    return ox_ok(n) && arg_bool(op, "out_int32") ? ox_cast(op->g, n, DT_INT32) : n;
}

/* Are there boundaries for all values, or for each vector of them? False after PyTorch's error. */
static bool boundaries_fit(Op *op, Ox boundaries, Ox x)
{
    int rank, own;
    if (!need_rank(op, boundaries, 1, &rank) || !need_rank(op, x, rank, &own))
        return false;
    bool fit = rank == 1 || rank == own;
    for (int i = 0; i < rank - 1 && fit; i++)
        fit = !surely_differ(op, ox_dim(boundaries, i), ox_dim(x, i));
    return fit ||
        fail(op->cx, E_VALUE,
             "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
             "dimensions of boundaries tensor and input value tensor must match, but we got "
             "boundaries tensor %s and input value tensor %s",
             shape_text(op, boundaries)->s, shape_text(op, x)->s);
}

static Ox lower_searchsorted(Op *op)
{
    Ox boundaries = arg(op, "sorted_sequence");
    Ox x = arg(op, "self");
    Ox sorter = arg_opt(op, "sorter");
    Str side = arg_str(op, "side");
    if (side && !str_is(side, "left") && !str_is(side, "right"))
        return op_fail(op, E_VALUE,
                       "torch.searchsorted(): side can only be 'left' or 'right' but got %s",
                       side->s);
    if (!boundaries_fit(op, boundaries, x))
        return POISON;
    if (sorter && ox_ok(boundaries))
        boundaries = ox_with(op, "GatherElements", INPUTS(boundaries, sorter),
                             INT("axis", ox_rank(boundaries) - 1));
    return positions(op, boundaries, x, side ? str_is(side, "right") : arg_bool(op, "right"));
}

static Ox lower_bucketize(Op *op)
{
    Ox boundaries = arg(op, "boundaries");
    Ox x = arg(op, "self");
    int rank;
    if (!need_rank(op, boundaries, 1, &rank))
        return POISON;
    if (rank != 1)
        return op_fail(op, E_VALUE,
                       "bucketize(): boundaries tensor must be 1 dimension, but got dim(%d)", rank);
    return positions(op, boundaries, x, arg_bool(op, "right"));
}

static Ox lower_isin(Op *op)
{
    bool scalar = param_named(op->call->schema, "elements") < 0;
    bool one = param_named(op->call->schema, "test_elements") < 0;
    Ox x = arg(op, scalar ? "element" : "elements");
    Ox tests = flatten_to_1d(op, arg(op, one ? "test_element" : "test_elements"));
    int rank;
    if (!need_rank(op, x, -1, &rank) || !ox_ok(tests))
        return POISON;
    Ox same = ox(op, "Equal", unsqueeze_axis(op, x, rank), tests);
    Ox count = count_true(op, same, rank);
    Ox zero = ox_int(op->g, 0);
    return ox(op, arg_bool(op, "invert") ? "Equal" : "Greater", count, zero);
}

/* ---- unique ----
 * ONNX has Unique for sorted values. unique_consecutive compares neighbours. */

static Ox nothing_of_ints(Op *op) { return ox_ints(op->g, NULL, 0); }

/* bfloat16, which ONNX's Unique and Compress do not take, as float32, which holds its numbers. */
static Ox without_bfloat16(Op *op, Ox x)
{
    return ox_dtype(x) == DT_BFLOAT16 ? ox_cast(op->g, x, DT_FLOAT) : x;
}

/* ONNX's Unique: out is values, inverse, counts. axis -1: of the flattened tensor. */
static bool sorted_unique(Op *op, Ox x, int axis, Ox out[3])
{
    Ox made[4];
    Ox taken = ox_dtype(x) == DT_BOOL ? ox_cast(op->g, x, DT_INT8) : without_bfloat16(op, x);
    if (!ox_make_n(op->g, "Unique", INPUTS(taken), ATTRS(axis < 0 ? NO_ATTR : INT("axis", axis)),
                   made, 4))
        return false;
    out[0] = ox_cast(op->g, made[0], ox_dtype(x));
    out[1] = axis < 0 ? reshape_to(op, made[2], x->type->dim, ox_rank(x)) : made[2];
    out[2] = made[3];
    return true;
}

/* Has the file recorded an inverse that is not empty? PyTorch 1.13 gives the inverse together with
 * counts even when only counts are asked for. */
static bool inverse_recorded(Op *op)
{
    Type t = op->n_expect > 1 ? op->expect[1] : NULL;
    return t && t->rank >= 0 &&
        (t->rank != 1 || (dim_known(t->dim[0], NULL) && !dim_is(t->dim[0], 0)));
}

/* Up to 2.11, torch records the inverse and the counts in a .pt2 as of the input's type. */
static void note_count_records(Op *op)
{
    if (op->expect[1] && op->expect[1]->dtype != DT_INT64)
        op->record_errs |= RESULT(1) | RESULT(2);
}

/* _unique and _unique2, of row->datum results; those that are not asked for are empty. PyTorch
 * sorts whatever `sorted` says. */
static Value lower_unique(Op *op)
{
    Ox x = arg(op, "self"), out[3];
    int rank;
    if (!need_rank(op, x, -1, &rank) || !sorted_unique(op, x, -1, out))
        return val_poison();
    if (!arg_bool(op, "return_inverse") && !inverse_recorded(op))
        out[1] = nothing_of_ints(op);
    if (op->row->datum == 3 && !arg_bool(op, "return_counts"))
        out[2] = nothing_of_ints(op);
    note_count_records(op);
    return result_tuple(op, out, (size_t)op->row->datum);
}

static Value lower_unique_dim(Op *op)
{
    Ox x = arg(op, "self"), out[3];
    int rank, axis;
    if (!need_rank(op, x, -1, &rank) || !arg_dim(op, "dim", rank, &axis))
        return val_poison();
    if (rank == 0) {
        fail(op->cx, E_VALUE, "Dimension specified as %d but tensor has no dimensions", axis);
        return val_poison();
    }
    note_count_records(op);
    return sorted_unique(op, x, axis, out) ? result_tuple(op, out, 3) : val_poison();
}

/* Does each slice of the axis differ from the one before it? 1-D bool, true for the first: of
 * 3 3 5 it is 1 0 1. */
static Ox starts_run(Op *op, Ox x, int axis)
{
    Dim size = ox_dim(x, axis);
    Dim one = dim_int(op->cx, 1);
    Dim zero = dim_int(op->cx, 0);
    Dim first = dim_min(op->cx, size, one);
    Ox here = slice_axis(op, x, axis, first, size, 1);
    Ox before = slice_axis(op, x, axis, zero, dim_sub(op->cx, size, first), 1);
    Ox same = ox(op, "Equal", here, before);
    Ox differs = ox(op, "Not", same);
    Axes others = { .n = 0 };
    for (int i = 0; i < ox_rank(x); i++)
        if (i != axis)
            others.at[others.n++] = i;
    if (others.n > 0) {
        Ox ones = ox_ok(differs) ? ox_cast(op->g, differs, DT_INT32) : POISON;
        Ox most = reduce(op, "ReduceMax", ones, &others, false);
        Ox none = number_like(op, 0, most);
        differs = ox(op, "Greater", most, none);
    }
    Ox begins = expand_dims(op, ox_bool(op->g, true), &first, 1);
    return concat_axis(op, (const Ox[]){ begins, differs }, 2, 0);
}

/* The number of the run that each slice is in: starts 1 0 1 give 0 0 1. */
static Ox run_numbers(Op *op, Ox starts)
{
    Ox number = ox_ok(starts) ? ox_cast(op->g, starts, DT_INT64) : POISON;
    Ox along = ox_int(op->g, 0);
    Ox one = ox_int(op->g, 1);
    Ox sum = ox(op, "CumSum", number, along);
    return ox(op, "Sub", sum, one);
}

/* The length of each run: where the next one starts (the last ends at `size`) less where it starts.
 * Without any run the list of ends has one item too many, so it is cut to the number of runs. */
static Ox run_lengths(Op *op, Ox starts, Dim size)
{
    Ox where = ox(op, "NonZero", starts);
    Ox axes = ints(op, 0);
    Ox from = ints(op, 1);
    Ox end = ints(op, INT64_MAX);
    Ox at = ox(op, "Squeeze", where, axes);
    Ox next = ox(op, "Slice", at, from, end, axes);
    Ox last = ox_dims(op->g, &size, 1);
    Ox ends = concat_axis(op, (const Ox[]){ next, last }, 2, 0);
    Ox zero = ints(op, 0);
    Ox count = ox(op, "Shape", at);
    Ox fit = ox(op, "Slice", ends, zero, count, axes);
    return ox(op, "Sub", fit, at);
}

/* unique_consecutive along an axis: one slice of each run, inverse, counts; empty where not asked
 * for. flat: x is `self` flattened, and the inverse has self's shape. */
static Value runs(Op *op, Ox x, int axis, bool flat, bool inverse, bool counts)
{
    DType t = ox_dtype(x);
    x = without_bfloat16(op, x);
    Ox starts = starts_run(op, x, axis);
    Ox none = nothing_of_ints(op);
    Ox first = ox_with(op, "Compress", INPUTS(x, starts), INT("axis", axis));
    Ox out[3] = { ox_ok(first) ? ox_cast(op->g, first, t) : POISON, none, none };
    if (inverse)
        out[1] = run_numbers(op, starts);
    if (inverse && flat) {
        Ox self = arg(op, "self");
        out[1] = reshape_to(op, out[1], self->type->dim, ox_rank(self));
    }
    if (counts)
        out[2] = run_lengths(op, starts, ox_dim(x, axis));
    return result_tuple(op, out, 3);
}

/* Along a dim all three results are given, asked for or not; of a vector, only those asked for
 * unless row->datum says all. torch 2.13 records results along a dim in a .pt2 with too many dims
 * and wrong sizes, and of a vector all three, so that record is not compared. */
static Value lower_unique_consecutive(Op *op)
{
    Ox x = arg(op, "self");
    bool along = arg_given(op, "dim");
    int rank, axis = 0;
    if (!need_rank(op, x, -1, &rank) || (along && !arg_dim(op, "dim", rank, &axis)))
        return val_poison();
    if (along && rank == 0) {
        fail(op->cx, E_VALUE, "Dimension specified as %d but tensor has no dimensions", axis);
        return val_poison();
    }
    bool flat = !along || rank == 1;
    bool all = op->row->datum || !flat;
    Ox list = flat ? flatten_to_1d(op, x) : x;
    if (along && op->expect[0] && op->expect[0]->rank != rank)
        op->record_errs = RESULT(0) | RESULT(1) | RESULT(2);
    if (along)
        op->n_expect = 0;
    note_count_records(op);
    if (!ox_ok(list))
        return val_poison();
    bool inverse = all || arg_bool(op, "return_inverse");
    bool counts = all || arg_bool(op, "return_counts");
    op->record_errs |= (inverse ? 0 : RESULT(1)) | (counts ? 0 : RESULT(2));
    return runs(op, list, axis, flat, inverse, counts);
}

/* ---- counting into bins ---- */

/* zeros[size] with `what` added at `where`. */
static Ox add_into(Op *op, Ox size, Ox where, Ox what)
{
    Ox zero = number_like(op, 0, what);
    Ox zeros = ox(op, "Expand", zero, size);
    return ox_with(op, "ScatterElements", INPUTS(zeros, where, what), INT("axis", 0),
                   STRING("reduction", str_of(op->cx, "add")));
}

/* How often each int from 0 on occurs, or the sum of its weights: zeros with ones added at the
 * ints. */
static Ox lower_bincount(Op *op)
{
    Ox x = arg(op, "self");
    Ox weights = arg_opt(op, "weights");
    int rank;
    if (!need_rank(op, x, 1, &rank))
        return POISON;
    if (rank != 1 || (!dtype_is_int(ox_dtype(x))))
        return op_fail(op, E_VALUE, "bincount only supports 1-d non-negative integral inputs.");
    Ox at = ox_cast(op->g, x, DT_INT64);
    Ox one = ox_int(op->g, 1);
    Ox least = ox_dim_value(op->g, arg_dim_expr(op, "minlength"));
    Ox size = least;
    if (!dim_is(ox_dim(x, 0), 0)) { /* ReduceMax of a dynamic size 0 gives the lowest int */
        Axes all = { 0 };
        Ox most = reduce(op, "ReduceMax", at, &all, false);
        Ox count = ox(op, "Add", most, one);
        size = ox(op, "Max", count, least);
    }
    Ox what = weights;
    if (!weights)
        what = expand_dims(op, one, x->type->dim, 1);
    else if (ox_ok(weights) && ox_dtype(weights) != DT_FLOAT)
        what = ox_cast(op->g, weights, DT_DOUBLE);
    /* up to 2.12, torch records them in a .pt2 as of the input's type */
    if (op->expect[0] && op->expect[0]->dtype == ox_dtype(x))
        op->record_errs = RESULT(0);
    return add_into(op, unsqueeze_axis(op, size, 0), at, what);
}

/* The ends of the histogram: min and max; where both are equal, the smallest and largest element;
 * where these are equal too, one to either side. */
static bool histogram_ends(Op *op, Ox x, Ox *low, Ox *high)
{
    double min = arg_float(op, "min");
    double max = arg_float(op, "max");
    *low = number_like(op, min, x);
    *high = number_like(op, max, x);
    if (min > max)
        return fail(op->cx, E_VALUE, "max must be larger than min");
    if (min < max || ctx_failed(op->cx))
        return !ctx_failed(op->cx);
    Ox one = number_like(op, 1, x);
    Axes all = { 0 };
    if (!dim_is(type_numel(op->cx, x->type), 0)) {
        *low = reduce(op, "ReduceMin", x, &all, false);
        *high = reduce(op, "ReduceMax", x, &all, false);
    }
    Ox same = ox(op, "Equal", *low, *high);
    Ox less = ox(op, "Sub", *low, one);
    Ox more = ox(op, "Add", *high, one);
    *low = ox(op, "Where", same, less, *low);
    *high = ox(op, "Where", same, more, *high);
    return ox_ok(*low) && ox_ok(*high);
}

/* Counts in `bins` equal bins from low to high: element x is in bin (x - low) * bins / (high -
 * low), the last bin has its upper end too, and elements outside count 0 in bin 0. */
static Ox lower_histc(Op *op)
{
    Ox x = flatten_to_1d(op, arg(op, "self"));
    Ox low, high;
    int64_t bins = arg_int(op, "bins");
    if (!ox_ok(x) || !histogram_ends(op, x, &low, &high))
        return POISON;
    if (!need_kernel(op, "histogram_cpu", ox_dtype(x), dtype_is_float(ox_dtype(x))))
        return POISON;
    if (bins <= 0)
        return op_fail(op, E_VALUE, "bins must be > 0");
    Ox above = ox(op, "GreaterOrEqual", x, low);
    Ox below = ox(op, "LessOrEqual", x, high);
    Ox inside = ox(op, "And", above, below);
    Ox n = number_like(op, (double)bins, x);
    Ox away = ox(op, "Sub", x, low);
    Ox span = ox(op, "Sub", high, low);
    Ox scaled = ox(op, "Mul", away, n);
    Ox place = ox(op, "Div", scaled, span);
    Ox zero = number_like(op, 0, x);
    Ox safe = ox(op, "Where", inside, place, zero);
    Ox whole = ox_ok(safe) ? ox_cast(op->g, safe, DT_INT64) : POISON;
    Ox last = ox_int(op->g, bins - 1);
    Ox at = ox(op, "Min", whole, last);
    Ox what = ox_ok(inside) ? ox_cast(op->g, inside, ox_dtype(x)) : POISON;
    return add_into(op, ints(op, bins), at, what);
}

OP_ROWS(search)
{
    LOWER(lower_searchsorted, "default(sorted_sequence, self)", PLAIN,
          "aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, "
          "bool right=False, str? side=None, Tensor? sorter=None) -> Tensor");
    OLDER("aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, "
          "bool right=False, str? side=None, Tensor? sorter=None) -> Tensor");
    LOWER(lower_bucketize, "default(self, boundaries)", PLAIN,
          "aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool "
          "right=False) -> Tensor");
    OLDER("aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool "
          "right=False) -> Tensor");
    LOWER(lower_isin, "default(elements, test_elements)", PLAIN,
          "aten::isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool "
          "assume_unique=False, bool invert=False) -> Tensor");
    LOWER(lower_isin, "default(elements, test_element)", PLAIN,
          "aten::isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool "
          "assume_unique=False, bool invert=False) -> Tensor");
    LOWER(lower_isin, "default(element, test_elements)", PLAIN,
          "aten::isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool "
          "assume_unique=False, bool invert=False) -> Tensor");
    CALL_FAMILY(lower_unique, 2, NULL, PLAIN,
                "aten::_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> "
                "(Tensor, Tensor)");
    CALL_FAMILY(lower_unique, 3, NULL, PLAIN,
                "aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool "
                "return_counts=False) -> (Tensor, Tensor, Tensor)");
    CALL(lower_unique_dim, NULL, PLAIN,
         "aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool "
         "return_counts=False) -> (Tensor, Tensor, Tensor)",
         .layout = LAYOUT_OWN_ORDER);
    CALL(lower_unique_consecutive, NULL, PLAIN,
         "aten::unique_consecutive(Tensor self, bool return_inverse=False, bool "
         "return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)",
         .layout = LAYOUT_OWN_ORDER);
    CALL_FAMILY(lower_unique_consecutive, 1, NULL, PLAIN,
                "aten::unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, "
                "bool return_counts=False) -> (Tensor, Tensor, Tensor)",
                .layout = LAYOUT_OWN_ORDER);
    LOWER(lower_bincount, NULL, PLAIN,
          "aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor");
    LOWER(lower_histc, NULL, PLAIN,
          "aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor");
}
