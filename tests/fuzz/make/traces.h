/* traces.h - a program of operator calls as the record that another language hands over. */
#ifndef PT2ONNX_FUZZ_TRACES_H
#define PT2ONNX_FUZZ_TRACES_H

#include "fuzz/make/calls.h"
#include "pt2onnx.h"

/* What the record points to. Its memory is one block that trace_free ends. */
typedef struct Trace {
    pt2onnx_trace record;
    struct TraceParts *parts;
} Trace;

/* c: how the record lies; where its bytes have run out it does not. A lie is a number, a type or a
 * word that is not true, never a pointer to nothing. */
Trace trace_of_calls(const Calls *p, Choices *c);
void trace_free(Trace *t);

#endif
