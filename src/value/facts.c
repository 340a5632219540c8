/* facts.c - what one evaluation learns for the next, kept across restarts.
 *
 * A question that the file does not answer (what rank has x?) is answered with the usual case, the
 * answer is recorded for the input that x comes from, and evaluation starts again. Each evaluation
 * registers its inputs and their symbols here, so that a value can be traced back to one. */
#include "base/limits.h"
#include "value/facts.h"
#include "value/options.h"

#include <ctype.h>

/* Restarts that an input may cost beyond --limit restarts: its rank, its type, two sizes. */
enum { FACTS_OF_AN_INPUT = 4 };

typedef struct InputFact {
    Str path;
    int rank;       /* -1: nothing assumed */
    DType dtype;    /* DT_NONE: nothing assumed */
    bool guessed;   /* the rank: no operator suggests one, the program only asks for it */
    uint32_t tried; /* ranks guessed so far, a bit each */
    Str note;       /* for the user: "x has rank 4 (net.py:12, conv2d)" */
} InputFact;

typedef struct StateFact {
    Str name;
    uint32_t varying;
} StateFact;
typedef struct KeyFact {
    Str name;
    Value key;
} KeyFact;
typedef struct LoopRow {
    LoopFact how;
    Str note;
} LoopRow;
typedef struct BranchRow {
    Str place, why;
} BranchRow;
typedef struct Input {
    Ox v;
    Str path;
    bool rank_given, dtype_given;
} Input;
typedef struct Symbol {
    Str path;
    int axis;
    bool requested;
} Symbol;

typedef struct Facts {
    int restarts;
    size_t n_inputs; /* of the latest evaluation */
    bool gradients;  /* the program asks for gradients */
    bool one_rank;   /* an evaluation with values of several ranks has failed */
    VEC(InputFact) facts;
    VEC(StateFact) states;
    Map state_at; /* its place in states, from 1 on, by name */
    VEC(StateShape) shapes;
    VEC(KeyFact) keys;
    Map loops; /* statement or expression -> LoopRow */
    VEC(BranchRow) branches;
    Map pinned; /* symbol's name -> text of what it is (Str) */
    /* Of this evaluation only, in the run arena; NULL between two. */
    struct Seen {
        VEC(Input) inputs;
        Map symbols;        /* name -> Symbol */
        Map renamed;        /* name -> Dim */
        Map usual;          /* Ox -> Type: rank_varies */
        bool several_ranks; /* a list holds tensors of different ranks */
        bool of_loops;      /* facts_loop was called */
    } *seen;
} Facts;

static Facts *facts_of(Ctx *cx)
{
    if (!cx->facts) {
        keep_begin(cx);
        cx->facts = (struct Facts *)new(cx, Facts);
        keep_end(cx);
    }
    return cx->facts;
}

static InputFact *fact_of(Ctx *cx, Str path)
{
    Facts *f = facts_of(cx);
    for (size_t i = 0; i < f->facts.n; i++)
        if (f->facts.at[i].path == path)
            return &f->facts.at[i];
    return NULL;
}

static InputFact *fact_made(Ctx *cx, Str path)
{
    InputFact *known = fact_of(cx, path);
    if (known)
        return known;
    Facts *f = facts_of(cx);
    keep_begin(cx);
    bool made = vec_push(cx, &f->facts, (InputFact){ .path = path, .rank = -1 });
    keep_end(cx);
    return made ? &f->facts.at[f->facts.n - 1] : NULL;
}

int facts_rank(Ctx *cx, Str path)
{
    const InputFact *f = fact_of(cx, path);
    return f ? f->rank : -1;
}

DType facts_dtype(Ctx *cx, Str path)
{
    const InputFact *f = fact_of(cx, path);
    return f ? f->dtype : DT_NONE;
}

static StateFact *state_of(Ctx *cx, Str name)
{
    Facts *f = facts_of(cx);
    size_t at = (uintptr_t)map_get(&f->state_at, name);
    return at ? &f->states.at[at - 1] : NULL;
}

bool facts_any_state(Ctx *cx) { return facts_of(cx)->states.n > 0; }

