/* internal.h - inside src/ops only: the table of candidates, binding, promotion, the choice of a
 * lowering.
 *
 * The way of a call, op_call in dispatch.c: look the name up (table.c), choose a schema and match
 * arguments to it (bind.c), make equal types (promote.c), run the row or the rule, guard the result
 * with what the file recorded. op_call pushes the WHERE_OP record itself, so an evaluator pushes
 * none for operators. */
#ifndef PT2ONNX_OPS_INTERNAL_H
#define PT2ONNX_OPS_INTERNAL_H

#include "ops/ops.h"
#include "value/facts.h"
#include "value/heap.h"
#include "value/options.h"
#include "value/specialized.h"

/* One schema line and what lowers it. */
typedef struct Candidate {
    const OpRow *row; /* NULL for a rule */
    const Rule *rule;
    const char *line;
    const char *promote;
    unsigned kinds;
    RowLayout layout;
    /* LAYOUT_AS_ARGUMENTS, and of elements one by one: arguments that lie in memory in one order
     * say the result's, whichever it is. */
    bool elementwise;
    const Schema *schema;   /* parsed when first asked for */
    const Rule *derivative; /* candidate_derivative(), of a row, once it was asked for */
} Candidate;

typedef struct Entry {
    Operator op;       /* of this name */
    VEC(Candidate) at; /* in order of registration: the order in which overloads are tried */
    OpCallback callback;
    void *user;
    const struct Meaning *means; /* meaning() in table.c, once it was asked for */
} Entry;

/* Is this the name of an in-place form: add_, not __and__? */
bool is_in_place(Str name);
/* NULL: no such name, or no memory. */
Entry *table_find(Ctx *cx, Str name);
/* NULL after an error. */
const Schema *candidate_schema(Ctx *cx, Candidate *c);
/* The clauses `derivative` of c's row or rule; NULL: there are none, or an error. */
const Rule *candidate_derivative(Ctx *cx, Candidate *c);
/* The parameter that result i of an operator that writes is; -1: none. */
int schema_itself(const Schema *s, int i);

/* The schema of a user's line: errors begin with its place, "my.rules:3". */
const Schema *schema_parse_at(Ctx *cx, const char *line, Str place);
/* Is this a promote column, and does it name parameters of the schema? E_USAGE at the place when
 * not. */
MUST_USE bool column_check(Ctx *cx, const Schema *s, const char *column, Str place);

/* Note that the file's record of v is torch's mistake: neither v nor what is computed from v is
 * compared with what the file recorded. */
void record_note_erred(Ctx *cx, Ox v);

/* How the name of a call relates to the rows that lower it. */
typedef enum { FORM_PLAIN, FORM_IN_PLACE, FORM_COPY } CallForm;
/* The rows of a name: its own, or those of the plain operator that `add_` or `view_copy` is derived
 * from. */
Entry *table_resolve(Ctx *cx, Str name, CallForm *form);
/* Who serves a call: rows or rules, or a user's function. by NULL: nothing has this name. */
typedef struct Served {
    Entry *by;
    CallForm form;
} Served;
/* of_program: the call stands in the program, which means by it what its archive's version does.
 * out: the element type of out=, or DT_NONE. */
Served table_served(Ctx *cx, const Operator *op, bool of_program, DType out);

typedef enum { BIND_DONE, BIND_NO_MATCH, BIND_FAILED } BindOutcome;
/* Match arguments to one schema. convert: implicit conversions are allowed. `why` gets the reason
 * of a mismatch. The bound arguments are scratch (base.h) of the call that runs. */
BindOutcome bind_try(Graph *g, const Schema *s, const OpArg *args, size_t n, bool convert,
                     Value **bound, Str *why);
/* The candidate that fits, and its bound arguments. NULL after an error that lists what was
 * tried. */
Candidate *bind_choose(Graph *g, Entry *e, Str overload, const OpArg *args, size_t n,
                       Value **bound);
/* What runs for c with these arguments: its complex:: twin where one is complex, else c itself. */
Candidate *bind_twin(Ctx *cx, Candidate *c, const Value *bound);

/* Make the call one of this candidate's row or rule. */
void call_set_row(OpCall *call, const Candidate *c);
/* A copy of the call and its arguments, which outlives the call. NULL when there is no memory. */
OpCall *call_kept(Ctx *cx, const OpCall *call);
/* Say of each new tensor among the results v whether it is contiguous (result_layout.c). */
void result_layout(Op *op, const OpArg *args, size_t n, Value v);
/* The value of a parameter as a rule sees it; false: no such parameter. */
bool rule_argument(Op *op, Str name, RuleVal *out);
/* v as the call's result: a value of its own where it requires a gradient. */
Ox own_result(Op *op, Ox v);
/* Make each result that requires a gradient a value of its own (result_gradient.c). */
void result_gradient(Op *op, const OpArg *args, size_t n, Value *v);
/* The row of the call that made a view; NULL: none did. */
const OpRow *row_of_view(const View *v);
/* Run a view row: a view, the argument itself, or a copy (view_call.c). */
Value call_view(Op *op, CallForm form);

