/* loop_carry.c - what an iteration of a loop that ONNX runs hands to the next: the tensors and
 * numbers inside variables, lists, dicts and memory (leaves), what the body gets in their place,
 * and what stands there behind the loop. */
#include "eval/branch/choice.h"
#include "eval/branch/liveness.h"
#include "eval/loop/loop_internal.h"
#include "value/walk.h"

enum { LEVELS = 32 };

/* ---- leaves: the tensors and numbers inside a value ---- */

/* The form of the leaf for a tensor, int, float or bool v, known or not. */
static LeafForm form_of(Value v)
{
    if (v.tag == V_TENSOR)
        return LEAF_TENSOR;
    if (val_is_int(v))
        return LEAF_INT;
    return val_is_float(v) ? LEAF_FLOAT : LEAF_BOOL;
}

/* Adds a leaf for v, whose value is read in ev->g. */
static bool add_leaf(Loop *l, Value v)
{
    Leaf leaf = { .form = form_of(v), .dtype = DT_NONE };
    Graph *g = l->ev->g;
    leaf.tensor = v.tag == V_TENSOR ? v.t : NULL;
    leaf.init = leaf.tensor ? tensor_read(g, v.t) : carry_ox(g, v);
    if (!ox_ok(leaf.init))
        return !ctx_failed(l->ev->cx);
    leaf.dtype = ox_dtype(leaf.init);
    leaf.rank = ox_rank(leaf.init);
    for (int i = 0; i < leaf.rank; i++)
        leaf.dim[i] = ox_dim(leaf.init, i);
    return vec_push(l->ev->cx, &l->leaves, leaf);
}

static bool add_list_leaf(Loop *l, Stacked *s)
{
    Leaf leaf = { .form = LEAF_LIST, .before = s, .init = stacked_whole(l->ev, s) };
    if (!ox_ok(leaf.init))
        return !ctx_failed(l->ev->cx);
    leaf.dtype = s->item.type->dtype;
    leaf.rank = s->item.type->rank + 1;
    for (int i = 1; i < leaf.rank; i++)
        leaf.dim[i] = s->item.type->dim[i - 1];
    return vec_push(l->ev->cx, &l->leaves, leaf);
}

static bool add_list_leaves(Loop *l, Stacked *s)
{
    bool ok = true;
    for (size_t i = 0; ok && i < stacked_n_columns(s); i++)
        ok = add_list_leaf(l, stacked_column(s, i));
    return ok;
}

/* Do one or more leaves stand for this value, so that it is not gone through? An optional has a
 * leaf for whether it is there, and then the leaves of its value. */
static bool is_leaf(Value v)
{
    return v.tag == V_TENSOR || val_is_plain_number(v) || v.tag == V_CHOICE ||
        (v.tag == V_LIST && v.list->stacked);
}

static WalkStep add_leaves_of(void *arg, Value v)
{
    Loop *l = arg;
    bool ok = true;
    if (v.tag == V_LIST && v.list->stacked)
        ok = add_list_leaves(l, v.list->stacked);
    else if (v.tag == V_CHOICE)
        ok = add_leaf(l, v.choice->index);
    else if (v.tag == V_MAYBE)
        ok = add_leaf(l, v.maybe->present);
    else if (is_leaf(v))
        ok = add_leaf(l, v);
    if (!ok)
        return WALK_STOP;
    return is_leaf(v) ? WALK_PAST : WALK_IN;
}

/* Adds every leaf of v, in order, read in ev->g. False: v holds something that a Loop cannot
 * carry. */
static bool add_leaves(Loop *l, Value v)
{
    return val_walk(l->ev->cx, v, WALK_LEVELS, add_leaves_of, l) == WALKED_ALL;
}

static WalkStep count_leaves_of(void *arg, Value v)
{
    size_t *n = arg;
    if (v.tag == V_LIST && v.list->stacked)
        *n += stacked_n_columns(v.list->stacked);
    else
        *n += is_leaf(v) || v.tag == V_MAYBE;
    return is_leaf(v) ? WALK_PAST : WALK_IN;
}

