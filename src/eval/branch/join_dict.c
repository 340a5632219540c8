/* join_dict.c - dicts after two branches of an if, joined key by key. A key that only one branch
 * has may be there behind the if (dynamic_dict.c). */
#include "eval/branch/condition.h"
#include "eval/branch/join.h"

/* Is the key there at the end of branch k? */
static Value present_in(Join *j, int k, Value entry)
{
    if (!val_is_maybe_key(entry))
        return val_bool(entry.tag != V_UNINIT || entry.any);
    Tri known = condition_implies(j->ev->cx, j->condition, k == 0, entry.maybe->present);
    return known == UNKNOWN ? entry.maybe->present : val_bool(known == YES);
}

/* The entry of a key behind the If, where the branches leave a and b; V_UNINIT: the key is not
 * there. */
static Value join_entry(Join *j, Value a, Value b)
{
    Value in[2] = { a, b }, present[2];
    if (!val_is_maybe_key(a) && !val_is_maybe_key(b) && (a.tag != V_UNINIT || a.any) &&
        (b.tag != V_UNINIT || b.any))
        return join_values(j, a, b);
    for (int k = 0; k < 2; k++) {
        present[k] = present_in(j, k, in[k]);
        if (present[k].tag == V_BOOL && !present[k].b)
            in[k] = val_unset();
        else if (val_is_maybe_key(in[k]))
            in[k] = in[k].maybe->value;
    }
    Value v = val_is_optional(in[0]) || val_is_optional(in[1])
        ? join_never(j,
                     "the value of a key is None in one branch of an if, and the key "
                     "is not there in the other")
        : join_values(j, in[0], in[1]);
    Value there = join_values(j, present[0], present[1]);
    if (there.tag != V_BOOL)
        return val_maybe_key(j->ev->cx, there, v);
    return there.b ? v : val_unset();
}

static bool same_keys(Ctx *cx, const Value *const at[2], const int64_t n[2])
{
    bool same = n[0] == n[1];
    for (int64_t i = 0; same && i < n[0]; i += 2)
        same = val_equal(cx, at[0][i], at[1][i]);
    return same;
}

static Value value_or_unset(const Cell *c) { return c ? c->v : val_unset(); }

/* Do the keys of the second branch that the first has too come first, and in the order of the first
 * branch? `a, b, c` and `a, c, d` do, `a, b` and `d, a` do not. first: the entries of the first
 * branch. */
static bool follows(Ctx *cx, const Value *const at[2], const int64_t n[2], Dict *first)
{
    int64_t met = 0;
    for (int64_t i = 0; met < n[1] && i < n[0]; i += 2)
        met += val_equal(cx, at[0][i], at[1][met]) ? 2 : 0;
    while (met < n[1] && !dict_find(cx, first, at[1][met]))
        met += 2;
    return met >= n[1];
}

/* Keys that are there in one branch only come where that branch has them. The order is known as
 * long as the keys of each branch come in it. */
static void join_entries(Join *j, const Value *const at[2], const int64_t n[2], Dict *out)
{
    Ctx *cx = j->ev->cx;
    Dict *in[2];
    for (int k = 0; k < 2; k++) {
        in[k] = dict_new(cx, NULL);
        for (int64_t i = 0; i < n[k]; i += 2)
            dict_set(cx, in[k], at[k][i], at[k][i + 1]);
    }
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < n[k]; i += 2) {
            const Cell *a = dict_find(cx, in[0], at[k][i]);
            const Cell *b = dict_find(cx, in[1], at[k][i]);
            if (k == 1 && a)
                continue;
            Value v = join_entry(j, value_or_unset(a), value_or_unset(b));
            if (v.tag != V_UNINIT || v.any)
                dict_set(cx, out, at[k][i], v);
        }
    if (!same_keys(cx, at, n) && !follows(cx, at, n, in[0]))
        out->unordered = true;
}

/* One branch has no dict: the entries of the other branch's dict, as outputs of the If where
 * they need one. first: that is the first branch. */
static void join_one_dict(Join *j, const Side *side, bool first, Dict *out)
{
    for (int64_t i = 0; i < side->n; i += 2) {
        Value v = side->at[i + 1];
        dict_set(j->ev->cx, out, side->at[i],
                 first ? join_values(j, v, val_unset()) : join_values(j, val_unset(), v));
    }
}

/* One dict in place of two; NULL: that branch has none. A dict from before the branches may have
 * other names, and it is not known whether this is that dict: they become aliases. */
