/* builtin_list.c - lists, dicts and tuples. They are shared by reference, as in Python; heap.c
 * writes them. */
#include <math.h>
#include <stdlib.h>

#include "eval/builtin/builtin.h"

/* ---- positions ---- */

/* i counts from the end when negative. */
static bool wrap(Builtin *b, int64_t i, int64_t n, int64_t *out)
{
    *out = i < 0 ? i + n : i;
    return (*out >= 0 && *out < n) ||
        builtin_fail(b, "list index %lld is out of range for length %lld", (long long)i,
                     (long long)n);
}

static Value new_list(Builtin *b, int64_t cap, const List *like)
{
    return (Value){ .tag = V_LIST, .list = list_new(b->cx, cap, like ? like->elem : NULL) };
}

static Value copy_range(Builtin *b, const List *l)
{
    Value v = new_list(b, l->n, l);
    for (int64_t i = 0; i < l->n; i++)
        list_append(b->cx, v.list, l->at[i].v);
    return v;
}

/* ---- reading ---- */

static bool len_of(Builtin *b, Value *out)
{
    Value v = b->arg[0].v;
    switch (v.tag) {
    case V_LIST:  *out = val_int(v.list->n); return true;
    case V_DICT:  *out = val_int(v.dict->n); return true;
    case V_TUPLE: *out = val_int(v.tuple->n); return true;
    default:      *out = val_int(v.s->len); return true;
    }
}

static bool get_item(Builtin *b, Value *out)
{
    const List *l = b->arg[0].v.list;
    int64_t i;
    if (!wrap(b, b->arg[1].v.i, l->n, &i))
        return false;
    *out = l->at[i].v;
    return true;
}

static bool get_tuple_item(Builtin *b, Value *out)
{
    const Tuple *t = b->arg[0].v.tuple;
    int64_t i;
    if (!wrap(b, b->arg[1].v.i, t->n, &i))
        return false;
    *out = t->at[i];
    return true;
}

/* Python's slice: the items start, start + step, .. of a list, `count` of them. */
typedef struct Range {
    int64_t start, count, step;
} Range;

/* A bound of a slice of n items: negative ones count from the end; clamped to least .. most. */
static int64_t clamp_bound(int64_t i, int64_t n, int64_t least, int64_t most)
{
    if (i < 0 && i != INT64_MIN)
        i += n;
    if (i < least)
        return least;
    return i > most ? most : i;
}

/* How many steps lead from `from` to before `to`. */
static int64_t n_steps(int64_t from, int64_t to, int64_t step)
{
    return to > from ? (to - from - 1) / step + 1 : 0;
}

/* The bound of a slice that is argument i; 2^63 - 1 stands for one that is missing, as in
 * PyTorch. */
static int64_t bound_or(const Builtin *b, size_t i, int64_t deflt)
{
    int64_t bound = int_or(b, i, INT64_MAX);
    return bound == INT64_MAX ? deflt : bound;
}

/* [start:end:step], the arguments 1 to 3, of n items. [::-1] of 3 is start 2, count 3, step -1. */
static bool slice_range(Builtin *b, int64_t n, Range *r)
{
    int64_t step = int_or(b, 3, 1);
    if (step == 0)
        return builtin_fail(b, "slice step cannot be zero");
    if (step == INT64_MIN)
        return builtin_fail(b, "slice step is out of bounds");
    int64_t least = step < 0 ? -1 : 0;
    int64_t most = step < 0 ? n - 1 : n;
    int64_t start = bound_or(b, 1, step < 0 ? INT64_MAX : 0);
    int64_t end = bound_or(b, 2, step < 0 ? INT64_MIN : INT64_MAX);
    start = clamp_bound(start, n, least, most);
    end = clamp_bound(end, n, least, most);
    r->start = start;
    r->step = step;
    r->count = step > 0 ? n_steps(start, end, step) : n_steps(end, start, -step);
    return true;
}

