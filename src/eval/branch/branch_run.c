/* branch_run.c - run a piece of the program aside: in a graph of its own, while a branch of the
 * trail is open. What it changed is captured, tensors read while its state still holds, then
 * undone. */
#include <stdlib.h>

#include "eval/branch/branch.h"
#include "eval/branch/condition.h"
#include "eval/branch/liveness.h"
#include "value/walk.h"

static void read_stacked(Eval *ev, Branch *a, Stacked *list)
{
    for (size_t i = 0; i < stacked_n_columns(list) && !stacked_is_invalid(list); i++) {
        Stacked *s = stacked_column(list, i);
        if (!map_find(&a->read, s) && !stacked_is_invalid(s))
            map_put(ev->cx, &a->read, s, stacked_whole(ev, s));
    }
}

/* What t holds in the branch. An invalid tensor is POISON: an error only if the program reads it
 * behind the branch. */
static Ox read_one(const Branch *a, Tensor *t)
{
    return tensor_is_invalid(t) ? POISON : tensor_read(a->g, t);
}

/* Is v a list or dict from before the branch? Its items need not be read: those that the branch
 * has put into it are captured one by one, and join_tensor_after reads the others when they are
 * needed. */
static bool is_older(const Branch *a, Value v)
{
    return v.tag == V_LIST ? v.list->created <= a->opened && !v.list->stacked
                           : v.tag == V_DICT && v.dict->created <= a->opened;
}

typedef struct Reading {
    Eval *ev;
    Branch *a;
} Reading;

static WalkStep read_value(void *arg, Value v)
{
    const Reading *r = arg;
    Branch *a = r->a;
    if (v.tag == V_MAYBE)
        return WALK_IN;
    if (v.tag != V_TENSOR && v.tag != V_TUPLE && v.tag != V_LIST && v.tag != V_DICT &&
        !is_plain_object(v))
        return WALK_PAST;
    if (is_older(a, v) || map_find(&a->read, v.any))
        return WALK_PAST;
    map_put(r->ev->cx, &a->read, v.any, v.tag == V_TENSOR ? read_one(a, v.t) : NULL);
    if (v.tag == V_LIST && v.list->stacked)
        read_stacked(r->ev, a, v.list->stacked);
    return WALK_IN;
}

/* Read every tensor in v while the branch's state holds. Modules are not entered: each attribute
 * that the branch sets there is a change of its own on the trail. */
static void read_tensors(Eval *ev, Branch *a, Value v)
{
    Reading r = { ev, a };
    (void)val_walk_finds(ev->cx, v, read_value, &r);
}

static After *after_of(const Branch *a, const void *what)
{
    uintptr_t i = (uintptr_t)map_get(&a->by_what, what);
    return i ? &a->after.at[i - 1] : NULL;
}

const After *branch_after(const Branch *a, const void *what) { return after_of(a, what); }

static void capture_item(Ctx *cx, After *after, int64_t i)
{
    Placed p = { .i = i, .key = val_none() };
    if (after->kind == CHANGE_DICT) {
        const DictEntry *e = &((const Dict *)after->what)->at[i];
        p.key = e->key;
        p.v = e->val.v;
    } else {
        p.v = ((const List *)after->what)->at[i].v;
    }
    vec_push(cx, &after->placed, p);
}

static bool is_same(Value a, Value b) { return a.tag == b.tag && a.any == b.any; }

/* Items of the list have moved, which may come to little: pop(0) and then insert(0, x) leave all
 * but the first where they were. */
static void compare_items(Ctx *cx, After *after, const Change *c)
{
    const List *l = c->what;
    const Cell *was = trail_before(cx, c);
    for (int64_t i = 0; i < l->n; i++)
        if (!was || i >= c->before_n || !is_same(was[i].v, l->at[i].v))
            capture_item(cx, after, i);
    mem_give(cx, was, (size_t)c->before_n * sizeof *was);
}

