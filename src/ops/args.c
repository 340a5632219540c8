/* args.c - a lowering's view of its arguments: by name, as the kind it asks for. Asking for a name
 * that the schema lacks is our own mistake. Every function is harmless after an error: it returns
 * POISON, zero or nothing. */
#include "ops/internal.h"

#include <float.h>
#include <math.h>

static int find(Op *op, const char *name)
{
    const Schema *s = op->call->schema;
    int i = param_named(s, name);
    if (i < 0)
        fail(op->cx, E_BUG, "%s has no parameter '%s'", s->text->s, name);
    return i;
}

Value arg_value(Op *op, const char *name)
{
    int i = find(op, name);
    return i < 0 ? val_poison() : op->call->arg[i];
}

bool arg_given(Op *op, const char *name)
{
    Value v = arg_value(op, name);
    return v.tag != V_NONE && v.tag != V_POISON;
}

/* The error for an argument of another kind than the lowering can use. */
static void *unfit(Op *op, const char *name, Value v)
{
    if (!ctx_failed(op->cx))
        fail(op->cx, E_UNSUPPORTED, "argument '%s' is %s, which is not supported here", name,
             val_kind(v));
    return NULL;
}

/* ---- tensors ---- */

/* NULL for None. A promoted argument is its cast; argument 0 of a view that is read again is the
 * base's present value (op->base). */
Ox arg_opt(Op *op, const char *name)
{
    int i = find(op, name);
    if (i < 0)
        return POISON;
    if (op->promoted && op->promoted[i])
        return op->promoted[i];
    Value v = op->call->arg[i];
    if (v.tag == V_NONE)
        return NULL;
    if (v.tag != V_TENSOR)
        return unfit(op, name, v), POISON;
    return i == 0 && op->base ? op->base : tensor_read(op->g, v.t);
}

Ox arg(Op *op, const char *name)
{
    Ox v = arg_opt(op, name);
    return v ? v : (unfit(op, name, val_none()), POISON);
}

Ox arg_typed(Op *op, const char *name, DType t)
{
    Ox v = arg(op, name);
    if (ox_ok(v) && ox_dtype(v) != t && dtype_is_float(ox_dtype(v)) &&
        dtype_is_assumable(op->cx, v))
        return assume_dtype(op->cx, v, t, op->call->schema->name->s) ? v : POISON;
    return v;
}

/* Tensor[] as values: those of promotion where the row promotes the list, else read one by one.
 * [x, None] gives { x, NULL }. */
Oxs arg_list(Op *op, const char *name)
{
    int i = find(op, name);
    Oxs out = { 0 };
    if (i < 0)
        return out;
    if (op->promoted && op->promoted_list[i].n > 0)
        return op->promoted_list[i];
    Value v = op->call->arg[i];
    if (v.tag == V_NONE)
        return out;
    if (v.tag != V_TUPLE)
        return unfit(op, name, v), out;
    for (int64_t k = 0; k < v.tuple->n; k++) {
        Value x = v.tuple->at[k];
        if (x.tag != V_TENSOR && x.tag != V_NONE)
            return unfit(op, name, x), (Oxs){ 0 };
        vec_push(op->cx, &out, x.tag == V_TENSOR ? tensor_read(op->g, x.t) : NULL);
    }
    return out;
}

Tensor *arg_tensor(Op *op, const char *name)
{
    Value v = arg_value(op, name);
    switch (v.tag) {
    case V_TENSOR: return v.t;
    case V_NONE:
    case V_POISON: return NULL;
    default:       return unfit(op, name, v);
    }
}

int arg_rank(Op *op, const char *name)
{
    Value v = arg_value(op, name);
    return v.tag == V_TENSOR ? tensor_type(v.t)->rank : -1;
}

Value no_dimensions(Op *op, const char *name)
{
    fail(op->cx, E_VALUE, "Dimension specified as %lld but tensor has no dimensions",
         (long long)arg_int(op, name));
    return val_poison();
}

/* ---- numbers ---- */

Dim arg_dim_expr(Op *op, const char *name)
{
    Value v = arg_value(op, name);
    Dim d = NULL;
    if (!val_dim_of(v, op->cx, &d))
        unfit(op, name, v);
    return d ? d : dim_int(op->cx, 0);
}

