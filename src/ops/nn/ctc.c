/* ctc.c - connectionist temporal classification: minus the log of the probability of a row of
 * labels, summed over all its alignments.
 *
 * Labels stand between blanks: row s of L = 2S + 1 is a blank where s is even, else label s / 2.
 * alpha[n, s] is the log probability of having come to s by now. A step to s comes from s, from
 * s - 1, or from s - 2 where it passes a blank between two labels that differ. Time is a Loop. A
 * sample that has ended keeps its alpha; rows of labels beyond a sample's own are not read. */
#include "ops/internal.h"

#include <math.h>

enum { MEAN = 1, SUM = 2 }; /* of `reduction`; 0 is none */

typedef struct Ctc {
    Ox probs;         /* [T, N, C], logarithms */
    Ox targets;       /* [N, S], or all labels one after the other */
    Ox frames, count; /* int64 [N]: how many steps and labels each sample has */
    bool alone;
    Ox rows, each;  /* [N, L]: the class of each row; [T, N, L]: its log probability */
    Ox lead, skips; /* [N, 1] -infinity; [N, L]: may a step come from s - 2? */
} Ctc;

/* The logarithm of probability 0. */
static Ox never(Op *op, Ox like) { return number_like(op, -INFINITY, like); }

/* Lengths as int64 [N], from a list of numbers or a tensor. */
static Ox lengths(Op *op, const char *name)
{
    if (arg_value(op, name).tag == V_TENSOR) {
        Ox flat = flatten_to_1d(op, arg(op, name));
        return ox_cast(op->g, flat, DT_INT64);
    }
    Dims d = arg_dims_any(op, name);
    return ctx_failed(op->cx) ? POISON : ox_dims(op->g, d.at, d.n);
}

/* Reads the arguments; c->probs gets a batch of one where it has none (c->alone). False after an
 * error. */
static bool ctc_args(Op *op, Ctc *c)
{
    int rank, target_rank;
    c->probs = arg(op, "log_probs");
    c->targets = arg_typed(op, "targets", DT_INT64);
    c->frames = lengths(op, "input_lengths");
    c->count = lengths(op, "target_lengths");
    if (!ox_ok(c->frames) || !ox_ok(c->count) || !need_rank(op, c->probs, 3, &rank) ||
        !need_rank(op, c->targets, 2, &target_rank))
        return false;
    if (rank < 2 || rank > 3 || target_rank < 1 || target_rank > 2)
        return fail(op->cx, E_VALUE,
                    "log_probs must be [T, N, C] and targets [N, S] or [sum of lengths], got rank "
                    "%d and %d",
                    rank, target_rank);
    c->alone = rank == 2;
    if (c->alone)
        c->probs = unsqueeze_axis(op, c->probs, 1);
    c->targets = ox_cast(op->g, c->targets, DT_INT64);
    return ox_ok(c->probs) && ox_ok(c->targets);
}

/* [N, S]: each sample's labels, and blanks behind them. Labels that come joined, [sum of lengths],
 * are gathered from where each sample's begin. */
static Ox padded_labels(Op *op, const Ctc *c, Ox blank)
{
    bool joined = ox_rank(c->targets) == 1;
    Ox zero = ox_int(op->g, 0);
    Ox one = ox_int(op->g, 1);
    Ox most = joined ? ox_with(op, "ReduceMax", INPUTS(c->count), INT("keepdims", 0))
                     : ox_dim_value(op->g, ox_dim(c->targets, 1));
    Ox numbers = ox(op, "Range", zero, most, one);
    Ox counts = unsqueeze_axis(op, c->count, 1);
    Ox own = ox(op, "Less", numbers, counts);
    if (!joined)
        return ox(op, "Where", own, c->targets, blank);
    Ox last = reshape_to(op, blank, (const Dim[]){ dim_of(op, 1) }, 1);
    Ox all = concat_axis(op, (const Ox[]){ c->targets, last }, 2, 0);
    Ox axis = zero;
    Ox begin = ox_with(op, "CumSum", INPUTS(c->count, axis), INT("exclusive", 1));
    Ox place = ox(op, "Add", unsqueeze_axis(op, begin, 1), numbers);
    Ox end = ox_dim_value(op->g, ox_dim(c->targets, 0));
    return ox(op, "Gather", all, ox(op, "Where", own, place, end));
}

