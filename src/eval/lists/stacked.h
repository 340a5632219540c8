/* stacked.h - lists whose length ONNX decides.
 *
 * A list that grows in a loop that stays, or differently in the two branches of an If, is one
 * tensor whose axis 0 is the list; its items are tensors of one type, or ints, floats or bools.
 * What was appended last stays apart until somebody looks at the list: then a loop that only fills
 * the list finds that nobody has, and gives the items as a scan output.
 *
 * A list of tuples, dicts or objects is a list for each of their parts: structure of arrays. A list
 * of lists is a list of the tensors that those make, unless all have one length that is known.
 *
 * The last resort is an ONNX sequence: for tensors of one dtype whose sizes differ (the list is
 * *ragged*). Where even their ranks do, nobody may read an item. */
#ifndef PT2ONNX_EVAL_STACKED_H
#define PT2ONNX_EVAL_STACKED_H

#include "eval/internal.h"

typedef struct Parts Parts;
typedef struct ItemType {
    const char *elem; /* "Tensor", "int", "float", "bool", "Tuple", ..; NULL: not known yet */
    Type type;        /* 0-d of numbers */
    const struct ItemType
        *of; /* "List" without parts: what those lists hold; type is of the tensor that one makes */
    bool ragged; /* sizes differ: in `type` those are symbols that stand for nothing else; rank -1:
                    ranks differ */
    const Parts *parts; /* of tuples and the like, which have no type of their own; else NULL */
} ItemType;
struct Parts {
    Value like; /* one of the items: its containers, and what is the same in all */
    ItemType *at;
    size_t n;
};
typedef VEC(Value) Values;

/* A list of all parts of a tensor: of unbind (each NULL), or of split, `each` long but for the
 * last. */
typedef struct PartsOf {
    Tensor *t;
    int axis;
    Dim each, count;
} PartsOf;

typedef struct Stacked {
    ItemType item;
    Ox whole; /* NULL: nobody has looked yet at `from` with `last` behind it */
    struct Stacked *from;
    Value last;
    Tensor *memory; /* stands for what the items share: lost once an item is written through another
                       name */
    bool looked;
    bool empty;              /* surely without items */
    const PartsOf *parts_of; /* its items are views of that; else NULL */
    struct Stacked *
        *column; /* item.parts: a list of each part instead; whole, from and last are theirs */
} Stacked;

/* ---- stacked_items.c ---- */

/* The tensors, numbers and whole lists of v, in order; like: an item's containers, or v itself.
 * False for what holds something that no list of ONNX can. */
bool item_parts(Ctx *cx, Value v, Value like, Values *out);
/* The same containers around other parts. */
Value item_rebuilt(Ctx *cx, Value like, const Value *part, size_t *next);
/* What v would be as an item. False: nothing that can be stacked. */
bool item_type(Ctx *cx, Value v, ItemType *out);
/* What holds for both: ragged, if their sizes may differ. Lists of different lengths in them become
 * parts. False: no list holds both. */
bool items_join(Ctx *cx, ItemType a, ItemType b, ItemType *out);
bool items_same_parts(Ctx *cx, ItemType a, ItemType b);
/* What each column of `to`, a wider type, is made of: one of `from`; or, of lists that have no
 * length in common, n of them side by side. */
typedef struct MadeOf {
    size_t first, n;
    bool whole;
} MadeOf;
const MadeOf *items_made_of(Ctx *cx, ItemType from, ItemType to);
/* Lists of this length that hold such items, as items. */
ItemType item_list(Ctx *cx, ItemType of, Dim length);
/* What one of the lists holds, of items that are lists. */
ItemType item_inner(Ctx *cx, ItemType list);
/* Tensors of several ranks. */
static inline bool item_ranks_differ(ItemType item) { return item.type && item.type->rank < 0; }
/* Parts with types of their own. */
const Parts *items_copy(Ctx *cx, const Parts *p);
/* The type of a list's items; elem NULL for an empty one. False: they cannot be stacked. */
bool list_item_type(Ctx *cx, const Value *at, int64_t n, ItemType *out);

