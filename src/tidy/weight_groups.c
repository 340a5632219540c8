/* weight_groups.c - weights of which several nodes make something, judged together.
 *
 *     Concat(Slice(w, ..), Transpose(Slice(w, ..)), Slice(w, ..))
 *
 * gives the position embeddings of a detector, cut apart, resized to the size that they have, and
 * joined again. No Slice pays by itself, for the weight stays as long as another one reads it. All
 * of them together do: they read the weight and nobody else does, and the constant behind them is
 * not larger.
 *
 * One idea: nodes and weights that touch are a group (union by a pointer upwards). What leaves it
 * are the values that other nodes read; they become constants where they take no more bytes than
 * the weights that go. */
#include "tidy/weight_groups.h"

typedef struct Group {
    struct Group *up;     /* the group that this one has joined, or NULL */
    uint64_t freed, made; /* bytes of its weights, and of the values that leave it */
    uint64_t work;        /* elements computed for those of them that are only computed whole */
    bool held;            /* another node reads one of its weights */
} Group;

typedef struct Groups {
    Ctx *cx;
    const Map *costs;
    Map of;      /* value that may be a constant -> Group */
    Map weights; /* what stands for the bytes of a weight -> Group */
    Map leaving; /* values that leave their groups */
} Groups;

static Group *top(Group *g)
{
    while (g->up) {
        if (g->up->up)
            g->up = g->up->up;
        g = g->up;
    }
    return g;
}

static Group *join(Group *a, Group *b)
{
    a = top(a);
    b = top(b);
    if (a == b)
        return a;
    b->up = a;
    a->freed += b->freed;
    a->made += b->made;
    a->work += b->work;
    a->held |= b->held;
    return a;
}

static uint64_t bytes_of(const Const *k) { return dtype_bytes(k->dtype, (uint64_t)const_numel(k)); }

/* Is v a constant that is worth a thought? Shapes, axes and numbers would join what has nothing to
 * do with each other. */
static bool is_large(Ox v) { return is_const(v) && v->k->bytes.src && bytes_of(v->k) > FOLD_NUMEL; }

/* Equal for the same bytes in any shape. */
static const void *key_of(const Const *k)
{
    uint64_t key[3] = { (uintptr_t)k->bytes.src, k->bytes.off, (uint64_t)const_numel(k) };
    return (const void *)(uintptr_t)hash_bytes(key, sizeof key, 0);
}

/* The group of a weight. */
static Group *group_of_weight(Groups *gs, const Const *k)
{
    const void *key = key_of(k);
    Group *known = map_get(&gs->weights, key);
    if (known)
        return top(known);
    Group *group = new(gs->cx, Group);
    *group = (Group){ .freed = bytes_of(k) };
    map_put(gs->cx, &gs->weights, key, group);
    return group;
}

/* The group of v, an input of a node; NULL: it belongs to none. */
static Group *group_of(Groups *gs, Ox v)
{
    if (!v)
        return NULL;
    if (is_large(v))
        return group_of_weight(gs, v->k);
    Group *known = map_get(&gs->of, v);
    return known ? top(known) : NULL;
}

/* Somebody reads v who will not be a constant. */
static void leave(Groups *gs, Ox v)
{
    Group *group = group_of(gs, v);
    if (!group)
        return;
    if (is_const(v)) {
        group->held = true;
        return;
    }
    if (!map_add(gs->cx, &gs->leaving, v, v))
        return;
    const Cost *cost = map_get(gs->costs, v);
    const Source *from = cost->value->k->bytes.src;
    group->made += bytes_of(cost->value->k);
    if (from->kind == SRC_RECIPE && !from->part)
        group->work += cost->work;
}

/* Puts n and what it reads into one group. */
static void join_inputs(Groups *gs, const Node *n)
{
    Group *group = new(gs->cx, Group);
    *group = (Group){ 0 };
    for (int i = 0; i < n->n_in; i++) {
        Group *other = group_of(gs, n->in[i]);
        if (other)
            group = join(group, other);
    }
    for (int i = 0; i < n->n_out; i++)
        map_put(gs->cx, &gs->of, n->out[i], group);
}

static void find_groups(Groups *gs, const Graph *g)
{
    for (size_t i = 0; i < g->nodes.n; i++) {
        const Node *n = g->nodes.at[i];
        for (int k = 0; k < n->n_attr; k++)
            if (n->attr[k].kind == ATTR_GRAPH)
                find_groups(gs, n->attr[k].g);
        if (n->n_out > 0 && map_find(gs->costs, n->out[0])) {
            join_inputs(gs, n);
            continue;
        }
        for (int k = 0; k < n->n_in; k++)
            leave(gs, n->in[k]);
    }
    for (size_t i = 0; i < g->outputs.n; i++)
        leave(gs, g->outputs.at[i]);
}

static bool pays(const Group *g) { return !g->held && g->made <= g->freed && g->work <= MOST_WORK; }

static bool fold_leaving(Rewrite *rw, Node *n)
{
    Groups *gs = rw->arg;
    for (int i = 0; i < n->n_out; i++) {
        if (!map_find(&gs->leaving, n->out[i]))
            continue;
        const Cost *cost = map_get(gs->costs, n->out[i]);
        if (pays(top(map_get(&gs->of, n->out[i]))))
            replace(rw, n->out[i], cost->value);
    }
    return !ctx_failed(rw->cx);
}

bool fold_groups(Graph *g, const TidyOptions *o, const Map *costs)
{
    Groups gs = { .cx = g->cx, .costs = costs };
    find_groups(&gs, g);
    bool any = false;
    for (size_t i = 0; i < gs.leaving.n; i++)
        any |= pays(top(map_get(&gs.of, gs.leaving.at[i].key)));
    return ctx_failed(g->cx) ? false : !any || rewrite(g, o, fold_leaving, &gs);
}
