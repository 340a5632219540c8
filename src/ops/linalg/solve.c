/* solve.c - determinants, inverses, systems of equations and Cholesky factors.
 *
 * ONNX decomposes nothing, so elimination is written out: one group of nodes a column, for matrices
 * of a known size up to MAX_SIZE; larger ones, and those of a dynamic size, go to the Loops of
 * lu.c. Where it is written out, rows never move: the row of a pivot is marked as taken, and its
 * number kept. The pivot is the largest of its column, as LAPACK chooses it. What PyTorch raises
 * for a singular matrix at run time comes out as infinities here. */
#include "ops/linalg/matrix.h"

enum { MAX_SIZE = 16, LOOPED = -1 };

static Ox matrix_arg(Op *op) { return arg(op, op->call->schema->param[0].name->s); }

/* *n: the n of x [.., n, n], or LOOPED where n is dynamic or too large to be written out. */
static bool square(Op *op, Ox x, int *n)
{
    int rank;
    int64_t rows;
    if (!need_rank(op, x, 2, &rank))
        return false;
    if (rank < 2 || dim_eq(op->cx, ox_dim(x, rank - 1), ox_dim(x, rank - 2)) == NO)
        return fail(op->cx, E_VALUE, "A must be batches of square matrices, but it is %s",
                    type_text(op->cx, x->type)->s);
    if (!dtype_is_float(ox_dtype(x)) && !ox_is_complex(x))
        return fail(op->cx, E_VALUE, "Expected a floating point or complex tensor as input. Got %s",
                    torch_dtype_name(ox_dtype(x)));
    *n = dim_known(ox_dim(x, rank - 1), &rows) && rows <= MAX_SIZE ? (int)rows : LOOPED;
    return dim_require(op->cx, ox_dim(x, rank - 1), ox_dim(x, rank - 2),
                       "A must be batches of square matrices");
}

/* Columns (from_end 1) or rows (from_end 2) from..to of a matrix. */
static Ox strip(Op *op, Ox x, int from_end, int64_t from, int64_t to)
{
    return ox_ok(x)
        ? slice_axis(op, x, ox_rank(x) - from_end, dim_int(op->cx, from), dim_int(op->cx, to), 1)
        : POISON;
}

static Ox columns(Op *op, Ox x, int64_t from, int64_t to) { return strip(op, x, 1, from, to); }
static Ox rows(Op *op, Ox x, int64_t from, int64_t to) { return strip(op, x, 2, from, to); }

/* 0, 1, .. as a column of rank `rank` */
static Ox row_numbers(Op *op, int n, int rank)
{
    int64_t at[MAX_SIZE] = { 0 };
    Dim shape[MAX_RANK];
    for (int i = 0; i < n; i++)
        at[i] = i;
    for (int i = 0; i < rank; i++)
        shape[i] = dim_int(op->cx, i == rank - 2 ? n : 1);
    return reshape_to(op, ox_ints(op->g, at, (size_t)n), shape, rank);
}

static Ox identity(Op *op, Ox like, int n)
{
    if (n == LOOPED)
        return matrix_eye(op, like, ox_dim(like, ox_rank(like) - 1),
                          ox_dim(like, ox_rank(like) - 1));
    Ox row = row_numbers(op, n, 2);
    Ox column = permute_to(op, row, (const int[]){ 1, 0 }, 2);
    Ox same = ox(op, "Equal", row, column);
    return ox_ok(same) ? ox_cast(op->g, same, ox_dtype(like)) : POISON;
}

/* ---- elimination ---- */

typedef struct Eliminated {
    int n;
    Ox left;  /* [.., n, m - n]: the columns right of the matrix, once the matrix is the identity */
    Ox pivot; /* [.., 1, n]: the pivot of each column */
    Ox at;    /* [.., 1, n]: the row of each pivot */
} Eliminated;

/* a [.., n, m], m >= n. whole: rows above the pivots are cleared too, and divided by it. */
static bool eliminate(Op *op, Ox a, int n, bool whole, Eliminated *e)
{
    Ox pivots[MAX_SIZE], where[MAX_SIZE], taken = NULL;
    int rank = ox_rank(a);
    Ox number = row_numbers(op, n, rank);
    Ox none = real_like(op, -1, a);
    Ox zero = number_like(op, 0, a);
    for (int k = 0; k < n; k++) {
        Ox column = columns(op, a, k, k + 1);
        Ox size = each_pivot_size(op, column);
        Ox free = taken ? ox(op, "Where", taken, none, size) : size;
        where[k] = ox_with(op, "ArgMax", INPUTS(free), INT("axis", rank - 2), INT("keepdims", 1));
        Ox chosen = ox(op, "Equal", number, where[k]);
        Ox only = ox(op, "Where", chosen, a, zero);
        Ox row = matrix_reduce(op, "ReduceSum", only, 2, true);
        pivots[k] = columns(op, row, k, k + 1);
        Ox unit = whole ? each_div(op, row, pivots[k]) : row;
        Ox ratio = whole ? column : each_div(op, column, pivots[k]);
        if (!whole) { /* a column of zeros leaves the others as they are */
            Ox flat = each_is_zero(op, pivots[k]);
            ratio = ox(op, "Where", flat, zero, ratio);
        }
        Ox part = each_mul(op, ratio, unit);
        Ox less = each_sub(op, a, part);
        a = ox(op, "Where", chosen, unit, less);
        taken = taken ? ox(op, "Or", taken, chosen) : chosen;
    }
    e->n = n;
    e->left = columns(op, a, n, INT64_MAX);
    e->pivot = concat_axis(op, pivots, (size_t)n, rank - 1);
    e->at = concat_axis(op, where, (size_t)n, rank - 1);
    return ox_ok(e->pivot) && ox_ok(e->at);
}

