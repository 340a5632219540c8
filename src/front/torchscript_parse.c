/* torchscript_parse.c - TorchScript's code language as classes and functions of eval/program.h.
 *
 * Recursive descent, a function per grammar symbol with its rule above it. Reads all
 * that PyTorch's printer writes and, for files edited by hand, `elif` and binary operators; whatever else Python has is
 * refused by its name. Nothing is looked up outside the text: names that are not locals stay names.
 *
 * A name is a local from its first assignment on, in textual order; one flat scope per function, as in PyTorch. */
#include "front/internal.h"

#define WORDS(X) \
    X(and) X(as) X(class) X(def) X(elif) X(else) X(for) X(from) X(if) X(import) X(in) X(is) X(not) X(or) X(pass) X(range) \
    X(return) X(while) X(with) X(True) X(False) X(None) X(inf) X(nan) X(infj) X(nanj) X(CONSTANTS) X(torch) X(ops) \
    X(autograd) X(annotate) X(unchecked_cast) X(uninitialized) X(isinstance) X(getattr) X(self) X(Final) X(Union) \
    X(op_version_set) X(__annotations__) X(__parameters__) X(__buffers__) X(__forward_pre_hooks__) X(__forward_hooks__)

enum {
#define X(w) W_##w,
    WORDS(X)
#undef X
    W_COUNT
};

static const char *const word_text[W_COUNT] = {
#define X(w) #w,
    WORDS(X)
#undef X
};

/* Called by these names whatever local has them too; `torch.X(` and `ops.N.X(` likewise. */
static const char *const builtin_names[] = {
    "int", "float", "bool", "str", "complex", "print", "sorted", "len", "hex", "oct", "bin", "round", "hash", "min", "max", "abs",
    "all", "any", "divmod", "sum", "list", "dict", "ord", "chr", "pow", "fork", "hasattr", "tuple",
};

/* Python that no writer emits: named in the message. */
static const char *const refused_words[] = {
    "assert", "raise", "break", "continue", "del", "global", "nonlocal", "try", "except", "finally", "lambda", "yield",
};

/* What no local is ever called, so that a statement's first word tells what it is. */
static const int reserved_words[] = {
    W_and, W_as, W_class, W_def, W_elif, W_else, W_for, W_from, W_if, W_import, W_in, W_is, W_not, W_or, W_pass, W_return, W_while,
    W_with, W_True, W_False, W_None, W_inf, W_nan, W_infj, W_nanj, W_CONSTANTS,
};

/* The names of one function. Fork bodies see those of the function around them. */
typedef struct Scope {
    struct Scope *outer;
    Map slot;                       /* name -> slot + 1 */
    VEC(Str) names;
    VEC(uint32_t) captures;         /* pairs: slot of outer, slot here */
} Scope;

typedef struct Parser {
    Ctx *cx;
    const Text *text;
    Lexer lx;
    Scope *scope;                   /* NULL outside functions */
    Str module;                     /* "__torch__.net" of code/__torch__/net.py */
    int64_t depth;
    Str word[W_COUNT];
    Map builtin, refused, reserved; /* name -> itself */
    Map aten;                       /* "add" -> "aten::add" */
    /* Lists in the making, of all nesting levels: each takes what it pushed. */
    VEC(Expr *) exprs;
    VEC(Arg) args;
    VEC(Stmt *) stmts;
    VEC(const TypeExpr *) types;
} Parser;

/* ---- tokens ---- */

static bool at(const Parser *p, TokKind kind) { return p->lx.tok.kind == kind; }
static bool at_word(const Parser *p, int w) { return at(p, TOK_WORD) && p->lx.tok.s == p->word[w]; }
static uint32_t here(const Parser *p) { return p->lx.tok.start; }
static bool next(Parser *p) { return lex_next(&p->lx); }

/* Fails at the current token; false. */
#define fail_now(p, ...) text_fail((p)->cx, E_FORMAT, (p)->text, (p)->lx.tok.start, (p)->lx.tok.end, __VA_ARGS__)

static bool take(Parser *p, TokKind kind, bool *taken)
{
    *taken = at(p, kind);
    return !*taken || next(p);
}

static bool expect(Parser *p, TokKind kind, const char *what)
{
    if (!at(p, kind))
        return fail_now(p, "expected %s", what);
    return next(p);
}

static bool expect_word(Parser *p, int w)
{
    if (!at_word(p, w))
        return fail_now(p, "expected '%s'", word_text[w]);
    return next(p);
}

static bool any_word(Parser *p, Str *out, const char *what)
{
    if (!at(p, TOK_WORD))
        return fail_now(p, "expected %s", what);
    *out = p->lx.tok.s;
    return next(p);
}

/* Nesting of expressions, types and blocks bounds the C stack here and in everything that walks the tree. */
static bool deeper(Parser *p)
{
    Where nested = { .up = p->cx->at, .kind = WHERE_STATEMENT, .text = p->text, .start = p->lx.tok.start, .end = p->lx.tok.end };
    p->cx->at = &nested;
    bool good = limit_ok(p->cx, LIMIT_DEPTH, (uint64_t)++p->depth, "levels of nesting");
    p->cx->at = nested.up;
    return good;
}

/* The n items of a list in the making that stand from `from` on, as an array of their own. */
static void *copy_last(Parser *p, const void *list, size_t from, uint32_t *n, size_t size)
{
    void *copy = *n ? mem_copy(p->cx, (const char *)list + from * size, *n * size) : NULL;
    if (!copy)
        *n = 0;
    return copy;
}

/* ---- names ---- */

static bool find_local(Parser *p, Scope *s, Str name, uint32_t *slot);

static uint32_t new_slot(Parser *p, Scope *s, Str name)
{
    uint32_t slot = (uint32_t)s->names.n;
    vec_push(p->cx, &s->names, name);
    map_put(p->cx, &s->slot, name, (void *)(uintptr_t)(slot + 1));
    return slot;
}

/* A name of the function around a fork body becomes a local of the body, filled when the body starts. */
static bool capture(Parser *p, Scope *s, Str name, uint32_t *slot)
{
    uint32_t outer;
    if (!s->outer || !find_local(p, s->outer, name, &outer))
        return false;
    *slot = new_slot(p, s, name);
    vec_push(p->cx, &s->captures, outer);
    vec_push(p->cx, &s->captures, *slot);
    return true;
}

static bool find_local(Parser *p, Scope *s, Str name, uint32_t *slot)
{
    if (!s)
        return false;
    uintptr_t known = (uintptr_t)map_get(&s->slot, name);
    if (!known)
        return capture(p, s, name, slot);
    *slot = (uint32_t)(known - 1);
    return true;
}

static bool declare(Parser *p, Str name, uint32_t *slot)
{
    uintptr_t known = (uintptr_t)map_get(&p->scope->slot, name);
    if (map_get(&p->reserved, name) || map_get(&p->refused, name))
        return fail_now(p, "'%s' cannot be the name of a local", name->s);
    *slot = known ? (uint32_t)(known - 1) : new_slot(p, p->scope, name);
    return true;
}

