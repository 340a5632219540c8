/* resize.h - upsample_*: what resize.c reads of a call, and resize_axes.c does where ONNX's Resize
 * cannot. */
#ifndef PT2ONNX_OPS_RESIZE_H
#define PT2ONNX_OPS_RESIZE_H

#include "ops/internal.h"

/* datum: what differs between the operators */
typedef enum { NEAREST, NEAREST_EXACT, LINEAR, CUBIC, LINEAR_AA, CUBIC_AA, LANCZOS_AA } ResizeMode;
static inline bool is_cubic(ResizeMode m) { return m == CUBIC || m == CUBIC_AA; }
static inline bool is_antialiased(ResizeMode m) { return m >= LINEAR_AA; }

/* The sizes, or scales by which they are multiplied; a scale that is given also says where samples
 * are taken. */
typedef struct Target {
    int spatial;
    bool scaled;
    double scale[3];
    Dims size;
} Target;

/* The scale of spatial axis i that ONNX is told, a float32 as in ONNX Runtime; false: nobody can
 * tell it. */
bool resize_scale(Op *op, Ox x, const Target *t, int i, float *out);
/* What PyTorch makes of spatial axis i. */
bool resized_size(Op *op, Ox x, const Target *t, int i, Dim *out);
/* Axis by axis, by matrices of weights; NULL where Resize says it. */
Ox resized_by_axes(Op *op, Ox x, const Target *t, ResizeMode mode, bool corners);

#endif
