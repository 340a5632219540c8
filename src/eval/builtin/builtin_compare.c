/* builtin_compare.c - comparison, identity and logic of values. A comparison of sizes stays a
 * relation of dims, which later questions can use; one of other numbers that only the running
 * model knows is a node. */
#include "eval/builtin/builtin.h"
#include "value/walk.h"

/* ---- comparison ---- */

bool less_than(Value a, Value b, bool *known)
{
    *known = true;
    if (a.tag == V_INT && b.tag == V_INT)
        return a.i < b.i;
    if (is_real(a) && is_real(b))
        return real_of(a) < real_of(b);
    if (a.tag == V_STR && b.tag == V_STR) {
        size_t n = a.s->len < b.s->len ? a.s->len : b.s->len;
        int c = memcmp(a.s->s, b.s->s, n);
        return c ? c < 0 : a.s->len < b.s->len;
    }
    *known = false;
    return false;
}

typedef enum { CMP_EQ, CMP_NE, CMP_LT, CMP_GT, CMP_LE, CMP_GE } Compare;

static bool compare_dims(Builtin *b, Compare c, Value *out)
{
    Dim x, y;
    if (!val_dim_of(b->arg[0].v, b->cx, &x) || !val_dim_of(b->arg[1].v, b->cx, &y))
        return builtin_fail(b, "these numbers cannot be compared");
    switch (c) {
    case CMP_EQ: *out = val_rel(b->cx, REL_EQ, x, y); break;
    case CMP_NE: *out = val_rel(b->cx, REL_NE, x, y); break;
    case CMP_LT: *out = val_rel(b->cx, REL_LT, x, y); break;
    case CMP_GT: *out = val_rel(b->cx, REL_LT, y, x); break;
    case CMP_LE: *out = val_rel(b->cx, REL_LE, x, y); break;
    case CMP_GE: *out = val_rel(b->cx, REL_LE, y, x); break;
    }
    return !ctx_failed(b->cx);
}

static bool compare_nodes(Builtin *b, Compare c, Value *out)
{
    static const char *const names[] = { "Equal",   "Equal",       "Less",
                                         "Greater", "LessOrEqual", "GreaterOrEqual" };
    Ox x = double_of(b->g, b->arg[0].v);
    Ox y = double_of(b->g, b->arg[1].v);
    Ox v = ox_g(b->g, names[c], x, y);
    *out = val_symbool(b->cx, c == CMP_NE ? ox_g(b->g, "Not", v) : v);
    return !ctx_failed(b->cx);
}

static bool compare_ordered(Compare c, bool less, bool greater)
{
    switch (c) {
    case CMP_EQ: return !less && !greater;
    case CMP_NE: return less || greater;
    case CMP_LT: return less;
    case CMP_GT: return greater;
    case CMP_LE: return !greater;
    case CMP_GE: return !less;
    }
    return false;
}

static bool compare_floats(Compare c, double x, double y)
{
    switch (c) { /* nothing but != holds of a NaN */
    case CMP_EQ: return x == y;
    case CMP_NE: return x != y;
    case CMP_LT: return x < y;
    case CMP_GT: return x > y;
    case CMP_LE: return x <= y;
    case CMP_GE: return x >= y;
    }
    return false;
}

static bool compare_numbers(Builtin *b, Value *out)
{
    Compare c = (Compare)b->row->datum;
    Value x = b->arg[0].v;
    Value y = b->arg[1].v;
    if (any_symbolic(b))
        return all_int(b) ? compare_dims(b, c, out) : compare_nodes(b, c, out);
    *out = val_bool(all_int(b) ? compare_ordered(c, x.i<y.i, x.i> y.i)
                               : compare_floats(c, real_of(x), real_of(y)));
    return true;
}

static bool compare_texts(Builtin *b, Value *out)
{
    bool known;
    Str x = b->arg[0].v.s;
    Str y = b->arg[1].v.s;
    if (made_up_text(b->cx, x, y) || made_up_text(b->cx, y, x))
        return false;
    bool less = less_than(b->arg[0].v, b->arg[1].v, &known);
    bool greater = less_than(b->arg[1].v, b->arg[0].v, &known);
    *out = val_bool(compare_ordered((Compare)b->row->datum, less, greater));
    return true;
}

