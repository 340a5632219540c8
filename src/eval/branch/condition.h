/* condition.h - conditions that ONNX decides: what follows where one is known to be true or false.
 */
#ifndef PT2ONNX_EVAL_CONDITION_H
#define PT2ONNX_EVAL_CONDITION_H

#include "value/value.h"

/* From here on the condition is known to be `truth`: that one size is less than another, or that
 * two differ, becomes a fact. That two sizes are equal does not become one: the results of the
 * two branches would name the same size differently. False: a contradiction, or an error. */
MUST_USE bool assume_order(Ctx *cx, const SymBool *s, bool truth);
/* What the other bool is, where the condition is known to be `truth`. */
Tri condition_implies(Ctx *cx, Value condition, bool truth, Value asked);

#endif
