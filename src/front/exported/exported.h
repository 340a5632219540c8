/* exported.h - what the files of the .pt2 reader share. docs/formats/pt2.md says which file does
 * what. */
#ifndef PT2ONNX_EXPORTED_H
#define PT2ONNX_EXPORTED_H

#include "front/internal.h"

/* TensorMeta: what the file records about a tensor. */
typedef struct ExTensor {
    Recorded type;
    int64_t code; /* the schema's dtype number, for messages */
    int64_t layout;
    bool is_static; /* sizes, strides and offset are numbers: */
    int64_t size[MAX_RANK], stride[MAX_RANK], offset;
} ExTensor;

/* An Argument, read: what stands there as an expression and, when it is a value of the graph, its
 * name. */
typedef struct ExArg {
    Str tag, name;
    Expr *value;
} ExArg;

/* A parameter, buffer or constant: the root object's attribute. same: the first that sees exactly
 * these elements. */
typedef struct ExState {
    Str name;
    const Const *k;
    bool parameter, persistent, shared_bytes;
    uint32_t same;
    uint32_t older; /* one more than the one before of the same storage; 0: it is the first */
} ExState;

/* to = from.name: a tensor that from, of a class of its own, wraps. value is filled in when it is
 * known which weight from is. */
typedef struct ExPart {
    const struct ExFunction *fn;
    uint32_t from, to;
    Str name;
    Expr *value;
    size_t next; /* of the same `from`, as a number of parts from 1 on; 0: it is the last one */
} ExPart;

/* A function under construction. */
typedef struct ExFunction {
    VEC(Str) slots;
    VEC(Stmt *) before, body;
} ExFunction;

/* What the results of a node are assigned to. */
typedef struct ExTargets {
    VEC(uint32_t) slot;
    VEC(Recorded) type;
} ExTargets;

/* Bytes that several records share. */
typedef struct ExShared {
    const void *p;
    size_t n;
} ExShared;

typedef struct Exported {
    Ctx *cx;
    Program *p;
    Zip *zip;
    FileKind generation;
    Str model; /* "model" of models/model.json */
    Map dims;  /* SymPy text -> RecordedDim */
    VEC(SymbolDecl)
    symbols; /* range_constraints; those of numbers that may be negative are no sizes */
    VEC(Str) guards;
    Map traces;          /* stack_trace -> Text */
    size_t n_assertions; /* dropped */
    /* of the graph, which is read first; the signature comes after it in the file and says what
     * these are */
    VEC(ExArg) inputs, outputs;
    Map input_types;       /* name -> Recorded */
    VEC(ExPart) parts;     /* of weights that wrap others */
    Map parts_of;          /* slot of fn + 1 -> number of the first part of what lies there */
    ExFunction *fn;        /* of the whole program */
    VEC(ExState) state;    /* attributes of the root object, in order */
    Map state_by_name;     /* name -> index + 1 */
    struct Stores *stores; /* exported_state.c */
    ClassDef *cls;         /* of the root object */
    ExShared shared[256];  /* by hash, those met last: most values have the type of one before */
    ExTargets spare;       /* room for the results of the next node */
    VEC(Arg) spare_args;   /* .. and for its arguments */
    Expr *self;            /* slot 0 */
    VEC(Expr *) locals;    /* by slot; NULL: not used yet */
    VEC(uint32_t) loaded;  /* the slots of weights .. */
    VEC(Expr *) loads;     /* .. and the attributes that they are */
} Exported;

/* An autocast region. One inside another changes it only where both are of the same device. */
typedef struct ExAutocast {
    Str device;
    DType type; /* DT_NONE: the region turns the device's autocast off */
    const struct ExAutocast *around;
} ExAutocast;

/* The names of one graph. */
typedef struct ExScope {
    Exported *x;
    ExFunction *fn;
    Map slots;                  /* name -> slot + 1 */
    Map types;                  /* name -> Recorded */
    bool whole;                 /* the graph of the program, whose text is read once */
    bool repeated;              /* a graph that may run more than once, or not at all */
    const ExAutocast *autocast; /* the region that it stands in; NULL outside */
    struct ExVmap *vmap;        /* around the next node; NULL outside */
} ExScope;

