/* state_outputs.c - after a run: what it has left in the model's attributes and memory becomes
 * outputs NAME.next. What was no input yet is one in the next evaluation. */
#include "eval/branch/carry.h"
#include "eval/state/state.h"
#include "value/walk.h"

static DType dtype_of_number(Value v)
{
    if (val_is_bool(v))
        return DT_BOOL;
    return val_is_int(v) ? DT_INT64 : DT_DOUBLE;
}

/* Records that the next evaluation needs inputs for the tensors and numbers in v. False: v is no
 * tensor, number or tuple of these. */
static bool learn_shape(Eval *ev, Str name, Value v)
{
    Ctx *cx = ev->cx;
    StateShape shape = { .name = name, .items = v.tag == V_TUPLE ? (int)v.tuple->n : STATE_TENSOR };
    uint32_t varying = 0;
    check_stack(cx);
    count_values(cx, 1);
    if (val_is_plain_number(v)) {
        shape.items = STATE_NUMBER;
        shape.dtype = dtype_of_number(v);
        return facts_add_state_shape(cx, shape) && facts_add_state(cx, name, 0);
    }
    bool ok = v.tag == V_TUPLE ||
        (v.tag == V_TENSOR && v.t->kind == PLAIN && tensor_type(v.t)->rank >= 0);
    for (int64_t i = 0; ok && v.tag == V_TUPLE && i < v.tuple->n; i++)
        ok = learn_shape(ev, state_item(cx, name, i), v.tuple->at[i]);
    if (!ok || v.tag == V_TUPLE)
        return ok && facts_add_state_shape(cx, shape);
    Type t = tensor_type(v.t);
    shape.dtype = t->dtype;
    shape.rank = t->rank;
    for (int i = 0; i < t->rank; i++)
        if (!dim_known(t->dim[i], &shape.dim[i])) {
            shape.dim[i] = -1;
            varying |= 1u << i;
        }
    return facts_add_state_shape(cx, shape) && facts_add_state(cx, name, varying);
}

/* The error why this state cannot be an input and an output, with what to do. */
static bool no_input_but(Eval *ev, SourceId at, Str name, Str why, const char *instead)
{
    fail_at(ev->cx, at, E_UNSUPPORTED,
            "the model changes its own state %s, which cannot be an input and an output of the "
            "ONNX model: %s",
            name->s, why->s);
    fail_hint(ev->cx, "%s--state=constant keeps the value in the file and drops the change",
              instead);
    return false;
}

static bool no_input(Eval *ev, SourceId at, Str name, Str why)
{
    return no_input_but(ev, at, name, why, "");
}

static bool refuse_state(Eval *ev, SourceId at, Str name)
{
    fail_at(ev->cx, at, E_UNSUPPORTED,
            "the model changes its own state: %s is written while it runs, and the next run would "
            "see that (--state=refuse)",
            name->s);
    return false;
}

/* --state=refuse, --state=constant: nothing becomes an input. */
static bool mode_decides(Eval *ev, SourceId at, Str name, bool *ok)
{
    StateMode mode = ev->cx->opt ? ev->cx->opt->state : STATE_IO;
    *ok = mode != STATE_REFUSE || refuse_state(ev, at, name);
    if (mode == STATE_CONSTANT)
        note(ev->cx, NOTE_DROPPED,
             "the update of %s: every run starts from the value in the file (--state=constant)",
             name->s);
    return mode != STATE_IO && mode != STATE_DEFAULTS;
}

/* The axes, as a set of bits, whose size a run changes: symbols from the next evaluation on. */
static uint32_t sizes_that_change(Ctx *cx, Ox in, Ox next)
{
    uint32_t varying = 0;
    for (int i = 0; i < ox_rank(in); i++)
        if (dim_eq(cx, ox_dim(in, i), ox_dim(next, i)) != YES && dim_known(ox_dim(in, i), NULL))
            varying |= 1u << i;
    return varying;
}

