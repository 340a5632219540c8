/* messages.c - see messages.h. Text goes to stderr, where a terminal shows progress too; JSON goes
 * to stdout when all is done, one line. */
#include "messages.h"
#include "commands.h"
#include "process.h"

#include <string.h>

static const char *const status_words[] = { "ok", "cannot_convert", "usage", "unreadable", "bug" };

/* ---- while the library works ---- */

static double seconds(const Messages *m) { return sys_seconds() - m->start; }

void messages_clear(Messages *m)
{
    if (m->line_open)
        fputs("\r\033[K", stderr);
    m->line_open = false;
}

/* How long the rest of the stage takes at its pace so far; 0: that cannot be told yet. */
static double seconds_left(const Messages *m, double now, double share)
{
    double done = share - m->stage_share;
    double took = now - m->stage_start;
    return took > 0.3 && done > 0 ? took / done * (1 - share) : 0;
}

static void on_amount(void *user, const char *unit, uint64_t done)
{
    Messages *m = user;
    m->unit = unit;
    m->amount = done;
}

/* 512 MB/s or 2.5 M steps/s: of the stage so far, where something of it is counted. */
static void put_rate(const Messages *m, double now)
{
    static const char *const of_bytes[] = { "bytes", "kB", "MB", "GB", "TB" };
    static const char *const of_others[] = { "", "k ", "M ", "G ", "T " };
    double took = now - m->stage_start;
    if (!m->unit || took < 0.3 || m->amount <= m->stage_amount)
        return;
    bool bytes = strcmp(m->unit, "bytes") == 0;
    double rate = (double)(m->amount - m->stage_amount) / took;
    size_t k = 0;
    for (; rate >= 999.5 && k + 1 < sizeof of_bytes / sizeof *of_bytes; k++)
        rate /= 1000;
    fprintf(stderr, ", %.*f ", rate < 9.95 && k > 0 ? 1 : 0, rate);
    if (bytes)
        fprintf(stderr, "%s/s", of_bytes[k]);
    else
        fprintf(stderr, "%s%s/s", of_others[k], m->unit);
}

static void enter_stage(Messages *m, const char *stage, double now, double share)
{
    m->stage = stage;
    m->stage_start = now;
    m->stage_share = share;
    m->stage_amount = m->amount;
}

/* One line, on a terminal only, once the work has taken half a second. */
static void on_progress(void *user, const char *stage, double share)
{
    Messages *m = user;
    double now = seconds(m);
    if (m->stage != stage)
        enter_stage(m, stage, now, share);
    if (!m->on_terminal || m->quiet || now < 0.5 || now - m->said < 0.1)
        return;
    m->said = now;
    m->line_open = true;
    fprintf(stderr, "\r\033[K%s", stage);
    if (share >= 0)
        fprintf(stderr, " %d%%", (int)(share * 100));
    put_rate(m, now);
    double left = seconds_left(m, now, share);
    if (left >= 1)
        fprintf(stderr, ", about %.0f s left", left);
    fflush(stderr);
}

void messages_count(Messages *m, size_t done, size_t of)
{
    double now = seconds(m);
    if (!m->on_terminal || m->quiet || now < 0.5)
        return;
    m->line_open = true;
    fprintf(stderr, "\r\033[K%zu of %zu", done, of);
    if (done > 0)
        fprintf(stderr, ", about %.0f s left", now / (double)done * (double)(of - done));
    fflush(stderr);
}

/* Notes of the kind INFO are for -v. With json they are kept for the line at the end. */
static void on_note(void *user, pt2onnx_note kind, const char *text)
{
    static const char *const word[] = { [PT2ONNX_ASSUMED] = "assumed",
                                        [PT2ONNX_ADDED] = "added",
                                        [PT2ONNX_DROPPED] = "dropped",
                                        [PT2ONNX_CHANGED] = "changed",
                                        [PT2ONNX_INFO] = "info" };
    Messages *m = user;
    m->assumed += kind == PT2ONNX_ASSUMED;
    if (m->quiet || (kind == PT2ONNX_INFO && !m->verbose))
        return;
    if (m->json) {
        text_fmt(&m->notes, "%s{\"kind\": \"%s\", \"text\": ", m->notes.n ? ", " : "", word[kind]);
        text_json(&m->notes, text);
        text_put(&m->notes, "}");
        return;
    }
    messages_clear(m);
    fprintf(stderr, "%s: %s\n", word[kind], text);
}

static void on_written(void *user, const pt2onnx_written *w)
{
    Messages *m = user;
    m->written = *w;
}

static void on_dump(void *user, const char *pass, const char *text)
{
    Messages *m = user;
    fprintf(m->dump, "# after %s\n%s", pass, text);
}

Messages messages_begin(const CommandLine *l)
{
    Messages m = { .quiet = l->quiet,
                   .verbose = l->verbose,
                   .json = l->json,
                   .line = l,
                   .on_terminal = process_on_terminal(stderr),
                   .start = sys_seconds(),
                   .dump = stdout };
    return m;
}

void messages_listen(Messages *m, pt2onnx_options *o)
{
    o->user = m;
    o->on_note = on_note;
    o->on_progress = on_progress;
    o->on_amount = on_amount;
    o->on_dump = on_dump;
    o->on_written = on_written;
}

/* ---- the end ---- */

typedef struct Result {
    const char *model, *output; /* output: NULL where nothing was to be written */
    pt2onnx_status status;
    const char *error; /* NULL: none */
    double seconds;
    pt2onnx_written written; /* of a model that was written */
} Result;

