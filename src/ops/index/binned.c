/* binned.c - elements that are put together by where they fall: segment_reduce, histogram,
 * histogramdd.
 *
 * Comparing every element with every border tells its bin; what falls beyond the borders goes into
 * one more, which is cut off. ScatterElements puts them together, through the rows of
 * scatter_reduce. */
#include "ops/internal.h"

#include <math.h>

static Ox cast(Op *op, Ox x, DType t) { return ox_ok(x) ? ox_cast(op->g, x, t) : POISON; }

/* How many borders of the last axis are not above each value, [.., values] of [.., borders] and
 * [.., values]; int64. */
static Ox borders_passed(Op *op, Ox borders, Ox values)
{
    int rank = ox_rank(values);
    int own = ox_rank(borders);
    Ox row = unsqueeze_axis(op, borders, own - 1);
    Ox each = unsqueeze_axis(op, values, rank);
    Ox passed = ox(op, "GreaterOrEqual", each, row);
    return reduce(op, "ReduceSum", cast(op, passed, DT_INT64),
                  &(Axes){ .n = 1, .at = { own > rank ? own : rank } }, false);
}

/* ---- segments ---- */

typedef enum { SEGMENT_SUM, SEGMENT_MEAN, SEGMENT_MAX, SEGMENT_MIN, SEGMENT_PROD } SegmentHow;
static const struct {
    const char *name, *scatter;
    double start;
} segment_ways[] = {
    [SEGMENT_SUM] = { "sum", "sum", 0 },          [SEGMENT_MEAN] = { "mean", "sum", 0 },
    [SEGMENT_MAX] = { "max", "amax", -INFINITY }, [SEGMENT_MIN] = { "min", "amin", INFINITY },
    [SEGMENT_PROD] = { "prod", "prod", 1 },
};

/* start: where the first segment starts, NULL for 0. count: how many segments there are. */
typedef struct Segments {
    Ox x, lengths, ends, start;
    int axis;
    Dim count;
    SegmentHow how;
} Segments;

static bool segment_how(Op *op, SegmentHow *how)
{
    Str name = arg_str(op, "reduce");
    for (size_t i = 0; i < COUNT(segment_ways); i++)
        if (str_is(name, segment_ways[i].name)) {
            *how = (SegmentHow)i;
            return true;
        }
    return fail(op->cx, E_VALUE, "unsupported reduction %s", name ? name->s : "None");
}

/* Segments given by their lengths: 2 0 1 end at 2 2 3, and the first starts at 0. */
static bool segments_of_lengths(Op *op, Segments *s, Ox lengths)
{
    Ox along = ox_int(op->g, s->axis);
    s->lengths = lengths;
    s->ends = ox(op, "CumSum", lengths, along);
    s->start = NULL;
    return ox_ok(s->ends);
}

/* Segments given by their offsets, one more than there are segments: 0 2 2 3. */
static bool segments_of_offsets(Op *op, Segments *s, Ox offsets)
{
    Dim all = s->count;
    s->count = dim_sub(op->cx, all, dim_of(op, 1));
    s->start = slice_axis(op, offsets, s->axis, dim_of(op, 0), dim_of(op, 1), 1);
    s->ends = slice_axis(op, offsets, s->axis, dim_of(op, 1), all, 1);
    Ox starts = slice_axis(op, offsets, s->axis, dim_of(op, 0), s->count, 1);
    s->lengths = ox(op, "Sub", s->ends, starts);
    return ox_ok(s->lengths);
}

