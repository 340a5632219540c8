/* legal_scatter.c - ScatterElements and ScatterND before opsets 16 (add, mul) and 18 (max, min)
 * gave them a `reduction`.
 *
 * One idea: compare every index with every place that it could name. What meets is kept, the rest
 * changes nothing (0, 1, an infinity), and a reduction over the indices gives one number a place.
 * Memory is the product of both sizes; several updates of one place count, as they must. Without a
 * reduction they are places of flat memory, before 11 gave ScatterND and GatherND. */
#include "tidy/legal/legal.h"

#include <math.h>

typedef struct Combined {
    const char *reduce, *with;
    int since;
    Ox neutral;
    DType of; /* what is reduced; the result is cast back */
} Combined;

/* Sums and products are there of integers of 32 bits and more; what is cast back has wrapped around
 * as those of t do. */
static DType reduced_as(DType t) { return dtype_is_int(t) && dtype_size(t) < 4 ? DT_INT32 : t; }

/* The least (low) or greatest number of type t; NULL for types that do not occur here. */
static Ox outermost(Graph *g, DType t, bool low)
{
    if (dtype_is_float(t))
        return ox_number(g, t, low ? -INFINITY : INFINITY);
    if (t == DT_INT64)
        return ox_integer(g, t, low ? INT64_MIN : INT64_MAX);
    if (!dtype_is_int(t) || dtype_size(t) > 4)
        return NULL;
    int64_t half = (int64_t)1 << (8 * dtype_size(t) - 1);
    if (dtype_is_signed(t))
        return ox_integer(g, t, low ? -half : half - 1);
    return ox_integer(g, t, low ? 0 : 2 * half - 1);
}

/* How the reduction of n is written by older operators. False: the target has this reduction, or
 * there is no other form. */
static bool combined_as(const Legal *l, const Node *n, Combined *out)
{
    const char *how = node_str(n, "reduction", "none");
    Graph *g = n->graph;
    DType t = reduced_as(ox_dtype(n->in[0]));
    if (strcmp(how, "add") == 0)
        *out = (Combined){ "ReduceSum", "Add", 16, ox_number(g, t, 0), t };
    else if (strcmp(how, "mul") == 0)
        *out = (Combined){ "ReduceProd", "Mul", 16, ox_number(g, t, 1), t };
    else if (strcmp(how, "max") == 0)
        *out = (Combined){ "ReduceMax", "Max", 18, outermost(g, t, true), t };
    else if (strcmp(how, "min") == 0)
        *out = (Combined){ "ReduceMin", "Min", 18, outermost(g, t, false), t };
    else
        return false;
    return l->target < out->since && out->neutral && t != DT_BOOL;
}

static Ox reshaped(Graph *g, Ox x, const Dim *dim, int rank)
{
    bool same = ox_rank(x) == rank;
    for (int i = 0; same && i < rank; i++)
        same = ox_dim(x, i) == dim[i];
    return same ? x : ox_g(g, "Reshape", x, ox_dims(g, dim, (size_t)rank));
}

/* Indices that count from the front. size: a number, or one for each item of the last axis. */
static Ox from_front(Graph *g, Ox index, Ox size)
{
    Ox at = ox_cast(g, index, DT_INT64);
    Ox below = ox_g(g, "Less", at, ox_int(g, 0));
    Ox wrapped = ox_g(g, "Add", at, size);
    return ox_g(g, "Where", below, wrapped, at);
}

static Ox places(Graph *g, Dim size)
{
    Ox end = ox_dim_value(g, size);
    return ox_g(g, "Range", ox_int(g, 0), end, ox_int(g, 1));
}

/* The updates where `hot` is true, elsewhere the number that changes nothing, reduced over
 * `axis`. */
static Ox met(Graph *g, const Combined *c, Ox hot, Ox updates, int64_t axis)
{
    Ox kept = ox_g(g, "Where", hot, ox_cast(g, updates, c->of), c->neutral);
    return ox_g_with(g, c->reduce, INPUTS(kept, one_axis(g, axis)), INT("keepdims", 0));
}

