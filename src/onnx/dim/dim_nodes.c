/* dim_nodes.c - dimensions as nodes: where an operator truly needs the number.
 *
 * Everything is computed on int64 tensors of one item, so that a list is one Concat; one number
 * that is asked for alone, and made of numbers out of data, stays a number. A node goes into the
 * outermost scope that knows all its leaves: the root for dims of inputs, so that both branches of
 * an If share it. It is appended there, which is before the node that holds the scope we are in.
 * A division that may be by 0 stays in the scope that asks for it. Equal nodes are shared as
 * always, so each dimension is computed once a scope. */
#include "onnx/dim/dim.h"

/* What one value has needed so far: a dimension may stand in many others, which would ask for it
 * again and again. */
typedef struct Known {
    Map scope;
    DimNodes *made;
    bool number; /* the value is a number, 0-d, .. */
    bool lists;  /* .. and some symbol's number is in a list: an item of a Shape, or of data */
    bool single; /* compute 0-d tensors */
} Known;

static Ox compute(Known *k, Graph *g, Dim d);

static Ox plain(Graph *g, const char *op, Ox a, Ox b)
{
    return ox_make_plain(g, op, INPUTS(a, b), NULL, 0);
}

static Ox number(const Known *k, Graph *g, int64_t v)
{
    return k->single ? ox_int(g, v) : ox_ints(g, &v, 1);
}

/* ---- where a symbol's number is ---- */

/* The number of a symbol: (extent - shift) / scale, of an extent of v; axis < 0: v itself. */
typedef struct SizeOf {
    Ox v;
    int axis;
    int64_t scale, shift;
} SizeOf;

/* Does an extent d tell the symbol's number, and by what scale and shift? */
typedef bool TellsSymbol(Ctx *cx, Dim d, Dim sym, SizeOf *out);

static bool is_symbol(Ctx *cx, Dim d, Dim sym, SizeOf *out)
{
    (void)cx;
    (void)out;
    return d && dim_now(d) == dim_now(sym);
}

static bool equals_symbol(Ctx *cx, Dim d, Dim sym, SizeOf *out)
{
    (void)out;
    return dim_eq(cx, d, sym) == YES;
}

/* Is d, an extent such as 2*N + 1, a symbol times a number plus a number? */
static bool is_affine(Ctx *cx, Dim d, Dim sym, SizeOf *out)
{
    if (!dim_has(d, sym))
        return false;
    DimView sum = dim_view(cx, d);
    bool is_sum = sum.shape == DIM_TOTAL;
    for (uint32_t i = 0; i < (is_sum ? sum.n : 1); i++) {
        Dim term = is_sum ? sum.arg[i] : d;
        DimView v = dim_view(cx, term);
        if (v.shape == DIM_FACTORS && v.n == 2)
            for (int k = 0; k < 2; k++)
                if (dim_eq(cx, v.arg[k], sym) == YES && dim_known(v.arg[1 - k], &out->scale))
                    break;
    }
    return out->scale > 0 &&
        dim_known(dim_sub(cx, d, dim_mul(cx, sym, dim_int(cx, out->scale))), &out->shift);
}

/* The first input that has such a dimension, of this scope or of one around it. */
static bool find_extent(Graph *g, Dim sym, TellsSymbol *tells, SizeOf *out)
{
    for (Graph *scope = g; scope; scope = scope->up)
        for (size_t i = 0; i < scope->inputs.n; i++) {
            Ox x = scope->inputs.at[i];
            for (int k = 0; k < ox_rank(x); k++) {
                *out = (SizeOf){ .v = x, .axis = k, .scale = 1 };
                if (tells(g->cx, ox_dim(x, k), sym, out))
                    return true;
            }
        }
    return false;
}

/* Its origin; else an input's dimension, or one that is made of it, or at last one of which facts
 * say that it is equal. */
static bool find_symbol(Graph *g, Dim sym, SizeOf *out)
{
    *out = (SizeOf){ .scale = 1 };
    return dim_origin(g->cx, sym, &out->v, &out->axis) || find_extent(g, sym, is_symbol, out) ||
        find_extent(g, sym, is_affine, out) ||
        (!dim_is_free(g->cx, sym) && find_extent(g, sym, equals_symbol, out));
}

