/* builtin_string.c - strings: bytes, ASCII only, in no locale. Where TorchScript differs from
 * Python, TorchScript is followed. */
#include <math.h>

#include "eval/builtin/builtin.h"

/* ---- characters ---- */

static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
static bool is_alpha(char c) { return is_upper(c) || is_lower(c); }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_alnum(char c) { return is_alpha(c) || is_digit(c); }
static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool is_print(char c) { return c >= ' ' && c < 0x7f; }
static char to_upper(char c) { return is_lower(c) ? (char)(c - 32) : c; }
static char to_lower(char c) { return is_upper(c) ? (char)(c + 32) : c; }

/* Most of what follows looks at each character. */
static Str text_of(const Builtin *b, size_t i)
{
    count_numbers(b->cx, b->arg[i].v.s->len);
    return b->arg[i].v.s;
}

static Value piece(Builtin *b, const char *s, int64_t n)
{
    return val_str(str_n(b->cx, s, n > 0 ? (size_t)n : 0));
}

/* ---- case ---- */

typedef enum { CASE_UPPER, CASE_LOWER, CASE_SWAP, CASE_CAPITALIZE, CASE_TITLE } Case;

/* upper, lower and swapcase change ASCII letters alone, as in TorchScript. */
static bool change_case(Builtin *b, Value *out)
{
    Str s = text_of(b, 0);
    Buf made = buf_new(b->cx);
    bool in_word = false;
    for (uint32_t i = 0; i < s->len; i++) {
        char c = s->s[i];
        switch ((Case)b->row->datum) {
        case CASE_UPPER:      c = to_upper(c); break;
        case CASE_LOWER:      c = to_lower(c); break;
        case CASE_SWAP:       c = is_upper(c) ? to_lower(c) : to_upper(c); break;
        case CASE_CAPITALIZE: c = i == 0 ? to_upper(c) : to_lower(c); break;
        case CASE_TITLE:      c = in_word ? to_lower(c) : to_upper(c); break;
        }
        in_word = is_alpha(s->s[i]);
        buf_add(&made, &c, 1);
    }
    *out = val_str(buf_done(&made));
    return true;
}

/* ---- tests ---- */

typedef enum { TEST_DIGIT, TEST_ALPHA, TEST_ALNUM, TEST_SPACE, TEST_PRINT } CharTest;

/* isalpha and the like: holds the test for every character, and is there one? isprintable() of
 * an empty string is True. */
static bool all_are(Builtin *b, Value *out)
{
    static bool (*const tests[])(char) = { is_digit, is_alpha, is_alnum, is_space, is_print };
    Str s = text_of(b, 0);
    bool all = s->len > 0 || b->row->datum == TEST_PRINT;
    for (uint32_t i = 0; i < s->len && all; i++)
        all = tests[b->row->datum](s->s[i]);
    *out = val_bool(all);
    return true;
}

/* At least one letter, and none of the other case (datum: upper). */
static bool one_case(Builtin *b, Value *out)
{
    Str s = text_of(b, 0);
    bool any = false;
    bool other = false;
    for (uint32_t i = 0; i < s->len; i++) {
        any = any || is_alpha(s->s[i]);
        other = other || (b->row->datum ? is_lower(s->s[i]) : is_upper(s->s[i]));
    }
    *out = val_bool(any && !other);
    return true;
}

/* Upper case begins words, lower case continues them. */
static bool is_title(Builtin *b, Value *out)
{
    Str s = text_of(b, 0);
    bool any = false;
    bool good = true;
    bool in_word = false;
    for (uint32_t i = 0; i < s->len && good; i++) {
        char c = s->s[i];
        good = !is_alpha(c) || is_upper(c) != in_word;
        in_word = is_alpha(c);
        any = any || in_word;
    }
    *out = val_bool(any && good);
    return true;
}

/* A letter, then letters and digits: the underscore is none. */
static bool is_identifier(Builtin *b, Value *out)
{
    Str s = text_of(b, 0);
    bool good = s->len > 0 && is_alpha(s->s[0]);
    for (uint32_t i = 0; i < s->len && good; i++)
        good = is_alnum(s->s[i]);
    *out = val_bool(good);
    return true;
}

/* ---- stripping, padding ---- */

typedef enum { SIDE_LEFT = 1, SIDE_RIGHT = 2, SIDE_BOTH = 3 } Side;

