/* main.c - the program: command line in, one call of the library, messages out. */
#include "options.h"
#include "pt2onnx.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char program[] = "pt2onnx";

/* The words of the choices, in the order of the public enums. */
static const char *const mode_words[] = { "eval", "saved", NULL };
static const char *const weights_words[] = { "auto", "inline", "external", "link", NULL };
static const char *const state_words[] = { "io", "constant", "refuse", NULL };
static const char *const loops_words[] = { "auto", "keep", "unroll", NULL };
static const char *const unknown_words[] = { "refuse", "custom", NULL };
static const char *const type_words[] = { "saved", "float16", "bfloat16", "int8", "int4", NULL };
static const char *const keep_words[] = { "yes", "no", NULL };
static const char *const target_words[] = { "ort", "onnx", NULL };

typedef enum { DO_CONVERT, DO_CHECK, DO_SHOW, DO_OPS, DO_LIMITS } Action;

static const struct Command {
    const char *name, *argument;
    bool needs_argument;
    const char *help;
    Action action;
} commands[] = {
    { "check", "MODEL", true, "convert, write nothing, list everything that is not supported",
      DO_CHECK },
    { "show", "FILE", true, "print inputs, modules, weights and program of a .pt, .pt2 or .onnx",
      DO_SHOW },
    { "ops", "[NAME]", false,
      "the operators that can be converted, or one of them: aten::gelu, onnx::Resize", DO_OPS },
    { "limits", "", false, "what --limit can raise", DO_LIMITS },
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

typedef struct Line {
    int help, help_all, version, quiet, verbose;
    const char *output, *dump_after, *model_name, *module, *method;
    int opset, mode, state, loops, unknown, weights, target, keep_weights, dynamic, check_crc;
    int no_sandbox, weights_type, change_io_types, block, fuse;
    TextList inputs, dims, output_names, rules, limits, float32, rest;
} Line;

static Line line_defaults(void)
{
    pt2onnx_options o = PT2ONNX_OPTIONS;
    return (Line){
        .opset = o.opset, .mode = (int)o.mode, .weights = (int)o.weights, .target = (int)o.target
    };
}

enum { N_OPTIONS = 31 };

/* The options as rows for options_parse and options_print: each row points at the member of l that
 * it fills. rows has room for N_OPTIONS. */
static void make_rows(Line *l, Option *rows)
{
    const Option all[N_OPTIONS] = {
        { "Output", 'o', "output", OPT_TEXT, &l->output, "FILE",
          "write the model to FILE, - is standard output (default: MODEL with .onnx for its "
          "suffix)",
          NULL, true },
        { NULL, 0, "opset", OPT_NUMBER, &l->opset, "N", "the ONNX opset to write, 9 to 28", NULL,
          true },
        { NULL, 0, "output-names", OPT_COMMAS, &l->output_names, "A,B",
          "names of the outputs, in order", NULL, true },
        { NULL, 0, "target", OPT_CHOICE, &l->target, "NAME",
          "ort: add casts where ONNX Runtime lacks a kernel for a type; onnx: only what ONNX asks "
          "for",
          target_words, false },
        { NULL, 0, "fuse", OPT_FLAG, &l->fuse, NULL,
          "write operators of com.microsoft too, which only ONNX Runtime has", NULL, false },
        { "Input", 'i', "input", OPT_LIST, &l->inputs, "SPEC",
          "type and shape of an input, or the value of an argument; once for each: "
          "x:float32[N,3,224,224] x:int64[N=1..64,?] 1x3x224x224 sr=16000 mode=\"fast\" "
          "batch.image:float32[4]",
          NULL, true },
        { NULL, 0, "dynamic", OPT_FLAG, &l->dynamic, NULL,
          "make the sizes that a trace has recorded dynamic", NULL, true },
        { NULL, 0, "dim", OPT_LIST, &l->dims, "OLD=NEW",
          "another name for a size of a torch.export program: s77=batch", NULL, false },
        { NULL, 0, "model", OPT_TEXT, &l->model_name, "NAME",
          "which program, when a torch.export package holds several", NULL, false },
        { NULL, 0, "mode", OPT_CHOICE, &l->mode, "MODE",
          "eval: as after model.eval(); saved: as the file says", mode_words, true },
        { NULL, 0, "state", OPT_CHOICE, &l->state, "HOW",
          "buffers and attributes that the model writes; io: each is an input NAME and an output "
          "NAME.next; constant: they stay as saved; refuse",
          state_words, true },
        { NULL, 0, "loops", OPT_CHOICE, &l->loops, "HOW",
          "loops whose iterations are known; auto: unrolled unless that gets large; keep: a Loop "
          "where "
          "ONNX can say it; unroll: all, any other is an error",
          loops_words, false },
        { NULL, 0, "module", OPT_TEXT, &l->module, "PATH",
          "convert this part of the model: encoder.layers.0", NULL, false },
        { NULL, 0, "method", OPT_TEXT, &l->method, "NAME", "convert this method instead of forward",
          NULL, false },
        { NULL, 0, "rules", OPT_LIST, &l->rules, "FILE", "rules for operators of your own", NULL,
          true },
        { NULL, 0, "unknown", OPT_CHOICE, &l->unknown, "HOW",
          "unknown operators; refuse; custom: each is a node of the domain that is its "
          "namespace",
          unknown_words, false },
        { "Weights", 0, "weights", OPT_CHOICE, &l->weights, "WHERE",
          "inline: in the model; external: in FILE.data; link: in MODEL itself; auto: external "
          "over 2 GB",
          weights_words, true },
        { NULL, 0, "weights-type", OPT_CHOICE, &l->weights_type, "TYPE",
          "their type as written; float16, bfloat16: the model computes in it too; int8, int4: "
          "blocks with a scale each, dequantised as it runs",
          type_words, true },
        { NULL, 0, "keep-io-types", OPT_CHOICE, &l->change_io_types, "yes|no",
          "inputs and outputs stay float32, whatever the weights are", keep_words, false },
        { NULL, 0, "float32", OPT_LIST, &l->float32, "PATTERN",
          "operators (Gelu) or modules (encoder.*) that stay float32 beside float16 and bfloat16",
          NULL, false },
        { NULL, 0, "weights-block", OPT_NUMBER, &l->block, "N",
          "how many elements of int8 and int4 weights share a scale, 16 to 256; 0 is 32", NULL,
          false },
        { NULL, 0, "keep-weights", OPT_FLAG, &l->keep_weights, NULL,
          "fuse and transpose no weight: each stays as in the state_dict", NULL, false },
        { NULL, 0, "check-crc", OPT_FLAG, &l->check_crc, NULL,
          "verify the checksum of every record first", NULL, false },
        { "Messages", 'q', "quiet", OPT_FLAG, &l->quiet, NULL, "errors only", NULL, true },
        { NULL, 'v', "verbose", OPT_FLAG, &l->verbose, NULL, "say more", NULL, true },
        { NULL, 0, "dump-after", OPT_TEXT, &l->dump_after, "PASS",
          "print the graph as text after that pass", NULL, false },
        { "Other", 0, "limit", OPT_LIST, &l->limits, "NAME=VALUE",
          "raise a limit on what a file may ask for; `pt2onnx limits` lists them", NULL, false },
        { NULL, 0, "no-sandbox", OPT_FLAG, &l->no_sandbox, NULL,
          "keep the rights to open files, start processes and connect while the model is read",
          NULL, false },
        { NULL, 'h', "short-help", OPT_FLAG, &l->help, NULL, "the usual options on one screen",
          NULL, false },
        { NULL, 0, "help", OPT_FLAG, &l->help_all, NULL, "all options", NULL, true },
        { NULL, 0, "version", OPT_FLAG, &l->version, NULL, "the version", NULL, false },
    };
    memcpy(rows, all, sizeof all);
}

/* `all`: every option and command with its explanation (--help); else one screen (-h). The defaults
 * that it prints are those of line_defaults. */
static int print_help(bool all)
{
    Line defaults = line_defaults();
    Option rows[N_OPTIONS];
    make_rows(&defaults, rows);
    printf("Usage: %s [OPTIONS] MODEL\n", program);
    printf("Convert a saved PyTorch program (TorchScript .pt, torch.export .pt2) to ONNX.\n\n"
           "  %s model.pt                                          # writes model.onnx\n"
           "  %s model.pt -o out.onnx -i x:float32[N,3,224,224]    # N is a dynamic dimension\n\n",
           program, program);
    if (all) {
        printf("Commands (a model of such a name is written ./check):\n");
        for (int i = 0; i < N_COMMANDS; i++)
            printf("  %s %-6s %-8s       %s\n", program, commands[i].name, commands[i].argument,
                   commands[i].help);
    }
    options_print(rows, N_OPTIONS, all);
    if (all)
        printf("\nExit codes: 0 done, 1 cannot convert, 2 usage, 3 unreadable, damaged or over a "
               "limit, 4 our bug.\n");
    else
        printf("Also: %s check MODEL, %s show FILE, %s ops [NAME]\n", program, program, program);
    return PT2ONNX_OK;
}

/* ---- what the library tells ---- */

typedef struct Teller {
    bool quiet, verbose, on_terminal, line_open;
    struct timespec start;
    double said; /* when the last progress line was, in seconds since the start */
    FILE *dump;
} Teller;

static double seconds(const Teller *t)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - t->start.tv_sec) + (double)(now.tv_nsec - t->start.tv_nsec) * 1e-9;
}

