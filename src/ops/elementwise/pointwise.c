/* pointwise.c - element by element, where a formula is not enough: division that rounds, PReLU's
 * weight, limits of types. The formulas are in pointwise.rules. */
#include "ops/internal.h"

#include <float.h>
#include <math.h>

/* Sizes that went through tensors: both sides a single dim, so the result is one too and no node is
 * made. */
static bool one_item(Ox v, Dim *out)
{
    const Dim *items;
    int64_t n;
    if (!ox_ok(v) || ox_rank(v) != 0 || !dtype_is_int(ox_dtype(v)) || !ox_items(v, &items, &n) ||
        n != 1)
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
    Ox zero = number_like(op, 0, x);
    Ox is = ox(op, "Equal", x, zero);
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
    Ox some = not_zero(op, rest);
    Ox a = is_negative(op, rest);
    Ox b = is_negative(op, divisor);
    Ox differ = ox(op, "Xor", a, b);
    return ox(op, "And", some, differ);
}

/* Are the ints in x known to be 0 or more, by how they are made? */
static bool is_never_negative(Op *op, Ox x, int depth)
{
    static const char *const moves[] = { "Expand", "Gather",    "GatherND", "Identity", "Reshape",
                                         "Slice",  "Transpose", "Squeeze",  "Unsqueeze" };
    static const char *const counts[] = { "Shape", "Size", "ArgMax", "ArgMin", "NonZero" };
    double start, step;
    if (!ox_ok(x) || x->kind != OX_NODE || depth == 0)
        return false;
    const Node *n = x->node;
    for (size_t i = 0; i < COUNT(moves); i++)
        if (node_is(n, moves[i]))
            return is_never_negative(op, n->in[0], depth - 1);
    for (size_t i = 0; i < COUNT(counts); i++)
        if (node_is(n, counts[i]))
            return true;
    if (node_is(n, "Cast")) /* of bools and bytes */
        return ox_dtype(n->in[0]) == DT_BOOL ||
            (ox_dtype(n->in[0]) == DT_UINT8 && ox_dtype(x) != DT_INT8);
    return node_is(n, "Range") && ox_known_scalar(op->g, n->in[0], &start) && start >= 0 &&
        ox_known_scalar(op->g, n->in[2], &step) && step > 0;
}

enum { LOOK_BACK = 8 }; /* nodes */

/* a // b of a b above 0. For 2, 4, 8, .. what is taken from a to be a multiple never overflows. */
static Ox floor_by_positive(Op *op, Ox a, Ox b, double by)
{
    int exponent;
    if (is_never_negative(op, a, LOOK_BACK))
        return ox(op, "Div", a, b);
    if (frexp(by, &exponent) == 0.5) {
        Ox over = ox(op, "Mod", a, b);
        Ox whole = ox(op, "Sub", a, over);
        return ox(op, "Div", whole, b);
    }
    Ox quotient = ox(op, "Div", a, b);
    Ox back = ox(op, "Mul", quotient, b);
    Ox rest = ox(op, "Sub", a, back);
    Ox below = is_negative(op, rest);
    Ox one = ox_ok(below) ? ox_cast(op->g, below, ox_dtype(a)) : POISON;
    return ox(op, "Sub", quotient, one);
}

/* ONNX's integer Div truncates. */
static Ox floor_ints(Op *op, Ox a, Ox b)
{
    Dim x, y;
    double by;
    if (one_item(a, &x) && one_item(b, &y))
        return item_like(op, dim_floordiv(op->cx, x, y), a);
    if (!dtype_is_signed(ox_dtype(a)))
        return ox(op, "Div", a, b);
    if (ox_ok(b) && ox_known_scalar(op->g, b, &by) && by > 0)
        return floor_by_positive(op, a, b, by);
    Ox quotient = ox(op, "Div", a, b);
    Ox back = ox(op, "Mul", quotient, b);
    Ox rest = ox(op, "Sub", a, back);
    Ox step = rounds_down(op, rest, b);
    Ox one = ox_ok(step) ? ox_cast(op->g, step, ox_dtype(a)) : POISON;
    return ox(op, "Sub", quotient, one);
}

/* As PyTorch: through the exact remainder, so that 1.0 // 0.1 is 9. Division by zero is the plain
 * quotient. */
static Ox floor_floats(Op *op, Ox a, Ox b)
{
    Ox rest = ox_with(op, "Mod", INPUTS(a, b), INT("fmod", 1));
    Ox exact = ox(op, "Sub", a, rest);
    Ox quotient = ox(op, "Div", exact, b);
    Ox down = rounds_down(op, rest, b);
    Ox one = number_like(op, 1, a);
    Ox less = ox(op, "Sub", quotient, one);
    Ox picked = ox(op, "Where", down, less, quotient);
    Ox whole = ox(op, "Round", picked);
    Ox zero = number_like(op, 0, b);
    Ox by_zero = ox(op, "Equal", b, zero);
    Ox plain = ox(op, "Div", a, b);
    return ox(op, "Where", by_zero, plain, whole);
}

/* A number by which PyTorch divides float16 or bfloat16 in float32, as it is and not rounded to
 * that type first: where the quotient is rounded to whole numbers that shows. NULL: no number. */
static Ox wide_number(Op *op, const char *name)
{
    Value v = arg_value(op, name);
    if (op->common != DT_FLOAT16 && op->common != DT_BFLOAT16)
        return NULL;
    if (v.tag == V_FLOAT || v.tag == V_INT)
        return ox_number(op->g, DT_FLOAT, v.tag == V_FLOAT ? v.f : (double)v.i);
    Ox x = v.tag == V_TENSOR ? tensor_read(op->g, v.t) : NULL;
    return x && ox_ok(x) && ox_rank(x) == 0 ? ox_cast(op->g, x, DT_FLOAT) : NULL;
}

/* Is x a sum, and none of the two a constant of one element, as an epsilon is? */
static bool adds_no_epsilon(Ox x)
{
    if (!ox_ok(x) || x->kind != OX_NODE || !node_is(x->node, "Add"))
        return false;
    for (int i = 0; i < 2; i++) {
        Ox k = x->node->in[i];
        if (ox_ok(k) && k->kind == OX_CONST && const_numel(k->k) == 1)
            return false;
    }
    return true;
}

