/* stacked.h - lists whose length ONNX decides: what they are, making them, reading their items.
 *
 * A list that grows in a loop that stays, or differently in the two branches of an If, is one
 * tensor whose axis 0 is the list; its items are tensors of one type, or ints, floats or bools.
 * What was appended last stays apart until the list is read: a loop that only fills the list finds
 * it unread, and gives the items as a scan output.
 *
 * A list of tuples, dicts or objects is a list for each of their parts: structure of arrays. A list
 * of lists is a list of the tensors that those make, unless all have one length that is known.
 *
 * The last resort is an ONNX sequence: for tensors of one dtype whose sizes differ (the list is
 * *ragged*). Where even their ranks differ, items must not be read. */
#ifndef PT2ONNX_EVAL_STACKED_H
#define PT2ONNX_EVAL_STACKED_H

#include "eval/internal.h"
#include "eval/lists/stacked_items.h"

typedef struct Stacked {
    ItemType item;
    Ox whole; /* NULL: not made yet, of `from` with `last` behind it */
    struct Stacked *from;
    Value last;
    Tensor *memory; /* an alias of the items: invalid once an item is written under another name */
    bool looked;
    bool empty;                     /* surely without items */
    bool loose;                     /* an item, or a tensor in one, is not surely contiguous */
    const struct PartsOf *parts_of; /* the items are views of this tensor; else NULL */
    struct Stacked *
        *column; /* with item.parts: a list for each part, which has whole, from and last */
} Stacked;

Stacked *stacked_new(Ctx *cx, ItemType item, Ox whole);
/* A list of items with parts, made of a list for each part. */
Stacked *stacked_of_columns(Ctx *cx, ItemType item, Stacked **column);
/* How many columns s has: one for each part of its items; a list without parts is its own
 * column. */
static inline size_t stacked_n_columns(const Stacked *s)
{
    return s->item.parts ? s->item.parts->n : 1;
}
static inline Stacked *stacked_column(Stacked *s, size_t i)
{
    return s->item.parts ? s->column[i] : s;
}
/* A list that may not be read, and why. */
Stacked *stacked_invalid(Ctx *cx, Str why);
static inline bool stacked_is_invalid(const Stacked *s) { return !ox_ok(s->memory->st->now); }
/* Can it be read? False, after an error, once an item was written under another name. */
MUST_USE bool stacked_is_readable(Eval *ev, const Stacked *s);
/* n items, all of type `item`, in ev->g. NULL after an error. */
Stacked *stacked_of(Eval *ev, const Value *at, int64_t n, ItemType item);
/* Notes that s holds these n items, and those of `part` (may be NULL): a write to one of them
 * makes s invalid, and an item of s may lie in memory as one of them does. */
void stacked_holds(Ctx *cx, Stacked *s, const Value *at, int64_t n, Stacked *part);
/* A concrete or stacked list as a stacked one; NULL after an error. */
Stacked *stacked_list(Eval *ev, const List *l, ItemType item);
/* s with items of a wider type: as a sequence where it was a tensor, or with inner lists as one
 * part where they were several. NULL after an error. */
Stacked *stacked_as(Eval *ev, Stacked *s, ItemType item);
/* The whole list as a tensor or sequence; POISON after an error. */
Ox stacked_whole(Eval *ev, Stacked *s);
/* An item without parts as a value of ONNX: a tensor, a number, or the tensor of a list. */
Ox stacked_item_ox(Eval *ev, Value v, ItemType item);
/* Items as one tensor (numbers: of rank 1), or as a sequence. `item` is the type of an empty
 * list, in which sizes that g does not know are 1. */
Ox stack_values(Graph *g, const Ox *at, size_t n, ItemType item);
Stacked *stacked_append(Eval *ev, Stacked *s, Value v);
Dim stacked_length(Eval *ev, Stacked *s);
/* One column of lists with n items each, out of n columns of their items. any: a column, which
 * has the length where n is 0. */
Ox stacked_side_by_side(Graph *g, const Ox *column, size_t n, Ox any, ItemType item);
/* l[index], of a stacked list or of items that are alike; index is symbolic. */
MUST_USE bool stacked_item(Eval *ev, Stacked *s, Value index, Value *out);
/* An item of a list with parts, made of these parts. Writing to the containers of the item makes
 * the list invalid. */
Value stacked_rebuilt(Ctx *cx, Stacked *s, const Value *part);
Str why_shared(Ctx *cx);

#endif
