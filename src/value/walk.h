/* walk.h - going through a value that holds others (a list, tuple, dict, plain object, or what an
 * optional holds): its parts in order, all that is in it, and copies of it around other parts.
 *
 * A new kind of container is made known in walk.c, and where more than the parts counts:
 * - what joins, matches or compares two values, as it asks more of each kind than the same parts:
 *   join_values (branch/join.c), match (loop/loop_match.c), suppose_shape (loop/loop_nested.c),
 *   merge_items (lists/stacked_items.c), leave_container (state/state_outputs.c), val_equal;
 * - what goes by the declared type, and not by the value: convert_to, val_is_a (eval/coerce.c);
 * - what has a text, name or identity for each kind: val_text (eval/code_text.c), make_output
 *   (io/outputs.c), walk and feed_numbers (eval/state), and the writers of heap.h.
 *
 * A value may hold itself, and one part in many places, so every walk is given, or has, a number of
 * levels that it goes down at the most, and counts what it visits as steps (count_values). A module
 * has no parts here, nor has a list whose length ONNX decides. */
#ifndef PT2ONNX_VALUE_WALK_H
#define PT2ONNX_VALUE_WALK_H

#include "value/heap.h"

/* Levels that a walk goes down where nothing asks for fewer: bounds the C stack. */
enum { WALK_LEVELS = 5000 };

/* ---- the parts of one value ---- */

/* Items of a list or tuple, values of a dict in its order, slots of an object, or the one value of
 * an optional. */
int64_t val_n_parts(Value v);
/* Part i, where it lies, for functions of heap.h; NULL: there is none. */
Value *val_part_place(Value v, int64_t i);
Value val_part(Value v, int64_t i); /* 0 <= i < val_n_parts(v) */
/* The part of v in the place of part i of `like`: under the same key of a dict, else number i.
 * NULL: there is none. */
const Value *val_part_like(Ctx *cx, Value v, Value like, int64_t i);
/* Are they containers of one kind with as many parts, the same keys, and of one class? */
bool val_same_containers(Ctx *cx, Value a, Value b);

/* ---- all that is in a value ---- */

/* What a visit says: go on with the parts of this value, with what comes behind them, or not at
 * all. */
typedef enum { WALK_IN, WALK_PAST, WALK_STOP } WalkStep;
typedef enum { WALKED_ALL, WALK_STOPPED, WALK_TOO_DEEP } Walked;

/* Visits v, which is on level 1, and what it holds, each value before its parts. What an optional
 * holds is on the level of the optional. `[(a, b), c]` visits the list, the tuple, a, b, c. */
typedef WalkStep Visit(void *arg, Value v);
Walked val_walk(Ctx *cx, Value v, int levels, Visit *visit, void *arg);
/* Two values at once, part by part, as far as both have parts. */
typedef WalkStep VisitPair(void *arg, Value a, Value b);
Walked val_walk_pair(Ctx *cx, Value a, Value b, int levels, VisitPair *visit, void *arg);
/* Does `visit` stop at v or at a value in it? More than WALK_LEVELS levels are an error. */
bool val_walk_finds(Ctx *cx, Value v, Visit *visit, void *arg);
/* Has v no more than so many levels, and so nothing that holds itself? */
bool val_is_shallow(Ctx *cx, Value v, int levels);

/* ---- the same containers around other parts ---- */

/* Called for v and for what it holds, each value before its parts; level 1 is v itself. True: *v,
 * as it may have been set, stands there. False: new containers like those of *v do, around what its
 * parts become. */
typedef bool Replace(void *arg, Value *v, int level);
/* replace NULL: never true. share_marks: each new container counts as written whenever the one in
 * whose place it stands is (container_share_mark). Poison after an error. */
typedef struct Mapping {
    Replace *replace;
    void *arg;
    bool share_marks;
} Mapping;
Value val_map(Ctx *cx, Value v, Mapping m);
/* v with containers of its own, which no other code changes. */
Value containers_copy(Ctx *cx, Value v);
/* v as it is now, for what may be v later: copies that become invalid whenever the containers of v
 * themselves do. */
Value containers_under_mark(Ctx *cx, Value v);

#endif
