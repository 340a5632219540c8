/* error.c - failing, and saying where.
 *
 * A position is a chain of Where records on the C stack. What outlives the stack - an error, a node
 * - keeps the chain interned, as the number of its innermost record, a Place, and the number of the
 * rest, so equal chains are one number. */
#include "base/internal.h"
#include "base/limits.h"

/* ---- places ---- */

/* A chain is its innermost place and the chain around that. The statements of a function are the
 * same places however often it is called, so each place is kept once and a chain is two numbers. */
typedef struct Chain {
    SourceId up;
    uint32_t own; /* number of a place */
} Chain;

/* Finds the number of an item in a list: one more than its index. */
typedef struct Numbers {
    uint32_t *slot; /* 0: free */
    size_t nslot;
} Numbers;

typedef struct Places {
    VEC(Chain) chain; /* number n is at[n - 1]; so with the next */
    VEC(Place) at;
    Numbers chains, places;
    Numbers refusals; /* of cx->refusals */
    Map lines;        /* Text -> the lines that end before each block of it */
    uint32_t round;   /* how often it was made or forgotten: Where.id holds in this one */
    uint32_t kinds;   /* bit 1 << WhereKind: there is such a place */
} Places;

static Places *places(Ctx *cx)
{
    if (!cx->places) {
        keep_begin(cx);
        cx->places = new(cx, Places);
        cx->places->round = 1;
        keep_end(cx);
    }
    return cx->places;
}

static void numbers_clear(Numbers *t)
{
    if (t->nslot)
        memset(t->slot, 0, t->nslot * sizeof *t->slot);
}

/* The table's memory stays for the next evaluation. */
void places_forget(Ctx *cx)
{
    Places *ps = cx->places;
    if (!ps)
        return;
    ps->chain.n = ps->at.n = 0;
    ps->lines = (Map){ 0 };
    ps->kinds = 0;
    ps->round++;
    numbers_clear(&ps->chains);
    numbers_clear(&ps->places);
    numbers_clear(&ps->refusals);
}

/* The two numbers grow together, so the hash of one is taken first: their exclusive or is the same
 * for very many chains. */
static uint32_t *find_chain(const Places *ps, Chain c)
{
    size_t i = hash_also(hash_also(0, c.up), c.own) & (ps->chains.nslot - 1);
    for (; ps->chains.slot[i]; i = (i + 1) & (ps->chains.nslot - 1)) {
        const Chain *at = &ps->chain.at[ps->chains.slot[i] - 1];
        if (at->up == c.up && at->own == c.own)
            break;
    }
    return &ps->chains.slot[i];
}

static bool place_same(const Place *a, const Place *b)
{
    return a->start == b->start && a->end == b->end && a->name == b->name && a->text == b->text &&
        a->type == b->type && a->kind == b->kind;
}

static uint64_t place_hash(const Place *p)
{
    uint64_t h = hash_also(p->kind, (uintptr_t)p->name);
    h = hash_also(h, (uintptr_t)p->type);
    h = hash_also(h, (uintptr_t)p->text);
    return hash_also(h, (uint64_t)p->start << 32 | p->end);
}

static uint32_t *find_place(const Places *ps, const Place *p)
{
    size_t i = place_hash(p) & (ps->places.nslot - 1);
    for (; ps->places.slot[i]; i = (i + 1) & (ps->places.nslot - 1))
        if (place_same(&ps->at.at[ps->places.slot[i] - 1], p))
            break;
    return &ps->places.slot[i];
}

/* Are three quarters taken? */
static bool is_full(const Numbers *t, size_t n)
{
    return (n + 1) * 4 > t->nslot * 3 || n >= UINT32_MAX;
}

/* Twice as many slots, all of them free. False without memory; so also where the error on the way,
 * which has a place of its own, has done it. */