/* State `name` is `next` after the run. */
static bool leave(Eval *ev, Str name, Ox next, SourceId at)
{
    State *s = ev->state;
    Ctx *cx = ev->cx;
    const uint32_t *known = facts_state(cx, name);
    bool ok;
    map_put(cx, &s->wrote, name, (void *)(uintptr_t)at);
    if (known && *known & UNLOOKED)
        return true;
    if (!ox_ok(next))
        return refusals_fail(cx);
    if (mode_decides(ev, at, name, &ok))
        return ok;
    Ox in = map_get(&s->fed, name);
    if (!in) {
        s->restart = true;
        return facts_add_state(cx, name, 0);
    }
    if (ox_dtype(in) != ox_dtype(next) || ox_rank(in) != ox_rank(next))
        return no_input(ev, at, name,
                        str_fmt(cx, "it is %s before a run and %s after it",
                                type_text(cx, in->type)->s, type_text(cx, next->type)->s));
    uint32_t varying = sizes_that_change(cx, in, next);
    if (varying && known && (*known & varying) == varying)
        return no_input(ev, at, name,
                        str_fmt(cx, "it is %s after a run, and the model needs it to be %s",
                                type_text(cx, next->type)->s, type_text(cx, in->type)->s));
    if (varying) {
        s->restart = true;
        return facts_add_state(cx, name, varying);
    }
    for (size_t i = 0; i < s->names.n; i++)
        if (s->names.at[i] == name)
            return true; /* both the attribute and its storage have changed: one output */
    if (!map_find(&s->looked.seen, in))
        vec_push(cx, &s->unlooked, name);
    vec_push(cx, &s->next, next);
    return vec_push(cx, &s->names, name);
}

/* Has an attribute or item been set to another tensor with the same contents, as by
 * `self.anchors = [a.to(x.dtype) for a in self.anchors]`? Then it is no state. What the run
 * wrote to the old tensor's storage is state of that storage. */
static bool same_contents(Eval *ev, Tensor *before, Tensor *after)
{
    Ox a = tensor_read(ev->g, before);
    Ox b = tensor_read(ev->g, after);
    return before->kind == after->kind && before->quant == after->quant && ox_ok(a) && ox_ok(b) &&
        (a == b || val_same_constant(ev->cx, a, b));
}

static bool same_value(Value a, Value b)
{
    if (a.tag != b.tag)
        return false;
    if (a.tag == V_NONE)
        return true;
    return a.tag == V_BOOL ? a.b == b.b : a.any == b.any;
}

static bool check_sign(Eval *ev, Str name, Value after)
{
    Dim d;
    if (!map_find(&ev->state->positions, name) || !val_dim_of(after, ev->cx, &d) ||
        dim_le(ev->cx, dim_int(ev->cx, 0), d) == YES)
        return true;
    ev->state->restart = true;
    return facts_add_state(ev->cx, name, ANY_SIGN);
}

static bool leave_value(Eval *ev, Value before, Value after, Str name, SourceId at);

static Value tracked_container(const TrackedList *h)
{
    return h->list ? (Value){ .tag = V_LIST, .list = h->list }
                   : (Value){ .tag = V_DICT, .dict = h->dict };
}

/* Did the run write to this list or dict of the file? */
static bool was_written(const TrackedList *h)
{
    const Cell *cells = h->items;
    const DictEntry *entries = h->items;
    bool written = h->n != (h->list ? h->list->n : h->dict->n) ||
        (h->list && h->list->stacked != h->fed);
    for (int64_t i = 0; !written && i < h->n; i++)
        written = h->list ? !same_value(cells[i].v, h->list->at[i].v)
                          : !same_value(entries[i].val.v, h->dict->at[i].val.v);
    return written;
}

/* Did the run set attributes of this object? */
static bool object_was_written(const State *s, const Obj *o)
{
    if (!o->tracked)
        return false;
    for (int64_t i = 0; i < o->n; i++) {
        if (!same_value(s->attrs.at[o->tracked - 1 + (size_t)i].before, o->slot[i].v))
            return true;
    }
    return false;
}

/* Notes that the run has left another list, dict or object in place of `before`. */
static void left_container(Eval *ev, Value before, Value after, Str name, SourceId at)
{
    State *s = ev->state;
    uintptr_t tracked = (uintptr_t)map_get(&s->seen, before.any);
    bool written = before.tag == V_OBJ ? object_was_written(s, before.obj)
                                       : tracked && was_written(&s->lists.at[tracked - 1]);
    Left l = { name, container_mark(ev->cx, after)->st, container_mark(ev->cx, before)->st, written,
               at };
    vec_push(ev->cx, &s->left, l);
}

/* Another dict with the same keys: each value is state by the name of the old dict's value. */
static bool leave_replaced_dict(Eval *ev, const Dict *before, Dict *after, Str name, SourceId at)
{
    Ctx *cx = ev->cx;
    bool ok = true;
    for (int64_t i = 0; ok && i < before->n; i++) {
        const Cell *entry = dict_find(cx, after, before->at[i].key);
        if (!entry || val_is_maybe_key(entry->v) || val_is_maybe_key(before->at[i].val.v) ||
            before->n != after->n)
            return no_input(ev, at, name,
                            str_of(cx, "it is another dict after a run, with other keys"));
        ok = leave_value(ev, before->at[i].val.v, entry->v, state_key(cx, name, before->at[i].key),
                         at);
    }
    return ok;
}

