/* rnn.h - what recurrent layers and packed sequences share: a set of sequences of their own
 * lengths. */
#ifndef PT2ONNX_OPS_RNN_H
#define PT2ONNX_OPS_RNN_H

#include "ops/internal.h"

/* Which steps of [steps, batch] are there. PyTorch's data holds those alone, step after step. */
typedef struct Packed {
    Ox mask;  /* bool [steps, batch] */
    Ox where; /* int64 [n]: which rows of [steps * batch] the data's are */
    Dim steps, batch;
} Packed;

/* batch: how many sequences there are, when that is known; NULL: as many as batch_sizes begins
 * with. */
MUST_USE bool packed_by_sizes(Op *op, Ox batch_sizes, Dim batch, Packed *p);
Ox unpacked(Op *op, const Packed *p,
            Ox data); /* [n, ..] -> [steps, batch, ..]; what is not there is anything */
Ox packed_data(Op *op, const Packed *p, Ox x);       /* and back */
Ox packed_lengths(Op *op, const Packed *p, DType t); /* [batch] */

#endif