static void clear_progress(Teller *t)
{
    if (t->line_open)
        fputs("\r\033[K", stderr);
    t->line_open = false;
}

/* One line, on a terminal only, once the work has taken a second. */
static void on_progress(void *user, const char *stage, double share)
{
    Teller *t = user;
    double now = seconds(t);
    if (!t->on_terminal || t->quiet || now < 1 || now - t->said < 0.1)
        return;
    t->said = now;
    t->line_open = true;
    fprintf(stderr, "\r\033[K%s", stage);
    if (share >= 0)
        fprintf(stderr, " %d%%", (int)(share * 100));
    fflush(stderr);
}

static void on_note(void *user, pt2onnx_note kind, const char *text)
{
    static const char *const word[] = { [PT2ONNX_ASSUMED] = "assumed",
                                        [PT2ONNX_ADDED] = "added",
                                        [PT2ONNX_DROPPED] = "dropped",
                                        [PT2ONNX_CHANGED] = "changed",
                                        [PT2ONNX_INFO] = "info" };
    Teller *t = user;
    if (t->quiet || (kind == PT2ONNX_INFO && !t->verbose))
        return;
    clear_progress(t);
    fprintf(stderr, "%s: %s\n", word[kind], text);
}

static void on_dump(void *user, const char *pass, const char *text)
{
    Teller *t = user;
    fprintf(t->dump, "# after %s\n%s", pass, text);
}

