/* forms.c - operators whose spelling changed over the opsets: attributes that became inputs, and
 * attributes that came later.
 *
 * One table serves both ways. form_lower takes a node from the newest form to the target's, in
 * place and without making nodes; form_lift emits a user's fragment, written in the target's form,
 * as newest nodes. What an older form cannot say is refused with the opset that can. Changes of
 * meaning (Softmax before 13) are tidy/legal/legalise.c's, not ours. */
#include "onnx/edit.h"
#include "onnx/internal.h"

#include <stdlib.h>

typedef enum {
    AS_INTS,   /* 1-D int64 */
    AS_INT,    /* one int: 0-d, or the only item */
    AS_INT_1D, /* one int that the input carries as a 1-D tensor */
    AS_FLOAT,  /* one number of the first input's type */
    AS_ONES,   /* an input that the old form lacks: it must be all ones */
} FormKind;

/* `attr` became input `input` of `op` at opset `since`. */
typedef struct FormRow {
    const char *op;
    int since;
    const char *attr;
    int input;
    FormKind kind;
} FormRow;

static const FormRow form_rows[] = {
    { "Clip", 11, "min", 1, AS_FLOAT },         { "Clip", 11, "max", 2, AS_FLOAT },
    { "DFT", 20, "axis", 2, AS_INT },           { "Dropout", 12, "ratio", 1, AS_FLOAT },
    { "Pad", 11, "pads", 1, AS_INTS },          { "Pad", 11, "value", 2, AS_FLOAT },
    { "ReduceL1", 18, "axes", 1, AS_INTS },     { "ReduceL2", 18, "axes", 1, AS_INTS },
    { "ReduceLogSum", 18, "axes", 1, AS_INTS }, { "ReduceLogSumExp", 18, "axes", 1, AS_INTS },
    { "ReduceMax", 18, "axes", 1, AS_INTS },    { "ReduceMean", 18, "axes", 1, AS_INTS },
    { "ReduceMin", 18, "axes", 1, AS_INTS },    { "ReduceProd", 18, "axes", 1, AS_INTS },
    { "ReduceSum", 13, "axes", 1, AS_INTS },    { "ReduceSumSquare", 18, "axes", 1, AS_INTS },
    { "Slice", 10, "starts", 1, AS_INTS },      { "Slice", 10, "ends", 2, AS_INTS },
    { "Slice", 10, "axes", 3, AS_INTS },        { "Slice", 10, "steps", 4, AS_ONES },
    { "Split", 13, "split", 1, AS_INTS },       { "Squeeze", 13, "axes", 1, AS_INTS },
    { "TopK", 10, "k", 1, AS_INT_1D },          { "Unsqueeze", 13, "axes", 1, AS_INTS },
};

/* ---- refusing ---- */

/* The PyTorch operator that a node came from, as users search for it; the ONNX name for a node from
 * nowhere. */
static Str origin_op(Ctx *cx, const Node *n)
{
    SourceId at = n->at;
    for (const Place *p = place(cx, at); p; p = place_up(cx, &at))
        if (p->kind == WHERE_OP)
            return p->name;
    return n->name;
}

static bool needs_opset(Node *n, int opset, int target, const char *what)
{
    Ctx *cx = node_cx(n);
    refuse(cx, n->at, origin_op(cx, n), "%s needs ONNX opset %d, the target is %d", what, opset,
           target);
    refuse_opset(cx, opset);
    return false;
}

static bool op_is(const Node *n, const char *op) { return node_is(n, op); }

/* ---- changing a node ---- */

static void drop_attr(Node *n, const char *attr)
{
    int kept = 0;
    for (int i = 0; i < n->n_attr; i++)
        if (strcmp(n->attr[i].name, attr) != 0)
            n->attr[kept++] = n->attr[i];
    n->n_attr = kept;
}

void node_set_attr(Node *n, Attr a)
{
    Ctx *cx = node_cx(n);
    drop_attr(n, a.name);
    Attr *more = new_array(cx, Attr, n->n_attr + 1);
    if (!more)
        return;
    if (n->n_attr)
        memcpy(more, n->attr, (size_t)n->n_attr * sizeof(Attr));
    more[n->n_attr++] = a;
    n->attr = more;
}

