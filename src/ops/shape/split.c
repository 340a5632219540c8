/* split.c - lists of parts along an axis. Each is a view, the slice of the argument that it is; one
 * Split makes them all. */
#include "ops/internal.h"

/* The view that aten::slice would have made, reading a value that is there already. */
static Value part_view(Op *op, int axis, Dim start, Dim end, Ox read)
{
    Entry *e = table_find(op->cx, str_of(op->cx, "aten::slice"));
    OpCall *call = new(op->cx, OpCall);
    OpArg args[] = { { NULL, op->call->arg[0] },
                     { NULL, val_int(axis) },
                     { NULL, val_dim(op->cx, start) },
                     { NULL, val_dim(op->cx, end) } };
    Candidate *c = bind_choose(op->g, e, NULL, args, COUNT(args), &call->arg);
    if (!c || !ox_ok(read))
        return val_poison();
    call_set_row(call, c);
    return (Value){ .tag = V_TENSOR,
                    .t = tensor_view(op->cx, op->call->arg[0].t, &call->view, read) };
}

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
    if (each <= 0 && size != 0) {
        fail(op->cx, E_VALUE, "split expects split_size be positive, but got split_size=%lld",
             (long long)each);
        return val_poison();
    }
    for (int64_t at = 0; at < size || sizes.n == 0; at += each)
        vec_push(op->cx, &sizes, dim_int(op->cx, size - at < each ? size - at : each));
    return parts(op, x, axis, sizes.at, sizes.n);
}

static bool parts_axis(Op *op, Ox *x, int *axis)
{
    int rank;
    Value self = arg_value(op, "self");
    *x = arg(op, "self");
    if (self.tag == V_TENSOR && self.t->quant && self.t->quant->axis >= 0)
        return op_refuse(op, "it does not handle tensors that are quantised by channel"), false;
    return need_rank(op, *x, -1, &rank) && arg_dim(op, "dim", rank, axis);
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

static Value lower_split_sizes(Op *op)
{
    Ox x;
    int axis;
    const char *name = op->row->text;
    if (!parts_axis(op, &x, &axis))
        return val_poison();
    Dims sizes = arg_dims(op, name);
    return parts(op, x, axis, sizes.at, sizes.n);
}

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
    bool known = dim_known(whole, &size);
    if (known ? size == 0 : dim_divide(op->cx, whole, dim_int(op->cx, n), &each)) {
        Dim *sizes = new_array(op->cx, Dim, n);
        for (int64_t i = 0; sizes && i < n; i++)
            sizes[i] = known ? whole
                             : each; /* of nothing there are as many parts as were asked for */
        return parts(op, x, axis, sizes, (size_t)n);
    }
    return parts_of_size(op, x, axis, known ? (size + n - 1) / n : 0);
}

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

/* n parts, of which the first ones are one longer where n does not divide the size. */
static Value sections(Op *op, Ox x, int axis, int64_t n)
{
    Ctx *cx = op->cx;
    Dim *sizes = new_array(cx, Dim, n > 0 ? n : 1);
    Dim count = dim_int(cx, n);
    Dim zero = dim_int(cx, 0);
    Dim one = dim_int(cx, 1);
    if (n <= 0 || !sizes || ctx_failed(cx)) {
        if (!ctx_failed(cx))
            fail(cx, E_VALUE, "number of sections must be larger than 0, got %lld", (long long)n);
        return val_poison();
    }
    Dim each = dim_floordiv(cx, ox_dim(x, axis), count);
    Dim over = dim_mod(cx, ox_dim(x, axis), count);
    for (int64_t i = 0; i < n; i++)
        sizes[i] = dim_add(cx, each,
                           dim_min(cx, one, dim_max(cx, zero, dim_sub(cx, over, dim_int(cx, i)))));
    return parts(op, x, axis, sizes, (size_t)n);
}

/* From each index to the next, as slices have it: out of range is cut, backwards is empty. */
static Value between(Op *op, int axis, const Value *at, size_t n)
{
    VEC(Value) out = { 0 };
    for (size_t i = 0; i <= n; i++) {
        Value args[] = { op->call->arg[0], val_int(axis), i ? at[i - 1] : val_int(0),
                         i < n ? at[i] : val_none() };
        Value v = call_op(op, "aten::slice", args, COUNT(args));
        if (!val_ok(v))
            return v;
        vec_push(op->cx, &out, v);
    }
    return val_list(op->cx, out.at, (int64_t)out.n, "Tensor");
}

static Value by_indices(Op *op, const char *name, int axis)
{
    Dims at = arg_dims(op, name);
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

/* Slices between indices that depend on data. Each is taken as a copy: what is written to one is
 * not in the tensor. */
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

/* A tensor that holds the sections or indices. How many parts there are must be known. */
static Value lower_tensor_split_tensor(Op *op)
{
    Ox x, at = arg(op, "tensor_indices_or_sections");
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
    for (int64_t i = 0; v && i < n; i++)
        v[i] = val_dim(op->cx, items[i]);
    return v && ox_rank(at) == 1 ? between(op, axis, v, (size_t)n) : val_poison();
}

/* row->datum: 0 hsplit, of the columns or of a vector; 1 vsplit, 2 dsplit */
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
    int axis = which == 0 ? (rank > 1) : which == 1 ? 0 : 2;
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

#define SPLIT(name, line)        \
    { .kind = ROW_CALL,          \
      .schema = (line),          \
      .kinds = PLAIN | QUANT,    \
      .call = lower_split_sizes, \
      .text = (name) }

const OpRow ops_split[] = {
    CALL(lower_split, NULL, PLAIN | QUANT,
         "aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]"),
    SPLIT("split_size",
          "aten::split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]"),
    SPLIT("split_sizes",
          "aten::split(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]"),
    SPLIT("split_sizes",
          "aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int "
          "dim=0) -> Tensor(a)[]"),
    CALL(lower_chunk, NULL, PLAIN | QUANT,
         "aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]"),
    CALL(lower_unbind, NULL, PLAIN | QUANT,
         "aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]"),
    CALL(lower_split, NULL, PLAIN,
         "aten::unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]"),
    SPLIT(
        "split_sizes",
        "aten::unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]"),
    CALL(lower_chunk, NULL, PLAIN,
         "aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]"),
    CALL(lower_tensor_split, NULL, PLAIN,
         "aten::tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> "
         "Tensor(a)[]"),
    OLDER("aten::tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> "
          "Tensor(a)[]"),
    CALL(lower_tensor_split_tensor, NULL, PLAIN,
         "aten::tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor "
         "tensor_indices_or_sections, int dim=0) -> Tensor(a)[]"),
    CALL_FAMILY(lower_named_split, 0, NULL, PLAIN,
                "aten::hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]"),
    OLDER("aten::hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]"),
    CALL_FAMILY(lower_named_split, 1, NULL, PLAIN,
                "aten::vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]"),
    OLDER("aten::vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]"),
    CALL_FAMILY(lower_named_split, 2, NULL, PLAIN,
                "aten::dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]"),
    OLDER("aten::dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]"),
    OPS_END
};
