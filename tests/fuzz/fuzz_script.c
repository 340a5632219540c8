/* fuzz_script.c - any bytes as the choices of a program in TorchScript's grammar, converted whole.
 */
#include "fuzz/make/archives.h"
#include "fuzz/make/convert.h"
#include "fuzz/make/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    Choices c = { p, n };
    pt2onnx_options o = choose_options(&c);
    Script s = choose_script(&c);
    const char *specs[SCRIPT_SPECS];
    for (size_t i = 0; i < s.n_spec; i++)
        specs[i] = s.spec[i];
    o.inputs = specs;
    o.n_inputs = s.n_spec;
    Out file = archive_of_script(&s.code);
    Out model;
    convert_bytes(&file, &o, &model);
    out_free(&model);
    out_free(&file);
    code_free(&s.code);
    return 0;
}