static bool slice_list(Builtin *b, Value *out)
{
    const List *l = b->arg[0].v.list;
    Range r;
    if (!slice_range(b, l->n, &r))
        return false;
    *out = new_list(b, r.count, l);
    for (int64_t i = 0; i < r.count; i++)
        list_append(b->cx, out->list, l->at[r.start + i * r.step].v);
    return true;
}

static bool slice_text(Builtin *b, Value *out)
{
    Str s = b->arg[0].v.s;
    Range r;
    if (!slice_range(b, s->len, &r))
        return false;
    Buf made = buf_new(b->cx);
    for (int64_t i = 0; i < r.count; i++)
        buf_add(&made, &s->s[r.start + i * r.step], 1);
    *out = val_str(buf_done(&made));
    return true;
}

/* Is v known only when the model runs? Whether it is equal to another value is not known, so it
 * cannot be searched for. */
static bool is_staged(Value v)
{
    return v.tag == V_SYMINT || v.tag == V_SYMFLOAT || v.tag == V_SYMBOOL || v.tag == V_TENSOR;
}

static bool find_item(Builtin *b, const List *l, Value v, int64_t *at)
{
    *at = -1;
    for (int64_t i = 0; i < l->n && *at < 0; i++) {
        if (is_staged(v) || is_staged(l->at[i].v))
            return fail(b->cx, E_UNDECIDED,
                        "%s looks for a value that is only known when the model runs",
                        b->row->name);
        if (val_equal(b->cx, l->at[i].v, v))
            *at = i;
    }
    return true;
}

static bool contains(Builtin *b, Value *out)
{
    int64_t at;
    if (!find_item(b, b->arg[0].v.list, b->arg[1].v, &at))
        return false;
    *out = val_bool(at >= 0);
    return true;
}

static bool index_of(Builtin *b, Value *out)
{
    int64_t at;
    if (!find_item(b, b->arg[0].v.list, b->arg[1].v, &at))
        return false;
    *out = val_int(at);
    return at >= 0 || builtin_fail(b, "%s is not in the list", val_text(b->cx, b->arg[1].v)->s);
}

static bool count_of(Builtin *b, Value *out)
{
    const List *l = b->arg[0].v.list;
    int64_t n = 0;
    for (int64_t i = 0; i < l->n; i++) {
        if (is_staged(b->arg[1].v) || is_staged(l->at[i].v))
            return fail(b->cx, E_UNDECIDED,
                        "count() of a value that is only known when the model runs");
        n += val_equal(b->cx, l->at[i].v, b->arg[1].v);
    }
    *out = val_int(n);
    return true;
}

/* ---- writing ---- */

static bool set_item(Builtin *b, Value *out)
{
    List *l = b->arg[0].v.list;
    int64_t i;
    *out = b->arg[0].v;
    if (!wrap(b, b->arg[1].v.i, l->n, &i))
        return false;
    list_set(b->cx, l, i, b->arg[2].v);
    return true;
}

static bool append(Builtin *b, Value *out)
{
    *out = b->arg[0].v;
    list_append(b->cx, out->list, b->arg[1].v);
    return true;
}

/* l.extend(other): the length of `other` is read first, as it may be l itself. */
static bool extend(Builtin *b, Value *out)
{
    List *l = b->arg[0].v.list;
    const List *other = b->arg[1].v.list;
    for (int64_t i = 0, n = other->n; i < n; i++)
        list_append(b->cx, l, other->at[i].v);
    *out = b->row->datum ? b->arg[0].v : val_none();
    return true;
}

static bool insert(Builtin *b, Value *out)
{
    List *l = b->arg[0].v.list;
    list_insert(b->cx, l, clamp_bound(b->arg[1].v.i, l->n, 0, l->n), b->arg[2].v);
    *out = val_none();
    return true;
}

static bool pop(Builtin *b, Value *out)
{
    List *l = b->arg[0].v.list;
    int64_t i;
    if (l->n == 0)
        return builtin_fail(b, "pop from an empty list");
    if (!wrap(b, int_or(b, 1, -1), l->n, &i))
        return false;
    *out = list_remove(b->cx, l, i);
    return true;
}

static bool delete_item(Builtin *b, Value *out)
{
    Value gone;
    if (!pop(b, &gone))
        return false;
    *out = val_none();
    return true;
}

