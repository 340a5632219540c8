/* join.c - both arms of a branch have run: If joins what differs.
 *
 * The union of what the arms changed is joined in two walks over the same values: the first collects pairs of values to export,
 * then the If is made, the second puts its outputs in their places. What cannot be joined (None or a tensor, different ranks) is
 * not an error yet, since most locals are never looked at again: reading it is. */
#include "eval/branch.h"

static const Value unset = { .tag = V_UNINIT };

enum { COLLECT, BUILD };

typedef struct Same { Value made, from; } Same;

typedef struct Join {
    Eval *ev;
    Arm *arm[2];                    /* then, else */
    Value condition;
    bool sizes;                     /* what cannot be joined is decided by assuming the condition: branch.c */
    int walk, depth;
    VEC(Ox) out[2];                 /* COLLECT: what each arm exports */
    Ox *made;                       /* BUILD: outputs of the If, in the same order */
    size_t next;
    Map pairs;                      /* what became of each pair of things with identity, so that it survives */
    VEC(Same) same;                 /* BUILD: lists, dicts and objects that were made for what may be another one */
} Join;

/* Export a pair; BUILD gives the If's output. */
static Ox join_ox(Join *j, Ox a, Ox b)
{
    Ctx *cx = j->ev->cx;
    if (j->walk == BUILD)
        return j->made[j->next++];
    vec_push(cx, &j->out[0], a);
    vec_push(cx, &j->out[1], b);
    return a;
}

static Value number_value(Eval *ev, Value like, Ox v)
{
    if (!val_is_float(like))
        return val_number_of(ev->g, v);
    double f;
    return ox_known_scalar(ev->g, v, &f) ? val_float(f) : (Value){ .tag = V_SYMFLOAT, .ox = v };
}

/* What is joined lies in the range of both. */
static Value within_both(Ctx *cx, Value v, Value a, Value b)
{
    Dim d, x, y;
    int64_t lo, hi, lo_b, hi_b;
    if (v.tag != V_SYMINT || !val_dim_of(v, cx, &d) || !dim_is_sym(d, NULL) || !val_dim_of(a, cx, &x) || !val_dim_of(b, cx, &y))
        return v;
    dim_range(cx, x, &lo, &hi);
    dim_range(cx, y, &lo_b, &hi_b);
    dim_set_range(cx, d, lo < lo_b ? lo : lo_b, hi > hi_b ? hi : hi_b);
    return v;
}

static Value join_numbers(Join *j, Value a, Value b)
{
    Eval *ev = j->ev;
    if (a.tag == V_BOOL && b.tag == V_BOOL)                            /* they differ: this is the condition itself */
        return a.b ? j->condition : val_not(ev, j->condition);
    if (a.tag != V_SYMBOOL && a.tag != V_SYMINT && a.tag != V_SYMFLOAT && b.tag != V_SYMBOOL && b.tag != V_SYMINT && b.tag != V_SYMFLOAT) {
        if (j->walk == COLLECT)
            return a;
        Ox x = carry_ox(ev->g, a);
        Ox y = carry_ox(ev->g, b);
        Ox c = carry_ox(ev->g, j->condition);
        return within_both(ev->cx, number_value(ev, a, ox_g(ev->g, "Where", c, x, y)), a, b);
    }
    Ox x = j->walk == COLLECT ? carry_ox(j->arm[0]->g, a) : NULL;
    Ox y = j->walk == COLLECT ? carry_ox(j->arm[1]->g, b) : NULL;
    Ox v = join_ox(j, x, y);
    Value made = j->walk == COLLECT ? a : within_both(ev->cx, number_value(ev, a, v), a, b);
    if (made.tag == V_SYMBOOL && j->walk == BUILD && b.tag == V_BOOL && !b.b && j->condition.tag == V_SYMBOOL && made.sb->ox && !made.sb->left)
        made = val_implying(ev->cx, made, j->condition, a.tag == V_SYMBOOL && a.sb->ox && graph_sees(ev->g, a.sb->ox) ? a : j->condition);
    return made;
}

static const After *after_of(const Arm *a, const void *what)
{
    uintptr_t i = (uintptr_t)map_get(&a->by_what, what);
    return i ? &a->after.at[i - 1] : NULL;
}

