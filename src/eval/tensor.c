/* tensor.c - what a tensor of the program is: a storage, and how this tensor looks at it.
 *
 * A view keeps the bound call that made it. Reading one whose storage has changed runs that call again on its base's value
 * now; writing through one asks the call for the base's new value, and so on up to the storage. Both walk the chain in a loop,
 * and a slice of a slice is one slice, so long chains neither recurse nor cost quadratic time.
 *
 * Strides are dims in elements. They exist for one question: does reshape, flatten or contiguous share memory here, as
 * PyTorch's would? Where the sizes do not tell, the two storages are peers: after a write to one, the other's contents are
 * lost, and reading it is refused instead of guessed. */
#include "eval/value.h"
#include "ops/ops.h"

Tensor *tensor_new(Ctx *cx, Ox v)
{
    Tensor *t = new(cx, Tensor);
    Storage *st = storage_new(cx, v);
    *t = (Tensor){ .st = st, .read = v, .read_version = st->version, .kind = PLAIN, .contiguous = YES };
    return t;
}

Tensor *tensor_alias(Ctx *cx, Tensor *t)
{
    Tensor *a = new(cx, Tensor);
    *a = *t;
    a->number = false;
    return a;
}

Type tensor_type(const Tensor *t) { return t->read->type; }      /* stale or not: writing changes neither dtype nor shape */

/* ---- reading and writing ---- */

/* The cached value is of this version and its scope is ours: an arm's value is unknown outside it. */
static bool fresh(const Graph *g, const Tensor *t)
{
    return t->read && t->read_version == t->st->version && (!ox_ok(t->read) || graph_sees(g, t->read));
}

static bool may_write(Ctx *cx, const Storage *st)
{
    return !st->shared_bytes ||
           fail(cx, E_UNSUPPORTED, "writing to %s, whose memory other tensors of the file overlap", st->name ? st->name->s : "a tensor");
}

/* ---- peers ---- */

/* SAME: perhaps the same memory. WHOLE: what lists this peer is a part of `st`; PART: the other way round. */
typedef enum { PEER_SAME, PEER_PART, PEER_WHOLE } PeerKind;
typedef struct Peer { PeerKind kind; Storage *st; Str why; struct Peer *next; } Peer;

static void add_peer(Ctx *cx, Storage *to, PeerKind kind, Storage *st, Str why)
{
    Peer *p = new(cx, Peer);
    *p = (Peer){ kind, st, why, to->peers };
    to->peers = p;
}

void tensor_maybe_shared(Ctx *cx, Tensor *a, Tensor *b, Str why)
{
    if (a->st == b->st)
        return;
    add_peer(cx, a->st, PEER_SAME, b->st, why);
    add_peer(cx, b->st, PEER_SAME, a->st, why);
}

void tensor_holds(Ctx *cx, Tensor *whole, Tensor *part, Str why)
{
    if (whole->st == part->st)
        return;
    add_peer(cx, whole->st, PEER_PART, part->st, why);
    add_peer(cx, part->st, PEER_WHOLE, whole->st, why);
}

typedef struct Losing { Ctx *cx; Map seen; VEC(Storage *) found; } Losing;

static void lose_through(Losing *l, PeerKind kind)
{
    for (size_t i = 0; i < l->found.n; i++)
        for (const Peer *p = l->found.at[i]->peers; p; p = p->next) {
            if ((p->kind != PEER_SAME && p->kind != kind) || map_find(&l->seen, p->st))
                continue;
            map_put(l->cx, &l->seen, p->st, NULL);
            vec_push(l->cx, &l->found, p->st);
            if (p->st->lost && !ox_ok(p->st->now))
                continue;
            storage_set(l->cx, p->st, POISON);
            p->st->lost = p->why;
        }
}

/* st was written: what its peers hold, and theirs, nobody knows any more. Down to the parts, then up to whatever holds one of
 * all these; two parts of one whole have nothing to do with each other. */
void storage_lose_peers(Ctx *cx, Storage *st)
{
    Losing l = { .cx = cx };
    if (!st->peers)
        return;
    if (st->now)                                        /* not the mark of a list, dict or object */
        heap_note_shared_write(cx);
    map_put(cx, &l.seen, st, NULL);
    vec_push(cx, &l.found, st);
    lose_through(&l, PEER_PART);
    lose_through(&l, PEER_WHOLE);
}

