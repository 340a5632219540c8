/* tensor.c - what a tensor of the program is: a storage, and how this tensor looks at it.
 *
 * A view keeps the bound call that made it. Reading a view whose storage has changed runs that call
 * again on the value of its base now; writing through a view asks the call for the base's new
 * value, and so on up to the storage. Both walk the chain in a loop, and a slice of a slice is one
 * slice, so long chains neither recurse nor cost quadratic time. Where it is not known whether two
 * tensors share memory their storages are aliases: after a write to one, the other is invalid, and
 * reading it is an error instead of a guess. */
#include "value/heap.h"

Tensor *tensor_new(Ctx *cx, Ox v)
{
    Tensor *t = new_value(cx, Tensor);
    Storage *st = storage_new(cx, v);
    *t = (Tensor){
        .st = st, .read = v, .read_version = st->version, .kind = PLAIN, .contiguous = YES
    };
    return t;
}

Tensor *tensor_saved(Ctx *cx, Ox v, const Const *k)
{
    Tensor *t = tensor_new(cx, v);
    if (!k->strides)
        return t;
    Dim *stride = new_array(cx, Dim, k->rank);
    for (int i = 0; stride && i < k->rank; i++)
        stride[i] = dim_int(cx, k->strides[i]);
    t->stride = stride;
    t->contiguous = NO;
    return t;
}

Tensor *tensor_alias(Ctx *cx, Tensor *t)
{
    Tensor *a = new_value(cx, Tensor);
    *a = *t;
    a->number = false;
    return a;
}

Tensor *tensor_given_back(Ctx *cx, Tensor *t) { return t->number ? tensor_alias(cx, t) : t; }

/* Of the value read last, stale or not: writing changes neither dtype nor shape. */
Type tensor_type(const Tensor *t) { return t->read->type; }

/* ---- reading and writing ---- */

/* Is the cached value of this version, and may g use it? A value that a branch computes does not
 * exist outside of it. */
static bool fresh(const Graph *g, const Tensor *t)
{
    return t->read && t->read_version == t->st->version &&
        (!ox_ok(t->read) || graph_sees(g, t->read));
}

/* The name for messages. */
static const char *name_of(const Storage *st) { return st->name ? st->name->s : "a tensor"; }

static bool may_write(Ctx *cx, const Storage *st)
{
    return !st->shared_bytes ||
        fail(cx, E_UNSUPPORTED, "writing to %s, whose memory other tensors of the file overlap",
             name_of(st));
}

/* ---- aliases ---- */

/* What `st` may be to the storage that lists the alias: the same memory, a part of it, or something
 * that it is a part of. */
typedef enum { ALIAS_SAME, ALIAS_PART, ALIAS_WHOLE } AliasKind;
typedef struct Alias {
    AliasKind kind;
    Storage *st;
    Str why;
    struct Alias *next;
} Alias;

static void add_alias(Ctx *cx, Storage *to, AliasKind kind, Storage *st, Str why)
{
    Alias *p = new(cx, Alias);
    *p = (Alias){ kind, st, why, to->aliases };
    to->aliases = p;
}

void tensor_maybe_shared(Ctx *cx, Tensor *a, Tensor *b, Str why)
{
    if (a->st == b->st)
        return;
    add_alias(cx, a->st, ALIAS_SAME, b->st, why);
    add_alias(cx, b->st, ALIAS_SAME, a->st, why);
}

void tensor_holds(Ctx *cx, Tensor *whole, Tensor *part, Str why)
{
    if (whole->st == part->st)
        return;
    add_alias(cx, whole->st, ALIAS_PART, part->st, why);
    add_alias(cx, part->st, ALIAS_WHOLE, whole->st, why);
}

/* A way over aliases, from one memory to the next. */
typedef struct AliasWalk {
    Ctx *cx;
    Map *met; /* what was met, or is not to be gone through */
    VEC(Storage *) found;
    bool (*visit)(void *arg, const Alias *p); /* true: the walk ends there; NULL: none does */
    void *arg;
} AliasWalk;

static void walk_from(AliasWalk *w, Storage *st)
{
    map_put(w->cx, w->met, st, NULL);
    vec_push(w->cx, &w->found, st);
}

/* Goes from what was found to what may be the same memory, or is such an alias of it, and so on.
 * Did the walk end at one? */
static bool walk_through(AliasWalk *w, AliasKind kind)
{
    for (size_t i = 0; i < w->found.n; i++)
        for (const Alias *p = w->found.at[i]->aliases; p; p = p->next) {
            if ((p->kind != ALIAS_SAME && p->kind != kind) || !map_add(w->cx, w->met, p->st, NULL))
                continue;
            vec_push(w->cx, &w->found, p->st);
            if (w->visit && w->visit(w->arg, p))
                return true;
        }
    return false;
}

/* The way of a write to st: first down to the parts of st, then up to whatever holds st or one of
 * these. Never up and down again: two parts of one whole have nothing to do with each other. */
static bool walk_as_a_write(AliasWalk *w, Storage *st)
{
    walk_from(w, st);
    return walk_through(w, ALIAS_PART) || walk_through(w, ALIAS_WHOLE);
}

