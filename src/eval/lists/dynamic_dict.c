/* dynamic_dict.c - dicts of which only the running model knows what keys they have: one branch of
 * an if sets a key, or a run before this one has.
 *
 * The entry of such a key holds a value and whether the key is there (a Maybe of a key). `k in d`
 * gives whether it is there; d[k] may be asked for where a condition has said that it is. The order
 * of the keys may be dynamic too, so every operator that goes through them is refused. */
#include "eval/lists/dynamic_dict.h"

#include "eval/branch/carry.h"
#include "eval/branch/condition.h"

/* Is the key there, as far as the conditions of the branches around say? */
static Tri is_there(Eval *ev, Value present)
{
    Tri t = condition_implies(ev->cx, val_none(), true, present);
    for (const KnownCondition *given = ev->known; given && t == UNKNOWN; given = given->up)
        t = condition_implies(ev->cx, given->condition, given->truth, present);
    return t;
}

/* ---- operators ---- */

typedef struct DictOp {
    Eval *ev;
    Dict *d;
    const OpArg *arg;
    size_t n;
    Value *out;
} DictOp;

static bool wants_key(DictOp *op)
{
    Value key = op->arg[1].v;
    bool known = key.tag == V_STR || key.tag == V_INT || key.tag == V_FLOAT || key.tag == V_BOOL ||
        key.tag == V_ENUM;
    return must_be_set(op->ev, key) &&
        (known ||
         fail(op->ev->cx, E_UNSUPPORTED, "a dict key that is only known when the model runs"));
}

static bool not_asked(DictOp *op)
{
    Value k = op->arg[1].v;
    Str key = k.tag == V_STR ? str_fmt(op->ev->cx, "\"%s\"", k.s->s) : val_text(op->ev->cx, k);
    fail(op->ev->cx, E_UNSUPPORTED,
         "the key %s is in this dict in some runs of the model only, and nothing has asked whether "
         "it is",
         key->s);
    fail_hint(op->ev->cx, "ask `if %s in d:` around it, or set the key in both branches of the if",
              key->s);
    return false;
}

/* Looks up the key of the call: is it there, and *out its value. UNKNOWN: *out is the entry as
 * it is, a Maybe of a key. */
static Tri look_up(DictOp *op, Value *out)
{
    const Cell *c = dict_find(op->ev->cx, op->d, op->arg[1].v);
    *out = c ? c->v : val_none();
    if (!c)
        return NO;
    Tri there = val_is_maybe_key(c->v) ? is_there(op->ev, c->v.maybe->present) : YES;
    if (there == YES && val_is_maybe_key(c->v))
        *out = c->v.maybe->value;
    return there;
}

static bool contains(DictOp *op)
{
    Value v;
    if (!wants_key(op))
        return false;
    Tri there = look_up(op, &v);
    *op->out = there == UNKNOWN ? v.maybe->present : val_bool(there == YES);
    return true;
}

static bool item(DictOp *op)
{
    if (!wants_key(op))
        return false;
    Tri there = look_up(op, op->out);
    if (there == NO)
        return fail(op->ev->cx, E_VALUE, "the dict has no key %s",
                    val_text(op->ev->cx, op->arg[1].v)->s);
    return there == YES || not_asked(op);
}

/* d.get(k): None where the key is not there. */
static bool get(DictOp *op)
{
    Value v;
    if (!wants_key(op))
        return false;
    Tri there = look_up(op, &v);
    Value other = op->n > 2 ? op->arg[2].v : val_none();
    if (there == UNKNOWN && (other.tag != V_NONE || val_is_optional(v.maybe->value)))
        return not_asked(op);
    if (there == UNKNOWN)
        *op->out = val_maybe(op->ev->cx, v.maybe->present, v.maybe->value);
    else
        *op->out = there == YES ? v : other;
    return true;
}

static bool put(DictOp *op)
{
    *op->out = val_none();
    if (!wants_key(op))
        return false;
    dict_set(op->ev->cx, op->d, op->arg[1].v, op->arg[2].v);
    return true;
}