void storage_may_be(Ctx *cx, Storage *st, Map *out)
{
    VEC(Storage *) found = { 0 };
    vec_push(cx, &found, st);
    map_put(cx, out, st, NULL);
    for (size_t i = 0; i < found.n; i++)
        for (const Peer *p = found.at[i]->peers; p; p = p->next)
            if (p->kind == PEER_SAME && map_add(cx, out, p->st, NULL))
                vec_push(cx, &found, p->st);
}

void storage_parts(Ctx *cx, Storage *st, Map *out)
{
    VEC(Storage *) found = { 0 };
    if (map_add(cx, out, st, NULL))
        vec_push(cx, &found, st);
    for (size_t i = 0; i < found.n; i++)
        for (const Peer *p = found.at[i]->peers; p; p = p->next)
            if (p->kind != PEER_WHOLE && map_add(cx, out, p->st, NULL))
                vec_push(cx, &found, p->st);
}

Ox storage_fail_lost(Ctx *cx, const Storage *st)
{
    fail(cx, E_UNSUPPORTED, "what this tensor holds cannot be told: %s, and one of them was written since", st->lost->s);
    fail_hint(cx, "clone() the tensor before it is written in place, or write y = x + 1 instead of x.add_(1)");
    return POISON;
}

bool tensor_is_lost(const Tensor *t) { return t->st->lost && !ox_ok(t->st->now); }

typedef VEC(Tensor *) TensorVec;

Ox tensor_read_as(Graph *g, const Tensor *t, Ox whole)
{
    VEC(const Tensor *) chain = { 0 };
    for (const Tensor *x = t; x->base; x = x->base)
        vec_push(g->cx, &chain, x);
    for (size_t i = chain.n; i > 0 && ox_ok(whole); i--)
        whole = op_view_read(g, chain.at[i - 1]->view, whole);
    return whole;
}

Ox tensor_read(Graph *g, Tensor *t)
{
    TensorVec stale = { 0 };
    Tensor *x = t;
    for (; x->base && !fresh(g, x); x = x->base)
        vec_push(g->cx, &stale, x);
    Ox v = x->base ? x->read : x->st->now;
    if (!ox_ok(v) && t->st->lost)
        return storage_fail_lost(g->cx, t->st);
    for (size_t i = stale.n; i > 0; i--) {
        x = stale.at[i - 1];
        v = op_view_read(g, x->view, v);
        x->read = v;
        x->read_version = x->st->version;
    }
    return v;
}

/* Does one element of its base stand for several of the view's, if the sizes say so? */
static bool is_expand(const OpCall *call)
{
    Str name = call->schema ? call->schema->name : NULL;
    return name && (str_is(name, "aten::expand") || str_is(name, "aten::expand_as") || str_is(name, "aten::broadcast_to"));
}

/* Every tensor between t and its storage, t first, and what each reads now. */
static bool chain_of(Graph *g, Tensor *t, TensorVec *chain)
{
    for (Tensor *x = t; x->base; x = x->base)
        vec_push(g->cx, chain, x);
    for (size_t i = chain->n; i > 1; i--)               /* from the storage down: each finds its base fresh */
        if (!ox_ok(tensor_read(g, chain->at[i - 1])))
            return false;
    return true;
}

bool tensor_write(Graph *g, Tensor *t, Ox v)
{
    Ctx *cx = g->cx;
    Storage *st = t->st;
    TensorVec chain = { 0 };
    if (!may_write(cx, st))
        return false;
    if (!ox_ok(v) || !chain_of(g, t, &chain)) {
        storage_set(cx, st, POISON);
        return !ctx_failed(cx);
    }
    Ox *part = new_array(cx, Ox, chain.n + 1);
    if (!part)
        return false;
    part[0] = v;
    for (size_t i = 0; i < chain.n; i++) {
        Tensor *base = chain.at[i]->base;
        Ox now = base->base ? base->read : st->now;
        part[i + 1] = op_view_write(g, chain.at[i]->view, now, part[i]);
    }
    size_t sure = chain.n;                              /* behind an expand other copies have changed too: read again */
    while (sure > 0 && !is_expand(chain.at[sure - 1]->view))
        sure--;
    storage_set(cx, st, part[chain.n]);
    storage_lose_peers(cx, st);
    for (size_t i = sure; i < chain.n; i++) {
        chain.at[i]->read = part[i];
        chain.at[i]->read_version = st->version;
    }
    return !ctx_failed(cx);
}

