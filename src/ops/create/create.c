/* create.c - tensors from nothing: zeros, full, arange, linspace, eye, tensor. random.c has the
 * random ones.
 *
 * A shape whose sizes are known gives a constant when it is small; otherwise a node makes the
 * tensor when the model runs. Device, layout and memory format mean nothing in ONNX. empty is
 * zeros: its contents mean nothing to PyTorch either. */
#include "ops/internal.h"

#include <math.h>

/* Sequences of at most this many elements are computed during the conversion, exactly as PyTorch
 * computes them. */
enum { CONST_NUMEL = 65536 };

/* The type that a Python number gives a new tensor. */
static DType number_dtype(Ctx *cx, Value v)
{
    switch (v.tag) {
    case V_BOOL:
    case V_SYMBOOL: return DT_BOOL;
    case V_INT:
    case V_SYMINT:  return DT_INT64;
    case V_COMPLEX: return DT_COMPLEX64;
    case V_TENSOR:  return tensor_type(v.t)->dtype;
    default:        return dtype_default(cx);
    }
}

/* A tensor of these dims, each element the 0-d value. */
static Ox filled(Op *op, Ox value, const Dim *dims, size_t rank)
{
    if (!ox_ok(value) || ctx_failed(op->cx))
        return POISON;
    if (rank == 0)
        return value;
    Ox shape = ox_dims(op->g, dims, rank);
    return ox(op, "Expand", value, shape);
}

/* zeros, ones, empty of `size`. row->datum: the number. The type is dtype=, else the default. */
static Ox lower_fill_shape(Op *op)
{
    Dims d = arg_new_sizes(op, "size");
    DType t = arg_dtype(op, "dtype", dtype_default(op->cx));
    return filled(op, ox_integer(op->g, t, op->row->datum), d.at, d.n);
}

/* Does argument `physical_layout` name each of n dims once? False after PyTorch's error. */
static bool layout_is_valid(Op *op, int64_t n)
{
    Ints layout = arg_ints(op, "physical_layout");
    bool seen[MAX_RANK] = { false };
    if ((int64_t)layout.n != n)
        return fail(op->cx, E_VALUE,
                    "Number of dimensions in size does not match the length of the "
                    "physical_layout; i.e. len(size) = %lld is not equal to len(physical_layout) "
                    "= %zu",
                    (long long)n, layout.n);
    for (int64_t i = 0; i < n; i++) {
        int64_t dim = layout.at[i];
        if (dim < 0 || dim >= n)
            return fail(op->cx, E_VALUE,
                        "Dimension out of range (expected to be between 0 and %lld, but got %lld "
                        "at index %lld)",
                        (long long)n - 1, (long long)dim, (long long)i);
        if (seen[dim])
            return fail(op->cx, E_VALUE, "Duplicate dim not allowed");
        seen[dim] = true;
    }
    return true;
}

static Ox lower_empty_permuted(Op *op)
{
    Dims d = arg_new_sizes(op, "size");
    return ctx_failed(op->cx) || !layout_is_valid(op, (int64_t)d.n) ? POISON : lower_fill_shape(op);
}

/* zeros_like, ones_like, empty_like. row->datum: the number. The type is dtype=, else self's. */
static Ox lower_fill_like(Op *op)
{
    Ox x = arg(op, "self");
    int rank;
    if (!ox_ok(x) || !need_rank(op, x, -1, &rank))
        return POISON;
    DType t = arg_dtype(op, "dtype", ox_dtype(x));
    return filled(op, ox_integer(op->g, t, op->row->datum), x->type->dim, (size_t)rank);
}

/* x.new_zeros(size) and its like. row->datum: the number. The type is dtype=, else self's. */
static Ox lower_new_fill(Op *op)
{
    Ox x = arg(op, "self");
    if (!ox_ok(x))
        return POISON;
    Dims d = arg_new_sizes(op, "size");
    DType t = arg_dtype(op, "dtype", ox_dtype(x));
    return filled(op, ox_integer(op->g, t, op->row->datum), d.at, d.n);
}

static Ox lower_empty_strided(Op *op)
{
    Dims size = arg_new_sizes(op, "size");
    Dims stride = arg_dims(op, "stride");
    if (ctx_failed(op->cx) || !need_storage(op, size, stride))
        return POISON;
    return has_param(op, "self") ? lower_new_fill(op) : lower_fill_shape(op);
}

/* full. row->datum: the type without dtype=, or DT_NONE for the number's own. */
static Ox lower_full(Op *op)
{
    Value v = arg_value(op, "fill_value");
    Dims d = arg_new_sizes(op, "size");
    DType t = arg_dtype(op, "dtype",
                        op->row->datum ? (DType)op->row->datum : number_dtype(op->cx, v));
    return filled(op, number_filling(op, v, t, d.at, d.n), d.at, d.n);
}

