/* builtin_tensor.c - what tensors tell without being computed, and what the program asks about its
 * surroundings. Those are inference on the CPU. */
#include "eval/builtin/builtin.h"
#include "value/c10_dtype.h"

static Tensor *tensor_of(const Builtin *b, size_t i) { return b->arg[i].v.t; }

/* The shape as PyTorch counts it: a complex tensor's last axis is the pair. */
static bool shape_of(Builtin *b, const Tensor *t, const Dim **dims, int *rank)
{
    Type type = tensor_type(t);
    if (t->kind == NESTED)
        return fail(b->cx, E_UNSUPPORTED,
                    "the sizes of a nested tensor: pad it with to_padded_tensor first");
    if (type->rank < 0) {
        (void)facts_guess_rank(b->cx, t->read, b->row->name);
        return false;
    }
    *dims = type->dim;
    *rank = type->rank;
    return true;
}

/* ---- shape ---- */

static bool size_list(Builtin *b, Value *out)
{
    const Dim *dims;
    int rank;
    if (!shape_of(b, tensor_of(b, 0), &dims, &rank))
        return false;
    *out = (Value){ .tag = V_LIST, .list = list_new(b->cx, rank, str_of(b->cx, "int")) };
    for (int i = 0; i < rank; i++)
        list_append(b->cx, out->list, val_dim(b->cx, dims[i]));
    return true;
}

static bool wrap_axis(Builtin *b, int64_t axis, int rank, int *out)
{
    int64_t n = rank > 0 ? rank : 1;
    if (axis < -n || axis >= n || rank == 0)
        return builtin_fail(b, "dim %lld is out of range for rank %d", (long long)axis, rank);
    *out = (int)(axis < 0 ? axis + n : axis);
    return true;
}

static bool size_at(Builtin *b, Value *out)
{
    const Dim *dims;
    int rank, axis;
    if (!shape_of(b, tensor_of(b, 0), &dims, &rank) || !wrap_axis(b, b->arg[1].v.i, rank, &axis))
        return false;
    *out = val_dim(b->cx, dims[axis]);
    return true;
}

static bool rank_of(Builtin *b, Value *out)
{
    const Dim *dims;
    int rank;
    if (!shape_of(b, tensor_of(b, 0), &dims, &rank))
        return false;
    *out = val_int(rank);
    return true;
}

static bool numel_of(Builtin *b, Value *out)
{
    const Dim *dims;
    int rank;
    if (!shape_of(b, tensor_of(b, 0), &dims, &rank))
        return false;
    *out = val_dim(b->cx, dim_product(b->cx, dims, rank));
    return true;
}

static bool length_of(Builtin *b, Value *out)
{
    const Dim *dims;
    int rank;
    if (!shape_of(b, tensor_of(b, 0), &dims, &rank))
        return false;
    if (rank == 0)
        return builtin_fail(b, "len() of a 0-d tensor");
    *out = val_dim(b->cx, dims[0]);
    return true;
}

static bool strides_of(Builtin *b, Dim *out, int *rank)
{
    const Dim *dims;
    if (!shape_of(b, tensor_of(b, 0), &dims, rank))
        return false;
    return tensor_strides(b->cx, tensor_of(b, 0), out) ||
        fail(b->cx, E_UNDECIDED, "the strides of a tensor whose layout is not known");
}

static bool stride_list(Builtin *b, Value *out)
{
    Dim strides[MAX_RANK];
    int rank;
    if (!strides_of(b, strides, &rank))
        return false;
    *out = (Value){ .tag = V_LIST, .list = list_new(b->cx, rank, str_of(b->cx, "int")) };
    for (int i = 0; i < rank; i++)
        list_append(b->cx, out->list, val_dim(b->cx, strides[i]));
    return true;
}

static bool stride_at(Builtin *b, Value *out)
{
    Dim strides[MAX_RANK];
    int rank, axis;
    if (!strides_of(b, strides, &rank) || !wrap_axis(b, b->arg[1].v.i, rank, &axis))
        return false;
    *out = val_dim(b->cx, strides[axis]);
    return true;
}

static bool is_contiguous(Builtin *b, Value *out)
{
    Tri t = tensor_contiguous(b->cx, tensor_of(b, 0));
    if (int_or(b, 1, 0) != 0)
        return fail(b->cx, E_UNSUPPORTED,
                    "is_contiguous() of another memory format: ONNX has none");
    if (t == UNKNOWN)
        return fail(b->cx, E_UNDECIDED, "whether this tensor is contiguous is not known");
    *out = val_bool(t == YES);
    return true;
}

