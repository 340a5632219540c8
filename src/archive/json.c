/* json.c - a pull reader of JSON: no tree, no recursion; the only state is a position and one bit
 * per open bracket.
 *
 * A program of 100 MB is read straight into its own form. Strings are checked when they are met and
 * decoded only when asked for. What is accepted beyond RFC 8259 stands in archive.h; nothing else
 * is. */
#include "archive/archive.h"

#include <math.h>

Json json_over(Ctx *cx, const char *record, Slice text)
{
    return (Json){ .cx = cx, .record = record, .text = text, .first = true };
}

static JsonTag bad(Json *j, const char *what)
{
    if (!j->failed)
        fail(j->cx, E_FORMAT, "%s: byte %zu: %s", j->record, j->at, what);
    j->failed = true;
    return J_ERROR;
}

/* ---- nesting ---- */

/* Is the bracket that is open at this depth an object's? */
static bool is_object(const Json *j, int depth)
{
    int d = depth - 1;
    return d >= 0 && (j->stack[d / 8] >> d % 8 & 1);
}

/* May brackets be nested as deep as this? Asked of the limits once for each depth. */
static bool depth_ok(Json *j, int depth)
{
    if (depth > JSON_DEPTH_MAX ||
        !limit_ok(j->cx, LIMIT_DEPTH, (uint64_t)depth, "nested brackets of JSON")) {
        j->failed = true;
        return false;
    }
    j->allowed = depth;
    return true;
}

static JsonTag enter(Json *j, bool object)
{
    if (j->depth >= j->allowed && !depth_ok(j, j->depth + 1))
        return J_ERROR;
    uint8_t bit = (uint8_t)(1 << j->depth % 8);
    uint8_t *byte = &j->stack[j->depth / 8];
    *byte = object ? *byte | bit : *byte & (uint8_t)~bit;
    j->depth++;
    j->at++;
    j->first = true;
    j->object = j->key = object;
    return object ? J_OBJECT : J_ARRAY;
}

/* A value is complete: what may follow it? */
static JsonTag done(Json *j, JsonTag tag)
{
    j->first = false;
    j->key = j->object;
    return tag;
}

static JsonTag leave(Json *j)
{
    bool object = j->object;
    j->at++;
    j->depth--;
    j->object = is_object(j, j->depth);
    return done(j, object ? J_OBJECT_END : J_ARRAY_END);
}

/* ---- characters ---- */

static inline int peek(const Json *j) { return j->at < j->text.n ? j->text.p[j->at] : -1; }

/* The first byte behind spaces, where j then stands; -1 at the text's end. */
static inline int after_space(Json *j)
{
    const uint8_t *p = j->text.p;
    size_t at = j->at;
    size_t n = j->text.n;
    while (at < n && (p[at] == ' ' || p[at] == '\n' || p[at] == '\r' || p[at] == '\t'))
        at++;
    j->at = at;
    return at < n ? p[at] : -1;
}

/* -1 for no hexadecimal digit. */
static int hex_digit(int c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 32; /* a small letter */
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int hex4(const uint8_t *p)
{
    int v = 0;
    for (int i = 0; i < 4; i++) {
        int d = hex_digit(p[i]);
        if (d < 0)
            return -1;
        v = v * 16 + d;
    }
    return v;
}

/* Length of the UTF-8 sequence at p, 0 when it is not one: no overlong forms, no surrogates,
 * nothing past U+10FFFF. */
static size_t utf8_length(const uint8_t *p, size_t n)
{
    if (p[0] < 0x80)
        return 1;
    size_t len = 0;
    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        len = 2;
    else if (p[0] >= 0xe0 && p[0] <= 0xef)
        len = 3;
    else if (p[0] >= 0xf0 && p[0] <= 0xf4)
        len = 4;
    if (len == 0 || len > n)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    bool wrong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f);
    return wrong ? 0 : len;
}

/* ---- scalars ---- */

/* \" \\ \/ \b \f \n \r \t \uXXXX; j stands on the backslash. */
static bool scan_escape(Json *j)
{
    size_t left = j->text.n - j->at;
    const uint8_t *p = j->text.p + j->at;
    if (left >= 2 && p[1] != 0 && strchr("\"\\/bfnrt", p[1])) {
        j->at += 2;
        return true;
    }
    if (left >= 6 && p[1] == 'u' && hex4(p + 2) >= 0) {
        j->at += 6;
        return true;
    }
    bad(j, "not an escape sequence");
    return false;
}

