/* join.c - both branches of an if have run: If joins what differs.
 *
 * The union of what the branches changed is joined in two walks over the same values: the first
 * collects pairs of values to export, then the If is made, the second puts its outputs in their
 * places. What cannot be joined (None or a tensor, different ranks) is not an error yet, since most
 * locals are never looked at again: reading it is. */
#include <assert.h>

#include "eval/branch/condition.h"
#include "eval/branch/join.h"

#include "eval/branch/carry.h"
#include "eval/branch/choice.h"
#include "eval/branch/liveness.h"

Ox join_ox(Join *j, Ox a, Ox b)
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

/* The joined number v lies in the range that a and b have together. */
static Value within_both(Ctx *cx, Value v, Value a, Value b)
{
    Dim d, x, y;
    int64_t lo, hi, lo_b, hi_b;
    if (v.tag != V_SYMINT || !val_dim_of(v, cx, &d) || !dim_is_sym(d, NULL) ||
        !val_dim_of(a, cx, &x) || !val_dim_of(b, cx, &y))
        return v;
    dim_range(cx, x, &lo, &hi);
    dim_range(cx, y, &lo_b, &hi_b);
    if (lo_b < lo)
        lo = lo_b;
    if (hi_b > hi)
        hi = hi_b;
    dim_set_range(cx, d, lo, hi);
    return v;
}

static bool is_symbolic(Value v)
{
    return v.tag == V_SYMBOOL || v.tag == V_SYMINT || v.tag == V_SYMFLOAT;
}

/* Two known numbers become a Where behind the branches, and no output of the If. */
static Value choose_number(Join *j, Value a, Value b)
{
    Eval *ev = j->ev;
    if (j->walk == COLLECT)
        return a;
    Ox x = carry_ox(ev->g, a);
    Ox y = carry_ox(ev->g, b);
    Ox c = carry_ox(ev->g, j->condition);
    return within_both(ev->cx, number_value(ev, a, ox_g(ev->g, "Where", c, x, y)), a, b);
}

/* `c and x` is saved as an if that gives x, else False. Where `made`, its result, is true, the
 * condition and x are true. */
static Value both_true(Join *j, Value made, Value a, Value b)
{
    Eval *ev = j->ev;
    bool is_and = b.tag == V_BOOL && !b.b && j->condition.tag == V_SYMBOOL;
    if (made.tag != V_SYMBOOL || !is_and || !made.sb->ox || made.sb->left)
        return made;
    bool seen = a.tag == V_SYMBOOL && a.sb->ox && graph_sees(ev->g, a.sb->ox);
    return val_implying(ev->cx, made, j->condition, seen ? a : j->condition);
}

/* Ints, floats or bools, known or not: 1 and 2 become Where(condition, 1, 2), n and 2 an output
 * of the If. */
static Value join_numbers(Join *j, Value a, Value b)
{
    Eval *ev = j->ev;
    if (a.tag == V_BOOL &&
        b.tag == V_BOOL) /* True and False, or the reverse: the condition itself */
        return a.b ? j->condition : val_not(ev->g, j->condition);
    if (!is_symbolic(a) && !is_symbolic(b))
        return choose_number(j, a, b);
    if (j->walk == COLLECT) {
        Ox x = carry_ox(j->branch[0]->g, a);
        Ox y = carry_ox(j->branch[1]->g, b);
        join_ox(j, x, y);
        return a;
    }
    Ox v = join_ox(j, NULL, NULL);
    return both_true(j, within_both(ev->cx, number_value(ev, a, v), a, b), a, b);
}

/* What `what` is at the end of branch k, also once it has been joined; NULL: no branch changed
 * it. For items of lists and dicts see join_side. */
static const After *join_state(Join *j, int k, const void *what)
{
    const After *after = branch_after(j->branch[k], what);
    return after ? after : map_get(&j->before, what);
}

/* Joining changes cells, lists and dicts in place, while a value that is joined later may hold
 * the same one under another name. So what only one branch has changed is kept as it was before. */