/* What t reads at the end of arm k. Tensors that the arm did not put anywhere are read now: its state is the one before. */
static Ox value_in(Join *j, int k, Tensor *t)
{
    Arm *arm = j->arm[k];
    const MapEntry *known = map_find(&arm->read, t);
    const After *written = after_of(arm, t->st);
    if (known)
        return known->val;
    if (written && t->base) {
        fail(j->ev->cx, E_UNSUPPORTED, "one arm of a branch writes to memory that a value of the other arm looks at through a view");
        return POISON;
    }
    Ox v = written ? written->ox : tensor_read(arm->g, t);
    map_put(j->ev->cx, &arm->read, t, v);
    return v;
}

/* A value that the arms do not agree about. */
static Value never(const Join *j, Str why)
{
    Value v = val_never(j->ev->cx, why);
    ((Unset *)v.any)->branch = j->sizes;
    return v;
}

static Value never_alike(const Join *j, const char *why) { return never(j, str_of(j->ev->cx, why)); }

/* Something that both arms can see, and do not agree about. */
static bool disagree(const Join *j, Str why)
{
    Ctx *cx = j->ev->cx;
    return j->sizes ? facts_take_branch(cx, where_intern(cx), why) : fail(cx, E_UNSUPPORTED, "%s, and ONNX decides between them", why->s);
}

/* The If gives one of x and y: a value that may be returned, while any other use is what `never` says. */
static Value varying(Join *j, Value never, Ox x, Ox y)
{
    Ctx *cx = j->ev->cx;
    if (!rank_may_vary(cx))
        return never;
    Ox v = join_ox(j, x, y);
    if (j->walk == BUILD) {
        rank_varies(cx, v, ox_rank(x) < 0 ? facts_usual(cx, x) : x->type);
        ((Unset *)never.any)->varies = v;
    }
    return never;
}

static Value different_ranks(Join *j, Ox x, Ox y)
{
    Ctx *cx = j->ev->cx;
    bool data = j->condition.tag == V_SYMBOOL && j->condition.sb->ox;
    if (j->sizes)
        return varying(j, never(j, str_fmt(cx, "one gives a tensor of rank %d, the other one of rank %d", ox_rank(x), ox_rank(y))), x, y);
    Str why = str_fmt(cx, "one arm of a branch gives %s, the other %s, and ONNX decides between them; %s", type_text(cx, x->type)->s,
                      type_text(cx, y->type)->s,
                      data ? "the condition rests on data, so the program must give both one rank (unsqueeze, reshape)"
                           : "fix the sizes that the condition rests on with -i");
    return varying(j, never(j, why), x, y);
}

/* The tensor behind v at the end of arm k, of one rank or of several; NULL: it is none. */
static Ox any_rank(Join *j, int k, Value v)
{
    const Unset *u = v.tag == V_UNINIT ? v.any : NULL;
    return v.tag == V_TENSOR && v.t->kind == PLAIN ? value_in(j, k, v.t) : u ? u->varies : NULL;
}

/* One of the two has several ranks, or is nothing that could be joined. */
static Value join_unset(Join *j, Value a, Value b)
{
    Value why = a.tag == V_UNINIT && a.any ? a : b;
    Ox x = any_rank(j, 0, a), y = any_rank(j, 1, b);
    if (!x || !y || !ox_ok(x) || !ox_ok(y) || ox_dtype(x) != ox_dtype(y))
        return why;
    Unset *u = mem_copy(j->ev->cx, why.any, sizeof *u);
    return u ? varying(j, (Value){ .tag = V_UNINIT, .any = u }, x, y) : val_poison();
}

static Value join_tensors(Join *j, Tensor *a, Tensor *b)
{
    Ctx *cx = j->ev->cx;
    const Tensor *one = a ? a : b;
    if (a && b && same_tensor(a, b))
        return (Value){ .tag = V_TENSOR, .t = a };
    if (a && b && a->kind != b->kind)
        return never_alike(j, "the arms of a branch give tensors of different kinds");
    Ox x = a ? value_in(j, 0, a) : NULL, y = b ? value_in(j, 1, b) : NULL;
    if ((x && !ox_ok(x)) || (y && !ox_ok(y)))
        return val_poison();
    if (x && y && ox_dtype(x) != ox_dtype(y))
        return never(j, str_fmt(cx, "one arm of a branch gives a tensor of %s, the other one of %s", dtype_name(ox_dtype(x)), dtype_name(ox_dtype(y))));
    if (x && y && ox_rank(x) != ox_rank(y))
        return different_ranks(j, x, y);
    Ox v = join_ox(j, j->walk == COLLECT && !x ? stand_in(j->arm[0]->g, y) : x, j->walk == COLLECT && !y ? stand_in(j->arm[1]->g, x) : y);
    if (j->walk == COLLECT)
        return val_none();
    Tensor *t = tensor_new(cx, v);
    t->kind = one->kind;
    t->contiguous = (!a || tensor_contiguous(cx, a) == YES) && (!b || tensor_contiguous(cx, b) == YES) ? YES : UNKNOWN;
    if (a)
        maybe_the_same(cx, t, a, j->arm[0]->opened);
    if (b)
        maybe_the_same(cx, t, b, j->arm[1]->opened);
    return (Value){ .tag = V_TENSOR, .t = t };
}

