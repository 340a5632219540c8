/* state.c - the saved model's own state: what it holds before the run, and whether the run writes to it.
 *
 * A converted model is a function: it keeps nothing from one run to the next. A write to a buffer or attribute whose value
 * the next run would see is refused. Two kinds of write change no output and are let go: state that the run sets before it
 * reads it (a cache), and counters like num_batches_tracked whose old value reaches no output - the latter with a note. */
#include "eval/internal.h"

typedef struct Held { const Cell *cell; Value before; Str owner; const char *attr; } Held;  /* an attribute */
typedef struct HeldList { const List *list; const Dict *dict; const void *items; int64_t n; Str name; } HeldList;
typedef struct HeldStorage { const Storage *st; Ox before; Str name; } HeldStorage;

typedef struct State {
    VEC(Held) attrs;
    VEC(HeldList) lists;
    VEC(HeldStorage) storages;
    Map seen;                       /* objects, lists, dicts, storages already walked */
    Map read;                       /* cells that the run has read */
} State;

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
    for (int64_t i = 0; i < o->n; i++) {
        const char *attr = o->names ? o->names[i]->s : c && i < (int64_t)c->n_field ? c->field[i].name->s : "?";
        vec_push(w->ev->cx, &w->s->attrs, (Held){ &o->slot[i], o->slot[i].v, name, attr });
        if (has_identity(o->slot[i].v))
            walk(w, o->slot[i].v, child_name(w->ev->cx, name, attr));
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

static void walk(Walk *w, Value v, Str name)
{
    Ctx *cx = w->ev->cx;
    const void *key = v.tag == V_TENSOR ? (const void *)v.t->st : v.any;
    if (!has_identity(v) || map_find(&w->s->seen, key) || w->depth >= (int)cx->limit[LIMIT_DEPTH] * 4)
        return;
    map_put(cx, &w->s->seen, key, NULL);
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

bool state_begin(Eval *ev)
{
    State *s = new(ev->cx, State);
    Walk w = { ev, s, 0 };
    ev->state = s;
    walk(&w, ev->p->root, str_of(ev->cx, ""));
    if (!ev->cx->opt || !ev->cx->opt->mode_saved) {
        int64_t n = set_eval_mode(ev, s);
        if (n)
            note(ev->cx, NOTE_CHANGED, "%lld module%s saved in training mode, converted in evaluation mode; --mode=saved keeps it", (long long)n,
                 n == 1 ? " was" : "s were");
    }
    return !ctx_failed(ev->cx);
}

void state_hold(Eval *ev, Value v)
{
    Walk w = { ev, ev->state, 0 };
    if (ev->state && v.tag == V_TENSOR && v.t->st->state)
        walk(&w, v, v.t->st->name ? v.t->st->name : str_of(ev->cx, "a constant"));
}

void state_read(Eval *ev, const Cell *c)
{
    if (ev->state)
        map_put(ev->cx, &ev->state->read, c, NULL);
}

/* ---- after the run ---- */

typedef struct Reach { Ctx *cx; Map seen; VEC(Ox) todo; } Reach;

static void reach(Reach *r, Ox v)
{
    if (v && ox_ok(v) && !map_find(&r->seen, v)) {
        map_put(r->cx, &r->seen, v, NULL);
        vec_push(r->cx, &r->todo, v);
    }
}

/* Every value that an output of the graph rests on. */
static void reach_outputs(Reach *r, const Graph *g)
{
    for (size_t i = 0; i < g->outputs.n; i++)
        reach(r, g->outputs.at[i]);
    while (r->todo.n) {
        Ox v = r->todo.at[--r->todo.n];
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

static bool refuse_state(Eval *ev, Str name)
{
    fail(ev->cx, E_UNSUPPORTED, "the model changes its own state: %s is written while it runs, and the next run would see that", name->s);
    fail_hint(ev->cx, "make %s an input and an output of forward", name->s);
    return false;
}

static bool drop_counter(Eval *ev, Reach *r, Ox before, Str name)
{
    if (map_find(&r->seen, before))
        return refuse_state(ev, name);
    note(ev->cx, NOTE_DROPPED, "the update of %s, which no output rests on", name->s);
    return true;
}

static bool same_value(Value a, Value b)
{
    if (a.tag != b.tag)
        return false;
    return a.tag == V_NONE || (a.tag == V_BOOL ? a.b == b.b : a.any == b.any);
}

static bool check_attr(Eval *ev, Reach *r, const Held *h)
{
    if (same_value(h->cell->v, h->before) || !map_find(&ev->state->read, h->cell))
        return true;                                    /* unchanged, or set before it was ever read */
    if (h->before.tag == V_TENSOR)
        return drop_counter(ev, r, h->before.t->st->now, held_name(ev->cx, h));
    return refuse_state(ev, held_name(ev->cx, h));
}

static bool list_changed(const HeldList *h)
{
    if (h->list)
        return h->list->n != h->n || h->list->stacked || (h->n && memcmp(h->list->at, h->items, (size_t)h->n * sizeof *h->list->at));
    return h->dict->n != h->n || (h->n && memcmp(h->dict->at, h->items, (size_t)h->n * sizeof *h->dict->at));
}

bool state_check(Eval *ev)
{
    State *s = ev->state;
    Reach r = { .cx = ev->cx };
    reach_outputs(&r, ev->g);
    for (size_t i = 0; i < s->storages.n; i++)
        if (s->storages.at[i].st->version != 0 && !drop_counter(ev, &r, s->storages.at[i].before, s->storages.at[i].name))
            return false;
    for (size_t i = 0; i < s->attrs.n; i++)
        if (!check_attr(ev, &r, &s->attrs.at[i]))
            return false;
    for (size_t i = 0; i < s->lists.n; i++)
        if (list_changed(&s->lists.at[i]))
            return refuse_state(ev, s->lists.at[i].name);
    return !ctx_failed(ev->cx);
}
