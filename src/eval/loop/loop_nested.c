/* loop_nested.c - a loop inside a loop: each run of the outer body comes to it again, and it begins
 * with what its runs found the last time.
 *
 * Without that each level of a nest would find out anew in each run of the level around it, and the
 * work would double, or worse, with every level. What is remembered is no result but a supposition,
 * of the kind that a loop's own runs begin with: which things an iteration changes, which of their
 * sizes differ, which numbers count. The run that begins with it is checked as every run is, and
 * what is not in it is found as ever.
 *
 * A thing is remembered as itself when it is older than the outermost loop, else by the way to it
 * from the frame's locals: runs of the loops around make such things anew. What its shape had
 * become is done to it before the first run: a list is one tensor, a None may be a value. Where
 * that cannot be (items whose sizes only the last run of the loop around knew), no more is
 * supposed. */
#include "eval/branch/choice.h"
#include "eval/loop/loop_internal.h"
#include "value/walk.h"

enum { MOST_VALUES = 2000 }; /* values that find_ways goes through */

typedef enum { WAY_ROOT, WAY_ITEM, WAY_MARK, WAY_MEMORY } WayKind;

/* A step of the way to a thing: the frame's locals or the plan's state (WAY_ROOT), or, of the
 * value to which `of` leads: its item i, its mark, or the memory of column i of a stacked list. */
typedef struct Way {
    WayKind kind;
    const struct Way *of;
    int64_t i;
} Way;

/* What was found of a leaf. open: a bit for each axis whose size differs from iteration to
 * iteration. */
typedef struct LeafFound {
    LeafForm form;
    DType dtype;
    int rank;
    uint32_t open;
    bool ragged, loose, counts, natural;
    int64_t step;
} LeafFound;

/* What was found of a carried thing. */
typedef struct Found {
    ChangeKind kind;
    const Way *way; /* NULL: there is no way to it */
    void *what;     /* NULL: created after the outermost loop began */
    uint64_t created;
    Value holder; /* as of a Carried */
    int64_t place;
    bool mark;
    Value
        shape; /* its containers: lists that became one tensor, keys and values that may be there */
    LeafFound *leaf;
    size_t n;
} Found;

struct Findings {
    SourceId at;     /* the loop */
    uint64_t opened; /* the heap's clock when the outermost loop began */
    VEC(Found) found;
    IterationStart start;
    VEC(Findings *)
    inside, before; /* of the loops in the body: found in this run, and in the run before */
    size_t next;    /* of `before` */
};

/* ---- ways ---- */

static Value root(const Loop *l, int64_t i)
{
    Obj *locals = l->ev->frame ? l->ev->frame->locals : NULL;
    Obj *o = i ? l->plan->state : locals;
    return o ? (Value){ .tag = V_OBJ, .obj = o } : val_none();
}

static Value value_at(const Loop *l, const Way *w)
{
    return w->kind == WAY_ROOT ? root(l, w->i) : val_part(value_at(l, w->of), w->i);
}

typedef struct Stop {
    Value v;
    const Way *way;
} Stop;

/* A search level by level through all values of a frame: most things are a local, or lie in one. */
typedef struct Search {
    Ctx *cx;
    Map wanted; /* thing -> Way, NULL until it is met */
    size_t missing;
    VEC(Stop) todo;
    Map seen;
} Search;

static Way *way_new(Ctx *cx, WayKind kind, const Way *of, int64_t i)
{
    Way *w = new(cx, Way);
    *w = (Way){ kind, of, i };
    return w;
}

static void meet(Search *s, const void *what, WayKind kind, const Way *of, int64_t i)
{
    MapEntry *e = what ? map_find(&s->wanted, what) : NULL;
    if (!e || e->val)
        return;
    e->val = way_new(s->cx, kind, of, i);
    s->missing--;
}

/* Meets what lies in v, one level down: the mark of v, the memory of its columns, its parts.
 * Parts that hold others wait in `todo`. */
