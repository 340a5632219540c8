/* linalg.c - products of matrices and vectors. Rank 2 with a bias is Gemm, everything else
 * MatMul. */
#include "ops/linalg/matrix.h"

#include <math.h>

/* ---- helpers ---- */

static Ox transpose_last_two(Op *op, Ox x)
{
    int perm[MAX_RANK], rank = ox_ok(x) ? ox_rank(x) : -1;
    if (rank < 2)
        return ox_ok(x) ? op_fail(op, E_VALUE, "a tensor of rank 2 or more is needed, not %s",
                                  type_text(op->cx, x->type)->s)
                        : POISON;
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    perm[rank - 2] = rank - 1;
    perm[rank - 1] = rank - 2;
    return permute_to(op, x, perm, rank);
}

static Ox drop_axis(Op *op, Ox x, int axis)
{
    Ox axes = ints(op, axis);
    return ox(op, "Squeeze", x, axes);
}

/* a b of floats or wide ints. A vector beside a matrix takes part as a matrix of one column or row:
 * ONNX Runtime's MatmulTransposeFusion (1.31) takes Transpose(x) MatMul v for a product of
 * matrices, and its result is wrong. */
static Ox matmul(Op *op, Ox a, Ox b)
{
    int ra = ox_ok(a) ? ox_rank(a) : -1;
    int rb = ox_ok(b) ? ox_rank(b) : -1;
    if (ra > 1 && rb == 1) {
        Ox column = unsqueeze_axis(op, b, 1);
        return drop_axis(op, ox(op, "MatMul", a, column), ra - 1);
    }
    if (ra == 1 && rb > 1) {
        Ox row = unsqueeze_axis(op, a, 0);
        return drop_axis(op, ox(op, "MatMul", row, b), rb - 2);
    }
    return ox(op, "MatMul", a, b);
}

/* ONNX multiplies no matrices of small ints: in int32, which wraps round to them as they would
 * have. */
static Ox product_of(Op *op, Ox a, Ox b)
{
    DType t = ox_ok(a) ? ox_dtype(a) : DT_NONE;
    if (ox_is_complex(a) || ox_is_complex(b))
        return matrix_product(op, a, b);
    if (!dtype_is_int(t) || dtype_size(t) >= 4 || !ox_ok(b) || ox_dtype(b) != t)
        return matmul(op, a, b);
    Ox x = ox_cast(op->g, a, DT_INT32);
    Ox y = ox_cast(op->g, b, DT_INT32);
    Ox product = matmul(op, x, y);
    return ox_cast(op->g, product, t);
}

/* k * x; x itself for 1 */
static Ox times(Op *op, double k, Ox x)
{
    if (k == 1 || !ox_ok(x))
        return x;
    Ox factor = real_like(op, k, x);
    return each_mul(op, x, factor);
}

/* scaled_sum() of bools: any factor but 0 counts as 1. */
static Ox sum_of_bools(Op *op, Ox c, Ox product, bool with_c, bool with_product)
{
    Ox none = ox_bool(op->g, false);
    Ox part = with_product ? product : ox(op, "And", product, none);
    return with_c ? ox(op, "Or", c, part) : part;
}

/* Is v a number that no double holds: one that the model computes, or a complex one? */
static bool is_no_double(Value v)
{
    return v.tag == V_SYMINT || v.tag == V_SYMFLOAT || v.tag == V_COMPLEX;
}

/* beta * c + scaled. With beta 0, c is left out, so that its NaNs do not count. */
static Ox added_to(Op *op, Ox c, Ox scaled)
{
    double beta = arg_float(op, "beta");
    return beta == 0 && ox_ok(c) ? scaled : each_add(op, times(op, beta, c), scaled);
}

/* beta * c + alpha * product */
static Ox scaled_sum(Op *op, Ox c, Ox product)
{
    Value a = arg_value(op, "alpha");
    Value b = arg_value(op, "beta");
    if ((is_no_double(a) || is_no_double(b)) && ox_ok(product) && ox_ok(c)) {
        Ox scaled = each_mul(op, product, number_as(op, a, ox_dtype(product)));
        Ox first = each_mul(op, c, number_as(op, b, ox_dtype(c)));
        return each_add(op, first, scaled);
    }
    double alpha = arg_float(op, "alpha");
    double beta = arg_float(op, "beta");
    if (ox_ok(product) && ox_dtype(product) == DT_BOOL && ox_ok(c))
        return sum_of_bools(op, c, product, beta != 0, alpha != 0);
    return added_to(op, c, times(op, alpha, product));
}

/* Is the factor of a product one that makes it small, of float16? PyTorch's kernels multiply by it
 * before they round, where the product alone may be infinite: queries and keys of an attention. */
static bool shrinks_float16(Op *op, Ox a)
{
    Value alpha = arg_value(op, "alpha");
    bool shrinks = alpha.tag == V_FLOAT && alpha.f != 0 && fabs(alpha.f) < 1;
    return shrinks && ox_ok(a) && ox_dtype(a) == DT_FLOAT16 && !is_no_double(arg_value(op, "beta"));
}

static bool rank_is(Op *op, Ox x, const char *what, int want)
{
    int rank;
    if (!need_rank(op, x, want, &rank))
        return false;
    if (rank == want)
        return true;
    return fail(op->cx, E_VALUE, "%s must be a %dD tensor, but it has rank %d", what, want, rank);
}

/* The matrix that a Transpose was made of, else v itself. Gemm transposes by a flag, so a weight
 * can stay as it is in the file. */
static Ox before_transpose(Ox v, bool *transposed)
{
    const int64_t *perm;
    size_t n;
    *transposed = ox_ok(v) && v->kind == OX_NODE && node_is(v->node, "Transpose") &&
        node_ints(v->node, "perm", &perm, &n) && n == 2 && perm[0] == 1;
    return *transposed ? v->node->in[0] : v;
}