const uint32_t *facts_state(Ctx *cx, Str name)
{
    const StateFact *s = state_of(cx, name);
    return s ? &s->varying : NULL;
}

bool facts_add_state(Ctx *cx, Str name, uint32_t varying)
{
    StateFact *known = state_of(cx, name);
    if (known) {
        known->varying |= varying;
        return true;
    }
    Facts *f = facts_of(cx);
    keep_begin(cx);
    Str kept = str_n(cx, name->s, name->len);
    bool added = vec_push(cx, &f->states, (StateFact){ kept, varying });
    map_put(cx, &f->state_at, kept, (void *)(uintptr_t)f->states.n);
    keep_end(cx);
    return added;
}

const StateShape *facts_state_shape(Ctx *cx, Str name)
{
    const Facts *f = facts_of(cx);
    for (size_t i = 0; i < f->shapes.n; i++)
        if (f->shapes.at[i].name == name)
            return &f->shapes.at[i];
    return NULL;
}

bool facts_add_state_shape(Ctx *cx, StateShape shape)
{
    if (facts_state_shape(cx, shape.name))
        return true;
    keep_begin(cx);
    shape.name = str_n(cx, shape.name->s, shape.name->len);
    bool added = vec_push(cx, &facts_of(cx)->shapes, shape);
    keep_end(cx);
    return added;
}

const Value *facts_state_key(Ctx *cx, Str name, size_t i)
{
    const Facts *f = facts_of(cx);
    for (size_t k = 0; k < f->keys.n; k++)
        if (f->keys.at[k].name == name && i-- == 0)
            return &f->keys.at[k].key;
    return NULL;
}

bool facts_add_state_key(Ctx *cx, Str name, Value key)
{
    for (size_t i = 0;; i++) {
        const Value *known = facts_state_key(cx, name, i);
        if (!known)
            break;
        if (val_equal(cx, *known, key))
            return true;
    }
    keep_begin(cx);
    KeyFact fact = { str_n(cx, name->s, name->len),
                     key.tag == V_STR ? val_str(str_n(cx, key.s->s, key.s->len)) : key };
    bool added = vec_push(cx, &facts_of(cx)->keys, fact);
    keep_end(cx);
    return added;
}

LoopFact facts_loop_of(Ctx *cx, const void *which)
{
    const LoopRow *row = map_get(&facts_of(cx)->loops, which);
    return row ? row->how : LOOP_AS_ASKED;
}

/* The note about the loop that is being run. */
static Str unrolled_note(Ctx *cx, Str why)
{
    Pos pos;
    if (place_pos(cx, where_intern(cx), &pos) && pos.file)
        return str_fmt(cx, "the loop in %s:%u is unrolled, because ONNX cannot run it: %s",
                       pos.file->s, pos.line, why->s);
    return str_fmt(cx, "a loop is unrolled, because ONNX cannot run it: %s", why->s);
}

void facts_loop(Ctx *cx, const void *which, LoopFact how, Str why)
{
    keep_begin(cx);
    LoopRow *row = new(cx, LoopRow);
    row->how = how;
    row->note = why ? unrolled_note(cx, why) : NULL;
    map_put(cx, &facts_of(cx)->loops, which, row);
    keep_end(cx);
    facts_of(cx)->seen->of_loops = true;
}

bool facts_of_loops(Ctx *cx)
{
    const struct Seen *seen = facts_of(cx)->seen;
    if (!seen || !seen->of_loops || cx->error.final)
        return false;
    cx->error = (Error){ .code = E_NONE };
    return !fail(cx, E_RESTART, "loops are kept or unrolled");
}

static const char *text_or_none(Str s) { return s ? s->s : ""; }

/* A place as text, because SourceIds are numbers of one evaluation. */
static Str place_text(Ctx *cx, SourceId at)
{
    Buf b = buf_new(cx);
    for (const Place *p = place(cx, at); p; p = place_up(cx, &at))
        buf_fmt(&b, "%s %s %u\n", text_or_none(p->name),
                text_or_none(p->text ? p->text->name : NULL), p->start);
    return buf_done(&b);
}