static Value join_values(Join *j, Value a, Value b);

static Value join_tuples(Join *j, const Tuple *a, const Tuple *b)
{
    const Tuple *one = a ? a : b;
    Value *items = new_array(j->ev->cx, Value, one->n + 1);
    if (!items)
        return val_poison();
    for (int64_t i = 0; i < one->n; i++)
        items[i] = join_values(j, a ? a->at[i] : unset, b ? b->at[i] : unset);
    Value v = val_tuple(j->ev->cx, items, one->n);
    v.tuple->type = one->type;
    v.tuple->fields = one->fields;
    return v;
}

/* A list at the end of an arm; missing: the arm never set it. */
typedef struct Side { const Value *at; int64_t n; Stacked *stacked; bool missing; } Side;

static Side side_of(Ctx *cx, const List *l)
{
    Side s = { .stacked = l ? l->stacked : NULL, .missing = !l };
    if (l)
        s.at = list_values(cx, l, &s.n);
    return s;
}

/* Within one of the two, not only between them. */
static void set_ragged(Ctx *cx, ItemType *item, const ItemType t[2])
{
    bool same[2] = { t[0].elem && items_same_parts(cx, *item, t[0]), t[1].elem && items_same_parts(cx, *item, t[1]) };
    if (!item->parts) {
        item->ragged = t[0].ragged || t[1].ragged;
        return;
    }
    item->parts = items_copy(cx, item->parts);
    for (size_t i = 0; i < item->parts->n; i++)
        item->parts->at[i].ragged = (t[0].elem && (!same[0] || item_column(t[0], i).ragged)) || (t[1].elem && (!same[1] || item_column(t[1], i).ragged));
}

/* What both sides hold, when it can be stacked: dtype and rank are the same. Sizes may differ between the sides; within one they make
 * the list a sequence. */
static bool sides_alike(Ctx *cx, const Side side[2], ItemType *item)
{
    ItemType t[2] = { { 0 }, { 0 } };
    for (int k = 0; k < 2; k++) {
        if (side[k].stacked)
            t[k] = side[k].stacked->item;
        else if (!side[k].missing && (!side[k].at || !list_item_type(cx, side[k].at, side[k].n, &t[k])))
            return false;
    }
    if (!items_join(cx, t[0], t[1], item) || !item->elem)
        return false;
    set_ragged(cx, item, t);
    return true;
}

/* A side's part i. */
static Value part_of(Ctx *cx, Value v, ItemType item, size_t i)
{
    Values part;
    return !item.parts ? v : item_parts(cx, v, item.parts->like, &part) && i < part.n ? part.at[i] : val_poison();
}

static Ox whole_of_side(Join *j, int k, const Side *s, ItemType item, size_t i);
static Side side_after(Join *j, int k, const List *l);

static Ox item_of_side(Join *j, int k, Value v, ItemType item)
{
    if (v.tag == V_TENSOR)
        return value_in(j, k, v.t);
    if (v.tag != V_LIST)
        return carry_ox(j->arm[k]->g, v);
    Side side = side_after(j, k, v.list);
    return item.of ? whole_of_side(j, k, &side, item_inner(j->ev->cx, item), 0) : POISON;
}

static Ox column_of_side(Join *j, int k, Stacked *s, size_t i)
{
    Stacked *column = stacked_column(s, i);
    const MapEntry *known = map_find(&j->arm[k]->read, column);
    return known ? known->val : stacked_whole(j->ev, column);
}

static Ox stacked_of_side(Join *j, int k, Stacked *s, ItemType item, size_t i)
{
    ItemType type = item_column(item, i);
    Graph *g = j->arm[k]->g;
    const MadeOf *from = items_made_of(j->ev->cx, s->item, item);
    Ox *at = from ? new_array(j->ev->cx, Ox, from[i].n + 1) : NULL;
    if (!at)
        return POISON;
    for (size_t n = 0; n < from[i].n; n++)
        at[n] = column_of_side(j, k, s, from[i].first + n);
    if (from[i].whole)
        return stacked_side_by_side(g, at, from[i].n, column_of_side(j, k, s, 0), type);
    return type.ragged && !stacked_column(s, from[i].first)->item.ragged ? ox_g_with(g, "SplitToSequence", INPUTS(at[0]), INT("axis", 0), INT("keepdims", 0)) : at[0];
}

