/* show.c - a saved program or an ONNX model as text, for people: what goes in and out, the modules,
 * the weights, the program. Nothing is evaluated: what stands here is what the file says. */
#include "session.h"

#include "onnx/wire/model_file.h"

static void put_heading(Buf *b, const char *title, size_t n)
{
    buf_fmt(b, "\n%s (%zu)\n", title, n);
}

/* "float32[64,3,7,7]" */
static void put_const(Buf *b, const Const *k)
{
    buf_fmt(b, "%s[", dtype_name(k->dtype));
    for (int a = 0; a < k->rank; a++)
        buf_fmt(b, "%s%lld", a ? "," : "", (long long)k->dims[a]);
    buf_str(b, "]");
}

/* ---- programs ---- */

/* "  x: float32[N,3,224,224]", or the declared type of an input about which nothing is recorded. */
static void put_input(Ctx *cx, Buf *b, const InputDecl *in)
{
    buf_fmt(b, "  %s: ", in->name ? in->name->s : "?");
    if (!in->known) {
        buf_str(b, in->type ? type_expr_text(cx, in->type)->s : "Tensor");
    } else {
        buf_fmt(b, "%s[", dtype_name(in->dtype));
        for (int a = 0; a < in->rank; a++) {
            const char *comma = a ? "," : "";
            if (in->dim[a].known >= 0)
                buf_fmt(b, "%s%lld", comma, (long long)in->dim[a].known);
            else
                buf_fmt(b, "%s%s", comma, in->dim[a].expr ? in->dim[a].expr->s : "?");
        }
        buf_str(b, "]");
    }
    if (in->has_default)
        buf_fmt(b, " = %s", val_text(cx, in->deflt)->s);
    buf_str(b, "\n");
}

static void put_symbols(Buf *b, const Program *p)
{
    for (uint32_t i = 0; i < p->n_symbol; i++) {
        const SymbolDecl *s = &p->symbol[i];
        buf_fmt(b, "  %s in %lld..", s->name->s, (long long)s->lo);
        if (s->hi == DIM_MAX)
            buf_str(b, "\n");
        else
            buf_fmt(b, "%lld\n", (long long)s->hi);
    }
}

static void put_outputs(Ctx *cx, Buf *b, const Program *p)
{
    if (p->n_output_name)
        put_heading(b, "outputs", p->n_output_name);
    else if (p->entry && p->entry->ret)
        buf_fmt(b, "\nreturns %s\n", type_expr_text(cx, p->entry->ret)->s);
    for (uint32_t i = 0; i < p->n_output_name; i++)
        buf_fmt(b, "  %s\n", p->output_name[i] ? p->output_name[i]->s : "?");
}

typedef struct Modules {
    Ctx *cx;
    Buf text;
    Map seen;
    size_t n;
    int depth;
} Modules;

static void list_modules(Modules *m, const Obj *o)
{
    if (map_find(&m->seen, o) ||
        m->depth > 200) /* a shared module is shown where it stands first */
        return;
    map_put(m->cx, &m->seen, o, NULL);
    if (o->path && o->cls) {
        Str cls = o->cls->plain ? o->cls->plain : o->cls->qualname;
        buf_fmt(&m->text, "  %s: %s\n", o->path->len ? o->path->s : "(root)", cls->s);
        m->n++;
    }
    m->depth++;
    for (int64_t i = 0; i < o->n; i++)
        if (o->slot[i].v.tag == V_OBJ && o->slot[i].v.obj)
            list_modules(m, o->slot[i].v.obj);
    m->depth--;
}

static bool put_modules(Ctx *cx, Buf *b, Program *p)
{
    p->graph = graph_new(cx, NULL,
                         NULL); /* where the constants go that the objects hold; not kept */
    if (p->build_root && !p->build_root(cx, p, &p->root))
        return false;
    if (p->root.tag != V_OBJ)
        return true;
    Modules m = { .cx = cx, .text = buf_new(cx) };
    list_modules(&m, p->root.obj);
    put_heading(b, "modules", m.n);
    buf_add(b, m.text.s, m.text.n);
    return !ctx_failed(cx);
}

