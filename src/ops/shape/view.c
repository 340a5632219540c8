/* view.c - operators whose result shares memory with their argument: what they read, and what their
 * base becomes when they are written to. Whether reshape, flatten, contiguous or to share at all is
 * decided by value/tensor.c, from strides. */
#include "ops/shape/view_strides.h"
#include "value/autograd.h"

/* ---- reshapes: another shape of the same elements in the same order ---- */

static Ox as_base(Op *op, Ox base, Ox part)
{
    return ox_ok(part) ? reshape_to(op, part, base->type->dim, ox_rank(base)) : POISON;
}

/* Sizes with at most one -1, which is the rest of the elements. */
static Ox view_sizes(Op *op, Ox x, Dims sizes)
{
    Dim rest = dim_int(op->cx, 1);
    int hole = -1, rank;
    if (ctx_failed(op->cx) || !need_rank(op, x, -1, &rank))
        return POISON;
    for (size_t i = 0; i < sizes.n; i++) {
        if (dim_is(sizes.at[i], -1) && hole >= 0)
            return op_fail(op, E_VALUE, "only one dimension can be inferred");
        if (dim_is(sizes.at[i], -1))
            hole = (int)i;
        else
            rest = dim_mul(op->cx, rest, sizes.at[i]);
    }
    Dim all = type_numel(op->cx, x->type);
    if (hole >= 0 && dim_is(rest, 0))
        return op_fail(op, E_VALUE,
                       "cannot reshape tensor of 0 elements because the unspecified dimension size "
                       "-1 can be any value and is ambiguous");
    if (hole >= 0 && !dim_divide(op->cx, all, rest, &sizes.at[hole]))
        sizes.at[hole] = dim_floordiv(op->cx, all, rest);
    Dim made = dim_product(op->cx, sizes.at, (int)sizes.n);
    if (!dim_require(op->cx, made, all, "shape is invalid for input of size %s",
                     dim_text(op->cx, all)->s))
        return POISON;
    return reshape_to(op, x, sizes.at, (int)sizes.n);
}

static Ox lower_view(Op *op) { return view_sizes(op, arg(op, "self"), arg_dims(op, "size")); }

/* Sizes that are given with their strides are taken as they are: -1 stands for no other number. */
static Ox lower_reshape_alias(Op *op)
{
    Dims sizes = arg_dims(op, "size");
    Dims strides = arg_dims(op, "stride");
    for (size_t i = 0; i < sizes.n; i++)
        if (dim_lt(op->cx, sizes.at[i], dim_int(op->cx, 0)) == YES)
            return op_fail(op, E_VALUE, "numel: integer multiplication overflow");
    if (sizes.n != strides.n)
        return op_fail(op, E_VALUE,
                       "dimensionality of sizes (%zu) must match dimensionality of strides (%zu)",
                       sizes.n, strides.n);
    return view_sizes(op, arg(op, "self"), sizes);
}

static Ox lower_reshape(Op *op) { return view_sizes(op, arg(op, "self"), arg_dims(op, "shape")); }

static Ox lower_view_as(Op *op)
{
    Ox other = arg(op, "other");
    Ox x = arg(op, "self");
    int rank;
    return need_rank(op, other, -1, &rank) && ox_ok(x) ? reshape_to(op, x, other->type->dim, rank)
                                                       : POISON;
}

static Ox lower_flatten(Op *op)
{
    Ox x = arg(op, "self");
    int rank, from, to, n = 0;
    if (!need_rank(op, x, 4, &rank) || !arg_dim(op, "start_dim", rank, &from) ||
        !arg_dim(op, "end_dim", rank, &to))
        return POISON;
    if (from > to)
        return op_fail(op, E_VALUE,
                       "flatten() has invalid args: start_dim cannot come after end_dim");
    Dim dims[MAX_RANK] = { dim_int(op->cx, 1) };
    for (int i = 0; i < rank; i++)
        if (i > from && i <= to)
            dims[n - 1] = dim_mul(op->cx, dims[n - 1], ox_dim(x, i));
        else
            dims[n++] = ox_dim(x, i);
    return reshape_to(op, x, dims, rank ? n : 1);
}

static Ox lower_ravel(Op *op) { return flatten_to_1d(op, arg(op, "self")); }

/* One axis as several: unflatten(x, 1, [2, -1]) of [3, 8] is [3, 2, 4]. A size of -1 is the rest.
 */
