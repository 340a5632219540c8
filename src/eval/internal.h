/* internal.h - what the files of src/eval share: the state of one evaluation, frames, control flow,
 * builtins.
 *
 * The way of an evaluation (eval.c): inputs.c makes the graph's inputs and the arguments of
 * forward; stmt.c and expr.c run the program, call.c its calls; branch.c and loop.c take over where
 * a condition or an iteration count is symbolic; facts.c says what an undecided question means (an
 * assumption, and E_RESTART); state.c looks at the end for writes to the saved model. */
#ifndef PT2ONNX_EVAL_INTERNAL_H
#define PT2ONNX_EVAL_INTERNAL_H

#include "base/limits.h"
#include "eval/program.h"
#include "value/facts.h"
#include "value/heap.h"
#include "value/options.h"
#include "value/specialized.h"
#include "ops/ops.h"

/* What a function gives that is one of several to be asked in turn. DONE: *out is the answer;
 * NOT_MINE: the next one is asked; FAILED: after fail(), or with ev->raised. */
typedef enum { DONE, NOT_MINE, FAILED } Outcome;
/* The outcome where the context may have failed on the way. */
static inline Outcome outcome_done(const Ctx *cx) { return ctx_failed(cx) ? FAILED : DONE; }
static inline Outcome outcome_not_mine(const Ctx *cx) { return ctx_failed(cx) ? FAILED : NOT_MINE; }
static inline Outcome outcome_of(bool ok) { return ok ? DONE : FAILED; }

/* How a statement or block ended. */
typedef enum {
    FLOW_NEXT,   /* on to the next statement */
    FLOW_RETURN, /* the frame's result is set */
    FLOW_RAISE, /* the model's own code raised: unwinds to the innermost branch that ONNX decides */
    FLOW_FAIL,  /* after an error */
} Flow;

typedef struct Frame {
    struct Frame *up; /* the caller */
    const Function *fn;
    Obj *locals;  /* one slot per local; V_UNINIT until it is assigned (.any: an Unset, or NULL) */
    Value result; /* of FLOW_RETURN */
} Frame;

/* Expressions, statements and calls inside one another: bounds the C stack, whatever the file says.
 * Real models stay under 600. */
enum { NESTING_MAX = 5000 };

/* The condition of a branch that is being run, and what it is there. */
typedef struct KnownCondition {
    Value condition;
    bool truth;
    const struct KnownCondition *up;
} KnownCondition;

typedef struct Eval {
    Ctx *cx;
    Program *p;
    Graph *g; /* the scope that nodes go to now: the root, or a branch's */
    Frame *frame;
    int64_t calls; /* depth of calls, against LIMIT_CALLS */
    int nesting;
    const KnownCondition *known;
    int staged; /* how many branches and bodies that ONNX decides are being run */
    Str raised; /* the message of a FLOW_RAISE */
    SourceId raised_at;
    struct State *state;           /* state.c */
    Map names;                     /* dotted path -> Value*: what it names */
    Map constants;                 /* number + 1 -> Value*: CONSTANTS.cN */
    Map python_names, short_names; /* qualified name -> the name that messages and positions use */
    Map liveness;                  /* Function* -> liveness.c's table of where locals are used */
    struct Findings
        *findings; /* of the loop whose body is being run; NULL: none is (loop_nested.c) */
} Eval;

/* ---- builtin.c, method.c (functions and methods on values that are not tensors) ---- */

/* `name` is an operator ("aten::len", "prim::abs") or a bare word ("int", "range", "print").
 * NOT_MINE: no such builtin, or not for these arguments (aten::add of tensors): op_call takes it.
 */
Outcome builtin_call(Eval *ev, Str name, const OpArg *args, size_t n, Value *out);
/* Is there any builtin of this name? */
bool builtin_named(Str name);
/* Does it give the items of a list on as they are, as `l + l` and l[1:] do, and look into none? */
bool builtin_passes_items(Str name);
/* self.name(args) where self is a tensor (tolist, ..), list, dict or string. */
Outcome method_call(Eval *ev, Value self, Str name, const OpArg *args, size_t n, Value *out);

/* ---- expr.c ---- */

/* Every function that runs the program returns false after an error, and when the model raised
 * (ev->raised). */
MUST_USE bool eval_expr(Eval *ev, const Expr *e, Value *out);
/* The same for who takes text that grows as it is: *out may be V_JOINED, unless a branch is open.
 */
MUST_USE bool eval_growing(Eval *ev, const Expr *e, Value *out);
/* May v be read? False, after an error with the reason, for a value that was never set, is
 * invalid, or is None in some runs. */
MUST_USE bool must_be_set(Eval *ev, Value v);
/* May v and all lists, dicts and objects in it be read? For who reads more of v than its own items:
 * torch.tensor([a, b]) reads the lists a and b, which may be invalid. */
MUST_USE bool containers_must_be_set(Eval *ev, Value v);
/* May the items of l be read, and what those that are lists, tuples and dicts hold? */
MUST_USE bool items_must_be_set(Eval *ev, const List *l);
/* A text that has the name of a value in the place of the value, which only the running model
 * knows. It may be printed, raised, and put into other texts. */
Value val_staged_text(Ctx *cx, Str text);
/* Attribute `name` of v: slots, class constants, fields of named tuples, name and value of enum
 * members. */
