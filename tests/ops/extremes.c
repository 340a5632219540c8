/* extremes.c - a call's text with one piece of it exchanged. The text is read once, into the pieces
 * that can be: numbers, lists, sizes of tensors, values of constants, whole arguments. */
#include "ops/extremes.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

typedef enum {
    PIECE_INT,
    PIECE_FLOAT,
    PIECE_BOOL,
    PIECE_ARGUMENT, /* the whole of it: None */
    PIECE_LIST,
    PIECE_SIZES,    /* "[2,3] 1 2 3 4 5 6" of an input, with its values */
    PIECE_CONSTANT, /* the same of a constant */
    PIECE_VALUE,    /* of a constant: its first and its last */
} PieceKind;

enum { PIECES = 512, DEPTH = 32 };
typedef struct Piece {
    PieceKind kind;
    const char *at, *end;
    bool is_float;  /* a value of a constant of floats */
    int inner_from; /* of a list: the pieces inside it */
    int inner_to;
} Piece;

typedef struct Scan {
    const char *at;
    Piece piece[PIECES];
    int n;
    int open[DEPTH]; /* lists around this place */
    int n_open;
    int calls; /* how many ( are open */
    const char *argument;
    bool constant; /* the tensor that follows is one */
} Scan;

/* ---- reading ---- */

static Piece *add(Scan *s, PieceKind kind, const char *at, const char *end)
{
    if (s->n == PIECES)
        return NULL;
    s->piece[s->n] = (Piece){ .kind = kind, .at = at, .end = end };
    return &s->piece[s->n++];
}

static bool starts(const char *s, const char *word) { return strncmp(s, word, strlen(word)) == 0; }

/* f32[, i64[, b[, c64[ */
static bool is_dtype(const char *word, size_t n)
{
    static const char *const names[] = { "f16", "bf16", "f32", "f64", "i8",  "u8",
                                         "i16", "i32",  "i64", "b",   "c64", "c128" };
    for (size_t i = 0; i < COUNT(names); i++)
        if (strlen(names[i]) == n && memcmp(names[i], word, n) == 0)
            return true;
    return false;
}

/* s->at is behind the name of the type, at [ */
static void read_tensor(Scan *s, char type)
{
    const char *sizes = s->at;
    const char *close = strchr(sizes, ']');
    if (!close)
        return;
    const char *end = close + 1 + strcspn(close + 1, ",)]");
    add(s, s->constant ? PIECE_CONSTANT : PIECE_SIZES, sizes, end);
    const char *first = close + 1 + strspn(close + 1, " ");
    const char *last = end;
    while (last > first && last[-1] != ' ')
        last--;
    Piece *a = s->constant && type != 'b' && first < end
        ? add(s, PIECE_VALUE, first, first + strcspn(first, " ,)]"))
        : NULL;
    Piece *b = a && last > first ? add(s, PIECE_VALUE, last, end) : NULL;
    if (a)
        a->is_float = type != 'i' && type != 'u';
    if (b)
        b->is_float = a->is_float;
    s->constant = false;
    s->at = end;
}

static void read_word(Scan *s)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "_0123456789:.";
    const char *at = s->at;
    size_t n = strspn(at, letters);
    s->at += n;
    if (starts(at, "const ") || starts(at, "num "))
        s->constant = true;
    else if (starts(at, "sym ")) {
        s->at += strcspn(s->at, ",)]");
        add(s, PIECE_INT, at, s->at);
    } else if (*s->at == '[' && is_dtype(at, n))
        read_tensor(s, *at);
    else if (strchr("=([", *s->at) && *s->at)
        return;
    else if ((n == 4 && starts(at, "True")) || (n == 5 && starts(at, "False")))
        add(s, PIECE_BOOL, at, s->at);
    else if (n == 3 && (starts(at, "inf") || starts(at, "nan")))
        add(s, PIECE_FLOAT, at, s->at);
}

static void read_number(Scan *s)
{
    const char *at = s->at;
    size_t n = strcspn(at, ",)] ");
    bool fraction = memchr(at, '.', n) || memchr(at, 'e', n) || memchr(at, 'n', n);
    s->at += n ? n : 1;
    add(s, fraction ? PIECE_FLOAT : PIECE_INT, at, s->at);
}

static void open_list(Scan *s)
{
    Piece *list = s->n_open < DEPTH ? add(s, PIECE_LIST, s->at, s->at) : NULL;
    if (list) {
        list->inner_from = s->n;
        s->open[s->n_open++] = s->n - 1;
    }
    s->at++;
}

static void close_list(Scan *s)
{
    s->at++;
    if (s->n_open == 0)
        return;
    Piece *list = &s->piece[s->open[--s->n_open]];
    list->end = s->at;
    list->inner_to = s->n;
}

