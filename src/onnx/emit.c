/* emit.c - building: one call makes a node, or finds that none is needed.
 *
 * The order is always the same: poison in, poison out; check arity and types against the newest
 * form; infer; contents (a small int tensor whose items are known dims needs no node); fold small
 * constants; share an equal node that is visible (share.c); append. */
#include "onnx/fold/fold.h"

#include "base/limits.h"

/* ---- checks ---- */

static Ox poison_all(Ox *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = POISON;
    return POISON;
}

static const FormalArg *formal_in(const OpVersion *v, int i)
{
    return &v->in[i < v->n_in ? i : v->n_in - 1];
}

static const FormalType *formal_type(const OpVersion *v, const char *name)
{
    for (int i = 0; i < v->n_type; i++)
        if (strcmp(v->type[i].name, name) == 0)
            return &v->type[i];
    return NULL;
}

static bool type_fits(const FormalType *f, Type t)
{
    if (t->kind == T_TENSOR)
        return f->dtypes >> t->dtype & 1;
    return t->kind == T_SEQUENCE ? f->seq != 0 : (f->optional | f->optional_seq) != 0;
}

/* Has input i the type of the inputs before it that share its type variable? False after an error:
 * `Add(float32, int64)` shows a missing cast in a lowering. */
static bool agrees_with_earlier(Graph *g, const OnnxOp *op, const OpVersion *ver, OxList in,
                                size_t i)
{
    const FormalArg *own = formal_in(ver, (int)i);
    for (size_t j = 0; j < i && j < ver->n_in; j++) {
        const FormalArg *other = formal_in(ver, (int)j);
        if (!in.at[j] || !other->homogeneous || strcmp(other->type, own->type) != 0)
            continue;
        if (ox_dtype(in.at[j]) != ox_dtype(in.at[i]))
            return fail_types(g->cx, "%s: %s is %s, but %s is %s", op->name, own->name,
                              dtype_name(ox_dtype(in.at[i])), other->name,
                              dtype_name(ox_dtype(in.at[j])));
    }
    return true;
}

/* Are the inputs of types that the operator takes, and those that share a type variable of one
 * type? For a variadic input the first one stands for all. False after an error. */
static bool check_types(Graph *g, const OnnxOp *op, const OpVersion *ver, OxList in)
{
    for (size_t i = 0; i < in.n; i++) {
        const FormalArg *a = formal_in(ver, (int)i);
        if (!in.at[i])
            continue;
        if (!in.at[i]->type)
            return fail(g->cx, E_BUG, "%s: input %s has no type", op->name, a->name);
        const FormalType *f = formal_type(ver, a->type);
        if (f && !type_fits(f, in.at[i]->type))
            return fail(g->cx, E_UNSUPPORTED, "ONNX's %s does not take %s for %s", op->name,
                        type_text(g->cx, in.at[i]->type)->s, a->name);
        if (f && a->homogeneous && !agrees_with_earlier(g, op, ver, in, i))
            return false;
    }
    return true;
}

static bool check_inputs(Graph *g, const OnnxOp *op, const OpVersion *ver, OxList in, size_t n_out)
{
    if (in.n < ver->min_in || (ver->max_in != 255 && in.n > ver->max_in))
        return fail(g->cx, E_BUG, "%s: %zu inputs", op->name, in.n);
    if (ver->max_out != 255 && n_out > ver->max_out)
        return fail(g->cx, E_BUG, "%s: %zu outputs", op->name, n_out);
    for (size_t i = 0; i < in.n; i++) {
        if (!in.at[i] && i < ver->n_in && ver->in[i].option == 0)
            return fail(g->cx, E_BUG, "%s: input %s is missing", op->name, ver->in[i].name);
        if (in.at[i] && !graph_sees(g, in.at[i]))
            return fail(g->cx, E_BUG, "%s: input %zu is not visible in this scope", op->name, i);
    }
    return check_types(g, op, ver, in);
}

static bool check_attrs(Graph *g, const OnnxOp *op, const OpVersion *ver, const Node *n)
{
    for (int i = 0; i < n->n_attr; i++) {
        const FormalAttr *formal = onnx_attr(ver, n->attr[i].name);
        if (!formal || formal->kind != n->attr[i].kind)
            return fail(g->cx, E_BUG, "%s has no attribute %s of this kind", op->name,
                        n->attr[i].name);
    }
    for (int k = 0; k < ver->n_attr; k++)
        if (ver->attr[k].required && !node_has(n, ver->attr[k].name))
            return fail(g->cx, E_BUG, "%s: the attribute %s is missing", op->name,
                        ver->attr[k].name);
    return true;
}

