/* specialized.c - evidence that a size which was asked to stay dynamic is fixed all the same.
 *
 * In the order in which it counts, n being the size that the trace's example had:
 *   rows       constant positions 0 to n - 1 of it are read, or written, at one line
 *   a slice    ends at n, as a number: x[:, :n], narrow(1, 0, n)
 *   broadcast  it meets a size of 2 or more: it is that, or 1 (of any program)
 *   a shape    view(n, -1) of it: the numbers line up for the example, and the rest takes it
 *   a number   sqrt(n) or log(n), where nothing else has n elements; a constant [2, n] of the
 *              example's shape; a turn by half of n
 *   an output  has n, and no output has the dynamic size; below 5 not where a Concat makes n
 * Each is a guess about what the programmer wrote, so each asks for more than one coincidence. Of a
 * size that nobody named (--dynamic) less is said: four columns of boxes are read by number too. */
#include "value/specialized.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Asked {
    Dim size;
    Str path;
    int axis;
    bool by_name;
    Str why;       /* the evidence, for the note; NULL: none was found */
    Str sliced;    /* evidence of the kind "a slice" */
    bool is_given; /* by a weight or an input, which no way to save the program changes */
} Asked;

/* Constant positions that one line reads, or writes, along axes whose size was n. */
typedef struct Rows {
    const Asked *of;
    Dim size;
    int64_t n;
    bool written;
    SourceId at;
    int64_t uses;        /* how many reads, or writes */
    Map position;        /* + 1 */
    unsigned from_start; /* of the first MANY, a bit each: 0, 1 */
    unsigned from_end;   /* the same of -1, L - 1 */
    int64_t nodes;
    bool several_calls; /* of operators: gradient(x) reads several positions in one */
} Rows;

struct Specialized {
    Ctx *cx;
    Map asked;   /* Dim of a symbol -> Asked */
    Map within;  /* Dim -> asked_in of it */
    Map numbers; /* bits of a double that is no whole number -> where the program has it */
    Map shapes;  /* Str of the sizes [2, 7] -> where the program has this constant */
    /* While the report is made. */
    Graph *g;
    Map live;     /* values that an output needs */
    Map rows;     /* Str of kind, place and n -> Rows */
    Map copied;   /* parts that a write leaves as they are, and does not read */
    Map lengths;  /* sizes that are numbers, of live values, + 1 */
    Map given;    /* the same, of weights and inputs alone */
    Map left;     /* symbols that an output's sizes have */
    bool by_data; /* an output has a size that data decides: it may stand for any */
};

/* Below 5 rows a program may well read each by its number, below 5 sqrt(n) is in formulas. */
enum { MANY = 5, MOST_ROWS = 1 << 20 };

static struct Specialized *specialized_of(Ctx *cx)
{
    if (!cx->specialized) {
        cx->specialized = new(cx, struct Specialized);
        cx->specialized->cx = cx;
    }
    return cx->specialized;
}

void specialized_ask(Ctx *cx, Dim size, Str path, int axis, bool by_name)
{
    struct Specialized *s = specialized_of(cx);
    if (!dim_is_sym(size, NULL) || map_find(&s->asked, size))
        return;
    Asked *a = new(cx, Asked);
    *a = (Asked){ .size = size, .path = path, .axis = axis, .by_name = by_name };
    map_put(cx, &s->asked, size, a);
}

static const void *as_key(int64_t v) { return (const void *)((uintptr_t)v + 1); }

static void add_number(Ctx *cx, double v)
{
    int64_t bits;
    memcpy(&bits, &v, sizeof bits);
    if (v != floor(v) && isfinite(v))
        map_add(cx, &cx->specialized->numbers, as_key(bits), (void *)(uintptr_t)where_intern(cx));
}

void specialized_number(Ctx *cx, double v)
{
    if (cx->specialized)
        add_number(cx, v);
}