/* x padded at its ends to these sizes, with the number `with`. */
static Ox grown_to(Graph *g, Ox x, const Dim *dim, Ox with)
{
    Dim pads[2 * MAX_RANK];
    int rank = ox_rank(x);
    bool same = true;
    for (int i = 0; i < rank; i++) {
        pads[i] = dim_int(g->cx, 0);
        pads[rank + i] = dim_sub(g->cx, dim[i], ox_dim(x, i));
        same &= dim_is(pads[rank + i], 0);
    }
    return same ? x : ox_g(g, "Pad", x, ox_dims(g, pads, 2 * (size_t)rank), with);
}

/* x and what was met at each of its places. */
static Ox combined(Graph *g, const Combined *c, Ox x, Ox reduced)
{
    return ox_cast(g, ox_g(g, c->with, ox_cast(g, x, c->of), reduced), ox_dtype(x));
}

static void tell(const Node *n, int since)
{
    note(n->graph->cx, NOTE_CHANGED,
         "%s with a reduction compares every index with every place: opset %d has it in one node",
         n->name->s, since);
}

/* ScatterElements with a reduction that the target does not have: for each place of the axis the
 * updates that go there are combined (met), and the result is combined with x. */
Verdict legal_scatter_elements(Legal *l, Node *n, Ox *out)
{
    Graph *g = n->graph;
    Combined c;
    Ox x = n->in[0];
    Ox index = n->in[1];
    Ox updates = n->in[2];
    int rank = ox_rank(x);
    int64_t axis = node_int(n, "axis", 0), perm[MAX_RANK];
    if (!combined_as(l, n, &c) || rank < 1 || ox_rank(index) != rank || ox_rank(updates) != rank)
        return AS_IT_IS;
    axis += axis < 0 ? rank : 0;
    Dim size = ox_dim(x, (int)axis);
    Ox at = from_front(g, index, ox_dim_value(g, size));
    Ox each = ox_g(g, "Unsqueeze", at, one_axis(g, rank));
    Ox hot = ox_g(g, "Equal", each, places(g, size));
    Ox values = ox_g(g, "Unsqueeze", updates, one_axis(g, rank));
    Ox sums = met(g, &c, hot, values, axis); /* hot's last axis has the places */
    for (int i = 0; i < rank; i++)
        perm[i] = i < axis ? i : i - 1;
    perm[axis] = rank - 1;
    Ox in_order = ox_g_with(g, "Transpose", INPUTS(sums), INT_LIST("perm", perm, (size_t)rank));
    if (!ox_ok(in_order))
        return REFUSED;
    out[0] = combined(g, &c, x, grown_to(g, in_order, x->type->dim, c.neutral));
    tell(n, c.since);
    return CHANGED;
}

/* Index tuples [m, k] as places [m] along the first k axes, taken as one axis. */
static Ox flat_places(Graph *g, Ox index, const Dim *dim, int64_t k)
{
    Dim stride[MAX_RANK], by = dim_int(g->cx, 1);
    for (int64_t i = k - 1; i >= 0; i--) {
        stride[i] = by;
        by = dim_mul(g->cx, by, dim[i]);
    }
    Ox at = from_front(g, index, ox_dims(g, dim, (size_t)k));
    Ox far = ox_g(g, "Mul", at, ox_dims(g, stride, (size_t)k));
    return ox_g_with(g, "ReduceSum", INPUTS(far, one_axis(g, 1)), INT("keepdims", 0));
}

/* Places [m] along the first axis of a matrix [places, rest] as places of all its items in flat
 * memory, [m * rest]. */
static Ox flat_items(Graph *g, Ox place, Dim rest)
{
    if (dim_is(rest, 1))
        return place;
    Ox step = ox_dim_value(g, rest);
    Ox from = ox_g(g, "Mul", place, step);
    Ox down = ox_g(g, "Unsqueeze", from, one_axis(g, 1));
    Ox all = ox_g(g, "Add", down, places(g, rest));
    return ox_g(g, "Reshape", all, one_axis(g, -1));
}

/* *k: how many axes the index tuples name. False: that is not known. */
static bool tuple_size(const Node *n, int64_t *k)
{
    int rank = ox_rank(n->in[0]);
    int index_rank = ox_rank(n->in[1]);
    return rank > 0 && index_rank > 0 && dim_known(ox_dim(n->in[1], index_rank - 1), k) &&
        *k >= 1 && *k <= rank;
}

