/* combine.c - two nodes that one can say.
 *
 *     Transpose(Transpose(x, p), q)  ->  Transpose(x, p*q)
 *     Transpose(x, p)                ->  Reshape(x, ..)
 *         where p moves axes of a single element only
 *     Unsqueeze(Unsqueeze(x, a), b)  ->  Unsqueeze(x, a+b)
 *         Squeeze alike
 *     Reshape(Reshape(x, a), b)      ->  Reshape(x, b)
 *         either may be Flatten, Squeeze or Unsqueeze as well; x itself where that is its shape
 *     Where(Not(c), x, y)            ->  Where(c, y, x)
 *     Concat(Concat(x, y), z)        ->  Concat(x, y, z)
 *     MatMul(Cast(Transpose(x)), y)  ->  MatMul(Transpose(Cast(x)), y)
 *         where ONNX Runtime does not survive the former; or y with as many axes as x */
#include "tidy/internal.h"

static bool perm_of(const Node *n, int64_t *perm, int *rank)
{
    const int64_t *given;
    size_t count;
    *rank = ox_rank(n->out[0]);
    if (*rank < 0)
        return false;
    bool has = node_ints(n, "perm", &given, &count);
    for (int i = 0; i < *rank; i++)
        perm[i] = has ? given[i] : *rank - 1 - i;
    return true;
}

/* Transpose(Transpose(x, p), q) -> Transpose(x, p[q]), or x where that is the old order. */
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

/* v's shape as the constant shape of a Reshape. False: more than one size is dynamic, or one may
 * be 0. */
static bool constant_shape(Ox v, int64_t *shape)
{
    int open = 0;
    if (ox_rank(v) < 0)
        return false;
    for (int i = 0; i < ox_rank(v); i++) {
        bool known = dim_known(ox_dim(v, i), &shape[i]);
        if (known && shape[i] == 0)
            return false;
        shape[i] = known ? shape[i] : -1;
        open += !known;
    }
    return open <= 1;
}

/* Does n, a Transpose, leave all elements in order? Then it is written as a Reshape, which other
 * Reshapes can join. */
static bool moves_nothing(const Node *n)
{
    int64_t perm[MAX_RANK], last = -1;
    int rank;
    if (!node_is(n, "Transpose") || !perm_of(n, perm, &rank))
        return false;
    for (int i = 0; i < rank; i++) {
        if (dim_is(ox_dim(n->out[0], i), 1))
            continue;
        if (perm[i] < last)
            return false;
        last = perm[i];
    }
    return true;
}

static bool say_transpose(Rewrite *rw, Node *n)
{
    int64_t shape[MAX_RANK];
    if (!moves_nothing(n) || !constant_shape(n->out[0], shape))
        return join_transpose(rw, n);
    Ox y = ox_g(n->graph, "Reshape", n->in[0],
                ox_ints(n->graph, shape, (size_t)ox_rank(n->out[0])));
    if (ox_ok(y))
        replace(rw, n->out[0], y);
    return ox_ok(y);
}

bool pass_transposes(Graph *g, const TidyOptions *o)
{
    return !graph_has(g, "Transpose") || rewrite(g, o, say_transpose, NULL);
}

/* The axes of a Squeeze or Unsqueeze: marked[i] says whether it removes or adds axis i of
 * `larger`, its input or output with more axes. */
static bool marked_axes(const Node *n, Ox larger, bool *marked)
{
    const int64_t *axes;
    int64_t count;
    int rank = ox_rank(larger);
    if (rank < 0 || !in_of(n, 1) || !ox_known_ints(n->graph, n->in[1], &axes, &count))
        return false;
    for (int i = 0; i < rank; i++)
        marked[i] = false;
    for (int64_t i = 0; i < count; i++)
        marked[axes[i] < 0 ? axes[i] + rank : axes[i]] = true;
    return true;
}

/* Squeeze(Squeeze(x, a), b) and Unsqueeze alike: the axes of the node at the side with more
 * axes, and those of the other node counted among the rest. */
