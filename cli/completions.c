/* completions.c - scripts that complete the command line in four shells, from the rows of options
 * and commands. Each shell's language is documented by itself; what they have in common is here:
 * a word of a choice, the name of a file, or nothing known. */
#include "manual.h"
#include "command_line.h"
#include "commands.h"

#include <stdio.h>
#include <string.h>

const char *const manual_shells[] = { "bash", "zsh", "fish", "powershell", NULL };

static bool takes_file(const Option *o) { return o->argument && strcmp(o->argument, "FILE") == 0; }

static void print_words(const char *const *words, const char *between)
{
    for (int i = 0; words[i]; i++)
        printf("%s%s", i ? between : "", words[i]);
}

/* ---- bash ---- */

static void print_bash_options(const Option *rows)
{
    for (int i = 0; i < N_OPTIONS; i++) {
        printf(" --%s", rows[i].name);
        if (rows[i].letter)
            printf(" -%c", rows[i].letter);
    }
}

/* The names by which an option stands before its value: --output|-o */
static void print_bash_case(const Option *o)
{
    printf("    --%s", o->name);
    if (o->letter)
        printf("|-%c", o->letter);
    printf(") ");
}

/* One function: what stands before the cursor decides first (--opset wants a number, --mode a
 * word), then what the word begins with. */
static void print_bash(const Option *rows)
{
    printf("# bash completion of pt2onnx\n"
           "_pt2onnx() {\n"
           "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
           "  compopt -o filenames 2>/dev/null\n"
           "  case $before in\n");
    for (int i = 0; i < N_OPTIONS; i++) {
        if (!rows[i].argument)
            continue;
        print_bash_case(&rows[i]);
        if (rows[i].kind == OPT_CHOICE) {
            printf("COMPREPLY=($(compgen -W '");
            print_words(rows[i].words, " ");
            printf("' -- \"$word\")); return;;\n");
        } else if (takes_file(&rows[i])) {
            printf("COMPREPLY=($(compgen -f -- \"$word\")); return;;\n");
        } else {
            printf("COMPREPLY=(); return;;\n");
        }
    }
    printf("    help) COMPREPLY=($(compgen -W '");
    print_words(manual_topics, " ");
    printf("' -- \"$word\")); return;;\n    completions) COMPREPLY=($(compgen -W '");
    print_words(manual_shells, " ");
    printf("' -- \"$word\")); return;;\n  esac\n  if [[ $word == -* ]]; then\n"
           "    COMPREPLY=($(compgen -W '");
    print_bash_options(rows);
    printf(" ' -- \"$word\"))\n    return\n  fi\n  COMPREPLY=($(compgen -f -X "
           "'!*.@(pt|pt2|ptl|onnx)' -- \"$word\") $(compgen -d -- \"$word\"))\n"
           "  [[ $COMP_CWORD == 1 ]] && COMPREPLY+=($(compgen -W '");
    for (int i = 0; i < N_COMMANDS; i++)
        printf("%s%s", i ? " " : "", commands[i].name);
    printf("' -- \"$word\"))\n}\nshopt -s extglob\ncomplete -F _pt2onnx pt2onnx\n");
}

/* ---- zsh and fish ---- */

/* Text inside quotes of a shell: a quote of its own ends and begins them again. `also`: characters
 * that the reader of the quoted text wants a backslash before. */
static void put_quoted(const char *s, const char *also)
{
    for (; *s; s++) {
        if (*s == '\'')
            fputs("'\\''", stdout);
        else if (strchr(also, *s))
            printf("\\%c", *s);
        else
            putchar(*s);
    }
}

/* '*--input[help]:SPEC: ': a star where it may stand several times; behind the colons what the
 * value is called and how it is found. */
static void print_zsh_option(const Option *o, const char *dashes, const char *name, int length)
{
    bool repeats = o->kind == OPT_LIST || o->kind == OPT_COMMAS;
    printf("  '%s%s%.*s[", repeats ? "*" : "", dashes, length, name);
    put_quoted(o->help, "[]:\\");
    printf("]");
    if (o->argument)
        printf(":%s:", o->argument);
    if (o->kind == OPT_CHOICE) {
        printf("(");
        print_words(o->words, " ");
        printf(")");
    } else if (takes_file(o)) {
        printf("_files");
    } else if (o->argument) {
        printf(" ");
    }
    printf("' \\\n");
}

/* _arguments gets a line for each option, `'--mode[help]:MODE:(eval saved)'`, and a function for
 * the words that are no options. */
