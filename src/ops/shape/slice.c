/* slice.c - a part of a tensor along one axis: select, slice, narrow; and what their base becomes
 * when they are written to.
 *
 * An index or a bound may count from the end, and be a size that only the running model knows. */
#include "ops/shape/view_strides.h"

/* base with the elements from start to end of one axis replaced. */
static Ox replace_span(Op *op, Ox base, Ox part, int axis, Dim start, Dim end)
{
    Dim zero = dim_int(op->cx, 0);
    Dim size = ox_dim(base, axis);
    Ox before = dim_eq(op->cx, start, zero) == YES ? NULL
                                                   : slice_axis(op, base, axis, zero, start, 1);
    Ox after = dim_eq(op->cx, end, size) == YES ? NULL : slice_axis(op, base, axis, end, size, 1);
    return concat_axis(op, (const Ox[]){ before, part, after }, 3, axis);
}

/* An index that may count from the end, as one that does not: i + size * (1 where i < 0, else
 * 0). */
static Dim from_front(Ctx *cx, Dim i, Dim size)
{
    Dim zero = dim_int(cx, 0);
    Dim one = dim_int(cx, 1);
    Dim behind = dim_max(cx, zero, dim_min(cx, one, dim_sub(cx, zero, i)));
    return dim_add(cx, i, dim_mul(cx, size, behind));
}

static bool select_args(Op *op, Ox x, int *axis, Dim *index)
{
    int rank;
    if (!need_rank(op, x, -1, &rank))
        return false;
    if (rank == 0)
        return fail(op->cx, E_VALUE, "select() cannot be applied to a 0-dim tensor.");
    *index = arg_dim_expr(op, "index");
    if (!arg_dim(op, "dim", rank, axis))
        return false;
    int64_t i, size;
    if (dim_known(*index, &i) && dim_known(ox_dim(x, *axis), &size) && (i < -size || i >= size))
        return fail(op->cx, E_VALUE,
                    "select(): index %lld out of range for tensor of size %lld at dimension %d",
                    (long long)i, (long long)size, *axis);
    return true;
}

static Ox lower_select(Op *op)
{
    Ox x = arg(op, "self");
    int axis;
    Dim index;
    if (!select_args(op, x, &axis, &index))
        return POISON;
    Ox at = ox_dim_value(op->g, index);
    return ox_with(op, "Gather", INPUTS(x, at), INT("axis", axis));
}

/* PyTorch raises where an axis has no such index, so it has more elements from here on. Without
 * this, a loop that writes row after row would give each row a longer expression of the size. */
static bool has_index(Op *op, Dim index, Dim size)
{
    int64_t i;
    if (!dim_known(index, &i) || dim_known(size, NULL) || i <= -DIM_MAX || i == DIM_MAX)
        return true;
    return dim_assume(op->cx, REL_LE, dim_int(op->cx, i < 0 ? -i : i + 1), size) ||
        fail(op->cx, E_VALUE, "select(): index %lld out of range for tensor of size %s",
             (long long)i, dim_text(op->cx, size)->s);
}

static Ox write_select(Op *op, Ox base, Ox part)
{
    int axis;
    Dim index;
    if (!select_args(op, base, &axis, &index) || !has_index(op, index, ox_dim(base, axis)))
        return POISON;
    Dim start = from_front(op->cx, index, ox_dim(base, axis));
    return replace_span(op, base, unsqueeze_axis(op, part, axis), axis, start,
                        dim_add(op->cx, start, dim_int(op->cx, 1)));
}

/* A slice bound: from the front, within [0, size]. */
static bool bound(Op *op, const char *name, Dim size, Dim deflt, Dim *out)
{
    Ctx *cx = op->cx;
    if (!arg_given(op, name))
        return *out = deflt, true;
    Dim d = arg_dim_expr(op, name);
    int64_t v;
    if (dim_known(d, &v) && v == INT64_MAX) {
        *out = size;
        return true;
    }
    *out = dim_max(cx, dim_int(cx, 0), dim_min(cx, from_front(cx, d, size), size));
    return true;
}

typedef struct Span {
    int axis;
    Dim start, end;
    int64_t step;
} Span;

/* The slice that the arguments name, with bounds counted from the front and cut to the axis:
 * x[-2:9] of size 5 is 3 to 5. */
static bool slice_span(Op *op, Ox x, Span *s)
{
    int rank;
    if (!need_rank(op, x, -1, &rank))
        return false;
    if (rank == 0)
        return fail(op->cx, E_VALUE, "slice() cannot be applied to a 0-dim tensor.");
    if (!arg_dim(op, "dim", rank, &s->axis))
        return false;
    Dim size = ox_dim(x, s->axis);
    s->step = arg_int(op, "step");
    if (!ctx_failed(op->cx) && s->step <= 0)
        return fail(op->cx, E_VALUE, "slice step must be positive");
    if (!bound(op, "start", size, dim_int(op->cx, 0), &s->start) ||
        !bound(op, "end", size, size, &s->end))
        return false;
    s->end = dim_max(op->cx, s->start, s->end);
    return !ctx_failed(op->cx);
}

