/* packed.c - packed sequences: torch.nn.utils.rnn's pack_padded_sequence and pad_packed_sequence.
 *
 * The data of packed sequences are the steps that each has, first all sequences' first ones, then
 * all second ones, ..: the rows of [steps * batch] where a mask is true. So everything between
 * packing and unpacking works on data of the real size. Data that packed_data made by the same rows
 * are unpacked by taking the padded tensor behind them: nothing is scattered. */
#include "ops/nn/rnn.h"

/* ---- masks ---- */

/* The sequences whose steps a mask [steps, batch] marks. False after an error. */
static bool packed_by_mask(Op *op, Ox mask, Packed *p)
{
    if (!ox_ok(mask))
        return false;
    *p = (Packed){ .mask = mask, .steps = ox_dim(mask, 0), .batch = ox_dim(mask, 1) };
    Dim all = dim_mul(op->cx, p->steps, p->batch);
    Ox flat = reshape_to(op, mask, &all, 1);
    Ox places = ox(op, "NonZero", flat);
    Ox axes = ints(op, 0);
    p->where = ox(op, "Squeeze", places, axes);
    return ox_ok(p->where);
}

/* How many are true along an axis of the mask, in type t. */
static Ox counted(Op *op, Ox mask, int64_t axis, DType t)
{
    Ox axes = ints(op, axis);
    Ox one = ox_cast(op->g, mask, t);
    return ox_with(op, "ReduceSum", INPUTS(one, axes), INT("keepdims", 0));
}

Ox packed_lengths(Op *op, const Packed *p, DType t) { return counted(op, p->mask, 0, t); }

/* The mask from which _pack_padded_sequence below counted batch_sizes; NULL when it did not. The
 * node's place decides: equal nodes of the program's own may count another axis, or lengths that do
 * not fall. */
static Ox mask_behind(Ctx *cx, Ox sizes)
{
    if (sizes->kind != OX_NODE || !node_is(sizes->node, "ReduceSum"))
        return NULL;
    const Place *made = place(cx, sizes->node->at);
    if (!made || !str_is(made->name, "aten::_pack_padded_sequence"))
        return NULL;
    Ox cast = sizes->node->in[0];
    return cast->kind == OX_NODE ? cast->node->in[0] : NULL;
}

static Ox range_to(Op *op, Dim end)
{
    Ox first = ox_int(op->g, 0);
    Ox last = ox_dim_value(op->g, end);
    Ox one = ox_int(op->g, 1);
    return ox(op, "Range", first, last, one);
}

/* A 0-d count as a size, which is 1 or more. False after an error. */
static bool counted_dim(Op *op, Ox v, Dim *out)
{
    Str name;
    if (!ox_ok(v) || !val_dim_of(val_number_of(op->g, v), op->cx, out))
        return false;
    if (dim_is_sym(*out, &name))
        dim_set_range(op->cx, *out, 1, DIM_MAX);
    return true;
}

bool packed_by_sizes(Op *op, Ox sizes, Dim batch, Packed *p)
{
    int rank;
    if (!need_rank(op, sizes, 1, &rank))
        return false;
    Ox mask = mask_behind(op->cx, sizes);
    if (!mask) {
        Ox first = ox_int(op->g, 0);
        if (!batch && !counted_dim(op, ox(op, "Gather", sizes, first), &batch))
            return false;
        Ox each = unsqueeze_axis(op, sizes, 1);
        Ox row = range_to(op, batch);
        mask = ox(op, "Less", row, each);
    }
    return packed_by_mask(op, mask, p);
}

/* ---- data ---- */

/* x, [steps, batch, ..], as rows, [steps * batch, ..]. */
static Ox as_rows(Op *op, const Packed *p, Ox x)
{
    Dim dims[MAX_RANK] = { dim_mul(op->cx, p->steps, p->batch) };
    if (!ox_ok(x))
        return POISON;
    for (int i = 2; i < ox_rank(x); i++)
        dims[i - 1] = ox_dim(x, i);
    return reshape_to(op, x, dims, ox_rank(x) - 1);
}

Ox packed_data(Op *op, const Packed *p, Ox x)
{
    Ox rows = as_rows(op, p, x);
    return ox_with(op, "Gather", INPUTS(rows, p->where), INT("axis", 0));
}

/* The padded tensor from which packed_data made `data` by the same rows; NULL when it did not. */
static Ox padded_behind(Op *op, const Packed *p, Ox data)
{
    if (data->kind != OX_NODE || !node_is(data->node, "Gather") || data->node->in[1] != p->where ||
        node_int(data->node, "axis", 0) != 0)
        return NULL;
    Ox rows = data->node->in[0];
    if (rows->kind != OX_NODE || !node_is(rows->node, "Reshape"))
        return NULL;
    Ox x = rows->node->in[0];
    bool whole = ox_rank(x) == ox_rank(data) + 1 && dim_eq(op->cx, ox_dim(x, 0), p->steps) == YES &&
        dim_eq(op->cx, ox_dim(x, 1), p->batch) == YES;
    return whole ? x : NULL;
}

