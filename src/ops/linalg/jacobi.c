/* jacobi.c - singular values and vectors, eigenvalues of symmetric matrices, and what follows from
 * them: pseudo-inverses, ranks, least squares.
 *
 * One-sided Jacobi: columns are rotated in pairs until all are orthogonal, a V = B; then the
 * lengths of B's columns are the singular values. A step of the Loop rotates all neighbours (2i, 2i
 * + 1), the next one (2i + 1, 2i + 2), and each pair changes places, so that n steps bring every
 * column together with every other. A symmetric matrix gets a multiple of 1 added, which makes its
 * eigenvalues singular values. Computed in double, for any size and a dynamic one. Vectors are
 * unique up to their sign (and a rotation where values are equal; a complex number of size 1 where
 * they are complex); PyTorch defines no more either. Of complex columns p and q the second is
 * turned by p^H q / |p^H q| first, so that a real rotation makes them orthogonal. */
#include "ops/linalg/matrix.h"

#include <math.h>

enum { SWEEPS = 40 };    /* the most; some 6 to 10 are needed */
#define ORTHOGONAL 1e-14 /* cosine of two columns that count as orthogonal */

static Ox num(Op *op, double v) { return ox_number(op->g, DT_DOUBLE, v); }

typedef struct Jacobi {
    Ox b, v, sigma; /* [.., m, n], [.., n, n], [.., 1, n]: columns in the order of their lengths */
} Jacobi;

/* ---- rotations ---- */

/* The rotation that makes two columns orthogonal. own, other: their squared lengths; product:
 * their inner product; lower: is `own` the column with the lower number? */
static void angle(Op *op, Ox own, Ox other, Ox product, Ox lower, Ox *cosine, Ox *sine)
{
    Ox none = ox(op, "Equal", product, num(op, 0));
    Ox up = ox(op, "Sub", other, own);
    Ox down = ox(op, "Sub", own, other);
    Ox gap = ox(op, "Where", lower, up, down);
    Ox twice = ox(op, "Add", product, product);
    Ox safe = ox(op, "Where", none, num(op, 1), twice);
    Ox ratio = ox(op, "Div", gap, safe);
    Ox size = ox(op, "Abs", ratio);
    Ox root = ox(op, "Sqrt", ox(op, "Add", ox(op, "Mul", ratio, ratio), num(op, 1)));
    Ox inverse = ox(op, "Reciprocal", ox(op, "Add", size, root));
    Ox negative = ox(op, "Less", ratio, num(op, 0));
    Ox tangent = ox(op, "Where", negative, ox(op, "Neg", inverse), inverse);
    tangent = ox(op, "Where", none, num(op, 0), tangent);
    Ox length = ox(op, "Sqrt", ox(op, "Add", ox(op, "Mul", tangent, tangent), num(op, 1)));
    *cosine = ox(op, "Reciprocal", length);
    *sine = ox(op, "Mul", tangent, *cosine);
}

/* Factors of size 1 that make the inner product z = own^H other of complex columns real: own is
 * multiplied by u, other by w. r: the size of z. */
static void turn(Op *op, Ox z, Ox r, Ox lower, Ox *u, Ox *w)
{
    Ox one = ox_number(op->g, ox_dtype(z), 1);
    Ox none = ox(op, "Equal", r, num(op, 0));
    Ox phase = ox(op, "Where", none, one, each_sign(op, z));
    *u = ox(op, "Where", lower, one, phase);
    *w = ox(op, "Where", lower, conjugate(op, phase), one);
}

