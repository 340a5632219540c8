/* legal_parts.c - cutting and joining before opsets 10 (Slice with steps, or with bounds that data
 * tells), 11 (Pad of integers), 12 (the last of equal items, Einsum) and 13 (Split into
 * unknown sizes), and a list of bools as a sequence.
 *
 * One idea: what an older operator has no words for is named item by item, as a Gather of
 * counts. */
#include "tidy/legal/legal.h"

/* ---- Slice ---- */

/* Slice as a Gather of the items that it takes, where they are known. */
static Verdict items_of_slice(Legal *l, Node *n, Ox *out)
{
    enum { MOST = 65536 };
    Graph *g = n->graph;
    Ox x = n->in[0];
    const int64_t *start, *axes = NULL, *steps;
    int64_t count, others;
    if (!ox_known_ints(g, n->in[4], &steps, &count) ||
        !ox_known_ints(g, n->in[1], &start, &others) ||
        (in_of(n, 3) && !ox_known_ints(g, n->in[3], &axes, &others)))
        return AS_IT_IS;
    int64_t axis[MAX_RANK], from[MAX_RANK], kept[MAX_RANK];
    for (int64_t i = 0; i < count; i++) {
        int64_t extent;
        axis[i] = axes ? axes[i] : i;
        axis[i] += axis[i] < 0 ? ox_rank(x) : 0;
        if (!dim_known(ox_dim(x, (int)axis[i]), &extent) ||
            !dim_known(ox_dim(n->out[0], (int)axis[i]), &kept[i]) || kept[i] > MOST)
            return AS_IT_IS;
        from[i] = start[i] < 0 ? start[i] + extent : start[i];
        int64_t last = steps[i] < 0 ? extent - 1 : extent;
        if (from[i] < 0)
            from[i] = 0;
        else if (from[i] > last)
            from[i] = last;
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t *items = new_array(l->cx, int64_t, kept[i] + 1);
        if (!items)
            return REFUSED;
        for (int64_t k = 0; k < kept[i]; k++)
            items[k] = from[i] + k * steps[i];
        x = ox_g_with(g, "Gather", INPUTS(x, ox_ints(g, items, (size_t)kept[i])),
                      INT("axis", axis[i]));
    }
    out[0] = x;
    return CHANGED;
}

/* A bound of a Slice, counted from the front and clamped to low..high, to high where that is below
 * low: backwards from the last item of none. */
static Ox bound(Graph *g, Ox at, Ox size, Ox low, Ox high)
{
    Ox below = ox_g(g, "Less", at, ox_int(g, 0));
    Ox wrapped = ox_g(g, "Add", at, size);
    Ox from = ox_g(g, "Where", below, wrapped, at);
    Ox least = ox_g(g, "Max", from, low);
    return ox_g(g, "Min", least, high);
}

/* Item i of a list of numbers, as int64[1]. */
static Ox item(Graph *g, Ox list, int64_t i)
{
    Ox v = ox_g_with(g, "Gather", INPUTS(list, ox_int(g, i)), INT("axis", 0));
    return ox_cast(g, v, DT_INT64);
}

static Ox part_of_axis(Graph *g, Ox x, int axis, Ox start, Ox end, int64_t step)
{
    Ox size = ox_dim_value(g, ox_dim(x, axis));
    Ox zero = ox_int(g, 0);
    Ox last = step < 0 ? ox_g(g, "Sub", size, ox_int(g, 1)) : size;
    Ox from = bound(g, start, size, zero, last);
    Ox to = bound(g, end, size, step < 0 ? ox_int(g, -1) : zero, last);
    Ox items = ox_g(g, "Range", from, to, ox_int(g, step));
    return ox_g_with(g, "Gather", INPUTS(x, items), INT("axis", axis));
}

