/* convert.c - the same elements as another type, another tensor or a Python number; and writing
 * whole tensors. */
#include "ops/internal.h"

/* ---- types ---- */

/* x as type t; a complex x asked for as a real type gives its real part, as in PyTorch. */
static Ox as_type(Op *op, Ox x, DType t)
{
    if (ox_ok(x) && dtype_is_complex(ox_dtype(x)) && !dtype_is_complex(t) && t != DT_BOOL)
        x = ox_part(op->g, x, 0);
    return ox_cast(op->g, x, t);
}

/* to(): shares_converted() says when the result is the argument itself. */
static Ox lower_to(Op *op)
{
    Ox x = arg(op, "self");
    return ox_ok(x) ? as_type(op, x, arg_dtype(op, "dtype", ox_dtype(x))) : POISON;
}

static Ox lower_to_other(Op *op)
{
    Ox x = arg(op, "self");
    Ox other = arg(op, "other");
    return ox_ok(x) && ox_ok(other) ? as_type(op, x, ox_dtype(other)) : POISON;
}

/* May an axis behind the first have one element? to() asks the order of the strides alone, and the
 * stride of such an axis may be any. */
static bool has_thin_axis(Op *op, Tensor *base)
{
    Type ty = tensor_type(base);
    for (int i = 1; i < ty->rank; i++)
        if (dim_eq(op->cx, ty->dim[i], dim_int(op->cx, 1)) != NO)
            return true;
    return false;
}

/* Does base lie in memory as `to(memory_format=channels_last)` wants it? */
static Tri has_channels_last(Op *op, Tensor *base, int64_t format)
{
    if (has_thin_axis(op, base))
        return UNKNOWN;
    if (tensor_has_format(op->cx, base, format) == YES)
        return YES;
    return tensor_contiguous(op->cx, base) == YES ? NO : UNKNOWN;
}

/* Does base lie in memory as `to(memory_format=)` wants it? */
static Tri has_format(Op *op, Tensor *base)
{
    Value format = has_param(op, "memory_format") ? arg_value(op, "memory_format") : val_none();
    if (format.tag != V_INT || format.i == FORMAT_PRESERVE)
        return YES;
    if (format.i != FORMAT_CONTIGUOUS)
        return has_channels_last(op, base, format.i);
    int rank = tensor_type(base)->rank;
    int64_t last = rank == 5 ? FORMAT_CHANNELS_LAST_3D : FORMAT_CHANNELS_LAST;
    bool ordered = !base->stride || rank < 4 || !has_thin_axis(op, base);
    if (ordered && tensor_contiguous(op->cx, base) == YES)
        return YES;
    return rank >= 4 && has_channels_last(op, base, last) == YES ? NO : UNKNOWN;
}

/* Is the result of to() its argument itself? Yes when neither the type nor the memory format
 * changes and no copy is asked for. */
static Tri shares_converted(Op *op, Tensor *base, Ox read)
{
    Value copy = has_param(op, "copy") ? arg_value(op, "copy") : val_none();
    bool asked = copy.tag == V_BOOL && copy.b;
    return asked || ox_dtype(read) != tensor_type(base)->dtype ? NO : has_format(op, base);
}

static Ox lower_same(Op *op) { return arg(op, "self"); }

/* PyTorch gives such a copy the type that its kernel reads from where none was stored. */
static Ox lower_same_or_copy(Op *op)
{
    if (arg_bool(op, "copy"))
        return op_refuse(op,
                         "PyTorch gives a copy of no dtype any dtype: write x.to(x.dtype, "
                         "copy=True) or x.clone()");
    return lower_same(op);
}

static Ox lower_cast(Op *op)
{
    Ox x = arg(op, "self");
    return ox_ok(x) ? as_type(op, x, (DType)op->row->datum) : POISON;
}

/* ---- numbers and tensors ---- */

