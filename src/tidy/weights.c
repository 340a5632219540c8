/* weights.c - what can be computed once, before the model runs.
 *
 *     Transpose(weight)              ->  the weight with other strides, gathered while it is written
 *     Reshape(weight), Slice(weight) ->  the same bytes, read with other strides
 *     Op(weight, ..)                 ->  a recipe that runs the operator's fold when the file is written
 *
 * Only where it pays: a storage that something else uses too (a tied embedding) stays single, unless the result is no
 * larger than a scalar's worth. With --keep-weights only what no weight goes into is folded. */
#include "tidy/internal.h"

/* ---- views ------------------------------------------------------------------------------------------------------- */

static const Const *transposed(Ctx *cx, const Node *n, const Const *k)
{
    const int64_t *told;
    size_t count;
    int perm[MAX_RANK];
    bool has = node_ints(n, "perm", &told, &count);
    for (int i = 0; i < k->rank; i++)
        perm[i] = has ? (int)told[i] : k->rank - 1 - i;
    return const_permute(cx, k, perm);
}

/* Bounds and steps known; how many items each axis keeps is what inference found. */
static const Const *sliced(Ctx *cx, const Node *n, const Const *k)
{
    const int64_t *start, *axes = NULL, *steps = NULL;
    int64_t count, others;
    if (!ox_known_ints(n->graph, n->in[1], &start, &count) || (in_of(n, 3) && !ox_known_ints(n->graph, n->in[3], &axes, &others)) ||
        (in_of(n, 4) && !ox_known_ints(n->graph, n->in[4], &steps, &others)))
        return NULL;
    for (int64_t i = 0; k && i < count; i++) {
        int64_t axis = axes ? axes[i] : i, step = steps ? steps[i] : 1, kept;
        axis += axis < 0 ? k->rank : 0;
        if (step < 1 || !dim_known(ox_dim(n->out[0], (int)axis), &kept))
            return NULL;
        int64_t extent = k->dims[axis], from = start[i] < 0 ? start[i] + extent : start[i];
        from = from < 0 ? 0 : from > extent ? extent : from;
        k = const_slice(cx, k, (int)axis, from, kept, step);
    }
    return k;
}

static const Const *view_of(Ctx *cx, const Node *n, const Const *k)
{
    int64_t dims[MAX_RANK];
    if (node_is(n, "Transpose"))
        return transposed(cx, n, k);
    if (node_is(n, "Slice"))
        return sliced(cx, n, k);
    bool reshape = node_is(n, "Reshape") || node_is(n, "Squeeze") || node_is(n, "Unsqueeze") || node_is(n, "Flatten");
    return reshape && type_static(n->out[0]->type, dims) ? const_reshape(cx, k, ox_rank(n->out[0]), dims) : NULL;
}

/* "fc.weight.t": what became of an entry, in one word a step */
static Str view_name(Ctx *cx, const Node *n, const Const *k)
{
    return derived_name(cx, k, node_is(n, "Transpose") ? ".t" : node_is(n, "Slice") ? ".slice" : ".reshape");
}

/* ---- recipes ------------------------------------------------------------------------------------------------------- */

typedef struct Recipe { Node *node; int out; } Recipe;

static bool run_recipe(Ctx *cx, const void *arg, uint8_t *out, uint64_t size)
{
    const Recipe *r = arg;
    const Const *k[16];
    ArenaMark m = arena_mark(cx->run);
    if (!node_fold(r->node, k))
        return ctx_failed(cx) ? false : fail_at(cx, r->node->at, E_BUG, "%s of a weight cannot be computed", r->node->name->s);
    memcpy(out, const_data(cx, k[r->out]), (size_t)size);
    arena_reset(cx->run, m);
    return true;
}

/* The result of the first named input's operator: "conv.weight.mul" */
static Str recipe_name(Ctx *cx, const Node *n)
{
    for (int i = 0; i < n->n_in; i++) {
        Str name = n->in[i] ? derived_name(cx, n->in[i]->k, ".") : NULL;
        if (!name)
            continue;
        char op[32];
        size_t len = strlen(n->op->name);
        for (size_t k = 0; k < len && k < sizeof op - 1; k++)
            op[k] = (char)(n->op->name[k] | 0x20);
        op[len < sizeof op - 1 ? len : sizeof op - 1] = 0;
        return str_fmt(cx, "%s%s", name->s, op);
    }
    return NULL;
}

