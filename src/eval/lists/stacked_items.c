/* stacked_items.c - what the items of a list whose length ONNX decides have in common: tensors or
 * numbers of one type; or tuples, dicts, objects and lists of a fixed length, whose tensors and
 * numbers are (their parts, in order), and whose everything else is the same in all.
 *
 * A list whose length differs from item to item is one part: the tensor that its items make. In the
 * type of the items a stacked list stands where such a one is, whatever it holds. */
#include "eval/lists/stacked.h"

#include "eval/branch/carry.h"

/* ---- an item and its parts ---- */

static bool is_inner_list(Value v) { return v.tag == V_LIST && v.list->stacked; }

static bool is_leaf(Value v)
{
    return v.tag == V_TENSOR || val_is_plain_number(v) || is_inner_list(v);
}

enum { MAX_DEPTH = 16 }; /* an object may hold itself */

/* like: the containers of v, but where a part is a whole list. */
static bool add_parts(Ctx *cx, Value v, Value like, Values *out, int depth)
{
    bool ok = depth < MAX_DEPTH;
    if (is_leaf(like))
        return vec_push(cx, out, v);
    for (int64_t i = 0; ok && v.tag == V_TUPLE && i < v.tuple->n; i++)
        ok = add_parts(cx, v.tuple->at[i], like.tuple->at[i], out, depth + 1);
    for (int64_t i = 0; ok && v.tag == V_LIST && i < v.list->n; i++)
        ok = add_parts(cx, v.list->at[i].v, like.list->at[i].v, out, depth + 1);
    for (int64_t i = 0; ok && v.tag == V_DICT && i < v.dict->n; i++)
        ok = add_parts(cx, v.dict->at[i].val.v, like.dict->at[i].val.v, out, depth + 1);
    for (int64_t i = 0; ok && v.tag == V_OBJ && i < v.obj->n; i++)
        ok = add_parts(cx, v.obj->slot[i].v, like.obj->slot[i].v, out, depth + 1);
    if (v.tag == V_LIST)
        return ok && !v.list->stacked;
    if (v.tag == V_DICT)
        return ok && !v.dict->invalid;
    if (v.tag == V_OBJ)
        return ok && !v.obj->path;
    return ok &&
        (v.tag == V_TUPLE || v.tag == V_NONE || v.tag == V_STR || v.tag == V_ENUM ||
         v.tag == V_DEVICE || v.tag == V_DTYPE);
}

bool item_parts(Ctx *cx, Value v, Value like, Values *out)
{
    *out = (Values){ 0 };
    return add_parts(cx, v, like, out, 0);
}

Value item_rebuilt(Ctx *cx, Value like, const Value *part, size_t *next)
{
    Value made = like;
    if (is_leaf(like))
        return part[(*next)++];
    if (like.tag == V_TUPLE) {
        made = val_tuple(cx, like.tuple->at, like.tuple->n);
        made.tuple->type = like.tuple->type;
        made.tuple->fields = like.tuple->fields;
        for (int64_t i = 0; i < like.tuple->n; i++)
            made.tuple->at[i] = item_rebuilt(cx, like.tuple->at[i], part, next);
    }
    if (like.tag == V_LIST)
        made.list = list_new(cx, like.list->n, like.list->elem);
    for (int64_t i = 0; like.tag == V_LIST && i < like.list->n; i++)
        list_append(cx, made.list, item_rebuilt(cx, like.list->at[i].v, part, next));
    if (like.tag == V_DICT)
        made.dict = dict_new(cx, like.dict->type);
    for (int64_t i = 0; like.tag == V_DICT && i < like.dict->n; i++)
        dict_set(cx, made.dict, like.dict->at[i].key,
                 item_rebuilt(cx, like.dict->at[i].val.v, part, next));
    if (like.tag == V_OBJ)
        made.obj = obj_new(cx, like.obj->cls, like.obj->n, like.obj->names, NULL);
    for (int64_t i = 0; like.tag == V_OBJ && i < like.obj->n; i++)
        cell_init(&made.obj->slot[i], item_rebuilt(cx, like.obj->slot[i].v, part, next));
    return made;
}

