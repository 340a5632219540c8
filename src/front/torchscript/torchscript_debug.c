/* torchscript_debug.c - from a place in a code record to the line of the user's own Python file.
 *
 * NAME.py.debug_pkl is the tuple ("FORMAT_WITH_STRING_TABLE", strings, entries); an entry is
 * (offset, ((pieces, file, first_line), start, end), tag): from byte `offset` of the record on,
 * until the next entry, the code was made from bytes [start, end) of a text that is the
 * concatenation of strings `pieces`. Of a scripted function the text is its source, which begins at
 * first_line of strings[file]. Of a traced one it is the Python stack, innermost frame first,
 * "FILE(LINE): NAME" a line. Read when a message first asks; damaged records are as good as none,
 * because the TorchScript line is always there. */
#include "front/internal.h"

typedef struct DebugEntry {
    uint32_t offset;
    const Pickle *range;
} DebugEntry;

typedef struct Debug {
    TorchScript *ts;
    Str record;
    bool tried;
    const Pickle *strings;
    VEC(DebugEntry) entries; /* by offset */
} Debug;

static const char *const debug_globals[] = { "torch.jit._pickle build_intlist", NULL };

static bool is_seq(const Pickle *p, size_t least)
{
    return (p->tag == P_TUPLE || p->tag == P_LIST) && p->seq.n >= least;
}

static void read_entries(Ctx *cx, Debug *d, const Pickle *all)
{
    if (!is_seq(all, 3) || all->seq.at[0]->tag != P_STR ||
        !str_is(all->seq.at[0]->s, "FORMAT_WITH_STRING_TABLE") || !is_seq(all->seq.at[1], 0) ||
        !is_seq(all->seq.at[2], 0))
        return;
    uint32_t last = 0;
    d->strings = all->seq.at[1];
    for (size_t i = 0; i < all->seq.at[2]->seq.n; i++) {
        const Pickle *e = all->seq.at[2]->seq.at[i];
        if (!is_seq(e, 2) || e->seq.at[0]->tag != P_INT || e->seq.at[0]->i < last ||
            e->seq.at[0]->i > UINT32_MAX)
            return;
        last = (uint32_t)e->seq.at[0]->i;
        vec_push(cx, &d->entries, (DebugEntry){ last, e->seq.at[1] });
    }
}

/* Reads the debug records. Called while the text of an error is made: it must neither stop at
 * this error nor add one of its own. */
static void read_debug(Ctx *cx, Debug *d)
{
    Slice data;
    Error before = cx->error;
    d->tried = true;
    cx->error = (Error){ 0 };
    keep_begin(cx);
    Zip *zip = d->ts->zip;
    const ZipEntry *e = zip_again(cx, zip) ? zip_find_in_root(zip, d->record->s) : NULL;
    if (e && zip_slice(cx, zip, e, &data)) {
        const Pickle *all = pickle_read(cx, data, d->record->s, debug_globals);
        if (all)
            read_entries(cx, d, all);
    }
    keep_end(cx);
    cx->error = before;
}

/* Does the entry say anything? Without pieces it only ends the one before. */
static bool says_something(const Pickle *range)
{
    if (!is_seq(range, 3) || !is_seq(range->seq.at[0], 3))
        return false;
    const Pickle *pieces = range->seq.at[0]->seq.at[0];
    return pickle_is_call(pieces, "torch.jit._pickle", "build_intlist") &&
        is_seq(pieces->args, 1) && is_seq(pieces->args->seq.at[0], 1);
}

/* The entry in force at `start`; when that is empty, the first that begins before `end`:
 * (fc).forward(x) begins with what came from nowhere. */
static const Pickle *entry_at(const Debug *d, uint32_t start, uint32_t end)
{
    size_t lo = 0;
    size_t hi = d->entries.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (d->entries.at[mid].offset <= start)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (size_t i = lo ? lo - 1 : 0; i < d->entries.n && (i < lo || d->entries.at[i].offset < end);
         i++)
        if (says_something(d->entries.at[i].range))
            return d->entries.at[i].range;
    return NULL;
}

static Str string_at(const Debug *d, const Pickle *index)
{
    if (index->tag != P_INT || index->i < 0 || (size_t)index->i >= d->strings->seq.n ||
        d->strings->seq.at[index->i]->tag != P_STR)
        return NULL;
    return d->strings->seq.at[index->i]->s;
}

/* pieces := build_intlist([i, ..]): their strings, one after the other */
static bool source_text(Ctx *cx, const Debug *d, const Pickle *pieces, Buf *out)
{
    *out = buf_new(cx);
    const Pickle *list = pieces->args->seq.at[0];
    for (size_t i = 0; i < list->seq.n; i++) {
        Str s = string_at(d, list->seq.at[i]);
        if (!s)
            return false;
        buf_add(out, s->s, s->len);
    }
    return out->n > 0;
}