size_t count_leaves(Ctx *cx, Value v)
{
    size_t n = 0;
    return val_walk(cx, v, WALK_LEVELS, count_leaves_of, &n) == WALKED_ALL ? n : 0;
}

static Value rebuild_tensor(Loop *l, Leaf *leaf, Ox now)
{
    Ctx *cx = l->ev->cx;
    Tensor *t = tensor_new(cx, now);
    if (!tensor_set_kind(l->g->up, t, leaf->tensor))
        return fail(cx, E_UNSUPPORTED, "a loop that sets a quantised tensor of 4 bits"),
               val_poison();
    bool in_order = !leaf->loose && tensor_contiguous(cx, leaf->tensor) == YES;
    t->contiguous = in_order ? YES : UNKNOWN;
    maybe_the_same(cx, t, leaf->tensor, l->opened);
    if (leaf->alias) /* what the iteration before has left */
        maybe_the_same(cx, t, leaf->alias, UINT64_MAX);
    leaf->fed = t;
    return (Value){ .tag = V_TENSOR, .t = t };
}

/* A column of a stacked list: the leaf's input of the body (behind false), or its output of the
 * Loop. It shares memory with what the column before it did. NULL after an error. */
static Stacked *rebuild_column(Loop *l, Leaf *leaf, bool behind)
{
    Ctx *cx = l->ev->cx;
    Ox now = behind ? leaf->made : leaf->input;
    if (!ox_ok(now))
        return NULL;
    Type type = leaf_is_ragged(leaf)
        ? now->type->elem
        : type_tensor(cx, ox_dtype(now), ox_rank(now) - 1, now->type->dim + 1);
    ItemType item = { .elem = leaf->before->item.elem,
                      .of = leaf->before->item.of,
                      .type = type,
                      .ragged = leaf_is_ragged(leaf) };
    Stacked *s = stacked_new(cx, item, now);
    stacked_holds(cx, s, NULL, 0, leaf->before);
    if (leaf->after)
        stacked_holds(cx, s, NULL, 0, leaf->after);
    s->loose = s->loose || leaf->loose;
    if (!behind)
        leaf->in = s;
    return s;
}

/* The same of a list whose items have parts, one leaf for each: `[(a, b), ..]` is carried as all a
 * and all b. */
static Stacked *rebuild_columns(Loop *l, const Stacked *was, Leaf *leaf, bool behind)
{
    Ctx *cx = l->ev->cx;
    size_t n = was->item.parts->n;
    Stacked **column = new_array(cx, Stacked *, n);
    const Parts *parts = items_copy(cx, was->item.parts);
    if (!column || parts->n < n)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        if (!(column[i] = rebuild_column(l, &leaf[i], behind)))
            return NULL;
        parts->at[i] = column[i]->item;
    }
    Stacked *s = stacked_of_columns(cx, (ItemType){ .elem = was->item.elem, .parts = parts },
                                    column);
    tensor_holds(cx, s->memory, was->memory, why_shared(cx));
    if (leaf->list_after)
        tensor_holds(cx, s->memory, leaf->list_after->memory, why_shared(cx));
    if (!behind)
        leaf->list_in = s;
    return s;
}

static Value rebuild_list(Loop *l, Stacked *was, size_t *next, bool behind)
{
    Ctx *cx = l->ev->cx;
    Leaf *leaf = &l->leaves.at[*next];
    Value made = { .tag = V_LIST, .list = list_new(cx, 0, str_of(cx, was->item.elem)) };
    *next += stacked_n_columns(was);
    Stacked *s = was->column ? rebuild_columns(l, was, leaf, behind)
                             : rebuild_column(l, leaf, behind);
    if (!s)
        return val_poison();
    list_stack(cx, made.list, s);
    return made;
}

Dim leaf_counted(const Loop *l, const Leaf *leaf)
{
    Ctx *cx = l->ev->cx;
    return dim_add(cx, leaf->first, dim_mul(cx, dim_int(cx, leaf->step), l->start.counter));
}

