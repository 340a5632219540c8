/* stacked_parts.c - operators on lists of tuples, dicts and objects whose length ONNX decides: the
 * same operator on the list of each part. */
#include "eval/lists/stacked_ops.h"

#include "value/walk.h"
#include "value/c10_dtype.h"

/* What the operator gives, and which argument is an item (0: none). CHANGE writes the list; ITEM
 * gives an item, TAKE both; LIST gives a new list. */
typedef enum { CHANGE, ITEM, TAKE, LIST } PartsKind;
typedef struct PartsRow {
    const char *name;
    PartsKind kind;
    size_t item;
} PartsRow;

static const PartsRow rows[] = {
    { "aten::append", CHANGE, 1 }, { "aten::insert", CHANGE, 2 },  { "aten::_set_item", CHANGE, 2 },
    { "aten::Delete", CHANGE, 0 }, { "aten::reverse", CHANGE, 0 }, { "aten::extend", CHANGE, 0 },
    { "aten::add_", CHANGE, 0 },   { "aten::pop", TAKE, 0 },       { "aten::__getitem__", ITEM, 0 },
    { "aten::select", ITEM, 0 },   { "aten::slice", LIST, 0 },     { "aten::list", LIST, 0 },
    { "aten::copy", LIST, 0 },     { "aten::add", LIST, 0 },
};

typedef struct PartsOp {
    Eval *ev;
    Str name;
    const PartsRow *row;
    const OpArg *arg;
    size_t n;
    ItemType item;    /* the type that holds for the items of all arguments */
    Stacked **column; /* CHANGE, TAKE: the columns of the changed list */
    Value *out;       /* the result of the operator on each part */
} PartsOp;

/* Widens op->item by the type of argument i, a list or an item. An error where no list can hold
 * the items of all arguments. */
static bool join_argument(PartsOp *op, size_t i)
{
    Ctx *cx = op->ev->cx;
    Value v = op->arg[i].v;
    ItemType other = { 0 };
    int64_t n;
    bool ok = true;
    if (i == op->row->item && i > 0) {
        if (!containers_must_be_set(op->ev, v))
            return false;
        ok = item_type(cx, v, &other);
    } else if (v.tag == V_LIST && v.list->stacked) {
        other = v.list->stacked->item;
        if (!stacked_is_readable(op->ev, v.list->stacked))
            return false;
    } else if (v.tag == V_LIST) {
        if (!containers_must_be_set(op->ev, v))
            return false;
        Value *at = list_values(cx, v.list, &n);
        ok = at && list_item_type(cx, at, n, &other);
    } else {
        return true;
    }
    if (!val_ok(v))
        return refusals_fail(cx);
    if (ok && items_join(cx, op->item, other, &op->item))
        return true;
    fail(cx, E_UNSUPPORTED,
         "a list whose length only the running model knows gets items that differ in more than the "
         "contents of their tensors and "
         "numbers (lengths, keys, strings, None, element types, ranks)");
    fail_hint(cx,
              "keep all items of the list alike: the same keys, the same number of tensors, "
              "each of one dtype and rank");
    return false;
}

/* Does argument i become one tensor, as the operator is done for the whole list after all? That is
 * a list with items of its own which the operator changes: `l[k] = [1, 2]` of l = [[1], [2]]. */
static bool must_be_stacked(const PartsOp *op, size_t i)
{
    bool changes = op->row->kind == CHANGE || op->row->kind == TAKE;
    return i == 0 && changes && !op->item.parts && !op->arg[i].v.list->stacked;
}

/* Gives list argument i the item type op->item; its items stay the same. */
static bool widen_argument(PartsOp *op, size_t i)
{
    Ctx *cx = op->ev->cx;
    Value v = op->arg[i].v;
    if (v.tag != V_LIST)
        return true;
    Stacked *s = v.list->stacked;
    if (s ? items_same_parts(cx, s->item, op->item) : !must_be_stacked(op, i))
        return true;
    Stacked *wider;
    if (s)
        wider = stacked_as(op->ev, s, op->item);
    else
        wider = stacked_list(op->ev, v.list, op->item);
    if (wider)
        list_become(cx, v.list, &(List){ .stacked = wider });
    return wider != NULL;
}

