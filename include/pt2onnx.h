/* pt2onnx.h - saved PyTorch programs to ONNX, without PyTorch. The only header that users of the
 * library include; examples/embed.c is a whole program, docs/embedding.md shows other languages.
 *
 *     pt2onnx_options o = PT2ONNX_OPTIONS;
 *     o.opset = 18;
 *     pt2onnx_error *e = NULL;
 *     if (pt2onnx_convert("net.pt", "net.onnx", &o, &e) != PT2ONNX_OK) {
 *         fprintf(stderr, "%s\n", pt2onnx_error_message(e));
 *         pt2onnx_error_free(e);
 *     }
 *
 * Threads. No global state: several threads may convert at once. A call uses the calling thread
 * alone, callbacks included, and has ended all its work when it returns.
 *
 * Memory. What the caller hands over is read until the call returns and never kept or freed. What a
 * callback is handed is the library's, and is gone when the callback returns. An error is the
 * caller's, who frees it.
 *
 * Text is UTF-8 and ends with a zero byte; paths are the system's bytes. Nothing is printed: notes
 * and progress go to callbacks. An exception or a longjmp must not leave a callback.
 *
 * Options may be NULL: all have their defaults then. So may `e`: the status alone is returned then.
 * On an error no output file is left, and one that was there before is as it was. */
#ifndef PT2ONNX_H
#define PT2ONNX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32) && defined(PT2ONNX_BUILD)
#define PT2ONNX_API __declspec(dllexport) /* a program needs no dllimport for functions */
#elif defined(__GNUC__) && !defined(_WIN32)
#define PT2ONNX_API __attribute__((visibility("default")))
#else
#define PT2ONNX_API
#endif

#define PT2ONNX_VERSION "1.0.0"
/* The version of the library that runs, which may be newer than the header it was compiled with. */
PT2ONNX_API const char *pt2onnx_version(void);

/* What a call returns; also the program's exit codes. */
typedef enum {
    PT2ONNX_OK = 0,
    /* The model uses something that ONNX or pt2onnx has not, or needs an option to decide it. */
    PT2ONNX_CANNOT_CONVERT = 1,
    /* An option is wrong. */
    PT2ONNX_USAGE = 2,
    /* The file is damaged or no saved program, a limit is passed, or reading or writing failed. */
    PT2ONNX_UNREADABLE = 3,
    /* A mistake of the library's: please report it. */
    PT2ONNX_BUG = 4
} pt2onnx_status;

typedef struct pt2onnx_error pt2onnx_error;
/* The whole message: several lines, no newline at the end. It lives until the error is freed. Of
 * NULL it is "". Options are called in it as the program calls them: --opset, -i. */
PT2ONNX_API const char *pt2onnx_error_message(const pt2onnx_error *e);
/* What the call returned; of NULL PT2ONNX_OK. */
PT2ONNX_API pt2onnx_status pt2onnx_error_status(const pt2onnx_error *e);
/* What would let the model convert, where that is all that was missing: SPECs for
 * pt2onnx_options.inputs, beside those that were given. They have been tried; sizes, values and
 * ranks of which nothing is known are made up. Returns how many there are, 0 where none help;
 * *specs lives until the error is freed. */
PT2ONNX_API size_t pt2onnx_error_inputs(const pt2onnx_error *e, const char *const **specs);
/* NULL is fine. */
PT2ONNX_API void pt2onnx_error_free(pt2onnx_error *e);

/* ---- options: 0, the first of each kind, is the default ---- */

/* As after model.eval(), or each module as the file has it: dropout and batch norm may train. */
typedef enum { PT2ONNX_MODE_EVAL, PT2ONNX_MODE_SAVED } pt2onnx_mode;

/* Where weights go. */
typedef enum {
    PT2ONNX_WEIGHTS_AUTO,     /* into the model; into OUT.data when it would pass 2 GB */
    PT2ONNX_WEIGHTS_INLINE,   /* into the model; over 2 GB that is an error */
    PT2ONNX_WEIGHTS_EXTERNAL, /* into OUT.data, which must stay beside the model */
    PT2ONNX_WEIGHTS_LINK      /* nowhere: the model points into the archive, which must lie in the
                                 same folder and stay there. Implies keep_weights */
} pt2onnx_weights;