static bool strip(Builtin *b, Value *out)
{
    Str s = text_of(b, 0);
    Str set = missing(b, 1) ? str_of(b->cx, " \n\t\f\v") : text_of(b, 1);
    bool goes[UINT8_MAX + 1] = { false };
    int64_t from = 0;
    int64_t to = s->len;
    for (uint32_t i = 0; i < set->len; i++)
        goes[(uint8_t)set->s[i]] = true;
    while (b->row->datum & SIDE_LEFT && from < to && goes[(uint8_t)s->s[from]])
        from++;
    while (b->row->datum & SIDE_RIGHT && to > from && goes[(uint8_t)s->s[to - 1]])
        to--;
    *out = piece(b, s->s + from, to - from);
    return true;
}

static bool too_wide(Builtin *b, int64_t width)
{
    return width > 0 && !limit_ok(b->cx, LIMIT_TEXT, (uint64_t)width, "bytes in a string");
}

/* ljust, rjust, center (datum: where the text's room is), zfill (text set). */
static bool pad(Builtin *b, Value *out)
{
    Str s = text_of(b, 0);
    bool zeros = b->row->text != NULL;
    int64_t width = b->arg[1].v.i;
    int64_t room = width > (int64_t)s->len ? width - s->len : 0;
    int64_t left = 0;
    if (!zeros && !missing(b, 2) && text_of(b, 2)->len != 1)
        return builtin_fail(b, "the fill character must be one character");
    if (too_wide(b, width))
        return false;
    char fill = zeros ? '0' : ' ';
    if (!zeros && !missing(b, 2))
        fill = text_of(b, 2)->s[0];
    if (b->row->datum == SIDE_LEFT)
        left = room;
    else if (b->row->datum == SIDE_BOTH)
        left = (room + width % 2) /
            2; /* of an odd number of blanks the left side gets one more when the width is odd */
    Buf made = buf_new(b->cx);
    buf_fill(&made, fill, (size_t)left);
    buf_add(&made, s->s, s->len);
    buf_fill(&made, fill, (size_t)(room - left));
    *out = val_str(buf_done(&made));
    return true;
}

/* A tab becomes blanks up to the next column that `size` divides; a line end starts at column 0. */
static bool expand_tabs(Builtin *b, Value *out)
{
    Str s = text_of(b, 0);
    int64_t size = int_or(b, 1, 8);
    int64_t column = 0;
    int64_t total;
    if (!mul_ok(size > 0 ? size : 0, s->len, &total) || too_wide(b, total))
        return !ctx_failed(b->cx) && builtin_fail(b, "a tab of %lld columns", (long long)size);
    Buf made = buf_new(b->cx);
    for (uint32_t i = 0; i < s->len; i++) {
        if (s->s[i] == '\t') {
            int64_t n = size > 0 ? size - column % size : 0;
            buf_fill(&made, ' ', (size_t)n);
            column += n;
            continue;
        }
        buf_add(&made, &s->s[i], 1);
        column = s->s[i] == '\n' || s->s[i] == '\r' ? 0 : column + 1;
    }
    *out = val_str(buf_done(&made));
    return true;
}

/* ---- splitting ---- */

static List *text_list(Builtin *b, Value *out)
{
    *out = (Value){ .tag = V_LIST, .list = list_new(b->cx, 4, str_of(b->cx, "str")) };
    return out->list;
}

static bool stands_at(Ctx *cx, const char *s, Str sub)
{
    if (sub->len > 0 && *s != sub->s[0])
        return false;
    count_numbers(cx, sub->len);
    return memcmp(s, sub->s, sub->len) == 0;
}

static int64_t find_in(Ctx *cx, const char *s, int64_t from, int64_t to, Str sub)
{
    for (int64_t i = from; i <= to - (int64_t)sub->len; i++)
        if (stands_at(cx, s + i, sub))
            return i;
    return -1;
}

static int64_t rfind_in(Ctx *cx, const char *s, int64_t from, int64_t to, Str sub)
{
    for (int64_t i = to - sub->len; i >= from; i--)
        if (stands_at(cx, s + i, sub))
            return i;
    return -1;
}

static bool split_at_blanks(Builtin *b, Value *out)
{
    Str s = text_of(b, 0);
    List *l = text_list(b, out);
    for (uint32_t i = 0; i < s->len;) {
        uint32_t from = i;
        while (i < s->len && !is_space(s->s[i]))
            i++;
        if (i > from)
            list_append(b->cx, l, piece(b, s->s + from, i - from));
        while (i < s->len && is_space(s->s[i]))
            i++;
    }
    return true;
}

