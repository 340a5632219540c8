/* stacked_ops.c - what programs do with lists whose length ONNX decides: read, change and consume
 * them by operators of ONNX.
 *
 * A row says for which lists an operator is known: of numbers, of tensors of one size (both one
 * tensor to ONNX), of tensors whose sizes differ (a sequence) or whose ranks do (a sequence too,
 * whose items must not be read), or of lists (one or the other). Positions are Python's: they count
 * from the end when negative, and slices clamp. What has no row is refused. */
#include "eval/lists/stacked_ops.h"

#include "value/walk.h"
#include "value/c10_dtype.h"

enum {
    NUMBERS = 1,
    TENSORS = 2,
    RAGGED = 4,
    LISTS = 8,
    RANKS = 16,
    STACKS = NUMBERS | TENSORS,
    ALL = STACKS | RAGGED | LISTS | RANKS
};

typedef struct ListOp {
    Eval *ev;
    Ctx *cx;
    Graph *g;
    List *l; /* the first argument, which the operator may change */
    Stacked *s;
    const OpArg *arg;
    size_t n;
    int64_t datum; /* the row's */
    Value *out;
} ListOp;

typedef struct ListRow {
    const char *name;
    bool (*fn)(ListOp *op);
    int lists, least, most;
    int64_t datum;
} ListRow;

/* ---- arguments and results ---- */

/* Argument i, or the one of that name; None when there is none. */
static Value argument(const ListOp *op, size_t i, const char *name)
{
    for (size_t k = 1; k < op->n; k++)
        if (op->arg[k].name ? str_is(op->arg[k].name, name) : k == i)
            return op->arg[k].v;
    return val_none();
}

static bool is_true(const ListOp *op, size_t i, const char *name)
{
    Value v = argument(op, i, name);
    return v.tag == V_BOOL && v.b;
}

static bool dim_argument(const ListOp *op, size_t i, Dim *out)
{
    return val_dim_of(op->arg[i].v, op->cx, out) ||
        fail(op->cx, E_VALUE, "a list takes no %s as a position", val_kind(op->arg[i].v));
}

static Value list_like(ListOp *op, Stacked *s)
{
    Value v = { .tag = V_LIST, .list = list_new(op->cx, 0, str_of(op->cx, s->item.elem)) };
    list_stack(op->cx, v.list, s);
    return v;
}

/* A list with the contents `whole`, whose items are items of s. NULL after an error. */
static Stacked *part_of(ListOp *op, Stacked *s, Ox whole)
{
    Stacked *part = stacked_new(op->cx, s->item, whole);
    stacked_holds(op->cx, part, NULL, 0, s);
    return ox_ok(whole) ? part : NULL;
}

static bool change_to(ListOp *op, Stacked *s)
{
    if (s)
        list_stack(op->cx, op->l, s);
    return s != NULL;
}

/* The list's contents are `whole` from here on, and v (NULL: none) may be one of its items. */
static bool changed(ListOp *op, Ox whole, const Value *v)
{
    Stacked *s = part_of(op, op->s, whole);
    if (s && v)
        stacked_holds(op->cx, s, v, 1, NULL);
    return change_to(op, s);
}

static bool gives_number(ListOp *op, Ox v)
{
    *op->out = val_number_of(op->g, v);
    return !ctx_failed(op->cx);
}

static bool gives_tensor(ListOp *op, Ox v)
{
    *op->out = val_tensor(op->cx, v);
    return !ctx_failed(op->cx);
}

static Ox item_ox(ListOp *op, Value v)
{
    Ox x = stacked_item_ox(op->ev, v, op->s->item);
    return ox_ok(x) ? ox_cast(op->g, x, op->s->item.type->dtype) : x;
}

/* Prepares the list for the item v: it becomes ragged where the sizes of v differ from those of
 * its items. */
static bool admit(ListOp *op, Value v)
{
    ItemType item;
    if (!val_ok(v))
        return refusals_fail(op->cx);
    if (!containers_must_be_set(op->ev, v))
        return false;
    if (!item_type(op->cx, v, &item) || !items_join(op->cx, op->s->item, item, &item))
        return fail(op->cx, E_UNSUPPORTED,
                    "%s comes into a list of other items whose length only the running model knows",
                    val_kind(v));
    op->s = stacked_as(op->ev, op->s, item);
    return op->s != NULL;
}

/* ---- positions and parts ---- */

static Ox wrapped(ListOp *op, Dim i)
{
    Ctx *cx = op->cx;
    Dim zero = dim_int(cx, 0);
    Dim n = stacked_length(op->ev, op->s);
    if (!n)
        return POISON;
    if (dim_le(cx, zero, i) == YES)
        return ox_dim_value(op->g, i);
    Ox from_end = ox_dim_value(op->g, dim_add(cx, i, n));
    if (dim_lt(cx, i, zero) == YES)
        return from_end;
    Ox at = ox_dim_value(op->g, i);
    Ox nought = ox_int(op->g, 0);
    Ox below = ox_g(op->g, "Less", at, nought);
    return ox_g(op->g, "Where", below, from_end, at);
}

