/* infer_control.c - If, Loop, Scan and sequences: output types come from subgraphs.
 * A size that a subgraph makes for itself means nothing outside: it becomes a fresh symbol there,
 * and so does a size in which two branches differ. Branches of different rank give an unknown rank;
 * eval refuses or joins them before it gets here. */
#include "onnx/infer/infer.h"

/* ---- dims that cross the border of a scope ---- */

typedef struct Leaves {
    Node *n;
    bool inner;
} Leaves;

static Dim look_at_leaf(void *arg, Dim sym)
{
    Leaves *l = arg;
    Ox from;
    int axis;
    if (dim_origin(node_cx(l->n), sym, &from, &axis) && !graph_sees(l->n->graph, from))
        l->inner = true;
    return NULL;
}

/* d; NULL: one of its symbols comes from a node inside the subgraph. */
static Dim seen_outside(Node *n, Dim d)
{
    Leaves l = { .n = n };
    if (dim_known(d, NULL))
        return d;
    dim_replace(node_cx(n), d, look_at_leaf, &l);
    return l.inner ? NULL : d;
}

static Shape shape_outside(Node *n, Ox v)
{
    Shape s = shape_of(v);
    for (int i = 0; i < s.rank; i++)
        s.d[i] = seen_outside(n, s.d[i]);
    return s;
}

/* Same rank: differing dims open. */
static void shape_join(Node *n, Shape *s, const Shape *with)
{
    if (s->rank != with->rank) {
        s->rank = -1;
        return;
    }
    for (int i = 0; i < s->rank; i++)
        if (!s->d[i] || !with->d[i] || dim_eq(node_cx(n), s->d[i], with->d[i]) != YES)
            s->d[i] = NULL;
}

static const Graph *body_of(Node *n, const char *name)
{
    const Attr *a = node_attr(n, name);
    if (!a || a->kind != ATTR_GRAPH || !a->g) {
        node_fail(n, "the attribute %s is missing", name);
        return NULL;
    }
    return a->g;
}

static bool is_tensor(Ox v) { return v->type && v->type->kind == T_TENSOR; }

/* v through Identity nodes */
static Ox origin_value(Ox v)
{
    while (v->kind == OX_NODE && node_is(v->node, "Identity"))
        v = v->node->in[0];
    return v;
}

/* Its type says nothing about the rank of the items that it does not have. */
static bool is_empty_sequence(Ox v)
{
    v = origin_value(v);
    return v->kind == OX_NODE && node_is(v->node, "SequenceEmpty");
}

/* The elements of a sequence: sizes that differ, or that only the subgraph knows, are symbols that
 * stand for nothing else. */
static Shape element_shape(Node *n, Ox v)
{
    Type t = v->type->elem;
    Shape s = { .rank = t->rank };
    for (int k = 0; k < s.rank; k++)
        s.d[k] = seen_outside(n, t->dim[k]);
    return s;
}

static bool out_sequence(Node *n, int i, DType t, Shape *s)
{
    for (int k = 0; k < s->rank; k++)
        if (!s->d[k])
            s->d[k] = fresh_in(n, 0, DIM_MAX);
    set_out_type(n, i,
                 type_wrapped(node_cx(n), T_SEQUENCE,
                              type_tensor(node_cx(n), t, s->rank, s->rank >= 0 ? s->d : NULL)));
    return true;
}

static bool out_joined_sequences(Node *n, int i, Ox a, Ox b)
{
    Shape s = element_shape(n, a);
    Shape with = element_shape(n, b);
    if (is_empty_sequence(a))
        s = with;
    else if (!is_empty_sequence(b))
        shape_join(n, &s, &with);
    return out_sequence(n, i, a->type->elem->dtype, &s);
}

static bool is_sequence(Ox v)
{
    return v->type && v->type->kind == T_SEQUENCE && v->type->elem->kind == T_TENSOR;
}

