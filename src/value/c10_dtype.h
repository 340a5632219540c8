/* c10_dtype.h - c10's numbers of element types: TorchScript writes 6 where Python has
 * torch.float32. */
#ifndef PT2ONNX_VALUE_C10_DTYPE_H
#define PT2ONNX_VALUE_C10_DTYPE_H

#include "onnx/onnx.h"

/* The type of this number; DT_NONE for a number that names no type, or one that ONNX lacks. The
 * quantised types (12 to 14, 16) give the integers that they store and set *quantised, which may be
 * NULL. */
DType dtype_of_c10(int64_t code, bool *quantised);
/* The number of a type that is not quantised; -1 when c10 has none. */
int64_t dtype_to_c10(DType t);

#endif
