/* stacked_items.c - what the items of a list whose length ONNX decides have in common: tensors or
 * numbers of one type; or tuples, dicts, objects and lists of a fixed length, whose tensors and
 * numbers are (their parts, in order), and whose everything else is the same in all.
 *
 * A list whose length differs from item to item is one part: the tensor that its items make. In the
 * type of the items a stacked list stands where such a one is, whatever it holds. */
#include "eval/lists/stacked.h"

#include "value/walk.h"

/* ---- an item and its parts ---- */

static bool is_inner_list(Value v) { return v.tag == V_LIST && v.list->stacked; }

static bool is_leaf(Value v)
{
    return v.tag == V_TENSOR || val_is_plain_number(v) || is_inner_list(v);
}

enum { MAX_LEVELS = 17 }; /* of containers in an item: an object may hold itself */

typedef struct Gathering {
    Ctx *cx;
    Values *out;
} Gathering;

/* For val_walk_pair: v is one part where `like`, the value in its place in another item, is a
 * leaf. */
static WalkStep gather_part(void *arg, Value v, Value like)
{
    const Gathering *g = arg;
    if (is_leaf(like))
        return vec_push(g->cx, g->out, v) ? WALK_PAST : WALK_STOP;
    switch (v.tag) {
    case V_TUPLE:  return WALK_IN;
    case V_LIST:   return v.list->stacked ? WALK_STOP : WALK_IN;
    case V_DICT:   return v.dict->invalid ? WALK_STOP : WALK_IN;
    case V_OBJ:    return v.obj->path ? WALK_STOP : WALK_IN;
    case V_NONE:
    case V_STR:
    case V_ENUM:
    case V_DEVICE:
    case V_DTYPE:  return WALK_PAST;
    default:       return WALK_STOP;
    }
}

bool item_parts(Ctx *cx, Value v, Value like, Values *out)
{
    Gathering g = { cx, out };
    *out = (Values){ 0 };
    return val_walk_pair(cx, v, like, MAX_LEVELS, gather_part, &g) == WALKED_ALL;
}

typedef struct Placing {
    const Value *part;
    size_t *next;
} Placing;

static bool replace_part(void *arg, Value *v, int level)
{
    const Placing *p = arg;
    (void)level;
    if (!is_leaf(*v))
        return false;
    *v = p->part[(*p->next)++];
    return true;
}

Value item_rebuilt(Ctx *cx, Value like, const Value *part, size_t *next)
{
    Placing p = { part, next };
    return val_map(cx, like, (Mapping){ .replace = replace_part, .arg = &p });
}

static bool is_container(Value v)
{
    return v.tag == V_TUPLE || v.tag == V_LIST || v.tag == V_DICT || v.tag == V_OBJ;
}

/* Are a and b containers of one kind with as many parts, or equal values that are no parts
 * (strings, None)? What lies in the containers does not count. */
static bool same_but_parts(Ctx *cx, Value a, Value b)
{
    return is_container(a) ? val_same_containers(cx, a, b) : a.tag == b.tag && val_equal(cx, a, b);
}

static WalkStep compare_items(void *arg, Value a, Value b)
{
    Ctx *cx = arg;
    if (is_leaf(a) || is_leaf(b))
        return is_leaf(a) && is_leaf(b) ? WALK_PAST : WALK_STOP;
    return same_but_parts(cx, a, b) ? WALK_IN : WALK_STOP;
}

/* Are a and b the same containers around their parts, with the same strings and other values
 * beside them? */
static bool alike(Ctx *cx, Value a, Value b)
{
    return val_walk_pair(cx, a, b, MAX_LEVELS, compare_items, cx) == WALKED_ALL;
}

/* ---- types ---- */

static ItemType number_type(Ctx *cx, const char *elem)
{
    DType t = DT_DOUBLE;
    if (!strcmp(elem, "bool"))
        t = DT_BOOL;
    else if (!strcmp(elem, "int"))
        t = DT_INT64;
    return (ItemType){ .elem = elem, .type = type_tensor(cx, t, 0, NULL) };
}

