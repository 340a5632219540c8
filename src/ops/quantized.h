/* quantized.h - numbers kept as small integers: x = (q - zero_point) * scale, one scale or one for each index of an axis. */
#ifndef PT2ONNX_OPS_QUANTIZED_H
#define PT2ONNX_OPS_QUANTIZED_H

#include "ops/internal.h"

/* scale float32, zero_point of the stored type; axis -1: one of each. */
Ox quantize(Op *op, Ox x, const QuantInfo *q);
Ox dequantize(Op *op, Ox v, const QuantInfo *q);
/* One scale and zero point for a whole tensor. NULL after an error. */
QuantInfo *quant_of_numbers(Op *op, double scale, int64_t zero_point, DType t);

Value quantized_tensor(Op *op, Ox x, const QuantInfo *q);      /* x quantised, as a tensor of kind QUANT */
Ox dequantized_arg(Op *op, Value v);                            /* a tensor's numbers, quantised or not */

#endif
