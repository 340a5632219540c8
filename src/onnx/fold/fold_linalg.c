/* fold_linalg.c - the value of MatMul and Gemm. Sums are kept in double (int64 for integers),
 * rounded once. */
#include "onnx/fold/fold.h"

static int64_t *as_ints(const Fold *f, int i)
{
    const Data *d = &f->in[i];
    bool takes = num_kind(d->dtype) == NUM_INT || num_kind(d->dtype) == NUM_UINT64;
    int64_t *out = takes ? new_array(f->cx, int64_t, d->numel + !d->numel) : NULL;
    if (out)
        load_ints(d->dtype, d->at, 1, d->numel, out);
    return out;
}

/* One matrix product; a is [rows, inner] by strides (ar, ac), b [inner, cols] by (br, bc). */
typedef struct Product {
    int64_t rows, inner, cols, ar, ac, br, bc;
} Product;

static void row_reals(Ctx *cx, const Product *p, const double *a, const double *b, int64_t r,
                      double *row)
{
    count_numbers(cx, (uint64_t)(p->inner * p->cols));
    memset(row, 0, (size_t)p->cols * sizeof *row);
    for (int64_t k = 0; k < p->inner; k++)
        for (int64_t c = 0; c < p->cols; c++)
            row[c] += a[r * p->ar + k * p->ac] * b[k * p->br + c * p->bc];
}

static void row_ints(Ctx *cx, const Product *p, const int64_t *a, const int64_t *b, int64_t r,
                     int64_t *row)
{
    count_numbers(cx, (uint64_t)(p->inner * p->cols));
    memset(row, 0, (size_t)p->cols * sizeof *row);
    for (int64_t k = 0; k < p->inner; k++)
        for (int64_t c = 0; c < p->cols; c++)
            row[c] = (int64_t)((uint64_t)row[c] +
                               (uint64_t)a[r * p->ar + k * p->ac] *
                                   (uint64_t)b[k * p->br + c * p->bc]);
}

/* x as a stack of matrices, vectors with the axis that numpy gives them; strides of the stack as
 * `rank` batch axes. */
static void batch_strides(const Data *x, int64_t matrix, int rank, int64_t *s)
{
    Data stack = { .rank = x->rank > 2 ? x->rank - 2 : 0, .dims = x->dims };
    broadcast_strides(&stack, rank, s);
    for (int i = 0; i < rank; i++)
        s[i] *= matrix;
}

/* The matrices at the end of x and y, each contiguous. */
static Product last_matrices(const Data *x, const Data *y)
{
    Product p = { .rows = 1, .inner = x->dims[x->rank - 1], .cols = 1, .ac = 1, .bc = 1 };
    if (x->rank > 1)
        p.rows = x->dims[x->rank - 2];
    if (y->rank > 1)
        p.cols = y->dims[y->rank - 1];
    p.ar = p.inner;
    p.br = p.cols;
    return p;
}

/* Matrix by matrix of the broadcast stack, row by row: reals in double, whole numbers in int64. */
static bool fold_matmul(Fold *f)
{
    const Data *x = &f->in[0];
    const Data *y = &f->in[1];
    Product p = last_matrices(x, y);
    bool real = num_kind(x->dtype) == NUM_REAL;
    double *a = real ? fold_reals(f, 0) : NULL;
    double *b = real ? fold_reals(f, 1) : NULL;
    int64_t *ia = real ? NULL : as_ints(f, 0);
    int64_t *ib = real ? NULL : as_ints(f, 1);
    void *row = mem_array(f->cx, (size_t)p.cols + 1, 8);
    if (!row || (real ? !a || !b : !ia || !ib))
        return false;
    int batch = x->rank > y->rank ? x->rank - 2 : y->rank - 2;
    batch = batch < 0 ? 0 : batch;
    int64_t sa[MAX_RANK], sb[MAX_RANK], at = 0;
    batch_strides(x, p.rows * p.inner, batch, sa);
    batch_strides(y, p.inner * p.cols, batch, sb);
    Walk w;
    walk_start(&w, batch, f->out->dims, 2, (const int64_t *const[]){ sa, sb });
    for (; !w.done && p.rows && p.cols; walk_next(&w))
        for (int64_t i = 0; i < w.run; i++)
            for (int64_t r = 0; r < p.rows && !ctx_failed(f->cx); r++, at += p.cols) {
                int64_t oa = w.at[0] + i * w.step[0];
                int64_t ob = w.at[1] + i * w.step[1];
                if (real) {
                    row_reals(f->cx, &p, a + oa, b + ob, r, row);
                    store_reals(f->out->dtype, item_ptr(f->out, at), p.cols, row);
                } else {
                    row_ints(f->cx, &p, ia + oa, ib + ob, r, row);
                    store_ints(f->out->dtype, item_ptr(f->out, at), p.cols, row);
                }
            }
    return true;
}

/* alpha * A' * B' + beta * C */
static bool fold_gemm(Fold *f)
{
    const Data *x = &f->in[0];
    const Data *y = &f->in[1];
    bool ta = node_int(f->node, "transA", 0) != 0;
    bool tb = node_int(f->node, "transB", 0) != 0;
    bool add = f->node->n_in > 2 && f->in[2].at;
    Product p = { .rows = x->dims[ta], .inner = x->dims[!ta], .cols = y->dims[!tb] };
    p.ar = ta ? 1 : p.inner;
    p.ac = ta ? p.rows : 1;
    p.br = tb ? 1 : p.cols;
    p.bc = tb ? p.inner : 1;
    double *a = fold_reals(f, 0);
    double *b = fold_reals(f, 1);
    double *c = add ? fold_reals(f, 2) : NULL;
    double *row = new_array(f->cx, double, p.cols + 1);
    double alpha = (float)node_float(f->node, "alpha", 1);
    double beta = (float)node_float(f->node, "beta", 1);
    int64_t s[2] = { 0 };
    if (!a || !b || !row || (add && !c))
        return false;
    if (add)
        broadcast_strides(&f->in[2], 2, s);
    for (int64_t r = 0; r < p.rows && !ctx_failed(f->cx); r++) {
        row_reals(f->cx, &p, a, b, r, row);
        for (int64_t k = 0; k < p.cols; k++)
            row[k] = alpha * row[k] + (add ? beta * c[r * s[0] + k * s[1]] : 0);
        store_reals(f->out->dtype, item_ptr(f->out, r * p.cols), p.cols, row);
    }
    return true;
}

const FoldRow fold_linalg[] = { { "Gemm", fold_gemm }, { "MatMul", fold_matmul }, { 0 } };
