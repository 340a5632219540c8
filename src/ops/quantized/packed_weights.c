/* packed_weights.c - products with weights that torchao has laid out for one kernel:
 * aten::_weight_int4pack_mm, aten::_weight_int8pack_mm.
 *
 * The first is of CUDA's tensor cores. Of a weight [N, K] of numbers from 0 to 15 it has int32 in
 *
 *     [N / 8, K / (16 * inner), 32, inner / 2]        inner is 2, 4 or 8
 *
 * In [n, k, lane, j] lies row 8 * n + lane / 4: of 32 columns from 16 * (inner * k + 2 * j) on
 * those eight that lie 2 * (lane % 4) behind a multiple of 8, and one more, in the order of FROM.
 */
#include "ops/quantized/quantized.h"

enum { ROWS = 8, TILE = 16, LANES = 32, CODES = 8, MIDDLE = 8 };

/* Where the codes of an int32 come from, its lowest 4 bits first: columns behind the first. */
static const int FROM[CODES] = { 0, 8, 16, 24, 1, 9, 17, 25 };

typedef struct Layout {
    const Const *k;
    int64_t outer, inner; /* K / (16 * inner), inner / 2 */
    int64_t N, K;
} Layout;

/* The codes of word i, less 8, to where they lie in [N, K]. */
static void unpack_word(const Layout *l, int64_t i, uint32_t word, int8_t *out)
{
    int64_t j = i % l->inner;
    int64_t lane = i / l->inner % LANES;
    int64_t outer = i / l->inner / LANES % l->outer;
    int64_t row = i / l->inner / LANES / l->outer * ROWS + lane / 4;
    int64_t column = (outer * l->inner + j) * 2 * TILE + lane % 4 * 2;
    for (int c = 0; c < CODES; c++)
        out[row * l->K + column + FROM[c]] = (int8_t)((int)(word >> 4 * c & 15) - MIDDLE);
}

/* A RecipeFn */
static bool unpack(Ctx *cx, const void *arg, uint8_t *out, uint64_t size)
{
    const Layout *l = arg;
    uint32_t *room = (void *)room_take(cx, size / 2);
    bool ok = room || fail(cx, E_MEMORY, "out of memory");
    ok = ok && const_read(cx, l->k, room);
    uint64_t words = ok ? size / CODES : 0;
    for (uint64_t i = 0; i < words; i++)
        unpack_word(l, (int64_t)i, room[i], (int8_t *)out);
    if (room)
        room_give(cx, (uint8_t *)room, size / 2);
    return ok;
}

/* The codes of v as int8 [N, K], from -8 to 7. A refusal where v is no weight of that layout. */
static Ox unpacked(Op *op, Ox v)
{
    Layout *l = new(op->cx, Layout);
    Const *k = new(op->cx, Const);
    bool known = v->kind == OX_CONST && ox_dtype(v) == DT_INT32 && ox_rank(v) == 4 &&
        v->k->dims[2] == LANES && v->k->dims[3] > 0;
    if (!known)
        return op_refuse(op, "a weight that is not int32 [N / 8, K / (16 * inner), 32, inner / 2]");
    *l = (Layout){ .k = v->k, .outer = v->k->dims[1], .inner = v->k->dims[3] };
    int64_t words;
    bool fits = mul_ok(const_numel(v->k), CODES, &words) && mul_ok(v->k->dims[0], ROWS, &l->N) &&
        mul_ok(l->outer, l->inner, &l->K) && mul_ok(l->K, 2 * TILE, &l->K);
    if (!fits)
        return op_fail(op, E_LIMIT, "a weight is too large");
    int64_t dims[] = { l->N, l->K };
    uint64_t size = (uint64_t)words;
    *k = (Const){ .dtype = DT_INT8, .rank = 2, .dims = mem_copy(op->cx, dims, sizeof dims) };
    k->bytes = (Bytes){ source_recipe(op->cx, unpack, l, size), 0, size };
    k->derived = v->k->name ? v->k->name : v->k->derived;
    return ox_const(op->g, k);
}

/* Of [K / group, N, 2] its scales or, with `which` 1, its zero points; float32. */
static Ox parameter(Op *op, Ox both, int64_t which)
{
    Ox at = ox_integer(op->g, DT_INT64, which);
    Ox one = ox_with(op, "Gather", INPUTS(both, at), INT("axis", 2));
    return ox_cast(op->g, one, DT_FLOAT);
}

/* The sums of x's columns by groups, times the zero point of each. */
static Ox offset_of(Op *op, Ox x, Ox zeros, int64_t groups, int64_t group)
{
    Dim split[] = { ox_dim(x, 0), dim_int(op->cx, groups), dim_int(op->cx, group) };
    Axes last = { .at = { 2 }, .n = 1 };
    Ox sums = reduce(op, "ReduceSum", reshape_to(op, x, split, 3), &last, false);
    return ox(op, "MatMul", sums, zeros);
}

/* x W', W = code * scale + zero point for each group of columns. */
static Ox lower_int4pack_mm(Op *op)
{
    static const int turn[] = { 1, 0 };
    Ox x = arg(op, "self");
    int64_t group = arg_int(op, "qGroupSize");
    Ox both = arg(op, "qScaleAndZeros");
    int rank;
    if (!need_rank(op, x, 2, &rank) || !need_rank(op, both, 3, &rank))
        return POISON;
    Ox codes = unpacked(op, arg(op, "mat2"));
    if (!ox_ok(codes) || !ox_ok(both))
        return POISON;
    if (group < 1 || codes->k->dims[1] % group)
        return op_fail(op, E_VALUE, "groups of %lld columns do not divide %lld", (long long)group,
                       (long long)codes->k->dims[1]);
    DType t = ox_dtype(x);
    int64_t groups = codes->k->dims[1] / group;
    Ox scales = permute_to(op, parameter(op, both, 0), turn, 2);
    Ox wide = ox_cast(op->g, x, DT_FLOAT);
    Ox weight = weight_in_blocks(op, codes, scales, group);
    Ox product = ox(op, "MatMul", wide, permute_to(op, weight, turn, 2));
    Ox offset = offset_of(op, wide, parameter(op, both, 1), groups, group);
    return ox_cast(op->g, ox(op, "Add", product, offset), t);
}

#define FOR_A_CPU                                                                             \
    "its weight is laid out for the processor that packed it, which the file does not name; " \
    "torchao's IntxWeightOnlyConfig keeps weights of 4 bits in a form that is the same everywhere"

OP_ROWS(packed_weights)
{
    LOWER(lower_int4pack_mm, NULL, PLAIN,
          "aten::_weight_int4pack_mm(Tensor self, Tensor mat2, int qGroupSize, Tensor "
          "qScaleAndZeros) -> Tensor");
    REFUSE(FOR_A_CPU,
           "aten::_weight_int4pack_mm_for_cpu(Tensor self, Tensor mat2, int qGroupSize, Tensor "
           "qScaleAndZeros) -> Tensor");
    REFUSE(FOR_A_CPU,
           "aten::_dyn_quant_matmul_4bit(Tensor inp, Tensor packed_weights, SymInt block_size, "
           "SymInt in_features, SymInt out_features) -> Tensor");
}