/* A position for insert: one outside of the list is the nearest end. */
static Ox clamped(ListOp *op, Dim i)
{
    Dim n = stacked_length(op->ev, op->s);
    Ox at = wrapped(op, i);
    Ox least = ox_int(op->g, 0);
    Ox most = n ? ox_dim_value(op->g, n) : POISON;
    Ox low = ox_g(op->g, "Max", at, least);
    return ox_g(op->g, "Min", low, most);
}

static Ox vector_of(Graph *g, Ox scalar)
{
    Ox axis = ox_ints(g, (int64_t[]){ 0 }, 1);
    return ox_g(g, "Unsqueeze", scalar, axis);
}

static Ox slice_ox(Graph *g, Ox v, Ox start, Ox end, Ox step)
{
    Ox axis = ox_ints(g, (int64_t[]){ 0 }, 1);
    return ox_g(g, "Slice", v, start, end, axis, step);
}

/* The items of sequence `from` at the positions `at`, behind those of `to`: a Loop, as ONNX has no
 * operator for it. */
static Ox items_behind(ListOp *op, Ox to, Ox from, Ox at, ItemType item)
{
    Ctx *cx = op->cx;
    Graph *body = graph_new(cx, op->g, NULL);
    Ox iteration = graph_input(body, NULL, type_tensor(cx, DT_INT64, 0, NULL));
    Ox go = graph_input(body, NULL, type_tensor(cx, DT_BOOL, 0, NULL));
    Ox made = graph_input(body, NULL, type_wrapped(cx, T_SEQUENCE, item.type));
    Ox i = ox_g_with(body, "Gather", INPUTS(at, iteration), INT("axis", 0));
    Ox one = ox_g(body, "SequenceAt", from, i);
    Ox longer = ox_g(body, "SequenceInsert", made, one);
    if (!ox_ok(longer) || !ox_ok(to))
        return POISON;
    graph_output(body, go, NULL);
    graph_output(body, longer, NULL);
    Ox count = ox_dim_value(op->g, ox_dim(at, 0));
    return ox_g_with(op->g, "Loop", INPUTS(count, NULL, to), SUBGRAPH("body", body));
}

static Ox all_positions(ListOp *op, Stacked *s)
{
    Dim n = stacked_length(op->ev, s);
    Ox first = ox_int(op->g, 0);
    Ox end = n ? ox_dim_value(op->g, n) : POISON;
    Ox step = ox_int(op->g, 1);
    return ox_g(op->g, "Range", first, end, step);
}

/* l[start:end:step], bounds as vectors of one int. */
static Ox slice_whole(ListOp *op, Ox start, Ox end, Ox step)
{
    Ox whole = stacked_whole(op->ev, op->s);
    if (!op->s->item.ragged)
        return slice_ox(op->g, whole, start, end, step);
    Ox all = all_positions(op, op->s);
    Ox at = slice_ox(op->g, all, start, end, step);
    Ox none = stack_values(op->g, NULL, 0, op->s->item);
    return ox_ok(at) && ox_ok(whole) ? items_behind(op, none, whole, at, op->s->item) : POISON;
}

/* The list without the items from `start` up to `end`, which are 0 or more; `between` (may be
 * NULL) stands in their place. */
static Ox cut_out(ListOp *op, Ox start, Ox end, Ox between)
{
    Graph *g = op->g;
    Ox whole = stacked_whole(op->ev, op->s);
    Ox first = ox_ints(g, (int64_t[]){ 0 }, 1);
    Ox last = ox_ints(g, (int64_t[]){ INT64_MAX }, 1);
    Ox step = ox_ints(g, (int64_t[]){ 1 }, 1);
    Ox from = vector_of(g, start);
    Ox to = vector_of(g, end);
    Ox head = slice_ox(g, whole, first, from, step);
    Ox tail = slice_ox(g, whole, to, last, step);
    return between ? ox_g_with(g, "Concat", INPUTS(head, between, tail), INT("axis", 0))
                   : ox_g_with(g, "Concat", INPUTS(head, tail), INT("axis", 0));
}

static Ox without(ListOp *op, Ox at)
{
    Ox whole = stacked_whole(op->ev, op->s);
    if (op->s->item.ragged)
        return ox_g(op->g, "SequenceErase", whole, at);
    Ox one = ox_int(op->g, 1);
    Ox behind = ox_g(op->g, "Add", at, one);
    return cut_out(op, at, behind, NULL);
}

/* ---- changing ---- */

static bool append(ListOp *op)
{
    return change_to(op, stacked_append(op->ev, op->s, op->arg[1].v));
}

static bool insert(ListOp *op)
{
    Dim i;
    Value v = op->arg[2].v;
    *op->out = val_none();
    if (!dim_argument(op, 1, &i) || !admit(op, v))
        return false;
    Ox at = clamped(op, i);
    Ox item = item_ox(op, v);
    Ox whole = stacked_whole(op->ev, op->s);
    return changed(op,
                   op->s->item.ragged ? ox_g(op->g, "SequenceInsert", whole, item, at)
                                      : cut_out(op, at, at, vector_of(op->g, item)),
                   &v);
}

