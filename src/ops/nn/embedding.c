/* embedding.c - tables of vectors: embedding and embedding_bag, both of quantised tables too (of 8,
 * 4 and 2 bits); one_hot. */
#include "ops/quantized/quantized.h"
#include "value/autograd.h"

#include <math.h>

/* scale_grad_by_freq divides the gradient of a row by how often its index is there, which nothing
 * here computes. False after a refusal. */
static bool has_plain_gradient(Op *op, Ox weight)
{
    if (!autograd_requires(op->cx, weight) || !arg_bool(op, "scale_grad_by_freq"))
        return true;
    op_refuse(op, "scale_grad_by_freq=True of a table that requires a gradient");
    return false;
}

/* The rows of padding_idx give no gradient to the table: they are those of a value that is cut off
 * from it. A negative padding_idx is none; F.embedding has counted from the end already. */
static Ox without_padding_gradient(Op *op, Ox rows, Ox indices)
{
    Dim padding = arg_dim_expr(op, "padding_idx");
    if (!ox_ok(rows) || dim_le(op->cx, dim_int(op->cx, 0), padding) == NO)
        return rows;
    Ox cut = autograd_detached(op->g, rows);
    Ox index = ox_cast(op->g, ox_dim_value(op->g, padding), ox_dtype(indices));
    Ox same = ox(op, "Equal", indices, index);
    Ox is_padding = ox(op, "Unsqueeze", same, ints(op, -1));
    return ox(op, "Where", is_padding, cut, rows);
}

static Ox lower_embedding(Op *op)
{
    Ox weight = arg(op, "weight");
    Ox indices = arg_typed(op, "indices", DT_INT64);
    int rank;
    if (!need_rank(op, weight, 2, &rank))
        return POISON;
    if (rank != 2)
        return op_fail(op, E_VALUE, "'weight' must be 2-D");
    if (!has_plain_gradient(op, weight))
        return POISON;
    Ox rows = ox_with(op, "Gather", INPUTS(weight, indices), INT("axis", 0));
    return autograd_requires(op->cx, weight) ? without_padding_gradient(op, rows, indices) : rows;
}

/* ---- bags: the vectors of a bag give their sum, mean or maximum; an empty one gives zeros ---- */

enum { BAG_SUM, BAG_MEAN, BAG_MAX };

typedef struct Bags {
    Ox indices; /* [indices], int64 */
    Ox which;   /* [indices, 1]: the bag of each */
    Dim n;      /* how many bags there are */
    Ox kept;    /* bools [indices]: false for an index that is left out; NULL: all are kept */
} Bags;

/* The index that counts as no vector, as a 0-d int64; NULL where there is none. A negative one
 * counts from the end of the `vocabulary` vectors, in the overload that has it as Python does. */
static Ox padding_index(Op *op, Dim vocabulary)
{
    if (!has_param(op, "padding_idx") || !arg_given(op, "padding_idx"))
        return NULL;
    int64_t padding = arg_int(op, "padding_idx");
    if (padding >= 0)
        return ox_int(op->g, padding);
    if (!str_is(op->call->schema->overload, "padding_idx"))
        return NULL;
    return ox_dim_value(op->g, dim_add(op->cx, vocabulary, dim_int(op->cx, padding)));
}

/* The bag of each place, [indices, 1]: how many bags begin at it or before, less 1. */
static Ox bag_of_each(Op *op, Ox begins, Ox places)
{
    Axes last = { .at = { 1 }, .n = 1 };
    Ox one = ox_int(op->g, 1);
    Ox column = unsqueeze_axis(op, places, 1);
    Ox begun = ox(op, "LessOrEqual", begins, column);
    Ox count = reduce(op, "ReduceSum", ox_cast(op->g, begun, DT_INT64), &last, true);
    return ox(op, "Sub", count, one);
}

/* Reads indices and offsets: [2, 5, 1] and [0, 2] are the bags {2, 5} and {1}. False after an
 * error. */