/* ---- stacked.c ---- */

Stacked *stacked_new(Ctx *cx, ItemType item, Ox whole);
/* A list of items with parts out of lists of the parts. */
Stacked *stacked_of_columns(Ctx *cx, ItemType item, Stacked **column);
/* Of a list without parts it is the list itself. */
static inline size_t stacked_n_columns(const Stacked *s)
{
    return s->item.parts ? s->item.parts->n : 1;
}
static inline Stacked *stacked_column(Stacked *s, size_t i)
{
    return s->item.parts ? s->column[i] : s;
}
static inline ItemType item_column(ItemType item, size_t i)
{
    return item.parts ? item.parts->at[i] : item;
}
/* A list that nobody may read, and why. */
Stacked *stacked_invalid(Ctx *cx, Str why);
static inline bool stacked_is_invalid(const Stacked *s) { return !ox_ok(s->memory->st->now); }
/* Can it be read? False, after an error, once an item was written under another name. */
MUST_USE bool stacked_is_readable(Eval *ev, const Stacked *s);
/* n items, all of type `item`, in ev->g. NULL after an error. */
Stacked *stacked_of(Eval *ev, const Value *at, int64_t n, ItemType item);
/* s holds these items, and those of `part` (may be NULL): a write to one of them loses it. */
void stacked_holds(Ctx *cx, Stacked *s, const Value *at, int64_t n, Stacked *part);
/* A concrete or stacked list as a stacked one; NULL after an error. */
Stacked *stacked_list(Eval *ev, const List *l, ItemType item);
/* The same list with items of this type, which all of its own are: as a sequence, lists among the
 * parts as one. NULL after an error. */
Stacked *stacked_as(Eval *ev, Stacked *s, ItemType item);
/* The tensor or sequence; POISON after an error. */
Ox stacked_whole(Eval *ev, Stacked *s);
/* An item without parts as a value of ONNX: a tensor, a number, or the tensor of a list. */
Ox stacked_item_ox(Eval *ev, Value v, ItemType item);
/* Items as one tensor, 1-D of numbers, or as a sequence. `item` tells the type of an empty list;
 * sizes that g does not know are 1 then. */
Ox stack_values(Graph *g, const Ox *at, size_t n, ItemType item);
Stacked *stacked_append(Eval *ev, Stacked *s, Value v);
Dim stacked_length(Eval *ev, Stacked *s);
/* n columns of lists that each have n items, as one of the tensors that those make. `any` is a
 * column, for the length. */
Ox stacked_side_by_side(Graph *g, const Ox *column, size_t n, Ox any, ItemType item);
/* l[index], of a stacked list or of items that are alike; index is symbolic. */
MUST_USE bool stacked_item(Eval *ev, Stacked *s, Value index, Value *out);
/* An item of a list with parts, which are these; writing to its containers loses the list. */
Value stacked_rebuilt(Ctx *cx, Stacked *s, const Value *part);
Str why_shared(Ctx *cx);

/* dynamic_parts.c. Part number i as the view of the tensor that it is; mine false: nobody can tell
 * where it lies. */
MUST_USE bool part_of_tensor(Eval *ev, const PartsOf *p, Dim i, bool *mine, Value *out);

/* stacked_parts.c. The same of s, whose items have parts. */
MUST_USE bool stacked_parts_op(Eval *ev, Stacked *s, Str name, const OpArg *args, size_t n,
                               Value *out);
/* stacked_sizes.c. Tensors of such sizes: mine is set when the operator `name` fills one. */
MUST_USE bool stacked_sizes_op(Eval *ev, Stacked *s, Str name, const OpArg *args, size_t n,
                               bool *mine, Value *out);
/* stacked_ops.c. Operators on a stacked list: mine is set when one of args is, or when a number
 * only the model knows makes it one. */
MUST_USE bool stacked_op(Eval *ev, Str name, const OpArg *args, size_t n, bool *mine, Value *out);

#endif