/* Rows in the order of their columns: the solution. */
static Ox in_order(Op *op, const Eliminated *e)
{
    if (!ox_ok(e->left))
        return POISON;
    int rank = ox_rank(e->left);
    Dim shape[MAX_RANK];
    ox_sizes(e->left, shape);
    Ox index = expand_dims(op, matrix_transposed(op, e->at), shape, rank);
    return ox_with(op, "GatherElements", INPUTS(e->left, index), INT("axis", rank - 2));
}

/* -1 for an odd number of rows that stand before an earlier one, else 1; [.., 1, 1] */
static Ox sign_of_order(Op *op, const Eliminated *e, Ox like)
{
    Ox later = matrix_transposed(op, e->at);
    Ox falls = ox(op, "Greater", later, e->at);
    Ox k = ox_int(op->g, 1);
    Ox counts = ox_ok(falls) ? ox_cast(op->g, falls, DT_INT64) : POISON;
    Ox pairs = ox_with(op, "Trilu", INPUTS(counts, k), INT("upper", 1));
    Ox count = matrix_reduce(op, "ReduceSum", matrix_reduce(op, "ReduceSum", pairs, 1, true), 2,
                             true);
    Ox two = ox_int(op->g, 2);
    Ox odd = ox(op, "Mod", count, two);
    Ox yes = ox_ok(odd) ? ox_cast(op->g, odd, DT_BOOL) : POISON;
    Ox minus = real_like(op, -1, like);
    Ox one = real_like(op, 1, like);
    return ox(op, "Where", yes, minus, one);
}

/* ---- determinants ---- */

static Ox without_matrix(Op *op, Ox x)
{
    return matrix_reduce(op, "ReduceSum", matrix_reduce(op, "ReduceSum", x, 1, false), 1, false);
}

/* The product along the last axis, which stays. */
static Ox product(Op *op, Ox x)
{
    if (!ox_is_complex(x))
        return matrix_reduce(op, "ReduceProd", x, 1, true);
    Value args[] = { val_tensor(op->cx, x), val_int(-1), val_bool(true) };
    return call_ox(op, "aten::prod", args, COUNT(args));
}

/* determinant() of a matrix that is not written out. */
static bool looped_determinant(Op *op, Ox a, Ox *sign, Ox *log)
{
    Ox pivots, signs;
    if (!matrix_pivots(op, a, &pivots, &signs))
        return false;
    Ox factors = log ? each_sign(op, pivots) : pivots;
    *sign = without_matrix(op, product(op, each_mul(op, factors, signs)));
    if (log)
        *log = without_matrix(op, ox(op, "Log", each_size(op, pivots)));
    return ox_ok(*sign);
}

/* sign and logarithm of the size, or (log NULL) the determinant itself in *sign */
static bool determinant(Op *op, Ox a, Ox *sign, Ox *log)
{
    Eliminated e;
    int n;
    if (!square(op, a, &n))
        return false;
    if (n == 0) {
        *sign = expand_dims(op, number_like(op, 1, a), a->type->dim, ox_rank(a) - 2);
        if (log)
            *log = expand_dims(op, real_like(op, 0, a), a->type->dim, ox_rank(a) - 2);
        return ox_ok(*sign);
    }
    if (n == LOOPED)
        return looped_determinant(op, a, sign, log);
    if (!eliminate(op, a, n, false, &e))
        return false;
    Ox order = sign_of_order(op, &e, a);
    Ox factors = log ? each_sign(op, e.pivot) : e.pivot;
    Ox all = product(op, factors);
    *sign = without_matrix(op, each_mul(op, order, all));
    if (log) {
        Ox size = each_size(op, e.pivot);
        Ox each = ox(op, "Log", size);
        *log = without_matrix(op, each);
    }
    return ox_ok(*sign);
}

static Ox lower_det(Op *op)
{
    Ox det;
    return determinant(op, matrix_arg(op), &det, NULL) ? det : POISON;
}

static Value unread(Op *op)
{
    return val_never(op->cx,
                     str_of(op->cx,
                            "this result is there for a backward pass only: "
                            "compute it with torch.linalg.lu_factor"));
}

static Value lower_linalg_det(Op *op)
{
    Ox det;
    if (!determinant(op, matrix_arg(op), &det, NULL))
        return val_poison();
    Value out[] = { val_tensor(op->cx, det), unread(op), unread(op) };
    return val_tuple(op->cx, out, 3);
}