static Value rebuild_int(Loop *l, Leaf *leaf, Ox now, bool behind)
{
    Ctx *cx = l->ev->cx;
    Value made = val_number_of(l->ev->g, now);
    if (leaf->counts && !behind)
        made = val_dim(cx, leaf_counted(l, leaf));
    if (!val_dim_of(made, cx, &leaf->now))
        leaf->now = NULL;
    Dim least = leaf->natural ? dim_int(cx, 0) : leaf->first;
    if (leaf->now && (leaf->natural || (leaf->counts && behind)) &&
        !dim_assume(cx, REL_LE, least, leaf->now))
        return val_poison();
    return made;
}

typedef struct Rebuilding {
    Loop *l;
    size_t *next; /* the leaf of the next value that has one */
    bool behind;  /* outputs of the Loop, else inputs of the body */
} Rebuilding;

/* The tensor or number that the leaf stands for. */
static Value rebuild_leaf(const Rebuilding *r)
{
    Leaf *leaf = &r->l->leaves.at[(*r->next)++];
    Ox now = r->behind ? leaf->made : leaf->input;
    if (!ox_ok(now))
        return val_poison();
    switch (leaf->form) {
    case LEAF_TENSOR: return rebuild_tensor(r->l, leaf, now);
    case LEAF_FLOAT:  return (Value){ .tag = V_SYMFLOAT, .ox = now };
    case LEAF_INT:    return rebuild_int(r->l, leaf, now, r->behind);
    default:          return val_number_of(r->l->ev->g, now);
    }
}

/* For val_map: a value that leaves stand for is made of their inputs or outputs. */
static bool replace_leaf(void *arg, Value *v, int level)
{
    const Rebuilding *r = arg;
    Ctx *cx = r->l->ev->cx;
    (void)level;
    if (v->tag == V_LIST && v->list->stacked)
        *v = rebuild_list(r->l, v->list->stacked, r->next, r->behind);
    else if (v->tag == V_CHOICE)
        *v = val_choice(cx, v->choice->at, v->choice->n, rebuild_leaf(r));
    else if (v->tag == V_TENSOR || val_is_plain_number(*v))
        *v = rebuild_leaf(r);
    else if (v->tag == V_MAYBE) {
        Value present = rebuild_leaf(r);
        *v = val_maybe_like(cx, v->maybe, present, v->maybe->value);
        return false;
    } else
        return false;
    return true;
}

/* v with its leaves replaced: by inputs of the body, or by outputs of the Loop. */
static Value rebuild(Loop *l, Value v, size_t *next, bool behind)
{
    Rebuilding r = { l, next, behind };
    return val_map(l->ev->cx, v, (Mapping){ .replace = replace_leaf, .arg = &r });
}

typedef struct StandingIn {
    Loop *l;
    bool ok;
} StandingIn;

static Value zero_like(Value v)
{
    if (val_is_float(v))
        return val_float(0);
    return val_is_bool(v) ? val_bool(false) : val_int(0);
}

static Value zeros_like(StandingIn *s, Tensor *t)
{
    Loop *l = s->l;
    Graph *outside = l->g ? l->g->up : l->ev->g;
    Value zeros = val_tensor(l->ev->cx, stand_in(outside, l->g ? tensor_read(l->g, t) : t->read));
    s->ok = zeros.tag == V_TENSOR && tensor_set_kind(outside, zeros.t, t);
    return zeros;
}

/* For val_map: zeros in place of each leaf. Once a value has no stand-in nothing more is made. */
static bool replace_by_zeros(void *arg, Value *v, int level)
{
    StandingIn *s = arg;
    (void)level;
    if (!s->ok)
        return true;
    if (v->tag == V_TENSOR)
        *v = zeros_like(s, v->t);
    else if (val_is_plain_number(*v))
        *v = zero_like(*v);
    else if (v->tag == V_TUPLE || (v->tag == V_LIST && !v->list->stacked) || v->tag == V_DICT ||
             is_plain_object(*v))
        return false;
    else
        s->ok = v->tag == V_STR || v->tag == V_NONE;
    return true;
}

