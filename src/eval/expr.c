/* expr.c - expressions: literals, names, attributes, indexing, containers. Calls are in call.c.
 *
 * Evaluation is strict and left to right, as in Python; order matters because operators write in
 * place. */
#include "eval/branch/choice.h"
#include "eval/lists/stacked.h"
#include "value/walk.h"

bool step(Eval *ev)
{
    if (ctx_failed(ev->cx))
        return false;
    count_steps(ev->cx, 1);
    if (ev->p->settled && ev->cx->steps >= ev->p->settled_at)
        ev->p->settled(ev->cx, ev->p, true);
    return !ctx_failed(ev->cx);
}

Value val_staged_text(Ctx *cx, Str text)
{
    Unset *u = new(cx, Unset);
    *u = (Unset){
        str_fmt(cx, "the program looks at a text that holds what only the running model knows: %s",
                text->s),
        where_intern(cx), text, false, NULL
    };
    return (Value){ .tag = V_UNINIT, .any = u };
}

/* The reasons of must_be_set; each returns false. */

static bool fail_maybe_none(Ctx *cx)
{
    fail(cx, E_UNSUPPORTED,
         "a value that is None in some runs of the model is used without a look whether it is");
    fail_hint(cx, "give it a tensor at first (torch.zeros), or ask `if x is not None` before");
    return false;
}

static bool fail_invalid(Ctx *cx, Value v, Str why)
{
    fail(cx, E_UNSUPPORTED,
         "what this %s holds is not known: %s, and one of them was written since",
         container_name(v), why->s);
    fail_hint(cx,
              "make a new one in its place (l[i] = l[i] + [x]) instead of writing to "
              "it (l[i].append(x), l[i][j] = x)");
    return false;
}

static bool fail_unset(Ctx *cx, const Unset *u)
{
    if (!u)
        return fail(cx, E_VALUE, "a value is used that was never set");
    if (u->branch)
        return facts_take_branch(cx, u->at, u->why);
    fail_at(cx, u->at, E_UNSUPPORTED, "%s", u->why->s);
    if (u->text)
        fail_hint(cx,
                  "compare or look up the numbers themselves; or convert the methods that "
                  "this one calls (--method, --module) and keep the texts outside");
    return false;
}

/* Why the container v may not be read; NULL: it may, or is none. */
static Str reason_invalid(Value v)
{
    return v.tag == V_DICT && v.dict->invalid ? v.dict->invalid : container_invalid(v);
}

bool must_be_set(Eval *ev, Value v)
{
    if (v.tag == V_MAYBE)
        return fail_maybe_none(ev->cx);
    if (v.tag == V_CHOICE)
        return choice_fail(ev->cx, v.choice);
    Str invalid = reason_invalid(v);
    if (invalid)
        return fail_invalid(ev->cx, v, invalid);
    return v.tag != V_UNINIT || fail_unset(ev->cx, v.any);
}

/* A list may lie in many places of what a list holds: it is looked at once. */
typedef struct SetCheck {
    Eval *ev;
    Map seen;
} SetCheck;

static WalkStep stop_at_invalid(void *arg, Value v)
{
    SetCheck *c = arg;
    if (reason_invalid(v) && !must_be_set(c->ev, v))
        return WALK_STOP;
    if (!val_n_parts(v))
        return WALK_PAST;
    if (map_find(&c->seen, v.any))
        return WALK_PAST;
    map_put(c->ev->cx, &c->seen, v.any, NULL);
    return WALK_IN;
}

static bool is_set(SetCheck *c, Value v)
{
    return !val_walk_finds(c->ev->cx, v, stop_at_invalid, c) && !ctx_failed(c->ev->cx);
}

bool containers_must_be_set(Eval *ev, Value v)
{
    SetCheck c = { .ev = ev };
    ArenaMark m = arena_mark(ev->cx->run);
    bool set = is_set(&c, v);
    if (set)
        arena_reset(ev->cx->run, m);
    return set;
}

