/* show_json.c - what show.c prints as text, as one object of JSON, for programs. */
#include "show.h"

#include <inttypes.h>

static void put_key(Buf *b, const char *key) { buf_fmt(b, ", \"%s\": ", key); }

static void put_text(Buf *b, Str s)
{
    if (s)
        buf_json(b, s);
    else
        buf_str(b, "null");
}

static void put_number(Buf *b, const char *key, int64_t n)
{
    put_key(b, key);
    buf_fmt(b, "%" PRId64, n);
}

static void put_flag(Buf *b, const char *key, bool set)
{
    put_key(b, key);
    buf_str(b, set ? "true" : "false");
}

/* "dtype": "float32", "shape": ["N", 3]; null for what is not known. */
static void put_type(Ctx *cx, Buf *b, Type t)
{
    put_key(b, "type");
    put_text(b, type_text(cx, t));
    if (t->kind != T_TENSOR)
        return;
    buf_fmt(b, ", \"dtype\": \"%s\", \"shape\": ", dtype_name(t->dtype));
    if (t->rank < 0) {
        buf_str(b, "null");
        return;
    }
    buf_str(b, "[");
    for (int i = 0; i < t->rank; i++) {
        int64_t size;
        buf_str(b, i ? ", " : "");
        if (dim_known(t->dim[i], &size))
            buf_fmt(b, "%" PRId64, size);
        else
            put_text(b, dim_text(cx, t->dim[i]));
    }
    buf_str(b, "]");
}

static void put_values(Ctx *cx, Buf *b, const char *key, const Ox *at, size_t n)
{
    put_key(b, key);
    buf_str(b, "[");
    for (size_t i = 0; i < n; i++) {
        buf_str(b, i ? ", {\"name\": " : "{\"name\": ");
        put_text(b, at[i]->name);
        put_type(cx, b, at[i]->type);
        buf_str(b, "}");
    }
    buf_str(b, "]");
}

static void put_const_type(Buf *b, const Const *k)
{
    buf_fmt(b, ", \"dtype\": \"%s\", \"shape\": [", dtype_name(k->dtype));
    for (int i = 0; i < k->rank; i++)
        buf_fmt(b, "%s%" PRId64, i ? ", " : "", k->dims[i]);
    buf_str(b, "]");
}

/* ---- programs ---- */

static void put_modules(Buf *b, const Shown *w)
{
    put_key(b, "modules");
    buf_str(b, "[");
    for (size_t i = 0; i < w->modules.n; i++) {
        const ShownModule *m = &w->modules.at[i];
        buf_str(b, i ? ", {\"path\": " : "{\"path\": ");
        put_text(b, m->path);
        put_key(b, "class");
        put_text(b, m->class);
        put_key(b, "output");
        put_text(b, m->output);
        put_number(b, "parameters", m->parameters);
        put_number(b, "buffers", m->buffers);
        buf_str(b, "}");
    }
    buf_str(b, "]");
}

static void put_weights(Buf *b, const Program *p)
{
    put_key(b, "weights");
    buf_str(b, "[");
    for (size_t i = 0; i < p->weights.n; i++) {
        const Weight *w = &p->weights.at[i];
        buf_str(b, i ? ", {\"name\": " : "{\"name\": ");
        put_text(b, w->name);
        put_const_type(b, w->k);
        put_flag(b, "parameter", w->parameter);
        put_flag(b, "persistent", w->persistent);
        buf_str(b, "}");
    }
    buf_str(b, "]");
}

/* What the sizes rest on that the file does not say. */
static void put_assumptions(Ctx *cx, Buf *b)
{
    put_key(b, "assumed");
    buf_str(b, "[");
    for (size_t i = 0; i < cx->notes.n; i++) {
        if (i)
            buf_str(b, ", ");
        put_text(b, cx->notes.at[i].text);
    }
    buf_str(b, "]");
}

