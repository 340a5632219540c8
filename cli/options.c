/* options.c - reads and prints the rows of options.h. Of pt2onnx it knows how near two words
 * are. */
#include "options.h"
#include "pt2onnx.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- parsing ---- */

typedef struct Line {
    const char *program;
    const Option *rows;
    size_t n;
    int argc;
    char **argv;
    int at;
} Line;

static bool unknown(const Line *l, const char *name, size_t n)
{
    const char *names[128];
    size_t count = 0;
    char word[64];
    for (; count < l->n && count + 1 < sizeof names / sizeof *names; count++)
        names[count] = l->rows[count].name;
    names[count] = NULL;
    snprintf(word, sizeof word, "%.*s", (int)n, name);
    const char *near = pt2onnx_nearest(word, names);
    fprintf(stderr, "%s: unknown option --%.*s", l->program, (int)n, name);
    if (near)
        fprintf(stderr, "; did you mean --%s?", near);
    fprintf(stderr, "\n  try: %s --help\n", l->program);
    return false;
}

static bool wrong(const Line *l, const Option *o, const char *value, const char *what)
{
    fprintf(stderr, "%s: --%s %s: %s\n", l->program, o->name, value, what);
    return false;
}

static bool set_choice(const Line *l, const Option *o, const char *value)
{
    for (int i = 0; o->words[i]; i++)
        if (strcmp(o->words[i], value) == 0) {
            *(int *)o->to = i;
            return true;
        }
    fprintf(stderr, "%s: --%s %s: one of", l->program, o->name, value);
    for (int i = 0; o->words[i]; i++)
        fprintf(stderr, "%s %s", i ? "," : "", o->words[i]);
    fprintf(stderr, " is expected");
    const char *near = pt2onnx_nearest(value, o->words);
    if (near)
        fprintf(stderr, "; did you mean %s?", near);
    fputc('\n', stderr);
    return false;
}

static bool set_number(const Line *l, const Option *o, const char *value)
{
    char *end;
    errno = 0;
    long v = strtol(value, &end, 10);
    if (end == value || *end || errno || v < INT_MIN || v > INT_MAX)
        return wrong(l, o, value, "a whole number is expected");
    *(int *)o->to = (int)v;
    return true;
}

static void add(TextList *list, const char *item) { list->at[list->n++] = item; }

/* Adds the items of "a,b,c". The word itself stays: it may be printed again. */
static void add_items(TextList *list, const char *word)
{
    for (size_t n = strcspn(word, ",");; word += n + 1, n = strcspn(word, ",")) {
        add(list, memcpy(list->text, word, n));
        list->text += n;
        *list->text++ = '\0';
        if (!word[n])
            return;
    }
}

/* Sets what the option's row says to the value on the command line: `--opset 18` is a number,
 * `--output-names a,b` a list of two. */
static bool set(const Line *l, const Option *o, char *value)
{
    switch (o->kind) {
    case OPT_FLAG:   *(int *)o->to = 1; return true;
    case OPT_TEXT:   *(const char **)o->to = value; return true;
    case OPT_NUMBER: return set_number(l, o, value);
    case OPT_CHOICE: return set_choice(l, o, value);
    case OPT_LIST:   add(o->to, value); return true;
    case OPT_COMMAS: add_items(o->to, value); return true;
    }
    return false;
}

/* The value: after "=", or the rest of the word, or the next word. */
static bool take_value(Line *l, const Option *o, char *here)
{
    if (o->kind == OPT_FLAG)
        return set(l, o, NULL);
    if (!here) {
        if (l->at + 1 >= l->argc) {
            fprintf(stderr, "%s: --%s needs a value: --%s %s\n", l->program, o->name, o->name,
                    o->argument);
            return false;
        }
        here = l->argv[++l->at];
    }
    return set(l, o, here);
}

static bool parse_long(Line *l, char *word)
{
    size_t n = strcspn(word, "=");
    for (size_t i = 0; i < l->n; i++) {
        const Option *o = &l->rows[i];
        if (strlen(o->name) != n || strncmp(o->name, word, n) != 0)
            continue;
        if (o->kind == OPT_FLAG && word[n])
            return wrong(l, o, word + n + 1, "this option takes no value");
        return take_value(l, o, word[n] ? word + n + 1 : NULL);
    }
    return unknown(l, word, n);
}

/* -v, -qv, -oFILE, -o FILE */
static bool parse_letters(Line *l, char *word)
{
    for (; *word; word++) {
        const Option *o = l->rows;
        const Option *end = l->rows + l->n;
        while (o < end && o->letter != *word)
            o++;
        if (o == end) {
            fprintf(stderr, "%s: unknown option -%c\n  try: %s --help\n", l->program, *word,
                    l->program);
            return false;
        }
        if (o->kind != OPT_FLAG)
            return take_value(l, o, word[1] ? word + 1 : NULL);
        if (!set(l, o, NULL))
            return false;
    }
    return true;
}

bool options_parse(const char *program, const Option *rows, size_t n, int argc, char **argv,
                   TextList *rest)
{
    Line l = { program, rows, n, argc, argv, 1 };
    bool ended = false;
    for (; l.at < argc; l.at++) {
        char *word = argv[l.at];
        if (ended || word[0] != '-' || word[1] == '\0')
            add(rest, word);
        else if (strcmp(word, "--") == 0)
            ended = true;
        else if (!(word[1] == '-' ? parse_long(&l, word + 2) : parse_letters(&l, word + 1)))
            return false;
    }
    return true;
}

/* ---- printing ---- */

enum { HELP_COLUMN = 28, HELP_WIDTH = 80 };

/* Words, wrapped at HELP_WIDTH, from column HELP_COLUMN on. */
static void print_wrapped(const char *text)
{
    int column = HELP_COLUMN;
    while (*text) {
        int n = (int)strcspn(text, " ");
        if (column > HELP_COLUMN && column + 1 + n > HELP_WIDTH) {
            printf("\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
        } else if (column > HELP_COLUMN) {
            putchar(' ');
            column++;
        }
        printf("%.*s", n, text);
        column += n;
        text += n + (text[n] == ' ');
    }
}

static void print_row(const Option *o)
{
    char letter[8] = "    ", left[64], text[512];
    if (o->letter)
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    int n = o->argument ? snprintf(left, sizeof left, "  %s--%s %s", letter, o->name, o->argument)
                        : snprintf(left, sizeof left, "  %s--%s", letter, o->name);
    if (o->kind == OPT_NUMBER)
        snprintf(text, sizeof text, "%s (default: %d)", o->help, *(const int *)o->to);
    else if (o->kind == OPT_CHOICE)
        snprintf(text, sizeof text, "%s (default: %s)", o->help, o->words[*(const int *)o->to]);
    else
        snprintf(text, sizeof text, "%s", o->help);
    printf("%s%*s", left, n < HELP_COLUMN ? HELP_COLUMN - n : 1, "");
    print_wrapped(text);
    putchar('\n');
}

void options_print(const Option *rows, size_t n, bool all)
{
    for (size_t i = 0; i < n; i++) {
        if (all && rows[i].group)
            printf("\n%s:\n", rows[i].group);
        if (all || rows[i].often)
            print_row(&rows[i]);
    }
}