static bool remove_item(Builtin *b, Value *out)
{
    int64_t at;
    if (!find_item(b, b->arg[0].v.list, b->arg[1].v, &at))
        return false;
    if (at < 0)
        return builtin_fail(b, "%s is not in the list", val_text(b->cx, b->arg[1].v)->s);
    list_remove(b->cx, b->arg[0].v.list, at);
    *out = val_none();
    return true;
}

static bool clear_list(Builtin *b, Value *out)
{
    list_resize(b->cx, b->arg[0].v.list, 0);
    *out = val_none();
    return true;
}

static bool reverse_list(Builtin *b, Value *out)
{
    List *l = b->arg[0].v.list;
    count_numbers(b->cx, (uint64_t)l->n);
    for (int64_t i = 0, k = l->n - 1; i < k; i++, k--) {
        Value v = l->at[i].v;
        list_set(b->cx, l, i, l->at[k].v);
        list_set(b->cx, l, k, v);
    }
    *out = val_none();
    return true;
}

/* ---- order ---- */

/* Tuples compare item by item; bools as numbers. */
static bool item_less(Ctx *cx, Value a, Value b, bool *known)
{
    check_stack(cx);
    count_values(cx, 1);
    if (a.tag != V_TUPLE || b.tag != V_TUPLE)
        return less_than(a, b, known);
    for (int64_t i = 0; i < a.tuple->n && i < b.tuple->n; i++) {
        if (item_less(cx, a.tuple->at[i], b.tuple->at[i], known))
            return true;
        if (!*known || item_less(cx, b.tuple->at[i], a.tuple->at[i], known) || !*known)
            return false;
    }
    *known = true;
    return a.tuple->n < b.tuple->n;
}

/* Merge sort, so that equal items keep their order and nothing is quadratic. False: items that have
 * no order. */
static bool sort_values(Ctx *cx, Value *at, Value *scratch, int64_t n, bool reverse)
{
    bool known = true;
    for (int64_t width = 1; width < n; width *= 2) {
        count_numbers(cx, (uint64_t)n);
        for (int64_t from = 0; from < n; from += 2 * width) {
            int64_t mid = from + width < n ? from + width : n;
            int64_t end = from + 2 * width < n ? from + 2 * width : n;
            int64_t i = from;
            int64_t k = mid;
            for (int64_t o = from; o < end; o++) {
                bool right = i >= mid;
                if (!right && k < end)
                    right = reverse ? item_less(cx, at[i], at[k], &known)
                                    : item_less(cx, at[k], at[i], &known);
                if (!known)
                    return false;
                scratch[o] = right ? at[k++] : at[i++];
            }
        }
        memcpy(at, scratch, (size_t)n * sizeof *at);
    }
    return true;
}

static bool sort_into(Builtin *b, const List *from, List *to)
{
    bool reverse = !missing(b, 1) && b->arg[1].v.b;
    Value *items = new_array(b->cx, Value, from->n);
    Value *scratch = new_array(b->cx, Value, from->n);
    if (!items || !scratch)
        return false;
    for (int64_t i = 0; i < from->n; i++)
        items[i] = from->at[i].v;
    if (!sort_values(b->cx, items, scratch, from->n, reverse))
        return fail(b->cx, E_UNSUPPORTED,
                    "%s of values without an order, or only known when the model runs",
                    b->row->name);
    for (int64_t i = 0; i < from->n; i++)
        list_set(b->cx, to, i, items[i]);
    return true;
}

static bool sort_list(Builtin *b, Value *out)
{
    List *l = b->arg[0].v.list;
    if (l->n > 0 && l->at[0].v.tag == V_TENSOR)
        return fail(b->cx, E_UNSUPPORTED, "sort of a list of tensors");
    *out = val_none();
    return sort_into(b, l, l);
}

static bool sorted_list(Builtin *b, Value *out)
{
    *out = copy_range(b, b->arg[0].v.list);
    return sort_into(b, out->list, out->list);
}

/* ---- making ---- */