/* Is it taken to be known how the input of this state lies in memory? */
static bool layout_is_fed(const Eval *ev, Str name)
{
    const uint32_t *known = facts_state(ev->cx, name);
    return map_find(&ev->state->fed, name) && known && !(*known & LOOSE);
}

/* A run leaves this state otherwise in memory than it was taken to lie: the next evaluation takes
 * nothing for known of that. */
static bool learn_loose(Eval *ev, Str name)
{
    ev->state->restart = true;
    return facts_add_state(ev->cx, name, LOOSE);
}

/* Do two tensors surely lie in memory alike: both in order, or with the same strides? */
static bool same_layout(Ctx *cx, Tensor *a, Tensor *b)
{
    Dim of_a[MAX_RANK], of_b[MAX_RANK];
    if (tensor_contiguous(cx, a) == YES && tensor_contiguous(cx, b) == YES)
        return true;
    bool same = tensor_type(a)->rank == tensor_type(b)->rank && tensor_strides(cx, a, of_a) &&
        tensor_strides(cx, b, of_b);
    for (int i = 0; same && i < tensor_type(a)->rank; i++)
        same = dim_eq(cx, of_a[i], of_b[i]) == YES;
    return same;
}

/* The run has left a tensor in place of another one. */
static bool leave_tensor(Eval *ev, Tensor *before, Tensor *after, Str name, SourceId at)
{
    if (layout_is_fed(ev, name) && !same_layout(ev->cx, before, after))
        return learn_loose(ev, name);
    State *s = ev->state;
    const Ox in = map_get(&s->fed, name);
    Left l = { name, after->st, before->st, in && before->st->now != in, at };
    return vec_push(ev->cx, &s->left, l) && leave(ev, name, tensor_read(ev->g, after), at);
}

/* The state for whether an optional is there after the run: NAME.is_set. */
static bool leave_present(Eval *ev, Value before, Value after, Str name, SourceId at)
{
    bool ok = true;
    check_stack(ev->cx);
    count_values(ev->cx, 1);
    if (before.tag == V_TENSOR && after.tag == V_TENSOR)
        return leave_tensor(ev, before.t, after.t, name, at);
    if (val_is_plain_number(before) && val_is_plain_number(after))
        return leave(ev, name, carry_ox(ev->g, after), at);
    if (before.tag != V_TUPLE || after.tag != V_TUPLE || before.tuple->n != after.tuple->n)
        return no_input(ev, at, name,
                        str_fmt(ev->cx, "it is %s before a run and %s after it", val_kind(before),
                                val_kind(after)));
    for (int64_t i = 0; ok && i < before.tuple->n; i++)
        ok = leave_present(ev, before.tuple->at[i], after.tuple->at[i], state_item(ev->cx, name, i),
                           at);
    return ok;
}

/* State that is None before the run, or may be. A value that is None in the file and something
 * else after a run becomes two inputs in the next evaluation: NAME and NAME.is_set. */
static bool leave_optional(Eval *ev, Value before, Value after, Str name, SourceId at)
{
    Ctx *cx = ev->cx;
    Value value = after.tag == V_MAYBE ? after.maybe->value : after;
    const uint32_t *known = facts_state(cx, state_is_set(cx, name));
    bool ok;
    if (before.tag == V_NONE && known && *known & UNLOOKED)
        return true;
    if (mode_decides(ev, at, name, &ok))
        return ok;
    if (before.tag == V_MAYBE)
        return leave(ev, state_is_set(cx, name), carry_ox(ev->g, val_present(after)), at) &&
            leave_present(ev, before.maybe->value,
                          after.tag == V_NONE ? before.maybe->value : value, name, at);
    if (learn_shape(ev, name, value) && facts_add_state(cx, state_is_set(cx, name), 0)) {
        ev->state->restart = true;
        return true;
    }
    if (ctx_failed(cx))
        return false;
    return no_input(ev, at, name,
                    str_fmt(cx,
                            "it is None in the file and %s after a run; only a tensor or number, "
                            "or a tuple of them, can be left out",
                            val_kind(value)));
}

/* ---- what grows ---- */

