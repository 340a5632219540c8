/* heap.c - the only writer of cells: lists, dicts, objects, storages, local variables, and the undo
 * trail.
 *
 * While a branch is open, the first write to a thing logs what the thing was; trail_undo puts that
 * back. Each open branch keeps a map of what it has logged already, so that a thing costs one entry
 * a branch however often it is written. A clock stamps what is made: a thing made inside the
 * innermost branch needs no entry, because nothing outside has seen it. Writes while no branch is
 * open cost nothing.
 *
 * A list or dict that a branch changes keeps the array that it had: an item that is written in it
 * is logged by itself, and before items move to other places the list moves into an array of its
 * own. So a branch costs what it writes, however long the list, and undoing it leaves the cells at
 * their addresses. Versions of storages come from the clock too: were the number of an undone write
 * given to another write, a stale view would look fresh. */
#include <assert.h>

#include "value/walk.h"

typedef struct OpenBranch {
    size_t first, first_item; /* of its entries in the trail, and of those in items */
    uint64_t opened;          /* the clock then */
    /* Of a thing: its place in the trail + 1. Of a cell of a list or dict, where it lay before the
     * branch: its place in items + 1. */
    Map logged;
} OpenBranch;

typedef struct Heap {
    VEC(Change) trail;
    VEC(ItemChange) items;
    VEC(OpenBranch) branches;
    uint64_t clock;
    uint64_t shared_writes;
} Heap;

static Heap *heap_of(Ctx *cx)
{
    if (!cx->heap) {
        cx->heap = (struct Heap *)new(cx, Heap);
        cx->heap->clock = 1;
    }
    return cx->heap;
}

static uint64_t tick(Ctx *cx) { return ++heap_of(cx)->clock; }

uint64_t heap_shared_writes(Ctx *cx) { return heap_of(cx)->shared_writes; }
void heap_note_shared_write(Ctx *cx) { heap_of(cx)->shared_writes++; }

/* ---- the trail ---- */

/* Must a write to `what` be logged? Not when no branch is open, nor when the innermost branch has
 * made it, or logged it before. */
static bool must_log(const Heap *h, const void *what, uint64_t created)
{
    if (h->branches.n == 0)
        return false;
    const OpenBranch *b = &h->branches.at[h->branches.n - 1];
    return created <= b->opened && !map_find(&b->logged, what);
}

uint64_t heap_now(Ctx *cx) { return tick(cx); }

static void log_change(Ctx *cx, Heap *h, Change c)
{
    OpenBranch *b = &h->branches.at[h->branches.n - 1];
    map_put(cx, &b->logged, c.what, (void *)(uintptr_t)(h->trail.n + 1));
    vec_push(cx, &h->trail, c);
}

/* What the innermost branch has logged of a list or dict; NULL: nothing, or no branch is open. */
static Change *logged(Heap *h, const void *what)
{
    Map *m = h->branches.n ? &h->branches.at[h->branches.n - 1].logged : NULL;
    uintptr_t i = m ? (uintptr_t)map_get(m, what) : 0;
    return i ? &h->trail.at[i - 1] : NULL;
}

static Cell *cell_at(ChangeKind kind, void *array, int64_t i)
{
    return kind == CHANGE_LIST ? (Cell *)array + i : &((DictEntry *)array + i)->val;
}

/* Called before item i of a list or dict is written, and before it is cut off, as a branch inside
 * this one may put another item in its place. */
static void log_item(Ctx *cx, const void *of, int64_t i)
{
    Heap *h = heap_of(cx);
    const Change *c = logged(h, of);
    if (!c || c->moved || i >= c->before_n)
        return;
    Cell *cell = cell_at(c->kind, c->before_home, i);
    Map *m = &h->branches.at[h->branches.n - 1].logged;
    if (map_find(m, cell))
        return;
    map_put(cx, m, cell, (void *)(uintptr_t)(h->items.n + 1));
    vec_push(cx, &h->items, (ItemChange){ .of = c->what, .i = i, .cell = cell, .before = cell->v });
}