/* Slice before 10 has no steps, and its bounds are attributes. */
Verdict legal_slice(Legal *l, Node *n, Ox *out)
{
    Graph *g = n->graph;
    Ox x = n->in[0];
    const int64_t *start, *end;
    const int64_t *axes = NULL;
    const int64_t *steps = NULL;
    int64_t count, others;
    bool known = ox_known_ints(g, n->in[1], &start, &others) &&
        ox_known_ints(g, n->in[2], &end, &others);
    bool stepped = false;
    if (ox_rank(x) < 0 || ox_rank(n->in[1]) != 1 || !dim_known(ox_dim(n->in[1], 0), &count) ||
        (in_of(n, 3) && !ox_known_ints(g, n->in[3], &axes, &others)) ||
        (in_of(n, 4) && !ox_known_ints(g, n->in[4], &steps, &others)))
        return AS_IT_IS;
    if (steps)
        for (int64_t i = 0; i < count; i++)
            stepped |= steps[i] != 1;
    if (known && (!stepped || items_of_slice(l, n, out) == CHANGED))
        return stepped ? CHANGED : AS_IT_IS;
    for (int64_t i = 0; i < count; i++) {
        int64_t axis = axes ? axes[i] : i;
        axis += axis < 0 ? ox_rank(x) : 0;
        int64_t step = steps ? steps[i] : 1;
        Ox from = item(g, n->in[1], i);
        Ox to = item(g, n->in[2], i);
        x = part_of_axis(g, x, (int)axis, from, to, step);
        if (!ox_ok(x))
            return REFUSED;
    }
    out[0] = x;
    return CHANGED;
}

/* ---- Split ---- */

/* Split<num_outputs> of a dynamic axis before 18: all parts but the last are of one size, and no
 * part is larger than what is left. */
static Verdict split_evenly(Node *n, int axis, Ox *out)
{
    Graph *g = n->graph;
    Ctx *cx = g->cx;
    int64_t parts = node_int(n, "num_outputs", 0), extent;
    Dim whole = ox_dim(n->in[0], axis), each;
    if (dim_known(whole, &extent) || parts < 1 || parts > n->n_out ||
        dim_divide(cx, whole, dim_int(cx, parts), &each))
        return AS_IT_IS;
    Dim *sizes = new_array(cx, Dim, parts);
    if (!sizes)
        return REFUSED;
    each = dim_ceildiv(cx, whole, dim_int(cx, parts));
    for (int64_t i = 0; i < parts; i++) {
        Dim left = dim_sub(cx, whole, dim_mul(cx, each, dim_int(cx, i)));
        sizes[i] = dim_max(cx, dim_min(cx, left, each), dim_int(cx, 0));
    }
    if (!ox_make_n(g, "Split", INPUTS(n->in[0], ox_dims(g, sizes, (size_t)parts)),
                   ATTRS(INT("axis", axis)), out, (size_t)n->n_out))
        return REFUSED;
    return CHANGED;
}

/* Split before 13 has its sizes as an attribute: a Slice for each part. */
Verdict legal_split(Legal *l, Node *n, Ox *out)
{
    Graph *g = n->graph;
    const int64_t *sizes;
    int64_t count, axis = node_int(n, "axis", 0);
    Ox x = n->in[0];
    Ox each = in_of(n, 1);
    if (ox_rank(x) < 0)
        return AS_IT_IS;
    axis += axis < 0 ? ox_rank(x) : 0;
    if (node_has(n, "num_outputs"))
        return split_evenly(n, (int)axis, out);
    if (l->target >= 13 || !each || ox_known_ints(g, each, &sizes, &count))
        return AS_IT_IS;
    Ox from = one_axis(g, 0);
    for (int i = 0; i < n->n_out; i++) {
        Ox size = ox_g_with(g, "Gather", INPUTS(each, one_axis(g, i)), INT("axis", 0));
        Ox to = ox_g(g, "Add", from, size);
        out[i] = ox_g(g, "Slice", x, from, to, one_axis(g, axis));
        from = to;
    }
    return CHANGED;
}

/* Is x a carried output of a Loop, which grows from iteration to iteration, and not a scan
 * output? */
static bool is_carried(Ox x)
{
    return x->kind == OX_NODE && node_is(x->node, "Loop") && x->out < x->node->n_in - 2;
}

/* A list of bools that a Loop has grown, as a sequence: a second Loop inserts the items one by
 * one, since ONNX Runtime before 1.17 does not split bools into a sequence. This costs little
 * beside the first Loop, which copied all items in each iteration. A Loop of sequences needs
 * opset 13. */
