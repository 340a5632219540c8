/* state.c - the saved model's own state: what it holds before the run, and what the run leaves for the next one.
 *
 * A converted model is a function: it keeps nothing from one run to the next. So a buffer or attribute that the model writes is an
 * input, whose default is the value in the file, and an output NAME.next (--state=io). Which these are shows only at the end of
 * an evaluation: then it starts again with those inputs (facts.c keeps their names, and which axes have another size after a
 * run). What a run sets before it looks at it is no state. */
#include "eval/branch.h"

typedef struct Used { SourceId wrote; bool read; } Used;       /* where the run set an attribute, and whether it looked at it */
typedef struct Held { const Cell *cell; Value before; Str owner; const char *attr; size_t used; } Held;     /* an attribute */
typedef struct HeldList { const List *list; const Dict *dict; const void *items; int64_t n; Str name; } HeldList;
typedef struct HeldStorage { const Storage *st; Ox before; Str name; } HeldStorage;

typedef struct Reach { Ctx *cx; Map seen; VEC(Ox) todo; } Reach;

typedef struct State {
    VEC(Held) attrs;
    VEC(Used) used;                 /* of the attributes, those of an object from number `held` - 1 of it on */
    VEC(HeldList) lists;
    VEC(HeldStorage) storages;
    Map seen;                       /* lists, dicts, tuples already walked */
    Map fed;                        /* names of state -> the input */
    Map positions;                  /* names of ints that are taken for 0 or more -> the dimension */
    VEC(HeldStorage) inputs;        /* the user's */
    Reach looked;                   /* after the run: reach_looked */
    VEC(Ox) in;                     /* those inputs, and what each is after the run */
    VEC(Ox) next; VEC(Str) names;
    VEC(Str) unlooked;              /* of names: nothing looks at what they were before the run */
    bool restart;                   /* something new was found */
} State;

/* In facts_state's set of axes: a number that may be negative; memory whose value before the run nothing looks at. */
enum { ANY_SIGN = 1 << 30, UNLOOKED = 1 << 29 };

typedef struct Walk { Eval *ev; State *s; int depth; } Walk;

static void walk(Walk *w, Value v, Str name);

static Str child_name(Ctx *cx, Str parent, const char *child)
{
    return parent->len ? str_cat(cx, parent->s, ".", child) : str_of(cx, child);
}

static Str held_name(Ctx *cx, const Held *h) { return child_name(cx, h->owner, h->attr); }

/* Can somebody else hold it too, and write to it? */
static bool has_identity(Value v)
{
    return v.tag == V_OBJ || v.tag == V_LIST || v.tag == V_DICT || v.tag == V_TENSOR || v.tag == V_TUPLE;
}

static void walk_object(Walk *w, Obj *o, Str name)
{
    const ClassDef *c = o->cls;
    size_t used = w->s->used.n;
    for (int64_t i = 0; i < o->n; i++)
        vec_push(w->ev->cx, &w->s->used, (Used){ 0 });
    o->held = used + 1;
    for (int64_t i = 0; i < o->n; i++) {
        const char *attr = o->names ? o->names[i]->s : c && i < (int64_t)c->n_field ? c->field[i].name->s : "?";
        vec_push(w->ev->cx, &w->s->attrs, (Held){ &o->slot[i], o->slot[i].v, name, attr, used + (size_t)i });
        Value v = o->slot[i].v;
        if (v.tag == V_TENSOR && v.t->st->name)
            walk(w, v, v.t->st->name);
        else if (has_identity(v))
            walk(w, v, child_name(w->ev->cx, name, attr));
    }
}

static const void *copy_of(Ctx *cx, const void *at, int64_t n, size_t size) { return n ? mem_copy(cx, at, (size_t)n * size) : NULL; }

static void walk_list(Walk *w, const List *l, Str name)
{
    Ctx *cx = w->ev->cx;
    vec_push(cx, &w->s->lists, (HeldList){ .list = l, .items = copy_of(cx, l->at, l->n, sizeof *l->at), .n = l->n, .name = name });
    for (int64_t i = 0; i < l->n; i++)
        walk(w, l->at[i].v, str_fmt(cx, "%s.%lld", name->s, (long long)i));
}

