/* loop.c - a loop whose trip count or condition ONNX decides: one Loop node.
 *
 * What the body changes is carried. Which things those are, and what types hold for every trip, is found by running the body
 * aside until nothing new turns up: a changed value starts with the type it has before the loop; where a trip ends with another
 * size, that size becomes a symbol; a Python number that changes becomes symbolic. Each run starts from the same state
 * (the trail is undone) with the carried things generalised. The last run's graph is the body.
 *
 * A whole number that each trip changes by the same amount (the i of `for i in range(n)` with a break, which is saved as a while) is
 * counted: in the body it is `first + step * trip`, so that it is known not to be negative; one that changes in another way may still never be. What the condition says about such
 * numbers holds in the trip that follows; both are supposed, run, and seen to hold again at the end of the run.
 *
 * A list that changes its length is carried as one tensor (stacked.h). When a trip only appends one item and never looks at the
 * list, which the run itself tells, the tensor is not carried either: the items are a scan output. */
#include "eval/branch.h"

enum { MAX_RUNS = 24 };                         /* each run finds a new carried thing, or widens a size: nets of loops stay under 8 */

typedef struct Leaf {
    enum { LEAF_TENSOR, LEAF_INT, LEAF_FLOAT, LEAF_BOOL, LEAF_LIST } form;
    DType dtype;
    int rank;
    Dim dim[MAX_RANK];              /* NULL: another one in each trip */
    Ox init, last, made;            /* before the loop, after the body's run, behind the loop */
    Tensor *tensor, *alias;         /* as it was before, and after a trip: kind, and what it may share memory with */
    Ox input;
    Tensor *fed;                    /* TENSOR: what the body gets */
    Stacked *before, *in, *after;   /* LIST: before the loop, as this trip finds it, as the last one left it. dim[0] is its length */
    Ox item;                        /* LIST: all that the trip did was to append this */
    bool dead;                      /* its place was taken by others */
    bool counts, natural;           /* INT: `first + step * trip`; not that, but never negative */
    Dim first, now;                 /* INT: before the loop, and what the body was given: NULL when nobody knows */
    int64_t step;
} Leaf;

typedef struct Carried {
    int kind;                       /* of Change */
    void *what;
    uint64_t born;
    Value original;                 /* CELL: the value before the loop */
    Value shape;                    /* the value before the loop, whose leaves are carried; its containers are copies */
    Value after_first;              /* CELL: what the first run's trip made of it */
    size_t first, n;                /* leaves */
    bool lost;                      /* STORAGE: after a trip nobody knows what it holds */
    bool unset;                     /* CELL: never set before the loop; shape is what a trip leaves, the first values are stand-ins */
    bool reshaped;                  /* this run found a list in it whose length changes */
} Carried;

/* A list of some carried thing's shape whose length a trip changed: it is stacked from the next run on. */
typedef struct Growing { List *list; ItemType item; } Growing;

typedef struct Loop {
    Eval *ev;
    const LoopPlan *plan;
    VEC(Carried) carried;
    VEC(Leaf) leaves;
    VEC(Growing) growing;
    VEC(List *) lost;               /* lists that nobody may read behind the loop */
    Graph *g;                       /* the body */
    Ox keep_going, cond_in;
    uint64_t opened, run_opened;    /* the heap's clock before the first run, and when the body of this one began */
    Map seen;                       /* storages and containers that this run's trip left in carried things */
    bool again;                     /* this run found something new */
    TripStart start;                /* what the condition says when a trip begins */
} Loop;

/* ---- leaves: the tensors and numbers inside a value ---- */

static bool give_up(Loop *l, Str why)
{
    fail(l->ev->cx, E_UNSUPPORTED, "a loop that ONNX runs: %s", why->s);
    fail_hint(l->ev->cx, "a fixed number of trips is unrolled instead: give the sizes that the loop runs over with -i");
    return false;
}

/* v is read in ev->g. */
static bool add_leaf(Loop *l, Value v)
{
    Leaf leaf = { .rank = 0, .dtype = DT_NONE };
    Graph *g = l->ev->g;
    if (v.tag == V_TENSOR) {
        leaf.init = tensor_read(g, v.t);
        leaf.form = LEAF_TENSOR;
        leaf.tensor = v.t;
    } else {
        leaf.init = carry_ox(g, v);
        leaf.form = v.tag == V_INT || v.tag == V_SYMINT ? LEAF_INT : v.tag == V_FLOAT || v.tag == V_SYMFLOAT ? LEAF_FLOAT : LEAF_BOOL;
    }
    if (!ox_ok(leaf.init))
        return !ctx_failed(l->ev->cx);
    leaf.dtype = ox_dtype(leaf.init);
    leaf.rank = ox_rank(leaf.init);
    for (int i = 0; i < leaf.rank; i++)
        leaf.dim[i] = ox_dim(leaf.init, i);
    return vec_push(l->ev->cx, &l->leaves, leaf);
}

static bool add_list_leaf(Loop *l, const List *list)
{
    Stacked *s = list->stacked;
    Leaf leaf = { .form = LEAF_LIST, .before = s, .init = stacked_whole(l->ev, s) };
    if (!ox_ok(leaf.init))
        return !ctx_failed(l->ev->cx);
    leaf.dtype = s->item.type->dtype;
    leaf.rank = s->item.type->rank + 1;
    for (int i = 1; i < leaf.rank; i++)
        leaf.dim[i] = s->item.type->dim[i - 1];
    return vec_push(l->ev->cx, &l->leaves, leaf);
}

