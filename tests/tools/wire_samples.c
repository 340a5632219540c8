/* wire_samples.c - writes small ONNX models that between them use all that the writer can write,
 * for tests/python/test_wire.py, where onnx.checker and ONNX Runtime look at them. usage:
 * wire_samples DIR */
#include "onnx/wire/model_file.h"

#include <stdio.h>

typedef struct Sample {
    const char *name;
    int opset;
    WeightsMode weights;
    Graph *(*make)(Ctx *cx);
} Sample;

static Type floats(Ctx *cx, int rank, const int64_t *dims)
{
    return type_of_ints(cx, DT_FLOAT, rank, dims);
}

static const Const *ramp(Ctx *cx, int rank, const int64_t *dims, const char *name)
{
    int64_t n = 1;
    for (int a = 0; a < rank; a++)
        n *= dims[a];
    float *data = new_array(cx, float, n);
    for (int64_t i = 0; i < n; i++)
        data[i] = (float)i / 64;
    const Const *k = const_make(cx, DT_FLOAT, rank, dims, data);
    ((Const *)k)->name = name ? str_of(cx, name) : NULL; /* made here, and nobody has seen it yet */
    return k;
}

/* y = relu(x @ W + b) in module "fc", with a dynamic batch; W is 32 x 16, large enough to lie
 * outside */
static Graph *linear(Ctx *cx)
{
    Graph *g = graph_new(cx, NULL, NULL);
    Where module = { .kind = WHERE_MODULE,
                     .name = str_of(cx, "net.fc"),
                     .type = str_of(cx, "torch.nn.modules.linear.Linear") };
    cx->at = &module;
    Ox x = graph_input(
        g, str_of(cx, "x"),
        type_tensor(cx, DT_FLOAT, 2, (Dim[]){ dim_sym(cx, str_of(cx, "N")), dim_int(cx, 32) }));
    Ox y = ox_g(g, "MatMul", x, ox_const(g, ramp(cx, 2, (int64_t[]){ 32, 16 }, "net.fc.weight")));
    y = ox_g(g, "Add", y, ox_const(g, ramp(cx, 1, (int64_t[]){ 16 }, "net.fc.bias")));
    cx->at = NULL;
    graph_output(g, ox_g(g, "Relu", y), str_of(cx, "y"));
    return g;
}

/* The weight transposed: gathered while it is written. */
static Graph *turned(Ctx *cx)
{
    Graph *g = graph_new(cx, NULL, NULL);
    Ox x = graph_input(g, str_of(cx, "x"), floats(cx, 2, (int64_t[]){ 3, 32 }));
    const Const *w = const_permute(cx, ramp(cx, 2, (int64_t[]){ 16, 32 }, "weight"),
                                   (int[]){ 1, 0 });
    graph_output(g, ox_g(g, "MatMul", x, ox_const(g, w)), str_of(cx, "y"));
    return g;
}

/* y = x + w if c else x * w, an If with a weight of the root in both branches */
static Graph *branch(Ctx *cx)
{
    Graph *g = graph_new(cx, NULL, NULL), *branch[2];
    int64_t n = 8;
    Ox c = graph_input(g, str_of(cx, "c"), type_tensor(cx, DT_BOOL, 0, NULL));
    Ox x = graph_input(g, str_of(cx, "x"), floats(cx, 1, &n));
    Ox w = ox_const(g, ramp(cx, 1, &n, "w"));
    for (int i = 0; i < 2; i++) {
        branch[i] = graph_new(cx, g, NULL);
        graph_output(branch[i], ox_g(branch[i], i ? "Mul" : "Add", x, w), NULL);
    }
    graph_output(g,
                 ox_g_with(g, "If", INPUTS(c), SUBGRAPH("then_branch", branch[0]),
                           SUBGRAPH("else_branch", branch[1])),
                 str_of(cx, "y"));
    return g;
}

/* Every element type as a constant of three elements, and an empty and a 0-d one; each goes out
 * through an Identity. */
static Graph *types(Ctx *cx)
{
    Graph *g = graph_new(cx, NULL, NULL);
    static const uint8_t data[64] = { 1, 0, 1 };
    static const int64_t three[] = { 3 };
    static const int64_t empty[] = { 0, 5 };
    for (DType t = DT_FLOAT; t <= DT_INT4; t++) {
        if (t == DT_STRING)
            continue;
        Ox v = ox_const(g, const_make(cx, t, 1, three, data));
        graph_output(g, v, str_fmt(cx, "out_%s", dtype_name(t)));
    }
    graph_output(g, ox_const(g, const_make(cx, DT_FLOAT, 2, empty, data)), str_of(cx, "out_empty"));
    graph_output(g, ox_number(g, DT_DOUBLE, 0.1), str_of(cx, "out_scalar"));
    graph_output(g, ox_string(g, str_of(cx, "text")), str_of(cx, "out_text"));
    return g;
}

static const Sample samples[] = {
    { "linear", 18, WEIGHTS_INLINE, linear },  { "linear_external", 18, WEIGHTS_EXTERNAL, linear },
    { "linear_9", 9, WEIGHTS_INLINE, linear }, { "linear_28", 28, WEIGHTS_INLINE, linear },
    { "turned", 18, WEIGHTS_INLINE, turned },  { "branch", 18, WEIGHTS_INLINE, branch },
    { "types", 21, WEIGHTS_INLINE, types },
};

static bool write_sample(Ctx *cx, const Sample *s, const char *folder)
{
    Graph *g = s->make(cx);
    ModelInfo info = { .opset = s->opset, .weights = s->weights, .node_props = true };
    vec_push(cx, &info.props, (Prop){ str_of(cx, "pt2onnx.assumed"), str_of(cx, "nothing") });
    Str path = str_fmt(cx, "%s/%s.onnx", folder, s->name);
    Str data = str_fmt(cx, "%s.data", path->s);
    OutFile *files[2];
    size_t n = 0;
    if (s->weights == WEIGHTS_EXTERNAL)
        files[n++] = out_open(cx, data->s);
    files[n++] = out_open(cx, path->s);
    return out_ready(cx, files[0]) && out_ready(cx, files[n - 1]) &&
        wire_write(cx, g, &info, out_sink(files[n - 1]), n == 2 ? out_sink(files[0]) : NULL,
                   strrchr(data->s, '/') + 1) &&
        out_commit(cx, files, n);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < COUNT(samples); i++) {
        Ctx *cx = ctx_new();
        if (!write_sample(cx, &samples[i], argv[1])) {
            fprintf(stderr, "%s\n", error_text(cx, "wire_samples", samples[i].name)->s);
            return 1;
        }
        ctx_free(cx);
    }
    return argc == 2 ? 0 : 2;
}
