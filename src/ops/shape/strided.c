/* strided.c - views that step through several axes at once: diagonals, windows, as_strided.
 *
 * Each is one Gather with a table of positions, which is a constant where the sizes are known and
 * Ranges where they are not. */
#include "ops/shape/view_strides.h"

/* ---- tables of positions ---- */

/* n numbers from, from + step, .., along one axis of `rank` axes. */
static Ox steps(Op *op, Dim from, Dim n, Dim step, int axis, int rank)
{
    Dim shape[MAX_RANK];
    for (int i = 0; i < rank; i++)
        shape[i] = i == axis ? n : dim_int(op->cx, 1);
    Dim end = dim_add(op->cx, from, dim_mul(op->cx, n, step));
    if (dim_is(step, 0)) {
        Ox same = ox_dim_value(op->g, from);
        return expand_dims(op, same, shape, rank);
    }
    Ox first = ox_dim_value(op->g, from);
    Ox last = ox_dim_value(op->g, end);
    Ox by = ox_dim_value(op->g, step);
    return reshape_to(op, ox(op, "Range", first, last, by), shape, rank);
}

/* ---- diagonals: rows of a matrix whose two axes are one ---- */

typedef struct Diagonal {
    int rank, perm[MAX_RANK];
    Dim rows, cols, first, n;
} Diagonal;

/* The diagonal that the arguments name: its first element and length, counted in the matrix of
 * both axes flattened. Offset 1 of a 2x3 matrix: first 1, n 2 (elements 1 and 5). */
static bool diagonal_args(Op *op, Ox x, Diagonal *d)
{
    Ctx *cx = op->cx;
    int a, b, n = 0;
    if (!need_rank(op, x, 2, &d->rank) || !arg_dim(op, "dim1", d->rank, &a) ||
        !arg_dim(op, "dim2", d->rank, &b))
        return false;
    int64_t offset = arg_int(op, "offset");
    if (offset == INT64_MIN) /* as far outside as any */
        offset = -INT64_MAX;
    if (a == b)
        return fail(cx, E_VALUE, "diagonal dimensions cannot be identical %d, %d", a, b);
    for (int i = 0; i < d->rank; i++)
        if (i != a && i != b)
            d->perm[n++] = i;
    d->perm[n++] = a;
    d->perm[n] = b;
    d->rows = ox_dim(x, a);
    d->cols = ox_dim(x, b);
    Dim down = dim_int(cx, offset < 0 ? -offset : 0);
    Dim right = dim_int(cx, offset > 0 ? offset : 0);
    d->n = dim_max(cx, dim_int(cx, 0),
                   dim_min(cx, dim_sub(cx, d->rows, down), dim_sub(cx, d->cols, right)));
    d->first = dim_add(cx, dim_mul(cx, down, d->cols), right);
    return !ctx_failed(cx);
}

static Ox diagonal_index(Op *op, const Diagonal *d)
{
    return steps(op, d->first, d->n, dim_add(op->cx, d->cols, dim_int(op->cx, 1)), 0, 1);
}

/* The two axes last and flattened into one. */
static Ox diagonal_rows(Op *op, Ox x, const Diagonal *d)
{
    Dim dims[MAX_RANK];
    Ox last = permute_to(op, x, d->perm, d->rank);
    if (!ox_ok(last))
        return POISON;
    ox_sizes(last, dims);
    dims[d->rank - 2] = dim_mul(op->cx, d->rows, d->cols);
    return reshape_to(op, last, dims, d->rank - 1);
}

static Ox diagonal_of(Op *op, Ox x)
{
    Diagonal d;
    if (!diagonal_args(op, x, &d))
        return POISON;
    Ox flat = diagonal_rows(op, x, &d);
    Ox at = diagonal_index(op, &d);
    return ox_with(op, "Gather", INPUTS(flat, at), INT("axis", d.rank - 2));
}

static Ox lower_diagonal(Op *op) { return diagonal_of(op, arg(op, "self")); }
static Ox lower_linalg_diagonal(Op *op) { return diagonal_of(op, arg(op, "A")); }