ItemType item_list(Ctx *cx, ItemType of, Dim length)
{
    Dim dim[MAX_RANK] = { length };
    for (int i = 0; i < of.type->rank; i++)
        dim[i + 1] = of.type->dim[i];
    return (ItemType){ .elem = "List",
                       .of = mem_copy(cx, &of, sizeof of),
                       .type = type_tensor(cx, of.type->dtype, of.type->rank + 1, dim) };
}

/* The type of a list that is one part, whose items are of type `of`; of.elem NULL: the list is
 * empty, and the type of its items is not known. */
static bool inner_list_type(Ctx *cx, ItemType of, Dim length, ItemType *out)
{
    bool known = of.elem != NULL;
    if (known && (of.parts || of.ragged || of.type->rank + 1 >= MAX_RANK))
        return false;
    *out = known ? item_list(cx, of, length) : (ItemType){ .elem = "List" };
    return true;
}

ItemType item_inner(Ctx *cx, ItemType list)
{
    return (ItemType){ .elem = list.of->elem,
                       .of = list.of->of,
                       .type = type_tensor(cx, list.type->dtype, list.type->rank - 1,
                                           list.type->dim + 1) };
}

static bool leaf_type(Ctx *cx, Value v, ItemType *out)
{
    if (is_inner_list(v)) {
        const Stacked *s = v.list->stacked;
        return !stacked_is_invalid(s) &&
            inner_list_type(cx, s->item,
                            s->whole && !s->column && !s->item.ragged ? ox_dim(s->whole, 0)
                                                                      : dim_fresh(cx, "d"),
                            out);
    }
    if (v.tag == V_TENSOR) {
        *out = (ItemType){ .elem = "Tensor", .type = tensor_type(v.t) };
        return v.t->kind == PLAIN && out->type && out->type->rank >= 0;
    }
    const char *whole = val_is_bool(v) ? "bool" : "int";
    *out = number_type(cx, val_is_float(v) ? "float" : whole);
    return true;
}

/* The type of an empty list as an item. One of numbers is one part; what other lists would hold
 * is not known. */
static bool empty_list_type(Ctx *cx, const List *l, ItemType *out)
{
    static const char *const numbers[] = { "int", "float", "bool" };
    for (size_t i = 0; i < COUNT(numbers); i++)
        if (l->elem && str_is(l->elem, numbers[i]))
            return inner_list_type(cx, number_type(cx, numbers[i]), dim_int(cx, 0), out);
    return inner_list_type(cx, (ItemType){ 0 }, NULL, out);
}

static const char *container_elem(Value v)
{
    switch (v.tag) {
    case V_TUPLE: return "Tuple";
    case V_LIST:  return "List";
    case V_DICT:  return "Dict";
    default:      return "object";
    }
}

/* See stacked_items.h. A tensor x is a "Tensor" of its type; (x, 1) is a "Tuple" of two parts, a
 * "Tensor" and an "int". */
bool item_type(Ctx *cx, Value v, ItemType *out)
{
    Values part;
    if (is_leaf(v))
        return leaf_type(cx, v, out);
    if (v.tag == V_LIST && v.list->n == 0)
        return empty_list_type(cx, v.list, out) && out->of;
    if (!item_parts(cx, v, v, &part) || part.n == 0)
        return false;
    Parts *parts = new(cx, Parts);
    *parts = (Parts){ v, new_array(cx, ItemType, part.n), part.n };
    *out = (ItemType){ .elem = container_elem(v), .parts = parts };
    if (!parts->at)
        return false;
    for (size_t i = 0; i < part.n; i++)
        if (!leaf_type(cx, part.at[i], &parts->at[i]))
            return false;
    return true;
}

static bool sizes_alike(Ctx *cx, Type a, Type b)
{
    for (int i = 0; i < a->rank; i++)
        if (dim_eq(cx, a->dim[i], b->dim[i]) != YES)
            return false;
    return true;
}

/* ---- two types whose containers differ in the lengths of lists: those become parts ---- */

