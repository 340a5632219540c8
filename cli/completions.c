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
 * word), then what the word begins with. Of `--mode=ev` bash makes three words. */
static void print_bash(const Option *rows)
{
    printf("# bash completion of pt2onnx\n"
           "_pt2onnx() {\n"
           "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
           "  compopt -o filenames 2>/dev/null\n"
           "  if [[ $word == '=' ]]; then word=\n"
           "  elif [[ $before == '=' ]]; then before=${COMP_WORDS[COMP_CWORD-2]}\n"
           "  fi\n"
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

/* '*--input=[help]:SPEC: ': a star where it may stand several times, `joined` where the value may
 * follow in the same word; behind the colons what the value is called and how it is found. */
static void print_zsh_option(const Option *o, const char *dashes, const char *name, int length,
                             const char *joined)
{
    bool repeats = o->kind == OPT_LIST || o->kind == OPT_COMMAS;
    printf("  '%s%s%.*s%s[", repeats ? "*" : "", dashes, length, name, o->argument ? joined : "");
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

/* _arguments gets a line for each option, `'--mode=[help]:MODE:(eval saved)'`, and a function for
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
        print_zsh_option(&rows[i], "--", rows[i].name, (int)strlen(rows[i].name), "=");
        if (rows[i].letter)
            print_zsh_option(&rows[i], "-", &rows[i].letter, 1, "+");
    }
    printf("  '*:word:_pt2onnx_words'\n");
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

/* @{ Name = '--mode'; Value = 'MODE'; Words = @('eval', 'saved'); Help = '..' }: the word, what the
 * value behind it is called, those that are known, and what the word means. */
static void print_powershell_row(const char *dashes, const char *name, int length,
                                 const char *value, const char *const *words, const char *help)
{
    static const char *const none[] = { NULL };
    const char *const *known = words ? words : none;
    printf("    @{ Name = '%s%.*s'; Value = '%s'; Words = @(", dashes, length, name,
           value ? value : "");
    for (int i = 0; known[i]; i++)
        printf("%s'%s'", i ? ", " : "", known[i]);
    printf("); Help = ");
    put_powershell(help);
    printf(" }\n");
}

static void print_powershell_options(const Option *rows)
{
    for (int i = 0; i < N_OPTIONS; i++) {
        const Option *o = &rows[i];
        print_powershell_row("--", o->name, (int)strlen(o->name), o->argument, o->words, o->help);
        if (o->letter)
            print_powershell_row("-", &o->letter, 1, o->argument, o->words, o->help);
    }
}

static void print_powershell_commands(void)
{
    for (int i = 0; i < N_COMMANDS; i++) {
        const Command *c = &commands[i];
        const char *const *words = NULL;
        if (c->action == DO_HELP)
            words = manual_topics;
        else if (c->action == DO_COMPLETIONS)
            words = manual_shells;
        print_powershell_row("", c->name, (int)strlen(c->name), c->argument, words, c->help);
    }
}

/* One block, called with the word at the cursor. `$asks` is the option or command whose value that
 * word is, in "--mode=ev" too. A block that offers nothing lets PowerShell offer files. */
static void print_powershell(const Option *rows)
{
    printf("# PowerShell completion of pt2onnx\n"
           "Register-ArgumentCompleter -Native -CommandName pt2onnx -ScriptBlock {\n"
           "  param($word, $line, $at)\n"
           "  $options = @(\n");
    print_powershell_options(rows);
    printf("  )\n  $commands = @(\n");
    print_powershell_commands();
    fputs("  )\n"
          "  $before = @($line.CommandElements | Where-Object { $_.Extent.EndOffset -lt $at } |\n"
          "    ForEach-Object { $_.ToString() })\n"
          "  $asks = $before[-1]\n"
          "  $begin = ''\n"
          "  if ($word -match '^(--[a-z-]+)=(.*)$') {\n"
          "    $asks = $Matches[1]\n"
          "    $word = $Matches[2]\n"
          "    $begin = \"$asks=\"\n"
          "  }\n"
          "  $row = @($options | Where-Object { $_.Value -and $_.Name -ceq $asks })\n"
          "  if ($before.Count -eq 2) {\n"
          "    $row += @($commands | Where-Object { $_.Words -and $_.Name -ceq $asks })\n"
          "  }\n"
          "  $offered = @()\n"
          "  if ($row) {\n"
          "    $offered = @($row[0].Words | ForEach-Object { @{ Name = $_; Help = $_ } })\n"
          "  } elseif ($word.StartsWith('-')) {\n"
          "    $offered = $options\n"
          "  } elseif ($before.Count -eq 1) {\n"
          "    $offered = $commands\n"
          "  }\n"
          "  $offered | Where-Object { $_.Name.StartsWith($word) } | ForEach-Object {\n"
          "    [System.Management.Automation.CompletionResult]::new(\n"
          "      $begin + $_.Name, $_.Name, 'ParameterValue', $_.Help)\n"
          "  }\n"
          "  if (-not $row -and -not $word.StartsWith('-')) {\n"
          "    [System.Management.Automation.CompletionCompleters]::CompleteFilename($word) |\n"
          "      Where-Object { $_.ResultType -eq 'ProviderContainer' -or\n"
          "        $_.ListItemText -match '\\.(pt|pt2|ptl|onnx)$' }\n"
          "  }\n"
          "}\n",
          stdout);
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