static Ox write_diagonal(Op *op, Ox base, Ox part)
{
    Diagonal d;
    int back[MAX_RANK];
    if (!diagonal_args(op, base, &d))
        return POISON;
    Ox flat = diagonal_rows(op, base, &d);
    Ox at = diagonal_index(op, &d);
    Ox last = permute_to(op, base, d.perm, d.rank);
    if (!ox_ok(flat) || !ox_ok(at) || !ox_ok(part))
        return POISON;
    Ox index = expand_dims(op, at, part->type->dim, d.rank - 1);
    Ox out = ox_with(op, "ScatterElements", INPUTS(flat, index, part), INT("axis", d.rank - 2));
    for (int i = 0; i < d.rank; i++)
        back[d.perm[i]] = i;
    return permute_to(op, reshape_to(op, out, last->type->dim, d.rank), back, d.rank);
}

static Ox lower_diagonal_scatter(Op *op)
{
    Ox self = arg(op, "self");
    Ox src = arg(op, "src");
    Ox now = diagonal_of(op, self);
    if (!ox_ok(now) || !ox_ok(src))
        return POISON;
    bool fits = ox_rank(src) == ox_rank(now);
    for (int i = 0; fits && i < ox_rank(now); i++)
        fits = dim_eq(op->cx, ox_dim(src, i), ox_dim(now, i)) !=
            NO; /* what is not known, ScatterElements demands */
    if (!fits)
        return op_fail(op, E_VALUE,
                       "expected src to have a size equal to the slice of self. src size = %s, "
                       "slice size = %s",
                       type_text(op->cx, src->type)->s, type_text(op->cx, now->type)->s);
    return write_diagonal(op, self, ox_cast(op->g, src, ox_dtype(self)));
}

/* The last axis becomes the diagonal `offset` of a square of zeros, whose axes are a and b of the
 * result. */
static Ox embedded(Op *op, Ox x, int64_t offset, int a, int b)
{
    Ctx *cx = op->cx;
    int rank = ox_rank(x) + 1;
    int back[MAX_RANK];
    int n = 0;
    int64_t far = offset;
    if (offset < 0 && !sub_ok(0, offset, &far))
        return op_fail(op, E_VALUE, "diagonal %lld is out of range", (long long)offset);
    Dim zero = dim_int(cx, 0);
    Dim one = dim_int(cx, 1);
    Dim size = dim_add(cx, ox_dim(x, rank - 2), dim_int(cx, far));
    Ox line = x;
    if (far) { /* element i must be in row i of the result */
        Dim none[MAX_RANK];
        ox_sizes(x, none);
        none[rank - 2] = dim_int(cx, far);
        Ox gap = expand_dims(op, number_like(op, 0, x), none, rank - 1);
        line = concat_axis(op, offset > 0 ? (const Ox[]){ x, gap } : (const Ox[]){ gap, x }, 2,
                           rank - 2);
    }
    Ox rows = steps(op, dim_int(cx, offset), size, one, 0, 2);
    Ox cols = steps(op, zero, size, one, 1, 2);
    Ox there = ox(op, "Equal", rows, cols);
    Ox nothing = number_like(op, 0, x);
    Ox square = ox(op, "Where", there, unsqueeze_axis(op, line, rank - 1), nothing);
    for (int i = 0; i < rank; i++)
        if (i != a && i != b)
            back[i] = n++;
    back[a] = rank - 2;
    back[b] = rank - 1;
    return permute_to(op, square, back, rank);
}

static Ox lower_diag_embed(Op *op)
{
    Ox x = arg(op, "self");
    int rank, a, b;
    if (!need_rank(op, x, 1, &rank) || !arg_dim(op, "dim1", rank + 1, &a) ||
        !arg_dim(op, "dim2", rank + 1, &b))
        return POISON;
    if (rank == 0)
        return op_fail(op, E_VALUE, "diag_embed: a tensor of one dimension or more is needed");
    if (a == b)
        return op_fail(op, E_VALUE, "diagonal dimensions cannot be identical %d, %d", a, b);
    return embedded(op, x, arg_int(op, "offset"), a, b);
}