/* Read the arguments of segment_reduce; false after an error. */
static bool segment_args(Op *op, Segments *s)
{
    Ox lengths = arg_opt(op, "lengths");
    Ox offsets = arg_opt(op, "offsets");
    Ox given = offsets ? offsets : lengths;
    int rank, depth;
    s->x = arg(op, "data");
    if (!segment_how(op, &s->how))
        return false;
    if (!given)
        return fail(op->cx, E_VALUE,
                    "segment_reduce(): Either lengths or offsets must be defined.");
    if (!need_rank(op, s->x, -1, &rank) || !need_rank(op, given, 1, &depth) ||
        !arg_dim(op, "axis", rank, &s->axis))
        return false;
    if (rank == 0)
        return fail(op->cx, E_VALUE, "segment_reduce(): data must have a dimension");
    if (!need_kernel(op, "_segment_reduce_cpu", ox_dtype(s->x), dtype_is_float(ox_dtype(s->x))))
        return false;
    if (depth != s->axis + 1)
        return fail(op->cx, E_VALUE,
                    "segment_reduce(): Expected axis to be the last dimension of %s but got %d.",
                    offsets ? "offsets" : "lengths", s->axis);
    given = ox_cast(op->g, given, DT_INT64);
    s->count = ox_dim(given, s->axis);
    return offsets ? segments_of_offsets(op, s, given) : segments_of_lengths(op, s, given);
}

/* The number of the segment that each element is in, of x's shape; `count` for an element before
 * the first. */
static Ox segment_numbers(Op *op, const Segments *s)
{
    Ox zero = ox_int(op->g, 0);
    Ox one = ox_int(op->g, 1);
    Ox n = ox_dim_value(op->g, ox_dim(s->x, s->axis));
    Ox places = ox(op, "Range", zero, n, one);
    Ox number = borders_passed(op, s->ends, places);
    if (s->start) {
        Ox before = ox(op, "Less", places, s->start);
        Ox none = ox_dim_value(op->g, s->count);
        number = ox(op, "Where", before, none, number);
    }
    for (int i = s->axis + 1; i < ox_rank(s->x); i++)
        number = unsqueeze_axis(op, number, i);
    return expand_dims(op, number, s->x->type->dim, ox_rank(s->x));
}

/* Sums to means. The mean of an empty segment is `initial` where that is given, else NaN. */
static Ox segment_mean(Op *op, const Segments *s, Ox sum)
{
    Ox lengths = s->lengths;
    for (int i = s->axis + 1; i < ox_rank(s->x); i++)
        lengths = unsqueeze_axis(op, lengths, i);
    Ox divisor = cast(op, lengths, ox_dtype(s->x));
    if (arg_given(op, "initial"))
        divisor = ox(op, "Max", divisor, number_like(op, 1, divisor));
    return ox(op, "Div", sum, divisor);
}

/* The elements of each segment reduced (how: scatter_reduce's word), from `start` on, which has x's
 * type. Elements in no segment are reduced into one more place, which is cut off. */
static Ox scattered(Op *op, const Segments *s, Ox numbers, Ox start, Ox x, const char *how)
{
    Dim dims[MAX_RANK];
    int rank = ox_rank(s->x);
    ox_sizes(s->x, dims);
    dims[s->axis] = dim_add(op->cx, s->count, dim_of(op, 1));
    Ox filled = expand_dims(op, start, dims, rank);
    if (!ox_ok(numbers) || !ox_ok(filled) || !ox_ok(x))
        return POISON;
    const Value args[] = { val_tensor(op->cx, filled), val_int(s->axis),
                           val_tensor(op->cx, numbers), val_tensor(op->cx, x),
                           val_str(str_of(op->cx, how)) };
    Ox all = call_ox(op, "aten::scatter_reduce", args, COUNT(args));
    return slice_axis(op, all, s->axis, dim_of(op, 0), s->count, 1);
}

/* The largest or smallest of each segment. NaNs are left out and counted apart, because a runtime's
 * max may overlook them; a segment with a NaN gives NaN. */
static Ox segment_extreme(Op *op, const Segments *s, Ox numbers, Ox start)
{
    Ox none = ox(op, "IsNaN", s->x);
    Ox known = ox(op, "Where", none, number_like(op, segment_ways[s->how].start, s->x), s->x);
    Ox zero = ox_number(op->g, DT_FLOAT, 0);
    Ox most = scattered(op, s, numbers, start, known, segment_ways[s->how].scatter);
    Ox count = scattered(op, s, numbers, zero, cast(op, none, DT_FLOAT), "sum");
    Ox any = ox(op, "Greater", count, zero);
    return ox(op, "Where", any, number_like(op, NAN, s->x), most);
}