/* ---- nodes ---- */

static void *copy_array(Ctx *cx, const void *p, size_t n, size_t size)
{
    void *to = n ? mem_dense(cx, n * size) : NULL;
    return to ? memcpy(to, p, n * size) : NULL;
}

static Attr copy_attr(Ctx *cx, const Attr *from)
{
    Attr a = *from;
    switch (a.kind) {
    case ATTR_INTS:    a.ints = copy_array(cx, a.ints, a.n, sizeof *a.ints); break;
    case ATTR_FLOATS:  a.floats = copy_array(cx, a.floats, a.n, sizeof *a.floats); break;
    case ATTR_STRINGS: a.strs = copy_array(cx, a.strs, a.n, sizeof *a.strs); break;
    default:           break;
    }
    return a;
}

/* A node with copies of its inputs and attributes, and fresh outputs that have no type yet; of no
 * graph's list. NULL when the context has failed, for want of memory too. */
static Node *new_node(Graph *g, Str domain, Str name, OxList in, const Attr *attr, size_t n_attr,
                      size_t n_out)
{
    Ctx *cx = g->cx;
    Node *n = mem_dense(cx, sizeof *n);
    *n = (Node){
        .name = name, .domain = domain, .n_in = (int)in.n, .n_out = (int)n_out, .graph = g
    };
    n->in = copy_array(cx, in.at, in.n, sizeof *in.at);
    n->attr = n_attr ? mem_dense(cx, n_attr * sizeof *n->attr) : NULL;
    if ((!n->in && in.n) || (!n->attr && n_attr))
        return NULL;
    for (size_t i = 0; i < n_attr; i++)
        if (attr[i].kind != ATTR_NONE)
            n->attr[n->n_attr++] = copy_attr(cx, &attr[i]);
    n->out = mem_dense(cx, (n_out ? n_out : 1) * sizeof *n->out);
    if (!n->out || ctx_failed(cx))
        return NULL;
    for (size_t i = 0; i < n_out; i++) {
        n->out[i] = ox_new(g, OX_NODE, NULL);
        n->out[i]->node = n;
        n->out[i]->out = (int)i;
    }
    return n;
}

static void append(Node *n)
{
    Ctx *cx = node_cx(n);
    count_work(cx);
    n->at = where_intern(cx);
    n->id = n->out[0] ? n->out[0]->id : 0;
    vec_push(cx, &n->graph->nodes, n);
    int64_t limit = cx->limit[LIMIT_NODES];
    if (limit > 0 && (int64_t)n->graph->nodes.n > limit)
        fail(cx, E_LIMIT, "more than %lld nodes (--limit nodes=N raises this)", (long long)limit);
}

/* ---- contents and folding ---- */

/* Every output is a small int tensor whose items are all known as dims: no node is needed. */
static bool replace_by_items(Node *n, Ox *out)
{
    const Dim *items;
    int64_t count;
    for (int i = 0; i < n->n_out; i++) {
        Type t = n->out[i]->type;
        if (!t || t->kind != T_TENSOR || (t->dtype != DT_INT64 && t->dtype != DT_INT32) ||
            t->rank < 0 || t->rank > 1 || !ox_items(n->out[i], &items, &count))
            return false;
    }
    for (int i = 0; i < n->n_out; i++)
        out[i] = ox_of_items(n->graph, ox_dtype(n->out[i]), ox_rank(n->out[i]), n->out[i]->items,
                             n->out[i]->n_items);
    return true;
}

static bool numel_of(int rank, const int64_t *dims, int64_t *numel)
{
    *numel = 1;
    for (int i = 0; i < rank; i++)
        if (!mul_ok(*numel, dims[i], numel))
            return false;
    return true;
}

/* May this input be looked at now? Weights wait for tidy, which knows all their uses. A number that
 * a trace keeps as a 0-d constant is none: sizes may follow from it. */
static bool foldable(Ox v)
{
    if (!v)
        return true;
    if (v->kind != OX_CONST || v->k->dtype == DT_STRING || const_numel(v->k) > FOLD_NUMEL)
        return false;
    bool weight = const_is_weight(v->k);
    return !weight || ((dtype_is_int(v->k->dtype) || v->k->dtype == DT_BOOL) && v->k->rank <= 1) ||
        (!v->k->name && v->k->rank == 0);
}