bool trail_is_open(Ctx *cx) { return heap_of(cx)->branches.n > 0; }

TrailMark trail_open(Ctx *cx)
{
    Heap *h = heap_of(cx);
    return vec_push(
               cx, &h->branches,
               (OpenBranch){ .first = h->trail.n, .first_item = h->items.n, .opened = h->clock })
        ? h->branches.n
        : 0;
}

/* The innermost branch, which m must be. NULL when trail_open found no memory: the context has
 * failed. */
static OpenBranch *branch_of(Heap *h, TrailMark m)
{
    if (m == 0)
        return NULL;
    assert(m == h->branches.n);
    return &h->branches.at[m - 1];
}

size_t trail_changes(Ctx *cx, TrailMark m, const Change **out)
{
    Heap *h = heap_of(cx);
    OpenBranch *b = branch_of(h, m);
    *out = b && h->trail.n > b->first ? h->trail.at + b->first : NULL;
    return b ? h->trail.n - b->first : 0;
}

size_t trail_items(Ctx *cx, TrailMark m, const ItemChange **out)
{
    Heap *h = heap_of(cx);
    OpenBranch *b = branch_of(h, m);
    *out = b && h->items.n > b->first_item ? h->items.at + b->first_item : NULL;
    return b ? h->items.n - b->first_item : 0;
}

/* See heap.h. The array itself is as it was but for the items that the branch has written in it. */
void *trail_before(Ctx *cx, const Change *c)
{
    Heap *h = heap_of(cx);
    const Map *m = &h->branches.at[h->branches.n - 1].logged;
    size_t size = c->kind == CHANGE_LIST ? sizeof(Cell) : sizeof(DictEntry);
    if (c->before_n == 0)
        return NULL;
    void *copy = mem_copy(cx, c->before_home, (size_t)c->before_n * size);
    if (!copy)
        return NULL;
    if (h->items.n == h->branches.at[h->branches.n - 1].first_item)
        return copy; /* the branch has written no item where it lay */
    for (int64_t i = 0; i < c->before_n; i++) {
        uintptr_t at = (uintptr_t)map_get(m, cell_at(c->kind, c->before_home, i));
        if (at)
            cell_at(c->kind, copy, i)->v = h->items.at[at - 1].before;
    }
    return copy;
}

static void restore_list(List *l, const Change *c)
{
    l->at = c->before_home;
    l->n = c->before_n;
    l->cap = c->before_cap;
    l->front = c->before_front;
    l->stacked = c->before_stacked;
}

static void unindex_last(struct DictIndex *x, const Dict *d);

static void restore_dict(Dict *d, const Change *c)
{
    if (c->moved)
        d->index = c->before_index;
    else
        for (; d->n > c->before_n; d->n--)
            if (d->index)
                unindex_last(d->index, d);
    d->at = c->before_home;
    d->n = c->before_n;
    d->cap = c->before_cap;
    d->invalid = c->before_invalid;
}

static void restore(const Change *c)
{
    switch (c->kind) {
    case CHANGE_CELL: ((Cell *)c->what)->v = c->before; break;
    case CHANGE_LIST: restore_list(c->what, c); break;
    case CHANGE_DICT: restore_dict(c->what, c); break;
    case CHANGE_STORAGE:
        ((Storage *)c->what)->now = c->before_ox;
        ((Storage *)c->what)->version = c->before_version;
        break;
    }
}

void trail_undo(Ctx *cx, TrailMark m)
{
    Heap *h = heap_of(cx);
    OpenBranch *b = branch_of(h, m);
    if (!b)
        return;
    for (size_t i = h->trail.n; i > b->first; i--)
        restore(&h->trail.at[i - 1]);
    for (size_t i = h->items.n; i > b->first_item; i--)
        h->items.at[i - 1].cell->v = h->items.at[i - 1].before;
    h->trail.n = b->first;
    h->items.n = b->first_item;
    h->branches.n--;
}

