/* views.c - Reshapes moved to where others take them up.
 *
 *     Reshape(Gemm(Reshape(x, [-1, k]), w, b), [.., n])  ->  Add(MatMul(x, w), b)
 *         what torch's decompositions make of a Linear
 *     Reshape(MatMul(Reshape(x, [-1, k]), w), [.., n])   ->  MatMul(x, w)
 *     Reshape(Transpose(Reshape(x, r), p), s)            ->  Transpose(Reshape(x, r'), p')
 *         where s only splits axes
 *     Transpose(Reshape(Transpose(x, p), s), q)          ->  Transpose(Reshape(x, s'), q')
 *         the same
 *
 * The third is multi-head attention: [S, N*heads, d] is turned before N and heads part, and turned
 * again behind it; the last are windows of an image. A Squeeze and an Unsqueeze are such Reshapes
 * too. Nothing is moved where a shape would have to be computed for it. */
#include "tidy/internal.h"

static Node *reshape_of(Ox v)
{
    return v && v->kind == OX_NODE && v->out == 0 && is_reshape(v->node) ? v->node : NULL;
}

/* Has v no name and no other use? A value that this pass has made has no count yet. */
static bool is_between(const Rewrite *rw, Ox v) { return uses_of(rw, v) <= 1 && !v->name; }

/* ---- a Linear of more than two axes ---- */

/* Do a and b agree in all axes but the last? */
static bool same_rows(Ctx *cx, Ox a, Ox b)
{
    if (ox_rank(a) < 2 || ox_rank(a) != ox_rank(b))
        return false;
    for (int i = 0; i < ox_rank(a) - 1; i++)
        if (dim_eq(cx, ox_dim(a, i), ox_dim(b, i)) != YES)
            return false;
    return true;
}

static Dim last_dim(Ox v) { return ox_dim(v, ox_rank(v) - 1); }

/* x of Reshape(x, [-1, k]), which joins all axes but the last; NULL: it is something else. */
static Ox flattened(Ctx *cx, Ox v)
{
    Node *n = reshape_of(v);
    Ox x = n ? n->in[0] : NULL;
    bool rows = x && ox_rank(v) == 2 && ox_rank(x) > 2 &&
        dim_eq(cx, last_dim(x), last_dim(v)) == YES;
    return rows ? x : NULL;
}

/* A Gemm's weight in the form for MatMul; NULL: this would need a node that stays in the model. */
static Ox weight_of(Rewrite *rw, const Node *gemm)
{
    Ox w = gemm->in[1];
    if (node_float(gemm, "alpha", 1) != 1 || node_float(gemm, "beta", 1) != 1 ||
        node_int(gemm, "transA", 0))
        return NULL;
    if (!node_int(gemm, "transB", 0))
        return w;
    bool mine = is_const(w) && storage_uses(rw, w->k) == 1 && !(rw->o->keep_weights && w->k->name);
    return mine ? ox_g_with(gemm->graph, "Transpose", INPUTS(w),
                            INT_LIST("perm", ((const int64_t[]){ 1, 0 }), 2))
                : NULL;
}

/* Reshape(Gemm(Reshape(x), w, b)) -> Add(MatMul(x, w), b): a linear layer of a tensor with more
 * axes than two. */
static bool unflatten(Rewrite *rw, Node *n)
{
    Ox product = is_reshape(n) ? n->in[0] : NULL;
    Node *linear = product ? made_by(product, "Gemm") : NULL;
    if (!linear && product)
        linear = made_by(product, "MatMul");
    if (!linear || linear->graph != n->graph || !is_between(rw, product) ||
        ox_rank(linear->in[1]) != 2)
        return true;
    Ox x = flattened(rw->cx, linear->in[0]);
    Ox b = in_of(linear, 2);
    bool bias_fits = !b ||
        (ox_rank(b) == 1 && dim_eq(rw->cx, ox_dim(b, 0), last_dim(product)) == YES);
    if (!x || !bias_fits || !same_rows(rw->cx, x, n->out[0]) ||
        dim_eq(rw->cx, last_dim(n->out[0]), last_dim(product)) != YES)
        return true;
    Ox w = node_is(linear, "Gemm") ? weight_of(rw, linear) : linear->in[1];
    if (!w)
        return true;
    size_t from = n->graph->nodes.n;
    Ox y = ox_g(n->graph, "MatMul", x, w);
    y = b ? ox_g(n->graph, "Add", y, b) : y;
    for (size_t i = from; ox_ok(y) && i < n->graph->nodes.n; i++)
        n->graph->nodes.at[i]->at = linear->at;
    if (ox_ok(y))
        replace(rw, n->out[0], y);
    return ox_ok(y);
}

