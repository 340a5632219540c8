/* archive.h - bytes to plain data: ZIP, pickle, JSON. Nothing here knows PyTorch programs or ONNX.
 *
 * Trusts no byte: every length, offset, count and depth is checked before use, against
 * base/limits.h. */
#ifndef PT2ONNX_ARCHIVE_H
#define PT2ONNX_ARCHIVE_H

#include "base/base.h"
#include "archive/caps.h"

/* ---- what a file is (kind.c), by content, never by name ---- */

typedef enum {
    FILE_TORCHSCRIPT,
    FILE_PT2,
    FILE_PT2_OLD /* generation A: flat zip */,
    FILE_ONNX,
    FILE_OTHER /* everything else: kind_of has failed with the message that says what it is and how
                  to save the right one */
} FileKind;

typedef struct ZipEntry {
    const char *name; /* NUL-terminated, of zip_open's own: an archive has many, asked for rarely */
    uint64_t at;      /* of the data, from the start of the source; 0 until zip_bytes looked (local
                         headers are read late) */
    uint64_t header, packed, size;
    uint32_t crc;
    uint16_t method;   /* 0 stored, 8 deflated */
    uint16_t name_len; /* without the NUL */
} ZipEntry;

typedef struct Zip {
    Source *src;
    uint64_t off, size; /* where the archive lies in src (nested archives) */
    uint64_t directory; /* where the central directory begins: no record reaches beyond */
    ZipEntry *entry;
    size_t n;    /* in the order of the central directory; keep arena */
    char *names; /* of all entries */
    size_t names_size, names_used;
    uint32_t *slot; /* by hash of the name: one more than the number of an entry, or 0 */
    size_t nslot;
    const ZipEntry *last; /* found: records are mostly asked for in their order */
    Str root;             /* the common top folder with its slash, "" when there is none */
} Zip;

/* Reads the central directory only. NULL after an error (not a zip, cut short, overlapping, zip64
 * nonsense, duplicate names). */
Zip *zip_open(Ctx *cx, Source *src, uint64_t off, uint64_t size);
const ZipEntry *zip_find(const Zip *z, const char *name);   /* full name; NULL: not there */
const ZipEntry *zip_find_in_root(Zip *z, const char *rest); /* root + rest */
const ZipEntry *zip_find_in(Zip *z, const char *folder,
                            const char *rest);     /* root + folder + rest */
bool zip_in_root(const Zip *z, const ZipEntry *e); /* does its name begin with the root? */
MUST_USE bool zip_bytes(Ctx *cx, Zip *z, const ZipEntry *e,
                        Bytes *out); /* lazy content; deflated ones get a SRC_DEFLATED */
MUST_USE bool zip_slice(
    Ctx *cx, Zip *z, const ZipEntry *e,
    Slice *out); /* all of it in memory (mapping, or inflated into keep): code, pickles, JSON */
void zip_close(Ctx *cx, Zip *z); /* no record is asked for until zip_again; bytes of it stay */
MUST_USE bool zip_again(Ctx *cx, Zip *z); /* reads the directory of one that is closed */
void zip_give(Ctx *cx, Slice s); /* what zip_slice gave, when nothing of it is used any more */
MUST_USE bool zip_check_crc(Ctx *cx, Zip *z, const ZipEntry *e);

FileKind kind_of(Ctx *cx, Source *src,
                 Zip **zip); /* *zip for the archive kinds. FILE_OTHER after an error */

/* ---- pickle (pickle.c): the subset that torch writes, as data. Nothing is imported or called ----
 *
 * The result has no cycle and is nested at most LIMIT_DEPTH deep; but it is a DAG, and a hostile
 * one can have exponentially many paths: visit each id once. collections.OrderedDict() is a P_DICT;
 * what BUILD sets on one (`_metadata`) is dropped. */

typedef enum {
    P_NONE,
    P_BOOL,
    P_INT,
    P_FLOAT,
    P_STR,
    P_TUPLE,
    P_LIST,
    P_DICT,
    P_GLOBAL,
    P_CALL /* REDUCE */,
    P_OBJECT /* NEWOBJ */,
    P_PERSISTENT
} PickleTag;
typedef struct Pickle Pickle;
/* A value has memory for the fields of its tag alone. */
struct Pickle {
    PickleTag tag;
    uint32_t id; /* order of making: shared references are equal pointers */
    union {
        bool b;
        int64_t i;
        double f;
        Str s;
        struct {
            Pickle **at;
            size_t n;
        } seq; /* TUPLE, LIST; DICT: key, value, key, value.. */
        struct {
            Str module, name;
        } global;
        struct {
            Pickle *fn, *args, *state;
            void *made; /* CALL: what a reader of the values has made of it; at first NULL */
        }; /* CALL: GLOBAL and args (a tuple; an enum's bare value); OBJECT: class GLOBAL, state set
              by BUILD or NULL */
        Pickle *pid; /* PERSISTENT: the tuple */
    };
};
Pickle *pickle_new(Ctx *cx, PickleTag tag, uint32_t id);
/* `allowed` says whether a global may stand in this file; NULL-terminated pairs are the front
 * end's: "torch._utils _rebuild_tensor_v2". A pattern may end in '*'. Any other global is E_FORMAT
 * naming it. `data` must outlive nothing: all text is copied. The values lie in the memory that the
 * caller has chosen (keep_begin, phase_begin). */
