/* spec.c - reads one -i SPEC: what the user says about an input.
 *
 *     spec   = path ":" type | path "=" value | sizes
 *     type   = dtype "[" [ dim { "," dim } ] "]" | sizes
 *     sizes  = integer { "x" integer }                     float32: 1x3x224x224
 *     dim    = integer | name [ "=" integer ".." [ integer ] ] | sum | "?"
 *     sum    = name "+" ( name | integer ) { "+" ( name | integer ) }
 *     value  = integer | float | "True" | "False" | "None" | quoted text | bare word
 *     path   = name or number, dots between the leaves of dicts, lists and tuples: batch.image
 *
 * A bare word is text, because a shell takes the quotes of mode="fast" away. The grammar is whole;
 * whether a program can use a SPEC (which parameter it means, whether a leaf or a type is handled
 * yet) is the evaluator's to say. */
#include "value/options.h"

#include <ctype.h>

typedef struct Reader {
    Ctx *cx;
    const char *text; /* the whole SPEC */
    const char *at;   /* the next character */
} Reader;

/* ---- errors: the reason, the SPEC, a caret ---- */

static int columns(const char *from, const char *to)
{
    int n = 0;
    for (; from < to; from++)
        n += ((unsigned char)*from & 0xC0) != 0x80; /* a UTF-8 sequence is one column */
    return n;
}

