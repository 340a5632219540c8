/* schema.c - operator schemas as PyTorch prints them, into Schema.
 *
 *     aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
 *
 *     schema   = name ["." overload] "(" [param {"," param}] ")" "->" returns
 *     param    = "*" | "..." | type [name ["=" default]]
 *     type     = base ["(" alias ")"] { "?" | "[" [digits] "]" }
 *     alias    = set ["!"] ["->" set]
 *     returns  = type | "(" [type [name] {"," type [name]}] ")"
 *
 * Types that no lowering distinguishes (Dict(..), Future(..), classes) become A_ANY: the value
 * goes through as it is. A list default is kept as a tuple, because defaults are shared and a list
 * could be written; bind.c takes a tuple for any list. */
#include "ops/internal.h"

#include <limits.h>

typedef struct Reader {
    Ctx *cx;
    const char *line, *at;
    Str place; /* of a user's: "my.rules:3"; else NULL */
} Reader;

/* The error for a line that is no schema, at its place and column. */
static void *broken(Reader *r, const char *what)
{
    if (r->place)
        fail(r->cx, E_USAGE, "%s:%d: %s", r->place->s, (int)(r->at - r->line) + 1, what);
    fail(r->cx, E_FORMAT, "schema '%s', column %d: %s", r->line, (int)(r->at - r->line) + 1, what);
    return NULL;
}

static void blanks(Reader *r)
{
    while (*r->at == ' ' || *r->at == '\t')
        r->at++;
}

static bool take(Reader *r, const char *text)
{
    blanks(r);
    size_t n = strlen(text);
    if (strncmp(r->at, text, n) != 0)
        return false;
    r->at += n;
    return true;
}

static bool word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Letters, digits, underscores, and the characters of `also`; empty when there is none. */
static Slice word(Reader *r, const char *also)
{
    blanks(r);
    const char *start = r->at;
    while (word_char(*r->at) || (*r->at && strchr(also, *r->at)))
        r->at++;
    return (Slice){ (const uint8_t *)start, (size_t)(r->at - start) };
}

static bool slice_is(Slice s, const char *text)
{
    return s.n == strlen(text) && memcmp(s.p, text, s.n) == 0;
}

/* Types that go through as they are; a class has a dot in its name. */
static bool is_other_type(Slice s)
{
    static const char *const names[] = { "Any",    "AnyEnumType", "Dict",     "Dimname", "Future",
                                         "List",   "NoneType",    "Optional", "QScheme", "Storage",
                                         "Stream", "Tuple",       "Union",    "t" };
    for (size_t i = 0; i < COUNT(names); i++)
        if (slice_is(s, names[i]))
            return true;
    return memchr(s.p, '.', s.n) != NULL;
}

/* The kind of value that a type's name declares; A_ANY for a name that is not in the table. */
static ArgBase base_of(Slice s)
{
    static const struct {
        const char *name;
        ArgBase base;
    } names[] = {
        { "Tensor", A_TENSOR },
        { "Scalar", A_SCALAR },
        { "number", A_SCALAR },
        { "complex", A_SCALAR },
        { "int", A_INT },
        { "SymInt", A_INT },
        { "float", A_FLOAT },
        { "bool", A_BOOL },
        { "SymBool", A_BOOL },
        { "str", A_STR },
        { "ScalarType", A_DTYPE },
        { "Device", A_DEVICE },
        { "Layout", A_LAYOUT },
        { "MemoryFormat", A_MEMORY_FORMAT },
        { "Generator", A_GENERATOR },
    };
    for (size_t i = 0; i < COUNT(names); i++)
        if (slice_is(s, names[i].name))
            return names[i].base;
    if (s.n > 24 && memcmp(s.p, "__torch__.torch.classes.", 24) == 0)
        return A_PACKED;
    return A_ANY;
}

/* The parenthesis after a base type: Tensor's alias set, or the arguments of a generic type, which
 * are skipped. */
static bool alias(Reader *r, Param *p)
{
    if (*r->at != '(')
        return true;
    if (p->base == A_TENSOR && word_char(r->at[1]))
        p->alias = r->at[1];
    int depth = 0;
    do {
        if (*r->at == '(')
            depth++;
        else if (*r->at == ')')
            depth--;
        else if (*r->at == '!')
            p->writes = true;
        else if (*r->at == 0)
            return broken(r, "a parenthesis is not closed");
        r->at++;
    } while (depth > 0);
    return true;
}