static Ox lower_unflatten(Op *op)
{
    Ox x = arg(op, "self");
    Dims sizes = arg_dims(op, "sizes");
    int rank, axis, hole = -1;
    if (!need_rank(op, x, -1, &rank) || !arg_dim(op, "dim", rank, &axis))
        return POISON;
    if (rank == 0)
        return op_fail(op, E_VALUE, "unflatten() cannot be applied to a 0-dim tensor.");
    if (sizes.n == 0)
        return op_fail(op, E_VALUE, "unflatten: sizes must be non-empty");
    if ((size_t)rank + sizes.n > MAX_RANK)
        return op_fail(op, E_LIMIT, "a tensor of %zu dimensions: the most is %d",
                       (size_t)rank + sizes.n - 1, MAX_RANK);
    Dim dims[2 * MAX_RANK], rest = dim_int(op->cx, 1);
    int n = 0;
    for (int i = 0; i < axis; i++)
        dims[n++] = ox_dim(x, i);
    for (size_t i = 0; i < sizes.n; i++) {
        if (dim_is(sizes.at[i], -1) && hole >= 0)
            return op_fail(op, E_VALUE, "only one dimension can be inferred");
        if (dim_is(sizes.at[i], -1))
            hole = n;
        else
            rest = dim_mul(op->cx, rest, sizes.at[i]);
        dims[n++] = sizes.at[i];
    }
    if (hole >= 0 && !dim_divide(op->cx, ox_dim(x, axis), rest, &dims[hole]))
        dims[hole] = dim_floordiv(op->cx, ox_dim(x, axis), rest);
    for (int i = axis + 1; i < rank; i++)
        dims[n++] = ox_dim(x, i);
    return reshape_to(op, x, dims, n);
}

/* Is the parameter dim a number that the running model computes? */
static bool dim_is_computed(Op *op) { return arg_value(op, "dim").tag == V_SYMINT; }

static Ox computed_dim(Op *op)
{
    Dim d = arg_dim_expr(op, "dim");
    return ox_dims(op->g, &d, 1);
}

static Ox lower_unsqueeze(Op *op)
{
    Ox x = arg(op, "self");
    int rank, axis;
    if (!need_rank(op, x, -1, &rank))
        return POISON;
    if (dim_is_computed(op))
        return ox(op, "Unsqueeze", x, computed_dim(op));
    return arg_dim(op, "dim", rank + 1, &axis) ? unsqueeze_axis(op, x, axis) : POISON;
}

/* How many of the axes that may be 1 have gone, by the rank that the file has recorded of the
 * result; -1: it has recorded none. */
static int recorded_gone(Op *op, Ox x, const Axes *axes)
{
    int gone = op->n_expect == 1 && op->expect[0] && op->expect[0]->rank >= 0
        ? ox_rank(x) - op->expect[0]->rank
        : -1;
    for (int i = 0; gone >= 0 && i < axes->n; i++)
        gone -= dim_is(ox_dim(x, axes->at[i]), 1);
    return gone;
}

/* Was the dynamic size d 1 in the example from which the program was traced? */
static bool was_1(Op *op, Dim d)
{
    int64_t then;
    return dim_example(op->cx, d, &then) && then == 1;
}

/* Does squeeze drop an axis of dynamic size d? PyTorch looks at the size. Here a trace decides that
 * has dropped all of the dynamic axes (gone == dynamic), or whose example was 1 there; else a size
 * of at most 1 is taken for 1, and any other for larger. The model is right for such sizes only, so
 * each decision is noted. UNKNOWN after an error. */
static Tri drops_dynamic(Op *op, Dim d, int axis, int gone, int dynamic)
{
    Dim one = dim_int(op->cx, 1);
    if (gone > 0 && gone != dynamic) {
        fail(op->cx, E_UNDECIDED,
             "which of the dimensions of unknown size are 1 is not known: squeeze(dim) says it, or "
             "fixed sizes");
        return UNKNOWN;
    }
    if (gone > 0) {
        if (!dim_require(op->cx, d, one, "the trace has squeezed dimension %d", axis))
            return UNKNOWN;
        note(op->cx, NOTE_ASSUMED, "dimension %d (%s) is 1: the trace has squeezed it", axis,
             dim_text(op->cx, d)->s);
        return YES;
    }
    if (dim_le(op->cx, d, one) == YES) { /* x[:1] of N rows */
        note(op->cx, NOTE_ASSUMED, "dimension %d (%s) is 1 and not 0, squeeze drops it", axis,
             dim_text(op->cx, d)->s);
        return YES;
    }
    if (gone < 0 && was_1(op, d)) {
        note(op->cx, NOTE_ASSUMED,
             "dimension %d (%s) is 1 as in the example, squeeze drops it; torch.jit.script keeps "
             "both cases",
             axis, dim_text(op->cx, d)->s);
        return YES;
    }
    note(op->cx, NOTE_ASSUMED,
         "dimension %d (%s) is not 1, squeeze keeps it; give its size with -i if it is", axis,
         dim_text(op->cx, d)->s);
    return NO;
}

/* Squeeze those of the axes whose size is 1. */
static Ox squeeze_axes(Op *op, Ox x, const Axes *axes)
{
    int64_t at[MAX_RANK];
    int n = 0;
    int dynamic = 0;
    int gone = recorded_gone(op, x, axes);
    Dim one = dim_int(op->cx, 1);
    for (int i = 0; i < axes->n; i++)
        dynamic += dim_eq(op->cx, ox_dim(x, axes->at[i]), one) == UNKNOWN;
    for (int i = 0; i < axes->n; i++) {
        Dim d = ox_dim(x, axes->at[i]);
        Tri drops = dim_eq(op->cx, d, one);
        if (drops == UNKNOWN)
            drops = drops_dynamic(op, d, axes->at[i], gone, dynamic);
        if (drops == UNKNOWN)
            return POISON;
        if (drops == YES)
            at[n++] = axes->at[i];
    }
    if (n == 0)
        return x;
    Ox list = ox_ints(op->g, at, (size_t)n);
    return ox(op, "Squeeze", x, list);
}

