/* view_page.c - a page that shows a model: web/viewer/view.html with the model in it.
 *
 * The page is made of the viewer's text, whose placeholders are {{NAME}}, {{LINES}} and {{MODEL}}:
 * the name of the file, the lines of the user's program that nodes came from, as JSON, and the ONNX
 * model without the numbers of its weights, in base64. So it is one file of the size of its
 * graph. */
#include "session.h"

#include "onnx/wire/model_file.h"

extern const char text_view[]; /* web/viewer/view.html */

/* ---- base64 ---- */

typedef struct Encoder {
    Ctx *cx;
    Sink *to;
    uint8_t left[3]; /* bytes that make no group of three yet */
    size_t n_left;
    char text[4096]; /* groups of four, not written yet */
    size_t n;
} Encoder;

static bool encoder_flush(Encoder *e)
{
    size_t n = e->n;
    e->n = 0;
    return sink_write(e->cx, e->to, e->text, n);
}

/* The n_left bytes as a group; missing ones are "=". */
static bool encode_group(Encoder *e)
{
    static const char letter[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; i++)
        bits = bits << 8 | (i < e->n_left ? e->left[i] : 0);
    for (size_t i = 0; i < 4; i++)
        e->text[e->n++] = i > e->n_left ? '=' : letter[bits >> (18 - 6 * i) & 63];
    e->n_left = 0;
    return e->n + 4 <= sizeof e->text || encoder_flush(e);
}

static bool encode(void *user, const void *bytes, size_t n)
{
    Encoder *e = user;
    const uint8_t *p = bytes;
    for (size_t i = 0; i < n; i++) {
        e->left[e->n_left++] = p[i];
        if (e->n_left == 3 && !encode_group(e))
            return false;
    }
    return true;
}

static bool encoder_end(Encoder *e)
{
    return (e->n_left == 0 || encode_group(e)) && encoder_flush(e);
}

/* ---- JSON that may stand in a script ---- */

static void put_json(Buf *b, const char *s)
{
    buf_str(b, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c < 0x20 || c == '<' || c == 0x7f)
            buf_fmt(b, "\\u%04x", c);
        else
            buf_fmt(b, c == '"' || c == '\\' ? "\\%c" : "%c", c);
    }
    buf_str(b, "\"");
}

typedef struct Lines {
    Buf text;
    Ctx *cx;
} Lines;

static void put_line(void *user, const char *place, const char *text)
{
    Lines *l = user;
    buf_str(&l->text, l->text.n > 1 ? ",\n" : "");
    put_json(&l->text, text_printable(l->cx, str_of(l->cx, place), LINE_SHOWN)->s);
    buf_str(&l->text, ":");
    put_json(&l->text, text_printable(l->cx, str_of(l->cx, text), LINE_SHOWN)->s);
}

/* ---- the page ---- */

/* The template up to the placeholder; *from goes on behind it. */
static bool put_until(Ctx *cx, Sink *out, const char **from, const char *placeholder)
{
    const char *at = strstr(*from, placeholder);
    if (!at)
        return fail(cx, E_BUG, "the page has no %s", placeholder);
    const char *begin = *from;
    *from = at + strlen(placeholder);
    return sink_write(cx, out, begin, (size_t)(at - begin));
}

/* The model in base64; g NULL: the file is one. */
static bool put_model(Session *s, Graph *g, const ModelInfo *info, Sink *out)
{
    Encoder *e = new(s->cx, Encoder);
    if (ctx_failed(s->cx))
        return false;
    e->cx = s->cx;
    e->to = out;
    Sink model = { .fd = -1, .write = encode, .user = e };
    Sink nowhere = { .fd = -1 };
    bool ok = g ? wire_write(s->cx, g, info, &model, &nowhere, "weights")
                : wire_thin(s->cx, s->src, &model);
    return ok && encoder_end(e);
}

static bool put_buf(Ctx *cx, Sink *out, const Buf *b)
{
    return !ctx_failed(cx) && sink_write(cx, out, b->s, b->n);
}

static Buf lines_json(Ctx *cx, const Graph *g)
{
    Lines lines = { buf_new(cx), cx };
    buf_str(&lines.text, "{");
    if (g)
        graph_lines(cx, g, put_line, &lines);
    buf_str(&lines.text, "}");
    return lines.text;
}

bool view_write(Session *s, Graph *g, ModelInfo *info)
{
    Ctx *cx = s->cx;
    Sink *out = s->model ? out_sink(s->model) : &s->stream;
    const char *from = text_view;
    Buf name = buf_new(cx);
    put_json(&name, text_printable(cx, str_of(cx, sys_base(s->file)), LINE_SHOWN)->s);
    Buf lines = lines_json(cx, g);
    return put_until(cx, out, &from, "{{NAME}}") && put_buf(cx, out, &name) &&
        put_until(cx, out, &from, "{{LINES}}") && put_buf(cx, out, &lines) &&
        put_until(cx, out, &from, "{{MODEL}}") && put_model(s, g, info, out) &&
        sink_write(cx, out, from, strlen(from)) && (!s->model || out_commit(cx, &s->model, 1));
}

/* ---- lines of source ---- */

typedef struct Telling {
    Ctx *cx;
    Map seen; /* places, and texts "net.py:41" */
    void (*tell)(void *user, const char *place, const char *text);
    void *user;
} Telling;

/* Places of the same chain of calls share one id: most nodes end at the first look. */
static void tell_place(Telling *t, SourceId at)
{
    Pos pos;
    bool is_new = at && map_add(t->cx, &t->seen, (const void *)(uintptr_t)at, NULL);
    if (!is_new || !place_pos(t->cx, at, &pos) || !pos.file || !pos.source)
        return;
    Str where = str_fmt(t->cx, "%s:%u", pos.file->s, pos.line);
    if (map_add(t->cx, &t->seen, where, NULL))
        t->tell(t->user, where->s, pos.source->s);
}

static void tell_graph(Telling *t, const Graph *g)
{
    for (size_t k = 0; k < g->nodes.n; k++) {
        const Node *n = g->nodes.at[k];
        if (!n->dead)
            tell_place(t, n->at);
        for (int a = 0; a < n->n_attr; a++)
            if (!n->dead && n->attr[a].kind == ATTR_GRAPH)
                tell_graph(t, n->attr[a].g);
    }
}

void graph_lines(Ctx *cx, const Graph *g,
                 void (*tell)(void *user, const char *place, const char *text), void *user)
{
    Telling t = { .cx = cx, .tell = tell, .user = user };
    tell_graph(&t, g);
}
