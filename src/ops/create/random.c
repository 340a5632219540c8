/* random.c - random tensors, with ONNX's RandomUniform and RandomNormal: other numbers than
 * PyTorch's, the same distribution.
 *
 * Every other distribution is a function of these two, or counts them in a Loop (gamma, Poisson,
 * binomial). A generator is an argument that no ONNX operator has; it is dropped. */
#include "ops/internal.h"

#include <math.h>

/* ---- the two sources ---- */

/* Runtimes draw float32 and float64; a half is rounded from float32. */
static DType drawn_type(DType t) { return t == DT_FLOAT16 || t == DT_BFLOAT16 ? DT_FLOAT : t; }

/* RandomUniformLike or RandomNormalLike (onnx: the name without Like), of like's shape and type t.
 * attr: at most 5 attributes, such as low and high. */
static Ox random_like(Op *op, const char *onnx, Ox like, DType t, const Attr *attr, size_t n_attr)
{
    Attr all[6] = { INT("dtype", drawn_type(t)) };
    for (size_t i = 0; i < n_attr; i++)
        all[i + 1] = attr[i];
    Str name = str_fmt(op->cx, "%sLike", onnx);
    Ox drawn = ox_make(op->g, name->s, INPUTS(like), all, n_attr + 1);
    return ox_cast(op->g, drawn, t);
}

static Ox random_of(Op *op, const char *onnx, const Dim *dims, size_t rank, DType t,
                    const Attr *attr, size_t n_attr);

/* Complex numbers: both parts are drawn. Those of a normal number have a variance of 1 together, so
 * each is scaled by sqrt(1/2). */
static Ox random_pairs(Op *op, const char *onnx, const Dim *dims, size_t rank, DType t,
                       const Attr *attr, size_t n_attr)
{
    Dim pairs[MAX_RANK + 1];
    for (size_t i = 0; i < rank; i++)
        pairs[i] = dims[i];
    pairs[rank] = dim_int(op->cx, 2);
    Ox x = random_of(op, onnx, pairs, rank + 1, dtype_of_parts(t), attr, n_attr);
    if (strcmp(onnx, "RandomNormal") == 0)
        x = ox(op, "Mul", x, number_like(op, 0.70710678118654752440, x));
    return ox_of_pair(op->g, x);
}

/* RandomUniform or RandomNormal (onnx) of these dims and type t. Dynamic dims need the Like
 * form, on a tensor expanded to them. attr: at most 4 attributes. */
static Ox random_of(Op *op, const char *onnx, const Dim *dims, size_t rank, DType t,
                    const Attr *attr, size_t n_attr)
{
    if (ctx_failed(op->cx))
        return POISON;
    int64_t known[MAX_RANK];
    bool fixed = true;
    if (dtype_is_complex(t))
        return random_pairs(op, onnx, dims, rank, t, attr, n_attr);
    for (size_t i = 0; i < rank; i++)
        fixed &= dim_known(dims[i], &known[i]);
    if (!fixed) {
        Ox zero = ox_integer(op->g, t, 0);
        Ox shape = ox_dims(op->g, dims, rank);
        return random_like(op, onnx, ox(op, "Expand", zero, shape), t, attr, n_attr);
    }
    Attr all[6] = { INT("dtype", drawn_type(t)), INT_LIST("shape", known, rank) };
    for (size_t i = 0; i < n_attr; i++)
        all[i + 2] = attr[i];
    return ox_cast(op->g, ox_make(op->g, onnx, ((OxList){ NULL, 0 }), all, n_attr + 2), t);
}

/* The type in which random numbers for x are computed. */
static DType computed(Ox x) { return ox_ok(x) && ox_dtype(x) == DT_DOUBLE ? DT_DOUBLE : DT_FLOAT; }

/* Numbers in [0, 1), in x's shape. */
static Ox uniform_like(Op *op, Ox x)
{
    return random_like(op, "RandomUniform", x, computed(x), NULL, 0);
}

/* Numbers of the standard normal distribution, in x's shape. */
static Ox normal_like(Op *op, Ox x)
{
    return random_like(op, "RandomNormal", x, computed(x), NULL, 0);
}

/* x * by + plus, without the nodes that change nothing. */
static Ox scaled(Op *op, Ox x, double by, double plus)
{
    x = by == 1 ? x : ox(op, "Mul", x, number_like(op, by, x));
    return plus == 0 ? x : ox(op, "Add", x, number_like(op, plus, x));
}

