/* join_list.c - lists after two branches of an if: item by item where both have as many, else one
 * stacked list whose length the running model knows. */
#include "eval/branch/carry.h"
#include "eval/branch/join.h"
#include "value/walk.h"

/* Do sizes or ranks differ within one of the two lists, and not only between them? Then the
 * items are ragged. */
static void set_ragged(Ctx *cx, ItemType *item, const ItemType t[2])
{
    bool same[2] = { t[0].elem && items_same_parts(cx, *item, t[0]),
                     t[1].elem && items_same_parts(cx, *item, t[1]) };
    if (!item->parts) {
        item->ragged = item_ranks_differ(*item) || t[0].ragged || t[1].ragged;
        return;
    }
    item->parts = items_copy(cx, item->parts);
    for (size_t i = 0; i < item->parts->n; i++)
        item->parts->at[i].ragged = item_ranks_differ(item->parts->at[i]) ||
            (t[0].elem && (!same[0] || item_column(t[0], i).ragged)) ||
            (t[1].elem && (!same[1] || item_column(t[1], i).ragged));
}

/* The type of the items of both sides. False: they cannot be stacked. Dtypes must be the same.
 * Sizes that differ between the sides become symbols; sizes that differ within a side, and ranks
 * that differ anywhere, make the list a sequence. */
static bool sides_alike(Ctx *cx, const Side side[2], ItemType *item)
{
    ItemType t[2] = { { 0 }, { 0 } };
    for (int k = 0; k < 2; k++) {
        if (side[k].stacked)
            t[k] = side[k].stacked->item;
        else if (!side[k].missing &&
                 (!side[k].at || !list_item_type(cx, side[k].at, side[k].n, &t[k])))
            return false;
    }
    if (!items_join(cx, t[0], t[1], item) || !item->elem)
        return false;
    set_ragged(cx, item, t);
    return true;
}

/* Part i of an item of a side. */
static Value part_of(Ctx *cx, Value v, ItemType item, size_t i)
{
    Values part;
    if (!item.parts)
        return v;
    bool ok = item_parts(cx, v, item.parts->like, &part) && i < part.n;
    return ok ? part.at[i] : val_poison();
}

static Ox whole_of_side(Join *j, int k, const Side *s, ItemType item, size_t i);

static Ox item_of_side(Join *j, int k, Value v, ItemType item)
{
    if (v.tag == V_TENSOR) {
        Ox x = join_tensor_after(j, k, v.t);
        return !ox_ok(x) && v.t->st->invalid ? storage_fail_invalid(j->ev->cx, v.t->st) : x;
    }
    if (v.tag != V_LIST)
        return carry_ox(j->branch[k]->g, v);
    Side side = join_side(j, k, v.list, NULL);
    return item.of ? whole_of_side(j, k, &side, item_inner(j->ev->cx, item), 0) : POISON;
}

static Ox column_of_side(Join *j, int k, Stacked *s, size_t i)
{
    Stacked *column = stacked_column(s, i);
    const MapEntry *known = map_find(&j->branch[k]->read, column);
    return known ? known->val : stacked_whole(j->ev, column);
}

static Ox stacked_of_side(Join *j, int k, Stacked *s, ItemType item, size_t i)
{
    ItemType type = item_column(item, i);
    Graph *g = j->branch[k]->g;
    const MadeOf *from = items_made_of(j->ev->cx, s->item, item);
    Ox *at = from ? new_array(j->ev->cx, Ox, from[i].n + 1) : NULL;
    if (!at)
        return POISON;
    for (size_t n = 0; n < from[i].n; n++)
        at[n] = column_of_side(j, k, s, from[i].first + n);
    if (from[i].whole)
        return stacked_side_by_side(g, at, from[i].n, column_of_side(j, k, s, 0), type);
    return type.ragged && !stacked_column(s, from[i].first)->item.ragged
        ? ox_g_with(g, "SplitToSequence", INPUTS(at[0]), INT("axis", 0), INT("keepdims", 0))
        : at[0];
}