/* 1 / sqrt(x): one divided by the root, as the fusers of ONNX Runtime read RMSNorm. The fuser of
 * its session (1.31) takes whatever is added under the root for one epsilon, also a tensor of
 * several elements: such a sum gets a Reciprocal, which the fuser does not look for. */
static Ox inverse_root(Op *op, Ox x)
{
    Ox root = ox(op, "Sqrt", x);
    if (adds_no_epsilon(x))
        return ox(op, "Reciprocal", root);
    Ox one = number_like(op, 1, x);
    return ox(op, "Div", one, root);
}

static Ox lower_rsqrt(Op *op) { return inverse_root(op, arg(op, "self")); }

/* Is a whole number divided by a 0 that is known now? */
static bool divides_by_zero(Op *op, Ox a, Ox b)
{
    const int64_t *v;
    int64_t n;
    bool whole = ox_ok(a) && ox_ok(b) && dtype_is_int(ox_dtype(b)) && ox_rank(a) >= 0;
    if (!whole || dim_is(type_numel(op->cx, a->type), 0) || !ox_known_ints(op->g, b, &v, &n))
        return false;
    for (int64_t i = 0; i < n; i++)
        if (v[i] == 0)
            return true;
    return false;
}

static Ox zero_division(Op *op) { return op_fail(op, E_VALUE, "ZeroDivisionError"); }

static Ox lower_floor_divide(Op *op)
{
    Ox a = arg(op, "self");
    Ox b = arg(op, "other");
    if (divides_by_zero(op, a, b))
        return zero_division(op);
    Ox number = wide_number(op, "other");
    if (number)
        return ox_cast(op->g, floor_floats(op, ox_cast(op->g, a, DT_FLOAT), number), op->common);
    return dtype_is_float(op->common) ? floor_floats(op, a, b) : floor_ints(op, a, b);
}

static Ox truncated(Op *op, Ox a, Ox b)
{
    if (divides_by_zero(op, a, b))
        return zero_division(op);
    Ox number = wide_number(op, "other");
    Ox q = number ? ox(op, "Div", ox_cast(op->g, a, DT_FLOAT), number) : ox(op, "Div", a, b);
    if (!dtype_is_float(op->common))
        return q;
    Ox sign = ox(op, "Sign", q);
    Ox size = ox(op, "Abs", q);
    Ox whole = ox(op, "Floor", size);
    Ox signed_whole = ox(op, "Mul", sign, whole);
    return number ? ox_cast(op->g, signed_whole, op->common) : signed_whole;
}

/* True division has int-to-float's result type, the rounding modes the common one. */
static Ox lower_div_mode(Op *op)
{
    Str mode = arg_str(op, "rounding_mode");
    Ox a = arg(op, "self");
    Ox b = arg(op, "other");
    if (!mode && !dtype_is_float(op->common)) {
        a = ox_cast(op->g, a, DT_FLOAT);
        b = ox_cast(op->g, b, DT_FLOAT);
    }
    if (!mode)
        return ox(op, "Div", a, b);
    if (str_is(mode, "floor"))
        return lower_floor_divide(op);
    if (str_is(mode, "trunc"))
        return truncated(op, a, b);
    return op_fail(
        op, E_VALUE,
        "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%s'",
        mode->s);
}

/* The divisor's sign, as Python's %. ONNX's Mod does so for ints; for floats it has C's fmod
 * only. */
static Ox lower_remainder(Op *op)
{
    Ox a = arg(op, "self");
    Ox b = arg(op, "other");
    Dim x, y;
    if (divides_by_zero(op, a, b))
        return zero_division(op);
    if (one_item(a, &x) && one_item(b, &y))
        return item_like(op, dim_mod(op->cx, x, y), a);
    if (!dtype_is_float(op->common))
        return ox(op, "Mod", a, b);
    Ox rest = ox_with(op, "Mod", INPUTS(a, b), INT("fmod", 1));
    Ox other_sign = rounds_down(op, rest, b);
    Ox moved = ox(op, "Add", rest, b);
    return ox(op, "Where", other_sign, moved, rest);
}

/* The dividend's sign, as C's fmod. */
static Ox lower_fmod(Op *op)
{
    Ox a = arg(op, "self");
    Ox b = arg(op, "other");
    if (divides_by_zero(op, a, b))
        return zero_division(op);
    return ox_with(op, "Mod", INPUTS(a, b), INT("fmod", 1));
}

/* 1, 2, 4, .. 2^last in x's type, by index; the last one of a signed type has wrapped round. */
static Ox powers_of_two(Op *op, DType t, int64_t last)
{
    int64_t v[64], n = last + 1;
    for (int64_t i = 0; i < n; i++)
        v[i] = (int64_t)((uint64_t)1 << i);
    return ox_cast(op->g, ox_const(op->g, const_make(op->cx, DT_INT64, 1, &n, v)), t);
}

/* A byte by known numbers of bits within its eight is ONNX's own BitShift, which opset 11 has
 * brought. */
static bool is_bit_shift(Op *op, Ox by)
{
    uint8_t bits[FOLD_NUMEL];
    if (op->common != DT_UINT8 || op->g->target < 11 || by->kind != OX_CONST ||
        const_numel(by->k) > FOLD_NUMEL || !const_read(op->cx, by->k, bits))
        return false;
    for (int64_t i = 0; i < const_numel(by->k); i++)
        if (bits[i] >= 8)
            return false;
    return true;
}

/* ONNX shifts unsigned types only: to the left is a product, to the right a division, with a power
 * of two. PyTorch's result of a shift beyond the type's bits, negative ones included, is 0, and -1
 * for a negative number to the right. row->datum: 1 to the right. */
