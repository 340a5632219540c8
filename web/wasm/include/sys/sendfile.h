/* sys/sendfile.h - emscripten's C library has none. copy_file_range (glue.c) does what it would. */
#ifndef PT2ONNX_WEB_SENDFILE_H
#define PT2ONNX_WEB_SENDFILE_H

#include <sys/types.h>

ssize_t sendfile(int to, int from, off_t *at, size_t n);

#endif
