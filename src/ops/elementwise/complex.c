/* complex.c - operators on complex tensors, in terms of their parts.
 *
 * A row complex::NAME serves aten::NAME when an argument is complex (bind.c); an operator that only
 * moves elements needs no such row. Parts are read and put together by onnx/complex_parts.c. The
 * formulas are the textbook's: where a part is infinite, they sometimes give NaN where PyTorch's
 * library gives an infinity. */
#include "ops/elementwise/complex.h"

#include <math.h>

/* ---- functions of one argument ---- */

typedef enum {
    F_NEG,
    F_CONJ,
    F_RECIPROCAL,
    F_SQUARE,
    F_EXP,
    F_EXP2,
    F_EXPM1,
    F_LOG,
    F_LOG2,
    F_LOG10,
    F_LOG1P,
    F_SQRT,
    F_RSQRT,
    F_SIN,
    F_COS,
    F_TAN,
    F_SINH,
    F_COSH,
    F_TANH,
    F_ASIN,
    F_ACOS,
    F_ATAN,
    F_ASINH,
    F_ACOSH,
    F_ATANH,
    F_SIGMOID,
    F_SILU,
    F_SGN
} Function;

static Z sgn(Op *op, Z a)
{
    Ox size = z_abs(op, a);
    Ox zero = number_like(op, 0, size);
    Ox one = number_like(op, 1, size);
    Ox none = ox(op, "Equal", size, zero);
    Ox by = ox(op, "Where", none, one, size);
    Ox re = over(op, a.re, by);
    Ox im = over(op, a.im, by);
    return (Z){ re, im };
}

static Z sigmoid(Op *op, Z a)
{
    Z one = z_number(op, 1, 0, a.re);
    Z falling = z_exp(op, (Z){ minus(op, a.re), a.im });
    Z bottom = z_add(op, one, (Z){ falling.re, minus(op, falling.im) });
    return z_div(op, one, bottom);
}

/* f of a. The circular functions are the hyperbolic ones turned: sin z = -i sinh(iz), and so on. */
static Z apply(Op *op, Function f, Z a)
{
    Z one = z_number(op, 1, 0, a.re);
    const double ln2 = 0.69314718055994530942;
    const double ln10 = 2.30258509299404568402;
    switch (f) {
    case F_NEG:        return z_scale(op, a, -1);
    case F_CONJ:       return z_conj(op, a);
    case F_RECIPROCAL: return z_div(op, one, a);
    case F_SQUARE:     return z_mul(op, a, a);
    case F_EXP:        return z_exp(op, a);
    case F_EXP2:       return z_exp(op, z_scale(op, a, ln2));
    case F_EXPM1:      return z_sub(op, z_exp(op, a), one);
    case F_LOG:        return z_log(op, a);
    case F_LOG2:       return z_scale(op, z_log(op, a), 1 / ln2);
    case F_LOG10:      return z_scale(op, z_log(op, a), 1 / ln10);
    case F_LOG1P:      return z_log(op, z_add(op, a, one));
    case F_SQRT:       return z_sqrt(op, a);
    case F_RSQRT:      return z_div(op, one, z_sqrt(op, a));
    case F_SIN:        return z_back(op, z_sinh(op, z_turn(op, a)));
    case F_COS:        return z_cosh(op, z_turn(op, a));
    case F_TAN:        return z_back(op, z_tanh(op, z_turn(op, a)));
    case F_SINH:       return z_sinh(op, a);
    case F_COSH:       return z_cosh(op, a);
    case F_TANH:       return z_tanh(op, a);
    case F_ASIN:       return z_back(op, z_asinh(op, z_turn(op, a)));
    case F_ACOS:       {
        Z asin_a = z_back(op, z_asinh(op, z_turn(op, a)));
        return z_sub(op, z_number(op, 1.57079632679489661923, 0, a.re), asin_a);
    }
    case F_ATAN:    return z_back(op, z_atanh(op, z_turn(op, a)));
    case F_ASINH:   return z_asinh(op, a);
    case F_ACOSH:   return z_acosh(op, a);
    case F_ATANH:   return z_atanh(op, a);
    case F_SIGMOID: return sigmoid(op, a);
    case F_SILU:    return z_mul(op, a, sigmoid(op, a));
    case F_SGN:     return sgn(op, a);
    }
    return (Z){ POISON, POISON };
}

static Ox lower_function(Op *op)
{
    return z_joined(op, apply(op, (Function)op->row->datum, z_arg(op, "self")));
}

/* Functions whose result is real. */
static Ox lower_abs(Op *op) { return z_abs(op, z_arg(op, "self")); }

