/* batch.h - several models in one call: a process for each, and what they say in order. */
#ifndef PT2ONNX_CLI_BATCH_H
#define PT2ONNX_CLI_BATCH_H

#include "command_line.h"

/* Does what is asked for one model and returns its exit code; output is NULL where nothing is
 * written. Called in a process of its own. */
typedef int (*BatchWork)(const CommandLine *l, const char *model, const char *output);

/* Runs `work` for each of the n models, l->jobs of them beside each other, and returns the worst
 * exit code. folder: where the outputs go, NULL: beside the models. `writes`: two models whose
 * outputs are one file are an error before the work. */
int batch_run(const CommandLine *l, const char *const *models, size_t n, const char *folder,
              bool writes, BatchWork work);

/* "a/net.v1.pt" -> "a/net.v1.onnx", or "out/net.v1.onnx" with a folder; suffix is ".onnx". The
 * caller frees it; NULL when memory is out. */
char *batch_output(const char *model, const char *folder, const char *suffix);

#endif
