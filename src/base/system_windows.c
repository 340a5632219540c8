/* system_windows.c - system.h by the wide functions of Windows 7 and later.
 *
 * A path of the caller's becomes one that begins with \\?\, so that it may be longer than 260
 * characters. An output is marked for deletion from its making until it gets its name: the system
 * removes it when its process ends, however that happens. */
#ifdef _WIN32
#include "base/system.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <windows.h>

#include <winternl.h>

enum { SHARED = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE };

static HANDLE handle_of(SysFile f) { return (HANDLE)f; }

/* ---- errors ---- */

/* errno, of the system's last error; false. */
static bool failed(void)
{
    static const struct {
        DWORD error;
        int number;
    } known[] = {
        { ERROR_FILE_NOT_FOUND, ENOENT },
        { ERROR_PATH_NOT_FOUND, ENOENT },
        { ERROR_INVALID_NAME, EINVAL },
        { ERROR_BAD_PATHNAME, EINVAL },
        { ERROR_BAD_NETPATH, ENOENT },
        { ERROR_BAD_NET_NAME, ENOENT },
        { ERROR_INVALID_DRIVE, ENOENT },
        { ERROR_NOT_READY, ENOENT },
        { ERROR_ACCESS_DENIED, EACCES },
        { ERROR_SHARING_VIOLATION, EACCES },
        { ERROR_LOCK_VIOLATION, EACCES },
        { ERROR_DELETE_PENDING, EACCES },
        { ERROR_WRITE_PROTECT, EROFS },
        { ERROR_FILE_EXISTS, EEXIST },
        { ERROR_ALREADY_EXISTS, EEXIST },
        { ERROR_DISK_FULL, ENOSPC },
        { ERROR_HANDLE_DISK_FULL, ENOSPC },
        { ERROR_NOT_ENOUGH_MEMORY, ENOMEM },
        { ERROR_OUTOFMEMORY, ENOMEM },
        { ERROR_COMMITMENT_LIMIT, ENOMEM },
        { ERROR_BROKEN_PIPE, EPIPE },
        { ERROR_NO_DATA, EPIPE },
        { ERROR_FILE_TOO_LARGE, EFBIG },
        { ERROR_DIRECTORY, ENOTDIR },
        { ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG },
        { ERROR_TOO_MANY_OPEN_FILES, EMFILE },
        { ERROR_INVALID_PARAMETER, EINVAL },
        { ERROR_INVALID_HANDLE, EBADF },
        { ERROR_NO_UNICODE_TRANSLATION, EILSEQ },
    };
    DWORD error = GetLastError();
    errno = EIO;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].error == error)
            errno = known[i].number;
    return false;
}

static SysFile opened(HANDLE h)
{
    if (h == INVALID_HANDLE_VALUE)
        failed();
    return (SysFile)h;
}

/* ---- wide texts: the caller frees them ---- */

static wchar_t *wide(const char *text)
{
    int n = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
    wchar_t *w = n > 0 ? malloc((size_t)n * sizeof *w) : NULL;
    if (w)
        MultiByteToWideChar(CP_UTF8, 0, text, -1, w, n);
    else
        failed();
    return w;
}

static wchar_t *joined(const wchar_t *a, const wchar_t *b)
{
    size_t n = wcslen(a);
    size_t m = wcslen(b) + 1;
    wchar_t *w = malloc((n + m) * sizeof *w);
    if (w) {
        memcpy(w, a, n * sizeof *w);
        memcpy(w + n, b, m * sizeof *w);
    }
    return w;
}

/* The path of something in the namespace of the system, without its limit of length: C:\a\b is
 * \\?\C:\a\b, \\server\a is \\?\UNC\server\a; what begins with \\?\ or \\.\, as NUL does, stays. */
