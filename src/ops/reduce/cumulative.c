/* cumulative.c - running sums, products and extremes along an axis.
 *
 * ONNX has CumSum, and CumProd from opset 26 on. Everything else is a Scan, whose body takes one
 * element in PyTorch's own order: rounding, ties and not-a-number are the same, at any length. */
#include "ops/elementwise/complex.h"

#include <math.h>

/* ---- a Scan over one axis ---- */

enum { MAX_STATES = 2 };
typedef struct Running {
    Ox x;
    int axis;
    int n;                /* of states */
    Ox start[MAX_STATES]; /* the number (0-d) that each element of a state is before the first step
                           */
    Ox out[MAX_STATES];   /* set by scan_axis: each state after every step, stacked along axis */
} Running;
/* One step: `next` from `state` and x, an item of the axis (x[:, k] for axis 1). at: k, 0-d int64;
 * NULL with one state. */
typedef void (*StepFn)(Op *body, Ox x, Ox at, const Ox *state, Ox *next);

/* The Scan's body. It gives every state twice: as the next step's state, and to be stacked. NULL
 * after an error. */
static Graph *scan_body(Op *op, const Running *r, const Dim *rest, int n_rest, StepFn step)
{
    Op body = *op;
    Ox state[MAX_STATES], next[MAX_STATES] = { POISON, POISON };
    body.g = graph_new(op->cx, op->g, str_of(op->cx, "step"));
    for (int i = 0; i < r->n; i++)
        state[i] = graph_input(body.g, NULL,
                               type_tensor(op->cx, ox_dtype(r->start[i]), n_rest, rest));
    Ox x = graph_input(body.g, NULL, type_tensor(op->cx, ox_dtype(r->x), n_rest, rest));
    Ox at = r->n > 1 ? graph_input(body.g, NULL, type_tensor(op->cx, DT_INT64, 0, NULL)) : NULL;
    step(&body, x, at, state, next);
    for (int i = 0; i < r->n; i++)
        graph_output(body.g, next[i], NULL);
    for (int i = 0; i < r->n; i++)
        graph_output(body.g, ox(&body, "Identity", next[i]), NULL);
    return ctx_failed(op->cx) ? NULL : body.g;
}

static bool scan_axis(Op *op, Running *r, StepFn step);

/* ONNX Runtime runs no Scan of no steps. Where the axis may be empty, the start itself goes first
 * as one more item, and scan_axis cuts off the result of its step. */
static Ox with_first_step(Op *op, const Running *r)
{
    Dim one[MAX_RANK];
    ox_sizes(r->x, one);
    one[r->axis] = dim_int(op->cx, 1);
    Ox first = expand_dims(op, r->start[0], one, ox_rank(r->x));
    return concat_axis(op, (const Ox[]){ first, r->x }, 2, r->axis);
}

/* ONNX Runtime's Scan divides by zero where an item is empty and the axis is not the first: where
 * items may be empty, the axis is put first. */
static bool scan_first_axis(Op *op, Running *r, StepFn step)
{
    int front[MAX_RANK] = { r->axis };
    int back[MAX_RANK];
    int n = 1;
    int rank = ox_rank(r->x);
    for (int i = 0; i < rank; i++)
        if (i != r->axis)
            front[n++] = i;
    for (int i = 0; i < rank; i++)
        back[front[i]] = i;
    Running turned = *r;
    turned.x = permute_to(op, r->x, front, rank);
    turned.axis = 0;
    if (!ox_ok(turned.x) || !scan_axis(op, &turned, step))
        return false;
    for (int i = 0; i < r->n; i++)
        r->out[i] = permute_to(op, turned.out[i], back, rank);
    return !ctx_failed(op->cx);
}

static bool may_be_empty(Op *op, Dim size)
{
    return dim_le(op->cx, dim_int(op->cx, 1), size) != YES;
}

/* The shape of one item of the axis into `rest`: x's without that axis. Returns its rank; *empty:
 * an item may have no elements. */
static int item_shape(Op *op, const Running *r, Dim *rest, bool *empty)
{
    int n = 0;
    *empty = false;
    for (int i = 0; i < ox_rank(r->x); i++)
        if (i != r->axis) {
            rest[n] = ox_dim(r->x, i);
            *empty = *empty || may_be_empty(op, rest[n]);
            n++;
        }
    return n;
}

/* The Scan's inputs behind its r->n states: x, and with several states the number of each item,
 * where the one that goes first is -1. Returns how many. */