/* text: RandomUniform (rand) or RandomNormal (randn) */
static Ox lower_random(Op *op)
{
    Dims d = arg_new_sizes(op, "size");
    return random_of(op, op->row->text, d.at, d.n, arg_dtype(op, "dtype", dtype_default(op->cx)),
                     NULL, 0);
}

static Ox lower_random_like(Op *op)
{
    Ox x = arg(op, "self");
    int rank;
    if (!ox_ok(x) || !need_rank(op, x, -1, &rank))
        return POISON;
    return random_of(op, op->row->text, x->type->dim, (size_t)rank,
                     arg_dtype(op, "dtype", ox_dtype(x)), NULL, 0);
}

/* ---- whole numbers ---- */

/* A type that holds all whole numbers between these: float32 does up to 2^24. */
static DType type_for(double low, double high)
{
    return fabs(low) > 0x1p24 || fabs(high) > 0x1p24 ? DT_DOUBLE : DT_FLOAT;
}

/* May whole numbers of [low, high) be drawn? False after PyTorch's error. */
static bool range_is_valid(Op *op, int64_t low, int64_t high)
{
    return low < high ||
        fail(op->cx, E_VALUE,
             "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
             (long long)low, (long long)high);
}

/* floor of a uniform number in [low, high); row->datum: 1 has `low` */
static Ox lower_randint(Op *op)
{
    int64_t low = op->row->datum ? arg_int(op, "low") : 0;
    int64_t high = arg_int(op, "high");
    Dims d = arg_new_sizes(op, "size");
    if (!range_is_valid(op, low, high))
        return POISON;
    const Attr range[] = { FLOAT("low", (double)low), FLOAT("high", (double)high) };
    Ox uniform = random_of(op, "RandomUniform", d.at, d.n, type_for((double)low, (double)high),
                           range, 2);
    return ox_cast(op->g, ox(op, "Floor", uniform), arg_dtype(op, "dtype", DT_INT64));
}

static Ox lower_randint_like(Op *op)
{
    Ox x = arg(op, "self");
    int64_t low = op->row->datum ? arg_int(op, "low") : 0;
    int64_t high = arg_int(op, "high");
    if (!range_is_valid(op, low, high))
        return POISON;
    const Attr range[] = { FLOAT("low", (double)low), FLOAT("high", (double)high) };
    if (!ox_ok(x))
        return POISON;
    Ox uniform = random_like(op, "RandomUniform", x, type_for((double)low, (double)high), range, 2);
    return ox_cast(op->g, ox(op, "Floor", uniform), arg_dtype(op, "dtype", ox_dtype(x)));
}

/* floor(u * high), with high a tensor. */
static Ox lower_randint_like_tensor(Op *op)
{
    Ox x = arg(op, "self");
    Ox high = number_as(op, arg_value(op, "high"), DT_DOUBLE);
    if (!ox_ok(x))
        return POISON;
    Ox uniform = random_like(op, "RandomUniform", x, DT_DOUBLE, NULL, 0);
    Ox whole = ox(op, "Floor", ox(op, "Mul", uniform, high));
    return ox_cast(op->g, whole, arg_dtype(op, "dtype", ox_dtype(x)));
}

/* A random permutation: the indices that sort n random numbers. */
static Ox lower_randperm(Op *op)
{
    Dim n = arg_dim_expr(op, "n");
    Ox keys = random_of(op, "RandomUniform", &n, 1, DT_FLOAT, NULL, 0);
    Ox k = ox_dims(op->g, &n, 1);
    Ox out[2];
    if (!ox_make_n(op->g, "TopK", INPUTS(keys, k), ATTRS(INT("axis", 0)), out, 2))
        return POISON;
    return ox_cast(op->g, out[1], arg_dtype(op, "dtype", DT_INT64));
}

/* ---- yes or no ---- */

/* Is a uniform number below p? Of x's shape and type. */
static Ox flipped(Op *op, Ox x, Ox p)
{
    Ox u = uniform_like(op, x);
    Ox yes = ox(op, "Less", u, ox_cast(op->g, p, computed(x)));
    return ox_ok(x) ? ox_cast(op->g, yes, ox_dtype(x)) : POISON;
}

static Ox lower_bernoulli(Op *op)
{
    Ox x = arg(op, "self");
    DType t = ox_dtype(x);
    if (!ox_ok(x) || !need_kernel(op, "bernoulli_tensor_cpu_p_", t, dtype_is_float(t)))
        return POISON;
    return flipped(op, x, x);
}

static Ox probability(Op *op, Ox x) { return number_as(op, arg_value(op, "p"), computed(x)); }