/* The column that column i is rotated with in step k, and itself at an end. */
static Ox partners(Op *op, Ox number, Ox k, Ox count, Ox *lower)
{
    Ox one = ox_int(op->g, 1);
    Ox two = ox_int(op->g, 2);
    Ox zero = ox_int(op->g, 0);
    Ox odd = ox(op, "Mod", ox(op, "Add", number, k), two);
    *lower = ox(op, "Equal", odd, zero);
    Ox at = ox(op, "Sub", ox(op, "Add", number, one), ox(op, "Mul", odd, two));
    Ox within = ox(op, "Less", at, count);
    Ox below = ox(op, "Less", at, zero);
    Ox inside = ox(op, "And", within, ox(op, "Not", below));
    return ox(op, "Where", inside, at, number);
}

/* One iteration. state[0]: the matrix with V below it; state[1]: how many iterations in a row found
 * all pairs orthogonal. data: the number of the matrix's rows. */
static void rotate(Op *op, const void *data, Ox k, const Ox *state, Ox *next, Ox *go)
{
    Dim m = *(const Dim *)data;
    Dim n = ox_dim(state[0], ox_rank(state[0]) - 1);
    int last = ox_rank(state[0]) - 1;
    Ox number = matrix_columns(op, state[0]);
    Ox count = ox_dim_value(op->g, n);
    Ox lower;
    Ox flat_axis = ints(op, 0);
    Ox with = partners(op, number, k, count, &lower);
    Ox flat = ox(op, "Squeeze", with, flat_axis);
    Ox other = ox_with(op, "Gather", INPUTS(state[0], flat), INT("axis", last));
    Ox x = slice_axis(op, state[0], last - 1, dim_int(op->cx, 0), m, 1);
    Ox y = slice_axis(op, other, last - 1, dim_int(op->cx, 0), m, 1);
    Ox xx = matrix_reduce(op, "ReduceSum", each_square(op, x), 2, true);
    Ox yy = matrix_reduce(op, "ReduceSum", each_square(op, y), 2, true);
    Ox xy = matrix_reduce(op, "ReduceSum", each_mul(op, conjugate(op, x), y), 2, true);
    Ox alone = ox(op, "Equal", with, number);
    Ox cosine, sine;
    Ox own = state[0];
    if (ox_is_complex(xy)) {
        Ox size = each_size(op, xy), u, w;
        turn(op, xy, size, lower, &u, &w);
        own = each_mul(op, own, u);
        other = each_mul(op, other, w);
        xy = size;
    }
    angle(op, xx, yy, xy, lower, &cosine, &sine);
    Ox own_part = ox(op, "Where", lower, sine, ox(op, "Neg", sine));
    Ox turned = each_mul(op, own, own_part);
    Ox moved = each_add(op, each_mul(op, other, cosine), turned);
    next[0] = ox(op, "Where", alone, state[0], moved);
    Ox limit = ox(op, "Mul", ox(op, "Sqrt", ox(op, "Mul", xx, yy)), num(op, ORTHOGONAL));
    Ox far = ox(op, "Greater", ox(op, "Abs", xy), limit);
    Ox oblique = ox(op, "And", far, ox(op, "Not", alone));
    Ox counted = ox_ok(oblique) ? ox_cast(op->g, oblique, DT_INT64) : POISON;
    Ox left = ox_with(op, "ReduceSum", INPUTS(counted), INT("keepdims", 0));
    Ox zero = ox_int(op->g, 0);
    Ox quiet = ox(op, "Equal", left, zero);
    next[1] = ox(op, "Where", quiet, ox(op, "Add", state[1], ox_int(op->g, 1)), zero);
    *go = ox(op, "Less", next[1], count);
}