static size_t scanned_inputs(Op *op, const Running *r, bool first_step, Ox *in)
{
    in[0] = first_step ? with_first_step(op, r) : r->x;
    if (r->n == 1)
        return 1;
    Ox from = ox_int(op->g, first_step ? -1 : 0);
    Ox to = ox_dim_value(op->g, ox_dim(r->x, r->axis));
    Ox by = ox_int(op->g, 1);
    in[1] = ox(op, "Range", from, to, by);
    return 2;
}

/* Runs `step` along the axis and sets r->out. False after an error. */
static bool scan_axis(Op *op, Running *r, StepFn step)
{
    Dim rest[MAX_RANK];
    Ox in[MAX_STATES + 2], made[2 * MAX_STATES];
    int64_t in_axes[] = { r->axis, 0 };
    int64_t out_axes[] = { r->axis, r->axis };
    size_t n = (size_t)r->n;
    Dim size = ox_dim(r->x, r->axis);
    bool first_step = may_be_empty(op, size);
    bool empty_item;
    int n_rest = item_shape(op, r, rest, &empty_item);
    if (empty_item && r->axis > 0)
        return scan_first_axis(op, r, step);
    for (size_t i = 0; i < n; i++)
        in[i] = expand_dims(op, r->start[i], rest, n_rest);
    size_t scanned = scanned_inputs(op, r, first_step, in + n);
    Graph *body = scan_body(op, r, rest, n_rest, step);
    if (!body)
        return false;
    Attr attrs[] = { SUBGRAPH("body", body), INT("num_scan_inputs", (int64_t)scanned),
                     INT_LIST("scan_input_axes", in_axes, scanned),
                     INT_LIST("scan_output_axes", out_axes, n) };
    if (!ox_make_n(op->g, "Scan", (OxList){ in, n + scanned }, attrs, COUNT(attrs), made, 2 * n))
        return false;
    Dim one = dim_int(op->cx, 1);
    Dim end = dim_add(op->cx, size, one);
    for (size_t i = 0; i < n; i++)
        r->out[i] = first_step ? slice_axis(op, made[n + i], r->axis, one, end, 1) : made[n + i];
    return !ctx_failed(op->cx);
}

/* Argument self and its axis `dim`. *alone: the axis has at most one element, so the result is x
 * itself. False after an error. */
static bool along(Op *op, Ox *x, int *axis, bool *alone)
{
    int rank;
    *x = arg(op, "self");
    if (!need_rank(op, *x, -1, &rank) || !arg_dim(op, "dim", rank, axis))
        return false;
    *alone = rank == 0 || dim_le(op->cx, ox_dim(*x, *axis), dim_int(op->cx, 1)) == YES;
    return true;
}

/* ---- sums and products ---- */

static Ox lower_cumsum(Op *op)
{
    Ox x;
    int axis;
    bool alone;
    if (!along(op, &x, &axis, &alone))
        return POISON;
    Ox at = ox_int(op->g, axis);
    if (ox_rank(x) == 0)
        return x;
    bool narrow = dtype_is_int(ox_dtype(x)) && dtype_size(ox_dtype(x)) < 4;
    /* CumSum takes no narrow ints; the low bits of a sum in int32 are the same */
    Ox sum = ox(op, "CumSum", narrow ? ox_cast(op->g, x, DT_INT32) : x, at);
    return narrow ? ox_cast(op->g, sum, ox_dtype(x)) : sum;
}

/* What one state has become after every step, of x's type. As PyTorch's it is not rounded to
 * float16 or bfloat16 from step to step. */
static Ox running(Op *op, Ox x, int axis, double start, StepFn step)
{
    Ox kept = widened(op, x);
    if (!ox_ok(kept))
        return POISON;
    Running r = { .x = kept, .axis = axis, .start = { number_like(op, start, kept) }, .n = 1 };
    return scan_axis(op, &r, step) ? ox_cast(op->g, r.out[0], ox_dtype(x)) : POISON;
}

static void multiply(Op *body, Ox x, Ox at, const Ox *state, Ox *next)
{
    (void)at;
    next[0] = each_mul(body, state[0], x);
}

static Ox lower_cumprod(Op *op)
{
    Ox x;
    int axis;
    bool alone;
    if (!along(op, &x, &axis, &alone))
        return POISON;
    if (alone)
        return x;
    if (op->g->target >= 26 &&
        onnx_takes(onnx_op(op->cx, "CumProd"), ONNX_NEWEST, 0, ox_dtype(x))) {
        Ox at = ox_int(op->g, axis);
        return ox(op, "CumProd", x, at);
    }
    return running(op, x, axis, 1, multiply);
}

