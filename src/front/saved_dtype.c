/* saved_dtype.c - how saved files number and call element types. c10's numbers, which TorchScript
 * uses too, are in value/c10_dtype.c; the export schema of .pt2 numbers differently: never share a
 * table. */
#include "front/internal.h"
#include "value/c10_dtype.h"

/* By c10's number. */
static const char *const storages[] = {
    [0] = "ByteStorage",
    [1] = "CharStorage",
    [2] = "ShortStorage",
    [3] = "IntStorage",
    [4] = "LongStorage",
    [5] = "HalfStorage",
    [6] = "FloatStorage",
    [7] = "DoubleStorage",
    [8] = "ComplexHalfStorage",
    [9] = "ComplexFloatStorage",
    [10] = "ComplexDoubleStorage",
    [11] = "BoolStorage",
    [12] = "QInt8Storage",
    [13] = "QUInt8Storage",
    [14] = "QInt32Storage",
    [15] = "BFloat16Storage",
    [16] = "QUInt4x2Storage",
    [23] = "Float8_e5m2Storage",
    [24] = "Float8_e4m3fnStorage",
    [25] = "Float8_e5m2fnuzStorage",
    [26] = "Float8_e4m3fnuzStorage",
    [27] = "UInt16Storage",
    [28] = "UInt32Storage",
    [29] = "UInt64Storage",
    [44] = "Float8_e8m0fnuStorage",
};

DType dtype_of_storage(Str global, bool *quantised)
{
    for (size_t i = 0; i < COUNT(storages); i++)
        if (storages[i] && str_is(global, storages[i]))
            return dtype_of_c10((int64_t)i, quantised);
    *quantised = false;
    return DT_NONE;
}

DType dtype_of_pt2(int64_t code)
{
    static const DType types[] = {
        [1] = DT_UINT8,           [2] = DT_INT8,
        [3] = DT_INT16,           [4] = DT_INT32,
        [5] = DT_INT64,           [6] = DT_FLOAT16,
        [7] = DT_FLOAT,           [8] = DT_DOUBLE,
        [10] = DT_COMPLEX64,      [11] = DT_COMPLEX128,
        [12] = DT_BOOL,           [13] = DT_BFLOAT16,
        [28] = DT_UINT16,         [29] = DT_FLOAT8E4M3FN,
        [30] = DT_FLOAT8E5M2,     [31] = DT_FLOAT8E4M3FNUZ,
        [32] = DT_FLOAT8E5M2FNUZ, [33] = DT_FLOAT8E8M0,
        [34] = DT_UINT32,         [35] = DT_UINT64,
    };
    return code >= 0 && code < (int64_t)COUNT(types) ? types[code] : DT_NONE;
}