static Ox lower_angle(Op *op)
{
    Z a = z_arg(op, "self");
    return z_angle(op, a.im, a.re);
}

/* isnan and isinf (row->text: ONNX's operator): true when they are of either part. */
static Ox lower_either(Op *op)
{
    Z a = z_arg(op, "self");
    Ox re = ox(op, op->row->text, a.re);
    Ox im = ox(op, op->row->text, a.im);
    return ox(op, "Or", re, im);
}

static Ox lower_isfinite(Op *op)
{
    Z a = z_arg(op, "self");
    Ox rest = less(op, a.re, a.re);
    Ox rest_im = less(op, a.im, a.im);
    Ox odd = ox(op, "IsNaN", rest);
    Ox odd_im = ox(op, "IsNaN", rest_im);
    return ox(op, "Not", ox(op, "Or", odd, odd_im));
}

static Ox lower_isreal(Op *op)
{
    Z a = z_arg(op, "self");
    return ox(op, "Equal", a.im, number_like(op, 0, a.im));
}

/* ---- arithmetic ---- */

/* The argument `name` multiplied by alpha. */
static Z with_alpha(Op *op, const char *name)
{
    Z z = z_arg(op, name);
    if (arg_is_number(op, "alpha", 1))
        return z;
    Ox alpha = number_as(op, arg_value(op, "alpha"), op->common);
    return z_mul(op, z, z_parts(op, alpha));
}

/* add, sub and rsub of two tensors of one complex type, computed on both parts at once, which lie
 * side by side (ox_pair). row->datum: 0 add, 1 sub, 2 rsub. */
static Ox lower_add(Op *op)
{
    const char *first = op->row->datum == 2 ? "other" : "self";
    const char *second = op->row->datum == 2 ? "self" : "other";
    Ox a = arg(op, first);
    Ox b = arg_is_number(op, "alpha", 1) ? arg(op, second) : z_joined(op, with_alpha(op, second));
    Ox x = ox_pair(op->g, a);
    Ox y = ox_pair(op->g, b);
    return ox_of_pair(op->g, ox_make(op->g, op->row->datum ? "Sub" : "Add", INPUTS(x, y), NULL, 0));
}

static Ox lower_mul(Op *op)
{
    Z a = z_arg(op, "self");
    Z b = z_arg(op, "other");
    return z_joined(op, z_mul(op, a, b));
}

static Ox lower_div(Op *op)
{
    Z a = z_arg(op, "self");
    Z b = z_arg(op, "other");
    return z_joined(op, z_div(op, a, b));
}

/* Small whole exponents by squaring, as PyTorch's square. */
static Ox lower_pow(Op *op)
{
    Z a = z_arg(op, "self");
    Z w = z_arg(op, "exponent");
    Z out = a;
    Value n = arg_value(op, "exponent");
    if (!arg_is_number(op, "exponent", 2) && !arg_is_number(op, "exponent", 3) &&
        !arg_is_number(op, "exponent", 1)) {
        if (arg_is_number(op, "exponent", 0.5))
            return z_joined(op, z_sqrt(op, a));
        return z_joined(op, z_pow(op, a, w));
    }
    for (int i = 1; i < (n.tag == V_INT ? (double)n.i : n.f); i++)
        out = z_mul(op, out, a);
    return z_joined(op, out);
}

/* In double precision, whatever the arguments. */
static Ox lower_float_power(Op *op)
{
    Z a = z_parts(op, number_as(op, arg_value(op, "self"), DT_COMPLEX128));
    Z w = z_parts(op, number_as(op, arg_value(op, "exponent"), DT_COMPLEX128));
    return z_joined(op, z_pow(op, a, w));
}

static Ox lower_logaddexp(Op *op)
{
    Z a = z_arg(op, "self");
    Z b = z_arg(op, "other");
    return z_joined(op, z_log_sum(op, a, b));
}

/* The largest real part m taken out: m + log(sum exp(x - m)) */
static Ox lower_logsumexp(Op *op)
{
    Ox x = arg(op, "self");
    Axes axes;
    bool keep;
    if (!reduced_axes(op, x, &axes, &keep))
        return POISON;
    Ox most = reduce(op, "ReduceMax", each_real(op, x), &axes, true);
    Ox infinite = ox(op, "IsInf", most);
    Ox zero = number_like(op, 0, most);
    Ox m = ox(op, "Where", infinite, zero, most);
    Z z = z_parts(op, x);
    Z away = { less(op, z.re, m), z.im };
    Ox total = reduce(op, "ReduceSum", z_joined(op, z_exp(op, away)), &axes, true);
    Z out = z_log(op, z_parts(op, total));
    Ox whole = z_joined(op, (Z){ sum(op, out.re, m), out.im });
    int64_t at[MAX_RANK];
    for (int i = 0; i < axes.n; i++)
        at[i] = axes.at[i];
    return keep || axes.n == 0 ? whole
                               : ox(op, "Squeeze", whole, ox_ints(op->g, at, (size_t)axes.n));
}

