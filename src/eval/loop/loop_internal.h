/* loop_internal.h - what the files that make one Loop share. loop_carry.c: the things that an
 * iteration hands to the next; loop_match.c: what a run of the body made of them; loop_nested.c:
 * what they were the last time; loop.c: the runs, and the node. */
#ifndef PT2ONNX_EVAL_LOOP_INTERNAL_H
#define PT2ONNX_EVAL_LOOP_INTERNAL_H

#include "eval/branch/carry.h"
#include "eval/lists/stacked.h"
#include "eval/loop/loop.h"
#include "eval/loop/loop_known.h"

typedef enum { LEAF_TENSOR, LEAF_INT, LEAF_FLOAT, LEAF_BOOL, LEAF_LIST } LeafForm;
typedef struct Leaf {
    LeafForm form;
    DType dtype;
    int rank;
    Dim dim[MAX_RANK];      /* NULL: another one in each iteration */
    Ox init, last, made;    /* before the loop, after the body's run, behind the loop */
    Tensor *tensor, *alias; /* as it was before, and after an iteration: kind, and what it may share
                               memory with */
    Ox input;
    Tensor *fed;                  /* TENSOR: what the body gets */
    Stacked *before, *in, *after; /* LIST: before the loop, as this iteration finds it, as the last
                                     one left it. dim[0] is its length */
    Stacked *list_in,
        *list_after; /* LIST, the first column of a list with parts: the same of the whole list */
    Ox item;         /* LIST: all that the iteration did was to append this */
    bool dead;       /* its place was taken by others */
    bool counts, natural; /* INT: `first + step * iteration`; not that, but never negative */
    Dim first, now; /* INT: before the loop, and what the body was given: NULL when nobody knows */
    int64_t step;
} Leaf;

typedef struct Carried {
    ChangeKind kind;
    void *what;
    uint64_t created;
    Value original; /* CELL: the value before the loop */
    Value
        shape; /* the value before the loop, whose leaves are carried; its containers are copies */
    Value after_first; /* CELL: what the first run's iteration made of it */
    Value after; /* CELL, LIST, DICT: what the last run's iteration made of it, its containers under
                    their marks */
    bool tied;   /* a run began with what it may be after an iteration in mind */
    size_t first, n; /* leaves */
    bool mark;    /* STORAGE without contents of its own: lost in each iteration, and behind them */
    bool invalid; /* STORAGE: after an iteration nobody knows what it holds */
    bool unset;   /* CELL: never set before the loop; shape is what an iteration leaves, the first
                     values are stand-ins */
    bool reshaped; /* this run found a list in it whose length changes */
} Carried;

/* A list of some carried thing's shape whose length an iteration changed: it is stacked from the
 * next run on. */
typedef struct Growing {
    List *list;
    ItemType item;
} Growing;

/* A key that an iteration set in a dict of some carried thing's shape, or removed: from the next
 * run on it may be there. */
typedef struct OpenKey {
    Dict *dict;
    Value key, entry;
} OpenKey;

/* Something inside a carried thing's shape, which is more than it was from the next run on: None or
 * a value, one of several strings. */
typedef struct Wider {
    Cell *place;
    Value v;
} Wider;

/* A list whose items the next iteration may write to, as this iteration found it and as it left
 * it. */
typedef struct Left {
    Stacked *after, *in;
} Left;

typedef struct Findings Findings;

typedef struct Loop {
    Eval *ev;
    const LoopPlan *plan;
    VEC(Carried) carried;
    VEC(Leaf) leaves;
    VEC(Growing) growing;
    VEC(OpenKey) keys;
    VEC(Wider) wider;
    VEC(Left) left;     /* of the first run that leaves them: later ones begin with them in mind */
    VEC(Value) invalid; /* lists and dicts that nobody may read behind the loop */
    Graph *g;           /* the body */
    Ox keep_going, cond_in;
    uint64_t opened,
        run_opened; /* the heap's clock before the first run, and when the body of this one began */
    Map fed;        /* containers that this run's iteration was given -> what of the Carried */
    Map seen;       /* storages and containers that this run's iteration left in carried things */
    bool again;     /* this run found something new */
    bool writes;    /* it wrote to a tensor in place that is not its own alone */
    IterationStart start; /* what the condition says when an iteration begins */
    Findings *findings;   /* what its runs find, for the next time (loop_nested.c) */
} Loop;

/* An error about the loop; false. */
bool loop_give_up(Loop *l, Str why);

/* ---- loop_carry.c ---- */

/* A leaf for each tensor and number inside v: those that a loop carries. */
size_t count_leaves(Value v);
static inline bool leaf_is_ragged(const Leaf *leaf)
{
    return leaf->form == LEAF_LIST && leaf->before->item.ragged;
}
/* Zeros in the place of v, outside of the loop; before its first run v may be of another time.
 * False: nothing that a loop carries. */
MUST_USE bool loop_stand_in(Loop *l, Value v, Value *out);
Dim leaf_counted(const Loop *l, const Leaf *leaf);
void leaf_make_input(Loop *l, Leaf *leaf);
/* Puts the body's inputs, or what the Loop gives, in the place of a carried thing. */
void loop_set(Loop *l, const Carried *c, bool behind);
Carried *loop_carried(Loop *l, const void *what);
/* What an iteration has left of it. */
Value loop_after(const Carried *k);
MUST_USE bool loop_is_shallow(Loop *l, Value v);
bool loop_may_carry(Value v); /* the same, without a word */
/* What was found inside of shapes becomes part of them. */
MUST_USE bool loop_reshape(Loop *l);
/* Leaves for a thing that is carried, as it is before the loop. */
MUST_USE bool loop_first_leaves(Loop *l, Carried *k);
/* Is it one whole number, surely 0 or more before the loop? */
bool loop_begins_natural(Loop *l, const Carried *k);
/* A thing that the body was not known to change: carried from the next run on. */
MUST_USE bool loop_found(Loop *l, const Change *c);
/* The values before the loop of what the last run found: read once its writes are undone. */
MUST_USE bool loop_first_values(Loop *l, size_t from);
/* Nobody may read this list or dict behind the loop: it is lost. */
void loop_invalidate(Loop *l, Value v);

/* ---- loop_match.c ---- */

/* A list of the shape has another length, or items of other sizes, after an iteration than
 * before. */
MUST_USE bool loop_found_growing(Loop *l, Carried *k, List *shape, const List *after);
/* What a run of the body made of a thing: do the types hold? */
MUST_USE bool loop_check(Loop *l, const Change *c);
/* Once all are checked: does a list that is only appended to have a name that is looked at? Is what
 * a list holds reached in another way? */
MUST_USE bool loop_look_again(Loop *l);

/* ---- loop_nested.c ---- */

/* Before the first run: carry what was carried the last time. *begun: there was something. */
MUST_USE bool loop_suppose_findings(Loop *l, bool *begun);
/* The body runs from here on; what the body around it had found, which ev->findings becomes again
 * behind it. */
Findings *loop_enter_body(Loop *l);
/* After the last run. */
void loop_keep_findings(Loop *l);

#endif
