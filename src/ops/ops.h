/* ops.h - PyTorch operators: rows, bound arguments, lowerings.
 *
 * A row is one or more schema lines as PyTorch prints them, the tensor kinds it handles, how its
 * arguments promote, and how to lower it. bind.c matches positional, keyword and default arguments
 * to a schema, chooses the overload and promotes; so a lowering sees finished arguments by name, of
 * equal type, and never casts by itself. In-place (`add_`) and `out=` forms follow from the plain
 * row. A lowering is a rule in <family>.rules where it is a formula, a C function where it needs
 * thought. Building is an expression and errors flow: ox(..) given POISON returns POISON. Write one
 * node-making call per argument list: C does not fix the order of evaluation. */
#ifndef PT2ONNX_OPS_H
#define PT2ONNX_OPS_H

#include "ops/operator.h"
#include "value/tensor.h"
#include "onnx/rules/rules.h"

typedef struct Op Op;
typedef struct OpRow OpRow;
typedef struct OpCall OpCall;

typedef Ox (*LowerFn)(Op *op);   /* one tensor */
typedef Value (*CallFn)(Op *op); /* anything else: several tensors, lists, numbers, None */
/* Of a view row: the base's new value once the view reads `part`. op's arguments are those of the
 * call that made the view. */
typedef Ox (*WriteFn)(Op *op, Ox base, Ox part);
/* Of a view row: how its strides follow from its base's (ViewKind in value/tensor.h). */
typedef bool (*StridesFn)(Ctx *cx, const OpCall *call, Type old, const Dim *from, Type to,
                          Dim *out);
/* Of a view row: one call that does what two of that row do, one after the other, to a base of this
 * rank; or NULL. */
typedef const OpCall *(*JoinFn)(Ctx *cx, const OpCall *first, const OpCall *second, int rank);
/* Of a view row: does the result, which reads `read`, share base's memory here, as PyTorch's
 * would? */
typedef Tri (*SharesFn)(Op *op, Tensor *base, Ox read);

/* How a new tensor that an operator gives lies in memory: of a view, that of the copy. */
typedef enum {
    LAYOUT_AS_ARGUMENTS, /* contiguous where every tensor given is contiguous, or a part of such a
                            one: what runs over elements or is computed from values alone */
    LAYOUT_AS_FIRST,     /* the same of the first argument alone: the others give a type */
    LAYOUT_KEEPS,      /* the same of the first argument, and its strides where they leave no gap */
    LAYOUT_AS_CLONE,   /* contiguous only where every tensor given is: a part keeps its gaps */
    LAYOUT_CONTIGUOUS, /* always */
    LAYOUT_OWN_ORDER   /* as nothing tells: by columns as LAPACK has matrices, channels last, .. */
} RowLayout;
/* Of a row whose layout depends on its arguments or on the result's type. A parameter called
 * memory_format needs none: it decides by itself. */
typedef RowLayout (*LayoutFn)(Op *op, Type result);

typedef enum {
    ROW_LOWER,
    ROW_ITSELF,
    ROW_CALL,
    ROW_EACH,
    ROW_VIEW,
    ROW_OLDER,
    ROW_REFUSE,
    ROW_END
} RowKind;

struct OpRow {
    RowKind kind;
    const char *schema;  /* "aten::stack(Tensor[] tensors, int dim=0) -> Tensor" */
    const char *promote; /* "default(self, other)", NULL none */
    unsigned kinds;      /* Kinds; 0 means PLAIN */
    LowerFn lower;
    CallFn call;
    WriteFn write;      /* of a view, as what follows. NULL: it cannot be written through */
    StridesFn strides;  /* NULL: not known */
    SharesFn shares;    /* NULL: always */
    bool gives_itself;  /* where it reads its argument's own value it is that, not a view of it */
    bool repeats;       /* an element of its base may stand for several of its own */
    bool conjugates;    /* turns PyTorch's conj bit over, of a complex base */
    bool negates;       /* turns its neg bit over */
    JoinFn join;        /* NULL: never */
    RowLayout layout;   /* of what is no view */
    LayoutFn layout_of; /* NULL: `layout` */
    const char *derivative; /* the clauses of rules: "self = EXPR"; NULL: as its nodes have it */
    bool fills;             /* in place PyTorch lets it write an element twice: both writes agree */
    int64_t datum;          /* members of a family differ by this */
    const char *text;       /* ONNX operator of a family, or why it is refused */
};

