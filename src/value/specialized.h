/* specialized.h - sizes that were asked to stay dynamic and that the program fixes without an
 * error.
 *
 * A trace records what it saw. Where `x[:, i]` stands in a loop of Python over x.shape[1] it holds
 * the rows of its example and no others, where `math.sqrt(x.shape[1])` was taken it holds a number.
 * torch.export calls such a size specialized. Nothing in the program says so: there is evidence, as
 * that rows 0 to 6 are read one by one at one line and the example had 7. One note for each size
 * tells its first evidence; there is none for a size that shows none. Of a .pt2, which writes each
 * size as a number that is not dynamic, no evidence is needed. */
#ifndef PT2ONNX_VALUE_SPECIALIZED_H
#define PT2ONNX_VALUE_SPECIALIZED_H

#include "onnx/onnx.h"

/* `size`, of the input `path` along `axis`, is to stay dynamic. by_name: the user named it, else
 * all sizes are (--dynamic). Nothing where it is no symbol, or one that is known already. */
void specialized_ask(Ctx *cx, Dim size, Str path, int axis, bool by_name);
/* The program has this number, or constant, where cx->at is. */
void specialized_number(Ctx *cx, double v);
void specialized_constant(Ctx *cx, const Const *k);
/* The program turns an axis of this size by so many. */
void specialized_turn(Ctx *cx, Dim size, Dim by);
/* The evaluation has ended with this graph: makes the notes. traced: the program is one of
 * torch.jit.trace or torch.export; exported: of the latter. */
void specialized_report(Ctx *cx, Graph *g, bool traced, bool exported);

#endif
