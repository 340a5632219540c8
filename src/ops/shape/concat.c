/* concat.c - several tensors: joined, stacked, brought to one shape, combined. */
#include "ops/internal.h"

/* ---- cat and stack ---- */

/* An empty tensor of shape [0] may stand among tensors of any rank: PyTorch's old way of starting a
 * list. */
static bool is_legacy_empty(Ox x, int rank)
{
    return ox_rank(x) == 1 && rank != 1 && dim_is(ox_dim(x, 0), 0);
}

/* Argument `tensors`; an empty list fails with PyTorch's message. */
static bool some_tensors(Op *op, Oxs *xs, const char *message)
{
    *xs = arg_list(op, "tensors");
    if (ctx_failed(op->cx))
        return false;
    return xs->n > 0 || fail(op->cx, E_VALUE, "%s", message);
}

/* Concat of all but the legacy empty tensors. */
static Ox lower_cat(Op *op)
{
    Oxs xs;
    Oxs kept = { 0 };
    int rank = 1, axis, each;
    if (!some_tensors(op, &xs, "torch.cat(): expected a non-empty list of Tensors"))
        return POISON;
    for (size_t i = 0; i < xs.n; i++) {
        if (!need_rank(op, xs.at[i], -1, &each))
            return POISON;
        if (each == 0)
            return op_fail(op, E_VALUE,
                           "zero-dimensional tensor (at position %zu) cannot be concatenated", i);
        rank = each > rank ? each : rank;
    }
    for (size_t i = 0; i < xs.n; i++)
        if (!is_legacy_empty(xs.at[i], rank))
            vec_push(op->cx, &kept, xs.at[i]);
    return arg_dim(op, "dim", rank, &axis) ? concat_axis(op, kept.at, kept.n, axis) : POISON;
}

/* Concat once each tensor has the new axis. dim counts in the result, one rank up. */
static Ox lower_stack(Op *op)
{
    Oxs xs;
    int rank, axis;
    if (!some_tensors(op, &xs, "stack expects a non-empty TensorList") ||
        !need_rank(op, xs.at[0], -1, &rank) || !arg_dim(op, "dim", rank + 1, &axis))
        return POISON;
    Ox *at = new_array(op->cx, Ox, xs.n);
    if (!at)
        return POISON;
    for (size_t i = 0; i < xs.n; i++)
        at[i] = unsqueeze_axis(op, xs.at[i], axis);
    return concat_axis(op, at, xs.n, axis);
}

/* x with axes of size 1 in front, up to this rank; dstack's third axis comes last. */
static Ox at_least(Op *op, Ox x, int rank)
{
    while (ox_ok(x) && ox_rank(x) < rank)
        x = unsqueeze_axis(op, x, ox_rank(x) == 2 ? 2 : 0);
    return x;
}

/* The axis along which hstack (1), vstack (2) and dstack (3) join tensors of this rank. */
static int stack_axis(int64_t which, int rank)
{
    switch (which) {
    case 1:  return rank == 1 ? 0 : 1;
    case 2:  return 0;
    default: return 2;
    }
}

/* hstack, vstack, dstack. row->datum: the least rank of each tensor, 1, 2 or 3. The row does not
 * promote, because a 0-d tensor counts as much as the others here: PyTorch gives it axes first. */
static Ox lower_nstack(Op *op)
{
    Oxs xs;
    int least = (int)op->row->datum, rank;
    if (!some_tensors(op, &xs, "stack expects a non-empty TensorList") ||
        !one_type(op, xs.at, xs.n))
        return POISON;
    for (size_t i = 0; i < xs.n; i++) {
        if (!need_rank(op, xs.at[i], -1, &rank))
            return POISON;
        xs.at[i] = at_least(op, xs.at[i], least);
    }
    if (!ox_ok(xs.at[0]))
        return POISON;
    return concat_axis(op, xs.at, xs.n, stack_axis(least, ox_rank(xs.at[0])));
}

