/* split.c - lists of parts along an axis. One Split node makes all parts; each part is a view of
 * the argument, as if aten::slice had made it. */
#include "base/limits.h"
#include "ops/internal.h"

/* The view that aten::slice would have made, reading a value that is there already. */
static Value part_view(Op *op, int axis, Dim start, Dim end, Ox read)
{
    Entry *e = table_find(op->cx, str_of(op->cx, "aten::slice"));
    OpCall call = { 0 };
    OpArg args[] = { { NULL, op->call->arg[0] },
                     { NULL, val_int(axis) },
                     { NULL, val_dim(op->cx, start) },
                     { NULL, val_dim(op->cx, end) } };
    Candidate *c = bind_choose(op->g, e, NULL, args, COUNT(args), &call.arg);
    if (!c || !ox_ok(read))
        return val_poison();
    call_set_row(&call, c);
    const OpCall *kept = call_kept(op->cx, &call);
    if (!kept)
        return val_poison();
    return (Value){ .tag = V_TENSOR,
                    .t = tensor_view(op->cx, op->call->arg[0].t, &kept->view, read) };
}

/* The list of n parts of these sizes. */
static Value parts(Op *op, Ox x, int axis, const Dim *sizes, size_t n)
{
    Ox *out = new_array(op->cx, Ox, n + 1);
    Value *views = new_array(op->cx, Value, n + 1);
    if (!out || !views || ctx_failed(op->cx))
        return val_poison();
    Ox split = ox_dims(op->g, sizes, n);
    Attr attr = INT("axis", axis);
    if (n == 1)
        out[0] = x;
    else if (n > 1 && !ox_make_n(op->g, "Split", INPUTS(x, split), &attr, 1, out, n))
        return val_poison();
    Dim at = dim_int(op->cx, 0);
    for (size_t i = 0; i < n; i++) {
        Dim next = dim_add(op->cx, at, sizes[i]);
        views[i] = part_view(op, axis, at, next, out[i]);
        if (!val_ok(views[i]))
            return val_poison();
        at = next;
    }
    return val_list(op->cx, views, (int64_t)n, "Tensor");
}

/* Each part is a tensor with a name: no more of them than a graph may have nodes. */
static bool may_be_parts(Op *op, int64_t n)
{
    return n < 0 || limit_ok(op->cx, LIMIT_NODES, (uint64_t)n, "parts of a tensor");
}

static bool is_split_size(Op *op, int64_t each, int64_t size)
{
    if (each < 0)
        return fail(op->cx, E_VALUE,
                    "split expects split_size be non-negative, but got split_size=%lld",
                    (long long)each);
    if (each == 0 && size != 0)
        return fail(op->cx, E_VALUE,
                    "split_size can only be 0 if dimension size is 0, but got dimension size of "
                    "%lld",
                    (long long)size);
    return true;
}

/* Parts of size `each`, the last of the rest: 7 by 3 gives 3 3 1. An empty axis gives one empty
 * part. The axis must be known, because the length of the list is. */
static Value parts_of_size(Op *op, Ox x, int axis, int64_t each)
{
    int64_t size;
    VEC(Dim) sizes = { 0 };
    if (ctx_failed(op->cx))
        return val_poison();
    if (!dim_known(ox_dim(x, axis), &size)) {
        fail(op->cx, E_UNDECIDED, "%s: how many parts dimension %d (%s) gives must be known",
             op->call->schema->name->s, axis, dim_text(op->cx, ox_dim(x, axis))->s);
        fail_hint(op->cx, "give that dimension a size with -i");
        return val_poison();
    }
    if (!is_split_size(op, each, size))
        return val_poison();
    int64_t n = size > 0 ? (size - 1) / each + 1 : 1;
    if (!may_be_parts(op, n))
        return val_poison();
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = size - i * each;
        vec_push(op->cx, &sizes, dim_int(op->cx, rest < each ? rest : each));
    }
    return parts(op, x, axis, sizes.at, sizes.n);
}

/* Arguments `self` and `dim`. */
static bool parts_axis(Op *op, Ox *x, int *axis)
{
    int rank;
    Value self = arg_value(op, "self");
    *x = arg(op, "self");
    if (self.tag == V_TENSOR && self.t->quant && self.t->quant->axis >= 0)
        return op_refuse(op, "it does not handle tensors that are quantised by channel"), false;
    if (!need_rank(op, *x, -1, &rank) || !arg_dim(op, "dim", rank, axis))
        return false;
    return rank > 0 ||
        fail(op->cx, E_VALUE, "%s expects at least a 1-dimensional tensor",
             op->call->schema->name->s + strlen("aten::"));
}

