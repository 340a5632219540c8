/* builtin_autograd.c - torch.autograd: what requires a gradient, and gradients.
 *
 * A gradient is made of nodes like anything else, so the model computes it; ONNX knows nothing of
 * it. */
#include "eval/builtin/builtin.h"
#include "value/autograd.h"
#include "value/heap.h"

#define ROW(n, k, f) { .name = (n), .kinds = (k), .fn = (f) }

/* POISON after an error: v is no tensor. */
static Ox read_of(const Builtin *b, Value v)
{
    if (v.tag == V_TENSOR)
        return tensor_read(b->g, v.t);
    if (v.tag != V_POISON)
        builtin_fail(b, "torch.autograd takes tensors, got %s", val_kind(v));
    return POISON;
}

/* ---- what requires a gradient ---- */

static bool requires_grad(Builtin *b, Value *out)
{
    Ox v = read_of(b, b->arg[0].v);
    *out = val_bool(ox_ok(v) && autograd_requires(b->cx, v));
    return !ctx_failed(b->cx);
}

static bool set_requires_grad(Builtin *b, Value *out)
{
    Tensor *t = b->arg[0].v.t;
    bool on = missing(b, 1) || b->arg[1].v.b;
    *out = b->arg[0].v;
    DType type = tensor_type(t)->dtype;
    if (on && !dtype_is_float(type) && !dtype_is_complex(type))
        return builtin_fail(
            b, "Only Tensors of floating point and complex dtype can require gradients");
    if (on)
        return autograd_use(b->cx) && tensor_require(b->g, t);
    Ox v = autograd_used(b->cx) ? tensor_read(b->g, t) : POISON;
    if (!ox_ok(v) || !autograd_requires(b->cx, v))
        return !ctx_failed(b->cx);
    if (!autograd_is_leaf(b->cx, v))
        return builtin_fail(b, "you can only change requires_grad flags of leaf variables.");
    return tensor_detach(b->g, t);
}

static bool is_leaf(Builtin *b, Value *out)
{
    Ox v = read_of(b, b->arg[0].v);
    *out = val_bool(!ox_ok(v) || !autograd_requires(b->cx, v) || autograd_is_leaf(b->cx, v));
    return !ctx_failed(b->cx);
}

static bool data_of(Builtin *b, Value *out)
{
    OpArg arg = { NULL, b->arg[0].v };
    *out = op_call(b->g, str_of(b->cx, "aten::detach"), NULL, &arg, 1, NULL, 0);
    return !ctx_failed(b->cx);
}

static bool is_enabled(Builtin *b, Value *out)
{
    *out = val_bool(autograd_enabled(b->cx));
    return true;
}

static bool set_enabled(Builtin *b, Value *out)
{
    autograd_enable(b->cx, b->arg[0].v.b);
    *out = val_none();
    return true;
}

/* ---- gradients ---- */

/* y and dy of a call: what the gradients are of. */
typedef struct Sources {
    ReadVec y, dy;
} Sources;

/* Adds a tensor and its gradient; None is 1 for a tensor of one element. */
static bool add_source(Builtin *b, Sources *s, Value y, Value dy)
{
    Ox v = read_of(b, y);
    Ox seed = dy.tag == V_TENSOR ? read_of(b, dy) : NULL;
    if (!ox_ok(v) || seed == POISON)
        return false;
    if (!autograd_requires(b->cx, v))
        return builtin_fail(b,
                            "element %zu of tensors does not require grad and does not have a "
                            "grad_fn",
                            s->y.n);
    if (!seed) {
        for (int i = 0; i < ox_rank(v); i++)
            if (!dim_require(b->cx, ox_dim(v, i), dim_int(b->cx, 1),
                             "grad can be implicitly created only for scalar outputs"))
                return false;
        Ox one = ox_number(b->g, ox_dtype(v), 1);
        Ox shape = ox_shape(b->g, v);
        seed = ox_rank(v) == 0 ? one : ox_g(b->g, "Expand", one, shape);
    }
    vec_push(b->cx, &s->y, v);
    vec_push(b->cx, &s->dy, seed);
    return !ctx_failed(b->cx);
}

/* The items of a list of tensors, whose length must be known. */
static bool items_of(Builtin *b, Value v, const char *what, int64_t *n)
{
    if (v.tag != V_LIST || v.list->stacked)
        return fail(b->cx, E_UNSUPPORTED,
                    "torch.autograd.grad: %s of a length that only the "
                    "running model knows",
                    what);
    *n = v.list->n;
    return true;
}

static bool sources_of(Builtin *b, Value outputs, Value given, Sources *s)
{
    int64_t n;
    int64_t n_given = 0;
    if (!items_of(b, outputs, "outputs", &n) ||
        (given.tag != V_NONE && !items_of(b, given, "grad_outputs", &n_given)))
        return false;
    if (n_given && n_given != n)
        return builtin_fail(b, "got %lld tensors and %lld gradients", (long long)n,
                            (long long)n_given);
    for (int64_t i = 0; i < n; i++)
        if (!add_source(b, s, outputs.list->at[i].v, n_given ? given.list->at[i].v : val_none()))
            return false;
    return true;
}