static bool is_ragged(const Leaf *leaf) { return leaf->form == LEAF_LIST && leaf->before->item.ragged; }

/* Every leaf of v, in order. False for what a Loop cannot carry. */
static bool add_leaves(Loop *l, Value v)
{
    bool ok = true;
    if (v.tag == V_TENSOR || val_is_plain_number(v))
        return add_leaf(l, v);
    if (v.tag == V_LIST && v.list->stacked)
        return add_list_leaf(l, v.list);
    for (int64_t i = 0; ok && v.tag == V_TUPLE && i < v.tuple->n; i++)
        ok = add_leaves(l, v.tuple->at[i]);
    for (int64_t i = 0; ok && v.tag == V_LIST && i < v.list->n; i++)
        ok = add_leaves(l, v.list->at[i].v);
    for (int64_t i = 0; ok && v.tag == V_DICT && i < v.dict->n; i++)
        ok = add_leaves(l, v.dict->at[i].val.v);
    return v.tag == V_MAYBE ? add_leaf(l, v.maybe->present) && add_leaves(l, v.maybe->value) : ok;
}

/* v with containers of its own, which nobody else changes. */
static Value copy_shape(Ctx *cx, Value v)
{
    Value made = v;
    if (v.tag == V_TUPLE) {
        made = val_tuple(cx, v.tuple->at, v.tuple->n);
        made.tuple->type = v.tuple->type;
        made.tuple->fields = v.tuple->fields;
        for (int64_t i = 0; i < v.tuple->n; i++)
            made.tuple->at[i] = copy_shape(cx, v.tuple->at[i]);
    }
    if (v.tag == V_LIST) {
        made.list = list_new(cx, v.list->n, v.list->elem);
        for (int64_t i = 0; i < v.list->n && !v.list->stacked; i++)
            list_append(cx, made.list, copy_shape(cx, v.list->at[i].v));
        if (v.list->stacked)
            list_stack(cx, made.list, v.list->stacked);
    }
    if (v.tag == V_DICT) {
        made.dict = dict_new(cx, v.dict->type);
        for (int64_t i = 0; i < v.dict->n; i++)
            dict_set(cx, made.dict, v.dict->at[i].key, copy_shape(cx, v.dict->at[i].val.v));
    }
    if (v.tag == V_MAYBE)
        made = val_maybe(cx, v.maybe->present, copy_shape(cx, v.maybe->value));
    return made;
}

static Value rebuild_tensor(Loop *l, Leaf *leaf, Ox now)
{
    Ctx *cx = l->ev->cx;
    Tensor *t = tensor_new(cx, now);
    t->kind = leaf->tensor->kind;
    t->contiguous = tensor_contiguous(cx, leaf->tensor) == YES ? YES : UNKNOWN;
    maybe_the_same(cx, t, leaf->tensor, l->opened);
    if (leaf->alias)                            /* of the trip before */
        maybe_the_same(cx, t, leaf->alias, UINT64_MAX);
    leaf->fed = t;
    return (Value){ .tag = V_TENSOR, .t = t };
}

static Value rebuild_list(Loop *l, Leaf *leaf, Ox now, bool behind)
{
    Ctx *cx = l->ev->cx;
    Value made = { .tag = V_LIST, .list = list_new(cx, 0, str_of(cx, leaf->before->item.elem)) };
    Type type = is_ragged(leaf) ? now->type->elem : type_tensor(cx, ox_dtype(now), ox_rank(now) - 1, now->type->dim + 1);
    ItemType item = { leaf->before->item.elem, type, is_ragged(leaf) };
    Stacked *s = stacked_new(cx, item, now);
    stacked_holds(cx, s, NULL, 0, leaf->before);
    if (leaf->after)
        stacked_holds(cx, s, NULL, 0, leaf->after);
    if (!behind)
        leaf->in = s;
    list_stack(cx, made.list, s);
    return made;
}

static Dim counted(const Loop *l, const Leaf *leaf)
{
    Ctx *cx = l->ev->cx;
    return dim_add(cx, leaf->first, dim_mul(cx, dim_int(cx, leaf->step), l->start.counter));
}

static Value rebuild_int(Loop *l, Leaf *leaf, Ox now, bool behind)
{
    Ctx *cx = l->ev->cx;
    Value made = val_number_of(l->ev->g, now);
    if (leaf->counts && !behind)
        made = val_dim(cx, counted(l, leaf));
    if (!val_dim_of(made, cx, &leaf->now))
        leaf->now = NULL;
    Dim least = leaf->natural ? dim_int(cx, 0) : leaf->first;
    if (leaf->now && (leaf->natural || (leaf->counts && behind)) && !dim_assume(cx, REL_LE, least, leaf->now))
        return val_poison();
    return made;
}