/* Column i of one side as a tensor or sequence that arm k gives. */
static Ox whole_of_side(Join *j, int k, const Side *s, ItemType item, size_t i)
{
    Graph *g = j->arm[k]->g;
    ItemType type = item_column(item, i);
    if (s->stacked)
        return stacked_of_side(j, k, s->stacked, item, i);
    Ox *at = new_array(j->ev->cx, Ox, s->n + 1);
    for (int64_t n = 0; at && n < s->n; n++)
        at[n] = item_of_side(j, k, part_of(j->ev->cx, s->at[n], item, i), type);
    return at ? stack_values(g, at, (size_t)s->n, type) : POISON;
}

/* One column of both sides. NULL in the first walk. */
static Stacked *join_column(Join *j, const Side side[2], ItemType item, size_t i)
{
    Ctx *cx = j->ev->cx;
    Ox x = j->walk == COLLECT ? whole_of_side(j, 0, &side[0], item, i) : NULL;
    Ox y = j->walk == COLLECT ? whole_of_side(j, 1, &side[1], item, i) : NULL;
    Ox made = join_ox(j, x, y);
    ItemType type = item_column(item, i);
    if (j->walk == COLLECT || !ox_ok(made))
        return NULL;
    type.type = type.ragged ? made->type->elem : type_tensor(cx, ox_dtype(made), ox_rank(made) - 1, made->type->dim + 1);
    return stacked_new(cx, type, made);
}

/* Lists of different lengths become one value each, and so one list whose length the running model knows. NULL in the first walk. */
static Stacked *join_sides(Join *j, const Side side[2], ItemType item)
{
    Ctx *cx = j->ev->cx;
    size_t n = item.parts ? item.parts->n : 1;
    Stacked **column = new_array(cx, Stacked *, n);
    bool made = column != NULL;
    if (item.parts)
        item.parts = items_copy(cx, item.parts);
    for (size_t i = 0; column && i < n; i++) {
        column[i] = join_column(j, side, item, i);
        made = made && column[i];
        if (column[i] && item.parts)
            item.parts->at[i] = column[i]->item;
    }
    Stacked *s = !made ? NULL : item.parts ? stacked_of_columns(cx, item, column) : column[0];
    for (int k = 0; k < 2 && s; k++)
        stacked_holds(cx, s, side[k].at, side[k].stacked ? 0 : side[k].n, side[k].stacked);
    return s;
}

static Side side_after(Join *j, int k, const List *l)
{
    const After *after = l ? after_of(j->arm[k], l) : NULL;
    return after ? (Side){ after->items, after->n, after->stacked, false } : side_of(j->ev->cx, l);
}

/* Made in the place of one that is older than arm k, and so may have other names. */
static void may_be(Join *j, int k, Value made, Value from, uint64_t born)
{
    if (j->walk == BUILD && born <= j->arm[k]->opened)
        vec_push(j->ev->cx, &j->same, (Same){ made, from });
}

/* One list in the place of two. Which of them it is nobody knows: one that is older than the arms has other names. */
static Value join_lists(Join *j, List *a, List *b)
{
    Ctx *cx = j->ev->cx;
    Side side[2] = { side_after(j, 0, a), side_after(j, 1, b) };
    List *from[2] = { a, b }, *l = list_new(cx, a ? side[0].n : side[1].n, (a ? a : b)->elem);
    ItemType item;
    if (side[0].stacked || side[1].stacked || (a && b && side[0].n != side[1].n)) {
        if (!sides_alike(cx, side, &item))
            return never_alike(j, "the arms of a branch give lists of different lengths whose items differ in type");
        Stacked *s = join_sides(j, side, item);
        if (s)
            list_stack(cx, l, s);
    } else {
        for (int64_t i = 0; i < (a ? side[0].n : side[1].n); i++)
            list_append(cx, l, join_values(j, a ? side[0].at[i] : unset, b ? side[1].at[i] : unset));
    }
    Value made = { .tag = V_LIST, .list = l };
    for (int k = 0; k < 2; k++)
        if (from[k])
            may_be(j, k, made, (Value){ .tag = V_LIST, .list = from[k] }, from[k]->born);
    return made;
}

