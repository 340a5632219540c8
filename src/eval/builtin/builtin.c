/* builtin.c - which builtin a call means: by name, then by the kinds of its arguments.
 *
 * The rows stand with their families (builtin_number.c, builtin_math.c, builtin_compare.c,
 * builtin_list.c, builtin_string.c, builtin_tensor.c, builtin_autograd.c). A name that also is a
 * tensor operator (aten::add) is ours only when the kinds fit; else op_call takes it. */
#include "eval/lists/dynamic_dict.h"
#include "eval/builtin/builtin.h"

const BuiltinRow *const builtin_families[] = {
    builtin_numbers, builtin_math,    builtin_compare,  builtin_lists,
    builtin_strings, builtin_tensors, builtin_autograd, NULL,
};
extern const NameTable builtin_names;

/* Python's own words, as operators. */
static const struct {
    const char *word, *op;
} words[] = {
    { "int", "aten::Int" },         { "float", "aten::Float" }, { "bool", "aten::Bool" },
    { "complex", "aten::Complex" }, { "str", "aten::str" },     { "print", "prim::Print" },
    { "sorted", "aten::sorted" },   { "len", "aten::len" },     { "hex", "aten::hex" },
    { "oct", "aten::oct" },         { "bin", "aten::bin" },     { "round", "aten::round" },
    { "hash", "aten::hash" },       { "min", "prim::min" },     { "max", "prim::max" },
    { "abs", "prim::abs" },         { "all", "aten::all" },     { "any", "aten::any" },
    { "divmod", "aten::divmod" },   { "sum", "aten::sum" },     { "list", "aten::list" },
    { "dict", "aten::dict" },       { "ord", "aten::ord" },     { "chr", "aten::chr" },
    { "pow", "aten::pow" },
};

typedef VEC(const BuiltinRow *) Rows;
struct Builtins {
    Map by_name; /* of the names asked for; Str -> Rows *, NULL of a name that is no builtin's */
};

/* The rows that the build has found under this name. NULL: none. */
static const Rows *find_rows(Ctx *cx, const char *name)
{
    size_t n;
    const NameItem *at = names_find(&builtin_names, name, strlen(name), &n);
    Rows *rows = n ? new(cx, Rows) : NULL;
    for (size_t i = 0; i < n; i++)
        vec_push(cx, rows, &builtin_families[at[i].family][at[i].number]);
    return rows;
}

/* NULL: not the name of a builtin. */
static const Rows *rows_of(Ctx *cx, Str name)
{
    MapEntry *known = cx->builtins ? map_find(&cx->builtins->by_name, name) : NULL;
    if (known)
        return known->val;
    const char *op = builtin_of_word(name->s);
    keep_begin(cx);
    if (!cx->builtins)
        cx->builtins = new(cx, struct Builtins);
    const Rows *rows = find_rows(cx, op ? op : name->s);
    map_put(cx, &cx->builtins->by_name, name, rows);
    keep_end(cx);
    return rows;
}

bool builtin_nth(size_t i, BuiltinInfo *out)
{
    static const char *const files[] = { "builtin_number",  "builtin_math",   "builtin_compare",
                                         "builtin_list",    "builtin_string", "builtin_tensor",
                                         "builtin_autograd" };
    for (size_t f = 0; builtin_families[f]; f++)
        for (const BuiltinRow *r = builtin_families[f]; r->name; r++)
            if (i-- == 0) {
                *out = (BuiltinInfo){ r->name, r->kinds, files[f] };
                return true;
            }
    return false;
}

bool builtin_passes_items(Str name)
{
    static const char *const names[] = {
        "aten::add",    "aten::add_",      "aten::mul",   "aten::slice",          "aten::list",
        "aten::copy",   "aten::dict",      "aten::clear", "aten::reverse",        "aten::Delete",
        "aten::__is__", "aten::__isnot__", "list",        "prim::unchecked_cast",
    };
    for (size_t i = 0; i < COUNT(names); i++)
        if (str_is(name, names[i]))
            return true;
    return false;
}

const char *builtin_of_word(const char *word)
{
    for (size_t i = 0; i < COUNT(words); i++)
        if (strcmp(words[i].word, word) == 0)
            return words[i].op;
    return NULL;
}

/* ---- kinds ---- */

/* Is v of the kind that this letter of a row names? Lists and dicts only where all they hold is
 * known: the others have operators of their own (eval/lists). */
static bool is_kind(Value v, char kind)
{
    ValTag t = v.tag;
    switch (kind) {
    case 'i': return t == V_INT || t == V_SYMINT;
    case 'I': return t == V_INT;
    case 'n': return t == V_INT || t == V_FLOAT || t == V_SYMINT || t == V_SYMFLOAT || t == V_BOOL;
    case 'N': return t == V_INT || t == V_FLOAT || t == V_BOOL;
    case 'f': return t == V_FLOAT;
    case 'b': return t == V_BOOL || t == V_SYMBOOL;
    case 'B': return t == V_BOOL;
    case 'c': return t == V_COMPLEX;
    case 'C': return t == V_INT || t == V_FLOAT || t == V_COMPLEX || t == V_BOOL;
    case 's': return t == V_STR;
    case 'l': return t == V_LIST && !v.list->stacked;
    case 'd': return t == V_DICT && !v.dict->invalid && !dict_is_dynamic(v.dict);
    case 't': return t == V_TUPLE;
    case 'T': return t == V_TENSOR;
    case 'D': return t == V_DEVICE;
    case 'e': return t == V_ENUM;
    case 'y': return t == V_DTYPE || t == V_INT;
    case '*': return true;
    }
    return false;
}