/* ---- cells ---- */

static void set_cell(Ctx *cx, Cell *c, uint64_t created, Value v)
{
    Heap *h = heap_of(cx);
    if (must_log(h, c, created))
        log_change(cx, h,
                   (Change){ .kind = CHANGE_CELL,
                             .what = c,
                             .before = val_whole(cx, c->v),
                             .created = created });
    c->v = v;
}

void cell_set(Ctx *cx, Cell *c, Value v) { set_cell(cx, c, 0, v); }
void cell_put(Ctx *cx, Cell *c, uint64_t created, Value v) { set_cell(cx, c, created, v); }
void cell_init(Cell *c, Value v) { c->v = v; }

/* Whatever holds a container, through its mark, becomes invalid as the container is written. */
static void touch_mark(Ctx *cx, const Tensor *mark)
{
    if (mark)
        storage_invalidate_aliases(cx, mark->st);
}

/* A mark is as old as what it marks, so that a branch that asks for it first logs its writes, and
 * undoes them. */
static Tensor *mark_of(Ctx *cx, Tensor **mark, uint64_t created)
{
    if (!*mark) {
        *mark = new_value(cx, Tensor);
        **mark = (Tensor){ .st = storage_new(cx, NULL) };
        (*mark)->st->created = created;
    }
    return *mark;
}

Tensor *container_mark(Ctx *cx, Value v)
{
    switch (v.tag) {
    case V_LIST: return mark_of(cx, &v.list->mark, v.list->created);
    case V_DICT: return mark_of(cx, &v.dict->mark, v.dict->created);
    case V_OBJ:  return mark_of(cx, &v.obj->mark, v.obj->created);
    default:     return NULL;
    }
}

void container_share_mark(Ctx *cx, Value copy, Value v)
{
    Tensor *mark = container_mark(cx, v);
    switch (v.tag) {
    case V_LIST: copy.list->mark = mark; break;
    case V_DICT: copy.dict->mark = mark; break;
    case V_OBJ:  copy.obj->mark = mark; break;
    default:     break;
    }
}

const Tensor *container_marked(Value v)
{
    switch (v.tag) {
    case V_LIST: return v.list->mark;
    case V_DICT: return v.dict->mark;
    case V_OBJ:  return v.obj->mark;
    default:     return NULL;
    }
}

const char *container_name(Value v)
{
    if (v.tag == V_LIST)
        return "list";
    return v.tag == V_DICT ? "dict" : "object";
}

Str container_invalid(Value v)
{
    const Tensor *mark = container_marked(v);
    return mark && mark->st->now && !ox_ok(mark->st->now) ? mark->st->invalid : NULL;
}

void obj_set(Ctx *cx, Obj *o, int64_t i, Value v)
{
    touch_mark(cx, o->mark);
    set_cell(cx, &o->slot[i], o->created, v);
}

void *mem_values(Ctx *cx, size_t n, size_t size)
{
    if (cx->keeping)
        return mem_array(cx, n, size);
    PhaseAround around = phase_begin(cx, PHASE_VALUES);
    void *p = mem_array(cx, n, size);
    phase_end(cx, around);
    return p;
}

/* o with these n cells, none of them assigned; slot is NULL where there is no memory for them. */
static Obj *obj_begin(Ctx *cx, Obj *o, Cell *slot, int64_t n, const Str *names)
{
    *o = (Obj){ .slot = slot, .n = slot ? n : 0, .names = names, .created = tick(cx) };
    for (int64_t i = 0; i < o->n; i++)
        o->slot[i].v = (Value){ .tag = V_UNINIT };
    return o;
}