/* Once all is joined, so that writing the joined state is no write. */
static void tell_same(Join *j)
{
    Ctx *cx = j->ev->cx;
    for (size_t i = 0; i < j->same.n; i++) {
        const Same *s = &j->same.at[i];
        if (s->made.tag == V_LIST)
            list_maybe_same(cx, s->made.list, s->from.list, stacked_lost(cx, str_of(cx, "two lists are one and the same after one arm of a branch only")));
        else
            tensor_maybe_shared(cx, container_mark(cx, s->made), container_mark(cx, s->from),
                                str_of(cx, "two dicts or objects are one and the same after one arm of a branch only"));
    }
}

/* Keys and values in turn, at the end of arm k. */
static const Value *entries_after(Join *j, int k, const Dict *d, int64_t *n)
{
    const After *after = after_of(j->arm[k], d);
    if (!after)
        return dict_values(j->ev->cx, d, n);
    *n = after->n;
    return after->items;
}

/* Is the key there at the end of arm k? */
static Value present_in(Join *j, int k, Value entry)
{
    if (!val_is_maybe_key(entry))
        return val_bool(entry.tag != V_UNINIT || entry.any);
    Tri told = condition_tells(j->ev->cx, j->condition, k == 0, entry.maybe->present);
    return told == UNKNOWN ? entry.maybe->present : val_bool(told == YES);
}

/* What a key has after both arms; V_UNINIT: it is not there. */
static Value join_entry(Join *j, Value a, Value b)
{
    Value in[2] = { a, b }, present[2];
    if (!val_is_maybe_key(a) && !val_is_maybe_key(b) && (a.tag != V_UNINIT || a.any) && (b.tag != V_UNINIT || b.any))
        return join_values(j, a, b);
    for (int k = 0; k < 2; k++) {
        present[k] = present_in(j, k, in[k]);
        in[k] = present[k].tag == V_BOOL && !present[k].b ? unset : val_is_maybe_key(in[k]) ? in[k].maybe->value : in[k];
    }
    Value v = val_is_optional(in[0]) || val_is_optional(in[1]) ? never_alike(j, "the value of a key is None in one arm of a branch, and the key is not there in the other")
                                                               : join_values(j, in[0], in[1]);
    Value there = join_values(j, present[0], present[1]);
    return there.tag != V_BOOL ? val_maybe_key(j->ev->cx, there, v) : there.b ? v : unset;
}

static bool same_keys(Ctx *cx, const Value *const at[2], const int64_t n[2])
{
    bool same = n[0] == n[1];
    for (int64_t i = 0; same && i < n[0]; i += 2)
        same = val_equal(cx, at[0][i], at[1][i]);
    return same;
}

/* Keys that are there in one arm only come where that arm has them. The order holds as long as each arm's keys come in it. */
static void join_entries(Join *j, const Value *const at[2], const int64_t n[2], Dict *out)
{
    Ctx *cx = j->ev->cx;
    Dict *in[2];
    for (int k = 0; k < 2; k++) {
        in[k] = dict_new(cx, NULL);
        for (int64_t i = 0; i < n[k]; i += 2)
            dict_set(cx, in[k], at[k][i], at[k][i + 1]);
    }
    int64_t last = 0;                           /* how far the second arm's keys have been met in the first's order */
    bool ordered = same_keys(cx, at, n);
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < n[k]; i += 2) {
            const Cell *a = dict_find(cx, in[0], at[k][i]), *b = dict_find(cx, in[1], at[k][i]);
            if (k == 1 && a)
                continue;
            Value v = join_entry(j, a ? a->v : unset, b ? b->v : unset);
            if (v.tag != V_UNINIT || v.any)
                dict_set(cx, out, at[k][i], v);
        }
    for (int64_t i = 0; !ordered && last < n[1] && i < n[0]; i += 2)
        last += val_equal(cx, at[0][i], at[1][last]) ? 2 : 0;
    for (; !ordered && last < n[1] && !dict_find(cx, in[0], at[1][last]); last += 2)
        ;
    out->unordered = out->unordered || (!ordered && last < n[1]);
}