bool items_must_be_set(Eval *ev, const List *l)
{
    SetCheck c = { .ev = ev };
    ArenaMark m = arena_mark(ev->cx->run);
    for (int64_t i = 0; i < l->n; i++) {
        Value v = l->at[i].v;
        bool holds = v.tag == V_LIST || v.tag == V_TUPLE || v.tag == V_DICT;
        if (v.tag == V_UNINIT ? !must_be_set(ev, v) : holds && !is_set(&c, v))
            return false;
    }
    arena_reset(ev->cx->run, m);
    return true;
}

/* ---- attributes ---- */

int64_t slot_of(const Obj *o, Str name)
{
    if (o->cls && o->cls->field_index.n) {
        intptr_t i = (intptr_t)map_get(&o->cls->field_index, name);
        if (i > 0 && i <= o->n)
            return i - 1;
    }
    if (!o->names)
        return -1;
    for (int64_t i = 0; i < o->n; i++)
        if (o->names[i] == name)
            return i;
    return -1;
}

static bool class_constant(Eval *ev, const ClassDef *c, Str name, Value *out, bool *found)
{
    if (!c)
        return true;
    for (uint32_t i = 0; i < c->n_field; i++)
        if (c->field[i].name == name && c->field[i].constant) {
            *found = true;
            return eval_expr(ev, c->field[i].constant, out);
        }
    return true;
}

static bool attr_of_object(Eval *ev, Obj *o, Str name, Value *out)
{
    bool found = false;
    int64_t i = slot_of(o, name);
    if (!must_be_set(ev, (Value){ .tag = V_OBJ, .obj = o }))
        return false;
    if (i >= 0 && (o->slot[i].v.tag != V_UNINIT || o->slot[i].v.any)) {
        state_read(ev, o, i);
        *out = o->slot[i].v;
        return true;
    }
    if (!class_constant(ev, o->cls, name, out, &found) || found)
        return found && !ctx_failed(ev->cx);
    if (i >= 0)
        return must_be_set(ev, o->slot[i].v);
    return fail(ev->cx, E_VALUE, "%s has no attribute '%s'",
                o->cls ? o->cls->plain->s : "this object", name->s);
}

static bool attr_of_tuple(Eval *ev, const Tuple *t, Str name, Value *out)
{
    if (t->fields)
        for (int64_t i = 0; i < t->n; i++)
            if (t->fields[i] == name) {
                *out = t->at[i];
                return true;
            }
    return fail(ev->cx, E_VALUE, "%s has no field '%s'", t->type ? t->type->s : "a tuple", name->s);
}

/* See internal.h. The attribute of a namespace is what the path with one word more names; that
 * of poison is poison. */
bool get_attr(Eval *ev, Value v, Str name, Value *out)
{
    if (v.tag == V_POISON) {
        *out = v;
        return true;
    }
    if (v.tag == V_OBJ)
        return attr_of_object(ev, v.obj, name, out);
    if (v.tag == V_TUPLE)
        return attr_of_tuple(ev, v.tuple, name, out);
    if (v.tag == V_ENUM && (str_is(name, "name") || str_is(name, "value"))) {
        *out = str_is(name, "name") ? val_str(v.e->name) : v.e->value;
        return true;
    }
    if (v.tag == V_CHOICE && v.choice->at[0].tag == V_ENUM)
        return choice_attr(ev, v.choice, name, out);
    if (v.tag == V_NAMESPACE)
        return resolve_name(ev, str_fmt(ev->cx, "%s.%s", v.s->s, name->s), out);
    if (!must_be_set(ev, v))
        return false;
    return fail(ev->cx, E_UNSUPPORTED, "%s has no attribute '%s'", val_kind(v), name->s);
}

/* ---- indexing ---- */

static bool wrap_index(Eval *ev, int64_t i, int64_t n, const char *what, int64_t *out)
{
    if (i < -n || i >= n)
        return fail(ev->cx, E_VALUE, "%s index %lld is out of range: it has %lld items", what,
                    (long long)i, (long long)n);
    *out = i < 0 ? i + n : i;
    return true;
}

/* How many attributes are named by a number: the children of a ModuleList. */
static int64_t n_children(const Obj *o)
{
    int64_t n = 0;
    if (!o->names)
        return 0;
    for (int64_t k = 0; k < o->n; k++)
        n += o->names[k]->s[0] >= '0' && o->names[k]->s[0] <= '9';
    return n;
}

