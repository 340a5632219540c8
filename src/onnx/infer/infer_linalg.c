/* infer_linalg.c - products: MatMul, Gemm, Einsum, attention. */
#include "onnx/infer/infer.h"

static DType first_type(const Node *n) { return ox_dtype(n->in[0]); }

/* ---- MatMul, Gemm ---- */

/* numpy's matmul: vectors get an axis for the product and lose it again. */
static bool matmul_as(Node *n, DType t, int ia, int ib)
{
    Ctx *cx = node_cx(n);
    Shape a = shape_of(n->in[ia]);
    Shape b = shape_of(n->in[ib]);
    Shape out = { .rank = -1 };
    if (a.rank == 0 || b.rank == 0)
        return node_fail(
            n, "both arguments to matmul need to be at least 1D, but they are %dD and %dD", a.rank,
            b.rank);
    if (a.rank < 0 || b.rank < 0)
        return out_shape(n, 0, t, &out);
    Dim ka = a.d[a.rank - 1];
    Dim kb = b.d[b.rank > 1 ? b.rank - 2 : 0];
    if (dim_eq(cx, ka, kb) != YES &&
        !dim_require(cx, ka, kb, "mat1 and mat2 shapes cannot be multiplied (%s and %s)",
                     type_text(cx, n->in[ia]->type)->s, type_text(cx, n->in[ib]->type)->s))
        return false;
    out = a;
    Shape with = b;
    out.rank = a.rank > 2 ? a.rank - 2 : 0;
    with.rank = b.rank > 2 ? b.rank - 2 : 0;
    if (!shape_broadcast(n, &out, &with))
        return false;
    if (a.rank > 1)
        out.d[out.rank++] = a.d[a.rank - 2];
    if (b.rank > 1)
        out.d[out.rank++] = b.d[b.rank - 1];
    return out_shape(n, 0, t, &out);
}

static bool infer_matmul(Node *n) { return matmul_as(n, first_type(n), 0, 1); }
static bool infer_matmul_integer(Node *n) { return matmul_as(n, DT_INT32, 0, 1); }
/* a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero */
static bool infer_qlinear_matmul(Node *n) { return matmul_as(n, ox_dtype(n->in[7]), 0, 3); }

/* Axis i of a matrix, which is transposed or not; NULL when its rank is unknown. */
static Dim matrix_dim(const Shape *m, bool transposed, int i)
{
    if (m->rank != 2)
        return NULL;
    return m->d[transposed ? 1 - i : i];
}

/* The sizes that a Gemm sums over are equal, where both are known. dim_eq is asked first: the texts
 * of an error take time. */
static bool same_inner(Node *n, Dim a, Dim b)
{
    Ctx *cx = node_cx(n);
    if (!a || !b || dim_eq(cx, a, b) == YES)
        return true;
    const char *of_a = node_int(n, "transA", 0) ? " transposed" : "";
    const char *of_b = node_int(n, "transB", 0) ? " transposed" : "";
    return dim_require(cx, a, b, "mat1 and mat2 shapes cannot be multiplied (%s%s and %s%s)",
                       type_text(cx, n->in[0]->type)->s, of_a, type_text(cx, n->in[1]->type)->s,
                       of_b);
}

/* alpha * A' * B' + beta * C: rows of A', columns of B'. C is stretched, never the product. */
static bool infer_gemm(Node *n)
{
    Shape a = shape_of(n->in[0]);
    Shape b = shape_of(n->in[1]);
    Shape c = shape_of(node_in(n, 2));
    bool ta = node_int(n, "transA", 0) != 0;
    bool tb = node_int(n, "transB", 0) != 0;
    if (!need_rank_of(n, n->in[0], "A", 2, 2) || !need_rank_of(n, n->in[1], "B", 2, 2))
        return false;
    if (!same_inner(n, matrix_dim(&a, ta, 1), matrix_dim(&b, tb, 0)))
        return false;
    Shape s = { .rank = 2, .d = { matrix_dim(&a, ta, 0), matrix_dim(&b, tb, 1) } };
    Shape fresh = { .rank = 2 };
    for (int i = 0; i < 2; i++)
        if (!s.d[i])
            s.d[i] = fresh.d[i] = fresh_in(n, 0, DIM_MAX);
    if (node_in(n, 2) && c.rank > 2)
        return node_fail(n, "C has rank %d, more than 2", c.rank);
    Shape with = s;
    if (node_in(n, 2) && !shape_broadcast(n, &with, &c))
        return false;
    if (!out_shape(n, 0, first_type(n), &s))
        return false;
    set_origins(n, 0, &fresh);
    return true;
}

/* ---- Einsum ---- */

