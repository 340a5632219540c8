/* internal.h - what the passes share: who uses a value, and putting one value in another's place.
 *
 * Passes look at nodes in order and note replacements; one sweep applies them all. So every pass is linear. */
#ifndef PT2ONNX_TIDY_INTERNAL_H
#define PT2ONNX_TIDY_INTERNAL_H

#include "tidy/tidy.h"

/* By value id. Subgraphs count as users of what they read from outside. */
typedef struct Uses {
    uint32_t *count;                /* inputs of living nodes, and graph outputs */
    bool *is_output;                /* of any graph */
    uint32_t n;                     /* ids below this are known */
} Uses;
bool uses_count(Graph *root, Uses *u);
static inline uint32_t uses_of(const Uses *u, Ox v) { return v && v->id < u->n ? u->count[v->id] : 0; }
static inline bool is_output(const Uses *u, Ox v) { return v && v->id < u->n && u->is_output[v->id]; }

/* Call fn for every living node, outer graphs first in order, a subgraph's nodes where its node stands. */
bool each_node(Graph *g, bool (*fn)(Node *n, void *arg), void *arg);

/* Values to put in others' places. A value that a graph returns keeps its node unless `with` is a node's result in the
 * same graph that nobody returns: outputs need a name of their own. */
typedef struct Replacements { Map with; Uses uses; } Replacements;
void replace(Graph *g, Replacements *r, Ox old, Ox with);
bool can_replace(const Replacements *r, Ox old, Ox with);
/* What stands in v's place by now. */
Ox replaced(const Replacements *r, Ox v);
bool replacements_apply(Graph *root, Replacements *r);

bool pass_materialise_dims(Graph *g, const TidyOptions *o);
bool pass_drop_identities(Graph *g, const TidyOptions *o);
bool pass_join_transposes(Graph *g, const TidyOptions *o);
bool pass_join_reshapes(Graph *g, const TidyOptions *o);
bool pass_fuse_conv_bn(Graph *g, const TidyOptions *o);
bool pass_fuse_gemm(Graph *g, const TidyOptions *o);
bool pass_fold_weights(Graph *g, const TidyOptions *o);
bool pass_drop_dead(Graph *g, const TidyOptions *o);

/* weights.c: the result of node n (all inputs constant) as a constant that is computed when the file is written. NULL: cannot. */
Ox weight_result(Node *n, int out, Str name);
/* v, made just now by ox(..) over constants, as such a constant; its node leaves the graph. v itself when it is none. */
Ox weight_now(Graph *g, Ox v, Str name);

#endif
