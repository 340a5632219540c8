/* qdq.c - QuantizeLinear and DequantizeLinear in the forms that ONNX Runtime runs in integers.
 * Other runtimes read them as well; for --target=onnx nothing changes.
 *
 *     MatMul(DequantizeLinear(q, s, z), DequantizeLinear(w, t))    s: known to the running model
 *         ->  Mul(Cast(MatMulInteger(q, w, z)), Mul(s, t))
 *         it would become MatMulNBits, which rounds x anew
 *     MatMulInteger(q, w)                                          of int8
 *         ->  MatMulInteger(q + 128, w + 128, 128, 128), of uint8
 *         a tenth of the time on x86; and int8 on the right saturates on some processors
 *     DequantizeLinear(QuantizeLinear(x, s, z), s, z)              z: int8
 *         ->  the same of uint8, z + 128
 *         only uint8 has kernels on x86
 *     Gemm(DequantizeLinear(q), DequantizeLinear(w), b)
 *         ->  Add(Gemm(.., ..), b)
 *     Add(MatMul(DequantizeLinear(q), DequantizeLinear(w)), b)     b: [N]
 *         ->  Add(MatMul(.., ..), b), b: [1, N]
 *         where the result stays in floats: with a summand of floats it would be a Gemm on floats
 */
#include "tidy/types/types.h"

#include <math.h>

static bool eight_bits(DType t) { return t == DT_INT8 || t == DT_UINT8; }

static bool is_scalar(Ox v) { return v && ox_rank(v) == 0; }

/* The DequantizeLinear of 8 bits that makes v, with a zero point; NULL: another node does. */
static Node *dequantizes(Ox v)
{
    Node *n = made_by(v, "DequantizeLinear");
    bool known = n && eight_bits(ox_dtype(n->in[0])) && ox_dtype(n->in[1]) == DT_FLOAT;
    return known && in_of(n, 2) ? n : NULL;
}

/* ---- products of an input whose scale the running model finds ---- */

/* A weight of 8 bits, [K, N], with one scale, or one for each column. */
typedef struct Columns {
    Ox codes, scale, zero;
} Columns;

/* Constant zero points as one number where all are equal, which is what they are. */
static Ox one_zero_point(Graph *g, Ox zeros)
{
    const int64_t *at;
    int64_t n;
    if (!ox_known_ints(g, ox_cast(g, zeros, DT_INT64), &at, &n) || n == 0)
        return zeros;
    for (int64_t i = 1; i < n; i++)
        if (at[i] != at[0])
            return zeros;
    return ox_integer(g, ox_dtype(zeros), at[0]);
}

static const int64_t swapped[] = { 1, 0 };

static bool is_constant(const Node *d)
{
    return is_const(d->in[0]) && is_const(d->in[1]) && is_const(d->in[2]) &&
        !node_int(d, "block_size", 0);
}

/* The second input of a product as such a weight. False: it is something else. */
static bool columns_of(const Node *n, Columns *w)
{
    Graph *g = n->graph;
    bool turned;
    Ox matrix = product_matrix(n, &turned);
    const Node *d = matrix ? dequantizes(matrix) : NULL;
    if (!d || !is_constant(d) || ox_rank(d->in[0]) != 2)
        return false;
    bool of_columns = ox_rank(d->in[1]) == 1 && node_int(d, "axis", 1) == !turned;
    if (!is_scalar(d->in[1]) && !of_columns)
        return false;
    *w = (Columns){ .codes = d->in[0], .scale = d->in[1], .zero = one_zero_point(g, d->in[2]) };
    if (turned)
        w->codes = ox_g_with(g, "Transpose", INPUTS(w->codes), INT_LIST("perm", swapped, 2));
    return ox_ok(w->zero) && ox_ok(w->codes);
}

/* Does q, of uint8, use 7 of its bits? */
static bool is_reduced(Graph *g, Ox q)
{
    double most;
    const Node *clip = made_by(q, "Clip");
    return clip && in_of(clip, 2) && ox_known_scalar(g, clip->in[2], &most) && most <= 127;
}

/* What MatMulInteger multiplies: int8 on the left has slow kernels, on the right it saturates
 * beside 8 bits on processors with AVX2, but without VNNI. */
typedef struct Steps {
    Ox q, zero;
} Steps;

