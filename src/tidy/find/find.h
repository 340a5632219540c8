/* find.h - operators that find.c finds by find.rules and that need a look at sizes and places:
 * RotaryEmbedding, Attention, Col2Im. Each has a question and a writer. */
#ifndef PT2ONNX_TIDY_FIND_H
#define PT2ONNX_TIDY_FIND_H

#include "onnx/rules/rules.h"
#include "tidy/internal.h"

/* Is it a RotaryEmbedding that find.rules has matched? Then it is written, unless what has been
 * rewritten since hides it: NULL. */
bool rotary_fits(const Rewrite *rw, const RuleMatch *m);
Ox rotary_write(const Rewrite *rw, Graph *g, const RuleMatch *m, const Ox *in);

/* Is it an Attention? */
bool attention_fits(const Rewrite *rw, const RuleMatch *m);
Ox attention_write(Graph *g, const RuleMatch *m, const Ox *in);

/* Is it a Col2Im? */
bool columns_fit(Graph *g, const RuleMatch *m);
Ox columns_write(Graph *g, const RuleMatch *m, const Ox *in);

#endif