/* False after PyTorch's error: p is a number, and no probability. */
static bool has_probability(Op *op)
{
    Value p = arg_value(op, "p");
    return p.tag != V_FLOAT || (p.f >= 0 && p.f <= 1) ||
        fail(op->cx, E_VALUE, "bernoulli_ expects p to be in [0, 1], but got p=%g", p.f);
}

static Ox lower_bernoulli_p(Op *op)
{
    Ox x = arg(op, "self");
    if (!has_probability(op))
        return POISON;
    return flipped(op, x, probability(op, x));
}

static Value lower_bernoulli_(Op *op)
{
    Ox x = arg(op, "self");
    if (!has_probability(op))
        return val_poison();
    return written(op, flipped(op, x, probability(op, x)));
}

/* ---- choices ---- */

/* n indices without replacement: those of the n largest of log p + g, g of Gumbel's distribution.
 * Their distribution is that of drawing one after the other. */
static Ox without_replacement(Op *op, Ox log_p, Ox n)
{
    Ox u = uniform_like(op, log_p);
    Ox least = number_like(op, 1e-30, u);
    Ox inner = ox(op, "Neg", ox(op, "Log", ox(op, "Max", u, least)));
    Ox gumbel = ox(op, "Neg", ox(op, "Log", ox(op, "Max", inner, least)));
    Ox keys = ox(op, "Add", log_p, gumbel);
    Ox out[2];
    if (!ox_make_n(op->g, "TopK", INPUTS(keys, n), ATTRS(INT("axis", -1)), out, 2))
        return POISON;
    return out[1];
}

/* n draws from the rows of a matrix, or from a vector, of probabilities. ONNX's Multinomial
 * draws with replacement, from rows. */
static Ox lower_multinomial(Op *op)
{
    Ox p = arg(op, "self");
    int64_t n = arg_int(op, "num_samples");
    int rank;
    if (!need_rank(op, p, 2, &rank) || ctx_failed(op->cx))
        return POISON;
    if (n < 1)
        return op_fail(op, E_VALUE, "cannot sample n_sample <= 0 samples");
    if (rank < 1 || rank > 2)
        return op_fail(op, E_VALUE, "prob_dist must be 1 or 2 dim");
    Ox log_p = ox(op, "Log", ox_cast(op->g, p, DT_FLOAT));
    if (n > 1 && !arg_bool(op, "replacement"))
        return without_replacement(op, log_p, ints(op, n));
    Ox batch = rank == 1 ? unsqueeze_axis(op, log_p, 0) : log_p;
    Ox axes = ints(op, 0);
    Ox at = ox_with(op, "Multinomial", INPUTS(batch), INT("sample_size", n),
                    INT("dtype", DT_INT64));
    return rank == 1 ? ox(op, "Squeeze", at, axes) : at;
}

/* ---- other distributions ---- */

/* normal(mean, std): z * std + mean, of mean's and std's common shape; each is a number or a
 * tensor. */
static Ox lower_normal(Op *op)
{
    Value mean = arg_value(op, "mean");
    Value std = arg_value(op, "std");
    if (std.tag == V_FLOAT && std.f < 0)
        return op_fail(op, E_VALUE, "normal expects std >= 0.0, but found std %g", std.f);
    Ox first = mean.tag == V_TENSOR ? arg(op, "mean") : arg(op, "std");
    Ox second = first;
    if (mean.tag == V_TENSOR && std.tag == V_TENSOR)
        second = arg(op, "std");
    DType t = ox_dtype(first);
    if (!ox_ok(first) ||
        !need_kernel(op, "normal_kernel_cpu", t, dtype_is_float(t) || dtype_is_complex(t)))
        return POISON;
    Ox shape = first;
    if (second != first)
        shape = ox(op, "Add", first, ox_cast(op->g, second, ox_dtype(first)));
    Ox z = normal_like(op, shape);
    Ox by = ox_ok(z) ? number_as(op, std, ox_dtype(z)) : POISON;
    Ox at = ox_ok(z) ? number_as(op, mean, ox_dtype(z)) : POISON;
    Ox out = ox(op, "Add", ox(op, "Mul", z, by), at);
    return ox_ok(first) ? ox_cast(op->g, out, ox_dtype(first)) : POISON;
}

