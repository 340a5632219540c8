/* calculus.c - differences and integrals along an axis, from values at points: diff, trapezoid,
 * gradient, powers of points (vander). */
#include "base/limits.h"
#include "ops/internal.h"

#define CALL_OP(op, name, ...) \
    call_op((op), (name), (const Value[]){ __VA_ARGS__ }, COUNT(((const Value[]){ __VA_ARGS__ })))

/* ---- diff ---- */

/* Each element less the one before along the axis; of bools, whether the two differ. */
static Ox difference(Op *op, Ox x, int axis)
{
    Dim size = ox_dim(x, axis);
    Dim first = dim_min(op->cx, size, dim_int(op->cx, 1));
    Ox here = slice_axis(op, x, axis, first, size, 1);
    Ox before = slice_axis(op, x, axis, dim_int(op->cx, 0), dim_sub(op->cx, size, first), 1);
    if (ox_ok(x) && dtype_is_complex(ox_dtype(x))) {
        Ox a = ox_pair(op->g, here);
        Ox b = ox_pair(op->g, before);
        return ox_of_pair(op->g, ox(op, "Sub", a, b));
    }
    return ox(op, ox_dtype(x) == DT_BOOL ? "Xor" : "Sub", here, before);
}

/* n differences, one after the other, of what `prepend`, self and `append` joined are. */
static Ox lower_diff(Op *op)
{
    Ox x = arg(op, "self");
    Ox before = arg_opt(op, "prepend");
    Ox after = arg_opt(op, "append");
    int rank, axis;
    int64_t n = arg_int(op, "n");
    if (!need_rank(op, x, -1, &rank) || !arg_dim(op, "dim", rank, &axis))
        return POISON;
    if (rank == 0)
        return op_fail(op, E_VALUE, "diff expects input to be at least one-dimensional");
    if (n < 0)
        return op_fail(op, E_VALUE, "order must be non-negative but got %lld", (long long)n);
    if (n == 0) /* PyTorch joins nothing here, and promotes nothing */
        return tensor_read(op->g, arg_tensor(op, "self"));
    if (before || after)
        x = concat_axis(op, (const Ox[]){ before, x, after }, 3, axis);
    int64_t size;
    if (ox_ok(x) && dim_known(ox_dim(x, axis), &size) && size < n)
        n = size; /* nothing is left then */
    if (!limit_ok(op->cx, LIMIT_UNROLL, (uint64_t)n, "differences of a tensor"))
        return POISON;
    for (int64_t i = 0; i < n && ox_ok(x); i++)
        x = difference(op, x, axis);
    return x;
}

/* ---- trapezoid: half of what two neighbours sum to, times how far they are apart ---- */

/* How far neighbours are apart: the differences of argument `x`, which has y's last axes, or is 1-d
 * and means y's `axis`. The result has one element less than y there. */
static Value spacing(Op *op, Type y, int axis)
{
    Ox x = arg(op, "x");
    Dim dims[MAX_RANK];
    int rank;
    if (!need_rank(op, x, 1, &rank))
        return val_poison();
    if (rank == 1 &&
        !dim_require(op->cx, ox_dim(x, 0), y->dim[axis],
                     "trapezoid: there must be one `x` value for each sample point"))
        return val_poison();
    int lead = y->rank - rank;
    if (lead > 0) {
        for (int i = 0; i < y->rank; i++)
            dims[i] = i < lead ? dim_int(op->cx, 1) : ox_dim(x, i - lead);
        if (rank == 1) {
            dims[y->rank - 1] = dim_int(op->cx, 1);
            dims[axis] = ox_dim(x, 0);
        }
        x = reshape_to(op, x, dims, y->rank);
    }
    if (!ox_ok(x))
        return val_poison();
    return CALL_OP(op, "aten::diff", val_tensor(op->cx, x), val_int(1), val_int(axis));
}

/* trapezoid and, where row->datum is 1, every partial sum of it. Whole numbers are summed as int64
 * before `dx` multiplies them: uint8 has no product with a negative dx. */
