/* infer_elementwise.c - operators that work item by item: output shapes are broadcasts of input
 * shapes. Contents of small int tensors go through the arithmetic that shapes are made of; what is
 * not exact on symbols (division that truncates, products that may wrap) is left unknown. */
#include "onnx/infer/infer.h"

/* ---- contents ---- */

typedef enum { I_ADD, I_SUB, I_MUL, I_DIV, I_MOD, I_MIN, I_MAX } ItemOp;

/* Wraps as int64 arithmetic does; false where ONNX leaves the result open. */
static bool number_apply(ItemOp op, int64_t a, int64_t b, int64_t *out)
{
    switch (op) {
    case I_ADD: *out = (int64_t)((uint64_t)a + (uint64_t)b); return true;
    case I_SUB: *out = (int64_t)((uint64_t)a - (uint64_t)b); return true;
    case I_MUL: *out = (int64_t)((uint64_t)a * (uint64_t)b); return true;
    case I_DIV:
        if (b == 0 || (a == INT64_MIN && b == -1))
            return false;
        *out = a / b; /* truncates, as ONNX does */
        return true;
    case I_MOD:
        if (b == 0 || b == -1)
            return *out = 0, b != 0;
        *out = a % b;
        if (*out != 0 && (*out < 0) != (b < 0))
            *out += b;
        return true;
    case I_MIN: *out = a < b ? a : b; return true;
    case I_MAX: *out = a > b ? a : b; return true;
    }
    return false;
}

/* Large numbers next to a symbol would overflow where int64 wraps: such items stay unknown. */
static bool tame(Dim d)
{
    int64_t v;
    return !dim_known(d, &v) || (v > -(INT64_C(1) << 40) && v < INT64_C(1) << 40);
}

/* One item of the result from one of each operand; NULL when it is not known. Only what Python's
 * arithmetic and ONNX's agree on is computed on dimensions. */
static Dim item_apply(Ctx *cx, ItemOp op, Dim a, Dim b)
{
    int64_t x, y, lo, hi, lo_b, hi_b;
    if (!a || !b)
        return NULL;
    if (dim_known(a, &x) && dim_known(b, &y))
        return number_apply(op, x, y, &x) ? dim_int(cx, x) : NULL;
    if (op == I_MIN)
        return dim_min(cx, a, b);
    if (op == I_MAX)
        return dim_max(cx, a, b);
    if (!tame(a) || !tame(b))
        return NULL;
    switch (op) {
    case I_ADD: return dim_add(cx, a, b);
    case I_SUB: return dim_sub(cx, a, b);
    case I_MUL: return dim_mul(cx, a, b);
    default:    break;
    }
    dim_range(cx, a, &lo, &hi);
    dim_range(cx, b, &lo_b, &hi_b);
    if (lo_b < 1)
        return NULL; /* may divide by zero, or by a negative */
    if (op == I_MOD)
        return dim_mod(cx, a, b);
    return lo >= 0 ? dim_floordiv(cx, a, b) : NULL; /* below zero truncation is not floor */
}

/* d as an item of type t; NULL where an int32 may not hold it: it wraps then, which no dimension
 * expression does. */
static Dim fit(Ctx *cx, DType t, Dim d)
{
    int64_t v;
    if (t != DT_INT32 || !d)
        return d;
    bool fits = dim_known(d, &v) ? v >= INT32_MIN && v <= INT32_MAX
                                 : dim_is_small(cx, d, INT32_MAX);
    return fits ? d : NULL;
}

static Dim item_of(Ox v, int64_t i) { return item_at(v, v->n_items == 1 ? 0 : i); }

/* out[i] = ((in0 op in1) op in2) ..., each item for itself */
static void fold_items(Node *n, ItemOp op)
{
    int64_t count;
    Dim items[MAX_ITEMS];
    if (!may_have_items(n->out[0], &count))
        return;
    for (int64_t i = 0; i < count; i++) {
        items[i] = item_of(n->in[0], i);
        for (int k = 1; k < n->n_in; k++)
            items[i] = fit(node_cx(n), ox_dtype(n->out[0]),
                           item_apply(node_cx(n), op, items[i], item_of(n->in[k], i)));
    }
    out_items(n, 0, items, count);
}

/* ---- shapes ---- */

