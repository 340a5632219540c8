/* rules_apply.c - a rule applied to values: its first alternative whose guards hold.
 *
 * A tree is walked once per application; there is no loop and no recursion in the language, so
 * every application ends. Numbers become tensors only where an operator wants one, of the type that
 * its signature asks for (see number_dtype). */
#include "onnx/rules/rules_tree.h"

#include <math.h>
#include <stdlib.h>

typedef struct Local {
    Str name;
    RuleVal v;
} Local;
typedef struct Run {
    RuleEnv *env;
    Ctx *cx;
    const Rule *rule;
    VEC(Local) locals;
} Run;
typedef VEC(RuleVal) RuleVals;
typedef VEC(Ox) OxVals;

static RuleVal rv_ox(Ox v)
{
    return v ? (RuleVal){ .tag = RV_OX, .ox = v } : (RuleVal){ .tag = RV_NONE };
}
static RuleVal rv_int(int64_t i) { return (RuleVal){ .tag = RV_INT, .i = i }; }
static bool is_poison(RuleVal v) { return v.tag == RV_OX && !ox_ok(v.ox); }

static void where(const Text *t, size_t at, size_t *line, size_t *col)
{
    *line = 1, *col = 1;
    for (size_t i = 0; i < at && i < t->n; i++)
        if (t->at[i] == '\n')
            ++*line, *col = 1;
        else
            ++*col;
}

Str rule_place(Ctx *cx, const Rule *rule)
{
    size_t line, col;
    where(rule->text, rule->start, &line, &col);
    return str_fmt(cx, "%s:%zu", rule->text->name->s, line);
}

Str rule_position(Ctx *cx, const Rule *rule, uint32_t at)
{
    size_t line, col;
    where(rule->text, at, &line, &col);
    return str_fmt(cx, "%s:%zu:%zu", rule->text->name->s, line, col);
}

static RuleVal wrong(Run *run, const Tree *t, ErrorCode code, const char *what)
{
    fail(run->cx, code, "%s: %s", rule_position(run->cx, run->rule, t->at)->s, what);
    return rv_ox(POISON);
}

/* refuse() with values in the text. Gives false, for functions that return a bool. */
static bool PRINTF_LIKE(3, 4) refuse_value(Run *run, const Tree *t, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    wrong(run, t, E_USAGE, text);
    return false;
}

static RuleVal eval(Run *run, const Tree *t);

/* What a name stands for: the innermost `let`, a parameter, the target, infinity, or a type. */
static RuleVal look_up(Run *run, const Tree *t)
{
    RuleVal v;
    for (size_t i = run->locals.n; i-- > 0;)
        if (run->locals.at[i].name == t->s)
            return run->locals.at[i].v;
    if (run->env->lookup(run->env->arg, t->s, &v))
        return v;
    if (str_is(t->s, "opset"))
        return rv_int(run->env->target);
    if (str_is(t->s, "infinity"))
        return (RuleVal){ .tag = RV_FLOAT, .f = INFINITY };
    DType d = dtype_named(t->s->s, t->s->len);
    if (d != DT_NONE)
        return rv_int(d);
    if (ctx_failed(run->cx))
        return rv_ox(POISON);
    return wrong(run, t, E_USAGE,
                 str_fmt(run->cx, "'%s' is neither a parameter, a let nor a type", t->s->s)->s);
}

static bool as_double(RuleVal v, double *out)
{
    switch (v.tag) {
    case RV_INT:   *out = (double)v.i; return true;
    case RV_FLOAT: *out = v.f; return true;
    case RV_BOOL:  *out = v.b; return true;
    default:       return false;
    }
}

/* The value of an int or a bool; 0 for anything else. */
static int64_t as_int(RuleVal v)
{
    if (v.tag == RV_BOOL)
        return v.b;
    return v.tag == RV_INT ? v.i : 0;
}

static MUST_USE bool int_result(char operator, int64_t a, int64_t b, int64_t *out)
{
    switch (operator) {
    case '+': return add_ok(a, b, out);
    case '-': return sub_ok(a, b, out);
    default:  return mul_ok(a, b, out);
    }
}

double arith_result(char operator, double a, double b)
{
    switch (operator) {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    default:  return a / b;
    }
}