static void set_in(Node *n, int i, Ox v)
{
    Ctx *cx = node_cx(n);
    if (i >= n->n_in) {
        Ox *more = new_array(cx, Ox, i + 1);
        if (!more)
            return;
        if (n->n_in)
            memcpy(more, n->in, (size_t)n->n_in * sizeof(Ox));
        n->in = more;
        n->n_in = i + 1;
    }
    n->in[i] = v;
    while (n->n_in > 0 && !n->in[n->n_in - 1])
        n->n_in--;
}

static void drop_in(Node *n, int i)
{
    if (i < n->n_in)
        set_in(n, i, NULL);
}

/* ---- one attribute, down and up ---- */

static bool are_ones(const int64_t *v, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (v[i] != 1)
            return false;
    return true;
}

/* The row's input, of known ints, as its attribute; refused where they are not known, or where an
 * older form means ones and they are others. */
static bool lower_ints(Node *n, const FormRow *r, int target)
{
    Ctx *cx = node_cx(n);
    const int64_t *v;
    int64_t count;
    if (!ox_known_ints(n->graph, n->in[r->input], &v, &count))
        return needs_opset(n, r->since, target,
                           str_fmt(cx, "%s whose %s are not known", r->op, r->attr)->s);
    if (r->kind == AS_ONES && !are_ones(v, count))
        return needs_opset(n, r->since, target,
                           str_fmt(cx, "%s with %s other than 1", r->op, r->attr)->s);
    if (r->kind == AS_ONES)
        return true;
    if (r->kind == AS_INTS) {
        int64_t *own = mem_copy(cx, v, (size_t)count * sizeof *v);
        if (!own)
            return false;
        node_set_attr(n, INT_LIST(r->attr, own, (size_t)count));
        return true;
    }
    if (count != 1)
        return fail(cx, E_BUG, "%s: %s has %lld items", r->op, r->attr, (long long)count);
    node_set_attr(n, INT(r->attr, v[0]));
    return true;
}

static bool lower_float(Node *n, const FormRow *r, int target)
{
    double v;
    if (!ox_known_scalar(n->graph, n->in[r->input], &v))
        return needs_opset(n, r->since, target,
                           str_fmt(node_cx(n), "%s whose %s is not known", r->op, r->attr)->s);
    node_set_attr(n, FLOAT(r->attr, v));
    return true;
}

static bool lower_row(Node *n, const FormRow *r, int target)
{
    if (!node_in(n, r->input))
        return true;
    if (!(r->kind == AS_FLOAT ? lower_float(n, r, target) : lower_ints(n, r, target)))
        return false;
    drop_in(n, r->input);
    return true;
}

static Ox lift_row(Graph *g, const FormRow *r, const Attr *a, Ox like)
{
    switch (r->kind) {
    case AS_INTS:   return a->kind == ATTR_INTS ? ox_ints(g, a->ints, a->n) : NULL;
    case AS_INT:    return a->kind == ATTR_INT ? ox_int(g, a->i) : NULL;
    case AS_INT_1D: return a->kind == ATTR_INT ? ox_ints(g, &a->i, 1) : NULL;
    case AS_FLOAT:
        if (like && a->kind == ATTR_FLOAT)
            return ox_number(g, ox_dtype(like), a->f);
        if (like && a->kind == ATTR_INT)
            return ox_integer(g, ox_dtype(like), a->i);
        return NULL;
    case AS_ONES: return NULL;
    }
    return NULL;
}

/* ---- attributes that came later ---- */

/* dilations and strides are ones where nothing is said */
static bool are_usual_steps(const Attr *a)
{
    bool ones = a->kind == ATTR_INTS &&
        (strcmp(a->name, "dilations") == 0 || strcmp(a->name, "strides") == 0);
    for (size_t i = 0; ones && i < a->n; i++)
        ones = a->ints[i] == 1;
    return ones;
}

static bool says_default(Ctx *cx, const OpVersion *v, const Attr *a)
{
    const FormalAttr *formal = onnx_attr(v, a->name);
    return formal && (are_usual_steps(a) || onnx_says_default(cx, formal, a));
}