static bool list_type(Ctx *cx, const List *l, ItemType *out)
{
    int64_t n;
    Value *at = list_values(cx, l, &n);
    if (l->stacked)
        *out = l->stacked->item;
    return l->stacked || (at && list_item_type(cx, at, n, out));
}

static bool cannot_grow(Eval *ev, SourceId at, Str name, const char *why)
{
    return no_input_but(ev, at, name,
                        str_fmt(ev->cx, "it is a list that gets longer or shorter, and %s", why),
                        "keep one tensor that torch.cat makes longer, or give the sizes with -i; ");
}

/* A list that is longer or shorter after the run: one tensor from the next evaluation on. */
static bool leave_list(Eval *ev, const List *before, const List *after, Str name, SourceId at)
{
    Ctx *cx = ev->cx;
    ItemType was, item;
    bool ok;
    if (mode_decides(ev, at, name, &ok))
        return ok;
    for (int64_t i = 0; i < after->n; i++)
        if (!val_ok(after->at[i].v))
            return refusals_fail(cx);
    if (after->stacked && !stacked_is_readable(ev, after->stacked))
        return false;
    if (!list_type(cx, before, &was) || !list_type(cx, after, &item) ||
        !items_join(cx, was, item, &item) || !item.elem || item.parts || item.of)
        return cannot_grow(ev, at, name,
                           "its items are not numbers or tensors of one type and rank");
    if (item.ragged)
        return cannot_grow(ev, at, name, "its items differ in size");
    if (facts_state_shape(cx, name)) {
        if (!map_find(&ev->state->fed, name) && !(*facts_state(cx, name) & UNLOOKED))
            return cannot_grow(ev, at, name, "its items in the file are state of their own");
        Stacked *s = stacked_list(ev, after, item);
        Ox whole = s ? stacked_whole(ev, s) : POISON;
        if (ox_ok(whole) && s->loose && layout_is_fed(ev, name))
            return learn_loose(ev, name);
        return s && leave(ev, name, whole, at);
    }
    StateShape shape = { .name = name,
                         .items = strcmp(item.elem, "Tensor") ? STATE_NUMBERS : STATE_TENSORS,
                         .dtype = item.type->dtype,
                         .rank = item.type->rank };
    for (int i = 0; i < shape.rank; i++)
        if (!dim_known(item.type->dim[i], &shape.dim[i]))
            return cannot_grow(ev, at, name, "a size of its items is dynamic");
    ev->state->restart = true;
    return facts_add_state_shape(cx, shape) && facts_add_state(cx, name, 1);
}

/* A key that was not in the dict before the run, or may not be there after it: from the next
 * evaluation on it has an input for whether it is there. */
static bool learn_key(Eval *ev, Str name, Value key, Value v, SourceId at)
{
    Ctx *cx = ev->cx;
    Str child = state_key(cx, name, key);
    const uint32_t *known = facts_state(cx, state_is_set(cx, child));
    if (known && *known & UNLOOKED)
        return true;
    if (key.tag != V_STR && key.tag != V_INT)
        return no_input(ev, at, child, str_of(cx, "its key is neither a string nor an int"));
    Value value = val_is_maybe_key(v) ? v.maybe->value : v;
    if (v.tag != V_UNINIT && !learn_shape(ev, child, value)) {
        if (ctx_failed(cx))
            return false;
        return no_input_but(
            ev, at, child,
            str_fmt(cx, "it is not in the dict of the file, and %s after a run", val_kind(v)),
            "a tensor, a number or a tuple of them can come; set what else "
            "there is in __init__; ");
    }
    ev->state->restart = true;
    return facts_add_state_key(cx, name, key) && facts_add_state(cx, state_is_set(cx, child), 0);
}

/* The state of a key that may be there. before: the entry, a Maybe; after: NULL: the run has
 * removed the key. */
static bool leave_key(Eval *ev, Value before, const Cell *after, Str name)
{
    Value present = val_bool(after != NULL);
    Value v = after ? after->v : before.maybe->value;
    if (after && val_is_maybe_key(after->v)) {
        present = after->v.maybe->present;
        v = after->v.maybe->value;
    }
    if (!leave(ev, state_is_set(ev->cx, name), carry_ox(ev->g, present), 0))
        return false;
    return facts_state_shape(ev->cx, name) ? leave_present(ev, before.maybe->value, v, name, 0)
                                           : leave_value(ev, before.maybe->value, v, name, 0);
}

static const DictEntry *entry_before(Ctx *cx, const TrackedList *h, Value key)
{
    const DictEntry *entries = h->items;
    for (int64_t i = 0; i < h->n; i++)
        if (val_equal(cx, entries[i].key, key))
            return &entries[i];
    return NULL;
}

