/* fuse.c - batch norm into the convolution before it, a bias into the matrix product before it.
 *
 *     BatchNormalization(Conv(x, w, b), s, B, mean, var)
 *         ->  Conv(x, w*f, (b - mean)*f + B), where f = s / sqrt(var + epsilon)
 *         the same of a ConvTranspose without groups
 *     Add(MatMul(x, w), c)
 *         ->  Gemm(x, w, c), of rank 2
 *
 * New weights are recipes: computed when the file is written, one tensor at a time. With
 * --keep-weights nothing changes, and with --weights-type float16 nothing that float16 would not
 * hold. */
#include "tidy/internal.h"

#include <math.h>

/* ---- the recipes ---- */

typedef struct Norm {
    const Const *weight, *bias, *scale, *shift, *mean, *var;
    double epsilon;
    int64_t channels, outer;
    bool is_bias;
} Norm;
/* outer: for a ConvTranspose, whose weight has the output channels along axis 1 */

static void set_real(DType t, void *p, int64_t i, double v)
{
    if (t == DT_DOUBLE)
        ((double *)p)[i] = v;
    else
        ((float *)p)[i] = (float)v;
}

/* v *= f. Weights have millions of elements, and compilers make vector instructions of eight at
 * a time. */
static void scale(DType t, void *p, int64_t n, double f)
{
    int64_t i = 0;
    for (float *at = p; t == DT_FLOAT && i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++)
            at[i + k] = (float)(at[i + k] * f);
    for (; i < n; i++)
        set_real(t, p, i, real_at(t, p, i) * f);
}

/* The numbers of a Norm, in memory; bias may be NULL. */
typedef struct NormData {
    const void *scale, *shift, *mean, *var, *bias;
} NormData;

static bool read_norm(Ctx *cx, const Norm *a, NormData *out)
{
    *out = (NormData){ .scale = const_data(cx, a->scale),
                       .shift = const_data(cx, a->shift),
                       .mean = const_data(cx, a->mean),
                       .var = const_data(cx, a->var),
                       .bias = a->bias ? const_data(cx, a->bias) : NULL };
    return out->scale && out->shift && out->mean && out->var && (out->bias || !a->bias);
}

/* What the weights of channel c are multiplied by. */
static double factor_at(const Norm *a, const NormData *p, int64_t c)
{
    return real_at(a->scale->dtype, p->scale, c) /
        sqrt(real_at(a->var->dtype, p->var, c) + a->epsilon);
}

static double bias_at(const Norm *a, const NormData *p, int64_t c, double f)
{
    double b = a->bias ? real_at(a->bias->dtype, p->bias, c) : 0;
    return (b - real_at(a->mean->dtype, p->mean, c)) * f + real_at(a->shift->dtype, p->shift, c);
}

/* Computes the new weight or bias in double, and rounds once. */
static bool compute_norm(Ctx *cx, const Norm *a, uint8_t *out)
{
    NormData p;
    if (!read_norm(cx, a, &p))
        return false;
    DType t = a->weight->dtype;
    int64_t block = a->is_bias ? 1 : const_numel(a->weight) / a->channels / a->outer;
    if (!a->is_bias && !const_read(cx, a->weight, out))
        return false;
    for (int64_t c = 0; c < a->channels; c++) {
        double f = factor_at(a, &p, c);
        if (!a->is_bias) {
            for (int64_t i = 0; i < a->outer; i++)
                scale(t, out + (size_t)((i * a->channels + c) * block) * dtype_size(t), block, f);
        } else {
            set_real(t, out, c, bias_at(a, &p, c, f));
        }
    }
    return true;
}

static bool run_norm(Ctx *cx, const void *arg, uint8_t *out, uint64_t size)
{
    (void)size;
    ArenaMark m = arena_mark(cx->run);
    bool ok = compute_norm(cx, arg, out);
    if (ok)
        arena_reset(cx->run, m);
    return ok;
}