/* The list that a number out of data was taken from, where that has no other; else NULL. */
static Ox list_of(Ox v)
{
    Node *n = v->kind == OX_NODE && (node_is(v->node, "Squeeze") || node_is(v->node, "Reshape"))
        ? v->node
        : NULL;
    bool is_list = n && ox_dtype(n->in[0]) == DT_INT64 && ox_rank(n->in[0]) == 1 &&
        dim_is(ox_dim(n->in[0], 0), 1);
    return is_list ? n->in[0] : NULL;
}

/* The scope, out from g, in which a value is made. */
static Graph *deeper(Graph *a, Graph *b)
{
    for (Graph *g = a; g; g = g->up)
        if (g == b)
            return a;
    return b;
}

/* The line is that of the operator whose result decides the size: where the number is asked for the
 * program may not say at all. */
static bool decided_elsewhere(Graph *g, Dim d, Ox from)
{
    SourceId at = from->kind == OX_NODE ? from->node->at : where_intern(g->cx);
    fail_at(g->cx, at, E_UNSUPPORTED,
            "the size %s is decided here, inside a branch or loop that ONNX runs, and needed as a "
            "number outside of it",
            dim_text(g->cx, d)->s);
    fail_hint(g->cx,
              "fix the sizes that the branch or loop rests on with -i, so that it is "
              "decided or unrolled; or keep the number in a variable that is set there");
    return false;
}

/* Does ONNX Runtime stop at this division for some sizes? The program may ask for it only where the
 * divisor is not 0: `a // b if b != 0 else 0`. */
static bool may_divide_by_zero(Ctx *cx, const DimView *v)
{
    if (v->shape != DIM_QUOTIENT && v->shape != DIM_REMAINDER)
        return false;
    int64_t low, high;
    dim_range(cx, v->arg[1], &low, &high);
    return low <= 0 && high >= 0;
}

static bool scope_of(Known *k, Graph *g, Dim d, Graph **scope);

/* *scope becomes the deeper one of itself and the scopes that define what d is made of. False with
 * an error when g does not see one of them, or when no value has a symbol's number. */
static bool find_scope(Known *k, Graph *g, Dim d, Graph **scope)
{
    DimView v = dim_view(g->cx, d);
    Dim left, right;
    SizeOf from;
    if (v.shape == DIM_SYMBOL && find_symbol(g, d, &from)) {
        if (!graph_sees(g, from.v))
            return decided_elsewhere(g, d, from.v);
        k->lists |= from.axis >= 0 || ox_rank(from.v) != 0 || list_of(from.v);
        if (from.v->graph)
            *scope = deeper(*scope, from.v->graph);
        return true;
    }
    if (v.shape == DIM_SYMBOL && dim_broadcast_of(d, &left, &right))
        return scope_of(k, g, left, scope) && scope_of(k, g, right, scope);
    if (v.shape == DIM_SYMBOL)
        return fail(g->cx, E_UNDECIDED,
                    "the size %s is needed as a number, and no input or value has it",
                    dim_text(g->cx, d)->s);
    for (uint32_t i = 0; i < v.n; i++)
        if (!scope_of(k, g, v.arg[i], scope))
            return false;
    if (may_divide_by_zero(g->cx, &v))
        *scope = g;
    return true;
}

/* The scope for d and what *scope is for already. */
static bool scope_of(Known *k, Graph *g, Dim d, Graph **scope)
{
    Ox made = k->number ? NULL : map_get(&k->made->list, d); /* a number needs to know of lists */
    Graph *own = made && made->graph ? made->graph : map_get(&k->scope, d);
    if (!own || deeper(g, own) != g) {
        own = graph_root(g);
        if (!find_scope(k, g, d, &own))
            return false;
        map_put(g->cx, &k->scope, d, own);
    }
    *scope = deeper(*scope, own);
    return true;
}

/* A number out of data as a list. */
static Ox as_list(Graph *g, Ox v)
{
    Ox list = list_of(v);
    return list ? list
                : ox_make_plain(g, "Reshape", INPUTS(v, ox_ints(g, (int64_t[]){ 1 }, 1)), NULL, 0);
}

/* A symbol from the value that has it: the value itself, or (Gather(Shape(v), axis) - shift) /
 * scale for a size of v. */