/* sin(pi z) / (pi z); 1 at 0 */
static Ox lower_sinc(Op *op)
{
    Z a = z_scale(op, z_arg(op, "self"), 3.14159265358979323846);
    Z one = z_number(op, 1, 0, a.re);
    Ox zero = number_like(op, 0, a.re);
    Ox none = ox(op, "Equal", a.re, zero);
    Ox none_im = ox(op, "Equal", a.im, zero);
    Ox at_zero = ox(op, "And", none, none_im);
    Z by = z_where(op, at_zero, one, a);
    return z_joined(
        op, z_where(op, at_zero, one, z_div(op, z_back(op, z_sinh(op, z_turn(op, a))), by)));
}

/* nan_to_num of each part by itself. */
static Ox lower_nan_to_num(Op *op)
{
    Z a = z_arg(op, "self");
    Ox out[2] = { a.re, a.im };
    for (int i = 0; i < 2; i++) {
        Value args[] = { val_tensor(op->cx, out[i]), arg_value(op, "nan"), arg_value(op, "posinf"),
                         arg_value(op, "neginf") };
        out[i] = call_ox(op, "aten::nan_to_num", args, COUNT(args));
    }
    return z_joined(op, (Z){ out[0], out[1] });
}

static Ox lower_addcmul(Op *op)
{
    Z self = z_arg(op, "self");
    Z a = z_arg(op, "tensor1");
    Z b = z_arg(op, "tensor2");
    Z by = z_parts(op, number_as(op, arg_value(op, "value"), op->common));
    Z product = op->row->datum ? z_div(op, a, b) : z_mul(op, a, b);
    return z_joined(op, z_add(op, self, z_mul(op, product, by)));
}

static Ox lower_lerp(Op *op)
{
    Z a = z_arg(op, "self");
    Z b = z_arg(op, "end");
    Z w = z_arg(op, "weight");
    return z_joined(op, z_add(op, a, z_mul(op, w, z_sub(op, b, a))));
}

/* row->datum: 1 is `not equal`. */
static Ox lower_eq(Op *op)
{
    Z a = z_arg(op, "self");
    Z b = z_arg(op, "other");
    Ox re = ox(op, "Equal", a.re, b.re);
    Ox im = ox(op, "Equal", a.im, b.im);
    Ox both = ox(op, "And", re, im);
    return op->row->datum ? ox(op, "Not", both) : both;
}

/* |self - other| <= atol + rtol |other|, of finite differences; or equal */
static Ox lower_isclose(Op *op)
{
    Z a = z_arg(op, "self");
    Z b = z_arg(op, "other");
    Z d = z_sub(op, a, b);
    Ox re = ox(op, "Equal", a.re, b.re);
    Ox im = ox(op, "Equal", a.im, b.im);
    Ox equal = ox(op, "And", re, im);
    Ox off = z_abs(op, d);
    Ox size = scaled(op, z_abs(op, b), arg_float(op, "rtol"));
    Ox allowed = ox(op, "Add", size, number_like(op, arg_float(op, "atol"), size));
    Ox infinite = ox(op, "IsInf", off);
    Ox finite = ox(op, "Not", infinite);
    Ox within = ox(op, "LessOrEqual", off, allowed);
    Ox near = ox(op, "And", finite, within);
    Ox out = ox(op, "Or", equal, near);
    if (!arg_bool(op, "equal_nan"))
        return out;
    Ox a_re = ox(op, "IsNaN", a.re);
    Ox a_im = ox(op, "IsNaN", a.im);
    Ox b_re = ox(op, "IsNaN", b.re);
    Ox b_im = ox(op, "IsNaN", b.im);
    Ox a_nan = ox(op, "Or", a_re, a_im);
    Ox b_nan = ox(op, "Or", b_re, b_im);
    return ox(op, "Or", out, ox(op, "And", a_nan, b_nan));
}

/* ---- reductions ---- */

static Ox lower_sum(Op *op)
{
    Ox x = arg(op, "self");
    Axes axes;
    bool keep;
    return reduced_axes(op, x, &axes, &keep) ? reduce(op, op->row->text, x, &axes, keep) : POISON;
}

typedef struct Product {
    Z of;
    int axis;
} Product;