static void meet_inside(Search *s, Value v, const Way *way)
{
    const Tensor *mark = container_marked(v);
    meet(s, mark ? mark->st : NULL, WAY_MARK, way, 0);
    if (v.tag == V_LIST && v.list->stacked)
        for (size_t i = 0; i < stacked_n_columns(v.list->stacked); i++)
            meet(s, stacked_column(v.list->stacked, i)->memory->st, WAY_MEMORY, way, (int64_t)i);
    for (int64_t i = 0; s->missing && i < val_n_parts(v); i++) {
        Value item = val_part(v, i);
        bool holds = item.tag == V_TUPLE || item.tag == V_LIST || item.tag == V_DICT ||
            item.tag == V_MAYBE || is_plain_object(item);
        meet(s, val_part_place(v, i), WAY_ITEM, way, i);
        if (item.tag == V_TENSOR || item.tag == V_LIST || item.tag == V_DICT)
            meet(s, item.tag == V_TENSOR ? (const void *)item.t->st : item.any, WAY_ITEM, way, i);
        if (holds && s->todo.n < MOST_VALUES && map_add(s->cx, &s->seen, item.any, NULL))
            vec_push(s->cx, &s->todo, (Stop){ item, way_new(s->cx, WAY_ITEM, way, i) });
    }
}

/* The way to each carried thing, in the values before the loop. A local of a frame that is older
 * than the outermost loop needs no way. */
static Map find_ways(Loop *l, uint64_t opened)
{
    Search s = { .cx = l->ev->cx };
    for (size_t i = 0; i < l->carried.n; i++) {
        const Carried *k = &l->carried.at[i];
        s.missing += (k->kind != CHANGE_CELL || k->created > opened) &&
            map_add(s.cx, &s.wanted, k->what, NULL);
    }
    if (!s.missing)
        return s.wanted;
    for (int64_t i = 0; i < 2; i++)
        vec_push(s.cx, &s.todo, (Stop){ root(l, i), way_new(s.cx, WAY_ROOT, NULL, i) });
    for (size_t i = 0; s.missing && i < s.todo.n; i++)
        meet_inside(&s, s.todo.at[i].v, s.todo.at[i].way);
    return s.wanted;
}

static bool is_at(Carried *k, void *what, uint64_t created)
{
    k->what = what;
    k->created = created;
    return what != NULL;
}

/* An item of a list or dict lies where its holder has it now. */
static bool is_item(Carried *k, Value holder, int64_t place)
{
    k->holder = holder;
    k->place = place;
    if (holder.tag == V_DICT && dict_is_dynamic(holder.dict))
        return false;
    return is_at(k, loop_item(holder, place),
                 holder.tag == V_LIST ? holder.list->created : holder.dict->created);
}

/* The thing that lies at the end of the way now. False: there is none. */
static bool at_way(const Loop *l, const Found *f, Carried *k)
{
    Ctx *cx = l->ev->cx;
    const Way *w = f->way;
    Value of = w->of ? value_at(l, w->of) : val_none();
    Value v = value_at(l, w);
    const Tensor *t = NULL;
    if (f->kind == CHANGE_CELL && is_plain_object(of) && w->i < of.obj->n)
        return is_at(k, &of.obj->slot[w->i], of.obj->created);
    if (f->kind == CHANGE_CELL && (of.tag == V_LIST || of.tag == V_DICT))
        return is_item(k, of, w->i);
    if (f->kind == CHANGE_LIST && v.tag == V_LIST)
        return is_at(k, v.list, v.list->created);
    if (f->kind == CHANGE_DICT && v.tag == V_DICT)
        return is_at(k, v.dict, v.dict->created);
    if (f->kind != CHANGE_STORAGE)
        return false;
    if (w->kind == WAY_MARK)
        t = container_mark(cx, of);
    else if (w->kind == WAY_MEMORY)
        t = of.tag == V_LIST && of.list->stacked &&
                (size_t)w->i < stacked_n_columns(of.list->stacked)
            ? stacked_column(of.list->stacked, (size_t)w->i)->memory
            : NULL;
    else
        t = v.tag == V_TENSOR ? v.t : NULL;
    return t && is_at(k, t->st, t->st->created);
}

