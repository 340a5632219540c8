/* weights.c - nodes over weights alone become weights that are computed when the file is written.
 *
 *     Transpose, Slice, Reshape, .. of a weight   ->  the same bytes with other strides
 *     any other node with a folding function      ->  a recipe: the function runs at write time, one tensor at a time
 *
 * Only when it does not make the file larger: a weight that something else reads too (a tied embedding) stays as it is, with
 * its node. With keep_weights nothing that is a state_dict entry changes. */
#include "tidy/internal.h"

/* ---- recipes ---- */

typedef struct RecipeArg { const Node *node; int out; } RecipeArg;

static bool input_data(Ctx *cx, const Const *k, Data *d)
{
    d->dtype = k->dtype;
    d->rank = k->rank;
    d->dims = k->dims;
    d->numel = const_numel(k);
    uint64_t bytes = dtype_bytes(k->dtype, (uint64_t)d->numel);
    d->at = new_array(cx, uint8_t, bytes ? bytes : 1);
    return d->at && const_read(cx, k, d->at);
}

static bool output_data(Ctx *cx, Ox v, void *at, Data *d)
{
    int64_t *dims = new_array(cx, int64_t, MAX_RANK);
    if (!dims || !type_static(v->type, dims))
        return fail(cx, E_BUG, "a computed weight without a known shape");
    *d = (Data){ .dtype = v->type->dtype, .rank = v->type->rank, .dims = dims, .numel = 1, .at = at };
    for (int i = 0; i < d->rank; i++)
        d->numel *= dims[i];                    /* checked when the recipe was made */
    if (!at)
        d->at = new_array(cx, uint8_t, dtype_bytes(d->dtype, (uint64_t)d->numel) + 1);
    return d->at != NULL;
}

static bool run_recipe(Ctx *cx, const void *arg, uint8_t *out, uint64_t size)
{
    const RecipeArg *r = arg;
    const Node *n = r->node;
    (void)size;
    ArenaMark mark = arena_mark(cx->run);
    Data *in = new_array(cx, Data, n->n_in), *result = new_array(cx, Data, n->n_out);
    bool ok = in && result;
    for (int i = 0; ok && i < n->n_in; i++)
        ok = !n->in[i] || input_data(cx, n->in[i]->k, &in[i]);
    for (int i = 0; ok && i < n->n_out; i++)
        ok = output_data(cx, n->out[i], i == r->out ? out : NULL, &result[i]);
    Fold f = { .cx = cx, .node = n, .in = in, .out = result };
    if (ok && !n->op->fold(&f) && !ctx_failed(cx))
        fail_at(cx, n->at, E_BUG, "%s of weights could not be computed", n->op->name);
    ok = ok && !ctx_failed(cx);
    if (!ctx_failed(cx))
        arena_reset(cx->run, mark);             /* an error's text lies there */
    return ok;
}

static bool all_constant(const Node *n)
{
    if (n->n_in == 0)
        return false;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && n->in[i]->kind != OX_CONST)
            return false;
    return true;
}

static bool computable(const Node *n)
{
    if (!n->op || !n->op->fold || n->op->random || !all_constant(n))
        return false;
    for (int i = 0; i < n->n_attr; i++)
        if (n->attr[i].kind == ATTR_GRAPH)
            return false;
    for (int i = 0; i < n->n_out; i++) {
        int64_t dims[MAX_RANK], numel = 1;
        if (!n->out[i] || !n->out[i]->type || n->out[i]->type->kind != T_TENSOR || !type_static(n->out[i]->type, dims) ||
            ox_dtype(n->out[i]) == DT_STRING)
            return false;
        for (int k = 0; k < ox_rank(n->out[i]); k++)
            if (!mul_ok(numel, dims[k], &numel))
                return false;
    }
    return true;
}

/* ---- views: strides instead of a recipe ---- */

static const Const *transposed(Node *n, const Const *k)
{
    const int64_t *perm;
    size_t rank;
    int p[MAX_RANK];
    if (node_ints(n, "perm", &perm, &rank)) {
        for (size_t i = 0; i < rank; i++)
            p[i] = (int)perm[i];
    } else {
        for (int i = 0; i < k->rank; i++)
            p[i] = k->rank - 1 - i;
    }
    return const_permute(n->graph->cx, k, p);
}