/* ---- kinds ---- */

static bool same_part(Ctx *cx, Ox a, Ox b) { return a == b || (a && b && val_same_constant(cx, a, b)); }

bool tensors_same_kind(Ctx *cx, const Tensor *a, const Tensor *b)
{
    const QuantInfo *p = a->quant, *q = b->quant;
    if (a->kind != b->kind || p == q)
        return a->kind == b->kind;
    return p && q && p->axis == q->axis && p->dtype == q->dtype && !p->bytes && !q->bytes && same_part(cx, p->scale, q->scale) &&
           same_part(cx, p->zero_point, q->zero_point);
}

bool tensor_set_kind(const Graph *g, Tensor *t, const Tensor *one)
{
    const QuantInfo *q = one->quant;
    t->kind = one->kind;
    t->quant = q;
    return !q || (graph_sees(g, q->scale) && (!q->zero_point || graph_sees(g, q->zero_point)) && !q->bytes);
}

/* ---- strides ---- */

static bool contiguous_strides(Ctx *cx, Type t, Dim out[MAX_RANK])
{
    Dim step = dim_int(cx, 1);
    for (int i = t->rank - 1; i >= 0; i--) {
        out[i] = step;
        step = dim_mul(cx, step, t->dim[i]);
        if (!step)
            return false;
    }
    return true;
}

bool tensor_strides(Ctx *cx, Tensor *t, Dim out[MAX_RANK])
{
    Type ty = tensor_type(t);
    if (!ty || ty->rank < 0)
        return false;
    if (!t->stride && !t->strides)
        return t->contiguous == YES && contiguous_strides(cx, ty, out);
    for (int i = 0; i < ty->rank; i++)
        out[i] = t->stride ? t->stride[i] : dim_int(cx, t->strides[i]);
    return true;
}

Tri tensor_contiguous(Ctx *cx, Tensor *t)
{
    Dim stride[MAX_RANK], expected = dim_int(cx, 1), one = expected;
    Type ty = tensor_type(t);
    if ((!t->stride && !t->strides) || !tensor_strides(cx, t, stride))
        return t->contiguous;
    Tri all = YES;
    for (int i = ty->rank - 1; i >= 0; i--) {
        Tri single = dim_eq(cx, ty->dim[i], one), same = dim_eq(cx, stride[i], expected);
        if (single != YES && same != YES) {
            if (single == NO && same == NO)
                return dim_is(type_numel(cx, ty), 0) ? YES : NO;
            all = UNKNOWN;
        }
        expected = dim_mul(cx, expected, ty->dim[i]);
        if (!expected)
            return UNKNOWN;
    }
    return all;
}

Tri tensor_repeats(Ctx *cx, Tensor *t)
{
    Dim stride[MAX_RANK];
    Type ty = tensor_type(t);
    bool told = tensor_strides(cx, t, stride), expanded = false;
    Tri any = NO;
    if (told && dim_is(type_numel(cx, ty), 0))
        return NO;
    for (int i = 0; told && i < ty->rank && any != YES; i++) {
        Tri single = dim_is(stride[i], 0) ? dim_eq(cx, ty->dim[i], dim_int(cx, 1)) : YES;
        any = single == NO ? YES : single == UNKNOWN ? UNKNOWN : any;
    }
    for (Tensor *x = t; !told && x->base && !expanded; x = x->base)
        expanded = is_expand(x->view);
    return expanded ? UNKNOWN : any;
}

/* Could `dim` old axes before axis d join the chunk that starts with `step`? YES ends the chunk before d. */
static Tri chunk_ends(Ctx *cx, Type old, const Dim *stride, int d, Dim step)
{
    if (d == 0)
        return YES;
    Tri follows = dim_eq(cx, stride[d - 1], step);
    if (follows == YES)
        return NO;
    Tri single = dim_eq(cx, old->dim[d - 1], dim_int(cx, 1));
    return single == YES ? NO : single == NO && follows == NO ? YES : UNKNOWN;
}

