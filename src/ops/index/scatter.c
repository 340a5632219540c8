/* scatter.c - placing elements by index: scatter, index_add and its kin, put, masked_scatter.
 *
 * Most are one ScatterElements, an index of whole slices expanded over them. Whole rows along the
 * first axis that are reduced (index_add, scatter_add of an index that was expanded) are one
 * ScatterND, which runtimes do row by row: ten times as fast in ONNX Runtime. */
#include "ops/internal.h"

/* Where elements go: an index of x's rank, each number a position along axis. nowhere: the index is
 * empty. */
typedef struct Places {
    Ox index;  /* NULL: `slices`, expanded to the shape of `like` */
    Ox slices; /* [n] or [n, 1, ..]: one number for each slice, where the index says no more */
    Ox like;   /* of the shape of the index: the index itself, or what goes there */
    int axis;
    bool nowhere;
} Places;

/* The column [n, 1, ..] that an Expand has made an index of rows of; NULL for any other index. */
static Ox expanded_column(Op *op, Ox index)
{
    if (!ox_ok(index) || index->kind != OX_NODE || !node_is(index->node, "Expand"))
        return NULL;
    Ox column = index->node->in[0];
    bool fits = ox_rank(column) == ox_rank(index) &&
        dim_eq(op->cx, ox_dim(column, 0), ox_dim(index, 0)) == YES;
    for (int i = 1; fits && i < ox_rank(column); i++)
        fits = dim_is(ox_dim(column, i), 1);
    return fits ? column : NULL;
}

/* The places that arguments `dim` and `index` name in x. */
static bool places(Op *op, Ox x, Places *p)
{
    bool scalar;
    int rank, own;
    Ox index = arg_typed(op, "index", DT_INT64);
    if (!is_index(op, index, true, "scatter(): Expected dtype int32/int64 for index") ||
        !need_rank(op, x, -1, &rank) || !need_rank(op, index, -1, &own) ||
        !arg_dim(op, "dim", rank, &p->axis))
        return false;
    p->index = at_least_1d(op, ox_cast(op->g, index, DT_INT64), &scalar);
    p->nowhere = dim_is(type_numel(op->cx, index->type), 0);
    p->like = p->index;
    p->slices = p->axis == 0 ? expanded_column(op, p->index) : NULL;
    if (!p->nowhere && ox_rank(p->index) != (rank ? rank : 1))
        return fail(op->cx, E_VALUE,
                    "Index tensor must have the same number of dimensions as self tensor");
    if (p->nowhere || rank == 0 || first_larger(op, p->index, x, p->axis) < 0)
        return true;
    return fail(op->cx, E_VALUE,
                "Expected index %s to be no larger than self %s apart from dimension %d",
                shape_text(op, p->index)->s, shape_text(op, x)->s, p->axis);
}

/* The index that ScatterElements takes. */
static Ox index_of(Op *op, const Places *p)
{
    if (p->index)
        return p->index;
    Dim d[MAX_RANK];
    int rank = ox_rank(p->like);
    for (int i = 0; i < rank; i++)
        d[i] = dim_int(op->cx, 1);
    d[p->axis] = ox_dim(p->like, p->axis);
    Ox column = reshape_to(op, p->slices, d, rank);
    return expand_dims(op, column, p->like->type->dim, rank);
}

/* Are whole rows along the first axis of x, of more than one number, what the index names? */
static bool names_rows(Op *op, Ox x, const Places *p)
{
    bool rows = p->slices && p->axis == 0 && ox_rank(x) == ox_rank(p->like);
    bool wide = false;
    for (int i = 1; rows && i < ox_rank(x); i++) {
        rows = dim_eq(op->cx, ox_dim(x, i), ox_dim(p->like, i)) == YES;
        wide |= !dim_is(ox_dim(x, i), 1);
    }
    return rows && wide;
}

/* The node of put_at. any_order: nothing hangs on which update of a place comes last. */
static Ox placed(Op *op, const Places *p, Ox x, Ox src, Attr how, bool any_order)
{
    if (any_order && names_rows(op, x, p)) {
        Dim tuples[] = { ox_dim(p->like, 0), dim_int(op->cx, 1) };
        Ox rows = ox_rank(p->slices) == 1 ? unsqueeze_axis(op, p->slices, 1)
                                          : reshape_to(op, p->slices, tuples, 2);
        return ox_with(op, "ScatterND", INPUTS(x, rows, src), how);
    }
    Ox index = index_of(op, p);
    return ox_with(op, "ScatterElements", INPUTS(x, index, src), INT("axis", p->axis), how);
}

