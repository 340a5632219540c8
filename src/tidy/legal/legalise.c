/* legalise.c - the newest form taken down to the target opset.
 *
 * Three ways, tried in this order for each node: a rule of legal.rules; a function of legal_ops
 * below, also where the rule has nothing to say of these types; or the change of form that
 * onnx/forms.c makes in place (attributes that became inputs). What a rule or function emits is
 * itself legalised. Last come types: exact casts where the target's signature, or ONNX Runtime's
 * kernel, does not take one (legal_types.c). What an older opset cannot say at all is refused with
 * the opset that could; all refusals are reported, not only the first. */
#include "tidy/legal/legal.h"

#include <float.h>
#include <math.h>

extern const char rules_legal[];
extern const NameTable legal_names;

/* out: n->n_out values that replace n's outputs; NULL: that output is not used. */
typedef Verdict (*LegalFn)(Legal *l, Node *n, Ox *out);
typedef struct LegalOp {
    const char *op;
    int before;
    LegalFn fn;
} LegalOp;

enum { MAX_OUT = 16, MAX_DEPTH = 16 };

/* ---- helpers ---- */

static Ox with_axis(Graph *g, const char *op, Ox x, int64_t axis)
{
    return ox_g_with(g, op, INPUTS(x), INT("axis", axis));
}

static Ox reduce(Graph *g, const char *op, Ox x, const int64_t *axes, size_t n)
{
    return ox_g_with(g, op, INPUTS(x, ox_ints(g, axes, n)), INT("keepdims", 1));
}

static Ox reshape_to(Graph *g, Ox x, const Dim *dim, int rank)
{
    bool same = ox_rank(x) == rank;
    for (int i = 0; same && i < rank; i++)
        same = dim_eq(g->cx, ox_dim(x, i), dim[i]) == YES;
    if (same)
        return x;
    return ox_g(g, "Reshape", x, ox_dims(g, dim, (size_t)rank));
}

static Ox number_like(Graph *g, double v, Ox like) { return ox_number(g, ox_dtype(like), v); }

static bool wanted(const Legal *l, const Node *n, int i)
{
    return i < n->n_out && (uses_of(l->rw, n->out[i]) || i == 0);
}

/* The axis from the front; false when the rank is not known. */
static bool axis_of(const Node *n, int64_t deflt, int *axis)
{
    int rank = ox_rank(n->in[0]);
    int64_t a = node_int(n, "axis", deflt);
    *axis = (int)(a < 0 ? a + rank : a);
    return rank >= 0;
}

/* ---- softmax before 13: the tensor was flattened to a matrix at its axis ---- */

/* Softmax before 13 works on all axes from `axis` on, from 13 on along one: both are the same on
 * the last axis, so another axis is moved there. */
static Verdict legal_softmax(Legal *l, Node *n, Ox *out)
{
    Graph *g = n->graph;
    Ox x = n->in[0];
    int axis, rank = ox_rank(x);
    if (!axis_of(n, -1, &axis)) {
        if (l->target >= 11 && node_int(n, "axis", -1) == -1 && node_has(n, "axis"))
            return AS_IT_IS;
        refuse(l->cx, n->at, n->name,
               "%s of a tensor of unknown rank needs ONNX opset 13, the target is %d", n->name->s,
               l->target);
        refuse_opset(l->cx, 13);
        return REFUSED;
    }
    if (axis == rank - 1 && node_int(n, "axis", -1) == axis)
        return AS_IT_IS;
    if (axis == rank - 1) {
        out[0] = with_axis(g, n->op->name, x, axis);
        return CHANGED;
    }
    Ox turned = swapped_with_last(g, x, axis);
    Ox y = with_axis(g, n->op->name, turned, rank - 1);
    out[0] = swapped_with_last(g, y, axis);
    return CHANGED;
}

/* ---- reductions ---- */

/* Axes that are counted from the end are counted from the front: ONNX Runtime 1.31 leaves the shape
 * of a tensor without elements as it is along the former. */
static Verdict legal_reduction(Legal *l, Node *n, Ox *out)
{
    (void)l;
    Graph *g = n->graph;
    const int64_t *axes;
    int64_t count;
    int64_t front[MAX_RANK];
    bool from_the_end = false;
    int rank = ox_rank(n->in[0]);
    if (rank < 0 || !in_of(n, 1) || !ox_known_ints(g, n->in[1], &axes, &count) || count > rank)
        return AS_IT_IS;
    for (int64_t i = 0; i < count; i++) {
        from_the_end |= axes[i] < 0;
        front[i] = axes[i] < 0 ? axes[i] + rank : axes[i];
    }
    if (!from_the_end)
        return AS_IT_IS;
    out[0] = ox_g_with(g, n->op->name, INPUTS(n->in[0], ox_ints(g, front, (size_t)count)),
                       INT("keepdims", node_int(n, "keepdims", 1)));
    return CHANGED;
}

