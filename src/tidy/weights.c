/* weights.c - what can be computed once, before the model runs.
 *
 *     Transpose(weight)               ->  the weight with other strides, gathered when written
 *     Reshape(weight), Slice(weight)  ->  the same bytes, read with other strides
 *         Gather of one place too
 *     Op(weight, ..)                  ->  a recipe: the operator's fold, run when it is written
 *
 * Only where it pays: a storage that something else uses too (a tied embedding) stays single,
 * unless the result is no larger than a scalar's worth, or each use is of another place of it (a
 * layer's experts), or all of its uses give no more bytes together (weight_groups.c); a constant
 * may grow by 64 KB for each node that goes, where several do (a mask made of a number, positions
 * made of counts), and zeros to add to by 256 KB. A table of known positions that is added to
 * another embedding before a norm stays one: with a constant for it ONNX Runtime's transformers
 * optimizer makes neither an EmbedLayerNormalization of them nor a SkipLayerNormalization. With
 * --keep-weights only what no weight goes into is folded. */
#include "tidy/weight_groups.h"

/* v, a constant just made; NULL after an error. */
static Ox there(Ox v) { return ox_ok(v) ? v : NULL; }

/* ---- views ---- */

static const Const *transposed(Ctx *cx, const Node *n, const Const *k)
{
    const int64_t *given;
    size_t count;
    int perm[MAX_RANK];
    bool has = node_ints(n, "perm", &given, &count);
    for (int i = 0; i < k->rank; i++)
        perm[i] = has ? (int)given[i] : k->rank - 1 - i;
    return const_permute(cx, k, perm);
}

/* Slice(k) as a view of k, where bounds and steps are known. How many items each axis keeps was
 * found by inference. */
static const Const *sliced(Ctx *cx, const Node *n, const Const *k)
{
    const int64_t *start;
    const int64_t *axes = NULL;
    const int64_t *steps = NULL;
    int64_t count, others;
    if (!ox_known_ints(n->graph, n->in[1], &start, &count) ||
        (in_of(n, 3) && !ox_known_ints(n->graph, n->in[3], &axes, &others)) ||
        (in_of(n, 4) && !ox_known_ints(n->graph, n->in[4], &steps, &others)))
        return NULL;
    for (int64_t i = 0; k && i < count; i++) {
        int64_t axis = axes ? axes[i] : i;
        int64_t step = steps ? steps[i] : 1;
        int64_t kept;
        axis += axis < 0 ? k->rank : 0;
        if (step < 1 || !dim_known(ox_dim(n->out[0], (int)axis), &kept))
            return NULL;
        int64_t extent = k->dims[axis];
        int64_t from = start[i] < 0 ? start[i] + extent : start[i];
        if (from < 0)
            from = 0;
        else if (from > extent)
            from = extent;
        k = const_slice(cx, k, (int)axis, from, kept, step);
    }
    return k;
}

/* Does n gather one known position of its input along an axis? *axis: this axis; *at: the
 * position. */
static bool gathers_one(const Node *n, int64_t *axis, int64_t *at)
{
    const int64_t *index;
    int64_t count;
    if (!node_is(n, "Gather") || !is_const(n->in[0]) || !n->in[0]->k->rank ||
        !ox_known_ints(n->graph, n->in[1], &index, &count) || count != 1)
        return false;
    const Const *k = n->in[0]->k;
    *axis = node_axis(n, k->rank);
    *at = index[0] < 0 ? index[0] + k->dims[*axis] : index[0];
    return *at >= 0 && *at < k->dims[*axis];
}

static const Const *gathered(Ctx *cx, const Node *n, const Const *k)
{
    int64_t dims[MAX_RANK], axis, at;
    const Const *one = gathers_one(n, &axis, &at) && type_static(n->out[0]->type, dims)
        ? const_slice(cx, k, (int)axis, at, 1, 1)
        : NULL;
    return one ? const_reshape(cx, one, ox_rank(n->out[0]), dims) : NULL;
}