/* A child of a ModuleList, by an int, or of a ModuleDict, by its name: children are attributes. */
static bool child_of(Eval *ev, Obj *o, Value key, Value *out)
{
    if (key.tag == V_STR)
        return get_attr(ev, (Value){ .tag = V_OBJ, .obj = o }, key.s, out);
    int64_t i = key.i;
    if (i < 0 && !wrap_index(ev, i, n_children(o), "a ModuleList", &i))
        return false;
    return get_attr(ev, (Value){ .tag = V_OBJ, .obj = o }, str_fmt(ev->cx, "%lld", (long long)i),
                    out);
}

/* at[index] where only the running model knows the index: a choice among strings, or an item of one
 * tensor that the items, which must be alike, become. False without an error where neither is
 * possible. */
static bool item_at_symbol(Eval *ev, const Value *at, int64_t n, Value index, Value *out)
{
    ItemType item;
    *out = option_at(ev, at, n, index);
    if (val_ok(*out) || n == 0 || !list_item_type(ev->cx, at, n, &item))
        return val_ok(*out);
    Stacked *s = stacked_of(ev, at, n, item);
    return s && stacked_item(ev, s, index, out);
}

static bool symbolic_index(Eval *ev, Value base, Value index, Value *out)
{
    int64_t n = base.tag == V_TUPLE ? base.tuple->n : base.list->n;
    const Value *at = base.tag == V_TUPLE ? base.tuple->at : list_values(ev->cx, base.list, &n);
    if (item_at_symbol(ev, at, n, index, out))
        return true;
    fail(ev->cx, E_UNDECIDED,
         "%s is indexed by a number that is not known before the model runs (%s)", val_kind(base),
         dim_text(ev->cx, index.dim)->s);
    fail_hint(ev->cx,
              "give the input a fixed size with -i, or keep the items in one tensor "
              "(torch.stack) and index that");
    return false;
}

/* list[i] or tuple[i] */
static bool item_at(Eval *ev, Value base, int64_t i, Value *out)
{
    bool is_list = base.tag == V_LIST;
    int64_t n = is_list ? base.list->n : base.tuple->n;
    if (!wrap_index(ev, i, n, is_list ? "list" : "tuple", &i))
        return false;
    *out = is_list ? base.list->at[i].v : base.tuple->at[i];
    return true;
}

/* a[b] for a tensor, dict or string a. */
static bool getitem(Eval *ev, Value base, Value index, Value *out)
{
    OpArg args[2] = { { NULL, base }, { NULL, index } };
    Outcome r = builtin_call(ev, str_of(ev->cx, "aten::__getitem__"), args, 2, out);
    if (r == NOT_MINE)
        return fail(ev->cx, E_VALUE, "%s cannot be indexed by %s", val_kind(base), val_kind(index));
    return r == DONE;
}

/* a[b]: an item of a list or tuple, a child of a module, or what getitem gives. */
static bool eval_index(Eval *ev, const Expr *e, Value *out)
{
    Value base, index;
    if (!eval_expr(ev, e->a, &base) || !eval_expr(ev, e->b, &index) || !must_be_set(ev, base))
        return false;
    if (index.tag == V_CHOICE) {
        OpArg looked[2] = { { NULL, base }, { NULL, index } };
        Outcome r = choice_op(ev, str_of(ev->cx, "aten::__getitem__"), looked, 2, out);
        if (r != NOT_MINE)
            return r == DONE;
    }
    if (!must_be_set(ev, index))
        return false;
    if (!val_ok(base) || !val_ok(index)) {
        *out = val_poison();
        return true;
    }
    if (base.tag == V_LIST && base.list->stacked)
        return stacked_item(ev, base.list->stacked, index, out);
    if (index.tag == V_SYMINT && (base.tag == V_LIST || base.tag == V_TUPLE))
        return symbolic_index(ev, base, index, out);
    if (base.tag == V_OBJ && (index.tag == V_STR || index.tag == V_INT))
        return child_of(ev, base.obj, index, out);
    if ((base.tag == V_LIST || base.tag == V_TUPLE) && index.tag == V_INT)
        return item_at(ev, base, index.i, out);
    return getitem(ev, base, index, out);
}