/* diag: of a vector the matrix with that diagonal, of a matrix its diagonal. */
static Ox lower_diag(Op *op)
{
    Ox x = arg(op, "self");
    int rank;
    if (!need_rank(op, x, 2, &rank))
        return POISON;
    if (rank == 1)
        return embedded(op, x, arg_int(op, "diagonal"), 0, 1);
    if (rank != 2)
        return op_fail(op, E_VALUE, "diag(): Supports 1D or 2D tensors. Got %dD", rank);
    Value args[] = { arg_value(op, "self"), arg_value(op, "diagonal") };
    Value v = call_op(op, "aten::diagonal_copy", args, 2);
    return val_ok(v) ? tensor_read(op->g, v.t) : POISON;
}

static Ox lower_diagflat(Op *op)
{
    Ox x = flatten_to_1d(op, arg(op, "self"));
    return ox_ok(x) ? embedded(op, x, arg_int(op, "offset"), 0, 1) : POISON;
}

static Ox lower_trace(Op *op)
{
    Ox x = arg(op, "self");
    int rank;
    if (!need_rank(op, x, 2, &rank))
        return POISON;
    if (rank != 2)
        return op_fail(op, E_VALUE, "trace: expected a matrix, but got tensor with dim %d", rank);
    Value args[] = { val_tensor(op->cx, x) };
    Value v = call_op(op, "aten::diagonal_copy", args, 1);
    Axes all = { 0 };
    return val_ok(v) ? reduce(op, "ReduceSum", tensor_read(op->g, v.t), &all, false) : POISON;
}

/* ---- windows of `size` every `step`; the window becomes the last axis ---- */

typedef struct Unfolded {
    int rank, axis;
    Dim size, step, n;
} Unfolded;

/* x has rank 1 or more. */
static bool unfold_args(Op *op, Ox x, Unfolded *u)
{
    Ctx *cx = op->cx;
    Dim zero = dim_int(cx, 0);
    u->size = dim_int(cx, arg_int(op, "size"));
    u->step = dim_int(cx, arg_int(op, "step"));
    if (!need_rank(op, x, -1, &u->rank) || !arg_dim(op, "dimension", u->rank, &u->axis))
        return false;
    Dim length = ox_dim(x, u->axis);
    if (dim_lt(cx, u->size, zero) == YES || dim_lt(cx, length, u->size) == YES ||
        dim_le(cx, u->step, zero) == YES)
        return fail(cx, E_VALUE, "maximum size for tensor at dimension %d is %s but size is %s",
                    u->axis, dim_text(cx, length)->s, dim_text(cx, u->size)->s);
    u->n = dim_add(cx, dim_floordiv(cx, dim_sub(cx, length, u->size), u->step), dim_int(cx, 1));
    return !ctx_failed(cx);
}

/* The index on the axis of each element of each window: [windows, size]. */
static Ox unfold_table(Op *op, const Unfolded *u)
{
    Dim zero = dim_int(op->cx, 0);
    Ox begin = steps(op, zero, u->n, u->step, 0, 2);
    Ox within = steps(op, zero, u->size, dim_int(op->cx, 1), 1, 2);
    return ox(op, "Add", begin, within);
}

/* The permutation that moves axis `from` of n axes to `to`. */
static void move_axis(int n, int from, int to, int *perm)
{
    int at = 0;
    for (int i = 0; i < n; i++) {
        if (at == from)
            at++;
        perm[i] = i == to ? from : at++;
    }
}

/* x.unfold(dim, size, step): windows along an axis, a window's elements on a new last axis. A
 * Gather of [windows, size] indices, whose second axis is moved to the end. */
static Ox lower_unfold(Op *op)
{
    Ox x = arg(op, "self");
    int rank, perm[MAX_RANK];
    Unfolded u;
    bool scalar;
    if (!need_rank(op, x, -1, &rank))
        return POISON;
    x = at_least_1d(op, x, &scalar);
    if (!unfold_args(op, x, &u))
        return POISON;
    if (scalar)
        return slice_axis(op, x, 0, dim_int(op->cx, 0), u.size, 1);
    Ox table = unfold_table(op, &u);
    Ox windows = ox_with(op, "Gather", INPUTS(x, table), INT("axis", u.axis));
    move_axis(rank + 1, u.axis + 1, rank, perm);
    return permute_to(op, windows, perm, rank + 1);
}

