/* dtype.c - the numberings of element types: c10's in TorchScript, the export schema's in .pt2. They differ; never share one. */
#include "front/internal.h"

/* By c10's number. A type without a place in ONNX is DT_NONE. Quantised types stand as the integers they store. */
static const struct { const char *storage; DType dtype; bool quantised; } c10_types[] = {
    [0] = { "ByteStorage", DT_UINT8, false },
    [1] = { "CharStorage", DT_INT8, false },
    [2] = { "ShortStorage", DT_INT16, false },
    [3] = { "IntStorage", DT_INT32, false },
    [4] = { "LongStorage", DT_INT64, false },
    [5] = { "HalfStorage", DT_FLOAT16, false },
    [6] = { "FloatStorage", DT_FLOAT, false },
    [7] = { "DoubleStorage", DT_DOUBLE, false },
    [8] = { "ComplexHalfStorage", DT_NONE, false },
    [9] = { "ComplexFloatStorage", DT_COMPLEX64, false },
    [10] = { "ComplexDoubleStorage", DT_COMPLEX128, false },
    [11] = { "BoolStorage", DT_BOOL, false },
    [12] = { "QInt8Storage", DT_INT8, true },
    [13] = { "QUInt8Storage", DT_UINT8, true },
    [14] = { "QInt32Storage", DT_INT32, true },
    [15] = { "BFloat16Storage", DT_BFLOAT16, false },
    [16] = { "QUInt4x2Storage", DT_NONE, true },
    [17] = { "QUInt2x4Storage", DT_NONE, true },
    [23] = { "Float8_e5m2Storage", DT_FLOAT8E5M2, false },
    [24] = { "Float8_e4m3fnStorage", DT_FLOAT8E4M3FN, false },
    [25] = { "Float8_e5m2fnuzStorage", DT_FLOAT8E5M2FNUZ, false },
    [26] = { "Float8_e4m3fnuzStorage", DT_FLOAT8E4M3FNUZ, false },
    [27] = { "UInt16Storage", DT_UINT16, false },
    [28] = { "UInt32Storage", DT_UINT32, false },
    [29] = { "UInt64Storage", DT_UINT64, false },
    [44] = { "Float8_e8m0fnuStorage", DT_FLOAT8E8M0, false },
};

DType dtype_of_c10(int64_t code, bool *quantised)
{
    bool known = code >= 0 && code < (int64_t)COUNT(c10_types);
    if (quantised)
        *quantised = known && c10_types[code].quantised;
    return known ? c10_types[code].dtype : DT_NONE;
}

int64_t dtype_to_c10(DType t)
{
    for (size_t i = 0; i < COUNT(c10_types); i++)
        if (c10_types[i].dtype == t && t != DT_NONE && !c10_types[i].quantised)
            return (int64_t)i;
    return -1;
}

DType dtype_of_storage(Str global, bool *quantised)
{
    for (size_t i = 0; i < COUNT(c10_types); i++)
        if (c10_types[i].storage && str_is(global, c10_types[i].storage))
            return dtype_of_c10((int64_t)i, quantised);
    *quantised = false;
    return DT_NONE;
}

DType dtype_of_pt2(int64_t code)
{
    static const DType types[] = {
        [1] = DT_UINT8, [2] = DT_INT8, [3] = DT_INT16, [4] = DT_INT32, [5] = DT_INT64, [6] = DT_FLOAT16, [7] = DT_FLOAT,
        [8] = DT_DOUBLE, [10] = DT_COMPLEX64, [11] = DT_COMPLEX128, [12] = DT_BOOL, [13] = DT_BFLOAT16, [28] = DT_UINT16,
        [29] = DT_FLOAT8E4M3FN, [30] = DT_FLOAT8E5M2, [31] = DT_FLOAT8E4M3FNUZ, [32] = DT_FLOAT8E5M2FNUZ, [33] = DT_FLOAT8E8M0,
        [34] = DT_UINT32, [35] = DT_UINT64,
    };
    return code >= 0 && code < (int64_t)COUNT(types) ? types[code] : DT_NONE;
}