/* Ints stay ints but for "/", which is true division as in Python. */
static RuleVal arithmetic(Run *run, const Tree *t)
{
    RuleVal a = eval(run, t->arg[0]);
    RuleVal b = eval(run, t->arg[1]);
    double x, y;
    if (is_poison(a) || is_poison(b))
        return rv_ox(POISON);
    if (!as_double(a, &x) || !as_double(b, &y))
        return wrong(run, t, E_USAGE,
                     "arithmetic is on numbers; use Add, Sub, Mul, Div for tensors");
    if (a.tag != RV_FLOAT && b.tag != RV_FLOAT && t->i != '/') {
        int64_t out;
        if (!int_result((char)t->i, as_int(a), as_int(b), &out))
            return wrong(run, t, E_VALUE, "the number does not fit 64 bits");
        return rv_int(out);
    }
    if (t->i == '/' && y == 0)
        return wrong(run, t, E_VALUE, "division by zero");
    return (RuleVal){ .tag = RV_FLOAT, .f = arith_result((char)t->i, x, y) };
}

static RuleVal negated(Run *run, const Tree *t)
{
    RuleVal v = eval(run, t->arg[0]);
    if (v.tag == RV_INT && v.i != INT64_MIN)
        return rv_int(-v.i);
    if (v.tag == RV_BOOL)
        return rv_int(-as_int(v));
    if (v.tag == RV_FLOAT)
        return (RuleVal){ .tag = RV_FLOAT, .f = -v.f };
    return is_poison(v) ? v : wrong(run, t, E_USAGE, "'-' is for numbers; use Neg for tensors");
}

/* [1, 2] are ints, [1, 2.5] floats, [x, y] tensors. */
static RuleVal list(Run *run, const Tree *t)
{
    RuleVals items = { 0 };
    bool floats = false;
    bool tensors = false;
    for (size_t i = 0; i < t->n_arg; i++) {
        RuleVal v = eval(run, t->arg[i]);
        if (is_poison(v))
            return v;
        floats |= v.tag == RV_FLOAT;
        tensors |= v.tag == RV_OX;
        vec_push(run->cx, &items, v);
    }
    size_t n = items.n;
    int64_t *is = new_array(run->cx, int64_t, n + 1);
    double *fs = new_array(run->cx, double, n + 1);
    Ox *os = new_array(run->cx, Ox, n + 1);
    if (!is || !fs || !os)
        return rv_ox(POISON);
    for (size_t i = 0; i < n; i++) {
        RuleVal v = items.at[i];
        if (v.tag == RV_OX)
            os[i] = v.ox;
        else if (tensors || !as_double(v, &fs[i]))
            return wrong(run, t, E_USAGE, "a list holds numbers, or tensors, not both");
        else
            is[i] = as_int(v);
    }
    if (tensors)
        return (RuleVal){ .tag = RV_OXS, .oxs = { os, n } };
    if (floats)
        return (RuleVal){ .tag = RV_FLOATS, .floats = { fs, n } };
    return (RuleVal){ .tag = RV_INTS, .ints = { is, n } };
}

/* A 0-d constant of type t; floats are rounded once, ints must be whole. */
static Ox number_ox(Run *run, const Tree *at, RuleVal v, DType t)
{
    Graph *g = run->env->g;
    if (t == DT_BOOL)
        return ox_bool(g, v.tag == RV_FLOAT ? v.f != 0 : as_int(v) != 0);
    if (v.tag == RV_FLOAT && dtype_is_int(t)) {
        int64_t whole;
        if (!whole_number(v.f, &whole))
            return wrong(run, at, E_VALUE, "a fraction where the operator takes whole numbers").ox;
        return ox_integer(g, t, whole);
    }
    if (v.tag == RV_FLOAT)
        return ox_number(g, t, v.f);
    return ox_integer(g, t, as_int(v));
}

/* v, a number that is known, as a 0-d constant of type t; without its fraction where t is an int
 * type, as PyTorch converts numbers. */
static Ox cast_number(Run *run, const Tree *at, RuleVal v, DType t)
{
    const double limit = 0x1p63;
    if (v.tag == RV_FLOAT && dtype_is_int(t)) {
        if (!(v.f >= -limit && v.f < limit))
            return wrong(run, at, E_VALUE, "the number does not fit 64 bits").ox;
        v.f = trunc(v.f);
    }
    return number_ox(run, at, v, t);
}