static Ox lower_new_full(Op *op)
{
    Ox x = arg(op, "self");
    if (!ox_ok(x))
        return POISON;
    Dims d = arg_new_sizes(op, "size");
    DType t = arg_dtype(op, "dtype", ox_dtype(x));
    return filled(op, number_filling(op, arg_value(op, "fill_value"), t, d.at, d.n), d.at, d.n);
}

static Ox lower_full_like(Op *op)
{
    Ox x = arg(op, "self");
    int rank;
    if (!ox_ok(x) || !need_rank(op, x, -1, &rank))
        return POISON;
    DType t = arg_dtype(op, "dtype", ox_dtype(x));
    return filled(op,
                  number_filling(op, arg_value(op, "fill_value"), t, x->type->dim, (size_t)rank),
                  x->type->dim, (size_t)rank);
}

/* ---- sequences ---- */

/* A 1-D constant from doubles, rounded once to t. */
static Ox const_of_doubles(Op *op, DType t, const double *v, int64_t n)
{
    Ox wide = ox_const(op->g, const_make(op->cx, DT_DOUBLE, 1, &n, v));
    return ox_cast(op->g, wide, t);
}

/* Is v a number that is known now? */
static bool concrete_number(Value v, double *out)
{
    if (v.tag == V_INT || v.tag == V_BOOL)
        *out = v.tag == V_INT ? (double)v.i : v.b;
    else if (v.tag == V_FLOAT)
        *out = v.f;
    else
        return false;
    return true;
}

/* Does the step lead from start to end? Else PyTorch's error. */
static bool leads_there(Op *op, double start, double end, double step)
{
    if (step == 0)
        return fail(op->cx, E_VALUE, "step must be nonzero");
    return !((end - start) / step < 0) ||
        fail(op->cx, E_VALUE, "upper bound and lower bound inconsistent with step sign");
}

/* Range of whole numbers: the length is a dimension expression, so it stays exactly known. */
static Ox arange_ints(Op *op, Value start, Value end, Value step, DType t)
{
    Ox from = number_as(op, start, DT_INT64);
    Ox to = number_as(op, end, DT_INT64);
    Ox by = number_as(op, step, DT_INT64);
    return ox_cast(op->g, ox(op, "Range", from, to, by), t);
}

/* A result of an int type truncates start and step after counting the elements: arange(0, 2, 0.5,
 * dtype=int32) is 0 0 0 0. For int64 torch up to 2.13 truncates all three before counting: it
 * counted so unless the file records what the others would have. */
static bool truncates_first(Op *op, double start, double end, double step, DType t)
{
    int64_t n;
    Type said = op->n_expect == 1 ? op->expect[0] : NULL;
    if (t != DT_INT64 || !said || said->rank != 1 || !dim_known(said->dim[0], &n))
        return t == DT_INT64;
    return (double)n == ceil((trunc(end) - trunc(start)) / trunc(step)) ||
        (double)n != ceil((end - start) / step);
}

/* A constant: element i is start + i * step in double, as PyTorch computes it. NULL when it would
 * be too large. */
static Ox arange_known(Op *op, double start, double end, double step, DType t)
{
    if (!leads_there(op, start, end, step))
        return POISON;
    if (truncates_first(op, start, end, step, t)) {
        start = trunc(start);
        end = trunc(end);
        step = trunc(step);
    }
    if (!leads_there(op, start, end, step))
        return POISON;
    double n = ceil((end - start) / step);
    if (!isfinite(n))
        return op_fail(op, E_VALUE, "unsupported range: %g -> %g", start, end);
    if (n > CONST_NUMEL)
        return NULL;
    if (dtype_is_int(t)) {
        start = trunc(start);
        step = trunc(step);
    }
    double *v = new_array(op->cx, double, n > 0 ? n : 1);
    if (!v)
        return POISON;
    for (int64_t i = 0; i < (int64_t)n; i++)
        v[i] = start + (double)i * step;
    return const_of_doubles(op, t, v, (int64_t)n);
}

/* Elements of an int type from floats that the model computes. int64 truncates before counting,
 * as torch up to 2.13 does, the others after: Range(0, ceil((end - start) / step)) scaled. */
static Ox arange_cut(Op *op, Value start, Value end, Value step, DType t)
{
    Ox from = number_as(op, start, DT_DOUBLE);
    Ox to = number_as(op, end, DT_DOUBLE);
    Ox by = number_as(op, step, DT_DOUBLE);
    if (!ox_ok(from) || !ox_ok(to) || !ox_ok(by))
        return POISON;
    Ox first = ox_cast(op->g, from, DT_INT64);
    Ox each = ox_cast(op->g, by, DT_INT64);
    if (t == DT_INT64)
        return ox(op, "Range", first, ox_cast(op->g, to, DT_INT64), each);
    Ox length = ox(op, "Sub", to, from);
    Ox steps = ox(op, "Div", length, by);
    Ox n = ox(op, "Ceil", steps);
    if (!ox_ok(n))
        return POISON;
    Ox ramp = ox(op, "Range", ox_int(op->g, 0), ox_cast(op->g, n, DT_INT64), ox_int(op->g, 1));
    Ox moved = ox(op, "Mul", ramp, each);
    return ox_cast(op->g, ox(op, "Add", moved, first), t);
}

