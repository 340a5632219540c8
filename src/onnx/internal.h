/* internal.h - what only the files of src/onnx share: the generated facts, inputs and errors of
 * a node, what was made already, constants in memory, and values and nodes below the public
 * calls. */
#ifndef PT2ONNX_ONNX_INTERNAL_H
#define PT2ONNX_ONNX_INTERNAL_H

#include "onnx/edit.h"

/* ---- the generated facts (optable_data.c), sorted by name ---- */

/* An OpVersion by numbers: where its inputs, outputs, attributes and types begin. Nothing here has
 * an address in it, which would have to be relocated at start. */
typedef struct VersionFacts {
    uint8_t since;
    bool deprecated;
    uint8_t min_in, max_in, min_out, max_out;
    uint8_t n_in, n_out, n_attr, n_type;
    uint16_t in, out, attr, type;
} VersionFacts;
typedef struct OpFacts {
    char name[32];
    uint16_t version, n_version; /* oldest first */
} OpFacts;
extern const FormalArg onnx_args[];
extern const FormalAttr onnx_attrs[];
extern const FormalType onnx_types[];
extern const VersionFacts onnx_versions[];
extern const OpFacts onnx_facts[];
extern const int onnx_facts_count;

/* ---- inputs and errors of a node ---- */

static inline Ctx *node_cx(const Node *n) { return n->graph->cx; }

/* Input i, or NULL when it is not there (trailing or left out). Inputs are never POISON here:
 * ox_make has looked. */
static inline Ox node_in(const Node *n, int i) { return i < n->n_in ? n->in[i] : NULL; }

/* Input i's contents as plain numbers; false when it is not there or an item is not known. Any
 * integer or bool constant of up to FOLD_NUMEL elements too. */
bool node_in_ints(const Node *n, int i, const int64_t **out, int64_t *count);

/* Set the message "OP: ..." and return false: what an inference function returns when the inputs
 * cannot be right. */
#define node_fail(n, ...) node_fail_here((n), __FILE__, __LINE__, __VA_ARGS__)
bool node_fail_here(const Node *n, const char *file, int line, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* ---- what was made already (share.c) ---- */

typedef enum { SHARED_NODE, SHARED_CONST, SHARED_DIMS } SharedKind;
typedef struct Shared {
    uint32_t hash;
    SharedKind kind;
    void *what;
} Shared;
void share(Graph *g, Shared e);
/* The next entry of that hash and kind from slot *at on; NULL at the end. Start with *at = hash. */
void *next_shared(const struct Share *both, uint32_t hash, SharedKind kind, size_t *at);
/* Where the root's value of this weight is noted, for the caller to fill in if it is NULL. NULL
 * without memory. */
Ox *shared_weight(Graph *root, const Const *k);
/* Is an equal node as good as n? */
bool node_sharable(const Node *n);

/* ---- constants in memory ---- */

typedef struct Data {
    DType dtype;
    int rank;
    const int64_t *dims;
    int64_t numel;
    void *at;
} Data; /* contiguous elements in memory */
/* A Data over k: reads the whole. For small constants, and in recipes. */
MUST_USE bool const_to_data(Ctx *cx, const Const *k, Data *out);
/* Is the element at p zero? (-0.0 is) Whole-byte types only. */
bool item_is_zero(DType t, const uint8_t *p);

/* ---- values and nodes below the public calls ---- */

/* A fresh value without a definition: graph.c numbers it. */
Ox ox_new(Graph *g, OxKind kind, Type t);
/* An OX_DIMS value, or OX_CONST when all items are known. rank 0 or 1; dtype int64 or int32. */
Ox ox_of_items(Graph *g, DType t, int rank, const Dim *items, int64_t n);
/* A node even where contents or folding would need none: what dims_to_nodes is made of. Shared as
 * any other. */
Ox ox_make_plain(Graph *g, const char *op, OxList in, const Attr *attr, size_t n_attr);

/* Text that is the same for graphs with the same nodes, constants and wiring (graph_text.c). */
Str graph_key(Ctx *cx, const Graph *g);

#endif