/* The number d of argument `name`; a symbolic one fails, because no attribute can hold it. */
static int64_t known(Op *op, const char *name, Dim d)
{
    int64_t out = 0;
    if (!dim_known(d, &out) && !ctx_failed(op->cx)) {
        fail(op->cx, E_UNDECIDED, "argument '%s' must be a known number, it is %s", name,
             dim_text(op->cx, d)->s);
        fail_hint(op->cx, "give the input that it comes from a fixed size with -i");
        return 0;
    }
    return out;
}

int64_t arg_int(Op *op, const char *name) { return known(op, name, arg_dim_expr(op, name)); }

double arg_float(Op *op, const char *name)
{
    Value v = arg_value(op, name);
    double x;
    if (v.tag == V_FLOAT)
        return v.f;
    if (v.tag == V_SYMFLOAT && ox_known_scalar(op->g, v.ox, &x))
        return x;
    if (v.tag == V_SYMFLOAT)
        fail(op->cx, E_UNDECIDED, "argument '%s' must be a known number, it depends on data", name);
    return v.tag == V_SYMFLOAT ? 0 : (double)arg_int(op, name);
}

bool arg_bool(Op *op, const char *name)
{
    Value v = arg_value(op, name);
    if (v.tag == V_BOOL)
        return v.b;
    if (v.tag == V_INT)
        return v.i != 0;
    unfit(op, name, v);
    return false;
}

Str arg_str(Op *op, const char *name)
{
    Value v = arg_value(op, name);
    if (v.tag == V_STR)
        return v.s;
    return v.tag == V_NONE ? NULL : unfit(op, name, v);
}

bool arg_is_number(Op *op, const char *name, double x)
{
    Value v = arg_value(op, name);
    switch (v.tag) {
    case V_INT:   return (double)v.i == x;
    case V_FLOAT: return v.f == x;
    case V_BOOL:  return (double)v.b == x;
    default:      return false;
    }
}

/* ---- lists of numbers ---- */

/* A tuple, or one number as a list of one. None gives an empty list. */
Dims arg_dims_any(Op *op, const char *name)
{
    Value v = arg_value(op, name);
    Dims out = { 0 };
    if (v.tag == V_NONE || v.tag == V_POISON)
        return out;
    const Value *items = v.tag == V_TUPLE ? v.tuple->at : &v;
    int64_t n = v.tag == V_TUPLE ? v.tuple->n : 1;
    out.at = new_array(op->cx, Dim, n + 1);
    if (!out.at)
        return out;
    for (int64_t i = 0; i < n; i++)
        if (!val_dim_of(items[i], op->cx, &out.at[i]))
            return unfit(op, name, v), (Dims){ 0 };
    out.n = (size_t)n;
    return out;
}

Dims arg_dims(Op *op, const char *name)
{
    Dims d = arg_dims_any(op, name);
    if (d.n <= MAX_RANK)
        return d;
    fail(op->cx, E_LIMIT, "argument '%s' has %zu numbers, a tensor has at most %d dimensions", name,
         d.n, MAX_RANK);
    return (Dims){ 0 };
}

Dims arg_new_sizes(Op *op, const char *name)
{
    Dims d = arg_dims(op, name);
    int64_t n;
    for (size_t i = 0; i < d.n; i++)
        if (dim_known(d.at[i], &n) && n < 0) {
            fail(op->cx, E_VALUE, "Trying to create tensor with negative dimension %lld",
                 (long long)n);
            return (Dims){ 0 };
        }
    return d;
}

Ints arg_ints(Op *op, const char *name)
{
    Dims d = arg_dims_any(op, name);
    Ints out = { .at = new_array(op->cx, int64_t, d.n + 1), .n = d.n };
    if (!out.at)
        return (Ints){ 0 };
    for (size_t i = 0; i < d.n; i++)
        out.at[i] = known(op, name, d.at[i]);
    return out;
}

Ints arg_ints_n(Op *op, const char *name, int n)
{
    Ints v = arg_ints(op, name);
    if (v.n == 0 || v.n == (size_t)n)
        return v;
    if (v.n != 1) {
        fail(op->cx, E_VALUE, "argument '%s' has %zu numbers, %d are wanted", name, v.n, n);
        return (Ints){ 0 };
    }
    Ints out = { .at = new_array(op->cx, int64_t, n), .n = (size_t)n };
    if (!out.at)
        return (Ints){ 0 };
    for (int i = 0; i < n; i++)
        out.at[i] = v.at[0];
    return out;
}

/* ---- types and dims ---- */

