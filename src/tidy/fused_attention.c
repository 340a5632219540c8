/* fused_attention.c - MultiHeadAttention and GroupQueryAttention of com.microsoft: --fuse.
 *
 *     Transpose(MatMul(Softmax(Add(MatMul(q, Transpose(k)), mask)), v))
 *         ->  Reshape(MultiHeadAttention(q, k, v, mask))
 *
 * q, k and v of the operator are what programs have before they split heads off, [batch, rows,
 * heads * size]. Keys and values that are no such thing (turned by their positions, repeated for
 * groups of heads) it takes with their heads, [batch, heads, rows, size]. Where they are appended
 * to a cache that is an output of the model, it appends them:
 *
 *     k = Concat(past, k')  ->  MultiHeadAttention(q, k', v', mask, past, ..), second output k
 *
 * Where groups of heads share those of such a cache it is GroupQueryAttention. Its kernel takes one
 * text, none that is empty, and heads of a multiple of 8: it refuses others while it runs, and a
 * batch of none ends the process. causal=0: the mask alone says what a row sees.
 *
 * Nothing is guessed: each size that the kernel compares is known to be equal, and what the parts
 * compute on the way has no other use. Its kernel takes empty tensors, and a NaN comes out as one.
 */
#include "tidy/fused.h"

#include <math.h>

enum { BATCH, HEADS, ROWS, SIZE, N_AXIS }; /* of q, k and v */

/* What is computed: (softmax(q k^T * scale + mask) * seeing) v. */
typedef struct Parts {
    Ox q, v;
    Ox kt;     /* the keys as MatMul takes them, [batch, heads, size, rows] */
    Ox mask;   /* or NULL */
    Ox seeing; /* or NULL: 0 for a row that sees nothing, else 1 */
    double scale;
} Parts;

static bool same(Ctx *cx, Ox a, int i, Ox b, int k)
{
    return dim_eq(cx, ox_dim(a, i), ox_dim(b, k)) == YES;
}

/* ---- reading the parts ---- */

/* Is n's input a number? It goes into *to. */
static bool is_number(const Node *n, int input, double *to)
{
    return ox_rank(n->in[input]) == 0 && ox_known_scalar(n->graph, n->in[input], to);
}

/* v is x times a number: x, and that number into *scale; else v itself. */
static Ox without_factor(Ox v, double *scale)
{
    double by = 1;
    Node *product = made_by(v, "Mul");
    Node *quotient = made_by(v, "Div");
    if (quotient && is_number(quotient, 1, &by) && by != 0) {
        *scale /= by;
        return quotient->in[0];
    }
    if (!product)
        return v;
    int at = is_number(product, 0, &by) ? 0 : 1;
    if (!is_number(product, at, &by))
        return v;
    *scale *= by;
    return product->in[1 - at];
}

/* The node of a product of scores that is v, but for a number; nobody else needs either. */
static Node *product_of(Rewrite *rw, Ox v, double *scale)
{
    double by = 1;
    Ox x = without_factor(v, &by);
    Node *product = made_by(x, "MatMul");
    if (!product || !used_once(rw, v) || !used_once(rw, x))
        return NULL;
    *scale *= by;
    return product;
}

/* scores: a product, or the sum of one and a mask. */
static bool read_scores(Rewrite *rw, Ox scores, Parts *p)
{
    Node *product = product_of(rw, scores, &p->scale);
    Node *sum = used_once(rw, scores) ? made_by(scores, "Add") : NULL;
    if (!product && sum) {
        product = product_of(rw, sum->in[0], &p->scale);
        int masked = product ? 0 : 1;
        if (!product)
            product = product_of(rw, sum->in[1], &p->scale);
        p->mask = sum->in[1 - masked];
    }
    if (!product)
        return false;
    p->q = without_factor(product->in[0], &p->scale);
    p->kt = without_factor(product->in[1], &p->scale);
    return true;
}

static Node *softmax_of(Rewrite *rw, Ox v)
{
    Node *n = made_by(v, "Softmax");
    bool last = n && (node_int(n, "axis", -1) == -1 || node_int(n, "axis", -1) == ox_rank(v) - 1);
    return last && used_once(rw, v) ? n : NULL;
}