/* A dict of the file, key by key: what was there before, then what the run has added. */
static bool leave_dict(Eval *ev, const TrackedList *h)
{
    Ctx *cx = ev->cx;
    Dict *d = h->dict;
    const DictEntry *entries = h->items;
    bool ok = true;
    for (int64_t i = 0; ok && i < h->n; i++) {
        Value was = entries[i].val.v;
        Str name = state_key(cx, h->name, entries[i].key);
        const Cell *after = dict_find(cx, d, entries[i].key);
        bool goes = !after || val_is_maybe_key(after->v);
        if (val_is_maybe_key(was))
            ok = leave_key(ev, was, after, name);
        else if (goes && mode_decides(ev, 0, name, &ok))
            continue;
        else
            ok = goes ? learn_key(ev, h->name, entries[i].key, (Value){ .tag = V_UNINIT }, 0)
                      : leave_value(ev, was, after->v, name, 0);
    }
    for (int64_t i = 0; ok && i < d->n; i++)
        if (!entry_before(cx, h, d->at[i].key) &&
            !mode_decides(ev, 0, state_key(cx, h->name, d->at[i].key), &ok))
            ok = learn_key(ev, h->name, d->at[i].key, d->at[i].val.v, 0);
    return ok;
}

enum { LEVELS = 32 };

/* Another object of the same class: its attributes are state by the names of the old object's. */
static bool leave_object(Eval *ev, const Obj *before, const Obj *after, Str name, SourceId at)
{
    bool ok = true;
    for (int64_t i = 0; ok && i < after->n; i++)
        ok = leave_value(ev, before->slot[i].v, after->slot[i].v,
                         state_child(ev->cx, name, attr_name(after, i)), at);
    return ok;
}

/* The items of a tuple, or of a list of the same length as before, are state NAME.0, NAME.1, .. */
static bool leave_parts(Eval *ev, Value before, Value after, Str name, SourceId at)
{
    bool ok = true;
    for (int64_t i = 0; ok && i < val_n_parts(before); i++)
        ok = leave_value(ev, val_part(before, i), val_part(after, i), state_item(ev->cx, name, i),
                         at);
    return ok;
}

/* The run has left another object of the same class. One that holds itself is an error. */
static bool leave_another(Eval *ev, Value before, Value after, Str name, SourceId at)
{
    left_container(ev, before, after, name, at);
    return val_is_shallow(ev->cx, after, LEVELS)
        ? leave_object(ev, before.obj, after.obj, name, at)
        : no_input(ev, at, name, str_of(ev->cx, "it is an object that holds itself"));
}

/* The state in two containers of one kind. NOT_MINE: the two values are something else. */
static Outcome leave_container(Eval *ev, Value before, Value after, Str name, SourceId at)
{
    bool ok;
    if (before.tag != after.tag)
        return NOT_MINE;
    if (is_plain_object(before) && is_plain_object(after) && before.obj->cls == after.obj->cls)
        return outcome_of(leave_another(ev, before, after, name, at));
    if (after.tag == V_TUPLE && before.tuple->n == after.tuple->n)
        return outcome_of(leave_parts(ev, before, after, name, at));
    if (after.tag != V_LIST && after.tag != V_DICT)
        return NOT_MINE;
    left_container(ev, before, after, name, at);
    if (after.tag == V_DICT)
        return outcome_of(mode_decides(ev, at, name, &ok)
                              ? ok
                              : leave_replaced_dict(ev, before.dict, after.dict, name, at));
    bool resized = after.list->stacked || before.list->stacked || before.list->n != after.list->n;
    return outcome_of(resized ? leave_list(ev, before.list, after.list, name, at)
                              : leave_parts(ev, before, after, name, at));
}

/* The state of an attribute or item with the values `before` and `after` the run. Where they are
 * the same there is none; else it is state of this name, or of names below it: `self.pos += 1`
 * leaves pos, `self.cache = (k, v)` leaves cache.0 and cache.1. An error where the values cannot
 * be inputs and outputs. */
