/* faults.c - make each allocation of a conversion fail in turn, until one conversion needs no more.
 *
 *     faults MODEL OUT SPEC..
 *
 * Needs a build with PT2ONNX_FAULTS. Prints how many conversions failed before the first that came
 * through; exits with 1 when a failed one left a file, gave no message or called itself our bug. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "pt2onnx.h"

enum { ENOUGH = 100000 }; /* allocations; a conversion that never succeeds must end too */

static int report(const char *what, long n, const char *message)
{
    printf("allocation %ld: %s: %s\n", n, what, message ? message : "(no message)");
    return 1;
}

static int failed_well(long n, pt2onnx_status status, const pt2onnx_error *e, const char *out)
{
    const char *message = e ? pt2onnx_error_message(e) : NULL;
    if (status == PT2ONNX_BUG)
        return report("says that it is our bug", n, message);
    if (e && (!message || !strstr(message, "memory")))
        return report("does not speak of memory", n, message);
    if (access(out, F_OK) == 0)
        return report("left a file", n, message);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: faults MODEL OUT SPEC..\n");
        return 2;
    }
    pt2onnx_options o = PT2ONNX_OPTIONS;
    o.inputs = (const char *const *)argv + 3;
    o.n_inputs = (size_t)(argc - 3);
    for (long n = 0; n < ENOUGH; n++) {
        pt2onnx_error *e = NULL;
        fault_after(n);
        pt2onnx_status status = pt2onnx_convert(argv[1], argv[2], &o, &e);
        fault_after(-1);
        int wrong = status == PT2ONNX_OK ? 0 : failed_well(n, status, e, argv[2]);
        pt2onnx_error_free(e);
        if (wrong)
            return 1;
        if (status == PT2ONNX_OK) {
            printf("%ld allocations failed in turn\n", n);
            return 0;
        }
    }
    return report("still no success", ENOUGH, NULL);
}
