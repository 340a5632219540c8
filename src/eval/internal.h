/* internal.h - what the files of src/eval share: the state of one evaluation, frames, control flow, builtins.
 *
 * The way of an evaluation (eval.c): inputs.c makes the graph's inputs and the arguments of forward; stmt.c and expr.c run the
 * program, call.c its calls; branch.c and loop.c take over where a condition or a trip count is symbolic; facts.c says what an
 * undecided question means (an assumption, and E_RESTART); state.c looks at the end for writes to the saved model. */
#ifndef PT2ONNX_EVAL_INTERNAL_H
#define PT2ONNX_EVAL_INTERNAL_H

#include "archive/limits.h"
#include "eval/options.h"
#include "eval/program.h"
#include "eval/value.h"
#include "ops/ops.h"

/* How a block ended. RAISE: the model's own code raised; unwinds to the innermost branch that ONNX decides, or is an error. */
typedef enum { FLOW_NEXT, FLOW_RETURN, FLOW_RAISE, FLOW_FAIL } Flow;

typedef struct Frame {
    struct Frame *up;               /* the caller */
    const Function *fn;
    Obj *locals;                    /* one slot per local; V_UNINIT until it is assigned */
    Value result;                   /* of FLOW_RETURN */
} Frame;

typedef struct Eval {
    Ctx *cx;
    Program *p;
    Graph *g;                       /* the scope that nodes go to now: the root, or an arm's */
    Frame *frame;
    int64_t depth;                  /* of calls */
    int staged;                     /* arms and bodies around us that ONNX decides: a raise there unwinds */
    Str raised;                     /* the message of a FLOW_RAISE */
    SourceId raised_at;
    struct State *state;            /* state.c */
    Map classes;                    /* qualname -> ClassDef, constants.. found so far: call.c's caches */
} Eval;

/* ---- builtin.c, method.c (functions and methods on values that are not tensors) ---- */

typedef enum { BUILTIN_DONE, BUILTIN_NOT_MINE, BUILTIN_FAILED } BuiltinResult;
/* `name` is an operator ("aten::len", "prim::abs") or a bare word ("int", "range", "print"). NOT_MINE: no such builtin, or
 * not for these arguments (aten::add of tensors): op_call takes it. FAILED: after fail(). */
BuiltinResult builtin_call(Eval *ev, Str name, const OpArg *args, size_t n, Value *out);
/* Is there any builtin of this name? For the scan that lists all unsupported operators. */
bool builtin_exists(Ctx *cx, Str name);
/* self.name(args) where self is no object of a class: tensors (tolist, ..), lists, dicts, strings. */
BuiltinResult method_call(Eval *ev, Value self, Str name, const OpArg *args, size_t n, Value *out);

/* ---- expr.c, stmt.c, call.c ---- */

MUST_USE bool eval_expr(Eval *ev, const Expr *e, Value *out);
Flow run_block(Eval *ev, const Block *b);
/* Call a function with finished arguments: conversion on entry, hooks not. FLOW_NEXT: *out is the result. */
Flow call_function(Eval *ev, const Function *fn, const OpArg *args, size_t n, Value *out);
/* v as a parameter of declared type t takes it (formats/torchscript.md 5.2). False after an error that names `what`. */
MUST_USE bool convert_to(Eval *ev, Value v, const TypeExpr *t, const char *what, Value *out);
/* isinstance(v, t) */
bool val_is_a(Eval *ev, Value v, const TypeExpr *t);
/* One more step against LIMIT_STEPS; false after an error. */
MUST_USE bool step(Eval *ev);

#endif