Obj *obj_new(Ctx *cx, const struct ClassDef *cls, int64_t n, const Str *names, Str path)
{
    Cell *slot = mem_values(cx, (size_t)n, sizeof *slot);
    Obj *o = obj_begin(cx, new_value(cx, Obj), slot, n, names);
    o->cls = cls;
    o->path = path;
    return o;
}

Obj *obj_of_locals(Ctx *cx, int64_t n, const Str *names)
{
    return trail_is_open(cx)
        ? obj_new(cx, NULL, n, names, NULL)
        : obj_begin(cx, scratch(cx, Obj), scratch_array(cx, Cell, n), n, names);
}

/* ---- what would be part of itself ---- */

/* When a search last met v; NULL for what is not searched. An object may refer to itself, as a tree
 * whose nodes know their parent does. */
static uint64_t *last_search(Value v)
{
    switch (v.tag) {
    case V_LIST:  return &v.list->seen;
    case V_TUPLE: return &v.tuple->seen;
    case V_DICT:  return &v.dict->seen;
    default:      return NULL;
    }
}

/* Is `whole` v, or a part of it? Each list, tuple and dict is looked into once a search. */
static bool is_part(Ctx *cx, const void *whole, Value v, uint64_t search)
{
    uint64_t *met = last_search(v);
    if (!met || *met == search)
        return false;
    check_stack(cx);
    if (v.any == whole)
        return true;
    *met = search;
    int64_t n = val_n_parts(v);
    count_values(cx, (uint64_t)n + 1);
    for (int64_t i = 0; i < n; i++)
        if (is_part(cx, whole, val_part(v, i), search))
            return true;
    return false;
}

/* Called before v is put into `whole`. */
static bool may_hold(Ctx *cx, Value whole, Value v)
{
    if (!last_search(v) || !is_part(cx, whole.any, v, tick(cx)))
        return true;
    fail(cx, E_UNSUPPORTED, "the %s would become part of itself", container_name(whole));
    fail_hint(cx, "keep it apart: ONNX has no value that holds itself");
    return false;
}

static bool list_may_hold(Ctx *cx, List *l, Value v)
{
    return may_hold(cx, (Value){ .tag = V_LIST, .list = l }, v);
}

/* ---- lists ---- */

List *list_new(Ctx *cx, int64_t cap, Str elem)
{
    List *l = new(cx, List);
    *l = (List){ .elem = elem, .created = tick(cx) };
    if (cap > 0)
        l->at = new_array(cx, Cell, cap);
    if (l->at)
        l->cap = cap;
    return l;
}

struct ListAlias {
    List *other;
    struct Stacked *invalid;
    struct ListAlias *next;
};

static void log_list(Ctx *cx, List *l)
{
    Heap *h = heap_of(cx);
    if (!must_log(h, l, l->created))
        return;
    log_change(cx, h,
               (Change){ .kind = CHANGE_LIST,
                         .what = l,
                         .before_home = l->at,
                         .before_n = l->n,
                         .before_cap = l->cap,
                         .before_front = l->front,
                         .before_stacked = l->stacked,
                         .created = l->created });
}

/* The items stay in the old array, for trail_undo. */
static void stack(List *l, struct Stacked *s)
{
    l->stacked = s;
    l->at = NULL;
    l->n = l->cap = l->front = 0;
}

/* The aliases of l become invalid, and theirs. */
static void invalidate_lists(Ctx *cx, List *l)
{
    Map met = { 0 };
    VEC(List *) found = { 0 };
    map_put(cx, &met, l, NULL);
    vec_push(cx, &found, l);
    for (size_t i = 0; i < found.n; i++)
        for (const struct ListAlias *p = found.at[i]->aliases; p; p = p->next) {
            if (!map_add(cx, &met, p->other, NULL))
                continue;
            log_list(cx, p->other);
            stack(p->other, p->invalid);
            vec_push(cx, &found, p->other);
        }
}