/* x without this axis in runs where its size is 1. The axes behind it may be gone already. */
static Ox squeeze_when_1(Op *op, Ox x, Ox axis, Ox size)
{
    Op yes = *op;
    Op no = *op;
    Ox one = ox_int(op->g, 1);
    Ox is_1 = ox(op, "Equal", size, one);
    yes.g = graph_new(op->cx, op->g, NULL);
    no.g = graph_new(op->cx, op->g, NULL);
    dim_scope_open(op->cx); /* the size is 1 in that branch only */
    Ox less = ox(&yes, "Squeeze", x, axis);
    dim_scope_close(op->cx);
    graph_output(yes.g, less, NULL);
    graph_output(no.g, x, NULL);
    return ox_with(op, "If", INPUTS(is_1), SUBGRAPH("then_branch", yes.g),
                   SUBGRAPH("else_branch", no.g));
}

/* Does squeeze usually drop this axis: one of size 1, or a dynamic one that a trace has dropped, or
 * whose example was 1? gone is recorded_gone's. */
static bool usually_dropped(Op *op, Ox x, const Axes *axes, const Axes *dynamic, int gone, int axis)
{
    Dim d = ox_dim(x, axis);
    if (!axes->has[axis])
        return false;
    if (!dynamic->has[axis])
        return dim_is(d, 1);
    return gone < 0 ? was_1(op, d) : gone == dynamic->n;
}

/* The usual type of a squeeze's result whose rank differs between runs: a trace's, or the one that
 * keeps all dynamic axes. */
static Type usual_squeezed(Op *op, Ox x, const Axes *axes, const Axes *dynamic)
{
    Dim dim[MAX_RANK];
    int gone = recorded_gone(op, x, axes);
    int rank = 0;
    for (int i = 0; i < ox_rank(x); i++)
        if (!usually_dropped(op, x, axes, dynamic, gone, i))
            dim[rank++] = ox_dim(x, i);
    if (gone > 0 && gone < dynamic->n)
        return op->expect[0];
    return type_tensor(op->cx, ox_dtype(x), rank, dim);
}

/* Does the file's own record say that no dynamic size is 1? Only a .pt2's: it names each size, and
 * holds for them. */
static bool keeps_as_recorded(Op *op, Ox x, const Axes *axes)
{
    Dim kept[MAX_RANK];
    int rank = 0;
    for (int i = 0; i < ox_rank(x); i++)
        if (!axes->has[i] || !dim_is(ox_dim(x, i), 1))
            kept[rank++] = ox_dim(x, i);
    bool same = op->n_expect == 1 && op->expect[0] && op->expect[0]->rank == rank;
    for (int i = 0; same && i < rank; i++)
        same = dim_eq(op->cx, op->expect[0]->dim[i], kept[i]) == YES;
    return same;
}

/* Of these axes those for which it is not known whether their size is 1. *wide: may a size be
 * above 1? */
static Axes dynamic_axes(Op *op, Ox x, const Axes *axes, bool *wide)
{
    Axes dynamic = { 0 };
    Dim one = dim_int(op->cx, 1);
    *wide = false;
    for (int i = 0; i < axes->n; i++) {
        int axis = axes->at[i];
        if (dim_eq(op->cx, ox_dim(x, axis), one) != UNKNOWN)
            continue;
        dynamic.has[axis] = true;
        dynamic.at[dynamic.n++] = axis;
        *wide = *wide || dim_le(op->cx, ox_dim(x, axis), one) != YES;
    }
    return dynamic;
}

/* The running model decides whether a dynamic size is 1, as PyTorch does: the result has another
 * rank in some runs. */
static Ox squeeze_as_it_runs(Op *op, Ox x, const Axes *axes, const Axes *dynamic)
{
    Ox y = axes->n == ox_rank(x) ? ox(op, "Squeeze", x) : x;
    for (int i = axes->n; i-- > 0 && axes->n < ox_rank(x);) {
        int axis = axes->at[i];
        Dim d = ox_dim(x, axis);
        Ox at = ints(op, axis);
        Ox size = ox_dim_value(op->g, d);
        if (dynamic->has[axis])
            y = squeeze_when_1(op, y, at, size);
        else if (dim_is(d, 1))
            y = ox(op, "Squeeze", y, at);
    }
    rank_varies(op->cx, y, usual_squeezed(op, x, axes, dynamic));
    return y;
}

static Ox squeeze(Op *op, Ox x, const Axes *axes)
{
    bool wide;
    Axes dynamic = dynamic_axes(op, x, axes, &wide);
    bool varies = wide && !op->g->up && rank_may_vary(op->cx) && !keeps_as_recorded(op, x, axes);
    return varies ? squeeze_as_it_runs(op, x, axes, &dynamic) : squeeze_axes(op, x, axes);
}