/* States: the parts of the product so far */
static void product_step(Op *op, const void *data, Ox k, const Ox *state, Ox *next, Ox *go)
{
    const Product *p = data;
    Z factor;
    factor.re = ox_with(op, "Gather", INPUTS(p->of.re, k), INT("axis", p->axis));
    factor.im = ox_with(op, "Gather", INPUTS(p->of.im, k), INT("axis", p->axis));
    Z product = z_mul(op, (Z){ state[0], state[1] }, factor);
    next[0] = product.re;
    next[1] = product.im;
    (void)go;
}

/* One factor after the other, along the axis or through all elements. */
static Ox lower_prod(Op *op)
{
    Ox x = arg(op, "self");
    Dim dims[MAX_RANK];
    int rank;
    int axis = 0;
    int n = 0;
    if (!need_rank(op, x, -1, &rank))
        return POISON;
    bool whole = !has_param(op, "dim");
    if (whole)
        x = flatten_to_1d(op, x);
    else if (!arg_dim(op, "dim", rank, &axis) || rank == 0)
        return rank ? POISON : x;
    for (int i = 0; i < ox_rank(x); i++)
        if (i != axis)
            dims[n++] = ox_dim(x, i);
    Product p = { z_parts(op, x), axis };
    if (!ox_ok(p.of.im))
        return POISON;
    Ox one = number_like(op, 1, p.of.re);
    Ox zero = number_like(op, 0, p.of.re);
    Ox state[2] = { expand_dims(op, one, dims, n), NULL };
    state[1] = expand_dims(op, zero, dims, n);
    if (!op_loop(op, ox_dim_value(op->g, ox_dim(x, axis)), product_step, &p, state, 2))
        return POISON;
    Ox out = z_joined(op, (Z){ state[0], state[1] });
    return !whole && arg_bool(op, "keepdim") ? unsqueeze_axis(op, out, axis) : out;
}

static Ox lower_cumsum(Op *op)
{
    Ox x = arg(op, "self");
    int rank, axis;
    if (!need_rank(op, x, -1, &rank) || !arg_dim(op, "dim", rank, &axis))
        return POISON;
    if (rank == 0)
        return x;
    Ox pair = ox_pair(op->g, x);
    Ox at = ox_int(op->g, axis);
    return ox_of_pair(op->g, ox(op, "CumSum", pair, at));
}

/* The operator row->text of the absolute values, with the first row->datum arguments: a norm. */
static Value of_sizes(Op *op)
{
    Value *args = new_array(op->cx, Value, op->call->schema->n_param + 1);
    if (!args)
        return val_poison();
    for (int i = 0; i < op->call->schema->n_param; i++)
        args[i] = op->call->arg[i];
    if (has_param(op, "dtype") && !norm_has_types(op, "linalg.vector_norm"))
        return val_poison();
    Z z = z_arg(op, "self");
    DType to = has_param(op, "dtype") ? arg_dtype(op, "dtype", DT_NONE) : DT_NONE;
    if (to == DT_COMPLEX128 && ox_ok(z.re) && ox_ok(z.im))
        z = (Z){ ox_cast(op->g, z.re, DT_DOUBLE), ox_cast(op->g, z.im, DT_DOUBLE) };
    args[0] = val_tensor(op->cx, z_abs(op, z));
    return val_ok(args[0]) ? call_op(op, op->row->text, args, (size_t)op->row->datum)
                           : val_poison();
}

/* ---- products of matrices ---- */

/* Four products of real matrices by the operator of the plain row. */
static Z z_matmul(Op *op, const char *name, Z a, Z b)
{
    Ox out[4];
    Ox left[4] = { a.re, a.im, a.re, a.im };
    Ox right[4] = { b.re, b.im, b.im, b.re };
    for (int i = 0; i < 4; i++) {
        Value args[] = { val_tensor(op->cx, left[i]), val_tensor(op->cx, right[i]) };
        out[i] = call_ox(op, name, args, 2);
    }
    Ox re = less(op, out[0], out[1]);
    Ox im = sum(op, out[2], out[3]);
    return (Z){ re, im };
}

/* dot, and vdot (row->datum 1), which conjugates the first vector. */
static Ox lower_matmul(Op *op)
{
    const Schema *s = op->call->schema;
    Z a = z_arg(op, s->param[0].name->s);
    Z b = z_arg(op, s->param[1].name->s);
    return z_joined(op, z_matmul(op, op->row->text, op->row->datum ? z_conj(op, a) : a, b));
}

