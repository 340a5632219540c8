/* window.c - windows for short Fourier transforms. Their length is a number, so they are computed now, in double. */
#include "ops/internal.h"

#include <math.h>

#define PI 3.14159265358979323846

enum { WINDOW_MAX = 1 << 20 };

typedef enum { HANN, HAMMING, BLACKMAN, BARTLETT, KAISER } Window;

/* The modified Bessel function of order 0: the sum of (x/2)^2k / k!^2. */
static double bessel_i0(double x)
{
    double sum = 1, term = 1;
    for (int k = 1; k < 500 && term > sum * 1e-17; k++) {
        term *= x / 2 / k * (x / 2 / k);
        sum += term;
    }
    return sum;
}

/* Element i of n, of a window whose last element is the first one again at n - 1. */
static double element(Window w, double i, double n, double alpha, double beta)
{
    double angle = 2 * PI * i / (n - 1), side = 2 * i / (n - 1) - 1;
    switch (w) {
    case HANN: return 0.5 - 0.5 * cos(angle);
    case HAMMING: return alpha - beta * cos(angle);
    case BLACKMAN: return 0.42 - 0.5 * cos(angle) + 0.08 * cos(2 * angle);
    case BARTLETT: return 1 - fabs(side);
    case KAISER: return bessel_i0(beta * sqrt(fmax(0, 1 - side * side))) / bessel_i0(beta);
    }
    return 0;
}

/* A periodic window is one that is longer by one element, which is left out. row->datum: which */
static Ox lower_window(Op *op)
{
    Window w = (Window)op->row->datum;
    int64_t n = arg_int(op, "window_length");
    bool periodic = !has_param(op, "periodic") || arg_bool(op, "periodic");
    double alpha = has_param(op, "alpha") ? arg_float(op, "alpha") : 0.54;
    double beta = has_param(op, "beta") ? arg_float(op, "beta") : w == KAISER ? 12 : 0.46;
    if (ctx_failed(op->cx) || n < 0 || n > WINDOW_MAX)
        return op_fail(op, E_VALUE, "window_length must be in 0 to %d, got %lld", WINDOW_MAX, (long long)n);
    double *v = new_array(op->cx, double, n ? n : 1);
    for (int64_t i = 0; v && i < n; i++)
        v[i] = n == 1 ? 1 : element(w, (double)i, (double)(n + periodic), alpha, beta);
    return v ? ox_cast(op->g, ox_const(op->g, const_make(op->cx, DT_DOUBLE, 1, &n, v)), arg_dtype(op, "dtype", DT_FLOAT)) : POISON;
}

#define HOW "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define WINDOW(which, name) FAMILY(lower_window, which, NULL, PLAIN, "aten::" name "_window(int window_length, " HOW ") -> Tensor"), \
    OLDER("aten::" name "_window.periodic(int window_length, bool periodic, " HOW ") -> Tensor")

const OpRow ops_window[] = {
    WINDOW(HANN, "hann"), WINDOW(BLACKMAN, "blackman"), WINDOW(BARTLETT, "bartlett"),
    WINDOW(HAMMING, "hamming"),
    OLDER("aten::hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, " HOW ") -> Tensor"),
    OLDER("aten::hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta, " HOW ") -> Tensor"),
    WINDOW(KAISER, "kaiser"),
    OLDER("aten::kaiser_window.beta(int window_length, bool periodic, float beta, " HOW ") -> Tensor"),
    OPS_END
};