Pickle *pickle_read(Ctx *cx, Slice data, const char *record, const char *const *allowed);
/* The same, whose values are numbered from *id on; *id is the number that comes next. Who reads a
 * pickle again from the same number gets the same values. */
Pickle *pickle_read_from(Ctx *cx, Slice data, const char *record, const char *const *allowed,
                         uint32_t *id);
/* Is it a tuple of ints alone, or ()? Equal ones may be one Pickle though the file has several:
 * each has a type of its own where it is an attribute. */
bool pickle_is_ints(const Pickle *p);

/* ---- JSON (json.c): a pull reader over a slice; no tree ----
 *
 * Strict RFC 8259 text in valid UTF-8, nested to LIMIT_DEPTH. An integer beyond int64 is J_FLOAT
 * (so json_int refuses it); a number beyond double is an error. An escaped surrogate without its
 * other half decodes to U+FFFD. */

typedef enum {
    J_END,
    J_NULL,
    J_TRUE,
    J_FALSE,
    J_INT,
    J_FLOAT,
    J_STRING,
    J_ARRAY,
    J_OBJECT,
    J_ARRAY_END,
    J_OBJECT_END,
    J_ERROR
} JsonTag;
/* Where values of a text end that json_skip has passed over: behind the bracket that opens, at the
 * one that closes. All readers of the text share it, and skip none of them again token by token. */
typedef struct JsonEnd {
    uint32_t from, to;
} JsonEnd;
typedef struct JsonEnds {
    VEC(JsonEnd) of; /* in the order of the text */
    size_t known;    /* up to here they are all there */
    size_t last;     /* asked for */
} JsonEnds;
typedef struct Json {
    Ctx *cx;
    const char *record; /* for messages */
    Slice text;
    size_t at;
    JsonEnds *ends; /* set by who reads a text more than once; NULL: nothing is remembered */
    int depth;
    int allowed;    /* how deep the limits are known to allow */
    bool nan_words; /* accept NaN, Infinity, -Infinity as bare words */
    uint8_t stack[JSON_DEPTH_MAX / 8 + 1];
    bool first, failed;
    bool object;  /* the innermost open bracket is an object's */
    bool key;     /* the next string is an object's key */
    bool escaped; /* the last string has an escape */
    int64_t i;
    double f;
    Slice raw; /* of the last scalar; raw of a string: undecoded, between the quotes */
} Json;
Json json_over(Ctx *cx, const char *record, Slice text);
JsonTag json_next(Json *j);       /* in an object: key string, then its value, .. OBJECT_END */
Str json_string(Json *j);         /* the last J_STRING, unescaped and interned */
MUST_USE bool json_skip(Json *j); /* the value that comes next, whole */
void json_forget(Ctx *cx, JsonEnds *e);
/* The text from *from up to here was read, and is at most skipped from now on: its memory goes, in
 * large pieces. *from becomes where the next piece begins. */
void json_discard(const Json *j, size_t *from);
/* Typed helpers: false after an error that names record, byte and what was expected. */
MUST_USE bool json_enter_object(Json *j);
MUST_USE bool json_enter_array(Json *j);
bool json_key(Json *j, Str *key); /* next key; false at the object's end or on error (see failed) */
bool json_more(
    Json *j); /* another item of the array follows? false at its end (consumed) or on error */
MUST_USE bool json_int(Json *j, int64_t *out);
MUST_USE bool json_bool(Json *j, bool *out);
MUST_USE bool json_float(
    Json *j, double *out); /* also ints, and the strings "Infinity", "-Infinity", "NaN" */
MUST_USE bool json_str(Json *j, Str *out); /* NULL for null */
/* The same where it stands, if it has no escapes: a string of which little is kept. */
MUST_USE bool json_text(Json *j, Slice *out);
size_t json_mark(
    const Json *j); /* the byte position, for messages. To come back, copy the whole Json */
JsonTag json_peek(Json *j);

#endif
