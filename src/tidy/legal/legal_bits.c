/* legal_bits.c - BitwiseAnd, Or, Xor and Not before opset 18: bits as bools along a new axis.
 *
 *     bit k of x  =  (x >> k) mod 2
 *         which Div and Mod say of numbers that are not negative; a sign is a bit of its own
 *     their sum   =  bit 0 * 1 + bit 1 * 2 + .. - sign * 2^(width - 1)
 *         which no partial sum overflows
 *
 * Memory is the width times as much. Not is -1 - x. */
#include "tidy/legal/legal.h"

/* x as bits: [.., width] bools, the sign last. */
static Ox bits_of(Graph *g, Ox x, int width, bool has_sign)
{
    int64_t power[64];
    int64_t rank = ox_rank(x);
    int64_t low = width - has_sign;
    for (int64_t i = 0; i < low; i++)
        power[i] = (int64_t)1 << i;
    Ox wide = ox_cast(g, x, DT_INT64);
    Ox negative = ox_g(g, "Less", wide, ox_int(g, 0));
    Ox size = wide;
    if (has_sign) {
        Ox shifted = ox_g(g, "Sub", wide,
                          ox_int(g, width == 64 ? INT64_MIN : -((int64_t)1 << low)));
        size = ox_g(g, "Where", negative, shifted, wide);
    }
    Ox each = ox_g(g, "Unsqueeze", size, one_axis(g, rank));
    Ox part = ox_g(g, "Div", each, ox_ints(g, power, (size_t)low));
    Ox rest = ox_g(g, "Mod", part, ox_int(g, 2));
    Ox bits = ox_cast(g, rest, DT_BOOL);
    if (!has_sign)
        return bits;
    Ox sign = ox_g(g, "Unsqueeze", negative, one_axis(g, rank));
    return ox_g_with(g, "Concat", INPUTS(bits, sign), INT("axis", rank));
}

static Ox number_of(Graph *g, Ox bits, int width, bool has_sign)
{
    int64_t weight[64];
    for (int i = 0; i < width; i++)
        weight[i] = (int64_t)((uint64_t)1 << i);
    if (has_sign && width < 64) /* of 64 bits the last one weighs -2^63 already */
        weight[width - 1] = -weight[width - 1];
    Ox ones = ox_cast(g, bits, DT_INT64);
    const int64_t column[] = { width, 1 };
    Ox by = ox_const(g, const_make(g->cx, DT_INT64, 2, column, weight));
    Ox sum = ox_g(g, "MatMul", ones, by); /* ONNX Runtime's ReduceSum adds up doubles */
    return ox_g(g, "Squeeze", sum, one_axis(g, -1));
}

/* Before 18: each number becomes its bits, a logical operator works on these, and the bits
 * become a number again. BitwiseNot is -1 - x, or 255 - x for uint8. */
Verdict legal_bitwise(Legal *l, Node *n, Ox *out)
{
    Graph *g = n->graph;
    DType t = ox_dtype(n->in[0]);
    int width = 8 * (int)dtype_size(t);
    bool has_sign = dtype_is_signed(t);
    if (!dtype_is_int(t) || t == DT_UINT64 || ox_rank(n->in[0]) < 0 ||
        (n->n_in > 1 && ox_rank(n->in[1]) < 0))
        return AS_IT_IS;
    if (node_is(n, "BitwiseNot")) {
        Ox ones = has_sign ? ox_integer(g, t, -1) : ox_integer(g, t, ((int64_t)1 << width) - 1);
        out[0] = ox_g(g, "Sub", ones, n->in[0]);
        return CHANGED;
    }
    Ox a = bits_of(g, n->in[0], width, has_sign);
    Ox b = bits_of(g, n->in[1], width, has_sign);
    Ox bits = ox_g(g, n->op->name + strlen("Bitwise"), a, b);
    Ox whole = number_of(g, bits, width, has_sign);
    out[0] = ox_cast(g, whole, t);
    note(l->cx, NOTE_CHANGED, "%s goes bit by bit: opset 18 has it in one node", n->name->s);
    return CHANGED;
}