/* Before each write. */
static void touch_list(Ctx *cx, List *l)
{
    log_list(cx, l);
    touch_mark(cx, l->mark);
    if (l->aliases)
        invalidate_lists(cx, l);
}

static void add_alias(Ctx *cx, List *l, List *other, struct Stacked *invalid)
{
    struct ListAlias *p = new(cx, struct ListAlias);
    *p = (struct ListAlias){ other, invalid, l->aliases };
    l->aliases = p;
}

void list_maybe_same(Ctx *cx, List *a, List *b, struct Stacked *invalid)
{
    add_alias(cx, a, b, invalid);
    add_alias(cx, b, a, invalid);
}

/* Makes room for `more` items in *at, an array of n items of `size` bytes and room for *cap; may
 * move it. False when there is no memory: the context has failed. */
static bool room(Ctx *cx, void **at, int64_t n, int64_t *cap, int64_t more, size_t size)
{
    int64_t want;
    if (!add_ok(n, more, &want) || want > INT64_MAX / 2)
        return fail(cx, E_LIMIT, "a list of more than %lld items", (long long)n);
    if (want <= *cap)
        return true;
    int64_t grown = want < 4 ? 4 : want + want / 2;
    void *to = mem_array(cx, (size_t)grown, size);
    if (!to)
        return false;
    if (n)
        memcpy(to, *at, (size_t)n * size);
    *at = to;
    *cap = grown;
    return true;
}

static bool list_room(Ctx *cx, List *l)
{
    const Cell *was = l->at;
    bool ok = room(cx, (void **)&l->at, l->n, &l->cap, 1, sizeof *l->at);
    l->front = l->at == was ? l->front : 0;
    return ok;
}

/* Called before items of a list or dict move to other places: moves them out of the array that the
 * list or dict had before the innermost branch, which trail_undo needs as it is. */
static bool own_array(Ctx *cx, const void *what, void **at, int64_t n, int64_t cap, size_t size)
{
    Change *c = logged(heap_of(cx), what);
    if (!c || c->moved)
        return true;
    if (*at == c->before_home) {
        void *to = mem_array(cx, (size_t)cap + 1, size);
        if (!to)
            return false;
        if (n)
            memcpy(to, *at, (size_t)n * size);
        *at = to;
    }
    c->moved = true;
    return true;
}

static bool own_items(Ctx *cx, List *l)
{
    const Cell *was = l->at;
    bool ok = own_array(cx, l, (void **)&l->at, l->n, l->cap, sizeof *l->at);
    l->front = l->at == was ? l->front : 0;
    return ok;
}

/* Room for one item before the first: as much again as there is, so that a loop of insert(0, x)
 * costs linear time. */
static bool room_in_front(Ctx *cx, List *l)
{
    if (l->front > 0)
        return true;
    int64_t front = l->n + 4;
    Cell *to = mem_array(cx, (size_t)(front + l->cap), sizeof *to);
    if (!to)
        return false;
    if (l->n)
        memcpy(to + front, l->at, (size_t)l->n * sizeof *to);
    l->at = to + front;
    l->front = front;
    return true;
}

void list_put(Ctx *cx, List *l, int64_t i, Value v)
{
    log_list(cx, l);
    if (i == l->n && !list_room(cx, l))
        return;
    log_item(cx, l, i);
    l->at[i].v = v;
    l->n += i == l->n;
}

void list_cut(Ctx *cx, List *l, int64_t n)
{
    log_list(cx, l);
    while (l->n > n)
        log_item(cx, l, --l->n);
}

void list_append(Ctx *cx, List *l, Value v)
{
    if (!list_may_hold(cx, l, v))
        return;
    touch_list(cx, l);
    list_put(cx, l, l->n, v);
}

static void push_front(Ctx *cx, List *l, Value v)
{
    if (!room_in_front(cx, l))
        return;
    l->at--, l->front--, l->cap++, l->n++;
    l->at[0].v = v;
}

