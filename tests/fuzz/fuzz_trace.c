/* fuzz_trace.c - a program of operator calls as the record of a trace that another language hands
 * over, more often than not with lies in it. */
#include "fuzz/make/convert.h"
#include "fuzz/make/traces.h"

#include <unistd.h>

static char folder[] = "/tmp/fuzz_trace_XXXXXX";
static char path[64];

static void remove_folder(void) { rmdir(folder); }

static void make_folder(void)
{
    if (path[0])
        return;
    require(mkdtemp(folder) != NULL, "no folder");
    snprintf(path, sizeof path, "%s/y.onnx", folder);
    atexit(remove_folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    Choices c = { p, n };
    pt2onnx_options o = choose_options(&c);
    Calls calls = choose_calls(&c);
    Trace trace = trace_of_calls(&calls, &c);
    pt2onnx_error *e = NULL;
    make_folder();
    pt2onnx_status status = pt2onnx_convert_trace(&trace.record, path, &o, &e);
    if (status == PT2ONNX_BUG)
        fprintf(stderr, "%s\n", pt2onnx_error_message(e));
    require(status != PT2ONNX_BUG, "pt2onnx reports a bug of its own");
    require((status == PT2ONNX_OK) == (access(path, F_OK) == 0), "output after an error, or none");
    unlink(path);
    pt2onnx_error_free(e);
    trace_free(&trace);
    return 0;
}
