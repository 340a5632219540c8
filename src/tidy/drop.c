/* drop.c - nodes that are not needed: those whose results are not used, those that return their
 * input, those that make a layer's state of zeros, those that widen what its user widens too, masks
 * that let everything pass. */
#include "tidy/internal.h"

#include <math.h>

/* ---- their results are not used ---- */

typedef struct Live {
    Ctx *cx;
    bool *node;
    size_t n;
    bool keep_origins;
} Live; /* live nodes, by id */

static uint32_t highest_id(const Graph *g)
{
    uint32_t high = 0;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const Node *n = g->nodes.at[i];
        high = n->id > high ? n->id : high;
        for (int k = 0; k < n->n_attr; k++)
            if (n->attr[k].kind == ATTR_GRAPH) {
                uint32_t inner = highest_id(n->attr[k].g);
                high = inner > high ? inner : high;
            }
    }
    return high;
}

static void need(Live *l, Ox v)
{
    if (v && v->kind == OX_NODE && v->node->id < l->n)
        l->node[v->node->id] = true;
}

static bool makes_a_size(const Live *l, const Node *n)
{
    if (!l->keep_origins)
        return false;
    for (int k = 0; k < n->n_out; k++)
        if (dim_is_origin(n->out[k]))
            return true;
    return false;
}

/* Marks the live nodes of g. Goes from the last node to the first, so that all nodes that could
 * use a node come before it. */
static void mark(Live *l, Graph *g)
{
    for (size_t i = 0; i < g->outputs.n; i++)
        need(l, g->outputs.at[i]);
    for (size_t i = g->nodes.n; i-- > 0;) {
        Node *n = g->nodes.at[i];
        n->dead |= !l->node[n->id] && !makes_a_size(l, n);
        if (n->dead)
            continue;
        for (int k = 0; k < n->n_in; k++)
            need(l, n->in[k]);
        for (int k = 0; k < n->n_attr; k++)
            if (n->attr[k].kind == ATTR_GRAPH)
                mark(l, n->attr[k].g);
    }
}

static bool drop_dead(Graph *g, bool keep_origins)
{
    Live l = { .cx = g->cx, .n = (size_t)highest_id(g) + 1, .keep_origins = keep_origins };
    l.node = new_array(g->cx, bool, l.n);
    if (!l.node)
        return false;
    mark(&l, g);
    graph_compact(g);
    return !ctx_failed(g->cx);
}

/* Removes nodes whose results are not used. As long as sizes are not nodes yet, a value stays
 * whose size is the origin of a symbol, though no node uses it. */
bool pass_unused(Graph *g, const TidyOptions *o)
{
    (void)o;
    return drop_dead(g, true);
}
bool pass_dead(Graph *g, const TidyOptions *o)
{
    (void)o;
    return drop_dead(g, false);
}

/* ---- they return their input ---- */

bool same_shape(Ctx *cx, Ox a, Ox b)
{
    if (ox_rank(a) < 0 || ox_rank(a) != ox_rank(b) || ox_dtype(a) != ox_dtype(b))
        return false;
    for (int i = 0; i < ox_rank(a); i++)
        if (dim_eq(cx, ox_dim(a, i), ox_dim(b, i)) != YES)
            return false;
    return true;
}

static bool keeps_order(const Node *n)
{
    const int64_t *perm;
    size_t count;
    if (!node_ints(n, "perm", &perm, &count))
        return ox_rank(n->out[0]) >= 0 && ox_rank(n->out[0]) < 2;
    for (size_t i = 0; i < count; i++)
        if (perm[i] != (int64_t)i)
            return false;
    return true;
}

static bool does_not_train(Rewrite *rw, const Node *n)
{
    const int64_t *v;
    int64_t count;
    Ox training = in_of(n, 2);
    bool mask = n->n_out > 1 && uses_of(rw, n->out[1]);
    return !mask &&
        (!training || (ox_known_ints(n->graph, training, &v, &count) && count == 1 && v[0] == 0));
}

/* Is input number `input` a constant whose items are all v? The shape alone does not say that a
 * Slice or Pad changes nothing: it may reverse an axis, or crop one side and pad the other. */
