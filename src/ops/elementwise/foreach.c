/* foreach.c - aten::_foreach_NAME: calls NAME on one item of the lists after the other.
 *
 *     _foreach_add([a, b], [c, d], alpha=2)      add(a, c, alpha=2), add(b, d, alpha=2)
 *     _foreach_mul_([a, b], 3)                   mul_(a, 3); mul_(b, 3)
 *
 * In place each item is written before the next is read, as PyTorch does: two of them may share
 * memory. */
#include "ops/internal.h"

#include <math.h>

/* How many items the lists have; -1 after an error. */
static int64_t count_items(Op *op)
{
    const Schema *s = op->call->schema;
    int64_t n = -1;
    for (int i = 0; i < s->n_param; i++) {
        Value v = op->call->arg[i];
        if (!s->param[i].list || v.tag != V_TUPLE)
            continue;
        if (n >= 0 && v.tuple->n != n) {
            fail(op->cx, E_VALUE,
                 "Tensor lists must have the same number of tensors, got %lld and %lld",
                 (long long)n, (long long)v.tuple->n);
            return -1;
        }
        n = v.tuple->n;
    }
    return n;
}

/* Argument p of the operator on item i: the i-th of a list, the i-th element of the tensor
 * `scalars`, or the one argument that all items share. */
static Value item_of(Op *op, int p, int64_t i)
{
    Value v = op->call->arg[p];
    if (v.tag == V_TUPLE)
        return v.tuple->at[i];
    bool factors = v.tag == V_TENSOR && str_is(op->call->schema->param[p].name, "scalars");
    return factors ? call_op(op, "aten::select", (Value[]){ v, val_int(0), val_int(i) }, 3) : v;
}

/* The keyword of argument p, NULL when it is positional. The fourth, `scalars` of addcmul and
 * addcdiv, is named `value` in the plain operator. */
static Str name_of(Op *op, int p)
{
    const Param *param = &op->call->schema->param[p];
    if (p == 3)
        return str_of(op->cx, "value");
    return param->kwonly || str_is(param->name, "dtype") ? param->name : NULL;
}

static Value call_item(Op *op, int64_t i)
{
    const Schema *s = op->call->schema;
    OpArg *args = new_array(op->cx, OpArg, (size_t)s->n_param);
    if (!args)
        return val_poison();
    for (int p = 0; p < s->n_param; p++)
        args[p] = (OpArg){ name_of(op, p), item_of(op, p, i) };
    Str name = str_fmt(op->cx, "aten::%s%s", op->row->text, op->in_place ? "_" : "");
    return op_call(op->g, name, NULL, args, (size_t)s->n_param, NULL, 0);
}

/* The list of results; None of the form in place. */
static Value call_each(Op *op)
{
    int64_t n = count_items(op);
    if (n < 0)
        return val_poison();
    Value *items = new_array(op->cx, Value, (size_t)n + 1);
    if (!items)
        return val_poison();
    for (int64_t i = 0; i < n; i++) {
        items[i] = call_item(op, i);
        if (!val_ok(items[i]))
            return val_poison();
    }
    return op->in_place ? val_none() : val_list(op->cx, items, n, "Tensor");
}

/* _foreach_norm is vector_norm but for ord=-inf: PyTorch takes powers and a sum there, which give
 * NaN, where vector_norm takes the smallest size. */
static Value call_norms(Op *op)
{
    Value ord = arg_value(op, "ord");
    if (ord.tag == V_FLOAT && isinf(ord.f) && ord.f < 0)
        return op_refuse(op, "of the order -inf PyTorch gives not-a-number"), val_poison();
    return call_each(op);
}

/* torch 2.13 records int64 for a bool to the power of a bool, and computes a bool: bool_power(). */
static Value call_powers(Op *op)
{
    Value v = call_each(op);
    for (int64_t i = 0; v.tag == V_LIST && i < v.list->n; i++) {
        Value item = v.list->at[i].v;
        if (item.tag == V_TENSOR && tensor_type(item.t)->dtype == DT_BOOL)
            record_note_erred(op->cx, tensor_read(op->g, item.t));
    }
    return v;
}

#define EACH(one, schema_line)                                                           \
    OP_ROW(.kind = ROW_EACH, .schema = "aten::_foreach_" schema_line, .call = call_each, \
           .text = (one))
#define UNARY_EACH(one) EACH(one, one "(Tensor[] self) -> Tensor[]")

