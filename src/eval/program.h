/* program.h - a saved program, in the one form that the evaluator runs.
 *
 * TorchScript text, .pt2 JSON and the trace graph that Python hands over all become this: functions
 * of nested blocks of statements over expressions. Everything lies in the keep arena: parsed once,
 * evaluated as often as restarts want. */
#ifndef PT2ONNX_PROGRAM_H
#define PT2ONNX_PROGRAM_H

#include "value/heap.h"

typedef struct Expr Expr;
typedef struct Stmt Stmt;
typedef struct TypeExpr TypeExpr;

typedef enum {
    X_NONE,
    X_TRUE,
    X_FALSE,
    X_INT,
    X_FLOAT,
    X_COMPLEX,
    X_STR,
    X_LOCAL,       /* slot */
    X_NAME,        /* not a local: builtin, namespace, class path (name holds the dotted path:
                      "__torch__.a.f", "torch.add") */
    X_CONSTANT,    /* CONSTANTS.cN: i */
    X_ATTR,        /* a.name */
    X_INDEX,       /* a[b] */
    X_TUPLE_SLICE, /* a[i:j] with constant bounds i, j */
    X_CALL, /* a callee expression (X_NAME of a builtin or function, X_ATTR of a method), args. The
             * forms with a type - annotate(T, e), unchecked_cast(T, e), isinstance(e, T),
             * uninitialized(T) - have it in `type`, e alone in args; isinstance(e, (A, B)) has type
             * Union[A, B] */
    X_OP,   /* operator `name`, `overload` (NULL: by arguments): torch.add, ops.quantized.linear, a
               .pt2 target */
    X_TUPLE,
    X_LIST,
    X_DICT,
    X_NEG,
    X_BINARY, /* hand-edited text only: name is "and" or "or", which look at b only when a does not
               * decide; other binary operators are X_OP of their aten function */
    X_VALUE,  /* a ready Value (a .pt2's literal: dtype, device, tensor constant) */
    X_GRAPH,  /* a nested Function: operands of higher-order operators, fork bodies */
} ExprKind;

typedef struct Arg {
    Str name;
    Expr *value;
} Arg; /* name NULL: positional */

struct Expr {
    ExprKind kind;
    uint32_t start, end; /* in the text of the function it stands in */
    union {
        int64_t i;
        double f;
        double c[2];
        Str s;
        uint32_t slot;
        Value value;
        struct Function *fn;
        struct {
            Expr *a, *b;
            Str name;
            int64_t lo, hi;
        }; /* ATTR, INDEX, TUPLE_SLICE, NEG, BINARY, NAME (name) */
        struct { /* CALL, OP */
            Expr *callee;
            Str op, overload;
            Arg *args;
            uint32_t n_args;
            const Str *writes; /* OP: the arguments that the file says it writes to, then NULL; not
                                  every file says so of every operator */
            const TypeExpr *type;
            void *cache;
        };
        struct {
            Expr **items;
            uint32_t n;
        }; /* TUPLE, LIST, DICT (key, value, key, value..) */
    };
};

struct TypeExpr {
    Str name;
    const TypeExpr *const *args;
    uint32_t n;
}; /* Tensor; List[int]: name "List", args; dotted class paths as name */

typedef struct Block {
    Stmt **at;
    uint32_t n;
} Block;

typedef enum {
    S_EXPR,
    S_ASSIGN, /* targets (slots) = value; several targets destructure */
    S_SET_ATTR,
    S_RETURN,
    S_IF,
    S_FOR,
    S_WHILE,
    S_WITH,
    S_PASS,
    S_DEF, /* fork body: slot = nested function */
} StmtKind;

