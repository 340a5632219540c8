/* prims.c - the primitives of PyTorch's own decompositions (prims::), which a .pt2 may be lowered
 * to.
 *
 * Most are an operator of ATen under another name, with the arguments in the same order. They
 * differ in their types: a primitive does not promote, so operands are of one type already; and a
 * reduction keeps the type of its input unless another is given. */
#include "ops/internal.h"

/* Calls the ATen operator row->text with the same arguments. */
static Value lower_alias(Op *op)
{
    return call_op(op, op->row->text, op->call->arg, (size_t)op->call->schema->n_param);
}

/* The first argument alone: what else there is says where the result lies in memory. */
static Value lower_same(Op *op) { return call_op(op, op->row->text, op->call->arg, 1); }

/* ---- shapes ---- */

/* Axis i of a becomes axis broadcast_dimensions[i] of the result. */
static Ox lower_broadcast_in_dim(Op *op)
{
    Ox a = arg(op, "a");
    Dims shape = arg_new_sizes(op, "shape");
    Ints to = arg_ints(op, "broadcast_dimensions");
    Dim dims[MAX_RANK];
    int rank;
    int64_t least = 0;
    if (!need_rank(op, a, -1, &rank) || ctx_failed(op->cx))
        return POISON;
    if (shape.n > MAX_RANK || to.n != (size_t)rank)
        return op_fail(op, E_VALUE,
                       "broadcast_in_dim: %zu dimensions are given for a tensor of rank %d", to.n,
                       rank);
    for (size_t i = 0; i < shape.n; i++)
        dims[i] = dim_int(op->cx, 1);
    for (size_t i = 0; i < to.n; i++) {
        if (to.at[i] < least || (size_t)to.at[i] >= shape.n)
            return op_fail(op, E_VALUE,
                           "broadcast_in_dim: dimensions must rise and lie in the result");
        least = to.at[i] + 1;
        dims[to.at[i]] = ox_dim(a, (int)i);
    }
    return expand_dims(op, reshape_to(op, a, dims, (int)shape.n), shape.at, (int)shape.n);
}

static Ox lower_split_dim(Op *op)
{
    Ox a = arg(op, "a");
    Dim outer = arg_dim_expr(op, "outer_length"), dims[MAX_RANK];
    int rank, axis;
    if (!need_rank(op, a, -1, &rank) || !arg_dim(op, "dim", rank, &axis) || ctx_failed(op->cx))
        return POISON;
    if (dim_lt(op->cx, outer, dim_int(op->cx, 1)) == YES)
        return op_fail(op, E_VALUE, "split_dim: outer_length must be positive, got %s",
                       dim_text(op->cx, outer)->s);
    for (int i = 0; i <= rank; i++)
        dims[i] = ox_dim(a, i > axis ? i - 1 : i);
    dims[axis] = outer;
    dims[axis + 1] = dim_floordiv(op->cx, ox_dim(a, axis), outer);
    return reshape_to(op, a, dims, rank + 1);
}

/* ---- types ---- */

static Ox lower_convert(Op *op)
{
    Value args[] = { arg_value(op, "a"), arg_value(op, "dtype") };
    return call_ox(op, "aten::to", args, 2);
}

static Ox as_asked(Op *op, Ox x)
{
    return ox_ok(x) ? ox_cast(op->g, x, arg_dtype(op, "output_dtype", ox_dtype(x))) : x;
}

/* ---- reductions ---- */

static bool read_axes(Op *op, Ox x, Axes *axes)
{
    int rank;
    return need_rank(op, x, -1, &rank) && arg_axes(op, "dims", rank, axes);
}

/* row->text: ONNX's operator. */
static Ox lower_reduce(Op *op)
{
    Ox x = arg(op, "inp");
    Axes axes;
    return read_axes(op, x, &axes) ? as_asked(op, reduce(op, op->row->text, x, &axes, false))
                                   : POISON;
}

