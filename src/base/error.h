/* error.h - the context of one conversion, how a failure is reported, and where it happened.
 *
 * Whoever fails states only the reason: `return fail(cx, E_VALUE, "dim %d is out of range", d);`.
 * The position is the chain of Where records on the C stack, pushed one per record, function,
 * statement, module and operator. The first error wins and is sticky. No exit, no abort; one
 * longjmp, for a file that would use up the stack, the steps or the memory (`bounded`). `assert` is
 * for our own mistakes only. */
#ifndef PT2ONNX_ERROR_H
#define PT2ONNX_ERROR_H

#include "base/base.h"

typedef enum {
    E_NONE,
    E_VALUE,       /* the user's program does something PyTorch itself would refuse */
    E_UNSUPPORTED, /* ONNX, or pt2onnx, cannot say it */
    E_UNDECIDED,   /* needs something the file does not tell: the message names the option */
    E_USAGE,       /* options */
    E_FORMAT,      /* damaged, or not what it should be */
    E_LIMIT,       /* over a limit of base/limits.h */
    E_IO,
    E_MEMORY,
    E_BUG,     /* ours */
    E_RESTART, /* not an error: an assumption was recorded, evaluate again (eval only) */
} ErrorCode;

/* Text that positions point into: a code record, a rule file. `locate` turns an offset into the
 * *user's* line when the text knows it (debug records, a .pt2's stack_trace); NULL means this text
 * is itself what to show. */
typedef struct Pos {
    Str file;
    uint32_t line, col, len;
    Str source;   /* the line's text or NULL */
    Str function; /* or NULL */
} Pos;
typedef struct Text {
    Str name; /* "code/__torch__/net.py" */
    const char *at;
    size_t n; /* NULL, 0 for a text that is not at hand */
    bool (*locate)(Ctx *cx, const struct Text *t, uint32_t start, uint32_t end, Pos *out);
    const void *locate_arg;
} Text;

typedef enum {
    WHERE_RECORD,
    WHERE_FUNCTION,
    WHERE_MODULE,
    WHERE_NAMES /* what names of nodes begin with, instead of the module's path */,
    WHERE_CALLS /* of modules that become functions (tidy/modules.c) */,
    WHERE_STATEMENT,
    WHERE_OP
} WhereKind;
/* An interned chain: what a node remembers of where it came from. 0 is "nowhere". */
typedef uint32_t SourceId;
typedef struct Where {
    struct Where *up;
    WhereKind kind;
    Str name; /* a record, "Net.forward", "features.3", "aten::conv2d"; NULL for a statement */
    Str type; /* WHERE_MODULE: the class, "torchvision.models.resnet.BasicBlock"; else NULL */
    const Text *text;
    uint32_t start, end;
    /* Of where_intern, which no one else writes: the number of the chain up to here, and the round
     * of evaluation in which it was given. A record that was interned does not change. */
    SourceId id;
    uint32_t round;
} Where;

/* One record of a chain, by itself. */
typedef struct Place {
    Str name, type;
    const Text *text;
    uint32_t start, end;
    WhereKind kind;
} Place;

SourceId where_intern(Ctx *cx);               /* the chain at cx->at; equal chains get equal ids */
const Place *place(Ctx *cx, SourceId id);     /* its innermost record; NULL for 0 */
const Place *place_up(Ctx *cx, SourceId *id); /* that of the chain around *id, which *id becomes */
Str place_module(Ctx *cx, SourceId id); /* "layer1.0.conv1": innermost module path, NULL outside */
Str place_names(
    Ctx *cx, SourceId id); /* "/layer1/layer1.0": innermost WHERE_NAMES, NULL when there is none */
Str place_calls(Ctx *cx, SourceId id);          /* innermost WHERE_CALLS, NULL when there is none */
bool place_pos(Ctx *cx, SourceId id, Pos *out); /* the innermost position that can be shown */
bool place_line(Ctx *cx, SourceId id, Pos *out); /* the same, but file and line only */

/* Fails; returns false. The position is cx->at, or `id` in fail_at. */
#define fail(cx, code, ...)                                       \
    (__extension__({                                              \
        fail_here((cx), __FILE__, __LINE__, (code), __VA_ARGS__); \
        false;                                                    \
    })) /* false in sight of the optimiser, which then sees that results are set */
bool fail_here(Ctx *cx, const char *file, int line, ErrorCode code, const char *fmt, ...)
    PRINTF_LIKE(5, 6);