bool loop_stand_in(Loop *l, Value v, Value *out)
{
    StandingIn s = { l, val_is_shallow(l->ev->cx, v, LEVELS) };
    if (s.ok)
        *out = val_map(l->ev->cx, v, (Mapping){ .replace = replace_by_zeros, .arg = &s });
    return s.ok;
}

/* ---- what the body gets, and what is behind the loop ---- */

static Type leaf_type(Loop *l, const Leaf *leaf, Dim fresh[MAX_RANK])
{
    for (int i = 0; i < leaf->rank; i++)
        fresh[i] = leaf->dim[i] ? leaf->dim[i] : dim_fresh(l->ev->cx, "d");
    return type_tensor(l->ev->cx, leaf->dtype, leaf->rank, leaf->rank > 0 ? fresh : NULL);
}

void leaf_make_input(Loop *l, Leaf *leaf)
{
    Ctx *cx = l->ev->cx;
    Dim dim[MAX_RANK];
    Type t = leaf_type(l, leaf, dim);
    if (leaf_is_ragged(leaf)) {
        leaf->input = graph_input(
            l->g, NULL,
            type_wrapped(cx, T_SEQUENCE, type_tensor(cx, leaf->dtype, leaf->rank - 1, dim + 1)));
        return;
    }
    Ox v = graph_input(l->g, NULL, t);
    for (int i = 0; i < leaf->rank; i++)
        if (!leaf->dim[i])
            dim_set_origin(cx, dim[i], v, i);
    leaf->input = v;
}

static Str why_same(Ctx *cx, Value v)
{
    return str_fmt(cx, "two %ss are one and the same in some iterations of a loop only",
                   container_name(v));
}

void loop_invalidate(Loop *l, Value v)
{
    Ctx *cx = l->ev->cx;
    if (v.tag == V_DICT)
        dict_invalidate(cx, v.dict, why_same(cx, v));
    else
        list_become(cx, v.list, &(List){ .stacked = stacked_invalid(cx, why_same(cx, v)) });
}

static void tie_items(Loop *l, const Carried *c, Value made, Value original);

/* A list, dict or object that is carried is a copy `made`. It is not known whether it is
 * `original`, the one before the loop or the one that an iteration leaves: they become aliases. */
static void tie_containers(Loop *l, const Carried *c, Value made, Value original)
{
    Ctx *cx = l->ev->cx;
    if (made.tag == V_MAYBE)
        tie_containers(l, c, made.maybe->value, original);
    if (original.tag == V_MAYBE)
        tie_containers(l, c, made, original.maybe->value);
    if (made.tag != original.tag || made.tag == V_MAYBE || made.any == original.any)
        return;
    if (made.tag == V_LIST || made.tag == V_DICT || is_plain_object(made)) {
        map_put(cx, &l->fed, made.any, c->what);
        containers_maybe_same(cx, made, original, why_same(cx, made)->s);
    }
    tie_items(l, c, made, original);
}

/* Ties a carried container, and all containers in it, to the original ones. What is carried is
 * shallow (loop_is_shallow), so the recursion ends. */
static void tie_items(Loop *l, const Carried *c, Value made, Value original)
{
    Ctx *cx = l->ev->cx;
    int64_t n = 0;
    bool becomes_stacked = made.tag == V_LIST && made.list->stacked && original.tag == V_LIST &&
        !original.list->stacked;
    const Value *at = becomes_stacked ? list_values(cx, original.list, &n) : NULL;
    if (at)
        stacked_holds(cx, made.list->stacked, at, n, NULL);
    for (int64_t i = 0; i < val_n_parts(made); i++) {
        const Value *part = val_part_like(cx, original, made, i);
        if (part)
            tie_containers(l, c, val_part(made, i), *part);
    }
}