static int first_with_attr(const OnnxOp *op, const char *attr)
{
    for (int i = 0; i < op->n_version; i++)
        if (onnx_attr(&op->version[i], attr))
            return op->version[i].since;
    return 0;
}

/* Attributes that the target does not have: dropped where they say the default, refused where they
 * say more. */
static bool drop_later_attrs(Node *n, int target)
{
    const OpVersion *old = onnx_version(n->op, target);
    const OpVersion *newest = onnx_version(n->op, ONNX_NEWEST);
    for (int i = 0; i < n->n_attr;) {
        const Attr *a = &n->attr[i];
        if (onnx_attr(old, a->name)) {
            i++;
        } else if (says_default(node_cx(n), newest, a)) {
            drop_attr(n, a->name);
        } else {
            int since = first_with_attr(n->op, a->name);
            return needs_opset(n, since ? since : ONNX_NEWEST, target,
                               str_fmt(node_cx(n), "%s with %s", n->op->name, a->name)->s);
        }
    }
    return true;
}

/* Before opset 11 most operators have no negative axes. Those of Unsqueeze count in its result. */
static void wrap_axes(Node *n)
{
    Ox x = node_in(n, 0);
    if (!x || ox_rank(x) < 0)
        return;
    const Attr *axes = node_attr(n, "axes");
    int rank = ox_rank(x);
    if (axes && op_is(n, "Unsqueeze"))
        rank += (int)axes->n;
    for (int i = 0; i < n->n_attr; i++) {
        Attr *a = &n->attr[i];
        if (a->kind == ATTR_INT && strcmp(a->name, "axis") == 0 && a->i < 0)
            a->i += rank;
        if (a->kind == ATTR_INTS && strcmp(a->name, "axes") == 0) {
            int64_t *v = mem_copy(node_cx(n), a->ints, a->n * sizeof *v);
            if (!v)
                return;
            for (size_t k = 0; k < a->n; k++)
                v[k] += v[k] < 0 ? rank : 0;
            a->ints = v;
        }
    }
}

/* ---- operators with a change of their own; each is called before the table's rows ---- */

/* Pad's axes input (18): pads for all axes instead. */
static bool lower_pad(Node *n, int target)
{
    Ox axes = node_in(n, 3);
    if (target >= 18 || !axes)
        return true;
    const int64_t *at, *pads;
    int64_t n_axes, n_pads;
    int rank = ox_rank(n->in[0]);
    if (rank < 0 || !ox_known_ints(n->graph, axes, &at, &n_axes) ||
        !ox_known_ints(n->graph, n->in[1], &pads, &n_pads) || n_pads != 2 * n_axes)
        return needs_opset(n, 18, target, "Pad of axes that are not known");
    int64_t all[2 * MAX_RANK] = { 0 };
    for (int64_t i = 0; i < n_axes; i++) {
        int64_t axis = at[i] < 0 ? at[i] + rank : at[i];
        if (axis < 0 || axis >= rank)
            return fail(node_cx(n), E_BUG, "Pad: axis %lld of rank %d", (long long)at[i], rank);
        all[axis] = pads[i];
        all[rank + axis] = pads[n_axes + i];
    }
    set_in(n, 1, ox_ints(n->graph, all, (size_t)rank * 2));
    drop_in(n, 3);
    return true;
}

/* Split's num_outputs (18): sizes instead, the last one smaller when it does not divide. */
static bool lower_split(Node *n, int target)
{
    if (target >= 18 || !node_has(n, "num_outputs"))
        return true;
    int64_t parts = node_int(n, "num_outputs", 0);
    int64_t axis = node_int(n, "axis", 0);
    int64_t extent;
    int rank = ox_rank(n->in[0]);
    axis += axis < 0 ? rank : 0;
    drop_attr(n, "num_outputs");
    if (rank < 0 || axis < 0 || axis >= rank || parts < 1)
        return needs_opset(n, 18, target, "Split of an axis that is not known");
    Dim d = ox_dim(n->in[0], (int)axis), each;
    if (!dim_known(d, &extent)) {
        if (dim_divide(node_cx(n), d, dim_int(node_cx(n), parts), &each))
            return true; /* without sizes it means equal parts */
        return needs_opset(n, 18, target, "Split of a dynamic axis into parts that may differ");
    }
    int64_t *sizes = new_array(node_cx(n), int64_t, parts);
    int64_t chunk = (extent + parts - 1) / parts;
    if (!sizes)
        return false;
    for (int64_t i = 0; i < parts; i++) {
        int64_t left = extent - i * chunk;
        sizes[i] = left < chunk ? left : chunk;
        if (left < 0)
            sizes[i] = 0;
    }
    set_in(n, 1, ox_ints(n->graph, sizes, (size_t)parts));
    return true;
}

