/* gradient_index.c - gradients of operators that pick elements by indices, or put them there. What
 * was picked twice gets the sum of both gradients. */
#include "onnx/gradient/internal.h"

static Attr reduced(Step *s, const char *how) { return STRING("reduction", str_of(s->cx, how)); }

static Ox add_at(Step *s, Ox zeros, Ox at, Ox grad)
{
    return ox_g_with(s->g, "ScatterND", INPUTS(zeros, at, grad), reduced(s, "add"));
}

static Ox last_axis(Step *s, Ox v)
{
    return ox_g(s->g, "Unsqueeze", v, ox_ints(s->g, (int64_t[]){ -1 }, 1));
}

/* ---- Gather ---- */

/* x[.., i, ..] of one known i: grad between zeros. NULL where that is not known. */
static Ox one_row(Step *s, Ox x, int axis, Ox index)
{
    const Dim *at;
    int64_t n;
    Dim pads[2 * MAX_RANK];
    int rank = ox_rank(x);
    if (ox_rank(index) != 0 || !ox_items(index, &at, &n) || n != 1)
        return NULL;
    Dim zero = dim_int(s->cx, 0);
    Dim size = ox_dim(x, axis);
    Dim from = dim_lt(s->cx, at[0], zero) == YES ? dim_add(s->cx, at[0], size) : at[0];
    if (dim_le(s->cx, zero, from) != YES || dim_lt(s->cx, from, size) != YES)
        return NULL;
    for (int i = 0; i < 2 * rank; i++)
        pads[i] = zero;
    pads[axis] = from;
    pads[rank + axis] = dim_sub(s->cx, dim_sub(s->cx, size, from), dim_int(s->cx, 1));
    Ox row = ox_g(s->g, "Unsqueeze", s->grad[0], ox_ints(s->g, (int64_t[]){ axis }, 1));
    return ox_g(s->g, "Pad", row, ox_dims(s->g, pads, (size_t)(2 * rank)));
}

/* grad is [a.., indices.., b..] of x [a.., axis, b..]: ScatterND wants the indices in front, of
 * x's axis in front. */
static Ox rows(Step *s, Ox x, int axis, Ox index)
{
    int64_t to_front[MAX_RANK], perm[MAX_RANK], back[MAX_RANK];
    int rank = ox_rank(x);
    int k = ox_rank(index);
    for (int i = 0; i < k + rank - 1; i++) {
        int from = i < k ? axis + i : i - k;
        to_front[i] = i >= k && from >= axis ? from + k : from;
    }
    for (int i = 0; i < rank; i++) {
        int from = i <= axis ? i - 1 : i;
        perm[i] = i == 0 ? axis : from;
        back[perm[i]] = i;
    }
    Ox zeros = transposed(s->g, zeros_like(s->g, x), perm, rank);
    Ox front = transposed(s->g, s->grad[0], to_front, k + rank - 1);
    Ox sum = add_at(s, zeros, last_axis(s, index), front);
    return ox_ok(sum) ? transposed(s->g, sum, back, rank) : POISON;
}

static bool gathered(Step *s)
{
    Ox x = s->n->in[0];
    Ox index = ox_cast(s->g, s->n->in[1], DT_INT64); /* ScatterND takes no other */
    int rank, of_index;
    if (!step_rank(s, x, &rank) || !step_rank(s, index, &of_index))
        return false;
    if (rank + of_index > MAX_RANK)
        return step_refuse(s, "a tensor of more than %d dimensions", MAX_RANK);
    int axis = axis_of(s->n, 0, rank);
    Ox row = one_row(s, x, axis, index);
    return step_gives(s, 0, row ? row : rows(s, x, axis, index));
}

/* ---- the others ---- */

static bool gathered_elements(Step *s)
{
    Ox x = s->n->in[0];
    int rank;
    if (!step_rank(s, x, &rank))
        return false;
    Ox zeros = zeros_like(s->g, x);
    return step_gives(s, 0,
                      ox_g_with(s->g, "ScatterElements", INPUTS(zeros, s->n->in[1], s->grad[0]),
                                INT("axis", axis_of(s->n, 0, rank)),
                                STRING("reduction", str_of(s->cx, "add"))));
}

static bool gathered_by_coordinates(Step *s)
{
    if (node_int(s->n, "batch_dims", 0) != 0)
        return step_refuse(s, "the gradient of GatherND with batches is not known");
    return step_gives(s, 0, add_at(s, zeros_like(s->g, s->n->in[0]), s->n->in[1], s->grad[0]));
}

/* The rows for which a condition holds. */
static bool compressed(Step *s)
{
    Ox x = s->n->in[0];
    Ox rows_at = ox_g(s->g, "NonZero", s->n->in[1]);
    Ox flat = ox_g(s->g, "Reshape", rows_at, ox_ints(s->g, (int64_t[]){ -1 }, 1));
    int rank;
    if (!step_rank(s, x, &rank))
        return false;
    if (node_has(s->n, "axis")) {
        Ox same = ox_g_with(s->g, "Gather", INPUTS(x, flat), INT("axis", axis_of(s->n, 0, rank)));
        return step_through(s, same);
    }
    Ox all = ox_g(s->g, "Reshape", x, ox_ints(s->g, (int64_t[]){ -1 }, 1));
    return step_through(s, ox_g(s->g, "Gather", all, flat));
}