static Ox lower_segment_reduce(Op *op)
{
    Segments s;
    if (!segment_args(op, &s))
        return POISON;
    Ox start = arg_given(op, "initial") ? number_as(op, arg_value(op, "initial"), ox_dtype(s.x))
                                        : number_like(op, segment_ways[s.how].start, s.x);
    Ox numbers = segment_numbers(op, &s);
    if (s.how == SEGMENT_MAX || s.how == SEGMENT_MIN)
        return segment_extreme(op, &s, numbers, start);
    Ox reduced = scattered(op, &s, numbers, start, s.x, segment_ways[s.how].scatter);
    return s.how == SEGMENT_MEAN ? segment_mean(op, &s, reduced) : reduced;
}

/* ---- histograms ---- */

enum { MOST_AXES = 16 };
typedef struct Histogram {
    Ox x; /* [n, axes] */
    Dim n;
    int axes;
    Ox edges[MOST_AXES];
    int64_t bins[MOST_AXES];
} Histogram;

/* How many coordinates a point has: the size of the last axis, or, where that is dynamic, the
 * number of `bins`. False when it is unknown or too large. */
static bool coordinates(Op *op, Ox x, int64_t *axes)
{
    Dim size = ox_dim(x, ox_rank(x) - 1);
    Value bins = arg_value(op, "bins");
    if (!dim_known(size, axes)) {
        if (bins.tag != V_TUPLE)
            return false;
        *axes = bins.tuple->n;
    }
    return *axes > 0 && *axes <= MOST_AXES &&
        dim_require(op->cx, size, dim_of(op, *axes), "torch.histogramdd: bins for %lld coordinates",
                    (long long)*axes);
}

/* Read `self` as h->n points of h->axes coordinates. flat: each element is a point of one. */
static bool points(Op *op, bool flat, Histogram *h)
{
    Ox x = arg(op, "self");
    int rank;
    int64_t axes = 1;
    if (!need_rank(op, x, flat ? 1 : 2, &rank))
        return false;
    if (!need_kernel(op, "histogramdd", ox_dtype(x), dtype_is_float(ox_dtype(x))))
        return false;
    if (!flat && rank < 2)
        return fail(op->cx, E_VALUE,
                    "torch.histogramdd: input tensor should have at least 2 dimensions, but got %d",
                    rank);
    if (!flat && !coordinates(op, x, &axes))
        return op_refuse(op, "points of %s coordinates: their number must be known, 1 to %d",
                         dim_text(op->cx, ox_dim(x, rank - 1))->s, MOST_AXES),
               false;
    h->axes = (int)axes;
    h->n = dim_product(op->cx, x->type->dim, flat ? rank : rank - 1);
    h->x = reshape_to(op, x, (const Dim[]){ h->n, dim_of(op, axes) }, 2);
    return ox_ok(h->x);
}

/* Coordinate i of each point, 1-D. */
static Ox column(Op *op, const Histogram *h, int i)
{
    Ox one = slice_axis(op, h->x, 1, dim_of(op, i), dim_of(op, i + 1), 1);
    return reshape_to(op, one, &h->n, 1);
}

/* The smallest or the largest value; of no values PyTorch takes 0 and 1. */
static Ox extreme(Op *op, const Histogram *h, Ox values, bool largest)
{
    Ox far = reshape_to(op, number_like(op, largest ? -INFINITY : INFINITY, values),
                        (const Dim[]){ dim_of(op, 1) }, 1);
    Ox all = concat_axis(op, (const Ox[]){ values, far }, 2, 0);
    Ox found = ox_with(op, largest ? "ReduceMax" : "ReduceMin", INPUTS(all), INT("keepdims", 0));
    Ox count = ox_dim_value(op->g, h->n);
    Ox none = ox(op, "Equal", count, ox_int(op->g, 0));
    return ox(op, "Where", none, number_like(op, largest, values), found);
}

