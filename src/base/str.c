/* str.c - interned strings, and text that grows. */
#include "base/internal.h"

/* The hash beside the number: strings that are not the one looked for are not touched, nor those
 * that move. */
typedef struct StrSlot {
    uint32_t hash, id;
} StrSlot;
typedef struct StrSeen {
    Str s;
    uint32_t hash;
} StrSeen;

typedef struct Interner {
    StrSlot *slot;
    size_t nslot, n;
    Str *at;           /* number n is at[n - 1]; room for as many as slots may be full */
    StrSeen seen[256]; /* by hash, those met last: the words of a text come in flocks, and the table
                          is large */
    Str empty;
} Interner;

static const size_t STR_MAX = UINT32_MAX;

static struct StrRec *str_make(Ctx *cx, const void *text, size_t n)
{
    struct StrRec *s = mem_dense(cx, sizeof *s + n + 1);
    if (!s)
        return NULL;
    s->len = (uint32_t)n;
    memcpy(s->s, text, n);
    return s;
}

/* Memory straight from the arena: an error needs strings, which are only being made here. */
bool strings_init(Ctx *cx)
{
    struct StrRec *empty = arena_alloc(cx->keep, sizeof *empty + 1);
    cx->strings = arena_alloc(cx->keep, sizeof *cx->strings);
    cx->strings->empty = empty;
    return !arena_spent(cx->keep);
}

static bool is_text(Str s, const void *text, size_t n)
{
    return s->len == n && memcmp(s->s, text, n) == 0;
}

static StrSlot *find_slot(const Interner *in, const void *text, size_t n, uint32_t hash)
{
    size_t i = hash & (in->nslot - 1);
    for (; in->slot[i].id; i = (i + 1) & (in->nslot - 1)) {
        const StrSlot *s = &in->slot[i];
        if (s->hash == hash && is_text(in->at[s->id - 1], text, n))
            break;
    }
    return &in->slot[i];
}

static StrSlot *free_slot(const Interner *in, uint32_t hash)
{
    size_t i = hash & (in->nslot - 1);
    while (in->slot[i].id)
        i = (i + 1) & (in->nslot - 1);
    return &in->slot[i];
}

/* At most three quarters full: there are many strings, and most slots are not looked at twice. */
static size_t room_of(size_t nslot) { return nslot / 4 * 3; }

/* An error on the way makes strings itself: behind it the tables have grown, or memory has run
 * out. */
static bool grow(Ctx *cx, Interner *in)
{
    if (in->n < room_of(in->nslot))
        return true;
    size_t nslot = in->nslot ? in->nslot * 2 : 1024;
    StrSlot *slot = new_array(cx, StrSlot, nslot);
    Str *at = new_array(cx, Str, room_of(nslot));
    Interner old = *in;
    if (!slot || !at || old.nslot >= nslot || nslot > UINT32_MAX)
        return old.n < room_of(old.nslot);
    in->slot = slot;
    in->nslot = nslot;
    in->at = at;
    if (old.n)
        memcpy(at, old.at, old.n * sizeof *at);
    for (size_t i = 0; i < old.nslot; i++)
        if (old.slot[i].id)
            *free_slot(in, old.slot[i].hash) = old.slot[i];
    mem_give(cx, old.slot, old.nslot * sizeof *slot);
    mem_give(cx, old.at, room_of(old.nslot) * sizeof *at);
    return true;
}

/* The text's own record, numbered; the empty string when there is no memory. */
static Str add(Ctx *cx, Interner *in, const void *text, size_t n, uint32_t hash)
{
    struct StrRec *s = str_make(cx, text, n);
    if (!s || !grow(cx, in)) /* the strings of an error may have filled it meanwhile */
        return in->empty;
    in->at[in->n++] = s;
    s->id = (uint32_t)in->n;
    *free_slot(in, hash) = (StrSlot){ hash, s->id };
    return s;
}