/* Columns in the order of their lengths, the longest first unless `rising`. */
static bool in_order(Op *op, Ox both, Ox lengths, Dim m, bool rising, Jacobi *j)
{
    if (!ox_ok(both))
        return false;
    int rank = ox_rank(both);
    Dim zero = dim_int(op->cx, 0);
    Dim end = ox_dim(both, rank - 2);
    Dim n = ox_dim(both, rank - 1);
    Ox sorted[2] = { lengths, NULL };
    if (!dim_is(n, 0)) {
        Ox count = ox_dims(op->g, &n, 1);
        if (!ox_make_n(op->g, "TopK", INPUTS(lengths, count),
                       ATTRS(INT("axis", -1), INT("largest", !rising)), sorted, 2))
            return false;
        both = ox_with(op, "GatherElements",
                       INPUTS(both, expand_dims(op, sorted[1], both->type->dim, rank)),
                       INT("axis", rank - 1));
    }
    j->b = slice_axis(op, both, rank - 2, zero, m, 1);
    j->v = slice_axis(op, both, rank - 2, m, end, 1);
    j->sigma = sorted[0];
    return ox_ok(j->b) && ox_ok(j->v) && ox_ok(j->sigma);
}

/* a in double */
static bool orthogonalize(Op *op, Ox a, bool rising, Jacobi *j)
{
    if (!ox_ok(a))
        return false;
    int rank = ox_rank(a);
    Dim m = ox_dim(a, rank - 2);
    Dim n = ox_dim(a, rank - 1);
    Dim most = dim_mul(op->cx, n, dim_int(op->cx, SWEEPS));
    Ox eye = matrix_eye(op, a, n, n);
    Ox state[] = { concat_axis(op, (const Ox[]){ a, eye }, 2, rank - 2), ox_int(op->g, 0) };
    if (!op_loop(op, ox_dim_value(op->g, most), rotate, &m, state, 2))
        return false;
    Ox b = slice_axis(op, state[0], rank - 2, dim_int(op->cx, 0), m, 1);
    Ox squares = each_square(op, b);
    return in_order(op, state[0], ox(op, "Sqrt", matrix_reduce(op, "ReduceSum", squares, 2, true)),
                    m, rising, j);
}

/* ---- singular values ---- */

/* a v = b, or, turned, the same of a's adjoint. count: the smaller size, that of sigma. */
typedef struct Svd {
    Ox b, v, sigma;
    Dim count;
    bool turned;
} Svd;

/* a's decomposition, in double. The adjoint of a wide matrix is taken: fewer columns need fewer
 * rotations. */
static bool decompose(Op *op, Ox a, Svd *s)
{
    if (!ox_ok(a))
        return false;
    int rank = ox_rank(a);
    Dim m = ox_dim(a, rank - 2);
    Dim n = ox_dim(a, rank - 1);
    Jacobi j;
    s->count = dim_min(op->cx, m, n);
    s->turned = dim_lt(op->cx, m, n) == YES;
    Ox wide = ox_cast(op->g, a, in_double(a));
    Ox tall = s->turned ? matrix_adjoint(op, wide) : wide;
    if (!orthogonalize(op, tall, false, &j))
        return false;
    s->b = j.b;
    s->v = j.v;
    s->sigma = slice_axis(op, j.sigma, rank - 1, dim_int(op->cx, 0), s->count, 1);
    return ox_ok(s->sigma);
}

/* sigma [.., 1, n] as [.., n]. Singular values, and eigenvalues of a symmetric matrix, are real. */
static Ox as_values(Op *op, Ox sigma, DType t)
{
    Ox axes = ints(op, -2);
    Ox values = ox(op, "Squeeze", sigma, axes);
    return ox_ok(values) ? ox_cast(op->g, values, dtype_of_parts(t)) : POISON;
}

Ox matrix_singular_values(Op *op, Ox a)
{
    Svd s;
    return decompose(op, a, &s) ? as_values(op, s.sigma, DT_DOUBLE) : POISON;
}

/* B's columns of length 1, and any that are missing: the Q of such columns is they themselves but
 * for their signs. */