static wchar_t *without_limit(const wchar_t *path)
{
    DWORD n = GetFullPathNameW(path, 0, NULL, NULL);
    wchar_t *full = n ? malloc(n * sizeof *full) : NULL;
    if (!full || !GetFullPathNameW(path, n, full, NULL)) {
        failed();
        free(full);
        return NULL;
    }
    bool network = wcsncmp(full, L"\\\\", 2) == 0;
    if (network && (full[2] == L'?' || full[2] == L'.') && full[3] == L'\\')
        return full;
    wchar_t *out = joined(network ? L"\\\\?\\UNC" : L"\\\\?\\", network ? full + 1 : full);
    free(full);
    return out;
}

static wchar_t *path_of(const char *path)
{
    wchar_t *w = wide(path);
    if (w && !*w) { /* GetFullPathNameW takes it for the current folder */
        SetLastError(ERROR_FILE_NOT_FOUND);
        failed();
        free(w);
        return NULL;
    }
    wchar_t *out = w ? without_limit(w) : NULL;
    free(w);
    return out;
}

/* ---- files ---- */

static int64_t seconds_of(FILETIME t)
{
    uint64_t ticks = (uint64_t)t.dwHighDateTime << 32 | t.dwLowDateTime; /* of 100 ns, since 1601 */
    return (int64_t)(ticks / 10000000) - 11644473600;
}

