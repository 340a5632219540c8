/* torchscript_name.c - the names of an archive's tensors, as the state_dict has them, and which
 * tensors share their bytes.
 *
 * Walked before any evaluation, and again where data.pkl is read again: a tensor is called what it
 * is found under first. Those that see exactly the same elements are one (SavedTensor.same); those
 * that only overlap are marked, because a write to one is seen by the other. */
#include <stdlib.h>

#include "base/limits.h"
#include "value/options.h"
#include "front/internal.h"

/* ---- names ---- */

typedef struct Namer {
    Ctx *cx;
    TorchScript *ts;
    const char *dir;
    uint64_t seen;              /* values met: a module reached by many ways counts each time */
    Map named;                  /* the containers that were met */
    Map roles;                  /* ClassDef -> the roles of its attributes */
    VEC(SavedTensor *) weights; /* of Program.weights, in the same order */
} Namer;

static bool name_value(Namer *n, const Pickle *p, Str name);

Str ts_child_name(Ctx *cx, Str path, const char *name)
{
    return path->len ? str_cat(cx, path->s, ".", name) : str_of(cx, name);
}

/* A name for the tensor itself: the first that it is found under. */
static bool name_tensor(Namer *n, const Pickle *p, Str name, bool parameter, SavedTensor **out)
{
    SavedTensor *t = ts_tensor(n->cx, n->ts, p, n->dir);
    if (!t)
        return false;
    if (!t->name) {
        t->name = name;
        t->parameter = parameter;
        if (t->k)
            t->k->derived = name;
        const SavedQuant *q = t->quant;
        if (saved_by_channel(t) && q->scales->k && q->zero_points->k) {
            q->scales->k->derived = ts_child_name(n->cx, name, "scale");
            q->zero_points->k->derived = ts_child_name(n->cx, name, "zero_point");
        }
    }
    *out = t;
    return true;
}

/* An entry of the state_dict. */
static bool name_weight(Namer *n, const Pickle *p, Str name, bool parameter)
{
    SavedTensor *t;
    if (!name_tensor(n, p, name, parameter, &t))
        return false;
    if (t->k && !t->k->name && !saved_by_channel(t) && !t->st->quantised) {
        t->k->name = t->name;
        t->k->derived = NULL;
    }
    Weight w = { .name = name, .parameter = parameter, .persistent = true };
    return !t->k || !program_is_shown(n->cx) ||
        (vec_push(n->cx, &n->weights, t) && vec_push(n->cx, &n->ts->p->weights, w));
}

static bool name_items(Namer *n, const Pickle *p, Str name)
{
    size_t step = p->tag == P_DICT ? 2 : 1;
    for (size_t i = 0; i + step <= p->seq.n; i += step) {
        const Pickle *key = p->seq.at[i];
        Str child = p->tag == P_DICT && key->tag == P_STR
            ? ts_child_name(n->cx, name, key->s->s)
            : str_fmt(n->cx, "%s.%zu", name->s, i / step);
        if (!name_value(n, p->seq.at[i + step - 1], child))
            return false;
    }
    return true;
}

/* Which attributes of a class are parameters (1) and buffers (2). */
static const Map *roles_of(Namer *n, const ClassDef *c)
{
    Map *roles = map_get(&n->roles, c);
    if (roles)
        return roles;
    roles = new(n->cx, Map);
    for (uint32_t i = 0; i < c->n_parameter; i++)
        map_put(n->cx, roles, c->parameter[i], (void *)1);
    for (uint32_t i = 0; i < c->n_buffer; i++)
        map_put(n->cx, roles, c->buffer[i], (void *)2);
    map_put(n->cx, &n->roles, c, roles);
    return roles;
}

/* The state_dict's order: a module's own tensors first, then its children. Files before PyTorch 1.4
 * do not list buffers: there every other tensor of a module is one. */
static bool name_attributes(Namer *n, const ClassDef *c, const Pickle *state, Str path)
{
    const Map *roles = roles_of(n, c);
    for (int children = 0; children < 2; children++)
        for (size_t i = 0; i + 1 < state->seq.n; i += 2) {
            const Pickle *key = state->seq.at[i];
            const Pickle *value = state->seq.at[i + 1];
            if (key->tag != P_STR || (value->tag == P_OBJECT) != (children == 1))
                continue;
            Str name = pickle_is_plain(value) ? key->s : ts_child_name(n->cx, path, key->s->s);
            uintptr_t role = (uintptr_t)map_get(roles, key->s);
            bool buffer = role == 2 ||
                (role == 0 && c->kind == CLASS_MODULE && n->ts->p->op_version < 2);
            if (pickle_is_tensor(value) && (role == 1 || buffer)
                    ? !name_weight(n, value, name, role == 1)
                    : !name_value(n, value, name))
                return false;
        }
    return true;
}

static bool name_object(Namer *n, const Pickle *p, Str path)
{
    const ClassDef *c = ts_class_of(n->cx, n->ts, p->fn);
    if (!c)
        return false;
    const Pickle *earlier = pickle_earlier_attributes(p);
    if (earlier && !name_attributes(n, c, earlier, path))
        return false;
    if (!p->state)
        return true;
    if (p->state->tag == P_DICT && c->kind != CLASS_TORCHBIND)
        return name_attributes(n, c, p->state, path);
    return name_value(n, p->state, path);
}

/* Walks the saved value and gives each tensor the path that leads to it first, as in the
 * state_dict. */
