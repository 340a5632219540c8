/* word.c - the known word that is nearest to a misspelt one. */
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
