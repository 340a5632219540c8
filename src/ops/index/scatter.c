/* scatter.c - placing elements by index: scatter, index_add and its kin, put, masked_scatter.
 *
 * All but the last are one ScatterElements: what is placed by whole rows (index_add) gets its index
 * spread over them. */
#include "ops/internal.h"

/* Where elements go: an index of x's rank, each number a position along axis. */
typedef struct Places {
    Ox index;
    int axis;
    bool nowhere;
} Places;

static bool places(Op *op, Ox x, Places *p)
{
    bool scalar;
    int rank, own;
    Ox index = arg_typed(op, "index", DT_INT64);
    if (!need_rank(op, x, -1, &rank) || !need_rank(op, index, -1, &own) ||
        !arg_dim(op, "dim", rank, &p->axis))
        return false;
    p->index = at_least_1d(op, ox_cast(op->g, index, DT_INT64), &scalar);
    p->nowhere = dim_is(type_numel(op->cx, index->type), 0);
    if (!p->nowhere && ox_rank(p->index) != (rank ? rank : 1))
        return fail(op->cx, E_VALUE,
                    "Index tensor must have the same number of dimensions as self tensor");
    return true;
}

/* src, one number or a tensor that is larger than the index at most, at its places in x. Of bools a
 * sum is any and a product all. */
static Ox put_at(Op *op, const Places *p, Ox x, Ox src, const char *reduction)
{
    bool scalar, narrow;
    if (!ox_ok(x) || !ox_ok(src) || p->nowhere)
        return ox_ok(src) ? x : POISON;
    narrow = reduction && ox_dtype(x) == DT_BOOL;
    x = at_least_1d(op, narrow ? ox_cast(op->g, x, DT_INT32) : x, &scalar);
    src = narrow ? ox_cast(op->g, src, DT_INT32) : src;
    src = ox_ok(src) && ox_rank(src) == 0
        ? expand_dims(op, src, p->index->type->dim, ox_rank(p->index))
        : trim_to(op, src, p->index, -1);
    Attr how = reduction ? STRING("reduction", str_of(op->cx, reduction)) : NO_ATTR;
    Ox out = ox_with(op, "ScatterElements", INPUTS(x, p->index, src), INT("axis", p->axis), how);
    out = narrow && ox_ok(out) ? ox_cast(op->g, out, DT_BOOL) : out;
    return scalar_again(op, out, scalar);
}

static Ox same_dtype(Op *op, Ox x, Ox src, const char *what)
{
    if (!ox_ok(x) || !ox_ok(src) || ox_dtype(x) == ox_dtype(src))
        return src;
    return op_fail(op, E_VALUE, "%s: Expected self.dtype to be equal to src.dtype", what);
}

/* ---- scatter: row->datum says what a repeated place does ---- */

enum { PUT, ADD, NAMED };

static bool scatter_reduction(Op *op, const char **out)
{
    Str how = op->row->datum == NAMED ? arg_str(op, "reduce") : NULL;
    *out = op->row->datum == ADD || str_is(how, "add") ? "add"
        : str_is(how, "multiply")                      ? "mul"
                                                       : NULL;
    return *out || op->row->datum == PUT ||
        fail(op->cx, E_VALUE, "reduce argument must be either add or multiply.");
}

static Ox scatter(Op *op, Ox x, Ox src)
{
    const char *reduction;
    Places p;
    return scatter_reduction(op, &reduction) && places(op, x, &p)
        ? put_at(op, &p, x, src, reduction)
        : POISON;
}

static Ox lower_scatter(Op *op)
{
    Ox x = arg(op, "self");
    Ox src = same_dtype(op, x, arg(op, "src"), "scatter");
    return scatter(op, x, src);
}

static Ox lower_scatter_value(Op *op)
{
    Ox x = arg(op, "self");
    return ox_ok(x) ? scatter(op, x, scalar_of(op, "value", x)) : POISON;
}

/* ---- scatter_reduce ---- */

typedef struct Reduction {
    const char *torch, *onnx;
} Reduction;
static const Reduction reductions[] = {
    { "sum", "add" }, { "prod", "mul" }, { "amax", "max" }, { "amin", "min" }, { "mean", "add" }
};

