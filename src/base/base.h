/* base.h - what every layer stands on: memory, strings, vectors, maps, checked arithmetic, a
 * bounded cursor, byte sources. Errors and positions are in base/error.h, included at the foot.
 *
 * Only src/base calls malloc, mmap, open, read or write. Everything a conversion makes lies in one
 * of the arenas of its Ctx and is freed whole; nothing is freed one by one.
 *
 * Running out of memory, or over --limit heap: a small allocation never fails. A reserve is left
 * once malloc has refused, a sixteenth of the limit once that is passed; from then on the context
 * has failed (sticky), and every step - a statement, an operator, a pickle opcode, a node - looks
 * at ctx_failed() first. What goes on until the rest is used up too ends with give_up (error.h),
 * and so does a map that cannot grow. An allocation whose size comes from a file goes through
 * new_array and may be NULL: check it on the next line (tools/check-layers finds code that does
 * not). */
#ifndef PT2ONNX_BASE_H
#define PT2ONNX_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/system.h"

#define MUST_USE               __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define COUNT(a)               (sizeof(a) / sizeof((a)[0]))
/* p without its const, as `mutable` in other languages. Only for fields in which an object
 * remembers something about itself (a guess, an answer), and for the owner of an object that is
 * const to all other code. */
#define MUTABLE(T, p) ((T *)(uintptr_t)(p))

typedef struct Ctx Ctx;

/* ---- arenas
 * ------------------------------------------------------------------------------------ */

typedef struct Arena Arena;
typedef struct {
    void *chunk;
    size_t used;
    uint64_t n_block;
} ArenaMark;

Arena *arena_new(void);                   /* NULL when there is no memory at all */
void arena_free(Arena *a);                /* NULL is fine */
void *arena_alloc(Arena *a, size_t size); /* zeroed, aligned to 8; NULL for no memory, of up to 64
                                           KB the first MB without is given all the same */
ArenaMark arena_mark(const Arena *a);
void arena_reset(Arena *a, ArenaMark m); /* everything allocated since the mark is gone */
size_t arena_bytes(const Arena *a);      /* bytes held, for statistics and --limit heap */

/* Memory of one evaluation: gone after a restart. Zeroed. */
void *mem_alloc(Ctx *cx, size_t size);
void *mem_dense(Ctx *cx, size_t size); /* of few bytes, beside others of its kind: nodes, strings.
                                          What is gone through often, in order of making */
void *mem_array(Ctx *cx, size_t n,
                size_t size); /* NULL (E_MEMORY or E_LIMIT set) when n*size is too much */
#define new(cx, T) ((T *)mem_alloc((cx), sizeof(T)))
/* The first bytes of a T, whose other fields nobody looks at. */
#define new_part(cx, T, bytes) ((T *)mem_alloc((cx), (bytes)))
#define new_array(cx, T, n)    ((T *)mem_array((cx), (size_t)(n), sizeof(T)))
void *mem_copy(Ctx *cx, const void *from, size_t n);
/* Zeroed memory of a call that runs, such as its arguments: gone at scratch_end, which takes what
 * scratch_begin gave. They nest. What is to outlive the call is copied. mem_scratch as mem_array.
 */
void *mem_scratch(Ctx *cx, size_t n, size_t size);
#define scratch(cx, T)          ((T *)mem_scratch((cx), 1, sizeof(T)))
#define scratch_array(cx, T, n) ((T *)mem_scratch((cx), (size_t)(n), sizeof(T)))
ArenaMark scratch_begin(const Ctx *cx);
void scratch_end(Ctx *cx, ArenaMark m);
/* mem_grow: an array with one owner gets `more` items instead of n; the first n stay, the others
 * are not set; NULL as mem_array. mem_give: an array of so many bytes that is not used again. */
void *mem_grow(Ctx *cx, void *old, size_t n, size_t more, size_t size);
void mem_give(Ctx *cx, const void *p, size_t bytes);
/* So many bytes of an array are not looked at any more, though the array is. */
void mem_discard(const void *p, size_t bytes);

