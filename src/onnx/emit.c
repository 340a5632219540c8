/* emit.c - building: one call makes a node, or finds that none is needed.
 *
 * The order is always the same: poison in, poison out; check arity and types against the newest form; infer; contents
 * (a small int tensor whose items are known dims needs no node); fold small constants; share an equal node that is
 * visible; append. Equal nodes are looked for in this scope and the scopes around it: what an arm has made is unknown
 * outside of it. */
#include "onnx/internal.h"

#include "base/limits.h"

/* ---- sharing --------------------------------------------------------------------------------------------- */

/* Made things by content: nodes in the scope that made them, constants and dims in the root's. Nodes have a table of their
 * own. A pass of src/tidy builds the list of nodes anew, and must not find one that comes later: its table is stale, and
 * made again, of the nodes that are in the list, once somebody looks into it. */
typedef enum { SHARED_NODE, SHARED_CONST, SHARED_DIMS, SHARED_WEIGHT } SharedKind;
typedef struct Shared { uint32_t hash; SharedKind kind; void *what; } Shared;
typedef struct Sharing { Shared *slot; size_t n_slot, n; } Sharing;
struct Share { Sharing nodes, values; bool stale; };

static void place_shared(Sharing *s, Shared e)
{
    size_t at = e.hash & (s->n_slot - 1);
    while (s->slot[at].what)
        at = (at + 1) & (s->n_slot - 1);
    s->slot[at] = e;
}

static void share(Graph *g, Shared e)
{
    if (!g->share)
        g->share = new(g->cx, struct Share);
    Sharing *s = e.kind == SHARED_NODE ? &g->share->nodes : &g->share->values;
    if (s->n * 2 >= s->n_slot) {
        Sharing old = *s;
        s->n_slot = old.n_slot ? old.n_slot * 2 : 64;
        s->slot = new_array(g->cx, Shared, s->n_slot);
        if (!s->slot) {
            *s = old;
            return;
        }
        for (size_t i = 0; i < old.n_slot; i++)
            if (old.slot[i].what)
                place_shared(s, old.slot[i]);
        mem_give(g->cx, old.slot, old.n_slot * sizeof *old.slot);
    }
    place_shared(s, e);
    s->n++;
}

/* The next entry of that hash and kind from slot *at on; NULL at the end. Start with *at = hash. */
static void *next_shared(const struct Share *both, uint32_t hash, SharedKind kind, size_t *at)
{
    const Sharing *s = !both ? NULL : kind == SHARED_NODE ? &both->nodes : &both->values;
    if (!s || !s->n_slot)
        return NULL;
    for (size_t i = *at & (s->n_slot - 1); s->slot[i].what; i = (i + 1) & (s->n_slot - 1)) {
        *at = i + 1;
        if (s->slot[i].hash == hash && s->slot[i].kind == kind)
            return s->slot[i].what;
    }
    return NULL;
}

/* ---- constants and dims as values --------------------------------------------------------------------------- */

static int64_t int_at(DType t, const void *p, int64_t i)
{
    switch (t) {
    case DT_UINT8: return ((const uint8_t *)p)[i];
    case DT_INT8: return ((const int8_t *)p)[i];
    case DT_UINT16: return ((const uint16_t *)p)[i];
    case DT_INT16: return ((const int16_t *)p)[i];
    case DT_UINT32: return ((const uint32_t *)p)[i];
    case DT_INT32: return ((const int32_t *)p)[i];
    case DT_BOOL: return ((const uint8_t *)p)[i] != 0;
    default: return ((const int64_t *)p)[i];
    }
}

/* Small int64 and int32 constants carry their items, as every value may. */
static void add_items(Graph *g, Ox v)
{
    const Const *k = v->k;
    int64_t n = const_numel(k);
    if ((k->dtype != DT_INT64 && k->dtype != DT_INT32) || k->rank > 1 || n > MAX_ITEMS)
        return;
    const void *data = const_data(g->cx, k);
    if (!data)
        return;
    Dim *items = new_array(g->cx, Dim, n ? n : 1);
    for (int64_t i = 0; i < n; i++)
        items[i] = dim_int(g->cx, int_at(k->dtype, data, i));
    v->items = items;
    v->n_items = n;
}