static Ox lower_shift(Op *op)
{
    Ox x = arg(op, "self");
    Ox by = arg(op, "other");
    if (!ox_ok(x) || !ox_ok(by))
        return POISON;
    const char *kernel = op->row->datum ? "rshift_cpu" : "lshift_cpu";
    if (!need_kernel(op, kernel, op->common, dtype_is_int(op->common)))
        return POISON;
    if (is_bit_shift(op, by))
        return ox_with(op, "BitShift", INPUTS(x, by),
                       STRING("direction", str_of(op->cx, op->row->datum ? "RIGHT" : "LEFT")));
    bool right = op->row->datum;
    bool sign = right && dtype_is_signed(op->common);
    int64_t last = 8 * (int64_t)dtype_size(op->common) - (sign ? 2 : 1);
    Ox at = ox_cast(op->g, by, DT_INT64);
    Ox first = ox_int(op->g, 0);
    Ox end = ox_int(op->g, last);
    Ox zero = number_like(op, 0, x);
    Ox negative = ox(op, "Less", at, first);
    Ox beyond = ox(op, "Greater", at, end);
    Ox outside = ox(op, "Or", negative, beyond);
    Ox safe = ox(op, "Where", outside, first, at);
    Ox power = ox(op, "Gather", powers_of_two(op, op->common, last), safe);
    Ox inside = right ? floor_ints(op, x, power) : ox(op, "Mul", x, power);
    Ox emptied = zero;
    if (sign) {
        Ox less = is_negative(op, x);
        Ox minus = number_like(op, -1, x);
        emptied = ox(op, "Where", less, minus, zero);
    }
    return ox(op, "Where", outside, emptied, inside);
}

/* ---- powers ---- */

/* x^n by squaring, in x's own type. */
static Ox int_power(Op *op, Ox x, int64_t n)
{
    Ox out = NULL;
    for (; n > 0; n >>= 1) {
        if (n & 1)
            out = out ? ox(op, "Mul", out, x) : x;
        if (n > 1)
            x = ox(op, "Mul", x, x);
    }
    return out;
}

/* x^n for a tensor of exponents n, by squaring: one step for each bit that the exponents may
 * have. As in PyTorch, odd numbers wrap around. */
static Ox int_powers(Op *op, Ox x, Ox n)
{
    int bits = (int)dtype_size(ox_dtype(n)) * 8 - dtype_is_signed(ox_dtype(n));
    const int64_t *known;
    int64_t count, most = 0;
    if (ox_known_ints(op->g, n, &known, &count)) {
        for (int64_t i = 0; i < count; i++)
            most |= known[i];
        for (bits = 1; bits < 63 && most >> bits;)
            bits++;
    }
    Ox zero = number_like(op, 0, x);
    Ox one = number_like(op, 1, x);
    Ox two = number_like(op, 2, x);
    Ox out = one;
    for (int bit = 0; bit < bits; bit++) {
        Ox rest = ox(op, "Mod", n, two);
        Ox even = ox(op, "Equal", rest, zero);
        Ox more = ox(op, "Mul", out, x);
        out = ox(op, "Where", even, out, more);
        n = bit < bits - 1 ? ox(op, "Div", n, two) : n;
        x = bit < bits - 1 ? ox(op, "Mul", x, x) : x;
    }
    return out;
}

/* 1/x^n, of which an int keeps 1 and -1. */
static Ox negative_powers(Op *op, Ox x, Ox n)
{
    Ox zero = number_like(op, 0, x);
    Ox one = number_like(op, 1, x);
    Ox minus = number_like(op, -1, x);
    Ox two = number_like(op, 2, x);
    Ox rest = ox(op, "Mod", n, two);
    Ox even = ox(op, "Equal", rest, zero);
    Ox sign = ox(op, "Where", even, one, minus);
    Ox is_one = ox(op, "Equal", x, one);
    Ox is_minus = ox(op, "Equal", x, minus);
    Ox inner = ox(op, "Where", is_minus, sign, zero);
    return ox(op, "Where", is_one, one, inner);
}

/* A bool to the power of a bool is false only for False ** True. torch 2.13 computes a bool and
 * records int64 in a .pt2. */
static Ox bool_power(Op *op, Ox x, Ox n)
{
    if (op->n_expect == 1 && op->expect[0] && op->expect[0]->dtype == DT_INT64)
        op->record_errs = RESULT(0);
    Ox off = ox(op, "Not", n);
    return ox(op, "Or", x, off);
}

/* An int tensor to the power of a known int. */
static Ox int_to_known(Op *op, Ox x, Ox n, int64_t power)
{
    if (power < 0)
        return op_fail(op, E_VALUE, "Integers to negative integer powers are not allowed.");
    if (power > 0)
        return int_power(op, x, power);
    Ox none = ox(op, "Mul", x, n);
    return ox(op, "Add", none, number_like(op, 1, x));
}

/* Signed ints to exponents that the model computes. Dimension expressions have no power of data, so
 * sizes go through a Where, which makes them a plain tensor. */
static Ox signed_powers(Op *op, Ox x, Ox n)
{
    Ox zero = number_like(op, 0, x);
    Ox below = ox(op, "Less", n, zero);
    Ox positive = ox(op, "Max", n, zero);
    const Dim *sizes;
    int64_t count;
    Ox base = x;
    if (x->kind != OX_CONST && ox_items(x, &sizes, &count))
        base = ox(op, "Where", below, number_like(op, 1, x), x);
    Ox powers = int_powers(op, base, positive);
    Ox inverse = negative_powers(op, x, n);
    return ox(op, "Where", below, inverse, powers);
}

/* x^n of floats. PyTorch takes a root where n is 0.5 or -0.5 and a number, not a tensor: of minus
 * infinity that is no number, of -0. a zero or an infinity with its sign, unlike of ONNX's Pow. Of
 * float16 it takes the power. */
static Ox float_to_power(Op *op, Ox x, Ox n)
{
    bool power = ox_ok(x) && ox_dtype(x) == DT_FLOAT16;
    if (!power && arg_is_number(op, "exponent", 0.5))
        return ox(op, "Sqrt", x);
    if (!power && arg_is_number(op, "exponent", -0.5))
        return inverse_root(op, x);
    return ox(op, "Pow", x, n);
}

/* Ints are multiplied: runtimes compute their Pow in double, which is not exact beyond 2^53 and
 * does not wrap around. */
static Ox lower_pow(Op *op)
{
    Ox x = arg(op, "self");
    Ox n = arg(op, "exponent");
    Value number = arg_value(op, "exponent");
    if (ox_ok(n) && op->common == DT_BOOL && number.tag == V_BOOL)
        return bool_power(op, x, n);
    if (!ox_ok(x) || !ox_ok(n) || !dtype_is_int(op->common))
        return float_to_power(op, x, n);
    if (number.tag == V_INT)
        return int_to_known(op, x, n, number.i);
    return dtype_is_signed(op->common) ? signed_powers(op, x, n) : int_powers(op, x, n);
}