Str facts_branch(Ctx *cx, SourceId at)
{
    const Facts *f = facts_of(cx);
    Str place = f->branches.n ? place_text(cx, at) : NULL;
    for (size_t i = 0; i < f->branches.n; i++)
        if (f->branches.at[i].place == place)
            return f->branches.at[i].why;
    return NULL;
}

bool facts_take_branch(Ctx *cx, SourceId at, Str why)
{
    Str place = place_text(cx, at);
    keep_begin(cx);
    vec_push(cx, &facts_of(cx)->branches, (BranchRow){ place, why });
    keep_end(cx);
    return fail(cx, E_RESTART, "one branch of an if is taken by assumption: %s", why->s);
}

bool facts_may_restart(Ctx *cx)
{
    Facts *f = facts_of(cx);
    f->seen = NULL;
    if (++f->restarts - FACTS_OF_AN_INPUT * (int64_t)f->n_inputs <= cx->limit[LIMIT_RESTARTS])
        return true;
    fail(cx, E_LIMIT, "the program was evaluated %d times and still needs something to be assumed",
         f->restarts);
    fail_hint(cx, "describe the inputs with -i, or --limit restarts=N raises this limit");
    return false;
}

/* ---- one evaluation's inputs ---- */

static bool pin(Ctx *cx, Dim sym, Dim value, const char *why);

void facts_begin(Ctx *cx)
{
    facts_of(cx)->seen = new(cx, struct Seen);
    dim_on_pin(cx, pin);
}

void facts_input(Ctx *cx, Ox v, Str path, bool rank_given, bool dtype_given)
{
    vec_push(cx, &facts_of(cx)->seen->inputs, (Input){ v, path, rank_given, dtype_given });
    facts_of(cx)->n_inputs = facts_of(cx)->seen->inputs.n;
}

void facts_symbol(Ctx *cx, Dim sym, Str path, int axis, bool requested)
{
    Str name;
    struct Seen *seen = facts_of(cx)->seen;
    if (!dim_is_sym(sym, &name) || map_find(&seen->symbols, name))
        return;
    Symbol *s = new(cx, Symbol);
    *s = (Symbol){ path, axis, requested };
    map_put(cx, &seen->symbols, name, s);
}

void facts_rename(Ctx *cx, Dim sym, Dim d)
{
    Str name;
    if (dim_is_sym(sym, &name))
        map_put(cx, &facts_of(cx)->seen->renamed, name, d);
}

Dim facts_dim(Ctx *cx, Dim sym)
{
    Str name, text;
    const struct Seen *seen = facts_of(cx)->seen;
    if (seen && dim_is_sym(sym, &name) && map_find(&seen->renamed, name))
        sym = map_get(&seen->renamed, name);
    for (int hops = 0; hops < 64; hops++) { /* x_0 is y_0, y_0 is 4: bounded, were there a circle */
        if (!dim_is_sym(sym, &name))
            break;
        text = map_get(&facts_of(cx)->pinned, name);
        if (!text)
            break;
        bool number = isdigit(
            (unsigned char)text->s[0]); /* else a symbol, which may have any name */
        sym = number ? dim_parse(cx, text->s, text->len) : dim_sym(cx, text);
    }
    return sym;
}

static const Input *input_of(Ctx *cx, Ox v)
{
    const struct Seen *seen = facts_of(cx)->seen;
    if (!seen)
        return NULL;
    for (size_t i = 0; i < seen->inputs.n; i++)
        if (seen->inputs.at[i].v == v)
            return &seen->inputs.at[i];
    return NULL;
}

/* ---- pinned sizes ---- */

/* May this value stand for a symbol in the next evaluation: is it a number, or another input's
 * symbol? */
static bool stable(Ctx *cx, Dim value)
{
    Str name;
    return dim_known(value, NULL) ||
        (dim_is_sym(value, &name) && map_find(&facts_of(cx)->seen->symbols, name));
}

/* Did -i or the file give this input's type, so that facts_report is silent about it? */
static bool shape_given(const Facts *f, Str path)
{
    for (size_t i = 0; i < f->seen->inputs.n; i++)
        if (f->seen->inputs.at[i].path == path)
            return f->seen->inputs.at[i].rank_given && f->seen->inputs.at[i].dtype_given;
    return false;
}