static bool all_are(const Node *n, int input, int64_t v)
{
    const int64_t *x;
    int64_t count;
    if (!in_of(n, input))
        return true;
    if (!ox_known_ints(n->graph, n->in[input], &x, &count))
        return false;
    for (int64_t i = 0; i < count; i++)
        if (x[i] != v)
            return false;
    return true;
}

/* Does Resize give the size that its input has already, by `sizes`? Then every item stays in its
 * place in all modes. By `scales` it may read at other places. */
static bool keeps_size(Rewrite *rw, const Node *n)
{
    bool crops = strcmp(node_str(n, "coordinate_transformation_mode", "half_pixel"),
                        "tf_crop_and_resize") == 0;
    return !crops && !in_of(n, 2) && same_shape(rw->cx, n->in[0], n->out[0]);
}

/* Does n give its first input unchanged? A ReduceSum of no axes does not for floats: the sum of
 * -0.0 is 0.0. */
static bool is_identity(Rewrite *rw, const Node *n)
{
    static const char *const by_shape[] = { "Reshape",   "Expand",    "Flatten",   "Squeeze",
                                            "Unsqueeze", "ReduceMax", "ReduceMin", "ReduceProd" };
    static const char *const folds_of_one[] = { "Concat", "Sum", "Max", "Min", "Mean" };
    if (!n->op || n->n_in < 1 || !n->in[0])
        return false;
    if (node_is(n, "Identity"))
        return true;
    if (node_is(n, "Cast"))
        return ox_dtype(n->in[0]) == ox_dtype(n->out[0]);
    if (node_is(n, "Transpose"))
        return keeps_order(n);
    if (node_is(n, "Dropout"))
        return does_not_train(rw, n);
    if (node_is(n, "Slice"))
        return all_are(n, 4, 1) && same_shape(rw->cx, n->in[0], n->out[0]);
    if (node_is(n, "Pad"))
        return all_are(n, 1, 0);
    if (node_is(n, "Resize"))
        return keeps_size(rw, n);
    if (is_one_of(n, folds_of_one, COUNT(folds_of_one)))
        return n->n_in == 1;
    bool whole_sum = node_is(n, "ReduceSum") && dtype_is_int(ox_dtype(n->out[0]));
    return (whole_sum || is_one_of(n, by_shape, COUNT(by_shape))) &&
        same_shape(rw->cx, n->in[0], n->out[0]);
}

/* For x + 0, x - 0, x * 1, x / 1, x and true, x or false: is v a constant of which every item is
 * this number? For floats the sign of 0 counts: x + -0.0 and x - 0.0 are x, but -0.0 + 0.0 is
 * 0.0. A constant with a name is a weight and does not count. */
static bool all_items_are(Graph *g, Ox v, double wanted)
{
    int64_t n = is_const(v) && !v->k->name ? const_numel(v->k) : 0;
    if (n < 1 || n > FOLD_NUMEL || v->k->dtype == DT_STRING || dtype_is_complex(v->k->dtype))
        return false;
    bool sign = dtype_is_float(v->k->dtype);
    Ox doubles = ox_cast(g, v, DT_DOUBLE);
    const double *at = is_const(doubles) ? const_data(g->cx, doubles->k) : NULL;
    if (!at)
        return false;
    for (int64_t i = 0; i < n; i++)
        if (at[i] != wanted || (sign && !signbit(at[i]) != !signbit(wanted)))
            return false;
    return true;
}

/* The item that v, a constant which no weight goes into, repeats in all places, as a constant of
 * rank 0; NULL: it does not. */
static Ox find_repeated(Graph *g, Ox v)
{
    enum { MOST_BYTES = 4 << 20 };
    Ctx *cx = g->cx;
    const Const *k = v->k;
    size_t size = dtype_size(k->dtype);
    int64_t numel = const_numel(k);
    if (const_is_weight(k) || k->dtype == DT_STRING || dtype_is_packed(k->dtype))
        return NULL;
    if (numel < 1 || numel > MOST_BYTES / (int64_t)size)
        return NULL;
    uint8_t first[16];
    ArenaMark m = arena_mark(cx->run);
    const uint8_t *at = const_data(cx, k);
    bool same = at && memcmp(at, at + size, (size_t)(numel - 1) * size) == 0;
    if (same)
        memcpy(first, at, size);
    arena_reset(cx->run, m);
    return same ? ox_const(g, const_make(cx, k->dtype, 0, NULL, first)) : NULL;
}

