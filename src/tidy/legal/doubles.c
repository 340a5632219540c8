/* doubles.c - functions that ONNX Runtime has in float32 only, in float64, out of those that it has
 * in float64 too.
 *
 * A cast to float32 and back would lose half of the digits that the model asks for. Used when ONNX
 * Runtime is the target and has no kernel; simple formulas of the same kind stand in legal.rules.
 * Polynomials: tools/gen-special.py. */
#include "tidy/legal/legal.h"
#include "onnx/fold/erfcx_data.h"
#include "tidy/legal/doubles_data.h"

#include <math.h>

#define POLY(g, t, c) poly((g), (t), (c), COUNT(c))

static Ox num(Graph *g, double v) { return ox_number(g, DT_DOUBLE, v); }
static Ox add(Graph *g, Ox x, double v) { return ox_g(g, "Add", x, num(g, v)); }
static Ox mul(Graph *g, Ox x, double v) { return ox_g(g, "Mul", x, num(g, v)); }

/* Horner's scheme, the highest power first. */
static Ox poly(Graph *g, Ox t, const double *c, size_t n)
{
    Ox sum = add(g, mul(g, t, c[0]), c[1]);
    for (size_t i = 2; i < n; i++)
        sum = add(g, ox_g(g, "Mul", sum, t), c[i]);
    return sum;
}

/* sign(x) (1 - exp(-x^2) erfcx(|x|)) */
static Ox erf_of(Graph *g, Ox x)
{
    Ox size = ox_g(g, "Abs", x);
    Ox above = add(g, size, -2);
    Ox under = add(g, size, 2);
    Ox ratio = ox_g(g, "Div", above, under);
    Ox infinite = ox_g(g, "Equal", size, num(g, __builtin_inf()));
    Ox t = ox_g(g, "Where", infinite, num(g, 1), ratio);
    Ox scale = add(g, mul(g, size, 2), 1);
    Ox tail = ox_g(g, "Div", POLY(g, t, erfcx), scale);
    Ox square = ox_g(g, "Mul", x, x);
    Ox falling = ox_g(g, "Exp", ox_g(g, "Neg", square));
    Ox sign = ox_g(g, "Sign", x);
    Ox rest = ox_g(g, "Mul", falling, tail);
    Ox value = ox_g(g, "Sub", num(g, 1), rest);
    return ox_g(g, "Mul", sign, value);
}

/* Beyond 1 by atan(x) = pi/2 - atan(1/x); x P(x^2) up to there */
static Ox atan_of(Graph *g, Ox x)
{
    Ox size = ox_g(g, "Abs", x);
    Ox far = ox_g(g, "Greater", size, num(g, 1));
    Ox inverse = ox_g(g, "Reciprocal", size);
    Ox y = ox_g(g, "Where", far, inverse, size);
    Ox t = add(g, mul(g, ox_g(g, "Mul", y, y), 2), -1);
    Ox near = ox_g(g, "Mul", y, POLY(g, t, atan_over_x));
    Ox beyond = ox_g(g, "Sub", num(g, 1.57079632679489661923), near);
    Ox value = ox_g(g, "Where", far, beyond, near);
    Ox sign = ox_g(g, "Sign", x);
    return ox_g(g, "Mul", sign, value);
}

/* atan(x / sqrt((1 - x) (1 + x))), infinite at both ends as it should be */
static Ox asin_of(Graph *g, Ox x)
{
    Ox rest = ox_g(g, "Sub", num(g, 1), x);
    Ox more = add(g, x, 1);
    Ox root = ox_g(g, "Sqrt", ox_g(g, "Mul", rest, more));
    return atan_of(g, ox_g(g, "Div", x, root));
}

static Ox acos_of(Graph *g, Ox x)
{
    Ox angle = asin_of(g, x);
    return ox_g(g, "Sub", num(g, 1.57079632679489661923), angle);
}

/* ---- scales beside MatMul
 -------------------------------------------------------------------------------------------

 * ONNX Runtime's optimizer makes Mul(MatMul(a, b), s), and MatMul of Mul(a, s), one node whose s is
 a float32. As x*h + x*l, with h what
 * float32 holds of s and l the rest, nothing is lost whether it does so or not. Both have the sign
 * of s: an infinite x stays infinite. */

/* What float32 holds of s, and no more than s. */
static double held(double s)
{
    float nearest = (float)s;
    return fabs((double)nearest) > fabs(s) ? (double)nextafterf(nearest, 0) : (double)nearest;
}

/* Is n a product or quotient of x and one number that a float32 does not hold? *s: the factor. One
 * below all that a float32 holds has no parts. */
static bool scaled_by(const Node *n, double *s, Ox *x)
{
    bool div = node_is(n, "Div");
    if ((!div && !node_is(n, "Mul")) || ox_dtype(n->out[0]) != DT_DOUBLE)
        return false;
    int k = ox_known_scalar(n->graph, n->in[1], s) ? 1 : 0;
    if (k == 0 && (div || !ox_known_scalar(n->graph, n->in[0], s)))
        return false;
    *x = n->in[1 - k];
    *s = div ? 1 / *s : *s;
    return held(*s) != *s && held(*s) != 0 && isfinite((float)*s) &&
        ox_rank(*x) >= ox_rank(n->in[k]);
}

static Ox scaled_in_parts(Graph *g, Ox x, double s)
{
    Ox most = mul(g, x, held(s));
    Ox rest = mul(g, x, s - held(s));
    return ox_g(g, "Add", most, rest);
}

Ox double_scale(const Node *n)
{
    double s;
    Ox x;
    return scaled_by(n, &s, &x) && made_by(x, "MatMul") ? scaled_in_parts(n->graph, x, s) : NULL;
}

Ox double_factor(Ox v)
{
    double s;
    Ox x;
    if (!v || v->kind != OX_NODE)
        return v;
    if (node_is(v->node, "Transpose")) {
        Ox from = double_factor(v->node->in[0]);
        return from == v->node->in[0] ? v
                                      : ox_make(v->node->graph, "Transpose", INPUTS(from),
                                                v->node->attr, (size_t)v->node->n_attr);
    }
    return scaled_by(v->node, &s, &x) ? scaled_in_parts(v->node->graph, x, s) : v;
}

Ox double_form(const Node *n)
{
    static const struct {
        const char *op;
        Ox (*fn)(Graph *g, Ox x);
    } forms[] = {
        { "Erf", erf_of },
        { "Atan", atan_of },
        { "Asin", asin_of },
        { "Acos", acos_of },
    };
    if (n->n_in != 1 || ox_dtype(n->in[0]) != DT_DOUBLE)
        return NULL;
    for (size_t i = 0; i < COUNT(forms); i++)
        if (node_is(n, forms[i].op))
            return forms[i].fn(n->graph, n->in[0]);
    return NULL;
}