static void put_json(Text *t, const Result *r, const Text *notes)
{
    bool written = r->output && r->status == PT2ONNX_OK;
    text_put(t, "{\"model\": ");
    text_json(t, r->model);
    text_fmt(t, ", \"status\": \"%s\", \"exit\": %d, \"output\": ", status_words[r->status],
             (int)r->status);
    text_json(t, written ? r->output : NULL);
    if (written && r->written.bytes)
        text_fmt(t, ", \"bytes\": %llu, \"nodes\": %llu, \"opset\": %d",
                 (unsigned long long)r->written.bytes, (unsigned long long)r->written.nodes,
                 r->written.opset);
    text_fmt(t, ", \"seconds\": %.3f, \"notes\": [", r->seconds);
    text_add(t, notes->s, notes->n);
    text_put(t, "], \"error\": ");
    text_json(t, r->error);
    text_put(t, "}\n");
}

static void print_json(const Result *r, const Text *notes)
{
    Text t = { 0 };
    put_json(&t, r, notes);
    if (t.failed || notes->failed)
        fprintf(stderr, PROGRAM ": out of memory\n");
    else
        fwrite(t.s, 1, t.n, stdout);
    text_free(&t);
}

/* The last line, on a terminal only:
 * "digits_cnn.onnx: 43.3 kB, 16 nodes, opset 18, 0.03 s, 1 assumption above". */
static void print_written(const Messages *m, const Result *r)
{
    static const char *const unit[] = { "bytes", "kB", "MB", "GB", "TB" };
    const pt2onnx_written *w = &m->written;
    double size = (double)w->bytes;
    size_t k = 0;
    for (; size >= 999.95 && k + 1 < sizeof unit / sizeof *unit; k++)
        size /= 1000;
    const char *name = strcmp(r->output, "-") == 0 ? "standard output" : r->output;
    fprintf(stderr, "%s: %.*f %s, %llu nodes, opset %d, %.2f s", name, k ? 1 : 0, size, unit[k],
            (unsigned long long)w->nodes, w->opset, r->seconds);
    if (m->assumed)
        fprintf(stderr, ", %d assumption%s above\n", m->assumed, m->assumed == 1 ? "" : "s");
    else
        fputs(", nothing assumed\n", stderr);
}

/* A word as a shell reads it back: 'x:float32[N,3]'. */
static void put_quoted(Text *t, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=:,./@%";
    if (*word && word[strspn(word, plain)] == '\0') {
        text_put(t, word);
        return;
    }
    text_put(t, "'");
    for (; *word; word++)
        if (*word == '\'')
            text_put(t, "'\\''");
        else
            text_add(t, word, 1);
    text_put(t, "'");
}

/* Is the word a model, or what else stands among them, but not this model and not the command? */
static bool is_other_model(const CommandLine *l, const char *word, const char *model)
{
    for (int i = 0; i < N_COMMANDS; i++)
        if (l->rest.n > 0 && word == l->rest.at[0] && strcmp(word, commands[i].name) == 0)
            return false;
    for (size_t i = 0; i < l->rest.n; i++)
        if (word == l->rest.at[i])
            return strcmp(word, model) != 0;
    return false;
}

static void put_specs(Text *t, const pt2onnx_error *e)
{
    const char *const *specs;
    size_t n = pt2onnx_error_inputs(e, &specs);
    for (size_t i = 0; i < n; i++) {
        text_put(t, " -i ");
        put_quoted(t, specs[i]);
    }
}

/* The command line again, for this model alone and with the -i that it lacks. */
static void put_whole_line(Text *t, const CommandLine *l, const char *model, const pt2onnx_error *e)
{
    const char *const *specs;
    char **word = l->words + 1;
    if (pt2onnx_error_inputs(e, &specs) == 0)
        return;
    text_put(t, "\n  the whole line: " PROGRAM);
    for (; *word && strcmp(*word, "--") != 0; word++) {
        if (is_other_model(l, *word, model))
            continue;
        text_put(t, " ");
        put_quoted(t, *word);
    }
    put_specs(t, e);
    if (!*word)
        return;
    text_put(t, " -- ");
    put_quoted(t, model);
}

/* The error's message and the whole line, if there is one. Empty: no error, or no memory. */
static Text error_of(const Messages *m, const char *model, const pt2onnx_error *e)
{
    Text text = { 0 };
    if (!e)
        return text;
    text_put(&text, pt2onnx_error_message(e));
    put_whole_line(&text, m->line, model, e);
    text_add(&text, "", 1);
    return text;
}

/* One of four: JSON, the error, on a terminal what was written, with -v that it was. */
void messages_end(Messages *m, const char *model, const char *output, pt2onnx_status status,
                  const pt2onnx_error *e)
{
    messages_clear(m);
    Text text = error_of(m, model, e);
    const char *error = text.n && !text.failed ? text.s : NULL;
    if (e && !error)
        error = pt2onnx_error_message(e);
    const Result result = { model, output, status, error, seconds(m), m->written };
    if (m->json)
        print_json(&result, &m->notes);
    else if (error)
        fprintf(stderr, PROGRAM ": %s\n", error);
    else if (m->on_terminal && !m->quiet && m->written.bytes && output)
        print_written(m, &result);
    else if (m->verbose && !m->quiet && output)
        fprintf(stderr, "wrote %s\n", output);
    text_free(&text);
    text_free(&m->notes);
}

void messages_lost(const CommandLine *l, const char *model, pt2onnx_status status, const char *why,
                   Text *out, Text *err)
{
    const Result result = { .model = model, .status = status, .error = why };
    const Text no_notes = { 0 };
    if (l->json)
        put_json(out, &result, &no_notes);
    else
        text_fmt(err, PROGRAM ": %s: %s\n", model, why);
}