/* A bound of a slice, as Python clamps it: 0 to n. */
static int64_t clamp_bound(int64_t i, int64_t n)
{
    if (i < 0)
        i += n;
    if (i < 0)
        return 0;
    return i > n ? n : i;
}

static bool eval_tuple_slice(Eval *ev, const Expr *e, Value *out)
{
    Value base;
    if (!eval_expr(ev, e->a, &base))
        return false;
    if (!val_ok(base)) {
        *out = base;
        return true;
    }
    if (base.tag != V_TUPLE)
        return fail(ev->cx, E_VALUE, "expected a tuple to slice, got %s", val_kind(base));
    int64_t lo = clamp_bound(e->lo, base.tuple->n);
    int64_t hi = clamp_bound(e->hi, base.tuple->n);
    *out = val_tuple(ev->cx, base.tuple->at + lo, hi > lo ? hi - lo : 0);
    return true;
}

/* ---- containers ---- */

static bool eval_items(Eval *ev, const Expr *e, Value **out)
{
    *out = new_array(ev->cx, Value, e->n ? e->n : 1);
    if (!*out)
        return false;
    for (uint32_t i = 0; i < e->n; i++)
        if (!eval_expr(ev, e->items[i], &(*out)[i]))
            return false;
    return true;
}

/* What a list of these items is a list of (List.elem); NULL: not known. */
static const char *elem_of(const Value *at, uint32_t n)
{
    if (n == 0)
        return NULL;
    for (uint32_t i = 1; i < n; i++)
        if (strcmp(val_kind(at[i]), val_kind(at[0])))
            return NULL;
    ValTag tag = at[0].tag;
    bool named = tag != V_LIST && tag != V_TUPLE && tag != V_OBJ && tag != V_UNINIT;
    return named ? val_kind(at[0]) : NULL;
}

static bool eval_dict(Eval *ev, const Expr *e, Value *out)
{
    Value *items;
    if (!eval_items(ev, e, &items))
        return false;
    *out = (Value){ .tag = V_DICT, .dict = dict_new(ev->cx, NULL) };
    for (uint32_t i = 0; i + 1 < e->n; i += 2) {
        if (!must_be_set(ev, items[i]))
            return false;
        dict_set(ev->cx, out->dict, items[i], items[i + 1]);
    }
    return true;
}

static bool eval_sequence(Eval *ev, const Expr *e, Value *out)
{
    Value *items;
    if (!eval_items(ev, e, &items))
        return false;
    *out = e->kind == X_TUPLE ? val_tuple(ev->cx, items, e->n)
                              : val_list(ev->cx, items, e->n, elem_of(items, e->n));
    return true;
}

/* ---- constants, operators of the language ---- */

/* A constant without a name is no weight: it may be computed from an example's size. */
static void tell_constant(Eval *ev, Value v)
{
    Ox now = v.tag == V_TENSOR ? v.t->st->now : NULL;
    if (now && now->kind == OX_CONST && !now->k->name)
        specialized_constant(ev->cx, now->k);
}

/* CONSTANTS.cN. A 0-d tensor stands for a Python number of the traced program (Tensor.number). */
static bool eval_constant(Eval *ev, int64_t n, Value *out)
{
    const void *key = (const void *)(intptr_t)(n + 1);
    Value *known = map_get(&ev->constants, key);
    if (!known) {
        known = new(ev->cx, Value);
        if (!ev->p->constant || !ev->p->constant(ev->cx, ev->p, n, known)) {
            if (!ctx_failed(ev->cx))
                fail(ev->cx, E_FORMAT, "the constant table has no entry c%lld", (long long)n);
            return false;
        }
        map_put(ev->cx, &ev->constants, key, known);
        state_track(ev, *known);
    }
    tell_constant(ev, *known);
    *out = *known;
    if (known->tag == V_TENSOR && ox_rank(known->t->st->now) == 0) {
        out->t = tensor_alias(ev->cx, known->t);
        out->t->number = true;
    }
    return true;
}

