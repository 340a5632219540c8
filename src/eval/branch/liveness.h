/* liveness.h - where the locals of a function are used. */
#ifndef PT2ONNX_EVAL_LIVENESS_H
#define PT2ONNX_EVAL_LIVENESS_H

#include "eval/internal.h"

/* Is c a local of the current frame that only this block uses? False for a block that is NULL or
 * empty. */
bool local_to_block(Eval *ev, const Block *b, const Cell *c);

#endif
