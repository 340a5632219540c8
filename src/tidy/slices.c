/* slices.c - a part of something is read from where it comes from.
 *
 *     Slice(Slice(x, ..), ..)            ->  Slice(x, ..)
 *         of different axes: x[:, ::2, 1::2]; of one axis where its sizes are known
 *     Slice(Concat(.., y, ..))           ->  y, or Slice(y)
 *         where it lies within y; Gather of one place too
 *     Slice(x), an output of Split(x)    ->  that output
 *
 * A program that writes to parts of a tensor in place, as the cells of LSTM and GRU to their gates,
 * becomes a Concat for each write, and what it reads next is often a part that was not written. */
#include "tidy/internal.h"

/* ---- slices of different axes ---- */

/* Starts, ends, axes and steps of one or two Slices, as known numbers or sizes. */
typedef struct Cuts {
    Dim start[MAX_RANK], end[MAX_RANK];
    int64_t axis[MAX_RANK], step[MAX_RANK];
    int64_t n;
} Cuts;

/* Adds the axes that a Slice cuts to c. False: the axes are not known, or c has one of them
 * already. */
static bool add_cuts(const Node *n, Cuts *c)
{
    const Dim *start, *end;
    const int64_t *axes, *steps = NULL;
    int64_t count, others, n_axes;
    if (!in_of(n, 3) || !ox_items(n->in[1], &start, &count) || !ox_items(n->in[2], &end, &others) ||
        others != count || !ox_known_ints(n->graph, n->in[3], &axes, &n_axes) || n_axes != count ||
        (in_of(n, 4) && !ox_known_ints(n->graph, n->in[4], &steps, &others)))
        return false;
    for (int64_t i = 0; i < count; i++, c->n++) {
        int64_t axis = axes[i] < 0 ? axes[i] + ox_rank(n->out[0]) : axes[i];
        for (int64_t k = 0; k < c->n; k++)
            if (c->axis[k] == axis)
                return false;
        c->start[c->n] = start[i];
        c->end[c->n] = end[i];
        c->axis[c->n] = axis;
        c->step[c->n] = steps ? steps[i] : 1;
    }
    return true;
}

static bool join_slice(Rewrite *rw, Node *n)
{
    Cuts c = { .n = 0 };
    Node *first = node_is(n, "Slice") ? made_by(n->in[0], "Slice") : NULL;
    if (!first || ox_rank(n->out[0]) < 0 || !add_cuts(first, &c) || !add_cuts(n, &c))
        return true;
    Graph *g = n->graph;
    Ox start = ox_dims(g, c.start, (size_t)c.n);
    Ox end = ox_dims(g, c.end, (size_t)c.n);
    Ox axes = ox_ints(g, c.axis, (size_t)c.n);
    Ox steps = ox_ints(g, c.step, (size_t)c.n);
    Ox y = ox_g(g, "Slice", first->in[0], start, end, axes, steps);
    if (ox_ok(y))
        replace(rw, n->out[0], y);
    return ox_ok(y);
}

bool pass_slices(Graph *g, const TidyOptions *o)
{
    return !graph_has(g, "Slice") || rewrite(g, o, join_slice, NULL);
}

/* ---- a span of one axis ---- */

/* `size` items of `of`, next to each other along `axis` from `start` on. */
typedef struct Span {
    Ox of;
    int axis;
    int64_t start, size;
} Span;

/* How far a span is followed back: what was written over and over is then read in constant time. */
enum { MOST_STEPS = 64 };

static bool axis_size(Ox v, int axis, int64_t *out)
{
    return ox_rank(v) > axis && dim_known(ox_dim(v, axis), out);
}

/* x[:, 2:5] */
static bool span_of_slice(const Node *n, Span *s)
{
    Cuts c = { .n = 0 };
    int64_t whole;
    if (!node_is(n, "Slice") || ox_rank(n->out[0]) < 0 || !add_cuts(n, &c) || c.n != 1 ||
        c.step[0] != 1 || !dim_known(c.start[0], &s->start))
        return false;
    s->of = n->in[0];
    s->axis = (int)c.axis[0];
    if (!axis_size(n->out[0], s->axis, &s->size) || !axis_size(s->of, s->axis, &whole))
        return false;
    s->start += s->start < 0 ? whole : 0;
    return s->start >= 0 && s->size > 0 && s->start <= whole - s->size;
}