/* name := WORD { '.' WORD }      without blanks */
static bool dotted(Parser *p, Str *out)
{
    uint32_t start = here(p), end = p->lx.tok.end;
    if (!at(p, TOK_WORD))
        return fail_now(p, "expected a name");
    *out = p->lx.tok.s;
    if (!next(p))
        return false;
    if (!at(p, TOK_DOT))
        return true;
    while (at(p, TOK_DOT)) {
        bool adjacent = here(p) == end;
        end = p->lx.tok.end;
        if (!next(p))
            return false;
        if (!at(p, TOK_WORD) || !adjacent || here(p) != end)
            return fail_now(p, "expected a name behind the dot");
        end = p->lx.tok.end;
        if (!next(p))
            return false;
    }
    *out = str_n(p->cx, p->text->at + start, end - start);
    return true;
}

/* ---- types ---- */

static const TypeExpr *type(Parser *p);

static const TypeExpr *make_type(Parser *p, Str name, size_t from)
{
    TypeExpr *t = new(p->cx, TypeExpr);
    t->name = name;
    t->n = (uint32_t)(p->types.n - from);
    t->args = copy_last(p, p->types.at, from, &t->n, sizeof *p->types.at);
    p->types.n = from;
    return t;
}

/* type_args := '[' ( '(' ')' | type { ',' type } ) ']' */
static bool type_args(Parser *p)
{
    bool more;
    if (!next(p) || !take(p, TOK_LPAREN, &more))
        return false;
    if (more)                                               /* Tuple[()] */
        return expect(p, TOK_RPAREN, "')'") && expect(p, TOK_RBRACKET, "']'");
    do {
        const TypeExpr *t = type(p);
        if (!t || !vec_push(p->cx, &p->types, t) || !take(p, TOK_COMMA, &more))
            return false;
    } while (more);
    return expect(p, TOK_RBRACKET, "',' or ']'");
}

/* type := name [ type_args ] */
static const TypeExpr *type(Parser *p)
{
    size_t from = p->types.n;
    Str name;
    if (!deeper(p) || !dotted(p, &name) || (at(p, TOK_LBRACKET) && !type_args(p)))
        return NULL;
    p->depth--;
    return make_type(p, name, from);
}

/* type_test := type | '(' type { ',' type } [ ',' ] ')' */
static const TypeExpr *type_test(Parser *p)
{
    bool more;
    size_t from = p->types.n;
    if (!at(p, TOK_LPAREN))
        return type(p);
    if (!next(p))
        return NULL;
    do {
        const TypeExpr *t = type(p);
        if (!t || !vec_push(p->cx, &p->types, t) || !take(p, TOK_COMMA, &more))
            return NULL;
    } while (more && !at(p, TOK_RPAREN));
    return expect(p, TOK_RPAREN, "',' or ')'") ? make_type(p, p->word[W_Union], from) : NULL;
}

/* ---- expressions: atoms ---- */

static Expr *expr(Parser *p);

static Expr *make(Parser *p, ExprKind kind, uint32_t start, uint32_t end)
{
    Expr *e = new(p->cx, Expr);
    e->kind = kind;
    e->start = start;
    e->end = end;
    return e;
}

/* An expression of the current token alone. */
static Expr *make_of_token(Parser *p, ExprKind kind)
{
    Expr *e = make(p, kind, here(p), p->lx.tok.end);
    return next(p) ? e : NULL;
}

static void take_items(Parser *p, Expr *e, size_t from)
{
    e->n = (uint32_t)(p->exprs.n - from);
    e->items = copy_last(p, p->exprs.at, from, &e->n, sizeof *p->exprs.at);
    p->exprs.n = from;
}

/* Is the current token the number of an imaginary part? */
static bool imaginary(const Parser *p, double *out)
{
    if (at_word(p, W_infj) || at_word(p, W_nanj)) {
        *out = at_word(p, W_infj) ? __builtin_inf() : __builtin_nan("");
        return true;
    }
    *out = p->lx.tok.f;
    return at(p, TOK_IMAGINARY);
}

/* complex := real ( '+' | '-' ) imaginary      the sign in front belongs to the real part alone. Only a look ahead tells. */
static bool complex_tail(Parser *p, Expr *real, double re)
{
    if (!at(p, TOK_PLUS) && !at(p, TOK_MINUS))
        return true;
    Lexer before = p->lx;
    double sign = at(p, TOK_MINUS) ? -1 : 1, im;
    if (!next(p))
        return false;
    if (!imaginary(p, &im)) {
        p->lx = before;
        return true;
    }
    real->kind = X_COMPLEX;
    real->c[0] = re;
    real->c[1] = sign * im;
    real->end = p->lx.tok.end;
    return next(p);
}

static bool at_number(const Parser *p)
{
    return at(p, TOK_INT) || at(p, TOK_FLOAT) || at(p, TOK_IMAGINARY) || at_word(p, W_inf) || at_word(p, W_nan) || at_word(p, W_infj) ||
           at_word(p, W_nanj);
}

/* number := INT | FLOAT | 'inf' | 'nan' | complex      `start` is that of the sign, if there is one. */
static Expr *number(Parser *p, uint32_t start, bool negative)
{
    Expr *e = make(p, X_FLOAT, start, p->lx.tok.end);
    double sign = negative ? -1 : 1, v;
    if (at(p, TOK_INT)) {
        uint64_t i = p->lx.tok.i;
        if (!negative && i > INT64_MAX)
            return fail_now(p, "this integer does not fit 64 bits"), NULL;
        e->kind = X_INT;
        e->i = negative ? (int64_t)(0 - i) : (int64_t)i;
        v = (double)i;
    } else if (imaginary(p, &v)) {
        e->kind = X_COMPLEX;
        e->c[0] = 0;
        e->c[1] = sign * v;
        return next(p) ? e : NULL;
    } else {
        v = at(p, TOK_FLOAT) ? p->lx.tok.f : at_word(p, W_inf) ? __builtin_inf() : __builtin_nan("");
        e->f = sign * v;
    }
    return next(p) && complex_tail(p, e, sign * v) ? e : NULL;
}

/* string := STRING { STRING } */
static Expr *string(Parser *p)
{
    Expr *e = make(p, X_STR, here(p), p->lx.tok.end);
    e->s = p->lx.tok.s;
    if (!next(p))
        return NULL;
    if (!at(p, TOK_STRING))
        return e;
    Buf all = buf_new(p->cx);
    buf_add(&all, e->s->s, e->s->len);
    while (at(p, TOK_STRING)) {
        buf_add(&all, p->lx.tok.s->s, p->lx.tok.s->len);
        e->end = p->lx.tok.end;
        if (!next(p))
            return NULL;
    }
    e->s = buf_done(&all);
    return e;
}

/* items := [ expr { ',' expr } [ ',' ] ] closing      *comma: one stood behind the last */
static bool items(Parser *p, TokKind closing, const char *what, bool *comma)
{
    *comma = false;
    while (!at(p, closing)) {
        Expr *e = expr(p);
        if (!e || !vec_push(p->cx, &p->exprs, e) || !take(p, TOK_COMMA, comma))
            return false;
        if (!*comma)
            break;
    }
    return expect(p, closing, what);
}