/* column_stack: vectors become columns. As in lower_nstack(), the row does not promote. */
static Ox lower_column_stack(Op *op)
{
    Oxs xs;
    int rank;
    if (!some_tensors(op, &xs, "column_stack expects a non-empty TensorList") ||
        !one_type(op, xs.at, xs.n))
        return POISON;
    for (size_t i = 0; i < xs.n; i++) {
        if (!need_rank(op, xs.at[i], -1, &rank))
            return POISON;
        Dim column[2] = { rank < 2 ? type_numel(op->cx, xs.at[i]->type) : NULL,
                          dim_int(op->cx, 1) };
        if (rank < 2)
            xs.at[i] = reshape_to(op, xs.at[i], column, 2);
    }
    return concat_axis(op, xs.at, xs.n, 1);
}

static Ox zeros_of(Op *op, Ox like, Dim rows, Dim cols)
{
    return expand_dims(op, number_like(op, 0, like), (const Dim[]){ rows, cols }, 2);
}

/* Matrices along the diagonal, zeros elsewhere; a vector is one row. */
static Ox lower_block_diag(Op *op)
{
    Oxs xs = arg_list(op, "tensors");
    Dim zero = dim_int(op->cx, 0);
    Dim one = dim_int(op->cx, 1);
    Dim cols = zero;
    Dim before = zero;
    int rank;
    for (size_t i = 0; i < xs.n; i++) {
        if (!need_rank(op, xs.at[i], 2, &rank))
            return POISON;
        if (rank > 2)
            return op_fail(op, E_VALUE,
                           "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                           "%zu has %d dimensions",
                           i, rank);
        if (rank < 2)
            xs.at[i] = reshape_to(op, xs.at[i],
                                  (const Dim[]){ one, type_numel(op->cx, xs.at[i]->type) }, 2);
        if (!ox_ok(xs.at[i]))
            return POISON;
        cols = dim_add(op->cx, cols, ox_dim(xs.at[i], 1));
    }
    for (size_t i = 0; i < xs.n; i++) {
        Dim rows = ox_dim(xs.at[i], 0);
        Dim own = ox_dim(xs.at[i], 1);
        Dim after = dim_sub(op->cx, dim_sub(op->cx, cols, before), own);
        Ox left = dim_is(before, 0) ? NULL : zeros_of(op, xs.at[i], rows, before);
        Ox right = dim_is(after, 0) ? NULL : zeros_of(op, xs.at[i], rows, after);
        before = dim_add(op->cx, before, own);
        xs.at[i] = concat_axis(op, (const Ox[]){ left, xs.at[i], right }, 3, 1);
    }
    return xs.n ? concat_axis(op, xs.at, xs.n, 0) : op_refuse(op, "of no tensors");
}

/* Sequences of different lengths, filled up to the longest. */
static Ox lower_pad_sequence(Op *op)
{
    Oxs xs = arg_list(op, "sequences");
    Dim longest = dim_int(op->cx, 0);
    int rank, axis = arg_bool(op, "batch_first") ? 0 : 1;
    bool left = has_param(op, "padding_side") && str_is(arg_str(op, "padding_side"), "left");
    if (xs.n == 0)
        return ctx_failed(op->cx) ? POISON
                                  : op_fail(op, E_VALUE, "received an empty list of sequences");
    for (size_t i = 0; i < xs.n; i++) {
        if (!need_rank(op, xs.at[i], -1, &rank))
            return POISON;
        if (rank == 0)
            return op_fail(op, E_VALUE, "pad_sequence: a sequence has at least one dimension");
        longest = dim_max(op->cx, longest, ox_dim(xs.at[i], 0));
    }
    for (size_t i = 0; i < xs.n; i++) {
        Dim dims[MAX_RANK];
        ox_sizes(xs.at[i], dims);
        dims[0] = dim_sub(op->cx, longest, dims[0]);
        Ox fill = dim_is(dims[0], 0)
            ? NULL
            : expand_dims(op, number_like(op, arg_float(op, "padding_value"), xs.at[i]), dims,
                          ox_rank(xs.at[i]));
        Ox whole = concat_axis(
            op, left ? (const Ox[]){ fill, xs.at[i] } : (const Ox[]){ xs.at[i], fill }, 2, 0);
        xs.at[i] = unsqueeze_axis(op, whole, axis);
    }
    return concat_axis(op, xs.at, xs.n, axis);
}

/* Each tensor's axis is cut into equal chunks, the last filled up with zeros; chunk by chunk all
 * are joined, flattened. */
