/* quantized_dynamic.c - layers whose input is quantised while the model runs, with the scale that
 * its own least and largest number give. The product is one of integers: ONNX Runtime would
 * otherwise replace it by a kernel that rounds the input in its own way (MatMulNBits). */
#include "ops/quantized/quantized.h"

/* ---- the input ---- */

/* The least scale that PyTorch takes, for numbers that are all closer to 0, and for nothing but
 * zeros. */
static const double LEAST_SCALE = 6.1e-5;

/* PyTorch finds scale and zero point in double, and rounds x / scale + zero_point, by one
 * instruction that multiplies and adds: the sum is rounded to float once. Arithmetic in float would
 * send an element to the other of two steps now and then. */
Ox own_scale(Op *op, Ox x, bool reduced, QuantInfo *q)
{
    *q = (QuantInfo){ .axis = -1, .dtype = DT_UINT8 };
    if (!ox_ok(x))
        return POISON;
    Ox wide = ox_cast(op->g, x, DT_DOUBLE);
    Ox zero = number_like(op, 0, wide);
    Ox steps = number_like(op, reduced ? 127 : 255, wide);
    Ox least = ox_with(op, "ReduceMin", INPUTS(x), INT("keepdims", 0));
    Ox most = ox_with(op, "ReduceMax", INPUTS(x), INT("keepdims", 0));
    if (!ox_ok(least) || !ox_ok(most))
        return POISON;
    Ox low = ox(op, "Min", ox_cast(op->g, least, DT_DOUBLE), zero);
    Ox high = ox(op, "Max", ox_cast(op->g, most, DT_DOUBLE), zero);
    Ox range = ox(op, "Sub", high, low);
    Ox given = ox(op, "Div", range, steps);
    Ox scale = ox(op, "Max", given, number_like(op, LEAST_SCALE, wide));
    Ox down = ox(op, "Div", low, scale);
    Ox point = ox(op, "Round", ox(op, "Neg", down));
    if (!ox_ok(point))
        return POISON;
    q->zero_point = ox_cast(op->g, point, DT_UINT8);
    q->scale = ox_cast(op->g, scale, DT_FLOAT);
    Ox inverse = ox(op, "Reciprocal", q->scale);
    Ox scaled = ox(op, "Mul", wide, ox_cast(op->g, inverse, DT_DOUBLE));
    Ox moved = ox(op, "Add", scaled, point);
    Ox once = ox_ok(moved) ? ox_cast(op->g, moved, DT_FLOAT) : moved;
    return quantize(op, once, quant_of_numbers(op, 1, 0, DT_UINT8));
}

Ox through_own_scale(Op *op, Ox x, bool reduced)
{
    QuantInfo q;
    Ox v = own_scale(op, x, reduced, &q);
    return ox_ok(v) ? dequantize(op, v, &q) : v;
}

/* ---- the weight ---- */

QuantInfo *as_unsigned(Op *op, Ox *v, const QuantInfo *q)
{
    QuantInfo *moved = new(op->cx, QuantInfo);
    *moved = *q;
    moved->dtype = DT_UINT8;
    moved->zero_point = ox_unsigned(op->g, q->zero_point);
    *v = ox_unsigned(op->g, *v);
    return moved;
}

/* A zero point for each column as one number where all are equal. */
static Ox one_zero_point(Op *op, Ox zeros)
{
    const int64_t *at;
    int64_t n;
    Ox wide = ox_ok(zeros) ? ox_cast(op->g, zeros, DT_INT64) : zeros;
    if (!ox_ok(wide) || !ox_known_ints(op->g, wide, &at, &n) || n == 0)
        return zeros;
    for (int64_t i = 1; i < n; i++)
        if (at[i] != at[0])
            return zeros;
    return ox_integer(op->g, ox_dtype(zeros), at[0]);
}

/* int8 steps become uint8 where the left side has 8 bits: as_unsigned() says why. */
bool int_weight(Op *op, Value state, bool reduced, IntWeight *w)
{
    static const int turn[] = { 1, 0 };
    Value weight = packed_item(state, 0);
    Value bias = packed_item(state, 1);
    const QuantInfo *q = weight.tag == V_TENSOR ? weight.t->quant : NULL;
    if (!q || !eight_bits(q->dtype) || q->axis > 0 || is_float_zero(q->zero_point))
        return false;
    Ox v = tensor_read(op->g, weight.t);
    if (!ox_ok(v) || ox_rank(v) != 2)
        return false;
    if (q->dtype == DT_INT8 && !reduced)
        q = as_unsigned(op, &v, q);
    *w = (IntWeight){ .reduced = reduced, .scale = q->scale };
    w->columns = permute_to(op, v, turn, 2);
    w->zero_point = one_zero_point(op, q->zero_point);
    w->bias = bias.tag == V_TENSOR ? tensor_read(op->g, bias.t) : NULL;
    return true;
}

/* ---- the product ---- */

Ox int_product(Op *op, Ox x, const IntWeight *w)
{
    QuantInfo q;
    Ox v = own_scale(op, x, w->reduced, &q);
    Ox sums = ox(op, "MatMulInteger", v, w->columns, q.zero_point, w->zero_point);
    Ox scale = ox(op, "Mul", q.scale, w->scale);
    if (!ox_ok(sums))
        return POISON;
    Ox y = ox(op, "Mul", ox_cast(op->g, sums, DT_FLOAT), scale);
    return w->bias ? ox(op, "Add", y, w->bias) : y;
}

Ox dynamic_linear(Op *op, Ox x, Value state, bool reduced)
{
    IntWeight w;
    int rank;
    if (!need_rank(op, x, 2, &rank))
        return POISON;
    if (rank < 2 || !int_weight(op, state, reduced, &w))
        return packed_linear(op, through_own_scale(op, x, reduced), state);
    return int_product(op, x, &w);
}

static Ox lower_linear_dynamic(Op *op)
{
    Ox x = plain_arg(op, "X");
    Value state = packed_state(op, "W_prepack");
    Ox y = dynamic_linear(op, x, state, arg_bool(op, "reduce_range"));
    return op->row->text ? ox(op, op->row->text, y) : y;
}

/* act: the activation that follows, or NULL */
#define LINEAR_DYNAMIC(name, act)                                                                \
    OP_ROW(.kind = ROW_LOWER,                                                                    \
           .schema =                                                                             \
               "quantized::" name                                                                \
               "(Tensor X, __torch__.torch.classes.quantized.LinearPackedParamsBase W_prepack, " \
               "bool reduce_range=False) -> Tensor",                                             \
           .kinds = PLAIN | QUANT, .lower = lower_linear_dynamic, .text = (act))

OP_ROWS(quantized_dynamic)
{
    LINEAR_DYNAMIC("linear_dynamic", NULL);
    LINEAR_DYNAMIC("linear_relu_dynamic", "Relu");
}
