/* share.c - made things found again by their content, so that one is made once.
 *
 * Nodes are looked for in a scope and the scopes around it: what a branch has made is unknown
 * outside of it. Constants and dims are the root's. */
#include "onnx/internal.h"

/* ---- the tables ---- */

/* Made things by content: nodes in the scope that made them, constants and dims in the root's.
 * Nodes have a table of their own. A pass of src/tidy builds the list of nodes anew, and must not
 * find one that comes later: its table is stale, and made again, of the nodes that are in the list,
 * once somebody looks into it. */
typedef struct Sharing {
    Shared *slot;
    size_t n_slot, n;
} Sharing;
/* Weights, by the address of the Const. There are many, and each is looked for about once, so that
 * a slot is no more than the value. */
typedef struct Weights {
    Ox *slot;
    size_t n_slot, n;
} Weights;
struct Share {
    Sharing nodes, values;
    Weights weights;
    bool stale;
};

static void place_shared(Sharing *s, Shared e)
{
    size_t at = e.hash & (s->n_slot - 1);
    while (s->slot[at].what)
        at = (at + 1) & (s->n_slot - 1);
    s->slot[at] = e;
}

/* Twice as many slots. False without memory; the table is as it was then. */
static bool grow_sharing(Ctx *cx, Sharing *s)
{
    Sharing old = *s;
    size_t n_slot = old.n_slot ? old.n_slot * 2 : 64;
    Shared *slot = new_array(cx, Shared, n_slot);
    if (!slot)
        return false;
    s->slot = slot;
    s->n_slot = n_slot;
    for (size_t i = 0; i < old.n_slot; i++)
        if (old.slot[i].what)
            place_shared(s, old.slot[i]);
    mem_give(cx, old.slot, old.n_slot * sizeof *old.slot);
    return true;
}

void share(Graph *g, Shared e)
{
    if (!g->share)
        g->share = new(g->cx, struct Share);
    Sharing *s = e.kind == SHARED_NODE ? &g->share->nodes : &g->share->values;
    if (s->n * 2 >= s->n_slot && !grow_sharing(g->cx, s))
        return;
    place_shared(s, e);
    s->n++;
}

void *next_shared(const struct Share *both, uint32_t hash, SharedKind kind, size_t *at)
{
    if (!both)
        return NULL;
    const Sharing *s = kind == SHARED_NODE ? &both->nodes : &both->values;
    if (!s->n_slot)
        return NULL;
    for (size_t i = *at & (s->n_slot - 1); s->slot[i].what; i = (i + 1) & (s->n_slot - 1)) {
        *at = i + 1;
        if (s->slot[i].hash == hash && s->slot[i].kind == kind)
            return s->slot[i].what;
    }
    return NULL;
}

/* ---- weights ---- */

static Ox *find_weight(const Weights *w, const Const *k)
{
    size_t at = hash_also(0, (uintptr_t)k) & (w->n_slot - 1);
    while (w->slot[at] && w->slot[at]->k != k)
        at = (at + 1) & (w->n_slot - 1);
    return &w->slot[at];
}

static bool grow_weights(Ctx *cx, Weights *w)
{
    Weights old = *w;
    size_t n_slot = old.n_slot ? old.n_slot * 2 : 64;
    Ox *slot = new_array(cx, Ox, n_slot);
    if (!slot)
        return false;
    w->slot = slot;
    w->n_slot = n_slot;
    for (size_t i = 0; i < old.n_slot; i++)
        if (old.slot[i])
            *find_weight(w, old.slot[i]->k) = old.slot[i];
    mem_give(cx, old.slot, old.n_slot * sizeof *old.slot);
    return true;
}

Ox *shared_weight(Graph *root, const Const *k)
{
    if (!root->share)
        root->share = new(root->cx, struct Share);
    Weights *w = &root->share->weights;
    if ((w->n + 1) * 3 > w->n_slot * 2 && !grow_weights(root->cx, w))
        return NULL;
    Ox *at = find_weight(w, k);
    w->n += !*at;
    return at;
}

/* ---- equal nodes ---- */