static Ox size_of(const Known *k, Graph *g, const SizeOf *from)
{
    if (from->axis < 0)
        return k->single ? from->v : as_list(g, from->v);
    Ox shape = ox_make_plain(g, "Shape", INPUTS(from->v), NULL, 0);
    Ox at = number(k, g, from->axis);
    Ox x = ox_make_plain(g, "Gather", INPUTS(shape, at), ATTRS(INT("axis", 0)));
    if (from->shift)
        x = plain(g, "Sub", x, number(k, g, from->shift));
    return from->scale > 1 ? plain(g, "Div", x, number(k, g, from->scale)) : x;
}

static Ox symbol(Known *k, Graph *g, Dim d)
{
    SizeOf from;
    Dim left, right;
    if (find_symbol(g, d, &from))
        return size_of(k, g, &from);
    if (!dim_broadcast_of(d, &left, &right))
        return POISON;
    Ox a = compute(k, g, left);
    Ox b = compute(k, g, right); /* equal, or one is 1: the other one */
    Ox one = plain(g, "Equal", a, number(k, g, 1));
    return ox_make_plain(g, "Where", INPUTS(one, b, a), NULL, 0);
}

/* ---- arithmetic ---- */

/* a // b for a b of 2, 4, 8, ..: what is taken from a to be a multiple never overflows. */
static Ox shifted(Graph *g, Ox a, Ox b)
{
    Ox rest = plain(g, "Mod", a, b); /* with the sign of b */
    Ox whole = plain(g, "Sub", a, rest);
    return plain(g, "Div", whole, b);
}

static bool is_power_of_two(Dim d)
{
    int64_t v;
    return dim_known(d, &v) && v > 0 && (v & (v - 1)) == 0;
}

/* Div truncates; Python's // does not. r = a - q*b has the sign of a, and the quotient is one too
 * large where it is not b's. 1 // b is said as 2 // (2*b): ONNX Runtime's optimizer makes z / b of
 * (1 / b) * z, of ints too. */
static Ox quotient(Known *k, Graph *g, Dim a, Dim b)
{
    if (dim_is(a, 1))
        return quotient(k, g, dim_int(g->cx, 2), dim_mul(g->cx, b, dim_int(g->cx, 2)));
    Ox x = compute(k, g, a);
    Ox y = compute(k, g, b);
    int64_t alo, ahi, blo, bhi;
    dim_range(g->cx, a, &alo, &ahi);
    dim_range(g->cx, b, &blo, &bhi);
    if (alo < 0 && is_power_of_two(b))
        return shifted(g, x, y);
    Ox q = plain(g, "Div", x, y);
    if (alo >= 0 && blo > 0)
        return q;
    Ox whole = plain(g, "Mul", q, y);
    Ox r = plain(g, "Sub", x, whole);
    if (blo <= 0) { /* r may be large too: its sign is enough */
        Ox sign = ox_make_plain(g, "Sign", INPUTS(r), NULL, 0);
        r = plain(g, "Mul", sign, y);
    }
    Ox low = plain(g, "Less", r, number(k, g, 0));
    Ox one = ox_make_plain(g, "Cast", INPUTS(low), ATTRS(INT("to", DT_INT64)));
    return plain(g, "Sub", q, one);
}

/* Sizes keep Sub, Mul and Div, which tools that follow sizes know. */
static Ox remainder_of(Known *k, Graph *g, Dim a, Dim b)
{
    int64_t low, high;
    dim_range(g->cx, a, &low, &high);
    Ox x = compute(k, g, a);
    Ox y = compute(k, g, b);
    if (low < 0)
        return plain(g, "Mod", x, y);
    Ox q = quotient(k, g, a, b);
    Ox whole = plain(g, "Mul", q, y);
    return plain(g, "Sub", x, whole);
}

/* Min and Max take int64 from opset 12 on only. */
static Ox lesser(Graph *g, Ox a, Ox b, bool least)
{
    Ox less = plain(g, "Less", a, b);
    return ox_make_plain(g, "Where", least ? INPUTS(less, a, b) : INPUTS(less, b, a), NULL, 0);
}

