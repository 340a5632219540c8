/* items.c - what the items of a list whose length ONNX decides have in common: tensors or numbers of one type; or tuples, dicts, objects and
 * lists of a fixed length, whose tensors and numbers are (their parts, in order), and whose everything else is the same in all. */
#include "eval/branch.h"

/* ---- an item and its parts ---- */

static bool is_leaf(Value v) { return v.tag == V_TENSOR || val_is_plain_number(v); }

enum { MAX_DEPTH = 16 };                        /* an object may hold itself */

static bool add_parts(Ctx *cx, Value v, Values *out, int depth)
{
    bool ok = depth < MAX_DEPTH;
    if (is_leaf(v))
        return vec_push(cx, out, v);
    for (int64_t i = 0; ok && v.tag == V_TUPLE && i < v.tuple->n; i++)
        ok = add_parts(cx, v.tuple->at[i], out, depth + 1);
    for (int64_t i = 0; ok && v.tag == V_LIST && i < v.list->n; i++)
        ok = add_parts(cx, v.list->at[i].v, out, depth + 1);
    for (int64_t i = 0; ok && v.tag == V_DICT && i < v.dict->n; i++)
        ok = add_parts(cx, v.dict->at[i].val.v, out, depth + 1);
    for (int64_t i = 0; ok && v.tag == V_OBJ && i < v.obj->n; i++)
        ok = add_parts(cx, v.obj->slot[i].v, out, depth + 1);
    if (v.tag == V_LIST)
        return ok && !v.list->stacked;
    if (v.tag == V_DICT)
        return ok && !v.dict->lost;
    if (v.tag == V_OBJ)
        return ok && !v.obj->path;
    return ok && (v.tag == V_TUPLE || v.tag == V_NONE || v.tag == V_STR || v.tag == V_ENUM || v.tag == V_DEVICE || v.tag == V_DTYPE);
}

bool item_parts(Ctx *cx, Value v, Values *out)
{
    *out = (Values){ 0 };
    return add_parts(cx, v, out, 0);
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
        dict_set(cx, made.dict, like.dict->at[i].key, item_rebuilt(cx, like.dict->at[i].val.v, part, next));
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
        ok = val_equal(cx, a.dict->at[i].key, b.dict->at[i].key) && alike(cx, a.dict->at[i].val.v, b.dict->at[i].val.v);
    if (a.tag == V_OBJ)
        ok = a.obj->cls == b.obj->cls && a.obj->n == b.obj->n;
    for (int64_t i = 0; ok && a.tag == V_OBJ && i < a.obj->n; i++)
        ok = alike(cx, a.obj->slot[i].v, b.obj->slot[i].v);
    return ok && (a.tag == V_TUPLE || a.tag == V_LIST || a.tag == V_DICT || a.tag == V_OBJ || val_equal(cx, a, b));
}

/* ---- types ---- */

static bool leaf_type(Ctx *cx, Value v, ItemType *out)
{
    if (v.tag == V_TENSOR) {
        *out = (ItemType){ .elem = "Tensor", .type = tensor_type(v.t) };
        return v.t->kind == PLAIN && out->type && out->type->rank >= 0;
    }
    bool is_bool = val_is_bool(v), is_int = val_is_int(v);
    *out = (ItemType){ .elem = is_bool ? "bool" : is_int ? "int" : "float",
                       .type = type_tensor(cx, is_bool ? DT_BOOL : is_int ? DT_INT64 : DT_DOUBLE, 0, NULL) };
    return true;
}

bool item_type(Ctx *cx, Value v, ItemType *out)
{
    Values part;
    if (is_leaf(v))
        return leaf_type(cx, v, out);
    if (!item_parts(cx, v, &part) || part.n == 0)
        return false;
    Parts *parts = new(cx, Parts);
    *parts = (Parts){ v, new_array(cx, ItemType, part.n), part.n };
    *out = (ItemType){ .elem = v.tag == V_TUPLE ? "Tuple" : v.tag == V_LIST ? "List" : v.tag == V_DICT ? "Dict" : "object", .parts = parts };
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

static bool join_parts(Ctx *cx, const Parts *a, const Parts *b, ItemType *out)
{
    if (!a || !b || !alike(cx, a->like, b->like))
        return false;
    Parts *parts = new(cx, Parts);
    *parts = (Parts){ a->like, new_array(cx, ItemType, a->n), a->n };
    out->parts = parts;
    for (size_t i = 0; i < a->n; i++)
        if (!parts->at || !items_join(cx, a->at[i], b->at[i], &parts->at[i]))
            return false;
    return true;
}

bool items_join(Ctx *cx, ItemType a, ItemType b, ItemType *out)
{
    Dim dim[MAX_RANK];
    *out = a.elem ? a : b;
    if (!a.elem || !b.elem)
        return true;
    if (a.parts || b.parts)
        return join_parts(cx, a.parts, b.parts, out);
    if (strcmp(a.elem, b.elem) || a.type->dtype != b.type->dtype || a.type->rank != b.type->rank)
        return false;
    out->ragged = a.ragged || b.ragged || !sizes_alike(cx, a.type, b.type);
    if (!out->ragged)
        return true;
    for (int i = 0; i < a.type->rank; i++)
        dim[i] = dim_eq(cx, a.type->dim[i], b.type->dim[i]) == YES ? a.type->dim[i] : dim_fresh(cx, "d");
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
