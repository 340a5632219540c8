/* out.c - files that appear whole or not at all.
 *
 * An output has no name until everything is there (O_TMPFILE): a kill leaves nothing of it. Where
 * the file system cannot do that, it is written beside its place under a name that no tool takes
 * for a model (".net.onnx.1234.0.part"). A file that is replaced needs such a name too, for the
 * moment between linkat and rename. Of several files that belong together the last one is the one
 * people open: its old version goes away before the first appears and its new one comes last, so
 * that a kill at any moment leaves the old set, the new set, or no last file; everything is on the
 * disk before its name is, so a power cut leaves no more than that. What is not a regular file
 * (/dev/null, a pipe) is written directly.
 *
 * The place of an output is settled when it is opened: later its folder is only known by a
 * descriptor, which is all that the sandbox leaves to work with.
 *
 * The table of temporaries below is the only mutable global of the library: a signal handler has no
 * other way to find what it must remove. A slot is claimed and released atomically; contexts on
 * several threads share it. */
#include "base/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct OutFile {
    Sink sink;
    Str path;      /* as the caller names it */
    int folder;    /* open; -1: written directly */
    Str name;      /* in the folder, behind all links */
    bool replaces; /* there is a file of that name */
    bool unnamed;  /* made by O_TMPFILE, linked nowhere yet */
    Str temporary; /* the name in the folder that it has for now; NULL: none */
    int slot;      /* in the table, -1 none */
    ErrorCode code;
    Str why; /* it cannot be written; NULL: it can */
    OutFile *next;
};

/* A path through more links than that is a circle; Linux gives up at 40 too. */
enum { MOST_LINKS = 40, MOST_NAMES = 1000 };

enum { SLOTS = 64, FREE = 0, CLAIMED, LISTED };
static struct {
    atomic_int state;
    pid_t owner; /* a child that was forked has a copy of the table, and no files in it */
    int folder;
    char name[NAME_MAX + 1];
} listed[SLOTS];

void out_remove_all(void)
{
    for (int i = 0; i < SLOTS; i++)
        if (atomic_load(&listed[i].state) == LISTED && listed[i].owner == getpid())
            unlinkat(listed[i].folder, listed[i].name, 0);
}

/* More than 64 files at once: not listed, so removed by ctx_free only. */
static int list_temporary(const OutFile *f)
{
    if (f->temporary->len > NAME_MAX)
        return -1;
    for (int i = 0; i < SLOTS; i++) {
        int expected = FREE;
        if (atomic_compare_exchange_strong(&listed[i].state, &expected, CLAIMED)) {
            listed[i].owner = getpid();
            listed[i].folder = f->folder;
            strcpy(listed[i].name, f->temporary->s);
            atomic_store(&listed[i].state, LISTED);
            return i;
        }
    }
    return -1;
}

/* The temporary name is gone: removed, or turned into the real one. */
static void forget_temporary(OutFile *f)
{
    if (f->slot >= 0)
        atomic_store(&listed[f->slot].state, FREE);
    f->slot = -1;
    f->temporary = NULL;
}

/* ---- opening ---- */

static bool out_fail(OutFile *f, ErrorCode code, Str why)
{
    f->code = code;
    f->why = why;
    return false;
}

static bool cannot_write(Ctx *cx, OutFile *f, int error)
{
    return out_fail(f, E_IO, str_fmt(cx, "cannot write %s: %s", f->path->s, strerror(error)));
}

/* Bytes of the path up to its last slash, and that slash: 5 of "a/b/c" is 4, of "c" 0. */
static int folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash - path) + 1 : 0;
}

/* Where f's path really leads: a symbolic link stays a link; what it points to is replaced, or
 * made where nothing is yet. NULL after an error. */
static Str follow_links(Ctx *cx, OutFile *f)
{
    char target[PATH_MAX];
    Str path = f->path;
    for (int i = 0; i < MOST_LINKS; i++) {
        ssize_t n = readlink(path->s, target, sizeof target);
        if (n < 0)
            return path;
        bool whole = target[0] == '/';
        path = str_fmt(cx, "%.*s%.*s", whole ? 0 : folder_length(path->s), path->s, (int)n, target);
    }
    cannot_write(cx, f, ELOOP);
    return NULL;
}