static Ox lower_chunk_cat(Op *op)
{
    Oxs xs = arg_list(op, "tensors");
    int64_t n = arg_int(op, "num_chunks");
    Dim chunks = dim_int(op->cx, n);
    int rank, axis = 0;
    if (n < 1)
        return op_fail(op, E_VALUE, "_chunk_cat expects positive num_chunks");
    for (size_t i = 0; i < xs.n; i++) {
        if (!need_rank(op, xs.at[i], -1, &rank) || !arg_dim(op, "dim", rank, &axis))
            return POISON;
        if (rank == 0)
            return op_fail(op, E_VALUE, "_chunk_cat expects dim < ndim for all input tensors");
        Dim dims[MAX_RANK + 1];
        Dim size = ox_dim(xs.at[i], axis);
        Dim whole = dim_mul(op->cx, dim_ceildiv(op->cx, size, chunks), chunks);
        ox_sizes(xs.at[i], dims);
        dims[axis] = dim_sub(op->cx, whole, size);
        Ox fill = dim_is(dims[axis], 0) ? NULL
                                        : expand_dims(op, number_like(op, 0, xs.at[i]), dims, rank);
        Ox full = concat_axis(op, (const Ox[]){ xs.at[i], fill }, 2, axis);
        Dim rest = dim_ceildiv(op->cx, size, chunks);
        for (int k = axis + 1; k < rank; k++)
            rest = dim_mul(op->cx, rest, dims[k]);
        dims[axis] = chunks;
        dims[axis + 1] = rest;
        xs.at[i] = reshape_to(op, full, dims, axis + 2);
    }
    if (ctx_failed(op->cx))
        return POISON;
    if (xs.n == 0)
        return op_fail(op, E_VALUE, "_chunk_cat expects a non-empty input tensor list");
    return concat_axis(op, xs.at, xs.n, axis + 1);
}

/* ---- several tensors of one shape ---- */

/* `dims` as an argument of a call. */
static Value sizes_of(Ctx *cx, const Dim *dims, int n)
{
    Value at[MAX_RANK];
    for (int i = 0; i < n; i++)
        at[i] = val_dim(cx, dims[i]);
    return val_tuple(cx, at, n);
}

/* A view of item i of the argument `tensors`, so that what is written to one shows in the other. */
static Value item_as(Op *op, Value item, const char *view, const Dim *dims, int n)
{
    Value args[] = { item, sizes_of(op->cx, dims, n) };
    return val_ok(item) ? call_op(op, view, args, 2) : item;
}

/* The shape that all tensors broadcast to: [3, 1] and [4] give [3, 4]. */
static bool common_shape(Op *op, Oxs xs, Dim *dims, int *rank)
{
    *rank = 0;
    for (size_t i = 0; i < xs.n; i++) {
        int each;
        if (!need_rank(op, xs.at[i], -1, &each))
            return false;
        *rank = each > *rank ? each : *rank;
    }
    for (int i = 0; i < *rank; i++)
        dims[i] = dim_int(op->cx, 1);
    for (size_t i = 0; i < xs.n; i++) {
        int added = *rank - ox_rank(xs.at[i]);
        for (int k = added; k < *rank; k++)
            if (!dim_broadcast(op->cx, dims[k], ox_dim(xs.at[i], k - added), &dims[k]))
                return fail(op->cx, E_VALUE,
                            "The size of tensor %zu does not match the others at dimension %d", i,
                            k);
    }
    return true;
}

/* A list of views, each tensor expanded to the common shape. */
static Value lower_broadcast_tensors(Op *op)
{
    Value list = arg_value(op, "tensors");
    Oxs xs = arg_list(op, "tensors");
    Dim dims[MAX_RANK];
    int rank;
    if (!common_shape(op, xs, dims, &rank))
        return val_poison();
    Value *out = new_array(op->cx, Value, xs.n + 1);
    if (!out)
        return val_poison();
    for (size_t i = 0; i < xs.n; i++)
        out[i] = item_as(op, list.tuple->at[i], "aten::expand", dims, rank);
    if (ctx_failed(op->cx))
        return val_poison();
    return val_list(op->cx, out, (int64_t)xs.n, "Tensor");
}

