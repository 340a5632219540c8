/* result_gradient.c - the results of an operator of a program that asks for gradients.
 *
 * Each is a value of its own (value/autograd.h), so that the gradient with respect to a tensor
 * counts its uses and not those of another tensor with the same contents. Its gradient is that of
 * the nodes that compute it, unless the row or rule has clauses `derivative`: then the call is
 * kept, with its arguments as they are now. */
#include "ops/internal.h"
#include "value/autograd.h"
#include "value/walk.h"

/* ---- calls whose row tells their gradient ---- */

typedef struct Kept {
    TapedCall call; /* from: the tensors among the arguments, by parameter */
    const Rule *rule;
    const Schema *schema;
    const RuleVal *arg;
    Ox result;
} Kept;
typedef struct Given {
    Graph *g;
    const Kept *kept;
    Ox grad;
} Given;

static bool kept_lookup(void *arg, Str name, RuleVal *out)
{
    const Given *given = arg;
    int i = param_index(given->kept->schema, name);
    if (str_is(name, "grad"))
        *out = (RuleVal){ .tag = RV_OX, .ox = given->grad };
    else if (str_is(name, "result"))
        *out = (RuleVal){ .tag = RV_OX, .ox = given->kept->result };
    else if (i >= 0)
        *out = given->kept->arg[i];
    return i >= 0 || str_is(name, "grad") || str_is(name, "result");
}

static Value value_of(Ctx *cx, RuleVal v)
{
    switch (v.tag) {
    case RV_OX:    return val_tensor(cx, v.ox);
    case RV_INT:   return val_int(v.i);
    case RV_FLOAT: return val_float(v.f);
    case RV_BOOL:  return val_bool(v.b);
    default:       return val_none();
    }
}

/* An operator of PyTorch that a clause calls. */
static Ox kept_call(void *arg, Str name, const RuleVal *args, size_t n)
{
    const Given *given = arg;
    Ctx *cx = given->g->cx;
    OpArg *of = new_array(cx, OpArg, n + 1);
    if (!of)
        return POISON;
    for (size_t i = 0; i < n; i++)
        of[i] = (OpArg){ .v = value_of(cx, args[i]) };
    Value v = op_call(given->g, name, NULL, of, n, NULL, 0);
    return v.tag == V_TENSOR ? tensor_read(given->g, v.t) : POISON;
}

/* Each gradient that is wanted, by its clause. A parameter without one is refused. */
static bool kept_gradient(const TapedCall *call, Graph *g, Ox grad, const bool *want, Ox *out,
                          Str *why)
{
    const Kept *kept = (const Kept *)call;
    Given given = { g, kept, grad };
    RuleEnv env = { .g = g,
                    .target = g->target,
                    .lookup = kept_lookup,
                    .call = kept_call,
                    .arg = &given,
                    .like = kept->result };
    for (size_t i = 0; i < call->n; i++) {
        Str param = kept->schema->param[i].name;
        if (!want[i])
            continue;
        if (rule_derivative(kept->rule, param, &env, &out[i], why) != RULE_DONE) {
            if (!*why && !ctx_failed(g->cx))
                *why = str_fmt(g->cx, "the derivative of argument '%s' is not known", param->s);
            return false;
        }
    }
    return true;
}

/* The call with its arguments as they are now; v is its result. NULL without memory. */
static const TapedCall *keep_call(Op *op, const Rule *rule, Ox v)
{
    const Schema *s = op->call->schema;
    size_t n = (size_t)s->n_param;
    Kept *kept = new(op->cx, Kept);
    Ox *from = new_array(op->cx, Ox, n + 1);
    RuleVal *arg = new_array(op->cx, RuleVal, n + 1);
    if (!from || !arg)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        Value given = op->call->arg[i];
        from[i] = given.tag == V_TENSOR ? tensor_read(op->g, given.t) : NULL;
        (void)rule_argument(op, s->param[i].name, &arg[i]);
    }
    *kept = (Kept){ .call = { .from = from, .n = n, .gradient = kept_gradient },
                    .rule = rule,
                    .schema = s,
                    .arg = arg,
                    .result = v };
    return &kept->call;
}

Ox own_result(Op *op, Ox v)
{
    if (!ox_ok(v) || !autograd_used(op->cx))
        return v;
    const Rule *rule = op->ran ? candidate_derivative(op->cx, op->ran) : NULL;
    if (!rule)
        return autograd_result(op->g, v);
    const TapedCall *call = keep_call(op, rule, v);
    return call ? autograd_call(op->g, v, call) : POISON;
}

/* ---- the results of a call ---- */

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
    Ox own = own_result(r->op, now);
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
