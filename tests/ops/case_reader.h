/* case_reader.h - reading a call of an operator case; run_cases.c describes the text. */
#ifndef CASE_READER_H
#define CASE_READER_H

#include "ops/internal.h"

typedef struct Reader {
    Ctx *cx;
    Graph *g;
    char *at;
    int tensors;
    bool failed, nested;
    VEC(Value) made;
} Reader; /* made: the tensors read so far */
typedef struct Call {
    Str name, overload;
    VEC(OpArg) args;
    bool nested; /* an argument is a call */
} Call;

/* Read the call at r->at. Tensors become inputs a0, a1, .. of r->g, numbered on from r->tensors;
 * false where r->at cannot be read. */
bool read_call(Reader *r, Call *c);

/* "f32" */
const char *short_name(DType t);

#endif
