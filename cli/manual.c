/* manual.c - help, the man page, and the texts of cli/help/, which the build embeds. */
#include "manual.h"
#include "command_line.h"
#include "commands.h"

#include <stdio.h>
#include <string.h>

const Command commands[N_COMMANDS] = {
    { "check", "MODEL..", "convert, write nothing, list everything that is not supported",
      DO_CHECK },
    { "show", "FILE", "print inputs, modules, weights and program of a .pt, .pt2 or .onnx",
      DO_SHOW },
    { "view", "FILE", "write a page that shows the graph of a .pt, .pt2 or .onnx in a browser",
      DO_VIEW },
    { "ops", "[NAME..]",
      "the operators that can be converted, or those named: aten::gelu, onnx::Resize", DO_OPS },
    { "limits", "", "what --limit can raise", DO_LIMITS },
    { "help", "[TOPIC]", "more about one thing: inputs, weights, state, operators, messages",
      DO_HELP },
    { "completions", "SHELL", "completions for bash, zsh, fish or powershell, as text",
      DO_COMPLETIONS },
};

/* ---- help ---- */

/* The defaults that it prints are those of command_line_defaults. */
void manual_print(bool all)
{
    CommandLine defaults = command_line_defaults();
    Option rows[N_OPTIONS];
    command_line_rows(&defaults, rows);
    printf("Usage: " PROGRAM " [OPTIONS] MODEL..\n"
           "Convert saved PyTorch programs (TorchScript .pt, torch.export .pt2) to ONNX.\n\n"
           "  " PROGRAM " model.pt                                          # writes model.onnx\n"
           "  " PROGRAM " model.pt -o out.onnx -i x:float32[N,3,224,224]    # N is a dynamic "
           "dimension\n"
           "  " PROGRAM " a.pt b.pt2 -o out/                                # several models\n\n");
    if (all) {
        printf("Commands (a model of such a name is written ./check):\n");
        for (int i = 0; i < N_COMMANDS; i++)
            printf("  " PROGRAM " %-11s %-8s  %s\n", commands[i].name, commands[i].argument,
                   commands[i].help);
    }
    options_print(rows, N_OPTIONS, all);
    if (all)
        printf("\nExit codes: 0 done, 1 cannot convert, 2 usage, 3 unreadable, damaged or over a "
               "limit, 4 our bug.\nOf several models the worst.\n");
    else
        printf("Also: " PROGRAM " check MODEL, " PROGRAM " show FILE, " PROGRAM
               " ops [NAME..], " PROGRAM " help TOPIC\n");
}

/* ---- topics ---- */

extern const char text_inputs[], text_weights[], text_state[], text_operators[], text_messages[];

static const struct Topic {
    const char *name, *title, *text;
} topics[] = {
    { "inputs", "Inputs", text_inputs },       { "weights", "Weights", text_weights },
    { "state", "State", text_state },          { "operators", "Operators", text_operators },
    { "messages", "Messages", text_messages },
};
enum { N_TOPICS = sizeof topics / sizeof *topics };

const char *const manual_topics[] = { "inputs",   "weights", "state", "operators",
                                      "messages", "man",     NULL };

/* ---- the man page ---- */

/* Text for roff: a hyphen that may be copied, and nothing at the start of a line that is taken for
 * a command. */
static void put_roff(const char *s)
{
    bool begins = true;
    for (; *s; s++) {
        if (begins && (*s == '.' || *s == '\''))
            fputs("\\&", stdout);
        if (*s == '-')
            fputs("\\-", stdout);
        else if (*s == '\\')
            fputs("\\e", stdout);
        else
            putchar(*s);
        begins = *s == '\n';
    }
}

static void put_option(const Option *o)
{
    printf(".TP\n.B ");
    if (o->letter)
        printf("\\-%c, ", o->letter);
    printf("\\-\\-");
    put_roff(o->name);
    if (o->argument)
        printf(" \\fI%s\\fR", o->argument);
    putchar('\n');
    put_roff(o->help);
    if (o->kind == OPT_NUMBER)
        printf(" (default: %d)", *(const int *)o->to);
    if (o->kind == OPT_CHOICE)
        printf(" (default: %s)", o->words[*(const int *)o->to]);
    putchar('\n');
}

/* The table of options, the commands, and each topic as a section of its own, its lines as they
 * are. */
static void print_man(void)
{
    CommandLine defaults = command_line_defaults();
    Option rows[N_OPTIONS];
    command_line_rows(&defaults, rows);
    printf(".TH PT2ONNX 1 \"\" \"pt2onnx " PT2ONNX_VERSION "\" \"User Commands\"\n"
           ".SH NAME\npt2onnx \\- convert saved PyTorch programs to ONNX\n"
           ".SH SYNOPSIS\n.B pt2onnx\n[\\fIOPTIONS\\fR] \\fIMODEL\\fR..\n"
           ".SH DESCRIPTION\nConverts TorchScript archives (.pt) and torch.export archives (.pt2) "
           "to ONNX, without PyTorch.\n.SH COMMANDS\n");
    for (int i = 0; i < N_COMMANDS; i++) {
        printf(".TP\n.B pt2onnx %s\n\\fI%s\\fR\n.br\n", commands[i].name, commands[i].argument);
        put_roff(commands[i].help);
        putchar('\n');
    }
    printf(".SH OPTIONS\n");
    for (int i = 0; i < N_OPTIONS; i++) {
        if (rows[i].group)
            printf(".SS %s\n", rows[i].group);
        put_option(&rows[i]);
    }
    for (int i = 0; i < N_TOPICS; i++) {
        printf(".SH %s\n.nf\n", topics[i].title);
        put_roff(topics[i].text);
        printf(".fi\n");
    }
}

bool manual_topic(const char *topic)
{
    if (!*topic) {
        manual_print(true);
        return true;
    }
    if (strcmp(topic, "man") == 0) {
        print_man();
        return true;
    }
    for (int i = 0; i < N_TOPICS; i++)
        if (strcmp(topic, topics[i].name) == 0) {
            fputs(topics[i].text, stdout);
            return true;
        }
    return false;
}
