/* scale.c - a factor or a summand for each channel into the weights before it, and a border of
 * zeros into the convolution behind it.
 *
 *     Mul(Conv(x, w, b), s)         ->  Conv(x, w*s, b*s)
 *         a batch norm that is frozen, written out
 *     Add(Conv(x, w, b), c)         ->  Conv(x, w, b+c)
 *     Mul(Add(MatMul(x, w), b), s)  ->  Add(MatMul(x, w*s), b*s)
 *         a layer's scale; b may be missing, or the two be a Gemm
 *     Conv(Pad(x, p))               ->  Conv<pads=p>(x)
 *
 * Only what is constant, in float32 and float64, and where nothing else needs the weight:
 * pass_weights computes it then. Like the batch norm of fuse.c this rounds a weight where PyTorch
 * rounds a result. With --keep-weights nothing changes, and with --weights-type float16 nothing
 * that float16 would not hold. */
#include "tidy/internal.h"

#include <math.h>

/* ---- what multiplies by a weight ---- */

/* An operator that is linear in a weight. axis: that of the channels in its result; of_weight:
 * in the weight. */
typedef struct Linear {
    Node *n;
    Ox weight, bias;
    int axis, of_weight;
    int64_t channels;
} Linear;

/* Is v used once? A value that this pass has made has the uses of the value that it replaces. */
static bool once(const Rewrite *rw, Ox v)
{
    const MapEntry *e = map_find(rw->arg, v);
    return !v->name && (e ? (uintptr_t)e->val : uses_of(rw, v)) == 1;
}

static bool is_real(Ox v) { return ox_dtype(v) == DT_FLOAT || ox_dtype(v) == DT_DOUBLE; }

/* v, used once, as the result of an operator that is linear in a weight: Conv, ConvTranspose
 * without groups, MatMul with a matrix, Gemm without factors; and the axes of the channels in v and
 * in the weight. */
static bool linear_of(const Rewrite *rw, const Graph *g, Ox v, Linear *out)
{
    if (v->kind != OX_NODE || v->graph != g || !v->node->op || !once(rw, v) || !is_real(v))
        return false;
    Node *n = v->node;
    bool gemm = node_is(n, "Gemm") && node_float(n, "alpha", 1) == 1 &&
        node_float(n, "beta", 1) == 1;
    bool matmul = node_is(n, "MatMul");
    bool turned = node_is(n, "ConvTranspose") && node_int(n, "group", 1) == 1;
    if (!gemm && !matmul && !turned && !node_is(n, "Conv"))
        return false;
    int rank = ox_rank(v);
    int of_weight = gemm ? !node_int(n, "transB", 0) : matmul || turned;
    if (rank < 2 || ox_rank(n->in[1]) < 2 || (matmul && ox_rank(n->in[1]) != 2))
        return false;
    *out = (Linear){ .n = n,
                     .weight = n->in[1],
                     .bias = in_of(n, 2),
                     .axis = gemm || matmul ? rank - 1 : 1,
                     .of_weight = of_weight };
    bool bias_fits = !out->bias ||
        ((is_const(out->bias) || map_find(rw->arg, out->bias)) && ox_rank(out->bias) == 1);
    return bias_fits && dim_known(ox_dim(n->in[1], of_weight), &out->channels);
}

/* Has the weight no other use than the operator that changes? A weight that this pass has
 * changed before is made by a node, and has none. */
static bool weight_is_mine(const Rewrite *rw, Ox w)
{
    return is_const(w) ? storage_uses(rw, w->k) == 1 : w->kind == OX_NODE && map_find(rw->arg, w);
}

/* v, a number for each channel along `axis` of a tensor of this rank, reshaped to lie along axis
 * `to` of one of rank `to_rank`; NULL: v is something else. */
