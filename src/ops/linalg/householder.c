/* householder.c - QR decompositions by Householder's reflections, as LAPACK makes them.
 *
 * Step k reflects the rest of column k onto its first element, by H = 1 - tau v v^H with v = (0..,
 * 1, tail). The tails and the taus are kept below the diagonal of R, as geqrf gives them; Q is the
 * product of all H, and H^H is what reflects (that of a complex H is another). The diagonal of R is
 * real, and the sign of each of its elements LAPACK's choice, opposite to that of the element it
 * replaces, so results are PyTorch's. Computed in double. */
#include "ops/linalg/matrix.h"

typedef struct Reflections {
    Ox packed, tau; /* [.., m, n], [.., 1, k] */
    Dim count;      /* k */
} Reflections;

static Ox zero_of(Op *op, Ox like) { return number_like(op, 0, like); }
static Ox one_of(Op *op, Ox like) { return number_like(op, 1, like); }

/* v of reflection k: 0 above the diagonal, 1 on it, then the tail */
static Ox reflector(Op *op, Ox row, Ox k, Ox tail)
{
    Ox below = ox(op, "Greater", row, k);
    Ox at = ox(op, "Equal", row, k);
    Ox rest = ox(op, "Where", below, tail, zero_of(op, tail));
    return ox(op, "Where", at, one_of(op, tail), rest);
}

/* (1 - tau v v^H) c */
static Ox reflected(Op *op, Ox c, Ox v, Ox tau)
{
    Ox across = matrix_product(op, matrix_adjoint(op, v), c);
    Ox scaled = each_mul(op, v, tau);
    Ox part = matrix_product(op, scaled, across);
    return each_sub(op, c, part);
}

/* c (1 - tau v v^H) */
static Ox reflected_right(Op *op, Ox c, Ox v, Ox tau)
{
    Ox down = each_mul(op, matrix_product(op, c, v), tau);
    Ox part = matrix_product(op, down, matrix_adjoint(op, v));
    return each_sub(op, c, part);
}

static Ox negated(Op *op, Ox x)
{
    return ox_is_complex(x) ? each_mul(op, x, real_like(op, -1, x)) : ox(op, "Neg", x);
}

/* Is there nothing to reflect: no tail (its squared length is `rest`), and a first element without
 * an imaginary part? */
static Ox on_axis(Op *op, Ox first, Ox rest)
{
    Ox none = ox(op, "Equal", rest, number_like(op, 0, rest));
    if (!ox_is_complex(first))
        return none;
    Ox real = ox(op, "Equal", ox_part(op->g, first, 1), number_like(op, 0, rest));
    return ox(op, "And", none, real);
}

/* H = 1 - tau v v^H, which is made for a column whose element `first` is followed by `tail`. */
typedef struct Reflection {
    Ox onto; /* what H^H makes of `first`; the tail becomes 0 */
    Ox tail; /* that of v */
    Ox tau;
} Reflection;

/* The reflection that turns (first, tail) into (onto, 0). A real `first` with a tail of zeros is
 * there already: tau is 0, and nothing is reflected. */
static Reflection reflection(Op *op, Ox first, Ox tail)
{
    Ox rest = matrix_reduce(op, "ReduceSum", each_square(op, tail), 2, true);
    Ox done = on_axis(op, first, rest);
    Ox norm = ox(op, "Sqrt", ox(op, "Add", each_square(op, first), rest));
    Ox real = each_real(op, first);
    Ox negative = ox(op, "Less", real, real_like(op, 0, first));
    Ox onto = ox(op, "Where", negative, norm, ox(op, "Neg", norm));
    Ox safe = ox(op, "Where", done, real_like(op, 1, first), onto);
    Ox away = each_sub(op, first, onto);
    Ox scale = ox(op, "Where", done, one_of(op, first), away);
    Reflection r;
    r.tau = ox(op, "Where", done, zero_of(op, first), negated(op, each_div(op, away, safe)));
    r.tail = each_div(op, tail, scale);
    r.onto = ox_ok(onto) ? ox(op, "Where", done, first, ox_cast(op->g, onto, ox_dtype(first)))
                         : POISON;
    return r;
}

/* One iteration of the decomposition. state[0]: the matrix so far; state[1]: the taus. */
static void reflect_column(Op *op, const void *data, Ox k, const Ox *state, Ox *next, Ox *go)
{
    (void)data, (void)go;
    Ox a = state[0];
    Ox row = matrix_rows(op, a);
    Ox number = matrix_columns(op, a);
    Ox column = matrix_pick(op, a, k, 1);
    Ox first = matrix_pick(op, column, k, 2);
    Ox below = ox(op, "Greater", row, k);
    Ox tail = ox(op, "Where", below, column, zero_of(op, a));
    Reflection r = reflection(op, first, tail);
    Ox v = reflector(op, row, k, r.tail);
    Ox all = reflected(op, a, v, conjugate(op, r.tau));
    Ox at = ox(op, "Equal", row, k);
    Ox under = ox(op, "Where", below, r.tail, column);
    Ox own = ox(op, "Where", at, r.onto, under);
    Ox later = ox(op, "Greater", number, k);
    Ox now = ox(op, "Equal", number, k);
    Ox replaced = ox(op, "Where", now, own, a);
    next[0] = ox(op, "Where", later, all, replaced);
    next[1] = matrix_recorded(op, state[1], k, r.tau);
}