/* row->datum: how many results there are; those from the third on are for the backward pass. */
static Value lower_slogdet(Op *op)
{
    Ox sign, log;
    if (!determinant(op, matrix_arg(op), &sign, &log) || !ox_ok(log))
        return val_poison();
    Value out[] = { val_tensor(op->cx, sign), val_tensor(op->cx, log), unread(op), unread(op) };
    return val_tuple(op->cx, out, op->row->datum);
}

static Ox lower_logdet(Op *op)
{
    Ox det;
    if (!determinant(op, matrix_arg(op), &det, NULL))
        return POISON;
    Value of = val_tensor(op->cx, det);
    return call_ox(op, "aten::log", &of, 1);
}

/* ---- inverses and systems of equations ---- */

/* 0, or the number of the first column without a pivot; int32 [..] */
static Ox info_of(Op *op, const Eliminated *e)
{
    int64_t number[MAX_SIZE];
    for (int i = 0; i < e->n; i++)
        number[i] = i + 1;
    Ox flat = each_is_zero(op, e->pivot);
    Ox which = ox_ints(op->g, number, (size_t)e->n);
    Ox most = ox_int(op->g, MAX_SIZE + 1);
    Ox at = ox(op, "Where", flat, which, most);
    Ox first = matrix_reduce(op, "ReduceMin", matrix_reduce(op, "ReduceMin", at, 1, false), 1,
                             false);
    Ox all = ox(op, "Equal", first, most);
    Ox none = ox_int(op->g, 0);
    Ox out = ox(op, "Where", all, none, first);
    return ox_ok(out) ? ox_cast(op->g, out, DT_INT32) : POISON;
}

static Ox no_info(Op *op, Ox a)
{
    return expand_dims(op, ox_integer(op->g, DT_INT32, 0), a->type->dim, ox_rank(a) - 2);
}

/* X of a X = b, b [.., n, m]; info NULL: not wanted */
static bool solve(Op *op, Ox a, Ox b, Ox *x, Ox *info)
{
    Eliminated e;
    int n, rank;
    if (!square(op, a, &n) || !need_rank(op, b, 2, &rank))
        return false;
    if (rank < 2 || dim_eq(op->cx, ox_dim(b, rank - 2), ox_dim(a, ox_rank(a) - 2)) == NO ||
        ox_dtype(a) != ox_dtype(b))
        return fail(op->cx, E_VALUE, "linalg.solve: %s and %s do not fit",
                    type_text(op->cx, a->type)->s, type_text(op->cx, b->type)->s);
    Ox as = a;
    Ox bs = b;
    if (!matrix_same_batch(op, &as, &bs))
        return false;
    if (n == LOOPED) {
        *x = matrix_solved(op, as, bs, info);
        return ox_ok(*x);
    }
    if (n == 0) {
        *x = bs;
        if (info)
            *info = no_info(op, a);
        return ox_ok(bs);
    }
    if (!eliminate(op, concat_axis(op, (const Ox[]){ as, bs }, 2, ox_rank(as) - 1), n, true, &e))
        return false;
    *x = in_order(op, &e);
    if (info)
        *info = info_of(op, &e);
    return ox_ok(*x);
}

static bool inverse(Op *op, Ox a, Ox *out, Ox *info)
{
    int n;
    return square(op, a, &n) && solve(op, a, identity(op, a, n), out, info);
}

static Ox lower_inverse(Op *op)
{
    Ox out;
    return inverse(op, matrix_arg(op), &out, NULL) ? out : POISON;
}

static Value lower_inverse_ex(Op *op)
{
    Ox out[2];
    return inverse(op, matrix_arg(op), &out[0], &out[1]) ? result_tuple(op, out, 2) : val_poison();
}

/* B may be one vector, or a batch of them where its shape says so; left=False: X A = B. */
static bool solve_args(Op *op, Ox *x, Ox *info)
{
    Ox a = arg(op, "A");
    Ox b = arg(op, "B");
    bool left = arg_bool(op, "left");
    int ar, br;
    if (!need_rank(op, a, 2, &ar) || !need_rank(op, b, 2, &br))
        return false;
    bool vector = br == 1 || (ar - 1 == br && same_dims(op->cx, b, a->type->dim, br));
    if (vector)
        b = unsqueeze_axis(op, b, br);
    if (vector && !left)
        return fail(op->cx, E_VALUE,
                    "linalg.solve: Vector broadcasting of the left hand side is not supported for "
                    "left=False.");
    if (!left) {
        a = matrix_transposed(op, a);
        b = matrix_transposed(op, b);
    }
    if (!solve(op, a, b, x, info))
        return false;
    if (!left)
        *x = matrix_transposed(op, *x);
    Ox axes = ints(op, -1);
    *x = vector ? ox(op, "Squeeze", *x, axes) : *x;
    return ox_ok(*x);
}

static Ox lower_solve(Op *op)
{
    Ox x;
    return solve_args(op, &x, NULL) ? x : POISON;
}

/* row->datum: how many results there are. The first is x, the last info; those between are for the
 * backward pass. */
