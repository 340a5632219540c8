/* text.h - text that grows, and how it is written in JSON. */
#ifndef PT2ONNX_CLI_TEXT_H
#define PT2ONNX_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Starts as { 0 }; s is not NUL-terminated. After memory was out once, nothing is added any more.
 */
typedef struct Text {
    char *s;
    size_t n, room;
    bool failed;
} Text;

void text_add(Text *t, const char *s, size_t n);
void text_put(Text *t, const char *s);
void text_fmt(Text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The string in JSON's quotes, NULL as null. A byte that is not UTF-8, as a file's name may have,
 * becomes \udcXX, the form from which Python's os.fsencode makes it again. */
void text_json(Text *t, const char *s);

void text_free(Text *t);

#endif
