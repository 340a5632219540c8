/* choice.h - a string or an enum's member that the running model chooses (V_CHOICE): making one,
 * and what operators give for it. */
#ifndef PT2ONNX_EVAL_CHOICE_H
#define PT2ONNX_EVAL_CHOICE_H

#include "eval/internal.h"

/* at[place], of strings or members of one enum and an index that only the running model knows.
 * Poison: the values are something else. */
Value option_at(Eval *ev, const Value *at, int64_t n, Value index);
/* The options of a and b together. False: they are of different kinds. */
MUST_USE bool options_join(Ctx *cx, Value a, Value b, Values *all);
/* The index of v among the options in `all`, an int. */
Value option_index(Graph *g, Value v, const Values *all);
/* An operator that only reads a choice. NOT_MINE: the operator writes, or not exactly one
 * argument is a choice; must_be_set says what a program may do with a choice. */
MUST_USE Outcome choice_op(Eval *ev, Str name, const OpArg *args, size_t n, Value *out);
/* Attribute `name` of the choice: that of each option, chosen by the choice's index. */
MUST_USE bool choice_attr(Eval *ev, const Choice *c, Str name, Value *out);
/* The error that a choice cannot be used here; false. */
bool choice_fail(Ctx *cx, const Choice *c);
Ox choice_ox(Graph *g, const Choice *c); /* a choice of strings as a 0-d string tensor */

#endif
