/* The ONNX writer and reader: names, metadata, where weights go, and that what is written reads
 * back the same. Graphs are put together by hand, so that nothing is folded, shared or inferred
 * here. */
#include "test.h"

#include "onnx/internal.h"
#include "onnx/wire/model_file.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* ---- building ---- */

static uint32_t node_id; /* of this test program's graphs */

static Node *node(Graph *g, const char *op, OxList in, const Attr *attr, size_t n_attr, Type type)
{
    Ctx *cx = g->cx;
    Node *n = new(cx, Node);
    *n = (Node){ .op = onnx_op(cx, op),
                 .name = str_of(cx, op),
                 .domain = str_of(cx, ""),
                 .n_in = (uint16_t)in.n,
                 .n_out = 1,
                 .n_attr = (uint16_t)n_attr,
                 .graph = g,
                 .id = node_id++,
                 .at = where_intern(cx) };
    n->in = mem_copy(cx, in.at, in.n * sizeof(Ox));
    n->attr = n_attr ? mem_copy(cx, attr, n_attr * sizeof(Attr)) : NULL;
    n->out = new_array(cx, Ox, 1);
    n->out[0] = ox_new(g, OX_NODE, type);
    n->out[0]->node = n;
    vec_push(cx, &g->nodes, n);
    return n;
}

#define OP(g, op, type, ...) (node((g), (op), INPUTS(__VA_ARGS__), NULL, 0, (type))->out[0])

static Ox constant(Graph *g, const Const *k)
{
    Ox v = ox_new(g, OX_CONST, type_of_ints(g->cx, k->dtype, k->rank, k->dims));
    v->k = k;
    return v;
}

static const Const *floats(Ctx *cx, int64_t n, const char *name)
{
    float *data = new_array(cx, float, n + 1);
    for (int64_t i = 0; i < n; i++)
        data[i] = (float)i;
    Const *k = (Const *)const_make(cx, DT_FLOAT, 1, &n, data);
    k->name = name ? str_of(cx, name) : NULL;
    return k;
}

static Type vec(Ctx *cx, int64_t n) { return type_of_ints(cx, DT_FLOAT, 1, &n); }

/* ---- writing and reading ---- */

typedef struct Memory {
    uint8_t *at;
    size_t n, cap;
} Memory;

static bool collect(void *user, const void *p, size_t n)
{
    Memory *m = user;
    if (m->n + n > m->cap) {
        m->cap = (m->n + n) * 2;
        m->at = realloc(m->at, m->cap);
    }
    memcpy(m->at + m->n, p, n);
    m->n += n;
    return true;
}

static Memory written_with_data(Graph *g, const ModelInfo *info, Memory *data)
{
    Memory m = { 0 };
    Sink out = { .fd = -1, .write = collect, .user = &m };
    Sink extra = { .fd = -1, .write = collect, .user = data };
    if (!wire_write(g->cx, g, info, &out, data ? &extra : NULL, data ? "net.onnx.data" : NULL))
        fail_msg("%s", g->cx->error.text->s);
    return m;
}

static Memory written(Graph *g)
{
    ModelInfo info = { .opset = 18, .node_props = true };
    Memory m = written_with_data(g, &info, NULL);
    assert_true(wire_size(g->cx, g, &info) == m.n);
    return m;
}

/* Reads with a context of its own; the caller frees it after looking. */
static Graph *read_back(Memory m, Ctx **cx, ModelInfo *info)
{
    *cx = ctx_new();
    Graph *g = wire_read(*cx, source_memory(*cx, m.at, m.n), info);
    if (!g)
        fail_msg("%s", (*cx)->error.text->s);
    return g;
}

static bool holds(Memory m, const char *text)
{
    return memmem(m.at, m.n, text, strlen(text)) != NULL;
}

static Graph *two_layers(Ctx *cx)
{
    Graph *g = graph_new(cx, NULL, NULL);
    Ox x = graph_input(g, str_of(cx, "x"),
                       type_tensor(cx, DT_FLOAT, 1, (Dim[]){ dim_sym(cx, str_of(cx, "N")) }));
    Ox w = constant(g, floats(cx, 3, "fc.weight"));
    Ox y = OP(g, "Add", vec(cx, 3), x, w);
    graph_output(g, OP(g, "Relu", vec(cx, 3), y), str_of(cx, "y"));
    return g;
}

