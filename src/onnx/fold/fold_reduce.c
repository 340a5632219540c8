/* fold_reduce.c - the value of operators along axes: reductions, ArgMax, running sums, softmax,
 * TopK. Sums are kept in double (in int64 for integers) and rounded once at the end. */
#include "onnx/fold/fold.h"

#include <math.h>
#include <stdlib.h>

/* ---- reductions ---- */

typedef enum {
    RED_SUM,
    RED_PROD,
    RED_MAX,
    RED_MIN,
    RED_MEAN,
    RED_L1,
    RED_L2,
    RED_SQUARES,
    RED_LOG_SUM,
    RED_LOG_SUM_EXP
} Red;
static const char *const red_names[] = { "ReduceSum",      "ReduceProd",      "ReduceMax",
                                         "ReduceMin",      "ReduceMean",      "ReduceL1",
                                         "ReduceL2",       "ReduceSumSquare", "ReduceLogSum",
                                         "ReduceLogSumExp" };

/* Strides of the output for each input axis: 0 where it is reduced. False when the axes are not
 * constant. */
static bool reduced_strides(const Fold *f, int64_t *s, int64_t *count)
{
    int64_t axes[MAX_RANK], n = 0;
    const Data *x = &f->in[0];
    bool drop[MAX_RANK] = { false };
    if (f->node->n_in > 1 && f->in[1].at && !fold_ints(f, 1, MAX_RANK, axes, &n))
        return false;
    if (n == 0)
        for (int i = 0; i < x->rank; i++)
            drop[i] = !node_int(f->node, "noop_with_empty_axes", 0);
    for (int64_t i = 0; i < n; i++)
        drop[axes[i] < 0 ? axes[i] + x->rank : axes[i]] = true;
    int64_t at = 1;
    *count = 1;
    for (int i = x->rank - 1; i >= 0; i--) {
        s[i] = drop[i] ? 0 : at;
        at *= drop[i] ? 1 : x->dims[i];
        *count *= drop[i] ? x->dims[i] : 1;
    }
    return true;
}

/* NaN is larger, and smaller, than anything. */
static double larger(double a, double b)
{
    if (isnan(a))
        return a;
    return isnan(b) || b > a ? b : a;
}
static double smaller(double a, double b)
{
    if (isnan(a))
        return a;
    return isnan(b) || b < a ? b : a;
}

static void step_reals(Red r, double *acc, int64_t step, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++, acc += step) {
        double v = x[i];
        switch (r) {
        case RED_PROD:    *acc *= v; break;
        case RED_MAX:     *acc = larger(*acc, v); break;
        case RED_MIN:     *acc = smaller(*acc, v); break;
        case RED_L1:      *acc += fabs(v); break;
        case RED_L2:
        case RED_SQUARES: *acc += v * v; break;
        default:          *acc += v; break;
        }
    }
}

/* The sum of a term over n numbers, in STRANDS sums side by side: each addition of a single one
 * would wait for the one before. */
enum { STRANDS = 4 };
#define SUM(NAME, TERM)                            \
    static double NAME(const double *x, int64_t n) \
    {                                              \
        double strand[STRANDS] = { 0 };            \
        double sum = 0;                            \
        int64_t i = 0;                             \
        for (; i + STRANDS <= n; i += STRANDS)     \
            for (int k = 0; k < STRANDS; k++)      \
                strand[k] += TERM(x[i + k]);       \
        for (; i < n; i++)                         \
            sum += TERM(x[i]);                     \
        for (int k = 0; k < STRANDS; k++)          \
            sum += strand[k];                      \
        return sum;                                \
    }
static inline double itself(double v) { return v; }
static inline double square(double v) { return v * v; }
SUM(sum_of, itself)
SUM(sum_of_absolute, fabs)
SUM(sum_of_squares, square)

/* What n numbers add to a reduction that is a sum. */
static double sum_reals(Red r, const double *x, int64_t n)
{
    switch (r) {
    case RED_L1:      return sum_of_absolute(x, n);
    case RED_L2:
    case RED_SQUARES: return sum_of_squares(x, n);
    default:          return sum_of(x, n);
    }
}

