/* quantized_blocks.c - tensors with a scale for each block, written with plain tensors: torchao::*
 * as torch.export writes a model that torchao.quantize_ has changed, and the groups of
 * quantized_decomposed::*.
 *
 * A block has a size on each axis. The tensor is reshaped so that each axis that holds several
 * blocks becomes two, [blocks, size]; scales and zero points are reshaped to 1 along the axes
 * within a block. [4, 6] in blocks of [1, 3] is [4, 2, 3], its scales [4, 2] are [4, 2, 1].
 * Integers of fewer than 8 bits are stored as int8 or uint8 here, so ONNX's operators do not serve:
 * everything is the formula, but for torchao's weights from opset 21 on, of which 4 bits are
 * packed. */
#include <math.h>

#include "ops/quantized/quantized.h"

typedef struct Blocks {
    Dim shape[MAX_RANK]; /* of the reshaped tensor */
    Dim each[MAX_RANK];  /* of the reshaped scales */
    int rank;
    Axes within; /* the axes along which a block lies */
} Blocks;

/* One more axis of the reshaped tensor, within a block or one of several blocks. False after an
 * error. */
static bool add_axis(Op *op, Blocks *b, Dim size, bool within)
{
    if (b->rank >= MAX_RANK)
        return fail(op->cx, E_LIMIT, "the blocks of a tensor have more than %d axes", MAX_RANK);
    if (within)
        b->within.at[b->within.n++] = b->rank;
    b->shape[b->rank] = size;
    b->each[b->rank++] = within ? dim_int(op->cx, 1) : size;
    return true;
}

/* Axis of `all` elements in blocks of `one`: a single axis where there is one block, or one element
 * a block; else two. False after an error or refusal. */
static bool add_blocks(Op *op, Blocks *b, Dim all, Dim one)
{
    Dim blocks;
    if (dim_is(one, 1) || dim_eq(op->cx, all, one) == YES)
        return add_axis(op, b, all, !dim_is(one, 1));
    if (!dim_divide(op->cx, all, one, &blocks)) {
        op_refuse(op, "blocks of %s along an axis of %s", dim_text(op->cx, one)->s,
                  dim_text(op->cx, all)->s);
        return false;
    }
    return add_axis(op, b, blocks, false) && add_axis(op, b, one, true);
}

/* The blocks of x, of this size on each axis. False after an error or refusal. */
static bool blocks_of(Op *op, Ox x, Dims size, Blocks *b)
{
    *b = (Blocks){ 0 };
    if (!ox_ok(x) || ctx_failed(op->cx))
        return false;
    if ((size_t)ox_rank(x) != size.n)
        return fail(op->cx, E_VALUE, "Got input dim:%d, block_size of %zu", ox_rank(x), size.n);
    for (int i = 0; i < ox_rank(x); i++)
        if (!add_blocks(op, b, ox_dim(x, i), size.at[i]))
            return false;
    return true;
}

/* Matrices [rows, columns] in groups of group_size columns; one group where there are fewer. */
static bool groups_of(Op *op, Ox x, Ox scales, Blocks *b)
{
    Dim group = arg_dim_expr(op, "group_size");
    int rank;
    if (!need_rank(op, scales, 2, &rank) || ctx_failed(op->cx))
        return false;
    if (ox_rank(x) != 2)
        return fail(op->cx, E_VALUE, "input must be 2-dimensional");
    if (dim_lt(op->cx, ox_dim(x, 1), group) == YES && rank > 0 &&
        dim_is(ox_dim(scales, rank - 1), 1))
        group = ox_dim(x, 1);
    Dim size[] = { dim_int(op->cx, 1), group };
    return blocks_of(op, x, (Dims){ .at = size, .n = 2 }, b);
}

static Ox back(Op *op, Ox v, Ox like)
{
    return ox_ok(v) ? reshape_to(op, v, like->type->dim, ox_rank(like)) : POISON;
}

