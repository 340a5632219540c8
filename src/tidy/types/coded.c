/* coded.c - products with weights that the program itself keeps in blocks of 4 or 8 bits, with
 * --fuse.
 *
 *     Gemm(x, DequantizeLinear(codes, scales), b)               ->  Add(MatMulNBits(x, ..), b)
 *     MatMul(x, Transpose(DequantizeLinear(codes, scales)))     ->  MatMulNBits(x, codes, scales)
 *     Mul(MatMul(x, Cast(codes)), scales)                       ->  MatMulNBits(x, codes, scales)
 *
 * Codes are [N, K], as torchao has them (of the last form turned round), and blocks lie along K.
 * One scale for a whole row is that of each of its blocks. */
#include "tidy/types/types.h"

/* What such a DequantizeLinear reads. */
typedef struct Coded {
    const Const *codes, *scales, *zeros; /* codes of int8; zeros: NULL for none */
    NBits how;
} Coded;

/* The constant of 8 bits that v holds, or packs as 4 bits. */
static const Const *bytes_of(Ox v, int *bits)
{
    if (!v || !is_const(v))
        return NULL;
    *bits = ox_dtype(v) == DT_INT4 ? 4 : 8;
    return ox_dtype(v) == DT_INT4 ? const_of_nibbles(v->k) : v->k;
}

/* The blocks that MatMulNBits takes: a power of 2. */
enum { LEAST_BLOCK = 16, LARGEST_BLOCK = 256 };

/* k, [N, 1], as [N, blocks] of the same numbers. NULL without memory. */
static const Const *repeated(Ctx *cx, const Const *k, int64_t blocks)
{
    Const *all = new(cx, Const);
    int64_t dims[] = { k->dims[0], blocks };
    int64_t strides[] = { k->strides ? k->strides[0] : 1, 0 };
    *all = *k;
    all->dims = mem_copy(cx, dims, sizeof dims);
    all->strides = mem_copy(cx, strides, sizeof strides);
    return all->dims && all->strides ? all : NULL;
}

/* Fills in N, K and the block of codes, scales and zeros that are there. A row with one scale is
 * cut into the largest blocks that divide it. False where MatMulNBits takes no such blocks. */
static bool measure(Ctx *cx, Coded *c)
{
    NBits *how = &c->how;
    how->N = c->codes->dims[0];
    how->K = c->codes->dims[1];
    int64_t blocks = c->scales->dims[1];
    if (c->scales->dims[0] != how->N || blocks == 0 || how->K % blocks)
        return false;
    how->block = how->K / blocks;
    if (blocks > 1)
        return how->block >= LEAST_BLOCK && how->block <= LARGEST_BLOCK &&
            (how->block & (how->block - 1)) == 0;
    for (how->block = LARGEST_BLOCK; how->K % how->block; how->block /= 2)
        if (how->block == LEAST_BLOCK)
            return false;
    c->scales = repeated(cx, c->scales, how->K / how->block);
    c->zeros = c->zeros ? repeated(cx, c->zeros, how->K / how->block) : NULL;
    return c->scales != NULL;
}

/* n as a DequantizeLinear of blocks along the rows of int8 codes. False: it is another. */
static bool is_coded(Ctx *cx, const Node *n, Coded *c)
{
    int bits_of_zeros;
    bool known = n && ox_rank(n->in[0]) == 2 && node_int(n, "axis", 1) == 1 && is_const(n->in[1]) &&
        ox_dtype(n->in[1]) == DT_FLOAT && ox_rank(n->in[1]) == 2;
    c->codes = known ? bytes_of(n->in[0], &c->how.bits) : NULL;
    if (!c->codes || c->codes->dtype != DT_INT8)
        return false;
    c->scales = n->in[1]->k;
    c->zeros = bytes_of(in_of(n, 2), &bits_of_zeros);
    const Const *zeros = c->zeros;
    bool alike = !in_of(n, 2) ||
        (zeros && zeros->rank == 2 && zeros->dims[0] == c->scales->dims[0] &&
         zeros->dims[1] == c->scales->dims[1]);
    return alike && measure(cx, c);
}

/* The second input of a product, if it is such a weight with its rows as columns. */
static bool coded_weight(Ctx *cx, const Node *n, Coded *c)
{
    bool turned;
    Ox w = product_matrix(n, &turned);
    return w && turned && is_coded(cx, made_by(w, "DequantizeLinear"), c);
}

/* n is Mul(MatMul(x, Cast(codes)), scales), a scale for each column. */
static bool scaled_product(Ctx *cx, const Node *n, Coded *c)
{
    const Node *mul = made_by(n->in[0], "MatMul");
    const Node *cast = mul ? made_by(mul->in[1], "Cast") : NULL;
    Ox scales = n->in[1];
    if (!cast || !is_const(cast->in[0]) || ox_dtype(cast->in[0]) != DT_INT8 ||
        ox_rank(cast->in[0]) != 2 || !is_const(scales) || ox_dtype(scales) != DT_FLOAT)
        return false;
    int64_t column[] = { const_numel(scales->k), 1 };
    *c = (Coded){ .how.bits = 8 };
    c->codes = const_permute(cx, cast->in[0]->k, (const int[]){ 1, 0 });
    c->scales = ox_rank(scales) == 1 ? const_reshape(cx, scales->k, 2, column) : NULL;
    return c->codes && c->scales && measure(cx, c);
}

/* MatMulNBits of x, without its last input where there are no zero points. */
static Ox product(Graph *g, Ox x, const Coded *c)
{
    Ctx *cx = g->cx;
    int bits = c->how.bits;
    int64_t blocks = c->how.K / c->how.block;
    int64_t dims[] = { c->how.N, blocks, c->how.block * bits / 8 };
    int64_t packed = c->how.N * ((blocks * bits + 7) / 8);
    Ox codes = ox_const(g, const_as_codes(cx, c->codes, bits, 3, dims));
    Ox scales = ox_const(g, c->scales);
    Ox zeros = c->zeros ? ox_const(g, const_as_codes(cx, c->zeros, bits, 1, &packed)) : NULL;
    return matmul_nbits(g, INPUTS(x, codes, scales, zeros), c->how);
}

/* MatMulNBits in place of a product whose weight has codes; a Gemm's summand is added behind it. */
static bool fuse_product(Rewrite *rw, Node *n)
{
    Coded c = { 0 };
    Ox x = in_of(n, 0);
    bool fits = false;
    if (node_is(n, "MatMul") || (node_is(n, "Gemm") && plain_gemm(n)))
        fits = coded_weight(rw->cx, n, &c);
    else if (node_is(n, "Mul") && scaled_product(rw->cx, n, &c)) {
        x = made_by(x, "MatMul")->in[0];
        fits = true;
    }
    if (!fits || ox_dtype(x) != DT_FLOAT || ox_rank(x) < 2)
        return !ctx_failed(rw->cx);
    Ox y = product(n->graph, x, &c);
    if (ox_ok(y) && node_is(n, "Gemm") && in_of(n, 2))
        y = ox_g(n->graph, "Add", y, n->in[2]);
    if (ox_ok(y))
        replace(rw, n->out[0], y);
    return !ctx_failed(rw->cx);
}

bool pass_coded(Graph *g, const TidyOptions *o)
{
    if (!o->fuse || !fused_kernel("MatMulNBits", "T1", DT_FLOAT))
        return true;
    return rewrite(g, o, fuse_product, NULL);
}
