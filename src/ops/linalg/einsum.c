/* einsum.c - sums of products by an equation.
 *
 * Operand by operand: the product so far and the next operand are a matrix product between
 * transpositions, or a plain product where nothing is summed. So every type, and complex numbers,
 * work as they do in matmul and mul. The axes of an ellipsis get labels of their own, 1, 2, .. from
 * the right, where operands of different rank meet. ONNX's Einsum is only used for two sizes of
 * which it is unknown whether they are equal or one of them is 1. */
#include "ops/internal.h"

/* A tensor and its labels, one for each axis. */
typedef struct Term {
    Ox x;
    char at[MAX_RANK + 1];
} Term;

/* How many labels there are: letters, and below them MAX_RANK axes of an ellipsis. */
enum { LABELS = 128 };

/* The equation: the operands' labels, the result's, and how often each occurs in the operands.
 * dots: the axes that the ellipsis stands for. */
typedef struct Equation {
    Term *term;
    size_t n;
    char out[LABELS + 1];
    int count[LABELS];
    int dots;
} Equation;

/* ---- the equation ---- */

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static bool dots_at(const char *s) { return s[0] == '.' && s[1] == '.' && s[2] == '.'; }

/* The labels of one operand, up to ',' or '-' or the end; *s is moved there. "...ij" of a tensor of
 * rank 4 gives 2 1 i j. */
static bool read_operand(Op *op, const char **s, Equation *e, Term *t)
{
    int n = 0;
    int letters = 0;
    int rank = ox_rank(t->x);
    bool dots = false;
    for (const char *p = *s; *p && *p != ',' && *p != '-'; p++)
        letters += is_letter(*p);
    for (; **s && **s != ',' && **s != '-'; ++*s) {
        if (dots_at(*s) && !dots) {
            dots = true;
            *s += 2;
            e->dots = rank - letters > e->dots ? rank - letters : e->dots;
            for (int i = rank - letters; i > 0; i--)
                t->at[n++] = (char)i;
        } else if (!is_letter(**s) || n == rank) {
            return fail(op->cx, E_VALUE,
                        "einsum(): the operand of rank %d does not fit the equation, at '%s'", rank,
                        *s);
        } else {
            t->at[n++] = **s;
        }
    }
    for (int i = 0; i < n; i++)
        e->count[(unsigned char)t->at[i]]++;
    if (n == rank)
        return true;
    return fail(op->cx, E_VALUE,
                "einsum(): the equation has %d subscripts for an operand of rank %d", n, rank);
}

/* The labels of the ellipsis; gives how many. */
static int put_dots(const Equation *e, char *out)
{
    for (int i = 0; i < e->dots; i++)
        out[i] = (char)(e->dots - i);
    return e->dots;
}

/* The labels of the result, after "->". Without an arrow they are the ellipsis, then the labels
 * that occur once, capitals first: "bA,Ac" gives bc. */
static bool read_result(Op *op, const char *s, Equation *e)
{
    int n = 0;
    bool dots = false;
    if (!*s) {
        n = put_dots(e, e->out);
        for (char c = 'A'; c <= 'z'; c++)
            if (e->count[(unsigned char)c] == 1)
                e->out[n++] = c;
        return true;
    }
    for (s += 2; *s; s++) {
        if (dots_at(s) && !dots) {
            dots = true;
            n += put_dots(e, e->out + n);
            s += 2;
        } else if (!is_letter(*s) || e->count[(unsigned char)*s] == 0 ||
                   memchr(e->out, *s, (size_t)n)) {
            return fail(
                op->cx, E_VALUE,
                "einsum(): the result's subscript '%c' must stand among the operands', and once",
                *s);
        } else {
            e->out[n++] = *s;
        }
    }
    return true;
}

static const char *without_spaces(Ctx *cx, Str text)
{
    char *plain = mem_alloc(cx, text->len + 1);
    if (!plain)
        return NULL;
    size_t n = 0;
    for (uint32_t i = 0; i < text->len; i++)
        if (text->s[i] != ' ')
            plain[n++] = text->s[i];
    return plain;
}