/* Memory of the whole conversion, across restarts: the archive's index, parsed programs, strings,
 * facts. keep_begin makes new/new_array/vec_push/map_put take it until keep_end; they nest. */
void keep_begin(Ctx *cx);
void keep_end(Ctx *cx);

/* Memory that goes before the conversion ends. A keep_begin inside - strings, positions, notes - is
 * of the whole conversion as ever. They nest: phase_end takes what phase_begin gave. What is asked
 * for behind phase_forget begins anew. */
typedef enum {
    PHASE_NONE,
    PHASE_PICKLES, /* saved values, of which an evaluation makes its objects */
    PHASE_PROGRAM, /* statements, expressions, classes: what writes the model reads none of it */
    PHASE_VALUES,  /* tensors, storages, objects of one evaluation: the same */
    PHASES
} Phase;
typedef struct PhaseAround {
    Phase phase;
    int depth;
} PhaseAround;
PhaseAround phase_begin(Ctx *cx, Phase phase);
void phase_end(Ctx *cx, PhaseAround around);
void phase_forget(Ctx *cx, Phase phase);

/* ---- strings
 * ----------------------------------------------------------------------------------- */

/* An interned string lives as long as its Ctx: equal text is equal pointer. May hold NUL bytes;
 * s[len] is 0. Those of a context are numbered in order of making, from 1 on; "" is 0. */
typedef struct StrRec {
    uint32_t id, len;
    char s[];
} const *Str;

Str str_of(Ctx *cx, const char *text); /* NUL-terminated */
Str str_n(Ctx *cx, const void *text, size_t n);
Str str_fmt(Ctx *cx, const char *fmt, ...) PRINTF_LIKE(2, 3);
Str str_cat(Ctx *cx, const char *a, const char *b,
            const char *c); /* one after the other: for names, made by the thousand */
/* False for NULL. Inline, as text is mostly a literal, whose length the compiler knows. */
static inline bool str_is(Str s, const char *text)
{
    size_t n = strlen(text);
    return s && s->len == n && memcmp(s->s, text, n) == 0;
}
bool str_starts(Str s, const char *prefix);
bool str_ends(Str s, const char *suffix);

/* How many letters must be put in, left out or changed (Levenshtein); words of 64 letters and more
 * are far from everything. */
size_t word_distance(const char *a, size_t na, const char *b, size_t nb);
/* The word of the list (NULL last) spelt most like this one; NULL when none is near. */
const char *word_nearest(const char *word, size_t n, const char *const *words);
/* Is the text as the pattern says, by bytes: * any number of them, ? one, [a-z] and [!a-z] one of
 * these or another, \x the byte x? As fnmatch of POSIX, whatever the locale and the system. */
bool word_matches(const char *pattern, const char *text);

/* A piece of memory that the slice itself does not own. */
typedef struct {
    const uint8_t *p;
    size_t n;
} Slice;