/* Can Gemm compute it? Its factors are float32 attributes, and runtimes have it for floats only. */
static bool gemm_takes(Ox x, double alpha, double beta)
{
    return dtype_is_float(ox_dtype(x)) && (double)(float)alpha == alpha &&
        (double)(float)beta == beta;
}

/* Is c multiplied by beta? ONNX Runtime 1.31's Gemm leaves that out where a has no columns. */
static bool gemm_scales(Op *op, Ox a, double beta)
{
    return beta == 0 || beta == 1 || dim_le(op->cx, dim_int(op->cx, 1), ox_dim(a, 1)) == YES;
}

/* alpha * a b + beta * c; c NULL: none. */
static Ox gemm(Op *op, Ox a, Ox b, Ox c, double alpha, double beta)
{
    bool ta, tb;
    Ox a0 = before_transpose(a, &ta);
    Ox b0 = before_transpose(b, &tb);
    Attr attr[4];
    size_t n = 0;
    if (alpha != 1)
        attr[n++] = FLOAT("alpha", alpha);
    if (beta != 1)
        attr[n++] = FLOAT("beta", beta);
    if (ta)
        attr[n++] = INT("transA", 1);
    if (tb)
        attr[n++] = INT("transB", 1);
    return ox_make(op->g, "Gemm", INPUTS(a0, b0, c), attr, n);
}

/* ---- linear ---- */

/* The sizes of x w^T, in dims. */
static const Dim *result_dims(Ox x, Ox w, Dim *dims)
{
    int rank = ox_rank(x);
    for (int i = 0; i < rank; i++)
        dims[i] = i < rank - 1 ? ox_dim(x, i) : ox_dim(w, 0);
    return dims;
}

/* x w^T + b, with w [out, in] or [in]: a Gemm of two matrices, else MatMul and Add. */
static Ox lower_linear(Op *op)
{
    Ox x = arg(op, "input");
    Ox w = arg(op, "weight");
    Ox b = arg_opt(op, "bias");
    Dim dims[MAX_RANK];
    int rank, w_rank;
    if (!need_rank(op, w, 2, &w_rank) || !need_rank(op, x, 2, &rank))
        return POISON;
    if (w_rank > 2)
        return op_fail(op, E_VALUE, "t() expects a tensor with <= 2 dimensions, but self is %dD",
                       w_rank);
    if (b && w_rank == 2 && rank > 0 && !need_expand(op, b, result_dims(x, w, dims), rank))
        return POISON;
    if (rank == 2 && w_rank == 2 && gemm_takes(x, 1, 1))
        return ox_with(op, "Gemm", INPUTS(x, w, b), INT("transB", 1));
    Ox wt = w_rank == 1 ? w : transpose_last_two(op, w);
    Ox product = product_of(op, x, wt);
    return b ? ox(op, "Add", product, b) : product;
}

/* ---- matmul and its kin ---- */

static Ox lower_matmul(Op *op)
{
    Ox x = arg(op, "self");
    Ox y = arg(op, "other");
    return product_of(op, x, y);
}

/* y without its batches, where each batch is the same matrix, made by an expand: torch's
 * decomposition of a linear layer writes bmm(x, expand(w)). MatMul broadcasts w by itself. */
static Ox without_batches(const Op *op, Ox x, Ox y)
{
    if (y->kind != OX_NODE || !node_is(y->node, "Expand") ||
        dim_eq(op->cx, ox_dim(x, 0), ox_dim(y, 0)) != YES)
        return y;
    Ox one = y->node->in[0];
    int rank = ox_rank(one);
    bool whole = rank == 2 || (rank == 3 && dim_is(ox_dim(one, 0), 1));
    for (int i = 1; i <= 2 && whole; i++)
        whole = dim_eq(op->cx, ox_dim(one, rank - i), ox_dim(y, 3 - i)) == YES;
    return whole ? one : y;
}

/* Have these matrices, of rank 3, the same batch? False after PyTorch's error. */
static bool same_batches(Op *op, Ox a, Ox b)
{
    return !surely_differ(op, ox_dim(a, 0), ox_dim(b, 0)) ||
        fail(op->cx, E_VALUE,
             "Expected size for first two dimensions of batch2 tensor to be: %s but got: %s.",
             dims_text(op->cx, (Dim[]){ ox_dim(a, 0), ox_dim(a, 2) }, 2)->s,
             dims_text(op->cx, b->type->dim, 2)->s);
}

/* mm, bmm, mv, dot, and their like: products that ask for the ranks of both operands.
 * row->datum: these ranks as two decimal digits, 22 for mm, 33 for bmm, 21 for mv, 11 for dot.
 * row->text: the name of the second parameter. */
static Ox lower_product(Op *op)
{
    int x_rank = (int)op->row->datum / 10;
    int y_rank = (int)op->row->datum % 10;
    Ox x = arg(op, "self");
    Ox y = arg(op, op->row->text);
    if (!rank_is(op, x, "self", x_rank) || !rank_is(op, y, op->row->text, y_rank))
        return POISON;
    if (x_rank == 3 && !same_batches(op, x, y))
        return POISON;
    if (x_rank == 3)
        y = without_batches(op, x, y);
    return product_of(op, x, y);
}

/* beta * self + alpha * mat1 mat2: one Gemm where it takes them. Beta 0 means without self, which
 * may then hold NaN. */
static Ox lower_addmm(Op *op)
{
    Ox c = arg(op, "self");
    Ox a = arg(op, "mat1");
    Ox b = arg(op, "mat2");
    double alpha = arg_float(op, "alpha");
    double beta = arg_float(op, "beta");
    if (!rank_is(op, a, "mat1", 2) || !rank_is(op, b, "mat2", 2) || !ox_ok(c))
        return POISON;
    if (surely_differ(op, ox_dim(a, 1), ox_dim(b, 0)))
        return product_of(op, a, b);
    if (!need_expand(op, c, (Dim[]){ ox_dim(a, 0), ox_dim(b, 1) }, 2))
        return POISON;
    bool one_node = gemm_takes(a, alpha, beta) && gemm_scales(op, a, beta) && ox_rank(c) >= 0 &&
        ox_rank(c) <= 2;
    if (one_node && beta == 0)
        return gemm(op, a, b, NULL, alpha, 1);
    if (one_node)
        return gemm(op, a, b, c, alpha, beta);
    return scaled_sum(op, c, product_of(op, a, b));
}