/* ---- tests ---- */

static void test_what_is_written_reads_back(void **state)
{
    Memory m = written(two_layers(*state));
    Ctx *cx;
    ModelInfo info;
    Graph *g = read_back(m, &cx, &info);
    assert_int_equal(info.opset, 18);
    assert_int_equal(g->nodes.n, 2);
    assert_true(node_is(g->nodes.at[0], "Add") && node_is(g->nodes.at[1], "Relu"));
    assert_string_equal(g->inputs.at[0]->name->s, "x");
    assert_string_equal(type_text(cx, g->inputs.at[0]->type)->s, "float32[N]");
    assert_string_equal(g->outputs.at[0]->name->s, "y");
    assert_string_equal(type_text(cx, g->nodes.at[0]->out[0]->type)->s, "float32[3]");
    Ox w = g->nodes.at[0]->in[1];
    assert_int_equal(w->kind, OX_CONST);
    assert_string_equal(w->name->s, "fc.weight");
    float back[3];
    assert_true(const_read(cx, w->k, back));
    assert_true(back[0] == 0 && back[2] == 2);
    ctx_free(cx);
    free(m.at);
}

/* State: an initializer of an input's name is what it is without being fed. It stays an input. */
static void test_the_default_of_an_input_reads_back(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_new(cx, NULL, NULL);
    Ox x = graph_input(g, str_of(cx, "x"), vec(cx, 3));
    Ox n = graph_input(g, str_of(cx, "n"), vec(cx, 3));
    graph_input_default(n, floats(cx, 3, NULL));
    graph_output(g, OP(g, "Add", vec(cx, 3), x, n), str_of(cx, "n.next"));
    Memory m = written(g);
    ModelInfo info;
    Ctx *other;
    Graph *back = read_back(m, &other, &info);
    float read[3];
    assert_int_equal(back->inputs.n, 2);
    assert_null(back->inputs.at[0]->k);
    assert_string_equal(back->inputs.at[1]->name->s, "n");
    assert_ptr_equal(back->nodes.at[0]->in[1], back->inputs.at[1]);
    assert_true(const_read(other, back->inputs.at[1]->k, read) && read[2] == 2);
    ctx_free(other);
    free(m.at);
}

/* Module "layer1.0.conv1" twice, then no module. */
static void test_names_are_module_paths(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_new(cx, NULL, NULL);
    Ox x = graph_input(g, str_of(cx, "x"), vec(cx, 3));
    Where module = { .kind = WHERE_MODULE,
                     .name = str_of(cx, "layer1.0.conv1"),
                     .type = str_of(cx, "torch.nn.Conv2d") };
    cx->at = &module;
    Ox y = OP(g, "Conv", vec(cx, 3), x, constant(g, floats(cx, 3, NULL)));
    y = OP(g, "Conv", vec(cx, 3), y, x);
    cx->at = NULL;
    graph_output(g, OP(g, "Relu", vec(cx, 3), y), NULL);
    Memory m = written(g);
    assert_true(holds(m, "/layer1/0/conv1/Conv"));
    assert_true(holds(m, "/layer1/0/conv1/Conv_1"));
    assert_true(holds(m, "/layer1/0/conv1/Conv_output_0"));
    assert_true(holds(m, "/layer1/0/conv1/Conv_1_output_0"));
    assert_true(
        holds(m, "/layer1/0/conv1/Conv_W")); /* a constant without a name: after its first use */
    assert_true(holds(m, "/Relu_output_0"));
    assert_true(holds(m, "pt2onnx.module"));
    assert_true(holds(m, "torch.nn.Conv2d"));
    free(m.at);
}