static int to_stdout(void *user, const void *bytes, size_t n)
{
    (void)user;
    return fwrite(bytes, 1, n, stdout) == n ? 0 : 1;
}

/* A killed program leaves no unfinished files. A shell says little of XCPU. */
static void on_signal(int number)
{
    static const char out_of_time[] = "pt2onnx: the limit of processor time is reached\n";
    pt2onnx_remove_temporaries();
    if (number == SIGXCPU) {
        ssize_t written = write(STDERR_FILENO, out_of_time, sizeof out_of_time - 1);
        (void)written; /* an error of this write cannot be reported anywhere */
    }
    signal(number, SIG_DFL);
    raise(number);
}

/* A file that becomes too large for `ulimit -f` is an error of the write, with a message. */
static void catch_signals(void)
{
    static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        signal(ends[i], on_signal);
    signal(SIGXFSZ, SIG_IGN);
}

/* ---- running ---- */

/* What the library is asked for: l's strings and lists are borrowed, so l outlives the call. Notes,
 * progress and dumps go to t. */
static pt2onnx_options library_options(const Line *l, Teller *t)
{
    pt2onnx_options o = PT2ONNX_OPTIONS;
    o.opset = l->opset;
    o.mode = (pt2onnx_mode)l->mode;
    o.state = (pt2onnx_state)l->state;
    o.loops = (pt2onnx_loops)l->loops;
    o.unknown = (pt2onnx_unknown)l->unknown;
    o.module = l->module;
    o.method = l->method;
    o.weights = (pt2onnx_weights)l->weights;
    o.target = (pt2onnx_target)l->target;
    o.weights_type = (pt2onnx_weights_type)l->weights_type;
    o.change_io_types = l->change_io_types;
    o.float32 = l->float32.at;
    o.n_float32 = l->float32.n;
    o.weights_block = l->block;
    o.fuse = l->fuse;
    o.keep_weights = l->keep_weights;
    o.dynamic = l->dynamic;
    o.check_crc = l->check_crc;
    o.inputs = l->inputs.at;
    o.n_inputs = l->inputs.n;
    o.dims = l->dims.at;
    o.n_dims = l->dims.n;
    o.model_name = l->model_name;
    o.output_names = l->output_names.at;
    o.n_output_names = l->output_names.n;
    o.rules = l->rules.at;
    o.n_rules = l->rules.n;
    o.limits = l->limits.at;
    o.n_limits = l->limits.n;
    o.dump_after = l->dump_after;
    o.sandbox = !l->no_sandbox;
    o.user = t;
    o.on_note = on_note;
    o.on_progress = on_progress;
    o.on_dump = on_dump;
    return o;
}