static void keep_before(Join *j)
{
    Ctx *cx = j->ev->cx;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < j->branch[k]->after.n; i++) {
            const After *t = &j->branch[k]->after.at[i];
            if (branch_after(j->branch[1 - k], t->what))
                continue;
            After *was = new(cx, After);
            *was = (After){ .kind = t->kind, .what = t->what, .created = t->created };
            if (t->kind == CHANGE_STORAGE)
                was->ox = ((const Storage *)t->what)->now;
            else if (t->kind == CHANGE_CELL)
                was->v = ((const Cell *)t->what)->v;
            was->stacked = t->kind == CHANGE_LIST ? ((const List *)t->what)->stacked : NULL;
            was->invalid = t->kind == CHANGE_DICT ? ((const Dict *)t->what)->invalid : NULL;
            map_put(cx, &j->before, t->what, was);
        }
}

/* All items as a branch leaves them: those that the branch has put in some places, and the
 * others as they were before, of a dict without those that are gone. */
static Value *placed_over(Ctx *cx, const Value *was, int64_t n_was, const After *after)
{
    int64_t each = after->kind == CHANGE_DICT ? 2 : 1;
    Value *at = new_array(cx, Value, each * after->n + 1);
    size_t next = 0;
    int64_t n = 0;
    for (int64_t i = 0; at && n < after->n; i++) {
        const Placed *p = next < after->placed.n ? &after->placed.at[next] : NULL;
        p = p && p->i == i ? p : NULL;
        next += p != NULL;
        if (p && p->gone)
            continue;
        if (!p && i >= n_was)
            break; /* a branch has put something in every place behind the old ones */
        if (each == 2)
            at[2 * n] = p ? p->key : was[2 * i];
        at[each * n + each - 1] = p ? p->v : was[each * i + each - 1];
        n++;
    }
    return at;
}

static Value *values_of(Ctx *cx, const List *l, const Dict *d, int64_t *n)
{
    return l ? list_values(cx, l, n) : dict_values(cx, d, n);
}

/* In the first walk the list or dict is as it was before the branches, and what branch k has put
 * there is laid over that. The second walk, which changes it, finds what the first has kept. */
Side join_side(Join *j, int k, const List *l, const Dict *d)
{
    Ctx *cx = j->ev->cx;
    const void *what = l ? (const void *)l : d;
    if (!what)
        return (Side){ .missing = true };
    Side *s = map_get(&j->sides[k], what);
    if (s)
        return *s;
    const After *after = branch_after(j->branch[k], what);
    assert(j->walk == COLLECT || (!after && !branch_after(j->branch[1 - k], what)));
    int64_t n;
    const int64_t n_before = l ? l->n : d->n;
    Value *at = values_of(cx, l, d, &n);
    n = after ? after->n : n_before;
    if (!(s = new(cx, Side)))
        return (Side){ .missing = true };
    if (after && after->placed.n)
        at = placed_over(cx, at, n_before, after);
    *s = (Side){ .at = at, .n = d ? 2 * n : n };
    if (l)
        s->stacked = after ? after->stacked : l->stacked;
    map_put(cx, &j->sides[k], what, s);
    return *s;
}

/* Why it is not known what the storage holds at the end of branch k; NULL: it is known. */
static Str storage_invalid(Join *j, int k, const Storage *st)
{
    const After *after = join_state(j, k, st);
    Ox now = after ? after->ox : st->now;
    return ox_ok(now) ? NULL : st->invalid;
}

Str join_stacked_invalid(Join *j, int k, const Stacked *s)
{
    return storage_invalid(j, k, s->memory->st);
}

/* See join.h. The reason is the container's own, that of a stacked list's tensor, or that of the
 * container's mark. */