/* Part i of an item; poison where the item has not the parts of the list's other items. */
static Value part_of_item(const PartsOp *op, Value item, size_t i)
{
    Values part;
    if (!item_parts(op->ev->cx, item, op->item.parts->like, &part) || i >= part.n)
        return val_poison();
    return part.at[i];
}

/* Argument k for the operator on part i: the list of these parts, part i of an item, or another
 * argument as it is. */
static bool part_argument(PartsOp *op, size_t k, size_t i, Value *out)
{
    Ctx *cx = op->ev->cx;
    Value v = op->arg[k].v;
    *out = v;
    if (k > 0 && k == op->row->item) {
        *out = part_of_item(op, v, i);
        return val_ok(*out);
    }
    if (v.tag != V_LIST)
        return true;
    out->list = list_new(cx, v.list->n, NULL);
    if (v.list->stacked) {
        list_stack(cx, out->list, v.list->stacked->column[i]);
        return true;
    }
    for (int64_t n = 0; n < v.list->n; n++)
        list_append(cx, out->list, part_of_item(op, v.list->at[n].v, i));
    return true;
}

/* The operator on part i of every argument: append of (x, 1) to [(a, 0)] is append of x to [a],
 * then of 1 to [0]. */
static bool run_part(PartsOp *op, size_t i)
{
    Ctx *cx = op->ev->cx;
    OpArg *args = new_array(cx, OpArg, op->n);
    if (!args)
        return false;
    for (size_t k = 0; k < op->n; k++) {
        if (!part_argument(op, k, i, &args[k].v))
            return false;
        args[k].name = op->arg[k].name;
    }
    Outcome r = stacked_op(op->ev, op->name, args, op->n, &op->out[i]);
    if (r == FAILED)
        return false;
    const Value *made = op->row->kind == LIST ? &op->out[i] : &args[0].v;
    op->column[i] = r == DONE && made->tag == V_LIST ? made->list->stacked : NULL;
    return op->column[i] || op->row->kind == ITEM ||
        fail(cx, E_BUG, "%s of a part of a list", op->name->s);
}

/* The columns that the operator gave, as one list, which holds the items of the arguments. */
static Stacked *combined(PartsOp *op)
{
    Ctx *cx = op->ev->cx;
    op->item.parts = items_copy(cx, op->item.parts);
    for (size_t i = 0; i < op->item.parts->n; i++)
        op->item.parts->at[i] = op->column[i]->item;
    Stacked *s = stacked_of_columns(cx, op->item, op->column);
    for (size_t k = 0; k < op->n; k++) {
        Value v = op->arg[k].v;
        int64_t n;
        Value *at = v.tag == V_LIST && !v.list->stacked ? list_values(cx, v.list, &n) : NULL;
        if (k > 0 && k == op->row->item)
            stacked_holds(cx, s, &v, 1, NULL);
        else if (v.tag == V_LIST)
            stacked_holds(cx, s, at, at ? n : 0, v.list->stacked);
    }
    return s;
}

/* Puts the result together, and the list that was changed, out of those of the parts. */
static bool finish(PartsOp *op, Value *out)
{
    Ctx *cx = op->ev->cx;
    List *l = op->arg[0].v.list;
    PartsKind kind = op->row->kind;
    Stacked *changed = kind == CHANGE || kind == TAKE ? combined(op) : NULL;
    if (kind == ITEM || kind == TAKE)
        *out = stacked_rebuilt(cx, l->stacked ? l->stacked : changed, op->out);
    if (kind == CHANGE)
        *out = str_is(op->name, "aten::append") || str_is(op->name, "aten::add_") ||
                str_is(op->name, "aten::_set_item")
            ? op->arg[0].v
            : val_none();
    if (kind == LIST) {
        *out = (Value){ .tag = V_LIST, .list = list_new(cx, 0, l->elem) };
        list_stack(cx, out->list, combined(op));
    } else if (changed) {
        list_stack(cx, l, changed);
    }
    return !ctx_failed(cx);
}

