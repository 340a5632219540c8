/* exported_scan.c - scan, map_impl and associative_scan of a .pt2 as loops of the program.
 *
 *     c, ys = scan(f, [init], [xs], [more])          map_impl(f, [xs], [more])
 *
 *     c = init                                       ys = []
 *     ys = []                                        for i in range(sym_size(xs, 0)):
 *     for i in range(sym_size(xs, 0)):                   x = select(xs, 0, i)
 *         x = select(xs, 0, i)                           ..
 *         c, y = f(c, x, more)                           append(ys, y)
 *         append(ys, y)                              ys = stack(ys)
 *     ys = stack(ys)
 *
 * f is written into the loop's body. So the evaluator has one rule for loops of both formats: a
 * short one is unrolled, another is a Loop with a scan output for each ys. associative_scan is a
 * scan whose carried value is what it gives: it starts at the first row. */
#include "front/exported/exported.h"

enum { SCAN_MAX = 4096 }; /* carried values, rows, results: more than any program has */

/* What the operands are, by the operator. */
struct ExScan {
    const char *target;
    int init, xs, more;
    bool from_first;
};

const ExScan *ex_scan(Str target)
{
    static const ExScan scans[] = {
        { "torch.ops.higher_order.scan", 1, 2, 3, false },
        { "torch.ops.higher_order.map_impl", -1, 1, 2, false },
        { "torch.ops.higher_order.associative_scan", -1, 1, 2, true },
    };
    for (size_t i = 0; i < COUNT(scans); i++)
        if (str_is(target, scans[i].target))
            return &scans[i];
    return NULL;
}

/* A scan under construction: the values that go through it, by their slots. */
typedef struct Scan {
    ExScope *s;
    const ExNode *n;
    ExOperands init, xs, more, ys;
    VEC(uint32_t) carried;
    uint32_t i; /* the loop's variable */
} Scan;

/* ---- statements ---- */

static Stmt *set(Scan *sc, uint32_t slot, Expr *value)
{
    ExTargets t = { 0 };
    vec_push(sc->s->x->cx, &t.slot, slot);
    Stmt *st = ex_assign(sc->s, value, &t, false);
    ex_place(sc->s->x, st, sc->n);
    return st;
}

static Expr *made(Scan *sc, const char *name, Expr *value)
{
    uint32_t slot = ex_slot(sc->s->x, sc->s->fn, str_of(sc->s->x->cx, name));
    set(sc, slot, value);
    return ex_local(sc->s->x, slot);
}

/* ---- operands ---- */

/* torch 2.6 has the axis, and whether it goes backwards, in front: scan(f, [init], [xs], 0, False,
 * [more]). 0 after an error. */
static int place_of_more(Scan *sc, const ExScan *kind)
{
    const Arg *at = sc->n->args.at;
    const Expr *axis = kind->init > 0 && sc->n->args.n > 4 ? at[3].value : NULL;
    if (!axis || axis->kind != X_INT)
        return kind->more;
    if (axis->i == 0 && at[4].value->kind == X_FALSE)
        return kind->more + 2;
    ex_bad(sc->s->x, &sc->n->inputs, "a scan along another axis, or backwards, is not known");
    return 0;
}

static bool operand(Scan *sc, int at, ExOperands *out)
{
    if (at < 0)
        return true;
    if ((size_t)at >= sc->n->args.n)
        return true; /* an empty list at the end may be left out */
    const Expr *e = sc->n->args.at[at].value;
    if (e->kind != X_LIST && e->kind != X_TUPLE)
        return ex_bad(sc->s->x, &sc->n->inputs, "a list of operands is expected");
    for (uint32_t i = 0; i < e->n; i++)
        vec_push(sc->s->x->cx, out, e->items[i]);
    return out->n <= SCAN_MAX || ex_bad(sc->s->x, &sc->n->inputs, "too many operands");
}

/* Row i of each xs. */
static void rows(Scan *sc, Expr *i, ExOperands *out)
{
    Exported *x = sc->s->x;
    for (size_t k = 0; k < sc->xs.n; k++)
        vec_push(x->cx, out,
                 made(sc, "row", ex_op(x, "aten::select", sc->xs.at[k], ex_int(x, 0), i)));
}

static void start(Scan *sc, const ExScan *kind)
{
    Exported *x = sc->s->x;
    ExOperands first = { 0 };
    if (kind->from_first)
        rows(sc, ex_int(x, 0), &first);
    const ExOperands *init = kind->from_first ? &first : &sc->init;
    for (size_t k = 0; k < init->n; k++) {
        vec_push(x->cx, &sc->carried, ex_slot(x, sc->s->fn, str_of(x->cx, "carried")));
        set(sc, sc->carried.at[k], init->at[k]);
    }
}

/* ---- the loop ---- */

static void append(Scan *sc, Expr *list, Expr *value)
{
    Stmt *st = ex_stmt(sc->s->x, S_EXPR, ex_op(sc->s->x, "aten::append", list, value, NULL));
    vec_push(sc->s->x->cx, &sc->s->fn->body, st);
    ex_place(sc->s->x, st, sc->n);
}

