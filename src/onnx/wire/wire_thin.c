/* wire_thin.c - an ONNX file without the numbers of its weights, for those who want to look at it.
 *
 * Everything else stays byte for byte as it is: nothing needs to be understood but where the
 * weights lie. The same walk measures and writes. */
#include "onnx/wire/wire_read.h"

enum { MODEL_GRAPH_FIELD = 7, GRAPH_INITIALIZER_FIELD = 5, LARGE = 1024 };

typedef struct Thin {
    In in;
    Sink *out;  /* NULL while it is measured */
    uint64_t n; /* bytes measured or written */
} Thin;

static bool keep_range(Thin *t, uint64_t at, uint64_t end)
{
    t->n += end - at;
    return !t->out || sink_copy(t->in.cx, t->out, (Bytes){ t->in.file, at, end - at });
}

/* The head of a message of `n` bytes. */
static bool keep_head(Thin *t, uint32_t field, uint64_t n)
{
    uint8_t head[16];
    size_t size = 0;
    uint64_t varint[] = { (uint64_t)field << 3 | WIRE_LENGTH, n };
    for (size_t i = 0; i < COUNT(varint); i++)
        for (uint64_t v = varint[i], more = 1; more; v >>= 7) {
            more = v > 127;
            head[size++] = (uint8_t)((v & 127) | more << 7);
        }
    t->n += size;
    return !t->out || sink_write(t->in.cx, t->out, head, size);
}

/* Fields of a TensorProto that hold its numbers. */
static bool is_data(uint32_t field)
{
    return (field >= 4 && field <= 7) || (field >= 9 && field <= 11);
}

static bool thin_tensor(Thin *t, Span tensor)
{
    Field f;
    Span span;
    for (uint64_t at = tensor.at, from = at;
         in_file_field(&t->in, &at, tensor.at + tensor.n, "tensor", &f, &span); from = at)
        if (!is_data(f.number) && !keep_range(t, from, at))
            return false;
    return !ctx_failed(t->in.cx);
}

static bool thin_graph(Thin *t, Span graph);

/* A message by itself: measured first, because its length stands in front of it. */
static bool thin_message(Thin *t, uint32_t field, Span span, bool (*thin)(Thin *t, Span span))
{
    Thin measured = { .in = t->in };
    return thin(&measured, span) && keep_head(t, field, measured.n) && thin(t, span);
}

static bool thin_graph(Thin *t, Span graph)
{
    Field f;
    Span span;
    for (uint64_t at = graph.at, from = at;
         in_file_field(&t->in, &at, graph.at + graph.n, "graph", &f, &span); from = at) {
        bool large = f.number == GRAPH_INITIALIZER_FIELD && f.type == WIRE_LENGTH && span.n > LARGE;
        if (!(large ? thin_message(t, f.number, span, thin_tensor) : keep_range(t, from, at)))
            return false;
    }
    return !ctx_failed(t->in.cx);
}

bool wire_thin(Ctx *cx, Source *file, Sink *out)
{
    Thin t = { .in = { .cx = cx, .file = file }, .out = out };
    Field f;
    Span span;
    for (uint64_t at = 0, from = 0; in_file_field(&t.in, &at, file->size, "model", &f, &span);
         from = at) {
        bool graph = f.number == MODEL_GRAPH_FIELD && f.type == WIRE_LENGTH;
        if (!(graph ? thin_message(&t, f.number, span, thin_graph) : keep_range(&t, from, at)))
            return false;
    }
    return !ctx_failed(cx);
}