static Value lower_solve_ex(Op *op)
{
    Ox x, info;
    if (!solve_args(op, &x, &info) || !ox_ok(info))
        return val_poison();
    Value out[] = { val_tensor(op->cx, x), unread(op), unread(op), unread(op) };
    out[op->row->datum - 1] = val_tensor(op->cx, info);
    return val_tuple(op->cx, out, op->row->datum);
}

/* ---- triangles ---- */

/* The rows solved so far and one more, in the order of the matrix. */
static Ox with_row(Op *op, Ox done, Ox row, bool upper)
{
    if (!done)
        return row;
    int axis = ox_rank(row) - 2;
    if (upper)
        return concat_axis(op, (const Ox[]){ row, done }, 2, axis);
    return concat_axis(op, (const Ox[]){ done, row }, 2, axis);
}

/* X of a X = b, row by row: b's row less the product of a's row and the rows solved before it. */
static Ox substitute(Op *op, Ox a, Ox b, bool upper, bool unit)
{
    int n;
    Ox done = NULL;
    if (!square(op, a, &n) || !ox_ok(b))
        return POISON;
    Dim size = ox_dim(a, ox_rank(a) - 1);
    if (ox_rank(b) < 2 || surely_differ(op, size, ox_dim(b, ox_rank(b) - 2)))
        return op_fail(op, E_VALUE,
                       "Incompatible matrix sizes for %s: A has the shape %s, but b has the shape "
                       "%s",
                       op->call->schema->name->s + strlen("aten::"), shape_text(op, a)->s,
                       shape_text(op, b)->s);
    if (n == LOOPED)
        return matrix_triangle_solved(op, a, b, upper, unit);
    for (int i = 0; i < n; i++) {
        int r = upper ? n - 1 - i : i;
        Ox line = rows(op, a, r, r + 1);
        Ox right = rows(op, b, r, r + 1);
        if (done) {
            Ox before = upper ? columns(op, line, r + 1, n) : columns(op, line, 0, r);
            Ox part = matrix_product(op, before, done);
            right = each_sub(op, right, part);
        }
        if (!unit)
            right = each_div(op, right, columns(op, line, r, r + 1));
        if (!ox_ok(right))
            return POISON;
        done = with_row(op, done, right, upper);
    }
    return done ? done : b;
}

/* Expand a and b to one batch, because rows of both are joined. */
bool matrix_same_batch(Op *op, Ox *a, Ox *b)
{
    Dim da[MAX_RANK], db[MAX_RANK];
    int ar, br;
    if (!need_rank(op, *a, 2, &ar) || !need_rank(op, *b, 2, &br))
        return false;
    if (ar < 2 || br < 2)
        return fail(op->cx, E_VALUE, "matrices are needed, not %s and %s",
                    type_text(op->cx, (*a)->type)->s, type_text(op->cx, (*b)->type)->s);
    int most = ar > br ? ar : br;
    for (int i = 0; i < most; i++) {
        int p = i - (most - ar);
        int q = i - (most - br);
        da[i] = p < 0 ? ox_dim(*b, q) : ox_dim(*a, p);
        db[i] = q < 0 ? ox_dim(*a, p) : ox_dim(*b, q);
        if (i < most - 2 && p >= 0 && q >= 0 &&
            !dim_broadcast(op->cx, ox_dim(*a, p), ox_dim(*b, q), &da[i]))
            return fail(op->cx, E_VALUE, "the batches of A and B cannot be broadcast together");
        if (i < most - 2)
            db[i] = da[i];
    }
    *a = expand_dims(op, *a, da, most);
    *b = expand_dims(op, *b, db, most);
    return ox_ok(*a) && ox_ok(*b);
}

static Ox lower_solve_triangular(Op *op)
{
    Ox a = arg(op, "self");
    Ox b = arg(op, "B");
    bool upper = arg_bool(op, "upper");
    bool left = arg_bool(op, "left");
    bool unit = arg_bool(op, "unitriangular");
    if (!matrix_same_batch(op, &a, &b))
        return POISON;
    if (left)
        return substitute(op, a, b, upper, unit);
    Ox at = matrix_transposed(op, a);
    Ox bt = matrix_transposed(op, b);
    return matrix_transposed(op, substitute(op, at, bt, !upper, unit));
}

/* triangular_solve, which has the arguments in the older order; its second result is A itself. */
static Value lower_triangular_solve(Op *op)
{
    Ox b = arg(op, "self");
    Ox a = arg(op, "A");
    Ox out[2];
    bool upper = arg_bool(op, "upper");
    bool turned = arg_bool(op, "transpose");
    if (!matrix_same_batch(op, &a, &b))
        return val_poison();
    out[0] = substitute(op, turned ? matrix_transposed(op, a) : a, b, upper != turned,
                        arg_bool(op, "unitriangular"));
    out[1] = a;
    return result_tuple(op, out, 2);
}

/* ---- Cholesky: a = l l^H, column by column, from the lower triangle; pivots are real ---- */

/* What is left of a's column k, by the pivot's root; on the diagonal the root itself, without an
 * imaginary part. */
static Ox by_root(Op *op, Ox own, Ox pivot, Ox row, Ox k)
{
    Ox root = ox(op, "Sqrt", pivot);
    Ox scaled = each_div(op, own, root);
    if (!ox_is_complex(own))
        return scaled;
    Ox here = ox(op, "Equal", row, k);
    return ox(op, "Where", here, ox_cast(op->g, root, ox_dtype(own)), scaled);
}

