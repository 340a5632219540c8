/* stacked.c - lists whose length ONNX decides, as one tensor or a sequence: making them, their
 * items. stacked_ops.c has what programs do with them. */
#include "eval/lists/stacked.h"

#include "eval/branch/carry.h"
#include "eval/lists/dynamic_parts.h"
#include "value/walk.h"

/* ---- making ---- */

/* A tensor that stands for the memory of a list's items. It has no contents: its storage is only
 * made invalid when an item is written. */
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

Stacked *stacked_of_columns(Ctx *cx, ItemType item, Stacked **column)
{
    Stacked *s = stacked_new(cx, item, NULL);
    s->column = column;
    s->empty = column && column[0]->empty;
    return s;
}

Stacked *stacked_invalid(Ctx *cx, Str why)
{
    Stacked *s = stacked_new(
        cx, (ItemType){ .elem = "Tensor", .type = type_tensor(cx, DT_FLOAT, 0, NULL) }, POISON);
    *s->memory = (Tensor){ .st = storage_new(cx, POISON) };
    s->memory->st->invalid = why;
    return s;
}

bool stacked_is_readable(Eval *ev, const Stacked *s)
{
    if (!stacked_is_invalid(s) || ctx_failed(ev->cx))
        return !ctx_failed(ev->cx);
    fail(ev->cx, E_UNSUPPORTED,
         "what this list holds is not known: %s, and one of them was written since",
         s->memory->st->invalid->s);
    fail_hint(ev->cx,
              s->item.of || s->item.parts
                  ? "put a new item in its place: l[i] = l[i] + [x] instead of l[i].append(x)"
                  : "clone() the tensor before it is written in place, or write y = x + 1 instead "
                    "of x.add_(1)");
    return false;
}

Str why_shared(Ctx *cx)
{
    return str_of(
        cx, "it is in a list that the running model makes or chooses from, under several names");
}

typedef void Tie(Ctx *cx, Tensor *whole, Tensor *part, Str why);

typedef struct Tying {
    Ctx *cx;
    Tensor *memory;
    Tie *tie;
} Tying;

static WalkStep tie_container(void *arg, Value v)
{
    const Tying *t = arg;
    Tensor *mark = container_mark(t->cx, v);
    if (mark)
        t->tie(t->cx, t->memory, mark, why_shared(t->cx));
    return WALK_IN;
}

/* Ties `memory` to the lists, dicts and objects in v: v changes when one of them is written. */
static void tie_containers(Ctx *cx, Tensor *memory, Value v, Tie *tie)
{
    Tying t = { cx, memory, tie };
    if (val_walk(cx, v, WALK_LEVELS, tie_container, &t) == WALK_TOO_DEEP)
        fail(cx, E_LIMIT, "an item of a list holds others more than %d levels deep", WALK_LEVELS);
}

/* Notes that t is an item of s, or in one. Which item it is may only show when the model runs, so
 * that an item lies in memory as t does, or as another one. */
static void track_tensor(Ctx *cx, Stacked *s, Tensor *t)
{
    tensor_holds(cx, s->memory, t, why_shared(cx));
    s->loose = s->loose || tensor_contiguous(cx, t) != YES;
}

static void track_parts(Ctx *cx, Stacked *s, Value v)
{
    Values part;
    tie_containers(cx, s->memory, v, tensor_holds);
    for (size_t i = 0; item_parts(cx, v, s->item.parts->like, &part) && i < part.n; i++)
        stacked_holds(cx, s->column[i], &part.at[i], 1, NULL);
}

/* Ties the memory of s to an item that is a list, and to the memory of this list's tensors. */
static void track_list(Ctx *cx, Stacked *s, List *l)
{
    tie_containers(cx, s->memory, (Value){ .tag = V_LIST, .list = l }, tensor_holds);
    if (l->stacked) {
        tensor_holds(cx, s->memory, l->stacked->memory, why_shared(cx));
        s->loose = s->loose || l->stacked->loose;
    }
    for (int64_t i = 0; i < l->n; i++)
        if (l->at[i].v.tag == V_TENSOR)
            track_tensor(cx, s, l->at[i].v.t);
}