static Value lower_split(Op *op)
{
    Ox x;
    int axis;
    if (!parts_axis(op, &x, &axis))
        return val_poison();
    Dim each = arg_dim_expr(op, "split_size");
    int64_t known;
    if (!dim_known(each, &known) && dim_eq(op->cx, each, ox_dim(x, axis)) == YES)
        return parts(op, x, axis, &each, 1);
    return parts_of_size(op, x, axis, arg_int(op, "split_size"));
}

static bool are_split_sizes(Op *op, Dims sizes)
{
    enum { SHOWN = 16 };
    size_t negative = 0;
    while (negative < sizes.n && dim_lt(op->cx, sizes.at[negative], dim_int(op->cx, 0)) != YES)
        negative++;
    if (negative == sizes.n)
        return true;
    Str list = str_of(op->cx, "");
    for (size_t i = 0; i < sizes.n && i < SHOWN; i++)
        list = str_fmt(op->cx, "%s%s%s", list->s, i ? ", " : "", dim_text(op->cx, sizes.at[i])->s);
    return fail(op->cx, E_VALUE,
                "split_with_sizes expects split_sizes have only non-negative entries, but got "
                "split_sizes=[%s%s]",
                list->s, sizes.n > SHOWN ? ", .." : "");
}

static Value lower_split_sizes(Op *op)
{
    Ox x;
    int axis;
    const char *name = op->row->text;
    if (!parts_axis(op, &x, &axis))
        return val_poison();
    Dims sizes = arg_dims_any(op, name);
    if (!are_split_sizes(op, sizes))
        return val_poison();
    return parts(op, x, axis, sizes.at, sizes.n);
}

/* n parts of one size. */
static Value equal_parts(Op *op, Ox x, int axis, Dim each, int64_t n)
{
    Dim *sizes = may_be_parts(op, n) ? new_array(op->cx, Dim, n) : NULL;
    if (!sizes)
        return val_poison();
    for (int64_t i = 0; i < n; i++)
        sizes[i] = each;
    return parts(op, x, axis, sizes, (size_t)n);
}

/* Parts of size ceil(size / chunks): 7 by 3 gives 3 3 1, and 4 by 3 only 2 2. An empty axis gives
 * `chunks` empty parts. A dynamic size must be a multiple of chunks. */
static Value lower_chunk(Op *op)
{
    Ox x;
    int axis;
    int64_t n = arg_int(op, "chunks"), size;
    Dim each;
    if (!parts_axis(op, &x, &axis))
        return val_poison();
    if (n <= 0) {
        fail(op->cx, E_VALUE, "chunk expects `chunks` to be greater than 0, got: %lld",
             (long long)n);
        return val_poison();
    }
    Dim whole = ox_dim(x, axis);
    if (!dim_known(whole, &size)) {
        if (dim_divide(op->cx, whole, dim_int(op->cx, n), &each))
            return equal_parts(op, x, axis, each, n);
        return parts_of_size(op, x, axis, 0);
    }
    if (size == 0)
        return equal_parts(op, x, axis, whole, n);
    return parts_of_size(op, x, axis, (size - 1) / n + 1);
}

/* One select for each index: views without the axis. */
static Value lower_unbind(Op *op)
{
    Ox x;
    int axis;
    int64_t size;
    VEC(Value) out = { 0 };
    if (!parts_axis(op, &x, &axis))
        return val_poison();
    if (!dim_known(ox_dim(x, axis), &size)) {
        fail(op->cx, E_UNDECIDED, "unbind: the size of dimension %d (%s) must be known", axis,
             dim_text(op->cx, ox_dim(x, axis))->s);
        fail_hint(op->cx, "give that dimension a size with -i");
        return val_poison();
    }
    if (!may_be_parts(op, size))
        return val_poison();
    for (int64_t i = 0; i < size; i++) {
        Value args[] = { op->call->arg[0], val_int(axis), val_int(i) };
        Value v = call_op(op, "aten::select", args, 3);
        if (!val_ok(v))
            return v;
        vec_push(op->cx, &out, v);
    }
    return val_list(op->cx, out.at, (int64_t)out.n, "Tensor");
}