/* x, [N, length], moved to the right by 2 - from columns, with `column` in their place. */
static Ox moved(Op *op, Ox x, Ox column, Dim length, int64_t from)
{
    Ox wide = concat_axis(op, (const Ox[]){ column, column, x }, 3, 1);
    return slice_axis(op, wide, 1, dim_of(op, from), dim_add(op->cx, dim_of(op, from), length), 1);
}

/* Fills in rows, each, skips and lead: what all steps share. False after an error. */
static bool lay_out(Op *op, Ctc *c)
{
    Dim steps = ox_dim(c->probs, 0);
    Dim batch = ox_dim(c->probs, 1);
    Dim one = dim_of(op, 1);
    Ox blank = ox_int(op->g, arg_int(op, "blank"));
    Ox labels = padded_labels(op, c, blank);
    if (!ox_ok(labels))
        return false;
    Dim count = ox_dim(labels, 1);
    Dim twice = dim_mul(op->cx, dim_of(op, 2), count);
    Dim length = dim_add(op->cx, twice, one);
    Ox third = unsqueeze_axis(op, labels, 2);
    Ox blanks = expand_dims(op, blank, (const Dim[]){ batch, count, one }, 3);
    Ox both = concat_axis(op, (const Ox[]){ blanks, third }, 2, 2);
    Ox pairs = reshape_to(op, both, (const Dim[]){ batch, twice }, 2);
    Ox column = expand_dims(op, blank, (const Dim[]){ batch, one }, 2);
    c->rows = concat_axis(op, (const Ox[]){ pairs, column }, 2, 1);
    Ox same = ox(op, "Equal", c->rows, moved(op, c->rows, column, length, 0));
    Ox at = unsqueeze_axis(op, c->rows, 0);
    c->skips = ox(op, "Not", same);
    Ox everywhere = expand_dims(op, at, (const Dim[]){ steps, batch, length }, 3);
    c->each = ox_with(op, "GatherElements", INPUTS(c->probs, everywhere), INT("axis", 2));
    c->lead = expand_dims(op, never(op, c->probs), (const Dim[]){ batch, one }, 2);
    return ox_ok(c->each) && ox_ok(c->skips);
}

/* log(exp a + exp b + ..) of n values; -infinity where all of them are. */
static Ox log_sum(Op *op, const Ox *at, int n)
{
    Ox most = ox_make(op->g, "Max", (OxList){ at, (size_t)n }, NULL, 0);
    Ox none = ox(op, "Equal", most, never(op, most));
    Ox base = ox(op, "Where", none, number_like(op, 0, most), most);
    Ox sum = NULL;
    for (int i = 0; i < n; i++) {
        Ox term = ox(op, "Exp", ox(op, "Sub", at[i], base));
        sum = sum ? ox(op, "Add", sum, term) : term;
    }
    return ox(op, "Add", ox(op, "Log", sum), base);
}

/* A LoopStep. Its state is alpha after k + 1 steps. */
static void ctc_step(Op *op, const void *data, Ox k, const Ox *state, Ox *next, Ox *go)
{
    const Ctc *c = data;
    Dim length = ox_dim(c->rows, 1);
    Ox t = ox(op, "Add", k, ox_int(op->g, 1));
    Ox second = moved(op, state[0], c->lead, length, 0);
    Ox from[] = { state[0], moved(op, state[0], c->lead, length, 1), NULL };
    from[2] = ox(op, "Where", c->skips, second, never(op, second));
    Ox here = ox(op, "Gather", c->each, t);
    Ox alpha = ox(op, "Add", log_sum(op, from, 3), here);
    Ox runs = unsqueeze_axis(op, ox(op, "Less", t, c->frames), 1);
    next[0] = ox(op, "Where", runs, alpha, state[0]);
    (void)go;
}

/* alpha after all steps. The first one comes to the first blank or the first label. */
static Ox last_alpha(Op *op, const Ctc *c)
{
    Ox zero = ox_int(op->g, 0);
    Ox one = ox_int(op->g, 1);
    Ox two = ox_int(op->g, 2);
    Ox start = ox(op, "Gather", c->each, zero);
    Ox length = ox_dim_value(op->g, ox_dim(c->rows, 1));
    Ox numbers = ox(op, "Range", zero, length, one);
    Ox first = ox(op, "Less", numbers, two);
    Ox alpha = ox(op, "Where", first, start, never(op, start));
    Ox iterations = ox(op, "Sub", ox_dim_value(op->g, ox_dim(c->probs, 0)), one);
    return op_loop(op, iterations, ctc_step, c, &alpha, 1) ? alpha : POISON;
}

