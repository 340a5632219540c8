/* stacked.c - lists whose length ONNX decides: one tensor, read and grown by tensor operators. What they cannot do is refused. */
#include "eval/branch.h"

/* ---- what can be stacked ---- */

bool item_type(Ctx *cx, Value v, ItemType *out)
{
    if (v.tag == V_TENSOR) {
        *out = (ItemType){ "Tensor", tensor_type(v.t) };
        return v.t->kind == PLAIN && out->type && out->type->rank >= 0;
    }
    if (!val_is_plain_number(v))
        return false;
    bool is_bool = v.tag == V_BOOL || v.tag == V_SYMBOOL, is_int = v.tag == V_INT || v.tag == V_SYMINT;
    *out = (ItemType){ is_bool ? "bool" : is_int ? "int" : "float", type_tensor(cx, is_bool ? DT_BOOL : is_int ? DT_INT64 : DT_DOUBLE, 0, NULL) };
    return true;
}

bool items_alike(Ctx *cx, ItemType a, ItemType b)
{
    if (strcmp(a.elem, b.elem) || a.type->dtype != b.type->dtype || a.type->rank != b.type->rank)
        return false;
    for (int i = 0; i < a.type->rank; i++)
        if (dim_eq(cx, a.type->dim[i], b.type->dim[i]) != YES)
            return false;
    return true;
}

bool list_item_type(Ctx *cx, const Value *at, int64_t n, ItemType *out)
{
    ItemType other;
    *out = (ItemType){ NULL, NULL };
    for (int64_t i = 0; i < n; i++) {
        if (!item_type(cx, at[i], &other))
            return false;
        if (i == 0)
            *out = other;
        else if (!items_alike(cx, *out, other))
            return false;
    }
    return true;
}

/* ---- making ---- */

/* Only its storage counts, which has no contents until it is lost. */
static Tensor *memory_new(Ctx *cx)
{
    Tensor *t = new(cx, Tensor);
    *t = (Tensor){ .st = storage_new(cx, NULL) };
    return t;
}

Stacked *stacked_new(Ctx *cx, ItemType item, Ox whole)
{
    Stacked *s = new(cx, Stacked);
    *s = (Stacked){ .item = item, .whole = whole, .memory = memory_new(cx) };
    return s;
}

static Str why_shared(Ctx *cx) { return str_of(cx, "it is in a list that a loop or a branch of the model makes, under several names"); }

void stacked_holds(Ctx *cx, Stacked *s, const Value *at, int64_t n, Stacked *part)
{
    for (int64_t i = 0; i < n; i++)
        if (at[i].tag == V_TENSOR)
            tensor_holds(cx, s->memory, at[i].t, why_shared(cx));
    if (part)
        tensor_holds(cx, s->memory, part->memory, why_shared(cx));
}

/* No items: sizes that only an inner scope knows are 1, nobody sees them. */
static Ox no_items(Graph *g, ItemType item)
{
    Dim size[MAX_RANK];
    Eval scope = { .cx = g->cx, .g = g };
    size[0] = dim_int(g->cx, 0);
    for (int i = 0; i < item.type->rank; i++)
        size[i + 1] = dim_is_outside(&scope, item.type->dim[i]) ? item.type->dim[i] : dim_int(g->cx, 1);
    Ox zero = ox_number(g, item.type->dtype, 0);
    Ox shape = ox_dims(g, size, (size_t)item.type->rank + 1);
    return ox_g(g, "Expand", zero, shape);
}

Ox stack_values(Graph *g, const Ox *at, size_t n, ItemType item)
{
    VEC(Ox) parts = { 0 };
    Ox axis = ox_ints(g, (int64_t[]){ 0 }, 1);
    for (size_t i = 0; i < n; i++)
        vec_push(g->cx, &parts, ox_g(g, "Unsqueeze", at[i], axis));
    return n == 0 ? no_items(g, item) : n == 1 ? parts.at[0] : ox_g_with(g, "Concat", LIST(parts), INT("axis", 0));
}

static Ox item_ox(Graph *g, Value v) { return v.tag == V_TENSOR ? tensor_read(g, v.t) : carry_ox(g, v); }

Stacked *stacked_of(Eval *ev, const Value *at, int64_t n, ItemType item)
{
    Ox *items = new_array(ev->cx, Ox, n + 1);
    for (int64_t i = 0; items && i < n; i++)
        items[i] = item_ox(ev->g, at[i]);
    Ox whole = items ? stack_values(ev->g, items, (size_t)n, item) : POISON;
    if (!ox_ok(whole))
        return NULL;
    Stacked *s = stacked_new(ev->cx, item, whole);
    s->empty = n == 0;
    stacked_holds(ev->cx, s, at, n, NULL);
    return s;
}

