/* result_layout.c - in which order the results of operators lie in memory.
 *
 * Whether `reshape` and `contiguous` give another view of their argument or a copy hangs on it, and
 * with it what a later write changes; so does what `as_strided` reads. A view's strides follow from
 * its base's (value/tensor.c). For new tensors the row states what PyTorch's kernel makes
 * (RowLayout); where that does not decide, the result's layout is UNKNOWN, and a write that depends
 * on it is refused. tests/script/test_layouts.py has a case for each kind. */
#include "ops/internal.h"
#include "value/walk.h"

/* The memory format that the call asks for; FORMAT_PRESERVE where it asks for none. */
static int64_t wanted_format(Op *op)
{
    int i = param_named(op->call->schema, "memory_format");
    Value v = i >= 0 ? op->call->arg[i] : val_none();
    return v.tag == V_INT ? v.i : FORMAT_PRESERVE;
}

static RowLayout layout_of_call(Op *op, Type result)
{
    const Candidate *c = op->called;
    int64_t format = wanted_format(op);
    if (format != FORMAT_PRESERVE)
        return format == FORMAT_CONTIGUOUS ? LAYOUT_CONTIGUOUS : LAYOUT_OWN_ORDER;
    if (c && c->row && c->row->layout_of)
        return c->row->layout_of(op, result);
    return c ? c->layout : LAYOUT_AS_ARGUMENTS;
}

/* Do the axes lie in memory in their own order, but for those that stand still (after `expand`) or
 * have one element? A part of a contiguous tensor does. What an operator makes of such is
 * contiguous: TensorIterator orders its axes by the arguments' strides. */
static bool in_order(Ctx *cx, Tensor *t)
{
    Dim stride[MAX_RANK];
    Dim one = dim_int(cx, 1);
    Type type = tensor_type(t);
    if (!tensor_strides(cx, t, stride))
        return false;
    for (int i = type->rank - 1, inner = -1; i >= 0; i--) {
        if (dim_is(stride[i], 0) || dim_eq(cx, type->dim[i], one) == YES)
            continue;
        Dim extent = inner < 0 ? one : dim_mul(cx, stride[inner], type->dim[inner]);
        if (!extent || dim_le(cx, extent, stride[i]) != YES)
            return false;
        inner = i;
    }
    return true;
}

static bool surely_contiguous(Ctx *cx, Tensor *t)
{
    return (t->contiguous == YES && !t->stride) || tensor_contiguous(cx, t) == YES;
}

typedef struct Order {
    Ctx *cx;
    bool gaps; /* tensors with gaps between their elements are in order too */
} Order;

static bool tensor_in_order(const Order *o, Tensor *t)
{
    return surely_contiguous(o->cx, t) || (o->gaps && in_order(o->cx, t));
}

static WalkStep stop_out_of_order(void *arg, Value v)
{
    if (v.tag == V_TENSOR && !tensor_in_order(arg, v.t))
        return WALK_STOP;
    return v.tag == V_LIST ? WALK_IN : WALK_PAST;
}

/* Are all tensors of v contiguous, or with `gaps` at least in order? */
static bool are_in_order(Ctx *cx, Value v, bool gaps)
{
    Order o = { cx, gaps };
    if (v.tag == V_TENSOR)
        return tensor_in_order(&o, v.t);
    return v.tag != V_LIST || !val_walk_finds(cx, v, stop_out_of_order, &o);
}

/* Is a new tensor among the results contiguous? */
static Tri is_contiguous(Op *op, const OpArg *args, size_t n, Type result)
{
    RowLayout layout = layout_of_call(op, result);
    if (layout == LAYOUT_CONTIGUOUS)
        return YES;
    if (layout == LAYOUT_OWN_ORDER)
        return UNKNOWN;
    if ((layout == LAYOUT_AS_FIRST || layout == LAYOUT_KEEPS) && n > 1)
        n = 1;
    for (size_t i = 0; i < n; i++)
        if (!are_in_order(op->cx, args[i].v, layout != LAYOUT_AS_CLONE))
            return UNKNOWN;
    return YES;
}

/* Does it share the memory of an argument, as what an in-place form gives? */
static bool is_of_argument(const Tensor *t, const OpArg *args, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (args[i].v.tag == V_TENSOR && args[i].v.t->st == t->st)
            return true;
    return false;
}

/* Do the strides pass over all elements without a gap, in some order of the axes? */
static bool is_dense(Ctx *cx, Type t, const Dim *stride)
{
    bool used[MAX_RANK] = { false };
    Dim one = dim_int(cx, 1);
    Dim next = one;
    for (int n = 0; n < t->rank; n++) {
        int axis = -1;
        for (int i = 0; i < t->rank; i++)
            if (!used[i] && (dim_is(t->dim[i], 1) || dim_eq(cx, stride[i], next) == YES))
                axis = i;
        if (axis < 0)
            return false;
        used[axis] = true;
        next = dim_mul(cx, next, t->dim[axis]);
        if (!next)
            return false;
    }
    return true;
}

/* The strides with which the result's axes run over an argument, 0 where it is broadcast. False:
 * not known. */
static bool broadcast_strides(Ctx *cx, Tensor *t, Type result, Dim *out)
{
    Dim own[MAX_RANK];
    Type type = tensor_type(t);
    Dim zero = dim_int(cx, 0);
    if (!tensor_strides(cx, t, own) || type->rank > result->rank)
        return false;
    int more = result->rank - type->rank;
    for (int i = 0; i < result->rank; i++) {
        bool whole = i >= more && dim_eq(cx, type->dim[i - more], result->dim[i]) == YES;
        bool one = i < more || dim_is(type->dim[i - more], 1);
        if (!whole && !one)
            return false;
        out[i] = whole ? own[i - more] : zero;
    }
    return true;
}