static Value lower_number_to_tensor(Op *op)
{
    Value v = arg_value(op, "a");
    Graph *g = op->g;
    switch (v.tag) {
    case V_BOOL:     return val_tensor(op->cx, ox_bool(g, v.b));
    case V_INT:      return val_tensor(op->cx, ox_int(g, v.i));
    case V_FLOAT:    return val_tensor(op->cx, ox_number(g, DT_DOUBLE, v.f));
    case V_SYMINT:   return val_tensor(op->cx, ox_dim_value(g, v.dim));
    case V_SYMFLOAT: return val_tensor(op->cx, v.ox);
    case V_SYMBOOL:  return val_tensor(op->cx, symbool_ox(g, v.sb));
    default:         return val_poison();
    }
}

/* The only element as a number. row->datum: the number's type (DT_NONE: the tensor's). */
static Value lower_item(Op *op)
{
    Ox x = arg(op, op->call->schema->param[0].name->s);
    DType t = (DType)op->row->datum;
    int rank;
    if (!need_rank(op, x, 0, &rank))
        return val_poison();
    if (str_is(op->call->schema->name, "aten::IntImplicit") ||
        str_is(op->call->schema->name, "aten::FloatImplicit") ||
        str_is(op->call->schema->name, "aten::ScalarImplicit")) {
        if (rank > 0) {
            fail(op->cx, E_VALUE,
                 "Cannot input a tensor of dimension other than 0 as a scalar argument");
            return val_poison();
        }
    }
    Dim n = type_numel(op->cx, x->type);
    if (!dim_require(op->cx, n, dim_int(op->cx, 1),
                     "a Tensor with %s elements cannot be converted to Scalar",
                     dim_text(op->cx, n)->s))
        return val_poison();
    return val_number_of(op->g, t == DT_NONE ? x : ox_cast(op->g, x, t));
}

static Value lower_sym_size(Op *op)
{
    Ox x = arg(op, "self");
    int rank, axis;
    if (!need_rank(op, x, -1, &rank) || !arg_dim(op, "dim", rank, &axis))
        return val_poison();
    return rank ? val_dim(op->cx, ox_dim(x, axis)) : no_dimensions(op, "dim");
}

static Ox lower_shape_as_tensor(Op *op)
{
    Ox x = arg(op, "self");
    return ox_ok(x) ? ox_shape(op->g, x) : POISON;
}

/* ---- writing a whole tensor: rows of their own, as no plain form gives their result ---- */

Value written(Op *op, Ox v)
{
    Tensor *self = arg_tensor(op, "self");
    if (!self || !ox_ok(v) || !tensor_write(op->g, self, v))
        return val_poison();
    return (Value){ .tag = V_TENSOR, .t = self };
}

static Value lower_copy_(Op *op)
{
    Ox self = arg(op, "self");
    Ox src = arg(op, "src");
    int rank;
    if (!ox_ok(src) || !need_rank(op, self, -1, &rank) || !need_output(op, self, src) ||
        !may_write_copies(op, arg_tensor(op, "self")))
        return val_poison();
    return written(op, expand_dims(op, as_type(op, src, ox_dtype(self)), self->type->dim, rank));
}

/* self, filled with the 0-d value v. */
static Value filled(Op *op, Ox v)
{
    Ox self = arg(op, "self");
    int rank;
    if (!ox_ok(v) || !need_rank(op, self, -1, &rank))
        return val_poison();
    return written(op, expand_dims(op, ox_cast(op->g, v, ox_dtype(self)), self->type->dim, rank));
}

static Value lower_zero_(Op *op) { return filled(op, ox_int(op->g, 0)); }

/* Reshape to sizes that a tensor holds; 0 among them means a size of 0 (allowzero). */
static Ox lower_reshape_from_tensor(Op *op)
{
    Ox self = arg(op, "self");
    Ox shape = arg_typed(op, "shape", DT_INT64);
    return ox_ok(shape)
        ? ox_with(op, "Reshape", INPUTS(self, ox_cast(op->g, shape, DT_INT64)), INT("allowzero", 1))
        : POISON;
}