static Ox unit_columns(Op *op, const Svd *s, bool complete)
{
    int rank = ox_rank(s->b);
    Dim zero = dim_int(op->cx, 0);
    Dim m = ox_dim(s->b, rank - 2);
    Ox used = slice_axis(op, s->b, rank - 1, zero, s->count, 1);
    Ox none = ox(op, "Equal", s->sigma, num(op, 0));
    Ox length = ox(op, "Where", none, num(op, 1), s->sigma);
    Ox units = each_div(op, used, length);
    Ox q, r;
    if (!ox_ok(units) || !matrix_qr(op, units, complete, &q, &r))
        return POISON;
    Ox top = slice_axis(op, r, rank - 2, zero, s->count, 1);
    Ox eye = matrix_eye(op, r, s->count, s->count);
    Ox diagonal = each_real(op, matrix_reduce(op, "ReduceSum", each_mul(op, top, eye), 2, true));
    Ox negative = ox(op, "Less", diagonal, num(op, 0));
    Ox signs = ox(op, "Where", negative, num(op, -1), num(op, 1));
    if (complete && ox_ok(signs)) {
        Dim rest[MAX_RANK];
        ox_sizes(signs, rest);
        rest[rank - 1] = dim_sub(op->cx, m, s->count);
        signs = concat_axis(op, (const Ox[]){ signs, expand_dims(op, num(op, 1), rest, rank) }, 2,
                            rank - 1);
    }
    return each_mul(op, q, signs);
}

/* U, S and V (turn_last: V^H) of a. full: U and V are square. Without vectors U and V are empty. */
static Value svd(Op *op, Ox a, bool full, bool with_vectors, bool turn_last)
{
    Svd s;
    if (!decompose(op, a, &s))
        return val_poison();
    DType t = ox_dtype(a);
    Ox sigma = as_values(op, s.sigma, t);
    if (!with_vectors) {
        Ox out[] = { matrix_empty(op, t), sigma, matrix_empty(op, t) };
        return ox_ok(sigma) ? result_tuple(op, out, 3) : val_poison();
    }
    Ox u = unit_columns(op, &s, full);
    Ox v = full ? s.v : slice_axis(op, s.v, ox_rank(s.v) - 1, dim_int(op->cx, 0), s.count, 1);
    Ox left = s.turned ? v : u;
    Ox right = s.turned ? u : v;
    if (!ox_ok(left) || !ox_ok(right) || !ox_ok(sigma))
        return val_poison();
    Ox out[] = { ox_cast(op->g, left, t), sigma,
                 ox_cast(op->g, turn_last ? matrix_adjoint(op, right) : right, t) };
    return result_tuple(op, out, 3);
}

static Value lower_linalg_svd(Op *op)
{
    bool vectors = !op->row->datum || arg_bool(op, "compute_uv");
    return svd(op, matrix_float(op, "A"), arg_bool(op, "full_matrices"), vectors, true);
}

static Value lower_svd(Op *op)
{
    if (!arg_bool(op, "compute_uv"))
        return val_tensor(op->cx,
                          op_refuse(op,
                                    "without vectors it gives matrices of zeros in "
                                    "their place: use torch.linalg.svdvals"));
    return svd(op, matrix_float(op, "self"), !arg_bool(op, "some"), true, false);
}

static Ox lower_svdvals(Op *op)
{
    Ox a = matrix_float(op, "A");
    Ox values = matrix_singular_values(op, a);
    return ox_ok(values) ? ox_cast(op->g, values, dtype_of_parts(ox_dtype(a))) : POISON;
}

/* ---- eigenvalues of symmetric matrices, and of Hermitian ones ---- */

/* The matrix that one of its triangles stands for; imaginary parts on the diagonal are nothing to
 * LAPACK. */
static Ox symmetric(Op *op, Ox a, bool upper)
{
    Ox k = ox_int(op->g, 0);
    Ox beyond = ox_int(op->g, upper ? 1 : -1);
    Ox own = ox_with(op, "Trilu", INPUTS(a, k), INT("upper", upper));
    Ox strict = ox_with(op, "Trilu", INPUTS(a, beyond), INT("upper", upper));
    if (ox_is_complex(strict))
        own = ox_complex(op->g, ox_part(op->g, own, 0), ox_part(op->g, strict, 1));
    return each_add(op, own, matrix_adjoint(op, strict));
}

