/* observed.c - aten::fused_moving_avg_obs_fake_quant, which models of quantisation-aware training
 * contain until they are converted.
 *
 * The operator observes its input (a moving average of the least and of the largest number, kept in
 * tensors of the caller), computes a scale from that range whenever it runs, and quantises and
 * dequantises x with it. Two more tensors say whether it observes and whether it quantises: mostly
 * buffers that are never written, so that one branch remains. The scale is computed in float64, as
 * PyTorch does it (ChooseQuantizationParams). */
#include <math.h>

#include "ops/quantized/quantized.h"

typedef struct Range {
    Ox low, high;
} Range;

/* A tensor of one element as a 0-d bool. */
static Ox flag(Op *op, const char *name)
{
    Ox v = arg(op, name);
    return ox_cast(op->g, reshape_to(op, v, NULL, 0), DT_BOOL);
}

static Tri flag_known(Op *op, Ox flag)
{
    double v;
    if (!ox_known_scalar(op->g, flag, &v))
        return UNKNOWN;
    return v != 0 ? YES : NO;
}

/* flag ? yes : no, a node only where the flag is not known. */
static Ox if_flag(Op *op, Ox flag, Ox yes, Ox no)
{
    switch (flag_known(op, flag)) {
    case YES: return yes;
    case NO:  return no;
    default:  return ox(op, "Where", flag, yes, no);
    }
}

/* ---- the observed range ---- */

/* The moving average: old + averaging_const (fresh - old); fresh in the first run, when old is
 * infinite. */
static Ox moved(Op *op, Ox old, Ox fresh)
{
    if (!ox_ok(old) || !ox_ok(fresh))
        return POISON;
    Ox first = ox(op, "IsInf", old);
    Ox away = ox(op, "Sub", fresh, old);
    Ox step = ox(op, "Mul", away, number_like(op, arg_float(op, "averaging_const"), old));
    Ox next = ox(op, "Add", old, step);
    return ox(op, "Where", first, fresh, next);
}

/* Moves the range *seen towards the least and the largest number of x, of each index of the axis,
 * or of all of x for axis -1. False after an error. */
static bool widen(Op *op, Ox x, int axis, Range *seen)
{
    if (ox_dtype(x) != DT_FLOAT)
        return fail(op->cx, E_VALUE, "expected scalar type Float but found %s",
                    dtype_name(ox_dtype(x)));
    if (axis > 0)
        return fail(
            op->cx, E_VALUE,
            "Per-channel FakeQuant in fused_moving_avg_obs_fake_quant only supported on axis == 0");
    Axes others = { 0 }; /* of no axes, reduce() makes all */
    if (axis == 0)
        for (int i = 1; i < ox_rank(x); i++) {
            others.at[others.n++] = i;
            others.has[i] = true;
        }
    Ox low = reduce(op, "ReduceMin", x, &others, false);
    Ox high = reduce(op, "ReduceMax", x, &others, false);
    if (!ox_ok(low) || !ox_ok(high) || ox_rank(seen->low) < 0 || ox_rank(seen->high) < 0)
        return false;
    low = reshape_to(op, low, seen->low->type->dim, ox_rank(seen->low));
    high = reshape_to(op, high, seen->high->type->dim, ox_rank(seen->high));
    seen->low = moved(op, seen->low, low);
    seen->high = moved(op, seen->high, high);
    return ox_ok(seen->low) && ox_ok(seen->high);
}

/* ---- the scale of a range ---- */

/* The range made as wide on both sides of 0, where it has numbers on both (`both`, of bools). */
static void symmetric_range(Op *op, Range *r, Ox both, int64_t least, int64_t most)
{
    int64_t up = (most - least) / 2;
    int64_t down = -(up + 1);
    Ox steps_down = number_like(op, (double)down, r->low);
    Ox steps_up = number_like(op, (double)up, r->low);
    Ox a = ox(op, "Abs", ox(op, "Div", r->low, steps_down));
    Ox b = ox(op, "Abs", ox(op, "Div", r->high, steps_up));
    Ox step = ox(op, "Max", a, b);
    Ox low = ox(op, "Mul", step, steps_down);
    Ox high = ox(op, "Mul", step, steps_up);
    r->low = ox(op, "Where", both, low, r->low);
    r->high = ox(op, "Where", both, high, r->high);
}

/* (high - low) / steps in float64; 0.1 where that is 0, and at least 6.1e-5, to which the range
 * grows then. */