static Ox lower_squeeze(Op *op)
{
    Ox x = arg(op, "self");
    Axes axes = { 0 };
    int rank;
    if (!need_rank(op, x, -1, &rank))
        return POISON;
    for (int i = 0; i < rank; i++) {
        axes.has[i] = true;
        axes.at[axes.n++] = i;
    }
    return squeeze(op, x, &axes);
}

/* squeeze of a dim that the running model computes, which also decides whether the axis is dropped;
 * so the rank varies. */
static Ox squeeze_computed(Op *op, Ox x)
{
    Ox sizes = ox_shape(op->g, x);
    Ox axis = computed_dim(op);
    Ox index = ox_dim_value(op->g, arg_dim_expr(op, "dim"));
    Ox y = squeeze_when_1(op, x, axis, ox(op, "Gather", sizes, index));
    rank_varies(op->cx, y, op->n_expect == 1 && op->expect[0] ? op->expect[0] : x->type);
    return y;
}

static Ox lower_squeeze_dim(Op *op)
{
    Ox x = arg(op, "self");
    Axes axes = { .n = 1 };
    int rank;
    if (!need_rank(op, x, -1, &rank))
        return POISON;
    if (rank > 0 && dim_is_computed(op) && !op->g->up && rank_may_vary(op->cx))
        return squeeze_computed(op, x);
    if (!arg_dim(op, "dim", rank, &axes.at[0]))
        return POISON;
    axes.has[axes.at[0]] = true;
    return rank == 0 ? x : squeeze(op, x, &axes);
}

static Ox lower_squeeze_dims(Op *op)
{
    Ox x = arg(op, "self");
    Axes axes;
    int rank;
    if (!need_rank(op, x, -1, &rank) || !arg_axes(op, "dim", rank, &axes))
        return POISON;
    return arg_ints(op, "dim").n == 0 ? x : squeeze(op, x, &axes);
}

/* ---- another order of the axes ---- */

/* Argument `dims` as a permutation of all axes, counted from the front. */
static bool perm_of(Op *op, int rank, int *perm)
{
    Ints dims = arg_ints(op, "dims");
    bool seen[MAX_RANK] = { false };
    if (ctx_failed(op->cx))
        return false;
    if (dims.n != (size_t)rank)
        return fail(op->cx, E_VALUE, "permute: the tensor has %d dimensions, dims names %zu", rank,
                    dims.n);
    for (int i = 0; i < rank; i++) {
        int64_t d = dims.at[i] < 0 ? dims.at[i] + rank : dims.at[i];
        if (d < 0 || d >= rank || seen[d])
            return fail(op->cx, E_VALUE,
                        "permute: dim %lld is out of range or repeated for rank %d",
                        (long long)dims.at[i], rank);
        seen[d] = true;
        perm[i] = (int)d;
    }
    return true;
}

Ox permute_back(Op *op, Ox x, const int *perm, int n)
{
    int back[MAX_RANK];
    for (int i = 0; i < n; i++)
        back[perm[i]] = i;
    return permute_to(op, x, back, n);
}

static Ox lower_permute(Op *op)
{
    Ox x = arg(op, "self");
    int rank, perm[MAX_RANK];
    if (!need_rank(op, x, (int)arg_ints(op, "dims").n, &rank) || !perm_of(op, rank, perm))
        return POISON;
    return permute_to(op, x, perm, rank);
}

static Ox write_permute(Op *op, Ox base, Ox part)
{
    int perm[MAX_RANK];
    return perm_of(op, ox_rank(base), perm) ? permute_back(op, part, perm, ox_rank(base)) : POISON;
}

static Ox swapped(Op *op, Ox x, int a, int b)
{
    int perm[MAX_RANK], rank = ox_rank(x);
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    perm[a] = b;
    perm[b] = a;
    return permute_to(op, x, perm, rank);
}

static Ox transposed(Op *op, Ox x, Ox base)
{
    const char *names[] = { "dim0", "dim1" };
    int rank, at[2];
    if (!need_rank(op, base, -1, &rank) || !ox_ok(x))
        return POISON;
    if (param_named(op->call->schema, "dim0") < 0)
        names[0] = "axis0", names[1] = "axis1";
    if (!arg_dim(op, names[0], rank, &at[0]) || !arg_dim(op, names[1], rank, &at[1]))
        return POISON;
    return rank == 0 ? x : swapped(op, x, at[0], at[1]);
}

static Ox lower_transpose(Op *op)
{
    Ox x = arg(op, "self");
    return transposed(op, x, x);
}
static Ox write_transpose(Op *op, Ox base, Ox part) { return transposed(op, part, base); }

static Ox turned(Op *op, Ox x)
{
    int rank;
    if (!need_rank(op, x, 2, &rank))
        return POISON;
    if (rank > 2)
        return op_fail(op, E_VALUE, "t() expects a tensor with <= 2 dimensions, but self is %dD",
                       rank);
    return rank < 2 ? x : swapped(op, x, 0, 1);
}

