/* state_leave.c - after a run: what it has left in the model's attributes and memory becomes outputs NAME.next. What was no input yet
 * is one in the next evaluation. */
#include "eval/state.h"

/* The next evaluation has inputs for what v holds. False: no tensor, nor a tuple of them. */
static bool learn_shape(Eval *ev, Str name, Value v)
{
    Ctx *cx = ev->cx;
    StateShape shape = { .name = name, .items = v.tag == V_TUPLE ? (int)v.tuple->n : -1 };
    uint32_t loose = 0;
    bool ok = v.tag == V_TUPLE || (v.tag == V_TENSOR && v.t->kind == PLAIN && tensor_type(v.t)->rank >= 0);
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
            loose |= 1u << i;
        }
    return facts_add_state_shape(cx, shape) && facts_add_state(cx, name, loose);
}

/* Why this state cannot be an input and an output. */
static bool no_input(Eval *ev, SourceId at, Str name, Str why)
{
    fail_at(ev->cx, at, E_UNSUPPORTED, "the model changes its own state %s, which cannot be an input and an output of the ONNX model: %s", name->s, why->s);
    fail_hint(ev->cx, "--state=constant keeps the value in the file and drops the change");
    return false;
}

static bool refuse_state(Eval *ev, SourceId at, Str name)
{
    fail_at(ev->cx, at, E_UNSUPPORTED, "the model changes its own state: %s is written while it runs, and the next run would see that (--state=refuse)",
            name->s);
    return false;
}

/* --state=refuse, --state=constant: nothing becomes an input. */
static bool mode_decides(Eval *ev, SourceId at, Str name, bool *ok)
{
    StateMode mode = ev->cx->opt ? ev->cx->opt->state : STATE_IO;
    *ok = mode != STATE_REFUSE || refuse_state(ev, at, name);
    if (mode == STATE_CONSTANT)
        note(ev->cx, NOTE_DROPPED, "the update of %s: every run starts from the value in the file (--state=constant)", name->s);
    return mode != STATE_IO;
}

/* Sizes that a run changes are symbols from the next evaluation on. */
static uint32_t sizes_that_change(Ctx *cx, Ox in, Ox next)
{
    uint32_t loose = 0;
    for (int i = 0; i < ox_rank(in); i++)
        if (dim_eq(cx, ox_dim(in, i), ox_dim(next, i)) != YES && dim_known(ox_dim(in, i), NULL))
            loose |= 1u << i;
    return loose;
}

/* State `name` is `next` after the run. */
static bool leave(Eval *ev, Str name, Ox next, SourceId at)
{
    State *s = ev->state;
    Ctx *cx = ev->cx;
    const uint32_t *known = facts_state(cx, name);
    bool ok;
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
        return no_input(ev, at, name, str_fmt(cx, "it is %s before a run and %s after it", type_text(cx, in->type)->s, type_text(cx, next->type)->s));
    uint32_t loose = sizes_that_change(cx, in, next);
    if (loose) {
        s->restart = true;
        return facts_add_state(cx, name, loose);
    }
    for (size_t i = 0; i < s->names.n; i++)
        if (s->names.at[i] == name)
            return true;                                /* an attribute, and the memory that it named before */
    if (!map_find(&s->looked.seen, in))
        vec_push(cx, &s->unlooked, name);
    vec_push(cx, &s->next, next);
    return vec_push(cx, &s->names, name);
}

/* Two constants of equal elements. */
static bool same_constant(Ctx *cx, Ox a, Ox b)
{
    if (a->kind != OX_CONST || b->kind != OX_CONST || a->type != b->type || const_numel(a->k) > FOLD_NUMEL || ox_dtype(a) == DT_STRING)
        return false;
    size_t n = (size_t)dtype_bytes(ox_dtype(a), (uint64_t)const_numel(a->k));
    uint8_t *x = mem_alloc(cx, n + 1), *y = mem_alloc(cx, n + 1);
    return x && y && const_read(cx, a->k, x) && const_read(cx, b->k, y) && memcmp(x, y, n) == 0;
}

/* Set to a tensor that holds what it held: `self.anchors = [a.to(x.dtype) for a in self.anchors]`. What was written to the old one's
 * memory is that memory's own state. */