static bool take(DictOp *op)
{
    if (!wants_key(op))
        return false;
    Tri there = look_up(op, op->out);
    if (there == UNKNOWN)
        return not_asked(op);
    if (there == NO && op->n < 3)
        return fail(op->ev->cx, E_VALUE, "the dict has no key %s",
                    val_text(op->ev->cx, op->arg[1].v)->s);
    if (there == NO)
        *op->out = op->arg[2].v;
    dict_remove(op->ev->cx, op->d, op->arg[1].v);
    return true;
}

static bool delete(DictOp *op)
{
    bool ok = take(op);
    *op->out = val_none();
    return ok;
}

static bool setdefault(DictOp *op)
{
    if (!wants_key(op))
        return false;
    Tri there = look_up(op, op->out);
    if (there == UNKNOWN)
        return not_asked(op);
    if (there == NO) {
        *op->out = op->arg[2].v;
        dict_set(op->ev->cx, op->d, op->arg[1].v, op->arg[2].v);
    }
    return true;
}

static bool clear(DictOp *op)
{
    while (op->d->n > 0)
        dict_remove(op->ev->cx, op->d, op->d->at[op->d->n - 1].key);
    *op->out = val_none();
    return true;
}

static bool len(DictOp *op)
{
    Ctx *cx = op->ev->cx;
    Graph *g = op->ev->g;
    Ox n = ox_int(g, 0);
    for (int64_t i = 0; i < op->d->n; i++) {
        Value v = op->d->at[i].val.v;
        Ox one = val_is_maybe_key(v) ? carry_ox(g, v.maybe->present) : ox_bool(g, true);
        Ox counted = ox_cast(g, one, DT_INT64);
        n = ox_g(g, "Add", n, counted);
    }
    *op->out = val_number_of(g, n);
    return !ctx_failed(cx);
}

static bool copy(DictOp *op)
{
    Ctx *cx = op->ev->cx;
    Dict *made = dict_new(cx, op->d->type);
    for (int64_t i = 0; i < op->d->n; i++)
        dict_set(cx, made, op->d->at[i].key, op->d->at[i].val.v);
    made->unordered = op->d->unordered;
    *op->out = (Value){ .tag = V_DICT, .dict = made };
    return true;
}

static const struct {
    const char *name;
    size_t least, most;
    bool (*fn)(DictOp *op);
} rows[] = {
    { "aten::__contains__", 2, 2, contains },
    { "aten::__getitem__", 2, 2, item },
    { "aten::get", 2, 3, get },
    { "aten::_set_item", 3, 3, put },
    { "aten::pop", 2, 3, take },
    { "aten::Delete", 2, 2, delete },
    { "aten::setdefault", 3, 3, setdefault },
    { "aten::clear", 1, 1, clear },
    { "aten::len", 1, 1, len },
    { "aten::copy", 1, 1, copy },
    { "aten::dict", 1, 1, copy },
    { "len", 1, 1, len },
};

/* See dynamic_dict.h. The dict is the first argument, or the second one of update(). */
Outcome dynamic_dict_op(Eval *ev, Str name, const OpArg *args, size_t n, Value *out)
{
    bool first = n > 0 && args[0].v.tag == V_DICT && !args[0].v.dict->invalid &&
        dict_is_dynamic(args[0].v.dict);
    bool second = str_is(name, "aten::update") && n == 2 && args[1].v.tag == V_DICT &&
        dict_is_dynamic(args[1].v.dict);
    DictOp op = { ev, first ? args[0].v.dict : NULL, args, n, out };
    if (!first && !second)
        return NOT_MINE;
    if (first)
        for (size_t i = 0; i < COUNT(rows); i++)
            if (str_is(name, rows[i].name) && n >= rows[i].least && n <= rows[i].most)
                return rows[i].fn(&op) ? outcome_done(ev->cx) : FAILED;
    fail(ev->cx, E_UNSUPPORTED,
         "%s of a dict of which only the running model knows what keys it has, or their order",
         name->s);
    fail_hint(ev->cx,
              "set the same keys in both branches of an if, and in __init__ those that are "
              "kept between runs");
    return FAILED;
}
