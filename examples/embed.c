/* embed.c - a program that converts a model with the library.
 *
 *     cc embed.c -o embed $(pkg-config --cflags --libs pt2onnx)
 *     ./embed net.pt net.onnx "x:float32[N,3,224,224]"
 *     ./embed net.pt - "x:float32[N,3,224,224]" > net.onnx
 *
 * The second form takes the bytes through a callback, as a program would that keeps models in a
 * database. Prefer a file where there is a choice: the kernel then copies the weights from file to
 * file, and they never are in this process.
 *
 * The library has no global state: each thread may convert a model of its own at the same time,
 * with options and an error of its own. Callbacks come on the thread that called, before the call
 * returns. */
#include <pt2onnx.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the library says while it works ---- */

/* What the caller keeps about one conversion: pt2onnx_options.user. */
typedef struct Job {
    const char *model;
    int n_assumed;
    char stage[64]; /* the last one shown */
} Job;

/* `text` is the library's: who wants to keep it copies it. */
static void on_note(void *user, pt2onnx_note kind, const char *text)
{
    static const char *const word[] = { [PT2ONNX_ASSUMED] = "assumed",
                                        [PT2ONNX_ADDED] = "added",
                                        [PT2ONNX_DROPPED] = "dropped",
                                        [PT2ONNX_CHANGED] = "changed",
                                        [PT2ONNX_INFO] = "info" };
    Job *job = user;
    job->n_assumed += kind == PT2ONNX_ASSUMED;
    /* A later library may have more kinds. */
    const char *shown = (size_t)kind < sizeof word / sizeof *word ? word[kind] : "note";
    fprintf(stderr, "%s: %s: %s\n", job->model, shown, text);
}

/* share is from 0 to 1, or -1 where it is not known. A large model calls this many times a second:
 * here only a new stage is shown. */
static void on_progress(void *user, const char *stage, double share)
{
    Job *job = user;
    (void)share;
    if (strcmp(stage, job->stage) == 0)
        return;
    snprintf(job->stage, sizeof job->stage, "%s", stage);
    fprintf(stderr, "%s: .. %s\n", job->model, stage);
}

/* Called only when all has gone well and the model is in its place. */
static void on_written(void *user, const pt2onnx_written *w)
{
    const Job *job = user;
    fprintf(stderr, "%s: %llu bytes, %llu nodes, opset %d, %d assumed\n", job->model,
            (unsigned long long)w->bytes, (unsigned long long)w->nodes, w->opset, job->n_assumed);
}

/* ---- bytes through a callback ---- */

typedef struct Bytes {
    char *at;
    size_t n, room;
} Bytes;

/* Each call continues where the last one ended. Anything but 0 ends the conversion. */
static int add_bytes(void *user, const void *bytes, size_t n)
{
    Bytes *b = user;
    if (n > b->room - b->n) {
        size_t room = b->room * 2 > b->n + n ? b->room * 2 : b->n + n;
        char *at = realloc(b->at, room);
        if (!at)
            return 1;
        b->at = at;
        b->room = room;
    }
    memcpy(b->at + b->n, bytes, n);
    b->n += n;
    return 0;
}

/* What has arrived when a conversion fails is no model: it is thrown away. */
static pt2onnx_status to_stdout(const char *model, const pt2onnx_options *o, pt2onnx_error **e)
{
    Bytes b = { 0 };
    pt2onnx_status status = pt2onnx_convert_to(model, add_bytes, &b, o, e);
    if (status == PT2ONNX_OK && fwrite(b.at, 1, b.n, stdout) != b.n) {
        perror("standard output");
        status = PT2ONNX_UNREADABLE;
    }
    free(b.at);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: embed MODEL OUT.onnx [SPEC..]\n");
        return PT2ONNX_USAGE;
    }
    if (strcmp(pt2onnx_version(), PT2ONNX_VERSION) != 0)
        fprintf(stderr, "compiled for pt2onnx " PT2ONNX_VERSION ", running with %s\n",
                pt2onnx_version());
    Job job = { .model = argv[1] };
    pt2onnx_options o = PT2ONNX_OPTIONS; /* what is not set below has its default */
    o.opset = 18;
    o.inputs = (const char *const *)(argv + 3);
    o.n_inputs = (size_t)(argc - 3);
    o.user = &job;
    o.on_note = on_note;
    o.on_progress = on_progress;
    o.on_written = on_written;

    pt2onnx_error *e = NULL;
    pt2onnx_status status = strcmp(argv[2], "-") == 0 ? to_stdout(argv[1], &o, &e)
                                                      : pt2onnx_convert(argv[1], argv[2], &o, &e);
    if (e) /* the caller's, until it is freed; several lines, no newline at the end */
        fprintf(stderr, "%s\n", pt2onnx_error_message(e));
    pt2onnx_error_free(e);
    return (int)status;
}
