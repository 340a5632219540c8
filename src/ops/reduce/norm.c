/* norm.c - norms of vectors and matrices, distances between vectors, and what is scaled by a
 * norm. */
#include "ops/linalg/matrix.h"
#include "value/autograd.h"

#include <math.h>

/* ---- norms over any axes ---- */

/* x^p of a size. At 0 the derivative of a root is infinite: there PyTorch has none of it, and so
 * has what a program with gradients takes the root of. */
static Ox size_to(Op *op, Ox x, double p)
{
    Ox power = number_like(op, p, x);
    if (p >= 1 || !autograd_used(op->cx))
        return ox(op, "Pow", x, power);
    Ox zero = number_like(op, 0, x);
    Ox one = number_like(op, 1, x);
    Ox none = ox(op, "Equal", x, zero);
    Ox some = ox(op, "Where", none, one, x);
    Ox root = ox(op, "Pow", some, power);
    return ox(op, "Where", none, p > 0 ? zero : number_like(op, INFINITY, x), root);
}

/* sum(|x|^p)^(1/p) of a real x; of order 0 how many elements are not 0, of order inf the largest
 * size, of -inf the smallest. */
static Ox general_norm(Op *op, Ox x, double p, const Axes *axes, bool keep)
{
    Ox size = ox(op, "Abs", x);
    if (p == INFINITY || p == -INFINITY)
        return reduce(op, p > 0 ? "ReduceMax" : "ReduceMin", size, axes, keep);
    if (p == 0) {
        Ox zero = number_like(op, 0, x);
        Ox none = ox(op, "Equal", x, zero);
        Ox some = ox(op, "Not", none);
        Ox one = ox_cast(op->g, some, ox_dtype(x));
        return reduce(op, "ReduceSum", one, axes, keep);
    }
    Ox sum = reduce(op, "ReduceSum", size_to(op, size, p), axes, keep);
    return size_to(op, sum, 1 / p);
}

/* The norm of a negative or infinite order has no value over an empty axis: false, and PyTorch's
 * error. */
static bool norm_has_value(Op *op, Ox x, double p, const Axes *axes)
{
    if (p >= 0 && p != INFINITY)
        return true;
    for (int i = 0; i < axes->n; i++)
        if (dim_is(ox_dim(x, axes->at[i]), 0))
            return fail(op->cx, E_VALUE,
                        "the norm of order %g has no value over dimension %d, which is empty", p,
                        axes->at[i]);
    return true;
}

static bool has_norm(DType t) { return dtype_is_float(t) || dtype_is_complex(t); }

/* PyTorch's error begins with `name`, as those below. */
static bool both_real_or_complex(Op *op, const char *name, DType from, DType to)
{
    const char *kind = dtype_is_complex(from) ? "complex" : "real";
    return dtype_is_complex(from) == dtype_is_complex(to) ||
        fail(op->cx, E_VALUE, "%s: dtype should be %s for %s inputs, but got %s", name, kind, kind,
             torch_dtype_name(to));
}

/* What holds more than the elements' type does is computed in it; nothing is narrowed. */
bool norm_has_types(Op *op, const char *name)
{
    DType from = tensor_type(arg_tensor(op, "self"))->dtype;
    DType to = arg_dtype(op, "dtype", from);
    if (!has_norm(from))
        return fail(op->cx, E_VALUE,
                    "%s: Expected a floating point or complex tensor as input. Got %s", name,
                    torch_dtype_name(from));
    if (!has_norm(to))
        return fail(op->cx, E_VALUE, "%s: dtype should be floating point or complex, but got %s",
                    name, torch_dtype_name(to));
    if (!both_real_or_complex(op, name, from, to))
        return false;
    return promote_types(from, to) == to ||
        fail(op->cx, E_VALUE,
             "%s: the dtype of the input (%s) should be convertible without narrowing to the "
             "specified dtype (%s)",
             name, torch_dtype_name(from), torch_dtype_name(to));
}