static bool bags_of(Op *op, Dim vocabulary, Bags *b)
{
    int rank;
    Ox indices = arg_typed(op, "indices", DT_INT64);
    Ox offsets = arg_typed(op, "offsets", DT_INT64);
    if (!need_rank(op, indices, 1, &rank) || !need_rank(op, offsets, 1, &rank))
        return false;
    if (ox_rank(indices) != 1 || rank != 1)
        return fail(op->cx, E_VALUE, "embedding_bag: input and offsets have to be 1D Tensors");
    b->indices = ox_cast(op->g, indices, DT_INT64);
    offsets = ox_cast(op->g, offsets, DT_INT64);
    Dim one = dim_int(op->cx, 1);
    bool has_end = arg_bool(op, "include_last_offset");
    b->n = ox_dim(offsets, 0);
    if (has_end && dim_lt(op->cx, b->n, one) == YES)
        return fail(op->cx, E_VALUE, "include_last_offset: number of offset should be at least 1");
    if (has_end)
        b->n = dim_sub(op->cx, b->n, one);
    Ox begins = slice_axis(op, offsets, 0, dim_int(op->cx, 0), b->n, 1);
    Ox from = ox_int(op->g, 0);
    Ox to = ox_dim_value(op->g, ox_dim(indices, 0));
    Ox by = ox_int(op->g, 1);
    Ox place = ox(op, "Range", from, to, by);
    b->which = bag_of_each(op, begins, place);
    Ox pad = padding_index(op, vocabulary);
    if (pad) {
        Ox same = ox(op, "Equal", b->indices, pad);
        b->kept = ox(op, "Not", same);
    }
    if (has_end) { /* indices behind the last offset are in no bag */
        Ox end = slice_axis(op, offsets, 0, b->n, dim_add(op->cx, b->n, one), 1);
        Ox inside = ox(op, "Less", place, end);
        b->kept = b->kept ? ox(op, "And", b->kept, inside) : inside;
    }
    return ox_ok(b->which) && !ctx_failed(op->cx);
}

/* A tensor [bags, ..] of `start`, a number, to which each row of `what`, [indices, ..], is added
 * (or another `reduction` of ScatterND) in its bag's row. */
static Ox into_bags(Op *op, const Bags *b, Ox start, Ox what, const char *reduction)
{
    Dim dims[MAX_RANK];
    if (!ox_ok(what))
        return POISON;
    ox_sizes(what, dims);
    dims[0] = b->n;
    Ox all = expand_dims(op, start, dims, ox_rank(what));
    return ox_with(op, "ScatterND", INPUTS(all, b->which, what),
                   STRING("reduction", str_of(op->cx, reduction)));
}

/* How many vectors are in each bag: [bags, 1], of the vectors' type. */
static Ox bag_sizes(Op *op, const Bags *b, Ox rows)
{
    Ox one = number_like(op, 1, rows);
    Ox zero = number_like(op, 0, rows);
    Ox ones = b->kept ? ox_cast(op->g, b->kept, ox_dtype(rows))
                      : expand_dims(op, one, b->indices->type->dim, 1);
    return unsqueeze_axis(op, into_bags(op, b, zero, ones, "add"), 1);
}

/* The vector of each bag; rows: the vector of each index. */
static Ox bag_vectors(Op *op, const Bags *b, Ox rows, int64_t mode)
{
    if (!ox_ok(rows))
        return POISON;
    Ox zero = number_like(op, 0, rows);
    Ox factor = arg_opt(op, "per_sample_weights");
    Ox absent = mode == BAG_MAX ? outdone(op, rows, true) : zero;
    if (factor && mode != BAG_SUM)
        return op_fail(op, E_VALUE,
                       "embedding_bag: per_sample_weights only supported with mode='sum'");
    if (factor)
        rows = ox(op, "Mul", rows, unsqueeze_axis(op, factor, 1));
    if (b->kept)
        rows = ox(op, "Where", unsqueeze_axis(op, b->kept, 1), rows, absent);
    Ox out = into_bags(op, b, absent, rows, mode == BAG_MAX ? "max" : "add");
    if (mode == BAG_SUM)
        return out;
    Ox size = bag_sizes(op, b, rows);
    Ox one = number_like(op, 1, size);
    Ox least = ox(op, "Max", size, one);
    Ox empty = ox(op, "Equal", size, zero);
    return mode == BAG_MEAN ? ox(op, "Div", out, least) : ox(op, "Where", empty, zero, out);
}

