/* sandbox.c - what a process still can behind the door, tried from inside a conversion. Each test
 * runs in a child, which the door shuts in for good. */
#include "unit/files.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "pt2onnx.h"

static const char model[] = "tests/cli/files/net.pt";

/* What a child tells its parent: the page is shared. */
static struct Told {
    char done[512]; /* the attempts that went as they should not */
    char notes[512];
    int tries;
    int status;
    bool same_for_threads;
    bool reading; /* the callback was told of it */
    atomic_int inside;
    double milliseconds;
} *told;

static bool open_page(void)
{
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (told == MAP_FAILED)
        told = NULL;
    return told;
}

static void in_a_child(void (*run)(const char *dir), const char *dir)
{
    memset(told, 0, sizeof *told);
    pid_t child = fork();
    if (child == 0) {
        run(dir);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- attempts: true when it worked ---- */

static bool read_a_file(const char *dir)
{
    (void)dir;
    return open("/etc/passwd", O_RDONLY) >= 0;
}
static bool list_a_folder(const char *dir) { return open(dir, O_RDONLY | O_DIRECTORY) >= 0; }
static bool write_a_file(const char *dir)
{
    return open(path_in(dir, "out/evil"), O_WRONLY | O_CREAT, 0666) >= 0;
}
static bool remove_a_file(const char *dir) { return unlink(path_in(dir, "first")) == 0; }
static bool remove_by_full_path(const char *dir)
{
    return unlinkat(AT_FDCWD, path_in(dir, "second"), 0) == 0;
}
static bool move_a_file(const char *dir)
{
    return renameat(AT_FDCWD, path_in(dir, "third"), AT_FDCWD, path_in(dir, "gone")) == 0;
}
static bool link_a_file(const char *dir)
{
    return linkat(AT_FDCWD, path_in(dir, "fourth"), AT_FDCWD, path_in(dir, "out/mine"), 0) == 0;
}
static bool make_a_process(const char *dir)
{
    (void)dir;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    return child > 0;
}
static void *nothing(void *p) { return p; }
static bool make_a_thread(const char *dir)
{
    (void)dir;
    pthread_t t;
    return pthread_create(&t, NULL, nothing, NULL) == 0;
}
static bool run_a_program(const char *dir)
{
    (void)dir;
    execl("/bin/true", "true", (char *)NULL);
    return errno != EPERM;
}
static bool connect_somewhere(const char *dir)
{
    (void)dir;
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    return fd >= 0 && (connect(fd, (struct sockaddr *)&to, sizeof to) == 0 || errno != EPERM);
}
static bool run_written_memory(const char *dir)
{
    (void)dir;
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                0) != MAP_FAILED;
}
static bool take_much_memory(const char *dir)
{
    (void)dir;
    return mmap(NULL, (size_t)64 << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                0) != MAP_FAILED;
}
static bool signal_another(const char *dir)
{
    (void)dir;
    return kill(getppid(), 0) == 0;
}
static bool set_a_limit(const char *dir)
{
    (void)dir;
    return setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 }) == 0;
}
static bool change_folder(const char *dir)
{
    (void)dir;
    return chdir("/") == 0;
}

static const struct Attempt {
    const char *name;
    bool (*attempt)(const char *dir);
} attempts[] = {
    { "read_a_file", read_a_file },
    { "list_a_folder", list_a_folder },
    { "write_a_file", write_a_file },
    { "remove_a_file", remove_a_file },
    { "remove_by_full_path", remove_by_full_path },
    { "move_a_file", move_a_file },
    { "link_a_file", link_a_file },
    { "make_a_process", make_a_process },
    { "make_a_thread", make_a_thread },
    { "run_a_program", run_a_program },
    { "connect_somewhere", connect_somewhere },
    { "run_written_memory", run_written_memory },
    { "take_much_memory", take_much_memory },
    { "signal_another", signal_another },
    { "set_a_limit", set_a_limit },
    { "change_folder", change_folder },
};

