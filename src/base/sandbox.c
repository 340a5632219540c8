/* sandbox.c - the process gives up what it does not need any more: to open files, to make
 * processes, to talk to others.
 *
 * Two mechanisms of Linux, neither of which needs rights. A seccomp filter lists the system calls
 * that are left: reading and writing what is open, memory, the names of outputs, the end; any other
 * returns EPERM. Landlock is for what a filter cannot see, paths: names are made and removed in the
 * folders of the outputs and nowhere else. Limits of the kernel (RLIMIT_AS, RLIMIT_CPU) stand
 * behind our own. All of it holds for the rest of the process's life, and for all its threads but
 * for landlock, which binds the caller and what it starts.
 *
 * What the kernel lacks is left out with a note; on another system that is everything. The numbers
 * of the kernel's interface are written down here, because its headers are often missing (musl) or
 * older than the kernel. */
#include "base/internal.h"
#include "base/limits.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || \
    __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

static void lacks(Ctx *cx, const char *what, const char *why)
{
    keep_begin(cx); /* restarts forget notes of the evaluation */
    note(cx, NOTE_INFO, "the sandbox is without %s: %s", what, why);
    keep_end(cx);
}

#ifdef SANITIZED

/* A sanitizer reads /proc, starts processes and takes terabytes of addresses. */
void sandbox_enter(Ctx *cx) { lacks(cx, "all of its parts", "this build has a sanitizer"); }

#elif !defined(__linux__)

void sandbox_enter(Ctx *cx) { lacks(cx, "all of its parts", "they are Linux's"); }

#else

#include <errno.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- landlock ---- */

#ifdef SYS_landlock_create_ruleset

enum {
    REMOVE_FILE = 1 << 5,
    MAKE_FILE = 1 << 8,
    NET_ALL = 3,    /* bind and connect of TCP */
    SCOPED_ALL = 3, /* abstract Unix sockets and signals */
    RULE_PATH = 1,
    GET_VERSION = 1
};

/* The rights of files that version 1, 2, .. of landlock knows: what is handled is forbidden where
 * no rule allows it. */
static const uint64_t rights_of_files[] = { 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff };

typedef struct {
    uint64_t files, net, scoped;
} Ruleset;

typedef struct {
    uint64_t allowed;
    int32_t folder;
} __attribute__((packed)) FolderRule;

static size_t ruleset_size(long version)
{
    if (version < 4)
        return offsetof(Ruleset, net);
    return version < 6 ? offsetof(Ruleset, scoped) : sizeof(Ruleset);
}

static int make_ruleset(Ctx *cx, long version)
{
    size_t last = COUNT(rights_of_files);
    size_t known = (size_t)version < last ? (size_t)version : last;
    Ruleset handled = { rights_of_files[known - 1], NET_ALL, SCOPED_ALL };
    int rules = (int)syscall(SYS_landlock_create_ruleset, &handled, ruleset_size(version), 0);
    if (rules < 0)
        return -1;
    for (const OutFile *f = cx->outs; f; f = out_next(f)) {
        FolderRule rule = { REMOVE_FILE | MAKE_FILE, (int32_t)out_folder(f) };
        if (rule.folder >= 0 && syscall(SYS_landlock_add_rule, rules, RULE_PATH, &rule, 0) < 0) {
            close(rules);
            return -1;
        }
    }
    return rules;
}

static bool restrict_paths(Ctx *cx)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, GET_VERSION);
    int rules = version > 0 ? make_ruleset(cx, version) : -1;
    if (rules < 0)
        return false;
    bool ok = syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    int error = errno;
    close(rules);
    errno = error;
    return ok;
}

#else
static bool restrict_paths(Ctx *cx)
{
    (void)cx;
    errno = ENOSYS;
    return false;
}
#endif

/* ---- seccomp ---- */

#if defined(__x86_64__) && !defined(__ILP32__)
#define THIS_ARCH 0xC000003Eu
#elif defined(__aarch64__) && defined(__LP64__) && defined(__AARCH64EL__)
#define THIS_ARCH 0xC00000B7u
#elif defined(__riscv) && __riscv_xlen == 64
#define THIS_ARCH 0xC00000F3u
#endif