void list_insert(Ctx *cx, List *l, int64_t i, Value v)
{
    if (!list_may_hold(cx, l, v))
        return;
    touch_list(cx, l);
    if (i == l->n)
        list_put(cx, l, i, v);
    else if (!own_items(cx, l))
        return;
    else if (i == 0)
        push_front(cx, l, v);
    else if (list_room(cx, l)) {
        count_numbers(cx, (uint64_t)(l->n - i));
        memmove(l->at + i + 1, l->at + i, (size_t)(l->n - i) * sizeof *l->at);
        l->at[i].v = v;
        l->n++;
    }
}

void list_set(Ctx *cx, List *l, int64_t i, Value v)
{
    bool stays = l->at[i].v.any == v.any && l->at[i].v.tag == v.tag;
    if (!stays && !list_may_hold(cx, l, v))
        return;
    touch_list(cx, l);
    list_put(cx, l, i, v);
}

void list_stack(Ctx *cx, List *l, struct Stacked *s)
{
    touch_list(cx, l);
    stack(l, s);
}

void list_become(Ctx *cx, List *l, const List *from)
{
    log_list(cx, l);
    Change *c = logged(heap_of(cx), l);
    if (c)
        c->moved = true;
    l->at = from->at;
    l->n = from->n;
    l->cap = from->cap;
    l->front = from->front;
    l->stacked = from->stacked;
}

static void close_gap(Ctx *cx, List *l, int64_t i)
{
    count_numbers(cx, (uint64_t)(l->n - i));
    memmove(l->at + i, l->at + i + 1, (size_t)(l->n - i - 1) * sizeof *l->at);
}

Value list_remove(Ctx *cx, List *l, int64_t i)
{
    touch_list(cx, l);
    Value v = l->at[i].v;
    if (i == l->n - 1) {
        list_cut(cx, l, i);
        return v;
    }
    if (!own_items(cx, l))
        return val_poison();
    if (i == 0)
        l->at++, l->front++, l->cap--;
    else
        close_gap(cx, l, i);
    l->n--;
    return v;
}

void list_resize(Ctx *cx, List *l, int64_t n)
{
    touch_list(cx, l);
    list_cut(cx, l, n);
    while (l->n < n && !ctx_failed(cx))
        list_put(cx, l, l->n, val_none());
}

/* ---- dicts: entries in order of insertion, and an open-addressing index once there are more than
 * a few ---- */

enum { LINEAR_UNTIL = 8 };

struct DictIndex {
    uint32_t *slot; /* place of an entry + 1; 0: free */
    uint32_t mask;
};

Dict *dict_new(Ctx *cx, Str type)
{
    Dict *d = new(cx, Dict);
    *d = (Dict){ .type = type, .created = tick(cx) };
    return d;
}

struct DictAlias {
    Dict *other;
    Str why;
    struct DictAlias *next;
};

static void log_dict(Ctx *cx, Dict *d)
{
    Heap *h = heap_of(cx);
    if (!must_log(h, d, d->created))
        return;
    log_change(cx, h,
               (Change){ .kind = CHANGE_DICT,
                         .what = d,
                         .before_home = d->at,
                         .before_n = d->n,
                         .before_cap = d->cap,
                         .before_invalid = d->invalid,
                         .created = d->created });
}

void dict_invalidate(Ctx *cx, Dict *d, Str why)
{
    log_dict(cx, d);
    d->invalid = why;
}

void dict_become(Ctx *cx, Dict *d, const Dict *from)
{
    log_dict(cx, d);
    Change *c = logged(heap_of(cx), d);
    if (c)
        c->moved = true;
    d->at = from->at;
    d->n = from->n;
    d->cap = from->cap;
    d->index = NULL;
    d->some_dynamic = d->some_dynamic || from->some_dynamic;
    d->unordered = d->unordered || from->unordered;
}

