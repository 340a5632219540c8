/* out.c - outputs that appear whole or not at all, on file systems with unnamed files and without.
 */
#include "unit/files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the system's calls, watched: those of the library come here before they reach libc's ---- */

static bool only_named; /* the file system has no O_TMPFILE */
static char done[64];   /* S: a file was synced, s: a folder, U: unlinked, L: linked, R: renamed */

static void say(char what)
{
    size_t n = strlen(done);
    if (n + 1 < sizeof done)
        done[n] = what, done[n + 1] = '\0';
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
    va_end(list);
    if (only_named && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}

int fsync(int fd)
{
    struct stat st;
    say(fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) ? 's' : 'S');
    return (int)syscall(SYS_fsync, fd);
}

static uint64_t under_way; /* bytes of the file, from its start, that the disk was given early */

int sync_file_range(int fd, off_t at, off_t n, unsigned flags)
{
    (void)fd;
    assert_int_equal(at, under_way);
    assert_int_equal(flags, SYNC_FILE_RANGE_WRITE);
    under_way += (uint64_t)n;
    return 0;
}

int unlinkat(int folder, const char *path, int flags)
{
    say('U');
    return (int)syscall(SYS_unlinkat, folder, path, flags);
}

int linkat(int from, const char *path, int to, const char *name, int flags)
{
    long r = syscall(SYS_linkat, from, path, to, name, flags);
    say(r == 0 ? 'L' : 'l');
    return (int)r;
}

int renameat(int from, const char *path, int to, const char *name)
{
    say('R');
    return (int)syscall(SYS_renameat2, from, path, to, name, 0);
}

static int named_only(void **state)
{
    (void)state;
    only_named = true;
    return 0;
}
static int both_ways(void **state)
{
    (void)state;
    only_named = false;
    return 0;
}
/* The same test where every unfinished file has a name. */
#define NAMED(fn) cmocka_unit_test_setup_teardown(fn, named_only, both_ways)

static void outputs_appear_at_commit_only(void **state)
{
    (void)state;
    Ctx *cx = ctx_new();
    char *dir = folder();
    char *data = path_in(dir, "net.onnx.data");
    char *model = path_in(dir, "net.onnx");
    write_file(model, "old", 3);
    OutFile *files[] = { out_open(cx, data), out_open(cx, model) };
    assert_true(out_ready(cx, files[0]));
    assert_true(out_ready(cx, files[1]));
    assert_int_equal(files_in(dir), only_named ? 3 : 1);
    done[0] = '\0';
    assert_true(sink_write(cx, out_sink(files[0]), "weights", 7));
    assert_true(sink_write(cx, out_sink(files[1]), "model", 5));
    assert_int_equal(access(data, F_OK), -1);
    assert_true(file_holds(model, "old", 3));
    assert_true(out_commit(cx, files, 2));
    assert_string_equal(done, only_named ? "SSURsRs" : "SSULsLs");
    assert_true(file_holds(data, "weights", 7));
    assert_true(file_holds(model, "model", 5));
    assert_int_equal(files_in(dir), 2);
    ctx_free(cx);
    free(data), free(model);
    remove_folder(dir);
}

/* Each byte once, none that a later write comes back to. */
static void the_disk_works_meanwhile(void **state)
{
    (void)state;
    enum { PIECE = 400000, PIECES = 10 };
    static const uint8_t piece[PIECE];
    Ctx *cx = ctx_new();
    char *dir = folder();
    char *model = path_in(dir, "net.onnx");
    OutFile *f = out_open(cx, model);
    under_way = 0;
    for (int i = 1; i <= PIECES; i++) {
        assert_true(sink_write(cx, out_sink(f), piece, PIECE));
        assert_true(under_way <= (uint64_t)i * PIECE);
        assert_true((uint64_t)i * PIECE - under_way < 1 << 20);
        assert_int_equal(under_way % SYS_PAGE, 0);
    }
    assert_true(out_commit(cx, &f, 1));
    ctx_free(cx);
    free(model);
    remove_folder(dir);
}

static void nothing_stays_after_an_error(void **state)
{
    (void)state;
    char *dir = folder();
    char *model = path_in(dir, "net.onnx");
    write_file(model, "old", 3);
    Ctx *cx = ctx_new();
    OutFile *f = out_open(cx, model);
    assert_true(sink_write(cx, out_sink(f), "half a mod", 10));
    fail(cx, E_VALUE, "no");
    assert_false(out_commit(cx, &f, 1));
    ctx_free(cx);
    assert_true(file_holds(model, "old", 3));
    assert_int_equal(files_in(dir), 1);
    free(model);
    remove_folder(dir);
}