/* A negative bound of an axis of dynamic size, as it was written: ONNX counts from the end as
 * Python does. NULL: the bound is another. */
static Ox from_the_end(Op *op, const char *name, Dim size)
{
    int64_t v;
    if (!arg_given(op, name) || dim_known(size, NULL))
        return NULL;
    return dim_known(arg_dim_expr(op, name), &v) && v < 0 ? ints(op, v) : NULL;
}

/* The end of a slice as a value: INT64_MAX where it is the end of the axis. */
static Ox end_value(Op *op, Dim end, Dim size)
{
    return dim_eq(op->cx, end, size) == YES ? ints(op, INT64_MAX) : ox_dims(op->g, &end, 1);
}

/* Slice, with known numbers where it can: x[:-1] of a dynamic axis is Slice from 0 to -1. */
static Ox lower_slice(Op *op)
{
    Ox x = arg(op, "self");
    Span s;
    if (!slice_span(op, x, &s))
        return POISON;
    Ox from = from_the_end(op, "start", ox_dim(x, s.axis));
    Ox to = from_the_end(op, "end", ox_dim(x, s.axis));
    if (!from && !to)
        return slice_axis(op, x, s.axis, s.start, s.end, s.step);
    if (!from)
        from = ox_dims(op->g, &s.start, 1);
    if (!to)
        to = end_value(op, s.end, ox_dim(x, s.axis));
    Ox axes = ints(op, s.axis);
    Ox by = ints(op, s.step);
    return s.step == 1 ? ox(op, "Slice", x, from, to, axes)
                       : ox(op, "Slice", x, from, to, axes, by);
}

/* ScatterND over the axis brought to the front. */
Ox replace_rows(Op *op, Ox base, Ox part, int axis, Ox rows)
{
    int rank = ox_rank(base);
    int perm[MAX_RANK] = { axis };
    for (int i = 1; i < rank; i++)
        perm[i] = i <= axis ? i - 1 : i;
    Ox at = unsqueeze_axis(op, rows, 1);
    Ox front = permute_to(op, base, perm, rank);
    Ox updates = permute_to(op, part, perm, rank);
    Ox out = ox(op, "ScatterND", front, at, updates);
    return permute_back(op, out, perm, rank);
}

/* Every step-th row. */
static Ox replace_strided(Op *op, Ox base, Ox part, const Span *s)
{
    Ox start = ox_dim_value(op->g, s->start);
    Ox end = ox_dim_value(op->g, s->end);
    Ox step = ox_int(op->g, s->step);
    return replace_rows(op, base, part, s->axis, ox(op, "Range", start, end, step));
}

static Ox write_slice(Op *op, Ox base, Ox part)
{
    Span s;
    if (!slice_span(op, base, &s))
        return POISON;
    return s.step == 1 ? replace_span(op, base, part, s.axis, s.start, s.end)
                       : replace_strided(op, base, part, &s);
}

/* narrow's start where it is a tensor: one whole number. */
static Ox arg_start(Op *op)
{
    Ox start = arg(op, "start");
    int rank;
    if (!need_rank(op, start, -1, &rank))
        return POISON;
    if (rank != 0 || !dtype_is_int(ox_dtype(start)))
        return op_fail(op, E_VALUE, "start must be an 0-dim integral Tensor.");
    return ox_cast(op->g, start, DT_INT64);
}

/* The indices that narrow() with a tensor as start reads: start, start + 1, .. ; a negative start
 * counts from the end. */
static Ox narrow_rows(Op *op, Ox x, int *axis)
{
    Ox start = arg_start(op);
    Dim length = arg_dim_expr(op, "length");
    int rank;
    if (!need_rank(op, x, -1, &rank) || !ox_ok(start) || !arg_dim(op, "dim", rank, axis))
        return POISON;
    if (rank == 0)
        return op_fail(op, E_VALUE, "narrow() cannot be applied to a 0-dim tensor.");
    if (dim_lt(op->cx, length, dim_int(op->cx, 0)) == YES)
        return op_fail(op, E_VALUE, "narrow(): length must be non-negative.");
    Ox zero = ox_int(op->g, 0);
    Ox one = ox_int(op->g, 1);
    Ox size = ox_dim_value(op->g, ox_dim(x, *axis));
    Ox count = ox_dim_value(op->g, length);
    Ox behind = ox(op, "Less", start, zero);
    Ox wrapped = ox(op, "Add", start, size);
    Ox from = ox(op, "Where", behind, wrapped, start);
    Ox along = ox(op, "Range", zero, count, one);
    return ox(op, "Add", along, from);
}

static Ox lower_narrow_tensor(Op *op)
{
    int axis;
    Ox x = arg(op, "self");
    Ox rows = narrow_rows(op, x, &axis);
    return ox_ok(rows) ? ox_with(op, "Gather", INPUTS(x, rows), INT("axis", axis)) : POISON;
}