/* promote columns: default(a, b, ..)  the common type of these; int-to-float(a, ..)  the same, ints
 * and bools become float32; always-bool(a, ..)  common type in, bool out; bool-to-long(a)  bool
 * becomes int64 (sum, prod); complex-to-float(a). "wide" before one: where float16 cannot hold the
 * second operand, a number, the operator computes in float32 and its result is rounded. A name may
 * be a Tensor, Scalar, Scalar? or Tensor[]: afterwards arg() gives each as a tensor of the common
 * type.
 *
 * A row is a form to fill in: the columns in brackets, then the schema line, then by name what else
 * is known of the operator:
 *
 *     LOWER(lower_inverse, NULL, PLAIN, "aten::inverse(Tensor self) -> Tensor",
 *           .layout = LAYOUT_OWN_ORDER);
 *
 *     .layout, .layout_of   how its results lie in memory, unless as its arguments
 *     .repeats, .join       of a view, as the comments of OpRow say; .conjugates, .negates too
 *     .derivative           its gradient, where its nodes do not have PyTorch's (docs/rules.md)
 *     .fills                it may write in place to what `expand` made
 *
 * The rows of a family are code that gives the one of number `left`, not data: addresses in data
 * are written before main, those of all 1,500 rows, of which a program calls a few. */
#define OP_ROWS(family) void ops_##family(OpRow *row, size_t left)
/* A clause of .derivative. */
#define NO_DERIVATIVE(arg) arg " = \"its derivative is not known\" "
#define OP_ROW(...)                        \
    do {                                   \
        if (left-- == 0) {                 \
            *row = (OpRow){ __VA_ARGS__ }; \
            return;                        \
        }                                  \
    } while (0)
#define LOWER(fn, promo, k, ...)                                               \
    OP_ROW(.kind = ROW_LOWER, .promote = (promo), .kinds = (k), .lower = (fn), \
           .schema = __VA_ARGS__)
#define FAMILY(fn, d, promo, k, ...)                                                         \
    OP_ROW(.kind = ROW_LOWER, .promote = (promo), .kinds = (k), .lower = (fn), .datum = (d), \
           .schema = __VA_ARGS__)
#define UNARY(fn, onnx, promo, k, ...)                                                         \
    OP_ROW(.kind = ROW_LOWER, .promote = (promo), .kinds = (k), .lower = (fn), .text = (onnx), \
           .schema = __VA_ARGS__)
/* A lowering that may give back its argument's own value: then the result is that argument, and
 * writing to one writes to both. */
#define ITSELF(fn, d, k, ...) \
    OP_ROW(.kind = ROW_ITSELF, .kinds = (k), .lower = (fn), .datum = (d), .schema = __VA_ARGS__)
#define CALL(fn, promo, k, ...) \
    OP_ROW(.kind = ROW_CALL, .promote = (promo), .kinds = (k), .call = (fn), .schema = __VA_ARGS__)
#define CALL_FAMILY(fn, d, promo, k, ...)                                                  \
    OP_ROW(.kind = ROW_CALL, .promote = (promo), .kinds = (k), .call = (fn), .datum = (d), \
           .schema = __VA_ARGS__)
/* A view: what it reads, what its base becomes when it is written, and how its strides follow. */
#define VIEW(fn, wr, st, k, ...)                                                          \
    OP_ROW(.kind = ROW_VIEW, .kinds = (k), .lower = (fn), .write = (wr), .strides = (st), \
           .schema = __VA_ARGS__)
#define VIEW_FAMILY(fn, d, wr, st, k, ...)                                             \
    OP_ROW(.kind = ROW_VIEW, .kinds = (k), .lower = (fn), .datum = (d), .write = (wr), \
           .strides = (st), .schema = __VA_ARGS__)
/* A view of its argument where that is possible, else a copy: reshape. */
#define VIEW_OR_COPY(fn, wr, st, sh, k, ...)                                              \
    OP_ROW(.kind = ROW_VIEW, .kinds = (k), .lower = (fn), .write = (wr), .strides = (st), \
           .shares = (sh), .schema = __VA_ARGS__)
/* Its argument itself where nothing is to do, else a copy: contiguous, to. */
#define ITSELF_OR_COPY(fn, sh, k, ...)                                                          \
    OP_ROW(.kind = ROW_VIEW, .kinds = (k), .lower = (fn), .shares = (sh), .gives_itself = true, \
           .schema = __VA_ARGS__)