static const Const *view_of(Ctx *cx, const Node *n, const Const *k)
{
    int64_t dims[MAX_RANK];
    if (node_is(n, "Gather"))
        return gathered(cx, n, k);
    if (node_is(n, "Transpose"))
        return transposed(cx, n, k);
    if (node_is(n, "Slice"))
        return sliced(cx, n, k);
    bool reshape = node_is(n, "Reshape") || node_is(n, "Squeeze") || node_is(n, "Unsqueeze") ||
        node_is(n, "Flatten");
    return reshape && type_static(n->out[0]->type, dims)
        ? const_reshape(cx, k, ox_rank(n->out[0]), dims)
        : NULL;
}

/* The name of a view of a weight: its state_dict entry, and a word for each step. "fc.weight.t" */
static Str view_name(Ctx *cx, const Node *n, const Const *k)
{
    static const struct {
        const char *op, *suffix;
    } words[] = {
        { "Transpose", ".t" },
        { "Slice", ".slice" },
        { "Gather", ".gather" },
    };
    for (size_t i = 0; i < COUNT(words); i++)
        if (node_is(n, words[i].op))
            return derived_name(cx, k, words[i].suffix);
    return derived_name(cx, k, ".reshape");
}

enum { MAX_FOLDED = 16 }; /* most results of a node that is folded */

/* ---- recipes ---- */

typedef struct Recipe {
    Node *node;
    int out;
} Recipe;

static bool run_recipe(Ctx *cx, const void *arg, uint8_t *out, uint64_t size)
{
    const Recipe *r = arg;
    const Const *k[MAX_FOLDED];
    ArenaMark m = arena_mark(cx->run);
    SourceId outer = cx->computing;
    cx->computing = r->node->at;
    bool ok = node_fold(r->node, k) && !ctx_failed(cx);
    cx->computing = outer;
    if (!ok)
        return ctx_failed(cx) ? false
                              : fail_at(cx, r->node->at, E_BUG, "%s of a weight cannot be computed",
                                        r->node->name->s);
    memcpy(out, const_data(cx, k[r->out]), (size_t)size);
    arena_reset(cx->run, m);
    return true;
}

static bool run_part(Ctx *cx, const void *arg, uint64_t at, uint8_t *out, uint64_t n)
{
    return fold_part(cx, arg, at, out, n);
}

/* Output i of n, computed when it is read; NULL: its shape is not known. */
static Source *recipe_source(Node *n, int i)
{
    Ctx *cx = n->graph->cx;
    int64_t dims[MAX_RANK];
    if (!type_static(n->out[i]->type, dims))
        return NULL;
    int64_t numel = numel_of_ints(ox_rank(n->out[i]), dims);
    uint64_t bytes = dtype_bytes(ox_dtype(n->out[i]), (uint64_t)numel);
    const FoldParts *parts = fold_parts(n);
    if (parts)
        return source_parts(cx, run_part, (uint32_t)dtype_size(ox_dtype(n->out[i])), parts, bytes);
    Recipe *r = new(cx, Recipe);
    *r = (Recipe){ n, i };
    return source_recipe(cx, run_recipe, r, bytes);
}

/* The name of a computed weight: its first input with a name, and the operator.
 * "conv.weight.mul" */
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

static bool reads_weights(const Node *n)
{
    for (int i = 0; i < n->n_in; i++)
        if (is_const(n->in[i]) && const_is_weight(n->in[i]->k))
            return true;
    return false;
}