static bool set_item(ListOp *op)
{
    Dim i;
    Value v = op->arg[2].v;
    if (!dim_argument(op, 1, &i) || !admit(op, v))
        return false;
    Ox at = wrapped(op, i);
    Ox item = item_ox(op, v);
    Ox whole = stacked_whole(op->ev, op->s);
    if (op->s->item.ragged) {
        Ox shorter = ox_g(op->g, "SequenceErase", whole, at);
        return changed(op, ox_g(op->g, "SequenceInsert", shorter, item, at), &v);
    }
    Ox place = vector_of(op->g, vector_of(op->g, at));
    Ox one = vector_of(op->g, item);
    return changed(op, ox_g(op->g, "ScatterND", whole, place, one), &v);
}

/* l.pop(i), or with datum 1 `del l[i]` */
static bool pop(ListOp *op)
{
    Dim i = dim_int(op->cx, -1);
    Value gone = val_none();
    if (op->n > 1 && !dim_argument(op, 1, &i))
        return false;
    if (!op->datum && !stacked_item(op->ev, op->s, val_dim(op->cx, i), &gone))
        return false;
    bool last = dim_is(i, -1) && !op->s->item.ragged;
    Ox first = ox_ints(op->g, (int64_t[]){ 0 }, 1);
    Ox step = ox_ints(op->g, (int64_t[]){ 1 }, 1);
    *op->out = gone;
    return changed(op,
                   last ? slice_whole(op, first, ox_ints(op->g, (int64_t[]){ -1 }, 1), step)
                        : without(op, wrapped(op, i)),
                   NULL);
}

static bool clear(ListOp *op)
{
    *op->out = val_none();
    list_stack(op->cx, op->l, NULL);
    return true;
}

static bool reverse(ListOp *op)
{
    Ox start = ox_ints(op->g, (int64_t[]){ -1 }, 1);
    Ox end = ox_ints(op->g, (int64_t[]){ INT64_MIN }, 1);
    *op->out = val_none();
    return changed(op, slice_whole(op, start, end, start), NULL);
}

/* l.sort() of numbers, or with datum 1 sorted(l), a new list. The order of equal numbers cannot
 * be seen. */
static bool sort(ListOp *op)
{
    Ox whole = stacked_whole(op->ev, op->s);
    if (!ox_ok(whole))
        return false;
    Ox found[2], count = ox_dims(op->g, &(Dim){ ox_dim(whole, 0) }, 1);
    bool is_bool = ox_dtype(whole) == DT_BOOL;
    Ox keys = is_bool ? ox_cast(op->g, whole, DT_INT64) : whole;
    if (!ox_make_n(
            op->g, "TopK", INPUTS(keys, count),
            ATTRS(INT("axis", 0), INT("largest", is_true(op, 1, "reverse")), INT("sorted", 1)),
            found, 2))
        return false;
    Stacked *s = part_of(op, op->s, ox_cast(op->g, found[0], ox_dtype(whole)));
    *op->out = op->datum && s ? list_like(op, s) : val_none();
    return op->datum ? s != NULL : change_to(op, s);
}

/* a + b, of which one is stacked; NULL after an error. */
static Stacked *joined(ListOp *op, const List *a, const List *b)
{
    const List *list[2] = { a, b };
    ItemType item = { 0 }, other;
    Stacked *s[2];
    for (int k = 0; k < 2; k++) {
        int64_t n;
        Value *at = list_values(op->cx, list[k], &n);
        if (list[k]->stacked)
            other = list[k]->stacked->item;
        if (!at || (!list[k]->stacked && !list_item_type(op->cx, at, n, &other)) ||
            !items_join(op->cx, item, other, &item))
            return fail(op->cx, E_UNSUPPORTED,
                        "lists of different items are joined, and the length of one is not known"),
                   NULL;
    }
    for (int k = 0; k < 2; k++)
        if (!(s[k] = stacked_list(op->ev, list[k], item)))
            return NULL;
    if (item.ragged && (s[0]->empty || s[1]->empty)) /* a sequence without items has no rank */
        return s[0]->empty ? s[1] : s[0];
    Ox x = stacked_whole(op->ev, s[0]);
    Ox y = stacked_whole(op->ev, s[1]);
    Ox at = item.ragged ? all_positions(op, s[1]) : NULL;
    if (!ox_ok(x) || !ox_ok(y) || (at && !ox_ok(at)))
        return NULL;
    Stacked *both = stacked_new(op->cx, item,
                                at ? items_behind(op, x, y, at, item)
                                   : ox_g_with(op->g, "Concat", INPUTS(x, y), INT("axis", 0)));
    stacked_holds(op->cx, both, NULL, 0, s[0]);
    stacked_holds(op->cx, both, NULL, 0, s[1]);
    return ox_ok(both->whole) ? both : NULL;
}

static bool extend(ListOp *op)
{
    if (op->datum)
        *op->out = val_none();
    return change_to(op, joined(op, op->l, op->arg[1].v.list));
}

static bool add(ListOp *op)
{
    Stacked *s = joined(op, op->arg[0].v.list, op->arg[1].v.list);
    if (s)
        *op->out = list_like(op, s);
    return s != NULL;
}