/* A number that the running model computes as a tensor of type t. */
static Ox staged_number_ox(Run *run, const Tree *at, Ox number, DType t)
{
    if (ox_ok(number) && dtype_is_float(ox_dtype(number)) && dtype_is_int(t))
        return wrong(run, at, E_VALUE, "a fraction where the operator takes whole numbers").ox;
    return ox_cast(run->env->g, number, t);
}

/* v, which is a number, as a 0-d tensor of type t. */
static Ox any_number_ox(Run *run, const Tree *at, RuleVal v, DType t)
{
    return v.tag == RV_OX ? staged_number_ox(run, at, v.ox, t) : number_ox(run, at, v, t);
}

static bool is_number(RuleVal v)
{
    double ignored;
    return v.tag == RV_OX ? v.number : as_double(v, &ignored);
}

/* dtype(x), rank(x), cast(x, type), like(number, x) */
static RuleVal function(Run *run, const Tree *t)
{
    RuleVal a = eval(run, t->arg[0]);
    RuleVal b = t->n_arg > 1 ? eval(run, t->arg[1]) : (RuleVal){ .tag = RV_NONE };
    if (is_poison(a) || is_poison(b))
        return rv_ox(POISON);
    switch (t->kind) {
    case N_DTYPE:
        return a.tag == RV_OX ? rv_int(ox_dtype(a.ox))
                              : wrong(run, t, E_USAGE, "dtype(..) is for tensors");
    case N_RANK:
        if (a.tag != RV_OX)
            return wrong(run, t, E_USAGE, "rank(..) is for tensors");
        if (ox_rank(a.ox) < 0)
            return wrong(run, t, E_UNDECIDED,
                         "the rank of this tensor is not known; -i NAME:float32[..] for its input "
                         "decides it");
        return rv_int(ox_rank(a.ox));
    case N_CAST:
        if ((a.tag != RV_OX && !is_number(a)) || b.tag != RV_INT || b.i <= 0 || b.i >= DT_COUNT)
            return wrong(run, t, E_USAGE,
                         "cast(tensor, type), as in cast(x, float32) or cast(x, dtype(y))");
        if (a.tag != RV_OX)
            return rv_ox(cast_number(run, t, a, (DType)b.i));
        return rv_ox(ox_cast(run->env->g, a.ox, (DType)b.i));
    default:
        if (!is_number(a) || b.tag != RV_OX)
            return wrong(run, t, E_USAGE, "like(number, tensor), as in like(0.5, x)");
        return rv_ox(any_number_ox(run, t, a, ox_dtype(b.ox)));
    }
}

/* ---- calls ---- */

/* The formal of input i: the last one stands for all that follow when it is variadic. */
static const FormalArg *formal(const OpVersion *v, size_t i)
{
    if (!v || v->n_in == 0)
        return NULL;
    enum { VARIADIC = 2 };
    const FormalArg *last = &v->in[v->n_in - 1];
    if (i < v->n_in)
        return &v->in[i];
    return last->option == VARIADIC ? last : NULL;
}

static const FormalType *formal_type(const OpVersion *v, const char *name)
{
    for (int i = 0; i < v->n_type; i++)
        if (strcmp(v->type[i].name, name) == 0)
            return &v->type[i];
    return NULL;
}

static bool formal_takes(const OpVersion *v, const FormalArg *f, DType t)
{
    const FormalType *type = formal_type(v, f->type);
    return type && (type->dtypes >> t & 1);
}

/* The type of a number that stands for input i: that of an operand bound to the same type name,
 * else int64 where the signature takes ints only there, else that of the first tensor, else
 * env->like's. */
static DType number_dtype(Run *run, const OpVersion *v, const RuleVals *args, size_t i)
{
    const FormalArg *f = formal(v, i);
    DType first = DT_NONE;
    for (size_t k = 0; k < args->n; k++) {
        if (args->at[k].tag != RV_OX || args->at[k].number)
            continue;
        const FormalArg *other = formal(v, k);
        if (!f || (other && strcmp(f->type, other->type) == 0))
            return ox_dtype(args->at[k].ox);
        if (first == DT_NONE)
            first = ox_dtype(args->at[k].ox);
    }
    if (f && strcmp(f->type, "tensor(int64)") == 0)
        return DT_INT64;
    if (f && first != DT_NONE && formal_takes(v, f, first))
        return first;
    if (f && formal_takes(v, f, DT_INT64) && !formal_takes(v, f, DT_FLOAT))
        return DT_INT64;
    if (f && strcmp(f->type, "tensor(float)") == 0)
        return DT_FLOAT;
    return run->env->like ? ox_dtype(run->env->like) : DT_NONE;
}