/* x with src at the places, set or reduced ("add", "mul", ..). src is one number, or a tensor at
 * least as large as the index. The sum of bools is whether any is true, the product whether all
 * are: both are computed in int32. */
static Ox put_at(Op *op, const Places *p, Ox x, Ox src, const char *reduction)
{
    bool scalar;
    if (!ox_ok(x) || !ox_ok(src) || p->nowhere)
        return ox_ok(src) ? x : POISON;
    bool narrow = reduction && ox_dtype(x) == DT_BOOL;
    x = at_least_1d(op, narrow ? ox_cast(op->g, x, DT_INT32) : x, &scalar);
    src = narrow ? ox_cast(op->g, src, DT_INT32) : src;
    bool one_value = ox_ok(src) && ox_rank(src) == 0;
    src = one_value ? expand_dims(op, src, p->like->type->dim, ox_rank(p->like))
                    : trim_to(op, src, p->like, -1);
    Attr how = reduction ? STRING("reduction", str_of(op->cx, reduction)) : NO_ATTR;
    Ox out = placed(op, p, x, src, how, one_value || reduction);
    out = narrow && ox_ok(out) ? ox_cast(op->g, out, DT_BOOL) : out;
    return scalar_again(op, out, scalar);
}

static Ox same_dtype(Op *op, Ox x, Ox src, const char *what)
{
    if (!ox_ok(x) || !ox_ok(src) || ox_dtype(x) == ox_dtype(src))
        return src;
    return op_fail(op, E_VALUE, "%s: Expected self.dtype to be equal to src.dtype", what);
}

/* ---- scatter ---- */

/* row->datum: how elements meet those that are there. NAMED: as `reduce` says. */
enum { PUT, ADD, NAMED };

/* ONNX's word for the reduction, NULL for none. */
static bool scatter_reduction(Op *op, const char **out)
{
    *out = op->row->datum == ADD ? "add" : NULL;
    if (op->row->datum != NAMED)
        return true;
    Str how = arg_str(op, "reduce");
    if (str_is(how, "add"))
        *out = "add";
    else if (str_is(how, "multiply"))
        *out = "mul";
    return *out || fail(op->cx, E_VALUE, "reduce argument must be either add or multiply.");
}

/* Has src the index's rank, a number counting as a vector? False after PyTorch's error. */
static bool source_fits(Op *op, const Places *p, Ox src)
{
    int rank;
    if (!need_rank(op, src, -1, &rank))
        return false;
    return p->nowhere || ox_rank(p->index) == (rank ? rank : 1) ||
        fail(op->cx, E_VALUE, "Index tensor must have the same number of dimensions as src tensor");
}

static Ox lower_scatter(Op *op)
{
    Ox x = arg(op, "self");
    Ox src = same_dtype(op, x, arg(op, "src"), "scatter");
    const char *reduction;
    Places p;
    if (!scatter_reduction(op, &reduction) || !places(op, x, &p) || !source_fits(op, &p, src))
        return POISON;
    return put_at(op, &p, x, src, reduction);
}

static Ox lower_scatter_value(Op *op)
{
    Ox x = arg(op, "self");
    const char *reduction;
    Places p;
    if (!ox_ok(x) || !scatter_reduction(op, &reduction) || !places(op, x, &p))
        return POISON;
    return put_at(op, &p, x, scalar_of(op, "value", x), reduction);
}

/* ---- scatter_reduce ---- */

typedef struct Reduction {
    const char *torch, *onnx;
} Reduction;
static const Reduction reductions[] = {
    { "sum", "add" }, { "prod", "mul" }, { "amax", "max" }, { "amin", "min" }, { "mean", "add" }
};

/* The number from which a reduction starts: 0 of a sum, 1 of a product, the lowest of a maximum. */
static Ox neutral(Op *op, const Reduction *r, Ox x)
{
    bool extreme = str_starts(str_of(op->cx, r->torch), "am");
    return extreme ? outdone(op, x, strcmp(r->onnx, "max") == 0)
                   : number_like(op, strcmp(r->onnx, "mul") == 0, x);
}

/* Sums divided by the number of elements in each place. Ints are divided as floor_divide does. */
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

static const Reduction *reduction_named(Op *op, Str how)
{
    for (size_t i = 0; i < COUNT(reductions); i++)
        if (str_is(how, reductions[i].torch))
            return &reductions[i];
    fail(op->cx, E_VALUE, "reduce argument must be either sum, prod, mean, amax or amin, got %s.",
         how ? how->s : "None");
    return NULL;
}