/* ---- exported_graph.c: graphs as functions ---- */

/* The parameters and results of a graph, as it is read. */
typedef struct ExGraph {
    VEC(ExArg) inputs, outputs;
    bool single;
} ExGraph;
typedef VEC(Expr *) ExOperands;

bool ex_bad(Exported *x, const Json *j, const char *what); /* fails at j's place; returns false */
Expr *ex_expr(Exported *x, ExprKind kind);
Expr *ex_local(Exported *x, uint32_t slot);
Expr *ex_int(Exported *x, int64_t i);
Expr *ex_op(Exported *x, const char *name, Expr *a, Expr *b,
            Expr *c); /* of as many arguments as are not NULL */
Expr *ex_tuple(Exported *x, const ExArg *args, size_t n);
Stmt *ex_stmt(Exported *x, StmtKind kind, Expr *value);
uint32_t ex_slot(Exported *x, ExFunction *fn, Str name); /* a new one */
MUST_USE bool ex_define(ExScope *s, const Json *j, Str name, uint32_t *slot);
MUST_USE bool ex_use(ExScope *s, const Json *j, Str name, Expr **out);
/* operands: what a region's inputs are; NULL: the caller binds them. */
MUST_USE bool ex_read_graph(ExScope *s, Json *j, ExGraph *out, const ExOperands *operands);
Function *ex_function(Exported *x, ExFunction *fn, Str name);
/* Reads the whole program's graph into x->fn, x->inputs, x->outputs. Slot 0 is self. */
MUST_USE bool ex_graph(Exported *x, Json *j);
/* Puts a statement at the front (the loading of weights) or the end. */
void ex_prologue(Exported *x, Stmt *s);
void ex_epilogue(Exported *x, Stmt *s);
Function *ex_finish(Exported *x, const ParamDecl *param, uint32_t n_param);

/* ---- exported_type.c: what is recorded about values ---- */

/* A union: its one tag that is not null; *value stands before what it holds. */
MUST_USE bool ex_union(Exported *x, Json *j, Str *tag, Json *value);
/* The same, to read it where it stands: j is before what the tag holds, then behind the union. */
MUST_USE bool ex_open_union(Exported *x, Json *j, Str *tag);
MUST_USE bool ex_close_union(Exported *x, Json *j);
MUST_USE bool ex_name(Json *j, Str *out); /* {"name": n, ..} */
/* The n bytes at p, to be kept: the same for equal ones that are met one soon after the other. NULL
 * without memory. */
const void *ex_shared(Exported *x, const void *p, size_t n);
MUST_USE bool ex_tensor_meta(Exported *x, Json *j, ExTensor *out);
MUST_USE bool ex_tensor_values(ExScope *s, Json *j);
/* sym_int_values, sym_float_values, sym_bool_values: `what` is "int", "float", "bool". */
MUST_USE bool ex_sym_values(ExScope *s, Json *j, const char *what);
const Recorded *ex_type_of(const ExScope *s, Str name); /* of an unknown name: nothing recorded */

/* ---- exported_arg.c: arguments as expressions ---- */

MUST_USE bool ex_arg(ExScope *s, Json *j, ExArg *out);
MUST_USE bool ex_value(ExScope *s, Str tag, Json *value, Expr **out);
/* {"name": n, "graph": Graph}: *graph stands before the graph. */
MUST_USE bool ex_find_graph(ExScope *s, Json *j, Str *name, Json *graph);
bool ex_custom_object(ExScope *s); /* fails; returns false */

/* ---- exported_node.c: nodes as statements ---- */

/* A list among several results: one slot holds the whole list, and a statement behind the node
 * unpacks it. */
typedef struct ExLater {
    uint32_t slot;
    Json names;
} ExLater;
typedef struct ExResults {
    ExTargets targets;
    VEC(ExLater) lists;
    bool unpack;
} ExResults;