bool sys_info(SysFile f, SysInfo *out)
{
    BY_HANDLE_FILE_INFORMATION info;
    *out = (SysInfo){ .kind = SYS_OTHER };
    if (GetFileType(handle_of(f)) != FILE_TYPE_DISK)
        return true;
    if (!GetFileInformationByHandle(handle_of(f), &info))
        return failed();
    bool folder = info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY;
    out->kind = folder ? SYS_FOLDER : SYS_REGULAR;
    out->size = (uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow;
    out->modified = seconds_of(info.ftLastWriteTime);
    out->device = info.dwVolumeSerialNumber;
    out->id = (uint64_t)info.nFileIndexHigh << 32 | info.nFileIndexLow;
    return true;
}

/* Opens what is there: a folder too, which wants the flag of backups. */
static SysFile open_there(wchar_t *path, DWORD rights)
{
    if (!path)
        return SYS_NONE;
    HANDLE h = CreateFileW(path, rights, SHARED, NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS,
                           NULL);
    free(path);
    return opened(h);
}

/* Of a file that was opened for it alone. */
static bool info_and_close(SysFile f, SysInfo *out)
{
    bool ok = f != SYS_NONE && sys_info(f, out);
    if (f != SYS_NONE)
        sys_close(f);
    return ok;
}

bool sys_path_info(const char *path, SysInfo *out)
{
    return info_and_close(open_there(path_of(path), FILE_READ_ATTRIBUTES), out);
}

SysFile sys_open_read(const char *path) { return open_there(path_of(path), GENERIC_READ); }
SysFile sys_open_write(const char *path) { return open_there(path_of(path), GENERIC_WRITE); }
SysFile sys_standard_output(void) { return (SysFile)GetStdHandle(STD_OUTPUT_HANDLE); }
bool sys_close(SysFile f) { return CloseHandle(handle_of(f)) || failed(); }

static DWORD at_most(size_t n) { return n < 1 << 30 ? (DWORD)n : 1 << 30; }

ptrdiff_t sys_read_at(SysFile f, void *out, size_t n, uint64_t at)
{
    OVERLAPPED place = { .Offset = (DWORD)at, .OffsetHigh = (DWORD)(at >> 32) };
    DWORD got;
    if (ReadFile(handle_of(f), out, at_most(n), &got, &place))
        return (ptrdiff_t)got;
    if (GetLastError() == ERROR_HANDLE_EOF)
        return 0;
    failed();
    return -1;
}

ptrdiff_t sys_write(SysFile f, const void *p, size_t n)
{
    DWORD put;
    if (WriteFile(handle_of(f), p, at_most(n), &put, NULL))
        return (ptrdiff_t)put;
    failed();
    return -1;
}

/* Windows copies whole files only, but for ReFS. */
ptrdiff_t sys_copy(int way, SysFile to, SysFile from, uint64_t at, size_t n)
{
    (void)way, (void)to, (void)from, (void)at, (void)n;
    return SYS_CANNOT;
}

/* A folder is opened to read: the file system's journal is what keeps its names. */
bool sys_sync(SysFile f) { return FlushFileBuffers(handle_of(f)) || failed(); }

/* ---- folders ---- */

static bool done(NTSTATUS status)
{
    if (status >= 0)
        return true;
    SetLastError(RtlNtStatusToDosError(status));
    return failed();
}

/* A name in an open folder: only the system's inner function has that. `how` is FILE_OPEN, of what
 * is there, or FILE_CREATE. */
static SysFile open_in(SysFile folder, const char *name, ACCESS_MASK rights, ULONG how,
                       ULONG options)
{
    wchar_t *w = wide(name);
    if (w && wcslen(w) > SYS_NAME_MAX) {
        errno = ENAMETOOLONG;
        free(w);
        return SYS_NONE;
    }
    if (!w)
        return SYS_NONE;
    UNICODE_STRING text;
    OBJECT_ATTRIBUTES object;
    IO_STATUS_BLOCK status;
    HANDLE h = NULL;
    RtlInitUnicodeString(&text, w);
    InitializeObjectAttributes(&object, &text, OBJ_CASE_INSENSITIVE, handle_of(folder), NULL);
    bool ok = done(NtCreateFile(&h, rights | SYNCHRONIZE, &object, &status, NULL,
                                FILE_ATTRIBUTE_NORMAL, SHARED, how,
                                options | FILE_SYNCHRONOUS_IO_NONALERT, NULL, 0));
    free(w);
    return ok ? (SysFile)h : SYS_NONE;
}

SysFile sys_open_folder(const char *path)
{
    SysInfo info;
    SysFile f = open_there(path_of(path), FILE_TRAVERSE | FILE_READ_ATTRIBUTES);
    if (f == SYS_NONE || (sys_info(f, &info) && info.kind == SYS_FOLDER))
        return f;
    sys_close(f);
    errno = ENOTDIR;
    return SYS_NONE;
}

bool sys_make_folder(const char *path)
{
    wchar_t *w = path_of(path);
    bool ok = w && (CreateDirectoryW(w, NULL) || failed());
    free(w);
    return ok;
}

bool sys_info_in(SysFile folder, const char *name, SysInfo *out)
{
    return info_and_close(open_in(folder, name, FILE_READ_ATTRIBUTES, FILE_OPEN, 0), out);
}

bool sys_has_name(SysFile folder, const char *name)
{
    SysFile f = open_in(folder, name, FILE_READ_ATTRIBUTES, FILE_OPEN, FILE_OPEN_REPARSE_POINT);
    return f != SYS_NONE && sys_close(f);
}

static bool mark_for_deletion(SysFile f, bool marked)
{
    FILE_DISPOSITION_INFO info = { .DeleteFile = marked };
    return SetFileInformationByHandle(handle_of(f), FileDispositionInfo, &info, sizeof info);
}

/* Where a file system cannot mark it the file is removed as elsewhere, by outs_discard. */
SysFile sys_create_in(SysFile folder, const char *name)
{
    SysFile f = open_in(folder, name, GENERIC_WRITE | DELETE, FILE_CREATE, FILE_NON_DIRECTORY_FILE);
    if (f != SYS_NONE)
        mark_for_deletion(f, true);
    return f;
}

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

/* The file stays open, so that nobody else gets between its last byte and its name. */
bool sys_rename_in(SysFile f, SysFile folder, const char *from, const char *to)
{
    const FILE_INFORMATION_CLASS rename_information = 10;
    (void)from;
    IO_STATUS_BLOCK status;
    wchar_t *name = wide(to);
    size_t n = name ? wcslen(name) * sizeof *name : 0;
    FILE_RENAME_INFO *info = name ? calloc(1, sizeof *info + n) : NULL;
    bool ok = false;
    if (info) {
        mark_for_deletion(f, false);
        info->ReplaceIfExists = TRUE;
        info->FileNameLength = (DWORD)n;
        info->RootDirectory = handle_of(folder);
        memcpy(info->FileName, name, n);
        ok = done(NtSetInformationFile(handle_of(f), &status, info, (ULONG)(sizeof *info + n),
                                       rename_information));
    }
    free(info);
    free(name);
    return ok;
}

bool sys_remove_in(SysFile folder, const char *name)
{
    SysFile f = open_in(folder, name, DELETE, FILE_OPEN,
                        FILE_NON_DIRECTORY_FILE | FILE_OPEN_REPARSE_POINT);
    bool ok = f != SYS_NONE && (mark_for_deletion(f, true) || failed());
    if (f != SYS_NONE)
        CloseHandle(handle_of(f));
    return ok;
}

/* A link that is written to is replaced: only who has a right of its own makes links here. */
ptrdiff_t sys_read_link(const char *path, char *out, size_t room)
{
    (void)path, (void)out, (void)room;
    errno = EINVAL;
    return -1;
}

/* ---- paths ---- */

size_t sys_folder_length(const char *path)
{
    size_t n = path[0] && path[1] == ':' ? 2 : 0;
    for (size_t i = n; path[i]; i++)
        if (path[i] == '/' || path[i] == '\\')
            n = i + 1;
    return n;
}

bool sys_is_absolute(const char *path)
{
    return path[0] == '/' || path[0] == '\\' || (path[0] && path[1] == ':');
}

/* ---- memory ---- */

const void *sys_find(const void *in, size_t n_in, const void *what, size_t n)
{
    const char *at = in;
    const char *end = at + n_in;
    const char *first = what;
    while (n > 0 && (size_t)(end - at) >= n) {
        at = memchr(at, *first, (size_t)(end - at) - n + 1);
        if (!at || memcmp(at, what, n) == 0)
            return at;
        at++;
    }
    return n == 0 ? in : NULL;
}

const void *sys_find_last(const void *in, size_t n, char byte)
{
    const char *at = in;
    while (n > 0 && at[n - 1] != byte)
        n--;
    return n > 0 ? at + n - 1 : NULL;
}

/* ---- time, process, stack ---- */

static int64_t ns_of(FILETIME t)
{
    return (int64_t)((uint64_t)t.dwHighDateTime << 32 | t.dwLowDateTime) * 100;
}

int64_t sys_thread_ns(void)
{
    FILETIME made, ended, kernel, user;
    return GetThreadTimes(GetCurrentThread(), &made, &ended, &kernel, &user)
        ? ns_of(kernel) + ns_of(user)
        : 0;
}

double sys_seconds(void)
{
    LARGE_INTEGER ticks, second;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&second);
    return (double)ticks.QuadPart / (double)second.QuadPart;
}

int64_t sys_now(void)
{
    FILETIME now;
    GetSystemTimeAsFileTime(&now);
    return seconds_of(now);
}

void sys_sleep_ms(int ms) { Sleep((DWORD)ms); }
long sys_process(void) { return (long)GetCurrentProcessId(); }

/* From what is reserved for the stack: the system takes its memory page by page. */
size_t sys_stack_below(uintptr_t here)
{
    const NT_TIB *thread = (const NT_TIB *)NtCurrentTeb();
    MEMORY_BASIC_INFORMATION info;
    uintptr_t highest = (uintptr_t)thread->StackBase;
    if (here >= highest || !VirtualQuery((const void *)here, &info, sizeof info))
        return 0;
    uintptr_t lowest = (uintptr_t)info.AllocationBase;
    return lowest < here ? (size_t)(here - lowest) : 0;
}
#endif
