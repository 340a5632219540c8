/* branch.h - what branches and loops share: running a piece of the program aside (branch_run.c),
 * joining two of them (join*.c), and values that cross the border (carry.c, liveness.c). */
#ifndef PT2ONNX_EVAL_BRANCH_H
#define PT2ONNX_EVAL_BRANCH_H

#include "eval/lists/stacked.h"

typedef struct Liveness Liveness;

/* What a branch has put in place i of a list, or into entry i of a dict. */
typedef struct Placed {
    int64_t i;
    Value key, v;
} Placed;

/* What a thing was when a branch ended. */
typedef struct After {
    int kind; /* of Change */
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

/* A loop. */
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

/* loop_known.c: what holds whenever an iteration of a staged loop begins, because its condition
 * said so. */
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
/* `outside` is an evaluator of the graph around the loop. Before a run of the body: what is known,
 * of this counter, become facts. */
MUST_USE bool iteration_start_suppose(Eval *ev, Eval *outside, IterationStart *t, Dim counter);
/* After one: what its condition says of the next iteration. What was supposed must be among it, or
 * *again is set. */
MUST_USE bool iteration_start_learn(Eval *outside, IterationStart *t, Value condition, bool *again);
/* Adds what holds of every iteration but the first, if it holds of that too. */
MUST_USE bool iteration_start_add(Eval *outside, IterationStart *t, Known k);

/* A number that the loop changes and what its condition asks of it, as the text says: `number rel
 * bound`. */
typedef struct Limit {
    const Cell *number;
    Rel rel;
    Dim bound;
} Limit;
enum { MAX_LIMITS = 4 };
int limits_of(Eval *ev, const Stmt *s, Limit out[MAX_LIMITS]);

/* Is c a local of the current frame that only this block uses? */
bool local_to_block(Eval *ev, const Block *b, const Cell *c);
/* Are all symbols of d known in ev->g? */
bool dim_is_outside(Eval *ev, Dim d);
/* `made` may or may not share memory with `from`, unless `from` is younger than `opened`. */
void maybe_the_same(Ctx *cx, Tensor *made, Tensor *from, uint64_t opened);
const char *container_name(Value v); /* "list", "dict", "object" */
/* Nobody can tell whether these two are one list, dict or object: writing one loses the other. */
void containers_maybe_same(Ctx *cx, Value a, Value b, const char *why);
/* From here on it is known to be `truth`: that sizes are in an order, or differ, becomes a fact.
 * That two are equal does not: results would get one's name in a branch and the other's in the
 * other. False: a contradiction, or an error. */
MUST_USE bool assume_order(Ctx *cx, const SymBool *s, bool truth);
/* ---- dynamic_dict.c ---- */

/* What a condition that is `truth` says of another bool. */
Tri condition_implies(Ctx *cx, Value condition, bool truth, Value asked);
/* An operator on a dict whose keys only the running model knows. */
MUST_USE bool dynamic_dict_op(Eval *ev, Str name, const OpArg *args, size_t n, bool *mine,
                              Value *out);

/* ---- choice.c ---- */

/* Strings or members of one enum, looked up by a place that only the running model knows; poison:
 * they are something else. */
Value option_at(Eval *ev, const Value *at, int64_t n, Value index);
bool val_is_option(Value v); /* a string or a member of an enum, known or one of several */
Value val_choice(Ctx *cx, const Value *at, int64_t n, Value index);
/* All that either may be. False: they are of different kinds. */
MUST_USE bool options_join(Ctx *cx, Value a, Value b, Values *all);
/* The place of v among them, an int. */
Value option_index(Graph *g, Value v, const Values *all);
/* An operator that looks at a choice. *mine: it did; else must_be_set says what can be done with
 * one. */
MUST_USE bool choice_op(Eval *ev, Str name, const OpArg *args, size_t n, bool *mine, Value *out);
MUST_USE bool choice_attr(Eval *ev, const Choice *c, Str name, Value *out);
/* Why it cannot be used here; false. */
bool choice_fail(Ctx *cx, const Choice *c);
Ox choice_ox(Graph *g, const Choice *c); /* of strings, whose index is not known: a 0-d string */

/* Does v hold nothing that holds itself, or has very many levels? */
bool is_shallow(Value v, int levels);
bool val_is_int(Value v); /* known or not */
bool val_is_bool(Value v);
bool val_is_float(Value v);
bool val_is_plain_number(Value v); /* any of them */
/* None or not, or a key of a dict, as `like` is. */
Value val_maybe_like(Ctx *cx, const Maybe *like, Value present, Value value);
/* v with containers of its own, which nobody else changes. */
Value containers_copy(Ctx *cx, Value v);
/* v as it is now, for what may be v later: copies that are lost whenever the containers of v
 * themselves are. */
Value containers_under_mark(Ctx *cx, Value v);
Ox carry_ox(Graph *g, Value v); /* an int, float or bool as a 0-d value: int64, double, bool */
/* Does the block raise before it does anything else that matters? Only a hint which branch to try
 * first. */
bool raises_surely(const Block *b);
/* For what was never set: zeros of like's type in g, which nobody reads. Sizes that g does not know
 * are 1. */
Ox stand_in(Graph *g, Ox like);
/* A condition as the program sees it (stmt.c). */
MUST_USE bool eval_condition(Eval *ev, const Expr *e, Value *out);
MUST_USE bool condition_of(Eval *ev, Value v, Value *out);

#endif