/* parenthesised := '(' ')' | '(' expr ')' | '(' expr ',' [ expr { ',' expr } ] ')' */
static Expr *parenthesised(Parser *p)
{
    uint32_t start = here(p);
    size_t from = p->exprs.n;
    bool comma;
    if (!next(p) || !items(p, TOK_RPAREN, "',' or ')'", &comma))
        return NULL;
    if (p->exprs.n == from + 1 && !comma)
        return p->exprs.at[--p->exprs.n];
    Expr *e = make(p, X_TUPLE, start, here(p));
    take_items(p, e, from);
    return e;
}

/* list := '[' [ expr { ',' expr } ] ']' */
static Expr *list(Parser *p)
{
    Expr *e = make(p, X_LIST, here(p), here(p));
    size_t from = p->exprs.n;
    bool comma;
    if (!next(p) || !items(p, TOK_RBRACKET, "',' or ']'", &comma))
        return NULL;
    e->end = here(p);
    take_items(p, e, from);
    return e;
}

/* dict := '{' [ expr ':' expr { ',' expr ':' expr } ] '}' */
static Expr *dict(Parser *p)
{
    Expr *e = make(p, X_DICT, here(p), here(p));
    size_t from = p->exprs.n;
    bool more = true;
    if (!next(p))
        return NULL;
    while (more && !at(p, TOK_RBRACE)) {
        Expr *key = expr(p);
        if (!key || !vec_push(p->cx, &p->exprs, key) || !expect(p, TOK_COLON, "':'"))
            return NULL;
        Expr *value = expr(p);
        if (!value || !vec_push(p->cx, &p->exprs, value) || !take(p, TOK_COMMA, &more))
            return NULL;
    }
    if (!expect(p, TOK_RBRACE, "',' or '}'"))
        return NULL;
    e->end = here(p);
    take_items(p, e, from);
    return e;
}

/* ---- expressions: names and the forms that begin with one ---- */

/* typed_form := 'annotate' '(' type ',' expr ')' | 'unchecked_cast' '(' type ',' expr ')' | 'uninitialized' '(' type ')'
 *             | 'isinstance' '(' expr ',' type_test ')' */
static Expr *typed_form(Parser *p)
{
    Expr *callee = make(p, X_NAME, here(p), p->lx.tok.end), *value = NULL;
    const TypeExpr *t;
    bool test = at_word(p, W_isinstance), alone = at_word(p, W_uninitialized), comma;
    callee->name = p->lx.tok.s;
    if (!next(p) || !expect(p, TOK_LPAREN, "'('"))
        return NULL;
    if (test) {
        if (!(value = expr(p)) || !expect(p, TOK_COMMA, "','") || !(t = type_test(p)))
            return NULL;
    } else {
        if (!(t = type(p)) || (!alone && (!expect(p, TOK_COMMA, "','") || !(value = expr(p)))))
            return NULL;
    }
    uint32_t end = p->lx.tok.end;
    if (!take(p, TOK_COMMA, &comma) || !expect(p, TOK_RPAREN, "')'"))
        return NULL;
    Expr *e = make(p, X_CALL, callee->start, end);
    e->callee = callee;
    e->type = t;
    e->n_args = value != NULL;
    if (value)
        e->args = mem_copy(p->cx, &(Arg){ .value = value }, sizeof(Arg));
    return e;
}

/* odd_attribute := 'getattr' '(' expr ',' STRING ')' */
static Expr *odd_attribute(Parser *p)
{
    uint32_t start = here(p);
    if (!next(p) || !expect(p, TOK_LPAREN, "'('"))
        return NULL;
    Expr *object = expr(p);
    if (!object || !expect(p, TOK_COMMA, "','"))
        return NULL;
    if (!at(p, TOK_STRING))
        return fail_now(p, "expected the attribute's name as a string"), NULL;
    Expr *e = make(p, X_ATTR, start, 0);
    e->a = object;
    e->name = p->lx.tok.s;
    if (!next(p))
        return NULL;
    e->end = p->lx.tok.end;
    return expect(p, TOK_RPAREN, "')'") ? e : NULL;
}

/* constant := 'CONSTANTS' '.' WORD      the word is c and a number */
static Expr *constant(Parser *p)
{
    Expr *e = make(p, X_CONSTANT, here(p), 0);
    if (!next(p) || !expect(p, TOK_DOT, "'.'"))
        return NULL;
    Str w = at(p, TOK_WORD) ? p->lx.tok.s : NULL;
    bool good = w && w->len >= 2 && w->len <= 10 && w->s[0] == 'c';
    for (uint32_t i = 1; good && i < w->len; i++) {
        good = w->s[i] >= '0' && w->s[i] <= '9';
        e->i = e->i * 10 + (w->s[i] - '0');
    }
    if (!good)
        return fail_now(p, "expected the number of a constant, like c0"), NULL;
    e->end = p->lx.tok.end;
    return next(p) ? e : NULL;
}

static Str aten_name(Parser *p, Str op)
{
    Str full = map_get(&p->aten, op);
    if (!full) {
        full = str_fmt(p->cx, "aten::%s", op->s);
        map_put(p->cx, &p->aten, op, (void *)full);
    }
    return full;
}

static bool call_args(Parser *p, Expr *e);

/* operator := 'torch' '.' [ 'autograd' '.' ] WORD call | 'ops' '.' WORD '.' WORD [ '.' WORD ] call
 * *e stays NULL, and nothing is read, when it is something else. */
static bool operator(Parser *p, Expr **e)
{
    Lexer before = p->lx;
    bool torch = at_word(p, W_torch);
    Str part[3];
    int n = 0;
    uint32_t start = here(p);
    if (!next(p))
        return false;
    while (at(p, TOK_DOT) && n < 3) {
        if (!next(p) || !any_word(p, &part[n++], "a name behind the dot"))
            return false;
    }
    bool called = at(p, TOK_LPAREN);
    Expr made = { .kind = X_OP, .start = start };
    if (torch && called && n == 1)
        made.op = aten_name(p, part[0]);
    else if (torch && called && n == 2 && part[0] == p->word[W_autograd])
        made.op = aten_name(p, part[1]);
    else if (!torch && called && n >= 2)
        made.op = str_fmt(p->cx, "%s::%s", part[0]->s, part[1]->s);
    if (!made.op) {
        p->lx = before;
        return true;
    }
    if (n == 3)
        made.overload = part[2];
    *e = new(p->cx, Expr);
    **e = made;
    return call_args(p, *e);
}

/* name := local | dotted path of anything else */
static Expr *name(Parser *p)
{
    uint32_t slot;
    bool builtin = lex_followed_by(&p->lx, "(") && map_get(&p->builtin, p->lx.tok.s);
    if (!builtin && find_local(p, p->scope, p->lx.tok.s, &slot)) {
        Expr *e = make_of_token(p, X_LOCAL);
        if (e)
            e->slot = slot;
        return e;
    }
    Expr *e = make(p, X_NAME, here(p), 0);
    if (!dotted(p, &e->name))
        return NULL;
    e->end = e->start + e->name->len;
    return e;
}