static Str sizes_text(Ctx *cx, const int64_t *size, int64_t n)
{
    Buf b = buf_new(cx);
    for (int64_t i = 0; i < n; i++)
        buf_fmt(&b, "%s%lld", i ? ", " : "", (long long)size[i]);
    return buf_done(&b);
}

/* A 0-d constant is a number of Python; of others whole numbers alone may be sizes. */
void specialized_constant(Ctx *cx, const Const *k)
{
    double v;
    int64_t size[MAX_RANK];
    if (!cx->specialized)
        return;
    if (k->rank == 0 && k->dtype == DT_DOUBLE && const_read(cx, k, &v))
        add_number(cx, v);
    if (k->rank == 1 && k->dtype == DT_INT64 && k->dims[0] >= 2 && k->dims[0] <= MAX_RANK &&
        const_read(cx, k, size))
        map_add(cx, &cx->specialized->shapes, sizes_text(cx, size, k->dims[0]),
                (void *)(uintptr_t)where_intern(cx));
}

/* ---- what a size is made of ---- */

typedef struct Search {
    const struct Specialized *s;
    Asked *found;
} Search;

static Dim look_for_asked(void *arg, Dim sym)
{
    Search *search = arg;
    if (!search->found)
        search->found = map_get(&search->s->asked, sym);
    return NULL;
}

/* The first size in d that was asked to stay dynamic; NULL: there is none. */
static Asked *asked_in(struct Specialized *s, Dim d)
{
    Search search = { .s = s };
    const MapEntry *known = map_find(&s->within, d);
    if (known)
        return known->val;
    if (!dim_known(d, NULL))
        (void)dim_replace(s->cx, d, look_for_asked, &search);
    map_put(s->cx, &s->within, d, search.found);
    return search.found;
}

/* "net.py:12"; NULL where the file does not say. */
static Str line_of(Ctx *cx, SourceId at)
{
    Pos pos;
    if (!place_line(cx, at, &pos) || !pos.file)
        return NULL;
    return str_fmt(cx, "%s:%u", pos.file->s, pos.line);
}

static const char *line_or(Str line) { return line ? line->s : "the program"; }

/* "it", or what is computed from it: "L//2 + 1". A buffer that is written row by row has an
 * expression for a size that is L. */
static const char *it_or(Ctx *cx, const Asked *a, Dim d)
{
    enum { SHORT = 48 };
    int64_t n;
    int64_t then;
    if (d == a->size || (dim_example(cx, a->size, &n) && dim_example(cx, d, &then) && n == then))
        return "it";
    Str text = dim_text(cx, d);
    return text->len <= SHORT ? text->s : "a size that is computed from it";
}

/* ---- what an output needs ---- */

static void use_all(struct Specialized *s, const Node *n)
{
    check_stack(s->cx);
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i])
            map_put(s->cx, &s->live, n->in[i], NULL);
    for (int i = 0; i < n->n_attr; i++) {
        if (n->attr[i].kind != ATTR_GRAPH)
            continue;
        const Graph *body = n->attr[i].g;
        for (size_t k = 0; k < body->nodes.n; k++)
            use_all(s, body->nodes.at[k]);
        for (size_t k = 0; k < body->outputs.n; k++)
            map_put(s->cx, &s->live, body->outputs.at[k], NULL);
    }
}

static bool is_live(const struct Specialized *s, const Node *n)
{
    for (int i = 0; i < n->n_out; i++)
        if (map_find(&s->live, n->out[i]))
            return true;
    return false;
}

static void find_live(struct Specialized *s)
{
    for (size_t i = 0; i < s->g->outputs.n; i++)
        map_put(s->cx, &s->live, s->g->outputs.at[i], NULL);
    for (size_t i = s->g->nodes.n; i-- > 0;)
        if (is_live(s, s->g->nodes.at[i]))
            use_all(s, s->g->nodes.at[i]);
}

/* ---- rows ---- */

