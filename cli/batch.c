/* batch.c - several models in one call.
 *
 * Each model has a process of its own: one that is damaged, ends at a limit or brings the converter
 * down leaves the others alone, and each has its sandbox. What a process says is kept until those
 * before it have had their say, so that the output is the same however many are at work. */
#include "batch.h"
#include "messages.h"
#include "process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct Job {
    struct Batch *batch;
    const char *model;
    char *output;
    Process process;
    pt2onnx_status status;
    bool ended;
} Job;

typedef struct Batch {
    const CommandLine *l;
    BatchWork work;
    Job *job;
    size_t n, begun, printed; /* jobs, those whose process has begun, those whose words are out */
    size_t at_once;
    size_t ended, count[PT2ONNX_BUG + 1]; /* ended jobs by their status */
    Messages messages;
} Batch;

/* ---- outputs ---- */

char *batch_output(const char *model, const char *folder, const char *suffix)
{
    const char *base = sys_base(model);
    const char *from = folder ? base : model;
    const char *into = folder ? folder : "";
    const char *dot = strrchr(base, '.');
    size_t stem = dot && dot > base ? (size_t)(dot - from) : strlen(from);
    size_t lead = strlen(into);
    bool joined = lead > 0 && sys_folder_length(into) < lead;
    char *out = malloc(lead + joined + stem + strlen(suffix) + 1);
    if (out)
        sprintf(out, "%s%s%.*s%s", into, joined ? "/" : "", (int)stem, from, suffix);
    return out;
}

/* Where a job writes, whatever the way to it is called: dd/net.onnx and ./dd//net.onnx are one. */
typedef struct Place {
    SysInfo folder;
    const Job *job;
} Place;

static bool find_folder(const char *path, SysInfo *out)
{
    size_t n = sys_folder_length(path);
    char *folder = malloc(n + sizeof ".");
    if (!folder)
        return false;
    memcpy(folder, path, n);
    strcpy(folder + n, ".");
    bool found = sys_path_info(folder, out);
    free(folder);
    return found;
}

/* A folder that is not there yet has no number: its outputs are as their paths say. */
static int by_place(const Place *x, const Place *y)
{
    if (x->folder.device != y->folder.device)
        return x->folder.device < y->folder.device ? -1 : 1;
    if (x->folder.id != y->folder.id)
        return x->folder.id < y->folder.id ? -1 : 1;
    if (x->folder.id == 0)
        return strcmp(x->job->output, y->job->output);
    return strcmp(sys_base(x->job->output), sys_base(y->job->output));
}

static int by_output(const void *a, const void *b)
{
    const Place *x = a;
    const Place *y = b;
    int order = by_place(x, y);
    if (order == 0)
        order = x->job < y->job ? -1 : 1;
    return order;
}

/* Two models with one output, a/net.pt and b/net.pt into one folder, are an error. */
static bool outputs_differ(const Batch *b)
{
    Place *sorted = calloc(b->n, sizeof *sorted);
    if (!sorted)
        return false;
    for (size_t i = 0; i < b->n; i++) {
        sorted[i].job = &b->job[i];
        if (!find_folder(b->job[i].output, &sorted[i].folder))
            sorted[i].folder = (SysInfo){ 0 };
    }
    qsort(sorted, b->n, sizeof *sorted, by_output);
    size_t i = 1;
    while (i < b->n && by_place(&sorted[i - 1], &sorted[i]) != 0)
        i++;
    if (i < b->n)
        fprintf(stderr, PROGRAM ": %s and %s would both be written to %s\n",
                sorted[i - 1].job->model, sorted[i].job->model, sorted[i].job->output);
    free(sorted);
    return i >= b->n;
}

/* Which file a model is. */
typedef struct ModelFile {
    SysInfo info;
    const char *model;
} ModelFile;

