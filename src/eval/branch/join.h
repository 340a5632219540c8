/* join.h - the files of one join: join.c walks over what two branches have left, join_list.c and
 * join_dict.c do lists and dicts. */
#ifndef PT2ONNX_EVAL_JOIN_H
#define PT2ONNX_EVAL_JOIN_H

#include "eval/branch/branch.h"

enum { COLLECT, BUILD };

typedef struct Same {
    Value made, from;
} Same;

/* Items of a list at the end of a branch, or keys and values of a dict in turn; missing: the branch
 * never set it; lost: nobody can tell what it holds, or one of its items. */
typedef struct Side {
    const Value *at;
    int64_t n;
    Stacked *stacked;
    bool missing;
    Str invalid;
} Side;

typedef struct Join {
    Eval *ev;
    Branch *branch[2]; /* then, else */
    Value condition;
    bool sizes; /* what cannot be joined is decided by assuming the condition: branch.c */
    int walk, depth;
    VEC(Ox) out[2]; /* COLLECT: what each branch exports */
    Ox *made;       /* BUILD: outputs of the If, in the same order */
    size_t next;
    Map pairs;  /* what became of each pair of things with identity, so that it survives */
    Map before; /* thing -> After: what only one branch changed, as the other one left it; of items
                   see sides */
    Map sides[2];   /* list, dict -> Side: all that it holds at the end of a branch, once that was
                       asked */
    VEC(Same) same; /* BUILD: lists, dicts and objects that were made for what may be another one */
} Join;

/* What a branch has that never set it. */
static inline Value val_unset(void) { return (Value){ .tag = V_UNINIT, .any = NULL }; }
/* All that a list or dict (NULL: missing) holds then. Who asks in the second walk has asked in the
 * first. */
Side join_side(Join *j, int k, const List *l, const Dict *d);
/* What t reads at the end of branch k. */
Ox join_tensor_after(Join *j, int k, Tensor *t);
/* Why nobody can tell what a list, dict or object holds at the end of branch k: one that may be the
 * same was written there. NULL: it is told. */
Str join_invalid(Join *j, int k, Value v);
/* The same of a list whose length ONNX decides, where s is what it holds then. */
Str join_stacked_invalid(Join *j, int k, const Stacked *s);
/* Slot i of o then; keys and values of d in turn. */
Value join_slot_after(Join *j, int k, const Obj *o, int64_t i);
/* Export a pair; BUILD gives the If's output. */
Ox join_ox(Join *j, Ox a, Ox b);
Value join_values(Join *j, Value a, Value b);
/* A value that the branches do not agree about: reading it is the error. */
Value join_never(const Join *j, const char *why);
/* Something that both branches can see, and do not agree about: an error, or what a restart
 * decides. */
MUST_USE bool join_disagree(const Join *j, Str why);
/* `made` stands in the place of one that was born then: if that is older than branch k, it may have
 * other names. */
void join_may_be(Join *j, int k, Value made, Value from, uint64_t created);

/* The next place of a list or dict that some branch has written: what each has put there, NULL
 * nothing. */
bool join_next_place(const After *const after[2], size_t next[2], const Placed *p[2]);
/* Two that were chosen between (NULL: that branch has none), and one that both branches have
 * changed. */
Value join_lists(Join *j, List *a, List *b);
MUST_USE bool join_list(Join *j, List *l);
Value join_dicts(Join *j, Dict *a, Dict *b);
MUST_USE bool join_dict(Join *j, Dict *d);

#endif
