/* growth.c - convert a model and print the work that it took: the basic blocks that were run.
 *
 *     growth MODEL OUT SPEC..
 *     growth --refused MODEL OUT SPEC..   a model that cannot be converted
 *     growth --calls N OUT            a trace that calls N modules, which become functions
 *
 * A program of the sanitized build; its src/base is compiled with PT2ONNX_FAULTS. Time differs
 * from run to run, this does not: tests/python/test_growth.py compares it for programs of one kind
 * and two sizes. What libc does (memcpy, strlen) is not counted. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "pt2onnx.h"

/* A chain of modules in a module: each is Neg(Abs(x)), and an output too, so that values of all
 * calls are wanted until the end. */
static pt2onnx_status convert_calls(size_t n, const char *out, pt2onnx_error **e)
{
    enum { CALLS_TEXT = 80 };
    const int64_t dim = 2;
    size_t n_value = 2 * n + 2; /* 0 is none, 1 the input, then two of each call */
    uint32_t *value = calloc(n_value, sizeof *value), *result = calloc(n, sizeof *result);
    pt2onnx_type *type = calloc(n_value, sizeof *type);
    pt2onnx_node *node = calloc(2 * n, sizeof *node);
    const char **name = calloc(n_value, sizeof *name);
    char (*calls)[CALLS_TEXT] = calloc(n, CALLS_TEXT);
    for (uint32_t v = 0; v < n_value; v++) {
        value[v] = v;
        type[v] = (pt2onnx_type){
            .dtype = v > 0, .rank = v ? 1 : -1, .dims = &dim, .kind = v ? "Tensor" : ""
        };
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *x = &value[2 * i + 1];
        result[i] = x[2];
        snprintf(calls[i], CALLS_TEXT, "0 my.net Net \n%u my.net Block layer%u", i + 1, i);
        node[2 * i] = (pt2onnx_node){
            .kind = "aten::abs", .calls = calls[i], .in = &x[0], .n_in = 1, .out = &x[1], .n_out = 1
        };
        node[2 * i + 1] = (pt2onnx_node){
            .kind = "aten::neg", .calls = calls[i], .in = &x[1], .n_in = 1, .out = &x[2], .n_out = 1
        };
    }
    pt2onnx_trace t = { .size = sizeof t,
                        .graph = { node, 2 * n, &value[1], 1, result, n },
                        .n_value = n_value,
                        .type = type,
                        .name = name };
    pt2onnx_status status = pt2onnx_convert_trace(&t, out, NULL, e);
    free(value), free(result), free(type), free(node), free(name), free(calls);
    return status;
}

static pt2onnx_status convert(int argc, char **argv, pt2onnx_error **e)
{
    pt2onnx_options o = PT2ONNX_OPTIONS;
    o.inputs = (const char *const *)argv + 3;
    o.n_inputs = (size_t)(argc - 3);
    return pt2onnx_convert(argv[1], argv[2], &o, e);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr,
                "usage: growth [--refused] MODEL OUT SPEC..\n       growth --calls N OUT\n");
        return 2;
    }
    bool refused = argc > 3 && strcmp(argv[1], "--refused") == 0;
    pt2onnx_status wanted = refused ? PT2ONNX_CANNOT_CONVERT : PT2ONNX_OK;
    argv += refused;
    argc -= refused;
    pt2onnx_error *e = NULL;
    uint64_t before = work_done();
    bool calls = argc == 4 && strcmp(argv[1], "--calls") == 0;
    pt2onnx_status status = calls ? convert_calls((size_t)atol(argv[2]), argv[3], &e)
                                  : convert(argc, argv, &e);
    if (status == wanted)
        printf("%" PRIu64 "\n", work_done() - before);
    else
        fprintf(stderr, "%s\n", e ? pt2onnx_error_message(e) : "(no message)");
    pt2onnx_error_free(e);
    return status == wanted ? 0 : 1;
}