/* One use of the positions from `from` up to `to`. */
static void add_rows(Rows *r, Ctx *cx, int64_t from, int64_t to, bool from_end)
{
    r->uses++;
    for (int64_t i = from < 0 ? 0 : from; i < to && i < r->n; i++) {
        map_put(cx, &r->position, as_key(i), NULL);
        unsigned *seen = from_end ? &r->from_end : &r->from_start;
        *seen |= i < MANY ? 1u << i : 0;
    }
}

/* Does d grow with the sizes of the inputs? 4*L//M does not where L and M are the same size. */
static bool grows(Ctx *cx, const Asked *a, Dim d)
{
    int64_t then;
    int64_t doubled;
    if (d == a->size)
        return true;
    return dim_example_times(cx, d, 1, &then) && dim_example_times(cx, d, 2, &doubled) &&
        doubled > then;
}

/* The rows of an axis of v that the line of n uses; NULL where the size is not of interest: 4 of
 * min(4, L) are no loop over L. */
static Rows *rows_of(struct Specialized *s, const Node *n, Dim size, bool written)
{
    Ctx *cx = s->cx;
    int64_t example;
    const Asked *of = asked_in(s, size);
    if (!of || !dim_example(cx, size, &example) || example < 2 || example > MOST_ROWS ||
        !grows(cx, of, size))
        return NULL;
    Str key = str_fmt(cx, "%d %s %lld", written, line_or(line_of(cx, n->at)), (long long)example);
    Rows *r = map_get(&s->rows, key);
    if (!r) {
        r = new(cx, Rows);
        *r = (Rows){ .of = of, .size = size, .n = example, .written = written, .at = n->at };
        map_put(cx, &s->rows, key, r);
    }
    r->nodes++;
    r->several_calls |= n->at != r->at;
    return r;
}

/* Does d, which was `then`, stay so where the inputs are larger? 4 does, and min(4, L). */
static bool stays(Ctx *cx, Dim d, int64_t then)
{
    int64_t doubled;
    return dim_example_times(cx, d, 2, &doubled) && doubled == then;
}

/* Gather(x, 3), Gather(x, [6, 5, .., 0]), Gather(x, L - 1 - 3). */
static void look_at_gather(struct Specialized *s, const Node *n)
{
    Ctx *cx = s->cx;
    const Dim *at;
    int64_t count;
    int rank = ox_rank(n->in[0]);
    int64_t axis = node_int(n, "axis", 0);
    if (axis < 0)
        axis += rank;
    if (axis < 0 || axis >= rank || !ox_items(n->in[1], &at, &count))
        return;
    Rows *r = rows_of(s, n, ox_dim(n->in[0], (int)axis), false);
    if (!r)
        return;
    for (int64_t i = 0; i < count; i++) {
        int64_t position;
        if (!at[i] || !dim_example(cx, at[i], &position))
            continue;
        bool from_end = position < 0 || !stays(cx, at[i], position);
        position += position < 0 ? r->n : 0;
        add_rows(r, cx, position, position + 1, from_end);
    }
}

/* The only item of v: a number, or one that was `then` in the example. */
static bool one_item(const struct Specialized *s, Ox v, Dim *item, int64_t *then)
{
    const Dim *at;
    int64_t n;
    if (!v || !ox_items(v, &at, &n) || n != 1 || !at[0])
        return false;
    *item = at[0];
    return dim_example(s->cx, at[0], then);
}

/* Slice(x, 4, 7) of 7: what is behind is never read. Of few columns, or of a size that nobody
 * named, such a number may well be the program's own: x[:, 2:4] of boxes. */
static void look_at_end(struct Specialized *s, const Node *n, Dim size, int64_t from, int64_t to)
{
    Ctx *cx = s->cx;
    Asked *a = asked_in(s, size);
    if (a->by_name ? from > 0 && to < MANY : from > 0 || to < MANY)
        return;
    a->sliced = str_fmt(cx,
                        "%s reads positions %lld to %lld of %s alone, a slice that has the "
                        "example's size as a number",
                        line_or(line_of(cx, n->at)), (long long)from, (long long)to - 1,
                        it_or(cx, a, size));
}