static bool broadcast_all(Node *n, DType t)
{
    Shape s = shape_of(n->in[0]);
    for (int i = 1; i < n->n_in; i++) {
        Shape with = shape_of(n->in[i]);
        if (!shape_broadcast(n, &s, &with))
            return false;
    }
    return out_shape(n, 0, t, &s);
}

static bool broadcast_first(Node *n) { return broadcast_all(n, ox_dtype(n->in[0])); }
static bool broadcast_bool(Node *n) { return broadcast_all(n, DT_BOOL); }
static bool same_first(Node *n) { return out_like(n, 0, ox_dtype(n->in[0]), n->in[0]); }
static bool same_bool(Node *n) { return out_like(n, 0, DT_BOOL, n->in[0]); }

static bool with_items(Node *n, ItemOp op)
{
    if (!broadcast_first(n))
        return false;
    fold_items(n, op);
    return true;
}

static bool infer_add(Node *n) { return with_items(n, I_ADD); }
static bool infer_sub(Node *n) { return with_items(n, I_SUB); }
static bool infer_mul(Node *n) { return with_items(n, I_MUL); }
static bool infer_div(Node *n) { return with_items(n, I_DIV); }
static bool infer_min(Node *n) { return with_items(n, I_MIN); }
static bool infer_max(Node *n) { return with_items(n, I_MAX); }

static bool infer_mod(Node *n)
{
    return node_int(n, "fmod", 0) ? broadcast_first(n)
                                  : with_items(n, I_MOD); /* fmod takes the other sign */
}

/* Any type passes, sequences too. */
static bool infer_identity(Node *n)
{
    Ox x = n->in[0];
    set_out_type(n, 0, x->type);
    if (x->items)
        out_items(n, 0, x->items, x->n_items);
    return true;
}

static bool infer_neg(Node *n)
{
    Dim items[MAX_ITEMS];
    int64_t count;
    if (!same_first(n))
        return false;
    if (may_have_items(n->out[0], &count)) {
        for (int64_t i = 0; i < count; i++)
            items[i] = fit(
                node_cx(n), ox_dtype(n->out[0]),
                item_apply(node_cx(n), I_SUB, dim_int(node_cx(n), 0), item_of(n->in[0], i)));
        out_items(n, 0, items, count);
    }
    return true;
}

/* Items that cannot be negative are their own Abs. */
static bool infer_abs(Node *n)
{
    Dim items[MAX_ITEMS];
    int64_t count, lo, hi;
    if (!same_first(n))
        return false;
    if (may_have_items(n->out[0], &count)) {
        for (int64_t i = 0; i < count; i++) {
            items[i] = item_of(n->in[0], i);
            if (!items[i])
                continue;
            dim_range(node_cx(n), items[i], &lo, &hi);
            if (lo < 0)
                items[i] = NULL;
        }
        out_items(n, 0, items, count);
    }
    return true;
}

static bool cast_to(Node *n, DType to)
{
    Ox x = n->in[0];
    Dim items[MAX_ITEMS];
    if (!out_like(n, 0, to, x))
        return false;
    for (int64_t i = 0; x->items && i < x->n_items; i++)
        items[i] = fit(node_cx(n), to, x->items[i]);
    if (x->items)
        out_items(n, 0, items, x->n_items);
    return true;
}

static bool infer_cast(Node *n)
{
    int64_t to = node_int(n, "to", 0);
    if (to <= 0 || to >= DT_COUNT)
        return node_fail(n, "%lld is not an element type", (long long)to);
    return cast_to(n, (DType)to);
}

static bool infer_cast_like(Node *n) { return cast_to(n, ox_dtype(n->in[1])); }

/* BitCast: the same bits as another type of the same width. */
static bool infer_bitcast(Node *n)
{
    int64_t to = node_int(n, "to", 0);
    if (to <= 0 || to >= DT_COUNT ||
        dtype_bytes((DType)to, 8) != dtype_bytes(ox_dtype(n->in[0]), 8))
        return node_fail(n, "cannot read %s as type %lld: the widths differ",
                         dtype_name(ox_dtype(n->in[0])), (long long)to);
    return out_like(n, 0, (DType)to, n->in[0]);
}