static bool same_size(Builtin *b, Value *out)
{
    Builtin one = *b;
    Builtin other = *b;
    Value x, y;
    other.arg = b->arg + 1;
    if (!size_list(&one, &x) || !size_list(&other, &y))
        return false;
    return equal_values(b, x, y, out);
}

/* ---- element type ---- */

/* c10's number of the quantised type that stores its numbers as d. */
static int64_t quantised_code(DType d)
{
    switch (d) {
    case DT_INT8:  return 12;
    case DT_UINT8: return 13;
    case DT_UINT4: return 16;
    default:       return 14;
    }
}

/* As TorchScript's int; quantised tensors count as the quantised type of what they store. */
static bool dtype_of(Builtin *b, Value *out)
{
    const Tensor *t = tensor_of(b, 0);
    DType d = tensor_type(t)->dtype;
    int64_t code = dtype_to_c10(d);
    if (t->kind == QUANT)
        code = quantised_code(d);
    if (code < 0)
        return fail(b->cx, E_UNSUPPORTED, "the type %s has no number in TorchScript",
                    dtype_name(d));
    *out = val_int(code);
    return true;
}

typedef enum { IS_FLOATING, IS_COMPLEX, IS_SIGNED } TypeTest;

static bool type_test(Builtin *b, Value *out)
{
    const Tensor *t = tensor_of(b, 0);
    DType d = tensor_type(t)->dtype;
    bool real_float = dtype_is_float(d) && t->kind != QUANT;
    switch ((TypeTest)b->row->datum) {
    case IS_FLOATING: *out = val_bool(real_float); break;
    case IS_COMPLEX:  *out = val_bool(dtype_is_complex(d)); break;
    case IS_SIGNED: *out = val_bool(real_float || dtype_is_complex(d) || dtype_is_signed(d)); break;
    }
    return true;
}

static bool element_size(Builtin *b, Value *out)
{
    *out = val_int((int64_t)dtype_size(tensor_type(tensor_of(b, 0))->dtype));
    return true;
}

/* Of the elements, not of the memory: an expanded tensor counts each as often as it shows it. */
static bool nbytes(Builtin *b, Value *out)
{
    const Tensor *t = tensor_of(b, 0);
    const Dim *dims;
    int rank;
    if (!shape_of(b, t, &dims, &rank))
        return false;
    Dim size = dim_int(b->cx, (int64_t)dtype_size(tensor_type(t)->dtype));
    *out = val_dim(b->cx, dim_mul(b->cx, dim_product(b->cx, dims, rank), size));
    return true;
}

static bool quant_number(Builtin *b, Value *out)
{
    const QuantInfo *q = tensor_of(b, 0)->quant;
    if (!q || q->axis >= 0)
        return builtin_fail(b, "the tensor is not quantised with one scale");
    if (!b->row->datum && q->exact != 0)
        *out = val_float(q->exact);
    else
        *out = val_number_of(b->g, b->row->datum ? q->zero_point : q->scale);
    return !ctx_failed(b->cx);
}

static bool is_nonzero(Builtin *b, Value *out)
{
    OpArg arg = { NULL, b->arg[0].v };
    return builtin_call(b->ev, str_of(b->cx, "aten::Bool"), &arg, 1, out) == DONE;
}

/* An argument of kind 'y'; DT_NONE: no type has this number. */
static DType type_given(const Builtin *b, size_t i)
{
    Value v = b->arg[i].v;
    return v.tag == V_DTYPE ? v.dtype : dtype_of_c10(v.i, NULL);
}

/* What stands for a type in the file that the arguments come from. */
static Value type_value(const Builtin *b, DType t)
{
    if (b->arg[0].v.tag == V_DTYPE)
        return (Value){ .tag = V_DTYPE, .dtype = t };
    return val_int(dtype_to_c10(t));
}

static bool promote(Builtin *b, Value *out)
{
    DType x = type_given(b, 0);
    DType y = type_given(b, 1);
    if (!x || !y || dtype_to_c10(promote_types(x, y)) < 0)
        return builtin_fail(b, "promote_types() of an unknown type");
    *out = type_value(b, promote_types(x, y));
    return true;
}