/* Slice(x, 4, 6) of one axis: rows 4 and 5. One that goes to the end, or over all of the example's,
 * is no part of a loop. */
static void look_at_slice(struct Specialized *s, const Node *n)
{
    Dim item;
    Dim start;
    Dim end;
    int64_t from;
    int64_t to;
    int64_t axis;
    int64_t step = 1;
    int rank = ox_rank(n->in[0]);
    if (rank < 0 || n->n_in < 4 || map_find(&s->copied, n->out[0]) ||
        !one_item(s, n->in[1], &start, &from) || !one_item(s, n->in[2], &end, &to) ||
        !one_item(s, n->in[3], &item, &axis) ||
        (n->n_in > 4 && !one_item(s, n->in[4], &item, &step)))
        return;
    axis += axis < 0 ? rank : 0;
    if (step != 1 || from < 0 || to <= from || axis < 0 || axis >= rank)
        return;
    Dim size = ox_dim(n->in[0], (int)axis);
    if (!stays(s->cx, start, from) || !stays(s->cx, end, to))
        return;
    Rows *r = rows_of(s, n, size, false);
    if (!r || to > r->n)
        return;
    if (to == r->n)
        look_at_end(s, n, size, from, to);
    if (to - from < r->n)
        add_rows(r, s->cx, from, to, false);
}

/* Is v a part of a value as large as `whole` along the axis, all that Concat leaves as it is? */
static bool is_part(Ctx *cx, Ox v, int axis, int64_t whole)
{
    int64_t size;
    return v->kind == OX_NODE && node_is(v->node, "Slice") && ox_rank(v->node->in[0]) > axis &&
        dim_example(cx, ox_dim(v->node->in[0], axis), &size) && size == whole;
}

/* y[:, 3] = v is Concat(Slice(y, 0, 3), v, Slice(y, 4, end)). */
static void look_at_concat(struct Specialized *s, const Node *n)
{
    Ctx *cx = s->cx;
    int64_t size;
    int64_t whole;
    int64_t at = 0;
    int rank = ox_rank(n->out[0]);
    int axis = (int)node_int(n, "axis", 0);
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank || n->n_in > 3 ||
        !dim_example(cx, ox_dim(n->out[0], axis), &whole))
        return;
    int parts = 0;
    for (int i = 0; i < n->n_in; i++)
        parts += is_part(cx, n->in[i], axis, whole);
    bool written = parts > 0 && parts < n->n_in;
    Rows *r = written ? rows_of(s, n, ox_dim(n->out[0], axis), true) : NULL;
    if (!r)
        return;
    for (int i = 0; i < n->n_in && dim_example(cx, ox_dim(n->in[i], axis), &size); i++) {
        if (is_part(cx, n->in[i], axis, whole))
            map_put(cx, &s->copied, n->in[i], NULL);
        else
            add_rows(r, cx, at, at + size, false);
        at += size;
    }
}

static void look_at_rows(struct Specialized *s, const Node *n)
{
    if (n->n_out == 0 || ox_rank(n->out[0]) < 0)
        return;
    if (node_is(n, "Concat"))
        look_at_concat(s, n);
    else if (node_is(n, "Gather"))
        look_at_gather(s, n);
    else if (node_is(n, "Slice"))
        look_at_slice(s, n);
}

/* From the last node on, so that a write is seen before the parts that it copies. */
static void find_rows(struct Specialized *s)
{
    for (size_t i = s->g->nodes.n; i-- > 0;) {
        const Node *n = s->g->nodes.at[i];
        if (is_live(s, n))
            look_at_rows(s, n);
    }
}

/* ---- broadcast ---- */

static bool broadcasts(const Node *n)
{
    static const char *const ops[] = { "Add",   "Sub",         "Mul",     "Div",           "Pow",
                                       "Mod",   "Min",         "Max",     "Sum",           "Mean",
                                       "Where", "And",         "Or",      "Xor",           "Equal",
                                       "Less",  "LessOrEqual", "Greater", "GreaterOrEqual" };
    for (size_t i = 0; i < COUNT(ops); i++)
        if (node_is(n, ops[i]))
            return true;
    return false;
}