Verdict legal_split_to_sequence(Legal *l, Node *n, Ox *out)
{
    Graph *g = n->graph;
    Ctx *cx = l->cx;
    Ox x = n->in[0];
    if (!l->ort || l->target < 13 || ox_dtype(x) != DT_BOOL || ox_rank(x) < 1 || in_of(n, 1) ||
        node_int(n, "axis", 0) || node_int(n, "keepdims", 1) || !is_carried(x))
        return AS_IT_IS;
    Ox iterations = ox_dim_value(g, ox_dim(x, 0));
    Ox none = ox_make(g, "SequenceEmpty", (OxList){ NULL, 0 }, ATTRS(INT("dtype", DT_BOOL)));
    if (!ox_ok(iterations) || !ox_ok(none))
        return REFUSED;
    Graph *body = graph_new(cx, g, NULL);
    Ox k = graph_input(body, NULL, type_tensor(cx, DT_INT64, 0, NULL));
    Ox go = graph_input(body, NULL, type_tensor(cx, DT_BOOL, 0, NULL));
    Ox before = graph_input(body, NULL, n->out[0]->type);
    Ox one = ox_g_with(body, "Gather", INPUTS(x, k), INT("axis", 0));
    Ox after = ox_g(body, "SequenceInsert", before, one);
    Ox goes = ox_g(body, "Identity", go);
    graph_output(body, goes, NULL);
    graph_output(body, after, NULL);
    out[0] = ox_make(g, "Loop", INPUTS(iterations, NULL, none), ATTRS(SUBGRAPH("body", body)));
    return CHANGED;
}

/* ---- Pad ---- */

/* Is it zeros that n pads, or may it be? */
static bool pads_zeros(const Node *n)
{
    double v = 0;
    Ox with = in_of(n, 2);
    return node_is(n, "Pad") && strcmp(node_str(n, "mode", "constant"), "constant") == 0 &&
        !(with && ox_known_scalar(n->graph, with, &v) && v != 0);
}

/* The same Pad with the axes that it pads as an input. NULL: before opset 18, and where the axes
 * are named already or the numbers are not known. */
static Ox pad_of_axes(const Legal *l, const Node *n)
{
    Graph *g = n->graph;
    const int64_t *pads;
    int64_t axes[MAX_RANK], of_axes[2 * MAX_RANK];
    int64_t count;
    int rank = ox_rank(n->in[0]);
    size_t padded = 0;
    if (l->target < 18 || in_of(n, 3) || rank < 0 || !ox_known_ints(g, n->in[1], &pads, &count) ||
        count != 2 * rank)
        return NULL;
    for (int i = 0; i < rank; i++)
        if (pads[i] || pads[rank + i])
            axes[padded++] = i;
    for (size_t i = 0; i < padded; i++) {
        of_axes[i] = pads[axes[i]];
        of_axes[padded + i] = pads[rank + axes[i]];
    }
    Ox each = ox_ints(g, of_axes, 2 * padded);
    return ox_make(g, "Pad", INPUTS(n->in[0], each, in_of(n, 2), ox_ints(g, axes, padded)), n->attr,
                   (size_t)n->n_attr);
}

static bool own_padding(const Node *n)
{
    const int64_t *pads;
    size_t count = 0;
    if (!node_ints(n, "pads", &pads, &count))
        return false;
    for (size_t i = 0; i < count; i++)
        if (pads[i])
            return true;
    return false;
}

/* n's attributes with auto_pad="VALID" in place of padding by numbers; their count, or 0 without
 * memory. */
static size_t valid_attrs(Legal *l, const Node *n, Attr **out)
{
    Attr *attr = new_array(l->cx, Attr, n->n_attr + 1);
    size_t count = 0;
    *out = attr;
    if (!attr)
        return 0;
    for (int i = 0; i < n->n_attr; i++)
        if (strcmp(n->attr[i].name, "pads") != 0 && strcmp(n->attr[i].name, "auto_pad") != 0)
            attr[count++] = n->attr[i];
    attr[count++] = STRING("auto_pad", str_of(l->cx, "VALID"));
    return count;
}

/* May the zeros that `pad` puts around an image become padding of the average over it? A window may
 * not lie in padding alone, and with padding of its own, or windows that begin in it, other
 * elements are counted. */
static bool averages_alike(const Node *pad, const Node *n)
{
    const int64_t *pads, *size;
    int64_t count;
    size_t axes;
    if (own_padding(n) || node_int(n, "ceil_mode", 0) || !in_of(pad, 1) || in_of(pad, 3) ||
        !ox_known_ints(n->graph, pad->in[1], &pads, &count) ||
        !node_ints(n, "kernel_shape", &size, &axes) || count != 2 * ((int64_t)axes + 2))
        return false;
    for (size_t i = 0; i < axes; i++)
        if (pads[i + 2] >= size[i] || pads[axes + 4 + i] >= size[i])
            return false;
    return true;
}