/* One more schema of the row above. */
#define OLDER(line)       OP_ROW(.kind = ROW_OLDER, .schema = (line))
#define REFUSE(why, line) OP_ROW(.kind = ROW_REFUSE, .schema = (line), .text = (why))

/* ---- schemas ---- */

typedef enum {
    A_TENSOR,
    A_SCALAR,
    A_INT,
    A_FLOAT,
    A_BOOL,
    A_STR,
    A_DTYPE,
    A_DEVICE,
    A_LAYOUT,
    A_MEMORY_FORMAT,
    A_GENERATOR,
    A_ANY,
    A_PACKED
} ArgBase;
typedef struct Param {
    Str name;
    ArgBase base;
    bool optional, list, elem_optional, kwonly,
        writes; /* Tensor? , int[] , Tensor?[] , after '*', (a!) */
    char alias; /* 'a' of Tensor(a), 0 none */
    int fixed;  /* int[2]: 2, else 0 */
    bool has_default;
    Value deflt;
} Param;
typedef struct Schema {
    Str text, name, overload; /* "aten::max", "dim" ("" default) */
    Param *param;
    int n_param;
    int n_ret;
    bool ret_list, ret_writes;
    char ret_alias;
    const Param *ret;
    bool varargs;
} Schema;
/* NULL and E_BUG/E_FORMAT on a line that is not a schema. */
const Schema *schema_parse(Ctx *cx, const char *line);

/* ---- a bound call ---- */

/* A bound call. One that made a view is kept, so that it can be read again on another base: its
 * `view` is what tensors see of it. */
struct OpCall {
    View view;
    const OpRow *row;
    const Rule *rule;
    const Schema *schema;
    Value *arg;
};

struct Op {
    Graph *g;
    Ctx *cx;
    const OpCall *call;
    const OpRow *row; /* NULL for a rule */
    /* What was called; row is its complex:: twin where an argument is complex. */
    const struct Candidate *called;
    struct Candidate *ran;       /* that; NULL of a user's function */
    Ox *promoted;                /* by parameter index; NULL where not promoted */
    struct OxVec *promoted_list; /* of Tensor[] parameters, by index */
    DType common;                /* after promotion; DT_NONE when the row has none */
    DType narrow;  /* what the result is rounded to where `common` is wider; DT_NONE: it is not */
    Ox base;       /* of a view that is read or written again: its first argument's present value */
    bool in_place; /* of an EACH row, which writes by itself: the call is of the form `add_` */
    Type expect[4]; /* the types that the file records for the results (pt2, traces) */
    int n_expect;
    uint32_t record_errs; /* set by a lowering: what the file records of these results (RESULT(i))
                             is torch's mistake */
};
#define RESULT(i) (1u << (i))

/* ---- arguments, by the schema's names; asking for a name that the schema lacks is E_BUG ---- */