/* The state_dict's names win over derived and made-up ones; inputs and outputs over all. */
static void test_users_names_come_first(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_new(cx, NULL, NULL);
    Ox x = graph_input(g, str_of(cx, "x"), vec(cx, 3));
    Const *derived = (Const *)floats(cx, 3, NULL);
    derived->derived = str_of(cx, "fc.weight");
    Ox y = OP(g, "Add", vec(cx, 3), x, constant(g, derived));
    y = OP(g, "Add", vec(cx, 3), y, constant(g, floats(cx, 3, "fc.weight")));
    y = OP(g, "Add", vec(cx, 3), y, constant(g, floats(cx, 3, "x")));
    y = OP(g, "Add", vec(cx, 3), y, constant(g, floats(cx, 3, "/Add")));
    graph_output(g, y, str_of(cx, "/Add_output_0"));
    Memory m = written(g);
    Ctx *mine;
    ModelInfo info;
    Graph *back = read_back(m, &mine, &info);
    assert_string_equal(back->nodes.at[0]->in[1]->name->s, "fc.weight_1");
    assert_string_equal(back->nodes.at[1]->in[1]->name->s, "fc.weight");
    assert_string_equal(back->nodes.at[0]->in[0]->name->s, "x");
    assert_string_equal(back->nodes.at[2]->in[1]->name->s, "x_1");
    assert_string_equal(back->nodes.at[3]->in[1]->name->s, "/Add");
    assert_string_equal(back->outputs.at[0]->name->s, "/Add_output_0");
    assert_string_not_equal(back->nodes.at[0]->out[0]->name->s, "/Add_output_0");
    ctx_free(mine);
    free(m.at);
}

/* A transposed weight is other bytes: it must not take the entry's name, even when the entry itself
 * is not in the model. */
static void test_a_changed_weight_has_a_derived_name(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_new(cx, NULL, NULL);
    Const whole = *floats(cx, 6, "fc.weight");
    whole.rank = 2;
    whole.dims = (int64_t[]){ 2, 3 };
    graph_output(
        g, OP(g, "Identity", vec(cx, 1), constant(g, const_permute(cx, &whole, (int[]){ 1, 0 }))),
        NULL);
    Memory m = written(g);
    Ctx *mine;
    ModelInfo info;
    assert_string_equal(read_back(m, &mine, &info)->nodes.at[0]->in[0]->name->s, "fc.weight.T");
    ctx_free(mine);
    free(m.at);
}

static Graph *subgraph(Graph *up, Ox outer, const char *name)
{
    Ctx *cx = up->cx;
    Graph *g = graph_new(cx, up, str_of(cx, name));
    graph_output(g, OP(g, "Relu", vec(cx, 3), outer), NULL);
    return g;
}

static void test_subgraphs_share_one_set_of_names(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_new(cx, NULL, NULL);
    Ox x = graph_input(g, str_of(cx, "x"), vec(cx, 3));
    Ox c = graph_input(g, str_of(cx, "c"), type_tensor(cx, DT_BOOL, 0, NULL));
    Ox w = constant(g, floats(cx, 3, "w"));
    Attr branches[] = { SUBGRAPH("then_branch", subgraph(g, x, "then")),
                        SUBGRAPH("else_branch", subgraph(g, w, "")) };
    graph_output(g, node(g, "If", INPUTS(c), branches, 2, vec(cx, 3))->out[0], str_of(cx, "y"));
    Memory m = written(g);
    Ctx *mine;
    ModelInfo info;
    Graph *back = read_back(m, &mine, &info);
    Graph *a = back->nodes.at[0]->attr[0].g;
    Graph *b = back->nodes.at[0]->attr[1].g;
    assert_true(a->outputs.at[0]->name != b->outputs.at[0]->name);
    assert_string_equal(a->name->s, "then");
    assert_string_equal(b->name->s, "/If_else_branch");
    assert_true(b->nodes.at[0]->in[0]->kind ==
                OX_CONST); /* the root's initializer, seen from inside */
    ctx_free(mine);
    free(m.at);
}