/* Read "ij,jk->ik" for n operands. False after an error. */
static bool read_equation(Op *op, Str text, const Ox *at, size_t n, Equation *e)
{
    const char *s = without_spaces(op->cx, text);
    *e = (Equation){ .term = new_array(op->cx, Term, n), .n = n };
    if (!s || !e->term)
        return false;
    for (size_t i = 0; i < n; i++) {
        int rank;
        e->term[i].x = at[i];
        if (!need_rank(op, at[i], 2, &rank) || !read_operand(op, &s, e, &e->term[i]))
            return false;
        if (i + 1 < n && *s++ != ',')
            return fail(op->cx, E_VALUE,
                        "einsum(): fewer operands in the equation than were given: %zu", n);
    }
    if (ctx_failed(op->cx))
        return false;
    if (*s && (s[0] != '-' || s[1] != '>'))
        return fail(op->cx, E_VALUE, "einsum(): more operands in the equation than were given: %zu",
                    n);
    return read_result(op, s, e);
}

/* ---- one operand ---- */

static void drop_label(Term *t, int axis)
{
    memmove(t->at + axis, t->at + axis + 1, strlen(t->at + axis));
}

/* A label that a term has twice (ii) means the diagonal of both axes, which becomes the last
 * axis. */
static void take_diagonals(Op *op, Term *t)
{
    for (int i = 0; t->at[i]; i++) {
        const char *again = strchr(t->at + i + 1, t->at[i]);
        if (!again || !ox_ok(t->x))
            continue;
        int k = (int)(again - t->at);
        char label = t->at[i];
        if (!dim_require(op->cx, ox_dim(t->x, i), ox_dim(t->x, k),
                         "einsum takes the diagonal of two axes"))
            return;
        Value args[] = { val_tensor(op->cx, t->x), val_int(0), val_int(i), val_int(k) };
        t->x = call_ox(op, "aten::diagonal_copy", args, 4);
        drop_label(t, k);
        drop_label(t, i);
        size_t n = strlen(t->at);
        t->at[n] = label;
        t->at[n + 1] = 0;
        i = -1;
    }
}

static void squeeze_label(Op *op, Term *t, int axis)
{
    Ox axes = ints(op, axis);
    t->x = ox(op, "Squeeze", t->x, axes);
    drop_label(t, axis);
}

/* Sum the axes whose labels are neither in `other` nor kept; ints become int64 by it. Where another
 * operand follows (not alone), an axis of size 1 is dropped instead. */
static void sum_own(Op *op, Term *t, const char *other, const char *keep, bool alone)
{
    Value dims[MAX_RANK];
    int n = 0;
    char left[MAX_RANK + 1] = { 0 };
    if (!alone)
        for (int i = 0; t->at[i] && ox_ok(t->x); i++)
            if (!strchr(other, t->at[i]) && !strchr(keep, t->at[i]) && dim_is(ox_dim(t->x, i), 1))
                squeeze_label(op, t, i--);
    for (int i = 0, k = 0; t->at[i]; i++)
        if (strchr(other, t->at[i]) || strchr(keep, t->at[i]))
            left[k++] = t->at[i];
        else
            dims[n++] = val_int(i);
    if (n == 0 || !ox_ok(t->x))
        return;
    Value args[] = { val_tensor(op->cx, t->x), val_list(op->cx, dims, n, "int") };
    t->x = call_ox(op, "aten::sum", args, 2);
    memcpy(t->at, left, sizeof left);
}

/* The term's tensor with its axes in the order of the labels `want`. */
static Ox in_order(Op *op, const Term *t, const char *want)
{
    int perm[MAX_RANK], n = 0;
    for (; want[n]; n++)
        perm[n] = (int)(strchr(t->at, want[n]) - t->at);
    return ox_ok(t->x) ? permute_to(op, t->x, perm, n) : POISON;
}

/* ---- two operands ---- */

/* The labels of `from` that are (in_x) or are not in x, and the same for y, in order; gives how
 * many. */
static int labels_of(const char *from, const char *x, bool in_x, const char *y, bool in_y,
                     char *out)
{
    int n = 0;
    for (const char *s = from; *s; s++)
        if ((strchr(x, *s) != NULL) == in_x && (strchr(y, *s) != NULL) == in_y)
            out[n++] = *s;
    out[n] = 0;
    return n;
}