/* Range in double, as PyTorch counts, then the type. */
static Ox arange_floats(Op *op, Value start, Value end, Value step, DType t)
{
    Ox from = number_as(op, start, DT_DOUBLE);
    Ox to = number_as(op, end, DT_DOUBLE);
    Ox by = number_as(op, step, DT_DOUBLE);
    return ox_cast(op->g, ox(op, "Range", from, to, by), t);
}

/* Is the number an int or a bool, known or not? */
static bool is_whole(Op *op, Value v)
{
    DType t = number_dtype(op->cx, v);
    return t == DT_INT64 || t == DT_BOOL;
}

/* start, start + step, .. before end. Three ints give int64 and a Range, whose length is a
 * dimension; known floats a constant; anything else a Range in double. */
static Ox arange(Op *op, Value start, Value end, Value step)
{
    bool whole = is_whole(op, start) && is_whole(op, end) && is_whole(op, step);
    DType t = arg_dtype(op, "dtype", whole ? DT_INT64 : dtype_default(op->cx));
    if (start.tag == V_POISON || end.tag == V_POISON || step.tag == V_POISON)
        return POISON;
    double a = 0;
    double b = 0;
    double s = 0;
    bool concrete = concrete_number(start, &a) && concrete_number(end, &b) &&
        concrete_number(step, &s);
    if (whole && !dtype_is_complex(t)) {
        if (concrete && !leads_there(op, a, b, s))
            return POISON;
        return arange_ints(op, start, end, step, t);
    }
    if (concrete) {
        Ox known = arange_known(op, a, b, s, t);
        if (known)
            return known;
    }
    if (dtype_is_int(t))
        return arange_cut(op, start, end, step, t);
    return arange_floats(op, start, end, step, t);
}

/* row->datum: which of start and step the schema has, 0 neither, 1 start, 2 both. */
static Ox lower_arange(Op *op)
{
    bool has_start = op->row->datum >= 1;
    bool has_step = op->row->datum >= 2;
    Value start = has_start ? arg_value(op, "start") : val_int(0);
    Value step = has_step ? arg_value(op, "step") : val_int(1);
    return arange(op, start, arg_value(op, "end"), step);
}

/* range of whole numbers, or of an int type, to which PyTorch truncates all three first: to one
 * further than the end, which is then the last. */
static Ox range_ints(Op *op, Value start, Value end, Value step, DType t)
{
    Ox from = number_as(op, start, DT_INT64);
    Ox last = number_as(op, end, DT_INT64);
    Ox by = number_as(op, step, DT_INT64);
    double s;
    if (concrete_number(step, &s) && trunc(s) == 0)
        return op_fail(op, E_VALUE, "step must be nonzero");
    Ox to = ox(op, "Add", last, ox(op, "Sign", by));
    return ox_cast(op->g, ox(op, "Range", from, to, by), t);
}

/* Element i is start + i * step in double, as PyTorch computes it. */
static Ox range_floats(Op *op, Value start, Value end, Value step, DType t)
{
    Ox from = number_as(op, start, DT_DOUBLE);
    Ox to = number_as(op, end, DT_DOUBLE);
    Ox by = number_as(op, step, DT_DOUBLE);
    Ox length = ox(op, "Sub", to, from);
    Ox steps = ox(op, "Div", length, by);
    Ox n = ox(op, "Add", steps, ox_number(op->g, DT_DOUBLE, 1));
    if (!ox_ok(n))
        return POISON;
    Ox ramp = ox(op, "Range", ox_int(op->g, 0), ox_cast(op->g, n, DT_INT64), ox_int(op->g, 1));
    Ox moved = ox(op, "Mul", ox_cast(op->g, ramp, DT_DOUBLE), by);
    return ox_cast(op->g, ox(op, "Add", moved, from), t);
}

/* range_floats() of known numbers as a constant; NULL when it would be too large. */
static Ox range_known(Op *op, double start, double end, double step, DType t)
{
    double n = trunc((end - start) / step + 1);
    if (!(n >= 0 && n <= CONST_NUMEL))
        return NULL;
    double *v = new_array(op->cx, double, n);
    if (!v)
        return POISON;
    for (int64_t i = 0; i < (int64_t)n; i++)
        v[i] = start + (double)i * step;
    return const_of_doubles(op, t, v, (int64_t)n);
}

/* start, start + step, .. up to end and with it. Unlike arange it gives floats even of ints.
 * row->datum: has the schema a step? */
