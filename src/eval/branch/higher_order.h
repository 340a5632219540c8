/* higher_order.h - the higher-order operators of .pt2 (cond, while_loop, invoke_subgraph, ..). */
#ifndef PT2ONNX_EVAL_HIGHER_ORDER_H
#define PT2ONNX_EVAL_HIGHER_ORDER_H

#include "eval/internal.h"

/* NOT_MINE: e->op is another operator. */
MUST_USE Outcome higher_order(Eval *ev, const Expr *e, const OpArg *args, size_t n, Value *out);

#endif
