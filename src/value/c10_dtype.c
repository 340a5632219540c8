/* c10_dtype.c - the table of c10's numbers of element types (torch/headeronly's ScalarType). */
#include "value/c10_dtype.h"

/* By c10's number. DT_NONE (the gaps): ONNX has no such type. Quantised types stand as the integers
 * that they store. */
static const struct {
    DType dtype;
    bool quantised;
} types[] = {
    [0] = { DT_UINT8, false },           [1] = { DT_INT8, false },
    [2] = { DT_INT16, false },           [3] = { DT_INT32, false },
    [4] = { DT_INT64, false },           [5] = { DT_FLOAT16, false },
    [6] = { DT_FLOAT, false },           [7] = { DT_DOUBLE, false },
    [9] = { DT_COMPLEX64, false },       [10] = { DT_COMPLEX128, false },
    [11] = { DT_BOOL, false },           [12] = { DT_INT8, true },
    [13] = { DT_UINT8, true },           [14] = { DT_INT32, true },
    [15] = { DT_BFLOAT16, false },       [16] = { DT_UINT4, true },
    [23] = { DT_FLOAT8E5M2, false },     [24] = { DT_FLOAT8E4M3FN, false },
    [25] = { DT_FLOAT8E5M2FNUZ, false }, [26] = { DT_FLOAT8E4M3FNUZ, false },
    [27] = { DT_UINT16, false },         [28] = { DT_UINT32, false },
    [29] = { DT_UINT64, false },         [44] = { DT_FLOAT8E8M0, false },
};

DType dtype_of_c10(int64_t code, bool *quantised)
{
    bool known = code >= 0 && code < (int64_t)COUNT(types);
    if (quantised)
        *quantised = known && types[code].quantised;
    return known ? types[code].dtype : DT_NONE;
}

int64_t dtype_to_c10(DType t)
{
    for (size_t i = 0; i < COUNT(types); i++)
        if (types[i].dtype == t && t != DT_NONE && !types[i].quantised)
            return (int64_t)i;
    return -1;
}
