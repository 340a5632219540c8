/* ldl.c - symmetric matrices as L D L^T with exchanges (Bunch and Kaufman's), as LAPACK's sytf2
 * makes them, and equations solved by such.
 *
 * D has blocks of one or two rows. A step takes the block that begins at row k: one row if its own
 * element is large enough beside the largest below it, p, or if that of row p is, which changes
 * places with row k then; else rows k and k + 1, after row p has become k + 1. A pivot counts from
 * 1; those of a block of two rows are the negative of p. As matrices of a batch get blocks of their
 * own, each has its own k. While L grows the rest below and right of it is kept whole, not only its
 * lower half. */
#include "ops/linalg/matrix.h"

#include <math.h>

static Ox none_of(Op *op, Ox like) { return number_like(op, 0, like); }
static Ox both(Op *op, Ox a, Ox b) { return ox(op, "And", a, b); }

/* The item where `mask`, which is true once, is true: along columns (from_end 1) or rows (2). */
static Ox picked(Op *op, Ox a, Ox mask, int from_end)
{
    Ox own = ox_ok(a) ? ox(op, "Where", mask, a, none_of(op, a)) : POISON;
    return matrix_reduce(op, "ReduceSum", own, from_end, true);
}

/* ---- which rows a block has ---- */

/* The block of D that starts at k: of one element or two. p: the row exchanged with its last. */
typedef struct Block {
    Ox row, column; /* the numbers of the rows and columns */
    Ox k, p;
    Ox two;    /* is it a block of two? */
    Ox begins; /* is k a row of the matrix at all? */
    Ox width;  /* 1 or 2 */
    Ox at;     /* is it row k? */
    Ox next;   /* is it row k + 1? */
} Block;

/* The largest of sizes [.., n, 1] where the mask is true; -1 where it is true nowhere. */
static Ox largest(Op *op, Ox size, Ox mask)
{
    Ox masked = ox(op, "Where", mask, size, number_like(op, -1, size));
    return matrix_reduce(op, "ReduceMax", masked, 2, true);
}

/* LAPACK's choice (Bunch and Kaufman): a block of one where the diagonal element is large beside
 * the largest of its column (own, most) or where that of the far row is (far_own); else of two. */
static Block choose(Op *op, Ox a, Ox k)
{
    Block b = { .row = matrix_rows(op, a), .column = matrix_columns(op, a), .k = k };
    if (!ox_ok(a))
        return b;
    Ox one = ox_int(op->g, 1);
    Ox two = ox_int(op->g, 2);
    Ox alpha = real_like(op, (1 + sqrt(17)) / 8, a);
    Ox end = ox_dim_value(op->g, ox_dim(a, ox_rank(a) - 1));
    b.begins = ox(op, "Less", k, end);
    b.at = ox(op, "Equal", b.row, k);
    Ox size = each_pivot_size(op, picked(op, a, ox(op, "Equal", b.column, k), 1));
    Ox below = ox(op, "Greater", b.row, k);
    Ox own = picked(op, size, b.at, 2);
    Ox candidates = ox(op, "Where", below, size, real_like(op, -1, a));
    Ox far = ox_ok(candidates)
        ? ox_with(op, "ArgMax", INPUTS(candidates), INT("axis", ox_rank(a) - 2), INT("keepdims", 1))
        : POISON;
    Ox most = ox(op, "Max", matrix_reduce(op, "ReduceMax", candidates, 2, true),
                 real_like(op, 0, a));
    Ox far_size = each_pivot_size(op, picked(op, a, ox(op, "Equal", b.column, far), 1));
    Ox is_far = ox(op, "Equal", b.row, far);
    Ox within = ox(op, "GreaterOrEqual", b.row, k);
    Ox far_most = largest(op, far_size, both(op, within, ox(op, "Not", is_far)));
    Ox far_own = picked(op, far_size, is_far, 2);
    Ox bound = ox(op, "Mul", alpha, most);
    Ox ratio = ox(op, "Div", most, far_most);
    Ox less = ox(op, "Mul", bound, ratio);
    Ox far_bound = ox(op, "Mul", alpha, far_most);
    Ox large = ox(op, "GreaterOrEqual", own, bound);
    Ox enough = ox(op, "GreaterOrEqual", own, less);
    Ox stays = ox(op, "Or", large, enough);
    Ox takes_far = ox(op, "GreaterOrEqual", far_own, far_bound);
    Ox single = ox(op, "Or", stays, takes_far);
    b.two = both(op, b.begins, ox(op, "Not", single));
    b.p = ox(op, "Where", both(op, b.begins, ox(op, "Not", stays)), far, k);
    b.width = ox(op, "Where", b.two, two, one);
    b.next = ox(op, "Equal", b.row, ox(op, "Add", k, one));
    return b;
}

