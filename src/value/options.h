/* options.h - what the user asked for, parsed and checked once (settings.c; spec.c reads an -i
 * SPEC). */
#ifndef PT2ONNX_OPTIONS_H
#define PT2ONNX_OPTIONS_H

#include "onnx/wire/model_file.h"

/* One -i SPEC. A leaf's path has dots: "batch.image", "xs.0". */
typedef struct SpecDim {
    enum { SPEC_SIZE, SPEC_NAME, SPEC_SUM, SPEC_UNNAMED } kind; /* 3, N, past+N, ? */
    int64_t size;
    int64_t lo, hi; /* N=1..64: the bounds, both included */
    Str name;
} SpecDim;

typedef struct InputSpec {
    Str path;      /* NULL for the short form 1x3x224x224 without a name */
    bool is_value; /* sr=16000: value_kind, i, f and s; else dtype, rank and dim */
    enum { SPEC_INT, SPEC_FLOAT, SPEC_BOOL, SPEC_STR, SPEC_NONE } value_kind;
    int64_t i; /* INT, BOOL */
    double f;
    Str s;
    DType dtype;    /* DT_FLOAT in the short form */
    bool quantised; /* quint8, qint8: dtype is that of the integers */
    int rank;
    SpecDim dim[MAX_RANK];
    Str text; /* as written, for messages */
} InputSpec;

/* --state: what happens to the buffers and attributes that a run changes. */
typedef enum {
    STATE_IO,       /* they are inputs and outputs of the model */
    STATE_DEFAULTS, /* the same, and the inputs have the value in the file as their default */
    STATE_CONSTANT, /* the change is dropped, with a note */
    STATE_REFUSE,   /* an error */
} StateMode;

/* --loops: what becomes of loops whose iterations are known. */
typedef enum {
    LOOPS_AUTO,   /* unrolled while that stays small, else a Loop */
    LOOPS_KEEP,   /* a Loop where ONNX can run it */
    LOOPS_UNROLL, /* unrolled; any other loop is an error */
} LoopsMode;

/* --dim s77=batch: the dimension that the file calls s77 is called batch. */
typedef struct DimName {
    Str from, to;
} DimName;

/* What an evaluation makes up in place of values and ranks that nobody has given: how the line that
 * a message offers is found (missing_inputs.c). */
typedef struct MadeUpInput {
    Str path;
    Str value; /* "1.0"; NULL: a tensor, v */
    Ox v;
} MadeUpInput;
typedef struct MadeUpWord {
    Str path, word;
} MadeUpWord;
typedef struct MadeUp {
    int rank;                /* of tensors of which nothing is known; -1: it stays unknown */
    VEC(MadeUpInput) inputs; /* of the last evaluation, in the order of the parameters */
    Map dicts;               /* of the last evaluation: a Dict that is an input -> its path */
    VEC(MadeUpWord) words;   /* what the program asked for: keys of dicts, texts it compares with */
} MadeUp;

/* The options of the command line have the same names (cli/main.c), those of the library almost
 * (include/pt2onnx.h). */
typedef struct Options {
    int opset;
    LoopsMode loops;
    StateMode state;
    Str module, method;  /* what to convert; NULL: forward of the whole */
    bool unknown_custom; /* an operator without a row or rule is a node of a custom domain */
    bool mode_saved;     /* modules run in the mode they were saved in, not in eval */
    bool keep_weights;   /* no weight is fused or transposed */
    bool dynamic;        /* sizes that a trace has recorded become symbols */
    bool check_crc;
    bool target_ort; /* casts where ONNX Runtime lacks a kernel for a type */
    bool soft_sizes; /* a dimension that the user named may be fixed, with a note; else an error */
    bool sequence_lists; /* lists of numbers that are inputs or outputs may be ONNX sequences */
    WeightsMode weights;
    DType weights_type;   /* of the weights as they are written; DT_NONE: as saved */
    bool change_io_types; /* float16 and bfloat16: of inputs and outputs too */
    int64_t block;        /* how many elements of an int8 or int4 weight share a scale */
    bool fuse;            /* operators of com.microsoft may be written */
    DType default_dtype;  /* of the program's new tensors and Python floats; DT_NONE: float32 */
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
    MadeUp *made_up; /* NULL: what is missing is an error, or assumed with a note */
    bool shown;      /* the program is described (show.c), not converted */
} Options;

/* Must a program list its weights, and know in which modules each statement stands? */
static inline bool program_is_shown(const Ctx *cx) { return !cx->opt || cx->opt->shown; }

/* May modules be in training mode, so that they update the model's statistics? */
static inline bool training_is_meant(const Ctx *cx) { return cx->opt && cx->opt->mode_saved; }

/* Parse one SPEC into *out; false after an E_USAGE that quotes it with a caret at the place. */
MUST_USE bool spec_parse(Ctx *cx, const char *text, InputSpec *out);

#endif