/* Marks, by their highest bits, those of the eight bytes at p that need a second look: quotes,
 * backslashes, control characters, and what is not ASCII. The subtractions may mark bytes behind
 * one that is marked rightly, never one before it. */
static uint64_t special_bytes(const uint8_t *p)
{
    const uint64_t each = 0x0101010101010101u;
    uint64_t eight;
    memcpy(&eight, p, sizeof eight);
    uint64_t quote = (eight ^ each * '"') - each;
    uint64_t slash = (eight ^ each * '\\') - each;
    uint64_t control = eight - each * 0x20;
    return (quote | slash | control | eight) & each * 0x80;
}

/* How many characters from p on are ASCII and need no second look: nearly all of a string. */
static size_t plain_length(const uint8_t *p, size_t n)
{
    size_t i = 0;
    for (; n - i >= 8; i += 8) {
        uint64_t special = special_bytes(p + i);
        if (special)
            return i + (size_t)__builtin_ctzll(special) / 8;
    }
    while (i < n && p[i] >= 0x20 && p[i] < 0x80 && p[i] != '"' && p[i] != '\\')
        i++;
    return i;
}

/* From the opening quote on: j->raw becomes the text between the quotes, its escapes checked but
 * not decoded (json_string does that). */
static JsonTag scan_string(Json *j)
{
    size_t start = ++j->at;
    j->escaped = false;
    for (;;) {
        j->at += plain_length(j->text.p + j->at, j->text.n - j->at);
        int c = peek(j);
        if (c == '"')
            break;
        if (c < 0)
            return bad(j, "the text ends inside a string");
        if (c < 0x20)
            return bad(j, "a control character inside a string");
        if (c == '\\') {
            if (!scan_escape(j))
                return J_ERROR;
            j->escaped = true;
            continue;
        }
        size_t len = utf8_length(j->text.p + j->at, j->text.n - j->at);
        if (len == 0)
            return bad(j, "not valid UTF-8");
        j->at += len;
    }
    j->raw = (Slice){ j->text.p + start, j->at - start };
    j->at++;
    return J_STRING;
}

/* Passes over digits; true when there is one. *value: what they say, if they are not too many. */
static bool digits(Json *j, uint64_t *value)
{
    const uint8_t *p = j->text.p;
    size_t at = j->at;
    uint64_t v = 0;
    for (; at < j->text.n && p[at] >= '0' && p[at] <= '9'; at++)
        v = v * 10 + (uint64_t)(p[at] - '0');
    bool any = at > j->at;
    j->at = at;
    *value = v;
    return any;
}

/* The whole number of j->raw, whose digits say `value` when there are at most 18 of them. */
static JsonTag integer(Json *j, uint64_t value)
{
    bool minus = j->raw.p[0] == '-';
    int64_t v = 0;
    if (j->raw.n - minus <= 18) {
        v = minus ? -(int64_t)value : (int64_t)value;
        j->i = v;
        return J_INT;
    }
    for (size_t i = minus; i < j->raw.n; i++) {
        int d = j->raw.p[i] - '0';
        if (!mul_ok(v, 10, &v) || !(minus ? sub_ok(v, d, &v) : add_ok(v, d, &v)))
            return J_FLOAT;
    }
    j->i = v;
    return J_INT;
}

/* -? (0 | [1-9] digits) [. digits] [e [+-] digits] */
static JsonTag scan_number(Json *j)
{
    size_t start = j->at;
    uint64_t value = 0;
    uint64_t behind;
    bool whole = true;
    if (peek(j) == '-')
        j->at++;
    if (peek(j) == '0')
        j->at++;
    else if (!digits(j, &value))
        return bad(j, "a value is expected");
    int c = peek(j);
    if (c == '.') {
        whole = false;
        j->at++;
        if (!digits(j, &behind))
            return bad(j, "a digit is expected after the point");
        c = peek(j);
    }
    if (c == 'e' || c == 'E') {
        whole = false;
        j->at++;
        if (peek(j) == '+' || peek(j) == '-')
            j->at++;
        if (!digits(j, &behind))
            return bad(j, "a digit is expected in the exponent");
    }
    j->raw = (Slice){ j->text.p + start, j->at - start };
    JsonTag tag = whole ? integer(j, value) : J_FLOAT;
    if (tag == J_INT && (j->i != 0 || *j->raw.p != '-')) { /* -0 is a number with a sign */
        j->f = (double)j->i;
        return tag;
    }
    j->f = parse_double((const char *)j->raw.p, j->raw.n, NULL);
    if (isinf(j->f))
        return bad(j, "the number is too large");
    return tag;
}