static bool invalidate(void *cx, const Alias *p)
{
    if (p->st->invalid && !ox_ok(p->st->now))
        return false;
    storage_set(cx, p->st, POISON);
    p->st->invalid = p->why;
    return false;
}

void storage_invalidate_aliases(Ctx *cx, Storage *st)
{
    Map met = { 0 };
    AliasWalk w = { .cx = cx, .met = &met, .visit = invalidate, .arg = cx };
    if (!st->aliases)
        return;
    if (st->now) /* not the mark of a list, dict or object */
        heap_note_shared_write(cx);
    (void)walk_as_a_write(&w, st);
}

typedef struct Wanted {
    IsStorage *is;
    void *arg;
} Wanted;

static bool is_wanted(void *arg, const Alias *p)
{
    const Wanted *w = arg;
    return w->is(w->arg, p->st);
}

bool storage_reaches(Ctx *cx, Storage *st, Map *met, IsStorage *is, void *arg)
{
    Wanted wanted = { is, arg };
    AliasWalk w = { .cx = cx, .met = met, .visit = is_wanted, .arg = &wanted };
    return is(arg, st) || walk_as_a_write(&w, st);
}

void storage_may_be(Ctx *cx, Storage *st, Map *out)
{
    AliasWalk w = { .cx = cx, .met = out };
    walk_from(&w, st);
    (void)walk_through(&w, ALIAS_SAME);
}

void storage_parts(Ctx *cx, Storage *st, Map *out)
{
    AliasWalk w = { .cx = cx, .met = out };
    if (map_find(out, st))
        return;
    walk_from(&w, st);
    (void)walk_through(&w, ALIAS_PART);
}

Ox storage_fail_invalid(Ctx *cx, const Storage *st)
{
    fail(cx, E_UNSUPPORTED,
         "what this tensor holds is not known: %s, and one of them was written since",
         st->invalid->s);
    fail_hint(cx,
              "clone() the tensor before it is written in place, or write y = x + 1 instead of "
              "x.add_(1)");
    return POISON;
}

bool tensor_is_invalid(const Tensor *t) { return t->st->invalid && !ox_ok(t->st->now); }

typedef VEC(Tensor *) TensorVec;

static Ox view_read(Graph *g, const View *v, Ox base) { return v->kind->read(g, v, base); }

static bool view_repeats(const View *v) { return v->kind->repeats(v); }

Ox tensor_read_as(Graph *g, const Tensor *t, Ox whole)
{
    VEC(const Tensor *) chain = { 0 };
    for (const Tensor *x = t; x->base; x = x->base)
        vec_push(g->cx, &chain, x);
    for (size_t i = chain.n; i > 0 && ox_ok(whole); i--)
        whole = view_read(g, chain.at[i - 1]->view, whole);
    return whole;
}

Ox tensor_read(Graph *g, Tensor *t)
{
    TensorVec stale = { 0 };
    Tensor *x = t;
    for (; x->base && !fresh(g, x); x = x->base)
        vec_push(g->cx, &stale, x);
    Ox v = x->base ? x->read : x->st->now;
    if (!ox_ok(v) && t->st->invalid)
        return storage_fail_invalid(g->cx, t->st);
    for (size_t i = stale.n; i > 0; i--) {
        x = stale.at[i - 1];
        v = view_read(g, x->view, v);
        x->read = v;
        x->read_version = x->st->version;
    }
    return v;
}

/* Every view between t and its storage, t first, each with its value of now in `read`. */
static bool chain_of(Graph *g, Tensor *t, TensorVec *chain)
{
    for (Tensor *x = t; x->base; x = x->base)
        vec_push(g->cx, chain, x);
    for (size_t i = chain->n; i > 1; i--) /* from the storage down: each finds its base fresh */
        if (!ox_ok(tensor_read(g, chain->at[i - 1])))
            return false;
    return true;
}

/* y = x[0]; y.add_(1): part[0] is y + 1, part[1] is x with y + 1 as its row 0, and x's storage
 * holds part[1] from now on. Writing poison leaves poison in the storage. */
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
        part[i + 1] = chain.at[i]->view->kind->write(g, chain.at[i]->view, now, part[i]);
    }
    /* A write through an expand has changed the other copies too: those views read again. */
    size_t sure = chain.n;
    while (sure > 0 && !view_repeats(chain.at[sure - 1]->view))
        sure--;
    storage_set(cx, st, part[chain.n]);
    storage_invalidate_aliases(cx, st);
    for (size_t i = sure; i < chain.n; i++) {
        chain.at[i]->read = part[i];
        chain.at[i]->read_version = st->version;
    }
    return !ctx_failed(cx);
}

/* ---- kinds ---- */

static bool same_part(Ctx *cx, Ox a, Ox b)
{
    return a == b || (a && b && val_same_constant(cx, a, b));
}

bool tensors_same_kind(Ctx *cx, const Tensor *a, const Tensor *b)
{
    const QuantInfo *p = a->quant;
    const QuantInfo *q = b->quant;
    if (a->kind != b->kind || a->lengths != b->lengths)
        return false;
    if (p == q)
        return true;
    return p && q && p->axis == q->axis && p->dtype == q->dtype && !p->bytes && !q->bytes &&
        same_part(cx, p->scale, q->scale) && same_part(cx, p->zero_point, q->zero_point);
}

