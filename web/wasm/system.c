/* system.c - the parts of a POSIX system that emscripten's C library leaves out, in a browser
 * (blobfs.js) and in Node (nodefs.js). */
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>
#include "base/system.h"

/* ---- blobfs.js, nodefs.js ---- */

double web_copy(int from, double at, int to, double n); /* bytes, or -1: read and write instead */
int web_read(int from, double at, void *out, size_t n); /* bytes, or -1 */

/* ---- the system ---- */

/* emscripten's own (3.1) forgets the upper half of the offset. */
ssize_t pread(int from, void *out, size_t n, off_t at)
{
    int got = web_read(from, (double)at, out, n);
    if (got < 0)
        errno = EIO;
    return got;
}

/* Weights do not pass through our memory: a Blob gets a slice of a Blob, and Node copies a piece at a
 * time. */
ptrdiff_t sys_copy(int way, SysFile to, SysFile from, uint64_t at, size_t n)
{
    double put = way == 0 ? web_copy((int)from, (double)at, (int)to, (double)n) : -1;
    return put >= 0 ? (ptrdiff_t)put : SYS_CANNOT;
}

/* A browser's thread has about 1 MB of stack for calls, and our own stack in memory is used a
 * little slower than that one: the library must stop before the browser does. */
int getrlimit(int what, struct rlimit *limit)
{
    enum { STACK = 768 << 10 };
    *limit = (struct rlimit){ RLIM_INFINITY, RLIM_INFINITY };
    if (what == RLIMIT_STACK)
        limit->rlim_cur = limit->rlim_max = STACK;
    return 0;
}
