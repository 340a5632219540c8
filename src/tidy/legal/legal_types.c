/* legal_types.c - exact casts around operators that do not take a type.
 *
 * Two tables say who does not: the signatures of the target opset (optable), always; and the
 * kernels of ONNX Runtime (ort_kernels.c), when it is the target.
 *
 *     Relu(x: bfloat16)  ->  Cast<to=bfloat16>(Relu(Cast<to=float32>(x)))
 *
 * A cast is exact when the wider type holds every value, and what the operator makes of them comes
 * back: integers wrap alike, floats are rounded once more. int64 into double is not, and is never
 * made. */
#include "tidy/legal/legal.h"

/* Wider types, the cheapest first; none for int64, uint64 and double. */
static const struct {
    DType from;
    DType to[4];
} wider[] = {
    { DT_FLOAT16, { DT_FLOAT, DT_DOUBLE } },
    { DT_BFLOAT16, { DT_FLOAT, DT_DOUBLE } },
    { DT_FLOAT, { DT_DOUBLE } },
    { DT_BOOL, { DT_UINT8, DT_INT32, DT_INT64, DT_FLOAT } },
    { DT_INT8, { DT_INT32, DT_INT64, DT_FLOAT } },
    { DT_UINT8, { DT_INT32, DT_INT64, DT_FLOAT } },
    { DT_INT16, { DT_INT32, DT_INT64, DT_FLOAT } },
    { DT_UINT16, { DT_INT32, DT_INT64, DT_FLOAT } },
    { DT_INT32, { DT_INT64, DT_DOUBLE } },
    { DT_UINT32, { DT_INT64, DT_DOUBLE } },
};

/* ---- what takes what ---- */

static const FormalArg *formal_of(const FormalArg *list, int n, int i)
{
    enum { VARIADIC = 2 };
    if (i < n)
        return &list[i];
    return n && list[n - 1].option == VARIADIC ? &list[n - 1] : NULL;
}

static bool signature_takes(const OpVersion *v, const char *type, DType t)
{
    for (int i = 0; i < v->n_type; i++)
        if (strcmp(v->type[i].name, type) == 0)
            return v->type[i].dtypes >> t & 1;
    return true;
}