/* ---- one block taken out of the rest ---- */

/* Rows and columns changed where neither belongs to L. */
static Ox exchanged_in_rest(Op *op, Ox a, const Block *b)
{
    Ox one = ox_int(op->g, 1);
    Ox last = ox(op, "Sub", ox(op, "Add", b->k, b->width), one);
    Ox rows = matrix_exchanged(op, a, last, b->p);
    Ox all = matrix_transposed(op, matrix_exchanged(op, matrix_transposed(op, rows), last, b->p));
    Ox below = ox(op, "GreaterOrEqual", b->row, b->k);
    Ox right = ox(op, "GreaterOrEqual", b->column, b->k);
    return ox(op, "Where", both(op, below, right), all, a);
}

/* The columns of L that belong to a block, and what they are computed from. */
typedef struct Columns {
    Ox at, next;      /* is it column k, k + 1? */
    Ox top, bottom;   /* rows k and k + 1 of the matrix */
    Ox flat;          /* is the diagonal element 0? */
    Ox first, second; /* column k of L; column k + 1 of a block of two, else 0 */
} Columns;

/* Columns k and k + 1 of the matrix times the inverse of the block: [left right] / d of one, of two
 * with [d beside; under corner]. */
static Columns block_columns(Op *op, Ox a, const Block *b, Ox after)
{
    Columns c = { 0 };
    c.at = ox(op, "Equal", b->column, b->k);
    c.next = ox(op, "Equal", b->column, after);
    Ox left = picked(op, a, c.at, 1);
    Ox right = picked(op, a, c.next, 1);
    c.top = picked(op, a, b->at, 2);
    c.bottom = picked(op, a, b->next, 2);
    Ox d = picked(op, left, b->at, 2);
    Ox under = picked(op, left, b->next, 2);
    Ox beside = picked(op, c.top, c.next, 1);
    Ox corner = picked(op, right, b->next, 2);
    c.flat = each_is_zero(op, d);
    Ox unit = number_like(op, 1, a);
    Ox single = each_div(op, left, ox(op, "Where", c.flat, unit, d));
    Ox product = each_mul(op, d, corner);
    Ox det = each_sub(op, product, each_mul(op, under, beside));
    Ox safe = ox(op, "Where", b->two, det, unit);
    Ox left_corner = each_mul(op, left, corner);
    Ox first = each_div(op, each_sub(op, left_corner, each_mul(op, right, under)), safe);
    Ox right_d = each_mul(op, right, d);
    Ox second = each_div(op, each_sub(op, right_d, each_mul(op, left, beside)), safe);
    c.first = ox(op, "Where", b->two, first, single);
    c.second = ox(op, "Where", b->two, second, none_of(op, second));
    return c;
}

/* One iteration takes one block. state[0]: the matrix; state[1]: the pivots [.., 1, n]; state[2]:
 * k, where the block starts; state[3]: the number of the first row without a pivot, or 0, [.., 1,
 * 1]. The product of the block's columns and rows is subtracted from the rest of the matrix. */
static void take_block(Op *op, const void *data, Ox step, const Ox *state, Ox *next, Ox *go)
{
    (void)data, (void)step, (void)go;
    Ox k = state[2];
    Ox one = ox_int(op->g, 1);
    Ox after = ox(op, "Add", k, one);
    Block b = choose(op, state[0], k);
    Ox a = exchanged_in_rest(op, state[0], &b);
    Columns c = block_columns(op, a, &b, after);
    Ox once = each_sub(op, a, each_mul(op, c.first, c.top));
    Ox less = each_sub(op, once, each_mul(op, c.second, c.bottom));
    Ox end = ox(op, "Add", k, b.width);
    Ox below = ox(op, "GreaterOrEqual", b.row, end);
    Ox beyond = ox(op, "GreaterOrEqual", b.column, end);
    Ox rest = ox(op, "Where", both(op, below, beyond), less, a);
    Ox with_first = ox(op, "Where", both(op, below, c.at), c.first, rest);
    Ox in_second = both(op, b.two, both(op, below, c.next));
    Ox number = ox(op, "Add", b.p, one);
    next[0] = ox(op, "Where", in_second, c.second, with_first);
    Ox own = ox(op, "Or", c.at, both(op, b.two, c.next));
    Ox pivot = ox(op, "Where", b.two, ox(op, "Neg", number), number);
    next[1] = ox(op, "Where", own, pivot, state[1]);
    next[2] = ox(op, "Where", b.begins, end, k);
    Ox no_pivot = both(op, both(op, c.flat, ox(op, "Not", b.two)), b.begins);
    Ox is_first = ox(op, "Equal", state[3], ox_int(op->g, 0));
    next[3] = ox(op, "Where", both(op, no_pivot, is_first), after, state[3]);
}

