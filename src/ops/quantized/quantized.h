/* quantized.h - numbers kept as small integers: x = (q - zero_point) * scale, one scale or one for
 * each index of an axis. */
#ifndef PT2ONNX_OPS_QUANTIZED_H
#define PT2ONNX_OPS_QUANTIZED_H

#include "ops/internal.h"

Ox quantize(Op *op, Ox x, const QuantInfo *q);
Ox dequantize(Op *op, Ox v, const QuantInfo *q);
/* One scale and zero point for a whole tensor. NULL after an error. */
QuantInfo *quant_of_numbers(Op *op, double scale, int64_t zero_point, DType t);

Value quantized_tensor(Op *op, Ox x,
                       const QuantInfo *q); /* x quantised, as a tensor of kind QUANT */
Value tensor_of_steps(Op *op, Ox v, const QuantInfo *q); /* the same of its integers */
Ox dequantized_arg(Op *op, Value v);                     /* a tensor's numbers, quantised or not */
static inline bool eight_bits(DType t) { return t == DT_UINT8 || t == DT_INT8; }
/* A parameter along an axis, against tensors of this rank; x itself where it has one element, NULL
 * when there is none. */
Ox along_axis(Op *op, Ox p, int axis, int rank);
/* What bytes that hold two numbers of 4 bits each say, as floats; the last axis becomes twice as
 * long. */
Ox four_bits(Op *op, Ox bytes);
/* The same of numbers of 2 or 4 bits, the lowest first. */
Ox taken_apart(Op *op, Ox bytes, int bits);

/* x as it comes back from the steps of a scale for all of it (axis -1) or for each index of an
 * axis; zero_point is int32. *within, unless NULL: what was not cut off (fake_quantized.c). */
Ox fake_quantize(Op *op, Ox x, Ox scale, Ox zero_point, int axis, int64_t least, int64_t most,
                 Ox *within);

/* Another operator on these, as one tensor. */
Ox called(Op *op, const char *name, const Value *args, size_t n);
/* y with the scale and zero point of these arguments, stored as `like` is. */
Value requantized(Op *op, Ox y, Value like, const char *scale, const char *zero_point);

/* ---- packed parameters (quantized_layers.c) ---- */

/* Of an object of the archive what it saved; what the prepack operators make is the same. V_NONE
 * when it is neither. */
Value packed_state(Op *op, const char *name);
Value packed_value_state(Value v);
Value packed_item(Value v, int64_t i); /* of a tuple or list; V_NONE behind its end */
/* As floats: quantised weights, or those that stay float16 numbers in float32. */
Ox float_weight(Op *op, Value v);
/* x W' + b, of the state of a packed linear layer. */
Ox packed_linear(Op *op, Ox x, Value state);
/* x as it comes back from 8 bits whose scale its own least and largest number give; reduced:
 * from 7. */
Ox through_own_scale(Op *op, Ox x, bool reduced);
#endif