/* Output i: a and b are what two branches give. */
static bool out_joined(Node *n, int i, Ox a, Ox b)
{
    if (is_sequence(a) && is_sequence(b) && ox_dtype(a) == ox_dtype(b))
        return out_joined_sequences(n, i, a, b);
    if (!is_tensor(a) || !is_tensor(b)) {
        if (a->type != b->type)
            return node_fail(n, "output %d is %s or %s", i, type_text(node_cx(n), a->type)->s,
                             type_text(node_cx(n), b->type)->s);
        set_out_type(n, i, a->type);
        return true;
    }
    if (ox_dtype(a) != ox_dtype(b))
        return node_fail(n, "output %d is %s or %s", i, dtype_name(ox_dtype(a)),
                         dtype_name(ox_dtype(b)));
    Shape s = shape_outside(n, a);
    Shape with = shape_outside(n, b);
    shape_join(n, &s, &with);
    return out_partial(n, i, ox_dtype(a), &s);
}

static bool infer_if(Node *n)
{
    const Graph *yes = body_of(n, "then_branch");
    const Graph *no = body_of(n, "else_branch");
    if (!yes || !no)
        return false;
    if (yes->outputs.n != no->outputs.n || yes->outputs.n < (size_t)n->n_out)
        return node_fail(n, "the branches give %zu and %zu values", yes->outputs.n, no->outputs.n);
    for (int i = 0; i < n->n_out; i++)
        if (!out_joined(n, i, yes->outputs.at[i], no->outputs.at[i]))
            return false;
    return true;
}

/* Never stops early: the condition stays true. */
static bool runs_through(Node *n, const Graph *body)
{
    double v;
    Ox first = node_in(n, 1);
    Ox last = origin_value(body->outputs.at[0]);
    bool starts = !first || (ox_known_scalar(n->graph, first, &v) && v != 0);
    bool stays = last == body->inputs.at[1] || (ox_known_scalar(n->graph, last, &v) && v != 0);
    return starts && stays;
}

/* Loop(M?, cond?, carried..); body(iteration, cond, carried..) -> (cond, carried.., scanned..) */
static bool infer_loop(Node *n)
{
    const Graph *body = body_of(n, "body");
    int carried = n->n_in > 2 ? n->n_in - 2 : 0;
    if (!body)
        return false;
    if (body->inputs.n != (size_t)carried + 2 || body->outputs.n < (size_t)carried + 1 ||
        n->n_out > (int)body->outputs.n - 1)
        return node_fail(n, "%d carried values, but the body takes %zu values and gives %zu",
                         carried, body->inputs.n, body->outputs.n);
    for (int i = 0; i < carried && i < n->n_out; i++)
        if (!out_joined(n, i, n->in[2 + i], body->outputs.at[1 + i]))
            return false;
    Dim iterations = runs_through(n, body) ? item_at(node_in(n, 0), 0) : NULL;
    iterations = iterations ? dim_max(node_cx(n), iterations, dim_int(node_cx(n), 0)) : NULL;
    for (int i = carried; i < n->n_out; i++) {
        Shape one = shape_outside(n, body->outputs.at[1 + i]);
        Shape s = { .rank = one.rank < 0 ? -1 : one.rank + 1, .d = { iterations } };
        if (s.rank > MAX_RANK)
            return node_fail(n, "rank %d is more than %d", s.rank, MAX_RANK);
        for (int k = 1; k < s.rank; k++)
            s.d[k] = one.d[k - 1];
        if (!out_partial(n, i, ox_dtype(body->outputs.at[1 + i]), &s))
            return false;
        iterations = iterations || s.rank < 1 ? iterations
                                              : s.d[0]; /* all scanned outputs are equally long */
    }
    return true;
}

/* The i-th of a list of axes that an attribute gives; 0 where it gives none. */
static int64_t scan_axis(const Node *n, const char *attr, int64_t i)
{
    const int64_t *axes = NULL;
    size_t count = 0;
    node_ints(n, attr, &axes, &count);
    return (size_t)i < count ? axes[i] : 0;
}

/* How many iterations: the size of the first scanned input that has a rank, along its axis. NULL in
 * *length when none has; false after an error. */
static bool scan_length(Node *n, int64_t states, Dim *length)
{
    *length = NULL;
    for (int64_t i = states; i < n->n_in; i++) {
        Ox v = n->in[i];
        int axis;
        if (ox_rank(v) < 0)
            continue;
        if (!wrap_axis(n, scan_axis(n, "scan_input_axes", i - states), ox_rank(v), &axis))
            return false;
        *length = ox_dim(v, axis);
        if (*length)
            return true;
    }
    return true;
}

