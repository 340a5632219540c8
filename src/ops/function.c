/* function.c - a rule with the clause `function`: the call stays one node of a custom domain, and
 * the rule's formula is the body of a function that the model carries. Any runtime can run the
 * function; a runtime with a kernel of that name may use its kernel.
 *
 * The body is a graph that sees nothing outside: the call's tensors and its dynamic numbers are the
 * body's inputs. Unknown sizes are new symbols in the body. wire.c writes each distinct body once,
 * for all calls that have it. */
#include "ops/internal.h"

typedef struct Swap {
    Dim inside, outside;
} Swap;

typedef struct Body {
    Op *op;
    Graph *g;
    RuleVal *val; /* of the parameters, in the schema's order: tensors are inputs of the body */
    VEC(Ox) in;   /* what is fed: the node's inputs */
    VEC(Swap) sizes;
} Body;

/* d as the body sees it: a number stays, a symbol becomes one of the body; equal dims stay equal.
 */
static Dim inside(Body *b, Dim d)
{
    Ctx *cx = b->op->cx;
    int64_t lo, hi;
    if (dim_known(d, NULL))
        return d;
    for (size_t i = 0; i < b->sizes.n; i++)
        if (dim_eq(cx, b->sizes.at[i].outside, d) == YES)
            return b->sizes.at[i].inside;
    Dim fresh = dim_fresh(cx, "f");
    dim_range(cx, d, &lo, &hi);
    if (fresh && lo >= 0)
        dim_set_range(cx, fresh, lo, hi);
    vec_push(cx, &b->sizes, (Swap){ fresh, d });
    return fresh;
}

static Dim outside_of(void *arg, Dim sym)
{
    const Body *b = arg;
    for (size_t i = 0; i < b->sizes.n; i++)
        if (b->sizes.at[i].inside == sym)
            return b->sizes.at[i].outside;
    return NULL;
}

/* The input of the body that stands for v, one for each v. */
static Ox body_input(Body *b, Str name, Ox v)
{
    Ctx *cx = b->op->cx;
    Dim dim[MAX_RANK];
    if (!v || !ox_ok(v))
        return v;
    for (size_t i = 0; i < b->in.n; i++)
        if (b->in.at[i] == v)
            return b->g->inputs.at[i];
    for (int i = 0; i < ox_rank(v); i++)
        dim[i] = inside(b, ox_dim(v, i));
    vec_push(cx, &b->in, v);
    return graph_input(b->g, name,
                       type_tensor(cx, ox_dtype(v), ox_rank(v), ox_rank(v) < 0 ? NULL : dim));
}

/* A list of tensors: inputs named xs_0, xs_1, .. */
static bool body_list(Body *b, Str name, RuleVal *v)
{
    Ox *at = new_array(b->op->cx, Ox, v->oxs.n + 1);
    if (!at)
        return false;
    for (size_t i = 0; i < v->oxs.n; i++) {
        Str item = str_fmt(b->op->cx, "%s_%zu", name->s, i);
        at[i] = body_input(b, item, v->oxs.at[i]);
        if (!ox_ok(at[i]))
            return false;
    }
    v->oxs.at = at;
    return true;
}

/* Turn an argument into what the body sees of it; concrete values stay. False: it is poison. */
static bool body_value(Body *b, Str name, RuleVal *v)
{
    if (v->tag == RV_OXS)
        return body_list(b, name, v);
    if (v->tag != RV_OX)
        return true;
    v->ox = body_input(b, name, v->ox);
    return ox_ok(v->ox);
}

static bool body_lookup(void *arg, Str name, RuleVal *out)
{
    const Body *b = arg;
    int i = param_index(b->op->call->schema, name);
    if (i >= 0)
        *out = b->val[i];
    return i >= 0;
}

/* A concrete argument as an attribute of the node, for a kernel of the operator's name. */
static Attr attribute(Str name, RuleVal v)
{
    switch (v.tag) {
    case RV_INT:   return INT(name->s, v.i);
    case RV_BOOL:  return INT(name->s, v.b);
    case RV_FLOAT: return FLOAT(name->s, v.f);
    case RV_STR:   return STRING(name->s, v.s);
    case RV_INTS:  return INT_LIST(name->s, v.ints.at, v.ints.n);
    case RV_FLOATS:
        return (
            Attr){ .name = name->s, .kind = ATTR_FLOATS, .n = v.floats.n, .floats = v.floats.at };
    default: return NO_ATTR;
    }
}

/* A type of the body as the caller sees it: the body's symbols are the call's sizes again. */
static Type outside_type(Body *b, Type t)
{
    Ctx *cx = b->op->cx;
    Dim dim[MAX_RANK];
    for (int k = 0; k < t->rank; k++)
        dim[k] = dim_replace(cx, t->dim[k], outside_of, b);
    return type_tensor(cx, t->dtype, t->rank, t->rank < 0 ? NULL : dim);
}

/* The node that calls the function: its inputs are the body's, its attributes the concrete
 * arguments and the body; result[] are the values that the body gives. */
static bool call_function(Body *b, const Ox *result, Ox *out, size_t n)
{
    Ctx *cx = b->op->cx;
    const Schema *s = b->op->call->schema;
    const Rule *rule = b->op->call->rule;
    Attr *attr = new_array(cx, Attr, s->n_param + 2);
    Type *types = new_array(cx, Type, n);
    size_t n_attr = 0;
    if (!attr || !types)
        return false;
    for (int i = 0; i < s->n_param; i++) {
        attr[n_attr] = attribute(s->param[i].name, b->val[i]);
        n_attr += attr[n_attr].kind != ATTR_NONE;
    }
    for (size_t i = 0; i < n; i++) {
        types[i] = outside_type(b, result[i]->type);
        graph_output(b->g, result[i], NULL);
    }
    if (ctx_failed(cx))
        return false;
    attr[n_attr++] = SUBGRAPH(FUNCTION_BODY, b->g);
    return ox_make_custom(b->op->g, rule->domain, rule->function, (OxList)LIST(b->in), attr, n_attr,
                          types, out, n);
}

/* Apply the rule inside a new graph, the body, then make the node that calls it. For
 * my::f(Tensor x, int k) called with k=3: a node my::f(x) with k=3, and a function of one input. */
RuleOutcome rule_function(Op *op, RuleEnv *env, Ox *out, size_t n)
{
    const Schema *s = op->call->schema;
    Body b = { .op = op,
               .g = graph_new(op->cx, op->g, op->call->rule->function),
               .val = new_array(op->cx, RuleVal, s->n_param + 1) };
    Ox *result = new_array(op->cx, Ox, n);
    for (size_t i = 0; i < n; i++)
        out[i] = POISON;
    if (!b.val || !result || ctx_failed(op->cx))
        return RULE_FAILED;
    for (int i = 0; i < s->n_param; i++) {
        env->lookup(env->arg, s->param[i].name, &b.val[i]);
        if (!body_value(&b, s->param[i].name, &b.val[i]))
            return RULE_FAILED;
    }
    RuleEnv within = {
        .g = b.g, .target = env->target, .lookup = body_lookup, .arg = &b, .like = env->like
    };
    RuleOutcome outcome = rule_apply(op->call->rule, &within, result, n);
    if (outcome != RULE_DONE)
        return outcome;
    return call_function(&b, result, out, n) ? RULE_DONE : RULE_FAILED;
}
