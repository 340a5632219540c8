/* carry.c - values that cross the border of a subgraph: Python numbers as 0-d tensors, sizes that
 * are known on both sides, stand-ins for what was never set, and memory that may be shared from
 * then on. */
#include "eval/branch/carry.h"

#include "eval/lists/stacked.h"

/* Does a size's expression hold a symbol that g does not know? */
typedef struct Scope {
    const Graph *g;
    bool inner;
} Scope;

static Dim look_inside(void *arg, Dim sym)
{
    Scope *s = arg;
    Ox from;
    int axis;
    if (dim_origin(s->g->cx, sym, &from, &axis) && !graph_sees(s->g, from))
        s->inner = true;
    return NULL;
}

bool dim_is_outside(const Graph *g, Dim d)
{
    Scope s = { g, false };
    if (!dim_known(d, NULL))
        dim_replace(g->cx, d, look_inside, &s);
    return !s.inner;
}

static Ox int_ox(Graph *g, Value v)
{
    Dim d = NULL;
    return val_dim_of(v, g->cx, &d) ? ox_dim_value(g, d) : POISON;
}

static Ox bool_ox(Graph *g, Value v)
{
    return v.tag == V_BOOL ? ox_bool(g, v.b) : symbool_ox(g, v.sb);
}

static Ox float_ox(Graph *g, Value v)
{
    if (v.tag == V_SYMFLOAT)
        return ox_cast(g, v.ox, DT_DOUBLE);
    return ox_number(g, DT_DOUBLE, v.tag == V_FLOAT ? v.f : (double)v.i);
}

Ox carry_ox(Graph *g, Value v)
{
    if (v.tag == V_BOOL || v.tag == V_SYMBOOL)
        return bool_ox(g, v);
    return v.tag == V_INT || v.tag == V_SYMINT ? int_ox(g, v) : float_ox(g, v);
}

Ox stand_in(Graph *g, Ox like)
{
    Ctx *cx = g->cx;
    if (!ox_ok(like))
        return POISON;
    if (like->type->kind == T_SEQUENCE)
        return ox_g_with(g, "SequenceEmpty", (OxList){ 0 }, INT("dtype", ox_dtype(like)));
    Ox zero = ox_number(g, ox_dtype(like), 0);
    Dim dim[MAX_RANK];
    int rank = ox_rank(like);
    for (int i = 0; i < rank; i++)
        dim[i] = dim_is_outside(g, ox_dim(like, i)) ? ox_dim(like, i) : dim_int(cx, 1);
    if (rank <= 0)
        return zero;
    Ox shape = ox_dims(g, dim, (size_t)rank);
    return ox_g(g, "Expand", zero, shape);
}

/* With `y = x` in one branch and `y = f(x)` in the other it is not known whether y is x. The
 * same holds where `from` is itself such a y, of an inner branch. */
void maybe_the_same(Ctx *cx, Tensor *made, Tensor *from, uint64_t opened)
{
    if (from->st->created <= opened || from->st->aliases)
        tensor_maybe_shared(cx, made, from,
                            str_of(cx,
                                   "two tensors are the same memory in one branch of an if or "
                                   "in some iterations of a loop only"));
}

void containers_maybe_same(Ctx *cx, Value a, Value b, const char *why)
{
    Str reason = str_of(cx, why);
    tensor_maybe_shared(cx, container_mark(cx, a), container_mark(cx, b), reason);
    if (a.tag == V_LIST)
        list_maybe_same(cx, a.list, b.list, stacked_invalid(cx, reason));
    if (a.tag == V_DICT)
        dict_maybe_same(cx, a.dict, b.dict, reason);
}