/* The symmetric or Hermitian matrix whose lower half is a's; the diagonal of a Hermitian one is
 * real. */
static Ox whole(Op *op, Ox a, bool hermitian)
{
    Ox below = ox_int(op->g, -1);
    Ox lower = ox_with(op, "Trilu", INPUTS(a, below), INT("upper", 0));
    Ox mirrored = matrix_transposed(op, lower);
    Ox eye = ox_ok(a) ? matrix_eye(op, a, ox_dim(a, ox_rank(a) - 2), ox_dim(a, ox_rank(a) - 1))
                      : POISON;
    Ox diagonal = each_mul(op, a, eye);
    if (hermitian && ox_is_complex(a)) {
        mirrored = conjugate(op, mirrored);
        diagonal = ox_cast(op->g, each_real(op, diagonal), ox_dtype(a));
    }
    return each_add(op, each_add(op, lower, mirrored), diagonal);
}

/* row->datum: how many results there are. The third is info: the number of the first pivot that is
 * 0, else 0. */
static Value lower_ldl_factor(Op *op)
{
    Ox a = matrix_float(op, "self"), out[3];
    bool hermitian = arg_bool(op, "hermitian");
    if (!ox_ok(a) || ctx_failed(op->cx))
        return val_poison();
    int rank = ox_rank(a);
    Dim n, one_each[MAX_RANK];
    if (!dim_require(op->cx, ox_dim(a, rank - 2), ox_dim(a, rank - 1),
                     "linalg.ldl_factor: A must be batches of square matrices"))
        return val_poison();
    ox_sizes(a, one_each);
    one_each[rank - 2] = one_each[rank - 1] = dim_int(op->cx, 1);
    Ox zero = ox_int(op->g, 0);
    Ox start = expand_dims(op, zero, one_each, rank);
    Ox state[] = { whole(op, a, hermitian), matrix_record(op, a, zero, &n), start, start };
    if (!dim_is(n, 0) && !op_loop(op, ox_dim_value(op->g, n), take_block, NULL, state, 4))
        return val_poison();
    Ox row = ints(op, -2);
    Ox ends = ints(op, -2, -1);
    Ox pivots = ox(op, "Squeeze", state[1], row);
    Ox info = ox(op, "Squeeze", state[3], ends);
    out[0] = ox_with(op, "Trilu", INPUTS(state[0], zero), INT("upper", 0));
    out[1] = ox_ok(pivots) ? ox_cast(op->g, pivots, DT_INT32) : POISON;
    out[2] = ox_ok(info) ? ox_cast(op->g, info, DT_INT32) : POISON;
    return ox_ok(out[0]) ? result_tuple(op, out, (size_t)op->row->datum) : val_poison();
}

/* ---- equations ---- */

typedef struct Factors {
    Ox ld, pivots /* int64 [.., 1, n] */,
        firsts /* bool [.., 1, n]: it begins a block of two rows */;
    Dim n;
    bool hermitian;
} Factors;

/* Column t of L [.., n, 1], below the diagonal; the element that D has there is none of it. */
static Ox column_of_l(Op *op, Ox ld, Ox t, Ox first)
{
    Ox column = matrix_pick(op, ld, t, 1);
    Ox one = ox_int(op->g, 1);
    Ox two = ox_int(op->g, 2);
    Ox from = ox(op, "Add", t, ox(op, "Where", first, two, one));
    Ox below = ox(op, "GreaterOrEqual", matrix_rows(op, ld), from);
    return ox_ok(column) ? ox(op, "Where", below, column, none_of(op, column)) : POISON;
}

