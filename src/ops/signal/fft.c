/* fft.c - Fourier transforms, by ONNX's DFT over one axis after the other; short ones (stft) over
 * frames.
 *
 * DFT takes a real tensor whose last axis holds the real and the imaginary part, a `pair`:
 * onnx/complex_parts.c gives those. DFT divides an inverse transform by n and no other; PyTorch has
 * three normalisations. The dim that rfft halves is the last in `dim` and transformed first. */
#include "ops/internal.h"

#include <math.h>

#define PI 3.14159265358979323846

/* ---- one transform ---- */

/* The divisor of the result. The numbers are those of `normalization` of aten::_fft_c2c. */
typedef enum { BY_NONE, BY_ROOT_N, BY_N } Norm;

/* Of a transform of n real numbers n/2 + 1 bins are enough: the others are their conjugates. */
static Dim half_bins(Ctx *cx, Dim n)
{
    return dim_add(cx, dim_floordiv(cx, n, dim_int(cx, 2)), dim_int(cx, 1));
}

/* The matrices [n, columns] of cos and sin of 2 pi j k / n, in x's type. j k mod n is computed in
 * int64, exactly. */
static void turns(Op *op, Ox x, Dim n, Dim columns, Ox *cosines, Ox *sines)
{
    Ox zero = ox_int(op->g, 0);
    Ox one = ox_int(op->g, 1);
    Ox size = ox_dim_value(op->g, n);
    Ox width = ox_dim_value(op->g, columns);
    Ox j = unsqueeze_axis(op, ox(op, "Range", zero, size, one), 1);
    Ox k = ox(op, "Range", zero, width, one);
    Ox jk = ox(op, "Mul", j, k);
    Ox at = ox_cast(op->g, ox(op, "Mod", jk, size), DT_DOUBLE);
    Ox whole = ox_cast(op->g, size, DT_DOUBLE);
    Ox fraction = ox(op, "Div", at, whole);
    Ox full = ox_number(op->g, DT_DOUBLE, 2 * PI);
    Ox angle = ox(op, "Mul", fraction, full);
    *cosines = ox_cast(op->g, ox(op, "Cos", angle), ox_dtype(x));
    *sines = ox_cast(op->g, ox(op, "Sin", angle), ox_dtype(x));
}

static Ox part_of(Op *op, Ox pair, int part)
{
    Ox at = ox_int(op->g, part);
    return ox_with(op, "Gather", INPUTS(pair, at), INT("axis", -1));
}

/* x with `axis` and the last axis exchanged; doing so twice gives x again. */
static Ox moved(Op *op, Ox x, int axis)
{
    int perm[MAX_RANK];
    if (!ox_ok(x) || ox_rank(x) < 1)
        return x;
    int rank = ox_rank(x);
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    perm[axis] = rank - 1;
    perm[rank - 1] = axis;
    return permute_to(op, x, perm, rank);
}

/* The sum over j of x[j] (cos - i sin) as products with matrices: (a + i b) (c - i s) has the real
 * part a c + b s and the imaginary one b c - a s, an inverse transform the other signs of s. */
static Ox dft_by_matrix(Op *op, Ox pair, int axis, bool inverse, bool halved)
{
    Ctx *cx = op->cx;
    if (!ox_ok(pair))
        return pair;
    Dim n = ox_dim(pair, axis);
    Dim columns = halved ? half_bins(cx, n) : n;
    bool real = dim_is(ox_dim(pair, ox_rank(pair) - 1), 1);
    Ox c, s;
    Ox re = moved(op, part_of(op, pair, 0), axis);
    Ox im = real ? NULL : moved(op, part_of(op, pair, 1), axis);
    turns(op, pair, n, columns, &c, &s);
    Ox rc = ox(op, "MatMul", re, c);
    Ox rs = ox(op, "MatMul", re, s);
    Ox out_re = rc;
    Ox out_im = inverse ? rs : ox(op, "Neg", rs);
    if (im) {
        Ox ic = ox(op, "MatMul", im, c);
        Ox is = ox(op, "MatMul", im, s);
        out_re = ox_make(op->g, inverse ? "Sub" : "Add", INPUTS(rc, is), NULL, 0);
        out_im = ox_make(op->g, inverse ? "Add" : "Sub", INPUTS(ic, rs), NULL, 0);
    }
    if (inverse) {
        Ox count = ox_cast(op->g, ox_dim_value(op->g, n), ox_dtype(pair));
        out_re = ox(op, "Div", out_re, count);
        out_im = ox(op, "Div", out_im, count);
    }
    out_re = moved(op, out_re, axis);
    return ox_pair(op->g, ox_complex(op->g, out_re, moved(op, out_im, axis)));
}

static Ox dft_node(Op *op, Ox pair, int axis, bool inverse, bool halved)
{
    Ox at = ox_int(op->g, axis);
    return ox_with(op, "DFT", INPUTS(pair, NULL, at), INT("inverse", inverse),
                   INT("onesided", halved));
}

/* The transform along one axis of a pair. It is a product of matrices before opset 17, which
 * brought DFT, and in double, because ONNX Runtime computes DFT with angles of float32. A single
 * signal is a batch of one: ONNX Runtime up to 1.25 gives n of them otherwise. */