static bool square(Op *op, Ox a)
{
    return ox_ok(a) &&
        dim_require(op->cx, ox_dim(a, ox_rank(a) - 1), ox_dim(a, ox_rank(a) - 2),
                    "A must be batches of square matrices, but it is %s",
                    type_text(op->cx, a->type)->s);
}

/* values [.., 1, n] and vectors, both in double. Divided by their norm and with 1 added, all
 * eigenvalues are from 0 to 2. */
static bool eigen(Op *op, Ox a, bool upper, Ox *values, Ox *vectors)
{
    if (!square(op, a))
        return false;
    Jacobi j;
    Ox s = symmetric(op, ox_cast(op->g, a, in_double(a)), upper);
    Ox squares = matrix_reduce(
        op, "ReduceSum", matrix_reduce(op, "ReduceSum", each_square(op, s), 1, true), 2, true);
    Ox norm = ox(op, "Sqrt", squares);
    Ox none = ox(op, "Equal", norm, num(op, 0));
    Ox safe = ox(op, "Where", none, num(op, 1), norm);
    Ox unit = each_div(op, s, safe);
    Dim n = ox_dim(a, ox_rank(a) - 1);
    if (!orthogonalize(op, each_add(op, unit, matrix_eye(op, s, n, n)), true, &j))
        return false;
    Ox product = matrix_product(op, s, j.v);
    Ox each = each_real(op, each_mul(op, conjugate(op, j.v), product));
    *values = matrix_reduce(op, "ReduceSum", each, 2, true);
    *vectors = j.v;
    return ox_ok(*values) && ox_ok(*vectors);
}

static bool uplo(Op *op, bool *upper)
{
    Str s = arg_str(op, "UPLO");
    if (!s || strlen(s->s) != 1 || !strchr("LlUu", s->s[0]))
        return fail(op->cx, E_VALUE, "Expected UPLO argument to be 'L' or 'U', but got %s",
                    s ? s->s : "None");
    *upper = s->s[0] == 'U' || s->s[0] == 'u';
    return true;
}

static Value lower_eigh(Op *op)
{
    Ox a = matrix_float(op, op->call->schema->param[0].name->s), values, vectors;
    bool upper, both = !op->row->datum || arg_bool(op, "compute_v");
    if (!uplo(op, &upper) || !eigen(op, a, upper, &values, &vectors))
        return val_poison();
    Ox out[] = { as_values(op, values, ox_dtype(a)),
                 both ? ox_cast(op->g, vectors, ox_dtype(a)) : matrix_empty(op, ox_dtype(a)) };
    return ox_ok(out[0]) ? result_tuple(op, out, 2) : val_poison();
}

static Ox lower_eigvalsh(Op *op)
{
    Ox a = matrix_float(op, "self"), values, vectors;
    bool upper;
    return uplo(op, &upper) && eigen(op, a, upper, &values, &vectors)
        ? as_values(op, values, ox_dtype(a))
        : POISON;
}

/* ---- tolerances ---- */

/* Number or tensor, as a matrix of one element for each of the batch. */
static Ox bound(Op *op, const char *name)
{
    Value v = arg_value(op, name);
    if (v.tag != V_TENSOR)
        return num(op, arg_float(op, name));
    Ox x = arg(op, name);
    int rank;
    if (!need_rank(op, x, 0, &rank))
        return POISON;
    Ox wide = ox_cast(op->g, x, DT_DOUBLE);
    Ox axes = ints(op, -1, -2);
    return rank ? ox(op, "Unsqueeze", wide, axes) : wide;
}