static bool attr_equal(const Attr *a, const Attr *b)
{
    if (a->kind != b->kind || a->n != b->n || strcmp(a->name, b->name) != 0)
        return false;
    switch (a->kind) {
    case ATTR_FLOAT: return memcmp(&a->f, &b->f, sizeof a->f) == 0;
    case ATTR_INTS:  return a->n == 0 || memcmp(a->ints, b->ints, a->n * sizeof *a->ints) == 0;
    case ATTR_FLOATS:
        return a->n == 0 || memcmp(a->floats, b->floats, a->n * sizeof *a->floats) == 0;
    case ATTR_STRINGS: return a->n == 0 || memcmp(a->strs, b->strs, a->n * sizeof *a->strs) == 0;
    case ATTR_GRAPH:   return false;
    default: return a->i == b->i; /* INT, and what is compared by pointer: STRING, TENSOR, TYPE */
    }
}

static uint32_t node_hash(const Node *n)
{
    uint64_t h = hash_bytes(&n->op, sizeof n->op, (uint64_t)n->n_out);
    h = hash_bytes(n->in, (size_t)n->n_in * sizeof *n->in, h);
    for (int i = 0; i < n->n_attr; i++) {
        h = hash_bytes(n->attr[i].name, strlen(n->attr[i].name), h);
        if (n->attr[i].kind == ATTR_INTS)
            h = hash_bytes(n->attr[i].ints, n->attr[i].n * sizeof *n->attr[i].ints, h);
        else if (n->attr[i].kind == ATTR_INT)
            h = hash_bytes(&n->attr[i].i, sizeof n->attr[i].i, h);
    }
    return (uint32_t)h;
}

static bool node_equal(const Node *a, const Node *b)
{
    if (a->op != b->op || a->dead || a->n_in != b->n_in || a->n_out != b->n_out ||
        a->n_attr != b->n_attr ||
        (a->n_in && memcmp(a->in, b->in, (size_t)a->n_in * sizeof *a->in) != 0))
        return false;
    for (int i = 0; i < a->n_attr; i++)
        if (!attr_equal(&a->attr[i], &b->attr[i]))
            return false;
    return true;
}

static bool has_subgraph(const Node *n)
{
    for (int i = 0; i < n->n_attr; i++)
        if (n->attr[i].kind == ATTR_GRAPH)
            return true;
    return false;
}

bool node_sharable(const Node *n) { return n->op && !n->op->random && !has_subgraph(n); }

static void make_anew(Graph *g)
{
    Sharing *s = &g->share->nodes;
    g->share->stale = false;
    if (s->n_slot)
        memset(s->slot, 0, s->n_slot * sizeof *s->slot);
    s->n = 0;
    for (size_t i = 0; i < g->nodes.n; i++) {
        Node *n = g->nodes.at[i];
        if (!n->dead && node_sharable(n))
            share(g, (Shared){ node_hash(n), SHARED_NODE, n });
    }
}

static Str calls_of(Ctx *cx, const Node *n)
{
    if (n->at)
        return place_calls(cx, n->at);
    for (const Where *w = cx->at; w; w = w->up) /* not yet in the graph */
        if (w->kind == WHERE_CALLS)
            return w->name;
    return NULL;
}

/* What two calls of modules compute stays two, when calls become functions; what a pass makes is of
 * no call yet. */
static bool same_calls(const Node *old, const Node *n)
{
    Ctx *cx = n->graph->cx;
    bool known = old->at && (n->at || cx->at);
    return !known || calls_of(cx, old) == calls_of(cx, n);
}

static Node *find_equal(const Node *n, uint32_t hash)
{
    for (Graph *g = n->graph; g; g = g->up) {
        size_t at = hash;
        if (share_is_stale(g))
            make_anew(g);
        for (;;) {
            Node *old = next_shared(g->share, hash, SHARED_NODE, &at);
            if (!old)
                break;
            if (node_equal(old, n) && same_calls(old, n))
                return old;
        }
    }
    return NULL;
}

Node *node_share(Node *n)
{
    if (!node_sharable(n))
        return n;
    uint32_t hash = node_hash(n);
    Node *equal = find_equal(n, hash);
    if (!equal)
        share(n->graph, (Shared){ hash, SHARED_NODE, n });
    return equal ? equal : n;
}

void share_forget_nodes(Graph *g)
{
    if (g->share)
        g->share->stale = true;
}

bool share_is_stale(const Graph *g) { return g->share && g->share->stale; }