static Steps unsigned_input(Graph *g, const Node *d)
{
    Steps s = { d->in[0], d->in[2] };
    const Node *made = made_by(s.q, "QuantizeLinear");
    if (ox_dtype(s.q) != DT_INT8 || !made || !is_scalar(in_of(made, 2)))
        return s;
    s.zero = ox_unsigned(g, d->in[2]);
    Ox zero = ox_unsigned(g, made->in[2]);
    s.q = ox_g(g, "QuantizeLinear", made->in[0], made->in[1], zero);
    return s;
}

static void unsign(Graph *g, Ox *codes, Ox *zero)
{
    *zero = ox_unsigned(g, *zero);
    *codes = ox_unsigned(g, *codes);
}

/* Is v a whole number of 8 bits, signed? */
static bool is_whole_bound(Graph *g, Ox v)
{
    double at;
    return v && ox_known_scalar(g, v, &at) && at >= INT8_MIN && at <= INT8_MAX && at == floor(at);
}

/* Does clip cut whole floats off to those of int8? Its bounds are then among its results. */
static bool cuts_whole(const Node *clip)
{
    Ox x = clip->in[0];
    return ox_dtype(x) == DT_FLOAT &&
        (made_by(x, "Round") || made_by(x, "Floor") || made_by(x, "Ceil")) &&
        is_whole_bound(clip->graph, in_of(clip, 1)) && is_whole_bound(clip->graph, in_of(clip, 2));
}

/* v, int8, as uint8. Of whole floats that were cut off and cast it is the cast of what is 128 more;
 * of others it is not, as a cast truncates towards zero: -0.5 becomes 0, and 127.5 127. */
static Ox moved_up(Graph *g, Ox v)
{
    const Node *cast = made_by(v, "Cast");
    const Node *clip = cast ? made_by(cast->in[0], "Clip") : NULL;
    if (!clip || !cuts_whole(clip))
        return ox_unsigned(g, v);
    Ox more = ox_g(g, "Add", clip->out[0], ox_number(g, DT_FLOAT, 128));
    return ox_ok(more) ? ox_cast(g, more, DT_UINT8) : more;
}

static Ox zero_moved_up(Graph *g, Ox zero)
{
    return zero ? ox_unsigned(g, zero) : ox_integer(g, DT_UINT8, 128);
}

static bool is_int8_weight(Ox w) { return ox_dtype(w) == DT_INT8 && is_const(before_turn(w)); }

/* What torchao's int8 layers multiply: int8, or uint8 that a Cast gives, by int8. (A scale that
 * leaves a bit of uint8 free, as reduce_range has it, stands before a QuantizeLinear.) */
static bool unsign_product(Rewrite *rw, Node *n)
{
    Graph *g = n->graph;
    Ox x = n->in[0];
    Ox zero = in_of(n, 2);
    bool is_signed = ox_dtype(x) == DT_INT8;
    if (is_const(x) || !(is_signed || made_by(x, "Cast")) || !is_int8_weight(n->in[1]) ||
        rw->o->keep_weights)
        return true;
    if (is_signed) {
        x = moved_up(g, x);
        zero = zero_moved_up(g, zero);
    }
    Ox w = ox_unsigned(g, n->in[1]);
    Ox y = ox_g(g, "MatMulInteger", x, w, zero, zero_moved_up(g, in_of(n, 3)));
    if (ox_ok(y))
        replace(rw, n->out[0], y);
    return ox_ok(y);
}

/* A product whose left side is dequantised with a scale and zero point that are no constants: the
 * sums of its steps, scaled. The graph keeps the DequantizeLinear where others read it. Steps of
 * int8 follow a weight of uint8: ONNX Runtime has no kernel for the one times the other. */
static bool multiply_integers(Rewrite *rw, Node *n)
{
    Columns w;
    Graph *g = n->graph;
    if (node_is(n, "MatMulInteger"))
        return unsign_product(rw, n);
    if (!node_is(n, "MatMul") && !(node_is(n, "Gemm") && plain_gemm(n)))
        return true;
    const Node *d = dequantizes(n->in[0]);
    if (!d || !is_scalar(d->in[1]) || !is_scalar(d->in[2]) || is_const(d->in[1]) ||
        ox_rank(d->in[0]) < 2 || !columns_of(n, &w))
        return !ctx_failed(rw->cx);
    Steps x = unsigned_input(g, d);
    if (ox_dtype(w.codes) == DT_INT8 && !rw->o->keep_weights && !is_reduced(g, d->in[0]))
        unsign(g, &w.codes, &w.zero);
    if (ox_dtype(w.codes) == DT_UINT8 && ox_dtype(x.q) == DT_INT8)
        unsign(g, &x.q, &x.zero);
    Ox sums = ox_g(g, "MatMulInteger", x.q, w.codes, x.zero, w.zero);
    if (!ox_ok(sums))
        return false;
    Ox scale = ox_g(g, "Mul", d->in[1], w.scale);
    Ox y = ox_g(g, "Mul", ox_cast(g, sums, DT_FLOAT), scale);
    if (node_is(n, "Gemm") && in_of(n, 2))
        y = ox_g(g, "Add", y, n->in[2]);
    if (ox_ok(y))
        replace(rw, n->out[0], y);
    return ox_ok(y);
}