/* MODEL with its last suffix replaced: "a.b/net.v1.pt" -> "a.b/net.v1.onnx" */
static char *default_output(const char *model)
{
    const char *slash = strrchr(model, '/');
    const char *base = slash ? slash + 1 : model;
    const char *dot = strrchr(base, '.');
    size_t n = dot && dot > base ? (size_t)(dot - model) : strlen(model);
    char *out = malloc(n + sizeof ".onnx");
    if (out)
        sprintf(out, "%.*s.onnx", (int)n, model);
    return out;
}

static pt2onnx_status convert(const Line *l, const char *model, const pt2onnx_options *o, Teller *t,
                              pt2onnx_error **e)
{
    char *beside = l->output ? NULL : default_output(model);
    const char *out = l->output ? l->output : beside;
    if (!out)
        return PT2ONNX_UNREADABLE;
    t->dump = strcmp(out, "-") == 0 ? stderr : stdout;
    pt2onnx_status status = pt2onnx_convert(model, out, o, e);
    if (status == PT2ONNX_OK && l->verbose && !l->quiet) {
        clear_progress(t);
        fprintf(stderr, "wrote %s\n", out);
    }
    free(beside);
    return status;
}

/* One call of the library. Its notes and its error go to stderr; the exit code is its status, or 3
 * when standard output cannot be written. */
static int run(const Line *l, Action action, const char *subject)
{
    Teller t = { .quiet = l->quiet,
                 .verbose = l->verbose,
                 .on_terminal = isatty(STDERR_FILENO),
                 .dump = stdout };
    clock_gettime(CLOCK_MONOTONIC, &t.start);
    pt2onnx_options o = library_options(l, &t);
    pt2onnx_error *e = NULL;
    pt2onnx_status status = PT2ONNX_BUG;
    switch (action) {
    case DO_CONVERT: status = convert(l, subject, &o, &t, &e); break;
    case DO_CHECK:   status = pt2onnx_check(subject, &o, &e); break;
    case DO_SHOW:    status = pt2onnx_show(subject, to_stdout, NULL, &o, &e); break;
    case DO_OPS:     status = pt2onnx_describe(subject, to_stdout, NULL, &e); break;
    case DO_LIMITS:  status = pt2onnx_describe("limits", to_stdout, NULL, &e); break;
    }
    clear_progress(&t);
    if (e)
        fprintf(stderr, "%s: %s\n", program, pt2onnx_error_message(e));
    pt2onnx_error_free(e);
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == PT2ONNX_OK) {
        fprintf(stderr, "%s: cannot write to standard output\n", program);
        return PT2ONNX_UNREADABLE;
    }
    return (int)status;
}