struct Stmt {
    StmtKind kind;
    uint32_t start, end;
    Expr *value; /* right side, condition, iteration count, with's expression */
    uint32_t *target;
    uint32_t n_target; /* slots: ASSIGN; FOR's variable; WITH's `as` (n_target 0: none) */
    bool unpack;       /* ASSIGN: destructure even one target (trailing comma) */
    uint32_t
        parts; /* ASSIGN: how many items a later statement takes the list apart into; 0: not told */
    Expr **values;
    uint32_t
        n_values; /* ASSIGN with several right sides: a, b = x, y; evaluated before any is bound */
    const TypeExpr *type; /* annotated assignment */
    Expr *object;
    Str attr;             /* SET_ATTR */
    Block body, other;    /* IF: then, else; FOR, WHILE, WITH: body */
    struct Function *def; /* DEF */
    /* what a file records about the results: types in target order, or NULL. Compared with ours
     * after evaluation. */
    const struct Recorded *recorded;
    uint32_t n_recorded;
    const Text *text;        /* when it differs from the function's (a .pt2 node's stack_trace) */
    Str module, module_type; /* .pt2: nn_module_stack's innermost path and class; NULL elsewhere */
    Str names; /* what names of nodes begin with, when the path of the module is not it */
    Str calls; /* the calls of modules that it stands in and that become functions (pt2onnx_node),
                  or NULL */
};

/* dims are texts in .pt2 form already parsed to Dims by front/exported/exported.c on each
 * evaluation: see recorded_type. */
typedef struct Recorded {
    DType dtype;
    int rank;
    const struct RecordedDim *dim;
    Str what; /* "float", "int": non-tensors */
} Recorded;
typedef struct RecordedDim {
    int64_t known;    /* -1: expr, or symbol, or neither */
    Str expr, symbol; /* one of any name */
} RecordedDim;

typedef struct ParamDecl {
    Str name;
    const TypeExpr *type;
    Expr *deflt;
    uint32_t slot;
} ParamDecl;

typedef struct Function {
    Str name, qualname; /* "forward", "__torch__.net.Net.forward" */
    ParamDecl *param;
    uint32_t n_param;
    const TypeExpr *ret;
    Block body;
    uint32_t n_slot;
    const Str *slot_name;   /* locals; parameters first */
    struct Function *outer; /* of a fork body: captured locals are read from the outer frame */
    const uint32_t *capture;
    uint32_t n_capture; /* pairs (slot of outer, slot here), n_capture of them: copied when the body
                           starts */
    const Text *text;
    uint32_t start, end;
} Function;

typedef struct Field {
    Str name;
    const TypeExpr *type;
    Expr *constant; /* Final */
} Field;
typedef enum {
    CLASS_PLAIN,
    CLASS_MODULE,
    CLASS_NAMEDTUPLE,
    CLASS_ENUM,
    CLASS_INTERFACE,
    CLASS_TORCHBIND
} ClassKind;
typedef struct ClassDef {
    Str qualname; /* "__torch__.torch.nn.modules.conv.Conv2d", mangling kept */
    Str plain;    /* without ___torch_mangle_N */
    ClassKind kind;
    Field *field;
    uint32_t n_field;
    Map field_index; /* name -> index + 1 */
    Map method;      /* name -> Function* */
    const Str *pre_hook, *hook;
    uint32_t n_pre_hook, n_hook;
    const Str *parameter, *buffer;
    uint32_t n_parameter, n_buffer;
    const Text *text;
    uint32_t start, end;
} ClassDef;

/* An input of the whole program, as far as the file tells. */
typedef struct InputDecl {
    Str name;             /* of forward's parameter, or the path of a leaf: "batch.image" */
    const TypeExpr *type; /* NULL: Tensor */
    bool known;           /* dtype and rank are recorded */
    bool example; /* .. of an example: those of keywords stand in the caller's order, without their
                     names */
    DType dtype;
    int rank;
    const struct RecordedDim *dim;
    bool has_default;
    Value deflt; /* constant_input of .pt2, default of a parameter */
} InputDecl;
typedef struct SymbolDecl {
    Str name;
    int64_t lo, hi;
} SymbolDecl;