/* The first row of op in the sorted table. */
static const OrtKernel *kernels_of(const char *op)
{
    int lo = 0;
    int hi = ort_kernels_count;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (strcmp(ort_kernels[mid].op, op) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < ort_kernels_count && strcmp(ort_kernels[lo].op, op) == 0 ? &ort_kernels[lo] : NULL;
}

/* The next row of the same operator; NULL behind the last one. */
static const OrtKernel *next_kernel(const OrtKernel *k) { return k->more ? k + 1 : NULL; }

/* A kernel serves the versions of the operator in its range; one without an end only the version it
 * was written for. */
static bool serves(const OrtKernel *k, const OpVersion *v)
{
    enum { OPEN = 255 };
    return k->first == v->since || (k->last != OPEN && k->first <= v->since && v->since <= k->last);
}

/* Does a kernel take t? `any`: is there one at all? */
static bool kernel_takes(const char *op, const OpVersion *v, const char *type, DType t, bool *any)
{
    bool named = false;
    uint32_t takes = 0;
    *any = false;
    for (const OrtKernel *k = kernels_of(op); k; k = next_kernel(k)) {
        if (!serves(k, v))
            continue;
        *any = true;
        if (strcmp(k->type, type) == 0) {
            named = true;
            takes |= k->dtypes;
        }
    }
    return !named || (takes >> t & 1);
}

/* What the kernels' registry promises and ONNX Runtime 1.31 then refuses while it runs: types, by
 * the value of an attribute. */
enum { HALVES = 1u << DT_FLOAT16 | 1u << DT_BFLOAT16, BOOLS = 1u << DT_BOOL };
static const struct {
    const char *op, *attr, *value;
    uint32_t lacks;
} kernel_gaps[] = {
    { "ScatterElements", "reduction", "add", HALVES },
    { "ScatterElements", "reduction", "mul", HALVES },
    { "ScatterElements", "reduction", "min", 1u << DT_BFLOAT16 | BOOLS },
    { "ScatterElements", "reduction", "max", 1u << DT_BFLOAT16 | BOOLS },
    { "ScatterND", "reduction", "add", HALVES },
    { "ScatterND", "reduction", "mul", HALVES },
    { "ScatterND", "reduction", "min", HALVES | BOOLS },
    { "ScatterND", "reduction", "max", HALVES | BOOLS },
};

static bool kernel_gap(const Node *n, const char *type, DType t)
{
    for (size_t i = 0; i < COUNT(kernel_gaps); i++)
        if (strcmp(type, "T") == 0 && strcmp(n->op->name, kernel_gaps[i].op) == 0 &&
            kernel_gaps[i].lacks >> t & 1 &&
            strcmp(node_str(n, kernel_gaps[i].attr, ""), kernel_gaps[i].value) == 0)
            return true;
    return false;
}

/* Without a kernel ONNX Runtime expands the operator's own function, which runs for the types that
 * the kernels of its other versions have: Attention of opset 26 in bfloat16 ends in an Expand that
 * there is none of. */
static bool expansion_takes(const Node *n, const char *type, DType t)
{
    bool named = false;
    bool some = false;
    for (const OrtKernel *k = kernels_of(n->op->name); k; k = next_kernel(k))
        if (strcmp(k->type, type) == 0) {
            named = true;
            some |= k->dtypes >> t & 1;
        }
    return !named || some;
}

bool fused_kernel(const char *op, const char *type, DType t)
{
    char name[64];
    snprintf(name, sizeof name, "com.microsoft.%s", op);
    for (const OrtKernel *k = kernels_of(name); k; k = next_kernel(k))
        if (strcmp(k->type, type) == 0 && k->dtypes >> t & 1)
            return true;
    return false;
}

static bool takes(const Node *n, const OpVersion *v, const char *type, DType t, bool ort)
{
    bool any;
    if (!signature_takes(v, type, t))
        return false;
    if (!ort)
        return true;
    bool runs = kernel_takes(n->op->name, v, type, t, &any);
    return (any ? runs : expansion_takes(n, type, t)) && !kernel_gap(n, type, t);
}

/* ONNX Runtime itself puts casts around an operator that it has in float32 only, for float16 and
 * no other type. A model that was converted to float16 leaves that to it: on a GPU none are
 * needed. */
static bool casts_itself(const Rewrite *rw, const Node *n, const OpVersion *v, const char *type,
                         DType t)
{
    bool any;
    return t == DT_FLOAT16 && rw->o->weights_type == DT_FLOAT16 && signature_takes(v, type, t) &&
        !kernel_gap(n, type, t) && kernel_takes(n->op->name, v, type, DT_FLOAT, &any);
}

static DType wider_type(const Node *n, const OpVersion *v, const char *type, DType t, bool ort)
{
    for (size_t i = 0; i < COUNT(wider); i++)
        for (size_t k = 0; wider[i].from == t && k < COUNT(wider[i].to) && wider[i].to[k]; k++)
            if (takes(n, v, type, wider[i].to[k], ort))
                return wider[i].to[k];
    return DT_NONE;
}

static bool is_tensor(Ox v) { return v && v->type && v->type->kind == T_TENSOR; }

/* ONNX Runtime has no kernel, but expands ONNX's own function, whose parts have kernels for
 * float32. */
static bool is_expanded(const char *op)
{
    return strcmp(op, "HardSwish") == 0 || strcmp(op, "Mish") == 0;
}

bool runs_somehow(const Node *n, int opset)
{
    const OpVersion *v = onnx_version(n->op, opset);
    if (!v)
        return true;
    for (int i = 0; i < n->n_in; i++) {
        const FormalArg *f = formal_of(v->in, v->n_in, i);
        bool any;
        if (!f || !is_tensor(n->in[i]))
            continue;
        if (is_expanded(n->op->name) && ox_dtype(n->in[i]) == DT_FLOAT)
            continue;
        bool runs = kernel_takes(n->op->name, v, f->type, ox_dtype(n->in[i]), &any);
        if (!any || (!runs && !wider_type(n, v, f->type, ox_dtype(n->in[i]), true)))
            return false;
    }
    return true;
}

/* ---- casts ---- */

static int first_opset_taking(const OnnxOp *op, int i, DType t)
{
    for (int k = 0; k < op->n_version; k++)
        if (onnx_takes(op, op->version[k].since, i, t))
            return op->version[k].since;
    return 0;
}

static bool is_sequence(Ox v) { return v && v->type && v->type->kind == T_SEQUENCE; }

static bool takes_sequences(const OpVersion *v, const FormalArg *f)
{
    if (!f)
        return false;
    for (int i = 0; i < v->n_type; i++)
        if (strcmp(v->type[i].name, f->type) == 0)
            return v->type[i].seq != 0;
    return true; /* "seq(tensor(float))" itself */
}

/* Does version v of the operator take and give the sequences that n does? */
static bool sequences_fit(const Node *n, const OpVersion *v)
{
    bool ok = true;
    for (int i = 0; i < n->n_in; i++)
        ok = ok && (!is_sequence(n->in[i]) || takes_sequences(v, formal_of(v->in, v->n_in, i)));
    for (int i = 0; i < n->n_out; i++)
        ok = ok && (!is_sequence(n->out[i]) || takes_sequences(v, formal_of(v->out, v->n_out, i)));
    return ok;
}

/* Loop and If of sequences: 13. Identity: 14. */
static bool refuse_sequence(Rewrite *rw, Node *n, const OpVersion *v, int opset)
{
    int since = 0;
    if (sequences_fit(n, v))
        return false;
    for (int k = 0; k < n->op->n_version && !since; k++)
        if (sequences_fit(n, &n->op->version[k]))
            since = n->op->version[k].since;
    refuse(rw->cx, n->at, n->name,
           "%s of a sequence (a list of tensors whose sizes differ) needs ONNX opset %d, the "
           "target is %d",
           n->op->name, since, opset);
    refuse_opset(rw->cx, since);
    return true;
}

static void refuse_type(Rewrite *rw, Node *n, DType t, int since, int opset)
{
    refuse(rw->cx, n->at, n->name, "%s of %s needs ONNX opset %d, the target is %d", n->op->name,
           dtype_name(t), since, opset);
    refuse_opset(rw->cx, since);
}

static int first_opset_giving(const Node *n, int i, DType t)
{
    for (int k = 0; k < n->op->n_version; k++) {
        const OpVersion *v = &n->op->version[k];
        const FormalArg *f = formal_of(v->out, v->n_out, i);
        if (f && signature_takes(v, f->type, t))
            return v->since;
    }
    return 0;
}

/* The newest opset below the target whose version of n's operator has a kernel, when the target's
 * has none; else 0. What never had one, and Attention, is a function of ONNX's own that ONNX
 * Runtime expands. */
static int last_opset_with_kernel(const Node *n, const OpVersion *v, int opset)
{
    bool any;
    kernel_takes(n->op->name, v, "", DT_FLOAT, &any);
    if (any)
        return 0;
    for (int older = opset - 1; older >= 9 && !node_is(n, "Attention"); older--) {
        const OpVersion *w = onnx_version(n->op, older);
        bool some = false;
        if (w)
            kernel_takes(n->op->name, w, "", DT_FLOAT, &some);
        if (some)
            return older;
    }
    return 0;
}

static bool refuse_version(Rewrite *rw, Node *n, const OpVersion *v, int opset)
{
    int older = kernels_of(n->op->name) ? last_opset_with_kernel(n, v, opset) : 0;
    if (older == 0)
        return false;
    refuse(rw->cx, n->at, n->name, "ONNX Runtime has no %s of opset %d, only up to opset %d",
           n->op->name, opset, older);
    refuse_hint(rw->cx, "--opset %d, or --target=onnx for another runtime", older);
    return true;
}

typedef struct Change {
    const char *type;
    DType from, to;
} Change;
enum { MAX_CHANGES = 8 };

static bool is_bound(const FormalArg *f, Ox v, const Change *c)
{
    return f && is_tensor(v) && strcmp(f->type, c->type) == 0 && ox_dtype(v) == c->from;
}

/* Would a cast of an input be no help? A Cast is one itself, the body of a Loop or Scan takes the
 * type that it was made for, and a sequence that the node gives has no cast back. */
static bool keeps_types(const Node *n)
{
    for (int i = 0; i < n->n_out; i++)
        if (is_sequence(n->out[i]))
            return true;
    return node_is(n, "Cast") || node_has(n, "body");
}

/* The types that n's inputs cannot keep: one change for each type variable of the signature.
 * Gives their number. */
static size_t find_changes(Rewrite *rw, Node *n, const OpVersion *v, int opset, bool ort,
                           Change *out)
{
    size_t count = 0;
    for (int i = 0; i < n->n_in && count < MAX_CHANGES; i++) {
        const FormalArg *f = formal_of(v->in, v->n_in, i);
        DType t = is_tensor(n->in[i]) ? ox_dtype(n->in[i]) : DT_NONE;
        bool known = false;
        for (size_t k = 0; k < count; k++)
            known |= is_bound(f, n->in[i], &out[k]);
        if (!f || t == DT_NONE || known || takes(n, v, f->type, t, ort) ||
            casts_itself(rw, n, v, f->type, t))
            continue;
        DType to = keeps_types(n) ? DT_NONE : wider_type(n, v, f->type, t, ort);
        int castable = first_opset_taking(onnx_op(rw->cx, "Cast"), 0, t); /* 13 for bfloat16 */
        if (to != DT_NONE && castable <= opset)
            out[count++] = (Change){ f->type, t, to };
        else if (to != DT_NONE)
            refuse_type(rw, n, t, castable, opset);
        else if (!signature_takes(v, f->type, t))
            refuse_type(rw, n, t, first_opset_taking(n->op, i, t), opset);
        else
            note(rw->cx, NOTE_ASSUMED,
                 "the file is for another runtime than ONNX Runtime, which has no %s for %s, and "
                 "no cast is exact",
                 n->op->name, dtype_name(t));
    }
    return count;
}

/* Results of a type that no input has: Cast, ConstantOfShape. */
static void check_results(Rewrite *rw, Node *n, const OpVersion *v, int opset, const Change *c,
                          size_t count)
{
    for (int i = 0; i < n->n_out; i++) {
        const FormalArg *f = formal_of(v->out, v->n_out, i);
        bool changes = false;
        for (size_t k = 0; k < count; k++)
            changes |= is_bound(f, n->out[i], &c[k]);
        if (!f || !is_tensor(n->out[i]) || changes ||
            signature_takes(v, f->type, ox_dtype(n->out[i])))
            continue;
        DType t = ox_dtype(n->out[i]);
        bool of_input = false;
        for (int k = 0; k < n->n_in; k++)
            of_input |= is_tensor(n->in[k]) && ox_dtype(n->in[k]) == t &&
                formal_of(v->in, v->n_in, k) &&
                strcmp(formal_of(v->in, v->n_in, k)->type, f->type) == 0;
        if (!of_input) /* a type of an input has been refused already */
            refuse_type(rw, n, t, first_opset_giving(n, i, t), opset);
    }
}

/* Clip(int8) at a target whose ONNX Runtime clips no int8: Cast(int32), Clip, Cast(int8). A type
 * that no exact cast helps is refused, by the opset that takes it. */
bool fix_types(Rewrite *rw, Node *n, int opset, bool ort)
{
    const OpVersion *v = onnx_version(n->op, opset);
    Change change[MAX_CHANGES];
    if (v && (refuse_sequence(rw, n, v, opset) || (ort && refuse_version(rw, n, v, opset))))
        return !ctx_failed(rw->cx);
    size_t count = v ? find_changes(rw, n, v, opset, ort, change) : 0;
    if (v)
        check_results(rw, n, v, opset, change, count);
    if (count == 0)
        return !ctx_failed(rw->cx);
    for (int i = 0; i < n->n_in; i++)
        for (size_t k = 0; k < count; k++)
            if (is_bound(formal_of(v->in, v->n_in, i), n->in[i], &change[k])) {
                n->in[i] = ox_cast(n->graph, n->in[i], change[k].to);
                break;
            }
    vec_push(rw->cx, &n->graph->nodes,
             n); /* n stands between the casts before it and those after it */
    rw->placed = true;
    for (int i = 0; i < n->n_out; i++)
        for (size_t k = 0; k < count; k++)
            if (is_bound(formal_of(v->out, v->n_out, i), n->out[i], &change[k])) {
                Ox old = node_retype_out(n, i, change[k].to);
                replace(rw, old, ox_cast(n->graph, n->out[i], change[k].from));
                break;
            }
    return !ctx_failed(rw->cx);
}
