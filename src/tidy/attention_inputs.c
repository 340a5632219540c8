/* attention_inputs.c - what ONNX's Attention does by itself.
 *
 *     Attention(q, Repeat(k), Repeat(v), mask)        ->  Attention(q, k, v, mask)
 *         Repeat: Reshape(Expand(Unsqueeze(k))), each head n times next to itself
 *     Attention(q, Concat(p, k), Concat(r, v), mask)  ->  Attention(q, k, v, mask, p, r)
 *         whose second and third output, outputs of the model, are what Concat gave: a cache of
 *         keys and values that grows by those of the new tokens
 *
 * Of the results those that nobody reads are not asked for: they are computed else. */
#include "tidy/internal.h"

enum { Q, K, V, MASK, N_INPUT };

static bool same(Ctx *cx, Ox a, int i, Ox b, int k)
{
    return dim_eq(cx, ox_dim(a, i), ox_dim(b, k)) == YES;
}

static bool is_attention_of_four_axes(const Node *n)
{
    bool whole = node_is(n, "Attention") && n->n_out == 1 && n->n_in >= 3 && n->n_in <= N_INPUT;
    for (int i = Q; whole && i <= V; i++)
        whole = ox_rank(n->in[i]) == 4;
    return whole;
}

static bool ask_for_less(Rewrite *rw, Node *n)
{
    while (node_is(n, "Attention") && n->n_out > 1 && uses_of(rw, n->out[n->n_out - 1]) == 0)
        n->n_out--;
    return true;
}

/* ---- grouped heads ---- */

static bool opens_axis_two(Node *n)
{
    const int64_t *axes;
    int64_t count;
    return n && ox_rank(n->in[0]) == 4 && ox_known_ints(n->graph, n->in[1], &axes, &count) &&
        count == 1 && (axes[0] == 2 || axes[0] == -3);
}

Ox before_repeat(Ctx *cx, Ox v)
{
    Node *flat = made_by(v, "Reshape");
    Node *wide = flat ? made_by(flat->in[0], "Expand") : NULL;
    Node *apart = wide ? made_by(wide->in[0], "Unsqueeze") : NULL;
    if (!opens_axis_two(apart) || ox_rank(wide->out[0]) != 5)
        return NULL;
    Ox k = apart->in[0];
    Ox w = wide->out[0];
    bool repeats = same(cx, k, 0, w, 0) && same(cx, k, 1, w, 1) && same(cx, k, 2, w, 3) &&
        same(cx, k, 3, w, 4);
    Dim heads = dim_mul(cx, ox_dim(w, 1), ox_dim(w, 2));
    bool joins = same(cx, v, 0, w, 0) && dim_eq(cx, ox_dim(v, 1), heads) == YES &&
        same(cx, v, 2, w, 3) && same(cx, v, 3, w, 4);
    return repeats && joins ? k : NULL;
}

static bool share_heads(Rewrite *rw, Node *n)
{
    if (!is_attention_of_four_axes(n))
        return true;
    Ox k = before_repeat(rw->cx, n->in[K]);
    Ox v = before_repeat(rw->cx, n->in[V]);
    if (!k || !v || !same(rw->cx, k, 1, v, 1))
        return true;
    Ox y = ox_make(n->graph, "Attention", INPUTS(n->in[Q], k, v, in_of(n, MASK)), n->attr,
                   (size_t)n->n_attr);
    if (ox_ok(y))
        replace(rw, n->out[0], y);
    return ox_ok(y);
}

bool pass_heads(Graph *g, const TidyOptions *o)
{
    if (!graph_has(g, "Attention"))
        return true;
    return rewrite(g, o, ask_for_less, NULL) && rewrite(g, o, share_heads, NULL) &&
        pass_unused(g, o);
}

/* ---- caches ---- */

/* Does v, an output of the model that only n reads, append the tokens of a run to a cache? Its node
 * is Concat(past, new). ONNX Runtime's kernel takes no empty tensor of new ones. */
static Node *appends(Rewrite *rw, Ox v, const Node *n)
{
    Node *c = made_by(v, "Concat");
    if (!c || c->graph != n->graph || c->n_in != 2 || !v->is_output || uses_of(rw, v) != 2)
        return NULL;
    int64_t axis = node_int(c, "axis", 0);
    bool along = axis == 2 || axis == -2;
    return along && ox_never_empty(rw->cx, c->in[1]) ? c : NULL;
}

/* With is_causal and a cache the operator counts positions from the end, without one from the
 * start. */
static bool join_cache(Rewrite *rw, Node *n)
{
    Ox out[3];
    if (!is_attention_of_four_axes(n) || node_int(n, "is_causal", 0))
        return true;
    Node *k = appends(rw, n->in[K], n);
    Node *v = appends(rw, n->in[V], n);
    if (!k || !v || k == v || !same(rw->cx, k->in[0], 2, v->in[0], 2))
        return true;
    OxList in = INPUTS(n->in[Q], k->in[1], v->in[1], in_of(n, MASK), k->in[0], v->in[0]);
    if (!ox_make_n(n->graph, "Attention", in, n->attr, (size_t)n->n_attr, out, 3))
        return false;
    replace(rw, n->out[0], out[0]);
    replace(rw, k->out[0], out[1]);
    replace(rw, v->out[0], out[2]);
    return true;
}

bool pass_caches(Graph *g, const TidyOptions *o)
{
    if (!graph_has(g, "Attention"))
        return true;
    return rewrite(g, o, join_cache, NULL) && pass_unused(g, o);
}