Str join_invalid(Join *j, int k, Value v)
{
    const After *after = v.tag == V_LIST || v.tag == V_DICT ? join_state(j, k, v.any) : NULL;
    Str invalid = NULL;
    if (v.tag == V_DICT)
        invalid = after ? after->invalid : v.dict->invalid;
    if (v.tag == V_LIST) {
        const Stacked *stacked = after ? after->stacked : v.list->stacked;
        invalid = stacked ? join_stacked_invalid(j, k, stacked) : NULL;
    }
    const Tensor *mark = container_marked(v);
    return invalid || !mark ? invalid : storage_invalid(j, k, mark->st);
}

/* See join.h. A tensor that the branch has put nowhere is read now, out of its storage as the
 * branch has left it. */
Ox join_tensor_after(Join *j, int k, Tensor *t)
{
    Branch *branch = j->branch[k];
    const MapEntry *known = map_find(&branch->read, t);
    const After *written = branch_after(branch, t->st);
    if (known)
        return known->val;
    Ox v = POISON;
    if (written)
        v = tensor_read_as(branch->g, t, written->ox);
    else if (!tensor_is_invalid(t))
        v = tensor_read(branch->g, t);
    map_put(j->ev->cx, &branch->read, t, v);
    return v;
}

/* A value about which the branches do not agree: reading it is the error `why`. */
static Value never(const Join *j, Str why)
{
    Value v = val_never(j->ev->cx, why);
    MUTABLE(Unset, v.any)->branch = j->sizes; /* it is new */
    return v;
}

Value join_never(const Join *j, const char *why) { return never(j, str_of(j->ev->cx, why)); }

bool join_disagree(const Join *j, Str why)
{
    Ctx *cx = j->ev->cx;
    return j->sizes ? facts_take_branch(cx, where_intern(cx), why)
                    : fail(cx, E_UNSUPPORTED, "%s, and ONNX decides between them", why->s);
}

/* The If gives x or y, of different ranks: the model may return this value, and any other use is
 * the error of `never`. */
static Value varying(Join *j, Value never, Ox x, Ox y)
{
    Ctx *cx = j->ev->cx;
    if (!rank_may_vary(cx))
        return never;
    Ox v = join_ox(j, x, y);
    if (j->walk == BUILD) {
        rank_varies(cx, v, ox_rank(x) < 0 ? facts_usual(cx, x) : x->type);
        MUTABLE(Unset, never.any)->varies = v; /* it is new */
    }
    return never;
}

/* f32[3] in one branch and f32[2,3] in the other. The error of any use but returning it says what
 * decides the condition, or that nothing outside of the program can. */
static Value different_ranks(Join *j, Ox x, Ox y)
{
    Ctx *cx = j->ev->cx;
    bool data = j->condition.tag == V_SYMBOOL && j->condition.sb->ox;
    if (j->sizes)
        return varying(j,
                       never(j,
                             str_fmt(cx, "one gives a tensor of rank %d, the other one of rank %d",
                                     ox_rank(x), ox_rank(y))),
                       x, y);
    const char *advice = data
        ? "the condition rests on data, so the program must give both one rank (unsqueeze, reshape)"
        : "fix the sizes that the condition rests on with -i, or the numbers among the arguments "
          "(-i k=3)";
    Str why = str_fmt(
        cx, "one branch of an if gives %s, the other %s, and ONNX decides between them; %s",
        type_text(cx, x->type)->s, type_text(cx, y->type)->s, advice);
    return varying(j, never(j, why), x, y);
}

/* The tensor v at the end of branch k, whose rank may differ between runs; NULL: v is no tensor. */
static Ox any_rank(Join *j, int k, Value v)
{
    const Unset *u = v.tag == V_UNINIT ? v.any : NULL;
    if (v.tag == V_TENSOR && v.t->kind == PLAIN)
        return join_tensor_after(j, k, v.t);
    return u ? u->varies : NULL;
}