static Ox lower_range(Op *op)
{
    Value start = arg_value(op, "start");
    Value end = arg_value(op, "end");
    Value step = op->row->datum ? arg_value(op, "step") : val_int(1);
    DType t = arg_dtype(op, "dtype", dtype_default(op->cx));
    if (start.tag == V_POISON || end.tag == V_POISON || step.tag == V_POISON)
        return POISON;
    if (!need_kernel(op, "range_cpu", t, dtype_is_float(t) || dtype_is_int(t)))
        return POISON;
    double a = 0;
    double b = 0;
    double s = 0;
    bool concrete = concrete_number(start, &a) && concrete_number(end, &b) &&
        concrete_number(step, &s);
    if (concrete && !(isfinite(a) && isfinite(b)))
        return op_fail(op, E_VALUE, "unsupported range: %g -> %g", a, b);
    if (concrete && !leads_there(op, a, b, s))
        return POISON;
    if (concrete && isnan(s))
        return op_fail(op, E_VALUE, "step must be nonzero");
    bool whole = is_whole(op, start) && is_whole(op, end) && is_whole(op, step);
    if (whole || dtype_is_int(t))
        return range_ints(op, start, end, step, t);
    Ox known = concrete ? range_known(op, a, b, s, t) : NULL;
    return known ? known : range_floats(op, start, end, step, t);
}

/* 0, 1, .., one for each index of an axis of another tensor. */
static Ox lower_dim_arange(Op *op)
{
    Ox like = arg(op, "like");
    int rank, axis;
    if (!need_rank(op, like, -1, &rank) || !arg_dim(op, "dim", rank, &axis))
        return POISON;
    return ox(op, "Range", ox_int(op->g, 0), ox_dim_value(op->g, ox_dim(like, axis)),
              ox_int(op->g, 1));
}

/* linspace and logspace step from both ends, so that both ends are exact: element i is
 * start + i * step in the first half, end - (n - 1 - i) * step in the second. Ends of an int type
 * are truncated first. base: logspace's, else NULL. */
static Ox known_space(Op *op, double a, double b, int64_t n, const double *base, DType t)
{
    if (dtype_is_int(t)) {
        a = trunc(a);
        b = trunc(b);
    }
    double *v = new_array(op->cx, double, n ? n : 1);
    if (!v)
        return POISON;
    double step = n > 1 ? (b - a) / (double)(n - 1) : 0;
    for (int64_t i = 0; i < n; i++) {
        bool first_half = i < n / 2 || n == 1;
        v[i] = first_half ? a + step * (double)i : b - step * (double)(n - 1 - i);
        v[i] = base ? pow(*base, v[i]) : v[i];
    }
    return const_of_doubles(op, t, v, n);
}

/* An end of the sequence, in double; of an int type it is truncated first. */
static Ox space_end(Op *op, const char *name, DType t)
{
    Ox v = number_as(op, arg_value(op, name), DT_DOUBLE);
    if (ox_ok(v) && ox_rank(v) > 0)
        return op_fail(op, E_VALUE, "%s only supports 0-dimensional start and end tensors",
                       op->row->datum ? "logspace" : "linspace");
    return ox_ok(v) && dtype_is_int(t) ? ox_cast(op->g, ox_cast(op->g, v, t), DT_DOUBLE) : v;
}

/* The elements from their places: start where `first`, else end, plus `parts` of the way from
 * start to end. */
static Ox between(Op *op, const double *base, DType t, Ox first, Ox parts)
{
    Ox a = space_end(op, "start", t);
    Ox b = space_end(op, "end", t);
    Ox length = ox(op, "Sub", b, a);
    Ox from = ox(op, "Where", first, a, b);
    Ox moved = ox(op, "Mul", parts, length);
    Ox at = ox(op, "Add", from, moved);
    if (base)
        at = ox(op, "Pow", ox_number(op->g, DT_DOUBLE, *base), at);
    return ox_ok(at) ? ox_cast(op->g, at, t) : at;
}

/* n elements between ends that the model computes. */
static Ox space_between(Op *op, int64_t n, const double *base, DType t)
{
    double *offset = new_array(op->cx, double, n ? n : 1);
    uint8_t *low = new_array(op->cx, uint8_t, n ? n : 1);
    if (!low || !offset)
        return POISON;
    int64_t last = n > 1 ? n - 1 : 1;
    for (int64_t i = 0; i < n; i++) {
        low[i] = i < n / 2 || n == 1;
        offset[i] = (double)(low[i] ? i : i - (n - 1)) / (double)last;
    }
    Ox parts = ox_const(op->g, const_make(op->cx, DT_DOUBLE, 1, &n, offset));
    Ox first = ox_const(op->g, const_make(op->cx, DT_BOOL, 1, &n, low));
    return between(op, base, t, first, parts);
}

