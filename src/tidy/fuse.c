/* fuse.c - two nodes that one node says.
 *
 *     BatchNormalization(Conv(x, W, b), scale, B, mean, var)  ->  Conv(x, W * s, (b - mean) * s + B),  s = scale / sqrt(var + epsilon)
 *     Add(MatMul(a, b), c)                                    ->  Gemm(a, b, c)       for matrices a, b and a row c
 *
 * The new weights are computed when the file is written (weights.c). With keep_weights the first does not happen. */
#include "tidy/internal.h"

typedef struct Job { Graph *root; const TidyOptions *o; Replacements r; } Job;

static bool are_constant(const Node *n, int from, int to)
{
    for (int i = from; i < to; i++)
        if (i >= n->n_in || !n->in[i] || n->in[i]->kind != OX_CONST)
            return false;
    return true;
}

static Str suffixed(Ctx *cx, Str name, const char *suffix)
{
    return name ? str_fmt(cx, "%s%s", name->s, suffix) : NULL;
}

static Str name_of(Ox v) { return v && v->kind == OX_CONST ? v->k->name ? v->k->name : v->k->derived : NULL; }

/* The bias's name beside the weight's: "conv.weight" has "conv.bias". */
static Str bias_name(Ctx *cx, Ox weight)
{
    Str w = name_of(weight);
    if (!w || !str_ends(w, "weight"))
        return NULL;
    return str_fmt(cx, "%.*sbias.bn", (int)(w->len - 6), w->s);
}

/* v op w over constants, as a constant */
static Ox compute(Graph *g, const char *op, Ox a, Ox b, Str name)
{
    return weight_now(g, b ? ox_g(g, op, a, b) : ox_g(g, op, a), name);
}

static bool fits(const Node *conv, const Node *bn, const Uses *u)
{
    if (!node_is(conv, "Conv") || uses_of(u, conv->out[0]) != 1 || conv->graph != bn->graph)
        return false;
    if (!are_constant(conv, 1, conv->n_in > 2 && conv->in[2] ? 3 : 2) || !are_constant(bn, 1, 5))
        return false;
    DType t = ox_dtype(conv->in[1]);
    for (int i = 1; i < 5; i++)
        if (ox_dtype(bn->in[i]) != t)
            return false;
    return (t == DT_FLOAT || t == DT_DOUBLE) && ox_rank(conv->in[1]) >= 3;
}

static bool fuse_bn(Node *bn, void *arg)
{
    Job *job = arg;
    Graph *g = bn->graph;
    Ctx *cx = g->cx;
    if (!node_is(bn, "BatchNormalization") || node_int(bn, "training_mode", 0) || !bn->in[0] || bn->in[0]->kind != OX_NODE)
        return true;
    Node *conv = bn->in[0]->node;
    if (!fits(conv, bn, &job->r.uses) || !can_replace(&job->r, bn->out[0], conv->out[0]))
        return true;
    Ox w = conv->in[1], b = conv->n_in > 2 ? conv->in[2] : NULL;
    DType t = ox_dtype(w);

    Ox eps = ox_number(g, t, node_float(bn, "epsilon", 1e-5));
    Ox variance = compute(g, "Add", bn->in[4], eps, NULL);
    Ox deviation = compute(g, "Sqrt", variance, NULL, NULL);
    Ox s = compute(g, "Div", bn->in[1], deviation, NULL);

    int64_t shape[MAX_RANK];
    for (int i = 0; i < ox_rank(w); i++)
        shape[i] = i ? 1 : -1;
    Ox per_filter = compute(g, "Reshape", s, ox_ints(g, shape, (size_t)ox_rank(w)), NULL);
    Ox weight = compute(g, "Mul", w, per_filter, suffixed(cx, name_of(w), ".bn"));
    Ox centred = b ? compute(g, "Sub", b, bn->in[3], NULL) : compute(g, "Neg", bn->in[3], NULL, NULL);
    Ox scaled = compute(g, "Mul", centred, s, NULL);
    Ox bias = compute(g, "Add", scaled, bn->in[2], b ? suffixed(cx, name_of(b), ".bn") : bias_name(cx, w));
    if (!ox_ok(weight) || !ox_ok(bias) || weight->kind != OX_CONST || bias->kind != OX_CONST)
        return !ctx_failed(cx);
    Ox *in = new_array(cx, Ox, 3);
    in[0] = conv->in[0], in[1] = weight, in[2] = bias;
    conv->in = in;
    conv->n_in = 3;
    replace(job->root, &job->r, bn->out[0], conv->out[0]);
    return true;
}

bool pass_fuse_conv_bn(Graph *g, const TidyOptions *o)
{
    Job job = { .root = g, .o = o };
    if (o->keep_weights)
        return true;
    return uses_count(g, &job.r.uses) && each_node(g, fuse_bn, &job) && replacements_apply(g, &job.r);
}

/* Does adding v to a matrix [m, n] add a row of n? */
static bool is_row(Ctx *cx, Ox v, Dim n)
{
    return ox_rank(v) == 1 && dim_eq(cx, ox_dim(v, 0), n) == YES;
}

static bool fuse_matmul(Node *add, void *arg)
{
    Job *job = arg;
    Ctx *cx = add->graph->cx;
    if (!node_is(add, "Add"))
        return true;
    for (int side = 0; side < 2; side++) {
        Ox product = add->in[side], row = add->in[1 - side];
        if (product->kind != OX_NODE || !node_is(product->node, "MatMul") || product->graph != add->graph || uses_of(&job->r.uses, product) != 1)
            continue;
        Node *m = product->node;
        if (ox_rank(m->in[0]) != 2 || ox_rank(m->in[1]) != 2 || !dtype_is_float(ox_dtype(product)) || !is_row(cx, row, ox_dim(product, 1)))
            continue;
        Ox *in = new_array(cx, Ox, 3);
        in[0] = m->in[0], in[1] = m->in[1], in[2] = row;
        add->in = in;
        add->n_in = 3;
        add->op = onnx_op(cx, "Gemm");
        add->name = str_of(cx, "Gemm");
        return true;
    }
    return true;
}

bool pass_fuse_gemm(Graph *g, const TidyOptions *o)
{
    Job job = { .root = g, .o = o };
    return uses_count(g, &job.r.uses) && each_node(g, fuse_matmul, &job) && pass_drop_dead(g, o);
}