static bool scan_word(Json *j, const char *word)
{
    size_t n = strlen(word);
    if (j->text.n - j->at < n || memcmp(j->text.p + j->at, word, n) != 0)
        return false;
    j->at += n;
    return true;
}

/* null, true and false; NaN and infinities only where the reader has allowed them (Python's json
 * writes those). A minus is a number's. */
static JsonTag scan_words(Json *j)
{
    if (scan_word(j, "null"))
        return J_NULL;
    if (scan_word(j, "true"))
        return J_TRUE;
    if (scan_word(j, "false"))
        return J_FALSE;
    static const struct {
        const char *word;
        double v;
    } special[] = { { "NaN", NAN }, { "Infinity", INFINITY }, { "-Infinity", -INFINITY } };
    for (size_t i = 0; j->nan_words && i < COUNT(special); i++)
        if (scan_word(j, special[i].word)) {
            j->f = special[i].v;
            return J_FLOAT;
        }
    return peek(j) == '-' ? scan_number(j) : bad(j, "a value is expected");
}

/* A value that begins with c; j stands on it. */
static JsonTag scan_value(Json *j, int c)
{
    if (c == '{' || c == '[')
        return enter(j, c == '{');
    JsonTag tag;
    if (c == '"')
        tag = scan_string(j);
    else if (c >= '0' && c <= '9')
        tag = scan_number(j);
    else
        tag = scan_words(j);
    return tag == J_ERROR ? tag : done(j, tag);
}

static JsonTag scan_key(Json *j, int c)
{
    if (c != '"')
        return bad(j, "a key in quotes is expected");
    if (scan_string(j) == J_ERROR)
        return J_ERROR;
    if (after_space(j) != ':')
        return bad(j, "a colon is expected after the key");
    j->at++;
    j->key = false;
    j->first = true; /* no comma before the value */
    return J_STRING;
}

/* The next token: commas and the colon of a key are checked and passed over here. J_ERROR from the
 * first mistake on, J_END once the one value of the text is over. */
JsonTag json_next(Json *j)
{
    if (j->failed || ctx_failed(j->cx)) {
        j->failed = true;
        return J_ERROR;
    }
    int c = after_space(j);
    if (j->depth == 0 && !j->first)
        return c < 0 ? J_END : bad(j, "more text follows the value");
    if (c < 0)
        return bad(j, "the text ends too early");
    bool after_key = j->object && !j->key;
    if (j->depth > 0 && !after_key && c == (j->object ? '}' : ']'))
        return leave(j);
    if (!j->first) {
        if (c != ',')
            return bad(j, j->object ? "a comma or } is expected" : "a comma or ] is expected");
        j->at++;
        c = after_space(j);
    }
    return j->key ? scan_key(j, c) : scan_value(j, c);
}

/* What the next token is, by its first byte: a string or an opening bracket. J_END: it must be read
 * to be known. */
static JsonTag begins(const Json *j)
{
    Json ahead = { .text = j->text, .at = j->at };
    int c = after_space(&ahead);
    if (!j->first) {
        if (c != ',' || j->depth == 0)
            return J_END;
        ahead.at++;
        c = after_space(&ahead);
    }
    switch (c) {
    case '"': return J_STRING;
    case '{': return J_OBJECT;
    case '[': return J_ARRAY;
    default:  return J_END;
    }
}

JsonTag json_peek(Json *j)
{
    JsonTag sure = j->failed || j->key ? J_END : begins(j);
    if (sure != J_END)
        return sure;
    Json ahead = *j;
    JsonTag tag = json_next(&ahead);
    j->failed = ahead.failed;
    return tag;
}

size_t json_mark(const Json *j) { return j->at; }

/* ---- decoded text ---- */

/* Returns where the text goes on behind the character. */
static uint8_t *put_utf8(uint8_t *s, uint32_t c)
{
    if (c < 0x80) {
        *s++ = (uint8_t)c;
        return s;
    }
    if (c < 0x800) {
        *s++ = (uint8_t)(0xc0 | c >> 6);
    } else if (c < 0x10000) {
        *s++ = (uint8_t)(0xe0 | c >> 12);
        *s++ = (uint8_t)(0x80 | (c >> 6 & 63));
    } else {
        *s++ = (uint8_t)(0xf0 | c >> 18);
        *s++ = (uint8_t)(0x80 | (c >> 12 & 63));
        *s++ = (uint8_t)(0x80 | (c >> 6 & 63));
    }
    *s++ = (uint8_t)(0x80 | (c & 63));
    return s;
}