static Ox lower_normal_size(Op *op)
{
    Dims d = arg_new_sizes(op, "size");
    double mean = arg_float(op, "mean");
    double std = arg_float(op, "std");
    DType t = arg_dtype(op, "dtype", dtype_default(op->cx));
    if (std < 0)
        return op_fail(op, E_VALUE, "normal expects std >= 0.0, but found std %g", std);
    if (std == 0) /* no spread, which ONNX Runtime does not survive */
        return expand_dims(op, ox_number(op->g, t, mean), d.at, (int)d.n);
    const Attr shape[] = { FLOAT("mean", mean), FLOAT("scale", std) };
    return random_of(op, "RandomNormal", d.at, d.n, t, shape, 2);
}

typedef enum { UNIFORM, NORMAL, LOG_NORMAL, EXPONENTIAL, GEOMETRIC, CAUCHY, INTEGERS } Distribution;

/* log of 1 - u: u may be 0, never 1 */
static Ox log_rest(Op *op, Ox x)
{
    Ox u = uniform_like(op, x);
    Ox one = number_like(op, 1, u);
    return ox(op, "Log", ox(op, "Sub", one, u));
}

/* median + sigma tan(pi (u - 1/2)) */
static Ox cauchy(Op *op, Ox x)
{
    Ox angle = scaled(op, uniform_like(op, x), 3.14159265358979323846, -1.57079632679489661923);
    Ox top = ox(op, "Sin", angle);
    Ox bottom = ox(op, "Cos", angle);
    Ox tangent = ox(op, "Div", top, bottom);
    return scaled(op, tangent, arg_float(op, "sigma"), arg_float(op, "median"));
}

/* random_() without bounds draws whole numbers below this one, all of which the type can hold. */
static double integers_end(DType t)
{
    switch (t) {
    case DT_BOOL:     return 2;
    case DT_FLOAT16:  return 0x1p11;
    case DT_BFLOAT16: return 0x1p8;
    case DT_FLOAT:    return 0x1p24;
    case DT_DOUBLE:   return 0x1p53;
    default:          return ldexp(1, (int)dtype_size(t) * 8 - dtype_is_signed(t));
    }
}

static Ox integers(Op *op, Ox x)
{
    bool bounded = has_param(op, "to") && arg_given(op, "to");
    int64_t from = has_param(op, "from") ? arg_int(op, "from") : 0;
    if (bounded && !range_is_valid(op, from, arg_int(op, "to")))
        return POISON;
    double low = (double)from;
    double high = bounded ? (double)arg_int(op, "to") : integers_end(ox_dtype(x));
    const Attr range[] = { FLOAT("low", low), FLOAT("high", high) };
    return ox(op, "Floor", random_like(op, "RandomUniform", x, type_for(low, high), range, 2));
}

/* Has PyTorch numbers of this distribution in x's type? False after its error. */
static bool has_distribution(Op *op, Ox x)
{
    static const char *const kernels[] = {
        [UNIFORM] = "check_uniform_bounds",
        [NORMAL] = "normal_kernel_cpu",
        [LOG_NORMAL] = "log_normal_cpu",
        [GEOMETRIC] = "geometric_cpu",
    };
    Distribution which = (Distribution)op->row->datum;
    DType t = ox_dtype(x);
    if (dtype_is_float(t) || which == INTEGERS || (which == GEOMETRIC && t != DT_BOOL))
        return true;
    if (which == EXPONENTIAL || which == CAUCHY)
        return fail(op->cx, E_VALUE,
                    "%s distribution is a continuous probability distribution. dtype must be a "
                    "floating point but you specified %s",
                    which == CAUCHY ? "Cauchy" : "Exponential", torch_dtype_name(t));
    return need_kernel(op, kernels[which], t, false);
}

/* Is the number that a distribution rests on such as PyTorch takes? False after its error. */
static bool parameter_is_valid(Op *op)
{
    static const struct {
        const char *name, *message;
        bool zero;      /* is 0 allowed? */
        bool below_one; /* has it to be less than 1? */
    } known[] = {
        [NORMAL] = { "std", "normal expects std >= 0.0, but found std ", true, false },
        [LOG_NORMAL] = { "std", "log_normal_ expects std > 0.0, but found std=", false, false },
        [EXPONENTIAL] = { "lambd", "exponential_ expects lambda > 0.0, but found lambda=", false,
                          false },
        [GEOMETRIC] = { "p", "geometric_ expects p to be in (0, 1), but got p=", false, true },
        [CAUCHY] = { "sigma", "cauchy_ expects sigma > 0.0, but found sigma=", false, false },
        [INTEGERS] = { 0 },
    };
    const char *name = known[op->row->datum].name;
    if (!name)
        return true;
    double v = arg_float(op, name);
    bool low = v > 0 || (v == 0 && known[op->row->datum].zero);
    bool high = known[op->row->datum].below_one && v >= 1;
    return (low && !high) || fail(op->cx, E_VALUE, "%s%g", known[op->row->datum].message, v);
}