/* tensor([[a, b], ..]): the columns side by side. */
static bool tensor_of_rows(Eval *ev, Stacked *s, const OpArg *args, size_t n, Value *out)
{
    Ctx *cx = ev->cx;
    const List *like = s->item.parts->like.list;
    Value type = n > 1 && (!args[1].name || str_is(args[1].name, "dtype")) ? args[1].v : val_none();
    const char *elem = s->item.parts->at[0].elem;
    Ox axis = ox_ints(ev->g, (int64_t[]){ 1 }, 1);
    Ox *column = new_array(cx, Ox, like->n);
    if (!column || !stacked_is_readable(ev, s))
        return false;
    for (int64_t i = 0; i < like->n; i++) {
        if (!val_is_plain_number(like->at[i].v) || strcmp(s->item.parts->at[i].elem, elem))
            return fail(cx, E_UNSUPPORTED,
                        "torch.tensor of a list of lists whose length only the running model "
                        "knows, which hold more than numbers of one kind");
        Ox whole = stacked_whole(ev, s->column[i]);
        column[i] = ox_g(ev->g, "Unsqueeze", whole, axis);
    }
    DType t = strcmp(elem, "float") ? s->item.parts->at[0].type->dtype : DT_FLOAT;
    if (type.tag == V_INT)
        t = dtype_of_c10(type.i, NULL);
    OxList columns = { column, (size_t)like->n };
    Ox joined = ox_make(ev->g, "Concat", columns, ATTRS(INT("axis", 1)));
    *out = val_tensor(cx, ox_cast(ev->g, joined, t));
    return !ctx_failed(cx);
}

/* ---- sort ---- */

static WalkStep stop_without_order(void *arg, Value v)
{
    (void)arg;
    if (v.tag == V_TUPLE)
        return WALK_IN;
    return val_is_plain_number(v) || v.tag == V_STR ? WALK_PAST : WALK_STOP;
}

/* Can items be sorted: are they tuples, perhaps of tuples, of numbers and of values that all
 * items share? The numbers in order decide. */
static bool has_order(Ctx *cx, Value like)
{
    return !val_walk_finds(cx, like, stop_without_order, NULL);
}

/* Where each place of the sorted list is taken from. TopK keeps equal ones in order, so the last
 * key is sorted first. */
static Ox sorted_places(Eval *ev, Stacked *s, bool reverse)
{
    Graph *g = ev->g;
    Ox order = NULL;
    for (size_t i = s->item.parts->n; i-- > 0;) {
        Ox found[2], whole = stacked_whole(ev, s->column[i]);
        if (!ox_ok(whole))
            return POISON;
        Ox number = ox_dtype(whole) == DT_BOOL ? ox_cast(g, whole, DT_INT64) : whole;
        Ox key = order ? ox_g_with(g, "Gather", INPUTS(number, order), INT("axis", 0)) : number;
        Ox count = ox_dims(g, &(Dim){ ox_dim(whole, 0) }, 1);
        if (!ox_make_n(g, "TopK", INPUTS(key, count),
                       ATTRS(INT("axis", 0), INT("largest", reverse), INT("sorted", 1)), found, 2))
            return POISON;
        order = order ? ox_g_with(g, "Gather", INPUTS(order, found[1]), INT("axis", 0)) : found[1];
    }
    return order;
}