/* a, b and c one after the other. */
static void join(char *out, const char *a, const char *b, const char *c)
{
    const char *const part[] = { a, b, c };
    for (size_t i = 0; i < COUNT(part); i++)
        for (const char *s = part[i]; *s; s++)
            *out++ = *s;
    *out = 0;
}

/* The sizes of these labels, each by itself or (one) as their product; gives how many. */
static int dims_of(Op *op, const Dim *size, const char *labels, bool one, Dim *out)
{
    int n = 0;
    for (; labels[n]; n++)
        out[n] = size[(unsigned char)labels[n]];
    if (one)
        out[0] = dim_product(op->cx, out, n);
    return one ? 1 : n;
}

/* Drop each axis of size 1 whose label has another size in the other term, which broadcasts. False:
 * a size is unknown that may be 1 or equal to the other. */
static bool unstretched(Op *op, Term *a, Term *b)
{
    bool known = true;
    for (int i = 0; a->at[i] && ox_ok(a->x) && ox_ok(b->x); i++) {
        const char *same = strchr(b->at, a->at[i]);
        if (!same)
            continue;
        int k = (int)(same - b->at);
        Dim x = ox_dim(a->x, i);
        Dim y = ox_dim(b->x, k);
        if (dim_eq(op->cx, x, y) == YES)
            continue;
        if (dim_is(y, 1))
            squeeze_label(op, b, k);
        else if (dim_is(x, 1))
            squeeze_label(op, a, i--);
        else if (dim_eq(op->cx, x, y) == NO)
            a->x = op_fail(op, E_VALUE, "einsum(): one subscript has size %s here and %s there",
                           dim_text(op->cx, x)->s, dim_text(op->cx, y)->s);
        else
            known = false;
    }
    return known;
}

/* ONNX's Einsum of two terms: of bfloat16 in float32, of complex numbers by their parts. */
static Ox einsum_node(Op *op, Ox a, Ox b, Str equation)
{
    if (ox_is_complex(a)) {
        Ox a_re = ox_part(op->g, a, 0);
        Ox a_im = ox_part(op->g, a, 1);
        Ox b_re = each_real(op, b);
        Ox b_im = ox_is_complex(b) ? ox_part(op->g, b, 1) : NULL;
        Ox re = einsum_node(op, a_re, b_re, equation);
        Ox im = einsum_node(op, a_im, b_re, equation);
        if (b_im) {
            re = ox(op, "Sub", re, einsum_node(op, a_im, b_im, equation));
            im = ox(op, "Add", im, einsum_node(op, a_re, b_im, equation));
        }
        return ox_complex(op->g, re, im);
    }
    if (!ox_ok(a) || !ox_ok(b))
        return POISON;
    if (ox_is_complex(b)) {
        Ox b_re = ox_part(op->g, b, 0);
        Ox b_im = ox_part(op->g, b, 1);
        Ox re = einsum_node(op, a, b_re, equation);
        Ox im = einsum_node(op, a, b_im, equation);
        return ox_complex(op->g, re, im);
    }
    DType t = ox_dtype(a);
    DType wide = t == DT_BFLOAT16 ? DT_FLOAT : t;
    Ox x = ox_cast(op->g, a, wide);
    Ox y = ox_cast(op->g, b, wide);
    Ox out = ox_with(op, "Einsum", INPUTS(x, y), STRING("equation", equation));
    return ox_ok(out) ? ox_cast(op->g, out, t) : POISON;
}

static char nth_letter(int n) { return n < 26 ? (char)('a' + n) : (char)('A' + n - 26); }

/* a and b by ONNX's Einsum. It has letters only, which are enough: each label is in two of the
 * three terms. */