/* See stacked.h. An item with parts is noted part by part, in the columns. */
void stacked_holds(Ctx *cx, Stacked *s, const Value *at, int64_t n, Stacked *part)
{
    for (int64_t i = 0; i < n; i++) {
        if (s->column)
            track_parts(cx, s, at[i]);
        else if (at[i].tag == V_TENSOR)
            track_tensor(cx, s, at[i].t);
        else if (at[i].tag == V_LIST)
            track_list(cx, s, at[i].list);
    }
    if (!part)
        return;
    tensor_holds(cx, s->memory, part->memory, why_shared(cx));
    s->loose = s->loose || part->loose;
    if (!s->column)
        return;
    for (size_t i = 0; i < s->item.parts->n; i++)
        stacked_holds(cx, s->column[i], NULL, 0, part->column[i]);
}

/* A tensor without items. Sizes that only an inner scope knows are 1, as there is no item to
 * have them. */
static Ox no_items(Graph *g, ItemType item)
{
    Dim size[MAX_RANK];
    size[0] = dim_int(g->cx, 0);
    for (int i = 0; i < item.type->rank; i++)
        size[i + 1] = dim_is_outside(g, item.type->dim[i]) ? item.type->dim[i] : dim_int(g->cx, 1);
    Ox zero = ox_number(g, item.type->dtype, 0);
    Ox shape = ox_dims(g, size, (size_t)item.type->rank + 1);
    return ox_g(g, "Expand", zero, shape);
}

Ox stack_values(Graph *g, const Ox *at, size_t n, ItemType item)
{
    VEC(Ox) parts = { 0 };
    if (item.ragged && n == 0)
        return ox_g_with(g, "SequenceEmpty", (OxList){ 0 }, INT("dtype", item.type->dtype));
    if (item.ragged)
        return ox_make(g, "SequenceConstruct", (OxList){ at, n }, NULL, 0);
    Ox axis = ox_ints(g, (int64_t[]){ 0 }, 1);
    for (size_t i = 0; i < n; i++)
        if (!vec_push(g->cx, &parts, ox_g(g, "Unsqueeze", at[i], axis)))
            return POISON;
    if (n == 0)
        return no_items(g, item);
    return n == 1 ? parts.at[0] : ox_g_with(g, "Concat", LIST(parts), INT("axis", 0));
}

static Ox list_ox(Eval *ev, const List *l, ItemType item)
{
    ItemType inner = item_inner(ev->cx, item);
    if (l->stacked)
        return stacked_whole(ev, l->stacked);
    Ox *at = new_array(ev->cx, Ox, l->n + 1);
    if (!at)
        return POISON;
    for (int64_t i = 0; i < l->n; i++)
        at[i] = stacked_item_ox(ev, l->at[i].v, inner);
    return stack_values(ev->g, at, (size_t)l->n, inner);
}

Ox stacked_item_ox(Eval *ev, Value v, ItemType item)
{
    if (v.tag == V_LIST)
        return item.of && must_be_set(ev, v) ? list_ox(ev, v.list, item) : POISON;
    return v.tag == V_TENSOR ? tensor_read(ev->g, v.t) : carry_ox(ev->g, v);
}

/* Column i of the items; NULL without memory. */
static Value *column_of(Ctx *cx, const Value *at, int64_t n, ItemType item, size_t i)
{
    Value *v = new_array(cx, Value, n + 1);
    Values part;
    if (!v)
        return NULL;
    for (int64_t k = 0; k < n; k++) {
        bool ok = item_parts(cx, at[k], item.parts->like, &part) && i < part.n;
        v[k] = ok ? part.at[i] : val_poison();
    }
    return v;
}

static Stacked *columns_of(Eval *ev, const Value *at, int64_t n, ItemType item)
{
    Stacked **column = new_array(ev->cx, Stacked *, item.parts->n);
    if (!column)
        return NULL;
    for (size_t i = 0; i < item.parts->n; i++) {
        Value *v = column_of(ev->cx, at, n, item, i);
        if (!v || !(column[i] = stacked_of(ev, v, n, item.parts->at[i])))
            return NULL;
    }
    Stacked *s = stacked_of_columns(ev->cx, item, column);
    stacked_holds(ev->cx, s, at, n, NULL);
    return s;
}

/* See stacked.h. The tensor is a copy of what the items hold, so all of that must be readable. */
Stacked *stacked_of(Eval *ev, const Value *at, int64_t n, ItemType item)
{
    for (int64_t i = 0; i < n; i++)
        if (!containers_must_be_set(ev, at[i]))
            return NULL;
    if (item.parts)
        return columns_of(ev, at, n, item);
    Ox *items = new_array(ev->cx, Ox, n + 1);
    if (!items)
        return NULL;
    for (int64_t i = 0; i < n; i++)
        items[i] = stacked_item_ox(ev, at[i], item);
    Ox whole = stack_values(ev->g, items, (size_t)n, item);
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
        return stacked_as(ev, l->stacked, item);
    Value *at = list_values(ev->cx, l, &n);
    return at ? stacked_of(ev, at, n, item) : NULL;
}