/* The larger size times the distance between 1 and the next number of the type */
static Ox usual_bound(Op *op, Ox a)
{
    Dim most = dim_max(op->cx, ox_dim(a, ox_rank(a) - 1), ox_dim(a, ox_rank(a) - 2));
    Ox size = ox_cast(op->g, ox_dim_value(op->g, most), DT_DOUBLE);
    return ox(op, "Mul", size,
              num(op,
                  dtype_of_parts(ox_dtype(a)) == DT_DOUBLE ? 2.220446049250313e-16
                                                           : 1.1920928955078125e-07));
}

/* What a singular value must exceed: the larger of atol and rtol times the first one. An atol above
 * 0 alone is all there is. */
static Ox threshold(Op *op, Ox a, Ox sigma)
{
    const char *relative = has_param(op, "rcond") ? "rcond" : "rtol";
    const char *absolute = has_param(op, "tol") ? "tol" : "atol";
    bool has_absolute = has_param(op, absolute) && arg_given(op, absolute);
    bool has_relative = has_param(op, relative) && arg_given(op, relative);
    Ox least = has_absolute ? bound(op, absolute) : num(op, 0);
    Ox factor = num(op, 0);
    if (has_relative)
        factor = bound(op, relative);
    else if (strcmp(absolute, "tol") || !has_absolute)
        factor = ox(op, "Where", ox(op, "Greater", least, num(op, 0)), num(op, 0),
                    usual_bound(op, a));
    Ox largest = matrix_reduce(op, "ReduceMax", sigma, 1, true);
    Ox scaled = ox(op, "Mul", factor, largest);
    return ox(op, "Max", least, scaled);
}

static bool counts(Op *op, Ox a, const Svd *s, Ox *above)
{
    *above = dim_is(s->count, 0) ? ox(op, "Greater", s->sigma, num(op, 0))
                                 : ox(op, "Greater", s->sigma, threshold(op, a, s->sigma));
    return ox_ok(*above);
}

static Ox rank_of(Op *op, Ox above)
{
    Ox each = ox_ok(above) ? ox_cast(op->g, above, DT_INT64) : POISON;
    return matrix_reduce(op, "ReduceSum", matrix_reduce(op, "ReduceSum", each, 1, false), 1, false);
}

/* The argument, or what its lower triangle stands for. */
static Ox maybe_hermitian(Op *op)
{
    Ox a = matrix_float(op, op->call->schema->param[0].name->s);
    if (!has_param(op, "hermitian") || !arg_bool(op, "hermitian"))
        return a;
    return square(op, a) ? symmetric(op, a, false) : POISON;
}

static Ox lower_matrix_rank(Op *op)
{
    Ox a = maybe_hermitian(op), above;
    Svd s;
    return decompose(op, a, &s) && counts(op, a, &s, &above) ? rank_of(op, above) : POISON;
}

/* ---- pseudo-inverses and least squares ---- */

/* v b^H with each column divided by its squared length, but for those that do not count */
static Ox pseudo_inverse(Op *op, const Svd *s, Ox above)
{
    int last = ox_rank(s->b) - 1;
    Dim zero = dim_int(op->cx, 0);
    Ox safe = ox(op, "Where", above, s->sigma, num(op, 1));
    Ox v = slice_axis(op, s->v, last, zero, s->count, 1);
    Ox b = slice_axis(op, s->b, last, zero, s->count, 1);
    Ox by_length = each_div(op, v, safe);
    Ox units = each_div(op, b, safe);
    Ox used = ox(op, "Where", above, by_length, number_like(op, 0, by_length));
    Ox out = matrix_product(op, used, matrix_adjoint(op, units));
    return s->turned ? matrix_adjoint(op, out) : out;
}

static Ox lower_pinv(Op *op)
{
    Ox a = maybe_hermitian(op), above;
    Svd s;
    if (!decompose(op, a, &s) || !counts(op, a, &s, &above))
        return POISON;
    Ox out = pseudo_inverse(op, &s, above);
    return ox_ok(out) ? ox_cast(op->g, out, ox_dtype(a)) : POISON;
}