/* What a note is about. A later library may have more kinds. */
typedef enum {
    PT2ONNX_ASSUMED, /* what the file does not say; the text names the option that decides it */
    PT2ONNX_ADDED,   /* an input or output that the program has not: its state */
    PT2ONNX_DROPPED, /* what ONNX has nothing for: print, timing */
    PT2ONNX_CHANGED, /* what is otherwise than in the program */
    PT2ONNX_INFO
} pt2onnx_note;

/* Loops of a scripted program whose iterations are known. */
typedef enum {
    PT2ONNX_LOOPS_AUTO,  /* unrolled, unless that gets large (limit `unroll`) */
    PT2ONNX_LOOPS_KEEP,  /* a Loop where ONNX can say it */
    PT2ONNX_LOOPS_UNROLL /* unrolled; loops of unknown iterations are an error */
} pt2onnx_loops;

/* What becomes of buffers and attributes that the model writes. */
typedef enum {
    PT2ONNX_STATE_IO,       /* each is an input NAME and an output NAME.next, with a note; what the
                               first run is fed stands in the metadata: pt2onnx.state.initial */
    PT2ONNX_STATE_CONSTANT, /* they stay as saved; what is written is dropped, with a note */
    PT2ONNX_STATE_REFUSE,   /* an error */
    PT2ONNX_STATE_DEFAULTS  /* as IO, and the input has the saved value as its default (an
                               initializer of its name), which not every runtime understands */
} pt2onnx_state;

/* Operators that are not known: an error, or nodes of a custom domain, which is their namespace. */
typedef enum { PT2ONNX_UNKNOWN_REFUSE, PT2ONNX_UNKNOWN_CUSTOM } pt2onnx_unknown;

/* ORT: casts where ONNX Runtime lacks a kernel for a type. ONNX: only what ONNX asks for. */
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
    uint64_t bytes; /* of the model and its .data together */
    uint64_t nodes; /* those inside of branches, loops and functions too */
    int opset;
} pt2onnx_written;

/* A user's operator from another language: see pt2onnx_symbolic below. */
struct pt2onnx_call;

/* Start from PT2ONNX_OPTIONS and set what is to be otherwise. A list of texts is an array and its
 * length. A flag is 0 or 1. `size` keeps programs alive that were compiled for an older, shorter
 * struct: what they lack has its default. */
