/* gradient.c - the walk: which values lie between x and y, and the chain rule over their nodes from
 * the last to the first.
 *
 *     x --Sin--> a --Mul--> y        dy = grad of y
 *     x ---------------^             da = dy * x,  dx = dy * a + da * cos(x)
 *
 * Ids are in order of making, so the order of ids is an order of computing. */
#include "onnx/gradient/internal.h"

#include <stdarg.h>
#include <stdlib.h>

extern const char rules_gradients[];

typedef VEC(Node *) NodeVec;
typedef struct Back {
    Graph *g;
    Ctx *cx;
    const Tape *tape;
    Map ends;    /* values that no path leads through: a step's inputs, an x among them */
    Map between; /* values on a way from an x */
    Map grad;    /* value -> its gradient so far */
    NodeVec nodes;
} Back;

/* ---- what a node reads ---- */

static void reads_of_graph(Ctx *cx, const Graph *inner, ReadVec *out);

void node_reads(Ctx *cx, const Node *n, ReadVec *out)
{
    check_stack(cx);
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i])
            vec_push(cx, out, n->in[i]);
    for (int i = 0; i < n->n_attr; i++)
        if (n->attr[i].kind == ATTR_GRAPH)
            reads_of_graph(cx, n->attr[i].g, out);
}

/* What a graph inside a node uses that is not its own. */
static void reads_of_graph(Ctx *cx, const Graph *inner, ReadVec *out)
{
    ReadVec all = { 0 };
    for (size_t i = 0; i < inner->nodes.n; i++)
        node_reads(cx, inner->nodes.at[i], &all);
    for (size_t i = 0; i < inner->outputs.n; i++)
        vec_push(cx, &all, inner->outputs.at[i]);
    for (size_t i = 0; i < all.n; i++)
        if (all.at[i]->graph != inner)
            vec_push(cx, out, all.at[i]);
}

/* ---- which nodes lie between x and y ---- */

static int by_id(const void *a, const void *b)
{
    uint32_t x = (*(Node *const *)a)->id;
    uint32_t y = (*(Node *const *)b)->id;
    return (x > y) - (x < y);
}

static const TapedCall *taped(const Back *b, const Node *n)
{
    return n->n_out == 1 ? map_get(&b->tape->calls, n->out[0]) : NULL;
}

/* What n was computed from: of a call that is on the tape, what it was given. */
static void reads_of(Back *b, const Node *n, ReadVec *out)
{
    const TapedCall *call = taped(b, n);
    if (!call) {
        node_reads(b->cx, n, out);
        return;
    }
    for (size_t i = 0; i < call->n; i++)
        if (call->from[i])
            vec_push(b->cx, out, call->from[i]);
}

/* All nodes behind y that a gradient could reach, in the order of their ids. */
static bool collect(Back *b, OxList y)
{
    Map seen = { 0 };
    ReadVec todo = { 0 };
    for (size_t i = 0; i < y.n; i++)
        vec_push(b->cx, &todo, y.at[i]);
    while (todo.n > 0) {
        Ox v = todo.at[--todo.n];
        count_work(b->cx);
        if (!may_have_gradient(v) || v->kind != OX_NODE || map_find(&b->tape->stops, v) ||
            map_find(&b->ends, v) || !map_add(b->cx, &seen, v->node, NULL))
            continue;
        vec_push(b->cx, &b->nodes, v->node);
        reads_of(b, v->node, &todo);
    }
    if (ctx_failed(b->cx))
        return false;
    if (b->nodes.n > 0)
        qsort(b->nodes.at, b->nodes.n, sizeof *b->nodes.at, by_id);
    return true;
}

static bool is_between(const Back *b, Ox v)
{
    return may_have_gradient(v) && map_find(&b->between, v) != NULL;
}

static bool reads_between(Back *b, const Node *n)
{
    ReadVec reads = { 0 };
    reads_of(b, n, &reads);
    for (size_t i = 0; i < reads.n; i++)
        if (is_between(b, reads.at[i]))
            return true;
    return false;
}

/* What is carried into the body of a Loop comes from outside by a way that no node shows. */
static bool is_carried(Ox v) { return v && v->kind == OX_INPUT && v->graph && v->graph->up; }