/* What forward takes, whether or not it becomes an input of the model. */
static void put_arguments(Ctx *cx, Buf *b, const Program *p)
{
    put_key(b, "arguments");
    buf_str(b, "[");
    for (uint32_t i = 0; i < p->n_input; i++) {
        buf_str(b, i ? ", {\"name\": " : "{\"name\": ");
        const InputDecl *in = &p->input[i];
        put_text(b, in->name);
        put_key(b, "declared");
        put_text(b, show_declared(cx, in));
        put_flag(b, "known", in->known);
        put_key(b, "recorded");
        put_text(b, show_recorded(cx, in));
        put_key(b, "default");
        put_text(b, in->has_default ? val_text(cx, in->deflt) : NULL);
        buf_str(b, "}");
    }
    buf_str(b, "]");
}

/* Keys are always there; inputs and outputs are those of the model that a conversion with the same
 * options writes, and null where there is none. */
void show_program_json(Shown *w, Buf *b)
{
    Ctx *cx = w->s->cx;
    buf_str(b, "{\"file\": ");
    buf_json(b, str_of(cx, w->s->file));
    put_key(b, "kind");
    put_text(b, w->p->kind);
    put_arguments(cx, b, w->p);
    if (w->graph) {
        put_values(cx, b, "inputs", w->graph->inputs.at, w->graph->inputs.n);
        put_values(cx, b, "outputs", w->graph->outputs.at, w->graph->outputs.n);
    } else {
        buf_str(b, ", \"inputs\": null, \"outputs\": null");
    }
    put_assumptions(cx, b);
    put_key(b, "error");
    put_text(b, w->why);
    put_modules(b, w);
    put_weights(b, w->p);
    put_number(b, "parameters", w->parameters);
    put_number(b, "parameter_bytes", w->parameter_bytes);
    put_number(b, "buffers", w->buffers);
    put_number(b, "buffer_bytes", w->buffer_bytes);
    put_key(b, "program");
    put_text(b, program_text(cx, w->p));
    buf_str(b, "}\n");
}

/* ---- ONNX models ---- */

static void put_initializers(Ctx *cx, Buf *b, const Graph *g)
{
    Map seen = { 0 };
    Constants all = { 0 };
    show_constants(cx, g, &seen, &all);
    put_key(b, "initializers");
    buf_str(b, "[");
    for (size_t i = 0; i < all.n; i++) {
        buf_str(b, i ? ", {\"name\": " : "{\"name\": ");
        put_text(b, all.at[i]->name);
        put_const_type(b, all.at[i]->k);
        buf_str(b, "}");
    }
    buf_str(b, "]");
}

/* The keys of an ONNX file are others than those of a program; `file` and `kind` both have. */
void show_onnx_json(Session *s, Graph *g, const ModelInfo *info, Buf *b)
{
    Ctx *cx = s->cx;
    buf_str(b, "{\"file\": ");
    buf_json(b, str_of(cx, s->file));
    buf_fmt(b, ", \"kind\": \"ONNX model\", \"opset\": %d, \"domains\": {", info->opset);
    for (size_t i = 0; i < info->domains.n; i++) {
        buf_str(b, i ? ", " : "");
        buf_json(b, info->domains.at[i].domain);
        buf_fmt(b, ": %" PRId64, info->domains.at[i].version);
    }
    buf_str(b, "}");
    put_values(cx, b, "inputs", g->inputs.at, g->inputs.n);
    put_values(cx, b, "outputs", g->outputs.at, g->outputs.n);
    put_initializers(cx, b, g);
    put_key(b, "metadata");
    buf_str(b, "{");
    for (size_t i = 0; i < info->props.n; i++) {
        buf_str(b, i ? ", " : "");
        buf_json(b, info->props.at[i].key);
        buf_str(b, ": ");
        buf_json(b, info->props.at[i].value);
    }
    buf_str(b, "}");
    put_key(b, "graph");
    put_text(b, graph_text(g));
    buf_str(b, "}\n");
}
