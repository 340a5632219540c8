/* autograd.c - leaves, detached values, and the question whether a value requires a gradient.
 *
 * A leaf is an Identity of its own, so that what was computed before requires_grad_() does not
 * depend on it; a detached value is an Identity that no gradient flows through; and the result of
 * an operator is one, so that two calls that compute the same are two values. tidy removes all of
 * them.
 *
 *     y = x * 2;  x.requires_grad_();  z = x * x.detach()     y = x * 2
 *                                                             leaf = x,  cut = leaf,  z = leaf *
 * cut
 */
#include "value/autograd.h"

#include "onnx/edit.h"
#include "value/facts.h"
#include "value/heap.h"

typedef struct Autograd {
    bool off; /* inside torch.no_grad() */
    Tape tape;
    Map required; /* value -> whether it requires a gradient, where that is known */
    Map grad;     /* leaf -> x.grad */
    ReadVec leaves;
} Autograd;

static Autograd *state(Ctx *cx)
{
    if (!cx->autograd)
        cx->autograd = (struct Autograd *)new(cx, Autograd);
    return cx->autograd;
}

bool autograd_used(Ctx *cx) { return facts_gradients(cx); }

bool autograd_use(Ctx *cx) { return facts_gradients(cx) || facts_use_gradients(cx); }

bool autograd_enabled(Ctx *cx) { return autograd_used(cx) && !state(cx)->off; }

void autograd_enable(Ctx *cx, bool on) { state(cx)->off = !on; }

const Tape *autograd_tape(Ctx *cx) { return &state(cx)->tape; }

bool autograd_is_leaf(Ctx *cx, Ox v) { return map_get(&state(cx)->tape.stops, v) != NULL; }

OxList autograd_leaves(Ctx *cx) { return (OxList)LIST(state(cx)->leaves); }

Ox autograd_gradient(Ctx *cx, Ox leaf) { return map_get(&state(cx)->grad, leaf); }

void autograd_set_gradient(Ctx *cx, Ox leaf, Ox grad) { map_put(cx, &state(cx)->grad, leaf, grad); }

/* ---- does a value require a gradient? ---- */

typedef enum { NOT_YET, REQUIRES_NONE, REQUIRES } Known;

/* Without looking at what v is computed from. What a Loop carries comes from where no node shows,
 * so it counts as depending on a leaf. */
static Known known(Autograd *a, Ox v)
{
    if (!may_have_gradient(v))
        return REQUIRES_NONE;
    const MapEntry *stop = map_find(&a->tape.stops, v);
    if (stop)
        return stop->val ? REQUIRES : REQUIRES_NONE;
    if (v->kind == OX_INPUT)
        return v->graph && v->graph->up ? REQUIRES : REQUIRES_NONE;
    if (v->kind != OX_NODE)
        return REQUIRES_NONE;
    const MapEntry *e = map_find(&a->required, v);
    if (!e)
        return NOT_YET;
    return e->val ? REQUIRES : REQUIRES_NONE;
}

/* One look at v, the last of todo: it is answered, or what it needs first is added to todo. */
static void answer(Ctx *cx, Autograd *a, Ox v, ReadVec *todo)
{
    ReadVec reads = { 0 };
    size_t before = todo->n;
    bool yes = false;
    node_reads(cx, v->node, &reads);
    for (size_t i = 0; i < reads.n; i++) {
        Known k = known(a, reads.at[i]);
        yes |= k == REQUIRES;
        if (k == NOT_YET)
            vec_push(cx, todo, reads.at[i]);
    }
    if (yes)
        todo->n = before;
    if (yes || todo->n == before) {
        map_put(cx, &a->required, v, yes ? v : NULL);
        todo->n = before - 1;
    }
}

bool autograd_requires(Ctx *cx, Ox v)
{
    if (!autograd_used(cx))
        return false;
    Autograd *a = state(cx);
    ReadVec todo = { 0 };
    if (known(a, v) == NOT_YET)
        vec_push(cx, &todo, v);
    while (todo.n > 0 && !ctx_failed(cx)) {
        Ox next = todo.at[todo.n - 1];
        count_work(cx);
        if (known(a, next) == NOT_YET)
            answer(cx, a, next, &todo);
        else
            todo.n--;
    }
    return known(a, v) == REQUIRES;
}

/* ---- values of their own ---- */

