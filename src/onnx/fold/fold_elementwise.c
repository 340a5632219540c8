/* fold_elementwise.c - the value of operators that work item by item, over tiles of wide numbers
 * (see fold.h). Integer division by zero, shifts of negative numbers and the like are not
 * folded: the runtime decides. */
#include "onnx/fold/fold.h"

#include <math.h>

/* ---- one operand ---- */

typedef void (*Real1)(const double *x, const double *p, double *out, int64_t n);
typedef void (*Int1)(const int64_t *x, int64_t *out, int64_t n);

#define REAL1(name, expr)                                                      \
    static void name(const double *x, const double *p, double *out, int64_t n) \
    {                                                                          \
        (void)p;                                                               \
        for (int64_t i = 0; i < n; i++) {                                      \
            double v = x[i];                                                   \
            out[i] = (expr);                                                   \
        }                                                                      \
    }
#define INT1(name, expr)                                        \
    static void name(const int64_t *x, int64_t *out, int64_t n) \
    {                                                           \
        for (int64_t i = 0; i < n; i++) {                       \
            int64_t v = x[i];                                   \
            out[i] = (int64_t)(expr);                           \
        }                                                       \
    }

static double softplus(double v)
{
    double above = v > 0 ? v : 0;
    double nan = isnan(v) ? v : 0;
    return above + log1p(exp(-fabs(v))) + nan;
}
static double sigmoid(double v) { return v >= 0 ? 1 / (1 + exp(-v)) : exp(v) / (1 + exp(v)); }
static double sign(double v)
{
    if (v > 0)
        return 1;
    if (v < 0)
        return -1;
    return v == 0 ? 0 : v; /* NaN stays */
}
static double clamp01(double v)
{
    if (v < 0)
        return 0;
    return v > 1 ? 1 : v;
}
static double relu(double v) { return v < 0 ? 0 : v; }
static double leaky_relu(double v, double slope) { return v < 0 ? slope * v : v; }
static double elu(double v, double alpha) { return v > 0 ? v : alpha * expm1(v); }
static double celu(double v, double alpha) { return v > 0 ? v : alpha * expm1(v / alpha); }
static double shrink(double v, double lambda, double bias)
{
    if (v < -lambda)
        return v + bias;
    if (v > lambda)
        return v - bias;
    return isnan(v) ? v : 0;
}
static double thresholded(double v, double alpha)
{
    if (v > alpha)
        return v;
    return isnan(v) ? v : 0;
}
static uint64_t whole_abs(int64_t v) { return v < 0 ? -(uint64_t)v : (uint64_t)v; }
static int64_t whole_sign(int64_t v) { return (v > 0) - (v < 0); }
static int64_t whole_relu(int64_t v) { return v < 0 ? 0 : v; }
static double gelu(double v, double tanh_form)
{
    return tanh_form != 0
        ? 0.5 * v * (1 + tanh(0.79788456080286535588 * (v + 0.044715 * v * v * v)))
        : 0.5 * v * erfc(-v * 0.70710678118654752440);
}

REAL1(r_abs, fabs(v))
REAL1(r_acos, acos(v))
REAL1(r_acosh, acosh(v))
REAL1(r_asin, asin(v))
REAL1(r_asinh, asinh(v))
REAL1(r_atan, atan(v))
REAL1(r_atanh, atanh(v))
REAL1(r_ceil, ceil(v))
REAL1(r_cos, cos(v))
REAL1(r_cosh, cosh(v))
REAL1(r_celu, celu(v, p[0]))
REAL1(r_elu, elu(v, p[0]))
REAL1(r_erf, erf(v))
REAL1(r_exp, exp(v))
REAL1(r_floor, floor(v))
REAL1(r_gelu, gelu(v, p[0]))
REAL1(r_hard_sigmoid, clamp01(p[0] * v + p[1]))
REAL1(r_hard_swish, v *clamp01(v / 6 + 0.5))
REAL1(r_leaky_relu, leaky_relu(v, p[0]))
REAL1(r_log, log(v))
REAL1(r_mish, v *tanh(softplus(v)))
REAL1(r_neg, -v)
REAL1(r_reciprocal, 1 / v)
REAL1(r_relu, relu(v))
REAL1(r_round, nearbyint(v))
REAL1(r_selu, p[1] * elu(v, p[0]))
REAL1(r_sigmoid, sigmoid(v))
REAL1(r_sign, sign(v))
REAL1(r_shrink, shrink(v, p[0], p[1]))
REAL1(r_sin, sin(v))
REAL1(r_sinh, sinh(v))
REAL1(r_softplus, softplus(v))
REAL1(r_softsign, v / (1 + fabs(v)))
REAL1(r_sqrt, sqrt(v))
REAL1(r_swish, v *sigmoid(p[0] * v))
REAL1(r_tan, tan(v))
REAL1(r_tanh, tanh(v))
REAL1(r_thresholded, thresholded(v, p[0]))
INT1(i_abs, whole_abs(v))
INT1(i_neg, -(uint64_t)v)
INT1(i_sign, whole_sign(v))
INT1(i_bitnot, ~v)
INT1(i_not, !v)
INT1(i_relu, whole_relu(v))
INT1(u_same, v)
INT1(u_sign, v != 0)