/* Where(cond, x, y): with a known condition the items are picked. */
static bool infer_where(Node *n)
{
    Shape s = shape_of(n->in[0]);
    Ox x = n->in[1];
    Ox y = n->in[2];
    Shape sx = shape_of(x);
    Shape sy = shape_of(y);
    if (!shape_broadcast(n, &s, &sx) || !shape_broadcast(n, &s, &sy) ||
        !out_shape(n, 0, ox_dtype(x), &s))
        return false;
    const int64_t *cond = NULL;
    int64_t n_cond = 0, count;
    bool known = node_in_ints(n, 0, &cond, &n_cond);
    Dim items[MAX_ITEMS];
    if (!may_have_items(n->out[0], &count))
        return true;
    for (int64_t i = 0; i < count; i++) {
        Dim a = item_of(x, i);
        Dim b = item_of(y, i);
        items[i] = NULL;
        if (!known || n_cond <= 0) {
            if (a && b && dim_eq(node_cx(n), a, b) == YES)
                items[i] = a;
            continue;
        }
        bool first = cond[n_cond == 1 ? 0 : i];
        items[i] = first ? a : b;
    }
    out_items(n, 0, items, count);
    return true;
}

/* slope is stretched to x, never x to slope */
static bool infer_prelu(Node *n)
{
    Shape x = shape_of(n->in[0]);
    Shape both = x;
    Shape slope = shape_of(n->in[1]);
    if (x.rank >= 0 && slope.rank > x.rank)
        return node_fail(n, "slope has rank %d, more than the input's %d", slope.rank, x.rank);
    return shape_broadcast(n, &both, &slope) && out_shape(n, 0, ox_dtype(n->in[0]), &x);
}

const InferRow infer_elementwise[] = { { "Abs", infer_abs },
                                       { "Acos", same_first },
                                       { "Acosh", same_first },
                                       { "Add", infer_add },
                                       { "And", broadcast_bool },
                                       { "Asin", same_first },
                                       { "Asinh", same_first },
                                       { "Atan", same_first },
                                       { "Atanh", same_first },
                                       { "BitCast", infer_bitcast },
                                       { "BitShift", broadcast_first },
                                       { "BitwiseAnd", broadcast_first },
                                       { "BitwiseNot", same_first },
                                       { "BitwiseOr", broadcast_first },
                                       { "BitwiseXor", broadcast_first },
                                       { "Cast", infer_cast },
                                       { "CastLike", infer_cast_like },
                                       { "Ceil", same_first },
                                       { "Celu", same_first },
                                       { "Clip", same_first },
                                       { "Cos", same_first },
                                       { "Cosh", same_first },
                                       { "Div", infer_div },
                                       { "Elu", same_first },
                                       { "Equal", broadcast_bool },
                                       { "Erf", same_first },
                                       { "Exp", same_first },
                                       { "Floor", same_first },
                                       { "Gelu", same_first },
                                       { "Greater", broadcast_bool },
                                       { "GreaterOrEqual", broadcast_bool },
                                       { "HardSigmoid", same_first },
                                       { "HardSwish", same_first },
                                       { "Identity", infer_identity },
                                       { "IsInf", same_bool },
                                       { "IsNaN", same_bool },
                                       { "LeakyRelu", same_first },
                                       { "Less", broadcast_bool },
                                       { "LessOrEqual", broadcast_bool },
                                       { "Log", same_first },
                                       { "Max", infer_max },
                                       { "Mean", broadcast_first },
                                       { "Min", infer_min },
                                       { "Mish", same_first },
                                       { "Mod", infer_mod },
                                       { "Mul", infer_mul },
                                       { "Neg", infer_neg },
                                       { "Not", same_bool },
                                       { "Or", broadcast_bool },
                                       { "PRelu", infer_prelu },
                                       { "Pow", broadcast_first },
                                       { "Reciprocal", same_first },
                                       { "Relu", same_first },
                                       { "Round", same_first },
                                       { "Selu", same_first },
                                       { "Shrink", same_first },
                                       { "Sigmoid", same_first },
                                       { "Sign", same_first },
                                       { "Sin", same_first },
                                       { "Sinh", same_first },
                                       { "Softplus", same_first },
                                       { "Softsign", same_first },
                                       { "Sqrt", same_first },
                                       { "Sub", infer_sub },
                                       { "Sum", infer_add },
                                       { "Swish", same_first },
                                       { "Tan", same_first },
                                       { "Tanh", same_first },
                                       { "ThresholdedRelu", same_first },
                                       { "Where", infer_where },
                                       { "Xor", broadcast_bool },
                                       { 0 } };