static Value join_dicts(Join *j, Dict *a, Dict *b)
{
    Ctx *cx = j->ev->cx;
    Dict *from[2] = { a, b };
    const Value *at[2] = { NULL, NULL };
    int64_t n[2] = { 0, 0 };
    for (int k = 0; k < 2; k++)
        if (from[k])
            at[k] = entries_after(j, k, from[k], &n[k]);
    if (a && b && j->sizes && !same_keys(cx, at, n))
        return never_alike(j, "the arms of a branch give dicts with other keys");
    Value made = { .tag = V_DICT, .dict = dict_new(cx, (a ? a : b)->type) };
    made.dict->unordered = (a && a->unordered) || (b && b->unordered);
    if (a && b)
        join_entries(j, at, n, made.dict);
    for (int64_t i = 0; (!a || !b) && i < (a ? n[0] : n[1]); i += 2)
        dict_set(cx, made.dict, (a ? at[0] : at[1])[i], join_values(j, a ? at[0][i + 1] : unset, b ? at[1][i + 1] : unset));
    for (int k = 0; k < 2; k++)
        if (from[k])
            may_be(j, k, made, (Value){ .tag = V_DICT, .dict = from[k] }, from[k]->born);
    return made;
}

static Value slot_after(Join *j, int k, const Obj *o, int64_t i)
{
    const After *after = o ? after_of(j->arm[k], &o->slot[i]) : NULL;
    return !o ? unset : after ? after->v : o->slot[i].v;
}

enum { MAX_DEPTH = 64 };                        /* an object may hold itself */

/* Objects of one class, attribute by attribute. */
static Value join_objects(Join *j, Obj *a, Obj *b)
{
    Obj *from[2] = { a, b };
    const Obj *one = a ? a : b;
    if ((a && a->path) || (b && b->path) || (a && b && a->cls != b->cls) || j->depth >= MAX_DEPTH)
        return never_alike(j, "the arms of a branch give different objects");
    Value made = { .tag = V_OBJ, .obj = obj_new(j->ev->cx, one->cls, one->n, one->names, NULL) };
    j->depth++;
    for (int64_t i = 0; i < one->n; i++)
        cell_init(&made.obj->slot[i], join_values(j, slot_after(j, 0, a, i), slot_after(j, 1, b, i)));
    j->depth--;
    for (int k = 0; k < 2; k++)
        if (from[k])
            may_be(j, k, made, (Value){ .tag = V_OBJ, .obj = from[k] }, from[k]->born);
    return made;
}

static bool same(Join *j, Value a, Value b)
{
    if (a.tag != b.tag)
        return false;
    if (a.tag == V_TENSOR || a.tag == V_LIST || a.tag == V_DICT || a.tag == V_OBJ || a.tag == V_SYMFLOAT || a.tag == V_CHOICE)
        return a.any == b.any;
    if (a.tag == V_SYMBOOL)
        return a.any == b.any && (!a.sb->ox || graph_sees(j->ev->g, a.sb->ox));
    if (a.tag == V_SYMINT)
        return dim_eq(j->ev->cx, a.dim, b.dim) == YES && dim_is_outside(j->ev, a.dim);
    return a.tag != V_TUPLE && val_equal(j->ev->cx, a, b);
}

/* One arm never set it: the other's value, exported if it is the arm's own. */
static Value join_one(Join *j, Value v, bool first)
{
    switch (v.tag) {
    case V_TENSOR: return join_tensors(j, first ? v.t : NULL, first ? NULL : v.t);
    case V_TUPLE: return join_tuples(j, first ? v.tuple : NULL, first ? NULL : v.tuple);
    case V_LIST: return join_lists(j, first ? v.list : NULL, first ? NULL : v.list);
    case V_DICT: return join_dicts(j, first ? v.dict : NULL, first ? NULL : v.dict);
    case V_OBJ: return v.obj->path ? v : join_objects(j, first ? v.obj : NULL, first ? NULL : v.obj);
    case V_SYMINT: case V_SYMBOOL: case V_SYMFLOAT: {
        Value zero = v.tag == V_SYMINT ? val_int(0) : v.tag == V_SYMBOOL ? val_bool(false) : val_float(0);
        return first ? join_numbers(j, v, zero) : join_numbers(j, zero, v);
    }
    case V_CHOICE:
        return val_choice(j->ev->cx, v.choice->at, v.choice->n, first ? join_numbers(j, v.choice->index, val_int(0)) : join_numbers(j, val_int(0), v.choice->index));
    default: return v;
    }
}

/* Different strings, or members of an enum: which of them is one more number that the arms give. */
static Value join_options(Join *j, Value a, Value b)
{
    Ctx *cx = j->ev->cx;
    Values all;
    Value in[2] = { a, b };
    if (!options_join(cx, a, b, &all))
        return never_alike(j, "the arms of a branch give a string and an enum's member, or members of two enums");
    for (int k = 0; k < 2; k++)                                        /* in the second walk only the kind of number counts */
        in[k] = j->walk == COLLECT || in[k].tag != V_CHOICE ? option_index(j->arm[k]->g, in[k], &all) : in[k].choice->index;
    Value index = join_numbers(j, in[0], in[1]);
    return index.tag == V_INT ? all.at[index.i] : val_choice(cx, all.at, (int64_t)all.n, index);
}

