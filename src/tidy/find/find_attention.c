/* find_attention.c - what find.rules does not say of attention: which sizes its parts have.
 *
 *     softmax(q*r @ (k*r)^T + mask) @ v  ->  Attention(q, k, v, mask), scale r*r
 *         q [batch, heads, L, E], k [batch, heads, S, E], v [batch, heads, S, F]
 *
 * torch multiplies matrices of rank 3: batch and heads are one axis there, [batch * heads, L, E].
 * Each Reshape between must do that and nothing else. As src/ops/nn/attention.c writes it: for
 * float32, where no size can be 0 and the mask has whole rows and columns. */
#include "tidy/find/find.h"

#include <math.h>

enum { Q, K, V, MASK };

static bool same(Ctx *cx, Ox a, int i, Ox b, int k)
{
    return dim_eq(cx, ox_dim(a, i), ox_dim(b, k)) == YES;
}

static bool is_plain(Ctx *cx, Ox x) { return ox_dtype(x) == DT_FLOAT && ox_never_empty(cx, x); }

/* Does a Reshape only join or split batch and heads: rows and columns stay, and batch and heads,
 * where they are two axes, are those of q? */
static bool only_joins(Ctx *cx, Ox from, Ox to, Ox q)
{
    const Ox both[] = { from, to };
    int m = ox_rank(from);
    int n = ox_rank(to);
    if (m < 3 || n < 3 || !same(cx, from, m - 1, to, n - 1) || !same(cx, from, m - 2, to, n - 2))
        return false;
    for (int i = 0; i < 2; i++)
        if (ox_rank(both[i]) > 3 &&
            (ox_rank(both[i]) != 4 || !same(cx, both[i], 0, q, 0) || !same(cx, both[i], 1, q, 1)))
            return false;
    return true;
}

/* Do the sizes of q, k, v and the mask fit together? v may be of rank 3, its batch and heads
 * joined by another Reshape. */
static bool sizes_fit(Ctx *cx, const Ox *in)
{
    Ox q = in[Q];
    Ox k = in[K];
    Ox v = in[V];
    int rank = ox_rank(v);
    if (ox_rank(q) != 4 || ox_rank(k) != 4 || (rank != 4 && rank != 3) || !is_plain(cx, q) ||
        !is_plain(cx, k) || !is_plain(cx, v))
        return false;
    bool batch = same(cx, q, 0, k, 0) && same(cx, q, 1, k, 1) &&
        (rank == 3 || (same(cx, q, 0, v, 0) && same(cx, q, 1, v, 1)));
    return batch && same(cx, q, 3, k, 3) && same(cx, k, 2, v, rank - 2);
}

static bool mask_fits(Ctx *cx, const Ox *in)
{
    Ox mask = in[MASK];
    int rank = mask ? ox_rank(mask) : 0;
    return !mask ||
        (rank >= 2 && rank <= 4 && same(cx, mask, rank - 2, in[Q], 2) &&
         same(cx, mask, rank - 1, in[K], 2));
}

bool attention_fits(const Rewrite *rw, const RuleMatch *m)
{
    if (!sizes_fit(rw->cx, m->param) || !mask_fits(rw->cx, m->param))
        return false;
    for (size_t i = 0; i < m->n_inner; i++)
        if (node_is(m->inner[i]->node, "Reshape") &&
            !only_joins(rw->cx, m->inner[i]->node->in[0], m->inner[i], m->param[Q]))
            return false;
    return true;
}

/* Is the scale PyTorch's default? Then r is the fourth root of 1/E, to the precision of float32. */
static bool is_usual(double scale, Ox q)
{
    int64_t e;
    return dim_known(ox_dim(q, 3), &e) && fabs(scale * sqrt((double)e) - 1) < 1e-6;
}

Ox attention_write(Graph *g, const RuleMatch *m, const Ox *in)
{
    double scale = m->n_attr ? m->attr[0].f * m->attr[0].f : 1;
    Ox q = in[Q];
    Ox v = in[V];
    if (ox_rank(v) == 3)
        v = ox_g(
            g, "Reshape", v,
            ox_dims(g, (const Dim[]){ ox_dim(q, 0), ox_dim(q, 1), ox_dim(v, 1), ox_dim(v, 2) }, 4));
    return ox_make(g, "Attention", INPUTS(q, in[K], v, in[MASK]),
                   ATTRS(is_usual(scale, q) ? NO_ATTR : FLOAT("scale", scale)));
}