/* ---- which command ---- */

static const struct Command *find_command(const char *word)
{
    for (int i = 0; i < N_COMMANDS; i++)
        if (strcmp(word, commands[i].name) == 0)
            return &commands[i];
    return NULL;
}

static const char *near_command(const char *word)
{
    const char *names[N_COMMANDS + 1] = { NULL };
    for (int i = 0; i < N_COMMANDS; i++)
        names[i] = commands[i].name;
    return pt2onnx_nearest(word, names);
}

static int usage(const char *word, const char *message)
{
    fprintf(stderr, "%s: %s%s%s\n  try: %s -h\n", program, word, *word ? ": " : "", message,
            program);
    return PT2ONNX_USAGE;
}

/* "chek net.pt": two words, the first like a command's */
static int too_many(const TextList *rest, bool is_command)
{
    const char *near = is_command ? NULL : near_command(rest->at[0]);
    if (near && rest->n == 2) {
        fprintf(stderr, "%s: there is no command %s; did you mean %s?\n", program, rest->at[0],
                near);
        return PT2ONNX_USAGE;
    }
    return usage(rest->at[rest->n - 1], "one argument too many; one file at a time");
}

static int dispatch(const Line *l)
{
    const TextList *rest = &l->rest;
    if (rest->n == 0)
        return usage("", "which model? One file is expected");
    const struct Command *command = find_command(rest->at[0]);
    if (!command)
        return rest->n == 1 ? run(l, DO_CONVERT, rest->at[0]) : too_many(rest, false);
    if (rest->n == 1 && command->needs_argument)
        return usage(command->name, "which file?");
    if (rest->n > (command->argument[0] ? 2u : 1u))
        return too_many(rest, true);
    return run(l, command->action, rest->n == 2 ? rest->at[1] : "");
}

/* Room for every item that the command line can hold: its words and the commas in them. */
static const char **make_lists(Line *l, int argc, char **argv)
{
    size_t most = (size_t)argc + 1;
    for (int i = 1; i < argc; i++)
        for (const char *s = argv[i]; *s; s++)
            most += *s == ',';
    TextList *lists[] = { &l->inputs, &l->dims,    &l->output_names, &l->rules,
                          &l->limits, &l->float32, &l->rest };
    const size_t n = sizeof lists / sizeof *lists;
    const char **room = calloc(most * n, sizeof *room);
    if (!room)
        return NULL;
    for (size_t i = 0; i < n; i++)
        lists[i]->at = room + i * most;
    return room;
}

static int run_line(const Line *l)
{
    if (l->help || l->help_all)
        return print_help(l->help_all);
    if (!l->version)
        return dispatch(l);
    printf("%s %s\n", program, PT2ONNX_VERSION);
    return PT2ONNX_OK;
}

int main(int argc, char **argv)
{
    Line l = line_defaults();
    Option rows[N_OPTIONS];
    const char **room = make_lists(&l, argc, argv);
    if (!room) {
        fprintf(stderr, "%s: out of memory\n", program);
        return PT2ONNX_UNREADABLE;
    }
    catch_signals();
    if (isatty(STDOUT_FILENO))
        setvbuf(stdout, NULL, _IOLBF, 0); /* inside the sandbox it cannot find out itself */
    make_rows(&l, rows);
    int status = options_parse(program, rows, N_OPTIONS, argc, argv, &l.rest) ? run_line(&l)
                                                                              : PT2ONNX_USAGE;
    free(room);
    return status;
}