static Value lower_trapezoid(Op *op)
{
    Value self = arg_value(op, "y");
    Value half = val_float(0.5);
    Ox y = arg(op, "y");
    int rank, axis;
    bool running = op->row->datum;
    if (!need_rank(op, y, 1, &rank) || !arg_dim(op, "dim", rank, &axis))
        return val_poison();
    if (rank == 0) {
        fail(op->cx, E_VALUE, "trapezoid: a tensor of one dimension or more is needed");
        return val_poison();
    }
    Value dim = val_int(axis);
    Value dims = val_tuple(op->cx, &dim, 1);
    if (!running && dim_is(ox_dim(y, axis), 0)) { /* nothing, but of the result's shape */
        Value none = CALL_OP(op, "aten::mul", self, half);
        return CALL_OP(op, "aten::sum", none, dims);
    }
    Value left = CALL_OP(op, "aten::slice", self, dim, val_int(0), val_int(-1));
    Value right = CALL_OP(op, "aten::slice", self, dim, val_int(1), val_none());
    Value pairs = CALL_OP(op, "aten::add", left, right);
    bool even = !has_param(op, "x");
    if (!even)
        pairs = CALL_OP(op, "aten::mul", pairs, spacing(op, y->type, axis));
    Value twice = running ? CALL_OP(op, "aten::cumsum", pairs, dim)
                          : CALL_OP(op, "aten::sum", pairs, dims);
    Value area = CALL_OP(op, "aten::mul", twice, half);
    return even ? CALL_OP(op, "aten::mul", area, arg_value(op, "dx")) : area;
}

/* ---- gradient: differences of second order inside, of the first or second at both ends ---- */

/* The axis along which x is differentiated, and how far its points are apart. */
typedef struct Along {
    Value x, axis;
    Value h;  /* the distance of any two neighbours, unless `apart` is given */
    Ox apart; /* the distance of each two neighbours, [size - 1], or NULL */
    int rank, at;
} Along;

/* x[from:to] along the axis; to = 0 is its end. */
static Value from_to(Op *op, const Along *a, int64_t from, int64_t to)
{
    return CALL_OP(op, "aten::slice", a->x, a->axis, val_int(from), to ? val_int(to) : val_none());
}

/* a x + b y + c z */
static Value weighted(Op *op, Value a, Value x, Value b, Value y, Value c, Value z)
{
    Value first = CALL_OP(op, "aten::mul", x, a);
    Value second = CALL_OP(op, "aten::mul", y, b);
    Value third = CALL_OP(op, "aten::mul", z, c);
    Value both = CALL_OP(op, "aten::add", first, second);
    return CALL_OP(op, "aten::add", both, third);
}

/* apart[from:to], of x's rank and along x's axis: [1, to - from, 1] for the middle one of three.
 * A negative `from` counts from the end, as does a `to` that is not positive. */
static Ox distances(Op *op, const Along *a, int64_t from, int64_t to)
{
    Dim dims[MAX_RANK];
    Dim size = ox_dim(a->apart, 0);
    Dim start = dim_int(op->cx, from);
    Dim end = dim_int(op->cx, to);
    if (from < 0)
        start = dim_add(op->cx, size, start);
    if (to <= 0)
        end = dim_add(op->cx, size, end);
    Ox some = slice_axis(op, a->apart, 0, start, end, 1);
    if (!ox_ok(some))
        return POISON;
    for (int i = 0; i < a->rank; i++)
        dims[i] = i == a->at ? ox_dim(some, 0) : dim_int(op->cx, 1);
    return reshape_to(op, some, dims, a->rank);
}

/* The slope at y of the parabola through x, y and z, where y is p behind x and z is q behind y. */
static Value slope_within(Op *op, Ox p, Ox q, Value x, Value y, Value z)
{
    Ox both = ox(op, "Add", p, q);
    Ox pq = ox(op, "Mul", p, q);
    Ox p_both = ox(op, "Mul", p, both);
    Ox q_both = ox(op, "Mul", q, both);
    Ox first = ox(op, "Div", ox(op, "Neg", q), p_both);
    Ox middle = ox(op, "Div", ox(op, "Sub", q, p), pq);
    Ox last = ox(op, "Div", p, q_both);
    return weighted(op, val_tensor(op->cx, first), x, val_tensor(op->cx, middle), y,
                    val_tensor(op->cx, last), z);
}