/* Do the bounds of uniform numbers stand in their order? False after PyTorch's error. */
static bool bounds_are_valid(Op *op)
{
    if (op->row->datum != UNIFORM || arg_float(op, "from") <= arg_float(op, "to"))
        return true;
    return fail(op->cx, E_VALUE,
                "uniform_ expects to return a [from, to) range, but found from=%g > to=%g",
                arg_float(op, "from"), arg_float(op, "to"));
}

/* Numbers of the distribution row->datum, in x's shape and the type computed(x). */
static Ox drawn(Op *op, Ox x)
{
    switch ((Distribution)op->row->datum) {
    case UNIFORM:
        return scaled(op, uniform_like(op, x), arg_float(op, "to") - arg_float(op, "from"),
                      arg_float(op, "from"));
    case NORMAL: return scaled(op, normal_like(op, x), arg_float(op, "std"), arg_float(op, "mean"));
    case LOG_NORMAL:
        return ox(op, "Exp",
                  scaled(op, normal_like(op, x), arg_float(op, "std"), arg_float(op, "mean")));
    case EXPONENTIAL: return scaled(op, log_rest(op, x), -1 / arg_float(op, "lambd"), 0);
    case GEOMETRIC:
        return scaled(
            op, ox(op, "Floor", scaled(op, log_rest(op, x), 1 / log1p(-arg_float(op, "p")), 0)), 1,
            1);
    case CAUCHY:   return cauchy(op, x);
    case INTEGERS: return integers(op, x);
    }
    return POISON;
}

/* Complex numbers: PyTorch draws both parts alike. Parts of normal numbers have the mean each, and
 * half of the variance. */
static Ox complex_drawn(Op *op, Ox x)
{
    bool normal = op->row->datum == NORMAL;
    int rank;
    Dim pairs[MAX_RANK + 1];
    if (!normal && op->row->datum != UNIFORM)
        return op_fail(op, E_VALUE, "PyTorch has it for real numbers only");
    if (!need_rank(op, x, -1, &rank))
        return POISON;
    ox_sizes(x, pairs);
    pairs[rank] = dim_int(op->cx, 2);
    double by = normal ? arg_float(op, "std") * 0.70710678118654752440
                       : arg_float(op, "to") - arg_float(op, "from");
    Ox parts = random_of(op, normal ? "RandomNormal" : "RandomUniform", pairs, (size_t)rank + 1,
                         dtype_of_parts(ox_dtype(x)), NULL, 0);
    return ox_of_pair(op->g, scaled(op, parts, by, arg_float(op, normal ? "mean" : "from")));
}

static Ox drawn_like_self(Op *op)
{
    Ox x = arg(op, "self");
    if (!ox_ok(x) || !parameter_is_valid(op) || !bounds_are_valid(op))
        return POISON;
    if (ox_is_complex(x))
        return complex_drawn(op, x);
    if (!has_distribution(op, x))
        return POISON;
    return ox_cast(op->g, drawn(op, x), ox_dtype(x));
}

static Value lower_drawn_(Op *op) { return written(op, drawn_like_self(op)); }

#define HOW \
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define HOW_INT \
    "ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define GENERATED "*, Generator? generator, "
#define LIKE      HOW ", MemoryFormat? memory_format=None"
/* ---- distributions that are drawn in a Loop, until each element has its number ---- */

/* -log of a uniform number in (0, 1]: an exponential number, the time until the next event when
 * there is one event in a unit of time on average. */
static Ox waiting_like(Op *op, Ox x)
{
    Ox rest = ox(op, "Sub", number_like(op, 1, x),
                 random_like(op, "RandomUniform", x, DT_DOUBLE, NULL, 0));
    return ox(op, "Neg", ox(op, "Log", rest));
}

typedef struct Gamma {
    Ox d, c;
} Gamma;

/* Marsaglia and Tsang's method: d v for v = (1 + c x)^3 of a normal x, unless it is rejected.
 * state[0]: the number; state[1]: is it still to be drawn? */