static Ox new_const(Graph *g, const Const *k)
{
    Ox v = ox_new(g, OX_CONST, type_of_ints(g->cx, k->dtype, k->rank, k->dims));
    v->k = k;
    add_items(g, v);
    return v;
}

/* A number of ours, not bytes of the file: those of equal content are one value. */
static bool is_small(const Const *k)
{
    return !k->name && !k->storage && !k->derived && k->dtype != DT_STRING && k->bytes.src && k->bytes.src->kind == SRC_MEMORY &&
           const_contiguous(k) && const_numel(k) <= FOLD_NUMEL;
}

static bool same_small(const Const *a, const Const *b, const void *pa, const void *pb)
{
    return a->dtype == b->dtype && a->rank == b->rank && (a->rank == 0 || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0) &&
           memcmp(pa, pb, (size_t)dtype_bytes(a->dtype, (uint64_t)const_numel(a))) == 0;
}

Ox ox_const(Graph *g, const Const *k)
{
    if (!k || ctx_failed(g->cx))
        return POISON;
    Graph *root = graph_root(g);
    size_t at;
    if (!is_small(k)) {
        uint64_t h = hash_bytes(&k, sizeof k, 1);
        at = h;
        for (Ox v; (v = next_shared(root->share, h, SHARED_WEIGHT, &at)); )
            if (v->k == k)
                return v;
        Ox v = new_const(g, k);
        share(root, (Shared){ h, SHARED_WEIGHT, v });
        return v;
    }
    const void *p = const_data(g->cx, k);
    uint64_t key[2] = { k->dtype, (uint64_t)k->rank };
    uint64_t h = hash_bytes(key, sizeof key, k->rank ? hash_bytes(k->dims, (size_t)k->rank * sizeof *k->dims, 2) : 2);
    h = hash_bytes(p, (size_t)dtype_bytes(k->dtype, (uint64_t)const_numel(k)), h);
    at = h;
    for (Ox v; (v = next_shared(root->share, h, SHARED_CONST, &at)); )
        if (same_small(v->k, k, const_data(g->cx, v->k), p))
            return v;
    Ox v = new_const(g, k);
    share(root, (Shared){ h, SHARED_CONST, v });
    return v;
}

static Ox const_of(Graph *g, DType t, int rank, const int64_t *dims, const void *data)
{
    return ctx_failed(g->cx) ? POISON : ox_const(g, const_make(g->cx, t, rank, dims, data));
}

Ox ox_int(Graph *g, int64_t v) { return const_of(g, DT_INT64, 0, NULL, &v); }

Ox ox_ints(Graph *g, const int64_t *v, size_t n)
{
    int64_t dim = (int64_t)n;
    return const_of(g, DT_INT64, 1, &dim, v);
}

Ox ox_bool(Graph *g, bool v)
{
    uint8_t b = v;
    return const_of(g, DT_BOOL, 0, NULL, &b);
}

/* Rounded once, from double: float16 and bfloat16 to nearest even by the bits, not through float32. */
static uint16_t narrow_float(double v, int mantissa, int exponent)
{
    union { double f; uint64_t u; } x = { .f = v };
    uint16_t sign = (uint16_t)(x.u >> 63 << 15);
    int bias = (1 << (exponent - 1)) - 1, e = (int)(x.u >> 52 & 0x7ff) - 1023 + bias;
    uint64_t m = x.u & 0xfffffffffffffu;
    uint16_t inf = (uint16_t)(((1u << exponent) - 1) << mantissa);
    if ((x.u >> 52 & 0x7ff) == 0x7ff)
        return (uint16_t)(sign | inf | (m ? 1u << (mantissa - 1) : 0));
    m |= 1ull << 52;
    int drop = 52 - mantissa;
    if (e <= 0) {                               /* subnormal here */
        drop += 1 - e;
        e = 0;
        if (drop > 54)
            return sign;
    }
    uint64_t kept = m >> drop, rest = m & ((1ull << drop) - 1), half = 1ull << (drop - 1);
    kept += rest > half || (rest == half && (kept & 1));
    if (e > 0)
        kept += (uint64_t)(e - 1) << mantissa;  /* the hidden bit adds the last one */
    return (uint16_t)(sign | (kept >= inf ? inf : kept));
}

