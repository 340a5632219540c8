/* printable.c - text as a terminal may show it: what a file puts into a message moves no cursor,
 * sets no title, turns no letters around, and fills no screen. */
#include "base/internal.h"

/* The bytes of the character at s: 1 to 4; 0 when it is not UTF-8. *code: its number. */
static size_t utf8_char(const unsigned char *s, size_t n, uint32_t *code)
{
    static const struct {
        unsigned char mask, lead;
        size_t bytes;
        uint32_t least;
    } forms[] = { { 0x80, 0, 1, 0 },
                  { 0xe0, 0xc0, 2, 0x80 },
                  { 0xf0, 0xe0, 3, 0x800 },
                  { 0xf8, 0xf0, 4, 0x10000 } };
    for (size_t f = 0; f < COUNT(forms); f++) {
        if ((*s & forms[f].mask) != forms[f].lead)
            continue;
        *code = *s & (unsigned char)~forms[f].mask;
        for (size_t i = 1; i < forms[f].bytes; i++) {
            if (i >= n || (s[i] & 0xc0) != 0x80)
                return 0;
            *code = *code << 6 | (s[i] & 0x3f);
        }
        return *code >= forms[f].least && *code <= 0x10ffff ? forms[f].bytes : 0;
    }
    return 0;
}

/* Control characters of ASCII and of Unicode, and those that change the direction of writing. */
static bool is_control(uint32_t code)
{
    return (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7f && code < 0xa0) ||
        code == 0x061c || code == 0x200e || code == 0x200f || code == 0x2028 || code == 0x2029 ||
        (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

static void put_char(Buf *b, const char *s, size_t n, uint32_t code)
{
    if (n == 0)
        buf_fmt(b, "\\x%02x", *(const unsigned char *)s);
    else if (!is_control(code))
        buf_add(b, s, n);
    else
        buf_fmt(b, code < 0x100 ? "\\x%02x" : "\\u%04x", code);
}

/* The characters that JSON, or a terminal, does not take as they are. */
static void put_json_char(Buf *b, const char *s, size_t n, uint32_t code)
{
    if (n == 0)
        buf_fmt(b, "\\udc%02x", *(const unsigned char *)s);
    else if (code == '"' || code == '\\')
        buf_fmt(b, "\\%c", (char)code);
    else if (code < 0x20 || is_control(code))
        buf_fmt(b, "\\u%04x", code);
    else
        buf_add(b, s, n);
}

void buf_json(Buf *b, Str s)
{
    buf_str(b, "\"");
    for (size_t i = 0; i < s->len;) {
        uint32_t code = 0;
        size_t n = utf8_char((const unsigned char *)s->s + i, s->len - i, &code);
        put_json_char(b, s->s + i, n, code);
        i += n ? n : 1;
    }
    buf_str(b, "\"");
}

Str text_printable(Ctx *cx, Str s, size_t most)
{
    Buf b = buf_new(cx);
    size_t shown = 0;
    for (size_t i = 0; i < s->len;) {
        uint32_t code = 0;
        size_t n = utf8_char((const unsigned char *)s->s + i, s->len - i, &code);
        if (s->s[i] == '\n')
            shown = 0;
        else if (++shown == most + 1)
            buf_str(&b, " ...");
        if (shown <= most)
            put_char(&b, s->s + i, n, code);
        i += n ? n : 1;
    }
    return buf_done(&b);
}