/* states: what is left of a, l, and the number of the first pivot that is not above 0; column k of
 * l is what is left of a's, by its root */
static void cholesky_column(Op *op, const void *data, Ox k, const Ox *state, Ox *next, Ox *go)
{
    (void)data, (void)go;
    Ox row = matrix_rows(op, state[0]);
    Ox own = matrix_pick(op, state[0], k, 1);
    Ox pivot = each_real(op, matrix_pick(op, own, k, 2));
    Ox scaled = by_root(op, own, pivot, row, k);
    Ox above = ox(op, "Less", row, k);
    Ox column = ox(op, "Where", above, number_like(op, 0, own), scaled);
    next[0] = each_sub(op, state[0], matrix_product(op, column, matrix_adjoint(op, column)));
    next[1] = ox(op, "Where", ox(op, "Equal", matrix_columns(op, state[1]), k), column, state[1]);
    Ox good = ox(op, "Greater", pivot, real_like(op, 0, own));
    Ox known = ox(op, "Greater", state[2], ox_int(op->g, 0));
    Ox stays = ox(op, "Or", good, known);
    next[2] = ox(op, "Where", stays, state[2], ox(op, "Add", k, ox_int(op->g, 1)));
}

static bool looped_cholesky(Op *op, Ox a, bool upper, Ox *l, Ox *info)
{
    int rank = ox_rank(a);
    Dim n = ox_dim(a, rank - 1), one[MAX_RANK];
    ox_sizes(a, one);
    one[rank - 2] = one[rank - 1] = dim_int(op->cx, 1);
    Ox none = expand_dims(op, ox_int(op->g, 0), one, rank);
    Ox state[] = { a, expand_dims(op, number_like(op, 0, a), a->type->dim, rank), none };
    if (!op_loop(op, ox_dim_value(op->g, n), cholesky_column, NULL, state, 3))
        return false;
    *l = upper ? matrix_adjoint(op, state[1]) : state[1];
    Ox bad = without_matrix(op, state[2]);
    if (info)
        *info = ox_ok(bad) ? ox_cast(op->g, bad, DT_INT32) : POISON;
    return ox_ok(*l);
}

/* info of a decomposition: the number of the first pivot that is not above 0; 0 when all are. */
static Ox cholesky_info(Op *op, Ox a, const Ox *pivots, int n)
{
    Ox all = concat_axis(op, pivots, (size_t)n, ox_rank(a) - 1);
    Ox good = ox(op, "Greater", all, real_like(op, 0, a));
    Eliminated e = { .n = n, .pivot = ox_ok(good) ? ox_cast(op->g, good, ox_dtype(all)) : POISON };
    return info_of(op, &e);
}

/* The factor l of a = l l^H (upper: of a = l^H l), column by column written out, or in a Loop when
 * a is large or its size is dynamic. info NULL: not asked for. */
static bool cholesky(Op *op, Ox a, bool upper, Ox *l, Ox *info)
{
    Ox column[MAX_SIZE], pivots[MAX_SIZE];
    int n;
    if (upper)
        a = matrix_adjoint(op, a);
    if (!square(op, a, &n))
        return false;
    if (n == 0) {
        *l = a;
        if (info)
            *info = no_info(op, a);
        return !info || ox_ok(*info);
    }
    if (n == LOOPED)
        return looped_cholesky(op, a, upper, l, info);
    int rank = ox_rank(a);
    Ox number = row_numbers(op, n, rank);
    Ox zero = number_like(op, 0, a);
    for (int k = 0; k < n; k++) {
        Ox own = columns(op, a, k, k + 1);
        Ox below = ox(op, "Less", number, ox_int(op->g, k));
        pivots[k] = each_real(op, rows(op, own, k, k + 1));
        Ox scaled = by_root(op, own, pivots[k], number, ox_int(op->g, k));
        column[k] = ox(op, "Where", below, zero, scaled);
        Ox product = matrix_product(op, column[k], matrix_adjoint(op, column[k]));
        a = k + 1 < n ? each_sub(op, a, product) : a;
    }
    *l = concat_axis(op, column, (size_t)n, rank - 1);
    *l = upper ? matrix_adjoint(op, *l) : *l;
    if (info)
        *info = cholesky_info(op, a, pivots, n);
    return ox_ok(*l);
}

static Ox lower_cholesky(Op *op)
{
    Ox l;
    return cholesky(op, arg(op, "self"), arg_bool(op, "upper"), &l, NULL) ? l : POISON;
}

static Value lower_cholesky_ex(Op *op)
{
    Ox out[2];
    if (!cholesky(op, arg(op, "self"), arg_bool(op, "upper"), &out[0], &out[1]))
        return val_poison();
    return result_tuple(op, out, 2);
}