/* ---- normalisation ---- */

/* The type in which a norm computes (stash_type): float32 for float16 and bfloat16. */
static DType stash_of(const Node *n)
{
    DType t = ox_dtype(n->in[0]);
    bool in_float = t != DT_DOUBLE && node_int(n, "stash_type", 1) == DT_FLOAT;
    return in_float ? DT_FLOAT : t;
}

static size_t axes_from(int axis, int rank, int64_t *axes)
{
    for (int i = axis; i < rank; i++)
        axes[i - axis] = i;
    return (size_t)(rank - axis);
}

/* x^2 of type t, as a Pow: ONNX Runtime finds a norm by it, and not by x * x. It would round the
 * epsilon of doubles to float32. */
static Ox squared(Graph *g, DType t, Ox x)
{
    return t == DT_DOUBLE ? ox_g(g, "Mul", x, x) : ox_g(g, "Pow", x, ox_number(g, t, 2));
}

/* (x - mean) / sqrt(var + epsilon) * scale + bias, over the axes from `axis` on */
static Verdict legal_layer_norm(Legal *l, Node *n, Ox *out)
{
    Graph *g = n->graph;
    int axis;
    int64_t axes[MAX_RANK];
    if (!axis_of(n, -1, &axis))
        return AS_IT_IS;
    size_t count = axes_from(axis, ox_rank(n->in[0]), axes);
    DType t = stash_of(n);
    Ox x = ox_cast(g, n->in[0], t);
    Ox mean = reduce(g, "ReduceMean", x, axes, count);
    Ox d = ox_g(g, "Sub", x, mean);
    Ox var = reduce(g, "ReduceMean", squared(g, t, d), axes, count);
    Ox shifted = ox_g(g, "Add", var, ox_number(g, t, node_float(n, "epsilon", 1e-5)));
    Ox std = ox_g(g, "Sqrt", shifted);
    Ox y = ox_g(g, "Div", d, std);
    y = ox_cast(g, y, ox_dtype(n->in[0]));
    y = ox_g(g, "Mul", y, n->in[1]);
    out[0] = in_of(n, 2) ? ox_g(g, "Add", y, n->in[2]) : y;
    if (wanted(l, n, 1))
        out[1] = ox_cast(g, mean, ox_dtype(n->out[1]));
    if (wanted(l, n, 2)) {
        Ox inverse = ox_g(g, "Reciprocal", std);
        out[2] = ox_cast(g, inverse, ox_dtype(n->out[2]));
    }
    return CHANGED;
}

/* x * (1 / sqrt(mean(x^2) + epsilon)) * scale, in the order in which ONNX Runtime looks for it */
static Verdict legal_rms_norm(Legal *l, Node *n, Ox *out)
{
    (void)l;
    Graph *g = n->graph;
    int axis;
    int64_t axes[MAX_RANK];
    if (!axis_of(n, -1, &axis))
        return AS_IT_IS;
    size_t count = axes_from(axis, ox_rank(n->in[0]), axes);
    DType t = stash_of(n);
    Ox x = ox_cast(g, n->in[0], t);
    Ox mean = reduce(g, "ReduceMean", squared(g, t, x), axes, count);
    Ox shifted = ox_g(g, "Add", mean, ox_number(g, t, node_float(n, "epsilon", 1e-5)));
    Ox root = ox_g(g, "Sqrt", shifted);
    Ox y = ox_g(g, "Mul", x, ox_g(g, "Div", ox_number(g, t, 1), root));
    y = ox_cast(g, y, ox_dtype(n->in[0]));
    out[0] = ox_g(g, "Mul", y, n->in[1]);
    return CHANGED;
}

/* [C] as [C, 1, 1, ..]: along the channels of a tensor of that rank */
static Ox per_channel(Graph *g, Ox v, int rank)
{
    int64_t shape[MAX_RANK];
    for (int i = 0; i < rank - 1; i++)
        shape[i] = i ? 1 : -1;
    return ox_g(g, "Reshape", v, ox_ints(g, shape, (size_t)rank - 1));
}

/* Does n have an attribute, which is a float32, that float64 inputs need with more digits? An
 * epsilon of 1e-5 rounded to float32 shows in doubles of little variance. */
static bool loses_digits(const Node *n)
{
    bool inexact = false;
    for (int i = 0; i < n->n_attr; i++)
        inexact |= n->attr[i].kind == ATTR_FLOAT && (double)(float)n->attr[i].f != n->attr[i].f;
    return inexact && n->n_in > 0 && n->in[0] && ox_dtype(n->in[0]) == DT_DOUBLE;
}

/* May an optimizer's Reshape meet a batch of 0? */
static bool fails_at_batch(const Legal *l, Ox x)
{
    int64_t lo, hi;
    dim_range(l->cx, ox_dim(x, 0), &lo, &hi);
    return l->ort && lo <= 0;
}

