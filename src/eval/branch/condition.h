/* condition.h - conditions that ONNX decides: what follows where one is known to be true or false.
 */
#ifndef PT2ONNX_EVAL_CONDITION_H
#define PT2ONNX_EVAL_CONDITION_H

#include "value/value.h"

/* From here on the condition is known to be `truth`: what it says of two sizes becomes a fact. Two
 * that are equal keep their names, so that the results of both branches name a size alike. False:
 * a contradiction, or an error. */
MUST_USE bool assume_condition(Ctx *cx, const SymBool *s, bool truth);
/* What the other bool is, where the condition is known to be `truth`. */
Tri condition_implies(Ctx *cx, Value condition, bool truth, Value asked);

#endif
