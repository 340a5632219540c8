/* quantise.c - large weights as int8 or int4 codes with scales; the model computes in float32.
 *
 *     MatMul(x, w), Gemm    ->  MatMul(x, DequantizeLinear(codes, scales)), for each block of w's
 *                               columns; before opset 21 for each column, int8 only
 *                               MatMulNBits(x, codes, scales) with --fuse
 *     Gather(w, i)          ->  DequantizeLinear(Gather(codes, i), Gather(scales, i)), int8: rows
 *                               that are not asked for stay integers
 *     Conv(x, w)            ->  Conv(x, DequantizeLinear(codes, scales)) for each output channel,
 *                               with int8
 *
 * The last two only where such weights are an eighth of all. Biases, norms and small ones stay; -v
 * says which large ones do, and why. */
#include "tidy/types/blocks.h"

enum {
    LEAST = 4096,  /* elements: a smaller weight stays */
    SHORTEST = 16, /* elements that share a scale at least */
    OPSET_BLOCKS = 21,
    OPSET_ROWS = 13
};

/* A weight's codes and scales. */
typedef struct Coded {
    Ox codes, scales;
} Coded;

typedef struct Form {
    DType dtype;
    int rank;
    const int64_t *dims;
} Form;

typedef struct Quantise {
    Graph *root;
    int bits;
    int64_t block;
    bool tables_pay, filters_pay; /* are they a large part of all weights? */
    bool fuse, blocks, rows;      /* what may be written: MatMulNBits, blocks, one scale a row */
    Map products[2];              /* a weight of a product, as it is and turned round -> Coded */
    Map tables, filters;
    LastScales *last;
    Map embedded; /* weights of embeddings -> nothing */
    Map left;     /* names of weights that stay -> nothing */
    size_t count;
    uint64_t before, after;
} Quantise;

static Quantise *quantise_of(const Rewrite *rw) { return rw->arg; }

/* ---- which weights ---- */

static bool is_large(Ox v)
{
    return is_const(v) && ox_dtype(v) == DT_FLOAT && const_numel(v->k) >= LEAST &&
        const_is_weight(v->k);
}

/* The matrix that a product takes: a weight, as it is or turned round. */
typedef struct Matrix {
    const Const *weight, *k; /* k: [K, N] as MatMul has it; NULL: it is none */
    bool turned;
} Matrix;

/* The second input of MatMul or Gemm, whose weight a node may turn round as the model runs. */
static Matrix matrix_of(Ctx *cx, const Node *n)
{
    Matrix m = { 0 };
    Ox v = product_matrix(n, &m.turned);
    m.weight = v && is_large(v) ? v->k : NULL;
    if (!m.weight || v->k->rank != 2)
        return m;
    m.k = m.turned ? const_permute(cx, v->k, (const int[]){ 1, 0 }) : v->k;
    return m;
}

static void leave(Rewrite *rw, const Const *k, const char *why)
{
    Str name = k->name ? k->name : k->derived;
    if (name && map_add(rw->cx, &quantise_of(rw)->left, name, NULL))
        note(rw->cx, NOTE_INFO, "%s stays float32: %s", name->s, why);
}

static int64_t blocks_in(const Blocks *b) { return (b->K + b->block - 1) / b->block; }

static void count(Rewrite *rw, const Blocks *b)
{
    Quantise *q = quantise_of(rw);
    uint64_t codes = (uint64_t)(b->N * b->K);
    q->count++;
    q->before += codes * sizeof(float);
    q->after += codes * (uint64_t)b->bits / 8 + (uint64_t)(b->N * blocks_in(b)) * sizeof(float);
}

static Ox dequantised(Graph *g, const Coded *c, int64_t axis, int64_t block)
{
    if (block)
        return ox_g_with(g, "DequantizeLinear", INPUTS(c->codes, c->scales), INT("axis", axis),
                         INT("block_size", block));
    return ox_g_with(g, "DequantizeLinear", INPUTS(c->codes, c->scales), INT("axis", axis));
}

/* Codes and scales of b, of these dims; those that `known` has of the weight `key` where it is used
 * a second time. NULL after an error. */