/* x in runs of the model in which `holds` is true, else an empty tensor of shape [0]; so the rank
 * varies unless x has one axis. */
static Value or_empty(Op *op, Ox x, Ox holds)
{
    int rank = ox_rank(x);
    if (rank > 1 && (op->g->up || !rank_may_vary(op->cx)))
        return val_never(
            op->cx,
            str_of(op->cx,
                   "the residuals of a batch have another rank in some runs of the model "
                   "(torch: none unless there are more equations than unknowns), "
                   "and something asks for it: return them as they are, or compute them "
                   "from the solution"));
    Ox flat = flatten_to_1d(op, x);
    Ox nothing = ints(op, 0);
    Ox sizes = ox_shape(op->g, x);
    Ox count = ox_shape(op->g, flat);
    Ox kept = ox(op, "Slice", flat, nothing, ox(op, "Where", holds, count, nothing), nothing);
    if (rank <= 1)
        return ox_ok(kept) ? val_tensor(op->cx, kept) : val_poison();
    Ox last = ints(op, rank - 1);
    Ox end = ints(op, rank);
    Ox start = ox(op, "Where", holds, nothing, last);
    Ox zeroed = ox(op, "Where", holds, sizes, nothing);
    Ox y = ox_with(op, "Reshape", INPUTS(kept, ox(op, "Slice", zeroed, start, end, nothing)),
                   INT("allowzero", 1));
    rank_varies(op->cx, y, op->n_expect > 1 && op->expect[1] ? op->expect[1] : x->type);
    return ox_ok(y) ? val_tensor(op->cx, y) : val_poison();
}

/* The residuals of least squares, which torch gives only for more equations than unknowns and
 * full rank: gels assumes full rank, the other drivers determine it. Else an empty tensor. */
static Value residuals(Op *op, Ox a, Ox x, Ox right, Ox above, Str driver)
{
    int rank = ox_rank(a);
    Value more = val_rel(op->cx, REL_LT, ox_dim(a, rank - 1), ox_dim(a, rank - 2));
    if (!driver || str_is(driver, "gelsy") || (more.tag == V_BOOL && !more.b))
        return val_tensor(op->cx, matrix_empty(op, dtype_of_parts(ox_dtype(a))));
    Ox wide = ox_cast(op->g, a, in_double(a));
    Ox rest = each_sub(op, matrix_product(op, wide, x), right);
    Ox sum = ox_cast(op->g, matrix_reduce(op, "ReduceSum", each_square(op, rest), 2, false),
                     dtype_of_parts(ox_dtype(a)));
    Ox holds = more.tag == V_SYMBOOL ? symbool_ox(op->g, more.sb) : ox_bool(op->g, true);
    if (!ox_ok(sum) || (str_is(driver, "gels") && more.tag == V_BOOL))
        return ox_ok(sum) ? val_tensor(op->cx, sum) : val_poison();
    if (!str_is(driver, "gels")) {
        Ox columns = ox_dim_value(op->g, ox_dim(a, rank - 1));
        Ox less = ox(op, "Less", rank_of(op, above), columns);
        Ox count = ox_with(op, "ReduceSum", INPUTS(ox_cast(op->g, less, DT_INT64)),
                           INT("keepdims", 0));
        Ox none = ox_int(op->g, 0);
        Ox full = ox(op, "Equal", count, none);
        holds = ox(op, "And", holds, full);
    }
    return or_empty(op, sum, holds);
}