/* A folder that may be written but not listed is opened without reading; it cannot be synced. */
static bool open_folder(Ctx *cx, OutFile *f, Str path)
{
    int n = folder_length(path->s);
    const char *folder = n ? str_n(cx, path->s, (size_t)n)->s : ".";
    f->name = str_of(cx, path->s + n);
    f->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f->folder < 0 && errno == EACCES)
        f->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return f->folder >= 0 || cannot_write(cx, f, errno);
}

/* The path's folder is open, and a file of its name can be there. */
static bool settle_place(Ctx *cx, OutFile *f)
{
    struct stat st;
    Str path = follow_links(cx, f);
    if (!path || !open_folder(cx, f, path))
        return false;
    f->replaces = fstatat(f->folder, f->name->s, &st, 0) == 0;
    if (!f->replaces && errno != ENOENT)
        return cannot_write(cx, f, errno);
    if (f->name->len == 0 || (f->replaces && S_ISDIR(st.st_mode)))
        return out_fail(f, E_IO, str_fmt(cx, "cannot write %s: this is a directory", f->path->s));
    return true;
}

/* The file behind f's descriptor as a path, which linkat follows to it. */
typedef struct {
    char s[32];
} FdPath;

static FdPath fd_path(const OutFile *f)
{
    FdPath path;
    snprintf(path.s, sizeof path.s, "/proc/self/fd/%d", f->sink.fd);
    return path;
}

