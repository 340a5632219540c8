/* loop_known.h - what holds whenever an iteration of a Loop begins, because its condition said so.
 */
#ifndef PT2ONNX_EVAL_LOOP_KNOWN_H
#define PT2ONNX_EVAL_LOOP_KNOWN_H

#include "eval/internal.h"

/* A relation of sizes. */
typedef struct Known {
    Rel rel;
    Dim a, b;
} Known;
typedef struct IterationStart {
    Value first;      /* the condition that the first iteration began with; V_NONE: it had none */
    Dim counter;      /* the iteration's number in the latest run of the body */
    VEC(Known) known; /* in terms of it */
    bool wrong;       /* a supposition was not true of a next iteration: none is made any more */
} IterationStart;
/* `outside` is the graph around the loop. Before a run of the body: what is known,
 * of this counter, become facts. */
MUST_USE bool iteration_start_suppose(Eval *ev, Graph *outside, IterationStart *t, Dim counter);
/* After one: what its condition says of the next iteration. What was supposed must be among it, or
 * *again is set. */
MUST_USE bool iteration_start_learn(Graph *outside, IterationStart *t, Value condition,
                                    bool *again);
/* Adds what holds of every iteration but the first, if it holds of that too. */
MUST_USE bool iteration_start_add(Graph *outside, IterationStart *t, Known k);

/* A number that the loop changes and what its condition asks of it, as the text says: `number rel
 * bound`. */
typedef struct Limit {
    const Cell *number;
    Rel rel;
    Dim bound;
} Limit;
enum { MAX_LIMITS = 4 };
int limits_of(Eval *ev, const Stmt *s, Limit out[MAX_LIMITS]);

#endif