MUST_USE bool get_attr(Eval *ev, Value v, Str name, Value *out);
/* The slot of an object's attribute; -1: none. */
int64_t slot_of(const Obj *o, Str name);
/* One more step against LIMIT_STEPS; false after an error. */
MUST_USE bool step(Eval *ev);

/* ---- stmt.c ---- */

Flow run_block(Eval *ev, const Block *b);
/* The flow behind an expression that has failed: an error, or the model's own raise. */
static inline Flow flow_of_failure(const Eval *ev) { return ev->raised ? FLOW_RAISE : FLOW_FAIL; }
void assign_slot(Eval *ev, uint32_t slot, Value v);
/* v as a condition, as Python's `if` takes it: the item of a tensor, `n != 0` for a number. */
MUST_USE bool condition_of(Eval *ev, Value v, Value *out);

/* ---- call.c ---- */

/* Do calls of this name steer the run: a raise, a wait, a higher-order operator? */
bool is_control_call(Str name);

MUST_USE bool eval_call(Eval *ev, const Expr *e, Value *out);
/* *out may be V_JOINED. */
MUST_USE bool eval_op(Eval *ev, const Expr *e, const Stmt *recorded, Value *out);
/* Call a function with finished arguments: they are converted on entry; hooks are the caller's. */
MUST_USE bool call_function(Eval *ev, const Function *fn, const OpArg *args, size_t n, Value *out);
SourceId place_of_end(Eval *ev, const Function *fn); /* of its last statement */
MUST_USE bool call_method(Eval *ev, Obj *o, Str name, const OpArg *args, size_t n, Value *out);
/* A function given as a value (fork's body, operands of higher-order operators). */
MUST_USE bool call_value(Eval *ev, Value f, const OpArg *args, size_t n, Value *out);
/* What a dotted path names: a function, a class, an enum's member, else a namespace. */
MUST_USE bool resolve_name(Eval *ev, Str path, Value *out);
/* The model's own `raise`; false. An error, unless a branch that ONNX decides can take it. */
bool eval_raise(Eval *ev, Str message);
bool is_autocast(const ClassDef *c);

/* ---- coerce.c ---- */

/* v as a parameter of declared type t takes it. False after an error that names `what`. */
MUST_USE bool convert_to(Eval *ev, Value v, const TypeExpr *t, const char *what, Value *out);
/* isinstance(v, t) */
bool val_is_a(Eval *ev, Value v, const TypeExpr *t);

/* ---- inputs.c, outputs.c ---- */

/* What the user asked for; the defaults when cx->opt is NULL, as in unit tests. */
const Options *options_of(const Eval *ev);
static inline Str path_of(Ctx *cx, Str path, Str child)
{
    return str_fmt(cx, "%s.%s", path->s, child->s);
}

/* Makes the graph's inputs, and of them the *n arguments of the entry function. */
MUST_USE bool make_inputs(Eval *ev, Value **args, size_t *n);
/* The sizes and numbers that the file has names for, with their ranges; --dim gives them others. */
MUST_USE bool declare_symbols(Eval *ev);
MUST_USE bool tell_guards(Eval *ev); /* conditions of torch.export on sizes, as notes */
/* ---- made_up.c: what options_of(ev)->made_up asks for; without it each says no ---- */

void made_up_begin(Ctx *cx); /* an evaluation */
/* The tensor input v of which neither -i nor the file says anything. */
void made_up_tensor(Ctx *cx, Str path, Ox v);
/* A value for the number or text at path, of type t. */
bool made_up_value(Ctx *cx, Str path, const TypeExpr *t, Value *out);
/* The name of the i-th item of the list or dict at path; NULL behind the last. */
Str made_up_child(Ctx *cx, Str path, const TypeExpr *t, size_t i);
/* d is the input at path, whose keys may be made up. */
bool made_up_dict(Ctx *cx, Str path, const Dict *d);
/* The program asks d for a key that it lacks: true after E_RESTART, with which d gets it. */
bool made_up_key(Ctx *cx, const Dict *d, Value key);
/* The program compares `text` with `other`: true after E_RESTART, when text is one to find. */
bool made_up_text(Ctx *cx, Str text, Str other);

/* Makes the graph's outputs of what the entry function returned. */
MUST_USE bool make_outputs(Eval *ev, Value result);

/* What a file recorded about a value, as a type; NULL for what is no tensor. */
Type recorded_type(Ctx *cx, const Recorded *r);
Dim recorded_dim(Ctx *cx, const RecordedDim *d); /* NULL: it is not recorded */

/* ---- recorded.c ---- */

/* Compares what the targets of an assignment hold with what the file recorded. Unknown sizes become
 * the file's; a difference is an error. */
MUST_USE bool recorded_agree(Eval *ev, const Stmt *s);

/* ---- state.c ---- */

MUST_USE bool state_begin(Eval *ev); /* mode eval, and what the model holds before it runs */
void state_read(Eval *ev, const Obj *o, int64_t slot);  /* an attribute was read */
void state_wrote(Eval *ev, const Obj *o, int64_t slot); /* an attribute was set */
void state_track_input(Eval *ev, const Tensor *t, Str name);
void state_track(Eval *ev, Value v); /* a tensor of the saved model that no object holds (.pt2) */
MUST_USE bool state_check(Eval *ev); /* after the run: what was written? */
/* The program calls v so; of use where v is a constant without a name. */
void state_call_constant(Eval *ev, Value v, Str local);

/* ---- scan.c ---- */

/* Refuses every operator that the entry may reach and that cannot be converted. */
void scan_unsupported(Eval *ev);

#endif