/* weights: a softmax, or that times what rows see. Its input; NULL: they are something else. */
static Ox read_weights(Rewrite *rw, Ox weights, Parts *p)
{
    Node *softmax = softmax_of(rw, weights);
    Node *seen = used_once(rw, weights) ? made_by(weights, "Mul") : NULL;
    if (!softmax && seen) {
        int at = softmax_of(rw, seen->in[0]) ? 0 : 1;
        softmax = softmax_of(rw, seen->in[at]);
        p->seeing = seen->in[1 - at];
    }
    return softmax ? softmax->in[0] : NULL;
}

/* Is n what turns the result of attention, so that its rows come before its heads? */
static bool read_parts(Rewrite *rw, Node *n, Parts *p)
{
    *p = (Parts){ .scale = 1 };
    Node *mixed = rows_first(n->out[0]) ? made_by(n->in[0], "MatMul") : NULL;
    if (!mixed || ox_dtype(n->in[0]) != DT_FLOAT || !used_once(rw, n->in[0]))
        return false;
    p->v = mixed->in[1];
    Ox scores = read_weights(rw, mixed->in[0], p);
    return scores && read_scores(rw, scores, p);
}

/* ---- do the sizes fit? ---- */

static bool sizes_fit(Ctx *cx, const Parts *p)
{
    if (ox_rank(p->q) != N_AXIS || ox_rank(p->kt) != N_AXIS || ox_rank(p->v) != N_AXIS)
        return false;
    bool fits = dim_known(ox_dim(p->q, HEADS), NULL) && same(cx, p->q, SIZE, p->kt, ROWS) &&
        same(cx, p->v, ROWS, p->kt, SIZE);
    for (int i = BATCH; fits && i <= HEADS; i++)
        fits = same(cx, p->q, i, p->kt, i) && same(cx, p->q, i, p->v, i);
    return fits;
}

/* Does axis i of x, counted from the end, have the size of y's axis k, or 1? */
static bool stretches(Ctx *cx, Ox x, int i, Ox y, int k)
{
    int at = ox_rank(x) - i;
    return at < 0 || dim_is(ox_dim(x, at), 1) || same(cx, x, at, y, k);
}

static bool mask_fits(Ctx *cx, const Parts *p)
{
    Ox m = p->mask;
    return !m ||
        (ox_rank(m) >= 2 && ox_rank(m) <= N_AXIS && stretches(cx, m, 1, p->kt, SIZE) &&
         stretches(cx, m, 2, p->q, ROWS) && stretches(cx, m, 3, p->q, HEADS) &&
         stretches(cx, m, 4, p->q, BATCH));
}

/* One number for all columns and heads of a row. ONNX Runtime's ReduceSum, which counts what a row
 * sees, leaves an empty tensor in its shape: then [batch, rows, 1] must be as empty. */
static bool seeing_fits(Ctx *cx, const Parts *p)
{
    Ox s = p->seeing;
    int rank = s ? ox_rank(s) : 0;
    if (!s)
        return true;
    Dim rows = ox_dim(p->q, ROWS);
    Dim columns = ox_dim(p->kt, SIZE);
    bool fits = rank >= 2 && rank <= N_AXIS && dim_is(ox_dim(s, rank - 1), 1) &&
        stretches(cx, s, 2, p->q, ROWS) && (rank < 3 || dim_is(ox_dim(s, rank - 3), 1)) &&
        stretches(cx, s, 4, p->q, BATCH);
    return fits &&
        (dim_lt(cx, dim_int(cx, 0), columns) == YES ||
         (dim_eq(cx, ox_dim(s, rank - 2), rows) == YES && dim_le(cx, rows, columns) == YES));
}

/* ---- writing it ---- */

static Ox turned(Graph *g, Ox x, const int64_t *perm)
{
    return ox_g_with(g, "Transpose", INPUTS(x), INT_LIST("perm", perm, N_AXIS));
}

/* [batch, heads, rows, size] of the keys that MatMul takes turned. A Transpose of rows_first()'s
 * form where that is what makes them. */
static Ox keys(Graph *g, Ox kt)
{
    const int64_t *perm;
    size_t n;
    Node *turn = made_by(kt, "Transpose");
    bool four = turn && node_ints(turn, "perm", &perm, &n) && n == N_AXIS && perm[0] == 0 &&
        perm[2] == 3;
    if (four && perm[1] == 1 && perm[3] == 2)
        return turn->in[0];
    if (four && perm[1] == 2 && perm[3] == 1)
        return heads_first(g, turn->in[0]);
    return turned(g, kt, (const int64_t[]){ 0, 1, 3, 2 });
}