/* Are the scales known, and all of them 1 or more? */
static bool enlarges(Graph *g, Ox scales)
{
    const int64_t *whole;
    int64_t n;
    if (scales->kind != OX_CONST || !ox_known_ints(g, ox_cast(g, scales, DT_INT64), &whole, &n))
        return false;
    for (int64_t i = 0; i < n; i++)
        if (whole[i] < 1)
            return false;
    return true;
}

/* Resize: roi and scales are not optional at 11 and 12; sizes do not exist before 11, nor most
 * modes. */
static bool lower_resize(Node *n, int target)
{
    if (target >= 13)
        return true;
    int64_t zero = 0;
    Ctx *cx = node_cx(n);
    if (target >= 11) {
        for (int i = 1; i <= 2; i++)
            if (!node_in(n, i))
                set_in(n, i, ox_const(n->graph, const_make(cx, DT_FLOAT, 1, &zero, NULL)));
        return true;
    }
    const char *mode = node_str(n, "mode", "nearest");
    const char *place_of = node_str(n, "coordinate_transformation_mode", "half_pixel");
    bool floors = strcmp(mode, "nearest") != 0 ||
        strcmp(node_str(n, "nearest_mode", "round_prefer_floor"), "floor") == 0;
    if (node_in(n, 3) || !node_in(n, 2) || strcmp(place_of, "asymmetric") != 0 || !floors ||
        strcmp(mode, "cubic") == 0)
        return needs_opset(n, node_int(n, "antialias", 0) ? 18 : 11, target,
                           "Resize to sizes, or with this coordinate_transformation_mode");
    drop_attr(n, "coordinate_transformation_mode");
    drop_attr(n, "nearest_mode");
    Ox scales = n->in[2];
    drop_in(n, 2);
    set_in(n, 1, scales);
    bool nearest = strcmp(mode, "nearest") ==
        0; /* ONNX Runtime rounds up when it shrinks by the rules of opset 10 */
    if ((target < 10 || nearest) && !enlarges(n->graph, scales))
        return needs_opset(n, nearest ? 11 : 10, target, "Resize to less");
    if (target < 10) { /* Resize began at 10; Upsample says the same */
        n->op = onnx_op(cx, "Upsample");
        n->name = str_of(cx, "Upsample");
    }
    return true;
}

/* Gemm's C is not optional before 11. */
static bool lower_gemm(Node *n, int target)
{
    if (target < 11 && !node_in(n, 2))
        set_in(n, 2, ox_number(n->graph, ox_dtype(n->in[0]), 0));
    return true;
}

static bool lower_topk(Node *n, int target)
{
    double k;
    if (target < 11 && !node_int(n, "largest", 1))
        return needs_opset(n, 11, target, "TopK of the smallest");
    if (target < 10 && ox_known_scalar(n->graph, n->in[1], &k) && k == 0)
        return needs_opset(n, 10, target, "TopK of no items");
    if (target < 11)
        drop_attr(n, "sorted"); /* always sorted then */
    return true;
}

static bool lower_reshape(Node *n, int target)
{
    const int64_t *shape;
    int64_t count;
    if (target >= 14 || !node_int(n, "allowzero", 0))
        return true;
    if (ox_known_ints(n->graph, n->in[1], &shape, &count)) {
        bool zero = false;
        for (int64_t i = 0; i < count; i++)
            zero |= shape[i] == 0;
        if (!zero) {
            drop_attr(n, "allowzero");
            return true;
        }
    }
    return needs_opset(n, 14, target, "Reshape to a shape with zeros");
}