/* Text that grows: messages, printed programs, JSON. Lies in the arena. */
typedef struct {
    Ctx *cx;
    char *s;
    size_t n, cap;
} Buf;
Buf buf_new(Ctx *cx);
void buf_add(Buf *b, const void *p, size_t n);
void buf_fill(Buf *b, char c, size_t n); /* n times c, or nothing where memory has no room for it */
void buf_str(Buf *b, const char *s);
void buf_fmt(Buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
Str buf_done(Buf *b); /* interned */

/* The shortest decimal text that reads back as v, spelt as Python's repr but without ".0": "1",
 * "0.1", "1e-05", "inf",
 * "-inf", "nan"; locale-independent. Returns its length. Messages print doubles with this, never
 * with %g. */
int format_double(char out[32], double v);
/* Is f, which may be anything, a whole number that fits? */
bool whole_number(double f, int64_t *out);
/* Are the n bytes at s a whole number in decimal that fits? What lies behind them is no digit. */
bool parse_int(const char *s, size_t n, int64_t *out);
/* strtod in the C locale whatever the process's locale is: decimal, "inf", "infinity", "nan"; no
 * spaces, no hex. *end as in strtod (s when there is no number); stops at s+n. */
double parse_double(const char *s, size_t n, const char **end);

/* ---- vectors
 * ----------------------------------------------------------------------------------- */

/* VEC(T) v = {0};  vec_push(cx, &v, item);  v.at[i], v.n.  A push that finds no memory drops the
 * item: the context has failed. */
#define VEC(T)         \
    struct {           \
        T *at;         \
        size_t n, cap; \
    }
#define vec_push(cx, v, ...)                                               \
    (vec_room((cx), (void **)&(v)->at, (v)->n, &(v)->cap, sizeof *(v)->at) \
         ? ((v)->at[(v)->n++] = (__VA_ARGS__), true)                       \
         : false)
bool vec_room(Ctx *cx, void **at, size_t n, size_t *cap, size_t size);

/* ---- maps
 * -------------------------------------------------------------------------------------- */

/* Pointer (or integer cast to one) to pointer, in insertion order. Keys are compared by pointer:
 * intern strings. A const value comes back without its const: who put it knows. NULL is a value;
 * map_find tells absence from it. Zero-initialise. */
typedef struct {
    const void *key;
    void *val;
} MapEntry;
typedef struct {
    uint32_t entry, hash;
} MapSlot; /* 0: free, else one more than its number */
typedef struct {
    MapEntry *at;
    size_t n, cap;
    MapSlot *slot;
    size_t nslot;
    size_t next;
} Map;                                             /* next: map.c's guess */
void *map_get(const Map *m, const void *key);      /* NULL when absent */
MapEntry *map_find(const Map *m, const void *key); /* NULL when absent */
void map_put(Ctx *cx, Map *m, const void *key,
             const void *val);  /* replaces; a replaced key keeps its place */
void map_clear(Map *m);         /* its memory stays */
void map_give(Ctx *cx, Map *m); /* its memory may be used for others; the map is empty */
bool map_add(Ctx *cx, Map *m, const void *key,
             const void *val); /* only when it is absent: false when it is there */

uint64_t hash_bytes(const void *p, size_t n, uint64_t seed); /* the same on every machine */
/* The hash h of what came before, with one more number. */
static inline uint64_t hash_also(uint64_t h, uint64_t number)
{
    h = (h ^ number) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
}

/* ---- names that the build has hashed
 * ------------------------------------------------------------------------------------ */

/* One thing that has a name: row `number` of a family, or head `number` of the rule that begins at
 * byte `at` of a family's text (NAME_OF_ROW: of none). */
enum { NAME_OF_ROW = 0xffffffffu };
typedef struct NameItem {
    uint32_t at;
    uint16_t family, number;
} NameItem;
/* From names to items, as constant data that tools/compile_tables.c has written: at start nothing
 * is made of it, and no address in it is relocated. */
typedef struct NameRow {
    uint32_t text, item; /* where its name and its items begin */
    uint16_t len, n_item;
} NameRow;
typedef struct NameTable {
    const char *text; /* the names, one behind the other */
    const NameRow *row;
    const NameItem *item;
    const uint16_t *slot; /* by hash: one more than the number of a row, or 0 */
    uint32_t n_slot;      /* a power of two; 0 of an empty table */
} NameTable;
/* The items of a name, in the order in which rows and rules stand in the sources. *n is 0 where
 * there is no such name. */
const NameItem *names_find(const NameTable *t, const char *name, size_t len, size_t *n);

/* ---- checked arithmetic: false on overflow, *out then unspecified
 * ------------------------------ */

static inline MUST_USE bool add_ok(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}
static inline MUST_USE bool sub_ok(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_sub_overflow(a, b, out);
}
static inline MUST_USE bool mul_ok(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}
/* The whole part of any double; where that does not fit, the end of the range that is nearest, and
 * 0 for nan. */
static inline int64_t whole_part(double x)
{
    if (x != x)
        return 0;
    if (x >= 0x1p63)
        return INT64_MAX;
    return x < -0x1p63 ? INT64_MIN : (int64_t)x;
}
static inline MUST_USE bool uadd_ok(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}
static inline MUST_USE bool umul_ok(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

/* ---- bounded cursor
 * ---------------------------------------------------------------------------- */

/* Reads little-endian data; cannot overrun. After the first short read it stays failed and returns
 * zeros. */
typedef struct {
    const uint8_t *base;
    size_t n, at;
    bool failed;
} Cursor;
Cursor cur_over(const void *p, size_t n);
uint8_t cur_u8(Cursor *c);
uint16_t cur_u16(Cursor *c);
uint32_t cur_u32(Cursor *c);
uint64_t cur_u64(Cursor *c);
double cur_f64be(Cursor *c);         /* pickle's BINFLOAT is big-endian */
Slice cur_take(Cursor *c, size_t n); /* {NULL, 0} when short */
static inline size_t cur_left(const Cursor *c) { return c->failed ? 0 : c->n - c->at; }

/* ---- byte sources: weights never pass through the heap
 * ----------------------------------------- */

typedef struct Source Source;
typedef enum {
    SRC_FILE,     /* a file kept open until the model is written; read with pread, copied by the
                     kernel */
    SRC_MEMORY,   /* arena bytes, or a foreign address (a tensor Python keeps alive) */
    SRC_DEFLATED, /* a deflated range of a file: inflated as it is read, forward */
    SRC_RECIPE,   /* computed when read, whole: Conv+BN, gate order */
    SRC_STREAM,   /* computed when written, piece by piece: weights of another type */
} SourceKind;

/* A recipe computes `size` bytes into out; called at write time, once per write. arg is the
 * maker's. */
typedef bool (*RecipeFn)(Ctx *cx, const void *arg, uint8_t *out, uint64_t size);
/* The same of n bytes from `at` on, both multiples of what source_parts was given as unit. */
typedef bool (*PartFn)(Ctx *cx, const void *arg, uint64_t at, uint8_t *out, uint64_t n);
/* A stream writes all of its bytes to a sink, in order, in memory that does not grow with them. */
typedef struct Sink Sink;
typedef bool (*StreamFn)(Ctx *cx, const void *arg, Sink *to);

struct Source {
    SourceKind kind;
    uint64_t size;               /* bytes that can be read */
    SysFile fd;                  /* SRC_FILE */
    Str name;                    /* SRC_FILE: for messages; the name the user gave */
    struct FileWindows *windows; /* SRC_FILE: what lies around the last reads; source.c */
    const uint8_t *mem; /* SRC_MEMORY; what was computed of a SRC_RECIPE and is kept. Files are
                           never looked into by a mapping: one that shrinks is an error, not a
                           SIGBUS */
    uint64_t known;     /* SRC_RECIPE: the first bytes of mem, which were computed */
    Source *inner;
    uint64_t off, packed; /* SRC_DEFLATED: `packed` bytes at `off` of inner */
    RecipeFn recipe;
    PartFn part;        /* SRC_RECIPE, instead of recipe: any part can be computed by itself */
    uint32_t unit;      /* .. that begins and ends at a multiple of this */
    bool computed;      /* SRC_RECIPE: as a whole, once at least */
    bool dear;          /* SRC_RECIPE: source_keep */
    Source *next_whole; /* SRC_RECIPE: of cx->wholes */
    StreamFn stream;    /* SRC_STREAM */
    const void *arg;    /* SRC_RECIPE, SRC_STREAM */
    Source *next;       /* of this context, for ctx_free */
};

typedef struct Bytes {
    Source *src;
    uint64_t off, len;
} Bytes;

Source *source_file(Ctx *cx, const char *path); /* NULL and E_IO; closed with the context */
bool source_grows(const Source *s); /* is the file still being written? Compares it twice, a quarter
                                       second apart, if it was written to just now */
Source *source_memory(Ctx *cx, const void *p, uint64_t n); /* not copied: p outlives the context */
Source *source_deflated(Ctx *cx, Source *inner, uint64_t off, uint64_t packed, uint64_t size);
Source *source_recipe(Ctx *cx, RecipeFn fn, const void *arg, uint64_t size);
Source *source_parts(Ctx *cx, PartFn fn, uint32_t unit, const void *arg, uint64_t size);
Source *source_stream(Ctx *cx, StreamFn fn, const void *arg, uint64_t size);

/* s, of source_parts, is computed whole when it is first read, and kept as those are that cannot be
 * computed in parts: several read it, or it is dear. */
void source_keep(Source *s);

/* The whole result of a recipe, p, which was computed on another way: s may keep a copy, and then
 * it need not run. */
void source_learn(Ctx *cx, Source *s, const void *p);

/* Room for a whole weight, not zeroed, until it is given back; not of the arena. NULL, without an
 * error, when there is none. */
uint8_t *room_take(Ctx *cx, uint64_t size);
void room_give(Ctx *cx, uint8_t *room, uint64_t size);

/* Read n bytes that start `at` bytes into b. The only way to look inside a weight. False and an
 * error when short. */
MUST_USE bool bytes_read(Ctx *cx, Bytes b, uint64_t at, void *out, size_t n);

/* An output being written: positions are ours, so no seeking. fd is -1 when bytes go to a
 * callback. */
struct Sink {
    SysFile fd;
    bool (*write)(void *user, const void *p, size_t n); /* used when fd is -1; NULL: the bytes go
                                                           nowhere, and are not read */
    void *user;
    uint64_t at;     /* bytes written so far */
    uint64_t synced; /* .. of them on their way to the disk */
    /* sink_expect: from `start` on so many bytes are expected, and told as progress of the stage */
    const char *stage;
    uint64_t start, expected;
};
/* What is written from now on are so many bytes of this stage: each piece is told as progress, and
 * the file system may set room aside for them. */
void sink_expect(Sink *s, const char *stage, uint64_t bytes);
MUST_USE bool sink_write(Ctx *cx, Sink *s, const void *p, size_t n);
/* Copy all of b: inside of the kernel, else through a 1 MB buffer; a recipe is computed in parts,
 * or whole, written, freed; a stream writes itself. */
MUST_USE bool sink_copy(Ctx *cx, Sink *s, Bytes b);
/* n bytes of zeros */
MUST_USE bool sink_pad(Ctx *cx, Sink *s, uint64_t n);

/* Files that appear whole or not at all. out_open settles where a file goes and makes it without a
 * name, or under a temporary one (removed on failure, on signals and by ctx_free); out_commit of
 * several gives them their names in order. */
typedef struct OutFile OutFile;
OutFile *out_open(Ctx *cx, const char *path);      /* never NULL; out_ready says whether it can be
                                                      written, which matters only for one that is */
OutFile *out_open_file(Ctx *cx, const char *path); /* the same, but a stream is not ready */
bool out_leads_to_stream(const char *path);        /* to open it may mean to wait for its reader */
MUST_USE bool out_ready(Ctx *cx, const OutFile *f);
Sink *out_sink(OutFile *f);
const char *out_path(const OutFile *f); /* as the caller has named it */
bool out_is_stream(const OutFile *f); /* a pipe or a device: what is written there is out at once */
bool out_replaces(const OutFile *f);  /* there was a file in its place when it was opened */
/* The open file of this context that f takes the place of, by device and inode; NULL: none. */
const Source *out_harms(Ctx *cx, const OutFile *f);
bool out_same(const OutFile *a, const OutFile *b); /* would both get the same name? */
MUST_USE bool out_commit(Ctx *cx, OutFile **files,
                         size_t n); /* removes the last file's old version first when n > 1 */
/* Removes the temporaries of every context of the process. Async-signal-safe: for a program's own
 * signal handler, as the last thing before it dies. The library itself installs no handler. */
void out_remove_all(void);

/* From now on the process, for all of its life, opens no file, starts no process and
 * connects to none (sandbox.c): for when the inputs and outputs of the context are open. What the
 * kernel lacks is left out with a note of kind NOTE_INFO. */
void sandbox_enter(Ctx *cx);

#ifdef PT2ONNX_FAULTS
/* For tests: the next n allocations of this thread succeed, every later one fails; negative: none
 * fails. */
void fault_after(long n);
/* The same of arrays of more than `bytes` bytes, and of room for weights: others do not count. */
void fault_over(size_t bytes, long n);
/* And the basic blocks that this thread has run. */
uint64_t work_done(void);
void __sanitizer_cov_trace_pc(void);
#endif

#include "base/error.h"
#endif