static void walk_dict(Walk *w, const Dict *d, Str name)
{
    Ctx *cx = w->ev->cx;
    vec_push(cx, &w->s->lists, (HeldList){ .dict = d, .items = copy_of(cx, d->at, d->n, sizeof *d->at), .n = d->n, .name = name });
    for (int64_t i = 0; i < d->n; i++)
        walk(w, d->at[i].val.v, str_fmt(cx, "%s.%lld", name->s, (long long)i));
}

/* For the first time? Objects and storages, of which there are many, know it themselves. */
static bool first_visit(Walk *w, Value v)
{
    if (v.tag == V_OBJ)
        return v.obj->held == 0;
    if (v.tag != V_TENSOR)
        return map_add(w->ev->cx, &w->s->seen, v.any, NULL);
    bool held = v.t->st->held;
    v.t->st->held = true;
    return !held;
}

static void walk(Walk *w, Value v, Str name)
{
    Ctx *cx = w->ev->cx;
    if (!has_identity(v) || w->depth >= (int)cx->limit[LIMIT_DEPTH] * 4 || !first_visit(w, v))
        return;
    w->depth++;
    if (v.tag == V_OBJ)
        walk_object(w, v.obj, name);
    else if (v.tag == V_TENSOR)
        vec_push(cx, &w->s->storages, (HeldStorage){ v.t->st, v.t->st->now, v.t->st->name ? v.t->st->name : name });
    else if (v.tag == V_TUPLE)
        for (int64_t i = 0; i < v.tuple->n; i++)
            walk(w, v.tuple->at[i], str_fmt(cx, "%s.%lld", name->s, (long long)i));
    else if (v.tag == V_LIST)
        walk_list(w, v.list, name);
    else
        walk_dict(w, v.dict, name);
    w->depth--;
}

/* --mode=eval: what model.eval() does. */
static int64_t set_eval_mode(Eval *ev, const State *s)
{
    int64_t changed = 0;
    for (size_t i = 0; i < s->attrs.n; i++) {
        Held *h = &s->attrs.at[i];
        if (strcmp(h->attr, "training") == 0 && h->before.tag == V_BOOL && h->before.b) {
            cell_set(ev->cx, (Cell *)h->cell, val_bool(false));
            h->before = val_bool(false);
            changed++;
        }
    }
    return changed;
}

/* ---- state as inputs ---- */

static Dim loose_dim(Ctx *cx, Str name, int axis) { return dim_sym(cx, str_fmt(cx, "%s_%d", name->s, axis)); }

/* The input of a state that the evaluation before found; NULL for what is none. `now` is its value in the file. */
static Ox feed(Eval *ev, Str name, Ox now)
{
    Dim dim[MAX_RANK];
    const uint32_t *loose = facts_state(ev->cx, name);
    if (!loose || *loose & UNLOOKED || !ox_ok(now) || now->kind != OX_CONST)
        return NULL;
    for (int i = 0; i < ox_rank(now); i++)
        dim[i] = *loose >> i & 1 ? loose_dim(ev->cx, name, i) : ox_dim(now, i);
    Ox v = graph_input(ev->g, name, type_tensor(ev->cx, ox_dtype(now), ox_rank(now), dim));
    graph_input_default(v, now->k);
    for (int i = 0; i < ox_rank(now); i++)
        if (*loose >> i & 1)
            dim_set_origin(ev->cx, dim[i], v, i);
    map_put(ev->cx, &ev->state->fed, name, v);
    vec_push(ev->cx, &ev->state->in, v);
    return v;
}

/* Never negative in the file and after any run that began so: a position, a counter. Until an evaluation shows otherwise. */
static Value feed_int(Eval *ev, Ox in, Str name, int64_t first)
{
    if (first < 0 || *facts_state(ev->cx, name) & ANY_SIGN)
        return val_number_of(ev->g, in);
    Dim d = dim_fresh(ev->cx, "u");
    dim_set_origin(ev->cx, d, in, -1);
    map_put(ev->cx, &ev->state->positions, name, (void *)d);
    return val_dim(ev->cx, d);
}