Ox ox_number(Graph *g, DType t, double v)
{
    union { float f; double d; uint16_t h; float c[2]; double z[2]; } x = { .z = { 0, 0 } };
    switch (t) {
    case DT_FLOAT: x.f = (float)v; break;
    case DT_DOUBLE: x.d = v; break;
    case DT_FLOAT16: x.h = narrow_float(v, 10, 5); break;
    case DT_BFLOAT16: x.h = narrow_float(v, 7, 8); break;
    case DT_COMPLEX64: x.c[0] = (float)v; break;
    case DT_COMPLEX128: x.z[0] = v; break;
    case DT_BOOL: return ox_bool(g, v != 0);
    default:
        if (v != v || v < -9223372036854775808.0 || v >= 9223372036854775808.0 || !(dtype_is_int(t))) {
            fail(g->cx, E_VALUE, "%g is not a number of type %s", v, dtype_name(t));
            return POISON;
        }
        return ox_integer(g, t, (int64_t)v);
    }
    return const_of(g, t, 0, NULL, &x);
}

Ox ox_integer(Graph *g, DType t, int64_t v)
{
    union { int8_t b; int16_t h; int32_t w; int64_t d; uint8_t any[8]; } x = { .d = 0 };
    if (!dtype_is_int(t) || dtype_bytes(t, 2) != 2 * dtype_size(t))
        return ox_number(g, t, (double)v);
    switch (dtype_size(t)) {
    case 1: x.b = (int8_t)v; break;
    case 2: x.h = (int16_t)v; break;
    case 4: x.w = (int32_t)v; break;
    default: x.d = v; break;
    }
    return const_of(g, t, 0, NULL, &x);
}

/* Text as a constant: its bytes are those of the string. */
Ox ox_string(Graph *g, Str s)
{
    if (ctx_failed(g->cx))
        return POISON;
    Const *k = new(g->cx, Const);
    const Str *item = mem_copy(g->cx, &s, sizeof s);
    *k = (Const){ .dtype = DT_STRING, .bytes = { source_memory(g->cx, item, sizeof s), 0, sizeof s } };
    return ox_const(g, k);
}

Ox ox_of_items(Graph *g, DType t, int rank, const Dim *items, int64_t n)
{
    if (ctx_failed(g->cx))
        return POISON;
    bool known = true;
    int64_t *v = new_array(g->cx, int64_t, n ? n : 1);
    for (int64_t i = 0; i < n; i++)
        known &= dim_known(items[i], &v[i]);
    if (known) {
        int32_t *w = (int32_t *)v;              /* narrowed in place, front to back */
        for (int64_t i = 0; t == DT_INT32 && i < n; i++)
            w[i] = (int32_t)v[i];
        return const_of(g, t, rank, &n, v);
    }
    Graph *root = graph_root(g);
    uint64_t key[2] = { t, (uint64_t)rank }, h = hash_bytes(key, sizeof key, hash_bytes(items, (size_t)n * sizeof *items, 3));
    size_t at = h;
    for (Ox o; (o = next_shared(root->share, h, SHARED_DIMS, &at)); )
        if (ox_dtype(o) == t && ox_rank(o) == rank && o->n_items == n && memcmp(o->items, items, (size_t)n * sizeof *items) == 0)
            return o;
    Ox o = ox_new(g, OX_DIMS, type_of_ints(g->cx, t, rank, &n));
    o->items = mem_copy(g->cx, items, (size_t)n * sizeof *items);
    o->n_items = n;
    share(root, (Shared){ h, SHARED_DIMS, o });
    return o;
}

/* Dims as a value. More than fit into the contents of a value are a bug of the caller: MAX_ITEMS. */
Ox ox_dims(Graph *g, const Dim *d, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!d[i])
            return POISON;
    return ox_of_items(g, DT_INT64, 1, d, (int64_t)n);
}

Ox ox_dim_value(Graph *g, Dim d)
{
    return d ? ox_of_items(g, DT_INT64, 0, &d, 1) : POISON;
}

Ox ox_cast(Graph *g, Ox v, DType to)
{
    if (!ox_ok(v) || ox_dtype(v) == to)
        return v;
    if (dtype_is_complex(to) || dtype_is_complex(ox_dtype(v)))
        return ox_cast_complex(g, v, to);
    return ox_g_with(g, "Cast", INPUTS(v), INT("to", to));
}

