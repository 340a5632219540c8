/* show.h - what `show` says of a saved program, gathered once and written as text or as JSON. */
#ifndef PT2ONNX_SHOW_H
#define PT2ONNX_SHOW_H

#include "session.h"

/* A module of the program: its own weights are those of no module inside it. */
typedef struct ShownModule {
    Str path, class; /* "layer1.0", "torchvision.models.resnet.BasicBlock"; NULL: not known */
    Str output;      /* the type of what its last call gave; NULL: not called, or not known */
    int64_t parameters, buffers; /* numbers in its own weights */
} ShownModule;

typedef struct Shown {
    Session *s;
    Program *p;
    Graph *graph; /* the evaluated program; NULL: it cannot be evaluated */
    Str why;      /* .. and why not */
    VEC(ShownModule) modules;
    Map place;                   /* path -> its place in modules + 1 */
    int64_t parameters, buffers; /* numbers of all weights */
    int64_t parameter_bytes, buffer_bytes;
} Shown;

/* Runs the program as a conversion does, with the caller's options. False after an error that is
 * none of the program's own. */
MUST_USE bool show_gather(Session *s, Program *p, Shown *out);

/* Of an input: the type that the program declares, and "float32[N,3,224,224]", what the file has
 * recorded; NULL: nothing. */
Str show_declared(Ctx *cx, const InputDecl *in);
Str show_recorded(Ctx *cx, const InputDecl *in);

/* show_json.c */
void show_program_json(Shown *w, Buf *b);
void show_onnx_json(Session *s, Graph *g, const ModelInfo *info, Buf *b);

/* Each constant of the graph and its subgraphs once, in the order of use. */
typedef VEC(Ox) Constants;
void show_constants(Ctx *cx, const Graph *g, Map *seen, Constants *out);

#endif