/* Memory for a result of type t; false where its sizes are not all known. */
static bool room_for(Ctx *cx, Type t, Data *out)
{
    int64_t dims[MAX_RANK];
    if (!type_static(t, dims) || t->dtype == DT_STRING || !strides_fit(cx, t->rank, dims))
        return false;
    *out = (Data){ .dtype = t->dtype,
                   .rank = t->rank,
                   .dims = copy_array(cx, dims, (size_t)t->rank, sizeof *dims) };
    if (!numel_of(t->rank, dims, &out->numel))
        return false;
    size_t bytes = (size_t)dtype_bytes(t->dtype, (uint64_t)out->numel);
    out->at = new_array(cx, uint8_t, bytes ? bytes : 1);
    return out->at != NULL;
}

static const Const *const_of_data(Ctx *cx, const Data *d)
{
    uint64_t bytes = dtype_bytes(d->dtype, (uint64_t)d->numel);
    Const *k = new(cx, Const);
    *k = (Const){ .dtype = d->dtype, .rank = d->rank, .dims = d->dims };
    k->bytes = (Bytes){ source_memory(cx, d->at, bytes), 0, bytes };
    return k;
}

/* The outputs of n, whose inputs are all constants, in memory. False when its operator has no fold
 * for these types, when a size is not known, or after an error (ctx_failed). */
bool node_fold(Node *n, const Const **out)
{
    Ctx *cx = node_cx(n);
    Data *in = new_array(cx, Data, n->n_in ? n->n_in : 1);
    Data *result = new_array(cx, Data, n->n_out);
    if (!in || !result)
        return false;
    for (int i = 0; i < n->n_in; i++) {
        if (n->in[i] && !const_to_data(cx, n->in[i]->k, &in[i]))
            return false;
        count_numbers(cx, (uint64_t)in[i].numel);
    }
    for (int i = 0; i < n->n_out; i++) {
        if (!room_for(cx, n->out[i]->type, &result[i]))
            return false;
        count_numbers(cx, (uint64_t)result[i].numel);
    }
    Fold f = { .cx = cx, .node = n, .in = in, .out = result };
    if (!n->op->fold(&f))
        return false;
    for (int i = 0; i < n->n_out; i++)
        out[i] = const_of_data(cx, &result[i]);
    return true;
}

/* A small input may ask for a large result: Expand, ConstantOfShape. */
static bool small_result(Ox v)
{
    int64_t dims[MAX_RANK], numel;
    return type_static(v->type, dims) && numel_of(ox_rank(v), dims, &numel) && numel <= FOLD_NUMEL;
}

/* Constants in place of n's outputs, when all its inputs are small constants. False: n stays, or an
 * error (ctx_failed). */
static bool fold_small(Node *n, Ox *out)
{
    enum { MOST = 16 };
    if (!n->op->fold || n->op->random || n->n_out > MOST)
        return false;
    for (int i = 0; i < n->n_in; i++)
        if (!foldable(n->in[i]))
            return false;
    for (int i = 0; i < n->n_out; i++)
        if (!small_result(n->out[i]))
            return false;
    const Const *k[MOST];
    if (!node_fold(n, k))
        return false;
    for (int i = 0; i < n->n_out; i++)
        out[i] = ox_const(n->graph, k[i]);
    return true;
}

/* Every output is without elements, whatever the inputs hold: kernels that do not take an empty
 * tensor never see it. */
static bool empty_results(Node *n, Ox *out)
{
    int64_t dims[MAX_RANK];
    for (int i = 0; i < n->n_out; i++) {
        Type t = n->out[i]->type;
        if (!type_static(t, dims) || t->dtype == DT_STRING || !dim_is(type_numel(node_cx(n), t), 0))
            return false;
    }
    for (int i = 0; i < n->n_out; i++) {
        Type t = n->out[i]->type;
        type_static(t, dims);
        out[i] = ox_const(n->graph, const_make(node_cx(n), t->dtype, t->rank, dims, NULL));
    }
    return n->n_out > 0;
}

/* ---- the calls ---- */

static bool is_poisoned(Graph *g, OxList in)
{
    for (size_t i = 0; i < in.n; i++)
        if (in.at[i] == POISON)
            return true;
    return ctx_failed(g->cx);
}