static bool join_axes(Rewrite *rw, Node *n, const char *op)
{
    bool wide[MAX_RANK], narrow[MAX_RANK];
    int64_t axes[MAX_RANK];
    size_t count = 0;
    Node *first = node_is(n, op) ? made_by(n->in[0], op) : NULL;
    if (!first)
        return true;
    bool adds = ox_rank(n->out[0]) > ox_rank(first->in[0]);
    Node *outer = adds ? n : first;
    Node *inner = adds ? first : n;
    Ox larger = adds ? n->out[0] : first->in[0];
    if (!marked_axes(outer, larger, wide) || !marked_axes(inner, first->out[0], narrow))
        return true;
    for (int i = 0, k = 0; i < ox_rank(larger); i++)
        if (wide[i] || narrow[k++])
            axes[count++] = i;
    Ox y = ox_g(n->graph, op, first->in[0], ox_ints(n->graph, axes, count));
    if (ox_ok(y))
        replace(rw, n->out[0], y);
    return ox_ok(y);
}

static bool join_unsqueeze(Rewrite *rw, Node *n) { return join_axes(rw, n, "Unsqueeze"); }
static bool join_squeeze(Rewrite *rw, Node *n) { return join_axes(rw, n, "Squeeze"); }

bool pass_unsqueezes(Graph *g, const TidyOptions *o)
{
    return (!graph_has(g, "Unsqueeze") || rewrite(g, o, join_unsqueeze, NULL)) &&
        (!graph_has(g, "Squeeze") || rewrite(g, o, join_squeeze, NULL));
}

bool is_reshape(const Node *n)
{
    return node_is(n, "Reshape") || node_is(n, "Flatten") || node_is(n, "Squeeze") ||
        node_is(n, "Unsqueeze");
}

/* Are the items of a Reshape's shape known or expressions, and none 0? A 0 would copy a size of
 * the Reshape's input, which is another tensor once two Reshapes are joined. */
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

/* Has `from` as many elements as `to` whatever its sizes are? Not where a Squeeze between the two
 * takes a size for 1 as its example was: a Reshape of [N,2] to [1,2] would ask for N = 1 anew. */
static bool as_many(Ctx *cx, Ox from, Ox to)
{
    Dim have = type_numel(cx, from->type);
    Dim want = type_numel(cx, to->type);
    return !have || !want || dim_eq(cx, have, want) == YES;
}

/* Reshape(Reshape(x, a), b) -> Reshape(x, b), or x where b is the shape of x. */
static bool join_reshape(Rewrite *rw, Node *n)
{
    int64_t shape[MAX_RANK];
    Ox x = is_reshape(n) ? n->in[0] : NULL;
    Ox y = NULL;
    if (!x)
        return true;
    Graph *g = n->graph;
    bool joins = x->kind == OX_NODE && x->out == 0 && is_reshape(x->node);
    Ox from = joins ? x->node->in[0] : x;
    if (same_shape(rw->cx, from, n->out[0]))
        y = from;
    else if (!joins || !as_many(rw->cx, from, n->out[0]))
        return true;
    else if (node_is(n, "Reshape") && says_all(rw->cx, n->in[1]))
        y = ox_make(g, "Reshape", INPUTS(from, n->in[1]), n->attr, (size_t)n->n_attr);
    else if (!node_is(n, "Reshape") && constant_shape(n->out[0], shape))
        y = ox_g(g, "Reshape", from, ox_ints(g, shape, (size_t)ox_rank(n->out[0])));
    if (y && ox_ok(y))
        replace(rw, n->out[0], y);
    return !y || ox_ok(y);
}

static bool has_reshapes(const Graph *g)
{
    return graph_has(g, "Reshape") || graph_has(g, "Squeeze") || graph_has(g, "Unsqueeze") ||
        graph_has(g, "Flatten");
}

bool pass_reshapes(Graph *g, const TidyOptions *o)
{
    return !has_reshapes(g) || rewrite(g, o, join_reshape, NULL);
}

static bool join_not(Rewrite *rw, Node *n)
{
    Node *turned = node_is(n, "Where") ? made_by(n->in[0], "Not") : NULL;
    if (!turned)
        return true;
    Ox y = ox_g(n->graph, "Where", turned->in[0], n->in[2], n->in[1]);
    if (ox_ok(y))
        replace(rw, n->out[0], y);
    return ox_ok(y);
}

