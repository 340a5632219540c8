/* infer_misc.c - constants, random numbers, quantisation, windows of signal processing. */
#include "onnx/infer/infer.h"

static DType first_type(const Node *n) { return ox_dtype(n->in[0]); }

/* ---- Constant: the attribute that is there says what it is ---- */

/* Type and shape of the one attribute that is there: value_ints=[1, 2] is int64[2]. */
static bool infer_constant(Node *n)
{
    static const struct {
        const char *name;
        DType dtype;
        bool list;
    } form[] = {
        { "value_int", DT_INT64, false },     { "value_ints", DT_INT64, true },
        { "value_float", DT_FLOAT, false },   { "value_floats", DT_FLOAT, true },
        { "value_string", DT_STRING, false }, { "value_strings", DT_STRING, true },
    };
    const Attr *a = node_attr(n, "value");
    Ctx *cx = node_cx(n);
    if (a) {
        set_out_type(n, 0, type_of_ints(cx, a->t->dtype, a->t->rank, a->t->dims));
        return true;
    }
    for (size_t i = 0; i < COUNT(form); i++) {
        a = node_attr(n, form[i].name);
        if (!a)
            continue;
        Shape s = { .rank = form[i].list,
                    .d = { form[i].list ? dim_int(cx, (int64_t)a->n) : NULL } };
        return out_shape(n, 0, form[i].dtype, &s);
    }
    return node_fail(n, "has no value");
}

/* ---- random numbers ---- */

static bool shape_attr(Node *n, DType t)
{
    const int64_t *at;
    size_t count;
    if (!node_ints(n, "shape", &at, &count))
        return node_fail(n, "the attribute shape is missing");
    Shape s = { .rank = (int)count };
    if (count > MAX_RANK)
        return node_fail(n, "rank %zu is more than %d", count, MAX_RANK);
    for (int i = 0; i < s.rank; i++)
        s.d[i] = dim_int(node_cx(n), at[i]);
    return out_shape(n, 0, t, &s);
}

static bool infer_random(Node *n) { return shape_attr(n, (DType)node_int(n, "dtype", DT_FLOAT)); }
static bool infer_random_like(Node *n)
{
    return out_like(n, 0, (DType)node_int(n, "dtype", first_type(n)), n->in[0]);
}

static bool infer_multinomial(Node *n)
{
    Shape x = shape_of(n->in[0]);
    Shape s = { .rank = 2,
                .d = { x.rank == 2 ? x.d[0] : NULL,
                       dim_int(node_cx(n), node_int(n, "sample_size", 1)) } };
    return need_rank_of(n, n->in[0], "the input", 2, 2) &&
        out_partial(n, 0, (DType)node_int(n, "dtype", DT_INT32), &s);
}

/* ---- quantisation ---- */

/* QuantizeLinear(x, scale, zero?): the zero point's type, or output_dtype, or uint8. */
static bool infer_quantize(Node *n)
{
    DType t = (DType)node_int(n, "output_dtype", 0);
    if (node_in(n, 2))
        t = ox_dtype(n->in[2]);
    return out_like(n, 0, t ? t : DT_UINT8, n->in[0]);
}

static bool infer_dequantize(Node *n)
{
    DType t = (DType)node_int(n, "output_dtype", 0);
    return out_like(n, 0, t ? t : ox_dtype(n->in[1]), n->in[0]);
}

static bool infer_dynamic_quantize(Node *n)
{
    Shape s = { .rank = 0 };
    return out_like(n, 0, DT_UINT8, n->in[0]) && out_shape(n, 1, DT_FLOAT, &s) &&
        out_shape(n, 2, DT_UINT8, &s);
}

/* ---- signals ---- */

static bool infer_window(Node *n)
{
    Shape s = { .rank = 1, .d = { item_at(n->in[0], 0) } };
    return out_partial(n, 0, (DType)node_int(n, "output_datatype", DT_FLOAT), &s);
}