/* Puts what the escape at p, checked before, stands for to *out, which moves on; returns the
 * escape's length. */
static size_t decode_escape(uint8_t **out, const uint8_t *p, size_t left)
{
    if (p[1] != 'u') {
        static const char from[] = "\"\\/bfnrt";
        static const char to[] = "\"\\/\b\f\n\r\t";
        *(*out)++ = (uint8_t)to[strchr(from, p[1]) - from];
        return 2;
    }
    int c = hex4(p + 2);
    if (c >= 0xd800 && c < 0xdc00 && left >= 12 && p[6] == '\\' && p[7] == 'u') {
        int low = hex4(p + 8);
        if (low >= 0xdc00 && low < 0xe000) {
            *out = put_utf8(*out,
                            0x10000 + ((uint32_t)(c - 0xd800) << 10) + (uint32_t)(low - 0xdc00));
            return 12;
        }
    }
    *out = put_utf8(*out, c >= 0xd800 && c < 0xe000 ? 0xfffd : (uint32_t)c);
    return 6;
}

/* The string s without its escapes to `to`, which has room for as many bytes: no escape is shorter
 * than what it stands for. Returns the length. */
static size_t decode(Slice s, uint8_t *to)
{
    uint8_t *out = to;
    for (size_t i = 0; i < s.n;) {
        const uint8_t *slash = memchr(s.p + i, '\\', s.n - i);
        size_t plain = slash ? (size_t)(slash - s.p) - i : s.n - i;
        memcpy(out, s.p + i, plain);
        out += plain;
        i += plain;
        if (i < s.n)
            i += decode_escape(&out, s.p + i, s.n - i);
    }
    return (size_t)(out - to);
}

/* The text of the string token that was just read. One with escapes is decoded in memory that goes
 * at once, whatever memory the caller has chosen: there may be such a string for each node. */
Str json_string(Json *j)
{
    Slice s = j->raw;
    uint8_t small[512];
    if (!j->escaped)
        return str_n(j->cx, s.p, s.n);
    if (s.n <= sizeof small)
        return str_n(j->cx, small, decode(s, small));
    ArenaMark m = arena_mark(j->cx->run);
    uint8_t *large = arena_alloc(j->cx->run, s.n);
    Str out = str_n(j->cx, large, large ? decode(s, large) : 0);
    arena_reset(j->cx->run, m);
    if (!large)
        fail(j->cx, E_MEMORY, "out of memory");
    return out;
}

/* ---- what a token is called ---- */

static const char *tag_name(JsonTag t)
{
    static const char *const names[] = { "the end",    "null",     "true",     "false",
                                         "an integer", "a number", "a string", "an array",
                                         "an object",  "]",        "}",        "an error" };
    return names[t];
}

static bool expected(Json *j, const char *what, JsonTag got)
{
    if (!j->failed)
        fail(j->cx, E_FORMAT, "%s: byte %zu: %s is expected, not %s", j->record, j->at, what,
             tag_name(got));
    j->failed = true;
    return false;
}

/* ---- passing over values ---- */

enum { WORTH_KEEPING = 128 }; /* bytes between brackets: what is shorter is read as quickly */

/* The last of the ends whose bracket opens at `from` or before. Values are mostly asked for in
 * their order, so it is looked for near the one that was found last. */
static size_t find_end(const JsonEnds *e, uint32_t from)
{
    const JsonEnd *at = e->of.at;
    size_t lo = at[e->last].from <= from ? e->last : 0;
    size_t hi = e->of.n;
    for (size_t step = 1; lo + step < hi; step *= 2)
        if (at[lo + step].from > from)
            hi = lo + step;
        else
            lo += step;
    while (hi - lo > 1) {
        size_t middle = lo + (hi - lo) / 2;
        if (at[middle].from <= from)
            lo = middle;
        else
            hi = middle;
    }
    return lo;
}

/* j stands behind a bracket that it has just opened: goes behind the one that closes it, where that
 * is known. */
static void jump(Json *j)
{
    JsonEnds *e = j->ends;
    if (!e || e->of.n == 0)
        return;
    e->last = find_end(e, (uint32_t)j->at);
    const JsonEnd *end = &e->of.at[e->last];
    if (end->from != j->at || end->to == 0)
        return;
    j->at = end->to;
    leave(j);
}

/* Notes where the bracket that has just been opened does so; closed() says where it ends, or
 * forgets it. open: by depth, numbers of those that are open. */
static void opened(Json *j, size_t *open)
{
    open[j->depth] = j->ends->of.n;
    vec_push(j->cx, &j->ends->of, (JsonEnd){ .from = (uint32_t)j->at });
}