/* Output i of n as a constant of these bytes, its recipe_source(). NULL without memory. */
static Ox recipe_const(Node *n, int i, Source *bytes)
{
    Ctx *cx = n->graph->cx;
    int64_t dims[MAX_RANK];
    if (!type_static(n->out[i]->type, dims))
        return NULL;
    Const *k = new(cx, Const);
    *k = (Const){ .dtype = ox_dtype(n->out[i]),
                  .rank = ox_rank(n->out[i]),
                  .derived = recipe_name(cx, n) };
    k->dims = k->rank ? mem_copy(cx, dims, (size_t)k->rank * sizeof *dims) : NULL;
    if (!k->dims && k->rank)
        return NULL;
    k->bytes = (Bytes){ bytes, 0, bytes->size };
    k->storage = reads_weights(n) ? bytes : NULL;
    return there(ox_const(n->graph, k));
}

/* ---- when ---- */

/* A value that would be a larger constant waits: what is made of it may be smaller, or save enough
 * nodes. */
typedef struct Waiting {
    Map costs;  /* value, or the Source of a constant made here -> Cost */
    Map parts;  /* Const -> number of nodes that take one position of it (the experts of a layer) */
    Map beside; /* embedding -> the indices of the one that it is added to before a norm */
} Waiting;

/* How many bytes a constant may grow for each of several nodes that go, for one alone, and for one
 * that repeats a number; the most work for a trial. */
enum {
    NODE_BYTES = 64 << 10,
    LONE_NODE_BYTES = 16 << 10,
    REPEATED_BYTES = 256 << 10,
    LONE_NUMEL = 256, /* a cast of a smaller weight is folded whatever its type */
    MOST_PATHS = 32,  /* numbers that are computed for one, before it is kept */
    MOST_DEPTH = 200, /* nodes that are computed one inside the other */
    MOST_TRIED = 1 << 20
};

/* How many of n's inputs read the bytes that input i reads; 0 when an earlier one does. */
static uint64_t reads_of(const Node *n, int i)
{
    uint64_t reads = 0;
    for (int k = 0; k < n->n_in; k++) {
        const Const *a = n->in[i]->k;
        const Const *b = n->in[k] ? n->in[k]->k : NULL;
        if (!b || a->bytes.src != b->bytes.src || a->bytes.off != b->bytes.off)
            continue;
        if (k < i)
            return 0;
        reads++;
    }
    return reads;
}

/* The cost of input i of n as a constant. */
static Cost cost_of(Rewrite *rw, const Node *n, int i)
{
    Waiting *w = rw->arg;
    Ox v = n->in[i];
    const Cost *waits = map_get(&w->costs, v);
    if (waits)
        return *waits;
    const Cost *made = map_get(&w->costs, v->k->bytes.src);
    uint64_t numel = (uint64_t)const_numel(v->k);
    uint64_t bytes = dtype_bytes(v->k->dtype, numel);
    uint64_t uses = storage_uses(rw, v->k);
    uint64_t parts = (uintptr_t)map_get(&w->parts, v->k);
    uint64_t reads = reads_of(n, i);
    bool mine = uses <= 1 || uses == parts || uses == reads;
    Cost c = {
        .value = v, .work = numel, .paths = numel, .shared = !mine && reads && bytes > FOLD_NUMEL
    };
    if (mine)
        c.freed = parts ? bytes / parts : bytes;
    if (made) {
        c.work = made->work;
        c.paths = made->paths;
        c.depth = made->depth;
    }
    return c;
}

/* Does n repeat a single number? */
static bool repeats_one(Ctx *cx, const Node *n)
{
    return node_is(n, "Expand") && n->in[0] && ox_ok(n->in[0]) &&
        dim_is(type_numel(cx, n->in[0]->type), 1);
}

/* Of numbers of elements and bytes, which may be anything. */
static uint64_t sum_or_most(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return uadd_ok(a, b, &sum) ? sum : UINT64_MAX;
}

