/* fused.h - what the files that write operators of com.microsoft share. */
#ifndef PT2ONNX_TIDY_FUSED_H
#define PT2ONNX_TIDY_FUSED_H

#include "tidy/internal.h"

/* The n outputs of com.microsoft's operator, which old gives way to; false after an error. */
MUST_USE bool make_fused(Node *old, const char *op, OxList in, const Attr *attr, size_t n_attr,
                         const Type *types, Ox *out, size_t n);
/* Has the CPU a kernel of it for float32? */
bool runs_fused(const char *op);
/* x [batch, rows, heads, size] of which v is [batch, heads, rows, size]; NULL: v is no such
 * Transpose. */
Ox rows_first(Ox v);
/* x [batch, rows, heads, size] as [batch, heads, rows, size]. */
Ox heads_first(Graph *g, Ox x);

/* The step of fused_attention.c. */
MUST_USE bool fuse_attention(Rewrite *rw, Node *n);

#endif
