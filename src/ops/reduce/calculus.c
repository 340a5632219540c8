/* calculus.c - differences and integrals along an axis, from values at points: diff, trapezoid,
 * gradient, powers of points (vander). */
#include "ops/internal.h"

#define CALL_OP(op, name, ...) \
    call_op((op), (name), (const Value[]){ __VA_ARGS__ }, COUNT(((const Value[]){ __VA_ARGS__ })))

/* ---- diff ---- */

/* Each element less the one before; of bools, whether they differ. */
static Ox difference(Op *op, Ox x, int axis)
{
    Dim size = ox_dim(x, axis);
    Dim first = dim_min(op->cx, size, dim_int(op->cx, 1));
    Ox here = slice_axis(op, x, axis, first, size, 1);
    Ox before = slice_axis(op, x, axis, dim_int(op->cx, 0), dim_sub(op->cx, size, first), 1);
    if (ox_ok(x) && dtype_is_complex(ox_dtype(x))) { /* its parts, where they lie */
        Ox a = ox_pair(op->g, here);
        Ox b = ox_pair(op->g, before);
        return ox_of_pair(op->g, ox(op, "Sub", a, b));
    }
    return ox(op, ox_dtype(x) == DT_BOOL ? "Xor" : "Sub", here, before);
}

static Ox lower_diff(Op *op)
{
    Ox x = arg(op, "self");
    Ox before = arg_opt(op, "prepend");
    Ox after = arg_opt(op, "append");
    int rank, axis;
    int64_t n = arg_int(op, "n");
    if (!need_rank(op, x, -1, &rank) || !arg_dim(op, "dim", rank, &axis))
        return POISON;
    if (rank == 0 || n < 0)
        return op_fail(op, E_VALUE,
                       rank ? "order must be non-negative but got %lld"
                            : "diff expects input to be at least one-dimensional",
                       (long long)n);
    if (n == 0)
        return tensor_read(op->g, arg_tensor(op, "self")); /* not even joined */
    if (before || after)
        x = concat_axis(op, (const Ox[]){ before, x, after }, 3, axis);
    for (int64_t i = 0; i < n && ox_ok(x) && !dim_is(ox_dim(x, axis), 0); i++)
        x = difference(op, x, axis);
    return x;
}

/* ---- trapezoid: half of what two neighbours sum to, times how far they are apart ---- */

/* What the sums of neighbours are multiplied with: differences of x, which is 1-d for all rows, or
 * has y's last axes. */
static Value spacing(Op *op, Type y, int axis)
{
    Ox x = arg(op, "x");
    Dim dims[MAX_RANK];
    int rank;
    if (!need_rank(op, x, 1, &rank))
        return val_poison();
    for (int i = 0; i < y->rank; i++)
        dims[i] = rank == 1      ? (i == axis ? ox_dim(x, 0) : dim_int(op->cx, 1))
            : i < y->rank - rank ? dim_int(op->cx, 1)
                                 : ox_dim(x, i - (y->rank - rank));
    if (rank == 1 &&
        !dim_require(op->cx, ox_dim(x, 0), y->dim[axis],
                     "trapezoid: there must be one `x` value for each sample point"))
        return val_poison();
    x = rank < y->rank ? reshape_to(op, x, dims, y->rank) : x;
    return ox_ok(x) ? CALL_OP(op, "aten::diff", val_tensor(op->cx, x), val_int(1), val_int(axis))
                    : val_poison();
}

/* row->datum: 1 gives every partial sum */
static Value lower_trapezoid(Op *op)
{
    Value self = arg_value(op, "y");
    Value dim;
    Value half = val_float(0.5);
    Ox y = arg(op, "y");
    int rank, axis;
    bool running = op->row->datum;
    if (!need_rank(op, y, 1, &rank) || !arg_dim(op, "dim", rank, &axis))
        return val_poison();
    dim = val_int(axis);
    if (rank == 0) {
        fail(op->cx, E_VALUE, "trapezoid: a tensor of one dimension or more is needed");
        return val_poison();
    }
    if (!running && dim_is(ox_dim(y, axis), 0))
        return CALL_OP(op, "aten::sum", CALL_OP(op, "aten::mul", self, half),
                       val_tuple(op->cx, &dim, 1));
    Value left = CALL_OP(op, "aten::slice", self, dim, val_int(0), val_int(-1));
    Value right = CALL_OP(op, "aten::slice", self, dim, val_int(1), val_none());
    Value pairs = CALL_OP(op, "aten::add", left, right);
    Value apart = has_param(op, "x") ? spacing(op, y->type, axis) : arg_value(op, "dx");
    Value area = CALL_OP(op, "aten::mul", CALL_OP(op, "aten::mul", pairs, apart), half);
    return running ? CALL_OP(op, "aten::cumsum", area, dim)
                   : CALL_OP(op, "aten::sum", area, val_tuple(op->cx, &dim, 1));
}

