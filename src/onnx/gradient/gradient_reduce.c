/* gradient_reduce.c - gradients of reductions: of one result to all the elements it was made of. */
#include "onnx/gradient/internal.h"

/* A reduction of x; `grad` and `result` have an axis of one element for each that was reduced. */
typedef struct Reduced {
    Ox x, grad, result;
    Dim count; /* of elements behind one result */
} Reduced;

/* v with the axes that the node has removed. */
static Ox with_axes(Step *s, Ox v)
{
    Ox x = s->n->in[0];
    Dim kept[MAX_RANK];
    if (node_int(s->n, "keepdims", 1) || ox_rank(x) == 0)
        return v;
    if (step_in(s, 1))
        return ox_g(s->g, "Unsqueeze", v, s->n->in[1]);
    for (int i = 0; i < ox_rank(x); i++)
        kept[i] = dim_int(s->cx, 1);
    return ox_g(s->g, "Reshape", v, ox_dims(s->g, kept, (size_t)ox_rank(x)));
}

/* How many elements of x one result has come from. */
static bool count_of(Step *s, Dim *out)
{
    Ox x = s->n->in[0];
    const int64_t *axes;
    int64_t n;
    if (!step_in(s, 1)) {
        *out = dim_product(s->cx, x->type->dim, ox_rank(x));
        return *out != NULL;
    }
    if (!ox_known_ints(s->g, s->n->in[1], &axes, &n))
        return step_refuse(s, "the axes that it reduces are not known");
    *out = dim_int(s->cx, 1);
    for (int64_t i = 0; i < n && *out; i++)
        *out = dim_mul(s->cx, *out, ox_dim(x, (int)(axes[i] < 0 ? axes[i] + ox_rank(x) : axes[i])));
    return *out != NULL;
}

/* Does it reduce nothing: an empty list of axes with noop_with_empty_axes? */
static bool reduces_nothing(const Step *s)
{
    bool none = !step_in(s, 1) || dim_is(type_numel(s->cx, s->n->in[1]->type), 0);
    return none && node_int(s->n, "noop_with_empty_axes", 0) != 0;
}

static bool reduction(Step *s, Reduced *r)
{
    int rank;
    if (!step_rank(s, s->n->in[0], &rank))
        return false;
    if (reduces_nothing(s))
        return step_refuse(s, "the gradient of a reduction over no axes is not known");
    r->x = s->n->in[0];
    r->grad = with_axes(s, s->grad[0]);
    r->result = with_axes(s, s->n->out[0]);
    r->count = NULL;
    return ox_ok(r->grad) && ox_ok(r->result);
}

static Ox to_all(Step *s, Ox v, Ox x) { return ox_g(s->g, "Expand", v, ox_shape(s->g, x)); }

static bool summed(Step *s)
{
    Reduced r = { 0 };
    if (reduces_nothing(s))
        return step_gives(s, 0, s->grad[0]);
    return reduction(s, &r) && step_gives(s, 0, to_all(s, r.grad, r.x));
}

static bool averaged(Step *s)
{
    Reduced r = { 0 };
    if (!reduction(s, &r) || !count_of(s, &r.count))
        return false;
    Ox n = ox_cast(s->g, ox_dim_value(s->g, r.count), ox_dtype(r.grad));
    Ox each = ox_g(s->g, "Div", r.grad, n);
    return step_gives(s, 0, to_all(s, each, r.x));
}

/* x / |x|, which is 0 at 0. */
static bool norm_2(Step *s)
{
    Reduced r = { 0 };
    if (!reduction(s, &r))
        return false;
    Ox zero = like_number(s->g, 0, r.grad);
    Ox at_zero = ox_g(s->g, "Equal", r.result, zero);
    Ox safe = ox_g(s->g, "Where", at_zero, like_number(s->g, 1, r.grad), r.result);
    Ox each = ox_g(s->g, "Div", r.grad, safe);
    each = ox_g(s->g, "Where", at_zero, zero, each);
    return step_gives(s, 0, ox_g(s->g, "Mul", r.x, each));
}

