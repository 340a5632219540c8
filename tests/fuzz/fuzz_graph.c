/* fuzz_graph.c - one program with views, writes, branches and loops, written as an exported graph
 * and as a TorchScript archive. It grows step by step, each of which is a conversion. */
#include "fuzz/make/calls.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    Choices c = { p, n };
    pt2onnx_options o = choose_options(&c);
    Calls calls = choose_blocks(&c);
    BothModels models = convert_both(&calls, o);
    out_free(&models.script);
    out_free(&models.graph);
    return 0;
}