/* ---- tensor_split, hsplit, vsplit, dsplit ---- */

/* n parts, the first of them one longer where n does not divide the size: 7 by 3 gives 3 2 2. The
 * size may be dynamic. */
static Value sections(Op *op, Ox x, int axis, int64_t n)
{
    Ctx *cx = op->cx;
    if (ctx_failed(cx))
        return val_poison();
    if (n <= 0) {
        fail(cx, E_VALUE, "number of sections must be larger than 0, got %lld", (long long)n);
        return val_poison();
    }
    Dim *sizes = new_array(cx, Dim, n);
    if (!sizes)
        return val_poison();
    Dim count = dim_int(cx, n);
    Dim zero = dim_int(cx, 0);
    Dim one = dim_int(cx, 1);
    Dim each = dim_floordiv(cx, ox_dim(x, axis), count);
    Dim over = dim_mod(cx, ox_dim(x, axis), count);
    for (int64_t i = 0; i < n; i++)
        sizes[i] = dim_add(cx, each,
                           dim_min(cx, one, dim_max(cx, zero, dim_sub(cx, over, dim_int(cx, i)))));
    return parts(op, x, axis, sizes, (size_t)n);
}

/* The slices from each index to the next: [2, 5] gives x[0:2], x[2:5], x[5:]. As in any slice, an
 * index out of range is cut, and an end before its start gives an empty part. */
static Value between(Op *op, int axis, const Value *at, size_t n)
{
    VEC(Value) out = { 0 };
    for (size_t i = 0; i <= n; i++) {
        Value start = i ? at[i - 1] : val_int(0);
        Value end = i < n ? at[i] : val_none();
        Value args[] = { op->call->arg[0], val_int(axis), start, end };
        Value v = call_op(op, "aten::slice", args, COUNT(args));
        if (!val_ok(v))
            return v;
        vec_push(op->cx, &out, v);
    }
    return val_list(op->cx, out.at, (int64_t)out.n, "Tensor");
}

static Value by_indices(Op *op, const char *name, int axis)
{
    Dims at = arg_dims_any(op, name);
    Value *v = new_array(op->cx, Value, at.n + 1);
    if (!v || ctx_failed(op->cx))
        return val_poison();
    for (size_t i = 0; i < at.n; i++)
        v[i] = val_dim(op->cx, at.at[i]);
    return between(op, axis, v, at.n);
}

static Value lower_tensor_split(Op *op)
{
    Ox x;
    int axis;
    if (!parts_axis(op, &x, &axis))
        return val_poison();
    return has_param(op, "sections") ? sections(op, x, axis, arg_int(op, "sections"))
                                     : by_indices(op, "indices", axis);
}

/* between() for indices that depend on data. Each part is a copy that may share memory in PyTorch:
 * writing to one makes reading the other an error. */
static Value between_values(Op *op, Ox x, int axis, Ox at, int64_t n)
{
    VEC(Value) out = { 0 };
    Ox zero = ints(op, 0);
    Ox end = ints(op, INT64_MAX);
    Ox axes = ints(op, axis);
    Ox index = ox_cast(op->g, at, DT_INT64);
    for (int64_t i = 0; i <= n; i++) {
        Ox before = i ? slice_axis(op, index, 0, dim_int(op->cx, i - 1), dim_int(op->cx, i), 1)
                      : zero;
        Ox behind = i < n ? slice_axis(op, index, 0, dim_int(op->cx, i), dim_int(op->cx, i + 1), 1)
                          : end;
        Value v = val_tensor(op->cx, ox(op, "Slice", x, before, behind, axes));
        if (!val_ok(v))
            return v;
        tensor_maybe_shared(
            op->cx, arg_tensor(op, "self"), v.t,
            str_of(op->cx, "tensor_split by a tensor of indices gives parts of its argument"));
        vec_push(op->cx, &out, v);
    }
    return val_list(op->cx, out.at, (int64_t)out.n, "Tensor");
}

/* tensor_split by a tensor that holds the sections or indices. How many parts there are must be
 * known. */