static Ox floats_ox(Run *run, const Tree *t, RuleVal v, DType d)
{
    int64_t n = (int64_t)v.floats.n;
    if (d == DT_FLOAT) {
        float *f = new_array(run->cx, float, n + 1);
        if (!f)
            return POISON;
        for (int64_t i = 0; i < n; i++)
            f[i] = (float)v.floats.at[i];
        return ox_const(run->env->g, const_make(run->cx, d, 1, &n, f));
    }
    if (d == DT_DOUBLE)
        return ox_const(run->env->g, const_make(run->cx, d, 1, &n, v.floats.at));
    return wrong(run, t, E_USAGE, "a list of floats becomes a float32 or float64 tensor only").ox;
}

/* One operand as a tensor; NULL for none. */
static Ox operand(Run *run, const Tree *t, const OpVersion *v, const RuleVals *args, size_t i)
{
    RuleVal a = args->at[i];
    DType d;
    switch (a.tag) {
    case RV_NONE: return NULL;
    case RV_OX:
        d = a.number && v ? number_dtype(run, v, args, i) : DT_NONE;
        return d == DT_NONE ? a.ox : staged_number_ox(run, t, a.ox, d);
    case RV_STR:  return ox_string(run->env->g, a.s);
    case RV_INTS: return ox_ints(run->env->g, a.ints.at, a.ints.n);
    case RV_FLOATS:
        d = number_dtype(run, v, args, i);
        return floats_ox(run, t, a, d == DT_NONE ? DT_FLOAT : d);
    default:
        d = number_dtype(run, v, args, i);
        if (d == DT_NONE)
            return wrong(run, t, E_USAGE,
                         "the type of this number is not known; write like(number, tensor)")
                .ox;
        return number_ox(run, t, a, d);
    }
}

/* The arguments of a call, the items of a list each by itself. In scratch memory. */
static bool spread(Run *run, const Tree *t, RuleVals *out)
{
    RuleVal *args = scratch_array(run->cx, RuleVal, t->n_arg);
    size_t n = 0;
    if (!args)
        return false;
    for (size_t i = 0; i < t->n_arg; i++) {
        args[i] = eval(run, t->arg[i]);
        if (is_poison(args[i]))
            return false;
        n += args[i].tag == RV_OXS ? args[i].oxs.n : 1;
    }
    out->at = scratch_array(run->cx, RuleVal, n);
    if (!out->at)
        return false;
    for (size_t i = 0; i < t->n_arg; i++) {
        if (args[i].tag != RV_OXS)
            out->at[out->n++] = args[i];
        else
            for (size_t k = 0; k < args[i].oxs.n; k++)
                out->at[out->n++] = rv_ox(args[i].oxs.at[k]);
    }
    return true;
}

/* The kind of attribute that v is by itself. */
static AttrKind own_kind(RuleVal v)
{
    switch (v.tag) {
    case RV_INT:
    case RV_BOOL:  return ATTR_INT;
    case RV_FLOAT: return ATTR_FLOAT;
    case RV_STR:   return ATTR_STRING;
    case RV_INTS:  return ATTR_INTS;
    default:       return ATTR_FLOATS;
    }
}

/* An attribute takes the kind that the signature says; a custom operator's takes the value's
 * own. */
static bool attribute(Run *run, const Setting *s, AttrKind kind, Attr *out)
{
    RuleVal v = eval(run, s->value);
    double f = 0;
    *out = (Attr){ .name = s->name->s, .kind = ATTR_NONE };
    if (is_poison(v))
        return false;
    if (v.tag == RV_NONE)
        return true;
    const char *name = out->name;
    kind = kind == ATTR_NONE ? own_kind(v) : kind;
    if (kind == ATTR_INT && (v.tag == RV_INT || v.tag == RV_BOOL))
        *out = INT(name, as_int(v));
    else if (kind == ATTR_FLOAT && as_double(v, &f))
        *out = FLOAT(name, f);
    else if (kind == ATTR_STRING && v.tag == RV_STR)
        *out = STRING(name, v.s);
    else if (kind == ATTR_INTS && v.tag == RV_INTS)
        *out = INT_LIST(name, v.ints.at, v.ints.n);
    else if (kind == ATTR_FLOATS && v.tag == RV_FLOATS)
        *out = (Attr){ .name = name, .kind = kind, .floats = v.floats.at, .n = v.floats.n };
    else
        return refuse_value(run, s->value, "attribute %s does not take this value", name);
    return true;
}