/* Both as doubles, numbers without a detour through float32. */
static Ox lower_float_power(Op *op)
{
    Ox base = number_as(op, arg_value(op, "self"), DT_DOUBLE);
    Ox power = number_as(op, arg_value(op, "exponent"), DT_DOUBLE);
    return float_to_power(op, base, power);
}

/* x * 2^n of a float and a whole n, as C's ldexp: no step leaves the range of double that x * 2^n
 * itself does not leave. One power of 2 does for the range of float32, three for that of double. */
static Ox scaled_by_power(Op *op, Ox x, Ox n)
{
    int steps = ox_dtype(x) == DT_DOUBLE ? 3 : 1;
    Ox y = ox_cast(op->g, x, DT_DOUBLE);
    Ox rest = ox_cast(op->g, n, DT_DOUBLE);
    Ox two = number_like(op, 2, y);
    Ox least = number_like(op, -1000, y);
    Ox most = number_like(op, 1000, y);
    for (int k = 0; k < steps; k++) {
        Ox part = ox(op, "Clip", rest, least, most);
        y = ox(op, "Mul", y, ox(op, "Pow", two, part));
        if (k + 1 < steps)
            rest = ox(op, "Sub", rest, part);
    }
    return ox_ok(y) ? ox_cast(op->g, y, ox_dtype(x)) : POISON;
}

/* self * 2^other. Since 2.13 PyTorch scales floats by whole numbers in their own type. Before, and
 * of other types still, it is a product with a power, each step in the type that PyTorch computes
 * it in: of float16 and an int a float32, which an older .pt2 has recorded. */
static Value lower_ldexp(Op *op)
{
    Ox x = arg(op, "self");
    Ox n = arg(op, "other");
    bool whole = ox_ok(x) && ox_ok(n) && dtype_is_float(ox_dtype(x)) && dtype_is_int(ox_dtype(n));
    Type record = op->n_expect == 1 ? op->expect[0] : NULL;
    if (whole && (!record || record->dtype == ox_dtype(x)))
        return val_tensor(op->cx, scaled_by_power(op, x, n));
    Value two[] = { val_float(2), arg_value(op, "other") };
    Value product[] = { arg_value(op, "self"), call_op(op, "aten::pow", two, 2) };
    return call_op(op, "aten::mul", product, 2);
}

/* ---- the parts of a float ---- */

/* frexp in double, where a float32's exponent never leaves the normal range. floor(log2 |x|) can be
 * off by one; the mantissa is outside of [1/2, 1) then, and is corrected. x is divided by 2^e in
 * two steps, because 2^e is out of range for the smallest doubles. */
static Value lower_frexp(Op *op)
{
    Ox self = arg(op, "self");
    Ox x = ox_ok(self) ? ox_cast(op->g, self, DT_DOUBLE) : POISON;
    Ox zero = number_like(op, 0, x);
    Ox one = number_like(op, 1, x);
    Ox half = number_like(op, 0.5, x);
    Ox two = number_like(op, 2, x);
    Ox ends = ox(op, "Equal", x, zero);
    Ox infinite = ox(op, "IsInf", x);
    Ox nan = ox(op, "IsNaN", x);
    Ox odd = ox(op, "Or", infinite, nan);
    Ox plain = ox(op, "Or", ends, odd);
    Ox size = ox(op, "Abs", ox(op, "Where", plain, one, x));
    Ox ln2 = number_like(op, 0.69314718055994530942, x);
    Ox low = ox(op, "Floor", ox(op, "Div", ox(op, "Log", size), ln2));
    Ox e = ox(op, "Add", low, one);
    Ox e1 = ox(op, "Floor", ox(op, "Mul", e, half));
    Ox e2 = ox(op, "Sub", e, e1);
    Ox p1 = ox(op, "Pow", two, e1);
    Ox p2 = ox(op, "Pow", two, e2);
    Ox m = ox(op, "Div", ox(op, "Div", x, p1), p2);
    Ox part = ox(op, "Abs", m);
    Ox large = ox(op, "GreaterOrEqual", part, one);
    Ox small = ox(op, "Less", part, half);
    Ox halved = ox(op, "Mul", m, half);
    Ox doubled = ox(op, "Mul", m, two);
    Ox up = ox(op, "Add", e, one);
    Ox down = ox(op, "Sub", e, one);
    m = ox(op, "Where", large, halved, ox(op, "Where", small, doubled, m));
    e = ox(op, "Where", large, up, ox(op, "Where", small, down, e));
    m = ox(op, "Where", plain, x, m);
    e = ox(op, "Where", plain, zero, e);
    Ox out[2] = { ox_ok(m) ? ox_cast(op->g, m, ox_dtype(self)) : POISON,
                  ox_cast(op->g, e, DT_INT32) };
    return result_tuple(op, out, 2);
}

/* A float type: its significant bits, the exponent of its least normal number, its largest number,
 * and the type in which it is computed. */
typedef struct FloatFormat {
    DType in;
    int bits, least_exponent;
    double most;
} FloatFormat;

static FloatFormat float_format(DType t)
{
    switch (t) {
    case DT_DOUBLE:  return (FloatFormat){ t, 53, -1022, DBL_MAX };
    case DT_FLOAT:   return (FloatFormat){ t, 24, -126, FLT_MAX };
    case DT_FLOAT16: return (FloatFormat){ DT_FLOAT, 11, -14, 65504 };
    default:         return (FloatFormat){ DT_FLOAT, 8, -126, 0x1.fep127 }; /* bfloat16 */
    }
}

/* The number after x (up) or before it. Adding a little more than |x| * 2^-bits, which is between
 * half and one and a half of the distance to the next number on either side, rounds to that number.
 * Numbers below 2 * least_normal all have the same distance; numbers a little above are scaled
 * first, because the step would lose its own bits. */
