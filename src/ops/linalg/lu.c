/* lu.c - LU decompositions with row exchanges, as LAPACK makes them, and equations solved by one.
 *
 * Step k takes the largest element of column k, from row k on, for the pivot, changes its row with
 * row k, and subtracts row k from those below. L's part stands below U's, as getrf gives it; pivots
 * count from 1. Computed in the matrix's own type, for any size and a dynamic one: which of two
 * elements is the larger may hang on how they were rounded. */
#include "ops/linalg/matrix.h"

static Ox zero_of(Op *op, Ox like) { return number_like(op, 0, like); }

/* One iteration. state[0]: the matrix; state[1]: the rows of the pivots, [.., 1, k]. */
static void eliminate_column(Op *op, const void *data, Ox k, const Ox *state, Ox *next, Ox *go)
{
    (void)data, (void)go;
    Ox row = matrix_rows(op, state[0]);
    Ox number = matrix_columns(op, state[0]);
    Ox none = real_like(op, -1, state[0]);
    Ox size = each_pivot_size(op, matrix_pick(op, state[0], k, 1));
    Ox above = ox(op, "Less", row, k);
    Ox free = ox(op, "Where", above, none, size);
    Ox p = ox_ok(free)
        ? ox_with(op, "ArgMax", INPUTS(free), INT("axis", ox_rank(free) - 2), INT("keepdims", 1))
        : POISON;
    Ox a = matrix_exchanged(op, state[0], k, p);
    Ox column = matrix_pick(op, a, k, 1);
    Ox line = matrix_pick(op, a, k, 2);
    Ox pivot = matrix_pick(op, column, k, 2);
    Ox flat = each_is_zero(op, pivot);
    Ox one = number_like(op, 1, a);
    Ox safe = ox(op, "Where", flat, one, pivot);
    Ox ratio = each_div(op, column, safe);
    Ox below = ox(op, "Greater", row, k);
    Ox right = ox(op, "Greater", number, k);
    Ox at = ox(op, "Equal", number, k);
    Ox less = each_sub(op, a, each_mul(op, ratio, line));
    Ox rest = ox(op, "And", below, right);
    Ox own = ox(op, "And", below, at);
    Ox with_ratio = ox(op, "Where", own, ratio, a);
    next[0] = ox(op, "Where", rest, less, with_ratio);
    next[1] = matrix_recorded(op, state[1], k, p);
}

typedef struct Lu {
    Ox packed, pivots;
    Dim count;
} Lu; /* [.., m, n], int64 [.., 1, k] from 0 */

static bool decompose(Op *op, Ox a, Lu *lu)
{
    if (!ox_ok(a))
        return false;
    Ox state[] = { a, matrix_record(op, a, ox_int(op->g, 0), &lu->count) };
    if (!op_loop(op, ox_dim_value(op->g, lu->count), eliminate_column, NULL, state, 2))
        return false;
    lu->packed = state[0];
    lu->pivots = state[1];
    return true;
}

/* ---- the parts ---- */

typedef struct Exchange {
    Ox pivots, last;
} Exchange; /* last NULL: from the first pivot on */

static void exchange(Op *op, const void *data, Ox i, const Ox *state, Ox *next, Ox *go)
{
    const Exchange *e = data;
    (void)go;
    Ox k = e->last ? ox(op, "Sub", e->last, i) : i;
    Ox p = matrix_pick(op, e->pivots, k, 1);
    next[0] = matrix_exchanged(op, state[0], k, p);
}

/* The rows of b changed as the pivots were (P^T b), or back (P b). */
static Ox exchanged(Op *op, Ox pivots, Dim count, Ox b, bool back)
{
    Exchange e = { .pivots = pivots,
                   .last = back ? ox_dim_value(op->g, dim_sub(op->cx, count, dim_int(op->cx, 1)))
                                : NULL };
    return op_loop(op, ox_dim_value(op->g, count), exchange, &e, &b, 1) ? b : POISON;
}