static Ox tuples_of(Graph *g, Ox index, int64_t k)
{
    Dim m = dim_product(g->cx, index->type->dim, ox_rank(index) - 1);
    return reshaped(g, index, (Dim[]){ m, dim_int(g->cx, k) }, 2);
}

static Ox flattened(Graph *g, Ox x)
{
    return ox_rank(x) == 1 ? x : ox_g(g, "Reshape", x, one_axis(g, -1));
}

/* ScatterND as ScatterElements along one flat axis. A tuple of one index is its own place: one that
 * counts from the end does so there too, where the operator allows it (11 on). */
static Verdict scatter_flat(const Legal *l, Node *n, Ox *out)
{
    Graph *g = n->graph;
    Ox x = n->in[0];
    const Attr *how = node_attr(n, "reduction");
    int64_t k;
    if (!tuple_size(n, &k) || ox_rank(n->in[2]) < 0)
        return AS_IT_IS;
    Dim rest = dim_product(g->cx, x->type->dim + k, ox_rank(x) - (int)k);
    Ox place = k == 1 && l->target >= 11
        ? flattened(g, n->in[1])
        : flat_places(g, tuples_of(g, n->in[1], k), x->type->dim, k);
    Ox at = flat_items(g, place, rest);
    Ox y = ox_g_with(g, "ScatterElements", INPUTS(flattened(g, x), at, flattened(g, n->in[2])),
                     INT("axis", 0), how ? *how : NO_ATTR);
    out[0] = ox_ok(y) ? reshaped(g, y, x->type->dim, ox_rank(x)) : POISON;
    return ox_ok(y) ? CHANGED : REFUSED;
}

Verdict legal_gather_nd(Legal *l, Node *n, Ox *out)
{
    (void)l;
    Graph *g = n->graph;
    Ox x = n->in[0];
    int64_t k;
    if (node_int(n, "batch_dims", 0) || !tuple_size(n, &k) || ox_rank(n->out[0]) < 0)
        return AS_IT_IS;
    Dim dims[MAX_RANK];
    dims[0] = dim_product(g->cx, x->type->dim, (int)k);
    for (int i = (int)k; i < ox_rank(x); i++)
        dims[i - k + 1] = ox_dim(x, i);
    Ox rows = reshaped(g, x, dims, ox_rank(x) - (int)k + 1);
    Ox at = flat_places(g, tuples_of(g, n->in[1], k), x->type->dim, k);
    Ox y = ox_g_with(g, "Gather", INPUTS(rows, at), INT("axis", 0));
    out[0] = ox_ok(y) ? reshaped(g, y, n->out[0]->type->dim, ox_rank(n->out[0])) : POISON;
    return ox_ok(y) ? CHANGED : REFUSED;
}

/* Do no two tuples name the same place? Few numbers are looked at. */
static bool surely_distinct(const Node *n)
{
    const int64_t *at;
    int64_t count, k;
    Ox index = n->in[1];
    if (!tuple_size(n, &k))
        return false;
    if (dim_is(type_numel(n->graph->cx, index->type), k))
        return true;
    if (k > 1 || !ox_known_ints(n->graph, index, &at, &count) || count > 64)
        return false;
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < i; j++)
            if (at[i] == at[j] || (at[i] < 0) != (at[j] < 0))
                return false;
    return true;
}

/* ONNX Runtime 1.31 gives the tuples to several threads, which lose updates of a place that another
 * one reduces into as well. A second thread comes in where it costs less than it gains: 1 for each
 * number, from 210,000 on (1.20 to 1.31; test_fusions.py). Fewer numbers are one thread's. */
enum { ONE_THREAD = 200000, MOST_PARTS = 8 };

/* In how many parts has each few enough numbers for one thread? 0: in too many, or in nobody knows
 * how many. *rows: how many tuples there are, along the first axis. */
