/* bind.c - arguments to parameters, and the choice of an overload.
 *
 * Overloads are tried in order of registration, first as the arguments are, then with PyTorch's
 * implicit conversions: an int where int[2] is declared, trailing ints for a list, a 0-d tensor
 * where a number is declared, a number where a tensor is. Bound lists are snapshots (tuples): a
 * call may be kept to read a view again, and lists change. */
#include "ops/internal.h"
#include "value/walk.h"
#include "value/autograd.h"

/* A Python number, symbolic or not. */
static bool is_number(Value v)
{
    return v.tag == V_BOOL || v.tag == V_INT || v.tag == V_FLOAT || v.tag == V_COMPLEX ||
        v.tag == V_SYMINT || v.tag == V_SYMFLOAT || v.tag == V_SYMBOOL;
}

/* ---- one value for one parameter ---- */

typedef struct Binder {
    Graph *g;
    Ctx *cx;
    bool convert;
    Str why;
} Binder;

static Ox number_ox(Graph *g, Value v)
{
    switch (v.tag) {
    case V_BOOL:     return ox_bool(g, v.b);
    case V_INT:      return ox_int(g, v.i);
    case V_FLOAT:    return ox_number(g, DT_DOUBLE, v.f);
    case V_SYMINT:   return ox_dim_value(g, v.dim);
    case V_SYMFLOAT: return v.ox;
    case V_SYMBOOL:  return symbool_ox(g, v.sb);
    default:         return POISON;
    }
}

/* A Python number as a 0-d tensor that promotion takes for a number. */
static Value number_tensor(Binder *b, Value v)
{
    Value t = val_tensor(b->cx, number_ox(b->g, v));
    if (t.tag == V_TENSOR)
        t.t->number = true;
    return t;
}

static bool zero_dim(Value v) { return v.tag == V_TENSOR && tensor_type(v.t)->rank == 0; }

/* A 0-d tensor where a number is declared. */
static bool number_from(Binder *b, Value v, ArgBase base, Value *out)
{
    if (!b->convert || !zero_dim(v))
        return false;
    *out = autograd_number(b->g, tensor_read(b->g, v.t));
    if (base == A_FLOAT && out->tag == V_INT)
        *out = val_float((double)out->i);
    return val_ok(*out);
}

/* Does v fit one parameter (or list item) of this type? *out is v, converted where the binder
 * may convert: true for a float gives 1.0, a 0-d tensor for an int gives its number. */
static bool item(Binder *b, ArgBase base, Value v, Value *out)
{
    *out = v;
    switch (base) {
    case A_TENSOR:
        if (b->convert && is_number(v) && v.tag != V_COMPLEX)
            *out = number_tensor(b, v);
        return out->tag == V_TENSOR;
    case A_SCALAR: return is_number(v) || number_from(b, v, base, out);
    case A_INT:
        if (b->convert && v.tag == V_BOOL)
            *out = val_int(v.b);
        return out->tag == V_INT || v.tag == V_SYMINT || (b->convert && v.tag == V_DTYPE) ||
            number_from(b, v, base, out);
    case A_FLOAT:
        if (b->convert && (v.tag == V_INT || v.tag == V_BOOL))
            *out = val_float(v.tag == V_INT ? (double)v.i : v.b);
        return out->tag == V_FLOAT || v.tag == V_SYMFLOAT || (b->convert && v.tag == V_SYMINT) ||
            number_from(b, v, base, out);
    case A_BOOL:
        if (b->convert && v.tag == V_INT)
            *out = val_bool(v.i != 0);
        return out->tag == V_BOOL || v.tag == V_SYMBOOL || number_from(b, v, base, out);
    case A_STR:           return v.tag == V_STR;
    case A_DTYPE:         return v.tag == V_DTYPE || v.tag == V_INT;
    case A_DEVICE:        return v.tag == V_DEVICE || (b->convert && v.tag == V_STR);
    case A_LAYOUT:
    case A_MEMORY_FORMAT: return v.tag == V_INT || v.tag == V_STR || v.tag == V_ENUM;
    /* A tuple was packed while the model was loaded. */
    case A_PACKED:    return v.tag == V_OBJ || v.tag == V_TUPLE;
    case A_GENERATOR:
    case A_ANY:       return true;
    }
    return false;
}

/* The names that an empty list may carry for the items it would hold. */
static bool empty_fits(ArgBase base, Str elem)
{
    if (!elem)
        return true;
    switch (base) {
    case A_TENSOR: return str_is(elem, "Tensor") || str_is(elem, "Optional[Tensor]");
    case A_INT:
        return str_is(elem, "int") ||
            str_is(elem, "Tensor"); /* `[]` without annotation is List[Tensor] */
    case A_FLOAT: return str_is(elem, "float");
    default:      return true;
    }
}