Ox autograd_detached(Graph *g, Ox v)
{
    if (!autograd_requires(g->cx, v))
        return v;
    Ox cut = ox_identity(g, v);
    if (ox_ok(cut))
        map_put(g->cx, &state(g->cx)->tape.stops, cut, NULL);
    return cut;
}

Ox autograd_result(Graph *g, Ox v)
{
    if (!autograd_requires(g->cx, v))
        return v;
    return autograd_enabled(g->cx) ? ox_identity(g, v) : autograd_detached(g, v);
}

Ox autograd_call(Graph *g, Ox v, const TapedCall *call)
{
    Ctx *cx = g->cx;
    bool requires = false;
    for (size_t i = 0; i < call->n; i++)
        requires |= call->from[i] && autograd_requires(cx, call->from[i]);
    if (!requires || !autograd_enabled(cx) || !may_have_gradient(v))
        return autograd_result(g, v);
    Ox own = ox_identity(g, v);
    if (ox_ok(own)) {
        map_put(cx, &state(cx)->tape.calls, own, call);
        map_put(cx, &state(cx)->required, own, own);
    }
    return own;
}

Value autograd_number(Graph *g, Ox v)
{
    return val_number_of(g, ox_ok(v) ? autograd_detached(g, v) : v);
}

/* ---- tensors ---- */

static Ox leaf_read(Graph *g, const View *v, Ox base)
{
    (void)v;
    Ox leaf = ox_ok(base) ? ox_identity(g, base) : POISON;
    if (!ox_ok(leaf))
        return POISON;
    map_put(g->cx, &state(g->cx)->tape.stops, leaf, leaf);
    vec_push(g->cx, &state(g->cx)->leaves, leaf);
    return leaf;
}

static Ox detached_read(Graph *g, const View *v, Ox base)
{
    (void)v;
    return ox_ok(base) ? autograd_detached(g, base) : POISON;
}

static Ox leaf_write(Graph *g, const View *v, Ox base, Ox part)
{
    (void)v, (void)base, (void)part;
    fail(g->cx, E_VALUE,
         "a leaf Variable that requires grad is being used in an in-place operation");
    return POISON;
}

static Ox detached_write(Graph *g, const View *v, Ox base, Ox part)
{
    (void)v;
    if (!autograd_requires(g->cx, base))
        return part;
    fail(g->cx, E_UNSUPPORTED,
         "writing to what detach() gave changes a tensor whose gradient is recorded");
    fail_hint(g->cx, "x.detach().clone() has memory of its own");
    return POISON;
}

static bool same_strides(Ctx *cx, const View *v, Type old, const Dim *from, Type to, Dim *out)
{
    (void)cx, (void)v, (void)old;
    for (int i = 0; i < to->rank; i++)
        out[i] = from[i];
    return true;
}

static const View *never_joined(Ctx *cx, const View *first, const View *v, int rank)
{
    (void)cx, (void)first, (void)v, (void)rank;
    return NULL;
}

static bool repeats_nothing(const View *v)
{
    (void)v;
    return false;
}

static const ViewKind leaf_kind = { leaf_read, leaf_write, same_strides, never_joined,
                                    repeats_nothing };
static const ViewKind detached_kind = { detached_read, detached_write, same_strides, never_joined,
                                        repeats_nothing };
static const View leaf_view = { &leaf_kind };
static const View detached_view = { &detached_kind };

/* t itself becomes the view of what it was. */
static bool become_view(Graph *g, Tensor *t, const View *view)
{
    Ox v = tensor_read(g, t);
    if (trail_is_open(g->cx))
        return fail(g->cx, E_UNSUPPORTED,
                    "requires_grad_() inside a branch or loop that ONNX runs");
    Ox read = view->kind->read(g, view, v);
    if (!ox_ok(read))
        return false;
    *t = *tensor_view(g->cx, t, view, read);
    return !ctx_failed(g->cx);
}

bool tensor_require(Graph *g, Tensor *t)
{
    Ox v = tensor_read(g, t);
    if (!ox_ok(v) || autograd_requires(g->cx, v))
        return !ctx_failed(g->cx);
    if (!may_have_gradient(v))
        return fail(g->cx, E_VALUE,
                    "only Tensors of floating point and complex dtype can require gradients");
    return become_view(g, t, &leaf_view);
}

bool tensor_detach(Graph *g, Tensor *t)
{
    Ox v = tensor_read(g, t);
    if (!ox_ok(v) || !autograd_requires(g->cx, v))
        return !ctx_failed(g->cx);
    return become_view(g, t, &detached_view);
}
