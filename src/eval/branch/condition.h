/* condition.h - conditions that ONNX decides: what follows where one is known to be true or false.
 */
#ifndef PT2ONNX_EVAL_CONDITION_H
#define PT2ONNX_EVAL_CONDITION_H

#include "value/value.h"

/* From here on it is known to be `truth`: that sizes are in an order, or differ, becomes a fact.
 * That two are equal does not: results would get one's name in a branch and the other's in the
 * other. False: a contradiction, or an error. */
MUST_USE bool assume_order(Ctx *cx, const SymBool *s, bool truth);
/* What a condition that is `truth` says of another bool. */
Tri condition_implies(Ctx *cx, Value condition, bool truth, Value asked);

#endif