/* Only PyTorch's backward pass uses the results beside the vectors: reading one is an error here.
 */
static Value lower_embedding_bag(Op *op)
{
    Bags b = { 0 };
    int64_t mode = arg_int(op, "mode");
    Ox weight = arg(op, "weight");
    if (ox_ok(weight) && ox_rank(weight) >= 0 && ox_rank(weight) != 2) {
        fail(op->cx, E_VALUE, "weight has to be a 2D Tensor, but got Tensor of dimension %d",
             ox_rank(weight));
        return val_poison();
    }
    if (!ox_ok(weight) || !has_plain_gradient(op, weight) || !bags_of(op, ox_dim(weight, 0), &b))
        return val_poison();
    if (mode < BAG_SUM || mode > BAG_MAX) {
        fail(op->cx, E_VALUE, "embedding_bag: mode %lld is none of 0 (sum), 1 (mean), 2 (max)",
             (long long)mode);
        return val_poison();
    }
    Ox rows = ox_with(op, "Gather", INPUTS(weight, b.indices), INT("axis", 0));
    Value unread = val_never(
        op->cx,
        str_of(op->cx, "the bags that embedding_bag counted are there for a backward pass only"));
    Value out[] = { val_tensor(op->cx, bag_vectors(op, &b, rows, mode)), unread, unread, unread };
    return val_ok(out[0]) ? val_tuple(op->cx, out, COUNT(out)) : out[0];
}

/* ---- tables of 8, 4 and 2 bits ----
 *
 * PyTorch's object for a packed table is saved as (1, [weight], [], [bits]). The table stays as
 * small as it is: indices pick integers, and the scale and bias (-zero_point * scale) of their
 * rows. PyTorch's kernel for 4 bits has both in float16. */

typedef struct Table {
    Ox steps;       /* [rows, dim]; of 4 bits, bytes of two steps each */
    Ox scale, bias; /* [rows, 1] */
    bool halves;    /* 4 bits */
    Ox bytes;       /* instead of all that: a row's steps, scale and bias, see rows_of_bytes */
} Table;

static bool is_table(Value v)
{
    return v.tag == V_TENSOR && v.t->kind == QUANT && v.t->quant && v.t->quant->axis == 0;
}

static Value lower_table_prepack(Op *op)
{
    Value weight = arg_value(op, "weight");
    if (!is_table(weight))
        return val_tensor(op->cx,
                          op_fail(op, E_VALUE, "it expects a table with a scale for each row"));
    const Value state[] = { val_int(1), val_tuple(op->cx, &weight, 1) };
    return val_tuple(op->cx, state, COUNT(state));
}

static Value saved_table(Op *op, const char *name)
{
    Value v = packed_item(packed_item(packed_state(op, name), 1), 0);
    if (is_table(v))
        return v;
    return val_tensor(op->cx, op_refuse(op, "packed parameters of a form that is not known"));
}

static Value lower_table_unpack(Op *op) { return saved_table(op, "W_prepack"); }

static Ox through_half(Op *op, Ox x)
{
    return ox_cast(op->g, ox_cast(op->g, x, DT_FLOAT16), DT_FLOAT);
}

/* The float that the top bits of a number say: (leading + its fraction bits) * unit, where i is its
 * exponent e and, with `exponents` added, its sign. e = 0 has no leading 1; the largest e is
 * infinity. */
