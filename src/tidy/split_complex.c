/* split_complex.c - complex values become float tensors with a last axis of 2: ONNX has few
 * operators that take complex ones.
 *
 *     Transpose<perm=[1, 0]>(z: complex64[N,3])  ->  Transpose<perm=[1, 0, 2]>(z: float32[N,3,2])
 *
 * A graph that is being built holds complex values only as inputs, constants, results of Pair and
 * OfPair (onnx/complex_parts.c) and of operators that move elements about. Each of those is made
 * again on the pair, with the last axis kept out of its way; inputs and outputs of graphs, bodies
 * of loops and branches included, follow. What is not in the list below is refused by name. */
#include "tidy/internal.h"

/* Nodes with complex inputs or outputs, found before any of them is replaced; and complex graph
 * inputs (from) with their replacements (to). */
typedef struct Pairs {
    Map touched;
    VEC(Ox) from, to;
    bool begun;
} Pairs;

static bool is_complex(Ox v)
{
    return v && v->type && v->type->kind == T_TENSOR && dtype_is_complex(ox_dtype(v));
}

/* The float tensor that stands for v: a constant with the same bytes, or the replacement of any
 * other value. */
static Ox pair_of(Rewrite *rw, Graph *g, Ox v)
{
    v = current(rw, v);
    return is_complex(v) && v->kind == OX_CONST ? ox_const(g, const_as_pairs(rw->cx, v->k)) : v;
}

/* The rank of the complex value that this pair stands for. */
static int rank_of(Ox pair) { return ox_rank(pair) - 1; }

/* ---- making a node again ---- */

enum { MORE = 4 }; /* most inputs, and most attributes, that are set besides the node's own */
typedef struct Again {
    Ox *in;
    Attr *attr;
    size_t n_in, n_attr;
} Again;

static bool begin_again(Rewrite *rw, Node *n, Again *a)
{
    *a = (Again){ .in = new_array(rw->cx, Ox, n->n_in + MORE),
                  .attr = new_array(rw->cx, Attr, n->n_attr + MORE),
                  .n_in = (size_t)n->n_in,
                  .n_attr = (size_t)n->n_attr };
    if (!a->in || !a->attr)
        return false;
    for (size_t i = 0; i < a->n_in; i++)
        a->in[i] = n->in[i] ? pair_of(rw, n->graph, n->in[i]) : NULL;
    for (size_t i = 0; i < a->n_attr; i++)
        a->attr[i] = n->attr[i];
    return true;
}

static void set_attr(Again *a, Attr attr)
{
    for (size_t i = 0; i < a->n_attr; i++)
        if (strcmp(a->attr[i].name, attr.name) == 0) {
            a->attr[i] = attr;
            return;
        }
    a->attr[a->n_attr++] = attr;
}

static bool make_again(Rewrite *rw, Node *n, const Again *a)
{
    Ox *out = new_array(rw->cx, Ox, n->n_out);
    if (!out ||
        !ox_make_n(n->graph, n->name->s, (OxList){ a->in, a->n_in }, a->attr, a->n_attr, out,
                   (size_t)n->n_out))
        return false;
    for (int i = 0; i < n->n_out; i++)
        replace(rw, n->out[i], out[i]);
    return true;
}

/* v with `more` as further items: shapes and repeats. */
static Ox appended(Graph *g, Ox v, int64_t more)
{
    Ox last = ox_ints(g, &more, 1);
    return ox_g_with(g, "Concat", INPUTS(v, last), INT("axis", 0));
}

static Ox with_last_axis(Graph *g, Ox v, int axis)
{
    Ox at = ox_ints(g, (int64_t[]){ axis }, 1);
    return ox_g(g, "Unsqueeze", v, at);
}

/* ---- operators ---- */

typedef struct Pairable {
    const char *op;
    bool (*fn)(Rewrite *rw, Node *n);
} Pairable;

static bool as_it_is(Rewrite *rw, Node *n)
{
    Again a;
    return begin_again(rw, n, &a) && make_again(rw, n, &a);
}

