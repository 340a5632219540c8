/* manual.h - all that the program says about itself, out of the rows of its options and commands:
 * help, the man page, completions for shells. */
#ifndef PT2ONNX_CLI_MANUAL_H
#define PT2ONNX_CLI_MANUAL_H

#include <stdbool.h>

/* To stdout: every option and command with its explanation (--help), or one screen (-h). */
void manual_print(bool all);

/* To stdout: what is known of a topic; "" is --help, "man" the man page as roff. False where there
 * is no such topic. */
bool manual_topic(const char *topic);

/* To stdout: completions for bash, zsh, fish or powershell. False for another shell. */
bool manual_completions(const char *shell);

/* Words for messages, NULL last. */
extern const char *const manual_topics[];
extern const char *const manual_shells[];

#endif
