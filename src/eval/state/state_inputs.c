/* state_inputs.c - before a run: state that an earlier evaluation found is an input, whose default
 * is the value in the file. */
#include "eval/branch/carry.h"
#include "eval/state/state.h"

static Dim varying_dim(Ctx *cx, Str name, int axis)
{
    return dim_sym(cx, str_fmt(cx, "%s_%d", name->s, axis));
}

/* The input for this name, if an earlier evaluation has found it to be state; else NULL. now:
 * the value in the file, the input's default. */
static Ox feed(Eval *ev, Str name, Ox now)
{
    Dim dim[MAX_RANK];
    const uint32_t *varying = facts_state(ev->cx, name);
    if (!varying || *varying & UNLOOKED || !ox_ok(now) || now->kind != OX_CONST)
        return NULL;
    for (int i = 0; i < ox_rank(now); i++)
        dim[i] = *varying >> i & 1 ? varying_dim(ev->cx, name, i) : ox_dim(now, i);
    Ox v = graph_input(ev->p->graph, name, type_tensor(ev->cx, ox_dtype(now), ox_rank(now), dim));
    graph_input_default(v, now->k);
    for (int i = 0; i < ox_rank(now); i++)
        dim_set_origin(ev->cx, dim[i], v, i);
    map_put(ev->cx, &ev->state->fed, name, v);
    vec_push(ev->cx, &ev->state->in, v);
    return v;
}

/* An int of state, such as a position or counter. Where the file's value is 0 or more it is
 * taken to be so before every run, until an evaluation finds a run that leaves a negative one. */
static Value feed_int(Eval *ev, Ox in, Str name, int64_t first)
{
    if (first < 0 || *facts_state(ev->cx, name) & ANY_SIGN)
        return val_number_of(ev->g, in);
    Dim d = dim_fresh(ev->cx, "u");
    dim_set_origin(ev->cx, d, in, -1);
    map_put(ev->cx, &ev->state->positions, name, d);
    return val_dim(ev->cx, d);
}

static Value feed_number(Eval *ev, Value v, Ox in, Str name)
{
    if (v.tag == V_FLOAT)
        return (Value){ .tag = V_SYMFLOAT, .ox = in };
    return v.tag == V_INT ? feed_int(ev, in, name, v.i) : val_number_of(ev->g, in);
}

/* Is it not known how the tensors of this state lie in memory before a run? */
static bool state_is_loose(Ctx *cx, Str name)
{
    const uint32_t *known = facts_state(cx, name);
    return known && *known & LOOSE;
}

/* t is state: it lies in memory as the file has it, or as the run before has left it. */
static void feed_layout(Ctx *cx, Tensor *t, Str name)
{
    if (!state_is_loose(cx, name))
        return;
    t->contiguous = UNKNOWN;
    t->stride = NULL;
}

/* v with inputs in place of the numbers in it that are state. Tensors get theirs through their
 * storages. */
static Value feed_numbers(Eval *ev, Value v, Str name)
{
    check_stack(ev->cx);
    count_values(ev->cx, 1);
    if (val_is_plain_number(v)) {
        Ox in = facts_state(ev->cx, name) ? feed(ev, name, carry_ox(ev->g, v)) : NULL;
        return in ? feed_number(ev, v, in, name) : v;
    }
    if (v.tag == V_TENSOR)
        feed_layout(ev->cx, v.t, v.t->st->name ? v.t->st->name : name);
    if (v.tag != V_TUPLE)
        return v;
    Value made = val_tuple(ev->cx, v.tuple->at, v.tuple->n);
    made.tuple->type = v.tuple->type;
    made.tuple->fields = v.tuple->fields;
    bool same = true;
    for (int64_t i = 0; i < v.tuple->n; i++) {
        made.tuple->at[i] = feed_numbers(ev, v.tuple->at[i],
                                         str_fmt(ev->cx, "%s.%lld", name->s, (long long)i));
        same = same && made.tuple->at[i].any == v.tuple->at[i].any;
    }
    return same ? v : made;
}

/* ---- state that is None in the file: a value, and whether it is there ---- */