/* Strides of a view of shape `to`: old axes fall into chunks that lie in memory one behind the other; each chunk must be
 * a product of new axes. UNKNOWN when the sizes do not tell. */
static Tri view_strides(Ctx *cx, Type old, const Dim *stride, Type to, Dim out[MAX_RANK])
{
    Dim one = dim_int(cx, 1), base = old->rank ? stride[old->rank - 1] : one, have = one, made = one;
    bool exact = type_static(old, NULL) && type_static(to, NULL);
    int v = to->rank - 1;
    if (old->rank == 0 || (exact && dim_is(type_numel(cx, old), 0)))
        return contiguous_strides(cx, to, out) ? YES : UNKNOWN;
    for (int d = old->rank - 1; d >= 0; d--) {
        have = dim_mul(cx, have, old->dim[d]);
        Tri ends = have ? chunk_ends(cx, old, stride, d, dim_mul(cx, have, base)) : UNKNOWN;
        if (ends == UNKNOWN)
            return UNKNOWN;
        if (ends == NO)
            continue;
        while (v >= 0 && (dim_eq(cx, made, have) != YES || dim_is(to->dim[v], 1))) {
            out[v] = dim_mul(cx, made, base);
            made = dim_mul(cx, made, to->dim[v--]);
            if (!made || (exact && dim_lt(cx, have, made) == YES))
                return made ? NO : UNKNOWN;
        }
        if (dim_eq(cx, made, have) != YES)
            return exact ? NO : dim_eq(cx, made, have);
        base = d > 0 ? stride[d - 1] : base;
        have = made = one;
    }
    return v < 0 ? YES : exact ? NO : UNKNOWN;
}

/* ---- views ---- */

static Value call_arg(const OpCall *call, const char *name)
{
    for (int i = 0; i < call->schema->n_param; i++)
        if (str_is(call->schema->param[i].name, name))
            return call->arg[i];
    return val_none();
}

static bool call_axis(const OpCall *call, const char *name, int rank, int *axis)
{
    Value v = call_arg(call, name);
    if (v.tag != V_INT || v.i < -rank || v.i >= rank)
        return false;
    *axis = (int)(v.i < 0 ? v.i + rank : v.i);
    return true;
}

static bool named(const OpCall *call, const char *name) { return call->schema && str_is(call->schema->name, name); }

static bool strides_of_permute(const OpCall *call, int rank, const Dim *from, Dim *out)
{
    Value dims = call_arg(call, "dims");
    if (dims.tag != V_TUPLE || dims.tuple->n != rank)           /* bound lists are snapshots: ops/bind.c */
        return false;
    for (int i = 0; i < rank; i++) {
        Value v = dims.tuple->at[i];
        if (v.tag != V_INT || v.i < -rank || v.i >= rank)
            return false;
        out[i] = from[v.i < 0 ? v.i + rank : v.i];
    }
    return true;
}

static bool strides_of_swap(const OpCall *call, int rank, const Dim *from, Dim *out)
{
    bool by_arg = named(call, "aten::transpose"), last = named(call, "aten::mT") && rank >= 2;
    int a = last ? rank - 2 : 0, b = rank - 1;
    if (rank > 2 && !by_arg && !last)
        return false;
    if (by_arg && (!call_axis(call, "dim0", rank, &a) || !call_axis(call, "dim1", rank, &b)))
        return false;
    memcpy(out, from, (size_t)rank * sizeof *out);
    if (rank) {
        out[a] = from[b];
        out[b] = from[a];
    }
    return true;
}

static bool strides_of_slice(Ctx *cx, const OpCall *call, int rank, const Dim *from, Dim *out)
{
    int axis;
    Value step = call_arg(call, "step");
    if (!call_axis(call, "dim", rank, &axis) || (step.tag != V_INT && step.tag != V_NONE))
        return false;
    memcpy(out, from, (size_t)rank * sizeof *out);
    if (step.tag == V_INT)
        out[axis] = dim_mul(cx, from[axis], dim_int(cx, step.i));
    return out[axis] != NULL;
}