/* ---- what was found ---- */

static LeafFound leaf_found(const Leaf *leaf)
{
    LeafFound f = { .form = leaf->form,
                    .dtype = leaf->dtype,
                    .rank = leaf->rank,
                    .ragged = leaf_is_ragged(leaf),
                    .loose = leaf->loose,
                    .counts = leaf->counts,
                    .natural = leaf->natural,
                    .step = leaf->step };
    for (int i = 0; i < leaf->rank; i++)
        f.open |= (uint32_t)!leaf->dim[i] << i;
    return f;
}

/* What was found of k; nothing of items whose whole list is carried. False: there is no way to k,
 * and the findings end here. */
static bool keep_thing(Loop *l, const Carried *k, const Map *ways)
{
    Ctx *cx = l->ev->cx;
    if (k->dropped)
        return true;
    Found f = { .kind = k->kind,
                .way = map_get(ways, k->what),
                .created = k->created,
                .holder = k->holder,
                .place = k->place,
                .mark = k->mark,
                .shape = k->shape,
                .n = k->n };
    f.what = k->created <= l->findings->opened ? k->what : NULL;
    f.leaf = new_array(cx, LeafFound, k->n + 1);
    if (!f.leaf || (!f.way && !f.what))
        return false;
    for (size_t i = 0; i < k->n; i++)
        f.leaf[i] = leaf_found(&l->leaves.at[k->first + i]);
    return vec_push(cx, &l->findings->found, f);
}

void loop_keep_findings(Loop *l)
{
    Map ways = { 0 };
    if (!l->ev->findings)
        return;
    ways = find_ways(l, l->findings->opened);
    l->findings->start = l->start;
    for (size_t i = 0; i < l->carried.n && keep_thing(l, &l->carried.at[i], &ways); i++)
        ;
}

/* ---- supposing it ---- */

/* Makes an item's type that was found in an earlier run of the body around valid in this one: a
 * size that only that run knew becomes a new symbol. False: all items had that size, so it would
 * have to be known. */
static bool item_here(Loop *l, ItemType *item)
{
    Ctx *cx = l->ev->cx;
    bool ok = true;
    Dim dim[MAX_RANK];
    if (item->parts) {
        item->parts = items_copy(cx, item->parts);
        for (size_t i = 0; ok && i < item->parts->n; i++)
            ok = item_here(l, &item->parts->at[i]);
        return ok;
    }
    if (!item->type)
        return false;
    for (int i = 0; ok && i < item->type->rank; i++) {
        bool known = dim_is_outside(l->ev->g, item->type->dim[i]);
        dim[i] = known ? item->type->dim[i] : dim_fresh(cx, "d");
        ok = known || item->ragged;
    }
    if (ok && item->type->rank > 0)
        item->type = type_tensor(cx, item->type->dtype, item->type->rank, dim);
    return ok && item->type;
}

/* A list that became one tensor is one from the first run on, if it is empty now or its items
 * are of that type. */
static bool suppose_stacked(Loop *l, List *now, const Stacked *was)
{
    Ctx *cx = l->ev->cx;
    ItemType item = was->item, own;
    int64_t n;
    Value *at = list_values(cx, now, &n);
    if (now->stacked || !at || !item.elem || !item_here(l, &item))
        return now->stacked;
    if (n > 0 &&
        (item.parts || item.of || !list_item_type(cx, at, n, &own) || own.parts || own.of ||
         strcmp(own.elem, item.elem) || own.type->dtype != item.type->dtype ||
         own.type->rank != item.type->rank))
        return false;
    return vec_push(cx, &l->growing, (Growing){ now, item, false });
}

static bool suppose_shape(Loop *l, Value *place, Value was);

static bool suppose_optional(Loop *l, Value *place, const Maybe *was)
{
    Value value = *place;
    if (!val_ok(value) || (value.tag == V_NONE && !loop_stand_in(l, was->value, &value)))
        return false;
    *place = val_maybe(l->ev->cx, val_bool(place->tag != V_NONE), value);
    return true;
}

