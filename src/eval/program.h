/* program.h - a saved program, in the one form that the evaluator runs: its expressions,
 * statements, functions and classes, how it is run, and how it is printed.
 *
 * TorchScript text, .pt2 JSON and the trace graph that Python hands over all become this: functions
 * of nested blocks of statements over expressions. All of it outlives restarts: parsed once,
 * evaluated as often as restarts want. A reader of src/front fills a Program and hands it to
 * eval_program. */
#ifndef PT2ONNX_PROGRAM_H
#define PT2ONNX_PROGRAM_H

#include "value/heap.h"
#include "value/options.h"
#include "ops/operator.h"

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
    X_NAME,        /* name, which is no local's: a builtin, or a path such as "__torch__.a.f" */
    X_CONSTANT,    /* CONSTANTS.cN: i is N */
    X_ATTR,        /* a.name */
    X_INDEX,       /* a[b] */
    X_TUPLE_SLICE, /* a[lo:hi], two constants */

    /* callee(args); the callee is the X_NAME of a builtin or function, or the X_ATTR of a method.
     * The forms with a type - annotate(T, e), unchecked_cast(T, e), isinstance(e, T),
     * uninitialized(T) - have it in `type`, and e alone in args; isinstance(e, (A, B)) has type
     * Union[A, B]. */
    X_CALL,
    /* op(args): torch.add, ops.quantized.linear, the target of a .pt2 node. */
    X_OP,
    X_TUPLE,
    X_LIST,
    X_DICT,
    X_NEG, /* -a */
    /* name is "and" or "or", in text edited by hand only: b is evaluated when a does not decide.
     * Any other binary operator is an X_OP of its aten function. */
    X_BINARY,
    X_VALUE, /* value: a literal of a .pt2 (dtype, device, tensor constant) */
    X_GRAPH, /* fn: an operand of a higher-order operator, the body of a fork */
} ExprKind;

typedef struct Arg {
    Str name; /* NULL: positional */
    Expr *value;
} Arg;

/* Which fields are set follows from the kind; no other field may be read. An expression has memory
 * for the fields of the kind that it was made with, so it is not copied whole. */
struct Expr {
    ExprKind kind;
    uint32_t start, end; /* in the text of the function it stands in */
    union {
        uint32_t n_args; /* CALL, OP */
        uint32_t n;      /* TUPLE, LIST, DICT */
    };
    union {
        int64_t i;
        double f;
        double c[2];
        Str s;
        uint32_t slot;
        Value value;
        struct Function *fn;
        struct { /* NEG; ATTR (a, name), BINARY; NAME (name), INDEX (a, b); TUPLE_SLICE (a, lo, hi)
                  */
            Expr *a;
            union {
                struct {
                    Str name;
                    Expr *b;
                };
                struct {
                    int64_t lo, hi;
                };
            };
        };
        struct { /* CALL, OP */
            union {
                Expr *callee; /* CALL */
                Operator *op; /* OP */
            };
            Str overload; /* NULL: the arguments decide */
            Arg *args;
            union {
                const TypeExpr *type; /* CALL */
                /* OP: the arguments that it writes to, then NULL, where a file says so */
                const Str *writes;
            };
        };
        Expr **items; /* TUPLE, LIST, DICT (key, value, key, value..) */
    };
};

/* A declared type: List[int] is "List" with the args "int"; a class is its dotted path. */
struct TypeExpr {
    Str name;
    const TypeExpr *const *args;
    uint32_t n;
};

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

/* What a .pt2 or a trace says of a statement beside the code. */
typedef struct StmtMeta {
    /* Of the results, one a target, or NULL: compared with ours. */
    const struct Recorded *recorded;
    uint32_t n_recorded;
    const Text *text;        /* when it differs from the function's (a .pt2 node's stack_trace) */
    Str module, module_type; /* .pt2: nn_module_stack's innermost path and class; NULL elsewhere */
    Str module_stack;        /* .. and, where it is shown, all: "key,path,class;key,path,class" */
    Str names;               /* what names of nodes begin with, when it is not the module's path */
    Str calls; /* the calls of modules around it that become functions (pt2onnx_node), or NULL */
} StmtMeta;

