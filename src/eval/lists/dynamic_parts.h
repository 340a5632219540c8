/* dynamic_parts.h - unbind, chunk, split and tensor_split along an axis whose size only the running
 * model knows. */
#ifndef PT2ONNX_EVAL_DYNAMIC_PARTS_H
#define PT2ONNX_EVAL_DYNAMIC_PARTS_H

#include "eval/internal.h"

/* Of which tensor a list holds all parts: those of unbind (each is NULL), or those of split, of
 * size `each` except for the last. */
typedef struct PartsOf {
    Tensor *t;
    int axis;
    Dim each, count;
} PartsOf;

/* May dynamic_parts() take calls of this name? */
bool is_cut(Str name);
/* An operator that gives a list of parts whose number is not known. wanted: how many parts the
 * statement unpacks; 0: that is not known. NOT_MINE: any other call. */
MUST_USE Outcome dynamic_parts(Eval *ev, Str name, const OpArg *args, size_t n, uint32_t wanted,
                               Value *out);
/* Part i as a view of its tensor. NOT_MINE: it is not known where in the tensor the part lies. */
MUST_USE Outcome part_of_tensor(Eval *ev, const PartsOf *p, Dim i, Value *out);

#endif
