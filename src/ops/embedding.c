/* embedding.c - tables of vectors: embedding, bags of them, one_hot. */
#include "ops/internal.h"

static Ox lower_embedding(Op *op)
{
    Ox weight = arg(op, "weight"), indices = arg_typed(op, "indices", DT_INT64);
    return ox_with(op, "Gather", INPUTS(weight, indices), INT("axis", 0));
}

/* ---- bags: the vectors of a bag are added, averaged or compared; an empty one is zeros ---- */

enum { BAG_SUM, BAG_MEAN, BAG_MAX };

typedef struct Bags { Ox weight, indices, which; Dim n; Ox kept; } Bags;

/* Which bag each index is in: the last that begins at it or before. `kept`: it is not the padding, NULL when there is none. */
static bool bags_of(Op *op, Bags *b)
{
    int rank;
    b->weight = arg(op, "weight");
    Ox indices = arg_typed(op, "indices", DT_INT64), offsets = arg_typed(op, "offsets", DT_INT64);
    if (!ox_ok(b->weight) || !need_rank(op, indices, 1, &rank) || !need_rank(op, offsets, 1, &rank))
        return false;
    if (ox_rank(indices) != 1 || rank != 1)
        return fail(op->cx, E_VALUE, "embedding_bag: input and offsets have to be 1D Tensors");
    b->indices = ox_cast(op->g, indices, DT_INT64);
    offsets = ox_cast(op->g, offsets, DT_INT64);
    Dim zero = dim_int(op->cx, 0), one = dim_int(op->cx, 1);
    b->n = arg_bool(op, "include_last_offset") ? dim_sub(op->cx, ox_dim(offsets, 0), one) : ox_dim(offsets, 0);
    Ox begins = slice_axis(op, offsets, 0, zero, b->n, 1), from = ox_int(op->g, 0), to = ox_dim_value(op->g, ox_dim(indices, 0)), by = ox_int(op->g, 1);
    Ox place = ox(op, "Range", from, to, by), column = unsqueeze_axis(op, place, 1), begun = ox(op, "LessOrEqual", begins, column);
    Axes last = { .at = { 1 }, .n = 1 };
    Ox count = reduce(op, "ReduceSum", ox_ok(begun) ? ox_cast(op->g, begun, DT_INT64) : POISON, &last, true);
    b->which = ox(op, "Sub", count, by);                                /* [indices, 1] */
    int64_t padding = has_param(op, "padding_idx") && arg_given(op, "padding_idx") ? arg_int(op, "padding_idx") : -1;
    bool asked = str_is(op->call->schema->overload, "padding_idx") && arg_given(op, "padding_idx"), some = asked || padding >= 0;
    if (some) {
        Dim rows = ox_dim(b->weight, 0);
        Ox pad = padding >= 0 ? ox_int(op->g, padding) : ox_dim_value(op->g, dim_add(op->cx, rows, dim_int(op->cx, padding))), same = ox(op, "Equal", b->indices, pad);
        b->kept = ox(op, "Not", same);
    }
    if (arg_bool(op, "include_last_offset")) {                          /* what lies behind the last offset is in no bag */
        Ox end = slice_axis(op, offsets, 0, b->n, dim_add(op->cx, b->n, one), 1), inside = ox(op, "Less", place, end);
        b->kept = b->kept ? ox(op, "And", b->kept, inside) : inside;
    }
    return ox_ok(b->which) && !ctx_failed(op->cx);
}

/* [bags, more] of `start`, with `what` [indices, more] brought in. */
static Ox into_bags(Op *op, const Bags *b, Ox start, Ox what, const char *reduction)
{
    Dim dims[MAX_RANK];
    if (!ox_ok(what))
        return POISON;
    memcpy(dims, what->type->dim, (size_t)ox_rank(what) * sizeof *dims);
    dims[0] = b->n;
    Ox all = expand_dims(op, start, dims, ox_rank(what));
    return ox_with(op, "ScatterND", INPUTS(all, b->which, what), STRING("reduction", str_of(op->cx, reduction)));
}

/* How many vectors are in each bag: [bags, 1], of the weight's type. */
static Ox bag_sizes(Op *op, const Bags *b)
{
    Ox one = number_like(op, 1, b->weight), zero = number_like(op, 0, b->weight);
    Ox ones = b->kept ? ox_cast(op->g, b->kept, ox_dtype(b->weight)) : expand_dims(op, one, b->indices->type->dim, 1);
    return unsqueeze_axis(op, into_bags(op, b, zero, ones, "add"), 1);
}

