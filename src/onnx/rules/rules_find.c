/* rules_find.c - a rule read from right to left: is this value what the rule's formula says?
 *
 *     onnx::Mish(X)
 *         = Mul(X, Tanh(one.of::softplus(X)))
 *     one.of::softplus(X)                            any of its alternatives will do
 *         = Softplus(X)
 *         = Log(Add(Exp(X), 1))
 *
 * Parameters of the head are what may stand there: any value, the same wherever the name stands
 * again. A name of one of the operator's attributes is a number that is given; `when NAME =
 * literal` says what an attribute is if that alternative fits, other guards are asked when all the
 * rest fits. `any` is any value. Add and Mul take their inputs in either order. cast(x, T) is a
 * Cast to T, or x itself where it has that type.
 *
 * One idea: what is left to match is a list of goals. The first is met in each way it can be, and
 * the others must hold after it. */
#include "onnx/edit.h"
#include "onnx/rules/rules_tree.h"

#include <assert.h>
#include <math.h>

typedef struct Frame Frame;
struct Frame {
    const Rule *rule;
    const Alternative *alt;
    const Tree *call;
    const Frame *up;
}; /* call: the call that gives the parameters their arguments */
typedef struct Goal Goal;
struct Goal {
    const Tree *want;
    Ox v;
    const Frame *at;
    DType type;
    int rank;
    const Goal *next;
}; /* type: of the value that was cast; rank: of the tensor whose axes are compared */
typedef struct Bound {
    const Frame *at;
    Str name;
    RuleVal v;
} Bound;
typedef struct Find {
    Ctx *cx;
    Graph *g;
    RuleSet *forms;
    const Node *root;
    const Frame *top;
    const OpVersion *op; /* the operator of the head, which will be written */
    VEC(Bound) bound;
    VEC(Ox) inner;
    bool (*accept)(void *arg, const RuleMatch *m);
    void *arg;
    RuleMatch *out;
} Find;

static bool solve(Find *f, const Goal *g);

/* ---- numbers ---- */

static bool literal(const Tree *t, double *out)
{
    double a, b;
    switch (t->kind) {
    case N_INT:   *out = (double)t->i; return true;
    case N_FLOAT: *out = t->f; return true;
    case N_BOOL:  *out = t->i != 0; return true;
    case N_NEG:   return literal(t->arg[0], out) ? (*out = -*out, true) : false;
    case N_NAME:  *out = INFINITY; return str_is(t->s, "infinity");
    case N_LIKE:  return literal(t->arg[0], out);
    case N_ARITH:
        if (!literal(t->arg[0], &a) || !literal(t->arg[1], &b))
            return false;
        *out = arith_result((char)t->i, a, b);
        return true;
    default: return false;
    }
}

/* The number v, or the number that all items of a float tensor v are: such a tensor broadcasts
 * as the number would, where its shape comes from the other operand. */
static bool number_of(Find *f, Ox v, double *out)
{
    if (!v || ox_known_scalar(f->g, v, out))
        return v != NULL;
    if (v->kind != OX_CONST || v->k->dtype != DT_FLOAT || const_numel(v->k) < 1 ||
        const_numel(v->k) > FOLD_NUMEL)
        return false;
    const float *at = const_data(f->cx, v->k);
    if (!at)
        return false;
    for (int64_t i = 1; i < const_numel(v->k); i++)
        if (at[i] != at[0])
            return false;
    *out = at[0];
    return true;
}

/* Is v the number `want`, to the precision of v's own type? Programs write roots with no more
 * digits than that. */
static bool is_number(Find *f, Ox v, double want)
{
    double x;
    if (!number_of(f, v, &x))
        return false;
    return ox_dtype(v) == DT_DOUBLE ? x == want : (float)x == (float)want;
}

/* Axes count from the end in a formula: -1 is the last one. */
static bool are_axes(Find *f, const Goal *g)
{
    const int64_t *at;
    int64_t n;
    double want;
    if (!g->v || !ox_known_ints(f->g, g->v, &at, &n) || (size_t)n != g->want->n_arg)
        return false;
    for (int64_t i = 0; i < n; i++)
        if (!literal(g->want->arg[i], &want) ||
            (at[i] >= 0 ? at[i] - g->rank : at[i]) != (int64_t)want)
            return false;
    return true;
}

/* ---- names ---- */

static Bound *bound_to(Find *f, const Frame *at, Str name)
{
    for (size_t i = 0; i < f->bound.n; i++)
        if (f->bound.at[i].at == at && f->bound.at[i].name == name)
            return &f->bound.at[i];
    return NULL;
}

static int param_of(const Rule *r, Str name)
{
    for (size_t i = 0; i < r->n_params; i++)
        if (r->params[i] == name)
            return (int)i;
    return -1;
}