/* The rows that pivot p of column t names, changed: the second column of a block names none. */
static Ox pivoted(Op *op, Ox b, Ox t, Ox p, Ox first)
{
    Ox one = ox_int(op->g, 1);
    Ox after = ox(op, "Add", t, one);
    Ox from = ox(op, "Where", first, after, t);
    Ox to = ox(op, "Sub", ox(op, "Abs", p), one);
    Ox named = ox(op, "Or", first, ox(op, "Greater", p, ox_int(op->g, 0)));
    return matrix_exchanged(op, b, from, ox(op, "Where", named, to, from));
}

/* L^-1, and which columns begin blocks of two. states: the right side, whether the column before is
 * such a one, all of them so far */
static void go_down(Op *op, const void *data, Ox t, const Ox *state, Ox *next, Ox *go)
{
    const Factors *f = data;
    (void)go;
    Ox p = matrix_pick(op, f->pivots, t, 1);
    Ox of_two = ox(op, "Less", p, ox_int(op->g, 0));
    Ox first = both(op, of_two, ox(op, "Not", state[1]));
    Ox b = pivoted(op, state[0], t, p, first);
    Ox product = each_mul(op, column_of_l(op, f->ld, t, first), matrix_pick(op, b, t, 2));
    next[0] = each_sub(op, b, product);
    next[1] = first;
    next[2] = matrix_recorded(op, state[2], t, first);
}

/* L^-T, or L^-H; from the last column. states: the right side */
static void go_up(Op *op, const void *data, Ox i, const Ox *state, Ox *next, Ox *go)
{
    const Factors *f = data;
    (void)go;
    Ox t = ox(op, "Sub", ox_dim_value(op->g, dim_sub(op->cx, f->n, dim_int(op->cx, 1))), i);
    Ox first = matrix_pick(op, f->firsts, t, 1);
    Ox b = state[0];
    Ox column = column_of_l(op, f->ld, t, first);
    Ox line = f->hermitian ? conjugate(op, column) : column;
    Ox less = each_sub(op, b, matrix_reduce(op, "ReduceSum", each_mul(op, line, b), 2, true));
    Ox own = ox(op, "Equal", matrix_rows(op, b), t);
    next[0] = pivoted(op, ox(op, "Where", own, less, b), t, matrix_pick(op, f->pivots, t, 1),
                      first);
}

/* D^-1: row t of a block of two by its own element and that of the other row. */
static Ox by_blocks(Op *op, const Factors *f, Ox b)
{
    Ox row = matrix_rows(op, f->ld);
    Ox column = matrix_columns(op, f->ld);
    Ox one = ox_int(op->g, 1);
    Ox firsts = matrix_transposed(op, f->firsts);
    Ox d = picked(op, f->ld, ox(op, "Equal", row, column), 1);
    Ox under = both(op, ox(op, "Equal", row, ox(op, "Add", column, one)), f->firsts);
    Ox joins = ox(op, "Where", under, f->ld, none_of(op, f->ld));
    Ox below = matrix_transposed(op, matrix_reduce(op, "ReduceSum", joins, 2, true));
    Ox before = matrix_reduce(op, "ReduceSum", joins, 1, true);
    Ox counted = ox_ok(under) ? ox_cast(op->g, under, DT_INT64) : POISON;
    Ox seconds = ox(op, "Greater", matrix_reduce(op, "ReduceMax", counted, 1, true),
                    ox_int(op->g, 0));
    Ox up = ox(op, "Where", seconds, ox(op, "Sub", row, one), row);
    Ox other = ox(op, "Where", firsts, ox(op, "Add", row, one), up);
    if (!ox_ok(d) || !ox_ok(b) || !ox_ok(other))
        return POISON;
    int rank = ox_rank(d);
    Ox of_d = expand_dims(op, other, d->type->dim, rank);
    Ox of_b = expand_dims(op, other, b->type->dim, ox_rank(b));
    Ox d_other = ox_with(op, "GatherElements", INPUTS(d, of_d), INT("axis", rank - 2));
    Ox b_other = ox_with(op, "GatherElements", INPUTS(b, of_b), INT("axis", rank - 2));
    Ox element = ox(op, "Where", firsts, f->hermitian ? conjugate(op, below) : below, before);
    Ox of_two = ox(op, "Or", firsts, seconds);
    Ox across = f->hermitian ? each_mul(op, element, conjugate(op, element))
                             : each_mul(op, element, element);
    Ox det = each_sub(op, each_mul(op, d, d_other), across);
    Ox pair = each_sub(op, each_mul(op, d_other, b), each_mul(op, element, b_other));
    Ox unit = number_like(op, 1, d);
    Ox of_pair = each_div(op, pair, ox(op, "Where", of_two, det, unit));
    Ox alone = each_div(op, b, ox(op, "Where", of_two, unit, d));
    return ox(op, "Where", of_two, of_pair, alone);
}