/* Checked and inferred, not yet part of the graph; NULL after an error. */
static Node *make_node(Graph *g, const char *name, OxList in, const Attr *attr, size_t n_attr,
                       size_t n_out)
{
    Ctx *cx = g->cx;
    const OnnxOp *op = onnx_op(cx, name);
    const OpVersion *ver = op ? onnx_version(op, ONNX_NEWEST) : NULL;
    if (!ver || ver->deprecated) {
        fail(cx, E_BUG, "ONNX has no operator %s in opset %d", name, ONNX_NEWEST);
        return NULL;
    }
    if (!check_inputs(g, op, ver, in, n_out))
        return NULL;
    Node *n = new_node(g, str_of(cx, ""), str_of(cx, op->name), in, attr, n_attr, n_out);
    if (!n)
        return NULL;
    n->op = op;
    if (!check_attrs(g, op, ver, n))
        return NULL;
    if (!op->infer) {
        fail(cx, E_BUG, "%s: type and shape inference is not written", name);
        return NULL;
    }
    if (!op->infer(n)) {
        if (!ctx_failed(cx))
            fail(cx, E_BUG, "%s: inference failed without saying why", name);
        return NULL;
    }
    return ctx_failed(cx) ? NULL : n;
}

/* n as part of the graph, or the equal node that is there already. */
static void use_node(Node *n, Ox *out)
{
    Node *there = node_share(n);
    if (there == n)
        append(n);
    memcpy(out, there->out, (size_t)n->n_out * sizeof *out);
}

/* TopK has two outputs also where only one is used. */
static size_t least_outputs(Graph *g, const char *name)
{
    const OnnxOp *op = onnx_op(g->cx, name);
    const OpVersion *v = op ? onnx_version(op, ONNX_NEWEST) : NULL;
    return v ? v->min_out : 0;
}

/* The way of each node: checked, inferred, then replaced by known items, by an empty or a folded
 * constant, or by an equal node; appended only where none of these is possible. */
bool ox_make_n(Graph *g, const char *name, OxList in, const Attr *attr, size_t n_attr, Ox *out,
               size_t n_out)
{
    while (in.n && !in.at[in.n - 1])
        in.n--;
    if (is_poisoned(g, in))
        return poison_all(out, n_out), false;
    Ox all[255]; /* an operator's signature may want more outputs than the caller */
    size_t least = least_outputs(g, name);
    size_t n_all = n_out > least ? n_out : least;
    Ox *made = n_out >= least ? out : all;
    Node *n = make_node(g, name, in, attr, n_attr, n_all);
    if (!n)
        return poison_all(out, n_out), false;
    if (!node_sharable(n) ||
        !(replace_by_items(n, made) || empty_results(n, made) || fold_small(n, made))) {
        if (ctx_failed(g->cx))
            return poison_all(out, n_out), false;
        use_node(n, made);
    }
    if (made != out)
        memcpy(out, made, n_out * sizeof *out);
    return !ctx_failed(g->cx);
}

Ox ox_make_plain(Graph *g, const char *name, OxList in, const Attr *attr, size_t n_attr)
{
    Ox out = POISON;
    Node *n = is_poisoned(g, in) ? NULL : make_node(g, name, in, attr, n_attr, 1);
    if (n)
        use_node(n, &out);
    return ctx_failed(g->cx) ? POISON : out;
}

Ox node_retype_out(Node *n, int i, DType t)
{
    Ox old = n->out[i];
    Ox fresh = ox_new(n->graph, OX_NODE, NULL);
    fresh->type = type_tensor(node_cx(n), t, ox_rank(old), old->type->dim);
    fresh->node = n;
    fresh->out = i;
    n->out[i] = fresh;
    return old;
}

Ox ox_make(Graph *g, const char *op, OxList in, const Attr *attr, size_t n_attr)
{
    Ox out;
    ox_make_n(g, op, in, attr, n_attr, &out, 1);
    return out;
}

bool ox_make_custom(Graph *g, Str domain, Str op, OxList in, const Attr *attr, size_t n_attr,
                    const Type *types, Ox *out, size_t n_out)
{
    while (in.n && !in.at[in.n - 1])
        in.n--;
    if (is_poisoned(g, in))
        return poison_all(out, n_out), false;
    Node *n = new_node(g, domain, op, in, attr, n_attr, n_out);
    if (!n)
        return poison_all(out, n_out), false;
    for (size_t i = 0; i < n_out; i++)
        n->out[i]->type = types[i];
    append(n);
    memcpy(out, n->out, n_out * sizeof *out);
    return !ctx_failed(g->cx);
}

Ox ox_identity(Graph *g, Ox v)
{
    if (is_poisoned(g, INPUTS(v)))
        return POISON;
    Node *n = new_node(g, str_of(g->cx, ""), str_of(g->cx, "Identity"), INPUTS(v), NULL, 0, 1);
    if (!n)
        return POISON;
    n->op = onnx_op(g->cx, "Identity");
    n->out[0]->type = v->type;
    n->out[0]->items = v->items;
    n->out[0]->n_items = v->n_items;
    append(n);
    return n->out[0];
}