/* As with an expression: which fields of the union are set follows from the kind. A program has
 * more statements than it gives nodes, so a statement is small. */
struct Stmt {
    StmtKind kind : 8;
    bool unpack; /* ASSIGN, EXPR: take the value apart, though there is one target: a, = x */
    uint32_t start, end;
    uint32_t n_target;
    uint32_t *target;     /* slots: of ASSIGN; FOR's variable; WITH's `as` */
    Expr *value;          /* right side, condition, iteration count, with's expression */
    const StmtMeta *meta; /* never NULL */
    uint32_t n_values;    /* ASSIGN: not 0 of a, b = x, y */
    uint32_t parts; /* ASSIGN: a later statement takes the list apart into so many; 0: none does */
    union {
        /* ASSIGN, EXPR */
        const TypeExpr *type; /* declared; NULL: none is */
        Expr **values;        /* of n_values, instead of value */
        struct {              /* SET_ATTR: object.attr = value */
            Expr *object;
            Str attr;
        };
        struct { /* IF: then, else; FOR, WHILE, WITH: body */
            Block body, other;
        };
        struct Function *def; /* DEF */
    };
};

/* What a file recorded as the type of a result or an input. recorded_type makes a Type of it. */
typedef struct Recorded {
    DType dtype;
    int rank;
    const struct RecordedDim *dim;
    Str what; /* "float", "int": the type of a value that is no tensor */
} Recorded;
typedef struct RecordedDim {
    int64_t known;   /* the size, or -1 */
    Str expr;        /* of a dynamic size: "2*s77 + 1" .. */
    Str symbol;      /* .. or a symbol, which may have any name */
    int64_t example; /* what a dynamic size was when the program was traced; 0: not recorded */
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
    const Str *slot_name;   /* of locals; parameters first */
    struct Function *outer; /* of a fork's body: the function it stands in */
    /* n_capture pairs (slot of outer, slot here): locals of outer, copied when the body starts. */
    const uint32_t *capture;
    uint32_t n_capture;
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
    const Str *field_name; /* the names alone, for the objects of the class */
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

/* What the file says of an input of the whole program. */
typedef struct InputDecl {
    Str name;             /* of forward's parameter, or the path of a leaf: "batch.image" */
    const TypeExpr *type; /* NULL: Tensor */
    bool known;           /* dtype and rank are recorded */
    bool example; /* .. of an example: keywords in the caller's order, without their names */
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
    bool exported;  /* .. of torch.export: a size that is a number is that in every run */
    Value root;     /* the module object (V_OBJ), or V_NONE: then `entry` takes no self */
    Function *entry;
    InputDecl *input;
    uint32_t n_input;
    SymbolDecl *symbol;
    uint32_t n_symbol;
    Str *guard; /* of torch.export: what must hold of the sizes of inputs, in Python */
    uint32_t n_guard;
    bool has_guards;     /* false: the file, of torch before 2.9, does not say which there are */
    VEC(Weight) weights; /* where it is shown */
    StatePair *state;
    uint32_t n_state; /* of the last evaluation */
    Str *output_name;
    uint32_t n_output_name; /* names of outputs from out_spec; NULL: the output has none */
    /* Set by the reader: finds the class of this name, which is parsed when it is first needed.
     * NULL: there is none (no error), or the context has failed. */
    ClassDef *(*find_class)(Ctx *cx, struct Program *p, Str qualname);
    Function *(*find_function)(Ctx *cx, struct Program *p, Str qualname);
    bool (*constant)(Ctx *cx, struct Program *p, int64_t n, Value *out); /* CONSTANTS.cN */
    /* The root object, built anew in the run arena for each evaluation (cells must start from the
     * file's state). */
    bool (*build_root)(Ctx *cx, struct Program *p, Value *out);
    /* Set by build_root, or NULL: forgets what it was made of, once the evaluation has gone so many
     * steps (cx->steps) that to read the file again would be little beside beginning again, or once
     * that is not expected: what is asked for beside those values goes only then. */
    void (*settled)(Ctx *cx, struct Program *p, bool expected);
    uint64_t settled_at;
    /* Set by the evaluator before it calls build_root or constant: the graph whose constants the
     * tensors become (NULL: one is made), and how to run a method that the file needs for building
     * an object, obj.__setstate__(state). */
    Graph *graph;
    bool (*run_setstate)(Ctx *cx, struct Program *p, const Function *setstate, Value obj,
                         Value state);
    /* Called at the end of each call of a module, in every evaluation; NULL: nobody asks. class:
     * as Python names it, or NULL. */
    void (*on_module)(void *user, Str path, Str class, Value result);
    void *module_user;
    void *eval;  /* the evaluator's own, for run_setstate */
    void *front; /* the front end's own */
} Program;

/* ---- program.c ---- */

Expr *expr_new(Ctx *cx, ExprKind kind);  /* a kind that it gets later must not have more fields */
Stmt *stmt_new(Ctx *cx, StmtKind kind);  /* the same; with an empty meta */
Stmt *stmt_copy(Ctx *cx, const Stmt *s); /* of one that lies on the C stack: with an empty meta */
StmtMeta *stmt_meta(Ctx *cx, Stmt *s);   /* its own, to be filled in */
void class_set_fields(Ctx *cx, ClassDef *c, Field *field, size_t n); /* none without memory */
bool stmt_has_blocks(const Stmt *s); /* body and other, of which one may be empty */

/* ---- code_text.c ---- */

/* SOURCE: TorchScript, which gives the same tree when it is parsed. SHOW: every operator by the
 * name that people search for, aten::elu(...). */
typedef enum { TEXT_SOURCE, TEXT_SHOW } TextStyle;
Str type_expr_text(Ctx *cx, const TypeExpr *t); /* NULL: "Tensor" */
Str expr_text(Ctx *cx, const Function *fn, const Expr *e);
Str val_text(Ctx *cx, Value v); /* as str() and format() give it in TorchScript */
void type_expr_print(Buf *b, const TypeExpr *t);
/* fn: the function whose locals e names; NULL: e names none. */
void expr_print(Buf *b, const Function *fn, const Expr *e, TextStyle style);
void string_print(Buf *b, Str s); /* quoted, with TorchScript's escapes */
/* One of printf's %e %f %g, with a point whatever the locale. */
void float_print(Buf *b, const char *fmt, double v);
void function_print(Buf *b, const Function *f, int indent, TextStyle style);

/* ---- program_text.c ---- */

Str program_text(Ctx *cx, Program *p); /* the whole, for show */

/* ---- eval.c ---- */

/* Runs the program, which builds its graph; again, while an evaluation assumes something new
 * (--limit restarts). NULL after an error. Also makes the notes about what was assumed. */
Graph *eval_program(Ctx *cx, Program *p);

/* ---- made_up.c: an evaluation with cx->opt->made_up, after it has gone well ---- */

/* The i-th -i SPEC that was made up: "x:float32[N,3]", "scale=1.0"; NULL behind the last. */
Str made_up_spec(Ctx *cx, const MadeUp *m, size_t i);
/* Is each of them one that -i can give? */
bool made_up_wholly(const MadeUp *m);

/* ---- builtin.c: which builtins there are ---- */

/* The i-th row, false behind the last. kinds: see eval/builtin/builtin.h; family: its file. */
typedef struct BuiltinInfo {
    const char *name, *kinds, *family;
} BuiltinInfo;
bool builtin_nth(size_t i, BuiltinInfo *out);
/* A word of Python as the operator that it is: aten::Int of int; NULL for any other. */
const char *builtin_of_word(const char *word);

#endif