static bool is_sum(Red r) { return r != RED_PROD && r != RED_MAX && r != RED_MIN; }

static void step_ints(Red r, int64_t *acc, int64_t step, const int64_t *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++, acc += step) {
        uint64_t v = (uint64_t)x[i];
        uint64_t a = (uint64_t)*acc;
        switch (r) {
        case RED_PROD:    *acc = (int64_t)(a * v); break;
        case RED_MAX:     *acc = x[i] > *acc ? x[i] : *acc; break;
        case RED_MIN:     *acc = x[i] < *acc ? x[i] : *acc; break;
        case RED_L1:      *acc = (int64_t)(a + (x[i] < 0 ? -v : v)); break;
        case RED_SQUARES: *acc = (int64_t)(a + v * v); break;
        default:          *acc = (int64_t)(a + v); break;
        }
    }
}

/* n accumulators as they are before the first element; NULL without memory. */
static double *reals_begun(Ctx *cx, Red r, int64_t n)
{
    double *acc = new_array(cx, double, n);
    if (!acc)
        return NULL;
    double first = 0;
    if (r == RED_PROD)
        first = 1;
    else if (r == RED_MAX)
        first = -INFINITY;
    else if (r == RED_MIN)
        first = INFINITY;
    for (int64_t i = 0; i < n; i++)
        acc[i] = first;
    return acc;
}

/* exp(v - most), which cannot overflow; beside an infinite `most` only its equals count. */
static double shifted_exp(double v, double most)
{
    if (!isinf(most))
        return exp(v - most);
    if (v == most)
        return 1;
    return isnan(v) ? v : 0;
}

/* Each element of x into its accumulator; s: strides of the accumulators along x's axes, 0 where
 * one is reduced. With `most`, which lies like them, an element counts as shifted_exp. */
static void accumulate(const Data *x, Red r, const int64_t *s, const double *most, double *acc)
{
    double v[FOLD_TILE];
    int64_t own[MAX_RANK];
    Walk w;
    plain_strides(x->rank, x->dims, own);
    walk_start(&w, x->rank, x->dims, 2, (const int64_t *const[]){ own, s });
    for (; !w.done; walk_next(&w))
        for (int64_t i = 0; i < w.run; i += FOLD_TILE) {
            int64_t m = w.run - i < FOLD_TILE ? w.run - i : FOLD_TILE;
            int64_t at = w.at[1] + i * w.step[1];
            load_reals(x->dtype, item_ptr(x, w.at[0] + i), 1, m, v);
            if (most)
                for (int64_t k = 0; k < m; k++)
                    v[k] = shifted_exp(v[k], most[at + k * w.step[1]]);
            if (w.step[1] == 0 && is_sum(r))
                acc[at] += sum_reals(r, v, m);
            else
                step_reals(r, acc + at, w.step[1], v, m);
        }
}

/* What an accumulator says when all `count` elements are in it; most: of RED_LOG_SUM_EXP. */
static double real_result(Red r, double acc, int64_t count, double most)
{
    switch (r) {
    case RED_MEAN:        return acc / (double)count;
    case RED_L2:          return sqrt(acc);
    case RED_LOG_SUM:     return log(acc);
    case RED_LOG_SUM_EXP: return isinf(most) ? most : most + log(acc);
    default:              return acc;
    }
}

/* A reduction in double: ReduceSum, ReduceMean, norms, ReduceLogSumExp and others. s: the
 * strides of the result along x's axes, 0 along those that are reduced. count: how many elements
 * of x make one of the result. ReduceLogSumExp takes two passes, as it needs the largest
 * elements first. */
static bool reduce_reals(Fold *f, Red r, const int64_t *s, int64_t count)
{
    const Data *x = &f->in[0];
    int64_t n = f->out->numel;
    double *most = NULL;
    double *acc = reals_begun(f->cx, r, n);
    if (!acc)
        return false;
    if (r == RED_LOG_SUM_EXP) {
        most = reals_begun(f->cx, RED_MAX, n);
        if (!most)
            return false;
        accumulate(x, RED_MAX, s, NULL, most);
    }
    accumulate(x, r, s, most, acc);
    for (int64_t i = 0; i < n; i++)
        acc[i] = real_result(r, acc[i], count, most ? most[i] : 0);
    store_reals(f->out->dtype, f->out->at, n, acc);
    return true;
}