/* Keeps of b->nodes those on a way from an x, and notes the values there. */
static void mark_between(Back *b, OxList x)
{
    size_t kept = 0;
    for (size_t i = 0; i < x.n; i++)
        map_put(b->cx, &b->between, x.at[i], NULL);
    for (size_t i = 0; i < b->nodes.n; i++) {
        Node *n = b->nodes.at[i];
        for (int k = 0; k < n->n_in; k++)
            if (may_have_gradient(n->in[k]) && is_carried(n->in[k]))
                map_add(b->cx, &b->between, n->in[k], NULL);
        if (!reads_between(b, n))
            continue;
        for (int k = 0; k < n->n_out; k++)
            if (may_have_gradient(n->out[k]) && !map_find(&b->tape->stops, n->out[k]))
                map_add(b->cx, &b->between, n->out[k], NULL);
        b->nodes.at[kept++] = n;
    }
    b->nodes.n = kept;
}

/* ---- the shapes of gradients ---- */

Ox zeros_like(Graph *g, Ox v)
{
    Ox zero = like_number(g, 0, v);
    Ox shape = ox_shape(g, v);
    return ox_g(g, "Expand", zero, shape);
}

Ox zeros_of(Graph *g, Type t)
{
    Ox zero = ox_number(g, t->dtype, 0);
    Ox shape = ox_dims(g, t->dim, (size_t)t->rank);
    return ox_g(g, "Expand", zero, shape);
}

/* A single size that is not known is written -1, so that the shape is a constant. */
Ox in_shape_of(Graph *g, Ox grad, Type t)
{
    int64_t at[MAX_RANK] = { 0 };
    int symbolic = 0;
    bool zero = false;
    if (!ox_ok(grad))
        return POISON;
    for (int i = 0; i < t->rank; i++) {
        if (!dim_known(t->dim[i], &at[i]))
            at[i] = -1, symbolic++;
        zero |= at[i] == 0;
    }
    bool plain = symbolic == 0 || (symbolic == 1 && !zero);
    Ox shape = plain ? ox_ints(g, at, (size_t)t->rank) : ox_dims(g, t->dim, (size_t)t->rank);
    return zero ? ox_g_with(g, "Reshape", INPUTS(grad, shape), INT("allowzero", 1))
                : ox_g(g, "Reshape", grad, shape);
}

/* The sum of grad over the axes where v's size differs from its own, which only the running model
 * knows: an unrelated N and M have met, and one of them is 1. */
static Ox summed_where_they_differ(Graph *g, Ox grad, Ox v)
{
    Dim want[MAX_RANK];
    int extra = ox_rank(grad) - ox_rank(v);
    for (int i = 0; i < ox_rank(grad); i++)
        want[i] = i < extra ? dim_int(g->cx, 1) : ox_dim(v, i - extra);
    Ox from = ox_shape(g, grad);
    Ox to = ox_dims(g, want, (size_t)ox_rank(grad));
    Ox differ = ox_g(g, "Not", ox_g(g, "Equal", from, to));
    Ox axes = ox_g(g, "NonZero", differ);
    axes = ox_g(g, "Reshape", axes, ox_ints(g, (int64_t[]){ -1 }, 1));
    Ox sum = ox_g_with(g, "ReduceSum", INPUTS(grad, axes), INT("noop_with_empty_axes", 1));
    return in_shape_of(g, sum, v->type);
}

/* The shape of v is what numpy broadcasting asks for: axes that v lacks, and those of one element,
 * are summed. */
Ox summed_to(Graph *g, Ox grad, Ox v)
{
    int64_t axes[MAX_RANK];
    size_t n = 0;
    if (!ox_ok(grad) || ox_rank(grad) < 0 || ox_rank(v) < 0)
        return grad;
    int extra = ox_rank(grad) - ox_rank(v);
    if (extra < 0)
        return in_shape_of(g, grad, v->type);
    for (int i = 0; i < ox_rank(grad); i++) {
        Tri same = i < extra ? NO : dim_eq(g->cx, ox_dim(grad, i), ox_dim(v, i - extra));
        bool one = i < extra || dim_is(ox_dim(v, i - extra), 1);
        if (same == UNKNOWN && !one)
            return summed_where_they_differ(g, grad, v);
        if (same != YES)
            axes[n++] = i;
    }
    if (n == 0)
        return grad;
    Ox over = ox_ints(g, axes, n);
    Ox sum = ox_g_with(g, "ReduceSum", INPUTS(grad, over), INT("keepdims", extra == 0));
    return extra == 0 ? sum : in_shape_of(g, sum, v->type);
}

