/* front.h - one saved program into a Program (eval/program.h): TorchScript archives, .pt2, trace
 * graphs from Python. */
#ifndef PT2ONNX_FRONT_H
#define PT2ONNX_FRONT_H

#include "archive/archive.h"
#include "eval/program.h"

struct pt2onnx_trace;

/* All in the keep arena. NULL after an error. */
Program *torchscript_load(Ctx *cx, Zip *zip);
Program *exported_load(Ctx *cx, Zip *zip, FileKind generation);
/* asked: the operators that the caller lowers itself; their calls carry the node's number as the
 * keyword NODE_ARGUMENT. */
#define NODE_ARGUMENT "pt2onnx.node"
Program *handed_load(Ctx *cx, const struct pt2onnx_trace *trace, const char *const *asked,
                     size_t n_asked);

/* The parser by itself, for tests and fuzzing: a code record as definitions; program_print and
 * parsing again gives the same. */
typedef struct CodeFile {
    const Text *text;
    VEC(ClassDef *) classes;
    VEC(Function *) functions;
    int op_version;
} CodeFile;
CodeFile *torchscript_parse(Ctx *cx, const Text *text);
Str torchscript_print(Ctx *cx, const CodeFile *file);

/* Dtype numbers differ: c10's in TorchScript (value/value.h has those), the schema's in .pt2.
 * DT_NONE for one that names none. */
DType dtype_of_pt2(int64_t code);

#endif