/* beta self + alpha (a b) */
static Ox lower_addmm(Op *op)
{
    const Schema *s = op->call->schema;
    Z self = z_arg(op, "self");
    Z a = z_arg(op, s->param[1].name->s);
    Z b = z_arg(op, s->param[2].name->s);
    Z product = z_matmul(op, op->row->text, a, b);
    Z beta = z_parts(op, number_as(op, arg_value(op, "beta"), op->common));
    Z alpha = z_parts(op, number_as(op, arg_value(op, "alpha"), op->common));
    product = arg_is_number(op, "alpha", 1) ? product : z_mul(op, product, alpha);
    if (arg_is_number(op, "beta", 0))
        return z_joined(op, product);
    return z_joined(
        op, z_add(op, arg_is_number(op, "beta", 1) ? self : z_mul(op, self, beta), product));
}

/* row by column of two vectors */
static Ox lower_outer(Op *op)
{
    Ox a = arg(op, "self");
    Ox b = arg(op, "vec2");
    int rank_a, rank_b;
    if (!need_rank(op, a, 1, &rank_a) || !need_rank(op, b, 1, &rank_b))
        return POISON;
    if (rank_a != 1 || rank_b != 1)
        return op_fail(op, E_VALUE, "outer: Expected 1-D arguments, but got a %d-D and a %d-D one",
                       rank_a, rank_b);
    Z x = z_parts(op, unsqueeze_axis(op, a, 1));
    Z y = z_parts(op, b);
    return z_joined(op, z_mul(op, x, y));
}

/* x w^T + b */
static Ox lower_linear(Op *op)
{
    Ox w = arg(op, "weight");
    Ox b = arg_opt(op, "bias");
    int rank;
    if (!need_rank(op, w, 2, &rank) || rank != 2)
        return ox_ok(w) ? op_refuse(op, "a weight of rank %d", rank) : POISON;
    Z x = z_arg(op, "input");
    Z out = z_matmul(op, "aten::matmul", x, z_parts(op, permute_to(op, w, (int[]){ 1, 0 }, 2)));
    return z_joined(op, b ? z_add(op, out, z_parts(op, b)) : out);
}

/* ---- parts, views ---- */

/* Are both of one of the types that have complex numbers? False after PyTorch's error. */
static bool parts_fit(Op *op, Ox a, Ox b)
{
    if (!ox_ok(a) || !ox_ok(b))
        return false;
    Ox part[2] = { a, b };
    for (int i = 0; i < 2; i++) {
        DType t = ox_dtype(part[i]);
        if (t != DT_FLOAT && t != DT_DOUBLE && t != DT_FLOAT16)
            return fail(
                op->cx, E_VALUE,
                "Expected both inputs to be Half, Float or Double tensors but got %s and %s",
                torch_dtype_name(ox_dtype(a)), torch_dtype_name(ox_dtype(b)));
    }
    return ox_dtype(a) == ox_dtype(b) ||
        fail(op->cx, E_VALUE,
             "Expected object of scalar type %s but got scalar type %s for second argument",
             torch_dtype_name(ox_dtype(a)), torch_dtype_name(ox_dtype(b)));
}

static Ox lower_complex(Op *op)
{
    Ox re = arg(op, "real");
    Ox im = arg(op, "imag");
    if (!parts_fit(op, re, im))
        return POISON;
    Ox none = part_zeros(op, im);
    Ox all = part_zeros(op, re);
    re = less(op, re, none); /* -0.0 plus 0 would be 0 */
    return z_joined(op, (Z){ re, less(op, im, all) });
}

static Ox lower_polar(Op *op)
{
    Ox size = arg(op, "abs");
    Ox angle = arg(op, "angle");
    if (!parts_fit(op, size, angle))
        return POISON;
    Ox c = ox(op, "Cos", angle);
    Ox s = ox(op, "Sin", angle);
    Ox re = times(op, size, c);
    Ox im = times(op, size, s);
    return z_joined(op, (Z){ re, im });
}

static Ox lower_view_as_real(Op *op)
{
    Ox z = arg(op, "self");
    if (ox_ok(z) && !dtype_is_complex(ox_dtype(z)))
        return op_fail(op, E_VALUE, "view_as_real is only supported for complex tensors");
    return ox_pair(op->g, z);
}

static Ox write_pair(Op *op, Ox base, Ox part)
{
    (void)base;
    return ox_of_pair(op->g, part);
}

static Ox lower_view_as_complex(Op *op)
{
    Ox x = arg(op, "self");
    int rank;
    if (!need_rank(op, x, -1, &rank))
        return POISON;
    if (rank == 0)
        return op_fail(op, E_VALUE, "Input tensor must have one or more dimensions");
    if (!dim_require(op->cx, ox_dim(x, rank - 1), dim_int(op->cx, 2),
                     "Tensor must have a last dimension of size 2"))
        return POISON;
    return ox_of_pair(op->g, x);
}

static Ox write_of_pair(Op *op, Ox base, Ox part)
{
    (void)base;
    return ox_pair(op->g, part);
}