Stacked *stacked_list(Eval *ev, const List *l, ItemType item)
{
    int64_t n;
    if (l->stacked)
        return l->stacked;
    Value *at = list_values(ev->cx, l, &n);
    return at ? stacked_of(ev, at, n, item) : NULL;
}

/* Nobody has written to an item since it was put together, and g sees it. */
static bool whole_is_good(const Graph *g, const Stacked *s)
{
    return s->whole && ox_ok(s->memory->st->now) && graph_sees(g, s->whole);
}

Ox stacked_whole(Eval *ev, Stacked *s)
{
    Ctx *cx = ev->cx;
    VEC(Stacked *) late = { 0 };
    Stacked *known = s;
    for (; !whole_is_good(ev->g, known) && known->from; known = known->from)
        vec_push(cx, &late, known);
    known->looked = true;
    if (!ox_ok(known->memory->st->now))
        return tensor_read(ev->g, known->memory);               /* the error */
    if (late.n == 0)
        return s->whole;
    Ox *items = new_array(cx, Ox, late.n);
    for (size_t i = 0; items && i < late.n; i++)
        items[i] = item_ox(ev->g, late.at[late.n - 1 - i]->last);
    Ox more = items ? stack_values(ev->g, items, late.n, s->item) : POISON;
    s->memory = memory_new(cx);
    for (size_t i = 0; i < late.n; i++)
        stacked_holds(cx, s, &late.at[i]->last, 1, i == 0 ? known : NULL);
    return s->whole = ox_g_with(ev->g, "Concat", INPUTS(known->whole, more), INT("axis", 0));
}

static Stacked *cannot_append(Ctx *cx, ItemType item, Value v)
{
    ItemType other;
    if (!item_type(cx, v, &other) || strcmp(item.elem, other.elem))
        fail(cx, E_UNSUPPORTED, "%s is appended to a list of %s whose length only the running model knows", val_kind(v), item.elem);
    else
        fail(cx, E_UNSUPPORTED, "a list whose length only the running model knows has items of different types: %s and %s",
             type_text(cx, item.type)->s, type_text(cx, other.type)->s);
    fail_hint(cx, "keep items of one size in the list, or one tensor that torch.cat makes longer");
    return NULL;
}

Stacked *stacked_append(Eval *ev, Stacked *s, Value v)
{
    ItemType item;
    if (!val_ok(v))
        return refusals_fail(ev->cx), NULL;
    if (!item_type(ev->cx, v, &item) || !items_alike(ev->cx, s->item, item))
        return cannot_append(ev->cx, s->item, v);
    Stacked *longer = stacked_new(ev->cx, s->item, NULL);
    longer->from = s;
    longer->last = v;
    return longer;
}

/* ---- reading ---- */

bool stacked_item(Eval *ev, Stacked *s, Value index, Value *out)
{
    Ctx *cx = ev->cx;
    Dim i;
    if (!val_dim_of(index, cx, &i))
        return fail(cx, E_VALUE, "a list index must be an int, not %s", val_kind(index));
    Ox whole = stacked_whole(ev, s);
    if (!ox_ok(whole))
        return false;
    if (dim_lt(cx, i, dim_int(cx, 0)) == YES)
        i = dim_add(cx, i, ox_dim(whole, 0));
    Ox at = ox_dim_value(ev->g, i);
    Ox item = ox_g_with(ev->g, "Gather", INPUTS(whole, at), INT("axis", 0));
    *out = strcmp(s->item.elem, "Tensor") ? val_number_of(ev->g, item) : val_tensor(cx, item);
    if (out->tag == V_TENSOR)
        tensor_maybe_shared(cx, out->t, s->memory, why_shared(cx));
    return !ctx_failed(cx);
}

static bool wrap_axis(Ctx *cx, int64_t dim, int rank, int *axis)
{
    if (dim < -rank || dim >= rank)
        return fail(cx, E_VALUE, "dim %lld is out of range for rank %d", (long long)dim, rank);
    *axis = (int)(dim < 0 ? dim + rank : dim);
    return true;
}

/* Axis 0 to place `axis` */
static Ox move_first(Graph *g, Ox v, int axis)
{
    int64_t perm[MAX_RANK];
    int rank = ox_rank(v);
    for (int i = 0; i < rank; i++)
        perm[i] = i < axis ? i + 1 : i == axis ? 0 : i;
    return axis == 0 ? v : ox_g_with(g, "Transpose", INPUTS(v), INT_LIST("perm", perm, (size_t)rank));
}

