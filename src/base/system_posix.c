/* system_posix.c - system.h by POSIX, for Linux, macOS and WebAssembly. Linux has more: copies
 * inside of the kernel, files without a name, memory that grows without a copy. */
#ifndef _WIN32
#include "base/system.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/auxv.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#endif

enum { NS_PER_S = 1000000000 };

/* ---- files ---- */

static SysInfo info_of(const struct stat *st)
{
    SysInfo info = { .size = (uint64_t)st->st_size,
                     .modified = st->st_mtime,
                     .device = (uint64_t)st->st_dev,
                     .id = st->st_ino };
    info.kind = S_ISDIR(st->st_mode) ? SYS_FOLDER : SYS_OTHER;
    if (S_ISREG(st->st_mode))
        info.kind = SYS_REGULAR;
    return info;
}

bool sys_info(SysFile f, SysInfo *out)
{
    struct stat st;
    if (fstat((int)f, &st) < 0)
        return false;
    *out = info_of(&st);
    return true;
}

bool sys_path_info(const char *path, SysInfo *out)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return false;
    *out = info_of(&st);
    return true;
}

SysFile sys_open_read(const char *path) { return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); }
SysFile sys_open_write(const char *path) { return open(path, O_WRONLY | O_CLOEXEC); }
SysFile sys_standard_output(void) { return STDOUT_FILENO; }
bool sys_close(SysFile f) { return close((int)f) == 0; }

ptrdiff_t sys_read_at(SysFile f, void *out, size_t n, uint64_t at)
{
    ssize_t got;
    do {
        got = pread((int)f, out, n, (off_t)at);
    } while (got < 0 && errno == EINTR);
    return got;
}

/* For a write of several MB the cache takes blocks of 2 MB and more. In a virtual machine, where
 * the host may have to give these anew, that took up to three times as long; and from 1 MB on
 * larger writes are no faster. */
enum { WRITE_MOST = 1 << 20 };

ptrdiff_t sys_write(SysFile f, const void *p, size_t n)
{
    ssize_t put;
    n = n < WRITE_MOST ? n : WRITE_MOST;
    do {
        put = write((int)f, p, n);
    } while (put < 0 && errno == EINTR);
    return put;
}

#ifdef __linux__
enum { COPY_MAPPED, COPY_RANGE, COPY_SENDFILE }; /* ways */

enum {
    MAPPED_LEAST = 128 << 10, /* less is no faster than the other ways */
    MAPPED_MOST = 4 << 20,    /* at a time: it counts as memory of the process */
    MAP_STEP = 64 << 10       /* a multiple of every size of pages that Linux has */
};

/* What statfs(2) says of ext4, and of ext2 and ext3. */
enum { EXT4 = 0xEF53 };

/* Can the kernel not copy between these two files this way? */
static bool not_this_way(int e)
{
    return e == EXDEV || e == EINVAL || e == ENOSYS || e == EOPNOTSUPP || e == EBADF ||
        e == EPERM || e == EIO || e == ETXTBSY || e == EFAULT;
}

/* Has a file system something better than a copy? One that shares blocks does so where the bytes
 * lie at the same places of their blocks in both files; where another machine or process keeps the
 * files, that one can copy. The numbers are those of statfs(2). */
static bool copies_itself(SysFile to, SysFile from, uint64_t at)
{
    static const struct {
        uint32_t type;
        bool any_place;
    } known[] = {
        { 0x9123683E /* btrfs */, false },    { 0x58465342 /* XFS */, false },
        { 0xCA451A4E /* bcachefs */, false }, { 0x2FC12FC1 /* ZFS */, false },
        { 0x794C7630 /* overlay */, false },  { 0x6969 /* NFS */, true },
        { 0x517B /* SMB */, true },           { 0xFF534D42 /* CIFS */, true },
        { 0xFE534D42 /* SMB 2 */, true },     { 0x00C36400 /* Ceph */, true },
        { 0x65735546 /* FUSE */, true },
    };
    struct statfs info;
    off_t end = lseek((int)to, 0, SEEK_CUR); /* -1 for a pipe */
    if (end < 0 || fstatfs((int)from, &info) < 0)
        return true;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].type == (uint32_t)info.f_type)
            return known[i].any_place || ((uint64_t)end ^ at) % SYS_PAGE == 0;
    return false;
}