/* s.split(sep, most); without sep at blanks. */
static bool split(Builtin *b, Value *out)
{
    if (missing(b, 1))
        return split_at_blanks(b, out);
    Str s = text_of(b, 0);
    Str sep = text_of(b, 1);
    int64_t most = int_or(b, 2, -1);
    int64_t from = 0;
    List *l = text_list(b, out);
    if (sep->len == 0)
        return builtin_fail(b, "split() at an empty separator");
    for (int64_t n = 0; most < 0 || n < most; n++) {
        int64_t at = find_in(b->cx, s->s, from, s->len, sep);
        if (at < 0)
            break;
        list_append(b->cx, l, piece(b, s->s + from, at - from));
        from = at + sep->len;
    }
    list_append(b->cx, l, piece(b, s->s + from, s->len - from));
    return true;
}

/* s.rsplit(sep, most): the parts are found from the end. */
static bool rsplit(Builtin *b, Value *out)
{
    Str s = text_of(b, 0);
    Str sep = missing(b, 1) ? str_of(b->cx, " ") : text_of(b, 1);
    int64_t most = int_or(b, 2, -1);
    int64_t to = s->len;
    VEC(Value) parts = { 0 };
    if (sep->len == 0)
        return builtin_fail(b, "rsplit() at an empty separator");
    for (int64_t n = 0; most < 0 || n < most; n++) {
        int64_t at = rfind_in(b->cx, s->s, 0, to, sep);
        if (at < 0)
            break;
        vec_push(b->cx, &parts, piece(b, s->s + at + sep->len, to - at - sep->len));
        to = at;
    }
    List *l = text_list(b, out);
    list_append(b->cx, l, piece(b, s->s, to));
    while (parts.n > 0)
        list_append(b->cx, l, parts.at[--parts.n]);
    return true;
}

/* CR and LF each end a line; keepends keeps them as items of their own. */
static bool split_lines(Builtin *b, Value *out)
{
    Str s = text_of(b, 0);
    bool keep = !missing(b, 1) && b->arg[1].v.b;
    List *l = text_list(b, out);
    uint32_t from = 0;
    for (uint32_t i = 0; i < s->len; i++)
        if (s->s[i] == '\n' || s->s[i] == '\r') {
            list_append(b->cx, l, piece(b, s->s + from, i - from));
            if (keep)
                list_append(b->cx, l, piece(b, s->s + i, 1));
            from = i + 1;
        }
    if (from < s->len)
        list_append(b->cx, l, piece(b, s->s + from, s->len - from));
    return true;
}

static bool partition(Builtin *b, Value *out)
{
    Str s = text_of(b, 0);
    Str sep = text_of(b, 1);
    bool last = b->row->datum;
    int64_t at = last ? rfind_in(b->cx, s->s, 0, s->len, sep)
                      : find_in(b->cx, s->s, 0, s->len, sep);
    Value empty = piece(b, "", 0);
    Value parts[3] = { empty, empty, empty };
    parts[last ? 2 : 0] = val_str(s);
    if (at >= 0) {
        parts[0] = piece(b, s->s, at);
        parts[1] = val_str(sep);
        parts[2] = piece(b, s->s + at + sep->len, s->len - at - sep->len);
    }
    *out = val_tuple(b->cx, parts, 3);
    return true;
}

/* ---- searching ---- */

/* A position that counts from `n` when it is negative, and is 0 at least. */
static int64_t from_end(int64_t i, int64_t n)
{
    if (i < 0)
        i += n;
    return i < 0 ? 0 : i;
}

/* [start, end) of find and its like: negative counts from the end, where an end of -1 is the end
 * itself. In a window that ends before it starts, PyTorch finds only the empty string, and that
 * behind the text too. */
static void window(const Builtin *b, int64_t *from, int64_t *to)
{
    int64_t n = text_of(b, 0)->len;
    int64_t end = from_end(int_or(b, 3, -1), n + 1);
    *from = from_end(int_or(b, 2, 0), n);
    *to = end > n ? n : end;
}

typedef enum { FIND, RFIND, INDEX, RINDEX } Search;