static bool same_contents(Eval *ev, Tensor *before, Tensor *after)
{
    Ox a = tensor_read(ev->g, before), b = tensor_read(ev->g, after);
    return before->kind == after->kind && before->quant == after->quant && ox_ok(a) && ox_ok(b) && (a == b || same_constant(ev->cx, a, b));
}

static bool same_value(Value a, Value b)
{
    if (a.tag != b.tag)
        return false;
    return a.tag == V_NONE || (a.tag == V_BOOL ? a.b == b.b : a.any == b.any);
}

static bool check_sign(Eval *ev, Str name, Value after)
{
    Dim d;
    if (!map_find(&ev->state->positions, name) || !val_dim_of(after, ev->cx, &d) || dim_le(ev->cx, dim_int(ev->cx, 0), d) == YES)
        return true;
    ev->state->restart = true;
    return facts_add_state(ev->cx, name, ANY_SIGN);
}

static bool leave_value(Eval *ev, Value before, Value after, Str name, SourceId at);

/* What an optional holds after the run, None or not. */
static bool leave_present(Eval *ev, Value before, Value after, Str name, SourceId at)
{
    bool ok = true;
    if (before.tag == V_TENSOR && after.tag == V_TENSOR)
        return leave(ev, name, tensor_read(ev->g, after.t), at);
    if (before.tag != V_TUPLE || after.tag != V_TUPLE || before.tuple->n != after.tuple->n)
        return no_input(ev, at, name, str_fmt(ev->cx, "it is %s before a run and %s after it", val_kind(before), val_kind(after)));
    for (int64_t i = 0; ok && i < before.tuple->n; i++)
        ok = leave_present(ev, before.tuple->at[i], after.tuple->at[i], state_item(ev->cx, name, i), at);
    return ok;
}

static bool leave_optional(Eval *ev, Value before, Value after, Str name, SourceId at)
{
    Ctx *cx = ev->cx;
    Value value = after.tag == V_MAYBE ? after.maybe->value : after;
    bool ok;
    if (mode_decides(ev, at, name, &ok))
        return ok;
    if (before.tag == V_MAYBE)
        return leave(ev, state_is_set(cx, name), carry_ox(ev->g, val_present(after)), at) &&
               leave_present(ev, before.maybe->value, after.tag == V_NONE ? before.maybe->value : value, name, at);
    if (!learn_shape(ev, name, value) || !facts_add_state(cx, state_is_set(cx, name), 0))
        return ctx_failed(cx) ? false : no_input(ev, at, name, str_fmt(cx, "it is None in the file and %s after a run; only a tensor, or a tuple of them, can be "
                                                                       "left out", val_kind(value)));
    return ev->state->restart = true;
}

enum { LEVELS = 32 };

/* Another object of the same class: its attributes are the old one's state. */
static bool leave_object(Eval *ev, const Obj *before, const Obj *after, Str name, SourceId at)
{
    const ClassDef *c = after->cls;
    bool ok = true;
    for (int64_t i = 0; ok && i < after->n; i++) {
        const char *attr = after->names ? after->names[i]->s : c && i < (int64_t)c->n_field ? c->field[i].name->s : "?";
        ok = leave_value(ev, before->slot[i].v, after->slot[i].v, state_child(ev->cx, name, attr), at);
    }
    return ok;
}