static int64_t whole_start(Red r)
{
    switch (r) {
    case RED_PROD: return 1;
    case RED_MAX:  return INT64_MIN;
    case RED_MIN:  return INT64_MAX;
    default:       return 0;
    }
}

/* False for what has no whole result, and for the mean, largest or least of nothing: the runtime
 * decides. */
static bool reduce_ints(Fold *f, Red r, const int64_t *s, int64_t count)
{
    const Data *x = &f->in[0];
    int64_t n = f->out->numel, own[MAX_RANK], v[FOLD_TILE];
    int64_t *acc = new_array(f->cx, int64_t, n);
    Walk w;
    if (!acc || r == RED_L2 || r == RED_LOG_SUM || r == RED_LOG_SUM_EXP ||
        (r == RED_MEAN && count == 0))
        return false;
    if (count == 0 && (r == RED_MAX || r == RED_MIN))
        return false;
    for (int64_t i = 0; i < n; i++)
        acc[i] = whole_start(r);
    plain_strides(x->rank, x->dims, own);
    walk_start(&w, x->rank, x->dims, 2, (const int64_t *const[]){ own, s });
    for (; !w.done; walk_next(&w))
        for (int64_t i = 0; i < w.run; i += FOLD_TILE) {
            int64_t m = w.run - i < FOLD_TILE ? w.run - i : FOLD_TILE;
            load_ints(x->dtype, item_ptr(x, w.at[0] + i), 1, m, v);
            step_ints(r, acc + w.at[1] + i * w.step[1], w.step[1], v, m);
        }
    for (int64_t i = 0; r == RED_MEAN && i < n; i++)
        acc[i] /= count;
    store_ints(f->out->dtype, f->out->at, n, acc);
    return true;
}

static bool fold_reduce_op(Fold *f)
{
    int r = 0;
    int64_t s[MAX_RANK], count;
    while (strcmp(red_names[r], f->node->op->name))
        r++;
    if (!reduced_strides(f, s, &count))
        return false;
    if (node_int(f->node, "noop_with_empty_axes", 0) && count == 1)
        return false; /* without axes some runtimes still square, or take the log, and others do not
                       */
    NumKind kind = num_kind(f->in[0].dtype);
    return kind == NUM_REAL ? reduce_reals(f, (Red)r, s, count)
                            : kind == NUM_INT && reduce_ints(f, (Red)r, s, count);
}

/* ---- along one axis: element i of line (o, k) is at (o * n + i) * inner + k ---- */

typedef struct Lines {
    int64_t outer, n, inner;
} Lines;

static Lines lines_of(const Data *x, int64_t axis)
{
    Lines l = { 1, 1, 1 };
    axis += axis < 0 ? x->rank : 0;
    for (int i = 0; i < x->rank; i++)
        if (i < axis)
            l.outer *= x->dims[i];
        else if (i > axis)
            l.inner *= x->dims[i];
        else
            l.n = x->dims[i];
    return l;
}

/* A line as doubles; false when there is no memory. Integers beyond 2^53 do not fit: the caller
 * looks. */
static void line_load(const Data *x, const Lines *l, int64_t o, int64_t k, double *out)
{
    for (int64_t i = 0; i < l->n; i++)
        load_reals(x->dtype, item_ptr(x, (o * l->n + i) * l->inner + k), 1, 1, &out[i]);
}

/* int64 and uint64 are not exact as doubles */
static bool exact_as_real(DType t)
{
    return num_kind(t) != NUM_NONE && t != DT_INT64 && t != DT_UINT64;
}

/* An order for int64 and everything that is exact as a double: -1, 0, 1; not-a-number is the
 * largest. */