/* row->datum of the rows below: 0 the real part, 1 the imaginary one */
static Ox lower_real(Op *op)
{
    Ox z = arg(op, "self");
    return ox_ok(z) && dtype_is_complex(ox_dtype(z)) ? ox_part(op->g, z, 0) : z;
}

static Ox write_real(Op *op, Ox base, Ox part)
{
    return dtype_is_complex(ox_dtype(base)) ? z_joined(op, (Z){ part, ox_part(op->g, base, 1) })
                                            : part;
}

static Ox lower_imag(Op *op)
{
    Ox z = arg(op, "self");
    if (ox_ok(z) && !dtype_is_complex(ox_dtype(z)))
        return op_fail(op, E_VALUE, "imag is not implemented for tensors with non-complex dtypes.");
    return ox_part(op->g, z, 1);
}

static Ox write_imag(Op *op, Ox base, Ox part)
{
    return z_joined(op, (Z){ ox_part(op->g, base, 0), part });
}

Ox conjugate(Op *op, Ox z)
{
    return ox_ok(z) && dtype_is_complex(ox_dtype(z)) ? z_joined(op, z_conj(op, z_parts(op, z))) : z;
}
static Ox lower_conj(Op *op) { return conjugate(op, arg(op, "self")); }
/* _conj() is what conj() calls for complex tensors alone. */
static Ox lower_conj_of_complex(Op *op)
{
    Ox z = arg(op, "self");
    if (ox_ok(z) && !dtype_is_complex(ox_dtype(z)))
        return op_fail(op, E_VALUE, "_conj is only supported for complex tensors");
    return conjugate(op, z);
}
static Ox write_conj(Op *op, Ox base, Ox part)
{
    (void)base;
    return conjugate(op, part);
}

static Ox negated(Op *op, Ox x)
{
    return ox_ok(x) && dtype_is_complex(ox_dtype(x)) ? z_joined(op, z_scale(op, z_parts(op, x), -1))
                                                     : minus(op, x);
}
static Ox lower_neg_view(Op *op) { return negated(op, arg(op, "self")); }
static Ox write_neg(Op *op, Ox base, Ox part)
{
    (void)base;
    return negated(op, part);
}

static Ox lower_same(Op *op) { return arg(op, "self"); }

/* PyTorch's conj bit: does t read what another tensor holds as its conjugates? Here they have been
 * computed, but what PyTorch resolves is a copy. */
static bool is_conj(const Tensor *t)
{
    bool odd = false;
    for (; t->base && dtype_is_complex(tensor_type(t)->dtype); t = t->base) {
        const OpRow *row = row_of_view(t->view);
        odd ^= row && row->conjugates;
    }
    return odd;
}

/* Its neg bit, which the imaginary part of such a tensor has. */
static bool is_neg(const Tensor *t)
{
    bool odd = false;
    for (; t->base; t = t->base) {
        const OpRow *row = row_of_view(t->view);
        odd ^= row && (row->negates || (row->lower == lower_imag && is_conj(t->base)));
    }
    return odd;
}

static Value lower_is_conj(Op *op) { return val_bool(is_conj(arg_tensor(op, "self"))); }
static Value lower_is_neg(Op *op) { return val_bool(is_neg(arg_tensor(op, "self"))); }

static Tri shares_unless_conj(Op *op, Tensor *base, Ox read)
{
    (void)op;
    (void)read;
    return is_conj(base) ? NO : YES;
}

static Tri shares_unless_neg(Op *op, Tensor *base, Ox read)
{
    (void)op;
    (void)read;
    return is_neg(base) ? NO : YES;
}

static Ox lower_to_complex(Op *op)
{
    Ox x = arg(op, "self");
    return ox_ok(x) ? ox_cast(op->g, x, (DType)op->row->datum) : POISON;
}

#define BOTH "default(self, other)"
#define SELF "default(self)"
#define FUNCTION(f, name) \
    FAMILY(lower_function, f, SELF, PLAIN, "complex::" name "(Tensor self) -> Tensor")
#define TWO(fn, datum, name)                                                 \
    FAMILY(fn, datum, BOTH, PLAIN,                                           \
           "complex::" name ".Tensor(Tensor self, Tensor other) -> Tensor"); \
    OLDER("complex::" name ".Scalar(Tensor self, Scalar other) -> Tensor")
#define SUM(datum, name)                                                                        \
    FAMILY(lower_add, datum, BOTH, PLAIN,                                                       \
           "complex::" name ".Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"); \
    OLDER("complex::" name ".Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor")
#define PRODUCT(first, of, line)                                                         \
    OP_ROW(.kind = ROW_LOWER, .schema = (line), .lower = lower_matmul, .datum = (first), \
           .text = (of))