/* self's shape filled with a number, which takes self's type directly: 1e-3 in a float64 tensor
 * must not go through float32. */
static Ox lower_fill(Op *op)
{
    Ox self = arg(op, "self");
    int rank;
    if (!need_rank(op, self, -1, &rank))
        return POISON;
    int value_rank = arg_rank(op, "value");
    if (value_rank > 0)
        return op_fail(op, E_VALUE,
                       "fill_ only supports 0-dimension value tensor but got tensor with %d "
                       "dimensions.",
                       value_rank);
    Ox v = number_filling(op, arg_value(op, "value"), ox_dtype(self), self->type->dim,
                          (size_t)rank);
    return ox_ok(v) ? expand_dims(op, v, self->type->dim, rank) : POISON;
}

static Value lower_fill_(Op *op)
{
    Ox v = lower_fill(op);
    return ox_ok(v) ? written(op, v) : val_poison();
}

static Ox lower_zero(Op *op)
{
    Ox self = arg(op, "self");
    int rank;
    if (!need_rank(op, self, -1, &rank))
        return POISON;
    return expand_dims(op, ox_integer(op->g, ox_dtype(self), 0), self->type->dim, rank);
}

static Ox lower_copy(Op *op)
{
    Ox self = arg(op, "self");
    Ox src = arg(op, "src");
    int rank;
    if (!ox_ok(src) || !need_rank(op, self, -1, &rank) || !need_output(op, self, src))
        return POISON;
    return expand_dims(op, as_type(op, src, ox_dtype(self)), self->type->dim, rank);
}

#define HOW \
    "Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False"
#define CAST(t, name)            \
    ITSELF(lower_cast, t, PLAIN, \
           "aten::_cast_" name "(Tensor self, bool non_blocking=False) -> Tensor")
#define ITEM(t, line) CALL_FAMILY(lower_item, t, NULL, PLAIN, line)