/* bins + 1 borders at equal distances, counted from the nearer end as linspace does. */
static Ox even_edges(Op *op, const Histogram *h, int i, Ox low, Ox high)
{
    if (h->bins[i] >= INT32_MAX)
        return op_fail(op, E_LIMIT, "%lld bins of a histogram are too many", (long long)h->bins[i]);
    int64_t n = h->bins[i] + 1;
    double *from = new_array(op->cx, double, n);
    double *to = new_array(op->cx, double, n);
    bool *first = new_array(op->cx, bool, n);
    if (!from || !to || !first)
        return POISON;
    for (int64_t k = 0; k < n; k++) {
        from[k] = (double)k;
        to[k] = (double)(n - 1 - k);
        first[k] = k < n / 2;
    }
    if (ctx_failed(op->cx) || !ox_ok(low) || !ox_ok(high))
        return POISON;
    DType t = ox_dtype(h->x);
    Ox up = ox_cast(op->g, ox_const(op->g, const_make(op->cx, DT_DOUBLE, 1, &n, from)), t);
    Ox down = ox_cast(op->g, ox_const(op->g, const_make(op->cx, DT_DOUBLE, 1, &n, to)), t);
    Ox step = ox(op, "Div", ox(op, "Sub", high, low), number_like(op, (double)h->bins[i], low));
    Ox left = ox(op, "Add", low, ox(op, "Mul", step, up));
    Ox right = ox(op, "Sub", high, ox(op, "Mul", step, down));
    return ox(op, "Where", ox_const(op->g, const_make(op->cx, DT_BOOL, 1, &n, first)), left, right);
}

static bool has_bins(Op *op, const Histogram *h, int i)
{
    return h->bins[i] > 0 ||
        fail(op->cx, E_VALUE, "torch.histogram(): bins must be > 0, but got %lld for dimension %d",
             (long long)h->bins[i], i);
}

/* Borders from `range`, or from the values themselves; values that are all the same get a bin's
 * room around them. */
static bool edges_of_counts(Op *op, Histogram *h)
{
    bool ranged = arg_given(op, "range");
    Value range = arg_value(op, "range");
    if (ranged && (range.tag != V_TUPLE || range.tuple->n != 2 * h->axes))
        return fail(
            op->cx, E_VALUE,
            "torch.histogramdd: for a %d-dimensional histogram range should have %d elements",
            h->axes, 2 * h->axes);
    for (int i = 0; i < h->axes; i++) {
        if (!has_bins(op, h, i))
            return false;
        Ox values = ranged ? NULL : column(op, h, i);
        Ox low = ranged ? number_as(op, range.tuple->at[2 * i], ox_dtype(h->x))
                        : extreme(op, h, values, false);
        Ox high = ranged ? number_as(op, range.tuple->at[2 * i + 1], ox_dtype(h->x))
                         : extreme(op, h, values, true);
        Ox same = ox(op, "Equal", low, high);
        Ox half = number_like(op, 0.5, h->x);
        Ox zero = number_like(op, 0, h->x);
        Ox room = ox(op, "Where", same, half, zero);
        Ox left = ox(op, "Sub", low, room);
        h->edges[i] = even_edges(op, h, i, left, ox(op, "Add", high, room));
        if (!ox_ok(h->edges[i]))
            return false;
    }
    return true;
}

static bool one_edge(Op *op, Histogram *h, int i, Ox edges)
{
    int rank;
    if (!need_rank(op, edges, 1, &rank))
        return false;
    if (rank != 1 || !dim_known(ox_dim(edges, 0), &h->bins[i]))
        return op_refuse(op, "bins must be a row of borders whose number is known, got %s",
                         type_text(op->cx, edges->type)->s),
               false;
    h->edges[i] = edges;
    h->bins[i]--;
    return has_bins(op, h, i);
}

static bool edges_given(Op *op, Histogram *h, bool flat)
{
    if (flat)
        return one_edge(op, h, 0, arg(op, "bins"));
    Oxs lists = arg_list(op, "bins");
    if (ctx_failed(op->cx) || lists.n != (size_t)h->axes)
        return fail(op->cx, E_VALUE,
                    "torch.histogramdd: expected %d sequences of bin edges for a %d-dimensional "
                    "histogram but got %zu",
                    h->axes, h->axes, lists.n);
    for (int i = 0; i < h->axes; i++)
        if (!one_edge(op, h, i, lists.at[i]))
            return false;
    return true;
}