static void try_all(const char *dir)
{
    for (size_t i = 0; i < COUNT(attempts); i++, told->tries++)
        if (attempts[i].attempt(dir))
            strcat(strcat(told->done, " "), attempts[i].name);
}

/* ---- a conversion whose callback is the attacker ---- */

static const char *at_risk;

static void on_progress(void *user, const char *stage, double share)
{
    (void)user, (void)share;
    bool reading = strcmp(stage, "reading the file") == 0;
    told->reading = told->reading || reading;
    if (told->tries == 0 && !reading)
        try_all(at_risk);
}

static void on_note(void *user, pt2onnx_note kind, const char *text)
{
    (void)user;
    if (kind == PT2ONNX_INFO && strstr(text, "sandbox"))
        strcat(told->notes, text);
}

static void convert(const char *dir, int sandbox)
{
    const char *input = "x:float32[1,3]";
    pt2onnx_options o = PT2ONNX_OPTIONS;
    o.sandbox = sandbox;
    o.inputs = &input;
    o.n_inputs = 1;
    o.weights = PT2ONNX_WEIGHTS_EXTERNAL;
    o.on_progress = on_progress;
    o.on_note = on_note;
    at_risk = dir;
    told->status = (int)pt2onnx_convert(model, path_in(dir, "out/net.onnx"), &o, NULL);
}
static void convert_inside(const char *dir) { convert(dir, 1); }

static char *folder_at_risk(void)
{
    char *dir = folder();
    static const char *const names[] = { "first", "second", "third", "fourth" };
    char *out = path_in(dir, "out");
    assert_int_equal(mkdir(out, 0777), 0);
    for (size_t i = 0; i < COUNT(names); i++)
        write_file(path_in(dir, names[i]), "x", 1);
    free(out);
    return dir;
}

static void nothing_works_behind_the_door(void **state)
{
    (void)state;
    char *dir = folder_at_risk();
    char *out = path_in(dir, "out");
    in_a_child(convert_inside, dir);
    assert_int_equal(told->status, PT2ONNX_OK);
    assert_true(told->reading);
    assert_int_equal(told->tries, COUNT(attempts));
    assert_int_equal(files_in(out), 2);
    free(out);
    remove_folder(dir);
    if (told->notes[0]) {
        print_message("%s\n", told->notes);
        skip();
    }
    assert_string_equal(told->done, "");
}

/* Outside, all but the program that would take this one's place: the attempts are real. */
static void try_outside(const char *dir)
{
    for (size_t i = 0; i < COUNT(attempts); i++)
        if (attempts[i].attempt != run_a_program && !attempts[i].attempt(dir))
            strcat(strcat(told->done, " "), attempts[i].name);
}

static void the_attempts_work_outside(void **state)
{
    (void)state;
    char *dir = folder_at_risk();
    in_a_child(try_outside, dir);
    remove_folder(dir);
    assert_string_equal(told->done, "");
}

/* ---- limits, an old kernel, threads, cost ---- */

static void shut_and_wait(const char *dir)
{
    (void)dir;
    Ctx *cx = ctx_new();
    cx->limit[LIMIT_HEAP] = 1 << 30;
    cx->limit[LIMIT_SECONDS] = 2;
    sandbox_enter(cx);
    atomic_store(&told->inside, 1);
    while (atomic_load(&told->inside) == 1)
        sched_yield();
}

static void limits_of_the_kernel_follow_ours(void **state)
{
    (void)state;
    struct rlimit space, time;
    memset(told, 0, sizeof *told);
    pid_t child = fork();
    if (child == 0) {
        shut_and_wait("");
        _exit(0);
    }
    while (atomic_load(&told->inside) == 0)
        sched_yield();
    assert_int_equal(prlimit(child, RLIMIT_AS, NULL, &space), 0);
    assert_int_equal(prlimit(child, RLIMIT_CPU, NULL, &time), 0);
    atomic_store(&told->inside, 2);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_in_range(space.rlim_cur, (rlim_t)9 << 28, (rlim_t)10 << 28);
    assert_in_range(time.rlim_cur, 121, 130);
}