/* A gradient that is used on has one itself only after create_graph=True. */
static Ox finished(Builtin *b, Ox grad, bool create_graph)
{
    return create_graph ? autograd_result(b->g, grad) : autograd_detached(b->g, grad);
}

static bool flag(const Builtin *b, size_t i) { return !missing(b, i) && b->arg[i].v.b; }

/* outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, allow_unused=False */
static bool grad(Builtin *b, Value *out)
{
    enum { CREATE_GRAPH = 4, ALLOW_UNUSED };
    Sources s = { 0 };
    ReadVec x = { 0 };
    int64_t n;
    if (!items_of(b, b->arg[1].v, "inputs", &n) || !sources_of(b, b->arg[0].v, arg_of(b, 2), &s))
        return false;
    Value inputs = b->arg[1].v;
    for (int64_t i = 0; i < n; i++) {
        Ox v = read_of(b, inputs.list->at[i].v);
        if (!ox_ok(v))
            return false;
        if (!autograd_requires(b->cx, v))
            return builtin_fail(b, "element %lld of the input tensors does not require grad",
                                (long long)i);
        vec_push(b->cx, &x, v);
    }
    Ox *dx = new_array(b->cx, Ox, (size_t)n + 1);
    *out = (Value){ .tag = V_LIST, .list = list_new(b->cx, n, str_of(b->cx, "Optional[Tensor]")) };
    if (!dx)
        return false;
    if (!gradients(b->g, (OxList)LIST(s.y), (OxList)LIST(s.dy), (OxList)LIST(x),
                   autograd_tape(b->cx), dx)) {
        for (int64_t i = 0; i < n && !ctx_failed(b->cx); i++)
            list_append(b->cx, out->list, val_poison());
        return !ctx_failed(b->cx);
    }
    for (int64_t i = 0; i < n; i++) {
        if (!dx[i] && !flag(b, ALLOW_UNUSED))
            return builtin_fail(b,
                                "The differentiated Tensor at index %lld appears to not have been "
                                "used in the graph. Set allow_unused=True if this is the desired "
                                "behavior.",
                                (long long)i);
        Ox given = dx[i] ? finished(b, dx[i], flag(b, CREATE_GRAPH)) : NULL;
        list_append(b->cx, out->list, given ? val_tensor(b->cx, given) : val_none());
    }
    return !ctx_failed(b->cx);
}

/* self, gradient=None, retain_graph=None, create_graph=False: adds to x.grad of each leaf. */
static bool backward(Builtin *b, Value *out)
{
    enum { CREATE_GRAPH = 3 };
    Sources s = { 0 };
    *out = val_none();
    if (trail_is_open(b->cx))
        return fail(b->cx, E_UNSUPPORTED, "backward() inside a branch or loop that ONNX runs");
    if (!add_source(b, &s, b->arg[0].v, arg_of(b, 1)))
        return false;
    OxList leaves = autograd_leaves(b->cx);
    Ox *dx = new_array(b->cx, Ox, leaves.n + 1);
    if (!dx)
        return false;
    if (!gradients(b->g, (OxList)LIST(s.y), (OxList)LIST(s.dy), leaves, autograd_tape(b->cx), dx))
        return !ctx_failed(b->cx);
    for (size_t i = 0; i < leaves.n; i++) {
        Ox before = autograd_gradient(b->cx, leaves.at[i]);
        Ox now = dx[i] ? finished(b, dx[i], flag(b, CREATE_GRAPH)) : NULL;
        if (now)
            autograd_set_gradient(b->cx, leaves.at[i],
                                  before ? ox_g(b->g, "Add", before, now) : now);
    }
    return !ctx_failed(b->cx);
}

/* x.grad: None where backward() has not been called. */
static bool gradient_of(Builtin *b, Value *out)
{
    Ox v = read_of(b, b->arg[0].v);
    Ox grad = ox_ok(v) && autograd_used(b->cx) ? autograd_gradient(b->cx, v) : NULL;
    *out = grad ? val_tensor(b->cx, grad) : val_none();
    return !ctx_failed(b->cx);
}

const BuiltinRow builtin_autograd[] = {
    ROW("prim::requires_grad", "T", requires_grad),
    { .name = "aten::requires_grad_",
      .kinds = "T|B",
      .fn = set_requires_grad,
      .names = "self,requires_grad" },
    ROW("aten::is_leaf", "T", is_leaf),
    ROW("prim::data", "T", data_of),
    ROW("aten::is_grad_enabled", "", is_enabled),
    ROW("aten::set_grad_enabled", "B", set_enabled),
    { .name = "aten::grad",
      .kinds = "ll|*B?BB",
      .fn = grad,
      .names = "outputs,inputs,grad_outputs,retain_graph,create_graph,allow_unused" },
    { .name = "aten::backward",
      .kinds = "T|T?B?B",
      .fn = backward,
      .names = "self,gradient,retain_graph,create_graph" },
    ROW("prim::grad", "T", gradient_of),
    { 0 }
};