/* PyTorch multiplies one axis after the other, and so none where its list is empty, which is all of
 * them to the other reductions. */
static Ox lower_prod(Op *op)
{
    bool none = arg_given(op, "dims") && arg_ints(op, "dims").n == 0;
    return none ? as_asked(op, arg(op, "inp")) : lower_reduce(op);
}

/* sum((x - mean)^2) / max(n - correction, 0) */
static Ox lower_var(Op *op)
{
    Ox x = arg(op, "inp");
    Axes axes;
    double less = arg_given(op, "correction") ? arg_float(op, "correction") : 1;
    if (!read_axes(op, x, &axes) || ctx_failed(op->cx))
        return POISON;
    Dim n = dim_int(op->cx, 1);
    for (int i = 0; i < axes.n; i++)
        n = dim_mul(op->cx, n, ox_dim(x, axes.at[i]));
    Ox mean = reduce(op, "ReduceMean", x, &axes, true);
    Ox away = ox(op, "Sub", x, mean);
    Ox square = ox(op, "Mul", away, away);
    Ox sum = reduce(op, "ReduceSum", square, &axes, false);
    Ox count = ox_cast(op->g, ox_dim_value(op->g, n), ox_dtype(x));
    Ox left = ox(op, "Sub", count, number_like(op, less, x));
    Ox divisor = ox(op, "Max", left, number_like(op, 0, x));
    return as_asked(op, ox(op, "Div", sum, divisor));
}

/* ---- new tensors ---- */

static Ox lower_full(Op *op)
{
    Dims d = arg_new_sizes(op, "shape");
    Ox value = number_as(op, arg_value(op, "fill_value"), arg_dtype(op, "dtype", DT_FLOAT));
    return ctx_failed(op->cx) ? POISON : expand_dims(op, value, d.at, (int)d.n);
}

static Ox lower_empty(Op *op)
{
    Dims d = arg_new_sizes(op, "shape");
    if (ctx_failed(op->cx))
        return POISON;
    Ox zero = ox_integer(op->g, arg_dtype(op, "dtype", DT_FLOAT), 0);
    return expand_dims(op, zero, d.at, (int)d.n);
}

static Ox lower_empty_strided(Op *op)
{
    Dims size = arg_new_sizes(op, "shape");
    Dims stride = arg_dims(op, "strides");
    return ctx_failed(op->cx) || !need_storage(op, size, stride) ? POISON : lower_empty(op);
}

static Ox lower_full_like(Op *op)
{
    Ox a = arg(op, "a");
    int rank;
    if (!need_rank(op, a, -1, &rank))
        return POISON;
    return expand_dims(
        op, number_as(op, arg_value(op, "fill_value"), arg_dtype(op, "dtype", ox_dtype(a))),
        a->type->dim, rank);
}

/* iota: start, start + step, .., `length` numbers. */
static Ox lower_iota(Op *op)
{
    Ctx *cx = op->cx;
    Dim start = arg_dim_expr(op, "start");
    Dim step = arg_dim_expr(op, "step");
    Dim end = dim_add(cx, start, dim_mul(cx, step, arg_dim_expr(op, "length")));
    Ox from = ox_dim_value(op->g, start);
    Ox to = ox_dim_value(op->g, end);
    Ox by = ox_dim_value(op->g, step);
    return ox_cast(op->g, ox(op, "Range", from, to, by), arg_dtype(op, "dtype", DT_INT64));
}

/* ---- Fourier transforms, without a normalisation ---- */

static Value lower_fft(Op *op)
{
    const Schema *s = op->call->schema;
    Value args[] = { op->call->arg[0], op->call->arg[1], val_int(0),
                     op->call->arg[s->n_param - 1] };
    return call_op(op, op->row->text, args, 4);
}

#define AS(aten, line) \
    OP_ROW(.kind = ROW_CALL, .schema = (line), .call = lower_alias, .text = "aten::" aten)