static Ox channel_numbers(Graph *g, Ox v, int64_t channels, int rank, int axis, int to_rank, int to)
{
    int64_t shape[MAX_RANK];
    if (!is_const(v) || !is_real(v) || v->k->rank > rank)
        return NULL;
    int64_t numel = const_numel(v->k);
    int own = axis - (rank - v->k->rank);
    if (numel != 1 && (numel != channels || own < 0 || v->k->dims[own] != channels))
        return NULL;
    for (int i = 0; i < to_rank; i++)
        shape[i] = i == to && numel != 1 ? channels : 1;
    return ox_g(g, "Reshape", v, ox_ints(g, shape, (size_t)to_rank));
}

/* ---- what float16 holds ---- */

/* size[c] *= the number of channel c in v, which lies in any shape. False: v is no constant, or
 * after an error. */
static bool multiply_sizes(Ctx *cx, double *size, int64_t channels, Ox v)
{
    const Node *reshape = made_by(v, "Reshape");
    Ox of = reshape ? reshape->in[0] : v;
    if (!is_const(of) || !is_real(of))
        return false;
    bool single = const_numel(of->k) == 1;
    const void *at = const_data(cx, of->k);
    if (!at)
        return false;
    for (int64_t c = 0; c < channels; c++)
        size[c] *= fabs(real_at(of->k->dtype, at, single ? 0 : c));
    return true;
}

/* The size of the largest weight in each channel, with the factors that this pass has multiplied
 * in. NULL: it is not known. */
static double *sizes_of(Ctx *cx, Ox w, const Linear *l)
{
    if (is_const(w))
        return channel_sizes(cx, w->k, l->of_weight);
    const Node *scaled = made_by(w, "Mul");
    double *size = scaled ? sizes_of(cx, scaled->in[0], l) : NULL;
    return size && multiply_sizes(cx, size, l->channels, scaled->in[1]) ? size : NULL;
}

/* Does float16 hold a bias (or NULL) times a number of the size `by`? */
static bool bias_in_range(Ctx *cx, Ox bias, double by)
{
    return !bias || (is_const(bias) && summand_fits_float16(largest_of(cx, bias->k) * by));
}

/* Does float16 hold the weight of each channel times the number of s? */
static bool weights_in_range(Ctx *cx, const Linear *l, Ox s)
{
    const double *most = sizes_of(cx, l->weight, l);
    if (!most)
        return false;
    double *factor = new_array(cx, double, l->channels);
    if (!factor)
        return false;
    for (int64_t c = 0; c < l->channels; c++)
        factor[c] = 1;
    if (!multiply_sizes(cx, factor, l->channels, s))
        return false;
    for (int64_t c = 0; c < l->channels; c++)
        if (!weight_fits_float16(most[c], factor[c]))
            return false;
    return true;
}

/* Does float16 hold l's weight times s, and a bias (l's own, that of an Add, or NULL) times s,
 * where they are to be of that type? */
static bool scale_fits(Rewrite *rw, const Linear *l, Ox bias, Ox s)
{
    Ctx *cx = rw->cx;
    if (!becomes_float16(rw->o, ox_dtype(l->weight)))
        return true;
    ArenaMark m = arena_mark(cx->run);
    bool fits = bias_in_range(cx, bias, largest_of(cx, s->k)) && weights_in_range(cx, l, s);
    arena_reset(cx->run, m);
    return fits;
}

/* Does it hold the bias and c, which is added to it? */
static bool summand_fits(Rewrite *rw, const Linear *l, Ox c)
{
    return !becomes_float16(rw->o, ox_dtype(l->weight)) ||
        (bias_in_range(rw->cx, c, 1) && bias_in_range(rw->cx, l->bias, 1));
}

/* ---- Mul and Add ---- */

static bool put(Rewrite *rw, Node *n, Ox y)
{
    if (!ox_ok(y))
        return false;
    map_put(rw->cx, rw->arg, y, (void *)(uintptr_t)uses_of(rw, n->out[0]));
    replace(rw, n->out[0], y);
    return true;
}