/* What a carried storage holds in the body (behind false) or after the Loop. */
static Ox storage_now(const Loop *l, const Carried *c, bool behind)
{
    if (c->mark || c->invalid)
        return POISON;
    const Leaf *leaf = &l->leaves.at[c->first];
    return behind ? leaf->made : leaf->input;
}

/* Sets the entries of v in the dict that is carried. */
static void set_dict(Loop *l, const Carried *c, Value v)
{
    Dict *d = c->what;
    tie_items(l, c, v, loop_after(c));
    tie_items(l, c, v, c->after);
    for (int64_t i = 0; i < v.dict->n; i++)
        dict_set(l->ev->cx, d, v.dict->at[i].key, v.dict->at[i].val.v);
    d->unordered = d->unordered || v.dict->unordered;
}

static void put_value(Ctx *cx, const Carried *c, Value v)
{
    if (c->holder.tag == V_LIST)
        list_put(cx, c->holder.list, c->place, v);
    else if (c->holder.tag == V_DICT)
        dict_enter(cx, c->holder.dict, c->holder.dict->at[c->place].key, v);
    else
        cell_put(cx, c->what, c->created, v);
}

/* See loop_internal.h. The value is made of its leaves, and becomes an alias of what it was
 * before the loop and of what an iteration has left in its place. */
void loop_set(Loop *l, const Carried *c, bool behind)
{
    Ctx *cx = l->ev->cx;
    size_t next = c->first;
    if (c->dropped || (val_ok(c->holder) && !loop_item(c->holder, c->place)))
        return;
    if (c->kind == CHANGE_STORAGE) {
        storage_set(cx, c->what, storage_now(l, c, behind));
        return;
    }
    Value v = rebuild(l, c->shape, &next, behind);
    if (c->kind == CHANGE_CELL) {
        put_value(cx, c, v);
        tie_containers(l, c, v, c->original);
        tie_containers(l, c, v, c->after);
    } else if (c->kind == CHANGE_LIST && v.tag == V_LIST) {
        tie_items(l, c, v, loop_after(c));
        tie_items(l, c, v, c->after);
        list_become(cx, c->what, v.list);
    } else if (v.tag == V_DICT) {
        set_dict(l, c, v);
    }
}

/* ---- what is carried ---- */

Carried *loop_carried(Loop *l, const void *what)
{
    uintptr_t i = (uintptr_t)map_get(&l->number, what);
    return i && !l->carried.at[i - 1].dropped ? &l->carried.at[i - 1] : NULL;
}

bool loop_add(Loop *l, Carried k)
{
    map_put(l->ev->cx, &l->number, k.what, (void *)(uintptr_t)(l->carried.n + 1));
    if (val_ok(k.holder))
        map_put(l->ev->cx, &l->holders, k.holder.any, NULL);
    return vec_push(l->ev->cx, &l->carried, k);
}

Value loop_container(ChangeKind kind, void *what)
{
    if (kind == CHANGE_LIST)
        return (Value){ .tag = V_LIST, .list = what };
    return kind == CHANGE_DICT ? (Value){ .tag = V_DICT, .dict = what } : val_none();
}

Cell *loop_item(Value holder, int64_t place)
{
    if (holder.tag == V_LIST && !holder.list->stacked && place < holder.list->n)
        return &holder.list->at[place];
    return holder.tag == V_DICT && place < holder.dict->n ? &holder.dict->at[place].val : NULL;
}

/* The value of the changed thing before the loop, in containers of the loop's own. */
static Value shape_of(Ctx *cx, const Change *c)
{
    Value v = c->before;
    if (c->kind == CHANGE_LIST) {
        List before = { .at = trail_before(cx, c),
                        .n = c->before_n,
                        .elem = ((const List *)c->what)->elem,
                        .stacked = c->before_stacked };
        return containers_copy(cx, (Value){ .tag = V_LIST, .list = &before });
    }
    if (c->kind == CHANGE_DICT) {
        const Dict *d = c->what;
        Dict before = {
            .at = trail_before(cx, c), .n = c->before_n, .type = d->type, .unordered = d->unordered
        };
        return containers_copy(cx, (Value){ .tag = V_DICT, .dict = &before });
    }
    return containers_copy(cx, v);
}

