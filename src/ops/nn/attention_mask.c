/* attention_mask.c - does every row of a mask let some column take part?
 *
 * Attention needs to know: softmax of a row of -inf is not-a-number, where PyTorch gives zeros, and
 * what makes zeros of it costs nodes in each layer. The answer is read off the nodes that made the
 * mask, and is yes only where it holds for any inputs:
 *
 *     ones(L, L).tril()                       column 0 is true in every row
 *     arange(S)[None] <= arange(L)[:, None]   the least column is no more than the least row
 *     where(padding, bias, finfo.min)         no element is -inf
 *     causal | eye                            one of the two is enough
 */
#include "ops/nn/attention.h"

#include <float.h>
#include <math.h>

/* A walk over the nodes behind a mask. Each value that it looks at is one of `left`, so that masks
 * that share values many times take bounded time. */
typedef struct Look {
    Op *op;
    int left;
} Look;

enum { MOST_VALUES = 200 };

static const Node *made_by(Look *look, Ox x)
{
    return ox_ok(x) && x->kind == OX_NODE && --look->left > 0 ? x->node : NULL;
}

static bool is_any(const Node *n, const char *const *names)
{
    for (; *names; names++)
        if (node_is(n, *names))
            return true;
    return false;
}

/* ---- constants ---- */

/* The elements of a small constant as numbers; NULL for any other value. */
static const double *numbers_of(Op *op, Ox x, int64_t *n)
{
    const Const *k = ox_ok(x) && x->kind == OX_CONST ? x->k : NULL;
    *n = k ? const_numel(k) : 0;
    if (!k || *n > FOLD_NUMEL)
        return NULL;
    DType t = k->dtype;
    if (t != DT_BOOL && t != DT_INT64 && t != DT_INT32 && t != DT_FLOAT && t != DT_DOUBLE)
        return NULL;
    double *out = new_array(op->cx, double, *n + 1);
    void *raw = new_array(op->cx, double, *n + 1);
    if (!out || !raw || !const_read(op->cx, k, raw))
        return NULL;
    for (int64_t i = 0; i < *n; i++)
        switch (t) {
        case DT_BOOL:  out[i] = ((const uint8_t *)raw)[i] != 0; break;
        case DT_INT64: out[i] = (double)((const int64_t *)raw)[i]; break;
        case DT_INT32: out[i] = ((const int32_t *)raw)[i]; break;
        case DT_FLOAT: out[i] = (double)((const float *)raw)[i]; break;
        default:       out[i] = ((const double *)raw)[i]; break;
        }
    return out;
}

/* Has each row of the constant an element for which `fits` is true of it and `than`? */
static bool each_row(Look *look, Ox x, bool (*fits)(double, double), double than)
{
    int64_t n;
    const double *v = numbers_of(look->op, x, &n);
    if (!v)
        return false;
    int rank = ox_rank(x);
    int64_t columns = rank > 0 ? x->k->dims[rank - 1] : 1;
    for (int64_t row = 0; row < n; row += columns) {
        bool found = false;
        for (int64_t i = row; i < row + columns; i++)
            found |= fits(v[i], than);
        if (!found)
            return false;
    }
    return true;
}

static bool equals(double a, double b) { return a == b; }
static bool is_other(double a, double b) { return a != b; }

/* ---- the least element ---- */

/* v, or -inf where the type cannot hold so low a number: an intermediate result may overflow. */
static double held_by(DType t, double v)
{
    switch (t) {
    case DT_DOUBLE:
    case DT_INT64:    return v;
    case DT_FLOAT:    return v > -3.40282356e38 ? v : -INFINITY; /* rounds to -FLT_MAX */
    case DT_BFLOAT16: return v >= -3.38e38 ? v : -INFINITY;
    case DT_FLOAT16:  return v >= -65504 ? v : -INFINITY;
    default:          return -INFINITY;
    }
}

/* A number that no element of x is below; -inf where none is known. *exact: if x has elements at
 * all, this is one of them. */
static double least(Look *look, Ox x, bool *exact);

static double least_of_two(Look *look, Ox a, Ox b)
{
    bool exact;
    double first = least(look, a, &exact);
    return first == -INFINITY ? first : fmin(first, least(look, b, &exact));
}