/* The operand with the largest number along an axis of the result, counted from the last; NULL
 * where no operand has one. */
static Ox largest_at(const Node *n, int from_last, int64_t *number)
{
    Ox largest = NULL;
    int64_t size;
    *number = 0;
    for (int i = 0; i < n->n_in; i++) {
        int axis = n->in[i] ? ox_rank(n->in[i]) - from_last : -1;
        if (axis < 0 || !dim_known(ox_dim(n->in[i], axis), &size) || size <= *number)
            continue;
        *number = size;
        largest = n->in[i];
    }
    return largest;
}

static bool is_weight(Ox v) { return v->kind == OX_CONST && const_is_weight(v->k); }

/* Is v an input, a weight, or one of them in another shape? */
static bool is_given(Ox v)
{
    while (v->kind == OX_NODE &&
           (node_is(v->node, "Reshape") || node_is(v->node, "Squeeze") ||
            node_is(v->node, "Unsqueeze") || node_is(v->node, "Transpose")))
        v = v->node->in[0];
    return v->kind == OX_INPUT || is_weight(v);
}

/* x of d elements and `with`, of `number`: d is that, or 1. */
static void look_at_pair(struct Specialized *s, const Node *n, Dim d, Ox with, int64_t number)
{
    Ctx *cx = s->cx;
    int64_t example;
    Asked *a = asked_in(s, d);
    if (!a || a->why || dim_eq(cx, d, dim_int(cx, number)) != UNKNOWN || !grows(cx, a, d))
        return;
    if (dim_example(cx, d, &example) && example == 1 && !a->by_name)
        return;
    a->is_given = is_given(with);
    a->why = str_fmt(cx, "%s combines %s with a size of %lld", line_or(line_of(cx, n->at)),
                     it_or(cx, a, d), (long long)number);
}

static void look_at_broadcast(struct Specialized *s, const Node *n)
{
    int64_t number;
    if (!broadcasts(n) || !is_live(s, n))
        return;
    for (int from_last = 1; from_last <= ox_rank(n->out[0]); from_last++) {
        Ox with = largest_at(n, from_last, &number);
        if (!with || number < 2)
            continue;
        for (int i = 0; i < n->n_in; i++) {
            int axis = n->in[i] ? ox_rank(n->in[i]) - from_last : -1;
            if (axis >= 0)
                look_at_pair(s, n, ox_dim(n->in[i], axis), with, number);
        }
    }
}

/* ---- shapes ---- */

/* Elements that v had in the example before each axis, and in all. False: not known, or none. */
static bool count_before(Ctx *cx, Ox v, int64_t *count)
{
    int64_t size;
    count[0] = 1;
    for (int axis = 0; axis < ox_rank(v); axis++) {
        if (!dim_example(cx, ox_dim(v, axis), &size) || size < 1 || count[axis] > INT64_MAX / size)
            return false;
        count[axis + 1] = count[axis] * size;
    }
    return ox_rank(v) >= 0;
}

/* The size that was to stay dynamic and that an axis of v from `from` on, before `to`, grows with.
 */
static Asked *growing_in(struct Specialized *s, Ox v, int from, int to)
{
    for (int axis = from; axis < to; axis++) {
        Dim d = ox_dim(v, axis);
        int64_t then;
        Asked *a = asked_in(s, d);
        if (a && grows(s->cx, a, d) && dim_example(s->cx, a->size, &then) && then > 1)
            return a;
    }
    return NULL;
}

static bool all_numbers(Ox v, int from, int to)
{
    for (int axis = from; axis < to; axis++)
        if (!dim_known(ox_dim(v, axis), NULL))
            return false;
    return true;
}

/* [N, 24] becomes [2, 12*N]: the first axis of both had 2 elements in the example, but N is on the
 * other side of it now. x is cut before axis j, y before axis i. */
