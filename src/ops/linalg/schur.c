/* schur.c - eigenvalues and eigenvectors of matrices that need not be symmetric.
 *
 * The matrix, divided by the sum of its elements' sizes, is brought to Hessenberg form
 * (householder.c) and by QR steps to Schur's form, A = Z T Z^H with a triangle T whose diagonal
 * holds the eigenvalues. A step is a sweep of rotations over the last block that has not fallen
 * apart yet, with Wilkinson's shift; each matrix of a batch has a block and a shift of its own, and
 * rows outside of its block are not rotated. Elements below the diagonal that are small enough
 * become 0. The eigenvectors of T come from back substitution. Computed in complex128, for any size
 * and a dynamic one. A matrix that does not converge, or holds infinities or not-a-numbers, gets
 * not-a-numbers; PyTorch raises an error. */
#include "ops/elementwise/complex.h"
#include "ops/linalg/matrix.h"

#include <math.h>

enum {
    STEPS = 30,    /* the most for each column; some 3 are needed */
    PATIENCE = 10, /* for each column: see deflated() */
    UNUSUAL = 10   /* every so many steps the shift is another */
};
#define PRECISION   2.220446049250313e-16
#define NOTHING     1e-32  /* an element of this size, beside a matrix of size 1, counts as 0 */
#define TINY        1e-150 /* least divisor: its square is no 0 */
#define SHORT       1e-280 /* squared length of a pair that is too short for a rotation */
#define REAL_ENOUGH 1e-15  /* imaginary part that is rounding, beside a matrix of size 1 */

static Ox num(Op *op, double v) { return ox_number(op->g, DT_DOUBLE, v); }
static Ox znum(Op *op, double v) { return ox_number(op->g, DT_COMPLEX128, v); }

/* Row by row (from_end 2: the sum of each column) or column by column, the elements of a where
 * `mask` holds, added up. */
static Ox sum_where(Op *op, Ox mask, Ox a, int from_end)
{
    Ox only = ox_ok(a) ? ox(op, "Where", mask, a, number_like(op, 0, a)) : POISON;
    return matrix_reduce(op, "ReduceSum", only, from_end, true);
}

/* The elements at (k + by, k) as [.., 1, n]; where there is no such row, 0. */
static Ox diagonal(Op *op, Ox a, int64_t by)
{
    Ox at = ox(op, "Add", matrix_columns(op, a), ox_int(op->g, by));
    return sum_where(op, ox(op, "Equal", matrix_rows(op, a), at), a, 2);
}

/* ---- rotations ---- */

/* A sweep over rows first..last + 1; each is [.., 1, 1]. */
typedef struct Sweep {
    Ox first, last, shift;
    bool vectors;
} Sweep;

/* The rotation (c* s*; -s c) of rows k and k + 1, and their numbers. */
typedef struct Rotation {
    Ox c, s, k, below;
} Rotation;

/* x and y become (r, 0). idle: no rotation. */
static void turn(Op *op, Ox x, Ox y, Ox idle, Rotation *r)
{
    Ox own = each_square(op, x);
    Ox square = ox(op, "Add", own, each_square(op, y));
    Ox brief = ox(op, "Less", square, num(op, SHORT));
    Ox none = ox(op, "Or", idle, brief);
    Ox length = ox(op, "Sqrt", ox(op, "Where", none, num(op, 1), square));
    r->c = ox(op, "Where", none, znum(op, 1), each_div(op, x, length));
    r->s = ox(op, "Where", none, znum(op, 0), each_div(op, y, length));
}

static Ox turned_rows(Op *op, Ox a, const Rotation *r)
{
    Ox row = matrix_rows(op, a);
    Ox top = matrix_pick(op, a, r->k, 2);
    Ox bottom = matrix_pick(op, a, r->below, 2);
    Ox top_part = each_mul(op, conjugate(op, r->c), top);
    Ox upper = each_add(op, top_part, each_mul(op, conjugate(op, r->s), bottom));
    Ox bottom_part = each_mul(op, r->c, bottom);
    Ox lower = each_sub(op, bottom_part, each_mul(op, r->s, top));
    Ox is_lower = ox(op, "Equal", row, r->below);
    Ox is_upper = ox(op, "Equal", row, r->k);
    return ox(op, "Where", is_upper, upper, ox(op, "Where", is_lower, lower, a));
}