/* An argument of the call itself, not of a call inside it, ends here. */
static void end_argument(Scan *s)
{
    const char *at = s->argument;
    if (s->calls != 1 || s->n_open > 0 || !at)
        return;
    at += strspn(at, " ");
    size_t name = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    if (at[name] == '=')
        at += name + 1;
    if (*at != '*' && at < s->at)
        add(s, PIECE_ARGUMENT, at, s->at);
    s->argument = s->at + 1;
}

static void read_text(Scan *s)
{
    const char *quote = *s->at == '"' ? strchr(s->at + 1, '"') : NULL;
    s->at = quote ? quote + 1 : s->at + 1;
}

static void scan(Scan *s)
{
    bool closed = false; /* a ) stands right before: what follows in [] is an index */
    while (*s->at) {
        bool index = closed && *s->at == '[';
        closed = *s->at == ')';
        switch (*s->at) {
        case '"': read_text(s); break;
        case '[': index ? (void)(s->at += strcspn(s->at, "]") + 1) : open_list(s); break;
        case ']': close_list(s); break;
        case '(':
            if (s->calls++ == 0)
                s->argument = s->at + 1;
            s->at++;
            break;
        case ')':
            end_argument(s);
            s->calls--;
            s->at++;
            break;
        case ',':
            end_argument(s);
            s->at++;
            break;
        case ' ':
        case '=':
        case '*': s->at++; break;
        default:
            if (isalpha((unsigned char)*s->at) || *s->at == '_')
                read_word(s);
            else
                read_number(s);
        }
    }
}

/* ---- writing ---- */

typedef struct Writer {
    const Scan *s;
    const char *call;
    const char *put[PIECES]; /* instead of a piece; NULL: as it is */
    char *text;
    size_t room;
    void (*each)(void *user, const char *text);
    void *user;
} Writer;

/* The call with what is put; what is put inside a piece that is exchanged itself does not count. */
static void give(Writer *w)
{
    size_t n = strlen(w->call) + 1;
    for (int i = 0; i < w->s->n; i++)
        n += w->put[i] ? strlen(w->put[i]) : 0;
    if (n > w->room)
        w->text = realloc(w->text, w->room = 2 * n);
    char *to = w->text;
    const char *from = w->call;
    for (int i = 0; i < w->s->n; i++) {
        const Piece *p = &w->s->piece[i];
        if (!w->put[i] || p->at < from)
            continue;
        to += sprintf(to, "%.*s%s", (int)(p->at - from), from, w->put[i]);
        from = p->end;
    }
    strcpy(to, from);
    w->each(w->user, w->text);
}

static void give_one(Writer *w, int i, const char *instead)
{
    w->put[i] = instead;
    give(w);
    w->put[i] = NULL;
}

static const char *const ints[] = { "-9223372036854775808",
                                    "-9223372036854775807",
                                    "-4611686018427387904",
                                    "-4294967297",
                                    "-2147483649",
                                    "-2147483648",
                                    "-1",
                                    "0",
                                    "1",
                                    "2147483647",
                                    "2147483648",
                                    "4294967296",
                                    "4611686018427387904",
                                    "9223372036854775807" };
static const char *const floats[] = { "0.0",    "-0.0", "1e308", "-1e308",
                                      "1e-320", "inf",  "-inf",  "nan" };
/* Where an operator takes both kinds: the float for an int, the int for a float. */
static const char *const floats_for_int[] = { "1e308", "nan" };
static const char *const ints_for_float[] = { "-9223372036854775808", "9223372036854775807" };
/* Of several numbers at once: sums and products of them. */
static const char *const ints_together[] = { "-9223372036854775808", "-4611686018427387904",
                                             "2147483647",           "2147483648",
                                             "4611686018427387904",  "9223372036854775807" };

static void give_each(Writer *w, int i, const char *const *at, size_t n)
{
    for (size_t k = 0; k < n; k++)
        give_one(w, i, at[k]);
}

/* All integers from one piece to another get the same value. */
static void give_together(Writer *w, int from, int to)
{
    int n = 0;
    for (int i = from; i < to; i++)
        n += w->s->piece[i].kind == PIECE_INT;
    for (size_t k = 0; n > 1 && k < COUNT(ints_together); k++) {
        for (int i = from; i < to; i++)
            if (w->s->piece[i].kind == PIECE_INT)
                w->put[i] = ints_together[k];
        give(w);
        for (int i = from; i < to; i++)
            w->put[i] = NULL;
    }
}

/* A list that holds its items so many times. */
static void give_repeated(Writer *w, int i, int times)
{
    const Piece *p = &w->s->piece[i];
    const char *inside = p->at + 1;
    int n = (int)(p->end - p->at) - 2;
    char *text = malloc((size_t)times * ((size_t)n + 2) + 3);
    char *to = text;
    for (int k = 0; k < times; k++)
        to += sprintf(to, "%s%.*s", k ? ", " : "[", n, inside);
    strcpy(to, "]");
    give_one(w, i, text);
    free(text);
}