static Value lower_tensor_split_tensor(Op *op)
{
    Ox at = arg(op, "tensor_indices_or_sections");
    Ox x;
    int axis;
    const Dim *items;
    int64_t n, number;
    if (!parts_axis(op, &x, &axis) || !ox_ok(at))
        return val_poison();
    if (!ox_items(at, &items, &n) && ox_rank(at) == 1 && dim_known(ox_dim(at, 0), &n))
        return between_values(op, x, axis, at, n);
    if (!ox_items(at, &items, &n)) {
        op_refuse(op, "how many parts there are must not depend on data");
        return val_poison();
    }
    if (ox_rank(at) == 0 && dim_known(items[0], &number))
        return sections(op, x, axis, number);
    Value *v = new_array(op->cx, Value, n + 1);
    if (!v)
        return val_poison();
    for (int64_t i = 0; i < n; i++)
        v[i] = val_dim(op->cx, items[i]);
    return ox_rank(at) == 1 ? between(op, axis, v, (size_t)n) : val_poison();
}

/* The axis of hsplit (0), vsplit (1) and dsplit (2) of a tensor of this rank. */
static int named_axis(int which, int rank)
{
    switch (which) {
    case 0:  return rank > 1;
    case 1:  return 0;
    default: return 2;
    }
}

/* hsplit, vsplit and dsplit: tensor_split along their axis, but sections must divide the size.
 * row->datum: which. */
static Value lower_named_split(Op *op)
{
    Ox x = arg(op, "self");
    int rank, which = (int)op->row->datum;
    if (!need_rank(op, x, -1, &rank))
        return val_poison();
    if (rank < which + 1) {
        fail(
            op->cx, E_VALUE,
            "%s requires a tensor with at least %d dimension, but got a tensor with %d dimensions!",
            op->call->schema->name->s, which + 1, rank);
        return val_poison();
    }
    int axis = named_axis(which, rank);
    if (has_param(op, "indices"))
        return by_indices(op, "indices", axis);
    Dim ignored, n = dim_int(op->cx, arg_int(op, "sections"));
    if (!ctx_failed(op->cx) &&
        (dim_is(n, 0) ||
         (!dim_divide(op->cx, ox_dim(x, axis), n, &ignored) && dim_known(ox_dim(x, axis), NULL)))) {
        fail(op->cx, E_VALUE,
             "%s attempted to split along dimension %d, but the size of the dimension %s is not "
             "divisible by the split_size %s!",
             op->call->schema->name->s, axis, dim_text(op->cx, ox_dim(x, axis))->s,
             dim_text(op->cx, n)->s);
        return val_poison();
    }
    return sections(op, x, axis, arg_int(op, "sections"));
}

#define SPLIT(name, line)                                                                         \
    OP_ROW(.kind = ROW_CALL, .schema = (line), .kinds = PLAIN | QUANT, .call = lower_split_sizes, \
           .text = (name))

OP_ROWS(split)
{
    CALL(lower_split, NULL, PLAIN | QUANT,
         "aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]");
    SPLIT("split_size",
          "aten::split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]");
    SPLIT("split_sizes",
          "aten::split(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]");
    SPLIT("split_sizes",
          "aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int "
          "dim=0) -> Tensor(a)[]");
    CALL(lower_chunk, NULL, PLAIN | QUANT,
         "aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]");
    CALL(lower_unbind, NULL, PLAIN | QUANT,
         "aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]");
    CALL(lower_split, NULL, PLAIN,
         "aten::unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]");
    SPLIT(
        "split_sizes",
        "aten::unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]");
    CALL(lower_chunk, NULL, PLAIN,
         "aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]");
    CALL(lower_tensor_split, NULL, PLAIN,
         "aten::tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> "
         "Tensor(a)[]");
    OLDER("aten::tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> "
          "Tensor(a)[]");
    CALL(lower_tensor_split_tensor, NULL, PLAIN,
         "aten::tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor "
         "tensor_indices_or_sections, int dim=0) -> Tensor(a)[]");
    CALL_FAMILY(lower_named_split, 0, NULL, PLAIN,
                "aten::hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]");
    OLDER("aten::hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]");
    CALL_FAMILY(lower_named_split, 1, NULL, PLAIN,
                "aten::vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]");
    OLDER("aten::vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]");
    CALL_FAMILY(lower_named_split, 2, NULL, PLAIN,
                "aten::dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]");
    OLDER("aten::dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]");
}
