/* loop_match.c - after a run of the body: do the types with which the run began still hold? The
 * value that a variable has now is gone through along the value before. A size that differs
 * becomes a symbol, a list whose length differs becomes one tensor, and a None that became a
 * value is carried together with a bool, whether it is there. Each of these asks for one more
 * run. */
#include "eval/branch/choice.h"
#include "eval/loop/loop_internal.h"
#include "value/walk.h"

/* There is no value because operators in the body were refused: the error lists these. */
static bool not_converted(Loop *l)
{
    Ctx *cx = l->ev->cx;
    return cx->refusals.n || ctx_failed(cx)
        ? refusals_fail(cx)
        : loop_give_up(l, str_of(cx, "what a variable holds after an iteration is not known"));
}

/* Compares a leaf with `after`, what an iteration has left of it. A size that differs becomes a
 * symbol from the next run on: f32[3] and f32[4] are f32[d]. A Loop cannot carry another dtype
 * or rank. */
static bool widen(Loop *l, Leaf *leaf, Ox after)
{
    Ctx *cx = l->ev->cx;
    leaf->last = after;
    if (!ox_ok(after) || !ox_ok(leaf->init))
        return not_converted(l);
    if (ox_dtype(after) != leaf->dtype)
        return loop_give_up(l,
                            str_fmt(l->ev->cx, "a value is %s before it and %s after an iteration",
                                    dtype_name(leaf->dtype), dtype_name(ox_dtype(after))));
    if (ox_rank(after) != leaf->rank)
        return loop_give_up(l,
                            str_fmt(cx, "a tensor has another rank after an iteration (%s, %s)",
                                    type_text(cx, leaf->init->type)->s,
                                    type_text(cx, after->type)->s));
    for (int i = 0; i < leaf->rank; i++)
        if (leaf->dim[i] && dim_eq(cx, leaf->dim[i], ox_dim(after, i)) != YES) {
            leaf->dim[i] = NULL;
            l->again = true;
        }
    return true;
}

/* In the item type of a ragged list, sizes that differ from iteration to iteration, or that only
 * the body knows, become symbols that stand for nothing else. */