static const Coded *coded(Rewrite *rw, Map *known, const void *key, const Blocks *b, Form codes,
                          Form scales)
{
    Graph *g = quantise_of(rw)->root;
    Coded *c = map_get(known, key);
    if (c)
        return c;
    c = new(rw->cx, Coded);
    c->codes = blocks_codes(g, b, codes.dtype, codes.rank, codes.dims);
    c->scales = blocks_scales(g, b, scales.rank, scales.dims);
    if (!ox_ok(c->codes) || !ox_ok(c->scales))
        return NULL;
    count(rw, b);
    map_put(rw->cx, known, key, c);
    return c;
}

/* ---- products ---- */

/* The matrix k, [K, N] as MatMul has it, dequantised. NULL: it stays as it is. Codes and node are
 * the root graph's, also for a product in a branch or a loop: ONNX Runtime 1.31 looks for the codes
 * in the graph of the node, and does not load a model where they are in another one. */
static Ox product_weight(Rewrite *rw, Matrix m)
{
    const Const *k = m.k;
    Quantise *q = quantise_of(rw);
    Graph *g = q->root;
    Blocks *b = blocks_of(rw->cx, k, 1, q->bits, q->blocks ? q->block : 0, q->last);
    if (!b)
        return POISON;
    if (!blocks_possible(b))
        return NULL;
    int64_t dims[2] = { blocks_in(b), b->N };
    Form codes = { q->bits == 8 ? DT_INT8 : DT_INT4, 2, k->dims };
    Form scales = { DT_FLOAT, 2, dims };
    if (!q->blocks)
        scales = (Form){ DT_FLOAT, 1, dims + 1 };
    const Coded *c = coded(rw, &q->products[m.turned], m.weight, b, codes, scales);
    if (!c)
        return POISON;
    return q->blocks ? dequantised(g, c, 0, q->block) : dequantised(g, c, 1, 0);
}

/* Of x's type, its last axis N. */
Ox matmul_nbits(Graph *g, OxList in, NBits how)
{
    Ctx *cx = g->cx;
    Ox x = in.at[0];
    Attr attrs[] = { INT("K", how.K), INT("N", how.N), INT("bits", how.bits),
                     INT("block_size", how.block) };
    Dim dim[MAX_RANK];
    int rank = ox_rank(x);
    ox_sizes(x, dim);
    dim[rank - 1] = dim_int(cx, how.N);
    Type type = type_tensor(cx, DT_FLOAT, rank, dim);
    Ox y = POISON;
    ox_make_custom(g, str_of(cx, "com.microsoft"), str_of(cx, "MatMulNBits"), in, attrs,
                   COUNT(attrs), &type, &y, 1);
    return y;
}

/* MatMulNBits(x, codes, scales): bits of a row together, in whole blocks. */
static Ox fused_product(Rewrite *rw, Node *n, Ox x, Matrix m)
{
    Quantise *q = quantise_of(rw);
    Graph *g = n->graph;
    Ctx *cx = rw->cx;
    Blocks *b = blocks_of(cx, m.k, 1, q->bits, q->block, q->last);
    if (!b)
        return POISON;
    b->by_rows = b->padded = b->biased = true;
    if (!blocks_possible(b))
        return NULL;
    int64_t dims[3] = { b->N, blocks_in(b), q->block * q->bits / 8 };
    int64_t flat = b->N * blocks_in(b);
    const Coded *c = coded(rw, &q->products[m.turned], m.weight, b, (Form){ DT_UINT8, 3, dims },
                           (Form){ DT_FLOAT, 1, &flat });
    if (!c)
        return POISON;
    NBits how = { .N = b->N, .K = b->K, .bits = q->bits, .block = q->block };
    return matmul_nbits(g, INPUTS(x, c->codes, c->scales), how);
}

/* x times the matrix k; NULL: it stays as it is. */
static Ox product(Rewrite *rw, Node *n, Ox x, Matrix m)
{
    const Quantise *q = quantise_of(rw);
    if (q->fuse)
        return ox_rank(x) >= 2 ? fused_product(rw, n, x, m) : NULL;
    Ox w = product_weight(rw, m);
    return w && ox_ok(w) ? ox_g(n->graph, "MatMul", x, w) : w;
}

bool plain_gemm(const Node *n)
{
    return node_float(n, "alpha", 1) == 1 && node_float(n, "beta", 1) == 1 &&
        node_int(n, "transA", 0) == 0;
}