static Ox lower_part(Op *op, Ox packed, Dim count)
{
    int rank = ox_rank(packed);
    Ox k = ox_int(op->g, -1);
    Ox left = slice_axis(op, packed, rank - 1, dim_int(op->cx, 0), count, 1);
    Ox strict = ox_with(op, "Trilu", INPUTS(left, k), INT("upper", 0));
    return each_add(op, strict, matrix_eye(op, packed, ox_dim(packed, rank - 2), count));
}

static Ox upper_part(Op *op, Ox packed, Dim count)
{
    Ox k = ox_int(op->g, 0);
    Ox top = slice_axis(op, packed, ox_rank(packed) - 2, dim_int(op->cx, 0), count, 1);
    return ox_with(op, "Trilu", INPUTS(top, k), INT("upper", 1));
}

static Value as_tuple(Op *op, Ox *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!ox_ok(out[i]))
            return val_poison();
    return result_tuple(op, out, n);
}

/* PyTorch's own refusal on a CPU */
static bool with_pivots(Op *op)
{
    if (arg_bool(op, "pivot"))
        return true;
    return ctx_failed(op->cx)
        ? false
        : fail(op->cx, E_VALUE,
               "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
}

static Value lower_linalg_lu(Op *op)
{
    Ox a = matrix_float(op, "A");
    Lu lu;
    if (!with_pivots(op) || !decompose(op, a, &lu))
        return val_poison();
    Dim m = ox_dim(a, ox_rank(a) - 2);
    Ox eye = matrix_eye(op, lu.packed, m, m);
    Ox out[] = { exchanged(op, lu.pivots, lu.count, eye, true), lower_part(op, lu.packed, lu.count),
                 upper_part(op, lu.packed, lu.count) };
    return as_tuple(op, out, 3);
}

/* 0, or the number of the first pivot that is 0; int32 [..] */
static Ox info_of(Op *op, const Lu *lu)
{
    int rank = ox_rank(lu->packed);
    Ox square = slice_axis(op, lu->packed, rank - 2, dim_int(op->cx, 0), lu->count, 1);
    Ox cut = slice_axis(op, square, rank - 1, dim_int(op->cx, 0), lu->count, 1);
    Ox eye = matrix_eye(op, lu->packed, lu->count, lu->count);
    Ox diagonal = matrix_reduce(op, "ReduceSum", each_mul(op, cut, eye), 2, true);
    Ox flat = each_is_zero(op, diagonal);
    Ox axis = ox_int(op->g, rank - 1);
    Ox count = ox_dim_value(op->g, lu->count);
    Ox so_far = ox_ok(flat) ? ox(op, "CumSum", ox_cast(op->g, flat, DT_INT64), axis) : POISON;
    Ox none = ox(op, "Equal", so_far, ox_int(op->g, 0));
    Ox counted = ox_ok(none) ? ox_cast(op->g, none, DT_INT64) : POISON;
    Ox good = matrix_reduce(op, "ReduceSum", matrix_reduce(op, "ReduceSum", counted, 1, false), 1,
                            false);
    Ox any = ox(op, "Less", good, count);
    Ox number = ox(op, "Add", good, ox_int(op->g, 1));
    Ox out = ox(op, "Where", any, number, ox_int(op->g, 0));
    return ox_ok(out) ? ox_cast(op->g, out, DT_INT32) : POISON;
}

/* row->datum: how many results there are. The third is info: the number of the first pivot that is
 * 0, else 0. */
static Value lower_lu_factor(Op *op)
{
    Ox a = matrix_float(op, op->call->schema->param[0].name->s);
    Lu lu;
    if (!with_pivots(op) || !decompose(op, a, &lu))
        return val_poison();
    Ox axes = ints(op, -2);
    Ox from_one = ox(op, "Add", ox(op, "Squeeze", lu.pivots, axes), ox_int(op->g, 1));
    Ox out[3];
    out[0] = lu.packed;
    out[1] = ox_ok(from_one) ? ox_cast(op->g, from_one, DT_INT32) : POISON;
    out[2] = op->row->datum == 3 ? info_of(op, &lu) : NULL;
    return as_tuple(op, out, (size_t)op->row->datum);
}

/* Packed and pivots as lu_factor gave them */
static bool lu_args(Op *op, const char *packed, const char *pivots, Lu *lu)
{
    Ox a = matrix_float(op, packed);
    Ox p = arg(op, pivots);
    int rank;
    if (!ox_ok(a) || !need_rank(op, p, ox_rank(a) - 1, &rank))
        return false;
    if (rank == 0)
        return fail(op->cx, E_VALUE, "the pivots of a decomposition are a vector, not a number");
    lu->count = ox_dim(p, rank - 1);
    lu->packed = a;
    Ox whole = ox_cast(op->g, p, DT_INT64);
    Ox from_zero = ox(op, "Sub", whole, ox_int(op->g, 1));
    lu->pivots = unsqueeze_axis(op, from_zero, rank - 1);
    return ox_ok(lu->packed) && ox_ok(lu->pivots);
}

/* P, L and U of a packed decomposition; an empty matrix for each that is not asked for. */
static Value lower_lu_unpack(Op *op)
{
    Lu lu;
    if (!lu_args(op, "LU_data", "LU_pivots", &lu))
        return val_poison();
    Ox a = lu.packed;
    Ox none = matrix_empty(op, ox_dtype(lu.packed));
    Ox out[] = { none, none, none };
    int rank = ox_rank(a);
    Dim m = ox_dim(a, rank - 2);
    Dim count = dim_min(op->cx, m, ox_dim(a, rank - 1));
    if (arg_bool(op, "unpack_pivots"))
        out[0] = exchanged(op, lu.pivots, lu.count, matrix_eye(op, a, m, m), true);
    if (arg_bool(op, "unpack_data")) {
        out[1] = lower_part(op, a, count);
        out[2] = upper_part(op, a, count);
    }
    return as_tuple(op, out, 3);
}

/* ---- equations ---- */

/* Solving a x = b for a triangle a, row after row. last: the number of the last row, from which the
 * rows are solved upwards; NULL: from the first row on. unit: the diagonal is 1. */
typedef struct Substitution {
    Ox a, b, last;
    bool unit;
} Substitution;

/* One row: b's row k less the product of a's row and the rows solved so far. Rows that are not
 * solved yet are 0. */
static void substitute(Op *op, const void *data, Ox i, const Ox *state, Ox *next, Ox *go)
{
    const Substitution *s = data;
    (void)go;
    Ox k = s->last ? ox(op, "Sub", s->last, i) : i;
    Ox line = matrix_pick(op, s->a, k, 2);
    Ox own = matrix_pick(op, line, k, 1);
    Ox now = ox(op, "Equal", matrix_rows(op, state[0]), k);
    Ox here = ox(op, "Equal", matrix_columns(op, line), k);
    Ox others = ox(op, "Where", here, zero_of(op, line), line);
    Ox taken = matrix_product(op, others, state[0]);
    Ox rest = each_sub(op, matrix_pick(op, s->b, k, 2), taken);
    Ox value = s->unit ? rest : each_div(op, rest, own);
    next[0] = ox(op, "Where", now, value, state[0]);
}

/* The upper or lower triangle of a, times x, is b; with `unit` the diagonal is 1, whatever stands
 * there. */
Ox matrix_triangle_solved(Op *op, Ox a, Ox b, bool upper, bool unit)
{
    if (!ox_ok(a) || !ox_ok(b))
        return POISON;
    Dim n = ox_dim(b, ox_rank(b) - 2);
    Ox k = ox_int(op->g, 0);
    Ox half = ox_with(op, "Trilu", INPUTS(a, k), INT("upper", upper));
    Ox x = expand_dims(op, zero_of(op, b), b->type->dim, ox_rank(b));
    Substitution s = { .a = half,
                       .b = b,
                       .unit = unit,
                       .last = upper ? ox_dim_value(op->g, dim_sub(op->cx, n, dim_int(op->cx, 1)))
                                     : NULL };
    return op_loop(op, ox_dim_value(op->g, n), substitute, &s, &x, 1) ? x : POISON;
}

/* a x = b for a = P L U, or with `adjoint` a^H x = b: then U^H, L^H and P come in the other
 * order. */
static Ox solved(Op *op, Lu lu, Ox b, bool adjoint)
{
    if (!matrix_same_batch(op, &lu.packed, &b) || !matrix_same_batch(op, &lu.pivots, &b))
        return POISON;
    if (!adjoint) {
        Ox half = matrix_triangle_solved(op, lu.packed,
                                         exchanged(op, lu.pivots, lu.count, b, false), false, true);
        return matrix_triangle_solved(op, lu.packed, half, true, false);
    }
    Ox turned = matrix_adjoint(op, lu.packed);
    Ox half = matrix_triangle_solved(op, turned, b, false, false);
    return exchanged(op, lu.pivots, lu.count, matrix_triangle_solved(op, turned, half, true, true),
                     true);
}

static Ox lower_linalg_lu_solve(Op *op)
{
    Lu lu;
    Ox b = matrix_float(op, "B");
    bool left = arg_bool(op, "left");
    bool adjoint = arg_bool(op, "adjoint");
    if (!ox_ok(b) || !lu_args(op, "LU", "pivots", &lu))
        return POISON;
    Ox x = solved(op, lu, left ? b : matrix_adjoint(op, b), adjoint == left);
    return left ? x : matrix_adjoint(op, x);
}

static Ox lower_lu_solve(Op *op)
{
    Lu lu;
    Ox b = matrix_float(op, "self");
    return ox_ok(b) && lu_args(op, "LU_data", "LU_pivots", &lu) ? solved(op, lu, b, false) : POISON;
}

/* ---- for solve.c: matrices that it does not write out ---- */

Ox matrix_solved(Op *op, Ox a, Ox b, Ox *info)
{
    Lu lu;
    if (!decompose(op, a, &lu))
        return POISON;
    if (info)
        *info = info_of(op, &lu);
    return solved(op, lu, b, false);
}

/* The diagonal of U and the sign of the exchanges, both [.., 1, n]: an exchange with a row below
 * turns the sign. */
bool matrix_pivots(Op *op, Ox a, Ox *diagonal, Ox *signs)
{
    Lu lu;
    if (!decompose(op, a, &lu))
        return false;
    Ox eye = matrix_eye(op, lu.packed, lu.count, lu.count);
    Ox stays = ox(op, "Equal", lu.pivots, matrix_columns(op, lu.packed));
    *diagonal = matrix_reduce(op, "ReduceSum", each_mul(op, lu.packed, eye), 2, true);
    *signs = ox(op, "Where", stays, real_like(op, 1, lu.packed), real_like(op, -1, lu.packed));
    return ox_ok(*diagonal) && ox_ok(*signs);
}

#define OF_A "(Tensor A, *, bool pivot=True"

OP_ROWS(lu)
{
    CALL(lower_linalg_lu, NULL, PLAIN, "aten::linalg_lu" OF_A ") -> (Tensor P, Tensor L, Tensor U)",
         .layout = LAYOUT_OWN_ORDER);
    CALL_FAMILY(lower_lu_factor, 2, NULL, PLAIN,
                "aten::linalg_lu_factor" OF_A ") -> (Tensor LU, Tensor pivots)",
                .layout = LAYOUT_OWN_ORDER);
    CALL_FAMILY(lower_lu_factor, 3, NULL, PLAIN,
                "aten::linalg_lu_factor_ex" OF_A
                ", bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)",
                .layout = LAYOUT_OWN_ORDER);
    CALL_FAMILY(lower_lu_factor, 3, NULL, PLAIN,
                "aten::_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> "
                "(Tensor LU, Tensor pivots, Tensor info)",
                .layout = LAYOUT_OWN_ORDER);
    CALL(lower_lu_unpack, NULL, PLAIN,
         "aten::lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool "
         "unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)",
         .layout = LAYOUT_OWN_ORDER);
    LOWER(lower_linalg_lu_solve, NULL, PLAIN,
          "aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool "
          "adjoint=False) -> Tensor",
          .layout = LAYOUT_OWN_ORDER);
    LOWER(lower_lu_solve, NULL, PLAIN,
          "aten::lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor",
          .layout = LAYOUT_OWN_ORDER);
}