typedef struct Merge {
    Ctx *cx;
    const Parts *in[2];
    size_t next[2];
    VEC(ItemType) at;
} Merge;

/* The type of the list v in side k as one part. The types of its items begin at m->next[k]. */
static bool whole_list_type(Merge *m, int k, Value v, ItemType *out)
{
    ItemType of = { 0 };
    if (is_inner_list(v)) {
        *out = m->in[k]->at[m->next[k]++];
        return true;
    }
    if (v.list->n == 0)
        return empty_list_type(m->cx, v.list, out);
    for (int64_t i = 0; i < v.list->n; i++)
        if (!is_leaf(v.list->at[i].v) || !items_join(m->cx, of, m->in[k]->at[m->next[k]++], &of))
            return false;
    return inner_list_type(m->cx, of, dim_int(m->cx, v.list->n), out);
}

static bool merge_lists(Merge *m, Value a, Value b, Value *out)
{
    ItemType t[2], joined;
    if (!whole_list_type(m, 0, a, &t[0]) || !whole_list_type(m, 1, b, &t[1]) ||
        !items_join(m->cx, t[0], t[1], &joined) || !joined.of)
        return false;
    *out = (Value){ .tag = V_LIST, .list = list_new(m->cx, 0, NULL) };
    list_stack(m->cx, out->list, stacked_new(m->cx, item_inner(m->cx, joined), NULL));
    return vec_push(m->cx, &m->at, joined);
}

static bool merge(Merge *m, Value a, Value b, Value *out);

/* Merges containers of one shape part by part; *out is a copy of a around the merged parts. */
static bool merge_items(Merge *m, Value a, Value b, Value *out)
{
    *out = containers_copy(m->cx, a);
    bool ok = same_but_parts(m->cx, a, b);
    for (int64_t i = 0; ok && i < val_n_parts(a); i++)
        ok = merge(m, val_part(a, i), val_part(b, i), val_part_place(*out, i));
    return ok;
}

static bool merge(Merge *m, Value a, Value b, Value *out)
{
    ItemType joined;
    if (a.tag == V_LIST && b.tag == V_LIST &&
        (is_inner_list(a) || is_inner_list(b) || a.list->n != b.list->n))
        return merge_lists(m, a, b, out);
    if (!is_leaf(a) || !is_leaf(b))
        return a.tag == b.tag && !is_leaf(a) && !is_leaf(b) && merge_items(m, a, b, out);
    *out = a;
    return items_join(m->cx, m->in[0]->at[m->next[0]++], m->in[1]->at[m->next[1]++], &joined) &&
        vec_push(m->cx, &m->at, joined);
}

static bool merge_parts(Ctx *cx, const Parts *a, const Parts *b, ItemType *out)
{
    Merge m = { .cx = cx, .in = { a, b } };
    Parts *parts = new(cx, Parts);
    if (!merge(&m, a->like, b->like, &parts->like))
        return false;
    parts->at = m.at.at;
    parts->n = m.at.n;
    out->parts = parts;
    if (is_leaf(parts->like))
        *out = parts->at[0];
    return true;
}

static bool join_parts(Ctx *cx, const Parts *a, const Parts *b, ItemType *out)
{
    if (!alike(cx, a->like, b->like))
        return merge_parts(cx, a, b, out);
    Parts *parts = new(cx, Parts);
    *parts = (Parts){ a->like, new_array(cx, ItemType, a->n), a->n };
    out->parts = parts;
    if (!parts->at)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!items_join(cx, a->at[i], b->at[i], &parts->at[i]))
            return false;
    return true;
}

/* A type without parts as the only part of itself, to be joined with a list of a fixed length. */
static const Parts *as_parts(Ctx *cx, const ItemType *item)
{
    Parts *parts = new(cx, Parts);
    if (item->parts)
        return item->parts;
    *parts = (Parts){ { .tag = V_LIST, .list = list_new(cx, 0, NULL) },
                      mem_copy(cx, item, sizeof *item),
                      1 };
    list_stack(cx, parts->like.list, stacked_new(cx, item_inner(cx, *item), NULL));
    return parts;
}