static Value join_pair(Join *j, Value a, Value b)
{
    if (val_is_option(a) && val_is_option(b))
        return join_options(j, a, b);
    if (container_lost(a) || container_lost(b))
        return never(j, container_lost(a) ? container_lost(a) : container_lost(b));
    if (val_is_int(a) && val_is_int(b))
        return join_numbers(j, a, b);
    if (val_is_bool(a) && val_is_bool(b))
        return join_numbers(j, a, b);
    if (val_is_float(a) && val_is_float(b))
        return join_numbers(j, a, b);
    if (a.tag == V_TENSOR && b.tag == V_TENSOR)
        return join_tensors(j, a.t, b.t);
    if (a.tag == V_TUPLE && b.tag == V_TUPLE && a.tuple->n == b.tuple->n)
        return join_tuples(j, a.tuple, b.tuple);
    if (a.tag == V_LIST && b.tag == V_LIST)
        return join_lists(j, a.list, b.list);
    if (a.tag == V_DICT && b.tag == V_DICT)
        return join_dicts(j, a.dict, b.dict);
    if (a.tag == V_OBJ && b.tag == V_OBJ)
        return join_objects(j, a.obj, b.obj);
    return never(j, str_fmt(j->ev->cx, "a value is %s in one arm of a branch and %s in the other%s", val_kind(a), val_kind(b),
                            j->sizes ? "" : ", and ONNX decides between them"));
}

/* None, or a value, of which one is None at least: whether it is there is one more thing that the arms give. */
static Value join_optionals(Join *j, Value a, Value b)
{
    Value in[2] = { a, b }, v, present;
    for (int k = 0; k < 2; k++)
        in[k] = in[k].tag == V_NONE ? unset : in[k].tag == V_MAYBE ? in[k].maybe->value : in[k];
    v = join_values(j, in[0], in[1]);
    present = join_values(j, val_present(a), val_present(b));
    if (present.tag == V_BOOL || v.tag == V_UNINIT)
        return present.tag != V_BOOL || present.b ? v : val_none();
    return val_maybe(j->ev->cx, present, v);
}

static Value join_values(Join *j, Value a, Value b)
{
    if (!val_ok(a) || !val_ok(b))
        return val_poison();
    if ((a.tag == V_UNINIT && a.any) || (b.tag == V_UNINIT && b.any))
        return join_unset(j, a, b);
    if (a.tag == V_UNINIT || b.tag == V_UNINIT)
        return a.tag == b.tag ? a : join_one(j, a.tag == V_UNINIT ? b : a, b.tag == V_UNINIT);
    if (same(j, a, b))
        return a;
    if (val_is_optional(a) || val_is_optional(b))
        return join_optionals(j, a, b);
    bool shared = a.tag == b.tag && (a.tag == V_TENSOR || a.tag == V_LIST || a.tag == V_DICT || a.tag == V_OBJ);
    Str key = shared ? str_fmt(j->ev->cx, "%d %p %p", j->walk, a.any, b.any) : NULL;
    const Value *known = shared ? map_get(&j->pairs, key) : NULL;
    if (known)
        return *known;
    Value v = join_pair(j, a, b);
    if (shared)
        map_put(j->ev->cx, &j->pairs, key, mem_copy(j->ev->cx, &v, sizeof v));
    return v;
}

/* ---- joining things ---- */

static bool join_cell(Join *j, Cell *c)
{
    const After *a = after_of(j->arm[0], c), *b = after_of(j->arm[1], c);
    Value v = join_values(j, a ? a->v : c->v, b ? b->v : c->v);
    if (j->walk == BUILD)
        cell_put(j->ev->cx, c, (a ? a : b)->born, v);
    return true;
}

static bool join_storage(Join *j, Storage *st)
{
    const After *a = after_of(j->arm[0], st), *b = after_of(j->arm[1], st);
    Ox x = a ? a->ox : st->now, y = b ? b->ox : st->now;
    if (!ox_ok(x) || !ox_ok(y)) {
        if (j->walk == BUILD)
            storage_set(j->ev->cx, st, POISON);
        return true;
    }
    Ox v = join_ox(j, x, y);
    if (j->walk == BUILD)
        storage_set(j->ev->cx, st, v);
    return true;
}

