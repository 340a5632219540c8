/* coerce.c - declared types: what a parameter makes of the value that it is given, and isinstance.
 *
 * PyTorch prints a type next to every parameter, and values carry their own kind. So only
 * TorchScript's few implicit conversions happen here, and an unknown type is never an error. */
#include "eval/lists/stacked.h"
#include "value/autograd.h"

static bool is(const TypeExpr *t, const char *name) { return str_is(t->name, name); }

static Value to_float(Eval *ev, Value v)
{
    if (v.tag == V_INT)
        return val_float((double)v.i);
    if (v.tag == V_BOOL)
        return val_float(v.b);
    if (v.tag != V_SYMINT)
        return v;
    Ox n = ox_dim_value(ev->g, v.dim);
    Ox f = ox_cast(ev->g, n, DT_DOUBLE);
    return ox_ok(f) ? (Value){ .tag = V_SYMFLOAT, .ox = f } : val_poison();
}

static bool scalar_of_tensor(Eval *ev, Value v, const TypeExpr *t, const char *what, Value *out)
{
    Ox x = tensor_read(ev->g, v.t);
    if (ox_ok(x) && ox_rank(x) > 0 && !dim_is(type_numel(ev->cx, x->type), 1))
        return fail(ev->cx, E_VALUE, "%s: a tensor of type %s cannot become a %s", what,
                    type_text(ev->cx, x->type)->s, t->name->s);
    Value n = autograd_number(ev->g, x);
    *out = is(t, "float") ? to_float(ev, n) : n;
    return !ctx_failed(ev->cx);
}

/* Does a parameter BroadcastingList2[int] take the number v? Then *n is 2. */
static bool broadcasts(const TypeExpr *t, Value v, int64_t *n)
{
    size_t stem = strlen("BroadcastingList");
    if (!str_starts(t->name, "BroadcastingList") || t->name->len != stem + 1 ||
        (v.tag != V_INT && v.tag != V_FLOAT))
        return false;
    *n = t->name->s[stem] - '0';
    return true;
}

/* A parameter List[T] or BroadcastingListN[T]: a number becomes N of them, a tuple a list. The
 * items of a List[float] become floats in place, and an empty list learns what it is a list of. */
static bool to_list(Eval *ev, Value v, const TypeExpr *t, const char *what, Value *out)
{
    enum { MOST = 6 };
    const TypeExpr *elem = t->n ? t->args[0] : NULL;
    Value copies[MOST];
    int64_t n;
    if (broadcasts(t, v, &n)) {
        for (int64_t i = 0; i < n && i < MOST; i++)
            copies[i] = v;
        *out = val_list(ev->cx, copies, n < MOST ? n : MOST, NULL);
        return true;
    }
    if (v.tag == V_TUPLE)
        v = val_list(ev->cx, v.tuple->at, v.tuple->n, NULL);
    *out = v;
    if (v.tag != V_LIST || !elem)
        return true;
    if (!v.list->elem)
        v.list->elem = type_expr_text(ev->cx, elem);
    for (int64_t i = 0; i < v.list->n && is(elem, "float"); i++) {
        Value item;
        if (v.list->at[i].v.tag != V_INT)
            continue;
        if (!convert_to(ev, v.list->at[i].v, elem, what, &item))
            return false;
        list_set(ev->cx, v.list, i, item);
    }
    return true;
}

static bool to_tuple(Eval *ev, Value v, const TypeExpr *t, const char *what, Value *out)
{
    *out = v;
    if (v.tag != V_TUPLE || v.tuple->n != t->n || v.tuple->type)
        return true;
    Value *items = mem_copy(ev->cx, v.tuple->at, (size_t)v.tuple->n * sizeof *items);
    if (!items)
        return false;
    bool changed = false;
    for (uint32_t i = 0; i < t->n; i++) {
        if (!convert_to(ev, v.tuple->at[i], t->args[i], what, &items[i]))
            return false;
        changed |= items[i].tag != v.tuple->at[i].tag || items[i].any != v.tuple->at[i].any;
    }
    if (changed)
        *out = val_tuple(ev->cx, items, v.tuple->n);
    return true;
}

/* A pickled NamedTuple is a plain tuple; the declared type says which it was. */
static bool to_named_tuple(Eval *ev, Value v, const TypeExpr *t, Value *out)
{
    *out = v;
    const ClassDef *c = ev->p->find_class ? ev->p->find_class(ev->cx, ev->p, t->name) : NULL;
    if (!c || c->kind != CLASS_NAMEDTUPLE || (int64_t)c->n_field != v.tuple->n)
        return !ctx_failed(ev->cx);
    Str *names = new_array(ev->cx, Str, c->n_field + 1);
    if (!names)
        return false;
    for (uint32_t i = 0; i < c->n_field; i++)
        names[i] = c->field[i].name;
    *out = val_tuple(ev->cx, v.tuple->at, v.tuple->n);
    out->tuple->type = c->plain;
    out->tuple->fields = names;
    return true;
}

/* TorchScript's implicit conversions: int to float, a tensor of one element to a number, a number
 * or a tuple to a list, a string to a device. Any other value is passed on as it is. */