typedef struct pt2onnx_options {
    size_t size; /* sizeof(pt2onnx_options) of the caller: set by PT2ONNX_OPTIONS */
    int opset;   /* 9 to 28: the opset that is written; 18 in PT2ONNX_OPTIONS */
    pt2onnx_mode mode;
    pt2onnx_weights weights;
    pt2onnx_target target;
    int keep_weights; /* no weight is fused or transposed: each stays as in the state_dict */
    int dynamic;      /* the sizes that a trace has recorded for its inputs become dynamic */
    int check_crc;    /* verify the checksum of every record of the archive first */

    /* Types and shapes of inputs, and values of arguments that are no tensors, as `pt2onnx -i` has
     * them (`pt2onnx help inputs`): "x:float32[N,3,224,224]", where N is a dynamic size;
     * "x:int64[N=1..64,?]"; "1x3x224x224" for the next input; "sr=16000"; "batch.image:float32[4]"
     * for what is inside an argument. What the file knows need not be given. */
    const char *const *inputs;
    size_t n_inputs;
    /* Names of all outputs, in order. */
    const char *const *output_names;
    size_t n_output_names;
    /* Paths of files with rules for operators of one's own (docs/rules.md). */
    const char *const *rules;
    size_t n_rules;
    /* "NAME=VALUE": limits on what a file may ask for; pt2onnx_describe("limits") lists them. */
    const char *const *limits;
    size_t n_limits;
    /* Call on_dump with the graph as text behind this pass. A wrong name is an error that lists
     * them. NULL: none. */
    const char *dump_after;

    /* Callbacks, any of which may be NULL. `user` is handed to each of them, and to `symbolic`. */
    void *user;
    /* At the end of the call, in the order of their making, of a call that fails too: what was
     * assumed may explain the error. */
    void (*on_note)(void *user, pt2onnx_note kind, const char *text);
    /* While the call works: "reading the file", "running the program", "writing weights"; share is
     * from 0 to 1, or -1 where it is not known. Comes often: whoever shows it decides how often. */
    void (*on_progress)(void *user, const char *stage, double share);
    void (*on_dump)(void *user, const char *pass, const char *text);

    /* Operators that the caller lowers: `symbolic` is called for each call of one of these names
     * ("aten::asinh"), and answers with the functions at the end of this header. Returns 0: done;
     * 1: not mine, use the built-in one; -1: failed, and pt2onnx_call_fail has said why. */
    const char *const *symbolic_names;
    size_t n_symbolic_names;
    int (*symbolic)(void *user, struct pt2onnx_call *call);
    int symbolic_opset; /* the opset whose forms `symbolic` emits; 0: `opset` */

    /* The form that torch.onnx gives its models, which the Python package keeps. */
    int constant_nodes;         /* what is no weight is a Constant node, not an initializer */
    int initializers_as_inputs; /* weights are listed among the graph's inputs too */
    int drop_unused_inputs;     /* an input that nothing uses is left out, with a note */
    int torch_names;            /* inputs that the tracer only numbers are called as torch 1.13
                                   calls them: onnx::Asinh_0 */
    int doc_strings;            /* nodes carry the line of the user's program as doc_string */
    /* New names for the first inputs and outputs of the graph, in order; "" keeps one. */
    const char *const *rename_inputs;
    size_t n_rename_inputs;
    const char *const *rename_outputs;
    size_t n_rename_outputs;
    int keep_loops; /* the same as PT2ONNX_LOOPS_KEEP */
    /* Versions of custom domains: "my.domain=2". Those not named have 1. */
    const char *const *domains;
    size_t n_domains;
    /* Names for sizes of outputs: "y.0=batch" is the first size of y. */
    const char *const *output_dims;
    size_t n_output_dims;

    pt2onnx_state state;
    pt2onnx_loops loops;
    const char *module;     /* convert this part of the model: "encoder.0"; NULL: the whole */
    const char *method;     /* convert this method; NULL: forward */
    const char *model_name; /* which program of a torch.export package; NULL: its only one */
    /* Other names for sizes of a torch.export program: "s77=batch". */
    const char *const *dims;
    size_t n_dims;
    /* Names of inputs that drop_unused_inputs leaves. */
    const char *const *keep_inputs;
    size_t n_keep_inputs;
    int soft_sizes; /* a named size of `inputs` that the program fixes is fixed, with a note; 0: an
                       error */
    pt2onnx_unknown unknown;
    int default_dtype;  /* torch.get_default_dtype(), which no file records, as ONNX's number
                           (TensorProto.DataType); 0: float32 */
    int sequence_lists; /* lists of numbers are sequences: an input whose items `inputs` gives the
                           types of, an output whose length only the running model knows */
    /* Once the model and the outputs are open, the whole process loses the right to open files,
     * start processes and connect, and gets limits of memory and time, for all of its life: for a
     * process that is there for one call (docs/security.md shows how to start one). Linux; what a
     * kernel lacks a note of kind INFO says. */
    int sandbox;

    pt2onnx_weights_type weights_type;
    int change_io_types; /* float16, bfloat16: inputs and outputs have that type too; 0: float32 */
    /* float16, bfloat16: globs of operators ("Gelu") and modules ("encoder.*") that compute in
     * float32. One that fits nothing is an error. */
    const char *const *float32;
    size_t n_float32;
    int weights_block; /* int8, int4: how many elements share a scale, 16 to 256; 0: 32 */
    int fuse;          /* operators of com.microsoft may be written; PT2ONNX_TARGET_ORT only */
    /* Once, behind the notes, when a converting function has written the model, whole. */
    void (*on_written)(void *user, const pt2onnx_written *w);
    /* Each line of the user's program that nodes came from, once: "net.py:41" and its text. Lines
     * whose text the file does not hold are left out. */
    void (*on_source)(void *user, const char *place, const char *text);
    int show_json; /* pt2onnx_show writes one object of JSON instead of text */
    /* Just before on_progress, where the work of the stage is counted: how many "steps" of the
     * program have run, or "bytes" are written. A stage that begins anew may count from 0 again. */
    void (*on_amount)(void *user, const char *unit, uint64_t done);
} pt2onnx_options;

