/* builtin.h - what the families of builtins share. Inside src/eval only.
 *
 * A builtin is a function of TorchScript on values that are not tensors, or from a tensor to a
 * number: a row names it, says which kinds of arguments it takes, and points to a C function. Rows
 * of one name are tried in order; symbolic numbers are taken only where the kinds say so. */
#ifndef PT2ONNX_EVAL_BUILTIN_H
#define PT2ONNX_EVAL_BUILTIN_H

#include "eval/internal.h"

typedef struct Builtin {
    Eval *ev;
    Ctx *cx;
    Graph *g;
    const struct BuiltinRow *row;
    const OpArg *arg; /* in the order of the row's kinds; names are gone */
    size_t n;
} Builtin;

/* False after fail(). */
typedef bool (*BuiltinFn)(Builtin *b, Value *out);

/* Kinds, a letter for each argument; a small letter of i, n and b takes symbolic ones too:
 *
 *     i I  int                b B  bool              f  float      c  complex    s  str
 *     n N  int, float, bool   C    the same, or complex            D  device     e  enum
 *     l    list               d    dict              t  tuple      T  tensor     *  anything
 *     y    dtype: that of a .pt2, or the int that TorchScript has for it
 *
 * A letter and '?' takes None too; behind '|' arguments may be missing (they read as None); a last
 * '+' takes any number more. */
typedef struct BuiltinRow {
    const char *name, *kinds;
    BuiltinFn fn;
    int64_t datum;     /* members of a family differ by this .. */
    const char *text;  /* .. and this */
    const char *names; /* of arguments that callers may name: "a,b,c", in order */
} BuiltinRow;

extern const BuiltinRow *const builtin_families[]; /* ends with NULL */
extern const BuiltinRow builtin_numbers[], builtin_math[], builtin_compare[], builtin_lists[],
    builtin_strings[], builtin_tensors[], builtin_autograd[];

static inline Value arg_of(const Builtin *b, size_t i)
{
    return i < b->n ? b->arg[i].v : val_none();
}
static inline bool missing(const Builtin *b, size_t i)
{
    return i >= b->n || b->arg[i].v.tag == V_NONE;
}
static inline int64_t int_or(const Builtin *b, size_t i, int64_t deflt)
{
    return missing(b, i) ? deflt : b->arg[i].v.i;
}

#define builtin_fail(b, ...) fail((b)->cx, E_VALUE, __VA_ARGS__)

/* ---- numbers, for the other families ---- */

/* Is v a concrete int, float or bool? */
static inline bool is_real(Value v)
{
    return v.tag == V_INT || v.tag == V_FLOAT || v.tag == V_BOOL;
}
/* v, an int, float or bool, as a double: True is 1. */
static inline double real_of(Value v)
{
    if (v.tag == V_FLOAT)
        return v.f;
    return v.tag == V_BOOL ? v.b : (double)v.i;
}
static inline bool is_symbolic_float(Value v) { return v.tag == V_SYMFLOAT; }
static inline bool is_symbolic_int(Value v) { return v.tag == V_SYMINT; }
static inline bool is_int(Value v) { return v.tag == V_INT || v.tag == V_SYMINT; }
/* Does `is` hold for one of the first two arguments? */
static inline bool any_is(const Builtin *b, bool (*is)(Value))
{
    return is(b->arg[0].v) || (b->n > 1 && is(b->arg[1].v));
}
static inline bool any_symbolic(const Builtin *b)
{
    return any_is(b, is_symbolic_int) || any_is(b, is_symbolic_float);
}
static inline bool all_int(const Builtin *b)
{
    return is_int(b->arg[0].v) && (b->n < 2 || is_int(b->arg[1].v));
}
static inline bool give_ox(Builtin *b, Ox v, Value *out)
{
    *out = val_number_of(b->g, v);
    return !ctx_failed(b->cx);
}

Ox double_of(Graph *g, Value v); /* any real number or bool as a 0-d double */
/* A float: what an operator on tensors gives for the arguments as 0-d doubles. */
MUST_USE bool float_of_operator(Builtin *b, const char *operator_name, Value *out);
/* An int: what an operator on tensors gives for one or two ints as 0-d int64. */
MUST_USE bool int_of_operator(Builtin *b, const char *operator_name, Value *out);
/* a < b of two values that can be ordered; *known false for others. */
bool less_than(Value a, Value b, bool *known);
/* Are x and y equal? *out is a bool, or for lists that hold sizes a relation of them. */
MUST_USE bool equal_values(Builtin *b, Value x, Value y, Value *out);

#endif