/* v with its leaves replaced by `made` values: inputs of the body, or outputs of the Loop. */
static Value rebuild(Loop *l, Value v, size_t *next, bool behind)
{
    Ctx *cx = l->ev->cx;
    if (v.tag == V_TENSOR || val_is_plain_number(v) || (v.tag == V_LIST && v.list->stacked)) {
        Leaf *leaf = &l->leaves.at[(*next)++];
        Ox now = behind ? leaf->made : leaf->input;
        if (!ox_ok(now))
            return val_poison();
        if (leaf->form == LEAF_LIST)
            return rebuild_list(l, leaf, now, behind);
        if (leaf->form == LEAF_TENSOR)
            return rebuild_tensor(l, leaf, now);
        return leaf->form == LEAF_FLOAT ? (Value){ .tag = V_SYMFLOAT, .ox = now } : leaf->form == LEAF_INT ? rebuild_int(l, leaf, now, behind) : val_number_of(l->ev->g, now);
    }
    if (v.tag == V_MAYBE) {
        Value present = rebuild(l, v.maybe->present, next, behind);
        return val_maybe(cx, present, rebuild(l, v.maybe->value, next, behind));
    }
    Value made = copy_shape(cx, v);
    for (int64_t i = 0; v.tag == V_TUPLE && i < v.tuple->n; i++)
        made.tuple->at[i] = rebuild(l, v.tuple->at[i], next, behind);
    for (int64_t i = 0; v.tag == V_LIST && i < v.list->n; i++)
        list_set(cx, made.list, i, rebuild(l, v.list->at[i].v, next, behind));
    for (int64_t i = 0; v.tag == V_DICT && i < v.dict->n; i++)
        dict_set(cx, made.dict, v.dict->at[i].key, rebuild(l, v.dict->at[i].val.v, next, behind));
    return made;
}

/* ---- after a run of the body: do the types hold? ---- */

static bool widen(Loop *l, Leaf *leaf, Ox after)
{
    Ctx *cx = l->ev->cx;
    leaf->last = after;
    if (!ox_ok(after) || !ox_ok(leaf->init))
        return !ctx_failed(cx);
    if (ox_dtype(after) != leaf->dtype)
        return give_up(l, str_fmt(l->ev->cx, "a value is %s before it and %s after a trip", dtype_name(leaf->dtype), dtype_name(ox_dtype(after))));
    if (ox_rank(after) != leaf->rank)
        return give_up(l, str_fmt(cx, "a tensor has another rank after a trip (%s, %s)", type_text(cx, leaf->init->type)->s, type_text(cx, after->type)->s));
    for (int i = 0; i < leaf->rank; i++)
        if (leaf->dim[i] && dim_eq(cx, leaf->dim[i], ox_dim(after, i)) != YES) {
            leaf->dim[i] = NULL;
            l->again = true;
        }
    return true;
}

/* Sizes that differ from trip to trip, or that only the body knows, stand for nothing else in a ragged list. */
static void open_sizes(Loop *l, ItemType *item)
{
    Ctx *cx = l->ev->cx;
    Eval outside = { .cx = cx, .g = l->g->up };
    Dim dim[MAX_RANK];
    bool open = false;
    for (int i = 0; i < item->type->rank; i++) {
        bool known = dim_is_outside(&outside, item->type->dim[i]);
        dim[i] = known ? item->type->dim[i] : dim_fresh(cx, "d");
        open = open || !known;
    }
    item->ragged = item->ragged || open;
    if (open)
        item->type = type_tensor(cx, item->type->dtype, item->type->rank, dim);
}

static bool type_of_list(Ctx *cx, const List *l, ItemType *out)
{
    int64_t n;
    Value *at = list_values(cx, l, &n);
    if (l->stacked)
        *out = l->stacked->item;
    return l->stacked || (at && list_item_type(cx, at, n, out));
}

/* A list of the shape has another length, or items of other sizes, after a trip than before. */
static bool found_growing(Loop *l, Carried *k, List *shape, const List *after)
{
    Ctx *cx = l->ev->cx;
    ItemType item, was;
    for (int64_t i = 0; !after->stacked && i < after->n; i++)
        if (!val_ok(after->at[i].v))
            return refusals_fail(cx);
    if (!type_of_list(cx, shape, &was) || !type_of_list(cx, after, &item) || !items_join(cx, was, item, &item) || !item.elem)
        return give_up(l, str_of(cx, "a list changes its length, and its items are not tensors or numbers of one type and rank"));
    open_sizes(l, &item);
    k->reshaped = l->again = true;
    return vec_push(cx, &l->growing, (Growing){ shape, item });
}

/* Sizes in which the items differ open up. */
static void widen_items(Loop *l, Leaf *leaf, Type item)
{
    for (int i = 1; i < leaf->rank; i++)
        if (leaf->dim[i] && dim_eq(l->ev->cx, leaf->dim[i], item->dim[i - 1]) != YES) {
            leaf->dim[i] = NULL;
            l->again = true;
        }
}

/* Did the trip do nothing else with the list than to append an item? The list's own items are those of the trips before: one that
 * was written in this trip would have to change there too. */