static Ox lower_t(Op *op) { return turned(op, arg(op, "self")); }
static Ox write_t(Op *op, Ox base, Ox part)
{
    (void)base;
    return turned(op, part);
}

static Ox lower_matrix_h(Op *op)
{
    Ox x = arg(op, "self");
    int rank;
    if (!need_rank(op, x, 2, &rank))
        return POISON;
    return rank == 0 || rank == 2
        ? conjugate(op, turned(op, x))
        : op_fail(op, E_VALUE,
                  "tensor.H is only supported on matrices (2-D tensors). Got %d-D tensor.", rank);
}

static Ox reversed(Op *op, Ox x)
{
    int rank, perm[MAX_RANK];
    if (!need_rank(op, x, -1, &rank))
        return POISON;
    for (int i = 0; i < rank; i++)
        perm[i] = rank - 1 - i;
    return permute_to(op, x, perm, rank);
}

static Ox lower_numpy_t(Op *op) { return reversed(op, arg(op, "self")); }
static Ox write_numpy_t(Op *op, Ox base, Ox part)
{
    (void)base;
    return reversed(op, part);
}

static Ox last_two(Op *op, Ox x)
{
    int rank;
    if (!need_rank(op, x, -1, &rank))
        return POISON;
    if (rank == 1)
        return op_fail(op, E_VALUE,
                       "%s is only supported on matrices or batches of matrices. Got 1-D tensor.",
                       op->call->schema->name->s);
    return rank ? swapped(op, x, rank - 2, rank - 1) : x;
}

static Ox lower_m_t(Op *op) { return last_two(op, arg(op, "self")); }
static Ox write_m_t(Op *op, Ox base, Ox part)
{
    (void)base;
    return last_two(op, part);
}
static Ox lower_m_h(Op *op) { return conjugate(op, lower_m_t(op)); }
static Ox write_m_h(Op *op, Ox base, Ox part) { return conjugate(op, write_m_t(op, base, part)); }
static Ox write_matrix_h(Op *op, Ox base, Ox part)
{
    return conjugate(op, write_t(op, base, part));
}

/* movedim(x, source, destination): the named axes go to their places, the others keep their
 * order. */
static bool moved_perm(Op *op, int rank, int *perm)
{
    Ints from = arg_ints(op, "source");
    Ints to = arg_ints(op, "destination");
    bool placed[MAX_RANK] = { false };
    bool used[MAX_RANK] = { false };
    if (rank == 0)
        rank = 1; /* a scalar has the dims 0 and -1 */
    if (ctx_failed(op->cx) || from.n != to.n)
        return fail(op->cx, E_VALUE,
                    "movedim: source and destination must have the same number of elements");
    for (size_t i = 0; i < from.n; i++) {
        int64_t s = from.at[i] < 0 ? from.at[i] + rank : from.at[i];
        int64_t d = to.at[i] < 0 ? to.at[i] + rank : to.at[i];
        if (s < 0 || s >= rank || d < 0 || d >= rank || placed[d] || used[s])
            return fail(op->cx, E_VALUE, "movedim: a dim is out of range for rank %d, or repeated",
                        rank);
        perm[d] = (int)s;
        placed[d] = used[s] = true;
    }
    for (int d = 0, s = 0; d < rank; d++) {
        if (placed[d])
            continue;
        while (used[s])
            s++;
        perm[d] = s++;
    }
    return true;
}

static Ox lower_movedim(Op *op)
{
    Ox x = arg(op, "self");
    int rank, perm[MAX_RANK];
    if (!need_rank(op, x, -1, &rank) || !moved_perm(op, rank, perm))
        return POISON;
    return permute_to(op, x, perm, rank);
}

static Ox write_movedim(Op *op, Ox base, Ox part)
{
    int perm[MAX_RANK];
    if (!moved_perm(op, ox_rank(base), perm))
        return POISON;
    return permute_back(op, part, perm, ox_rank(base));
}

/* ---- expand: one element stands for several ---- */

/* x expanded to sizes, in which -1 keeps the size of an axis: [3, 1] to [2, -1, 4] is [2, 3, 4]. */
static Ox expand_sizes(Op *op, Ox x, Dims sizes)
{
    int rank, n = (int)sizes.n;
    Dim dims[MAX_RANK];
    if (ctx_failed(op->cx) || !need_rank(op, x, -1, &rank))
        return POISON;
    if (n < rank || n > MAX_RANK)
        return op_fail(op, E_VALUE,
                       "expand: the number of sizes provided (%d) must be greater or equal to the "
                       "number of dimensions in the tensor (%d)",
                       n, rank);
    for (int i = 0; i < n; i++) {
        Dim own = i >= n - rank ? ox_dim(x, i - (n - rank)) : NULL;
        if (dim_is(sizes.at[i], -1) && !own)
            return op_fail(op, E_VALUE,
                           "expand: the expanded size of the tensor (-1) isn't allowed in a "
                           "leading, non-existing dimension %d",
                           i);
        dims[i] = dim_is(sizes.at[i], -1) ? own : sizes.at[i];
        int64_t size;
        if (dim_known(dims[i], &size) && size < 0)
            return op_fail(op, E_VALUE, "expand: the size %lld at dimension %d is negative",
                           (long long)size, i);
        if (own && dim_eq(op->cx, own, dim_int(op->cx, 1)) == NO &&
            !dim_require(
                op->cx, own, dims[i],
                "the expanded size of the tensor must match the existing size at dimension %d", i))
            return POISON;
    }
    return expand_dims(op, x, dims, n);
}

