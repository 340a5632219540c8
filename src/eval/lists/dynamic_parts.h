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
 * NOT_MINE: an operator like others. */
MUST_USE Outcome dynamic_parts(Eval *ev, Str name, const OpArg *args, size_t n, uint32_t wanted,
                               Value *out);
/* Part number i as the view of the tensor that it is. NOT_MINE: nobody can tell where it lies. */
MUST_USE Outcome part_of_tensor(Eval *ev, const PartsOf *p, Dim i, Value *out);

#endif
