/* identities.c - remove nodes that return their input, and join chains of Transpose and of Reshape.
 *
 *     Identity(x), Cast<to=type of x>(x), Dropout(x) that does not train, Reshape(x, shape of x), Expand(x, shape of x),
 *     Transpose<perm=[0, 1, ..]>(x), Concat(x), Squeeze/Unsqueeze of no axis, Sum(x), Max(x)  ->  x
 *     Transpose<perm=q>(Transpose<perm=p>(x))  ->  Transpose<perm=p*q>(x)
 *     Reshape(Reshape|Squeeze|Unsqueeze|Flatten(x), s)  ->  Reshape(x, s)      when s says all sizes itself */
#include "tidy/internal.h"

static bool same_dims(Ctx *cx, Ox a, Ox b)
{
    if (!a->type || !b->type || ox_rank(a) < 0 || ox_rank(a) != ox_rank(b))
        return false;
    for (int i = 0; i < ox_rank(a); i++)
        if (dim_eq(cx, ox_dim(a, i), ox_dim(b, i)) != YES)
            return false;
    return true;
}

static bool perm_of(const Node *n, const int64_t **perm, size_t *rank)
{
    return node_is(n, "Transpose") && node_ints(n, "perm", perm, rank);
}

static bool is_identity_perm(const Node *n)
{
    const int64_t *perm;
    size_t rank;
    if (!perm_of(n, &perm, &rank))
        return node_is(n, "Transpose") && ox_rank(n->in[0]) >= 0 && ox_rank(n->in[0]) <= 1;
    for (size_t i = 0; i < rank; i++)
        if (perm[i] != (int64_t)i)
            return false;
    return true;
}

static bool only_its_first_output(const Node *n, const Uses *u)
{
    for (int i = 1; i < n->n_out; i++)
        if (n->out[i] && uses_of(u, n->out[i]))
            return false;
    return true;
}

static bool keeps_shape(const Node *n)
{
    static const char *const ops[] = { "Reshape", "Expand", "Squeeze", "Unsqueeze", "Flatten", "Tile", "Slice", "Pad" };
    for (size_t i = 0; i < COUNT(ops); i++)
        if (node_is(n, ops[i]))
            return true;
    return false;
}

/* Slice of an unchanged shape may still turn an axis around. */
static bool slice_steps_are_one(const Node *n)
{
    const int64_t *steps;
    int64_t count;
    if (n->n_in < 5 || !n->in[4])
        return true;
    if (!ox_known_ints(n->graph, n->in[4], &steps, &count))
        return false;
    for (int64_t i = 0; i < count; i++)
        if (steps[i] != 1)
            return false;
    return true;
}

/* Pad of an unchanged shape may still crop one side and pad the other. */
static bool pads_are_zero(const Node *n)
{
    const int64_t *pads;
    int64_t count;
    if (!ox_known_ints(n->graph, n->in[1], &pads, &count))
        return false;
    for (int64_t i = 0; i < count; i++)
        if (pads[i] != 0)
            return false;
    return true;
}

static bool returns_its_input(Ctx *cx, const Node *n, const Uses *u)
{
    if (!n->op || n->n_in == 0 || !n->in[0])
        return false;
    if (node_is(n, "Identity"))
        return true;
    if (node_is(n, "Cast"))
        return node_int(n, "to", 0) == (int64_t)ox_dtype(n->in[0]);
    if (node_is(n, "Dropout"))
        return (n->n_in < 3 || !n->in[2]) && only_its_first_output(n, u);
    if (node_is(n, "Transpose"))
        return is_identity_perm(n);
    if (node_is(n, "Concat") || node_is(n, "Sum") || node_is(n, "Max") || node_is(n, "Min") || node_is(n, "Mean"))
        return n->n_in == 1;
    if (!keeps_shape(n) || !same_dims(cx, n->in[0], n->out[0]))
        return false;
    return node_is(n, "Slice") ? slice_steps_are_one(n) : node_is(n, "Pad") ? pads_are_zero(n) : true;
}

typedef struct Job { Graph *root; Replacements r; } Job;

static bool drop_one(Node *n, void *arg)
{
    Job *job = arg;
    if (returns_its_input(job->root->cx, n, &job->r.uses) && can_replace(&job->r, n->out[0], n->in[0]))
        replace(job->root, &job->r, n->out[0], n->in[0]);
    return true;
}

static bool run(Graph *g, bool (*fn)(Node *n, void *arg))
{
    Job job = { .root = g };
    return uses_count(g, &job.r.uses) && each_node(g, fn, &job) && replacements_apply(g, &job.r);
}

bool pass_drop_identities(Graph *g, const TidyOptions *o)
{
    (void)o;
    return run(g, drop_one);
}

/* ---- chains: the later node reads past the earlier one, which dies when nobody else reads it ---- */

static void set_attr_ints(Node *n, const char *name, const int64_t *v, size_t count)
{
    for (int i = 0; i < n->n_attr; i++)
        if (strcmp(n->attr[i].name, name) == 0)
            n->attr[i] = INT_LIST(n->attr[i].name, v, count);
}

static bool join_transpose(Node *n, void *arg)
{
    Job *job = arg;
    Ctx *cx = job->root->cx;
    const int64_t *p, *q;
    size_t rank, rank2;
    if (!perm_of(n, &q, &rank) || n->in[0]->kind != OX_NODE || !perm_of(n->in[0]->node, &p, &rank2) || rank != rank2)
        return true;
    int64_t *both = new_array(cx, int64_t, rank ? rank : 1);
    if (!both)
        return false;
    for (size_t i = 0; i < rank; i++)
        both[i] = p[q[i]];
    n->in[0] = n->in[0]->node->in[0];
    set_attr_ints(n, "perm", both, rank);
    if (is_identity_perm(n) && can_replace(&job->r, n->out[0], n->in[0]))
        replace(job->root, &job->r, n->out[0], n->in[0]);
    return true;
}

bool pass_join_transposes(Graph *g, const TidyOptions *o)
{
    (void)o;
    return run(g, join_transpose) && pass_drop_dead(g, NULL);
}

/* Is the shape spelt out, with no 0 or -1 that means something of the input? */
static bool shape_is_absolute(Ox shape)
{
    const Dim *items;
    int64_t n, v;
    if (!ox_items(shape, &items, &n))
        return false;
    for (int64_t i = 0; i < n; i++)
        if (dim_known(items[i], &v) && v <= 0)
            return false;
    return true;
}

static bool only_cuts_anew(const Node *n)
{
    return node_is(n, "Reshape") || node_is(n, "Squeeze") || node_is(n, "Unsqueeze") || node_is(n, "Flatten");
}

static bool join_reshape(Node *n, void *arg)
{
    (void)arg;
    if (!node_is(n, "Reshape") || node_int(n, "allowzero", 0) || !shape_is_absolute(n->in[1]))
        return true;
    while (n->in[0]->kind == OX_NODE && only_cuts_anew(n->in[0]->node) && n->in[0]->node->in[0] && graph_sees(n->graph, n->in[0]->node->in[0]))
        n->in[0] = n->in[0]->node->in[0];
    return true;
}

bool pass_join_reshapes(Graph *g, const TidyOptions *o)
{
    (void)o;
    return run(g, join_reshape) && pass_drop_dead(g, NULL);
}
