/* join.c - two nodes that one can say.
 *
 *     Transpose(Transpose(x, p), q)  ->  Transpose(x, p*q)
 *     Transpose(x, p)                ->  Reshape(x, ..)        where p moves axes of a single element only
 *     Unsqueeze(Unsqueeze(x, a), b)  ->  Unsqueeze(x, a+b)
 *     Reshape(Reshape(x, a), b)      ->  Reshape(x, b)         the first may be Flatten, Squeeze or Unsqueeze as well; x, of its own shape */
#include "tidy/internal.h"

static bool perm_of(const Node *n, int64_t *perm, int *rank)
{
    const int64_t *told;
    size_t count;
    *rank = ox_rank(n->out[0]);
    if (*rank < 0)
        return false;
    bool has = node_ints(n, "perm", &told, &count);
    for (int i = 0; i < *rank; i++)
        perm[i] = has ? told[i] : *rank - 1 - i;
    return true;
}

static bool join_transpose(Rewrite *rw, Node *n)
{
    int64_t first[MAX_RANK], second[MAX_RANK], both[MAX_RANK];
    int rank, same;
    Node *inner = node_is(n, "Transpose") ? made_by(n->in[0], "Transpose") : NULL;
    if (!inner || !perm_of(inner, first, &rank) || !perm_of(n, second, &same))
        return true;
    bool straight = true;
    for (int i = 0; i < rank; i++) {
        both[i] = first[second[i]];
        straight &= both[i] == i;
    }
    Ox x = inner->in[0];
    if (!straight)
        x = ox_g_with(n->graph, "Transpose", INPUTS(x), INT_LIST("perm", both, (size_t)rank));
    if (ox_ok(x))
        replace(rw, n->out[0], x);
    return ox_ok(x);
}

/* The elements stay in order: a Reshape says it, which others join. At most one size may be open, for the shape is a constant then. */
static bool moves_nothing(const Node *n, int64_t *shape)
{
    int64_t perm[MAX_RANK], last = -1;
    int rank, open = 0, empty = 0;
    if (!node_is(n, "Transpose") || !perm_of(n, perm, &rank))
        return false;
    for (int i = 0; i < rank; i++) {
        bool known = dim_known(ox_dim(n->out[0], i), &shape[i]);
        shape[i] = known ? shape[i] : -1;
        open += !known;
        empty += known && shape[i] == 0;
        if (known && shape[i] == 1)
            continue;
        if (perm[i] < last)
            return false;
        last = perm[i];
    }
    return open <= 1 && empty == 0;
}

static bool say_transpose(Rewrite *rw, Node *n)
{
    int64_t shape[MAX_RANK];
    if (!moves_nothing(n, shape))
        return join_transpose(rw, n);
    Ox y = ox_g(n->graph, "Reshape", n->in[0], ox_ints(n->graph, shape, (size_t)ox_rank(n->out[0])));
    if (ox_ok(y))
        replace(rw, n->out[0], y);
    return ox_ok(y);
}

bool pass_transposes(Graph *g, const TidyOptions *o) { return !graph_has(g, "Transpose") || rewrite(g, o, say_transpose, NULL); }

/* The axes of an Unsqueeze, from the front, as marks of its result's. */
static bool new_axes(const Node *n, bool *is_new)
{
    const int64_t *axes;
    int64_t count;
    int rank = ox_rank(n->out[0]);
    if (rank < 0 || !ox_known_ints(n->graph, n->in[1], &axes, &count))
        return false;
    for (int i = 0; i < rank; i++)
        is_new[i] = false;
    for (int64_t i = 0; i < count; i++)
        is_new[axes[i] < 0 ? axes[i] + rank : axes[i]] = true;
    return true;
}

static bool join_unsqueeze(Rewrite *rw, Node *n)
{
    bool outer[MAX_RANK], inner[MAX_RANK];
    int64_t axes[MAX_RANK];
    size_t count = 0;
    Node *first = node_is(n, "Unsqueeze") ? made_by(n->in[0], "Unsqueeze") : NULL;
    if (!first || !new_axes(n, outer) || !new_axes(first, inner))
        return true;
    for (int i = 0, k = 0; i < ox_rank(n->out[0]); i++)
        if (outer[i] || inner[k++])
            axes[count++] = i;
    Ox y = ox_g(n->graph, "Unsqueeze", first->in[0], ox_ints(n->graph, axes, count));
    if (ox_ok(y))
        replace(rw, n->out[0], y);
    return ox_ok(y);
}

bool pass_unsqueezes(Graph *g, const TidyOptions *o) { return !graph_has(g, "Unsqueeze") || rewrite(g, o, join_unsqueeze, NULL); }

static bool is_reshape(const Node *n)
{
    return node_is(n, "Reshape") || node_is(n, "Flatten") || node_is(n, "Squeeze") || node_is(n, "Unsqueeze");
}

/* A 0 in the shape copies a dimension of the very input that would change. */
static bool says_all(Ctx *cx, Ox shape)
{
    const Dim *items;
    int64_t n;
    if (!ox_items(shape, &items, &n))
        return false;
    for (int64_t i = 0; i < n; i++)
        if (dim_eq(cx, items[i], dim_int(cx, 0)) == YES)
            return false;
    return true;
}

static bool join_reshape(Rewrite *rw, Node *n)
{
    Ox x = node_is(n, "Reshape") ? n->in[0] : NULL;
    if (!x || x->kind != OX_NODE || x->out != 0 || !is_reshape(x->node) || !says_all(rw->cx, n->in[1]))
        return true;
    Ox from = x->node->in[0];
    bool back = same_shape(rw->cx, from, n->out[0]);
    Ox y = back ? from : ox_make(n->graph, "Reshape", INPUTS(from, n->in[1]), n->attr, n->n_attr);
    if (ox_ok(y))
        replace(rw, n->out[0], y);
    return ox_ok(y);
}

bool pass_reshapes(Graph *g, const TidyOptions *o) { return !graph_has(g, "Reshape") || rewrite(g, o, join_reshape, NULL); }