/* x with axes of size 1 in front, up to this rank. */
static Ox led(Op *op, Ox x, int rank)
{
    while (ox_ok(x) && ox_rank(x) < rank)
        x = unsqueeze_axis(op, x, 0);
    return x;
}

/* Make the batches of both equal to what they broadcast to; `batch` gets the batch's dims. */
static bool same_batches(Op *op, Factors *f, Ox *ld, Ox *b, Dim *batch, int rank)
{
    Dim shape[MAX_RANK];
    for (int i = 0; i < rank - 2; i++) {
        if (!dim_broadcast(op->cx, ox_dim(*ld, i), ox_dim(*b, i), &shape[i]))
            return fail(op->cx, E_VALUE, "linalg.ldl_solve: the batches %s and %s do not broadcast",
                        type_text(op->cx, (*ld)->type)->s, type_text(op->cx, (*b)->type)->s);
        batch[i] = shape[i];
    }
    shape[rank - 2] = ox_dim(*b, rank - 2);
    shape[rank - 1] = ox_dim(*b, rank - 1);
    *b = expand_dims(op, *b, shape, rank);
    shape[rank - 2] = f->n;
    shape[rank - 1] = f->n;
    *ld = expand_dims(op, *ld, shape, rank);
    return true;
}

/* Solve L D L^T x = b: a Loop down the rows for L, D by blocks, a Loop up for L^T. */
static Ox lower_ldl_solve(Op *op)
{
    Ox ld = matrix_float(op, "LD");
    Ox pivots = arg(op, "pivots");
    Ox b = matrix_float(op, "B");
    bool hermitian = arg_bool(op, "hermitian");
    if (!ox_ok(ld) || !ox_ok(pivots) || !ox_ok(b) || ctx_failed(op->cx))
        return POISON;
    int rank = ox_rank(ld) > ox_rank(b) ? ox_rank(ld) : ox_rank(b);
    if (ox_rank(pivots) != ox_rank(ld) - 1)
        return op_fail(op, E_VALUE, "linalg.ldl_solve: pivots of rank %d for matrices of rank %d",
                       ox_rank(pivots), ox_rank(ld));
    Ox lines = unsqueeze_axis(op, ox_cast(op->g, pivots, DT_INT64), ox_rank(pivots) - 1);
    Factors f = { .n = ox_dim(ld, ox_rank(ld) - 1), .hermitian = hermitian };
    ld = led(op, ld, rank);
    lines = led(op, lines, rank);
    b = led(op, b, rank);
    Dim each[MAX_RANK];
    if (!ox_ok(ld) || !ox_ok(b) || !ox_ok(lines) || !same_batches(op, &f, &ld, &b, each, rank))
        return POISON;
    f.ld = ld;
    each[rank - 2] = dim_int(op->cx, 1);
    each[rank - 1] = dim_int(op->cx, 1);
    Ox no = ox_bool(op->g, false);
    Ox start = expand_dims(op, no, each, rank);
    Ox iterations = ox_dim_value(op->g, f.n);
    each[rank - 1] = f.n;
    f.pivots = expand_dims(op, lines, each, rank);
    Ox down[] = { b, start, expand_dims(op, no, each, rank) };
    if (!op_loop(op, iterations, go_down, &f, down, 3))
        return POISON;
    f.firsts = down[2];
    Ox x = by_blocks(op, &f, down[0]);
    return op_loop(op, iterations, go_up, &f, &x, 1) ? x : POISON;
}

OP_ROWS(ldl)
{
    CALL_FAMILY(lower_ldl_factor, 2, NULL, PLAIN,
                "aten::linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, "
                "Tensor pivots)",
                .layout = LAYOUT_OWN_ORDER);
    CALL_FAMILY(lower_ldl_factor, 3, NULL, PLAIN,
                "aten::linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool "
                "check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)",
                .layout = LAYOUT_OWN_ORDER);
    LOWER(lower_ldl_solve, NULL, PLAIN,
          "aten::linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> "
          "Tensor",
          .layout = LAYOUT_OWN_ORDER);
}
