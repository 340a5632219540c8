/* edit.h - what src/tidy may do and a lowering may not: rename and share values, change a node in
 * place, fold it, look into constants, move the origin of a size, see the nodes of complex parts.
 */
#ifndef PT2ONNX_EDIT_H
#define PT2ONNX_EDIT_H

#include "onnx/onnx.h"

/* v under another name: an Identity node that is never folded away. What outputs of graphs and
 * branches need. */
Ox ox_identity(Graph *g, Ox v);
/* Forget the nodes made in g so far: a pass that builds g anew must not find those that come later.
 * Until somebody looks for an equal node, and those in g's list are made known, what is known is
 * stale. */
void share_forget_nodes(Graph *g);
bool share_is_stale(const Graph *g);
/* The equal node that is visible already, else n itself, which others will find from now on. */
Node *node_share(Node *n);
/* Output i of n becomes a fresh value of this element type. Gives the old value, which is no
 * node's result any more. */
Ox node_retype_out(Node *n, int i, DType t);
/* n gets an attribute, in place of the one of that name. */
void node_set_attr(Node *n, Attr a);
/* Run op's fold over constant inputs in memory; out gets n->n_out constants. False: not folded
 * (look at ctx_failed). */
MUST_USE bool node_fold(Node *n, const Const **out);
/* How the one result of n, whose inputs are constants, is computed a part at a time
 * (fold/fold_parts.c); NULL: only whole. fold_part: the n bytes from `at` on; both are multiples of
 * an item's size. */
typedef struct FoldParts FoldParts;
const FoldParts *fold_parts(Node *n);
MUST_USE bool fold_part(Ctx *cx, const FoldParts *p, uint64_t at, uint8_t *out, uint64_t n);
/* The value that symbols come from has been replaced by another one. */
void dim_move_origins(Ox from, Ox to);
/* Is v where a symbol comes from? */
bool dim_is_origin(Ox v);
/* A constant's elements as contiguous memory: reads the whole. For small ones, and in recipes. */
const void *const_data(Ctx *cx, const Const *k);

/* The domain of Pair and OfPair (onnx/complex_parts.c), which tidy/split_complex.c removes. */
#define COMPLEX_DOMAIN "complex"

#endif