static Ox dft(Op *op, Ox pair, int axis, bool inverse, bool halved)
{
    if (ox_ok(pair) && (ox_dtype(pair) == DT_DOUBLE || op->g->target < 17))
        return dft_by_matrix(op, pair, axis, inverse, halved);
    if (ox_ok(pair) && ox_rank(pair) > 2)
        return dft_node(op, pair, axis, inverse, halved);
    Ox batch = unsqueeze_axis(op, pair, 0);
    Ox of_batch = dft_node(op, batch, axis + 1, inverse, halved);
    return ox(op, "Squeeze", of_batch, ints(op, 0));
}

static Dim numel_over(Op *op, Ox x, const int *dims, size_t n)
{
    Dim total = dim_int(op->cx, 1);
    for (size_t i = 0; i < n; i++)
        total = dim_mul(op->cx, total, ox_dim(x, dims[i]));
    return total;
}

/* x divided by n to this power: 1, 1/2, 0, or a negative one, which multiplies. */
static Ox divided(Op *op, Ox x, Dim n, double power)
{
    int64_t known;
    if (power == 0 || !ox_ok(x))
        return x;
    if (dim_known(n, &known))
        return ox(op, "Mul", x, number_like(op, pow((double)known, -power), x));
    Ox count = ox_cast(op->g, ox_dim_value(op->g, n), ox_dtype(x));
    Ox by = power == 1 || power == -1 ? count : ox(op, "Sqrt", count);
    return ox_make(op->g, power < 0 ? "Mul" : "Div", INPUTS(x, by), NULL, 0);
}

static double power_of(Norm norm)
{
    switch (norm) {
    case BY_N:      return 1;
    case BY_ROOT_N: return 0.5;
    default:        return 0;
    }
}

/* The transform along all these dims, divided as `norm` says. */
static Ox transformed(Op *op, Ox pair, const int *dims, size_t n, bool inverse, Norm norm)
{
    for (size_t i = 0; i < n; i++)
        pair = dft(op, pair, dims[i], inverse, false);
    if (!ox_ok(pair))
        return pair;
    double done = inverse ? 1 : 0; /* the power of n that DFT has divided by */
    return divided(op, pair, numel_over(op, pair, dims, n), power_of(norm) - done);
}

/* Bins rest, rest - 1, .. 1 of the last of these dims, and 0, n - 1, .. 1 of the others. */
static Ox mirrored(Op *op, Ox pair, const int *dims, size_t n_dims, Dim rest)
{
    Ctx *cx = op->cx;
    Ox start = ox_dims(op->g, &rest, 1);
    Ox stop = ints(op, 0);
    Ox at = ints(op, dims[n_dims - 1]);
    Ox step = ints(op, -1);
    Ox out = ox(op, "Slice", pair, start, stop, at, step);
    for (size_t i = 0; i + 1 < n_dims; i++) {
        Ox at_i = ints(op, dims[i]);
        Ox last = ints(op, -1);
        Ox first = slice_axis(op, out, dims[i], dim_int(cx, 0), dim_int(cx, 1), 1);
        Ox turned = ox(op, "Slice", out, last, stop, at_i, step);
        Ox both[2] = { first, turned };
        out = concat_axis(op, both, 2, dims[i]);
    }
    return out;
}

/* All `size` bins of a real signal's transform from those that rfft gives: behind size/2 + 1 bins
 * of the last of `dims` come the conjugates of the mirrored ones. With one dim of size 5:
 * z0 z1 z2 -> z0 z1 z2 conj(z2) conj(z1). */
static Ox whole_spectrum(Op *op, Ox pair, const int *dims, size_t n_dims, Dim size)
{
    Ctx *cx = op->cx;
    int axis = dims[n_dims - 1];
    Dim half = half_bins(cx, size);
    Ox left = slice_axis(op, pair, axis, dim_int(cx, 0), half, 1);
    Ox right = mirrored(op, pair, dims, n_dims, dim_sub(cx, size, half));
    int64_t sign[2] = { 1, -1 };
    int64_t two = 2;
    Ox signs = ox_const(op->g, const_make(cx, DT_INT64, 1, &two, sign));
    Ox conjugate = ox_cast(op->g, signs, ox_ok(pair) ? ox_dtype(pair) : DT_FLOAT);
    Ox parts[2] = { left, ox(op, "Mul", right, conjugate) };
    return concat_axis(op, parts, 2, axis);
}

static Ox real_part(Op *op, Ox pair) { return part_of(op, pair, 0); }

/* What DFT takes: a complex tensor as a pair, a real one with a last axis of 1. */
static Ox as_signal(Op *op, Ox x)
{
    if (!ox_ok(x))
        return x;
    return ox_is_complex(x) ? ox_pair(op->g, x) : unsqueeze_axis(op, x, ox_rank(x));
}

/* ---- aten::_fft_* ---- */

/* The ints of parameter `name` as axes from the front, into dims[MAX_RANK]. False after an error.
 */
