/* command_line.h - every option of the program as a row, and the values that a command line gives
 * them. */
#ifndef PT2ONNX_CLI_COMMAND_LINE_H
#define PT2ONNX_CLI_COMMAND_LINE_H

#include "options.h"
#include "pt2onnx.h"

#define PROGRAM "pt2onnx"

/* Strings are argv's; the lists lie in what command_line_lists gives. */
typedef struct CommandLine {
    int help, help_all, version, quiet, verbose, json;
    const char *output, *dump_after, *model_name, *module, *method;
    int opset, mode, state, loops, unknown, weights, target, keep_weights, dynamic, check_crc;
    int no_sandbox, jobs, weights_type, change_io_types, block, fuse;
    char **words; /* the whole command line, NULL last */
    TextList inputs, dims, output_names, rules, limits, float32, rest;
} CommandLine;

enum { N_OPTIONS = 33 };

CommandLine command_line_defaults(void);

/* Writes the N_OPTIONS rows to `rows`: each points at the member of l that it fills, so that l's
 * values of now are the defaults that help prints. */
void command_line_rows(CommandLine *l, Option *rows);

/* Gives the lists of l room for every item that the command line can hold. Returns what the caller
 * frees when l is done with; NULL when memory is out. */
const char **command_line_lists(CommandLine *l, int argc, char **argv);

/* What the library is asked for. Strings and lists are borrowed from l. */
pt2onnx_options command_line_request(const CommandLine *l);

#endif