Value join_dicts(Join *j, Dict *a, Dict *b)
{
    Ctx *cx = j->ev->cx;
    Dict *from[2] = { a, b };
    const Side side[2] = { join_side(j, 0, NULL, a), join_side(j, 1, NULL, b) };
    const Value *const at[2] = { side[0].at, side[1].at };
    const int64_t n[2] = { side[0].n, side[1].n };
    if (a && b && j->sizes && !same_keys(cx, at, n))
        return join_never(j, "the branches of an if give dicts with other keys");
    Value made = { .tag = V_DICT, .dict = dict_new(cx, (a ? a : b)->type) };
    made.dict->unordered = (a && a->unordered) || (b && b->unordered);
    if (a && b)
        join_entries(j, at, n, made.dict);
    if (!a || !b)
        join_one_dict(j, a ? &side[0] : &side[1], a != NULL, made.dict);
    for (int k = 0; k < 2; k++)
        if (from[k])
            join_may_be(j, k, made, (Value){ .tag = V_DICT, .dict = from[k] }, from[k]->created);
    return made;
}

/* ---- a dict that both branches can see ---- */

/* For each branch, the entries that some branch has written, in their order, but for those that it
 * has taken away; `gone`: what both have. Other entries are as before the branches. */
static void written_entries(Join *j, const Dict *d, const After *const after[2], Values out[2],
                            Values *gone)
{
    Ctx *cx = j->ev->cx;
    size_t next[2] = { 0, 0 };
    const Placed *p[2];
    while (join_next_place(after, next, p)) {
        int64_t i = (p[0] ? p[0] : p[1])->i;
        if (p[0] && p[0]->gone && p[1] && p[1]->gone)
            vec_push(cx, gone, p[0]->key);
        for (int k = 0; k < 2; k++) {
            bool there = p[k] ? !p[k]->gone : i < d->n; /* else only the other branch has it */
            if (!there)
                continue;
            vec_push(cx, &out[k], p[k] ? p[k]->key : d->at[i].key);
            vec_push(cx, &out[k], p[k] ? p[k]->v : d->at[i].val.v);
        }
    }
}

/* Writes the joined entries to d. A key that neither branch has left is removed. */
static void put_entries(Ctx *cx, Dict *d, const Values written[2], Values gone, Dict *joined)
{
    for (size_t i = 0; i < gone.n; i++)
        dict_drop(cx, d, gone.at[i]);
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < written[k].n; i += 2)
            if (!dict_find(cx, joined, written[k].at[i]))
                dict_drop(cx, d, written[k].at[i]);
    for (int64_t i = 0; i < joined->n; i++)
        dict_enter(cx, d, joined->at[i].key, joined->at[i].val.v);
    d->unordered = joined->unordered;
}

/* A dict that both branches can see, written in at least one of them: {"a": x} and {"a": y, "b": z}
 * become {"a": If, "b": z if that branch ran}. */
bool join_dict(Join *j, Dict *d)
{
    Ctx *cx = j->ev->cx;
    const After *const after[2] = { branch_after(j->branch[0], d), branch_after(j->branch[1], d) };
    Str invalid = NULL;
    int again = 0; /* how many branches leave keys in another order than before */
    for (int k = 0; k < 2; k++) {
        if (after[k] && after[k]->invalid && !invalid)
            invalid = after[k]->invalid;
        again += after[k] && after[k]->again;
    }
    bool all_entries = again == 2 && !d->unordered; /* it may be the same order in both */
    if (invalid && j->walk == BUILD)
        dict_invalidate(cx, d, invalid);
    if (invalid)
        return true;
    Values written[2] = { { 0 }, { 0 } };
    Values gone = { 0 };
    const Value *at[2];
    int64_t n[2];
    if (!all_entries)
        written_entries(j, d, after, written, &gone);
    for (int k = 0; k < 2; k++) {
        Side all = all_entries ? join_side(j, k, NULL, d)
                               : (Side){ .at = written[k].at, .n = (int64_t)written[k].n };
        at[k] = all.at;
        n[k] = all.n;
    }
    if (j->sizes && !same_keys(cx, at, n))
        return join_disagree(
            j, str_of(cx, "a dict has different keys after the two branches of an if"));
    Dict *joined = dict_new(cx, d->type);
    joined->unordered = d->unordered || again == 1;
    join_entries(j, at, n, joined);
    if (j->walk == BUILD && all_entries)
        dict_become(cx, d, joined);
    else if (j->walk == BUILD)
        put_entries(cx, d, written, gone, joined);
    return !ctx_failed(cx);
}