Ox before_turn(Ox v)
{
    const Node *turn = made_by(v, "Transpose");
    return turn ? turn->in[0] : v;
}

Ox product_matrix(const Node *n, bool *turned)
{
    static const int64_t swap[] = { 1, 0 };
    const int64_t *perm;
    size_t rank;
    const Node *turn = made_by(n->in[1], "Transpose");
    *turned = (turn != NULL) != (node_is(n, "Gemm") && node_int(n, "transB", 0));
    if (turn &&
        !(node_ints(turn, "perm", &perm, &rank) && rank == 2 &&
          memcmp(perm, swap, sizeof swap) == 0))
        return NULL;
    return before_turn(n->in[1]);
}

/* MatMul, or a Gemm that is one with a sum. What x is by rank does not matter: w is a matrix. */
static bool quantise_product(Rewrite *rw, Node *n)
{
    const Quantise *q = quantise_of(rw);
    Matrix m = matrix_of(rw->cx, n);
    const char *why = NULL;
    if (ctx_failed(rw->cx) || is_const(n->in[0]) || ox_dtype(n->in[0]) != DT_FLOAT)
        return !ctx_failed(rw->cx);
    if (!m.k || m.k->dims[0] < SHORTEST)
        why = "its product is no large one of matrices";
    else if (node_is(n, "Gemm") && !plain_gemm(n))
        why = "its Gemm has factors";
    else if (map_find(&q->embedded, m.weight) && !q->tables_pay)
        why = "an embedding has the same weight, and keeps it";
    Ox y = why ? NULL : product(rw, n, n->in[0], m);
    if (y && ox_ok(y) && node_is(n, "Gemm") && in_of(n, 2))
        y = ox_g(n->graph, "Add", y, n->in[2]);
    if (!y && m.weight)
        leave(rw, m.weight, why ? why : "its rows are too long for this form, or x has one axis");
    if (y && ox_ok(y))
        replace(rw, n->out[0], y);
    return !ctx_failed(rw->cx);
}

/* ---- embeddings ---- */

/* Rows of codes and of their scales are taken, and then dequantised. */
static bool quantise_gather(Rewrite *rw, Node *n)
{
    Quantise *q = quantise_of(rw);
    Graph *g = n->graph;
    Ox w = n->in[0];
    int64_t axis = node_int(n, "axis", 0);
    if (!is_large(w) || w->k->rank != 2 || (axis != 0 && axis != -2) || ox_rank(n->in[1]) < 0) {
        if (is_large(w))
            leave(rw, w->k, "it is no table whose rows are taken");
        return true;
    }
    if (!q->tables_pay) {
        leave(rw, w->k, "embeddings are less than an eighth of the weights");
        return true;
    }
    Blocks *b = blocks_of(rw->cx, w->k, 0, 8, q->blocks ? q->block : 0, q->last);
    if (!b)
        return false;
    b->by_rows = true;
    if (!blocks_possible(b) || w->k->dims[0] < SHORTEST || w->k->dims[1] < SHORTEST) {
        leave(rw, w->k, "its rows are too short, or too long");
        return true;
    }
    int64_t dims[2] = { b->N, blocks_in(b) };
    const Coded *c = coded(rw, &q->tables, w->k, b, (Form){ DT_INT8, 2, w->k->dims },
                           (Form){ DT_FLOAT, 2, dims });
    if (!c)
        return false;
    Coded taken = { .codes = ox_g_with(g, "Gather", INPUTS(c->codes, n->in[1]), INT("axis", 0)) };
    taken.scales = ox_g_with(g, "Gather", INPUTS(c->scales, n->in[1]), INT("axis", 0));
    Ox y = q->blocks ? dequantised(g, &taken, ox_rank(n->out[0]) - 1, q->block)
                     : ox_g(g, "Mul", ox_cast(g, taken.codes, DT_FLOAT), taken.scales);
    if (!ox_ok(y))
        return false;
    replace(rw, n->out[0], y);
    return true;
}

/* ---- convolutions ---- */