static bool copy(ListOp *op)
{
    *op->out = list_like(op, op->s);
    return true;
}

/* l * n */
static bool repeat(ListOp *op)
{
    Dim times;
    if (!dim_argument(op, 1, &times))
        return false;
    Ox whole = stacked_whole(op->ev, op->s);
    Dim one = dim_int(op->cx, 1), repeats[MAX_RANK];
    for (int i = 0; i < ox_rank(whole); i++)
        repeats[i] = i == 0 ? dim_max(op->cx, times, dim_int(op->cx, 0)) : one;
    Ox counts = ox_rank(whole) > 0 ? ox_dims(op->g, repeats, (size_t)ox_rank(whole)) : POISON;
    Stacked *s = part_of(op, op->s, ox_g(op->g, "Tile", whole, counts));
    if (s)
        *op->out = list_like(op, s);
    return s != NULL;
}

/* ---- looking ---- */

static bool len(ListOp *op)
{
    Dim n = stacked_length(op->ev, op->s);
    if (n)
        *op->out = val_dim(op->cx, n);
    return n != NULL;
}

static bool item(ListOp *op) { return stacked_item(op->ev, op->s, op->arg[1].v, op->out); }

/* l[2:end] of a list of 3 has 1 item at most, whatever end is: also below 0, where the model alone
 * knows how many there are. */
static void bound_part(ListOp *op, Dim start, bool forth, Ox part)
{
    Dim n = stacked_length(op->ev, op->s);
    int64_t least, most, first;
    if (!n || !ox_ok(part) || op->s->item.ragged || !dim_is_sym(ox_dim(part, 0), NULL))
        return;
    dim_range(op->cx, n, &least, &most);
    if (forth && dim_known(start, &first) && first > 0 && most < INT64_MAX)
        most = first < most ? most - first : 0;
    dim_set_range(op->cx, ox_dim(part, 0), 0, most);
}

/* The end of l[start:end:step] with a step back, for Slice, which takes a start before the first
 * item for the first item: `[7][-2::-1]` is empty, so the end is then behind the last item. */
static Ox end_of_way_back(ListOp *op, Dim start, Ox end)
{
    Ctx *cx = op->cx;
    Dim zero = dim_int(cx, 0);
    if (dim_le(cx, zero, start) == YES)
        return end;
    Dim n = stacked_length(op->ev, op->s);
    if (!n)
        return POISON;
    Dim first = dim_add(cx, start, n);
    if (dim_le(cx, zero, first) == YES)
        return end;
    Ox at = ox_dims(op->g, &first, 1);
    Ox nought = ox_ints(op->g, (int64_t[]){ 0 }, 1);
    Ox before = ox_g(op->g, "Less", at, nought);
    Ox last = ox_dims(op->g, &n, 1);
    return ox_g(op->g, "Where", before, last, end);
}

/* l[start:end:step]. A bound that is not given, which TorchScript also says as INT64_MAX, is the
 * end that the step comes from, or goes to. */
static bool slice(ListOp *op)
{
    Dim bound[3] = { NULL, NULL, dim_int(op->cx, 1) };
    for (size_t i = 1; i < op->n && i < 4; i++)
        if (op->arg[i].v.tag != V_NONE && !dim_argument(op, i, &bound[i - 1]))
            return false;
    Tri forth = dim_lt(op->cx, dim_int(op->cx, 0), bound[2]);
    if (forth == UNKNOWN)
        return fail(
            op->cx, E_UNSUPPORTED,
            "a slice with a step of which only the running model knows whether it goes back");
    if (!bound[0] || dim_is(bound[0], INT64_MAX))
        bound[0] = dim_int(op->cx, forth == YES ? 0 : INT64_MAX);
    if (!bound[1] || dim_is(bound[1], INT64_MAX))
        bound[1] = dim_int(op->cx, forth == YES ? INT64_MAX : INT64_MIN);
    Ox start = ox_dims(op->g, &bound[0], 1);
    Ox end = ox_dims(op->g, &bound[1], 1);
    Ox step = ox_dims(op->g, &bound[2], 1);
    if (forth != YES)
        end = end_of_way_back(op, bound[0], end);
    Ox items = slice_whole(op, start, end, step);
    bound_part(op, bound[0], forth == YES, items);
    Stacked *part = part_of(op, op->s, items);
    if (part)
        *op->out = list_like(op, part);
    return part != NULL;
}

/* A bool tensor: which items are equal to v? */
static Ox equal_to(ListOp *op, Value v)
{
    if (!val_is_plain_number(v)) {
        fail(op->cx, E_VALUE, "a list of %s holds no %s", op->s->item.elem, val_kind(v));
        return POISON;
    }
    Ox whole = stacked_whole(op->ev, op->s);
    return ox_g(op->g, "Equal", whole, item_ox(op, v));
}

static Ox how_many(ListOp *op, Ox which)
{
    Ox ones = ox_cast(op->g, which, DT_INT64);
    Ox axis = ox_ints(op->g, (int64_t[]){ 0 }, 1);
    return ox_g_with(op->g, "ReduceSum", INPUTS(ones, axis), INT("keepdims", 0));
}

