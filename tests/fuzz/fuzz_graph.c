/* fuzz_graph.c - one program with views, writes, branches and loops, written as an exported graph
 * and as a TorchScript archive. It grows step by step, each of which is a conversion. */
#include "fuzz/make/calls.h"
#include "fuzz/make/convert.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    Choices c = { p, n };
    char spec[CALL_INPUTS][48];
    const char *specs[CALL_INPUTS];
    pt2onnx_options o = choose_options(&c);
    Calls calls = choose_blocks(&c);
    Out pt = calls_as_script(&calls, spec);
    Out pt2 = calls_as_graph(&calls);
    Out script, graph;
    for (uint32_t i = 0; i < calls.n_in; i++)
        specs[i] = spec[i];
    convert_bytes(&pt2, &o, &graph);
    o.inputs = specs;
    o.n_inputs = calls.n_in;
    convert_bytes(&pt, &o, &script);
    out_free(&pt);
    out_free(&pt2);
    out_free(&script);
    out_free(&graph);
    return 0;
}