static bool match_list(Loop *l, Carried *k, Leaf *leaf, List *before, const List *after)
{
    Eval *ev = l->ev;
    Stacked *s = after->stacked;
    int64_t n;
    ItemType item;
    if (stacked_is_lost(leaf->in))
        return ox_ok(stacked_whole(ev, leaf->in));              /* the error */
    Value *at = list_values(ev->cx, after, &n);
    if (!at || !type_of_list(ev->cx, after, &item) || !items_join(ev->cx, leaf->before->item, item, &item))
        return give_up(l, str_of(ev->cx, "a list changes its length, and its items are not of one type"));
    if (item.ragged && !is_ragged(leaf))
        return found_growing(l, k, before, after);
    s = s ? s : stacked_of(ev, at, n, item);
    if (s && item.ragged && !(s = stacked_ragged(ev, s, item)))
        return false;
    l->again = l->again || !leaf->after;                        /* the next trip finds these items in the list */
    leaf->after = s;
    if (s && !item.ragged && s->from == leaf->in && !leaf->in->looked) {
        leaf->item = s->last.tag == V_TENSOR ? tensor_read(l->g, s->last.t) : carry_ox(l->g, s->last);
        stacked_holds(ev->cx, s, &s->last, 1, s->from);
    }
    if (!s || leaf->item)
        return s && ox_ok(leaf->item);
    Ox whole = stacked_whole(ev, s);
    if (!item.ragged)
        return widen(l, leaf, whole);
    leaf->last = whole;
    widen_items(l, leaf, s->item.type);
    return ox_ok(whole);
}

/* What memory has this variable after a trip? The next trip may write to it under another name: one more run with that in mind. */
static void set_alias(Loop *l, Leaf *leaf, Tensor *t)
{
    bool known = map_find(&l->seen, t->st) || (t->st->born <= l->run_opened && (!leaf->fed || leaf->fed->st != t->st));
    map_put(l->ev->cx, &l->seen, t->st, NULL);
    if (known && !leaf->alias)
        l->again = true;
    leaf->alias = t;
}

/* A list or dict must not be carried under two names: each would become one of its own. */
static bool own_container(Loop *l, const Carried *k, const void *what, uint64_t born)
{
    if (map_find(&l->seen, what) || (what != k->what && born <= l->opened))
        return give_up(l, str_of(l->ev->cx, "a list or dict has two names after a trip"));
    map_put(l->ev->cx, &l->seen, what, NULL);
    return true;
}

static bool cannot_match(Loop *l, Value before, Value v)
{
    return give_up(l, str_fmt(l->ev->cx, "a variable is %s before it and %s after a trip", val_kind(before), val_kind(v)));
}

/* Did the trip change the number as it was supposed to? */
static void check_counting(Loop *l, Leaf *leaf, Value after)
{
    Ctx *cx = l->ev->cx;
    Dim d;
    int64_t step;
    bool known = leaf->now && val_dim_of(after, cx, &d);
    if (leaf->counts && !(known && dim_known(dim_sub(cx, d, leaf->now), &step) && step == leaf->step)) {
        leaf->counts = false;
        leaf->natural = l->again = true;
    } else if (leaf->natural && !(known && dim_le(cx, dim_int(cx, 0), d) == YES)) {
        leaf->natural = false;
        l->again = true;
    }
}

/* What the first trip made of a number: every trip may do so. Or else all may leave it 0 or more. */
static void suppose_counting(Loop *l, const Carried *k)
{
    Ctx *cx = l->ev->cx;
    Leaf *leaf = k->n == 1 ? &l->leaves.at[k->first] : NULL;
    Dim d;
    if (!leaf || leaf->form != LEAF_INT || k->unset || k->kind != CHANGE_CELL || !val_dim_of(k->shape, cx, &leaf->first) || !val_dim_of(k->after_first, cx, &d))
        return;
    bool from_0 = dim_le(cx, dim_int(cx, 0), leaf->first) == YES;
    leaf->counts = from_0 && dim_known(dim_sub(cx, d, leaf->first), &leaf->step) && leaf->step > 0;
    leaf->natural = from_0 && !leaf->counts;
}

/* Zeros in the place of v, outside of the loop. False: nothing that a loop carries. */
static bool stand_in_value(Loop *l, Value v, Value *out)
{
    Ctx *cx = l->ev->cx;
    bool ok = true;
    *out = v;
    if (v.tag == V_TENSOR) {
        *out = val_tensor(cx, stand_in(l->g->up, tensor_read(l->g, v.t)));
        if (out->tag == V_TENSOR)
            out->t->kind = v.t->kind;
        return out->tag == V_TENSOR;
    }
    if (val_is_plain_number(v)) {
        *out = val_is_float(v) ? val_float(0) : val_is_bool(v) ? val_bool(false) : val_int(0);
        return true;
    }
    if (v.tag != V_TUPLE)
        return v.tag == V_STR || v.tag == V_NONE;
    *out = copy_shape(cx, v);
    for (int64_t i = 0; ok && i < v.tuple->n; i++)
        ok = stand_in_value(l, v.tuple->at[i], &out->tuple->at[i]);
    return ok;
}

/* None before the loop and a value after a trip, or the other way round: from the next run on it is carried with whether it is there. */
static bool found_optional(Loop *l, Carried *k, Value before, Value v)
{
    Value value = before;
    if (before.tag == V_NONE && !stand_in_value(l, v.tag == V_MAYBE ? v.maybe->value : v, &value))
        return give_up(l, str_fmt(l->ev->cx, "a variable is None before it and %s after a trip", val_kind(v)));
    k->shape = val_maybe(l->ev->cx, val_bool(before.tag != V_NONE), value);
    k->reshaped = l->again = true;
    return true;
}