static bool count(ListOp *op) { return gives_number(op, how_many(op, equal_to(op, op->arg[1].v))); }

static bool contains(ListOp *op)
{
    Ox n = how_many(op, equal_to(op, op->arg[1].v));
    Ox none = ox_int(op->g, 0);
    return gives_number(op, ox_g(op->g, "Greater", n, none));
}

/* The position of the first item that is equal to v. Where there is none the running model
 * fails, as PyTorch raises. */
static Ox place_of(ListOp *op, Value v)
{
    Ox places = ox_g(op->g, "NonZero", equal_to(op, v));
    Ox first = ox_int(op->g, 0);
    Ox row = ox_g_with(op->g, "Gather", INPUTS(places, first), INT("axis", 0));
    return ox_g_with(op->g, "Gather", INPUTS(row, first), INT("axis", 0));
}

static bool index_of(ListOp *op) { return gives_number(op, place_of(op, op->arg[1].v)); }

static bool remove_item(ListOp *op)
{
    *op->out = val_none();
    return changed(op, without(op, place_of(op, op->arg[1].v)), NULL);
}

/* any (datum 1), all */
static bool any_or_all(ListOp *op)
{
    Ox truth = ox_cast(op->g, stacked_whole(op->ev, op->s), DT_BOOL);
    Ox n = how_many(op, op->datum ? truth : ox_g(op->g, "Not", truth));
    Ox none = ox_int(op->g, 0);
    return gives_number(
        op, op->datum ? ox_g(op->g, "Greater", n, none) : ox_g(op->g, "Equal", n, none));
}

typedef enum { SUM, LEAST, MOST } Reduction;

/* The list for ReduceMin and ReduceMax as TorchScript compares: an item replaces the one before
 * only where it is less (greater), which NaN never is, nor any number beside NaN. So min([nan, 1.])
 * is NaN and min([1., nan]) is 1. */
static Ox without_nan(ListOp *op, Ox whole, Ox *first)
{
    Ox zero = ox_int(op->g, 0);
    *first = ox_g_with(op->g, "Gather", INPUTS(whole, zero), INT("axis", 0));
    Ox is_nan = ox_g(op->g, "IsNaN", whole);
    return ox_g(op->g, "Where", is_nan, *first, whole);
}

/* sum(l), or min(l) and max(l), which fail in the running model where the list is empty. */
static bool reduce(ListOp *op)
{
    static const char *const name[] = { [SUM] = "ReduceSum",
                                        [LEAST] = "ReduceMin",
                                        [MOST] = "ReduceMax" };
    Ox whole = stacked_whole(op->ev, op->s);
    if (!ox_ok(whole))
        return false;
    bool is_bool = ox_dtype(whole) == DT_BOOL;
    bool may_be_nan = op->datum != SUM && dtype_is_float(ox_dtype(whole));
    Ox numbers = is_bool ? ox_cast(op->g, whole, DT_INT64) : whole;
    Ox first = NULL;
    if (may_be_nan)
        numbers = without_nan(op, numbers, &first);
    Ox axis = ox_ints(op->g, (int64_t[]){ 0 }, 1);
    Ox made = ox_g_with(op->g, name[op->datum], INPUTS(numbers, axis), INT("keepdims", 0));
    if (may_be_nan) {
        Ox is_nan = ox_g(op->g, "IsNaN", first);
        made = ox_g(op->g, "Where", is_nan, first, made);
    }
    return gives_number(op, is_bool && op->datum != SUM ? ox_cast(op->g, made, DT_BOOL) : made);
}

/* ---- tensors of a list ---- */

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
    if (axis == 0)
        return v;
    for (int i = 0; i < rank; i++)
        perm[i] = i < axis ? i + 1 : i;
    perm[axis] = 0;
    return ox_g_with(g, "Transpose", INPUTS(v), INT_LIST("perm", perm, (size_t)rank));
}

/* [n, a, b, c] along b: bring n in front of b, then merge the two. */
static Ox merge_first(ListOp *op, Ox whole, int axis)
{
    Dim size[MAX_RANK];
    int rank = ox_rank(whole) - 1;
    for (int i = 0; i < rank; i++)
        size[i] = i == axis ? dim_mul(op->cx, ox_dim(whole, 0), ox_dim(whole, i + 1))
                            : ox_dim(whole, i + 1);
    if (!size[axis])
        size[axis] = dim_int(op->cx, -1);
    Ox moved = move_first(op->g, whole, axis);
    Ox shape = ox_dims(op->g, size, (size_t)rank);
    return ox_g(op->g, "Reshape", moved, shape);
}