/* length := '[' NUMBER? ']'      how many items a list of a fixed length has */
static bool length(Reader *r, int *fixed)
{
    int64_t n = 0;
    r->at++;
    Slice s = word(r, "");
    if (s.n > 0 && (!parse_int((const char *)s.p, s.n, &n) || n > INT_MAX))
        return broken(r, "expected a number of items");
    *fixed = (int)n;
    return *r->at == ']' || broken(r, "expected ']'");
}

/* "Tensor?[]" is a list of optional items, "Tensor[]?" an optional list; a list of lists is
 * A_ANY. */
static bool suffixes(Reader *r, Param *p)
{
    for (;; r->at++) {
        if (*r->at == '?') {
            p->optional = true;
        } else if (*r->at == '[') {
            if (p->list)
                p->base = A_ANY;
            p->elem_optional = p->optional;
            p->optional = false;
            p->list = true;
            if (!length(r, &p->fixed))
                return false;
        } else if (*r->at == '(' && p->list) { /* t[](a): the alias of the list itself */
            if (!alias(r, p))
                return false;
            r->at--;
        } else {
            return true;
        }
    }
}

/* type = base ["(" alias ")"] { "?" | "[" [digits] "]" } */
static bool type(Reader *r, Param *p)
{
    blanks(r);
    if (*r->at == '(') { /* a tuple */
        p->base = A_ANY;
        return alias(r, p) && suffixes(r, p);
    }
    Slice name = word(r, ".");
    if (name.n == 0)
        return broken(r, "expected a type");
    p->base = base_of(name);
    if (r->place && p->base == A_ANY && !is_other_type(name)) {
        r->at -= name.n;
        return broken(r, "no type of PyTorch's schemas");
    }
    return alias(r, p) && suffixes(r, p);
}

static Value number(Reader *r, ArgBase base)
{
    Slice s = word(r, ".+-");
    const char *text = (const char *)s.p, *end;
    bool fraction = memchr(s.p, '.', s.n) || memchr(s.p, 'e', s.n) || memchr(s.p, 'n', s.n);
    double f = parse_double(text, s.n, &end);
    if (s.n == 0 || end != text + s.n)
        return broken(r, "not a default value"), val_poison();
    if (fraction || base == A_FLOAT)
        return val_float(f);
    int64_t v;
    if (!parse_int(text, s.n, &v))
        return broken(r, "no number of 64 bits"), val_poison();
    return val_int(v);
}

static Value quoted(Reader *r)
{
    char quote = *r->at++;
    const char *start = r->at;
    while (*r->at && *r->at != quote)
        r->at++;
    if (!*r->at)
        return broken(r, "a string is not closed"), val_poison();
    Str s = str_n(r->cx, start, (size_t)(r->at - start));
    r->at++;
    return val_str(s);
}

static Value tuple_of(Ctx *cx, const Value *at, size_t n)
{
    Tuple *t = mem_alloc(cx, sizeof *t + n * sizeof *at);
    if (!t)
        return val_poison();
    t->n = (int64_t)n;
    for (size_t i = 0; i < n; i++)
        t->at[i] = at[i];
    return (Value){ .tag = V_TUPLE, .tuple = t };
}

static Value default_value(Reader *r, ArgBase base);

static Value default_list(Reader *r, ArgBase base)
{
    VEC(Value) items = { 0 };
    while (!take(r, "]")) {
        Value v = default_value(r, base);
        if (!val_ok(v))
            return v;
        vec_push(r->cx, &items, v);
        take(r, ",");
    }
    return tuple_of(r->cx, items.at, items.n);
}

/* A default: None, True, 1, 0.5, "sum", [0, 1], or a word that stands for a number (a reduction, a
 * memory format). Poison after an error. */