/* [batch or 1, heads or 1, rows, columns]: the kernel stretches the first two axes alone. */
static Ox whole_mask(Graph *g, const Parts *p)
{
    Ox m = p->mask;
    if (m && ox_rank(m) < N_AXIS)
        m = ox_g(g, "Unsqueeze", m,
                 ox_ints(g, (const int64_t[]){ 0, 1 }, (size_t)(N_AXIS - ox_rank(m))));
    if (!m || !ox_ok(m) || (same(g->cx, m, ROWS, p->q, ROWS) && same(g->cx, m, SIZE, p->kt, SIZE)))
        return m;
    Dim to[] = { ox_dim(m, BATCH), ox_dim(m, HEADS), ox_dim(p->q, ROWS), ox_dim(p->kt, SIZE) };
    return ox_g(g, "Expand", m, ox_dims(g, to, N_AXIS));
}

/* The result without what rows that see nothing have of it. */
static Ox of_seeing(Graph *g, Ox y, Ox seeing)
{
    if (!seeing)
        return y;
    int rank = ox_rank(seeing);
    Dim batch = rank == N_AXIS ? ox_dim(seeing, BATCH) : dim_int(g->cx, 1);
    Dim to[] = { batch, ox_dim(seeing, rank - 2), dim_int(g->cx, 1) };
    seeing = ox_g(g, "Reshape", seeing, ox_dims(g, to, COUNT(to)));
    return ox_g(g, "Mul", y, seeing);
}

/* v is an output of the model that only this attention reads (through one node): Concat(past,
 * new), whose new rows have been split into heads. */
static Node *appends(Rewrite *rw, const Node *n, Ox v)
{
    Node *c = made_by(v, "Concat");
    if (!c || c->graph != n->graph || c->n_in != 2 || !v->is_output || uses_of(rw, v) != 2)
        return NULL;
    return node_int(c, "axis", 0) == ROWS && rows_first(c->in[1]) ? c : NULL;
}

static Ox joined(Graph *g, Ox v) { return heads_joined(g, rows_first(v)); }

/* The operator's inputs. keys and values are the nodes that append to a cache, which it does
 * itself; NULL: there is none. groups: how many heads the keys have where several of q share one;
 * else 0. */
typedef struct Inputs {
    Ox q, k, v, mask, past_k, past_v;
    Node *keys, *values;
    int64_t groups;
} Inputs;

/* Takes the caches that k and v are, and what is appended to them. */
static bool take_caches(Rewrite *rw, Node *n, Ox k, Ox v, Inputs *in)
{
    Node *ck = appends(rw, n, k);
    Node *cv = appends(rw, n, v);
    if (!ck || !cv || ck == cv || !same(rw->cx, ck->in[0], ROWS, cv->in[0], ROWS))
        return false;
    in->keys = ck;
    in->values = cv;
    in->past_k = ck->in[0];
    in->past_v = cv->in[0];
    in->k = ck->in[1];
    in->v = cv->in[1];
    return true;
}

/* Takes the caches that k and v repeat for GroupQueryAttention. */
static bool take_groups(Rewrite *rw, Node *n, const Parts *p, Inputs *in)
{
    Ctx *cx = rw->cx;
    int64_t size, heads;
    Ox k = before_repeat(cx, in->k);
    Ox v = before_repeat(cx, in->v);
    bool fits = k && v && same(cx, k, HEADS, v, HEADS) && dim_is(ox_dim(p->q, BATCH), 1) &&
        ox_never_empty(cx, p->q) && runs_fused("GroupQueryAttention");
    if (!fits || !dim_known(ox_dim(p->q, SIZE), &size) || size % 8 ||
        !dim_known(ox_dim(k, HEADS), &heads) || !take_caches(rw, n, k, v, in))
        return false;
    in->groups = heads;
    return true;
}

/* q, k and v before their heads are split off, where both keys and values have been. False after an
 * error. */