static bool same_bool(Builtin *b, Value *out)
{
    Value x = b->arg[0].v;
    Value y = b->arg[1].v;
    bool differ = b->row->datum == CMP_NE;
    if (x.tag == V_BOOL && y.tag == V_BOOL) {
        *out = val_bool((x.b == y.b) != differ);
        return true;
    }
    Ox p = x.tag == V_BOOL ? ox_bool(b->g, x.b) : symbool_ox(b->g, x.sb);
    Ox q = y.tag == V_BOOL ? ox_bool(b->g, y.b) : symbool_ox(b->g, y.sb);
    Ox same = ox_g(b->g, "Equal", p, q);
    *out = val_symbool(b->cx, differ ? ox_g(b->g, "Not", same) : same);
    return !ctx_failed(b->cx);
}

static WalkStep stop_at_symbolic(void *arg, Value v)
{
    (void)arg;
    if (v.tag == V_SYMINT || v.tag == V_SYMFLOAT || v.tag == V_SYMBOOL || v.tag == V_TENSOR)
        return WALK_STOP;
    return v.tag == V_LIST ? WALK_IN : WALK_PAST;
}

/* Does the list, or one inside it, hold what only the running model knows? */
static bool has_symbolic(Ctx *cx, Value v) { return val_walk_finds(cx, v, stop_at_symbolic, NULL); }

/* Lists of dims are equal when every pair is. A pair that certainly differs decides; the relations
 * of the undecided ones are joined: [N, 3] == [4, M] is N == 4 and M == 3. */
static bool equal_symbolic_lists(Builtin *b, const List *x, const List *y, Value *out)
{
    *out = val_bool(x->n == y->n);
    for (int64_t i = 0; i < x->n && (out->tag != V_BOOL || out->b); i++) {
        Dim p, q;
        if (!val_dim_of(x->at[i].v, b->cx, &p) || !val_dim_of(y->at[i].v, b->cx, &q))
            return builtin_fail(
                b, "lists of values that are only known when the model runs cannot be compared");
        Tri t = dim_eq(b->cx, p, q);
        if (t == NO)
            *out = val_bool(false);
        else if (t == UNKNOWN)
            *out = val_both(b->g, *out, val_rel(b->cx, REL_EQ, p, q));
    }
    return !ctx_failed(b->cx);
}

bool equal_values(Builtin *b, Value x, Value y, Value *out)
{
    if (x.tag == V_LIST && y.tag == V_LIST && (has_symbolic(b->cx, x) || has_symbolic(b->cx, y)))
        return equal_symbolic_lists(b, x.list, y.list, out);
    *out = val_bool(val_equal(b->cx, x, y));
    return true;
}

static bool same_value(Builtin *b, Value *out)
{
    if (!equal_values(b, b->arg[0].v, b->arg[1].v, out))
        return false;
    if (b->row->datum == CMP_NE)
        *out = val_not(b->g, *out);
    return !ctx_failed(b->cx);
}

static bool same_device(Builtin *b, Value *out)
{
    Str x = b->arg[0].v.s;
    Str y = b->arg[1].v.s;
    *out = val_bool((x == y) != (b->row->datum == CMP_NE));
    return true;
}

/* ---- identity ---- */

/* What tells a tensor, list, dict or object that may be another one: a list's memory is its mark's.
 * NULL: nothing may be the same. */
static Storage *storage_of(Value v)
{
    const Tensor *t = v.tag == V_TENSOR ? v.t : container_marked(v);
    return t ? t->st : NULL;
}

static bool is_this(void *arg, const Storage *st) { return arg == st; }

/* Are x and y, both tensors or both lists, dicts or objects, one thing? After
 *
 *     a = x
 *     if bool(x.sum() > 0):
 *         a = x * 2
 *
 * it is UNKNOWN of a and x. Views of one memory, as x and x[0], are two tensors. */