/* The slope of the same parabola at x or, with `last`, at z. */
static Value slope_at_end(Op *op, bool last, Ox p, Ox q, Value x, Value y, Value z)
{
    Ox both = ox(op, "Add", p, q);
    Ox pq = ox(op, "Mul", p, q);
    Ox p_both = ox(op, "Mul", p, both);
    Ox q_both = ox(op, "Mul", q, both);
    Ox near = last ? q : p;
    Ox near_both = last ? q_both : p_both;
    Ox far_both = last ? p_both : q_both;
    Ox own = ox(op, "Div", ox(op, "Add", both, near), near_both);
    Ox middle = ox(op, "Div", both, pq);
    Ox other = ox(op, "Div", near, far_both);
    if (last) {
        middle = ox(op, "Neg", middle);
    } else {
        own = ox(op, "Neg", own);
        other = ox(op, "Neg", other);
    }
    Value at_first = val_tensor(op->cx, last ? other : own);
    Value at_second = val_tensor(op->cx, middle);
    Value at_third = val_tensor(op->cx, last ? own : other);
    return weighted(op, at_first, x, at_second, y, at_third, z);
}

/* The slope of the line through the first two points of the axis or, with `last`, the last two. */
static Value line_at_end(Op *op, const Along *a, bool last)
{
    Value first = last ? from_to(op, a, -2, -1) : from_to(op, a, 0, 1);
    Value second = last ? from_to(op, a, -1, 0) : from_to(op, a, 1, 2);
    Value step = CALL_OP(op, "aten::sub", second, first);
    Value by = a->h;
    if (a->apart)
        by = val_tensor(op->cx, last ? distances(op, a, -1, 0) : distances(op, a, 0, 1));
    return CALL_OP(op, "aten::div", step, by);
}

/* The slope at one end of the axis of the parabola through the three points there: x, y and z are
 * the points in order, whichever end it is. */
static Value parabola_at_end(Op *op, const Along *a, bool last)
{
    Value first = last ? from_to(op, a, -2, -1) : from_to(op, a, 0, 1);
    Value second = last ? from_to(op, a, -1, 0) : from_to(op, a, 1, 2);
    Value third = last ? from_to(op, a, -3, -2) : from_to(op, a, 2, 3);
    Value x = last ? third : first;
    Value y = last ? first : second;
    Value z = last ? second : third;
    if (a->apart) {
        Ox p = last ? distances(op, a, -2, -1) : distances(op, a, 0, 1);
        Ox q = last ? distances(op, a, -1, 0) : distances(op, a, 1, 2);
        return slope_at_end(op, last, p, q, x, y, z);
    }
    Value sum = last ? weighted(op, val_float(0.5), x, val_float(-2), y, val_float(1.5), z)
                     : weighted(op, val_float(-1.5), x, val_float(2), y, val_float(-0.5), z);
    return CALL_OP(op, "aten::div", sum, a->h);
}

static Value end_slope(Op *op, const Along *a, bool last, int64_t order)
{
    return order == 1 ? line_at_end(op, a, last) : parabola_at_end(op, a, last);
}

/* The slopes at all points but the first and the last. */
static Value inner_slopes(Op *op, const Along *a)
{
    Value before = from_to(op, a, 0, -2);
    Value after = from_to(op, a, 2, 0);
    if (a->apart) {
        Ox p = distances(op, a, 0, -1);
        Ox q = distances(op, a, 1, 0);
        return slope_within(op, p, q, before, from_to(op, a, 1, -1), after);
    }
    Value rise = CALL_OP(op, "aten::sub", after, before);
    Value twice = CALL_OP(op, "aten::div", rise, a->h);
    return CALL_OP(op, "aten::div", twice, val_int(2));
}

static Ox gradient_along(Op *op, const Along *a, int64_t order)
{
    Value first = end_slope(op, a, false, order);
    Value inner = inner_slopes(op, a);
    Value last = end_slope(op, a, true, order);
    Value all[] = { first, inner, last };
    Value joined = CALL_OP(op, "aten::cat", val_list(op->cx, all, 3, "Tensor"), a->axis);
    return val_ok(joined) ? tensor_read(op->g, joined.t) : POISON;
}

/* What `spacing` says of the i-th axis: None, one number for all, or a list of numbers or of
 * 1-d tensors of points. */
