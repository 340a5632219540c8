/* custom.c - an operator that nobody knows, as a node of a custom domain: what --unknown=custom
 * asks for.
 *
 * ops.my.blur(x, 3, mode="same") is the node my::blur(x) with the attributes arg1=3 and
 * mode="same". Tensors are inputs, in order, and so are numbers that only the running model knows;
 * a None is an input that is not there, so that places stay told apart; what is concrete is an
 * attribute, named as the argument is or, where the file does not name it, by its place. Results
 * have the types that the file records; where it records none, the first tensor's type in sizes
 * that nobody knows, which the user is told. */
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

static bool pass_list(Passed *p, Str name, const Value *at, int64_t n);

static bool pass_value(Passed *p, Str name, Value v)
{
    Ctx *cx = p->cx;
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
    case V_LIST:     {
        if (v.list->stacked)
            return passed_fail(p, name, v);
        Value *at = new_array(cx, Value, v.list->n + 1);
        for (int64_t i = 0; at && i < v.list->n; i++)
            at[i] = v.list->at[i].v;
        return at && pass_list(p, name, at, v.list->n);
    }
    case V_TUPLE: return pass_list(p, name, v.tuple->at, v.tuple->n);
    default:      return passed_fail(p, name, v);
    }
}

/* Numbers of one kind are a list; tensors, and a list with a number that is not known, are inputs
 * one by one, and an attribute says how many. */
static bool pass_list(Passed *p, Str name, const Value *at, int64_t n)
{
    bool ints = true;
    bool floats = true;
    bool strs = n > 0;
    bool inputs = n > 0;
    for (int64_t i = 0; i < n; i++) {
        ints &= at[i].tag == V_INT || at[i].tag == V_BOOL;
        floats &= at[i].tag == V_INT || at[i].tag == V_FLOAT;
        strs &= at[i].tag == V_STR;
        inputs &= at[i].tag == V_TENSOR || at[i].tag == V_NONE || at[i].tag == V_SYMINT ||
            at[i].tag == V_INT;
    }
    int64_t *is = new_array(p->cx, int64_t, n + 1);
    double *fs = new_array(p->cx, double, n + 1);
    Str *ss = new_array(p->cx, Str, n + 1);
    if (!is || !fs || !ss)
        return false;
    for (int64_t i = 0; i < n; i++) {
        is[i] = at[i].tag == V_BOOL ? at[i].b : at[i].tag == V_INT ? at[i].i : 0;
        fs[i] = at[i].tag == V_FLOAT ? at[i].f : (double)is[i];
        ss[i] = strs ? at[i].s : NULL;
    }
    if (ints)
        vec_push(p->cx, &p->attr, INT_LIST(name->s, is, (size_t)n));
    else if (floats)
        vec_push(p->cx, &p->attr,
                 ((Attr){ .name = name->s, .kind = ATTR_FLOATS, .n = (size_t)n, .floats = fs }));
    else if (strs)
        vec_push(p->cx, &p->attr,
                 ((Attr){ .name = name->s, .kind = ATTR_STRINGS, .n = (size_t)n, .strs = ss }));
    else if (!inputs)
        return passed_fail(p, name, val_tuple(p->cx, at, n));
    for (int64_t i = 0; inputs && !ints && i < n; i++)
        if (at[i].tag == V_INT)
            vec_push(p->cx, &p->in, ox_int(p->g, at[i].i));
        else if (!pass_value(p, name, at[i]))
            return false;
    if (inputs && !ints)
        vec_push(p->cx, &p->attr, INT(name->s, n));
    return true;
}

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

static Value passed_through(Passed *p, const Type *expect, size_t n_out, bool as_tuple)
{
    const char *sep = strstr(p->name->s, "::");
    if (!str_starts(p->name, "aten::"))
        note(p->cx, NOTE_ASSUMED, "%s writes to none of its arguments", p->name->s);
    Type *types = new_array(p->cx, Type, n_out);
    Ox *out = new_array(p->cx, Ox, n_out);
    Value *v = new_array(p->cx, Value, n_out);
    Type like = expect ? NULL : assumed_type(p);
    for (size_t i = 0; types && i < n_out; i++)
        types[i] = expect ? expect[i] : like;
    if (ctx_failed(p->cx) ||
        !ox_make_custom(p->g, str_n(p->cx, p->name->s, (size_t)(sep - p->name->s)),
                        str_of(p->cx, sep + 2), (OxList)LIST(p->in), p->attr.at, p->attr.n, types,
                        out, n_out))
        return val_poison();
    for (size_t i = 0; i < n_out; i++)
        v[i] = val_tensor(p->cx, out[i]);
    return as_tuple ? val_tuple(p->cx, v, (int64_t)n_out) : v[0];
}

Value op_call_custom(Graph *g, Str name, Str overload, const OpArg *args, size_t n,
                     const Type *expect, size_t n_out, bool as_tuple)
{
    Passed p = { .g = g, .cx = g->cx, .name = name };
    Where here = { .up = g->cx->at, .kind = WHERE_OP, .name = name };
    Value v = val_poison();
    bool ok = true;
    g->cx->at = &here;
    if (!strstr(name->s, "::"))
        ok = fail(g->cx, E_UNSUPPORTED, "it has no namespace that could be its domain");
    else if (str_ends(name, "_"))
        ok = fail(g->cx, E_UNSUPPORTED,
                  "it may write to its arguments, which a node cannot; a rule says what it does");
    for (size_t i = 0; ok && i < n; i++)
        ok = pass_value(&p, args[i].name ? args[i].name : str_fmt(g->cx, "arg%zu", i), args[i].v);
    if (ok && overload && overload->len)
        vec_push(g->cx, &p.attr, STRING("overload", overload));
    if (ok && !ctx_failed(g->cx))
        v = passed_through(&p, expect, n_out, as_tuple);
    g->cx->at = here.up;
    return v;
}