/* Is v a constant of this number in all places? See all_items_are. Behind fold-weights constants
 * are large, and layers share them: rw->arg is a Map of what each of them repeats. */
static bool repeats(Rewrite *rw, Graph *g, Ox v, double wanted)
{
    Map *known = rw->arg;
    if (!known || !is_const(v))
        return all_items_are(g, v, wanted);
    if (!map_find(known, v->k))
        map_put(rw->cx, known, v->k, find_repeated(g, v));
    Ox item = map_get(known, v->k);
    return item && all_items_are(g, item, wanted);
}

/* Which of its inputs n gives unchanged; -1: none. */
static int neutral(Rewrite *rw, const Node *n)
{
    static const struct {
        const char *op;
        double with;
        bool either;
    } ops[] = {
        { "Add", -0.0, true }, { "Sub", 0, false }, { "Mul", 1, true },
        { "Div", 1, false },   { "And", 1, true },  { "Or", 0, true },
    };
    for (size_t i = 0; i < COUNT(ops); i++) {
        if (!node_is(n, ops[i].op) || n->n_in != 2)
            continue;
        if (same_shape(rw->cx, n->in[0], n->out[0]) && repeats(rw, n->graph, n->in[1], ops[i].with))
            return 0;
        if (ops[i].either && same_shape(rw->cx, n->in[1], n->out[0]) &&
            repeats(rw, n->graph, n->in[0], ops[i].with))
            return 1;
    }
    return -1;
}

/* Does n give only numbers that its input has too, or zeros? */
static bool adds_zeros(const Node *n)
{
    bool constant = strcmp(node_str(n, "mode", "constant"), "constant") == 0;
    return node_is(n, "Pad") && constant && !in_of(n, 2);
}

/* Is v all zeros? An input of zeros for the first state of a recurrent layer is left out. */
static bool all_zeros(Graph *g, Ox v)
{
    static const char *const keep[] = { "Expand",  "Slice",     "Reshape", "Unsqueeze",
                                        "Squeeze", "Transpose", "Gather" };
    if (v->kind != OX_NODE || v->out != 0)
        return all_items_are(g, v, 0);
    bool passes = adds_zeros(v->node);
    for (size_t i = 0; i < COUNT(keep); i++)
        passes |= node_is(v->node, keep[i]);
    return passes && all_zeros(g, v->node->in[0]);
}

static void drop_zero_states(Node *n)
{
    enum { NEEDED = 3, FIRST_STATE = 5, LAST_STATE = 6 }; /* initial_h, and an LSTM's initial_c */
    if (!node_is(n, "LSTM") && !node_is(n, "GRU") && !node_is(n, "RNN"))
        return;
    for (int k = FIRST_STATE; k <= LAST_STATE; k++)
        if (in_of(n, k) && all_zeros(n->graph, n->in[k]))
            n->in[k] = NULL;
    while (n->n_in > NEEDED && !n->in[n->n_in - 1])
        n->n_in--;
}

/* Concat without the inputs that have nothing along its axis. */
static bool drop_empty(Rewrite *rw, Node *n)
{
    int64_t axis = node_int(n, "axis", 0);
    int rank = ox_rank(n->out[0]);
    Ox *at = new_array(rw->cx, Ox, n->n_in);
    if (!at)
        return false;
    size_t count = 0;
    for (int i = 0; i < n->n_in; i++)
        if (rank < 1 || ox_rank(n->in[i]) != rank ||
            !dim_is(ox_dim(n->in[i], (int)(axis < 0 ? axis + rank : axis)), 0))
            at[count++] = n->in[i];
    if (count == (size_t)n->n_in || count == 0)
        return true;
    Ox y = count == 1
        ? at[0]
        : ox_make(n->graph, "Concat", (OxList){ at, count }, n->attr, (size_t)n->n_attr);
    if (ox_ok(y))
        replace(rw, n->out[0], y);
    return ox_ok(y);
}