static Value nth_spacing(Value spacing, int64_t i)
{
    switch (spacing.tag) {
    case V_NONE:  return val_int(1);
    case V_TUPLE: return spacing.tuple->at[i];
    default:      return spacing;
    }
}

/* Fills in the distances along axis a->at of a->x, the i-th one that is asked for. False after an
 * error. */
static bool along_axis(Op *op, Value spacing, int64_t i, Along *a)
{
    int64_t order = arg_int(op, "edge_order");
    int64_t size;
    Dim d = ox_dim(tensor_read(op->g, a->x.t), a->at);
    a->axis = val_int(a->at);
    a->h = nth_spacing(spacing, i);
    if (order != 1 && order != 2)
        return fail(op->cx, E_VALUE, "torch.gradient only supports edge_order=1 and edge_order=2.");
    if (dim_known(d, &size) && size <= order)
        return fail(op->cx, E_VALUE,
                    "torch.gradient expected each dimension size to be at least edge_order+1");
    if (a->h.tag != V_TENSOR)
        return true;
    Value apart = CALL_OP(op, "aten::diff", a->h);
    a->apart = val_ok(apart) ? tensor_read(op->g, apart.t) : POISON;
    if (ox_ok(a->apart) && !dtype_is_float(ox_dtype(a->apart)))
        a->apart = ox_cast(op->g, a->apart, DT_FLOAT); /* they are divisors */
    return ox_ok(a->apart) &&
        dim_require(op->cx, ox_dim(a->apart, 0), dim_sub(op->cx, d, dim_int(op->cx, 1)),
                    "torch.gradient expected each spacing tensor to have as many elements as "
                    "its dimension");
}

/* dim=None: all axes, a list: those, an int: one. */
static int64_t count_axes(Value dim, int rank)
{
    switch (dim.tag) {
    case V_NONE:  return rank;
    case V_TUPLE: return dim.tuple->n;
    default:      return 1;
    }
}

/* The i-th of the axes that count_axes counts, from the front. False after an error. */
static bool nth_axis(Op *op, Value dim, int64_t i, int rank, int *axis)
{
    Value at = dim;
    if (dim.tag == V_NONE)
        at = val_int(i);
    if (dim.tag == V_TUPLE)
        at = dim.tuple->at[i];
    if (at.tag != V_INT || at.i < -rank || at.i >= rank)
        return fail(op->cx, E_VALUE,
                    "Dimension out of range: torch.gradient of a tensor of rank %d", rank);
    *axis = (int)(at.i < 0 ? at.i + rank : at.i);
    return true;
}

/* A list of gradients, one an axis; `spacing` and `dim` are as PyTorch has them, or not there. */
static Value lower_gradient(Op *op)
{
    Value spacing = has_param(op, "spacing") ? arg_value(op, "spacing") : val_none();
    Value dim = has_param(op, "dim") ? arg_value(op, "dim") : val_none();
    Along a = { .x = arg_value(op, "self") };
    Ox out[MAX_RANK];
    if (!need_rank(op, arg(op, "self"), -1, &a.rank))
        return val_poison();
    int64_t n = count_axes(dim, a.rank);
    if (n > MAX_RANK || (spacing.tag == V_TUPLE && spacing.tuple->n != n)) {
        fail(op->cx, E_VALUE,
             "torch.gradient expected spacing to be unspecified, a scalar, or a list with one "
             "entry for each of %lld dimensions",
             (long long)n);
        return val_poison();
    }
    for (int64_t i = 0; i < n; i++) {
        a.apart = NULL;
        if (!nth_axis(op, dim, i, a.rank, &a.at) || !along_axis(op, spacing, i, &a))
            return val_poison();
        out[i] = gradient_along(op, &a, arg_int(op, "edge_order"));
        if (!ox_ok(out[i]))
            return val_poison();
    }
    return result_list(op, out, (size_t)n);
}

/* ---- vander: the powers of each point along a new last axis ---- */

/* 0, 1, .. n - 1 as a constant, or those downwards. */
static Ox constant_powers(Op *op, int64_t n, bool up)
{
    int64_t *powers = new_array(op->cx, int64_t, (size_t)n + 1);
    if (!powers)
        return POISON;
    for (int64_t i = 0; i < n; i++)
        powers[i] = up ? i : n - 1 - i;
    return ox_ints(op->g, powers, (size_t)n);
}