/* p[] are the attributes named here, as the float32 numbers that the model stores; big: on
 * uint64. */
static const struct Unary {
    const char *op;
    Real1 real;
    Int1 whole, big;
    struct {
        const char *attr;
        double deflt;
    } p[2];
} unary[] = {
    { "Abs", .real = r_abs, .whole = i_abs, .big = u_same },
    { "Acos", .real = r_acos },
    { "Acosh", .real = r_acosh },
    { "Asin", .real = r_asin },
    { "Asinh", .real = r_asinh },
    { "Atan", .real = r_atan },
    { "Atanh", .real = r_atanh },
    { "BitwiseNot", .whole = i_bitnot, .big = i_bitnot },
    { "Ceil", .real = r_ceil },
    { "Celu", .real = r_celu, .p = { { "alpha", 1 } } },
    { "Cos", .real = r_cos },
    { "Cosh", .real = r_cosh },
    { "Elu", .real = r_elu, .p = { { "alpha", 1 } } },
    { "Erf", .real = r_erf },
    { "Exp", .real = r_exp },
    { "Floor", .real = r_floor },
    { "Gelu", .real = r_gelu },
    { "HardSigmoid", .real = r_hard_sigmoid, .p = { { "alpha", 0.2 }, { "beta", 0.5 } } },
    { "HardSwish", .real = r_hard_swish },
    { "LeakyRelu", .real = r_leaky_relu, .p = { { "alpha", 0.01 } } },
    { "Log", .real = r_log },
    { "Mish", .real = r_mish },
    { "Neg", .real = r_neg, .whole = i_neg },
    { "Not", .whole = i_not },
    { "Reciprocal", .real = r_reciprocal },
    { "Relu", .real = r_relu, .whole = i_relu },
    { "Round", .real = r_round },
    { "Selu", .real = r_selu,
      .p = { { "alpha", 1.67326319217681884765625 }, { "gamma", 1.05070102214813232421875 } } },
    { "Shrink", .real = r_shrink, .p = { { "lambd", 0.5 }, { "bias", 0 } } },
    { "Sigmoid", .real = r_sigmoid },
    { "Sign", .real = r_sign, .whole = i_sign, .big = u_sign },
    { "Sin", .real = r_sin },
    { "Sinh", .real = r_sinh },
    { "Softplus", .real = r_softplus },
    { "Softsign", .real = r_softsign },
    { "Sqrt", .real = r_sqrt },
    { "Swish", .real = r_swish, .p = { { "alpha", 1 } } },
    { "Tan", .real = r_tan },
    { "Tanh", .real = r_tanh },
    { "ThresholdedRelu", .real = r_thresholded, .p = { { "alpha", 1 } } },
};

static void unary_reals(const Fold *f, Real1 fn, const double *p)
{
    double x[FOLD_TILE], y[FOLD_TILE];
    for (int64_t i = 0; i < f->out->numel; i += FOLD_TILE) {
        int64_t n = f->out->numel - i < FOLD_TILE ? f->out->numel - i : FOLD_TILE;
        load_reals(f->in[0].dtype, item_ptr(&f->in[0], i), 1, n, x);
        fn(x, p, y, n);
        store_reals(f->out->dtype, item_ptr(f->out, i), n, y);
    }
}

static void unary_ints(const Fold *f, Int1 fn)
{
    int64_t x[FOLD_TILE], y[FOLD_TILE];
    for (int64_t i = 0; i < f->out->numel; i += FOLD_TILE) {
        int64_t n = f->out->numel - i < FOLD_TILE ? f->out->numel - i : FOLD_TILE;
        load_ints(f->in[0].dtype, item_ptr(&f->in[0], i), 1, n, x);
        fn(x, y, n);
        store_ints(f->out->dtype, item_ptr(f->out, i), n, y);
    }
}