/* Does a list or tuple fit a parameter that is a list? *out is a snapshot, a tuple: [1, n] for
 * int[] gives (1, n). For an untyped parameter (torch.tensor([[1, 2]])) *out is v itself,
 * because it may be nested, and an empty list has its item type. */
static bool items(Binder *b, const Param *p, Value v, Value *out)
{
    bool tuple = v.tag == V_TUPLE;
    int64_t n = tuple ? v.tuple->n : v.list->n;
    if (p->base == A_ANY) {
        *out = v;
        return true;
    }
    if (!tuple && v.list->stacked)
        return false; /* its length is dynamic: eval/lists/stacked.c has its operators */
    if (n == 0 && !tuple && !empty_fits(p->base, v.list->elem))
        return false;
    Value *at = scratch_array(b->cx, Value, n + 1);
    if (!at)
        return false;
    for (int64_t i = 0; i < n; i++) {
        Value x = tuple ? v.tuple->at[i] : v.list->at[i].v;
        if (x.tag == V_NONE && p->elem_optional)
            at[i] = x;
        else if (!item(b, p->base, x, &at[i]))
            return false;
    }
    *out = val_tuple(b->cx, at, n);
    return true;
}

/* int[2] given one number. */
static bool repeated(Binder *b, const Param *p, Value v, Value *out)
{
    Value one;
    if (p->fixed == 0 || !item(b, p->base, v, &one))
        return false;
    Value *at = scratch_array(b->cx, Value, p->fixed);
    if (!at)
        return false;
    for (int i = 0; i < p->fixed; i++)
        at[i] = one;
    *out = val_tuple(b->cx, at, p->fixed);
    return true;
}

static bool fits_param(Binder *b, const Param *p, Value v, Value *out)
{
    if (!p->list)
        return item(b, p->base, v, out);
    if (v.tag == V_LIST || v.tag == V_TUPLE)
        return items(b, p, v, out);
    return repeated(b, p, v, out);
}

/* One argument for one parameter; the first misfit is kept in b->why for the message. */
static bool coerce(Binder *b, const Param *p, Value v, Value *out)
{
    if (v.tag == V_NONE && (p->optional || p->base == A_ANY || p->base == A_GENERATOR)) {
        *out = v;
        return true;
    }
    bool fits = fits_param(b, p, v, out);
    if (!fits && !b->why)
        b->why = str_fmt(b->cx, "argument '%s' is %s", p->name->s, val_kind(v));
    return fits;
}

/* ---- all arguments for one schema ---- */

static bool mismatch(Binder *b, const char *what, Str name)
{
    if (!b->why)
        b->why = str_fmt(b->cx, what, name ? name->s : "");
    return false;
}

static int positional_params(const Schema *s)
{
    int n = 0;
    while (n < s->n_param && !s->param[n].kwonly)
        n++;
    return n;
}

/* torch.zeros(2, 3): the ints from args[i] on, as the list that the last positional parameter
 * wants. */
static bool trailing(Binder *b, const Param *p, const OpArg *args, int n, Value *out)
{
    if (!b->convert || !p->list || p->base != A_INT)
        return false;
    Value *at = scratch_array(b->cx, Value, n);
    if (!at)
        return false;
    for (int i = 0; i < n; i++)
        at[i] = args[i].v;
    return items(b, p, val_tuple(b->cx, at, n), out);
}

/* The arguments without a name, in order; given[i] marks each parameter that has one. In
 * torch.zeros(2, 3) the last positional parameter takes all that are left. */
static bool bind_positional(Binder *b, const Schema *s, const OpArg *args, size_t n_args,
                            Value *bound, bool *given)
{
    int n = 0;
    int room = positional_params(s);
    while ((size_t)n < n_args && !args[n].name)
        n++;
    for (int i = 0; i < n; i++) {
        if (i >= room)
            return mismatch(b, "too many positional arguments%s", NULL);
        given[i] = true;
        if (i == room - 1 && n > room) {
            if (!trailing(b, &s->param[i], args + i, n - i, &bound[i]))
                return mismatch(b, "too many positional arguments%s", NULL);
            return true;
        }
        if (!coerce(b, &s->param[i], args[i].v, &bound[i]))
            return false;
    }
    return true;
}

/* The arguments with a name, in any order, after the positional ones. */
static bool bind_keywords(Binder *b, const Schema *s, const OpArg *args, size_t n, Value *bound,
                          bool *given)
{
    for (size_t k = 0; k < n; k++) {
        if (!args[k].name)
            continue;
        int i = param_index(s, args[k].name);
        if (i < 0 && str_is(args[k].name, "input")) /* PyTorch's Python spelling of self */
            i = param_named(s, "self");
        if (i < 0)
            return mismatch(b, "it has no argument '%s'", args[k].name);
        if (given[i])
            return mismatch(b, "argument '%s' is given twice", args[k].name);
        given[i] = true;
        if (!coerce(b, &s->param[i], args[k].v, &bound[i]))
            return false;
    }
    return true;
}