/* How do strides order axes a and b? -1: a is the inner one, 1: b is, 0: they do not say. *open:
 * that is not known. */
static int order_by(Ctx *cx, const Dim *stride, int a, int b, bool *open)
{
    if (dim_is(stride[a], 0) || dim_is(stride[b], 0))
        return 0;
    if (dim_lt(cx, stride[a], stride[b]) == YES)
        return -1;
    if (dim_lt(cx, stride[b], stride[a]) == YES)
        return 1;
    *open |= dim_eq(cx, stride[a], stride[b]) != YES;
    return 0;
}

/* The strides of n arguments over the axes of a result of this rank, one after the other. */
typedef struct Operands {
    Dim *stride;
    int n, rank;
} Operands;

/* order_by() of all arguments. *open: or two of them say the opposite, which of them decides is
 * the operator's own affair. */
static int order_by_all(Ctx *cx, const Operands *all, int a, int b, bool *open)
{
    int out = 0;
    for (int i = 0; i < all->n; i++) {
        int says = order_by(cx, all->stride + i * all->rank, a, b, open);
        *open |= says && out && says != out;
        out = out ? out : says;
    }
    return out;
}

/* perm: the axes from the inside out, as TensorIterator sorts them: by insertion, where an axis
 * that is not ordered beside another is passed over. False: not known. */
static bool sorted_axes(Ctx *cx, const Operands *all, int *perm)
{
    bool open = false;
    for (int i = 0; i < all->rank; i++)
        perm[i] = all->rank - 1 - i;
    for (int i = 1; i < all->rank; i++) {
        int at = i;
        int order = 0;
        for (int k = i - 1; k >= 0 && order >= 0; k--) {
            order = order_by_all(cx, all, perm[k], perm[at], &open);
            if (order <= 0)
                continue;
            int axis = perm[k];
            perm[k] = perm[at];
            perm[at] = axis;
            at = k;
        }
    }
    return !open;
}

/* The strides of what is computed element by element: TensorIterator packs the result in the order
 * in which the arguments' axes lie in memory. False: not known. */
static bool elementwise_strides(Op *op, const OpArg *args, size_t n, Type result, Dim out[MAX_RANK])
{
    Ctx *cx = op->cx;
    int perm[MAX_RANK];
    Operands all = { new_array(cx, Dim, n * MAX_RANK + 1), 0, result->rank };
    if (!all.stride || n == 0 || args[0].v.tag != V_TENSOR)
        return false;
    for (size_t i = 0; i < n; i++) {
        Value v = args[i].v;
        if (v.tag == V_LIST || v.tag == V_TUPLE)
            return false;
        if (v.tag != V_TENSOR)
            continue;
        if (!broadcast_strides(cx, v.t, result, all.stride + all.n * all.rank))
            return false;
        all.n++;
    }
    if (!sorted_axes(cx, &all, perm))
        return false;
    Dim next = dim_int(cx, 1);
    for (int i = 0; i < all.rank; i++) {
        out[perm[i]] = next;
        next = next ? dim_mul(cx, next, result->dim[perm[i]]) : NULL;
    }
    return next != NULL;
}

/* The strides of a new result that is not contiguous, where the call gives them: by a memory
 * format, or by the tensor that is cloned, or by all. False: not known. */
static bool given_strides(Op *op, const OpArg *args, size_t n, Type result, Dim out[MAX_RANK])
{
    int64_t format = wanted_format(op);
    RowLayout layout = layout_of_call(op, result);
    bool keeps = layout == LAYOUT_KEEPS || layout == LAYOUT_AS_CLONE;
    if (format != FORMAT_PRESERVE)
        return format_strides(op->cx, result, format, out);
    if (layout == LAYOUT_AS_ARGUMENTS && op->called && op->called->elementwise)
        return elementwise_strides(op, args, n, result, out);
    if (!keeps || n == 0 || args[0].v.tag != V_TENSOR)
        return false;
    Tensor *from = args[0].v.t;
    return tensor_strides(op->cx, from, out) && tensor_type(from)->rank == result->rank &&
        is_dense(op->cx, result, out);
}

typedef struct LayoutCall {
    Op *op;
    const OpArg *args;
    size_t n;
} LayoutCall;

static WalkStep set_layout(void *arg, Value v)
{
    const LayoutCall *c = arg;
    bool is_new = v.tag == V_TENSOR && !v.t->base && !v.t->stride && v.t->contiguous == YES &&
        !is_of_argument(v.t, c->args, c->n);
    if (is_new) {
        Dim stride[MAX_RANK];
        Type type = tensor_type(v.t);
        v.t->contiguous = is_contiguous(c->op, c->args, c->n, type);
        if (v.t->contiguous != YES && given_strides(c->op, c->args, c->n, type, stride))
            v.t->stride = mem_copy(c->op->cx, stride, (size_t)type->rank * sizeof *stride);
    }
    return v.tag == V_TUPLE || v.tag == V_LIST ? WALK_IN : WALK_PAST;
}

void result_layout(Op *op, const OpArg *args, size_t n, Value v)
{
    LayoutCall c = { op, args, n };
    (void)val_walk_finds(op->cx, v, set_layout, &c);
}