/* Go through what an attribute or item was and is. */
static bool leave_value(Eval *ev, Value before, Value after, Str name, SourceId at)
{
    Ctx *cx = ev->cx;
    bool ok = true;
    if (!val_ok(after))
        return refusals_fail(cx);
    if (before.tag == V_MAYBE || (before.tag == V_NONE && after.tag != V_NONE))
        return leave_optional(ev, before, after, name, at);
    if (same_value(before, after))
        return true;
    if (before.tag == V_TENSOR && after.tag == V_TENSOR)
        return same_contents(ev, before.t, after.t) || leave(ev, before.t->st->name ? before.t->st->name : name, tensor_read(ev->g, after.t), at);
    if (val_is_plain_number(before) && val_is_plain_number(after))
        return check_sign(ev, name, after) && leave(ev, name, carry_ox(ev->g, after), at);
    if (before.tag == V_OBJ && after.tag == V_OBJ && !before.obj->path && !after.obj->path && before.obj->cls == after.obj->cls)
        return is_shallow(after, LEVELS) ? leave_object(ev, before.obj, after.obj, name, at)
                                         : no_input(ev, at, name, str_of(cx, "it is an object that holds itself"));
    if (before.tag == V_TUPLE && after.tag == V_TUPLE && before.tuple->n == after.tuple->n) {
        for (int64_t i = 0; ok && i < before.tuple->n; i++)
            ok = leave_value(ev, before.tuple->at[i], after.tuple->at[i], str_fmt(cx, "%s.%lld", name->s, (long long)i), at);
        return ok;
    }
    if (before.tag == V_LIST && after.tag == V_LIST && !after.list->stacked && before.list->n == after.list->n) {
        for (int64_t i = 0; ok && i < before.list->n; i++)
            ok = leave_value(ev, before.list->at[i].v, after.list->at[i].v, str_fmt(cx, "%s.%lld", name->s, (long long)i), at);
        return ok;
    }
    if (val_is_option(before) && val_is_option(after))
        return mode_decides(ev, at, name, &ok) ? ok : no_input(ev, at, name, str_of(cx, "it is a string or a member of an enum; an int in its place would do"));
    return mode_decides(ev, at, name, &ok) ? ok
               : no_input(ev, at, name, str_fmt(cx, "it is %s before a run and %s after it", val_kind(before), val_kind(after)));
}

static bool leave_attr(Eval *ev, const Held *h)
{
    const Used *u = &ev->state->used.at[h->used];
    if (!u->read || (h->before.tag != V_MAYBE && same_value(h->before, h->cell->v)))
        return true;                                    /* set before it was ever read; or as it was: no name is made for those */
    return leave_value(ev, h->before, h->cell->v, held_name(ev->cx, h), u->wrote);
}

static bool leave_items(Eval *ev, const HeldList *h)
{
    Ctx *cx = ev->cx;
    const Cell *cells = h->items;
    const DictEntry *entries = h->items;
    int64_t n = h->list ? h->list->n : h->dict->n;
    bool ok = true;
    if ((n != h->n || (h->list && h->list->stacked)) && mode_decides(ev, 0, h->name, &ok))
        return ok;
    if (n != h->n || (h->list && h->list->stacked))
        return no_input(ev, 0, h->name, str_of(cx, "it is a list or dict that gets longer or shorter"));
    for (int64_t i = 0; ok && i < n; i++) {
        if (h->dict && !val_equal(cx, entries[i].key, h->dict->at[i].key))
            return mode_decides(ev, 0, h->name, &ok) ? ok : no_input(ev, 0, h->name, str_of(cx, "it is a dict that gets other keys"));
        Str name = h->list ? state_item(cx, h->name, i) : state_key(cx, h->name, entries[i].key);
        ok = h->list ? leave_value(ev, cells[i].v, h->list->at[i].v, name, 0) : leave_value(ev, entries[i].val.v, h->dict->at[i].val.v, name, 0);
    }
    return ok;
}

/* Memory that was written. */
static bool leave_storage(Eval *ev, const HeldStorage *h)
{
    const uint32_t *known = facts_state(ev->cx, h->name);
    if (h->st->now == h->before)
        return true;
    if (known && *known & UNLOOKED)
        note(ev->cx, NOTE_DROPPED, "the update of %s: nothing looks at its value before the run", h->name->s);
    return leave(ev, h->name, h->st->now, h->st->written);
}

bool state_leave(Eval *ev)
{
    State *s = ev->state;
    bool ok = true;
    for (size_t i = 0; ok && i < s->attrs.n; i++)
        ok = leave_attr(ev, &s->attrs.at[i]);
    for (size_t i = 0; ok && i < s->lists.n; i++)
        ok = leave_items(ev, &s->lists.at[i]);
    for (size_t i = 0; ok && i < s->storages.n; i++)
        ok = leave_storage(ev, &s->storages.at[i]);
    return ok;
}
