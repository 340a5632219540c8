/* process_posix.c - process.h by POSIX: each process is a fork, which has all that its parent has
 * read and parsed. */
#ifndef _WIN32
#include "process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { SAID_MOST = 1 << 20 };

bool process_begin(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    if (isatty(STDOUT_FILENO))
        setvbuf(stdout, NULL, _IOLBF, 0); /* inside the sandbox it cannot find out itself */
    return true;
}

bool process_on_terminal(FILE *f) { return isatty(fileno(f)); }
long process_processors(void) { return sysconf(_SC_NPROCESSORS_ONLN); }

bool process_is_started(size_t *number)
{
    (void)number;
    return false;
}

/* ---- signals ---- */

/* The processes at work, and their numbers for a handler; 0: a free place. */
static Process *at_work[PROCESSES_MOST];
static volatile pid_t running[PROCESSES_MOST];
static void (*clean_up)(void);

/* A killed program leaves no unfinished files. A shell says little of XCPU. */
static void on_signal(int number)
{
    static const char out_of_time[] = "pt2onnx: the limit of processor time is reached\n";
    for (size_t i = 0; i < PROCESSES_MOST; i++)
        if (running[i] > 0)
            kill(running[i], number);
    clean_up();
    if (number == SIGXCPU) {
        ssize_t written = write(STDERR_FILENO, out_of_time, sizeof out_of_time - 1);
        (void)written; /* an error of this write cannot be reported anywhere */
    }
    signal(number, SIG_DFL);
    raise(number);
}

/* A file that becomes too large for `ulimit -f` is an error of the write, with a message. */
void process_catch_signals(void (*clean)(void))
{
    static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU };
    clean_up = clean;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        signal(ends[i], on_signal);
    signal(SIGXFSZ, SIG_IGN);
}

/* ---- processes ---- */

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* The new process: only its own ends of its own pipes are open. */
static void become_child(int out, int err)
{
    for (size_t i = 0; i < PROCESSES_MOST; i++) {
        running[i] = 0;
        if (!at_work[i])
            continue;
        for (int s = 0; s < STREAMS; s++)
            close_if_open((int)at_work[i]->from[s]);
    }
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
}

static void begins(Process *p, pid_t pid)
{
    size_t i = 0;
    while (i + 1 < PROCESSES_MOST && at_work[i])
        i++;
    at_work[i] = p;
    running[i] = pid;
}

static void is_over(const Process *p)
{
    size_t i = 0;
    while (i + 1 < PROCESSES_MOST && at_work[i] != p)
        i++;
    running[i] = 0;
    at_work[i] = NULL;
}

/* Nobody would hear what this process says: it ends with its parent, however that ends. */
static void end_with(pid_t parent)
{
#ifdef __linux__
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() != parent)
        raise(SIGTERM); /* it has ended before the call */
#else
    (void)parent;
#endif
}

/* Signals wait while the process is made: a handler finds it among those at work, or it does not
 * exist yet. */
static pid_t make_process(Process *p, int out, int err)
{
    sigset_t all, before;
    sigfillset(&all);
    fflush(NULL);
    sigprocmask(SIG_BLOCK, &all, &before);
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid > 0)
        begins(p, pid);
    if (pid == 0) {
        signal(SIGPIPE, SIG_DFL);
        end_with(parent);
        sigprocmask(SIG_SETMASK, &before, NULL);
        become_child(out, err);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}

/* See process.h. In the new process the work is done here, and nothing returns. */
bool process_start(Process *p, int (*work)(const void *arg), const void *arg, size_t number)
{
    int out[2] = { -1, -1 };
    int err[2] = { -1, -1 };
    (void)number;
    pid_t pid = pipe(out) == 0 && pipe(err) == 0 ? make_process(p, out[1], err[1]) : -1;
    if (pid == 0)
        exit(work(arg));
    int error = errno;
    close_if_open(out[1]);
    close_if_open(err[1]);
    if (pid < 0) {
        close_if_open(out[0]);
        close_if_open(err[0]);
        errno = error;
        return false;
    }
    p->id = pid;
    p->from[SAID_OUT] = out[0];
    p->from[SAID_ERR] = err[0];
    return true;
}

static const char *words_of_signal(int number)
{
    switch (number) {
    case SIGXCPU: return "the limit of processor time is reached";
    case SIGKILL: return "it was killed, for want of memory perhaps";
    default:      return "the converter has crashed; please report it";
    }
}

/* The process has closed its pipes: how has it ended? */
static void reap(Process *p)
{
    int state = 0;
    while (waitpid((pid_t)p->id, &state, 0) < 0 && errno == EINTR) {
    }
    is_over(p);
    int number = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
    p->ended = true;
    p->code = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
    p->why = words_of_signal(number);
    p->crashed = number != SIGXCPU && number != SIGKILL;
}

/* What has come out of one pipe, which may be its end. */
static void take(Process *p, Stream s)
{
    char some[1 << 14];
    ssize_t n = read((int)p->from[s], some, sizeof some);
    if (n < 0 && errno == EINTR)
        return;
    if (n > 0) {
        if (p->said[s].n < SAID_MOST)
            text_add(&p->said[s], some, (size_t)n);
        return;
    }
    close((int)p->from[s]);
    p->from[s] = SYS_NONE;
    if (p->from[SAID_OUT] == SYS_NONE && p->from[SAID_ERR] == SYS_NONE)
        reap(p);
}

/* See process.h. What the processes say comes through pipes, for which poll waits together. */
void processes_listen(void (*ended)(const Process *p))
{
    struct pollfd fds[PROCESSES_MOST * STREAMS];
    Process *process[PROCESSES_MOST * STREAMS];
    nfds_t n = 0;
    for (size_t i = 0; i < PROCESSES_MOST * STREAMS; i++) {
        Process *p = at_work[i / STREAMS];
        if (!p || p->from[i % STREAMS] == SYS_NONE)
            continue;
        process[n] = p;
        fds[n] = (struct pollfd){ .fd = (int)p->from[i % STREAMS], .events = POLLIN };
        n++;
    }
    if (poll(fds, n, -1) < 0)
        return;
    for (nfds_t i = 0; i < n; i++)
        if (fds[i].revents) {
            take(process[i], fds[i].fd == process[i]->from[SAID_OUT] ? SAID_OUT : SAID_ERR);
            if (process[i]->ended)
                ended(process[i]);
        }
}
#endif