static bool leave_value(Eval *ev, Value before, Value after, Str name, SourceId at)
{
    Ctx *cx = ev->cx;
    bool ok;
    check_stack(cx);
    count_values(cx, 1);
    if (!val_ok(after))
        return refusals_fail(cx);
    if (before.tag == V_MAYBE || (before.tag == V_NONE && after.tag != V_NONE))
        return leave_optional(ev, before, after, name, at);
    if (same_value(before, after))
        return true;
    if (before.tag == V_TENSOR && after.tag == V_TENSOR)
        return same_contents(ev, before.t, after.t) ||
            leave_tensor(ev, before.t, after.t, before.t->st->name ? before.t->st->name : name, at);
    if (val_is_plain_number(before) && val_is_plain_number(after))
        return check_sign(ev, name, after) && leave(ev, name, carry_ox(ev->g, after), at);
    Outcome inside = leave_container(ev, before, after, name, at);
    if (inside != NOT_MINE)
        return inside == DONE;
    if (mode_decides(ev, at, name, &ok))
        return ok;
    if (val_is_option(before) && val_is_option(after))
        return no_input(ev, at, name,
                        str_of(cx,
                               "it is a string or a member of an enum; an int in its place "
                               "would do"));
    return no_input(
        ev, at, name,
        str_fmt(cx, "it is %s before a run and %s after it", val_kind(before), val_kind(after)));
}

static bool leave_attr(Eval *ev, const TrackedAttr *h)
{
    const State *s = ev->state;
    Value after = tracked_cell(s, h)->v;
    if (!h->read || (h->before.tag != V_MAYBE && same_value(h->before, after)))
        return true; /* unchanged, or set before it was read: no name need be made */
    return leave_value(ev, h->before, after, tracked_name(ev->cx, s, h), h->wrote);
}

static bool leave_items(Eval *ev, const TrackedList *h)
{
    Cell *cells = h->items;
    bool ok = true;
    if (h->dict)
        return leave_dict(ev, h);
    if (h->list->stacked || h->list->n != h->n)
        return leave_list(
            ev, &(List){ .at = cells, .n = h->n, .elem = h->list->elem, .stacked = h->fed },
            h->list, h->name, 0);
    for (int64_t i = 0; ok && i < h->n; i++)
        ok = leave_value(ev, cells[i].v, h->list->at[i].v, state_item(ev->cx, h->name, i), 0);
    return ok;
}

/* x of `x / 1`, `x * 1`, `x - 0`, `x + 0`; NULL of any other value. */
static Ox left_alone(Ox v)
{
    double number;
    const Node *n = v->kind == OX_NODE ? v->node : NULL;
    bool factor = n && (node_is(n, "Div") || node_is(n, "Mul"));
    bool summand = n && (node_is(n, "Add") || node_is(n, "Sub"));
    if ((!factor && !summand) || !ox_known_scalar(n->graph, n->in[1], &number) ||
        number != (factor ? 1 : 0) || n->in[0]->type != v->type)
        return NULL;
    return n->in[0];
}

/* Does a run that finds `before` in a storage leave `now`, the same? */
static bool is_same(Ctx *cx, Ox before, Ox now)
{
    while (now && now != before) {
        if (val_same_constant(cx, before, now))
            return true;
        now = left_alone(now);
    }
    return now == before;
}

/* A run has written to what may be this state: it is not known what the next one finds. */
static bool leave_unknown(Eval *ev, SourceId at, Str name, Str why)
{
    bool ok;
    if (mode_decides(ev, at, name, &ok))
        return ok;
    return no_input(ev, at, name,
                    str_fmt(ev->cx,
                            "what it holds after a run is not known: %s, and one of them was "
                            "written",
                            why->s));
}

/* Nothing is known of a list, dict or object that another name may hold, to which the run has
 * written. */
static bool leave_known(Eval *ev, Value v, Str name)
{
    const Tensor *mark = container_marked(v);
    Str why = container_invalid(v);
    if (v.tag == V_DICT && v.dict->invalid)
        why = v.dict->invalid;
    return !why || leave_unknown(ev, mark ? mark->st->written : 0, name, why);
}

/* The state of a storage to which the run has written. */
static bool leave_storage(Eval *ev, const TrackedStorage *h)
{
    const uint32_t *known = facts_state(ev->cx, h->name);
    if (!ox_ok(h->st->now) && h->st->invalid)
        return leave_unknown(ev, h->st->written, h->name, h->st->invalid);
    if (is_same(ev->cx, h->before, h->st->now))
        return true;
    if (known && *known & UNLOOKED)
        note(ev->cx, NOTE_DROPPED, "the update of %s: nothing looks at its value before the run",
             h->name->s);
    return leave(ev, h->name, h->st->now, h->st->written);
}

/* ---- two states in one memory ---- */