static Expr *word(Parser *p)
{
    Str w = p->lx.tok.s;
    Expr *e = NULL;
    if (w == p->word[W_True] || w == p->word[W_False] || w == p->word[W_None])
        return make_of_token(p, w == p->word[W_True] ? X_TRUE : w == p->word[W_False] ? X_FALSE : X_NONE);
    if (at_number(p))
        return number(p, here(p), false);
    if (w == p->word[W_CONSTANTS])
        return constant(p);
    if ((w == p->word[W_torch] || w == p->word[W_ops]) && (!operator(p, &e) || e))
        return e;
    if (lex_followed_by(&p->lx, "(")) {
        if (w == p->word[W_annotate] || w == p->word[W_unchecked_cast] || w == p->word[W_uninitialized] || w == p->word[W_isinstance])
            return typed_form(p);
        if (w == p->word[W_getattr])
            return odd_attribute(p);
    }
    if (map_get(&p->refused, w))
        return fail_now(p, "'%s' is Python that TorchScript archives do not hold", w->s), NULL;
    return name(p);
}

/* atom := number | string | word | parenthesised | list | dict */
static Expr *atom(Parser *p)
{
    switch (p->lx.tok.kind) {
    case TOK_INT: case TOK_FLOAT: case TOK_IMAGINARY:
        return number(p, here(p), false);
    case TOK_STRING:
        return string(p);
    case TOK_WORD:
        return word(p);
    case TOK_LPAREN:
        return parenthesised(p);
    case TOK_LBRACKET:
        return list(p);
    case TOK_LBRACE:
        return dict(p);
    default:
        fail_now(p, "expected an expression");
        return NULL;
    }
}

/* ---- expressions: what follows an atom ---- */

/* arg := expr | WORD '=' expr */
static bool call_arg(Parser *p)
{
    Arg a = { 0 };
    if (at(p, TOK_WORD) && lex_followed_by(&p->lx, "=") && !lex_followed_by(&p->lx, "==")) {
        a.name = p->lx.tok.s;
        if (!next(p) || !next(p))
            return false;
    }
    a.value = expr(p);
    return a.value && vec_push(p->cx, &p->args, a);
}

/* call := '(' [ arg { ',' arg } ] [ ',' ] ')' */
static bool call_args(Parser *p, Expr *e)
{
    size_t from = p->args.n;
    bool more = true;
    if (!next(p))
        return false;
    while (more && !at(p, TOK_RPAREN))
        if (!call_arg(p) || !take(p, TOK_COMMA, &more))
            return false;
    e->end = p->lx.tok.end;
    e->n_args = (uint32_t)(p->args.n - from);
    e->args = copy_last(p, p->args.at, from, &e->n_args, sizeof(Arg));
    p->args.n = from;
    return expect(p, TOK_RPAREN, "',' or ')'");
}

/* bound := [ '-' ] INT */
static bool bound(Parser *p, int64_t *out)
{
    bool negative;
    if (!take(p, TOK_MINUS, &negative))
        return false;
    if (!at(p, TOK_INT) || p->lx.tok.i > INT64_MAX)
        return fail_now(p, "expected the constant bound of a tuple slice");
    *out = negative ? -(int64_t)p->lx.tok.i : (int64_t)p->lx.tok.i;
    return next(p);
}

/* subscript := '[' expr ']' | '[' bound ':' bound ']' */
static Expr *subscript(Parser *p, Expr *base)
{
    Expr *e = make(p, X_INDEX, base->start, 0), *index;
    if (!next(p) || !(index = expr(p)))
        return NULL;
    if (at(p, TOK_COLON)) {
        if (index->kind != X_INT)
            return fail_now(p, "a tuple slice has constant bounds"), NULL;
        e->kind = X_TUPLE_SLICE;
        e->lo = index->i;
        if (!next(p) || !bound(p, &e->hi))
            return NULL;
    } else {
        e->b = index;
    }
    e->a = base;
    e->end = p->lx.tok.end;
    return expect(p, TOK_RBRACKET, "']'") ? e : NULL;
}

/* attribute := '.' WORD */
static Expr *attribute(Parser *p, Expr *base)
{
    if (!next(p))
        return NULL;
    Expr *e = make(p, X_ATTR, base->start, p->lx.tok.end);
    e->a = base;
    return any_word(p, &e->name, "a name behind the dot") ? e : NULL;
}

static Expr *call(Parser *p, Expr *callee)
{
    Expr *e = make(p, X_CALL, callee->start, 0);
    e->callee = callee;
    return call_args(p, e) ? e : NULL;
}

/* postfix := atom { attribute | subscript | call }      each makes the tree one deeper */
static Expr *postfix(Parser *p)
{
    int64_t depth = p->depth;
    Expr *e = atom(p);
    while (e && (at(p, TOK_DOT) || at(p, TOK_LBRACKET) || at(p, TOK_LPAREN))) {
        if (!deeper(p))
            return NULL;
        e = at(p, TOK_DOT) ? attribute(p, e) : at(p, TOK_LBRACKET) ? subscript(p, e) : call(p, e);
    }
    p->depth = depth;
    return e;
}

/* ---- expressions: operators, which only people write ---- */

enum { LEVEL_OR = 1, LEVEL_AND, LEVEL_NOT, LEVEL_COMPARE, LEVEL_BITOR, LEVEL_BITXOR, LEVEL_BITAND, LEVEL_SHIFT, LEVEL_SUM, LEVEL_PRODUCT, LEVEL_POWER };

static const struct { TokKind kind; int level; const char *op; } operators[] = {
    { TOK_EQ, LEVEL_COMPARE, "eq" }, { TOK_NE, LEVEL_COMPARE, "ne" }, { TOK_LT, LEVEL_COMPARE, "lt" }, { TOK_LE, LEVEL_COMPARE, "le" },
    { TOK_GT, LEVEL_COMPARE, "gt" }, { TOK_GE, LEVEL_COMPARE, "ge" },
    { TOK_OR, LEVEL_BITOR, "__or__" }, { TOK_XOR, LEVEL_BITXOR, "__xor__" }, { TOK_AND, LEVEL_BITAND, "__and__" },
    { TOK_SHL, LEVEL_SHIFT, "__lshift__" }, { TOK_SHR, LEVEL_SHIFT, "__rshift__" },
    { TOK_PLUS, LEVEL_SUM, "add" }, { TOK_MINUS, LEVEL_SUM, "sub" },
    { TOK_STAR, LEVEL_PRODUCT, "mul" }, { TOK_SLASH, LEVEL_PRODUCT, "div" }, { TOK_FLOORDIV, LEVEL_PRODUCT, "floordiv" },
    { TOK_PERCENT, LEVEL_PRODUCT, "remainder" }, { TOK_POWER, LEVEL_POWER, "pow" },
};

typedef struct Infix { int level; const char *op; /* NULL: and, or */ int tokens; bool swapped, negated; } Infix;

