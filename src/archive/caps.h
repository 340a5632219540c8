/* caps.h - what the readers may be made to do. The table with every limit and its reason is
 * base/limits.h, because a context is made with the defaults in it; here stand only caps that no
 * option can raise. */
#ifndef PT2ONNX_ARCHIVE_LIMITS_H
#define PT2ONNX_ARCHIVE_LIMITS_H

#include "base/limits.h"

enum {
    JSON_DEPTH_MAX = 1024
}; /* bits of nesting that a Json reader holds; LIMIT_DEPTH is usually lower */

#endif
