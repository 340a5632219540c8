/* find.c - one operator where the program has written out its parts: find.rules says which formulas
 * are looked for.
 *
 *     Mul(X, Tanh(Softplus(X)))  ->  Mish(X)                   from opset 18 on
 *
 * Nothing is guessed: constants, axes and types are those of the formula, and what is computed on
 * the way has no other use. All matches are made before anything changes, from the last
 * node to the first, so that a formula is found whole before a part of it is. */
#include "tidy/find/find.h"

extern const char rules_find[];
extern const NameTable form_names, root_names;

typedef VEC(const Rule *) Rules;
typedef struct Finder {
    Ctx *cx;
    const Rewrite *rw;
    const TidyOptions *o;
    RuleSet forms;
    Map by_root; /* operator's name -> rules whose outermost operator it is; NULL: none */
    Map found;   /* node -> RuleMatch */
    Map inside;  /* nodes that a match has taken */
} Finder;

static const char *operator_of(const Rule *r) { return r->head->s + strlen("onnx::"); }

/* ---- is it right to write it? ---- */

/* A parameter along the last axis of x: ONNX Runtime takes no other. */
static bool along_last(Ctx *cx, Ox p, Ox x)
{
    return ox_rank(p) == 1 && ox_rank(x) > 0 &&
        dim_eq(cx, ox_dim(p, 0), ox_dim(x, ox_rank(x) - 1)) == YES && ox_dtype(p) == ox_dtype(x);
}

static bool norm_fits(Finder *f, const RuleMatch *m)
{
    int64_t size;
    Ox x = m->param[0];
    if (ox_dtype(x) == DT_DOUBLE) /* PyTorch computed it in float32 */
        return false;
    if (ox_dtype(x) == DT_BFLOAT16 &&
        f->rw->o->target_ort) /* as float32 there: what is rounded before the scale would not be */
        return false;
    bool known = ox_rank(x) > 0 && dim_known(ox_dim(x, ox_rank(x) - 1), &size) && size > 0 &&
        size <= FOLD_NUMEL;
    if (!m->param[1])
        return known;
    return along_last(f->cx, m->param[1], x) && (!m->param[2] || along_last(f->cx, m->param[2], x));
}

static bool activation_fits(Finder *f, const RuleMatch *m)
{
    (void)f;
    return ox_dtype(m->param[0]) == DT_FLOAT || ox_dtype(m->param[0]) == DT_DOUBLE;
}

/* ---- writing it ---- */

/* float32[n] of ones */
static Ox ones(Graph *g, int64_t n)
{
    float *v = new_array(g->cx, float, n);
    if (!v)
        return POISON;
    for (int64_t i = 0; i < n; i++)
        v[i] = 1;
    return ox_const(g, const_make(g->cx, DT_FLOAT, 1, &n, v));
}

/* A scale of ones where the program has none. */
static Ox with_scale(Finder *f, Graph *g, const RuleMatch *m, Ox *in)
{
    (void)f;
    Ox x = in[0];
    int64_t n = 1;
    dim_known(ox_dim(x, ox_rank(x) - 1), &n);
    if (!in[1])
        in[1] = ox_cast(g, ones(g, n), ox_dtype(x));
    return ox_make(g, operator_of(m->rule), INPUTS(in[0], in[1], in[2]), m->attr, m->n_attr);
}

static Ox as_it_is(Finder *f, Graph *g, const RuleMatch *m, Ox *in)
{
    (void)f;
    return ox_make(g, operator_of(m->rule), (OxList){ in, m->rule->n_params }, m->attr, m->n_attr);
}

static bool positions_fit(Finder *f, const RuleMatch *m) { return rotary_fits(f->rw, m); }

static Ox with_positions(Finder *f, Graph *g, const RuleMatch *m, Ox *in)
{
    return rotary_write(f->rw, g, m, in);
}

static bool heads_fit(Finder *f, const RuleMatch *m) { return attention_fits(f->rw, m); }

static Ox with_heads(Finder *f, Graph *g, const RuleMatch *m, Ox *in)
{
    (void)f;
    return attention_write(g, m, in);
}

static bool places_fit(Finder *f, const RuleMatch *m)
{
    (void)f;
    return columns_fit(m->result->graph, m);
}

static Ox with_places(Finder *f, Graph *g, const RuleMatch *m, Ox *in)
{
    (void)f;
    return columns_write(g, m, in);
}

/* fits: checks what the formula does not say. write: makes the operator; NULL: not possible
 * after all. */
static const struct Form {
    const char *op;
    bool (*fits)(Finder *f, const RuleMatch *m);
    Ox (*write)(Finder *f, Graph *g, const RuleMatch *m, Ox *in);
} forms[] = {
    { "onnx::Attention", heads_fit, with_heads },
    { "onnx::Col2Im", places_fit, with_places },
    { "onnx::Gelu", activation_fits, as_it_is },
    { "onnx::HardSwish", activation_fits, as_it_is },
    { "onnx::LayerNormalization", norm_fits, with_scale },
    { "onnx::Mish", activation_fits, as_it_is },
    { "onnx::RMSNormalization", norm_fits, with_scale },
    { "onnx::RotaryEmbedding", positions_fit, with_positions },
    { "onnx::Swish", activation_fits, as_it_is },
};