/* [n, a, b, c] along b: bring n in front of b, then merge the two. */
static bool cat_of_stacked(Eval *ev, Ox whole, int64_t dim, Value *out)
{
    Ctx *cx = ev->cx;
    int rank = ox_rank(whole) - 1, axis;
    Dim size[MAX_RANK];
    if (!wrap_axis(cx, dim, rank, &axis))
        return false;
    for (int i = 0; i < rank; i++)
        size[i] = i == axis ? dim_mul(cx, ox_dim(whole, 0), ox_dim(whole, i + 1)) : ox_dim(whole, i + 1);
    if (!size[axis])
        size[axis] = dim_int(cx, -1);
    Ox moved = move_first(ev->g, whole, axis);
    Ox shape = ox_dims(ev->g, size, (size_t)rank);
    *out = val_tensor(cx, ox_g(ev->g, "Reshape", moved, shape));
    return !ctx_failed(cx);
}

static bool stack_of_stacked(Eval *ev, Ox whole, int64_t dim, Value *out)
{
    int axis;
    if (!wrap_axis(ev->cx, dim, ox_rank(whole), &axis))
        return false;
    *out = val_tensor(ev->cx, move_first(ev->g, whole, axis));
    return !ctx_failed(ev->cx);
}

/* tensor([..ints..]) */
static bool tensor_of_stacked(Eval *ev, Stacked *s, Ox whole, const OpArg *args, size_t n, Value *out)
{
    DType t = strcmp(s->item.elem, "float") ? ox_dtype(whole) : DT_FLOAT;
    for (size_t i = 1; i < n; i++)
        if ((i == 1 || (args[i].name && str_is(args[i].name, "dtype"))) && args[i].v.tag == V_INT)
            t = dtype_of_c10(args[i].v.i, NULL);
    *out = val_tensor(ev->cx, ox_cast(ev->g, whole, t));
    return !ctx_failed(ev->cx);
}

/* l[start:end:step], positive steps */
static bool slice_of_stacked(Eval *ev, Stacked *s, Ox whole, const OpArg *args, size_t n, Value *out)
{
    Graph *g = ev->g;
    Dim bound[3] = { dim_int(ev->cx, 0), dim_int(ev->cx, INT64_MAX), dim_int(ev->cx, 1) };
    for (size_t i = 1; i < n && i < 4; i++)
        if (args[i].v.tag != V_NONE && !val_dim_of(args[i].v, ev->cx, &bound[i - 1]))
            return fail(ev->cx, E_VALUE, "a list is sliced by %s", val_kind(args[i].v));
    if (dim_lt(ev->cx, dim_int(ev->cx, 0), bound[2]) != YES)
        return fail(ev->cx, E_UNSUPPORTED, "a slice that walks back through a list whose length only the running model knows");
    Ox start = ox_dims(g, &bound[0], 1);
    Ox end = ox_dims(g, &bound[1], 1);
    Ox axis = ox_ints(g, (int64_t[]){ 0 }, 1);
    Ox step = ox_dims(g, &bound[2], 1);
    Stacked *part = stacked_new(ev->cx, s->item, ox_g(g, "Slice", whole, start, end, axis, step));
    tensor_maybe_shared(ev->cx, part->memory, s->memory, why_shared(ev->cx));
    *out = (Value){ .tag = V_LIST, .list = list_new(ev->cx, 0, str_of(ev->cx, s->item.elem)) };
    list_stack(ev->cx, out->list, part);
    return ox_ok(part->whole);
}

/* ---- writing ---- */

static bool pop_of_stacked(Eval *ev, List *l, Value *out)
{
    Stacked *s = l->stacked;
    OpArg part[3] = { { NULL, { .tag = V_LIST, .list = l } }, { NULL, val_none() }, { NULL, val_int(-1) } };
    Value rest;
    if (!stacked_item(ev, s, val_int(-1), out) || !slice_of_stacked(ev, s, stacked_whole(ev, s), part, 3, &rest))
        return false;
    list_stack(ev->cx, l, rest.list->stacked);
    return true;
}

/* a + b, at least one stacked */
static bool join_of_stacked(Eval *ev, const List *a, const List *b, Stacked **out)
{
    ItemType item = (a->stacked ? a : b)->stacked->item, other;
    const List *lists[2] = { a, b };
    Stacked *s[2];
    for (int k = 0; k < 2; k++) {
        int64_t n;
        Value *at = list_values(ev->cx, lists[k], &n);
        bool alike = lists[k]->stacked ? items_alike(ev->cx, item, lists[k]->stacked->item)
                                       : list_item_type(ev->cx, at, n, &other) && (n == 0 || items_alike(ev->cx, item, other));
        if (!alike)
            return fail(ev->cx, E_UNSUPPORTED, "lists of different items are joined, and the length of one is not known");
        if (!(s[k] = stacked_list(ev, lists[k], item)))
            return false;
    }
    Ox x = stacked_whole(ev, s[0]);
    Ox y = stacked_whole(ev, s[1]);
    *out = stacked_new(ev->cx, item, ox_g_with(ev->g, "Concat", INPUTS(x, y), INT("axis", 0)));
    stacked_holds(ev->cx, *out, NULL, 0, s[0]);
    stacked_holds(ev->cx, *out, NULL, 0, s[1]);
    return ox_ok((*out)->whole);
}