/* What leaves any value as it is. */
static Ox neutral(Op *op, const Reduction *r, Ox x)
{
    bool extreme = str_starts(str_of(op->cx, r->torch), "am");
    return extreme ? outdone(op, x, strcmp(r->onnx, "max") == 0)
                   : number_like(op, strcmp(r->onnx, "mul") == 0, x);
}

/* Sums become means: as many elements as went into each place. Ints are divided downwards. */
static Ox mean_of_sums(Op *op, Ox sum, Ox count)
{
    Ox one = number_like(op, 1, sum);
    Ox least = ox(op, "Max", count, one);
    if (!ox_ok(sum) || dtype_is_float(ox_dtype(sum)) || !ox_ok(least))
        return ox(op, "Div", sum, least);
    Value args[] = { val_tensor(op->cx, sum), val_tensor(op->cx, least) };
    Value v = call_op(op, "aten::floor_divide", args, 2);
    return val_ok(v) ? tensor_read(op->g, v.t) : POISON;
}

/* include_self=False: the places that are written start from the value that changes nothing. */
static Ox reduce_into(Op *op, const Places *p, Ox x, Ox src, Str how)
{
    const Reduction *r = reductions;
    while (r < reductions + COUNT(reductions) && !str_is(how, r->torch))
        r++;
    if (r == reductions + COUNT(reductions))
        return op_fail(op, E_VALUE,
                       "reduce argument must be either sum, prod, mean, amax or amin, got %s.",
                       how ? how->s : "None");
    bool own = arg_bool(op, "include_self");
    if (!ox_ok(x) || !ox_ok(src))
        return POISON;
    bool narrow = ox_dtype(x) == DT_BOOL;
    Ox from = narrow ? ox_cast(op->g, x, DT_INT32) : x;
    Ox what = narrow ? ox_cast(op->g, src, DT_INT32) : src;
    Ox start = own ? from : put_at(op, p, from, neutral(op, r, from), NULL);
    Ox out = put_at(op, p, start, what, r->onnx);
    if (str_is(how, "mean")) {
        Ox one = number_like(op, 1, from);
        Ox ones = expand_dims(op, one, x->type->dim, ox_rank(x));
        Ox zeros = own ? ones : put_at(op, p, ones, number_like(op, 0, from), NULL);
        out = mean_of_sums(op, out, put_at(op, p, zeros, one, "add"));
    }
    return narrow && ox_ok(out) ? ox_cast(op->g, out, DT_BOOL) : out;
}

static Ox lower_scatter_reduce(Op *op)
{
    Ox x = arg(op, "self");
    Ox src = same_dtype(op, x, arg(op, "src"), "scatter");
    Places p;
    return places(op, x, &p) ? reduce_into(op, &p, x, src, arg_str(op, "reduce")) : POISON;
}

/* ---- whole slices: index_add and its kin ---- */

/* The index, of rank 1, spread over source's shape. */
static bool slice_places(Op *op, Ox x, Ox source, Places *p)
{
    bool ignored;
    int axis;
    Ox index = arg_typed(op, "index", DT_INT64);
    if (!ox_ok(source) || !ranks_known(op, (Ox[]){ x, index, source }, 3) ||
        !arg_dim(op, "dim", ox_rank(x), &axis))
        return false;
    source = at_least_1d(op, source, &ignored);
    int rank = ox_rank(source);
    if (axis >= rank)
        return fail(op->cx, E_VALUE, "the source must have the dimensions of self, it has %d",
                    rank);
    Dim d[MAX_RANK];
    for (int i = 0; i < rank; i++)
        d[i] = dim_int(op->cx, 1);
    d[axis] = ox_dim(source, axis);
    Ox shape = ox_dims(op->g, d, (size_t)rank);
    Ox flat = flatten_to_1d(op, ox_cast(op->g, index, DT_INT64));
    Ox column = ox(op, "Reshape", flat, shape);
    *p = (Places){ .axis = axis, .index = expand_dims(op, column, source->type->dim, rank) };
    p->nowhere = dim_is(type_numel(op->cx, source->type), 0);
    return ox_ok(p->index);
}