/* base once its windows read `part`: the windows' elements in the order of the table, put at the
 * table's indices. */
static Ox write_unfold(Op *op, Ox base, Ox part)
{
    Dim dims[MAX_RANK];
    int perm[MAX_RANK + 1];
    Unfolded u;
    if (ox_rank(base) == 0)
        return ox_dim(part, 0) && dim_is(ox_dim(part, 0), 1) ? reshape_to(op, part, NULL, 0) : base;
    if (!unfold_args(op, base, &u))
        return POISON;
    if (dim_lt(op->cx, u.step, u.size) == YES)
        return op_fail(op, E_UNSUPPORTED,
                       "a write to windows that overlap: PyTorch does not say which of an "
                       "element's copies counts");
    move_axis(u.rank + 1, u.rank, u.axis + 1, perm);
    ox_sizes(base, dims);
    dims[u.axis] = dim_mul(op->cx, u.n, u.size);
    Ox rows = reshape_to(op, permute_to(op, part, perm, u.rank + 1), dims, u.rank);
    return replace_rows(op, base, rows, u.axis, flatten_to_1d(op, unfold_table(op, &u)));
}

/* ---- as_strided ----
 * It names positions in memory. The memory must be that of one tensor, whose axes may be there in
 * any order. */

/* The axis, not used yet, whose stride is `next`; the last of several. -1: none. */
static int axis_of_stride(Ctx *cx, Type ty, const Dim *stride, const bool *used, Dim next)
{
    for (int i = ty->rank - 1; i >= 0; i--)
        if (!used[i] && (dim_is(ty->dim[i], 1) || dim_eq(cx, stride[i], next) == YES))
            return i;
    return -1;
}

/* The axes of t from the slowest to the fastest, if its elements are all that the storage has, each
 * once: 1 0 of a transposed matrix. */
static bool memory_order(Op *op, Tensor *t, int *order)
{
    Ctx *cx = op->cx;
    Dim stride[MAX_RANK], next = dim_int(cx, 1);
    Type ty = t ? tensor_type(t) : NULL;
    bool used[MAX_RANK] = { false };
    if (!ty || ty->rank < 0 ||
        (t->base &&
         (!ox_ok(t->st->now) ||
          dim_eq(cx, type_numel(cx, ty), type_numel(cx, t->st->now->type)) != YES)))
        return false;
    bool in_order = tensor_contiguous(cx, t) == YES;
    if (!in_order && (!t->base || !tensor_strides(cx, t, stride)))
        return false;
    for (int k = ty->rank - 1; k >= 0; k--) {
        int axis = in_order ? k : axis_of_stride(cx, ty, stride, used, next);
        if (axis < 0)
            return false;
        order[k] = axis;
        used[axis] = true;
        next = dim_mul(cx, next, ty->dim[axis]);
    }
    return true;
}

/* x, which is self, in the order of memory: 1-D. */
static Ox to_memory(Op *op, Ox x)
{
    int order[MAX_RANK];
    if (!memory_order(op, arg_tensor(op, "self"), order))
        return POISON;
    return flatten_to_1d(op, permute_to(op, x, order, ox_rank(x)));
}

/* self from its elements in the order of memory. */
static Ox from_memory(Op *op, Ox flat, Ox like)
{
    int order[MAX_RANK], back[MAX_RANK], rank = ox_rank(like);
    Dim dims[MAX_RANK];
    if (!memory_order(op, arg_tensor(op, "self"), order))
        return POISON;
    for (int i = 0; i < rank; i++) {
        dims[i] = ox_dim(like, order[i]);
        back[order[i]] = i;
    }
    return permute_to(op, reshape_to(op, flat, dims, rank), back, rank);
}

/* False for what PyTorch refuses before it looks at the memory: a negative stride, even of an axis
 * without elements, and a negative storage_offset, which Gather would count from the end. */