/* One of a and b is a tensor whose rank differs between runs, or a value that cannot be joined. */
static Value join_unset(Join *j, Value a, Value b)
{
    Value why = a.tag == V_UNINIT && a.any ? a : b;
    Ox x = any_rank(j, 0, a);
    Ox y = any_rank(j, 1, b);
    Unset *u = mem_copy(j->ev->cx, why.any, sizeof *u);
    if (!u)
        return val_poison();
    Value v = { .tag = V_UNINIT, .any = u };
    if (x && y && ox_ok(x) && ox_ok(y) && ox_dtype(x) == ox_dtype(y))
        return varying(j, v, x, y);
    if (u->varies && !graph_sees(j->ev->g, u->varies))
        u->varies = NULL; /* it is the branch's own */
    return v;
}

/* What joining gives where the contents of one of the two tensors are not known. */
static Value unknown_tensor(const Join *j, const Storage *st)
{
    if (!st->invalid)
        return val_poison();
    return never(j,
                 str_fmt(j->ev->cx,
                         "what this tensor holds is not known: %s, and one of them was written "
                         "since",
                         st->invalid->s));
}

/* What the If gives for two tensors, of which one may be missing (NULL). A tensor of one branch
 * alone is not read when the other branch ran, so it needs no If if the graph around sees it. */
static Ox tensor_output(Join *j, Ox x, Ox y)
{
    Ox one = x ? x : y;
    if ((!x || !y) && graph_sees(j->ev->g, one))
        return one;
    if (j->walk == COLLECT && !x)
        x = stand_in(j->branch[0]->g, y);
    else if (j->walk == COLLECT && !y)
        y = stand_in(j->branch[1]->g, x);
    return join_ox(j, x, y);
}

static bool is_contiguous(const Join *j, Tensor *t)
{
    return !t || tensor_contiguous(j->ev->cx, t) == YES;
}

/* A new tensor of what the If gives, which may share memory with a or b. */
static Value joined_tensor(Join *j, Tensor *a, Tensor *b, Ox v)
{
    Ctx *cx = j->ev->cx;
    Tensor *t = tensor_new(cx, v);
    if (!tensor_set_kind(j->ev->g, t, a ? a : b))
        return join_never(j,
                          "a branch of an if gives a quantised tensor whose scale it computes: "
                          "dequantize it there");
    t->contiguous = is_contiguous(j, a) && is_contiguous(j, b) ? YES : UNKNOWN;
    Value made = { .tag = V_TENSOR, .t = t };
    if (a)
        join_may_be(j, 0, made, (Value){ .tag = V_TENSOR, .t = a }, a->st->created);
    if (b)
        join_may_be(j, 1, made, (Value){ .tag = V_TENSOR, .t = b }, b->st->created);
    return made;
}

static Value different_kinds(const Join *j, const Tensor *a, const Tensor *b)
{
    return join_never(j,
                      a->kind == b->kind
                          ? "the branches of an if give tensors that are quantised with different "
                            "scales: dequantize them there"
                          : "the branches of an if give tensors of different kinds");
}

/* One tensor in place of a and b; NULL: that branch has none. f32[3] and f32[4] become f32[d].
 * Where ranks or dtypes differ, reading the value is an error. */
static Value join_tensors(Join *j, Tensor *a, Tensor *b)
{
    Ctx *cx = j->ev->cx;
    if (a && b && same_tensor(a, b))
        return (Value){ .tag = V_TENSOR, .t = a };
    if (a && b && !tensors_same_kind(cx, a, b))
        return different_kinds(j, a, b);
    Ox x = a ? join_tensor_after(j, 0, a) : NULL;
    Ox y = b ? join_tensor_after(j, 1, b) : NULL;
    if (x && !ox_ok(x))
        return unknown_tensor(j, a->st);
    if (y && !ox_ok(y))
        return unknown_tensor(j, b->st);
    if (x && y && ox_dtype(x) != ox_dtype(y))
        return never(j,
                     str_fmt(cx, "one branch of an if gives a tensor of %s, the other one of %s",
                             dtype_name(ox_dtype(x)), dtype_name(ox_dtype(y))));
    if (x && y && ox_rank(x) != ox_rank(y))
        return different_ranks(j, x, y);
    Ox v = tensor_output(j, x, y);
    return j->walk == COLLECT ? val_none() : joined_tensor(j, a, b, v);
}

