/* fold_misc.c - the value of Constant and of quantisation. */
#include "onnx/fold/fold.h"

#include <math.h>

/* Constant has one attribute, which is its value; text is not folded. */
static bool fold_constant(Fold *f)
{
    if (f->node->n_attr != 1)
        return false;
    const Attr *a = &f->node->attr[0];
    switch (a->kind) {
    case ATTR_TENSOR: return item_size(f->out->dtype) && const_read(f->cx, a->t, f->out->at);
    case ATTR_INT:    *(int64_t *)f->out->at = a->i; return true;
    case ATTR_FLOAT:  *(float *)f->out->at = (float)a->f; return true;
    case ATTR_INTS:   store_ints(DT_INT64, f->out->at, (int64_t)a->n, a->ints); return true;
    case ATTR_FLOATS: store_reals(DT_FLOAT, f->out->at, (int64_t)a->n, a->floats); return true;
    default:          return false;
    }
}

/* How many elements share a scale: item i of x has the scale at (i / inner) % n. */
typedef struct Scales {
    int64_t inner, n;
} Scales;

/* Per tensor or per axis; blocks are left to the runtime. */
static bool scales_of(const Fold *f, Scales *s)
{
    const Data *x = &f->in[0];
    const Data *scale = &f->in[1];
    *s = (Scales){ .inner = 1, .n = scale->numel };
    if (node_int(f->node, "block_size", 0))
        return false;
    if (scale->numel == 1 && scale->rank == 0)
        return true;
    int64_t axis = node_int(f->node, "axis", 1);
    axis += axis < 0 ? x->rank : 0;
    if (scale->numel == 1 && scale->rank == 1 && (axis >= x->rank || x->dims[axis] != 1))
        return true;
    if (scale->rank != 1 || axis < 0 || axis >= x->rank || x->dims[axis] != scale->numel)
        return false;
    for (int i = (int)axis + 1; i < x->rank; i++)
        s->inner *= x->dims[i];
    return true;
}

static int64_t zero_at(const Fold *f, int64_t i)
{
    int64_t v = 0;
    if (f->node->n_in > 2 && f->in[2].at)
        load_ints(f->in[2].dtype, item_ptr(&f->in[2], i), 1, 1, &v);
    return v;
}

/* (x - zero) * scale */
static bool fold_dequantize(Fold *f)
{
    const Data *x = &f->in[0];
    Scales s;
    if (num_kind(x->dtype) != NUM_INT || num_kind(f->out->dtype) != NUM_REAL ||
        num_kind(f->in[1].dtype) != NUM_REAL || !scales_of(f, &s))
        return false;
    for (int64_t i = 0; i < x->numel; i++) {
        int64_t k = i / s.inner % s.n, v;
        double scale;
        load_ints(x->dtype, item_ptr(x, i), 1, 1, &v);
        load_reals(f->in[1].dtype, item_ptr(&f->in[1], k), 1, 1, &scale);
        scale *= (double)(v - zero_at(f, k));
        store_reals(f->out->dtype, item_ptr(f->out, i), 1, &scale);
    }
    return true;
}

/* saturate(round(x / scale) + zero), half to even. The division is in float32, as runtimes do
 * it. */
static bool fold_quantize(Fold *f)
{
    const Data *x = &f->in[0];
    DType t = f->out->dtype;
    Scales s;
    if (x->dtype != DT_FLOAT || f->in[1].dtype != DT_FLOAT || num_kind(t) != NUM_INT ||
        !scales_of(f, &s))
        return false;
    int bits = (int)dtype_size(t) * 8;
    double lo = dtype_is_signed(t) ? -ldexp(1, bits - 1) : 0;
    double hi = ldexp(1, bits - dtype_is_signed(t)) - 1;
    for (int64_t i = 0; i < x->numel; i++) {
        int64_t k = i / s.inner % s.n;
        float v = *(const float *)item_ptr(x, i) / *(const float *)item_ptr(&f->in[1], k);
        if (isnan(v))
            return false;
        double q = nearbyint(v) + (double)zero_at(f, k);
        if (q < lo)
            q = lo;
        else if (q > hi)
            q = hi;
        int64_t whole = (int64_t)q;
        store_ints(t, item_ptr(f->out, i), 1, &whole);
    }
    return true;
}

const FoldRow fold_misc[] = { { "Constant", fold_constant },
                              { "DequantizeLinear", fold_dequantize },
                              { "QuantizeLinear", fold_quantize },
                              { 0 } };