/* Has a key that went come again, behind the others? */
static bool came_again(Ctx *cx, const After *after, const Change *c)
{
    size_t n = after->placed.n;
    if (!n || after->placed.at[n - 1].i < c->before_n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (after->placed.at[i].gone && dict_find(cx, c->what, after->placed.at[i].key))
            return true;
    return false;
}

/* Entries of the dict are gone, and those behind them have moved up; others came at the end. */
static void compare_entries(Ctx *cx, After *after, const Change *c)
{
    const Dict *d = c->what;
    const DictEntry *was = trail_before(cx, c);
    int64_t n = was ? c->before_n : 0;
    int64_t met = 0;
    for (int64_t i = 0; i < n; i++) {
        const DictEntry *e = met < d->n ? &d->at[met] : NULL;
        bool stays = e && (is_same(was[i].key, e->key) || val_equal(cx, was[i].key, e->key));
        Value v = stays ? e->val.v : val_none();
        if (!stays || !is_same(was[i].val.v, v))
            vec_push(cx, &after->placed,
                     (Placed){ .i = i, .key = was[i].key, .v = v, .gone = !stays });
        met += stays;
    }
    int64_t stay = met;
    while (met < d->n) {
        Placed p = { .i = c->before_n + met - stay, .key = d->at[met].key, .v = d->at[met].val.v };
        vec_push(cx, &after->placed, p);
        met++;
    }
    after->again = came_again(cx, after, c);
    mem_give(cx, was, (size_t)c->before_n * sizeof *was);
}

/* What the branch added to a list or dict: the items behind the first before_n. Where items have
 * moved, all that differs from before. */
static void capture_items(Ctx *cx, After *after, const Change *c)
{
    const List *l = c->kind == CHANGE_LIST ? c->what : NULL;
    const Dict *d = c->kind == CHANGE_DICT ? c->what : NULL;
    after->n = l ? l->n : d->n;
    after->moved = c->moved;
    after->stacked = l ? l->stacked : NULL;
    after->invalid = d ? d->invalid : NULL;
    if (c->moved && l)
        compare_items(cx, after, c);
    else if (c->moved)
        compare_entries(cx, after, c);
    else
        for (int64_t i = c->before_n; i < after->n; i++)
            capture_item(cx, after, i);
}

static void capture_one(Eval *ev, Branch *a, const Change *c)
{
    After after = { .kind = c->kind, .what = c->what, .created = c->created };
    if (c->kind == CHANGE_CELL)
        after.v = ((const Cell *)c->what)->v;
    else if (c->kind == CHANGE_STORAGE)
        after.ox = ((const Storage *)c->what)->now;
    else
        capture_items(ev->cx, &after, c);
    map_put(ev->cx, &a->by_what, c->what, (void *)(uintptr_t)(a->after.n + 1));
    vec_push(ev->cx, &a->after, after);
}

static int by_place(const void *a, const void *b)
{
    int64_t x = ((const Placed *)a)->i;
    int64_t y = ((const Placed *)b)->i;
    return (x > y) - (x < y);
}

static void read_after(Eval *ev, Branch *a, const After *after)
{
    if (after->stacked)
        read_stacked(ev, a, after->stacked);
    if (after->kind == CHANGE_CELL && !local_to_block(ev, a->block, after->what))
        read_tensors(ev, a, after->v);
    for (size_t i = 0; i < after->placed.n; i++)
        read_tensors(ev, a, after->placed.at[i].v);
}

/* What the branch has changed since m, read while its state holds: `x = x + 1; l.append(x)` leaves
 * a cell (x) and a list (one more item). */
static void capture(Eval *ev, Branch *a, TrailMark m)
{
    const Change *changes;
    const ItemChange *items;
    size_t n = trail_changes(ev->cx, m, &changes);
    size_t n_items = trail_items(ev->cx, m, &items);
    for (size_t i = 0; i < n; i++)
        capture_one(ev, a, &changes[i]);
    for (size_t i = 0; i < n_items; i++) {
        After *after = after_of(a, items[i].of);
        if (after && !after->moved && items[i].i < after->n)
            capture_item(ev->cx, after, items[i].i);
    }
    for (size_t i = 0; i < a->after.n; i++) {
        After *after = &a->after.at[i];
        if (after->placed.n)
            qsort(after->placed.at, after->placed.n, sizeof *after->placed.at, by_place);
        read_after(ev, a, after);
    }
}

/* The trail is open while the branch runs, and undone behind it: the other branch starts from the
 * same state. */
Flow run_branch(Eval *ev, Branch *a, Step *run, void *arg)
{
    Graph *outside = ev->g;
    size_t refused = ev->cx->refusals.n;
    a->g = graph_new(ev->cx, outside, NULL);
    a->opened = heap_now(ev->cx);
    a->result = val_none();
    TrailMark m = trail_open(ev->cx);
    KnownCondition known = { a->condition, a->truth, ev->known };
    dim_scope_open(ev->cx);
    ev->g = a->g;
    ev->known = &known;
    ev->staged++;
    /* A contradiction means that no size takes this branch: any result of the branch is right. */
    if (a->condition.tag == V_SYMBOOL && !assume_condition(ev->cx, a->condition.sb, a->truth) &&
        ctx_failed(ev->cx))
        a->flow = FLOW_FAIL;
    else
        a->flow = run(ev, arg, &a->result);
    if (a->flow != FLOW_FAIL && a->flow != FLOW_RAISE)
        capture(ev, a, m);
    read_tensors(ev, a, a->result);
    if (a->flow == FLOW_RAISE)
        refusals_forget(ev->cx, refused); /* a branch that raises needs no operators */
    ev->staged--;
    ev->known = known.up;
    ev->g = outside;
    dim_scope_close(ev->cx);
    trail_undo(ev->cx, m);
    return ctx_failed(ev->cx) ? FLOW_FAIL : a->flow;
}