/* Column i of one side as a tensor or sequence that branch k gives. */
static Ox whole_of_side(Join *j, int k, const Side *s, ItemType item, size_t i)
{
    Graph *g = j->branch[k]->g;
    ItemType type = item_column(item, i);
    if (s->stacked)
        return stacked_of_side(j, k, s->stacked, item, i);
    Ox *at = new_array(j->ev->cx, Ox, s->n + 1);
    if (!at)
        return POISON;
    for (int64_t n = 0; n < s->n; n++)
        at[n] = item_of_side(j, k, part_of(j->ev->cx, s->at[n], item, i), type);
    return stack_values(g, at, (size_t)s->n, type);
}

/* One column of both sides. NULL in the first walk. */
static Stacked *join_column(Join *j, const Side side[2], ItemType item, size_t i)
{
    Ctx *cx = j->ev->cx;
    Ox x = j->walk == COLLECT ? whole_of_side(j, 0, &side[0], item, i) : NULL;
    Ox y = j->walk == COLLECT ? whole_of_side(j, 1, &side[1], item, i) : NULL;
    Ox made = join_ox(j, x, y);
    ItemType type = item_column(item, i);
    if (j->walk == COLLECT || !ox_ok(made))
        return NULL;
    type.type = type.ragged
        ? made->type->elem
        : type_tensor(cx, ox_dtype(made), ox_rank(made) - 1, made->type->dim + 1);
    return stacked_new(cx, type, made);
}

/* Lists of different lengths become one value each, and so one list whose length the running model
 * knows. NULL in the first walk. */
static Stacked *join_sides(Join *j, const Side side[2], ItemType item)
{
    Ctx *cx = j->ev->cx;
    size_t n = item.parts ? item.parts->n : 1;
    Stacked **column = new_array(cx, Stacked *, n);
    if (!column)
        return NULL;
    bool made = true;
    if (item.parts)
        item.parts = items_copy(cx, item.parts);
    for (size_t i = 0; i < n; i++) {
        column[i] = join_column(j, side, item, i);
        made = made && column[i];
        if (column[i] && item.parts)
            item.parts->at[i] = column[i]->item;
    }
    if (!made)
        return NULL;
    Stacked *s = item.parts ? stacked_of_columns(cx, item, column) : column[0];
    for (int k = 0; k < 2; k++)
        stacked_holds(cx, s, side[k].at, side[k].stacked ? 0 : side[k].n, side[k].stacked);
    return s;
}

/* ---- items that are containers, as the branch has left them ---- */

enum { MAX_LEVELS = 16 };

typedef struct ItemAfter {
    Join *j;
    int k;
    Str *invalid; /* why it is not known what the item holds */
} ItemAfter;

static Value list_after(Join *j, int k, List *l)
{
    Side side = join_side(j, k, l, NULL);
    List *made = list_new(j->ev->cx, side.n, l->elem);
    if (side.stacked)
        list_stack(j->ev->cx, made, side.stacked);
    else
        for (int64_t i = 0; i < side.n; i++)
            list_append(j->ev->cx, made, side.at[i]);
    return (Value){ .tag = V_LIST, .list = made };
}

static Value dict_after(Join *j, int k, Dict *d)
{
    Side side = join_side(j, k, NULL, d);
    Dict *made = dict_new(j->ev->cx, d->type);
    for (int64_t i = 0; i < side.n; i += 2)
        dict_set(j->ev->cx, made, side.at[i], side.at[i + 1]);
    made->unordered = d->unordered;
    return (Value){ .tag = V_DICT, .dict = made };
}

static Value object_after(Join *j, int k, Obj *o)
{
    Obj *made = obj_new(j->ev->cx, o->cls, o->n, o->names, NULL);
    for (int64_t i = 0; i < made->n; i++)
        cell_init(&made->slot[i], join_slot_after(j, k, o, i));
    return (Value){ .tag = V_OBJ, .obj = made };
}