typedef struct ExNode {
    Str target, trace;
    Slice modules; /* nn_module_stack, in the JSON */
    VEC(Arg) args;
    Json inputs, outputs;
    bool has_inputs, has_outputs, single;
    const struct ExRegion *region;
    const struct ExScan *scan;
    Json graph; /* of a region or scan: found, not read */
    bool has_graph;
} ExNode;

MUST_USE bool ex_node(ExScope *s, Json *j);
void ex_split_target(Ctx *cx, Str target,
                     Expr *op); /* torch.ops.aten.add.Tensor: operator and overload */
/* The name in a result that is one value; NULL for as_none and for a plain number. */
MUST_USE bool ex_result_name(ExScope *s, Str tag, Json *value, Str *name);
MUST_USE bool ex_results(ExScope *s, Json *j, ExResults *r);
Stmt *ex_assign(ExScope *s, Expr *value, const ExTargets *t,
                bool unpack); /* added to the function */
void ex_place(Exported *x, Stmt *st, const ExNode *n);

/* ---- exported_region.c: graphs that become part of the function around them ---- */

typedef struct ExRegion ExRegion;
const ExRegion *ex_region(Str target); /* NULL: an operator like any other */
MUST_USE bool ex_write_region(ExScope *s, ExNode *n);
/* Assigns these values to the node's results. */
MUST_USE bool ex_give(ExScope *s, const ExOperands *values, const ExTargets *t, const ExNode *n);

/* ---- exported_effect.c: operators inside nodes that say how they act ---- */

bool ex_wraps(Str target);
MUST_USE bool ex_write_wrapped(ExScope *s, ExNode *n);

/* ---- exported_autocast.c ---- */

void ex_autocast(ExScope *s, Expr *op,
                 const ExTargets *results); /* casts the operands of a call in such a region */
/* Has autocast cast the operands of this call, though no region around it says so? */
bool ex_lacks_casts(const ExScope *s, const Expr *op, const ExTargets *results);
MUST_USE bool ex_autocast_of(Exported *x, const ExNode *n, ExAutocast *out); /* not `around` */

/* ---- exported_scan.c: scans as loops ---- */

typedef struct ExScan ExScan;
const ExScan *ex_scan(Str target); /* NULL: no scan */
MUST_USE bool ex_write_scan(ExScope *s, ExNode *n);

/* ---- exported_vmap.c: torch.vmap as a loop ---- */

typedef struct ExVmap ExVmap;
bool ex_is_vmap(Str target);
MUST_USE bool ex_write_vmap(ExScope *s, ExNode *n);

/* ---- exported_unused.c: numbers that only assertions looked at ---- */

void ex_drop_unused(Exported *x, Block *b, size_t n_slot);

/* ---- exported_trace.c ---- */

const Text *ex_trace_text(
    Exported *x, Str trace); /* its locate gives the user's line; equal traces are one text */

/* ---- exported_state.c ---- */

/* Where tensors lie: payload configs or nested archives. `name` of the state dict or of the
 * constants. NULL: after an error. */
typedef enum { EX_WEIGHTS, EX_CONSTANTS } ExStore;
MUST_USE bool ex_open_stores(Exported *x);
void ex_close_stores(Exported *x); /* all weights have been asked for */
/* The index of the attribute for this entry, made on first use; false after an error. */
MUST_USE bool ex_state(Exported *x, ExStore store, Str name, bool parameter, bool persistent,
                       size_t *index);
MUST_USE bool ex_take_apart(Exported *x, ExStore store, Str name, bool *apart);
MUST_USE bool ex_build_root(Ctx *cx, Program *p, Value *out);

/* ---- exported_spec.c: how inputs and outputs nest ---- */

typedef VEC(Str) ExPaths;
typedef VEC(Str) ExNames;
/* Paths of the leaves of an in_spec (a tuple of args and kwargs) or out_spec; false when it is not
 * understood (no error). tuples: ExNames of the fields of NamedTuples, by their names. */
bool ex_input_paths(Ctx *cx, Str in_spec, const Str *arg_names, size_t n_names, const Map *tuples,
                    ExPaths *out);
bool ex_output_paths(Ctx *cx, Str out_spec, const Map *tuples, ExPaths *out);

#endif
