/* grouped.c - matrix products of groups of rows, as mixtures of experts take them: rows that belong
 * to one expert lie together.
 *
 * offs says where each group ends, so every group is a slice whose length the data decides. One
 * MatMul for each expert, none for a row that is not its own; rows behind the last group are
 * zeros. */
#include "ops/internal.h"

enum { GROUPS_MAX = 1024 }; /* one MatMul each */

/* Rows [from, to) of x; both are 0-d. */
static Ox rows_between(Op *op, Ox x, Ox from, Ox to)
{
    Ox a = unsqueeze_axis(op, from, 0);
    Ox b = unsqueeze_axis(op, to, 0);
    Ox axis = ints(op, 0);
    return ox(op, "Slice", x, a, b, axis);
}

static Ox nth(Op *op, Ox x, int64_t i)
{
    Ox at = ox_int(op->g, i);
    return ox_with(op, "Gather", INPUTS(x, at), INT("axis", 0));
}

/* [S,K] by [E,K,N] -> [S,N]: rows from one offset to the next are multiplied by their group's
 * matrix; the rows behind the last group are 0. */
static Ox grouped(Op *op, Ox x, Ox weight, Ox offs)
{
    int64_t n;
    if (ox_rank(x) != 2 || ox_rank(weight) != 3 || ox_rank(offs) != 1)
        return op_refuse(op, "only groups of rows, [S,K] by [E,K,N], are handled");
    if (!dim_known(ox_dim(weight, 0), &n) || n < 1 || n > GROUPS_MAX)
        return op_refuse(op, "the number of groups must be known, and at most 1024");
    Dim rows = ox_dim(x, 0);
    Dim out[] = { rows, ox_dim(weight, 2) };
    Ox *part = new_array(op->cx, Ox, (size_t)n + 1);
    if (!part)
        return POISON;
    Ox ends = ox_cast(op->g, offs, DT_INT64);
    Ox from = ox_int(op->g, 0);
    for (int64_t i = 0; i < n; i++) {
        Ox to = nth(op, ends, i);
        Ox group = rows_between(op, x, from, to);
        Ox w = nth(op, weight, i);
        part[i] = ox(op, "MatMul", group, w);
        from = to;
    }
    Ox all = ox_dim_value(op->g, rows);
    Ox none = number_like(op, 0, x);
    Ox zeros = expand_dims(op, none, out, 2);
    part[n] = rows_between(op, zeros, from, all);
    Ox whole = concat_axis(op, part, (size_t)n + 1, 0);
    if (ox_ok(whole) &&
        !dim_require(op->cx, ox_dim(whole, 0), rows,
                     "the groups of a grouped product are its rows"))
        return POISON;
    return whole;
}

static Ox lower_grouped_mm_fallback(Op *op)
{
    Ox x = arg(op, "input");
    Ox weight = arg(op, "weight");
    Ox offs = arg(op, "offs");
    return ctx_failed(op->cx) ? POISON : grouped(op, x, weight, offs);
}

static Ox lower_grouped_mm(Op *op)
{
    Ox x = arg(op, "self");
    Ox weight = arg(op, "mat2");
    Ox offs = arg(op, "offs");
    if (!arg_given(op, "offs") || arg_given(op, "bias"))
        return op_refuse(op, "only groups of rows given by offs, without bias, are handled");
    Ox y = grouped(op, x, weight, offs);
    return arg_given(op, "out_dtype") && ox_ok(y)
        ? ox_cast(op->g, y, arg_dtype(op, "out_dtype", ox_dtype(x)))
        : y;
}

OP_ROWS(grouped)
{
    LOWER(lower_grouped_mm, NULL, PLAIN,
          "aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, "
          "ScalarType? out_dtype=None) -> Tensor");
    LOWER(lower_grouped_mm_fallback, NULL, PLAIN,
          "transformers::grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor");
}