static void float_of_top_bits(int i, int exponents, int fraction, float *unit, float *leading)
{
    int e = i % exponents;
    int power = (e ? e : 1) - (exponents / 2 - 1) - fraction;
    float size = e == exponents - 1 ? INFINITY : ldexpf(1, power);
    *unit = i < exponents ? size : -size;
    *leading = e ? (float)(1 << fraction) : 0;
}

/* Floats from their bytes, [.., size] -> [.., 1]: 2 bytes of a float16, 4 of a float32. ONNX has no
 * operator for it before BitCast of opset 26: the top bits pick from two tables. */
static Ox floats_of_bytes(Op *op, Ox bytes, int size)
{
    static const int64_t weigh[] = { 1, 1 << 8, 1 << 16, 1 << 24 };
    int fraction = size == 2 ? 10 : 23;
    int exponents = size == 2 ? 1 << 5 : 1 << 8;
    float unit[512], leading[512];
    for (int i = 0; i < 2 * exponents; i++)
        float_of_top_bits(i, exponents, fraction, &unit[i], &leading[i]);
    const int64_t count = 2 * exponents;
    Ox units = ox_const(op->g, const_make(op->cx, DT_FLOAT, 1, &count, unit));
    Ox ones = ox_const(op->g, const_make(op->cx, DT_FLOAT, 1, &count, leading));
    Ox weights = ox_ints(op->g, weigh, (size_t)size);
    Ox all = ox_int(op->g, 1 << fraction);
    if (!ox_ok(bytes) || !ox_ok(units) || !ox_ok(ones))
        return POISON;
    Axes last = { .at = { ox_rank(bytes) - 1 }, .n = 1 };
    Ox shifted = ox(op, "Mul", ox_cast(op->g, bytes, DT_INT64), weights);
    Ox word = reduce(op, "ReduceSum", shifted, &last, true);
    Ox low = ox(op, "Mod", word, all);
    Ox high = ox(op, "Div", word, all);
    Ox unit_of = ox(op, "Gather", units, high);
    Ox leads = ox(op, "Gather", ones, high);
    if (!ox_ok(low) || !ox_ok(leads))
        return POISON;
    Ox rest = ox_cast(op->g, low, DT_FLOAT);
    Ox x = ox(op, "Mul", ox(op, "Add", leads, rest), unit_of);
    Ox infinite = ox(op, "IsInf", x);
    Ox some = ox(op, "Greater", rest, number_like(op, 0, rest));
    Ox no_number = ox(op, "And", infinite, some);
    return ox(op, "Where", no_number, number_like(op, NAN, x), x);
}

/* The floats of rows of bytes. A row holds numbers of 8, 4 or 2 bits, and behind them its scale and
 * bias: float32 for 8 bits, else float16. */
static Ox rows_of_bytes(Op *op, Ox rows, int bits)
{
    int size = bits == 8 ? 4 : 2;
    int rank;
    if (!need_rank(op, rows, 2, &rank))
        return POISON;
    if (rank < 2 || ox_dtype(rows) != DT_UINT8)
        return op_fail(op, E_VALUE, "it expects rows of bytes");
    Dim end = ox_dim(rows, rank - 1);
    Dim bias_at = dim_sub(op->cx, end, dim_int(op->cx, size));
    Dim scale_at = dim_sub(op->cx, bias_at, dim_int(op->cx, size));
    if (dim_le(op->cx, dim_int(op->cx, 0), scale_at) == NO)
        return op_fail(op, E_VALUE, "rows that are too short for their scale");
    Ox numbers = slice_axis(op, rows, rank - 1, dim_int(op->cx, 0), scale_at, 1);
    Ox scale = floats_of_bytes(op, slice_axis(op, rows, rank - 1, scale_at, bias_at, 1), size);
    Ox bias = floats_of_bytes(op, slice_axis(op, rows, rank - 1, bias_at, end, 1), size);
    if (!ox_ok(numbers) || !ox_ok(scale) || !ox_ok(bias))
        return POISON;
    Ox x = bits == 8 ? ox_cast(op->g, numbers, DT_FLOAT) : taken_apart(op, numbers, bits);
    return ox(op, "Add", ox(op, "Mul", x, scale), bias);
}