static Ox stepped(Op *op, Ox x, Ox up, FloatFormat s)
{
    double least = ldexp(1, s.least_exponent - s.bits + 1);
    Ox size = ox(op, "Abs", x);
    Ox low = ox(op, "Less", size, number_like(op, ldexp(1, s.least_exponent + 2 * s.bits), x));
    Ox far = number_like(op, ldexp(1, 2 * s.bits), x);
    Ox near = number_like(op, ldexp(1, -2 * s.bits), x);
    Ox one = number_like(op, 1, x);
    Ox by = ox(op, "Where", low, far, one);
    Ox back = ox(op, "Where", low, near, one);
    Ox scaled = ox(op, "Mul", x, by);
    Ox step = ox(op, "Mul", ox(op, "Abs", scaled),
                 number_like(op, ldexp(1, -s.bits) * (1 + ldexp(2, -s.bits)), x));
    Ox signed_step = ox(op, "Where", up, step, ox(op, "Neg", step));
    Ox next = ox(op, "Mul", ox(op, "Add", scaled, signed_step), back);
    Ox tiny = ox(op, "Where", up, number_like(op, least, x), number_like(op, -least, x));
    Ox from_tiny = ox(op, "Add", x, tiny);
    Ox evenly = ox(op, "Less", size, number_like(op, ldexp(1, s.least_exponent + 1), x));
    return ox(op, "Where", evenly, from_tiny, next);
}

/* The next float16 or bfloat16, computed in float32: the step is between a half and a whole of
 * the distance to it, and the cast rounds to it. */
static Ox stepped_half(Op *op, Ox x, Ox up, FloatFormat s)
{
    Ox size = ox(op, "Abs", x);
    Ox part = ox(op, "Mul", size, number_like(op, ldexp(1, -s.bits) * 1.00390625, x));
    Ox least = number_like(op, ldexp(1, s.least_exponent - s.bits + 1), x);
    Ox step = ox(op, "Max", part, least);
    return ox(op, "Add", x, ox(op, "Where", up, step, ox(op, "Neg", step)));
}

/* nextafter(x, y) by rounding. Special cases last, so that they win: from infinity to the largest
 * number, to zero with x's sign, y itself when they are equal, NaN of NaN. */
static Ox next_by_rounding(Op *op, Ox x, Ox y)
{
    DType t = op->common;
    bool half = t == DT_FLOAT16 || t == DT_BFLOAT16;
    FloatFormat s = float_format(t);
    Ox a = ox_cast(op->g, x, s.in);
    Ox b = ox_cast(op->g, y, s.in);
    Ox up = ox(op, "Less", a, b);
    Ox infinite = ox(op, "IsInf", a);
    Ox next = half ? stepped_half(op, a, up, s) : stepped(op, a, up, s);
    Ox zero = number_like(op, 0, a);
    next = ox_ok(next) ? ox_cast(op->g, next, t) : POISON;
    Ox none = ox(op, "Equal", next, number_like(op, 0, x));
    Ox signed_zero = ox(op, "Mul", x, number_like(op, 0, x));
    next = ox(op, "Where", none, signed_zero, next);
    Ox largest = ox(op, "Where", ox(op, "Less", a, zero), number_like(op, -s.most, x),
                    number_like(op, s.most, x));
    next = ox(op, "Where", infinite, largest, next);
    Ox same = ox(op, "Equal", a, b);
    Ox nan = ox(op, "IsNaN", a);
    Ox nan_y = ox(op, "IsNaN", b);
    Ox undefined = ox(op, "Or", nan, nan_y);
    next = ox(op, "Where", same, y, next);
    return ox(op, "Where", undefined, number_like(op, NAN, x), next);
}

/* nextafter of float32 and float64 by their bits: the next number is the next integer of the same
 * bits, away from zero or towards it. */
static Ox next_by_bits(Op *op, Ox x, Ox y)
{
    bool is_double = op->common == DT_DOUBLE;
    DType whole = is_double ? DT_INT64 : DT_INT32;
    Ox bits = ox_with(op, "BitCast", INPUTS(x), INT("to", whole));
    Ox one = number_like(op, 1, bits);
    Ox zero = number_like(op, 0, x);
    Ox rising = ox(op, "Less", x, y);
    Ox positive = ox(op, "Greater", x, zero);
    Ox differ = ox(op, "Xor", rising, positive);
    Ox up = ox(op, "Add", bits, one);
    Ox down = ox(op, "Sub", bits, one);
    Ox moved = ox(op, "Where", differ, down, up);
    Ox next = ox_with(op, "BitCast", INPUTS(moved), INT("to", op->common));
    Ox least = number_like(op, is_double ? 4.94065645841246544e-324 : 1.40129846432481707e-45, x);
    Ox minus = number_like(op, is_double ? -4.94065645841246544e-324 : -1.40129846432481707e-45, x);
    Ox from_zero = ox(op, "Where", rising, least, minus);
    Ox at_zero = ox(op, "Equal", x, zero);
    Ox same = ox(op, "Equal", x, y);
    next = ox(op, "Where", at_zero, from_zero, next);
    next = ox(op, "Where", same, y, next);
    Ox sum = ox(op, "Add", x, y);
    Ox nan = ox(op, "IsNaN", sum);
    Ox no_number = number_like(op, NAN, x);
    Ox infinite = ox(op, "IsInf", y);
    Ox undefined = ox(op, "And", nan, ox(op, "Not", infinite));
    return ox(op, "Where", undefined, no_number, next);
}

/* By bits where ONNX has BitCast, from opset 26 on; else by rounding. */
static Ox lower_nextafter(Op *op)
{
    Ox x = arg(op, "self");
    Ox y = arg(op, "other");
    if (!ox_ok(x) || !ox_ok(y))
        return POISON;
    if (!need_kernel(op, "nextafter_cpu", op->common, dtype_is_float(op->common)))
        return POISON;
    bool has_bits = op->common == DT_DOUBLE || op->common == DT_FLOAT;
    if (op->g->target >= 26 && has_bits)
        return next_by_bits(op, x, y);
    return next_by_rounding(op, x, y);
}

/* ---- greatest common divisors ---- */

/* Euclid's loop for all elements at once: (a, b) becomes (b, a mod b) where b is not 0, as long as
 * any b is not. */
static bool gcd_body(Op *op, Graph *body, Type t)
{
    Ctx *cx = op->cx;
    graph_input(body, NULL, type_tensor(cx, DT_INT64, 0, NULL));
    graph_input(body, NULL, type_tensor(cx, DT_BOOL, 0, NULL));
    Ox a = graph_input(body, NULL, t);
    Ox b = graph_input(body, NULL, t);
    Ox zero = ox_integer(body, t->dtype, 0);
    Ox one = ox_integer(body, t->dtype, 1);
    Ox done = ox_g(body, "Equal", b, zero);
    Ox divisor = ox_g(body, "Where", done, one, b);
    Ox rest = ox_g(body, "Mod", a, divisor);
    Ox next_a = ox_g(body, "Where", done, a, b);
    Ox next_b = ox_g(body, "Where", done, zero, rest);
    Ox left = ox_g(body, "Not", ox_g(body, "Equal", next_b, zero));
    Ox counted = ox_cast(body, left, DT_INT64);
    Ox sum = ox_g_with(body, "ReduceSum", INPUTS(counted), INT("keepdims", 0));
    Ox more = ox_cast(body, sum, DT_BOOL); /* of nothing it is 0 */
    graph_output(body, more, NULL);
    graph_output(body, next_a, NULL);
    graph_output(body, next_b, NULL);
    return ox_ok(more) && ox_ok(next_a) && ox_ok(next_b);
}

