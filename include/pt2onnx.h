/* pt2onnx.h - saved PyTorch programs to ONNX, without PyTorch. The only header that users of the
 * library include.
 *
 *     pt2onnx_options o = PT2ONNX_OPTIONS;
 *     o.opset = 18;
 *     pt2onnx_error *e = NULL;
 *     if (pt2onnx_convert("net.pt", "net.onnx", &o, &e) != PT2ONNX_OK) {
 *         fprintf(stderr, "%s\n", pt2onnx_error_message(e));
 *         pt2onnx_error_free(e);
 *     }
 *
 * No global state: several threads may convert at once. All text is UTF-8. Nothing is printed:
 * notes and progress go to callbacks. On an error no output file is left. */
#ifndef PT2ONNX_H
#define PT2ONNX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PT2ONNX_API __attribute__((visibility("default")))
#else
#define PT2ONNX_API
#endif

#define PT2ONNX_VERSION "0.1.0"
/* The version of the library that runs, which may be newer than the header it was compiled with. */
PT2ONNX_API const char *pt2onnx_version(void);

/* What a call returns; also the program's exit codes. */
typedef enum {
    PT2ONNX_OK = 0,
    PT2ONNX_CANNOT_CONVERT =
        1, /* the model uses something ONNX or pt2onnx cannot say, or needs to be given something */
    PT2ONNX_USAGE = 2,      /* an option is wrong */
    PT2ONNX_UNREADABLE = 3, /* damaged, not a saved program, over a limit, or an I/O error */
    PT2ONNX_BUG = 4
} pt2onnx_status;

typedef struct pt2onnx_error pt2onnx_error;
PT2ONNX_API const char *pt2onnx_error_message(
    const pt2onnx_error *e); /* all of it, several lines, no newline at the end */
PT2ONNX_API pt2onnx_status pt2onnx_error_status(const pt2onnx_error *e);
PT2ONNX_API void pt2onnx_error_free(pt2onnx_error *e); /* NULL is fine */

typedef enum { PT2ONNX_MODE_EVAL, PT2ONNX_MODE_SAVED } pt2onnx_mode;
typedef enum {
    PT2ONNX_WEIGHTS_AUTO,
    PT2ONNX_WEIGHTS_INLINE,
    PT2ONNX_WEIGHTS_EXTERNAL,
    PT2ONNX_WEIGHTS_LINK
} pt2onnx_weights;
typedef enum {
    PT2ONNX_ASSUMED,
    PT2ONNX_ADDED,
    PT2ONNX_DROPPED,
    PT2ONNX_CHANGED,
    PT2ONNX_INFO
} pt2onnx_note;
/* Loops of a scripted program whose iterations are known: unrolled unless that is large; a Loop
 * where ONNX can say it; unrolled, and others are an error. */
typedef enum { PT2ONNX_LOOPS_AUTO, PT2ONNX_LOOPS_KEEP, PT2ONNX_LOOPS_UNROLL } pt2onnx_loops;
/* What the model writes to its own buffers and attributes: inputs NAME and outputs NAME.next;
 * dropped with a note; an error. */
typedef enum { PT2ONNX_STATE_IO, PT2ONNX_STATE_CONSTANT, PT2ONNX_STATE_REFUSE } pt2onnx_state;
/* An unknown operator: an error; a node of a custom domain, which is its namespace. */
typedef enum { PT2ONNX_UNKNOWN_REFUSE, PT2ONNX_UNKNOWN_CUSTOM } pt2onnx_unknown;
typedef enum { PT2ONNX_TARGET_ORT, PT2ONNX_TARGET_ONNX } pt2onnx_target;

/* The type of the weights as they are written. float16, bfloat16: the model computes in it too, but
 * for sums, exponentials and norms. int8, int4: the weights of products alone, with a scale for
 * each block, dequantised as the model runs. */
typedef enum {
    PT2ONNX_TYPE_SAVED,
    PT2ONNX_TYPE_FLOAT16,
    PT2ONNX_TYPE_BFLOAT16,
    PT2ONNX_TYPE_INT8,
    PT2ONNX_TYPE_INT4
} pt2onnx_weights_type;

/* What a conversion has written. A later library may append members. */
typedef struct pt2onnx_written {
    uint64_t bytes; /* of the model and its .data */
    uint64_t nodes; /* those inside of branches, loops and functions too */
    int opset;
} pt2onnx_written;

