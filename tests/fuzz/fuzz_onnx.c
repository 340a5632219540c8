/* fuzz_onnx.c - any bytes as an ONNX model. What is read can be written; what was written reads
 * back, and writing it again gives the same bytes. Models whose outputs need an Identity, or that
 * lack a type, are read but not written. */
#include "onnx/wire/model_file.h"

#include <stdlib.h>

static void require(bool ok)
{
    if (!ok)
        abort();
}

static bool collect(void *user, const void *p, size_t n)
{
    Buf *b = user;
    buf_add(b, p, n);
    return true;
}

/* False: this graph cannot be written (and the context says why). */
static bool write_model(Ctx *cx, Graph *g, ModelInfo *info, Buf *out)
{
    *out = buf_new(cx);
    Sink sink = { .fd = -1, .write = collect, .user = out };
    bool ok = wire_write(cx, g, info, &sink, NULL, NULL);
    require(ok != ctx_failed(cx));
    require(!ok || wire_size(cx, g, info) == out->n);
    return ok;
}

static void write_and_read_again(Ctx *cx, Graph *g, ModelInfo *info)
{
    Buf first, second;
    ModelInfo again;
    if (!write_model(cx, g, info, &first))
        return;
    Graph *back = wire_read(cx, source_memory(cx, first.s, first.n), &again);
    require(back != NULL);
    require(again.opset == info->opset && again.props.n == info->props.n &&
            back->nodes.n == g->nodes.n);
    require(write_model(cx, back, &again, &second));
    require(first.n == second.n && memcmp(first.s, second.s, first.n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    Ctx *cx = ctx_new();
    require(cx != NULL);
    ModelInfo info;
    Graph *g = wire_read(cx, source_memory(cx, p, n), &info);
    require((g == NULL) == ctx_failed(cx));
    if (g) {
        require(graph_text(g)->len > 0);
        if (!ctx_failed(cx))
            write_and_read_again(cx, g, &info);
    }
    require(!ctx_failed(cx) || error_text(cx, "fuzz", "x")->len > 10);
    require(arena_bytes(cx->keep) + arena_bytes(cx->run) < (64u << 20));
    ctx_free(cx);
    return 0;
}