/* The variable, or the item where it lies now: the array may have grown since. */
static const Cell *cell_of(const void *what, Value holder, int64_t place)
{
    const Cell *item = loop_item(holder, place);
    return item ? item : what;
}

Value loop_after(const Carried *k)
{
    return k->kind == CHANGE_CELL ? cell_of(k->what, k->holder, k->place)->v
                                  : loop_container(k->kind, k->what);
}

bool loop_may_carry(Ctx *cx, Value v) { return val_is_shallow(cx, v, LEVELS); }

bool loop_is_shallow(Loop *l, Value v)
{
    return loop_may_carry(l->ev->cx, v) ||
        loop_give_up(l, str_of(l->ev->cx, "a variable holds an object that holds itself"));
}

/* Is c a variable that need not be carried, whatever the iteration has set it to? */
static bool is_own_variable(Loop *l, const Change *c, Value now)
{
    if (local_to_block(l->ev, l->plan->block, c->what) ||
        (c->before.tag == V_UNINIT && c->before.any))
        return true;
    /* what `return` in a loop will give, in an iteration that does not return */
    if (now.tag == V_UNINIT && !now.any && c->before.tag == V_UNINIT)
        return true;
    /* h += x: the memory is carried, the variable stays what it is */
    return now.tag == V_TENSOR && c->before.tag == V_TENSOR && same_tensor(now.t, c->before.t);
}

/* Is c a storage that this run has made, or an earlier run of the body, or a branch that has
 * ended? The program cannot reach the latter two: they change because an alias of them is
 * written. */
static bool is_own_memory(const Loop *l, const Change *c)
{
    return c->created > l->opened ||
        (c->before_ox && ox_ok(c->before_ox) && !graph_sees(l->g->up, c->before_ox));
}

/* A variable that was never set before the loop: its shape is what the iteration leaves, whose
 * leaves are of the body until loop_first_values replaces them by stand-ins. */
static bool begin_unset(Loop *l, Carried *k)
{
    k->unset = true;
    k->shape = containers_copy(l->ev->cx, loop_after(k));
    if (!val_ok(k->shape))
        return refusals_fail(l->ev->cx);
    return add_leaves(l, k->shape);
}

/* Carries c from the next run on. A list whose length an iteration changed ([a, b, c] before it,
 * [a, b, c, d] after it) is one tensor from then on. */
static bool carry(Loop *l, const Change *c, Value holder, int64_t place)
{
    Ctx *cx = l->ev->cx;
    Carried k = { .kind = c->kind,
                  .what = c->what,
                  .created = c->created,
                  .holder = holder,
                  .place = place,
                  .original = c->before,
                  .first = l->leaves.n };
    if (c->kind != CHANGE_STORAGE)
        k.shape = shape_of(cx, c);
    if (c->kind == CHANGE_CELL)
        k.after_first = loop_after(&k);
    if (c->kind == CHANGE_CELL && c->before.tag == V_UNINIT && !begin_unset(l, &k))
        return false;
    k.n = l->leaves.n - k.first;
    if (!loop_add(l, k))
        return false;
    Carried *added = &l->carried.at[l->carried.n - 1];
    added->after = containers_under_mark(cx, loop_after(added));
    const List *list = c->what;
    bool grows = c->kind == CHANGE_LIST && !added->shape.list->stacked &&
        (list->stacked || list->n != added->shape.list->n);
    return !grows || loop_found_growing(l, added, added->shape.list, list);
}

static void forget_leaves(Loop *l, const Carried *k)
{
    for (size_t n = 0; n < k->n; n++)
        l->leaves.at[k->first + n].dead = true;
}

void loop_storage_invalid(Loop *l, Carried *k)
{
    forget_leaves(l, k);
    k->invalid = true;
}

