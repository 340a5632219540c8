/* window.c - windows for short Fourier transforms. A window of known length is a constant, computed
 * in double; one of dynamic length is nodes. */
#include "ops/internal.h"

#include <math.h>

#define PI 3.14159265358979323846

enum { WINDOW_MAX = 1 << 20 };

typedef enum { HANN, HAMMING, BLACKMAN, BARTLETT, KAISER } Window;

/* The modified Bessel function of order 0: the sum of (x/2)^2k / k!^2. */
static double bessel_i0(double x)
{
    double sum = 1;
    double term = 1;
    for (int k = 1; k < 500 && term > sum * 1e-17; k++) {
        term *= x / 2 / k * (x / 2 / k);
        sum += term;
    }
    return sum;
}

/* Element i of a symmetric window of n: element n - 1 is the first one again. */
static double element(Window w, double i, double n, double alpha, double beta)
{
    double angle = 2 * PI * i / (n - 1);
    double side = 2 * i / (n - 1) - 1;
    switch (w) {
    case HANN:     return 0.5 - 0.5 * cos(angle);
    case HAMMING:  return alpha - beta * cos(angle);
    case BLACKMAN: return 0.42 - 0.5 * cos(angle) + 0.08 * cos(2 * angle);
    case BARTLETT: return 1 - fabs(side);
    case KAISER:   return bessel_i0(beta * sqrt(fmax(0, 1 - side * side))) / bessel_i0(beta);
    }
    return 0;
}

typedef struct Parameters {
    Window w;
    bool periodic;
    double alpha, beta;
} Parameters;

static Ox known_window(Op *op, const Parameters *p, int64_t n)
{
    if (n < 0 || n > WINDOW_MAX)
        return op_fail(op, E_VALUE, "window_length must be in 0 to %d, got %lld", WINDOW_MAX,
                       (long long)n);
    double *v = new_array(op->cx, double, n ? n : 1);
    if (!v)
        return POISON;
    for (int64_t i = 0; i < n; i++)
        v[i] = n == 1 ? 1 : element(p->w, (double)i, (double)(n + p->periodic), p->alpha, p->beta);
    Ox window = ox_const(op->g, const_make(op->cx, DT_DOUBLE, 1, &n, v));
    return ox_cast(op->g, window, arg_dtype(op, "dtype", dtype_default(op->cx)));
}

static Ox scaled(Op *op, double by, Ox x)
{
    return ox_ok(x) ? ox(op, "Mul", x, number_like(op, by, x)) : x;
}
static Ox less(Op *op, double from, Ox x)
{
    return ox_ok(x) ? ox(op, "Sub", number_like(op, from, x), x) : x;
}

/* element() as nodes; `at` is i / (n - 1), from 0 to 1. */
static Ox element_at(Op *op, const Parameters *p, Ox at)
{
    Ox angle = scaled(op, 2 * PI, at);
    Ox wave = ox(op, "Cos", angle);
    switch (p->w) {
    case HANN:     return less(op, 0.5, scaled(op, 0.5, wave));
    case HAMMING:  return less(op, p->alpha, scaled(op, p->beta, wave));
    case BLACKMAN: {
        Ox twice = scaled(op, 2, angle);
        Ox fast = ox(op, "Cos", twice);
        Ox low = scaled(op, 0.5, wave);
        Ox high = scaled(op, 0.08, fast);
        return less(op, 0.42, ox(op, "Sub", low, high));
    }
    case BARTLETT: {
        Ox side = less(op, 1, scaled(op, 2, at));
        Ox away = ox(op, "Abs", side);
        return less(op, 1, away);
    }
    case KAISER: break;
    }
    return op_refuse(
        op, "a Kaiser window of a length that the model computes: ONNX has no Bessel function");
}

/* The window of a length that the model computes. Of length 1 every window is [1]. */
static Ox dynamic_window(Op *op, const Parameters *p, Dim n)
{
    Dim one = dim_int(op->cx, 1);
    Dim last = p->periodic ? n : dim_sub(op->cx, n, one);
    Ox count = ox_dim_value(op->g, n);
    Ox i = ox(op, "Range", ox_int(op->g, 0), count, ox_int(op->g, 1));
    if (!ox_ok(i))
        return POISON;
    DType t = arg_dtype(op, "dtype", dtype_default(op->cx));
    DType in = t == DT_DOUBLE ? DT_DOUBLE : DT_FLOAT;
    Ox whole = ox_cast(op->g, ox_dim_value(op->g, dim_max(op->cx, last, one)), in);
    Ox at = ox(op, "Div", ox_cast(op->g, i, in), whole);
    Ox single = ox(op, "Equal", count, ox_int(op->g, 1));
    Ox v = element_at(op, p, at);
    Ox y = ox(op, "Where", single, ox_number(op->g, in, 1), v);
    return ox_cast(op->g, y, t);
}

/* The parameters as PyTorch defaults them, where the schema lacks them too. A periodic window is a
 * symmetric one of n + 1 elements without the last. */
static Parameters parameters(Op *op, Window w)
{
    Parameters p = { .w = w, .periodic = true, .alpha = 0.54, .beta = w == KAISER ? 12 : 0.46 };
    if (has_param(op, "periodic"))
        p.periodic = arg_bool(op, "periodic");
    if (has_param(op, "alpha"))
        p.alpha = arg_float(op, "alpha");
    if (has_param(op, "beta"))
        p.beta = arg_float(op, "beta");
    return p;
}

/* Has PyTorch windows of argument `dtype`? Of complex numbers it has those of up to one element.
 * False after its error. */
static bool window_has_type(Op *op, Dim n)
{
    DType t = arg_dtype(op, "dtype", dtype_default(op->cx));
    if (dtype_is_float(t))
        return true;
    if (!dtype_is_complex(t))
        return fail(op->cx, E_VALUE, "%s expects floating point dtypes, got: %s",
                    op->call->schema->name->s + strlen("aten::"), torch_dtype_name(t));
    return need_kernel(op, "arange_cpu", t, dim_lt(op->cx, dim_of(op, 1), n) != YES);
}

/* row->datum: the Window */
static Ox lower_window(Op *op)
{
    int64_t known;
    Dim n = arg_dim_expr(op, "window_length");
    const Parameters p = parameters(op, (Window)op->row->datum);
    if (!n || ctx_failed(op->cx) || !window_has_type(op, n))
        return POISON;
    return dim_known(n, &known) ? known_window(op, &p, known) : dynamic_window(op, &p, n);
}

#define HOW \
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define WINDOW(which, name)                                                \
    FAMILY(lower_window, which, NULL, PLAIN,                               \
           "aten::" name "_window(int window_length, " HOW ") -> Tensor"); \
    OLDER("aten::" name "_window.periodic(int window_length, bool periodic, " HOW ") -> Tensor")

OP_ROWS(window)
{
    WINDOW(HANN, "hann");
    WINDOW(BLACKMAN, "blackman");
    WINDOW(BARTLETT, "bartlett");
    WINDOW(HAMMING, "hamming");
    OLDER("aten::hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, " HOW
          ") -> Tensor");
    OLDER("aten::hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, "
          "float beta, " HOW ") -> Tensor");
    WINDOW(KAISER, "kaiser");
    OLDER("aten::kaiser_window.beta(int window_length, bool periodic, float beta, " HOW
          ") -> Tensor");
}
