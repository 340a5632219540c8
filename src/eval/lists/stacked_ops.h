/* stacked_ops.h - operators on lists whose length ONNX decides. */
#ifndef PT2ONNX_EVAL_STACKED_OPS_H
#define PT2ONNX_EVAL_STACKED_OPS_H

#include "eval/lists/stacked.h"

/* An operator on a stacked list. NOT_MINE: no argument is one, and no number that only the
 * running model knows makes one necessary. */
MUST_USE Outcome stacked_op(Eval *ev, Str name, const OpArg *args, size_t n, Value *out);
/* stacked_parts.c: the operator on a list s whose items have parts. */
MUST_USE bool stacked_parts_op(Eval *ev, Stacked *s, Str name, const OpArg *args, size_t n,
                               Value *out);
/* stacked_sizes.c: tensors whose sizes are the list s. NOT_MINE: the operator makes no such
 * tensor. */
MUST_USE Outcome stacked_sizes_op(Eval *ev, Stacked *s, Str name, const OpArg *args, size_t n,
                                  Value *out);

#endif