/* The aliases of d become invalid, and theirs. */
static void invalidate_dicts(Ctx *cx, Dict *d)
{
    Map met = { 0 };
    VEC(Dict *) found = { 0 };
    map_put(cx, &met, d, NULL);
    vec_push(cx, &found, d);
    for (size_t i = 0; i < found.n; i++)
        for (const struct DictAlias *p = found.at[i]->aliases; p; p = p->next) {
            if (!map_add(cx, &met, p->other, NULL))
                continue;
            dict_invalidate(cx, p->other, p->why);
            vec_push(cx, &found, p->other);
        }
}

/* Before each write. */
static void touch_dict(Ctx *cx, Dict *d)
{
    log_dict(cx, d);
    touch_mark(cx, d->mark);
    if (d->aliases)
        invalidate_dicts(cx, d);
}

void dict_maybe_same(Ctx *cx, Dict *a, Dict *b, Str why)
{
    Dict *both[2] = { a, b };
    for (int k = 0; k < 2; k++) {
        struct DictAlias *p = new(cx, struct DictAlias);
        *p = (struct DictAlias){ both[1 - k], why, both[k]->aliases };
        both[k]->aliases = p;
    }
}

/* Equal keys hash alike: 1, 1.0 and True are one key, as in Python. */
static uint64_t hash_key(Value k)
{
    if (k.tag == V_STR)
        return k.s->id;
    if (k.tag == V_FLOAT && !(k.f >= -9e18 && k.f <= 9e18 && k.f == (double)(int64_t)k.f))
        return hash_bytes(&k.f, sizeof k.f, 1);
    int64_t i = (int64_t)k.tag; /* of any other kind: all alike */
    if (k.tag == V_INT)
        i = k.i;
    else if (k.tag == V_BOOL)
        i = k.b;
    else if (k.tag == V_FLOAT)
        i = (int64_t)k.f;
    return hash_bytes(&i, sizeof i, 0);
}

static void index_entry(struct DictIndex *x, const Dict *d, int64_t i)
{
    uint32_t at = (uint32_t)hash_key(d->at[i].key) & x->mask;
    while (x->slot[at])
        at = (at + 1) & x->mask;
    x->slot[at] = (uint32_t)i + 1;
}

/* The entry that was indexed last can go: no other's search leads past its slot. */
static void unindex_last(struct DictIndex *x, const Dict *d)
{
    uint32_t at = (uint32_t)hash_key(d->at[d->n - 1].key) & x->mask;
    while (x->slot[at] && x->slot[at] != (uint32_t)d->n)
        at = (at + 1) & x->mask;
    x->slot[at] = 0;
}

/* An index that is at least half empty. NULL when there is no memory. */
static struct DictIndex *index_of(Ctx *cx, const Dict *d)
{
    struct DictIndex *x = new(cx, struct DictIndex);
    size_t size = 32;
    while (size < (size_t)d->n * 4)
        size *= 2;
    *x = (struct DictIndex){ .slot = new_array(cx, uint32_t, size), .mask = (uint32_t)size - 1 };
    if (!x->slot)
        return NULL;
    for (int64_t i = 0; i < d->n; i++)
        index_entry(x, d, i);
    return x;
}

/* -1 when absent */
static int64_t place_of(Ctx *cx, Dict *d, Value key)
{
    if (d->n <= LINEAR_UNTIL) {
        for (int64_t i = 0; i < d->n; i++)
            if (val_equal(cx, d->at[i].key, key))
                return i;
        return -1;
    }
    if (!d->index && !(d->index = index_of(cx, d)))
        return -1;
    for (uint32_t at = (uint32_t)hash_key(key);; at++) {
        uint32_t i = d->index->slot[at & d->index->mask];
        if (i == 0)
            return -1;
        if (val_equal(cx, d->at[i - 1].key, key))
            return i - 1;
    }
}

const Cell *dict_find(Ctx *cx, Dict *d, Value key)
{
    int64_t i = place_of(cx, d, key);
    return i < 0 ? NULL : &d->at[i].val;
}