static const Tree *let_of(const Alternative *a, Str name)
{
    for (size_t i = 0; i < a->lets.n; i++)
        if (a->lets.at[i].n_name == 1 && a->lets.at[i].name[0] == name)
            return a->lets.at[i].value;
    return NULL;
}

/* Binds the name to v, then matches v with `want`, the expression of a let (NULL: none). */
static bool bind(Find *f, const Goal *g, RuleVal v, const Tree *want, const Frame *at)
{
    vec_push(f->cx, &f->bound, (Bound){ g->at, g->want->s, v });
    Goal inside = { .want = want, .v = g->v, .at = at, .next = g->next };
    return solve(f, want ? &inside : g->next);
}

/* Counts one more use of v, if v is a value inside the formula. */
static bool taken_again(Find *f, Ox v)
{
    for (size_t i = 0; i < f->inner.n; i++)
        if (f->inner.at[i] == v)
            return vec_push(f->cx, &f->inner, v);
    return true;
}

/* A name stands for the same value wherever it occurs: it is bound when it is first met. A `let` is
 * bound to what its expression finds, a parameter of a form to the argument of its call, an
 * attribute of the operator to a number. */
static bool solve_name(Find *f, const Goal *g)
{
    if (str_is(g->want->s, "any"))
        return g->v && solve(f, g->next);
    const Bound *b = bound_to(f, g->at, g->want->s);
    double x;
    if (b && b->v.tag == RV_FLOAT)
        return is_number(f, g->v, b->v.f) && solve(f, g->next);
    if (b)
        return b->v.ox == g->v && taken_again(f, g->v) && solve(f, g->next);
    if (!g->v)
        return false;
    const Tree *let = let_of(g->at->alt, g->want->s);
    int param = param_of(g->at->rule, g->want->s);
    RuleVal v = { .tag = RV_OX, .ox = g->v };
    if (let)
        return bind(f, g, v, let, g->at);
    if (param >= 0)
        return bind(f, g, v, g->at->call ? g->at->call->arg[param] : NULL, g->at->up);
    if (g->at->call || !onnx_attr(f->op, g->want->s->s) || !ox_known_scalar(f->g, g->v, &x))
        return false;
    return bind(f, g, (RuleVal){ .tag = RV_FLOAT, .f = x }, NULL, NULL);
}

/* ---- nodes ---- */

static bool ints_are(const Attr *a, const Tree *list)
{
    bool same = a->n == list->n_arg;
    for (size_t i = 0; same && i < a->n; i++)
        same = list->arg[i]->kind == N_INT && a->ints[i] == list->arg[i]->i;
    return same;
}

/* Numbers, texts and lists of ints: what formulas are made of has no others. */
static bool attr_is(Ctx *cx, const Node *n, const OpVersion *v, const Setting *s)
{
    const Attr *there = node_attr(n, s->name->s);
    const Attr a = there ? *there : onnx_default(cx, onnx_attr(v, s->name->s));
    double want;
    if (s->value->kind == N_STR)
        return a.kind == ATTR_STRING && a.s == s->value->s;
    if (s->value->kind == N_LIST)
        return a.kind == ATTR_INTS && ints_are(&a, s->value);
    if (!literal(s->value, &want) || (a.kind != ATTR_INT && a.kind != ATTR_FLOAT))
        return false;
    double is = a.kind == ATTR_INT ? (double)a.i : a.f;
    if (str_is(s->name, "axis") && want < 0 && is >= 0)
        is -= ox_rank(n->out[0]);
    return a.kind == ATTR_INT ? is == want : (float)is == (float)want;
}

/* Are n's attributes those of the formula, and all others at their defaults? */
static bool attrs_are(Ctx *cx, const Node *n, const Tree *t)
{
    const OpVersion *v = onnx_version(n->op, ONNX_NEWEST);
    for (size_t i = 0; i < t->n_attr; i++)
        if (!attr_is(cx, n, v, &t->attr[i]))
            return false;
    for (int k = 0; k < n->n_attr; k++) {
        bool named = false;
        for (size_t i = 0; i < t->n_attr; i++)
            named |= str_is(t->attr[i].name, n->attr[k].name);
        if (!named && !onnx_says_default(cx, onnx_attr(v, n->attr[k].name), &n->attr[k]))
            return false;
    }
    return true;
}

enum { MAX_ARGS = 4 };