static bool read_dims(Op *op, Ox x, const char *name, int *dims, size_t *n)
{
    Ints given = arg_ints(op, name);
    int rank;
    if (!need_rank(op, x, -1, &rank) || ctx_failed(op->cx))
        return false;
    for (*n = 0; *n < given.n; ++*n) {
        int64_t d = given.at[*n];
        if (d < -rank || d >= rank || *n >= MAX_RANK)
            return fail(
                op->cx, E_VALUE,
                "Dimension out of range (expected to be in range of [%d, %d], but got %lld)", -rank,
                rank - 1, (long long)d);
        dims[*n] = (int)(d < 0 ? d + rank : d);
    }
    return true;
}

static bool are_unique(const int *dims, size_t n)
{
    uint64_t seen = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t bit = (uint64_t)1 << dims[i];
        if (seen & bit)
            return false;
        seen |= bit;
    }
    return true;
}

/* The tensor of an aten::_fft_*, complex or real as it must be, and its dims. */
static bool read_signal(Op *op, bool is_complex, Ox *x, int *dims, size_t *n)
{
    *x = arg(op, "self");
    if (!read_dims(op, *x, "dim", dims, n))
        return false;
    DType t = ox_dtype(*x);
    bool is_right = is_complex ? dtype_is_complex(t) : dtype_is_float(t);
    if (!is_right)
        return fail(op->cx, E_VALUE, "Only supports %s dtypes, but found: %s",
                    is_complex ? "complex" : "floating-point", torch_dtype_name(t));
    return are_unique(dims, *n) || fail(op->cx, E_VALUE, "duplicate value in the list of dims");
}

static Ox lower_c2c(Op *op)
{
    Ox x;
    int dims[MAX_RANK];
    size_t n;
    if (!read_signal(op, true, &x, dims, &n))
        return POISON;
    bool inverse = !arg_bool(op, "forward");
    Norm norm = (Norm)arg_int(op, "normalization");
    return ox_of_pair(op->g, transformed(op, ox_pair(op->g, x), dims, n, inverse, norm));
}

/* Real to complex; halved: of the last dim only the bins that are no conjugates. */
static Ox r2c(Op *op, Ox x, const int *dims, size_t n, Norm norm, bool halved)
{
    Dim total = numel_over(op, x, dims, n);
    Ox pair = as_signal(op, x);
    if (n == 0)
        return ox_cast(op->g, x, ox_dtype(x) == DT_DOUBLE ? DT_COMPLEX128 : DT_COMPLEX64);
    pair = dft(op, pair, dims[n - 1], false, halved);
    for (size_t i = 0; i + 1 < n; i++)
        pair = dft(op, pair, dims[i], false, false);
    return ox_of_pair(op->g, divided(op, pair, total, power_of(norm)));
}

static Ox lower_r2c(Op *op)
{
    Ox x;
    int dims[MAX_RANK];
    size_t n;
    if (!read_signal(op, false, &x, dims, &n))
        return POISON;
    return r2c(op, x, dims, n, (Norm)arg_int(op, "normalization"), arg_bool(op, "onesided"));
}

/* Complex to real, from the bins that r2c gives when halved; the result's last dim has `last`
 * elements. */
static Ox c2r(Op *op, Ox z, const int *dims, size_t n, Norm norm, Dim last)
{
    if (n == 0)
        return real_part(op, ox_pair(op->g, z));
    Ox pair = whole_spectrum(op, ox_pair(op->g, z), dims, n, last);
    return real_part(op, transformed(op, pair, dims, n, true, norm));
}

static Ox lower_c2r(Op *op)
{
    Ox x;
    int dims[MAX_RANK];
    size_t n;
    if (!read_signal(op, true, &x, dims, &n))
        return POISON;
    Dim last = arg_dim_expr(op, "last_dim_size");
    if (dim_lt(op->cx, last, dim_int(op->cx, 1)) == YES)
        return op_fail(op, E_VALUE, "Invalid number of data points (%s) specified",
                       dim_text(op->cx, last)->s);
    return c2r(op, x, dims, n, (Norm)arg_int(op, "normalization"), last);
}

/* ---- aten::fft_* : sizes by cutting and padding, names of normalisations, real arguments ---- */

/* row->datum. HERMITIAN: conjugated behind a real signal's transform, or before the inverse. */
enum { INVERSE = 1, REAL_IN = 2, REAL_OUT = 4, HERMITIAN = 8 };

static bool norm_of(Op *op, bool inverse, Norm *out)
{
    Str mode = arg_str(op, "norm");
    if (mode && str_is(mode, "ortho"))
        *out = BY_ROOT_N;
    else if (!mode || str_is(mode, "backward"))
        *out = inverse ? BY_N : BY_NONE;
    else if (str_is(mode, "forward"))
        *out = inverse ? BY_NONE : BY_N;
    else
        return fail(op->cx, E_VALUE, "Invalid normalization mode: \"%s\"", mode->s);
    return true;
}

/* The first n elements along axis, with zeros behind them where x has fewer. */
static Ox resized(Op *op, Ox x, int axis, Dim n)
{
    Ctx *cx = op->cx;
    Dim dims[MAX_RANK];
    Dim have = ox_dim(x, axis);
    Dim zero = dim_int(cx, 0);
    if (dim_eq(cx, have, n) == YES)
        return x;
    if (dim_le(cx, n, have) == YES)
        return slice_axis(op, x, axis, zero, n, 1);
    Dim kept = dim_min(cx, have, n);
    Ox cut = dim_le(cx, have, n) == YES ? x : slice_axis(op, x, axis, zero, kept, 1);
    for (int i = 0; i < ox_rank(x); i++)
        dims[i] = i == axis ? dim_sub(cx, n, kept) : ox_dim(x, i);
    Ox nothing = expand_dims(op, number_like(op, 0, x), dims, ox_rank(x));
    Ox parts[2] = { cut, nothing };
    return concat_axis(op, parts, 2, axis);
}