static bool grow(Ctx *cx, Numbers *t)
{
    Numbers old = *t;
    size_t nslot = old.nslot ? old.nslot * 2 : 256;
    uint32_t *slot = new_array(cx, uint32_t, nslot);
    if (!slot || t->nslot != old.nslot)
        return false;
    mem_give(cx, old.slot, old.nslot * sizeof *slot);
    *t = (Numbers){ slot, nslot };
    return true;
}

/* 0 without memory. */
static uint32_t place_intern(Ctx *cx, Places *ps, const Place *p)
{
    if (is_full(&ps->places, ps->at.n) && grow(cx, &ps->places))
        for (uint32_t i = 0; i < ps->at.n; i++)
            *find_place(ps, &ps->at.at[i]) = i + 1;
    if (is_full(&ps->places, ps->at.n))
        return 0;
    uint32_t *slot = find_place(ps, p);
    ps->kinds |= 1u << p->kind;
    if (*slot)
        return *slot;
    if (!vec_push(cx, &ps->at, *p)) /* the error on the way may have made other slots */
        return 0;
    return *slot = (uint32_t)ps->at.n;
}

/* c.up without memory. */
static SourceId chain_intern(Ctx *cx, Places *ps, Chain c)
{
    if (is_full(&ps->chains, ps->chain.n) && grow(cx, &ps->chains))
        for (uint32_t i = 0; i < ps->chain.n; i++)
            *find_chain(ps, ps->chain.at[i]) = i + 1;
    if (c.own == 0 || is_full(&ps->chains, ps->chain.n))
        return c.up;
    uint32_t *slot = find_chain(ps, c);
    if (*slot)
        return *slot;
    if (!vec_push(cx, &ps->chain, c))
        return c.up;
    return *slot = (uint32_t)ps->chain.n;
}

/* The stack is walked outermost first, by reversing the list in place for a moment, from w up to
 * `end` and in front of `back`: calls nest deeper than C should. */
static Where *reversed(Where *w, const Where *end, Where *back)
{
    while (w != end) {
        Where *up = w->up;
        w->up = back;
        back = w;
        w = up;
    }
    return back;
}

/* Only records that are new on the stack are looked up: what is around them was, by an earlier
 * node. */
SourceId where_intern(Ctx *cx)
{
    keep_begin(cx);
    Places *ps = places(cx);
    Where *known = cx->at;
    for (; known; known = known->up)
        if (known->round == ps->round)
            break;
    SourceId id = known ? known->id : 0;
    Where *outer = reversed(cx->at, known, NULL);
    for (Where *w = outer; w; w = w->up) {
        Place own = { w->name, w->type, w->text, w->start, w->end, w->kind };
        id = chain_intern(cx, ps, (Chain){ id, place_intern(cx, ps, &own) });
        w->id = id;
        w->round = ps->round;
    }
    reversed(outer, NULL, known);
    keep_end(cx);
    return id;
}

static const Chain *chain(Ctx *cx, SourceId id)
{
    return id && cx->places && id <= cx->places->chain.n ? &cx->places->chain.at[id - 1] : NULL;
}

const Place *place(Ctx *cx, SourceId id)
{
    const Chain *c = chain(cx, id);
    return c ? &cx->places->at.at[c->own - 1] : NULL;
}

const Place *place_up(Ctx *cx, SourceId *id)
{
    const Chain *c = chain(cx, *id);
    *id = c ? c->up : 0;
    return place(cx, *id);
}

static Str innermost(Ctx *cx, SourceId id, WhereKind kind)
{
    if (!cx->places || !(cx->places->kinds & 1u << kind))
        return NULL;
    for (const Place *p = place(cx, id); p; p = place_up(cx, &id))
        if (p->kind == kind)
            return p->name;
    return NULL;
}

Str place_module(Ctx *cx, SourceId id) { return innermost(cx, id, WHERE_MODULE); }
Str place_names(Ctx *cx, SourceId id) { return innermost(cx, id, WHERE_NAMES); }
Str place_calls(Ctx *cx, SourceId id) { return innermost(cx, id, WHERE_CALLS); }

/* ---- positions ---- */

enum { LINE_BLOCK = 1024 };

