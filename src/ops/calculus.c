/* calculus.c - differences and integrals along an axis, from values at points: diff, trapezoid, powers of points (vander). */
#include "ops/internal.h"

#define CALL_OP(op, name, ...) call_op((op), (name), (const Value[]){ __VA_ARGS__ }, COUNT(((const Value[]){ __VA_ARGS__ })))

/* ---- diff ---- */

/* Each element less the one before; of bools, whether they differ. */
static Ox difference(Op *op, Ox x, int axis)
{
    Dim size = ox_dim(x, axis), first = dim_min(op->cx, size, dim_int(op->cx, 1));
    Ox here = slice_axis(op, x, axis, first, size, 1), before = slice_axis(op, x, axis, dim_int(op->cx, 0), dim_sub(op->cx, size, first), 1);
    return ox(op, ox_dtype(x) == DT_BOOL ? "Xor" : "Sub", here, before);
}

static Ox lower_diff(Op *op)
{
    Ox x = arg(op, "self"), before = arg_opt(op, "prepend"), after = arg_opt(op, "append");
    int rank, axis;
    int64_t n = arg_int(op, "n");
    if (!need_rank(op, x, -1, &rank) || !arg_dim(op, "dim", rank, &axis))
        return POISON;
    if (n == 0)
        return x;                                                       /* not even joined */
    if (rank == 0 || n < 0)
        return op_fail(op, E_VALUE, rank ? "order must be non-negative but got %lld" : "diff expects input to be at least one-dimensional", (long long)n);
    if (before || after)
        x = concat_axis(op, (const Ox[]){ before, x, after }, 3, axis);
    for (int64_t i = 0; i < n && ox_ok(x) && !dim_is(ox_dim(x, axis), 0); i++)
        x = difference(op, x, axis);
    return x;
}

/* ---- trapezoid: half of what two neighbours sum to, times how far they are apart ---- */

/* What the sums of neighbours are multiplied with: differences of x, which is 1-d for all rows, or has y's last axes. */
static Value spacing(Op *op, Type y, int axis)
{
    Ox x = arg(op, "x");
    Dim dims[MAX_RANK];
    int rank;
    if (!need_rank(op, x, 1, &rank))
        return val_poison();
    for (int i = 0; i < y->rank; i++)
        dims[i] = rank == 1 ? (i == axis ? ox_dim(x, 0) : dim_int(op->cx, 1)) : i < y->rank - rank ? dim_int(op->cx, 1) : ox_dim(x, i - (y->rank - rank));
    if (rank == 1 && !dim_require(op->cx, ox_dim(x, 0), y->dim[axis], "trapezoid: there must be one `x` value for each sample point"))
        return val_poison();
    x = rank < y->rank ? reshape_to(op, x, dims, y->rank) : x;
    return ox_ok(x) ? CALL_OP(op, "aten::diff", val_tensor(op->cx, x), val_int(1), val_int(axis)) : val_poison();
}

/* row->datum: 1 gives every partial sum */
static Value lower_trapezoid(Op *op)
{
    Value self = arg_value(op, "y"), dim, half = val_float(0.5);
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
        return CALL_OP(op, "aten::sum", CALL_OP(op, "aten::mul", self, half), val_tuple(op->cx, &dim, 1));
    Value left = CALL_OP(op, "aten::slice", self, dim, val_int(0), val_int(-1)), right = CALL_OP(op, "aten::slice", self, dim, val_int(1), val_none());
    Value pairs = CALL_OP(op, "aten::add", left, right), apart = has_param(op, "x") ? spacing(op, y->type, axis) : arg_value(op, "dx");
    Value area = CALL_OP(op, "aten::mul", CALL_OP(op, "aten::mul", pairs, apart), half);
    return running ? CALL_OP(op, "aten::cumsum", area, dim) : CALL_OP(op, "aten::sum", area, val_tuple(op->cx, &dim, 1));
}

/* ---- vander: powers of points, the last axis from 0 up or down to it ---- */

static Value vander(Op *op, int64_t n, bool increasing)
{
    bool scalar;
    Ox x = at_least_1d(op, arg(op, "x"), &scalar);
    int rank;
    if (!need_rank(op, x, 1, &rank) || ctx_failed(op->cx))
        return val_poison();
    if (n < 0) {
        fail(op->cx, E_VALUE, "vander: a number of columns from 0 up is needed");
        return val_poison();
    }
    int64_t *powers = new_array(op->cx, int64_t, n + 1);
    for (int64_t i = 0; powers && i < n; i++)
        powers[i] = increasing ? i : n - 1 - i;
    Ox row = powers ? ox_ints(op->g, powers, (size_t)n) : POISON;
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
    int64_t size;
    int rank;
    if (!need_rank(op, x, 1, &rank))
        return val_poison();
    if (rank != 1 && has_param(op, "increasing")) {
        fail(op->cx, E_VALUE, "x must be a one-dimensional tensor.");
        return val_poison();
    }
    if (arg_given(op, "N"))
        return vander(op, arg_int(op, "N"), has_param(op, "increasing") ? arg_bool(op, "increasing") : true);
    if (rank == 0 || !dim_known(ox_dim(x, rank - 1), &size)) {
        op_refuse(op, "the number of columns must be known");
        return val_poison();
    }
    return vander(op, size, has_param(op, "increasing") ? arg_bool(op, "increasing") : true);
}

const OpRow ops_calculus[] = {
    LOWER(lower_diff, "default(self, prepend, append)", PLAIN, "aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor"),
    CALL_FAMILY(lower_trapezoid, 0, NULL, PLAIN, "aten::trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor"),
    OLDER("aten::trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor"),
    CALL_FAMILY(lower_trapezoid, 0, NULL, PLAIN, "aten::trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor"),
    OLDER("aten::trapz.dx(Tensor y, *, float dx=1, int dim=-1) -> Tensor"),
    CALL_FAMILY(lower_trapezoid, 1, NULL, PLAIN, "aten::cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor"),
    OLDER("aten::cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor"),
    CALL(lower_vander, NULL, PLAIN, "aten::vander(Tensor x, int? N=None, bool increasing=False) -> Tensor"),
    CALL(lower_vander, NULL, PLAIN, "aten::linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor"),
    OPS_END
};
