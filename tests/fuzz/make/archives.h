/* archives.h - saved programs in memory: the archive of a TorchScript text, of an exported graph.
 */
#ifndef PT2ONNX_FUZZ_ARCHIVES_H
#define PT2ONNX_FUZZ_ARCHIVES_H

#include "fuzz/make/choices.h"

/* What is written into code/__torch__.py, beside the classes that the pickles need: an object of M
 * has the attributes w, b, i (tensors of [2, 3], [3] and int64[4]), k, x, l, ts, d, o (of class C)
 * and sub (of class S); CONSTANTS.c0 is a tensor of [3]. */
typedef struct Code {
    Out of_s, of_m, functions; /* methods of the module S, of M; functions of __torch__ */
} Code;
Out archive_of_script(const Code *code);
void code_free(Code *code);
/* models/model.json of a .pt2. Its one weight is w, float32[2, 3]. */
Out archive_of_graph(const Out *json);

#endif