/* f(carried, rows, more), written here: its results become the carried values and one item of each
 * ys. */
static bool iteration(Scan *sc, Json *graph, bool from_first)
{
    Exported *x = sc->s->x;
    ExScope inner = { .x = x, .fn = sc->s->fn, .repeated = true, .autocast = sc->s->autocast };
    ExOperands operands = { 0 };
    ExGraph g = { 0 };
    size_t n = sc->carried.n;
    Expr *i = ex_local(x, sc->i);
    for (size_t k = 0; k < n; k++)
        vec_push(x->cx, &operands, ex_local(x, sc->carried.at[k]));
    rows(sc, from_first ? ex_op(x, "aten::add", i, ex_int(x, 1), NULL) : i, &operands);
    for (size_t k = 0; k < sc->more.n; k++)
        vec_push(x->cx, &operands, sc->more.at[k]);
    if (!ex_read_graph(&inner, graph, &g, &operands))
        return false;
    if (g.outputs.n != n + (from_first ? 0 : sc->ys.n))
        return ex_bad(x, graph, "a scan's graph gives another number of results than the scan");
    VEC(Expr *) next = { 0 };
    for (size_t k = 0; k < g.outputs.n; k++) /* all are read before a carried value changes */
        vec_push(x->cx, &next, made(sc, "next", g.outputs.at[k].value));
    for (size_t k = 0; k < n; k++)
        set(sc, sc->carried.at[k], next.at[k]);
    for (size_t k = 0; k < sc->ys.n; k++)
        append(sc, sc->ys.at[k], from_first ? ex_local(x, sc->carried.at[k]) : next.at[n + k]);
    return true;
}

/* `for i in range(len(xs[0])): ..` with the scan's graph as its body. The body is written into the
 * function's own list of statements, which is put back behind it. */
static bool loop(Scan *sc, const ExScan *kind)
{
    Exported *x = sc->s->x;
    ExFunction *fn = sc->s->fn;
    ExFunction outer = *fn;
    Json graph = sc->n->graph;
    Expr *count = ex_op(x, "aten::sym_size", sc->xs.at[0], ex_int(x, 0), NULL);
    Stmt *st = ex_stmt(x, S_FOR,
                       kind->from_first ? ex_op(x, "aten::sub", count, ex_int(x, 1), NULL) : count);
    sc->i = ex_slot(x, fn, str_of(x->cx, "i"));
    st->target = mem_copy(x->cx, &sc->i, sizeof sc->i);
    st->n_target = 1;
    memset(&fn->body, 0, sizeof fn->body);
    bool ok = iteration(sc, &graph, kind->from_first);
    st->body = (Block){ fn->body.at, (uint32_t)fn->body.n };
    memcpy(&fn->body, &outer.body, sizeof fn->body);
    vec_push(x->cx, &fn->body, st);
    ex_place(x, st, sc->n);
    return ok;
}

/* ---- the node ---- */

/* What the node's results are: the carried values, then each ys as a tensor. */
static bool finish(Scan *sc, const ExScan *kind, const ExResults *r)
{
    Exported *x = sc->s->x;
    ExOperands values = { 0 };
    if (!kind->from_first)
        for (size_t k = 0; k < sc->carried.n; k++)
            vec_push(x->cx, &values, ex_local(x, sc->carried.at[k]));
    for (size_t k = 0; k < sc->ys.n; k++)
        vec_push(x->cx, &values,
                 made(sc, "rows", ex_op(x, "aten::stack", sc->ys.at[k], NULL, NULL)));
    return ex_give(sc->s, &values, &r->targets, sc->n);
}

/* scan and associative_scan as a loop: carried values are locals, each stacked result a list that
 * the loop appends to and that becomes a tensor behind it. from_first: the first row is the start,
 * and results are one a row. */
bool ex_write_scan(ExScope *s, ExNode *n)
{
    Exported *x = s->x;
    const ExScan *kind = n->scan;
    Scan sc = { .s = s, .n = n };
    ExResults r = { 0 };
    int more = place_of_more(&sc, kind);
    if (!n->has_graph || !more || !operand(&sc, kind->init, &sc.init) ||
        !operand(&sc, kind->xs, &sc.xs) || !operand(&sc, more, &sc.more) || sc.xs.n == 0)
        return ctx_failed(x->cx) ? false
                                 : ex_bad(x, &n->inputs, "a scan without its graph or its rows");
    if (!ex_results(s, &n->outputs, &r))
        return false;
    size_t n_ys = kind->from_first ? sc.xs.n : r.targets.slot.n - sc.init.n;
    if (r.targets.slot.n < sc.init.n || n_ys > SCAN_MAX)
        return ex_bad(x, &n->outputs, "a scan gives fewer results than it carries");
    for (size_t k = 0; k < n_ys; k++)
        vec_push(x->cx, &sc.ys, made(&sc, "ys", ex_expr(x, X_LIST)));
    start(&sc, kind);
    if (kind->from_first)
        for (size_t k = 0; k < n_ys; k++)
            append(&sc, sc.ys.at[k], ex_local(x, sc.carried.at[k]));
    return loop(&sc, kind) && finish(&sc, kind, &r);
}