/* X of a X = b, where l is the Cholesky factor of a. */
static Ox solve_by_factor(Op *op, Ox l, Ox b, bool upper)
{
    if (!matrix_same_batch(op, &l, &b))
        return POISON;
    Ox lower = upper ? matrix_adjoint(op, l) : l;
    Ox half = substitute(op, lower, b, false, false);
    return substitute(op, matrix_adjoint(op, lower), half, true, false);
}

static Ox lower_cholesky_solve(Op *op)
{
    Ox b = arg(op, "self");
    Ox l = arg(op, "input2");
    return solve_by_factor(op, l, b, arg_bool(op, "upper"));
}

static Ox lower_cholesky_inverse(Op *op)
{
    Ox l = arg(op, "self");
    int n;
    if (!square(op, l, &n))
        return POISON;
    return solve_by_factor(op, l, identity(op, l, n), arg_bool(op, "upper"));
}

/* ---- powers ---- */

/* By squaring: a^5 is a (a^2)^2. A negative power is that of the inverse. */
static Ox lower_matrix_power(Op *op)
{
    Ox a = matrix_arg(op);
    Ox out = NULL;
    int64_t power = arg_int(op, "n");
    int rank, n;
    if (!need_rank(op, a, 2, &rank) || ctx_failed(op->cx))
        return POISON;
    if (rank < 2 || dim_eq(op->cx, ox_dim(a, rank - 1), ox_dim(a, rank - 2)) == NO)
        return op_fail(op, E_VALUE,
                       "linalg.matrix_power: A must be batches of square matrices, but it is %s",
                       type_text(op->cx, a->type)->s);
    if (power == 0)
        return square(op, a, &n) ? expand_dims(op, identity(op, a, n), a->type->dim, rank) : POISON;
    if (power < 0 && !inverse(op, a, &a, NULL))
        return POISON;
    for (uint64_t left = power < 0 ? 0 - (uint64_t)power : (uint64_t)power; left; left >>= 1) {
        if (left & 1)
            out = out ? matrix_product(op, out, a) : a;
        a = left > 1 ? matrix_product(op, a, a) : a;
    }
    return out;
}

/* ---- the exponential: exp(a / 2^s) as a sum, squared s times ---- */

/* TERMS: 1/19! is below the last digit of a double. SQUARINGS: 2^1100 is above the largest one. */
enum { TERMS = 18, SQUARINGS = 1100 };

/* state: a batch of matrices; those that still need squaring in iteration k are squared. data: how
 * many squarings each matrix needs. */
static void square_once(Op *op, const void *data, Ox k, const Ox *state, Ox *next, Ox *go)
{
    Ox times = *(const Ox *)data;
    Ox one = ox_int(op->g, 1);
    Ox k_next = ox(op, "Add", k, one);
    Ox more = ox(op, "Less", k, times);
    next[0] = ox(op, "Where", more, matrix_product(op, state[0], state[0]), state[0]);
    *go = any_of(op, ox(op, "Less", k_next, times));
}

/* Horner: 1 + a (1 + a/2 (1 + a/3 (..))) */
static Ox exp_of_small(Op *op, Ox a, Ox eye)
{
    Ox sum = eye;
    for (int i = TERMS; i > 0 && ox_ok(a); i--) {
        Ox part = each_mul(op, a, ox_number(op->g, DT_DOUBLE, 1. / i));
        sum = each_add(op, eye, sum == eye ? part : matrix_product(op, part, sum));
    }
    return sum;
}

/* How often each matrix must be halved until its Frobenius norm is at most 1; a matrix with an
 * infinity or NaN: 0. */
static Ox halvings(Op *op, Ox a)
{
    Ox largest = ox_number(op->g, DT_DOUBLE, 1e300);
    Ox one = ox_number(op->g, DT_DOUBLE, 1);
    Ox zero = ox_number(op->g, DT_DOUBLE, 0);
    Ox columns = matrix_reduce(op, "ReduceL2", ox_is_complex(a) ? each_size(op, a) : a, 1, true);
    Ox norm = matrix_reduce(op, "ReduceL2", columns, 2, true);
    Ox finite = ox(op, "Less", norm, largest);
    Ox large = ox(op, "Greater", norm, one);
    Ox both = ox(op, "And", finite, large);
    Ox twos = ox(op, "Mul", ox(op, "Log", ox(op, "Where", both, norm, one)),
                 ox_number(op->g, DT_DOUBLE, 1.44269504088896340736));
    return ox(op, "Where", both, ox(op, "Ceil", twos), zero);
}

/* exp(a) in double: a is halved until it is small, and the sum is squared as often. */
static Ox lower_matrix_exp(Op *op)
{
    Ox a = arg(op, "self");
    int n;
    if (ox_ok(a) && (ox_dtype(a) == DT_FLOAT16 || ox_dtype(a) == DT_BFLOAT16))
        return op_refuse(
            op, "in half precision PyTorch's own result is infinite: compute it in float32");
    a = matrix_float(op, "self");
    if (!ox_ok(a) || !square(op, a, &n))
        return POISON;
    if (n == 0)
        return a;
    Ox wide = ox_cast(op->g, a, in_double(a));
    Ox often = halvings(op, wide);
    Ox two = ox_number(op->g, DT_DOUBLE, 2);
    Ox small = each_div(op, wide, ox(op, "Pow", two, often));
    Ox times = ox_ok(often) ? ox_cast(op->g, often, DT_INT64) : POISON;
    Ox state[] = { exp_of_small(op, small, identity(op, wide, n)) };
    if (!ox_ok(times) || !op_loop(op, ox_int(op->g, SQUARINGS), square_once, &times, state, 1))
        return POISON;
    return ox_cast(op->g, state[0], ox_dtype(a));
}