bool pass_linears(Graph *g, const TidyOptions *o)
{
    return (!graph_has(g, "Gemm") && !graph_has(g, "MatMul")) ||
        rewrite_weights(g, o, unflatten, NULL);
}

/* ---- a Reshape behind a Transpose ---- */

/* Which axes of `to` each axis of `from` is split into: those from first[i] up to first[i + 1]. An
 * axis of 1 may go, and come anywhere. */
static bool split_axes(Ctx *cx, Ox from, Ox to, int *first)
{
    int k = 0;
    int rank = ox_rank(from);
    for (int i = 0; i < rank; i++) {
        Dim whole = ox_dim(from, i);
        Dim d = dim_int(cx, 1);
        first[i] = k;
        while (dim_eq(cx, d, whole) != YES && k < ox_rank(to))
            if (!(d = dim_mul(cx, d, ox_dim(to, k++))))
                return false;
        if (dim_eq(cx, d, whole) != YES || dim_is(whole, 0))
            return false;
    }
    while (k < ox_rank(to) && dim_is(ox_dim(to, k), 1))
        k++;
    first[rank] = k;
    return k == ox_rank(to);
}

/* Can x be reshaped to this shape without computing a size: is one size dynamic at most, or do
 * all dynamic ones stand where x has them? */
static bool shape_is_free(Ctx *cx, Ox x, const Dim *shape, int rank)
{
    int open = 0;
    int elsewhere = 0;
    for (int i = 0; i < rank; i++) {
        bool known = dim_known(shape[i], NULL);
        open += !known;
        elsewhere += !known && !(i < ox_rank(x) && dim_eq(cx, shape[i], ox_dim(x, i)) == YES);
    }
    return open <= 1 || elsewhere == 0;
}

/* Reshape n behind a Transpose as a Reshape before one; NULL: that is not possible. from: the
 * value that is reshaped, whose own Reshape the new one may join. */
static Ox moved(Rewrite *rw, const Node *n, Ox from)
{
    Graph *g = n->graph;
    const Node *turn = n->in[0]->node;
    int first[MAX_RANK + 1];
    int count = 0;
    int rank = ox_rank(turn->out[0]);
    const int64_t *perm;
    size_t n_perm;
    if (turn->graph != g || !is_between(rw, turn->out[0]) || rank < 1 || ox_rank(n->out[0]) < 0 ||
        !node_ints(turn, "perm", &perm, &n_perm) ||
        !split_axes(rw->cx, turn->out[0], n->out[0], first))
        return NULL;
    Dim shape[MAX_RANK];
    int64_t place[MAX_RANK];
    for (int axis = 0; axis < rank; axis++)
        for (int i = 0; i < rank; i++)
            for (int k = first[i]; perm[i] == axis && k < first[i + 1]; k++) {
                shape[count] = ox_dim(n->out[0], k);
                place[k] = count++;
            }
    if (!shape_is_free(rw->cx, from, shape, count))
        return NULL;
    Ox given_shape = ox_dims(g, shape, (size_t)count);
    Ox parts = ox_g(g, "Reshape", turn->in[0], given_shape);
    return ox_g_with(g, "Transpose", INPUTS(parts), INT_LIST("perm", place, (size_t)count));
}

/* Moves a Reshape in front of a Transpose where another Reshape before it, or another Transpose
 * behind it, can be joined then. */
static bool move_view(Rewrite *rw, Node *n)
{
    bool last = node_is(n, "Transpose") && reshape_of(n->in[0]) && is_between(rw, n->in[0]);
    Node *view = is_reshape(n) ? n : NULL;
    if (last)
        view = n->in[0]->node;
    Node *turn = view ? made_by(view->in[0], "Transpose") : NULL;
    Node *before = turn ? reshape_of(turn->in[0]) : NULL;
    if (!turn || view->graph != n->graph || (!last && !before))
        return true;
    Ox y = moved(rw, view, before ? before->in[0] : turn->in[0]);
    if (y && last)
        y = ox_make(n->graph, "Transpose", INPUTS(y), n->attr, (size_t)n->n_attr);
    if (y && ox_ok(y))
        replace(rw, n->out[0], y);
    return !y || ox_ok(y);
}

bool pass_views(Graph *g, const TidyOptions *o)
{
    return !graph_has(g, "Transpose") || rewrite(g, o, move_view, NULL);
}