/* The bin of each point, counted through all axes, the last one fastest; `all` for those beyond a
 * border. */
static Ox bin_numbers(Op *op, const Histogram *h, int64_t all)
{
    Ox number = NULL;
    Ox inside = NULL;
    for (int i = 0; i < h->axes; i++) {
        Ox values = column(op, h, i);
        Ox passed = borders_passed(op, h->edges[i], values);
        Ox last = slice_axis(op, h->edges[i], 0, dim_of(op, h->bins[i]), dim_of(op, h->bins[i] + 1),
                             1);
        Ox from = ox(op, "Greater", passed, ox_int(op->g, 0));
        Ox to = ox(op, "LessOrEqual", values, last);
        Ox within = ox(op, "And", from, to);
        Ox bin = ox(op, "Min", ox(op, "Sub", passed, ox_int(op->g, 1)),
                    ox_int(op->g, h->bins[i] - 1));
        inside = inside ? ox(op, "And", inside, within) : within;
        Ox before = number ? ox(op, "Mul", number, ox_int(op->g, h->bins[i])) : NULL;
        number = number ? ox(op, "Add", before, bin) : bin;
    }
    return ox(op, "Where", inside, number, ox_int(op->g, all));
}

/* Shares instead of counts: by the sum of all, and by each bin's size. */
static Ox density(Op *op, const Histogram *h, Ox counts)
{
    Ox sum = ox_with(op, "ReduceSum", INPUTS(counts), INT("keepdims", 0));
    Ox out = ox(op, "Div", counts, sum);
    for (int i = 0; i < h->axes; i++) {
        Dim n = dim_of(op, h->bins[i]);
        Dim one = dim_of(op, 1);
        Ox upper = slice_axis(op, h->edges[i], 0, one, dim_add(op->cx, n, one), 1);
        Ox lower = slice_axis(op, h->edges[i], 0, dim_of(op, 0), n, 1);
        Ox size = ox(op, "Sub", upper, lower);
        for (int k = i + 1; k < h->axes; k++)
            size = unsqueeze_axis(op, size, k - i);
        out = ox(op, "Div", out, size);
    }
    return out;
}

enum { MOST_BINS = 1 << 24 };

/* The sum of the weights (1 without) of the points in each bin, of shape bins. Points outside all
 * bins are summed into one more place, which is cut off. */
static Ox counted(Op *op, const Histogram *h)
{
    int64_t all = 1;
    Dim dims[MOST_AXES];
    for (int i = 0; i < h->axes; i++) {
        if (h->bins[i] && all > MOST_BINS / h->bins[i])
            return op_refuse(op, "more than %d bins", MOST_BINS);
        all *= h->bins[i];
        dims[i] = dim_of(op, h->bins[i]);
    }
    Ox weight = arg_opt(op, "weight");
    Ox one = number_like(op, 1, h->x);
    Ox zero = number_like(op, 0, h->x);
    Ox each = weight ? reshape_to(op, weight, &h->n, 1) : expand_dims(op, one, &h->n, 1);
    Ox empty = expand_dims(op, zero, (const Dim[]){ dim_of(op, all + 1) }, 1);
    Ox numbers = bin_numbers(op, h, all);
    if (!ox_ok(each) || !ox_ok(numbers))
        return POISON;
    const Value args[] = { val_tensor(op->cx, empty), val_int(0), val_tensor(op->cx, numbers),
                           val_tensor(op->cx, each) };
    Ox sums = slice_axis(op, call_ox(op, "aten::scatter_add", args, COUNT(args)), 0, dim_of(op, 0),
                         dim_of(op, all), 1);
    Ox counts = reshape_to(op, sums, dims, h->axes);
    return arg_bool(op, "density") ? density(op, h, counts) : counts;
}