/* How many leaves add_leaves makes of v. */
static size_t count_leaves(Value v)
{
    size_t n = 0;
    if (v.tag == V_TENSOR || val_is_plain_number(v) || (v.tag == V_LIST && v.list->stacked))
        return 1;
    for (int64_t i = 0; v.tag == V_TUPLE && i < v.tuple->n; i++)
        n += count_leaves(v.tuple->at[i]);
    for (int64_t i = 0; v.tag == V_LIST && i < v.list->n; i++)
        n += count_leaves(v.list->at[i].v);
    for (int64_t i = 0; v.tag == V_DICT && i < v.dict->n; i++)
        n += count_leaves(v.dict->at[i].val.v);
    return v.tag == V_MAYBE ? 1 + count_leaves(v.maybe->value) : n;
}

static bool match(Loop *l, Carried *k, Value before, Value v, size_t *next);

static bool match_maybe(Loop *l, Carried *k, const Maybe *before, Value v, size_t *next)
{
    if (!widen(l, &l->leaves.at[(*next)++], carry_ox(l->g, val_present(v))))
        return false;
    if (v.tag != V_NONE)
        return match(l, k, before->value, v.tag == V_MAYBE ? v.maybe->value : v, next);
    *next += count_leaves(before->value);       /* they stay what they are */
    return true;
}

static bool match_dict(Loop *l, Carried *k, Dict *before, Dict *v, size_t *next);

/* Go through v, the value after the body, along the value before it. */
static bool match(Loop *l, Carried *k, Value before, Value v, size_t *next)
{
    Graph *g = l->g;
    bool ok = true;
    if (before.tag == V_MAYBE)
        return match_maybe(l, k, before.maybe, v, next);
    if (val_ok(v) && before.tag != v.tag && (val_is_optional(before) || val_is_optional(v)) && k->shape.tag == before.tag && k->shape.any == before.any)
        return found_optional(l, k, before, v);
    if (!val_ok(v))                             /* an operator in the body is missing: those are the news */
        return refusals_fail(l->ev->cx);
    if (before.tag == V_TENSOR) {
        if (v.tag != V_TENSOR)
            return cannot_match(l, before, v);
        Leaf *leaf = &l->leaves.at[(*next)++];
        set_alias(l, leaf, v.t);
        return widen(l, leaf, tensor_read(g, v.t));
    }
    if (val_is_plain_number(before)) {
        if (!val_is_plain_number(v))
            return cannot_match(l, before, v);
        Leaf *leaf = &l->leaves.at[(*next)++];
        check_counting(l, leaf, v);
        return widen(l, leaf, carry_ox(g, v));
    }
    if (before.tag == V_TUPLE && v.tag == V_TUPLE && before.tuple->n == v.tuple->n) {
        for (int64_t i = 0; ok && !k->reshaped && i < v.tuple->n; i++)
            ok = match(l, k, before.tuple->at[i], v.tuple->at[i], next);
        return ok;
    }
    if (before.tag == V_LIST && v.tag == V_LIST) {
        if (!own_container(l, k, v.list, v.list->born))
            return false;
        if (before.list->stacked)
            return match_list(l, k, &l->leaves.at[(*next)++], before.list, v.list);
        if (v.list->stacked || before.list->n != v.list->n)
            return found_growing(l, k, before.list, v.list);
        for (int64_t i = 0; ok && !k->reshaped && i < v.list->n; i++)
            ok = match(l, k, before.list->at[i].v, v.list->at[i].v, next);
        return ok;
    }
    if (before.tag == V_DICT && v.tag == V_DICT)
        return own_container(l, k, v.dict, v.dict->born) && match_dict(l, k, before.dict, v.dict, next);
    if (before.tag == v.tag && (before.any == v.any || val_equal(l->ev->cx, before, v)))
        return true;
    return cannot_match(l, before, v);
}

static bool match_dict(Loop *l, Carried *k, Dict *before, Dict *v, size_t *next)
{
    bool ok = before->n == v->n || give_up(l, str_of(l->ev->cx, "a dict gets keys, or loses some"));
    for (int64_t i = 0; ok && !k->reshaped && i < v->n; i++)
        ok = val_equal(l->ev->cx, before->at[i].key, v->at[i].key) ? match(l, k, before->at[i].val.v, v->at[i].val.v, next)
                                                                    : give_up(l, str_of(l->ev->cx, "a dict gets other keys"));
    return ok;
}

static Carried *carried_of(Loop *l, const void *what)
{
    for (size_t i = 0; i < l->carried.n; i++)
        if (l->carried.at[i].what == what)
            return &l->carried.at[i];
    return NULL;
}

/* ---- one run of the body ---- */

static Type leaf_type(Loop *l, const Leaf *leaf, Dim fresh[MAX_RANK])
{
    for (int i = 0; i < leaf->rank; i++)
        fresh[i] = leaf->dim[i] ? leaf->dim[i] : dim_fresh(l->ev->cx, "d");
    return type_tensor(l->ev->cx, leaf->dtype, leaf->rank, leaf->rank > 0 ? fresh : NULL);
}

static void make_input(Loop *l, Leaf *leaf)
{
    Ctx *cx = l->ev->cx;
    Dim dim[MAX_RANK];
    Type t = leaf_type(l, leaf, dim);
    if (is_ragged(leaf)) {
        leaf->input = graph_input(l->g, NULL, type_wrapped(cx, T_SEQUENCE, type_tensor(cx, leaf->dtype, leaf->rank - 1, dim + 1)));
        return;
    }
    Ox v = graph_input(l->g, NULL, t);
    for (int i = 0; i < leaf->rank; i++)
        if (!leaf->dim[i])
            dim_set_origin(cx, dim[i], v, i);
    leaf->input = v;
}

