/* tidy.h - graph to graph. tidy.c lists the passes in order; passes of a kind share a file (drop.c,
 * combine.c, fuse.c). legalise.c and legal.rules come near the end and take the newest form down to
 * the target opset and to types that the target runs. */
#ifndef PT2ONNX_TIDY_H
#define PT2ONNX_TIDY_H

#include "onnx/onnx.h"

typedef struct TidyOptions {
    int opset;
    bool keep_weights; /* every initializer stays equal to its state_dict entry */
    bool target_ort;   /* casts go around operators for which ONNX Runtime's CPU has no kernel */
    bool functions;    /* calls of modules, which nodes know, become functions */
    const char *dump_after; /* name of the pass after which the graph is printed; NULL: none */
    void (*dump)(void *user, const char *pass, Str text);
    void *dump_user;
} TidyOptions;

typedef struct Pass {
    const char *name;
    bool (*run)(Graph *g, const TidyOptions *o);
    const char *what;
} Pass;
extern const Pass tidy_passes[]; /* the last one has the name NULL */

MUST_USE bool tidy(
    Graph *g,
    const TidyOptions *o); /* runs all passes; false after an error (refusals are in cx) */
MUST_USE bool legalise(Graph *g, const TidyOptions *o);

#endif