static Value default_value(Reader *r, ArgBase base)
{
    static const struct {
        const char *name;
        int64_t v;
    } words[] = {
        { "Mean", 1 },    { "Sum", 2 }, { "contiguous_format", 0 }, { "preserve_format", 1 },
        { "strided", 0 },
    };
    blanks(r);
    if (*r->at == '[')
        return r->at++, default_list(r, base);
    if (*r->at == '"' || *r->at == '\'')
        return quoted(r);
    const char *start = r->at;
    Slice s = word(r, "");
    if (slice_is(s, "None"))
        return val_none();
    if (slice_is(s, "True") || slice_is(s, "False"))
        return val_bool(*s.p == 'T');
    for (size_t i = 0; i < COUNT(words); i++)
        if (slice_is(s, words[i].name))
            return val_int(words[i].v);
    r->at = start;
    return number(r, base);
}

/* type [name ["=" default]] */
static bool param(Reader *r, Param *p)
{
    if (!type(r, p))
        return false;
    Slice name = word(r, "");
    p->name = name.n ? str_n(r->cx, name.p, name.n) : NULL;
    if (take(r, "=")) {
        p->has_default = true;
        p->deflt = default_value(r, p->base);
        return val_ok(p->deflt);
    }
    return true;
}

typedef VEC(Param) Params;

/* [param {"," param}] ")", with "*" and "...": the parameters after "*" are keyword-only. */
static bool params(Reader *r, Params *out, bool *varargs)
{
    bool kwonly = false;
    for (bool first = true; !take(r, ")"); first = false) {
        if (!first && !take(r, ","))
            return broken(r, "expected ',' or ')'");
        if (take(r, "...")) {
            *varargs = true;
        } else if (take(r, "*")) {
            kwonly = true;
        } else {
            Param p = { .kwonly = kwonly };
            if (!param(r, &p))
                return false;
            vec_push(r->cx, out, p);
        }
    }
    return true;
}

/* returns = type | "(" [type [name] {"," type [name]}] ")". Nothing may follow. */
static bool returns(Reader *r, Schema *s)
{
    Params out = { 0 };
    bool varargs = false;
    if (take(r, "(")) {
        if (!params(r, &out, &varargs))
            return false;
    } else {
        Param p = { 0 };
        if (!type(r, &p))
            return false;
        vec_push(r->cx, &out, p);
    }
    s->ret = out.at;
    s->n_ret = (int)out.n;
    if (out.n > 0) {
        s->ret_list = out.n == 1 && out.at[0].list;
        s->ret_writes = out.at[0].writes;
        s->ret_alias = out.at[0].alias;
    }
    blanks(r);
    return *r->at == 0 || broken(r, "text after the schema");
}

/* schema = name ["." overload] "(" [param {"," param}] ")" "->" returns. NULL after an error. */
static const Schema *parse(Reader *r)
{
    Schema *s = new(r->cx, Schema);
    s->text = str_of(r->cx, r->line);
    Slice name = word(r, ":");
    if (name.n < 4 || !memchr(name.p, ':', name.n))
        return broken(r, "expected an operator's name, as in aten::add");
    s->name = str_n(r->cx, name.p, name.n);
    Slice overload = { 0 };
    if (take(r, "."))
        overload = word(r, "");
    s->overload = str_n(r->cx, overload.n ? (const char *)overload.p : "", overload.n);
    if (!take(r, "("))
        return broken(r, "expected '('");
    Params ps = { 0 };
    if (!params(r, &ps, &s->varargs))
        return NULL;
    s->param = ps.at;
    s->n_param = (int)ps.n;
    for (int i = 0; i < s->n_param; i++)
        if (!s->param[i].name)
            return broken(r, "a parameter has no name");
    if (!take(r, "->"))
        return broken(r, "expected '->'");
    return returns(r, s) ? s : NULL;
}

const Schema *schema_parse(Ctx *cx, const char *line) { return schema_parse_at(cx, line, NULL); }

const Schema *schema_parse_at(Ctx *cx, const char *line, Str place)
{
    keep_begin(cx);
    Reader r = { .cx = cx, .line = line, .at = line, .place = place };
    const Schema *s = parse(&r);
    keep_end(cx);
    return s;
}

int param_named(const Schema *s, const char *name)
{
    for (int i = 0; i < s->n_param; i++)
        if (str_is(s->param[i].name, name))
            return i;
    return -1;
}

int param_index(const Schema *s, Str name)
{
    for (int i = 0; i < s->n_param; i++)
        if (s->param[i].name == name)
            return i;
    return -1;
}