/* Minus the log probability of each sample, from alpha at its last label and at the blank behind
 * it. A sample without steps has probability 1 where it has no labels either, else 0. */
static Ox each_loss(Op *op, const Ctc *c)
{
    Ox zero = ox_int(op->g, 0);
    Ox one = ox_int(op->g, 1);
    Ox two = ox_int(op->g, 2);
    Ox alpha = last_alpha(op, c);
    if (!ox_ok(alpha))
        return POISON;
    Ox count = unsqueeze_axis(op, c->count, 1);
    Ox last = ox(op, "Mul", count, two);
    Ox label = ox(op, "Max", ox(op, "Sub", last, one), zero);
    Ox ends[] = { ox_with(op, "GatherElements", INPUTS(alpha, last), INT("axis", 1)), NULL };
    Ox some = ox(op, "Greater", count, zero);
    Ox at_label = ox_with(op, "GatherElements", INPUTS(alpha, label), INT("axis", 1));
    ends[1] = ox(op, "Where", some, at_label, never(op, at_label));
    Ox sum = log_sum(op, ends, 2);
    Ox axes = ints(op, 1);
    Ox none = never(op, sum);
    Ox without = ox(op, "Where", some, none, number_like(op, 0, sum));
    Ox timed = ox(op, "Greater", unsqueeze_axis(op, c->frames, 1), zero);
    Ox total = ox(op, "Where", timed, sum, without);
    return ox(op, "Squeeze", ox(op, "Neg", total), axes);
}

/* The losses of all samples as `reduction` says. The mean is that of each loss divided by the
 * sample's number of labels, as in PyTorch. */
static Ox lower_ctc_loss(Op *op)
{
    Ctc c;
    if (!ctc_args(op, &c) || !lay_out(op, &c))
        return POISON;
    Ox loss = each_loss(op, &c);
    if (arg_bool(op, "zero_infinity")) {
        Ox infinite = ox(op, "Equal", loss, number_like(op, INFINITY, loss));
        loss = ox(op, "Where", infinite, number_like(op, 0, loss), loss);
    }
    int64_t how = arg_int(op, "reduction");
    if (how == MEAN) {
        Ox counted = ox(op, "Max", c.count, ox_int(op->g, 1));
        if (!ox_ok(loss))
            return POISON;
        loss = ox(op, "Div", loss, ox_cast(op->g, counted, ox_dtype(loss)));
        return ox_with(op, "ReduceMean", INPUTS(loss), INT("keepdims", 0));
    }
    if (how == SUM)
        return ox_with(op, "ReduceSum", INPUTS(loss), INT("keepdims", 0));
    Ox axes = ints(op, 0);
    return c.alone ? ox(op, "Squeeze", loss, axes) : loss;
}

/* -> (the loss of each sample, alpha of all steps). Only a backward pass reads the second one: it
 * is None, so that using it is an error. */
static Value lower_ctc_loss_forward(Op *op)
{
    Ctc c;
    if (!ctc_args(op, &c))
        return val_poison();
    if (c.alone) {
        fail(op->cx, E_VALUE,
             "Expected 3-dimensional tensor, but got 2-dimensional tensor "
             "for argument #1 'log_probs'");
        return val_poison();
    }
    Ox loss = lay_out(op, &c) ? each_loss(op, &c) : POISON;
    if (!ox_ok(loss))
        return val_poison();
    return val_tuple(op->cx, (Value[]){ val_tensor(op->cx, loss), val_none() }, 2);
}

OP_ROWS(ctc)
{
    LOWER(lower_ctc_loss, NULL, PLAIN,
          "aten::ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] "
          "target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor");
    OLDER("aten::ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor "
          "target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor");
    CALL(lower_ctc_loss_forward, NULL, PLAIN,
         "aten::_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] "
         "target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)");
    OLDER("aten::_ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor "
          "target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)");
}
