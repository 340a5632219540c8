/* autograd.h - which values require a gradient: torch.autograd as a running program sees it.
 *
 * Only a program that calls requires_grad_() pays for any of this: facts start another evaluation
 * then, in which leaves, detached values and the results of operators are values of their own. */
#ifndef PT2ONNX_VALUE_AUTOGRAD_H
#define PT2ONNX_VALUE_AUTOGRAD_H

#include "onnx/gradient/gradient.h"
#include "value/tensor.h"

/* Does the program ask for gradients? Known from the evaluation before. */
bool autograd_used(Ctx *cx);
/* It does. True when that is no news; else asks for a restart. */
MUST_USE bool autograd_use(Ctx *cx);
/* torch.is_grad_enabled() and torch.set_grad_enabled(). */
bool autograd_enabled(Ctx *cx);
void autograd_enable(Ctx *cx, bool on);

/* Does v depend on a leaf, by a way that no detach() cuts? */
bool autograd_requires(Ctx *cx, Ox v);
/* v as an operator's result has it: another value than any other call's where it requires a
 * gradient, and cut off from what it depends on where gradients are not enabled. */
Ox autograd_result(Graph *g, Ox v);
Ox autograd_detached(Graph *g, Ox v); /* v itself when it requires no gradient */
/* The Python number that a tensor of one element holds; it has no gradient. */
Value autograd_number(Graph *g, Ox v);
bool autograd_is_leaf(Ctx *cx, Ox v);
const Tape *autograd_tape(Ctx *cx);
/* The result of a call: autograd_result(), whose gradient the call tells. */
Ox autograd_call(Graph *g, Ox v, const TapedCall *call);
/* t is a leaf from now on (x.requires_grad_()), or requires no gradient any more. False after an
 * error. */
MUST_USE bool tensor_require(Graph *g, Tensor *t);
MUST_USE bool tensor_detach(Graph *g, Tensor *t);

/* x.grad, which backward() adds to; NULL: None. */
Ox autograd_gradient(Ctx *cx, Ox leaf);
void autograd_set_gradient(Ctx *cx, Ox leaf, Ox grad);
/* All leaves there are, in the order in which they became one. */
OxList autograd_leaves(Ctx *cx);

#endif