static uint32_t count_lines(const char *at, size_t n)
{
    uint32_t lines = 0;
    const char *end = at + n;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline)
            break;
        lines++;
        at = newline + 1;
    }
    return lines;
}

/* NULL when there is no memory. Counted once per text: places come in any order, branches and
 * bodies before what is around them. */
static const uint32_t *lines_of(Ctx *cx, const Text *t)
{
    Places *p = places(cx);
    uint32_t *before = map_get(&p->lines, t);
    if (before)
        return before;
    keep_begin(cx);
    before = new_array(cx, uint32_t, t->n / LINE_BLOCK + 1);
    if (before) {
        for (size_t i = 1; i <= t->n / LINE_BLOCK; i++)
            before[i] = before[i - 1] + count_lines(t->at + (i - 1) * LINE_BLOCK, LINE_BLOCK);
        map_put(cx, &p->lines, t, before);
    }
    keep_end(cx);
    return before;
}

/* The number of the line that `from` lies in. */
static uint32_t line_at(Ctx *cx, const Text *t, size_t from)
{
    const uint32_t *before = lines_of(cx, t);
    size_t block = from / LINE_BLOCK;
    return before ? 1 + before[block] + count_lines(t->at + block * LINE_BLOCK, from % LINE_BLOCK)
                  : 1;
}

static size_t line_start(const Text *t, size_t at)
{
    const char *newline = sys_find_last(t->at, at, '\n');
    return newline ? (size_t)(newline - t->at) + 1 : 0;
}

/* Line and column of [start, end) in the text itself; columns count characters, not bytes. */
static bool pos_in_text(Ctx *cx, const Text *t, uint32_t start, uint32_t end, Pos *out)
{
    size_t from = line_start(t, start);
    const char *newline = memchr(t->at + start, '\n', t->n - start);
    size_t to = newline ? (size_t)(newline - t->at) : t->n;
    *out = (Pos){ .file = t->name,
                  .line = line_at(cx, t, from),
                  .col = 1,
                  .source = str_n(cx, t->at + from, to - from) };
    for (size_t i = from; i < to && i < end; i++) {
        bool starts = ((unsigned char)t->at[i] & 0xc0) != 0x80;
        out->col += starts && i < start;
        out->len += starts && i >= start;
    }
    return true;
}

static bool own_pos(Ctx *cx, const Place *p, Pos *out, bool line_only)
{
    const Text *t = p->text;
    if (!t)
        return false;
    if (t->locate && t->locate(cx, t, p->start, p->end, out))
        return true;
    if (!t->at || p->start > t->n)
        return false;
    if (!line_only)
        return pos_in_text(cx, t, p->start, p->end, out);
    *out = (Pos){ .file = t->name, .line = line_at(cx, t, p->start) };
    return true;
}

bool place_own_pos(Ctx *cx, const Place *p, Pos *out) { return own_pos(cx, p, out, false); }

static bool innermost_pos(Ctx *cx, SourceId id, Pos *out, bool line_only)
{
    for (const Place *p = place(cx, id); p; p = place_up(cx, &id))
        if (own_pos(cx, p, out, line_only))
            return true;
    return false;
}

bool place_pos(Ctx *cx, SourceId id, Pos *out) { return innermost_pos(cx, id, out, false); }
bool place_line(Ctx *cx, SourceId id, Pos *out) { return innermost_pos(cx, id, out, true); }

/* ---- failing ---- */