static bool share_memory(Eval *ev, const Left *l, Str other)
{
    fail_at(
        ev->cx, l->at, E_UNSUPPORTED,
        "the model changes its own state %s, which cannot be an input and an output of the ONNX "
        "model: "
        "after a run it is, or may be, the same as %s, and a run writes to one of them in place",
        l->name->s, other->s);
    fail_hint(ev->cx,
              "keep a copy (clone(), list(l), another object) under one of the names; "
              "--state=constant keeps the value in the file and drops the change");
    return false;
}

/* What holds a memory after a run: `before` it held that one. */
typedef struct Kept {
    Str name;
    const Storage *before;
    bool written;
} Kept;

/* Adds the mark of v, a plain object, to the kept memory, if the run has put nothing else in its
 * place. */
static void keep_object(Eval *ev, Map *kept, const Map *left, Str name, Value v)
{
    const Tensor *mark = is_plain_object(v) ? container_marked(v) : NULL;
    if (!mark || map_find(left, name))
        return;
    Kept k = { name, mark->st, object_was_written(ev->state, v.obj) };
    map_put(ev->cx, kept, mark->st, mem_copy(ev->cx, &k, sizeof k));
}

static void keep_items(Eval *ev, Map *kept, const Map *left, const TrackedList *h)
{
    const Cell *cells = h->items;
    const DictEntry *entries = h->items;
    for (int64_t i = 0; i < h->n; i++)
        if (h->dict)
            keep_object(ev, kept, left, state_key(ev->cx, h->name, entries[i].key),
                        entries[i].val.v);
        else if (!h->fed)
            keep_object(ev, kept, left, state_item(ev->cx, h->name, i), cells[i].v);
}

/* The memory that stands for all items of a list that grows; NULL: it does not grow. */
static const Storage *memory_of_items(const TrackedList *h)
{
    const Stacked *items = h->fed ? h->list->stacked : NULL;
    return items && items->memory ? items->memory->st : NULL;
}

static Map memories_of_lists(Eval *ev)
{
    State *s = ev->state;
    Map lists = { 0 };
    for (size_t i = 0; i < s->lists.n; i++) {
        const Storage *items = memory_of_items(&s->lists.at[i]);
        if (items)
            map_put(ev->cx, &lists, items, NULL);
    }
    return lists;
}

typedef struct Held {
    Ctx *cx;
    const Map *lists;
    Map *same;
} Held;

/* Goes on always: a tensor may be an item of several lists. */
static bool note_list(void *arg, const Storage *st)
{
    const Held *h = arg;
    if (map_find(h->lists, st))
        map_put(h->cx, h->same, st, NULL);
    return false;
}

/* Adds to `same` the memory of each list that grows in which st is an item. */
static void find_lists(Ctx *cx, const Map *lists, Storage *st, Map *same)
{
    Map met = { 0 };
    Held h = { cx, lists, same };
    if (lists->n > 0)
        (void)storage_reaches(cx, st, &met, note_list, &h);
}

/* Adds to `same` all memory that st is, or may be, also as an item of a list that grows. */
static void find_same(Ctx *cx, const Map *lists, Storage *st, Map *same)
{
    storage_may_be(cx, st, same);
    find_lists(cx, lists, st, same);
}

/* The names under which the run has left another thing than before. */
static Map names_left(Eval *ev)
{
    Map left = { 0 };
    for (size_t i = 0; i < ev->state->left.n; i++)
        map_put(ev->cx, &left, ev->state->left.at[i].name, NULL);
    return left;
}

/* What the model still holds that a run may have written to: storages, and the marks of lists,
 * dicts and objects. Empty where the run has put no other tensor in the
 * place of one. */
static Map kept_memory(Eval *ev)
{
    State *s = ev->state;
    Ctx *cx = ev->cx;
    Map left = names_left(ev);
    Map kept = { 0 };
    if (left.n == 0)
        return kept;
    for (size_t i = 0; i < s->storages.n; i++) {
        const TrackedStorage *h = &s->storages.at[i];
        Kept k = { h->name, h->st, h->st->now != h->before };
        if (!map_find(&left, h->name))
            map_put(cx, &kept, h->st, mem_copy(cx, &k, sizeof k));
    }
    for (size_t i = 0; i < s->lists.n; i++) {
        const TrackedList *h = &s->lists.at[i];
        const Tensor *mark = container_marked(tracked_container(h));
        Kept k = { h->name, mark ? mark->st : NULL, was_written(h) };
        if (mark && !map_find(&left, h->name))
            map_put(cx, &kept, mark->st, mem_copy(cx, &k, sizeof k));
        const Storage *items = memory_of_items(h);
        Kept grown = { h->name, items, false };
        if (items && !map_find(&left, h->name))
            map_put(cx, &kept, items, mem_copy(cx, &grown, sizeof grown));
        keep_items(ev, &kept, &left, h);
    }
    for (size_t i = 0; i < s->order.n; i++) {
        const TrackedAttr *h = tracked_attr(s, i);
        if (is_plain_object(h->before))
            keep_object(ev, &kept, &left, tracked_name(cx, s, h), h->before);
    }
    return kept;
}