/* x with src reduced into it. With include_self=False the written places start from the neutral
 * number of the reduction, not from x's elements. */
static Ox reduce_into(Op *op, const Places *p, Ox x, Ox src, Str how)
{
    const Reduction *r = reduction_named(op, how);
    if (!r)
        return POISON;
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
    if (!places(op, x, &p) || !source_fits(op, &p, src))
        return POISON;
    return reduce_into(op, &p, x, src, arg_str(op, "reduce"));
}

/* ---- whole slices: index_add and its kin ---- */

/* Has source, of rank 1 or more, x's sizes but along the axis? A number x counts as a vector. False
 * after PyTorch's error. */
static bool slices_match(Op *op, Ox x, Ox source, int axis)
{
    bool match = ox_rank(source) == (ox_rank(x) ? ox_rank(x) : 1);
    for (int i = 0; i < ox_rank(x) && match; i++)
        match = i == axis || !surely_differ(op, ox_dim(x, i), ox_dim(source, i));
    return match ||
        fail(op->cx, E_VALUE,
             "source tensor shape must match self tensor shape, excluding the specified dimension. "
             "Got self.shape = %s source.shape = %s",
             shape_text(op, x)->s, shape_text(op, source)->s);
}

/* The places of whole slices: the index, of rank 1, for the slices of source. */
static bool slice_places(Op *op, Ox x, Ox source, Places *p)
{
    bool ignored;
    int axis;
    Ox index = arg_typed(op, "index", DT_INT64);
    if (!ox_ok(source) || !is_index(op, index, true, "Expected dtype int32/int64 for index") ||
        !ranks_known(op, (Ox[]){ x, index, source }, 3) || !arg_dim(op, "dim", ox_rank(x), &axis))
        return false;
    if (ox_rank(index) > 1)
        return fail(op->cx, E_VALUE, "Index is supposed to be a vector, but got dim: %d",
                    ox_rank(index));
    source = at_least_1d(op, source, &ignored);
    if (!slices_match(op, x, source, axis))
        return false;
    Ox flat = flatten_to_1d(op, ox_cast(op->g, index, DT_INT64));
    *p = (Places){ .axis = axis, .slices = flat, .like = source };
    p->nowhere = dim_is(type_numel(op->cx, source->type), 0);
    return ox_ok(flat);
}

/* The permutation that moves `axis` to the front of n axes. */
static void axis_first(int axis, int n, int *perm)
{
    perm[0] = axis;
    for (int i = 1; i < n; i++)
        perm[i] = i <= axis ? i - 1 : i;
}

/* Has source x's rank, and no size 1 that would have to broadcast? */
static bool slices_fit(Ox x, Ox source, int axis)
{
    if (ox_rank(source) != ox_rank(x))
        return false;
    for (int i = 0; i < ox_rank(x); i++)
        if (i != axis && dim_is(ox_dim(source, i), 1) && !dim_is(ox_dim(x, i), 1))
            return false;
    return true;
}

/* source, its slices broadcast to those of x, as PyTorch did up to 1.13. Source [3, 1] into x
 * [5, 4] along dim 0 becomes [3, 4]. The axis of the slices is moved to the front, the slices are
 * expanded there, and the axis is moved back. */
static Ox spread_slices(Op *op, Ox x, Ox source)
{
    int axis;
    int rank = ox_rank(source);
    int wide = ox_rank(x);
    int perm[MAX_RANK];
    Dim dims[MAX_RANK];
    if (rank < 1 || wide < rank || !arg_dim(op, "dim", wide, &axis) || axis >= rank ||
        slices_fit(x, source, axis))
        return source;
    axis_first(axis, rank, perm);
    Ox first = permute_to(op, source, perm, rank);
    if (!ox_ok(first))
        return POISON;
    int more = wide - rank;
    dims[0] = ox_dim(first, 0);
    for (int i = 1; i < wide; i++)
        dims[i] = i <= more ? dim_int(op->cx, 1) : ox_dim(first, i - more);
    Ox tall = reshape_to(op, first, dims, wide);
    for (int i = 1; i < wide; i++)
        dims[i] = ox_dim(x, i <= axis ? i - 1 : i);
    Ox full = expand_dims(op, tall, dims, wide);
    axis_first(axis, wide, perm);
    return permute_back(op, full, perm, wide);
}

