/* exported_trace.c - the user's line out of a node's stack_trace.
 *
 * The trace is Python's own text, innermost frame last, frames of torch's modules included. The
 * user wants theirs: the innermost frame that is not torch's. Nothing is read before a message or a
 * node's metadata asks for the position. */
#include "front/exported/exported.h"

/* One `File "net.py", line 41, in forward` and the line after it. */
typedef struct TraceFrame {
    Slice file, function, source;
    uint32_t line;
} TraceFrame;

static Slice trimmed(const char *from, const char *to)
{
    while (from < to && (*from == ' ' || *from == '\t'))
        from++;
    while (to > from && (to[-1] == ' ' || to[-1] == '\r'))
        to--;
    return (Slice){ (const uint8_t *)from, (size_t)(to - from) };
}

/* `File "net.py", line 12, in forward`, as Python's traceback prints it; the function may be
 * missing. False for another line. */
static bool read_frame(Slice line, TraceFrame *out)
{
    static const char begin[] = "File \"";
    static const char number[] = "\", line ";
    static const char in[] = ", in ";
    const uint8_t *end = line.p + line.n;
    if (line.n < sizeof begin - 1 || memcmp(line.p, begin, sizeof begin - 1) != 0)
        return false;
    const uint8_t *file = line.p + sizeof begin - 1;
    const uint8_t *after = sys_find(file, (size_t)(end - file), number, sizeof number - 1);
    if (!after)
        return false;
    const uint8_t *digits = after + sizeof number - 1;
    const uint8_t *name = sys_find(digits, (size_t)(end - digits), in, sizeof in - 1);
    *out = (TraceFrame){ .file = { file, (size_t)(after - file) } };
    for (; digits < end && *digits >= '0' && *digits <= '9' && out->line < 100000000; digits++)
        out->line = out->line * 10 + (uint32_t)(*digits - '0');
    if (name)
        out->function = (Slice){ name + sizeof in - 1, (size_t)(end - name) - (sizeof in - 1) };
    return true;
}

static bool holds(Slice s, const char *text)
{
    return sys_find(s.p, s.n, text, strlen(text)) != NULL;
}

/* Code that the user did not write: torch's modules and its tracer, generated functions. */
static bool is_torchs(Slice file)
{
    return holds(file, "/torch/nn/") || holds(file, "/torch/_") || holds(file, "/torch/export/") ||
        holds(file, "/torch/fx/") || holds(file, "/torch/functional.py") ||
        holds(file, "/torch/utils/") || (file.n > 0 && file.p[0] == '<');
}

/* The innermost frame of the user's, else the innermost of a file. */
static bool user_frame(Str trace, TraceFrame *out)
{
    bool found = false;
    bool users = false;
    bool open = false;
    for (const char *at = trace->s, *end = at + trace->len; at < end;) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        Slice line = trimmed(at, line_end ? line_end : end);
        TraceFrame f;
        at = line_end ? line_end + 1 : end;
        if (!read_frame(line, &f)) {
            if (open && !out->source.n && line.n && line.p[0] != '^' && line.p[0] != '~')
                out->source = line;
            continue;
        }
        bool mine = !is_torchs(f.file);
        open = (mine || !users) && f.file.n && f.file.p[0] != '<';
        if (open) {
            *out = f;
            found = true;
            users |= mine;
        }
    }
    return found;
}

static bool locate_trace(Ctx *cx, const Text *t, uint32_t start, uint32_t end, Pos *out)
{
    TraceFrame f = { 0 };
    (void)start, (void)end;
    if (!user_frame(t->locate_arg, &f))
        return false;
    *out = (Pos){ .file = str_n(cx, f.file.p, f.file.n), .line = f.line };
    if (f.source.n)
        out->source = str_n(cx, f.source.p, f.source.n);
    if (f.function.n)
        out->function = str_n(cx, f.function.p, f.function.n);
    return true;
}

const Text *ex_trace_text(Exported *x, Str trace)
{
    Text *t = map_get(&x->traces, trace);
    if (t)
        return t;
    keep_begin(x->cx); /* nodes have places in it */
    t = new(x->cx, Text);
    keep_end(x->cx);
    *t = (Text){ .name = str_of(x->cx, "stack_trace"),
                 .locate = locate_trace,
                 .locate_arg = trace };
    map_put(x->cx, &x->traces, trace, t);
    return t;
}