/* An operand of result_type: a tensor or a number; TorchScript hands a bool over as an int. */
static bool operand(Builtin *b, size_t i, Value *out)
{
    bool is_bool = b->arg[i].v.tag == V_BOOL || b->arg[i].v.tag == V_SYMBOOL;
    *out = is_bool ? val_int(1) : b->arg[i].v;
    switch (out->tag) {
    case V_TENSOR:
    case V_INT:
    case V_SYMINT:
    case V_FLOAT:
    case V_SYMFLOAT:
    case V_COMPLEX:  return true;
    default:
        return builtin_fail(b, "result_type() takes tensors and numbers, not a %s", val_kind(*out));
    }
}

static bool type_of_operands(Builtin *b, Value *out)
{
    Value at[2];
    DType t;
    if (!operand(b, 0, &at[0]) || !operand(b, 1, &at[1]) || !result_type(b->cx, at, 2, &t))
        return false;
    int64_t code = dtype_to_c10(t);
    *out = val_int(code);
    return code >= 0 || builtin_fail(b, "result_type() of an unknown type");
}

/* Casts go up: bool, ints, floats, complex numbers. */
static int category(DType t)
{
    if (dtype_is_complex(t))
        return 3;
    if (dtype_is_float(t))
        return 2;
    return t == DT_BOOL ? 0 : 1;
}

static bool can_cast(Builtin *b, Value *out)
{
    DType from = type_given(b, 0);
    DType to = type_given(b, 1);
    if (!from || !to)
        return builtin_fail(b, "can_cast() of an unknown type");
    *out = val_bool(category(from) <= category(to));
    return true;
}

/* ---- the tensor itself ---- */

static bool first(Builtin *b, Value *out)
{
    *out = b->arg[0].v;
    return true;
}

static bool second(Builtin *b, Value *out)
{
    *out = b->arg[1].v;
    return true;
}

static bool list_to_tensor(Builtin *b, Value *out)
{
    const List *l = b->arg[0].v.list;
    Dim *items = new_array(b->cx, Dim, l->n);
    if (!items)
        return false;
    for (int64_t i = 0; i < l->n; i++)
        if (!val_dim_of(l->at[i].v, b->cx, &items[i]))
            return builtin_fail(b, "a list of ints is expected, it holds %s", val_kind(l->at[i].v));
    *out = val_tensor(b->cx, ox_cast(b->g, ox_dims(b->g, items, (size_t)l->n), DT_INT32));
    return !ctx_failed(b->cx);
}

static bool tensor_to_list(Builtin *b, Value *out)
{
    return method_call(b->ev, b->arg[0].v, str_of(b->cx, "tolist"), NULL, 0, out) == DONE;
}

/* ---- devices ---- */

static bool cpu(Builtin *b, Value *out)
{
    *out = (Value){ .tag = V_DEVICE, .s = str_of(b->cx, "cpu") };
    return true;
}

/* device("cuda:0"), device("cuda", 0) */
static bool device(Builtin *b, Value *out)
{
    Str s = b->arg[0].v.s;
    *out = (Value){ .tag = V_DEVICE,
                    .s = missing(b, 1)
                        ? s
                        : str_fmt(b->cx, "%s:%lld", s->s, (long long)b->arg[1].v.i) };
    return true;
}

static bool device_type(Builtin *b, Value *out)
{
    Str s = b->arg[0].v.s;
    *out = val_str(str_n(b->cx, s->s, strcspn(s->s, ":")));
    return true;
}

static bool device_index(Builtin *b, Value *out)
{
    const char *colon = strchr(b->arg[0].v.s->s, ':');
    int64_t i = 0;
    for (const char *c = colon ? colon + 1 : ""; *c >= '0' && *c <= '9' && i < 1000000; c++)
        i = i * 10 + (*c - '0');
    *out = colon ? val_int(i) : val_none();
    return true;
}

/* ---- surroundings ---- */

