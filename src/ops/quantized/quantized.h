/* quantized.h - tensors stored as small integers, the steps: x = (step - zero_point) * scale, with
 * one scale or one for each index of an axis. */
#ifndef PT2ONNX_OPS_QUANTIZED_H
#define PT2ONNX_OPS_QUANTIZED_H

#include "ops/internal.h"

Ox quantize(Op *op, Ox x, const QuantInfo *q);
Ox dequantize(Op *op, Ox v, const QuantInfo *q);
/* One scale and zero point for a whole tensor whose steps are stored as t. */
QuantInfo *quant_of_numbers(Op *op, double scale, int64_t zero_point, DType t);

/* A tensor's numbers, quantised or not. */
Ox dequantized_arg(Op *op, Value v);
static inline bool eight_bits(DType t) { return t == DT_UINT8 || t == DT_INT8; }
/* Is this zero point (or NULL) one of floats, which need not be whole? PyTorch adds it before the
 * rounding; ONNX's operators take none. */
static inline bool is_float_zero(Ox zero_point)
{
    return zero_point && ox_ok(zero_point) && dtype_is_float(ox_dtype(zero_point));
}
/* A parameter [n] as it broadcasts along this axis of tensors of this rank: [1, n, 1]. p itself for
 * axis -1 or a 0-d p; NULL for NULL. */
Ox along_axis(Op *op, Ox p, int axis, int rank);
/* The numbers of 4 bits that bytes hold, as floats, the low half first: the last axis becomes twice
 * as long. */
Ox four_bits(Op *op, Ox bytes);
/* four_bits for numbers of 2 or 4 bits. */
Ox taken_apart(Op *op, Ox bytes, int bits);

/* The weight [N, K] of int8 codes of 4 bits, a constant, with the scales [N, K / block] of blocks
 * along its rows (quantized_blocks.c). */
Ox weight_in_blocks(Op *op, Ox codes, Ox scales, int64_t block);

/* x quantised and dequantised, with one scale (axis -1) or one for each index of an axis;
 * zero_point is int32. *within, unless within is NULL: where x was in range (fake_quantized.c). */
Ox fake_quantize(Op *op, Ox x, Ox scale, Ox zero_point, int axis, int64_t least, int64_t most,
                 Ox *within);

/* y quantised with the scale and zero point that these parameters give, in like's stored type. */
Value requantized(Op *op, Ox y, Value like, const char *scale, const char *zero_point);

/* ---- packed parameters (quantized_layers.c) ---- */

/* What an object of the archive saved, or what a prepack operator made in its place: the same
 * tuple. V_NONE when the value is neither. */
Value packed_state(Op *op, const char *name);
Value packed_value_state(Value v);
Value packed_item(Value v, int64_t i); /* of a tuple or list; V_NONE behind its end */
/* Packed weights as floats: quantised ones, or those of float16 layers, which are kept in
 * float32. */
Ox float_weight(Op *op, Value v);
/* The input of a layer that computes on floats, though its weights may be quantised. */
Ox plain_arg(Op *op, const char *name);
/* x W' + b, of the state of a packed linear layer. */
Ox packed_linear(Op *op, Ox x, Value state);

/* ---- layers that quantise their input while the model runs (quantized_dynamic.c) ---- */

/* -> *q: the scale that x's own least and largest number give for 8 bits, or for 7 when `reduced`.
 * Returns x's steps. */
Ox own_scale(Op *op, Ox x, bool reduced, QuantInfo *q);
/* x quantised and dequantised with that scale. */
Ox through_own_scale(Op *op, Ox x, bool reduced);
/* int8 steps *v, and how they stand for numbers, as uint8: 128 more each. ONNX Runtime's kernels
 * for processors with AVX2, but without VNNI, add pairs of products of uint8 and int8 in 16 bits,
 * where 255 * 127 twice does not fit. Those of uint8 and uint8 do not. */
QuantInfo *as_unsigned(Op *op, Ox *v, const QuantInfo *q);

/* The right side of a product of integers: a weight [in, out], transposed. */
typedef struct IntWeight {
    Ox columns, zero_point, scale;
    Ox bias;      /* or NULL */
    bool reduced; /* the left side has 7 bits: int8 weights do not overflow */
} IntWeight;
/* The weight and bias of a packed linear layer. False, without an error, if they are not integers
 * of 8 bits: the layer computes on floats then. */
bool int_weight(Op *op, Value state, bool reduced, IntWeight *w);
/* x W + b of x rounded by its own scale. */
Ox int_product(Op *op, Ox x, const IntWeight *w);
/* The same of a packed linear layer's state, whatever its weight is. */
Ox dynamic_linear(Op *op, Ox x, Value state, bool reduced);
#endif