/* DFT(x, length?, axis?): the last axis is 1 (real) or 2 (complex). */
static bool infer_dft(Node *n)
{
    Ctx *cx = node_cx(n);
    Shape x = shape_of(n->in[0]);
    Shape open = { .rank = x.rank };
    const int64_t *at;
    int64_t count, axis = -2;
    int a;
    if (x.rank < 0)
        return out_shape(n, 0, first_type(n), &x);
    if (node_in(n, 2)) {
        if (!node_in_ints(n, 2, &at, &count))
            return out_partial(n, 0, first_type(n), &open);
        axis = at[0];
    }
    if (!wrap_axis(n, axis, x.rank, &a))
        return false;
    if (a == x.rank - 1)
        return node_fail(n, "the last axis holds real and imaginary parts");
    if (node_in(n, 1))
        x.d[a] = item_at(n->in[1], 0);
    bool onesided = node_int(n, "onesided", 0) != 0;
    bool inverse = node_int(n, "inverse", 0) != 0;
    if (onesided && !inverse && x.d[a])
        x.d[a] = dim_add(cx, dim_floordiv(cx, x.d[a], dim_int(cx, 2)), dim_int(cx, 1));
    else if (onesided && inverse && !node_in(n, 1))
        x.d[a] = dim_mul(cx, dim_sub(cx, x.d[a], dim_int(cx, 1)), dim_int(cx, 2));
    x.d[x.rank - 1] = dim_int(cx, onesided && inverse ? 1 : 2);
    return out_partial(n, 0, first_type(n), &x);
}

/* STFT(signal [B, L, 1|2], step, window?, length?) -> [B, frames, bins, 2] */
static bool infer_stft(Node *n)
{
    Ctx *cx = node_cx(n);
    Shape x = shape_of(n->in[0]);
    Shape w = shape_of(node_in(n, 2));
    Dim step = item_at(n->in[1], 0);
    Dim length = item_at(node_in(n, 3), 0);
    int64_t v;
    if (!length && !node_in(n, 3) && w.rank == 1)
        length = w.d[0];
    Shape y = { .rank = 4, .d = { x.rank == 3 ? x.d[0] : NULL, NULL, NULL, dim_int(cx, 2) } };
    if (length && step && x.rank == 3 && dim_known(step, &v) && v > 0)
        y.d[1] = dim_add(cx, dim_floordiv(cx, dim_sub(cx, x.d[1], length), step), dim_int(cx, 1));
    if (length)
        y.d[2] = node_int(n, "onesided", 1)
            ? dim_add(cx, dim_floordiv(cx, length, dim_int(cx, 2)), dim_int(cx, 1))
            : length;
    return out_partial(n, 0, first_type(n), &y);
}

/* ---- losses ---- */

/* [N, C, d..] against [N, d..]: the target's shape, or a number when it is reduced. */
static bool infer_loss(Node *n)
{
    Shape s = { .rank = 0 };
    if (!strcmp(node_str(n, "reduction", "mean"), "none"))
        s = shape_of(n->in[1]);
    return out_shape(n, 0, first_type(n), &s) && out_like(n, 1, first_type(n), n->in[0]);
}

const InferRow infer_misc[] = { { "Bernoulli", infer_random_like },
                                { "BlackmanWindow", infer_window },
                                { "Constant", infer_constant },
                                { "DFT", infer_dft },
                                { "DequantizeLinear", infer_dequantize },
                                { "DynamicQuantizeLinear", infer_dynamic_quantize },
                                { "HammingWindow", infer_window },
                                { "HannWindow", infer_window },
                                { "Multinomial", infer_multinomial },
                                { "NegativeLogLikelihoodLoss", infer_loss },
                                { "QuantizeLinear", infer_quantize },
                                { "RandomNormal", infer_random },
                                { "RandomNormalLike", infer_random_like },
                                { "RandomUniform", infer_random },
                                { "RandomUniformLike", infer_random_like },
                                { "STFT", infer_stft },
                                { "SoftmaxCrossEntropyLoss", infer_loss },
                                { 0 } };