static void dynamic_sizes(Loop *l, ItemType *item)
{
    Ctx *cx = l->ev->cx;
    if (item->parts) {
        item->parts = items_copy(cx, item->parts);
        for (size_t i = 0; i < item->parts->n; i++)
            dynamic_sizes(l, &item->parts->at[i]);
        return;
    }
    Dim dim[MAX_RANK];
    bool open = false;
    for (int i = 0; i < item->type->rank; i++) {
        bool known = dim_is_outside(l->g->up, item->type->dim[i]);
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

/* See loop_internal.h. From the next run on the list in k's shape is one tensor, whose item type
 * holds for the items before and after the iteration: [] and [1] make a list of ints. */
bool loop_found_growing(Loop *l, Carried *k, List *shape, const List *after)
{
    Ctx *cx = l->ev->cx;
    ItemType item, was;
    if (!after->stacked)
        for (int64_t i = 0; i < after->n; i++)
            if (!val_ok(after->at[i].v))
                return not_converted(l);
    if (!type_of_list(cx, shape, &was) || !type_of_list(cx, after, &item) ||
        !items_join(cx, was, item, &item) || !item.elem)
        return loop_give_up(
            l,
            str_of(cx,
                   "a list changes its length, and its items are not alike: tensors or "
                   "numbers of one type and rank, or tuples, dicts and "
                   "objects of such"));
    dynamic_sizes(l, &item);
    k->reshaped = l->again = true;
    return vec_push(cx, &l->growing, (Growing){ shape, item, k->unset });
}

/* Sizes in which the items differ become symbols. */
static void widen_items(Loop *l, Leaf *leaf, Type item)
{
    for (int i = 1; i < leaf->rank; i++)
        if (leaf->dim[i] && dim_eq(l->ev->cx, leaf->dim[i], item->dim[i - 1]) != YES) {
            leaf->dim[i] = NULL;
            l->again = true;
        }
}

static WalkStep stop_at_container(void *arg, Value v)
{
    (void)arg;
    if (v.tag == V_LIST || v.tag == V_DICT || v.tag == V_OBJ)
        return WALK_STOP;
    return v.tag == V_TUPLE ? WALK_IN : WALK_PAST;
}

/* Is it a list, dict or object, or a tuple with one in it? */
static bool holds_container(Ctx *cx, Value like)
{
    return val_walk_finds(cx, like, stop_at_container, NULL);
}

/* May the next iteration write to an item that this one has left in the list, under another
 * name? For lists, dicts and objects among the items the answer is yes. */
static bool may_be_written(const Loop *l, ItemType item)
{
    bool any = item.of ||
        (item.parts ? holds_container(l->ev->cx, item.parts->like)
                    : l->writes && !strcmp(item.elem, "Tensor"));
    if (!item.parts)
        return any;
    for (size_t i = 0; !any && i < item.parts->n; i++)
        any = may_be_written(l, item.parts->at[i]);
    return any;
}

/* Did the iteration do nothing with the list but append one item? Then leaf->item is this item.
 * An item from an iteration before must not have been written: it would have to change in the
 * scan output too. */
static bool match_column(Loop *l, Leaf *leaf, Stacked *s)
{
    Eval *ev = l->ev;
    leaf->after = s;
    if (!s->item.ragged && s->from == leaf->in && !leaf->in->looked) {
        leaf->item = stacked_item_ox(ev, s->last, s->item);
        stacked_holds(ev->cx, s, &s->last, 1, s->from);
    }
    if (leaf->item)
        return ox_ok(leaf->item);
    Ox whole = stacked_whole(ev, s);
    if (!s->item.ragged)
        return widen(l, leaf, whole);
    leaf->last = whole;
    widen_items(l, leaf, s->item.type);
    return ox_ok(whole);
}

/* Can the next iteration reach the memory that the list holds in another way too: is the memory
 * older than this iteration, or left in a variable or in another list? */
static bool is_reached(Loop *l, const Tensor *after, const Tensor *in, Map *lists,
                       const Stacked *list)
{
    Map parts = { 0 };
    bool reached = false;
    map_put(l->ev->cx, &parts, in->st, NULL); /* the run was given what the list held before */
    storage_parts(l->ev->cx, after->st, &parts);
    for (size_t i = 1; i < parts.n && !reached; i++) {
        const Storage *st = parts.at[i].key;
        bool in_another = !map_add(l->ev->cx, lists, st, list) && map_get(lists, st) != list;
        reached = (l->writes || !st->now) &&
            (in_another || st->created <= l->run_opened || map_find(&l->seen, st));
    }
    return reached;
}

static bool any_is_reached(Loop *l)
{
    Map lists = { 0 };
    bool reached = false;
    for (size_t i = 0; i < l->left.n && !reached; i++) {
        Stacked *after = l->left.at[i].after;
        Stacked *in = l->left.at[i].in;
        reached = after->column && is_reached(l, after->memory, in->memory, &lists, after);
        for (size_t k = 0; k < stacked_n_columns(after) && !reached; k++)
            reached = is_reached(l, stacked_column(after, k)->memory, stacked_column(in, k)->memory,
                                 &lists, after);
    }
    return reached;
}

/* What memory belongs to anything but the variable of this leaf? */
typedef struct OfLeaf {
    const Loop *l;
    const Map *lists; /* the memory of the lists that the iteration has left */
    const Leaf *leaf;
} OfLeaf;

/* Is this memory older than the iteration, or left in another variable or in a list? */
static bool is_of_another(void *arg, const Storage *st)
{
    const OfLeaf *of = arg;
    const MapEntry *seen = map_find(&of->l->seen, st);
    return st->created <= of->l->run_opened || (seen && seen->val != of->leaf) ||
        map_find(of->lists, st);
}

/* May a write to what the iteration has left in the leaf's variable be one to something else?
 * `if c: o = x` binds the name in a branch, and `o = l[k]` takes an item of a list. What the
 * iteration was given there does not count, nor what stood there before the loop. */
static bool may_be_another(Loop *l, const Map *lists, const Leaf *leaf)
{
    Ctx *cx = l->ev->cx;
    Storage *left = leaf->alias->st;
    Map met = { 0 };
    OfLeaf of = { l, lists, leaf };
    if (leaf->other || !left->aliases || !leaf->fed || leaf->fed->st == left)
        return leaf->other;
    map_put(cx, &met, leaf->fed->st, NULL);
    map_put(cx, &met, leaf->tensor->st, NULL);
    return storage_reaches(cx, left, &met, is_of_another, &of);
}

static void add_lists(Loop *l, Map *lists)
{
    for (size_t i = 0; i < l->leaves.n; i++) {
        const Leaf *leaf = &l->leaves.at[i];
        if (leaf->after)
            map_put(l->ev->cx, lists, leaf->after->memory->st, NULL);
        if (leaf->list_after)
            map_put(l->ev->cx, lists, leaf->list_after->memory->st, NULL);
    }
}

/* Where iterations write to tensors, the next one may write under another name to what this one
 * has left: one more run then begins with the alias. */
static void look_for_aliases(Loop *l)
{
    Map lists = { 0 };
    if (l->writes)
        add_lists(l, &lists);
    for (size_t i = 0; l->writes && i < l->leaves.n; i++) {
        Leaf *leaf = &l->leaves.at[i];
        bool left = !leaf->dead && leaf->form == LEAF_TENSOR && leaf->alias && leaf->last;
        if (!left || leaf->tied || !may_be_another(l, &lists, leaf))
            continue;
        leaf->tied = l->again = true;
    }
}

/* Was the iteration given something contiguous in the leaf's place, and leaves what is not surely
 * so? Then the next one finds that: `h = h.t()` asks for one more run, and so does
 * `l.append(l[i].t())`. */
static void match_layout(Loop *l, Leaf *leaf, bool was_loose, bool loose)
{
    if (loose && !was_loose)
        leaf->loose = l->again = true;
}

/* See loop_internal.h. A list seems to be only appended to, and a tensor to have no other name, as
 * long as no other name has been matched, so this is found out last. */
bool loop_look_again(Loop *l)
{
    bool ok = true;
    l->again = l->again || any_is_reached(l);
    look_for_aliases(l);
    for (size_t i = 0; ok && i < l->leaves.n; i++) {
        Leaf *leaf = &l->leaves.at[i];
        if (leaf->item && leaf->in->looked) {
            leaf->item = NULL;
            ok = widen(l, leaf, stacked_whole(l->ev, leaf->after));
        }
        if (leaf->after && !leaf->dead && !leaf->item)
            match_layout(l, leaf, leaf->loose || leaf->in->loose, leaf->after->loose);
    }
    return ok;
}

static bool is_wider(ItemType was, ItemType item)
{
    return item.ragged && (!was.ragged || item_ranks_differ(item) != item_ranks_differ(was));
}

/* Is a part ragged now, or of several ranks, that was not when the iteration began? Or is a list
 * one part now that had parts of its own? */
static bool is_newly_ragged(Ctx *cx, ItemType was, ItemType item)
{
    bool newly = !items_same_parts(cx, was, item);
    for (size_t i = 0; !newly && i < (item.parts ? item.parts->n : 1); i++)
        newly = newly || is_wider(item_column(was, i), item_column(item, i));
    return newly;
}

/* Matches a stacked list: its tensor, or the tensor of each part of its items, is matched as a
 * leaf is. Items that have become ragged, or whose inner lists became longer, ask for another
 * run. */
static bool match_list(Loop *l, Carried *k, List *before, const List *after, size_t *next)
{
    Eval *ev = l->ev;
    Stacked *was = before->stacked;
    Stacked *s = after->stacked;
    Leaf *leaf = &l->leaves.at[*next];
    int64_t n;
    ItemType item;
    *next += stacked_n_columns(was);
    if (was->column && !stacked_is_readable(ev, leaf->list_in))
        return false;
    for (size_t i = 0; i < stacked_n_columns(was); i++)
        if (!stacked_is_readable(ev, leaf[i].in))
            return false;
    Value *at = list_values(ev->cx, after, &n);
    if (!at || !type_of_list(ev->cx, after, &item) || !items_join(ev->cx, was->item, item, &item))
        return loop_give_up(
            l, str_of(ev->cx, "a list changes its length, and its items are not of one type"));
    if (is_newly_ragged(ev->cx, was->item, item))
        return loop_found_growing(l, k, before, after);
    s = s ? s : stacked_of(ev, at, n, item);
    if (s && is_newly_ragged(ev->cx, s->item, item))
        s = stacked_as(ev, s, item);
    if (!s)
        return false;
    if (s->column)
        leaf->list_after = s;
    if (!leaf->after && may_be_written(l, s->item))
        vec_push(ev->cx, &l->left, (Left){ s, s->column ? leaf->list_in : leaf->in });
    for (size_t i = 0; i < stacked_n_columns(s); i++)
        if (!match_column(l, &leaf[i], stacked_column(s, i)))
            return false;
    return true;
}

/* Notes what memory this variable has after an iteration. */
static void set_alias(Loop *l, Leaf *leaf, Tensor *t)
{
    leaf->other = map_find(&l->seen, t->st) ||
        (t->st->created <= l->run_opened && (!leaf->fed || leaf->fed->st != t->st));
    map_put(l->ev->cx, &l->seen, t->st, leaf);
    leaf->alias = t;
}

/* Is this list, dict or object another one than the iteration was given in k's place? Then the
 * next iteration may write to it under another name: one more run begins with the alias. */
static void meet_container(Loop *l, Carried *k, Value v, uint64_t created)
{
    const MapEntry *fed = map_find(&l->fed, v.any);
    const Tensor *mark = container_marked(v);
    bool another = map_find(&l->seen, v.any) || (v.any != k->what && created <= l->opened) ||
        (mark && mark->st->aliases && !(fed && fed->val == k->what));
    map_put(l->ev->cx, &l->seen, v.any, NULL);
    if (mark)
        map_put(l->ev->cx, &l->seen, mark->st, NULL);
    l->again = l->again || (another && !k->tied);
    k->tied = k->tied || another;
}

static bool cannot_match(Loop *l, Value before, Value v)
{
    return loop_give_up(l,
                        str_fmt(l->ev->cx, "a variable is %s before it and %s after an iteration",
                                val_kind(before), val_kind(v)));
}

/* Did the iteration change the number as it was supposed to? */
static void check_counting(Loop *l, Leaf *leaf, Value after)
{
    Ctx *cx = l->ev->cx;
    Dim d;
    int64_t step;
    bool known = leaf->now && val_dim_of(after, cx, &d);
    if (leaf->counts &&
        !(known && dim_known(dim_sub(cx, d, leaf->now), &step) && step == leaf->step)) {
        leaf->counts = false;
        leaf->natural = l->again = true;
    } else if (leaf->natural && !(known && dim_le(cx, dim_int(cx, 0), d) == YES)) {
        leaf->natural = false;
        l->again = true;
    }
}

/* From the next run on *place, in k's shape, is v. Inside a container of the shape that is set
 * once this run is undone (loop_reshape). */
static bool make_wider(Loop *l, Carried *k, Value *place, Value v)
{
    k->reshaped = l->again = true;
    if (place != &k->shape)
        return vec_push(l->ev->cx, &l->wider, (Wider){ (Cell *)place, v });
    k->shape = v;
    return true;
}

/* None before the loop and a value after an iteration, or the reverse: from the next run on the
 * value is carried together with a bool, whether it is there. */
static bool found_optional(Loop *l, Carried *k, Value *place, Value v)
{
    Value before = *place;
    Value value = before;
    if (before.tag == V_NONE && !loop_stand_in(l, v.tag == V_MAYBE ? v.maybe->value : v, &value))
        return loop_give_up(l,
                            str_fmt(l->ev->cx,
                                    "a variable is None before it and %s after an iteration",
                                    val_kind(v)));
    return make_wider(l, k, place, val_maybe(l->ev->cx, val_bool(before.tag != V_NONE), value));
}

static bool match(Loop *l, Carried *k, Value *place, Value v, size_t *next);

static bool match_maybe(Loop *l, Carried *k, Maybe *before, Value v, size_t *next)
{
    if (!widen(l, &l->leaves.at[(*next)++], carry_ox(l->g, val_present(v))))
        return false;
    if (v.tag != V_NONE)
        return match(l, k, &before->value, v.tag == V_MAYBE ? v.maybe->value : v, next);
    *next += count_leaves(l->ev->cx, before->value); /* the leaves stay as they are */
    return true;
}

/* A string before the loop and another one after an iteration become a choice: from the next run
 * on the choice's index is carried. */
static bool match_option(Loop *l, Carried *k, Value *place, Value v, size_t *next)
{
    Ctx *cx = l->ev->cx;
    Value before = *place;
    Values all;
    if (!options_join(cx, before, v, &all))
        return cannot_match(l, before, v);
    if (before.tag == V_CHOICE && (int64_t)all.n == before.choice->n)
        return widen(l, &l->leaves.at[(*next)++], carry_ox(l->g, option_index(l->g, v, &all)));
    return make_wider(l, k, place,
                      val_choice(cx, all.at, (int64_t)all.n, option_index(l->g->up, before, &all)));
}

static bool match_dict(Loop *l, Carried *k, Dict *before, Dict *v, size_t *next);

static bool match_tensor(Loop *l, Tensor *before, Value v, size_t *next)
{
    if (v.tag != V_TENSOR)
        return cannot_match(l, (Value){ .tag = V_TENSOR, .t = before }, v);
    if (!tensors_same_kind(l->ev->cx, before, v.t))
        return loop_give_up(l,
                            str_of(l->ev->cx,
                                   "a variable is quantised in another way after an iteration than "
                                   "before it: dequantize it in the loop"));
    Leaf *leaf = &l->leaves.at[(*next)++];
    set_alias(l, leaf, v.t);
    bool was_loose = leaf->loose || (leaf->fed && leaf->fed->contiguous != YES);
    match_layout(l, leaf, was_loose, tensor_contiguous(l->ev->cx, v.t) != YES);
    return widen(l, leaf, tensor_read(l->g, v.t));
}

static bool match_number(Loop *l, Value before, Value v, size_t *next)
{
    if (!val_is_plain_number(v))
        return cannot_match(l, before, v);
    Leaf *leaf = &l->leaves.at[(*next)++];
    check_counting(l, leaf, v);
    return widen(l, leaf, carry_ox(l->g, v));
}

/* Matches the items of a tuple or list, or the slots of an object, until one has changed the
 * shape. */
static bool match_parts(Loop *l, Carried *k, Value before, Value v, size_t *next)
{
    bool ok = true;
    for (int64_t i = 0; ok && !k->reshaped && i < val_n_parts(v); i++)
        ok = match(l, k, val_part_place(before, i), val_part(v, i), next);
    return ok;
}

static bool match_items(Loop *l, Carried *k, Value before, Value v, size_t *next)
{
    meet_container(l, k, v, v.list->created);
    if (before.list->stacked)
        return match_list(l, k, before.list, v.list, next);
    if (v.list->stacked || before.list->n != v.list->n)
        return loop_found_growing(l, k, before.list, v.list);
    return match_parts(l, k, before, v, next);
}

/* Matches two containers of one kind. NOT_MINE: the two values are something else. */
static Outcome match_containers(Loop *l, Carried *k, Value before, Value v, size_t *next)
{
    if (before.tag != v.tag)
        return NOT_MINE;
    if (v.tag == V_TUPLE && before.tuple->n == v.tuple->n)
        return outcome_of(match_parts(l, k, before, v, next));
    if (v.tag == V_LIST)
        return outcome_of(match_items(l, k, before, v, next));
    if (v.tag == V_DICT) {
        meet_container(l, k, v, v.dict->created);
        return outcome_of(match_dict(l, k, before.dict, v.dict, next));
    }
    if (is_plain_object(v) && is_plain_object(before) && before.obj->cls == v.obj->cls) {
        meet_container(l, k, v, v.obj->created);
        return outcome_of(match_parts(l, k, before, v, next));
    }
    return NOT_MINE;
}

/* A value that was never set, or that the program may not read. DONE: the next iteration needs
 * none, and the leaves stay as they are. FAILED: after an error. NOT_MINE: there is a value. */
static Outcome match_missing(Loop *l, Value before, Value v, size_t *next)
{
    if (v.tag == V_UNINIT && v.any)
        return outcome_of(loop_give_up(l, ((const Unset *)v.any)->why));
    if (v.tag != V_UNINIT || before.tag == V_UNINIT)
        return NOT_MINE;
    *next += count_leaves(l->ev->cx, before); /* nothing reads it behind this iteration */
    return DONE;
}

/* Go through v, the value after the body, along the value before the body, which lies in *place.
 * `next` is the number of the next leaf of that value: each leaf is met once, in order. (1, [x])
 * before and (2, [y]) after: leaf 0 becomes symbolic, leaf 1 gets the sizes that x and y have in
 * common. */
static bool match(Loop *l, Carried *k, Value *place, Value v, size_t *next)
{
    Value before = *place;
    Outcome missing = match_missing(l, before, v, next);
    if (missing != NOT_MINE)
        return missing == DONE;
    if (before.tag == V_MAYBE)
        return match_maybe(l, k, before.maybe, v, next);
    if (val_ok(v) && before.tag != v.tag && (val_is_optional(before) || val_is_optional(v)))
        return found_optional(l, k, place, v);
    if (container_invalid(v))
        return loop_give_up(l, container_invalid(v));
    if (!val_ok(v))
        return not_converted(l);
    if (before.tag == V_TENSOR)
        return match_tensor(l, before.t, v, next);
    if (val_is_plain_number(before))
        return match_number(l, before, v, next);
    Outcome inside = match_containers(l, k, before, v, next);
    if (inside != NOT_MINE)
        return inside == DONE;
    if (val_is_option(before) && val_is_option(v) &&
        (before.tag == V_CHOICE || v.tag == V_CHOICE || !val_equal(l->ev->cx, before, v)))
        return match_option(l, k, place, v, next);
    if (before.tag == v.tag && (before.any == v.any || val_equal(l->ev->cx, before, v)))
        return true;
    return cannot_match(l, before, v);
}

/* From the next run on a bool is carried too, whether the key is there. */
static bool found_key(Loop *l, Carried *k, Dict *shape, Value key, Value v, bool there)
{
    Ctx *cx = l->ev->cx;
    Value value = val_is_maybe_key(v) ? v.maybe->value : v;
    if (!there && !loop_stand_in(l, value, &value))
        return loop_give_up(l, str_fmt(cx, "a dict gets a key whose value is %s", val_kind(v)));
    k->reshaped = l->again = true;
    return vec_push(cx, &l->keys,
                    (OpenKey){ shape, key, val_maybe_key(cx, val_bool(there), value) });
}

/* Matches a key that may be there. after: the entry that an iteration has left; NULL: none. */
static bool match_key(Loop *l, Carried *k, Maybe *before, const Cell *after, size_t *next)
{
    Value present = val_bool(after != NULL);
    if (after && val_is_maybe_key(after->v))
        present = after->v.maybe->present;
    if (!widen(l, &l->leaves.at[(*next)++], carry_ox(l->g, present)))
        return false;
    if (after)
        return match(l, k, &before->value,
                     val_is_maybe_key(after->v) ? after->v.maybe->value : after->v, next);
    *next += count_leaves(l->ev->cx, before->value); /* the leaves stay as they are */
    return true;
}

/* Do v's keys come in the order of the shape's? */
static bool keys_in_order(Ctx *cx, const Dict *shape, const Dict *v)
{
    int64_t met = 0;
    for (int64_t i = 0; met < v->n && i < shape->n; i++)
        met += val_equal(cx, shape->at[i].key, v->at[met].key);
    return met == v->n && !v->unordered;
}

/* Matches two dicts key by key. A key that only one of them has, or that may be there, is
 * carried from the next run on together with a bool, whether it is there. */
static bool match_dict(Loop *l, Carried *k, Dict *before, Dict *v, size_t *next)
{
    Ctx *cx = l->ev->cx;
    bool ok = true;
    for (int64_t i = 0; ok && !k->reshaped && i < before->n; i++) {
        Value key = before->at[i].key;
        Value was = before->at[i].val.v;
        const Cell *after = dict_find(cx, v, key);
        if (val_is_maybe_key(was))
            ok = match_key(l, k, was.maybe, after, next);
        else if (!after || val_is_maybe_key(after->v))
            ok = found_key(l, k, before, key, was, true);
        else
            ok = match(l, k, &before->at[i].val.v, after->v, next);
    }
    for (int64_t i = 0; ok && i < v->n; i++)
        if (!dict_find(cx, before, v->at[i].key))
            ok = found_key(l, k, before, v->at[i].key, v->at[i].val.v, false);
    if (ok && !before->unordered && !keys_in_order(cx, before, v))
        before->unordered = k->reshaped = l->again = true;
    return ok;
}

/* Matches what the run has left of a variable, list, dict or item with its value before. */
static bool check_value(Loop *l, Carried *k)
{
    size_t next = k->first;
    if (!loop_is_shallow(l, loop_after(k)))
        return false;
    k->after = containers_under_mark(l->ev->cx, loop_after(k));
    return match(l, k, &k->shape, loop_after(k), &next);
}

/* Where an alias was written it is not known what the storage holds: the next iteration, and what
 * is behind the loop, may not read it. */
static bool check_storage(Loop *l, Carried *k, const Storage *st)
{
    if (ox_ok(st->now) || !st->invalid)
        return widen(l, &l->leaves.at[k->first], st->now);
    loop_storage_invalid(l, k);
    return l->again = true;
}

/* The same of a list or dict. One that the run itself has made is no thing of the next. */
static bool found_invalid(Loop *l, Value v, uint64_t created)
{
    if (created > l->opened || !map_add(l->ev->cx, &l->found_invalid, v.any, NULL))
        return true;
    l->again = true;
    return vec_push(l->ev->cx, &l->invalid, v);
}

/* See loop_internal.h. A thing that is carried is matched with its value before; any other is
 * newly found. */
bool loop_check(Loop *l, const Change *c)
{
    Carried *k = loop_carried(l, c->what);
    Value v = loop_container(c->kind, c->what);
    if ((v.tag == V_LIST && v.list->stacked && stacked_is_invalid(v.list->stacked)) ||
        (v.tag == V_DICT && v.dict->invalid))
        return found_invalid(l, v, c->created);
    if (!k)
        return loop_found(l, c, val_poison(), 0);
    if (k->mark || k->invalid)
        return true;
    return k->kind == CHANGE_STORAGE ? check_storage(l, k, c->what) : check_value(l, k);
}

bool loop_goes_by_items(Loop *l, const Change *c)
{
    Value v = loop_container(c->kind, c->what);
    if (c->moved || loop_carried(l, c->what))
        return false;
    if (v.tag == V_LIST)
        return !c->before_stacked && !v.list->stacked && v.list->n == c->before_n;
    return v.tag == V_DICT && !c->before_invalid && !v.dict->invalid && v.dict->n == c->before_n &&
        !dict_is_dynamic(v.dict);
}

bool loop_check_item(Loop *l, const Change *c, const ItemChange *item)
{
    Carried *k = loop_carried(l, item->cell);
    Value holder = loop_container(c->kind, c->what);
    Change here = {
        .kind = CHANGE_CELL, .what = item->cell, .before = item->before, .created = c->created
    };
    return k ? check_value(l, k) : loop_found(l, &here, holder, item->i);
}
