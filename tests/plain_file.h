/* plain_file.h - a model in a file, without the care that outputs of the program get: tests write
 * them by the thousand, and each would wait for the disk. */
#ifndef PT2ONNX_TESTS_PLAIN_FILE_H
#define PT2ONNX_TESTS_PLAIN_FILE_H

#include <stdio.h>

#include "onnx/wire/model_file.h"

static inline bool put_plain(void *file, const void *p, size_t n)
{
    return fwrite(p, 1, n, file) == n;
}

static inline bool write_plain(Graph *g, const ModelInfo *info, const char *path)
{
    FILE *file = fopen(path, "wb");
    Sink sink = { .fd = SYS_NONE, .write = put_plain, .user = file };
    bool ok = file && wire_write(g->cx, g, info, &sink, NULL, NULL);
    return file && fclose(file) == 0 && ok;
}

#endif