/* The greatest common divisor, by Euclid's algorithm in a Loop, of non-negative int64 numbers;
 * both operands are brought to their common shape first. */
static Ox gcd_of(Op *op, Ox a, Ox b)
{
    Graph *body = graph_new(op->cx, op->g, NULL);
    Ox zeros = ox(op, "Sub", a, a);
    Ox zeros_b = ox(op, "Sub", b, b);
    Ox x = ox(op, "Add", a, zeros_b);
    Ox y = ox(op, "Add", b, zeros);
    Ox out[2];
    if (!ox_ok(x) || !ox_ok(y) || !gcd_body(op, body, x->type))
        return POISON;
    Attr loop = SUBGRAPH("body", body);
    Ox start = ox_bool(op->g, true);
    return ox_make_n(op->g, "Loop", INPUTS(NULL, start, x, y), &loop, 1, out, 2) ? out[0] : POISON;
}

/* gcd, and lcm (row->datum 1), which is |a / gcd * b|, and 0 where both are 0. */
static Ox lower_gcd(Op *op)
{
    Ox a = arg(op, "self");
    Ox b = arg(op, "other");
    if (!ox_ok(a) || !ox_ok(b))
        return POISON;
    const char *kernel = op->row->datum ? "lcm_cpu" : "gcd_cpu";
    if (!need_kernel(op, kernel, op->common, dtype_is_int(op->common)))
        return POISON;
    a = ox_cast(op->g, a, DT_INT64);
    b = ox_cast(op->g, b, DT_INT64);
    Ox size_a = ox(op, "Abs", a);
    Ox size_b = ox(op, "Abs", b);
    Ox out = gcd_of(op, size_a, size_b);
    if (op->row->datum) {
        Ox zero = number_like(op, 0, out);
        Ox one = number_like(op, 1, out);
        Ox none = ox(op, "Equal", out, zero);
        Ox by = ox(op, "Where", none, one, out);
        Ox quotient = ox(op, "Div", a, by);
        out = ox(op, "Abs", ox(op, "Mul", quotient, b));
    }
    return ox_cast(op->g, out, op->common);
}

/* ---- all elements at once ---- */

/* Are all elements of a bool tensor true? A bool that the model computes. */
static Value all_true(Op *op, Value v)
{
    Value every = val_ok(v) ? call_op(op, "aten::all", &v, 1) : v;
    return every.tag == V_TENSOR ? val_symbool(op->cx, tensor_read(op->g, every.t)) : val_poison();
}

/* Are both tensors of one shape and equal? Known during the conversion only when the shapes
 * differ. */
static Value lower_equal(Op *op)
{
    Ox a = arg(op, "self");
    Ox b = arg(op, "other");
    if (!ox_ok(a) || !ox_ok(b))
        return val_poison();
    if (ox_rank(a) < 0 || ox_rank(b) < 0)
        return val_tensor(op->cx, op_refuse(op, "of tensors whose rank is not known"));
    if (ox_rank(a) != ox_rank(b))
        return val_bool(false);
    for (int i = 0; i < ox_rank(a); i++)
        switch (dim_eq(op->cx, ox_dim(a, i), ox_dim(b, i))) {
        case NO:  return val_bool(false);
        case YES: break;
        default:
            return val_tensor(
                op->cx,
                op_refuse(op, "whether dimension %d of both is equal is not known: %s and %s", i,
                          dim_text(op->cx, ox_dim(a, i))->s, dim_text(op->cx, ox_dim(b, i))->s));
        }
    return all_true(
        op, call_op(op, "aten::eq", (Value[]){ arg_value(op, "self"), arg_value(op, "other") }, 2));
}

static Value lower_allclose(Op *op)
{
    return all_true(op, call_op(op, "aten::isclose", op->call->arg, 5));
}

/* ---- activations ---- */

/* The bounds take self's type; those of an int tensor lose their fractions. */
static Ox lower_hardtanh(Op *op)
{
    Ox x = arg(op, "self");
    double low = arg_float(op, "min_val");
    double high = arg_float(op, "max_val");
    if (!ox_ok(x) || ctx_failed(op->cx))
        return POISON;
    if (dtype_is_int(ox_dtype(x))) {
        low = trunc(low);
        high = trunc(high);
    }
    Ox least = number_like(op, low, x);
    Ox most = number_like(op, high, x);
    return ox(op, "Clip", x, least, most);
}

/* A slope for each element of x, drawn between low and high. */
static Ox drawn_slopes(Op *op, Ox x, double low, double high)
{
    const Attr range[] = { FLOAT("low", low), FLOAT("high", high) };
    bool wide = ox_dtype(x) == DT_BFLOAT16; /* which ONNX does not draw */
    Ox like = wide ? ox_cast(op->g, x, DT_FLOAT) : x;
    Ox slope = ox_make(op->g, "RandomUniformLike", INPUTS(like), range, 2);
    return ox_cast(op->g, slope, ox_dtype(x));
}

/* In evaluation the slope is the middle of its range; in training it is drawn for each element. A
 * LeakyRelu holds its slope as a float32. */
static Ox lower_rrelu(Op *op)
{
    Ox x = arg(op, "self");
    double low = arg_float(op, "lower");
    double high = arg_float(op, "upper");
    double middle = (low + high) / 2;
    bool drawn = arg_bool(op, "training");
    if (!ox_ok(x))
        return POISON;
    if (!drawn && ox_dtype(x) != DT_DOUBLE)
        return ox_with(op, "LeakyRelu", INPUTS(x), FLOAT("alpha", middle));
    Ox slope = drawn ? drawn_slopes(op, x, low, high) : number_like(op, middle, x);
    Ox negative = ox(op, "Less", x, number_like(op, 0, x));
    return ox(op, "Where", negative, ox(op, "Mul", x, slope), x);
}