static void test_every_type_of_constant(void **state)
{
    Ctx *cx = *state;
    uint8_t data[64];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7 + 1);
    for (DType t = DT_FLOAT; t < DT_COUNT; t++) {
        if (t == DT_STRING)
            continue;
        static const int64_t shapes[][2] = { { 3, 1 }, { 0, 4 }, { 1, 1 } };
        for (size_t i = 0; i < COUNT(shapes) + 1; i++) {
            Graph *g = graph_new(cx, NULL, NULL);
            int rank = i < COUNT(shapes) ? 2 : 0;
            const Const *k = const_make(cx, t, rank, rank ? shapes[i] : NULL, data);
            Type type = type_of_ints(cx, t, rank, k->dims);
            graph_output(g, OP(g, "Identity", type, constant(g, k)), str_of(cx, "y"));
            Memory m = written(g);
            Ctx *mine;
            ModelInfo info;
            const Const *back = read_back(m, &mine, &info)->nodes.at[0]->in[0]->k;
            uint8_t got[64] = { 0 };
            size_t bytes = (size_t)dtype_bytes(t, (uint64_t)const_numel(k));
            assert_int_equal(back->dtype, t);
            assert_int_equal(back->rank, rank);
            assert_true(const_read(mine, back, got));
            assert_memory_equal(got, data, bytes);
            ctx_free(mine);
            free(m.at);
        }
    }
}

static void test_strings(void **state)
{
    Ctx *cx = *state;
    Str text[2] = { str_of(cx, "one"), str_n(cx, "t\0o", 3) };
    int64_t n = 2;
    Const *k = new(cx, Const);
    *k = (Const){ .dtype = DT_STRING,
                  .rank = 1,
                  .dims = &n,
                  .bytes = { source_memory(cx, text, sizeof text), 0, sizeof text } };
    Graph *g = graph_new(cx, NULL, NULL);
    graph_output(g, OP(g, "Identity", type_of_ints(cx, DT_STRING, 1, &n), constant(g, k)),
                 str_of(cx, "y"));
    Memory m = written(g);
    Ctx *mine;
    ModelInfo info;
    const Const *back = read_back(m, &mine, &info)->nodes.at[0]->in[0]->k;
    Str got[2];
    assert_int_equal(back->dtype, DT_STRING);
    assert_true(bytes_read(mine, back->bytes, 0, got, sizeof got));
    assert_string_equal(got[0]->s, "one");
    assert_int_equal(got[1]->len, 3);
    ctx_free(mine);
    free(m.at);
}

static void test_every_attribute(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_new(cx, NULL, NULL);
    Ox x = graph_input(g, str_of(cx, "x"), vec(cx, 3));
    Str words[] = { str_of(cx, "a"), str_of(cx, "") };
    int64_t ints[] = { -1, INT64_MAX };
    double reals[] = { 0.1, -2 };
    Attr attr[] = {
        INT("i", -5),
        FLOAT("f", 0.1),
        STRING("s", str_of(cx, "same")),
        INT_LIST("is", ints, 2),
        NO_ATTR,
        { .name = "fs", .kind = ATTR_FLOATS, .n = 2, .floats = reals },
        { .name = "ss", .kind = ATTR_STRINGS, .n = 2, .strs = words },
        { .name = "none", .kind = ATTR_INTS },
        { .name = "t", .kind = ATTR_TENSOR, .t = floats(cx, 2, NULL) },
        { .name = "ty", .kind = ATTR_TYPE, .type = type_wrapped(cx, T_SEQUENCE, vec(cx, 3)) },
    };
    graph_output(g, node(g, "Custom", INPUTS(x), attr, COUNT(attr), vec(cx, 3))->out[0], NULL);
    Memory m = written(g);
    Ctx *mine;
    ModelInfo info;
    const Node *n = read_back(m, &mine, &info)->nodes.at[0];
    assert_int_equal(n->n_attr, COUNT(attr) - 1);
    assert_int_equal(node_attr(n, "i")->i, -5);
    assert_true(node_attr(n, "f")->f == (double)0.1f);
    assert_string_equal(node_attr(n, "s")->s->s, "same");
    assert_true(node_attr(n, "is")->ints[1] == INT64_MAX);
    assert_true(node_attr(n, "fs")->floats[1] == -2);
    assert_int_equal(node_attr(n, "ss")->n, 2);
    assert_int_equal(node_attr(n, "none")->kind, ATTR_INTS);
    assert_int_equal(node_attr(n, "t")->t->dims[0], 2);
    assert_string_equal(type_text(mine, node_attr(n, "ty")->type)->s, "seq(float32[3])");
    ctx_free(mine);
    free(m.at);
}

