/* sympy.c - sizes of a .pt2, which are SymPy expressions as text, as dimensions.
 *
 * Two forms are in use: constructor text, "Add(Mul(Integer(2), Symbol('s77', integer=True)),
 * Integer(-1))", and infix text, "2*s0 - 1". One grammar reads both, since a constructor is a call:
 *
 *     sum     = ["-"] product (("+" | "-") product)*
 *     product = power (("*" | "//" | "%" | "/") power)*
 *     power   = atom ["**" atom]
 *     atom    = NUMBER | NAME | NAME "(" [arg ("," arg)*] ")" | "(" sum ")"
 *     arg     = STRING | NAME "=" NAME | sum
 *
 * A text is understood whole or not at all: what is not here (relations, roots, Piecewise) makes
 * the size an unknown one. */
#include "front/internal.h"

enum { DEPTH_MAX = 100, ARGS_MAX = 64, POWER_MAX = 16 };

/* num / den with den > 0: floor(s0/2) is a dimension though s0/2 is none. d NULL: not
 * understood. */
typedef struct Num {
    Dim d;
    int64_t den;
} Num;

typedef struct Sympy {
    Ctx *cx;
    const char *at, *end;
    int depth;
} Sympy;

static const Num UNKNOWN_NUM = { NULL, 1 };
static Num sum(Sympy *s);

static Num whole(Dim d) { return (Num){ d, 1 }; }
static bool understood(Num a) { return a.d != NULL; }
static bool is_whole(Num a) { return a.d && a.den == 1; }

/* ---- arithmetic ---- */

static Num num_add(Ctx *cx, Num a, Num b)
{
    int64_t den;
    if (!understood(a) || !understood(b) || !mul_ok(a.den, b.den, &den))
        return UNKNOWN_NUM;
    if (a.den == b.den)
        return (Num){ dim_add(cx, a.d, b.d), a.den };
    return (Num){
        dim_add(cx, dim_mul(cx, a.d, dim_int(cx, b.den)), dim_mul(cx, b.d, dim_int(cx, a.den))), den
    };
}

static Num num_mul(Ctx *cx, Num a, Num b)
{
    int64_t den;
    if (!understood(a) || !understood(b) || !mul_ok(a.den, b.den, &den))
        return UNKNOWN_NUM;
    Dim d = dim_mul(cx, a.d, b.d), exact;
    return dim_divide(cx, d, dim_int(cx, den), &exact) ? whole(exact) : (Num){ d, den };
}

static Num num_neg(Ctx *cx, Num a) { return num_mul(cx, a, whole(dim_int(cx, -1))); }

/* a / b for a positive number b */
static Num num_div(Ctx *cx, Num a, Num b)
{
    int64_t n;
    if (!understood(a) || !is_whole(b) || !dim_known(b.d, &n) || n <= 0)
        return UNKNOWN_NUM;
    return num_mul(cx, a, (Num){ dim_int(cx, 1), n });
}

static bool divisor(Num a, Num b) { return is_whole(a) && is_whole(b) && !dim_is(b.d, 0); }

static Num num_pow(Ctx *cx, Num a, Num b)
{
    int64_t n;
    if (!is_whole(a) || !is_whole(b) || !dim_known(b.d, &n) || n < 0 || n > POWER_MAX)
        return UNKNOWN_NUM;
    Num out = whole(dim_int(cx, 1));
    while (n-- > 0)
        out = num_mul(cx, out, a);
    return out;
}

/* ---- calls ---- */

typedef Num (*Fold2)(Ctx *cx, Num a, Num b);

static Num f_floordiv(Ctx *cx, Num a, Num b)
{
    return divisor(a, b) ? whole(dim_floordiv(cx, a.d, b.d)) : UNKNOWN_NUM;
}
static Num f_ceildiv(Ctx *cx, Num a, Num b)
{
    return divisor(a, b) ? whole(dim_ceildiv(cx, a.d, b.d)) : UNKNOWN_NUM;
}
static Num f_mod(Ctx *cx, Num a, Num b)
{
    return divisor(a, b) ? whole(dim_mod(cx, a.d, b.d)) : UNKNOWN_NUM;
}
static Num f_min(Ctx *cx, Num a, Num b)
{
    return is_whole(a) && is_whole(b) ? whole(dim_min(cx, a.d, b.d)) : UNKNOWN_NUM;
}
static Num f_max(Ctx *cx, Num a, Num b)
{
    return is_whole(a) && is_whole(b) ? whole(dim_max(cx, a.d, b.d)) : UNKNOWN_NUM;
}
static Num f_shift(Ctx *cx, Num a, Num b)
{
    return num_mul(cx, a, num_pow(cx, whole(dim_int(cx, 2)), b));
}

static const struct {
    const char *name;
    Fold2 fn;
    bool many;
} folds[] = {
    { "Add", num_add, true },
    { "Mul", num_mul, true },
    { "Min", f_min, true },
    { "Max", f_max, true },
    { "Pow", num_pow, false },
    { "PowByNatural", num_pow, false },
    { "Rational", num_div, false },
    { "FloorDiv", f_floordiv, false },
    { "CleanDiv", f_floordiv, false },
    { "CeilDiv", f_ceildiv, false },
    { "Mod", f_mod, false },
    { "PythonMod", f_mod, false },
    { "LShift", f_shift, false },
};

/* A function of sympy or of torch's own classes on numbers: Max(a, b, c) folds from the left, floor
 * and ceiling divide by the denominator. UNKNOWN_NUM for any other. */
