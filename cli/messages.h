/* messages.h - what the program says while it works on one model: notes, progress, the result. */
#ifndef PT2ONNX_CLI_MESSAGES_H
#define PT2ONNX_CLI_MESSAGES_H

#include "command_line.h"
#include "text.h"

#include <stdio.h>

typedef struct Messages {
    bool quiet, verbose, json, on_terminal, line_open;
    double start;      /* by the clock of sys_seconds */
    double said;       /* when the last progress line was, in seconds since the start */
    const char *stage; /* of the work, when it began and how far it was then */
    double stage_start, stage_share;
    const char *unit; /* what of the stage is counted, NULL: nothing; so far, and at its begin */
    uint64_t amount, stage_amount;
    FILE *dump;  /* where graphs of --dump-after go */
    Text notes;  /* with json: the notes so far, as items of a list */
    int assumed; /* how many notes are of that kind */
    pt2onnx_written written;
    const CommandLine *line;
} Messages;

Messages messages_begin(const CommandLine *l);

/* Lets the library tell m: m outlives the call that o is for. */
void messages_listen(Messages *m, pt2onnx_options *o);

/* Shows on a terminal how many of several models are done. */
void messages_count(Messages *m, size_t done, size_t of);

/* Takes the line of progress from the terminal, before anything else is printed. */
void messages_clear(Messages *m);

/* Says how it went with `model`: the error on stderr, or with json the one line on stdout. output:
 * what was to be written, NULL if nothing was. */
void messages_end(Messages *m, const char *model, const char *output, pt2onnx_status status,
                  const pt2onnx_error *e);

/* What messages_end would have said, on stdout and on stderr, of a model whose process has ended
 * without a word. */
void messages_lost(const CommandLine *l, const char *model, pt2onnx_status status, const char *why,
                   Text *out, Text *err);

#endif
