/* builtin_math.c - the functions of Python's math module, on numbers. Of a float that only the
 * running model knows: a node in double, or what the operator on tensors gives. */
#include <math.h>
#include <string.h>

#include "eval/builtin/builtin.h"

/* ---- functions of one float ---- */

typedef enum {
    F_SQRT,
    F_EXP,
    F_LOG,
    F_LOG10,
    F_LOG1P,
    F_EXPM1,
    F_SIN,
    F_COS,
    F_TAN,
    F_ASIN,
    F_ACOS,
    F_ATAN,
    F_SINH,
    F_COSH,
    F_TANH,
    F_ASINH,
    F_ACOSH,
    F_ATANH,
    F_GAMMA,
    F_LGAMMA,
    F_ERF,
    F_ERFC,
    F_FABS,
    F_DEGREES,
    F_RADIANS
} Unary;

/* One case for each function of a number. */
static double unary_of(Unary f, double x)
{
    const double pi = 3.14159265358979323846;
    switch (f) {
    case F_SQRT:    return sqrt(x);
    case F_EXP:     return exp(x);
    case F_LOG:     return log(x);
    case F_LOG10:   return log10(x);
    case F_LOG1P:   return log1p(x);
    case F_EXPM1:   return expm1(x);
    case F_SIN:     return sin(x);
    case F_COS:     return cos(x);
    case F_TAN:     return tan(x);
    case F_ASIN:    return asin(x);
    case F_ACOS:    return acos(x);
    case F_ATAN:    return atan(x);
    case F_SINH:    return sinh(x);
    case F_COSH:    return cosh(x);
    case F_TANH:    return tanh(x);
    case F_ASINH:   return asinh(x);
    case F_ACOSH:   return acosh(x);
    case F_ATANH:   return atanh(x);
    case F_GAMMA:   return tgamma(x);
    case F_LGAMMA:  return lgamma(x);
    case F_ERF:     return erf(x);
    case F_ERFC:    return erfc(x);
    case F_FABS:    return fabs(x);
    case F_DEGREES: return x * (180 / pi);
    case F_RADIANS: return x * (pi / 180);
    }
    return x;
}

/* text: the operator of ONNX, or on tensors, where there is one */
static bool unary(Builtin *b, Value *out)
{
    Value v = b->arg[0].v;
    if (is_real(v)) {
        *out = val_float(unary_of((Unary)b->row->datum, real_of(v)));
        return true;
    }
    if (!b->row->text)
        return fail(b->cx, E_UNSUPPORTED, "%s of a number that is only known when the model runs",
                    b->row->name);
    if (strchr(b->row->text, ':'))
        return float_of_operator(b, b->row->text, out);
    return give_ox(b, ox_g(b->g, b->row->text, double_of(b->g, v)), out);
}

typedef enum { IS_NAN, IS_INF, IS_FINITE } FloatTest;

static bool float_test(Builtin *b, Value *out)
{
    Value v = b->arg[0].v;
    double x = v.tag == V_COMPLEX ? v.c[0] : real_of(v);
    double y = v.tag == V_COMPLEX ? v.c[1] : 0;
    switch ((FloatTest)b->row->datum) {
    case IS_NAN:    *out = val_bool(isnan(x) || isnan(y)); break;
    case IS_INF:    *out = val_bool(isinf(x) || isinf(y)); break;
    case IS_FINITE: *out = val_bool(isfinite(x) && isfinite(y)); break;
    }
    return true;
}

/* ---- functions of ints ---- */

static bool gcd(Builtin *b, Value *out)
{
    if (any_symbolic(b))
        return int_of_operator(b, b->row->name, out);
    uint64_t x = (uint64_t)b->arg[0].v.i;
    uint64_t y = (uint64_t)b->arg[1].v.i;
    x = b->arg[0].v.i < 0 ? 0 - x : x;
    y = b->arg[1].v.i < 0 ? 0 - y : y;
    while (y) {
        uint64_t r = x % y;
        x = y;
        y = r;
    }
    *out = val_int((int64_t)x);
    return true;
}

static bool factorial(Builtin *b, Value *out)
{
    int64_t n = b->arg[0].v.i;
    uint64_t product = 1;
    if (n < 0)
        return builtin_fail(b, "factorial() of a negative number");
    if (n > INT32_MAX)
        return builtin_fail(b, "factorial() of a number of more than 32 bits");
    for (int64_t i = 2; i <= n && product != 0; i++) /* wraps, as PyTorch's; 0 from 66 on */
        product *= (uint64_t)i;
    *out = val_int((int64_t)product);
    return true;
}

