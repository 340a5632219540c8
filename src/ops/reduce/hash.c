/* hash.c - the exclusive-or of all elements along axes: prims::xor_sum, and hash_tensor, which
 * takes that of the elements' bits. */
#include "ops/internal.h"

typedef struct Along {
    Ox x;
    int axis;
} Along;

/* A LoopStep: item k of the axis joins the state. */
static void xor_step(Op *op, const void *data, Ox k, const Ox *state, Ox *next, Ox *go)
{
    const Along *along = data;
    (void)go;
    Ox item = ox_with(op, "Gather", INPUTS(along->x, k), INT("axis", along->axis));
    next[0] = ox(op, ox_dtype(state[0]) == DT_BOOL ? "Xor" : "BitwiseXor", state[0], item);
}

/* The exclusive-or of ints or bools over these axes, the last one first: the others keep their
 * numbers. */
static Ox xor_over(Op *op, Ox x, const Axes *axes, bool keep)
{
    for (int i = axes->n - 1; i >= 0 && ox_ok(x); i--) {
        Along along = { x, axes->at[i] };
        Dim rest[MAX_RANK];
        int n = 0;
        for (int k = 0; k < ox_rank(x); k++)
            if (k != along.axis)
                rest[n++] = ox_dim(x, k);
        Ox none = ox_dtype(x) == DT_BOOL ? ox_bool(op->g, false)
                                         : ox_integer(op->g, ox_dtype(x), 0);
        Ox out = expand_dims(op, none, rest, n);
        if (!op_loop(op, ox_dim_value(op->g, ox_dim(x, along.axis)), xor_step, &along, &out, 1))
            return POISON;
        x = keep ? unsqueeze_axis(op, out, along.axis) : out;
    }
    return x;
}

/* Each element as an int64: an int's value, or the bits of a float made float64. */
static Ox as_bits(Op *op, Ox x)
{
    if (!ox_ok(x) || !dtype_is_float(ox_dtype(x)))
        return ox_cast(op->g, x, DT_INT64);
    if (!need_opset(op, 26, "the bits of a float"))
        return POISON;
    return ox_with(op, "BitCast", INPUTS(ox_cast(op->g, x, DT_DOUBLE)), INT("to", DT_INT64));
}

static Ox lower_hash(Op *op)
{
    Ox x = arg(op, "self");
    Axes axes;
    bool keep;
    int64_t mode = arg_int(op, "mode");
    if (mode != 0 && !ctx_failed(op->cx))
        return op_refuse(op, "mode %lld", (long long)mode);
    if (ctx_failed(op->cx) || !reduced_axes(op, x, &axes, &keep))
        return POISON;
    Ox out = xor_over(op, as_bits(op, x), &axes, keep);
    return ox_cast(op->g, out, DT_UINT64);
}

static Ox lower_xor_sum(Op *op)
{
    Ox x = arg(op, "inp");
    Axes axes;
    int rank;
    if (!need_rank(op, x, -1, &rank) || !arg_axes(op, "dims", rank, &axes))
        return POISON;
    if (!dtype_is_int(ox_dtype(x)) && ox_dtype(x) != DT_BOOL)
        return op_fail(op, E_VALUE, "xor_sum is for ints and bools, not %s",
                       torch_dtype_name(ox_dtype(x)));
    Ox out = xor_over(op, x, &axes, false);
    return ox_cast(op->g, out, arg_dtype(op, "output_dtype", ox_dtype(x)));
}

OP_ROWS(hash)
{
    LOWER(lower_hash, NULL, PLAIN,
          "aten::hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> "
          "Tensor");
    LOWER(lower_xor_sum, NULL, PLAIN,
          "prims::xor_sum(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor");
}
