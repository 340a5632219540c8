/* word.c - the known word that is nearest to a misspelt one; patterns of words. */
#include "base/base.h"

/* Row by row of the usual table, kept in one array: row[j] is the distance of a's first i letters
 * from b's first j, corner the entry above and left of it. */
size_t word_distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t row[64];
    if (na >= COUNT(row) || nb >= COUNT(row))
        return SIZE_MAX;
    for (size_t j = 0; j <= nb; j++)
        row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t best = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            row[j] = best;
        }
    }
    return row[nb];
}

const char *word_nearest(const char *word, size_t n, const char *const *words)
{
    const char *best = NULL;
    size_t least = n / 2 + 1; /* at most half of the word may differ */
    for (; *words; words++) {
        size_t d = word_distance(word, n, *words, strlen(*words));
        if (d < least) {
            least = d;
            best = *words;
        }
    }
    return best;
}

/* ---- patterns ---- */

/* One byte of a pattern, \x without its backslash. */
static char take_literal(const char **p)
{
    if (**p == '\\' && (*p)[1])
        ++*p;
    return *(*p)++;
}

/* Has the class behind its bracket, "a-z]" or "!a-z]", this byte? *end: behind its other bracket;
 * NULL: it has none, and the first is a byte like others. A ] that comes first is one of its bytes.
 */
static bool class_has(const char *p, char c, const char **end)
{
    bool negated = *p == '!' || *p == '^';
    bool has = false;
    p += negated;
    for (bool first = true; *p && (*p != ']' || first); first = false) {
        unsigned char from = (unsigned char)take_literal(&p);
        unsigned char to = from;
        if (*p == '-' && p[1] && p[1] != ']') {
            p++;
            to = (unsigned char)take_literal(&p);
        }
        has = has || (from <= (unsigned char)c && (unsigned char)c <= to);
    }
    *end = *p ? p + 1 : NULL;
    return has != negated;
}

/* The pattern behind the one byte that c is to be, or NULL where c is another. */
static const char *match_one(const char *p, char c)
{
    const char *end = NULL;
    if (*p == '?')
        return p + 1;
    bool has = *p == '[' && class_has(p + 1, c, &end);
    if (end)
        return has ? end : NULL;
    return take_literal(&p) == c ? p : NULL;
}

/* A * that takes too little is given one byte more; only the last one seen needs to be. */
bool word_matches(const char *pattern, const char *text)
{
    const char *star = NULL;
    const char *taken = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = ++pattern;
            taken = text;
            continue;
        }
        const char *next = *pattern ? match_one(pattern, *text) : NULL;
        if (!next && !star)
            return false;
        pattern = next ? next : star;
        text = next ? text + 1 : ++taken;
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}
