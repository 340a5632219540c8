/* internal.h - how the passes of src/tidy change a graph; their list; the table of ONNX Runtime's
 * kernels.
 *
 * One idea: a pass builds the node list anew, front to back. For each node of the old list, inputs
 * already replaced, its step function either keeps it, or emits others (ox_g puts them at the right
 * place by itself) and says which values replace the node's outputs. Subgraphs are rebuilt when
 * their node is reached, so what a branch uses is up to date too. */
#ifndef PT2ONNX_TIDY_INTERNAL_H
#define PT2ONNX_TIDY_INTERNAL_H

#include "onnx/edit.h"
#include "tidy/tidy.h"

typedef struct Rewrite Rewrite;
/* Handles one node; false after an error. A node whose outputs have all been replaced is
 * removed. */
typedef bool (*StepFn)(Rewrite *rw, Node *n);
/* Looks at the whole graph before anything changes. */
typedef void (*PlanFn)(Rewrite *rw, const Graph *g);

struct Rewrite {
    Ctx *cx;
    const TidyOptions *o;
    PlanFn plan; /* or NULL */
    StepFn step;
    uint32_t
        *uses; /* how often each value is used, by id, when the pass begins; graph outputs count */
    size_t n_uses;
    Map by_storage; /* where a constant's bytes begin -> number of uses */
    Map to;         /* replaced value -> its replacement */
    void *arg;      /* data of the pass itself */
    bool by_bytes;  /* the pass asks for by_storage */
    bool placed;    /* the step has put the node into the list itself */
};

MUST_USE bool rewrite(Graph *g, const TidyOptions *o, StepFn step, void *arg);
MUST_USE bool rewrite_planned(Graph *g, const TidyOptions *o, PlanFn plan, StepFn step, void *arg);
/* rewrite() for a step that calls storage_uses. */
MUST_USE bool rewrite_weights(Graph *g, const TidyOptions *o, StepFn step, void *arg);
/* Is there such a node, in g or a graph inside it? A pass that would find none need not build the
 * list anew. */
bool graph_has(const Graph *g, const char *op);
/* Calls see() for each node of g, those of the graphs inside a node before it. */
void each_node(const Graph *g, void (*see)(void *arg, const Node *n), void *arg);
/* The value that stands in v's place by now. */
Ox current(const Rewrite *rw, Ox v);
/* Have outputs of n been replaced, and among them all that are used? */
bool gone(const Rewrite *rw, const Node *n);
void replace(Rewrite *rw, Ox from, Ox to);
/* How many inputs of nodes, and outputs of graphs, are v. */
uint32_t uses_of(const Rewrite *rw, Ox v);
/* How many uses the bytes have that begin where k's do, in any shape. */
uint32_t storage_uses(const Rewrite *rw, const Const *k);
static inline bool used_once(const Rewrite *rw, Ox v) { return uses_of(rw, v) == 1; }

/* The node that makes v, when it is op and v its first output; else NULL. */
Node *made_by(Ox v, const char *op);
bool is_one_of(const Node *n, const char *const *ops, size_t count);
static inline Ox in_of(const Node *n, int i) { return i < n->n_in ? n->in[i] : NULL; }
/* The axis that n names, 0 unless it does, of a value of that rank, from the front; negative where
 * the rank is not known and n counts from the end. */
static inline int node_axis(const Node *n, int rank)
{
    int axis = (int)node_int(n, "axis", 0);
    return axis + (axis < 0 ? rank : 0);
}
bool is_const(Ox v);                  /* a constant, and there */
bool same_shape(Ctx *cx, Ox a, Ox b); /* and type */
bool is_reshape(const Node *n);       /* Reshape, Flatten, Squeeze, Unsqueeze */
/* x [batch, rows, heads, size] as [batch, rows, heads * size], which it usually has been. */
Ox heads_joined(Graph *g, Ox x);
/* k [batch, heads, S, E] of which v [batch, heads * n, S, E] has each head n times, next to itself;
 * NULL: v is something else. */
Ox before_repeat(Ctx *cx, Ox v);
/* "conv.weight" with ".bn" at its end; NULL for a constant without a name */
Str derived_name(Ctx *cx, const Const *k, const char *suffix);

/* Item i of float32 or float64 numbers. */
static inline double real_at(DType t, const void *p, int64_t i)
{
    return t == DT_DOUBLE ? ((const double *)p)[i] : (double)((const float *)p)[i];
}

