/* value.c - making values and asking about them: what is a number, what is symbolic, what is equal.
 *
 * A number that comes out of a tensor is concrete whenever the tensor's contents are known (shape
 * arithmetic in traces goes through tensors and back); else an int becomes a Dim: the item itself,
 * or a fresh symbol whose origin is the tensor. */
#include "value/heap.h"

Value val_dim(Ctx *cx, Dim d)
{
    int64_t v;
    (void)cx;
    if (!d)
        return val_poison();
    return dim_known(d, &v) ? val_int(v) : (Value){ .tag = V_SYMINT, .dim = d };
}

static Value symbool(Ctx *cx, SymBool b)
{
    SymBool *made = new(cx, SymBool);
    *made = b;
    return (Value){ .tag = V_SYMBOOL, .sb = made };
}

void rel_not(Rel *rel, Dim *a, Dim *b)
{
    static const Rel opposite[] = {
        [REL_EQ] = REL_NE, [REL_NE] = REL_EQ, [REL_LT] = REL_LE, [REL_LE] = REL_LT
    };
    bool is_order = *rel == REL_LT || *rel == REL_LE;
    Dim left = *a;
    *rel = opposite[*rel];
    *a = is_order ? *b : left;
    *b = is_order ? left : *b;
}

Value val_rel(Ctx *cx, Rel rel, Dim a, Dim b)
{
    if (!a || !b)
        return val_poison();
    Tri t = dim_related(cx, rel, a, b);
    return t == UNKNOWN ? symbool(cx, (SymBool){ .rel = rel, .a = a, .b = b }) : val_bool(t == YES);
}

/* Is v a constant of one element? Then out, which has room for it, holds the element's bytes. */
static bool read_one(Ctx *cx, Ox v, void *out)
{
    return v->kind == OX_CONST && const_numel(v->k) == 1 && dtype_size(v->k->dtype) > 0 &&
        const_read(cx, v->k, out);
}

bool val_same_constant(Ctx *cx, Ox a, Ox b)
{
    if (a->kind != OX_CONST || b->kind != OX_CONST || a->type != b->type ||
        const_numel(a->k) > FOLD_NUMEL || ox_dtype(a) == DT_STRING)
        return false;
    size_t n = (size_t)dtype_bytes(ox_dtype(a), (uint64_t)const_numel(a->k));
    uint8_t *x = mem_alloc(cx, n + 1);
    uint8_t *y = mem_alloc(cx, n + 1);
    return x && y && const_read(cx, a->k, x) && const_read(cx, b->k, y) && memcmp(x, y, n) == 0;
}

Value val_symbool(Ctx *cx, Ox b)
{
    uint8_t byte;
    if (!ox_ok(b))
        return val_poison();
    if (ox_dtype(b) == DT_BOOL && read_one(cx, b, &byte))
        return val_bool(byte != 0);
    return symbool(cx, (SymBool){ .ox = b });
}

/* v, of one element and any rank, as a 0-d value. */
static Ox to_scalar(Graph *g, Ox v)
{
    if (ox_rank(v) == 0)
        return v;
    Ox none = ox_ints(g, NULL, 0);
    return ox_g(g, "Reshape", v, none);
}

/* The int that v, of one element, holds: its Dim where v is made of dimensions (a size that went
 * through a tensor), its value where v is constant, else a new symbol that v computes. */
static Value int_of(Graph *g, Ox v)
{
    const Dim *item;
    int64_t n, known;
    double f;
    if (ox_items(v, &item, &n) && n == 1)
        return val_dim(g->cx, item[0]);
    bool whole = ox_dtype(v) == DT_UINT64;
    if ((whole || ox_dtype(v) == DT_INT64) && read_one(g->cx, v, &known)) {
        if (!whole || known >= 0)
            return val_int(known);
        fail(g->cx, E_VALUE, "a number of type uint64 does not fit into an int");
        return val_poison();
    }
    if (ox_known_scalar(g, v, &f)) /* the ints of 32 bits and less are exact in a double */
        return val_int((int64_t)f);
    Ox wide = ox_cast(g, to_scalar(g, v), DT_INT64);
    if (!ox_ok(wide))
        return val_poison();
    Dim sym = dim_fresh_int(g->cx, "u");
    dim_set_origin(g->cx, sym, wide, -1);
    return val_dim(g->cx, sym);
}

