/* arm.c - run a piece of the program aside: in a graph of its own, while a branch of the trail is open. What it changed is
 * captured, tensors read while its state still holds, then undone. */
#include "eval/branch.h"

uint64_t heap_now(Ctx *cx) { return list_new(cx, 0, NULL)->born; }

static void read_stacked(Eval *ev, Arm *a, Stacked *list)
{
    for (size_t i = 0; i < stacked_n_columns(list) && !stacked_is_lost(list); i++) {
        Stacked *s = stacked_column(list, i);
        if (!map_find(&a->read, s) && !stacked_is_lost(s))
            map_put(ev->cx, &a->read, s, stacked_whole(ev, s));
    }
}

/* Nobody knows what a lost one holds: it is POISON, and an error only for who looks at it behind the branch. */
static Ox read_one(const Arm *a, Tensor *t) { return tensor_is_lost(t) ? POISON : tensor_read(a->g, t); }

/* Read every tensor in v while the arm's state holds. Modules are not entered: they are the same outside. */
static void read_tensors(Eval *ev, Arm *a, Value v)
{
    const void *key = v.any;
    if (v.tag == V_MAYBE) {
        read_tensors(ev, a, v.maybe->value);
        return;
    }
    if (v.tag != V_TENSOR && v.tag != V_TUPLE && v.tag != V_LIST && v.tag != V_DICT && (v.tag != V_OBJ || v.obj->path))
        return;
    if (map_find(&a->read, key))
        return;
    map_put(ev->cx, &a->read, key, v.tag == V_TENSOR ? read_one(a, v.t) : NULL);
    for (int64_t i = 0; v.tag == V_TUPLE && i < v.tuple->n; i++)
        read_tensors(ev, a, v.tuple->at[i]);
    for (int64_t i = 0; v.tag == V_LIST && !v.list->stacked && i < v.list->n; i++)
        read_tensors(ev, a, v.list->at[i].v);
    if (v.tag == V_LIST && v.list->stacked)
        read_stacked(ev, a, v.list->stacked);
    for (int64_t i = 0; v.tag == V_DICT && i < v.dict->n; i++)
        read_tensors(ev, a, v.dict->at[i].val.v);
    for (int64_t i = 0; v.tag == V_OBJ && i < v.obj->n; i++)
        read_tensors(ev, a, v.obj->slot[i].v);
}

static void capture_one(Eval *ev, Arm *a, const Change *c)
{
    After after = { .kind = c->kind, .what = c->what, .born = c->born };
    if (c->kind == CHANGE_CELL)
        after.v = ((const Cell *)c->what)->v;
    else if (c->kind == CHANGE_STORAGE)
        after.ox = ((const Storage *)c->what)->now;
    else
        after.items = c->kind == CHANGE_LIST ? list_values(ev->cx, c->what, &after.n) : dict_values(ev->cx, c->what, &after.n);
    after.stacked = c->kind == CHANGE_LIST ? ((const List *)c->what)->stacked : NULL;
    after.lost = c->kind == CHANGE_DICT ? ((const Dict *)c->what)->lost : NULL;
    if (after.stacked)
        read_stacked(ev, a, after.stacked);
    read_tensors(ev, a, after.v);
    for (int64_t i = 0; i < after.n; i++)
        read_tensors(ev, a, after.items[i]);
    map_put(ev->cx, &a->by_what, c->what, (void *)(uintptr_t)(a->after.n + 1));
    vec_push(ev->cx, &a->after, after);
}

/* Items of a list; keys and values of a dict in turn. */
Value *list_values(Ctx *cx, const List *l, int64_t *n)
{
    Value *v = new_array(cx, Value, l->n + 1);
    *n = v ? l->n : 0;
    for (int64_t i = 0; i < *n; i++)
        v[i] = l->at[i].v;
    return v;
}

Value *dict_values(Ctx *cx, const Dict *d, int64_t *n)
{
    Value *v = new_array(cx, Value, 2 * d->n + 1);
    *n = v ? 2 * d->n : 0;
    for (int64_t i = 0; i < *n; i++)
        v[i] = i % 2 ? d->at[i / 2].val.v : d->at[i / 2].key;
    return v;
}

Flow run_arm(Eval *ev, Arm *a, Step *run, void *arg)
{
    Graph *outside = ev->g;
    size_t refused = ev->cx->refusals.n;
    const Change *changes;
    a->g = graph_new(ev->cx, outside, NULL);
    a->opened = heap_now(ev->cx);
    a->result = val_none();
    TrailMark m = trail_open(ev->cx);
    Told told = { a->condition, a->truth, ev->told };
    dim_scope_open(ev->cx);
    ev->g = a->g;
    ev->told = &told;
    ev->staged++;
    /* A contradiction makes it an arm that no size takes: whatever it gives is right. */
    if (a->condition.tag == V_SYMBOOL && !assume_order(ev->cx, a->condition.sb, a->truth) && ctx_failed(ev->cx))
        a->flow = FLOW_FAIL;
    else
        a->flow = run(ev, arg, &a->result);
    size_t n = a->flow == FLOW_FAIL || a->flow == FLOW_RAISE ? 0 : trail_changes(ev->cx, m, &changes);
    for (size_t i = 0; i < n; i++)
        capture_one(ev, a, &changes[i]);
    read_tensors(ev, a, a->result);
    if (a->flow == FLOW_RAISE)
        ev->cx->refusals.n = refused;                                  /* an arm that raises needs no operators */
    ev->staged--;
    ev->told = told.up;
    ev->g = outside;
    dim_scope_close(ev->cx);
    trail_undo(ev->cx, m);
    return ctx_failed(ev->cx) ? FLOW_FAIL : a->flow;
}