/* A parameter of each block, in type t and of the reshaped tensor's rank. NULL where p is NULL or
 * has no elements. */
static Ox of_blocks(Op *op, Ox p, const Blocks *b, DType t)
{
    if (!p || !ox_ok(p))
        return p;
    int64_t none;
    if (ox_rank(p) == 1 && dim_known(ox_dim(p, 0), &none) && none == 0)
        return NULL;
    return reshape_to(op, ox_cast(op->g, p, t), b->each, b->rank);
}

static Ox scale_of_blocks(Op *op, Ox scales, const Blocks *b, DType t)
{
    Ox scale = of_blocks(op, scales, b, t);
    return scale ? scale : op_fail(op, E_VALUE, "there is no scale for %d axes", b->rank);
}

/* The steps of x as floats, cut off to least .. most; before: the zero point is added before the
 * rounding. */
static Ox to_blocks(Op *op, Ox x, Ox scales, Ox zeros, const Blocks *b, double least, double most,
                    bool before)
{
    DType t = ox_dtype(x);
    Ox scale = scale_of_blocks(op, scales, b, t);
    Ox zero = of_blocks(op, zeros, b, t);
    Ox seen = reshape_to(op, x, b->shape, b->rank);
    if (!ox_ok(seen) || !ox_ok(scale) || (zero && !ox_ok(zero)))
        return POISON;
    Ox v = ox(op, "Mul", seen, ox(op, "Reciprocal", scale));
    if (zero && before)
        v = ox(op, "Add", v, zero);
    v = ox(op, "Round", v);
    if (zero && !before)
        v = ox(op, "Add", v, zero);
    if (!ox_ok(v))
        return POISON;
    Ox low = number_like(op, least, v);
    Ox high = number_like(op, most, v);
    return back(op, ox(op, "Clip", v, low, high), x);
}

/* (v - zero) * scale, of v's shape, in type t. */
static Ox from_blocks(Op *op, Ox v, Ox scales, Ox zeros, const Blocks *b, DType t)
{
    Ox scale = scale_of_blocks(op, scales, b, t);
    Ox zero = of_blocks(op, zeros, b, t);
    Ox seen = reshape_to(op, ox_cast(op->g, v, t), b->shape, b->rank);
    if (zero)
        seen = ox(op, "Sub", seen, zero);
    return back(op, ox(op, "Mul", seen, scale), v);
}

/* The range of steps: quant_min and quant_max, for each that is None the bound of the 8-bit type t.
 * False after an error or refusal. */
static bool range_of(Op *op, DType t, double *least, double *most)
{
    bool low = arg_given(op, "quant_min");
    bool high = arg_given(op, "quant_max");
    if (!(low && high) && !eight_bits(t)) {
        op_refuse(op, "the range of %s, which quant_min and quant_max do not tell", dtype_name(t));
        return false;
    }
    *least = t == DT_INT8 ? INT8_MIN : 0;
    *most = t == DT_INT8 ? INT8_MAX : UINT8_MAX;
    if (low)
        *least = arg_float(op, "quant_min");
    if (high)
        *most = arg_float(op, "quant_max");
    return !ctx_failed(op->cx);
}

/* ---- torchao ---- */

static Ox lower_quantize_affine(Op *op)
{
    Ox x = arg(op, "input");
    Ox scale = arg(op, "scale");
    Ox zero = arg_opt(op, "zero_point");
    DType t = arg_dtype(op, "output_dtype", DT_NONE);
    Blocks b;
    double least, most;
    int rank;
    if (!need_rank(op, x, 2, &rank) || !blocks_of(op, x, arg_dims(op, "block_size"), &b) ||
        !range_of(op, t, &least, &most))
        return POISON;
    Ox v = to_blocks(op, x, scale, zero, &b, least, most, false);
    return ox_cast(op->g, v, t);
}

