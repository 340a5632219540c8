/* out.c - files that appear whole or not at all.
 *
 * An output is written beside its place under a name that no tool takes for a model
 * (".net.onnx.1234.0.part") and renamed when everything is there. Of several files that belong
 * together the last one is the one people open: its old version goes away before the first rename
 * and its new one comes last, so that a kill at any moment leaves the old set, the new set, or no
 * last file. What is not a regular file (/dev/null, a pipe) is written directly.
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
    Str path, temporary; /* temporary NULL: written directly */
    int slot;            /* in the table, -1 none */
    OutFile *next;
};

enum { SLOTS = 64, FREE = 0, CLAIMED, LISTED };
static struct {
    atomic_int state;
    char path[PATH_MAX];
} listed[SLOTS];

void out_remove_all(void)
{
    for (int i = 0; i < SLOTS; i++)
        if (atomic_load(&listed[i].state) == LISTED)
            unlink(listed[i].path);
}

/* More than 64 files at once, or a very long path: not listed, so removed by ctx_free only. */
static int list_temporary(const char *path)
{
    if (strlen(path) >= PATH_MAX)
        return -1;
    for (int i = 0; i < SLOTS; i++) {
        int expected = FREE;
        if (atomic_compare_exchange_strong(&listed[i].state, &expected, CLAIMED)) {
            strcpy(listed[i].path, path);
            atomic_store(&listed[i].state, LISTED);
            return i;
        }
    }
    return -1;
}

static void unlist_temporary(OutFile *f)
{
    if (f->slot >= 0)
        atomic_store(&listed[f->slot].state, FREE);
    f->slot = -1;
}

/* "dir/.name.PID.N.part", created. The name is listed before the file exists, so that no moment is
 * uncovered. */
static bool open_temporary(Ctx *cx, OutFile *f)
{
    const char *slash = strrchr(f->path->s, '/');
    int dir = slash ? (int)(slash - f->path->s) + 1 : 0;
    for (int i = 0; i < 1000; i++) {
        f->temporary = str_fmt(cx, "%.*s.%s.%ld.%d.part", dir, f->path->s, f->path->s + dir,
                               (long)getpid(), i);
        if (access(f->temporary->s, F_OK) == 0)
            continue;
        f->slot = list_temporary(f->temporary->s);
        f->sink.fd = open(f->temporary->s, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (f->sink.fd >= 0)
            return true;
        unlist_temporary(f);
        if (errno != EEXIST)
            break;
    }
    return fail(cx, E_IO, "cannot write %s: %s", f->path->s, strerror(errno));
}

static bool open_direct(Ctx *cx, OutFile *f)
{
    f->sink.fd = open(f->path->s, O_WRONLY | O_CLOEXEC);
    return f->sink.fd >= 0 || fail(cx, E_IO, "cannot write %s: %s", f->path->s, strerror(errno));
}

/* Where path really leads: a symbolic link stays a link, what it points to is replaced. */
static Str resolved(Ctx *cx, const char *path)
{
    char real[PATH_MAX];
    struct stat st;
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && realpath(path, real))
        return str_of(cx, real);
    return str_of(cx, path);
}

/* A regular file, or none yet, is written beside itself and renamed later; a pipe or a device is
 * written directly. NULL after an error; what was made is in cx->outs, for outs_discard. */
OutFile *out_open(Ctx *cx, const char *path)
{
    keep_begin(cx);
    OutFile *f = new(cx, OutFile);
    keep_end(cx);
    f->sink = (Sink){ .fd = -1 };
    f->slot = -1;
    f->path = resolved(cx, path);
    f->next = cx->outs;
    cx->outs = f;
    if (ctx_failed(cx))
        return NULL;
    struct stat st;
    bool exists = stat(f->path->s, &st) == 0;
    if (exists && S_ISDIR(st.st_mode)) {
        fail(cx, E_IO, "cannot write %s: this is a directory", path);
        return NULL;
    }
    bool ok = exists && !S_ISREG(st.st_mode) ? open_direct(cx, f) : open_temporary(cx, f);
    return ok ? f : NULL;
}

Sink *out_sink(OutFile *f) { return &f->sink; }

/* Some file systems tell only here that the disk is full. */
static bool close_all(Ctx *cx, OutFile **files, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int fd = files[i]->sink.fd;
        files[i]->sink.fd = -1;
        if (fd < 0 || close(fd) < 0)
            return fail(cx, E_IO, "cannot write %s: %s", files[i]->path->s,
                        fd < 0 ? "already closed" : strerror(errno));
    }
    return true;
}

bool out_commit(Ctx *cx, OutFile **files, size_t n)
{
    if (ctx_failed(cx) || !close_all(cx, files, n))
        return false;
    if (n > 1 && files[n - 1]->temporary && unlink(files[n - 1]->path->s) < 0 && errno != ENOENT)
        return fail(cx, E_IO, "cannot replace %s: %s", files[n - 1]->path->s, strerror(errno));
    for (size_t i = 0; i < n; i++) {
        OutFile *f = files[i];
        if (f->temporary && rename(f->temporary->s, f->path->s) < 0)
            return fail(cx, E_IO, "cannot write %s: %s", f->path->s, strerror(errno));
        unlist_temporary(f);
        f->temporary = NULL;
    }
    return true;
}

void outs_discard(Ctx *cx)
{
    for (OutFile *f = cx->outs; f; f = f->next) {
        if (f->sink.fd >= 0)
            close(f->sink.fd);
        if (f->temporary)
            unlink(f->temporary->s);
        unlist_temporary(f);
        f->temporary = NULL;
    }
    cx->outs = NULL;
}