Ox ox_shape(Graph *g, Ox v)
{
    if (!ox_ok(v))
        return v;
    return ox_rank(v) >= 0 ? ox_dims(g, v->type->dim, (size_t)ox_rank(v)) : ox_g(g, "Shape", v);
}

bool ox_items(Ox v, const Dim **out, int64_t *n)
{
    if (!v->items)
        return false;
    for (int64_t i = 0; i < v->n_items; i++)
        if (!v->items[i])
            return false;
    *out = v->items;
    *n = v->n_items;
    return true;
}

static bool items_as_ints(Graph *g, Ox v, const int64_t **out, int64_t *n)
{
    const Dim *items;
    if (!ox_items(v, &items, n))
        return false;
    int64_t *ints = new_array(g->cx, int64_t, *n ? *n : 1);
    for (int64_t i = 0; i < *n; i++)
        if (!dim_known(items[i], &ints[i]))
            return false;
    *out = ints;
    return true;
}

bool ox_known_ints(Graph *g, Ox v, const int64_t **out, int64_t *n)
{
    if (!ox_ok(v))
        return false;
    if (items_as_ints(g, v, out, n))
        return true;
    if (v->kind != OX_CONST || !(dtype_is_int(v->k->dtype) || v->k->dtype == DT_BOOL) || dtype_bytes(v->k->dtype, 2) < 2)
        return false;
    *n = const_numel(v->k);
    const void *data = *n <= FOLD_NUMEL ? const_data(g->cx, v->k) : NULL;
    if (!data)
        return false;
    int64_t *ints = new_array(g->cx, int64_t, *n ? *n : 1);
    for (int64_t i = 0; i < *n; i++)
        ints[i] = int_at(v->k->dtype, data, i);
    *out = ints;
    return true;
}

/* The value of a 16-bit float. */
static double wide_float(uint16_t h, int mantissa, int exponent)
{
    int bias = (1 << (exponent - 1)) - 1, e = h >> mantissa & ((1 << exponent) - 1);
    double m = h & ((1 << mantissa) - 1), scale = 1;
    if (e == (1 << exponent) - 1)
        return m != 0 ? __builtin_nan("") : h >> 15 ? -__builtin_inf() : __builtin_inf();
    m = e ? m + (1 << mantissa) : m;
    for (int k = (e ? e : 1) - bias - mantissa; k != 0; k += k < 0 ? 1 : -1)
        scale *= k < 0 ? 0.5 : 2;
    return (h >> 15 ? -m : m) * scale;
}

bool ox_known_scalar(Graph *g, Ox v, double *out)
{
    const int64_t *ints;
    int64_t n;
    if (!ox_ok(v) || v->kind != OX_CONST || const_numel(v->k) != 1)
        return false;
    if (ox_known_ints(g, v, &ints, &n)) {
        *out = ox_dtype(v) == DT_UINT64 ? (double)(uint64_t)ints[0] : (double)ints[0];
        return true;
    }
    const void *p = dtype_is_float(v->k->dtype) ? const_data(g->cx, v->k) : NULL;
    if (!p)
        return false;
    switch (v->k->dtype) {
    case DT_FLOAT: *out = *(const float *)p; return true;
    case DT_DOUBLE: *out = *(const double *)p; return true;
    case DT_FLOAT16: *out = wide_float(*(const uint16_t *)p, 10, 5); return true;
    case DT_BFLOAT16: *out = wide_float(*(const uint16_t *)p, 7, 8); return true;
    default: return false;
    }
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

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
    return t->kind == T_SEQUENCE ? f->seq : f->optional;
}

/* Inputs that share a type variable must be of one type; this is where a missing cast in a lowering shows. Of the inputs of a
 * variadic one the first stands for all. */
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
            return fail(g->cx, E_UNSUPPORTED, "ONNX's %s does not take %s for %s", op->name, type_text(g->cx, in.at[i]->type)->s, a->name);
        for (size_t j = 0; f && a->homogeneous && j < i && j < ver->n_in; j++)
            if (in.at[j] && formal_in(ver, (int)j)->homogeneous && strcmp(formal_in(ver, (int)j)->type, a->type) == 0 &&
                ox_dtype(in.at[j]) != ox_dtype(in.at[i]))
                return fail(g->cx, E_BUG, "%s: %s is %s, but %s is %s", op->name, a->name, dtype_name(ox_dtype(in.at[i])),
                            formal_in(ver, (int)j)->name, dtype_name(ox_dtype(in.at[j])));
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
        int k = 0;
        while (k < ver->n_attr && strcmp(ver->attr[k].name, n->attr[i].name) != 0)
            k++;
        if (k == ver->n_attr || ver->attr[k].kind != n->attr[i].kind)
            return fail(g->cx, E_BUG, "%s has no attribute %s of this kind", op->name, n->attr[i].name);
    }
    for (int k = 0; k < ver->n_attr; k++)
        if (ver->attr[k].required && !node_has(n, ver->attr[k].name))
            return fail(g->cx, E_BUG, "%s: the attribute %s is missing", op->name, ver->attr[k].name);
    return true;
}