/* c10's numbers, which TorchScript writes. */
static DType c10_dtype(int64_t code)
{
    static const DType types[] = {
        DT_UINT8,          DT_INT8,           DT_INT16,  DT_INT32,      DT_INT64,
        DT_FLOAT16,        DT_FLOAT,          DT_DOUBLE, DT_NONE,       DT_COMPLEX64,
        DT_COMPLEX128,     DT_BOOL,           DT_NONE,   DT_NONE,       DT_NONE,
        DT_BFLOAT16,       DT_NONE,           DT_NONE,   DT_NONE,       DT_NONE,
        DT_NONE,           DT_NONE,           DT_NONE,   DT_FLOAT8E5M2, DT_FLOAT8E4M3FN,
        DT_FLOAT8E5M2FNUZ, DT_FLOAT8E4M3FNUZ, DT_UINT16, DT_UINT32,     DT_UINT64,
    };
    return code >= 0 && code < (int64_t)COUNT(types) ? types[code] : DT_NONE;
}

static DType dtype_of(Value v)
{
    if (v.tag == V_INT)
        return c10_dtype(v.i);
    return v.tag == V_DTYPE ? v.dtype : DT_NONE;
}

DType arg_dtype(Op *op, const char *name, DType deflt)
{
    Value v = arg_value(op, name);
    if (v.tag == V_NONE || v.tag == V_POISON)
        return deflt;
    DType t = dtype_of(v);
    if (t != DT_NONE)
        return t;
    op_refuse(op, "ONNX has no element type for argument '%s'", name);
    return deflt;
}

/* dim as an axis counted from the front: -1 of rank 3 is 2. A scalar counts as rank 1. */
static bool wrap(Op *op, int64_t dim, int rank, int *axis)
{
    int n = rank > 0 ? rank : 1;
    if (dim < -n || dim >= n)
        return fail(op->cx, E_VALUE,
                    "Dimension out of range (expected to be in range of [%d, %d], but got %lld)",
                    -n, n - 1, (long long)dim);
    *axis = (int)(dim < 0 ? dim + n : dim);
    return true;
}

bool arg_dim(Op *op, const char *name, int rank, int *axis)
{
    int64_t dim = arg_int(op, name);
    return !ctx_failed(op->cx) && wrap(op, dim, rank, axis);
}

/* The axes that a reduction names, sorted: dim=[-1, 0] of rank 3 gives { 0, 2 }; None and []
 * give { 0, 1, 2 }. False after PyTorch's own message for an axis out of range or named twice. */
bool arg_axes(Op *op, const char *name, int rank, Axes *out)
{
    Ints dims = arg_ints(op, name);
    *out = (Axes){ 0 };
    if (ctx_failed(op->cx))
        return false;
    for (size_t i = 0; i < dims.n; i++) {
        int axis = 0;
        if (!wrap(op, dims.at[i], rank, &axis))
            return false;
        if (out->has[axis])
            return fail(op->cx, E_VALUE, "dim %d appears multiple times in the list of dims", axis);
        out->has[axis] = true;
    }
    for (int i = 0; i < rank; i++) {
        out->has[i] |= dims.n == 0;
        if (out->has[i])
            out->at[out->n++] = i;
    }
    return true;
}

bool need_rank(Op *op, Ox x, int usual, int *rank)
{
    if (!ox_ok(x))
        return false;
    *rank = ox_rank(x);
    if (*rank >= 0)
        return true;
    if (usual >= 0)
        return assume_rank(op->cx, x, usual, op->call->schema->name->s);
    fail(op->cx, E_UNDECIDED, "the rank of its argument must be known");
    fail_hint(op->cx, "-i NAME:float32[..] for the input that it comes from");
    return false;
}

/* ---- building, refusing, results ---- */

Ox number_like(Op *op, double v, Ox like)
{
    return ox_ok(like) ? ox_number(op->g, ox_dtype(like), v) : POISON;
}

Ox op_refuse(Op *op, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    Str name = op->call->schema->name;
    refuse(op->cx, where_intern(op->cx), name, "%s: %s", name->s, text);
    return POISON;
}

bool need_opset(Op *op, int opset, const char *what)
{
    if (op->g->target >= opset)
        return true;
    op_refuse(op, "%s needs ONNX opset %d, the target is %d", what, opset, op->g->target);
    refuse_opset(op->cx, opset);
    return false;
}

/* n values as tensors; NULL when one of them is poison or there is no memory. */
static Value *tensors(Op *op, const Ox *at, size_t n)
{
    Value *out = new_array(op->cx, Value, n + 1);
    if (!out)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        if (!at[i] || !ox_ok(at[i]))
            return NULL;
        out[i] = val_tensor(op->cx, at[i]);
    }
    return out;
}