/* x in that shape. ONNX Runtime's optimizer puts -1 for an extent that is computed, which fails
 * where x is empty, unless the Reshape has allowzero. */
static Ox reshape_to_computed(const Legal *l, Graph *g, Ox x, const Dim *dim, int rank)
{
    bool computed = false;
    for (int i = 1; i < rank; i++)
        computed |= !dim_known(dim[i], NULL);
    if (!computed || !fails_at_batch(l, x))
        return reshape_to(g, x, dim, rank);
    Ox shape = ox_dims(g, dim, (size_t)rank);
    return ox_g_with(g, "Reshape", INPUTS(x, shape), INT("allowzero", 1));
}

/* Each group becomes a channel of an InstanceNormalization. Scale and bias are per channel, as
 * in the GroupNormalization of opset 21. ONNX Runtime 1.31 has no kernel for that, and takes parts
 * instead, which are slower, more, and fail at a batch of 0; of float64 it has neither. */
static Verdict legal_group_norm(Legal *l, Node *n, Ox *out)
{
    enum { OPSET = 21 };
    Graph *g = n->graph;
    Ox x = n->in[0];
    int rank = ox_rank(x);
    int64_t groups = node_int(n, "num_groups", 1);
    bool runs = !l->ort || (ox_dtype(x) == DT_DOUBLE && !fails_at_batch(l, x));
    bool stays = l->target >= OPSET && runs && !loses_digits(n);
    if (rank < 2 || stays)
        return AS_IT_IS;
    Dim rest, all = dim_product(l->cx, x->type->dim + 1, rank - 1);
    bool divides = dim_divide(l->cx, all, dim_int(l->cx, groups), &rest);
    if (!divides && l->target >= OPSET)
        return AS_IT_IS;
    if (!divides) {
        fail_at(l->cx, n->at, E_VALUE,
                "group_norm: %s channels and positions do not divide into %lld groups",
                dim_text(l->cx, all)->s, (long long)groups);
        return REFUSED;
    }
    float *ones = new_array(l->cx, float, 2 * groups);
    if (!ones)
        return REFUSED;
    for (int64_t i = 0; i < groups; i++)
        ones[i] = 1;
    Ox one = ox_const(g, const_make(l->cx, DT_FLOAT, 1, &groups, ones));
    Ox zero = ox_const(g, const_make(l->cx, DT_FLOAT, 1, &groups, ones + groups));
    DType t = ox_dtype(x);
    one = ox_cast(g, one, t);
    zero = ox_cast(g, zero, t);
    const Dim by_group[] = { ox_dim(x, 0), dim_int(l->cx, groups), rest };
    Ox flat = reshape_to_computed(l, g, x, by_group, COUNT(by_group));
    Ox y = ox_g_with(g, "InstanceNormalization", INPUTS(flat, one, zero),
                     FLOAT("epsilon", node_float(n, "epsilon", 1e-5)));
    y = reshape_to_computed(l, g, y, x->type->dim, rank);
    Ox scale = per_channel(g, n->in[1], rank);
    y = ox_g(g, "Mul", y, scale);
    Ox bias = per_channel(g, n->in[2], rank);
    out[0] = ox_g(g, "Add", y, bias);
    return CHANGED;
}

/* ---- numbers ---- */

/* Max and Min of ints before 12: a comparison for each pair, which is exact, while casts to
 * double and back would not be. */
static Verdict legal_extreme(Legal *l, Node *n, Ox *out)
{
    (void)l;
    Graph *g = n->graph;
    if (!dtype_is_int(ox_dtype(n->in[0])))
        return AS_IT_IS;
    bool most = node_is(n, "Max");
    Ox best = n->in[0];
    for (int i = 1; i < n->n_in; i++) {
        Ox x = n->in[i];
        Ox wins = ox_g(g, most ? "Greater" : "Less", best, x);
        best = ox_g(g, "Where", wins, best, x);
    }
    out[0] = best;
    return CHANGED;
}

/* Div(1, y) of ints: y where y is 1 or -1, else 0. ONNX Runtime's optimizer would turn
 * Mul(Div(1, y), z) into Div(z, y), for ints too. */
static Verdict legal_div(Legal *l, Node *n, Ox *out)
{
    Graph *g = n->graph;
    double v;
    Ox a = n->in[0];
    Ox y = n->in[1];
    if (l->ort && (out[0] = double_scale(n)))
        return CHANGED;
    if (!l->ort || !dtype_is_int(ox_dtype(a)) || !ox_known_scalar(g, a, &v) || v != 1)
        return AS_IT_IS;
    Ox size = dtype_is_signed(ox_dtype(y)) ? ox_g(g, "Abs", y) : y;
    Ox unit = ox_g(g, "Equal", size, a);
    Ox none = ox_g(g, "Sub", a, a);
    out[0] = ox_g(g, "Where", unit, y, none);
    return CHANGED;
}