/* addmm, and the activation that torch fuses with it: PyTorch's CPU kernel takes the exact Gelu. */
static Ox lower_addmm_activation(Op *op)
{
    Ox sum = lower_addmm(op);
    bool use_gelu = arg_bool(op, "use_gelu");
    if (use_gelu && ox_ok(sum) &&
        !need_kernel(op, "GeluKernelImpl", ox_dtype(sum), dtype_is_float(ox_dtype(sum))))
        return POISON;
    Value v = val_tensor(op->cx, sum);
    Value out = val_ok(v) ? call_op(op, use_gelu ? "aten::gelu" : "aten::relu", &v, 1) : v;
    return out.tag == V_TENSOR ? tensor_read(op->g, out.t) : POISON;
}

static Ox lower_baddbmm(Op *op)
{
    Ox a = arg(op, "batch1");
    Ox b = arg(op, "batch2");
    Ox c = arg(op, "self");
    if (!rank_is(op, a, "batch1", 3) || !rank_is(op, b, "batch2", 3) || !same_batches(op, a, b) ||
        !need_expand(op, c, (Dim[]){ ox_dim(a, 0), ox_dim(a, 1), ox_dim(b, 2) }, 3))
        return POISON;
    if (shrinks_float16(op, a)) {
        Ox small = times(op, arg_float(op, "alpha"), a);
        return added_to(op, c, product_of(op, small, b));
    }
    return scaled_sum(op, c, product_of(op, a, b));
}

/* addbmm: the products of all batches are summed. */
static Ox lower_addbmm(Op *op)
{
    Ox a = arg(op, "batch1");
    Ox b = arg(op, "batch2");
    Ox c = arg(op, "self");
    if (!rank_is(op, a, "batch1", 3) || !rank_is(op, b, "batch2", 3) ||
        !need_expand(op, c, (Dim[]){ ox_dim(a, 1), ox_dim(b, 2) }, 2))
        return POISON;
    if (surely_differ(op, ox_dim(a, 0), ox_dim(b, 0)))
        return op_fail(op, E_VALUE,
                       "batch1 and batch2 must have same number of batches, got %s and %s",
                       dim_text(op->cx, ox_dim(a, 0))->s, dim_text(op->cx, ox_dim(b, 0))->s);
    Ox product = product_of(op, a, b);
    return scaled_sum(op, c,
                      reduce(op, "ReduceSum", product, &(Axes){ .n = 1, .at = { 0 } }, false));
}

static Ox lower_addmv(Op *op)
{
    Ox a = arg(op, "mat");
    Ox b = arg(op, "vec");
    Ox c = arg(op, "self");
    if (!rank_is(op, a, "mat", 2) || !rank_is(op, b, "vec", 1) ||
        !need_expand(op, c, (Dim[]){ ox_dim(a, 0) }, 1))
        return POISON;
    return scaled_sum(op, c, product_of(op, a, b));
}

static Ox outer(Op *op, Ox a, Ox b, const char *b_name)
{
    if (!rank_is(op, a, "self", 1) || !rank_is(op, b, b_name, 1))
        return POISON;
    Ox column = unsqueeze_axis(op, a, 1);
    Ox row = unsqueeze_axis(op, b, 0);
    return ox_dtype(a) == DT_BOOL ? ox(op, "And", column, row) : each_mul(op, column, row);
}

static Ox lower_outer(Op *op)
{
    Ox a = arg(op, "self");
    Ox b = arg(op, "vec2");
    return outer(op, a, b, "vec2");
}

/* A real tensor beside complex ones stays real. */
static Ox of_type(Op *op, Ox x, DType t)
{
    return ox_cast(op->g, x,
                   dtype_is_complex(t) && !dtype_is_complex(ox_dtype(x)) ? dtype_of_parts(t) : t);
}

static Ox lower_addr(Op *op)
{
    Ox a = arg(op, "vec1");
    Ox b = arg(op, "vec2");
    Ox c = arg(op, "self");
    if (!ox_ok(a) || !ox_ok(b) || !ox_ok(c))
        return POISON;
    DType t = type_of_all((const Ox[]){ a, b, c }, 3);
    a = of_type(op, a, t);
    b = of_type(op, b, t);
    c = of_type(op, c, t);
    Ox product = outer(op, a, b, "vec2");
    if (!ox_ok(product) || !need_expand(op, c, product->type->dim, 2))
        return POISON;
    return scaled_sum(op, c, product);
}

/* inner: the sum of products along the last axes; a 0-d tensor scales. */
static Ox lower_inner(Op *op)
{
    Ox x = arg(op, "self");
    Ox y = arg(op, "other");
    int xr, yr;
    if (!need_rank(op, x, -1, &xr) || !need_rank(op, y, -1, &yr))
        return POISON;
    if (xr == 0 || yr == 0) {
        Value product[] = { arg_value(op, "self"), arg_value(op, "other") };
        return call_ox(op, "aten::mul", product, 2);
    }
    if (yr == 1)
        return product_of(op, x, y);
    Dim flat[2] = { dim_product(op->cx, y->type->dim, yr - 1), ox_dim(y, yr - 1) }, out[MAX_RANK];
    Ox yt = transpose_last_two(op, reshape_to(op, y, flat, 2));
    Ox product = product_of(op, x, yt);
    int n = 0;
    for (int i = 0; i < xr - 1; i++)
        out[n++] = ox_dim(x, i);
    for (int i = 0; i < yr - 1; i++)
        out[n++] = ox_dim(y, i);
    return reshape_to(op, product, out, n);
}

/* chain_matmul, linalg_multi_dot: row->text is the list's name. From left to right, whatever the
 * sizes. */