static Ox write_narrow_tensor(Op *op, Ox base, Ox part)
{
    int axis;
    Ox rows = narrow_rows(op, base, &axis);
    return ox_ok(rows) ? replace_rows(op, base, part, axis, rows) : POISON;
}

/* The slice that narrow's arguments name; out of range is PyTorch's error. */
static bool narrow_span(Op *op, Ox x, Span *s)
{
    int rank;
    if (!need_rank(op, x, -1, &rank) || !arg_dim(op, "dim", rank, &s->axis))
        return false;
    if (rank == 0)
        return fail(op->cx, E_VALUE, "narrow() cannot be applied to a 0-dim tensor.");
    Dim start = arg_dim_expr(op, "start");
    Dim length = arg_dim_expr(op, "length");
    Dim zero = dim_int(op->cx, 0);
    s->start = from_front(op->cx, start, ox_dim(x, s->axis));
    if (dim_lt(op->cx, s->start, zero) == YES)
        return fail(op->cx, E_VALUE, "start out of range: %s for a dimension of size %s",
                    dim_text(op->cx, start)->s, dim_text(op->cx, ox_dim(x, s->axis))->s);
    if (dim_lt(op->cx, length, zero) == YES)
        return fail(op->cx, E_VALUE, "narrow(): length must be non-negative.");
    s->end = dim_add(op->cx, s->start, length);
    if (dim_le(op->cx, s->end, ox_dim(x, s->axis)) == NO)
        return fail(op->cx, E_VALUE, "start (%s) + length (%s) exceeds dimension size (%s).",
                    dim_text(op->cx, s->start)->s, dim_text(op->cx, length)->s,
                    dim_text(op->cx, ox_dim(x, s->axis))->s);
    return !ctx_failed(op->cx);
}

static Ox lower_narrow(Op *op)
{
    Ox x = arg(op, "self");
    Span s;
    return narrow_span(op, x, &s) ? slice_axis(op, x, s.axis, s.start, s.end, 1) : POISON;
}

static Ox write_narrow(Op *op, Ox base, Ox part)
{
    Span s;
    return narrow_span(op, base, &s) ? replace_span(op, base, part, s.axis, s.start, s.end)
                                     : POISON;
}

/* Has src the sizes of the part of self that it replaces? False after PyTorch's error. */
static bool source_is_part(Op *op, Ox src, const Dim *dims, int n)
{
    return may_have_sizes(op, src, dims, n) ||
        fail(op->cx, E_VALUE,
             "expected src to have a size equal to the slice of self. src size = %s, slice size = "
             "%s",
             shape_text(op, src)->s, dims_text(op->cx, dims, n)->s);
}

/* slice_scatter, select_scatter: self once the view reads src. */
static Ox lower_slice_scatter(Op *op)
{
    Ox self = arg(op, "self");
    Ox src = arg(op, "src");
    Span s;
    if (!ox_ok(src) || !slice_span(op, self, &s))
        return POISON;
    Dim dims[MAX_RANK];
    ox_sizes(self, dims);
    dims[s.axis] = dim_ceildiv(op->cx, dim_sub(op->cx, s.end, s.start), dim_int(op->cx, s.step));
    if (!source_is_part(op, src, dims, ox_rank(self)))
        return POISON;
    return write_slice(op, self,
                       expand_dims(op, ox_cast(op->g, src, ox_dtype(self)), dims, ox_rank(self)));
}

static Ox lower_select_scatter(Op *op)
{
    Ox self = arg(op, "self");
    Ox src = arg(op, "src");
    Dim dims[MAX_RANK];
    int rank, axis;
    int n = 0;
    if (!ox_ok(src) || !need_rank(op, self, -1, &rank) || !arg_dim(op, "dim", rank, &axis))
        return POISON;
    for (int i = 0; i < rank; i++)
        if (i != axis)
            dims[n++] = ox_dim(self, i);
    if (!source_is_part(op, src, dims, n))
        return POISON;
    return write_select(op, self, ox_cast(op->g, src, ox_dtype(self)));
}

OP_ROWS(slice)
{
    VIEW(lower_select, write_select, strides_select, PLAIN,
         "aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)");
    VIEW(lower_slice, write_slice, strides_slice, PLAIN,
         "aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? "
         "end=None, SymInt step=1) -> Tensor(a)",
         .join = join_slices);
    LOWER(lower_slice_scatter, NULL, PLAIN,
          "aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? "
          "end=None, SymInt step=1) -> Tensor",
          .layout = LAYOUT_AS_CLONE);
    LOWER(lower_select_scatter, NULL, PLAIN,
          "aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor",
          .layout = LAYOUT_AS_CLONE);
    VIEW(lower_narrow_tensor, write_narrow_tensor, strides_slice, PLAIN,
         "aten::narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)");
    VIEW(lower_narrow, write_narrow, strides_slice, PLAIN,
         "aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)");
}