static bool bind_defaults(Binder *b, const Schema *s, Value *bound, const bool *given)
{
    for (int i = 0; i < s->n_param; i++) {
        const Param *p = &s->param[i];
        if (given[i])
            continue;
        if (!p->has_default)
            return mismatch(b, "argument '%s' is missing", p->name);
        if (!coerce(b, p, p->deflt, &bound[i]))
            return mismatch(b, "the default of '%s' does not fit its type", p->name);
    }
    return true;
}

BindOutcome bind_try(Graph *g, const Schema *s, const OpArg *args, size_t n, bool convert,
                     Value **bound, Str *why)
{
    Binder b = { .g = g, .cx = g->cx, .convert = convert };
    bool few[32] = { false };
    *bound = scratch_array(g->cx, Value, s->n_param + 1);
    bool *given = s->n_param < (int)COUNT(few) ? few : scratch_array(g->cx, bool, s->n_param + 1);
    if (!*bound || !given)
        return BIND_FAILED;
    bool fits = bind_positional(&b, s, args, n, *bound, given) &&
        bind_keywords(&b, s, args, n, *bound, given) && bind_defaults(&b, s, *bound, given);
    if (why)
        *why = b.why;
    if (ctx_failed(g->cx))
        return BIND_FAILED;
    return fits ? BIND_DONE : BIND_NO_MATCH;
}

/* ---- the overload ---- */

/* "Tensor, dim=int": the arguments as a message shows them. */
static Str kinds_text(Ctx *cx, const OpArg *args, size_t n)
{
    Buf b = buf_new(cx);
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_str(&b, ", ");
        if (args[i].name)
            buf_fmt(&b, "%s=", args[i].name->s);
        buf_str(&b, val_kind(args[i].v));
    }
    return buf_done(&b);
}

/* The candidate of exactly this overload; NULL when there is none or overload is NULL. */
static Candidate *exact(Ctx *cx, Entry *e, Str overload)
{
    if (!overload)
        return NULL;
    for (size_t i = 0; i < e->at.n; i++) {
        const Schema *s = candidate_schema(cx, &e->at.at[i]);
        if (s && s->overload == overload)
            return &e->at.at[i];
    }
    return NULL;
}

static Candidate *no_match(Ctx *cx, Entry *e, Str name, const OpArg *args, size_t n, Str why)
{
    if (ctx_failed(cx))
        return NULL;
    if (e->at.n == 1)
        fail(cx, E_UNSUPPORTED, "%s(%s) does not fit %s: %s", name->s, kinds_text(cx, args, n)->s,
             e->at.at[0].line, why ? why->s : "");
    else
        fail(cx, E_UNSUPPORTED, "no form of %s that pt2onnx knows takes (%s)", name->s,
             kinds_text(cx, args, n)->s);
    return NULL;
}

/* The overload that the file names, if its schema takes the arguments; else the first that takes
 * them as they are; else the first that takes them converted. PyTorch tries in the same order. */
Candidate *bind_choose(Graph *g, Entry *e, Str overload, const OpArg *args, size_t n, Value **bound)
{
    Str why = NULL;
    Candidate *c = exact(g->cx, e, overload);
    if (c && bind_try(g, c->schema, args, n, true, bound, &why) == BIND_DONE)
        return c;
    for (int convert = 0; convert < 2; convert++)
        for (size_t i = 0; i < e->at.n && !ctx_failed(g->cx); i++) {
            c = &e->at.at[i];
            const Schema *s = candidate_schema(g->cx, c);
            if (s && bind_try(g, s, args, n, convert, bound, &why) == BIND_DONE)
                return c;
        }
    return no_match(g->cx, e, e->op.name, args, n, why);
}

static bool is_complex(Value v)
{
    return v.tag == V_COMPLEX || (v.tag == V_TENSOR && dtype_is_complex(tensor_type(v.t)->dtype));
}

static WalkStep stop_at_complex(void *arg, Value v)
{
    (void)arg;
    if (is_complex(v))
        return WALK_STOP;
    return v.tag == V_TUPLE ? WALK_IN : WALK_PAST;
}

/* The row that serves these arguments: of aten::add with a complex argument it is complex::add of
 * the same overload, when there is one; else c itself. */
Candidate *bind_twin(Ctx *cx, Candidate *c, const Value *bound)
{
    bool any = false;
    for (int i = 0; i < c->schema->n_param; i++)
        any |= bound[i].tag == V_TUPLE ? val_walk_finds(cx, bound[i], stop_at_complex, NULL)
                                       : is_complex(bound[i]);
    const char *plain = strstr(c->schema->name->s, "::");
    Entry *e = any && plain ? table_find(cx, str_fmt(cx, "complex%s", plain)) : NULL;
    Candidate *twin = e ? exact(cx, e, c->schema->overload) : NULL;
    return twin && twin->schema->n_param == c->schema->n_param ? twin : c;
}