static bool longer_shape(Rewrite *rw, Node *n)
{
    Again a;
    if (!begin_again(rw, n, &a))
        return false;
    a.in[1] = appended(n->graph, a.in[1], node_is(n, "Tile") ? 1 : 2);
    return make_again(rw, n, &a);
}

static bool transpose(Rewrite *rw, Node *n)
{
    Again a;
    const int64_t *perm;
    size_t count = 0;
    if (!begin_again(rw, n, &a))
        return false;
    int rank = rank_of(a.in[0]);
    bool given = node_ints(n, "perm", &perm, &count);
    int64_t *all = new_array(rw->cx, int64_t, rank + 1);
    if (!all)
        return false;
    for (int i = 0; i < rank; i++)
        all[i] = given ? perm[i] : rank - 1 - i;
    all[rank] = rank;
    set_attr(&a, INT_LIST("perm", all, rank + 1));
    return make_again(rw, n, &a);
}

/* Operators with an `axis`: it counts from the front, as the pair has one axis more at the end. */
static bool by_axis(Rewrite *rw, Node *n)
{
    Again a;
    if (!begin_again(rw, n, &a))
        return false;
    int64_t axis = node_int(n, "axis", 0);
    set_attr(&a, INT("axis", axis < 0 ? axis + rank_of(a.in[0]) : axis));
    return make_again(rw, n, &a);
}

/* Makes axes that are an input count from the front. */
static bool axes_from_front(Rewrite *rw, Graph *g, Ox *axes, int rank)
{
    const int64_t *at;
    int64_t n;
    if (!ox_known_ints(g, *axes, &at, &n))
        return fail(rw->cx, E_UNSUPPORTED, "axes that are not known, of a complex tensor");
    int64_t *front = new_array(rw->cx, int64_t, n + 1);
    if (!front)
        return false;
    for (int64_t i = 0; i < n; i++)
        front[i] = at[i] < 0 ? at[i] + rank : at[i];
    *axes = ox_ints(g, front, (size_t)n);
    return true;
}

static bool by_axes(Rewrite *rw, Node *n)
{
    Again a;
    if (!begin_again(rw, n, &a))
        return false;
    size_t at = node_is(n, "Slice") ? 3 : 1;
    int rank = node_is(n, "Unsqueeze") ? ox_rank(n->out[0]) : rank_of(a.in[0]);
    if (a.n_in > at && a.in[at] && !axes_from_front(rw, n->graph, &a.in[at], rank))
        return false;
    return make_again(rw, n, &a);
}

/* Parts are replaced and added up by themselves; a product of complex numbers mixes them. */
static bool keeps_parts_apart(Rewrite *rw, const Node *n)
{
    const char *how = node_str(n, "reduction", "none");
    if (strcmp(how, "none") == 0 || strcmp(how, "add") == 0)
        return true;
    fail(rw->cx, E_UNSUPPORTED,
         "a product of the complex elements that fall on one index has no form with real ones");
    fail_hint(rw->cx,
              "z * torch.ones_like(z).scatter(dim, index, src), where no index is repeated");
    return false;
}

static bool scatter_rows(Rewrite *rw, Node *n)
{
    return keeps_parts_apart(rw, n) && as_it_is(rw, n);
}

/* GatherElements and ScatterElements: both parts of an element lie where the index says. */
static bool by_elements(Rewrite *rw, Node *n)
{
    Again a;
    if (!keeps_parts_apart(rw, n) || !begin_again(rw, n, &a))
        return false;
    int64_t axis = node_int(n, "axis", 0);
    Ox at = with_last_axis(n->graph, a.in[1], ox_rank(a.in[1]));
    Ox shape = appended(n->graph, ox_shape(n->graph, a.in[1]), 2);
    a.in[1] = ox_g(n->graph, "Expand", at, shape);
    set_attr(&a, INT("axis", axis < 0 ? axis + rank_of(a.in[0]) : axis));
    return make_again(rw, n, &a);
}

static bool where(Rewrite *rw, Node *n)
{
    Again a;
    if (!begin_again(rw, n, &a))
        return false;
    if (ox_rank(a.in[0]) < 0)
        return fail(rw->cx, E_UNSUPPORTED,
                    "a choice between complex tensors by a condition of unknown rank");
    a.in[0] = with_last_axis(n->graph, a.in[0], ox_rank(a.in[0]));
    return make_again(rw, n, &a);
}

