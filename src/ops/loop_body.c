/* loop_body.c - a Loop whose body is written as a C function from states to states. */
#include "ops/internal.h"

/* See internal.h. The Loop that is made, for n = 1:
 *
 *    iterations  true  state[0]         inputs of the node
 *         k       goes  carried[0]      inputs of the body
 *                  go   next[0]         its outputs, computed by step()
 *                       state[0]        output of the node: state[] is replaced
 *
 * Without *go the body gives back its condition, and the node has no initial one. */
bool op_loop(Op *op, Ox iterations, LoopStep step, const void *data, Ox *state, int n)
{
    Ctx *cx = op->cx;
    Op body = *op;
    body.g = graph_new(cx, op->g, NULL);
    Ox in[LOOP_STATES + 2] = { iterations, NULL };
    Ox carried[LOOP_STATES], next[LOOP_STATES];
    Ox go = NULL;
    Ox k = graph_input(body.g, NULL, type_tensor(cx, DT_INT64, 0, NULL));
    Ox goes = graph_input(body.g, NULL, type_tensor(cx, DT_BOOL, 0, NULL));
    for (int i = 0; i < n; i++) {
        if (!ox_ok(state[i]))
            return false;
        in[i + 2] = state[i];
        carried[i] = graph_input(body.g, NULL, state[i]->type);
    }
    step(&body, data, k, carried, next, &go);
    graph_output(body.g, go ? go : ox(&body, "Identity", goes), NULL);
    for (int i = 0; i < n; i++)
        graph_output(body.g, next[i], NULL);
    for (int i = 0; i < n; i++)
        if (!ox_ok(next[i]))
            return false;
    in[1] = go ? ox_bool(op->g, true) : NULL; /* without one the body's answer is ignored */
    return !ctx_failed(cx) &&
        ox_make_n(op->g, "Loop", (OxList){ in, (size_t)n + 2 }, ATTRS(SUBGRAPH("body", body.g)),
                  state, (size_t)n);
}

Ox any_of(Op *op, Ox x)
{
    Ox counted = ox_ok(x) ? ox_cast(op->g, x, DT_INT64) : POISON;
    Ox sum = ox_with(op, "ReduceSum", INPUTS(counted), INT("keepdims", 0));
    return ox_ok(sum) ? ox_cast(op->g, sum, DT_BOOL) : POISON;
}
