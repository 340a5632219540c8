/* exported_region.c - graphs inside nodes that become part of the function around them. */
#include "front/exported/exported.h"

/* Regions that mean nothing once the graph is recorded: their graph is written into the function
 * around them. */
struct ExRegion {
    const char *target;
    size_t operands;
    bool listed; /* the operands are one list */
};

/* Regions: a graph that is run once, with operands. By the target's name; NULL for any other. */
const ExRegion *ex_region(Str target)
{
    static const ExRegion regions[] = {
        { "torch.ops.higher_order.wrap_with_set_grad_enabled", 2,
          false }, /* enabled, graph, operands */
        { "torch.ops.higher_order.wrap_with_autocast", 5,
          false }, /* device, dtype, enabled, cache, graph, operands */
        { "torch.ops.higher_order.invoke_subgraph", 2, false }, /* graph, identifier, operands */
        { "torch.ops.higher_order.wrap", 1, false },            /* graph, operands */
        { "torch.ops.higher_order.tag_activation_checkpoint", 1,
          false }, /* graph, operands, how to compute it again by name */
        { "torch.ops.higher_order.strict_mode", 1, true }, /* graph, [operands] */
        { "torch.ops.higher_order.hints_wrapper", 1,
          true }, /* graph, [operands], {}, hints by name */
    };
    for (size_t i = 0; i < COUNT(regions); i++)
        if (str_is(target, regions[i].target))
            return &regions[i];
    return NULL;
}

bool ex_give(ExScope *s, const ExOperands *values, const ExTargets *t, const ExNode *n)
{
    Exported *x = s->x;
    if (t->slot.n != values->n)
        return ex_bad(x, &n->outputs, "a node gives another number of results than its graph");
    Stmt *st = ex_assign(s, values->n ? values->at[0] : ex_expr(x, X_NONE), t, false);
    if (values->n > 1) {
        st->value = NULL;
        st->values = values->at;
        st->n_values = (uint32_t)values->n;
    }
    ex_place(x, st, n);
    return true;
}

static bool region_operands(Exported *x, const ExNode *n, ExOperands *out)
{
    size_t first = n->region->operands;
    const Expr *list = n->region->listed && first < n->args.n ? n->args.at[first].value : NULL;
    if (n->region->listed && (!list || list->kind != X_LIST))
        return ex_bad(x, &n->inputs, "a region without a list of operands");
    if (list) {
        for (uint32_t i = 0; i < list->n; i++)
            vec_push(x->cx, out, list->items[i]);
        return true;
    }
    for (size_t i = first; i < n->args.n; i++)
        if (!n->args.at[i].name)
            vec_push(x->cx, out, n->args.at[i].value);
    return true;
}

/* Writes the region's graph: its inputs are set to the operands, and the node's results to its
 * results. */
bool ex_write_region(ExScope *s, ExNode *n)
{
    Exported *x = s->x;
    ExOperands operands = { 0 };
    ExOperands values = { 0 };
    ExScope inner = { .x = x, .fn = s->fn, .repeated = s->repeated, .autocast = s->autocast };
    ExAutocast region = { .around = s->autocast };
    ExGraph g = { 0 };
    ExResults r = { 0 };
    if (!n->has_graph || n->args.n < n->region->operands)
        return ex_bad(x, &n->inputs, "a region without its graph");
    if (str_is(n->target, "torch.ops.higher_order.wrap_with_autocast")) {
        if (!ex_autocast_of(x, n, &region))
            return false;
        inner.autocast = &region;
    }
    if (!region_operands(x, n, &operands))
        return false;
    if (!ex_read_graph(&inner, &n->graph, &g, &operands) || !ex_results(s, &n->outputs, &r))
        return false;
    for (size_t i = 0; i < g.outputs.n; i++)
        vec_push(x->cx, &values, g.outputs.at[i].value);
    return ex_give(s, &values, &r.targets, n);
}