/* ---- nodes ---------------------------------------------------------------------------------------------------------- */

static void *copy_array(Ctx *cx, const void *p, size_t n, size_t size)
{
    void *to = n ? mem_dense(cx, n * size) : NULL;
    return to ? memcpy(to, p, n * size) : NULL;
}

static Attr copy_attr(Ctx *cx, const Attr *from)
{
    Attr a = *from;
    switch (a.kind) {
    case ATTR_INTS: a.ints = copy_array(cx, a.ints, a.n, sizeof *a.ints); break;
    case ATTR_FLOATS: a.floats = copy_array(cx, a.floats, a.n, sizeof *a.floats); break;
    case ATTR_STRINGS: a.strs = copy_array(cx, a.strs, a.n, sizeof *a.strs); break;
    default: break;
    }
    return a;
}

static Node *new_node(Graph *g, Str domain, Str name, OxList in, const Attr *attr, size_t n_attr, size_t n_out)
{
    Ctx *cx = g->cx;
    Node *n = mem_dense(cx, sizeof *n);
    *n = (Node){ .name = name, .domain = domain, .n_in = (int)in.n, .n_out = (int)n_out, .graph = g };
    n->in = copy_array(cx, in.at, in.n, sizeof *in.at);
    n->attr = n_attr ? mem_dense(cx, n_attr * sizeof *n->attr) : NULL;
    for (size_t i = 0; i < n_attr; i++)
        if (attr[i].kind != ATTR_NONE)
            n->attr[n->n_attr++] = copy_attr(cx, &attr[i]);
    n->out = mem_dense(cx, (n_out ? n_out : 1) * sizeof *n->out);
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
    n->at = where_intern(cx);
    n->id = n->out[0] ? n->out[0]->id : 0;
    vec_push(cx, &n->graph->nodes, n);
    int64_t limit = cx->limit[LIMIT_NODES];
    if (limit > 0 && (int64_t)n->graph->nodes.n > limit)
        fail(cx, E_LIMIT, "more than %lld nodes (--limit nodes=N raises this)", (long long)limit);
}

static bool attr_equal(const Attr *a, const Attr *b)
{
    if (a->kind != b->kind || a->n != b->n || strcmp(a->name, b->name) != 0)
        return false;
    switch (a->kind) {
    case ATTR_FLOAT: return memcmp(&a->f, &b->f, sizeof a->f) == 0;
    case ATTR_INTS: return a->n == 0 || memcmp(a->ints, b->ints, a->n * sizeof *a->ints) == 0;
    case ATTR_FLOATS: return a->n == 0 || memcmp(a->floats, b->floats, a->n * sizeof *a->floats) == 0;
    case ATTR_STRINGS: return a->n == 0 || memcmp(a->strs, b->strs, a->n * sizeof *a->strs) == 0;
    case ATTR_GRAPH: return false;
    default: return a->i == b->i;               /* INT, and what is compared by pointer: STRING, TENSOR, TYPE */
    }
}

static uint64_t node_hash(const Node *n)
{
    uint64_t h = hash_bytes(&n->op, sizeof n->op, n->n_out);
    h = hash_bytes(n->in, n->n_in * sizeof *n->in, h);
    for (int i = 0; i < n->n_attr; i++) {
        h = hash_bytes(n->attr[i].name, strlen(n->attr[i].name), h);
        if (n->attr[i].kind == ATTR_INTS)
            h = hash_bytes(n->attr[i].ints, n->attr[i].n * sizeof *n->attr[i].ints, h);
        else if (n->attr[i].kind == ATTR_INT)
            h = hash_bytes(&n->attr[i].i, sizeof n->attr[i].i, h);
    }
    return h;
}

