/* result_gradient.c - the results of an operator of a program that asks for gradients.
 *
 * Each is a value of its own (value/autograd.h), so that the gradient with respect to a tensor
 * counts its uses and not those of another tensor with the same contents. */
#include "ops/internal.h"
#include "value/autograd.h"
#include "value/walk.h"

typedef struct ResultsOf {
    Op *op;
    const OpArg *args;
    size_t n;
} ResultsOf;

/* Is t an argument itself, as what contiguous() gives may be? */
static bool is_argument(const ResultsOf *r, const Tensor *t)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->args[i].v.tag == V_TENSOR && same_tensor(r->args[i].v.t, t))
            return true;
    return false;
}

static WalkStep own_value(void *arg, Value v)
{
    const ResultsOf *r = arg;
    Ctx *cx = r->op->cx;
    if (v.tag != V_TENSOR || is_argument(r, v.t))
        return v.tag == V_TUPLE || v.tag == V_LIST ? WALK_IN : WALK_PAST;
    Ox now = tensor_read(r->op->g, v.t);
    Ox own = ox_ok(now) ? autograd_result(r->op->g, now) : POISON;
    if (!ox_ok(own) || own == now)
        return WALK_PAST;
    if (!v.t->base)
        storage_set(cx, v.t->st, own);
    v.t->read = own;
    v.t->read_version = v.t->st->version;
    return WALK_PAST;
}

void result_gradient(Op *op, const OpArg *args, size_t n, Value *v)
{
    ResultsOf r = { op, args, n };
    if (!autograd_used(op->cx))
        return;
    if (v->tag == V_SYMFLOAT)
        v->ox = autograd_detached(op->g, v->ox); /* a Python number has no gradient */
    (void)val_walk_finds(op->cx, *v, own_value, &r);
}
