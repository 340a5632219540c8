/* case_reader.h - reading operator cases (run_cases.c describes the text), contexts for many of
 * them, and what comes out of one. */
#ifndef CASE_READER_H
#define CASE_READER_H

#include "ops/internal.h"

typedef struct Case {
    char *call;
    VEC(char *) results, finished;
    char *nodes, *message;
    int line;
} Case;
typedef VEC(Case) Cases;

/* A file's text, for free(); NULL where it cannot be read. */
char *read_all(const char *path);
/* The cases of a file's text, which they point into and which changes. */
void read_cases(Ctx *cx, char *text, Cases *out);

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

/* Why the call was refused, or failed; NULL when it was not. */
const char *failure(Ctx *cx);
/* A call's result as the tensors and numbers inside it. */
void flatten(Ctx *cx, Value v, Values *out);
/* Results become outputs r0, r1, ..; what a caller reads. An input or constant that is a result is
 * copied by the writer. How many of them are tensors. */
int add_outputs(Graph *g, const Values *got);

/* Sink.write: for a model that no one reads. */
bool swallow(void *user, const void *p, size_t n);

/* "f32" */
const char *short_name(DType t);

#endif