/* A container with what it holds at the end of the branch. */
static bool replace_after(void *arg, Value *v, int level)
{
    const ItemAfter *a = arg;
    if (!*a->invalid)
        *a->invalid = level > MAX_LEVELS
            ? str_of(a->j->ev->cx, "some item holds itself, or has very many levels")
            : join_invalid(a->j, a->k, *v);
    if (*a->invalid || v->tag == V_MAYBE)
        return true;
    if (v->tag == V_LIST)
        *v = list_after(a->j, a->k, v->list);
    else if (v->tag == V_DICT)
        *v = dict_after(a->j, a->k, v->dict);
    else if (is_plain_object(*v))
        *v = object_after(a->j, a->k, v->obj);
    return false;
}

/* v at the end of branch k: copies of its containers, under their marks, which code that knows
 * nothing of branches can go through. */
static Value item_after(Join *j, int k, Value v, Str *invalid)
{
    ItemAfter a = { j, k, invalid };
    return val_map(j->ev->cx, v,
                   (Mapping){ .replace = replace_after, .arg = &a, .share_marks = true });
}

/* A side whose items are to be stacked. */
static Side side_to_stack(Join *j, int k, Side side)
{
    if (side.stacked)
        side.invalid = join_stacked_invalid(j, k, side.stacked);
    if (side.stacked || side.missing)
        return side;
    Value *at = new_array(j->ev->cx, Value, side.n + 1);
    if (!at)
        return side;
    for (int64_t i = 0; i < side.n; i++)
        at[i] = item_after(j, k, side.at[i], &side.invalid);
    side.at = at;
    return side;
}

static Value items_unknown(Join *j, Str invalid)
{
    Str why = str_fmt(j->ev->cx,
                      "what an item of this list holds is not known: %s, and one of them was "
                      "written since",
                      invalid->s);
    return join_never(j, why->s);
}

/* [a, b] in one branch and [c] in the other: one tensor of 2 or 1 items. Another value than a list
 * where that cannot be. */
static Value join_as_stacked(Join *j, Side side[2], List *out)
{
    ItemType item;
    Value made = { .tag = V_LIST, .list = out };
    for (int k = 0; k < 2; k++)
        side[k] = side_to_stack(j, k, side[k]);
    if (side[0].invalid || side[1].invalid)
        return items_unknown(j, side[0].invalid ? side[0].invalid : side[1].invalid);
    if (!sides_alike(j->ev->cx, side, &item))
        return join_never(
            j, "the branches of an if give lists of different lengths whose items differ in type");
    Stacked *s = join_sides(j, side, item);
    if (s)
        list_stack(j->ev->cx, out, s);
    return made;
}

/* Lists of one length, joined item by item. A branch without the list gives no items. */
static void join_items(Join *j, const Side side[2], List *out)
{
    int64_t n = side[0].missing ? side[1].n : side[0].n;
    for (int64_t i = 0; i < n; i++) {
        Value a = side[0].missing ? val_unset() : side[0].at[i];
        Value b = side[1].missing ? val_unset() : side[1].at[i];
        list_append(j->ev->cx, out, join_values(j, a, b));
    }
}

/* One list in place of two; NULL: that branch has none. A list from before the branches may have
 * other names, and it is not known whether this is that list: they become aliases. */
Value join_lists(Join *j, List *a, List *b)
{
    Side side[2] = { join_side(j, 0, a, NULL), join_side(j, 1, b, NULL) };
    List *from[2] = { a, b };
    const List *one = a ? a : b;
    List *l = list_new(j->ev->cx, side[a ? 0 : 1].n, one->elem);
    Value made = { .tag = V_LIST, .list = l };
    if (side[0].stacked || side[1].stacked || (a && b && side[0].n != side[1].n)) {
        made = join_as_stacked(j, side, l);
        if (made.tag != V_LIST)
            return made;
    } else {
        join_items(j, side, l);
    }
    for (int k = 0; k < 2; k++)
        if (from[k])
            join_may_be(j, k, made, (Value){ .tag = V_LIST, .list = from[k] }, from[k]->created);
    return made;
}

/* ---- a list that both branches can see ---- */