/* Are all factors finite? Infinite weights make NaN of a sum that would be infinite, or 0. */
static bool is_finite(Ctx *cx, const Const *factors)
{
    ArenaMark m = arena_mark(cx->run);
    const void *at = const_data(cx, factors);
    bool finite = at != NULL;
    for (int64_t i = 0; finite && i < const_numel(factors); i++)
        finite = isfinite(real_at(factors->dtype, at, i));
    arena_reset(cx->run, m);
    return finite;
}

static Ox remade(Rewrite *rw, const Linear *l, Ox weight, Ox bias)
{
    Graph *g = l->n->graph;
    size_t from = g->nodes.n;
    Ox y = ox_make(g, l->n->op->name, INPUTS(l->n->in[0], weight, bias), l->n->attr,
                   (size_t)l->n->n_attr);
    if (ox_ok(y) && g->nodes.n > from)
        y->node->at = l->n->at;
    map_put(rw->cx, rw->arg, weight, (void *)(uintptr_t)1);
    if (bias)
        map_put(rw->cx, rw->arg, bias, (void *)(uintptr_t)1);
    return y;
}

/* l * s as l with other weights; NULL: there is no such form. added: the bias, l's own or that
 * of an Add behind it. */
static Ox scaled(Rewrite *rw, const Linear *l, Ox added, Ox s)
{
    Graph *g = l->n->graph;
    int rank = ox_rank(l->n->out[0]);
    Ox by = weight_is_mine(rw, l->weight)
        ? channel_numbers(g, s, l->channels, rank, l->axis, ox_rank(l->weight), l->of_weight)
        : NULL;
    Ox along = by ? channel_numbers(g, s, l->channels, rank, l->axis, 1, 0) : NULL;
    if (!along || !is_finite(rw->cx, s->k) || !scale_fits(rw, l, added, s))
        return NULL;
    Ox weight = ox_g(g, "Mul", l->weight, by);
    Ox bias = l->bias ? ox_g(g, "Mul", l->bias, along) : NULL;
    return remade(rw, l, weight, bias);
}

/* l + c as l with another bias; NULL: there is no such form (a MatMul has no bias). */
static Ox moved(Rewrite *rw, const Linear *l, Ox c)
{
    Graph *g = l->n->graph;
    Ox along = node_is(l->n, "MatMul")
        ? NULL
        : channel_numbers(g, c, l->channels, ox_rank(l->n->out[0]), l->axis, 1, 0);
    if (!along || !summand_fits(rw, l, c))
        return NULL;
    Ox bias = l->bias ? ox_g(g, "Add", l->bias, along)
                      : ox_g(g, "Expand", along, ox_ints(g, &l->channels, 1));
    return remade(rw, l, l->weight, bias);
}

/* Add(MatMul(x, w), b) * s */
static Ox scaled_sum(Rewrite *rw, const Node *sum, Ox s)
{
    Graph *g = sum->graph;
    Linear l;
    for (int i = 0; i < 2; i++) {
        Ox b = sum->in[1 - i];
        int rank = ox_rank(sum->out[0]);
        if (!is_const(b) || !linear_of(rw, g, sum->in[i], &l) || ox_rank(sum->in[i]) != rank)
            continue;
        Ox along = channel_numbers(g, b, l.channels, rank, l.axis, 1, 0);
        Ox by = channel_numbers(g, s, l.channels, rank, l.axis, 1, 0);
        Ox y = along && by && node_is(l.n, "MatMul") ? scaled(rw, &l, b, s) : NULL;
        if (!y)
            return NULL;
        Ox shift = ox_g(g, "Mul", along, by);
        return ox_g(g, "Add", y, shift);
    }
    return NULL;
}

static bool same_rank(const Node *n, Ox v) { return ox_rank(v) == ox_rank(n->out[0]); }

/* Conv(x, w, b) * k and + k for a constant k, and (Conv(..) + c) * k: k goes into weight and bias.
 */