static Ox bag_vectors(Op *op, const Bags *b, int64_t mode)
{
    Ox rows = ox_with(op, "Gather", INPUTS(b->weight, b->indices), INT("axis", 0)), zero = number_like(op, 0, b->weight), factor = arg_opt(op, "per_sample_weights");
    Ox absent = mode == BAG_MAX ? outdone(op, b->weight, true) : zero;
    if (factor && mode != BAG_SUM)
        return op_fail(op, E_VALUE, "embedding_bag: per_sample_weights only supported with mode='sum'");
    if (factor)
        rows = ox(op, "Mul", rows, unsqueeze_axis(op, factor, 1));
    if (b->kept)
        rows = ox(op, "Where", unsqueeze_axis(op, b->kept, 1), rows, absent);
    Ox out = into_bags(op, b, absent, rows, mode == BAG_MAX ? "max" : "add");
    if (mode == BAG_SUM)
        return out;
    Ox size = bag_sizes(op, b), one = number_like(op, 1, b->weight), least = ox(op, "Max", size, one), empty = ox(op, "Equal", size, zero);
    return mode == BAG_MEAN ? ox(op, "Div", out, least) : ox(op, "Where", empty, zero, out);
}

/* What PyTorch gives beside the vectors is for its backward pass: those results must not be read. */
static Value lower_embedding_bag(Op *op)
{
    Bags b = { 0 };
    int64_t mode = arg_int(op, "mode");
    if (!bags_of(op, &b))
        return val_poison();
    if (mode < BAG_SUM || mode > BAG_MAX) {
        fail(op->cx, E_VALUE, "embedding_bag: mode %lld is none of 0 (sum), 1 (mean), 2 (max)", (long long)mode);
        return val_poison();
    }
    Value unread = { .tag = V_UNINIT }, out[] = { val_tensor(op->cx, bag_vectors(op, &b, mode)), unread, unread, unread };
    return val_ok(out[0]) ? val_tuple(op->cx, out, COUNT(out)) : out[0];
}

/* ---- one_hot ---- */

static Ox lower_one_hot(Op *op)
{
    Ox x = arg(op, "self");
    if (!ranks_known(op, &x, 1))
        return POISON;
    Ox depth;
    if (arg_is_number(op, "num_classes", -1)) {
        Ox most = ox_with(op, "ReduceMax", INPUTS(flatten_to_1d(op, x)), INT("keepdims", 0));
        Ox one = ox_int(op->g, 1);
        depth = ox(op, "Add", most, one);
    } else {
        depth = ox_dim_value(op->g, arg_dim_expr(op, "num_classes"));
    }
    bool scalar;
    Ox values = ints(op, 0, 1), index = at_least_1d(op, x, &scalar);
    Ox hot = ox_with(op, "OneHot", INPUTS(index, depth, values), INT("axis", ox_rank(index)));      /* not -1: ORT misreads it in opset 9 */
    return scalar_again(op, hot, scalar);
}

#define PACKED_TABLE "__torch__.torch.classes.quantized.EmbeddingPackedParamsBase"
#define QUANTIZED(line) REFUSE("the zero points of a quantised table are floats, which ONNX's DequantizeLinear does not take", "quantized::" line)
#define QUANTIZED_BAG(name) QUANTIZED(name "(" PACKED_TABLE " weight, Tensor indices, Tensor? offsets=None, bool scale_grad_by_freq=False, int mode=0, bool pruned_weights=False, " \
    "Tensor? per_sample_weights=None, Tensor? compressed_indices_mapping=None, bool include_last_offset=False) -> Tensor")
#define BAGS "int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False"

const OpRow ops_embedding[] = {
    LOWER(lower_embedding, NULL, PLAIN, "aten::embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor"),
    CALL(lower_embedding_bag, NULL, PLAIN, "aten::embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, " BAGS ") -> (Tensor, Tensor, Tensor, Tensor)"),
    OLDER("aten::embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)"),
    CALL(lower_embedding_bag, NULL, PLAIN, "aten::_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, " BAGS ", int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)"),
    CALL(lower_embedding_bag, NULL, PLAIN, "aten::_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, " BAGS ", int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)"),
    LOWER(lower_one_hot, NULL, PLAIN, "aten::one_hot(Tensor self, int num_classes=-1) -> Tensor"),
    QUANTIZED_BAG("embedding_bag_byte"), QUANTIZED_BAG("embedding_bag_4bit"),
    QUANTIZED("embedding_byte(" PACKED_TABLE " weight, Tensor indices, bool pruned_weights=False) -> Tensor"),
    QUANTIZED("embedding_4bit(" PACKED_TABLE " weight, Tensor indices, bool pruned_weights=False) -> Tensor"),
    QUANTIZED("embedding_bag_prepack(Tensor weight) -> " PACKED_TABLE),
    QUANTIZED("embedding_bag_unpack(" PACKED_TABLE " W_prepack) -> Tensor"),
    OPS_END
};