Ox counted(Graph *g, Dim n)
{
    Ox end = ox_dim_value(g, n);
    return ox_g(g, "Range", ox_int(g, 0), end, ox_int(g, 1));
}

int axis_of(const Node *n, int deflt, int rank)
{
    int axis = (int)node_int(n, "axis", deflt);
    return axis < 0 ? axis + rank : axis;
}

Ox transposed(Graph *g, Ox v, const int64_t *perm, int rank)
{
    bool same = true;
    for (int i = 0; i < rank; i++)
        same &= perm[i] == i;
    return same ? v : ox_g_with(g, "Transpose", INPUTS(v), INT_LIST("perm", perm, rank));
}

Ox last_axes_swapped(Graph *g, Ox v)
{
    int64_t perm[MAX_RANK];
    int rank = ox_ok(v) ? ox_rank(v) : 0;
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    if (rank >= 2) {
        perm[rank - 1] = rank - 2;
        perm[rank - 2] = rank - 1;
    }
    return ox_ok(v) ? transposed(g, v, perm, rank) : POISON;
}

/* ---- one step ---- */

/* The program's operator that made the node: the innermost one of its place that no lowering
 * called. */
static Str operator_of(Ctx *cx, const Node *n)
{
    Str name = n->name;
    SourceId at = n->at;
    const Place *p = place(cx, at);
    for (; p && p->kind == WHERE_OP; p = place_up(cx, &at))
        name = p->name;
    return name;
}

bool step_refuse(Step *s, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    Str name = operator_of(s->cx, s->n);
    refuse(s->cx, s->n->at, name, "%s: torch.autograd.grad: %s", name->s, text);
    return false;
}

bool step_gives(Step *s, int i, Ox v)
{
    s->out[i] = v;
    return ox_ok(v);
}

Ox step_grad(Step *s, int i) { return s->grad[i] ? s->grad[i] : zeros_like(s->g, s->n->out[i]); }

bool step_rank(Step *s, Ox v, int *rank)
{
    *rank = ox_rank(v);
    return *rank >= 0 || step_refuse(s, "the rank of a tensor is not known");
}

static const GradientRow *const families[] = { gradient_shape,  gradient_index, gradient_reduce,
                                               gradient_linalg, gradient_nn,    gradient_pool,
                                               gradient_resize };

static GradientFn function_of(const Node *n)
{
    for (size_t f = 0; f < COUNT(families); f++)
        for (const GradientRow *r = families[f]; r->op; r++)
            if (node_is(n, r->op))
                return r->fn;
    return NULL;
}

/* The rules by the name of their operator, read once. NULL after an error. */
static const Map *rules_of(Ctx *cx)
{
    if (cx->gradients)
        return (const Map *)cx->gradients;
    RuleList rules = { 0 };
    keep_begin(cx);
    Text *text = new(cx, Text);
    Map *by_name = new(cx, Map);
    if (!text || !by_name) {
        keep_end(cx);
        return NULL;
    }
    *text = (Text){ .name = str_of(cx, "gradients.rules"),
                    .at = rules_gradients,
                    .n = strlen(rules_gradients) };
    bool read = rules_scan(cx, text, &rules);
    for (size_t i = 0; i < rules.n; i++)
        map_put(cx, by_name, str_of(cx, rules.at[i]->head->s + strlen("onnx::")), rules.at[i]);
    keep_end(cx);
    if (!read)
        return NULL;
    cx->gradients = (struct Gradients *)by_name;
    return by_name;
}

const char *gradient_op(Ctx *cx, size_t i)
{
    for (size_t f = 0; f < COUNT(families); f++)
        for (const GradientRow *r = families[f]; r->op; r++)
            if (i-- == 0)
                return r->op;
    const Map *rules = rules_of(cx);
    return rules && i < rules->n ? ((Str)rules->at[i].key)->s : NULL;
}