/* ---- systems of tensors: both sides as matrices ---- */

/* The inverse of a as a matrix, whose rows are the first `ind` axes; these come last in the
 * result. */
static Ox lower_tensorinv(Op *op)
{
    Ox a = arg(op, "self");
    Ox out;
    int64_t ind = arg_int(op, "ind");
    int rank;
    if (!need_rank(op, a, 4, &rank) || ctx_failed(op->cx))
        return POISON;
    if (ind <= 0 || ind >= rank)
        return op_fail(
            op, E_VALUE,
            "Expected a strictly positive integer for 'ind' below the number of dimensions");
    const Dim *d = a->type->dim;
    Dim dims[MAX_RANK];
    Dim matrix[2] = { dim_product(op->cx, d, (int)ind),
                      dim_product(op->cx, d + ind, rank - (int)ind) };
    for (int i = 0; i < rank; i++)
        dims[i] = d[(i + ind) % rank];
    if (!inverse(op, reshape_to(op, a, matrix, 2), &out, NULL))
        return POISON;
    return reshape_to(op, out, dims, rank);
}

/* perm: the axes that `dims` names last, in that order, the others before them. */
static bool named_last(Op *op, int rank, int *perm)
{
    Ints last = arg_ints(op, "dims");
    bool moved[MAX_RANK] = { false };
    int n = 0;
    if (last.n > (size_t)rank)
        return fail(op->cx, E_VALUE, "linalg.tensorsolve: %zu dims of a tensor that has %d", last.n,
                    rank);
    for (size_t i = 0; i < last.n; i++) {
        int64_t d = last.at[i] + (last.at[i] < 0 ? rank : 0);
        if (d < 0 || d >= rank || moved[d])
            return fail(op->cx, E_VALUE,
                        "linalg.tensorsolve: dim %lld is out of range or there twice",
                        (long long)last.at[i]);
        moved[d] = true;
        perm[rank - (int)last.n + (int)i] = (int)d;
    }
    for (int i = 0; i < rank; i++)
        if (!moved[i])
            perm[n++] = i;
    return !ctx_failed(op->cx);
}

/* x of a x = b: a's last axes, as many as b has not, are those of x; `dims` names axes of a that
 * are moved to the end before. */
static Ox lower_tensorsolve(Op *op)
{
    Ox a = arg(op, "self");
    Ox b = arg(op, "other");
    Ox x;
    int rank, b_rank;
    int perm[MAX_RANK];
    if (!need_rank(op, a, 4, &rank) || !need_rank(op, b, 2, &b_rank) || ctx_failed(op->cx) ||
        !named_last(op, rank, perm))
        return POISON;
    a = permute_to(op, a, perm, rank);
    Dim size = type_numel(op->cx, b->type);
    Dim matrix[2] = { size, size };
    Dim column[2] = { size, dim_int(op->cx, 1) };
    if (!ox_ok(a))
        return POISON;
    if (rank < b_rank)
        return op_fail(op, E_VALUE,
                       "linalg.tensorsolve: A must have at least as many dimensions as B");
    const Dim *rest = a->type->dim + b_rank;
    if (!dim_require(op->cx, type_numel(op->cx, a->type), dim_mul(op->cx, size, size),
                     "linalg.tensorsolve: A must be square once its dims are joined"))
        return POISON;
    Ox as = reshape_to(op, a, matrix, 2);
    Ox bs = reshape_to(op, b, column, 2);
    if (!solve(op, as, bs, &x, NULL))
        return POISON;
    return reshape_to(op, x, rest, rank - b_rank);
}

/* The largest singular value over the smallest, or the other way round. */
static Ox ratio_of_ends(Op *op, Ox a, bool inverted)
{
    Ox values = matrix_singular_values(op, a);
    Ox largest = matrix_reduce(op, "ReduceMax", values, 1, false);
    Ox smallest = matrix_reduce(op, "ReduceMin", values, 1, false);
    Ox ratio = inverted ? ox(op, "Div", smallest, largest) : ox(op, "Div", largest, smallest);
    return ox_ok(ratio) ? ox_cast(op->g, ratio, dtype_of_parts(ox_dtype(a))) : POISON;
}

static Ox norm_of(Op *op, Ox a, Value order)
{
    Value args[] = { val_tensor(op->cx, a), order };
    Value v = call_op(op, "aten::linalg_matrix_norm", args, 2);
    return val_ok(v) ? tensor_read(op->g, v.t) : POISON;
}