static Ox lower_chain(Op *op)
{
    Oxs xs = arg_list(op, op->row->text);
    if (ctx_failed(op->cx))
        return POISON;
    if (xs.n == 0)
        return op_fail(op, E_VALUE, "chain_matmul: expected one or more matrices");
    bool vectors = str_is(op->call->schema->name, "aten::linalg_multi_dot");
    Ox out = xs.at[0];
    for (size_t i = 0; i < xs.n; i++) {
        bool end = i == 0 || i == xs.n - 1;
        int rank;
        if (!need_rank(op, xs.at[i], 2, &rank))
            return POISON;
        if (rank != 2 && !(rank == 1 && end && vectors))
            return op_fail(op, E_VALUE, "Tensor dimension is %d, expected 2 instead.", rank);
        out = i ? product_of(op, out, xs.at[i]) : out;
    }
    return out;
}

/* ---- tensordot: one matrix product, of x with its contracted axes last and y with its first
 * ---- */

/* perm: the contracted axes `dims` last (or first), the free axes in order; *n_free: how many are
 * free. dims [0] of rank 3, contracted last, gives 1 2 0 and 2. */
static bool split_axes(Op *op, Ints dims, int rank, bool contracted_last, int *perm, int *n_free)
{
    bool taken[MAX_RANK] = { false };
    if (dims.n > (size_t)rank)
        return fail(op->cx, E_VALUE, "tensordot: %zu dims of a tensor that has %d", dims.n, rank);
    int free_at = contracted_last ? 0 : (int)dims.n;
    int taken_at = contracted_last ? rank - (int)dims.n : 0;
    for (size_t i = 0; i < dims.n; i++) {
        int64_t d = dims.at[i] < 0 ? dims.at[i] + rank : dims.at[i];
        if (d < 0 || d >= rank || taken[d])
            return fail(op->cx, E_VALUE, "tensordot: dim %lld is out of range or there twice",
                        (long long)dims.at[i]);
        taken[d] = true;
        perm[taken_at++] = (int)d;
    }
    for (int i = 0; i < rank; i++)
        if (!taken[i])
            perm[free_at++] = i;
    *n_free = rank - (int)dims.n;
    return true;
}

/* Sum x along each contracted axis whose counterpart in y has size 1. */
static void summed_beside_one(Op *op, Ox *x, const Ints *dx, Ox y, const Ints *dy)
{
    Axes axes = { 0 };
    for (size_t i = 0; i < dx->n && ox_ok(*x) && ox_ok(y); i++) {
        int a = (int)(dx->at[i] < 0 ? dx->at[i] + ox_rank(*x) : dx->at[i]);
        int b = (int)(dy->at[i] < 0 ? dy->at[i] + ox_rank(y) : dy->at[i]);
        if (dim_is(ox_dim(y, b), 1) && !dim_is(ox_dim(*x, a), 1))
            axes.at[axes.n++] = a;
    }
    if (axes.n)
        *x = reduce(op, "ReduceSum", *x, &axes, true);
}

/* Expand both along contracted axes whose sizes are not known to be equal: one of them may turn out
 * to be 1, which broadcasts. */
static bool same_contracted(Op *op, Ox *x, const Ints *dx, Ox *y, const Ints *dy)
{
    Dim xs[MAX_RANK], ys[MAX_RANK];
    if (!ox_ok(*x) || !ox_ok(*y))
        return false;
    ox_sizes(*x, xs);
    ox_sizes(*y, ys);
    for (size_t i = 0; i < dx->n; i++) {
        Dim *a = &xs[dx->at[i] < 0 ? dx->at[i] + ox_rank(*x) : dx->at[i]];
        Dim *b = &ys[dy->at[i] < 0 ? dy->at[i] + ox_rank(*y) : dy->at[i]];
        Dim both;
        if (dim_eq(op->cx, *a, *b) == YES)
            continue;
        if (!dim_broadcast(op->cx, *a, *b, &both))
            return fail(op->cx, E_VALUE,
                        "contracted dimensions need to match, but got sizes %s and %s",
                        dim_text(op->cx, *a)->s, dim_text(op->cx, *b)->s);
        *a = both;
        *b = both;
    }
    *x = expand_dims(op, *x, xs, ox_rank(*x));
    *y = expand_dims(op, *y, ys, ox_rank(*y));
    return ox_ok(*x) && ox_ok(*y);
}

/* The product of a [free.., contracted..] and b [contracted.., free..]: as matrices, then with the
 * free axes of both. */
static Ox product_of_sides(Op *op, Ox a, int a_free, Ox b, int b_free)
{
    Ctx *cx = op->cx;
    Dim out[MAX_RANK];
    if (!ox_ok(a) || !ox_ok(b))
        return POISON;
    if (a_free + b_free > MAX_RANK)
        return op_fail(op, E_LIMIT, "a tensor of %d dimensions: the most is %d", a_free + b_free,
                       MAX_RANK);
    const Dim *da = a->type->dim;
    const Dim *db = b->type->dim;
    int a_last = ox_rank(a) - a_free;
    int b_first = ox_rank(b) - b_free;
    Dim left[2] = { dim_product(cx, da, a_free), dim_product(cx, da + a_free, a_last) };
    Dim right[2] = { dim_product(cx, db, b_first), dim_product(cx, db + b_first, b_free) };
    for (int i = 0; i < a_free; i++)
        out[i] = da[i];
    for (int i = 0; i < b_free; i++)
        out[a_free + i] = db[b_first + i];
    Ox a2 = reshape_to(op, a, left, 2);
    Ox b2 = reshape_to(op, b, right, 2);
    return reshape_to(op, product_of(op, a2, b2), out, a_free + b_free);
}