bool pass_nots(Graph *g, const TidyOptions *o)
{
    return !graph_has(g, "Not") || rewrite(g, o, join_not, NULL);
}

/* ---- Concat of Concats ---- */

/* The axis along which a Concat joins; -1: its rank is not known. */
static int joined_axis(const Node *n)
{
    int rank = ox_rank(n->out[0]);
    return rank < 0 ? -1 : node_axis(n, rank);
}

/* The Concat along the same axis that makes input i of n, and of which nothing else reads; NULL:
 * it is something else. */
static Node *inner_concat(const Rewrite *rw, const Node *n, int i)
{
    Ox v = n->in[i];
    Node *inner = made_by(v, "Concat");
    bool mine = inner && inner->graph == n->graph && used_once(rw, v) && !dim_is_origin(v);
    return mine && joined_axis(inner) == joined_axis(n) && joined_axis(n) >= 0 ? inner : NULL;
}

static void note_inner_of(void *arg, const Node *n)
{
    Rewrite *rw = arg;
    for (int i = 0; node_is(n, "Concat") && i < n->n_in; i++) {
        Node *inner = inner_concat(rw, n, i);
        if (inner)
            map_put(rw->cx, rw->arg, inner, inner);
    }
}

/* Notes the Concats that are parts of others: only the outermost one is made anew. */
static void note_inner(Rewrite *rw, const Graph *g) { each_node(g, note_inner_of, rw); }

/* A Concat of which the inputs are gone through. */
typedef struct Opened {
    const Node *node;
    int next;
} Opened;

/* Joins the inputs of n with those of the Concats inside it, in their order; a list of them grows
 * once, however deep they lie. */
static bool join_concat(Rewrite *rw, Node *n)
{
    Ctx *cx = rw->cx;
    VEC(Opened) way = { 0 };
    VEC(Ox) parts = { 0 };
    if (!node_is(n, "Concat") || map_find(rw->arg, n))
        return true;
    vec_push(cx, &way, ((Opened){ n, 0 }));
    while (way.n && !ctx_failed(cx)) {
        Opened *last = &way.at[way.n - 1];
        if (last->next == last->node->n_in) {
            way.n--;
            continue;
        }
        int i = last->next++;
        Node *inner = inner_concat(rw, last->node, i);
        if (inner && map_find(rw->arg, inner))
            vec_push(cx, &way, ((Opened){ inner, 0 }));
        else
            vec_push(cx, &parts, last->node->in[i]);
    }
    if (parts.n == (size_t)n->n_in || ctx_failed(cx))
        return !ctx_failed(cx);
    Ox y = ox_make(n->graph, "Concat", (OxList)LIST(parts), n->attr, (size_t)n->n_attr);
    if (ox_ok(y) && same_shape(cx, y, n->out[0]))
        replace(rw, n->out[0], y);
    return ox_ok(y);
}

bool pass_concats(Graph *g, const TidyOptions *o)
{
    return !graph_has(g, "Concat") || rewrite_planned(g, o, note_inner, join_concat, &(Map){ 0 });
}

/* Exact, as IEEE has x + -y and x - y. Gradients are full of these: of a - b, a / b, cos(a). */
static bool join_neg(Rewrite *rw, Node *n)
{
    bool adds = node_is(n, "Add");
    bool subtracts = node_is(n, "Sub");
    if (!adds && !subtracts && !node_is(n, "Neg"))
        return true;
    Node *last = made_by(n->in[n->n_in - 1], "Neg");
    Node *first = adds ? made_by(n->in[0], "Neg") : NULL;
    Ox y;
    if (last && (adds || subtracts))
        y = ox_g(n->graph, adds ? "Sub" : "Add", n->in[0], last->in[0]);
    else if (last)
        y = last->in[0];
    else if (first)
        y = ox_g(n->graph, "Sub", n->in[1], first->in[0]);
    else
        return true;
    if (ox_ok(y))
        replace(rw, n->out[0], y);
    return ox_ok(y);
}

