/* torchscript_parse.h - what the two halves of the parser share: its state, the tokens, and the
 * grammar symbols of expressions. Nobody else includes it. A function of a grammar symbol returns
 * NULL or false after an error. */
#ifndef PT2ONNX_FRONT_TORCHSCRIPT_PARSE_H
#define PT2ONNX_FRONT_TORCHSCRIPT_PARSE_H

#include "front/internal.h"

/* clang-format off */
#define WORDS(X) \
    X(and) X(as) X(class) X(def) X(elif) X(else) X(for) X(from) X(if) X(import) X(in) X(is) \
    X(not) X(or) X(pass) X(range) X(return) X(while) X(with) X(True) X(False) X(None) X(inf) \
    X(nan) X(infj) X(nanj) X(CONSTANTS) X(torch) X(ops) X(autograd) X(annotate) \
    X(unchecked_cast) X(uninitialized) X(isinstance) X(getattr) X(self) X(Final) X(Union) \
    X(op_version_set) X(__annotations__) X(__parameters__) X(__buffers__) \
    X(__forward_pre_hooks__) X(__forward_hooks__)
/* clang-format on */

enum {
#define X(w) W_##w,
    WORDS(X)
#undef X
        W_COUNT
};

/* The names of one function. Fork bodies see those of the function around them. */
typedef struct Scope {
    struct Scope *outer;
    Map slot; /* name -> slot + 1 */
    VEC(Str) names;
    VEC(uint32_t) captures; /* pairs: slot of outer, slot here */
} Scope;

typedef struct Parser {
    Ctx *cx;
    const Text *text;
    Lexer lx;
    Scope *scope; /* NULL outside functions */
    Str module;   /* "__torch__.net" of code/__torch__/net.py */
    int64_t depth;
    const Str *word;                         /* by W_COUNT's enum */
    const Map *builtin, *refused, *reserved; /* name -> itself */
    Map aten;                                /* "add" -> "aten::add" */
    const TypeExpr *last_type;               /* without arguments: fields are mostly of one class */
    /* Lists in the making, of all nesting levels: each takes what it pushed. */
    VEC(Expr *) exprs;
    VEC(Arg) args;
    VEC(Stmt *) stmts;
    VEC(const TypeExpr *) types;
} Parser;

/* ---- tokens ---- */

static inline bool at(const Parser *p, TokKind kind) { return p->lx.tok.kind == kind; }
static inline bool at_word(const Parser *p, int w)
{
    return at(p, TOK_WORD) && p->lx.tok.s == p->word[w];
}
static inline uint32_t here(const Parser *p) { return p->lx.tok.start; }
static inline bool next(Parser *p) { return lex_next(&p->lx); }

/* Fails at the current token; false. */
#define fail_now(p, ...) \
    text_fail((p)->cx, E_FORMAT, (p)->text, (p)->lx.tok.start, (p)->lx.tok.end, __VA_ARGS__)

static inline bool take(Parser *p, TokKind kind, bool *taken)
{
    *taken = at(p, kind);
    return !*taken || next(p);
}

static inline bool expect(Parser *p, TokKind kind, const char *what)
{
    if (!at(p, kind))
        return fail_now(p, "expected %s", what);
    return next(p);
}

static inline bool any_word(Parser *p, Str *out, const char *what)
{
    if (!at(p, TOK_WORD))
        return fail_now(p, "expected %s", what);
    *out = p->lx.tok.s;
    return next(p);
}

/* Nesting of expressions, types and blocks bounds the C stack here and in everything that walks the
 * tree. */
static inline bool deeper(Parser *p)
{
    Where nested = { .up = p->cx->at,
                     .kind = WHERE_STATEMENT,
                     .text = p->text,
                     .start = p->lx.tok.start,
                     .end = p->lx.tok.end };
    p->cx->at = &nested;
    bool good = limit_ok(p->cx, LIMIT_DEPTH, (uint64_t)++p->depth, "levels of nesting");
    p->cx->at = nested.up;
    return good;
}

/* The n items of a list in the making that stand from `from` on, as an array of their own. */
static inline void *copy_last(Parser *p, const void *list, size_t from, uint32_t *n, size_t size)
{
    void *copy = *n ? mem_copy(p->cx, (const char *)list + from * size, *n * size) : NULL;
    if (!copy)
        *n = 0;
    return copy;
}

/* ---- torchscript_expr.c ---- */

/* Is there a local of this name in p->scope? scope_declare makes it one. */
bool scope_find(Parser *p, Str name, uint32_t *slot);
bool scope_declare(Parser *p, Str name, uint32_t *slot);
const TypeExpr *parse_type(Parser *p);
Expr *parse_expr(Parser *p);
Expr *expr_make(Parser *p, ExprKind kind, uint32_t start, uint32_t end);
void expr_take_items(Parser *p, Expr *e,
                     size_t from); /* those of p->exprs that stand from `from` on */

#endif