/* tensordot(x [2, 3, 4], y [4, 3, 5], dims_self=[1, 2], dims_other=[1, 0]) is [2, 5]. */
static Ox lower_tensordot(Op *op)
{
    Ox x = arg(op, "self");
    Ox y = arg(op, "other");
    Ints dx = arg_ints(op, "dims_self");
    Ints dy = arg_ints(op, "dims_other");
    int xr, yr, x_free, y_free;
    int px[MAX_RANK], py[MAX_RANK];
    if (!need_rank(op, x, -1, &xr) || !need_rank(op, y, -1, &yr))
        return POISON;
    if (dx.n != dy.n)
        return op_fail(op, E_VALUE, "both dimension lists should have same length");
    if (!split_axes(op, dx, xr, true, px, &x_free) || !split_axes(op, dy, yr, false, py, &y_free))
        return POISON;
    summed_beside_one(op, &x, &dx, y, &dy);
    summed_beside_one(op, &y, &dy, x, &dx);
    if (!same_contracted(op, &x, &dx, &y, &dy))
        return POISON;
    Ox a = permute_to(op, x, px, xr);
    Ox b = permute_to(op, y, py, yr);
    return product_of_sides(op, a, x_free, b, y_free);
}

/* ---- cross, kron, vecdot ---- */

/* Notes the dynamic axes before `axis` that are taken not to be 3. */
static void note_not_3(Op *op, Ox x, Ox y, int axis)
{
    Dim three = dim_int(op->cx, 3);
    for (int i = 0; i < axis; i++)
        if (!surely_differ(op, ox_dim(x, i), three) && !surely_differ(op, ox_dim(y, i), three))
            note(op->cx, NOTE_ASSUMED,
                 "dimension %d (%s) is not 3: cross without dim takes the first that is; dim=%d "
                 "decides it",
                 i, dim_text(op->cx, ox_dim(x, i))->s, axis);
}

/* The axis `dim`; without it the first axis whose size is 3 in both. */
static bool cross_axis(Op *op, Ox x, Ox y, int *axis)
{
    int rank = ox_rank(x);
    if (rank != ox_rank(y))
        return fail(op->cx, E_VALUE,
                    "linalg.cross: inputs must have the same number of dimensions.");
    if (arg_given(op, "dim"))
        return arg_dim(op, "dim", rank, axis);
    for (int i = 0; i < rank; i++) {
        if (dim_is(ox_dim(x, i), 3) && dim_is(ox_dim(y, i), 3)) {
            note_not_3(op, x, y, i);
            *axis = i;
            return true;
        }
    }
    return fail(op->cx, E_VALUE, "no dimension of size 3 in input");
}

/* The three components in the order 1 2 0 (by 1) or 2 0 1 (by 2). */
static Ox turned_by(Op *op, Ox x, int axis, int by)
{
    Ox order = by == 1 ? ints(op, 1, 2, 0) : ints(op, 2, 0, 1);
    return ox_with(op, "Gather", INPUTS(x, order), INT("axis", axis));
}

/* x[1 2 0] * y[2 0 1] - x[2 0 1] * y[1 2 0] along an axis of size 3. */
static Ox lower_cross(Op *op)
{
    Ox x = arg(op, "self");
    Ox y = arg(op, "other");
    int xr, yr, axis;
    if (!need_rank(op, x, 1, &xr) || !need_rank(op, y, 1, &yr) || !cross_axis(op, x, y, &axis))
        return POISON;
    if (dim_eq(op->cx, ox_dim(x, axis), dim_int(op->cx, 3)) == NO ||
        dim_eq(op->cx, ox_dim(y, axis), dim_int(op->cx, 3)) == NO)
        return op_fail(op, E_VALUE,
                       "linalg.cross: inputs dimension %d must have length 3. Got %s and %s", axis,
                       dim_text(op->cx, ox_dim(x, axis))->s, dim_text(op->cx, ox_dim(y, axis))->s);
    Ox x1 = turned_by(op, x, axis, 1);
    Ox y2 = turned_by(op, y, axis, 2);
    Ox x2 = turned_by(op, x, axis, 2);
    Ox y1 = turned_by(op, y, axis, 1);
    Ox first = each_mul(op, x1, y2);
    Ox second = each_mul(op, x2, y1);
    return each_sub(op, first, second);
}

/* Each axis of one beside that of the other, then both as one axis: [a, b] and [c, d] become
 * [a, 1, b, 1] and [1, c, 1, d], and their product [a * c, b * d]. Of types a number counts as much
 * as a matrix, since PyTorch gives it axes first. */
static Ox lower_kron(Op *op)
{
    Ox at[2] = { arg(op, "self"), arg(op, "other") };
    int r[2], rank;
    if (!ox_ok(at[0]) || !ox_ok(at[1]))
        return POISON;
    DType t = promote_types(ox_dtype(at[0]), ox_dtype(at[1]));
    for (int k = 0; k < 2; k++)
        at[k] = of_type(op, at[k], t);
    if (!need_rank(op, at[0], 2, &r[0]) || !need_rank(op, at[1], 2, &r[1]))
        return POISON;
    rank = r[0] > r[1] ? r[0] : r[1];
    Dim out[MAX_RANK], wide[2 * MAX_RANK], one = dim_int(op->cx, 1);
    if (2 * rank > MAX_RANK)
        return op_fail(op, E_LIMIT, "a tensor of %d dimensions: the most is %d", 2 * rank,
                       MAX_RANK);
    for (int i = 0; i < rank; i++)
        out[i] = one;
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < rank; i++) {
            int own = i - (rank - r[k]);
            Dim size = own < 0 ? one : ox_dim(at[k], own);
            wide[2 * i + k] = size;
            wide[2 * i + 1 - k] = one;
            out[i] = dim_mul(op->cx, out[i], size);
        }
        at[k] = reshape_to(op, at[k], wide, 2 * rank);
    }
    Ox product = ox_ok(at[0]) && ox_dtype(at[0]) == DT_BOOL ? ox(op, "And", at[0], at[1])
                                                            : each_mul(op, at[0], at[1]);
    return reshape_to(op, product, out, rank);
}