/* A user's operator from another language: see pt2onnx_symbolic below. */
struct pt2onnx_call;

typedef struct pt2onnx_options {
    size_t size; /* sizeof(pt2onnx_options) of the caller: set by PT2ONNX_OPTIONS */
    int opset;   /* 9 to 28 */
    pt2onnx_mode mode;
    pt2onnx_weights weights;
    pt2onnx_target target;
    int keep_weights; /* no weight is fused or transposed */
    int dynamic;      /* sizes recorded by a trace become symbols */
    int check_crc;    /* verify the checksums of weights */
    const char *const *inputs;
    size_t n_inputs; /* SPECs: "x:float32[N,3,224,224]", "sr=16000" */
    const char *const *output_names;
    size_t n_output_names;
    const char *const *rules;
    size_t n_rules; /* paths of rule files */
    const char *const *limits;
    size_t n_limits;        /* "NAME=VALUE" */
    const char *dump_after; /* print the graph after this pass through `on_dump` */
    void *user;             /* handed to the callbacks */
    void (*on_note)(void *user, pt2onnx_note kind, const char *text);
    void (*on_progress)(void *user, const char *stage, double share);
    void (*on_dump)(void *user, const char *pass, const char *text);
    /* operators that the caller lowers: called for each name of `symbolic_names` */
    const char *const *symbolic_names;
    size_t n_symbolic_names;
    int (*symbolic)(void *user,
                    struct pt2onnx_call *call); /* 0 done, 1 not mine: use the built-in, -1 failed
                                                   (error set by pt2onnx_call_fail) */
    int symbolic_opset; /* the opset whose forms `symbolic` emits; 0: `opset` */
    /* the form that torch.onnx gives its models, which the Python package keeps */
    int constant_nodes;         /* what is no weight is a Constant node, not an initializer */
    int initializers_as_inputs; /* weights are listed among the graph's inputs too */
    int drop_unused_inputs;     /* an input that nothing uses is left out */
    int torch_names; /* inputs that the tracer only numbers are called as torch 1.13 calls them:
                        onnx::Asinh_0 */
    int doc_strings; /* nodes carry the line of the user's program as their doc_string */
    const char *const *rename_inputs;
    size_t
        n_rename_inputs; /* new names for the first inputs of the graph, in order; "" keeps one */
    const char *const *rename_outputs;
    size_t n_rename_outputs; /* and of its outputs */
    int keep_loops;          /* the same as PT2ONNX_LOOPS_KEEP */
    const char *const *domains;
    size_t n_domains; /* versions of custom domains: "my.domain=2"; others have 1 */
    const char *const *output_dims;
    size_t n_output_dims; /* names for sizes of outputs: "y.0=batch" */
    pt2onnx_state state;
    pt2onnx_loops loops;
    const char *module, *method; /* convert this part of the model ("encoder.0"), this method; NULL:
                                    forward of the whole */
    const char *model_name; /* which program of a torch.export package that holds several; NULL: its
                               only one */
    const char *const *dims;
    size_t n_dims; /* names for the sizes that a .pt2 calls s77: "s77=batch" */
    const char *const *keep_inputs;
    size_t n_keep_inputs; /* drop_unused_inputs leaves these */
    int soft_sizes; /* a named size of `inputs` that the program fixes is fixed, with a note; 0: an
                       error */
    pt2onnx_unknown unknown;
    int default_dtype;  /* ONNX's number of torch.get_default_dtype(), which no file records; 0:
                           float32 */
    int sequence_lists; /* lists of numbers are sequences: an input whose items `inputs` gives the
                           types of, an output whose length only the running model knows */
    int sandbox; /* once the model and the outputs are open, the whole process loses the right to
                    open files, start processes and connect, and gets limits of memory and time, for
                    all of its life: for a process that is there for one call (docs/security.md
                    shows how to start one). Linux; what a kernel lacks a note of kind INFO says */
    pt2onnx_weights_type weights_type;
    int change_io_types; /* float16 and bfloat16: inputs and outputs have that type too; 0: they
                            stay float32 */
    const char *const *float32;
    size_t n_float32;  /* float16 and bfloat16: globs of operators ("Gelu") and module paths
                          ("encoder.*") that compute in float32 */
    int weights_block; /* int8 and int4: how many elements share a scale, 16 to 256; 0: 32 */
    int fuse;          /* operators of com.microsoft may be written, for PT2ONNX_TARGET_ORT */
    void (*on_written)(void *user, const pt2onnx_written *w); /* the model is there, whole */
    void (*on_source)(void *user, const char *place,
                      const char *text); /* each line of the user's program that nodes came from:
                                            "net.py:41" and its text, if the file has it */
    int show_json; /* pt2onnx_show writes one object of JSON instead of text */
} pt2onnx_options;