static Ox index_into(Op *op, Ox x, Ox source, const char *reduction)
{
    Places p;
    bool ignored;
    if (!slice_places(op, x, source, &p))
        return POISON;
    return put_at(op, &p, x, at_least_1d(op, source, &ignored), reduction);
}

/* source * alpha */
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
    Ox index = arg_typed(op, "index", DT_INT64);
    if (!is_index(op, index, false, "index_copy_(): Expected a long tensor for index"))
        return POISON;
    return index_into(op, x, same_dtype(op, x, arg(op, "source"), "index_copy"), NULL);
}

/* One number in the place of whole slices. */
static Ox lower_index_fill(Op *op)
{
    int axis;
    Ox x = arg(op, "self");
    Ox index = arg_typed(op, "index", DT_INT64);
    if (!is_index(op, index, false, "index_fill_(): Expected dtype int64 for index") ||
        !ranks_known(op, (Ox[]){ x, index }, 2) || !arg_dim(op, "dim", ox_rank(x), &axis))
        return POISON;
    if (arg_rank(op, "value") > 0)
        return op_fail(op, E_VALUE,
                       "index_fill_ only supports a 0-dimensional value tensor, but got tensor "
                       "with %d dimension(s).",
                       arg_rank(op, "value"));
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
    if (!slice_places(op, x, source, &p))
        return POISON;
    return reduce_into(op, &p, x, at_least_1d(op, source, &ignored), arg_str(op, "reduce"));
}

/* ---- in the order of memory ---- */

/* self with source at positions of the flattened tensor. */
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
    if (surely_differ(op, type_numel(op->cx, index->type), type_numel(op->cx, source->type)))
        return op_fail(op, E_VALUE,
                       "put_(): Expected source and index to have the same number of elements, but "
                       "got source.numel() = %s, index.numel() = %s",
                       dim_text(op->cx, type_numel(op->cx, source->type))->s,
                       dim_text(op->cx, type_numel(op->cx, index->type))->s);
    Ox at = flatten_to_1d(op, index);
    Places p = { .index = at, .like = at, .nowhere = dim_is(type_numel(op->cx, index->type), 0) };
    Ox flat = flatten_to_1d(op, x);
    Ox from = flatten_to_1d(op, source);
    Ox out = put_at(op, &p, flat, from, arg_bool(op, "accumulate") ? "add" : NULL);
    return reshape_to(op, out, x->type->dim, ox_rank(x));
}

/* The places where the mask is true take source's elements one after the other. */
static Ox lower_masked_scatter(Op *op)
{
    Ox x = arg(op, "self");
    Ox mask = arg_typed(op, "mask", DT_BOOL);
    Ox source = same_dtype(op, x, arg(op, "source"), "masked_scatter");
    Dim both[MAX_RANK];
    int rank;
    if (!ox_ok(source) || !is_mask(op, mask, "masked_scatter_ only supports boolean masks") ||
        !ranks_known(op, (Ox[]){ x, mask, source }, 3) || !mask_shape(op, x, mask, both, &rank))
        return POISON;
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

OP_ROWS(scatter)
{
    FAMILY(lower_scatter, PUT, NULL, PLAIN,
           "aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor");
    FAMILY(lower_scatter_value, PUT, NULL, PLAIN,
           "aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor");
    FAMILY(lower_scatter, NAMED, NULL, PLAIN,
           "aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> "
           "Tensor");
    FAMILY(lower_scatter_value, NAMED, NULL, PLAIN,
           "aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str "
           "reduce) -> Tensor");
    FAMILY(lower_scatter, ADD, NULL, PLAIN,
           "aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor");
    LOWER(lower_scatter_reduce, NULL, PLAIN,
          "aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, "
          "bool include_self=True) -> Tensor");
    LOWER(lower_index_add, NULL, PLAIN,
          "aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) "
          "-> Tensor");
    LOWER(lower_index_copy, NULL, PLAIN,
          "aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor");
    LOWER(lower_index_fill, NULL, PLAIN,
          "aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
          .fills = true);
    LOWER(lower_index_fill, NULL, PLAIN,
          "aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
          .fills = true);
    LOWER(lower_index_reduce, NULL, PLAIN,
          "aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, "
          "bool include_self=True) -> Tensor");
    LOWER(lower_put, NULL, PLAIN,
          "aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor");
    LOWER(lower_masked_scatter, NULL, PLAIN,
          "aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
          .layout = LAYOUT_AS_CLONE);
}