/* x[:, 2], whose axis is gone afterwards */
static bool span_of_gather(const Node *n, Span *s)
{
    const int64_t *at;
    int64_t count, whole;
    if (!node_is(n, "Gather") || ox_rank(n->in[1]) != 0 || ox_rank(n->in[0]) < 1 ||
        !ox_known_ints(n->graph, n->in[1], &at, &count))
        return false;
    s->of = n->in[0];
    s->axis = node_axis(n, ox_rank(s->of));
    if (!axis_size(s->of, s->axis, &whole))
        return false;
    s->start = at[0] < 0 ? at[0] + whole : at[0];
    s->size = 1;
    return s->start >= 0 && s->start < whole;
}

/* What the pass has met so far. */
typedef struct Met {
    Map splits; /* value -> the last Split of it */
    Map fixed;  /* values that nodes make of constants alone */
    Map parts;  /* Concat or Split -> its Parts */
} Met;

/* Where the inputs of a Concat, or the outputs of a Split, end along its axis: the first n of them,
 * whose sizes are known. */
typedef struct Parts {
    int axis, n;
    int64_t *end;
} Parts;

/* NULL without memory. */
static const Parts *parts_of(Rewrite *rw, const Node *n)
{
    Met *met = rw->arg;
    Parts *p = map_get(&met->parts, n);
    if (p)
        return p;
    bool joins = node_is(n, "Concat");
    Ox *part = joins ? n->in : n->out;
    int count = joins ? n->n_in : n->n_out;
    int64_t size;
    p = new(rw->cx, Parts);
    *p = (Parts){ .axis = node_axis(n, ox_rank(n->out[0])) };
    p->end = new_array(rw->cx, int64_t, (size_t)count);
    if (!p->end)
        return NULL;
    for (int i = 0; i < count && p->axis >= 0 && axis_size(part[i], p->axis, &size); i++, p->n++)
        p->end[i] = size + (i ? p->end[i - 1] : 0);
    map_put(rw->cx, &met->parts, n, p);
    return p;
}

static int64_t part_start(const Parts *p, int i) { return i ? p->end[i - 1] : 0; }

