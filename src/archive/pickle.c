/* pickle.c - the subset of pickle protocol 2 that torch writes, as plain data.
 *
 * Nothing is ever imported or called: GLOBAL, REDUCE and NEWOBJ build records that front/ may
 * recognise; a class that the caller does not expect is an error naming it. The writer of
 * TorchScript archives puts a value into the memo once it is complete; Python's own puts lists and
 * dicts there first and fills them afterwards, so a stream can describe a cycle: that is looked for
 * when all is read. */
#include "archive/archive.h"

enum { SMALL_INTS = 128, SEEN_TEXTS = 256, SEEN_TUPLES = 256 };

typedef VEC(Pickle *) Pickles;

typedef struct Reader {
    Ctx *cx;
    Cursor c;
    const char *const *allowed;
    Pickles stack, memo;
    VEC(size_t) marks;
    Map classes; /* the two lines of a GLOBAL -> the Pickle that it gave before */
    /* of values that come by the thousand, one each; empty: a dict that nothing is added to */
    Pickle *none, *yes, *no, *empty, *small[SMALL_INTS];
    Pickle *seen[SEEN_TEXTS];   /* the strings met last, by their number: "cpu", "weight", "bias" */
    Pickle *tuple[SEEN_TUPLES]; /* the tuples of ints met last: sizes, strides, () */
    uint32_t first, made;       /* the number of the first value, and how many there are */
} Reader;

static bool bad(Reader *r, const char *what)
{
    return fail(r->cx, E_FORMAT, "byte %zu of the pickle: %s", r->c.at, what);
}

/* ---- values and the stack ---- */

Pickle *pickle_new(Ctx *cx, PickleTag tag, uint32_t id)
{
    size_t bytes = offsetof(Pickle, s) + sizeof(Str);
    if (tag == P_TUPLE || tag == P_LIST || tag == P_DICT || tag == P_GLOBAL)
        bytes = offsetof(Pickle, global.name) + sizeof(Str);
    else if (tag == P_OBJECT)
        bytes = offsetof(Pickle, made);
    else if (tag == P_CALL)
        bytes = sizeof(Pickle);
    Pickle *p = new_part(cx, Pickle, bytes);
    p->tag = tag;
    p->id = id;
    return p;
}

static Pickle *make(Reader *r, PickleTag tag)
{
    if (!limit_ok(r->cx, LIMIT_OBJECTS, (uint64_t)r->made + 1, "pickled values"))
        return NULL;
    return pickle_new(r->cx, tag, r->first + r->made++);
}

static bool push(Reader *r, Pickle *p) { return p && vec_push(r->cx, &r->stack, p); }

/* How many values lie above the last mark. */
static size_t above_mark(const Reader *r)
{
    return r->stack.n - (r->marks.n ? r->marks.at[r->marks.n - 1] : 0);
}

static bool pop(Reader *r, Pickle **out)
{
    if (above_mark(r) == 0)
        return bad(r, "nothing is on the stack");
    *out = r->stack.at[--r->stack.n];
    return true;
}

static bool push_none(Reader *r)
{
    if (!r->none)
        r->none = make(r, P_NONE);
    return push(r, r->none);
}

static bool push_int(Reader *r, int64_t v)
{
    bool small = v >= 0 && v < SMALL_INTS;
    if (small && r->small[v])
        return push(r, r->small[v]);
    Pickle *p = make(r, P_INT);
    if (p)
        p->i = v;
    if (small)
        r->small[v] = p;
    return push(r, p);
}

static bool push_bool(Reader *r, bool v)
{
    Pickle **p = v ? &r->yes : &r->no;
    if (!*p && (*p = make(r, P_BOOL)))
        (*p)->b = v;
    return push(r, *p);
}

static bool push_float(Reader *r, double v)
{
    Pickle *p = make(r, P_FLOAT);
    if (p)
        p->f = v;
    return push(r, p);
}

/* ---- sequences ---- */

/* Room grows by doubling, and is known from n alone: the power of two at or above it, at least
 * 4. */
static size_t room_for(size_t n)
{
    size_t room = 4;
    while (room < n)
        room *= 2;
    return room;
}