/* ---- weights ---- */

/* A file of `n` floats 0, 1, 2, .. after `skip` bytes; removed with its context. */
static Source *weight_file(Ctx *cx, size_t skip, size_t n)
{
    char path[] = "/tmp/wire_XXXXXX";
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "wb");
    for (size_t i = 0; i < skip; i++)
        fputc('#', f);
    for (size_t i = 0; i < n; i++) {
        float v = (float)i;
        fwrite(&v, sizeof v, 1, f);
    }
    fclose(f);
    Source *src = source_file(cx, path);
    unlink(path);
    assert_non_null(src);
    return src;
}

static Const *file_const(Ctx *cx, Source *src, uint64_t off, int64_t n, const char *name)
{
    Const *k = new(cx, Const);
    *k = (Const){ .dtype = DT_FLOAT,
                  .rank = 1,
                  .dims = mem_copy(cx, &n, sizeof n),
                  .name = str_of(cx, name),
                  .bytes = { src, off, (uint64_t)n * sizeof(float) } };
    return k;
}

static Graph *three_weights(Ctx *cx, size_t skip)
{
    Source *src = weight_file(cx, skip, 8000);
    Graph *g = graph_new(cx, NULL, NULL);
    Ox a = constant(g, file_const(cx, src, skip, 2000, "a"));
    Ox b = constant(g, file_const(cx, src, skip + 4000, 6000, "b"));
    Ox y = OP(g, "Concat", vec(cx, 8003), a, constant(g, floats(cx, 3, "small")), b);
    graph_output(g, y, str_of(cx, "y"));
    return g;
}

static void test_external_data_keeps_its_place_in_a_page(void **state)
{
    Ctx *cx = *state;
    Graph *g = three_weights(cx, 192);
    ModelInfo info = { .opset = 18, .weights = WEIGHTS_EXTERNAL };
    Memory data = { 0 };
    Memory m = written_with_data(g, &info, &data);
    assert_true(m.n < 2000);
    assert_true(holds(m, "net.onnx.data"));
    assert_int_equal(data.n,
                     8288 + 24000); /* a ends at 8192; b stands at 96 of a page, like 192 + 4000 */
    float v;
    memcpy(&v, data.at + 192, sizeof v);
    assert_true(v == 0);
    memcpy(&v, data.at + 8288, sizeof v);
    assert_true(v == 1000);
    free(m.at);
    free(data.at);
}

static void test_linked_weights_stay_in_the_archive(void **state)
{
    Ctx *cx = *state;
    Graph *g = three_weights(cx, 64);
    ModelInfo info = { .opset = 18, .weights = WEIGHTS_LINK, .link_name = "net.pt" };
    Memory m = written_with_data(g, &info, NULL);
    assert_true(m.n < 2000);
    assert_true(holds(m, "net.pt"));
    assert_true(holds(m, "4064")); /* b's offset in the archive */
    free(m.at);
}

/* Read whole when small; in runs when its span is over 16 MB: 5,000 x 1,000 transposed, and a
 * column slice. */
