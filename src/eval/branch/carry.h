/* carry.h - values that cross the border of a subgraph: as values of ONNX, as stand-ins for what
 * was never set, and as memory that may be shared from then on. */
#ifndef PT2ONNX_EVAL_CARRY_H
#define PT2ONNX_EVAL_CARRY_H

#include "value/tensor.h"

/* An int, float or bool as a 0-d value of g: int64, double, bool. */
Ox carry_ox(Graph *g, Value v);
/* A value for a variable that was never set: zeros of like's type in g, which the program does
 * not read. Sizes that g does not know are 1. */
Ox stand_in(Graph *g, Ox like);
/* Are all symbols of d known in g? */
bool dim_is_outside(const Graph *g, Dim d);
/* `made` may or may not share memory with `from`, unless `from` is younger than `opened`. */
void maybe_the_same(Ctx *cx, Tensor *made, Tensor *from, uint64_t opened);
/* It is not known whether a and b are one list, dict or object: writing one makes the other
 * invalid. */
void containers_maybe_same(Ctx *cx, Value a, Value b, const char *why);

#endif