static Term node_of(Op *op, const Term *a, const Term *b, const char *keep)
{
    Term out = { .x = POISON };
    char letter[LABELS] = { 0 }, own[MAX_RANK + 1], text[4 * MAX_RANK + 4];
    int n = 0;
    int k = 0;
    labels_of(b->at, a->at, false, keep, true, own);
    n = labels_of(a->at, a->at, true, keep, true, out.at);
    if (n + (int)strlen(own) > MAX_RANK)
        return op_refuse(op, "of more than %d axes", MAX_RANK), out;
    memcpy(out.at + n, own, strlen(own) + 1);
    n = 0;
    const char *const part[] = { a->at, b->at, out.at };
    const char *const after[] = { ",", "->", "" };
    for (int p = 0; p < 3; p++) {
        for (const char *s = part[p]; *s; s++) {
            char *c = &letter[(unsigned char)*s];
            if (!*c)
                *c = nth_letter(n++);
            text[k++] = *c;
        }
        k += snprintf(text + k, 3, "%s", after[p]);
    }
    out.x = einsum_node(op, a->x, b->x, str_of(op->cx, text));
    return out;
}

/* The product of a [batch.., left..] and b [batch.., right..], as [batch.., left.., right..]: both
 * get axes of size 1 for those of the other. */
static Ox outer_product(Op *op, Ox a, int n_right, Ox b, int n_batch, int n_left)
{
    int64_t after[MAX_RANK], between[MAX_RANK];
    for (int i = 0; i < n_right; i++)
        after[i] = n_batch + n_left + i;
    for (int i = 0; i < n_left; i++)
        between[i] = n_batch + i;
    if (n_right && n_left + n_batch) {
        Ox axes = ox_ints(op->g, after, (size_t)n_right);
        a = ox(op, "Unsqueeze", a, axes);
    }
    if (n_left && n_right + n_batch) {
        Ox axes = ox_ints(op->g, between, (size_t)n_left);
        b = ox(op, "Unsqueeze", b, axes);
    }
    Value args[] = { val_tensor(op->cx, a), val_tensor(op->cx, b) };
    return call_ox(op, "aten::mul", args, 2);
}

/* [batch, left, inner] x [batch, inner, right], each group but batch made one axis. */
static Ox inner_product(Op *op, Ox a, Ox b, const char *batch, const char *left, const char *inner,
                        const char *right, const Dim *size)
{
    Dim dims[3 * MAX_RANK];
    int n = dims_of(op, size, batch, false, dims);
    dims_of(op, size, left, true, dims + n);
    dims_of(op, size, inner, true, dims + n + 1);
    a = reshape_to(op, a, dims, n + 2);
    dims_of(op, size, inner, true, dims + n);
    dims_of(op, size, right, true, dims + n + 1);
    b = reshape_to(op, b, dims, n + 2);
    Value args[] = { val_tensor(op->cx, a), val_tensor(op->cx, b) };
    Ox product = call_ox(op, "aten::matmul", args, 2);
    n += dims_of(op, size, left, false, dims + n);
    n += dims_of(op, size, right, false, dims + n);
    return reshape_to(op, product, dims, n);
}

/* Both summed over what neither the result nor a later operand wants. */
static Term times(Op *op, Term a, Term b, const char *keep)
{
    char batch[MAX_RANK + 1], inner[MAX_RANK + 1], left[MAX_RANK + 1], right[MAX_RANK + 1],
        order[3 * MAX_RANK + 3];
    Dim size[LABELS] = { NULL };
    Term out = { .x = POISON };
    bool known = unstretched(op, &a, &b);
    sum_own(op, &a, b.at, keep, false);
    sum_own(op, &b, a.at, keep, false);
    if (!ox_ok(a.x) || !ox_ok(b.x))
        return out;
    if (!known)
        return node_of(op, &a, &b, keep);
    for (Term *t[2] = { &b, &a }, **p = t; p < t + 2; p++)
        for (int i = 0; (*p)->at[i]; i++)
            size[(unsigned char)(*p)->at[i]] = ox_dim((*p)->x, i);
    int n_batch = labels_of(a.at, b.at, true, keep, true, batch);
    int n_inner = labels_of(a.at, b.at, true, keep, false, inner);
    int n_left = labels_of(a.at, b.at, false, keep, true, left);
    int n_right = labels_of(b.at, a.at, false, keep, true, right);
    if (n_batch + n_left + n_right > MAX_RANK)
        return op_refuse(op, "of more than %d axes", MAX_RANK), out;
    join(order, batch, left, inner);
    Ox x = in_order(op, &a, order);
    join(order, batch, inner, right);
    Ox y = in_order(op, &b, order);
    out.x = n_inner ? inner_product(op, x, y, batch, left, inner, right, size)
                    : outer_product(op, x, n_right, y, n_batch, n_left);
    join(out.at, batch, left, right);
    return out;
}