/* Fill op->promoted and op->common as the column says; false after an error. */
MUST_USE bool promote_args(Op *op, const char *column);
/* Can a result of dtype `from` be stored into a tensor of dtype `to`? As PyTorch's canCast: float
 * into float16, int into float, never float into int. */
bool dtype_can_store(DType from, DType to);
/* "int64" -> what PyTorch's messages call it: "Long". */
const char *torch_dtype_name(DType t);

/* Has PyTorch's kernel of this name code for t? Where it has not, false after PyTorch's error. */
MUST_USE bool need_kernel(Op *op, const char *kernel, DType t, bool has);

/* The parameter of this name; -1: none. */
int param_index(const Schema *s, Str name);
int param_named(const Schema *s, const char *name);

/* rule_apply of a rule with the clause `function`: one node, whose function has the rule's formula
 * for its body (function.c). */
RuleOutcome rule_function(Op *op, RuleEnv *env, Ox *out, size_t n);

/* The call of an aten operator on quantised tensors, where PyTorch has one: computed in floats, the
 * result quantised as the argument is (quantized.c). */
Value on_quantized_tensor(Op *op, bool in_place);

/* ---- what PyTorch demands of shapes (demands.c) ----
 * Only what is surely wrong is; of a rank or a size that is not known nothing is demanded. */

/* "[2, N]", as PyTorch writes sizes. */
Str dims_text(Ctx *cx, const Dim *at, int n);
/* The same of x, whose rank is known. */
Str shape_text(Op *op, Ox x);
bool surely_differ(Op *op, Dim a, Dim b);
/* May x have, or be expanded to, exactly these sizes? */
bool may_have_sizes(Op *op, Ox x, const Dim *dims, int n);
bool may_expand(Op *op, Ox x, const Dim *dims, int n);
/* may_expand(), else PyTorch's error. */
MUST_USE bool need_expand(Op *op, Ox x, const Dim *dims, int n);
/* Can a new tensor have these sizes, none negative, and strides? Else PyTorch's error. */
MUST_USE bool need_storage(Op *op, Dims size, Dims stride);
/* May v be broadcast into a tensor of out's sizes? Else PyTorch's error. */
MUST_USE bool need_output(Op *op, Ox out, Ox v);

/* ---- shape arithmetic that several families share (shape.c) ---- */

/* Reshape; x itself when that is its shape. */
Ox reshape_to(Op *op, Ox x, const Dim *dims, int n);
/* Expand; x itself when that is its shape. */
Ox expand_dims(Op *op, Ox x, const Dim *dims, int n);
/* Transpose; x itself for the identity. */
Ox permute_to(Op *op, Ox x, const int *perm, int n);
/* Undo permute_to() of the same perm. */
Ox permute_back(Op *op, Ox x, const int *perm, int n);
/* x[start:end:step] of an axis: 0 <= start <= end <= size. */
Ox slice_axis(Op *op, Ox x, int axis, Dim start, Dim end, int64_t step);
/* Concat; NULL items are left out. */
Ox concat_axis(Op *op, const Ox *at, size_t n, int axis);
Ox unsqueeze_axis(Op *op, Ox x, int axis);
Ox flatten_to_1d(Op *op, Ox x);
/* The indices of each choice of r of n elements, [ways, r] in order; again: an element may be
 * chosen more than once (concat.c). */
Ox combinations(Op *op, Dim n, int r, bool again);
/* The axis as [taps, windows]: tap t of window w is at t * dilation + w * stride (im2col.c). */
typedef struct Windows1d {
    int64_t taps, dilation, stride;
    Dim count;
} Windows1d;
Ox windows_along(Op *op, Ox x, int axis, Windows1d w);
/* Must x be convolved or pooled by its windows, as sums of products? Ints, which ONNX's Conv and
 * pooling do not take, and doubles, for which ONNX Runtime has no kernel. */
bool needs_windows(Op *op, Ox x);
/* base with these rows of an axis (int64, from the front) replaced by part's (slice.c). */
Ox replace_rows(Op *op, Ox base, Ox part, int axis, Ox rows);
bool same_dims(Ctx *cx, Ox x, const Dim *dims, int n);
/* x; a 0-d x becomes a tensor of one element and *scalar true. scalar_again() goes back. */
Ox at_least_1d(Op *op, Ox x, bool *scalar);
Ox scalar_again(Op *op, Ox x, bool scalar);