/* A dynamic number of elements n; the formula is known_space()'s. */
static Ox dynamic_space(Op *op, Dim n, const double *base, DType t)
{
    Ctx *cx = op->cx;
    Dim one = dim_int(cx, 1);
    Dim half = dim_max(cx, dim_floordiv(cx, n, dim_int(cx, 2)), one);
    Dim last = dim_sub(cx, n, one);
    Ox zero = ox_int(op->g, 0);
    Ox count = ox_dim_value(op->g, n);
    Ox i = ox(op, "Range", zero, count, ox_int(op->g, 1));
    Ox first = ox(op, "Less", i, ox_dim_value(op->g, half));
    Ox back = ox(op, "Sub", i, ox_dim_value(op->g, last));
    Ox steps = ox(op, "Where", first, i, back);
    if (!ox_ok(steps))
        return POISON;
    Ox whole = ox_cast(op->g, ox_dim_value(op->g, dim_max(cx, last, one)), DT_DOUBLE);
    Ox parts = ox(op, "Div", ox_cast(op->g, steps, DT_DOUBLE), whole);
    return between(op, base, t, first, parts);
}

/* The number of steps; None, in archives before version 8, is 100. */
static Dim space_steps(Op *op)
{
    return arg_given(op, "steps") ? arg_dim_expr(op, "steps") : dim_int(op->cx, 100);
}

/* linspace; row->datum: 1 logspace, powers of `base`. */
static Ox lower_space(Op *op)
{
    double a, b;
    int64_t n;
    double power_of = op->row->datum ? arg_float(op, "base") : 0;
    const double *base = op->row->datum ? &power_of : NULL;
    Dim steps = space_steps(op);
    DType t = arg_dtype(op, "dtype", dtype_default(op->cx));
    if (!steps)
        return POISON;
    if (!dim_known(steps, &n))
        return dynamic_space(op, steps, base, t);
    if (n < 0)
        return op_fail(op, E_VALUE, "number of steps must be non-negative");
    if (n > (1 << 24))
        return op_refuse(op, "%lld steps", (long long)n);
    if (concrete_number(arg_value(op, "start"), &a) && concrete_number(arg_value(op, "end"), &b))
        return known_space(op, a, b, n, base, t);
    return space_between(op, n, base, t);
}

typedef struct Triangle {
    int64_t rows, columns, offset;
    bool upper;
} Triangle;

/* Fill rows[] and columns[] (NULL: only count) with the indices in the triangle, row by row. */
static int64_t triangle_indices(Triangle t, int64_t *rows, int64_t *columns)
{
    int64_t n = 0;
    for (int64_t i = 0; i < t.rows; i++)
        for (int64_t j = 0; j < t.columns; j++) {
            if (t.upper ? j - i < t.offset : j - i > t.offset)
                continue;
            if (rows) {
                rows[n] = i;
                columns[n] = j;
            }
            n++;
        }
    return n;
}

/* triu_indices (row->datum 1), tril_indices: [2, n], the rows and columns of a triangle. Those of
 * triu of a 2x2 matrix are [[0, 0, 1], [0, 1, 1]]. */
static Ox lower_tri_indices(Op *op)
{
    Triangle t = { .rows = arg_int(op, "row"),
                   .columns = arg_int(op, "col"),
                   .offset = arg_int(op, "offset"),
                   .upper = op->row->datum != 0 };
    if (t.rows < 0 || t.columns < 0)
        return op_fail(op, E_VALUE, "row and col must be non-negative");
    DType made = arg_dtype(op, "dtype", DT_INT64);
    const char *kernel = t.upper ? "triu_indices" : "tril_indices";
    if (!need_kernel(op, kernel, made, made == DT_INT64 || made == DT_INT32))
        return POISON;
    if (ctx_failed(op->cx) || t.rows > 4096 || t.columns > 4096)
        return op_refuse(op, "a matrix of %lld by %lld", (long long)t.rows, (long long)t.columns);
    int64_t n = triangle_indices(t, NULL, NULL);
    int64_t *at = new_array(op->cx, int64_t, 2 * n + 1);
    if (!at)
        return POISON;
    triangle_indices(t, at, at + n);
    Ox v = ox_const(op->g, const_make(op->cx, DT_INT64, 2, (int64_t[]){ 2, n }, at));
    return ox_cast(op->g, v, made);
}

/* Ones on the diagonal: EyeLike is one node, where two Trilu would be two. It is made in a type for
 * which runtimes have a kernel. */
static Ox eye(Op *op, Dim rows, Dim columns)
{
    Dim d[2] = { rows, columns };
    DType t = arg_dtype(op, "dtype", dtype_default(op->cx));
    DType made = t == DT_DOUBLE || t == DT_INT64 || t == DT_INT32 ? t : DT_FLOAT;
    Ox zeros = filled(op, ox_integer(op->g, made, 0), d, 2);
    Ox ones = ox(op, "EyeLike", zeros);
    return ox_ok(ones) ? ox_cast(op->g, ones, t) : ones;
}

static bool is_negative(Dim d)
{
    int64_t n;
    return dim_known(d, &n) && n < 0;
}

static Ox lower_eye(Op *op)
{
    Dim n = arg_dim_expr(op, "n");
    Dim m = op->row->datum ? arg_dim_expr(op, "m") : n;
    if (is_negative(n) || is_negative(m))
        return op_fail(op, E_VALUE, "n and m must be greater or equal to 0, got %s and %s",
                       dim_text(op->cx, n)->s, dim_text(op->cx, m)->s);
    return eye(op, n, m);
}