static double least_of_range(Look *look, const Node *n, bool *exact)
{
    int64_t count;
    const double *step = numbers_of(look->op, n->in[2], &count);
    const double *start = numbers_of(look->op, n->in[0], &count);
    *exact = true;
    return start && step && *step > 0 ? *start : -INFINITY;
}

/* least() of a node's result: of one that moves elements about it is its input's, of one that takes
 * some of them no less than that. */
static double least_of_node(Look *look, const Node *n, bool *exact)
{
    static const char *const moves[] = { "Expand",  "Identity",  "Reshape", "Transpose",
                                         "Squeeze", "Unsqueeze", NULL };
    static const char *const picks[] = { "Gather", "GatherND", "Slice", NULL };
    bool ignored;
    if (is_any(n, moves))
        return least(look, n->in[0], exact);
    *exact = false;
    if (is_any(n, picks))
        return least(look, n->in[0], &ignored);
    if (node_is(n, "Cast") && ox_dtype(n->in[0]) == DT_BOOL)
        return 0;
    if (node_is(n, "Cast"))
        return held_by(ox_dtype(n->out[0]), least(look, n->in[0], exact));
    if (node_is(n, "Range"))
        return least_of_range(look, n, exact);
    if (node_is(n, "Where"))
        return least_of_two(look, n->in[1], n->in[2]);
    if (node_is(n, "Max") && n->n_in == 2)
        return fmax(least(look, n->in[0], &ignored), least(look, n->in[1], &ignored));
    if (node_is(n, "Add")) {
        double first = least(look, n->in[0], &ignored);
        double sum = first + least(look, n->in[1], &ignored);
        return held_by(ox_dtype(n->out[0]), sum);
    }
    return -INFINITY;
}

static double least(Look *look, Ox x, bool *exact)
{
    int64_t n;
    const double *v = numbers_of(look->op, x, &n);
    *exact = v != NULL;
    if (v) {
        double low = INFINITY;
        for (int64_t i = 0; i < n; i++)
            low = fmin(low, v[i]);
        return low;
    }
    const Node *node = made_by(look, x);
    return node ? least_of_node(look, node, exact) : -INFINITY;
}

static bool is_finite_below(Look *look, Ox x)
{
    bool exact;
    return least(look, x, &exact) > -INFINITY;
}

/* ---- rows of bools ---- */

/* Is each element of x known to be `want`? */
static bool all_are(Look *look, Ox x, bool want)
{
    static const char *const same[] = { "Expand", "Gather",    "GatherND", "Identity",  "Reshape",
                                        "Slice",  "Transpose", "Squeeze",  "Unsqueeze", NULL };
    int64_t n;
    const double *v = numbers_of(look->op, x, &n);
    if (v) {
        for (int64_t i = 0; i < n; i++)
            if ((v[i] != 0) != want)
                return false;
        return true;
    }
    const Node *node = made_by(look, x);
    if (!node)
        return false;
    if (is_any(node, same))
        return all_are(look, node->in[0], want);
    if (node_is(node, "Not"))
        return all_are(look, node->in[0], !want);
    return node_is(node, want ? "And" : "Or") && all_are(look, node->in[0], want) &&
        all_are(look, node->in[1], want);
}

/* Do the rows of x's result hold the elements of one row of its input each? *single: they have one
 * element, of any row. False: neither is known. */
static bool keeps_rows(Look *look, const Node *n, bool *single)
{
    static const char *const kept[] = { "Expand", "Identity", "Reshape", "Unsqueeze", NULL };
    *single = false;
    if (!is_any(n, kept) || ox_rank(n->in[0]) < 1 || ox_rank(n->out[0]) < 1)
        return false;
    if (node_is(n, "Expand") || node_is(n, "Identity"))
        return true;
    Dim before = ox_dim(n->in[0], ox_rank(n->in[0]) - 1);
    Dim after = ox_dim(n->out[0], ox_rank(n->out[0]) - 1);
    bool same = dim_eq(look->op->cx, before, after) == YES;
    *single = !same && dim_is(after, 1);
    return same || *single;
}

