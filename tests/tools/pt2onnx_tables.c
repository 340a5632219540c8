/* pt2onnx_tables.c - asks the ONNX operator table: what is missing, what inference says, what
 * folding computes.
 *
 *     pt2onnx_tables missing            operators without inference, one a line
 *     pt2onnx_tables folds              operators that fold, one a line
 *     pt2onnx_tables run FILE.onnx..    builds each model again, node by node, as lowerings do:
 *         "@ FILE", then a line per output: "TYPE", or "TYPE = HEX" when it has become a constant;
 *         or "! MESSAGE"
 *
 * tests/python/test_infer_fold.py compares the answers with the onnx package. */
#include "onnx/fold/fold.h"
#include "onnx/wire/model_file.h"

#include <stdlib.h>

typedef struct Copy {
    Ctx *cx;
    Map made;
} Copy;

static Graph *copy_graph(Copy *c, const Graph *from, Graph *up);

static Ox copied(Copy *c, Graph *g, Ox v)
{
    if (v && v->kind == OX_CONST) {
        Const *k = new(c->cx, Const);
        *k = *v->k;
        k->name = k->derived = NULL; /* a number, not a weight: weights are folded later, by tidy */
        return ox_const(g, k);
    }
    return v ? map_get(&c->made, v) : NULL;
}

/* A constant larger than what emission folds: folded as a weight's recipe would. */
static void fold_large(Node *n, Ox *out)
{
    const Const **k = new_array(n->graph->cx, const Const *, n->n_out);
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && (n->in[i]->kind != OX_CONST || n->in[i]->k->dtype == DT_STRING))
            return;
    for (int i = 0; i < n->n_out; i++)
        if (!n->out[i]->type || n->out[i]->type->kind != T_TENSOR ||
            !type_static(n->out[i]->type, NULL))
            return;
    if (!k || !n->op->fold || n->op->random || !node_fold(n, k))
        return;
    for (int i = 0; i < n->n_out; i++)
        out[i] = ox_const(n->graph, k[i]);
}

static bool copy_node(Copy *c, Node *n, Graph *g)
{
    Ox *in = new_array(c->cx, Ox, n->n_in + 1);
    Ox *out = new_array(c->cx, Ox, n->n_out + 1);
    Attr *attr = new_array(c->cx, Attr, n->n_attr + 1);
    for (int i = 0; i < n->n_in; i++)
        in[i] = copied(c, g, n->in[i]);
    for (int i = 0; i < n->n_attr; i++) {
        attr[i] = n->attr[i];
        if (attr[i].kind == ATTR_GRAPH && !(attr[i].g = copy_graph(c, n->attr[i].g, g)))
            return false;
    }
    if (!ox_make_n(g, n->name->s, (OxList){ in, n->n_in }, attr, n->n_attr, out, n->n_out))
        return false;
    if (n->n_out && out[0]->kind == OX_NODE)
        fold_large(out[0]->node, out);
    for (int i = 0; i < n->n_out; i++)
        map_put(c->cx, &c->made, n->out[i], out[i]);
    return !ctx_failed(c->cx);
}

static Graph *copy_graph(Copy *c, const Graph *from, Graph *up)
{
    Graph *g = graph_new(c->cx, up, from->name);
    for (size_t i = 0; i < from->inputs.n; i++)
        map_put(c->cx, &c->made, from->inputs.at[i],
                graph_input(g, from->inputs.at[i]->name, from->inputs.at[i]->type));
    for (size_t i = 0; i < from->nodes.n; i++)
        if (!copy_node(c, from->nodes.at[i], g))
            return NULL;
    for (size_t i = 0; i < from->outputs.n; i++)
        graph_output(g, copied(c, g, from->outputs.at[i]), NULL);
    return g;
}

static void print_output(Ctx *cx, Ox v)
{
    printf("%s", v->type ? type_text(cx, v->type)->s : "?");
    Data d;
    if (v->kind == OX_CONST && v->k->dtype != DT_STRING && const_to_data(cx, v->k, &d)) {
        printf(" = ");
        for (size_t i = 0; i < dtype_bytes(d.dtype, (uint64_t)d.numel); i++)
            printf("%02x", ((const uint8_t *)d.at)[i]);
    } else if (v->items) {
        printf(" ~");
        for (int64_t i = 0; i < v->n_items; i++)
            printf(" %s%s", v->items[i] ? dim_text(cx, v->items[i])->s : "?",
                   i + 1 < v->n_items ? ";" : "");
    }
    printf("\n");
}

/* The whole file in memory: the reader of ONNX files wants it there. */
static Source *in_memory(Ctx *cx, Source *file)
{
    uint8_t *at = file ? new_array(cx, uint8_t, file->size + 1) : NULL;
    return at && bytes_read(cx, (Bytes){ file, 0, file->size }, 0, at, file->size)
        ? source_memory(cx, at, file->size)
        : NULL;
}

static void run_file(const char *path)
{
    Ctx *cx = ctx_new();
    Copy c = { .cx = cx };
    ModelInfo info = { 0 };
    Source *file = in_memory(cx, source_file(cx, path));
    Graph *read = file ? wire_read(cx, file, &info) : NULL;
    Graph *g = read ? copy_graph(&c, read, NULL) : NULL;
    printf("@ %s\n", path);
    if (g)
        for (size_t i = 0; i < read->outputs.n; i++)
            print_output(cx, copied(&c, g, read->outputs.at[i]));
    else
        printf("! %s\n", ctx_failed(cx) ? cx->error.text->s : "failed without an error");
    ctx_free(cx);
}

static void list(bool folds)
{
    Ctx *cx = ctx_new();
    const OnnxOp *op;
    for (int i = 0; (op = onnx_op_at(cx, i)); i++) {
        const OpVersion *v = onnx_version(op, ONNX_NEWEST);
        if (folds ? op->fold != NULL : !op->infer && v && !v->deprecated)
            printf("%s\n", op->name);
    }
    ctx_free(cx);
}

int main(int argc, char **argv)
{
    if (argc == 2 && (!strcmp(argv[1], "missing") || !strcmp(argv[1], "folds"))) {
        list(!strcmp(argv[1], "folds"));
        return 0;
    }
    if (argc < 2 || strcmp(argv[1], "run")) {
        fprintf(stderr, "usage: pt2onnx_tables missing | folds | run FILE.onnx..\n");
        return 2;
    }
    for (int i = 2; i < argc; i++)
        run_file(argv[i]);
    return 0;
}
