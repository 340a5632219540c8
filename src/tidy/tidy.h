/* tidy.h - graph to graph. tidy.c lists the passes in order; passes of a kind share a file (drop.c,
 * combine.c, fuse.c). legalise.c and legal.rules come near the end and take the newest form down to
 * the target opset and to types that the target runs. */
#ifndef PT2ONNX_TIDY_H
#define PT2ONNX_TIDY_H

#include "onnx/onnx.h"

typedef struct TidyOptions {
    int opset;
    bool keep_weights;    /* every initializer stays equal to its state_dict entry */
    bool target_ort;      /* casts go around operators for which ONNX Runtime's CPU has no kernel */
    DType weights_type;   /* --weights-type: float16, bfloat16, int8, int4; DT_NONE: as saved */
    bool change_io_types; /* of float16 and bfloat16: inputs and outputs too */
    const char *const *float32; /* --float32: globs of operators and module paths */
    size_t n_float32;
    bool *float32_used;     /* which of them have matched something */
    int64_t block;          /* how many elements of int8 and int4 weights share a scale */
    bool fuse;              /* operators of com.microsoft may be written */
    bool functions;         /* calls of modules, which nodes know, become functions */
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
