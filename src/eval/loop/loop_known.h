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
    Value first; /* the condition with which the first iteration began; V_NONE: there is none */
    Dim counter; /* the iteration's number, a symbol of the latest run of the body */
    VEC(Known) known; /* relations, in terms of `counter` */
    bool wrong;       /* a supposition did not hold in the next iteration: none is made any more */
} IterationStart;
/* Before a run of the body: the relations that are known, in terms of this counter, become
 * facts. `outside` is the graph around the loop. */
MUST_USE bool iteration_start_suppose(Eval *ev, Graph *outside, IterationStart *t, Dim counter);
/* After a run of the body: reads the relations that its condition says of the next iteration.
 * What was supposed must be among them, or *again is set. */
MUST_USE bool iteration_start_learn(Graph *outside, IterationStart *t, Value condition,
                                    bool *again);
/* Adds a relation that holds in every iteration but the first, if it holds in the first one too. */
MUST_USE bool iteration_start_add(Graph *outside, IterationStart *t, Known k);

/* `number rel bound`, as the text of the condition says: of a number that the loop changes. */
typedef struct Limit {
    const Cell *number;
    Rel rel;
    Dim bound;
} Limit;
enum { MAX_LIMITS = 4 };
int limits_of(Eval *ev, const Stmt *s, Limit out[MAX_LIMITS]);

#endif