bool items_same_parts(Ctx *cx, ItemType a, ItemType b)
{
    return !a.parts || !b.parts ? !a.parts && !b.parts : alike(cx, a.parts->like, b.parts->like);
}

typedef struct MadeOfAll {
    MadeOf *at;
    size_t n, read;
} MadeOfAll;

static WalkStep add_made_of(void *arg, Value from, Value to)
{
    MadeOfAll *s = arg;
    if (!is_leaf(from) && !is_inner_list(to))
        return WALK_IN;
    size_t n = is_leaf(from) ? 1 : (size_t)from.list->n;
    s->at[s->n++] = (MadeOf){ s->read, n, !is_leaf(from) };
    s->read += n;
    return WALK_PAST;
}

const MadeOf *items_made_of(Ctx *cx, ItemType from, ItemType to)
{
    MadeOfAll s = { .at = new_array(cx, MadeOf, (to.parts ? to.parts->n : 1)) };
    if (!s.at)
        return NULL;
    if (from.parts)
        val_walk_pair(cx, from.parts->like, as_parts(cx, &to)->like, MAX_LEVELS, add_made_of, &s);
    else
        s.at[0] = (MadeOf){ 0, 1, false };
    return s.at;
}

/* The type of tensors of several ranks, of which only the dtype is known. */
static bool several_ranks(Ctx *cx, ItemType a, ItemType *out)
{
    if (strcmp(a.elem, "Tensor") || !facts_lists_of_ranks(cx))
        return false;
    *out = (ItemType){ .elem = a.elem,
                       .type = type_tensor(cx, a.type->dtype, -1, NULL),
                       .ragged = true };
    return true;
}

/* See stacked_items.h. f32[3] and f32[4] make ragged f32[d]; (f32[3], 1) and (f32[3], 2) have
 * the same parts; [x] and [x, y] make a ragged "List" of tensors. */
bool items_join(Ctx *cx, ItemType a, ItemType b, ItemType *out)
{
    Dim dim[MAX_RANK];
    *out = a.elem ? a : b;
    if (!a.elem || !b.elem)
        return true;
    if (strcmp(a.elem, b.elem))
        return false;
    if ((a.parts && !b.parts && !(b.of && b.type)) || (b.parts && !a.parts && !(a.of && a.type)))
        return false; /* an empty list whose item type is not known has no known parts */
    if (a.parts || b.parts)
        return join_parts(cx, as_parts(cx, &a), as_parts(cx, &b), out);
    if (!strcmp(a.elem, "List") && (!a.of || !b.of)) {
        *out = a.of ? a : b;
        out->ragged = true;
        return out->of;
    }
    if ((a.of && strcmp(a.of->elem, b.of->elem)) || a.type->dtype != b.type->dtype)
        return false;
    if (a.type->rank != b.type->rank)
        return several_ranks(cx, a, out);
    out->ragged = a.ragged || b.ragged || !sizes_alike(cx, a.type, b.type);
    if (!out->ragged)
        return true;
    for (int i = 0; i < a.type->rank; i++)
        dim[i] = dim_eq(cx, a.type->dim[i], b.type->dim[i]) == YES ? a.type->dim[i]
                                                                   : dim_fresh(cx, "d");
    out->type = type_tensor(cx, a.type->dtype, a.type->rank, dim);
    return true;
}

const Parts *items_copy(Ctx *cx, const Parts *p)
{
    Parts *copy = new(cx, Parts);
    ItemType *at = mem_copy(cx, p->at, p->n * sizeof *p->at);
    *copy = (Parts){ p->like, at, at ? p->n : 0 };
    return copy;
}

bool list_item_type(Ctx *cx, const Value *at, int64_t n, ItemType *out)
{
    ItemType other;
    *out = (ItemType){ 0 };
    for (int64_t i = 0; i < n; i++)
        if (!item_type(cx, at[i], &other) || !items_join(cx, *out, other, out))
            return false;
    return true;
}