/* ---- factors that float16 holds (types/weight_range.c) ---- */

#define LEAST_FACTOR 0x1p-6 /* of a weight that is not read */

/* Do weights of k's type become float16, so that what is multiplied into them may be lost? */
static inline bool becomes_float16(const TidyOptions *o, DType t)
{
    return o->weights_type == DT_FLOAT16 && t == DT_FLOAT;
}
/* The size of the largest finite number of each channel of the float32 weight k, which lie along
 * `axis`; NAN for each: k is not looked into. NULL: too many, or after an error. */
double *channel_sizes(Ctx *cx, const Const *k, int axis);
/* The size of the largest number of k, a few float32 or float64; infinity: it is not known. */
double largest_of(Ctx *cx, const Const *k);
/* Does float16 hold the weights of a channel times `factor` as well as it does the weights, of
 * which the largest is of the size `most`? */
bool weight_fits_float16(double most, double factor);
/* And a bias whose largest number is of that size? */
bool summand_fits_float16(double most);

/* ---- what ONNX Runtime runs (legal/ort_kernels.c) ---- */

typedef struct OrtKernel {
    char op[48], type[12]; /* arrays, so that no row is relocated at start */
    uint8_t first, last;
    bool more; /* the next row is of this operator too */
    uint32_t dtypes;
} OrtKernel;
extern const OrtKernel ort_kernels[];
extern const int ort_kernels_count;
/* Has ONNX Runtime's CPU a kernel of this operator of com.microsoft, for t as a type variable? */
bool fused_kernel(const char *op, const char *type, DType t);

/* ---- the passes ---- */

/* The passes, in the order of tidy.c, which has a sentence for each. drop-*, join-* and fuse-*
 * are in drop.c, combine.c, fuse.c and scale.c. */
bool pass_dead(Graph *g, const TidyOptions *o);
bool pass_unused(Graph *g, const TidyOptions *o);
bool pass_complex(Graph *g, const TidyOptions *o);
bool pass_identities(Graph *g, const TidyOptions *o);
bool pass_masks(Graph *g, const TidyOptions *o);
bool pass_borders(Graph *g, const TidyOptions *o);
bool pass_functions(Graph *g, const TidyOptions *o);
bool pass_transposes(Graph *g, const TidyOptions *o);
bool pass_reshapes(Graph *g, const TidyOptions *o);
bool pass_find(Graph *g, const TidyOptions *o);
bool pass_heads(Graph *g, const TidyOptions *o);
bool pass_caches(Graph *g, const TidyOptions *o);
bool pass_fused(Graph *g, const TidyOptions *o);
/* Below opset 23: does --fuse write a RotaryEmbedding of x, whose axis `heads` is that of heads? */
bool fuses_rotary(const TidyOptions *o, Ox x, int heads);
bool pass_conv_bn(Graph *g, const TidyOptions *o);
bool pass_scales(Graph *g, const TidyOptions *o);
bool pass_gemm(Graph *g, const TidyOptions *o);
bool pass_weights(Graph *g, const TidyOptions *o);
bool pass_weight_views(Graph *g, const TidyOptions *o);
bool pass_half(Graph *g, const TidyOptions *o);
bool pass_integers(Graph *g, const TidyOptions *o);
bool pass_unsigned(Graph *g, const TidyOptions *o);
bool pass_summands(Graph *g, const TidyOptions *o);
bool pass_coded(Graph *g, const TidyOptions *o);
bool pass_quantise(Graph *g, const TidyOptions *o);
bool pass_unsqueezes(Graph *g, const TidyOptions *o);
bool pass_views(Graph *g, const TidyOptions *o);
bool pass_linears(Graph *g, const TidyOptions *o);
bool pass_slices(Graph *g, const TidyOptions *o);
bool pass_sources(Graph *g, const TidyOptions *o);
bool pass_nots(Graph *g, const TidyOptions *o);
bool pass_concats(Graph *g, const TidyOptions *o);
bool pass_negs(Graph *g, const TidyOptions *o);
bool pass_expands(Graph *g, const TidyOptions *o);
bool pass_casts(Graph *g, const TidyOptions *o);
bool pass_dims(Graph *g, const TidyOptions *o);
bool dims_step(Rewrite *rw, Node *n); /* what pass_dims does, as a step of legalise */

#endif