/* ---- gradient: differences of second order inside, of the first or second at both ends ---- */

/* What is known of one axis: h, the distance of all neighbours, or else `apart`, each of them,
 * [size - 1]. */
typedef struct Along {
    Value x, axis, h;
    Ox apart;
    int rank, at;
} Along;

static Value from_to(Op *op, const Along *a, int64_t from, int64_t to)
{
    return CALL_OP(op, "aten::slice", a->x, a->axis, val_int(from), to ? val_int(to) : val_none());
}

static Value weighted(Op *op, Value a, Value x, Value b, Value y, Value c, Value z)
{
    Value first = CALL_OP(op, "aten::mul", x, a);
    Value second = CALL_OP(op, "aten::mul", y, b);
    Value third = CALL_OP(op, "aten::mul", z, c);
    return CALL_OP(op, "aten::add", CALL_OP(op, "aten::add", first, second), third);
}

/* Elements of `apart`, one or all but one, upright along the axis. */
static Ox distances(Op *op, const Along *a, int64_t from, int64_t to)
{
    Dim size = ox_dim(a->apart, 0), lying[MAX_RANK];
    Dim start = from < 0 ? dim_add(op->cx, size, dim_int(op->cx, from)) : dim_int(op->cx, from);
    Ox some = slice_axis(op, a->apart, 0, start,
                         to > 0 ? dim_int(op->cx, to) : dim_add(op->cx, size, dim_int(op->cx, to)),
                         1);
    for (int i = 0; ox_ok(some) && i < a->rank; i++)
        lying[i] = i == a->at ? ox_dim(some, 0) : dim_int(op->cx, 1);
    return reshape_to(op, some, lying, a->rank);
}

/* The slope of the parabola through three points, p and q apart, at the second. */
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

/* The same at the first of them, or (last) the third. */
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
    if (last)
        middle = ox(op, "Neg", middle);
    else
        own = ox(op, "Neg", own), other = ox(op, "Neg", other);
    Value at_first = val_tensor(op->cx, last ? other : own);
    Value at_second = val_tensor(op->cx, middle);
    Value at_third = val_tensor(op->cx, last ? own : other);
    return weighted(op, at_first, x, at_second, y, at_third, z);
}

/* At one end: the first element, or (last) the last. */
static Value end_slope(Op *op, const Along *a, bool last, int64_t order)
{
    Value first = last ? from_to(op, a, -2, -1) : from_to(op, a, 0, 1);
    Value second = last ? from_to(op, a, -1, 0) : from_to(op, a, 1, 2);
    if (order == 1) {
        Value step = CALL_OP(op, "aten::sub", second, first);
        Value by = a->apart ? val_tensor(op->cx, distances(op, a, last ? -1 : 0, last ? 0 : 1))
                            : a->h;
        return CALL_OP(op, "aten::div", step, by);
    }
    Value x = last ? from_to(op, a, -3, -2) : first;
    Value y = last ? first : second;
    Value z = last ? second : from_to(op, a, 2, 3);
    if (a->apart) {
        Ox p = last ? distances(op, a, -2, -1) : distances(op, a, 0, 1);
        Ox q = last ? distances(op, a, -1, 0) : distances(op, a, 1, 2);
        return slope_at_end(op, last, p, q, x, y, z);
    }
    Value sum = weighted(op, val_float(last ? 0.5 : -1.5), x, val_float(last ? -2 : 2), y,
                         val_float(last ? 1.5 : -0.5), z);
    return CALL_OP(op, "aten::div", sum, a->h);
}

static Ox gradient_along(Op *op, const Along *a, int64_t order)
{
    Value first = end_slope(op, a, false, order);
    Value before = from_to(op, a, 0, -2);
    Value after = from_to(op, a, 2, 0);
    Value inner;
    if (a->apart) {
        Ox p = distances(op, a, 0, -1);
        Ox q = distances(op, a, 1, 0);
        inner = slope_within(op, p, q, before, from_to(op, a, 1, -1), after);
    } else {
        inner = CALL_OP(op, "aten::div",
                        CALL_OP(op, "aten::div", CALL_OP(op, "aten::sub", after, before), a->h),
                        val_int(2));
    }
    Value all[] = { first, inner, end_slope(op, a, true, order) };
    Value joined = CALL_OP(op, "aten::cat", val_list(op->cx, all, 3, "Tensor"), a->axis);
    return val_ok(joined) ? tensor_read(op->g, joined.t) : POISON;
}