/* The n dims to transform, from the front, and the size that each is cut or padded to first: NULL
 * for the tensor's own. */
typedef struct Plan {
    int dims[MAX_RANK];
    Dim sizes[MAX_RANK];
    size_t n;
    Norm norm;
} Plan;

/* Adds dim d to the plan. size NULL or -1: the tensor's own. False after an error. */
static bool plan_dim(Op *op, Plan *p, int64_t d, Dim size, int rank)
{
    if (d < -rank || d >= rank)
        return fail(op->cx, E_VALUE,
                    "Dimension out of range (expected to be in range of [%d, %d], but got %lld)",
                    -rank, rank - 1, (long long)d);
    int64_t known;
    p->dims[p->n] = (int)(d < 0 ? d + rank : d);
    p->sizes[p->n++] = size && dim_known(size, &known) && known == -1 ? NULL : size;
    return true;
}

/* Reads the dims and sizes: parameters `n` and `dim` of transforms over one dim, `s` and `dim` of
 * the others. Sizes without dims are those of the last dims. False after an error. */
static bool make_plan(Op *op, Ox x, Plan *p)
{
    int rank;
    p->n = 0;
    if (!need_rank(op, x, -1, &rank))
        return false;
    if (has_param(op, "n")) {
        Dim size = arg_given(op, "n") ? arg_dim_expr(op, "n") : NULL;
        return plan_dim(op, p, arg_int(op, "dim"), size, rank);
    }
    bool has_dims = arg_given(op, "dim");
    bool has_s = arg_given(op, "s");
    Dims s = has_s ? arg_dims(op, "s") : (Dims){ NULL, 0 };
    Ints dims = has_dims ? arg_ints(op, "dim") : (Ints){ NULL, 0 };
    size_t n = has_s ? s.n : (size_t)rank;
    if (has_dims)
        n = dims.n;
    if (ctx_failed(op->cx) || n > MAX_RANK || (has_dims && has_s && s.n != dims.n) ||
        (!has_dims && n > (size_t)rank))
        return fail(op->cx, E_VALUE,
                    "When given, dim and shape arguments must have the same length");
    for (size_t i = 0; i < n; i++) {
        int64_t d = has_dims ? dims.at[i] : (int64_t)i - (int64_t)n;
        if (!plan_dim(op, p, d, has_s ? s.at[i] : NULL, rank))
            return false;
    }
    return true;
}

/* Can x be transformed so? False after PyTorch's error, or a refusal. */
static bool check_fft(Op *op, Ox x, const Plan *p)
{
    int64_t how = op->row->datum;
    const char *name = op->call->schema->name->s;
    if ((how & REAL_IN) && dtype_is_complex(ox_dtype(x)))
        return fail(op->cx, E_VALUE, "%s expects a real input tensor, but got %s", name,
                    torch_dtype_name(ox_dtype(x)));
    if (ox_dtype(x) == DT_FLOAT16 || ox_dtype(x) == DT_BFLOAT16) {
        op_refuse(op, "complex numbers of %s parts", dtype_name(ox_dtype(x)));
        return false;
    }
    if (p->n == 0 && (how & (REAL_IN | REAL_OUT)))
        return fail(op->cx, E_VALUE, "%s must transform at least one axis", name);
    return true;
}

/* The size of the last dim of a real result: that given, or 2 (m - 1) for m bins. */
static Dim real_size(Op *op, Ox x, const Plan *p)
{
    Ctx *cx = op->cx;
    Dim given = p->sizes[p->n - 1];
    Dim bins = ox_dim(x, p->dims[p->n - 1]);
    return given ? given : dim_mul(cx, dim_int(cx, 2), dim_sub(cx, bins, dim_int(cx, 1)));
}

static Ox conjugated(Op *op, Ox x)
{
    Value v = val_tensor(op->cx, x);
    Value turned = val_ok(v) ? call_op(op, "aten::conj_physical", &v, 1) : v;
    return turned.tag == V_TENSOR ? tensor_read(op->g, turned.t) : POISON;
}