static Ox lower_vecdot(Op *op)
{
    Ox x = conjugate(op, arg(op, "x"));
    Ox y = arg(op, "y");
    Ox product = each_mul(op, x, y);
    Axes axis = { .n = 1 };
    int rank;
    if (!need_rank(op, product, 1, &rank) || !arg_dim(op, "dim", rank, &axis.at[0]))
        return POISON;
    if (!dtype_is_float(ox_dtype(product)) && !ox_is_complex(product))
        return op_fail(
            op, E_VALUE,
            "linalg.vecdot: Expected a floating point or complex tensor as input. Got %s",
            torch_dtype_name(ox_dtype(product)));
    return reduce(op, "ReduceSum", product, &axis, false);
}

/* ---- covariance: rows are variables, columns observations ---- */

static Ox product_of_weights(Op *op, Ox often, Ox weight)
{
    if (often && weight)
        return ox(op, "Mul", often, weight);
    return often ? often : weight;
}

/* The weight of each observation, fweights * aweights; NULL when all weigh 1. *sum: the sum of the
 * weights; *square: the sum of weight * aweights. PyTorch multiplies and adds them in the type of
 * aweights, which may be narrower than x's. */
static bool observation_weights(Op *op, Ox x, Ox *weights, Ox *sum, Ox *square)
{
    Ox often = arg_opt(op, "fweights");
    Ox weight = arg_opt(op, "aweights");
    DType wide = dtype_of_parts(ox_dtype(x));
    DType t = weight ? tensor_type(arg_tensor(op, "aweights"))->dtype : wide;
    Axes all = { 0 };
    if (often)
        often = ox_cast(op->g, often, t);
    if (weight)
        weight = ox_cast(op->g, each_real(op, weight), t);
    *weights = product_of_weights(op, often, weight);
    if (!*weights) {
        Ox n = ox_dim_value(op->g, ox_dim(x, ox_rank(x) - 1));
        *sum = ox_ok(n) ? ox_cast(op->g, n, t) : POISON;
        *square = *sum;
        return ox_ok(*sum);
    }
    *sum = reduce(op, "ReduceSum", *weights, &all, false);
    Ox twice = weight ? ox(op, "Mul", *weights, weight) : NULL;
    *square = weight ? reduce(op, "ReduceSum", twice, &all, false) : *sum;
    return ox_ok(*sum) && ox_ok(*square);
}

/* Does PyTorch take the covariance of tensors of these types? False after its error. */
static bool cov_has_types(Op *op)
{
    Tensor *often = arg_tensor(op, "fweights");
    Tensor *weight = arg_tensor(op, "aweights");
    DType counts = often ? tensor_type(often)->dtype : DT_INT64;
    DType shares = weight ? tensor_type(weight)->dtype : DT_FLOAT;
    if (tensor_type(arg_tensor(op, "self"))->dtype == DT_BOOL)
        return fail(op->cx, E_VALUE, "cov(): bool dtype is not supported for input");
    if (!dtype_is_int(counts))
        return fail(
            op->cx, E_VALUE,
            "cov(): expected fweights to have integral dtype but got fweights with %s dtype",
            torch_dtype_name(counts));
    return dtype_is_float(shares) ||
        fail(op->cx, E_VALUE,
             "cov(): expected aweights to have floating point dtype but got aweights with %s dtype",
             torch_dtype_name(shares));
}

/* (x - mean) diag(w) (x - mean)^H / (sum w - correction * sum(w a) / sum w) */
static Ox lower_cov(Op *op)
{
    Ox x = arg(op, "self"), weights, sum, square;
    double less = arg_float(op, "correction");
    int rank;
    if (!need_rank(op, x, 2, &rank) || !cov_has_types(op))
        return POISON;
    if (rank > 2)
        return op_fail(op, E_VALUE,
                       "cov(): expected input to have two or fewer dimensions but got an input "
                       "with %d dimensions",
                       rank);
    Dim row[2] = { dim_int(op->cx, 1), type_numel(op->cx, x->type) };
    Ox table = rank < 2 ? reshape_to(op, x, row, 2) : x;
    if (!ox_ok(table) || !observation_weights(op, table, &weights, &sum, &square))
        return POISON;
    Axes last = { .at = { 1 }, .n = 1 };
    DType wide = dtype_of_parts(ox_dtype(x));
    weights = weights ? ox_cast(op->g, weights, wide) : NULL;
    Ox counted = weights ? each_mul(op, table, weights) : table;
    Ox total = reduce(op, "ReduceSum", counted, &last, true);
    Ox mean = each_div(op, total, ox_cast(op->g, sum, wide));
    Ox away = each_sub(op, table, mean);
    Ox weighed = weights ? each_mul(op, away, weights) : away;
    Ox product = matrix_product(op, weighed, matrix_adjoint(op, away));
    Ox by = number_like(op, less, sum);
    Ox zero = number_like(op, 0, sum);
    Ox share = square == sum ? by : ox(op, "Div", ox(op, "Mul", by, square), sum);
    Ox left = ox(op, "Sub", sum, share);
    Ox norm = ox(op, "Max", left, zero);
    Ox out = each_div(op, product, ox_ok(norm) ? ox_cast(op->g, norm, wide) : POISON);
    if (rank < 2 || !ox_ok(out))
        return reshape_to(op, out, NULL, 0);
    Value whole[] = { val_tensor(op->cx, out) };
    Value v = call_op(op, "aten::squeeze", whole, 1);
    return val_ok(v) ? tensor_read(op->g, v.t) : POISON;
}

/* x clipped to -1 .. 1; each part of a complex x is. */
static Ox within_one(Op *op, Ox x)
{
    Ox least = real_like(op, -1, x);
    Ox most = real_like(op, 1, x);
    if (!ox_is_complex(x))
        return ox(op, "Clip", x, least, most);
    return ox_of_pair(op->g, ox(op, "Clip", ox_pair(op->g, x), least, most));
}