static Ox scale_of(Op *op, Range *r, int64_t steps)
{
    Ox low = ox_cast(op->g, r->low, DT_DOUBLE);
    Ox high = ox_cast(op->g, r->high, DT_DOUBLE);
    Ox wide = ox(op, "Sub", high, low);
    Ox scale = ox(op, "Div", wide, number_like(op, (double)steps, wide));
    if (!ox_ok(scale))
        return POISON;
    Ox infinite = number_like(op, 0x1p-128, scale); /* the reciprocal of such a scale is */
    Ox nothing = ox(op, "LessOrEqual", scale, infinite);
    scale = ox(op, "Where", nothing, number_like(op, 0.1, scale), scale);
    if (!ox_ok(scale))
        return POISON;
    Ox least = number_like(op, (double)6.1e-5f, scale);
    Ox small = ox(op, "Less", scale, least);
    Ox single = ox_cast(op->g, scale, DT_FLOAT);
    Ox times = ox(op, "Div", number_like(op, (double)6.1e-5f, single), single);
    Ox less = ox(op, "Mul", r->low, times);
    Ox more = ox(op, "Mul", r->high, times);
    r->low = ox(op, "Where", small, less, r->low);
    r->high = ox(op, "Where", small, more, r->high);
    return ox(op, "Where", small, least, scale);
}

/* The zero point: computed from the end of the range that gives the smaller error, or the middle
 * step where the range is symmetric, and rounded to a step in range. */
static Ox zero_of(Op *op, const Range *r, Ox scale, Ox both, int64_t least, int64_t most)
{
    if (!ox_ok(scale) || !ox_ok(r->low) || !ox_ok(r->high))
        return POISON;
    Ox down = ox(op, "Div", ox_cast(op->g, r->low, DT_DOUBLE), scale);
    Ox up = ox(op, "Div", ox_cast(op->g, r->high, DT_DOUBLE), scale);
    Ox first = number_like(op, (double)least, scale);
    Ox last = number_like(op, (double)most, scale);
    Ox from_low = ox(op, "Sub", first, down);
    Ox from_high = ox(op, "Sub", last, up);
    Ox far_down = ox(op, "Abs", down);
    Ox far_up = ox(op, "Abs", up);
    Ox error_low = ox(op, "Sub", number_like(op, fabs((double)least), scale), far_down);
    Ox error_high = ox(op, "Sub", number_like(op, fabs((double)most), scale), far_up);
    Ox by_low = ox(op, "Less", error_low, error_high);
    Ox zero = ox(op, "Where", by_low, from_low, from_high);
    if (both)
        zero = ox(op, "Where", both, number_like(op, (double)(least + most) / 2, scale), zero);
    return ox(op, "Round", ox(op, "Clip", zero, first, last));
}

/* -> out: the scale in float32, and the zero point in int32, that quantise this range to steps from
 * least to most. False after an error. */
static bool choose_scale(Op *op, Range r, int64_t least, int64_t most, Ox out[2])
{
    double low, high;
    if (ox_known_scalar(op->g, r.low, &low) && ox_known_scalar(op->g, r.high, &high) && low > high)
        return fail(op->cx, E_VALUE,
                    "In ChooseQuantizationParams, min should be less than or equal to max");
    if (least >= most)
        return fail(op->cx, E_VALUE, "In ChooseQuantizationParams, qmin should be less than qmax");
    if (least < INT32_MIN || most > INT32_MAX) /* PyTorch keeps 32 bits of them */
        return fail(op->cx, E_VALUE, "quant_min %lld and quant_max %lld do not fit into 32 bits",
                    (long long)least, (long long)most);
    Ox nothing = number_like(op, 0, r.low);
    Ox both = NULL;
    if (arg_bool(op, "symmetric_quant")) {
        Ox below = ox(op, "Less", r.low, nothing);
        Ox above = ox(op, "Greater", r.high, nothing);
        both = ox(op, "And", below, above);
        symmetric_range(op, &r, both, least, most);
    }
    r.low = ox(op, "Min", r.low, nothing);
    r.high = ox(op, "Max", r.high, nothing);
    if (!ox_ok(r.low) || !ox_ok(r.high))
        return false;
    Ox scale = scale_of(op, &r, most - least);
    Ox zero = zero_of(op, &r, scale, both, least, most);
    if (!ox_ok(scale) || !ox_ok(zero))
        return false;
    out[0] = ox_cast(op->g, scale, DT_FLOAT);
    out[1] = ox_cast(op->g, zero, DT_INT32);
    return true;
}

/* ---- the operator ---- */

enum { OUT, WITHIN, LOW, HIGH, SCALE, ZERO, RESULTS };

/* A tensor of the caller's that keeps state. Those of channels are empty before the first run. */
static Ox kept(Op *op, const char *name)
{
    Ox v = arg(op, name);
    if (ox_ok(v) && ox_rank(v) == 1 && dim_is(ox_dim(v, 0), 0))
        return op_refuse(op, "it has observed nothing yet: run the model once before it is saved");
    return v;
}

/* v with the shape and type of the tensor that it is written to. */
static Ox shaped_as(Op *op, Ox v, Ox like)
{
    if (!ox_ok(v) || !ox_ok(like))
        return POISON;
    if (ox_rank(like) >= 0)
        v = reshape_to(op, v, like->type->dim, ox_rank(like));
    return ox_cast(op->g, v, ox_dtype(like));
}

/* Reads the state into out[LOW] to out[ZERO] as it is before this run. False after an error. */
static bool read_state(Op *op, Ox out[RESULTS])
{
    out[LOW] = kept(op, "running_min");
    out[HIGH] = kept(op, "running_max");
    out[SCALE] = kept(op, "scale");
    out[ZERO] = kept(op, "zero_point");
    for (int i = LOW; i < RESULTS; i++)
        if (!ox_ok(out[i]))
            return false;
    return !ctx_failed(op->cx);
}