static Value number_fed(Eval *ev, Ox in)
{
    return ox_dtype(in) == DT_DOUBLE ? (Value){ .tag = V_SYMFLOAT, .ox = in }
                                     : val_number_of(ev->g, in);
}

/* A value of this shape that the file does not have: an input whose default, zeros, is never
 * read. Where no run reads the value itself, the zeros stand for it: None would answer the question
 * whether it is there. */
static Value feed_zeros(Eval *ev, const StateShape *shape)
{
    int64_t dim[MAX_RANK], n = 1;
    for (int i = 0; i < shape->rank; i++) {
        dim[i] = shape->dim[i] < 0 ? 0 : shape->dim[i];
        n *= dim[i];
    }
    const void *zeros = new_array(ev->cx, uint8_t, dtype_bytes(shape->dtype, (uint64_t)n) + 1);
    const Const *k = zeros ? const_make(ev->cx, shape->dtype, shape->rank, dim, zeros) : NULL;
    if (!k)
        return val_none();
    Ox unread = ox_const(ev->g, k);
    Ox in = feed(ev, shape->name, unread);
    if (!in)
        in = unread;
    if (shape->items == STATE_NUMBER)
        return number_fed(ev, in);
    Value v = val_tensor(ev->cx, in);
    feed_layout(ev->cx, v.t, shape->name);
    return v;
}

static Value feed_shape(Eval *ev, Str name)
{
    check_stack(ev->cx);
    const StateShape *shape = facts_state_shape(ev->cx, name);
    if (!shape || shape->items < 0)
        return shape ? feed_zeros(ev, shape) : val_none();
    Value *items = new_array(ev->cx, Value, shape->items + 1);
    if (!items)
        return val_none();
    for (int i = 0; i < shape->items; i++)
        items[i] = feed_shape(ev, state_item(ev->cx, name, i));
    return val_tuple(ev->cx, items, shape->items);
}

static Value feed_none(Eval *ev, Str name)
{
    if (!facts_state_shape(ev->cx, name))
        return val_none();
    Ox present = feed(ev, state_is_set(ev->cx, name), ox_bool(ev->g, false));
    Value value = feed_shape(ev, name);
    return present ? val_maybe(ev->cx, val_number_of(ev->g, present), value) : val_none();
}

static Value feed_item(Eval *ev, Value v, Str name)
{
    return v.tag == V_NONE ? feed_none(ev, name) : feed_numbers(ev, v, name);
}

/* ---- what grows ---- */

/* A key of the dict that a run sets or removes may be there before the next run: its entry has
 * an input for whether it is there. Keys that a run removes are in the file already. */
static void feed_keys(Eval *ev, Dict *d, Str name)
{
    Ctx *cx = ev->cx;
    int64_t in_file = d->n;
    for (size_t i = 0;; i++) {
        const Value *key = facts_state_key(cx, name, i);
        if (!key)
            break;
        Str child = state_key(cx, name, *key);
        const Cell *c = dict_find(cx, d, *key);
        Ox present = feed(ev, state_is_set(cx, child), ox_bool(ev->g, c != NULL));
        Value value = c ? c->v : feed_shape(ev, child);
        if (present)
            dict_set(cx, d, *key, val_maybe_key(cx, val_number_of(ev->g, present), value));
    }
    d->unordered = d->unordered ||
        d->n > in_file + 1; /* the order of several new keys is not known */
}

/* The file's list as one constant; NULL: not all of its items are constants. */
static const Const *list_in_file(Eval *ev, const List *l, ItemType item)
{
    Ctx *cx = ev->cx;
    int64_t dim[MAX_RANK] = { l->n };
    int64_t numel = 1;
    for (int i = 0; i < item.type->rank; i++) {
        if (i + 1 == MAX_RANK || !dim_known(item.type->dim[i], &dim[i + 1]))
            return NULL;
        numel *= dim[i + 1];
    }
    size_t each = (size_t)dtype_bytes(item.type->dtype, (uint64_t)numel);
    uint8_t *all = new_array(cx, uint8_t, (size_t)l->n *each + 1);
    if (!all)
        return NULL;
    for (int64_t i = 0; i < l->n; i++) {
        Ox v = stacked_item_ox(ev, l->at[i].v, item);
        if (!ox_ok(v) || v->kind != OX_CONST || ox_dtype(v) != item.type->dtype ||
            const_numel(v->k) != numel || !const_read(cx, v->k, all + (size_t)i * each))
            return NULL;
    }
    return const_make(cx, item.type->dtype, item.type->rank + 1, dim, all);
}