/* ---- Conv and BatchNormalization ---- */

static Ox norm_const(Graph *g, const Norm *norm, bool is_bias, Str name)
{
    Norm *arg = new(g->cx, Norm);
    *arg = *norm;
    arg->is_bias = is_bias;
    Const *k = new(g->cx, Const);
    *k = (Const){ .dtype = norm->weight->dtype,
                  .rank = is_bias ? 1 : norm->weight->rank,
                  .derived = name };
    k->dims = is_bias ? &arg->channels : norm->weight->dims;
    uint64_t bytes = dtype_bytes(k->dtype, (uint64_t)const_numel(k));
    k->bytes = (Bytes){ source_recipe(g->cx, run_norm, arg, bytes), 0, bytes };
    return ox_const(g, k);
}

/* "conv.bias.bn" for the bias that "conv.weight" did not have */
static Str bias_name(Ctx *cx, const Const *weight, const Const *bias)
{
    if (bias)
        return derived_name(cx, bias, ".bn");
    if (!weight->name || !str_ends(weight->name, "weight"))
        return NULL;
    return str_fmt(cx, "%.*sbias.bn", (int)(weight->name->len - strlen("weight")), weight->name->s);
}

/* What a batch norm behind a convolution does to its weight and bias. False: the batch norm is
 * in training mode, the convolution's result or weight has other uses, or a number is not a
 * constant. */
static bool norm_of(Rewrite *rw, const Node *bn, const Node *conv, Norm *out)
{
    if (node_int(bn, "training_mode", 0) || bn->n_out > 1 || !used_once(rw, conv->out[0]) ||
        conv->out[0]->name)
        return false;
    for (int i = 1; i < 5; i++)
        if (!is_const(bn->in[i]) || bn->in[i]->k->rank != 1 ||
            (ox_dtype(bn->in[i]) != DT_FLOAT && ox_dtype(bn->in[i]) != DT_DOUBLE))
            return false;
    Ox w = conv->in[1];
    Ox b = in_of(conv, 2);
    bool turned = node_is(conv, "ConvTranspose");
    if (turned && node_int(conv, "group", 1) != 1)
        return false;
    if (!is_const(w) || (b && !is_const(b)) ||
        (ox_dtype(w) != DT_FLOAT && ox_dtype(w) != DT_DOUBLE) || storage_uses(rw, w->k) != 1)
        return false;
    const Const *bias = b ? b->k : NULL;
    *out = (Norm){ .weight = w->k,
                   .bias = bias,
                   .scale = bn->in[1]->k,
                   .shift = bn->in[2]->k,
                   .mean = bn->in[3]->k,
                   .var = bn->in[4]->k,
                   .epsilon = node_float(bn, "epsilon", 1e-5),
                   .channels = w->k->dims[turned],
                   .outer = turned ? w->k->dims[0] : 1 };
    return out->channels > 0 && out->outer > 0 && bn->in[1]->k->dims[0] == out->channels;
}

/* Are all factors finite? Infinite weights make NaN of a sum that would be infinite, as where
 * epsilon and a variance are 0. */
static bool norm_is_finite(Ctx *cx, const Norm *a)
{
    NormData p;
    ArenaMark m = arena_mark(cx->run);
    bool finite = read_norm(cx, a, &p);
    for (int64_t c = 0; finite && c < a->channels; c++)
        finite = isfinite(factor_at(a, &p, c));
    arena_reset(cx->run, m);
    return finite;
}

/* Does float16 hold the new weight and bias, where they are to be of that type? Else the batch norm
 * stays, which computes in float32. */
static bool norm_fits(Rewrite *rw, const Norm *a, int axis)
{
    Ctx *cx = rw->cx;
    if (!becomes_float16(rw->o, a->weight->dtype))
        return true;
    NormData p;
    ArenaMark m = arena_mark(cx->run);
    const double *most = channel_sizes(cx, a->weight, axis);
    bool fits = most && read_norm(cx, a, &p);
    for (int64_t c = 0; fits && c < a->channels; c++) {
        double f = factor_at(a, &p, c);
        double bias = fabs(bias_at(a, &p, c, f));
        fits = weight_fits_float16(most[c], f) && summand_fits_float16(bias);
    }
    arena_reset(cx->run, m);
    return fits;
}