/* How many binary digits of a whole number t holds, its sign apart; 0: not asked for. */
static int whole_digits(DType t)
{
    switch (t) {
    case DT_BOOL:     return 1;
    case DT_BFLOAT16: return 8;
    case DT_FLOAT16:  return 11;
    case DT_FLOAT:    return 24;
    case DT_DOUBLE:   return 53;
    default: return dtype_is_int(t) && !dtype_is_packed(t) ? dtype_bits(t) - dtype_is_signed(t) : 0;
    }
}

/* Is each number of type t one of type wide? */
static bool holds_all(DType wide, DType t)
{
    bool half = t == DT_FLOAT16 || t == DT_BFLOAT16;
    if (dtype_is_float(t))
        return (wide == DT_DOUBLE && (half || t == DT_FLOAT)) || (wide == DT_FLOAT && half);
    bool has_sign = dtype_is_float(wide) || dtype_is_signed(wide);
    return whole_digits(t) && whole_digits(wide) >= whole_digits(t) &&
        (!dtype_is_signed(t) || has_sign);
}

/* What n gives again, when it takes back a Cast to a type that holds it all; else NULL. ONNX
 * Runtime leaves such a pair out too, also without optimisations, and 1.31 then loses the result
 * where a branch reads it. */
static Ox cast_and_back(const Node *n)
{
    const Node *there = node_is(n, "Cast") ? made_by(n->in[0], "Cast") : NULL;
    Ox x = there ? there->in[0] : NULL;
    bool same = x && ox_dtype(x) == ox_dtype(n->out[0]);
    return same && holds_all(ox_dtype(n->in[0]), ox_dtype(x)) ? x : NULL;
}

/* An Identity goes, except where it is an output of the graph whose input cannot be one itself. */
static bool drop_identity(Rewrite *rw, Node *n)
{
    drop_zero_states(n);
    Ox before = cast_and_back(n);
    if (before) {
        replace(rw, n->out[0], before);
        return true;
    }
    int same = neutral(rw, n);
    if (same >= 0)
        replace(rw, n->out[0], n->in[same]);
    if (same >= 0 || !is_identity(rw, n))
        return same >= 0 || !node_is(n, "Concat") || drop_empty(rw, n);
    bool can_carry = n->in[0]->kind == OX_NODE && n->in[0]->graph == n->graph && !n->in[0]->name;
    if (!node_is(n, "Identity") || !n->out[0]->name || can_carry)
        replace(rw, n->out[0], n->in[0]);
    return true;
}

bool pass_identities(Graph *g, const TidyOptions *o) { return rewrite(g, o, drop_identity, NULL); }

/* ---- an Expand before what broadcasts ---- */

/* Does n widen its inputs to a common shape, as numpy does? Only the usual operators: Max, Min, Sum
 * and Mean take any number of inputs. */
static bool broadcasts(const Node *n)
{
    static const char *const ops[] = { "Add",
                                       "Sub",
                                       "Mul",
                                       "Div",
                                       "Pow",
                                       "And",
                                       "Or",
                                       "Xor",
                                       "Equal",
                                       "Less",
                                       "Greater",
                                       "LessOrEqual",
                                       "GreaterOrEqual",
                                       "Where" };
    for (size_t i = 0; i < COUNT(ops); i++)
        if (node_is(n, ops[i]))
            return true;
    return false;
}

/* Has v the size d on this axis, counted from the end: -1 is the last? */
static bool has_size(Ctx *cx, Ox v, int from_end, Dim d)
{
    int axis = ox_rank(v) + from_end;
    return axis >= 0 && dim_eq(cx, ox_dim(v, axis), d) == YES;
}

/* Do these inputs broadcast to the shape of y, one of them on each axis? */
static bool makes_shape(Ctx *cx, const Ox *in, int n, Ox y)
{
    for (int i = 0; i < n; i++)
        if (ox_rank(in[i]) < 0)
            return false;
    for (int from_end = -ox_rank(y); from_end < 0; from_end++) {
        bool found = false;
        for (int i = 0; i < n && !found; i++)
            found = has_size(cx, in[i], from_end, ox_dim(y, ox_rank(y) + from_end));
        if (!found)
            return false;
    }
    return true;
}

