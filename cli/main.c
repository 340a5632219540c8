/* main.c - the program: command line in, one call of the library, messages out. */
#include "batch.h"
#include "command_line.h"
#include "commands.h"
#include "manual.h"
#include "messages.h"
#include "process.h"

#include <stdlib.h>
#include <string.h>

static const char program[] = PROGRAM;

/* ---- running ---- */

static int usage(const char *word, const char *message)
{
    fprintf(stderr, "%s: %s%s%s\n  try: %s -h\n", program, word, *word ? ": " : "", message,
            program);
    return PT2ONNX_USAGE;
}

/* When standard output cannot be written the exit code says so. */
static int end_output(int status)
{
    if ((fflush(stdout) == 0 && !ferror(stdout)) || status != PT2ONNX_OK)
        return status;
    fprintf(stderr, "%s: cannot write to standard output\n", program);
    return PT2ONNX_UNREADABLE;
}

typedef pt2onnx_status (*LibraryCall)(const char *model, const char *output,
                                      const pt2onnx_options *o, pt2onnx_error **e);

/* One call of the library for one model, with its notes and its end. output: NULL where nothing is
 * written. Graphs of --dump-after go to stdout, unless the output goes there. */
static int run(const CommandLine *l, LibraryCall call, const char *model, const char *output)
{
    Messages m = messages_begin(l);
    pt2onnx_options o = command_line_request(l);
    messages_listen(&m, &o);
    m.dump = output && strcmp(output, "-") == 0 ? stderr : stdout;
    pt2onnx_error *e = NULL;
    pt2onnx_status status = call(model, output, &o, &e);
    messages_end(&m, model, output, status, e);
    pt2onnx_error_free(e);
    return end_output((int)status);
}

static pt2onnx_status call_check(const char *model, const char *output, const pt2onnx_options *o,
                                 pt2onnx_error **e)
{
    (void)output;
    return pt2onnx_check(model, o, e);
}

static int convert_one(const CommandLine *l, const char *model, const char *output)
{
    return run(l, pt2onnx_convert, model, output);
}

static int check_one(const CommandLine *l, const char *model, const char *output)
{
    return run(l, call_check, model, output);
}

static int to_stdout(void *user, const void *bytes, size_t n)
{
    (void)user;
    return fwrite(bytes, 1, n, stdout) == n ? 0 : 1;
}

/* On a terminal headings are bold: the first line, and what stands behind an empty one. */
static int to_terminal(void *user, const void *bytes, size_t n)
{
    const char *s = bytes;
    const char *end = s + n;
    bool heading = true;
    (void)user;
    while (s < end) {
        const char *newline = memchr(s, '\n', (size_t)(end - s));
        const char *stop = newline ? newline : end;
        bool bold = heading && *s != ' ' && *s != '\n';
        fprintf(stdout, bold ? "\033[1m%.*s\033[0m" : "%.*s", (int)(stop - s), s);
        if (newline)
            putchar('\n');
        heading = *s == '\n';
        s = stop + (newline != NULL);
    }
    return ferror(stdout) ? 1 : 0;
}

/* https://no-color.org: set and not empty. */
static bool has_colour(void)
{
    const char *no = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    bool dumb = terminal && strcmp(terminal, "dumb") == 0;
    return process_on_terminal(stdout) && !dumb && !(no && *no);
}

static int show(const CommandLine *l, const char *file)
{
    Messages m = messages_begin(l);
    pt2onnx_options o = command_line_request(l);
    messages_listen(&m, &o);
    pt2onnx_error *e = NULL;
    o.show_json = l->json;
    pt2onnx_write write = has_colour() && !l->json ? to_terminal : to_stdout;
    pt2onnx_status status = pt2onnx_show(file, write, NULL, &o, &e);
    m.json = m.json && status != PT2ONNX_OK; /* else the object is out already */
    messages_end(&m, file, NULL, status, e);
    pt2onnx_error_free(e);
    return end_output((int)status);
}

static int describe(const CommandLine *l, const char *what)
{
    Messages m = messages_begin(l);
    pt2onnx_error *e = NULL;
    pt2onnx_status status = pt2onnx_describe(what, to_stdout, NULL, &e);
    messages_end(&m, what, NULL, status, e);
    pt2onnx_error_free(e);
    return end_output((int)status);
}

/* All operators, or those named: one that is unknown does not keep the others back. */
static int operators(const CommandLine *l, const char *const *names, size_t n)
{
    if (n == 0)
        return describe(l, "");
    int worst = PT2ONNX_OK;
    for (size_t i = 0; i < n; i++) {
        int status = describe(l, names[i]);
        worst = status > worst ? status : worst;
    }
    return worst;
}

/* A word that must be one of a list, but is not. */
static int unknown_word(const char *what, const char *word, const char *const *words)
{
    const char *near = pt2onnx_nearest(word, words);
    fprintf(stderr, "%s: there is no %s %s; there are", program, what, word);
    for (int i = 0; words[i]; i++)
        fprintf(stderr, "%s %s", i ? "," : "", words[i]);
    if (near)
        fprintf(stderr, "; did you mean %s?", near);
    fputc('\n', stderr);
    return PT2ONNX_USAGE;
}