static Verdict legal_mul(Legal *l, Node *n, Ox *out)
{
    return l->ort && (out[0] = double_scale(n)) ? CHANGED : AS_IT_IS;
}

static Verdict legal_matmul(Legal *l, Node *n, Ox *out)
{
    if (!l->ort || ox_dtype(n->out[0]) != DT_DOUBLE)
        return AS_IT_IS;
    Ox a = double_factor(n->in[0]);
    Ox b = double_factor(n->in[1]);
    if (a == n->in[0] && b == n->in[1])
        return AS_IT_IS;
    out[0] = ox_g(n->graph, "MatMul", a, b);
    return CHANGED;
}

/* Clip before 12 takes no ints, before 11 no limits that are not known, and in ONNX Runtime no
 * doubles: Min(Max(x, low), high). */
static Verdict legal_clip(Legal *l, Node *n, Ox *out)
{
    Graph *g = n->graph;
    double least = -INFINITY;
    double most = INFINITY;
    Ox x = n->in[0];
    Ox low = in_of(n, 1);
    Ox high = in_of(n, 2);
    bool known = (!low || ox_known_scalar(g, low, &least)) &&
        (!high || ox_known_scalar(g, high, &most));
    known &= least <= most || l->target >= 11; /* as attributes ONNX Runtime wants min <= max */
    if (dtype_is_float(ox_dtype(x)) && (known || l->target >= 11) &&
        (!l->ort || runs_somehow(n, l->target)))
        return AS_IT_IS;
    if (low)
        x = ox_g(g, "Max", x, low);
    out[0] = high ? ox_g(g, "Min", x, high) : x;
    return CHANGED;
}

/* What stands off the mean of numbers that a Cast has made, as in a norm that a program spells out.
 */
static bool off_the_mean_of_a_cast(Ox v)
{
    Node *sub = made_by(v, "Sub");
    Node *mean = sub ? made_by(sub->in[1], "ReduceMean") : NULL;
    return mean && mean->in[0] == sub->in[0] && made_by(sub->in[0], "Cast");
}

/* Pow before 12 takes two floats of one type. A whole, small exponent of an int is a product, as is
 * the square in a norm of casted numbers: ONNX Runtime 1.31's LayerNormFusion would leave the Cast
 * out, and then not load what it has made. It does not know a Mul. */
static Verdict legal_pow(Legal *l, Node *n, Ox *out)
{
    Graph *g = n->graph;
    Ox x = n->in[0];
    Ox y = n->in[1];
    DType t = ox_dtype(x);
    double v;
    bool square = ox_known_scalar(g, y, &v) && ox_rank(y) == 0 && v == 2;
    if (l->ort && square && off_the_mean_of_a_cast(x)) {
        out[0] = ox_g(g, "Mul", x, x);
        return ox_ok(out[0]) ? CHANGED : REFUSED;
    }
    if (l->target >= 12)
        return AS_IT_IS;
    if (dtype_is_float(t)) {
        if (t == ox_dtype(y))
            return AS_IT_IS;
        Ox same = ox_cast(g, y, t);
        out[0] = ox_g(g, "Pow", x, same);
        return CHANGED;
    }
    if (ox_known_scalar(g, y, &v) && ox_rank(y) == 0 && v >= 1 && v <= 8 && v == floor(v)) {
        Ox product = x;
        for (int i = 1; i < (int)v; i++)
            product = ox_g(g, "Mul", product, x);
        out[0] = product;
        return CHANGED;
    }
    refuse(l->cx, n->at, n->name, "a power of integers needs ONNX opset 12, the target is %d",
           l->target);
    refuse_opset(l->cx, 12);
    return REFUSED;
}

/* Mod of floats before 10: long division in float64. As long as a quotient a / b is below 2^28
 * its whole part q is exact, and so is a - q * b. So multiples of b * 2^(28 k) are subtracted
 * first, from the largest k on that quotients of the type need. A b that is infinite leaves a;
 * other operands that are not finite give NaN. */
static Verdict legal_mod(Legal *l, Node *n, Ox *out)
{
    (void)l;
    Graph *g = n->graph;
    DType t = ox_dtype(n->in[0]);
    if (t != DT_FLOAT && t != DT_FLOAT16)
        return AS_IT_IS;
    Ox a = ox_cast(g, n->in[0], DT_DOUBLE);
    Ox b = ox_cast(g, n->in[1], DT_DOUBLE);
    Ox rest = a;
    int parts = t == DT_FLOAT ? 9 : 1; /* quotients: 2^277 in float32, 2^40 in float16 */
    for (int k = parts; k >= 0; k--) {
        Ox by = k ? ox_g(g, "Mul", b, ox_number(g, DT_DOUBLE, ldexp(1, 28 * k))) : b;
        Ox quotient = ox_g(g, "Div", rest, by);
        Ox size = ox_g(g, "Abs", quotient);
        Ox down = ox_g(g, "Floor", size);
        Ox sign = ox_g(g, "Sign", quotient);
        Ox whole = ox_g(g, "Mul", down, sign);
        Ox taken = ox_g(g, "Mul", whole, by);
        rest = ox_g(g, "Sub", rest, taken);
    }
    Ox infinite = ox_g(g, "IsInf", b);
    Ox left = ox_g(g, "Where", infinite, a, rest);
    out[0] = ox_cast(g, left, t);
    return CHANGED;
}

