/* state.c - the saved model's own state: what it holds before the run, and what the run leaves for
 * the next one.
 *
 * A converted model is a function: it keeps nothing from one run to the next. So a buffer or
 * attribute that the model writes is an input and an output NAME.next (--state=io). The input's
 * default is the value in the file, until the metadata takes it (state_metadata.c). Which these
 * are shows only at the end of an evaluation: then it starts again with those inputs (facts.c keeps
 * their names, and which axes have another size after a run). What a run sets before it looks at it
 * is no state. */
#include "eval/state/state.h"

#include <ctype.h>

typedef struct Walk {
    Eval *ev;
    State *s;
    int depth;
} Walk;

static void walk(Walk *w, Value v, Str name);

Str state_child(Ctx *cx, Str parent, const char *child)
{
    return parent->len ? str_cat(cx, parent->s, ".", child) : str_of(cx, child);
}

/* Is v a tensor, list, dict or object, which another name may hold and write to? */
static bool has_identity(Value v)
{
    return v.tag == V_OBJ || v.tag == V_LIST || v.tag == V_DICT || v.tag == V_TENSOR ||
        v.tag == V_TUPLE;
}

const char *attr_name(const Obj *o, int64_t i)
{
    if (o->names)
        return o->names[i]->s;
    const ClassDef *c = o->cls;
    return c && i < (int64_t)c->n_field ? c->field[i].name->s : "?";
}

/* Tracks the attributes of an object, each with its value before the run, and all that they
 * hold. */
static void walk_object(Walk *w, Obj *o, Str name)
{
    Ctx *cx = w->ev->cx;
    State *s = w->s;
    size_t first = s->attrs.n;
    TrackedAttr attr = { .object = s->objects.n & INT32_MAX }; /* LIMIT_OBJECTS is less */
    if (!vec_push(cx, &s->objects, (TrackedObject){ o, name }))
        return;
    for (int64_t i = 0; i < o->n; i++) {
        attr.before = o->slot[i].v;
        if (!vec_push(cx, &s->attrs, attr))
            return;
    }
    o->tracked = first + 1;
    for (int64_t i = 0; i < o->n; i++) {
        vec_push(cx, &s->order, (uint32_t)(first + (size_t)i));
        Value v = o->slot[i].v;
        if (v.tag == V_TENSOR && v.t->st->name)
            walk(w, v, v.t->st->name);
        else if (has_identity(v))
            walk(w, v, state_child(cx, name, attr_name(o, i)));
    }
}

/* Tracks a list or dict, and all that it holds. */
static void track_items(Walk *w, TrackedList h)
{
    State *s = w->s;
    if (vec_push(w->ev->cx, &s->lists, h))
        map_put(w->ev->cx, &s->seen, h.list ? (const void *)h.list : h.dict,
                (void *)(uintptr_t)s->lists.n);
}

static void walk_list(Walk *w, List *l, Str name)
{
    Ctx *cx = w->ev->cx;
    track_items(w,
                (TrackedList){ .list = l,
                               .items = state_copy(cx, l->at, l->n, sizeof *l->at),
                               .n = l->n,
                               .name = name });
    for (int64_t i = 0; i < l->n; i++)
        walk(w, l->at[i].v, str_fmt(cx, "%s.%lld", name->s, (long long)i));
}

static void walk_dict(Walk *w, Dict *d, Str name)
{
    Ctx *cx = w->ev->cx;
    track_items(w,
                (TrackedList){ .dict = d,
                               .items = state_copy(cx, d->at, d->n, sizeof *d->at),
                               .n = d->n,
                               .name = name });
    for (int64_t i = 0; i < d->n; i++)
        walk(w, d->at[i].val.v, str_fmt(cx, "%s.%lld", name->s, (long long)i));
}

/* Is v met for the first time? Objects and storages, of which there are many, have a field for
 * the answer. */
static bool first_visit(Walk *w, Value v)
{
    if (v.tag == V_OBJ)
        return v.obj->tracked == 0;
    if (v.tag != V_TENSOR)
        return map_add(w->ev->cx, &w->s->seen, v.any, NULL);
    bool tracked = v.t->st->tracked;
    v.t->st->tracked = true;
    return !tracked;
}

/* v, named `name`, and all that it holds, each thing once. The depth is bounded, since an object
 * may hold itself by way of a list. */
static void walk(Walk *w, Value v, Str name)
{
    Ctx *cx = w->ev->cx;
    if (!has_identity(v) || w->depth / 4 >= cx->limit[LIMIT_DEPTH] || !first_visit(w, v))
        return;
    w->depth++;
    if (v.tag == V_OBJ)
        walk_object(w, v.obj, name);
    else if (v.tag == V_TENSOR)
        vec_push(cx, &w->s->storages,
                 (TrackedStorage){ v.t->st, v.t->st->now, v.t->st->name ? v.t->st->name : name });
    else if (v.tag == V_TUPLE)
        for (int64_t i = 0; i < v.tuple->n; i++)
            walk(w, v.tuple->at[i], str_fmt(cx, "%s.%lld", name->s, (long long)i));
    else if (v.tag == V_LIST)
        walk_list(w, v.list, name);
    else
        walk_dict(w, v.dict, name);
    w->depth--;
}