static void gamma_step(Op *op, const void *data, Ox k, const Ox *state, Ox *next, Ox *go)
{
    const Gamma *g = data;
    (void)k;
    Ox x = random_like(op, "RandomNormal", state[0], DT_DOUBLE, NULL, 0);
    Ox one = number_like(op, 1, x);
    Ox zero = number_like(op, 0, x);
    Ox base = ox(op, "Add", ox(op, "Mul", g->c, x), one);
    Ox positive = ox(op, "Greater", base, zero);
    Ox safe = ox(op, "Where", positive, base, one);
    Ox v = ox(op, "Mul", ox(op, "Mul", safe, safe), safe);
    Ox half = scaled(op, ox(op, "Mul", x, x), 0.5, 0);
    Ox log_v = ox(op, "Log", v);
    Ox inner = ox(op, "Sub", ox(op, "Add", log_v, one), v);
    Ox limit = ox(op, "Add", half, ox(op, "Mul", g->d, inner));
    Ox low = ox(op, "Greater", ox(op, "Add", waiting_like(op, x), limit), zero);
    Ox accepted = ox(op, "And", low, positive);
    Ox taken = ox(op, "And", state[1], accepted);
    Ox number = ox(op, "Mul", g->d, v);
    next[0] = ox(op, "Where", taken, number, state[0]);
    next[1] = ox(op, "And", state[1], ox(op, "Not", accepted));
    *go = any_of(op, next[1]);
}

/* Gamma numbers for each alpha, which is double. Below 1 the number is drawn for alpha + 1 and
 * multiplied by u^(1 / alpha). NaN and infinite alphas are left out. */
static Ox gamma_of(Op *op, Ox alpha)
{
    Ox one = number_like(op, 1, alpha);
    Ox zero = number_like(op, 0, alpha);
    Ox small = ox(op, "Less", alpha, one);
    Ox more = ox(op, "Add", alpha, one);
    Ox positive = ox(op, "Greater", alpha, zero);
    Ox finite = ox(op, "Less", alpha, number_like(op, INFINITY, alpha));
    Ox valid = ox(op, "And", positive, finite);
    Ox raised = ox(op, "Where", small, more, alpha);
    Ox usable = ox(op, "Where", valid, raised, one);
    Gamma g = { .d = scaled(op, usable, 1, -1. / 3) };
    g.c = ox(op, "Reciprocal", ox(op, "Sqrt", scaled(op, g.d, 9, 0)));
    Ox state[] = { ox(op, "Sub", alpha, alpha), valid };
    if (!op_loop(op, NULL, gamma_step, &g, state, 2))
        return POISON;
    Ox power = ox(op, "Exp", ox(op, "Neg", ox(op, "Div", waiting_like(op, alpha), alpha)));
    Ox less = ox(op, "Mul", state[0], power);
    return ox(op, "Where", ox(op, "And", small, valid), less, state[0]);
}

static Ox lower_standard_gamma(Op *op)
{
    Ox x = arg(op, "self");
    Ox out = ox_ok(x) ? gamma_of(op, ox_cast(op->g, x, DT_DOUBLE)) : POISON;
    return ox_ok(out) ? ox_cast(op->g, out, ox_dtype(x)) : POISON;
}

/* Gamma numbers that sum up to 1 along the last axis */
static Ox lower_sample_dirichlet(Op *op)
{
    Ox x = arg(op, "self");
    Ox drawn = ox_ok(x) ? gamma_of(op, ox_cast(op->g, x, DT_DOUBLE)) : POISON;
    int rank;
    if (!ox_ok(drawn) || !need_rank(op, x, 1, &rank))
        return POISON;
    Axes last = { .at = { rank - 1 }, .n = rank > 0 };
    Ox out = ox(op, "Div", drawn, rank ? reduce(op, "ReduceSum", drawn, &last, true) : drawn);
    return ox_ok(out) ? ox_cast(op->g, out, ox_dtype(x)) : POISON;
}

/* How many events happen in a time of `data`. state[0]: the time of the last event; state[1]: the
 * count so far. There are as many iterations as the largest count. */
static void poisson_step(Op *op, const void *data, Ox k, const Ox *state, Ox *next, Ox *go)
{
    const Ox *rate = data;
    (void)k;
    next[0] = ox(op, "Add", state[0], waiting_like(op, state[0]));
    Ox within = ox(op, "Less", next[0], *rate);
    next[1] = ox(op, "Add", state[1], ox_ok(within) ? ox_cast(op->g, within, DT_DOUBLE) : POISON);
    *go = any_of(op, within);
}

