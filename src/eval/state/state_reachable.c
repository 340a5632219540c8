/* state_reachable.c - from which inputs the outputs, and the state that a run leaves, are
 * computed. State of which no other result is computed need not be an input. */
#include "eval/branch/carry.h"
#include "eval/state/state.h"
#include "value/walk.h"

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

/* The input of a bool attribute that the run has set; NULL: it is none. A flag that decides
 * nothing but itself (`has the model warned already?`) is left out. */
static Ox flag_input(Eval *ev, const TrackedAttr *h)
{
    const State *s = ev->state;
    Value now = tracked_cell(s, h)->v;
    bool set = val_is_bool(h->before) && val_is_bool(now) &&
        (h->before.tag != now.tag || h->before.any != now.any);
    return set && facts_any_state(ev->cx) ? map_get(&s->fed, tracked_name(ev->cx, s, h)) : NULL;
}

/* For val_walk: reaches the values from which v, which the run has left, is computed. A dict is
 * not entered, as it has its own entry in State.lists. */
static WalkStep reach_part(void *arg, Value v)
{
    Eval *ev = arg;
    Reach *r = &ev->state->looked;
    bool stacked = v.tag == V_LIST && v.list->stacked;
    if (v.tag == V_TENSOR)
        reach(r, v.t->base ? tensor_read(ev->g, v.t) : v.t->st->now);
    else if (val_is_plain_number(v))
        reach(r, carry_ox(ev->g, v));
    else if (v.tag == V_MAYBE)
        reach(r, carry_ox(ev->g, v.maybe->present));
    else if (stacked && !stacked_is_invalid(v.list->stacked) && !v.list->stacked->column)
        reach(r, stacked_whole(ev, v.list->stacked));
    bool goes_on = v.tag == V_MAYBE || v.tag == V_TUPLE || v.tag == V_LIST ||
        (is_plain_object(v) && val_is_shallow(ev->cx, v, 32));
    return goes_on ? WALK_IN : WALK_PAST;
}

/* Reaches the values from which `after` is computed, unless it is the value from before the run. */
static void reach_value(Eval *ev, Value before, Value after)
{
    if (before.tag == after.tag && before.any == after.any)
        return;
    if (val_walk(ev->cx, after, WALK_LEVELS, reach_part, ev) == WALK_TOO_DEEP)
        fail(ev->cx, E_LIMIT, "state holds values more than %d levels deep", WALK_LEVELS);
}

/* What the run has left in a list or dict of the model, item by item: an item that is as it was is
 * not reached by this. `self.l[0] = x; self.l.append(y)` reaches what x and y were computed from.
 */
static void reach_items(Eval *ev, const TrackedList *h)
{
    const Cell *cells = h->items;
    const DictEntry *entries = h->items;
    if (h->list && !h->list->stacked)
        for (int64_t i = 0; i < h->list->n; i++)
            reach_value(ev, i < h->n ? cells[i].v : val_none(), h->list->at[i].v);
    if (h->list && h->list->stacked && h->list->stacked != h->fed &&
        !stacked_is_invalid(h->list->stacked) && !h->list->stacked->column)
        reach(&ev->state->looked, stacked_whole(ev, h->list->stacked));
    if (!h->dict)
        return;
    for (int64_t i = 0; i < h->dict->n; i++)
        reach_value(ev,
                    i < h->n && val_equal(ev->cx, entries[i].key, h->dict->at[i].key)
                        ? entries[i].val.v
                        : val_none(),
                    h->dict->at[i].val.v);
}

/* Goes on from the values reached so far to all from which they are computed. */
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

/* Reaches the flags on which something else depends, and the values from which they are
 * computed. */
static void reach_flags(Eval *ev)
{
    State *s = ev->state;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < s->order.n; i++) {
            const TrackedAttr *h = tracked_attr(s, i);
            Ox in = flag_input(ev, h);
            Ox next = in && map_find(&s->looked.seen, in) ? carry_ox(ev->g, tracked_cell(s, h)->v)
                                                          : NULL;
            more = more || (next && !map_find(&s->looked.seen, next));
            reach(&s->looked, next);
        }
        reach_all(&s->looked);
    }
}

/* See state.h. Flags come last: they are reached if something else depends on them. */
void state_reachable(Eval *ev)
{
    State *s = ev->state;
    s->looked.cx = ev->cx;
    for (size_t i = 0; i < ev->g->outputs.n; i++)
        reach(&s->looked, ev->g->outputs.at[i]);
    for (size_t i = 0; i < s->storages.n; i++)
        if (s->storages.at[i].st->now != s->storages.at[i].before)
            reach(&s->looked, s->storages.at[i].st->now);
    for (size_t i = 0; i < s->order.n; i++) {
        const TrackedAttr *h = tracked_attr(s, i);
        if (!flag_input(ev, h))
            reach_value(ev, h->before, tracked_cell(s, h)->v);
    }
    for (size_t i = 0; i < s->lists.n; i++)
        reach_items(ev, &s->lists.at[i]);
    reach_all(&s->looked);
    reach_flags(ev);
}
