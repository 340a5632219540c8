/* pointwise.c - element by element, where a formula is not enough: division that rounds, PReLU's weight, limits of types.
 * The formulas are in pointwise.rules. */
#include "ops/internal.h"

/* Sizes that went through tensors: both sides a single dim, so the result is one too and no node is made. */
static bool one_item(Ox v, Dim *out)
{
    const Dim *items;
    int64_t n;
    if (!ox_ok(v) || ox_rank(v) != 0 || !dtype_is_int(ox_dtype(v)) || !ox_items(v, &items, &n) || n != 1)
        return false;
    *out = items[0];
    return true;
}

static Ox item_like(Op *op, Dim d, Ox like)
{
    return d ? ox_cast(op->g, ox_dim_value(op->g, d), ox_dtype(like)) : POISON;
}

static Ox not_zero(Op *op, Ox x)
{
    Ox zero = number_like(op, 0, x), is = ox(op, "Equal", x, zero);
    return ox(op, "Not", is);
}

static Ox is_negative(Op *op, Ox x)
{
    Ox zero = number_like(op, 0, x);
    return ox(op, "Less", x, zero);
}

/* rest != 0 and its sign is not the divisor's: rounding to minus infinity is one step below. */
static Ox rounds_down(Op *op, Ox rest, Ox divisor)
{
    Ox some = not_zero(op, rest), a = is_negative(op, rest), b = is_negative(op, divisor);
    Ox differ = ox(op, "Xor", a, b);
    return ox(op, "And", some, differ);
}

/* ONNX's integer Div truncates. */
static Ox floor_ints(Op *op, Ox a, Ox b)
{
    Dim x, y;
    if (one_item(a, &x) && one_item(b, &y))
        return item_like(op, dim_floordiv(op->cx, x, y), a);
    Ox quotient = ox(op, "Div", a, b), back = ox(op, "Mul", quotient, b), rest = ox(op, "Sub", a, back);
    if (!dtype_is_signed(ox_dtype(a)))
        return quotient;
    Ox step = rounds_down(op, rest, b), one = ox_ok(step) ? ox_cast(op->g, step, ox_dtype(a)) : POISON;
    return ox(op, "Sub", quotient, one);
}

/* As PyTorch: through the exact remainder, so that 1.0 // 0.1 is 9. Division by zero is the plain quotient. */
static Ox floor_floats(Op *op, Ox a, Ox b)
{
    Ox rest = ox_with(op, "Mod", INPUTS(a, b), INT("fmod", 1));
    Ox exact = ox(op, "Sub", a, rest), quotient = ox(op, "Div", exact, b), down = rounds_down(op, rest, b);
    Ox one = number_like(op, 1, a), less = ox(op, "Sub", quotient, one), picked = ox(op, "Where", down, less, quotient);
    Ox whole = ox(op, "Round", picked), zero = number_like(op, 0, b), by_zero = ox(op, "Equal", b, zero), plain = ox(op, "Div", a, b);
    return ox(op, "Where", by_zero, plain, whole);
}

static Ox lower_floor_divide(Op *op)
{
    Ox a = arg(op, "self"), b = arg(op, "other");
    return dtype_is_float(op->common) ? floor_floats(op, a, b) : floor_ints(op, a, b);
}

static Ox truncated(Op *op, Ox a, Ox b)
{
    Ox q = ox(op, "Div", a, b);
    if (!dtype_is_float(op->common))
        return q;
    Ox sign = ox(op, "Sign", q), size = ox(op, "Abs", q), whole = ox(op, "Floor", size);
    return ox(op, "Mul", sign, whole);
}

/* True division has int-to-float's result type, the rounding modes the common one. */
static Ox lower_div_mode(Op *op)
{
    Str mode = arg_str(op, "rounding_mode");
    Ox a = arg(op, "self"), b = arg(op, "other");
    if (!mode && !dtype_is_float(op->common))
        a = ox_cast(op->g, a, DT_FLOAT), b = ox_cast(op->g, b, DT_FLOAT);
    if (!mode)
        return ox(op, "Div", a, b);
    if (str_is(mode, "floor"))
        return lower_floor_divide(op);
    if (str_is(mode, "trunc"))
        return truncated(op, a, b);
    return op_fail(op, E_VALUE, "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%s'", mode->s);
}

/* The divisor's sign, as Python's %. ONNX's Mod does so for ints; for floats it has C's fmod only. */
static Ox lower_remainder(Op *op)
{
    Ox a = arg(op, "self"), b = arg(op, "other");
    Dim x, y;
    if (one_item(a, &x) && one_item(b, &y))
        return item_like(op, dim_mod(op->cx, x, y), a);
    if (!dtype_is_float(op->common))
        return ox(op, "Mod", a, b);
    Ox rest = ox_with(op, "Mod", INPUTS(a, b), INT("fmod", 1));
    Ox other_sign = rounds_down(op, rest, b), moved = ox(op, "Add", rest, b);
    return ox(op, "Where", other_sign, moved, rest);
}

