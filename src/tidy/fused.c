/* fused.c - operators of com.microsoft, which ONNX Runtime alone has: --fuse.
 *
 *     LayerNormalization(Add(x, skip), scale, bias)  ->  SkipLayerNormalization(x, skip, ..)
 *         its fourth output is the sum, where others need that too
 *     RMSNormalization(Add(x, skip), scale)          ->  SkipSimplifiedLayerNormalization(..)
 *     Gelu(Add(x, bias))                             ->  BiasGelu(x, bias)
 *     RotaryEmbedding(x, cos, sin)                   ->  RotaryEmbedding of com.microsoft below
 *         opset 23: that takes a table and the row of each token
 *     attention in parts                             ->  MultiHeadAttention (fused_attention.c)
 *
 * float32 only. ort_kernels.c says which of them the CPU has a kernel for. */
#include "tidy/fused.h"

bool make_fused(Node *old, const char *op, OxList in, const Attr *attr, size_t n_attr,
                const Type *types, Ox *out, size_t n)
{
    Ctx *cx = old->graph->cx;
    return ox_make_custom(old->graph, str_of(cx, "com.microsoft"), str_of(cx, op), in, attr, n_attr,
                          types, out, n);
}

bool runs_fused(const char *op) { return fused_kernel(op, "T", DT_FLOAT); }

/* ---- heads ---- */

static const int64_t SWAP_MIDDLE[] = { 0, 2, 1, 3 };

Ox rows_first(Ox v)
{
    const int64_t *perm;
    size_t n;
    Node *turn = made_by(v, "Transpose");
    bool swaps = turn && node_ints(turn, "perm", &perm, &n) && n == COUNT(SWAP_MIDDLE) &&
        memcmp(perm, SWAP_MIDDLE, sizeof SWAP_MIDDLE) == 0;
    return swaps ? turn->in[0] : NULL;
}

Ox heads_first(Graph *g, Ox x)
{
    Attr perm = INT_LIST("perm", SWAP_MIDDLE, COUNT(SWAP_MIDDLE));
    return ox_g_with(g, "Transpose", INPUTS(x), perm);
}

/* ---- a norm of a sum ---- */

/* The kernel takes a matrix or a batch of them, both summands whole. */
static Node *sum_of_equals(Rewrite *rw, Ox v)
{
    Node *sum = made_by(v, "Add");
    int rank = ox_rank(v);
    bool fits = sum && (rank == 2 || rank == 3) && ox_dtype(v) == DT_FLOAT &&
        same_shape(rw->cx, sum->in[0], v) && same_shape(rw->cx, sum->in[1], v);
    return fits ? sum : NULL;
}

static bool is_last_axis(const Node *n)
{
    int64_t axis = node_int(n, "axis", -1);
    return axis == -1 || axis == ox_rank(n->in[0]) - 1;
}

static bool is_vector_of(Rewrite *rw, Ox p, Ox x)
{
    return p && ox_rank(p) == 1 && ox_dtype(p) == DT_FLOAT &&
        dim_eq(rw->cx, ox_dim(p, 0), ox_dim(x, ox_rank(x) - 1)) == YES;
}

/* A norm whose input is a sum takes the summands. Where others need the sum too they get it from
 * the same node: its fourth output (the mean and the deviation before it stay unused). */
static bool fuse_norm(Rewrite *rw, Node *n)
{
    bool layer = node_is(n, "LayerNormalization");
    const char *op = layer ? "SkipLayerNormalization" : "SkipSimplifiedLayerNormalization";
    if ((!layer && !node_is(n, "RMSNormalization")) || n->n_out != 1 || !runs_fused(op))
        return true;
    Node *sum = sum_of_equals(rw, n->in[0]);
    Ox beta = in_of(n, 2);
    if (!sum || !is_last_axis(n) || !is_vector_of(rw, n->in[1], n->in[0]) ||
        (beta && !is_vector_of(rw, beta, n->in[0])))
        return true;
    Ox out[4];
    Ox old = n->in[0];
    if (old->graph != n->graph && !used_once(rw, old))
        return true; /* what a branch makes the graph around it cannot read */
    const Type unknown = type_tensor(rw->cx, DT_FLOAT, -1, NULL);
    const Type types[] = { n->out[0]->type, unknown, unknown, old->type };
    Attr epsilon = FLOAT("epsilon", node_float(n, "epsilon", 1e-5));
    size_t wanted = used_once(rw, old) ? 1 : COUNT(out);
    if (!make_fused(n, op, INPUTS(sum->in[0], sum->in[1], n->in[1], beta), &epsilon, 1, types, out,
                    wanted))
        return false;
    replace(rw, n->out[0], out[0]);
    if (wanted > 1)
        replace(rw, old, out[3]);
    return true;
}

/* ---- Gelu of a sum with a bias ---- */