static bool answer_true(Builtin *b, Value *out)
{
    (void)b;
    *out = val_bool(true);
    return true;
}
static bool answer_false(Builtin *b, Value *out)
{
    (void)b;
    *out = val_bool(false);
    return true;
}
static bool is_quantized(Builtin *b, Value *out)
{
    *out = val_bool(b->arg[0].v.t->kind == QUANT);
    return true;
}
static bool is_nested(Builtin *b, Value *out)
{
    *out = val_bool(b->arg[0].v.t->kind == NESTED);
    return true;
}
/* Asked by nn.TransformerEncoder, which takes nested tensors only without gradients. */
static bool mask_left_aligned(Builtin *b, Value *out)
{
    note(b->cx, NOTE_ASSUMED,
         "an encoder computes the rows that are padding, as PyTorch does with gradients; under "
         "no_grad() PyTorch may give zeros there");
    *out = val_bool(false);
    return true;
}
static bool answer_none(Builtin *b, Value *out)
{
    (void)b;
    *out = val_none();
    return true;
}
static bool answer_int(Builtin *b, Value *out)
{
    *out = val_int(b->row->datum);
    return true;
}

static bool autocast_dtype(Builtin *b, Value *out)
{
    *out = val_int(dtype_to_c10(str_is(b->arg[0].v.s, "cpu") ? DT_BFLOAT16 : DT_FLOAT16));
    return true;
}

/* What the model says while it runs has no place in a graph. */
static bool drop_output(Builtin *b, Value *out)
{
    note(b->cx, NOTE_DROPPED, "the model's %s: a graph cannot say anything", b->row->text);
    *out = val_none();
    return true;
}

static bool unwrap(Builtin *b, Value *out)
{
    *out = b->arg[0].v;
    return out->tag != V_NONE ||
        builtin_fail(b, "an optional value is None where the model needs it");
}

/* A fact when it is about dimensions; what only the data can tell is not checked in the graph. */
static bool assert_that(Builtin *b, Value *out)
{
    Value c = b->arg[0].v;
    Str text = !missing(b, 1) && b->arg[1].v.tag == V_STR ? b->arg[1].v.s
                                                          : str_of(b->cx, "assertion failed");
    *out = val_none();
    if (c.tag == V_SYMBOOL && !c.sb->ox)
        return dim_assume(b->cx, c.sb->rel, c.sb->a, c.sb->b) || ctx_failed(b->cx) ||
            builtin_fail(b, "%s", text->s);
    return val_truth(b->cx, c) != NO || eval_raise(b->ev, text);
}

static bool select_value(Builtin *b, Value *out)
{
    *out = b->arg[b->arg[0].v.b ? 1 : 2].v;
    return true;
}

static bool no_hash(Builtin *b, Value *out)
{
    (void)out;
    return fail(b->cx, E_UNSUPPORTED, "%s: its value differs from run to run", b->row->name);
}

#define ROW(op, k, f) { .name = op, .kinds = k, .fn = f }
#define OPERANDS_ROW(n) \
    { .name = "aten::result_type", .kinds = "**", .fn = type_of_operands, .names = n }
#define FALSE_ROW(op) { .name = op, .kinds = "+", .fn = answer_false }