static bool strides_of_select(const OpCall *call, int rank, const Dim *from, Dim *out)
{
    int axis;
    if (!call_axis(call, "dim", rank, &axis))
        return false;
    for (int i = 0, o = 0; i < rank; i++)
        if (i != axis)
            out[o++] = from[i];
    return true;
}

/* The other axes, then the one that steps along both. */
static bool strides_of_diagonal(Ctx *cx, const OpCall *call, int rank, const Dim *from, Dim *out)
{
    int a, b, o = 0;
    if (!call_axis(call, "dim1", rank, &a) || !call_axis(call, "dim2", rank, &b))
        return false;
    for (int i = 0; i < rank; i++)
        if (i != a && i != b)
            out[o++] = from[i];
    out[o] = dim_add(cx, from[a], from[b]);
    return out[o] != NULL;
}

/* The new axis has size 1; PyTorch gives it the stride of what follows times its size. No answer depends on it. */
static bool strides_of_unsqueeze(Ctx *cx, const OpCall *call, Type old, const Dim *from, Dim *out)
{
    int axis;
    if (!call_axis(call, "dim", old->rank + 1, &axis))
        return false;
    for (int i = 0; i <= old->rank; i++)
        out[i] = i < axis ? from[i] : i > axis ? from[i - 1] : axis < old->rank ? dim_mul(cx, old->dim[axis], from[axis]) : dim_int(cx, 1);
    return out[axis] != NULL;
}

/* squeeze of axes whose size is 1 in `old`: those that the result lacks, when the sizes tell which. */
static bool strides_of_squeeze(Type old, Type to, const Dim *from, Dim *out)
{
    int o = 0;
    for (int i = 0; i < old->rank; i++) {
        bool single = dim_is(old->dim[i], 1);
        if (single && o + (old->rank - i) > to->rank)
            continue;
        if (o >= to->rank)
            return false;
        out[o++] = from[i];
    }
    return o == to->rank;
}

static bool strides_of_expand(Ctx *cx, Type old, Type to, const Dim *from, Dim *out)
{
    int added = to->rank - old->rank;
    for (int i = 0; i < to->rank; i++) {
        bool same = i >= added && dim_eq(cx, old->dim[i - added], to->dim[i]) == YES;
        if (i >= added && !same && !dim_is(old->dim[i - added], 1))
            return false;
        out[i] = same ? from[i - added] : dim_int(cx, 0);
    }
    return added >= 0;
}

/* Strides of what `call` makes of base; false: unknown. */
static bool strides_of_view(Ctx *cx, Tensor *base, const OpCall *call, Type to, Dim out[MAX_RANK])
{
    Dim from[MAX_RANK];
    Type old = tensor_type(base);
    if (!call->schema || !to || to->rank < 0 || !tensor_strides(cx, base, from))
        return false;
    if (named(call, "aten::permute"))
        return strides_of_permute(call, old->rank, from, out);
    if (named(call, "aten::transpose") || named(call, "aten::t") || named(call, "aten::numpy_T") || named(call, "aten::mT"))
        return strides_of_swap(call, old->rank, from, out);
    if (named(call, "aten::slice") || named(call, "aten::narrow"))
        return strides_of_slice(cx, call, old->rank, from, out);
    if (named(call, "aten::diagonal"))
        return strides_of_diagonal(cx, call, old->rank, from, out);
    if (named(call, "aten::select"))
        return strides_of_select(call, old->rank, from, out);
    if (named(call, "aten::unsqueeze"))
        return strides_of_unsqueeze(cx, call, old, from, out);
    if (named(call, "aten::squeeze"))
        return strides_of_squeeze(old, to, from, out);
    if (is_expand(call))
        return strides_of_expand(cx, old, to, from, out);
    if (named(call, "aten::detach") || named(call, "aten::alias")) {
        memcpy(out, from, (size_t)old->rank * sizeof *out);
        return true;
    }
    return (named(call, "aten::view") || named(call, "aten::view_as") || named(call, "aten::unflatten") || named(call, "aten::reshape") ||
            named(call, "aten::reshape_as") || named(call, "aten::flatten") || named(call, "aten::ravel")) &&
           view_strides(cx, old, from, to, out) == YES;
}

/* ---- a slice of a slice is one slice ---- */