static bool find_inputs(Rewrite *rw, Node *n, const Parts *p, Inputs *in)
{
    Graph *g = n->graph;
    *in = (Inputs){ .v = p->v };
    in->q = joined(g, p->q);
    in->k = keys(g, p->kt);
    in->mask = whole_mask(g, p);
    if (!ox_ok(in->q) || !ox_ok(in->k) || (in->mask && !ox_ok(in->mask)))
        return false;
    if (!take_groups(rw, n, p, in))
        (void)take_caches(rw, n, in->k, in->v, in);
    if (rows_first(in->k) && rows_first(in->v)) {
        in->k = joined(g, in->k);
        in->v = joined(g, in->v);
    }
    return ox_ok(in->k) && ox_ok(in->v);
}

/* Writes the operator; what it gives goes into out. */
static bool many_heads(Node *n, const Parts *p, const Inputs *in, const Type *types, Ox *out)
{
    int64_t heads = 0;
    dim_known(ox_dim(p->q, HEADS), &heads);
    const Attr attr[] = { INT("num_heads", heads), FLOAT("scale", p->scale) };
    OxList list = INPUTS(in->q, in->k, in->v, NULL, NULL, in->mask, in->past_k, in->past_v);
    return make_fused(n, "MultiHeadAttention", list, attr, COUNT(attr), types, out,
                      in->keys ? 3 : 1);
}

static bool grouped_heads(Node *n, const Parts *p, const Inputs *in, const Type *types, Ox *out)
{
    Graph *g = n->graph;
    int64_t heads = 0;
    dim_known(ox_dim(p->q, HEADS), &heads);
    Dim columns = ox_dim(p->kt, SIZE);
    Dim before = dim_sub(g->cx, columns, dim_int(g->cx, 1));
    Ox last = dims_to_nodes(g, ox_cast(g, ox_dims(g, &before, 1), DT_INT32), NULL);
    Ox count = dims_to_nodes(g, ox_cast(g, ox_dim_value(g, columns), DT_INT32), NULL);
    if (!ox_ok(last) || !ox_ok(count))
        return false;
    const Attr attr[] = { INT("num_heads", heads), INT("kv_num_heads", in->groups),
                          FLOAT("scale", p->scale), INT("causal", 0) };
    OxList list = INPUTS(in->q, in->k, in->v, in->past_k, in->past_v, last, count, NULL, NULL, NULL,
                         in->mask);
    return make_fused(n, "GroupQueryAttention", list, attr, COUNT(attr), types, out, 3);
}

/* The operator's result, [batch, rows, heads * size]. What it appends to the caches gives way to
 * its other outputs. */
static Ox attention_node(Rewrite *rw, Node *n, const Parts *p)
{
    Inputs in;
    Ox out[3];
    if (!find_inputs(rw, n, p, &in))
        return POISON;
    Type types[3] = { in.q->type };
    if (in.keys) {
        types[1] = in.keys->out[0]->type;
        types[2] = in.values->out[0]->type;
    }
    bool made = in.groups ? grouped_heads(n, p, &in, types, out)
                          : many_heads(n, p, &in, types, out);
    if (!made)
        return POISON;
    if (in.keys) {
        replace(rw, in.keys->out[0], out[1]);
        replace(rw, in.values->out[0], out[2]);
    }
    return out[0];
}

/* The kernel takes keys and values with their heads where both have one size. */
static bool is_attention(Rewrite *rw, Node *n, Parts *p)
{
    Ctx *cx = rw->cx;
    if (!read_parts(rw, n, p) || !sizes_fit(cx, p) || !mask_fits(cx, p) || !seeing_fits(cx, p))
        return false;
    bool scales = p->scale != 0 && isfinite(p->scale); /* 0 stands for the usual scale */
    return scales && same(cx, p->q, SIZE, p->v, SIZE) && rows_first(p->q);
}

bool fuse_attention(Rewrite *rw, Node *n)
{
    Parts p;
    if (!node_is(n, "Transpose") || !runs_fused("MultiHeadAttention") || !is_attention(rw, n, &p))
        return true;
    Ox y = attention_node(rw, n, &p);
    if (ox_ok(y))
        y = of_seeing(n->graph, y, p.seeing);
    if (ox_ok(y))
        y = ox_g(n->graph, "Reshape", y, ox_dims(n->graph, n->out[0]->type->dim, N_AXIS));
    if (ox_ok(y))
        replace(rw, n->out[0], y);
    return ox_ok(y);
}