/* Bytes written of n, fewer only where a write fails: then -1 if it is the first. */
static ssize_t write_pieces(SysFile to, const uint8_t *p, size_t n)
{
    size_t done = 0;
    while (done < n) {
        ptrdiff_t put = sys_write(to, p + done, n - done);
        if (put < 0 && done == 0)
            return -1;
        if (put <= 0)
            break;
        done += (size_t)put;
    }
    return (ssize_t)done;
}

/* Writes pages of the input that are mapped until it is done. From file to file the kernel copies
 * page by page, two for each where the places differ; one large write takes large pages of the
 * cache, which cost less here and in sync. Only the kernel looks into the mapping: of a file that
 * has become shorter it says EFAULT, and gives no signal. The last page has zeros behind such a
 * file's end: 0 then, so that reading tells. */
static ssize_t write_mapped(SysFile to, SysFile from, uint64_t at, size_t n)
{
    size_t lead = (size_t)(at % MAP_STEP);
    n = n < MAPPED_MOST ? n : MAPPED_MOST;
    void *p = MAP_FAILED;
    if (n >= MAPPED_LEAST && !copies_itself(to, from, at))
        p = mmap(NULL, lead + n, PROT_READ, MAP_SHARED | MAP_POPULATE, (int)from,
                 (off_t)(at - lead));
    if (p == MAP_FAILED) {
        errno = EOPNOTSUPP;
        return -1;
    }
    ssize_t put = write_pieces(to, (uint8_t *)p + lead, n);
    int error = errno;
    munmap(p, lead + n);
    SysInfo now;
    if (put > 0 && !(sys_info(from, &now) && now.size >= at + (uint64_t)put))
        return 0;
    errno = error;
    return put;
}

/* By its number: glibc may be older than its function, 2.27. */
static ssize_t copy_range(int to, int from, off_t at, size_t n)
{
    return (ssize_t)syscall(SYS_copy_file_range, from, &at, to, NULL, n, 0L);
}

static ssize_t copy_once(int way, SysFile to, SysFile from, uint64_t at, size_t n)
{
    off_t offset = (off_t)at;
    if (way == COPY_MAPPED)
        return write_mapped(to, from, at, n);
    return way == COPY_RANGE ? copy_range((int)to, (int)from, offset, n)
                             : sendfile((int)to, (int)from, &offset, n);
}

ptrdiff_t sys_copy(int way, SysFile to, SysFile from, uint64_t at, size_t n)
{
    ssize_t put;
    do {
        put = copy_once(way, to, from, at, n);
    } while (put < 0 && errno == EINTR);
    return put < 0 && not_this_way(errno) ? SYS_CANNOT : put;
}

/* ext4 decides where bytes go when it writes them to the disk, and until then keeps account of each
 * page: a fifth of a copy's time. Other file systems are left to themselves: one that shares
 * blocks or compresses has no use for places. */
void sys_reserve(SysFile f, uint64_t n)
{
    struct statfs info;
    off_t end = lseek((int)f, 0, SEEK_CUR); /* -1 for a pipe */
    if (end < 0 || n > INT64_MAX - (uint64_t)end || fstatfs((int)f, &info) < 0)
        return;
    if ((uint32_t)info.f_type == EXT4)
        (void)!fallocate((int)f, FALLOC_FL_KEEP_SIZE, end, (off_t)n);
}

void sys_sync_soon(SysFile f, uint64_t at, uint64_t n)
{
    (void)!sync_file_range((int)f, (off_t)at, (off_t)n, SYNC_FILE_RANGE_WRITE);
}
#elif !defined(__EMSCRIPTEN__) /* web/wasm/system.c */
ptrdiff_t sys_copy(int way, SysFile to, SysFile from, uint64_t at, size_t n)
{
    (void)way, (void)to, (void)from, (void)at, (void)n;
    return SYS_CANNOT;
}
#endif