/* a times the adjoint of the rotation */
static Ox turned_columns(Op *op, Ox a, const Rotation *r)
{
    Ox number = matrix_columns(op, a);
    Ox left = matrix_pick(op, a, r->k, 1);
    Ox right = matrix_pick(op, a, r->below, 1);
    Ox left_part = each_mul(op, r->c, left);
    Ox first = each_add(op, left_part, each_mul(op, r->s, right));
    Ox right_part = each_mul(op, conjugate(op, r->c), right);
    Ox second = each_sub(op, right_part, each_mul(op, conjugate(op, r->s), left));
    Ox is_second = ox(op, "Equal", number, r->below);
    Ox is_first = ox(op, "Equal", number, r->k);
    return ox(op, "Where", is_first, first, ox(op, "Where", is_second, second, a));
}

/* One iteration of a sweep. Its first rotation starts a bulge below the subdiagonal, the others
 * move it on. state: H, and Z where vectors are asked for. */
static void rotate(Op *op, const void *data, Ox k, const Ox *state, Ox *next, Ox *go)
{
    const Sweep *s = data;
    (void)go;
    Ox h = state[0];
    Ox one = ox_int(op->g, 1);
    Ox before = ox(op, "Sub", k, one);
    Rotation r = { .k = k, .below = ox(op, "Add", k, one) };
    Ox top = matrix_pick(op, h, k, 2);
    Ox bottom = matrix_pick(op, h, r.below, 2);
    Ox starts = ox(op, "Equal", s->first, k);
    Ox shifted = each_sub(op, matrix_pick(op, top, k, 1), s->shift);
    Ox x = ox(op, "Where", starts, shifted, matrix_pick(op, top, before, 1));
    Ox start = matrix_pick(op, bottom, k, 1);
    Ox y = ox(op, "Where", starts, start, matrix_pick(op, bottom, before, 1));
    Ox early = ox(op, "Greater", s->first, k);
    Ox late = ox(op, "Less", s->last, k);
    turn(op, x, y, ox(op, "Or", early, late), &r);
    next[0] = turned_columns(op, turned_rows(op, h, &r), &r);
    if (s->vectors)
        next[1] = turned_columns(op, state[1], &r);
}

/* ---- QR steps ---- */

/* patience: after so many steps elements that are rounding beside the whole matrix become 0. */
typedef struct Steps {
    Ox patience;
    bool vectors;
} Steps;

/* h with 0 below the subdiagonal, and for each element of it that is small beside its neighbours.
 * Where these are far smaller than the matrix, rounding may keep the element above that for ever.
 */
static Ox deflated(Op *op, Ox h, Ox late)
{
    Ox row = matrix_rows(op, h);
    Ox number = matrix_columns(op, h);
    Ox size = each_pivot_size(op, h);
    Ox same = ox(op, "Equal", row, number);
    Ox above = sum_where(op, same, size, 2);
    Ox beside = sum_where(op, same, size, 1);
    Ox both = ox(op, "Mul", ox(op, "Add", above, beside), num(op, PRECISION));
    Ox least = ox(op, "Where", late, num(op, PRECISION), num(op, NOTHING));
    Ox limit = ox(op, "Add", both, least);
    Ox under = ox(op, "Add", number, ox_int(op->g, 1));
    Ox at = ox(op, "Equal", row, under);
    Ox little = ox(op, "LessOrEqual", size, limit);
    Ox small = ox(op, "And", at, little);
    Ox left_over = ox(op, "Greater", row, under);
    Ox gone = ox(op, "Or", small, left_over);
    return ox(op, "Where", gone, znum(op, 0), h);
}

/* The row at which a sweep starts: the last one between s->first and s->last that two small
 * elements of the subdiagonal separate from those above, so that what a rotation leaves to the left
 * of its rows is rounding. From further above, rounding would wash the shift out on its way down.
 */
static Ox start_of(Op *op, Ox h, const Sweep *s)
{
    Ox number = matrix_columns(op, h);
    Ox middle = diagonal(op, h, 0);
    Ox away = each_pivot_size(op, each_sub(op, middle, s->shift));
    Ox scale = ox(op, "Add", away, each_pivot_size(op, middle));
    Ox at = ox(op, "Equal", matrix_rows(op, h), ox(op, "Add", number, ox_int(op->g, 1)));
    Ox before = matrix_transposed(op, sum_where(op, at, each_pivot_size(op, h), 1));
    Ox product = ox(op, "Mul", before, each_pivot_size(op, diagonal(op, h, 1)));
    Ox limit = ox(op, "Mul", ox(op, "Mul", away, scale), num(op, PRECISION));
    Ox little = ox(op, "LessOrEqual", product, limit);
    Ox early = ox(op, "Greater", s->first, number);
    Ox late = ox(op, "Greater", number, s->last);
    Ox outside = ox(op, "Or", early, late);
    Ox good = ox(op, "And", little, ox(op, "Not", outside));
    return matrix_reduce(op, "ReduceMax", ox(op, "Where", good, number, s->first), 1, true);
}