/* Without /proc a file that has no name cannot get one. */
static bool open_unnamed(OutFile *f)
{
    f->sink.fd = openat(f->folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (f->sink.fd >= 0 && access(fd_path(f).s, F_OK) == 0)
        return f->unnamed = true;
    if (f->sink.fd >= 0)
        close(f->sink.fd);
    f->sink.fd = -1;
    return false;
}

/* Makes ".NAME.PID.N.part" by `make`, for the first N whose name is free. The name is listed before
 * the file exists, so that no moment is uncovered. */
static bool make_temporary(Ctx *cx, OutFile *f, bool (*make)(OutFile *f))
{
    struct stat st;
    for (int i = 0; i < MOST_NAMES; i++) {
        f->temporary = str_fmt(cx, ".%.200s.%ld.%d.part", f->name->s, (long)getpid(), i);
        if (fstatat(f->folder, f->temporary->s, &st, AT_SYMLINK_NOFOLLOW) == 0)
            continue;
        f->slot = list_temporary(f);
        if (make(f))
            return true;
        int error = errno;
        forget_temporary(f);
        if (error != EEXIST)
            return cannot_write(cx, f, error);
    }
    return cannot_write(cx, f, EEXIST);
}

static bool create_temporary(OutFile *f)
{
    f->sink.fd = openat(f->folder, f->temporary->s, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return f->sink.fd >= 0;
}

/* A pipe waits here for its reader. */
static bool open_direct(Ctx *cx, OutFile *f)
{
    f->sink.fd = open(f->path->s, O_WRONLY | O_CLOEXEC);
    return f->sink.fd >= 0 || cannot_write(cx, f, errno);
}

static bool open_output(Ctx *cx, OutFile *f)
{
    struct stat st;
    if (f->path->len == 0)
        return out_fail(f, E_USAGE, str_of(cx, "the name of the output is empty"));
    if (stat(f->path->s, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return open_direct(cx, f);
    return settle_place(cx, f) && (open_unnamed(f) || make_temporary(cx, f, create_temporary));
}

OutFile *out_open(Ctx *cx, const char *path)
{
    keep_begin(cx);
    OutFile *f = new(cx, OutFile);
    *f = (OutFile){ .sink.fd = -1, .folder = -1, .slot = -1, .next = cx->outs };
    f->path = str_of(cx, path);
    cx->outs = f;
    if (!ctx_failed(cx))
        open_output(cx, f);
    keep_end(cx);
    return f;
}

bool out_ready(Ctx *cx, const OutFile *f)
{
    return f->why ? fail(cx, f->code, "%s", f->why->s) : !ctx_failed(cx);
}

Sink *out_sink(OutFile *f) { return &f->sink; }
const char *out_path(const OutFile *f) { return f->path->s; }
const OutFile *out_next(const OutFile *f) { return f->next; }
int out_folder(const OutFile *f) { return f->folder; }
bool out_is_stream(const OutFile *f) { return f->folder < 0 && f->sink.fd >= 0; }
bool out_replaces(const OutFile *f) { return f->replaces; }

const Source *out_harms(Ctx *cx, const OutFile *f)
{
    struct stat in, out;
    if (f->folder < 0 || fstatat(f->folder, f->name->s, &out, 0) < 0)
        return NULL;
    for (const Source *s = cx->sources; s; s = s->next)
        if (s->kind == SRC_FILE && fstat(s->fd, &in) == 0 && in.st_dev == out.st_dev &&
            in.st_ino == out.st_ino)
            return s;
    return NULL;
}

bool out_same(const OutFile *a, const OutFile *b)
{
    struct stat sa, sb;
    return a->name && a->name == b->name && fstat(a->folder, &sa) == 0 &&
        fstat(b->folder, &sb) == 0 && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

/* ---- appearing ---- */

/* Everything is on the disk: some file systems tell only here that it is full. A pipe or a device
 * has nothing to sync, and tells when it is closed. 0, or the error. */
static int sync_file(OutFile *f)
{
    int fd = f->sink.fd;
    if (f->folder >= 0)
        return fsync(fd) < 0 ? errno : 0;
    f->sink.fd = -1;
    return close(fd) < 0 ? errno : 0;
}

static bool sync_all(Ctx *cx, OutFile **files, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int error = sync_file(files[i]);
        if (error)
            return fail(cx, E_IO, "cannot write %s: %s", files[i]->path->s, strerror(error));
    }
    return true;
}

/* Names that a folder has got or lost survive a power cut. A file system that cannot promise this
 * is no reason to fail. */
static void sync_folder(const OutFile *f)
{
    if (f->folder >= 0)
        fsync(f->folder);
}

static bool link_as(OutFile *f, const char *name)
{
    return linkat(AT_FDCWD, fd_path(f).s, f->folder, name, AT_SYMLINK_FOLLOW) == 0;
}
static bool link_temporary(OutFile *f) { return link_as(f, f->temporary->s); }

/* The file gets its name. What has none yet can take one that is free, but replaces nothing. */
static bool appear(Ctx *cx, OutFile *f)
{
    if (f->unnamed && link_as(f, f->name->s))
        return true;
    if (f->unnamed && errno != EEXIST)
        return cannot_write(cx, f, errno);
    if (f->unnamed && !make_temporary(cx, f, link_temporary))
        return false;
    if (renameat(f->folder, f->temporary->s, f->folder, f->name->s) < 0)
        return cannot_write(cx, f, errno);
    forget_temporary(f);
    return true;
}

bool out_commit(Ctx *cx, OutFile **files, size_t n)
{
    if (ctx_failed(cx) || !sync_all(cx, files, n))
        return false;
    const OutFile *last = files[n - 1];
    if (n > 1 && last->folder >= 0 && unlinkat(last->folder, last->name->s, 0) < 0 &&
        errno != ENOENT)
        return fail(cx, E_IO, "cannot replace %s: %s", last->path->s, strerror(errno));
    for (size_t i = 0; i < n; i++) {
        if (i == n - 1 && n > 1)
            sync_folder(files[0]);
        if (files[i]->folder >= 0 && !appear(cx, files[i]))
            return out_ready(cx, files[i]);
    }
    sync_folder(last);
    return true;
}

void outs_discard(Ctx *cx)
{
    for (OutFile *f = cx->outs; f; f = f->next) {
        if (f->sink.fd >= 0)
            close(f->sink.fd);
        if (f->temporary)
            unlinkat(f->folder, f->temporary->s, 0);
        forget_temporary(f);
        if (f->folder >= 0)
            close(f->folder);
    }
    cx->outs = NULL;
}