/* The same of torch.norm, which PyTorch 1.13 computes in narrower types too. */
static bool old_norm_has_types(Op *op)
{
    bool given = has_param(op, "dtype") && arg_given(op, "dtype");
    DType from = tensor_type(arg_tensor(op, "self"))->dtype;
    DType to = given ? arg_dtype(op, "dtype", from) : from;
    if (!has_norm(to))
        return fail(op->cx, E_VALUE,
                    "norm(): %s should be either floating point or complex. Got %s instead.",
                    given ? "the desired output dtype" : "input dtype", torch_dtype_name(to));
    return !dtype_is_complex(to) || both_real_or_complex(op, "linalg.vector_norm", from, to);
}

/* The norm of order p over these axes, real for complex x too. */
static Ox norm_over(Op *op, Ox x, double p, const Axes *axes, bool keep)
{
    if (!ox_ok(x) || ctx_failed(op->cx))
        return POISON;
    if (ox_is_complex(x))
        x = each_size(op, x);
    if (!dtype_is_float(ox_dtype(x)))
        return op_fail(op, E_VALUE,
                       "norm: Expected a floating point or complex tensor as input. Got %s",
                       torch_dtype_name(ox_dtype(x)));
    if (!norm_has_value(op, x, p, axes))
        return POISON;
    if (p == 1 || p == 2)
        return reduce(op, p == 1 ? "ReduceL1" : "ReduceL2", x, axes, keep);
    Ox norm = general_norm(op, widened(op, x), p, axes, keep);
    return ox_cast(op->g, norm, ox_dtype(x));
}

/* row->text names the parameter that is p; NULL: the Frobenius norm */
static Ox lower_norm(Op *op)
{
    Ox x = arg(op, "self");
    Axes axes;
    bool keep;
    double p = op->row->text && arg_given(op, op->row->text) ? arg_float(op, op->row->text) : 2;
    return reduced_axes(op, x, &axes, &keep) ? norm_over(op, x, p, &axes, keep) : POISON;
}

static Ox lower_old_norm(Op *op)
{
    return ox_ok(arg(op, "self")) && old_norm_has_types(op) ? lower_norm(op) : POISON;
}

static Ox lower_vector_norm(Op *op)
{
    bool has = ox_ok(arg(op, "self")) && norm_has_types(op, "linalg.vector_norm");
    return has ? lower_norm(op) : POISON;
}

/* The norm over all axes but `dim`, which stays: weight_norm divides by it. dim=-1: over all. */
static Ox lower_norm_except_dim(Op *op)
{
    Ox v = arg(op, "v");
    int rank, but = -1;
    Axes axes = { 0 };
    if (!need_rank(op, v, -1, &rank) ||
        (arg_int(op, "dim") != -1 && !arg_dim(op, "dim", rank, &but)))
        return POISON;
    for (int i = 0; i < rank; i++)
        if (i != but)
            axes.at[axes.n++] = i;
    return axes.n ? norm_over(op, v, arg_float(op, "pow"), &axes, but >= 0) : ox(op, "Abs", v);
}

/* ---- matrix norms ---- */

/* The axes of x that make matrices, from the front: argument `dim`, or the last two. False after an
 * error. */
static bool two_axes(Op *op, Ox x, int *a, int *b)
{
    int rank = ox_rank(x);
    Ints dims = has_param(op, "dim") && arg_given(op, "dim") ? arg_ints(op, "dim")
                                                             : (Ints){ (int64_t[]){ -2, -1 }, 2 };
    if (ctx_failed(op->cx) || rank < 2 || dims.n != 2)
        return fail(op->cx, E_VALUE,
                    "linalg.matrix_norm: a tensor of 2 dimensions or more and two dims are needed");
    *a = (int)(dims.at[0] < 0 ? dims.at[0] + rank : dims.at[0]);
    *b = (int)(dims.at[1] < 0 ? dims.at[1] + rank : dims.at[1]);
    if (*a < 0 || *a >= rank || *b < 0 || *b >= rank || *a == *b)
        return fail(
            op->cx, E_VALUE,
            "linalg.matrix_norm: dims must be different and in range of the tensor's %d dimensions",
            rank);
    return true;
}

static Ox in_order(Op *op, int a, int b) { return a < b ? ints(op, a, b) : ints(op, b, a); }

