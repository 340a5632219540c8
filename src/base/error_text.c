/* error_text.c - an error as the user reads it: the reason, their own line with a caret, the calls
 * that led there, what to try. The position of a function's frame is the innermost one that can be
 * shown before the next call. */
#include "base/internal.h"

enum { CALLS_SHOWN = 8, REFUSALS_SHOWN = 20, OPERATORS_SHOWN = 60 };

typedef struct Frame {
    Pos pos;
    bool has_pos;
    Str function;
    SourceId up;
} Frame;

/* The frame that starts at id: places up to and including its WHERE_FUNCTION. */
static Frame frame_at(Ctx *cx, SourceId id)
{
    Frame f = { 0 };
    for (const Place *p = place(cx, id); p; p = place_up(cx, &id)) {
        if (!f.has_pos)
            f.has_pos = place_own_pos(cx, p, &f.pos);
        if (p->kind == WHERE_FUNCTION) {
            f.function = p->name;
            place_up(cx, &id);
            f.up = id;
            break;
        }
    }
    return f;
}

/* Where the character number `count` from s on begins, or the end of the text. */
static const char *skip_characters(const char *s, uint32_t count)
{
    for (; *s && count > 0; count--)
        for (s++; ((unsigned char)*s & 0xc0) == 0x80;)
            s++;
    return s;
}

/* The source line with carets under the place; of a long line only the part around it. */
static void put_caret(Buf *b, const Pos *p)
{
    enum { SHOWN = 160, BEFORE = 60 };
    uint32_t skipped = p->col > SHOWN ? p->col - BEFORE : 0;
    const char *from = skip_characters(p->source->s, skipped);
    const char *to = skip_characters(from, SHOWN);
    buf_fmt(b, "\n    %4u | %s", p->line, skipped ? "... " : "");
    buf_add(b, from, (size_t)(to - from));
    buf_str(b, *to ? " ..." : "");
    if (p->col == 0) /* a .pt2 knows the line only */
        return;
    buf_str(b, "\n         | ");
    buf_str(b, skipped ? "    " : "");
    for (uint32_t col = skipped + 1; from < to && col < p->col; col++) {
        buf_str(b, *from == '\t' ? "\t" : " ");
        from = skip_characters(from, 1);
    }
    uint32_t most = SHOWN - (p->col - 1 - skipped);
    for (uint32_t i = 0; i < (p->len ? p->len : 1) && i < most; i++)
        buf_str(b, "^");
}

/* Generated code has nothing to point at: a position may lack line or column (0). */
static void put_pos(Buf *b, const Pos *p, Str function)
{
    buf_str(b, p->file ? p->file->s : "?");
    if (p->line)
        buf_fmt(b, ":%u", p->line);
    if (p->line && p->col)
        buf_fmt(b, ":%u", p->col);
    Str in = p->function ? p->function : function;
    if (in)
        buf_fmt(b, " in %s", in->s);
}

/* The innermost place with its line and a caret, then where that was called from, at most
 * CALLS_SHOWN lines. Without any position: the module alone, when one is known. */
static void put_place(Ctx *cx, Buf *b, SourceId id, const char *indent)
{
    Str module = place_module(cx, id);
    bool first = true;
    int calls = 0;
    while (id) {
        Frame f = frame_at(cx, id);
        if (f.has_pos && first) {
            buf_fmt(b, "\n%s", indent);
            put_pos(b, &f.pos, f.function);
            if (module && module->len)
                buf_fmt(b, ", module %s", module->s);
            if (f.pos.source && f.pos.source->len)
                put_caret(b, &f.pos);
            first = false;
        } else if (f.has_pos && calls++ < CALLS_SHOWN) {
            buf_fmt(b, "\n%scalled from ", indent);
            put_pos(b, &f.pos, f.function);
        }
        id = f.up;
    }
    if (first && module && module->len)
        buf_fmt(b, "\n%sin module %s", indent, module->s);
    if (calls > CALLS_SHOWN)
        buf_fmt(b, "\n%s... and %d more calls", indent, calls - CALLS_SHOWN);
}

/* "aten::grid_sampler: " or "code/net.py: ": what was at work, innermost, when it says more than
 * the position. */
static void put_actor(Ctx *cx, Buf *b, SourceId id)
{
    for (const Place *p = place(cx, id); p; p = place_up(cx, &id)) {
        if (p->kind == WHERE_FUNCTION)
            return;
        if (p->name && (p->kind == WHERE_OP || (p->kind == WHERE_RECORD && !p->text))) {
            buf_fmt(b, "%s: ", p->name->s);
            return;
        }
    }
}

static void put_refusal(Ctx *cx, Buf *b, const Refusal *r)
{
    const char *op = r->op ? r->op->s : "?";
    const char *text = r->text->s;
    bool names_itself = strncmp(text, op, strlen(op)) == 0 &&
        text[strlen(op)] == ':'; /* as op_refuse does */
    buf_fmt(b, "\n  %s", r->unreached ? "if the program gets there, " : "");
    if (!names_itself)
        buf_fmt(b, "%s: ", op);
    buf_str(b, text);
    put_place(cx, b, r->at, "    ");
    if (r->hint)
        buf_fmt(b, "\n    try: %s", r->hint->s);
}

/* A screen of them: the first, and behind those the first of each operator that is not shown yet.
 * How many more there are. */
static void put_refusals(Ctx *cx, Buf *b)
{
    Map seen = { 0 };
    size_t shown = 0;
    for (size_t i = 0; i < cx->refusals.n; i++) {
        const Refusal *r = &cx->refusals.at[i];
        bool is_first = !r->op || !map_find(&seen, r->op);
        if (shown >= (is_first ? OPERATORS_SHOWN : REFUSALS_SHOWN))
            continue;
        if (r->op && is_first)
            map_put(cx, &seen, r->op, NULL);
        put_refusal(cx, b, r);
        shown++;
    }
    if (shown < cx->refusals.n)
        buf_fmt(b, "\n  ... and %zu more", cx->refusals.n - shown);
}

/* The whole message: program, file, operator, reason, place, what to try, and the list of refusals.
 * program and file may be NULL. With a list of refusals the places stand there, each at its
 * operator. */
Str error_text(Ctx *cx, const char *program, const char *file)
{
    const Error *e = &cx->error;
    Buf b = buf_new(cx);
    if (program)
        buf_fmt(&b, "%s: ", program);
    if (file)
        buf_fmt(&b, "%s: ", file);
    bool listed = e->code == E_UNSUPPORTED && cx->refusals.n > 0;
    if (!listed)
        put_actor(cx, &b, e->at);
    buf_str(&b, e->text ? e->text->s : "no error");
    if (e->code == E_BUG)
        buf_fmt(&b, " (a bug of pt2onnx, at %s:%d: please report it)",
                e->our_file ? e->our_file : "?", e->our_line);
    if (!listed)
        put_place(cx, &b, e->at, "  ");
    if (e->hint)
        buf_fmt(&b, "\n  try: %s", e->hint->s);
    put_refusals(cx, &b);
    return text_printable(cx, buf_done(&b), LINE_SHOWN);
}