/* Memories that are one before some later run, as sets: each memory's entry is another of its set,
 * the last has none. */
static const void *first_of(const Map *one, const void *st)
{
    for (const void *next = map_get(one, st); next; next = map_get(one, st))
        st = next;
    return st;
}

/* l and k hold one memory after the run. False after the error, where a run writes to one of the
 * two: inputs share no memory. Else the memories that they held before it are one in the next run.
 */
static bool meet(Eval *ev, Map *one, const Left *l, const Kept *k, bool *more)
{
    if (k->name == l->name)
        return true;
    if (l->written || k->written)
        return share_memory(ev, l, k->name);
    const void *a = first_of(one, l->before);
    const void *b = first_of(one, k->before);
    if (a != b) {
        map_put(ev->cx, one, a, (void *)(uintptr_t)b);
        *more = true;
    }
    return true;
}

/* What the run leaves under two names, when the memories in `one` are each one memory. */
static bool check_run(Eval *ev, const Map *kept, const Map *lists, Map *one, bool *more)
{
    State *s = ev->state;
    Map holder = { 0 };
    for (size_t i = 0; i < kept->n; i++)
        map_put(ev->cx, &holder, first_of(one, kept->at[i].key), kept->at[i].val);
    for (size_t i = 0; i < s->left.n; i++) {
        const Left *l = &s->left.at[i];
        Kept held = { l->name, l->before, l->written };
        Map same = { 0 };
        find_same(ev->cx, lists, l->st, &same);
        for (size_t n = 0; n < same.n; n++) {
            const void *st = first_of(one, same.at[n].key);
            const Kept *k = map_get(&holder, st);
            if (k && !meet(ev, one, l, k, more))
                return false;
            if (!k)
                map_put(ev->cx, &holder, st, mem_copy(ev->cx, &held, sizeof held));
        }
    }
    return !ctx_failed(ev->cx);
}

/* Adds to State.left the model's tensors that stay where they are and have become an item of a list
 * that grows: `self.l.append(self.b)`. */
static void leave_items_of_lists(Eval *ev, const Map *lists)
{
    State *s = ev->state;
    Map left = names_left(ev);
    for (size_t i = 0; i < s->storages.n; i++) {
        const TrackedStorage *h = &s->storages.at[i];
        Map same = { 0 };
        if (!map_find(&left, h->name))
            find_lists(ev->cx, lists, h->st, &same);
        if (same.n)
            vec_push(ev->cx, &s->left,
                     (Left){ h->name, h->st, h->st, h->st->now != h->before, h->st->written });
    }
}

/* An error where two states share memory, after one run or after several, and a run writes to it:
 * `self.c = self.b; self.b = self.a` makes all three one in two. */
static bool check_memory(Eval *ev)
{
    Map lists = memories_of_lists(ev);
    Map one = { 0 };
    if (lists.n)
        leave_items_of_lists(ev, &lists);
    Map kept = kept_memory(ev);
    bool more = ev->state->left.n > 0;
    while (more) {
        more = false;
        if (!check_run(ev, &kept, &lists, &one, &more))
            return false;
    }
    return !ctx_failed(ev->cx);
}

bool state_outputs(Eval *ev)
{
    State *s = ev->state;
    bool ok = true;
    for (size_t i = 0; ok && i < s->objects.n; i++)
        ok = leave_known(ev, (Value){ .tag = V_OBJ, .obj = s->objects.at[i].obj },
                         s->objects.at[i].name);
    for (size_t i = 0; ok && i < s->lists.n; i++)
        ok = leave_known(ev, tracked_container(&s->lists.at[i]), s->lists.at[i].name);
    for (size_t i = 0; ok && i < s->order.n; i++)
        ok = leave_attr(ev, tracked_attr(s, i));
    for (size_t i = 0; ok && i < s->lists.n; i++)
        ok = leave_items(ev, &s->lists.at[i]);
    for (size_t i = 0; ok && i < s->storages.n; i++)
        ok = leave_storage(ev, &s->storages.at[i]);
    return ok && (s->restart || check_memory(ev));
}