static bool solve_inputs(Find *f, const Goal *g, const Node *n, const int *order)
{
    Goal goals[MAX_ARGS];
    size_t count = g->want->n_arg;
    Ox counted = n->n_in ? n->in[0] : NULL; /* the tensor whose axes n's attributes name */
    if (node_is(n, "Unsqueeze"))
        counted = n->out[0];
    int rank = counted ? ox_rank(counted) : -1;
    for (size_t i = 0; i < count; i++) {
        Ox v = order[i] < n->n_in ? n->in[order[i]] : NULL;
        goals[i] = (Goal){ .want = g->want->arg[i],
                           .v = v,
                           .at = g->at,
                           .rank = rank,
                           .next = i + 1 < count ? &goals[i + 1] : g->next };
    }
    return solve(f, count ? goals : g->next);
}

static bool solve_node(Find *f, const Goal *g)
{
    static const int straight[MAX_ARGS] = { 0, 1, 2, 3 };
    static const int turned[MAX_ARGS] = { 1, 0 };
    const Tree *t = g->want;
    Ox v = g->v;
    if (!v || v->kind != OX_NODE || v->out != 0 || v->graph != f->root->graph ||
        !node_is(v->node, t->s->s))
        return false;
    const Node *n = v->node;
    if ((size_t)n->n_in > t->n_arg || t->n_arg > MAX_ARGS || !attrs_are(f->cx, n, t))
        return false;
    if (n != f->root)
        vec_push(f->cx, &f->inner, v);
    bool either = (node_is(n, "Add") || node_is(n, "Mul")) && n->in[0] != n->in[1];
    return solve_inputs(f, g, n, straight) || (either && solve_inputs(f, g, n, turned));
}

/* ---- forms, casts ---- */

static bool solve_form(Find *f, const Goal *g)
{
    const Rule *r = rule_named(f->cx, f->forms, g->want->s->s, g->want->s->len);
    if (!r || !rule_read(f->cx, r)) {
        assert(ctx_failed(f->cx)); /* the build has read every rule */
        return false;
    }
    assert(r->n_params == g->want->n_arg);
    for (size_t i = 0; i < r->body->at.n; i++) {
        Frame inside = { r, &r->body->at.at[i], g->want, g->at };
        Goal first = {
            .want = inside.alt->results.at[0], .v = g->v, .at = &inside, .next = g->next
        };
        if (solve(f, &first))
            return true;
    }
    return false;
}

/* Is this the type that t names: float32, or dtype(X) of an X that has been found? */
static bool type_is(Find *f, const Tree *t, const Frame *at, DType type)
{
    if (t->kind == N_NAME)
        return dtype_named(t->s->s, t->s->len) == type;
    const Bound *b = bound_to(f, at, t->arg[0]->s);
    return b && ox_dtype(b->v.ox) == type;
}

/* Matches cast(x, T). x is matched first, as T may be dtype(X), which is known only once X is
 * found. */
static bool solve_cast(Find *f, const Goal *g)
{
    if (g->type != DT_NONE)
        return type_is(f, g->want->arg[1], g->at, g->type) && solve(f, g->next);
    if (!g->v)
        return false;
    Goal then = { .want = g->want, .at = g->at, .type = ox_dtype(g->v), .next = g->next };
    Goal same = { .want = g->want->arg[0], .v = g->v, .at = g->at, .next = &then };
    if (g->v->kind == OX_NODE && node_is(g->v->node, "Cast") && g->v->graph == f->root->graph) {
        size_t inner = f->inner.n;
        if (g->v->node != f->root)
            vec_push(f->cx, &f->inner, g->v);
        Goal before = same;
        before.v = g->v->node->in[0];
        if (solve(f, &before))
            return true;
        f->inner.n = inner;
    }
    return solve(f, &same);
}

/* ---- when all fits ---- */

/* *out: the value of dtype(X), rank(X), a number that was found, a type's name or a literal.
 * False: t is something else. */
static bool known(Find *f, const Frame *root, const Tree *t, double *out)
{
    if (literal(t, out))
        return true;
    if (t->kind == N_DTYPE || t->kind == N_RANK) {
        const Bound *x = bound_to(f, root, t->arg[0]->s);
        *out = -1;
        if (x && x->v.tag == RV_OX)
            *out = t->kind == N_RANK ? ox_rank(x->v.ox) : (double)ox_dtype(x->v.ox);
        return x != NULL;
    }
    if (t->kind != N_NAME)
        return false;
    const Bound *b = bound_to(f, root, t->s);
    *out = b && b->v.tag == RV_FLOAT ? b->v.f : (double)dtype_named(t->s->s, t->s->len);
    return true;
}

static bool holds(Find *f, const Frame *root, const Guard *q)
{
    double a, b;
    bool fine = known(f, root, q->a, &a) && known(f, root, q->b, &b);
    assert(fine && q->kind >= G_EQ);
    return fine && compare_numbers(q->kind, a, b);
}