static bool join_list_stacked(Join *j, List *l, const Side side[2])
{
    Ctx *cx = j->ev->cx;
    ItemType item;
    if (!sides_alike(cx, side, &item))
        return disagree(j, str_fmt(cx, "a list has %lld items after one arm of a branch and %lld after the other, which are not of one type",
                                   (long long)side[0].n, (long long)side[1].n));
    Stacked *s = join_sides(j, side, item);
    if (s)
        list_become(cx, l, &(List){ .stacked = s });
    return !ctx_failed(cx);
}

static bool join_list(Join *j, List *l)
{
    Ctx *cx = j->ev->cx;
    Side side[2] = { side_after(j, 0, l), side_after(j, 1, l) };
    for (int k = 0; k < 2; k++)
        if (side[k].stacked && stacked_is_lost(side[k].stacked)) {
            if (j->walk == BUILD)
                list_become(cx, l, &(List){ .stacked = side[k].stacked });
            return true;                        /* an error once somebody reads it */
        }
    if (side[0].stacked || side[1].stacked || side[0].n != side[1].n)
        return join_list_stacked(j, l, side);
    List *joined = list_new(cx, side[0].n, l->elem);
    for (int64_t i = 0; i < side[0].n; i++)
        list_append(cx, joined, join_values(j, side[0].at[i], side[1].at[i]));
    if (j->walk == BUILD)
        list_become(cx, l, joined);
    return !ctx_failed(cx);
}

static bool join_dict(Join *j, Dict *d)
{
    Ctx *cx = j->ev->cx;
    const After *a = after_of(j->arm[0], d), *b = after_of(j->arm[1], d);
    int64_t n;
    Value *now = dict_values(cx, d, &n);
    const Value *x = a ? a->items : now, *y = b ? b->items : now;
    const Value *const at[2] = { x, y };
    const int64_t na[2] = { a ? a->n : n, b ? b->n : n };
    Str lost = a && a->lost ? a->lost : b && b->lost ? b->lost : NULL;
    if (lost && j->walk == BUILD)
        dict_lose(cx, d, lost);
    if (lost)
        return true;
    if (j->sizes && !same_keys(cx, at, na))
        return disagree(j, str_of(cx, "a dict has different keys after the two arms of a branch"));
    Dict *joined = dict_new(cx, d->type);
    joined->unordered = d->unordered;
    join_entries(j, at, na, joined);
    if (j->walk == BUILD)
        dict_become(cx, d, joined);
    return !ctx_failed(cx);
}

static bool join_thing(Join *j, const After *t)
{
    switch (t->kind) {
    case CHANGE_CELL: return join_cell(j, t->what);
    case CHANGE_STORAGE: return join_storage(j, t->what);
    case CHANGE_LIST: return join_list(j, t->what);
    case CHANGE_DICT: return join_dict(j, t->what);
    }
    return false;
}

/* Is this cell a local that only arm k ever looks at? */
static bool private_to(Join *j, int k, const After *t)
{
    return t->kind == CHANGE_CELL && local_to_block(j->ev, j->arm[k]->block, t->what);
}

static bool join_walk(Join *j, int walk, Value *result)
{
    j->walk = walk;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < j->arm[k]->after.n; i++) {
            const After *t = &j->arm[k]->after.at[i];
            if (k == 1 && after_of(j->arm[0], t->what))
                continue;
            if (!private_to(j, k, t) && !join_thing(j, t))
                return false;
        }
    *result = join_values(j, j->arm[0]->result, j->arm[1]->result);
    return !ctx_failed(j->ev->cx);
}

static bool make_if(Join *j)
{
    Eval *ev = j->ev;
    size_t n = j->out[0].n;
    j->made = new_array(ev->cx, Ox, n + 1);
    if (!j->made || n == 0)
        return j->made != NULL;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < n; i++)
            graph_output(j->arm[k]->g, j->out[k].at[i], NULL);
    Ox c = carry_ox(ev->g, j->condition);
    Attr arms[2] = { SUBGRAPH("then_branch", j->arm[0]->g), SUBGRAPH("else_branch", j->arm[1]->g) };
    return ox_make_n(ev->g, "If", INPUTS(c), arms, 2, j->made, n);
}

bool join_arms(Eval *ev, Value condition, bool sizes, Arm *yes, Arm *no, Value *result)
{
    Join j = { .ev = ev, .arm = { yes, no }, .condition = condition, .sizes = sizes };
    if (!join_walk(&j, COLLECT, result) || !make_if(&j) || !join_walk(&j, BUILD, result))
        return false;
    tell_same(&j);
    return !ctx_failed(ev->cx);
}