/* ---- the same items, of a wider type ---- */

/* The length of a tensor, along its first axis, or of a sequence. */
static Dim whole_length(Graph *g, Ox whole)
{
    if (whole->type->kind != T_SEQUENCE)
        return ox_dim(whole, 0);
    Dim d = dim_fresh(g->cx, "u");
    dim_set_origin(g->cx, d, ox_g(g, "SequenceLength", whole), -1);
    return d;
}

/* As many lists without items as `any` has. */
static Ox lists_of_none(Graph *g, Ox any, ItemType item)
{
    if (item.type->rank != 1)
        return POISON;
    Dim size[2] = { whole_length(g, any), dim_int(g->cx, 0) };
    Ox zero = ox_number(g, item.type->dtype, 0);
    Ox shape = ox_dims(g, size, 2);
    return ox_g(g, "Expand", zero, shape);
}

static Ox as_sequence(Graph *g, Ox whole)
{
    return ox_g_with(g, "SplitToSequence", INPUTS(whole), INT("axis", 0), INT("keepdims", 0));
}

Ox stacked_side_by_side(Graph *g, const Ox *column, size_t n, Ox any, ItemType item)
{
    Ox *at = new_array(g->cx, Ox, n + 1);
    if (!at)
        return POISON;
    Ox axis = ox_ints(g, (int64_t[]){ 1 }, 1);
    for (size_t i = 0; i < n; i++)
        at[i] = ox_g(g, "Unsqueeze", column[i], axis);
    if (!ox_ok(any))
        return POISON;
    Ox whole = n ? ox_make(g, "Concat", (OxList){ at, n }, ATTRS(INT("axis", 1)))
                 : lists_of_none(g, any, item);
    return item.ragged && ox_ok(whole) ? as_sequence(g, whole) : whole;
}

/* s as a sequence instead of one tensor, or a sequence of tensors as one of several ranks. */
static Stacked *ragged(Eval *ev, Stacked *s, ItemType item)
{
    if (!item.ragged || (s->item.ragged && item_ranks_differ(s->item) == item_ranks_differ(item)))
        return s;
    Ox parts = stacked_whole(ev, s);
    if (!s->item.ragged)
        parts = s->empty ? stack_values(ev->g, NULL, 0, item) : as_sequence(ev->g, parts);
    if (!ox_ok(parts))
        return NULL;
    Stacked *made = stacked_new(ev->cx, item, parts);
    made->empty = s->empty;
    stacked_holds(ev->cx, made, NULL, 0, s);
    return made;
}

static Stacked *wider_column(Eval *ev, const Stacked *s, MadeOf from, ItemType item)
{
    Ox *at = new_array(ev->cx, Ox, from.n + 1);
    if (!at || !from.whole)
        return at ? ragged(ev, s->column[from.first], item) : NULL;
    for (size_t i = 0; i < from.n; i++)
        at[i] = stacked_whole(ev, s->column[from.first + i]);
    Ox any = stacked_whole(ev, s->column[0]);
    Ox whole = stacked_side_by_side(ev->g, at, from.n, any, item);
    if (!ox_ok(whole))
        return NULL;
    Stacked *made = stacked_new(ev->cx, item, whole);
    made->empty = s->empty;
    for (size_t i = 0; i < from.n; i++)
        stacked_holds(ev->cx, made, NULL, 0, s->column[from.first + i]);
    return made;
}

Stacked *stacked_as(Eval *ev, Stacked *s, ItemType item)
{
    if (!s->column)
        return ragged(ev, s, item);
    size_t n = item.parts ? item.parts->n : 1;
    const MadeOf *from = items_made_of(ev->cx, s->item, item);
    Stacked **column = new_array(ev->cx, Stacked *, n);
    if (!from || !column)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (!(column[i] = wider_column(ev, s, from[i], item_column(item, i))))
            return NULL;
    Stacked *made = item.parts ? stacked_of_columns(ev->cx, item, column) : column[0];
    tensor_holds(ev->cx, made->memory, s->memory, why_shared(ev->cx));
    return made;
}

/* Is the tensor of the whole list still valid: no item was written since it was made, and g sees
 * it? */