/* cat, or stack (datum 1) */
static bool cat(ListOp *op)
{
    Value dim = argument(op, 1, "dim");
    Ox whole = stacked_whole(op->ev, op->s);
    int axis;
    if (dim.tag != V_NONE && dim.tag != V_INT)
        return fail(op->cx, E_UNSUPPORTED, "%s along a dim that is not known",
                    op->datum ? "stack" : "cat");
    if (!ox_ok(whole) ||
        !wrap_axis(op->cx, dim.tag == V_INT ? dim.i : 0, op->s->item.type->rank + (int)op->datum,
                   &axis))
        return false;
    if (op->s->item.ragged)
        return gives_tensor(op,
                            ox_g_with(op->g, "ConcatFromSequence", INPUTS(whole), INT("axis", axis),
                                      INT("new_axis", op->datum)));
    return gives_tensor(op,
                        op->datum ? move_first(op->g, whole, axis) : merge_first(op, whole, axis));
}

/* tensor([..ints..]) */
static bool tensor(ListOp *op)
{
    Value type = argument(op, 1, "dtype");
    Ox whole = stacked_whole(op->ev, op->s);
    DType t = op->s->item.type->dtype;
    if (type.tag == V_INT)
        t = dtype_of_c10(type.i, NULL);
    else if (t == DT_DOUBLE)
        t = DT_FLOAT;
    if (op->s->item.ragged) /* PyTorch raises where the lists differ in length, the runtime too */
        whole = ox_g_with(op->g, "ConcatFromSequence", INPUTS(whole), INT("axis", 0),
                          INT("new_axis", 1));
    return gives_tensor(op, ox_cast(op->g, whole, t));
}

/* Size 0 of the longest item of a sequence, found in a Loop. */
static Ox longest(ListOp *op, Ox whole)
{
    Ctx *cx = op->cx;
    Graph *body = graph_new(cx, op->g, NULL);
    Ox iteration = graph_input(body, NULL, type_tensor(cx, DT_INT64, 0, NULL));
    Ox go = graph_input(body, NULL, type_tensor(cx, DT_BOOL, 0, NULL));
    Ox most = graph_input(body, NULL, type_tensor(cx, DT_INT64, 0, NULL));
    Ox one = ox_g(body, "SequenceAt", whole, iteration);
    Ox size = ox_ok(one) ? ox_dim_value(body, ox_dim(one, 0)) : POISON;
    Ox more = ox_g(body, "Max", most, size);
    Dim n = stacked_length(op->ev, op->s);
    if (!ox_ok(more) || !n)
        return POISON;
    graph_output(body, go, NULL);
    graph_output(body, more, NULL);
    Ox count = ox_dim_value(op->g, n);
    Ox none = ox_int(op->g, 0);
    return ox_g_with(op->g, "Loop", INPUTS(count, NULL, none), SUBGRAPH("body", body));
}

/* The items of a sequence, each filled up to `length`, as one tensor: the scan output of a Loop. */
static Ox padded(ListOp *op, Ox whole, Ox length, Ox fill)
{
    Ctx *cx = op->cx;
    Graph *body = graph_new(cx, op->g, NULL);
    Ox iteration = graph_input(body, NULL, type_tensor(cx, DT_INT64, 0, NULL));
    Ox go = graph_input(body, NULL, type_tensor(cx, DT_BOOL, 0, NULL));
    Ox one = ox_g(body, "SequenceAt", whole, iteration);
    Ox end = vector_of(body, length);
    Ox pads[2 * MAX_RANK];
    int rank = ox_rank(one);
    Ox zero = ox_ints(body, (int64_t[]){ 0 }, 1);
    Ox size = ox_ok(one) ? ox_dims(body, &(Dim){ ox_dim(one, 0) }, 1) : POISON;
    for (int i = 0; i < 2 * rank; i++)
        pads[i] = i == rank ? ox_g(body, "Sub", end, size) : zero;
    Ox all = ox_ok(one)
        ? ox_make(body, "Concat", (OxList){ pads, (size_t)(2 * rank) }, ATTRS(INT("axis", 0)))
        : POISON;
    Ox filled = ox_g(body, "Pad", one, all, fill);
    Dim n = stacked_length(op->ev, op->s);
    if (!ox_ok(filled) || !n)
        return POISON;
    graph_output(body, go, NULL);
    graph_output(body, filled, NULL);
    Ox count = ox_dim_value(op->g, n);
    Ox yes = ox_bool(op->g, true);
    return ox_g_with(op->g, "Loop", INPUTS(count, yes), SUBGRAPH("body", body));
}

/* pad_sequence(list, batch_first, padding_value) */
static bool pad_sequence(ListOp *op)
{
    Value fill = argument(op, 2, "padding_value");
    Value side = argument(op, 3, "padding_side");
    Ox whole = stacked_whole(op->ev, op->s);
    if (!ox_ok(whole))
        return false;
    if (op->s->item.type->rank < 1 || (side.tag == V_STR && !str_is(side.s, "right")) ||
        (fill.tag != V_NONE && fill.tag != V_FLOAT && fill.tag != V_INT))
        return fail(op->cx, E_UNSUPPORTED,
                    "pad_sequence with other arguments than a number to fill the right side with");
    if (op->s->item.ragged) {
        double number = fill.tag == V_FLOAT ? fill.f : 0;
        if (fill.tag == V_INT)
            number = (double)fill.i;
        Ox value = ox_number(op->g, op->s->item.type->dtype, number);
        Ox most = longest(op, whole);
        whole = padded(op, whole, most, value);
    }
    return gives_tensor(
        op, is_true(op, 1, "batch_first") || !ox_ok(whole) ? whole : move_first(op->g, whole, 1));
}