/* By a scatter into zeros, unless `data` came from a padded tensor by the same rows. */
Ox unpacked(Op *op, const Packed *p, Ox data)
{
    Dim dims[MAX_RANK + 1], rows[MAX_RANK];
    int rank;
    if (!need_rank(op, data, 2, &rank))
        return POISON;
    Ox padded = padded_behind(op, p, data);
    if (padded)
        return padded;
    dims[0] = p->steps;
    dims[1] = p->batch;
    rows[0] = dim_mul(op->cx, p->steps, p->batch);
    for (int i = 1; i < rank; i++) {
        rows[i] = ox_dim(data, i);
        dims[i + 1] = rows[i];
    }
    Ox zeros = expand_dims(op, number_like(op, 0, data), rows, rank);
    Ox at = unsqueeze_axis(op, p->where, 1);
    return reshape_to(op, ox(op, "ScatterND", zeros, at, data), dims, rank + 1);
}

/* ---- packing and unpacking ---- */

static Ox time_first(Op *op, Ox x)
{
    int perm[MAX_RANK];
    for (int i = 0; i < ox_rank(x); i++)
        perm[i] = i < 2 ? 1 - i : i;
    return permute_to(op, x, perm, ox_rank(x));
}

/* -> (data, batch_sizes). There are as many steps as the longest sequence has. PyTorch demands that
 * the lengths fall. */
static Value lower__pack_padded_sequence(Op *op)
{
    Ox x = arg(op, "input");
    Ox lengths = arg_typed(op, "lengths", DT_INT64);
    Ox out[2];
    Dim steps;
    Packed p;
    int rank, one;
    if (!need_rank(op, x, 3, &rank) || !need_rank(op, lengths, 1, &one))
        return val_poison();
    if (rank < 2 || one != 1) {
        fail(op->cx, E_VALUE,
             "packing needs an input of rank 2 or more and lengths of rank 1, got %d and %d", rank,
             one);
        return val_poison();
    }
    if (arg_bool(op, "batch_first"))
        x = time_first(op, x);
    Ox axes = ints(op, 0);
    Ox most = ox_with(op, "ReduceMax", INPUTS(lengths, axes), INT("keepdims", 0));
    if (!ox_ok(x) || !counted_dim(op, most, &steps) ||
        !dim_require(op->cx, ox_dim(lengths, 0), ox_dim(x, 1),
                     "Expected `len(lengths)` to be equal to batch_size"))
        return val_poison();
    if (!dim_assume(op->cx, REL_LE, steps, ox_dim(x, 0)))
        return val_poison();
    Ox when = unsqueeze_axis(op, range_to(op, steps), 1);
    if (!packed_by_mask(op, ox(op, "Less", when, lengths), &p))
        return val_poison();
    out[0] = packed_data(op, &p, slice_axis(op, x, 0, dim_int(op->cx, 0), p.steps, 1));
    out[1] = counted(op, p.mask, 1, DT_INT64);
    return result_tuple(op, out, 2);
}

/* x, [steps, batch, ..], with steps of `value` behind it until there are `total`, total_length of
 * pad_packed_sequence; 0 or less: none. */
static Ox with_total_length(Op *op, Ox x, Dim steps, Dim total, Ox value)
{
    Ctx *cx = op->cx;
    Dim pads[2 * MAX_RANK];
    Dim zero = dim_int(cx, 0);
    if (!ox_ok(x) || dim_lt(cx, zero, total) == NO || dim_eq(cx, total, steps) == YES)
        return x;
    if (dim_lt(cx, total, steps) == YES)
        return op_fail(op, E_VALUE,
                       "Expected total_length to be at least the length of the longest sequence "
                       "in input, but got total_length=%s and max sequence length being %s",
                       dim_text(cx, total)->s, dim_text(cx, steps)->s);
    int rank = ox_rank(x);
    for (int i = 0; i < 2 * rank; i++)
        pads[i] = i == rank ? dim_sub(cx, total, steps) : zero;
    return ox(op, "Pad", x, ox_dims(op->g, pads, 2 * (size_t)rank), value);
}

/* -> (the padded tensor, with padding_value where a sequence has no step, the lengths) */
static Value lower__pad_packed_sequence(Op *op)
{
    Ctx *cx = op->cx;
    Ox data = arg(op, "data");
    Ox sizes = arg_typed(op, "batch_sizes", DT_INT64);
    Ox out[2];
    Dim total = arg_dim_expr(op, "total_length");
    Dim dims[MAX_RANK];
    Packed p;
    if (ctx_failed(cx) || !ox_ok(data) || !packed_by_sizes(op, sizes, NULL, &p))
        return val_poison();
    Ox x = unpacked(op, &p, data);
    Ox value = ox_ok(data) ? number_as(op, arg_value(op, "padding_value"), ox_dtype(data)) : POISON;
    if (!ox_ok(x) || !ox_ok(value))
        return val_poison();
    for (int i = 0; i < ox_rank(x); i++)
        dims[i] = i < 2 ? ox_dim(p.mask, i) : dim_int(cx, 1);
    Ox there = reshape_to(op, p.mask, dims, ox_rank(x));
    Ox padded = ox(op, "Where", there, x, value);
    padded = with_total_length(op, padded, p.steps, total, value);
    if (!ox_ok(padded))
        return val_poison();
    out[0] = arg_bool(op, "batch_first") ? time_first(op, padded) : padded;
    out[1] = packed_lengths(op, &p, DT_INT64);
    return result_tuple(op, out, 2);
}

OP_ROWS(packed)
{
    CALL(lower__pack_padded_sequence, NULL, PLAIN,
         "aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, "
         "Tensor)");
    CALL(lower__pad_packed_sequence, NULL, PLAIN,
         "aten::_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar "
         "padding_value, int total_length) -> (Tensor, Tensor)");
}