static int order(const Data *x, int64_t a, int64_t b)
{
    if (num_kind(x->dtype) == NUM_REAL) {
        double u, v;
        load_reals(x->dtype, item_ptr(x, a), 1, 1, &u);
        load_reals(x->dtype, item_ptr(x, b), 1, 1, &v);
        return isnan(u) || isnan(v) ? isnan(u) - isnan(v) : (u > v) - (u < v);
    }
    int64_t u, v;
    load_ints(x->dtype, item_ptr(x, a), 1, 1, &u);
    load_ints(x->dtype, item_ptr(x, b), 1, 1, &v);
    if (x->dtype == DT_UINT64)
        return ((uint64_t)u > (uint64_t)v) - ((uint64_t)u < (uint64_t)v);
    return (u > v) - (u < v);
}

static bool is_nan(const Data *x, int64_t at)
{
    double v = 0;
    if (num_kind(x->dtype) == NUM_REAL)
        load_reals(x->dtype, item_ptr(x, at), 1, 1, &v);
    return isnan(v);
}

/* Does item a come before b for ArgMax (sign 1) or ArgMin (-1)? 1, 0 for equals, -1. To PyTorch a
 * not-a-number is the largest and the least. */
static int outdoes(const Data *x, int64_t a, int64_t b, int sign)
{
    bool nan_a = is_nan(x, a);
    bool nan_b = is_nan(x, b);
    return nan_a || nan_b ? nan_a - nan_b : sign * order(x, a, b);
}

/* ArgMax and ArgMin: the first of equals, or the last one where the attribute says so. */
static bool fold_arg_extreme(Fold *f)
{
    const Data *x = &f->in[0];
    Lines l = lines_of(x, node_int(f->node, "axis", 0));
    int sign = !strcmp(f->node->op->name, "ArgMax") ? 1 : -1;
    bool last = node_int(f->node, "select_last_index", 0) != 0;
    if (num_kind(x->dtype) == NUM_NONE || l.n == 0)
        return false;
    for (int64_t o = 0; o < l.outer; o++)
        for (int64_t k = 0; k < l.inner; k++) {
            int64_t best = 0;
            int64_t base = o * l.n * l.inner + k;
            for (int64_t i = 1; i < l.n; i++) {
                int c = outdoes(x, base + i * l.inner, base + best * l.inner, sign);
                if (c > 0 || (c == 0 && last))
                    best = i;
            }
            ((int64_t *)f->out->at)[o * l.inner + k] = best;
        }
    return true;
}

/* CumSum(x, axis), CumProd */
static bool fold_running(Fold *f)
{
    const Data *x = &f->in[0];
    int64_t axis, count;
    bool product = !strcmp(f->node->op->name, "CumProd");
    bool before = node_int(f->node, "exclusive", 0) != 0;
    bool back = node_int(f->node, "reverse", 0) != 0;
    NumKind kind = num_kind(x->dtype);
    if (kind == NUM_NONE || !fold_ints(f, 1, 1, &axis, &count))
        return false;
    Lines l = lines_of(x, axis);
    for (int64_t line = 0; line < l.outer * l.inner; line++) {
        int64_t base = line / l.inner * l.n * l.inner + line % l.inner;
        int64_t whole = product;
        int64_t v;
        double real = product, d;
        for (int64_t i = 0; i < l.n; i++) {
            int64_t at = base + (back ? l.n - 1 - i : i) * l.inner;
            if (kind == NUM_REAL) {
                load_reals(x->dtype, item_ptr(x, at), 1, 1, &d);
                double next = product ? real * d : real + d;
                store_reals(x->dtype, item_ptr(f->out, at), 1, before ? &real : &next);
                real = next;
            } else {
                load_ints(x->dtype, item_ptr(x, at), 1, 1, &v);
                int64_t next = (int64_t)(product ? (uint64_t)whole * (uint64_t)v
                                                 : (uint64_t)whole + (uint64_t)v);
                store_ints(x->dtype, item_ptr(f->out, at), 1, before ? &whole : &next);
                whole = next;
            }
        }
    }
    return true;
}