static bool copy_list(Builtin *b, Value *out)
{
    *out = copy_range(b, b->arg[0].v.list);
    return true;
}

static bool same_list(Builtin *b, Value *out)
{
    *out = b->arg[0].v;
    return true;
}

static bool join_lists(Builtin *b, Value *out)
{
    const List *other = b->arg[1].v.list;
    *out = copy_range(b, b->arg[0].v.list);
    for (int64_t i = 0; i < other->n; i++)
        list_append(b->cx, out->list, other->at[i].v);
    return true;
}

/* l * times, or times * l: a new list. */
static bool repeat_list(Builtin *b, Value *out)
{
    bool list_first = b->arg[0].v.tag == V_LIST;
    const List *l = b->arg[list_first ? 0 : 1].v.list;
    int64_t times = b->arg[list_first ? 1 : 0].v.i, n;
    if (times < 0 && l->n > 0)
        return builtin_fail(b, "a list times %lld", (long long)times);
    if (!mul_ok(times, l->n, &n))
        n = INT64_MAX;
    if (!limit_ok(b->cx, LIMIT_OBJECTS, (uint64_t)n, "items in a list"))
        return false;
    *out = new_list(b, n, l);
    for (int64_t i = 0; i < n; i++)
        list_append(b->cx, out->list, l->at[i % l->n].v);
    return true;
}

/* l *= times */
static bool repeat_in_place(Builtin *b, Value *out)
{
    List *l = b->arg[0].v.list;
    int64_t times = b->arg[1].v.i > 0 ? b->arg[1].v.i : 0;
    int64_t n = l->n;
    int64_t all;
    if (!mul_ok(times, n, &all))
        all = INT64_MAX;
    if (!limit_ok(b->cx, LIMIT_OBJECTS, (uint64_t)all, "items in a list"))
        return false;
    if (times == 0)
        list_resize(b->cx, l, 0);
    for (int64_t i = n; i < all; i++)
        list_append(b->cx, l, l->at[i - n].v);
    *out = b->arg[0].v;
    return true;
}

static bool range_list(Builtin *b, Value *out)
{
    int64_t n = b->arg[0].v.i;
    if (n < 0)
        return builtin_fail(b, "a list of %lld numbers", (long long)n);
    if (!limit_ok(b->cx, LIMIT_OBJECTS, (uint64_t)n, "items in a list"))
        return false;
    *out = (Value){ .tag = V_LIST, .list = list_new(b->cx, n, str_of(b->cx, "int")) };
    for (int64_t i = 0; i < n; i++)
        list_append(b->cx, out->list, val_int(i));
    return true;
}

static bool list_of_text(Builtin *b, Value *out)
{
    Str s = b->arg[0].v.s;
    *out = (Value){ .tag = V_LIST, .list = list_new(b->cx, s->len, str_of(b->cx, "str")) };
    for (uint32_t i = 0; i < s->len; i++)
        list_append(b->cx, out->list, val_str(str_n(b->cx, &s->s[i], 1)));
    return true;
}

/* ---- numbers of a list ---- */

/* *out = NAME(*out, v), of a list's items one by one; what: for messages. */
static bool fold_item(Builtin *b, const char *name, const char *what, Value v, Value *out)
{
    OpArg both[2] = { { NULL, *out }, { NULL, v } };
    if (builtin_call(b->ev, str_of(b->cx, name), both, 2, out) == DONE)
        return true;
    return !ctx_failed(b->cx) && builtin_fail(b, "%s of a list of %s", what, val_kind(v));
}

/* *out = NAME(v, *out): a NaN that comes first stays, later ones are never it. */
static bool extreme_item(Builtin *b, const char *name, const char *what, Value v, Value *out)
{
    Value before = *out;
    *out = v;
    return fold_item(b, name, what, before, out);
}