/* spacing: None, a number or a list of numbers or of points. */
static bool along_axis(Op *op, Value spacing, int64_t i, Along *a)
{
    int64_t size, order = arg_int(op, "edge_order");
    Dim d = ox_dim(tensor_read(op->g, a->x.t), a->at);
    a->axis = val_int(a->at);
    a->h = spacing.tag == V_NONE ? val_int(1)
        : spacing.tag == V_TUPLE ? spacing.tuple->at[i]
                                 : spacing;
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
        a->apart = ox_cast(op->g, a->apart, DT_FLOAT); /* divisors, from here on */
    return ox_ok(a->apart) &&
        dim_require(op->cx, ox_dim(a->apart, 0), dim_sub(op->cx, d, dim_int(op->cx, 1)),
                    "torch.gradient expected each spacing tensor to have as many elements as "
                    "its dimension");
}

static Value lower_gradient(Op *op)
{
    Value spacing = has_param(op, "spacing") ? arg_value(op, "spacing") : val_none();
    Value dim = has_param(op, "dim") ? arg_value(op, "dim") : val_none();
    Along a = { .x = arg_value(op, "self") };
    Ox out[MAX_RANK];
    if (!need_rank(op, arg(op, "self"), -1, &a.rank))
        return val_poison();
    int64_t n = dim.tag == V_TUPLE ? dim.tuple->n : dim.tag == V_NONE ? a.rank : 1;
    if (n > MAX_RANK || (spacing.tag == V_TUPLE && spacing.tuple->n != n)) {
        fail(op->cx, E_VALUE,
             "torch.gradient expected spacing to be unspecified, a scalar, or a list with one "
             "entry for each of %lld dimensions",
             (long long)n);
        return val_poison();
    }
    for (int64_t i = 0; i < n; i++) {
        Value at = dim.tag == V_TUPLE ? dim.tuple->at[i] : dim.tag == V_NONE ? val_int(i) : dim;
        a.at = (int)(at.tag == V_INT && at.i < 0 ? at.i + a.rank : at.i);
        a.apart = NULL;
        if (at.tag != V_INT || a.at < 0 || a.at >= a.rank) {
            fail(op->cx, E_VALUE, "Dimension out of range: torch.gradient of a tensor of rank %d",
                 a.rank);
            return val_poison();
        }
        if (!along_axis(op, spacing, i, &a) ||
            !ox_ok(out[i] = gradient_along(op, &a, arg_int(op, "edge_order"))))
            return val_poison();
    }
    return result_list(op, out, (size_t)n);
}

/* ---- vander: powers of points, the last axis from 0 up or down to it ---- */

/* 0 to n - 1, or down to 0: constants where n is known. */
static Ox powers_to(Op *op, Dim size, bool up)
{
    int64_t n;
    if (!dim_known(size, &n)) {
        Ox from = ox_int(op->g, 0);
        Ox by = ox_int(op->g, 1);
        Ox end = ox_dim_value(op->g, size);
        Ox all = ox(op, "Range", from, end, by);
        return up
            ? all
            : ox(op, "Sub", ox_dim_value(op->g, dim_sub(op->cx, size, dim_int(op->cx, 1))), all);
    }
    int64_t *powers = new_array(op->cx, int64_t, n + 1);
    for (int64_t i = 0; powers && i < n; i++)
        powers[i] = up ? i : n - 1 - i;
    return powers ? ox_ints(op->g, powers, (size_t)n) : POISON;
}

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

const OpRow ops_calculus[] = {
    LOWER(lower_diff, "default(self, prepend, append)", PLAIN,
          "aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) "
          "-> Tensor"),
    CALL_FAMILY(lower_trapezoid, 0, NULL, PLAIN,
                "aten::trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor"),
    OLDER("aten::trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor"),
    CALL_FAMILY(lower_trapezoid, 0, NULL, PLAIN,
                "aten::trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor"),
    OLDER("aten::trapz.dx(Tensor y, *, float dx=1, int dim=-1) -> Tensor"),
    CALL_FAMILY(lower_trapezoid, 1, NULL, PLAIN,
                "aten::cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor"),
    OLDER("aten::cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor"),
    CALL(lower_gradient, NULL, PLAIN,
         "aten::gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int "
         "edge_order=1) -> Tensor[]"),
    OLDER("aten::gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1) "
          "-> Tensor[]"),
    OLDER("aten::gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]"),
    OLDER("aten::gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, int "
          "edge_order=1) -> Tensor[]"),
    OLDER("aten::gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, int "
          "edge_order=1) -> Tensor[]"),
    OLDER("aten::gradient.tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, int "
          "edge_order=1) -> Tensor[]"),
    OLDER("aten::gradient.tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, int "
          "edge_order=1) -> Tensor[]"),
    CALL(lower_vander, NULL, PLAIN,
         "aten::vander(Tensor x, int? N=None, bool increasing=False) -> Tensor"),
    CALL(lower_vander, NULL, PLAIN, "aten::linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor"),
    OPS_END
};
