/* state.h - what the files of the model's state share. state.c: what is held, and the whole way;
 * state_inputs.c: inputs before the run; state_reachable.c: what somebody looks at;
 * state_outputs.c: outputs after it. */
#ifndef PT2ONNX_EVAL_STATE_H
#define PT2ONNX_EVAL_STATE_H

#include "eval/lists/stacked.h"

typedef struct Used {
    SourceId wrote;
    bool read;
    size_t attr;
} Used; /* where the run set attribute `attr`, and whether it looked at it */
typedef struct TrackedAttr {
    Cell *cell;
    Value before;
    Str owner;
    const char *attr;
    size_t used;
} TrackedAttr; /* an attribute */
typedef struct TrackedList {
    List *list;
    Dict *dict;
    void *items;
    int64_t n;
    Stacked *fed; /* a list that grows: its input */
    Str name;
} TrackedList;
typedef struct TrackedStorage {
    Storage *st;
    Ox before;
    Str name;
} TrackedStorage;

/* The memory of a tensor that a run has left. written: it wrote to what the tensor before it
 * held. */
typedef struct Left {
    Str name;
    Storage *st;
    bool written;
    SourceId at;
} Left;

typedef struct Reach {
    Ctx *cx;
    Map seen;
    VEC(Ox) todo;
} Reach;

typedef struct State {
    VEC(TrackedAttr) attrs;
    VEC(Used) used; /* of the attributes, those of an object from number `held` - 1 of it on */
    VEC(TrackedList) lists;
    VEC(TrackedStorage) storages;
    Map seen;      /* lists, dicts, tuples already walked -> one more than their place in `lists` */
    Map fed;       /* names of state -> the input */
    Map positions; /* names of ints that are taken for 0 or more -> the dimension */
    VEC(TrackedStorage) inputs; /* the user's */
    Reach looked;               /* after the run: reach_looked */
    VEC(Ox) in;                 /* those inputs, and what each is after the run */
    VEC(Ox) next;
    VEC(Str) names;
    VEC(Left) left;
    VEC(Str) unlooked; /* of names: nothing looks at what they were before the run */
    bool restart;      /* something new was found */
} State;

/* In facts_state's set of axes: a number that may be negative; memory whose value before the run
 * nothing looks at. */
enum { ANY_SIGN = 1 << 30, UNLOOKED = 1 << 29 };

Str state_child(Ctx *cx, Str parent, const char *child); /* NAME.child */
static inline Str tracked_name(Ctx *cx, const TrackedAttr *h)
{
    return state_child(cx, h->owner, h->attr);
}
const char *attr_name(const Obj *o, int64_t i); /* of slot i; "?" when nothing names it */
static inline Str state_item(Ctx *cx, Str name, int64_t i)
{
    return str_fmt(cx, "%s.%lld", name->s, (long long)i);
}
static inline Str state_key(Ctx *cx, Str name, Value key)
{
    return str_cat(cx, name->s, ".", val_text(cx, key)->s);
}
static inline Str state_is_set(Ctx *cx, Str name) { return str_cat(cx, name->s, ".", "is_set"); }
static inline void *state_copy(Ctx *cx, const void *at, int64_t n, size_t size)
{
    return n ? mem_copy(cx, at, (size_t)n * size) : NULL;
}

/* Each state that the evaluation before found becomes an input. */
void state_inputs(Eval *ev);
void state_input_storages(Eval *ev, size_t from); /* those held from number `from` on */
/* All that outputs and the next run rest on. Asked only of state that is an input: constants
 * fold. */
void state_reachable(Eval *ev);
/* What the run has left: an output, or a restart with one more input. False after an error. */
MUST_USE bool state_outputs(Eval *ev);

#endif