static bool norm_1(Step *s)
{
    Reduced r = { 0 };
    if (!reduction(s, &r))
        return false;
    Ox sign = ox_g(s->g, "Sign", r.x);
    return step_gives(s, 0, ox_g(s->g, "Mul", sign, r.grad));
}

/* All elements that are the extreme one share its gradient. */
static bool extreme(Step *s)
{
    Reduced r = { 0 };
    if (!reduction(s, &r))
        return false;
    Ox is = ox_cast(s->g, ox_g(s->g, "Equal", r.x, r.result), ox_dtype(r.grad));
    Ox axes = step_in(s, 1);
    Ox shared = ox_g_with(s->g, "ReduceSum", INPUTS(is, axes), INT("keepdims", 1));
    Ox each = ox_g(s->g, "Div", r.grad, shared);
    return step_gives(s, 0, ox_g(s->g, "Mul", is, each));
}

/* The product of the others. Beside one 0 only that has a gradient, beside two none has. */
static bool multiplied(Step *s)
{
    Reduced r = { 0 };
    if (!reduction(s, &r))
        return false;
    Ox axes = step_in(s, 1);
    Ox zero = like_number(s->g, 0, r.grad);
    Ox one = like_number(s->g, 1, r.grad);
    Ox is_zero = ox_g(s->g, "Equal", r.x, zero);
    Ox count = ox_cast(s->g, is_zero, ox_dtype(r.grad));
    count = ox_g_with(s->g, "ReduceSum", INPUTS(count, axes), INT("keepdims", 1));
    Ox safe = ox_g(s->g, "Where", is_zero, one, r.x);
    Ox product = ox_g_with(s->g, "ReduceProd", INPUTS(safe, axes), INT("keepdims", 1));
    Ox others = ox_g(s->g, "Div", product, safe);
    Ox none = ox_g(s->g, "Equal", count, zero);
    Ox single = ox_g(s->g, "Equal", count, one);
    Ox alone = ox_g(s->g, "And", single, is_zero);
    Ox counts = ox_g(s->g, "Or", none, alone);
    others = ox_g(s->g, "Where", counts, others, zero);
    return step_gives(s, 0, ox_g(s->g, "Mul", others, r.grad));
}

static bool log_sum_exp(Step *s)
{
    Reduced r = { 0 };
    if (!reduction(s, &r))
        return false;
    Ox share = ox_g(s->g, "Exp", ox_g(s->g, "Sub", r.x, r.result));
    return step_gives(s, 0, ox_g(s->g, "Mul", share, r.grad));
}

/* ---- the larger or smaller of several: equal ones share ---- */

static bool larger_of_several(Step *s)
{
    Ox result = s->n->out[0];
    Ox count = like_number(s->g, 0, result);
    for (int i = 0; i < s->n->n_in; i++) {
        Ox is = ox_g(s->g, "Equal", s->n->in[i], result);
        count = ox_g(s->g, "Add", count, ox_cast(s->g, is, ox_dtype(result)));
    }
    Ox each = ox_g(s->g, "Div", s->grad[0], count);
    Ox zero = like_number(s->g, 0, result);
    for (int i = 0; i < s->n->n_in; i++) {
        Ox is = ox_g(s->g, "Equal", s->n->in[i], result);
        if (step_wants(s, i) && !step_gives(s, i, ox_g(s->g, "Where", is, each, zero)))
            return false;
    }
    return true;
}

static bool sum_of_several(Step *s)
{
    for (int i = 0; i < s->n->n_in; i++)
        s->out[i] = s->grad[0];
    return true;
}

const GradientRow gradient_reduce[] = {
    { "ReduceSum", summed },      { "ReduceMean", averaged },         { "ReduceL2", norm_2 },
    { "ReduceL1", norm_1 },       { "ReduceMax", extreme },           { "ReduceMin", extreme },
    { "ReduceProd", multiplied }, { "ReduceLogSumExp", log_sum_exp }, { "Max", larger_of_several },
    { "Min", larger_of_several }, { "Sum", sum_of_several },          { 0 },
};