bool fail_at(Ctx *cx, SourceId id, ErrorCode code, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* The error, if there is one, arose at `id`, unless it has a place already. */
void fail_arose_at(Ctx *cx, SourceId id);
/* The error ends the conversion: no caller may clear it and try something else. Errors of
 * limit_ok, of memory, and of input and output are final too. */
void fail_is_final(Ctx *cx);
/* One more line under the error that was just made: "try: --opset 20". Nothing if there is no
 * error. */
/* An error that a user's text has asked for, at `where` in it, is not our mistake: E_BUG becomes
 * E_USAGE. */
void fail_is_theirs(Ctx *cx, Str where);
/* Fails because a node is given types that do not go together: E_BUG, as a cast is missing. */
bool fail_types(Ctx *cx, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Where a program's own call has brought the types together, that is its mistake, or something that
 * we do not convert: linear(float64, float32). The error of fail_types becomes E_UNSUPPORTED. */
void fail_types_are_given(Ctx *cx);
void fail_hint(Ctx *cx, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* An unsupported operator: noted (all of them, each once per place), evaluation goes on with a
 * placeholder. Makes the conversion fail at its end with the whole list. `op` is the operator's
 * name as users search for it. */
void refuse(Ctx *cx, SourceId id, Str op, const char *fmt, ...) PRINTF_LIKE(4, 5);
void refuse_unreached(Ctx *cx, SourceId id, Str op,
                      const char *why); /* the same of a call that the run did not get to */
void refuse_hint(Ctx *cx, const char *fmt, ...) PRINTF_LIKE(2, 3); /* for the refusal just made */
void refuse_opset(Ctx *cx, int opset); /* the same: from this opset on it can be said */
/* At the end of an evaluation, a legalisation: fails (E_UNSUPPORTED) when anything was refused;
 * error_text prints the list. */
bool refusals_fail(Ctx *cx);
void refusals_forget(Ctx *cx, size_t from); /* those behind the first so many */

/* false and E_LIMIT when n is over the limit: "12 records are over the limit of 10 (--limit
 * records=N raises it)". */
MUST_USE bool limit_ok(Ctx *cx, int limit, uint64_t n, const char *what);

/* ---- work without end: bound.c ---- */

/* Runs work(arg): what it says, and false when it has given up. Only the public functions call
 * this, right under their caller. */
MUST_USE bool bounded(Ctx *cx, bool (*work)(void *arg), void *arg);
/* The context has failed, and the code that runs may go on for long without a look at it: back to
 * `bounded`. Returns where there is none (a unit test, code of the user). */
void give_up(Ctx *cx);
/* f(arg), a function of the user, over whose frames nothing may jump. */
int call_user(Ctx *cx, int (*f)(void *arg), void *arg);
/* First of all in a function that calls itself on what is inside a value, a type or a size: gives
 * up with E_LIMIT before the C stack ends. */
void check_stack(Ctx *cx);
/* n steps more of the evaluation, against --limit steps: a statement, an operator, a value that is
 * converted or joined. Gives up when they are too many. */
void count_steps(Ctx *cx, uint64_t n);
/* n values more were looked at, of those that lie inside others: many are one step. */
void count_values(Ctx *cx, uint64_t n);
/* One more piece of any work, at which the clock may be looked at: gives up after --limit seconds
 * of processor time without a call of tell_progress that says anything new. */
void count_work(Ctx *cx);
/* n numbers more were computed, of constants and weights, or n characters or items of one string or
 * list were looked at: the clock is after many. */
void count_numbers(Ctx *cx, uint64_t n);
void check_time(Ctx *cx);

/* What the user must know though nothing failed: one line each, equal ones once. Those made
 * between keep_begin and keep_end (by a loader) survive restarts, the others are made again by the
 * evaluation. */
typedef enum {
    NOTE_ASSUMED,
    NOTE_ADDED,
    NOTE_DROPPED,
    NOTE_CHANGED,
    NOTE_INFO /* only with -v */
} NoteKind;
void note(Ctx *cx, NoteKind kind, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Forgets notes: but the first so many, and those of these kinds, a bit 1 << NOTE_ASSUMED each. */
void notes_keep(Ctx *cx, size_t first, unsigned kinds);

typedef struct Refusal {
    Str op;
    SourceId at;
    Str text, hint;
    bool unreached; /* the run did not get there, the program may */
    int opset;      /* that has it; 0: none */
} Refusal;
typedef struct Note {
    NoteKind kind;
    Str text;
} Note;

typedef struct Error {
    ErrorCode code;
    Str text, hint;
    SourceId at;
    const char *our_file;
    int our_line;
    bool latest; /* the last fail() made this one: fail_hint belongs to it */
    bool final;  /* fail_is_final */
    bool types;  /* fail_types */
} Error;

struct Ctx {
    Arena *run, *keep;    /* see base.h; `run` is reset by a restart */
    Arena *scratch;       /* see base.h: of the calls that run */
    Arena *phase[PHASES]; /* see base.h; NULL before phase_begin */
    int keeping;          /* depth of keep_begin and phase_begin */
    PhaseAround in;       /* the last phase_begin, and what that depth is right inside; 0 outside */
    struct Interner *strings;
    Where *at;
    Error error;           /* code E_NONE while all is well */
    VEC(Refusal) refusals; /* kept across restarts only if the last evaluation makes them again */
    VEC(Note) notes;
    Map noted;         /* text of a note -> its kinds, a bit each */
    size_t kept_notes; /* the first notes survive a restart */
    struct Places *places;
    Source *sources; /* closed by ctx_free */
    OutFile *outs;   /* temporaries not yet committed */
    /* What higher layers hang on the context; base never looks inside. */
    struct Dims
        *dims; /* onnx/dim/dim.c: symbols, hash-consed expressions; forgotten by ctx_restart */
    struct Types *types;             /* onnx/graph.c: interned types; forgotten by ctx_restart */
    struct OnnxTable *onnx;          /* onnx/optable.c: operators by name; kept */
    struct Gradients *gradients;     /* onnx/gradient: rules by operator; kept */
    struct OpTable *ops;             /* ops/table.c: rows and rules by name; kept */
    struct Heap *heap;               /* value/heap.c: the undo trail; forgotten by ctx_restart */
    struct Specialized *specialized; /* value/specialized.c; forgotten by ctx_restart */
    struct Autograd
        *autograd; /* value/autograd.c: what requires a gradient; forgotten by ctx_restart */
    /* ops/table.c: results whose recorded type is torch's mistake; forgotten by ctx_restart */
    struct RecordErrors *record_errors;
    struct Builtins *builtins; /* eval/builtin/builtin.c: rows by name; kept */
    struct Words *words;       /* front/torchscript/torchscript_parse.c: the language's; kept */
    struct Facts *facts;       /* eval: assumptions and facts about inputs; kept across restarts */
    const struct Options *opt; /* pt2onnx.c: what the user asked for */
    uint64_t steps;            /* of this evaluation, against the limit: count_steps */
    uint64_t values;           /* count_values: those that are no whole step yet */
    uint64_t work;             /* count_work */
    uint64_t numbers;          /* count_numbers: those since the last look at the clock */
    SourceId computing;        /* where the weight comes from that is computed; 0: none */
    struct WayOut *way_out;    /* bound.c: of the public function that runs; NULL: there is none */
    uintptr_t stack_base;      /* where its frame lies, ... */
    size_t stack_allowed;      /* ... and how far from it others may lie */
    struct Inflate *inflate;   /* source.c: the deflated sources being read */
    uint64_t computed;         /* source.c: bytes of small computed weights that are kept */
    struct FoldTiles *tiles;   /* fold_parts.c: rooms for its inputs that are free */
    struct Source *wholes;     /* source.c: larger ones that are kept, the last one read first */
    uint8_t *spare[2];         /* source.c: room for computed weights, kept for the next .. */
    size_t n_spare;            /* .. the one given back last is taken first: it has more pages */
    /* --limit: one slot per row of base/limits.h, by its enum; ctx_new sets the defaults */
    int64_t limit[32];
    /* progress, set by the caller, who also decides how often to show it: a stage and a share of
     * 0..1 (negative: unknown) */
    void (*progress)(void *user, const char *stage, double share);
    void (*amount)(void *user, const char *unit, uint64_t done);
    void *progress_user;
    const char *stage;   /* the last that was given, which lives on, ... */
    double share;        /* ... its share, ... */
    int64_t progress_ns; /* ... and the processor's clock when they last changed */
};

void tell_progress(Ctx *cx, const char *stage, double share);
/* Before tell_progress: how much of the stage is done, in a unit that the caller can name. */
void tell_amount(Ctx *cx, const char *unit, uint64_t done);

Ctx *ctx_new(void);        /* NULL when there is no memory */
void ctx_free(Ctx *cx);    /* closes sources, removes temporaries, frees the arenas */
void ctx_restart(Ctx *cx); /* forget error, notes, refusals and the run arena; keep keeps */
static inline bool ctx_failed(const Ctx *cx) { return cx->error.code != E_NONE; }

/* What a file may have put into a text, for a terminal: control characters as \x1b, and lines of
 * no more than `most` characters. LINE_SHOWN is what a message has, and what `show` prints. */
enum { LINE_SHOWN = 600 };
Str text_printable(Ctx *cx, Str s, size_t most);
/* s in JSON's quotes. A byte that is not UTF-8 becomes \udcXX, as Python reads names of files. */
void buf_json(Buf *b, Str s);
/* The whole message, as STYLE section 6 shows it: lines with caret, module path, "called from",
 * "try:". */
Str error_text(Ctx *cx, const char *program, const char *file);
int error_exit_code(ErrorCode code); /* 1 cannot convert, 2 usage, 3 unreadable, 4 our bug */

#endif
