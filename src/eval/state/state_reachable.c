/* state_reachable.c - what the outputs, and the state that a run leaves, rest on: an input that
 * none of them does nobody looks at. */
#include "eval/branch/carry.h"
#include "eval/state/state.h"

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

Ox tracked_flag_input(Eval *ev, const TrackedAttr *h)
{
    Value now = h->cell->v;
    bool set = val_is_bool(h->before) && val_is_bool(now) &&
        (h->before.tag != now.tag || h->before.any != now.any);
    return set && facts_any_state(ev->cx) ? map_get(&ev->state->fed, tracked_name(ev->cx, h))
                                          : NULL;
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
    for (int64_t i = 0; is_plain_object(after) && is_shallow(after, 32) && i < after.obj->n; i++)
        reach_value(ev, val_none(), after.obj->slot[i].v);
    for (int64_t i = 0; after.tag == V_TUPLE && i < after.tuple->n; i++)
        reach_value(ev, val_none(), after.tuple->at[i]);
    if (after.tag == V_LIST && after.list->stacked && !stacked_is_invalid(after.list->stacked) &&
        !after.list->stacked->column)
        reach(r, stacked_whole(ev, after.list->stacked));
    for (int64_t i = 0; after.tag == V_LIST && !after.list->stacked && i < after.list->n; i++)
        reach_value(ev, val_none(), after.list->at[i].v);
}

static void reach_items(Eval *ev, const TrackedList *h)
{
    const Cell *cells = h->items;
    const DictEntry *entries = h->items;
    for (int64_t i = 0; h->list && !h->list->stacked && i < h->list->n; i++)
        reach_value(ev, i < h->n ? cells[i].v : val_none(), h->list->at[i].v);
    if (h->list && h->list->stacked && h->list->stacked != h->fed &&
        !stacked_is_invalid(h->list->stacked) && !h->list->stacked->column)
        reach(&ev->state->looked, stacked_whole(ev, h->list->stacked));
    for (int64_t i = 0; h->dict && i < h->dict->n; i++)
        reach_value(ev,
                    i < h->n && val_equal(ev->cx, entries[i].key, h->dict->at[i].key)
                        ? entries[i].val.v
                        : val_none(),
                    h->dict->at[i].val.v);
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
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < s->attrs.n; i++) {
            Ox in = tracked_flag_input(ev, &s->attrs.at[i]);
            Ox next = in && map_find(&s->looked.seen, in) ? carry_ox(ev->g, s->attrs.at[i].cell->v)
                                                          : NULL;
            more = more || (next && !map_find(&s->looked.seen, next));
            reach(&s->looked, next);
        }
        reach_all(&s->looked);
    }
}

void state_reachable(Eval *ev)
{
    State *s = ev->state;
    s->looked.cx = ev->cx;
    for (size_t i = 0; i < ev->g->outputs.n; i++)
        reach(&s->looked, ev->g->outputs.at[i]);
    for (size_t i = 0; i < s->storages.n; i++)
        if (s->storages.at[i].st->now != s->storages.at[i].before)
            reach(&s->looked, s->storages.at[i].st->now);
    for (size_t i = 0; i < s->attrs.n; i++)
        if (!tracked_flag_input(ev, &s->attrs.at[i]))
            reach_value(ev, s->attrs.at[i].before, s->attrs.at[i].cell->v);
    for (size_t i = 0; i < s->lists.n; i++)
        reach_items(ev, &s->lists.at[i]);
    reach_all(&s->looked);
    reach_flags(ev);
}