/* What functionalization makes of it. The noise is written in training only, for a gradient. */
static Value lower_rrelu_with_noise(Op *op)
{
    Value out[] = { val_tensor(op->cx, lower_rrelu(op)), val_none() };
    if (!arg_bool(op, "training"))
        out[1] = val_tensor(op->cx, arg(op, "noise"));
    return val_tuple(op->cx, out, 2);
}

static Value lower_log_sigmoid_forward(Op *op)
{
    Ox x = arg(op, "self");
    Ox less = ox(op, "Neg", x);
    Ox soft = ox(op, "Softplus", less);
    Ox size = ox(op, "Abs", x);
    Ox out[2];
    out[0] = ox(op, "Neg", soft);
    out[1] = ox(op, "Exp", ox(op, "Neg", size)); /* what the backward pass wants */
    return result_tuple(op, out, 2);
}

/* One slope a channel, axis 1. */
/* Is the slope one number, or one for each channel? False after PyTorch's error. */
static bool slopes_fit(Op *op, Ox x, Ox slope)
{
    Dim channels = ox_rank(x) > 1 ? ox_dim(x, 1) : dim_int(op->cx, 1);
    Dim slopes = type_numel(op->cx, slope->type);
    if (ox_rank(slope) > 1)
        return fail(op->cx, E_VALUE,
                    "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = %d",
                    ox_rank(slope));
    return !surely_differ(op, slopes, dim_int(op->cx, 1)) || !surely_differ(op, slopes, channels) ||
        fail(op->cx, E_VALUE,
             "Mismatch of parameter numbers and input channel size. Found parameter numbers = %s, "
             "and channel size = %s.",
             dim_text(op->cx, slopes)->s, dim_text(op->cx, channels)->s);
}

/* PRelu; its slopes, one a channel, stand along axis 1. */
static Ox lower_prelu(Op *op)
{
    Ox x = arg(op, "self");
    Ox slope = arg(op, "weight");
    int rank, slope_rank;
    if (!need_rank(op, x, 4, &rank) || !need_rank(op, slope, 1, &slope_rank))
        return POISON;
    if (str_is(op->call->schema->name, "aten::prelu") && !slopes_fit(op, x, slope))
        return POISON;
    if (rank > 2 && slope_rank == 1 && !dim_is(ox_dim(slope, 0), 1)) {
        int64_t axes[MAX_RANK];
        for (int i = 0; i < rank - 2; i++)
            axes[i] = i + 1;
        Ox at = ox_ints(op->g, axes, (size_t)rank - 2);
        slope = ox(op, "Unsqueeze", slope, at);
    }
    if (rank == 0 && slope_rank == 1) /* one slope: ONNX wants no more dimensions than x has */
        slope = reshape_to(op, slope, NULL, 0);
    return ox(op, "PRelu", x, slope);
}

/* x with the number `name`, or deflt where it is not given, at the places `where`. */
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
    Ox nan = ox(op, "IsNaN", x);
    Ox up = ox_with(op, "IsInf", INPUTS(x), INT("detect_negative", 0));
    Ox down = ox_with(op, "IsInf", INPUTS(x), INT("detect_positive", 0));
    x = replaced(op, x, nan, "nan", 0);
    double most = float_format(ox_dtype(x)).most;
    x = replaced(op, x, up, "posinf", most);
    return replaced(op, x, down, "neginf", -most);
}

static Ox lower_round_decimals(Op *op)
{
    Ox x = arg(op, "self");
    Ox exact = widened(op, x);
    int64_t decimals = arg_int(op, "decimals");
    Ox by = number_like(op, pow(10, fabs((double)decimals)), exact);
    Ox up = ox(op, decimals < 0 ? "Div" : "Mul", exact, by);
    Ox whole = ox(op, "Round", up);
    Ox back = ox(op, decimals < 0 ? "Mul" : "Div", whole, by);
    return ox_ok(x) ? ox_cast(op->g, back, ox_dtype(x)) : POISON;
}

#define BOTH "default(self, other)"
/* glu: one half times the sigmoid of the other. */
static Ox lower_glu(Op *op)
{
    Ox half[2], x = arg(op, "self");
    int rank, axis;
    int64_t size;
    if (!need_rank(op, x, -1, &rank) || !arg_dim(op, "dim", rank, &axis))
        return POISON;
    if (rank == 0)
        return op_fail(op, E_VALUE, "glu does not support 0-dimensional tensors");
    if (dim_known(ox_dim(x, axis), &size) && size % 2)
        return op_fail(op, E_VALUE, "Halving dimension must be even, but dimension %d is size %lld",
                       axis, (long long)size);
    if (!ox_make_n(op->g, "Split", INPUTS(x), ATTRS(INT("axis", axis), INT("num_outputs", 2)), half,
                   2))
        return POISON;
    return ox(op, "Mul", half[0], ox(op, "Sigmoid", half[1]));
}

/* Has argument `name` self's type? PyTorch promotes none of lerp's tensors. */
static bool has_type_of_self(Op *op, Ox self, Ox x, const char *name)
{
    return ox_dtype(x) == ox_dtype(self) ||
        fail(op->cx, E_VALUE, "expected dtype %s for `%s` but got dtype %s",
             dtype_name(ox_dtype(self)), name, dtype_name(ox_dtype(x)));
}

/* self + weight (end - self), from a known weight of 0.5 on end - (end - self) (1 - weight), as
 * PyTorch computes it: that is what it makes of infinities, and exactly end at 1. */
static Ox lerp_by(Op *op, Ox a, Ox b, Ox by)
{
    double weight;
    Ox away = ox(op, "Sub", b, a);
    if (!ox_ok(by) || !ox_known_scalar(op->g, by, &weight) || fabs(weight) < 0.5)
        return ox(op, "Add", a, ox(op, "Mul", by, away));
    Ox one = number_like(op, 1, by);
    Ox rest = ox(op, "Sub", one, by);
    return ox(op, "Sub", b, ox(op, "Mul", away, rest));
}