typedef struct SliceArgs { int axis; int64_t start, end, step; } SliceArgs;

static bool slice_args(const OpCall *call, int rank, SliceArgs *out)
{
    Value start = call_arg(call, "start"), end = call_arg(call, "end"), step = call_arg(call, "step");
    if (!named(call, "aten::slice") || !call_axis(call, "dim", rank, &out->axis))
        return false;
    if ((start.tag != V_INT && start.tag != V_NONE) || (end.tag != V_INT && end.tag != V_NONE) || step.tag != V_INT)
        return false;
    out->start = start.tag == V_INT ? start.i : 0;
    out->end = end.tag == V_INT ? end.i : INT64_MAX;
    out->step = step.i;
    return out->start >= 0 && out->end >= 0 && out->step >= 1;      /* counted from the end: needs the size */
}

/* b after a. Indices are a.start + a.step*(b.start + b.step*i), below both ends. */
static bool slice_join(SliceArgs a, SliceArgs b, SliceArgs *out)
{
    int64_t end;
    if (a.axis != b.axis || !mul_ok(b.start, a.step, &out->start) || !add_ok(out->start, a.start, &out->start) ||
        !mul_ok(a.step, b.step, &out->step))
        return false;
    if (!mul_ok(b.end, a.step, &end) || !add_ok(end, a.start, &end))
        end = INT64_MAX;
    out->end = end < a.end ? end : a.end;
    out->axis = a.axis;
    return true;
}

static const OpCall *slice_call(Ctx *cx, const OpCall *like, SliceArgs s)
{
    OpCall *c = mem_copy(cx, like, sizeof *like);
    c->arg = mem_copy(cx, like->arg, (size_t)like->schema->n_param * sizeof *like->arg);
    for (int i = 0; i < c->schema->n_param; i++) {
        Str name = c->schema->param[i].name;
        if (str_is(name, "dim"))
            c->arg[i] = val_int(s.axis);
        else if (str_is(name, "start"))
            c->arg[i] = val_int(s.start);
        else if (str_is(name, "end"))
            c->arg[i] = val_int(s.end);
        else if (str_is(name, "step"))
            c->arg[i] = val_int(s.step);
    }
    return c;
}

/* *base and *call become those of one slice when base is itself a slice along the same axis. */
static void join_slices(Ctx *cx, Tensor **base, const OpCall **call)
{
    SliceArgs first, second, both;
    int rank = ox_rank((*base)->read);
    if ((*base)->base && slice_args((*base)->view, rank, &first) && slice_args(*call, rank, &second) && slice_join(first, second, &both)) {
        *call = slice_call(cx, *call, both);
        *base = (*base)->base;
    }
}

/* ---- making a view ---- */

/* Does base lie in memory as `to(memory_format=)` wants it? */
static Tri has_format(Ctx *cx, Tensor *base, const OpCall *call)
{
    enum { CONTIGUOUS, PRESERVE };
    Value format = call_arg(call, "memory_format");
    if (format.tag != V_INT || format.i == PRESERVE)
        return YES;
    return format.i == CONTIGUOUS && tensor_contiguous(cx, base) == YES ? YES : UNKNOWN;
}

/* Does this operator, which returns its input or shares its memory only sometimes, share it here? YES for true views. */
static Tri shares_memory(Ctx *cx, Tensor *base, const OpCall *call, Ox read, bool *returns_self)
{
    Dim from[MAX_RANK], to[MAX_RANK];
    *returns_self = false;
    if (named(call, "aten::to") || named(call, "aten::type_as") || named(call, "aten::type")) {
        Value copy = call_arg(call, "copy");
        *returns_self = true;
        return ox_dtype(read) != tensor_type(base)->dtype || (copy.tag == V_BOOL && copy.b) ? NO : has_format(cx, base, call);
    }
    if (named(call, "aten::contiguous")) {
        Value format = call_arg(call, "memory_format");
        *returns_self = true;
        return format.tag == V_INT && format.i != 0 ? UNKNOWN : tensor_contiguous(cx, base);
    }
    if (named(call, "aten::reshape") || named(call, "aten::reshape_as") || named(call, "aten::flatten") || named(call, "aten::ravel")) {
        Type old = tensor_type(base);
        if (base->contiguous == YES && !base->stride && !base->strides)
            return YES;
        if (old->rank < 0 || ox_rank(read) < 0 || !tensor_strides(cx, base, from))
            return UNKNOWN;
        return view_strides(cx, old, from, read->type, to);
    }
    return YES;
}