#if defined(THIS_ARCH) && defined(SYS_seccomp)

/* One instruction of the filter, as the kernel reads it. */
typedef struct {
    uint16_t code;
    uint8_t yes, no; /* instructions to skip */
    uint32_t k;
} Instruction;

typedef struct {
    uint16_t n;
    const Instruction *at;
} Filter;

enum { LOAD = 0x20, IF_EQUAL = 0x15, IF_ANY_BIT = 0x45, RETURN = 0x06 };
enum { NUMBER_AT = 0, ARCH_AT = 4, ARGUMENTS_AT = 16 }; /* in what the filter loads from */
enum { SET_FILTER = 1, ALL_THREADS = 1 };
static const uint32_t ALLOW = 0x7fff0000u, DENY = 0x00050000u | EPERM;

/* Calls that stay whatever their arguments: they only touch what is open, this process's memory
 * and time. Opened folders are all that the names of outputs are made in: landlock sees to that. */
static const uint32_t kept[] = {
    SYS_read,
    SYS_readv,
    SYS_pread64,
    SYS_write,
    SYS_writev,
    SYS_pwrite64,
    SYS_lseek,
    SYS_fstat,
    SYS_fstatfs,
    SYS_close,
    SYS_fallocate,
    SYS_fsync,
    SYS_fdatasync,
#ifdef SYS_sync_file_range
    SYS_sync_file_range,
#endif
    SYS_copy_file_range,
    SYS_sendfile,
    SYS_linkat,
    SYS_unlinkat,
    SYS_renameat2,
#ifdef SYS_renameat
    SYS_renameat,
#endif
#ifdef SYS_newfstatat
    SYS_newfstatat, /* glibc's fstat */
#endif
#ifdef SYS_statx
    SYS_statx,
#endif
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    SYS_futex,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_restart_syscall,
    SYS_getpid,
    SYS_gettid,
    SYS_clock_gettime,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_sched_yield,
    SYS_sysinfo, /* glibc's qsort asks for the size of memory */
#ifdef SYS_getrandom
    SYS_getrandom, /* glibc's malloc */
#endif
    SYS_exit,
    SYS_exit_group,
};

/* Calls that stay with some arguments only. */
typedef struct {
    uint32_t call, argument;
    uint16_t test;
    uint32_t k;
    bool allowed; /* where the test holds */
} Guarded;

enum { N_GUARDED = 4, FILTER_ROOM = 5 + 2 * (int)COUNT(kept) + 5 * N_GUARDED };

/* `if number is kept[i]: allow`, the guarded ones with their test, else deny; *n: how many. */
static void make_filter(Instruction *at, uint16_t *n)
{
    const uint32_t self = (uint32_t)getpid();
    const uint32_t thread = (uint32_t)syscall(SYS_gettid);
    const Guarded guarded[N_GUARDED] = {
        { SYS_mmap, 2, IF_ANY_BIT, PROT_EXEC, false },
        { SYS_mprotect, 2, IF_ANY_BIT, PROT_EXEC, false },
        { SYS_tgkill, 0, IF_EQUAL, self, true },  /* glibc's raise and abort */
        { SYS_tkill, 0, IF_EQUAL, thread, true }, /* musl's */
    };
    Instruction *p = at;
    *p++ = (Instruction){ LOAD, 0, 0, ARCH_AT };
    *p++ = (Instruction){ IF_EQUAL, 1, 0, THIS_ARCH };
    *p++ = (Instruction){ RETURN, 0, 0, DENY };
    *p++ = (Instruction){ LOAD, 0, 0, NUMBER_AT };
    for (size_t i = 0; i < COUNT(kept); i++) {
        *p++ = (Instruction){ IF_EQUAL, 0, 1, kept[i] };
        *p++ = (Instruction){ RETURN, 0, 0, ALLOW };
    }
    for (size_t i = 0; i < N_GUARDED; i++) {
        const Guarded *g = &guarded[i];
        *p++ = (Instruction){ IF_EQUAL, 0, 4, g->call };
        *p++ = (Instruction){ LOAD, 0, 0, ARGUMENTS_AT + 8 * g->argument };
        *p++ = (Instruction){ g->test, 0, 1, g->k };
        *p++ = (Instruction){ RETURN, 0, 0, g->allowed ? ALLOW : DENY };
        *p++ = (Instruction){ RETURN, 0, 0, g->allowed ? DENY : ALLOW };
    }
    *p++ = (Instruction){ RETURN, 0, 0, DENY };
    *n = (uint16_t)(p - at);
}