static Tri one_thing(Ctx *cx, Value x, Value y)
{
    Map met = { 0 };
    Storage *p = storage_of(x);
    Storage *q = storage_of(y);
    if (x.any == y.any)
        return YES;
    if (!p || !q || (p == q && x.tag == V_TENSOR))
        return NO;
    return storage_reaches(cx, p, &met, is_this, q) ? UNKNOWN : NO;
}

static bool is_a_thing(Value v)
{
    return v.tag == V_TENSOR || v.tag == V_LIST || v.tag == V_DICT || v.tag == V_OBJ;
}

static bool fail_not_decided(Builtin *b)
{
    fail(b->cx, E_UNDECIDED,
         "whether the two sides of `is` are one and the same is only known when the model runs");
    fail_hint(b->cx,
              "compare what they hold, as torch.equal(a, b) or a == b does, or keep a bool "
              "in the branches of the if or in the loop that binds the name");
    return false;
}

static bool is_float(Value v) { return v.tag == V_FLOAT || v.tag == V_SYMFLOAT; }
static bool is_bool(Value v) { return v.tag == V_BOOL || v.tag == V_SYMBOOL; }

/* `is`: by identity for values that have one, by value for others; None is only None, and an int
 * is no float. */
static bool identical(Builtin *b, Value *out)
{
    Value x = b->arg[0].v;
    Value y = b->arg[1].v;
    bool numbers = (is_int(x) && is_int(y)) || (is_float(x) && is_float(y));
    Tri same;
    if (numbers && any_symbolic(b))
        return compare_numbers(b, out);
    if (is_bool(x) && is_bool(y))
        return same_bool(b, out);
    if (x.tag != y.tag)
        same = NO;
    else if (is_a_thing(x))
        same = one_thing(b->cx, x, y);
    else if (x.tag == V_TUPLE) /* equal ones, and joined ones, may be one or two */
        same = x.any == y.any ? YES : UNKNOWN;
    else
        same = val_equal(b->cx, x, y) ? YES : NO;
    if (same == UNKNOWN)
        return fail_not_decided(b);
    *out = val_bool((same == YES) == (b->row->datum == CMP_EQ));
    return true;
}

/* ---- logic and bits ---- */

typedef enum { BIT_AND, BIT_OR, BIT_XOR, BIT_SHL, BIT_SHR } Bits;

/* x << n is x * 2^n, x >> n is x // 2^n, and x & (2^n - 1) is x % 2^n, of negative numbers too.
 * *out is one of these; NULL: x by y is none. False after an error. */
static bool bits_as_dim(Builtin *b, Dim x, Dim y, Dim *out)
{
    Bits op = (Bits)b->row->datum;
    int64_t n;
    *out = NULL;
    if (!dim_known(y, &n) || n < 0)
        return true;
    if (op == BIT_AND && n < INT64_MAX && (n & (n + 1)) == 0)
        *out = dim_mod(b->cx, x, dim_int(b->cx, n + 1));
    else if (op == BIT_SHL && n <= 62)
        *out = dim_mul(b->cx, x, dim_int(b->cx, (int64_t)1 << n));
    else if (op == BIT_SHR && n <= 62)
        *out = dim_floordiv(b->cx, x, dim_int(b->cx, (int64_t)1 << n));
    return !ctx_failed(b->cx);
}

/* Bits of ints of which one depends on a size. */
static bool bits_of_sizes(Builtin *b, Value *out)
{
    Dim x, y, d;
    if (!val_dim_of(b->arg[0].v, b->cx, &x) || !val_dim_of(b->arg[1].v, b->cx, &y))
        return builtin_fail(b, "the bits of these numbers are not known");
    if (!bits_as_dim(b, x, y, &d))
        return false;
    if (!d)
        return int_of_operator(b, b->row->name, out);
    *out = val_dim(b->cx, d);
    return true;
}

static bool bits(Builtin *b, Value *out)
{
    if (any_symbolic(b))
        return bits_of_sizes(b, out);
    int64_t x = b->arg[0].v.i;
    int64_t y = b->arg[1].v.i;
    switch ((Bits)b->row->datum) {
    case BIT_AND: *out = val_int(x & y); break;
    case BIT_OR:  *out = val_int(x | y); break;
    case BIT_XOR: *out = val_int(x ^ y); break;
    case BIT_SHL: *out = val_int((int64_t)((uint64_t)x << (y & 63))); break;
    case BIT_SHR: *out = val_int(x >> (y & 63)); break;
    }
    return true;
}

