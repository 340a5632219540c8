/* stacked_ops.h - operators on lists whose length ONNX decides. */
#ifndef PT2ONNX_EVAL_STACKED_OPS_H
#define PT2ONNX_EVAL_STACKED_OPS_H

#include "eval/lists/stacked.h"

/* NOT_MINE: no argument is such a list, nor does a number that only the running model knows make it
 * one. */
MUST_USE Outcome stacked_op(Eval *ev, Str name, const OpArg *args, size_t n, Value *out);
/* stacked_parts.c. The same of s, whose items have parts. */
MUST_USE bool stacked_parts_op(Eval *ev, Stacked *s, Str name, const OpArg *args, size_t n,
                               Value *out);
/* stacked_sizes.c. Tensors whose sizes are such a list. NOT_MINE: the operator `name` fills none.
 */
MUST_USE Outcome stacked_sizes_op(Eval *ev, Stacked *s, Str name, const OpArg *args, size_t n,
                                  Value *out);

#endif