/* The cost of n's results as constants: that of its inputs, and its own. */
static bool cost_of_node(Rewrite *rw, const Node *n, Cost *out, uint64_t *bytes)
{
    *out = (Cost){ .nodes = 1, .repeats = repeats_one(rw->cx, n) };
    *bytes = 0;
    for (int i = 0; i < n->n_in; i++) {
        if (!n->in[i])
            continue;
        Cost c = cost_of(rw, n, i);
        out->freed = sum_or_most(out->freed, c.freed);
        out->work = sum_or_most(out->work, c.work);
        out->paths = sum_or_most(out->paths, c.paths);
        out->depth = c.depth > out->depth ? c.depth : out->depth;
        out->nodes += c.nodes;
        out->shared |= c.shared;
    }
    for (int i = 0; i < n->n_out; i++) {
        int64_t numel;
        Dim d = type_numel(rw->cx, n->out[i]->type);
        if (!d || !dim_known(d, &numel))
            return false;
        *bytes = sum_or_most(*bytes, dtype_bytes(ox_dtype(n->out[i]), (uint64_t)numel));
        out->work = sum_or_most(out->work, (uint64_t)numel);
        out->paths = sum_or_most(out->paths, (uint64_t)numel);
    }
    out->depth++;
    return out->depth <= MOST_DEPTH && (out->work <= MOST_WORK || out->nodes == 1);
}

static bool pays(const Cost *c, uint64_t bytes)
{
    uint64_t worth = c->nodes > 1 ? (uint64_t)c->nodes * NODE_BYTES : LONE_NODE_BYTES;
    if (c->repeats && worth < REPEATED_BYTES)
        worth = REPEATED_BYTES;
    return bytes <= FOLD_NUMEL || (!c->shared && bytes <= sum_or_most(c->freed, worth));
}

static bool may_fold(Rewrite *rw, const Node *n)
{
    if (!n->op || n->op->random || n->n_in == 0 || n->n_out > MAX_FOLDED)
        return false;
    if (node_is(n, "DequantizeLinear")) /* runtimes compute with the integers */
        return false;
    for (int i = 0; i < n->n_in; i++) {
        if (!n->in[i] || map_find(&((const Waiting *)rw->arg)->costs, n->in[i]))
            continue;
        if (!is_const(n->in[i]) || n->in[i]->k->dtype == DT_STRING ||
            (rw->o->keep_weights && const_is_weight(n->in[i]->k)))
            return false;
    }
    return true;
}

/* Is t a float of 8 bits or a type of less than a byte, which no fold turns into numbers? */
static bool is_coded(DType t) { return dtype_bits(t) < (dtype_is_float(t) ? 16 : 8); }

/* Can n be computed by its fold? For some operators this depends on the values: a division by 0,
 * or -inf as an integer, has no result. These are tried, up to a million elements; for larger
 * weights the operator stays a node, since a recipe runs while the file is written, when it is
 * too late to refuse.
 *
 * results: their recipes, which learn what was found, so that a chain of such nodes is not computed
 * from its start for each of them. */
static bool computes(Ctx *cx, Node *n, Source *const *results)
{
    const Const *k[MAX_FOLDED];
    uint64_t numel = 0;
    for (int i = 0; i < n->n_in; i++)
        numel += n->in[i] ? (uint64_t)const_numel(n->in[i]->k) : 0;
    if (numel > FOLD_NUMEL) {
        bool some_forms = node_is(n, "Resize") || node_is(n, "ConvTranspose") ||
            node_is(n, "LayerNormalization");
        bool whole = dtype_is_int(ox_dtype(n->out[0]));
        bool cut = node_is(n, "Cast") && dtype_is_float(ox_dtype(n->in[0]));
        bool coded = node_is(n, "Cast") &&
            (is_coded(ox_dtype(n->in[0])) || is_coded(ox_dtype(n->out[0])));
        bool open = some_forms || coded ||
            (whole && (cut || node_is(n, "Div") || node_is(n, "Mod") || node_is(n, "Pow")));
        if (!open || numel > MOST_TRIED)
            return !open;
    }
    ArenaMark m = arena_mark(cx->run);
    bool ok = node_fold(n, k);
    if (ok)
        for (int i = 0; i < n->n_out; i++)
            source_learn(cx, results[i], const_data(cx, k[i]));
    arena_reset(cx->run, m);
    return ok;
}

