/* loop.h - a loop of the program, and the two ways to run it: iteration by iteration, or as one
 * Loop of ONNX. */
#ifndef PT2ONNX_EVAL_LOOP_H
#define PT2ONNX_EVAL_LOOP_H

#include "eval/internal.h"

typedef struct LoopPlan {
    const void *which;  /* of the program: its statement or expression */
    const Block *block; /* NULL: not a block of the current frame */
    Flow (*body)(Eval *ev, void *arg, Value iteration);
    bool (*condition)(Eval *ev, void *arg, Value *out); /* NULL: a for loop */
    const Stmt *text; /* or NULL: its body and condition are graphs */
    void *arg;
    Obj *state;   /* what the body writes beside the frame's locals; or NULL */
    Value start;  /* iterations of a for loop, an int; the condition before the first iteration of a
                     while loop */
    int64_t done; /* iterations that have run already: the next one's number */
} LoopPlan;
/* ONNX runs it: one Loop. */
MUST_USE bool run_loop(Eval *ev, const LoopPlan *plan);
/* Unrolled as far as its iterations are known, and wanted (loop_unroll.c). */
Flow run_counted_loop(Eval *ev, LoopPlan *plan);
Flow run_conditional_loop(Eval *ev, LoopPlan *plan);

#endif