/* The whole list or dict is carried from here on, and its items no longer. */
static void drop_items(Loop *l, const Change *c)
{
    if (!map_find(&l->holders, c->what))
        return;
    for (size_t i = 0; i < l->carried.n; i++) {
        Carried *k = &l->carried.at[i];
        if (!val_ok(k->holder) || k->holder.any != c->what)
            continue;
        forget_leaves(l, k);
        k->dropped = true;
    }
}

/* The run has changed a variable, list, dict or storage that no run has changed before: it is
 * carried from the next run on, unless it is the iteration's own. `h = h + x` finds h. False
 * after an error. */
bool loop_found(Loop *l, const Change *c, Value holder, int64_t place)
{
    bool is_cell = c->kind == CHANGE_CELL;
    Value now = is_cell ? cell_of(c->what, holder, place)->v : val_none();
    if (is_cell && is_own_variable(l, c, now))
        return true;
    if (!loop_is_shallow(l, now) || !loop_is_shallow(l, c->before))
        return false;
    if (c->kind == CHANGE_STORAGE && is_own_memory(l, c))
        return true;
    l->again = true;
    if (c->kind == CHANGE_STORAGE && !c->before_ox)
        return loop_add(l,
                        (Carried){ .kind = c->kind,
                                   .what = c->what,
                                   .created = c->created,
                                   .first = l->leaves.n,
                                   .mark = true });
    if (!is_cell && c->kind != CHANGE_STORAGE)
        drop_items(l, c);
    return carry(l, c, holder, place);
}

/* Leaves of a variable that was never set before the loop get zeros for first values; where its
 * shape was made anew, those that are the body's. Sizes that only the body knows differ in each
 * iteration. */
static void set_stand_ins(Loop *l, const Carried *k, bool reshaped)
{
    for (size_t i = k->first; i < k->first + k->n; i++) {
        Leaf *leaf = &l->leaves.at[i];
        if (reshaped && graph_sees(l->ev->g, leaf->init))
            continue;
        for (int axis = 0; axis < leaf->rank; axis++)
            if (leaf->dim[axis] && !dim_is_outside(l->ev->g, leaf->dim[axis]))
                leaf->dim[axis] = NULL;
        leaf->init = stand_in(l->ev->g, leaf->init);
        if (leaf->form == LEAF_LIST)
            leaf->before = stacked_new(l->ev->cx, leaf->before->item, leaf->init);
    }
}

bool loop_begins_natural(Loop *l, const Carried *k)
{
    Ctx *cx = l->ev->cx;
    Leaf *leaf = k->n == 1 ? &l->leaves.at[k->first] : NULL;
    return leaf && leaf->form == LEAF_INT && !k->unset && k->kind == CHANGE_CELL &&
        val_dim_of(k->shape, cx, &leaf->first) && dim_le(cx, dim_int(cx, 0), leaf->first) == YES;
}

/* Supposes that every iteration changes a number as the first one did (`i + 2`), or else that
 * every iteration leaves it 0 or more. */
static void suppose_counting(Loop *l, const Carried *k)
{
    Dim d;
    if (!loop_begins_natural(l, k) || !val_dim_of(k->after_first, l->ev->cx, &d))
        return;
    Leaf *leaf = &l->leaves.at[k->first];
    leaf->counts = dim_known(dim_sub(l->ev->cx, d, leaf->first), &leaf->step) && leaf->step > 0;
    leaf->natural = !leaf->counts;
}

/* Zeros in the place of the list's items, which nothing reads. */
static bool stand_in_items(Loop *l, List *list)
{
    Value zeros;
    if (list->stacked)
        return true;
    if (!loop_stand_in(l, (Value){ .tag = V_LIST, .list = list }, &zeros))
        return loop_give_up(l, str_of(l->ev->cx, "what a list holds has no first value"));
    for (int64_t i = 0; i < list->n; i++)
        cell_init(&list->at[i], zeros.list->at[i].v);
    return true;
}

