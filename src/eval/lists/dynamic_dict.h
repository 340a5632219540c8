/* dynamic_dict.h - operators on dicts of which only the running model knows what keys they have. */
#ifndef PT2ONNX_EVAL_DYNAMIC_DICT_H
#define PT2ONNX_EVAL_DYNAMIC_DICT_H

#include "eval/internal.h"

/* NOT_MINE: no argument that counts is such a dict. */
MUST_USE Outcome dynamic_dict_op(Eval *ev, Str name, const OpArg *args, size_t n, Value *out);

#endif