/* `bins` as numbers: one for each axis, or one for all. */
static bool bin_counts(Op *op, Histogram *h)
{
    Value v = arg_value(op, "bins");
    if (v.tag != V_TUPLE) {
        int64_t n = arg_int(op, "bins");
        for (int i = 0; i < h->axes; i++)
            h->bins[i] = n;
        return !ctx_failed(op->cx);
    }
    Ints n = arg_ints(op, "bins");
    if (ctx_failed(op->cx))
        return false;
    if (n.n != (size_t)h->axes)
        return fail(op->cx, E_VALUE,
                    "torch.histogramdd: expected %d integer bin counts but got %zu", h->axes, n.n);
    if (n.n)
        memcpy(h->bins, n.at, n.n * sizeof *n.at);
    return true;
}

/* row->datum: how the operators of the family differ. FLAT: values, not points of several
 * coordinates. BORDERS: `bins` are the edges themselves. ONLY_EDGES, ONLY_COUNTS: one result. */
enum { FLAT = 1, BORDERS = 2, ONLY_EDGES = 4, ONLY_COUNTS = 8 };

static bool histogram_edges(Op *op, int64_t form, Histogram *h)
{
    if (form & BORDERS)
        return edges_given(op, h, form & FLAT);
    return bin_counts(op, h) && edges_of_counts(op, h);
}

/* histc, histogram and histogramdd: counts in bins, and the edges of the bins. */
static Value lower_histogram(Op *op)
{
    int64_t form = op->row->datum;
    Histogram h;
    if (!points(op, form & FLAT, &h) || !histogram_edges(op, form, &h))
        return val_poison();
    if (form & ONLY_EDGES)
        return result_list(op, h.edges, (size_t)h.axes);
    Ox out[2] = { counted(op, &h), h.edges[0] };
    if (!ox_ok(out[0]))
        return val_poison();
    if (form & ONLY_COUNTS)
        return val_tensor(op->cx, out[0]);
    if (form & FLAT)
        return result_tuple(op, out, 2);
    return val_tuple(
        op->cx, (Value[]){ val_tensor(op->cx, out[0]), result_list(op, h.edges, (size_t)h.axes) },
        2);
}

#define WEIGHED "Tensor? weight=None, bool density=False) -> "
#define EDGES   "(Tensor hist, Tensor[] bin_edges)"

OP_ROWS(binned)
{
    LOWER(lower_segment_reduce, NULL, PLAIN,
          "aten::segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? "
          "indices=None, Tensor? offsets=None, "
          "int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor");
    CALL_FAMILY(lower_histogram, FLAT | BORDERS, NULL, PLAIN,
                "aten::histogram.bins_tensor(Tensor self, Tensor bins, *, " WEIGHED
                "(Tensor hist, Tensor bin_edges)");
    CALL_FAMILY(lower_histogram, FLAT, NULL, PLAIN,
                "aten::histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, " WEIGHED
                "(Tensor hist, Tensor bin_edges)");
    CALL_FAMILY(lower_histogram, 0, NULL, PLAIN,
                "aten::histogramdd(Tensor self, int[] bins, float[]? range=None, " WEIGHED EDGES);
    CALL_FAMILY(
        lower_histogram, 0, NULL, PLAIN,
        "aten::histogramdd.int_bins(Tensor self, int bins, float[]? range=None, " WEIGHED EDGES);
    CALL_FAMILY(lower_histogram, BORDERS, NULL, PLAIN,
                "aten::histogramdd.TensorList_bins(Tensor self, Tensor[] bins, float[]? "
                "range=None, " WEIGHED EDGES);
    CALL_FAMILY(
        lower_histogram, ONLY_EDGES, NULL, PLAIN,
        "aten::_histogramdd_bin_edges(Tensor self, int[] bins, *, float[]? range=None, " WEIGHED
        "Tensor[]");
    CALL_FAMILY(
        lower_histogram, ONLY_COUNTS, NULL, PLAIN,
        "aten::_histogramdd_from_bin_cts(Tensor self, int[] bins, *, float[]? range=None, " WEIGHED
        "Tensor");
    CALL_FAMILY(lower_histogram, BORDERS | ONLY_COUNTS, NULL, PLAIN,
                "aten::_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, " WEIGHED
                "Tensor");
}
