/* options.h - what the user asked for, parsed and checked once by pt2onnx.c (spec.c reads
 * SPECs). */
#ifndef PT2ONNX_OPTIONS_H
#define PT2ONNX_OPTIONS_H

#include "onnx/onnx.h"

/* One -i SPEC. A leaf's path has dots: "batch.image", "xs.0". */
typedef struct SpecDim {
    enum { SPEC_SIZE, SPEC_NAME, SPEC_UNNAMED } kind;
    int64_t size, lo, hi;
    Str name;
} SpecDim;
typedef struct InputSpec {
    Str path;      /* NULL for the short form 1x3x224x224 without a name */
    bool is_value; /* sr=16000 */
    enum { SPEC_INT, SPEC_FLOAT, SPEC_BOOL, SPEC_STR, SPEC_NONE } value_kind;
    int64_t i;
    double f;
    Str s;
    DType dtype;    /* DT_FLOAT in the short form */
    bool quantised; /* quint8, qint8: dtype is that of the integers */
    int rank;
    SpecDim dim[MAX_RANK];
    Str text; /* as written, for messages */
} InputSpec;

/* What the model writes to its own buffers and attributes: inputs and outputs; dropped with a note;
 * an error. */
typedef enum { STATE_IO, STATE_CONSTANT, STATE_REFUSE } StateMode;

/* Loops whose iterations are known: unrolled while that stays small; Loop where ONNX can say it;
 * unrolled, and any other is an error. */
typedef enum { LOOPS_AUTO, LOOPS_KEEP, LOOPS_UNROLL } LoopsMode;

/* --dim s77=batch: what the file calls s77 is called batch. */
typedef struct DimName {
    Str from, to;
} DimName;

typedef struct Options {
    int opset;
    LoopsMode loops;
    StateMode state;
    Str module, method;  /* what to convert; NULL: forward of the whole */
    bool unknown_custom; /* an operator that nobody knows is a node of a custom domain */
    bool mode_saved, keep_weights, dynamic, check_crc, target_ort, soft_sizes, sequence_lists;
    WeightsMode weights;
    DType default_dtype; /* of the program's new tensors and Python floats; DT_NONE: float32 */
    InputSpec *input;
    size_t n_input;
    Str *output_name;
    size_t n_output_name;
    DimName *dim;
    size_t n_dim;
    Str model; /* which program of a package; NULL: its only one */
    const char *dump_after;
    void (*dump)(void *user, const char *pass, Str text);
    void *dump_user;
} Options;

/* The caller wants modes as they are: layers may update the model's statistics. */
static inline bool training_is_meant(const Ctx *cx) { return cx->opt && cx->opt->mode_saved; }

/* Parse one SPEC; false after E_USAGE that quotes it with a caret at the place. */
MUST_USE bool spec_parse(Ctx *cx, const char *text, InputSpec *out);

#endif