static Str intern(Ctx *cx, const void *text, size_t n)
{
    Interner *in = cx->strings;
    uint32_t hash = (uint32_t)hash_bytes(text, n, 0);
    StrSeen *seen = &in->seen[hash % COUNT(in->seen)];
    if (seen->s && seen->hash == hash && is_text(seen->s, text, n))
        return seen->s;
    if (!grow(cx, in))
        return in->empty;
    const StrSlot *slot = find_slot(in, text, n, hash);
    Str s = slot->id ? in->at[slot->id - 1] : add(cx, in, text, n, hash);
    if (s != in->empty)
        *seen = (StrSeen){ s, hash };
    return s;
}

Str str_n(Ctx *cx, const void *text, size_t n)
{
    if (n == 0)
        return cx->strings->empty;
    if (n > STR_MAX - sizeof(struct StrRec) - 1) {
        fail(cx, E_LIMIT, "a string of %zu bytes is too long", n);
        return cx->strings->empty;
    }
    keep_begin(cx);
    Str s = intern(cx, text, n);
    keep_end(cx);
    return s;
}

Str str_of(Ctx *cx, const char *text) { return str_n(cx, text, strlen(text)); }

/* Text of up to 255 bytes is formatted once, longer text a second time into the arena. Without
 * memory for it, the text is cut off: the context has failed then. */
Str str_fmt(Ctx *cx, const char *fmt, ...)
{
    char small[256];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    if (n < 0)
        n = 0;
    if ((size_t)n < sizeof small)
        return str_n(cx, small, (size_t)n);
    char *text = mem_array(cx, (size_t)n + 1, 1);
    if (!text)
        return str_n(cx, small, sizeof small - 1);
    va_start(ap, fmt);
    vsnprintf(text, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return str_n(cx, text, (size_t)n);
}

Str str_cat(Ctx *cx, const char *a, const char *b, const char *c)
{
    char small[256], *end = small;
    const char *parts[] = { a, b, c };
    for (int i = 0; i < 3; i++) {
        size_t n = strlen(parts[i]);
        if (n >= sizeof small - (size_t)(end - small))
            return str_fmt(cx, "%s%s%s", a, b, c);
        memcpy(end, parts[i], n);
        end += n;
    }
    return str_n(cx, small, (size_t)(end - small));
}

bool str_starts(Str s, const char *prefix)
{
    size_t n = strlen(prefix);
    return s && n <= s->len && memcmp(s->s, prefix, n) == 0;
}

bool str_ends(Str s, const char *suffix)
{
    size_t n = strlen(suffix);
    return s && n <= s->len && memcmp(s->s + s->len - n, suffix, n) == 0;
}

/* ---- text that grows ---- */

Buf buf_new(Ctx *cx) { return (Buf){ .cx = cx }; }

static bool buf_room(Buf *b, size_t more)
{
    if (more < b->cap - b->n) /* one stays for the final NUL */
        return true;
    size_t cap = b->cap ? b->cap : 128;
    while (cap - b->n <= more) {
        if (cap > SIZE_MAX / 2)
            return false;
        cap *= 2;
    }
    char *s = mem_grow(b->cx, b->s, b->cap, cap, 1);
    if (!s)
        return false;
    b->s = s;
    b->cap = cap;
    return true;
}

void buf_add(Buf *b, const void *p, size_t n)
{
    if (n == 0 || !buf_room(b, n))
        return;
    memcpy(b->s + b->n, p, n);
    b->n += n;
    b->s[b->n] = 0;
}

void buf_fill(Buf *b, char c, size_t n)
{
    if (n == 0 || !buf_room(b, n))
        return;
    memset(b->s + b->n, c, n);
    b->n += n;
    b->s[b->n] = 0;
}

void buf_str(Buf *b, const char *s) { buf_add(b, s, strlen(s)); }

void buf_fmt(Buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n <= 0 || !buf_room(b, (size_t)n))
        return;
    va_start(ap, fmt);
    vsnprintf(b->s + b->n, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->n += (size_t)n;
}

Str buf_done(Buf *b) { return str_n(b->cx, b->s, b->n); }