/* IsInf before 10: beyond the largest number of its type. */
static Verdict legal_is_inf(Legal *l, Node *n, Ox *out)
{
    (void)l;
    Graph *g = n->graph;
    Ox x = n->in[0];
    double most = FLT_MAX;
    if (ox_dtype(x) == DT_DOUBLE)
        most = DBL_MAX;
    else if (ox_dtype(x) == DT_FLOAT16)
        most = 65504;
    bool negative = node_int(n, "detect_negative", 1) != 0;
    bool positive = node_int(n, "detect_positive", 1) != 0;
    if (!negative && !positive)
        return AS_IT_IS;
    Ox size = x;
    if (negative)
        size = ox_g(g, positive ? "Abs" : "Neg", x);
    out[0] = ox_g(g, "Greater", size, number_like(g, most, x));
    return CHANGED;
}

/* Integers of 8 and 16 bits go through int32 before opset 13: an older ONNX Runtime, which may
 * run such a model, does not compare or select them. */
static Verdict through_int32(Legal *l, Node *n, int first, Ox *out)
{
    Graph *g = n->graph;
    DType t = ox_dtype(n->in[first]);
    if (!l->ort || !dtype_is_int(t) || dtype_size(t) > 2)
        return AS_IT_IS;
    Ox a = ox_cast(g, n->in[first], DT_INT32);
    Ox b = ox_cast(g, n->in[first + 1], DT_INT32);
    out[0] = first ? ox_cast(g, ox_g(g, n->op->name, n->in[0], a, b), t)
                   : ox_g(g, n->op->name, a, b);
    return CHANGED;
}

static Verdict legal_comparison(Legal *l, Node *n, Ox *out) { return through_int32(l, n, 0, out); }
static Verdict legal_where(Legal *l, Node *n, Ox *out) { return through_int32(l, n, 1, out); }

/* Equal takes floats from 11 on. Before: neither less nor greater, and neither operand is NaN. */
static Verdict legal_equal(Legal *l, Node *n, Ox *out)
{
    Graph *g = n->graph;
    Ox a = n->in[0];
    Ox b = n->in[1];
    if (!dtype_is_float(ox_dtype(a)) || l->target >= 11)
        return legal_comparison(l, n, out);
    Ox less = ox_g(g, "Less", a, b);
    Ox more = ox_g(g, "Greater", a, b);
    Ox differ = ox_g(g, "Or", less, more);
    Ox a_nan = ox_g(g, "IsNaN", a);
    Ox b_nan = ox_g(g, "IsNaN", b);
    Ox nan = ox_g(g, "Or", a_nan, b_nan);
    Ox either = ox_g(g, "Or", differ, nan);
    out[0] = ox_g(g, "Not", either);
    return CHANGED;
}

/* ---- parts ---- */

/* Shape of a part of the axes: cut out of the whole shape before 15. */
static Verdict legal_shape(Legal *l, Node *n, Ox *out)
{
    (void)l;
    Graph *g = n->graph;
    if (!node_has(n, "start") && !node_has(n, "end"))
        return AS_IT_IS;
    Ox all = ox_g(g, "Shape", n->in[0]);
    Ox from = ox_ints(g, (int64_t[]){ node_int(n, "start", 0) }, 1);
    Ox to = ox_ints(g, (int64_t[]){ node_int(n, "end", INT64_MAX) }, 1);
    out[0] = ox_g(g, "Slice", all, from, to, ox_ints(g, (int64_t[]){ 0 }, 1));
    return CHANGED;
}

/* DepthToSpace<mode="CRD"> came with 11: before, a Reshape, a Transpose and a Reshape, where the
 * block's axes follow the channels. */
static Verdict legal_depth_to_space(Legal *l, Node *n, Ox *out)
{
    Graph *g = n->graph;
    Ctx *cx = l->cx;
    Ox x = n->in[0];
    if (strcmp(node_str(n, "mode", "DCR"), "CRD") != 0 || ox_rank(x) != 4)
        return AS_IT_IS;
    Dim b = dim_int(cx, node_int(n, "blocksize", 1));
    Dim c = ox_dim(n->out[0], 1);
    Ox cut = reshape_to(g, x, (Dim[]){ ox_dim(x, 0), c, b, b, ox_dim(x, 2), ox_dim(x, 3) }, 6);
    cut = permuted(g, cut, (int64_t[]){ 0, 1, 4, 2, 5, 3 }, 6);
    out[0] = reshape_to(g, cut, n->out[0]->type->dim, 4);
    return CHANGED;
}

