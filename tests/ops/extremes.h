/* extremes.h - the calls that a call becomes when one of its arguments is an extreme: the least
 * and the greatest integers, numbers that are none, sizes of 0 and of 2^62, a list that is empty.
 */
#ifndef EXTREMES_H
#define EXTREMES_H

#include <stddef.h>

/* Gives `each` the text of every such call, in the same order each time; the text is gone after
 * it. */
void extremes_of(const char *call, void (*each)(void *user, const char *text), void *user);

/* The call with a name for every size of an input above 1, the same for the same number: f32[2,3]
 * is f32[D2,D3]. Not of constants. Given to free(). */
char *with_open_sizes(const char *call);

#endif
