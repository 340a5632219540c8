/* rnn.h - sequences of different lengths, as recurrent layers (rnn.c) and packed sequences
 * (packed.c) have them. */
#ifndef PT2ONNX_OPS_RNN_H
#define PT2ONNX_OPS_RNN_H

#include "ops/internal.h"

/* Which steps of [steps, batch] belong to a sequence. PyTorch's data holds those alone, step after
 * step. */
typedef struct Packed {
    Ox mask;  /* bool [steps, batch] */
    Ox where; /* int64 [n]: which rows of [steps * batch] the data's are */
    Dim steps, batch;
} Packed;

/* The sequences of these batch_sizes. batch: how many there are, when that is known; NULL: as many
 * as batch_sizes begins with. False after an error. */
MUST_USE bool packed_by_sizes(Op *op, Ox batch_sizes, Dim batch, Packed *p);
/* [n, ..] -> [steps, batch, ..]; steps that belong to no sequence may be anything */
Ox unpacked(Op *op, const Packed *p, Ox data);
Ox packed_data(Op *op, const Packed *p, Ox x);       /* and back */
Ox packed_lengths(Op *op, const Packed *p, DType t); /* [batch] */

#endif