static bool eval_neg(Eval *ev, const Expr *e, Value *out)
{
    Value v;
    if (!eval_expr(ev, e->a, &v) || !must_be_set(ev, v))
        return false;
    if (v.tag == V_FLOAT)
        *out = val_float(-v.f);
    else if (v.tag == V_INT)
        *out = val_int((int64_t)(0 - (uint64_t)v.i));
    else {
        OpArg arg = { NULL, v };
        Str neg = str_of(ev->cx, "aten::neg");
        Outcome r = builtin_call(ev, neg, &arg, 1, out);
        if (r == NOT_MINE)
            *out = op_call(ev->g, neg, NULL, &arg, 1, NULL, 0);
    }
    return !ctx_failed(ev->cx) && !ev->raised;
}

/* `a and b`, `a or b` of hand-edited text: b is evaluated only when a does not decide. */
static bool eval_and_or(Eval *ev, const Expr *e, Value *out)
{
    bool is_or = str_is(e->name, "or");
    if (!eval_expr(ev, e->a, out) || !must_be_set(ev, *out))
        return false;
    Tri t = val_truth(ev->cx, *out);
    if (t == UNKNOWN && val_ok(*out))
        return fail(
            ev->cx, E_UNSUPPORTED,
            "'%s' of a condition that is not known before the model runs: write torch.logical_%s",
            e->name->s, e->name->s);
    if (t == tri_of(is_or) || !val_ok(*out))
        return true;
    return eval_expr(ev, e->b, out);
}

static bool eval_attr(Eval *ev, const Expr *e, Value *out)
{
    Value v;
    return eval_expr(ev, e->a, &v) && get_attr(ev, v, e->name, out);
}

/* One case for each kind of expression. */
static bool eval_kind(Eval *ev, const Expr *e, Value *out)
{
    switch (e->kind) {
    case X_NONE:  *out = val_none(); return true;
    case X_TRUE:  *out = val_bool(true); return true;
    case X_FALSE: *out = val_bool(false); return true;
    case X_INT:   *out = val_int(e->i); return true;
    case X_FLOAT:
        specialized_number(ev->cx, e->f);
        *out = val_float(e->f);
        return true;
    case X_COMPLEX: *out = val_complex(ev->cx, e->c[0], e->c[1]); return true;
    case X_STR:     *out = val_str(e->s); return true;
    case X_LOCAL:   *out = ev->frame->locals->slot[e->slot].v; return true;
    case X_VALUE:
        *out = e->value;
        state_track(ev, *out);
        return true;
    case X_GRAPH:       *out = (Value){ .tag = V_FUNCTION, .any = e->fn }; return true;
    case X_CONSTANT:    return eval_constant(ev, e->i, out);
    case X_NAME:        return resolve_name(ev, e->name, out);
    case X_ATTR:        return eval_attr(ev, e, out);
    case X_INDEX:       return eval_index(ev, e, out);
    case X_TUPLE_SLICE: return eval_tuple_slice(ev, e, out);
    case X_CALL:        return eval_call(ev, e, out);
    case X_OP:          return eval_op(ev, e, NULL, out);
    case X_TUPLE:
    case X_LIST:        return eval_sequence(ev, e, out);
    case X_DICT:        return eval_dict(ev, e, out);
    case X_NEG:         return eval_neg(ev, e, out);
    case X_BINARY:      return eval_and_or(ev, e, out);
    }
    return fail(ev->cx, E_BUG, "an expression of unknown kind %d", (int)e->kind);
}

bool eval_growing(Eval *ev, const Expr *e, Value *out)
{
    if (ctx_failed(ev->cx))
        return false;
    if (ev->nesting >= NESTING_MAX)
        return fail(ev->cx, E_LIMIT, "expressions and calls are nested more than %d deep",
                    NESTING_MAX);
    ev->nesting++;
    bool ok = eval_kind(ev, e, out);
    ev->nesting--;
    if (ok && out->tag == V_JOINED && trail_is_open(ev->cx))
        *out = val_whole(ev->cx, *out);
    return ok;
}

bool eval_expr(Eval *ev, const Expr *e, Value *out)
{
    if (!eval_growing(ev, e, out))
        return false;
    if (out->tag != V_JOINED)
        return true;
    *out = val_whole(ev->cx, *out);
    return !ctx_failed(ev->cx);
}