static bool strides_ok(Op *op, Dims stride, Dim offset)
{
    Ctx *cx = op->cx;
    Dim zero = dim_int(cx, 0);
    for (size_t i = 0; i < stride.n; i++)
        if (dim_lt(cx, stride.at[i], zero) == YES)
            return fail(cx, E_VALUE,
                        "as_strided: Negative strides are not supported at the moment, got "
                        "strides: %s",
                        dims_text(cx, stride.at, (int)stride.n)->s);
    if (dim_lt(cx, offset, zero) == YES)
        return fail(cx, E_VALUE, "Tensor: invalid storage offset %s", dim_text(cx, offset)->s);
    return true;
}

/* PyTorch raises, and no list of refusals would help: the run ends here, however long it would have
 * been. */
static Ox reads_beyond(Op *op, Dim numel)
{
    fail(op->cx, E_VALUE, "it reads memory beyond its argument's %s elements",
         dim_text(op->cx, numel)->s);
    fail_is_final(op->cx);
    return POISON;
}

/* The position in memory of each element that as_strided reads: storage_offset + the sum of index *
 * stride over the axes. sizes, *rank: the result's shape. */
static Ox strided_index(Op *op, Ox x, Dim *sizes, int *rank)
{
    int order[MAX_RANK];
    Dims size = arg_dims(op, "size");
    Dims stride = arg_dims(op, "stride");
    Dim last = arg_given(op, "storage_offset") ? arg_dim_expr(op, "storage_offset")
                                               : dim_int(op->cx, 0);
    Dim one = dim_int(op->cx, 1);
    *rank = (int)size.n;
    if (ctx_failed(op->cx) || !ox_ok(x))
        return POISON;
    if (size.n != stride.n || size.n > MAX_RANK)
        return op_fail(op, E_VALUE, "mismatch in length of strides and shape");
    if (!strides_ok(op, stride, last))
        return POISON;
    if (!memory_order(op, arg_tensor(op, "self"), order))
        return op_refuse(op,
                         "what it reads depends on how its argument, a part of another tensor "
                         "or one in another order, lies in memory");
    Ox at = ox_dim_value(op->g, last);
    bool empty = false;
    for (int i = 0; i < *rank; i++) {
        sizes[i] = size.at[i];
        empty |= dim_is(size.at[i], 0);
        last = dim_add(op->cx, last,
                       dim_mul(op->cx, dim_sub(op->cx, size.at[i], one), stride.at[i]));
        Ox along = steps(op, dim_int(op->cx, 0), size.at[i], stride.at[i], i, *rank);
        at = ox(op, "Add", at, along);
    }
    Dim numel = type_numel(op->cx, x->type);
    if (!empty && dim_lt(op->cx, last, numel) == NO)
        return reads_beyond(op, numel);
    return at;
}

static Ox lower_as_strided(Op *op)
{
    Ox x = arg(op, "self");
    Dim sizes[MAX_RANK];
    int rank;
    Ox at = strided_index(op, x, sizes, &rank);
    return !ox_ok(at) ? POISON
                      : ox_with(op, "Gather", INPUTS(to_memory(op, x), at), INT("axis", 0));
}

/* Does each index surely name another element? From the smallest step on, each is longer than all
 * that lies below it. */
static bool names_once(Op *op)
{
    Dims size = arg_dims(op, "size");
    Dims stride = arg_dims(op, "stride");
    Dim below = dim_int(op->cx, 0);
    Dim one = dim_int(op->cx, 1);
    size_t by_step[MAX_RANK];
    for (size_t i = 0; i < size.n; i++) {
        size_t at = i;
        for (; at > 0 && dim_lt(op->cx, stride.at[i], stride.at[by_step[at - 1]]) == YES; at--)
            by_step[at] = by_step[at - 1];
        by_step[at] = i;
    }
    for (size_t i = 0; i < size.n && below; i++) {
        Dim n = size.at[by_step[i]];
        Dim step = stride.at[by_step[i]];
        if (dim_le(op->cx, n, one) == YES)
            continue;
        if (dim_lt(op->cx, below, step) != YES)
            return false;
        below = dim_add(op->cx, below, dim_mul(op->cx, dim_sub(op->cx, n, one), step));
    }
    return true;
}