/* Slices of another shape broadcast to self's, up to PyTorch 1.13. The axis of the slices has the
 * same place in both. */
static Ox spread_slices(Op *op, Ox x, Ox source)
{
    int axis;
    int rank = ox_rank(source);
    int wide = ox_rank(x);
    int front[MAX_RANK], back[MAX_RANK];
    Dim dims[MAX_RANK];
    if (rank < 1 || wide < rank || !arg_dim(op, "dim", wide, &axis) || axis >= rank)
        return source;
    bool same = rank == wide;
    for (int i = 0; same && i < rank; i++)
        same = i == axis || !dim_is(ox_dim(source, i), 1) || dim_is(ox_dim(x, i), 1);
    if (same)
        return source;
    for (int i = 0; i < rank; i++)
        front[i] = i == 0 ? axis : i <= axis ? i - 1 : i;
    for (int i = 0; i < wide; i++)
        back[i] = i < axis ? i + 1 : i == axis ? 0 : i;
    Ox first = permute_to(op, source, front, rank);
    if (!ox_ok(first))
        return POISON;
    for (int i = 0; i < wide; i++)
        dims[i] = i == 0       ? ox_dim(first, 0)
            : i <= wide - rank ? dim_int(op->cx, 1)
                               : ox_dim(first, i - (wide - rank));
    Ox tall = reshape_to(op, first, dims, wide);
    for (int i = 1; i < wide; i++)
        dims[i] = ox_dim(x, i <= axis ? i - 1 : i);
    return permute_to(op, expand_dims(op, tall, dims, wide), back, wide);
}

static Ox index_into(Op *op, Ox x, Ox source, const char *reduction)
{
    Places p;
    bool ignored;
    return slice_places(op, x, source, &p)
        ? put_at(op, &p, x, at_least_1d(op, source, &ignored), reduction)
        : POISON;
}

static Ox scaled(Op *op, Ox source)
{
    if (ox_dtype(source) != DT_BOOL)
        return each_mul(op, source, scalar_of(op, "alpha", source));
    return ox(op, "And", source, scalar_of(op, "alpha", source));
}

static Ox lower_index_add(Op *op)
{
    Ox x = arg(op, "self");
    Ox source = same_dtype(op, x, arg(op, "source"), "index_add");
    if (ox_ok(source) && !arg_is_number(op, "alpha", 1))
        source = scaled(op, source);
    if (!ox_ok(source) || !ranks_known(op, (Ox[]){ x, source }, 2))
        return POISON;
    return index_into(op, x, spread_slices(op, x, source), "add");
}

static Ox lower_index_copy(Op *op)
{
    Ox x = arg(op, "self");
    return index_into(op, x, same_dtype(op, x, arg(op, "source"), "index_copy"), NULL);
}

static Ox lower_index_fill(Op *op)
{
    int axis;
    Ox x = arg(op, "self");
    Ox index = arg_typed(op, "index", DT_INT64);
    if (!ranks_known(op, (Ox[]){ x, index }, 2) || !arg_dim(op, "dim", ox_rank(x), &axis))
        return POISON;
    Ox value = scalar_of(op, "value", x);
    Dim d[MAX_RANK];
    for (int i = 0; i < ox_rank(x); i++)
        d[i] = ox_dim(x, i);
    if (ox_rank(x) > 0)
        d[axis] = type_numel(op->cx, index->type);
    return index_into(op, x, expand_dims(op, value, d, ox_rank(x)), NULL);
}

static Ox lower_index_reduce(Op *op)
{
    Ox x = arg(op, "self");
    Ox source = same_dtype(op, x, arg(op, "source"), "index_reduce");
    Places p;
    bool ignored;
    return slice_places(op, x, source, &p)
        ? reduce_into(op, &p, x, at_least_1d(op, source, &ignored), arg_str(op, "reduce"))
        : POISON;
}

/* ---- in the order of memory ---- */