/* self >> other is floor division by a power of two; ONNX shifts unsigned types only. */
static Ox lower_right_shift(Op *op)
{
    Ox two = number_like(op, 2, arg(op, "self")), power = ox(op, "Pow", two, arg(op, "other"));
    if (!dtype_is_int(op->common))
        return op_fail(op, E_VALUE, "shifts are for integers");
    return floor_ints(op, arg(op, "self"), power);
}

/* One slope a channel, axis 1. */
static Ox lower_prelu(Op *op)
{
    Ox x = arg(op, "self"), slope = arg(op, "weight");
    int rank, slope_rank;
    if (!need_rank(op, x, 4, &rank) || !need_rank(op, slope, 1, &slope_rank))
        return POISON;
    if (rank > 2 && slope_rank == 1 && !dim_is(ox_dim(slope, 0), 1)) {
        int64_t axes[MAX_RANK];
        for (int i = 0; i < rank - 2; i++)
            axes[i] = i + 1;
        Ox at = ox_ints(op->g, axes, (size_t)rank - 2);
        slope = ox(op, "Unsqueeze", slope, at);
    }
    return ox(op, "PRelu", x, slope);
}

static double largest(DType t)
{
    return t == DT_DOUBLE ? 1.7976931348623157e308 : t == DT_FLOAT16 ? 65504 : t == DT_BFLOAT16 ? 3.3895313892515355e38 : 3.4028234663852886e38;
}

static Ox replaced(Op *op, Ox x, Ox where, const char *name, double deflt)
{
    Ox to = number_like(op, arg_given(op, name) ? arg_float(op, name) : deflt, x);
    return ox(op, "Where", where, to, x);
}

static Ox lower_nan_to_num(Op *op)
{
    Ox x = arg(op, "self");
    if (!ox_ok(x) || !dtype_is_float(ox_dtype(x)))
        return x;
    Ox nan = ox(op, "IsNaN", x), up = ox_with(op, "IsInf", INPUTS(x), INT("detect_negative", 0));
    Ox down = ox_with(op, "IsInf", INPUTS(x), INT("detect_positive", 0));
    x = replaced(op, x, nan, "nan", 0);
    x = replaced(op, x, up, "posinf", largest(ox_dtype(x)));
    return replaced(op, x, down, "neginf", -largest(ox_dtype(x)));
}

static Ox lower_round_decimals(Op *op)
{
    Ox x = arg(op, "self");
    double scale = 1;
    int64_t decimals = arg_int(op, "decimals");
    for (int64_t i = decimals < 0 ? -decimals : decimals; i > 0 && i <= 300; i--)
        scale *= 10;
    Ox by = number_like(op, scale, x), up = ox_make(op->g, decimals < 0 ? "Div" : "Mul", INPUTS(x, by), NULL, 0);
    Ox whole = ox(op, "Round", up);
    return ox_make(op->g, decimals < 0 ? "Mul" : "Div", INPUTS(whole, by), NULL, 0);
}

#define BOTH "default(self, other)"
const OpRow ops_pointwise[] = {
    LOWER(lower_floor_divide, BOTH, PLAIN, "aten::floor_divide(Tensor self, Tensor other) -> Tensor"),
    OLDER("aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor"),
    LOWER(lower_floor_divide, BOTH, PLAIN, "aten::floordiv(Tensor self, Scalar other) -> Tensor"),
    OLDER("aten::floordiv.Tensor(Tensor self, Tensor other) -> Tensor"),
    LOWER(lower_div_mode, BOTH, PLAIN, "aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor"),
    OLDER("aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor"),
    LOWER(lower_div_mode, BOTH, PLAIN, "upgrade::div_0_3.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor"),
    OLDER("upgrade::div_0_3.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor"),
    LOWER(lower_remainder, BOTH, PLAIN, "aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor"),
    OLDER("aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor"),
    OLDER("aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"),
    LOWER(lower_right_shift, BOTH, PLAIN, "aten::bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor"),
    OLDER("aten::bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor"),
    LOWER(lower_right_shift, BOTH, PLAIN, "aten::__rshift__.Tensor(Tensor self, Tensor other) -> Tensor"),
    OLDER("aten::__rshift__.Scalar(Tensor self, Scalar other) -> Tensor"),
    LOWER(lower_prelu, NULL, PLAIN, "aten::prelu(Tensor self, Tensor weight) -> Tensor"),
    LOWER(lower_prelu, NULL, PLAIN, "aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor"),
    LOWER(lower_nan_to_num, NULL, PLAIN, "aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor"),
    LOWER(lower_round_decimals, NULL, PLAIN, "aten::round.decimals(Tensor self, *, int decimals) -> Tensor"),
    OPS_END
};