/* The results of n as constants; false where it cannot be computed, or after an error. */
static bool make_results(Node *n, Ox *made)
{
    Source *bytes[MAX_FOLDED];
    for (int i = 0; i < n->n_out; i++)
        if (!(bytes[i] = recipe_source(n, i)))
            return false;
    if (!computes(n->graph->cx, n, bytes))
        return false;
    for (int i = 0; i < n->n_out; i++)
        if (!(made[i] = recipe_const(n, i, bytes[i])))
            return false;
    return true;
}

static Ox as_view(Ctx *cx, const Node *n)
{
    const Const *k = n->in[0] ? view_of(cx, n, n->in[0]->k) : NULL;
    if (!k)
        return NULL;
    Const *named = new(cx, Const);
    *named = *k;
    named->derived = view_name(cx, n, n->in[0]->k);
    return there(ox_const(n->graph, named));
}

/* A node like n with a list of inputs of its own, which is in no graph; NULL without memory. */
static Node *with_own_inputs(Ctx *cx, const Node *n)
{
    Node *m = new(cx, Node);
    *m = *n;
    m->in = mem_copy(cx, n->in, (size_t)n->n_in * sizeof *n->in);
    return m->in ? m : NULL;
}

/* n with constants in place of the inputs that wait (Waiting); n itself where none does. NULL
 * without memory. */
static Node *of_constants(Rewrite *rw, Node *n)
{
    const Waiting *w = rw->arg;
    Node *m = NULL;
    for (int i = 0; i < n->n_in; i++) {
        const Cost *c = n->in[i] ? map_get(&w->costs, n->in[i]) : NULL;
        if (!c)
            continue;
        if (!m)
            m = with_own_inputs(rw->cx, n);
        if (!m)
            return NULL;
        m->in[i] = c->value;
    }
    return m ? m : n;
}

/* ---- what a Where does not take ----
 *
 *     Where(c, x, Min(Cast<int64>(Log(k)), m))
 *
 * are the buckets of relative positions, and log(0) is no integer.
 * The items of k that no integer is count as 0 where c takes the other side of all of them. */

static bool is_whole(double v, DType to)
{
    double limit = to == DT_INT64 ? 0x1p63 : 0x1p31;
    return v > -limit && v < limit;
}

static bool same_dims(const Const *a, const Const *b)
{
    return a->rank == b->rank &&
        (a->rank == 0 || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0);
}

/* k with 0 in place of items that are no whole numbers of type `to`; NULL: the Where with
 * condition c takes one of those. first: k is the side that the Where takes where c is true. */
static Ox cleaned(Graph *g, const Const *k, const Const *c, bool first, DType to)
{
    int64_t n = const_numel(k);
    bool known = k->dtype == DT_FLOAT || k->dtype == DT_DOUBLE;
    if (!known || (to != DT_INT64 && to != DT_INT32) || c->dtype != DT_BOOL || !same_dims(k, c) ||
        n > MOST_TRIED)
        return NULL;
    const uint8_t *takes = const_data(g->cx, c);
    const void *from = const_data(g->cx, k);
    uint8_t *to_be = from && takes ? mem_copy(g->cx, from, (size_t)n * dtype_size(k->dtype)) : NULL;
    if (!to_be)
        return NULL;
    for (int64_t i = 0; i < n; i++) {
        double v = k->dtype == DT_FLOAT ? ((const float *)from)[i] : ((const double *)from)[i];
        if (is_whole(v, to))
            continue;
        if (!takes[i] == !first)
            return NULL;
        memset(to_be + (size_t)i * dtype_size(k->dtype), 0, dtype_size(k->dtype));
    }
    return there(ox_const(g, const_make(g->cx, k->dtype, k->rank, k->dims, to_be)));
}