/* BatchNormalization(Conv(x, w, b)) -> Conv(x, w', b'), both computed when the file is written. */
static bool fuse_norm(Rewrite *rw, Node *n)
{
    Norm norm;
    Node *conv = node_is(n, "BatchNormalization") ? made_by(n->in[0], "Conv") : NULL;
    if (!conv && node_is(n, "BatchNormalization"))
        conv = made_by(n->in[0], "ConvTranspose");
    if (!conv || conv->graph != n->graph || !norm_of(rw, n, conv, &norm))
        return true;
    if (!norm_is_finite(rw->cx, &norm) || !norm_fits(rw, &norm, node_is(conv, "ConvTranspose")))
        return !ctx_failed(rw->cx);
    Ox w = norm_const(n->graph, &norm, false, derived_name(rw->cx, norm.weight, ".bn"));
    Ox b = norm_const(n->graph, &norm, true, bias_name(rw->cx, norm.weight, norm.bias));
    size_t from = n->graph->nodes.n;
    Ox y = ox_make(n->graph, conv->op->name, INPUTS(conv->in[0], w, b), conv->attr,
                   (size_t)conv->n_attr);
    if (!ox_ok(y))
        return false;
    if (n->graph->nodes.n > from)
        y->node->at = conv->at; /* messages name the convolution's line */
    replace(rw, n->out[0], y);
    return true;
}

bool pass_conv_bn(Graph *g, const TidyOptions *o)
{
    return o->keep_weights || !graph_has(g, "BatchNormalization") ||
        rewrite_weights(g, o, fuse_norm, NULL);
}

/* ---- MatMul and Add ---- */

/* Does c broadcast to the product's [rows, columns], and the product not to a larger c? */
static bool fits_gemm(Ctx *cx, Ox c, Ox product)
{
    int rank = ox_rank(c);
    if (rank < 0 || rank > 2)
        return false;
    for (int i = 0; i < rank; i++) {
        Dim d = ox_dim(c, i);
        if (!dim_is(d, 1) && dim_eq(cx, d, ox_dim(product, 2 - rank + i)) != YES)
            return false;
    }
    return true;
}

/* A number that float16 does not hold keeps its Add, which computes in float32 then. */
static bool may_be_bias(Rewrite *rw, Ox c)
{
    bool small = is_const(c) && const_numel(c->k) <= FOLD_NUMEL;
    return !small || !becomes_float16(rw->o, ox_dtype(c)) ||
        summand_fits_float16(largest_of(rw->cx, c->k));
}

static bool fuse_add(Rewrite *rw, Node *n)
{
    if (!node_is(n, "Add") || !dtype_is_float(ox_dtype(n->out[0])))
        return true;
    for (int i = 0; i < 2; i++) {
        Node *mm = made_by(n->in[i], "MatMul");
        Ox c = n->in[1 - i];
        if (!mm || mm->graph != n->graph || ox_rank(mm->in[0]) != 2 || ox_rank(mm->in[1]) != 2 ||
            !used_once(rw, mm->out[0]) || mm->out[0]->name || !fits_gemm(rw->cx, c, mm->out[0]) ||
            !may_be_bias(rw, c))
            continue;
        Ox y = ox_g(n->graph, "Gemm", mm->in[0], mm->in[1], c);
        if (ox_ok(y))
            replace(rw, n->out[0], y);
        return ox_ok(y);
    }
    return true;
}

bool pass_gemm(Graph *g, const TidyOptions *o)
{
    return !graph_has(g, "MatMul") || rewrite(g, o, fuse_add, NULL);
}
