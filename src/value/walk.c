/* walk.c - going through a value that holds others. A new kind of container is a case in each of
 * the first functions here, and in remade(). */
#include "value/walk.h"

/* ---- the parts of one value ---- */

int64_t val_n_parts(Value v)
{
    switch (v.tag) {
    case V_TUPLE: return v.tuple->n;
    case V_LIST:  return v.list->stacked ? 0 : v.list->n;
    case V_DICT:  return v.dict->n;
    case V_OBJ:   return is_plain_object(v) ? v.obj->n : 0;
    case V_MAYBE: return 1;
    default:      return 0;
    }
}

Value *val_part_place(Value v, int64_t i)
{
    if (i < 0 || i >= val_n_parts(v))
        return NULL;
    switch (v.tag) {
    case V_TUPLE: return &v.tuple->at[i];
    case V_LIST:  return &v.list->at[i].v;
    case V_DICT:  return &v.dict->at[i].val.v;
    case V_OBJ:   return &v.obj->slot[i].v;
    case V_MAYBE: return &v.maybe->value;
    default:      return NULL;
    }
}

Value val_part(Value v, int64_t i)
{
    const Value *at = val_part_place(v, i);
    return at ? *at : val_none();
}

const Value *val_part_like(Ctx *cx, Value v, Value like, int64_t i)
{
    if (v.tag != V_DICT || like.tag != V_DICT)
        return val_part_place(v, i);
    const Cell *entry = dict_find(cx, v.dict, like.dict->at[i].key);
    return entry ? &entry->v : NULL;
}

static bool same_keys(Ctx *cx, const Dict *a, const Dict *b)
{
    bool same = a->n == b->n;
    for (int64_t i = 0; same && i < a->n; i++)
        same = val_equal(cx, a->at[i].key, b->at[i].key);
    return same;
}

bool val_same_containers(Ctx *cx, Value a, Value b)
{
    if (a.tag != b.tag)
        return false;
    switch (a.tag) {
    case V_TUPLE: return a.tuple->n == b.tuple->n && a.tuple->type == b.tuple->type;
    case V_LIST:  return a.list->n == b.list->n;
    case V_DICT:  return same_keys(cx, a.dict, b.dict);
    case V_OBJ:   return a.obj->cls == b.obj->cls && a.obj->n == b.obj->n;
    case V_MAYBE: return true;
    default:      return false;
    }
}

/* ---- all that is in a value ---- */

/* The level of v's parts, where v itself is on this one. */
static int level_inside(Value v, int level) { return v.tag == V_MAYBE ? level : level + 1; }

static Walked walk(Ctx *cx, Value v, int level, int levels, Visit *visit, void *arg)
{
    count_values(cx, 1);
    if (level > levels)
        return WALK_TOO_DEEP;
    WalkStep step = visit ? visit(arg, v) : WALK_IN;
    if (step != WALK_IN)
        return step == WALK_STOP ? WALK_STOPPED : WALKED_ALL;
    int64_t n = val_n_parts(v);
    for (int64_t i = 0; i < n; i++) {
        Walked w = walk(cx, val_part(v, i), level_inside(v, level), levels, visit, arg);
        if (w != WALKED_ALL)
            return w;
    }
    return WALKED_ALL;
}

Walked val_walk(Ctx *cx, Value v, int levels, Visit *visit, void *arg)
{
    return walk(cx, v, 1, levels, visit, arg);
}

bool val_walk_finds(Ctx *cx, Value v, Visit *visit, void *arg)
{
    Walked w = val_walk(cx, v, WALK_LEVELS, visit, arg);
    if (w == WALK_TOO_DEEP)
        fail(cx, E_LIMIT, "a value holds others more than %d levels deep", WALK_LEVELS);
    return w == WALK_STOPPED;
}

