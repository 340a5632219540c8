/* show.c - a saved program or an ONNX model as text, for people: what goes in and out, the modules
 * with their sizes, the weights, the program. */
#include "show.h"

/* ---- columns ---- */

/* Characters of a cell: the longest path of a module seen has 200. One cell that is longer would
 * push the columns behind it out of what is shown of a line, in all rows. */
enum { MOST_COLUMNS = 5, CELL_SHOWN = 200 };

/* Rows of cells, each column as wide as its widest cell. A column of numbers is flush right. */
typedef struct Columns {
    Ctx *cx;
    int n;
    const char *align; /* a letter a column: l or r */
    VEC(Str) cell;
} Columns;

static void add_row(Columns *c, const Str *cells)
{
    for (int i = 0; i < c->n; i++) {
        bool is_long = cells[i]->len > CELL_SHOWN;
        vec_push(c->cx, &c->cell, is_long ? text_printable(c->cx, cells[i], CELL_SHOWN) : cells[i]);
    }
}

/* Characters, not bytes: those of UTF-8 that continue one do not count. */
static size_t text_width(Str s)
{
    size_t n = 0;
    for (uint32_t i = 0; i < s->len; i++)
        n += ((unsigned char)s->s[i] & 0xc0) != 0x80;
    return n;
}

/* The blanks before a cell are put with it, so that a row ends with its last cell that has text. */
static void put_cell(Buf *b, Str s, size_t *blanks, size_t width, bool right)
{
    size_t gap = width - text_width(s);
    if (s->len) {
        buf_fmt(b, "%*s", (int)(*blanks + (right ? gap : 0)), "");
        buf_add(b, s->s, s->len);
        *blanks = right ? 0 : gap;
    } else {
        *blanks += width;
    }
    *blanks += 2;
}

static void put_columns(Buf *b, const Columns *c)
{
    size_t width[MOST_COLUMNS] = { 0 };
    for (size_t i = 0; i < c->cell.n; i++) {
        size_t w = text_width(c->cell.at[i]);
        size_t *most = &width[i % (size_t)c->n];
        *most = w > *most ? w : *most;
    }
    size_t blanks = 2;
    for (size_t i = 0; i < c->cell.n; i++) {
        size_t k = i % (size_t)c->n;
        put_cell(b, c->cell.at[i], &blanks, width[k], c->align[k] == 'r');
        if (k + 1 < (size_t)c->n)
            continue;
        buf_str(b, "\n");
        blanks = 2;
    }
}

/* ---- words and numbers ---- */

static void put_heading(Buf *b, const char *title, size_t n)
{
    buf_fmt(b, "\n%s (%zu)\n", title, n);
}

/* 11689512 -> "11,689,512" */
static Str grouped(Ctx *cx, int64_t n)
{
    Str digits = str_fmt(cx, "%lld", (long long)n);
    Buf b = buf_new(cx);
    for (uint32_t i = 0; i < digits->len; i++) {
        bool first = i == 0 || digits->s[i - 1] == '-';
        if (!first && (digits->len - i) % 3 == 0)
            buf_str(&b, ",");
        buf_add(&b, digits->s + i, 1);
    }
    return buf_done(&b);
}

/* 46758048 -> "46.8 MB" */
static Str bytes_text(Ctx *cx, int64_t n)
{
    static const char *const unit[] = { "KB", "MB", "GB", "TB" };
    if (n < 1000)
        return str_fmt(cx, "%lld bytes", (long long)n);
    double v = (double)n / 1000;
    size_t u = 0;
    for (; v >= 999.95 && u + 1 < COUNT(unit); u++)
        v /= 1000;
    return str_fmt(cx, "%.1f %s", v, unit[u]);
}

static Str const_text(Ctx *cx, const Const *k)
{
    Buf b = buf_new(cx);
    buf_fmt(&b, "%s[", dtype_name(k->dtype));
    for (int a = 0; a < k->rank; a++)
        buf_fmt(&b, "%s%lld", a ? "," : "", (long long)k->dims[a]);
    buf_str(&b, "]");
    return buf_done(&b);
}

/* ---- programs: inputs and outputs ---- */

Str show_declared(Ctx *cx, const InputDecl *in)
{
    return in->type ? type_expr_text(cx, in->type) : str_of(cx, "Tensor");
}

