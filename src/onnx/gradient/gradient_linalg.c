/* gradient_linalg.c - gradients of sums of products. */
#include "onnx/gradient/internal.h"

#include <ctype.h>

/* ---- MatMul ---- */

/* v as a matrix (or a stack of them): a vector gets an axis of one element at `axis`. */
static Ox as_matrix(Step *s, Ox v, int64_t axis)
{
    return ox_rank(v) == 1 ? ox_g(s->g, "Unsqueeze", v, ox_ints(s->g, &axis, 1)) : v;
}

/* The sum over the stack, then without the axis that as_matrix has added. */
static Ox as_operand(Step *s, Ox grad, Ox v, Ox matrix)
{
    Ox sum = ox_ok(grad) ? summed_to(s->g, grad, matrix) : POISON;
    return v == matrix || !ox_ok(sum) ? sum : in_shape_of(s->g, sum, v->type);
}

/* y = a b: da = dy b', db = a' dy. A vector is a matrix of one row, or of one column, and its axis
 * is put back into dy first. */
static bool product(Step *s)
{
    Ox a = s->n->in[0];
    Ox b = s->n->in[1];
    int rank;
    if (!step_rank(s, a, &rank) || !step_rank(s, b, &rank))
        return false;
    Ox left = as_matrix(s, a, 0);
    Ox right = as_matrix(s, b, 1);
    Ox grad = s->grad[0];
    if (ox_rank(b) == 1)
        grad = ox_g(s->g, "Unsqueeze", grad, ox_ints(s->g, (int64_t[]){ -1 }, 1));
    if (ox_rank(a) == 1)
        grad = ox_g(s->g, "Unsqueeze", grad, ox_ints(s->g, (int64_t[]){ -2 }, 1));
    if (step_wants(s, 0)) {
        Ox da = ox_g(s->g, "MatMul", grad, last_axes_swapped(s->g, right));
        if (!step_gives(s, 0, as_operand(s, da, a, left)))
            return false;
    }
    if (!step_wants(s, 1))
        return true;
    Ox db = ox_g(s->g, "MatMul", last_axes_swapped(s->g, left), grad);
    return step_gives(s, 1, as_operand(s, db, b, right));
}

/* ---- Gemm ---- */

static Ox scaled(Step *s, const char *factor, Ox v)
{
    double by = node_float(s->n, factor, 1);
    return by == 1 || !ox_ok(v) ? v : ox_g(s->g, "Mul", v, like_number(s->g, by, v));
}

/* y = alpha a b + beta c, with a or b transposed first. */
static bool product_and_sum(Step *s)
{
    Ox grad = s->grad[0];
    bool turned_a = node_int(s->n, "transA", 0) != 0;
    bool turned_b = node_int(s->n, "transB", 0) != 0;
    Ox a = turned_a ? last_axes_swapped(s->g, s->n->in[0]) : s->n->in[0];
    Ox b = turned_b ? last_axes_swapped(s->g, s->n->in[1]) : s->n->in[1];
    if (step_wants(s, 0)) {
        Ox da = ox_g(s->g, "MatMul", grad, last_axes_swapped(s->g, b));
        da = scaled(s, "alpha", turned_a ? last_axes_swapped(s->g, da) : da);
        if (!step_gives(s, 0, da))
            return false;
    }
    if (step_wants(s, 1)) {
        Ox db = ox_g(s->g, "MatMul", last_axes_swapped(s->g, a), grad);
        db = scaled(s, "alpha", turned_b ? last_axes_swapped(s->g, db) : db);
        if (!step_gives(s, 1, db))
            return false;
    }
    return !step_wants(s, 2) || step_gives(s, 2, scaled(s, "beta", grad));
}

/* ---- Einsum ---- */

/* The letters of each operand and of the result: "ij,jk->ik". */
typedef struct Equation {
    char in[8][MAX_RANK + 1];
    int n_in;
    char out[MAX_RANK + 1];
} Equation;

static bool letters(const char **at, char *out)
{
    int n = 0;
    for (; **at && **at != ',' && **at != '-'; ++*at) {
        if (**at == ' ')
            continue;
        if (!isalpha((unsigned char)**at) || n == MAX_RANK || strchr(out, **at))
            return false; /* "...", or a diagonal */
        out[n++] = **at;
        out[n] = 0;
    }
    return true;
}

static bool read_equation(const char *at, int n_in, Equation *e)
{
    *e = (Equation){ .n_in = n_in };
    if (n_in > (int)COUNT(e->in))
        return false;
    for (int i = 0; i < n_in; i++) {
        if (!letters(&at, e->in[i]) || (i + 1 < n_in && *at++ != ','))
            return false;
    }
    if (*at++ != '-' || *at++ != '>')
        return false;
    return letters(&at, e->out);
}

/* The gradient of operand k: the others and dy summed to its letters; over a letter that only it
 * has it is the same everywhere. */
static Ox of_operand(Step *s, const Equation *e, int k)
{
    Ox in[8];
    size_t n = 0;
    Ox x = s->n->in[k];
    char known[MAX_RANK + 1] = "";
    int64_t added[MAX_RANK];
    size_t n_added = 0;
    Buf text = buf_new(s->cx);
    for (int i = 0; i < e->n_in; i++)
        if (i != k) {
            buf_fmt(&text, "%s,", e->in[i]);
            in[n++] = s->n->in[i];
        }
    buf_fmt(&text, "%s->", e->out);
    in[n++] = s->grad[0];
    for (int i = 0; e->in[k][i]; i++) {
        bool there = strchr(e->out, e->in[k][i]) != NULL;
        for (int j = 0; j < e->n_in; j++)
            there |= j != k && strchr(e->in[j], e->in[k][i]) != NULL;
        if (there)
            known[strlen(known)] = e->in[k][i];
        else
            added[n_added++] = i;
    }
    buf_str(&text, known);
    Attr equation = STRING("equation", buf_done(&text));
    Ox sum = ox_make(s->g, "Einsum", (OxList){ in, n }, &equation, 1);
    if (n_added == 0 || !ox_ok(sum))
        return sum;
    Ox wide = ox_g(s->g, "Unsqueeze", sum, ox_ints(s->g, added, n_added));
    return ox_g(s->g, "Expand", wide, ox_shape(s->g, x));
}

static bool einsum(Step *s)
{
    Equation e;
    if (!read_equation(node_str(s->n, "equation", ""), s->n->n_in, &e))
        return step_refuse(s, "the gradient of the equation %s is not known",
                           node_str(s->n, "equation", ""));
    for (int i = 0; i < s->n->n_in; i++)
        if (step_wants(s, i) && !step_gives(s, i, of_operand(s, &e, i)))
            return false;
    return true;
}

const GradientRow gradient_linalg[] = {
    { "MatMul", product },
    { "Gemm", product_and_sum },
    { "Einsum", einsum },
    { 0 },
};