static Tensor *like_base(Ctx *cx, const Tensor *base, Ox read)
{
    Tensor *t = tensor_new(cx, read);
    t->kind = base->kind;
    t->quant = base->quant;
    return t;
}

static Tensor *maybe_shared(Ctx *cx, Tensor *base, const OpCall *call, Ox read)
{
    Tensor *t = like_base(cx, base, read);
    const char *why = base->contiguous == UNKNOWN && !base->stride && !base->strides
                    ? "on the order in which PyTorch lays that out (write to a clone() of one of them)"
                    : "on sizes that are not known (-i with sizes, or with bounds such as N=2..64, decides it)";
    tensor_maybe_shared(cx, base, t, str_fmt(cx, "whether %s shares memory with its input depends %s", call->schema->name->s, why));
    return t;
}

Tensor *tensor_view(Ctx *cx, Tensor *base, const OpCall *call, Ox read)
{
    Dim stride[MAX_RANK];
    bool returns_self;
    if (!ox_ok(read))
        return tensor_new(cx, POISON);
    Tri shares = shares_memory(cx, base, call, read, &returns_self);
    if (shares == NO)
        return like_base(cx, base, read);
    if (shares == UNKNOWN)
        return maybe_shared(cx, base, call, read);
    if (returns_self)
        return tensor_alias(cx, base);
    bool told = strides_of_view(cx, base, call, read->type, stride);
    Tensor *t = new(cx, Tensor);
    *t = (Tensor){ .st = base->st, .read = read, .read_version = base->st->version, .kind = base->kind,
                   .quant = base->quant, .contiguous = UNKNOWN };
    if (told)
        t->stride = mem_copy(cx, stride, (size_t)ox_rank(read) * sizeof *stride);
    join_slices(cx, &base, &call);
    t->base = mem_copy(cx, base, sizeof *base);          /* what it is now: unsqueeze_ may make base look another way later */
    t->view = call;
    return t;
}

bool tensor_become(Ctx *cx, Tensor *t, const OpCall *call, Ox read)
{
    if (t->st->state)
        return fail(cx, E_UNSUPPORTED, "another shape for %s, which the model keeps", t->st->name ? t->st->name->s : "a tensor");
    if (trail_is_open(cx))
        return fail(cx, E_UNSUPPORTED, "a tensor that changes its shape in place, inside a branch or loop that ONNX runs");
    const Tensor *now = tensor_view(cx, t, call, read);
    if (now->st != t->st)
        return fail(cx, E_UNSUPPORTED, "a tensor that changes its shape in place and its memory with it");
    *t = *now;
    return !ctx_failed(cx);
}

/* What else saw the memory of t, which is not t's any longer, holds nobody knows what. */
static void lose_rest(Ctx *cx, Storage *st)
{
    storage_set(cx, st, POISON);
    storage_lose_peers(cx, st);
    st->lost = str_of(cx, "it shares memory with an out= tensor that was given another size");
}

bool tensor_refill(Ctx *cx, Tensor *t, Ox v)
{
    if (t->st->state || t->st->input || trail_is_open(cx))
        return fail(cx, E_UNSUPPORTED, "out= of a tensor that gets another shape, and that the model keeps or a branch or loop of ONNX fills");
    if (!dim_is(type_numel(cx, tensor_type(t)), 0))
        lose_rest(cx, t->st);
    Tensor *made = tensor_new(cx, v);
    made->kind = t->kind;
    *t = *made;
    return !ctx_failed(cx);
}

bool tensor_take(Ctx *cx, Tensor *t, Tensor *source)
{
    if (t->st->state)
        return fail(cx, E_UNSUPPORTED, "other memory for %s, which the model keeps", t->st->name ? t->st->name->s : "a tensor");
    if (trail_is_open(cx))
        return fail(cx, E_UNSUPPORTED, "a tensor that takes another one's memory, inside a branch or loop that ONNX runs");
    *t = *tensor_alias(cx, source);
    return !ctx_failed(cx);
}