/* a and b stand on this level; level 1 is what was asked for. */
static Walked walk_pair(Ctx *cx, Value a, Value b, int level, int levels, VisitPair *visit,
                        void *arg)
{
    count_values(cx, 1);
    if (level > levels)
        return WALK_TOO_DEEP;
    WalkStep step = visit(arg, a, b);
    if (step != WALK_IN)
        return step == WALK_STOP ? WALK_STOPPED : WALKED_ALL;
    int64_t n = val_n_parts(a);
    if (val_n_parts(b) < n)
        n = val_n_parts(b);
    for (int64_t i = 0; i < n; i++) {
        Walked w = walk_pair(cx, val_part(a, i), val_part(b, i), level_inside(a, level), levels,
                             visit, arg);
        if (w != WALKED_ALL)
            return w;
    }
    return WALKED_ALL;
}

Walked val_walk_pair(Ctx *cx, Value a, Value b, int levels, VisitPair *visit, void *arg)
{
    return walk_pair(cx, a, b, 1, levels, visit, arg);
}

bool val_is_shallow(Ctx *cx, Value v, int levels)
{
    return val_walk(cx, v, levels, NULL, NULL) == WALKED_ALL;
}

/* ---- the same containers around other parts ---- */

static Value mapped(Ctx *cx, Value v, const Mapping *m, int level);

static Value remade_tuple(Ctx *cx, const Tuple *t, const Mapping *m, int level)
{
    Value made = val_tuple(cx, t->at, t->n);
    made.tuple->type = t->type;
    made.tuple->fields = t->fields;
    for (int64_t i = 0; i < t->n; i++)
        made.tuple->at[i] = mapped(cx, t->at[i], m, level);
    return made;
}

static Value remade_list(Ctx *cx, const List *l, const Mapping *m, int level)
{
    List *made = list_new(cx, l->n, l->elem);
    if (l->stacked)
        list_stack(cx, made, l->stacked);
    else
        for (int64_t i = 0; i < l->n; i++)
            list_append(cx, made, mapped(cx, l->at[i].v, m, level));
    return (Value){ .tag = V_LIST, .list = made };
}

static Value remade_dict(Ctx *cx, const Dict *d, const Mapping *m, int level)
{
    Dict *made = dict_new(cx, d->type);
    for (int64_t i = 0; i < d->n; i++)
        dict_set(cx, made, d->at[i].key, mapped(cx, d->at[i].val.v, m, level));
    made->unordered = d->unordered;
    return (Value){ .tag = V_DICT, .dict = made };
}

static Value remade_object(Ctx *cx, const Obj *o, const Mapping *m, int level)
{
    Obj *made = obj_new(cx, o->cls, o->n, o->names, NULL);
    for (int64_t i = 0; i < made->n; i++)
        cell_init(&made->slot[i], mapped(cx, o->slot[i].v, m, level));
    return (Value){ .tag = V_OBJ, .obj = made };
}

/* New containers like those of v, around what its parts become. */
static Value remade(Ctx *cx, Value v, const Mapping *m, int level)
{
    int inside = level_inside(v, level);
    switch (v.tag) {
    case V_TUPLE: return remade_tuple(cx, v.tuple, m, inside);
    case V_LIST:  return remade_list(cx, v.list, m, inside);
    case V_DICT:  return remade_dict(cx, v.dict, m, inside);
    case V_OBJ:   return is_plain_object(v) ? remade_object(cx, v.obj, m, inside) : v;
    case V_MAYBE:
        return val_maybe_like(cx, v.maybe, v.maybe->present, mapped(cx, v.maybe->value, m, inside));
    default: return v;
    }
}

static Value mapped(Ctx *cx, Value v, const Mapping *m, int level)
{
    Value now = v;
    count_values(cx, 1);
    if (level > WALK_LEVELS) {
        fail(cx, E_LIMIT, "a value holds others more than %d levels deep", WALK_LEVELS);
        return val_poison();
    }
    if (m->replace && m->replace(m->arg, &now, level))
        return now;
    Value made = remade(cx, now, m, level);
    if (m->share_marks && made.any != v.any)
        container_share_mark(cx, made, v);
    return made;
}

Value val_map(Ctx *cx, Value v, Mapping m) { return mapped(cx, v, &m, 1); }

Value containers_copy(Ctx *cx, Value v) { return val_map(cx, v, (Mapping){ 0 }); }

Value containers_under_mark(Ctx *cx, Value v)
{
    return val_map(cx, v, (Mapping){ .share_marks = true });
}