static bool seq_extend(Reader *r, Pickle *p, Pickle *const *items, size_t n)
{
    if (n == 0)
        return true;
    size_t all = p->seq.n + n;
    if (p->seq.n == 0 || all > room_for(p->seq.n)) {
        Pickle **at = new_array(r->cx, Pickle *,
                                p->tag == P_TUPLE ? all : room_for(all)); /* a tuple never grows */
        if (!at)
            return false;
        if (p->seq.n)
            memcpy(at, p->seq.at, p->seq.n * sizeof *at);
        p->seq.at = at;
    }
    memcpy(p->seq.at + p->seq.n, items, n * sizeof *items);
    p->seq.n = all;
    return true;
}

static Pickle *const *top_values(const Reader *r, size_t n)
{
    return n ? &r->stack.at[r->stack.n - n] : NULL;
}

/* A new sequence of the top n values. NULL after an error. */
static Pickle *sequence(Reader *r, PickleTag tag, size_t n)
{
    Pickle *p = make(r, tag);
    return p && seq_extend(r, p, top_values(r, n), n) ? p : NULL;
}

/* Where a tuple of the top n values is kept, or another one of the same hash, or none. NULL: they
 * are not ints alone. */
static Pickle **place_of_ints(Reader *r, size_t n)
{
    Pickle *const *top = top_values(r, n);
    uint64_t hash = n;
    for (size_t i = 0; i < n; i++) {
        if (top[i]->tag != P_INT)
            return NULL;
        hash = hash_also(hash, (uint64_t)top[i]->i);
    }
    return &r->tuple[hash % SEEN_TUPLES];
}