bool pass_negs(Graph *g, const TidyOptions *o)
{
    return !graph_has(g, "Neg") || rewrite(g, o, join_neg, NULL);
}

/* ---- casts between Transpose and MatMul ---- */

/* Does n, a Transpose, move axis 0 to the end, or before the last axis, and nothing else? */
static bool moves_batch(const Node *n)
{
    int64_t perm[MAX_RANK];
    int rank;
    if (!perm_of(n, perm, &rank) || rank < 3)
        return false;
    int batch = perm[rank - 1] == 0 ? rank - 1 : rank - 2; /* where axis 0 is then */
    bool so = perm[batch] == 0 && (batch == rank - 1 || perm[rank - 1] == rank - 1);
    for (int i = 0; i < batch; i++)
        so &= perm[i] == i + 1;
    return so;
}

/* v, a Cast of such a Transpose, cast first; else v. */
static Ox cast_before_turn(Graph *g, Ox v)
{
    Node *cast = made_by(v, "Cast");
    Node *turn = cast ? made_by(cast->in[0], "Transpose") : NULL;
    if (!turn || !moves_batch(turn))
        return v;
    Ox x = ox_make(g, "Cast", INPUTS(turn->in[0]), cast->attr, (size_t)cast->n_attr);
    return ox_make(g, "Transpose", INPUTS(x), turn->attr, (size_t)turn->n_attr);
}

/* May ONNX Runtime move a Transpose to v, as it moves them towards the results? No, where `looks`
 * at so many values have found none. */
static bool turn_arrives(Ox v, int *looks)
{
    static const char *const stops[] = {
        "Reshape", "Flatten", "MatMul", "Gemm",   "Conv",     "ConvTranspose", "LayerNormalization",
        "LSTM",    "GRU",     "RNN",    "Einsum", "Attention"
    };
    if (!v || v->kind != OX_NODE || --*looks < 0 || is_one_of(v->node, stops, COUNT(stops)))
        return false;
    if (node_is(v->node, "Transpose"))
        return true;
    int n = v->node->n_in < *looks ? v->node->n_in : *looks;
    for (int i = 0; i < n; i++)
        if (turn_arrives(v->node->in[i], looks))
            return true;
    return false;
}

/* w with axes of one in front, so that it has as many as v has; w where the opset has no operator
 * of this form. */
static Ox of_rank(const Rewrite *rw, Graph *g, Ox w, Ox v)
{
    int64_t axes[MAX_RANK], dims[MAX_RANK];
    int more = ox_rank(v) - ox_rank(w);
    for (int i = 0; i < ox_rank(v); i++) {
        axes[i] = i;
        dims[i] = !is_const(w) || i < more ? 1 : w->k->dims[i - more];
    }
    if (is_const(w))
        return ox_const(g, const_reshape(rw->cx, w->k, ox_rank(v), dims));
    return rw->o->opset < 13 ? w : ox_g(g, "Unsqueeze", w, ox_ints(g, axes, (size_t)more));
}

/* With optimisations ONNX Runtime 1.31 ends the process as it loads MatMul(Cast(Transpose(x)), y)
 * where that Transpose moves the batch and y has another rank: its MatmulTransposeFusion takes the
 * Cast away first. The Transpose may be one that it has moved there itself. */
static bool move_cast(Rewrite *rw, Node *n)
{
    if (!node_is(n, "MatMul"))
        return true;
    for (int i = 0; i < 2 && ox_rank(n->in[0]) != ox_rank(n->in[1]); i++) {
        Ox v = n->in[i] = cast_before_turn(n->graph, n->in[i]);
        Ox w = n->in[1 - i];
        int looks = 64;
        if (ox_rank(w) >= 0 && ox_rank(w) < ox_rank(v) && made_by(v, "Cast") &&
            turn_arrives(v, &looks))
            n->in[1 - i] = of_rank(rw, n->graph, w, v);
    }
    return ox_ok(n->in[0]) && ox_ok(n->in[1]);
}

bool pass_casts(Graph *g, const TidyOptions *o)
{
    return !o->target_ort || !graph_has(g, "Cast") || rewrite(g, o, move_cast, NULL);
}
