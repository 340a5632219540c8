/* tidy.h - graph to graph. tidy.c lists the passes in order; passes of a kind share a file (drop.c,
 * combine.c, fuse.c). legalise.c and legal.rules come near the end and take the newest form down to
 * the target opset and to types that the target runs. */
#ifndef PT2ONNX_TIDY_H
#define PT2ONNX_TIDY_H

#include "onnx/onnx.h"

typedef struct TidyOptions {
    int opset;
    bool keep_weights; /* no initializer may differ from its state_dict entry */
    bool target_ort;   /* wrap casts where ONNX Runtime's CPU has no kernel; false: pure ONNX */
    bool functions;    /* nodes know calls of modules that become functions */
    const char *dump_after; /* pass name, or NULL */
    void (*dump)(void *user, const char *pass, Str text);
    void *dump_user;
} TidyOptions;

typedef struct Pass {
    const char *name;
    bool (*run)(Graph *g, const TidyOptions *o);
    const char *what;
} Pass;
extern const Pass tidy_passes[]; /* ends with name NULL */

MUST_USE bool tidy(
    Graph *g,
    const TidyOptions *o); /* runs all, legalise too; false after an error (refusals are in cx) */
MUST_USE bool legalise(Graph *g, const TidyOptions *o);

#endif
