/* options.h - a command line as a table: parsing, help, defaults and "unknown option" all come from
 * the same row. */
#ifndef PT2ONNX_CLI_OPTIONS_H
#define PT2ONNX_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum {
    OPT_FLAG,   /* int: set to 1 */
    OPT_TEXT,   /* const char * */
    OPT_NUMBER, /* int */
    OPT_CHOICE, /* int: the position of the word in `words` */
    OPT_LIST,   /* TextList: one item each time it is given */
    OPT_COMMAS, /* TextList: items between commas */
} OptionKind;

typedef struct TextList {
    const char **at;
    size_t n;
    char *text; /* of items that are parts of a word, one behind the other */
} TextList;     /* `at` and `text` have room for every item the command line can hold */

typedef struct Option {
    const char *group; /* its heading in --help; NULL: as the row above */
    char letter;       /* 0: none */
    const char *name;
    OptionKind kind;
    void *to;
    const char *argument; /* "FILE"; NULL for a flag */
    const char *help;
    const char *const *words; /* of a choice, NULL last */
    bool often;               /* stands in -h */
} Option;

/* Reads argv; what is no option goes to `rest`. "--" ends the options. False after a message on
 * stderr. */
bool options_parse(const char *program, const Option *rows, size_t n, int argc, char **argv,
                   TextList *rest);
/* Prints the rows to stdout: all with headings, or those of -h. The defaults shown are what the
 * rows point to. */
void options_print(const Option *rows, size_t n, bool all);

#endif