/* The handler of dim_require: the program works only when `sym`, of an input, is `value`. True:
 * that needs no other evaluation. False: asks for a restart, or E_VALUE where the user wanted the
 * dimension to stay dynamic. */
static bool pin(Ctx *cx, Dim sym, Dim value, const char *why)
{
    Str name;
    Facts *f = facts_of(cx);
    if (!dim_is_sym(sym, &name) || !f->seen)
        return true;
    const Symbol *s = map_get(&f->seen->symbols, name);
    if (!s)
        return true; /* a symbol of the file's own: dim_require itself replaces it */
    if (s->requested) {
        fail(cx, E_VALUE,
             "dimension %s of %s was asked to stay free, but the program works only when it is %s: "
             "%s",
             name->s, s->path->s, dim_text(cx, value)->s, why);
        fail_hint(cx, "-i %s:...[...] with %s instead of %s", s->path->s, dim_text(cx, value)->s,
                  name->s);
        return false;
    }
    if (!stable(cx, value))
        return true;
    Str text = dim_text(cx, value);
    keep_begin(cx);
    map_put(cx, &f->pinned, name, text);
    if (shape_given(f, s->path)) /* of any other input facts_report prints the whole type */
        note(cx, NOTE_ASSUMED, "dimension %d of %s is %s, because the program works only then: %s",
             s->axis, s->path->s, text->s, why);
    keep_end(cx);
    return fail(cx, E_RESTART, "dimension %s is %s", name->s, text->s);
}

/* ---- assumed rank and dtype ---- */

/* Nodes whose result has the rank of their operand whose rank is not known. */
static bool keeps_rank(const Node *n)
{
    static const char *const ops[] = {
        "Identity",
        "Cast",
        "CastLike",
        "Relu",
        "LeakyRelu",
        "PRelu",
        "Sigmoid",
        "HardSigmoid",
        "HardSwish",
        "Tanh",
        "Abs",
        "Neg",
        "Exp",
        "Log",
        "Sqrt",
        "Reciprocal",
        "Floor",
        "Ceil",
        "Round",
        "Sign",
        "Erf",
        "Gelu",
        "Elu",
        "Selu",
        "Celu",
        "Softplus",
        "Softsign",
        "Sin",
        "Cos",
        "Tan",
        "Not",
        "Clip",
        "Softmax",
        "LogSoftmax",
        "Add",
        "Sub",
        "Mul",
        "Div",
        "Pow",
        "Min",
        "Max",
        "Mod",
        "Equal",
        "Less",
        "Greater",
        "LessOrEqual",
        "GreaterOrEqual",
        "And",
        "Or",
        "Xor",
        "Where",
        "LayerNormalization",
        "BatchNormalization",
        "InstanceNormalization",
        "GroupNormalization",
        "Dropout",
        "CumSum",
        "Pad",
        "QuantizeLinear",
        "DequantizeLinear",
    };
    for (size_t i = 0; i < COUNT(ops); i++)
        if (node_is(n, ops[i]))
            return true;
    return false;
}

/* Nodes that only move elements: the dtype of the first operand is the result's. */
static bool keeps_dtype(const Node *n)
{
    static const char *const ops[] = { "Identity", "Reshape", "Squeeze", "Unsqueeze", "Transpose",
                                       "Slice",    "Gather",  "Expand",  "Concat",    "Flatten",
                                       "Split",    "Pad",     "Tile" };
    for (size_t i = 0; i < COUNT(ops); i++)
        if (node_is(n, ops[i]))
            return true;
    return false;
}

/* The operand to look at next: the first whose rank is unknown too. */
static Ox unknown_operand(const Node *n)
{
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && ox_ok(n->in[i]) && ox_rank(n->in[i]) < 0)
            return n->in[i];
    return NULL;
}