static int help(const char *topic)
{
    if (!manual_topic(topic))
        return unknown_word("topic", topic, manual_topics);
    return end_output(PT2ONNX_OK);
}

static int completions(const char *shell)
{
    if (!manual_completions(shell))
        return unknown_word("shell", shell, manual_shells);
    return end_output(PT2ONNX_OK);
}

/* Does -o name a folder: one that is there, or by a slash at its end? */
static bool is_folder(const char *path)
{
    SysInfo info;
    size_t n = strlen(path);
    return (n > 0 && sys_folder_length(path) == n) ||
        (sys_path_info(path, &info) && info.kind == SYS_FOLDER);
}

static int convert_to_default(const CommandLine *l, const char *model, const char *folder)
{
    char *output = batch_output(model, folder, ".onnx");
    if (!output) {
        fprintf(stderr, "%s: out of memory\n", program);
        return PT2ONNX_UNREADABLE;
    }
    int status = convert_one(l, model, output);
    free(output);
    return status;
}

static int convert(const CommandLine *l, const char *const *models, size_t n)
{
    bool piped = l->output && strcmp(l->output, "-") == 0;
    if (piped && (l->json || n > 1))
        return usage("-o -",
                     l->json ? "--json wants standard output for itself"
                             : "standard output has room for one model");
    if (n > 1)
        return batch_run(l, models, n, l->output, true, convert_one);
    if (l->output && !is_folder(l->output))
        return convert_one(l, models[0], l->output);
    return convert_to_default(l, models[0], l->output);
}

static int check(const CommandLine *l, const char *const *models, size_t n)
{
    return n > 1 ? batch_run(l, models, n, NULL, false, check_one) : check_one(l, models[0], NULL);
}

static int view_into(const CommandLine *l, const char *file, const char *output)
{
    return run(l, pt2onnx_view, file, output);
}

static int view(const CommandLine *l, const char *file)
{
    if (l->output && !is_folder(l->output))
        return view_into(l, file, l->output);
    char *output = batch_output(file, l->output, ".html");
    if (!output) {
        fprintf(stderr, "%s: out of memory\n", program);
        return PT2ONNX_UNREADABLE;
    }
    int status = view_into(l, file, output);
    free(output);
    return status;
}

/* ---- which command ---- */

static const Command *find_command(const char *word)
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

/* Is the first of several words no model, but nearly a command? `chek net.pt` is meant otherwise.
 */
static const char *misspelt_command(const TextList *rest)
{
    SysInfo info;
    bool is_file = sys_path_info(rest->at[0], &info);
    return rest->n > 1 && !is_file ? near_command(rest->at[0]) : NULL;
}

/* The words behind the command are as many as its row says: `check a.pt b.pt`, `ops`, `show FILE`.
 */
static int do_command(const CommandLine *l, const Command *c)
{
    const char *const *arguments = l->rest.at + 1;
    size_t n = l->rest.n - 1;
    bool optional = c->argument[0] == '[' || !c->argument[0];
    bool several = strstr(c->argument, "..") != NULL;
    if (n == 0 && !optional)
        return usage(c->name, "which one?");
    if (n > 1 && !several)
        return usage(arguments[n - 1], "one argument too many");
    if (n > 0 && !c->argument[0])
        return usage(arguments[0], "one argument too many");
    const char *subject = n ? arguments[0] : "";
    switch (c->action) {
    case DO_CHECK:       return check(l, arguments, n);
    case DO_SHOW:        return show(l, subject);
    case DO_VIEW:        return view(l, subject);
    case DO_OPS:         return operators(l, arguments, n);
    case DO_LIMITS:      return describe(l, "limits");
    case DO_HELP:        return help(subject);
    case DO_COMPLETIONS: return completions(subject);
    }
    return PT2ONNX_BUG;
}

static int dispatch(const CommandLine *l)
{
    const TextList *rest = &l->rest;
    if (rest->n == 0)
        return usage("", "which model?");
    const Command *command = find_command(rest->at[0]);
    if (command)
        return do_command(l, command);
    const char *near = misspelt_command(rest);
    if (!near)
        return convert(l, rest->at, rest->n);
    fprintf(stderr, "%s: there is no command %s, and no such file; did you mean %s?\n", program,
            rest->at[0], near);
    return PT2ONNX_USAGE;
}

static int run_line(const CommandLine *l)
{
    if (l->help || l->help_all) {
        manual_print(l->help_all);
        return end_output(PT2ONNX_OK);
    }
    if (!l->version)
        return dispatch(l);
    printf("%s %s\n", program, PT2ONNX_VERSION);
    return PT2ONNX_OK;
}

int main(int argc, char **argv)
{
    CommandLine l = command_line_defaults();
    Option rows[N_OPTIONS];
    bool begun = process_begin(&argc, &argv);
    const char **room = begun ? command_line_lists(&l, argc, argv) : NULL;
    if (!room) {
        fprintf(stderr, "%s: out of memory\n", program);
        return PT2ONNX_UNREADABLE;
    }
    process_catch_signals(pt2onnx_remove_temporaries);
    command_line_rows(&l, rows);
    int status = options_parse(program, rows, N_OPTIONS, argc, argv, &l.rest) ? run_line(&l)
                                                                              : PT2ONNX_USAGE;
    free(room);
    return status;
}