/* Is n not known to be 1 or more? ReduceMax over that many has no value, where PyTorch's matrix
 * norms give 0. */
static bool may_be_none(Op *op, Dim n) { return dim_le(op->cx, dim_int(op->cx, 1), n) != YES; }

/* The sum, the largest or the smallest (`reduction`) of the singular values of the matrices that
 * dims a and b make. */
static Ox norm_of_values(Op *op, Ox x, const char *reduction)
{
    int perm[MAX_RANK];
    int a, b, n = 0;
    if (!two_axes(op, x, &a, &b))
        return POISON;
    for (int i = 0; i < ox_rank(x); i++)
        if (i != a && i != b)
            perm[n++] = i;
    perm[n] = a;
    perm[n + 1] = b;
    Ox values = matrix_singular_values(op, permute_to(op, x, perm, n + 2));
    if (!ox_ok(values))
        return POISON;
    Dim count = ox_dim(values, n);
    bool none = dim_is(count, 0);
    Ox norm = matrix_reduce(op, none ? "ReduceSum" : reduction, values, 1, false);
    Ox axes = in_order(op, a, b);
    if (!none && strcmp(reduction, "ReduceMax") == 0 && may_be_none(op, count))
        norm = ox(op, "Max", norm, number_like(op, 0, norm));
    norm = arg_bool(op, "keepdim") ? ox(op, "Unsqueeze", norm, axes) : norm;
    return ox_cast(op->g, norm, dtype_of_parts(ox_dtype(x)));
}

/* Sizes summed along axis `summed`, and of these sums the largest or the smallest along axis
 * `compared`. Both axes stay, with size 1. */
static Ox extreme_of_sums(Op *op, Ox x, int summed, int compared, bool largest)
{
    Axes inner = { .at = { summed }, .n = 1 };
    Axes outer = { .at = { compared }, .n = 1 };
    Dim count = ox_dim(x, compared);
    Ox size = each_size(op, x);
    Ox sums = reduce(op, "ReduceSum", size, &inner, true);
    if (!largest)
        return reduce(op, "ReduceMin", sums, &outer, true);
    if (dim_is(count, 0))
        return reduce(op, "ReduceSum", sums, &outer, true);
    Ox most = reduce(op, "ReduceMax", sums, &outer, true);
    Ox zero = number_like(op, 0, size);
    return may_be_none(op, count) ? ox(op, "Max", most, zero) : most;
}

/* Of order 1 the largest sum of a column's sizes, of inf that of a row's, of 2 the largest singular
 * value; of a negative order the smallest. */
static Ox matrix_norm(Op *op, Ox x, double p)
{
    int rows, columns;
    bool keep = arg_bool(op, "keepdim");
    if (!two_axes(op, x, &rows, &columns))
        return POISON;
    if (fabs(p) == 2)
        return norm_of_values(op, x, p == 2 ? "ReduceMax" : "ReduceMin");
    if (fabs(p) != 1 && fabs(p) != INFINITY)
        return op_fail(op, E_VALUE, "linalg.matrix_norm: Order %g not supported.", p);
    Ox norm = fabs(p) == 1 ? extreme_of_sums(op, x, rows, columns, p > 0)
                           : extreme_of_sums(op, x, columns, rows, p > 0);
    Ox axes = in_order(op, rows, columns);
    return keep ? norm : ox(op, "Squeeze", norm, axes);
}

/* ord="nuc", the sum of the singular values, or "fro", the Frobenius norm. */
static Ox named_matrix_norm(Op *op, Ox x)
{
    Str name = arg_str(op, "ord");
    int a, b;
    if (str_is(name, "nuc"))
        return norm_of_values(op, x, "ReduceSum");
    if (!str_is(name, "fro"))
        return op_fail(op, E_VALUE, "linalg.matrix_norm: Order %s not supported.",
                       name ? name->s : "None");
    if (!two_axes(op, x, &a, &b))
        return POISON;
    Axes axes = { .at = { a, b }, .n = 2 };
    if (b < a)
        axes = (Axes){ .at = { b, a }, .n = 2 };
    return norm_over(op, x, 2, &axes, arg_bool(op, "keepdim"));
}

