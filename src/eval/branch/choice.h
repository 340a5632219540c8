/* choice.h - a string or an enum's member that the running model chooses (V_CHOICE): making one,
 * and what operators give for it. */
#ifndef PT2ONNX_EVAL_CHOICE_H
#define PT2ONNX_EVAL_CHOICE_H

#include "eval/internal.h"

/* Strings or members of one enum, looked up by a place that only the running model knows; poison:
 * they are something else. */
Value option_at(Eval *ev, const Value *at, int64_t n, Value index);
/* All that either may be. False: they are of different kinds. */
MUST_USE bool options_join(Ctx *cx, Value a, Value b, Values *all);
/* The place of v among them, an int. */
Value option_index(Graph *g, Value v, const Values *all);
/* An operator that looks at a choice. NOT_MINE: it does not only look, or there is none, or two;
 * must_be_set says what can be done with one. */
MUST_USE Outcome choice_op(Eval *ev, Str name, const OpArg *args, size_t n, Value *out);
/* Attribute `name` of each option, and so of the choice. */
MUST_USE bool choice_attr(Eval *ev, const Choice *c, Str name, Value *out);
/* Why it cannot be used here; false. */
bool choice_fail(Ctx *cx, const Choice *c);
Ox choice_ox(Graph *g, const Choice *c); /* of strings, whose index is not known: a 0-d string */

#endif