/* i: where the key stands, or -1 */
static void enter_at(Ctx *cx, Dict *d, int64_t i, Value key, Value v)
{
    log_dict(cx, d);
    d->some_dynamic = d->some_dynamic || val_is_maybe_key(v);
    if (i >= 0) {
        log_item(cx, d, i);
        d->at[i].val.v = v;
        return;
    }
    if (!room(cx, (void **)&d->at, d->n, &d->cap, 1, sizeof *d->at))
        return;
    d->at[d->n++] = (DictEntry){ .key = key, .val = { v } };
    if (d->index && (uint32_t)d->n > d->index->mask / 2)
        d->index = NULL; /* too full: made again, larger, when next asked */
    else if (d->index)
        index_entry(d->index, d, d->n - 1);
}

void dict_enter(Ctx *cx, Dict *d, Value key, Value v)
{
    enter_at(cx, d, place_of(cx, d, key), key, v);
}

/* Does v stand at entry i of the dict already? */
static bool stands_at(const Dict *d, int64_t i, Value v)
{
    return i >= 0 && d->at[i].val.v.tag == v.tag && d->at[i].val.v.any == v.any;
}

/* Sets what stands under the key, which is last when it was absent. */
void dict_set(Ctx *cx, Dict *d, Value key, Value v)
{
    int64_t i = place_of(cx, d, key);
    if (!stands_at(d, i, v) && !may_hold(cx, (Value){ .tag = V_DICT, .dict = d }, v))
        return;
    touch_dict(cx, d);
    /* A key that was perhaps absent may come last now, behind those that were set after it. */
    bool stays = i < 0 || val_is_maybe_key(v) || !val_is_maybe_key(d->at[i].val.v) || i == d->n - 1;
    d->unordered = d->unordered || !stays;
    enter_at(cx, d, i, key, v);
}

/* The index is kept for trail_undo, without the entries that the branch has added. */
static void keep_index(Dict *d, Change *c)
{
    Dict before = *d;
    if (!c || c->moved || !d->index)
        return;
    for (; before.n > c->before_n; before.n--)
        unindex_last(d->index, &before);
    c->before_index = d->index;
}

static bool drop_at(Ctx *cx, Dict *d, int64_t i)
{
    log_dict(cx, d);
    keep_index(d, logged(heap_of(cx), d));
    if (!own_array(cx, d, (void **)&d->at, d->n, d->cap, sizeof *d->at))
        return false;
    count_numbers(cx, (uint64_t)(d->n - i));
    memmove(d->at + i, d->at + i + 1, (size_t)(d->n - i - 1) * sizeof *d->at);
    d->n--;
    d->index = NULL;
    return true;
}

bool dict_drop(Ctx *cx, Dict *d, Value key)
{
    int64_t i = place_of(cx, d, key);
    return i >= 0 && drop_at(cx, d, i);
}

bool dict_remove(Ctx *cx, Dict *d, Value key)
{
    int64_t i = place_of(cx, d, key);
    if (i < 0)
        return false;
    touch_dict(cx, d);
    return drop_at(cx, d, i);
}

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

/* ---- storages ---- */

Storage *storage_new(Ctx *cx, Ox v)
{
    Storage *st = new_value(cx, Storage);
    *st = (Storage){ .now = v, .created = tick(cx) };
    return st;
}

void storage_was_there(Storage *st) { st->created = 0; }

void storage_set(Ctx *cx, Storage *st, Ox v)
{
    Heap *h = heap_of(cx);
    if (must_log(h, st, st->created))
        log_change(cx, h,
                   (Change){ .kind = CHANGE_STORAGE,
                             .what = st,
                             .before_ox = st->now,
                             .before_version = st->version,
                             .created = st->created });
    st->now = v;
    st->written = st->state ? where_intern(cx) : 0;
    st->version = (uint32_t)tick(cx);
}