/* The matrix norm that argument `ord` names or numbers. */
static Ox matrix_norm_of_ord(Op *op, Ox x)
{
    if (arg_value(op, "ord").tag == V_STR)
        return named_matrix_norm(op, x);
    return matrix_norm(op, x, arg_float(op, "ord"));
}

static Ox lower_matrix_norm(Op *op)
{
    Ox x = arg(op, "self");
    int rank;
    if (!need_rank(op, x, 2, &rank) || !norm_has_types(op, "linalg.matrix_norm"))
        return POISON;
    return matrix_norm_of_ord(op, x);
}

static Ox lower_nuclear_norm(Op *op)
{
    Ox x = arg(op, "self");
    int rank;
    return need_rank(op, x, 2, &rank) ? norm_of_values(op, x, "ReduceSum") : POISON;
}

/* linalg.norm is a matrix norm where an order and two dims (or no dim, and rank 2) are given, else
 * a norm of vectors. */
static Ox lower_linalg_norm(Op *op)
{
    Ox x = arg(op, "self");
    Axes axes;
    bool keep;
    int rank;
    if (!need_rank(op, x, -1, &rank))
        return POISON;
    bool dims = arg_given(op, "dim");
    bool order = arg_given(op, "ord");
    size_t n = dims ? arg_ints(op, "dim").n : (size_t)rank;
    if (!norm_has_types(op, order && n == 2 ? "linalg.matrix_norm" : "linalg.vector_norm"))
        return POISON;
    if (order && n == 2)
        return matrix_norm_of_ord(op, x);
    if (order && n != 1)
        return op_fail(
            op, E_VALUE,
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got %dD.",
            rank);
    if (!reduced_axes(op, x, &axes, &keep))
        return POISON;
    return norm_over(op, x, order ? arg_float(op, "ord") : 2, &axes, keep);
}

/* ---- distances ---- */

static Axes last_axis(Ox x) { return (Axes){ .at = { ox_rank(x) - 1 }, .n = 1 }; }

static Ox lower_dist(Op *op)
{
    Ox x = arg(op, "self");
    Ox y = arg(op, "other");
    Ox away = each_sub(op, x, y);
    Axes all = { 0 };
    int rank;
    if (!need_rank(op, away, -1, &rank))
        return POISON;
    for (; all.n < rank; all.n++)
        all.at[all.n] = all.n;
    return norm_over(op, away, arg_float(op, "p"), &all, false);
}

static Ox lower_pairwise_distance(Op *op)
{
    Ox x = arg(op, "x1");
    Ox y = arg(op, "x2");
    Ox away = each_sub(op, x, y);
    int rank;
    if (!need_rank(op, away, 2, &rank))
        return POISON;
    if (rank == 0)
        return op_fail(op, E_VALUE,
                       "pairwise_distance: a tensor of one dimension or more is needed");
    if (!dtype_is_float(ox_dtype(away)) && !ox_is_complex(away))
        away = ox_cast(op->g, away, DT_FLOAT); /* PyTorch adds a float to it */
    Ox eps = number_like(op, arg_float(op, "eps"), away);
    Ox shifted = each_add(op, away, eps);
    Axes last = last_axis(away);
    return norm_over(op, shifted, arg_float(op, "p"), &last, arg_bool(op, "keepdim"));
}

/* The shape [rank] that x and y broadcast to. False after an error. */
static bool common_shape(Op *op, Ox x, Ox y, Dim *out, int *rank)
{
    int xr, yr;
    if (!need_rank(op, x, 2, &xr) || !need_rank(op, y, 2, &yr))
        return false;
    *rank = xr > yr ? xr : yr;
    for (int i = 0; i < *rank; i++) {
        int a = i - (*rank - xr);
        int b = i - (*rank - yr);
        if (a < 0 || b < 0)
            out[i] = ox_dim(a < 0 ? y : x, i);
        else if (!dim_broadcast(op->cx, ox_dim(x, a), ox_dim(y, b), &out[i]))
            return fail(op->cx, E_VALUE, "the sizes of dimension %d, %s and %s, do not fit", i,
                        dim_text(op->cx, ox_dim(x, a))->s, dim_text(op->cx, ox_dim(y, b))->s);
    }
    return true;
}

