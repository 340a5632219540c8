/* stacked_items.h - the type that the items of a list have in common (ItemType), and the parts that
 * an item is made of. */
#ifndef PT2ONNX_EVAL_STACKED_ITEMS_H
#define PT2ONNX_EVAL_STACKED_ITEMS_H

#include "value/value.h"

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
/* The type of part i; without parts, of the item itself. */
static inline ItemType item_column(ItemType item, size_t i)
{
    return item.parts ? item.parts->at[i] : item;
}

#endif