#define PT2ONNX_OPTIONS { .size = sizeof(pt2onnx_options), .opset = 18 }

/* Convert the file `model`; write `out` (and `out`.data for weights that do not fit one file). out
 * "-" is standard output. */
PT2ONNX_API pt2onnx_status pt2onnx_convert(const char *model, const char *out,
                                           const pt2onnx_options *o, pt2onnx_error **e);
/* The same into a callback: called with consecutive pieces; a return other than 0 stops with
 * PT2ONNX_UNREADABLE. One file, so under 2 GB. */
typedef int (*pt2onnx_write)(void *user, const void *bytes, size_t n);
PT2ONNX_API pt2onnx_status pt2onnx_convert_to(const char *model, pt2onnx_write write,
                                              void *write_user, const pt2onnx_options *o,
                                              pt2onnx_error **e);
/* Convert and write nothing: everything unsupported is listed in the error. */
PT2ONNX_API pt2onnx_status pt2onnx_check(const char *model, const pt2onnx_options *o,
                                         pt2onnx_error **e);
/* Inputs, outputs, modules, weights and program of a .pt, .pt2 or .onnx as text, through
 * `write`. */
PT2ONNX_API pt2onnx_status pt2onnx_show(const char *file, pt2onnx_write write, void *write_user,
                                        const pt2onnx_options *o, pt2onnx_error **e);
/* Write `out`, one HTML page that shows the graph of a .pt, .pt2 or .onnx in a browser: the model
 * as it would be converted, without the numbers of its weights, and the lines of source it came
 * from. */
PT2ONNX_API pt2onnx_status pt2onnx_view(const char *file, const char *out, const pt2onnx_options *o,
                                        pt2onnx_error **e);
/* What the program knows: operators ("" all, "aten::asinh" one, "onnx::Resize" one of ONNX's),
 * limits ("limits"). */
PT2ONNX_API pt2onnx_status pt2onnx_describe(const char *what, pt2onnx_write write, void *write_user,
                                            pt2onnx_error **e);

/* "did you mean": the word of the list (NULL last) spelt most like this one; NULL when none is
 * near. */
PT2ONNX_API const char *pt2onnx_nearest(const char *word, const char *const *words);

/* Remove the unfinished outputs of every conversion of the process: for a program's own handler of
 * SIGINT and SIGTERM, as the last thing before it dies. Async-signal-safe. The library installs no
 * handler. */
PT2ONNX_API void pt2onnx_remove_temporaries(void);

/* ---- a trace graph handed over by another language (the Python package) ---- */

/* One record, read-only, alive until the call returns. Values are numbered by the caller; value 0
 * is "none". */
