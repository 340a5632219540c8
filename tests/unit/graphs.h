/* graphs.h - what the unit tests of onnx/ and tidy/ share: an empty graph, and inputs whose shape
 * is a text. */
#ifndef PT2ONNX_TEST_GRAPHS_H
#define PT2ONNX_TEST_GRAPHS_H

#include <string.h>

#include "onnx/internal.h"

static inline Graph *graph_of(Ctx *cx) { return graph_new(cx, NULL, str_of(cx, "main")); }

/* "N;3;floordiv(N, 2)", or "N,3" where no size has a comma of its own; "" is a scalar's. */
static inline Type type_of(Ctx *cx, DType t, const char *shape)
{
    const char *between = strchr(shape, ';') || strchr(shape, '(') ? ";" : ",";
    Dim d[MAX_RANK];
    int rank = 0;
    for (const char *s = shape; *s;) {
        size_t n = strcspn(s, between);
        d[rank++] = dim_parse(cx, s, n);
        s += n + (s[n] != '\0');
    }
    return type_tensor(cx, t, rank, d);
}

static inline Ox input(Graph *g, const char *name, DType t, const char *shape)
{
    return graph_input(g, str_of(g->cx, name), type_of(g->cx, t, shape));
}

#endif