/* Of a tensor of one element: False for a bool, 3 for an int, 0.5 for a float whose contents are
 * known; else a V_SYMBOOL, V_SYMINT or V_SYMFLOAT. */
Value val_number_of(Graph *g, Ox v)
{
    double f;
    if (!ox_ok(v))
        return val_poison();
    DType t = ox_dtype(v);
    if (t == DT_BOOL)
        return val_symbool(g->cx, to_scalar(g, v));
    if (dtype_is_int(t))
        return int_of(g, v);
    if (!dtype_is_float(t)) {
        fail(g->cx, E_UNSUPPORTED, "a number of type %s cannot leave its tensor", dtype_name(t));
        return val_poison();
    }
    if (ox_known_scalar(g, v, &f))
        return val_float(f);
    Ox s = to_scalar(g, v);
    return ox_ok(s) ? (Value){ .tag = V_SYMFLOAT, .ox = s } : val_poison();
}

Value val_tensor(Ctx *cx, Ox v)
{
    return ox_ok(v) ? (Value){ .tag = V_TENSOR, .t = tensor_new(cx, v) } : val_poison();
}

Value val_tuple(Ctx *cx, const Value *at, int64_t n)
{
    Tuple *t = mem_alloc(cx, sizeof *t + (size_t)n * sizeof *at);
    if (!t) { /* no memory for so many items: an empty one */
        t = new(cx, Tuple);
        n = 0;
    }
    t->n = n;
    if (n)
        memcpy(t->at, at, (size_t)n * sizeof *at);
    return (Value){ .tag = V_TUPLE, .tuple = t };
}

Value val_list(Ctx *cx, const Value *at, int64_t n, const char *elem)
{
    List *l = list_new(cx, n, elem ? str_of(cx, elem) : NULL);
    for (int64_t i = 0; i < n; i++)
        list_append(cx, l, at[i]);
    return (Value){ .tag = V_LIST, .list = l };
}

Value val_maybe(Ctx *cx, Value present, Value value)
{
    Maybe *m = new(cx, Maybe);
    *m = (Maybe){ .present = present, .value = value };
    return (Value){ .tag = V_MAYBE, .maybe = m };
}

bool val_is_maybe_key(Value v) { return v.tag == V_MAYBE && v.maybe->key; }

Value val_maybe_key(Ctx *cx, Value present, Value value)
{
    Value v = val_maybe(cx, present, value);
    v.maybe->key = true;
    return v;
}

Value val_maybe_like(Ctx *cx, const Maybe *like, Value present, Value value)
{
    return like->key ? val_maybe_key(cx, present, value) : val_maybe(cx, present, value);
}

Value val_choice(Ctx *cx, const Value *at, int64_t n, Value index)
{
    Choice *c = new(cx, Choice);
    *c = (Choice){ at, n, index };
    return (Value){ .tag = V_CHOICE, .choice = c };
}

bool dict_is_dynamic(const Dict *d)
{
    if (d->unordered || !d->some_dynamic)
        return d->unordered;
    for (int64_t i = 0; i < d->n; i++)
        if (val_is_maybe_key(d->at[i].val.v))
            return true;
    return false;
}

Value val_never(Ctx *cx, Str why)
{
    Unset *u = new(cx, Unset);
    *u = (Unset){ .why = why, .at = where_intern(cx) };
    return (Value){ .tag = V_UNINIT, .any = u };
}

Value val_implying(Ctx *cx, Value v, Value x, Value y)
{
    return symbool(cx, (SymBool){ .ox = v.sb->ox, .left = x.sb, .right = y.sb });
}