static Value join_tuples(Join *j, const Tuple *a, const Tuple *b)
{
    const Tuple *one = a ? a : b;
    Value *items = new_array(j->ev->cx, Value, one->n + 1);
    if (!items)
        return val_poison();
    for (int64_t i = 0; i < one->n; i++) {
        Value in_a = a ? a->at[i] : val_unset();
        Value in_b = b ? b->at[i] : val_unset();
        items[i] = join_values(j, in_a, in_b);
    }
    Value v = val_tuple(j->ev->cx, items, one->n);
    v.tuple->type = one->type;
    v.tuple->fields = one->fields;
    return v;
}

/* May v be the same as another tensor or container? A value that an inner if has joined may be. */
static bool has_aliases(Value v)
{
    const Tensor *mark = v.tag == V_TENSOR ? v.t : container_marked(v);
    return (mark && mark->st->aliases) || (v.tag == V_LIST && v.list->aliases) ||
        (v.tag == V_DICT && v.dict->aliases);
}

void join_may_be(Join *j, int k, Value made, Value from, uint64_t created)
{
    if (j->walk == BUILD)
        vec_push(j->ev->cx, &j->same, (Same){ made, from, created <= j->branch[k]->opened });
}

/* What two names of v share: a tensor and its views are of one memory. */
static const void *shared_thing(Value v) { return v.tag == V_TENSOR ? (void *)v.t->st : v.any; }

static void make_aliases(Join *j, const Same *s)
{
    Ctx *cx = j->ev->cx;
    if (s->made.tag == V_TENSOR) {
        maybe_the_same(cx, s->made.t, s->from.t, UINT64_MAX);
        return;
    }
    containers_maybe_same(
        cx, s->made, s->from,
        s->made.tag == V_LIST
            ? "two lists are one and the same after one branch of an if only"
            : "two dicts or objects are one and the same after one branch of an if only");
}

/* Makes aliases of the tensors and containers that may be one and the same. What a branch has
 * made itself is reached in no other way, unless several things were joined from it: `o = t` and
 * `h = t`. Called once all is joined: writing the joined state must not make an alias invalid. */
static void tell_same(Join *j)
{
    Map once = { 0 };
    Map again = { 0 };
    for (size_t i = 0; i < j->same.n; i++) {
        const void *thing = shared_thing(j->same.at[i].from);
        if (!map_add(j->ev->cx, &once, thing, NULL))
            map_put(j->ev->cx, &again, thing, NULL);
    }
    for (size_t i = 0; i < j->same.n; i++) {
        const Same *s = &j->same.at[i];
        if (s->older || has_aliases(s->from) || map_find(&again, shared_thing(s->from)))
            make_aliases(j, s);
    }
}

Value join_slot_after(Join *j, int k, const Obj *o, int64_t i)
{
    const After *after = o ? join_state(j, k, &o->slot[i]) : NULL;
    if (!o)
        return val_unset();
    return after ? after->v : o->slot[i].v;
}

enum { MAX_DEPTH = 64 }; /* an object may hold itself */

/* One object in place of two of one class, joined attribute by attribute. */
static Value join_objects(Join *j, Obj *a, Obj *b)
{
    Obj *from[2] = { a, b };
    const Obj *one = a ? a : b;
    if ((a && a->path) || (b && b->path) || (a && b && a->cls != b->cls) || j->depth >= MAX_DEPTH)
        return join_never(j, "the branches of an if give different objects");
    Value made = { .tag = V_OBJ, .obj = obj_new(j->ev->cx, one->cls, one->n, one->names, NULL) };
    j->depth++;
    for (int64_t i = 0; i < one->n; i++)
        cell_init(&made.obj->slot[i],
                  join_values(j, join_slot_after(j, 0, a, i), join_slot_after(j, 1, b, i)));
    j->depth--;
    for (int k = 0; k < 2; k++)
        if (from[k])
            join_may_be(j, k, made, (Value){ .tag = V_OBJ, .obj = from[k] }, from[k]->created);
    return made;
}