/* x divided by its norm along an axis, but by eps at least. `axis` counts in the shape `both`
 * [rank] that x broadcasts to: where x has another size there, x is expanded first, as its norm is
 * that of the expanded vector. */
static Ox unit_vectors(Op *op, Ox x, const Axes *axis, const Dim *both, int rank)
{
    Axes along = { .at = { axis->at[0] - rank + ox_rank(x) }, .n = axis->n };
    int own = along.at[0];
    if (rank > 0 && (own < 0 || dim_eq(op->cx, ox_dim(x, own), both[axis->at[0]]) != YES)) {
        x = expand_dims(op, x, both, rank);
        along.at[0] = axis->at[0];
    }
    Ox norm = reduce(op, "ReduceL2", x, &along, true);
    Ox least = number_like(op, arg_float(op, "eps"), x);
    Ox by = ox(op, "Max", norm, least);
    return ox(op, "Div", x, by);
}

/* The sum of products of both vectors, each divided by its norm. */
static Ox lower_cosine_similarity(Op *op)
{
    Ox at[2] = { arg(op, "x1"), arg(op, "x2") };
    Axes axis = { 0 };
    Dim both[MAX_RANK];
    int rank;
    if (!one_type(op, at, 2) || !common_shape(op, at[0], at[1], both, &rank) ||
        !arg_dim(op, "dim", rank, &axis.at[0]))
        return POISON;
    if (!dtype_is_float(ox_dtype(at[0])))
        return op_fail(op, E_VALUE,
                       "expected common dtype to be floating point, yet common dtype is %s",
                       torch_dtype_name(ox_dtype(at[0])));
    axis.n = rank > 0;
    for (int i = 0; i < 2; i++)
        at[i] = unit_vectors(op, at[i], &axis, both, rank);
    Ox product = ox(op, "Mul", at[0], at[1]);
    return reduce(op, "ReduceSum", product, &axis, false);
}

/* sqrt(|x|^2 + |y|^2 - 2 x y): PyTorch computes that for more than 25 vectors, and it rounds
 * otherwise than the norm of a difference. */
static Ox lower_euclidean_dist(Op *op)
{
    Ox x = arg(op, "x1");
    Ox y = arg(op, "x2");
    int xr, yr;
    if (!need_rank(op, x, 2, &xr) || !need_rank(op, y, 2, &yr))
        return POISON;
    if (xr < 2 || yr < 2)
        return op_fail(op, E_VALUE, "_euclidean_dist: matrices are needed, got ranks %d and %d", xr,
                       yr);
    Axes last_x = last_axis(x);
    Axes last_y = last_axis(y);
    int rank = ox_rank(y);
    int perm[MAX_RANK];
    Ox xx = ox(op, "Mul", x, x);
    Ox yy = ox(op, "Mul", y, y);
    Ox left = reduce(op, "ReduceSum", xx, &last_x, true);
    Ox right = reduce(op, "ReduceSum", yy, &last_y, true);
    for (int i = 0; i < rank; i++)
        perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    Ox yt = permute_to(op, y, perm, rank);
    Ox row = permute_to(op, right, perm, rank);
    Ox product = ox(op, "MatMul", x, yt);
    Ox minus_two = number_like(op, -2, x);
    Ox scaled = ox(op, "Mul", product, minus_two);
    Ox sum = ox(op, "Add", left, row);
    Ox all = ox(op, "Add", sum, scaled);
    Ox zero = number_like(op, 0, x);
    Ox square = ox(op, "Max", all, zero);
    return ox(op, "Sqrt", square);
}

/* By the distance d of x and y each is pulled along x - y by grad / d, and by nothing where they
 * are the same: sqrt's own derivative is infinite there. */
#define PULL                                    \
    "Where(Equal(result, 0), like(0, result), " \
    "Div(grad, Where(Equal(result, 0), like(1, result), result)))"
#define PULLED(x, pull, y) \
    "Sub(Mul(" x ", aten::matmul(" pull ", aten::ones_like(" y "))), aten::matmul(" pull ", " y "))"
