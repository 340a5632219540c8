/* commands.h - the commands of the program, as rows. */
#ifndef PT2ONNX_CLI_COMMANDS_H
#define PT2ONNX_CLI_COMMANDS_H

typedef enum { DO_CHECK, DO_SHOW, DO_VIEW, DO_OPS, DO_LIMITS, DO_HELP, DO_COMPLETIONS } Action;

typedef struct Command {
    const char *name;
    const char *argument; /* "[NAME]": may be missing; "MODEL..": one or several; "": none */
    const char *help;
    Action action;
} Command;

enum { N_COMMANDS = 7 };
extern const Command commands[N_COMMANDS];

#endif