/* The kernel that a test pretends to have lacks this call. The library's calls come here before
 * they reach libc's. */
static long lacking = -1;

long syscall(long number, ...)
{
    static long (*real)(long, ...);
    long a[6];
    va_list list;
    va_start(list, number);
    for (size_t i = 0; i < COUNT(a); i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (number == lacking) {
        errno = ENOSYS;
        return -1;
    }
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "syscall");
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void convert_without(const char *dir, long call, const char *note)
{
    lacking = call;
    in_a_child(convert_inside, dir);
    lacking = -1;
    assert_int_equal(told->status, PT2ONNX_OK);
    assert_non_null(strstr(told->notes, note));
    assert_null(strstr(told->done, "read_a_file"));
}

static void what_the_kernel_lacks_is_said(void **state)
{
    (void)state;
    char *dir = folder_at_risk();
    convert_without(dir, SYS_landlock_create_ruleset,
                    "the sandbox is without landlock: Function not implemented");
    convert_without(dir, SYS_seccomp, "the sandbox is without seccomp: Function not implemented");
    remove_folder(dir);
}

static atomic_int running, door;

static void *wait_and_open(void *p)
{
    atomic_store(&running, 1);
    while (!atomic_load(&door))
        sched_yield();
    told->same_for_threads = open("/etc/passwd", O_RDONLY) < 0;
    return p;
}

static void shut_beside_a_thread(const char *dir)
{
    (void)dir;
    pthread_t t;
    Ctx *cx = ctx_new();
    pthread_create(&t, NULL, wait_and_open, NULL);
    while (!atomic_load(&running))
        sched_yield();
    sandbox_enter(cx);
    for (size_t i = 0; i < cx->notes.n; i++)
        strcat(told->notes, cx->notes.at[i].text->s);
    atomic_store(&door, 1);
    pthread_join(t, NULL);
}

static void threads_that_run_already_are_inside(void **state)
{
    (void)state;
    in_a_child(shut_beside_a_thread, "");
    if (told->notes[0])
        skip();
    assert_true(told->same_for_threads);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void shut_and_time(const char *dir)
{
    Ctx *cx = ctx_new();
    char *out = path_in(dir, "out/net.onnx");
    if (!out_ready(cx, out_open(cx, out)))
        _exit(1);
    double start = now_ms();
    sandbox_enter(cx);
    told->milliseconds = now_ms() - start;
    ctx_free(cx);
}

static void it_takes_less_than_a_millisecond(void **state)
{
    (void)state;
    char *dir = folder_at_risk();
    double best = 1000;
    for (int i = 0; i < 20; i++) {
        in_a_child(shut_and_time, dir);
        best = told->milliseconds < best ? told->milliseconds : best;
    }
    remove_folder(dir);
    print_message("the sandbox costs %.3f ms\n", best);
    assert_true(best < 1);
}

/* A build with a sanitizer, or for another system. */
static void shut_and_note(const char *dir)
{
    (void)dir;
    Ctx *cx = ctx_new();
    sandbox_enter(cx);
    for (size_t i = 0; i < cx->notes.n; i++)
        strcat(told->notes, cx->notes.at[i].text->s);
}

int main(void)
{
    if (open_page())
        in_a_child(shut_and_note, "");
    if (!told || strstr(told->notes, "all of its parts")) {
        print_message("no sandbox here: nothing to test\n");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_works_behind_the_door),
        cmocka_unit_test(the_attempts_work_outside),
        cmocka_unit_test(limits_of_the_kernel_follow_ours),
        cmocka_unit_test(what_the_kernel_lacks_is_said),
        cmocka_unit_test(threads_that_run_already_are_inside),
        cmocka_unit_test(it_takes_less_than_a_millisecond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