OP_ROWS(foreach)
{
    UNARY_EACH("abs");
    UNARY_EACH("acos");
    UNARY_EACH("asin");
    UNARY_EACH("atan");
    UNARY_EACH("ceil");
    UNARY_EACH("cos");
    UNARY_EACH("cosh");
    UNARY_EACH("erf");
    UNARY_EACH("erfc");
    UNARY_EACH("exp");
    UNARY_EACH("expm1");
    UNARY_EACH("floor");
    UNARY_EACH("frac");
    UNARY_EACH("lgamma");
    UNARY_EACH("log");
    UNARY_EACH("log10");
    UNARY_EACH("log1p");
    UNARY_EACH("log2");
    UNARY_EACH("max");
    UNARY_EACH("neg");
    UNARY_EACH("reciprocal");
    UNARY_EACH("round");
    UNARY_EACH("rsqrt");
    UNARY_EACH("sigmoid");
    UNARY_EACH("sign");
    UNARY_EACH("sin");
    UNARY_EACH("sinh");
    UNARY_EACH("sqrt");
    UNARY_EACH("tan");
    UNARY_EACH("tanh");
    UNARY_EACH("trunc");
    UNARY_EACH("zero");
    EACH("clone", "clone(Tensor[] self, *, MemoryFormat? memory_format=None) -> Tensor[]");
    EACH("copy", "copy(Tensor[] self, Tensor[] src, bool non_blocking=False) -> Tensor[]");
    EACH("mm", "mm(Tensor[] self, Tensor[] mat2) -> Tensor[]");
    OP_ROW(.kind = ROW_EACH,
           .schema =
               "aten::_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) "
               "-> Tensor[]",
           .call = call_norms, .text = "linalg_vector_norm");
    EACH("add", "add.List(Tensor[] self, Tensor[] other, *, Scalar alpha=1) -> Tensor[]");
    OLDER("aten::_foreach_add.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]");
    OLDER("aten::_foreach_add.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]");
    OLDER("aten::_foreach_add.Tensor(Tensor[] self, Tensor other, *, Scalar alpha=1) -> Tensor[]");
    EACH("sub", "sub.List(Tensor[] self, Tensor[] other, *, Scalar alpha=1) -> Tensor[]");
    OLDER("aten::_foreach_sub.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]");
    OLDER("aten::_foreach_sub.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]");
    EACH("mul", "mul.List(Tensor[] self, Tensor[] other) -> Tensor[]");
    OLDER("aten::_foreach_mul.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]");
    OLDER("aten::_foreach_mul.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]");
    OLDER("aten::_foreach_mul.Tensor(Tensor[] self, Tensor other) -> Tensor[]");
    EACH("div", "div.List(Tensor[] self, Tensor[] other) -> Tensor[]");
    OLDER("aten::_foreach_div.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]");
    OLDER("aten::_foreach_div.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]");
    OLDER("aten::_foreach_div.Tensor(Tensor[] self, Tensor other) -> Tensor[]");
    OP_ROW(.kind = ROW_EACH,
           .schema = "aten::_foreach_pow.List(Tensor[] self, Tensor[] exponent) -> Tensor[]",
           .call = call_powers, .text = "pow");
    OLDER("aten::_foreach_pow.Scalar(Tensor[] self, Scalar exponent) -> Tensor[]");
    OLDER("aten::_foreach_pow.ScalarList(Tensor[] self, Scalar[] exponent) -> Tensor[]");
    OLDER("aten::_foreach_pow.ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]");
    EACH("maximum", "maximum.List(Tensor[] self, Tensor[] other) -> Tensor[]");
    EACH("clamp_min", "maximum.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]");
    OLDER("aten::_foreach_maximum.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]");
    EACH("minimum", "minimum.List(Tensor[] self, Tensor[] other) -> Tensor[]");
    EACH("clamp_max", "minimum.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]");
    OLDER("aten::_foreach_minimum.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]");
    EACH("clamp_min", "clamp_min.List(Tensor[] self, Tensor[] other) -> Tensor[]");
    OLDER("aten::_foreach_clamp_min.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]");
    OLDER("aten::_foreach_clamp_min.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]");
    EACH("clamp_max", "clamp_max.List(Tensor[] self, Tensor[] other) -> Tensor[]");
    OLDER("aten::_foreach_clamp_max.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]");
    OLDER("aten::_foreach_clamp_max.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]");
    EACH("lerp", "lerp.List(Tensor[] self, Tensor[] tensors1, Tensor[] weights) -> Tensor[]");
    OLDER(
        "aten::_foreach_lerp.Scalar(Tensor[] self, Tensor[] tensors1, Scalar weight) -> Tensor[]");
    OLDER("aten::_foreach_lerp.ScalarList(Tensor[] self, Tensor[] tensors1, Scalar[] weight) -> "
          "Tensor[]");
    EACH("addcmul",
         "addcmul.Scalar(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar "
         "value=1) -> Tensor[]");
    OLDER("aten::_foreach_addcmul.ScalarList(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, "
          "Scalar[] scalars) -> Tensor[]");
    OLDER("aten::_foreach_addcmul.Tensor(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Tensor "
          "scalars) -> Tensor[]");
    EACH("addcdiv",
         "addcdiv.Scalar(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar "
         "value=1) -> Tensor[]");
    OLDER("aten::_foreach_addcdiv.ScalarList(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, "
          "Scalar[] scalars) -> Tensor[]");
    OLDER("aten::_foreach_addcdiv.Tensor(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Tensor "
          "scalars) -> Tensor[]");
}
