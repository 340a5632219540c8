/* cumulative.c - running along an axis: sums, products, extremes, integrals, differences.
 *
 * ONNX has CumSum, and CumProd from opset 26 on; everything else is a Scan whose body is one
 * step in PyTorch's own order, so that rounding, ties and not-a-number come out the same, at any
 * length. */
#include "ops/elementwise/complex.h"

#include <math.h>

/* ---- a Scan over one axis ---- */

enum { MAX_STATES = 2 };
typedef struct Running {
    Ox x;
    int axis;
    Ox start[MAX_STATES];
    int n;              /* a 0-d value for every place of a state */
    Ox out[MAX_STATES]; /* what each state was after every step, along axis */
} Running;
/* x: one element an axis; at: which one it is, 0-d int64, NULL with one state. */
typedef void (*StepFn)(Op *body, Ox x, Ox at, const Ox *state, Ox *next);

/* The body: its results are the states, and the states once more as what is stacked. */
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

/* ONNX Runtime has no Scan of no steps: where the axis may be empty, a step on the start itself
 * goes first and is cut off again. */
static Ox with_first_step(Op *op, const Running *r)
{
    Dim one[MAX_RANK];
    memcpy(one, r->x->type->dim, (size_t)ox_rank(r->x) * sizeof *one);
    one[r->axis] = dim_int(op->cx, 1);
    Ox first = expand_dims(op, r->start[0], one, ox_rank(r->x));
    return concat_axis(op, (const Ox[]){ first, r->x }, 2, r->axis);
}

/* ONNX Runtime's Scan of an empty tensor along another axis than the first divides by zero: where a
 * step may be empty, the axis is put first. */
static bool first_axis(Op *op, Running *r, StepFn step)
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

static bool scan_axis(Op *op, Running *r, StepFn step)
{
    Dim rest[MAX_RANK];
    Dim size = ox_dim(r->x, r->axis);
    Dim one = dim_int(op->cx, 1);
    int n_rest = 0;
    bool maybe_empty = dim_le(op->cx, one, size) != YES;
    bool empty_step = false;
    int64_t in_axes[] = { r->axis, 0 };
    int64_t out_axes[] = { r->axis, r->axis };
    Ox in[MAX_STATES + 2], made[2 * MAX_STATES];
    for (int i = 0; i < ox_rank(r->x); i++)
        if (i != r->axis) {
            rest[n_rest] = ox_dim(r->x, i);
            empty_step = empty_step || dim_le(op->cx, one, rest[n_rest]) != YES;
            n_rest++;
        }
    if (empty_step && r->axis > 0)
        return first_axis(op, r, step);
    for (int i = 0; i < r->n; i++)
        in[i] = expand_dims(op, r->start[i], rest, n_rest);
    in[r->n] = maybe_empty ? with_first_step(op, r) : r->x;
    size_t n = (size_t)r->n;
    size_t scanned = 1;
    if (n > 1) {
        Ox from = ox_int(op->g, maybe_empty ? -1 : 0);
        Ox to = ox_dim_value(op->g, size);
        Ox by = ox_int(op->g, 1);
        in[n + scanned++] = ox(op, "Range", from, to, by);
    }
    Graph *body = scan_body(op, r, rest, n_rest, step);
    if (!body)
        return false;
    Attr attrs[] = { SUBGRAPH("body", body), INT("num_scan_inputs", (int64_t)scanned),
                     INT_LIST("scan_input_axes", in_axes, scanned),
                     INT_LIST("scan_output_axes", out_axes, n) };
    if (!ox_make_n(op->g, "Scan", (OxList){ in, n + scanned }, attrs, COUNT(attrs), made, 2 * n))
        return false;
    for (size_t i = 0; i < n; i++)
        r->out[i] = maybe_empty
            ? slice_axis(op, made[n + i], r->axis, one, dim_add(op->cx, size, one), 1)
            : made[n + i];
    return !ctx_failed(op->cx);
}

/* self and its axis `dim`; *alone: there is nothing to run along, the result is x itself */
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
    bool narrow = dtype_is_int(ox_dtype(x)) &&
        dtype_size(ox_dtype(x)) < 4; /* the lower bits of a sum in 32 are the same */
    Ox sum = ox(op, "CumSum", narrow ? ox_cast(op->g, x, DT_INT32) : x, at);
    return narrow && ox_ok(sum) ? ox_cast(op->g, sum, ox_dtype(x)) : sum;
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
    Running r = { .x = x, .axis = axis, .start = { number_like(op, 1, x) }, .n = 1 };
    return scan_axis(op, &r, multiply) ? r.out[0] : POISON;
}

/* log(exp(a) + exp(b)) without overflow; two equal infinities stay what they are */
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
    if (!dtype_is_float(ox_dtype(x)) && !ox_is_complex(x))
        return op_fail(op, E_VALUE, "\"logcumsumexp_out_cpu\" not implemented for '%s'",
                       torch_dtype_name(ox_dtype(x)));
    Running r = { .x = x, .axis = axis, .start = { number_like(op, -INFINITY, x) }, .n = 1 };
    return alone                                                            ? x
        : scan_axis(op, &r, ox_is_complex(x) ? add_complex_logs : add_logs) ? r.out[0]
                                                                            : POISON;
}

/* ---- extremes: of equal ones the last is named, and nothing replaces a not-a-number but the next
 * one ---- */

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
    bool alone, max = op->row->datum, narrow;
    if (!along(op, &r.x, &r.axis, &alone))
        return val_poison();
    if (alone) {
        Ox zeros = expand_dims(op, ox_int(op->g, 0), r.x->type->dim, ox_rank(r.x));
        return result_tuple(op, (const Ox[]){ r.x, zeros }, 2);
    }
    narrow = ox_dtype(r.x) == DT_BOOL;
    r.x = narrow ? ox_cast(op->g, r.x, DT_INT32) : r.x;
    r.start[0] = outdone(op, r.x, max);
    r.start[1] = ox_int(op->g, 0);
    if (!scan_axis(op, &r, max ? take_most : take_least))
        return val_poison();
    if (narrow)
        r.out[0] = ox_cast(op->g, r.out[0], DT_BOOL);
    return result_tuple(op, r.out, 2);
}

#define LONG "bool-to-long(self)"

const OpRow ops_cumulative[] = {
    LOWER(lower_cumsum, LONG, PLAIN,
          "aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor"),
    LOWER(lower_cumprod, LONG, PLAIN,
          "aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor"),
    LOWER(lower_logcumsumexp, NULL, PLAIN, "aten::logcumsumexp(Tensor self, int dim) -> Tensor"),
    CALL_FAMILY(lower_cummax, 1, NULL, PLAIN,
                "aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)"),
    CALL_FAMILY(lower_cummax, 0, NULL, PLAIN,
                "aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)"),
    OPS_END
};