static Ox lower_table_of_bytes(Op *op)
{
    return rows_of_bytes(op, arg(op, "weight"), (int)op->row->datum);
}

/* Reads argument `weight`, a packed table or rows of bytes; row->datum: bits. False after an error
 * or refusal. */
static bool table_of(Op *op, Table *t)
{
    if (arg_value(op, "weight").tag == V_TENSOR) {
        t->bytes = arg(op, "weight");
        return ox_ok(t->bytes);
    }
    t->bytes = NULL;
    Value w = saved_table(op, "weight");
    if (!val_ok(w))
        return false;
    const QuantInfo *q = w.t->quant;
    t->halves = q->dtype == DT_UINT4;
    if (t->halves != (op->row->datum == 4))
        return fail(op->cx, E_VALUE, "the table has %s bits", t->halves ? "4" : "8");
    if (t->halves && !q->bytes) {
        op_refuse(op, "a table of 4 bits with an odd number of columns");
        return false;
    }
    t->steps = t->halves ? q->bytes : tensor_read(op->g, w.t);
    t->scale = unsqueeze_axis(op, q->scale, 1);
    Ox zero = unsqueeze_axis(op, ox_cast(op->g, q->zero_point, DT_FLOAT), 1);
    Ox down = ox(op, "Neg", zero);
    t->bias = ox(op, "Mul", down, t->scale);
    if (t->halves) {
        t->scale = through_half(op, t->scale);
        t->bias = through_half(op, t->bias);
    }
    return ox_ok(t->bias);
}

/* The vectors of these indices. */
static Ox table_rows(Op *op, const Table *t, Ox indices)
{
    if (t->bytes) {
        Ox rows = ox_with(op, "Gather", INPUTS(t->bytes, indices), INT("axis", 0));
        return rows_of_bytes(op, rows, (int)op->row->datum);
    }
    Ox steps = ox_with(op, "Gather", INPUTS(t->steps, indices), INT("axis", 0));
    Ox scale = ox_with(op, "Gather", INPUTS(t->scale, indices), INT("axis", 0));
    Ox bias = ox_with(op, "Gather", INPUTS(t->bias, indices), INT("axis", 0));
    if (!ox_ok(steps) || !ox_ok(bias))
        return POISON;
    Ox x = t->halves ? four_bits(op, steps) : ox_cast(op->g, steps, DT_FLOAT);
    return ox(op, "Add", ox(op, "Mul", x, scale), bias);
}

static Ox lower_quantized_embedding(Op *op)
{
    Table t;
    Ox indices = arg_typed(op, "indices", DT_INT64);
    int rank;
    if (!need_rank(op, indices, 1, &rank) || !table_of(op, &t))
        return POISON;
    return table_rows(op, &t, indices);
}

/* Where rows of a table were pruned, compressed_indices_mapping says for each index where its row
 * lies now, or -1. *indices become places in the table; *kept: which of them have a row, NULL: all.
 * A mapping that is a single 0 stands for none. False after an error or refusal. */
static bool unpruned(Op *op, Ox *indices, Ox *kept)
{
    double only;
    *kept = NULL;
    if (!arg_bool(op, "pruned_weights"))
        return true;
    Ox mapping = arg_opt(op, "compressed_indices_mapping");
    if (!mapping)
        return fail(op->cx, E_VALUE,
                    "a table of which rows were pruned needs compressed_indices_mapping");
    if (!ox_ok(mapping) || ox_rank(mapping) != 1 ||
        dim_le(op->cx, ox_dim(mapping, 0), dim_int(op->cx, 1)) == UNKNOWN) {
        op_refuse(op,
                  "a mapping of which it is not known whether it is a single 0: that "
                  "stands for none");
        return false;
    }
    if (ox_known_scalar(op->g, mapping, &only) && only == 0)
        return true;
    Ox least = ox_int(op->g, 0);
    Ox places = ox_cast(op->g, mapping, DT_INT64);
    Ox row = ox_with(op, "Gather", INPUTS(places, *indices), INT("axis", 0));
    *kept = ox(op, "GreaterOrEqual", row, least);
    *indices = ox(op, "Max", row, least);
    return ox_ok(*indices);
}