/* The operator that starts at the current token; level 0: none. `is not` and `not in` are told by a look ahead. */
static Infix infix(const Parser *p)
{
    if (at_word(p, W_or) || at_word(p, W_and))
        return (Infix){ .level = at_word(p, W_or) ? LEVEL_OR : LEVEL_AND, .tokens = 1 };
    if (at_word(p, W_is))
        return lex_followed_by(&p->lx, "not ") ? (Infix){ .level = LEVEL_COMPARE, .op = "__isnot__", .tokens = 2 }
                                               : (Infix){ .level = LEVEL_COMPARE, .op = "__is__", .tokens = 1 };
    if (at_word(p, W_in))
        return (Infix){ .level = LEVEL_COMPARE, .op = "__contains__", .tokens = 1, .swapped = true };
    if (at_word(p, W_not) && lex_followed_by(&p->lx, "in "))
        return (Infix){ .level = LEVEL_COMPARE, .op = "__contains__", .tokens = 2, .swapped = true, .negated = true };
    if (p->lx.tok.kind >= TOK_PLUS)
        for (size_t i = 0; i < COUNT(operators); i++)
            if (operators[i].kind == p->lx.tok.kind)
                return (Infix){ .level = operators[i].level, .op = operators[i].op, .tokens = 1 };
    return (Infix){ 0 };
}

static Expr *op_of(Parser *p, const char *op, Expr *a, Expr *b)
{
    Expr *e = make(p, X_OP, a->start, b ? b->end : a->end);
    Arg args[2] = { { .value = a }, { .value = b } };
    e->op = aten_name(p, str_of(p->cx, op));
    e->n_args = b ? 2 : 1;
    e->args = mem_copy(p->cx, args, e->n_args * sizeof(Arg));
    return e;
}

static Expr *infix_expr(Parser *p, Infix f, Expr *a, Expr *b)
{
    if (!f.op) {
        Expr *e = make(p, X_BINARY, a->start, b->end);
        e->a = a;
        e->b = b;
        e->name = p->word[f.level == LEVEL_OR ? W_or : W_and];
        return e;
    }
    Expr *e = f.swapped ? op_of(p, f.op, b, a) : op_of(p, f.op, a, b);
    e->start = a->start;
    e->end = b->end;
    return f.negated ? op_of(p, "__not__", e, NULL) : e;
}

static Expr *binary(Parser *p, int least);

/* unary := postfix | [ '-' ] number | '-' unary | 'not' comparison */
static Expr *unary(Parser *p)
{
    uint32_t start = here(p);
    bool negative = at(p, TOK_MINUS), negated = at_word(p, W_not);
    if (!negative && !negated)
        return postfix(p);
    if (!next(p) || !deeper(p))
        return NULL;
    Expr *e;
    if (negated) {
        Expr *a = binary(p, LEVEL_COMPARE);
        e = a ? op_of(p, "__not__", a, NULL) : NULL;
    } else if (at_number(p)) {
        e = number(p, start, true);
        if (e && at(p, TOK_POWER))
            return fail_now(p, "put the power or its base into parentheses"), NULL;
    } else {
        e = make(p, X_NEG, start, 0);
        e->a = binary(p, LEVEL_POWER);
        e->end = e->a ? e->a->end : 0;
        e = e->a ? e : NULL;
    }
    if (e)
        e->start = start;
    p->depth--;
    return e;
}

/* binary(n) := unary { operator of level n or tighter, binary(level + 1) }      powers group to the right */
static Expr *binary(Parser *p, int least)
{
    int64_t depth = p->depth;
    Expr *a = unary(p);
    for (Infix f; a && (f = infix(p)).level >= least && f.level > 0;) {
        if (!deeper(p) || !next(p) || (f.tokens == 2 && !next(p)))
            return NULL;
        Expr *b = binary(p, f.level == LEVEL_POWER ? LEVEL_POWER : f.level + 1);
        if (b && f.level == LEVEL_COMPARE && infix(p).level == LEVEL_COMPARE)
            return fail_now(p, "write a chain of comparisons as two comparisons"), NULL;
        a = b ? infix_expr(p, f, a, b) : NULL;
    }
    p->depth = depth;
    return a;
}

/* expr := binary(or) */
static Expr *expr(Parser *p)
{
    if (!deeper(p))
        return NULL;
    Expr *e = binary(p, LEVEL_OR);
    p->depth--;
    return e;
}

/* ---- statements ---- */

static bool block(Parser *p, Block *out);
static Function *function(Parser *p, Scope *outer, Str owner);

static Stmt *make_stmt(Parser *p, StmtKind kind, uint32_t start)
{
    Stmt *s = new(p->cx, Stmt);
    s->kind = kind;
    s->start = start;
    return s;
}

/* The header of a compound statement ends here. */
static bool colon(Parser *p, Stmt *s)
{
    s->end = here(p);
    return expect(p, TOK_COLON, "':'");
}

/* if := 'if' expr ':' block [ 'elif' .. | 'else' ':' block ] */
static bool if_stmt(Parser *p, Stmt *s)
{
    s->kind = S_IF;
    if (!next(p) || !(s->value = expr(p)) || !colon(p, s) || !block(p, &s->body))
        return false;
    if (at_word(p, W_else))
        return next(p) && expect(p, TOK_COLON, "':'") && block(p, &s->other);
    if (!at_word(p, W_elif))
        return true;
    Stmt *inner = make_stmt(p, S_IF, here(p));
    if (!deeper(p) || !if_stmt(p, inner))
        return false;
    p->depth--;
    s->other.n = 1;
    s->other.at = mem_copy(p->cx, &inner, sizeof inner);
    return true;
}

static bool one_target(Parser *p, Stmt *s, Str name)
{
    s->n_target = 1;
    s->target = new(p->cx, uint32_t);
    return declare(p, name, s->target);
}

/* for := 'for' WORD 'in' 'range' '(' expr ')' ':' block */
static bool for_stmt(Parser *p, Stmt *s)
{
    Str name = NULL;
    s->kind = S_FOR;
    if (!next(p) || !any_word(p, &name, "the loop's variable") || !expect_word(p, W_in))
        return false;
    if (!at_word(p, W_range))
        return fail_now(p, "a loop of TorchScript archives runs over range(n)");
    if (!next(p) || !expect(p, TOK_LPAREN, "'('") || !(s->value = expr(p)) || !expect(p, TOK_RPAREN, "')'"))
        return false;
    return one_target(p, s, name) && colon(p, s) && block(p, &s->body);
}

/* while := 'while' expr ':' block */
static bool while_stmt(Parser *p, Stmt *s)
{
    s->kind = S_WHILE;
    return next(p) && (s->value = expr(p)) && colon(p, s) && block(p, &s->body);
}

/* with := 'with' expr [ 'as' WORD ] ':' block */
static bool with_stmt(Parser *p, Stmt *s)
{
    s->kind = S_WITH;
    if (!next(p) || !(s->value = expr(p)))
        return false;
    if (at_word(p, W_as)) {
        Str name = NULL;
        if (!next(p) || !any_word(p, &name, "a name") || !one_target(p, s, name))
            return false;
    }
    return colon(p, s) && block(p, &s->body);
}

/* fork_body := 'def' WORD '(' ')' ':' block      sees the locals around it */
static bool def_stmt(Parser *p, Stmt *s)
{
    s->kind = S_DEF;
    s->def = function(p, p->scope, NULL);
    if (!s->def)
        return false;
    s->end = s->def->end;
    return one_target(p, s, s->def->name);
}