/* ---- tensor(...) ---- */

/* A nested list: its shape, which PyTorch reads off the first items, and its numbers in order. */
typedef struct Nest {
    Op *op;
    int rank;
    int64_t dims[MAX_RANK];
    VEC(Value) leaves;
} Nest;

/* Fill rank and dims: [[1, 2, 3], [4, 5, 6]] gives [2, 3], [[]] gives [1, 0]. */
static bool nest_shape(Nest *n, Value v)
{
    for (n->rank = 0; v.tag == V_LIST; n->rank++) {
        if (n->rank == MAX_RANK)
            return fail(n->op->cx, E_VALUE, "a list nested more than %d deep", MAX_RANK);
        if (v.list->stacked)
            return fail(n->op->cx, E_UNDECIDED,
                        "a list in a list has a length that is only known when the model runs");
        n->dims[n->rank] = v.list->n;
        if (v.list->n == 0)
            return n->rank++, true;
        v = v.list->at[0].v;
    }
    return true;
}

/* Collect the numbers of v, which is `depth` lists deep; each list must have its axis's length. */
static bool nest_walk(Nest *n, Value v, int depth)
{
    if (depth == n->rank) {
        vec_push(n->op->cx, &n->leaves, v);
        return v.tag != V_LIST || fail(n->op->cx, E_VALUE, "a list where a number was expected");
    }
    if (v.tag != V_LIST || v.list->stacked || v.list->n != n->dims[depth])
        return fail(n->op->cx, E_VALUE, "expected sequence of length %lld at dim %d",
                    (long long)n->dims[depth], depth);
    for (int64_t i = 0; i < v.list->n; i++)
        if (!nest_walk(n, v.list->at[i].v, depth + 1))
            return false;
    return true;
}

/* The type of a list without numbers: that of the items which it is declared to hold. */
static DType empty_list_dtype(Ctx *cx, Value v)
{
    while (v.tag == V_LIST && v.list->n > 0)
        v = v.list->at[0].v;
    Str elem = v.tag == V_LIST ? v.list->elem : NULL;
    if (str_is(elem, "int"))
        return DT_INT64;
    return str_is(elem, "bool") ? DT_BOOL : dtype_default(cx);
}

/* A nested list with dynamic numbers: each number as one element, then Concat and Reshape. */
static Ox stack_leaves(Op *op, const Nest *n, DType t)
{
    Oxs parts = { 0 };
    for (size_t i = 0; i < n->leaves.n; i++) {
        Ox leaf = number_as(op, n->leaves.at[i], t);
        Ox axes = ints(op, 0);
        vec_push(op->cx, &parts, ox(op, "Unsqueeze", leaf, axes));
    }
    Ox flat = ox_with(op, "Concat", LIST(parts), INT("axis", 0));
    if (n->rank == 1)
        return flat;
    Ox shape = ox_ints(op->g, n->dims, (size_t)n->rank);
    return ox(op, "Reshape", flat, shape);
}

/* Ints and bools: kept whole on their way to t. */
static Ox const_of_ints(Op *op, const Nest *n, DType t)
{
    int64_t *at = new_array(op->cx, int64_t, n->leaves.n);
    if (!at)
        return POISON;
    for (size_t i = 0; i < n->leaves.n; i++) {
        Value v = n->leaves.at[i];
        at[i] = v.tag == V_INT ? v.i : v.b;
    }
    Ox wide = ox_const(op->g, const_make(op->cx, DT_INT64, n->rank, n->dims, at));
    return ox_cast(op->g, wide, t);
}

/* Numbers with a float among them: through double, rounded once to t. */
static Ox const_of_floats(Op *op, const Nest *n, DType t)
{
    double *at = new_array(op->cx, double, n->leaves.n);
    if (!at)
        return POISON;
    for (size_t i = 0; i < n->leaves.n; i++)
        (void)concrete_number(n->leaves.at[i], &at[i]);
    Ox wide = ox_const(op->g, const_make(op->cx, DT_DOUBLE, n->rank, n->dims, at));
    return ox_cast(op->g, wide, t);
}

/* At least one number, in a list: a constant when all are known. */
static Ox nest_value(Op *op, const Nest *n, DType t)
{
    bool known = true;
    bool whole = true;
    for (size_t i = 0; i < n->leaves.n; i++) {
        double unused;
        Value v = n->leaves.at[i];
        known &= concrete_number(v, &unused);
        whole &= v.tag == V_INT || v.tag == V_BOOL;
    }
    if (!known)
        return stack_leaves(op, n, t);
    return whole ? const_of_ints(op, n, t) : const_of_floats(op, n, t);
}