/* The kind of items of a list of this shape, in the words of ItemType.elem. */
static const char *elem_of(const StateShape *shape)
{
    if (shape->items == STATE_TENSORS)
        return "Tensor";
    if (shape->dtype == DT_DOUBLE)
        return "float";
    return shape->dtype == DT_BOOL ? "bool" : "int";
}

/* Is an item not surely contiguous, one of the file or one that a run leaves? */
static bool list_is_loose(Ctx *cx, const List *l, Str name)
{
    bool loose = state_is_loose(cx, name);
    for (int64_t i = 0; !loose && i < l->n; i++)
        loose = l->at[i].v.tag == V_TENSOR && tensor_contiguous(cx, l->at[i].v.t) != YES;
    return loose;
}

/* A list whose length a run changes is one tensor, an input. */
static void feed_list(Eval *ev, List *l, Str name)
{
    Ctx *cx = ev->cx;
    const StateShape *shape = facts_state_shape(cx, name);
    Dim dim[MAX_RANK];
    if (!shape || (shape->items != STATE_TENSORS && shape->items != STATE_NUMBERS))
        return;
    for (int i = 0; i < shape->rank; i++)
        dim[i] = dim_int(cx, shape->dim[i]);
    ItemType item = { .elem = elem_of(shape),
                      .type = type_tensor(cx, shape->dtype, shape->rank, dim) };
    const Const *file = list_in_file(ev, l, item);
    Ox in = file ? feed(ev, name, ox_const(ev->g, file)) : NULL;
    if (!in)
        return;
    Stacked *fed = stacked_new(cx, item, in);
    fed->loose = list_is_loose(cx, l, name);
    list_stack(cx, l, fed);
}

void state_input_storages(Eval *ev, size_t from)
{
    State *s = ev->state;
    for (size_t i = from; i < s->storages.n; i++) {
        TrackedStorage *h = &s->storages.at[i];
        Ox in = feed(ev, h->name, h->before);
        if (in)
            storage_set(ev->cx, h->st, in);
        h->before = h->st->now;
    }
}

/* Puts inputs in place of those items and values of a list or dict that are state. */
static void feed_items(Eval *ev, const TrackedList *h)
{
    Ctx *cx = ev->cx;
    if (h->list)
        for (int64_t k = 0; k < h->n; k++)
            list_set(cx, h->list, k, feed_item(ev, h->list->at[k].v, state_item(cx, h->name, k)));
    if (!h->dict)
        return;
    for (int64_t k = 0; k < h->n; k++) {
        DictEntry e = h->dict->at[k];
        dict_set(cx, h->dict, e.key, feed_item(ev, e.val.v, state_key(cx, h->name, e.key)));
    }
}

/* See state.h. Storages come first, then attributes, then lists and dicts. The values from here
 * on are those with which the end of the run is compared. */
void state_inputs(Eval *ev)
{
    State *s = ev->state;
    Ctx *cx = ev->cx;
    state_input_storages(ev, 0);
    for (size_t i = 0; i < s->order.n; i++) {
        TrackedAttr *h = tracked_attr(s, i);
        Value v = feed_item(ev, h->before, tracked_name(cx, s, h));
        if (v.tag != h->before.tag || v.any != h->before.any)
            cell_set(cx, tracked_cell(s, h), v);
        h->before = v;
    }
    for (size_t i = 0; i < s->lists.n; i++) {
        TrackedList *h = &s->lists.at[i];
        feed_items(ev, h);
        if (h->dict)
            feed_keys(ev, h->dict, h->name);
        else
            feed_list(ev, h->list, h->name);
        h->fed = h->list ? h->list->stacked : NULL;
        h->n = h->list ? h->list->n : h->dict->n;
        if (h->list)
            h->items = state_copy(cx, h->list->at, h->n, sizeof *h->list->at);
        else
            h->items = state_copy(cx, h->dict->at, h->n, sizeof *h->dict->at);
    }
}