static Ox scatter_strided(Op *op, Ox base, Ox part)
{
    Dim sizes[MAX_RANK];
    int rank;
    Ox at = flatten_to_1d(op, strided_index(op, base, sizes, &rank));
    if (!ox_ok(at) || !ox_ok(part))
        return POISON;
    Ox from = flatten_to_1d(op, expand_dims(op, part, sizes, rank));
    Ox flat = to_memory(op, base);
    return from_memory(op, ox_with(op, "ScatterElements", INPUTS(flat, at, from), INT("axis", 0)),
                       base);
}

static Ox write_as_strided(Op *op, Ox base, Ox part)
{
    if (!names_once(op))
        return op_fail(op, E_UNSUPPORTED,
                       "a write to a tensor whose elements overlap: PyTorch does not say which of "
                       "an element's copies counts");
    return scatter_strided(op, base, part);
}

static Ox lower_as_strided_scatter(Op *op)
{
    Ox self = arg(op, "self");
    Ox src = arg(op, "src");
    return ox_ok(self) && ox_ok(src)
        ? scatter_strided(op, self, ox_cast(op->g, src, ox_dtype(self)))
        : POISON;
}

/* Afterwards `self` is `source`: both names are of one tensor. */
static Value lower_set_(Op *op)
{
    Tensor *self = arg_tensor(op, "self");
    Tensor *source = arg_tensor(op, "source");
    if (!self || !source)
        return val_poison();
    DType from = tensor_type(source)->dtype;
    DType to = tensor_type(self)->dtype;
    if (from != to) {
        fail(op->cx, E_VALUE, "Could not set tensor of type %s to a tensor of type %s",
             torch_dtype_name(from), torch_dtype_name(to));
        return val_poison();
    }
    return tensor_take(op->cx, self, source) ? arg_value(op, "self") : val_poison();
}

OP_ROWS(strided)
{
    VIEW(lower_diagonal, write_diagonal, strides_diagonal, PLAIN,
         "aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)");
    VIEW(lower_linalg_diagonal, write_diagonal, NULL, PLAIN,
         "aten::linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> "
         "Tensor(a)");
    LOWER(lower_diagonal_scatter, NULL, PLAIN,
          "aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) "
          "-> Tensor",
          .layout = LAYOUT_AS_CLONE);
    LOWER(lower_diag_embed, NULL, PLAIN,
          "aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor");
    LOWER(lower_diag, NULL, PLAIN, "aten::diag(Tensor self, int diagonal=0) -> Tensor");
    LOWER(lower_diagflat, NULL, PLAIN, "aten::diagflat(Tensor self, int offset=0) -> Tensor");
    LOWER(lower_trace, "bool-to-long(self)", PLAIN, "aten::trace(Tensor self) -> Tensor");
    VIEW(lower_unfold, write_unfold, NULL, PLAIN,
         "aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)");
    VIEW(lower_as_strided, write_as_strided, NULL, PLAIN,
         "aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? "
         "storage_offset=None) -> Tensor(a)");
    LOWER(lower_as_strided_scatter, NULL, PLAIN,
          "aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, "
          "SymInt? storage_offset=None) -> Tensor",
          .layout = LAYOUT_AS_CLONE, .derivative = NO_DERIVATIVE("self") NO_DERIVATIVE("src"));
    REFUSE("a tensor that is laid over its own memory in place: use as_strided",
           "aten::as_strided_(Tensor(a!) self, SymInt[] size, SymInt[] stride, SymInt? "
           "storage_offset=None) -> Tensor(a!)");
    REFUSE("memory of another size, whose new elements were never written: make a new tensor",
           "aten::resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> "
           "Tensor(a!)");
    REFUSE("memory of another size, whose new elements were never written: make a new tensor",
           "aten::resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? "
           "memory_format=None) -> Tensor(a!)");
    REFUSE("a tensor that gives its memory up in place: make an empty one",
           "aten::set_(Tensor(a!) self) -> Tensor(a!)");
    CALL(lower_set_, NULL, PLAIN,
         "aten::set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)");
}