/* The sum of each bag where each row of the indices is one. kept: see unpruned. */
static Ox bags_of_one_size(Op *op, const Table *t, Ox indices, Ox kept)
{
    if (arg_given(op, "offsets"))
        return op_fail(op, E_VALUE,
                       "input is 2D, then offsets has to be None, as input is treated is a "
                       "mini-batch of fixed length sequences.");
    if (arg_bool(op, "include_last_offset"))
        return op_refuse(
            op, "bags of one size with include_last_offset, of which PyTorch drops the last");
    Axes second = { .at = { 1 }, .n = 1 };
    Ox rows = table_rows(op, t, indices);
    Ox factor = arg_opt(op, "per_sample_weights");
    if (factor) {
        Ox each = reshape_to(op, factor, indices->type->dim, 2);
        rows = ox(op, "Mul", rows, unsqueeze_axis(op, each, 2));
    }
    if (kept)
        rows = ox(op, "Where", unsqueeze_axis(op, kept, 2), rows, number_like(op, 0, rows));
    return reduce(op, "ReduceSum", rows, &second, false);
}

/* The sum of each bag, whatever the mode: PyTorch's kernels ignore it. */
static Ox lower_quantized_bag(Op *op)
{
    Table t;
    Bags b = { 0 };
    int rank;
    Ox indices = arg_typed(op, "indices", DT_INT64);
    Ox kept;
    if (!need_rank(op, indices, 1, &rank) || !table_of(op, &t) || !unpruned(op, &indices, &kept))
        return POISON;
    if (rank == 2)
        return bags_of_one_size(op, &t, indices, kept);
    if (!arg_given(op, "offsets"))
        return op_fail(op, E_VALUE, "it expects offsets to be set for 1D indices.");
    if (!bags_of(op, NULL, &b))
        return POISON;
    if (kept)
        b.kept = b.kept ? ox(op, "And", b.kept, kept) : kept;
    return bag_vectors(op, &b, table_rows(op, &t, indices), BAG_SUM);
}

/* ---- one_hot ---- */

/* num_classes=-1: one more than the largest index. */
static Ox lower_one_hot(Op *op)
{
    Ox x = arg_typed(op, "self", DT_INT64);
    if (!ranks_known(op, &x, 1))
        return POISON;
    if (ox_dtype(x) != DT_INT64)
        return op_fail(op, E_VALUE,
                       "one_hot is only applicable to index tensor of type LongTensor.");
    Ox depth;
    if (arg_is_number(op, "num_classes", -1)) {
        Ox most = ox_with(op, "ReduceMax", INPUTS(flatten_to_1d(op, x)), INT("keepdims", 0));
        Ox one = ox_int(op->g, 1);
        depth = ox(op, "Add", most, one);
    } else {
        Dim classes = arg_dim_expr(op, "num_classes");
        int64_t n;
        if (dim_known(classes, &n) && n < 1)
            return op_fail(op, E_VALUE, "Class values must be smaller than num_classes.");
        depth = ox_dim_value(op->g, classes);
    }
    bool scalar;
    Ox values = ints(op, 0, 1);
    Ox index = at_least_1d(op, x, &scalar);
    Attr axis = INT("axis", ox_rank(index)); /* not -1: ONNX Runtime misreads it in opset 9 */
    Ox hot = ox_with(op, "OneHot", INPUTS(index, depth, values), axis);
    return scalar_again(op, hot, scalar);
}