/* self with source at positions of the flattened tensor */
static Ox lower_put(Op *op)
{
    Ox x = arg(op, "self");
    Ox source = same_dtype(op, x, arg(op, "source"), "put");
    Ox index = arg_typed(op, "index", DT_INT64);
    if (!ox_ok(source) || !ranks_known(op, (Ox[]){ x, source, index }, 3))
        return POISON;
    if (ox_dtype(index) != DT_INT64)
        return op_fail(op, E_VALUE, "put_(): Expected a long tensor for index, but got %s",
                       torch_dtype_name(ox_dtype(index)));
    Places p = { .index = flatten_to_1d(op, index),
                 .nowhere = dim_is(type_numel(op->cx, index->type), 0) };
    Ox flat = flatten_to_1d(op, x);
    Ox from = flatten_to_1d(op, source);
    Ox out = put_at(op, &p, flat, from, arg_bool(op, "accumulate") ? "add" : NULL);
    return reshape_to(op, out, x->type->dim, ox_rank(x));
}

/* The true places of the mask take source's elements one after the other. */
static Ox lower_masked_scatter(Op *op)
{
    Ox x = arg(op, "self");
    Ox mask = arg_typed(op, "mask", DT_BOOL);
    Ox source = same_dtype(op, x, arg(op, "source"), "masked_scatter");
    Dim both[MAX_RANK], one = dim_int(op->cx, 1);
    if (!ox_ok(source) || !ranks_known(op, (Ox[]){ x, mask, source }, 3))
        return POISON;
    int rank = ox_rank(x) > ox_rank(mask) ? ox_rank(x) : ox_rank(mask);
    for (int i = 0; i < rank; i++) {
        int a = i - (rank - ox_rank(x));
        int b = i - (rank - ox_rank(mask));
        if (!dim_broadcast(op->cx, a < 0 ? one : ox_dim(x, a), b < 0 ? one : ox_dim(mask, b),
                           &both[i]))
            return op_fail(
                op, E_VALUE,
                "The shape of the mask at axis %d does not match the shape of the tensor", i);
    }
    Ox flat = flatten_to_1d(op, expand_dims(op, x, both, rank));
    Ox chosen = flatten_to_1d(op, expand_dims(op, ox_cast(op->g, mask, DT_BOOL), both, rank));
    Ox where = ox(op, "NonZero", chosen);
    Ox at = permute_to(op, where, (const int[]){ 1, 0 }, 2);
    if (!ox_ok(at))
        return POISON;
    Ox from = slice_axis(op, flatten_to_1d(op, source), 0, dim_int(op->cx, 0), ox_dim(at, 0), 1);
    Ox out = ox(op, "ScatterND", flat, at, from);
    return reshape_to(op, out, both, rank);
}

const OpRow ops_scatter[] = {
    FAMILY(lower_scatter, PUT, NULL, PLAIN,
           "aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor"),
    FAMILY(lower_scatter_value, PUT, NULL, PLAIN,
           "aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor"),
    FAMILY(lower_scatter, NAMED, NULL, PLAIN,
           "aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> "
           "Tensor"),
    FAMILY(lower_scatter_value, NAMED, NULL, PLAIN,
           "aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str "
           "reduce) -> Tensor"),
    FAMILY(lower_scatter, ADD, NULL, PLAIN,
           "aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor"),
    LOWER(lower_scatter_reduce, NULL, PLAIN,
          "aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, "
          "bool include_self=True) -> Tensor"),
    LOWER(lower_index_add, NULL, PLAIN,
          "aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) "
          "-> Tensor"),
    LOWER(lower_index_copy, NULL, PLAIN,
          "aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor"),
    LOWER(lower_index_fill, NULL, PLAIN,
          "aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
          .fills = true),
    LOWER(lower_index_fill, NULL, PLAIN,
          "aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
          .fills = true),
    LOWER(lower_index_reduce, NULL, PLAIN,
          "aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, "
          "bool include_self=True) -> Tensor"),
    LOWER(lower_put, NULL, PLAIN,
          "aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor"),
    LOWER(lower_masked_scatter, NULL, PLAIN,
          "aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
          .layout = LAYOUT_AS_CLONE),
    OPS_END
};