enum { MOST_OPERANDS = 3 };

/* in[] becomes n's inputs, an Expand's input in place of each Expand that the others make
 * unnecessary: Where(c, Expand(x), y) gives c, x, y. False: there is none. */
static bool without_expands(Ctx *cx, const Node *n, Ox *in)
{
    bool any = false;
    for (int i = 0; i < n->n_in; i++)
        in[i] = n->in[i];
    for (int i = 0; i < n->n_in; i++) {
        Ox wide = in[i];
        Node *expand = made_by(wide, "Expand");
        if (!expand)
            continue;
        in[i] = expand->in[0];
        if (makes_shape(cx, in, n->n_in, n->out[0]))
            any = true;
        else
            in[i] = wide;
    }
    return any;
}

/* Add(x, Expand(y)) -> Add(x, y) where x and y alone give the sum's shape. */
static bool drop_expand(Rewrite *rw, Node *n)
{
    Ox in[MOST_OPERANDS];
    if (!broadcasts(n) || n->n_in > MOST_OPERANDS || ox_rank(n->out[0]) < 0)
        return true;
    if (!without_expands(rw->cx, n, in))
        return true;
    OxList operands = { in, (size_t)n->n_in };
    Ox y = ox_make(n->graph, n->name->s, operands, n->attr, (size_t)n->n_attr);
    if (ox_ok(y))
        replace(rw, n->out[0], y);
    return ox_ok(y);
}

bool pass_expands(Graph *g, const TidyOptions *o)
{
    return !graph_has(g, "Expand") || rewrite(g, o, drop_expand, NULL);
}

/* ---- a mask that lets everything pass ---- */

/* Softmax(x + 0) -> Softmax(x): the sign of a 0, which x + 0 may change, is not seen there. */
static bool drop_zeros_before_softmax(Rewrite *rw, Node *n)
{
    Node *sum = made_by(n->in[0], "Add");
    if (!sum)
        return true;
    for (int i = 0; i < 2; i++) {
        Ox x = sum->in[i];
        if (!same_shape(rw->cx, x, n->in[0]) || !repeats(rw, n->graph, sum->in[1 - i], 0))
            continue;
        Ox y = ox_make(n->graph, "Softmax", INPUTS(x), n->attr, (size_t)n->n_attr);
        if (ox_ok(y))
            replace(rw, n->out[0], y);
        return ox_ok(y);
    }
    return true;
}

/* Where(true, x, y) -> x where y widens nothing, Where(false, x, y) -> y. */
static void drop_choice(Rewrite *rw, const Node *n)
{
    for (int side = 1; side <= 2; side++)
        if (same_shape(rw->cx, n->in[side], n->out[0]) &&
            repeats(rw, n->graph, n->in[0], side == 1))
            replace(rw, n->out[0], n->in[side]);
}

/* Attention(q, k, v, mask) without a mask that adds 0, or of bools that are all true. */
static void drop_attention_mask(Rewrite *rw, Node *n)
{
    enum { MASK = 3 };
    Ox mask = in_of(n, MASK);
    if (!mask || !repeats(rw, n->graph, mask, ox_dtype(mask) == DT_BOOL))
        return;
    n->in[MASK] = NULL;
    while (n->n_in > MASK && !n->in[n->n_in - 1])
        n->n_in--;
}

static bool drop_mask(Rewrite *rw, Node *n)
{
    int same = neutral(rw, n);
    if (same >= 0)
        replace(rw, n->out[0], n->in[same]);
    else if (node_is(n, "Softmax"))
        return drop_zeros_before_softmax(rw, n);
    else if (node_is(n, "Where"))
        drop_choice(rw, n);
    else if (node_is(n, "Attention"))
        drop_attention_mask(rw, n);
    return !ctx_failed(rw->cx);
}

/* What a program computes of sizes alone is a constant behind fold-weights. */
bool pass_masks(Graph *g, const TidyOptions *o)
{
    Map repeated = { 0 };
    return rewrite(g, o, drop_mask, &repeated);
}
