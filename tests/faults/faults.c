/* faults.c - make each allocation of a conversion fail in turn, until one conversion needs no more:
 * first all from the n-th on; then only large arrays, from the n-th on, and by their size, all of
 * more than 64 KB, 128 KB, 256 KB and so on. A small allocation never gives NULL, a large array
 * does: the second reaches what the first cannot, because the first fails at a small one before.
 *
 *     faults [--stride N] MODEL OUT SPEC..
 *
 * --stride N tries each N-th allocation only. A program of the sanitized build; its src/base is
 * compiled with PT2ONNX_FAULTS. Prints how many conversions failed in each of the three ways; exits
 * with 1 when a failed one left a file, gave no message or called itself our bug. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "pt2onnx.h"

enum {
    ENOUGH = 100000, /* allocations; a conversion that never succeeds must end too */
    LARGE = 64 << 10 /* up to here an allocation never gives NULL */
};

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

/* A conversion whose allocations have been told when to fail: 1 when it came through, 0 when it
 * failed as it should, -1 otherwise. n is for messages. */
static int converts(char **argv, const pt2onnx_options *o, long n)
{
    pt2onnx_error *e = NULL;
    pt2onnx_status status = pt2onnx_convert(argv[1], argv[2], o, &e);
    fault_after(-1);
    fault_over(0, -1);
    int wrong = status == PT2ONNX_OK ? 0 : failed_well(n, status, e, argv[2]);
    pt2onnx_error_free(e);
    if (wrong)
        return -1;
    return status == PT2ONNX_OK;
}

static void all_from(long n) { fault_after(n); }
static void large_from(long n) { fault_over(LARGE, n); }
static void larger_than(long n) { fault_over((size_t)LARGE << n, 0); }

/* How many conversions fail before one comes through; -1 when one fails badly, or all do. */
static long failures(char **argv, const pt2onnx_options *o, void (*arm)(long n), long stride)
{
    remove(argv[2]); /* of the way before */
    for (long n = 0; n < ENOUGH; n += stride) {
        arm(n);
        int done = converts(argv, o, n);
        if (done)
            return done < 0 ? -1 : n / stride;
    }
    report("still no success", ENOUGH, NULL);
    return -1;
}

int main(int argc, char **argv)
{
    long stride = 1;
    if (argc > 2 && strcmp(argv[1], "--stride") == 0) {
        stride = atol(argv[2]);
        argv += 2;
        argc -= 2;
    }
    if (argc < 3 || stride < 1) {
        fprintf(stderr, "usage: faults [--stride N] MODEL OUT SPEC..\n");
        return 2;
    }
    pt2onnx_options o = PT2ONNX_OPTIONS;
    o.inputs = (const char *const *)argv + 3;
    o.n_inputs = (size_t)(argc - 3);
    long all = failures(argv, &o, all_from, stride);
    long large = all < 0 ? -1 : failures(argv, &o, large_from, 1);
    long sizes = large < 0 ? -1 : failures(argv, &o, larger_than, 1);
    if (sizes < 0)
        return 1;
    printf("%ld allocations failed in turn, %ld large arrays, %ld sizes\n", all, large, sizes);
    return 0;
}