/* "linear" was "bilinear", "cubic" was "bicubic" before 20. */
static bool lower_grid_sample(Node *n, int target)
{
    if (target >= 20)
        return true;
    if (ox_rank(n->in[0]) != 4)
        return needs_opset(n, 20, target, "a 5-D input of GridSample");
    const char *mode = node_str(n, "mode", "linear");
    if (strcmp(mode, "nearest") != 0)
        node_set_attr(
            n,
            STRING("mode",
                   str_of(node_cx(n), strcmp(mode, "cubic") == 0 ? "bicubic" : "bilinear")));
    return true;
}

/* Before 16 RoiAlign meant what is now called output_half_pixel; its default today is the other. */
static bool lower_roi_align(Node *n, int target)
{
    if (target >= 16)
        return true;
    if (strcmp(node_str(n, "coordinate_transformation_mode", "half_pixel"), "output_half_pixel") !=
        0)
        return needs_opset(n, 16, target, "RoiAlign with half pixels");
    drop_attr(n, "coordinate_transformation_mode");
    return true;
}

/* MaxPool's ceil_mode (10): padding at the end instead, up to where the last window ends. Padding
 * never wins a maximum. */
static bool lower_max_pool(Node *n, int target)
{
    const int64_t *kernel;
    const int64_t *strides = NULL;
    const int64_t *dilations = NULL;
    const int64_t *pads = NULL;
    size_t rank, ignored;
    if (target >= 10 || !node_int(n, "ceil_mode", 0) ||
        !node_ints(n, "kernel_shape", &kernel, &rank) || rank + 2 > MAX_RANK)
        return true;
    node_ints(n, "strides", &strides, &ignored);
    node_ints(n, "dilations", &dilations, &ignored);
    node_ints(n, "pads", &pads, &ignored);
    int64_t *wider = new_array(node_cx(n), int64_t, 2 * rank);
    if (!wider)
        return false;
    for (size_t i = 0; i < rank; i++) {
        int64_t in, out;
        int64_t begin = pads ? pads[i] : 0;
        int64_t end = pads ? pads[rank + i] : 0;
        if (!dim_known(ox_dim(n->in[0], (int)i + 2), &in) ||
            !dim_known(ox_dim(n->out[0], (int)i + 2), &out))
            return true; /* refused below, by its attribute */
        int64_t stride = strides ? strides[i] : 1;
        int64_t dilation = dilations ? dilations[i] : 1;
        int64_t reach = (out - 1) * stride + (kernel[i] - 1) * dilation + 1;
        int64_t more = reach - (in + begin);
        wider[i] = begin;
        wider[rank + i] = more > end ? more : end;
    }
    drop_attr(n, "ceil_mode");
    node_set_attr(n, INT_LIST("pads", wider, 2 * rank));
    return true;
}

/* The opset that a scatter's reduction came with. */
static int reduction_since(const char *how)
{
    if (strcmp(how, "none") == 0)
        return 0;
    return strcmp(how, "max") == 0 || strcmp(how, "min") == 0 ? 18 : 16;
}

/* ScatterElements was Scatter before 11. */
static bool lower_scatter(Node *n, int target)
{
    Ctx *cx = node_cx(n);
    const char *how = node_str(n, "reduction", "none");
    int since = reduction_since(how);
    if (target < since)
        return needs_opset(n, since, target,
                           str_fmt(cx, "%s with reduction %s", n->op->name, how)->s);
    if (op_is(n, "ScatterElements") && target < 11) {
        if (!drop_later_attrs(n, 11))
            return false;
        n->op = onnx_op(cx, "Scatter");
        n->name = str_of(cx, "Scatter");
    }
    return true;
}

static const struct {
    const char *op;
    bool (*lower)(Node *n, int target);
} own_forms[] = {
    { "Gemm", lower_gemm },          { "GridSample", lower_grid_sample },
    { "MaxPool", lower_max_pool },   { "Pad", lower_pad },
    { "Reshape", lower_reshape },    { "Resize", lower_resize },
    { "RoiAlign", lower_roi_align }, { "ScatterElements", lower_scatter },
    { "ScatterND", lower_scatter },  { "Split", lower_split },
    { "TopK", lower_topk },
};

/* ---- whole nodes ---- */