/* Ints and bools become float32, and then complex where a complex signal is transformed. */
static Ox lower_fft(Op *op)
{
    Ox x = arg(op, "self");
    int64_t how = op->row->datum;
    bool inverse = how & INVERSE;
    Dim last = NULL;
    Plan p;
    if (ox_ok(x) && !dtype_is_float(ox_dtype(x)) && !dtype_is_complex(ox_dtype(x)))
        x = ox_cast(op->g, x, DT_FLOAT);
    if (!make_plan(op, x, &p) || !norm_of(op, inverse, &p.norm) || !check_fft(op, x, &p))
        return POISON;
    if (how & REAL_OUT) {
        last = real_size(op, x, &p);
        if (!last)
            return POISON;
        p.sizes[p.n - 1] = half_bins(op->cx, last);
    }
    for (size_t i = 0; i < p.n && ox_ok(x); i++)
        if (p.sizes[i])
            x = resized(op, x, p.dims[i], p.sizes[i]);
    if (!ox_ok(x))
        return POISON;
    if (how & REAL_IN) {
        Ox out = r2c(op, x, p.dims, p.n, p.norm, true);
        return how & HERMITIAN ? conjugated(op, out) : out;
    }
    x = ox_cast(op->g, x, promote_types(ox_dtype(x), DT_COMPLEX64));
    if (p.n == 0)
        return x;
    if (!(how & REAL_OUT))
        return ox_of_pair(op->g, transformed(op, ox_pair(op->g, x), p.dims, p.n, inverse, p.norm));
    if (how & HERMITIAN)
        x = conjugated(op, x);
    return ox_ok(x) ? c2r(op, x, p.dims, p.n, p.norm, last) : POISON;
}

/* ---- frequencies and their order ---- */

/* k / (n d) for k = 0, 1, .. and then for the negative k; row->datum: 1 is rfftfreq, which has no
 * negative ones. */
static Ox lower_fftfreq(Op *op)
{
    bool halved = op->row->datum;
    int64_t n = arg_int(op, "n");
    int64_t count = halved ? n / 2 + 1 : n;
    double d = arg_float(op, "d");
    if (ctx_failed(op->cx) || n < 0 || n > (1 << 24))
        return op_fail(op, E_VALUE, "fftfreq of %lld elements", (long long)n);
    double *v = new_array(op->cx, double, count + 1);
    if (!v)
        return POISON;
    for (int64_t i = 0; i < count; i++)
        v[i] = (double)(halved || i < (n + 1) / 2 ? i : i - n) / ((double)n * d);
    Ox all = ox_const(op->g, const_make(op->cx, DT_DOUBLE, 1, &count, v));
    return ox_cast(op->g, all, arg_dtype(op, "dtype", dtype_default(op->cx)));
}

/* fftshift rolls each dim by half its size. row->datum: 1 rolls it back (ifftshift), which differs
 * for odd sizes. */
static Ox lower_fftshift(Op *op)
{
    Ox x = arg(op, "self");
    Axes axes;
    int rank;
    if (!need_rank(op, x, -1, &rank) || !arg_axes(op, "dim", rank, &axes))
        return POISON;
    if (rank == 0 || (arg_given(op, "dim") && arg_ints(op, "dim").n == 0))
        return op_fail(op, E_VALUE, "`shifts` required");
    for (int i = 0; i < axes.n && ox_ok(x); i++) {
        Dim n = ox_dim(x, axes.at[i]);
        Dim two = dim_int(op->cx, 2);
        Dim half = dim_floordiv(op->cx, n, two);
        Dim at = op->row->datum ? half : dim_sub(op->cx, n, half);
        Ox tail = slice_axis(op, x, axes.at[i], at, n, 1);
        Ox head = slice_axis(op, x, axes.at[i], dim_int(op->cx, 0), at, 1);
        Ox both[2] = { tail, head };
        x = concat_axis(op, both, 2, axes.at[i]);
    }
    return x;
}

/* ---- short transforms ---- */

static bool complex_window(Op *op)
{
    return arg_given(op, "window") && ox_is_complex(arg(op, "window"));
}

/* The type of x's window: that of x's parts, or complex numbers of such parts. */
static DType window_type(Op *op, Ox x)
{
    DType parts = dtype_of_parts(ox_dtype(x));
    return complex_window(op) ? promote_types(parts, DT_COMPLEX64) : parts;
}

/* False after an error: a window has elements, and no more than a frame has. */
static bool win_length_of(Op *op, int64_t n_fft, int64_t *length)
{
    *length = arg_given(op, "win_length") ? arg_int(op, "win_length") : n_fft;
    if (*length >= 1 && *length <= n_fft)
        return true;
    op_fail(op, E_VALUE, "stft: expected 0 < win_length <= n_fft, but got win_length=%lld",
            (long long)*length);
    return false;
}

/* The window [n_fft] of type t: argument `window`, or win_length ones, in the middle of zeros. */
static Ox window_of(Op *op, Ox x, int64_t n_fft, DType t)
{
    Ctx *cx = op->cx;
    Ox window = arg_opt(op, "window");
    Ox one = ox_number(op->g, t, 1);
    Ox zero = ox_number(op->g, t, 0);
    int64_t length;
    if (!ox_ok(x))
        return x;
    if (!win_length_of(op, n_fft, &length))
        return POISON;
    int64_t left = (n_fft - length) / 2;
    Dim lengths[3] = { dim_int(cx, left), dim_int(cx, length), dim_int(cx, n_fft - length - left) };
    Ox middle = window ? ox_cast(op->g, window, t) : expand_dims(op, one, &lengths[1], 1);
    if (length == n_fft)
        return middle;
    Ox before = expand_dims(op, zero, &lengths[0], 1);
    Ox after = expand_dims(op, zero, &lengths[2], 1);
    Ox parts[3] = { before, middle, after };
    return concat_axis(op, parts, 3, 0);
}