/* Wilkinson's shift: that eigenvalue of (a b; c d), rows and columns last and last + 1, that is
 * nearer to d. It is d - b c / q for q the larger of half +- sqrt(half^2 + b c), half = (a - d)
 * / 2. At times another number, so that matrices for which the shift changes nothing get away. */
static Ox shift_of(Op *op, Ox h, Ox last, Ox step)
{
    Ox row = matrix_rows(op, h);
    Ox number = matrix_columns(op, h);
    Ox after = ox(op, "Add", last, ox_int(op->g, 1));
    Ox left = ox(op, "Equal", number, last);
    Ox right = ox(op, "Equal", number, after);
    Ox top = sum_where(op, ox(op, "Equal", row, last), h, 2);
    Ox bottom = sum_where(op, ox(op, "Equal", row, after), h, 2);
    Ox c = sum_where(op, left, bottom, 1);
    Ox d = sum_where(op, right, bottom, 1);
    Ox product = each_mul(op, sum_where(op, right, top, 1), c);
    Ox gap = each_sub(op, sum_where(op, left, top, 1), d);
    Ox half = each_mul(op, gap, num(op, 0.5));
    Ox inside = each_add(op, each_mul(op, half, half), product);
    Ox root = z_joined(op, z_sqrt(op, z_parts(op, inside)));
    Ox plus = each_add(op, half, root);
    Ox less = each_sub(op, half, root);
    Ox size = each_square(op, plus);
    Ox larger = ox(op, "Greater", size, each_square(op, less));
    Ox q = ox(op, "Where", larger, plus, less);
    Ox none = each_is_zero(op, q);
    Ox quotient = each_div(op, product, ox(op, "Where", none, znum(op, 1), q));
    Ox under = each_pivot_size(op, c);
    Ox aside = z_joined(op, z_number(op, 0.75, -0.4375, under));
    Ox other = each_add(op, d, each_mul(op, aside, under));
    Ox turn_of = ox(op, "Mod", step, ox_int(op->g, UNUSUAL));
    Ox unusual = ox(op, "Equal", turn_of, ox_int(op->g, UNUSUAL - 1));
    return ox(op, "Where", unusual, other, each_sub(op, d, quotient));
}

/* One step for each matrix: the last block of its subdiagonal without a 0, rows first..last + 1, is
 * swept. A matrix without such a block (last is -1) stays as it is. state: H, and Z where vectors
 * are asked for. */
static void step(Op *op, const void *data, Ox i, const Ox *state, Ox *next, Ox *go)
{
    const Steps *d = data;
    Sweep s = { .vectors = d->vectors };
    Ox h = deflated(op, state[0], ox(op, "Greater", i, d->patience));
    Ox number = matrix_columns(op, h);
    Ox minus_one = ox_int(op->g, -1);
    Ox there = ox(op, "Greater", each_pivot_size(op, diagonal(op, h, 1)), num(op, 0));
    s.last = matrix_reduce(op, "ReduceMax", ox(op, "Where", there, number, minus_one), 1, true);
    Ox before = ox(op, "Less", number, s.last);
    Ox breaks = ox(op, "And", before, ox(op, "Not", there));
    Ox after = ox(op, "Add", number, ox_int(op->g, 1));
    Ox starts = ox(op, "Where", breaks, after, ox_int(op->g, 0));
    s.first = matrix_reduce(op, "ReduceMax", starts, 1, true);
    s.shift = shift_of(op, h, s.last, i);
    s.first = start_of(op, h, &s);
    next[0] = h;
    if (s.vectors)
        next[1] = state[1];
    /* a batch may be empty, and has no largest element then */
    Ox flat = flatten_to_1d(op, s.last);
    Ox some = concat_axis(op, (const Ox[]){ flat, ints(op, -1) }, 2, 0);
    Ox most = ox_with(op, "ReduceMax", INPUTS(some), INT("keepdims", 0));
    Ox count = ox(op, "Add", most, ox_int(op->g, 1));
    if (op_loop(op, count, rotate, &s, next, s.vectors ? 2 : 1))
        *go = any_of(op, there);
}