/* ---- Loops (loop_body.c) ---- */

/* One iteration, inside the body: from the states before it to next, the states after it. *go: does
 * another iteration follow? Left NULL: always. k counts from 0. */
typedef void (*LoopStep)(Op *body, const void *data, Ox k, const Ox *state, Ox *next, Ox *go);
enum { LOOP_STATES = 4 };
/* A Loop over n states, which keep their types: at most `iterations` of them (0-d int64; NULL: as
 * many as *go asks for). state[] is replaced by the final states. False after an error. */
MUST_USE bool op_loop(Op *op, Ox iterations, LoopStep step, const void *data, Ox *state, int n);
/* Is any of these bools true? 0-d; false of an empty tensor. */
Ox any_of(Op *op, Ox x);

/* ---- indexing (index.c) ---- */

/* Are n values good and their ranks known? Else an error, or the ranks are assumed and the
 * evaluation restarts. */
bool ranks_known(Op *op, const Ox *at, size_t n);
/* The shape that x and its mask broadcast to. */
MUST_USE bool mask_shape(Op *op, Ox x, Ox mask, Dim *d, int *rank);
/* Parameter `name`, a number or a tensor, in like's type. */
Ox scalar_of(Op *op, const char *name, Ox like);
/* An index, a mask (of old programs uint8) that PyTorch takes? Else its error, which begins with
 * `expected`. */
MUST_USE bool is_index(Op *op, Ox index, bool may_be_int32, const char *expected);
MUST_USE bool is_mask(Op *op, Ox mask, const char *expected);
/* x cut to like's sizes on all axes but `axis`: PyTorch lets an index be smaller than what it
 * indexes, ONNX does not. */
Ox trim_to(Op *op, Ox x, Ox like, int axis);
/* The first axis but `axis` along which an index is surely larger than x, of the same rank; -1:
 * none. */
int first_larger(Op *op, Ox index, Ox x, int axis);

/* ---- sums of products (einsum.c) ---- */

Ox einsum(Op *op, Str equation, const Ox *at, size_t n);
/* The axis of x times the matrix m, [out, in]. */
Ox product_along(Op *op, Ox x, Ox m, int axis);

/* ---- whole tensors (convert.c) ---- */

/* Write v, of self's shape and type, to argument `self`, and return that tensor: the result of a
 * row like fill_. */
Value written(Op *op, Ox v);

/* May this call write to t? PyTorch forbids it where t has several elements in one place of memory,
 * as expand() gives them (dispatch.c). */
MUST_USE bool may_write_copies(Op *op, Tensor *t);

/* ---- arithmetic on real and complex elements (arithmetic.c) ----
 * A real tensor beside a complex one has no imaginary parts. */

bool ox_is_complex(Ox x);
Ox each_add(Op *op, Ox a, Ox b);
Ox each_sub(Op *op, Ox a, Ox b);
Ox each_mul(Op *op, Ox a, Ox b);
Ox each_div(Op *op, Ox a, Ox b);
Ox each_size(Op *op, Ox x);       /* |x|, real */
Ox each_pivot_size(Op *op, Ox x); /* by which LAPACK chooses a pivot: |re| + |im| */
Ox each_square(Op *op, Ox x);     /* |x|^2, real */
Ox each_sign(Op *op, Ox x);       /* x / |x|; 0 of 0 */
Ox each_is_zero(Op *op, Ox x);
Ox each_real(Op *op, Ox x);              /* the real part; x itself when it is real */
Ox real_like(Op *op, double v, Ox like); /* 0-d, of the type of like's parts */
DType in_double(Ox x);                   /* float64 or complex128 */

/* ---- complex tensors (complex.c) ---- */

Ox conjugate(Op *op, Ox z); /* z itself when it is real */

/* ---- reductions (reduce.c) ---- */

/* ONNX's reduction over these axes. All of them: no list, so the rank may stay unknown. */
Ox reduce(Op *op, const char *name, Ox x, const Axes *axes, bool keep);
bool has_param(Op *op, const char *name);
/* The axes of parameter `dim`, all of them where the schema has none or it is None or []; and
 * `keepdim`. */
MUST_USE bool reduced_axes(Op *op, Ox x, Axes *axes, bool *keep);
/* Has PyTorch the norm of self's type, computed in the type that argument `dtype` names? False
 * after its error, which begins with `name` (norm.c). */
MUST_USE bool norm_has_types(Op *op, const char *name);
/* 0-d, of x's type: where a running maximum (max) or minimum starts. -128 and 127 of int8, -inf and
 * inf of floats. */
Ox outdone(Op *op, Ox x, bool max);
#endif