#ifdef __cplusplus /* whose older standards name no members in braces */
static inline pt2onnx_options pt2onnx_default_options(void)
{
    pt2onnx_options o = {};
    o.size = sizeof o;
    o.opset = 18;
    return o;
}
#define PT2ONNX_OPTIONS pt2onnx_default_options()
#else
#define PT2ONNX_OPTIONS { .size = sizeof(pt2onnx_options), .opset = 18 }
#endif

/* Convert the file `model` (.pt, .pt2) and write `out`, and `out`.data for weights that go there. A
 * file of that name is replaced when all has gone well; `out` "-" is standard output (file
 * descriptor 1; stdio is not used). */
PT2ONNX_API pt2onnx_status pt2onnx_convert(const char *model, const char *out,
                                           const pt2onnx_options *o, pt2onnx_error **e);
/* Takes the next n bytes of what is written, and returns 0. Anything else ends the call with
 * PT2ONNX_UNREADABLE. `user` is the call's `write_user`. */
typedef int (*pt2onnx_write)(void *user, const void *bytes, size_t n);
/* Convert into a callback, which gets consecutive pieces. After an error those that have come are
 * no model. One file, so under 2 GB, and weights cannot be EXTERNAL or LINK. */
PT2ONNX_API pt2onnx_status pt2onnx_convert_to(const char *model, pt2onnx_write write,
                                              void *write_user, const pt2onnx_options *o,
                                              pt2onnx_error **e);
/* Convert and write nothing: everything unsupported is listed in the error. */
PT2ONNX_API pt2onnx_status pt2onnx_check(const char *model, const pt2onnx_options *o,
                                         pt2onnx_error **e);
/* Inputs, outputs, modules, weights and program of a .pt, .pt2 or .onnx as text, whose lines are
 * cut at 600 characters (show_json: as JSON, whole), through `write`. */
PT2ONNX_API pt2onnx_status pt2onnx_show(const char *file, pt2onnx_write write, void *write_user,
                                        const pt2onnx_options *o, pt2onnx_error **e);
/* Write `out`, one HTML page that shows the graph of a .pt, .pt2 or .onnx in a browser: the model
 * as it would be converted, without the numbers of its weights, and the lines of source it came
 * from. `out` "-" is standard output. */
PT2ONNX_API pt2onnx_status pt2onnx_view(const char *file, const char *out, const pt2onnx_options *o,
                                        pt2onnx_error **e);
/* What the library knows, as text through `write`. `what` is "" for all operators, "aten::asinh"
 * for one, "onnx::Resize" for one of ONNX's, "limits" for what pt2onnx_options.limits can raise. */
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

/* All of these structs and what they point to are the caller's, read-only, and must stay as they
 * are until the call returns. Values are numbered by the caller; value 0 is "none". Element types
 * are ONNX's numbers (TensorProto.DataType): 1 is float32, 7 int64. */