/* tensor([[1, 2], [3, 4.5]]): of dtype=, else of the common type of its numbers. TorchScript's
 * operator (createTensorFromList and tensor.float, as of torch 2.13) makes floats and complex
 * numbers in the default type first, and then casts: tensor([0.1], dtype=torch.float64) is
 * 0.10000000149 in a script, though 0.1 in Python, whose torch.tensor is no operator. One float
 * outside of a list has to fit the default type. */
static Ox lower_tensor_of(Op *op, Value v)
{
    Nest n = { .op = op };
    if (!nest_shape(&n, v) || !nest_walk(&n, v, 0))
        return POISON;
    DType deflt = n.leaves.n ? number_dtype(op->cx, n.leaves.at[0]) : empty_list_dtype(op->cx, v);
    for (size_t i = 1; i < n.leaves.n; i++)
        deflt = promote_types(deflt, number_dtype(op->cx, n.leaves.at[i]));
    DType t = arg_dtype(op, "dtype", deflt);
    DType first = dtype_is_float(deflt) || dtype_is_complex(deflt) ? deflt : t;
    if (n.rank == 0 && first == deflt)
        return ox_cast(op->g, number_stored(op, n.leaves.at[0], first), t);
    if (n.rank == 0)
        return number_as(op, n.leaves.at[0], t);
    if (n.leaves.n == 0)
        return ox_const(op->g, const_make(op->cx, t, n.rank, n.dims, NULL));
    return ox_cast(op->g, nest_value(op, &n, first), t);
}

static Ox lower_tensor(Op *op)
{
    Value v = arg_value(op, op->row->text);
    Ox x = v.tag == V_POISON ? POISON : lower_tensor_of(op, v);
    DType t = ox_dtype(x);
    bool asked = has_param(op, "requires_grad") && arg_bool(op, "requires_grad");
    if (ox_ok(x) && asked && !dtype_is_float(t) && !dtype_is_complex(t))
        return op_fail(op, E_VALUE,
                       "Only Tensors of floating point and complex dtype can require gradients");
    return x;
}

static Ox lower_scalar_tensor(Op *op)
{
    return number_as(op, arg_value(op, "s"), arg_dtype(op, "dtype", dtype_default(op->cx)));
}

#define HOW \
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define HOW_INT \
    "*, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define LIKE HOW ", MemoryFormat? memory_format=None"