/* ---- the largest or smallest that was put somewhere ----
 *
 * All that are as large as the result, what was there before too, share its gradient. */

/* The result at the places `at`, and values put there by addition. */
static Ox taken_from(Step *s, Ox v)
{
    Ox at = s->n->in[1];
    if (node_is(s->n, "ScatterND"))
        return ox_g(s->g, "GatherND", v, at);
    return ox_g_with(s->g, "GatherElements", INPUTS(v, at), INT("axis", node_int(s->n, "axis", 0)));
}
static Ox added_to(Step *s, Ox v, Ox part)
{
    Ox at = s->n->in[1];
    if (node_is(s->n, "ScatterND"))
        return add_at(s, v, at, part);
    return ox_g_with(s->g, "ScatterElements", INPUTS(v, at, part),
                     INT("axis", node_int(s->n, "axis", 0)), reduced(s, "add"));
}

/* 1 where a is b, else 0. */
static Ox ones_where_equal(Step *s, Ox a, Ox b)
{
    Ox same = ox_g(s->g, "Equal", a, b);
    return ox_ok(same) ? ox_cast(s->g, same, ox_dtype(a)) : POISON;
}

/* Of what the place held before and of what was put there, each by its share. */
static bool put_extreme(Step *s)
{
    Ox x = s->n->in[0];
    Ox part = s->n->in[2];
    Ox result = s->n->out[0];
    Ox of_x = ones_where_equal(s, x, result);
    Ox of_part = ones_where_equal(s, part, taken_from(s, result));
    Ox count = added_to(s, of_x, of_part);
    Ox share = ox_g(s->g, "Div", s->grad[0], count);
    if (step_wants(s, 0) && !step_gives(s, 0, ox_g(s->g, "Mul", of_x, share)))
        return false;
    if (!step_wants(s, 2))
        return true;
    Ox back = taken_from(s, share);
    return step_gives(s, 2, ox_g(s->g, "Mul", of_part, back));
}

/* ---- what is put somewhere ---- */

static bool is_extreme(const Node *n)
{
    const char *how = node_str(n, "reduction", "none");
    return strcmp(how, "max") == 0 || strcmp(how, "min") == 0;
}

/* Does it replace (or only add)? False after a refusal. */
static bool adds_or_sets(Step *s, bool *replaces)
{
    const char *how = node_str(s->n, "reduction", "none");
    *replaces = strcmp(how, "none") == 0;
    return *replaces || strcmp(how, "add") == 0 ||
        step_refuse(s, "the gradient of %s with reduction=%s is not known", s->n->name->s, how);
}

static bool put_at(Step *s)
{
    bool replaces;
    Ox grad = s->grad[0];
    Ox at = s->n->in[1];
    if (is_extreme(s->n))
        return put_extreme(s);
    if (!adds_or_sets(s, &replaces))
        return false;
    if (step_wants(s, 2) && !step_gives(s, 2, ox_g(s->g, "GatherND", grad, at)))
        return false;
    if (!step_wants(s, 0))
        return true;
    Ox none = replaces ? zeros_like(s->g, s->n->in[2]) : NULL;
    return step_gives(s, 0, replaces ? ox_g(s->g, "ScatterND", grad, at, none) : grad);
}

/* What was put there has the result's gradient at its places; what it replaced has none. */
static bool put_elements(Step *s)
{
    bool replaces;
    Ox grad = s->grad[0];
    Ox at = s->n->in[1];
    Attr axis = INT("axis", node_int(s->n, "axis", 0));
    if (is_extreme(s->n))
        return put_extreme(s);
    if (!adds_or_sets(s, &replaces))
        return false;
    if (step_wants(s, 2) &&
        !step_gives(s, 2, ox_make(s->g, "GatherElements", INPUTS(grad, at), &axis, 1)))
        return false;
    if (!step_wants(s, 0))
        return true;
    Ox none = replaces ? zeros_like(s->g, s->n->in[2]) : NULL;
    return step_gives(
        s, 0, replaces ? ox_make(s->g, "ScatterElements", INPUTS(grad, at, none), &axis, 1) : grad);
}

static bool sorted(Step *s)
{
    Ox x = s->n->in[0];
    int rank;
    if (!step_rank(s, x, &rank))
        return false;
    Ox zeros = zeros_like(s->g, x);
    return step_gives(s, 0,
                      ox_g_with(s->g, "ScatterElements", INPUTS(zeros, s->n->out[1], s->grad[0]),
                                INT("axis", axis_of(s->n, -1, rank))));
}

const GradientRow gradient_index[] = {
    { "Gather", gathered },
    { "GatherElements", gathered_elements },
    { "GatherND", gathered_by_coordinates },
    { "Compress", compressed },
    { "ScatterND", put_at },
    { "ScatterElements", put_elements },
    { "TopK", sorted },
    { 0 },
};
