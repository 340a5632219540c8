/* plain_file.h - a model in a file, without the care that outputs of the program get: tests write
 * them by the thousand, and each would wait for the disk. */
#ifndef PT2ONNX_TESTS_PLAIN_FILE_H
#define PT2ONNX_TESTS_PLAIN_FILE_H

#include <fcntl.h>
#include <unistd.h>

#include "onnx/wire/model_file.h"

static inline bool write_plain(Graph *g, const ModelInfo *info, const char *path)
{
    Sink sink = { .fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) };
    bool ok = sink.fd >= 0 && wire_write(g->cx, g, info, &sink, NULL, NULL);
    return sink.fd >= 0 && close(sink.fd) == 0 && ok;
}

#endif