/* --mode=eval: sets `training` to False in all modules, as model.eval() does. */
static void set_eval_mode(Eval *ev, State *s)
{
    for (size_t i = 0; i < s->order.n; i++) {
        TrackedAttr *h = tracked_attr(s, i);
        if (h->before.tag == V_BOOL && h->before.b &&
            strcmp(attr_name(tracked_object(s, h), tracked_slot(s, h)), "training") == 0) {
            cell_set(ev->cx, tracked_cell(s, h), val_bool(false));
            h->before = val_bool(false);
            vec_push(ev->cx, &s->evaluated, (uint32_t)i);
        }
    }
}

static void tell_eval_mode(Ctx *cx, size_t n)
{
    if (n)
        note(
            cx, NOTE_CHANGED,
            "%zu module%s saved in training mode, converted in evaluation mode; --mode=saved keeps "
            "it",
            n, n == 1 ? " was" : "s were");
}

/* Of a trace only what the run has read counts, a scripted module's: the mode of the others stands
 * in their calls, as in dropout(x, 0.5, True), and is not changed. */
static void tell_eval_mode_of_trace(Ctx *cx, const State *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->evaluated.n; i++)
        n += tracked_attr(s, s->evaluated.at[i])->read;
    tell_eval_mode(cx, n);
}

/* What the model holds before the run; what an earlier evaluation has found to be state is an input
 * from here on. */
bool state_begin(Eval *ev)
{
    State *s = new(ev->cx, State);
    Walk w = { ev, s, 0 };
    ev->state = s;
    walk(&w, ev->p->root, str_of(ev->cx, ""));
    if (!training_is_meant(ev->cx))
        set_eval_mode(ev, s);
    if (!ev->p->traced)
        tell_eval_mode(ev->cx, s->evaluated.n);
    if (facts_any_state(
            ev->cx)) /* names are made for this alone, and a model has many attributes */
        state_inputs(ev);
    return !ctx_failed(ev->cx);
}

void state_track(Eval *ev, Value v)
{
    Walk w = { ev, ev->state, 0 };
    if (!ev->state || v.tag != V_TENSOR || !v.t->st->state)
        return;
    size_t tracked = ev->state->storages.n;
    walk(&w, v, v.t->st->name ? v.t->st->name : str_of(ev->cx, "a constant"));
    if (facts_any_state(ev->cx))
        state_input_storages(ev, tracked);
    storage_was_there(v.t->st);
}

void state_track_input(Eval *ev, const Tensor *t, Str name)
{
    vec_push(ev->cx, &ev->state->inputs, (TrackedStorage){ t->st, t->st->now, name });
}

/* The record of this attribute; NULL: the run itself has made the object. */
static TrackedAttr *attr_of(const State *s, const Obj *o, int64_t slot)
{
    size_t i = o->tracked + (size_t)slot;
    return s && o->tracked && i <= s->attrs.n ? &s->attrs.at[i - 1] : NULL;
}

void state_read(Eval *ev, const Obj *o, int64_t slot)
{
    TrackedAttr *h = attr_of(ev->state, o, slot);
    if (h)
        h->read = true;
}

void state_wrote(Eval *ev, const Obj *o, int64_t slot)
{
    TrackedAttr *h = attr_of(ev->state, o, slot);
    if (h)
        h->wrote = where_intern(ev->cx);
}

/* ---- after the run ---- */

/* Notes each input to which the program writes: an input of an ONNX model does not change. */
static void tell_written_inputs(Eval *ev)
{
    for (size_t i = 0; i < ev->state->inputs.n; i++) {
        const TrackedStorage *h = &ev->state->inputs.at[i];
        if (h->st->now != h->before)
            note(ev->cx, NOTE_DROPPED,
                 "the model writes to its input %s: the caller's array does not change; return it "
                 "to have its value",
                 h->name->s);
    }
}

/* Puts the model's inputs first and its state behind them, and gives state names that no other
 * input has. */
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
        Str called = map_get(&s->called, v->name);
        if (called && map_add(ev->cx, &own, called, NULL))
            graph_input_name(v, called);
        else if (map_find(&own, v->name))
            graph_input_name(v, str_cat(ev->cx, v->name->s, "", ".state"));
        vec_push(ev->cx, &in, v);
    }
    for (size_t i = 0; in.n == g->inputs.n && i < in.n; i++)
        g->inputs.at[i] = in.at[i];
}

/* A constant of a trace has no name that the user knows: `t` of `t = torch.ones(3)` is a local, and
 * of a tensor that is a plain attribute the line tells which. */
void state_call_constant(Eval *ev, Value v, Str local)
{
    Str name = v.tag == V_TENSOR ? v.t->st->name : NULL;
    if (name && str_starts(name, "CONSTANTS.") && isalpha((unsigned char)local->s[0]))
        map_add(ev->cx, &ev->state->called, name, local);
}