static bool same(Join *j, Value a, Value b)
{
    if (a.tag != b.tag)
        return false;
    if (a.tag == V_TENSOR || a.tag == V_LIST || a.tag == V_DICT || a.tag == V_OBJ ||
        a.tag == V_SYMFLOAT || a.tag == V_CHOICE)
        return a.any == b.any;
    if (a.tag == V_SYMBOOL)
        return a.any == b.any && (!a.sb->ox || graph_sees(j->ev->g, a.sb->ox));
    if (a.tag == V_SYMINT)
        return dim_eq(j->ev->cx, a.dim, b.dim) == YES && dim_is_outside(j->ev->g, a.dim);
    return a.tag != V_TUPLE && val_equal(j->ev->cx, a, b);
}

/* Two values of one kind with identity, or tuples. One of them may be val_unset(), whose pointer
 * is NULL. */
static Value join_things(Join *j, Value a, Value b)
{
    Value one = a.tag == V_UNINIT ? b : a;
    switch (one.tag) {
    case V_TENSOR: return join_tensors(j, a.t, b.t);
    case V_TUPLE:  return join_tuples(j, a.tuple, b.tuple);
    case V_LIST:   return join_lists(j, a.list, b.list);
    case V_DICT:   return join_dicts(j, a.dict, b.dict);
    default:       break;
    }
    bool is_module = one.obj->path && (!a.obj || !b.obj);
    return is_module ? one : join_objects(j, a.obj, b.obj);
}

static bool has_identity(Value v)
{
    return v.tag == V_TENSOR || v.tag == V_LIST || v.tag == V_DICT || v.tag == V_OBJ;
}

static Value join_pair(Join *j, Value a, Value b);

/* A pair of tensors, lists, dicts or objects is joined once in each walk, so that two names of
 * one object stay two names of one object. One of the two may be val_unset(). */
static Value join_once(Join *j, Value a, Value b)
{
    Ctx *cx = j->ev->cx;
    bool missing = a.tag == V_UNINIT || b.tag == V_UNINIT;
    Value one = a.tag == V_UNINIT ? b : a;
    Str key = NULL;
    if (has_identity(one) && (missing || a.tag == b.tag))
        key = str_fmt(cx, "%d %p %p", j->walk, a.any, b.any);
    const Value *known = key ? map_get(&j->pairs, key) : NULL;
    if (known)
        return *known;
    Value v = missing ? join_things(j, a, b) : join_pair(j, a, b);
    if (key)
        map_put(cx, &j->pairs, key, mem_copy(cx, &v, sizeof v));
    return v;
}

static Value zero_like(Value v)
{
    if (v.tag == V_SYMINT)
        return val_int(0);
    return v.tag == V_SYMBOOL ? val_bool(false) : val_float(0);
}

/* A number of one branch; the other branch, which has none, gives any number. */
static Value join_one_number(Join *j, Value v, bool first)
{
    Value zero = zero_like(v);
    return first ? join_numbers(j, v, zero) : join_numbers(j, zero, v);
}

/* A value that only one branch has set: v itself, or an output of the If where v is of the
 * branch's own graph. first: v is of the first branch. */
static Value join_one(Join *j, Value v, bool first)
{
    Value a = first ? v : val_unset();
    Value b = first ? val_unset() : v;
    switch (v.tag) {
    case V_TENSOR:
    case V_TUPLE:
    case V_LIST:
    case V_DICT:
    case V_OBJ:      return join_once(j, a, b);
    case V_SYMINT:
    case V_SYMBOOL:
    case V_SYMFLOAT: return join_one_number(j, v, first);
    case V_MAYBE:    {
        Value present = join_one(j, v.maybe->present, first);
        return val_maybe_like(j->ev->cx, v.maybe, present, join_one(j, v.maybe->value, first));
    }
    case V_CHOICE: {
        Value place = v.choice->index;
        return val_choice(j->ev->cx, v.choice->at, v.choice->n,
                          first ? join_numbers(j, place, val_int(0))
                                : join_numbers(j, val_int(0), place));
    }
    default: return v;
    }
}