#define OF_DISTANCES                                                                            \
    "x1 = " PULLED("x1", PULL, "x2") " x2 = " PULLED("x2", "aten::transpose(" PULL ", -2, -1)", \
                                                     "x1")

static bool more_than(Dim d, int64_t n)
{
    int64_t v;
    return dim_known(d, &v) && v > n;
}

/* The distance of every row of x1 from every row of x2. */
static Ox lower_cdist(Op *op)
{
    Ox x = arg(op, "x1");
    Ox y = arg(op, "x2");
    double p = arg_float(op, "p");
    int xr, yr;
    if (!need_rank(op, x, 2, &xr) || !need_rank(op, y, 2, &yr))
        return POISON;
    if (xr < 2 || yr < 2)
        return op_fail(op, E_VALUE, "cdist only supports at least 2D tensors, got: %dD and %dD", xr,
                       yr);
    if (surely_differ(op, ox_dim(x, xr - 1), ox_dim(y, yr - 1)))
        return op_fail(op, E_VALUE, "X1 and X2 must have the same number of columns. X1: %s X2: %s",
                       dim_text(op->cx, ox_dim(x, xr - 1))->s,
                       dim_text(op->cx, ox_dim(y, yr - 1))->s);
    int64_t mode = arg_given(op, "compute_mode") ? arg_int(op, "compute_mode") : 0;
    bool many = more_than(ox_dim(x, xr - 2), 25) || more_than(ox_dim(y, yr - 2), 25);
    if (p == 2 && (mode == 1 || (mode == 0 && many))) {
        const Value args[] = { arg_value(op, "x1"), arg_value(op, "x2") };
        return call_ox(op, "aten::_euclidean_dist", args, 2);
    }
    Ox rows = unsqueeze_axis(op, x, xr - 1);
    Ox columns = unsqueeze_axis(op, y, yr - 2);
    Ox away = ox(op, "Sub", rows, columns);
    if (!ox_ok(away))
        return POISON;
    Axes last = last_axis(away);
    bool no_columns = dim_is(ox_dim(away, last.at[0]), 0); /* the distance is 0 in any norm */
    return norm_over(op, away, no_columns ? 2 : p, &last, false);
}

/* The distance of row i from row j for all i < j: [n * (n - 1) / 2]. */
static Ox lower_pdist(Op *op)
{
    Ox x = arg(op, "self");
    int rank;
    if (!need_rank(op, x, 2, &rank))
        return POISON;
    if (rank != 2)
        return op_fail(op, E_VALUE, "pdist only supports 2D tensors, got: %dD", rank);
    Ox pairs = combinations(op, ox_dim(x, 0), 2, false);
    Ox first = ox_int(op->g, 0);
    Ox second = ox_int(op->g, 1);
    Ox a = ox_with(op, "Gather", INPUTS(pairs, first), INT("axis", 1));
    Ox b = ox_with(op, "Gather", INPUTS(pairs, second), INT("axis", 1));
    Ox from = ox_with(op, "Gather", INPUTS(x, a), INT("axis", 0));
    Ox to = ox_with(op, "Gather", INPUTS(x, b), INT("axis", 0));
    Ox away = ox(op, "Sub", from, to);
    Axes last = last_axis(x);
    return norm_over(op, away, arg_float(op, "p"), &last, false);
}

/* ---- scaled down to a norm ---- */

/* x, or x * most / (norm + 1e-7) where norm > most */
static Ox scaled_to(Op *op, Ox x, Ox norm, double most)
{
    Ox limit = real_like(op, most, x);
    Ox one = real_like(op, 1, x);
    Ox little = real_like(op, 1e-7, x);
    Ox safe = ox(op, "Add", norm, little);
    Ox ratio = ox(op, "Div", limit, safe);
    Ox over = ox(op, "Greater", norm, limit);
    Ox factor = ox(op, "Where", over, ratio, one);
    return each_mul(op, x, factor);
}