static const char same_in_some_trips[] = "two lists are one and the same in some trips of a loop only";

/* A list or dict that a variable holds is carried as a copy: which of its writes are writes to the list itself nobody can tell. */
static void tie_containers(Ctx *cx, Value made, Value original)
{
    if (made.tag != original.tag)
        return;
    if (made.tag == V_DICT)
        dict_maybe_same(cx, made.dict, original.dict, str_of(cx, "two dicts are one and the same in some trips of a loop only, and one of them was written since"));
    if (made.tag == V_LIST)
        list_maybe_same(cx, made.list, original.list, stacked_lost(cx, str_of(cx, same_in_some_trips)));
    for (int64_t i = 0; made.tag == V_TUPLE && i < made.tuple->n; i++)
        tie_containers(cx, made.tuple->at[i], original.tuple->at[i]);
}

static void set_carried(Loop *l, const Carried *c, bool behind)
{
    Ctx *cx = l->ev->cx;
    size_t next = c->first;
    if (c->kind == CHANGE_STORAGE) {
        storage_set(cx, c->what, behind && c->lost ? POISON : behind ? l->leaves.at[next].made : l->leaves.at[next].input);
        return;
    }
    Value v = rebuild(l, c->shape, &next, behind);
    if (c->kind == CHANGE_CELL) {
        cell_put(cx, c->what, c->born, v);
        tie_containers(cx, v, c->original);
    }
    else if (c->kind == CHANGE_LIST && v.tag == V_LIST)
        list_become(cx, c->what, v.list);
    else if (v.tag == V_DICT)
        for (int64_t i = 0; i < v.dict->n; i++)
            dict_set(cx, c->what, v.dict->at[i].key, v.dict->at[i].val.v);
}

/* The value before the loop. */
static Value shape_of(Ctx *cx, const Change *c)
{
    Value v = c->before;
    if (c->kind == CHANGE_LIST) {
        List before = { .at = c->before_at, .n = c->before_n, .elem = ((const List *)c->what)->elem, .stacked = c->before_stacked };
        return copy_shape(cx, (Value){ .tag = V_LIST, .list = &before });
    }
    if (c->kind == CHANGE_DICT) {
        Dict before = { .at = c->before_at, .n = c->before_n, .type = ((const Dict *)c->what)->type };
        return copy_shape(cx, (Value){ .tag = V_DICT, .dict = &before });
    }
    return copy_shape(cx, v);
}

/* A thing that the body was not known to change: carried from the next run on. */
static bool new_carried(Loop *l, const Change *c)
{
    Ctx *cx = l->ev->cx;
    const Value *now = c->kind == CHANGE_CELL ? &((const Cell *)c->what)->v : NULL;
    if (now && (local_to_block(l->ev, l->plan->block, c->what) || (c->before.tag == V_UNINIT && c->before.any)))
        return true;
    if (now && now->tag == V_TENSOR && c->before.tag == V_TENSOR && same_tensor(now->t, c->before.t))
        return true;                            /* h += x: the memory is carried, the variable stays what it is */
    l->again = true;
    Carried k = { .kind = c->kind, .what = c->what, .born = c->born, .original = c->before, .first = l->leaves.n };
    if (c->kind != CHANGE_STORAGE)
        k.shape = shape_of(cx, c);
    if (now)
        k.after_first = *now;
    k.unset = c->kind == CHANGE_CELL && c->before.tag == V_UNINIT;
    if (k.unset) {
        k.shape = copy_shape(cx, ((const Cell *)c->what)->v);
        if (!val_ok(k.shape))
            return refusals_fail(cx);
        if (!add_leaves(l, k.shape))            /* of the body: first_values replaces them */
            return false;
    }
    k.n = l->leaves.n - k.first;
    if (!vec_push(cx, &l->carried, k))
        return false;
    Carried *added = &l->carried.at[l->carried.n - 1];
    const List *list = c->what;
    if (c->kind == CHANGE_LIST && !added->shape.list->stacked && (list->stacked || list->n != added->shape.list->n))
        return found_growing(l, added, added->shape.list, list);
    return true;
}

/* Sizes that only the body knows are other ones in each trip. */
static void set_stand_ins(Loop *l, const Carried *k)
{
    for (size_t i = k->first; i < k->first + k->n; i++) {
        Leaf *leaf = &l->leaves.at[i];
        for (int axis = 0; axis < leaf->rank; axis++)
            if (leaf->dim[axis] && !dim_is_outside(l->ev, leaf->dim[axis]))
                leaf->dim[axis] = NULL;
        leaf->init = stand_in(l->ev->g, leaf->init);
        if (leaf->form == LEAF_LIST)
            leaf->before = stacked_new(l->ev->cx, leaf->before->item, leaf->init);
    }
}

/* Lists whose length changes: from now on one tensor. */
static bool stack_growing(Loop *l)
{
    Ctx *cx = l->ev->cx;
    for (size_t i = 0; i < l->growing.n; i++) {
        Growing *grows = &l->growing.at[i];
        int64_t n;
        Value *at = list_values(cx, grows->list, &n);
        Stacked *known = grows->list->stacked, *s = known ? stacked_ragged(l->ev, known, grows->item) : at ? stacked_of(l->ev, at, n, grows->item) : NULL;
        if (!s)
            return false;
        list_stack(cx, grows->list, s);
    }
    l->growing.n = 0;
    return true;
}