static bool decompose(Op *op, Ox a, Reflections *r)
{
    if (!ox_ok(a))
        return false;
    Ox wide = ox_cast(op->g, a, in_double(a));
    Ox state[] = { wide, matrix_record(op, a, ox_number(op->g, in_double(a), 0), &r->count) };
    if (!op_loop(op, ox_dim_value(op->g, r->count), reflect_column, NULL, state, 2))
        return false;
    r->packed = state[0];
    r->tau = state[1];
    return true;
}

typedef struct Product {
    const Reflections *r;
    bool first_to_last;
    Ox last;
} Product;

static void reflect_all(Op *op, const void *data, Ox i, const Ox *state, Ox *next, Ox *go)
{
    const Product *p = data;
    (void)go;
    Ox k = p->first_to_last ? i : ox(op, "Sub", p->last, i);
    Ox v = reflector(op, matrix_rows(op, p->r->packed), k, matrix_pick(op, p->r->packed, k, 1));
    Ox tau = matrix_pick(op, p->r->tau, k, 1);
    next[0] = reflected(op, state[0], v, p->first_to_last ? conjugate(op, tau) : tau);
}

/* Q c, or with `transpose` Q^H c */
static Ox times(Op *op, const Reflections *r, Ox c, bool transpose)
{
    Product p = { .r = r,
                  .first_to_last = transpose,
                  .last = ox_dim_value(op->g, dim_sub(op->cx, r->count, dim_int(op->cx, 1))) };
    return op_loop(op, ox_dim_value(op->g, r->count), reflect_all, &p, &c, 1) ? c : POISON;
}

static Ox upper_triangle(Op *op, Ox a, Dim rows)
{
    if (!ox_ok(a))
        return POISON;
    Ox top = slice_axis(op, a, ox_rank(a) - 2, dim_int(op->cx, 0), rows, 1);
    Ox k = ox_int(op->g, 0);
    return ox_with(op, "Trilu", INPUTS(top, k), INT("upper", 1));
}

bool matrix_qr(Op *op, Ox a, bool complete, Ox *q, Ox *r)
{
    Reflections h;
    if (!decompose(op, a, &h))
        return false;
    Dim m = ox_dim(a, ox_rank(a) - 2);
    Dim size = complete ? m : h.count;
    *r = upper_triangle(op, h.packed, size);
    if (q)
        *q = times(op, &h, matrix_eye(op, h.packed, m, size), false);
    return ox_ok(*r) && (!q || ox_ok(*q));
}

/* ---- Hessenberg form ---- */

/* One iteration: a reflection of the rows below k + 1 clears column k there, and is multiplied from
 * the right too. state[0]: the matrix; state[1], when *data says so: the product of reflections. */
static void clear_column(Op *op, const void *data, Ox k, const Ox *state, Ox *next, Ox *go)
{
    (void)go;
    Ox a = state[0];
    Ox row = matrix_rows(op, a);
    Ox under = ox(op, "Add", k, ox_int(op->g, 1));
    Ox column = matrix_pick(op, a, k, 1);
    Ox below = ox(op, "Greater", row, under);
    Ox tail = ox(op, "Where", below, column, zero_of(op, a));
    Reflection r = reflection(op, matrix_pick(op, column, under, 2), tail);
    Ox v = reflector(op, row, under, r.tail);
    Ox left = reflected(op, a, v, conjugate(op, r.tau));
    Ox now = ox(op, "Equal", matrix_columns(op, a), k);
    Ox own = ox(op, "And", now, below);
    Ox cleared = ox(op, "Where", own, zero_of(op, a), left);
    next[0] = reflected_right(op, cleared, v, r.tau);
    if (*(const bool *)data)
        next[1] = reflected_right(op, state[1], v, r.tau);
}

bool matrix_hessenberg(Op *op, Ox a, Ox *h, Ox *q)
{
    if (!ox_ok(a))
        return false;
    Dim n = ox_dim(a, ox_rank(a) - 1);
    Dim count = dim_max(op->cx, dim_sub(op->cx, n, dim_int(op->cx, 2)), dim_int(op->cx, 0));
    bool vectors = q != NULL;
    Ox state[] = { a, vectors ? matrix_eye(op, a, n, n) : NULL };
    if (!op_loop(op, ox_dim_value(op->g, count), clear_column, &vectors, state, vectors ? 2 : 1))
        return false;
    *h = state[0];
    if (q)
        *q = state[1];
    return true;
}

/* ---- the operators ---- */