/* A thread that has filters of its own keeps this one from being set for all: then the caller has
 * it alone. */
static bool restrict_calls(void)
{
    Instruction at[FILTER_ROOM];
    Filter filter = { 0, at };
    make_filter(at, &filter.n);
    return syscall(SYS_seccomp, SET_FILTER, ALL_THREADS, &filter) == 0 ||
        syscall(SYS_seccomp, SET_FILTER, 0, &filter) == 0;
}

#else
static bool restrict_calls(void)
{
    errno = ENOSYS;
    return false;
}
#endif

/* ---- limits of the kernel ---- */

/* Address space beside the heap: weights that are computed lie there whole, a few at a time, and
 * may be some times as large as what the file has of them. */
enum { SPACE = 1 << 30, TIMES_INPUT = 16 };

/* Our own limit is on the time of one stage; the kernel ends what has taken as much for so many. */
enum { STAGES = 60 };

/* 0 where the system does not say. Without stdio: nothing else of a conversion needs its scanf. */
static uint64_t space_now(void)
{
    char text[128];
    uint64_t pages = 0;
    SysFile f = sys_open_read("/proc/self/statm");
    if (f == SYS_NONE)
        return 0;
    ptrdiff_t n = sys_read_at(f, text, sizeof text, 0);
    sys_close(f);
    for (ptrdiff_t i = 0; i < n && text[i] >= '0' && text[i] <= '9'; i++)
        pages = pages * 10 + (uint64_t)(text[i] - '0');
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t space_allowed(Ctx *cx)
{
    uint64_t heap = (uint64_t)cx->limit[LIMIT_HEAP];
    uint64_t space = space_now() + SPACE;
    uint64_t times;
    bool ok = uadd_ok(space, heap, &space) && uadd_ok(space, heap / 4, &space);
    for (const Source *s = cx->sources; ok && s; s = s->next)
        ok = s->kind != SRC_FILE ||
            (umul_ok(s->size, TIMES_INPUT, &times) && uadd_ok(space, times, &space));
    return ok ? space : UINT64_MAX;
}

static uint64_t seconds_allowed(Ctx *cx)
{
    struct timespec used = { 0 };
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    uint64_t seconds = (uint64_t)cx->limit[LIMIT_SECONDS];
    bool ok = umul_ok(seconds, STAGES, &seconds) &&
        uadd_ok(seconds, (uint64_t)used.tv_sec + 1, &seconds);
    return ok ? seconds : UINT64_MAX;
}

/* Is r above `most`? Then it is that; a limit is never raised. */
static bool lower(struct rlimit *r, uint64_t most)
{
    if (most >= r->rlim_cur)
        return false;
    r->rlim_cur = (rlim_t)most;
    return true;
}

static bool limit_space(Ctx *cx)
{
    struct rlimit r;
    return getrlimit(RLIMIT_AS, &r) == 0 &&
        (!lower(&r, space_allowed(cx)) || setrlimit(RLIMIT_AS, &r) == 0);
}

static bool limit_time(Ctx *cx)
{
    struct rlimit r;
    return getrlimit(RLIMIT_CPU, &r) == 0 &&
        (!lower(&r, seconds_allowed(cx)) || setrlimit(RLIMIT_CPU, &r) == 0);
}

/* base.h says what this is. The order matters: a filter would refuse all that stands before it. */
void sandbox_enter(Ctx *cx)
{
    if (!limit_space(cx))
        lacks(cx, "a limit of its memory", strerror(errno));
    if (!limit_time(cx))
        lacks(cx, "a limit of its time", strerror(errno));
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
        lacks(cx, "landlock and seccomp", strerror(errno));
        return;
    }
    if (!restrict_paths(cx))
        lacks(cx, "landlock", strerror(errno));
    if (!restrict_calls())
        lacks(cx, "seccomp", strerror(errno));
}

#endif