#define ONE(name) AS(name, "prims::" name "(Tensor self) -> Tensor")
#define TWO(name) AS(name, "prims::" name "(Tensor self, Tensor other) -> Tensor")
#define REDUCE(fn, onnx, name)   \
    UNARY(fn, onnx, NULL, PLAIN, \
          "prims::" name "(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor")
#define HOW "*, ScalarType dtype, Device device, bool requires_grad"

OP_ROWS(prims)
{
    ONE("abs");
    ONE("acos");
    ONE("acosh");
    ONE("asin");
    ONE("asinh");
    ONE("atan");
    ONE("atanh");
    ONE("bitwise_not");
    ONE("ceil");
    ONE("conj_physical");
    ONE("cos");
    ONE("cosh");
    ONE("digamma");
    ONE("erf");
    ONE("erfc");
    ONE("exp");
    ONE("exp2");
    ONE("expm1");
    ONE("floor");
    ONE("isfinite");
    ONE("lgamma");
    ONE("log");
    ONE("log10");
    ONE("log1p");
    ONE("log2");
    ONE("neg");
    ONE("reciprocal");
    ONE("round");
    ONE("rsqrt");
    ONE("sign");
    ONE("signbit");
    ONE("sin");
    ONE("sinh");
    ONE("sqrt");
    ONE("tan");
    ONE("tanh");
    ONE("trunc");
    TWO("add");
    TWO("atan2");
    TWO("bitwise_and");
    TWO("bitwise_or");
    TWO("bitwise_xor");
    TWO("eq");
    TWO("fmax");
    TWO("fmin");
    TWO("fmod");
    TWO("gcd");
    TWO("ge");
    TWO("gt");
    TWO("hypot");
    TWO("le");
    TWO("lt");
    TWO("maximum");
    TWO("minimum");
    TWO("mul");
    TWO("ne");
    TWO("nextafter");
    TWO("pow");
    TWO("remainder");
    TWO("sub");
    OP_ROW(.kind = ROW_CALL,
           .schema = "prims::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
           .call = lower_same, .text = "aten::clone");
    AS("frexp", "prims::frexp(Tensor self) -> (Tensor mantissa, Tensor exponent)");
    AS("real", "prims::real(Tensor(a) self) -> Tensor(a)");
    AS("imag", "prims::imag(Tensor(a) self) -> Tensor(a)");
    AS("conj", "prims::conj(Tensor(a) a) -> Tensor(a)");
    AS("erfinv", "prims::erf_inv(Tensor self) -> Tensor");
    AS("special_erfcx", "prims::erfcx(Tensor self) -> Tensor");
    AS("special_ndtri", "prims::ndtri(Tensor self) -> Tensor");
    AS("special_i0", "prims::bessel_i0(Tensor self) -> Tensor");
    AS("special_i0e", "prims::bessel_i0e(Tensor self) -> Tensor");
    AS("special_i1", "prims::bessel_i1(Tensor self) -> Tensor");
    AS("special_i1e", "prims::bessel_i1e(Tensor self) -> Tensor");
    AS("special_spherical_bessel_j0", "prims::spherical_bessel_j0(Tensor self) -> Tensor");
    AS("bitwise_left_shift", "prims::shift_left(Tensor self, Tensor other) -> Tensor");
    AS("bitwise_right_shift", "prims::shift_right_arithmetic(Tensor self, Tensor other) -> Tensor");
    AS("where", "prims::where(Tensor pred, Tensor a, Tensor b) -> Tensor");
    AS("fill", "prims::fill(Tensor self, Scalar value) -> Tensor");
    AS("permute", "prims::transpose(Tensor(a) a, int[] permutation) -> Tensor(a)");
    AS("squeeze", "prims::squeeze(Tensor(a) a, int[] dimensions) -> Tensor(a)");
    AS("reshape", "prims::reshape(Tensor a, SymInt[] shape) -> Tensor");
    AS("flatten", "prims::collapse(Tensor a, int start, int end) -> Tensor");
    AS("flatten", "prims::collapse_view(Tensor(a) a, int start, int end) -> Tensor(a)");
    AS("flip", "prims::rev(Tensor a, int[] dims) -> Tensor");
    AS("cat", "prims::cat(Tensor[] tensors, int dim) -> Tensor");
    AS("alias", "prims::view_of(Tensor(a) a) -> Tensor(a)");
    AS("copy_", "prims::copy_to(Tensor(a!) a, Tensor b) -> Tensor(a!)");
    AS("item", "prims::item(Tensor a) -> Scalar");
    OP_ROW(.kind = ROW_CALL,
           .schema =
               "prims::device_put(Tensor a, Device device, bool non_blocking=False) -> Tensor",
           .call = lower_same, .text = "aten::clone");
    LOWER(lower_broadcast_in_dim, NULL, PLAIN,
          "prims::broadcast_in_dim(Tensor(a) a, SymInt[] shape, int[] broadcast_dimensions) -> "
          "Tensor(a)");
    LOWER(lower_split_dim, NULL, PLAIN,
          "prims::split_dim(Tensor(a) a, int dim, SymInt outer_length) -> Tensor(a)");
    LOWER(lower_convert, NULL, PLAIN,
          "prims::convert_element_type(Tensor a, ScalarType dtype) -> Tensor");
    REDUCE(lower_reduce, "ReduceSum", "sum");
    REDUCE(lower_prod, "ReduceProd", "prod");
    REDUCE(lower_reduce, "ReduceMax", "amax");
    REDUCE(lower_reduce, "ReduceMin", "amin");
    LOWER(lower_var, NULL, PLAIN,
          "prims::var(Tensor inp, int[]? dims, float? correction=1, *, ScalarType? "
          "output_dtype=None) -> Tensor");
    LOWER(lower_full, NULL, PLAIN,
          "prims::full(SymInt[] shape, Scalar fill_value, " HOW ") -> Tensor");
    LOWER(lower_empty, NULL, PLAIN, "prims::empty(SymInt[] shape, " HOW ") -> Tensor");
    OLDER("prims::empty_permuted(SymInt[] shape, int[] physical_layout, " HOW ") -> Tensor");
    LOWER(lower_empty_strided, NULL, PLAIN,
          "prims::empty_strided(SymInt[] shape, SymInt[] strides, " HOW ") -> Tensor");
    LOWER(lower_full_like, NULL, PLAIN,
          "prims::full_like(Tensor a, Scalar fill_value, " HOW ") -> Tensor");
    LOWER(lower_iota, NULL, PLAIN,
          "prims::iota(SymInt length, *, SymInt start, SymInt step, ScalarType dtype, Device "
          "device, bool requires_grad) -> Tensor");
    OP_ROW(.kind = ROW_CALL,
           .schema = "prims::fft_c2c(Tensor self, *, int[] dim, bool forward) -> Tensor",
           .call = lower_fft, .text = "aten::_fft_c2c");
    OP_ROW(.kind = ROW_CALL,
           .schema = "prims::fft_r2c(Tensor self, *, int[] dim, bool onesided) -> Tensor",
           .call = lower_fft, .text = "aten::_fft_r2c");
    OP_ROW(.kind = ROW_CALL,
           .schema = "prims::fft_c2r(Tensor self, *, int[] dim, SymInt last_dim_size) -> Tensor",
           .call = lower_fft, .text = "aten::_fft_c2r");
    REFUSE("a resized tensor keeps memory that was never written",
           "prims::resize(Tensor(a!) a, SymInt[] shape) -> Tensor(a!)");
    REFUSE("it is for the strides of memory, which ONNX has not",
           "prims::as_strided(Tensor(a!) a, SymInt[] size, SymInt[] stride, SymInt storage_offset) "
           "-> Tensor(a!)");
}