/* Covariances divided by both deviations, within -1 and 1. */
static Ox lower_corrcoef(Op *op)
{
    Value args[] = { arg_value(op, "self") };
    Value v = call_op(op, "aten::cov", args, 1);
    Ox c = val_ok(v) ? tensor_read(op->g, v.t) : POISON;
    if (!ox_ok(c))
        return POISON;
    if (ox_rank(c) == 0)
        return each_div(op, c, c);
    Value parts[] = { val_tensor(op->cx, c) };
    Value d = call_op(op, "aten::diagonal_copy", parts, 1);
    Ox variance = each_real(op, val_ok(d) ? tensor_read(op->g, d.t) : POISON);
    Ox deviation = ox(op, "Sqrt", variance);
    Ox column = unsqueeze_axis(op, deviation, 1);
    Ox by_row = each_div(op, c, column);
    Ox both = each_div(op, by_row, deviation);
    return within_one(op, both);
}

/* ---- bilinear ---- */

/* Have the inputs of a bilinear layer one batch, and its weight their features? False after
 * PyTorch's error. */
static bool bilinear_fits(Op *op, Ox a, Ox w, Ox b, Ox bias)
{
    Ctx *cx = op->cx;
    int rank = ox_rank(a);
    if (rank != ox_rank(b))
        return fail(cx, E_VALUE, "bilinear(): input dimensions do not match: got %d and %d", rank,
                    ox_rank(b));
    for (int i = 0; i < rank - 1; i++)
        if (surely_differ(op, ox_dim(a, i), ox_dim(b, i)))
            return fail(cx, E_VALUE,
                        "bilinear(): input batch dimensions do not match at dim %d: got %s and %s",
                        i, dim_text(cx, ox_dim(a, i))->s, dim_text(cx, ox_dim(b, i))->s);
    if (ox_rank(w) != 3 || rank == 0)
        return true; /* einsum refuses it */
    const Dim features[2] = { ox_dim(a, rank - 1), ox_dim(b, rank - 1) };
    for (int i = 0; i < 2; i++)
        if (surely_differ(op, features[i], ox_dim(w, 1 + i)))
            return fail(cx, E_VALUE,
                        "bilinear(): input%d size does not match weight size: got %s but expected "
                        "%s",
                        1 + i, dim_text(cx, features[i])->s, dim_text(cx, ox_dim(w, 1 + i))->s);
    return !bias || need_expand(op, bias, w->type->dim, 1);
}

/* sum over i, j of x1[.., i] w[o, i, j] x2[.., j], plus the bias */
static Ox lower_bilinear(Op *op)
{
    Ox at[3] = { arg(op, "input1"), arg(op, "weight"), arg(op, "input2") };
    Ox bias = arg_opt(op, "bias");
    if (!ranks_known(op, at, 3) || !bilinear_fits(op, at[0], at[1], at[2], bias))
        return POISON;
    Ox out = einsum(op, str_of(op->cx, "...i,oij,...j->...o"), at, 3);
    return bias ? ox(op, "Add", out, bias) : out;
}

/* The letters of the axes but for those in `without`, behind those that are there: of 4 axes
 * without [0, 2], "bd". False after an error. */
static bool add_letters(Op *op, const char *name, int rank, char *to)
{
    Ints without = arg_ints(op, name);
    bool left_out[MAX_RANK] = { false };
    for (size_t i = 0; i < without.n; i++) {
        int64_t axis = without.at[i] < 0 ? without.at[i] + rank : without.at[i];
        if (axis < 0 || axis >= rank)
            return fail(op->cx, E_VALUE, "%s has an axis that is out of range: %lld", name,
                        (long long)without.at[i]);
        left_out[axis] = true;
    }
    char *end = to + strlen(to);
    for (int a = 0; a < rank; a++)
        if (!left_out[a])
            *end++ = (char)('a' + a);
    *end = '\0';
    return !ctx_failed(op->cx);
}

/* The sum over the axes sumdim of i1 * i2 * i3, each of which is expanded along some axes. What
 * bilinear is decomposed into: [b, i] along the second, [o, i, j] along the first, .. */
static Ox lower_trilinear(Op *op)
{
    static const char *const inputs[] = { "i1", "i2", "i3" };
    static const char *const expanded[] = { "expand1", "expand2", "expand3" };
    char equation[4 * MAX_RANK + 8] = "";
    Ox at[3] = { arg(op, "i1"), arg(op, "i2"), arg(op, "i3") };
    if (!ranks_known(op, at, 3))
        return POISON;
    int rank = ox_rank(at[0]) + (int)arg_ints(op, "expand1").n;
    if (rank > 26)
        return op_refuse(op, "more than 26 axes");
    for (int i = 0; i < 3; i++) {
        size_t before = strlen(equation);
        if (!add_letters(op, expanded[i], rank, equation))
            return POISON;
        if (strlen(equation) - before != (size_t)ox_rank(at[i]))
            return op_fail(op, E_VALUE, "%s has %d axes, and %s makes others of it", inputs[i],
                           ox_rank(at[i]), expanded[i]);
        strcat(equation, i < 2 ? "," : "->");
    }
    return add_letters(op, "sumdim", rank, equation) ? einsum(op, str_of(op->cx, equation), at, 3)
                                                     : POISON;
}

static bool is_float8(Ox x) { return dtype_is_float(ox_dtype(x)) && dtype_size(ox_dtype(x)) == 1; }

/* Are the scales one number each, or one for each row of a and each column of b? */
static bool scales_fit(Op *op, Ox scale_a, Ox scale_b)
{
    int rank_a, rank_b;
    if (!need_rank(op, scale_a, -1, &rank_a) || !need_rank(op, scale_b, -1, &rank_b))
        return false;
    if (dim_is(type_numel(op->cx, scale_a->type), 1) &&
        dim_is(type_numel(op->cx, scale_b->type), 1))
        return true;
    if (rank_a == 2 && rank_b == 2 && dim_is(ox_dim(scale_a, 1), 1) &&
        dim_is(ox_dim(scale_b, 0), 1))
        return true;
    op_refuse(op,
              "scales of blocks: only those of whole tensors, or of rows and columns, are handled");
    return false;
}

