/* custom.c - an unknown operator as a node of a custom domain, for --unknown=custom.
 *
 * ops.my.blur(x, 3, mode="same") is the node my::blur(x) with the attributes arg1=3 and
 * mode="same". Tensors are inputs, in order, and so are numbers that only the running model knows;
 * a None is an absent input, so that the inputs after it keep their places. A concrete argument is
 * an attribute, named as the argument is or, where the file does not name it, by its place. Results
 * have the types that the file records; where it records none, the first tensor's element type and
 * unknown sizes, with a note to the user. */
#include "ops/internal.h"

typedef VEC(Ox) Inputs;
typedef VEC(Attr) Attrs;

typedef struct Passed {
    Graph *g;
    Ctx *cx;
    Str name;
    Inputs in;
    Attrs attr;
} Passed;

static bool passed_fail(Passed *p, Str what, Value v)
{
    return fail(p->cx, E_UNSUPPORTED,
                "argument %s is of type %s, which no input or attribute of a node can be", what->s,
                val_kind(v));
}

static bool pass_items(Passed *p, Str name, const List *list);
static bool pass_list(Passed *p, Str name, const Value *at, int64_t n);

/* One argument becomes an input, an attribute, or (a list) several of them. False after an
 * error: a class, say, fits neither. */
static bool pass_value(Passed *p, Str name, Value v)
{
    Ctx *cx = p->cx;
    check_stack(cx);
    count_values(cx, 1);
    switch (v.tag) {
    case V_NONE: vec_push(cx, &p->in, NULL); return true;
    case V_TENSOR:
        if (v.t->kind != PLAIN)
            return passed_fail(p, name, v);
        vec_push(cx, &p->in, tensor_read(p->g, v.t));
        return true;
    case V_SYMINT:   vec_push(cx, &p->in, ox_dim_value(p->g, v.dim)); return true;
    case V_SYMFLOAT: vec_push(cx, &p->in, v.ox); return true;
    case V_SYMBOOL:  vec_push(cx, &p->in, symbool_ox(p->g, v.sb)); return true;
    case V_INT:
    case V_BOOL:     vec_push(cx, &p->attr, INT(name->s, v.tag == V_INT ? v.i : v.b)); return true;
    case V_FLOAT:    vec_push(cx, &p->attr, FLOAT(name->s, v.f)); return true;
    case V_STR:
    case V_DEVICE:   vec_push(cx, &p->attr, STRING(name->s, v.s)); return true;
    case V_DTYPE:    vec_push(cx, &p->attr, INT(name->s, v.dtype)); return true;
    case V_LIST:
        if (v.list->stacked)
            return passed_fail(p, name, v);
        return pass_items(p, name, v.list);
    case V_TUPLE: return pass_list(p, name, v.tuple->at, v.tuple->n);
    default:      return passed_fail(p, name, v);
    }
}

static bool pass_items(Passed *p, Str name, const List *list)
{
    Value *at = new_array(p->cx, Value, list->n + 1);
    if (!at)
        return false;
    for (int64_t i = 0; i < list->n; i++)
        at[i] = list->at[i].v;
    return pass_list(p, name, at, list->n);
}

typedef enum { ITEMS_INT, ITEMS_FLOAT, ITEMS_STR, ITEMS_INPUT, ITEMS_OTHER } ItemKind;

/* What all items of a list can be together; an empty list is one of ints. */
static ItemKind items_kind(const Value *at, int64_t n)
{
    bool ints = true;
    bool floats = true;
    bool strs = true;
    bool inputs = true;
    for (int64_t i = 0; i < n; i++) {
        ValTag t = at[i].tag;
        ints &= t == V_INT || t == V_BOOL;
        floats &= t == V_INT || t == V_FLOAT;
        strs &= t == V_STR;
        inputs &= t == V_TENSOR || t == V_NONE || t == V_SYMINT || t == V_INT;
    }
    if (ints)
        return ITEMS_INT;
    if (floats)
        return ITEMS_FLOAT;
    if (strs)
        return ITEMS_STR;
    return inputs ? ITEMS_INPUT : ITEMS_OTHER;
}

static bool pass_ints(Passed *p, Str name, const Value *at, int64_t n)
{
    int64_t *ints = new_array(p->cx, int64_t, n + 1);
    if (!ints)
        return false;
    for (int64_t i = 0; i < n; i++)
        ints[i] = at[i].tag == V_BOOL ? at[i].b : at[i].i;
    return vec_push(p->cx, &p->attr, INT_LIST(name->s, ints, (size_t)n));
}

static bool pass_floats(Passed *p, Str name, const Value *at, int64_t n)
{
    double *floats = new_array(p->cx, double, n + 1);
    if (!floats)
        return false;
    for (int64_t i = 0; i < n; i++)
        floats[i] = at[i].tag == V_FLOAT ? at[i].f : (double)at[i].i;
    Attr attr = { .name = name->s, .kind = ATTR_FLOATS, .n = (size_t)n, .floats = floats };
    return vec_push(p->cx, &p->attr, attr);
}