static void print_zsh(const Option *rows)
{
    printf("#compdef pt2onnx\n_pt2onnx_words() {\n  local -a known\n  known=(");
    for (int i = 0; i < N_COMMANDS; i++) {
        printf(" '%s:", commands[i].name);
        put_quoted(commands[i].help, ":\\");
        printf("'");
    }
    printf(" )\n  (( CURRENT == 2 )) && _describe command known\n"
           "  case $words[2] in\n    help) compadd ");
    print_words(manual_topics, " ");
    printf(";;\n    completions) compadd ");
    print_words(manual_shells, " ");
    printf(";;\n    *) _files -g '*.(pt|pt2|ptl|onnx)';;\n  esac\n}\n_arguments \\\n");
    for (int i = 0; i < N_OPTIONS; i++) {
        print_zsh_option(&rows[i], "--", rows[i].name, (int)strlen(rows[i].name));
        if (rows[i].letter)
            print_zsh_option(&rows[i], "-", &rows[i].letter, 1);
    }
    printf("  '*::word:_pt2onnx_words'\n");
}

/* A command `complete` for each word: -x wants a value that is no file, -r -F one that is. */
static void print_fish(const Option *rows)
{
    printf("# fish completion of pt2onnx\n");
    for (int i = 0; i < N_COMMANDS; i++) {
        printf("complete -c pt2onnx -n __fish_is_first_arg -a %s -d '", commands[i].name);
        put_quoted(commands[i].help, "\\");
        printf("'\n");
    }
    printf("complete -c pt2onnx -n '__fish_seen_subcommand_from help' -f -a '");
    print_words(manual_topics, " ");
    printf("'\ncomplete -c pt2onnx -n '__fish_seen_subcommand_from completions' -f -a '");
    print_words(manual_shells, " ");
    printf("'\n");
    for (int i = 0; i < N_OPTIONS; i++) {
        const Option *o = &rows[i];
        printf("complete -c pt2onnx -l %s", o->name);
        if (o->letter)
            printf(" -s %c", o->letter);
        if (takes_file(o))
            printf(" -r -F");
        else if (o->argument)
            printf(" -x");
        if (o->kind == OPT_CHOICE) {
            printf(" -a '");
            print_words(o->words, " ");
            printf("'");
        }
        printf(" -d '");
        put_quoted(o->help, "\\");
        printf("'\n");
    }
}

/* ---- PowerShell ---- */

/* A string of PowerShell: a quote is written twice. */
static void put_powershell(const char *s)
{
    putchar('\'');
    for (; *s; s++)
        printf(*s == '\'' ? "''" : "%c", *s);
    putchar('\'');
}

/* Rows of a table: the word, what it means, and the words that may follow. */
static void print_powershell(const Option *rows)
{
    printf("# PowerShell completion of pt2onnx\n$pt2onnxOptions = @(\n");
    for (int i = 0; i < N_OPTIONS; i++) {
        printf("  @{ Name = '--%s'; Words = '", rows[i].name);
        if (rows[i].kind == OPT_CHOICE)
            print_words(rows[i].words, " ");
        printf("'; Help = ");
        put_powershell(rows[i].help);
        printf(" }\n");
    }
    printf(")\n$pt2onnxCommands = @(\n");
    for (int i = 0; i < N_COMMANDS; i++) {
        printf("  @{ Name = '%s'; Help = ", commands[i].name);
        put_powershell(commands[i].help);
        printf(" }\n");
    }
    printf(
        ")\n"
        "Register-ArgumentCompleter -Native -CommandName pt2onnx -ScriptBlock {\n"
        "  param($word, $line, $at)\n"
        "  $all = @($line.CommandElements | ForEach-Object { $_.ToString() })\n"
        "  $before = if ($word -eq '') { $all[-1] } elseif ($all.Count -gt 1) { $all[-2] }\n"
        "  $option = $pt2onnxOptions | Where-Object { $_.Name -eq $before -and $_.Words }\n"
        "  if ($option) {\n"
        "    $option.Words -split ' ' | Where-Object { $_ -like \"$word*\" } | ForEach-Object {\n"
        "      [System.Management.Automation.CompletionResult]::new($_) }\n"
        "    return\n  }\n"
        "  $rows = if ($word -like '-*') { $pt2onnxOptions } else { $pt2onnxCommands }\n"
        "  $rows | Where-Object { $_.Name -like \"$word*\" } | ForEach-Object {\n"
        "    [System.Management.Automation.CompletionResult]::new("
        "$_.Name, $_.Name, 'ParameterValue', $_.Help) }\n}\n");
}

/* ---- which ---- */

bool manual_completions(const char *shell)
{
    static void (*const print[])(const Option *) = { print_bash, print_zsh, print_fish,
                                                     print_powershell };
    CommandLine defaults = command_line_defaults();
    Option rows[N_OPTIONS];
    command_line_rows(&defaults, rows);
    for (int i = 0; manual_shells[i]; i++)
        if (strcmp(shell, manual_shells[i]) == 0) {
            print[i](rows);
            return true;
        }
    return false;
}