static bool node_equal(const Node *a, const Node *b)
{
    if (a->op != b->op || a->dead || a->n_in != b->n_in || a->n_out != b->n_out || a->n_attr != b->n_attr ||
        (a->n_in && memcmp(a->in, b->in, a->n_in * sizeof *a->in) != 0))
        return false;
    for (int i = 0; i < a->n_attr; i++)
        if (!attr_equal(&a->attr[i], &b->attr[i]))
            return false;
    return true;
}

static bool has_subgraph(const Node *n)
{
    for (int i = 0; i < n->n_attr; i++)
        if (n->attr[i].kind == ATTR_GRAPH)
            return true;
    return false;
}

static bool sharable(const Node *n)
{
    return n->op && !n->op->random && !has_subgraph(n);
}

static void make_anew(Graph *g)
{
    Sharing *s = &g->share->nodes;
    g->share->stale = false;
    if (s->n_slot)
        memset(s->slot, 0, s->n_slot * sizeof *s->slot);
    s->n = 0;
    for (size_t i = 0; i < g->nodes.n; i++) {
        Node *n = g->nodes.at[i];
        if (!n->dead && sharable(n))
            share(g, (Shared){ (uint32_t)node_hash(n), SHARED_NODE, n });
    }
}

static Node *find_equal(const Node *n, uint64_t hash)
{
    for (Graph *g = n->graph; g; g = g->up) {
        size_t at = hash;
        if (share_is_stale(g))
            make_anew(g);
        for (Node *old; (old = next_shared(g->share, hash, SHARED_NODE, &at)); )
            if (node_equal(old, n))
                return old;
    }
    return NULL;
}

/* ---- contents and folding ---------------------------------------------------------------------------------------------- */

/* Every output is a small int tensor whose items are all known as dims: no node is needed. */
static bool replace_by_items(Node *n, Ox *out)
{
    const Dim *items;
    int64_t count;
    for (int i = 0; i < n->n_out; i++) {
        Type t = n->out[i]->type;
        if (!t || t->kind != T_TENSOR || (t->dtype != DT_INT64 && t->dtype != DT_INT32) || t->rank < 0 || t->rank > 1 ||
            !ox_items(n->out[i], &items, &count))
            return false;
    }
    for (int i = 0; i < n->n_out; i++)
        out[i] = ox_of_items(n->graph, ox_dtype(n->out[i]), ox_rank(n->out[i]), n->out[i]->items, n->out[i]->n_items);
    return true;
}

/* May this input be looked at now? Weights wait for tidy, which knows all their uses. */
static bool foldable(Ox v)
{
    if (!v)
        return true;
    if (v->kind != OX_CONST || v->k->dtype == DT_STRING || const_numel(v->k) > FOLD_NUMEL)
        return false;
    bool weight = v->k->name || v->k->storage || v->k->derived;
    return !weight || ((dtype_is_int(v->k->dtype) || v->k->dtype == DT_BOOL) && v->k->rank <= 1);
}

bool node_fold(Node *n, const Const **out)
{
    Ctx *cx = node_cx(n);
    Data *in = new_array(cx, Data, n->n_in ? n->n_in : 1), *result = new_array(cx, Data, n->n_out);
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && !const_to_data(cx, n->in[i]->k, &in[i]))
            return false;
    for (int i = 0; i < n->n_out; i++) {
        int64_t dims[MAX_RANK];
        Type t = n->out[i]->type;
        if (!type_static(t, dims) || t->dtype == DT_STRING)
            return false;
        result[i] = (Data){ .dtype = t->dtype, .rank = t->rank, .dims = copy_array(cx, dims, (size_t)t->rank, sizeof *dims), .numel = 1 };
        for (int k = 0; k < t->rank; k++)
            if (!mul_ok(result[i].numel, dims[k], &result[i].numel))
                return false;
        size_t bytes = (size_t)dtype_bytes(t->dtype, (uint64_t)result[i].numel);
        result[i].at = new_array(cx, uint8_t, bytes ? bytes : 1);
        if (!result[i].at)
            return false;
    }
    Fold f = { .cx = cx, .node = n, .in = in, .out = result };
    if (!n->op->fold(&f))
        return false;
    for (int i = 0; i < n->n_out; i++) {
        Const *k = new(cx, Const);
        uint64_t bytes = dtype_bytes(result[i].dtype, (uint64_t)result[i].numel);
        *k = (Const){ .dtype = result[i].dtype, .rank = result[i].rank, .dims = result[i].dims };
        k->bytes = (Bytes){ source_memory(cx, result[i].at, bytes), 0, bytes };
        out[i] = k;
    }
    return true;
}