Value val_complex(Ctx *cx, double re, double im)
{
    double c[2] = { re, im };
    return (Value){ .tag = V_COMPLEX, .c = mem_copy(cx, c, sizeof c) };
}

bool val_dim_of(Value v, Ctx *cx, Dim *out)
{
    if (v.tag == V_INT || v.tag == V_BOOL)
        *out = dim_int(cx, v.tag == V_INT ? v.i : v.b);
    else if (v.tag == V_SYMINT)
        *out = v.dim;
    else
        return false;
    return true;
}

/* ---- equality, truth ---- */

/* Is v a concrete number? Then *out is its value: True is 1, as in Python. */
static bool number_of(Value v, double *out)
{
    switch (v.tag) {
    case V_BOOL:  *out = v.b; return true;
    case V_INT:   *out = (double)v.i; return true;
    case V_FLOAT: *out = v.f; return true;
    default:      return false;
    }
}

/* x and y are the values of a and b; two large ints may differ although x and y do not. */
static bool numbers_equal(Value a, Value b, double x, double y)
{
    return a.tag == V_INT && b.tag == V_INT ? a.i == b.i : x == y;
}

static bool lists_equal(Ctx *cx, const List *a, const List *b)
{
    if ((a->stacked || b->stacked) && a != b)
        return fail(cx, E_UNDECIDED,
                    "lists are compared, and the length of one is only known when the model runs");
    if (a->n != b->n)
        return false;
    for (int64_t i = 0; i < a->n; i++)
        if (!val_equal(cx, a->at[i].v, b->at[i].v))
            return false;
    return true;
}

static bool tuples_equal(Ctx *cx, const Tuple *a, const Tuple *b)
{
    if (a->n != b->n)
        return false;
    for (int64_t i = 0; i < a->n; i++)
        if (!val_equal(cx, a->at[i], b->at[i]))
            return false;
    return true;
}

static bool dicts_equal(Ctx *cx, Dict *a, Dict *b)
{
    if (a->n != b->n)
        return false;
    for (int64_t i = 0; i < a->n; i++) {
        const Cell *other = dict_find(cx, b, a->at[i].key);
        if (!other || !val_equal(cx, a->at[i].val.v, other->v))
            return false;
    }
    return true;
}

/* An int and a float may be equal; any other two kinds are not. */
bool val_equal(Ctx *cx, Value a, Value b)
{
    double x, y;
    if ((a.tag == V_CHOICE || b.tag == V_CHOICE) && (a.tag != b.tag || a.any != b.any))
        return fail(cx, E_UNDECIDED,
                    "a value that the running model chooses among several is compared inside a "
                    "list, tuple or dict");
    if (number_of(a, &x) && number_of(b, &y))
        return numbers_equal(a, b, x, y);
    if (a.tag != b.tag)
        return false;
    check_stack(cx);
    count_values(cx, 1);
    switch (a.tag) {
    case V_NONE:    return true;
    case V_STR:
    case V_DEVICE:  return a.s == b.s;
    case V_DTYPE:   return a.dtype == b.dtype;
    case V_COMPLEX: return a.c[0] == b.c[0] && a.c[1] == b.c[1];
    case V_SYMINT:  return dim_eq(cx, a.dim, b.dim) == YES;
    case V_LIST:    return lists_equal(cx, a.list, b.list);
    case V_TUPLE:   return tuples_equal(cx, a.tuple, b.tuple);
    case V_DICT:    return dicts_equal(cx, a.dict, b.dict);
    case V_ENUM:    return a.e->cls == b.e->cls && a.e->name == b.e->name;
    default:        return a.any == b.any;
    }
}