typedef struct OxVec {
    Ox *at;
    size_t n, cap;
} Oxs;
/* A tensor (a number once promoted); POISON after an error. */
Ox arg(Op *op, const char *name);
/* arg(); an input whose element type is not declared is assumed to be t: an index, a mask. */
Ox arg_typed(Op *op, const char *name, DType t);
/* arg(), but NULL for None. */
Ox arg_opt(Op *op, const char *name);
/* Tensor[]. After an error: n = 0 and a failed context. Items are NULL for None. */
Oxs arg_list(Op *op, const char *name);
/* Is the argument anything but None? */
bool arg_given(Op *op, const char *name);
/* The argument as it was bound, before promotion. */
Value arg_value(Op *op, const char *name);
/* A concrete int; a symbolic one fails with E_UNDECIDED and gives 0. */
int64_t arg_int(Op *op, const char *name);
/* An int that may be symbolic. */
Dim arg_dim_expr(Op *op, const char *name);
double arg_float(Op *op, const char *name);
bool arg_bool(Op *op, const char *name);
/* NULL for None. */
Str arg_str(Op *op, const char *name);
/* Is the argument a concrete number equal to v? */
bool arg_is_number(Op *op, const char *name, double v);
typedef struct {
    int64_t *at;
    size_t n;
} Ints;
typedef struct {
    Dim *at;
    size_t n;
} Dims;
typedef struct {
    int at[MAX_RANK];
    int n;
    bool has[MAX_RANK];
} Axes;
/* int[]; int[2] given one number is expanded; n = 0 for None and []. */
Ints arg_ints(Op *op, const char *name);
/* int[] of exactly n numbers: one number is repeated; any other count is an error. [] stays []. */
Ints arg_ints_n(Op *op, const char *name, int n);
/* SymInt[], one number an axis: at most MAX_RANK of them, else an error and none. */
Dims arg_dims(Op *op, const char *name);
/* SymInt[] of any length: the sizes of parts, the lengths of sequences. */
Dims arg_dims_any(Op *op, const char *name);
/* The same, for the sizes of a tensor that is made: none that is known is below 0. */
Dims arg_new_sizes(Op *op, const char *name);
/* An element type; deflt for None. The numbers that TorchScript writes are read as c10's. */
DType arg_dtype(Op *op, const char *name, DType deflt);
/* A dim in [-rank, rank): wrapped. A scalar counts as rank 1. False after PyTorch's own message. */
MUST_USE bool arg_dim(Op *op, const char *name, int rank, int *axis);
/* dims of a reduction: None and [] give all axes. Repeated ones are an error. Sorted. */
MUST_USE bool arg_axes(Op *op, const char *name, int rank, Axes *out);
/* The rank of argument `name`: -1 not known, or no tensor. */
int arg_rank(Op *op, const char *name);
/* PyTorch's error where argument `name`, a dim, looks into a tensor of rank 0. */
Value no_dimensions(Op *op, const char *name);
/* The tensor itself: storage, number flag, strides; NULL for None. */
Tensor *arg_tensor(Op *op, const char *name);
/* The rank of x. When x's rank is unknown, `usual` is assumed for the input that x comes from and
 * the evaluation restarts (false); usual -1 fails instead. */
MUST_USE bool need_rank(Op *op, Ox x, int usual, int *rank);

/* ---- building ---- */

#define ox(op, name, ...)              ox_make((op)->g, (name), INPUTS(__VA_ARGS__), NULL, 0)
#define ox_with(op, name, inputs, ...) ox_make((op)->g, (name), (inputs), ATTRS(__VA_ARGS__))
#define ints(op, ...)                                  \
    ox_ints((op)->g, (const int64_t[]){ __VA_ARGS__ }, \
            sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))
static inline Dim dim_of(Op *op, int64_t v) { return dim_int(op->cx, v); }
/* A 0-d constant of like's type. */
Ox number_like(Op *op, double v, Ox like);
/* A Python number (a symbolic one too) or a tensor, as a value of type t. */
Ox number_as(Op *op, Value v, DType t);
/* number_as(); a number that t cannot hold is PyTorch's overflow error. */
Ox number_stored(Op *op, Value v, DType t);
/* The number that fills a tensor of these dims: number_stored(), except that PyTorch lets half
 * precision overflow in a tensor of one element. */
Ox number_filling(Op *op, Value v, DType t, const Dim *dims, size_t n);
/* x in the type in which PyTorch's kernels compute: float32 for float16 and bfloat16, whose squares
 * and sums soon leave their range. */
Ox widened(Op *op, Ox x);

/* fail() and the poison value. */
#define op_fail(op, code, ...) (fail((op)->cx, (code), __VA_ARGS__), POISON)
/* Refuse this call and go on: noted with the operator's name; returns POISON. For CALL rows wrap in
 * val_tensor. */