typedef enum {
    PT2ONNX_ATTR_INT,
    PT2ONNX_ATTR_FLOAT,
    PT2ONNX_ATTR_STRING,
    PT2ONNX_ATTR_INTS,
    PT2ONNX_ATTR_FLOATS,
    PT2ONNX_ATTR_TENSOR,
    PT2ONNX_ATTR_GRAPH, /* i: what pt2onnx_call_block_end gave */
    PT2ONNX_ATTR_STRINGS
} pt2onnx_attr_kind;
typedef struct pt2onnx_tensor {
    int dtype;
    int rank;
    const int64_t *dims;
    const int64_t *strides; /* in elements; NULL: contiguous */
    const void *data;       /* the first element, little-endian; weights are written from here */
    const char *name;       /* of a weight, or NULL */
} pt2onnx_tensor;
/* The members that its kind uses; the others are not looked at. */
typedef struct pt2onnx_attr {
    const char *name;
    pt2onnx_attr_kind kind;
    int64_t i;     /* INT, GRAPH */
    double f;      /* FLOAT */
    const char *s; /* STRING; STRINGS: one behind another, each with the zero byte that ends it */
    size_t n;      /* how many INTS, FLOATS or STRINGS there are */
    const int64_t *ints;
    const double *floats;
    const pt2onnx_tensor *t; /* TENSOR */
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
    const struct pt2onnx_graph *const *block; /* of prim::If and prim::Loop */
    size_t n_block;
    uint32_t id;          /* the caller's: pt2onnx_call_node gives it back */
    const char *overload; /* "Tensor" of aten::add.Tensor; NULL: not known */
    /* Names of inputs that the schema takes by name only; NULL entries: positional; or NULL. */
    const char *const *in_name;
    /* What names of its nodes begin with: "/conv_1"; NULL: the scope, "/layer1/0". */
    const char *names;
    /* The calls of modules around it that become functions of the model, outermost first, a line
     * each: "7 my.net Block layer1.0" is call number 7 of the module layer1.0, of the function
     * Block in the domain my.net; or NULL. */
    const char *calls;
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
/* As pt2onnx_convert, of a trace in memory. Weights cannot be LINK: there is no archive. */
PT2ONNX_API pt2onnx_status pt2onnx_convert_trace(const pt2onnx_trace *t, const char *out,
                                                 const pt2onnx_options *o, pt2onnx_error **e);

/* ---- what pt2onnx_options.symbolic sees and answers, for the call it was handed only ---- */

/* "aten::asinh", "prim::PythonOp" */
PT2ONNX_API const char *pt2onnx_call_name(const struct pt2onnx_call *c);
/* The id that the caller gave the node of its trace; 0: the program is a file. */
PT2ONNX_API uint32_t pt2onnx_call_node(const struct pt2onnx_call *c);
/* How many inputs the operator has, without the items of those that are lists. */
PT2ONNX_API size_t pt2onnx_call_n_in(const struct pt2onnx_call *c);
/* The type of input i, from 0, and its value where that is known: *constant is then the elements of
 * a small tensor, an int64_t, a double, a bool or a text, as type->kind says; else NULL. What they
 * point to lives until `symbolic` returns. Returns 1; 0: there is no such input. */
PT2ONNX_API int pt2onnx_call_in(const struct pt2onnx_call *c, size_t i, pt2onnx_type *type,
                                const void **constant);
/* Input i is a list or tuple: how many items it has; *first is the number that pt2onnx_call_in
 * knows the first of them by. -1: it is none. */
PT2ONNX_API int64_t pt2onnx_call_items(const struct pt2onnx_call *c, size_t i, size_t *first);
/* Emit a node in the form of symbolic_opset: op is "Relu" or "my.domain::Foo"; in has handles (0:
 * left out). Input i of pt2onnx_call_in, items too, has the handle i + 1; those of what is emitted
 * follow. Returns the handle of the first output, and those of the others follow it; 0 after an
 * error, which is the call's: return -1 then. */
PT2ONNX_API uint32_t pt2onnx_call_emit(struct pt2onnx_call *c, const char *op, const uint32_t *in,
                                       size_t n_in, const pt2onnx_attr *attr, size_t n_attr,
                                       size_t n_out);
/* A subgraph (of If, Loop, Scan) with n inputs of these types; sizes of -1 are dynamic. What is
 * emitted from now on is inside, until its end. Returns the first input's handle, 0 after an error.
 * Subgraphs nest. */
PT2ONNX_API uint32_t pt2onnx_call_block(struct pt2onnx_call *c, const pt2onnx_type *type, size_t n);
/* Its outputs. Returns its number for an attribute of the node that has it, 0 after an error. */
PT2ONNX_API uint32_t pt2onnx_call_block_end(struct pt2onnx_call *c, const uint32_t *out, size_t n);
/* What the callback knows of a value that it has emitted with an operator of a custom domain; dims
 * -1: unknown. */
PT2ONNX_API void pt2onnx_call_type(struct pt2onnx_call *c, uint32_t handle,
                                   const pt2onnx_type *type);
/* The results of the operator: handles, one for each of its outputs. */
PT2ONNX_API void pt2onnx_call_result(struct pt2onnx_call *c, const uint32_t *out, size_t n_out);
/* Why it failed: the error of the whole call, beside which its place in the program stands. */
PT2ONNX_API void pt2onnx_call_fail(struct pt2onnx_call *c, const char *text);

#ifdef __cplusplus
}
#endif
#endif