static int by_file(const void *a, const void *b)
{
    const SysInfo *x = &((const ModelFile *)a)->info;
    const SysInfo *y = &((const ModelFile *)b)->info;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* Would `output` replace one of the n models? */
static bool replaces_one(const char *output, const ModelFile *models, size_t n)
{
    ModelFile there = { 0 };
    if (!sys_path_info(output, &there.info) || there.info.kind != SYS_REGULAR)
        return false;
    const ModelFile *model = bsearch(&there, models, n, sizeof *models, by_file);
    if (model)
        fprintf(stderr,
                PROGRAM ": the output %s is the model %s, which is to be converted too; -o names "
                        "another folder\n",
                output, model->model);
    return model;
}

/* The same of what a job may write beside its output. */
static bool replaces_a_model(const Job *j, const ModelFile *models, size_t n)
{
    pt2onnx_weights weights = (pt2onnx_weights)j->batch->l->weights;
    if (replaces_one(j->output, models, n))
        return true;
    if (weights == PT2ONNX_WEIGHTS_INLINE || weights == PT2ONNX_WEIGHTS_LINK)
        return false;
    char *data = malloc(strlen(j->output) + sizeof ".data");
    if (!data) {
        fprintf(stderr, PROGRAM ": out of memory\n");
        return true;
    }
    sprintf(data, "%s.data", j->output);
    bool replaces = replaces_one(data, models, n);
    free(data);
    return replaces;
}

/* No output takes the place of a model, by device and inode: which of the two is at work first
 * would decide what is converted. */
static bool models_stay(const Batch *b)
{
    ModelFile *models = calloc(b->n, sizeof *models);
    if (!models)
        return false;
    size_t known = 0;
    for (size_t i = 0; i < b->n; i++) {
        models[known].model = b->job[i].model;
        known += sys_path_info(b->job[i].model, &models[known].info);
    }
    qsort(models, known, sizeof *models, by_file);
    size_t i = 0;
    while (i < b->n && !replaces_a_model(&b->job[i], models, known))
        i++;
    free(models);
    return i == b->n;
}

static bool make_folder(const char *folder)
{
    SysInfo info;
    if (sys_make_folder(folder))
        return true;
    int error = errno;
    if (sys_path_info(folder, &info) && info.kind == SYS_FOLDER)
        return true;
    if (error == EEXIST)
        fprintf(stderr, PROGRAM ": -o %s: several models need a folder, and this is a file\n",
                folder);
    else
        fprintf(stderr, PROGRAM ": cannot make the folder %s: %s\n", folder, strerror(error));
    return false;
}

/* ---- processes ---- */

static int do_job(const void *arg)
{
    const Job *j = arg;
    return j->batch->work(j->batch->l, j->model, j->output);
}

static void end_job(Job *j, pt2onnx_status status)
{
    Batch *b = j->batch;
    j->ended = true;
    j->status = status;
    b->ended++;
    b->count[status]++;
}

/* A model whose process says nothing itself: what it would have said. */
static void end_lost(Job *j, pt2onnx_status status, const char *why)
{
    text_free(&j->process.said[SAID_OUT]);
    messages_lost(j->batch->l, j->model, status, why, &j->process.said[SAID_OUT],
                  &j->process.said[SAID_ERR]);
    end_job(j, status);
}

static void start(Job *j)
{
    if (!process_start(&j->process, do_job, j, (size_t)(j - j->batch->job)))
        end_lost(j, PT2ONNX_UNREADABLE, strerror(errno));
}

static void on_ended(const Process *p)
{
    Job *j = p->owner;
    if (p->code >= 0 && p->code <= PT2ONNX_BUG)
        end_job(j, (pt2onnx_status)p->code);
    else
        end_lost(j, p->crashed ? PT2ONNX_BUG : PT2ONNX_UNREADABLE, p->why);
}

/* ---- what is printed ---- */

/* Notes begin with the model's name, as errors do; lines that go on with a note are indented. */
static void print_messages(const Job *j)
{
    const Text *t = &j->process.said[SAID_ERR];
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
        if (j->process.said[SAID_OUT].n)
            fwrite(j->process.said[SAID_OUT].s, 1, j->process.said[SAID_OUT].n, stdout);
        print_result(b, j);
        fflush(stdout);
        print_messages(j);
        text_free(&j->process.said[SAID_OUT]);
        text_free(&j->process.said[SAID_ERR]);
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
        while (b->begun < b->n && b->begun - b->ended < b->at_once)
            start(&b->job[b->begun++]);
        messages_count(&b->messages, b->ended, b->n);
        if (b->begun > b->ended)
            processes_listen(on_ended);
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
    long wanted = l->jobs > 0 ? l->jobs : process_processors();
    if (wanted < 1)
        wanted = 1;
    size_t most = n < PROCESSES_MOST ? n : PROCESSES_MOST;
    return (size_t)wanted < most ? (size_t)wanted : most;
}

/* The jobs with their outputs; false when memory is out. */
static bool make_jobs(Batch *b, const char *const *models, const char *folder, bool writes)
{
    b->job = calloc(b->n, sizeof *b->job);
    if (!b->job)
        return false;
    for (size_t i = 0; i < b->n; i++) {
        b->job[i] = (Job){ .batch = b, .model = models[i], .process.owner = &b->job[i] };
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
    size_t number;
    if (!make_jobs(&b, models, folder, writes)) {
        fprintf(stderr, PROGRAM ": out of memory\n");
        status = PT2ONNX_UNREADABLE;
    } else if (process_is_started(&number)) {
        status = number < n ? do_job(&b.job[number]) : PT2ONNX_USAGE;
    } else if (!writes ||
               (outputs_differ(&b) && models_stay(&b) && (!folder || make_folder(folder)))) {
        status = run_all(&b);
    }
    free_jobs(&b);
    return status;
}