OP_ROWS(create)
{
    FAMILY(lower_fill_shape, 0, NULL, PLAIN, "aten::zeros(SymInt[] size, " HOW ") -> Tensor");
    FAMILY(lower_fill_shape, 1, NULL, PLAIN, "aten::ones(SymInt[] size, " HOW ") -> Tensor");
    FAMILY(lower_fill_shape, 0, NULL, PLAIN,
           "aten::empty.memory_format(SymInt[] size, " LIKE ") -> Tensor");
    LOWER(lower_empty_strided, NULL, PLAIN,
          "aten::empty_strided(SymInt[] size, SymInt[] stride, " HOW ") -> Tensor",
          .layout = LAYOUT_OWN_ORDER);
    LOWER(lower_empty_permuted, NULL, PLAIN,
          "aten::empty_permuted(SymInt[] size, int[] physical_layout, " HOW ") -> Tensor",
          .layout = LAYOUT_OWN_ORDER);
    FAMILY(lower_fill_like, 0, NULL, PLAIN, "aten::zeros_like(Tensor self, " LIKE ") -> Tensor");
    FAMILY(lower_fill_like, 1, NULL, PLAIN, "aten::ones_like(Tensor self, " LIKE ") -> Tensor");
    FAMILY(lower_fill_like, 0, NULL, PLAIN, "aten::empty_like(Tensor self, " LIKE ") -> Tensor");
    FAMILY(lower_new_fill, 0, NULL, PLAIN,
           "aten::new_zeros(Tensor self, SymInt[] size, " HOW ") -> Tensor",
           .layout = LAYOUT_CONTIGUOUS);
    FAMILY(lower_new_fill, 1, NULL, PLAIN,
           "aten::new_ones(Tensor self, SymInt[] size, " HOW ") -> Tensor",
           .layout = LAYOUT_CONTIGUOUS);
    FAMILY(lower_new_fill, 0, NULL, PLAIN,
           "aten::new_empty(Tensor self, SymInt[] size, " HOW ") -> Tensor",
           .layout = LAYOUT_CONTIGUOUS);
    LOWER(lower_empty_strided, NULL, PLAIN,
          "aten::new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, " HOW ") -> Tensor",
          .layout = LAYOUT_OWN_ORDER);
    LOWER(lower_full, NULL, PLAIN,
          "aten::full(SymInt[] size, Scalar fill_value, " HOW ") -> Tensor");
    FAMILY(lower_full, DT_FLOAT, NULL, PLAIN,
           "upgrade::full_0_4(SymInt[] size, Scalar fill_value, " HOW
           ") -> Tensor"); /* up to version 4: floats */
    LOWER(lower_full_like, NULL, PLAIN,
          "aten::full_like(Tensor self, Scalar fill_value, " LIKE ") -> Tensor");
    LOWER(lower_new_full, NULL, PLAIN,
          "aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, " HOW ") -> Tensor",
          .layout = LAYOUT_CONTIGUOUS);
    LOWER(lower_dim_arange, NULL, PLAIN, "aten::_dim_arange(Tensor like, int dim) -> Tensor");
    FAMILY(lower_arange, 0, NULL, PLAIN, "aten::arange(Scalar end, " HOW ") -> Tensor");
    FAMILY(lower_arange, 1, NULL, PLAIN,
           "aten::arange.start(Scalar start, Scalar end, " HOW ") -> Tensor");
    FAMILY(lower_arange, 2, NULL, PLAIN,
           "aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, " HOW ") -> Tensor");
    FAMILY(lower_range, 0, NULL, PLAIN, "aten::range(Scalar start, Scalar end, " HOW ") -> Tensor");
    FAMILY(lower_range, 1, NULL, PLAIN,
           "aten::range.step(Scalar start, Scalar end, Scalar step=1, " HOW ") -> Tensor");
    FAMILY(lower_space, 0, NULL, PLAIN,
           "aten::linspace(Scalar start, Scalar end, int steps, " HOW ") -> Tensor");
    OLDER("aten::linspace.v7(Scalar start, Scalar end, int? steps=None, " HOW ") -> Tensor");
    OLDER("aten::linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, " HOW ") -> Tensor");
    OLDER("aten::linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, " HOW ") -> Tensor");
    OLDER("aten::linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, " HOW ") -> Tensor");
    FAMILY(lower_space, 1, NULL, PLAIN,
           "aten::logspace(Scalar start, Scalar end, int steps, float base=10., " HOW
           ") -> Tensor");
    OLDER("aten::logspace.v8(Scalar start, Scalar end, int? steps=None, float base=10., " HOW
          ") -> Tensor");
    OLDER("aten::logspace.Tensor_Tensor(Tensor start, Tensor end, int steps, float base=10., " HOW
          ") -> Tensor");
    OLDER("aten::logspace.Tensor_Scalar(Tensor start, Scalar end, int steps, float base=10., " HOW
          ") -> Tensor");
    OLDER("aten::logspace.Scalar_Tensor(Scalar start, Tensor end, int steps, float base=10., " HOW
          ") -> Tensor");
    FAMILY(lower_tri_indices, 1, NULL, PLAIN,
           "aten::triu_indices(int row, int col, int offset=0, " HOW_INT ") -> Tensor");
    FAMILY(lower_tri_indices, 0, NULL, PLAIN,
           "aten::tril_indices(int row, int col, int offset=0, " HOW_INT ") -> Tensor");
    FAMILY(lower_eye, 0, NULL, PLAIN, "aten::eye(SymInt n, " HOW ") -> Tensor");
    FAMILY(lower_eye, 1, NULL, PLAIN, "aten::eye.m(SymInt n, SymInt m, " HOW ") -> Tensor");
    UNARY(lower_tensor, "t", NULL, PLAIN,
          "aten::tensor.bool(bool t, *, ScalarType? dtype=None, Device? device=None, bool "
          "requires_grad=False) -> Tensor");
    UNARY(lower_tensor, "t", NULL, PLAIN,
          "aten::tensor.int(int t, *, ScalarType? dtype=None, Device? device=None, bool "
          "requires_grad=False) -> Tensor");
    UNARY(lower_tensor, "t", NULL, PLAIN,
          "aten::tensor.float(float t, *, ScalarType? dtype=None, Device? device=None, bool "
          "requires_grad=False) -> Tensor");
    UNARY(lower_tensor, "t", NULL, PLAIN,
          "aten::tensor.complex(complex t, *, ScalarType? dtype=None, Device? device=None, bool "
          "requires_grad=False) -> Tensor");
    UNARY(lower_tensor, "data", NULL, PLAIN,
          "aten::tensor(t[] data, *, ScalarType? dtype=None, Device? device=None, bool "
          "requires_grad=False) -> Tensor");
    UNARY(lower_tensor, "t", NULL, PLAIN,
          "aten::as_tensor.bool(bool t, *, ScalarType? dtype=None, Device? device=None) -> Tensor");
    UNARY(lower_tensor, "t", NULL, PLAIN,
          "aten::as_tensor.int(int t, *, ScalarType? dtype=None, Device? device=None) -> Tensor");
    UNARY(
        lower_tensor, "t", NULL, PLAIN,
        "aten::as_tensor.float(float t, *, ScalarType? dtype=None, Device? device=None) -> Tensor");
    UNARY(
        lower_tensor, "data", NULL, PLAIN,
        "aten::as_tensor.list(t[] data, *, ScalarType? dtype=None, Device? device=None) -> Tensor");
    LOWER(lower_scalar_tensor, NULL, PLAIN, "aten::scalar_tensor(Scalar s, " HOW ") -> Tensor");
}