static void look_at_cut(struct Specialized *s, const Node *n, int j, int i)
{
    Ox x = n->in[0];
    Ox y = n->out[0];
    Asked *left = growing_in(s, x, 0, j);
    Asked *right = growing_in(s, x, j, ox_rank(x));
    Asked *a = NULL;
    if (left && left != right && all_numbers(y, 0, i))
        a = left;
    else if (right && left != right && all_numbers(y, i, ox_rank(y)))
        a = right;
    if (!a || a->why)
        return;
    a->why = str_fmt(s->cx, "%s has the example's size in a shape, %s becomes %s",
                     line_or(line_of(s->cx, n->at)), type_text(s->cx, x->type)->s,
                     type_text(s->cx, y->type)->s);
}

/* Of each place where x and y can be cut, so that the example's parts had as many elements. */
static void look_at_shape(struct Specialized *s, const Node *n)
{
    int64_t before_x[MAX_RANK + 1];
    int64_t before_y[MAX_RANK + 1];
    if (!node_is(n, "Reshape") || !is_live(s, n))
        return;
    Ox x = n->in[0];
    Ox y = n->out[0];
    if (!count_before(s->cx, x, before_x) || !count_before(s->cx, y, before_y))
        return;
    for (int j = 1; j < ox_rank(x); j++)
        for (int i = 1; i < ox_rank(y); i++)
            if (before_x[j] == before_y[i])
                look_at_cut(s, n, j, i);
}

/* ---- what has how many elements ---- */

static void find_lengths(struct Specialized *s)
{
    for (size_t i = 0; i < s->live.n; i++) {
        Ox v = (Ox)(uintptr_t)s->live.at[i].key;
        for (int axis = 0; axis < ox_rank(v); axis++) {
            int64_t size;
            if (!dim_known(ox_dim(v, axis), &size))
                continue;
            map_put(s->cx, &s->lengths, as_key(size), NULL);
            if (v->kind == OX_INPUT || is_weight(v))
                map_put(s->cx, &s->given, as_key(size), NULL);
        }
    }
}

static Dim note_symbol(void *arg, Dim sym)
{
    struct Specialized *s = arg;
    map_put(s->cx, &s->left, sym, NULL);
    if (!map_find(&s->asked, sym))
        s->by_data = true;
    return NULL;
}

static void find_outputs(struct Specialized *s)
{
    for (size_t i = 0; i < s->g->outputs.n; i++) {
        Ox v = s->g->outputs.at[i];
        for (int axis = 0; axis < ox_rank(v); axis++) {
            int64_t size;
            if (!dim_known(ox_dim(v, axis), &size))
                (void)dim_replace(s->cx, ox_dim(v, axis), note_symbol, s);
        }
    }
}

/* ---- judging ---- */

static void look_at_all(struct Specialized *s, void (*look)(struct Specialized *, const Node *))
{
    for (size_t i = 0; i < s->g->nodes.n; i++)
        look(s, s->g->nodes.at[i]);
}

/* Are all positions used, but for one at an end, and not in two halves? Of few all are, and counted
 * from one end: x[0] and x[-1] are all of 2 by chance, and so is what one call reads of its own. */
static bool is_loop(const Rows *r)
{
    int64_t seen = (int64_t)r->position.n;
    if (r->n >= MANY)
        return seen >= r->n - 1 && r->uses > 2;
    unsigned all = (1u << r->n) - 1;
    return r->of->by_name && (r->from_start == all || r->from_end == all) && r->uses >= r->n &&
        (r->nodes == 1 || r->several_calls);
}

/* The first line with a loop tells, and where none has one the first slice. */
static void judge_rows(struct Specialized *s)
{
    Ctx *cx = s->cx;
    for (size_t i = s->rows.n; i-- > 0;) {
        const Rows *r = s->rows.at[i].val;
        Asked *a = asked_in(s, r->size);
        if (a->why || !is_loop(r))
            continue;
        a->why = str_fmt(cx,
                         "%s %s positions 0 to %lld of %s by number, a loop that the trace has "
                         "unrolled",
                         line_or(line_of(cx, r->at)), r->written ? "writes" : "reads",
                         (long long)r->n - 1, it_or(cx, a, r->size));
    }
    for (size_t i = 0; i < s->asked.n; i++) {
        Asked *a = s->asked.at[i].val;
        if (!a->why)
            a->why = a->sliced;
    }
}