/* A = scale Z T Z^H. z NULL: not asked for. scale, done: [.., 1, 1]; is T a triangle? */
typedef struct Schur {
    Ox t, z, scale, done;
} Schur;

/* The decomposition of a matrix whose elements' sizes add up to 1 (scale), so that squares neither
 * overflow nor vanish. With an infinity or a not-a-number in it all are not-a-numbers. */
static bool decompose(Op *op, Ox a, bool vectors, Schur *s)
{
    Ox wide = ox_cast(op->g, a, in_double(a));
    Ox sizes = each_size(op, wide);
    Ox sum = matrix_reduce(op, "ReduceSum", matrix_reduce(op, "ReduceSum", sizes, 1, true), 2,
                           true);
    Ox none = ox(op, "Equal", sum, num(op, 0));
    s->scale = ox(op, "Where", none, num(op, 1), sum);
    Ox h;
    Ox q = NULL;
    if (!matrix_hessenberg(op, each_div(op, wide, s->scale), &h, vectors ? &q : NULL))
        return false;
    Ox state[] = { ox_cast(op->g, h, DT_COMPLEX128), q };
    if (vectors)
        state[1] = ox_cast(op->g, q, DT_COMPLEX128);
    Dim n = ox_dim(a, ox_rank(a) - 1);
    Dim most = dim_mul(op->cx, n, dim_int(op->cx, STEPS));
    Dim patience = dim_mul(op->cx, n, dim_int(op->cx, PATIENCE));
    Steps steps = { .vectors = vectors, .patience = ox_dim_value(op->g, patience) };
    if (!op_loop(op, ox_dim_value(op->g, most), step, &steps, state, vectors ? 2 : 1))
        return false;
    s->t = state[0];
    s->z = vectors ? state[1] : NULL;
    Ox rest = each_pivot_size(op, diagonal(op, s->t, 1));
    Ox left = matrix_reduce(op, "ReduceSum", rest, 1, true);
    s->done = ox(op, "Equal", left, num(op, 0));
    return ox_ok(s->t) && ox_ok(s->done);
}

/* ---- eigenvalues ---- */

/* [.., 1, n], divided by the scale. Of a real matrix an imaginary part that is rounding becomes 0;
 * of one that has not converged all are not-a-numbers. */
static Ox values_of(Op *op, const Schur *s, bool real)
{
    Z each = z_parts(op, diagonal(op, s->t, 0));
    if (real) {
        Ox little = ox(op, "Less", ox(op, "Abs", each.im), num(op, REAL_ENOUGH));
        each.im = ox(op, "Where", little, num(op, 0), each.im);
    }
    each.re = ox(op, "Where", s->done, each.re, num(op, NAN));
    each.im = ox(op, "Where", s->done, each.im, num(op, NAN));
    return z_joined(op, each);
}

/* ---- eigenvectors ---- */

typedef struct Triangle {
    Ox t, values, last; /* last: the number of t's last row */
} Triangle;

/* One row k of the eigenvectors X of T, from the last row up: 1 on the diagonal, and right of it
 * what makes row k of (T - values[j]) x_j zero. Equal eigenvalues are held apart by what rounding
 * makes of them. A column that grows beyond 1 is divided by its size. */
static void substitute(Op *op, const void *data, Ox i, const Ox *state, Ox *next, Ox *go)
{
    const Triangle *d = data;
    (void)go;
    Ox k = ox(op, "Sub", d->last, i);
    Ox row = matrix_rows(op, state[0]);
    Ox number = matrix_columns(op, state[0]);
    Ox line = matrix_pick(op, d->t, k, 2);
    Ox others = matrix_product(op, line, state[0]);
    Ox gap = each_sub(op, d->values, matrix_pick(op, d->values, k, 1));
    Ox least = ox(op, "Mul", each_pivot_size(op, d->values), num(op, PRECISION));
    least = ox(op, "Max", least, num(op, TINY));
    Ox near = ox(op, "Less", each_pivot_size(op, gap), least);
    Ox by = ox_ok(least) ? ox(op, "Where", near, ox_cast(op->g, least, DT_COMPLEX128), gap)
                         : POISON;
    Ox right = ox(op, "Greater", number, k);
    Ox solved = ox(op, "Where", right, each_div(op, others, by), znum(op, 0));
    Ox own = ox(op, "Where", ox(op, "Equal", number, k), znum(op, 1), solved);
    Ox size = ox(op, "Max", each_pivot_size(op, own), num(op, 1));
    Ox with = ox(op, "Where", ox(op, "Equal", row, k), own, state[0]);
    next[0] = each_div(op, with, size);
}

