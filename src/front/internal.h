/* internal.h - what the files of src/front share: the lexer and parser of TorchScript's code
 * language.
 *
 * Nobody outside src/front includes it. The grammar stands above the functions of
 * torchscript_parse.c; docs/formats/torchscript.md says what our reader accepts beyond what PyTorch
 * prints. */
#ifndef PT2ONNX_FRONT_INTERNAL_H
#define PT2ONNX_FRONT_INTERNAL_H

#include "front/front.h"

/* ---- torchscript_lex.c ---- */

typedef enum {
    TOK_END,
    TOK_NEWLINE,
    TOK_INDENT,
    TOK_DEDENT,
    TOK_WORD, /* names and keywords alike: any word is a name after a dot */
    TOK_INT,
    TOK_FLOAT,
    TOK_IMAGINARY,
    TOK_STRING,
    TOK_LPAREN,
    TOK_RPAREN,
    TOK_LBRACKET,
    TOK_RBRACKET,
    TOK_LBRACE,
    TOK_RBRACE,
    TOK_COMMA,
    TOK_COLON,
    TOK_DOT,
    TOK_ASSIGN,
    TOK_ARROW,
    TOK_PLUS,
    TOK_MINUS,
    TOK_STAR,
    TOK_SLASH,
    TOK_PERCENT,
    TOK_POWER,
    TOK_FLOORDIV,
    TOK_AND,
    TOK_OR,
    TOK_XOR,
    TOK_SHL,
    TOK_SHR,
    TOK_EQ,
    TOK_NE,
    TOK_LT,
    TOK_LE,
    TOK_GT,
    TOK_GE,
} TokKind;

typedef struct Token {
    TokKind kind;
    uint32_t start, end; /* bytes of the text */
    bool escaped;        /* STRING: had a backslash */
    union {
        Str s;      /* WORD, STRING (decoded) */
        uint64_t i; /* INT, without sign */
        double f;   /* FLOAT, IMAGINARY */
    };
} Token;

/* A copy of a Lexer goes back to where it was taken, as long as no NEWLINE was read in between. */
typedef struct Lexer {
    Ctx *cx;
    const Text *text;
    uint32_t at;
    uint32_t nesting; /* open brackets: newlines inside are blanks */
    bool at_line_start;
    bool ended;           /* the last line's NEWLINE has been given */
    uint32_t dedents;     /* still to be given */
    VEC(uint32_t) indent; /* columns of the open blocks */
    Token tok;            /* the current token */
} Lexer;

/* The first token is read. False after an error. */
MUST_USE bool lex_open(Lexer *lx, Ctx *cx, const Text *text);
MUST_USE bool lex_next(Lexer *lx);
/* Does this text stand behind the current token, but for blanks? */
bool lex_followed_by(const Lexer *lx, const char *punctuation);
/* Fails at bytes [start, end) of the text; returns false. */
bool text_fail(Ctx *cx, ErrorCode code, const Text *text, uint32_t start, uint32_t end,
               const char *fmt, ...) PRINTF_LIKE(6, 7);

/* ---- torchscript_parse.c ---- */

/* A type by itself, as pickles carry them: "List[Optional[Tensor]]". NULL after an error. */
const TypeExpr *torchscript_parse_type(Ctx *cx, Str text);

/* ---- saved_dtype.c ---- */

DType dtype_of_storage(Str global,
                       bool *quantised); /* "FloatStorage"; DT_NONE when ONNX has no such type */

/* ---- torchscript_load.c, torchscript_tensor.c, torchscript_name.c, torchscript_state.c,
 * torchscript_debug.c: the archive ---- */

/* A storage record. Tensors that share one have the same pointer to it. */
typedef struct SavedStorage {
    const void *identity;       /* of all storages of the file, in every evaluation */
    struct SavedStorage *older; /* of all */
    Bytes bytes;
    DType dtype; /* DT_NONE: what ONNX does not have; type_name says what */
    Str type_name;
    bool quantised, meta;
    struct SavedTensor *newest; /* of its tensors; NULL: it has none */
} SavedStorage;

typedef struct SavedStorages {
    SavedStorage *newest;
    SavedStorage **of_record; /* by its place in the archive; NULL: none is asked for yet */
    Map missing;              /* name of a record that is not there -> SavedStorage */
} SavedStorages;

/* axis -1: of the whole tensor, else along that axis, and these are tensors. */
typedef struct SavedQuant {
    int axis;
    double scale;
    int64_t zero_point;
    struct SavedTensor *scales, *zero_points;
} SavedQuant;