/* The same containers around parts, and the same strings and the like beside them. */
static bool alike(Ctx *cx, Value a, Value b)
{
    bool ok = true;
    if (is_leaf(a) || is_leaf(b))
        return is_leaf(a) && is_leaf(b);
    if (a.tag != b.tag)
        return false;
    if (a.tag == V_TUPLE)
        ok = a.tuple->n == b.tuple->n && a.tuple->type == b.tuple->type;
    for (int64_t i = 0; ok && a.tag == V_TUPLE && i < a.tuple->n; i++)
        ok = alike(cx, a.tuple->at[i], b.tuple->at[i]);
    if (a.tag == V_LIST)
        ok = a.list->n == b.list->n;
    for (int64_t i = 0; ok && a.tag == V_LIST && i < a.list->n; i++)
        ok = alike(cx, a.list->at[i].v, b.list->at[i].v);
    if (a.tag == V_DICT)
        ok = a.dict->n == b.dict->n;
    for (int64_t i = 0; ok && a.tag == V_DICT && i < a.dict->n; i++)
        ok = val_equal(cx, a.dict->at[i].key, b.dict->at[i].key) &&
            alike(cx, a.dict->at[i].val.v, b.dict->at[i].val.v);
    if (a.tag == V_OBJ)
        ok = a.obj->cls == b.obj->cls && a.obj->n == b.obj->n;
    for (int64_t i = 0; ok && a.tag == V_OBJ && i < a.obj->n; i++)
        ok = alike(cx, a.obj->slot[i].v, b.obj->slot[i].v);
    return ok &&
        (a.tag == V_TUPLE || a.tag == V_LIST || a.tag == V_DICT || a.tag == V_OBJ ||
         val_equal(cx, a, b));
}

/* ---- types ---- */

static ItemType number_type(Ctx *cx, const char *elem)
{
    DType t = !strcmp(elem, "bool") ? DT_BOOL : !strcmp(elem, "int") ? DT_INT64 : DT_DOUBLE;
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

/* Of a list that is a part: `of` for each of its items. No elem: nobody knows of what, it is
 * empty. */
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
    *out = number_type(cx, val_is_bool(v) ? "bool" : val_is_int(v) ? "int" : "float");
    return true;
}

/* A list of numbers without items is one of a length of its own; of others nobody knows what they
 * are. */
static bool empty_list_type(Ctx *cx, const List *l, ItemType *out)
{
    static const char *const numbers[] = { "int", "float", "bool" };
    for (size_t i = 0; i < COUNT(numbers); i++)
        if (l->elem && str_is(l->elem, numbers[i]))
            return inner_list_type(cx, number_type(cx, numbers[i]), dim_int(cx, 0), out);
    return inner_list_type(cx, (ItemType){ 0 }, NULL, out);
}

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
    *out = (ItemType){ .elem = v.tag == V_TUPLE ? "Tuple"
                           : v.tag == V_LIST    ? "List"
                           : v.tag == V_DICT    ? "Dict"
                                                : "object",
                       .parts = parts };
    for (size_t i = 0; i < part.n; i++)
        if (!parts->at || !leaf_type(cx, part.at[i], &parts->at[i]))
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

/* The list in side k, of whose items' types `next` is the first, as one part. */
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