/* Do both differ? -0 differs from 0, and NaN from every number but not from NaN. */
static Ox differs(Op *op, Ox a, Ox b)
{
    Ox equal = ox(op, "Equal", a, b);
    if (!dtype_is_float(ox_dtype(a)))
        return ox(op, "Not", equal);
    Value of_a = val_tensor(op->cx, a);
    Value of_b = val_tensor(op->cx, b);
    Value below_a = call_op(op, "aten::signbit", &of_a, 1);
    Value below_b = call_op(op, "aten::signbit", &of_b, 1);
    if (!val_ok(below_a) || !val_ok(below_b))
        return POISON;
    Ox signs = ox(op, "Equal", tensor_read(op->g, below_a.t), tensor_read(op->g, below_b.t));
    Ox same = ox(op, "And", equal, signs);
    Ox none_a = ox(op, "IsNaN", a);
    Ox none_b = ox(op, "IsNaN", b);
    Ox neither = ox(op, "And", none_a, none_b);
    return ox(op, "Not", ox(op, "Or", same, neither));
}

/* base with the elements that a write has changed. rows: [k, base's shape], k copies of the written
 * tensor; of each element the first copy that differs from base's counts, or base's own. */
static Ox written_row(Op *op, Ox base, Ox rows)
{
    Ox front = unsqueeze_axis(op, base, 0);
    Ox all = concat_axis(op, (const Ox[]){ front, rows }, 2, 0);
    Ox changed = ox_cast(op->g, differs(op, all, front), DT_INT32);
    Ox at = ox_with(op, "ArgMax", INPUTS(changed), INT("axis", 0), INT("keepdims", 1));
    Ox out = ox_with(op, "GatherElements", INPUTS(all, at), INT("axis", 0));
    Ox axes = ints(op, 0);
    return ox(op, "Squeeze", out, axes);
}

/* The argument of expand, or the sizes of expand_as's other tensor. */
static Dims expanded_sizes(Op *op)
{
    if (has_param(op, "size"))
        return arg_dims(op, "size");
    Ox other = arg(op, "other");
    int rank;
    if (!need_rank(op, other, -1, &rank))
        return (Dims){ 0 };
    Dims sizes = { .at = mem_copy(op->cx, other->type->dim, (size_t)rank * sizeof(Dim)) };
    sizes.n = sizes.at ? (size_t)rank : 0;
    return sizes;
}

/* Which of the view's axes repeat an element of base? [3, 1] expanded to [2, 3, 4]: 0 and 2. False
 * after an error. */
static bool repeated_axes(Op *op, Ox base, int rank, bool *repeats)
{
    Dim one = dim_int(op->cx, 1);
    int added = rank - ox_rank(base);
    Dims sizes = expanded_sizes(op);
    for (int i = 0; i < rank; i++)
        repeats[i] = false;
    for (int i = 0; i < rank && sizes.n == (size_t)rank; i++) {
        Dim own = i < added ? one : ox_dim(base, i - added);
        Tri same = dim_is(sizes.at[i], -1) ? YES : dim_eq(op->cx, own, sizes.at[i]);
        if (same == UNKNOWN && dim_le(op->cx, own, one) != YES)
            return fail(op->cx, E_UNDECIDED,
                        "whether expand repeats dimension %d (%s) or leaves it as it is depends "
                        "on sizes that are not known",
                        i - added, dim_text(op->cx, own)->s);
        repeats[i] = same != YES;
    }
    return !ctx_failed(op->cx);
}

/* base once its expanded view reads `part`. PyTorch only allows writes after which all copies of an
 * element that changed agree (fill_, masked_fill_, a mask), or writes to one of the copies. */
static Ox write_expand(Op *op, Ox base, Ox part)
{
    int rank = ox_rank(part);
    int perm[MAX_RANK];
    int n = 0;
    Dim dims[MAX_RANK + 1];
    Dim copies = dim_int(op->cx, 1);
    bool repeats[MAX_RANK];
    if (!repeated_axes(op, base, rank, repeats))
        return POISON;
    for (int i = 0; i < rank; i++)
        if (repeats[i]) {
            copies = dim_mul(op->cx, copies, ox_dim(part, i));
            perm[n++] = i;
        }
    if (n == 0)
        return as_base(op, base, part);
    for (int i = 0; i < rank; i++)
        if (!repeats[i])
            perm[n++] = i;
    if (dtype_is_complex(ox_dtype(base)) || !copies)
        return op_refuse(
            op, "a write to a complex tensor through copies of its elements: clone() it first");
    dims[0] = copies;
    for (int i = 0; i < ox_rank(base); i++)
        dims[i + 1] = ox_dim(base, i);
    Ox copies_first = permute_to(op, part, perm, rank);
    return written_row(op, base, reshape_to(op, copies_first, dims, ox_rank(base) + 1));
}