/* On macOS fsync leaves the bytes in the memory of the disk. */
bool sys_sync(SysFile f)
{
#ifdef F_FULLFSYNC
    if (fcntl((int)f, F_FULLFSYNC) == 0)
        return true;
#endif
    return fsync((int)f) == 0;
}

/* ---- folders ---- */

/* A folder that may be written but not listed is opened without reading; it cannot be synced. */
SysFile sys_open_folder(const char *path)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
#ifdef O_PATH
    if (folder < 0 && errno == EACCES)
        folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
#endif
    return folder;
}

bool sys_make_folder(const char *path) { return mkdir(path, 0777) == 0; }

bool sys_info_in(SysFile folder, const char *name, SysInfo *out)
{
    struct stat st;
    if (fstatat((int)folder, name, &st, 0) < 0)
        return false;
    *out = info_of(&st);
    return true;
}

bool sys_has_name(SysFile folder, const char *name)
{
    struct stat st;
    return fstatat((int)folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

SysFile sys_create_in(SysFile folder, const char *name)
{
    return openat((int)folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

#ifdef O_TMPFILE
/* An open file as a path, which linkat follows to it. */
typedef struct {
    char s[32];
} FdPath;

static FdPath fd_path(int fd)
{
    FdPath path;
    snprintf(path.s, sizeof path.s, "/proc/self/fd/%d", fd);
    return path;
}

/* Without /proc a file that has no name cannot get one. */
SysFile sys_create_unnamed(SysFile folder)
{
    int fd = openat((int)folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (fd < 0 || access(fd_path(fd).s, F_OK) == 0)
        return fd;
    close(fd);
    return SYS_NONE;
}

bool sys_name_in(SysFile f, SysFile folder, const char *name)
{
    return linkat(AT_FDCWD, fd_path((int)f).s, (int)folder, name, AT_SYMLINK_FOLLOW) == 0;
}
#else
SysFile sys_create_unnamed(SysFile folder)
{
    (void)folder;
    return SYS_NONE;
}

bool sys_name_in(SysFile f, SysFile folder, const char *name)
{
    (void)f, (void)folder, (void)name;
    errno = ENOSYS;
    return false;
}
#endif

bool sys_rename_in(SysFile f, SysFile folder, const char *from, const char *to)
{
    (void)f;
    return renameat((int)folder, from, (int)folder, to) == 0;
}

bool sys_remove_in(SysFile folder, const char *name) { return unlinkat((int)folder, name, 0) == 0; }

ptrdiff_t sys_read_link(const char *path, char *out, size_t room)
{
    return readlink(path, out, room);
}

/* ---- paths ---- */

size_t sys_folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

bool sys_is_absolute(const char *path) { return path[0] == '/'; }

/* ---- memory ---- */

#ifdef __linux__
uint8_t *sys_pages(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* Addresses for n bytes whose second page begins a huge page; nothing lies there yet. */
static uint8_t *aligned_addresses(size_t n)
{
    uint8_t *all = mmap(NULL, n + SYS_HUGE_PAGE, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED)
        return NULL;
    size_t skip = SYS_HUGE_PAGE - 1 - ((uintptr_t)all + SYS_PAGE - 1) % SYS_HUGE_PAGE;
    if (skip)
        munmap(all, skip);
    munmap(all + skip + n, SYS_HUGE_PAGE - skip);
    return all + skip;
}

/* All of it, the small page too: the system moves no more than one mapping at a time. */
static void wish_huge(uint8_t *p, size_t n) { (void)!madvise(p, n, MADV_HUGEPAGE); }

uint8_t *sys_map(size_t n)
{
    uint8_t *p = aligned_addresses(n);
    if (!p)
        return NULL;
    if (mmap(p, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
        MAP_FAILED) {
        munmap(p, n);
        return NULL;
    }
    wish_huge(p, n);
    return p;
}

uint8_t *sys_map_grow(uint8_t *p, size_t old, size_t n)
{
    uint8_t *moved = mremap(p, old, n, 0);
    if (moved == MAP_FAILED) {
        uint8_t *room = aligned_addresses(n);
        moved = room ? mremap(p, old, n, MREMAP_MAYMOVE | MREMAP_FIXED, room) : MAP_FAILED;
        if (room && moved == MAP_FAILED)
            munmap(room, n);
    }
    if (moved == MAP_FAILED)
        return NULL;
    wish_huge(moved, n);
    return moved;
}

void sys_unmap(uint8_t *p, size_t n) { munmap(p, n); }

void sys_discard(uint8_t *p, size_t n)
{
    uint8_t *end = (uint8_t *)((uintptr_t)(p + n) & ~(uintptr_t)(SYS_PAGE - 1));
    p = (uint8_t *)(((uintptr_t)p + SYS_PAGE - 1) & ~(uintptr_t)(SYS_PAGE - 1));
    if (p < end)
        (void)!madvise(p, (size_t)(end - p), MADV_DONTNEED);
}
#endif

const void *sys_find(const void *in, size_t n_in, const void *what, size_t n)
{
    return memmem(in, n_in, what, n);
}

const void *sys_find_last(const void *in, size_t n, char byte)
{
#ifdef __APPLE__
    const char *at = in;
    while (n > 0 && at[n - 1] != byte)
        n--;
    return n > 0 ? at + n - 1 : NULL;
#else
    return memrchr(in, byte, n);
#endif
}

/* ---- time, process, stack ---- */

int64_t sys_thread_ns(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0
        ? (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec
        : 0;
}

double sys_seconds(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_MONOTONIC, &t) == 0 ? (double)t.tv_sec + (double)t.tv_nsec * 1e-9
                                                   : 0;
}

int64_t sys_now(void) { return time(NULL); }

void sys_sleep_ms(int ms)
{
    const struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };
    nanosleep(&t, NULL);
}

long sys_process(void) { return getpid(); }

#if defined(__linux__)
/* To ask for the main thread's stack means to read /proc/self/maps or to try page by page, which is
 * a twentieth of a small conversion. It ends just above the name of the program, which the kernel
 * has put there, and is as long as the limit says; below that are 128 MB that nothing is mapped
 * into. 0: not the main thread, or a limit beyond that. */
static size_t stack_of_main(uintptr_t here)
{
    const rlim_t most = 64 << 20;
    uintptr_t highest = (uintptr_t)getauxval(AT_EXECFN);
    struct rlimit r;
    if (syscall(SYS_gettid) != getpid() || highest < here)
        return 0;
    if (getrlimit(RLIMIT_STACK, &r) != 0 || r.rlim_cur > most || highest - here >= r.rlim_cur)
        return 0;
    return (size_t)r.rlim_cur - (size_t)(highest - here);
}
#endif

/* 8 MB of the main thread, often less of others. */
static size_t stack_of_thread(uintptr_t here)
{
    size_t below = 0;
#if defined(__linux__)
    pthread_attr_t attr;
    void *lowest = NULL;
    size_t size = 0;
    below = stack_of_main(here);
    if (below)
        return below;
    if (pthread_getattr_np(pthread_self(), &attr) != 0)
        return 0;
    if (pthread_attr_getstack(&attr, &lowest, &size) == 0 && here - (uintptr_t)lowest < size)
        below = (size_t)(here - (uintptr_t)lowest);
    pthread_attr_destroy(&attr);
#elif defined(__APPLE__)
    uintptr_t highest = (uintptr_t)pthread_get_stackaddr_np(pthread_self());
    size_t size = pthread_get_stacksize_np(pthread_self());
    if (highest - here < size)
        below = size - (size_t)(highest - here);
#else
    (void)here;
#endif
    return below;
}

size_t sys_stack_below(uintptr_t here)
{
    struct rlimit r;
    size_t below = stack_of_thread(here);
    if (!below && getrlimit(RLIMIT_STACK, &r) == 0 && r.rlim_cur != RLIM_INFINITY)
        below = (size_t)r.rlim_cur;
    return below;
}
#endif