/* log(exp(a) + exp(b)) without overflow; two equal infinities stay as they are. */
static void add_logs(Op *body, Ox x, Ox at, const Ox *state, Ox *next)
{
    (void)at;
    Ox most = ox(body, "Max", state[0], x);
    Ox away = ox(body, "Sub", state[0], x);
    Ox size = ox(body, "Abs", away);
    Ox less = ox(body, "Neg", size);
    Ox ratio = ox(body, "Exp", less);
    Ox one = number_like(body, 1, x);
    Ox sum = ox(body, "Add", ratio, one);
    Ox more = ox(body, "Log", sum);
    Ox both = ox(body, "Add", most, more);
    Ox same = ox(body, "Equal", state[0], x);
    Ox infinite = ox(body, "IsInf", x);
    Ox stays = ox(body, "And", same, infinite);
    next[0] = ox(body, "Where", stays, x, both);
}

static void add_complex_logs(Op *body, Ox x, Ox at, const Ox *state, Ox *next)
{
    (void)at;
    Z so_far = z_parts(body, state[0]);
    Z z = z_parts(body, x);
    next[0] = z_joined(body, z_log_sum(body, so_far, z));
}

static Ox lower_logcumsumexp(Op *op)
{
    Ox x;
    int axis;
    bool alone;
    if (!along(op, &x, &axis, &alone))
        return POISON;
    bool has = dtype_is_float(ox_dtype(x)) || ox_is_complex(x);
    if (!need_kernel(op, "logcumsumexp_out_cpu", ox_dtype(x), has))
        return POISON;
    if (alone)
        return x;
    return running(op, x, axis, -INFINITY, ox_is_complex(x) ? add_complex_logs : add_logs);
}

/* ---- extremes ---- */

/* state[0] is the extreme so far, state[1] where it is. The last one of equal elements is named,
 * and only another not-a-number replaces a not-a-number. */
static void take_extreme(Op *body, const char *reaches, Ox x, Ox at, const Ox *state, Ox *next)
{
    Ox taken = ox(body, reaches, x, state[0]);
    if (dtype_is_float(ox_dtype(x))) {
        Ox nan = ox(body, "IsNaN", x);
        taken = ox(body, "Or", taken, nan);
    }
    next[0] = ox(body, "Where", taken, x, state[0]);
    next[1] = ox(body, "Where", taken, at, state[1]);
}

static void take_most(Op *body, Ox x, Ox at, const Ox *state, Ox *next)
{
    take_extreme(body, "GreaterOrEqual", x, at, state, next);
}
static void take_least(Op *body, Ox x, Ox at, const Ox *state, Ox *next)
{
    take_extreme(body, "LessOrEqual", x, at, state, next);
}

/* row->datum: 1 cummax, 0 cummin */
static Value lower_cummax(Op *op)
{
    Running r = { .n = 2 };
    bool max = op->row->datum;
    bool alone;
    if (!along(op, &r.x, &r.axis, &alone))
        return val_poison();
    if (alone) {
        Ox zeros = expand_dims(op, ox_int(op->g, 0), r.x->type->dim, ox_rank(r.x));
        return result_tuple(op, (const Ox[]){ r.x, zeros }, 2);
    }
    bool bools = ox_dtype(r.x) == DT_BOOL;
    r.x = bools ? ox_cast(op->g, r.x, DT_INT32) : r.x;
    r.start[0] = outdone(op, r.x, max);
    r.start[1] = ox_int(op->g, 0);
    if (!scan_axis(op, &r, max ? take_most : take_least))
        return val_poison();
    if (bools)
        r.out[0] = ox_cast(op->g, r.out[0], DT_BOOL);
    return result_tuple(op, r.out, 2);
}

#define LONG "bool-to-long(self)"

OP_ROWS(cumulative)
{
    LOWER(lower_cumsum, LONG, PLAIN,
          "aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor");
    LOWER(lower_cumprod, LONG, PLAIN,
          "aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor");
    LOWER(lower_logcumsumexp, NULL, PLAIN, "aten::logcumsumexp(Tensor self, int dim) -> Tensor");
    CALL_FAMILY(lower_cummax, 1, NULL, PLAIN,
                "aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)");
    CALL_FAMILY(lower_cummax, 0, NULL, PLAIN,
                "aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)");
}