/* Has the program the number v, that is a function of n? Where nothing has n elements v comes from
 * this size. */
static bool has_number(struct Specialized *s, Asked *a, int64_t n, double v, const char *function)
{
    int64_t bits;
    memcpy(&bits, &v, sizeof bits);
    const MapEntry *at = v != floor(v) ? map_find(&s->numbers, as_key(bits)) : NULL;
    if (!at)
        return false;
    Str line = line_of(s->cx, (SourceId)(uintptr_t)at->val);
    a->why = str_fmt(s->cx, "%s has the number %s(%lld)", line_or(line), function, (long long)n);
    return true;
}

static void judge_numbers(struct Specialized *s, Asked *a, int64_t n)
{
    if (n >= MANY && n % 10 != 0 && !map_find(&s->lengths, as_key(n)))
        (void)(has_number(s, a, n, sqrt((double)n), "sqrt") ||
               has_number(s, a, n, 1 / sqrt((double)n), "1/sqrt") ||
               has_number(s, a, n, pow((double)n, -0.5), "1/sqrt") ||
               has_number(s, a, n, log((double)n), "log"));
}

/* Does a constant hold the sizes that v had in the example, as torch.tensor(x.shape) does? */
static void judge_shape(struct Specialized *s, Ox v)
{
    Ctx *cx = s->cx;
    int64_t size[MAX_RANK];
    for (int axis = 0; axis < ox_rank(v); axis++)
        if (!dim_example(cx, ox_dim(v, axis), &size[axis]))
            return;
    Str text = sizes_text(cx, size, ox_rank(v));
    const MapEntry *at = map_find(&s->shapes, text);
    if (!at)
        return;
    for (int axis = 0; axis < ox_rank(v); axis++) {
        Asked *a = asked_in(s, ox_dim(v, axis));
        if (a && !a->why)
            a->why = str_fmt(cx, "%s has the example's sizes [%s] as a constant",
                             line_or(line_of(cx, (SourceId)(uintptr_t)at->val)), text->s);
    }
}

void specialized_turn(Ctx *cx, Dim size, Dim by)
{
    struct Specialized *s = cx->specialized;
    int64_t turn;
    int64_t n;
    Asked *a = s ? asked_in(s, size) : NULL;
    if (!a || a->why || !dim_known(by, &turn) || !dim_example(cx, size, &n) || n < MANY)
        return;
    turn = llabs(turn % n);
    if (turn == n / 2 || turn == n - n / 2)
        a->why = str_fmt(cx, "%s rolls %s by %lld, half of %lld",
                         line_or(line_of(cx, where_intern(cx))), it_or(cx, a, size),
                         (long long)turn, (long long)n);
}

/* The first axis of v that has n elements; -1: none has. */
static int axis_of_size(Ox v, int64_t n)
{
    for (int axis = 0; axis < ox_rank(v); axis++)
        if (dim_is(ox_dim(v, axis), n))
            return axis;
    return -1;
}

/* Is this a Concat of n items, or made of one, so that its n is that? stack([x.sum(), x.mean()]) is
 * 2 of any batch. joined: what is known of the values before. */
static bool is_joined(const Node *node, int64_t n, const Map *joined)
{
    if (axis_of_size(node->out[0], n) < 0)
        return false;
    int64_t axis = node_int(node, "axis", 0);
    axis += axis < 0 ? ox_rank(node->out[0]) : 0;
    if (node_is(node, "Concat") && dim_is(ox_dim(node->out[0], (int)axis), n))
        return true;
    for (int i = 0; i < node->n_in; i++)
        if (node->in[i] && map_find(joined, node->in[i]))
            return true;
    return false;
}