static Str text_of(Ctx *cx, const char *fmt, va_list ap)
{
    char text[2048];
    int n = vsnprintf(text, sizeof text, fmt, ap);
    if (n < 0)
        n = 0;
    return str_n(cx, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

/* The first error wins. The code is set first: what follows may run out of memory and fail
 * again. */
static void record(Ctx *cx, SourceId at, const char *file, int line, ErrorCode code,
                   const char *fmt, va_list ap)
{
    if (ctx_failed(cx)) {
        cx->error.latest = false;
        return;
    }
    cx->error = (Error){ .code = code,
                         .our_file = file,
                         .our_line = line,
                         .latest = true,
                         .final = code == E_MEMORY || code == E_IO };
    cx->error.at = at ? at : where_intern(cx);
    cx->error.text = text_of(cx, fmt, ap);
}

bool fail_here(Ctx *cx, const char *file, int line, ErrorCode code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    record(cx, 0, file, line, code, fmt, ap);
    va_end(ap);
    return false;
}

bool fail_at(Ctx *cx, SourceId id, ErrorCode code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    record(cx, id, NULL, 0, code, fmt, ap);
    va_end(ap);
    return false;
}

void fail_arose_at(Ctx *cx, SourceId id)
{
    if (ctx_failed(cx) && !cx->error.at)
        cx->error.at = id;
}

void fail_is_theirs(Ctx *cx, Str where)
{
    if (cx->error.code != E_BUG)
        return;
    cx->error.code = E_USAGE;
    cx->error.text = str_fmt(cx, "%s: %s", where->s, cx->error.text->s);
}

bool fail_types(Ctx *cx, const char *fmt, ...)
{
    bool first = !ctx_failed(cx);
    va_list ap;
    va_start(ap, fmt);
    record(cx, 0, NULL, 0, E_BUG, fmt, ap);
    va_end(ap);
    cx->error.types |= first;
    return false;
}

void fail_types_are_given(Ctx *cx)
{
    if (!cx->error.types || cx->error.code != E_BUG)
        return;
    cx->error.code = E_UNSUPPORTED;
    cx->error.text = str_fmt(cx, "tensors of these types do not go together here: %s",
                             cx->error.text->s);
}

void fail_is_final(Ctx *cx) { cx->error.final = ctx_failed(cx); }

void fail_hint(Ctx *cx, const char *fmt, ...)
{
    if (!ctx_failed(cx) || !cx->error.latest || cx->error.hint)
        return;
    va_list ap;
    va_start(ap, fmt);
    cx->error.hint = text_of(cx, fmt, ap);
    va_end(ap);
}

/* No machine has as much of anything, so there is nothing to try. */
#define MOST_ANYWHERE ((uint64_t)1 << 47)

bool limit_ok(Ctx *cx, int limit, uint64_t n, const char *what)
{
    static const char *const names[] = {
#define X(id, name, deflt, why) name,
        PT2ONNX_LIMITS(X)
#undef X
    };
    if (n <= (uint64_t)cx->limit[limit])
        return true;
    fail(cx, E_LIMIT, "%llu %s are over the limit of %lld", (unsigned long long)n, what,
         (long long)cx->limit[limit]);
    fail_is_final(cx);
    if (n < MOST_ANYWHERE)
        fail_hint(cx, "--limit %s=%llu, if you trust the file", names[limit],
                  (unsigned long long)n);
    return false;
}

static uint32_t *find_refusal(const Ctx *cx, const Numbers *t, const Refusal *r)
{
    uint64_t h = hash_also(r->at, (uintptr_t)r->op);
    size_t i = hash_also(h, (uintptr_t)r->text) & (t->nslot - 1);
    for (; t->slot[i]; i = (i + 1) & (t->nslot - 1)) {
        const Refusal *at = &cx->refusals.at[t->slot[i] - 1];
        if (at->op == r->op && at->at == r->at && at->text == r->text)
            break;
    }
    return &t->slot[i];
}

/* Adds a refusal that is not there already. */
static void add_refusal(Ctx *cx, Numbers *t, Refusal r)
{
    if (is_full(t, cx->refusals.n) && grow(cx, t))
        for (uint32_t i = 0; i < cx->refusals.n; i++)
            *find_refusal(cx, t, &cx->refusals.at[i]) = i + 1;
    if (is_full(t, cx->refusals.n))
        return;
    uint32_t *slot = find_refusal(cx, t, &r);
    if (!*slot && vec_push(cx, &cx->refusals, r))
        *slot = (uint32_t)cx->refusals.n;
}

void refuse(Ctx *cx, SourceId id, Str op, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    Str text = text_of(cx, fmt, ap);
    va_end(ap);
    keep_begin(cx);
    add_refusal(cx, &places(cx)->refusals, (Refusal){ .op = op, .at = id, .text = text });
    keep_end(cx);
}

/* From the last one on: a slot of the table that is free again is then in nobody's way, for all
 * that came behind it are gone. */
void refusals_forget(Ctx *cx, size_t from)
{
    for (; cx->refusals.n > from; cx->refusals.n--) {
        const Refusal *last = &cx->refusals.at[cx->refusals.n - 1];
        *find_refusal(cx, &places(cx)->refusals, last) = 0;
    }
}

void refuse_unreached(Ctx *cx, SourceId id, Str op, const char *why)
{
    size_t n = cx->refusals.n;
    refuse(cx, id, op, "%s", why);
    if (cx->refusals.n > n)
        cx->refusals.at[n].unreached = true;
}

void refuse_hint(Ctx *cx, const char *fmt, ...)
{
    if (cx->refusals.n == 0 || cx->refusals.at[cx->refusals.n - 1].hint)
        return;
    va_list ap;
    va_start(ap, fmt);
    cx->refusals.at[cx->refusals.n - 1].hint = text_of(cx, fmt, ap);
    va_end(ap);
}

void refuse_opset(Ctx *cx, int opset)
{
    refuse_hint(cx, "--opset %d", opset);
    if (cx->refusals.n)
        cx->refusals.at[cx->refusals.n - 1].opset = opset;
}

bool refusals_fail(Ctx *cx)
{
    if (cx->refusals.n == 0)
        return !ctx_failed(cx);
    return fail_at(cx, cx->refusals.at[0].at, E_UNSUPPORTED,
                   "%zu operator call%s cannot be converted", cx->refusals.n,
                   cx->refusals.n == 1 ? "" : "s");
}

/* The kinds of the notes that have this text, a bit each. */
static uintptr_t kinds_of(const Ctx *cx, Str text) { return (uintptr_t)map_get(&cx->noted, text); }

static void know_note(Ctx *cx, Note n)
{
    map_put(cx, &cx->noted, n.text, (void *)(kinds_of(cx, n.text) | (uintptr_t)1 << n.kind));
}

/* A note that is there already is not added again. One that is made while keeping (keep_begin)
 * survives restarts: it stands before all that do not, and kept_notes counts it. */
void note(Ctx *cx, NoteKind kind, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    Note added = { kind, text_of(cx, fmt, ap) };
    va_end(ap);
    if (kinds_of(cx, added.text) >> kind & 1)
        return;
    bool kept = cx->keeping > 0;
    keep_begin(cx);
    know_note(cx, added);
    bool pushed = vec_push(cx, &cx->notes, added);
    keep_end(cx);
    if (!kept || !pushed)
        return;
    Note *at = cx->notes.at + cx->kept_notes;
    memmove(at + 1, at, (cx->notes.n - 1 - cx->kept_notes) * sizeof *at);
    *at = added; /* before those that a restart forgets */
    cx->kept_notes++;
}

void notes_keep(Ctx *cx, size_t first, unsigned kinds)
{
    size_t n = 0;
    map_clear(&cx->noted);
    for (size_t i = 0; i < cx->notes.n; i++) {
        Note at = cx->notes.at[i];
        if (i >= first && !(kinds >> at.kind & 1))
            continue;
        know_note(cx, at);
        cx->notes.at[n++] = at;
    }
    cx->notes.n = n;
}

int error_exit_code(ErrorCode code)
{
    switch (code) {
    case E_NONE:        return 0;
    case E_VALUE:
    case E_UNSUPPORTED:
    case E_UNDECIDED:   return 1;
    case E_USAGE:       return 2;
    case E_FORMAT:
    case E_LIMIT:
    case E_IO:
    case E_MEMORY:      return 3;
    case E_BUG:
    case E_RESTART:     return 4;
    }
    return 4;
}
