/* batch.c - several models in one call.
 *
 * Each model has a process of its own: one that is damaged, ends at a limit or brings the converter
 * down leaves the others alone, and each has its sandbox. What a process says is kept until those
 * before it have had their say, so that the output is the same however many are at work. */
#include "batch.h"
#include "messages.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_JOBS = 256, SAID_MOST = 1 << 20 }; /* bytes that are kept of what a process says */

typedef enum { OUT, ERR, STREAMS } Stream;

typedef struct Job {
    const char *model;
    char *output;
    pid_t pid;
    int from[STREAMS]; /* the pipes of the process; -1: not open */
    Text said[STREAMS];
    pt2onnx_status status;
    bool ended;
} Job;

typedef struct Batch {
    const CommandLine *l;
    BatchWork work;
    Job *job;
    size_t n, begun, printed; /* jobs, those whose process has begun, those whose words are out */
    Job *active[MOST_JOBS];   /* those whose process is at work */
    size_t n_active, at_once;
    size_t ended, count[PT2ONNX_BUG + 1]; /* ended jobs by their status */
    Messages messages;
} Batch;

/* ---- signals ---- */

/* The processes at work, for a handler; 0: a free place. */
static volatile pid_t running[MOST_JOBS];

void batch_signal(int number)
{
    for (size_t i = 0; i < MOST_JOBS; i++)
        if (running[i] > 0)
            kill(running[i], number);
}

static void replace_running(pid_t old, pid_t new)
{
    size_t i = 0;
    while (i + 1 < MOST_JOBS && running[i] != old)
        i++;
    running[i] = new;
}

/* ---- outputs ---- */

char *batch_output(const char *model, const char *folder, const char *suffix)
{
    const char *slash = strrchr(model, '/');
    const char *base = slash ? slash + 1 : model;
    const char *from = folder ? base : model;
    const char *into = folder ? folder : "";
    const char *dot = strrchr(base, '.');
    size_t stem = dot && dot > base ? (size_t)(dot - from) : strlen(from);
    size_t lead = strlen(into);
    bool joined = lead > 0 && into[lead - 1] != '/';
    char *out = malloc(lead + joined + stem + strlen(suffix) + 1);
    if (out)
        sprintf(out, "%s%s%.*s%s", into, joined ? "/" : "", (int)stem, from, suffix);
    return out;
}

static int by_output(const void *a, const void *b)
{
    const Job *const *x = a;
    const Job *const *y = b;
    int order = strcmp((*x)->output, (*y)->output);
    if (order == 0)
        order = *x < *y ? -1 : 1;
    return order;
}

/* Two models with one output, a/net.pt and b/net.pt into one folder, are an error. */
static bool outputs_differ(const Batch *b)
{
    const Job **sorted = calloc(b->n, sizeof *sorted);
    if (!sorted)
        return false;
    for (size_t i = 0; i < b->n; i++)
        sorted[i] = &b->job[i];
    qsort(sorted, b->n, sizeof *sorted, by_output);
    size_t i = 1;
    while (i < b->n && strcmp(sorted[i - 1]->output, sorted[i]->output) != 0)
        i++;
    if (i < b->n)
        fprintf(stderr, PROGRAM ": %s and %s would both be written to %s\n", sorted[i - 1]->model,
                sorted[i]->model, sorted[i]->output);
    free(sorted);
    return i >= b->n;
}

static bool make_folder(const char *folder)
{
    struct stat s;
    if (mkdir(folder, 0777) == 0)
        return true;
    int error = errno;
    if (stat(folder, &s) == 0 && S_ISDIR(s.st_mode))
        return true;
    if (error == EEXIST)
        fprintf(stderr, PROGRAM ": -o %s: several models need a folder, and this is a file\n",
                folder);
    else
        fprintf(stderr, PROGRAM ": cannot make the folder %s: %s\n", folder, strerror(error));
    return false;
}

/* ---- processes ---- */

/* The process of one model; it never returns. */
static void be_child(const Batch *b, const Job *j, int out, int err)
{
    for (size_t i = 0; i < MOST_JOBS; i++)
        running[i] = 0;
    for (size_t i = 0; i < b->n_active; i++)
        for (int s = 0; s < STREAMS; s++)
            if (b->active[i]->from[s] >= 0)
                close(b->active[i]->from[s]);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
    exit(b->work(b->l, j->model, j->output));
}

/* Signals wait while the process is made: a handler finds it among those at work, or it does not
 * exist yet. */