bool convert_to(Eval *ev, Value v, const TypeExpr *t, const char *what, Value *out)
{
    *out = v;
    check_stack(ev->cx);
    count_values(ev->cx, 1);
    if (!t || !val_ok(v) || v.tag == V_UNINIT || v.tag == V_MAYBE || v.tag == V_CHOICE)
        return true;
    if (is(t, "Optional"))
        return v.tag == V_NONE || t->n == 0 || convert_to(ev, v, t->args[0], what, out);
    if (v.tag == V_TENSOR &&
        (is(t, "int") || is(t, "float") || is(t, "number") || is(t, "complex")))
        return scalar_of_tensor(ev, v, t, what, out);
    if (is(t, "float")) {
        *out = to_float(ev, v);
        return true;
    }
    if (is(t, "List") || str_starts(t->name, "BroadcastingList"))
        return to_list(ev, v, t, what, out);
    if (is(t, "Tuple"))
        return to_tuple(ev, v, t, what, out);
    if (v.tag == V_DICT && is(t, "Dict") && !v.dict->type)
        v.dict->type = type_expr_text(ev->cx, t);
    if (v.tag == V_STR && is(t, "Device"))
        *out = (Value){ .tag = V_DEVICE, .s = v.s };
    if (v.tag == V_TUPLE && !v.tuple->type && strchr(t->name->s, '.'))
        return to_named_tuple(ev, v, t, out);
    return true;
}

/* ---- isinstance ---- */

static bool item_is_a(const ItemType *item, const TypeExpr *t)
{
    return is(t, item->elem) && (!item->of || t->n == 0 || item_is_a(item->of, t->args[0]));
}

static bool list_is_a(Eval *ev, const List *l, const TypeExpr *t)
{
    if (t->n == 0)
        return true;
    if (l->stacked && l->stacked->item.parts)
        return val_is_a(ev, l->stacked->item.parts->like, t->args[0]);
    if (l->stacked)
        return item_is_a(&l->stacked->item, t->args[0]);
    if (l->n == 0)
        return !l->elem || l->elem == type_expr_text(ev->cx, t->args[0]);
    for (int64_t i = 0; i < l->n; i++)
        if (!val_is_a(ev, l->at[i].v, t->args[0]))
            return false;
    return true;
}

static bool tuple_is_a(Eval *ev, const Tuple *tuple, const TypeExpr *t)
{
    if (t->n == 0)
        return is(t, "tuple") || tuple->n == 0;
    for (uint32_t i = 0; i < t->n; i++)
        if (tuple->n != t->n || !val_is_a(ev, tuple->at[i], t->args[i]))
            return false;
    return true;
}

static bool dict_is_a(Eval *ev, const Dict *d, const TypeExpr *t)
{
    for (int64_t i = 0; t->n == 2 && i < d->n; i++)
        if (!val_is_a(ev, d->at[i].key, t->args[0]) || !val_is_a(ev, d->at[i].val.v, t->args[1]))
            return false;
    return true;
}

static bool is_any_of(Eval *ev, Value v, const TypeExpr *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (val_is_a(ev, v, t->args[i]))
            return true;
    return false;
}

/* An object or an enum's member, by the name of its class with or without ___torch_mangle_N. */
static bool is_of_class(const ClassDef *c, const TypeExpr *t)
{
    return c && (c->qualname == t->name || c->plain == t->name);
}

/* A symbolic number is of the type that it has when the model runs; all options of a choice are of
 * one type. */
bool val_is_a(Eval *ev, Value v, const TypeExpr *t)
{
    check_stack(ev->cx);
    count_values(ev->cx, 1);
    if (v.tag == V_CHOICE)
        v = v.choice->at[0];
    if (is(t, "Any") || (is(t, "Optional") && v.tag == V_NONE))
        return true;
    if (is(t, "Optional") || is(t, "Union"))
        return is_any_of(ev, v, t);
    switch (v.tag) {
    case V_NONE:     return is(t, "None") || is(t, "NoneType");
    case V_BOOL:
    case V_SYMBOOL:  return is(t, "bool");
    case V_INT:
    case V_SYMINT:   return is(t, "int") || is(t, "number");
    case V_FLOAT:
    case V_SYMFLOAT: return is(t, "float") || is(t, "number");
    case V_COMPLEX:  return is(t, "complex") || is(t, "number");
    case V_STR:      return is(t, "str");
    case V_DEVICE:   return is(t, "Device");
    case V_TENSOR:   return is(t, "Tensor");
    case V_LIST:     return (is(t, "List") || is(t, "list")) && list_is_a(ev, v.list, t);
    case V_TUPLE:
        if (v.tuple->type)
            return v.tuple->type == t->name;
        return (is(t, "Tuple") || is(t, "tuple")) && tuple_is_a(ev, v.tuple, t);
    case V_DICT:   return (is(t, "Dict") || is(t, "dict")) && dict_is_a(ev, v.dict, t);
    case V_OBJ:    return is_of_class(v.obj->cls, t);
    case V_ENUM:   return is_of_class(v.e->cls, t);
    case V_FUTURE: return is(t, "Future");
    default:       return false;
    }
}