static bool name_value(Namer *n, const Pickle *p, Str name)
{
    SavedTensor *t;
    bool holds_values = p->tag == P_TUPLE || p->tag == P_LIST || p->tag == P_DICT;
    if (holds_values && map_find(&n->named, p)) /* shared, 2^40 times perhaps: one name is enough */
        return true;
    if (holds_values)
        map_put(n->cx, &n->named, p, NULL);
    if (!limit_ok(n->cx, LIMIT_OBJECTS, ++n->seen, "values of the saved model") ||
        !limit_ok(n->cx, LIMIT_NAME, name->len, "bytes in a name"))
        return false;
    switch (p->tag) {
    case P_TUPLE:
    case P_LIST:
    case P_DICT:   return name_items(n, p, name);
    case P_OBJECT: return name_object(n, p, name);
    case P_CALL:
        if (pickle_is_tensor(p))
            return name_tensor(n, p, name, false, &t);
        if (p->args->tag == P_TUPLE &&
            p->args->seq.n > 0) /* build_tensorlist(list), restore_type_tag(list, tag) */
            return name_value(n, p->args->seq.at[0], name);
        return true;
    default: return true;
    }
}

/* ---- what shares bytes ---- */

static int compare_ints(int64_t a, int64_t b) { return (a > b) - (a < b); }

/* Sorts views by offset first, then by size and strides, so that equal views are neighbours. */
static int compare_views(const SavedTensor *a, const SavedTensor *b)
{
    int c = compare_ints(a->lo, b->lo);
    if (!c)
        c = compare_ints(a->k->rank, b->k->rank);
    for (int i = 0; !c && i < a->k->rank; i++)
        c = compare_ints(a->k->dims[i], b->k->dims[i]);
    if (!c)
        c = compare_ints(a->k->strides != NULL, b->k->strides != NULL);
    if (c || !a->k->strides)
        return c;
    for (int i = 0; !c && i < a->k->rank; i++)
        c = compare_ints(a->k->strides[i], b->k->strides[i]);
    return c;
}

static int compare_tensors(const void *x, const void *y)
{
    const SavedTensor *a = *(SavedTensor *const *)x;
    const SavedTensor *b = *(SavedTensor *const *)y;
    int c = compare_views(a, b);
    return c ? c : compare_ints(a->id, b->id);
}

/* Runs of tensors that overlap one another, in order of offset: all of a run with two different
 * views are marked. */
static void mark_overlaps(SavedTensor *const *at, size_t n)
{
    for (size_t from = 0, to; from < n; from = to) {
        int64_t hi = at[from]->hi;
        bool differ = false;
        for (to = from + 1; to < n && at[to]->lo < hi; to++) {
            hi = at[to]->hi > hi ? at[to]->hi : hi;
            differ = differ || at[to]->same != at[from]->same;
        }
        if (differ)
            for (size_t i = from; i < to; i++)
                at[i]->shared_bytes = true;
    }
}

/* The tensors of one storage, by place: equal views stand side by side and become one constant,
 * and its name is the first that is an entry of the state_dict. */
static void share_views(SavedTensor *const *at, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        SavedTensor *t = at[i];
        SavedTensor *before = at[i - 1];
        if (saved_by_channel(t) || saved_by_channel(before) || compare_views(t, before))
            continue;
        t->same = before->same;
        if (!t->same->k->name && t->k->name) {
            t->same->k->name = t->k->name;
            t->same->k->derived = NULL;
        }
        t->k = t->same->k;
    }
}

/* Most storages have one tensor, which shares with none. */
static bool find_sharing(Ctx *cx, const SavedStorage *st)
{
    VEC(SavedTensor *) all = { 0 };
    if (!st->newest || !st->newest->older)
        return true;
    for (SavedTensor *t = st->newest; t; t = t->older)
        if (!vec_push(cx, &all, t))
            return false;
    qsort(all.at, all.n, sizeof *all.at, compare_tensors);
    share_views(all.at, all.n);
    mark_overlaps(all.at, all.n);
    mem_give(cx, all.at, all.cap * sizeof *all.at);
    return true;
}

static bool name_constants(Ctx *cx, TorchScript *ts)
{
    Namer n = { .cx = cx, .ts = ts, .dir = ts->constants_dir };
    for (size_t i = 0; i < ts->constants->seq.n; i++)
        if (!name_value(&n, ts->constants->seq.at[i], str_fmt(cx, "CONSTANTS.c%zu", i)))
            return false;
    return true;
}

static bool find_all_sharing(Ctx *cx, const SavedStorages *all)
{
    for (const SavedStorage *st = all->newest; st; st = st->older)
        if (!find_sharing(cx, st))
            return false;
    return true;
}

/* data_only: data.pkl has been read again, and the tensors of constants.pkl have stayed. What
 * shares bytes is looked for behind both, because the two pickles of model.json are made of the
 * same tensors. */
bool ts_name_tensors(Ctx *cx, TorchScript *ts, bool data_only)
{
    Namer n = { .cx = cx, .ts = ts, .dir = ts->data_dir };
    ts->p->weights.n = 0;
    if (!name_value(&n, ts->data, str_of(cx, "")) || (!data_only && !name_constants(cx, ts)))
        return false;
    if (!find_all_sharing(cx, &ts->storages) ||
        (!data_only && !find_all_sharing(cx, &ts->other_storages)))
        return false;
    for (size_t i = 0; i < ts->p->weights.n; i++)
        ts->p->weights.at[i].k = n.weights.at[i]->k;
    mem_give(cx, n.weights.at, n.weights.cap * sizeof *n.weights.at);
    map_give(cx, &n.named);
    return !ctx_failed(cx);
}