/* Slice with known bounds along each axis, already clamped by what inference made of it. */
static const Const *sliced(Node *n, const Const *k)
{
    const int64_t *start, *axes = NULL, *steps = NULL;
    int64_t count, ignored;
    if (!ox_known_ints(n->graph, n->in[1], &start, &count))
        return NULL;
    if (n->n_in > 3 && n->in[3] && !ox_known_ints(n->graph, n->in[3], &axes, &ignored))
        return NULL;
    if (n->n_in > 4 && n->in[4] && !ox_known_ints(n->graph, n->in[4], &steps, &ignored))
        return NULL;
    for (int64_t i = 0; k && i < count; i++) {
        int64_t axis = axes ? axes[i] : i, step = steps ? steps[i] : 1, extent, kept;
        axis += axis < 0 ? k->rank : 0;
        if (step < 1 || !dim_known(ox_dim(n->out[0], (int)axis), &kept))
            return NULL;
        extent = k->dims[axis];
        int64_t from = start[i] < 0 ? start[i] + extent : start[i];
        from = from < 0 ? 0 : from > extent ? extent : from;
        k = const_slice(n->graph->cx, k, (int)axis, from, kept, step);
    }
    return k;
}

static const Const *viewed(Node *n)
{
    const Const *k = n->in[0] ? n->in[0]->k : NULL;
    int64_t dims[MAX_RANK];
    if (!k)
        return NULL;
    if (node_is(n, "Identity"))
        return k;
    if (node_is(n, "Transpose"))
        return transposed(n, k);
    if (node_is(n, "Slice"))
        return sliced(n, k);
    if ((node_is(n, "Reshape") || node_is(n, "Squeeze") || node_is(n, "Unsqueeze") || node_is(n, "Flatten")) && type_static(n->out[0]->type, dims))
        return const_reshape(n->graph->cx, k, ox_rank(n->out[0]), dims);
    return NULL;
}

/* ---- names ---- */

/* "layer.weight" becomes "layer.weight.transpose": the first weight's name and what was done. */
static Str derived_name(Ctx *cx, const Node *n)
{
    for (int i = 0; i < n->n_in; i++) {
        const Const *k = n->in[i] ? n->in[i]->k : NULL;
        Str base = !k ? NULL : k->name ? k->name : k->derived;
        if (!base)
            continue;
        Buf b = buf_new(cx);
        buf_add(&b, base->s, base->len);
        buf_str(&b, ".");
        for (const char *c = n->op->name; *c; c++)
            buf_fmt(&b, "%c", *c >= 'A' && *c <= 'Z' ? *c + 32 : *c);
        return buf_done(&b);
    }
    return NULL;
}

Ox weight_result(Node *n, int out, Str name)
{
    Ctx *cx = n->graph->cx;
    if (!computable(n))
        return NULL;
    const Const *view = viewed(n);
    Const *k = new(cx, Const);
    if (view) {
        *k = *view;
    } else {
        int64_t *dims = new_array(cx, int64_t, MAX_RANK), numel = 1;
        RecipeArg *arg = new(cx, RecipeArg);
        if (!dims || !type_static(n->out[out]->type, dims))
            return NULL;
        for (int i = 0; i < ox_rank(n->out[out]); i++)
            numel *= dims[i];
        *arg = (RecipeArg){ n, out };
        uint64_t size = dtype_bytes(ox_dtype(n->out[out]), (uint64_t)numel);
        *k = (Const){ .dtype = ox_dtype(n->out[out]), .rank = ox_rank(n->out[out]), .dims = dims };
        k->bytes = (Bytes){ source_recipe(cx, run_recipe, arg, size), 0, size };
    }
    if (!node_is(n, "Identity")) {
        k->name = NULL;
        k->storage = NULL;
        k->derived = name ? name : derived_name(cx, n);
    }
    return ox_const(n->graph, k);
}

Ox weight_now(Graph *g, Ox v, Str name)
{
    if (!ox_ok(v) || v->kind != OX_NODE || v->node->graph != g || v->node->n_out != 1)
        return v;
    Ox k = weight_result(v->node, 0, name);
    if (!k)
        return v;
    if (g->nodes.n && g->nodes.at[g->nodes.n - 1] == v->node)
        g->nodes.n--;
    v->node->dead = true;
    return k;
}