static void put_weights(Buf *b, const Program *p)
{
    put_heading(b, "weights", p->weights.n);
    for (size_t i = 0; i < p->weights.n; i++) {
        const Weight *w = &p->weights.at[i];
        buf_fmt(b, "  %s: ", w->name->s);
        put_const(b, w->k);
        if (!w->parameter)
            buf_str(b, w->persistent ? " (buffer)" : " (buffer, not in the state_dict)");
        buf_str(b, "\n");
    }
}

bool show_program(Session *s, Program *p, Buf *out)
{
    buf_fmt(out, "%s: %s\n", s->file, p->kind->s);
    put_heading(out, "inputs", p->n_input);
    for (uint32_t i = 0; i < p->n_input; i++)
        put_input(s->cx, out, &p->input[i]);
    put_symbols(out, p);
    put_outputs(s->cx, out, p);
    if (!put_modules(s->cx, out, p))
        return false;
    put_weights(out, p);
    buf_str(out, "\nprogram\n");
    buf_str(out, program_text(s->cx, p)->s);
    return !ctx_failed(s->cx);
}

/* ---- ONNX models ---- */

static void put_values(Ctx *cx, Buf *b, const char *title, const Ox *at, size_t n)
{
    put_heading(b, title, n);
    for (size_t i = 0; i < n; i++) {
        bool has_default = at[i]->kind == OX_INPUT && at[i]->k;
        buf_fmt(b, "  %s: %s", at[i]->name ? at[i]->name->s : "?", type_text(cx, at[i]->type)->s);
        buf_str(b, has_default ? " (by default the value in the file)\n" : "\n");
    }
}

static void list_constants(Ctx *cx, Buf *b, const Graph *g, Map *seen)
{
    for (size_t k = 0; k < g->nodes.n; k++) {
        const Node *n = g->nodes.at[k];
        for (int i = 0; i < n->n_in; i++) {
            Ox v = n->in[i];
            if (!v || v->kind != OX_CONST || map_find(seen, v))
                continue;
            map_put(cx, seen, v, NULL);
            buf_fmt(b, "  %s: ", v->name ? v->name->s : "?");
            put_const(b, v->k);
            buf_str(b, "\n");
        }
        for (int i = 0; i < n->n_attr; i++)
            if (n->attr[i].kind == ATTR_GRAPH)
                list_constants(cx, b, n->attr[i].g, seen);
    }
}

/* What `show` prints of an ONNX file: opsets, inputs, outputs, initializers, metadata, the graph as
 * text. */
bool show_onnx(Session *s, Buf *out)
{
    ModelInfo info;
    Graph *g = wire_read(s->cx, s->src, &info);
    if (!g)
        return false;
    buf_fmt(out, "%s: ONNX model, opset %d", s->file, info.opset);
    for (size_t i = 0; i < info.domains.n; i++)
        buf_fmt(out, ", %s %lld", info.domains.at[i].domain->s,
                (long long)info.domains.at[i].version);
    buf_str(out, "\n");
    put_values(s->cx, out, "inputs", g->inputs.at, g->inputs.n);
    put_values(s->cx, out, "outputs", g->outputs.at, g->outputs.n);
    Buf constants = buf_new(s->cx);
    Map seen = { 0 };
    list_constants(s->cx, &constants, g, &seen);
    put_heading(out, "initializers", seen.n);
    buf_add(out, constants.s, constants.n);
    for (size_t i = 0; i < info.props.n; i++)
        buf_fmt(out, "%s%s: %s\n", i ? "" : "\nmetadata\n", info.props.at[i].key->s,
                info.props.at[i].value->s);
    buf_str(out, "\ngraph\n");
    buf_str(out, graph_text(g)->s);
    return !ctx_failed(s->cx);
}