static bool suppose_option(Loop *l, Value *place, Value was)
{
    Values all;
    if (!val_is_option(*place) || !options_join(l->ev->cx, was, *place, &all) ||
        (int64_t)all.n != was.choice->n)
        return false;
    *place = val_choice(l->ev->cx, all.at, (int64_t)all.n, option_index(l->ev->g, *place, &all));
    return true;
}

/* Keys that may be there are so from the first run on. */
static bool suppose_keys(Loop *l, Dict *now, const Dict *was)
{
    Ctx *cx = l->ev->cx;
    bool ok = true;
    for (int64_t i = 0; ok && i < was->n; i++) {
        Value entry = was->at[i].val.v, value;
        const Cell *there = dict_find(cx, now, was->at[i].key);
        if (!val_is_maybe_key(entry) || (there && val_is_maybe_key(there->v)))
            continue;
        value = there ? there->v : entry.maybe->value;
        ok = there || loop_stand_in(l, value, &value);
        if (ok)
            dict_set(cx, now, was->at[i].key, val_maybe_key(cx, val_bool(there != NULL), value));
    }
    now->unordered = now->unordered || was->unordered;
    return ok && now->n == was->n;
}

/* Gives the value at *place, which lies in containers of the loop's own, the shape that was
 * found. */
static bool suppose_shape(Loop *l, Value *place, Value was)
{
    bool same = true;
    if (was.tag == V_MAYBE && place->tag != V_MAYBE)
        same = suppose_optional(l, place, was.maybe);
    if (was.tag == V_CHOICE)
        return suppose_option(l, place, was);
    Value now = *place;
    if (!same || now.tag != was.tag)
        return false;
    if (was.tag == V_LIST && was.list->stacked)
        return suppose_stacked(l, now.list, was.list->stacked);
    if (was.tag == V_DICT)
        same = suppose_keys(l, now.dict, was.dict);
    same = same && val_n_parts(now) == val_n_parts(was);
    for (int64_t i = 0; same && i < val_n_parts(was); i++)
        same = suppose_shape(l, val_part_place(now, i), val_part(was, i));
    return same;
}

/* Gives the leaves of k the types that were found. Where leaves are of other forms now, none is
 * changed. */
static bool suppose_leaves(Loop *l, const Carried *k, const Found *f)
{
    bool same = k->n == f->n;
    for (size_t i = 0; same && i < f->n; i++) {
        LeafFound was = f->leaf[i];
        LeafFound now = leaf_found(&l->leaves.at[k->first + i]);
        same = was.form == now.form && was.dtype == now.dtype && was.rank == now.rank &&
            was.ragged == now.ragged;
    }
    if (same)
        for (size_t i = 0; i < f->n; i++) {
            Leaf *leaf = &l->leaves.at[k->first + i];
            for (int axis = 0; axis < leaf->rank; axis++)
                if (f->leaf[i].open >> axis & 1)
                    leaf->dim[axis] = NULL;
            leaf->loose = f->leaf[i].loose;
        }
    if (same && f->n == 1 && loop_begins_natural(l, k)) {
        Leaf *leaf = &l->leaves.at[k->first];
        leaf->counts = f->leaf[0].counts;
        leaf->natural = f->leaf[0].natural;
        leaf->step = f->leaf[0].step;
    }
    return same;
}

/* Does k hold a value that an iteration can be given? */
static bool is_given(const Loop *l, const Carried *k)
{
    const Storage *st = k->what;
    Value now = loop_after(k);
    if (k->kind == CHANGE_STORAGE)
        return k->mark ? !st->now
                       : k->created <= l->opened && ox_ok(st->now) && graph_sees(l->ev->g, st->now);
    return val_ok(now) && !container_invalid(now) &&
        !(now.tag == V_LIST && now.list->stacked && stacked_is_invalid(now.list->stacked)) &&
        !(now.tag == V_DICT && now.dict->invalid) && loop_may_carry(l->ev->cx, now);
}