/* Do quant_min and quant_max say that there are no more than 4 bits? */
static bool four_bits_are_enough(Op *op, DType t)
{
    if (!arg_given(op, "quant_min") || !arg_given(op, "quant_max"))
        return false;
    double least = t == DT_INT8 ? -8 : 0;
    return arg_float(op, "quant_min") >= least && arg_float(op, "quant_max") <= least + 15;
}

/* DequantizeLinear of a weight [rows, columns] whose blocks lie along its rows, from opset 21 on:
 * codes of up to 4 bits are packed, others keep their bytes. NULL where that does not serve: the
 * formula does then. zero may be NULL. */
static Ox dequantized_in_blocks(Op *op, Ox v, Ox scale, Ox zero, Dims size, bool nibbles)
{
    int64_t block;
    if (op->g->target < 21 || v->kind != OX_CONST || !eight_bits(ox_dtype(v)) || ox_rank(v) != 2 ||
        ox_dtype(scale) != DT_FLOAT || ox_rank(scale) != 2 || size.n != 2 ||
        !dim_is(size.at[0], 1) || !dim_known(size.at[1], &block) || block < 2)
        return NULL;
    Ox point = zero && ox_rank(zero) == 2 ? ox_cast(op->g, zero, ox_dtype(v)) : NULL;
    if (zero && !point)
        return NULL;
    if (nibbles && (!point || point->kind == OX_CONST)) {
        v = ox_const(op->g, const_as_nibbles(op->cx, v->k));
        point = point ? ox_const(op->g, const_as_nibbles(op->cx, point->k)) : NULL;
    }
    return ox_make(op->g, "DequantizeLinear", INPUTS(v, scale, point),
                   ATTRS(INT("axis", 1), INT("block_size", block)));
}

Ox weight_in_blocks(Op *op, Ox codes, Ox scales, int64_t block)
{
    Dim at[] = { dim_int(op->cx, 1), dim_int(op->cx, block) };
    Dims size = { .at = at, .n = 2 };
    Blocks b;
    if (!ox_ok(scales) || !blocks_of(op, codes, size, &b))
        return POISON;
    Ox kept = dequantized_in_blocks(op, codes, scales, NULL, size, true);
    return kept ? kept : from_blocks(op, codes, scales, NULL, &b, DT_FLOAT);
}

static Ox lower_dequantize_affine(Op *op)
{
    Ox v = arg(op, "input");
    Ox scale = arg(op, "scale");
    Ox zero = arg_opt(op, "zero_point");
    DType to = arg_dtype(op, "output_dtype", DT_FLOAT);
    Blocks b;
    int rank;
    if (!need_rank(op, v, 2, &rank) || !ox_ok(scale) ||
        !blocks_of(op, v, arg_dims(op, "block_size"), &b))
        return POISON;
    bool nibbles = four_bits_are_enough(op, ox_dtype(v));
    Ox kept = dequantized_in_blocks(op, v, scale, zero, arg_dims(op, "block_size"), nibbles);
    if (kept)
        return ox_ok(kept) ? ox_cast(op->g, kept, to) : kept;
    Ox x = from_blocks(op, v, scale, zero, &b, promote_types(to, ox_dtype(scale)));
    return ox_cast(op->g, x, to);
}

/* The least and the largest number of each block, 0 among them. False after an error. */
static bool extremes(Op *op, Ox x, const Blocks *b, bool keep, Ox *low, Ox *high)
{
    Ox least = reduce(op, "ReduceMin", x, &b->within, keep);
    Ox most = reduce(op, "ReduceMax", x, &b->within, keep);
    Ox zero = number_like(op, 0, x);
    *low = ox(op, "Min", least, zero);
    *high = ox(op, "Max", most, zero);
    return ox_ok(*low) && ox_ok(*high);
}

/* What scales and zero points are chosen from: numbers from low to high, 0 among them, that become
 * steps from least to most. */
