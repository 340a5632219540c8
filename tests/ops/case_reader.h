/* case_reader.h - reading a call of an operator case (run_cases.c describes the text), and contexts
 * for many of them. */
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

/* Contexts for calls that must not touch each other. One that has ended serves the next call with
 * its tables of operators, which take longer to read than a call; not under AddressSanitizer, which
 * is to see what a call reads of an earlier one. */
typedef struct Contexts {
    Ctx *ended[8];
    size_t n;
} Contexts;

Ctx *context_begin(Contexts *all);
void context_end(Contexts *all, Ctx *cx);
void contexts_free(Contexts *all);

/* "f32" */
const char *short_name(DType t);

#endif
