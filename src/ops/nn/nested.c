/* nested.c - nested tensors, as nn.TransformerEncoder makes them of a batch and its padding mask.
 *
 * ONNX has none. Here one is the padded tensor with the length of each sequence beside it (kind
 * NESTED of value/tensor.h), which only the operators take that say what becomes of both: the
 * encoder layer (attention.c) and the way back to padding. */
#include "ops/nn/nested.h"

Ox nested_rows(Op *op, Ox padded, Ox lengths)
{
    Ox first = ox_int(op->g, 0);
    Ox end = ox_ok(padded) ? ox_dim_value(op->g, ox_dim(padded, 1)) : POISON;
    Ox one = ox_int(op->g, 1);
    Ox at = ox(op, "Range", first, end, one);
    return ox(op, "Less", at, lengths);
}

Value nested_of(Op *op, Ox padded, Ox lengths)
{
    if (!ox_ok(padded) || !ox_ok(lengths))
        return val_poison();
    Tensor *t = tensor_new(op->cx, padded);
    t->kind = NESTED;
    t->lengths = lengths;
    return (Value){ .tag = V_TENSOR, .t = t };
}

/* x where a sequence has rows, `number` behind its end. */
static Ox filled(Op *op, Ox x, Ox lengths, double number)
{
    Ox rows = unsqueeze_axis(op, nested_rows(op, x, lengths), 2);
    Ox other = ox_ok(x) ? number_like(op, number, x) : POISON;
    return ox(op, "Where", rows, x, other);
}

/* Are t and mask a batch of sequences and its mask? False after PyTorch's error. */
static bool are_sequences(Op *op, Ox t, Ox mask)
{
    int rank, of_mask;
    if (!ox_ok(t) || !ox_ok(mask))
        return false;
    if (ox_dtype(mask) != DT_BOOL)
        return fail(op->cx, E_VALUE, "Expected mask to be of ScalarType Bool, but got %s instead.",
                    torch_dtype_name(ox_dtype(mask)));
    if (!need_rank(op, mask, 2, &of_mask) || !need_rank(op, t, 3, &rank))
        return false;
    if (of_mask != 2)
        return fail(op->cx, E_VALUE, "Padding mask should be 2D");
    if (rank != 3)
        return fail(op->cx, E_VALUE, "Input should be a 3D tensor, N * L * D");
    return dim_require(op->cx, ox_dim(t, 0), ox_dim(mask, 0),
                       "Mask size should match input size") &&
        dim_require(op->cx, ox_dim(t, 1), ox_dim(mask, 1), "Mask size should match input size");
}

/* Each sequence has as many rows as its mask has ones: that they come first PyTorch checks if at
 * all. What is padding is never read, not-a-number neither, so it is zeros from here on. */
static Value lower__nested_tensor_from_mask(Op *op)
{
    Ox t = arg(op, "t");
    Ox mask = arg_typed(op, "mask", DT_BOOL);
    if (!are_sequences(op, t, mask))
        return val_poison();
    Ox ones = ox_cast(op->g, mask, DT_INT64);
    Ox axis = ints(op, 1);
    Ox lengths = ox(op, "ReduceSum", ones, axis);
    return nested_of(op, filled(op, t, lengths, 0), lengths);
}

/* x without the rows behind the end of the longest sequence. */
static Ox cut_to_longest(Op *op, Ox x, Ox lengths)
{
    Dim longest;
    Ox most = ox_with(op, "ReduceMax", INPUTS(lengths), INT("keepdims", 0));
    if (!ox_ok(most) || !val_dim_of(val_number_of(op->g, most), op->cx, &longest))
        return POISON;
    return slice_axis(op, x, 1, dim_of(op, 0), longest, 1);
}

/* Without output_size the result is as long as the longest sequence. */
static Ox lower_to_padded_tensor(Op *op)
{
    const Tensor *self = arg_tensor(op, "self");
    Ox x = filled(op, arg(op, "self"), self->lengths, arg_float(op, "padding"));
    if (!ox_ok(x))
        return POISON;
    if (!arg_given(op, "output_size"))
        return cut_to_longest(op, x, self->lengths);
    Dims size = arg_dims(op, "output_size");
    if ((int)size.n != ox_rank(x) || !same_dims(op->cx, x, size.at, (int)size.n))
        return op_refuse(op, "an output_size that is not the size of the padded tensor");
    return x;
}

OP_ROWS(nested)
{
    CALL(lower__nested_tensor_from_mask, NULL, PLAIN,
         "aten::_nested_tensor_from_mask(Tensor t, Tensor mask, bool mask_check=True) -> Tensor");
    LOWER(
        lower_to_padded_tensor, NULL, NESTED,
        "aten::to_padded_tensor(Tensor self, float padding, SymInt[]? output_size=None) -> Tensor");
}