/* The maximum over padded zeros: ONNX Runtime 1.31's Pad_Fusion makes them padding of the MaxPool,
 * which is the least number, and of an AveragePool that may not have it. It leaves alone a pooling
 * whose auto_pad is set and a Pad that names its axes. */
Verdict legal_pool(Legal *l, Node *n, Ox *out)
{
    Ox x = n->in[0];
    bool not_set = strcmp(node_str(n, "auto_pad", "NOTSET"), "NOTSET") == 0;
    Attr *attr = n->attr;
    size_t n_attr = (size_t)n->n_attr;
    if (!not_set || x->kind != OX_NODE || !pads_zeros(x->node) ||
        (node_is(n, "AveragePool") && averages_alike(x->node, n)))
        return AS_IT_IS;
    if (own_padding(n) || node_int(n, "ceil_mode", 0))
        x = pad_of_axes(l, x->node);
    else
        n_attr = valid_attrs(l, n, &attr);
    if (!x)
        return AS_IT_IS;
    if (!attr || !ox_make_n(n->graph, n->op->name, INPUTS(x), attr, n_attr, out, (size_t)n->n_out))
        return REFUSED;
    return CHANGED;
}

/* Is `with`, or 0 where it is NULL, a float32 as Pad holds it before 11, and t a float or cast to
 * one (legal_types.c: those integers that a double holds)? */
static bool float_pads(Graph *g, DType t, Ox with)
{
    double value = 0;
    if (t == DT_INT64 || (with && !ox_known_scalar(g, with, &value)))
        return false;
    return (double)(float)value == value || value != value;
}

/* Pad has its number as an input, and takes integers, from 11 on. Before, blocks are put beside x
 * where the number is not one that it holds. */
Verdict legal_pad(Legal *l, Node *n, Ox *out)
{
    (void)l;
    Graph *g = n->graph;
    Ctx *cx = g->cx;
    Ox x = n->in[0];
    Ox with = in_of(n, 2);
    const int64_t *pads, *axes = NULL;
    int64_t count, others;
    bool constant = strcmp(node_str(n, "mode", "constant"), "constant") == 0;
    if (!constant || float_pads(g, ox_dtype(x), with) || ox_rank(x) < 0 ||
        !ox_known_ints(g, n->in[1], &pads, &count) ||
        (in_of(n, 3) && !ox_known_ints(g, n->in[3], &axes, &others)))
        return AS_IT_IS;
    with = with ? ox_g(g, "Reshape", with, ox_ints(g, NULL, 0)) : ox_number(g, ox_dtype(x), 0);
    for (int64_t i = 0; i < count; i++) {
        int64_t axis = axes ? axes[i % (count / 2)] : i % (count / 2);
        bool behind = i >= count / 2;
        axis += axis < 0 ? ox_rank(x) : 0;
        if (pads[i] == 0 || !ox_ok(x))
            continue;
        if (pads[i] < 0) {
            Ox from = one_axis(g, behind ? 0 : -pads[i]);
            Ox to = one_axis(g, behind ? pads[i] : INT64_MAX);
            x = ox_g(g, "Slice", x, from, to, one_axis(g, axis));
            continue;
        }
        Dim dims[MAX_RANK];
        for (int k = 0; k < ox_rank(x); k++)
            dims[k] = k == axis ? dim_int(cx, pads[i]) : ox_dim(x, k);
        Ox block = ox_g(g, "Expand", with, ox_dims(g, dims, (size_t)ox_rank(x)));
        x = ox_g_with(g, "Concat", behind ? INPUTS(x, block) : INPUTS(block, x), INT("axis", axis));
    }
    out[0] = x;
    return CHANGED;
}

/* ---- ArgMax ---- */

/* ArgMax and ArgMin with select_last_index before 12: the last of equal items is the first one
 * of the reversed axis. Their axis is counted from the front, as that of a reduction is. */
