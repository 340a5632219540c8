/* choice.c - a string or an enum's member that the running model chooses: `mode = "a"` in one
 * branch of an if, "b" in the other.
 *
 * A choice is a set of known options and an int, the index of the option that the running model
 * has chosen. An operator that only reads a choice runs once for each option while the model is
 * converted, and the index chooses among the results: `mode == "a"` is the table [True, False]
 * and a Gather. */
#include "eval/branch/choice.h"

#include "eval/lists/stacked.h"
#include "value/walk.h"

static int64_t place_among(Ctx *cx, const Values *all, Value v)
{
    for (size_t i = 0; i < all->n; i++)
        if (val_equal(cx, all->at[i], v))
            return (int64_t)i;
    return -1;
}

static bool add_option(Ctx *cx, Values *all, Value v)
{
    bool fits = all->n == 0 ||
        (all->at[0].tag == v.tag && (v.tag != V_ENUM || all->at[0].e->cls == v.e->cls));
    return fits && (place_among(cx, all, v) >= 0 || vec_push(cx, all, v));
}

bool options_join(Ctx *cx, Value a, Value b, Values *all)
{
    Value both[2] = { a, b };
    bool ok = true;
    *all = (Values){ 0 };
    for (int k = 0; k < 2; k++) {
        for (int64_t i = 0; both[k].tag == V_CHOICE && ok && i < both[k].choice->n; i++)
            ok = add_option(cx, all, both[k].choice->at[i]);
        if (both[k].tag != V_CHOICE)
            ok = ok && add_option(cx, all, both[k]);
    }
    return ok;
}

/* The index of choice v among the options in `all`: v of ["a", "b"] among ["b", "a"] is the
 * table [1, 0], read at v's own index. */
Value option_index(Graph *g, Value v, const Values *all)
{
    Ctx *cx = g->cx;
    if (v.tag != V_CHOICE)
        return val_int(place_among(cx, all, v));
    const Choice *c = v.choice;
    int64_t *place = new_array(cx, int64_t, c->n);
    if (!place)
        return val_poison();
    bool same = true;
    for (int64_t i = 0; i < c->n; i++) {
        place[i] = place_among(cx, all, c->at[i]);
        same = same && place[i] == i;
    }
    if (same)
        return c->index;
    if (c->index.tag == V_INT)
        return val_int(place[c->index.i]);
    Ox table = ox_ints(g, place, (size_t)c->n);
    Ox at = ox_dim_value(g, c->index.dim);
    return val_number_of(g, ox_g_with(g, "Gather", INPUTS(table, at), INT("axis", 0)));
}

Value option_at(Eval *ev, const Value *at, int64_t n, Value index)
{
    Ctx *cx = ev->cx;
    Values all = { 0 };
    Dim d;
    bool ok = n > 0 && val_dim_of(index, cx, &d);
    for (int64_t i = 0; ok && i < n; i++)
        ok = (at[i].tag == V_STR || at[i].tag == V_ENUM) && add_option(cx, &all, at[i]);
    if (!ok)
        return val_poison();
    if (dim_le(cx, dim_int(cx, 0), d) != YES)
        d = dim_mod(cx, d, dim_int(cx, n)); /* index -1 is the last option */
    return val_choice(cx, all.at, (int64_t)all.n,
                      option_index(ev->g, val_choice(cx, at, n, val_dim(cx, d)), &all));
}

/* May v be written in place? */
static bool is_memory(Value v)
{
    return v.tag == V_TENSOR || v.tag == V_LIST || v.tag == V_DICT || v.tag == V_OBJ;
}

static WalkStep stop_at_memory(void *arg, Value v)
{
    (void)arg;
    return is_memory(v) ? WALK_STOP : WALK_IN;
}

/* Are a and b one value? Two lists that hold the same are not, where they were `there` before, as
 * either may be written: d["a"] and d["b"] of {"a": [1], "b": [1]}. */
static bool is_one_value(Ctx *cx, Value a, Value b, bool there)
{
    if (a.tag != b.tag || a.tag == V_CHOICE)
        return false;
    if (there && val_walk_finds(cx, a, stop_at_memory, NULL))
        return a.any == b.any;
    return val_equal(cx, a, b);
}

/* One value of the results that were computed for each option, chosen by the choice's index.
 * there: the results are not new, so other names may reach them. NOT_MINE: results that ONNX cannot
 * choose among. */
static Outcome chosen(Eval *ev, const Choice *c, const Value *made, bool there, Value *out)
{
    Ctx *cx = ev->cx;
    ItemType item;
    bool equal = true;
    bool options = true;
    for (int64_t i = 0; i < c->n; i++) {
        options = options && (made[i].tag == V_STR || made[i].tag == V_ENUM);
        equal = equal && is_one_value(cx, made[i], made[0], there);
    }
    if (equal || options) {
        *out = equal ? made[0] : val_choice(cx, made, c->n, c->index);
        return outcome_done(cx);
    }
    if (!list_item_type(cx, made, c->n, &item))
        return NOT_MINE;
    Stacked *s = stacked_of(ev, made, c->n, item);
    return s && stacked_item(ev, s, c->index, out) ? outcome_done(cx) : FAILED;
}

