/* branch.h - a branch: a piece of the program that is run aside, in a graph of its own, and what it
 * changed (branch_run.c); two of them joined by an If (join.c); the `if` statement (branch.c). */
#ifndef PT2ONNX_EVAL_BRANCH_H
#define PT2ONNX_EVAL_BRANCH_H

#include "eval/lists/stacked.h"

/* What a branch has put in place i of a list, or into entry i of a dict. Entries that it has added
 * are numbered on from those before the branch, also where some of these are gone. */
typedef struct Placed {
    int64_t i;
    Value key, v;
    bool gone; /* a dict's entry is there no longer */
} Placed;

/* What a cell, storage, list or dict was when a branch ended. */
typedef struct After {
    ChangeKind kind;
    void *what;
    Value v;            /* CELL */
    Ox ox;              /* STORAGE */
    int64_t n;          /* LIST, DICT: items, entries */
    VEC(Placed) placed; /* in the order of i; other items are as before the branch */
    bool moved; /* LIST, DICT: items have moved; `placed` was found by comparing with before */
    bool again; /* DICT: a key went and came again, behind the others */
    Stacked *stacked; /* LIST */
    Str invalid;      /* DICT */
    uint64_t created;
} After;

typedef struct Branch {
    const Block *block; /* NULL: the branch is not a block of the current frame */
    Value condition;    /* V_SYMBOOL, which is `truth` inside the branch; or V_POISON */
    bool truth;
    Graph *g;
    uint64_t opened; /* the heap's clock: the branch itself made what was created later */
    Flow flow;
    Value result;
    VEC(After) after;
    Map by_what; /* thing -> place in after + 1 */
    Map read;    /* Tensor, Stacked -> its value at the end */
} Branch;

/* What `what` was when the branch ended; NULL: the branch did not change it. */
const After *branch_after(const Branch *a, const void *what);

typedef Flow Step(Eval *ev, void *arg, Value *result);
/* Run the branch in a graph of its own, capture what the branch changed, and undo the changes. */
Flow run_branch(Eval *ev, Branch *a, Step *run, void *arg);
/* Make the If, write the joined state, join the results. Values that cannot be joined and are
 * needed are an error; with `sizes` they ask for a restart that takes one branch by assumption
 * (facts_take_branch). */
MUST_USE bool join_branches(Eval *ev, Value condition, bool sizes, Branch *yes, Branch *no,
                            Value *result);
/* An `if` whose condition, a V_SYMBOOL, ONNX decides. */
Flow run_if(Eval *ev, const Stmt *s, Value condition);
/* Does the block raise before anything else that matters? Used only to choose which branch runs
 * first. */
bool raises_surely(const Block *b);

#endif
