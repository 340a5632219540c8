/* weight_groups.h - what several nodes make of a weight, judged together (weight_groups.c). */
#ifndef PT2ONNX_TIDY_WEIGHT_GROUPS_H
#define PT2ONNX_TIDY_WEIGHT_GROUPS_H

#include "tidy/internal.h"

/* What it takes to have a value as a constant. */
typedef struct Cost {
    Ox value;             /* the constant; NULL: not made yet */
    uint64_t freed, work; /* bytes of weights no longer needed; elements to compute */
    uint64_t paths;       /* the same, as often as it is read, from what is kept on */
    int nodes;            /* nodes no longer needed */
    int depth;            /* nodes one behind the other */
    bool shared;          /* a weight of which it is made has other uses */
    bool repeats;         /* one number, as often as its shape says */
} Cost;

/* The most elements that are computed for a weight, and for each group. */
enum { MOST_WORK = 1 << 26 };

/* costs: the Cost of each value that could be a constant and is not, because it would not pay by
 * itself. g has no dead nodes. */
MUST_USE bool fold_groups(Graph *g, const TidyOptions *o, const Map *costs);

#endif
