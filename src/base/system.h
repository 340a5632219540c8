/* system.h - what the library and the program ask of the operating system: files and folders by
 * path, pages of memory, clocks, the stack.
 *
 * system_posix.c answers for Linux, macOS and WebAssembly, system_windows.c for Windows; all other
 * code of src and cli is standard C (tools/check-layers), but for the sandbox, which is Linux's. A
 * path is UTF-8 on Windows, of any length, and bytes elsewhere. What fails sets errno to a code
 * that strerror has words for. Nothing here knows a context. */
#ifndef PT2ONNX_SYSTEM_H
#define PT2ONNX_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An open file or folder: a descriptor, or a HANDLE of Windows. */
typedef intptr_t SysFile;
enum {
    SYS_NONE = -1,     /* no file */
    SYS_NAME_MAX = 255 /* bytes of a name that a path may have in most file systems */
};

typedef enum { SYS_REGULAR, SYS_FOLDER, SYS_OTHER } SysKind; /* a pipe, a device */
typedef struct SysInfo {
    SysKind kind;
    uint64_t size;
    int64_t modified;    /* in seconds since 1970 */
    uint64_t device, id; /* equal for equal files */
} SysInfo;

/* ---- files ---- */

bool sys_info(SysFile f, SysInfo *out);
bool sys_path_info(const char *path, SysInfo *out); /* of what links lead to */
static inline bool sys_same(const SysInfo *a, const SysInfo *b)
{
    return a->device == b->device && a->id == b->id;
}

/* SYS_NONE on failure. A pipe is opened too, without a wait for its writer. */
SysFile sys_open_read(const char *path);
/* What is there already: a pipe or a device. A pipe waits here for its reader. */
SysFile sys_open_write(const char *path);
SysFile sys_standard_output(void);
bool sys_close(SysFile f);

/* Bytes read, 0 at the end of the file, -1 on failure; fewer than n too. */
ptrdiff_t sys_read_at(SysFile f, void *out, size_t n, uint64_t at);
ptrdiff_t sys_write(SysFile f, const void *p, size_t n);

/* Bytes that the kernel has copied from `at` in one file to the end of what is written in another:
 * fewer than n, 0 where it does not say why it cannot (the file has become shorter), -1 on failure.
 * SYS_CANNOT: not between these two in this way; then the next of SYS_WAYS is tried, or the bytes
 * are read and written. */
enum { SYS_WAYS = 3, SYS_CANNOT = -2 };
ptrdiff_t sys_copy(int way, SysFile to, SysFile from, uint64_t at, size_t n);

/* n bytes follow behind what is written of f: a file system that writes known places faster sets
 * them aside. The file does not become longer, and where there is no room nothing is said. */
#ifdef __linux__
void sys_reserve(SysFile f, uint64_t n);
#else
static inline void sys_reserve(SysFile f, uint64_t n) { (void)f, (void)n; }
#endif

/* n written bytes from `at` on are on their way to the disk, as far as the system knows how:
 * whoever writes more meanwhile waits less in sys_sync. */
#ifdef __linux__
void sys_sync_soon(SysFile f, uint64_t at, uint64_t n);
#else
static inline void sys_sync_soon(SysFile f, uint64_t at, uint64_t n) { (void)f, (void)at, (void)n; }
#endif

/* What was written is on the disk: some file systems tell only here that it is full. Of a folder,
 * the names in it. */
bool sys_sync(SysFile f);

/* ---- folders: names in one that is open, wherever its path leads by then ---- */

SysFile sys_open_folder(const char *path);
bool sys_make_folder(const char *path);
bool sys_info_in(SysFile folder, const char *name, SysInfo *out); /* of what links lead to */
bool sys_has_name(SysFile folder, const char *name); /* a link too that leads nowhere */
/* A new file, for writing: EEXIST where something has its name. On Windows it is gone when the
 * process ends before sys_rename_in. */
SysFile sys_create_in(SysFile folder, const char *name);
/* A file that has no name yet, and is gone when the process ends before sys_name_in; SYS_NONE where
 * the system has no such files. */
SysFile sys_create_unnamed(SysFile folder);
bool sys_name_in(SysFile f, SysFile folder, const char *name); /* replaces nothing: EEXIST */
/* f, made by sys_create_in, gets another name, and replaces the file that has it. */
bool sys_rename_in(SysFile f, SysFile folder, const char *from, const char *to);
bool sys_remove_in(SysFile folder, const char *name); /* safe in a handler of signals */
/* What the symbolic link at `path` says, in room bytes, without a NUL; -1: it is none. */
ptrdiff_t sys_read_link(const char *path, char *out, size_t room);

/* ---- paths ---- */

/* Bytes up to the last separator of folders and that one: 4 of "a/b/c", 0 of "c". On Windows \ and
 * the colon of a drive are separators too. */
size_t sys_folder_length(const char *path);
static inline const char *sys_base(const char *path) { return path + sys_folder_length(path); }
bool sys_is_absolute(const char *path);

/* ---- memory ---- */

enum { SYS_PAGE = 4096, SYS_HUGE_PAGE = 2 << 20 };
/* Are there sys_pages and sys_map? Where memory cannot grow without a copy malloc does as well. */
#ifdef __linux__
enum { SYS_MAPS = 1 };
/* n bytes of zeros, no page of which takes memory before it is touched. */
uint8_t *sys_pages(size_t n);
/* n bytes of zeros whose second page begins a huge page; NULL: there are none. They grow without a
 * copy, to another place perhaps; NULL then leaves them as they were. */
uint8_t *sys_map(size_t n);
uint8_t *sys_map_grow(uint8_t *p, size_t old, size_t n);
void sys_unmap(uint8_t *p, size_t n);
/* Pages that lie wholly in these n bytes, of sys_map or malloc, go back to the system. */
void sys_discard(uint8_t *p, size_t n);
#else
enum { SYS_MAPS = 0 };
static inline uint8_t *sys_pages(size_t n)
{
    (void)n;
    return NULL;
}
static inline uint8_t *sys_map(size_t n)
{
    (void)n;
    return NULL;
}
static inline uint8_t *sys_map_grow(uint8_t *p, size_t old, size_t n)
{
    (void)p, (void)old, (void)n;
    return NULL;
}
static inline void sys_unmap(uint8_t *p, size_t n) { (void)p, (void)n; }
static inline void sys_discard(uint8_t *p, size_t n) { (void)p, (void)n; }
#endif
/* The first place of a text in memory, the last place of a byte; NULL: there is none. */
const void *sys_find(const void *in, size_t n_in, const void *what, size_t n);
const void *sys_find_last(const void *in, size_t n, char byte);

/* ---- time, process, stack ---- */

int64_t sys_thread_ns(void); /* of processor time that the thread has used */
double sys_seconds(void);    /* of a clock that is never set */
int64_t sys_now(void);       /* seconds since 1970 */
void sys_sleep_ms(int ms);
long sys_process(void); /* its number */

/* How much of the calling thread's stack lies below `here`, an address in it; 0: the system does
 * not say, or a coroutine runs on memory of its own. */
size_t sys_stack_below(uintptr_t here);

#endif
