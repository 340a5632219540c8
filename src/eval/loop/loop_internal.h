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
    Dim dim[MAX_RANK];   /* NULL: the size differs from iteration to iteration */
    Ox init, last, made; /* the value before the loop, after an iteration, behind the loop */
    Tensor *tensor,
        *alias; /* TENSOR: before the loop; what it may share memory with after an iteration */
    Ox input;
    Tensor *fed; /* TENSOR: what the body gets */
    bool other;  /* TENSOR: surely older than the iteration, or another variable's */
    bool tied;   /* TENSOR: a run began with it as an alias of what an iteration leaves */
    bool loose;  /* TENSOR, LIST: an iteration leaves one, or an item, that is not surely
                    contiguous */
    Stacked *before, *in, *after; /* LIST: before the loop, as an iteration finds it and leaves it.
                                     dim[0]: the length */
    Stacked *list_in,
        *list_after;      /* LIST, first column of a list with parts: the same of the whole list */
    Ox item;              /* LIST: the iteration did nothing but append this item */
    bool dead;            /* other leaves have taken its place */
    bool counts, natural; /* INT: counts: it is `first + step * iteration`; natural: else, and never
                             negative */
    Dim first, now;       /* INT: before the loop, and in the body; NULL: not known */
    int64_t step;
} Leaf;

typedef struct Carried {
    ChangeKind kind;
    void *what;
    uint64_t created;
    Value holder;   /* CELL: the list or dict that it is an item of; poison: it is a variable */
    int64_t place;  /* its number there */
    bool dropped;   /* the whole list or dict is carried in its place */
    Value original; /* CELL: its value before the loop */
    Value
        shape; /* the value before the loop, in copies of its containers; its leaves are carried */
    Value after_first; /* CELL: its value after the iteration of the first run */
    Value after; /* CELL, LIST, DICT: its value after the last run, containers under their marks */
    bool tied;   /* a run began with it as an alias of what an iteration leaves */
    size_t first, n; /* its leaves, in Loop.leaves */
    bool mark;       /* STORAGE of a mark: invalid in each iteration, and behind the loop */
    bool invalid;    /* STORAGE: what it holds when an iteration begins, and behind the loop, is not
                        known */
    bool unset;      /* CELL: never set before the loop: shape is what an iteration leaves */
    bool reshaped;   /* this run found that its shape has to change */
} Carried;

/* A list in the shape of a carried thing whose length an iteration has changed: it is stacked
 * from the next run on. */
typedef struct Growing {
    List *list;
    ItemType item;
    bool unset; /* of a variable that was never set before the loop: its items are of the body */
} Growing;

/* A key that an iteration has set or removed in a dict in the shape of a carried thing: from the
 * next run on the key may be there. */
typedef struct OpenKey {
    Dict *dict;
    Value key, entry;
} OpenKey;

/* A place in the shape of a carried thing whose value becomes wider from the next run on: None
 * or a value, or one of several strings. */
typedef struct Wider {
    Cell *place;
    Value v;
} Wider;

/* A list whose items the next iteration may write to: as this iteration found it, and as it left
 * it. */
typedef struct Left {
    Stacked *after, *in;
} Left;

typedef struct Findings Findings;

typedef struct Loop {
    Eval *ev;
    const LoopPlan *plan;
    VEC(Carried) carried;
    Map number;  /* `what` of a Carried -> its place in `carried` + 1 */
    Map holders; /* lists and dicts whose items are carried */
    VEC(Leaf) leaves;
    VEC(Growing) growing;
    VEC(OpenKey) keys;
    VEC(Wider) wider;
    VEC(Left) left; /* found by the first run that leaves them */
    VEC(Value)
    invalid;           /* lists and dicts that are invalid when an iteration begins, and behind the
                          loop */
    Map found_invalid; /* the same, to look for one */
    Graph *g;          /* the body */
    Ox keep_going, cond_in;
    uint64_t opened,
        run_opened; /* the heap's clock before the first run, and when the body of this run began */
    Map fed;        /* containers that this run was given -> `what` of the Carried */
    Map seen;       /* storages and containers that this run has left in carried things */
    bool again;     /* this run found something new */
    bool writes;    /* this run wrote to a tensor that others may see */
    IterationStart start; /* what the condition says when an iteration begins */
    Findings
        *findings; /* what the runs find, for the next run of the body around (loop_nested.c) */
} Loop;

