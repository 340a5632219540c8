/* fuzz_archive.c - any bytes as a saved program, converted whole. */
#include "fuzz/make/convert.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    pt2onnx_options o = small_options();
    Out file = { 0 };
    Out model;
    out_put(&file, p, n);
    convert_bytes(&file, &o, &model);
    out_free(&model);
    out_free(&file);
    return 0;
}