/* The attributes of a node, as the row of its operator names them. */
static void read_attrs(const Node *n, const struct Unary *u, double p[2])
{
    for (int i = 0; i < 2 && u->p[i].attr; i++)
        p[i] = (float)node_float(n, u->p[i].attr, u->p[i].deflt);
    if (u->real == r_gelu)
        p[0] = !strcmp(node_str(n, "approximate", "none"), "tanh");
}

/* An operator of one operand, by its row; false for a type that the row has no function for. */
static bool fold_unary(Fold *f)
{
    const struct Unary *u = unary;
    while (strcmp(u->op, f->node->op->name))
        u++;
    NumKind kind = num_kind(f->in[0].dtype);
    if (kind == NUM_REAL && u->real) {
        double p[2] = { 0 };
        read_attrs(f->node, u, p);
        unary_reals(f, u->real, p);
        return true;
    }
    Int1 fn = NULL;
    if (kind == NUM_INT)
        fn = u->whole;
    else if (kind == NUM_UINT64)
        fn = u->big;
    if (!fn)
        return false;
    unary_ints(f, fn);
    return true;
}

/* ---- two operands, broadcast ---- */

typedef void (*Real2)(const double *x, const double *y, double *out, int64_t n);
typedef void (*Int2)(const int64_t *x, const int64_t *y, int64_t *out, int64_t n);
typedef void (*Test2)(const double *x, const double *y, int64_t *out, int64_t n);

#define LOOP2(name, T, R, expr)                                 \
    static void name(const T *x, const T *y, R *out, int64_t n) \
    {                                                           \
        for (int64_t i = 0; i < n; i++) {                       \
            T a = x[i];                                         \
            T b = y[i];                                         \
            out[i] = (R)(expr);                                 \
        }                                                       \
    }