static Ox lower_renorm(Op *op)
{
    Ox x = arg(op, "self");
    Axes axes = { 0 };
    int rank, axis;
    if (!need_rank(op, x, -1, &rank) || !arg_dim(op, "dim", rank, &axis))
        return POISON;
    if (rank < 2)
        return op_fail(op, E_VALUE, "renorm: input needs at least 2 dimensions, got %d dimensions",
                       rank);
    for (int i = 0; i < rank; i++)
        if (i != axis)
            axes.at[axes.n++] = i;
    return scaled_to(op, x, norm_over(op, x, arg_float(op, "p"), &axes, true),
                     arg_float(op, "maxnorm"));
}

/* The rows that `indices` name are scaled down. A row that is named twice is written twice, with
 * the same value. */
static Ox lower_embedding_renorm(Op *op)
{
    Ox x = arg(op, "self");
    Ox index = arg_typed(op, "indices", DT_INT64);
    if (!ox_ok(x) || !ox_ok(index))
        return POISON;
    Ox at = flatten_to_1d(op, ox_cast(op->g, index, DT_INT64));
    Ox rows = ox_with(op, "Gather", INPUTS(x, at), INT("axis", 0));
    Axes last = { .at = { 1 }, .n = 1 };
    Ox scaled = scaled_to(op, rows, norm_over(op, rows, arg_float(op, "norm_type"), &last, true),
                          arg_float(op, "max_norm"));
    return ox(op, "ScatterND", x, unsqueeze_axis(op, at, 1), scaled);
}

#define SELF "default(self)"

OP_ROWS(norm)
{
    UNARY(lower_old_norm, "p", SELF, PLAIN, "aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor");
    OLDER("aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> "
          "Tensor");
    OLDER("aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor");
    OLDER("aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, "
          "ScalarType dtype) -> Tensor");
    UNARY(lower_vector_norm, "ord", SELF, PLAIN,
          "aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool "
          "keepdim=False, *, ScalarType? dtype=None) -> Tensor");
    LOWER(lower_norm, SELF, PLAIN,
          "aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor");
    LOWER(lower_norm_except_dim, NULL, PLAIN,
          "aten::norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor");
    LOWER(lower_matrix_norm, SELF, PLAIN,
          "aten::linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool "
          "keepdim=False, *, ScalarType? dtype=None) -> Tensor");
    OLDER("aten::linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", int[] dim=[-2, -1], bool "
          "keepdim=False, *, ScalarType? dtype=None) -> Tensor");
    LOWER(lower_linalg_norm, SELF, PLAIN,
          "aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, "
          "*, ScalarType? dtype=None) -> Tensor");
    OLDER("aten::linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, "
          "*, ScalarType? dtype=None) -> Tensor");
    LOWER(lower_nuclear_norm, NULL, PLAIN,
          "aten::nuclear_norm(Tensor self, bool keepdim=False) -> Tensor");
    OLDER("aten::nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor");
    LOWER(lower_dist, "default(self, other)", PLAIN,
          "aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor");
    LOWER(lower_pairwise_distance, "default(x1, x2)", PLAIN,
          "aten::pairwise_distance(Tensor x1, Tensor x2, float p=2, float eps=1e-06, bool "
          "keepdim=False) -> Tensor");
    LOWER(lower_cosine_similarity, NULL, PLAIN,
          "aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor");
    LOWER(lower_euclidean_dist, NULL, PLAIN,
          "aten::_euclidean_dist(Tensor x1, Tensor x2) -> Tensor", .derivative = OF_DISTANCES);
    LOWER(lower_cdist, NULL, PLAIN,
          "aten::cdist(Tensor x1, Tensor x2, float p=2, int? compute_mode=None) -> Tensor");
    LOWER(lower_cdist, NULL, PLAIN,
          "aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor");
    LOWER(lower_pdist, NULL, PLAIN, "aten::pdist(Tensor self, float p=2) -> Tensor");
    LOWER(lower_pdist, NULL, PLAIN, "aten::_pdist_forward(Tensor self, float p=2) -> Tensor");
    LOWER(lower_renorm, NULL, PLAIN,
          "aten::renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor");
    LOWER(lower_embedding_renorm, NULL, PLAIN,
          "aten::embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> "
          "Tensor");
}