static int64_t hop_of(Op *op, int64_t n_fft)
{
    return arg_given(op, "hop_length") ? arg_int(op, "hop_length") : n_fft / 4;
}

/* The frames of n_fft elements that start every `hop`: [batch, time] -> [batch, frames, n_fft] */
static Ox frames_of(Op *op, Ox x, int64_t n_fft, int64_t hop)
{
    Ctx *cx = op->cx;
    Dim last = dim_sub(cx, ox_dim(x, 1), dim_int(cx, n_fft)); /* where the last one may start */
    Dim count = dim_add(cx, dim_floordiv(cx, last, dim_int(cx, hop)), dim_int(cx, 1));
    Ox zero = ox_int(op->g, 0);
    Ox one = ox_int(op->g, 1);
    Ox frames = ox_dim_value(op->g, count);
    Ox size = ox_int(op->g, n_fft);
    Ox by = ox_int(op->g, hop);
    Ox nth = ox(op, "Range", zero, frames, one);
    Ox start = unsqueeze_axis(op, ox(op, "Mul", nth, by), 1);
    Ox within = ox(op, "Range", zero, size, one);
    Ox at = ox(op, "Add", start, within);
    return ox_with(op, "Gather", INPUTS(x, at), INT("axis", 1));
}

/* The frames of x times the window, as DFT takes them. */
static Ox windowed(Op *op, Ox x, int64_t n_fft, int64_t hop)
{
    Ox frames = frames_of(op, x, n_fft, hop);
    if (complex_window(op)) {
        Ox window = window_of(op, x, n_fft, window_type(op, x));
        return as_signal(op, each_mul(op, frames, window));
    }
    Ox pair = as_signal(op, frames);
    Ox window = window_of(op, x, n_fft, window_type(op, x));
    return ox(op, "Mul", pair, ox_ok(window) ? unsqueeze_axis(op, window, 1) : window);
}

/* x, [batch, time], with `size` elements more at both ends. */
static Ox padded(Op *op, Ox x, int64_t size)
{
    Value mode = has_param(op, "pad_mode") ? arg_value(op, "pad_mode")
                                           : val_str(str_of(op->cx, "constant"));
    Value three = val_tensor(op->cx, unsqueeze_axis(op, x, 1));
    Value sides[] = { val_int(size), val_int(size) };
    Value args[] = { three, val_list(op->cx, sides, 2, "int"), mode };
    Ox padded = call_ox(op, "aten::pad", args, 3);
    Ox axes = ints(op, 1);
    return ox(op, "Squeeze", padded, axes);
}

/* x padded as the call says: by half a frame (center), so that frame t is centred at sample
 * t * hop; or by the zeros before a short window (align_to_window), so that the first window begins
 * at sample 0. */
static Ox padded_for_frames(Op *op, Ox x, int64_t n_fft)
{
    bool center = has_param(op, "center") && arg_bool(op, "center");
    bool aligned = arg_given(op, "align_to_window");
    if (center && aligned)
        return op_fail(op, E_VALUE, "stft align_to_window should only be set when center = false");
    if (center)
        return padded(op, x, n_fft / 2);
    int64_t length;
    if (!aligned || !arg_bool(op, "align_to_window"))
        return x;
    if (!win_length_of(op, n_fft, &length))
        return POISON;
    int64_t left = (n_fft - length) / 2;
    return left > 0 ? padded(op, x, left) : x;
}

/* The transforms of all frames of x, [batch, time]: a pair [batch, bins, frames, 2]. */
static Ox short_transforms(Op *op, Ox x, int64_t n_fft, int64_t hop, bool halved)
{
    x = padded_for_frames(op, x, n_fft);
    if (!ox_ok(x))
        return POISON;
    Ox pair = dft(op, windowed(op, x, n_fft, hop), 2, false, halved);
    if (!ox_ok(pair))
        return POISON;
    if (arg_bool(op, "normalized"))
        pair = divided(op, pair, dim_int(op->cx, n_fft), 0.5);
    return permute_to(op, pair, (int[]){ 0, 2, 1, 3 }, 4);
}

/* [time] or [batch, time] -> [bins, frames] or [batch, bins, frames]; without return_complex a real
 * signal's transform has a last axis of 2. */
static Value lower_stft(Op *op)
{
    Ox x = arg(op, "self");
    int64_t n_fft = arg_int(op, "n_fft");
    int64_t hop = hop_of(op, n_fft);
    int rank;
    if (!need_rank(op, x, 2, &rank) || ctx_failed(op->cx))
        return val_poison();
    bool complex = dtype_is_complex(ox_dtype(x)) || complex_window(op);
    bool halved = arg_given(op, "onesided") ? arg_bool(op, "onesided") : !complex;
    if (rank < 1 || rank > 2 || n_fft < 1 || hop < 1 || (complex && halved)) {
        fail(op->cx, E_VALUE, "stft: a signal of rank %d, n_fft=%lld, hop_length=%lld", rank,
             (long long)n_fft, (long long)hop);
        return val_poison();
    }
    x = rank == 1 ? unsqueeze_axis(op, x, 0) : x;
    Ox pair = short_transforms(op, x, n_fft, hop, halved);
    if (rank == 1) {
        Ox axes = ints(op, 0);
        pair = ox(op, "Squeeze", pair, axes);
    }
    bool as_complex = arg_given(op, "return_complex") ? arg_bool(op, "return_complex") : complex;
    return val_tensor(op->cx, as_complex ? ox_of_pair(op->g, pair) : pair);
}