/* x * 2^e, of whose e PyTorch takes the lower 32 bits. */
static bool ldexp_number(Builtin *b, Value *out)
{
    if (!is_real(b->arg[0].v) || !is_real(b->arg[1].v))
        return float_of_operator(b, b->row->name, out);
    int32_t e = (int32_t)(uint32_t)b->arg[1].v.i;
    *out = val_float(ldexp(real_of(b->arg[0].v), e));
    return true;
}

/* frexp of a float that the running model knows: a float and an int. */
static bool frexp_of_nodes(Builtin *b, Value *out)
{
    OpArg arg = { .v = val_tensor(b->cx, double_of(b->g, b->arg[0].v)) };
    Value made = op_call(b->g, str_of(b->cx, b->row->name), NULL, &arg, 1, NULL, 0);
    if (made.tag != V_TUPLE)
        return !ctx_failed(b->cx);
    Value both[2];
    Ox exponent = ox_cast(b->g, tensor_read(b->g, made.tuple->at[1].t), DT_INT64);
    if (!give_ox(b, tensor_read(b->g, made.tuple->at[0].t), &both[0]) ||
        !give_ox(b, exponent, &both[1]))
        return false;
    *out = val_tuple(b->cx, both, 2);
    return true;
}

static bool frexp_number(Builtin *b, Value *out)
{
    if (!is_real(b->arg[0].v))
        return frexp_of_nodes(b, out);
    int e = 0;
    Value both[2] = { val_float(frexp(real_of(b->arg[0].v), &e)) };
    both[1] = val_int(e);
    *out = val_tuple(b->cx, both, 2);
    return true;
}

static bool modf_number(Builtin *b, Value *out)
{
    double whole;
    Value both[2] = { val_float(modf(real_of(b->arg[0].v), &whole)) };
    both[1] = val_float(whole);
    *out = val_tuple(b->cx, both, 2);
    return true;
}

static bool polar(Builtin *b, Value *out)
{
    double r = real_of(b->arg[0].v);
    double angle = real_of(b->arg[1].v);
    *out = val_complex(b->cx, r * cos(angle), r * sin(angle));
    return true;
}

static bool angle(Builtin *b, Value *out)
{
    const double pi = 3.14159265358979323846;
    Value v = b->arg[0].v;
    if (v.tag == V_COMPLEX)
        *out = val_float(atan2(v.c[1], v.c[0]));
    else
        *out = val_float(signbit(real_of(v)) ? pi : 0); /* as std::arg: of -0 and of NaN too */
    return true;
}

#define FN(word, f, onnx) \
    { .name = "aten::" word, .kinds = "n", .fn = unary, .datum = f, .text = onnx }

const BuiltinRow builtin_math[] = {
    FN("sqrt", F_SQRT, "Sqrt"),
    FN("exp", F_EXP, "Exp"),
    FN("log", F_LOG, "Log"),
    FN("log10", F_LOG10, "aten::log10"),
    FN("log1p", F_LOG1P, "aten::log1p"),
    FN("expm1", F_EXPM1, "aten::expm1"),
    FN("sin", F_SIN, "Sin"),
    FN("cos", F_COS, "Cos"),
    FN("tan", F_TAN, "Tan"),
    FN("asin", F_ASIN, "Asin"),
    FN("acos", F_ACOS, "Acos"),
    FN("atan", F_ATAN, "Atan"),
    FN("sinh", F_SINH, "Sinh"),
    FN("cosh", F_COSH, "Cosh"),
    FN("tanh", F_TANH, "Tanh"),
    FN("asinh", F_ASINH, "Asinh"),
    FN("acosh", F_ACOSH, "Acosh"),
    FN("atanh", F_ATANH, "Atanh"),
    FN("gamma", F_GAMMA, NULL),
    FN("lgamma", F_LGAMMA, "aten::lgamma"),
    FN("erf", F_ERF, "Erf"),
    FN("erfc", F_ERFC, "aten::erfc"),
    FN("fabs", F_FABS, "Abs"),
    FN("degrees", F_DEGREES, "aten::rad2deg"),
    FN("radians", F_RADIANS, "aten::deg2rad"),
    { .name = "aten::isnan", .kinds = "C", .fn = float_test, .datum = IS_NAN },
    { .name = "aten::isinf", .kinds = "C", .fn = float_test, .datum = IS_INF },
    { .name = "aten::isfinite", .kinds = "C", .fn = float_test, .datum = IS_FINITE },
    { .name = "aten::gcd", .kinds = "ii", .fn = gcd },
    { .name = "aten::factorial", .kinds = "I", .fn = factorial },
    { .name = "aten::ldexp", .kinds = "ni", .fn = ldexp_number },
    { .name = "aten::frexp", .kinds = "n", .fn = frexp_number },
    { .name = "aten::modf", .kinds = "N", .fn = modf_number },
    { .name = "aten::polar", .kinds = "NN", .fn = polar },
    { .name = "aten::angle", .kinds = "C", .fn = angle },
    { 0 }
};