static bool merge_items(Merge *m, Value a, Value b, Value *out)
{
    bool ok = true;
    *out = containers_copy(m->cx, a);
    if (a.tag == V_TUPLE)
        ok = a.tuple->n == b.tuple->n && a.tuple->type == b.tuple->type;
    for (int64_t i = 0; ok && a.tag == V_TUPLE && i < a.tuple->n; i++)
        ok = merge(m, a.tuple->at[i], b.tuple->at[i], &out->tuple->at[i]);
    for (int64_t i = 0; ok && a.tag == V_LIST && i < a.list->n; i++)
        ok = merge(m, a.list->at[i].v, b.list->at[i].v, &out->list->at[i].v);
    if (a.tag == V_DICT)
        ok = a.dict->n == b.dict->n;
    for (int64_t i = 0; ok && a.tag == V_DICT && i < a.dict->n; i++)
        ok = val_equal(m->cx, a.dict->at[i].key, b.dict->at[i].key) &&
            merge(m, a.dict->at[i].val.v, b.dict->at[i].val.v, &out->dict->at[i].val.v);
    if (a.tag == V_OBJ)
        ok = a.obj->cls == b.obj->cls && a.obj->n == b.obj->n;
    for (int64_t i = 0; ok && a.tag == V_OBJ && i < a.obj->n; i++)
        ok = merge(m, a.obj->slot[i].v, b.obj->slot[i].v, &out->obj->slot[i].v);
    return ok &&
        (a.tag == V_TUPLE || a.tag == V_LIST || a.tag == V_DICT || a.tag == V_OBJ ||
         val_equal(m->cx, a, b));
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
    for (size_t i = 0; i < a->n; i++)
        if (!parts->at || !items_join(cx, a->at[i], b->at[i], &parts->at[i]))
            return false;
    return true;
}

/* A part alone: what a list of a fixed length is joined with when it is a list too. */
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

static void add_made_of(MadeOfAll *s, Value from, Value to)
{
    if (is_leaf(from) || is_inner_list(to)) {
        size_t n = is_leaf(from) ? 1 : (size_t)from.list->n;
        s->at[s->n++] = (MadeOf){ s->read, n, !is_leaf(from) };
        s->read += n;
        return;
    }
    for (int64_t i = 0; from.tag == V_TUPLE && i < from.tuple->n; i++)
        add_made_of(s, from.tuple->at[i], to.tuple->at[i]);
    for (int64_t i = 0; from.tag == V_LIST && i < from.list->n; i++)
        add_made_of(s, from.list->at[i].v, to.list->at[i].v);
    for (int64_t i = 0; from.tag == V_DICT && i < from.dict->n; i++)
        add_made_of(s, from.dict->at[i].val.v, to.dict->at[i].val.v);
    for (int64_t i = 0; from.tag == V_OBJ && i < from.obj->n; i++)
        add_made_of(s, from.obj->slot[i].v, to.obj->slot[i].v);
}

const MadeOf *items_made_of(Ctx *cx, ItemType from, ItemType to)
{
    MadeOfAll s = { .at = new_array(cx, MadeOf, (to.parts ? to.parts->n : 1)) };
    if (s.at && from.parts)
        add_made_of(&s, from.parts->like, as_parts(cx, &to)->like);
    else if (s.at)
        s.at[0] = (MadeOf){ 0, 1, false };
    return s.at;
}

/* Nobody can say more about such tensors than their dtype. */
static bool several_ranks(Ctx *cx, ItemType a, ItemType *out)
{
    if (strcmp(a.elem, "Tensor") || !facts_lists_of_ranks(cx))
        return false;
    *out = (ItemType){ .elem = a.elem,
                       .type = type_tensor(cx, a.type->dtype, -1, NULL),
                       .ragged = true };
    return true;
}

bool items_join(Ctx *cx, ItemType a, ItemType b, ItemType *out)
{
    Dim dim[MAX_RANK];
    *out = a.elem ? a : b;
    if (!a.elem || !b.elem)
        return true;
    if (strcmp(a.elem, b.elem))
        return false;
    if ((a.parts && !b.parts && !(b.of && b.type)) || (b.parts && !a.parts && !(a.of && a.type)))
        return false; /* lists without a type of items: what their parts would be nobody knows */
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
    *copy = (Parts){ p->like, mem_copy(cx, p->at, p->n * sizeof *p->at), p->n };
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