/* An error about the loop; false. */
bool loop_give_up(Loop *l, Str why);

/* ---- loop_carry.c ---- */

/* The number of leaves of v: the tensors and numbers in it that a loop carries. */
size_t count_leaves(Ctx *cx, Value v);
static inline bool leaf_is_ragged(const Leaf *leaf)
{
    return leaf->form == LEAF_LIST && leaf->before->item.ragged;
}
/* Zeros in place of v, outside of the loop. Before the first run v may come from an earlier run
 * of the body around. False: v holds something that a loop cannot carry. */
MUST_USE bool loop_stand_in(Loop *l, Value v, Value *out);
Dim leaf_counted(const Loop *l, const Leaf *leaf);
void leaf_make_input(Loop *l, Leaf *leaf);
/* Puts the body's inputs, or with `behind` the outputs of the Loop, in place of a carried thing. */
void loop_set(Loop *l, const Carried *c, bool behind);
Carried *loop_carried(Loop *l, const void *what);
MUST_USE bool loop_add(Loop *l, Carried k);
/* The list or dict of a CHANGE_LIST or CHANGE_DICT; None for other kinds. */
Value loop_container(ChangeKind kind, void *what);
/* The cell of an item of a list, or of an entry of a dict. NULL: it has none, as a list that is
 * one tensor has not. */
Cell *loop_item(Value holder, int64_t place);
/* The value that an iteration has left in place of k. */
Value loop_after(const Carried *k);
MUST_USE bool loop_is_shallow(Loop *l, Value v);
bool loop_may_carry(Ctx *cx, Value v); /* the same without an error */
/* What the last run found inside of shapes (Growing, OpenKey, Wider) becomes part of them. */
MUST_USE bool loop_reshape(Loop *l);
/* Adds the leaves of a carried thing, with their values before the loop. */
MUST_USE bool loop_first_leaves(Loop *l, Carried *k);
/* Is k one int that is surely 0 or more before the loop? */
bool loop_begins_natural(Loop *l, const Carried *k);
/* What the storage holds is not known from the next run on. */
void loop_storage_invalid(Loop *l, Carried *k);
/* The body has changed something that it was not known to change: it is carried from the next
 * run on. holder, place: see Carried. */
MUST_USE bool loop_found(Loop *l, const Change *c, Value holder, int64_t place);
/* Reads the values before the loop of the things that the last run found, from number `from` on.
 * Called once the writes of the run are undone. */
MUST_USE bool loop_first_values(Loop *l, size_t from);
/* Makes this list or dict invalid. */
void loop_invalidate(Loop *l, Value v);

/* ---- loop_match.c ---- */

/* An iteration has changed the length of a list in k's shape, or the sizes of its items. */
MUST_USE bool loop_found_growing(Loop *l, Carried *k, List *shape, const List *after);
/* Compares what a run has made of a thing with what the run began with: do the types hold? Else
 * l->again is set. */
MUST_USE bool loop_check(Loop *l, const Change *c);
/* Has the run only written items of this list or dict, so that these are carried and not the whole
 * of it? */
bool loop_goes_by_items(Loop *l, const Change *c);
/* The same as loop_check for one of these items. c: the change of the list or dict. */
MUST_USE bool loop_check_item(Loop *l, const Change *c, const ItemChange *item);
/* Called once all things are checked: has a list that is only appended to another name that is
 * read? Are items of a list, or the tensor of a variable, reached in another way? */
MUST_USE bool loop_look_again(Loop *l);

/* ---- loop_nested.c ---- */

/* Before the first run: carries what this loop carried in the last run of the body around.
 * *begun: there was something. */
MUST_USE bool loop_suppose_findings(Loop *l, bool *begun);
/* The body runs from here on, with findings of its own. Gives the findings of the body around,
 * which ev->findings must become again behind the loop. */
Findings *loop_enter_body(Loop *l);
/* Keeps what the runs have found, for the next run of the body around. Called after the last
 * run. */
void loop_keep_findings(Loop *l);

#endif