static pid_t make_process(const Batch *b, const Job *j, int out, int err)
{
    sigset_t all, before;
    sigfillset(&all);
    fflush(NULL);
    sigprocmask(SIG_BLOCK, &all, &before);
    pid_t pid = fork();
    if (pid > 0)
        replace_running(0, pid);
    if (pid == 0) {
        signal(SIGPIPE, SIG_DFL);
        sigprocmask(SIG_SETMASK, &before, NULL);
        be_child(b, j, out, err);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}

static void end_job(Batch *b, Job *j, pt2onnx_status status)
{
    j->ended = true;
    j->status = status;
    b->ended++;
    b->count[status]++;
}

/* A model whose process says nothing itself: what it would have said. */
static void end_lost(Batch *b, Job *j, pt2onnx_status status, const char *why)
{
    text_free(&j->said[OUT]);
    messages_lost(b->l, j->model, status, why, &j->said[OUT], &j->said[ERR]);
    end_job(b, j, status);
}

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

static void start(Batch *b, Job *j)
{
    int out[2] = { -1, -1 };
    int err[2] = { -1, -1 };
    j->pid = pipe(out) == 0 && pipe(err) == 0 ? make_process(b, j, out[1], err[1]) : -1;
    int error = errno;
    close_if_open(out[1]);
    close_if_open(err[1]);
    if (j->pid < 0) {
        close_if_open(out[0]);
        close_if_open(err[0]);
        end_lost(b, j, PT2ONNX_UNREADABLE, strerror(error));
        return;
    }
    j->from[OUT] = out[0];
    j->from[ERR] = err[0];
    b->active[b->n_active++] = j;
}

/* Why a process ended without an exit code of ours. */
static pt2onnx_status status_of_signal(int number, const char **why)
{
    switch (number) {
    case SIGXCPU: *why = "the limit of processor time is reached"; return PT2ONNX_UNREADABLE;
    case SIGKILL: *why = "it was killed, for want of memory perhaps"; return PT2ONNX_UNREADABLE;
    default:      *why = "the converter has crashed; please report it"; return PT2ONNX_BUG;
    }
}

/* The process has closed its pipes: how has it ended? */
static void reap(Batch *b, Job *j)
{
    int state = 0;
    while (waitpid(j->pid, &state, 0) < 0 && errno == EINTR) {
    }
    replace_running(j->pid, 0);
    size_t i = 0;
    while (b->active[i] != j)
        i++;
    b->active[i] = b->active[--b->n_active];
    if (WIFEXITED(state) && WEXITSTATUS(state) <= PT2ONNX_BUG) {
        end_job(b, j, (pt2onnx_status)WEXITSTATUS(state));
        return;
    }
    const char *why;
    pt2onnx_status status = status_of_signal(WIFSIGNALED(state) ? WTERMSIG(state) : 0, &why);
    end_lost(b, j, status, why);
}

/* What has come out of one pipe, which may be its end. */
static void take(Batch *b, Job *j, Stream s)
{
    char some[1 << 14];
    ssize_t n = read(j->from[s], some, sizeof some);
    if (n < 0 && errno == EINTR)
        return;
    if (n > 0) {
        if (j->said[s].n < SAID_MOST)
            text_add(&j->said[s], some, (size_t)n);
        return;
    }
    close(j->from[s]);
    j->from[s] = -1;
    if (j->from[OUT] < 0 && j->from[ERR] < 0)
        reap(b, j);
}

/* Waits until one of the processes says something or ends. */
static void listen_once(Batch *b)
{
    struct pollfd fds[MOST_JOBS * STREAMS];
    Job *job[MOST_JOBS * STREAMS];
    nfds_t n = 0;
    for (size_t i = 0; i < b->n_active; i++)
        for (int s = 0; s < STREAMS; s++)
            if (b->active[i]->from[s] >= 0) {
                job[n] = b->active[i];
                fds[n] = (struct pollfd){ .fd = job[n]->from[s], .events = POLLIN };
                n++;
            }
    if (poll(fds, n, -1) < 0)
        return;
    for (nfds_t i = 0; i < n; i++)
        if (fds[i].revents)
            take(b, job[i], fds[i].fd == job[i]->from[OUT] ? OUT : ERR);
}

/* ---- what is printed ---- */

/* Notes begin with the model's name, as errors do; lines that go on with a note are indented. */
static void print_messages(const Job *j)
{
    const Text *t = &j->said[ERR];
    for (size_t at = 0; at < t->n;) {
        const char *line = t->s + at;
        const char *end = memchr(line, '\n', t->n - at);
        size_t n = end ? (size_t)(end - line) + 1 : t->n - at;
        bool own = n > strlen(PROGRAM ": ") &&
            strncmp(line, PROGRAM ": ", strlen(PROGRAM ": ")) == 0;
        if (!own && *line != ' ')
            fprintf(stderr, "%s: ", j->model);
        fwrite(line, 1, n, stderr);
        at += n;
    }
}

static void print_result(const Batch *b, const Job *j)
{
    static const char *const failed[] = { [PT2ONNX_CANNOT_CONVERT] = "cannot be converted",
                                          [PT2ONNX_USAGE] = "an option is wrong",
                                          [PT2ONNX_UNREADABLE] = "cannot be read, or written",
                                          [PT2ONNX_BUG] = "pt2onnx is wrong" };
    if (b->l->json || (b->l->quiet && j->status == PT2ONNX_OK))
        return;
    if (j->status != PT2ONNX_OK)
        printf("%s: %s\n", j->model, failed[j->status]);
    else if (j->output)
        printf("%s -> %s\n", j->model, j->output);
    else
        printf("%s: can be converted\n", j->model);
}

static void print_ended(Batch *b)
{
    if (b->printed < b->begun && b->job[b->printed].ended)
        messages_clear(&b->messages);
    for (; b->printed < b->begun && b->job[b->printed].ended; b->printed++) {
        Job *j = &b->job[b->printed];
        if (j->said[OUT].n)
            fwrite(j->said[OUT].s, 1, j->said[OUT].n, stdout);
        print_result(b, j);
        fflush(stdout);
        print_messages(j);
        text_free(&j->said[OUT]);
        text_free(&j->said[ERR]);
    }
}

static void print_summary(const Batch *b)
{
    static const char *const words[] = { [PT2ONNX_CANNOT_CONVERT] = "cannot be converted",
                                         [PT2ONNX_USAGE] = "with a wrong option",
                                         [PT2ONNX_UNREADABLE] = "cannot be read or written",
                                         [PT2ONNX_BUG] = "ended by a mistake of pt2onnx" };
    if (b->l->json || b->l->quiet)
        return;
    fprintf(stderr, "%zu models: %zu %s", b->n, b->count[PT2ONNX_OK],
            b->job[0].output ? "converted" : "can be converted");
    for (int s = PT2ONNX_CANNOT_CONVERT; s <= PT2ONNX_BUG; s++)
        if (b->count[s])
            fprintf(stderr, ", %zu %s", b->count[s], words[s]);
    fputc('\n', stderr);
}

/* ---- the whole ---- */

static int run_all(Batch *b)
{
    while (b->printed < b->n) {
        while (b->begun < b->n && b->n_active < b->at_once)
            start(b, &b->job[b->begun++]);
        messages_count(&b->messages, b->ended, b->n);
        if (b->n_active)
            listen_once(b);
        print_ended(b);
    }
    print_summary(b);
    int worst = PT2ONNX_BUG;
    while (worst > PT2ONNX_OK && !b->count[worst])
        worst--;
    return worst;
}

static size_t jobs_at_once(const CommandLine *l, size_t n)
{
    long wanted = l->jobs > 0 ? l->jobs : sysconf(_SC_NPROCESSORS_ONLN);
    if (wanted < 1)
        wanted = 1;
    size_t most = n < MOST_JOBS ? n : MOST_JOBS;
    return (size_t)wanted < most ? (size_t)wanted : most;
}

/* The jobs with their outputs; false when memory is out. */
static bool make_jobs(Batch *b, const char *const *models, const char *folder, bool writes)
{
    b->job = calloc(b->n, sizeof *b->job);
    if (!b->job)
        return false;
    for (size_t i = 0; i < b->n; i++) {
        b->job[i] = (Job){ .model = models[i], .from = { -1, -1 } };
        if (writes)
            b->job[i].output = batch_output(models[i], folder, ".onnx");
        if (writes && !b->job[i].output)
            return false;
    }
    return true;
}

static void free_jobs(Batch *b)
{
    if (!b->job)
        return;
    for (size_t i = 0; i < b->n; i++)
        free(b->job[i].output);
    free(b->job);
}

int batch_run(const CommandLine *l, const char *const *models, size_t n, const char *folder,
              bool writes, BatchWork work)
{
    Batch b = { .l = l, .work = work, .n = n, .at_once = jobs_at_once(l, n) };
    b.messages = messages_begin(l);
    int status = PT2ONNX_USAGE;
    if (!make_jobs(&b, models, folder, writes)) {
        fprintf(stderr, PROGRAM ": out of memory\n");
        status = PT2ONNX_UNREADABLE;
    } else if (!writes || (outputs_differ(&b) && (!folder || make_folder(folder)))) {
        status = run_all(&b);
    }
    free_jobs(&b);
    return status;
}