static bool end_of_line(Parser *p, Stmt *s, uint32_t end)
{
    s->end = end;
    return expect(p, TOK_NEWLINE, "the end of the line");
}

/* exprlist := expr { ',' expr } [ ',' ]      pushed on exprs; *comma: one stood at the end */
static bool exprlist(Parser *p, bool *comma)
{
    do {
        Expr *e = expr(p);
        if (!e || !vec_push(p->cx, &p->exprs, e) || !take(p, TOK_COMMA, comma))
            return false;
    } while (*comma && !at(p, TOK_ASSIGN) && !at(p, TOK_NEWLINE));
    return true;
}

/* The values of an exprlist: one, or several as a tuple. */
static Expr *one_value(Parser *p, size_t from, bool comma)
{
    if (p->exprs.n == from + 1 && !comma)
        return p->exprs.at[--p->exprs.n];
    Expr *e = make(p, X_TUPLE, p->exprs.at[from]->start, p->exprs.at[p->exprs.n - 1]->end);
    take_items(p, e, from);
    return e;
}

/* return := 'return' [ exprlist ] */
static bool return_stmt(Parser *p, Stmt *s)
{
    size_t from = p->exprs.n;
    bool comma;
    s->kind = S_RETURN;
    if (!next(p))
        return false;
    if (at(p, TOK_NEWLINE))
        s->value = make(p, X_NONE, here(p), here(p));
    else if (!exprlist(p, &comma))
        return false;
    else
        s->value = one_value(p, from, comma);
    return end_of_line(p, s, s->value->end);
}

/* The name that an expression on the left side binds. */
static bool target_of(Parser *p, const Expr *e, uint32_t *slot)
{
    if (e->kind == X_LOCAL) {
        *slot = e->slot;
        return true;
    }
    if (e->kind != X_NAME || strchr(e->name->s, '.'))
        return text_fail(p->cx, E_FORMAT, p->text, e->start, e->end, "only a name or one attribute can be assigned");
    return declare(p, e->name, slot);
}

/* The right side: one value for all targets, or one for each. */
static bool assigned_values(Parser *p, Stmt *s)
{
    size_t from = p->exprs.n;
    bool comma;
    if (!exprlist(p, &comma))
        return false;
    size_t n = p->exprs.n - from;
    s->end = p->exprs.at[p->exprs.n - 1]->end;
    if (n == 1 || s->n_target <= 1) {
        s->value = one_value(p, from, comma);
        return true;
    }
    if (n != s->n_target)
        return text_fail(p->cx, E_FORMAT, p->text, s->start, s->end, "%u names on the left, %zu values on the right", s->n_target, n);
    s->n_values = (uint32_t)n;
    s->values = copy_last(p, p->exprs.at, from, &s->n_values, sizeof *p->exprs.at);
    p->exprs.n = from;
    return true;
}

/* set_attribute := expr '.' WORD '=' expr */
static bool set_attribute(Parser *p, Stmt *s, Expr *left)
{
    s->kind = S_SET_ATTR;
    s->object = left->a;
    s->attr = left->name;
    return next(p) && assigned_values(p, s) && end_of_line(p, s, s->end);
}

/* assignment := exprlist '=' exprlist | WORD ',' '=' expr      the right side is read first, so its names are the old ones */
static bool assignment(Parser *p, Stmt *s, size_t from, bool comma)
{
    size_t n = p->exprs.n - from;
    if (n == 1 && !comma && p->exprs.at[from]->kind == X_ATTR)
        return set_attribute(p, s, p->exprs.at[--p->exprs.n]);
    s->kind = S_ASSIGN;
    s->unpack = comma;
    s->n_target = (uint32_t)n;
    s->target = new_array(p->cx, uint32_t, n);
    if (!s->target || !next(p) || !assigned_values(p, s))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!target_of(p, p->exprs.at[from + i], &s->target[i]))
            return false;
    p->exprs.n = from;
    if (at(p, TOK_ASSIGN))
        return fail_now(p, "write a chain of assignments as two assignments");
    return end_of_line(p, s, s->end);
}

/* annotated := WORD ':' type '=' expr */
static bool annotated(Parser *p, Stmt *s)
{
    Expr *left = p->exprs.at[--p->exprs.n];
    uint32_t slot;
    s->kind = S_ASSIGN;
    s->n_target = 1;
    if (!next(p) || !(s->type = type(p)) || !expect(p, TOK_ASSIGN, "'='") || !assigned_values(p, s) || !target_of(p, left, &slot))
        return false;
    s->target = mem_copy(p->cx, &slot, sizeof slot);
    return end_of_line(p, s, s->end);
}

/* simple := assignment | annotated | set_attribute | expr */
static bool simple_stmt(Parser *p, Stmt *s)
{
    size_t from = p->exprs.n;
    bool comma;
    if (!exprlist(p, &comma))
        return false;
    if (at(p, TOK_ASSIGN))
        return assignment(p, s, from, comma);
    if (at(p, TOK_COLON) && p->exprs.n == from + 1 && !comma)
        return annotated(p, s);
    s->kind = S_EXPR;
    s->value = one_value(p, from, comma);
    return end_of_line(p, s, s->value->end);
}

/* stmt := 'pass' | return | if | for | while | with | fork_body | simple */
static Stmt *stmt(Parser *p)
{
    Stmt *s = make_stmt(p, S_PASS, here(p));
    Str w = at(p, TOK_WORD) ? p->lx.tok.s : NULL;
    bool done;
    if (ctx_failed(p->cx))
        return NULL;
    if (!w)
        done = simple_stmt(p, s);
    else if (w == p->word[W_return])
        done = return_stmt(p, s);
    else if (w == p->word[W_if])
        done = if_stmt(p, s);
    else if (w == p->word[W_for])
        done = for_stmt(p, s);
    else if (w == p->word[W_while])
        done = while_stmt(p, s);
    else if (w == p->word[W_with])
        done = with_stmt(p, s);
    else if (w == p->word[W_def])
        done = def_stmt(p, s);
    else if (w == p->word[W_pass])
        done = next(p) && end_of_line(p, s, s->start + 4);
    else
        done = simple_stmt(p, s);
    return done ? s : NULL;
}

/* block := NEWLINE INDENT stmt { stmt } DEDENT */
static bool block(Parser *p, Block *out)
{
    size_t from = p->stmts.n;
    if (!expect(p, TOK_NEWLINE, "the end of the line") || !deeper(p) || !expect(p, TOK_INDENT, "an indented block"))
        return false;
    while (!at(p, TOK_DEDENT)) {
        Stmt *s = stmt(p);
        if (!s || !vec_push(p->cx, &p->stmts, s))
            return false;
    }
    out->n = (uint32_t)(p->stmts.n - from);
    out->at = copy_last(p, p->stmts.at, from, &out->n, sizeof *out->at);
    p->stmts.n = from;
    p->depth--;
    return next(p);
}

/* ---- definitions ---- */