/* -3 and -3*N can be taken away from the terms before them. */
static bool is_negative(Ctx *cx, Dim d)
{
    DimView term = dim_view(cx, d);
    DimView first = term.shape == DIM_FACTORS ? dim_view(cx, term.arg[0]) : term;
    return first.shape == DIM_NUMBER && first.number < 0 && first.number != INT64_MIN;
}

/* x and one more term of a sum: a - 3 reads better than a + -3. */
static Ox add_term(Known *k, Graph *g, Ox x, Dim term)
{
    Ctx *cx = g->cx;
    if (!is_negative(cx, term))
        return plain(g, "Add", x, compute(k, g, term));
    return plain(g, "Sub", x, compute(k, g, dim_sub(cx, dim_int(cx, 0), term)));
}

/* The terms, factors or arguments of v from left to right. */
static Ox join(Known *k, Graph *g, const DimView *v)
{
    Ox x = compute(k, g, v->arg[0]);
    for (uint32_t i = 1; i < v->n && ox_ok(x); i++) {
        if (v->shape == DIM_TOTAL) {
            x = add_term(k, g, x, v->arg[i]);
            continue;
        }
        Ox y = compute(k, g, v->arg[i]);
        if (v->shape == DIM_FACTORS)
            x = plain(g, "Mul", x, y);
        else
            x = lesser(g, x, y, v->shape == DIM_LEAST);
    }
    return x;
}

static Ox make(Known *k, Graph *scope, Dim d)
{
    DimView v = dim_view(scope->cx, d);
    switch (v.shape) {
    case DIM_NUMBER:    return number(k, scope, v.number);
    case DIM_SYMBOL:    return symbol(k, scope, d);
    case DIM_QUOTIENT:  return quotient(k, scope, v.arg[0], v.arg[1]);
    case DIM_REMAINDER: return remainder_of(k, scope, v.arg[0], v.arg[1]);
    default:            return join(k, scope, &v);
    }
}

/* d as int64[1], or 0-d (single), in the outermost scope that can. */
static Ox compute(Known *k, Graph *g, Dim d)
{
    if (!d || ctx_failed(g->cx))
        return POISON;
    Map *made = k->single ? &k->made->single : &k->made->list;
    Ox x = map_get(made, d);
    if (x && graph_sees(g, x))
        return x;
    Graph *scope = graph_root(g);
    if (!scope_of(k, g, d, &scope))
        return POISON;
    x = make(k, scope, d);
    map_put(g->cx, made, d, x);
    return x;
}

/* ---- the whole value ---- */

/* Items as one list: runs of numbers are one constant. */
static Ox list(Known *k, Graph *g, const Dim *items, int64_t n)
{
    Ox part[MAX_ITEMS];
    size_t parts = 0;
    for (int64_t i = 0; i < n;) {
        int64_t run[MAX_ITEMS];
        size_t m = 0;
        while (i < n && dim_known(items[i], &run[m]))
            m++, i++;
        part[parts++] = m ? ox_ints(g, run, m) : compute(k, g, items[i++]);
    }
    return parts == 1 ? part[0]
                      : ox_make_plain(g, "Concat", (OxList){ part, parts }, ATTRS(INT("axis", 0)));
}

/* A value of kind OX_DIMS as nodes, in the outermost scope that sees what its items are made of;
 * any other value as it is. */
Ox dims_to_nodes(Graph *g, Ox v, DimNodes *made)
{
    if (!ox_ok(v) || v->kind != OX_DIMS || ctx_failed(g->cx))
        return v;
    DimNodes own = { 0 };
    Known known = { .made = made ? made : &own, .number = ox_rank(v) == 0 };
    Known *k = &known;
    Graph *scope = graph_root(g);
    for (int64_t i = 0; i < v->n_items; i++)
        if (!scope_of(k, g, v->items[i], &scope))
            return POISON;
    k->single = k->number && !k->lists;
    Ox x = k->single ? compute(k, scope, v->items[0]) : list(k, scope, v->items, v->n_items);
    if (k->number && !k->single)
        x = ox_make_plain(scope, "Reshape", INPUTS(x, ox_ints(scope, NULL, 0)), NULL, 0);
    if (ox_ok(x) && ox_dtype(v) != DT_INT64)
        x = ox_make_plain(scope, "Cast", INPUTS(x), ATTRS(INT("to", ox_dtype(v))));
    return x;
}