/* Softmax, LogSoftmax, Hardmax of one line, in place */
static void soften(double *v, int64_t n, char how)
{
    double most = -INFINITY;
    double sum = 0;
    int64_t best = 0;
    for (int64_t i = 0; i < n; i++)
        if (v[i] > most) {
            most = v[i];
            best = i;
        }
    for (int64_t i = 0; i < n; i++)
        sum += exp(v[i] - most);
    for (int64_t i = 0; i < n; i++)
        switch (how) {
        case 'H': v[i] = i == best; break;
        case 'L': v[i] = v[i] - most - log(sum); break;
        default:  v[i] = exp(v[i] - most) / sum; break;
        }
}

static bool fold_softmax(Fold *f)
{
    const Data *x = &f->in[0];
    if (!exact_as_real(x->dtype) || num_kind(x->dtype) != NUM_REAL)
        return false;
    Lines l = lines_of(x, node_int(f->node, "axis", -1));
    double *v = new_array(f->cx, double, l.n);
    if (!v)
        return false;
    for (int64_t o = 0; o < l.outer; o++)
        for (int64_t k = 0; k < l.inner; k++) {
            line_load(x, &l, o, k, v);
            soften(v, l.n, f->node->op->name[0]);
            for (int64_t i = 0; i < l.n; i++)
                store_reals(x->dtype, item_ptr(f->out, (o * l.n + i) * l.inner + k), 1, &v[i]);
        }
    return true;
}

/* ---- TopK: equal items keep their order ---- */

/* Merge sort of places by value: stable, and needs no state beside its arguments. */
static void sort_places(const Data *x, int64_t *at, int64_t *room, int64_t n, int want)
{
    if (n < 2)
        return;
    int64_t half = n / 2;
    int64_t i = 0;
    int64_t k = half;
    int64_t to = 0;
    sort_places(x, at, room, half, want);
    sort_places(x, at + half, room, n - half, want);
    while (i < half || k < n) {
        bool left = k == n || (i < half && order(x, at[k], at[i]) != want);
        room[to++] = left ? at[i++] : at[k++];
    }
    memcpy(at, room, (size_t)n * sizeof *at);
}

/* Each line's first elements in order, and where in the line they were. */
static bool fold_topk(Fold *f)
{
    const Data *x = &f->in[0];
    size_t size = item_size(x->dtype);
    Lines l = lines_of(x, node_int(f->node, "axis", -1));
    Lines to = lines_of(&f->out[0], node_int(f->node, "axis", -1));
    int64_t *at = new_array(f->cx, int64_t, 2 * l.n);
    if (!at || num_kind(x->dtype) == NUM_NONE || f->node->n_out < 2 || to.n > l.n)
        return false;
    int want = node_int(f->node, "largest", 1) ? 1 : -1;
    for (int64_t o = 0; o < l.outer; o++)
        for (int64_t k = 0; k < l.inner; k++) {
            for (int64_t i = 0; i < l.n; i++)
                at[i] = (o * l.n + i) * l.inner + k;
            sort_places(x, at, at + l.n, l.n, want);
            for (int64_t i = 0; i < to.n; i++) {
                int64_t place = (o * to.n + i) * to.inner + k;
                memcpy(item_ptr(&f->out[0], place), item_ptr(x, at[i]), size);
                ((int64_t *)f->out[1].at)[place] = at[i] / l.inner % l.n;
            }
        }
    return true;
}

const FoldRow fold_reduce[] = { { "ArgMax", fold_arg_extreme },
                                { "ArgMin", fold_arg_extreme },
                                { "CumProd", fold_running },
                                { "CumSum", fold_running },
                                { "Hardmax", fold_softmax },
                                { "LogSoftmax", fold_softmax },
                                { "ReduceL1", fold_reduce_op },
                                { "ReduceL2", fold_reduce_op },
                                { "ReduceLogSum", fold_reduce_op },
                                { "ReduceLogSumExp", fold_reduce_op },
                                { "ReduceMax", fold_reduce_op },
                                { "ReduceMean", fold_reduce_op },
                                { "ReduceMin", fold_reduce_op },
                                { "ReduceProd", fold_reduce_op },
                                { "ReduceSum", fold_reduce_op },
                                { "ReduceSumSquare", fold_reduce_op },
                                { "Softmax", fold_softmax },
                                { "TopK", fold_topk },
                                { 0 } };