/* indexing="xy" swaps the first two axes of the result. */
static Value lower_meshgrid(Op *op)
{
    Value list = arg_value(op, "tensors"), out[MAX_RANK];
    Oxs xs = arg_list(op, "tensors");
    Dim dims[MAX_RANK];
    bool xy = param_named(op->call->schema, "indexing") >= 0 &&
        str_is(arg_str(op, "indexing"), "xy") && xs.n > 1;
    int rank, n = (int)xs.n;
    for (int i = 0; i < n; i++) {
        if (n > MAX_RANK || !need_rank(op, xs.at[i], 1, &rank))
            return val_poison();
        if (rank > 1) {
            fail(op->cx, E_VALUE,
                 "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got a tensor of "
                 "rank %d",
                 rank);
            return val_poison();
        }
        dims[i] = rank == 0 ? dim_int(op->cx, 1) : ox_dim(xs.at[i], 0);
    }
    for (int i = 0; i < n; i++) {
        Dim shape[MAX_RANK];
        for (int k = 0; k < n; k++)
            shape[k] = k == i ? dims[i] : dim_int(op->cx, 1);
        out[i] = item_as(op, item_as(op, list.tuple->at[i], "aten::view", shape, n), "aten::expand",
                         dims, n);
        Value swap[] = { out[i], val_int(0), val_int(1) };
        if (xy && val_ok(out[i]))
            out[i] = call_op(op, "aten::transpose", swap, 3);
    }
    return ctx_failed(op->cx) ? val_poison() : val_list(op->cx, out, n, "Tensor");
}

/* Every combination of one element of each vector, a row each. Vector i is expanded along axis i
 * of a grid of n axes, which is flattened to a column. */
static Ox lower_cartesian_prod(Op *op)
{
    Oxs xs = arg_list(op, "tensors");
    Dim dims[MAX_RANK];
    int rank, n = (int)xs.n;
    for (int i = 0; i < n; i++) {
        if (n > MAX_RANK || !need_rank(op, xs.at[i], 1, &rank))
            return POISON;
        if (rank != 1)
            return op_fail(op, E_VALUE, "Expect a 1D vector, but got shape %s",
                           type_text(op->cx, xs.at[i]->type)->s);
        dims[i] = ox_dim(xs.at[i], 0);
    }
    if (ctx_failed(op->cx))
        return POISON;
    if (n == 0)
        return op_fail(op, E_VALUE, "cartesian_prod: a tensor is needed");
    if (n == 1)
        return xs.at[0];
    Dim column[2] = { dim_product(op->cx, dims, n), dim_int(op->cx, 1) };
    for (int i = 0; i < n; i++) {
        Dim shape[MAX_RANK];
        for (int k = 0; k < n; k++)
            shape[k] = k == i ? dims[i] : dim_int(op->cx, 1);
        Ox along = reshape_to(op, xs.at[i], shape, n);
        xs.at[i] = reshape_to(op, expand_dims(op, along, dims, n), column, 2);
    }
    return concat_axis(op, xs.at, xs.n, 1);
}

enum { LARGE_TABLE = 4096 };

/* Step to the next r numbers below n, each above the one before it (again: or equal); false: there
 * is none. 0 1, then 0 2, then 1 2 for n = 3. */
static bool next_combination(int64_t *at, int64_t r, int64_t n, bool again)
{
    int64_t i = r - 1;
    while (i >= 0 && at[i] == (again ? n - 1 : n - r + i))
        i--;
    if (i < 0)
        return false;
    at[i]++;
    for (int64_t k = i + 1; k < r; k++)
        at[k] = at[k - 1] + !again;
    return true;
}

/* combinations() where n is dynamic, or the table would be large: the indices of a grid of r axes
 * at which each number is below the next. */
static Ox combinations_of_grid(Op *op, Dim n, int r, bool again)
{
    Ctx *cx = op->cx;
    Ox from = ox_int(op->g, 0);
    Ox by = ox_int(op->g, 1);
    Ox end = ox_dim_value(op->g, n);
    Ox all = ox(op, "Range", from, end, by);
    Ox ordered = NULL;
    Ox before = NULL;
    const char *compare = again ? "LessOrEqual" : "Less";
    if (r == 1)
        return unsqueeze_axis(op, all, 1);
    for (int k = 0; k < r; k++) {
        Dim dims[MAX_RANK];
        for (int i = 0; i < r; i++)
            dims[i] = i == k ? n : dim_int(cx, 1);
        Ox here = reshape_to(op, all, dims, r);
        if (before) {
            Ox below = ox_make(op->g, compare, INPUTS(before, here), NULL, 0);
            ordered = ordered ? ox(op, "And", ordered, below) : below;
        }
        before = here;
    }
    Ox places = ox(op, "NonZero", ordered);
    return ox_ok(places) ? permute_to(op, places, (int[]){ 1, 0 }, 2) : POISON;
}