/* min (datum 0) or max of a list: bools here, the others by the rows of two numbers. */
static bool extreme_of_list(Builtin *b, Value *out)
{
    const List *l = b->arg[0].v.list;
    bool max = b->row->datum;
    if (l->n == 0)
        return builtin_fail(b, "%s of an empty list", max ? "max" : "min");
    *out = l->at[0].v;
    const char *op = max ? "prim::max" : "prim::min";
    const char *word = max ? "max" : "min";
    count_numbers(b->cx, (uint64_t)l->n);
    for (int64_t i = 1; i < l->n; i++) {
        Value v = l->at[i].v;
        if (out->tag == V_BOOL && v.tag == V_BOOL)
            *out = val_bool(max ? out->b || v.b : out->b && v.b);
        else if (!extreme_item(b, op, word, v, out))
            return false;
    }
    return true;
}

/* The lexicographically smaller or larger of two lists. */
static bool extreme_of_lists(Builtin *b, Value *out)
{
    const List *x = b->arg[0].v.list;
    const List *y = b->arg[1].v.list;
    bool known = true;
    bool less = x->n < y->n;
    count_numbers(b->cx, (uint64_t)x->n);
    for (int64_t i = 0; i < x->n && i < y->n; i++) {
        bool below = less_than(x->at[i].v, y->at[i].v, &known);
        if (!known)
            return fail(b->cx, E_UNDECIDED, "%s of lists with values that have no order yet",
                        b->row->name);
        if (below || less_than(y->at[i].v, x->at[i].v, &known)) {
            less = below;
            break;
        }
    }
    *out = b->arg[less == !b->row->datum ? 0 : 1].v;
    return true;
}

/* d as an int of 32 bits: 2**31 becomes -2**31. */
static Dim low_half(Ctx *cx, Dim d)
{
    Dim half = dim_int(cx, (int64_t)1 << 31);
    Dim whole = dim_int(cx, (int64_t)1 << 32);
    return dim_sub(cx, dim_mod(cx, dim_add(cx, d, half), whole), half);
}

/* v, of a bool the int that it counts as. */
static bool as_summand(Builtin *b, Value v, Value *out)
{
    *out = v.tag == V_BOOL ? val_int(v.b) : v;
    if (v.tag != V_SYMBOOL)
        return true;
    OpArg one = { NULL, v };
    return builtin_call(b->ev, str_of(b->cx, "aten::Int"), &one, 1, out) == DONE;
}

/* Ints add up in 32 bits, as in PyTorch's sum(), with which a model may have been trained. A sum of
 * sizes is not cut off: it stays an expression of them. */
static bool sum_of_list(Builtin *b, Value *out)
{
    const List *l = b->arg[0].v.list;
    bool ints = !l->elem || str_is(l->elem, "int");
    *out = val_int(0);
    count_numbers(b->cx, (uint64_t)l->n);
    if (l->elem && str_is(l->elem, "float"))
        *out = val_float(0);
    for (int64_t i = 0; i < l->n; i++) {
        Value v;
        if (!as_summand(b, l->at[i].v, &v) || !fold_item(b, "aten::add", "sum", v, out))
            return false;
    }
    if (out->tag == V_INT && ints)
        *out = val_int((int32_t)(uint32_t)(uint64_t)out->i);
    if (out->tag != V_SYMINT || !ints || dim_is_small(b->cx, out->dim, INT32_MAX))
        return true;
    *out = val_dim(b->cx, low_half(b->cx, out->dim));
    return !ctx_failed(b->cx);
}

/* *out or v, *out and v: of the truth of v, which the running model decides. */
static bool fold_truth(Builtin *b, bool any, Value v, Value *out)
{
    OpArg one = { NULL, v };
    Value truth;
    return builtin_call(b->ev, str_of(b->cx, "aten::Bool"), &one, 1, &truth) == DONE &&
        fold_item(b, any ? "aten::__or__" : "aten::__and__", any ? "any" : "all", truth, out);
}

/* any (datum 1) or all. A known item may decide the answer whatever the symbolic items are. */
static bool any_or_all(Builtin *b, Value *out)
{
    const List *l = b->arg[0].v.list;
    bool any = b->row->datum;
    *out = val_bool(!any);
    count_numbers(b->cx, (uint64_t)l->n);
    for (int64_t i = 0; i < l->n; i++)
        if (val_truth(b->cx, l->at[i].v) == (any ? YES : NO)) {
            *out = val_bool(any);
            return true;
        }
    for (int64_t i = 0; i < l->n; i++)
        if (val_truth(b->cx, l->at[i].v) == UNKNOWN && !fold_truth(b, any, l->at[i].v, out))
            return false;
    return true;
}

