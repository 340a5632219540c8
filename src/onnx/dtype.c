/* dtype.c - element types: names and sizes. The numbers are TensorProto.DataType's, the names
 * numpy's. */
#include "onnx/onnx.h"

typedef enum { KIND_OTHER, KIND_FLOAT, KIND_SIGNED, KIND_UNSIGNED, KIND_COMPLEX } Kind;

static const struct {
    const char *name;
    uint8_t bits;
    uint8_t kind;
} types[DT_COUNT] = {
    [DT_FLOAT] = { "float32", 32, KIND_FLOAT },
    [DT_UINT8] = { "uint8", 8, KIND_UNSIGNED },
    [DT_INT8] = { "int8", 8, KIND_SIGNED },
    [DT_UINT16] = { "uint16", 16, KIND_UNSIGNED },
    [DT_INT16] = { "int16", 16, KIND_SIGNED },
    [DT_INT32] = { "int32", 32, KIND_SIGNED },
    [DT_INT64] = { "int64", 64, KIND_SIGNED },
    [DT_STRING] = { "string", 0, KIND_OTHER },
    [DT_BOOL] = { "bool", 8, KIND_OTHER },
    [DT_FLOAT16] = { "float16", 16, KIND_FLOAT },
    [DT_DOUBLE] = { "float64", 64, KIND_FLOAT },
    [DT_UINT32] = { "uint32", 32, KIND_UNSIGNED },
    [DT_UINT64] = { "uint64", 64, KIND_UNSIGNED },
    [DT_COMPLEX64] = { "complex64", 64, KIND_COMPLEX },
    [DT_COMPLEX128] = { "complex128", 128, KIND_COMPLEX },
    [DT_BFLOAT16] = { "bfloat16", 16, KIND_FLOAT },
    [DT_FLOAT8E4M3FN] = { "float8_e4m3fn", 8, KIND_FLOAT },
    [DT_FLOAT8E4M3FNUZ] = { "float8_e4m3fnuz", 8, KIND_FLOAT },
    [DT_FLOAT8E5M2] = { "float8_e5m2", 8, KIND_FLOAT },
    [DT_FLOAT8E5M2FNUZ] = { "float8_e5m2fnuz", 8, KIND_FLOAT },
    [DT_UINT4] = { "uint4", 4, KIND_UNSIGNED },
    [DT_INT4] = { "int4", 4, KIND_SIGNED },
    [DT_FLOAT4E2M1] = { "float4_e2m1fn", 4, KIND_FLOAT },
    [DT_FLOAT8E8M0] = { "float8_e8m0fnu", 8, KIND_FLOAT },
    [DT_UINT2] = { "uint2", 2, KIND_UNSIGNED },
    [DT_INT2] = { "int2", 2, KIND_SIGNED },
};

static Kind kind_of(DType t)
{
    return t > DT_NONE && t < DT_COUNT ? (Kind)types[t].kind : KIND_OTHER;
}

size_t dtype_size(DType t)
{
    if (t <= DT_NONE || t >= DT_COUNT)
        return 0;
    return (types[t].bits + 7u) / 8;
}

int dtype_bits(DType t) { return t > DT_NONE && t < DT_COUNT ? types[t].bits : 0; }

bool dtype_is_packed(DType t) { return dtype_bits(t) % 8 != 0; }

uint64_t dtype_bytes(DType t, uint64_t numel)
{
    if (t <= DT_NONE || t >= DT_COUNT)
        return 0;
    uint64_t bits = types[t].bits;
    if (bits == 0) /* strings have no fixed size */
        return 0;
    uint64_t bytes;
    if (bits < 8)
        return numel / (8 / bits) + (numel % (8 / bits) != 0);
    return umul_ok(numel, bits / 8, &bytes) && bytes < INT64_MAX ? bytes : INT64_MAX;
}

const char *dtype_name(DType t) { return t > DT_NONE && t < DT_COUNT ? types[t].name : "none"; }

DType dtype_named(const char *s, size_t n)
{
    for (int t = DT_NONE + 1; t < DT_COUNT; t++)
        if (strlen(types[t].name) == n && memcmp(types[t].name, s, n) == 0)
            return (DType)t;
    return DT_NONE;
}

bool dtype_is_float(DType t) { return kind_of(t) == KIND_FLOAT; }
bool dtype_is_int(DType t) { return kind_of(t) == KIND_SIGNED || kind_of(t) == KIND_UNSIGNED; }
bool dtype_is_signed(DType t) { return kind_of(t) == KIND_SIGNED; }
bool dtype_is_complex(DType t) { return kind_of(t) == KIND_COMPLEX; }
DType dtype_of_parts(DType t)
{
    switch (t) {
    case DT_COMPLEX64:  return DT_FLOAT;
    case DT_COMPLEX128: return DT_DOUBLE;
    default:            return t;
    }
}