Tri val_truth(Ctx *cx, Value v)
{
    switch (v.tag) {
    case V_NONE:    return NO;
    case V_BOOL:    return tri_of(v.b);
    case V_INT:     return tri_of(v.i != 0);
    case V_FLOAT:   return tri_of(v.f != 0);
    case V_STR:     return tri_of(v.s->len > 0);
    case V_LIST:    return v.list->stacked ? UNKNOWN : tri_of(v.list->n > 0);
    case V_DICT:    return dict_is_dynamic(v.dict) ? UNKNOWN : tri_of(v.dict->n > 0);
    case V_TUPLE:   return tri_of(v.tuple->n > 0);
    case V_SYMINT:  return tri_not(dim_eq(cx, v.dim, dim_int(cx, 0)));
    case V_SYMBOOL: return v.sb->ox ? UNKNOWN : dim_related(cx, v.sb->rel, v.sb->a, v.sb->b);
    default:        return UNKNOWN;
    }
}

Value val_both(Graph *g, Value x, Value y)
{
    if (x.tag == V_BOOL) /* True and y is y */
        return x.b ? y : x;
    if (y.tag == V_BOOL)
        return y.b ? x : y;
    Ox left = symbool_ox(g, x.sb);
    Ox right = symbool_ox(g, y.sb);
    Ox both = ox_g(g, "And", left, right);
    return ox_ok(both) ? symbool(g->cx, (SymBool){ .ox = both, .left = x.sb, .right = y.sb })
                       : val_poison();
}

Value val_not(Graph *g, Value v)
{
    if (v.tag == V_BOOL)
        return val_bool(!v.b);
    const SymBool *s = v.sb;
    if (s->ox)
        return val_symbool(g->cx, ox_g(g, "Not", s->ox));
    SymBool opposite = *s;
    rel_not(&opposite.rel, &opposite.a, &opposite.b);
    return val_rel(g->cx, opposite.rel, opposite.a, opposite.b);
}

Ox symbool_ox(Graph *g, const SymBool *b)
{
    if (b->ox)
        return b->ox;
    Ox x = ox_dim_value(g, b->a);
    Ox y = ox_dim_value(g, b->b);
    switch (b->rel) {
    case REL_EQ: return ox_g(g, "Equal", x, y);
    case REL_NE: return ox_g(g, "Not", ox_g(g, "Equal", x, y));
    case REL_LT: return ox_g(g, "Less", x, y);
    case REL_LE: return ox_g(g, "LessOrEqual", x, y);
    }
    return POISON;
}

/* The kind of a list for messages. The first item stands for all. */
static const char *list_kind(const List *l)
{
    if (l->stacked)
        return "a List of a length that is not known";
    if (l->n == 0)
        return "an empty List";
    switch (l->at[0].v.tag) {
    case V_INT:
    case V_SYMINT:   return "List[int]";
    case V_FLOAT:
    case V_SYMFLOAT: return "List[float]";
    case V_BOOL:
    case V_SYMBOOL:  return "List[bool]";
    case V_STR:      return "List[str]";
    case V_TENSOR:   return "List[Tensor]";
    default:         return "List";
    }
}

/* See value.h. The name is TorchScript's, where it has one. A choice is of the kind of its
 * options. */
const char *val_kind(Value v)
{
    switch (v.tag) {
    case V_POISON:    return "a value that an earlier error left out";
    case V_NONE:      return "None";
    case V_BOOL:
    case V_SYMBOOL:   return "bool";
    case V_INT:
    case V_SYMINT:    return "int";
    case V_FLOAT:
    case V_SYMFLOAT:  return "float";
    case V_COMPLEX:   return "complex";
    case V_STR:
    case V_JOINED:    return "str";
    case V_DEVICE:    return "Device";
    case V_DTYPE:     return "dtype";
    case V_TENSOR:    return "Tensor";
    case V_LIST:      return list_kind(v.list);
    case V_TUPLE:     return "Tuple";
    case V_DICT:      return "Dict";
    case V_OBJ:       return "an object of a class";
    case V_ENUM:      return "Enum";
    case V_FUTURE:    return "Future";
    case V_CLASS:     return "a class";
    case V_FUNCTION:  return "a function";
    case V_NAMESPACE: return "a namespace";
    case V_CHOICE:    return val_kind(v.choice->at[0]);
    case V_UNINIT:    return "a value that was never set";
    case V_MAYBE:     return "None or a value, as the running model decides,";
    }
    return "?";
}