static bool search(Builtin *b, Value *out)
{
    int64_t from, to;
    bool back = b->row->datum == RFIND || b->row->datum == RINDEX;
    bool required = b->row->datum >= INDEX;
    window(b, &from, &to);
    Str s = text_of(b, 0);
    Str sub = text_of(b, 1);
    int64_t at = back ? rfind_in(b->cx, s->s, from, to, sub) : find_in(b->cx, s->s, from, to, sub);
    if (to < from && sub->len == 0)
        at = from;
    if (at < 0 && required)
        return builtin_fail(b, "'%s' has no '%s' in it", s->s, sub->s);
    *out = val_int(at);
    return true;
}

static bool count_text(Builtin *b, Value *out)
{
    int64_t from, to, n = 0;
    Str s = text_of(b, 0);
    Str sub = text_of(b, 1);
    if (sub->len == 0)
        return builtin_fail(b, "count() of an empty string never ends in PyTorch");
    window(b, &from, &to);
    for (;; n++) {
        int64_t at = find_in(b->cx, s->s, from, to, sub);
        if (at < 0)
            break;
        from = at + sub->len;
    }
    *out = val_int(n);
    return true;
}

/* startswith, endswith (datum) */
static bool begins(Builtin *b, Value *out)
{
    int64_t from, to;
    Str s = text_of(b, 0);
    Str sub = text_of(b, 1);
    window(b, &from, &to);
    if (from > s->len)
        return builtin_fail(b, "%lld is behind the end of '%s'", (long long)from, s->s);
    if (to < from)
        to = s->len;
    bool fits = to - from >= (int64_t)sub->len;
    *out = val_bool(fits &&
                    !memcmp(s->s + (b->row->datum ? to - sub->len : from), sub->s, sub->len));
    return true;
}

static bool contains_text(Builtin *b, Value *out)
{
    Str s = text_of(b, 0);
    *out = val_bool(find_in(b->cx, s->s, 0, s->len, text_of(b, 1)) >= 0);
    return true;
}

/* s.replace(old, by, most); the result is bounded by --limit text. */
static bool replace(Builtin *b, Value *out)
{
    Str s = text_of(b, 0);
    Str old = text_of(b, 1);
    Str by = text_of(b, 2);
    int64_t most = int_or(b, 3, -1);
    int64_t from = 0;
    if (old->len == 0)
        return builtin_fail(b, "replace() of an empty string never ends in PyTorch");
    Buf made = buf_new(b->cx);
    for (int64_t n = 0; most < 0 || n < most; n++) {
        int64_t at = find_in(b->cx, s->s, from, s->len, old);
        if (at < 0)
            break;
        buf_add(&made, s->s + from, (size_t)(at - from));
        buf_add(&made, by->s, by->len);
        from = at + old->len;
        if (!limit_ok(b->cx, LIMIT_TEXT, made.n, "bytes in a string"))
            return false;
    }
    buf_add(&made, s->s + from, s->len - (size_t)from);
    *out = val_str(buf_done(&made));
    return true;
}

/* ---- joining, single characters ---- */

static bool concat(Builtin *b, Value *out)
{
    Buf made = buf_new(b->cx);
    if (!limit_ok(b->cx, LIMIT_TEXT, (uint64_t)text_of(b, 0)->len + text_of(b, 1)->len,
                  "bytes in a string"))
        return false;
    buf_add(&made, text_of(b, 0)->s, text_of(b, 0)->len);
    buf_add(&made, text_of(b, 1)->s, text_of(b, 1)->len);
    *out = val_str(buf_done(&made));
    return true;
}

static bool join(Builtin *b, Value *out)
{
    const List *l = b->arg[1].v.list;
    Buf made = buf_new(b->cx);
    for (int64_t i = 0; i < l->n; i++) {
        if (l->at[i].v.tag != V_STR)
            return builtin_fail(b, "join() of a list with %s in it", val_kind(l->at[i].v));
        if (i)
            buf_add(&made, text_of(b, 0)->s, text_of(b, 0)->len);
        buf_add(&made, l->at[i].v.s->s, l->at[i].v.s->len);
        if (!limit_ok(b->cx, LIMIT_TEXT, made.n, "bytes in a string"))
            return false;
    }
    *out = val_str(buf_done(&made));
    return true;
}

static bool char_at(Builtin *b, Value *out)
{
    Str s = text_of(b, 0);
    int64_t i = b->arg[1].v.i;
    i = i < 0 ? i + s->len : i;
    if (i < 0 || i >= s->len)
        return builtin_fail(b, "string index %lld is out of range for length %u",
                            (long long)b->arg[1].v.i, s->len);
    *out = piece(b, &s->s[i], 1);
    return true;
}