/* The Tanh of a number's Gelu: ONNX Runtime 1.31 makes the whole one FastGelu, whose kernel wants
 * an axis. Beside a Reshape it does not see it. */
static Verdict legal_tanh(Legal *l, Node *n, Ox *out)
{
    Graph *g = n->graph;
    Ox x = n->in[0];
    if (!l->ort || ox_rank(x) != 0 || x->kind != OX_NODE || !node_is(x->node, "Mul"))
        return AS_IT_IS;
    Ox list = ox_g(g, "Tanh", ox_g(g, "Reshape", x, one_axis(g, 1)));
    out[0] = ox_g(g, "Squeeze", list, one_axis(g, 0));
    return ox_ok(out[0]) ? CHANGED : REFUSED;
}

/* ---- branches and loops ---- */

/* The body's last output becomes its first behind the condition. */
static void carry_last(Graph *body)
{
    Ox *at = body->outputs.at;
    size_t n = body->outputs.n;
    Ox last = at[n - 1];
    memmove(at + 2, at + 1, (n - 2) * sizeof *at);
    at[1] = last;
}

/* Loop before 11 carries a value at least: one that nothing reads. */
static Verdict legal_loop(Legal *l, Node *n, Ox *out)
{
    Graph *body = node_attr(n, "body")->g;
    Ox made[MAX_OUT + 1];
    if (n->n_in > 2 || n->n_out == 0)
        return AS_IT_IS;
    graph_output(body, graph_input(body, NULL, type_tensor(l->cx, DT_BOOL, 0, NULL)), NULL);
    carry_last(body);
    Ox unread = ox_bool(n->graph, true);
    if (!ox_make_n(n->graph, "Loop", INPUTS(n->in[0], n->in[1], unread), n->attr, (size_t)n->n_attr,
                   made, (size_t)n->n_out + 1))
        return REFUSED;
    memcpy(out, made + 1, (size_t)n->n_out * sizeof *out);
    return CHANGED;
}

/* Are a and b of another rank or of sizes that are known to differ? */
static bool shapes_differ(Ctx *cx, Ox a, Ox b)
{
    int rank = ox_rank(a);
    bool differ = rank >= 0 && ox_rank(b) >= 0 && rank != ox_rank(b);
    for (int i = 0; !differ && rank == ox_rank(b) && i < rank; i++)
        differ = dim_known(ox_dim(a, i), NULL) && dim_eq(cx, ox_dim(a, i), ox_dim(b, i)) == NO;
    return differ;
}

/* The branches of an If before 11 give one shape: sizes that are symbols pass for that. */
static Verdict legal_if(Legal *l, Node *n, Ox *out)
{
    (void)out;
    const Graph *yes = node_attr(n, "then_branch")->g;
    const Graph *no = node_attr(n, "else_branch")->g;
    for (int i = 0; i < n->n_out; i++) {
        if (!shapes_differ(l->cx, yes->outputs.at[i], no->outputs.at[i]))
            continue;
        refuse(l->cx, n->at, n->name,
               "If of branches that give tensors of different shapes needs ONNX opset 11, the "
               "target is %d",
               l->target);
        refuse_opset(l->cx, 11);
        return REFUSED;
    }
    return AS_IT_IS;
}