static int64_t floor_mod(int64_t a, int64_t b)
{
    int64_t r = b == -1 ? 0 : a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static int64_t whole_pow(int64_t a, int64_t b)
{
    uint64_t r = 1;
    uint64_t base = (uint64_t)a;
    for (; b > 0; b >>= 1, base *= base)
        if (b & 1)
            r *= base;
    return (int64_t)r;
}

static double least(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) ? a : b;
    return a < b ? a : b;
}
static double largest(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) ? a : b;
    return a > b ? a : b;
}
static int64_t whole_div(int64_t a, int64_t b) { return b == -1 ? (int64_t)-(uint64_t)a : a / b; }
static int64_t whole_fmod(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }
static int64_t whole_least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t whole_largest(int64_t a, int64_t b) { return a > b ? a : b; }
static uint64_t big_least(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t big_largest(uint64_t a, uint64_t b) { return a > b ? a : b; }
static uint64_t whole_prelu(uint64_t a, uint64_t slope) { return (int64_t)a < 0 ? a * slope : a; }
static uint64_t shift_left(uint64_t a, uint64_t n) { return n > 63 ? 0 : a << n; }
static uint64_t shift_right(uint64_t a, uint64_t n) { return n > 63 ? 0 : a >> n; }

LOOP2(r_add, double, double, a + b)
LOOP2(r_sub, double, double, a - b)
LOOP2(r_mul, double, double, a *b)
LOOP2(r_div, double, double, a / b)
LOOP2(r_fmod, double, double, fmod(a, b))
LOOP2(r_pow, double, double, pow(a, b))
LOOP2(r_min, double, double, least(a, b))
LOOP2(r_max, double, double, largest(a, b))
LOOP2(r_prelu, double, double, leaky_relu(a, b))
LOOP2(i_add, int64_t, int64_t, (uint64_t)a + (uint64_t)b)
LOOP2(i_sub, int64_t, int64_t, (uint64_t)a - (uint64_t)b)
LOOP2(i_mul, int64_t, int64_t, (uint64_t)a *(uint64_t)b)
LOOP2(i_div, int64_t, int64_t, whole_div(a, b))
LOOP2(u_div, int64_t, int64_t, (uint64_t)a / (uint64_t)b)
LOOP2(i_mod, int64_t, int64_t, floor_mod(a, b))
LOOP2(u_mod, int64_t, int64_t, (uint64_t)a % (uint64_t)b)
LOOP2(i_fmod, int64_t, int64_t, whole_fmod(a, b))
LOOP2(i_pow, int64_t, int64_t, whole_pow(a, b))
LOOP2(i_min, int64_t, int64_t, whole_least(a, b))
LOOP2(i_max, int64_t, int64_t, whole_largest(a, b))
LOOP2(u_min, int64_t, int64_t, big_least((uint64_t)a, (uint64_t)b))
LOOP2(u_max, int64_t, int64_t, big_largest((uint64_t)a, (uint64_t)b))
LOOP2(u_first, int64_t, int64_t, ((void)b, a))
LOOP2(i_prelu, int64_t, int64_t, whole_prelu((uint64_t)a, (uint64_t)b))
LOOP2(i_and, int64_t, int64_t, a &b)
LOOP2(i_or, int64_t, int64_t, a | b)
LOOP2(i_xor, int64_t, int64_t, a ^ b)
LOOP2(u_shl, int64_t, int64_t, shift_left((uint64_t)a, (uint64_t)b))
LOOP2(u_shr, int64_t, int64_t, shift_right((uint64_t)a, (uint64_t)b))
LOOP2(t_eq, double, int64_t, a == b)
LOOP2(t_lt, double, int64_t, a < b)
LOOP2(t_le, double, int64_t, a <= b)
LOOP2(t_gt, double, int64_t, a > b)
LOOP2(t_ge, double, int64_t, a >= b)
LOOP2(i_eq, int64_t, int64_t, a == b)
LOOP2(i_lt, int64_t, int64_t, a < b)
LOOP2(i_le, int64_t, int64_t, a <= b)
LOOP2(i_gt, int64_t, int64_t, a > b)
LOOP2(i_ge, int64_t, int64_t, a >= b)
LOOP2(u_lt, int64_t, int64_t, (uint64_t)a < (uint64_t)b)
LOOP2(u_le, int64_t, int64_t, (uint64_t)a <= (uint64_t)b)
LOOP2(u_gt, int64_t, int64_t, (uint64_t)a > (uint64_t)b)
LOOP2(u_ge, int64_t, int64_t, (uint64_t)a >= (uint64_t)b)

/* real: on floats, or test when the result is a bool; whole: on ints and bool; big: on uint64 where
 * it differs. */
typedef struct Binary {
    const char *op;
    Real2 real;
    Test2 test;
    Int2 whole, big;
} Binary;
static const Binary binary[] = {
    { "Add", r_add, NULL, i_add, i_add },         { "And", NULL, NULL, i_and, NULL },
    { "BitwiseAnd", NULL, NULL, i_and, i_and },   { "BitwiseOr", NULL, NULL, i_or, i_or },
    { "BitwiseXor", NULL, NULL, i_xor, i_xor },   { "Div", r_div, NULL, i_div, u_div },
    { "Equal", NULL, t_eq, i_eq, i_eq },          { "Greater", NULL, t_gt, i_gt, u_gt },
    { "GreaterOrEqual", NULL, t_ge, i_ge, u_ge }, { "Less", NULL, t_lt, i_lt, u_lt },
    { "LessOrEqual", NULL, t_le, i_le, u_le },    { "Max", r_max, NULL, i_max, u_max },
    { "Min", r_min, NULL, i_min, u_min },         { "Mod", NULL, NULL, i_mod, u_mod },
    { "Mul", r_mul, NULL, i_mul, i_mul },         { "Or", NULL, NULL, i_or, NULL },
    { "PRelu", r_prelu, NULL, i_prelu, u_first }, { "Pow", r_pow, NULL, i_pow, NULL },
    { "Sub", r_sub, NULL, i_sub, i_sub },         { "Sum", r_add, NULL, i_add, NULL },
    { "Xor", NULL, NULL, i_xor, NULL },
};

/* float32 in float32: these four give the bits that double rounded once gives. Compilers make
 * vector instructions of eight at a time. */
#define ARITHMETIC(NAME, OP)                                                         \
    static void NAME(const float *x, const float *y, float *restrict out, int64_t n) \
    {                                                                                \
        int64_t i = 0;                                                               \
        for (; i + 8 <= n; i += 8)                                                   \
            for (int k = 0; k < 8; k++)                                              \
                out[i + k] = x[i + k] OP y[i + k];                                   \
        for (; i < n; i++)                                                           \
            out[i] = x[i] OP y[i];                                                   \
    }
ARITHMETIC(f_add, +)
ARITHMETIC(f_sub, -)
ARITHMETIC(f_mul, *)
ARITHMETIC(f_div, /)

typedef void (*Float2)(const float *x, const float *y, float *restrict out, int64_t n);

/* NULL: the operator is none of the four. */
static Float2 on_floats(const Binary *op)
{
    if (op->real == r_add)
        return f_add;
    if (op->real == r_sub)
        return f_sub;
    if (op->real == r_mul)
        return f_mul;
    return op->real == r_div ? f_div : NULL;
}

/* The items of d from `at` on; where one repeats (step 0), the room with up to n of it. */
static const float *floats_at(const Data *d, int64_t at, int64_t step, int64_t n, float *room)
{
    const float *from = item_ptr(d, at);
    if (step != 0)
        return from;
    for (int64_t i = 0; i < n && i < FOLD_TILE; i += 8)
        for (int k = 0; k < 8; k++)
            room[i + k] = *from;
    return room;
}

static void binary_floats(Float2 fn, const Data *a, const Data *b, Data *out, Walk *w)
{
    float x[FOLD_TILE], y[FOLD_TILE], z[FOLD_TILE];
    for (; !w->done; walk_next(w)) {
        const float *p = floats_at(a, w->at[1], w->step[1], w->run, x);
        const float *q = floats_at(b, w->at[2], w->step[2], w->run, y);
        for (int64_t i = 0; i < w->run; i += FOLD_TILE) {
            int64_t n = w->run - i < FOLD_TILE ? w->run - i : FOLD_TILE;
            fn(p + i * w->step[1], q + i * w->step[2], z, n);
            memcpy(item_ptr(out, w->at[0] + i), z, (size_t)n * sizeof *z); /* a's place perhaps */
        }
    }
}

static bool all_floats(const Data *a, const Data *b, const Data *out)
{
    return a->dtype == DT_FLOAT && b->dtype == DT_FLOAT && out->dtype == DT_FLOAT;
}

/* The operator over reals; results are floats, or bools by test. */
static void binary_reals(const Binary *op, const Data *a, const Data *b, Data *out, Walk *w)
{
    double x[FOLD_TILE], y[FOLD_TILE], z[FOLD_TILE];
    int64_t t[FOLD_TILE];
    for (; !w->done; walk_next(w))
        for (int64_t i = 0; i < w->run; i += FOLD_TILE) {
            int64_t n = w->run - i < FOLD_TILE ? w->run - i : FOLD_TILE;
            load_reals(a->dtype, item_ptr(a, w->at[1] + i * w->step[1]), w->step[1], n, x);
            load_reals(b->dtype, item_ptr(b, w->at[2] + i * w->step[2]), w->step[2], n, y);
            if (op->test) {
                op->test(x, y, t, n);
                store_ints(out->dtype, item_ptr(out, w->at[0] + i), n, t);
            } else {
                op->real(x, y, z, n);
                store_reals(out->dtype, item_ptr(out, w->at[0] + i), n, z);
            }
        }
}

static bool any_zero(const int64_t *at, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (at[i] == 0)
            return true;
    return false;
}

static bool any_negative(const int64_t *at, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (at[i] < 0)
            return true;
    return false;
}

/* The operator over integers. False: a divisor of 0 or a negative exponent. */
static bool binary_ints(Int2 fn, const Data *a, const Data *b, Data *out, Walk *w)
{
    int64_t x[FOLD_TILE], y[FOLD_TILE], z[FOLD_TILE];
    bool divides = fn == i_div || fn == u_div || fn == i_mod || fn == u_mod || fn == i_fmod;
    for (; !w->done; walk_next(w))
        for (int64_t i = 0; i < w->run; i += FOLD_TILE) {
            int64_t n = w->run - i < FOLD_TILE ? w->run - i : FOLD_TILE;
            load_ints(a->dtype, item_ptr(a, w->at[1] + i * w->step[1]), w->step[1], n, x);
            load_ints(b->dtype, item_ptr(b, w->at[2] + i * w->step[2]), w->step[2], n, y);
            if ((divides && any_zero(y, n)) || (fn == i_pow && any_negative(y, n)))
                return false;
            fn(x, y, z, n);
            store_ints(out->dtype, item_ptr(out, w->at[0] + i), n, z);
        }
    return true;
}

/* out = a OP b, broadcast; all three have their memory. False for types that the row has no
 * function for, and where integer arithmetic would have to decide what the runtime does (division
 * by 0). */
static bool binary_apply(const Binary *op, const Data *a, const Data *b, Data *out)
{
    int64_t own[MAX_RANK], sa[MAX_RANK], sb[MAX_RANK];
    Walk w;
    NumKind kind = num_kind(a->dtype);
    if (kind == NUM_NONE || num_kind(b->dtype) == NUM_NONE)
        return false;
    plain_strides(out->rank, out->dims, own);
    broadcast_strides(a, out->rank, sa);
    broadcast_strides(b, out->rank, sb);
    walk_start(&w, out->rank, out->dims, 3, (const int64_t *const[]){ own, sa, sb });
    if (kind == NUM_REAL) {
        if (!op->real && !op->test)
            return false;
        Float2 single = all_floats(a, b, out) ? on_floats(op) : NULL;
        if (single)
            binary_floats(single, a, b, out, &w);
        else
            binary_reals(op, a, b, out, &w);
        return true;
    }
    Int2 fn = kind == NUM_UINT64 ? op->big : op->whole;
    return fn && num_kind(b->dtype) != NUM_REAL &&
        binary_ints(fn, a, b, out, &w); /* Pow may mix the two: not folded */
}

static const Binary *binary_named(const char *name)
{
    const Binary *b = binary;
    while (strcmp(b->op, name))
        b++;
    return b;
}

static bool fold_binary(Fold *f)
{
    return binary_apply(binary_named(f->node->op->name), &f->in[0], &f->in[1], f->out);
}

/* Operators of any number of inputs go pair by pair, each result rounded to the type. */
static bool fold_variadic(Fold *f)
{
    const Binary *op = binary_named(!strcmp(f->node->op->name, "Mean") ? "Sum" : f->node->op->name);
    size_t size = item_size(f->out->dtype);
    int64_t s[MAX_RANK];
    if (num_kind(f->out->dtype) == NUM_NONE)
        return false;
    broadcast_strides(&f->in[0], f->out->rank, s);
    copy_strided(f->out->at, f->in[0].at, size, f->out->rank, f->out->dims, s);
    for (int i = 1; i < f->node->n_in; i++)
        if (!binary_apply(op, f->out, &f->in[i], f->out))
            return false;
    if (strcmp(f->node->op->name, "Mean"))
        return true;
    float count = (float)f->node->n_in;
    Data by = { .dtype = DT_FLOAT, .numel = 1, .at = &count };
    return binary_apply(binary_named("Div"), f->out, &by, f->out);
}

static bool fold_mod(Fold *f)
{
    static const Binary c_style = { "Mod", r_fmod, NULL, i_fmod, u_mod };
    return node_int(f->node, "fmod", 0) ? binary_apply(&c_style, &f->in[0], &f->in[1], f->out)
                                        : fold_binary(f);
}

static bool fold_shift(Fold *f)
{
    static const Binary left = { "BitShift", NULL, NULL, u_shl, u_shl };
    static const Binary right = { "BitShift", NULL, NULL, u_shr, u_shr };
    return binary_apply(!strcmp(node_str(f->node, "direction", ""), "LEFT") ? &left : &right,
                        &f->in[0], &f->in[1], f->out);
}

/* Clip(x, min?, max?): the upper bound wins. Not a number stays. */
static bool fold_clip(Fold *f)
{
    Data now = f->in[0];
    if (num_kind(now.dtype) == NUM_NONE)
        return false;
    for (int i = 1; i < 3; i++) {
        if (i >= f->node->n_in || !f->in[i].at)
            continue;
        if (f->in[i].numel != 1 ||
            !binary_apply(binary_named(i == 1 ? "Max" : "Min"), &now, &f->in[i], f->out))
            return false;
        now = *f->out;
    }
    if (now.at != f->out->at)
        memcpy(f->out->at, now.at, (size_t)now.numel * item_size(now.dtype));
    return true;
}

/* ---- three: Where ---- */

#define PICK(T)                                        \
    do {                                               \
        T *to = out;                                   \
        const T *x = a;                                \
        const T *y = b;                                \
        for (int64_t i = 0; i < n; i++)                \
            to[i] = c[i * sc] ? x[i * sa] : y[i * sb]; \
    } while (0)

typedef struct {
    uint64_t lo, hi;
} Wide;

static void pick(void *out, const uint8_t *c, int64_t sc, const void *a, int64_t sa, const void *b,
                 int64_t sb, size_t size, int64_t n)
{
    switch (size) {
    case 1:  PICK(uint8_t); break;
    case 2:  PICK(uint16_t); break;
    case 4:  PICK(uint32_t); break;
    case 8:  PICK(uint64_t); break;
    case 16: PICK(Wide); break;
    default: break;
    }
}

/* The result is contiguous and walked in order, so it needs no strides of its own. */
static bool fold_where(Fold *f)
{
    size_t size = item_size(f->out->dtype);
    int64_t s[3][MAX_RANK], at = 0;
    Walk w;
    if (!size)
        return false;
    for (int i = 0; i < 3; i++)
        broadcast_strides(&f->in[i], f->out->rank, s[i]);
    walk_start(&w, f->out->rank, f->out->dims, 3, (const int64_t *const[]){ s[0], s[1], s[2] });
    for (; !w.done; walk_next(&w), at += w.run)
        pick(item_ptr(f->out, at), item_ptr(&f->in[0], w.at[0]), w.step[0],
             item_ptr(&f->in[1], w.at[1]), w.step[1], item_ptr(&f->in[2], w.at[2]), w.step[2], size,
             w.run);
    return true;
}

/* ---- tests of one operand ---- */

static bool is_one(double x, bool nan, bool up, bool down)
{
    if (nan)
        return isnan(x);
    return isinf(x) && (x > 0 ? up : down);
}

static bool fold_is(Fold *f)
{
    double x[FOLD_TILE];
    bool nan = !strcmp(f->node->op->name, "IsNaN");
    bool up = node_int(f->node, "detect_positive", 1);
    bool down = node_int(f->node, "detect_negative", 1);
    uint8_t *out = f->out->at;
    if (num_kind(f->in[0].dtype) != NUM_REAL)
        return false;
    for (int64_t i = 0; i < f->out->numel; i += FOLD_TILE) {
        int64_t n = f->out->numel - i < FOLD_TILE ? f->out->numel - i : FOLD_TILE;
        load_reals(f->in[0].dtype, item_ptr(&f->in[0], i), 1, n, x);
        for (int64_t k = 0; k < n; k++)
            out[i + k] = is_one(x[k], nan, up, down);
    }
    return true;
}

/* ---- Cast ---- */

/* An int64 as a double that later rounding treats like the int itself: bits that do not fit leave
 * an odd one behind. */
static double whole_to_real(int64_t v, bool big)
{
    uint64_t u = v < 0 && !big ? -(uint64_t)v : (uint64_t)v;
    if (u >> 53)
        u = (u >> 11 | ((u & 0x7ff) != 0)) << 11;
    return v < 0 && !big ? -(double)u : (double)u;
}

/* The least and largest number of an integer type; bounds of a cast that ONNX defines. */
static void int_bounds(DType t, double *lo, double *hi)
{
    int bits = (int)dtype_size(t) * 8;
    *hi = ldexp(1, dtype_is_signed(t) ? bits - 1 : bits);
    *lo = dtype_is_signed(t) ? -*hi : 0;
}

/* Towards zero. False where the number does not fit: ONNX leaves that open. */
static bool reals_to_ints(const double *x, int64_t n, DType to, int64_t *out)
{
    double lo, hi;
    int_bounds(to, &lo, &hi);
    for (int64_t i = 0; i < n; i++) {
        double v = trunc(x[i]);
        if (to == DT_BOOL) {
            out[i] = x[i] != 0; /* not a number is true */
            continue;
        }
        if (!(v >= lo && v < hi))
            return false;
        out[i] = to == DT_UINT64 ? (int64_t)(uint64_t)v : (int64_t)v;
    }
    return true;
}

/* n reals from item `at` on. False where one has no integer: the runtime decides. */
static bool cast_reals(const Data *in, Data *out, int64_t at, int64_t n)
{
    double x[FOLD_TILE];
    int64_t k[FOLD_TILE];
    load_reals(in->dtype, item_ptr(in, at), 1, n, x);
    if (num_kind(out->dtype) == NUM_REAL) {
        store_reals(out->dtype, item_ptr(out, at), n, x);
        return true;
    }
    if (!reals_to_ints(x, n, out->dtype, k))
        return false;
    store_ints(out->dtype, item_ptr(out, at), n, k);
    return true;
}

/* A whole number as a real that `to` rounds once; big: k is a uint64. */
static double real_of(int64_t k, bool big, DType to)
{
    if (to != DT_DOUBLE)
        return whole_to_real(k, big);
    return big ? (double)(uint64_t)k : (double)k;
}

static bool cast_tile(const Data *in, Data *out, int64_t at, int64_t n)
{
    double x[FOLD_TILE];
    int64_t k[FOLD_TILE];
    NumKind from = num_kind(in->dtype);
    if (from == NUM_REAL)
        return cast_reals(in, out, at, n);
    load_ints(in->dtype, item_ptr(in, at), 1, n, k);
    if (num_kind(out->dtype) != NUM_REAL) {
        store_ints(out->dtype, item_ptr(out, at), n, k);
        return true;
    }
    for (int64_t i = 0; i < n; i++)
        x[i] = real_of(k[i], from == NUM_UINT64, out->dtype);
    store_reals(out->dtype, item_ptr(out, at), n, x);
    return true;
}

static bool fold_cast(Fold *f)
{
    if (f->in[0].dtype == f->out->dtype && item_size(f->out->dtype)) {
        memcpy(f->out->at, f->in[0].at, (size_t)f->out->numel * item_size(f->out->dtype));
        return true;
    }
    if (num_kind(f->in[0].dtype) == NUM_NONE || num_kind(f->out->dtype) == NUM_NONE)
        return false;
    for (int64_t i = 0; i < f->out->numel; i += FOLD_TILE)
        if (!cast_tile(&f->in[0], f->out, i,
                       f->out->numel - i < FOLD_TILE ? f->out->numel - i : FOLD_TILE))
            return false;
    return true;
}

const FoldRow fold_elementwise[] = { { "Abs", fold_unary },
                                     { "Acos", fold_unary },
                                     { "Acosh", fold_unary },
                                     { "Add", fold_binary },
                                     { "And", fold_binary },
                                     { "Asin", fold_unary },
                                     { "Asinh", fold_unary },
                                     { "Atan", fold_unary },
                                     { "Atanh", fold_unary },
                                     { "BitShift", fold_shift },
                                     { "BitwiseAnd", fold_binary },
                                     { "BitwiseNot", fold_unary },
                                     { "BitwiseOr", fold_binary },
                                     { "BitwiseXor", fold_binary },
                                     { "Cast", fold_cast },
                                     { "CastLike", fold_cast },
                                     { "Ceil", fold_unary },
                                     { "Celu", fold_unary },
                                     { "Clip", fold_clip },
                                     { "Cos", fold_unary },
                                     { "Cosh", fold_unary },
                                     { "Div", fold_binary },
                                     { "Elu", fold_unary },
                                     { "Equal", fold_binary },
                                     { "Erf", fold_unary },
                                     { "Exp", fold_unary },
                                     { "Floor", fold_unary },
                                     { "Gelu", fold_unary },
                                     { "Greater", fold_binary },
                                     { "GreaterOrEqual", fold_binary },
                                     { "HardSigmoid", fold_unary },
                                     { "HardSwish", fold_unary },
                                     { "IsInf", fold_is },
                                     { "IsNaN", fold_is },
                                     { "LeakyRelu", fold_unary },
                                     { "Less", fold_binary },
                                     { "LessOrEqual", fold_binary },
                                     { "Log", fold_unary },
                                     { "Max", fold_variadic },
                                     { "Mean", fold_variadic },
                                     { "Min", fold_variadic },
                                     { "Mish", fold_unary },
                                     { "Mod", fold_mod },
                                     { "Mul", fold_binary },
                                     { "Neg", fold_unary },
                                     { "Not", fold_unary },
                                     { "Or", fold_binary },
                                     { "PRelu", fold_binary },
                                     { "Pow", fold_binary },
                                     { "Reciprocal", fold_unary },
                                     { "Relu", fold_unary },
                                     { "Round", fold_unary },
                                     { "Selu", fold_unary },
                                     { "Shrink", fold_unary },
                                     { "Sigmoid", fold_unary },
                                     { "Sign", fold_unary },
                                     { "Sin", fold_unary },
                                     { "Sinh", fold_unary },
                                     { "Softplus", fold_unary },
                                     { "Softsign", fold_unary },
                                     { "Sqrt", fold_unary },
                                     { "Sub", fold_binary },
                                     { "Sum", fold_variadic },
                                     { "Swish", fold_unary },
                                     { "Tan", fold_unary },
                                     { "Tanh", fold_unary },
                                     { "ThresholdedRelu", fold_unary },
                                     { "Where", fold_where },
                                     { "Xor", fold_binary },
                                     { 0 } };