typedef struct Ranges {
    Ox low, high;
    double least, most;
    double eps; /* the smallest scale */
} Ranges;

/* The whole range of numbers becomes the whole range of steps. False after an error. */
static bool choose_asymmetric(Op *op, const Ranges *r, Ox out[2])
{
    Ox smallest = number_like(op, r->eps, r->low);
    Ox wide = ox(op, "Sub", r->high, r->low);
    Ox each = ox(op, "Div", wide, number_like(op, r->most - r->least, r->low));
    out[0] = ox(op, "Max", each, smallest);
    Ox from = number_like(op, r->least, r->low);
    Ox to = number_like(op, r->most, r->low);
    Ox steps = ox(op, "Round", ox(op, "Div", r->low, out[0]));
    out[1] = ox(op, "Clip", ox(op, "Sub", from, steps), from, to);
    return ox_ok(out[1]);
}

/* The zero point is the middle step. The scale is that of the larger of both ends, or of the end
 * that needs the larger one where nothing may be cut off. */
static bool choose_symmetric(Op *op, const Ranges *r, bool no_clipping, Ox out[2])
{
    Ox smallest = number_like(op, r->eps, r->low);
    Ox down = ox(op, "Neg", r->low);
    Ox scale;
    if (no_clipping) {
        Ox below = ox(op, "Div", down, number_like(op, -r->least, r->low));
        Ox above = ox(op, "Div", r->high, number_like(op, r->most, r->low));
        scale = ox(op, "Max", below, above);
    } else {
        Ox larger = ox(op, "Max", down, r->high);
        scale = ox(op, "Div", larger, number_like(op, (r->most - r->least) / 2, r->low));
    }
    if (!ox_ok(scale))
        return false;
    out[0] = ox(op, "Max", scale, smallest);
    Ox zero = number_like(op, trunc((r->most + r->least + 1) / 2), scale);
    out[1] = expand_dims(op, zero, scale->type->dim, ox_rank(scale));
    return ox_ok(out[1]);
}

/* -> out: scale and zero point, as torchao's mapping of this name chooses them. False after an
 * error or refusal. */
static bool choose(Op *op, Str mapping, const Ranges *r, Ox out[2])
{
    if (str_is(mapping, "ASYMMETRIC"))
        return choose_asymmetric(op, r, out);
    if (str_is(mapping, "SYMMETRIC"))
        return choose_symmetric(op, r, false, out);
    if (str_is(mapping, "SYMMETRIC_NO_CLIPPING_ERR"))
        return choose_symmetric(op, r, true, out);
    op_refuse(op, "the mapping %s", mapping ? mapping->s : "None");
    return false;
}

/* The shape of keepdim=True: how many blocks x has on each axis. False where that is not known. */
static bool counts_of_blocks(Op *op, Ox x, Dim *out)
{
    Dims block = arg_dims(op, "block_size");
    for (int i = 0; i < ox_rank(x); i++)
        if (!dim_divide(op->cx, ox_dim(x, i), block.at[i], &out[i]))
            return false;
    return true;
}

