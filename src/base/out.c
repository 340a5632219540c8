/* out.c - files that appear whole or not at all.
 *
 * An output has no name until everything is there (O_TMPFILE of Linux): a kill leaves nothing of
 * it. Where the file system cannot do that, it is written beside its place under a name that no
 * tool takes for a model (".net.onnx.1234.0.part"). A file that is replaced needs such a name too,
 * for the moment between linkat and rename. Of several files that belong together the last one is
 * the one people open: its old version goes away before the first appears and its new one comes
 * last, so that a kill at any moment leaves the old set, the new set, or no last file; everything
 * is on the disk before its name is, so a power cut leaves no more than that. What is not a regular
 * file
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
#include <stdatomic.h>
#include <stdlib.h>

struct OutFile {
    Sink sink;
    Str path;       /* as the caller names it */
    SysFile folder; /* open; SYS_NONE: written directly */
    Str name;       /* in the folder, behind all links */
    bool replaces;  /* there is a file of that name */
    bool unnamed;   /* made by sys_create_unnamed, without a name yet */
    Str temporary;  /* the name in the folder that it has for now; NULL: none */
    int slot;       /* in the table, -1 none */
    ErrorCode code;
    Str why; /* it cannot be written; NULL: it can */
    OutFile *next;
};

/* A path through more links than that is a circle; Linux gives up at 40 too. */
enum { MOST_LINKS = 40, MOST_NAMES = 1000, LINK_MOST = 4096 };

enum { SLOTS = 64, FREE = 0, CLAIMED, LISTED };
static struct {
    atomic_int state;
    long owner; /* a child that was forked has a copy of the table, and no files in it */
    SysFile folder;
    char name[SYS_NAME_MAX + 1];
} listed[SLOTS];

void out_remove_all(void)
{
    for (int i = 0; i < SLOTS; i++)
        if (atomic_load(&listed[i].state) == LISTED && listed[i].owner == sys_process())
            sys_remove_in(listed[i].folder, listed[i].name);
}