static void closed(Json *j, const size_t *open)
{
    JsonEnds *e = j->ends;
    size_t i = open[j->depth + 1];
    uint32_t to = (uint32_t)j->at - 1;
    if (i >= e->of.n)
        return; /* there was no memory for it */
    if (to - e->of.at[i].from < WORTH_KEEPING)
        e->of.n = i;
    else
        e->of.at[i].to = to;
}

/* What is met for the first time is noted, and anything else is jumped over: each byte of a text is
 * passed over once, however often the values around it are. */
bool json_skip(Json *j)
{
    size_t open[JSON_DEPTH_MAX + 1];
    int depth = j->depth;
    JsonTag t = json_next(j);
    if (t == J_ARRAY_END || t == J_OBJECT_END || t == J_END)
        return expected(j, "a value", t);
    bool noted = j->ends && j->at > j->ends->known && j->text.n <= UINT32_MAX;
    for (;;) {
        bool opens = t == J_ARRAY || t == J_OBJECT;
        if (opens && noted)
            opened(j, open);
        else if (opens)
            jump(j);
        else if (noted && (t == J_ARRAY_END || t == J_OBJECT_END))
            closed(j, open);
        if (t == J_ERROR || j->depth <= depth)
            break;
        t = json_next(j);
    }
    if (noted)
        j->ends->known = j->at;
    return t != J_ERROR;
}

void json_forget(Ctx *cx, JsonEnds *e)
{
    mem_give(cx, e->of.at, e->of.cap * sizeof *e->of.at);
    *e = (JsonEnds){ 0 };
}

/* Values are skipped without a look into them only where their ends are known. */
void json_discard(const Json *j, size_t *from)
{
    enum { PIECE = 4 << 20 };
    if (!j->ends || j->at > j->ends->known || j->at - *from < PIECE)
        return;
    mem_discard(j->text.p + *from, j->at - *from);
    *from = j->at;
}

/* ---- typed helpers ---- */

bool json_enter_object(Json *j)
{
    JsonTag t = json_next(j);
    return t == J_OBJECT || expected(j, "an object", t);
}

bool json_enter_array(Json *j)
{
    JsonTag t = json_next(j);
    return t == J_ARRAY || expected(j, "an array", t);
}

bool json_key(Json *j, Str *key)
{
    JsonTag t = json_next(j);
    if (t == J_STRING && !j->key) {
        *key = json_string(j);
        return true;
    }
    return t == J_OBJECT_END ? false : expected(j, "a key", t);
}

bool json_more(Json *j)
{
    int c = after_space(j);
    if (!j->failed && c >= 0 && c != ']')
        return true;
    json_next(j);
    return false;
}

bool json_int(Json *j, int64_t *out)
{
    JsonTag t = json_next(j);
    if (t != J_INT)
        return expected(j, "an integer of 64 bits", t);
    *out = j->i;
    return true;
}

bool json_bool(Json *j, bool *out)
{
    JsonTag t = json_next(j);
    if (t != J_TRUE && t != J_FALSE)
        return expected(j, "true or false", t);
    *out = t == J_TRUE;
    return true;
}

bool json_float(Json *j, double *out)
{
    static const struct {
        const char *text;
        double v;
    } words[] = { { "NaN", NAN }, { "Infinity", INFINITY }, { "-Infinity", -INFINITY } };
    JsonTag t = json_next(j);
    *out = j->f;
    if (t == J_INT || t == J_FLOAT)
        return true;
    for (size_t i = 0; t == J_STRING && i < COUNT(words); i++)
        if (j->raw.n == strlen(words[i].text) && memcmp(j->raw.p, words[i].text, j->raw.n) == 0) {
            *out = words[i].v;
            return true;
        }
    return expected(j, "a number", t);
}

bool json_str(Json *j, Str *out)
{
    JsonTag t = json_next(j);
    if (t != J_STRING && t != J_NULL)
        return expected(j, "a string", t);
    *out = t == J_STRING ? json_string(j) : NULL;
    return true;
}

bool json_text(Json *j, Slice *out)
{
    Str s = NULL;
    JsonTag t = json_next(j);
    if (t != J_STRING && t != J_NULL)
        return expected(j, "a string", t);
    if (t == J_STRING && j->escaped)
        s = json_string(j);
    *out = (Slice){ 0 };
    if (s)
        *out = (Slice){ (const uint8_t *)s->s, s->len };
    else if (t == J_STRING)
        *out = j->raw;
    return true;
}
