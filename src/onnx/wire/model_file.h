/* model_file.h - an ONNX file: what it says besides its graph, written from a graph, read back as
 * one. */
#ifndef PT2ONNX_ONNX_MODEL_FILE_H
#define PT2ONNX_ONNX_MODEL_FILE_H

#include "onnx/onnx.h"

typedef enum { WEIGHTS_AUTO, WEIGHTS_INLINE, WEIGHTS_EXTERNAL, WEIGHTS_LINK } WeightsMode;
typedef struct {
    Str key, value;
} Prop;
typedef struct OpsetImport {
    Str domain;
    int64_t version;
} OpsetImport;
typedef struct ModelInfo {
    int opset;
    VEC(OpsetImport) domains; /* custom ones */
    VEC(Prop) props;          /* metadata_props of the model */
    Str graph_name;
    WeightsMode weights;
    const char *link_name; /* WEIGHTS_LINK: the archive's file name, relative to the output */
    bool node_props;       /* source file and line, module path on every node */
    bool doc_strings;      /* the source line as the node's doc_string too */
    bool constant_nodes;   /* constants that are no weights are Constant nodes before their first
                              use */
    bool initializers_as_inputs; /* initializers stand among the inputs too */
    uint64_t most_weights;       /* bytes that may be written of them; 0: any number */
    Map dim_names;               /* names for sizes of outputs: "y.0" -> Str */
    VEC(Ox) unused;              /* constants that are initializers though no node reads them */
} ModelInfo;

int onnx_ir_version(int opset); /* the lowest IR version that the opset allows */
/* What a file will say of a graph, once it is decided (wire.h): names of all values and nodes, the
 * user's first, and which constants are in use. NULL after an error. */
typedef struct Wire Wire;
Wire *wire_plan(Ctx *cx, const Graph *g, const ModelInfo *info);
/* In one file? The size is computed only when it is near the limit. */
bool wire_fits(Wire *w);
/* The model to `out`, and its weights to `data` where that is given. A plan is written once. */
MUST_USE bool wire_write_planned(Wire *w, Sink *out, Sink *data, const char *data_name);
MUST_USE bool wire_write(Ctx *cx, Graph *g, const ModelInfo *info, Sink *out, Sink *data,
                         const char *data_name);
uint64_t wire_size(Ctx *cx, Graph *g,
                   const ModelInfo *info); /* exact bytes of the single-file model */
/* An ONNX file without the numbers of its large initializers. */
MUST_USE bool wire_thin(Ctx *cx, Source *file, Sink *out);
/* An ONNX file back as a graph, types as written, nothing inferred (for show, tests, fuzzing). */
Graph *wire_read(Ctx *cx, Source *file, ModelInfo *info);

#endif
