/* dynamic_parts.h - unbind, chunk, split and tensor_split along an axis whose size only the running
 * model knows. */
#ifndef PT2ONNX_EVAL_DYNAMIC_PARTS_H
#define PT2ONNX_EVAL_DYNAMIC_PARTS_H

#include "eval/internal.h"

/* A list of all parts of a tensor: of unbind (each NULL), or of split, `each` long but for the
 * last. */
typedef struct PartsOf {
    Tensor *t;
    int axis;
    Dim each, count;
} PartsOf;

/* Lists of parts whose number is not known; `wanted`: how many the statement takes, 0 not given.
 * *mine false: an operator like others. */
MUST_USE bool dynamic_parts(Eval *ev, Str name, const OpArg *args, size_t n, uint32_t wanted,
                            bool *mine, Value *out);
/* Part number i as the view of the tensor that it is; *mine false: nobody can tell where it lies.
 */
MUST_USE bool part_of_tensor(Eval *ev, const PartsOf *p, Dim i, bool *mine, Value *out);

#endif