static bool takes_container(const OpArg *args, size_t n)
{
    bool found = false;
    for (size_t i = 0; i < n; i++)
        found = found || is_memory(args[i].v);
    return found;
}

/* May the operator run once for each option? Not when it writes to a list, dict, object or
 * tensor. */
static bool only_looks(Str name, const OpArg *args, size_t n)
{
    static const char *const names[] = {
        "aten::__contains__", "aten::__getitem__", "aten::get", "aten::index",
        "aten::count",        "aten::eq",          "aten::ne"
    };
    if (!takes_container(args, n))
        return true;
    for (size_t i = 0; i < COUNT(names); i++)
        if (str_is(name, names[i]))
            return true;
    return false;
}

/* d[key], where d lacks some of the options of key: the first option that d has; else poison.
 * For the options that d lacks PyTorch raises, so the model may give any value for them. */
static Value key_of_dict(Ctx *cx, Str name, const OpArg *args, size_t which)
{
    const Choice *c = args[which].v.choice;
    bool looks = str_is(name, "aten::__getitem__") && which == 1 && args[0].v.tag == V_DICT;
    if (!looks)
        return val_poison();
    for (int64_t i = 0; i < c->n; i++)
        if (dict_find(cx, args[0].v.dict, c->at[i]))
            return c->at[i];
    return val_poison();
}

/* The operator runs once for each option while the model is converted: `mode == "a"` of one of
 * ["a", "b"] is [True, False] at the index. */
Outcome choice_op(Eval *ev, Str name, const OpArg *args, size_t n, Value *out)
{
    size_t which = n;
    for (size_t i = 0; i < n; i++)
        if (args[i].v.tag == V_CHOICE)
            which = which == n ? i : n + 1;
    if (which >= n || !only_looks(name, args, n))
        return NOT_MINE;
    const Choice *c = args[which].v.choice;
    Value *made = new_array(ev->cx, Value, c->n);
    OpArg *with = mem_copy(ev->cx, args, n * sizeof *args);
    if (!made || !with)
        return FAILED;
    Value some = key_of_dict(ev->cx, name, args, which);
    for (int64_t i = 0; i < c->n; i++) {
        with[which].v = val_ok(some) && !dict_find(ev->cx, args[0].v.dict, c->at[i]) ? some
                                                                                     : c->at[i];
        Outcome r = builtin_call(ev, name, with, n, &made[i]);
        if (r != DONE)
            return r;
    }
    return chosen(ev, c, made, takes_container(args, n), out);
}

bool choice_attr(Eval *ev, const Choice *c, Str name, Value *out)
{
    Value *made = new_array(ev->cx, Value, c->n);
    if (!made)
        return false;
    for (int64_t i = 0; i < c->n; i++)
        if (!get_attr(ev, c->at[i], name, &made[i]))
            return false;
    Outcome r = chosen(ev, c, made, true, out);
    if (r != NOT_MINE)
        return r == DONE;
    return fail(ev->cx, E_UNSUPPORTED,
                "%s of an enum's member that the running model chooses: the values are "
                "not of one type",
                name->s);
}

/* " ('a', 'b')" */
static Str options_text(Ctx *cx, const Choice *c)
{
    Buf b = buf_new(cx);
    for (int64_t i = 0; i < c->n && i < 8; i++)
        buf_fmt(&b, "%s%s", i ? ", " : "", val_text(cx, c->at[i])->s);
    buf_str(&b, c->n > 8 ? ", .." : "");
    return buf_done(&b);
}

bool choice_fail(Ctx *cx, const Choice *c)
{
    fail(cx, E_UNSUPPORTED,
         "which %s this is only the running model knows (one of %s), and what is done with it ONNX "
         "cannot say",
         c->at[0].tag == V_STR ? "string" : "member of an enum", options_text(cx, c)->s);
    fail_hint(cx,
              "comparing it with == or !=, looking it up in a dict and returning it can be "
              "converted; elsewhere branch on it first: if mode == \"a\": ..");
    return false;
}

Ox choice_ox(Graph *g, const Choice *c)
{
    Ox *text = new_array(g->cx, Ox, c->n);
    if (!text)
        return POISON;
    Ox axis = ox_ints(g, (int64_t[]){ 0 }, 1);
    for (int64_t i = 0; i < c->n; i++) {
        Ox one = ox_string(g, c->at[i].s);
        text[i] = ox_g(g, "Unsqueeze", one, axis);
    }
    Ox all = ox_make(g, "Concat", (OxList){ text, (size_t)c->n }, ATTRS(INT("axis", 0)));
    Ox at = ox_dim_value(g, c->index.dim);
    return ox_g_with(g, "Gather", INPUTS(all, at), INT("axis", 0));
}