/* 0, 1, .. size - 1 as int64, or those downwards: a constant where size is known. */
static Ox powers_to(Op *op, Dim size, bool up)
{
    int64_t n;
    if (dim_known(size, &n))
        return constant_powers(op, n, up);
    Ox from = ox_int(op->g, 0);
    Ox by = ox_int(op->g, 1);
    Ox end = ox_dim_value(op->g, size);
    Ox all = ox(op, "Range", from, end, by);
    if (up)
        return all;
    Ox most = ox_dim_value(op->g, dim_sub(op->cx, size, dim_int(op->cx, 1)));
    return ox(op, "Sub", most, all);
}

/* x^0, x^1, .. x^(n-1) or, if not `increasing`, the other way round. */
static Value vander(Op *op, Dim n, bool increasing)
{
    bool scalar;
    Ox x = at_least_1d(op, arg(op, "x"), &scalar);
    int rank;
    if (!need_rank(op, x, 1, &rank) || ctx_failed(op->cx))
        return val_poison();
    if (dim_le(op->cx, dim_int(op->cx, 0), n) == NO) {
        fail(op->cx, E_VALUE, "vander: a number of columns from 0 up is needed");
        return val_poison();
    }
    Ox row = powers_to(op, n, increasing);
    if (ox_dtype(x) == DT_BOOL)
        x = ox_cast(op->g, x, DT_INT64);
    if (ox_ok(row) && ox_ok(x) && dtype_is_float(ox_dtype(x)))
        row = ox_cast(op->g, row, ox_dtype(x));
    Value column = val_tensor(op->cx, unsqueeze_axis(op, x, rank));
    return ox_ok(row) ? CALL_OP(op, "aten::pow", column, val_tensor(op->cx, row)) : val_poison();
}

/* vander, of vectors only, decreasing unless `increasing` says otherwise; and linalg_vander, which
 * has no such parameter, takes batches and always increases. */
static Value lower_vander(Op *op)
{
    Ox x = arg(op, "x");
    bool up = has_param(op, "increasing") ? arg_bool(op, "increasing") : true;
    int rank;
    if (!need_rank(op, x, 1, &rank))
        return val_poison();
    if (rank != 1 && has_param(op, "increasing")) {
        fail(op->cx, E_VALUE, "x must be a one-dimensional tensor.");
        return val_poison();
    }
    if (arg_given(op, "N"))
        return vander(op, arg_dim_expr(op, "N"), up);
    if (rank == 0) {
        fail(op->cx, E_VALUE,
             "linalg.vander: a number has no last dimension that would say how many columns there "
             "are");
        return val_poison();
    }
    return vander(op, ox_dim(x, rank - 1), up);
}

OP_ROWS(calculus)
{
    LOWER(lower_diff, "default(self, prepend, append)", PLAIN,
          "aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) "
          "-> Tensor");
    CALL_FAMILY(lower_trapezoid, 0, NULL, PLAIN,
                "aten::trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor");
    OLDER("aten::trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor");
    CALL_FAMILY(lower_trapezoid, 0, NULL, PLAIN,
                "aten::trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor");
    OLDER("aten::trapz.dx(Tensor y, *, float dx=1, int dim=-1) -> Tensor");
    CALL_FAMILY(lower_trapezoid, 1, NULL, PLAIN,
                "aten::cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor");
    OLDER("aten::cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor");
    CALL(lower_gradient, NULL, PLAIN,
         "aten::gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int "
         "edge_order=1) -> Tensor[]");
    OLDER("aten::gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1) "
          "-> Tensor[]");
    OLDER("aten::gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]");
    OLDER("aten::gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, int "
          "edge_order=1) -> Tensor[]");
    OLDER("aten::gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, int "
          "edge_order=1) -> Tensor[]");
    OLDER("aten::gradient.tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, int "
          "edge_order=1) -> Tensor[]");
    OLDER("aten::gradient.tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, int "
          "edge_order=1) -> Tensor[]");
    CALL(lower_vander, NULL, PLAIN,
         "aten::vander(Tensor x, int? N=None, bool increasing=False) -> Tensor");
    CALL(lower_vander, NULL, PLAIN, "aten::linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor");
}
