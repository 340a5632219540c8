/* dim_text.c - dimensions as text, "2*N + 1" and "min(N, 7)", and the same text read again. */
#include "onnx/dim/dim.h"

/* ---- text ----
 *
 * A size that is computed of others twice at each step, min(N//2, N), has text that doubles at each
 * step: from TEXT_MOST on the text is a name. */

enum { TEXT_MOST = 4000 };

static void print_dim(Buf *b, Dim d);

static void print_operand(Buf *b, Dim d)
{
    int64_t v;
    bool bare = (d->kind != D_SUM && d->kind != D_DIV && d->kind != D_MOD) ||
        (dim_constant(d, &v) && v >= 0);
    if (!bare)
        buf_str(b, "(");
    print_dim(b, d);
    if (!bare)
        buf_str(b, ")");
}

static void print_atom(Buf *b, Dim d)
{
    if (d->kind == D_SYM) {
        buf_str(b, d->sym.name->s);
    } else if (d->kind == D_DIV || d->kind == D_MOD) {
        print_operand(b, d->of.arg[0]);
        buf_str(b, d->kind == D_DIV ? "//" : "%");
        print_operand(b, d->of.arg[1]);
    } else {
        buf_str(b, d->kind == D_MIN ? "min(" : "max(");
        for (uint32_t i = 0; i < d->of.n && b->n <= TEXT_MOST; i++) {
            buf_str(b, i ? ", " : "");
            print_dim(b, d->of.arg[i]);
        }
        buf_str(b, ")");
    }
}

/* A term without its sign. */
static void print_term(Buf *b, const Term *t, bool alone)
{
    uint64_t k = t->coef < 0 ? -(uint64_t)t->coef : (uint64_t)t->coef;
    if (k != 1 || t->n == 0)
        buf_fmt(b, "%llu", (unsigned long long)k);
    for (uint32_t i = 0; i < t->n; i++) {
        if (i || k != 1)
            buf_str(b, "*");
        if (k == 1 && t->n == 1 && alone)
            print_atom(b, t->atom[i]);
        else
            print_operand(b, t->atom[i]);
    }
}

static void print_dim(Buf *b, Dim d)
{
    Term one[1];
    size_t n;
    const Term *t = dim_terms(d, one, &n);
    if (n == 0)
        buf_str(b, "0");
    for (size_t i = 0; i < n && b->n <= TEXT_MOST; i++) {
        bool minus = t[i].coef < 0;
        if (i > 0)
            buf_str(b, minus ? " - " : " + ");
        else if (minus)
            buf_str(b, "-");
        print_term(b, &t[i], i > 0 || !minus);
    }
}

Str dim_text(Ctx *cx, Dim d)
{
    if (!d)
        return str_of(cx, "?");
    Buf b = buf_new(cx);
    d = dim_now(d);
    print_dim(&b, d);
    Str text = buf_done(&b);
    return text->len <= TEXT_MOST ? text : str_fmt(cx, "size_%u", d->id);
}

/* ---- parsing ----
 *
 *     sum = product (("+" | "-") product)*
 *     product = factor (("*" | "//" | "%") factor)* */

typedef struct Reader {
    Ctx *cx;
    const char *s;
    size_t n, at;
    int depth;
} Reader;

static Dim read_sum(Reader *r);

static Dim bad(Reader *r, const char *what)
{
    fail(r->cx, E_USAGE, "dimension \"%.*s\": %s at column %zu", (int)r->n, r->s, what, r->at + 1);
    return NULL;
}