static bool fold_small(Node *n, Ox *out)
{
    if (!n->op->fold || n->op->random || n->n_out > 16)
        return false;
    int64_t dims[MAX_RANK], numel;
    for (int i = 0; i < n->n_in; i++)
        if (!foldable(n->in[i]))
            return false;
    for (int i = 0; i < n->n_out; i++) {        /* a small input may ask for a large result: Expand, ConstantOfShape */
        if (!type_static(n->out[i]->type, dims))
            return false;
        numel = 1;
        for (int k = 0; k < ox_rank(n->out[i]); k++)
            if (!mul_ok(numel, dims[k], &numel))
                return false;
        if (numel > FOLD_NUMEL)
            return false;
    }
    const Const *k[16];
    if (!node_fold(n, k))
        return false;
    for (int i = 0; i < n->n_out; i++)
        out[i] = ox_const(n->graph, k[i]);
    return true;
}

/* ---- the calls ------------------------------------------------------------------------------------------------------------- */

static bool is_poisoned(Graph *g, OxList in)
{
    for (size_t i = 0; i < in.n; i++)
        if (in.at[i] == POISON)
            return true;
    return ctx_failed(g->cx);
}

/* Checked and inferred, not yet part of the graph; NULL after an error. */
static Node *make_node(Graph *g, const char *name, OxList in, const Attr *attr, size_t n_attr, size_t n_out)
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

Node *node_share(Node *n)
{
    if (!sharable(n))
        return n;
    uint64_t hash = node_hash(n);
    Node *equal = find_equal(n, hash);
    if (!equal)
        share(n->graph, (Shared){ hash, SHARED_NODE, n });
    return equal ? equal : n;
}

void share_forget_nodes(Graph *g)
{
    if (g->share)
        g->share->stale = true;
}

bool share_is_stale(const Graph *g) { return g->share && g->share->stale; }

/* n as part of the graph, or the equal node that is there already. */
static void use_node(Node *n, Ox *out)
{
    Node *there = node_share(n);
    if (there == n)
        append(n);
    memcpy(out, there->out, n->n_out * sizeof *out);
}

/* TopK has two outputs even for somebody who wants one. */
static size_t least_outputs(Graph *g, const char *name)
{
    const OnnxOp *op = onnx_op(g->cx, name);
    const OpVersion *v = op ? onnx_version(op, ONNX_NEWEST) : NULL;
    return v ? v->min_out : 0;
}

bool ox_make_n(Graph *g, const char *name, OxList in, const Attr *attr, size_t n_attr, Ox *out, size_t n_out)
{
    while (in.n && !in.at[in.n - 1])
        in.n--;
    if (is_poisoned(g, in))
        return poison_all(out, n_out), false;
    Ox all[255];                                /* an operator's signature may want more outputs than the caller */
    size_t least = least_outputs(g, name), n_all = n_out > least ? n_out : least;
    Ox *made = n_out >= least ? out : all;
    Node *n = make_node(g, name, in, attr, n_attr, n_all);
    if (!n)
        return poison_all(out, n_out), false;
    if (!sharable(n) || !(replace_by_items(n, made) || fold_small(n, made))) {
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
    Ox old = n->out[i], fresh = ox_new(n->graph, OX_NODE, NULL);
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

bool ox_make_custom(Graph *g, Str domain, Str op, OxList in, const Attr *attr, size_t n_attr, const Type *types, Ox *out, size_t n_out)
{
    while (in.n && !in.at[in.n - 1])
        in.n--;
    if (is_poisoned(g, in))
        return poison_all(out, n_out), false;
    Node *n = new_node(g, domain, op, in, attr, n_attr, n_out);
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
    n->op = onnx_op(g->cx, "Identity");
    n->out[0]->type = v->type;
    n->out[0]->items = v->items;
    n->out[0]->n_items = v->n_items;
    append(n);
    return n->out[0];
}
