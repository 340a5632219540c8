/* stacked_items.h - the type that the items of a list have in common (ItemType), and the parts that
 * an item is made of. */
#ifndef PT2ONNX_EVAL_STACKED_ITEMS_H
#define PT2ONNX_EVAL_STACKED_ITEMS_H

#include "value/value.h"

typedef struct Parts Parts;
typedef struct ItemType {
    const char *elem; /* "Tensor", "int", "float", "bool", "Tuple", ..; NULL: not known yet */
    Type type;        /* of numbers: rank 0 */
    const struct ItemType
        *of;            /* "List" as one part: its item type; `type` is the tensor of its items */
    bool ragged;        /* sizes differ: `type` has symbols for them; rank -1: ranks differ */
    const Parts *parts; /* of containers, which have no `type`; else NULL */
} ItemType;
struct Parts {
    Value like; /* one item: its containers and the values that all items share */
    ItemType *at;
    size_t n;
};

/* The tensors, numbers and whole lists of v, in order; like: an item's containers, or v itself.
 * False for what holds something that no list of ONNX can. */
bool item_parts(Ctx *cx, Value v, Value like, Values *out);
/* The same containers around other parts. */
Value item_rebuilt(Ctx *cx, Value like, const Value *part, size_t *next);
/* The type of v as an item. False: v cannot be stacked. */
bool item_type(Ctx *cx, Value v, ItemType *out);
/* The type of items that are of type a or b: ragged where sizes differ. Inner lists of different
 * lengths become one part each. False: no stacked list can hold both. */
bool items_join(Ctx *cx, ItemType a, ItemType b, ItemType *out);
bool items_same_parts(Ctx *cx, ItemType a, ItemType b);
/* Of what each column of `to`, a wider type than `from`, is made: of one column of `from`; or,
 * where inner lists became one part, of the n columns of their items, side by side. */
typedef struct MadeOf {
    size_t first, n;
    bool whole;
} MadeOf;
const MadeOf *items_made_of(Ctx *cx, ItemType from, ItemType to);
/* The type of lists of this length with items of type `of`. */
ItemType item_list(Ctx *cx, ItemType of, Dim length);
/* The item type of a list whose own type is `list`. */
ItemType item_inner(Ctx *cx, ItemType list);
/* Are these tensors whose ranks differ? */
static inline bool item_ranks_differ(ItemType item) { return item.type && item.type->rank < 0; }
/* A copy of p, whose types may be changed. */
const Parts *items_copy(Ctx *cx, const Parts *p);
/* The type of a list's items; elem NULL for an empty one. False: they cannot be stacked. */
bool list_item_type(Ctx *cx, const Value *at, int64_t n, ItemType *out);
/* The type of part i; without parts, of the item itself. */
static inline ItemType item_column(ItemType item, size_t i)
{
    return item.parts ? item.parts->at[i] : item;
}

#endif