const BuiltinRow builtin_tensors[] = {
    ROW("aten::size", "T", size_list),
    ROW("aten::size", "TI", size_at),
    ROW("prim::shape", "T", size_list),
    ROW("aten::dim", "T", rank_of),
    ROW("prim::ndim", "T", rank_of),
    ROW("aten::ndim", "T", rank_of),
    ROW("aten::numel", "T", numel_of),
    ROW("aten::sym_numel", "T", numel_of),
    ROW("aten::len", "T", length_of),
    ROW("aten::stride", "T", stride_list),
    ROW("aten::stride", "TI", stride_at),
    { .name = "aten::is_contiguous",
      .kinds = "T|I",
      .fn = is_contiguous,
      .names = "self,memory_format" },
    { .name = "aten::is_same_size", .kinds = "TT", .fn = same_size, .names = "self,other" },
    ROW("aten::element_size", "T", element_size),
    ROW("prim::itemsize", "T", element_size),
    ROW("prim::nbytes", "T", nbytes),
    { .name = "aten::get_device", .kinds = "T", .fn = answer_int, .datum = -1 },
    ROW("prim::dtype", "T", dtype_of),
    ROW("prim::device", "T", cpu),
    { .name = "prim::layout", .kinds = "T", .fn = answer_int, .datum = 0 },
    { .name = "aten::is_floating_point", .kinds = "T", .fn = type_test, .datum = IS_FLOATING },
    { .name = "aten::is_complex", .kinds = "T", .fn = type_test, .datum = IS_COMPLEX },
    { .name = "aten::is_signed", .kinds = "T", .fn = type_test, .datum = IS_SIGNED },
    ROW("aten::is_nonzero", "T", is_nonzero),
    ROW("prim::is_cpu", "T", answer_true),
    ROW("prim::is_quantized", "T", is_quantized),
    FALSE_ROW("prim::is_cuda"),
    FALSE_ROW("prim::is_xpu"),
    FALSE_ROW("prim::is_sparse"),
    FALSE_ROW("prim::is_sparse_csr"),
    FALSE_ROW("prim::is_mkldnn"),
    FALSE_ROW("prim::is_vulkan"),
    FALSE_ROW("prim::is_mps"),
    FALSE_ROW("prim::is_ipu"),
    FALSE_ROW("prim::is_hpu"),
    FALSE_ROW("prim::is_maia"),
    FALSE_ROW("prim::is_xla"),
    FALSE_ROW("prim::is_mtia"),
    FALSE_ROW("prim::is_meta"),
    FALSE_ROW("prim::is_ort"),
    ROW("prim::is_nested", "T", is_nested),
    ROW("aten::_nested_tensor_from_mask_left_aligned", "TT", mask_left_aligned),
    ROW("prim::name", "T", answer_none),
    { .name = "aten::q_scale", .kinds = "T", .fn = quant_number, .datum = 0 },
    { .name = "aten::q_zero_point", .kinds = "T", .fn = quant_number, .datum = 1 },
    { .name = "aten::promote_types", .kinds = "yy", .fn = promote, .names = "type1,type2" },
    { .name = "aten::can_cast", .kinds = "yy", .fn = can_cast, .names = "from_,to" },
    OPERANDS_ROW("tensor,other"),
    OPERANDS_ROW("scalar,tensor"),
    OPERANDS_ROW("scalar1,scalar2"),
    ROW("aten::_list_to_tensor", "l", list_to_tensor),
    ROW("aten::_tensor_to_list", "T", tensor_to_list),

    { .name = "aten::device", .kinds = "s|I", .fn = device, .names = "type,index" },
    ROW("aten::device", "D", first),
    ROW("prim::type", "D", device_type),
    ROW("prim::index", "D", device_index),

    ROW("aten::is_scripting", "", answer_true),
    FALSE_ROW("aten::_get_tracing_state"),
    FALSE_ROW("aten::has_torch_function"),
    FALSE_ROW("aten::is_autocast_enabled"),
    FALSE_ROW("aten::is_autocast_cpu_enabled"),
    FALSE_ROW("aten::_use_cudnn_rnn_flatten_weight"),
    FALSE_ROW("aten::_nnpack_available"),
    FALSE_ROW("aten::is_vulkan_available"),
    FALSE_ROW("aten::_is_tracing"),
    ROW("aten::get_autocast_dtype", "s", autocast_dtype),
    ROW("aten::manual_seed", "*", answer_none),
    ROW("aten::_unwrap_optional", "*", unwrap),
    ROW("prim::unchecked_unwrap_optional", "*", first),
    { .name = "aten::warn",
      .kinds = "s|I",
      .fn = drop_output,
      .text = "warning",
      .names = "message,stacklevel" },
    { .name = "prim::Print", .kinds = "+", .fn = drop_output, .text = "print()" },
    { .name = "aten::_print", .kinds = "s", .fn = drop_output, .text = "print()" },
    ROW("aten::_assert", "*|*", assert_that),
    ROW("aten::_assert_scalar", "*|*", assert_that),
    ROW("aten::_assert_int_or_pair", "+", answer_none),
    { .name = "aten::_linalg_check_errors",
      .kinds = "*sB",
      .fn = answer_none,
      .names = "info,api_name,is_matrix" },
    ROW("prim::IfThenElse", "B**", select_value),
    ROW("prim::TimePoint", "", answer_int),
    ROW("prim::AddStatValue", "+", answer_none),
    ROW("profiler::_record_function_enter", "+", answer_int),
    ROW("profiler::_record_function_enter_new", "+", answer_int),
    ROW("profiler::_record_function_exit", "+", answer_none),
    ROW("profiler::_call_end_callbacks_on_jit_fut", "**", second),
    FALSE_ROW("aten::is_pinned"),
    ROW("aten::hash", "*", no_hash),
    ROW("prim::id", "*", no_hash),
    { 0 }
};