/* param := WORD [ ':' type ] [ '=' expr ] */
static bool param(Parser *p, ParamDecl *d)
{
    bool more;
    if (!any_word(p, &d->name, "a parameter") || !take(p, TOK_COLON, &more) || (more && !(d->type = type(p))) ||
        !take(p, TOK_ASSIGN, &more) || (more && !(d->deflt = expr(p))))
        return false;
    if (map_get(&p->scope->slot, d->name))
        return fail_now(p, "two parameters are called '%s'", d->name->s);
    return declare(p, d->name, &d->slot);
}

/* params := '(' [ param { ',' param } ] [ ',' ] ')' */
static bool params(Parser *p, Function *f)
{
    VEC(ParamDecl) all = { 0 };
    bool more = true;
    if (!expect(p, TOK_LPAREN, "'('"))
        return false;
    while (more && !at(p, TOK_RPAREN)) {
        ParamDecl d = { 0 };
        if (!param(p, &d) || !vec_push(p->cx, &all, d) || !take(p, TOK_COMMA, &more))
            return false;
    }
    f->param = all.at;
    f->n_param = (uint32_t)all.n;
    return expect(p, TOK_RPAREN, "',' or ')'");
}

static bool function_rest(Parser *p, Function *f)
{
    bool typed;
    if (!params(p, f) || !take(p, TOK_ARROW, &typed) || (typed && !(f->ret = type(p))))
        return false;
    f->end = here(p);
    return expect(p, TOK_COLON, "':'") && block(p, &f->body);
}

/* function := 'def' WORD params [ '->' type ] ':' block      owner: the class or file around it; NULL for a fork body */
static Function *function(Parser *p, Scope *outer, Str owner)
{
    Function *f = new(p->cx, Function);
    Scope scope = { .outer = outer }, *before = p->scope;
    f->text = p->text;
    f->start = here(p);
    if (!next(p) || !any_word(p, &f->name, "the function's name"))
        return NULL;
    f->qualname = owner ? str_fmt(p->cx, "%s.%s", owner->s, f->name->s) : f->name;
    p->scope = &scope;
    bool done = function_rest(p, f);
    p->scope = before;
    f->n_slot = (uint32_t)scope.names.n;
    f->slot_name = scope.names.at;
    f->capture = scope.captures.at;
    f->n_capture = (uint32_t)(scope.captures.n / 2);
    return done ? f : NULL;
}

/* A class in the making. */
typedef struct ClassMaker {
    ClassDef *def;
    VEC(Field) fields;
} ClassMaker;

static bool add_field(Parser *p, ClassMaker *m, Field f, uint32_t start)
{
    if (map_get(&m->def->field_index, f.name))
        return text_fail(p->cx, E_FORMAT, p->text, start, here(p), "the class has two attributes called '%s'", f.name->s);
    if (!vec_push(p->cx, &m->fields, f))
        return false;
    map_put(p->cx, &m->def->field_index, f.name, (void *)(uintptr_t)m->fields.n);
    return expect(p, TOK_NEWLINE, "the end of the line");
}

/* strlist := '[' { STRING ',' } ']' */
static bool strlist(Parser *p, const Str **out, uint32_t *n)
{
    VEC(Str) all = { 0 };
    bool more = true;
    if (!next(p) || !expect(p, TOK_ASSIGN, "'='") || !expect(p, TOK_LBRACKET, "'['"))
        return false;
    while (more && at(p, TOK_STRING))
        if (!vec_push(p->cx, &all, p->lx.tok.s) || !next(p) || !take(p, TOK_COMMA, &more))
            return false;
    *out = all.at;
    *n = (uint32_t)all.n;
    return expect(p, TOK_RBRACKET, "a string or ']'") && expect(p, TOK_NEWLINE, "the end of the line");
}

/* odd_field := '__annotations__' '=' '[' ']' | '__annotations__' '[' STRING ']' '=' type */
static bool odd_field(Parser *p, ClassMaker *m)
{
    uint32_t start = here(p);
    bool opening;
    if (!next(p) || !take(p, TOK_ASSIGN, &opening))
        return false;
    if (opening)
        return expect(p, TOK_LBRACKET, "'['") && expect(p, TOK_RBRACKET, "']'") && expect(p, TOK_NEWLINE, "the end of the line");
    if (!expect(p, TOK_LBRACKET, "'['"))
        return false;
    if (!at(p, TOK_STRING))
        return fail_now(p, "expected the attribute's name as a string");
    Field f = { .name = p->lx.tok.s };
    if (!next(p) || !expect(p, TOK_RBRACKET, "']'") || !expect(p, TOK_ASSIGN, "'='") || !(f.type = type(p)))
        return false;
    return add_field(p, m, f, start);
}

/* field := WORD ':' type [ '=' expr ]      Final[T] = constant is a constant of the class */
static bool field(Parser *p, ClassMaker *m)
{
    uint32_t start = here(p);
    Field f = { .name = p->lx.tok.s };
    bool more;
    if (!next(p) || !next(p) || !(f.type = type(p)) || !take(p, TOK_ASSIGN, &more) || (more && !(f.constant = expr(p))))
        return false;
    if (f.constant && f.type->name == p->word[W_Final] && f.type->n == 1)
        f.type = f.type->args[0];
    return add_field(p, m, f, start);
}

/* member := WORD '=' [ '-' ] ( NUMBER | STRING | 'inf' | 'nan' )      PyTorch prints the string as it is, without escapes */
static bool member(Parser *p, ClassMaker *m)
{
    uint32_t start = here(p);
    Field f = { .name = p->lx.tok.s };
    if (!next(p) || !next(p))
        return false;
    if (at(p, TOK_STRING) && p->lx.tok.escaped)
        return fail_now(p, "an enum's string with a backslash is not saved in a way that can be read back");
    if (!(f.constant = expr(p)))
        return false;
    return add_field(p, m, f, start);
}

static bool method(Parser *p, ClassMaker *m)
{
    uint32_t start = here(p), end = p->lx.tok.end;
    Function *f = function(p, NULL, m->def->qualname);
    if (!f)
        return false;
    if (map_find(&m->def->method, f->name))
        return text_fail(p->cx, E_FORMAT, p->text, start, end, "the class has two methods called '%s'", f->name->s);
    map_put(p->cx, &m->def->method, f->name, f);
    return true;
}

/* class_item := a strlist of __parameters__ .. | odd_field | field | member | function | 'pass'
 * An attribute may be called like any keyword, so a colon behind the first word decides before the word does. */
static bool class_item(Parser *p, ClassMaker *m)
{
    ClassDef *c = m->def;
    if (!at(p, TOK_WORD))
        return fail_now(p, "expected an attribute or a method");
    if (lex_followed_by(&p->lx, ":"))
        return field(p, m);
    if (at_word(p, W___parameters__))
        return strlist(p, &c->parameter, &c->n_parameter);
    if (at_word(p, W___buffers__))
        return strlist(p, &c->buffer, &c->n_buffer);
    if (at_word(p, W___forward_pre_hooks__))
        return strlist(p, &c->pre_hook, &c->n_pre_hook);
    if (at_word(p, W___forward_hooks__))
        return strlist(p, &c->hook, &c->n_hook);
    if (at_word(p, W___annotations__))
        return odd_field(p, m);
    if (at_word(p, W_def))
        return method(p, m);
    if (at_word(p, W_pass))
        return next(p) && expect(p, TOK_NEWLINE, "the end of the line");
    if (c->kind == CLASS_ENUM && lex_followed_by(&p->lx, "="))
        return member(p, m);
    return fail_now(p, "expected an attribute or a method");
}