/* l.sort(), or sorted(l), a new list. */
static bool sort_tuples(Eval *ev, Stacked *s, List *l, bool reverse, Value *out)
{
    Ctx *cx = ev->cx;
    Stacked **column = new_array(cx, Stacked *, s->item.parts->n);
    if (!has_order(cx, s->item.parts->like)) {
        fail(cx, E_UNSUPPORTED, "sort of a list of %s, on values that only the running model knows",
             s->item.parts->like.tag == V_TUPLE ? "tuples that hold more than numbers" : "objects");
        fail_hint(cx,
                  "sort pairs of a number and the place in the list, (key, i), and take the "
                  "items in the order of the places");
        return false;
    }
    if (!column || !stacked_is_readable(ev, s))
        return false;
    Ox order = sorted_places(ev, s, reverse);
    for (size_t i = 0; i < s->item.parts->n; i++) {
        Ox whole = stacked_whole(ev, s->column[i]);
        Ox at = ox_g_with(ev->g, "Gather", INPUTS(whole, order), INT("axis", 0));
        if (!ox_ok(at))
            return false;
        column[i] = stacked_new(cx, s->column[i]->item, at);
    }
    list_stack(cx, l, stacked_of_columns(cx, s->item, column));
    *out = val_none();
    return !ctx_failed(cx);
}

static bool sort_op(Eval *ev, Stacked *s, Str name, const OpArg *args, size_t n, Value *out)
{
    List *l = args[0].v.list;
    bool reverse = n > 1 && args[1].v.tag == V_BOOL && args[1].v.b;
    bool in_place = str_is(name, "aten::sort");
    if (!in_place)
        l = list_new(ev->cx, 0, l->elem);
    if (!sort_tuples(ev, s, l, reverse, out))
        return false;
    if (!in_place)
        *out = (Value){ .tag = V_LIST, .list = l };
    return true;
}

static const PartsRow *row_of(Str name)
{
    for (size_t i = 0; i < COUNT(rows); i++)
        if (str_is(name, rows[i].name))
            return &rows[i];
    return NULL;
}

/* See stacked_ops.h. len, clear, tensor and sort are done for the whole list, any other operator
 * for each part. */
bool stacked_parts_op(Eval *ev, Stacked *s, Str name, const OpArg *args, size_t n, Value *out)
{
    Ctx *cx = ev->cx;
    PartsOp op = { .ev = ev, .name = name, .row = row_of(name), .arg = args, .n = n };
    List *l = args[0].v.tag == V_LIST ? args[0].v.list : NULL;
    if (l && l->stacked && str_is(name, "aten::len")) {
        Dim length = stacked_length(ev, l->stacked);
        *out = length ? val_dim(cx, length) : val_poison();
        return length && !ctx_failed(cx);
    }
    if (l && str_is(name, "aten::clear")) {
        *out = val_none();
        list_stack(cx, l, NULL);
        return true;
    }
    if (l && l->stacked && str_is(name, "aten::tensor") &&
        l->stacked->item.parts->like.tag == V_LIST)
        return tensor_of_rows(ev, l->stacked, args, n, out);
    if (l && (str_is(name, "aten::sort") || str_is(name, "aten::sorted")))
        return sort_op(ev, s, name, args, n, out);
    if (!op.row || !l) {
        fail(cx, E_UNSUPPORTED,
             "%s of a list of tuples, dicts or objects whose length only the running model knows",
             name->s);
        fail_hint(cx,
                  "l[i], slices, len, append, insert, pop, extend, sort, + and loops over it "
                  "can be converted; keep what else needs in a list of its own");
        return false;
    }
    for (size_t k = 0; k < n; k++)
        if (!join_argument(&op, k))
            return false;
    for (size_t k = 0; k < n; k++)
        if (!widen_argument(&op, k))
            return false;
    if (!op.item.parts) /* inner lists of other lengths made the item one part */
        return stacked_op(ev, name, args, n, out) == DONE;
    op.column = new_array(cx, Stacked *, op.item.parts->n);
    op.out = new_array(cx, Value, op.item.parts->n);
    if (!op.column || !op.out)
        return false;
    for (size_t i = 0; i < op.item.parts->n; i++)
        if (!run_part(&op, i))
            return false;
    return finish(&op, out);
}