static const Const *constant_of(const Rewrite *rw, Ox v)
{
    const Cost *c = map_get(&((const Waiting *)rw->arg)->costs, v);
    if (c)
        return c->value->k;
    return is_const(v) ? v->k : NULL;
}

/* v, a side of a Where, as a constant: a Cast of a constant, and operators that work item by
 * item on it. NULL: v is something else. */
static Ox taken_side(Rewrite *rw, Ox v, const Const *c, bool first, int depth)
{
    static const char *const by_item[] = { "Add", "Sub", "Mul", "Min", "Max" };
    Node *n = v->kind == OX_NODE && depth < 8 && v->node->n_out == 1 && v->node->op ? v->node
                                                                                    : NULL;
    if (!n || ox_rank(v) != c->rank)
        return NULL;
    Node *m = with_own_inputs(rw->cx, n);
    if (!m)
        return NULL;
    bool passes = false;
    for (size_t i = 0; i < COUNT(by_item); i++)
        passes |= node_is(n, by_item[i]) && n->n_in == 2;
    const Const *k = node_is(n, "Cast") ? constant_of(rw, n->in[0]) : NULL;
    if (k && !(m->in[0] = cleaned(n->graph, k, c, first, ox_dtype(v))))
        return NULL;
    if (!k && !passes)
        return NULL;
    if (passes)
        for (int i = 0; i < 2; i++) {
            const Const *other = constant_of(rw, n->in[i]);
            m->in[i] = other ? there(ox_const(n->graph, other))
                             : taken_side(rw, n->in[i], c, first, depth + 1);
            if (!m->in[i])
                return NULL;
        }
    Ox made;
    return make_results(m, &made) ? made : NULL;
}

static void take_sides(Rewrite *rw, Node *n)
{
    const Const *c = constant_of(rw, n->in[0]);
    if (!c)
        return;
    for (int i = 1; i < 3; i++) {
        Ox side = n->in[i]->kind == OX_NODE && !constant_of(rw, n->in[i])
            ? taken_side(rw, n->in[i], c, i == 1, 0)
            : NULL;
        n->in[i] = side ? side : n->in[i];
    }
}

/* A weight that two nodes read, and of which they make one that two nodes read, and so on, would be
 * computed 2^n times: one that has become so dear is kept when it is computed. */
static void keep_if_dear(const Const *k, Cost *c)
{
    uint64_t numel = k->bytes.src->size / dtype_size(k->dtype); /* k may be a small part of it */
    if (numel == 0 || c->paths / numel <= MOST_PATHS)
        return;
    source_keep(k->bytes.src);
    c->paths = numel;
}

static void settle(Rewrite *rw, Ox out, Ox value, Cost c, bool paid)
{
    Waiting *w = rw->arg;
    c.value = value;
    Cost *kept = new(rw->cx, Cost);
    if (value->k->bytes.src->kind == SRC_RECIPE) {
        keep_if_dear(value->k, &c);
        map_put(rw->cx, &w->costs, value->k->bytes.src, kept);
    }
    *kept = c;
    if (paid)
        replace(rw, out, value);
    else
        map_put(rw->cx, &w->costs, out, kept);
}

/* Replaces the results of n by recipes. m: n with its inputs as constants. */
static bool fold_node(Rewrite *rw, const Node *n, Node *m, Cost cost, bool paid)
{
    Ox made[MAX_FOLDED];
    if (n->op->fold && make_results(m, made))
        for (int i = 0; i < n->n_out; i++)
            settle(rw, n->out[i], made[i], cost, paid);
    return !ctx_failed(rw->cx);
}

/* Does n read known positions for a sum with an embedding of what is not known? */
static bool is_summand(const Rewrite *rw, const Node *n)
{
    const Waiting *w = rw->arg;
    Ox ids = node_is(n, "Gather") ? map_get(&w->beside, n->out[0]) : NULL;
    return ids && !constant_of(rw, current(rw, ids));
}