#define SIZES(n, of, line) \
    OP_ROW(.kind = ROW_CALL, .schema = (line), .call = of_sizes, .datum = (n), .text = (of))

OP_ROWS(complex)
{
    FUNCTION(F_NEG, "neg");
    FUNCTION(F_NEG, "negative");
    FUNCTION(F_CONJ, "conj_physical");
    FUNCTION(F_RECIPROCAL, "reciprocal");
    FUNCTION(F_SQUARE, "square");
    FUNCTION(F_EXP, "exp");
    FUNCTION(F_EXP2, "exp2");
    FUNCTION(F_EXPM1, "expm1");
    FUNCTION(F_LOG, "log");
    FUNCTION(F_LOG2, "log2");
    FUNCTION(F_LOG10, "log10");
    FUNCTION(F_LOG1P, "log1p");
    FUNCTION(F_SQRT, "sqrt");
    FUNCTION(F_RSQRT, "rsqrt");
    FUNCTION(F_SIN, "sin");
    FUNCTION(F_COS, "cos");
    FUNCTION(F_TAN, "tan");
    FUNCTION(F_SINH, "sinh");
    FUNCTION(F_COSH, "cosh");
    FUNCTION(F_TANH, "tanh");
    FUNCTION(F_ASIN, "asin");
    FUNCTION(F_ACOS, "acos");
    FUNCTION(F_ATAN, "atan");
    FUNCTION(F_ASINH, "asinh");
    FUNCTION(F_ACOSH, "acosh");
    FUNCTION(F_ATANH, "atanh");
    FUNCTION(F_SIGMOID, "sigmoid");
    FUNCTION(F_SILU, "silu");
    FUNCTION(F_SGN, "sgn");
    LOWER(lower_abs, NULL, PLAIN, "complex::abs(Tensor self) -> Tensor");
    LOWER(lower_angle, NULL, PLAIN, "complex::angle(Tensor self) -> Tensor");
    UNARY(lower_either, "IsNaN", NULL, PLAIN, "complex::isnan(Tensor self) -> Tensor");
    UNARY(lower_either, "IsInf", NULL, PLAIN, "complex::isinf(Tensor self) -> Tensor");
    LOWER(lower_isfinite, NULL, PLAIN, "complex::isfinite(Tensor self) -> Tensor");
    LOWER(lower_isreal, NULL, PLAIN, "complex::isreal(Tensor self) -> Tensor");
    SUM(0, "add");
    SUM(1, "sub");
    SUM(2, "rsub");
    SUM(1, "subtract");
    TWO(lower_mul, 0, "multiply");
    TWO(lower_div, 0, "divide");
    TWO(lower_div, 0, "true_divide");
    TWO(lower_mul, 0, "mul");
    TWO(lower_div, 0, "div");
    TWO(lower_eq, 0, "eq");
    TWO(lower_eq, 1, "ne");
    LOWER(lower_pow, "default(self, exponent)", PLAIN,
          "complex::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor");
    OLDER("complex::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor");
    OLDER("complex::pow.Scalar(Scalar self, Tensor exponent) -> Tensor");
    LOWER(lower_float_power, NULL, PLAIN,
          "complex::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor");
    OLDER("complex::float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor");
    OLDER("complex::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor");
    LOWER(lower_logaddexp, BOTH, PLAIN, "complex::logaddexp(Tensor self, Tensor other) -> Tensor");
    LOWER(lower_logsumexp, NULL, PLAIN,
          "complex::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor");
    LOWER(lower_sinc, NULL, PLAIN, "complex::sinc(Tensor self) -> Tensor");
    LOWER(lower_sinc, NULL, PLAIN, "complex::special_sinc(Tensor self) -> Tensor");
    LOWER(lower_nan_to_num, NULL, PLAIN,
          "complex::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? "
          "neginf=None) -> Tensor");
    FAMILY(lower_addcmul, 0, "default(self, tensor1, tensor2)", PLAIN,
           "complex::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> "
           "Tensor");
    FAMILY(lower_addcmul, 1, "default(self, tensor1, tensor2)", PLAIN,
           "complex::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> "
           "Tensor");
    LOWER(lower_lerp, "default(self, end, weight)", PLAIN,
          "complex::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor");
    OLDER("complex::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor");
    UNARY(lower_sum, "ReduceSum", SELF, PLAIN,
          "complex::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor");
    OLDER("complex::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
          "dtype=None) -> Tensor");
    UNARY(lower_sum, "ReduceMean", SELF, PLAIN,
          "complex::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor");
    OLDER("complex::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
          "dtype=None) -> Tensor");
    LOWER(lower_prod, SELF, PLAIN,
          "complex::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor");
    OLDER("complex::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? "
          "dtype=None) -> Tensor");
    LOWER(lower_cumsum, SELF, PLAIN,
          "complex::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor");
    SIZES(4, "aten::linalg_vector_norm",
          "complex::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool "
          "keepdim=False, *, ScalarType? dtype=None) -> Tensor");
    SIZES(2, "aten::norm", "complex::norm.Scalar(Tensor self, Scalar p=2) -> Tensor");
    SIZES(4, "aten::norm",
          "complex::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> "
          "Tensor");
    PRODUCT(0, "aten::matmul", "complex::matmul(Tensor self, Tensor other) -> Tensor");
    PRODUCT(0, "aten::mm", "complex::mm(Tensor self, Tensor mat2) -> Tensor");
    PRODUCT(0, "aten::bmm", "complex::bmm(Tensor self, Tensor mat2) -> Tensor");
    PRODUCT(0, "aten::mv", "complex::mv(Tensor self, Tensor vec) -> Tensor");
    PRODUCT(0, "aten::dot", "complex::dot(Tensor self, Tensor tensor) -> Tensor");
    PRODUCT(1, "aten::dot", "complex::vdot(Tensor self, Tensor other) -> Tensor");
    UNARY(lower_addmm, "aten::mm", "default(self, mat1, mat2)", PLAIN,
          "complex::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) "
          "-> Tensor");
    UNARY(lower_addmm, "aten::bmm", "default(self, batch1, batch2)", PLAIN,
          "complex::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar "
          "alpha=1) -> Tensor");
    UNARY(lower_addmm, "aten::mv", "default(self, mat, vec)", PLAIN,
          "complex::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) "
          "-> Tensor");
    LOWER(lower_outer, "default(self, vec2)", PLAIN,
          "complex::outer(Tensor self, Tensor vec2) -> Tensor");
    LOWER(lower_isclose, BOTH, PLAIN,
          "complex::isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool "
          "equal_nan=False) -> Tensor");
    LOWER(lower_linear, "default(input, weight, bias)", PLAIN,
          "complex::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor");
    LOWER(lower_complex, NULL, PLAIN, "aten::complex(Tensor real, Tensor imag) -> Tensor");
    LOWER(lower_polar, NULL, PLAIN, "aten::polar(Tensor abs, Tensor angle) -> Tensor");
    VIEW(lower_view_as_real, write_pair, NULL, PLAIN,
         "aten::view_as_real(Tensor(a) self) -> Tensor(a)");
    VIEW(lower_view_as_complex, write_of_pair, NULL, PLAIN,
         "aten::view_as_complex(Tensor(a) self) -> Tensor(a)");
    VIEW(lower_real, write_real, NULL, PLAIN, "aten::real(Tensor(a) self) -> Tensor(a)",
         .gives_itself = true);
    VIEW(lower_imag, write_imag, NULL, PLAIN, "aten::imag(Tensor(a) self) -> Tensor(a)");
    VIEW(lower_conj, write_conj, NULL, PLAIN, "aten::conj(Tensor(a) self) -> Tensor(a)",
         .gives_itself = true, .conjugates = true);
    VIEW(lower_conj_of_complex, write_conj, NULL, PLAIN, "aten::_conj(Tensor(a) self) -> Tensor(a)",
         .conjugates = true);
    VIEW(lower_neg_view, write_neg, NULL, PLAIN, "aten::_neg_view(Tensor(a) self) -> Tensor(a)",
         .negates = true);
    ITSELF(lower_same, 0, PLAIN, "aten::conj_physical(Tensor self) -> Tensor");
    LOWER(lower_conj, NULL, PLAIN, "aten::_conj_physical(Tensor self) -> Tensor");
    ITSELF_OR_COPY(lower_same, shares_unless_conj, PLAIN,
                   "aten::resolve_conj(Tensor(a) self) -> Tensor(a)");
    ITSELF_OR_COPY(lower_same, shares_unless_neg, PLAIN,
                   "aten::resolve_neg(Tensor(a) self) -> Tensor(a)");
    CALL(lower_is_conj, NULL, PLAIN, "aten::is_conj(Tensor self) -> bool");
    CALL(lower_is_neg, NULL, PLAIN, "aten::is_neg(Tensor self) -> bool");
    ITSELF(lower_to_complex, DT_COMPLEX64, PLAIN,
           "aten::_cast_ComplexFloat(Tensor self, bool non_blocking=False) -> Tensor");
    ITSELF(lower_to_complex, DT_COMPLEX128, PLAIN,
           "aten::_cast_ComplexDouble(Tensor self, bool non_blocking=False) -> Tensor");
}