/* Different strings, or members of an enum, become a choice, whose index is one more output of
 * the If. */
static Value join_options(Join *j, Value a, Value b)
{
    Ctx *cx = j->ev->cx;
    Values all;
    Value in[2] = { a, b };
    if (!options_join(cx, a, b, &all))
        return join_never(
            j, "the branches of an if give a string and an enum's member, or members of two enums");
    for (int k = 0; k < 2; k++) {
        bool collect = j->walk == COLLECT || in[k].tag != V_CHOICE;
        /* in the second walk only the kind of number counts */
        in[k] = collect ? option_index(j->branch[k]->g, in[k], &all) : in[k].choice->index;
    }
    Value index = join_numbers(j, in[0], in[1]);
    return index.tag == V_INT ? all.at[index.i] : val_choice(cx, all.at, (int64_t)all.n, index);
}

/* Are they numbers of one kind, known or not? */
static bool same_kind_of_number(Value a, Value b)
{
    return (val_is_int(a) && val_is_int(b)) || (val_is_bool(a) && val_is_bool(b)) ||
        (val_is_float(a) && val_is_float(b));
}

/* Joins two values that both branches have set and that are not the same. */
static Value join_pair(Join *j, Value a, Value b)
{
    if (val_is_option(a) && val_is_option(b))
        return join_options(j, a, b);
    if (same_kind_of_number(a, b))
        return join_numbers(j, a, b);
    bool things = a.tag == b.tag &&
        (a.tag == V_TENSOR || a.tag == V_LIST || a.tag == V_DICT || a.tag == V_OBJ ||
         (a.tag == V_TUPLE && a.tuple->n == b.tuple->n));
    if (things)
        return join_things(j, a, b);
    return never(j,
                 str_fmt(j->ev->cx, "a value is %s in one branch of an if and %s in the other%s",
                         val_kind(a), val_kind(b),
                         j->sizes ? "" : ", and ONNX decides between them"));
}

/* v, which may be None, at the end of branch k, where that was the very condition: None or the
 * value. */
static Value settled(Join *j, int k, Value v)
{
    if (v.tag != V_MAYBE || v.maybe->key || j->condition.tag != V_SYMBOOL)
        return v;
    switch (condition_implies(j->ev->cx, j->condition, k == 0, v.maybe->present)) {
    case YES: return v.maybe->value;
    case NO:  return val_none();
    default:  return v;
    }
}

/* Joins values of which at least one is None or may be: whether the value is there is one more
 * output of the If. */
static Value join_optionals(Join *j, Value a, Value b)
{
    a = settled(j, 0, a);
    b = settled(j, 1, b);
    if (!val_is_optional(a) && !val_is_optional(b))
        return join_values(j, a, b);
    Value in[2] = { a, b }, v, present;
    for (int k = 0; k < 2; k++)
        if (in[k].tag == V_NONE)
            in[k] = val_unset();
        else if (in[k].tag == V_MAYBE)
            in[k] = in[k].maybe->value;
    v = join_values(j, in[0], in[1]);
    present = join_values(j, val_present(a), val_present(b));
    if (present.tag == V_BOOL || v.tag == V_UNINIT)
        return present.tag != V_BOOL || present.b ? v : val_none();
    return val_maybe(j->ev->cx, present, v);
}

/* A value that is the error why it is not known what container a or b holds; V_NONE: that is
 * known. */