/* " (net.py:12)", for a name that the user does not know; else "". */
static const char *where_written(Eval *ev, Str name, Str input)
{
    Pos pos;
    SourceId at = (SourceId)(uintptr_t)map_get(&ev->state->wrote, name);
    if (!str_starts(input, "CONSTANTS.") || !place_line(ev->cx, at, &pos) || !pos.file)
        return "";
    return str_fmt(ev->cx, " (%s:%u)", pos.file->s, pos.line)->s;
}

/* What an input is in the first run. */
static const char *first_run(const Ctx *cx)
{
    return cx->opt && cx->opt->state == STATE_DEFAULTS
        ? "by default the value in the file"
        : "at first as pt2onnx.state.initial in the metadata says";
}

/* The names that inputs and outputs of the graph have. */
static Map names_of_graph(Ctx *cx, const Graph *g)
{
    Map taken = { 0 };
    for (size_t i = 0; i < g->inputs.n; i++)
        map_put(cx, &taken, g->inputs.at[i]->name, NULL);
    for (size_t i = 0; i < g->outputs.n; i++)
        if (g->outputs.at[i]->name)
            map_put(cx, &taken, g->outputs.at[i]->name, NULL);
    return taken;
}

/* `name`.next, or `name`.next_1, .. where the model returns a {"name": {"next": y}} of its own. */
static Str next_name(Ctx *cx, Map *taken, Str name)
{
    Str wish = str_cat(cx, name->s, "", ".next");
    Str next = wish;
    for (int k = 1; map_find(taken, next); k++)
        next = str_fmt(cx, "%s_%d", wish->s, k);
    map_put(cx, taken, next, NULL);
    return next;
}

/* An output NAME.next for each input that is state, and the pairs for the program. */
static bool make_state_outputs(Eval *ev)
{
    State *s = ev->state;
    Ctx *cx = ev->cx;
    Buf names = buf_new(cx);
    Buf others = buf_new(cx);
    ev->p->state = new_array(cx, StatePair, s->names.n + 1);
    ev->p->n_state = ev->p->state ? (uint32_t)s->names.n : 0;
    order_inputs(ev);
    Map taken = ev->p->n_state ? names_of_graph(cx, ev->g) : (Map){ 0 };
    for (size_t i = 0; i < ev->p->n_state; i++) {
        Str name = s->names.at[i];
        Str input = ((Ox)map_get(&s->fed, name))->name;
        bool called = input == map_get(&s->called, name);
        Str base = called ? input : name;
        Str next = next_name(cx, &taken, base);
        ev->p->state[i] = (StatePair){ input, next };
        graph_output(ev->g, s->next.at[i], next);
        if (next->len != base->len + strlen(".next"))
            buf_fmt(&others, "; %s.next is another output, that of %s is %s", base->s, input->s,
                    next->s);
        buf_fmt(&names, "%s%s%s", i ? ", " : "", input->s, where_written(ev, name, input));
    }
    if (names.n)
        note(cx, NOTE_ADDED,
             "state, each an input NAME (%s) and an output NAME.next for the next run: %s%s; "
             "--state=constant leaves it out",
             first_run(cx), buf_done(&names)->s, buf_done(&others)->s);
    return !ctx_failed(cx);
}

/* State whose value before the run is never read needs no input. Known only once all other state
 * is: a restart may find more that reads it. */
static void forget_unlooked(Eval *ev)
{
    State *s = ev->state;
    if (s->restart)
        return;
    for (size_t i = 0; i < s->unlooked.n; i++)
        s->restart = facts_add_state(ev->cx, s->unlooked.at[i], UNLOOKED);
}

/* What follows asks for no attribute and no storage as it was before the run: their memory serves
 * what comes. attr_of finds no record from here on. */
static void give_tracked(Ctx *cx, State *s)
{
    mem_give(cx, s->attrs.at, s->attrs.cap * sizeof *s->attrs.at);
    mem_give(cx, s->objects.at, s->objects.cap * sizeof *s->objects.at);
    mem_give(cx, s->order.at, s->order.cap * sizeof *s->order.at);
    mem_give(cx, s->storages.at, s->storages.cap * sizeof *s->storages.at);
    s->attrs.n = s->attrs.cap = s->objects.n = s->objects.cap = 0;
    s->order.n = s->order.cap = s->storages.n = s->storages.cap = 0;
    s->attrs.at = NULL;
    s->objects.at = NULL;
    s->order.at = NULL;
    s->storages.at = NULL;
}

bool state_check(Eval *ev)
{
    State *s = ev->state;
    if (s->fed.n)
        state_reachable(ev);
    bool ok = state_outputs(ev);
    if (ok)
        forget_unlooked(ev);
    if (ok && s->restart && !ctx_failed(ev->cx))
        return fail(ev->cx, E_RESTART, "the model has state");
    if (ok)
        tell_written_inputs(ev);
    if (ok && ev->p->traced)
        tell_eval_mode_of_trace(ev->cx, s);
    ok = ok && make_state_outputs(ev);
    give_tracked(ev->cx, s);
    return ok;
}