static void a_signal_handler_can_remove_temporaries(void **state)
{
    (void)state;
    char *dir = folder();
    char *model = path_in(dir, "net.onnx");
    pid_t child = fork();
    if (child == 0) {
        Ctx *cx = ctx_new();
        OutFile *f = out_open(cx, model);
        bool ok = sink_write(cx, out_sink(f), "half", 4) && files_in(dir) == 1;
        out_remove_all();
        _exit(ok ? 0 : 1); /* dies without ctx_free */
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(files_in(dir), 0);
    free(model);
    remove_folder(dir);
}

static void outputs_that_are_not_plain_files(void **state)
{
    Ctx *cx = *state;
    char *dir = folder();
    char *link = path_in(dir, "link.onnx");
    char *real = path_in(dir, "real.onnx");
    assert_false(out_ready(cx, out_open(cx, dir)));
    assert_non_null(strstr(cx->error.text->s, "this is a directory"));
    ctx_restart(cx);
    assert_false(out_ready(cx, out_open(cx, "/nowhere/at/all.onnx")));
    assert_int_equal(cx->error.code, E_IO);
    ctx_restart(cx);
    OutFile *null = out_open(cx, "/dev/null");
    assert_true(out_ready(cx, null) && out_is_stream(null));
    assert_true(sink_write(cx, out_sink(null), "x", 1));
    assert_true(out_commit(cx, &null, 1));
    struct stat st;
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    write_file(real, "old", 3);
    assert_int_equal(symlink("real.onnx", link), 0);
    OutFile *f = out_open(cx, link);
    assert_true(out_ready(cx, f) && !out_is_stream(f));
    assert_true(sink_write(cx, out_sink(f), "new", 3));
    assert_true(out_commit(cx, &f, 1));
    assert_true(file_holds(real, "new", 3));
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    free(link), free(real);
    remove_folder(dir);
}

/* One file under that name holds "new" afterwards. */
static void write_new(Ctx *cx, const char *path)
{
    OutFile *f = out_open(cx, path);
    assert_true(out_ready(cx, f));
    assert_true(sink_write(cx, out_sink(f), "new", 3));
    assert_true(out_commit(cx, &f, 1));
    assert_true(file_holds(path, "new", 3));
}

static void an_old_file_is_there_until_the_new_one_is(void **state)
{
    (void)state;
    Ctx *cx = ctx_new();
    char *dir = folder();
    char *model = path_in(dir, "net.onnx");
    write_file(model, "old", 3);
    done[0] = '\0';
    write_new(cx, model);
    assert_string_equal(done, only_named ? "SRs" : "SlLRs");
    assert_int_equal(files_in(dir), 1);
    ctx_free(cx);
    free(model);
    remove_folder(dir);
}

/* What was forked while a file was being written has the table of its names too. */
static void a_child_removes_nothing_of_its_parent(void **state)
{
    (void)state;
    char *dir = folder();
    char *model = path_in(dir, "net.onnx");
    Ctx *cx = ctx_new();
    OutFile *f = out_open(cx, model);
    assert_true(out_ready(cx, f));
    pid_t child = fork();
    if (child == 0) {
        out_remove_all();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(files_in(dir), 1);
    assert_true(out_commit(cx, &f, 1));
    ctx_free(cx);
    assert_int_equal(files_in(dir), 1);
    free(model);
    remove_folder(dir);
}

static void a_link_to_nothing_stays_a_link(void **state)
{
    Ctx *cx = *state;
    char *dir = folder();
    char *sub = path_in(dir, "sub");
    char *link = path_in(dir, "link.onnx");
    char *relative = path_in(dir, "sub/relative.onnx");
    char *real = path_in(dir, "sub/real.onnx");
    struct stat st;
    assert_int_equal(mkdir(sub, 0777), 0);
    assert_int_equal(symlink("sub/relative.onnx", link), 0);
    assert_int_equal(symlink("real.onnx", relative), 0);
    write_new(cx, link);
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(lstat(relative, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_true(file_holds(real, "new", 3));
    assert_int_equal(files_in(sub), 2);
    free(link), free(relative), free(real), free(sub);
    remove_folder(dir);
}

static void links_in_a_circle_and_into_nowhere(void **state)
{
    Ctx *cx = *state;
    char *dir = folder();
    char *circle = path_in(dir, "circle");
    char *nowhere = path_in(dir, "nowhere");
    assert_int_equal(symlink("circle", circle), 0);
    assert_int_equal(symlink("none/net.onnx", nowhere), 0);
    assert_false(out_ready(cx, out_open(cx, circle)));
    assert_non_null(strstr(cx->error.text->s, "Too many levels of symbolic links"));
    ctx_restart(cx);
    assert_false(out_ready(cx, out_open(cx, nowhere)));
    assert_non_null(strstr(cx->error.text->s, "No such file or directory"));
    free(circle), free(nowhere);
    remove_folder(dir);
}

static void names_as_long_as_the_system_takes(void **state)
{
    Ctx *cx = *state;
    char *dir = folder();
    char name[257] = "";
    for (int n = 250; n <= 256; n += n == 250 ? 5 : 1) {
        memset(name, 'n', (size_t)n);
        name[n] = '\0';
        char *path = path_in(dir, name);
        if (n <= 255) {
            write_new(cx, path);
            write_new(cx, path);
        } else {
            assert_false(out_ready(cx, out_open(cx, path)));
            assert_non_null(strstr(cx->error.text->s, "File name too long"));
        }
        free(path);
    }
    assert_int_equal(files_in(dir), 2);
    remove_folder(dir);
}

static void a_name_is_needed(void **state)
{
    Ctx *cx = *state;
    assert_false(out_ready(cx, out_open(cx, "")));
    assert_int_equal(cx->error.code, E_USAGE);
    assert_string_equal(cx->error.text->s, "the name of the output is empty");
}

static void a_pipe_is_written_as_it_comes(void **state)
{
    Ctx *cx = *state;
    char *dir = folder();
    char *pipe_path = path_in(dir, "pipe");
    char got[8] = "";
    assert_int_equal(mkfifo(pipe_path, 0666), 0);
    int reader = open(pipe_path, O_RDONLY | O_NONBLOCK);
    OutFile *f = out_open(cx, pipe_path);
    assert_true(out_ready(cx, f) && out_is_stream(f));
    assert_true(sink_write(cx, out_sink(f), "new", 3));
    assert_int_equal(read(reader, got, sizeof got), 3);
    assert_true(out_commit(cx, &f, 1));
    assert_int_equal(read(reader, got, sizeof got), 0);
    close(reader);
    assert_int_equal(files_in(dir), 1);
    free(pipe_path);
    remove_folder(dir);
}

static void an_input_under_any_name_is_known(void **state)
{
    Ctx *cx = *state;
    char *dir = folder();
    char *in = path_in(dir, "in");
    char *hard = path_in(dir, "hard");
    char *soft = path_in(dir, "soft");
    char *other = path_in(dir, "other");
    write_file(in, "x", 1);
    write_file(other, "x", 1);
    assert_int_equal(link(in, hard), 0);
    assert_int_equal(symlink("hard", soft), 0);
    Source *s = source_file(cx, in);
    assert_non_null(s);
    assert_ptr_equal(out_harms(cx, out_open(cx, in)), s);
    assert_ptr_equal(out_harms(cx, out_open(cx, hard)), s);
    assert_ptr_equal(out_harms(cx, out_open(cx, soft)), s);
    assert_null(out_harms(cx, out_open(cx, other)));
    assert_null(out_harms(cx, out_open(cx, "/dev/null")));
    assert_true(out_same(out_open(cx, soft), out_open(cx, hard)));
    assert_false(out_same(out_open(cx, in), out_open(cx, hard)));
    free(in), free(hard), free(soft), free(other);
    remove_folder(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_appear_at_commit_only),
        NAMED(outputs_appear_at_commit_only),
        cmocka_unit_test(an_old_file_is_there_until_the_new_one_is),
        NAMED(an_old_file_is_there_until_the_new_one_is),
        cmocka_unit_test(the_disk_works_meanwhile),
        cmocka_unit_test(nothing_stays_after_an_error),
        NAMED(nothing_stays_after_an_error),
        NAMED(a_signal_handler_can_remove_temporaries),
        NAMED(a_child_removes_nothing_of_its_parent),
        TEST(outputs_that_are_not_plain_files),
        TEST(a_link_to_nothing_stays_a_link),
        TEST(links_in_a_circle_and_into_nowhere),
        TEST(names_as_long_as_the_system_takes),
        TEST(a_name_is_needed),
        TEST(a_pipe_is_written_as_it_comes),
        TEST(an_input_under_any_name_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