Str show_recorded(Ctx *cx, const InputDecl *in)
{
    if (!in->known)
        return NULL;
    Buf b = buf_new(cx);
    buf_fmt(&b, "%s[", dtype_name(in->dtype));
    for (int a = 0; a < in->rank; a++) {
        const char *comma = a ? "," : "";
        if (in->dim[a].known >= 0)
            buf_fmt(&b, "%s%lld", comma, (long long)in->dim[a].known);
        else
            buf_fmt(&b, "%s%s", comma, in->dim[a].expr ? in->dim[a].expr->s : "?");
    }
    buf_str(&b, "]");
    return buf_done(&b);
}

/* "float32[N,3,224,224]", or the declared type of an input about which nothing is recorded. */
static Str input_text(Ctx *cx, const InputDecl *in)
{
    Str recorded = show_recorded(cx, in);
    return recorded ? recorded : show_declared(cx, in);
}

/* The type that the evaluation has found for an input of which the file has none: "" if it is no
 * input of the model. */
static Str found_text(const Shown *w, const InputDecl *in)
{
    Ctx *cx = w->s->cx;
    const Ox *at = w->graph ? w->graph->inputs.at : NULL;
    size_t n = w->graph ? w->graph->inputs.n : 0;
    for (size_t i = 0; i < n; i++)
        if (!in->known && at[i]->name == in->name)
            return str_fmt(cx, "here %s", type_text(cx, at[i]->type)->s);
    return str_of(cx, "");
}