static const struct Form *form_of(const Rule *r)
{
    for (size_t i = 0; i < COUNT(forms); i++)
        if (str_is(r->head, forms[i].op))
            return &forms[i];
    return NULL;
}

/* ---- finding ---- */

/* Are the values inside the formula used by nothing but the formula? */
static bool only_ours(const Finder *f, const RuleMatch *m)
{
    for (size_t i = 0; i < m->n_inner; i++) {
        uint32_t times = 0;
        for (size_t k = 0; k < m->n_inner; k++)
            times += m->inner[k] == m->inner[i];
        if (times != uses_of(f->rw, m->inner[i]) || m->inner[i]->node->n_out > 1 ||
            dim_is_origin(m->inner[i]) || map_find(&f->inside, m->inner[i]->node))
            return false;
    }
    return true;
}

static bool accept(void *arg, const RuleMatch *m)
{
    Finder *f = arg;
    return only_ours(f, m) && form_of(m->rule)->fits(f, m);
}

/* Has the target the operator, or, with --fuse, ONNX Runtime one of its own that says it? */
static bool may_find(Finder *f, const Rule *r)
{
    int opset = f->o->opset < ONNX_NEWEST ? f->o->opset : ONNX_NEWEST;
    bool fused = str_is(r->head, "onnx::RMSNormalization") ||
        str_is(r->head, "onnx::RotaryEmbedding");
    return onnx_version(onnx_op(f->cx, operator_of(r)), opset) || (f->o->fuse && fused);
}

/* Rules for operators that the target has, by what the build has found to be their outermost
 * operators. The body of a rule is read only when a node may match it, as most models need few. */
static const Rules *rules_of_root(Finder *f, Str name)
{
    MapEntry *known = map_find(&f->by_root, name);
    if (known)
        return known->val;
    size_t n;
    const NameItem *at = names_find(&root_names, name->s, name->len, &n);
    Rules *rules = n ? new(f->cx, Rules) : NULL;
    for (size_t i = 0; i < n; i++) {
        const Rule *r = rule_at(f->cx, &f->forms, at[i]);
        if (r && form_of(r) && may_find(f, r))
            vec_push(f->cx, rules, r);
    }
    map_put(f->cx, &f->by_root, name, rules);
    return rules;
}

static void find_at(Finder *f, Node *n)
{
    const Rules *rules = n->op ? rules_of_root(f, n->name) : NULL;
    RuleMatch *m = rules && rules->n ? new(f->cx, RuleMatch) : NULL;
    if (!m)
        return;
    for (size_t i = 0; i < rules->n; i++) {
        if (!rule_find(rules->at[i], &f->forms, n, accept, f, m))
            continue;
        map_put(f->cx, &f->found, n, m);
        for (size_t k = 0; k < m->n_inner; k++)
            map_put(f->cx, &f->inside, m->inner[k]->node, NULL);
        return;
    }
}

static void find_in(Finder *f, const Graph *g)
{
    for (size_t i = g->nodes.n; i-- > 0;) {
        Node *n = g->nodes.at[i];
        if (n->dead)
            continue;
        for (int k = 0; k < n->n_attr; k++)
            if (n->attr[k].kind == ATTR_GRAPH)
                find_in(f, n->attr[k].g);
        if (n->n_out == 1 && !map_find(&f->inside, n))
            find_at(f, n);
    }
}

static bool find_step(Rewrite *rw, Node *n)
{
    Finder *f = rw->arg;
    Ox in[RULE_PARAMS];
    const RuleMatch *m = map_get(&f->found, n);
    if (!m)
        return true;
    for (size_t i = 0; i < COUNT(in); i++)
        in[i] = current(rw, m->param[i]);
    Ox y = form_of(m->rule)->write(f, n->graph, m, in);
    if (!y)
        return true;
    if (ox_ok(y) && same_shape(rw->cx, y, n->out[0]))
        replace(rw, n->out[0], y);
    return ox_ok(y);
}

/* ---- the pass ---- */

static void plan(Rewrite *rw, const Graph *g)
{
    Finder *f = rw->arg;
    f->rw = rw;
    find_in(f, g);
}

bool pass_find(Graph *g, const TidyOptions *o)
{
    Finder f = { .cx = g->cx, .o = o };
    if (!pass_unused(g, o)) /* a dead node would count as a use */
        return false;
    f.forms = rule_set(g->cx, "find.rules", rules_find, &form_names);
    if (!rewrite_planned(g, o, plan, find_step, &f))
        return false;
    return f.found.n == 0 || pass_unused(g, o);
}