typedef struct SavedTensor {
    uint32_t id;       /* of the Pickle that it was made of */
    bool shared_bytes; /* another tensor overlaps this one without being the same */
    bool parameter;
    SavedStorage *st;
    Const *k; /* NULL: cannot be used, why says the reason */
    const char *why;
    struct SavedTensor *older; /* of the same storage; NULL: this is the first */
    struct SavedTensor *same;  /* the first tensor that sees exactly these elements; maybe itself */
    Str name;                  /* "layer1.0.conv1.weight" */
    int64_t lo, hi;            /* elements [lo, hi) of the storage */
    const SavedQuant *quant;   /* NULL: the file has a tensor of another kind */
    Tensor *tensor;            /* that one evaluation has made of it; NULL: not yet */
} SavedTensor;
static inline bool saved_by_channel(const SavedTensor *t)
{
    return t->quant && t->quant->axis >= 0;
}

typedef struct TorchScript {
    Zip *zip;
    Program *p;
    const char *code_dir; /* where the records of classes and functions lie: "code/" */
    const char *data_dir,
        *constants_dir;     /* and the storages of the two pickles: "data/", "constants/" */
    Map files;              /* record -> CodeFile, NULL for one that is not there */
    Map classes, functions; /* by qualified name */
    Map types;              /* text of a type tag -> TypeExpr */
    Map members;            /* "Class.NAME" -> EnumMember */
    bool legacy;            /* model.json has made the two pickled values: */
    Pickle *data, *constants;
    /* data.pkl goes when an evaluation has settled (data is NULL then), and is read again if there
     * is another one: from this number on, so that its values have the same ids. */
    uint32_t data_id, data_end;
    uint32_t next_id; /* of the pickle that is read next */
    /* of data.pkl, which go with it, and of constants.pkl and traced_inputs.pkl */
    SavedStorages storages, other_storages;
    /* of one evaluation, in the run arena: forgotten by build_root */
    Graph *g;
    Map values; /* Pickle -> what was made of it but for tensors, a number of `made` from 1 on */
    VEC(Value) made;
} TorchScript;

/* A code record, parsed once. NULL when it is not there (no error), or failed. */
const CodeFile *ts_open_record(Ctx *cx, TorchScript *ts, Str record);
ClassDef *ts_find_class(Ctx *cx, Program *p, Str qualname);
/* The class of a pickled object; NULL after an error. */
const ClassDef *ts_class_of(Ctx *cx, TorchScript *ts, const Pickle *global);
const TypeExpr *ts_type(Ctx *cx, TorchScript *ts, Str text);

/* A call of this global. */
bool pickle_is_call(const Pickle *p, const char *module, const char *name);
/* A call that makes a tensor. */
bool pickle_is_tensor(const Pickle *p);
/* A number, a bool, a string, None: nothing in it has a name. */
bool pickle_is_plain(const Pickle *p);
/* An object of model.json with a state of its own had its attributes set before: this dict, NULL
 * for any other. */
const Pickle *pickle_earlier_attributes(const Pickle *p);
/* The tensor that a pickled call describes; NULL after an error. dir: where its storage lies,
 * "data/", "traced_inputs/", .. */
SavedTensor *ts_tensor(Ctx *cx, TorchScript *ts, const Pickle *call, const char *dir);
/* The same, if it was asked for before; else NULL. */
SavedTensor *ts_known_tensor(const Pickle *call);

/* "layer1.0" and "weight" as "layer1.0.weight"; the name alone below the root. */
Str ts_child_name(Ctx *cx, Str path, const char *name);
/* Name every tensor of the two pickles, or of data.pkl alone, list the weights, find what shares
 * bytes. */
MUST_USE bool ts_name_tensors(Ctx *cx, TorchScript *ts, bool data_only);
MUST_USE bool ts_read_data(Ctx *cx, TorchScript *ts);
/* data.pkl, and what was read of its tensors but for their constants, is read again when it is
 * asked for. */
void ts_forget_data(Ctx *cx, TorchScript *ts);
/* Reads it again, and gives its tensors the names that they had. */
MUST_USE bool ts_read_data_again(Ctx *cx, TorchScript *ts);
MUST_USE bool ts_build_root(Ctx *cx, Program *p, Value *out);
/* Of an evaluation that is over; their memory went with it. */
void ts_forget_values(TorchScript *ts);
MUST_USE bool ts_constant(Ctx *cx, Program *p, int64_t n, Value *out);
/* The defaults of forward's parameters, as fresh values: a list may be written to. */
MUST_USE bool ts_defaults(Ctx *cx, TorchScript *ts);
/* A constant expression: a default, an enum's value. */
MUST_USE bool ts_literal(Ctx *cx, TorchScript *ts, const Expr *e, Value *out);

/* ---- torchscript_legacy.c: model.json of PyTorch 1.0 to 1.3 becomes ts->data and ts->constants
 * ---- */

MUST_USE bool ts_read_legacy(Ctx *cx, TorchScript *ts);

/* Sets text->locate, when the archive has the record's debug record. */
void ts_attach_debug(Ctx *cx, TorchScript *ts, Text *text);

/* ---- sympy.c ---- */

/* The size that a SymPy text of a .pt2 stands for; NULL when any part of it is not understood. */
Dim sympy_dim(Ctx *cx, Str text);

#endif