/* Frames laid over each other, hop apart, and summed: [batch, frames, n] -> [batch, time]. It is a
 * transposed convolution with each element as a channel of its own. */
static Ox overlapped(Op *op, Ox frames, int64_t n, int64_t hop)
{
    if (!ox_ok(frames))
        return POISON;
    Ox channels = permute_to(op, frames, (int[]){ 0, 2, 1 }, 3);
    Dim square[] = { dim_int(op->cx, n), dim_int(op->cx, n) };
    Ox zeros = expand_dims(op, number_like(op, 0, frames), square, 2);
    Ox kernel = unsqueeze_axis(op, ox(op, "EyeLike", zeros), 1);
    Ox axes = ints(op, 1);
    Value stride = val_int(hop);
    Value args[] = { val_tensor(op->cx, channels), val_tensor(op->cx, kernel), val_none(),
                     val_list(op->cx, &stride, 1, "int") };
    Value sum = call_op(op, "aten::conv_transpose1d", args, 4);
    return sum.tag == V_TENSOR ? ox(op, "Squeeze", tensor_read(op->g, sum.t), axes) : POISON;
}

/* The signal of real frames: their products with the window, summed where they overlap and divided
 * by the sum of the squared windows. */
static Ox overlapped_back(Op *op, Ox frames, Ox window, int64_t n_fft, int64_t hop)
{
    if (!ox_ok(frames) || !ox_ok(window))
        return POISON;
    Dim one_row[3] = { dim_int(op->cx, 1), ox_dim(frames, 1), dim_int(op->cx, n_fft) };
    if (arg_bool(op, "normalized"))
        frames = divided(op, frames, dim_int(op->cx, n_fft), -0.5);
    Ox squares = ox(op, "Mul", window, window);
    Ox summed = overlapped(op, ox(op, "Mul", frames, window), n_fft, hop);
    Ox weights = overlapped(op, expand_dims(op, squares, one_row, 3), n_fft, hop);
    return ox(op, "Div", summed, weights);
}

/* overlapped() of complex frames. */
static Ox overlapped_parts(Op *op, Ox frames, int64_t n, int64_t hop)
{
    Ox re = overlapped(op, ox_part(op->g, frames, 0), n, hop);
    Ox im = overlapped(op, ox_part(op->g, frames, 1), n, hop);
    return ox_complex(op->g, re, im);
}

/* The signal of complex frames and a complex window, whose squares are complex too. */
static Ox overlapped_by_complex(Op *op, Ox frames, Ox window, int64_t n_fft, int64_t hop)
{
    if (!ox_ok(frames) || !ox_ok(window))
        return POISON;
    Dim one_row[3] = { dim_int(op->cx, 1), ox_dim(frames, 1), dim_int(op->cx, n_fft) };
    Ox squares = expand_dims(op, each_mul(op, window, window), one_row, 3);
    Ox product = each_mul(op, frames, window);
    Ox summed = overlapped_parts(op, product, n_fft, hop);
    Ox weights = overlapped_parts(op, squares, n_fft, hop);
    Ox out = each_div(op, summed, weights);
    if (!arg_bool(op, "normalized") || !ox_ok(out))
        return out;
    return each_mul(op, out, real_like(op, sqrt((double)n_fft), out));
}

/* Can z, [.., bins, frames], be transformed back so? False after PyTorch's error. */
static bool check_istft(Op *op, Ox z, int64_t n_fft, int64_t hop)
{
    Ctx *cx = op->cx;
    int rank;
    if (!need_rank(op, z, 3, &rank) || ctx_failed(cx))
        return false;
    if (!dtype_is_complex(ox_dtype(z)) || rank < 2 || rank > 3 || n_fft < 1 || hop < 1)
        return fail(
            cx, E_VALUE,
            "istft: expected a tensor of complex numbers with 2 or 3 dimensions, but got %s",
            type_text(cx, z->type)->s);
    bool as_complex = arg_bool(op, "return_complex");
    bool halved = dim_eq(cx, ox_dim(z, rank - 2), dim_int(cx, n_fft)) != YES;
    if (arg_given(op, "onesided"))
        halved = arg_bool(op, "onesided");
    if (as_complex && halved)
        return fail(cx, E_VALUE,
                    "istft: cannot have onesided output if window or input is complex");
    if (!as_complex && complex_window(op))
        return fail(cx, E_VALUE,
                    "istft: complex windows are incompatible with return_complex=False");
    return true;
}

/* Each frame of z, [batch, bins, frames], transformed back and all summed: [batch, time], as long
 * as the frames reach. */
