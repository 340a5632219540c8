/* args.c - a lowering's view of its arguments: by name, as the kind it asks for. Asking for a name
 * that the schema lacks is our own mistake. Every function is harmless after an error: it returns
 * POISON, zero or nothing. */
#include "ops/internal.h"

#include <float.h>
#include <math.h>

static int find(Op *op, const char *name)
{
    const Schema *s = op->call->schema;
    for (int i = 0; i < s->n_param; i++)
        if (str_is(s->param[i].name, name))
            return i;
    fail(op->cx, E_BUG, "%s has no parameter '%s'", s->text->s, name);
    return -1;
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
    return v.tag == V_TENSOR                   ? v.t
        : v.tag == V_NONE || v.tag == V_POISON ? NULL
                                               : unfit(op, name, v);
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
    return v.tag == V_STR ? v.s : v.tag == V_NONE ? NULL : unfit(op, name, v);
}

bool arg_is_number(Op *op, const char *name, double x)
{
    Value v = arg_value(op, name);
    return v.tag == V_INT  ? (double)v.i == x
        : v.tag == V_FLOAT ? v.f == x
        : v.tag == V_BOOL  ? v.b == (x != 0)
                           : false;
}

/* ---- lists of numbers ---- */

Dims arg_dims(Op *op, const char *name)
{
    Value v = arg_value(op, name);
    Dims out = { 0 };
    if (v.tag == V_NONE || v.tag == V_POISON)
        return out;
    int64_t n = v.tag == V_TUPLE ? v.tuple->n : 1;
    out.at = new_array(op->cx, Dim, n + 1);
    for (int64_t i = 0; out.at && i < n; i++)
        if (!val_dim_of(v.tag == V_TUPLE ? v.tuple->at[i] : v, op->cx, &out.at[i]))
            return unfit(op, name, v), (Dims){ 0 };
    out.n = out.at ? (size_t)n : 0;
    return out;
}

Ints arg_ints(Op *op, const char *name)
{
    Dims d = arg_dims(op, name);
    Ints out = { .at = new_array(op->cx, int64_t, d.n + 1), .n = d.n };
    for (size_t i = 0; out.at && i < d.n; i++)
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

DType arg_dtype(Op *op, const char *name, DType deflt)
{
    Value v = arg_value(op, name);
    if (v.tag == V_NONE || v.tag == V_POISON)
        return deflt;
    DType t = v.tag == V_DTYPE ? v.dtype : v.tag == V_INT ? c10_dtype(v.i) : DT_NONE;
    if (t == DT_NONE)
        op_refuse(op, "ONNX has no element type for argument '%s'", name);
    return t == DT_NONE ? deflt : t;
}

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
    for (int i = 0; i < rank; i++)
        if (dims.n == 0 || out->has[i])
            out->has[i] = true, out->at[out->n++] = i;
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
    refuse_hint(op->cx, "--opset %d", opset);
    return false;
}

static Value *tensors(Op *op, const Ox *at, size_t n)
{
    Value *out = new_array(op->cx, Value, n + 1);
    for (size_t i = 0; out && i < n; i++) {
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

/* PyTorch's overflow: an int type loses nothing of a whole number, though an unsigned one takes its
 * negative too; a float type may round, but not to an infinity. */
static bool number_fits(Value v, DType t)
{
    double x = v.tag == V_FLOAT ? v.f : (double)v.i;
    double most = dtype_is_int(t) ? ldexp(1, 8 * (int)dtype_size(t) - dtype_is_signed(t))
                                  : INFINITY;
    if (dtype_is_int(t))
        return (v.tag == V_INT && dtype_size(t) == 8) ||
            (x < most && (dtype_is_signed(t) ? x >= -most : x > -most));
    most = t == DT_FLOAT16 ? 65504 : t == DT_BFLOAT16 ? 0x1.fep127 : t == DT_FLOAT ? FLT_MAX : most;
    return !isfinite(x) || fabs(x) <= most;
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
    return half && dim_is(dim_product(op->cx, dims, (int)n), 1) ? number_as(op, v, t)
                                                                : number_stored(op, v, t);
}

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
