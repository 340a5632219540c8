/* branch.h - a branch: a piece of the program that is run aside, in a graph of its own, and what it
 * changed (branch_run.c); two of them joined by an If (join.c); the `if` statement (branch.c). */
#ifndef PT2ONNX_EVAL_BRANCH_H
#define PT2ONNX_EVAL_BRANCH_H

#include "eval/lists/stacked.h"

/* What a branch has put in place i of a list, or into entry i of a dict. */
typedef struct Placed {
    int64_t i;
    Value key, v;
} Placed;

/* What a thing was when a branch ended. */
typedef struct After {
    ChangeKind kind;
    void *what;
    Value v;            /* CELL */
    Ox ox;              /* STORAGE */
    int64_t n;          /* LIST, DICT: items, entries */
    VEC(Placed) placed; /* in their order: the others are as they were */
    bool moved;         /* not even that: all are in `items`, keys and values of a dict in turn */
    Value *items;
    Stacked *stacked; /* LIST */
    Str invalid;      /* DICT */
    uint64_t created;
} After;

typedef struct Branch {
    const Block *block; /* NULL when it is no block of the current frame */
    Value condition;    /* V_SYMBOOL, and then `truth` is what it is in here; or V_POISON */
    bool truth;
    Graph *g;
    uint64_t opened; /* heap's clock: what was born later is the branch's own */
    Flow flow;
    Value result;
    VEC(After) after;
    Map by_what; /* thing -> place in after + 1 */
    Map read;    /* Tensor, Stacked -> its value at the end */
} Branch;

/* What it has made of `what`; NULL: it left it as it was. */
const After *branch_after(const Branch *a, const void *what);

typedef Flow Step(Eval *ev, void *arg, Value *result);
/* Run it in a graph of its own, capture what it changed, undo. */
Flow run_branch(Eval *ev, Branch *a, Step *run, void *arg);
/* Make the If, write the joined state, join the results. sizes: where they cannot be joined, and
 * that matters, ask for a restart that takes one branch by assumption (facts_take_branch); else it
 * is an error. */
MUST_USE bool join_branches(Eval *ev, Value condition, bool sizes, Branch *yes, Branch *no,
                            Value *result);
/* An `if` whose condition, a V_SYMBOOL, ONNX decides. */
Flow run_if(Eval *ev, const Stmt *s, Value condition);
/* Does the block raise before it does anything else that matters? Only a hint which branch to try
 * first. */
bool raises_surely(const Block *b);

#endif