/* The change that is the operator's own, where it has one. */
static bool lower_own_form(Node *n, int opset)
{
    for (size_t i = 0; i < COUNT(own_forms); i++)
        if (strcmp(own_forms[i].op, n->op->name) == 0)
            return own_forms[i].lower(n, opset);
    return true;
}

/* n, of the newest form, in place as `opset` writes it. False after a refusal, which names the
 * opset that could say it, and after an error. */
bool form_lower(Graph *g, Node *n, int opset)
{
    (void)g;
    if (!n->op || opset >= ONNX_NEWEST)
        return true;
    if (!lower_own_form(n, opset))
        return false;
    for (size_t i = 0; i < COUNT(form_rows); i++)
        if (opset < form_rows[i].since && strcmp(form_rows[i].op, n->op->name) == 0 &&
            !lower_row(n, &form_rows[i], opset))
            return false;
    if (!onnx_version(n->op, opset))
        return needs_opset(n, n->op->version[0].since, opset, n->op->name);
    if (!drop_later_attrs(n, opset))
        return false;
    if (opset < 11)
        wrap_axes(n);
    return true;
}

/* A user's name that the newest form no longer has, as the one it has. */
static const char *renamed(const char *op)
{
    if (strcmp(op, "Scatter") == 0)
        return "ScatterElements";
    if (strcmp(op, "Upsample") == 0)
        return "Resize";
    return op;
}

/* The row of an attribute that is an input in the newest form, for an operator as `opset` writes
 * it; NULL when it is an attribute still. */
static const FormRow *row_of(const char *op, const char *attr, int opset)
{
    const FormRow *row = NULL;
    for (size_t k = 0; k < COUNT(form_rows); k++)
        if (strcmp(form_rows[k].op, op) == 0 && strcmp(form_rows[k].attr, attr) == 0 &&
            opset < form_rows[k].since)
            row = &form_rows[k];
    return row;
}

/* Resize of opset 10 and Upsample: scales are the second input, coordinates asymmetric, nearest
 * rounds down. */
static void lift_resize(Ctx *cx, int opset, Ox *in, size_t *n_in, Attr *attr, size_t *n_attr)
{
    if (opset >= 11 || *n_in < 2)
        return;
    in[2] = in[1];
    in[1] = NULL;
    *n_in = 3;
    attr[(*n_attr)++] = STRING("coordinate_transformation_mode", str_of(cx, "asymmetric"));
    attr[(*n_attr)++] = STRING("nearest_mode", str_of(cx, "floor"));
}

/* A user's operator as `opset` writes it, made in the newest form: Dropout's attribute `ratio` of
 * opset 11 becomes its second input. */
bool form_lift(Graph *g, Str op, int opset, OxList in, const Attr *attr, size_t n_attr, Ox *out,
               size_t n_out)
{
    enum { MOST = 255 };
    Ctx *cx = g->cx;
    const OnnxOp *known = onnx_op(cx, op->s);
    if (!known)
        return fail(cx, E_UNSUPPORTED, "%s is no operator of ONNX", op->s);
    const char *name = renamed(op->s);
    size_t n_in = in.n;
    size_t kept = 0;
    if (n_in > MOST - 4)
        return ox_make_n(g, name, in, attr, n_attr, out, n_out); /* variadic: has no other form */
    Ox *ins = new_array(cx, Ox, MOST);
    Attr *attrs = new_array(cx, Attr, n_attr + 2);
    if (!ins || !attrs)
        return false;
    for (size_t i = 0; i < n_in; i++)
        ins[i] = in.at[i];
    for (size_t i = 0; i < n_attr; i++) {
        const FormRow *row = row_of(name, attr[i].name, opset);
        if (!row) {
            attrs[kept++] = attr[i];
            continue;
        }
        Ox v = lift_row(g, row, &attr[i], n_in > 0 ? ins[0] : NULL);
        if (!v)
            return fail(cx, E_VALUE, "%s: attribute %s has the wrong type", op->s, attr[i].name);
        ins[row->input] = v;
        n_in = (size_t)row->input + 1 > n_in ? (size_t)row->input + 1 : n_in;
    }
    if (strcmp(name, "Resize") == 0)
        lift_resize(cx, opset, ins, &n_in, attrs, &kept);
    return ox_make_n(g, name, (OxList){ ins, n_in }, attrs, kept, out, n_out);
}
