/* internal.h - what the files of src/onnx/gradient share: one step of the chain rule, and the
 * shapes of gradients. */
#ifndef PT2ONNX_ONNX_GRADIENT_INTERNAL_H
#define PT2ONNX_ONNX_GRADIENT_INTERNAL_H

#include "onnx/internal.h"
#include "onnx/gradient/gradient.h"
#include "onnx/rules/rules.h"

/* The chain rule at node n: from the gradients of its outputs to those of its inputs. */
typedef struct Step {
    Graph *g;
    Ctx *cx;
    const Node *n;
    const Ox *grad;   /* of each output; NULL: none has reached it. At least one is there */
    const bool *want; /* of each input: is its gradient asked for? */
    const Tape *tape;
    Ox *out; /* of each input: set by the step, or left NULL for none. The walk sums it to the
                input's shape and casts it to the input's type */
} Step;

/* False after an error, or after step_refuse. */
typedef bool (*GradientFn)(Step *s);
typedef struct GradientRow {
    const char *op;
    GradientFn fn;
} GradientRow;
/* The families; each one's file ends with its rows, {0} last. */
extern const GradientRow gradient_shape[], gradient_index[], gradient_reduce[], gradient_linalg[],
    gradient_nn[], gradient_pool[], gradient_resize[];

/* Refuse this call of the program; false. */
bool step_refuse(Step *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
static inline Ox step_in(const Step *s, int i) { return node_in(s->n, i); }
static inline bool step_wants(const Step *s, int i) { return i < s->n->n_in && s->want[i]; }
/* s->out[i] = v. False when v is POISON. */
bool step_gives(Step *s, int i, Ox v);
/* The gradient of output i, zeros where none has reached it. */
Ox step_grad(Step *s, int i);
/* The rank of v, which must be known: else false, after an error. */
MUST_USE bool step_rank(Step *s, Ox v, int *rank);
/* The rest of the way, where n computes what `formula` does too: its gradients are n's. */
bool step_through(Step *s, Ox formula);

/* v as a 0-d constant of like's type. */
static inline Ox like_number(Graph *g, double v, Ox like)
{
    return ox_number(g, ox_dtype(like), v);
}
Ox zeros_like(Graph *g, Ox v);
Ox zeros_of(Graph *g, Type t); /* of known rank */
/* grad, of a shape that v broadcasts to, summed to v's shape. */
Ox summed_to(Graph *g, Ox grad, Ox v);
/* grad in t's shape, whose rank is known: the same elements. */
Ox in_shape_of(Graph *g, Ox grad, Type t);
/* The numbers 0 .. n - 1, int64. */
Ox counted(Graph *g, Dim n);
/* The axis that attribute `axis` names, from the front. */
int axis_of(const Node *n, int deflt, int rank);
/* perm for Transpose. */
Ox transposed(Graph *g, Ox v, const int64_t *perm, int rank);
/* The last two axes changed. */
Ox last_axes_swapped(Graph *g, Ox v);

#endif