static void put_inputs(Buf *b, const Shown *w)
{
    Ctx *cx = w->s->cx;
    const Program *p = w->p;
    Columns c = { .cx = cx, .n = 3, .align = "lll" };
    put_heading(b, "inputs", p->n_input);
    for (uint32_t i = 0; i < p->n_input; i++) {
        const InputDecl *in = &p->input[i];
        Str type = input_text(cx, in);
        if (in->has_default)
            type = str_fmt(cx, "%s = %s", type->s, val_text(cx, in->deflt)->s);
        Str name = in->name ? in->name : str_of(cx, "?");
        add_row(&c, (Str[]){ name, type, found_text(w, in) });
    }
    put_columns(b, &c);
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

static void put_values(Ctx *cx, Buf *b, const char *title, const Ox *at, size_t n)
{
    Columns c = { .cx = cx, .n = 2, .align = "ll" };
    put_heading(b, title, n);
    for (size_t i = 0; i < n; i++) {
        bool has_default = at[i]->kind == OX_INPUT && at[i]->k;
        Str type = type_text(cx, at[i]->type);
        if (has_default)
            type = str_fmt(cx, "%s (by default the value in the file)", type->s);
        add_row(&c, (Str[]){ at[i]->name ? at[i]->name : str_of(cx, "?"), type });
    }
    put_columns(b, &c);
}

/* What the evaluated program gives; else what the file says of it. */
static void put_outputs(Buf *b, const Shown *w)
{
    Ctx *cx = w->s->cx;
    const Program *p = w->p;
    if (w->graph) {
        put_values(cx, b, "outputs", w->graph->outputs.at, w->graph->outputs.n);
        return;
    }
    if (p->n_output_name)
        put_heading(b, "outputs", p->n_output_name);
    else if (p->entry && p->entry->ret)
        buf_fmt(b, "\nreturns %s\n", type_expr_text(cx, p->entry->ret)->s);
    for (uint32_t i = 0; i < p->n_output_name; i++)
        buf_fmt(b, "  %s\n", p->output_name[i] ? p->output_name[i]->s : "?");
}

/* ---- programs: modules and weights ---- */

/* "__torch__.torch.nn.modules.conv.Conv2d" -> "Conv2d" */
static Str class_name(Ctx *cx, Str path)
{
    const char *dot = path ? strrchr(path->s, '.') : NULL;
    if (!path)
        return str_of(cx, "");
    return dot ? str_of(cx, dot + 1) : path;
}

static Str count_text(Ctx *cx, int64_t n) { return n ? grouped(cx, n) : str_of(cx, ""); }

/* A line for each module, then the sums. Numbers are of a module's own weights, without those of
 * the modules in it. */
static void put_modules(Buf *b, const Shown *w)
{
    Ctx *cx = w->s->cx;
    Columns c = { .cx = cx, .n = 5, .align = "lllrr" };
    Str heads[] = { str_of(cx, ""), str_of(cx, "class"), str_of(cx, "output"),
                    str_of(cx, "parameters"), str_of(cx, "buffers") };
    put_heading(b, "modules", w->modules.n);
    add_row(&c, heads);
    for (size_t i = 0; i < w->modules.n; i++) {
        const ShownModule *m = &w->modules.at[i];
        Str path = m->path->len ? m->path : str_of(cx, "(root)");
        Str output = m->output ? m->output : str_of(cx, "");
        Str cells[] = { path, class_name(cx, m->class), output, count_text(cx, m->parameters),
                        count_text(cx, m->buffers) };
        add_row(&c, cells);
    }
    put_columns(b, &c);
    buf_fmt(b, "  %s parameters, %s; %s numbers in buffers, %s\n", grouped(cx, w->parameters)->s,
            bytes_text(cx, w->parameter_bytes)->s, grouped(cx, w->buffers)->s,
            bytes_text(cx, w->buffer_bytes)->s);
    if (w->why)
        buf_fmt(b, "  what modules give is not known: %s\n", w->why->s);
}

static void put_weights(Ctx *cx, Buf *b, const Program *p)
{
    Columns c = { .cx = cx, .n = 3, .align = "lll" };
    put_heading(b, "weights", p->weights.n);
    for (size_t i = 0; i < p->weights.n; i++) {
        const Weight *w = &p->weights.at[i];
        const char *kind = w->persistent ? "buffer" : "buffer, not in the state_dict";
        Str cells[] = { w->name, const_text(cx, w->k), str_of(cx, w->parameter ? "" : kind) };
        add_row(&c, cells);
    }
    put_columns(b, &c);
}

/* What the program cannot be evaluated for is said in the place of what its evaluation would tell.
 */
bool show_program(Session *s, Program *p, Buf *out)
{
    Ctx *cx = s->cx;
    Shown w;
    if (!show_gather(s, p, &w))
        return false;
    notes_keep(cx, 0, 1u << NOTE_ASSUMED); /* sizes rest on them; the rest is about converting */
    if (s->o.show_json) {
        show_program_json(&w, out);
        return !ctx_failed(cx);
    }
    buf_fmt(out, "%s: %s\n", s->file, p->kind->s);
    put_inputs(out, &w);
    put_symbols(out, p);
    put_outputs(out, &w);
    put_modules(out, &w);
    put_weights(cx, out, p);
    buf_str(out, "\nprogram\n");
    buf_str(out, program_text(cx, p)->s);
    return !ctx_failed(cx);
}

/* ---- ONNX models ---- */

void show_constants(Ctx *cx, const Graph *g, Map *seen, Constants *out)
{
    for (size_t k = 0; k < g->nodes.n; k++) {
        const Node *n = g->nodes.at[k];
        for (int i = 0; i < n->n_in; i++) {
            Ox v = n->in[i];
            if (!v || v->kind != OX_CONST || map_find(seen, v))
                continue;
            map_put(cx, seen, v, NULL);
            vec_push(cx, out, v);
        }
        for (int i = 0; i < n->n_attr; i++)
            if (n->attr[i].kind == ATTR_GRAPH)
                show_constants(cx, n->attr[i].g, seen, out);
    }
}

static void put_constants(Ctx *cx, Buf *b, const Graph *g)
{
    Columns c = { .cx = cx, .n = 2, .align = "ll" };
    Map seen = { 0 };
    Constants all = { 0 };
    show_constants(cx, g, &seen, &all);
    put_heading(b, "initializers", all.n);
    for (size_t i = 0; i < all.n; i++) {
        Ox v = all.at[i];
        add_row(&c, (Str[]){ v->name ? v->name : str_of(cx, "?"), const_text(cx, v->k) });
    }
    put_columns(b, &c);
}

/* What `show` prints of an ONNX file: opsets, inputs, outputs, initializers, metadata, the graph as
 * text. */
bool show_onnx(Session *s, Buf *out)
{
    Ctx *cx = s->cx;
    ModelInfo info;
    Graph *g = wire_read(cx, s->src, &info);
    if (!g)
        return false;
    if (s->o.show_json) {
        show_onnx_json(s, g, &info, out);
        return !ctx_failed(cx);
    }
    buf_fmt(out, "%s: ONNX model, opset %d", s->file, info.opset);
    for (size_t i = 0; i < info.domains.n; i++)
        buf_fmt(out, ", %s %lld", info.domains.at[i].domain->s,
                (long long)info.domains.at[i].version);
    buf_str(out, "\n");
    put_values(cx, out, "inputs", g->inputs.at, g->inputs.n);
    put_values(cx, out, "outputs", g->outputs.at, g->outputs.n);
    put_constants(cx, out, g);
    for (size_t i = 0; i < info.props.n; i++)
        buf_fmt(out, "%s%s: %s\n", i ? "" : "\nmetadata\n", info.props.at[i].key->s,
                info.props.at[i].value->s);
    buf_str(out, "\ngraph\n");
    buf_str(out, graph_text(g)->s);
    return !ctx_failed(cx);
}