static bool attributes(Run *run, const Tree *t, const OpVersion *v, Attr **out)
{
    *out = scratch_array(run->cx, Attr, t->n_attr + 1);
    if (!*out)
        return false;
    for (size_t i = 0; i < t->n_attr; i++) {
        const FormalAttr *formal = onnx_attr(v, t->attr[i].name->s);
        AttrKind kind = formal ? formal->kind : ATTR_NONE;
        if (v && kind == ATTR_NONE)
            return refuse_value(run, t->attr[i].value, "%s has no attribute %s in opset %d",
                                t->s->s, t->attr[i].name->s, ONNX_NEWEST);
        if (!attribute(run, &t->attr[i], kind, &(*out)[i]))
            return false;
    }
    return true;
}

/* The type of a custom operator's result: `as x`: that of x; `as float32`: a tensor of this
 * type; else the type of the first input, an assumption with a note. */
static bool custom_type(Run *run, const Tree *t, OxList in, Type *out)
{
    if (t->as) {
        RuleVal v = look_up(run, &(Tree){ .kind = N_NAME, .at = t->at, .s = t->as });
        if (v.tag == RV_OX && ox_ok(v.ox))
            *out = v.ox->type;
        else if (v.tag == RV_INT)
            *out = type_tensor(run->cx, (DType)v.i, -1, NULL);
        else
            return false;
        return true;
    }
    DType d = DT_NONE;
    for (size_t i = 0; i < in.n && d == DT_NONE; i++)
        d = in.at[i] ? ox_dtype(in.at[i]) : DT_NONE;
    note(run->cx, NOTE_ASSUMED,
         "%s::%s returns %s as its input is; `as TYPE` after it in the rule decides it",
         t->domain->s, t->s->s, dtype_name(d));
    *out = type_tensor(run->cx, d, -1, NULL);
    return true;
}

static bool call_custom(Run *run, const Tree *t, OxList in, const Attr *attr, Ox *out, size_t n)
{
    Type type;
    if (!custom_type(run, t, in, &type))
        return false;
    Type *types = new_array(run->cx, Type, n);
    if (!types)
        return false;
    for (size_t i = 0; i < n; i++)
        types[i] = type;
    return ox_make_custom(run->env->g, t->domain, t->s, in, attr, t->n_attr, types, out, n);
}

/* An operator of PyTorch, which a derivative may call. */
static bool is_operator(const Run *run, const Tree *t)
{
    return run->env->call && t->domain && str_is(t->domain, "aten");
}

static bool call_operator(Run *run, const Tree *t, const RuleVals *args, Ox *out, size_t n)
{
    if (n != 1)
        return refuse_value(run, t, "an operator of PyTorch has one result here");
    Str name = str_fmt(run->cx, "aten::%s", t->s->s);
    for (size_t i = 0; i < args->n; i++)
        if (is_poison(args->at[i]))
            return false;
    out[0] = name ? run->env->call(run->env->arg, name, args->at, args->n) : POISON;
    return ox_ok(out[0]);
}

/* In scratch memory. False after an error. */
static bool operands(Run *run, const Tree *t, const OpVersion *v, const RuleVals *args, OxList *out)
{
    Ox *in = scratch_array(run->cx, Ox, args->n);
    *out = (OxList){ in, args->n };
    if (!in)
        return false;
    for (size_t i = 0; i < args->n; i++) {
        in[i] = operand(run, t, v, args, i);
        if (in[i] && !ox_ok(in[i]))
            return false;
    }
    return true;
}

/* Applies an operator with n results. An error in a user's rule names the place in the user's
 * file. */
static bool apply(Run *run, const Tree *t, Ox *out, size_t n)
{
    RuleVals args = { 0 };
    OxList in;
    Attr *attr;
    const OpVersion *v = t->domain ? NULL : onnx_version(onnx_op(run->cx, t->s->s), ONNX_NEWEST);
    if (!spread(run, t, &args) || !attributes(run, t, v, &attr))
        return false;
    if (is_operator(run, t))
        return call_operator(run, t, &args, out, n);
    if (!operands(run, t, v, &args, &in))
        return false;
    if (t->domain)
        return call_custom(run, t, in, attr, out, n);
    if (ox_make_n(run->env->g, t->s->s, in, attr, t->n_attr, out, n))
        return true;
    if (run->rule->users)
        fail_is_theirs(run->cx, rule_position(run->cx, run->rule, t->at));
    return false;
}