static bool fuse_gelu(Rewrite *rw, Node *n)
{
    Node *sum = node_is(n, "Gelu") ? made_by(n->in[0], "Add") : NULL;
    if (!sum || !used_once(rw, n->in[0]) || ox_dtype(n->in[0]) != DT_FLOAT ||
        !runs_fused("BiasGelu") || strcmp(node_str(n, "approximate", "none"), "none") != 0)
        return true;
    int bias = is_const(sum->in[1]) ? 1 : 0;
    Ox x = sum->in[1 - bias];
    if (!is_const(sum->in[bias]) || !is_vector_of(rw, sum->in[bias], n->in[0]) ||
        !same_shape(rw->cx, x, n->in[0]))
        return true;
    Ox y;
    const Type types[] = { n->out[0]->type };
    if (!make_fused(n, "BiasGelu", INPUTS(x, sum->in[bias]), NULL, 0, types, &y, 1))
        return false;
    replace(rw, n->out[0], y);
    return true;
}

/* ---- rotary positions ---- */

/* cos [batch, rows, size] as a table of batch * rows rows. */
static Ox as_table(Graph *g, Ox cos)
{
    Dim rows = dim_mul(g->cx, ox_dim(cos, 0), ox_dim(cos, 1));
    return ox_g(g, "Reshape", cos, ox_dims(g, (const Dim[]){ rows, ox_dim(cos, 2) }, 2));
}

/* int64 [batch, rows]: the row of the table for each token. */
static Ox places(Graph *g, Ox cos)
{
    Dim rows = dim_mul(g->cx, ox_dim(cos, 0), ox_dim(cos, 1));
    Ox all = ox_g(g, "Range", ox_int(g, 0), ox_dim_value(g, rows), ox_int(g, 1));
    return ox_g(g, "Reshape", all, ox_dims(g, (const Dim[]){ ox_dim(cos, 0), ox_dim(cos, 1) }, 2));
}

/* Below opset 23 find.c has made ONNX's RotaryEmbedding only where fuses_rotary() says that it can
 * be written so: each token has its row, in order. What has been split into heads just before is
 * taken whole, so that attention can take it whole. */
static bool fuse_rotary(Rewrite *rw, Node *n)
{
    if (!node_is(n, "RotaryEmbedding") || rw->o->opset >= 23)
        return true;
    Graph *g = n->graph;
    Ox cos = n->in[1];
    int64_t size = node_int(n, "rotary_embedding_dim", 0);
    int64_t heads = node_int(n, "num_heads", 0);
    int64_t split;
    if (ox_rank(n->in[0]) == 4 && dim_known(ox_dim(n->in[0], 1), &split))
        heads = split;
    Ox split_off = rows_first(n->in[0]);
    Ox x = split_off ? heads_joined(g, split_off) : n->in[0];
    if (!ox_ok(x))
        return false;
    Attr attr[3];
    size_t count = 0;
    attr[count++] = INT("interleaved", node_int(n, "interleaved", 0));
    if (heads)
        attr[count++] = INT("num_heads", heads);
    if (size)
        attr[count++] = INT("rotary_embedding_dim", size);
    Ox y;
    Ox rows = places(g, cos);
    Ox cosines = as_table(g, cos);
    Ox sines = as_table(g, n->in[2]);
    OxList in = INPUTS(x, rows, cosines, sines);
    if (!make_fused(n, "RotaryEmbedding", in, attr, count, &x->type, &y, 1))
        return false;
    if (split_off)
        y = heads_first(g, ox_g(g, "Reshape", y, ox_dims(g, split_off->type->dim, 4)));
    if (ox_ok(y))
        replace(rw, n->out[0], y);
    return ox_ok(y);
}

bool fuses_rotary(const TidyOptions *o, Ox x, int heads)
{
    return o->fuse && ox_dtype(x) == DT_FLOAT && runs_fused("RotaryEmbedding") &&
        ox_never_empty(x->graph->cx, x) && dim_known(ox_dim(x, heads), NULL);
}

/* ---- what the operators leave ---- */

/* A Reshape to the shape that its input had before another Reshape. */
static void undo_reshape(Rewrite *rw, Node *n)
{
    Node *before = node_is(n, "Reshape") ? made_by(n->in[0], "Reshape") : NULL;
    if (before && same_shape(rw->cx, before->in[0], n->out[0]))
        replace(rw, n->out[0], before->in[0]);
}

static bool fuse_step(Rewrite *rw, Node *n)
{
    undo_reshape(rw, n);
    return fuse_norm(rw, n) && fuse_gelu(rw, n) && fuse_rotary(rw, n) && fuse_attention(rw, n);
}

bool pass_fused(Graph *g, const TidyOptions *o)
{
    return !o->fuse || (rewrite(g, o, fuse_step, NULL) && pass_unused(g, o));
}