static void test_strided_weights_are_gathered(void **state)
{
    Ctx *cx = *state;
    static const int64_t sizes[][2] = { { 7, 5 }, { 5000, 1000 } };
    for (size_t i = 0; i < COUNT(sizes); i++) {
        int64_t rows = sizes[i][0];
        int64_t columns = sizes[i][1];
        Source *src = weight_file(cx, 0, (size_t)(rows * columns));
        Const whole = {
            .dtype = DT_FLOAT, .rank = 2, .dims = sizes[i], .bytes = { src, 0, src->size }
        };
        const Const *turned = const_permute(cx, &whole, (int[]){ 1, 0 });
        const Const *column = const_slice(cx, &whole, 1, 1, 2, 2);
        Graph *g = graph_new(cx, NULL, NULL);
        graph_output(g, OP(g, "Sum", vec(cx, 1), constant(g, turned), constant(g, column)), NULL);
        Memory m = written(g);
        Ctx *mine;
        ModelInfo info;
        Node *n = read_back(m, &mine, &info)->nodes.at[0];
        float *got = malloc((size_t)(rows * columns) * sizeof *got);
        assert_true(const_read(mine, n->in[0]->k, got));
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < columns; c++)
                assert_true(got[c * rows + r] == (float)(r * columns + c));
        assert_true(const_read(mine, n->in[1]->k, got));
        for (int64_t r = 0; r < rows; r++)
            assert_true(got[2 * r] == (float)(r * columns + 1) &&
                        got[2 * r + 1] == (float)(r * columns + 3));
        free(got);
        ctx_free(mine);
        free(m.at);
    }
}

static Graph *expanded(Ctx *cx, int64_t numel)
{
    const Const *one = floats(cx, 1, NULL);
    Const *k = mem_copy(cx, one, sizeof *one);
    int64_t stride = 0;
    k->dims = mem_copy(cx, &numel, sizeof numel);
    k->strides = mem_copy(cx, &stride, sizeof stride);
    Graph *g = graph_new(cx, NULL, NULL);
    graph_output(g, OP(g, "Identity", vec(cx, numel), constant(g, k)), NULL);
    return g;
}

static void test_two_gigabytes(void **state)
{
    Ctx *cx = *state;
    ModelInfo info = { .opset = 18 };
    uint64_t empty = wire_size(cx, expanded(cx, 1 << 29), &info) - ((uint64_t)4 << 29);
    int64_t most = (int64_t)(INT32_MAX - empty) / 4;
    assert_true(wire_size(cx, expanded(cx, most), &info) <= INT32_MAX);
    Graph *g = expanded(cx, most + 1);
    assert_true(wire_size(cx, g, &info) > INT32_MAX);
    Memory m = { 0 };
    Sink out = { .fd = -1, .write = collect, .user = &m };
    assert_false(wire_write(cx, g, &info, &out, NULL, NULL));
    assert_non_null(strstr(cx->error.text->s, "one ONNX file holds at most 2147483647"));
    assert_int_equal(m.n, 0); /* refused before the first byte */
}

/* ---- many, and damaged ---- */

static double seconds_for(Ctx *cx, int n)
{
    Graph *g = graph_new(cx, NULL, NULL);
    Ox x = graph_input(g, str_of(cx, "x"), vec(cx, 3));
    const Const *w = floats(cx, 3, "w");
    for (int i = 0; i < n; i++)
        x = OP(g, "Add", vec(cx, 3), x, constant(g, mem_copy(cx, w, sizeof *w)));
    graph_output(g, x, NULL);
    clock_t start = clock();
    Memory m = written(g);
    free(m.at);
    return (double)(clock() - start) / CLOCKS_PER_SEC;
}

/* Quadratic naming would take 16 times as long for 4 times as many, and minutes for this many. */
static void test_like_named_things_are_linear(void **state)
{
    double small = seconds_for(*state, 10000);
    double large = seconds_for(*state, 40000);
    assert_true(large < 8 * small + 0.2);
}

static void test_a_file_cut_short_is_refused(void **state)
{
    Memory m = written(two_layers(*state));
    for (size_t n = 0; n < m.n; n++) {
        Ctx *cx = ctx_new();
        ModelInfo info;
        uint8_t *cut = malloc(n + 1); /* its own block, so that a sanitizer sees an overrun */
        memcpy(cut, m.at, n);
        Graph *g = wire_read(cx, source_memory(cx, cut, n), &info);
        if (!g)
            assert_int_equal(cx->error.code, E_FORMAT);
        ctx_free(cx);
        free(cut);
    }
    free(m.at);
}

/* Two graphs that differ in the size of a weight. */
static Graph *sum_with(Ctx *cx, int64_t n)
{
    Graph *g = graph_new(cx, NULL, NULL);
    Ox w = constant(g, floats(cx, n, "fc.weight"));
    Ox x = graph_input(g, str_of(cx, "x"), vec(cx, n));
    graph_output(g, OP(g, "Add", vec(cx, n), x, w), str_of(cx, "y"));
    return g;
}