static bool wrong(Reader *r, const char *place, const char *fmt, ...) PRINTF_LIKE(3, 4);
static bool wrong(Reader *r, const char *place, const char *fmt, ...)
{
    char reason[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(reason, sizeof reason, fmt, args);
    va_end(args);
    return fail(r->cx, E_USAGE, "-i: %s\n    %s\n    %*s^", reason, r->text,
                columns(r->text, place), "");
}

/* ---- words ---- */

static bool is_name_start(char c) { return isalpha((unsigned char)c) || c == '_'; }
static bool is_name(char c) { return isalnum((unsigned char)c) || c == '_'; }
/* Names of inputs go into the model: anything but what SPECs are made of. */
static bool is_path(char c)
{
    return (unsigned char)c > ' ' && c != 127 && !strchr(":=[](){},\"'?", c);
}

static size_t run_of(const char *at, bool (*is)(char))
{
    size_t n = 0;
    while (at[n] && is(at[n]))
        n++;
    return n;
}

/* path = part { "." part } */
static bool read_path(Reader *r, Str *out)
{
    size_t n = run_of(r->at, is_path);
    if (n == 0)
        return wrong(
            r, r->at,
            "a name is expected: x:float32[N,3,224,224], batch.image:float32[4], sr=16000");
    for (size_t i = 0; i < n; i++)
        if (r->at[i] == '.' && (i == 0 || i + 1 == n || r->at[i + 1] == '.'))
            return wrong(r, r->at + i,
                         "a dot stands between two parts of a name: batch.image, xs.0");
    *out = str_n(r->cx, r->at, n);
    r->at += n;
    return true;
}

/* integer = digit { digit }, as a size: at least 0 and below 2^63 */
static bool read_size(Reader *r, int64_t *out)
{
    const char *start = r->at;
    int64_t v = 0;
    for (; isdigit((unsigned char)*r->at); r->at++)
        if (!mul_ok(v, 10, &v) || !add_ok(v, *r->at - '0', &v))
            return wrong(r, start, "the number is too big");
    *out = v;
    return r->at > start || wrong(r, start, "a number is expected");
}

/* ---- types ---- */

/* The rest of a sum that began at start with a name: past+length, N+1. */
static bool read_sum(Reader *r, const char *start, SpecDim *d)
{
    while (*r->at == '+') {
        int64_t size;
        r->at++;
        size_t n = is_name_start(*r->at) ? run_of(r->at, is_name) : 0;
        r->at += n;
        if (n == 0 && !read_size(r, &size))
            return false;
    }
    d->kind = SPEC_SUM;
    d->name = str_n(r->cx, start, (size_t)(r->at - start));
    return true;
}

/* dim = integer | name [ "=" integer ".." [ integer ] ] | sum | "?" */
static bool read_dim(Reader *r, SpecDim *d)
{
    *d = (SpecDim){ .lo = 0, .hi = DIM_MAX };
    const char *start = r->at;
    if (*r->at == '?') {
        d->kind = SPEC_UNNAMED;
        r->at++;
        return true;
    }
    if (isdigit((unsigned char)*r->at)) {
        d->kind = SPEC_SIZE;
        return read_size(r, &d->size);
    }
    if (!is_name_start(*r->at))
        return wrong(r, start,
                     *start == '-'
                         ? "a size is not negative; write a name or ? for a dynamic dimension"
                         : "a dimension is a number, a name (dynamic), or ?");
    size_t n = run_of(r->at, is_name);
    d->kind = SPEC_NAME;
    d->name = str_n(r->cx, r->at, n);
    r->at += n;
    if (*r->at == '+')
        return read_sum(r, start, d);
    if (*r->at != '=')
        return true;
    r->at++;
    if (!read_size(r, &d->lo))
        return false;
    if (strncmp(r->at, "..", 2) != 0)
        return wrong(r, r->at, "a range is written N=1..64");
    r->at += 2;
    if (*r->at == ',' || *r->at == ']') /* N=1.. has no upper bound */
        return true;
    if (!read_size(r, &d->hi))
        return false;
    return d->lo <= d->hi || wrong(r, start, "the range is empty");
}

static bool add_dim(Reader *r, InputSpec *out, SpecDim d, const char *start)
{
    if (out->rank == MAX_RANK)
        return wrong(r, start, "more than %d dimensions", MAX_RANK);
    out->dim[out->rank++] = d;
    return true;
}

/* dims = "[" [ dim { "," dim } ] "]" */
static bool read_dims(Reader *r, InputSpec *out)
{
    r->at++;
    if (*r->at == ']') {
        r->at++;
        return true;
    }
    for (;;) {
        const char *start = r->at;
        SpecDim d;
        if (!read_dim(r, &d) || !add_dim(r, out, d, start))
            return false;
        if (*r->at == ']') {
            r->at++;
            return true;
        }
        if (*r->at != ',')
            return wrong(r, r->at, "\",\" or \"]\" is expected");
        r->at++;
    }
}

/* sizes = integer { "x" integer } */
static bool read_sizes(Reader *r, InputSpec *out)
{
    out->dtype = DT_FLOAT;
    for (;;) {
        const char *start = r->at;
        SpecDim d = { .kind = SPEC_SIZE, .hi = DIM_MAX };
        if (!read_size(r, &d.size) || !add_dim(r, out, d, start))
            return false;
        if (*r->at != 'x')
            return true;
        r->at++;
    }
}

/* The numpy name that the user may have meant by a word of torch or C, or by a misspelt one; NULL:
 * none is near. */
static const char *numpy_word(Str word)
{
    static const struct {
        const char *word, *numpy;
    } other[] = {
        { "float", "float32" },      { "half", "float16" },  { "double", "float64" },
        { "long", "int64" },         { "int", "int64" },     { "short", "int16" },
        { "char", "int8" },          { "byte", "uint8" },    { "cfloat", "complex64" },
        { "cdouble", "complex128" }, { "f16", "float16" },   { "f32", "float32" },
        { "f64", "float64" },        { "bf16", "bfloat16" }, { "i8", "int8" },
        { "i16", "int16" },          { "i32", "int32" },     { "i64", "int64" },
        { "u8", "uint8" },
    };
    for (size_t i = 0; i < COUNT(other); i++)
        if (str_is(word, other[i].word))
            return other[i].numpy;
    const char *names[DT_COUNT] = { NULL };
    for (int t = DT_NONE + 1; t < DT_COUNT; t++)
        names[t - 1] = dtype_name((DType)t);
    return word_nearest(word->s, word->len, names);
}

/* A numpy name, or quint8 or qint8, torch's words for tensors with a scale. DT_NONE: neither. */
static void read_dtype(const char *word, size_t n, InputSpec *out)
{
    out->dtype = dtype_named(word, n);
    if (word[0] != 'q')
        return;
    DType stored = dtype_named(word + 1, n - 1);
    out->quantised = stored == DT_UINT8 || stored == DT_INT8;
    out->dtype = out->quantised ? stored : DT_NONE;
}

/* type = dtype dims | sizes */
static bool read_type(Reader *r, InputSpec *out)
{
    if (isdigit((unsigned char)*r->at))
        return read_sizes(r, out);
    const char *start = r->at;
    size_t n = run_of(r->at, is_name);
    if (n == 0)
        return wrong(r, start, "an element type is expected, like float32[N,3,224,224]");
    read_dtype(start, n, out);
    if (out->dtype == DT_NONE) {
        Str word = str_n(r->cx, start, n);
        const char *near = numpy_word(word);
        if (!near)
            return wrong(r, start, "there is no element type \"%.40s\"", word->s);
        return wrong(r, start, "there is no element type \"%.40s\"; did you mean %s?", word->s,
                     near);
    }
    r->at += n;
    if (*r->at != '[')
        return wrong(r, r->at, "the dimensions are missing: %.*s[N,3] has two, %.*s[] none", (int)n,
                     start, (int)n, start);
    return read_dims(r, out);
}

/* ---- values ---- */

static bool is_digit(char c) { return isdigit((unsigned char)c); }

/* A sign, or none, and digits. Goes below zero, so that -2^63 can be read. */
static bool read_int(Reader *r, const char *at, size_t n, InputSpec *out)
{
    int64_t v = 0;
    for (size_t i = !is_digit(at[0]); i < n; i++)
        if (!mul_ok(v, 10, &v) || !sub_ok(v, at[i] - '0', &v))
            return wrong(r, at, "the number does not fit 64 bits");
    if (at[0] != '-' && !sub_ok(0, v, &v))
        return wrong(r, at, "the number does not fit 64 bits");
    out->value_kind = SPEC_INT;
    out->i = v;
    return true;
}

/* Is the whole word of n characters a Python number? *is says so; false after an error. Hex,
 * underscores and complex numbers are not read. */
static bool number_word(Reader *r, const char *at, size_t n, InputSpec *out, bool *is)
{
    size_t sign = at[0] == '-' || at[0] == '+';
    *is = true;
    if (n > sign && sign + run_of(at + sign, is_digit) == n)
        return read_int(r, at, n, out);
    const char *end = at;
    double f = parse_double(at, n, &end);
    *is = end == at + n;
    if (*is) {
        out->value_kind = SPEC_FLOAT;
        out->f = f;
    }
    return true;
}

/* text in quotes; \\ and the quote itself may be escaped */
static bool read_quoted(Reader *r, InputSpec *out)
{
    const char *start = r->at;
    char quote = *r->at++;
    Buf b = buf_new(r->cx);
    for (; *r->at && *r->at != quote; r->at++) {
        if (*r->at == '\\' && (r->at[1] == quote || r->at[1] == '\\'))
            r->at++;
        buf_add(&b, r->at, 1);
    }
    if (!*r->at)
        return wrong(r, start, "the text has no closing quote");
    r->at++;
    out->value_kind = SPEC_STR;
    out->s = buf_done(&b);
    return true;
}

/* None, True, False, or text. */
static bool bare_word(Reader *r, Str word, InputSpec *out)
{
    if (str_is(word, "true") || str_is(word, "false") || str_is(word, "none") ||
        str_is(word, "null"))
        return wrong(r, r->at,
                     "Python writes True, False and None; text of this spelling stands in quotes");
    out->value_kind = SPEC_STR;
    if (str_is(word, "None"))
        out->value_kind = SPEC_NONE;
    else if (str_is(word, "True") || str_is(word, "False"))
        out->value_kind = SPEC_BOOL;
    out->i = str_is(word, "True");
    out->s = word;
    return true;
}

/* value = integer | float | "True" | "False" | "None" | quoted text | bare word */
static bool read_value(Reader *r, InputSpec *out)
{
    out->is_value = true;
    if (*r->at == '"' || *r->at == '\'')
        return read_quoted(r, out);
    if (*r->at == '[' || *r->at == '(' || *r->at == '{')
        return wrong(r, r->at,
                     "lists, tuples and dicts are given leaf by leaf: sizes.0=4 and sizes.1=8");
    Str word = str_of(r->cx, r->at);
    bool is_number = false;
    if (word->len == 0)
        return wrong(r, r->at, "a value is expected after \"=\"; empty text is written \"\"");
    if (!number_word(r, r->at, word->len, out, &is_number))
        return false;
    if (!is_number && !bare_word(r, word, out))
        return false;
    r->at += word->len;
    return true;
}

/* ---- the whole ---- */

/* Only sizes: 1x3x224x224? A name may start with a digit too ("0:float32[1]"), so this looks at the
 * whole text. */
static bool is_short_form(const char *s)
{
    return isdigit((unsigned char)*s) && s[strspn(s, "0123456789x")] == '\0';
}

/* path ":" type | path "=" value */
static bool read_named(Reader *r, InputSpec *out)
{
    if (!read_path(r, &out->path))
        return false;
    char sep = *r->at;
    if (sep != ':' && sep != '=')
        return wrong(r, r->at,
                     "\":\" and a type, or \"=\" and a value, is expected after the name");
    r->at++;
    return sep == ':' ? read_type(r, out) : read_value(r, out);
}

bool spec_parse(Ctx *cx, const char *text, InputSpec *out)
{
    Reader r = { cx, text, text };
    memset(out, 0, sizeof *out);
    out->text = str_of(cx, text);
    bool ok = is_short_form(text) ? read_sizes(&r, out) : read_named(&r, out);
    return ok && (*r.at == '\0' || wrong(&r, r.at, "nothing more is expected here"));
}