/* Columns of length 1 whose largest element is real and positive, as LAPACK has those of complex
 * matrices. Where a real matrix has a real eigenvalue, the real part alone is an eigenvector. */
static Ox normalized(Op *op, Ox v, const Schur *s, Ox values, bool real)
{
    int rank = ox_rank(v);
    Dim shape[MAX_RANK];
    ox_sizes(v, shape);
    shape[rank - 2] = dim_int(op->cx, 1);
    /* a matrix without rows has no largest element */
    Ox with[] = { v, expand_dims(op, znum(op, 0), shape, rank) };
    Ox longer = concat_axis(op, with, 2, rank - 2);
    Ox at = ox_with(op, "ArgMax", INPUTS(each_square(op, longer)), INT("axis", rank - 2),
                    INT("keepdims", 1));
    Ox largest = ox_with(op, "GatherElements", INPUTS(longer, at), INT("axis", rank - 2));
    Z turned = z_parts(op, each_mul(op, v, conjugate(op, each_sign(op, largest))));
    if (real) {
        Ox alone = ox(op, "Equal", ox_part(op->g, values, 1), num(op, 0));
        turned.im = ox(op, "Where", alone, num(op, 0), turned.im);
    }
    Ox out = z_joined(op, turned);
    Ox length = ox(op, "Sqrt", matrix_reduce(op, "ReduceSum", each_square(op, out), 2, true));
    return each_div(op, out, ox(op, "Where", s->done, length, num(op, NAN)));
}

static Ox vectors_of(Op *op, const Schur *s, Ox values, bool real)
{
    Dim n = ox_dim(s->t, ox_rank(s->t) - 1);
    Triangle data = { .t = s->t,
                      .values = diagonal(op, s->t, 0),
                      .last = ox_dim_value(op->g, dim_sub(op->cx, n, dim_int(op->cx, 1))) };
    Ox x = expand_dims(op, znum(op, 0), s->t->type->dim, ox_rank(s->t));
    if (!op_loop(op, ox_dim_value(op->g, n), substitute, &data, &x, 1))
        return POISON;
    Ox v = matrix_product(op, s->z, x);
    return ox_ok(v) ? normalized(op, v, s, values, real) : POISON;
}

/* ---- the operators ---- */

/* values, and vectors unless NULL, of the argument; both complex. */
static bool eig(Op *op, Ox *values, Ox *vectors)
{
    Ox a = matrix_float(op, "self");
    if (!ox_ok(a) ||
        !dim_require(op->cx, ox_dim(a, ox_rank(a) - 1), ox_dim(a, ox_rank(a) - 2),
                     "A must be batches of square matrices, but it is %s",
                     type_text(op->cx, a->type)->s))
        return false;
    DType t = dtype_of_parts(ox_dtype(a)) == DT_FLOAT ? DT_COMPLEX64 : DT_COMPLEX128;
    bool real = !ox_is_complex(a);
    Schur s;
    if (!decompose(op, a, vectors != NULL, &s))
        return false;
    Ox unit = values_of(op, &s, real);
    Ox axes = ints(op, -2);
    Ox flat = ox(op, "Squeeze", each_mul(op, unit, s.scale), axes);
    *values = ox_ok(flat) ? ox_cast(op->g, flat, t) : POISON;
    if (!ox_ok(*values) || !vectors)
        return ox_ok(*values);
    Ox v = vectors_of(op, &s, unit, real);
    *vectors = ox_ok(v) ? ox_cast(op->g, v, t) : POISON;
    return ox_ok(*vectors);
}

static Value lower_eig(Op *op)
{
    Ox out[2];
    return eig(op, &out[0], &out[1]) ? result_tuple(op, out, 2) : val_poison();
}

static Ox lower_eigvals(Op *op)
{
    Ox values;
    return eig(op, &values, NULL) ? values : POISON;
}

OP_ROWS(schur)
{
    CALL(lower_eig, NULL, PLAIN,
         "aten::linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)",
         .layout = LAYOUT_OWN_ORDER);
    LOWER(lower_eigvals, NULL, PLAIN, "aten::linalg_eigvals(Tensor self) -> Tensor",
          .layout = LAYOUT_CONTIGUOUS);
    LOWER(lower_eigvals, NULL, PLAIN, "aten::_linalg_eigvals(Tensor self) -> Tensor",
          .layout = LAYOUT_CONTIGUOUS);
}
