/* blocks.h - a float32 matrix as int8 or int4 codes and scales, constants that are computed while
 * they are written (blocks.c). quantise.c says where they go. */
#ifndef PT2ONNX_TIDY_BLOCKS_H
#define PT2ONNX_TIDY_BLOCKS_H

#include "tidy/types/types.h"

enum { BLOCK_LONGEST = 256 }; /* a longer one is a whole row */

/* The scales of the weight whose codes were written last, row by row: its scales come next. */
typedef struct LastScales {
    const struct Blocks *of;
    float *at; /* room for SCALES_KEPT, made when it is first needed */
} LastScales;

typedef struct Blocks {
    const Const *k;     /* rank 2: N rows of K elements, with strides */
    const Const *named; /* whose name codes and scales have a part of */
    int64_t N, K;
    int64_t block; /* elements that share a scale: up to BLOCK_LONGEST, or K */
    int bits;      /* 8: codes from -128 to 127; 4: from -8 to 7 */
    bool by_rows;  /* codes and scales lie row by row; else a row's elements are N apart */
    bool padded;   /* rows are filled up to whole blocks */
    bool biased;   /* codes are unsigned: 128 or 8 stands for 0 */
    LastScales *last;
} Blocks;

Blocks *blocks_of(Ctx *cx, const Const *k, int row, int bits, int64_t block, LastScales *last);
bool blocks_possible(const Blocks *b);
Ox blocks_codes(Graph *g, const Blocks *b, DType t, int rank, const int64_t *dims);
Ox blocks_scales(Graph *g, const Blocks *b, int rank, const int64_t *dims);

#endif