static bool ord(Builtin *b, Value *out)
{
    if (text_of(b, 0)->len != 1)
        return builtin_fail(b, "ord() expects one character, got %u", text_of(b, 0)->len);
    *out = val_int((unsigned char)text_of(b, 0)->s[0]);
    return true;
}

static bool chr(Builtin *b, Value *out)
{
    int64_t i = b->arg[0].v.i;
    char c = (char)(unsigned char)i;
    if (i < 0)
        return builtin_fail(b, "chr() of %lld", (long long)i);
    *out = piece(b, &c, 1);
    return true;
}

/* hex, oct, bin: datum is the base */
static bool radix(Builtin *b, Value *out)
{
    int64_t v = b->arg[0].v.i;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    uint64_t base = (uint64_t)b->row->datum;
    char digits[80];
    size_t at = sizeof digits;
    do {
        digits[--at] = "0123456789abcdef"[u % base];
        u /= base;
    } while (u > 0);
    *out = val_str(str_fmt(b->cx, "%s0%s%.*s", v < 0 ? "-" : "", b->row->text,
                           (int)(sizeof digits - at), digits + at));
    return true;
}

/* ---- formatting ---- */

/* Only a literal {} is replaced, in order. */
static bool format(Builtin *b, Value *out)
{
    Str s = text_of(b, 0);
    Buf made = buf_new(b->cx);
    size_t used = 1;
    for (uint32_t i = 0; i < s->len; i++) {
        if (s->s[i] != '{' || i + 1 >= s->len || s->s[i + 1] != '}') {
            buf_add(&made, &s->s[i], 1);
            continue;
        }
        if (used >= b->n)
            return builtin_fail(b, "format() has more {} than arguments");
        Str text = val_text(b->cx, b->arg[used++].v);
        buf_add(&made, text->s, text->len);
        i++;
    }
    *out = val_str(buf_done(&made));
    return true;
}

/* f as %d shows it, which in PyTorch is an int of 32 bits: the least one where f is none. */
static int32_t int_of_float(double f)
{
    return f > -0x1p31 - 1 && f < 0x1p31 ? (int32_t)f : INT32_MIN;
}

static bool percent_number(Builtin *b, Buf *made, char c, Value v)
{
    char fmt[] = { '%', c, 0 };
    if (v.tag == V_SYMINT || v.tag == V_SYMFLOAT) { /* in a message: val_staged_text */
        buf_str(made, val_text(b->cx, v)->s);
        return true;
    }
    if (v.tag != V_INT && v.tag != V_FLOAT)
        return builtin_fail(b, "%%%c takes a number, got %s", c, val_kind(v));
    if (c == 'd' || c == 'i')
        buf_fmt(made, "%lld", v.tag == V_INT ? (long long)v.i : int_of_float(v.f));
    else /* PyTorch goes through a float of 32 bits */
        float_print(made, fmt, (double)(float)real_of(v));
    return true;
}

/* Appends v as the conversion %c says. */
static bool percent_one(Builtin *b, Buf *made, char c, Value v)
{
    Str text;
    switch (c) {
    case 'd':
    case 'i':
    case 'e':
    case 'E':
    case 'f':
    case 'F': return percent_number(b, made, c, v);
    case 'c':
        if (v.tag == V_INT)
            buf_add(made, &(char){ (char)v.i }, 1);
        else if (v.tag == V_STR && v.s->len == 1)
            buf_add(made, v.s->s, 1);
        else
            return builtin_fail(b, "%%c takes one character");
        return true;
    case 's':
        text = val_text(b->cx, v);
        buf_add(made, text->s, text->len);
        return true;
    default: return builtin_fail(b, "the format %%%c is none of TorchScript's", c);
    }
}