/* Lists whose length an iteration has changed become one tensor. */
static bool stack_growing(Loop *l)
{
    Ctx *cx = l->ev->cx;
    for (size_t i = 0; i < l->growing.n; i++) {
        Growing *grows = &l->growing.at[i];
        int64_t n;
        if (grows->unset && !stand_in_items(l, grows->list))
            return false;
        Value *at = list_values(cx, grows->list, &n);
        ItemType was;
        if (!at)
            return false;
        if (!grows->list->stacked &&
            !(list_item_type(cx, at, n, &was) && items_join(cx, was, grows->item, &grows->item)))
            return loop_give_up(
                l, str_of(cx, "a list changes its length, and so do the lists that it holds"));
        Stacked *s = stacked_list(l->ev, grows->list, grows->item);
        if (!s)
            return false;
        list_stack(cx, grows->list, s);
    }
    l->growing.n = 0;
    return true;
}

/* What the run found inside of shapes becomes part of them: an optional, a choice, a key that
 * may be there. */
static void widen_shapes(Loop *l)
{
    for (size_t i = 0; i < l->keys.n; i++)
        dict_set(l->ev->cx, l->keys.at[i].dict, l->keys.at[i].key, l->keys.at[i].entry);
    for (size_t i = 0; i < l->wider.n; i++)
        cell_init(l->wider.at[i].place, l->wider.at[i].v);
    l->keys.n = l->wider.n = 0;
}

bool loop_reshape(Loop *l)
{
    if (!stack_growing(l))
        return false;
    widen_shapes(l);
    return true;
}

bool loop_first_leaves(Loop *l, Carried *k)
{
    k->first = l->leaves.n;
    const Storage *st = k->what;
    bool ok = k->kind == CHANGE_STORAGE
        ? add_leaf(l, (Value){ .tag = V_TENSOR, .t = tensor_new(l->ev->cx, st->now) })
        : add_leaves(l, k->shape);
    k->n = l->leaves.n - k->first;
    k->invalid = k->invalid || (k->kind == CHANGE_STORAGE && k->n == 0);
    return ok;
}

/* The run may have written to what a variable, list or dict holds. Once its writes are undone
 * the shape is made anew, of the value before the loop. */
static void reset_shape(Loop *l, Carried *k)
{
    Ctx *cx = l->ev->cx;
    if (k->kind == CHANGE_CELL && !k->unset)
        k->shape = containers_copy(cx, k->original);
    if (k->kind == CHANGE_LIST && !k->shape.list->stacked)
        for (int64_t n = 0; n < k->shape.list->n; n++)
            cell_init(&k->shape.list->at[n], containers_copy(cx, ((const List *)k->what)->at[n].v));
    for (int64_t n = 0; k->kind == CHANGE_DICT && n < k->shape.dict->n; n++)
        cell_init(&k->shape.dict->at[n].val,
                  containers_copy(cx, ((const Dict *)k->what)->at[n].val.v));
}

/* New leaves for k, in place of those that it had. */
static bool renew_leaves(Loop *l, Carried *k)
{
    forget_leaves(l, k);
    k->reshaped = false;
    return loop_first_leaves(l, k);
}

/* See loop_internal.h. from: the first thing that this run has found; those before it have
 * leaves already, which are made anew only where the shape has changed. */
bool loop_first_values(Loop *l, size_t from)
{
    for (size_t i = from; i < l->carried.n; i++)
        reset_shape(l, &l->carried.at[i]);
    if (!loop_reshape(l))
        return false;
    for (size_t i = 0; i < l->carried.n; i++) {
        Carried *k = &l->carried.at[i];
        if (k->mark || k->dropped || (i < from && !k->reshaped))
            continue;
        bool reshaped = k->reshaped;
        if ((reshaped || !k->unset) && !renew_leaves(l, k))
            return false;
        if (k->unset)
            set_stand_ins(l, k, reshaped);
        else if (i >= from)
            suppose_counting(l, k);
    }
    return true;
}