/* Floats of 8 bits are multiplied as float32, and the product by both scales; scale_result divides
 * a result for which 8 bits are asked for. mat2 is the transpose of a weight, so opset 21 is
 * needed, whose Transpose takes these types. */
static Ox lower_scaled_mm(Op *op)
{
    Ox a = arg(op, "self");
    Ox b = arg(op, "mat2");
    Ox scale_a = arg(op, "scale_a");
    Ox scale_b = arg(op, "scale_b");
    Ox bias = arg_opt(op, "bias");
    Ox less = arg_opt(op, "scale_result");
    if (!ox_ok(a) || !ox_ok(b) || (bias && !ox_ok(bias)))
        return POISON;
    if (!is_float8(a) || !is_float8(b))
        return op_fail(op, E_VALUE, "_scaled_mm multiplies floats of 8 bits, got %s and %s",
                       torch_dtype_name(ox_dtype(a)), torch_dtype_name(ox_dtype(b)));
    DType out = arg_dtype(op, "out_dtype", ox_dtype(a));
    if (!scales_fit(op, scale_a, scale_b) || !need_opset(op, 21, "floats of 8 bits"))
        return POISON;
    Ox wide_a = ox_cast(op->g, a, DT_FLOAT);
    Ox y = ox(op, "MatMul", wide_a, ox_cast(op->g, b, DT_FLOAT));
    Ox scale = ox(op, "Mul", scale_a, scale_b);
    y = ox(op, "Mul", y, scale);
    if (bias)
        y = ox(op, "Add", y, ox_cast(op->g, bias, DT_FLOAT));
    if (less && arg_given(op, "out_dtype") && dtype_size(out) == 1)
        y = ox(op, "Div", y, less);
    return ox_ok(y) ? ox_cast(op->g, y, out) : POISON;
}

#define PRODUCT(ranks, second, ...)                                                       \
    OP_ROW(.kind = ROW_LOWER, .lower = lower_product, .datum = (ranks), .text = (second), \
           .schema = __VA_ARGS__)

OP_ROWS(linalg)
{
    LOWER(lower_linear, NULL, PLAIN,
          "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
          .layout = LAYOUT_CONTIGUOUS);
    LOWER(lower_matmul, NULL, PLAIN, "aten::matmul(Tensor self, Tensor other) -> Tensor",
          .layout = LAYOUT_CONTIGUOUS);
    LOWER(lower_matmul, NULL, PLAIN, "aten::linalg_matmul(Tensor self, Tensor other) -> Tensor");
    PRODUCT(22, "mat2", "aten::mm(Tensor self, Tensor mat2) -> Tensor",
            .layout = LAYOUT_CONTIGUOUS);
    PRODUCT(33, "mat2", "aten::bmm(Tensor self, Tensor mat2) -> Tensor",
            .layout = LAYOUT_CONTIGUOUS);
    PRODUCT(21, "vec", "aten::mv(Tensor self, Tensor vec) -> Tensor");
    PRODUCT(11, "tensor", "aten::dot(Tensor self, Tensor tensor) -> Tensor");
    PRODUCT(11, "other", "aten::vdot(Tensor self, Tensor other) -> Tensor");
    LOWER(lower_addmm, NULL, PLAIN,
          "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> "
          "Tensor",
          .layout = LAYOUT_CONTIGUOUS);
    LOWER(lower_addmm_activation, NULL, PLAIN,
          "aten::_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar "
          "alpha=1, bool use_gelu=False) -> Tensor",
          .layout = LAYOUT_CONTIGUOUS);
    LOWER(lower_baddbmm, NULL, PLAIN,
          "aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar "
          "alpha=1) -> Tensor",
          .layout = LAYOUT_CONTIGUOUS);
    LOWER(lower_addbmm, NULL, PLAIN,
          "aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar "
          "alpha=1) -> Tensor");
    LOWER(lower_addmv, NULL, PLAIN,
          "aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> "
          "Tensor");
    LOWER(lower_addr, NULL, PLAIN,
          "aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> "
          "Tensor");
    LOWER(lower_outer, "default(self, vec2)", PLAIN,
          "aten::outer(Tensor self, Tensor vec2) -> Tensor");
    LOWER(lower_outer, "default(self, vec2)", PLAIN,
          "aten::ger(Tensor self, Tensor vec2) -> Tensor");
    LOWER(lower_inner, NULL, PLAIN, "aten::inner(Tensor self, Tensor other) -> Tensor");
    LOWER(
        lower_tensordot, NULL, PLAIN,
        "aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor");
    UNARY(lower_chain, "matrices", NULL, PLAIN, "aten::chain_matmul(Tensor[] matrices) -> Tensor");
    UNARY(lower_chain, "tensors", NULL, PLAIN,
          "aten::linalg_multi_dot(Tensor[] tensors) -> Tensor");
    LOWER(lower_cross, "default(self, other)", PLAIN,
          "aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor");
    LOWER(lower_cross, "default(self, other)", PLAIN,
          "aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor");
    LOWER(lower_kron, NULL, PLAIN, "aten::kron(Tensor self, Tensor other) -> Tensor");
    LOWER(lower_vecdot, NULL, PLAIN,
          "aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor");
    LOWER(lower_cov, "int-to-float(self, aweights)", PLAIN,
          "aten::cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? "
          "aweights=None) -> Tensor");
    LOWER(lower_corrcoef, "int-to-float(self)", PLAIN, "aten::corrcoef(Tensor self) -> Tensor");
    LOWER(
        lower_bilinear, NULL, PLAIN,
        "aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor");
    LOWER(lower_trilinear, NULL, PLAIN,
          "aten::_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] "
          "expand3, int[] sumdim, int unroll_dim=1) -> Tensor");
    LOWER(lower_scaled_mm, NULL, PLAIN,
          "aten::_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? "
          "bias=None, Tensor? scale_result=None, ScalarType? out_dtype=None, bool "
          "use_fast_accum=False) -> Tensor");
}
