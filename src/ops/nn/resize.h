/* resize.h - upsample_*: the sizes or scales that resize.c reads from a call, and resizing by axes
 * (resize_axes.c) where ONNX's Resize cannot do it. */
#ifndef PT2ONNX_OPS_RESIZE_H
#define PT2ONNX_OPS_RESIZE_H

#include "ops/internal.h"

/* row->datum of the operators */
typedef enum { NEAREST, NEAREST_EXACT, LINEAR, CUBIC, LINEAR_AA, CUBIC_AA, LANCZOS_AA } ResizeMode;
static inline bool is_nearest(ResizeMode m) { return m == NEAREST || m == NEAREST_EXACT; }
static inline bool is_cubic(ResizeMode m) { return m == CUBIC || m == CUBIC_AA; }
static inline bool is_antialiased(ResizeMode m) { return m >= LINEAR_AA; }

/* The result's sizes, or scales by which x's are multiplied; a given scale also says where samples
 * are taken. */
typedef struct Target {
    int spatial;     /* axes */
    bool scaled;     /* every scale is given */
    bool by_axes;    /* not by Resize: all sizes stay by the scales, where ONNX Runtime copies x and
                        PyTorch takes samples; or they give fewer pixels than the size wants */
    double scale[3]; /* of each spatial axis */
    Dims size;       /* of each spatial axis; none where only scales are given */
} Target;

/* The scale of spatial axis i that Resize gets, a float32 as in ONNX Runtime; false: it is not
 * known. */
bool resize_scale(Op *op, Ox x, const Target *t, int i, float *out);
/* PyTorch's size of spatial axis i in the result. False after an error. */
bool resized_size(Op *op, Ox x, const Target *t, int i, Dim *out);
/* x resized axis by axis, by matrices of weights; NULL where Resize does it. */
Ox resized_by_axes(Op *op, Ox x, const Target *t, ResizeMode mode, bool corners);

#endif