/* ---- dicts ---- */

static bool no_key(Builtin *b, Value key)
{
    return !made_up_key(b->cx, b->arg[0].v.dict, key) &&
        builtin_fail(b, "the dict has no key %s", val_text(b->cx, key)->s);
}

static bool can_be_key(Builtin *b, Value key)
{
    return must_be_set(b->ev, key) &&
        (!is_staged(key) ||
         fail(b->cx, E_UNSUPPORTED, "a dict key that is only known when the model runs"));
}

static bool dict_item(Builtin *b, Value *out)
{
    if (!can_be_key(b, b->arg[1].v))
        return false;
    const Cell *c = dict_find(b->cx, b->arg[0].v.dict, b->arg[1].v);
    if (!c)
        return no_key(b, b->arg[1].v);
    *out = c->v;
    return true;
}

/* get(d, k) and get(d, k, default) */
static bool dict_get(Builtin *b, Value *out)
{
    if (!can_be_key(b, b->arg[1].v))
        return false;
    const Cell *c = dict_find(b->cx, b->arg[0].v.dict, b->arg[1].v);
    *out = c ? c->v : arg_of(b, 2);
    return true;
}

static bool dict_put(Builtin *b, Value *out)
{
    *out = val_none();
    if (!can_be_key(b, b->arg[1].v))
        return false;
    dict_set(b->cx, b->arg[0].v.dict, b->arg[1].v, b->arg[2].v);
    return true;
}

static bool dict_setdefault(Builtin *b, Value *out)
{
    if (!can_be_key(b, b->arg[1].v))
        return false;
    const Cell *c = dict_find(b->cx, b->arg[0].v.dict, b->arg[1].v);
    *out = c ? c->v : b->arg[2].v;
    if (!c)
        dict_set(b->cx, b->arg[0].v.dict, b->arg[1].v, b->arg[2].v);
    return true;
}

static bool dict_contains(Builtin *b, Value *out)
{
    *out = val_bool(can_be_key(b, b->arg[1].v) && dict_find(b->cx, b->arg[0].v.dict, b->arg[1].v));
    return true;
}

/* pop(d, k), pop(d, k, default), Delete(d, k) (datum 1) */
static bool dict_pop(Builtin *b, Value *out)
{
    if (!can_be_key(b, b->arg[1].v))
        return false;
    const Cell *c = dict_find(b->cx, b->arg[0].v.dict, b->arg[1].v);
    if (!c && b->n < 3)
        return no_key(b, b->arg[1].v);
    if (b->row->datum)
        *out = val_none();
    else
        *out = c ? c->v : b->arg[2].v;
    if (c)
        dict_remove(b->cx, b->arg[0].v.dict, b->arg[1].v);
    return true;
}

/* TorchScript takes the first pair, Python the last. */
static bool dict_popitem(Builtin *b, Value *out)
{
    Dict *d = b->arg[0].v.dict;
    if (d->n == 0)
        return builtin_fail(b, "popitem() of an empty dict");
    Value pair[2] = { d->at[0].key, d->at[0].val.v };
    dict_remove(b->cx, d, pair[0]);
    *out = val_tuple(b->cx, pair, 2);
    return true;
}

typedef enum { DICT_KEYS, DICT_VALUES, DICT_ITEMS } DictPart;

static bool dict_list(Builtin *b, Value *out)
{
    const Dict *d = b->arg[0].v.dict;
    *out = (Value){ .tag = V_LIST, .list = list_new(b->cx, d->n, NULL) };
    for (int64_t i = 0; i < d->n; i++) {
        Value pair[2] = { d->at[i].key, d->at[i].val.v };
        list_append(b->cx, out->list,
                    b->row->datum == DICT_ITEMS ? val_tuple(b->cx, pair, 2) : pair[b->row->datum]);
    }
    return true;
}