/* The same; the results are all POISON after an error. What the operator is given is scratch of
 * the call. */
static bool call(Run *run, const Tree *t, Ox *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = POISON;
    ArenaMark mark = scratch_begin(run->cx);
    bool ok = apply(run, t, out, n);
    scratch_end(run->cx, mark);
    return ok;
}

/* The value of an expression; a poison tensor after an error. */
static RuleVal eval(Run *run, const Tree *t)
{
    Ox one;
    switch (t->kind) {
    case N_INT:   return rv_int(t->i);
    case N_FLOAT: return (RuleVal){ .tag = RV_FLOAT, .f = t->f };
    case N_STR:   return (RuleVal){ .tag = RV_STR, .s = t->s };
    case N_BOOL:  return (RuleVal){ .tag = RV_BOOL, .b = t->i != 0 };
    case N_NONE:  return (RuleVal){ .tag = RV_NONE };
    case N_NAME:  return look_up(run, t);
    case N_LIST:  return list(run, t);
    case N_NEG:   return negated(run, t);
    case N_ARITH: return arithmetic(run, t);
    case N_CALL:  return call(run, t, &one, 1) ? rv_ox(one) : rv_ox(POISON);
    case N_DTYPE:
    case N_RANK:
    case N_CAST:
    case N_LIKE:  return function(run, t);
    }
    return rv_ox(POISON);
}

/* ---- guards ---- */

/* A number of the program counts as int64, float64 or bool. */
static DType dtype_of_val(RuleVal v)
{
    switch (v.tag) {
    case RV_OX:    return ox_dtype(v.ox);
    case RV_INT:   return DT_INT64;
    case RV_FLOAT: return DT_DOUBLE;
    case RV_BOOL:  return DT_BOOL;
    default:       return DT_NONE;
    }
}

static bool holds_type(GuardKind k, RuleVal v)
{
    DType d = dtype_of_val(v);
    switch (k) {
    case G_FLOAT: return dtype_is_float(d);
    case G_INT:   return dtype_is_int(d);
    case G_BOOL:  return d == DT_BOOL;
    default:      return dtype_is_complex(d);
    }
}

/* A number that is none, or a constant of one. */
static bool is_nan(const Run *run, RuleVal v)
{
    double x;
    bool known = v.tag == RV_OX ? ox_known_scalar(run->env->g, v.ox, &x) : as_double(v, &x);
    return known && isnan(x);
}

bool compare_numbers(GuardKind kind, double a, double b)
{
    switch (kind) {
    case G_EQ: return a == b;
    case G_NE: return a != b;
    case G_LT: return a < b;
    case G_LE: return a <= b;
    case G_GT: return a > b;
    default:   return a >= b;
    }
}

/* Numbers, bools and dtypes compare by value, strings and none are equal or not, and a tensor
 * equals nothing. False: an error. */
static bool compare(Run *run, const Guard *g, RuleVal a, bool *out)
{
    RuleVal b = eval(run, g->b);
    double x, y;
    if (is_poison(b))
        return false;
    if (as_double(a, &x) && as_double(b, &y)) {
        *out = compare_numbers(g->kind, x, y);
        return true;
    }
    if (g->kind != G_EQ && g->kind != G_NE)
        return !is_poison(wrong(run, g->a, E_USAGE, "only numbers are ordered"));
    bool equal = a.tag == b.tag && (a.tag == RV_NONE || (a.tag == RV_STR && a.s == b.s));
    *out = equal == (g->kind == G_EQ);
    return true;
}