static bool logic_of_bools(Bits op, bool x, bool y)
{
    if (op == BIT_AND)
        return x && y;
    return op == BIT_OR ? x || y : x != y;
}

/* & | ^ of bools. Only ^, or two symbolic operands, make a node. */
static bool logic(Builtin *b, Value *out)
{
    Bits op = (Bits)b->row->datum;
    Value x = b->arg[0].v;
    Value y = b->arg[1].v;
    if (x.tag == V_BOOL && y.tag == V_BOOL) {
        *out = val_bool(logic_of_bools(op, x.b, y.b));
        return true;
    }
    if (op == BIT_AND) {
        *out = val_both(b->g, x, y);
        return !ctx_failed(b->cx);
    }
    Value known = x.tag == V_BOOL ? x : y;
    Value other = x.tag == V_BOOL ? y : x;
    if (known.tag == V_BOOL && op == BIT_OR) { /* False or q is q; True or q is True */
        *out = known.b ? known : other;
        return true;
    }
    Ox p = x.tag == V_BOOL ? ox_bool(b->g, x.b) : symbool_ox(b->g, x.sb);
    Ox q = y.tag == V_BOOL ? ox_bool(b->g, y.b) : symbool_ox(b->g, y.sb);
    *out = val_symbool(b->cx, ox_g(b->g, op == BIT_OR ? "Or" : "Xor", p, q));
    return !ctx_failed(b->cx);
}

static bool negate_bool(Builtin *b, Value *out)
{
    *out = val_not(b->g, b->arg[0].v);
    return !ctx_failed(b->cx);
}

#define COMPARE(word, c)                                                         \
    { .name = "aten::" word, .kinds = "nn", .fn = compare_numbers, .datum = c }, \
    {                                                                            \
        .name = "aten::" word, .kinds = "ss", .fn = compare_texts, .datum = c    \
    }
#define SAME(word, c)                                                            \
    { .name = "aten::" word, .kinds = "bb", .fn = same_bool, .datum = c },       \
        { .name = "aten::" word, .kinds = "CC", .fn = same_value, .datum = c },  \
        { .name = "aten::" word, .kinds = "DD", .fn = same_device, .datum = c }, \
        { .name = "aten::" word, .kinds = "ee", .fn = same_value, .datum = c },  \
    {                                                                            \
        .name = "aten::" word, .kinds = "ll", .fn = same_value, .datum = c       \
    }

const BuiltinRow builtin_compare[] = {
    { .name = "aten::__and__", .kinds = "bb", .fn = logic, .datum = BIT_AND },
    { .name = "aten::__or__", .kinds = "bb", .fn = logic, .datum = BIT_OR },
    { .name = "aten::__xor__", .kinds = "bb", .fn = logic, .datum = BIT_XOR },
    { .name = "aten::__and__", .kinds = "ii", .fn = bits, .datum = BIT_AND },
    { .name = "aten::__or__", .kinds = "ii", .fn = bits, .datum = BIT_OR },
    { .name = "aten::__xor__", .kinds = "ii", .fn = bits, .datum = BIT_XOR },
    { .name = "aten::__lshift__", .kinds = "ii", .fn = bits, .datum = BIT_SHL },
    { .name = "aten::__rshift__", .kinds = "ii", .fn = bits, .datum = BIT_SHR },
    { .name = "aten::__not__", .kinds = "b", .fn = negate_bool },
    COMPARE("eq", CMP_EQ),
    COMPARE("ne", CMP_NE),
    COMPARE("lt", CMP_LT),
    COMPARE("gt", CMP_GT),
    COMPARE("le", CMP_LE),
    COMPARE("ge", CMP_GE),
    SAME("eq", CMP_EQ),
    SAME("ne", CMP_NE),
    { .name = "aten::__is__", .kinds = "**", .fn = identical, .datum = CMP_EQ },
    { .name = "aten::__isnot__", .kinds = "**", .fn = identical, .datum = CMP_NE },
    { 0 }
};
