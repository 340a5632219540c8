/* facts.h - what is learnt about inputs, loops and branches of a program: assumptions that decide
 * what nothing tells. Kept across restarts. */
#ifndef PT2ONNX_VALUE_FACTS_H
#define PT2ONNX_VALUE_FACTS_H

#include "value/value.h"

void facts_begin(Ctx *cx); /* before each evaluation */
/* A restart has been asked for: may we? Counts; false after E_LIMIT. */
MUST_USE bool facts_may_restart(Ctx *cx);
void facts_report(Ctx *cx); /* one note for each assumption */
/* What is known or assumed about input `path`: its rank (-1), dtype (DT_NONE). */
int facts_rank(Ctx *cx, Str path);
DType facts_dtype(Ctx *cx, Str path);
/* What the file says of an output whose rank differs between runs of the model (rank_varies), or
 * NULL. */
Type facts_usual(Ctx *cx, Ox v);
/* May a list hold tensors of different ranks, as a sequence whose items nobody reads? Asked by who
 * has such a list: the evaluation has values of several ranks from now on. */
bool facts_lists_of_ranks(Ctx *cx);
/* The evaluation has failed: does it have values of several ranks? They are decided from now on: a
 * restart is asked for. */
bool facts_decide_ranks(Ctx *cx);
/* Nothing suggests v's rank, but the program asks: assume the usual one, and another when it raises
 * for that. Returns false, as assume_rank. */
bool facts_guess_rank(Ctx *cx, Ox v, const char *why);
/* The model raises: is another guess left? Then a restart is asked for. */
bool facts_other_rank(Ctx *cx, Str raised);
/* The program says so itself (it raises for any other rank): no assumption. True when nothing is
 * new; else asks for a restart. */
MUST_USE bool facts_say_rank(Ctx *cx, Ox v, int rank);
/* An input's dimension that something pinned: its replacement, else `sym` itself. */
Dim facts_dim(Ctx *cx, Dim sym);
/* From here on the file's symbol `sym` is the user's dimension `d`. */
void facts_rename(Ctx *cx, Dim sym, Dim d);
void facts_input(Ctx *cx, Ox v, Str path, bool rank_given, bool dtype_given);
/* State `name` of the model is an input: which of its axes have another size after a run (a bit
 * each). NULL: it is none. */
const uint32_t *facts_state(Ctx *cx, Str name);
bool facts_add_state(Ctx *cx, Str name, uint32_t loose);
bool facts_any_state(Ctx *cx);
/* What state that is not in the file, or grows, holds after a run: a tensor (a size that only the
 * run knows is -1), a number, a list of such, or a tuple of so many of them, named NAME.0, NAME.1,
 * ... */
enum { STATE_TENSOR = -1, STATE_NUMBER = -2, STATE_TENSORS = -3, STATE_NUMBERS = -4 };
typedef struct StateShape {
    Str name;
    int items; /* or one of those */
    DType dtype;
    int rank;
    int64_t dim[MAX_RANK];
} StateShape;
const StateShape *facts_state_shape(Ctx *cx, Str name);
bool facts_add_state_shape(Ctx *cx, StateShape shape);
/* A key of the dict `name` that some run sets or removes; NULL: no more of them. */
const Value *facts_state_key(Ctx *cx, Str name, size_t i);
bool facts_add_state_key(Ctx *cx, Str name, Value key);
/* Is the loop kept, unrolled, or as the options say? facts_loop: from the next evaluation on, which
 * there will be when this one is done; why: what a kept loop failed with, for a note, or NULL. */
typedef enum { LOOP_AS_ASKED, LOOP_KEPT, LOOP_UNROLLED } LoopFact;
LoopFact facts_loop_of(Ctx *cx, const void *which);
void facts_loop(Ctx *cx, const void *which, LoopFact how, Str why);
/* Has this evaluation learnt of a loop? What it comes to is forgotten: true, a restart is asked
 * for. */
bool facts_of_loops(Ctx *cx);
/* The branch at this place is decided by an assumption about its condition: because of this; NULL:
 * it is not. */
Str facts_branch(Ctx *cx, SourceId at);
/* It is from now on: false, a restart is asked for. */
bool facts_take_branch(Ctx *cx, SourceId at, Str why);
/* A symbol of an input; requested: the user named it. */
void facts_symbol(Ctx *cx, Dim sym, Str path, int axis, bool requested);

/* ---- assumptions: what nothing tells. Recorded in cx->facts, then evaluation starts again
 * (E_RESTART) ---- */

/* v's rank is unknown: find the input it comes from, assume `rank`, restart. Returns false always
 * (E_RESTART or E_UNDECIDED). */
bool assume_rank(Ctx *cx, Ox v, int rank, const char *why);
/* May a result have another rank in other runs of the model? Not once an evaluation with such
 * values has failed: they are decided by assumption then. */
bool rank_may_vary(Ctx *cx);
/* It does; usual: what the file says of v where it is an output, since ONNX wants one rank
 * there. */
void rank_varies(Ctx *cx, Ox v, Type usual);
/* v's type was a default, not told: assume dtype. */
bool assume_dtype(Ctx *cx, Ox v, DType t, const char *why);
bool dtype_is_assumable(Ctx *cx,
                        Ox v); /* an input whose dtype nobody told, and no assumption yet */

#endif