/* The first output that has n by itself, and no Concat's. -1: there is none. */
static int64_t output_of(struct Specialized *s, int64_t n)
{
    Map joined = { 0 };
    for (size_t i = 0; n < MANY && i < s->g->nodes.n; i++) {
        const Node *node = s->g->nodes.at[i];
        if (node->n_out > 0 && is_joined(node, n, &joined))
            map_put(s->cx, &joined, node->out[0], NULL);
    }
    for (size_t i = 0; i < s->g->outputs.n; i++) {
        Ox v = s->g->outputs.at[i];
        if (axis_of_size(v, n) >= 0 && !map_find(&joined, v))
            return (int64_t)i;
    }
    return -1;
}

static void judge_outputs(struct Specialized *s, Asked *a, int64_t n)
{
    if (n < 2 || !a->by_name || s->by_data || map_find(&s->given, as_key(n)) ||
        map_find(&s->left, a->size))
        return;
    int64_t i = output_of(s, n);
    if (i >= 0)
        a->why = str_fmt(s->cx, "dimension %d of output %lld is %lld in every run",
                         axis_of_size(s->g->outputs.at[i], n), (long long)i, (long long)n);
}

static void judge_trace(struct Specialized *s)
{
    find_lengths(s);
    find_outputs(s);
    for (size_t i = 0; i < s->g->inputs.n; i++)
        judge_shape(s, s->g->inputs.at[i]);
    for (size_t i = 0; i < s->asked.n; i++) {
        Asked *a = s->asked.at[i].val;
        int64_t n;
        bool has_example = dim_example(s->cx, a->size, &n);
        if (has_example && !a->why)
            judge_numbers(s, a, n);
        if (has_example && !a->why)
            judge_outputs(s, a, n);
    }
}

static void tell(Ctx *cx, const Asked *a, bool traced)
{
    int64_t n;
    Buf b = buf_new(cx);
    bool has_example = dim_example(cx, a->size, &n);
    if (!a->why)
        return;
    buf_fmt(&b, "dimension %d (%s) of %s does not stay dynamic", a->axis, dim_text(cx, a->size)->s,
            a->path->s);
    if (has_example)
        buf_fmt(&b, ", it was %lld in the trace's example", (long long)n);
    buf_fmt(&b, ": %s", a->why->s);
    if (traced && !a->is_given)
        buf_str(&b, "; torch.jit.script or torch.export keeps it dynamic, else give a fixed size");
    else
        buf_str(&b, "; give a fixed size");
    note(cx, NOTE_ASSUMED, "%s", buf_done(&b)->s);
}

/* The same of a .pt2, in which a size that has an example is this number. */
static void tell_exported(Ctx *cx, const Asked *a)
{
    int64_t n;
    if (!dim_example(cx, a->size, &n))
        tell(cx, a, false);
    else if (!dim_known(a->size, NULL))
        note(cx, NOTE_ASSUMED,
             "dimension %d (%s) of %s stays %lld wherever the program uses it, as it was exported "
             "so%s%s; torch.export with dynamic_shapes keeps it dynamic, else give a fixed size",
             a->axis, dim_text(cx, a->size)->s, a->path->s, (long long)n, a->why ? ": " : "",
             a->why ? a->why->s : "");
}

/* Evidence of the later kinds counts where there is none of the earlier, so the order is that of
 * the list above. */
void specialized_report(Ctx *cx, Graph *g, bool traced, bool exported)
{
    struct Specialized *s = cx->specialized;
    if (!s || s->asked.n == 0)
        return;
    s->g = g;
    find_live(s);
    if (traced)
        find_rows(s);
    judge_rows(s);
    look_at_all(s, look_at_broadcast);
    if (traced) {
        look_at_all(s, look_at_shape);
        judge_trace(s);
    }
    for (size_t i = 0; i < s->asked.n; i++) {
        if (exported)
            tell_exported(cx, s->asked.at[i].val);
        else
            tell(cx, s->asked.at[i].val, traced);
    }
}