/* Does the guard hold, into *out? False: an error. */
static bool holds(Run *run, const Guard *g, bool *out)
{
    if (g->kind == G_NOT) {
        bool inner;
        if (!holds(run, g->inner, &inner))
            return false;
        *out = !inner;
        return true;
    }
    RuleVal v = eval(run, g->a);
    if (is_poison(v))
        return false;
    switch (g->kind) {
    case G_FLOAT:
    case G_INT:
    case G_BOOL:
    case G_COMPLEX: *out = holds_type(g->kind, v); return true;
    case G_CONST:   *out = v.tag != RV_OX || v.ox->kind == OX_CONST; return true;
    case G_GIVEN:   *out = v.tag != RV_NONE; return true;
    case G_NONE:    *out = v.tag == RV_NONE; return true;
    case G_NAN:     *out = is_nan(run, v); return true;
    default:        return compare(run, g, v, out);
    }
}

static bool matches(Run *run, const Alternative *a, bool *out)
{
    *out = true;
    for (size_t i = 0; i < a->guards.n && *out; i++)
        if (!holds(run, a->guards.at[i], out))
            return false;
    return true;
}

static bool bind_let(Run *run, const Let *l)
{
    Ox out[8];
    if (l->n_name == 1) {
        RuleVal v = eval(run, l->value);
        vec_push(run->cx, &run->locals, (Local){ l->name[0], v });
        return !is_poison(v);
    }
    if (l->value->kind != N_CALL || l->n_name > COUNT(out))
        return !is_poison(
            wrong(run, l->value, E_USAGE, "several names take the outputs of one operator"));
    if (!call(run, l->value, out, l->n_name))
        return false;
    for (size_t i = 0; i < l->n_name; i++)
        vec_push(run->cx, &run->locals, (Local){ l->name[i], rv_ox(out[i]) });
    return true;
}

/* A result that is a plain number takes env->like's type. */
static bool result(Run *run, const Tree *t, Ox *out)
{
    RuleVal v = eval(run, t);
    RuleVals one = { .at = &v, .n = 1 };
    *out = operand(run, t, NULL, &one, 0);
    return !*out || ox_ok(*out);
}

/* The n results of the alternative that applies; one call may give them all. */
static bool produce(Run *run, const Alternative *a, Ox *out, size_t n)
{
    for (size_t i = 0; i < a->lets.n; i++)
        if (!bind_let(run, &a->lets.at[i]))
            return false;
    const Tree *first = a->results.at[0];
    if (a->results.n == 1 && n > 1) {
        if (first->kind == N_CALL)
            return call(run, first, out, n);
        return refuse_value(run, first, "the operator has %zu results: write (a, b)", n);
    }
    if (a->results.n != n)
        return refuse_value(run, first, "the operator has %zu results, the rule gives %zu", n,
                            a->results.n);
    for (size_t i = 0; i < n; i++)
        if (!result(run, a->results.at[i], &out[i]))
            return false;
    return true;
}

RuleOutcome rule_apply(const Rule *r, RuleEnv *env, Ox *out, size_t n_out)
{
    Run run = { .env = env, .cx = env->g->cx, .rule = r };
    for (size_t i = 0; i < n_out; i++)
        out[i] = POISON;
    if (!rule_read(run.cx, r))
        return RULE_FAILED;
    for (size_t i = 0; i < r->body->at.n; i++) {
        bool fits;
        if (!matches(&run, &r->body->at.at[i], &fits))
            return RULE_FAILED;
        if (fits)
            return produce(&run, &r->body->at.at[i], out, n_out) ? RULE_DONE : RULE_FAILED;
    }
    return RULE_NO_MATCH;
}

/* ---- derivatives ---- */

static Derivative *derivative_of(const Rule *r, Str param)
{
    for (size_t i = 0; r->derivatives && i < r->derivatives->at.n; i++)
        if (r->derivatives->at.at[i].param == param)
            return &r->derivatives->at.at[i];
    return NULL;
}

Str rule_derivative_of(const Rule *r, size_t i)
{
    return r->derivatives && i < r->derivatives->at.n ? r->derivatives->at.at[i].param : NULL;
}

RuleOutcome rule_derivative(const Rule *r, Str param, RuleEnv *env, Ox *out, Str *why)
{
    Run run = { .env = env, .cx = env->g->cx, .rule = r };
    Derivative *d = derivative_of(r, param);
    *out = POISON;
    *why = NULL;
    if (d && !derivative_read(run.cx, r, d))
        return RULE_FAILED;
    const Tree *t = d ? d->value : NULL;
    *why = t && t->kind == N_STR ? t->s : NULL;
    if (!t || t->kind == N_STR)
        return RULE_NO_MATCH;
    return result(&run, t, out) && *out ? RULE_DONE : RULE_FAILED;
}