static bool class_base(Parser *p, ClassKind *out)
{
    static const struct { const char *name; ClassKind kind; } bases[] = {
        { "Module", CLASS_MODULE }, { "NamedTuple", CLASS_NAMEDTUPLE }, { "Enum", CLASS_ENUM }, { "Interface", CLASS_INTERFACE },
        { "ModuleInterface", CLASS_INTERFACE },
    };
    if (at(p, TOK_WORD))
        for (size_t i = 0; i < COUNT(bases); i++)
            if (str_is(p->lx.tok.s, bases[i].name)) {
                *out = bases[i].kind;
                return next(p);
            }
    return fail_now(p, "expected Module, NamedTuple, Enum, Interface or ModuleInterface");
}

/* "a.___torch_mangle_3.B" is "a.B": what the class was called before two of them had to differ. */
static Str without_mangling(Ctx *cx, Str name)
{
    static const char mangle[] = "___torch_mangle_";
    if (!strstr(name->s, mangle))
        return name;
    Buf b = buf_new(cx);
    for (const char *s = name->s; *s;) {
        size_t n = strcspn(s, ".");
        if (strncmp(s, mangle, sizeof mangle - 1) != 0) {
            if (b.n)
                buf_str(&b, ".");
            buf_add(&b, s, n);
        }
        s += n + (s[n] == '.');
    }
    return buf_done(&b);
}

/* class := 'class' WORD [ '(' BASE ')' ] ':' NEWLINE [ INDENT class_item { class_item } DEDENT ] */
static ClassDef *class(Parser *p)
{
    ClassMaker m = { .def = new(p->cx, ClassDef) };
    Str name = NULL;
    bool based;
    m.def->text = p->text;
    m.def->start = here(p);
    if (!next(p) || !any_word(p, &name, "the class's name") || !take(p, TOK_LPAREN, &based) ||
        (based && (!class_base(p, &m.def->kind) || !expect(p, TOK_RPAREN, "')'"))))
        return NULL;
    m.def->end = here(p);
    m.def->qualname = str_fmt(p->cx, "%s.%s", p->module->s, name->s);
    m.def->plain = without_mangling(p->cx, m.def->qualname);
    if (!expect(p, TOK_COLON, "':'") || !expect(p, TOK_NEWLINE, "the end of the line"))
        return NULL;
    if (at(p, TOK_INDENT)) {
        if (!next(p))
            return NULL;
        while (!at(p, TOK_DEDENT))
            if (!class_item(p, &m))
                return NULL;
        if (!next(p))
            return NULL;
    }
    m.def->field = m.fields.at;
    m.def->n_field = (uint32_t)m.fields.n;
    return m.def;
}

/* ---- files ---- */

/* "code/__torch__/a/b.py" holds the names of __torch__.a.b. Before PyTorch 1.4 that was "libs/..", in 1.1 "libs.py". */
static Str module_of(Ctx *cx, const Text *text)
{
    const char *name = text->name ? text->name->s : "";
    if (!strcmp(name, "libs.py"))
        name = "__torch__";
    else if (!strncmp(name, "code/", 5) || !strncmp(name, "libs/", 5))
        name += 5;
    Buf b = buf_new(cx);
    size_t n = strlen(name);
    if (n > 3 && !strcmp(name + n - 3, ".py"))
        n -= 3;
    for (size_t i = 0; i < n; i++)
        buf_add(&b, name[i] == '/' ? "." : &name[i], 1);
    return buf_done(&b);
}

/* Lines that begin `import` or `from` are of the first releases and say nothing we need. */
static bool skip_line(Parser *p)
{
    while (!at(p, TOK_NEWLINE) && !at(p, TOK_END))
        if (!next(p))
            return false;
    return at(p, TOK_END) || next(p);
}

/* version := 'op_version_set' '=' INT */
static bool op_version(Parser *p, CodeFile *file)
{
    if (!next(p) || !expect(p, TOK_ASSIGN, "'='"))
        return false;
    if (!at(p, TOK_INT) || p->lx.tok.i > INT32_MAX)
        return fail_now(p, "expected a version number");
    file->op_version = (int)p->lx.tok.i;
    return next(p) && expect(p, TOK_NEWLINE, "the end of the line");
}

/* file := { version | import | class | function } */
static bool definition(Parser *p, CodeFile *file)
{
    if (at_word(p, W_class)) {
        ClassDef *c = class(p);
        return c && vec_push(p->cx, &file->classes, c);
    }
    if (at_word(p, W_def)) {
        Function *f = function(p, NULL, p->module);
        return f && vec_push(p->cx, &file->functions, f);
    }
    if (at_word(p, W_import) || at_word(p, W_from))
        return skip_line(p);
    if (at_word(p, W_op_version_set))
        return op_version(p, file);
    return fail_now(p, "expected a class or a function");
}

static void learn_words(Parser *p)
{
    for (int i = 0; i < W_COUNT; i++)
        p->word[i] = str_of(p->cx, word_text[i]);
    for (size_t i = 0; i < COUNT(builtin_names); i++) {
        Str s = str_of(p->cx, builtin_names[i]);
        map_put(p->cx, &p->builtin, s, (void *)s);
    }
    for (size_t i = 0; i < COUNT(refused_words); i++) {
        Str s = str_of(p->cx, refused_words[i]);
        map_put(p->cx, &p->refused, s, (void *)s);
    }
    for (size_t i = 0; i < COUNT(reserved_words); i++) {
        Str s = p->word[reserved_words[i]];
        map_put(p->cx, &p->reserved, s, (void *)s);
    }
}

static CodeFile *parse(Ctx *cx, const Text *text)
{
    Parser p = { .cx = cx, .text = text };
    CodeFile *file = new(cx, CodeFile);
    file->text = text;
    learn_words(&p);
    p.module = module_of(cx, text);
    if (!lex_open(&p.lx, cx, text))
        return NULL;
    while (!at(&p, TOK_END))
        if (ctx_failed(cx) || !definition(&p, file))
            return NULL;
    return ctx_failed(cx) ? NULL : file;
}

CodeFile *torchscript_parse(Ctx *cx, const Text *text)
{
    keep_begin(cx);
    CodeFile *file = parse(cx, text);
    keep_end(cx);
    return file;
}

const TypeExpr *torchscript_parse_type(Ctx *cx, Str text)
{
    Text *t = new(cx, Text);
    *t = (Text){ .name = text, .at = text->s, .n = text->len };
    Parser p = { .cx = cx, .text = t };
    learn_words(&p);
    if (!lex_open(&p.lx, cx, t))
        return NULL;
    const TypeExpr *made = type(&p);
    return made && expect(&p, TOK_NEWLINE, "the end of the type") ? made : NULL;
}