static Num call(Sympy *s, Slice name, const Num *arg, int n)
{
    Ctx *cx = s->cx;
    Str f = str_n(cx, name.p, name.n);
    for (size_t i = 0; i < COUNT(folds); i++) {
        if (!str_is(f, folds[i].name) || n < 1 || (!folds[i].many && n != 2))
            continue;
        Num out = arg[0];
        for (int k = 1; k < n; k++)
            out = folds[i].fn(cx, out, arg[k]);
        return out;
    }
    if (n == 1 && (str_is(f, "Integer") || str_is(f, "Identity")))
        return arg[0];
    if (n == 1 && understood(arg[0]) && str_is(f, "floor"))
        return whole(dim_floordiv(cx, arg[0].d, dim_int(cx, arg[0].den)));
    if (n == 1 && understood(arg[0]) && str_is(f, "ceiling"))
        return whole(dim_ceildiv(cx, arg[0].d, dim_int(cx, arg[0].den)));
    if (n == 3 && str_is(f, "ModularIndexing"))
        return f_mod(cx, f_floordiv(cx, arg[0], arg[1]), arg[2]);
    return UNKNOWN_NUM;
}

/* ---- the text ---- */

static void skip_space(Sympy *s)
{
    while (s->at < s->end && *s->at == ' ')
        s->at++;
}

static bool take(Sympy *s, const char *word)
{
    size_t n = strlen(word);
    skip_space(s);
    if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0)
        return false;
    s->at += n;
    return true;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static Slice word(Sympy *s)
{
    const char *from = s->at;
    while (s->at < s->end && (is_letter(*s->at) || is_digit(*s->at)))
        s->at++;
    return (Slice){ (const uint8_t *)from, (size_t)(s->at - from) };
}

static Num number(Sympy *s)
{
    int64_t v = 0;
    for (; s->at < s->end && is_digit(*s->at); s->at++)
        if (!mul_ok(v, 10, &v) || !add_ok(v, *s->at - '0', &v))
            return UNKNOWN_NUM;
    if (s->at < s->end && *s->at == '.')
        return UNKNOWN_NUM;
    return whole(dim_int(s->cx, v));
}

/* 's77' as an argument: the symbol itself */
static Num quoted(Sympy *s)
{
    char quote = *s->at++;
    Slice name = word(s);
    if (name.n == 0 || s->at >= s->end || *s->at != quote)
        return UNKNOWN_NUM;
    s->at++;
    return whole(dim_sym(s->cx, str_n(s->cx, name.p, name.n)));
}

/* integer=True says what we assume anyway. */
static bool take_keyword(Sympy *s)
{
    Sympy ahead = *s;
    skip_space(&ahead);
    if (word(&ahead).n == 0 || !take(&ahead, "=") || (skip_space(&ahead), word(&ahead).n == 0))
        return false;
    s->at = ahead.at;
    return true;
}

/* The arguments up to and with the bracket. -1: not understood. */
static int arguments(Sympy *s, Num *arg)
{
    int n = 0;
    if (take(s, ")"))
        return 0;
    do {
        skip_space(s);
        if (take_keyword(s))
            continue;
        if (n == ARGS_MAX || s->at >= s->end)
            return -1;
        arg[n] = *s->at == '\'' || *s->at == '"' ? quoted(s) : sum(s);
        if (!understood(arg[n++]))
            return -1;
    } while (take(s, ","));
    return take(s, ")") ? n : -1;
}

static Num name_or_call(Sympy *s)
{
    Slice name = word(s);
    if (!take(s, "("))
        return whole(dim_sym(s->cx, str_n(s->cx, name.p, name.n)));
    Num arg[ARGS_MAX];
    int n = arguments(s, arg);
    if (n < 0)
        return UNKNOWN_NUM;
    if (n == 1 && name.n == 6 && memcmp(name.p, "Symbol", 6) == 0)
        return arg[0];
    return call(s, name, arg, n);
}

static Num atom(Sympy *s)
{
    skip_space(s);
    if (s->at >= s->end)
        return UNKNOWN_NUM;
    if (is_digit(*s->at))
        return number(s);
    if (is_letter(*s->at))
        return name_or_call(s);
    if (!take(s, "("))
        return UNKNOWN_NUM;
    Num a = sum(s);
    return take(s, ")") ? a : UNKNOWN_NUM;
}

static Num power(Sympy *s)
{
    Num a = atom(s);
    return take(s, "**") ? num_pow(s->cx, a, atom(s)) : a;
}

static Num product(Sympy *s)
{
    Num a = power(s);
    for (;;) {
        if (!understood(a))
            return a;
        if (take(s, "//"))
            a = f_floordiv(s->cx, a, power(s));
        else if (take(s, "*"))
            a = num_mul(s->cx, a, power(s));
        else if (take(s, "/"))
            a = num_div(s->cx, a, power(s));
        else if (take(s, "%"))
            a = f_mod(s->cx, a, power(s));
        else
            return a;
    }
}

/* sum = ["-"] product (("+" | "-") product)* */
static Num sum(Sympy *s)
{
    if (++s->depth > DEPTH_MAX)
        return UNKNOWN_NUM;
    bool minus = take(s, "-");
    Num a = product(s);
    if (minus)
        a = num_neg(s->cx, a);
    for (;;) {
        if (take(s, "+"))
            a = num_add(s->cx, a, product(s));
        else if (take(s, "-"))
            a = num_add(s->cx, a, num_neg(s->cx, product(s)));
        else
            break;
    }
    s->depth--;
    return a;
}

Dim sympy_dim(Ctx *cx, Str text)
{
    Sympy s = { .cx = cx, .at = text->s, .end = text->s + text->len };
    Num a = sum(&s);
    skip_space(&s);
    return is_whole(a) && s.at == s.end && !ctx_failed(cx) ? a.d : NULL;
}
