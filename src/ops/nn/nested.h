/* nested.h - nested tensors (kind NESTED): sequences of different lengths, padded to one. */
#ifndef PT2ONNX_OPS_NESTED_H
#define PT2ONNX_OPS_NESTED_H

#include "ops/internal.h"

/* Which rows of each sequence are its own, of the padded values and their lengths: bool [N, T]. */
Ox nested_rows(Op *op, Ox padded, Ox lengths);
/* The padded values as a nested tensor. */
Value nested_of(Op *op, Ox padded, Ox lengths);

#endif