/* State of the saved model: what state_dict() says. */
typedef struct Weight {
    Str name;
    const Const *k;
    bool parameter;
    bool persistent;
} Weight;

/* Buffers and attributes that the model writes: an input, and the output that is its value for the
 * next run. */
typedef struct StatePair {
    Str input, output;
} StatePair;

typedef struct Program {
    Str file, kind; /* "net.pt", "TorchScript archive (torch 2.x, traced)" for show */
    int op_version; /* operator set version of a .pt: upgraders of rows read it */
    bool has_calls; /* statements know calls of modules that become functions */
    bool traced;    /* has no control flow and recorded inputs */
    Value root;     /* the module object (V_OBJ), or V_NONE: then `entry` takes no self */
    Function *entry;
    InputDecl *input;
    uint32_t n_input;
    SymbolDecl *symbol;
    uint32_t n_symbol;
    VEC(Weight) weights;
    StatePair *state;
    uint32_t n_state; /* of the last evaluation */
    Str *output_name;
    uint32_t n_output_name; /* wishes from out_spec; NULL entries: none */
    /* classes, functions and constants are resolved lazily by the front end */
    ClassDef *(*find_class)(Ctx *cx, struct Program *p,
                            Str qualname); /* NULL: no such class (no error), or failed */
    Function *(*find_function)(Ctx *cx, struct Program *p, Str qualname);
    bool (*constant)(Ctx *cx, struct Program *p, int64_t n, Value *out); /* CONSTANTS.cN */
    /* The root object, built anew in the run arena for each evaluation (cells must start from the
     * file's state). */
    bool (*build_root)(Ctx *cx, struct Program *p, Value *out);
    /* Set by the evaluator before it calls build_root or constant: the graph whose constants the
     * tensors become (NULL: one is made), and how to run a method that the file needs for building
     * an object, obj.__setstate__(state). */
    Graph *graph;
    bool (*run_setstate)(Ctx *cx, struct Program *p, const Function *setstate, Value obj,
                         Value state);
    void *eval;  /* the evaluator's own, for run_setstate */
    void *front; /* the front end's own */
} Program;

/* ---- code_text.c ---- */

/* As the source of a code record, which parsing gives back; or for show: every operator as
 * aten::elu(...). */
typedef enum { TEXT_SOURCE, TEXT_SHOW } TextStyle;
Str type_expr_text(Ctx *cx, const TypeExpr *t);
Str program_text(Ctx *cx, Program *p); /* for show */
Str expr_text(Ctx *cx, const Function *fn, const Expr *e);
void type_expr_print(Buf *b, const TypeExpr *t);
void expr_print(Buf *b, const Function *fn, const Expr *e,
                TextStyle style); /* fn NULL: a constant outside functions */
void string_print(Buf *b, Str s); /* quoted, with TorchScript's escapes */
Str val_text(Ctx *cx, Value v);   /* as str() and format() give it in TorchScript */
void float_print(Buf *b, const char *fmt,
                 double v); /* printf's %e %f %g with a point in any locale */
void function_print(Buf *b, const Function *f, int indent, TextStyle style);

/* ---- eval.c ---- */

struct InputSpec;
/* Run the program; build its graph. Restarts inside until nothing new is assumed (bounded). NULL
 * after an error. */
Graph *eval_program(Ctx *cx, Program *p);

/* The builtins, which work on values that are no tensors, for a list of what is known (builtin.c):
 * the i-th row, false behind the last. `kinds` is what eval/builtin/builtin.h calls so; `family`
 * its file. */
typedef struct BuiltinInfo {
    const char *name, *kinds, *family;
} BuiltinInfo;
bool builtin_nth(size_t i, BuiltinInfo *out);
/* A word of Python as the operator that it is: aten::Int of int; NULL for any other. */
const char *builtin_of_word(const char *word);

#endif