static Ox signal_of_frames(Op *op, Ox z, int64_t n_fft, int64_t hop)
{
    bool as_complex = arg_bool(op, "return_complex");
    Ox pair = ox_pair(op->g, z);
    if (!ox_ok(pair))
        return POISON;
    pair = permute_to(op, pair, (int[]){ 0, 2, 1, 3 }, 4);
    Ox window = window_of(op, z, n_fft, window_type(op, z));
    if (!as_complex) /* as PyTorch, which takes the first half of a whole spectrum too */
        pair = whole_spectrum(op, pair, (int[]){ 2 }, 1, dim_int(op->cx, n_fft));
    Ox spectrum = dft(op, pair, 2, true, false);
    if (complex_window(op))
        return overlapped_by_complex(op, ox_of_pair(op->g, spectrum), window, n_fft, hop);
    Ox re = overlapped_back(op, real_part(op, spectrum), window, n_fft, hop);
    if (!as_complex)
        return re;
    Ox im = overlapped_back(op, part_of(op, spectrum, 1), window, n_fft, hop);
    return ox_complex(op->g, re, im);
}

/* The signal without the padding that center=True means, or its first `length` elements. */
static Ox trimmed(Op *op, Ox signal, int64_t n_fft)
{
    Ctx *cx = op->cx;
    if (!ox_ok(signal))
        return POISON;
    Dim whole = ox_dim(signal, 1);
    Dim pad = dim_int(cx, arg_bool(op, "center") ? n_fft / 2 : 0);
    Dim end = dim_sub(cx, whole, pad);
    if (arg_given(op, "length")) {
        end = dim_add(cx, pad, arg_dim_expr(op, "length"));
        if (dim_le(cx, end, whole) != YES)
            return op_refuse(op, "a length of which is not known that the frames fill it");
    }
    return slice_axis(op, signal, 1, pad, end, 1);
}

/* [bins, frames] or [batch, bins, frames] -> [time] or [batch, time] */
static Ox lower_istft(Op *op)
{
    Ox z = arg(op, "self");
    int64_t n_fft = arg_int(op, "n_fft");
    int64_t hop = hop_of(op, n_fft);
    if (!check_istft(op, z, n_fft, hop))
        return POISON;
    bool single = ox_rank(z) == 2;
    Ox batch = single ? unsqueeze_axis(op, z, 0) : z;
    Ox out = trimmed(op, signal_of_frames(op, batch, n_fft, hop), n_fft);
    Ox axes = ints(op, 0);
    return single ? ox(op, "Squeeze", out, axes) : out;
}

#define FFT_ONE(how, name)                                                        \
    FAMILY(lower_fft, how, NULL, PLAIN,                                           \
           "aten::fft_" name                                                      \
           "(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", \
           .layout = LAYOUT_OWN_ORDER)
#define FFT_TWO(how, name)                                                                    \
    FAMILY(lower_fft, how, NULL, PLAIN,                                                       \
           "aten::fft_" name                                                                  \
           "(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", \
           .layout = LAYOUT_OWN_ORDER)
#define FFT_ALL(how, name)                                                                 \
    FAMILY(lower_fft, how, NULL, PLAIN,                                                    \
           "aten::fft_" name                                                               \
           "(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", \
           .layout = LAYOUT_OWN_ORDER)
#define FFTS(how, name)     \
    FFT_ONE(how, name);     \
    FFT_TWO(how, name "2"); \
    FFT_ALL(how, name "n")
#define HOW \
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"

OP_ROWS(fft)
{
    LOWER(lower_c2c, NULL, PLAIN,
          "aten::_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor",
          .layout = LAYOUT_OWN_ORDER);
    LOWER(lower_r2c, NULL, PLAIN,
          "aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
          .layout = LAYOUT_OWN_ORDER);
    LOWER(lower_c2r, NULL, PLAIN,
          "aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> "
          "Tensor",
          .layout = LAYOUT_OWN_ORDER);
    FFTS(0, "fft");
    FFTS(INVERSE, "ifft");
    FFTS(REAL_IN, "rfft");
    FFTS(INVERSE | REAL_OUT, "irfft");
    /* hfft is irfft of the conjugate, scaled the other way round; ihfft the conjugate of rfft */
    FFTS(REAL_OUT | HERMITIAN, "hfft");
    FFTS(INVERSE | REAL_IN | HERMITIAN, "ihfft");
    FAMILY(lower_fftfreq, 0, NULL, PLAIN,
           "aten::fft_fftfreq(int n, float d=1., " HOW ") -> Tensor");
    FAMILY(lower_fftfreq, 1, NULL, PLAIN,
           "aten::fft_rfftfreq(int n, float d=1., " HOW ") -> Tensor");
    FAMILY(lower_fftshift, 0, NULL, PLAIN,
           "aten::fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor",
           .layout = LAYOUT_OWN_ORDER);
    FAMILY(lower_fftshift, 1, NULL, PLAIN,
           "aten::fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor",
           .layout = LAYOUT_OWN_ORDER);
    CALL(lower_stft, NULL, PLAIN,
         "aten::stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? "
         "window=None, "
         "bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? "
         "align_to_window=None) -> Tensor",
         .layout = LAYOUT_OWN_ORDER);
    OLDER("aten::stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, "
          "Tensor? window=None, bool center=True, "
          "str pad_mode=\"reflect\", bool normalized=False, bool? onesided=None, bool? "
          "return_complex=None, bool? align_to_window=None) -> Tensor");
    LOWER(lower_istft, NULL, PLAIN,
          "aten::istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? "
          "window=None, "
          "bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool "
          "return_complex=False) -> Tensor",
          .layout = LAYOUT_OWN_ORDER);
}