/* ---- the rows: name, function, lists, arguments at least and at most ---- */

static const ListRow rows[] = {
    { "aten::append", append, ALL, 2, 2, 0 },
    { "aten::insert", insert, ALL, 3, 3, 0 },
    { "aten::_set_item", set_item, ALL, 3, 3, 0 },
    { "aten::pop", pop, ALL, 1, 2, 0 },
    { "aten::Delete", pop, ALL, 2, 2, 1 },
    { "aten::clear", clear, ALL, 1, 1, 0 },
    { "aten::reverse", reverse, ALL, 1, 1, 0 },
    { "aten::sort", sort, NUMBERS, 1, 2, 0 },
    { "aten::sorted", sort, NUMBERS, 1, 2, 1 },
    { "aten::remove", remove_item, NUMBERS, 2, 2, 0 },
    { "aten::list", copy, ALL, 1, 1, 0 },
    { "aten::copy", copy, ALL, 1, 1, 0 },
    { "aten::mul", repeat, STACKS, 2, 2, 0 },
    { "aten::len", len, ALL, 1, 1, 0 },
    { "aten::__getitem__", item, ALL, 2, 2, 0 },
    { "aten::select", item, ALL, 2, 2, 0 },
    { "aten::slice", slice, ALL, 1, 4, 0 },
    { "aten::count", count, NUMBERS, 2, 2, 0 },
    { "aten::index", index_of, NUMBERS, 2, 2, 0 },
    { "aten::__contains__", contains, NUMBERS, 2, 2, 0 },
    { "aten::any", any_or_all, NUMBERS, 1, 1, 1 },
    { "aten::all", any_or_all, NUMBERS, 1, 1, 0 },
    { "aten::sum", reduce, NUMBERS, 1, 1, SUM },
    { "prim::min", reduce, NUMBERS, 1, 1, LEAST },
    { "prim::max", reduce, NUMBERS, 1, 1, MOST },
    { "aten::cat", cat, TENSORS | RAGGED, 1, 2, 0 },
    { "aten::concat", cat, TENSORS | RAGGED, 1, 2, 0 },
    { "aten::concatenate", cat, TENSORS | RAGGED, 1, 2, 0 },
    { "aten::stack", cat, TENSORS | RAGGED, 1, 2, 1 },
    { "aten::tensor", tensor, NUMBERS | LISTS, 1, 4, 0 },
    { "aten::pad_sequence", pad_sequence, TENSORS | RAGGED, 1, 4, 0 },
};

/* Operators on two lists, of which either may be the stacked one. */
static const ListRow rows_of_two[] = {
    { "aten::extend", extend, ALL, 2, 2, 1 },
    { "aten::add_", extend, ALL, 2, 2, 0 },
    { "aten::add", add, ALL, 2, 2, 0 },
};

static const ListRow *row_of(const ListRow *at, size_t n_rows, Str name, int lists, size_t n)
{
    for (size_t i = 0; i < n_rows; i++)
        if (str_is(name, at[i].name) && at[i].lists & lists && (int)n >= at[i].least &&
            (int)n <= at[i].most)
            return &at[i];
    return NULL;
}

static bool holds_stacked(const List *l)
{
    bool found = false;
    for (int64_t i = 0; !found && i < l->n; i++)
        found = l->at[i].v.tag == V_LIST && l->at[i].v.list->stacked;
    return found;
}

static WalkStep stop_at_symbolic(void *arg, Value v)
{
    (void)arg;
    if (v.tag == V_SYMINT || v.tag == V_SYMFLOAT || v.tag == V_SYMBOOL)
        return WALK_STOP;
    return v.tag == V_TUPLE ? WALK_IN : WALK_PAST;
}

/* Numbers that only the running model knows, as items or in tuples of them. */
static bool is_symbolic(Ctx *cx, Value v) { return val_walk_finds(cx, v, stop_at_symbolic, NULL); }

static bool holds_symbolic(Ctx *cx, const List *l)
{
    bool found = false;
    for (int64_t i = 0; !found && i < l->n; i++)
        found = is_symbolic(cx, l->at[i].v);
    return found;
}

static bool is_one_of(Str name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(name, names[i]))
            return true;
    return false;
}

/* Does the operator look for a number in a list of numbers, where a comparison that only the
 * running model can make comes before the first item that is surely equal? */
static bool seeks_symbolic(Ctx *cx, Str name, const List *l, const OpArg *args, size_t n)
{
    static const char *const names[] = { "aten::__contains__", "aten::index", "aten::count",
                                         "aten::remove" };
    bool all = str_is(name, "aten::count");
    bool found = false;
    bool symbolic = false;
    bool numbers = n == 2 && val_is_plain_number(args[1].v) && is_one_of(name, names, COUNT(names));
    for (int64_t i = 0; numbers && i < l->n; i++) {
        Value v = l->at[i].v;
        numbers = val_is_plain_number(v);
        symbolic = symbolic || (!found && (is_symbolic(cx, args[1].v) || is_symbolic(cx, v)));
        found = found || (!all && !symbolic && val_equal(cx, v, args[1].v));
    }
    return numbers && symbolic;
}