static int64_t parts_of(const Node *n, int64_t *rows)
{
    int64_t numel;
    Ox updates = n->in[2];
    Dim all = type_numel(n->graph->cx, updates->type);
    if (ox_rank(updates) < 1 || !all || !dim_known(all, &numel))
        return 0;
    if (numel <= ONE_THREAD)
        return 1;
    if (ox_rank(n->in[1]) < 2 || !dim_known(ox_dim(updates, 0), rows) || *rows > numel)
        return 0;
    int64_t each = ONE_THREAD / (numel / *rows); /* rows of a part */
    int64_t parts = each ? (*rows - 1) / each + 1 : 0;
    return parts <= MOST_PARTS ? parts : 0;
}

/* x in this many parts of its first axis, as equal as they can be. */
static bool split_rows(Graph *g, Ox x, int64_t rows, int64_t parts, Ox *out)
{
    int64_t sizes[MOST_PARTS];
    for (int64_t i = 0; i < parts; i++)
        sizes[i] = rows / parts + (i < rows % parts);
    Attr axis = INT("axis", 0);
    return ox_make_n(g, "Split", INPUTS(x, ox_ints(g, sizes, (size_t)parts)), &axis, 1, out,
                     (size_t)parts);
}

/* ScatterND with a reduction, in a form that ONNX Runtime does in one thread: as it is, in parts
 * one after the other, or else the slower ScatterElements. */
static Verdict scatter_in_one_thread(const Legal *l, Node *n, Ox *out)
{
    Graph *g = n->graph;
    Ox index[MOST_PARTS], updates[MOST_PARTS];
    int64_t rows = 0;
    int64_t parts = parts_of(n, &rows);
    if (parts == 1 || surely_distinct(n))
        return AS_IT_IS;
    if (parts == 0)
        return scatter_flat(l, n, out);
    if (!split_rows(g, n->in[1], rows, parts, index) ||
        !split_rows(g, n->in[2], rows, parts, updates))
        return REFUSED;
    out[0] = n->in[0];
    for (int64_t i = 0; i < parts; i++)
        out[0] = ox_make(g, "ScatterND", INPUTS(out[0], index[i], updates[i]),
                         node_attr(n, "reduction"), 1);
    return ox_ok(out[0]) ? CHANGED : REFUSED;
}

/* ScatterND: as legal_scatter_elements, where the axes that an index tuple names are taken as
 * one axis of x. Before 11 there is no ScatterND at all, and one without a reduction is a flat
 * Scatter. */
Verdict legal_scatter_nd(Legal *l, Node *n, Ox *out)
{
    Graph *g = n->graph;
    bool replaces = strcmp(node_str(n, "reduction", "none"), "none") == 0;
    if (replaces)
        return l->target < 11 ? scatter_flat(l, n, out) : AS_IT_IS;
    Ctx *cx = l->cx;
    Combined c;
    Ox x = n->in[0];
    Ox index = n->in[1];
    Ox updates = n->in[2];
    int rank = ox_rank(x);
    int64_t k;
    if (!combined_as(l, n, &c))
        return l->ort ? scatter_in_one_thread(l, n, out) : AS_IT_IS;
    if (ox_rank(updates) < 0 || !tuple_size(n, &k))
        return AS_IT_IS;
    Dim m = dim_product(cx, index->type->dim, ox_rank(index) - 1);
    Dim size = dim_product(cx, x->type->dim, (int)k);
    Dim wide[MAX_RANK + 2];
    int rest = rank - (int)k;
    wide[0] = m;
    wide[1] = dim_int(cx, 1);
    for (int i = 0; i < rest; i++)
        wide[2 + i] = ox_dim(x, (int)k + i);
    Ox place = flat_places(g, tuples_of(g, index, k), x->type->dim, k);
    Ox hot = ox_g(g, "Equal", ox_g(g, "Unsqueeze", place, one_axis(g, 1)),
                  places(g, size)); /* [m, size] */
    Dim hot_dims[MAX_RANK + 2] = { m, size };
    for (int i = 2; i < 2 + rest; i++)
        hot_dims[i] = dim_int(cx, 1);
    Ox values = reshaped(g, updates, wide, 2 + rest);
    Ox sums = met(g, &c, reshaped(g, hot, hot_dims, 2 + rest), values, 0);
    if (!ox_ok(sums))
        return REFUSED;
    out[0] = combined(g, &c, x, reshaped(g, sums, x->type->dim, rank));
    tell(n, c.since);
    return CHANGED;
}
