/* loop.h - a loop of the program, and the two ways to run it: iteration by iteration, or as one
 * Loop of ONNX. */
#ifndef PT2ONNX_EVAL_LOOP_H
#define PT2ONNX_EVAL_LOOP_H

#include "eval/internal.h"

typedef struct LoopPlan {
    const void *which;  /* the loop's statement or expression, which names it */
    const Block *block; /* the body; NULL: it is not a block of the current frame */
    Flow (*body)(Eval *ev, void *arg, Value iteration);
    bool (*condition)(Eval *ev, void *arg, Value *out); /* of a while loop; NULL: a for loop */
    const Stmt *text; /* the statement; NULL: body and condition are graphs */
    void *arg;
    Obj *state;   /* what the body writes beside the frame's locals; NULL: nothing */
    Value start;  /* for: the number of iterations; while: the condition before the first one */
    int64_t done; /* how many iterations have run already */
} LoopPlan;
/* ONNX runs it: one Loop. */
MUST_USE bool run_loop(Eval *ev, const LoopPlan *plan);
/* Unrolls the loop as far as its iterations are known, and not too many (loop_unroll.c). */
Flow run_counted_loop(Eval *ev, LoopPlan *plan);
Flow run_conditional_loop(Eval *ev, LoopPlan *plan);

#endif