/* A weight without dimensions is a number, whatever its type. */
static Ox lower_lerp(Op *op)
{
    Ox a = arg(op, "self");
    Ox b = arg(op, "end");
    Value weight = arg_value(op, "weight");
    if (!ox_ok(a) || !ox_ok(b) || !has_type_of_self(op, a, b, "end"))
        return POISON;
    bool number = weight.tag != V_TENSOR || arg_rank(op, "weight") == 0;
    Ox by = number ? number_as(op, weight, ox_dtype(a)) : arg(op, "weight");
    if (!ox_ok(by) || !has_type_of_self(op, a, by, "weight"))
        return POISON;
    const char *kernel = number ? "lerp_kernel_scalar" : "lerp_kernel_tensor";
    bool has = dtype_is_float(ox_dtype(a)) || dtype_is_complex(ox_dtype(a));
    if (!need_kernel(op, kernel, ox_dtype(a), has))
        return POISON;
    return lerp_by(op, a, b, by);
}

/* uint8 stands for bool, as in masks of old programs. */
static Ox lower_where(Op *op)
{
    Ox condition = arg_typed(op, "condition", DT_BOOL);
    Ox x = arg(op, "self");
    Ox other = arg(op, "other");
    DType t = ox_dtype(condition);
    if (ox_ok(condition) && t != DT_BOOL && t != DT_UINT8)
        return op_fail(op, E_VALUE,
                       "where expected condition to be a boolean tensor, but got a tensor with "
                       "dtype %s",
                       torch_dtype_name(t));
    return ox(op, "Where", ox_cast(op->g, condition, DT_BOOL), x, other);
}

OP_ROWS(pointwise)
{
    LOWER(lower_where, "default(self, other)", PLAIN,
          "aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor");
    OLDER("aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor");
    OLDER("aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor");
    OLDER("aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor");
    LOWER(lower_lerp, NULL, PLAIN,
          "aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor");
    LOWER(lower_lerp, NULL, PLAIN,
          "aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor");
    LOWER(lower_glu, NULL, PLAIN, "aten::glu(Tensor self, int dim=-1) -> Tensor");
    LOWER(lower_rsqrt, "int-to-float(self)", PLAIN, "aten::rsqrt(Tensor self) -> Tensor");
    LOWER(lower_floor_divide, BOTH, PLAIN,
          "aten::floor_divide(Tensor self, Tensor other) -> Tensor");
    OLDER("aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor");
    LOWER(lower_floor_divide, BOTH, PLAIN, "aten::floordiv(Tensor self, Scalar other) -> Tensor");
    OLDER("aten::floordiv.Tensor(Tensor self, Tensor other) -> Tensor");
    LOWER(lower_div_mode, BOTH, PLAIN,
          "aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor");
    OLDER("aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor");
    LOWER(
        lower_div_mode, BOTH, PLAIN,
        "upgrade::div_0_3.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor");
    OLDER(
        "upgrade::div_0_3.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor");
    LOWER(lower_fmod, BOTH, PLAIN, "aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor");
    OLDER("aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor");
    LOWER(lower_remainder, BOTH, PLAIN,
          "aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor");
    OLDER("aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor");
    OLDER("aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor");
    FAMILY(lower_shift, 0, BOTH, PLAIN,
           "aten::bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor");
    OLDER("aten::bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor");
    OLDER("aten::bitwise_left_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor");
    FAMILY(lower_shift, 0, BOTH, PLAIN,
           "aten::__lshift__.Tensor(Tensor self, Tensor other) -> Tensor");
    OLDER("aten::__lshift__.Scalar(Tensor self, Scalar other) -> Tensor");
    FAMILY(lower_shift, 1, BOTH, PLAIN,
           "aten::bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor");
    OLDER("aten::bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor");
    OLDER("aten::bitwise_right_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor");
    FAMILY(lower_shift, 1, BOTH, PLAIN,
           "aten::__rshift__.Tensor(Tensor self, Tensor other) -> Tensor");
    OLDER("aten::__rshift__.Scalar(Tensor self, Scalar other) -> Tensor");
    LOWER(lower_pow, "default(self, exponent)", PLAIN,
          "aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor");
    OLDER("aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor");
    OLDER("aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor");
    LOWER(lower_float_power, NULL, PLAIN,
          "aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor");
    OLDER("aten::float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor");
    OLDER("aten::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor");
    CALL(lower_ldexp, NULL, PLAIN, "aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor");
    CALL(lower_frexp, NULL, PLAIN,
         "aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)");
    LOWER(lower_nextafter, BOTH, PLAIN, "aten::nextafter(Tensor self, Tensor other) -> Tensor");
    FAMILY(lower_gcd, 0, BOTH, PLAIN, "aten::gcd(Tensor self, Tensor other) -> Tensor");
    FAMILY(lower_gcd, 1, BOTH, PLAIN, "aten::lcm(Tensor self, Tensor other) -> Tensor");
    CALL(lower_equal, NULL, PLAIN, "aten::equal(Tensor self, Tensor other) -> bool");
    CALL(lower_allclose, NULL, PLAIN,
         "aten::allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool "
         "equal_nan=False) -> bool");
    LOWER(lower_hardtanh, NULL, PLAIN,
          "aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
          .derivative = "self = Where(And(Greater(self, min_val), Less(self, max_val)), grad, "
                        "like(0, grad))");
    LOWER(lower_rrelu, NULL, PLAIN,
          "aten::rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool "
          "training=False, Generator? generator=None) -> Tensor",
          .layout = LAYOUT_CONTIGUOUS);
    CALL(lower_rrelu_with_noise, NULL, PLAIN,
         "aten::rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar "
         "upper=0.33333333333333331, bool training=False, Generator? generator=None) -> (Tensor, "
         "Tensor noise_out)",
         .layout = LAYOUT_CONTIGUOUS);
    CALL(lower_log_sigmoid_forward, NULL, PLAIN,
         "aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)",
         .layout = LAYOUT_CONTIGUOUS);
    LOWER(lower_prelu, NULL, PLAIN, "aten::prelu(Tensor self, Tensor weight) -> Tensor");
    LOWER(lower_prelu, NULL, PLAIN, "aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor");
    LOWER(lower_nan_to_num, NULL, PLAIN,
          "aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) "
          "-> Tensor");
    LOWER(lower_round_decimals, NULL, PLAIN,
          "aten::round.decimals(Tensor self, *, int decimals) -> Tensor");
    LOWER(lower_round_decimals, NULL, PLAIN,
          "aten::special_round(Tensor self, *, int decimals=0) -> Tensor");
}