/* Is some element of `low`, which is one row for all, no more than (strict: less than) each of
 * `high`? Of integers. */
static bool some_is_below(Look *look, Ox low, Ox high, bool strict)
{
    bool exact, ignored;
    if (ox_dtype(low) != DT_INT64 && ox_dtype(low) != DT_INT32)
        return false;
    for (int i = 0; i < ox_rank(low) - 1; i++)
        if (!dim_is(ox_dim(low, i), 1))
            return false;
    double first = least(look, low, &exact);
    double second = least(look, high, &ignored);
    if (!exact || first == -INFINITY)
        return false;
    return strict ? first < second : first <= second;
}

/* Has each row of the comparison an element that is `want`? a > b is false where a <= b. */
static bool comparison_has(Look *look, const Node *n, bool want)
{
    Ox a = n->in[0];
    Ox b = n->in[1];
    if (node_is(n, want ? "LessOrEqual" : "Greater"))
        return some_is_below(look, a, b, false);
    if (node_is(n, want ? "GreaterOrEqual" : "Less"))
        return some_is_below(look, b, a, false);
    if (node_is(n, want ? "Less" : "GreaterOrEqual"))
        return some_is_below(look, a, b, true);
    return node_is(n, want ? "Greater" : "LessOrEqual") && some_is_below(look, b, a, true);
}

/* Trilu keeps column 0 (*kept) or makes it 0 in every row; false: it does neither. */
static bool first_column(Look *look, const Node *n, bool *kept)
{
    int64_t count;
    double k = 0;
    bool upper = node_int(n, "upper", 1) != 0;
    if (n->n_in > 1 && n->in[1]) {
        const double *v = numbers_of(look->op, n->in[1], &count);
        if (!v)
            return false;
        k = *v;
    }
    *kept = !upper;
    return upper ? k >= 1 : k >= 0;
}

/* Has each row of x an element that is `want`? */
static bool rows_have(Look *look, Ox x, bool want)
{
    bool single, kept;
    if (ox_ok(x) && x->kind == OX_CONST)
        return each_row(look, x, equals, want);
    const Node *n = made_by(look, x);
    if (!n)
        return false;
    if (keeps_rows(look, n, &single))
        return single ? all_are(look, n->in[0], want) : rows_have(look, n->in[0], want);
    if (node_is(n, "Not"))
        return rows_have(look, n->in[0], !want);
    if (node_is(n, want ? "Or" : "And"))
        return rows_have(look, n->in[0], want) || rows_have(look, n->in[1], want);
    if (node_is(n, want ? "And" : "Or"))
        return (all_are(look, n->in[0], want) && rows_have(look, n->in[1], want)) ||
            (all_are(look, n->in[1], want) && rows_have(look, n->in[0], want));
    if (node_is(n, "Trilu") && first_column(look, n, &kept))
        return kept ? all_are(look, n->in[0], want) : !want;
    return n->n_in == 2 && comparison_has(look, n, want);
}

/* ---- rows of numbers ---- */

/* Has each row of x an element that is more than -inf? */
static bool rows_are_open(Look *look, Ox x)
{
    bool single, kept;
    if (is_finite_below(look, x))
        return true;
    if (ox_ok(x) && x->kind == OX_CONST)
        return each_row(look, x, is_other, -INFINITY);
    const Node *n = made_by(look, x);
    if (!n)
        return false;
    if (keeps_rows(look, n, &single))
        return !single && rows_are_open(look, n->in[0]);
    if (node_is(n, "Where"))
        return (is_finite_below(look, n->in[1]) && rows_have(look, n->in[0], true)) ||
            (is_finite_below(look, n->in[2]) && rows_have(look, n->in[0], false));
    if (node_is(n, "Trilu"))
        return first_column(look, n, &kept) && !kept;
    return false;
}

bool mask_opens_rows(Op *op, Ox mask)
{
    Look look = { .op = op, .left = MOST_VALUES };
    if (!ox_ok(mask))
        return false;
    if (ox_dtype(mask) == DT_BOOL)
        return rows_have(&look, mask, true);
    return rows_are_open(&look, mask);
}