OP_ROWS(convert)
{
    ITSELF_OR_COPY(
        lower_to, shares_converted, PLAIN,
        "aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, "
        "bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
        .layout = LAYOUT_KEEPS);
    ITSELF_OR_COPY(lower_to, shares_converted, PLAIN,
                   "aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool "
                   "copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
                   .layout = LAYOUT_KEEPS);
    ITSELF_OR_COPY(lower_to_other, shares_converted, PLAIN,
                   "aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool "
                   "copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
                   .layout = LAYOUT_KEEPS);
    ITSELF_OR_COPY(lower_to, shares_converted, PLAIN,
                   "aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, " HOW
                   ", bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
                   .layout = LAYOUT_KEEPS);
    ITSELF_OR_COPY(lower_to, shares_converted, PLAIN,
                   "aten::to.prim_Device(Tensor(a) self, Device? device, int? dtype=None, bool "
                   "non_blocking=False, bool copy=False) -> Tensor(b|a)",
                   .layout = LAYOUT_KEEPS);
    ITSELF_OR_COPY(lower_to, shares_converted, PLAIN,
                   "aten::to.prim_dtype(Tensor(a) self, int? dtype=None, bool non_blocking=False, "
                   "bool copy=False) -> Tensor(b|a)",
                   .layout = LAYOUT_KEEPS);
    ITSELF_OR_COPY(
        lower_to, shares_converted, PLAIN,
        "aten::as_tensor(Tensor(a) self, *, ScalarType? dtype=None, Device? device=None) -> "
        "Tensor(a)");
    ITSELF_OR_COPY(lower_same_or_copy, shares_converted, PLAIN,
                   "aten::to.prim_other(Tensor(a) self, bool non_blocking=False, bool copy=False) "
                   "-> Tensor(b|a)",
                   .layout = LAYOUT_KEEPS);
    ITSELF_OR_COPY(lower_to_other, shares_converted, PLAIN,
                   "aten::type_as(Tensor self, Tensor other) -> Tensor", .layout = LAYOUT_KEEPS);
    ITSELF_OR_COPY(lower_to, shares_converted, PLAIN,
                   "aten::type(Tensor self, ScalarType dtype, bool non_blocking=False, bool "
                   "copy=False) -> Tensor",
                   .layout = LAYOUT_KEEPS);
    LOWER(lower_to, NULL, PLAIN,
          "aten::_to_copy(Tensor self, *, ScalarType? dtype=None, " HOW
          ", MemoryFormat? memory_format=None) -> Tensor",
          .layout = LAYOUT_KEEPS);
    LOWER(lower_same, NULL, PLAIN,
          "aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
          .layout = LAYOUT_KEEPS);
    LOWER(lower_same, NULL, PLAIN, "aten::lift_fresh_copy(Tensor self) -> Tensor");
    CAST(DT_FLOAT, "Float");
    CAST(DT_DOUBLE, "Double");
    CAST(DT_FLOAT16, "Half");
    CAST(DT_INT64, "Long");
    CAST(DT_BFLOAT16, "BFloat16");
    CAST(DT_BOOL, "Bool");
    CAST(DT_INT32, "Int");
    CAST(DT_INT16, "Short");
    CAST(DT_INT8, "Char");
    CAST(DT_UINT8, "Byte");
    CALL(lower_number_to_tensor, NULL, PLAIN, "prim::NumToTensor.Scalar(Scalar a) -> Tensor");
    ITEM(DT_INT64, "aten::Int.Tensor(Tensor a) -> int");
    ITEM(DT_DOUBLE, "aten::Float.Tensor(Tensor a) -> float");
    ITEM(DT_BOOL, "aten::Bool.Tensor(Tensor a) -> bool");
    ITEM(DT_BOOL, "aten::is_nonzero(Tensor self) -> bool");
    ITEM(DT_INT64, "aten::IntImplicit(Tensor a) -> int");
    ITEM(DT_DOUBLE, "aten::FloatImplicit(Tensor a) -> float");
    ITEM(DT_NONE, "aten::ScalarImplicit(Tensor a) -> Scalar");
    ITEM(DT_NONE, "aten::item(Tensor self) -> Scalar");
    ITEM(DT_NONE, "aten::_local_scalar_dense(Tensor self) -> Scalar");
    CALL(lower_sym_size, NULL, PLAIN, "aten::sym_size.int(Tensor self, int dim) -> SymInt");
    LOWER(lower_shape_as_tensor, NULL, PLAIN, "aten::_shape_as_tensor(Tensor self) -> Tensor");
    CALL(lower_copy_, NULL, PLAIN,
         "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)");
    CALL(lower_fill_, NULL, PLAIN,
         "aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)");
    CALL(lower_fill_, NULL, PLAIN,
         "aten::fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)");
    CALL(lower_zero_, NULL, PLAIN, "aten::zero_(Tensor(a!) self) -> Tensor(a!)");
    LOWER(lower_zero, NULL, PLAIN, "aten::zero(Tensor self) -> Tensor");
    LOWER(lower_reshape_from_tensor, NULL, PLAIN,
          "aten::_reshape_from_tensor(Tensor self, Tensor shape) -> Tensor");
    REFUSE("ONNX's operators take no sparse tensors",
           "aten::to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? "
           "dense_dim=None) -> Tensor");
    REFUSE("ONNX's operators take no sparse tensors",
           "aten::to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor");
    LOWER(lower_copy, NULL, PLAIN,
          "aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor");
    LOWER(lower_fill, NULL, PLAIN, "aten::fill.Scalar(Tensor self, Scalar value) -> Tensor");
    LOWER(lower_fill, NULL, PLAIN, "aten::fill.Tensor(Tensor self, Tensor value) -> Tensor");
}