static const LegalOp legal_ops[] = {
    { "ArgMax", ONNX_LAST_TARGET + 1, legal_arg },
    { "ArgMin", ONNX_LAST_TARGET + 1, legal_arg },
    { "AveragePool", ONNX_LAST_TARGET + 1, legal_pool },
    { "BitwiseAnd", 18, legal_bitwise },
    { "BitwiseNot", 18, legal_bitwise },
    { "BitwiseOr", 18, legal_bitwise },
    { "BitwiseXor", 18, legal_bitwise },
    { "Clip", 12, legal_clip },
    { "CumSum", 11, legal_cumsum },
    { "DepthToSpace", 11, legal_depth_to_space },
    { "Div", ONNX_LAST_TARGET + 1, legal_div },
    { "Einsum", 12, legal_einsum },
    { "Equal", 13, legal_equal },
    { "Gather", ONNX_LAST_TARGET + 1, legal_gather },
    { "GatherElements", 11, legal_gather_elements },
    { "GatherND", 11, legal_gather_nd },
    { "Greater", 13, legal_comparison },
    { "GroupNormalization", ONNX_LAST_TARGET + 1, legal_group_norm },
    { "Hardmax", 13, legal_softmax },
    { "If", 11, legal_if },
    { "IsInf", 10, legal_is_inf },
    { "LayerNormalization", 17, legal_layer_norm },
    { "Less", 13, legal_comparison },
    { "LogSoftmax", 13, legal_softmax },
    { "Loop", 11, legal_loop },
    { "MatMul", ONNX_LAST_TARGET + 1, legal_matmul },
    { "Max", 12, legal_extreme },
    { "MaxPool", ONNX_LAST_TARGET + 1, legal_pool },
    { "Min", 12, legal_extreme },
    { "Mod", 10, legal_mod },
    { "Mul", ONNX_LAST_TARGET + 1, legal_mul },
    { "Pad", 11, legal_pad },
    { "Pow", ONNX_LAST_TARGET + 1, legal_pow },
    { "RMSNormalization", 23, legal_rms_norm },
    { "Range", 11, legal_range },
    { "ReduceL1", ONNX_LAST_TARGET + 1, legal_reduction },
    { "ReduceL2", ONNX_LAST_TARGET + 1, legal_reduction },
    { "ReduceLogSum", ONNX_LAST_TARGET + 1, legal_reduction },
    { "ReduceLogSumExp", ONNX_LAST_TARGET + 1, legal_reduction },
    { "ReduceMax", ONNX_LAST_TARGET + 1, legal_reduction },
    { "ReduceMean", ONNX_LAST_TARGET + 1, legal_reduction },
    { "ReduceMin", ONNX_LAST_TARGET + 1, legal_reduction },
    { "ReduceProd", ONNX_LAST_TARGET + 1, legal_reduction },
    { "ReduceSum", ONNX_LAST_TARGET + 1, legal_reduction },
    { "ReduceSumSquare", ONNX_LAST_TARGET + 1, legal_reduction },
    { "Reshape", 14, legal_reshape },
    { "ScatterElements", 18, legal_scatter_elements },
    { "ScatterND", ONNX_LAST_TARGET + 1, legal_scatter_nd },
    { "Shape", 15, legal_shape },
    { "Slice", 10, legal_slice },
    { "Softmax", 13, legal_softmax },
    { "Tanh", ONNX_LAST_TARGET + 1, legal_tanh },
    { "Split", 18, legal_split },
    { "SplitToSequence", ONNX_LAST_TARGET + 1, legal_split_to_sequence },
    { "TopK", 11, legal_topk },
    { "Trilu", 14, legal_trilu },
    { "Where", 13, legal_where },
};

/* ---- rules ---- */

typedef struct Seen {
    const Rule *rule;
    const Node *n;
} Seen;

static RuleVal val_of_attr(const Attr *a)
{
    switch (a->kind) {
    case ATTR_INT:    return (RuleVal){ .tag = RV_INT, .i = a->i };
    case ATTR_FLOAT:  return (RuleVal){ .tag = RV_FLOAT, .f = a->f };
    case ATTR_STRING: return (RuleVal){ .tag = RV_STR, .s = a->s };
    case ATTR_INTS:   return (RuleVal){ .tag = RV_INTS, .ints = { a->ints, a->n } };
    case ATTR_FLOATS: return (RuleVal){ .tag = RV_FLOATS, .floats = { a->floats, a->n } };
    default:          return (RuleVal){ .tag = RV_NONE };
    }
}

static bool look_up(void *arg, Str name, RuleVal *out)
{
    const Seen *seen = arg;
    for (size_t i = 0; i < seen->rule->n_params; i++)
        if (seen->rule->params[i] == name) {
            Ox v = in_of(seen->n, (int)i);
            *out = v ? (RuleVal){ .tag = RV_OX, .ox = v } : (RuleVal){ .tag = RV_NONE };
            return true;
        }
    const FormalAttr *formal = onnx_attr(onnx_version(seen->n->op, ONNX_NEWEST), name->s);
    const Attr *there = node_attr(seen->n, name->s);
    const Attr a = there ? *there : onnx_default(seen->n->graph->cx, formal);
    *out = val_of_attr(&a);
    return there ||
        (formal &&
         (a.kind != ATTR_NONE || !*formal->deflt)); /* a default that is a list is not read */
}

static Verdict by_rule(Legal *l, Node *n, const Rule *r, Ox *out)
{
    Seen seen = { r, n };
    RuleEnv env = {
        .g = n->graph, .target = l->target, .lookup = look_up, .arg = &seen, .like = in_of(n, 0)
    };
    switch (rule_apply(r, &env, out, 1)) {
    case RULE_DONE:     return CHANGED;
    case RULE_NO_MATCH: return AS_IT_IS;
    default:            return REFUSED;
    }
}

/* What there is for an operator: its rule of legal.rules, its function; NULL where it has none. */
typedef struct Ways {
    const Rule *rule;
    const LegalOp *op;
} Ways;

static const Ways *ways_of(Legal *l, Str name)
{
    Ways *ways = map_get(&l->ways, name);
    if (ways)
        return ways;
    ways = new(l->cx, Ways);
    ways->rule = rule_named(l->cx, &l->rules, name->s, name->len);
    for (size_t i = 0; i < COUNT(legal_ops) && !ways->op; i++)
        if (str_is(name, legal_ops[i].op))
            ways->op = &legal_ops[i];
    map_put(l->cx, &l->ways, name, ways);
    return ways;
}