static Ox lower_expand(Op *op) { return expand_sizes(op, arg(op, "self"), expanded_sizes(op)); }

/* ---- at least so many dims: new axes in front, but the third one last ---- */

/* atleast_1d, _2d, _3d. row->datum: the least rank. */
static Ox lower_atleast(Op *op)
{
    Ox x = arg(op, "self");
    int rank, least = (int)op->row->datum;
    Dim dims[3], one = dim_int(op->cx, 1);
    if (!need_rank(op, x, -1, &rank) || rank >= least)
        return x;
    for (int i = 0; i < least; i++)
        dims[i] = one;
    if (rank > 0)
        dims[least == 1 || rank == 2 ? 0 : 1] = ox_dim(x, 0);
    if (rank == 2)
        dims[1] = ox_dim(x, 1);
    return reshape_to(op, x, dims, least);
}

static Value lower_atleast_all(Op *op)
{
    Value list = arg_value(op, "tensors");
    if (list.tag != V_TUPLE)
        return val_poison();
    Value *out = new_array(op->cx, Value, list.tuple->n + 1);
    if (!out)
        return val_poison();
    for (int64_t i = 0; i < list.tuple->n; i++) {
        out[i] = call_op(op, op->call->schema->name->s, &list.tuple->at[i], 1);
        if (!val_ok(out[i]))
            return out[i];
    }
    return val_list(op->cx, out, list.tuple->n, "Tensor");
}

/* ---- the same bits as another type ---- */

/* ONNX's Cast keeps the low bits of whole numbers. */
static Ox bits_as(Op *op, Ox x, DType to)
{
    DType from = ox_ok(x) ? ox_dtype(x) : DT_NONE;
    bool whole = dtype_is_int(from) && dtype_is_int(to);
    if (from == DT_NONE || from == to)
        return ox_ok(x) ? x : POISON;
    if (dtype_size(from) != dtype_size(to) || dtype_is_complex(from) || dtype_is_complex(to) ||
        from == DT_BOOL || to == DT_BOOL)
        return op_refuse(op, "the bits of %s as %s: only numbers of one size are converted",
                         torch_dtype_name(from), torch_dtype_name(to));
    if (!whole && !need_opset(op, 26, "the bits of a float"))
        return POISON;
    return whole ? ox_cast(op->g, x, to) : ox_with(op, "BitCast", INPUTS(x), INT("to", to));
}

static Ox lower_view_dtype(Op *op)
{
    return bits_as(op, arg(op, "self"), arg_dtype(op, "dtype", DT_NONE));
}
static Ox write_view_dtype(Op *op, Ox base, Ox part) { return bits_as(op, part, ox_dtype(base)); }

/* ---- the same values ---- */

static Ox lower_same(Op *op) { return arg(op, "self"); }
static Ox write_same(Op *op, Ox base, Ox part)
{
    (void)op;
    (void)base;
    return part;
}

static Ox lower_detach(Op *op)
{
    Ox x = arg(op, "self");
    return ox_ok(x) ? autograd_detached(op->g, x) : POISON;
}

/* What is written to the detached tensor is in the other one too, but not in its gradient. */
static Ox write_detached(Op *op, Ox base, Ox part)
{
    if (!autograd_requires(op->cx, base))
        return part;
    fail(op->cx, E_UNSUPPORTED,
         "writing to what detach() gave changes a tensor whose gradient is recorded");
    fail_hint(op->cx, "x.detach().clone() has memory of its own");
    return POISON;
}

static Value lower_detach_(Op *op)
{
    Value self = arg_value(op, "self");
    return tensor_detach(op->g, self.t) ? self : val_poison();
}

/* ---- which of them share memory only sometimes ---- */

static Tri shares_viewable(Op *op, Tensor *base, Ox read)
{
    return tensor_can_view(op->cx, base, read->type);
}

static Tri shares_contiguous(Op *op, Tensor *base, Ox read)
{
    (void)read;
    Value format = arg_value(op, "memory_format");
    if (format.tag == V_INT && format.i != FORMAT_CONTIGUOUS)
        return tensor_has_format(op->cx, base, format.i);
    return tensor_contiguous(op->cx, base);
}

/* ravel is contiguous().view(-1): of every other column it copies what reshape can view. */
static Tri shares_ravelled(Op *op, Tensor *base, Ox read)
{
    (void)read;
    return tensor_contiguous(op->cx, base);
}

