/* exported_autocast.c - the casts of an autocast region.
 *
 * Autocast casts when the model runs, so a TRAINING graph does not show it: linear of float32
 * inputs, recorded bfloat16. Two rules, both PyTorch's. Products and convolutions take their
 * floating operands in the region's type, if the recorded result has it. Any other operator whose
 * result is recorded float32 though an operand is of a lower type gets that operand as float32,
 * which is exact. float64 is never cast. Regions of several devices may be active, and PyTorch
 * heeds the one of the device that the tensors lie on: the recorded result tells which. Whatever
 * else a region changes shows as a difference between recorded types and ours, which is an error.
 */
#include "front/exported/exported.h"

/* Does autocast run this operator in the lower precision? PyTorch's list of such operators for CPU,
 * and the two recurrent layers that are made of linear ones from end to end. */
static bool is_lowered(Str op)
{
    static const char *const names[] = {
        "linear",
        "matmul",
        "mm",
        "bmm",
        "mv",
        "addmm",
        "addmv",
        "addr",
        "addbmm",
        "baddbmm",
        "chain_matmul",
        "linalg_multi_dot",
        "linalg_vecdot",
        "einsum",
        "tensordot",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_tbc",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "convolution",
        "_convolution",
        "prelu",
        "scaled_dot_product_attention",
        "rnn_tanh",
        "rnn_relu",
    };
    if (!str_starts(op, "aten::"))
        return false;
    for (size_t i = 0; i < COUNT(names); i++)
        if (strcmp(op->s + strlen("aten::"), names[i]) == 0)
            return true;
    return false;
}

/* Tensors of float64 are left alone. */
static bool is_castable(DType t) { return t == DT_FLOAT || t == DT_FLOAT16 || t == DT_BFLOAT16; }

static DType recorded_dtype(const ExScope *s, const Expr *e)
{
    return e->kind == X_LOCAL && e->slot < s->fn->slots.n
        ? ex_type_of(s, s->fn->slots.at[e->slot])->dtype
        : DT_NONE;
}

static Expr *cast_to(ExScope *s, Expr *value, DType t)
{
    Exported *x = s->x;
    Expr *e = ex_expr(x, X_OP);
    Expr *dtype = ex_expr(x, X_VALUE);
    dtype->value = (Value){ .tag = V_DTYPE, .dtype = t };
    e->op = op_named(x->cx, "aten::to");
    e->overload = str_of(x->cx, "dtype");
    e->args = new_array(x->cx, Arg, 2);
    if (!e->args)
        return value;
    e->args[e->n_args++] = (Arg){ str_of(x->cx, "self"), value };
    e->args[e->n_args++] = (Arg){ str_of(x->cx, "dtype"), dtype };
    return e;
}

static void cast_operand(ExScope *s, Expr **at, DType t)
{
    Expr *e = *at;
    DType now = recorded_dtype(s, e);
    if (is_castable(now) && now != t)
        *at = cast_to(s, e, t);
    for (uint32_t i = 0; (e->kind == X_LIST || e->kind == X_TUPLE) && i < e->n; i++)
        cast_operand(s, &e->items[i], t);
}

/* Does an inner region of the same device decide instead of this one? */
static bool is_hidden(const ExScope *s, const ExAutocast *region)
{
    for (const ExAutocast *a = s->autocast; a != region; a = a->around)
        if (a->device == region->device)
            return true;
    return false;
}

/* Does the autocast of any device cast to this type here? DT_NONE: to any type. */
static bool casts_to(const ExScope *s, DType t)
{
    for (const ExAutocast *a = s->autocast; a; a = a->around)
        if (a->type != DT_NONE && (t == DT_NONE || a->type == t) && !is_hidden(s, a))
            return true;
    return false;
}

static DType result_dtype(const ExTargets *results)
{
    return results->type.n ? results->type.at[0].dtype : DT_NONE;
}

static bool has_operand_besides(const ExScope *s, const Expr *e, DType t)
{
    DType now = recorded_dtype(s, e);
    bool found = is_castable(now) && now != t;
    for (uint32_t i = 0; (e->kind == X_LIST || e->kind == X_TUPLE) && i < e->n; i++)
        found = found || has_operand_besides(s, e->items[i], t);
    return found;
}

/* Exported while autocast is on outside of the model, a TRAINING graph has neither a region nor
 * casts: only linear of float32 inputs, recorded bfloat16. The first three arguments tell it; the
 * fourth of an attention, its mask, may be float32 by itself. */
bool ex_lacks_casts(const ExScope *s, const Expr *op, const ExTargets *results)
{
    DType result = result_dtype(results);
    bool lower = result == DT_FLOAT16 || result == DT_BFLOAT16;
    if (!lower || !is_lowered(op->op->name) || casts_to(s, result))
        return false;
    for (uint32_t i = 0; i < op->n_args && i < 3; i++)
        if (has_operand_besides(s, op->args[i].value, result))
            return true;
    return false;
}

void ex_autocast(ExScope *s, Expr *op, const ExTargets *results)
{
    DType result = result_dtype(results);
    bool lower = is_lowered(op->op->name) && result != DT_NONE && casts_to(s, result);
    if (!lower && (result != DT_FLOAT || !casts_to(s, DT_NONE)))
        return;
    for (uint32_t i = 0; i < op->n_args; i++)
        cast_operand(s, &op->args[i].value, result);
}

/* wrap_with_autocast(device, dtype, enabled, ..): a dtype of None is the device's own. */
bool ex_autocast_of(Exported *x, const ExNode *n, ExAutocast *out)
{
    const Expr *device = n->args.at[0].value;
    const Expr *dtype = n->args.at[1].value;
    const Expr *enabled = n->args.at[2].value;
    if (device->kind != X_STR || (enabled->kind != X_TRUE && enabled->kind != X_FALSE))
        return ex_bad(x, &n->inputs, "an autocast region of an unknown form");
    out->device = device->s;
    out->type = DT_NONE;
    if (enabled->kind == X_FALSE)
        return true;
    if (dtype->kind == X_NONE)
        out->type = str_is(device->s, "cpu") ? DT_BFLOAT16 : DT_FLOAT16;
    else if (dtype->kind == X_VALUE && dtype->value.tag == V_DTYPE)
        out->type = dtype->value.dtype;
    return is_castable(out->type) || ex_bad(x, &n->inputs, "an autocast region of an unknown type");
}
