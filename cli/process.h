/* process.h - the program among other processes: its words, its terminal, what ends it, and
 * processes of its own that work beside each other. process_posix.c and process_windows.c answer.
 */
#ifndef PT2ONNX_CLI_PROCESS_H
#define PT2ONNX_CLI_PROCESS_H

#include "base/system.h"
#include "text.h"

#include <stdio.h>

/* First of all: the words of the command line as they are from now on, UTF-8 on Windows; false when
 * memory is out. */
bool process_begin(int *argc, char ***argv);

/* A signal, or Ctrl-C in a console of Windows, ends the program after a call of `clean`, and the
 * processes that it has started. */
void process_catch_signals(void (*clean)(void));

bool process_on_terminal(FILE *f);
long process_processors(void);

/* ---- processes of our own ---- */

#ifdef _WIN32
enum { PROCESSES_MOST = 64 }; /* that may be waited for at once */
#else
enum { PROCESSES_MOST = 256 };
#endif
typedef enum { SAID_OUT, SAID_ERR, STREAMS } Stream;

typedef struct Process {
    void *owner; /* whose it is: the caller's */
    intptr_t id;
    SysFile from[STREAMS]; /* pipes */
    Text said[STREAMS];    /* what has come out of them, the first MB */
    bool ended;
    int code;        /* its exit code; -1: it was ended by something else, ... */
    const char *why; /* ... and this is what to say of it */
    bool crashed;
} Process;

/* Begins a process that does the work, which is number `number` of several; its exit code is what
 * the work returns. At most PROCESSES_MOST are at work. On failure errno says why. */
bool process_start(Process *p, int (*work)(const void *arg), const void *arg, size_t number);

/* Where a process can only begin as a program does, at main: is this one made by process_start, for
 * the work of that number? */
bool process_is_started(size_t *number);

/* Waits until one of the processes at work says something or ends, and calls `ended` for each that
 * has ended. */
void processes_listen(void (*ended)(const Process *p));

#endif