OP_ROWS(view)
{
    VIEW(lower_view, as_base, strides_view, PLAIN,
         "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)");
    VIEW(lower_view_dtype, write_view_dtype, strides_view, PLAIN,
         "aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)");
    VIEW(lower_view, as_base, NULL, PLAIN,
         "aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor");
    VIEW_OR_COPY(lower_reshape, as_base, strides_view, shares_viewable, PLAIN,
                 "aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)");
    VIEW(lower_reshape_alias, as_base, NULL, PLAIN,
         "aten::_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)");
    VIEW(lower_view_as, as_base, strides_view, PLAIN,
         "aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)");
    VIEW_OR_COPY(lower_view_as, as_base, strides_view, shares_viewable, PLAIN,
                 "aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)");
    VIEW_OR_COPY(
        lower_flatten, as_base, strides_view, shares_viewable, PLAIN,
        "aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
        .gives_itself = true);
    VIEW_OR_COPY(lower_ravel, as_base, strides_view, shares_ravelled, PLAIN,
                 "aten::ravel(Tensor(a) self) -> Tensor(a)");
    VIEW(lower_unflatten, as_base, strides_view, PLAIN,
         "aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)");
    VIEW(lower_unsqueeze, as_base, strides_unsqueeze, PLAIN,
         "aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)");
    VIEW(lower_squeeze, as_base, strides_squeeze, PLAIN,
         "aten::squeeze(Tensor(a) self) -> Tensor(a)");
    VIEW(lower_squeeze_dim, as_base, strides_squeeze, PLAIN,
         "aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)");
    VIEW(lower_squeeze_dims, as_base, strides_squeeze, PLAIN,
         "aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)");
    VIEW(lower_permute, write_permute, strides_permute, PLAIN,
         "aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)");
    VIEW(lower_transpose, write_transpose, strides_transpose, PLAIN,
         "aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)");
    VIEW(lower_transpose, write_transpose, NULL, PLAIN,
         "aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)");
    VIEW(lower_transpose, write_transpose, NULL, PLAIN,
         "aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)");
    VIEW(lower_t, write_t, strides_t, PLAIN, "aten::t(Tensor(a) self) -> Tensor(a)");
    VIEW(lower_numpy_t, write_numpy_t, strides_t, PLAIN,
         "aten::numpy_T(Tensor(a) self) -> Tensor(a)");
    VIEW(lower_m_t, write_m_t, strides_m_t, PLAIN, "aten::mT(Tensor(a) self) -> Tensor(a)");
    VIEW_FAMILY(lower_atleast, 1, as_base, NULL, PLAIN, "aten::atleast_1d(Tensor self) -> Tensor",
                .gives_itself = true);
    CALL(lower_atleast_all, NULL, PLAIN, "aten::atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]");
    VIEW_FAMILY(lower_atleast, 2, as_base, NULL, PLAIN, "aten::atleast_2d(Tensor self) -> Tensor",
                .gives_itself = true);
    CALL(lower_atleast_all, NULL, PLAIN, "aten::atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]");
    VIEW_FAMILY(lower_atleast, 3, as_base, NULL, PLAIN, "aten::atleast_3d(Tensor self) -> Tensor",
                .gives_itself = true);
    CALL(lower_atleast_all, NULL, PLAIN, "aten::atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]");
    VIEW(lower_m_h, write_m_h, NULL, PLAIN, "aten::mH(Tensor(a) self) -> Tensor(a)",
         .conjugates = true);
    VIEW(lower_m_h, write_m_h, NULL, PLAIN, "aten::adjoint(Tensor(a) self) -> Tensor(a)",
         .conjugates = true);
    VIEW(lower_matrix_h, write_matrix_h, NULL, PLAIN, "aten::matrix_H(Tensor(a) self) -> Tensor(a)",
         .conjugates = true);
    VIEW(lower_movedim, write_movedim, NULL, PLAIN,
         "aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)");
    OLDER("aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)");
    VIEW(lower_movedim, write_movedim, NULL, PLAIN,
         "aten::moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)");
    OLDER("aten::moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)");
    VIEW(lower_expand, write_expand, strides_expand, PLAIN,
         "aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
         .repeats = true);
    VIEW(lower_expand, write_expand, strides_expand, PLAIN,
         "aten::broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)", .repeats = true);
    VIEW(lower_expand, write_expand, strides_expand, PLAIN,
         "aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", .repeats = true);
    VIEW(lower_same, write_same, strides_same, PLAIN, "aten::alias(Tensor(a) self) -> Tensor(a)");
    VIEW(lower_detach, write_detached, strides_same, PLAIN,
         "aten::detach(Tensor(a) self) -> Tensor(a)");
    CALL(lower_detach_, NULL, PLAIN, "aten::detach_(Tensor(a!) self) -> Tensor(a!)");
    ITSELF(lower_same, 0, PLAIN, "aten::positive(Tensor(a) self) -> Tensor(a)");
    ITSELF(lower_same, 0, PLAIN, "aten::lift(Tensor self) -> Tensor");
    ITSELF(lower_same, 0, PLAIN, "aten::lift_fresh(Tensor(a) self) -> Tensor(a)");
    ITSELF(lower_same, 0, PLAIN, "aten::cpu(Tensor(a) self) -> Tensor(a)");
    ITSELF_OR_COPY(
        lower_same, shares_contiguous, PLAIN,
        "aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)");
}