static Ox lower_poisson(Op *op)
{
    Ox x = arg(op, "self");
    Ox rate = ox_ok(x) ? ox_cast(op->g, x, DT_DOUBLE) : POISON;
    Ox zeros = ox(op, "Sub", rate, rate);
    Ox state[] = { zeros, zeros }; /* of what is no number, or infinite, none */
    return op_loop(op, NULL, poisson_step, &rate, state, 2) ? ox_cast(op->g, state[1], ox_dtype(x))
                                                            : POISON;
}

typedef struct Binomial {
    Ox count, prob;
} Binomial;

/* Trial k of each element that has more than k trials. */
static void binomial_step(Op *op, const void *data, Ox k, const Ox *state, Ox *next, Ox *go)
{
    const Binomial *b = data;
    Ox u = random_like(op, "RandomUniform", state[0], DT_DOUBLE, NULL, 0);
    Ox hit = ox(op, "Less", u, b->prob);
    Ox number = ox_cast(op->g, k, DT_DOUBLE);
    Ox counts = ox(op, "And", hit, ox(op, "Less", number, b->count));
    Ox after = ox(op, "Add", number, number_like(op, 1, u));
    next[0] = ox(op, "Add", state[0], ox_ok(counts) ? ox_cast(op->g, counts, DT_DOUBLE) : POISON);
    *go = any_of(op, ox(op, "Less", after, b->count));
}

static Ox lower_binomial(Op *op)
{
    Ox n = arg(op, "count");
    Ox p = arg(op, "prob");
    if (!ox_ok(n) || !ox_ok(p))
        return POISON;
    Binomial b = { .count = ox_cast(op->g, n, DT_DOUBLE), .prob = ox_cast(op->g, p, DT_DOUBLE) };
    Ox zeros = ox(op, "Sub", b.count, b.count);
    Ox others = ox(op, "Sub", b.prob, b.prob);
    Ox state = ox(op, "Add", zeros, others);
    return op_loop(op, NULL, binomial_step, &b, &state, 1) ? ox_cast(op->g, state, ox_dtype(n))
                                                           : POISON;
}

#define GENERATOR          "*, Generator? generator=None"
#define SOURCE(onnx, line) UNARY(lower_random, onnx, NULL, PLAIN, line)
/* A distribution: the form that writes into self and the one that does not. */
#define DRAWN(which, name, args)                                                       \
    CALL_FAMILY(lower_drawn_, which, NULL, PLAIN,                                      \
                "aten::" name "_(Tensor(a!) self, " args GENERATOR ") -> Tensor(a!)"); \
    FAMILY(drawn_like_self, which, NULL, PLAIN,                                        \
           "aten::" name "(Tensor self, " args GENERATOR ") -> Tensor")
#define INTO_SELF(which, line) CALL_FAMILY(lower_drawn_, which, NULL, PLAIN, line)