/* ---- all of them ---- */

/* Labels of the result and of the operands from `from` on. */
static void wanted(const Equation *e, size_t from, char *out)
{
    int n = 0;
    for (const char *s = e->out; *s; s++)
        out[n++] = *s;
    for (size_t i = from; i < e->n; i++)
        for (const char *s = e->term[i].at; *s; s++)
            if (!memchr(out, *s, (size_t)n))
                out[n++] = *s;
    out[n] = 0;
}

/* See internal.h. MatMul multiplies the last two axes; another axis is exchanged with the last. */
Ox product_along(Op *op, Ox x, Ox m, int axis)
{
    int perm[MAX_RANK];
    if (!ox_ok(x) || !ox_ok(m))
        return POISON;
    int last = ox_rank(x) - 1;
    if (axis == last)
        return ox(op, "MatMul", x, permute_to(op, m, (const int[]){ 1, 0 }, 2));
    if (axis == last - 1)
        return ox(op, "MatMul", m, x);
    for (int k = 0; k <= last; k++)
        perm[k] = k;
    perm[axis] = last;
    perm[last] = axis;
    Ox moved = permute_to(op, x, perm, last + 1);
    Ox product = product_along(op, moved, m, last);
    return permute_to(op, product, perm, last + 1);
}

/* Diagonals first, then operand by operand, each time summing the labels that neither a later
 * operand nor the result has: ij,jk,kl->il is (ij,jk->ik),kl->il. */
Ox einsum(Op *op, Str equation, const Ox *at, size_t n)
{
    Equation e;
    char keep[LABELS + 1];
    for (size_t i = 0; i < n; i++)
        if (!ox_ok(at[i]))
            return POISON;
    if (!read_equation(op, equation, at, n, &e))
        return POISON;
    for (size_t i = 0; i < n; i++)
        take_diagonals(op, &e.term[i]);
    Term all = e.term[0];
    for (size_t i = 1; i < n && ox_ok(all.x); i++) {
        wanted(&e, i + 1, keep);
        all = times(op, all, e.term[i], keep);
    }
    if (n == 1)
        sum_own(op, &all, "", e.out, true);
    return in_order(op, &all, e.out);
}

/* einsum of one operand. With nothing to sum PyTorch gives a view: a permutation, or a diagonal. */
static Value einsum_of_one(Op *op, Str equation, Value x, Ox now)
{
    Equation e;
    Value perm[MAX_RANK];
    int rank = ox_rank(now);
    int n = 0;
    if (!read_equation(op, equation, &now, 1, &e))
        return val_poison();
    for (; n < rank && e.out[n]; n++) {
        const char *at = strchr(e.term[0].at, e.out[n]);
        if (!at)
            break;
        perm[n] = val_int(at - e.term[0].at);
    }
    if (n == rank && !e.out[n])
        return call_op(op, "aten::permute", (Value[]){ x, val_tuple(op->cx, perm, n) }, 2);
    Value made = val_tensor(op->cx, einsum(op, equation, &now, 1));
    if (val_ok(made) && strspn(e.term[0].at, e.out) == strlen(e.term[0].at))
        tensor_maybe_shared(op->cx, x.t, made.t,
                            str_of(op->cx, "a diagonal that einsum takes is a view"));
    return made;
}

static Value lower_einsum(Op *op)
{
    Value list = arg_value(op, "tensors");
    Oxs xs = arg_list(op, "tensors");
    Str equation = arg_str(op, "equation");
    if (ctx_failed(op->cx))
        return val_poison();
    if (!xs.n || !equation)
        return val_tensor(op->cx,
                          op_fail(op, E_VALUE, "einsum(): must provide at least one operand"));
    if (xs.n == 1 && ox_ok(xs.at[0]))
        return einsum_of_one(op, equation, list.tuple->at[0], xs.at[0]);
    return val_tensor(op->cx, einsum(op, equation, xs.at, xs.n));
}

OP_ROWS(einsum)
{
    CALL(lower_einsum, NULL, PLAIN,
         "aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor",
         .layout = LAYOUT_OWN_ORDER);
}