typedef struct Seen {
    Step *s;
    const Rule *rule;
} Seen;

static RuleVal val_of(Ox v)
{
    return v ? (RuleVal){ .tag = RV_OX, .ox = v } : (RuleVal){ .tag = RV_NONE };
}

static RuleVal val_of_attr(const Attr *a)
{
    switch (a->kind) {
    case ATTR_INT:    return (RuleVal){ .tag = RV_INT, .i = a->i };
    case ATTR_FLOAT:  return (RuleVal){ .tag = RV_FLOAT, .f = a->f };
    case ATTR_STRING: return (RuleVal){ .tag = RV_STR, .s = a->s };
    default:          return (RuleVal){ .tag = RV_NONE };
    }
}

/* grad, result, an input of the head, or an attribute. */
static bool look_up(void *arg, Str name, RuleVal *out)
{
    const Seen *seen = arg;
    const Node *n = seen->s->n;
    if (str_is(name, "grad"))
        return *out = val_of(seen->s->grad[0]), true;
    if (str_is(name, "result"))
        return *out = val_of(n->out[0]), true;
    for (size_t i = 0; i < seen->rule->n_params; i++)
        if (seen->rule->params[i] == name)
            return *out = val_of(node_in(n, (int)i)), true;
    const FormalAttr *formal = onnx_attr(onnx_version(n->op, ONNX_NEWEST), name->s);
    const Attr *there = node_attr(n, name->s);
    const Attr a = there ? *there : onnx_default(seen->s->cx, formal);
    *out = val_of_attr(&a);
    return formal != NULL;
}

static bool by_rule(Step *s, const Rule *rule)
{
    Ox out[8];
    Seen seen = { s, rule };
    RuleEnv env = {
        .g = s->g, .target = s->g->target, .lookup = look_up, .arg = &seen, .like = s->grad[0]
    };
    if (rule->n_params > COUNT(out) || rule_apply(rule, &env, out, rule->n_params) != RULE_DONE)
        return fail(s->cx, E_BUG, "the gradient of %s: no rule fits", s->n->name->s);
    for (int i = 0; i < s->n->n_in && i < (int)rule->n_params; i++)
        s->out[i] = out[i];
    return true;
}

static bool run_step(Step *s)
{
    GradientFn fn = s->n->op ? function_of(s->n) : NULL;
    const Map *rules = rules_of(s->cx);
    const Rule *rule = s->n->op && rules ? map_get(rules, s->n->name) : NULL;
    if (fn)
        return fn(s);
    if (rule)
        return by_rule(s, rule);
    return rules &&
        step_refuse(s, "the gradient of %s%s%s is not known", s->n->domain->s,
                    s->n->domain->len ? "::" : "", s->n->name->s);
}

/* ---- the walk ---- */

static bool add_to(Back *b, Ox v, Ox grad)
{
    MapEntry *e = map_find(&b->grad, v);
    if (dtype_is_complex(ox_dtype(grad)) && e)
        return fail(b->cx, E_UNSUPPORTED, "gradients of a complex tensor that is used twice");
    Ox sum = e ? ox_g(b->g, "Add", (Ox)e->val, grad) : grad;
    map_put(b->cx, &b->grad, v, sum);
    return ox_ok(sum);
}

/* One input's gradient as the input is: its shape, its type. */
static bool give(Back *b, Ox v, Ox grad)
{
    if (!ox_ok(grad))
        return false;
    Ox fits = summed_to(b->g, grad, v);
    fits = ox_ok(fits) && ox_dtype(fits) != ox_dtype(v) ? ox_cast(b->g, fits, ox_dtype(v)) : fits;
    return ox_ok(fits) && add_to(b, v, fits);
}