/* One scale for each output channel: the first axis of Conv's weight. */
static bool quantise_conv(Rewrite *rw, Node *n)
{
    Quantise *q = quantise_of(rw);
    Ox w = n->in[1];
    if (!is_large(w))
        return true;
    int64_t flat[2] = { w->k->dims[0], const_numel(w->k) / w->k->dims[0] };
    const Const *k = const_reshape(rw->cx, w->k, 2, flat);
    const char *why = NULL;
    if (q->bits == 4)
        why = "int4 is for products";
    else if (!q->rows || !k)
        why = "a Conv's needs opset 13";
    else if (!q->filters_pay)
        why = "those of Conv are less than an eighth of the weights";
    if (why) {
        leave(rw, w->k, why);
        return !ctx_failed(rw->cx);
    }
    Blocks *b = blocks_of(rw->cx, k, 0, 8, 0, q->last);
    if (!b)
        return false;
    b->by_rows = true;
    b->named = w->k;
    if (!blocks_possible(b)) {
        leave(rw, w->k, "its channels are too large");
        return true;
    }
    const Coded *c = coded(rw, &q->filters, w->k, b, (Form){ DT_INT8, w->k->rank, w->k->dims },
                           (Form){ DT_FLOAT, 1, &b->N });
    n->in[1] = c ? dequantised(n->graph, c, 0, 0) : POISON;
    return ox_ok(n->in[1]);
}

/* ---- the pass ---- */

/* Elements of large weights, by what takes them. */
typedef struct Shares {
    uint64_t all, tables, filters;
} Shares;

static void add_shares(Quantise *q, const Graph *g, Shares *s)
{
    for (size_t i = 0; i < g->nodes.n; i++) {
        const Node *n = g->nodes.at[i];
        for (int k = 0; k < n->n_attr; k++)
            if (n->attr[k].kind == ATTR_GRAPH)
                add_shares(q, n->attr[k].g, s);
        if (node_is(n, "Gather") && is_large(n->in[0]))
            map_put(g->cx, &q->embedded, n->in[0]->k, NULL);
        for (int k = 0; k < n->n_in; k++) {
            uint64_t numel = is_large(n->in[k]) ? (uint64_t)const_numel(n->in[k]->k) : 0;
            s->all += numel;
            s->tables += node_is(n, "Gather") && k == 0 ? numel : 0;
            s->filters += node_is(n, "Conv") && k == 1 ? numel : 0;
        }
    }
}

/* Embeddings and filters lose digits and no product gets faster: only where the file gets much
 * smaller by it, an eighth of all weights being theirs. */
static void find_shares(Quantise *q, const Graph *g)
{
    Shares s = { 0 };
    add_shares(q, g, &s);
    q->tables_pay = s.tables >= s.all / 8;
    q->filters_pay = s.filters >= s.all / 8;
}

static bool quantise_step(Rewrite *rw, Node *n)
{
    if (node_is(n, "MatMul") || node_is(n, "Gemm"))
        return quantise_product(rw, n);
    if (node_is(n, "Gather"))
        return quantise_gather(rw, n);
    if (node_is(n, "Conv"))
        return quantise_conv(rw, n);
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && is_large(n->in[i]) && !node_is(n, "Transpose"))
            leave(rw, n->in[i]->k, "its operator takes no integers");
    return true;
}

/* What of the weights may be written so, at this opset, is decided once for all nodes. */
bool pass_quantise(Graph *g, const TidyOptions *o)
{
    if (o->weights_type != DT_INT8 && o->weights_type != DT_INT4)
        return true;
    Quantise q = { .root = g,
                   .last = new(g->cx, LastScales),
                   .bits = o->weights_type == DT_INT8 ? 8 : 4,
                   .block = o->block,
                   .fuse = o->fuse && fused_kernel("MatMulNBits", "T1", DT_FLOAT),
                   .blocks = o->opset >= OPSET_BLOCKS,
                   .rows = o->opset >= OPSET_ROWS };
    find_shares(&q, g);
    if (!rewrite(g, o, quantise_step, &q))
        return false;
    if (q.count)
        note(g->cx, NOTE_INFO, "%zu weights are %s: %llu bytes, %llu before", q.count,
             dtype_name(o->weights_type), (unsigned long long)q.after,
             (unsigned long long)q.before);
    else
        note(g->cx, NOTE_DROPPED, "--weights-type: no weight of this model became %s; -v says why",
             dtype_name(o->weights_type));
    return true;
}