static void give_lists(Writer *w, int i)
{
    const Piece *p = &w->s->piece[i];
    give_one(w, i, "[]");
    if (p->end - p->at <= 2)
        return;
    give_repeated(w, i, 2);
    give_repeated(w, i, 70); /* beyond any fixed number of axes */
    give_together(w, p->inner_from, p->inner_to);
}

/* "[2,3]" with size k as `size`, NULL: without it; k behind the last: one more. */
static void give_size(Writer *w, int i, int k, const char *size)
{
    const Piece *p = &w->s->piece[i];
    const char *close = strchr(p->at, ']');
    char *text = malloc((size_t)(p->end - p->at) + 64);
    char *to = text;
    *to++ = '[';
    int n = 0;
    for (const char *at = p->at + 1; at < close; n++) {
        size_t len = strcspn(at, ",]");
        if (n != k)
            to += sprintf(to, "%s%.*s", to > text + 1 ? "," : "", (int)len, at);
        else if (size)
            to += sprintf(to, "%s%s", to > text + 1 ? "," : "", size);
        at += len + (at[len] == ',');
    }
    if (k == n)
        to += sprintf(to, "%s%s", to > text + 1 ? "," : "", size);
    strcpy(to, "]");
    give_one(w, i, text);
    free(text);
}

/* No elements, and other sizes whose product is no number: "[4611686018427387904,0]". k: which of
 * them is 0. */
static void give_empty(Writer *w, int i, int k, int rank)
{
    char text[512] = "[";
    char *to = text + 1;
    for (int d = 0; d < rank && d < 16; d++)
        to += sprintf(to, "%s%s", d ? "," : "", d == k ? "0" : "4611686018427387904");
    strcpy(to, "]");
    give_one(w, i, text);
}

static void give_sizes(Writer *w, int i)
{
    static const char *const sizes[] = {
        "0", "1", "2147483648", "4611686018427387904", "9223372036854775807", "N"
    };
    const Piece *p = &w->s->piece[i];
    size_t many = p->kind == PIECE_CONSTANT ? 2 : COUNT(sizes);
    int rank = p->at[1] != ']';
    for (const char *at = p->at; *at != ']'; at++)
        rank += *at == ',';
    for (int k = 0; k < rank; k++)
        for (size_t v = 0; v < many; v++)
            give_size(w, i, k, sizes[v]);
    if (rank > 0) {
        give_size(w, i, 0, NULL);
        give_size(w, i, rank - 1, NULL);
        give_empty(w, i, 0, rank);
        give_empty(w, i, rank - 1, rank);
    }
    give_size(w, i, rank, "2");
}

static void give_piece(Writer *w, int i)
{
    const Piece *p = &w->s->piece[i];
    bool is_float = p->kind == PIECE_FLOAT || (p->kind == PIECE_VALUE && p->is_float);
    switch (p->kind) {
    case PIECE_INT:
    case PIECE_FLOAT:
    case PIECE_VALUE:
        if (is_float) {
            give_each(w, i, floats, COUNT(floats));
            give_each(w, i, ints_for_float, COUNT(ints_for_float));
        } else {
            give_each(w, i, ints, COUNT(ints));
            give_each(w, i, floats_for_int, COUNT(floats_for_int));
        }
        break;
    case PIECE_BOOL:     give_one(w, i, *p->at == 'T' ? "False" : "True"); break;
    case PIECE_ARGUMENT: give_one(w, i, "None"); break;
    case PIECE_LIST:     give_lists(w, i); break;
    case PIECE_SIZES:
    case PIECE_CONSTANT: give_sizes(w, i); break;
    }
}

char *with_open_sizes(const char *call)
{
    static Scan s;
    s = (Scan){ .at = call };
    scan(&s);
    char *text = malloc(2 * strlen(call) + 1);
    char *to = text;
    const char *from = call;
    for (int i = 0; i < s.n; i++) {
        const Piece *p = &s.piece[i];
        if (p->kind != PIECE_SIZES || p->at < from)
            continue;
        for (; from < p->at || *from != ']'; from++) {
            bool first = from > p->at && strchr("[,", from[-1]) && isdigit((unsigned char)*from);
            if (first && strspn(from, "01") != strcspn(from, ",]"))
                *to++ = 'D';
            *to++ = *from;
        }
        *to++ = ']';
        from = p->end;
    }
    strcpy(to, from);
    return text;
}

void extremes_of(const char *call, void (*each)(void *user, const char *text), void *user)
{
    static Scan s;
    static Writer w;
    s = (Scan){ .at = call };
    scan(&s);
    w = (Writer){ .s = &s, .call = call, .text = w.text, .room = w.room };
    w.each = each;
    w.user = user;
    for (int i = 0; i < s.n; i++)
        give_piece(&w, i);
    give_together(&w, 0, s.n);
}