/* v with the numbers in it that are state as inputs. Tensors have their storages. */
static Value feed_numbers(Eval *ev, Value v, Str name)
{
    if (val_is_plain_number(v)) {
        Ox in = facts_state(ev->cx, name) ? feed(ev, name, carry_ox(ev->g, v)) : NULL;
        return !in ? v : v.tag == V_FLOAT ? (Value){ .tag = V_SYMFLOAT, .ox = in } : v.tag == V_INT ? feed_int(ev, in, name, v.i) : val_number_of(ev->g, in);
    }
    if (v.tag != V_TUPLE)
        return v;
    Value made = val_tuple(ev->cx, v.tuple->at, v.tuple->n);
    made.tuple->type = v.tuple->type;
    made.tuple->fields = v.tuple->fields;
    bool same = true;
    for (int64_t i = 0; i < v.tuple->n; i++) {
        made.tuple->at[i] = feed_numbers(ev, v.tuple->at[i], str_fmt(ev->cx, "%s.%lld", name->s, (long long)i));
        same = same && made.tuple->at[i].any == v.tuple->at[i].any;
    }
    return same ? v : made;
}

/* ---- state that is None in the file: a value, and whether it is there ---- */

static Str is_set_name(Ctx *cx, Str name) { return str_cat(cx, name->s, ".", "is_set"); }
static Str item_name(Ctx *cx, Str name, int64_t i) { return str_fmt(cx, "%s.%lld", name->s, (long long)i); }

/* Its default are zeros, which nobody reads. */
static Value feed_zeros(Eval *ev, const StateShape *shape)
{
    int64_t dim[MAX_RANK], n = 1;
    for (int i = 0; i < shape->rank; i++) {
        dim[i] = shape->dim[i] < 0 ? 0 : shape->dim[i];
        n *= dim[i];
    }
    const void *zeros = new_array(ev->cx, uint8_t, dtype_bytes(shape->dtype, (uint64_t)n) + 1);
    const Const *k = zeros ? const_make(ev->cx, shape->dtype, shape->rank, dim, zeros) : NULL;
    Ox in = k ? feed(ev, shape->name, ox_const(ev->g, k)) : NULL;
    return in ? val_tensor(ev->cx, in) : val_none();
}

static Value feed_shape(Eval *ev, Str name)
{
    const StateShape *shape = facts_state_shape(ev->cx, name);
    if (!shape || shape->items < 0)
        return shape ? feed_zeros(ev, shape) : val_none();
    Value *items = new_array(ev->cx, Value, shape->items + 1);
    for (int i = 0; items && i < shape->items; i++)
        items[i] = feed_shape(ev, item_name(ev->cx, name, i));
    return items ? val_tuple(ev->cx, items, shape->items) : val_none();
}

static Value feed_none(Eval *ev, Str name)
{
    if (!facts_state_shape(ev->cx, name))
        return val_none();
    Ox present = feed(ev, is_set_name(ev->cx, name), ox_bool(ev->g, false));
    Value value = feed_shape(ev, name);
    return present ? val_maybe(ev->cx, val_number_of(ev->g, present), value) : val_none();
}

