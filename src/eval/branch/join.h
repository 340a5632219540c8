/* join.h - the files of one join: join.c walks over what two branches have left, join_list.c and
 * join_dict.c do lists and dicts. */
#ifndef PT2ONNX_EVAL_JOIN_H
#define PT2ONNX_EVAL_JOIN_H

#include "eval/branch/branch.h"

enum { COLLECT, BUILD };

typedef struct Same {
    Value made, from;
    bool older; /* `from` is older than the branch, so it may have other names */
} Same;

/* Items of a list at the end of a branch, or keys and values of a dict in turn. missing: the
 * branch has no such list. invalid: why the contents of the list, or of one of its items, are
 * not known. */
typedef struct Side {
    const Value *at;
    int64_t n;
    Stacked *stacked;
    bool missing;
    Str invalid;
} Side;

typedef struct Join {
    Eval *ev;
    Branch *branch[2]; /* the then branch, the else branch */
    Value condition;
    bool sizes; /* where values cannot be joined, a restart assumes the condition: branch.c */
    int walk, depth;
    VEC(Ox) out[2]; /* COLLECT: what each branch exports */
    Ox *made;       /* BUILD: outputs of the If, in the same order */
    size_t next;
    Map pairs;      /* what each pair of values with identity became: two names of one stay so */
    Map before;     /* cell, storage, .. that only one branch changed -> After of the other branch;
                       items: sides */
    Map sides[2];   /* list, dict -> Side: its items at the end of a branch, once join_side has been
                       called */
    VEC(Same) same; /* BUILD: tensors and containers made here, and those that they stand for */
} Join;

/* The value of a variable or item that a branch has never set. */
static inline Value val_unset(void) { return (Value){ .tag = V_UNINIT, .any = NULL }; }
/* All that list l or dict d (both NULL: missing) holds at the end of branch k. Only what was
 * asked in the first walk may be asked in the second. */
Side join_side(Join *j, int k, const List *l, const Dict *d);
/* What t reads at the end of branch k. */
Ox join_tensor_after(Join *j, int k, Tensor *t);
/* Why it is not known what list, dict or object v holds at the end of branch k: an alias of v
 * was written there. NULL: it is known. */
Str join_invalid(Join *j, int k, Value v);
/* The same of a list whose length ONNX decides; s is what it holds at the end of branch k. */
Str join_stacked_invalid(Join *j, int k, const Stacked *s);
/* Slot i of o at the end of branch k; V_UNINIT where o is NULL. */
Value join_slot_after(Join *j, int k, const Obj *o, int64_t i);
/* a and b as a pair of outputs of the branches. The first walk (COLLECT) notes the pair, the
 * second (BUILD) gives the If's output. */
Ox join_ox(Join *j, Ox a, Ox b);
Value join_values(Join *j, Value a, Value b);
/* A value about which the branches do not agree: reading it is the error `why`. */
Value join_never(const Join *j, const char *why);
/* The branches do not agree about something that both can see: an error, or a restart that
 * assumes the condition. */
MUST_USE bool join_disagree(const Join *j, Str why);
/* `made` stands in the place of `from`, which was created at this time. Where `from` is older
 * than branch k, or `made` is not all that stands in its place, it becomes an alias of `from`. */
void join_may_be(Join *j, int k, Value made, Value from, uint64_t created);

/* The next item of a list or dict that some branch has written: p[k] is what branch k has put
 * there, NULL: nothing. */
bool join_next_place(const After *const after[2], size_t next[2], const Placed *p[2]);
/* join_lists: the list behind the If, where the branches leave different lists (NULL: that
 * branch has none). join_list: one list that some branch has changed. The same of dicts. */
Value join_lists(Join *j, List *a, List *b);
MUST_USE bool join_list(Join *j, List *l);
Value join_dicts(Join *j, Dict *a, Dict *b);
MUST_USE bool join_dict(Join *j, Dict *d);

#endif
