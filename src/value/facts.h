/* facts.h - what one evaluation learns for the next: the ranks and types of inputs, sizes that the
 * program fixes, branches, loops and state.
 *
 * The evaluator meets questions that the file does not answer (what rank has x?). It answers with
 * the usual case, records that here, and ends with E_RESTART; the next evaluation starts with the
 * answer. Facts lie in the keep arena, which restarts do not touch.
 *
 * "Asks for a restart" below: fails with E_RESTART. Such a function returns false, except where its
 * comment says true. */
#ifndef PT2ONNX_VALUE_FACTS_H
#define PT2ONNX_VALUE_FACTS_H

#include "value/value.h"

/* ---- one evaluation ---- */

void facts_begin(Ctx *cx); /* before each evaluation */
/* A restart has been asked for: may there be one? Counts it; false after E_LIMIT. */
MUST_USE bool facts_may_restart(Ctx *cx);
void facts_report(Ctx *cx); /* after the last evaluation: a note for each assumption */

/* ---- inputs: each evaluation registers its own, so that a value can be traced back to one ---- */

/* v is the input `path`; *_given: -i or the file says its rank, its dtype. */
void facts_input(Ctx *cx, Ox v, Str path, bool rank_given, bool dtype_given);
/* sym is the size of an input along `axis`; requested: the user named it: it must stay dynamic. */
void facts_symbol(Ctx *cx, Dim sym, Str path, int axis, bool requested);
void facts_rename(Ctx *cx, Dim sym, Dim d); /* the file's symbol is the user's d from here on */
/* What stands for an input's dimension: its name after facts_rename, the value that the program has
 * fixed it to in an earlier evaluation, or `sym` itself. */
Dim facts_dim(Ctx *cx, Dim sym);
int facts_rank(Ctx *cx, Str path);    /* assumed for the input; -1: nothing is */
DType facts_dtype(Ctx *cx, Str path); /* assumed for the input; DT_NONE: nothing is */

/* ---- assumptions about an input's rank and dtype ---- */

/* v's rank is not known, and `why` (an operator's name) needs it: the input that v comes from has,
 * from the next evaluation on, the rank that gives v `rank`. Asks for a restart, or E_UNDECIDED
 * where v comes from no input. */
bool assume_rank(Ctx *cx, Ox v, int rank, const char *why);
/* The same where no rank is usual (the program prints x.dim()): the first guess. facts_other_rank
 * takes the next one when the model raises `raised` for it: true, and asks for a restart; false
 * when no guess is left. */
bool facts_guess_rank(Ctx *cx, Ox v, const char *why);
bool facts_other_rank(Ctx *cx, Str raised);
/* The program raises for any other rank of v, so this is no assumption. True when that is no news;
 * else asks for a restart. */
MUST_USE bool facts_say_rank(Ctx *cx, Ox v, int rank);
/* v's dtype was a default: from the next evaluation on it is t. Asks for a restart, or E_VALUE
 * where v comes from no input whose dtype may be assumed (dtype_is_assumable). */
bool assume_dtype(Ctx *cx, Ox v, DType t, const char *why);
bool dtype_is_assumable(Ctx *cx, Ox v);

/* ---- gradients (value/autograd.h) ---- */

bool facts_gradients(Ctx *cx); /* does the program ask for gradients? */
/* It does, from the next evaluation on. Asks for a restart. */
bool facts_use_gradients(Ctx *cx);

/* ---- values whose rank differs between runs of the model ---- */

/* May there be such values? Yes, until an evaluation with them has failed. */
bool rank_may_vary(Ctx *cx);
/* v is one. usual: what the file says of v as an output, since ONNX wants one rank there. */
void rank_varies(Ctx *cx, Ox v, Type usual);
/* That type, with v's dtype; NULL where v is no such value, nor computed from one by element. */
Type facts_usual(Ctx *cx, Ox v);
/* May a list hold tensors of different ranks, as a sequence whose items are never read? If so, the
 * caller has such a list, and the evaluation counts as one with values of several ranks. */
bool facts_lists_of_ranks(Ctx *cx);
/* The evaluation has failed. Had it values of several ranks? From now on there are none: true, and
 * asks for a restart. */
bool facts_decide_ranks(Ctx *cx);

/* ---- state: what the model keeps from run to run (eval/state) ---- */

/* Of state `name` that is an input: a bit for each axis whose size differs after a run (the other
 * bits are eval/state's). NULL: it is no input. */
const uint32_t *facts_state(Ctx *cx, Str name);
bool facts_any_state(Ctx *cx);
/* State `name` is an input from the next evaluation on, with those axes too. False without memory;
 * the caller asks for the restart. So the two below. */
bool facts_add_state(Ctx *cx, Str name, uint32_t varying);
/* What state that is not in the file, or grows, holds after a run. items: one of the enum, or the
 * number of tensors of a tuple, named NAME.0, NAME.1, .. A size that only the run knows is -1. */
enum { STATE_TENSOR = -1, STATE_NUMBER = -2, STATE_TENSORS = -3, STATE_NUMBERS = -4 };
typedef struct StateShape {
    Str name;
    int items;
    DType dtype;
    int rank;
    int64_t dim[MAX_RANK];
} StateShape;
const StateShape *facts_state_shape(Ctx *cx, Str name); /* NULL: not recorded */
bool facts_add_state_shape(Ctx *cx, StateShape shape);
/* The i-th key of the dict `name` that some run sets or removes; NULL behind the last. */
const Value *facts_state_key(Ctx *cx, Str name, size_t i);
bool facts_add_state_key(Ctx *cx, Str name, Value key);

/* ---- loops and branches ---- */

/* Is the loop (`which`: its statement or expression) kept, unrolled, or as the options say? */
typedef enum { LOOP_AS_ASKED, LOOP_KEPT, LOOP_UNROLLED } LoopFact;
LoopFact facts_loop_of(Ctx *cx, const void *which);
/* The answer from the next evaluation on, which there will be when this one is done. why: what a
 * kept loop failed with, for a note; or NULL. */
void facts_loop(Ctx *cx, const void *which, LoopFact how, Str why);
/* Has this evaluation called facts_loop? What it has made or failed with is forgotten: true, and
 * asks for a restart. */
bool facts_of_loops(Ctx *cx);
/* Why the branch at this place is decided by an assumption about its condition; NULL: it is not. */
Str facts_branch(Ctx *cx, SourceId at);
/* It is from the next evaluation on. Asks for a restart. */
bool facts_take_branch(Ctx *cx, SourceId at, Str why);

#endif