/* The values before the loop of what the last run found: read once its writes are undone. */
static bool first_values(Loop *l, size_t from)
{
    for (size_t i = from; i < l->carried.n; i++) {
        Carried *k = &l->carried.at[i];
        if (k->kind == CHANGE_CELL && !k->unset)    /* the run may have written to what the variable holds */
            k->shape = copy_shape(l->ev->cx, k->original);
    }
    if (!stack_growing(l))
        return false;
    for (size_t i = 0; i < l->carried.n; i++) {
        Carried *k = &l->carried.at[i];
        Storage *st = k->what;
        if (i < from && !k->reshaped)
            continue;
        if (k->unset && !k->reshaped) {
            set_stand_ins(l, k);
            continue;
        }
        for (size_t n = 0; n < k->n; n++)
            l->leaves.at[k->first + n].dead = true;
        k->reshaped = false;
        k->first = l->leaves.n;
        if (!(k->kind == CHANGE_STORAGE ? add_leaf(l, (Value){ .tag = V_TENSOR, .t = tensor_new(l->ev->cx, st->now) }) : add_leaves(l, k->shape)))
            return false;
        k->n = l->leaves.n - k->first;
        if (i >= from)
            suppose_counting(l, k);
    }
    return true;
}

static bool check_change(Loop *l, const Change *c)
{
    Carried *k = carried_of(l, c->what);
    size_t next = k ? k->first : 0;
    List *list = c->what;
    if (c->kind == CHANGE_LIST && list->stacked && stacked_is_lost(list->stacked))
        return vec_push(l->ev->cx, &l->lost, list);
    if (c->kind == CHANGE_DICT && ((const Dict *)c->what)->lost)
        return give_up(l, ((const Dict *)c->what)->lost);
    if (!k)
        return new_carried(l, c);
    if (k->kind == CHANGE_STORAGE) {
        const Storage *st = c->what;
        k->lost = !ox_ok(st->now) && st->lost;          /* a peer was written: nobody may look at it behind the loop */
        return k->lost || widen(l, &l->leaves.at[next], st->now);
    }
    Value now = { .tag = V_LIST, .list = c->what };
    if (k->kind == CHANGE_DICT)
        now = (Value){ .tag = V_DICT, .dict = c->what };
    if (k->kind == CHANGE_CELL)
        now = ((const Cell *)c->what)->v;
    return match(l, k, k->shape, now, &next);
}

static bool keep_going(Loop *l)
{
    Value c;
    if (!l->plan->condition) {
        l->keep_going = l->cond_in;
        return true;
    }
    if (!l->plan->condition(l->ev, l->plan->arg, &c))
        return false;
    if (!val_is_plain_number(c))
        return fail(l->ev->cx, E_VALUE, "%s is no condition", val_kind(c));
    l->keep_going = carry_ox(l->g, c);
    return ox_ok(l->keep_going) && trip_start_learn(&(Eval){ .cx = l->ev->cx, .g = l->g->up }, &l->start, c, &l->again);
}

static bool run_once(Loop *l)
{
    Eval *ev = l->ev;
    Ctx *cx = ev->cx;
    Graph *outside = ev->g;
    const Change *changes;
    size_t known = l->carried.n;
    l->again = false;
    l->lost.n = 0;
    l->g = graph_new(cx, outside, NULL);
    Ox trip = graph_input(l->g, NULL, type_tensor(cx, DT_INT64, 0, NULL));
    l->cond_in = graph_input(l->g, NULL, type_tensor(cx, DT_BOOL, 0, NULL));
    for (size_t i = 0; i < l->leaves.n; i++)
        if (!l->leaves.at[i].dead)
            make_input(l, &l->leaves.at[i]);
    TrailMark m = trail_open(cx);
    dim_scope_open(cx);
    ev->g = l->g;
    ev->staged++;
    Dim counter = dim_fresh(cx, "i");
    dim_set_origin(cx, counter, trip, -1);
    bool begins = trip_start_suppose(ev, &(Eval){ .cx = cx, .g = outside }, &l->start, counter);
    for (size_t i = 0; i < l->carried.n; i++)
        set_carried(l, &l->carried.at[i], false);
    l->run_opened = heap_now(cx);
    l->seen = (Map){ 0 };
    bool ok = begins && l->plan->body(ev, l->plan->arg, val_dim(cx, counter)) && keep_going(l);
    size_t n = ok ? trail_changes(cx, m, &changes) : 0;
    for (size_t i = 0; ok && i < n; i++)
        ok = check_change(l, &changes[i]);
    ev->staged--;
    ev->g = outside;
    dim_scope_close(cx);
    trail_undo(cx, m);
    if (!ok && ev->raised && !ctx_failed(cx))
        fail_at(cx, ev->raised_at, E_UNSUPPORTED, "a loop that ONNX runs raises an error: %s", ev->raised->s);
    return ok && first_values(l, known) && !ctx_failed(cx);
}

/* ---- the node ---- */

/* A list that is only appended to is no value of the body. */
static void forget_lists(Loop *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->g->inputs.n; i++) {
        bool scanned = false;
        for (size_t k = 0; k < l->leaves.n; k++)
            scanned = scanned || (l->leaves.at[k].item && l->leaves.at[k].input == l->g->inputs.at[i]);
        if (!scanned)
            l->g->inputs.at[n++] = l->g->inputs.at[i];
    }
    l->g->inputs.n = n;
}