static bool dict_update(Builtin *b, Value *out)
{
    const Dict *from = b->arg[1].v.dict;
    for (int64_t i = 0, n = from->n; i < n; i++)
        dict_set(b->cx, b->arg[0].v.dict, from->at[i].key, from->at[i].val.v);
    *out = val_none();
    return true;
}

static bool dict_clear(Builtin *b, Value *out)
{
    Dict *d = b->arg[0].v.dict;
    while (d->n > 0)
        dict_remove(b->cx, d, d->at[d->n - 1].key);
    *out = val_none();
    return true;
}

/* dict(), dict(d), copy(d) */
static bool dict_copy(Builtin *b, Value *out)
{
    const Dict *from = b->n ? b->arg[0].v.dict : NULL;
    *out = (Value){ .tag = V_DICT,
                    .dict = dict_new(b->cx,
                                     from ? from->type : str_of(b->cx, "Dict[str, Tensor]")) };
    if (!from)
        return true;
    for (int64_t i = 0; i < from->n; i++)
        dict_set(b->cx, out->dict, from->at[i].key, from->at[i].val.v);
    return true;
}

static bool dict_of_pairs(Builtin *b, Value *out)
{
    const List *l = b->arg[0].v.list;
    *out = (Value){ .tag = V_DICT, .dict = dict_new(b->cx, NULL) };
    for (int64_t i = 0; i < l->n; i++) {
        Value pair = l->at[i].v;
        if (pair.tag != V_TUPLE || pair.tuple->n != 2)
            return builtin_fail(b, "dict() of a list whose items are no pairs");
        if (!can_be_key(b, pair.tuple->at[0]))
            return false;
        dict_set(b->cx, out->dict, pair.tuple->at[0], pair.tuple->at[1]);
    }
    return true;
}

/* ---- shapes as lists ---- */

/* _single _pair _triple _quadruple: a number becomes a list of so many */
static bool times_n(Builtin *b, Value *out)
{
    Value v = b->arg[0].v;
    Value items[4] = { v, v, v, v };
    *out = v;
    if (v.tag != V_LIST)
        *out = val_list(b->cx, items, b->row->datum, v.tag == V_FLOAT ? "float" : "int");
    return true;
}

/* The shape that two shapes broadcast to. */
static bool infer_size(Builtin *b, Value *out)
{
    const List *x = b->arg[0].v.list;
    const List *y = b->arg[1].v.list;
    int64_t rank = x->n > y->n ? x->n : y->n;
    *out = (Value){ .tag = V_LIST, .list = list_new(b->cx, rank, str_of(b->cx, "int")) };
    for (int64_t i = 0; i < rank; i++) {
        Dim p = dim_int(b->cx, 1);
        Dim q = p;
        Dim joined;
        int64_t k = i - (rank - x->n);
        int64_t m = i - (rank - y->n);
        if ((k >= 0 && !val_dim_of(x->at[k].v, b->cx, &p)) ||
            (m >= 0 && !val_dim_of(y->at[m].v, b->cx, &q)))
            return builtin_fail(b, "a shape holds something else than ints");
        if (!dim_broadcast(b->cx, p, q, &joined))
            return builtin_fail(b, "the shapes %s and %s do not broadcast",
                                val_text(b->cx, b->arg[0].v)->s, val_text(b->cx, b->arg[1].v)->s);
        list_append(b->cx, out->list, val_dim(b->cx, joined));
    }
    return !ctx_failed(b->cx);
}

static bool size_if_not_equal(Builtin *b, Value *out)
{
    *out = val_equal(b->cx, b->arg[0].v, b->arg[1].v) ? val_none() : b->arg[0].v;
    return true;
}

#define LIST_ROW(word, k, f)       { .name = "aten::" word, .kinds = k, .fn = f }
#define LIST_FAMILY(word, k, f, d) { .name = "aten::" word, .kinds = k, .fn = f, .datum = d }