/* Output i is the items that the body gives, side by side along the axis numbered `scanned`. */
static bool scan_output(Node *n, int i, int64_t scanned, Ox item, Dim length)
{
    Shape one = shape_outside(n, item);
    Shape s = { .rank = one.rank < 0 ? -1 : one.rank + 1 };
    int axis = 0;
    if (s.rank > MAX_RANK)
        return node_fail(n, "rank %d is more than %d", s.rank, MAX_RANK);
    if (s.rank > 0 && !wrap_axis(n, scan_axis(n, "scan_output_axes", scanned), s.rank, &axis))
        return false;
    for (int k = 0, from = 0; k < s.rank; k++)
        s.d[k] = k == axis ? length : one.d[from++];
    return out_partial(n, i, ox_dtype(item), &s);
}

/* Scan(state.., scanned..); body(state.., item..) -> (state.., item..). Axes other than 0 by
 * attribute. */
static bool infer_scan(Node *n)
{
    const Graph *body = body_of(n, "body");
    int64_t scanned = node_int(n, "num_scan_inputs", 0);
    int64_t states = n->n_in - scanned;
    Dim length;
    if (!body)
        return false;
    if (scanned < 1 || states < 0 || body->inputs.n != (size_t)n->n_in ||
        body->outputs.n < (size_t)n->n_out || (int64_t)body->outputs.n < states)
        return node_fail(n, "%d inputs and %d outputs do not fit the body's %zu and %zu", n->n_in,
                         n->n_out, body->inputs.n, body->outputs.n);
    if (!scan_length(n, states, &length))
        return false;
    for (int i = 0; i < n->n_out; i++) {
        Ox v = body->outputs.at[i];
        bool fine = i < states ? out_joined(n, i, n->in[i], v)
                               : scan_output(n, i, i - states, v, length);
        if (!fine)
            return false;
    }
    return true;
}

/* ---- sequences ---- */

static bool infer_sequence_construct(Node *n)
{
    Shape s = shape_of(n->in[0]);
    for (int i = 1; i < n->n_in; i++) {
        Shape with = shape_of(n->in[i]);
        shape_join(n, &s, &with);
    }
    return out_sequence(n, 0, ox_dtype(n->in[0]), &s);
}

static bool infer_sequence_empty(Node *n)
{
    DType t = (DType)node_int(n, "dtype", DT_FLOAT);
    set_out_type(n, 0, type_wrapped(node_cx(n), T_SEQUENCE, type_tensor(node_cx(n), t, -1, NULL)));
    return true;
}

/* What the sequence or optional holds; NULL after an error. */
static Type element_type(Node *n)
{
    Type t = n->in[0]->type;
    if (t && t->kind != T_TENSOR && t->elem)
        return t->elem;
    node_fail(n, "the input is not a sequence or optional");
    return NULL;
}

/* An element: each may have its own sizes, so only the rank is certain where dims are symbols of
 * none in particular. */
static bool infer_sequence_at(Node *n)
{
    Type t = element_type(n);
    if (!t)
        return false;
    if (t->kind != T_TENSOR) {
        set_out_type(n, 0, t);
        return true;
    }
    Shape s = { .rank = t->rank };
    for (int i = 0; i < s.rank; i++)
        s.d[i] = dim_known(t->dim[i], NULL) ? t->dim[i] : NULL;
    return out_partial(n, 0, t->dtype, &s);
}

static bool infer_sequence_insert(Node *n)
{
    Type t = element_type(n);
    if (!t)
        return false;
    Shape s = { .rank = t->rank };
    Shape with = shape_of(n->in[1]);
    for (int i = 0; i < s.rank; i++)
        s.d[i] = t->dim[i];
    if (is_empty_sequence(n->in[0]))
        s = with;
    shape_join(n, &s, &with);
    return out_sequence(n, 0, t->dtype, &s);
}

static bool infer_sequence_erase(Node *n)
{
    set_out_type(n, 0, n->in[0]->type);
    return true;
}

/* No contents: a symbol that stands for this very output would make the node look needless. */
static bool infer_sequence_length(Node *n)
{
    Shape s = { .rank = 0 };
    return out_shape(n, 0, DT_INT64, &s);
}

/* Are the parts of a SplitToSequence of one item each? They are where it has no sizes. */
static bool splits_by_item(const Node *n)
{
    const int64_t *size;
    int64_t count;
    if (!node_in(n, 1))
        return true;
    return ox_rank(n->in[1]) == 0 && node_in_ints(n, 1, &size, &count) && size[0] == 1;
}

