/* gradient.h - reverse mode: nodes that compute the gradients of some values of the graph with
 * respect to others.
 *
 * The graph is the tape: it holds every operator that the program has called, with views and writes
 * in place already said as values. The chain rule goes back over it node by node. What a node
 * contributes is a formula of gradients.rules, or a function where the shapes of its inputs count;
 * an operator that has neither is refused with the place of the program that made it. Where the
 * nodes of a PyTorch operator do not have its gradient its row tells it (TapedCall). Gradients are
 * nodes like any others, so they have gradients too. */
#ifndef PT2ONNX_ONNX_GRADIENT_H
#define PT2ONNX_ONNX_GRADIENT_H

#include "onnx/onnx.h"

/* A call whose gradient its operator's row tells, in the place of the nodes that it has made: from
 * that of the call's result to those of what it was given. Begins whatever the row's side knows. */
typedef struct TapedCall {
    const Ox *from; /* NULL: no tensor */
    size_t n;
    /* out[i] of each i that is wanted. False after an error; with *why a refusal. */
    bool (*gradient)(const struct TapedCall *call, Graph *g, Ox grad, const bool *want, Ox *out,
                     Str *why);
} TapedCall;
/* What a program has said about gradients besides computing. */
typedef struct Tape {
    Map stops; /* values through which no gradient flows; a leaf's entry is not NULL */
    Map calls; /* result -> TapedCall */
} Tape;

/* dx[i] becomes the gradient of sum(y[0] * dy[0]) + sum(y[1] * dy[1]) + .. with respect to x[i], of
 * x[i]'s shape and type; NULL where no path leads from x[i] to a y. No path leads through a value
 * among the stops. False after an error or a refusal. */
MUST_USE bool gradients(Graph *g, OxList y, OxList dy, OxList x, const Tape *tape, Ox *dx);

typedef VEC(Ox) ReadVec;
/* Adds what n reads: its inputs, and what the graphs inside it use of outside. */
void node_reads(Ctx *cx, const Node *n, ReadVec *out);
/* May a gradient flow through v? Only through floats and complex numbers. */
static inline bool may_have_gradient(Ox v)
{
    return v && ox_ok(v) && (dtype_is_float(ox_dtype(v)) || dtype_is_complex(ox_dtype(v)));
}

/* The i-th ONNX operator, in the order of the tables, that has a gradient; NULL past the end. */
const char *gradient_op(Ctx *cx, size_t i);

#endif
