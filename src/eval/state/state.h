/* state.h - what the files of the model's state share. state.c: what the saved model holds, and
 * the whole way; state_inputs.c: inputs before the run; state_reachable.c: what results are
 * computed from; state_outputs.c: outputs after the run. */
#ifndef PT2ONNX_EVAL_STATE_H
#define PT2ONNX_EVAL_STATE_H

#include "eval/lists/stacked.h"

/* An object of the saved model, whose attributes begin at obj->tracked - 1. */
typedef struct TrackedObject {
    Obj *obj;
    Str name;
} TrackedObject;
typedef struct TrackedAttr {
    Value before;         /* the run */
    SourceId wrote;       /* where the run has set it */
    uint32_t object : 31; /* of State.objects */
    uint32_t read : 1;    /* did the run read it before? */
} TrackedAttr;
typedef struct TrackedList {
    List *list;
    Dict *dict;
    void *items;
    int64_t n;
    Stacked *fed; /* of a list that grows: its input */
    Str name;
} TrackedList;
typedef struct TrackedStorage {
    Storage *st;
    Ox before;
    Str name;
} TrackedStorage;

/* The storage of a tensor that a run has left in place of another, whose was `before`. written: the
 * run wrote to that. */
typedef struct Left {
    Str name;
    Storage *st;
    Storage *before;
    bool written;
    SourceId at;
} Left;

typedef struct Reach {
    Ctx *cx;
    Map seen;
    VEC(Ox) todo;
} Reach;

typedef struct State {
    VEC(TrackedObject) objects;
    VEC(TrackedAttr) attrs; /* object by object: a model has many */
    VEC(uint32_t)
    evaluated;           /* places in `order` of each `training` that was True, and is False now */
    VEC(uint32_t) order; /* their numbers, each in front of those that lie inside its value */
    VEC(TrackedList) lists;
    VEC(TrackedStorage) storages;
    Map seen;      /* lists, dicts, tuples already tracked -> their place in `lists` + 1 */
    Map fed;       /* name of a state -> its input */
    Map called;    /* name of a constant, CONSTANTS.c0 -> the local that the program calls it */
    Map wrote;     /* name of a state -> where the run has written it (SourceId) */
    Map positions; /* name of an int that is taken to be 0 or more -> the dimension */
    VEC(TrackedStorage) inputs; /* storages of the model's own inputs */
    Reach looked;               /* what outputs and state are computed from: state_reachable.c */
    VEC(Ox) in;                 /* inputs that are state, and what each is after the run */
    VEC(Ox) next;
    VEC(Str) names;
    VEC(Left) left;
    VEC(Str) unlooked; /* names of state whose value before the run nothing reads */
    bool restart;      /* new state was found: evaluation starts again */
} State;

/* Beside the axes in the set of facts_state. ANY_SIGN: an int that may be negative. UNLOOKED:
 * state whose value before the run nothing reads. LOOSE: a tensor, or items of a list, of which it
 * is not known how they lie in memory, as a run may leave that otherwise than the file has it. */
enum { ANY_SIGN = 1 << 30, UNLOOKED = 1 << 29, LOOSE = 1 << 28 };

Str state_child(Ctx *cx, Str parent, const char *child); /* NAME.child */
const char *attr_name(const Obj *o, int64_t i);          /* the name of slot i; "?": it has none */
/* Number i in the order in which they are told, and its object, number there, value now, name. */
static inline TrackedAttr *tracked_attr(const State *s, size_t i)
{
    return &s->attrs.at[s->order.at[i]];
}
static inline const Obj *tracked_object(const State *s, const TrackedAttr *h)
{
    return s->objects.at[h->object].obj;
}
static inline int64_t tracked_slot(const State *s, const TrackedAttr *h)
{
    return h - s->attrs.at - (int64_t)(tracked_object(s, h)->tracked - 1);
}
static inline Cell *tracked_cell(const State *s, const TrackedAttr *h)
{
    return &tracked_object(s, h)->slot[tracked_slot(s, h)];
}
static inline Str tracked_name(Ctx *cx, const State *s, const TrackedAttr *h)
{
    return state_child(cx, s->objects.at[h->object].name,
                       attr_name(tracked_object(s, h), tracked_slot(s, h)));
}
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

/* Makes an input of each state that earlier evaluations have found. */
void state_inputs(Eval *ev);
void state_input_storages(
    Eval *ev, size_t from); /* the same for the storages tracked from number `from` on */
/* Finds all values from which the outputs and the state for the next run are computed. Needed
 * only where state is an input. */
void state_reachable(Eval *ev);
/* Makes outputs of the state that the run has left, or asks for a restart in which it is an
 * input. False after an error. */
MUST_USE bool state_outputs(Eval *ev);

#endif