/* frame := FILE '(' LINE ')' ': ' NAME      the last parenthesised number before a colon */
static bool parse_frame(Ctx *cx, const char *s, size_t n, Pos *out)
{
    for (size_t i = n; i-- > 1;) {
        if (s[i] != ':' || s[i - 1] != ')')
            continue;
        size_t digits = i - 1;
        uint64_t line = 0;
        uint64_t unit = 1;
        while (digits > 0 && s[digits - 1] >= '0' && s[digits - 1] <= '9' && unit <= 100000000) {
            line += (uint64_t)(s[--digits] - '0') * unit;
            unit *= 10;
        }
        if (digits == 0 || s[digits - 1] != '(' || unit == 1)
            continue;
        size_t name = i + 1 < n && s[i + 1] == ' ' ? i + 2 : i + 1;
        *out = (Pos){ .file = str_n(cx, s, digits - 1),
                      .line = (uint32_t)line,
                      .function = str_n(cx, s + name, n - name) };
        return true;
    }
    return false;
}

/* torch's own files only carry the call on; the user knows theirs. */
static bool is_of_torch(Str file) { return strstr(file->s, "-packages/torch/") != NULL; }

/* The innermost frame that is not torch's; the innermost of all when there is none. */
static bool locate_in_stack(Ctx *cx, const Buf *stack, Pos *out)
{
    bool any = false;
    for (size_t from = 0; from < stack->n;) {
        const char *end = memchr(stack->s + from, '\n', stack->n - from);
        size_t n = end ? (size_t)(end - stack->s) - from : stack->n - from;
        Pos frame;
        if (parse_frame(cx, stack->s + from, n, &frame)) {
            if (!is_of_torch(frame.file)) {
                *out = frame;
                return true;
            }
            if (!any)
                *out = frame;
            any = true;
        }
        from += n + 1;
    }
    return any;
}

/* Columns count characters: a byte that continues one of UTF-8 is none. */
static uint32_t characters(const char *s, size_t n)
{
    uint32_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)s[i] & 0xc0) != 0x80;
    return count;
}

/* Bytes [start, end) of a source that begins at first_line. */
static bool locate_in_source(Ctx *cx, const Buf *source, Str file, int64_t first_line, size_t start,
                             size_t end, Pos *out)
{
    size_t line_start = 0;
    size_t line_end = source->n;
    int64_t line = first_line;
    for (size_t i = 0; i < start; i++)
        if (source->s[i] == '\n') {
            line_start = i + 1;
            line++;
        }
    const char *newline = memchr(source->s + line_start, '\n', source->n - line_start);
    if (newline)
        line_end = (size_t)(newline - source->s);
    size_t last = end < line_end ? end : line_end;
    *out = (Pos){ .file = file,
                  .line = (uint32_t)line,
                  .col = 1 + characters(source->s + line_start, start - line_start),
                  .len = last > start ? characters(source->s + start, last - start) : 1,
                  .source = str_n(cx, source->s + line_start, line_end - line_start) };
    return true;
}

/* The user's line for bytes start to end of the archive's code, from the record NAME.debug_pkl: the
 * record is read when first asked. A source that begins with a stack frame is a stack; else file
 * and line number are named beside it. */
static bool locate(Ctx *cx, const Text *t, uint32_t start, uint32_t end, Pos *out)
{
    Debug *d = MUTABLE(Debug, t->locate_arg); /* what it has read, it keeps */
    Buf source;
    if (!d->tried)
        read_debug(cx, d);
    const Pickle *range = entry_at(d, start, end);
    if (!range)
        return false;
    Pickle *const *text = range->seq.at[0]->seq.at;
    const Pickle *from = range->seq.at[1];
    const Pickle *to = range->seq.at[2];
    if (from->tag != P_INT || to->tag != P_INT || text[2]->tag != P_INT ||
        !source_text(cx, d, text[0], &source) || from->i < 0 || from->i > to->i ||
        (uint64_t)to->i > source.n || text[2]->i < 0 || text[2]->i > INT32_MAX)
        return false;
    Pos frame;
    const char *newline = memchr(source.s, '\n', source.n);
    if (parse_frame(cx, source.s, newline ? (size_t)(newline - source.s) : source.n, &frame) &&
        from->i == 0)
        return locate_in_stack(cx, &source, out);
    Str file = string_at(d, text[1]);
    return file && file->len &&
        locate_in_source(cx, &source, file, text[2]->i, (size_t)from->i, (size_t)to->i, out);
}

void ts_attach_debug(Ctx *cx, TorchScript *ts, Text *text)
{
    Str record = str_fmt(cx, "%s.debug_pkl", text->name->s);
    if (!zip_find_in_root(ts->zip, record->s))
        return;
    Debug *d = new(cx, Debug);
    d->ts = ts;
    d->record = record;
    text->locate = locate;
    text->locate_arg = d;
}