static Value list_like(Ctx *cx, Stacked *s)
{
    Value v = { .tag = V_LIST, .list = list_new(cx, 0, str_of(cx, s->item.elem)) };
    list_stack(cx, v.list, s);
    return v;
}

/* Those that change the list, or copy it; *mine stays false for others. */
static bool writing_op(Eval *ev, Str name, const OpArg *args, size_t n, bool *mine, Value *out)
{
    List *l = args[0].v.tag == V_LIST ? args[0].v.list : NULL;
    Stacked *s = l ? l->stacked : NULL;
    bool two = l && n == 2 && args[1].v.tag == V_LIST;
    *out = args[0].v;
    if (str_is(name, "aten::append") && s && n == 2) {
        if ((s = stacked_append(ev, s, args[1].v)))
            list_stack(ev->cx, l, s);
        return s != NULL;
    }
    if (two && (str_is(name, "aten::extend") || str_is(name, "aten::add_") || str_is(name, "aten::add"))) {
        if (!join_of_stacked(ev, l, args[1].v.list, &s))
            return false;
        if (str_is(name, "aten::add"))
            *out = list_like(ev->cx, s);
        else
            list_stack(ev->cx, l, s);
        return true;
    }
    if (s && n == 1 && (str_is(name, "aten::list") || str_is(name, "aten::copy"))) {
        *out = list_like(ev->cx, s);
        return true;
    }
    if (s && n == 1 && str_is(name, "aten::clear")) {
        list_stack(ev->cx, l, NULL);
        return true;
    }
    if (s && str_is(name, "aten::pop") && (n == 1 || (args[1].v.tag == V_INT && args[1].v.i == -1)))
        return pop_of_stacked(ev, l, out);
    *mine = false;
    return true;
}

static bool reading_op(Eval *ev, Str name, const OpArg *args, size_t n, bool *mine, Value *out)
{
    Stacked *s = args[0].v.tag == V_LIST ? args[0].v.list->stacked : NULL;
    Value dim = val_int(0);
    for (size_t i = 1; i < n; i++)
        if (args[i].name ? str_is(args[i].name, "dim") : i == 1)
            dim = args[i].v;
    bool tensors = s && !strcmp(s->item.elem, "Tensor");
    bool known = s && (str_is(name, "aten::len") || (n == 2 && str_is(name, "aten::__getitem__")) || (!tensors && str_is(name, "aten::tensor")) ||
                       str_is(name, "aten::slice") || (tensors && dim.tag == V_INT && (str_is(name, "aten::stack") || str_is(name, "aten::cat"))));
    *mine = known;
    if (!known)
        return true;
    Ox whole = stacked_whole(ev, s);
    if (!ox_ok(whole))
        return false;
    if (str_is(name, "aten::len")) {
        *out = val_dim(ev->cx, ox_dim(whole, 0));
        return true;
    }
    if (str_is(name, "aten::stack"))
        return stack_of_stacked(ev, whole, dim.i, out);
    if (str_is(name, "aten::cat"))
        return cat_of_stacked(ev, whole, dim.i, out);
    if (str_is(name, "aten::slice"))
        return slice_of_stacked(ev, s, whole, args, n, out);
    if (str_is(name, "aten::tensor"))
        return tensor_of_stacked(ev, s, whole, args, n, out);
    return stacked_item(ev, s, args[1].v, out);
}

bool stacked_op(Eval *ev, Str name, const OpArg *args, size_t n, bool *mine, Value *out)
{
    for (size_t i = 0; i < n; i++)
        *mine = *mine || (args[i].v.tag == V_LIST && args[i].v.list->stacked);
    if (!*mine)
        return true;
    if (!writing_op(ev, name, args, n, mine, out) || *mine)
        return !ctx_failed(ev->cx);
    if (!reading_op(ev, name, args, n, mine, out) || *mine)
        return !ctx_failed(ev->cx);
    *mine = true;
    fail(ev->cx, E_UNSUPPORTED, "%s of a list whose length only the running model knows", name->s);
    fail_hint(ev->cx, "stack or cat the list first; append, len, l[i], slices, pop, + and torch.tensor of numbers can be converted too");
    return false;
}