static void test_a_thin_file_has_all_but_large_weights(void **state)
{
    Ctx *cx = *state;
    static const int64_t sizes[] = { 3, 100, 300, 40000 };
    for (size_t i = 0; i < COUNT(sizes); i++) {
        Memory m = written(sum_with(cx, sizes[i]));
        Memory thin = { 0 };
        Sink out = { .fd = -1, .write = collect, .user = &thin };
        assert_true(wire_thin(cx, source_memory(cx, m.at, m.n), &out));
        assert_true(out.at == thin.n);
        bool is_small = sizes[i] * 4 < 900;
        assert_true(is_small ? thin.n == m.n && memcmp(thin.at, m.at, m.n) == 0
                             : thin.n < 300 && thin.n < m.n - (uint64_t)sizes[i] * 4);
        assert_true(holds(thin, "fc.weight") && holds(thin, "Add"));
        free(m.at);
        free(thin.at);
    }
}

static void test_a_thin_file_cut_short_is_refused(void **state)
{
    Memory m = written(sum_with(*state, 300));
    for (size_t n = 1; n < m.n; n += 7) {
        Ctx *cx = ctx_new();
        Memory thin = { 0 };
        Sink out = { .fd = -1, .write = collect, .user = &thin };
        uint8_t *cut = malloc(n);
        memcpy(cut, m.at, n);
        if (!wire_thin(cx, source_memory(cx, cut, n), &out))
            assert_int_equal(cx->error.code, E_FORMAT);
        ctx_free(cx);
        free(cut);
        free(thin.at);
    }
    free(m.at);
}

/* A cycle, and a value of a node that is gone: a file would say nothing of either. */
static void test_a_value_is_made_before_it_is_used(void **state)
{
    Ctx *cx = *state;
    ModelInfo info = { .opset = 18 };
    for (int gone = 0; gone < 2; gone++) {
        Graph *g = two_layers(cx);
        Node *first = g->nodes.at[0];
        first->dead = gone;
        g->nodes.at[0] = g->nodes.at[1];
        g->nodes.at[1] = first;
        Memory m = { 0 };
        Sink out = { .fd = -1, .write = collect, .user = &m };
        assert_false(wire_write(cx, g, &info, &out, NULL, NULL));
        assert_int_equal(cx->error.code, E_BUG);
        assert_int_equal(m.n, 0);
        cx->error = (Error){ 0 };
    }
}

static void test_ir_versions(void **state)
{
    (void)state;
    static const int expected[][2] = { { 9, 4 },   { 10, 5 },  { 11, 6 },  { 12, 7 },
                                       { 14, 7 },  { 15, 8 },  { 18, 8 },  { 19, 9 },
                                       { 20, 9 },  { 21, 10 }, { 22, 10 }, { 23, 11 },
                                       { 24, 12 }, { 25, 13 }, { 27, 13 }, { 28, 14 } };
    for (size_t i = 0; i < COUNT(expected); i++)
        assert_int_equal(onnx_ir_version(expected[i][0]), expected[i][1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_written_reads_back),
        TEST(test_the_default_of_an_input_reads_back),
        TEST(test_names_are_module_paths),
        TEST(test_users_names_come_first),
        TEST(test_a_changed_weight_has_a_derived_name),
        TEST(test_subgraphs_share_one_set_of_names),
        TEST(test_every_type_of_constant),
        TEST(test_strings),
        TEST(test_every_attribute),
        TEST(test_external_data_keeps_its_place_in_a_page),
        TEST(test_linked_weights_stay_in_the_archive),
        TEST(test_strided_weights_are_gathered),
        TEST(test_two_gigabytes),
        TEST(test_like_named_things_are_linear),
        TEST(test_a_file_cut_short_is_refused),
        TEST(test_a_thin_file_has_all_but_large_weights),
        TEST(test_a_thin_file_cut_short_is_refused),
        TEST(test_a_value_is_made_before_it_is_used),
        TEST(test_ir_versions),
    };
    return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