/* One term of an equation: its labels in order, '.' standing for the ellipsis. */
typedef struct Term {
    char label[MAX_RANK + 1];
    int n;
    int dots; /* where the ellipsis is, or -1 */
} Term;
typedef struct Equation {
    Term *in;
    int n_in;
    Term out;
    bool explicit_out;
} Equation;

/* equation = term ("," term)* ["->" term] */
static bool einsum_parse(Node *n, Equation *eq)
{
    const char *s = node_str(n, "equation", "");
    eq->in = new_array(node_cx(n), Term, n->n_in);
    if (!eq->in)
        return false;
    eq->n_in = 1;
    Term *t = eq->in;
    t->dots = eq->out.dots = -1;
    for (; *s; s++) {
        if (*s == ' ')
            continue;
        if (*s == ',' && !eq->explicit_out) {
            if (eq->n_in == n->n_in)
                return node_fail(n, "more terms in the equation than the %d operands", n->n_in);
            t = &eq->in[eq->n_in++];
            t->dots = -1;
        } else if (s[0] == '-' && s[1] == '>' && !eq->explicit_out) {
            eq->explicit_out = true;
            t = &eq->out;
            s++;
        } else if (s[0] == '.' && s[1] == '.' && s[2] == '.' && t->dots < 0) {
            t->dots = t->n;
            s += 2;
        } else if (((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z')) && t->n < MAX_RANK)
            t->label[t->n++] = *s;
        else
            return node_fail(n, "cannot read the equation at \"%s\"", s);
    }
    return eq->n_in == n->n_in
        ? true
        : node_fail(n, "%d terms in the equation for %d operands", eq->n_in, n->n_in);
}

/* Without "->": labels that occur once, in alphabetical order, after the ellipsis. */
static void einsum_implicit(Equation *eq)
{
    int seen[128] = { 0 };
    for (int i = 0; i < eq->n_in; i++) {
        if (eq->in[i].dots >= 0)
            eq->out.dots = 0;
        for (int k = 0; k < eq->in[i].n; k++)
            seen[(unsigned char)eq->in[i].label[k]]++;
    }
    for (int c = 0; c < 128; c++)
        if (seen[c] == 1 && eq->out.n < MAX_RANK)
            eq->out.label[eq->out.n++] = (char)c;
}

/* The size of each label, by its letter, and the broadcast shape of what the ellipses stand for. */
static bool einsum_bind(Node *n, const Equation *eq, Dim *size, Shape *dots)
{
    for (int i = 0; i < eq->n_in; i++) {
        const Term *t = &eq->in[i];
        Shape x = shape_of(n->in[i]);
        Shape mine = { .rank = 0 };
        int extra = x.rank - t->n;
        if (extra < 0 || (extra > 0 && t->dots < 0))
            return node_fail(n, "operand %d has rank %d, its term %d labels", i, x.rank, t->n);
        for (int k = 0, at = 0; k <= t->n; k++) {
            for (int e = 0; k == t->dots && e < extra; e++)
                mine.d[mine.rank++] = x.d[at++];
            if (k == t->n)
                break;
            Dim *d = &size[(unsigned char)t->label[k]];
            if (!*d)
                *d = x.d[at++];
            else if (!dim_broadcast(node_cx(n), *d, x.d[at++], d))
                return node_fail(n, "operands could not be broadcast together for label %c",
                                 t->label[k]);
        }
        if (!shape_broadcast(n, dots, &mine))
            return false;
    }
    return true;
}

/* "bij,bjk->bik" of [8,2,3] and [8,3,4] is [8,2,4]; of an operand without a rank the result has
 * none. */
static bool infer_einsum(Node *n)
{
    Equation eq = { 0 };
    Shape s = { .rank = -1 };
    Shape dots = { .rank = 0 };
    Dim size[128] = { NULL };
    if (!einsum_parse(n, &eq))
        return false;
    for (int i = 0; i < n->n_in; i++)
        if (ox_rank(n->in[i]) < 0)
            return out_shape(n, 0, first_type(n), &s);
    if (!eq.explicit_out)
        einsum_implicit(&eq);
    if (!einsum_bind(n, &eq, size, &dots))
        return false;
    if (eq.out.n + dots.rank > MAX_RANK)
        return node_fail(n, "rank %d is more than %d", eq.out.n + dots.rank, MAX_RANK);
    s.rank = 0;
    for (int k = 0; k <= eq.out.n; k++) {
        for (int e = 0; k == eq.out.dots && e < dots.rank; e++)
            s.d[s.rank++] = dots.d[e];
        if (k == eq.out.n)
            break;
        s.d[s.rank] = size[(unsigned char)eq.out.label[k]];
        if (!s.d[s.rank++])
            return node_fail(n, "label %c of the result is in no term", eq.out.label[k]);
    }
    return out_shape(n, 0, first_type(n), &s);
}

/* ---- attention ---- */

/* [B, L, H*D] as [B, H, L, D] */
static bool split_heads(Node *n, Shape *x, const char *attr)
{
    Ctx *cx = node_cx(n);
    if (x->rank != 3)
        return true;
    int64_t heads = node_int(n, attr, 0);
    Dim each;
    if (heads < 1)
        return node_fail(n, "an input of rank 3 needs the attribute %s", attr);
    if (!dim_divide(cx, x->d[2], dim_int(cx, heads), &each)) {
        if (dim_known(x->d[2], NULL))
            return node_fail(n, "%s items are not a multiple of %lld heads",
                             dim_text(cx, x->d[2])->s, (long long)heads);
        each = dim_floordiv(cx, x->d[2], dim_int(cx, heads));
    }
    Dim length = x->d[1];
    *x = (Shape){ .rank = 4, .d = { x->d[0], dim_int(cx, heads), length, each } };
    return true;
}

/* Attention(Q, K, V, mask?, past_key?, past_value?, nonpad?) -> Y, present_key?, present_value?,
 * qk? */
static bool infer_attention(Node *n)
{
    Ctx *cx = node_cx(n);
    Shape q = shape_of(n->in[0]);
    Shape k = shape_of(n->in[1]);
    Shape v = shape_of(n->in[2]);
    Shape unknown = { .rank = -1 };
    DType t = first_type(n);
    static const char *const names[] = { "Q", "K", "V" };
    for (int i = 0; i < 3; i++)
        if (!need_rank_of(n, n->in[i], names[i], 3, 4))
            return false;
    if (q.rank < 0 || k.rank < 0 || v.rank < 0)
        return out_shape(n, 0, t, &q) && out_shape(n, 1, ox_dtype(n->in[1]), &unknown) &&
            out_shape(n, 2, ox_dtype(n->in[2]), &unknown) && out_shape(n, 3, t, &unknown);
    bool flat = q.rank == 3;
    if (!split_heads(n, &q, "q_num_heads") || !split_heads(n, &k, "kv_num_heads") ||
        !split_heads(n, &v, "kv_num_heads"))
        return false;
    if (!dim_require(cx, q.d[3], k.d[3], "Attention: a head of Q has %s items, a head of K %s",
                     dim_text(cx, q.d[3])->s, dim_text(cx, k.d[3])->s) ||
        !dim_require(cx, k.d[2], v.d[2], "Attention: K has length %s, V %s",
                     dim_text(cx, k.d[2])->s, dim_text(cx, v.d[2])->s))
        return false;
    Shape past = shape_of(node_in(n, 4));
    Dim total = k.d[2];
    if (past.rank == 4)
        total = dim_add(cx, past.d[2], k.d[2]);
    else if (node_in(n, 4))
        total = fresh_in(n, 0, DIM_MAX);
    Shape y = { .rank = 4, .d = { q.d[0], q.d[1], q.d[2], v.d[3] } };
    if (flat)
        y = (Shape){ .rank = 3, .d = { q.d[0], q.d[2], dim_mul(cx, q.d[1], v.d[3]) } };
    Shape qk = { .rank = 4, .d = { q.d[0], q.d[1], q.d[2], total } };
    k.d[2] = v.d[2] = total;
    return out_shape(n, 0, t, &y) && out_shape(n, 1, ox_dtype(n->in[1]), &k) &&
        out_shape(n, 2, ox_dtype(n->in[2]), &v) && out_shape(n, 3, t, &qk);
}

static bool infer_rotary(Node *n)
{
    return need_rank_of(n, n->in[0], "the input", 3, 4) && out_like(n, 0, first_type(n), n->in[0]);
}

static bool infer_det(Node *n)
{
    Shape x = shape_of(n->in[0]);
    if (!need_rank_of(n, n->in[0], "the input", 2, MAX_RANK))
        return false;
    if (x.rank >= 0 &&
        !dim_require(node_cx(n), x.d[x.rank - 1], x.d[x.rank - 2],
                     "Det: the matrices must be square"))
        return false;
    x.rank -= x.rank >= 0 ? 2 : 0;
    return out_shape(n, 0, first_type(n), &x);
}

const InferRow infer_linalg[] = { { "Attention", infer_attention },
                                  { "Det", infer_det },
                                  { "Einsum", infer_einsum },
                                  { "Gemm", infer_gemm },
                                  { "MatMul", infer_matmul },
                                  { "MatMulInteger", infer_matmul_integer },
                                  { "QLinearMatMul", infer_qlinear_matmul },
                                  { "RotaryEmbedding", infer_rotary },
                                  { 0 } };