static bool whole_is_good(const Graph *g, const Stacked *s)
{
    return s->whole && !stacked_is_invalid(s) && graph_sees(g, s->whole);
}

static Ox insert_all(Graph *g, Ox sequence, const Ox *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sequence = ox_g(g, "SequenceInsert", sequence, at[i]);
    return sequence;
}

typedef VEC(Stacked *) StackedLists;

/* The tensor or sequence of `known` with the late items behind it. late: lists of which each has
 * one item more than the next; the last items of these are the late items. */
static Ox with_late_items(Eval *ev, const Stacked *known, StackedLists late, ItemType item)
{
    Ox *items = new_array(ev->cx, Ox, late.n);
    if (!items)
        return POISON;
    for (size_t i = 0; i < late.n; i++)
        items[i] = stacked_item_ox(ev, late.at[late.n - 1 - i]->last, item);
    if (item.ragged)
        return insert_all(ev->g, known->whole, items, late.n);
    Ox more = stack_values(ev->g, items, late.n, item);
    return ox_g_with(ev->g, "Concat", INPUTS(known->whole, more), INT("axis", 0));
}

/* See stacked.h. The items that were appended since the whole tensor was last made are put
 * behind it: for l, l + [a] and l + [a, b] this is one Concat of l's tensor, a and b. */
Ox stacked_whole(Eval *ev, Stacked *s)
{
    Ctx *cx = ev->cx;
    StackedLists late = { 0 };
    Stacked *known = s;
    for (; !whole_is_good(ev->g, known) && known->from; known = known->from)
        if (!vec_push(cx, &late, known))
            return POISON;
    known->looked = true;
    if (!stacked_is_readable(ev, known))
        return POISON;
    if (late.n == 0)
        return s->whole;
    Ox whole = with_late_items(ev, known, late, s->item);
    s->memory = memory_new(cx);
    for (size_t i = 0; i < late.n; i++)
        stacked_holds(cx, s, &late.at[i]->last, 1, i == 0 ? known : NULL);
    s->whole = whole;
    return whole;
}

/* The error why v cannot be an item of s; NULL. */
static Stacked *cannot_append(Eval *ev, const Stacked *s, Value v)
{
    Ctx *cx = ev->cx;
    ItemType other, item = s->item;
    if (!stacked_is_readable(ev, s))
        return NULL; /* the error is that s is invalid */
    if (!item_type(cx, v, &other) || strcmp(item.elem, other.elem))
        fail(cx, E_UNSUPPORTED,
             "%s is appended to a list of %s whose length only the running model knows",
             val_kind(v), item.elem);
    else if (item.parts || other.parts)
        fail(cx, E_UNSUPPORTED,
             "a list whose length only the running model knows has items that differ in more than "
             "the contents of their tensors and "
             "numbers (lengths, keys, strings, None, element types, ranks)");
    else
        fail(cx, E_UNSUPPORTED,
             "a list whose length only the running model knows has items of different types: %s "
             "and %s",
             type_text(cx, item.type)->s, type_text(cx, other.type)->s);
    fail_hint(cx, "keep items of one size in the list, or one tensor that torch.cat makes longer");
    return NULL;
}

static Stacked *append_parts(Eval *ev, Stacked *s, ItemType item, Value v)
{
    Values part;
    Stacked **column = new_array(ev->cx, Stacked *, item.parts->n);
    if (!column || !item_parts(ev->cx, v, item.parts->like, &part) || part.n != item.parts->n)
        return NULL;
    for (size_t i = 0; i < part.n; i++)
        if (!(column[i] = stacked_append(ev, s->column[i], part.at[i])))
            return NULL;
    Stacked *longer = stacked_of_columns(ev->cx, item, column);
    tie_containers(ev->cx, longer->memory, v, tensor_holds);
    tensor_holds(ev->cx, longer->memory, s->memory, why_shared(ev->cx));
    return longer;
}

/* s with v behind its items: s itself with v apart, or for items with parts a list for each of
 * them. NULL after an error. */
Stacked *stacked_append(Eval *ev, Stacked *s, Value v)
{
    ItemType item;
    if (!val_ok(v))
        return refusals_fail(ev->cx), NULL;
    if (!containers_must_be_set(ev, v))
        return NULL;
    if (!item_type(ev->cx, v, &item) || !items_join(ev->cx, s->item, item, &item))
        return cannot_append(ev, s, v);
    if ((item.ragged || !items_same_parts(ev->cx, s->item, item)) && !(s = stacked_as(ev, s, item)))
        return NULL;
    if (item.parts)
        return append_parts(ev, s, item, v);
    Stacked *longer = stacked_new(ev->cx, item, NULL);
    longer->from = s;
    longer->last = v;
    return longer;
}