/* Both of type t, as a tuple; poison when one of them is. */
static Value two(Op *op, Ox first, Ox second, DType t)
{
    if (!ox_ok(first) || !ox_ok(second))
        return val_poison();
    Ox out[2];
    out[0] = ox_cast(op->g, first, t);
    out[1] = ox_cast(op->g, second, t);
    return ox_ok(out[0]) && ox_ok(out[1]) ? result_tuple(op, out, 2) : val_poison();
}

static Value qr(Op *op, const char *name, bool complete, bool only_r)
{
    Ox a = matrix_float(op, name);
    Ox q = NULL;
    Ox r;
    if (!ox_ok(a) || !matrix_qr(op, a, complete, only_r ? NULL : &q, &r))
        return val_poison();
    return two(op, only_r ? matrix_empty(op, ox_dtype(a)) : q, r, ox_dtype(a));
}

static Value lower_linalg_qr(Op *op)
{
    Str mode = arg_str(op, "mode");
    bool complete = mode && !strcmp(mode->s, "complete");
    bool only_r = mode && !strcmp(mode->s, "r");
    if (!mode || (!complete && !only_r && strcmp(mode->s, "reduced")))
        return ctx_failed(op->cx)
            ? val_poison()
            : val_tensor(op->cx,
                         op_fail(op, E_VALUE,
                                 "qr received unrecognized mode '%s' but expected "
                                 "one of 'reduced' (default), 'r', or 'complete'",
                                 mode->s));
    return qr(op, "A", complete, only_r);
}

static Value lower_qr(Op *op) { return qr(op, "self", !arg_bool(op, "some"), false); }

static Value lower_geqrf(Op *op)
{
    Ox a = matrix_float(op, "self");
    Reflections r;
    Ox axes = ints(op, -2);
    return decompose(op, a, &r) ? two(op, r.packed, ox(op, "Squeeze", r.tau, axes), ox_dtype(a))
                                : val_poison();
}

/* The reflections of two arguments, packed and tau, as geqrf returns them. */
static bool reflections_arg(Op *op, const char *packed, const char *tau, Reflections *r)
{
    Ox a = matrix_float(op, packed);
    Ox t = arg(op, tau);
    int rank;
    if (!ox_ok(a) || !need_rank(op, t, ox_rank(a) - 1, &rank))
        return false;
    if (rank != ox_rank(a) - 1)
        return fail(op->cx, E_VALUE, "tau has one dimension less than the matrix, not %d", rank);
    r->count = ox_dim(t, rank - 1);
    r->packed = ox_cast(op->g, a, in_double(a));
    r->tau = unsqueeze_axis(op, ox_cast(op->g, t, in_double(a)), rank - 1);
    return ox_ok(r->packed) && ox_ok(r->tau);
}

static Ox lower_orgqr(Op *op)
{
    const Param *param = op->call->schema->param;
    Reflections r;
    if (!reflections_arg(op, param[0].name->s, param[1].name->s, &r))
        return POISON;
    int rank = ox_rank(r.packed);
    Ox q = times(op, &r,
                 matrix_eye(op, r.packed, ox_dim(r.packed, rank - 2), ox_dim(r.packed, rank - 1)),
                 false);
    return ox_ok(q) ? ox_cast(op->g, q, ox_dtype(arg(op, param[0].name->s))) : POISON;
}

/* Q c (left) or c Q, or with Q^H for Q (transpose); c Q is computed as (Q^H c^H)^H. */
static Ox lower_ormqr(Op *op)
{
    Reflections r;
    Ox c = matrix_float(op, "input3");
    bool left = arg_bool(op, "left");
    bool turned = arg_bool(op, "transpose");
    if (!ox_ok(c) || !reflections_arg(op, "self", "input2", &r))
        return POISON;
    Ox wide = ox_cast(op->g, c, in_double(c));
    Ox from = left ? wide : matrix_adjoint(op, wide);
    Ox out = times(op, &r, from, left == turned);
    if (!ox_ok(out))
        return POISON;
    return ox_cast(op->g, left ? out : matrix_adjoint(op, out), ox_dtype(c));
}

OP_ROWS(householder)
{
    CALL(lower_linalg_qr, NULL, PLAIN,
         "aten::linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, Tensor R)",
         .layout = LAYOUT_OWN_ORDER);
    CALL(lower_qr, NULL, PLAIN, "aten::qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)",
         .layout = LAYOUT_OWN_ORDER);
    CALL(lower_geqrf, NULL, PLAIN, "aten::geqrf(Tensor self) -> (Tensor a, Tensor tau)",
         .layout = LAYOUT_OWN_ORDER);
    LOWER(lower_orgqr, NULL, PLAIN, "aten::orgqr(Tensor self, Tensor input2) -> Tensor",
          .layout = LAYOUT_OWN_ORDER);
    LOWER(lower_orgqr, NULL, PLAIN,
          "aten::linalg_householder_product(Tensor input, Tensor tau) -> Tensor",
          .layout = LAYOUT_OWN_ORDER);
    LOWER(lower_ormqr, NULL, PLAIN,
          "aten::ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool "
          "transpose=False) -> Tensor",
          .layout = LAYOUT_OWN_ORDER);
}