/* The input behind v, and what its rank must be for v to have `*rank`. */
static const Input *rank_source(Ctx *cx, Ox v, int *rank)
{
    while (v && v->kind == OX_NODE) {
        const Node *n = v->node;
        const int64_t *axes;
        int64_t count;
        if (node_is(n, "Unsqueeze") && n->n_in > 1 &&
            ox_known_ints(n->graph, n->in[1], &axes, &count) && *rank >= count)
            *rank -= (int)count;
        else if (node_is(n, "Squeeze") && n->n_in > 1 &&
                 ox_known_ints(n->graph, n->in[1], &axes, &count))
            *rank += (int)count;
        else if (!keeps_rank(n))
            return NULL;
        v = unknown_operand(n);
    }
    return v ? input_of(cx, v) : NULL;
}

/* What facts_guess_rank assumes, the most usual rank first. */
static const int guesses[] = { 4, 3, 2, 1, 5, 0 };

/* "net.py:12, conv2d" */
static Str place_and_reason(Ctx *cx, const char *why)
{
    Pos pos;
    if (place_pos(cx, where_intern(cx), &pos) && pos.file)
        return str_fmt(cx, "%s:%u, %s", pos.file->s, pos.line, why);
    return str_of(cx, why);
}

bool assume_rank(Ctx *cx, Ox v, int rank, const char *why)
{
    if (ctx_failed(cx))
        return false;
    const Input *in = rank_source(cx, v, &rank);
    if (!in || rank < 0) {
        fail(cx, E_UNDECIDED, "%s needs a tensor of known rank", why);
        fail_hint(cx, "give the sizes of the inputs: -i NAME:float32[N,3,224,224]");
        return false;
    }
    InputFact *f = fact_made(cx, in->path);
    if (f) {
        f->rank = rank;
        f->note = str_fmt(cx, "%s has rank %d (%s)", in->path->s, rank,
                          place_and_reason(cx, why)->s);
    }
    return fail(cx, E_RESTART, "%s is assumed to have rank %d", in->path->s, rank);
}

bool facts_guess_rank(Ctx *cx, Ox v, const char *why)
{
    int rank = guesses[0];
    const Input *in = ctx_failed(cx) ? NULL : rank_source(cx, v, &rank);
    if (assume_rank(cx, v, guesses[0], why) || cx->error.code != E_RESTART || !in)
        return false;
    InputFact *f = fact_of(cx, in->path);
    if (f) {
        f->guessed = true;
        f->tried = 1u << f->rank;
    }
    return false;
}

static void forget_guess(InputFact *fact)
{
    if (!fact->guessed)
        return;
    fact->rank = -1;
    fact->guessed = false;
    fact->tried = 0;
    fact->note = NULL;
}

/* The last guess changes first, as those before it have let the program come this far. When it has
 * no rank left, the one before changes and the last starts anew. */
bool facts_other_rank(Ctx *cx, Str raised)
{
    Facts *f = facts_of(cx);
    for (size_t i = f->facts.n; i-- > 0;) {
        InputFact *fact = &f->facts.at[i];
        if (!fact->guessed)
            continue;
        for (size_t k = 0; k < COUNT(guesses); k++) {
            if (fact->tried >> guesses[k] & 1)
                continue;
            for (size_t later = i + 1; later < f->facts.n; later++)
                forget_guess(&f->facts.at[later]);
            fact->note = str_fmt(cx, "%s has rank %d (for rank %d the model raises: %s)",
                                 fact->path->s, guesses[k], fact->rank, raised->s);
            fact->rank = guesses[k];
            fact->tried |= 1u << guesses[k];
            return !fail(cx, E_RESTART, "%s is assumed to have rank %d", fact->path->s, fact->rank);
        }
    }
    return false;
}

bool facts_say_rank(Ctx *cx, Ox v, int rank)
{
    const Input *in = ox_ok(v) && ox_rank(v) < 0 ? rank_source(cx, v, &rank) : NULL;
    InputFact *f = in && rank >= 0 ? fact_made(cx, in->path) : NULL;
    if (!f)
        return !ctx_failed(cx);
    f->rank = rank;
    return fail(cx, E_RESTART, "%s has rank %d: the model raises otherwise", in->path->s, rank);
}

/* ---- ranks that differ between runs ---- */

bool rank_may_vary(Ctx *cx) { return facts_of(cx)->seen && !facts_of(cx)->one_rank; }

void rank_varies(Ctx *cx, Ox v, Type usual)
{
    if (ox_ok(v) && usual)
        map_put(cx, &facts_of(cx)->seen->usual, v, usual);
}