/* What reaches the result of a call goes on to what it was given. */
static bool step_of_call(Back *b, const Node *n, const TapedCall *call)
{
    Ox grad = map_get(&b->grad, n->out[0]);
    Ox *out = new_array(b->cx, Ox, call->n + 1);
    bool *want = new_array(b->cx, bool, call->n + 1);
    Str why = NULL;
    if (!grad || !out || !want)
        return !grad && !ctx_failed(b->cx);
    for (size_t i = 0; i < call->n; i++)
        want[i] = call->from[i] && is_between(b, call->from[i]);
    if (!call->gradient(call, b->g, grad, want, out, &why))
        return why && step_refuse(&(Step){ .cx = b->cx, .n = n }, "%s", why->s);
    for (size_t i = 0; i < call->n; i++)
        if (want[i] && !give(b, call->from[i], out[i]))
            return false;
    return !ctx_failed(b->cx);
}

/* What reaches n's outputs goes on to those of its inputs that lie between. */
static bool step(Back *b, Node *n)
{
    size_t n_in = (size_t)n->n_in;
    Ox *grad = new_array(b->cx, Ox, (size_t)n->n_out + 1);
    Ox *out = new_array(b->cx, Ox, n_in + 1);
    bool *want = new_array(b->cx, bool, n_in + 1);
    bool any = false;
    const TapedCall *call = taped(b, n);
    if (!grad || !out || !want)
        return false;
    if (call)
        return step_of_call(b, n, call);
    for (int i = 0; i < n->n_out; i++) {
        grad[i] = map_get(&b->grad, n->out[i]);
        any |= grad[i] != NULL;
    }
    if (!any)
        return true;
    for (size_t i = 0; i < n_in; i++)
        want[i] = is_between(b, n->in[i]);
    Step s = {
        .g = b->g, .cx = b->cx, .n = n, .grad = grad, .want = want, .out = out, .tape = b->tape
    };
    if (!run_step(&s))
        return false;
    for (size_t i = 0; i < n_in; i++) {
        if (want[i] && is_carried(n->in[i]))
            return step_refuse(&s,
                               "it is inside a loop that ONNX runs, and so is not what it "
                               "depends on");
        if (want[i] && out[i] && !give(b, n->in[i], out[i]))
            return false;
    }
    return !ctx_failed(b->cx);
}

static bool walk(Back *b, OxList y, OxList dy, OxList x, Ox *dx)
{
    if (!collect(b, y))
        return false;
    mark_between(b, x);
    for (size_t i = 0; i < y.n; i++)
        if (is_between(b, y.at[i]) && !add_to(b, y.at[i], dy.at[i]))
            return false;
    for (size_t i = b->nodes.n; i-- > 0;)
        if (!step(b, b->nodes.at[i]))
            return false;
    for (size_t i = 0; i < x.n; i++)
        dx[i] = map_get(&b->grad, x.at[i]);
    return !ctx_failed(b->cx);
}

bool gradients(Graph *g, OxList y, OxList dy, OxList x, const Tape *tape, Ox *dx)
{
    Back b = { .g = g, .cx = g->cx, .tape = tape };
    return walk(&b, y, dy, x, dx);
}

/* Is input i another one than those before it? F.layer_norm(x, [4], w, w) reads w twice, and what
 * the formula gives w is for both. */
static bool is_first(const Node *n, int i)
{
    for (int k = 0; k < i; k++)
        if (n->in[k] == n->in[i])
            return false;
    return true;
}

/* The formula is walked back to n's inputs and no further: the weight of a norm may be computed
 * from what it normalises, and that path is one of the walk outside. */
bool step_through(Step *s, Ox formula)
{
    Ox dx[8];
    ReadVec wanted = { 0 };
    Back b = { .g = s->g, .cx = s->cx, .tape = s->tape };
    if (!ox_ok(formula))
        return false;
    for (int i = 0; i < s->n->n_in; i++) {
        if (step_in(s, i))
            map_put(s->cx, &b.ends, s->n->in[i], NULL);
        if (step_wants(s, i) && is_first(s->n, i))
            vec_push(s->cx, &wanted, s->n->in[i]);
    }
    if (wanted.n > COUNT(dx) ||
        !walk(&b, INPUTS(formula), INPUTS(s->grad[0]), (OxList)LIST(wanted), dx))
        return false;
    size_t at = 0;
    for (int i = 0; i < s->n->n_in; i++)
        if (step_wants(s, i) && is_first(s->n, i))
            s->out[i] = dx[at++];
    return true;
}