static Verdict alternative(Legal *l, Node *n, Ox *out)
{
    const Ways *ways = ways_of(l, n->name);
    const Rule *r = ways->rule;
    const LegalOp *op = ways->op;
    bool too_new = r && l->target < r->before;
    bool stuck = r && l->ort && !runs_somehow(n, l->target);
    bool inexact = loses_digits(n);
    Verdict v = too_new || stuck || (r && inexact) ? by_rule(l, n, r, out) : AS_IT_IS;
    if (v != AS_IT_IS)
        return v;
    if (l->ort && !runs_somehow(n, l->target) && (out[0] = double_form(n)))
        return CHANGED;
    return op && (l->target < op->before || inexact) ? op->fn(l, n, out) : AS_IT_IS;
}

/* ---- one node ---- */

static bool legal_node(Legal *l, Node *n, int depth);

/* Takes the nodes emitted since `from` out of the graph. They are dead meanwhile, so that no new
 * node is replaced by one of them. */
static Node **take_back(Legal *l, Graph *g, size_t from)
{
    size_t count = g->nodes.n - from;
    for (size_t i = from; i < g->nodes.n; i++)
        g->nodes.at[i]->dead = true;
    g->nodes.n = from;
    return count ? mem_copy(l->cx, g->nodes.at + from, count * sizeof(Node *)) : NULL;
}

/* Legalises the nodes emitted since `from`. */
static bool legal_nodes(Legal *l, Node *n, size_t from, int depth)
{
    Graph *g = n->graph;
    size_t count = g->nodes.n - from;
    if (count == 0)
        return true;
    Node **made = take_back(l, g, from);
    if (!made)
        return false;
    for (size_t i = 0; i < count; i++) {
        Node *m = made[i];
        m->dead = false;
        m->at = m->at ? m->at : n->at;
        for (int k = 0; k < m->n_in; k++)
            m->in[k] = current(l->rw, m->in[k]);
        l->rw->placed = false;
        if (!legal_node(l, m, depth + 1))
            return false;
        m->dead = gone(l->rw, m);
        if (!m->dead && !l->rw->placed)
            vec_push(l->cx, &g->nodes, m);
    }
    return true;
}

/* Forms whose items are sizes again (a Clip as Max and Min) become nodes: sizes that operators need
 * had theirs before. */
static bool sizes_in_place(Graph *g, Ox *out, int n_out)
{
    for (int i = 0; i < n_out; i++)
        if (out[i])
            out[i] = dims_to_nodes(g, out[i], NULL);
    return !ctx_failed(g->cx);
}

/* n as the target takes it: by another form, whose nodes are legalised in turn (depth counts how
 * often), else in place. A refusal is noted, and false is an error. */
static bool legal_node(Legal *l, Node *n, int depth)
{
    if (!n->op)
        return true;
    /* Reshape's shape is made first: legal_reshape asks whether a 0 in it may mislead. */
    if (node_is(n, "Reshape") && !dims_step(l->rw, n))
        return false;
    Ox out[MAX_OUT] = { NULL };
    size_t from = n->graph->nodes.n;
    Verdict v = n->n_out <= MAX_OUT && depth < MAX_DEPTH ? alternative(l, n, out) : AS_IT_IS;
    if (v == REFUSED)
        return !ctx_failed(l->cx);
    if (v == AS_IT_IS) {
        take_back(l, n->graph,
                  from); /* nodes that a rule has made before it turned out not to match */
        if (!dims_step(l->rw, n))
            return false;
        if (!form_lower(n->graph, n, l->target))
            return !ctx_failed(l->cx);
        return fix_types(l->rw, n, l->target, l->ort);
    }
    if (!sizes_in_place(n->graph, out, n->n_out) || !legal_nodes(l, n, from, depth))
        return false;
    l->rw->placed = false;
    for (int i = 0; i < n->n_out; i++)
        if (out[i] && ox_ok(out[i]))
            replace(l->rw, n->out[i], current(l->rw, out[i]));
    return !ctx_failed(l->cx);
}

static bool legal_step(Rewrite *rw, Node *n)
{
    Legal *l = rw->arg;
    l->rw = rw;
    return legal_node(l, n, 0);
}

/* ---- the pass ---- */

bool legalise(Graph *g, const TidyOptions *o)
{
    Legal l = { .cx = g->cx,
                .target = o->opset < ONNX_NEWEST ? o->opset : ONNX_NEWEST,
                .ort = o->target_ort };
    if (o->opset >= ONNX_NEWEST && !o->target_ort)
        return true;
    l.rules = rule_set(l.cx, "legal.rules", rules_legal, &legal_names);
    return rewrite(g, o, legal_step, &l);
}