/* Pads both parts by themselves, where the value that is filled in has different parts. */
static bool pad_parts(Rewrite *rw, Node *n, const Again *a, Ox re, Ox im)
{
    Ox last = ox_ints(n->graph, (int64_t[]){ -1 }, 1);
    Ox part[2] = { re, im };
    for (int i = 0; i < 2; i++) {
        Ox x = ox_g_with(n->graph, "Gather", INPUTS(a->in[0], ox_int(n->graph, i)),
                         INT("axis", -1));
        part[i] = ox_make(n->graph, "Pad", INPUTS(x, a->in[1], part[i], a->in[3]), a->attr,
                          a->n_attr);
        part[i] = ox_g(n->graph, "Unsqueeze", part[i], last);
    }
    Ox out = ox_g_with(n->graph, "Concat", INPUTS(part[0], part[1]), INT("axis", -1));
    replace(rw, n->out[0], out);
    return ox_ok(out);
}

/* Pad: the value that is filled in mostly has the same parts, 0 and 0. */
static bool pad(Rewrite *rw, Node *n)
{
    Again a;
    if (!begin_again(rw, n, &a))
        return false;
    int rank = rank_of(a.in[0]);
    int64_t all[MAX_RANK];
    for (int i = 0; i < rank; i++)
        all[i] = i;
    Ox re = NULL;
    Ox im = NULL;
    if (a.n_in > 2 && a.in[2]) {
        re = ox_g_with(n->graph, "Gather", INPUTS(a.in[2], ox_int(n->graph, 0)), INT("axis", -1));
        im = ox_g_with(n->graph, "Gather", INPUTS(a.in[2], ox_int(n->graph, 1)), INT("axis", -1));
        a.in[2] = re;
    } else if (a.n_in < 4) {
        a.in[2] = NULL;
    }
    if (a.n_in < 4 || !a.in[3])
        a.in[3] = ox_ints(n->graph, all, (size_t)rank), a.n_in = 4;
    else if (!axes_from_front(rw, n->graph, &a.in[3], rank))
        return false;
    return re == im ? make_again(rw, n, &a) : pad_parts(rw, n, &a, re, im);
}

/* Trilu works on the last two axes: the axis of parts is moved in front of them, and back. */
static bool trilu(Rewrite *rw, Node *n)
{
    Again a;
    if (!begin_again(rw, n, &a))
        return false;
    int rank = rank_of(a.in[0]);
    int64_t to[MAX_RANK], back[MAX_RANK];
    for (int i = 0; i <= rank; i++)
        to[i] = back[i] = i;
    to[rank - 2] = rank, to[rank - 1] = rank - 2, to[rank] = rank - 1;
    back[rank - 2] = rank - 1, back[rank - 1] = rank, back[rank] = rank - 2;
    a.in[0] = ox_g_with(n->graph, "Transpose", INPUTS(a.in[0]), INT_LIST("perm", to, rank + 1));
    Ox out = ox_make(n->graph, "Trilu", (OxList){ a.in, a.n_in }, a.attr, a.n_attr);
    out = ox_g_with(n->graph, "Transpose", INPUTS(out), INT_LIST("perm", back, rank + 1));
    replace(rw, n->out[0], out);
    return ox_ok(out);
}

/* NonZero: a complex element is not 0 when one of its parts is not. */
static bool non_zero(Rewrite *rw, Node *n)
{
    Graph *g = n->graph;
    Ox parts = ox_cast(g, pair_of(rw, g, n->in[0]), DT_BOOL);
    Ox re = ox_g_with(g, "Gather", INPUTS(parts, ox_int(g, 0)), INT("axis", -1));
    Ox im = ox_g_with(g, "Gather", INPUTS(parts, ox_int(g, 1)), INT("axis", -1));
    Ox out = ox_g(g, "NonZero", ox_g(g, "Or", re, im));
    replace(rw, n->out[0], out);
    return ox_ok(out);
}

