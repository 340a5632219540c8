/* legal.h - what legalising shares: forms of operators for an older target, the types that a target
 * and ONNX Runtime take, ONNX Runtime's float64.
 *
 * legalise.c goes through the graph; each legal_X makes one operator legal. AS_IT_IS: nothing to
 * do; CHANGED: out[] has the values that replace the node's outputs; REFUSED: the refusal is noted.
 */
#ifndef PT2ONNX_TIDY_LEGAL_H
#define PT2ONNX_TIDY_LEGAL_H

#include "onnx/rules/rules.h"
#include "tidy/internal.h"

/* ---- forms (legalise.c, legal_bits.c, legal_index.c, legal_parts.c, legal_scatter.c) ---- */

typedef enum { AS_IT_IS, CHANGED, REFUSED } Verdict;
typedef struct Legal {
    Rewrite *rw;
    Ctx *cx;
    int target;
    bool ort; /* ONNX Runtime must run it */
    RuleSet rules;
    Map ways; /* operator name -> Ways, of operators that the graph has */
} Legal;

Ox one_axis(Graph *g, int64_t axis); /* the axis as int64[1] */
Ox permuted(Graph *g, Ox x, const int64_t *perm, int rank);
Ox swapped_with_last(
    Graph *g, Ox x,
    int axis); /* a Transpose of axis and the last one; x itself where axis is the last */
Verdict legal_arg(Legal *l, Node *n, Ox *out);
Verdict legal_bitwise(Legal *l, Node *n, Ox *out);
Verdict legal_cumsum(Legal *l, Node *n, Ox *out);
Verdict legal_einsum(Legal *l, Node *n, Ox *out);
Verdict legal_gather(Legal *l, Node *n, Ox *out);
Verdict legal_gather_elements(Legal *l, Node *n, Ox *out);
Verdict legal_gather_nd(Legal *l, Node *n, Ox *out);
Verdict legal_pad(Legal *l, Node *n, Ox *out);
Verdict legal_pool(Legal *l, Node *n, Ox *out);
Verdict legal_range(Legal *l, Node *n, Ox *out);
Verdict legal_reshape(Legal *l, Node *n, Ox *out);
Verdict legal_scatter_elements(Legal *l, Node *n, Ox *out);
Verdict legal_scatter_nd(Legal *l, Node *n, Ox *out);
Verdict legal_slice(Legal *l, Node *n, Ox *out);
Verdict legal_split(Legal *l, Node *n, Ox *out);
Verdict legal_split_to_sequence(Legal *l, Node *n, Ox *out);
Verdict legal_topk(Legal *l, Node *n, Ox *out);
Verdict legal_trilu(Legal *l, Node *n, Ox *out);

/* ---- types (legal_types.c) ---- */

/* Does ONNX Runtime run n as it stands, or with exact casts around it? */
bool runs_somehow(const Node *n, int opset);
/* Exact casts around n where the target's signature, or with `ort` its kernel, does not take a
 * type. May place n. */
MUST_USE bool fix_types(Rewrite *rw, Node *n, int opset, bool ort);

/* The result of n, which ONNX Runtime does not run on float64, by operators that it does run on
 * float64 (doubles.c); NULL: there is no such form. */
Ox double_form(const Node *n);
/* The result of n, a product of a float64 MatMul and one number, in a form that ONNX Runtime's
 * optimizer does not round to float32; NULL: n is something else. */
Ox double_scale(const Node *n);
/* The same for v, a float64 input of a MatMul; v itself where it is no product with one number. */
Ox double_factor(Ox v);

#endif
