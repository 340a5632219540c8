/* internal.h - what the files of src/onnx share and nobody else sees: how inference and folding functions are found, the
 * generated facts, and the few helpers that need the inside of a value. */
#ifndef PT2ONNX_ONNX_INTERNAL_H
#define PT2ONNX_ONNX_INTERNAL_H

#include "onnx/onnx.h"

/* ---- inference and folding: each family's file ends with its rows, {0} last ----------------------- */

typedef struct InferRow { const char *op; InferFn fn; } InferRow;
typedef struct FoldRow { const char *op; FoldFn fn; } FoldRow;

extern const InferRow infer_elementwise[], infer_shape[], infer_reduce[], infer_nn[], infer_linalg[], infer_control[], infer_misc[];
extern const FoldRow fold_elementwise[], fold_shape[], fold_reduce[], fold_linalg[], fold_misc[];

/* ---- the generated facts (optable_data.c), sorted by name ------------------------------------------ */

typedef struct OpFacts { const char *name; const OpVersion *version; int n_version; } OpFacts;
extern const OpFacts onnx_facts[];
extern const int onnx_facts_count;

/* ---- helpers for infer_* and fold_* ------------------------------------------------------------------ */

static inline Ctx *node_cx(const Node *n) { return n->graph->cx; }

/* Input i, or NULL when it is not there (trailing or left out). Inputs are never POISON here: ox_make has looked. */
static inline Ox node_in(const Node *n, int i) { return i < n->n_in ? n->in[i] : NULL; }

/* Input i's contents as dims; false when it is not there or not all known. A constant of up to MAX_ITEMS int64 or
 * int32 items always has them. */
bool node_in_items(const Node *n, int i, const Dim **out, int64_t *count);
/* The same as plain numbers: every item known. Any integer or bool constant of up to FOLD_NUMEL elements too. */
bool node_in_ints(const Node *n, int i, const int64_t **out, int64_t *count);

/* Set the message "OP: ..." and return false: what an inference function returns when the inputs cannot be right. */
#define node_fail(n, ...) node_fail_here((n), __FILE__, __LINE__, __VA_ARGS__)
bool node_fail_here(const Node *n, const char *file, int line, const char *fmt, ...) PRINTF_LIKE(4, 5);

/* ---- constants, dims, types: inside ----------------------------------------------------------------- */

/* A constant of up to FOLD_NUMEL elements as contiguous memory (arena); NULL after an error. */
const void *const_data(Ctx *cx, const Const *k);
/* A Data over k: reads the whole. For small constants, and in recipes. */
MUST_USE bool const_to_data(Ctx *cx, const Const *k, Data *out);
/* A fresh value without a definition: graph.c numbers it. */
Ox ox_new(Graph *g, OxKind kind, Type t);
/* An OX_DIMS value, or OX_CONST when all items are known. rank 0 or 1; dtype int64 or int32. */
Ox ox_of_items(Graph *g, DType t, int rank, const Dim *items, int64_t n);
/* Run op's fold over constant inputs in memory; *out gets n->n_out constants. False: not folded (look at ctx_failed). */
MUST_USE bool node_fold(Node *n, const Const **out);

#endif
