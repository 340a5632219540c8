/* matrix.c - rows and columns of matrices, and their products: see matrix.h. */
#include "ops/elementwise/complex.h"
#include "ops/linalg/matrix.h"

Ox matrix_product(Op *op, Ox a, Ox b)
{
    if (!ox_is_complex(a) && !ox_is_complex(b))
        return ox(op, "MatMul", a, b);
    Z x = z_parts(op, a);
    Z y = z_parts(op, b);
    Ox rr = ox(op, "MatMul", x.re, y.re);
    Ox ii = ox(op, "MatMul", x.im, y.im);
    Ox ri = ox(op, "MatMul", x.re, y.im);
    Ox ir = ox(op, "MatMul", x.im, y.re);
    Ox re = less(op, rr, ii);
    Ox im = sum(op, ri, ir);
    return z_joined(op, (Z){ re, im });
}

Ox matrix_adjoint(Op *op, Ox x) { return conjugate(op, matrix_transposed(op, x)); }

/* ---- rows and columns ---- */

Ox matrix_transposed(Op *op, Ox x)
{
    int perm[MAX_RANK], rank = ox_ok(x) ? ox_rank(x) : 0;
    for (int i = 0; i < rank; i++)
        perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return ox_ok(x) ? permute_to(op, x, perm, rank) : POISON;
}

Ox matrix_reduce(Op *op, const char *name, Ox x, int from_end, bool keep)
{
    Axes one = { .at = { (ox_ok(x) ? ox_rank(x) : from_end) - from_end }, .n = 1 };
    return reduce(op, name, x, &one, keep);
}

static Ox numbers(Op *op, Dim n)
{
    Ox from = ox_int(op->g, 0);
    Ox to = ox_dim_value(op->g, n);
    Ox by = ox_int(op->g, 1);
    return ox(op, "Range", from, to, by);
}

Ox matrix_rows(Op *op, Ox a)
{
    return ox_ok(a) ? unsqueeze_axis(op, numbers(op, ox_dim(a, ox_rank(a) - 2)), 1) : POISON;
}
Ox matrix_columns(Op *op, Ox a)
{
    return ox_ok(a) ? unsqueeze_axis(op, numbers(op, ox_dim(a, ox_rank(a) - 1)), 0) : POISON;
}

Ox matrix_pick(Op *op, Ox a, Ox k, int from_end)
{
    Ox at = unsqueeze_axis(op, k, 0);
    return ox_ok(a) ? ox_with(op, "Gather", INPUTS(a, at), INT("axis", ox_rank(a) - from_end))
                    : POISON;
}

Ox matrix_exchanged(Op *op, Ox a, Ox k, Ox p)
{
    if (!ox_ok(a))
        return POISON;
    Ox row = matrix_rows(op, a);
    Ox is_k = ox(op, "Equal", row, k);
    Ox is_p = ox(op, "Equal", row, p);
    Ox to_k = ox(op, "Where", is_p, k, row);
    Ox from = ox(op, "Where", is_k, p, to_k);
    Ox index = expand_dims(op, from, a->type->dim, ox_rank(a));
    return ox_with(op, "GatherElements", INPUTS(a, index), INT("axis", ox_rank(a) - 2));
}

Ox matrix_eye(Op *op, Ox like, Dim m, Dim n)
{
    if (!ox_ok(like))
        return POISON;
    Dim shape[MAX_RANK];
    int rank = ox_rank(like);
    ox_sizes(like, shape);
    shape[rank - 2] = m;
    shape[rank - 1] = n;
    Ox row = unsqueeze_axis(op, numbers(op, m), 1);
    Ox column = unsqueeze_axis(op, numbers(op, n), 0);
    Ox same = ox(op, "Equal", row, column);
    return ox_ok(same) ? expand_dims(op, ox_cast(op->g, same, ox_dtype(like)), shape, rank)
                       : POISON;
}

Ox matrix_record(Op *op, Ox a, Ox start, Dim *count)
{
    int rank = ox_rank(a);
    Dim shape[MAX_RANK];
    for (int i = 0; i < rank; i++)
        shape[i] = ox_dim(a, i);
    *count = shape[rank - 1] = dim_min(op->cx, ox_dim(a, rank - 2), ox_dim(a, rank - 1));
    shape[rank - 2] = dim_int(op->cx, 1);
    return expand_dims(op, start, shape, rank);
}

Ox matrix_recorded(Op *op, Ox record, Ox k, Ox v)
{
    Ox own = ox(op, "Equal", matrix_columns(op, record), k);
    return ox(op, "Where", own, v, record);
}

Ox matrix_empty(Op *op, DType t)
{
    Dim none = dim_int(op->cx, 0);
    return expand_dims(op, ox_number(op->g, t, 0), &none, 1);
}

Ox matrix_float(Op *op, const char *name)
{
    Ox a = arg(op, name);
    int rank;
    if (!need_rank(op, a, 2, &rank))
        return POISON;
    if (rank < 2)
        return op_fail(op, E_VALUE, "The input tensor A must have at least 2 dimensions.");
    if (ox_dtype(a) != DT_FLOAT && ox_dtype(a) != DT_DOUBLE && !ox_is_complex(a))
        return op_fail(op, E_VALUE, "Expected a floating point or complex tensor as input. Got %s",
                       torch_dtype_name(ox_dtype(a)));
    return a;
}
