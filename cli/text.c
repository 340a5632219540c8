/* text.c - see text.h. */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool make_room(Text *t, size_t n)
{
    if (t->failed)
        return false;
    if (t->n + n <= t->room)
        return true;
    size_t room = 2 * (t->n + n);
    char *s = realloc(t->s, room);
    if (!s) {
        t->failed = true;
        return false;
    }
    t->s = s;
    t->room = room;
    return true;
}

void text_add(Text *t, const char *s, size_t n)
{
    if (n == 0 || !make_room(t, n))
        return;
    memcpy(t->s + t->n, s, n);
    t->n += n;
}

void text_put(Text *t, const char *s) { text_add(t, s, strlen(s)); }

void text_fmt(Text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0 || !make_room(t, (size_t)n + 1))
        return;
    va_start(args, format);
    vsnprintf(t->s + t->n, (size_t)n + 1, format, args);
    va_end(args);
    t->n += (size_t)n;
}

/* How many bytes of the character of UTF-8 at s there are; 0 where there is none: a byte in the
 * wrong place, a longer form than needed, half of a surrogate pair, a number beyond the last. */
static size_t utf8_length(const unsigned char *s)
{
    static const unsigned least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    size_t n = 2 + (size_t)(s[0] >= 0xe0) + (size_t)(s[0] >= 0xf0);
    unsigned code = s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (s[i] & 0x3f);
    }
    bool surrogate = code >= 0xd800 && code < 0xe000;
    return code < least[n] || surrogate || code > 0x10ffff ? 0 : n;
}

/* JSON wants quotes, backslashes and control characters escaped; the rest may stand as it is. */
void text_json(Text *t, const char *s)
{
    if (!s) {
        text_put(t, "null");
        return;
    }
    const unsigned char *at = (const unsigned char *)s;
    text_put(t, "\"");
    while (*at) {
        size_t n = utf8_length(at);
        if (n == 0)
            text_fmt(t, "\\udc%02x", *at);
        else if (*at == '"' || *at == '\\')
            text_fmt(t, "\\%c", *at);
        else if (*at == '\n')
            text_put(t, "\\n");
        else if (*at < 0x20)
            text_fmt(t, "\\u%04x", *at);
        else
            text_add(t, (const char *)at, n);
        at += n ? n : 1;
    }
    text_put(t, "\"");
}

void text_free(Text *t)
{
    free(t->s);
    *t = (Text){ 0 };
}