bool pass_integers(Graph *g, const TidyOptions *o)
{
    return !o->target_ort || !(graph_has(g, "DequantizeLinear") || graph_has(g, "MatMulInteger")) ||
        rewrite(g, o, multiply_integers, NULL);
}

/* ---- summands of products whose result stays in floats ---- */

/* Values that QuantizeLinear alone reads, also through an activation: such a product is QGemm. */
static void find_quantized(Rewrite *rw, const Graph *g)
{
    for (size_t i = 0; i < g->nodes.n; i++) {
        const Node *n = g->nodes.at[i];
        if (n->dead || !node_is(n, "QuantizeLinear") || !used_once(rw, n->in[0]))
            continue;
        Ox v = n->in[0];
        const Node *clip = made_by(v, "Clip");
        const Node *after = clip ? clip : made_by(v, "Relu");
        if (after && used_once(rw, after->in[0]))
            v = after->in[0];
        map_put(rw->cx, rw->arg, v, NULL);
    }
}

static bool is_product_of_codes(const Node *n)
{
    return dequantizes(n->in[0]) && dequantizes(before_turn(n->in[1]));
}

/* n's result, with its summand b in a form of which no Gemm is made. NULL: it is no such sum. */
static Ox parted(Rewrite *rw, const Node *n)
{
    Graph *g = n->graph;
    if (node_is(n, "Gemm") && in_of(n, 2) && plain_gemm(n) && is_product_of_codes(n)) {
        Ox y = ox_make(g, "Gemm", INPUTS(n->in[0], n->in[1]), n->attr, (size_t)n->n_attr);
        return ox_g(g, "Add", y, n->in[2]);
    }
    for (int i = 0; node_is(n, "Add") && i < 2; i++) {
        const Node *product = made_by(n->in[i], "MatMul");
        Ox b = n->in[1 - i];
        if (!product || ox_rank(n->in[i]) < 3 || !is_const(b) || ox_rank(b) != 1 ||
            !is_product_of_codes(product))
            continue;
        const int64_t row[] = { 1, b->k->dims[0] };
        return ox_g(g, "Add", n->in[i], ox_const(g, const_reshape(rw->cx, b->k, 2, row)));
    }
    return NULL;
}

static bool part_summand(Rewrite *rw, Node *n)
{
    if (map_find(rw->arg, n->out[0]))
        return true;
    Ox y = parted(rw, n);
    if (y && ox_ok(y))
        replace(rw, n->out[0], y);
    return !y || ox_ok(y);
}

bool pass_summands(Graph *g, const TidyOptions *o)
{
    Map quantized = { 0 };
    bool ok = !o->target_ort || !graph_has(g, "DequantizeLinear") ||
        rewrite_planned(g, o, find_quantized, part_summand, &quantized);
    map_give(g->cx, &quantized);
    return ok;
}

/* ---- activations of int8 ---- */

/* Constant inputs are weights that training has quantised: int8 is what their kernels take. */
static bool unsign_steps(Rewrite *rw, Node *n)
{
    Graph *g = n->graph;
    const Node *d = dequantizes(n->out[0]);
    const Node *q = d ? made_by(d->in[0], "QuantizeLinear") : NULL;
    if (!q || is_const(q->in[0]) || ox_dtype(d->in[0]) != DT_INT8 || !is_scalar(q->in[2]) ||
        !is_scalar(d->in[2]) || !is_const(q->in[2]) || !is_const(d->in[2]))
        return true;
    Ox steps = ox_g(g, "QuantizeLinear", q->in[0], q->in[1], ox_unsigned(g, q->in[2]));
    Ox x = ox_ok(steps) ? ox_g(g, "DequantizeLinear", steps, d->in[1], ox_unsigned(g, d->in[2]))
                        : steps;
    if (ox_ok(x))
        replace(rw, n->out[0], x);
    return ox_ok(x);
}

bool pass_unsigned(Graph *g, const TidyOptions *o)
{
    return !o->target_ort || !graph_has(g, "QuantizeLinear") || rewrite(g, o, unsign_steps, NULL);
}