/* SplitToSequence(x, sizes?): a sequence of tensors whose size along the axis is 1, or differs. */
static bool infer_split_to_sequence(Node *n)
{
    Ctx *cx = node_cx(n);
    Shape s = shape_of(n->in[0]);
    int axis;
    if (s.rank >= 0) {
        if (!wrap_axis(n, node_int(n, "axis", 0), s.rank, &axis))
            return false;
        s.d[axis] = splits_by_item(n) ? dim_int(cx, 1) : fresh_in(n, 0, DIM_MAX);
        if (!node_in(n, 1) && !node_int(n, "keepdims", 1)) {
            for (int i = axis; i + 1 < s.rank; i++)
                s.d[i] = s.d[i + 1];
            s.rank--;
        }
    }
    Type each = type_tensor(cx, ox_dtype(n->in[0]), s.rank, s.rank >= 0 ? s.d : NULL);
    set_out_type(n, 0, type_wrapped(cx, T_SEQUENCE, each));
    return true;
}

/* The items' shape with the axis that is joined, or, with new_axis, made. Sizes that items may not
 * share are unknown. */
static bool infer_concat_from_sequence(Node *n)
{
    Type t = element_type(n);
    if (!t)
        return false;
    bool stack = node_int(n, "new_axis", 0) != 0;
    Shape s = { .rank = t->rank < 0 ? -1 : t->rank + stack };
    int axis = 0;
    if (s.rank > MAX_RANK)
        return node_fail(n, "rank %d is more than %d", s.rank, MAX_RANK);
    if (s.rank >= 0 && !wrap_axis(n, node_int(n, "axis", 0), s.rank, &axis))
        return false;
    for (int i = 0, from = 0; i < s.rank; i++) {
        if (i == axis) {
            from += !stack;
            continue;
        }
        s.d[i] = dim_known(t->dim[from], NULL) ? t->dim[from] : NULL;
        from++;
    }
    return out_partial(n, 0, t->dtype, &s);
}

/* One body call an element; each output of the body is collected into a sequence of its own. */
static bool infer_sequence_map(Node *n)
{
    const Graph *body = body_of(n, "body");
    if (!body)
        return false;
    if (body->inputs.n != (size_t)n->n_in || body->outputs.n < (size_t)n->n_out)
        return node_fail(n, "%d inputs and %d outputs do not fit the body's %zu and %zu", n->n_in,
                         n->n_out, body->inputs.n, body->outputs.n);
    for (int i = 0; i < n->n_out; i++) {
        Ox one = body->outputs.at[i];
        Shape s = shape_outside(n, one);
        out_sequence(n, i, ox_dtype(one), &s);
    }
    return true;
}

static bool infer_optional(Node *n)
{
    const Attr *a = node_attr(n, "type");
    Type t = a ? a->type : NULL;
    if (node_in(n, 0))
        t = n->in[0]->type;
    if (!t)
        return node_fail(n, "needs an input or the attribute type");
    set_out_type(n, 0, type_wrapped(node_cx(n), T_OPTIONAL, t));
    return true;
}

static bool infer_optional_has(Node *n)
{
    Shape s = { .rank = 0 };
    return out_shape(n, 0, DT_BOOL, &s);
}

/* OptionalGetElement of a value that is not optional is the value itself. */
static bool infer_optional_get(Node *n)
{
    Type t = n->in[0]->type;
    set_out_type(n, 0, t && t->kind == T_OPTIONAL ? t->elem : t);
    return true;
}

const InferRow infer_control[] = { { "ConcatFromSequence", infer_concat_from_sequence },
                                   { "If", infer_if },
                                   { "Loop", infer_loop },
                                   { "Optional", infer_optional },
                                   { "OptionalGetElement", infer_optional_get },
                                   { "OptionalHasElement", infer_optional_has },
                                   { "Scan", infer_scan },
                                   { "SequenceAt", infer_sequence_at },
                                   { "SequenceConstruct", infer_sequence_construct },
                                   { "SequenceEmpty", infer_sequence_empty },
                                   { "SequenceErase", infer_sequence_erase },
                                   { "SequenceInsert", infer_sequence_insert },
                                   { "SequenceLength", infer_sequence_length },
                                   { "SequenceMap", infer_sequence_map },
                                   { "SplitToSequence", infer_split_to_sequence },
                                   { 0 } };
