/* attention.h - what the mask of attention leaves to see. */
#ifndef PT2ONNX_OPS_ATTENTION_H
#define PT2ONNX_OPS_ATTENTION_H

#include "ops/internal.h"

/* Is it known that every row of the mask lets some column take part? Of bools one that is true, of
 * numbers one that is more than -inf. */
bool mask_opens_rows(Op *op, Ox mask);

#endif