/* See internal.h: a constant table where n is known and the table small, else the places of a
 * grid. */
Ox combinations(Op *op, Dim size, int r, bool again)
{
    int64_t n;
    int64_t at[MAX_RANK] = { 0 };
    int64_t rows = 0;
    VEC(int64_t) table = { 0 };
    double count = 1;
    bool known = dim_known(size, &n);
    if (known)
        for (int i = 0; i < r; i++)
            count *= ((double)n + (again ? i : -i)) / (i + 1);
    if (!known || count * r > LARGE_TABLE)
        return combinations_of_grid(op, size, r, again);
    for (int i = 0; i < r; i++)
        at[i] = again ? 0 : i;
    bool more = again ? n > 0 : n >= r;
    for (; more && !ctx_failed(op->cx); rows++) {
        for (int i = 0; i < r; i++)
            vec_push(op->cx, &table, at[i]);
        more = next_combination(at, r, n, again);
    }
    return ox_const(op->g, const_make(op->cx, DT_INT64, 2, (const int64_t[]){ rows, r }, table.at));
}

static Ox lower_combinations(Op *op)
{
    Ox x = arg(op, "self");
    int64_t r = arg_int(op, "r");
    int rank;
    if (!need_rank(op, x, 1, &rank) || ctx_failed(op->cx))
        return POISON;
    if (rank != 1 || r < 0 || r > MAX_RANK)
        return op_fail(op, E_VALUE,
                       "combinations: a 1D vector and a length from 0 to %d are needed", MAX_RANK);
    if (r == 0)
        return expand_dims(op, number_like(op, 0, x), (const Dim[]){ dim_int(op->cx, 0) }, 1);
    Ox index = combinations(op, ox_dim(x, 0), (int)r, arg_bool(op, "with_replacement"));
    return ox_with(op, "Gather", INPUTS(x, index), INT("axis", 0));
}

#define TENSORS "default(tensors)"

OP_ROWS(concat)
{
    LOWER(lower_cat, TENSORS, PLAIN, "aten::cat(Tensor[] tensors, int dim=0) -> Tensor");
    LOWER(lower_cat, TENSORS, PLAIN, "aten::concat(Tensor[] tensors, int dim=0) -> Tensor");
    LOWER(lower_cat, TENSORS, PLAIN, "aten::concatenate(Tensor[] tensors, int dim=0) -> Tensor");
    LOWER(lower_stack, TENSORS, PLAIN, "aten::stack(Tensor[] tensors, int dim=0) -> Tensor");
    FAMILY(lower_nstack, 1, NULL, PLAIN, "aten::hstack(Tensor[] tensors) -> Tensor");
    FAMILY(lower_nstack, 2, NULL, PLAIN, "aten::vstack(Tensor[] tensors) -> Tensor");
    FAMILY(lower_nstack, 3, NULL, PLAIN, "aten::dstack(Tensor[] tensors) -> Tensor");
    CALL(lower_broadcast_tensors, NULL, PLAIN,
         "aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]");
    CALL(lower_meshgrid, NULL, PLAIN, "aten::meshgrid(Tensor[] tensors) -> Tensor[]");
    CALL(lower_meshgrid, NULL, PLAIN,
         "aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]");
    FAMILY(lower_nstack, 2, NULL, PLAIN, "aten::row_stack(Tensor[] tensors) -> Tensor");
    LOWER(lower_column_stack, NULL, PLAIN, "aten::column_stack(Tensor[] tensors) -> Tensor");
    LOWER(lower_block_diag, TENSORS, PLAIN, "aten::block_diag(Tensor[] tensors) -> Tensor");
    LOWER(lower_chunk_cat, TENSORS, PLAIN,
          "aten::_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor");
    LOWER(lower_pad_sequence, NULL, PLAIN,
          "aten::pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0., "
          "str padding_side=\"right\") -> Tensor");
    ITSELF(lower_cartesian_prod, 0, PLAIN, "aten::cartesian_prod(Tensor[] tensors) -> Tensor");
    LOWER(lower_combinations, NULL, PLAIN,
          "aten::combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor");
}
