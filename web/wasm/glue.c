/* glue.c - the library in a browser: what JavaScript calls. system.c has the parts of a POSIX system
 * that are left out of emscripten's C library.
 *
 * A page calls web_set for each option and then one of web_convert, web_check, web_show. Notes, progress,
 * text and source lines come back through the functions of blobfs.js while it runs; the answer is
 * the status, web_message has the error and web_wanted what would help. One conversion at a time, in a worker of its own. */
#include "pt2onnx.h"

#include <stdlib.h>
#include <string.h>

#include <emscripten.h>

/* ---- blobfs.js ---- */

void web_note(int kind, const char *text);
void web_progress(const char *stage, double share);
void web_text(const void *bytes, size_t n);
void web_source(const char *place, const char *text);

/* ---- options ---- */

enum { MOST = 256 };

typedef struct List {
    const char *at[MOST];
    size_t n;
} List;

static pt2onnx_options o = PT2ONNX_OPTIONS;
static List inputs, output_names, limits, dims;
static pt2onnx_error *error;

static const struct Number {
    const char *name;
    int *to;
} numbers[] = {
    { "opset", &o.opset },
    { "dynamic", &o.dynamic },
    { "check-crc", &o.check_crc },
    { "keep-weights", &o.keep_weights },
    { "show-json", &o.show_json },
};

static const struct Word {
    const char *name, *word;
    int *to, value;
} words[] = {
    { "mode", "saved", (int *)&o.mode, PT2ONNX_MODE_SAVED },
    { "weights", "inline", (int *)&o.weights, PT2ONNX_WEIGHTS_INLINE },
    { "weights", "external", (int *)&o.weights, PT2ONNX_WEIGHTS_EXTERNAL },
    { "target", "onnx", (int *)&o.target, PT2ONNX_TARGET_ONNX },
    { "state", "defaults", (int *)&o.state, PT2ONNX_STATE_DEFAULTS },
    { "state", "constant", (int *)&o.state, PT2ONNX_STATE_CONSTANT },
    { "state", "refuse", (int *)&o.state, PT2ONNX_STATE_REFUSE },
    { "loops", "keep", (int *)&o.loops, PT2ONNX_LOOPS_KEEP },
    { "loops", "unroll", (int *)&o.loops, PT2ONNX_LOOPS_UNROLL },
    { "unknown", "custom", (int *)&o.unknown, PT2ONNX_UNKNOWN_CUSTOM },
};

static const struct Texts {
    const char *name;
    List *to;
} texts[] = {
    { "input", &inputs },
    { "output-names", &output_names },
    { "limit", &limits },
    { "dim", &dims },
};

static const struct Text {
    const char *name;
    const char **to;
} single[] = {
    { "module", &o.module },
    { "method", &o.method },
    { "model", &o.model_name },
};

enum { N_NUMBERS = sizeof numbers / sizeof *numbers, N_WORDS = sizeof words / sizeof *words };
enum { N_TEXTS = sizeof texts / sizeof *texts, N_SINGLE = sizeof single / sizeof *single };

static int set_copied(const char *name, const char *value)
{
    char *copy = strdup(value);
    if (!copy)
        return 0;
    for (int i = 0; i < N_SINGLE; i++)
        if (strcmp(name, single[i].name) == 0)
            return (*single[i].to = copy) != NULL;
    for (int i = 0; i < N_TEXTS; i++)
        if (strcmp(name, texts[i].name) == 0 && texts[i].to->n < MOST)
            return (texts[i].to->at[texts[i].to->n++] = copy) != NULL;
    free(copy);
    return 0;
}

/* An option by the name and words of the command line: web_set("input", "x:float32[N,3]"). A list
 * gets one item a call. 0: there is no such option, or no such word of it. */
EMSCRIPTEN_KEEPALIVE int web_set(const char *name, const char *value)
{
    for (int i = 0; i < N_NUMBERS; i++)
        if (strcmp(name, numbers[i].name) == 0) {
            *numbers[i].to = atoi(value);
            return 1;
        }
    for (int i = 0; i < N_WORDS; i++)
        if (strcmp(name, words[i].name) == 0 && strcmp(value, words[i].word) == 0) {
            *words[i].to = words[i].value;
            return 1;
        }
    return set_copied(name, value);
}

/* ---- calls ---- */

static void on_note(void *user, pt2onnx_note kind, const char *text)
{
    (void)user;
    web_note((int)kind, text);
}

static void on_progress(void *user, const char *stage, double share)
{
    (void)user;
    web_progress(stage, share);
}

static void on_source(void *user, const char *place, const char *text)
{
    (void)user;
    web_source(place, text);
}

static int on_text(void *user, const void *bytes, size_t n)
{
    (void)user;
    web_text(bytes, n);
    return 0;
}

static const pt2onnx_options *options(void)
{
    o.inputs = inputs.at;
    o.n_inputs = inputs.n;
    o.output_names = output_names.at;
    o.n_output_names = output_names.n;
    o.limits = limits.at;
    o.n_limits = limits.n;
    o.dims = dims.at;
    o.n_dims = dims.n;
    o.on_note = on_note;
    o.on_progress = on_progress;
    o.on_source = on_source;
    return &o;
}

EMSCRIPTEN_KEEPALIVE int web_convert(const char *model, const char *out)
{
    return (int)pt2onnx_convert(model, out, options(), &error);
}

EMSCRIPTEN_KEEPALIVE int web_check(const char *model)
{
    return (int)pt2onnx_check(model, options(), &error);
}

EMSCRIPTEN_KEEPALIVE int web_show(const char *model)
{
    return (int)pt2onnx_show(model, on_text, NULL, options(), &error);
}

EMSCRIPTEN_KEEPALIVE const char *web_message(void) { return pt2onnx_error_message(error); }

/* The next of the inputs with which the model would convert, as SPECs; NULL behind the last. */
EMSCRIPTEN_KEEPALIVE const char *web_wanted(void)
{
    static size_t next;
    const char *const *specs = NULL;
    size_t n = pt2onnx_error_inputs(error, &specs);
    return next < n ? specs[next++] : NULL;
}