static Value join_unknown(Join *j, Value a, Value b)
{
    Value in[2] = { a, b };
    for (int k = 0; k < 2; k++) {
        Str invalid = join_invalid(j, k, in[k]);
        if (invalid)
            return never(
                j,
                str_fmt(j->ev->cx,
                        "what this %s holds is not known: %s, and one of them was written since",
                        container_name(in[k]), invalid->s));
    }
    return val_none();
}

/* What a variable, item or attribute holds behind the If, where the first branch leaves a there
 * and the second b. V_UNINIT without a reason: that branch never set it. */
Value join_values(Join *j, Value a, Value b)
{
    check_stack(j->ev->cx);
    count_values(j->ev->cx, 1);
    if (!val_ok(a) || !val_ok(b))
        return val_poison();
    if ((a.tag == V_UNINIT && a.any) || (b.tag == V_UNINIT && b.any))
        return join_unset(j, a, b);
    if (same(j, a, b) || (a.tag == V_UNINIT && b.tag == V_UNINIT))
        return a;
    Value unknown = join_unknown(j, a, b);
    if (unknown.tag != V_NONE)
        return unknown;
    if (a.tag == V_UNINIT || b.tag == V_UNINIT)
        return join_one(j, a.tag == V_UNINIT ? b : a, b.tag == V_UNINIT);
    if (val_is_optional(a) || val_is_optional(b))
        return join_optionals(j, a, b);
    return join_once(j, a, b);
}

/* ---- joining things ---- */

static bool join_cell(Join *j, Cell *c)
{
    const After *a = branch_after(j->branch[0], c);
    const After *b = branch_after(j->branch[1], c);
    Value in_a = a ? a->v : c->v;
    Value in_b = b ? b->v : c->v;
    Value v = join_values(j, in_a, in_b);
    if (j->walk == BUILD)
        cell_put(j->ev->cx, c, (a ? a : b)->created, v);
    return true;
}

static bool join_storage(Join *j, Storage *st)
{
    const After *a = branch_after(j->branch[0], st);
    const After *b = branch_after(j->branch[1], st);
    Ox x = a ? a->ox : st->now;
    Ox y = b ? b->ox : st->now;
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

static bool join_thing(Join *j, const After *t)
{
    switch (t->kind) {
    case CHANGE_CELL:    return join_cell(j, t->what);
    case CHANGE_STORAGE: return join_storage(j, t->what);
    case CHANGE_LIST:    return join_list(j, t->what);
    case CHANGE_DICT:    return join_dict(j, t->what);
    }
    return false;
}

/* Is this cell a local that only branch k reads? */
static bool private_to(Join *j, int k, const After *t)
{
    return t->kind == CHANGE_CELL && local_to_block(j->ev, j->branch[k]->block, t->what);
}

static bool join_walk(Join *j, int walk, Value *result)
{
    j->walk = walk;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < j->branch[k]->after.n; i++) {
            const After *t = &j->branch[k]->after.at[i];
            if (k == 1 && branch_after(j->branch[0], t->what))
                continue;
            if (!private_to(j, k, t) && !join_thing(j, t))
                return false;
        }
    *result = join_values(j, j->branch[0]->result, j->branch[1]->result);
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
            graph_output(j->branch[k]->g, j->out[k].at[i], NULL);
    Ox c = carry_ox(ev->g, j->condition);
    Attr branches[2] = { SUBGRAPH("then_branch", j->branch[0]->g),
                         SUBGRAPH("else_branch", j->branch[1]->g) };
    return ox_make_n(ev->g, "If", INPUTS(c), branches, 2, j->made, n);
}

bool join_branches(Eval *ev, Value condition, bool sizes, Branch *yes, Branch *no, Value *result)
{
    Join j = { .ev = ev, .branch = { yes, no }, .condition = condition, .sizes = sizes };
    keep_before(&j);
    if (!join_walk(&j, COLLECT, result) || !make_if(&j) || !join_walk(&j, BUILD, result))
        return false;
    tell_same(&j);
    return !ctx_failed(ev->cx);
}
