/* method.c - methods of values that are no objects of a class. PyTorch prints tensor methods as
 * operators; tolist() is the one that stays a method. The others here are for files edited by hand:
 * x.f(y) is aten::f(x, y). */
#include "eval/builtin/builtin.h"
#include "eval/lists/stacked_ops.h"
#include "value/autograd.h"

/* What Python makes of an element of type t: *elem names it, the result is the type that a stacked
 * list of such numbers has. */
static DType python_number(DType t, const char **elem)
{
    if (dtype_is_float(t)) {
        *elem = "float";
        return DT_DOUBLE;
    }
    *elem = t == DT_BOOL ? "bool" : "int";
    return t == DT_BOOL ? DT_BOOL : DT_INT64;
}

/* tolist() where the running model decides the length: a stacked list of numbers, or of lists of
 * them. A float tensor of [N,3] becomes a List[List[float]]. */
static bool numbers_of(Eval *ev, Ox v, Value *out)
{
    Ctx *cx = ev->cx;
    ItemType item = { 0 };
    DType t = ox_dtype(v);
    DType to = python_number(t, &item.elem);
    item.type = type_tensor(cx, to, 0, NULL);
    for (int axis = ox_rank(v) - 1; axis > 0; axis--)
        item = item_list(cx, item, ox_dim(v, axis));
    if (!dtype_is_float(t) && !dtype_is_int(t) && t != DT_BOOL)
        return fail(cx, E_UNSUPPORTED, "tolist() of a tensor of %s whose size is not known",
                    dtype_name(t));
    Ox whole = ox_cast(ev->g, v, to);
    *out = (Value){ .tag = V_LIST, .list = list_new(cx, 0, str_of(cx, item.elem)) };
    list_stack(cx, out->list, stacked_new(cx, item, whole));
    return ox_ok(whole);
}

/* tolist(): the items as nested lists. Each is read with Gather, which folds where the contents are
 * known. *room: how many items there may still be. */
static bool nested_list(Eval *ev, Ox v, int64_t *room, Value *out)
{
    Ctx *cx = ev->cx;
    int64_t n;
    if (ox_rank(v) == 0) {
        *out = autograd_number(ev->g, v);
        return !ctx_failed(cx);
    }
    if (ox_rank(v) < 0)
        return fail(cx, E_UNDECIDED, "tolist() of a tensor whose rank is not known");
    if (!dim_known(ox_dim(v, 0), &n))
        return numbers_of(ev, v, out);
    if ((*room -= n) < 0)
        return fail(cx, E_UNSUPPORTED, "tolist() of a tensor with more than %d elements",
                    FOLD_NUMEL);
    *out = (Value){ .tag = V_LIST, .list = list_new(cx, n, NULL) };
    for (int64_t i = 0; i < n; i++) {
        Value item;
        Ox at = ox_int(ev->g, i);
        Ox part = ox_g_with(ev->g, "Gather", INPUTS(v, at), INT("axis", 0));
        if (!ox_ok(part) || !nested_list(ev, part, room, &item))
            return false;
        list_append(cx, out->list, item);
    }
    return true;
}

static bool tolist(Eval *ev, Value self, Value *out)
{
    int64_t room = FOLD_NUMEL;
    Ox v = tensor_read(ev->g, self.t);
    if (!ox_ok(v)) {
        *out = val_poison();
        return true;
    }
    return nested_list(ev, v, &room, out);
}

/* self.name(args): tolist, else a row of stacked lists, a builtin or an operator aten::name. */
Outcome method_call(Eval *ev, Value self, Str name, const OpArg *args, size_t n, Value *out)
{
    if (self.tag == V_TENSOR && str_is(name, "tolist") && n == 0)
        return outcome_of(tolist(ev, self, out));
    Str op = str_fmt(ev->cx, "aten::%s", name->s);
    OpArg *all = new_array(ev->cx, OpArg, n + 1);
    if (!all)
        return FAILED;
    all[0] = (OpArg){ NULL, self };
    if (n)
        memcpy(all + 1, args, n * sizeof *args);
    Outcome r = stacked_op(ev, op, all, n + 1, out);
    if (r == NOT_MINE)
        r = builtin_call(ev, op, all, n + 1, out);
    if (r != NOT_MINE)
        return r;
    const Operator *called = op_find(ev->cx, op);
    if (self.tag != V_TENSOR || !op_exists(ev->cx, called))
        return NOT_MINE;
    *out = op_run(ev->g, called, NULL, all, n + 1, NULL, 0);
    return outcome_done(ev->cx);
}
