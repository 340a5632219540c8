/* slow_clock.c - with cli/ a build of the program on whose clock a quarter of a second goes by
 * between two looks: all work takes long, on any machine. */
#include <time.h>

static struct timespec processor_time(void)
{
    clock_t used = clock();
    long rest = (long)(used % CLOCKS_PER_SEC);
    return (struct timespec){ .tv_sec = used / CLOCKS_PER_SEC,
                              .tv_nsec = rest * (1000000000 / CLOCKS_PER_SEC) };
}

/* The program's calls come here before they reach libc's. */
int clock_gettime(clockid_t of, struct timespec *now)
{
    static long looks;
    if (of != CLOCK_MONOTONIC) {
        *now = processor_time();
        return 0;
    }
    looks++;
    *now = (struct timespec){ .tv_sec = looks / 4, .tv_nsec = looks % 4 * 250000000 };
    return 0;
}