const BuiltinRow builtin_lists[] = {
    LIST_ROW("len", "l", len_of),
    LIST_ROW("len", "d", len_of),
    LIST_ROW("len", "s", len_of),
    LIST_ROW("len", "t", len_of),
    LIST_ROW("__getitem__", "lI", get_item),
    LIST_ROW("__getitem__", "tI", get_tuple_item),
    LIST_ROW("__getitem__", "d*", dict_item),
    LIST_ROW("select", "lI", get_item),
    LIST_ROW("slice", "l|I?I?I", slice_list),
    LIST_ROW("slice", "s|I?I?I", slice_text),
    LIST_ROW("__contains__", "l*", contains),
    LIST_ROW("__contains__", "d*", dict_contains),
    LIST_ROW("index", "l*", index_of),
    LIST_ROW("count", "l*", count_of),
    LIST_ROW("_set_item", "lI*", set_item),
    LIST_ROW("_set_item", "d**", dict_put),
    LIST_ROW("append", "l*", append),
    LIST_ROW("extend", "ll", extend),
    LIST_ROW("insert", "lI*", insert),
    LIST_ROW("pop", "l|I", pop),
    LIST_ROW("Delete", "lI", delete_item),
    LIST_ROW("remove", "l*", remove_item),
    LIST_ROW("clear", "l", clear_list),
    LIST_ROW("reverse", "l", reverse_list),
    { .name = "aten::sort", .kinds = "l|B", .fn = sort_list, .names = "self,reverse" },
    { .name = "aten::sorted", .kinds = "l|B", .fn = sorted_list, .names = "self,reverse" },
    LIST_ROW("copy", "l", copy_list),
    LIST_ROW("list", "l", copy_list),
    LIST_ROW("list", "s", list_of_text),
    LIST_ROW("add", "ll", join_lists),
    LIST_FAMILY("add_", "ll", extend, 1),
    LIST_ROW("mul", "lI", repeat_list),
    LIST_ROW("mul", "Il", repeat_list),
    LIST_ROW("mul_", "lI", repeat_in_place),
    LIST_ROW("list_with_default", "l*", same_list),
    LIST_ROW("Size", "l", same_list),
    { .name = "prim::rangelist", .kinds = "I", .fn = range_list },
    { .name = "prim::min", .kinds = "l", .fn = extreme_of_list, .datum = 0 },
    { .name = "prim::max", .kinds = "l", .fn = extreme_of_list, .datum = 1 },
    { .name = "prim::min", .kinds = "ll", .fn = extreme_of_lists, .datum = 0 },
    { .name = "prim::max", .kinds = "ll", .fn = extreme_of_lists, .datum = 1 },
    LIST_ROW("sum", "l", sum_of_list),
    LIST_FAMILY("any", "l", any_or_all, 1),
    LIST_FAMILY("all", "l", any_or_all, 0),

    LIST_ROW("get", "d*|*", dict_get),
    LIST_ROW("setdefault", "d**", dict_setdefault),
    LIST_ROW("pop", "d*|*", dict_pop),
    LIST_FAMILY("Delete", "d*", dict_pop, 1),
    LIST_ROW("popitem", "d", dict_popitem),
    LIST_FAMILY("keys", "d", dict_list, DICT_KEYS),
    LIST_FAMILY("values", "d", dict_list, DICT_VALUES),
    LIST_FAMILY("items", "d", dict_list, DICT_ITEMS),
    LIST_ROW("update", "dd", dict_update),
    LIST_ROW("clear", "d", dict_clear),
    LIST_ROW("copy", "d", dict_copy),
    LIST_ROW("dict", "", dict_copy),
    LIST_ROW("dict", "d", dict_copy),
    LIST_ROW("dict", "l", dict_of_pairs),

    LIST_FAMILY("_single", "*", times_n, 1),
    LIST_FAMILY("_pair", "*", times_n, 2),
    LIST_FAMILY("_triple", "*", times_n, 3),
    LIST_FAMILY("_quadruple", "*", times_n, 4),
    LIST_ROW("_infer_size", "ll", infer_size),
    LIST_ROW("broadcast_shapes", "ll", infer_size),
    LIST_ROW("_size_if_not_equal", "ll", size_if_not_equal),
    { 0 }
};