Ox op_refuse(Op *op, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Is the target at least this opset? If not, the call is refused: "WHAT needs ONNX opset N", with
 * the hint --opset N. */
MUST_USE bool need_opset(Op *op, int opset, const char *what);

/* Results of CALL rows */
Value result_tuple(Op *op, const Ox *at, size_t n);
Value result_list(Op *op, const Ox *at, size_t n);

/* Call another operator from a lowering, with finished values: `call_op(op, "aten::softmax", args,
 * n)`. The result's promotion is its own row's. */
Value call_op(Op *op, const char *name, const Value *args, size_t n);
/* The same of an operator that gives one tensor. */
Ox call_ox(Op *op, const char *name, const Value *args, size_t n);

/* PyTorch's result type of two; DT_NONE when there is none. Categories and priorities:
 * promote.c. */
DType promote_types(DType a, DType b);
/* The common type of operands as `default(..)` of a row has it: tensors with dims first, then 0-d
 * tensors, then numbers. False after PyTorch's message where there is none. */
MUST_USE bool result_type(Ctx *cx, const Value *at, size_t n, DType *out);
/* The common type of n values; a 0-d tensor counts as much as any other. */
DType type_of_all(const Ox *at, size_t n);
/* Cast n values to type_of_all(); false if one of them is poison. */
bool one_type(Op *op, Ox *at, size_t n);
/* The common type of values in a fragment of nodes: 0-d constants count as Python numbers. */
DType promote_values(OxList in);

/* ---- the table ---- */

/* name NULL: positional */
typedef struct OpArg {
    Str name;
    Value v;
} OpArg;
/* Call an operator. overload NULL: choose by the arguments; "": exactly the default one. expect:
 * recorded result types or NULL. Unknown operators are refused (noted), the result is poison. */
Value op_run(Graph *g, const Operator *op, Str overload, const OpArg *args, size_t n,
             const Type *expect, size_t n_expect);
/* The same of a name, which is looked up. */
Value op_call(Graph *g, Str name, Str overload, const OpArg *args, size_t n, const Type *expect,
              size_t n_expect);
/* Refuse (note) a call of an operator that is unknown, with a hint what a rule must say: the file
 * says that the operator writes to its arguments (writes), or else that it returns nothing. */
Value op_unknown_writer(Graph *g, Str name, bool writes);
/* Call an unknown operator: it becomes a node of the domain that its name begins with (custom.c).
 * expect: n_out types that the file records, or NULL. */
Value op_call_custom(Graph *g, Str name, Str overload, const OpArg *args, size_t n,
                     const Type *expect, size_t n_out, bool as_tuple);
/* Has the name any row or rule: plain, in-place or REFUSE? */
bool op_exists(Ctx *cx, const Operator *op);
/* Does the operator return results and write to none of its arguments, as far as is known? True for
 * an unknown operator, and for one that a user's rule defines without writing. */
bool op_only_gives(Ctx *cx, const Operator *op);
/* Is it known what the operator writes to this argument? Of built-in rows: always. Of a user's
 * rule: when it marks the argument as written. Of a user's function for an in-place form: only for
 * the `first` of the arguments that the file marks as written. Of an unknown operator: never. */
bool op_writes_to(Ctx *cx, const Operator *op, Str arg, bool first);
/* Does a user's function define the operator? Its results are all that such a function returns: it
 * cannot write to its arguments. */
bool op_is_callback(Ctx *cx, const Operator *op);
/* Why the operator is refused, when every row of that name is a REFUSE; else NULL. */
const char *op_refused(Ctx *cx, const Operator *op);
/* Add the rules of a user's --rules file; they override built-in rows. */
MUST_USE bool ops_add_rules(Ctx *cx, const Text *text);
/* Set the operator set version of the archive (formats: 1 to 10): calls of operators whose meaning
 * has changed since that version go to the upgrade:: rows. Without this call the newest version is
 * assumed. */
void ops_set_version(Ctx *cx, int version);
/* Set torch.get_default_dtype() of the program: the type of a new tensor and of a Python float.
 * Without this call it is float32. */
void ops_set_default(Ctx *cx, DType t);
DType dtype_default(Ctx *cx);
/* Is the recorded type of v, or of a value that v was computed from, wrong: not what torch itself
 * returns when the program runs? */
bool record_erred(Ctx *cx, Ox v);
/* Fails: of result i of `name` the file records something else than we computed, as texts. NULL:
 * the name is said already. */
bool record_fail(Ctx *cx, Str name, int i, Str recorded, Str computed);
/* A user's function for an operator (the Python package's symbolics). Returns false after storing
 * an error. */
typedef bool (*OpCallback)(void *user, Op *op, Value *result);
void ops_add_callback(Ctx *cx, Str name, OpCallback fn, void *user);

/* Every family, by name; table.c lists them. */
typedef struct OpFamily {
    const char *folder, *name;
    void (*rows)(OpRow *row, size_t left);
    const char *rules; /* embedded text or NULL */
    bool elementwise;  /* computed element by element, by PyTorch's TensorIterator */
} OpFamily;
extern const OpFamily op_families[]; /* ends with name NULL */
/* Row `number` of a family. False, and *out is of ROW_END: the family has not so many. */
bool op_row(const OpFamily *family, size_t number, OpRow *out);

#endif