static bool is_carried(const Leaf *leaf) { return !leaf->dead && !leaf->item; }

static bool make_loop(Loop *l)
{
    Eval *ev = l->ev;
    Graph *g = ev->g;
    VEC(Ox) in = { 0 };
    VEC(Leaf *) made = { 0 };
    vec_push(ev->cx, &in, l->plan->condition ? NULL : carry_ox(g, l->plan->start));
    vec_push(ev->cx, &in, l->plan->condition ? carry_ox(g, l->plan->start) : NULL);
    graph_output(l->g, l->keep_going, NULL);
    for (size_t i = 0; i < l->leaves.n; i++) {
        Leaf *leaf = &l->leaves.at[i];
        if (!is_carried(leaf))
            continue;
        vec_push(ev->cx, &in, leaf->init);
        graph_output(l->g, leaf->last ? leaf->last : leaf->input, NULL);
        vec_push(ev->cx, &made, leaf);
    }
    if (made.n == 0 && !l->plan->condition)
        in.at[1] = ox_bool(g, true);                    /* Loop has two inputs at least */
    for (size_t i = 0; i < l->leaves.n; i++)
        if (l->leaves.at[i].item) {
            graph_output(l->g, l->leaves.at[i].item, NULL);
            vec_push(ev->cx, &made, &l->leaves.at[i]);
        }
    forget_lists(l);
    Ox *out = new_array(ev->cx, Ox, made.n + 1);
    Attr body = SUBGRAPH("body", l->g);
    if (!out || (made.n && !ox_make_n(g, "Loop", LIST(in), &body, 1, out, made.n)))
        return false;
    for (size_t i = 0; i < made.n; i++) {
        Leaf *leaf = made.at[i];
        leaf->made = leaf->item && !leaf->before->empty ? ox_g_with(g, "Concat", INPUTS(leaf->init, out[i]), INT("axis", 0)) : out[i];
    }
    for (size_t i = 0; i < l->carried.n; i++)
        set_carried(l, &l->carried.at[i], true);
    for (size_t i = 0; i < l->lost.n; i++)
        list_become(ev->cx, l->lost.at[i], &(List){ .stacked = stacked_lost(ev->cx, str_of(ev->cx, same_in_some_trips)) });
    return !ctx_failed(ev->cx);
}

/* `i < n` of the condition, for an i that counts: it holds when a trip begins. */
static bool suppose_limits(Loop *l)
{
    Ctx *cx = l->ev->cx;
    Limit limit[MAX_LIMITS];
    int n = l->plan->text ? limits_of(l->ev, l->plan->text, limit) : 0;
    for (int i = 0; i < n; i++) {
        const Carried *k = carried_of(l, limit[i].number);
        const Leaf *leaf = k && k->n == 1 ? &l->leaves.at[k->first] : NULL;
        if (leaf && leaf->counts && !trip_start_add(l->ev, &l->start, (Known){ limit[i].rel, counted(l, leaf), limit[i].bound }))
            return false;
    }
    return !ctx_failed(cx);
}

bool run_loop(Eval *ev, const LoopPlan *plan)
{
    Loop l = { .ev = ev, .plan = plan, .opened = heap_now(ev->cx), .start.first = plan->condition ? plan->start : val_none() };
    for (int run = 0; run < MAX_RUNS; run++) {
        for (size_t i = 0; i < l.leaves.n; i++)
            l.leaves.at[i].last = l.leaves.at[i].item = NULL;
        if (!run_once(&l))
            return false;
        if (!l.again)
            return make_loop(&l);
        if (run == 0 && !suppose_limits(&l))
            return false;
    }
    return give_up(&l, str_of(ev->cx, "its types are still not stable after many trips"));
}

/* ---- for and while ---- */

static bool statement_body(Eval *ev, void *arg, Value trip)
{
    const Stmt *s = arg;
    if (s->kind == S_FOR && s->n_target)
        assign_slot(ev, s->target[0], trip);
    Flow flow = run_block(ev, &s->body);
    if (flow == FLOW_RETURN)
        return fail(ev->cx, E_UNSUPPORTED, "a loop that ONNX runs returns from its middle");
    return flow == FLOW_NEXT;
}

static bool statement_condition(Eval *ev, void *arg, Value *out) { return eval_condition(ev, ((const Stmt *)arg)->value, out); }

/* The loop's variable is no carried thing: nothing reads it behind the loop, and each trip sets it. */
static void forget_variable(Eval *ev, const Stmt *s)
{
    if (s->kind == S_FOR && s->n_target)
        assign_slot(ev, s->target[0], val_never(ev->cx, str_of(ev->cx, "the variable of a loop that ONNX runs is read behind it")));
}

Flow run_staged_loop(Eval *ev, const Stmt *s, Value v)
{
    LoopPlan plan = { .block = &s->body, .body = statement_body, .condition = s->kind == S_WHILE ? statement_condition : NULL,
                      .text = s->kind == S_WHILE ? s : NULL, .arg = (void *)s, .start = v };
    forget_variable(ev, s);
    return run_loop(ev, &plan) ? FLOW_NEXT : FLOW_FAIL;
}