/* The next evaluation has inputs for what v holds. False: no tensor, nor a tuple of them. */
static bool learn_shape(Eval *ev, Str name, Value v)
{
    Ctx *cx = ev->cx;
    StateShape shape = { .name = name, .items = v.tag == V_TUPLE ? (int)v.tuple->n : -1 };
    uint32_t loose = 0;
    bool ok = v.tag == V_TUPLE || (v.tag == V_TENSOR && v.t->kind == PLAIN && tensor_type(v.t)->rank >= 0);
    for (int64_t i = 0; ok && v.tag == V_TUPLE && i < v.tuple->n; i++)
        ok = learn_shape(ev, item_name(cx, name, i), v.tuple->at[i]);
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

static void feed_all(Eval *ev)
{
    State *s = ev->state;
    Ctx *cx = ev->cx;
    for (size_t i = 0; i < s->storages.n; i++) {
        HeldStorage *h = &s->storages.at[i];
        Ox in = feed(ev, h->name, h->before);
        if (in)
            storage_set(cx, (Storage *)h->st, in);
        h->before = h->st->now;
    }
    for (size_t i = 0; i < s->attrs.n; i++) {
        Held *h = &s->attrs.at[i];
        Value v = h->before.tag == V_NONE ? feed_none(ev, held_name(cx, h)) : feed_numbers(ev, h->before, held_name(cx, h));
        if (v.tag != h->before.tag || v.any != h->before.any)
            cell_set(cx, (Cell *)h->cell, v);
        h->before = v;
    }
    for (size_t i = 0; i < s->lists.n; i++) {
        HeldList *h = &s->lists.at[i];
        for (int64_t k = 0; h->list && k < h->n; k++)
            list_set(cx, (List *)h->list, k, feed_numbers(ev, h->list->at[k].v, str_fmt(cx, "%s.%lld", h->name->s, (long long)k)));
        if (h->list)
            h->items = copy_of(cx, h->list->at, h->n, sizeof *h->list->at);
    }
}

bool training_is_meant(Ctx *cx) { return cx->opt && cx->opt->mode_saved; }

bool state_begin(Eval *ev)
{
    State *s = new(ev->cx, State);
    Walk w = { ev, s, 0 };
    ev->state = s;
    walk(&w, ev->p->root, str_of(ev->cx, ""));
    if (!training_is_meant(ev->cx)) {
        int64_t n = set_eval_mode(ev, s);
        if (n)
            note(ev->cx, NOTE_CHANGED, "%lld module%s saved in training mode, converted in evaluation mode; --mode=saved keeps it", (long long)n,
                 n == 1 ? " was" : "s were");
    }
    if (facts_any_state(ev->cx))            /* names are made for this alone, and a model has many attributes */
        feed_all(ev);
    return !ctx_failed(ev->cx);
}

void state_hold(Eval *ev, Value v)
{
    Walk w = { ev, ev->state, 0 };
    if (ev->state && v.tag == V_TENSOR && v.t->st->state)
        walk(&w, v, v.t->st->name ? v.t->st->name : str_of(ev->cx, "a constant"));
}

void state_hold_input(Eval *ev, const Tensor *t, Str name)
{
    vec_push(ev->cx, &ev->state->inputs, (HeldStorage){ t->st, t->st->now, name });
}

/* NULL for an attribute of an object that the run made. */
static Used *used_of(const State *s, const Obj *o, int64_t slot)
{
    size_t i = o->held + (size_t)slot;
    return s && o->held && i <= s->used.n ? &s->used.at[i - 1] : NULL;
}

void state_read(Eval *ev, const Obj *o, int64_t slot)
{
    Used *u = used_of(ev->state, o, slot);
    if (u)
        u->read = true;
}

void state_wrote(Eval *ev, const Obj *o, int64_t slot)
{
    Used *u = used_of(ev->state, o, slot);
    if (u)
        u->wrote = where_intern(ev->cx);
}

/* ---- after the run ---- */

static void reach(Reach *r, Ox v)
{
    if (v && ox_ok(v) && !map_find(&r->seen, v)) {
        map_put(r->cx, &r->seen, v, NULL);
        vec_push(r->cx, &r->todo, v);
    }
}

static Dim reach_origin(void *arg, Dim sym)
{
    Reach *r = arg;
    Ox from;
    int axis;
    if (dim_origin(r->cx, sym, &from, &axis))
        reach(r, from);
    return NULL;
}

/* The input of a flag that the run has set. One that only it itself rests on nobody sees: has the model warned already? */
static Ox flag_input(Eval *ev, const Held *h)
{
    Value now = h->cell->v;
    bool set = val_is_bool(h->before) && val_is_bool(now) && (h->before.tag != now.tag || h->before.any != now.any);
    return set && facts_any_state(ev->cx) ? map_get(&ev->state->fed, held_name(ev->cx, h)) : NULL;
}

/* What a value after the run rests on, when it is not what it was. */
static void reach_value(Eval *ev, Value before, Value after)
{
    Reach *r = &ev->state->looked;
    if (before.tag == after.tag && before.any == after.any)
        return;
    if (after.tag == V_TENSOR)
        reach(r, after.t->base ? tensor_read(ev->g, after.t) : after.t->st->now);
    if (val_is_plain_number(after))
        reach(r, carry_ox(ev->g, after));
    if (after.tag == V_MAYBE) {
        reach(r, carry_ox(ev->g, after.maybe->present));
        reach_value(ev, val_none(), after.maybe->value);
    }
    for (int64_t i = 0; after.tag == V_TUPLE && i < after.tuple->n; i++)
        reach_value(ev, val_none(), after.tuple->at[i]);
    for (int64_t i = 0; after.tag == V_LIST && !after.list->stacked && i < after.list->n; i++)
        reach_value(ev, val_none(), after.list->at[i].v);
}

static void reach_items(Eval *ev, const HeldList *h)
{
    const Cell *cells = h->items;
    const DictEntry *entries = h->items;
    for (int64_t i = 0; h->list && !h->list->stacked && i < h->list->n; i++)
        reach_value(ev, i < h->n ? cells[i].v : val_none(), h->list->at[i].v);
    for (int64_t i = 0; h->dict && i < h->dict->n; i++)
        reach_value(ev, i < h->n ? entries[i].val.v : val_none(), h->dict->at[i].val.v);
}

/* And on, to all that it rests on. */
static void reach_all(Reach *r)
{
    while (r->todo.n) {
        Ox v = r->todo.at[--r->todo.n];
        for (int64_t i = 0; v->kind == OX_DIMS && i < v->n_items; i++)
            dim_replace(r->cx, v->items[i], reach_origin, r);
        if (v->kind != OX_NODE)
            continue;
        for (int i = 0; i < v->node->n_in; i++)
            reach(r, v->node->in[i]);
        for (int i = 0; i < v->node->n_attr; i++)
            if (v->node->attr[i].kind == ATTR_GRAPH)
                for (size_t k = 0; k < v->node->attr[i].g->outputs.n; k++)
                    reach(r, v->node->attr[i].g->outputs.at[k]);
    }
}

/* Flags that something else rests on, and all that they rest on. */
static void reach_flags(Eval *ev)
{
    State *s = ev->state;
    for (bool more = true; more; ) {
        more = false;
        for (size_t i = 0; i < s->attrs.n; i++) {
            Ox in = flag_input(ev, &s->attrs.at[i]);
            Ox next = in && map_find(&s->looked.seen, in) ? carry_ox(ev->g, s->attrs.at[i].cell->v) : NULL;
            more = more || (next && !map_find(&s->looked.seen, next));
            reach(&s->looked, next);
        }
        reach_all(&s->looked);
    }
}

/* All that outputs and the next run rest on. Asked only of state that is an input: constants fold. */
static void reach_looked(Eval *ev)
{
    State *s = ev->state;
    s->looked.cx = ev->cx;
    for (size_t i = 0; i < ev->g->outputs.n; i++)
        reach(&s->looked, ev->g->outputs.at[i]);
    for (size_t i = 0; i < s->storages.n; i++)
        if (s->storages.at[i].st->now != s->storages.at[i].before)
            reach(&s->looked, s->storages.at[i].st->now);
    for (size_t i = 0; i < s->attrs.n; i++)
        if (!flag_input(ev, &s->attrs.at[i]))
            reach_value(ev, s->attrs.at[i].before, s->attrs.at[i].cell->v);
    for (size_t i = 0; i < s->lists.n; i++)
        reach_items(ev, &s->lists.at[i]);
    reach_all(&s->looked);
    reach_flags(ev);
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
        ok = leave_present(ev, before.tuple->at[i], after.tuple->at[i], item_name(ev->cx, name, i), at);
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
        return leave(ev, is_set_name(cx, name), carry_ox(ev->g, val_present(after)), at) &&
               leave_present(ev, before.maybe->value, after.tag == V_NONE ? before.maybe->value : value, name, at);
    if (!learn_shape(ev, name, value) || !facts_add_state(cx, is_set_name(cx, name), 0))
        return ctx_failed(cx) ? false : no_input(ev, at, name, str_fmt(cx, "it is None in the file and %s after a run; only a tensor, or a tuple of them, can be "
                                                                       "left out", val_kind(value)));
    return ev->state->restart = true;
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
        Str name = h->list ? str_fmt(cx, "%s.%lld", h->name->s, (long long)i) : str_cat(cx, h->name->s, ".", val_text(cx, entries[i].key)->s);
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

/* ONNX inputs do not change. */
static void tell_written_inputs(Eval *ev)
{
    for (size_t i = 0; i < ev->state->inputs.n; i++) {
        const HeldStorage *h = &ev->state->inputs.at[i];
        if (h->st->now != h->before)
            note(ev->cx, NOTE_DROPPED, "the model writes to its input %s: the caller's array does not change; return it to have its value", h->name->s);
    }
}

/* The model's inputs first, then its state, by names that nobody else has. */
static void order_inputs(Eval *ev)
{
    Graph *g = ev->g;
    State *s = ev->state;
    VEC(Ox) in = { 0 };
    Map own = { 0 };
    for (size_t i = 0; i < g->inputs.n; i++)
        if (map_get(&s->fed, g->inputs.at[i]->name) != g->inputs.at[i]) {
            vec_push(ev->cx, &in, g->inputs.at[i]);
            map_put(ev->cx, &own, g->inputs.at[i]->name, NULL);
        }
    for (size_t i = 0; i < s->in.n; i++) {
        Ox v = s->in.at[i];
        if (map_find(&own, v->name))
            graph_input_name(v, str_cat(ev->cx, v->name->s, "", ".state"));
        vec_push(ev->cx, &in, v);
    }
    if (in.n == g->inputs.n)
        memcpy(g->inputs.at, in.at, in.n * sizeof *in.at);
}

static bool make_state_outputs(Eval *ev)
{
    State *s = ev->state;
    Ctx *cx = ev->cx;
    Buf names = buf_new(cx);
    ev->p->state = new_array(cx, StatePair, s->names.n + 1);
    ev->p->n_state = ev->p->state ? (uint32_t)s->names.n : 0;
    order_inputs(ev);
    for (size_t i = 0; i < ev->p->n_state; i++) {
        Str next = str_cat(cx, s->names.at[i]->s, "", ".next");
        ev->p->state[i] = (StatePair){ ((Ox)map_get(&s->fed, s->names.at[i]))->name, next };
        graph_output(ev->g, s->next.at[i], next);
        buf_fmt(&names, "%s%s", i ? ", " : "", ev->p->state[i].input->s);
    }
    if (names.n)
        note(cx, NOTE_ADDED, "state, each an input NAME (by default the value in the file) and an output NAME.next for the next run: %s; "
             "--state=constant leaves it out", buf_done(&names)->s);
    return !ctx_failed(cx);
}

/* Only once all other state is known: what is found later may look at it. */
static void forget_unlooked(Eval *ev)
{
    State *s = ev->state;
    bool all_known = !s->restart;
    for (size_t i = 0; all_known && i < s->unlooked.n; i++)
        s->restart = facts_add_state(ev->cx, s->unlooked.at[i], UNLOOKED);
}

bool state_check(Eval *ev)
{
    State *s = ev->state;
    bool ok = true;
    if (s->fed.n)
        reach_looked(ev);
    for (size_t i = 0; ok && i < s->attrs.n; i++)
        ok = leave_attr(ev, &s->attrs.at[i]);
    for (size_t i = 0; ok && i < s->lists.n; i++)
        ok = leave_items(ev, &s->lists.at[i]);
    for (size_t i = 0; ok && i < s->storages.n; i++)
        ok = leave_storage(ev, &s->storages.at[i]);
    if (ok)
        forget_unlooked(ev);
    if (ok && s->restart && !ctx_failed(ev->cx))
        return fail(ev->cx, E_RESTART, "the model has state");
    if (ok)
        tell_written_inputs(ev);
    return ok && make_state_outputs(ev);
}