/* The list is one tensor from here on; the branches have left it with different lengths. */
static bool join_list_stacked(Join *j, List *l)
{
    Ctx *cx = j->ev->cx;
    Side side[2];
    ItemType item;
    for (int k = 0; k < 2; k++) {
        side[k] = side_to_stack(j, k, join_side(j, k, l, NULL));
        if (side[k].invalid && j->walk == BUILD)
            list_become(cx, l, &(List){ .stacked = stacked_invalid(cx, side[k].invalid) });
        if (side[k].invalid)
            return true; /* an error once somebody reads it */
    }
    if (!sides_alike(cx, side, &item))
        return join_disagree(j,
                             str_fmt(cx,
                                     "a list has %lld items after one branch of an if and %lld "
                                     "after the other, which are not of one type",
                                     (long long)side[0].n, (long long)side[1].n));
    Stacked *s = join_sides(j, side, item);
    if (s)
        list_become(cx, l, &(List){ .stacked = s });
    return !ctx_failed(cx);
}

/* The list was one tensor and both branches have made it items again, so all are joined. */
static void join_all_items(Join *j, List *l)
{
    Ctx *cx = j->ev->cx;
    const Side a = join_side(j, 0, l, NULL);
    const Side b = join_side(j, 1, l, NULL);
    List *joined = list_new(cx, a.n, l->elem);
    for (int64_t i = 0; i < a.n; i++)
        list_append(cx, joined, join_values(j, a.at[i], b.at[i]));
    if (j->walk == BUILD)
        list_become(cx, l, joined);
}

bool join_next_place(const After *const after[2], size_t next[2], const Placed *p[2])
{
    int64_t first = INT64_MAX;
    for (int k = 0; k < 2; k++) {
        bool more = after[k] && next[k] < after[k]->placed.n;
        p[k] = more ? &after[k]->placed.at[next[k]] : NULL;
        if (more && p[k]->i < first)
            first = p[k]->i;
    }
    for (int k = 0; k < 2; k++) {
        p[k] = p[k] && p[k]->i == first ? p[k] : NULL;
        next[k] += p[k] != NULL;
    }
    return p[0] || p[1];
}

/* Joins only the items that some branch has written. The list keeps its n items. */
static void join_placed(Join *j, List *l, const After *const after[2], int64_t n)
{
    size_t next[2] = { 0, 0 };
    const Placed *p[2];
    if (j->walk == BUILD && n < l->n)
        list_cut(j->ev->cx, l, n);
    while (join_next_place(after, next, p)) {
        int64_t i = (p[0] ? p[0] : p[1])->i;
        Value a = p[0] ? p[0]->v : l->at[i].v;
        Value b = p[1] ? p[1]->v : l->at[i].v;
        Value v = join_values(j, a, b);
        if (j->walk == BUILD)
            list_put(j->ev->cx, l, i, v);
    }
}

/* In the cheapest way that will do: only the places that some branch has written; all items, where
 * there were none before; as one tensor, where the lengths differ. */
bool join_list(Join *j, List *l)
{
    Ctx *cx = j->ev->cx;
    const After *after[2] = { branch_after(j->branch[0], l), branch_after(j->branch[1], l) };
    Stacked *stacked[2];
    int64_t n[2];
    for (int k = 0; k < 2; k++) {
        stacked[k] = after[k] ? after[k]->stacked : l->stacked;
        n[k] = after[k] ? after[k]->n : l->n;
        Str invalid = stacked[k] ? join_stacked_invalid(j, k, stacked[k]) : NULL;
        if (!invalid)
            continue;
        if (j->walk == BUILD)
            list_become(cx, l, &(List){ .stacked = stacked_invalid(cx, invalid) });
        return true; /* an error once somebody reads it */
    }
    if (stacked[0] || stacked[1] || n[0] != n[1])
        return join_list_stacked(j, l);
    if (l->stacked)
        join_all_items(j, l);
    else
        join_placed(j, l, after, n[0]);
    return !ctx_failed(cx);
}