OP_ROWS(random)
{
    SOURCE("RandomUniform", "aten::rand(SymInt[] size, *, " HOW ") -> Tensor");
    OLDER("aten::rand.generator(SymInt[] size, " GENERATED HOW ") -> Tensor");
    SOURCE("RandomNormal", "aten::randn(SymInt[] size, *, " HOW ") -> Tensor");
    OLDER("aten::randn.generator(SymInt[] size, " GENERATED HOW ") -> Tensor");
    UNARY(lower_random_like, "RandomUniform", NULL, PLAIN,
          "aten::rand_like(Tensor self, *, " LIKE ") -> Tensor");
    OLDER("aten::rand_like.generator(Tensor self, " GENERATED LIKE ") -> Tensor");
    UNARY(lower_random_like, "RandomNormal", NULL, PLAIN,
          "aten::randn_like(Tensor self, *, " LIKE ") -> Tensor");
    OLDER("aten::randn_like.generator(Tensor self, " GENERATED LIKE ") -> Tensor");
    FAMILY(lower_randint, 0, NULL, PLAIN,
           "aten::randint(SymInt high, SymInt[] size, *, " HOW_INT ") -> Tensor");
    OLDER("aten::randint.generator(SymInt high, SymInt[] size, " GENERATED HOW_INT ") -> Tensor");
    FAMILY(lower_randint, 1, NULL, PLAIN,
           "aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, " HOW_INT ") -> Tensor");
    OLDER("aten::randint.low_generator(SymInt low, SymInt high, SymInt[] size, " GENERATED HOW_INT
          ") -> Tensor");
    FAMILY(lower_randint_like, 0, NULL, PLAIN,
           "aten::randint_like(Tensor self, SymInt high, *, " LIKE ") -> Tensor");
    OLDER("aten::randint_like.generator(Tensor self, SymInt high, " GENERATED LIKE ") -> Tensor");
    FAMILY(lower_randint_like, 1, NULL, PLAIN,
           "aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, " LIKE
           ") -> Tensor");
    OLDER("aten::randint_like.low_generator_dtype(Tensor self, SymInt low, SymInt "
          "high, " GENERATED LIKE ") -> Tensor");
    LOWER(lower_randint_like_tensor, NULL, PLAIN,
          "aten::randint_like.Tensor(Tensor self, Tensor high, *, " LIKE ") -> Tensor");
    OLDER("aten::randint_like.Tensor_generator(Tensor self, Tensor high, " GENERATED LIKE
          ") -> Tensor");
    LOWER(lower_randperm, NULL, PLAIN, "aten::randperm(SymInt n, *, " HOW_INT ") -> Tensor");
    OLDER("aten::randperm.generator(SymInt n, " GENERATED HOW_INT ") -> Tensor");
    LOWER(lower_bernoulli, NULL, PLAIN, "aten::bernoulli(Tensor self, " GENERATOR ") -> Tensor");
    LOWER(lower_bernoulli_p, NULL, PLAIN,
          "aten::bernoulli.p(Tensor self, float p, " GENERATOR ") -> Tensor");
    OLDER("aten::bernoulli.Tensor(Tensor self, Tensor p, " GENERATOR ") -> Tensor");
    CALL(lower_bernoulli_, NULL, PLAIN,
         "aten::bernoulli_.float(Tensor(a!) self, float p=0.5, " GENERATOR ") -> Tensor(a!)");
    OLDER("aten::bernoulli_.Tensor(Tensor(a!) self, Tensor p, " GENERATOR ") -> Tensor(a!)");
    LOWER(lower_multinomial, NULL, PLAIN,
          "aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, " GENERATOR
          ") -> Tensor");
    LOWER(lower_normal, NULL, PLAIN,
          "aten::normal.Tensor_float(Tensor mean, float std=1., " GENERATOR ") -> Tensor");
    OLDER("aten::normal.float_Tensor(float mean, Tensor std, " GENERATOR ") -> Tensor");
    OLDER("aten::normal.Tensor_Tensor(Tensor mean, Tensor std, " GENERATOR ") -> Tensor");
    LOWER(lower_normal_size, NULL, PLAIN,
          "aten::normal.float_float(float mean, float std, SymInt[] size, " GENERATOR ", " HOW
          ") -> Tensor");
    INTO_SELF(NORMAL,
              "aten::normal_(Tensor(a!) self, float mean=0., float std=1., " GENERATOR
              ") -> Tensor(a!)");
    FAMILY(drawn_like_self, NORMAL, NULL, PLAIN,
           "aten::normal_functional(Tensor self, float mean=0., float std=1., " GENERATOR
           ") -> Tensor");
    DRAWN(UNIFORM, "uniform", "float from=0., float to=1., ");
    DRAWN(LOG_NORMAL, "log_normal", "float mean=1., float std=2., ");
    DRAWN(EXPONENTIAL, "exponential", "float lambd=1., ");
    DRAWN(GEOMETRIC, "geometric", "float p, ");
    DRAWN(CAUCHY, "cauchy", "float median=0., float sigma=1., ");
    INTO_SELF(INTEGERS,
              "aten::random_.from(Tensor(a!) self, int from, int? to, " GENERATOR
              ") -> Tensor(a!)");
    OLDER("aten::random_.to(Tensor(a!) self, int to, " GENERATOR ") -> Tensor(a!)");
    OLDER("aten::random_(Tensor(a!) self, " GENERATOR ") -> Tensor(a!)");
    FAMILY(drawn_like_self, INTEGERS, NULL, PLAIN,
           "aten::random.from(Tensor self, int from, int? to, " GENERATOR ") -> Tensor");
    OLDER("aten::random.to(Tensor self, int to, " GENERATOR ") -> Tensor");
    OLDER("aten::random(Tensor self, " GENERATOR ") -> Tensor");
    LOWER(lower_poisson, NULL, PLAIN,
          "aten::poisson(Tensor self, Generator? generator=None) -> Tensor");
    LOWER(lower_binomial, NULL, PLAIN,
          "aten::binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor");
    LOWER(lower_standard_gamma, NULL, PLAIN,
          "aten::_standard_gamma(Tensor self, Generator? generator=None) -> Tensor");
    LOWER(lower_sample_dirichlet, NULL, PLAIN,
          "aten::_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor");
}