static Ox recipe_const(Node *n, int i)
{
    Ctx *cx = n->graph->cx;
    int64_t dims[MAX_RANK];
    if (!type_static(n->out[i]->type, dims))
        return NULL;
    Recipe *r = new(cx, Recipe);
    *r = (Recipe){ n, i };
    Const *k = new(cx, Const);
    *k = (Const){ .dtype = ox_dtype(n->out[i]), .rank = ox_rank(n->out[i]), .derived = recipe_name(cx, n) };
    k->dims = k->rank ? mem_copy(cx, dims, (size_t)k->rank * sizeof *dims) : NULL;
    uint64_t bytes = dtype_bytes(k->dtype, (uint64_t)const_numel(k));
    k->bytes = (Bytes){ source_recipe(cx, run_recipe, r, bytes), 0, bytes };
    return ox_const(n->graph, k);
}

/* ---- when ---------------------------------------------------------------------------------------------------------- */

static bool is_weight(const Const *k) { return k->name || k->storage || k->derived; }

/* Bytes of the inputs that nobody else needs, against the bytes of the results. */
static bool pays(Rewrite *rw, const Node *n)
{
    uint64_t before = 0, after = 0;
    bool alone = true;
    for (int i = 0; i < n->n_in; i++) {
        if (!n->in[i])
            continue;
        bool mine = storage_uses(rw, n->in[i]->k) <= 1;
        uint64_t bytes = dtype_bytes(n->in[i]->k->dtype, (uint64_t)const_numel(n->in[i]->k));
        alone &= mine || bytes <= FOLD_NUMEL;
        before += bytes;
    }
    for (int i = 0; i < n->n_out; i++) {
        int64_t numel;
        Dim d = type_numel(rw->cx, n->out[i]->type);
        if (!d || !dim_known(d, &numel))
            return false;
        after += dtype_bytes(ox_dtype(n->out[i]), (uint64_t)numel);
    }
    return after <= FOLD_NUMEL || (alone && after <= before + FOLD_NUMEL);
}

static bool may_fold(Rewrite *rw, const Node *n)
{
    if (!n->op || n->op->random || n->n_in == 0 || n->n_out > 16)
        return false;
    for (int i = 0; i < n->n_in; i++) {
        if (n->in[i] && (!is_const(n->in[i]) || n->in[i]->k->dtype == DT_STRING))
            return false;
        if (n->in[i] && rw->o->keep_weights && is_weight(n->in[i]->k))
            return false;
    }
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i]->name)
            return false;
    return true;
}

/* Whether a fold is defined may rest on the values: no integer is -inf, nothing is divided by 0. Small ones are tried; of
 * large weights such operators stay nodes, since a recipe runs when it is too late to say no. */
static bool computes(Ctx *cx, Node *n)
{
    const Const *k[16];
    uint64_t numel = 0;
    for (int i = 0; i < n->n_in; i++)
        numel += n->in[i] ? (uint64_t)const_numel(n->in[i]->k) : 0;
    if (numel > FOLD_NUMEL) {
        bool whole = dtype_is_int(ox_dtype(n->out[0]));
        bool cut = node_is(n, "Cast") && dtype_is_float(ox_dtype(n->in[0]));
        return !(whole && (cut || node_is(n, "Div") || node_is(n, "Mod") || node_is(n, "Pow")));
    }
    ArenaMark m = arena_mark(cx->run);
    bool ok = node_fold(n, k);
    arena_reset(cx->run, m);
    return ok;
}

static bool read_as_view(Rewrite *rw, Node *n)
{
    const Const *k = n->in[0] ? view_of(rw->cx, n, n->in[0]->k) : NULL;
    if (!k)
        return false;
    Const *named = mem_copy(rw->cx, k, sizeof *k);
    named->derived = view_name(rw->cx, n, n->in[0]->k);
    replace(rw, n->out[0], ox_const(n->graph, named));
    return true;
}

static bool fold_weight(Rewrite *rw, Node *n)
{
    if (!may_fold(rw, n) || !pays(rw, n))
        return true;
    if (read_as_view(rw, n))
        return !ctx_failed(rw->cx);
    if (!n->op->fold || !computes(rw->cx, n))
        return !ctx_failed(rw->cx);
    for (int i = 0; i < n->n_out; i++) {
        Ox v = recipe_const(n, i);
        if (!v)
            return true;
        replace(rw, n->out[i], v);
    }
    return !ctx_failed(rw->cx);
}

bool pass_weights(Graph *g, const TidyOptions *o) { return rewrite_weights(g, o, fold_weight); }

/* What legalising has made: nodes in an older form, of which the result's type alone says what these do. */
static bool view_weight(Rewrite *rw, Node *n)
{
    bool by_type = node_is(n, "Reshape") || node_is(n, "Squeeze") || node_is(n, "Unsqueeze");
    if (by_type && may_fold(rw, n) && pays(rw, n))
        read_as_view(rw, n);
    return !ctx_failed(rw->cx);
}

bool pass_weight_views(Graph *g, const TidyOptions *o) { return rewrite_weights(g, o, view_weight); }