typedef enum {
    PT2ONNX_ATTR_INT,
    PT2ONNX_ATTR_FLOAT,
    PT2ONNX_ATTR_STRING,
    PT2ONNX_ATTR_INTS,
    PT2ONNX_ATTR_FLOATS,
    PT2ONNX_ATTR_TENSOR,
    PT2ONNX_ATTR_GRAPH /* i: what pt2onnx_call_block_end gave */
} pt2onnx_attr_kind;
typedef struct pt2onnx_tensor {
    int dtype; /* ONNX's number */
    int rank;
    const int64_t *dims, *strides;
    const void *data;
    const char *name;
} pt2onnx_tensor;
typedef struct pt2onnx_attr {
    const char *name;
    pt2onnx_attr_kind kind;
    int64_t i;
    double f;
    const char *s;
    size_t n;
    const int64_t *ints;
    const double *floats;
    const pt2onnx_tensor *t;
} pt2onnx_attr;
typedef struct pt2onnx_type {
    int dtype;                   /* 0: not a tensor, or unknown */
    int rank;                    /* -1 unknown */
    const int64_t *dims;         /* -1 unknown; of a size with a name what it was in the trace */
    const char *kind;            /* "Tensor", "int", "List[int]", .. */
    const char *const *dim_name; /* names of dynamic sizes, NULL entries: none; or NULL */
} pt2onnx_type;
typedef struct pt2onnx_node {
    const char *kind;   /* "aten::add", "prim::Constant", "prim::PythonOp" */
    const char *source; /* the user's stack, innermost line first, or NULL */
    const char *scope;  /* module path, or NULL */
    const uint32_t *in;
    size_t n_in;
    const uint32_t *out;
    size_t n_out;
    const pt2onnx_attr *attr;
    size_t n_attr;
    const struct pt2onnx_graph *const *block;
    size_t n_block;
    uint32_t id;                /* the caller's: comes back in pt2onnx_call */
    const char *overload;       /* "Tensor" of aten::add.Tensor; NULL: not known */
    const char *const *in_name; /* names of inputs that the schema takes by name only; NULL entries:
                                   positional; or NULL */
    const char
        *names; /* what names of its nodes begin with: "/conv_1"; NULL: the scope, "/layer1/0" */
    const char
        *calls; /* the calls of modules around it that become functions of the model, outermost
                   first, a line each: "7 my.net Block layer1.0" is call number 7 of the module
                   layer1.0, of the function Block in the domain my.net; or NULL */
} pt2onnx_node;
typedef struct pt2onnx_graph {
    const pt2onnx_node *node;
    size_t n_node;
    const uint32_t *in;
    size_t n_in;
    const uint32_t *out;
    size_t n_out;
} pt2onnx_graph;
typedef struct pt2onnx_trace {
    size_t size; /* sizeof(pt2onnx_trace) */
    pt2onnx_graph graph;
    size_t n_value;           /* one more than the highest number */
    const pt2onnx_type *type; /* by value number */
    const char *const *name;  /* by value number: names asked for (inputs, outputs), NULL entries */
    size_t n_param;
    const uint32_t *param;
    const pt2onnx_tensor *param_tensor; /* inputs that are weights */
} pt2onnx_trace;
PT2ONNX_API pt2onnx_status pt2onnx_convert_trace(const pt2onnx_trace *t, const char *out,
                                                 const pt2onnx_options *o, pt2onnx_error **e);

/* What a symbolic callback sees and answers. */
PT2ONNX_API const char *pt2onnx_call_name(
    const struct pt2onnx_call *c); /* "aten::asinh", "prim::PythonOp" */
PT2ONNX_API uint32_t
pt2onnx_call_node(const struct pt2onnx_call *c); /* the caller's node id; 0 for files */
PT2ONNX_API size_t pt2onnx_call_n_in(const struct pt2onnx_call *c);
PT2ONNX_API int pt2onnx_call_in(const struct pt2onnx_call *c, size_t i, pt2onnx_type *type,
                                const void **constant); /* 0: no such input */
/* Input i is a list or tuple: how many items it has; *first is the number that pt2onnx_call_in
 * knows the first of them by. -1: it is none. */
PT2ONNX_API int64_t pt2onnx_call_items(const struct pt2onnx_call *c, size_t i, size_t *first);
/* Emit a node in the form of symbolic_opset; in: handles (input i of pt2onnx_call_in is i + 1,
 * items too; results of emits follow). Returns the first output's handle, 0 after an error. */
PT2ONNX_API uint32_t pt2onnx_call_emit(struct pt2onnx_call *c,
                                       const char *op /* "Relu", "my.domain::Foo" */,
                                       const uint32_t *in, size_t n_in, const pt2onnx_attr *attr,
                                       size_t n_attr, size_t n_out);
/* A subgraph (of If, Loop, Scan) with n inputs of these types; sizes of -1 are open. What is
 * emitted from now on is inside, until its end. Returns the first input's handle, 0 after an error.
 * Subgraphs nest. */
PT2ONNX_API uint32_t pt2onnx_call_block(struct pt2onnx_call *c, const pt2onnx_type *type, size_t n);
/* Its outputs. Returns its number for an attribute of the node that has it, 0 after an error. */
PT2ONNX_API uint32_t pt2onnx_call_block_end(struct pt2onnx_call *c, const uint32_t *out, size_t n);
/* What the callback knows of a value that it has emitted with an operator of a custom domain; dims
 * -1: unknown. */
PT2ONNX_API void pt2onnx_call_type(struct pt2onnx_call *c, uint32_t handle,
                                   const pt2onnx_type *type);
PT2ONNX_API void pt2onnx_call_result(struct pt2onnx_call *c, const uint32_t *out, size_t n_out);
PT2ONNX_API void pt2onnx_call_fail(struct pt2onnx_call *c, const char *text);

#ifdef __cplusplus
}
#endif
#endif
