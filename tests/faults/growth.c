/* growth.c - convert a model and print the work that it took: the basic blocks that were run.
 *
 *     growth MODEL OUT SPEC..
 *
 * Needs a build with PT2ONNX_FAULTS. Time differs from run to run, this does not: tests/python/test_growth.py compares it for
 * programs of one kind and two sizes. What libc does (memcpy, strlen) is not counted. */
#include <inttypes.h>
#include <stdio.h>

#include "base/base.h"
#include "pt2onnx.h"

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: growth MODEL OUT SPEC..\n");
        return 2;
    }
    pt2onnx_options o = PT2ONNX_OPTIONS;
    o.inputs = (const char *const *)argv + 3;
    o.n_inputs = (size_t)(argc - 3);
    pt2onnx_error *e = NULL;
    uint64_t before = work_done();
    pt2onnx_status status = pt2onnx_convert(argv[1], argv[2], &o, &e);
    if (status == PT2ONNX_OK)
        printf("%" PRIu64 "\n", work_done() - before);
    else
        fprintf(stderr, "%s\n", e ? pt2onnx_error_message(e) : "(no message)");
    pt2onnx_error_free(e);
    return status == PT2ONNX_OK ? 0 : 1;
}