/* False: the attribute is an int, and v is none. */
static bool give_attr(RuleMatch *m, const FormalAttr *a, double v, Str text)
{
    int64_t whole;
    Attr *to = &m->attr[m->n_attr];
    if (a->kind == ATTR_STRING)
        *to = STRING(a->name, text);
    else if (a->kind != ATTR_INT)
        *to = FLOAT(a->name, v);
    else if (whole_number(v, &whole))
        *to = INT(a->name, whole);
    else
        return false;
    m->n_attr++;
    return true;
}

/* The attribute that a guard sets: `when approximate = "tanh"` gives the head's operator this
 * attribute. NULL: the guard is a question. */
static const FormalAttr *given_attr(const Find *f, const Guard *q)
{
    return q->kind == G_EQ && q->a->kind == N_NAME ? onnx_attr(f->op, q->a->s->s) : NULL;
}

/* Everything of the pattern is matched: do the guards hold, and does the caller take the match?
 * Then it is in *f->out, with the attributes that guards and bound numbers give. */
static bool accepted(Find *f, const Frame *root)
{
    RuleMatch m = {
        .rule = root->rule, .result = f->root->out[0], .inner = f->inner.at, .n_inner = f->inner.n
    };
    for (size_t i = 0; i < root->rule->n_params; i++) {
        const Bound *b = bound_to(f, root, root->rule->params[i]);
        m.param[i] = b ? b->v.ox : NULL;
    }
    for (size_t i = 0; i < f->bound.n; i++)
        if (f->bound.at[i].at == root && f->bound.at[i].v.tag == RV_FLOAT &&
            !give_attr(&m, onnx_attr(f->op, f->bound.at[i].name->s), f->bound.at[i].v.f, NULL))
            return false;
    for (size_t i = 0; i < root->alt->guards.n; i++) {
        const Guard *q = root->alt->guards.at[i];
        const FormalAttr *a = given_attr(f, q);
        double v = 0;
        if (!a && !holds(f, root, q))
            return false;
        bool given = a && (q->b->kind == N_STR || literal(q->b, &v));
        if (given && !give_attr(&m, a, v, q->b->s))
            return false;
    }
    if (!f->accept(f->arg, &m))
        return false;
    *f->out = m;
    return true;
}

static bool solve_one(Find *f, const Goal *g)
{
    double want;
    if (literal(g->want, &want))
        return is_number(f, g->v, want) && solve(f, g->next);
    switch (g->want->kind) {
    case N_NAME: return solve_name(f, g);
    case N_CAST: return solve_cast(f, g);
    case N_NONE: return !g->v && solve(f, g->next);
    case N_LIST: return are_axes(f, g) && solve(f, g->next);
    case N_CALL: return g->want->domain ? solve_form(f, g) : solve_node(f, g);
    default:     return false;
    }
}

/* Matches a goal and all goals behind it. Bindings of an attempt that fails are forgotten. */
static bool solve(Find *f, const Goal *g)
{
    size_t bound = f->bound.n;
    size_t inner = f->inner.n;
    if (!g)
        return accepted(f, f->top);
    if (solve_one(f, g))
        return true;
    f->bound.n = bound;
    f->inner.n = inner;
    return false;
}

/* Is root the result of what r's right side describes? The first alternative whose match `accept`
 * takes is in *out: from `Gelu(x) = Mul(x, ..)` and a Mul node follows what x is. */
bool rule_find(const Rule *r, RuleSet *forms, const Node *root,
               bool (*accept)(void *arg, const RuleMatch *m), void *arg, RuleMatch *out)
{
    Ctx *cx = root->graph->cx;
    if (!rule_read(cx, r))
        return false;
    const OnnxOp *op = onnx_op(cx, r->head->s + strlen("onnx::"));
    Find f = { .cx = cx,
               .g = root->graph,
               .forms = forms,
               .root = root,
               .op = onnx_version(op, ONNX_NEWEST),
               .accept = accept,
               .arg = arg,
               .out = out };
    for (size_t i = 0; i < r->body->at.n; i++) {
        Frame top = { .rule = r, .alt = &r->body->at.at[i] };
        f.top = &top;
        if (solve(&f, &(Goal){ .want = top.alt->results.at[0], .v = root->out[0], .at = &top }))
            return true;
    }
    return false;
}

bool rule_roots(Ctx *cx, const Rule *r, RuleSet *forms, Map *names)
{
    static const char form[] = "one.of::";
    RuleTops tops = { 0 };
    bool fine = r && rule_tops(cx, r, &tops);
    for (size_t i = 0; fine && i < tops.n; i++) {
        const char *name = tops.at[i]->s + strlen(form);
        if (str_starts(tops.at[i], form))
            fine = rule_roots(cx, rule_named(cx, forms, name, strlen(name)), forms, names);
        else
            map_add(cx, names, tops.at[i], NULL);
    }
    return fine;
}