/* -> (scale, zero point) of each block of the input. */
static Value lower_choose_qparams_affine(Op *op)
{
    Ox x = arg(op, "input");
    Ox out[2];
    DType t = arg_dtype(op, "target_dtype", DT_NONE);
    bool keep = arg_bool(op, "keepdim");
    Ranges r = { .eps = 0x1p-126 }; /* the least normal float */
    Dim counts[MAX_RANK];
    Blocks b;
    int rank;
    if (!need_rank(op, x, 2, &rank) || !blocks_of(op, x, arg_dims(op, "block_size"), &b) ||
        !range_of(op, t, &r.least, &r.most))
        return val_poison();
    if (ox_dtype(x) != DT_FLOAT)
        return val_tensor(op->cx, op_refuse(op, "a scale of %s", dtype_name(ox_dtype(x))));
    if (arg_given(op, "eps"))
        r.eps = arg_float(op, "eps");
    if (b.within.n == 0) /* torchao takes one scale for all of them then */
        return val_tensor(op->cx, op_refuse(op, "blocks of a single element"));
    Ox seen = reshape_to(op, x, b.shape, b.rank);
    bool symmetric = !str_is(arg_str(op, "mapping_type"), "ASYMMETRIC");
    if (!ox_ok(seen) || !extremes(op, seen, &b, keep, &r.low, &r.high) ||
        !choose(op, arg_str(op, "mapping_type"), &r, out) ||
        (keep && !counts_of_blocks(op, x, counts)))
        return val_poison();
    if (keep)
        for (int i = 0; i < 2; i++)
            out[i] = reshape_to(op, out[i], counts, rank);
    out[0] = ox_cast(op->g, out[0], arg_dtype(op, "scale_dtype", ox_dtype(x)));
    out[1] = ox_cast(op->g, out[1],
                     arg_dtype(op, "zero_point_dtype", symmetric ? ox_dtype(x) : DT_INT32));
    return result_tuple(op, out, 2);
}

/* ---- quantized_decomposed::*_per_channel_group ---- */

static Ox lower_quantize_groups(Op *op)
{
    Ox x = arg(op, "input");
    Ox scales = arg(op, "scales");
    Ox zeros = arg(op, "zero_points");
    Blocks b;
    int rank;
    if (!need_rank(op, x, 2, &rank) || !groups_of(op, x, scales, &b))
        return POISON;
    double least = (double)arg_int(op, "quant_min");
    double most = (double)arg_int(op, "quant_max");
    Ox v = to_blocks(op, x, scales, zeros, &b, least, most, true);
    return ox_cast(op->g, v, arg_dtype(op, "dtype", DT_NONE));
}

static Ox lower_dequantize_groups(Op *op)
{
    Ox v = arg(op, "input");
    Ox scales = arg(op, "scales");
    Ox zeros = arg_opt(op, "zero_points");
    Blocks b;
    int rank;
    if (!need_rank(op, v, 2, &rank) || !groups_of(op, v, scales, &b))
        return POISON;
    Ox x = from_blocks(op, v, scales, zeros, &b, ox_dtype(scales));
    return ox_cast(op->g, x, arg_dtype(op, "output_dtype", DT_FLOAT));
}

#define AFFINE "torchao::"
#define GROUPS "quantized_decomposed::"

OP_ROWS(quantized_blocks)
{
    LOWER(lower_quantize_affine, NULL, PLAIN,
          AFFINE
          "quantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, "
          "ScalarType output_dtype, Scalar? quant_min=None, Scalar? quant_max=None) -> Tensor");
    LOWER(lower_dequantize_affine, NULL, PLAIN,
          AFFINE "dequantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? "
                 "zero_point, ScalarType input_dtype, Scalar? quant_min=None, Scalar? "
                 "quant_max=None, ScalarType output_dtype=6) -> Tensor");
    CALL(lower_choose_qparams_affine, NULL, PLAIN,
         AFFINE "choose_qparams_affine(Tensor input, str mapping_type, SymInt[] block_size, "
                "ScalarType target_dtype, Scalar? quant_min=None, Scalar? quant_max=None, float? "
                "eps=None, ScalarType? scale_dtype=None, ScalarType? zero_point_dtype=None, bool "
                "keepdim=False) -> (Tensor, Tensor)");
    LOWER(lower_quantize_groups, NULL, PLAIN,
          GROUPS "quantize_per_channel_group(Tensor input, Tensor scales, Tensor zero_points, int "
                 "quant_min, int quant_max, ScalarType dtype, int group_size) -> Tensor");
    LOWER(lower_dequantize_groups, NULL, PLAIN,
          GROUPS "dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, "
                 "int quant_min, int quant_max, ScalarType dtype, int group_size, ScalarType "
                 "output_dtype) -> Tensor");
}