static bool are_ints_of(const Pickle *tuple, Pickle *const *items, size_t n)
{
    if (!tuple || tuple->seq.n != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (tuple->seq.at[i]->i != items[i]->i)
            return false;
    return true;
}

/* A tuple of the top n values: one of the same ints that was met before, or a new one. */
static Pickle *tuple_of(Reader *r, size_t n)
{
    Pickle **seen = place_of_ints(r, n);
    if (!seen)
        return sequence(r, P_TUPLE, n);
    if (!are_ints_of(*seen, top_values(r, n), n))
        *seen = sequence(r, P_TUPLE, n);
    return *seen;
}

/* The top n values as one sequence. */
static bool gather(Reader *r, PickleTag tag, size_t n)
{
    if (above_mark(r) < n)
        return bad(r, "too few values are on the stack");
    Pickle *p = tag == P_TUPLE ? tuple_of(r, n) : sequence(r, tag, n);
    if (!p)
        return false;
    r->stack.n -= n;
    return push(r, p);
}

/* The number of values above the mark; the mark is taken away. */
static bool take_mark(Reader *r, size_t *n)
{
    if (r->marks.n == 0)
        return bad(r, "there is no mark");
    *n = above_mark(r);
    r->marks.n--;
    return true;
}

static bool gather_marked(Reader *r, PickleTag tag)
{
    size_t n;
    if (!take_mark(r, &n))
        return false;
    if (tag == P_DICT && n % 2)
        return bad(r, "a dict has a key without a value");
    return gather(r, tag, n);
}

/* The top n values go into the list or dict under them. */
static bool add_items(Reader *r, PickleTag tag, size_t n)
{
    if (above_mark(r) < n + 1)
        return bad(r, "too few values are on the stack");
    Pickle *into = r->stack.at[r->stack.n - n - 1];
    if (into->tag != tag)
        return bad(r,
                   tag == P_LIST ? "items are added to what is no list"
                                 : "items are added to what is no dict");
    if (tag == P_DICT && n % 2)
        return bad(r, "a dict has a key without a value");
    if (!seq_extend(r, into, top_values(r, n), n))
        return false;
    r->stack.n -= n;
    return true;
}

static bool add_marked(Reader *r, PickleTag tag)
{
    size_t n;
    return take_mark(r, &n) && add_items(r, tag, n);
}

/* ---- strings, the memo ---- */

static bool read_text(Reader *r)
{
    uint32_t n = cur_u32(&r->c);
    Slice s = cur_take(&r->c, n);
    if (r->c.failed)
        return true; /* the loop says that the pickle is cut short */
    Str text = str_n(r->cx, s.p, s.n);
    Pickle **seen = &r->seen[text->id % SEEN_TEXTS];
    if (*seen && (*seen)->s == text)
        return push(r, *seen);
    Pickle *p = *seen = make(r, P_STR);
    if (p)
        p->s = text;
    return push(r, p);
}

static bool read_long(Reader *r)
{
    size_t n = cur_u8(&r->c);
    Slice s = cur_take(&r->c, n);
    if (n > 8)
        return bad(r, "an integer of more than 64 bits");
    uint64_t v = n > 0 && s.p && s.p[n - 1] & 0x80 ? UINT64_MAX : 0;
    for (size_t i = s.n; i-- > 0;)
        v = v << 8 | s.p[i];
    return push_int(r, (int64_t)v);
}

/* Both writers number from 0 without gaps, so an index beyond the next free one is a lie about
 * memory. */
static bool memo_put(Reader *r, uint32_t i)
{
    if (r->c.failed)
        return true;
    if (above_mark(r) == 0)
        return bad(r, "nothing is on the stack");
    Pickle *top = r->stack.at[r->stack.n - 1];
    if (i > r->memo.n)
        return bad(r, "a memo number leaves a gap");
    if (i == r->memo.n)
        return vec_push(r->cx, &r->memo, top);
    r->memo.at[i] = top;
    return true;
}

static bool memo_get(Reader *r, uint32_t i)
{
    if (i >= r->memo.n)
        return bad(r, "a memo number that was never set");
    return push(r, r->memo.at[i]);
}

/* ---- classes ---- */

static bool is_allowed(const Reader *r, Str name)
{
    if (!r->allowed)
        return true;
    for (const char *const *p = r->allowed; *p; p++) {
        size_t n = strlen(*p);
        if (n > 0 && (*p)[n - 1] == '*' ? name->len >= n - 1 && memcmp(name->s, *p, n - 1) == 0
                                        : str_is(name, *p))
            return true;
    }
    return false;
}

static bool take_line(Reader *r, Slice *out)
{
    const uint8_t *from = r->c.base + r->c.at;
    const uint8_t *end = cur_left(&r->c) ? memchr(from, '\n', cur_left(&r->c)) : NULL;
    if (!end)
        return bad(r, "a class name without an end");
    *out = cur_take(&r->c, (size_t)(end - from));
    cur_u8(&r->c);
    return limit_ok(r->cx, LIMIT_NAME, out->n, "bytes in a class name");
}

static bool push_global(Reader *r, Str module, Str name)
{
    Pickle *p = make(r, P_GLOBAL);
    if (!p)
        return false;
    p->global.module = module;
    p->global.name = name;
    return push(r, p);
}

/* The same few classes are named thousands of times; each is looked at once. */
static bool read_global(Reader *r)
{
    Slice module, name;
    if (!take_line(r, &module) || !take_line(r, &name))
        return false;
    Str lines = str_n(r->cx, module.p, module.n + 1 + name.n);
    Pickle *known = map_get(&r->classes, lines);
    if (known)
        return push(r, known);
    Str both = str_fmt(r->cx, "%.*s %.*s", (int)module.n, (const char *)module.p, (int)name.n,
                       (const char *)name.p);
    if (!is_allowed(r, both))
        return fail(r->cx, E_FORMAT,
                    "the pickle names the class %.*s.%.*s, which such a file does not hold",
                    (int)module.n, (const char *)module.p, (int)name.n, (const char *)name.p);
    if (!push_global(r, str_n(r->cx, module.p, module.n), str_n(r->cx, name.p, name.n)))
        return false;
    map_put(r->cx, &r->classes, lines, r->stack.at[r->stack.n - 1]);
    return true;
}

static bool is_ordered_dict(const Pickle *fn, const Pickle *args)
{
    return str_is(fn->global.module, "collections") && str_is(fn->global.name, "OrderedDict") &&
        args->tag == P_TUPLE && args->seq.n == 0;
}

/* The hooks of a tensor: an empty dict that goes into a tuple at once, so nobody can reach it to
 * add to it. There is one for each tensor. */
static bool push_empty(Reader *r)
{
    if (!r->empty)
        r->empty = make(r, P_DICT);
    return push(r, r->empty);
}

/* class, args -> a record of the call. */
static bool read_call(Reader *r, PickleTag tag)
{
    Pickle *fn, *args;
    if (!pop(r, &args) || !pop(r, &fn))
        return false;
    if (fn->tag != P_GLOBAL)
        return bad(r, "what is called is no class");
    if (is_ordered_dict(fn, args) && cur_left(&r->c) && r->c.base[r->c.at] == 't')
        return push_empty(r);
    Pickle *p = make(r, is_ordered_dict(fn, args) ? P_DICT : tag);
    if (p && p->tag != P_DICT) {
        p->fn = fn;
        p->args = args;
    }
    return push(r, p);
}

static bool read_build(Reader *r)
{
    Pickle *state;
    if (!pop(r, &state))
        return false;
    if (above_mark(r) == 0)
        return bad(r, "nothing is on the stack");
    Pickle *p = r->stack.at[r->stack.n - 1];
    if (p->tag == P_DICT)
        return true; /* torch's state_dict()._metadata */
    if (p->tag != P_OBJECT && p->tag != P_CALL)
        return bad(r, "state is set on what is no object");
    p->state = state;
    return true;
}

static bool read_persistent(Reader *r)
{
    Pickle *pid;
    if (!pop(r, &pid))
        return false;
    Pickle *p = make(r, P_PERSISTENT);
    if (p)
        p->pid = pid;
    return push(r, p);
}

/* ---- the machine ---- */

/* One opcode: those that torch.save writes, and no other. False after an error. */
static bool step(Reader *r, uint8_t op)
{
    switch (op) {
    case '(':  return vec_push(r->cx, &r->marks, r->stack.n);
    case 'N':  return push_none(r);
    case 0x88: return push_bool(r, true);
    case 0x89: return push_bool(r, false);
    case 'K':  return push_int(r, cur_u8(&r->c));
    case 'M':  return push_int(r, cur_u16(&r->c));
    case 'J':  return push_int(r, (int32_t)cur_u32(&r->c));
    case 0x8a: return read_long(r);
    case 'G':  return push_float(r, cur_f64be(&r->c));
    case 'X':  return read_text(r);
    case ')':  return gather(r, P_TUPLE, 0);
    case 0x85: return gather(r, P_TUPLE, 1);
    case 0x86: return gather(r, P_TUPLE, 2);
    case 0x87: return gather(r, P_TUPLE, 3);
    case 't':  return gather_marked(r, P_TUPLE);
    case ']':  return gather(r, P_LIST, 0);
    case 'l':  return gather_marked(r, P_LIST);
    case 'a':  return add_items(r, P_LIST, 1);
    case 'e':  return add_marked(r, P_LIST);
    case '}':  return gather(r, P_DICT, 0);
    case 'd':  return gather_marked(r, P_DICT);
    case 's':  return add_items(r, P_DICT, 2);
    case 'u':  return add_marked(r, P_DICT);
    case 'c':  return read_global(r);
    case 'R':  return read_call(r, P_CALL);
    case 0x81: return read_call(r, P_OBJECT);
    case 'b':  return read_build(r);
    case 'Q':  return read_persistent(r);
    case 'q':  return memo_put(r, cur_u8(&r->c));
    case 'r':  return memo_put(r, cur_u32(&r->c));
    case 'h':  return memo_get(r, cur_u8(&r->c));
    case 'j':  return memo_get(r, cur_u32(&r->c));
    }
    return fail(r->cx, E_FORMAT,
                "byte %zu of the pickle: opcode 0x%02x is not one that torch writes", r->c.at - 1,
                op);
}

/* The whole pickle: protocol 2, and exactly one value left on the stack at the end. */
static Pickle *run(Reader *r)
{
    if (cur_u8(&r->c) != 0x80 || cur_u8(&r->c) != 2) {
        fail(r->cx, E_FORMAT, "this is no pickle of protocol 2");
        return NULL;
    }
    for (;;) {
        uint8_t op = cur_u8(&r->c);
        if (r->c.failed)
            return bad(r, "it is cut short"), NULL;
        if (op == '.')
            break;
        if (!step(r, op) || ctx_failed(r->cx))
            return NULL;
    }
    if (r->stack.n != 1 || r->marks.n != 0 || cur_left(&r->c) != 0)
        return bad(r, "it does not end with one value"), NULL;
    return r->stack.at[0];
}

/* ---- what a stream of bytes can be, but no file of ours ---- */

/* The parts of a CALL or an OBJECT, as they are walked; NULL behind the last. */
static Pickle *called_part(const Pickle *p, size_t i)
{
    Pickle *const parts[] = { p->fn, p->args, p->state };
    return i < COUNT(parts) ? parts[i] : NULL;
}

static Pickle *child(const Pickle *p, size_t i)
{
    switch (p->tag) {
    case P_TUPLE:
    case P_LIST:
    case P_DICT:       return i < p->seq.n ? p->seq.at[i] : NULL;
    case P_CALL:
    case P_OBJECT:     return called_part(p, i);
    case P_PERSISTENT: return i == 0 ? p->pid : NULL;
    default:           return NULL;
    }
}

/* Depth first with a stack of our own. state[id - first]: 0 new, 1 open, otherwise 1 + the height
 * of what hangs below. */
static bool check_shape(Reader *r, Pickle *root)
{
    typedef struct {
        Pickle *p;
        size_t next;
    } Open;
    VEC(Open) open = { 0 };
    uint32_t *state = new_array(r->cx, uint32_t, r->made);
    if (!state || !vec_push(r->cx, &open, (Open){ root, 0 }))
        return false;
    state[root->id - r->first] = 1;
    while (open.n > 0) {
        Open *top = &open.at[open.n - 1];
        Pickle *kid = child(top->p, top->next);
        if (!kid) {
            uint32_t height = 2;
            for (size_t i = 0; i < top->next; i++) {
                uint32_t around = state[child(top->p, i)->id - r->first] + 1;
                height = around > height ? around : height;
            }
            if (!limit_ok(r->cx, LIMIT_DEPTH, height - 1, "pickled values inside one another"))
                return false;
            state[top->p->id - r->first] = height;
            open.n--;
            continue;
        }
        top->next++;
        uint32_t *of_kid = &state[kid->id - r->first];
        if (*of_kid == 1)
            return fail(r->cx, E_FORMAT, "the pickle holds a value that contains itself");
        if (*of_kid != 0)
            continue;
        *of_kid = child(kid, 0) ? 1 : 2;
        if (*of_kid == 2)
            continue;
        if (!vec_push(r->cx, &open, (Open){ kid, 0 }))
            return false;
    }
    mem_give(r->cx, open.at, open.cap * sizeof *open.at);
    mem_give(r->cx, state, r->made * sizeof *state);
    return true;
}

bool pickle_is_ints(const Pickle *p)
{
    for (size_t i = 0; p->tag == P_TUPLE && i < p->seq.n; i++)
        if (p->seq.at[i]->tag != P_INT)
            return false;
    return p->tag == P_TUPLE;
}

Pickle *pickle_read_from(Ctx *cx, Slice data, const char *record, const char *const *allowed,
                         uint32_t *id)
{
    Where here = { .up = cx->at, .kind = WHERE_RECORD, .name = str_of(cx, record) };
    cx->at = &here;
    Reader r = { .cx = cx, .c = cur_over(data.p, data.n), .allowed = allowed, .first = *id };
    Pickle *p = run(&r);
    *id += r.made;
    bool ok = p && check_shape(&r, p) && !ctx_failed(cx);
    mem_give(cx, r.stack.at, r.stack.cap * sizeof *r.stack.at);
    mem_give(cx, r.memo.at, r.memo.cap * sizeof *r.memo.at);
    cx->at = here.up;
    return ok ? p : NULL;
}

Pickle *pickle_read(Ctx *cx, Slice data, const char *record, const char *const *allowed)
{
    uint32_t id = 0;
    return pickle_read_from(cx, data, record, allowed, &id);
}