static bool shape(Rewrite *rw, Node *n)
{
    Again a;
    if (!begin_again(rw, n, &a))
        return false;
    int rank = rank_of(a.in[0]);
    int64_t start = node_int(n, "start", 0);
    int64_t end = node_int(n, "end", rank);
    start += start < 0 ? rank : 0;
    end += end < 0 ? rank : 0;
    set_attr(&a, INT("start", start));
    set_attr(&a, INT("end", end < rank ? end : rank));
    return make_again(rw, n, &a);
}

static const Pairable pairables[] = {
    { "Identity", as_it_is },
    { "GatherND", as_it_is },
    { "ScatterND", scatter_rows },
    { "If", as_it_is },
    { "Loop", as_it_is },
    { "Scan", as_it_is },
    { "Reshape", longer_shape },
    { "Expand", longer_shape },
    { "Tile", longer_shape },
    { "Transpose", transpose },
    { "Concat", by_axis },
    { "Gather", by_axis },
    { "Split", by_axis },
    { "Squeeze", by_axes },
    { "Unsqueeze", by_axes },
    { "Slice", by_axes },
    { "GatherElements", by_elements },
    { "ScatterElements", by_elements },
    { "Where", where },
    { "Pad", pad },
    { "Trilu", trilu },
    { "NonZero", non_zero },
    { "Shape", shape },
};

/* ---- the pass ---- */

/* The pass's step. Pair and OfPair are replaced by their inputs. */
static bool step(Rewrite *rw, Node *n)
{
    Pairs *p = rw->arg;
    if (!p->begun)
        for (size_t i = 0; i < p->from.n; i++)
            replace(rw, p->from.at[i], p->to.at[i]);
    p->begun = true;
    if (!map_find(&p->touched, n))
        return true;
    if (!n->op && str_is(n->domain, COMPLEX_DOMAIN)) {
        replace(rw, n->out[0], pair_of(rw, n->graph, n->in[0]));
        return true;
    }
    for (size_t i = 0; n->op && i < COUNT(pairables); i++)
        if (strcmp(n->op->name, pairables[i].op) == 0)
            return pairables[i].fn(rw, n);
    return fail(rw->cx, E_UNSUPPORTED, "%s of complex tensors has no form with real ones",
                n->name->s);
}

/* Gives g, and the graphs in it, a float input for each complex one, which keeps the default that
 * state has, and notes the nodes with complex inputs or outputs. */
static void look(Pairs *p, Graph *g)
{
    for (size_t i = 0; i < g->inputs.n; i++) {
        Ox v = g->inputs.at[i];
        if (!is_complex(v))
            continue;
        Dim dims[MAX_RANK];
        for (int k = 0; k < ox_rank(v); k++)
            dims[k] = ox_dim(v, k);
        dims[ox_rank(v)] = dim_int(g->cx, 2);
        Ox pair = graph_input(
            g, v->name, type_tensor(g->cx, dtype_of_parts(ox_dtype(v)), ox_rank(v) + 1, dims));
        g->inputs.n--;
        g->inputs.at[i] = pair;
        if (v->k)
            graph_input_default(pair, const_as_pairs(g->cx, v->k));
        vec_push(g->cx, &p->from, v);
        vec_push(g->cx, &p->to, pair);
    }
    for (size_t i = 0; i < g->nodes.n; i++) {
        Node *n = g->nodes.at[i];
        bool any = !n->op && str_is(n->domain, COMPLEX_DOMAIN);
        for (int k = 0; k < n->n_in; k++)
            any |= is_complex(n->in[k]);
        for (int k = 0; k < n->n_out; k++)
            any |= is_complex(n->out[k]);
        for (int k = 0; k < n->n_attr; k++)
            if (n->attr[k].kind == ATTR_GRAPH)
                look(p, n->attr[k].g);
        if (any && !n->dead)
            map_put(g->cx, &p->touched, n, n);
    }
}

bool pass_complex(Graph *g, const TidyOptions *o)
{
    Pairs p = { 0 };
    look(&p, g);
    return p.touched.n == 0 && p.from.n == 0 ? true : rewrite(g, o, step, &p);
}