/* The shortest solution, by the pseudo-inverse. */
static Value lower_lstsq(Op *op)
{
    Ox a = matrix_float(op, "self");
    Ox b = arg(op, "b");
    Ox above;
    Str driver = arg_str(op, "driver");
    bool values = driver && (str_is(driver, "gelsd") || str_is(driver, "gelss"));
    bool full_rank = driver && str_is(driver, "gels");
    int rank;
    Svd s;
    if (!ox_ok(a) || !need_rank(op, b, 2, &rank) || !decompose(op, a, &s) ||
        !counts(op, a, &s, &above))
        return val_poison();
    bool vector = rank == ox_rank(a) - 1 && same_dims(op->cx, b, a->type->dim, rank);
    Ox wide = ox_cast(op->g, b, in_double(a));
    Ox right = vector ? unsqueeze_axis(op, wide, rank) : wide;
    Ox axes = ints(op, -1);
    Ox x = matrix_product(op, pseudo_inverse(op, &s, above), right);
    Ox solution = vector ? ox(op, "Squeeze", x, axes) : x;
    Value rest = residuals(op, a, x, right, above, driver);
    Ox ranks = full_rank ? matrix_empty(op, DT_INT64) : rank_of(op, above);
    Ox sigma = values ? as_values(op, s.sigma, ox_dtype(a))
                      : matrix_empty(op, dtype_of_parts(ox_dtype(a)));
    if (!ox_ok(solution) || !ox_ok(ranks) || !ox_ok(sigma) || !val_ok(rest))
        return val_poison();
    Value out[] = { val_tensor(op->cx, ox_cast(op->g, solution, ox_dtype(a))), rest,
                    val_tensor(op->cx, ranks), val_tensor(op->cx, sigma) };
    return val_tuple(op->cx, out, 4);
}

OP_ROWS(jacobi)
{
    CALL(lower_svd, NULL, PLAIN,
         "aten::svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, "
         "Tensor V)",
         .layout = LAYOUT_OWN_ORDER);
    CALL_FAMILY(lower_linalg_svd, 1, NULL, PLAIN,
                "aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, "
                "str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
                .layout = LAYOUT_OWN_ORDER);
    CALL_FAMILY(lower_linalg_svd, 0, NULL, PLAIN,
                "aten::linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> "
                "(Tensor U, Tensor S, Tensor Vh)",
                .layout = LAYOUT_OWN_ORDER);
    LOWER(lower_svdvals, NULL, PLAIN,
          "aten::linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor");
    CALL_FAMILY(lower_eigh, 0, NULL, PLAIN,
                "aten::linalg_eigh(Tensor self, str UPLO=\"L\") -> (Tensor eigenvalues, Tensor "
                "eigenvectors)",
                .layout = LAYOUT_OWN_ORDER);
    CALL_FAMILY(lower_eigh, 1, NULL, PLAIN,
                "aten::_linalg_eigh(Tensor A, str UPLO=\"L\", bool compute_v=True) -> (Tensor "
                "eigenvalues, Tensor eigenvectors)",
                .layout = LAYOUT_OWN_ORDER);
    LOWER(lower_eigvalsh, NULL, PLAIN,
          "aten::linalg_eigvalsh(Tensor self, str UPLO=\"L\") -> Tensor");
    LOWER(lower_pinv, NULL, PLAIN, "aten::pinverse(Tensor self, float rcond=1e-15) -> Tensor",
          .layout = LAYOUT_OWN_ORDER);
    LOWER(lower_pinv, NULL, PLAIN,
          "aten::linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor",
          .layout = LAYOUT_OWN_ORDER);
    OLDER("aten::linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, "
          "bool hermitian=False) -> Tensor");
    OLDER("aten::linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> "
          "Tensor");
    OLDER("aten::linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? "
          "rtol=None, bool hermitian=False) -> Tensor");
    LOWER(lower_matrix_rank, NULL, PLAIN,
          "aten::linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor");
    OLDER("aten::linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? "
          "rtol=None, bool hermitian=False) -> Tensor");
    OLDER("aten::linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> "
          "Tensor");
    OLDER("aten::linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? "
          "rtol=None, bool hermitian=False) -> Tensor");
    CALL(lower_lstsq, NULL, PLAIN,
         "aten::linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> "
         "(Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)",
         .layout = LAYOUT_OWN_ORDER);
}