static bool fuse_number(Rewrite *rw, Node *n)
{
    Linear l;
    for (int i = 0; i < 2; i++) {
        Ox v = n->in[i];
        Ox k = n->in[1 - i];
        Ox y = NULL;
        if (!is_const(k) || !same_rank(n, v))
            continue;
        Node *sum = node_is(n, "Mul") && once(rw, v) ? made_by(v, "Add") : NULL;
        if (linear_of(rw, n->graph, v, &l))
            y = node_is(n, "Mul") ? scaled(rw, &l, l.bias, k) : moved(rw, &l, k);
        else if (sum && sum->graph == n->graph)
            y = scaled_sum(rw, sum, k);
        if (y)
            return put(rw, n, y);
    }
    return !ctx_failed(rw->cx);
}

/* ---- Pad and Conv ---- */

/* The pads of a Pad by zeros of the spatial axes alone. False: it is another Pad. */
static bool border(const Node *pad, int64_t *pads, int spatial)
{
    const int64_t *p, *axes = NULL;
    int64_t n, count;
    double with = 0;
    bool zeros = !in_of(pad, 2) || (ox_known_scalar(pad->graph, pad->in[2], &with) && with == 0);
    if (!zeros || strcmp(node_str(pad, "mode", "constant"), "constant") != 0 ||
        !ox_known_ints(pad->graph, pad->in[1], &p, &n) ||
        (in_of(pad, 3) && !ox_known_ints(pad->graph, pad->in[3], &axes, &count)))
        return false;
    for (int64_t i = 0; i < n / 2; i++) {
        int64_t axis = axes ? axes[i] : i;
        axis += axis < 0 ? spatial + 2 : 0;
        if (p[i] < 0 || p[n / 2 + i] < 0 || (axis < 2 && (p[i] || p[n / 2 + i])))
            return false;
        if (axis >= 2) {
            pads[axis - 2] += p[i];
            pads[spatial + axis - 2] += p[n / 2 + i];
        }
    }
    return true;
}

/* Conv(Pad(x)) -> Conv with wider pads, for zeros around the spatial axes. */
static bool fuse_pad(Rewrite *rw, Node *n)
{
    int64_t pads[2 * MAX_RANK] = { 0 };
    const int64_t *own;
    size_t count;
    Node *pad = once(rw, n->in[0]) ? made_by(n->in[0], "Pad") : NULL;
    int spatial = ox_rank(n->in[0]) - 2;
    bool automatic = strcmp(node_str(n, "auto_pad", "NOTSET"), "NOTSET") != 0;
    if (!pad || pad->graph != n->graph || spatial < 1 || automatic || !border(pad, pads, spatial))
        return true;
    if (node_ints(n, "pads", &own, &count))
        for (size_t i = 0; i < count; i++)
            pads[i] += own[i];
    Attr *attr = new_array(rw->cx, Attr, n->n_attr + 1);
    if (!attr)
        return false;
    size_t kept = 0;
    for (int i = 0; i < n->n_attr; i++)
        if (strcmp(n->attr[i].name, "pads") != 0)
            attr[kept++] = n->attr[i];
    attr[kept++] = INT_LIST("pads", pads, 2 * (size_t)spatial);
    Ox y = ox_make(n->graph, "Conv", INPUTS(pad->in[0], n->in[1], in_of(n, 2)), attr, kept);
    return put(rw, n, y);
}

static bool fuse_scale(Rewrite *rw, Node *n)
{
    if (node_is(n, "Mul") || node_is(n, "Add"))
        return fuse_number(rw, n);
    return !node_is(n, "Conv") || fuse_pad(rw, n);
}

bool pass_scales(Graph *g, const TidyOptions *o)
{
    bool wanted = graph_has(g, "Conv") || graph_has(g, "ConvTranspose") || graph_has(g, "MatMul") ||
        graph_has(g, "Gemm");
    if (o->keep_weights || !wanted)
        return true;
    return rewrite_weights(g, o, fuse_scale, &(Map){ 0 }) && pass_dead(g, o) &&
        pass_weights(g, o) && pass_dead(g, o);
}