/* *same: it is as it was. */
static bool suppose_thing(Loop *l, const Found *f, Carried k, bool *same)
{
    Ctx *cx = l->ev->cx;
    *same = is_given(l, &k);
    if (!*same)
        return true;
    k.first = l->leaves.n;
    if (k.kind == CHANGE_CELL)
        k.original = loop_after(&k);
    if (k.kind == CHANGE_LIST || k.kind == CHANGE_DICT)
        k.after = loop_after(&k);
    if (k.kind != CHANGE_STORAGE)
        k.shape = containers_copy(cx, loop_after(&k));
    *same = suppose_shape(l, &k.shape, f->shape);
    l->growing.n = *same ? l->growing.n : 0;
    if (!*same || !loop_reshape(l) || (!k.mark && !loop_first_leaves(l, &k)))
        return !*same && !ctx_failed(cx);
    *same = suppose_leaves(l, &k, f);
    if (*same)
        return loop_add(l, k);
    l->leaves.n = k.first;
    return !ctx_failed(cx);
}

/* Supposes one finding, of the thing that lies in the same place now. For memory the thing that
 * was found is met too, as a write to one of them may be a write to the other. */
static bool suppose_found(Loop *l, const Found *f, Map *met, bool *same)
{
    Carried there = { .kind = f->kind, .mark = f->mark };
    Carried itself = there;
    bool moved = f->way && at_way(l, f, &there) && there.what != f->what;
    bool stays = f->what &&
        (val_ok(f->holder) ? is_item(&itself, f->holder, f->place)
                           : is_at(&itself, f->what, f->created));
    *same = moved || stays;
    if (moved && map_add(l->ev->cx, met, there.what, NULL) && !suppose_thing(l, f, there, same))
        return false;
    if (!*same || !stays || (moved && f->kind != CHANGE_STORAGE) ||
        !map_add(l->ev->cx, met, itself.what, NULL))
        return !ctx_failed(l->ev->cx);
    return suppose_thing(l, f, itself, same);
}

/* What the same loop found in the last run of the body around; the loops of a body come in the
 * same order in each run. */
static const Findings *last_time(Findings *around, SourceId at)
{
    for (size_t i = around->next; i < around->before.n; i++)
        if (around->before.at[i]->at == at) {
            around->next = i + 1;
            return around->before.at[i];
        }
    return NULL;
}

/* `around` has, in order, what its inner loops found the last time. Whatever of it cannot be
 * supposed here ends it: the rest is found anew. */
bool loop_suppose_findings(Loop *l, bool *begun)
{
    Ctx *cx = l->ev->cx;
    Findings *around = l->ev->findings;
    Map met = { 0 };
    bool more = true;
    *begun = false;
    l->findings = new(cx, Findings);
    *l->findings = (Findings){ .at = where_intern(cx),
                               .opened = around ? around->opened : l->opened };
    const Findings *last = around ? last_time(around, l->findings->at) : NULL;
    if (around && !vec_push(cx, &around->inside, l->findings))
        return false;
    if (!last)
        return !ctx_failed(cx);
    for (size_t i = 0; i < last->inside.n; i++)
        vec_push(cx, &l->findings->inside, last->inside.at[i]);
    for (size_t i = 0; more && i < last->found.n; i++)
        if (!suppose_found(l, &last->found.at[i], &met, &more))
            return false;
    l->start.counter = last->start.counter;
    l->start.wrong = last->start.wrong;
    for (size_t i = 0; i < last->start.known.n; i++)
        if (!iteration_start_add(l->ev->g, &l->start, last->start.known.at[i]))
            return false;
    *begun = l->carried.n > 0;
    return !ctx_failed(cx);
}

Findings *loop_enter_body(Loop *l)
{
    Findings *f = l->findings;
    Findings *around = l->ev->findings;
    f->before.n = f->next = 0;
    for (size_t i = 0; i < f->inside.n; i++)
        vec_push(l->ev->cx, &f->before, f->inside.at[i]);
    f->inside.n = 0;
    l->ev->findings = f;
    return around;
}
