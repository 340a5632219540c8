/* convert.h - one whole conversion of bytes in memory, through the public functions, with small
 * limits. */
#ifndef PT2ONNX_FUZZ_CONVERT_H
#define PT2ONNX_FUZZ_CONVERT_H

#include "fuzz/make/choices.h"
#include "pt2onnx.h"

/* Options with limits that end each conversion soon, in memory that `choices` need not outlive. */
pt2onnx_options small_options(void);
/* The same, and opset, loops, state, mode, target, operators that are unknown, as chosen. */
pt2onnx_options choose_options(Choices *c);

/* Converts the file; *model is what was written. Aborts, naming what it is, on anything that no
 * file may bring about: a report of a bug, an error without a text, output after an error, a model
 * that does not read back, or that another conversion writes with other bytes. */
pt2onnx_status convert_bytes(const Out *file, const pt2onnx_options *o, Out *model);
/* The same, with the error's text at the end of *message, where that is not NULL. */
pt2onnx_status convert_with_message(const Out *file, const pt2onnx_options *o, Out *model,
                                    Out *message);

void require(bool ok, const char *what);

#endif