/* Does v fit a letter; or_none: or is it None? */
static bool fits(Value v, char kind, bool or_none)
{
    return is_kind(v, kind) || (or_none && v.tag == V_NONE);
}

/* Do the n arguments fit the kinds, in order? */
static bool kinds_fit(const char *k, const OpArg *args, size_t n)
{
    size_t i = 0;
    bool optional = false;
    for (; *k && *k != '+'; k++) {
        if (*k == '|') {
            optional = true;
            continue;
        }
        bool or_none = k[1] == '?';
        bool ok = i < n ? fits(args[i].v, *k, or_none || optional) : optional;
        if (!ok)
            return false;
        i++;
        k += or_none;
    }
    return i >= n || *k == '+';
}

static bool any_bool(const Builtin *b)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->arg[i].v.tag == V_BOOL)
            return true;
    return false;
}

/* A bool where the row takes a number is 0 or 1: (True, 2.5) of kinds "nn" is (1, 2.5). False: no
 * memory. */
static bool bools_to_ints(Builtin *b)
{
    if (!any_bool(b))
        return true;
    OpArg *arg = mem_copy(b->cx, b->arg, b->n * sizeof *arg);
    if (!arg)
        return false;
    size_t i = 0;
    for (const char *k = b->row->kinds; *k && i < b->n; k++) {
        if (*k == '|' || *k == '?')
            continue;
        if (arg[i].v.tag == V_BOOL && strchr("nNC", *k))
            arg[i].v = val_int(arg[i].v.b);
        i++;
    }
    b->arg = arg;
    return true;
}

/* Which argument of "a,b,c" is called `name`; -1: none. */
static int place_of_name(const char *names, Str name)
{
    int place = 0;
    for (const char *s = names; s && *s; place++) {
        size_t n = strcspn(s, ",");
        if (n == name->len && !memcmp(s, name->s, n))
            return place;
        s += n + (s[n] == ',');
    }
    return -1;
}

/* Puts named arguments into their places: f(x, dim=1) of names "self,start,dim" is x, None, 1. *out
 * is args itself when no argument has a name. False: the row has no such name. */
static bool in_order(Ctx *cx, const BuiltinRow *row, const OpArg *args, size_t n, const OpArg **out,
                     size_t *n_out)
{
    enum { MOST = 8 };
    OpArg *placed = NULL;
    *out = args;
    *n_out = n;
    for (size_t i = 0; i < n; i++) {
        if (!args[i].name)
            continue;
        int place = place_of_name(row->names, args[i].name);
        if (place < (int)i || place >= MOST)
            return false;
        if (!placed) {
            placed = new_array(cx, OpArg, MOST);
            if (!placed)
                return false;
            for (size_t k = 0; k < MOST; k++)
                placed[k].v = k < i ? args[k].v : val_none();
            *n_out = i;
        }
        placed[place].v = args[i].v;
        *n_out = (size_t)place + 1 > *n_out ? (size_t)place + 1 : *n_out;
    }
    if (placed)
        *out = placed;
    return true;
}

/* ---- calls ---- */

static bool is_tensor_like(Value v)
{
    return v.tag == V_TENSOR ||
        (v.tag == V_LIST && v.list->n > 0 && v.list->at[0].v.tag == V_TENSOR) ||
        (v.tag == V_LIST && v.list->stacked);
}

static bool is_symbolic(Value v)
{
    return v.tag == V_SYMINT || v.tag == V_SYMFLOAT || v.tag == V_SYMBOOL;
}

/* The error that no row takes these arguments: names their kinds, and the option that decides
 * where one is symbolic. */
static Outcome no_row(Ctx *cx, Str name, const OpArg *args, size_t n)
{
    Buf kinds = buf_new(cx);
    bool symbolic = false;
    for (size_t i = 0; i < n; i++) {
        if (is_tensor_like(args[i].v))
            return NOT_MINE;
        symbolic = symbolic || is_symbolic(args[i].v);
        buf_fmt(&kinds, "%s%s", i ? ", " : "", val_kind(args[i].v));
    }
    if (op_exists(cx, op_find(cx, name)))
        return NOT_MINE;
    if (symbolic) {
        fail(cx, E_UNDECIDED,
             "%s needs concrete values, and got (%s) of which one depends on a dynamic dimension "
             "or on data",
             name->s, buf_done(&kinds)->s);
        fail_hint(cx, "make the dimension static with -i");
    } else {
        fail(cx, E_VALUE, "%s does not take (%s)", name->s, buf_done(&kinds)->s);
    }
    return FAILED;
}

bool builtin_named(Str name)
{
    size_t n;
    const char *op = builtin_of_word(name->s);
    op = op ? op : name->s;
    names_find(&builtin_names, op, strlen(op), &n);
    return n > 0;
}

Outcome builtin_call(Eval *ev, Str name, const OpArg *args, size_t n, Value *out)
{
    const Rows *rows = rows_of(ev->cx, name);
    if (!rows)
        return NOT_MINE;
    Outcome of_dict = dynamic_dict_op(ev, name, args, n, out);
    if (of_dict != NOT_MINE)
        return of_dict;
    for (size_t i = 0; i < rows->n; i++) {
        Builtin b = { .ev = ev, .cx = ev->cx, .g = ev->g, .row = rows->at[i] };
        if (!in_order(ev->cx, b.row, args, n, &b.arg, &b.n) || !kinds_fit(b.row->kinds, b.arg, b.n))
            continue;
        *out = val_none();
        return bools_to_ints(&b) && b.row->fn(&b, out) ? outcome_done(ev->cx) : FAILED;
    }
    return no_row(ev->cx, name, args, n);
}