bool tensor_set_kind(const Graph *g, Tensor *t, const Tensor *one)
{
    const QuantInfo *q = one->quant;
    t->kind = one->kind;
    t->quant = q;
    t->lengths = one->lengths;
    if (t->lengths && !graph_sees(g, t->lengths))
        return false;
    return !q ||
        (graph_sees(g, q->scale) && (!q->zero_point || graph_sees(g, q->zero_point)) && !q->bytes);
}

/* ---- making a view ---- */

Tensor *tensor_copy(Ctx *cx, const Tensor *base, Ox read)
{
    Tensor *t = tensor_new(cx, read);
    t->kind = base->kind;
    t->quant = base->quant;
    t->lengths = base->lengths;
    return t;
}

Tensor *tensor_maybe_view(Ctx *cx, Tensor *base, Str op, Ox read)
{
    Tensor *t = tensor_copy(cx, base, read);
    const char *why = base->contiguous == UNKNOWN && !base->stride
        ? "on the order in which PyTorch lays that out (write to a clone() of one of them)"
        : "on sizes that are not known (-i with sizes decides it, and bounds such as N=2..64 may)";
    tensor_maybe_shared(
        cx, base, t, str_fmt(cx, "whether %s shares memory with its input depends %s", op->s, why));
    return t;
}

/* The strides of a view of base, in the arena; NULL: not known. */
static const Dim *strides_of(Ctx *cx, Tensor *base, const View *view, Type to)
{
    Dim from[MAX_RANK];
    Dim out[MAX_RANK] = { NULL };
    if (!to || to->rank < 0 || !tensor_strides(cx, base, from))
        return NULL;
    if (!view->kind->strides(cx, view, tensor_type(base), from, to, out))
        return NULL;
    for (int i = 0; i < to->rank; i++)
        if (!out[i])
            return NULL;
    return mem_copy(cx, out, (size_t)to->rank * sizeof *out);
}

/* A view of a view that one view can stand for (a slice of a slice) is made of the first one's
 * base. */
Tensor *tensor_view(Ctx *cx, Tensor *base, const View *view, Ox read)
{
    if (!ox_ok(read))
        return tensor_new(cx, POISON);
    Tensor *t = new_value(cx, Tensor);
    *t = (Tensor){ .st = base->st,
                   .read = read,
                   .read_version = base->st->version,
                   .kind = base->kind,
                   .quant = base->quant,
                   .lengths = base->lengths,
                   .contiguous = UNKNOWN };
    t->stride = strides_of(cx, base, view, read->type);
    bool alike = base->base && base->view->kind == view->kind;
    const View *both = alike ? view->kind->join(cx, base->view, view, ox_rank(base->read)) : NULL;
    if (both)
        base = base->base;
    /* A copy of base as it is now: unsqueeze_ may make base look another way later. */
    t->base = mem_copy(cx, base, sizeof *base);
    t->view = both ? both : view;
    return t;
}

bool tensor_become(Ctx *cx, Tensor *t, const Tensor *now)
{
    if (t->st->state)
        return fail(cx, E_UNSUPPORTED, "another shape for %s, which the model keeps",
                    name_of(t->st));
    if (trail_is_open(cx))
        return fail(
            cx, E_UNSUPPORTED,
            "a tensor that changes its shape in place, inside a branch or loop that ONNX runs");
    if (now->st != t->st)
        return fail(cx, E_UNSUPPORTED,
                    "a tensor that changes its shape in place and its memory with it");
    *t = *now;
    return !ctx_failed(cx);
}

/* The other tensors of st, whose memory an out= tensor has left, are invalid. */
static void invalidate_rest(Ctx *cx, Storage *st)
{
    storage_set(cx, st, POISON);
    storage_invalidate_aliases(cx, st);
    st->invalid = str_of(cx, "it shares memory with an out= tensor that was given another size");
}

bool tensor_refill(Ctx *cx, Tensor *t, Ox v)
{
    if (t->st->state || t->st->input || trail_is_open(cx))
        return fail(cx, E_UNSUPPORTED,
                    "out= of a tensor that gets another shape, and that the model keeps or a "
                    "branch or loop of ONNX fills");
    if (!dim_is(type_numel(cx, tensor_type(t)), 0))
        invalidate_rest(cx, t->st);
    Tensor *made = tensor_new(cx, v);
    made->kind = t->kind;
    *t = *made;
    return !ctx_failed(cx);
}

bool tensor_take(Ctx *cx, Tensor *t, Tensor *source)
{
    if (t->st->state)
        return fail(cx, E_UNSUPPORTED, "other memory for %s, which the model keeps",
                    name_of(t->st));
    if (trail_is_open(cx))
        return fail(
            cx, E_UNSUPPORTED,
            "a tensor that takes another one's memory, inside a branch or loop that ONNX runs");
    *t = *tensor_alias(cx, source);
    return !ctx_failed(cx);
}