Verdict legal_arg(Legal *l, Node *n, Ox *out)
{
    Graph *g = n->graph;
    Ox x = n->in[0];
    int rank = ox_rank(x);
    int64_t axis = node_int(n, "axis", 0);
    bool last_index = node_int(n, "select_last_index", 0);
    bool of_last = last_index && l->target < 12;
    if (rank < 1 || (axis >= 0 && !of_last))
        return AS_IT_IS;
    axis += axis < 0 ? rank : 0;
    if (!of_last) {
        out[0] = ox_g_with(g, n->op->name, INPUTS(x), INT("axis", axis),
                           INT("keepdims", node_int(n, "keepdims", 1)),
                           last_index ? INT("select_last_index", 1) : NO_ATTR);
        return CHANGED;
    }
    Ox size = ox_dim_value(g, ox_dim(x, (int)axis));
    Ox last = ox_g(g, "Sub", size, ox_int(g, 1));
    Ox back = ox_g(g, "Range", last, ox_int(g, -1), ox_int(g, -1));
    Ox turned = ox_g_with(g, "Gather", INPUTS(x, back), INT("axis", axis));
    Ox at = ox_g_with(g, n->op->name, INPUTS(turned), INT("axis", axis),
                      INT("keepdims", node_int(n, "keepdims", 1)));
    out[0] = ox_g(g, "Sub", last, at);
    return CHANGED;
}

/* ---- Einsum ---- */

typedef struct Letters {
    char all[MAX_RANK + 1];
    int n_out, n;
} Letters; /* the letters of the result, then those that are summed */

static int place_of(const Letters *t, char c)
{
    const char *at = c ? strchr(t->all, c) : NULL;
    return at ? (int)(at - t->all) : -1;
}

/* Reads an equation like "ij,jk->ik". False: it has spaces, an ellipsis, or a letter twice in
 * one operand. */
static bool read_letters(const char *equation, Letters *t)
{
    const char *arrow = strstr(equation, "->");
    if (!arrow || strpbrk(equation, " .") || strlen(arrow + 2) > MAX_RANK)
        return false;
    memset(t, 0, sizeof *t);
    strcpy(t->all, arrow + 2);
    t->n = t->n_out = (int)strlen(t->all);
    for (const char *c = equation, *operand = c; c < arrow; c++) {
        if (*c == ',') {
            operand = c + 1;
            continue;
        }
        if (memchr(operand, *c, (size_t)(c - operand)))
            return false;
        if (place_of(t, *c) < 0 && t->n == MAX_RANK)
            return false;
        if (place_of(t, *c) < 0)
            t->all[t->n++] = *c;
    }
    return true;
}

/* x with an axis for each of all letters, of size 1 for a letter that x does not have. */
static Ox spread(Graph *g, Ox x, const char *letters, int rank, const Letters *t)
{
    int64_t perm[MAX_RANK], missing[MAX_RANK];
    size_t n_missing = 0;
    int n = 0;
    for (int i = 0; i < t->n; i++) {
        const char *at = memchr(letters, t->all[i], (size_t)rank);
        if (at)
            perm[n++] = at - letters;
        else
            missing[n_missing++] = i;
    }
    Ox turned = rank ? ox_g_with(g, "Transpose", INPUTS(x), INT_LIST("perm", perm, (size_t)rank))
                     : x;
    return n_missing ? ox_g(g, "Unsqueeze", turned, ox_ints(g, missing, n_missing)) : turned;
}

/* Einsum before 12: the product of all operands over all letters, summed over those that the
 * result does not have. */
Verdict legal_einsum(Legal *l, Node *n, Ox *out)
{
    Graph *g = n->graph;
    Letters t;
    const char *equation = node_str(n, "equation", "");
    const char *letters = equation;
    int64_t summed[MAX_RANK];
    if (!read_letters(equation, &t))
        return AS_IT_IS;
    Ox product = NULL;
    for (int i = 0; i < n->n_in; i++) {
        int rank = (int)strcspn(letters, ",-");
        if (ox_rank(n->in[i]) != rank)
            return AS_IT_IS;
        Ox x = spread(g, n->in[i], letters, rank, &t);
        product = product ? ox_g(g, "Mul", product, x) : x;
        letters += rank + 1;
    }
    for (int i = t.n_out; i < t.n; i++)
        summed[i - t.n_out] = i;
    if (t.n > t.n_out)
        product = ox_g_with(g, "ReduceSum",
                            INPUTS(product, ox_ints(g, summed, (size_t)(t.n - t.n_out))),
                            INT("keepdims", 0));
    out[0] = product;
    if (n->n_in > 1 && t.n > t.n_out)
        note(l->cx, NOTE_CHANGED,
             "Einsum \"%s\" is a sum of all products: opset 12 has it in one node", equation);
    return CHANGED;
}