bool facts_gradients(Ctx *cx) { return facts_of(cx)->gradients; }

bool facts_use_gradients(Ctx *cx)
{
    facts_of(cx)->gradients = true;
    return fail(cx, E_RESTART, "the program asks for gradients");
}

bool facts_lists_of_ranks(Ctx *cx)
{
    enum { IDENTITY_OF_SEQUENCES = 14 };
    int target = cx->opt ? cx->opt->opset : ONNX_DEFAULT_TARGET;
    if (!rank_may_vary(cx) || target < IDENTITY_OF_SEQUENCES)
        return false;
    return facts_of(cx)->seen->several_ranks = true;
}

Type facts_usual(Ctx *cx, Ox v)
{
    DType dtype = ox_dtype(v);
    const struct Seen *seen = facts_of(cx)->seen;
    while (v && !map_find(&seen->usual, v)) { /* through nodes that work element by element */
        if (v->kind != OX_NODE || !keeps_rank(v->node))
            return NULL;
        for (int i = 0; i < v->node->n_in; i++)
            if (v->node->in[i] && ox_rank(v->node->in[i]) > 0)
                return NULL;
        v = unknown_operand(v->node);
    }
    Type usual = v ? map_get(&seen->usual, v) : NULL;
    return usual ? type_tensor(cx, dtype, usual->rank, usual->dim) : NULL;
}

bool facts_decide_ranks(Ctx *cx)
{
    Facts *f = facts_of(cx);
    if (!f->seen || cx->error.final || (f->seen->usual.n == 0 && !f->seen->several_ranks))
        return false;
    f->one_rank = true;
    cx->error = (Error){ .code = E_NONE };
    return !fail(cx, E_RESTART, "every value has one rank");
}

/* The input that v's elements come from, if its dtype may still be assumed; else NULL. */
static const Input *dtype_source(Ctx *cx, Ox v)
{
    while (v && v->kind == OX_NODE && keeps_dtype(v->node))
        v = v->node->in[0];
    const Input *in = v ? input_of(cx, v) : NULL;
    return in && !in->dtype_given && facts_dtype(cx, in->path) == DT_NONE ? in : NULL;
}

bool dtype_is_assumable(Ctx *cx, Ox v) { return ox_ok(v) && dtype_source(cx, v) != NULL; }

bool assume_dtype(Ctx *cx, Ox v, DType t, const char *why)
{
    if (ctx_failed(cx))
        return false;
    const Input *in = dtype_source(cx, v);
    if (!in)
        return fail(cx, E_VALUE, "%s needs a tensor of %s", why, dtype_name(t));
    InputFact *f = fact_made(cx, in->path);
    if (f) {
        f->dtype = t;
        if (f->rank < 0)
            f->note = str_fmt(cx, "%s is %s (%s)", in->path->s, dtype_name(t),
                              place_and_reason(cx, why)->s);
    }
    return fail(cx, E_RESTART, "%s is assumed to be %s", in->path->s, dtype_name(t));
}

/* One line for each loop that was unrolled, and for each input that something was assumed about,
 * with the option that decides it. */
void facts_report(Ctx *cx)
{
    const Map *loops = &facts_of(cx)->loops;
    for (size_t i = 0; i < loops->n; i++) {
        const LoopRow *row = loops->at[i].val;
        if (row->note)
            note(cx, NOTE_CHANGED, "%s", row->note->s);
    }
    const struct Seen *seen = facts_of(cx)->seen;
    if (!seen)
        return;
    for (size_t i = 0; i < seen->inputs.n; i++) {
        const Input *in = &seen->inputs.at[i];
        const InputFact *f = fact_of(cx, in->path);
        if (in->rank_given && in->dtype_given)
            continue;
        Str type = type_text(cx, in->v->type);
        if (f && f->note)
            note(cx, NOTE_ASSUMED, "%s; -i %s:%s decides it", f->note->s, in->path->s, type->s);
        else
            note(cx, NOTE_ASSUMED,
                 "%s is %s, because nothing in the file tells; -i %s:TYPE[SIZES] decides it",
                 in->path->s, type->s, in->path->s);
    }
}