/* The part in which a place lies; -1: that is not known. */
static int part_at(const Parts *p, int64_t at)
{
    int low = 0;
    int high = p->n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (p->end[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low < p->n ? low : -1;
}

/* An input of a Concat in which the whole span lies. */
static bool into_part(Rewrite *rw, const Node *n, Span *s)
{
    const Parts *p = parts_of(rw, n);
    int i = p && p->axis == s->axis ? part_at(p, s->start) : -1;
    if (i < 0 || s->size > p->end[i] - s->start)
        return false;
    *s = (Span){ n->in[i], s->axis, s->start - part_start(p, i), s->size };
    return true;
}

/* Where the output of a Split lies in what is split. */
static bool out_of_split(Rewrite *rw, Ox v, Span *s)
{
    const Parts *p = parts_of(rw, v->node);
    if (!p || p->axis != s->axis || v->out > p->n)
        return false;
    *s = (Span){ v->node->in[0], s->axis, part_start(p, v->out) + s->start, s->size };
    return true;
}

static bool out_of_slice(const Node *n, Span *s)
{
    Span outer;
    if (!span_of_slice(n, &outer) || outer.axis != s->axis)
        return false;
    *s = (Span){ outer.of, s->axis, outer.start + s->start, s->size };
    return true;
}

static bool is_all(const Span *s)
{
    int64_t whole;
    return axis_size(s->of, s->axis, &whole) && whole == s->size;
}

/* What the span is read from, as a span of it; false: it is made there. */
static bool source_of(Rewrite *rw, Span *s)
{
    const Node *n = s->of->kind == OX_NODE && s->of->node->op ? s->of->node : NULL;
    if (!n)
        return false;
    if (node_is(n, "Concat"))
        return into_part(rw, n, s);
    if (node_is(n, "Split"))
        return out_of_split(rw, s->of, s);
    return node_is(n, "Slice") && out_of_slice(n, s);
}

static bool is_fixed(const Rewrite *rw, Ox v)
{
    return is_const(v) || map_find(&((const Met *)rw->arg)->fixed, v);
}

/* Follows s as far back as it goes. Has it moved? Not to a slice of what is fixed: fold-weights
 * would write each of them. */
static bool follow(Rewrite *rw, Span *s)
{
    Span next = *s;
    int steps = 0;
    while (steps < MOST_STEPS && source_of(rw, &next) &&
           (!is_fixed(rw, next.of) || is_all(&next))) {
        *s = next;
        steps++;
    }
    return steps > 0;
}

static void meet(Rewrite *rw, const Node *n)
{
    Met *met = rw->arg;
    bool fixed = n->op != NULL;
    for (int i = 0; i < n->n_in; i++)
        fixed &= !n->in[i] || is_fixed(rw, n->in[i]);
    for (int i = 0; fixed && i < n->n_out; i++)
        map_put(rw->cx, &met->fixed, n->out[i], n->out[i]);
    if (node_is(n, "Split"))
        map_put(rw->cx, &met->splits, n->in[0], (void *)(uintptr_t)n);
}

/* The output of a Split that is the span; NULL: there is none. */
static Ox split_output(Rewrite *rw, const Graph *g, const Span *s)
{
    const Node *n = map_get(&((const Met *)rw->arg)->splits, s->of);
    const Parts *p = n && graph_sees(g, n->out[0]) ? parts_of(rw, n) : NULL;
    int i = p && p->axis == s->axis ? part_at(p, s->start) : -1;
    bool same = i >= 0 && part_start(p, i) == s->start && p->end[i] == s->start + s->size;
    return same ? n->out[i] : NULL;
}

/* The span as a value of g; NULL: it would be a new Slice of what n reads already. */
static Ox span_value(Rewrite *rw, Graph *g, const Span *s, bool moved)
{
    Ox known = is_all(s) ? s->of : split_output(rw, g, s);
    if (known || !moved)
        return known;
    int64_t end = s->start + s->size;
    int64_t axis = s->axis;
    return ox_g(g, "Slice", s->of, ox_ints(g, &s->start, 1), ox_ints(g, &end, 1),
                ox_ints(g, &axis, 1));
}

/* v without its axis of one item */
static Ox squeezed(Graph *g, Ox v, int axis)
{
    const int64_t *axes;
    int64_t count;
    int64_t at = axis;
    const Node *n = made_by(v, "Unsqueeze");
    if (n && ox_known_ints(g, n->in[1], &axes, &count) && count == 1 &&
        axes[0] + (axes[0] < 0 ? ox_rank(v) : 0) == axis)
        return n->in[0];
    return ox_g(g, "Squeeze", v, ox_ints(g, &at, 1));
}

/* The one place that s says, without its axis; NULL: n reads it well already. */
static Ox place_value(Graph *g, const Span *s, bool moved)
{
    if (!moved)
        return NULL;
    return is_all(s)
        ? squeezed(g, s->of, s->axis)
        : ox_g_with(g, "Gather", INPUTS(s->of, ox_int(g, s->start)), INT("axis", s->axis));
}

static bool read_from_source(Rewrite *rw, Node *n)
{
    Span s;
    meet(rw, n);
    bool place = span_of_gather(n, &s);
    if (!place && !span_of_slice(n, &s))
        return true;
    bool moved = follow(rw, &s);
    Ox y = place ? place_value(n->graph, &s, moved) : span_value(rw, n->graph, &s, moved);
    if (y && ox_ok(y) && same_shape(rw->cx, y, n->out[0]))
        replace(rw, n->out[0], y);
    return !y || ox_ok(y);
}

/* Behind find-operators, which looks for slices of slices. */
bool pass_sources(Graph *g, const TidyOptions *o)
{
    bool parts = graph_has(g, "Slice") || (graph_has(g, "Gather") && graph_has(g, "Concat"));
    return !parts || rewrite(g, o, read_from_source, &(Met){ 0 });
}