/* The norm of a times that of its inverse; of order 2 that is a ratio. */
static Ox lower_cond(Op *op)
{
    Ox a = matrix_float(op, "self"), inverted;
    Value order = arg_value(op, "p");
    if (!ox_ok(a))
        return POISON;
    if (order.tag == V_NONE || arg_is_number(op, "p", 2) || arg_is_number(op, "p", -2))
        return ratio_of_ends(op, a, arg_is_number(op, "p", -2));
    if (!inverse(op, a, &inverted, NULL))
        return POISON;
    Ox own = norm_of(op, a, order);
    Ox its = norm_of(op, inverted, order);
    return ox(op, "Mul", own, its);
}

/* They read one half of a matrix that PyTorch takes for a symmetric one. */
#define OF_ONE_HALF NO_DERIVATIVE("self") NO_DERIVATIVE("input2")

OP_ROWS(solve)
{
    LOWER(lower_det, NULL, PLAIN, "aten::det(Tensor self) -> Tensor");
    LOWER(lower_det, NULL, PLAIN, "aten::linalg_det(Tensor A) -> Tensor");
    CALL(lower_linalg_det, NULL, PLAIN,
         "aten::_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)");
    LOWER(lower_logdet, NULL, PLAIN, "aten::logdet(Tensor self) -> Tensor");
    CALL_FAMILY(lower_slogdet, 2, NULL, PLAIN,
                "aten::slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)");
    CALL_FAMILY(lower_slogdet, 2, NULL, PLAIN,
                "aten::linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)");
    CALL_FAMILY(lower_slogdet, 4, NULL, PLAIN,
                "aten::_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, "
                "Tensor pivots)");
    LOWER(lower_inverse, NULL, PLAIN, "aten::inverse(Tensor self) -> Tensor",
          .layout = LAYOUT_OWN_ORDER);
    LOWER(lower_inverse, NULL, PLAIN, "aten::linalg_inv(Tensor A) -> Tensor",
          .layout = LAYOUT_OWN_ORDER);
    CALL(lower_inverse_ex, NULL, PLAIN,
         "aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor "
         "info)",
         .layout = LAYOUT_OWN_ORDER);
    LOWER(lower_solve, NULL, PLAIN,
          "aten::linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
          .layout = LAYOUT_OWN_ORDER);
    CALL_FAMILY(lower_solve_ex, 2, NULL, PLAIN,
                "aten::linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool "
                "check_errors=False) -> (Tensor result, Tensor info)",
                .layout = LAYOUT_OWN_ORDER);
    CALL_FAMILY(lower_solve_ex, 4, NULL, PLAIN,
                "aten::_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool "
                "check_errors=False) -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)",
                .layout = LAYOUT_OWN_ORDER);
    LOWER(lower_solve_triangular, NULL, PLAIN,
          "aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, "
          "bool unitriangular=False) -> Tensor",
          .layout = LAYOUT_OWN_ORDER);
    CALL(lower_triangular_solve, NULL, PLAIN,
         "aten::triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, "
         "bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)",
         .layout = LAYOUT_OWN_ORDER);
    LOWER(lower_cholesky, NULL, PLAIN, "aten::cholesky(Tensor self, bool upper=False) -> Tensor",
          .layout = LAYOUT_OWN_ORDER, .derivative = OF_ONE_HALF);
    LOWER(lower_cholesky, NULL, PLAIN,
          "aten::linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor",
          .layout = LAYOUT_OWN_ORDER, .derivative = OF_ONE_HALF);
    CALL(lower_cholesky_ex, NULL, PLAIN,
         "aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> "
         "(Tensor L, Tensor info)",
         .layout = LAYOUT_OWN_ORDER, .derivative = OF_ONE_HALF);
    LOWER(lower_cholesky_solve, NULL, PLAIN,
          "aten::cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor",
          .layout = LAYOUT_OWN_ORDER, .derivative = OF_ONE_HALF);
    LOWER(lower_cholesky_inverse, NULL, PLAIN,
          "aten::cholesky_inverse(Tensor self, bool upper=False) -> Tensor",
          .layout = LAYOUT_OWN_ORDER, .derivative = OF_ONE_HALF);
    LOWER(lower_matrix_power, NULL, PLAIN,
          "aten::linalg_matrix_power(Tensor self, int n) -> Tensor", .layout = LAYOUT_OWN_ORDER);
    LOWER(lower_matrix_power, NULL, PLAIN, "aten::matrix_power(Tensor self, int n) -> Tensor",
          .layout = LAYOUT_OWN_ORDER);
    LOWER(lower_tensorinv, NULL, PLAIN, "aten::linalg_tensorinv(Tensor self, int ind=2) -> Tensor",
          .layout = LAYOUT_OWN_ORDER);
    LOWER(lower_tensorsolve, NULL, PLAIN,
          "aten::linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor",
          .layout = LAYOUT_OWN_ORDER);
    LOWER(lower_cond, NULL, PLAIN, "aten::linalg_cond(Tensor self, Scalar? p=None) -> Tensor");
    OLDER("aten::linalg_cond.p_str(Tensor self, str p) -> Tensor");
    LOWER(lower_matrix_exp, NULL, PLAIN, "aten::matrix_exp(Tensor self) -> Tensor");
    LOWER(lower_matrix_exp, NULL, PLAIN, "aten::linalg_matrix_exp(Tensor self) -> Tensor");
}