static bool take(Reader *r, const char *word)
{
    size_t n = strlen(word);
    while (r->at < r->n && r->s[r->at] == ' ')
        r->at++;
    if (r->n - r->at < n || memcmp(r->s + r->at, word, n) != 0)
        return false;
    r->at += n;
    return true;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static Dim read_number(Reader *r)
{
    int64_t v = 0;
    for (; r->at < r->n && is_digit(r->s[r->at]); r->at++)
        if (!mul_ok(v, 10, &v) || !add_ok(v, r->s[r->at] - '0', &v))
            return bad(r, "a number beyond 64 bits");
    return dim_int(r->cx, v);
}

/* "min(" sum ("," sum)* ")" */
static Dim read_extreme(Reader *r, Dim (*join)(Ctx *, Dim, Dim))
{
    Dim d = read_sum(r);
    while (d && take(r, ","))
        d = join(r->cx, d, read_sum(r));
    return !d || take(r, ")") ? d : bad(r, "a ')' is missing");
}

static Dim read_name(Reader *r)
{
    size_t from = r->at;
    while (r->at < r->n && (is_letter(r->s[r->at]) || is_digit(r->s[r->at]) || r->s[r->at] == '.'))
        r->at++;
    Str name = str_n(r->cx, r->s + from, r->at - from);
    bool least = str_is(name, "min");
    if ((least || str_is(name, "max")) && take(r, "("))
        return read_extreme(r, least ? dim_min : dim_max);
    return dim_sym(r->cx, name);
}

/* factor = "-" factor | number | name | "(" sum ")" | ("min" | "max") "(" sum ("," sum)* ")" */
static Dim read_factor(Reader *r)
{
    if (r->depth > 100)
        return bad(r, "nested too deeply");
    r->depth++;
    Dim d;
    if (take(r, "-"))
        d = dim_sub(r->cx, dim_int(r->cx, 0), read_factor(r));
    else if (take(r, "(")) {
        d = read_sum(r);
        if (d && !take(r, ")"))
            d = bad(r, "a ')' is missing");
    } else if (r->at < r->n && is_digit(r->s[r->at]))
        d = read_number(r);
    else if (r->at < r->n && is_letter(r->s[r->at]))
        d = read_name(r);
    else
        d = bad(r, "a number or a name is missing");
    r->depth--;
    return d;
}

static Dim read_product(Reader *r)
{
    Dim d = read_factor(r);
    while (d) {
        if (take(r, "//"))
            d = dim_floordiv(r->cx, d, read_factor(r));
        else if (take(r, "*"))
            d = dim_mul(r->cx, d, read_factor(r));
        else if (take(r, "%"))
            d = dim_mod(r->cx, d, read_factor(r));
        else
            break;
    }
    return d;
}

static Dim read_sum(Reader *r)
{
    Dim d = read_product(r);
    while (d) {
        if (take(r, "+"))
            d = dim_add(r->cx, d, read_product(r));
        else if (take(r, "-"))
            d = dim_sub(r->cx, d, read_product(r));
        else
            break;
    }
    return d;
}

Dim dim_parse(Ctx *cx, const char *s, size_t n)
{
    Reader r = { .cx = cx, .s = s, .n = n };
    Dim d = read_sum(&r);
    if (d && (take(&r, " "), r.at < r.n))
        return bad(&r, "this is not understood");
    return d;
}

/* A relation as it is written; turned: of its sides the second comes first. */
typedef struct Sign {
    char text[4];
    Rel rel;
    bool turned;
} Sign;

static const Sign *read_sign(Reader *r)
{
    static const Sign signs[] = { { "==", REL_EQ, false }, { "!=", REL_NE, false },
                                  { "<=", REL_LE, false }, { ">=", REL_LE, true },
                                  { "<", REL_LT, false },  { ">", REL_LT, true } };
    for (size_t i = 0; i < COUNT(signs); i++)
        if (take(r, signs[i].text))
            return &signs[i];
    return NULL;
}

/* comparison = sum ("==" | "!=" | "<=" | ">=" | "<" | ">") sum */
static Tri read_comparison(Reader *r)
{
    Dim a = read_sum(r);
    const Sign *sign = read_sign(r);
    Dim b = a && sign ? read_sum(r) : NULL;
    if (!b || (take(r, " "), r->at < r->n))
        return UNKNOWN;
    return dim_related(r->cx, sign->rel, sign->turned ? b : a, sign->turned ? a : b);
}

Tri dim_holds(Ctx *cx, Str comparison)
{
    Reader r = { .cx = cx, .s = comparison->s, .n = comparison->len };
    Tri holds = read_comparison(&r);
    if (!ctx_failed(cx) || cx->error.final)
        return holds;
    cx->error = (Error){ .code = E_NONE };
    return UNKNOWN;
}