#define PACKED_TABLE "__torch__.torch.classes.quantized.EmbeddingPackedParamsBase"
#define TABLE(bits, name)                                        \
    FAMILY(lower_quantized_embedding, bits, NULL, PLAIN | QUANT, \
           "quantized::" name "(" PACKED_TABLE                   \
           " weight, Tensor indices, bool pruned_weights=False) -> Tensor")
#define BAG_ARGS                                                                             \
    "Tensor indices, Tensor? offsets=None, bool scale_grad_by_freq=False, int mode=0, bool " \
    "pruned_weights=False, "                                                                 \
    "Tensor? per_sample_weights=None, Tensor? compressed_indices_mapping=None, bool "        \
    "include_last_offset=False) -> Tensor"
#define TABLE_BAG(bits, name)                              \
    FAMILY(lower_quantized_bag, bits, NULL, PLAIN | QUANT, \
           "quantized::" name "(" PACKED_TABLE " weight, " BAG_ARGS)
/* A tensor of bytes is the table: what was packed before the model was saved. */
#define IN_BYTES(name, more)                                                             \
    REFUSE("it takes floats apart into bytes: pack the table before the model is saved", \
           "quantized::embedding_bag_" name more ") -> Tensor")
#define IN_BYTES_OF(bits, name, more)                                                     \
    FAMILY(lower_quantized_bag, bits, NULL, PLAIN,                                        \
           "quantized::embedding_bag_" name "_rowwise_offsets(Tensor weight, " BAG_ARGS); \
    FAMILY(lower_table_of_bytes, bits, NULL, PLAIN,                                       \
           "quantized::embedding_bag_" name "_unpack(Tensor weight) -> Tensor");          \
    IN_BYTES(name "_prepack", "(Tensor weight" more);                                     \
    IN_BYTES(name "_prepack_with_rowwise_min_max", "(Tensor weight, Tensor rowwise_min_max" more)
#define NARROW ", bool optimized_qparams=False, int nbins=200, float ratio=0.16"
#define BAGS                                                                \
    "int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool " \
    "include_last_offset=False"

OP_ROWS(embedding)
{
    LOWER(lower_embedding, NULL, PLAIN,
          "aten::embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool "
          "scale_grad_by_freq=False, bool sparse=False) -> Tensor",
          .layout = LAYOUT_CONTIGUOUS);
    CALL(lower_embedding_bag, NULL, PLAIN,
         "aten::embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool "
         "scale_grad_by_freq=False, " BAGS ") -> (Tensor, Tensor, Tensor, Tensor)");
    OLDER("aten::embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool "
          "scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool "
          "include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)");
    CALL(lower_embedding_bag, NULL, PLAIN,
         "aten::_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool "
         "scale_grad_by_freq=False, " BAGS
         ", int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)");
    CALL(lower_embedding_bag, NULL, PLAIN,
         "aten::_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool "
         "scale_grad_by_freq=False, " BAGS
         ", int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)");
    LOWER(lower_one_hot, NULL, PLAIN, "aten::one_hot(Tensor self, int num_classes=-1) -> Tensor");
    TABLE_BAG(8, "embedding_bag_byte");
    TABLE_BAG(4, "embedding_bag_4bit");
    TABLE(8, "embedding_byte");
    TABLE(4, "embedding_4bit");
    CALL(lower_table_prepack, NULL, PLAIN | QUANT,
         "quantized::embedding_bag_prepack(Tensor weight) -> " PACKED_TABLE);
    CALL(lower_table_unpack, NULL, PLAIN | QUANT,
         "quantized::embedding_bag_unpack(" PACKED_TABLE " W_prepack) -> Tensor");
    IN_BYTES_OF(8, "byte", "");
    IN_BYTES_OF(4, "4bit", NARROW);
    IN_BYTES_OF(2, "2bit", NARROW);
}