static bool pass_strs(Passed *p, Str name, const Value *at, int64_t n)
{
    Str *strs = new_array(p->cx, Str, n + 1);
    if (!strs)
        return false;
    for (int64_t i = 0; i < n; i++)
        strs[i] = at[i].s;
    Attr attr = { .name = name->s, .kind = ATTR_STRINGS, .n = (size_t)n, .strs = strs };
    return vec_push(p->cx, &p->attr, attr);
}

/* Each item an input, and an attribute of the list's name that says how many there are. */
static bool pass_inputs(Passed *p, Str name, const Value *at, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (at[i].tag == V_INT)
            vec_push(p->cx, &p->in, ox_int(p->g, at[i].i));
        else if (!pass_value(p, name, at[i]))
            return false;
    }
    return vec_push(p->cx, &p->attr, INT(name->s, n));
}

/* A list of numbers or strings is an attribute: size=[2, 3]. A list of tensors, or with a dynamic
 * size in it, is inputs: [x, y] gives two inputs and the attribute NAME=2. */
static bool pass_list(Passed *p, Str name, const Value *at, int64_t n)
{
    switch (items_kind(at, n)) {
    case ITEMS_INT:   return pass_ints(p, name, at, n);
    case ITEMS_FLOAT: return pass_floats(p, name, at, n);
    case ITEMS_STR:   return pass_strs(p, name, at, n);
    case ITEMS_INPUT: return pass_inputs(p, name, at, n);
    default:          return passed_fail(p, name, val_tuple(p->cx, at, n));
    }
}

/* The type of each result where the file records none: the first tensor's element type, of unknown
 * rank. NULL after an error. */
static Type assumed_type(Passed *p)
{
    DType t = DT_NONE;
    for (size_t i = 0; i < p->in.n && t == DT_NONE; i++)
        t = p->in.at[i] ? ox_dtype(p->in.at[i]) : DT_NONE;
    if (t == DT_NONE)
        return fail(p->cx, E_UNDECIDED,
                    "what %s returns is not known: it has no tensor among its arguments",
                    p->name->s),
               NULL;
    note(p->cx, NOTE_ASSUMED, "%s returns %s as its input is; a rule with `as TYPE` decides it",
         p->name->s, dtype_name(t));
    return type_tensor(p->cx, t, -1, NULL);
}

/* The node: my::blur is operator "blur" of domain "my". */
static bool make_node(Passed *p, const Type *types, Ox *out, size_t n_out)
{
    const char *sep = strstr(p->name->s, "::");
    Str domain = str_n(p->cx, p->name->s, (size_t)(sep - p->name->s));
    Str op = str_of(p->cx, sep + 2);
    return ox_make_custom(p->g, domain, op, (OxList)LIST(p->in), p->attr.at, p->attr.n, types, out,
                          n_out);
}

/* The call's results once all arguments are passed. expect: the types that the file records, or
 * NULL. */
static Value passed_through(Passed *p, const Type *expect, size_t n_out, bool as_tuple)
{
    if (!str_starts(p->name, "aten::"))
        note(p->cx, NOTE_ASSUMED, "%s writes to none of its arguments", p->name->s);
    Type *types = new_array(p->cx, Type, n_out);
    Ox *out = new_array(p->cx, Ox, n_out);
    Value *v = new_array(p->cx, Value, n_out);
    Type like = expect ? NULL : assumed_type(p);
    if (!types || !out || !v || ctx_failed(p->cx))
        return val_poison();
    for (size_t i = 0; i < n_out; i++)
        types[i] = expect ? expect[i] : like;
    if (!make_node(p, types, out, n_out))
        return val_poison();
    for (size_t i = 0; i < n_out; i++)
        v[i] = val_tensor(p->cx, out[i]);
    return as_tuple ? val_tuple(p->cx, v, (int64_t)n_out) : v[0];
}

static bool pass_all(Passed *p, Str overload, const OpArg *args, size_t n)
{
    if (!strstr(p->name->s, "::"))
        return fail(p->cx, E_UNSUPPORTED, "it has no namespace that could be its domain");
    if (str_ends(p->name, "_"))
        return fail(p->cx, E_UNSUPPORTED,
                    "it may write to its arguments, which a node cannot; a rule says what it does");
    for (size_t i = 0; i < n; i++) {
        Str name = args[i].name ? args[i].name : str_fmt(p->cx, "arg%zu", i);
        if (!pass_value(p, name, args[i].v))
            return false;
    }
    if (overload && overload->len)
        vec_push(p->cx, &p->attr, STRING("overload", overload));
    return !ctx_failed(p->cx);
}

Value op_call_custom(Graph *g, Str name, Str overload, const OpArg *args, size_t n,
                     const Type *expect, size_t n_out, bool as_tuple)
{
    Passed p = { .g = g, .cx = g->cx, .name = name };
    Where here = { .up = g->cx->at, .kind = WHERE_OP, .name = name };
    Value v = val_poison();
    g->cx->at = &here;
    if (pass_all(&p, overload, args, n))
        v = passed_through(&p, expect, n_out, as_tuple);
    g->cx->at = here.up;
    return v;
}