/* out[OUT], the mask and the state where x is quantised; they are those of a run without that
 * before. False after an error. */
static bool quantise(Op *op, Ox x, int axis, Ox on, Ox out[RESULTS])
{
    bool masks = out[WITHIN] != NULL;
    int64_t least = arg_int(op, "quant_min");
    int64_t most = arg_int(op, "quant_max");
    Ox chosen[2];
    Ox within = NULL;
    if (!choose_scale(op, (Range){ out[LOW], out[HIGH] }, least, most, chosen))
        return false;
    Ox y = fake_quantize(op, x, chosen[0], chosen[1], axis, least, most, masks ? &within : NULL);
    out[OUT] = if_flag(op, on, y, x);
    out[WITHIN] = masks ? if_flag(op, on, within, out[WITHIN]) : NULL;
    out[SCALE] = if_flag(op, on, shaped_as(op, chosen[0], out[SCALE]), out[SCALE]);
    out[ZERO] = if_flag(op, on, shaped_as(op, chosen[1], out[ZERO]), out[ZERO]);
    return ox_ok(out[OUT]);
}

/* One run of the operator: its result, the mask of elements in range (NULL where the row returns
 * none) and the state behind it. False after an error. */
static bool observe(Op *op, Ox x, int axis, Ox out[RESULTS])
{
    Ox observes = flag(op, "observer_on");
    Ox quantises = flag(op, "fake_quant_on");
    if (!read_state(op, out) || !ox_ok(observes) || !ox_ok(quantises))
        return false;
    Range seen = { out[LOW], out[HIGH] };
    if (flag_known(op, observes) != NO && !widen(op, x, axis, &seen))
        return false;
    out[LOW] = if_flag(op, observes, seen.low, out[LOW]);
    out[HIGH] = if_flag(op, observes, seen.high, out[HIGH]);
    out[OUT] = x;
    out[WITHIN] = NULL;
    if (op->row->datum > WITHIN)
        out[WITHIN] = expand_dims(op, ox_bool(op->g, true), x->type->dim, ox_rank(x));
    return flag_known(op, quantises) == NO || quantise(op, x, axis, quantises, out);
}

/* Writes the state into the caller's tensors, where it changes. False after an error. */
static bool keep(Op *op, const Ox out[RESULTS])
{
    static const char *const name[] = {
        [LOW] = "running_min", [HIGH] = "running_max", [SCALE] = "scale", [ZERO] = "zero_point"
    };
    for (int i = LOW; i < RESULTS; i++) {
        Tensor *t = arg_tensor(op, name[i]);
        if (!t || !ox_ok(out[i]) || (out[i] != arg(op, name[i]) && !tensor_write(op->g, t, out[i])))
            return false;
    }
    return true;
}

/* row->datum: how many of `out` the operator returns. One that returns all of them writes none to
 * the caller's tensors. */
static Value lower_observed(Op *op)
{
    Ox x = arg(op, "self");
    Ox out[RESULTS];
    int rank;
    int axis = -1;
    int n = (int)op->row->datum;
    if (!need_rank(op, x, 4, &rank))
        return val_poison();
    if (arg_bool(op, "per_row_fake_quant")) {
        if (rank < 2) {
            fail(op->cx, E_VALUE, "a scale for each channel of a tensor of %d dimensions", rank);
            return val_poison();
        }
        if (!arg_dim(op, "ch_axis", rank, &axis))
            return val_poison();
    }
    if (!observe(op, x, axis, out) || (n < RESULTS && !keep(op, out)))
        return val_poison();
    return n == 1 ? val_tensor(op->cx, out[OUT]) : result_tuple(op, out, (size_t)n);
}

#define OBSERVED(n, name, marks, ret)                                                          \
    CALL_FAMILY(lower_observed, n, NULL, PLAIN,                                                \
                "aten::" name "(Tensor self, Tensor observer_on, Tensor fake_quant_on, " marks \
                ", float averaging_const, int quant_min, int quant_max, int ch_axis, bool "    \
                "per_row_fake_quant=False, bool symmetric_quant=False) -> " ret)
#define WRITTEN \
    "Tensor(a!) running_min, Tensor(b!) running_max, Tensor(c!) scale, Tensor(d!) zero_point"
#define GIVEN "Tensor running_min, Tensor running_max, Tensor scale, Tensor zero_point"

OP_ROWS(observed)
{
    OBSERVED(1, "fused_moving_avg_obs_fake_quant", WRITTEN, "Tensor");
    OBSERVED(2, "_fused_moving_avg_obs_fq_helper", WRITTEN, "(Tensor output, Tensor mask)");
    OBSERVED(6, "_fused_moving_avg_obs_fq_helper_functional", GIVEN,
             "(Tensor output, Tensor mask, Tensor running_min_out, Tensor running_max_out, Tensor "
             "scale_out, Tensor zero_point_out)");
}