/* ---- the pass ---- */

/* How the readers of one weight would change the file: they may replace it when all of them are computable. */
typedef struct Readers { uint32_t all, computable; uint64_t bytes; } Readers;
typedef struct Job { Graph *root; const TidyOptions *o; Replacements r; Map readers, storages; } Job;

/* Two state_dict entries over the same bytes are one weight: the storage's number and the offset. */
static const void *weight_key(Job *job, Ox v)
{
    if (!v->k->storage)
        return v;
    uintptr_t number = (uintptr_t)map_get(&job->storages, v->k->storage);
    if (!number) {
        number = job->storages.n + 1;
        map_put(job->root->cx, &job->storages, v->k->storage, (void *)number);
    }
    return (const void *)(number << 48 | (v->k->bytes.off & 0xffffffffffff));
}

static Readers *readers_of(Job *job, Ox v)
{
    const void *key = weight_key(job, v);
    Readers *r = map_get(&job->readers, key);
    if (!r) {
        r = new(job->root->cx, Readers);
        map_put(job->root->cx, &job->readers, key, r);
    }
    return r;
}

static uint64_t result_bytes(const Node *n)
{
    uint64_t sum = 0;
    for (int i = 0; i < n->n_out; i++) {
        int64_t dims[MAX_RANK], numel = 1;
        if (type_static(n->out[i]->type, dims))
            for (int k = 0; k < ox_rank(n->out[i]); k++)
                numel *= dims[k];
        sum += dtype_bytes(ox_dtype(n->out[i]), (uint64_t)numel);
    }
    return sum;
}

static bool count_readers(Node *n, void *arg)
{
    Job *job = arg;
    bool can = computable(n);
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && n->in[i]->kind == OX_CONST) {
            Readers *r = readers_of(job, n->in[i]);
            r->all++;
            r->computable += can;
            r->bytes += can ? result_bytes(n) : 0;
        }
    return true;
}

static uint64_t const_bytes(const Const *k)
{
    return dtype_bytes(k->dtype, (uint64_t)const_numel(k));
}

static bool worth_it(Job *job, const Node *n)
{
    uint64_t out = result_bytes(n), in = 0;
    bool small = out <= (uint64_t)FOLD_NUMEL * 8;
    for (int i = 0; i < n->n_in; i++) {
        if (!n->in[i])
            continue;
        const Const *k = n->in[i]->k;
        if (job->o->keep_weights && (k->name || k->storage))
            return false;
        in += const_bytes(k);
        Readers *r = readers_of(job, n->in[i]);
        if (!small && const_bytes(k) > (uint64_t)FOLD_NUMEL * 8 && (r->all != r->computable || r->bytes > const_bytes(k)))
            return false;
    }
    return small || out <= in;
}

static bool fold_node(Node *n, void *arg)
{
    Job *job = arg;
    for (int i = 0; i < n->n_in; i++)
        n->in[i] = replaced(&job->r, n->in[i]);
    if (!computable(n) || !worth_it(job, n))
        return true;
    for (int i = 0; i < n->n_out; i++)
        if (is_output(&job->r.uses, n->out[i]))
            return true;
    for (int i = 0; i < n->n_out; i++) {
        if (!uses_of(&job->r.uses, n->out[i]))
            continue;
        Ox k = weight_result(n, i, NULL);
        if (!k)
            return !ctx_failed(job->root->cx);
        Readers *was = map_get(&job->readers, n->out[i]);
        replace(job->root, &job->r, n->out[i], k);
        Readers *now = readers_of(job, k);      /* the readers of the node's result are the new weight's */
        *now = was ? *was : (Readers){ uses_of(&job->r.uses, n->out[i]), uses_of(&job->r.uses, n->out[i]), 0 };
    }
    return !ctx_failed(job->root->cx);
}

bool pass_fold_weights(Graph *g, const TidyOptions *o)
{
    Job job = { .root = g, .o = o };
    return uses_count(g, &job.r.uses) && each_node(g, count_readers, &job) && each_node(g, fold_node, &job) && replacements_apply(g, &job.r);
}