Value result_tuple(Op *op, const Ox *at, size_t n)
{
    Value *v = tensors(op, at, n);
    return v ? val_tuple(op->cx, v, (int64_t)n) : val_poison();
}

Value result_list(Op *op, const Ox *at, size_t n)
{
    Value *v = tensors(op, at, n);
    return v ? val_list(op->cx, v, (int64_t)n, "Tensor") : val_poison();
}

/* Is x in the range of this int type? As in PyTorch, an unsigned type takes negative ints of its
 * range too: -255 fits uint8, -255.0 does not. */
static bool int_fits(double x, DType t, bool whole)
{
    double end = ldexp(1, 8 * (int)dtype_size(t) - dtype_is_signed(t));
    if (dtype_is_signed(t))
        return x >= -end && x < end;
    return (whole ? x > -end : x >= 0) && x < end;
}

/* The largest finite number of a float type. */
static double float_max(DType t)
{
    switch (t) {
    case DT_FLOAT16:  return 65504;
    case DT_BFLOAT16: return 0x1.fep127;
    case DT_FLOAT:    return FLT_MAX;
    default:          return INFINITY;
    }
}

/* Can PyTorch store the number v in a tensor of type t? A float type may round it, but not to an
 * infinity. */
static bool number_fits(Value v, DType t)
{
    double x = v.tag == V_FLOAT ? v.f : (double)v.i;
    if (!dtype_is_int(t))
        return !isfinite(x) || fabs(x) <= float_max(t);
    bool same_width = v.tag == V_INT && dtype_size(t) == 8;
    return same_width || int_fits(x, t, v.tag == V_INT);
}

Ox number_stored(Op *op, Value v, DType t)
{
    static const char *const names[DT_COUNT] = {
        [DT_FLOAT] = "float",       [DT_UINT8] = "uint8_t",          [DT_INT8] = "int8_t",
        [DT_UINT16] = "uint16_t",   [DT_INT16] = "int16_t",          [DT_INT32] = "int",
        [DT_UINT32] = "uint32_t",   [DT_UINT64] = "uint64_t",        [DT_INT64] = "int64_t",
        [DT_FLOAT16] = "c10::Half", [DT_BFLOAT16] = "c10::BFloat16",
    };
    if ((v.tag == V_INT || v.tag == V_FLOAT) && names[t] && !number_fits(v, t))
        return op_fail(op, E_VALUE, "value cannot be converted to type %s without overflow",
                       names[t]);
    return number_as(op, v, t);
}

Ox number_filling(Op *op, Value v, DType t, const Dim *dims, size_t n)
{
    bool half = t == DT_FLOAT16 || t == DT_BFLOAT16;
    bool one_element = half && dim_is(dim_product(op->cx, dims, (int)n), 1);
    return one_element ? number_as(op, v, t) : number_stored(op, v, t);
}

Ox widened(Op *op, Ox x)
{
    bool half = ox_ok(x) && (ox_dtype(x) == DT_FLOAT16 || ox_dtype(x) == DT_BFLOAT16);
    return half ? ox_cast(op->g, x, DT_FLOAT) : x;
}

/* See ops.h. A symbolic number becomes a value of the graph, cast to t. */
Ox number_as(Op *op, Value v, DType t)
{
    switch (v.tag) {
    case V_BOOL:     return t == DT_BOOL ? ox_bool(op->g, v.b) : ox_integer(op->g, t, v.b);
    case V_INT:      return t == DT_BOOL ? ox_bool(op->g, v.i != 0) : ox_integer(op->g, t, v.i);
    case V_FLOAT:    return ox_number(op->g, t, v.f);
    case V_SYMINT:   return ox_cast(op->g, ox_dim_value(op->g, v.dim), t);
    case V_SYMFLOAT: return ox_cast(op->g, v.ox, t);
    case V_SYMBOOL:  return ox_cast(op->g, symbool_ox(op->g, v.sb), t);
    case V_TENSOR:   return ox_cast(op->g, tensor_read(op->g, v.t), t);
    case V_COMPLEX:
        if (dtype_is_complex(t))
            return ox_complex_number(op->g, t, v.c[0], v.c[1]);
        return op_fail(op, E_VALUE, "value cannot be converted to type %s without overflow",
                       dtype_name(t));
    case V_POISON: return POISON;
    default:       return op_fail(op, E_VALUE, "a number is needed here, not %s", val_kind(v));
    }
}
