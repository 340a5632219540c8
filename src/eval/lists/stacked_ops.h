/* stacked_ops.h - operators on lists whose length ONNX decides. */
#ifndef PT2ONNX_EVAL_STACKED_OPS_H
#define PT2ONNX_EVAL_STACKED_OPS_H

#include "eval/lists/stacked.h"

/* *mine: one of args is such a list, or a number that only the running model knows makes it one. */
MUST_USE bool stacked_op(Eval *ev, Str name, const OpArg *args, size_t n, bool *mine, Value *out);
/* stacked_parts.c. The same of s, whose items have parts. */
MUST_USE bool stacked_parts_op(Eval *ev, Stacked *s, Str name, const OpArg *args, size_t n,
                               Value *out);
/* stacked_sizes.c. Tensors whose sizes are such a list: *mine is set when the operator `name` fills
 * one. */
MUST_USE bool stacked_sizes_op(Eval *ev, Stacked *s, Str name, const OpArg *args, size_t n,
                               bool *mine, Value *out);

#endif