static bool fold_weight(Rewrite *rw, Node *n)
{
    Cost cost;
    uint64_t bytes;
    if (node_is(n, "Where"))
        take_sides(rw, n);
    if (is_summand(rw, n) || !may_fold(rw, n) || !cost_of_node(rw, n, &cost, &bytes))
        return true;
    bool paid = pays(&cost, bytes);
    Node *m = of_constants(rw, n);
    if (!m)
        return false;
    Ox view = as_view(rw->cx, m);
    if (!view)
        return fold_node(rw, n, m, cost, paid);
    settle(rw, n->out[0], view, cost, paid);
    return !ctx_failed(rw->cx);
}

static void count_part(Waiting *w, const Node *n)
{
    int64_t axis, at;
    if (gathers_one(n, &axis, &at))
        map_put(n->graph->cx, &w->parts, n->in[0]->k,
                (void *)((uintptr_t)map_get(&w->parts, n->in[0]->k) + 1));
}

/* The node that reads rows of a table, a weight; NULL: v is something else. */
static Node *embedding(Ox v)
{
    Node *n = made_by(v, "Gather");
    return n && node_int(n, "axis", 0) == 0 && is_const(n->in[0]) && n->in[0]->k->rank == 2 ? n
                                                                                            : NULL;
}

/* norm(Add(Gather(words, ids), Gather(table, positions))) */
static void note_embeddings(Waiting *w, const Node *n)
{
    Ctx *cx = n->graph->cx;
    bool norm = node_is(n, "LayerNormalization") || node_is(n, "RMSNormalization");
    const Node *sum = norm ? made_by(n->in[0], "Add") : NULL;
    const Node *a = sum ? embedding(sum->in[0]) : NULL;
    const Node *b = sum ? embedding(sum->in[1]) : NULL;
    if (!a || !b)
        return;
    map_put(cx, &w->beside, a->out[0], b->in[1]);
    map_put(cx, &w->beside, b->out[0], a->in[1]);
}

static void look_at(void *waiting, const Node *n)
{
    count_part(waiting, n);
    note_embeddings(waiting, n);
}

bool pass_weights(Graph *g, const TidyOptions *o)
{
    Waiting w = { 0 };
    each_node(g, look_at, &w);
    if (!rewrite_weights(g, o, fold_weight, &w))
        return false;
    return w.costs.n == 0 || (pass_dead(g, o) && fold_groups(g, o, &w.costs));
}

/* A weight that --weights-type has narrowed stays narrow in the file, also where a runtime wants it
 * wide. */
static bool was_narrowed(const Rewrite *rw, const Node *n)
{
    return is_const(n->in[0]) && n->in[0]->k->dtype == rw->o->weights_type &&
        const_is_weight(n->in[0]->k) && const_numel(n->in[0]->k) > LONE_NUMEL;
}

/* Folds what legalising has made of a weight: nodes in an older form, where the type of the
 * result alone says what they do, and casts around an operator that has no kernel for the
 * weight's type. */
static bool view_weight(Rewrite *rw, Node *n)
{
    bool by_type = node_is(n, "Reshape") || node_is(n, "Squeeze") || node_is(n, "Unsqueeze");
    bool cast = node_is(n, "Cast") && !was_narrowed(rw, n);
    Cost cost;
    uint64_t bytes;
    if ((!by_type && !cast) || !may_fold(rw, n) || !cost_of_node(rw, n, &cost, &bytes) ||
        !pays(&cost, bytes))
        return !ctx_failed(rw->cx);
    if (cast)
        return fold_node(rw, n, n, cost, true);
    Ox view = as_view(rw->cx, n);
    if (view)
        replace(rw, n->out[0], view);
    return !ctx_failed(rw->cx);
}

bool pass_weight_views(Graph *g, const TidyOptions *o)
{
    return rewrite_weights(g, o, view_weight, &(Waiting){ 0 });
}