/* More than 64 files at once: not listed, so removed by ctx_free only. */
static int list_temporary(const OutFile *f)
{
    if (f->temporary->len > SYS_NAME_MAX)
        return -1;
    for (int i = 0; i < SLOTS; i++) {
        int expected = FREE;
        if (atomic_compare_exchange_strong(&listed[i].state, &expected, CLAIMED)) {
            listed[i].owner = sys_process();
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

/* Where f's path really leads: a symbolic link stays a link; what it points to is replaced, or
 * made where nothing is yet. NULL after an error. */
static Str follow_links(Ctx *cx, OutFile *f)
{
    char target[LINK_MOST];
    Str path = f->path;
    for (int i = 0; i < MOST_LINKS; i++) {
        ptrdiff_t n = sys_read_link(path->s, target, sizeof target - 1);
        if (n < 0)
            return path;
        target[n] = '\0';
        size_t lead = sys_is_absolute(target) ? 0 : sys_folder_length(path->s);
        path = str_fmt(cx, "%.*s%s", (int)lead, path->s, target);
    }
    cannot_write(cx, f, ELOOP);
    return NULL;
}

static bool open_folder(Ctx *cx, OutFile *f, Str path)
{
    size_t n = sys_folder_length(path->s);
    const char *folder = n ? str_n(cx, path->s, n)->s : ".";
    f->name = str_of(cx, path->s + n);
    f->folder = sys_open_folder(folder);
    return f->folder != SYS_NONE || cannot_write(cx, f, errno);
}

/* The path's folder is open, and a file of its name can be there. */
static bool settle_place(Ctx *cx, OutFile *f)
{
    SysInfo info;
    Str path = follow_links(cx, f);
    if (!path || !open_folder(cx, f, path))
        return false;
    f->replaces = sys_info_in(f->folder, f->name->s, &info);
    if (!f->replaces && errno != ENOENT)
        return cannot_write(cx, f, errno);
    if (f->name->len == 0 || (f->replaces && info.kind == SYS_FOLDER))
        return out_fail(f, E_IO, str_fmt(cx, "cannot write %s: this is a directory", f->path->s));
    return true;
}

static bool open_unnamed(OutFile *f)
{
    f->sink.fd = sys_create_unnamed(f->folder);
    f->unnamed = f->sink.fd != SYS_NONE;
    return f->unnamed;
}

/* Makes ".NAME.PID.N.part" by `make`, for the first N whose name is free. The name is listed before
 * the file exists, so that no moment is uncovered. */
static bool make_temporary(Ctx *cx, OutFile *f, bool (*make)(OutFile *f))
{
    for (int i = 0; i < MOST_NAMES; i++) {
        f->temporary = str_fmt(cx, ".%.200s.%ld.%d.part", f->name->s, sys_process(), i);
        if (sys_has_name(f->folder, f->temporary->s))
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
    f->sink.fd = sys_create_in(f->folder, f->temporary->s);
    return f->sink.fd != SYS_NONE;
}

/* A pipe waits here for its reader. */
static bool open_direct(Ctx *cx, OutFile *f)
{
    f->sink.fd = sys_open_write(f->path->s);
    return f->sink.fd != SYS_NONE || cannot_write(cx, f, errno);
}

bool out_leads_to_stream(const char *path)
{
    SysInfo info;
    return sys_path_info(path, &info) && info.kind == SYS_OTHER;
}

static bool open_output(Ctx *cx, OutFile *f, bool may_stream)
{
    if (f->path->len == 0)
        return out_fail(f, E_USAGE, str_of(cx, "the name of the output is empty"));
    if (out_leads_to_stream(f->path->s))
        return may_stream
            ? open_direct(cx, f)
            : out_fail(f, E_IO,
                       str_fmt(cx, "cannot write %s: it is a pipe or a device", f->path->s));
    return settle_place(cx, f) && (open_unnamed(f) || make_temporary(cx, f, create_temporary));
}

static OutFile *open_path(Ctx *cx, const char *path, bool may_stream)
{
    keep_begin(cx);
    OutFile *f = new(cx, OutFile);
    *f = (OutFile){ .sink.fd = SYS_NONE, .folder = SYS_NONE, .slot = -1, .next = cx->outs };
    f->path = str_of(cx, path);
    cx->outs = f;
    if (!ctx_failed(cx))
        open_output(cx, f, may_stream);
    keep_end(cx);
    return f;
}

OutFile *out_open(Ctx *cx, const char *path) { return open_path(cx, path, true); }
OutFile *out_open_file(Ctx *cx, const char *path) { return open_path(cx, path, false); }

bool out_ready(Ctx *cx, const OutFile *f)
{
    return f->why ? fail(cx, f->code, "%s", f->why->s) : !ctx_failed(cx);
}

Sink *out_sink(OutFile *f) { return &f->sink; }
const char *out_path(const OutFile *f) { return f->path->s; }
const OutFile *out_next(const OutFile *f) { return f->next; }
SysFile out_folder(const OutFile *f) { return f->folder; }
bool out_is_stream(const OutFile *f) { return f->folder == SYS_NONE && f->sink.fd != SYS_NONE; }
bool out_replaces(const OutFile *f) { return f->replaces; }

const Source *out_harms(Ctx *cx, const OutFile *f)
{
    SysInfo in, out;
    if (f->folder == SYS_NONE || !sys_info_in(f->folder, f->name->s, &out))
        return NULL;
    for (const Source *s = cx->sources; s; s = s->next)
        if (s->kind == SRC_FILE && sys_info(s->fd, &in) && sys_same(&in, &out))
            return s;
    return NULL;
}

bool out_same(const OutFile *a, const OutFile *b)
{
    SysInfo in_a, in_b;
    return a->name && a->name == b->name && sys_info(a->folder, &in_a) &&
        sys_info(b->folder, &in_b) && sys_same(&in_a, &in_b);
}

/* ---- appearing ---- */

/* Everything is on the disk: some file systems tell only here that it is full. A pipe or a device
 * has nothing to sync, and tells when it is closed. 0, or the error. */
static int sync_file(OutFile *f)
{
    SysFile fd = f->sink.fd;
    if (f->folder != SYS_NONE)
        return sys_sync(fd) ? 0 : errno;
    f->sink.fd = SYS_NONE;
    return sys_close(fd) ? 0 : errno;
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
    if (f->folder != SYS_NONE)
        sys_sync(f->folder);
}

static bool name_temporary(OutFile *f)
{
    return sys_name_in(f->sink.fd, f->folder, f->temporary->s);
}

/* The file gets its name. What has none yet can take one that is free, but replaces nothing. */
static bool appear(Ctx *cx, OutFile *f)
{
    if (f->unnamed && sys_name_in(f->sink.fd, f->folder, f->name->s))
        return true;
    if (f->unnamed && errno != EEXIST)
        return cannot_write(cx, f, errno);
    if (f->unnamed && !make_temporary(cx, f, name_temporary))
        return false;
    if (!sys_rename_in(f->sink.fd, f->folder, f->temporary->s, f->name->s))
        return cannot_write(cx, f, errno);
    forget_temporary(f);
    return true;
}

bool out_commit(Ctx *cx, OutFile **files, size_t n)
{
    if (ctx_failed(cx) || !sync_all(cx, files, n))
        return false;
    const OutFile *last = files[n - 1];
    if (n > 1 && last->folder != SYS_NONE && !sys_remove_in(last->folder, last->name->s) &&
        errno != ENOENT)
        return fail(cx, E_IO, "cannot replace %s: %s", last->path->s, strerror(errno));
    for (size_t i = 0; i < n; i++) {
        if (i == n - 1 && n > 1)
            sync_folder(files[0]);
        if (files[i]->folder != SYS_NONE && !appear(cx, files[i]))
            return out_ready(cx, files[i]);
    }
    sync_folder(last);
    return true;
}

void outs_discard(Ctx *cx)
{
    for (OutFile *f = cx->outs; f; f = f->next) {
        if (f->sink.fd != SYS_NONE)
            sys_close(f->sink.fd);
        if (f->temporary)
            sys_remove_in(f->folder, f->temporary->s);
        forget_temporary(f);
        if (f->folder != SYS_NONE)
            sys_close(f->folder);
    }
    cx->outs = NULL;
}