/* Does the operator change or cut a list at a position that only the running model knows, or repeat
 * it so many times? */
static bool places_symbolic(Str name, const OpArg *args, size_t n)
{
    static const char *const names[] = { "aten::insert", "aten::_set_item", "aten::pop",
                                         "aten::Delete", "aten::slice",     "aten::mul" };
    bool second = n > 1 && args[1].v.tag == V_SYMINT;
    bool later = false;
    for (size_t i = 2; i < n; i++)
        later = later || args[i].v.tag == V_SYMINT;
    return second ? is_one_of(name, names, COUNT(names)) : later && str_is(name, "aten::slice");
}

/* Must a list with items of its own become stacked for this operator? It is changed, cut or
 * repeated by numbers that only the running model knows, or sorted by such, or searched for one. */
static bool becomes_stacked(Eval *ev, Str name, const OpArg *args, size_t n, Stacked **out)
{
    const List *list = n > 0 && args[0].v.tag == V_LIST ? args[0].v.list : NULL;
    ItemType item;
    int64_t count;
    if (!list || list->stacked)
        return true;
    bool sorts = str_is(name, "aten::sort") || str_is(name, "aten::sorted");
    bool makes_tensor = str_is(name, "aten::tensor");
    if (!((makes_tensor && holds_stacked(list)) || (sorts && holds_symbolic(ev->cx, list)) ||
          places_symbolic(name, args, n) || seeks_symbolic(ev->cx, name, list, args, n)))
        return true;
    Value *at = list_values(ev->cx, list, &count);
    if (!at || count == 0 || !list_item_type(ev->cx, at, count, &item))
        return at != NULL;
    return (*out = stacked_of(ev, at, count, item)) != NULL;
}

static int lists_of(const Stacked *s)
{
    if (s->item.of)
        return LISTS;
    if (item_ranks_differ(s->item))
        return RANKS;
    if (s->item.ragged)
        return RAGGED;
    return strcmp(s->item.elem, "Tensor") ? NUMBERS : TENSORS;
}

/* The number of the argument that is an item, and not a list on which the operator works; 0:
 * none. */
static size_t item_argument(Str name)
{
    static const struct {
        const char *name;
        size_t place;
    } at[] = {
        { "aten::append", 1 },       { "aten::insert", 2 }, { "aten::_set_item", 2 },
        { "aten::remove", 1 },       { "aten::count", 1 },  { "aten::index", 1 },
        { "aten::__contains__", 1 },
    };
    for (size_t i = 0; i < COUNT(at); i++)
        if (str_is(name, at[i].name))
            return at[i].place;
    return 0;
}

/* The list among the arguments whose length ONNX decides, the first of two; NULL: there is none. */
static Stacked *stacked_argument(Str name, const OpArg *args, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (args[i].v.tag == V_LIST && args[i].v.list->stacked &&
            (i == 0 || i != item_argument(name)))
            return args[i].v.list->stacked;
    return NULL;
}

/* The row for s among these arguments; NULL: the operator is not known for such a list. */
static const ListRow *row_for(const Stacked *s, Str name, const OpArg *args, size_t n)
{
    bool first = n && args[0].v.tag == V_LIST;
    if (first && n == 2 && args[1].v.tag == V_LIST && !item_argument(name))
        return row_of(rows_of_two, COUNT(rows_of_two), name, lists_of(s), n);
    if (first && (!args[0].v.list->stacked || args[0].v.list->stacked == s))
        return row_of(rows, COUNT(rows), name, lists_of(s), n);
    return NULL;
}

/* See stacked_ops.h. Tried in turn: a tensor whose sizes are such a list; the operator on the
 * list of each part; the rows above. */
Outcome stacked_op(Eval *ev, Str name, const OpArg *args, size_t n, Value *out)
{
    Stacked *s = stacked_argument(name, args, n);
    if (!s && !becomes_stacked(ev, name, args, n, &s))
        return FAILED;
    if (!s)
        return NOT_MINE;
    Outcome filled = stacked_sizes_op(ev, s, name, args, n, out);
    if (filled != NOT_MINE)
        return filled;
    if (s->item.parts)
        return outcome_of(stacked_parts_op(ev, s, name, args, n, out));
    const ListRow *row = row_for(s, name, args, n);
    if (row) {
        ListOp op = { .ev = ev,
                      .cx = ev->cx,
                      .g = ev->g,
                      .l = args[0].v.list,
                      .s = s,
                      .arg = args,
                      .n = n,
                      .datum = row->datum,
                      .out = out };
        *out = args[0].v;
        return row->fn(&op) ? outcome_done(ev->cx) : FAILED;
    }
    fail(ev->cx, E_UNSUPPORTED, "%s of a list whose length only the running model knows", name->s);
    fail_hint(ev->cx,
              "stack or cat the list first; l[i], slices, len, append, insert, pop, sort, "
              "+ and torch.tensor of numbers can be converted too");
    return FAILED;
}