/* format % args: %% is a percent sign, every other conversion takes the next argument. */
static bool percent_format(Builtin *b, Value *out)
{
    Str s = text_of(b, 0);
    Value args = b->arg[1].v;
    int64_t n = args.tag == V_TUPLE ? args.tuple->n : 1;
    int64_t used = 0;
    Buf made = buf_new(b->cx);
    for (uint32_t i = 0; i < s->len; i++) {
        if (s->s[i] != '%') {
            buf_add(&made, &s->s[i], 1);
            continue;
        }
        char c = ++i < s->len ? s->s[i] : 0;
        if (c == '%') {
            buf_add(&made, "%", 1);
            continue;
        }
        if (used >= n)
            return builtin_fail(b, "the format has more places than there are values");
        if (!percent_one(b, &made, c, args.tag == V_TUPLE ? args.tuple->at[used] : args))
            return false;
        used++;
    }
    if (used < n)
        return builtin_fail(b, "the format has fewer places than there are values");
    *out = val_str(buf_done(&made));
    return true;
}

#define TEXT(word, k, f)           { .name = "aten::" word, .kinds = k, .fn = f }
#define TEXT_FAMILY(word, k, f, d) { .name = "aten::" word, .kinds = k, .fn = f, .datum = d }

const BuiltinRow builtin_strings[] = {
    TEXT_FAMILY("upper", "s", change_case, CASE_UPPER),
    TEXT_FAMILY("lower", "s", change_case, CASE_LOWER),
    TEXT_FAMILY("swapcase", "s", change_case, CASE_SWAP),
    TEXT_FAMILY("capitalize", "s", change_case, CASE_CAPITALIZE),
    TEXT_FAMILY("title", "s", change_case, CASE_TITLE),
    TEXT_FAMILY("isdigit", "s", all_are, TEST_DIGIT),
    TEXT_FAMILY("isdecimal", "s", all_are, TEST_DIGIT),
    TEXT_FAMILY("isnumeric", "s", all_are, TEST_DIGIT),
    TEXT_FAMILY("isalpha", "s", all_are, TEST_ALPHA),
    TEXT_FAMILY("isalnum", "s", all_are, TEST_ALNUM),
    TEXT_FAMILY("isspace", "s", all_are, TEST_SPACE),
    TEXT_FAMILY("isprintable", "s", all_are, TEST_PRINT),
    TEXT_FAMILY("isupper", "s", one_case, 1),
    TEXT_FAMILY("islower", "s", one_case, 0),
    TEXT("istitle", "s", is_title),
    TEXT("isidentifier", "s", is_identifier),
    TEXT_FAMILY("strip", "s|s", strip, SIDE_BOTH),
    TEXT_FAMILY("lstrip", "s|s", strip, SIDE_LEFT),
    TEXT_FAMILY("rstrip", "s|s", strip, SIDE_RIGHT),
    TEXT_FAMILY("center", "sI|s", pad, SIDE_BOTH),
    TEXT_FAMILY("ljust", "sI|s", pad, SIDE_RIGHT),
    TEXT_FAMILY("rjust", "sI|s", pad, SIDE_LEFT),
    { .name = "aten::zfill", .kinds = "sI", .fn = pad, .datum = SIDE_LEFT, .text = "0" },
    TEXT("expandtabs", "s|I", expand_tabs),
    TEXT("split", "s|s?I", split),
    TEXT("rsplit", "s|sI", rsplit),
    TEXT("splitlines", "s|B", split_lines),
    TEXT_FAMILY("partition", "ss", partition, 0),
    TEXT_FAMILY("rpartition", "ss", partition, 1),
    TEXT_FAMILY("find", "ss|II", search, FIND),
    TEXT_FAMILY("rfind", "ss|II", search, RFIND),
    TEXT_FAMILY("index", "ss|II", search, INDEX),
    TEXT_FAMILY("rindex", "ss|II", search, RINDEX),
    TEXT("count", "ss|II", count_text),
    TEXT_FAMILY("startswith", "ss|II", begins, 0),
    TEXT_FAMILY("endswith", "ss|II", begins, 1),
    TEXT("__contains__", "ss", contains_text),
    TEXT("replace", "sss|I", replace),
    TEXT("add", "ss", concat),
    TEXT("join", "sl", join),
    TEXT("__getitem__", "sI", char_at),
    TEXT("select", "sI", char_at),
    TEXT("ord", "s", ord),
    TEXT("chr", "I", chr),
    { .name = "aten::hex", .kinds = "I", .fn = radix, .datum = 16, .text = "x" },
    { .name = "aten::oct", .kinds = "I", .fn = radix, .datum = 8, .text = "o" },
    { .name = "aten::bin", .kinds = "I", .fn = radix, .datum = 2, .text = "b" },
    { .name = "aten::format", .kinds = "s+", .fn = format },
    TEXT("percentFormat", "s*", percent_format),
    { 0 }
};