/* ---- reading ---- */

Dim stacked_length(Eval *ev, Stacked *s)
{
    if (s->parts_of)
        return s->parts_of->count;
    if (s->column)
        return stacked_is_readable(ev, s) ? stacked_length(ev, s->column[0]) : NULL;
    Ox whole = stacked_whole(ev, s);
    return ox_ok(whole) ? whole_length(ev->g, whole) : NULL;
}

static bool item_of_parts(Eval *ev, Stacked *s, Value index, Value *out)
{
    size_t n = s->item.parts->n;
    Value *part = new_array(ev->cx, Value, n);
    bool ok = part && stacked_is_readable(ev, s);
    for (size_t i = 0; ok && i < n; i++)
        ok = stacked_item(ev, s->column[i], index, &part[i]);
    if (ok)
        *out = stacked_rebuilt(ev->cx, s, part);
    return ok && !ctx_failed(ev->cx);
}

Value stacked_rebuilt(Ctx *cx, Stacked *s, const Value *part)
{
    size_t next = 0;
    Value v = item_rebuilt(cx, s->item.parts->like, part, &next);
    tie_containers(cx, s->memory, v, tensor_maybe_shared);
    return v;
}

/* An item that is itself a list, stacked as the tensor `whole`. Writing to the item makes the
 * list s invalid. */
static bool inner_list(Eval *ev, Stacked *s, Ox whole, Value *out)
{
    Ctx *cx = ev->cx;
    if (!ox_ok(whole))
        return false;
    ItemType of = *s->item.of;
    of.type = type_tensor(cx, ox_dtype(whole), ox_rank(whole) - 1, whole->type->dim + 1);
    *out = (Value){ .tag = V_LIST, .list = list_new(cx, 0, str_of(cx, of.elem)) };
    list_stack(cx, out->list, stacked_new(cx, of, whole));
    out->list->stacked->loose = s->loose;
    tensor_maybe_shared(cx, container_mark(cx, *out), s->memory, why_shared(cx));
    if (!strcmp(of.elem, "Tensor"))
        tensor_maybe_shared(cx, out->list->stacked->memory, s->memory, why_shared(cx));
    return !ctx_failed(cx);
}

/* Item i of the tensor (Gather) or sequence (SequenceAt). */
static bool item_at(Eval *ev, Stacked *s, Dim i, Value *out)
{
    Ctx *cx = ev->cx;
    Ox whole = stacked_whole(ev, s);
    if (!ox_ok(whole))
        return false;
    if (!s->item.ragged && dim_lt(cx, i, dim_int(cx, 0)) == YES)
        i = dim_add(cx, i, ox_dim(whole, 0));
    Ox at = ox_dim_value(ev->g, i);
    Ox item = s->item.ragged ? ox_g(ev->g, "SequenceAt", whole, at)
                             : ox_g_with(ev->g, "Gather", INPUTS(whole, at), INT("axis", 0));
    if (s->item.of)
        return inner_list(ev, s, item, out);
    *out = strcmp(s->item.elem, "Tensor") ? val_number_of(ev->g, item) : val_tensor(cx, item);
    if (out->tag == V_TENSOR) {
        tensor_maybe_shared(cx, out->t, s->memory, why_shared(cx));
        out->t->contiguous = s->loose ? UNKNOWN : YES;
    }
    return !ctx_failed(cx);
}

/* See stacked.h. The item of a list with parts is made of an item of each part's list. An item
 * that is part of a tensor is a view of it, where its place is known. Any other item is read
 * from the whole. */
bool stacked_item(Eval *ev, Stacked *s, Value index, Value *out)
{
    if (s->column)
        return item_of_parts(ev, s, index, out);
    Ctx *cx = ev->cx;
    Dim i;
    if (!val_dim_of(index, cx, &i))
        return fail(cx, E_VALUE, "a list index must be an int, not %s", val_kind(index));
    if (item_ranks_differ(s->item))
        return fail(cx, E_UNSUPPORTED,
                    "an item is read of a list whose length only the running model knows, and "
                    "whose items have several ranks");
    Outcome r = s->parts_of ? part_of_tensor(ev, s->parts_of, i, out) : NOT_MINE;
    return r == NOT_MINE ? item_at(ev, s, i, out) : r == DONE;
}
