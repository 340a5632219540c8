/* torchscript_expr.c - names, types and expressions of TorchScript's code language.
 *
 * A name is a local from its first assignment on, in textual order; one flat scope per function, as
 * in PyTorch. */
#include "front/torchscript/torchscript_parse.h"

/* ---- names ---- */

static bool find_local(Parser *p, Scope *s, Str name, uint32_t *slot);

static uint32_t new_slot(Parser *p, Scope *s, Str name)
{
    uint32_t slot = (uint32_t)s->names.n;
    vec_push(p->cx, &s->names, name);
    map_put(p->cx, &s->slot, name, (void *)(uintptr_t)(slot + 1));
    return slot;
}

/* A name of the function around a fork body becomes a local of the body, filled when the body
 * starts. */
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

bool scope_find(Parser *p, Str name, uint32_t *slot) { return find_local(p, p->scope, name, slot); }

bool scope_declare(Parser *p, Str name, uint32_t *slot)
{
    uintptr_t known = (uintptr_t)map_get(&p->scope->slot, name);
    if (map_get(p->reserved, name) || map_get(p->refused, name))
        return fail_now(p, "'%s' cannot be the name of a local", name->s);
    *slot = known ? (uint32_t)(known - 1) : new_slot(p, p->scope, name);
    return true;
}

/* name := WORD { '.' WORD }      without blanks */
static bool dotted(Parser *p, Str *out)
{
    uint32_t start = here(p);
    uint32_t end = p->lx.tok.end;
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

static const TypeExpr *make_type(Parser *p, Str name, size_t from)
{
    bool simple = p->types.n == from;
    if (simple && p->last_type && p->last_type->name == name)
        return p->last_type;
    TypeExpr *t = new(p->cx, TypeExpr);
    if (simple)
        p->last_type = t;
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
    if (more) /* Tuple[()] */
        return expect(p, TOK_RPAREN, "')'") && expect(p, TOK_RBRACKET, "']'");
    do {
        const TypeExpr *t = parse_type(p);
        if (!t || !vec_push(p->cx, &p->types, t) || !take(p, TOK_COMMA, &more))
            return false;
    } while (more);
    return expect(p, TOK_RBRACKET, "',' or ']'");
}

/* type := name [ type_args ] */
const TypeExpr *parse_type(Parser *p)
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
        return parse_type(p);
    if (!next(p))
        return NULL;
    do {
        const TypeExpr *t = parse_type(p);
        if (!t || !vec_push(p->cx, &p->types, t) || !take(p, TOK_COMMA, &more))
            return NULL;
    } while (more && !at(p, TOK_RPAREN));
    return expect(p, TOK_RPAREN, "',' or ')'") ? make_type(p, p->word[W_Union], from) : NULL;
}

/* ---- expressions: atoms ---- */

Expr *expr_make(Parser *p, ExprKind kind, uint32_t start, uint32_t end)
{
    Expr *e = expr_new(p->cx, kind);
    e->start = start;
    e->end = end;
    return e;
}

/* An expression of the current token alone. */
static Expr *make_of_token(Parser *p, ExprKind kind)
{
    Expr *e = expr_make(p, kind, here(p), p->lx.tok.end);
    return next(p) ? e : NULL;
}

void expr_take_items(Parser *p, Expr *e, size_t from)
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

/* complex := real ( '+' | '-' ) imaginary
 *
 * A sign in front belongs to the real part alone. Whether a number is complex is known from the
 * tokens behind the first. */
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
    return at(p, TOK_INT) || at(p, TOK_FLOAT) || at(p, TOK_IMAGINARY) || at_word(p, W_inf) ||
        at_word(p, W_nan) || at_word(p, W_infj) || at_word(p, W_nanj);
}

/* number := INT | FLOAT | 'inf' | 'nan' | complex
 *
 * start: where the number begins, at its sign if there is one. */
static Expr *number(Parser *p, uint32_t start, bool negative)
{
    Expr *e = expr_make(p, X_COMPLEX, start, p->lx.tok.end);
    double sign = negative ? -1 : 1, v;
    if (at(p, TOK_INT)) {
        uint64_t i = p->lx.tok.i;
        if (!negative && i > INT64_MAX)
            return fail_now(p, "this integer does not fit 64 bits"), NULL;
        e->kind = X_INT;
        e->i = negative ? (int64_t)(0 - i) : (int64_t)i;
        v = (double)i;
    } else if (imaginary(p, &v)) {
        e->c[0] = 0;
        e->c[1] = sign * v;
        return next(p) ? e : NULL;
    } else {
        e->kind = X_FLOAT;
        if (at(p, TOK_FLOAT))
            v = p->lx.tok.f;
        else
            v = at_word(p, W_inf) ? __builtin_inf() : __builtin_nan("");
        e->f = sign * v;
    }
    return next(p) && complex_tail(p, e, sign * v) ? e : NULL;
}

/* string := STRING { STRING } */
static Expr *string(Parser *p)
{
    Expr *e = expr_make(p, X_STR, here(p), p->lx.tok.end);
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
        Expr *e = parse_expr(p);
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
    Expr *e = expr_make(p, X_TUPLE, start, here(p));
    expr_take_items(p, e, from);
    return e;
}

/* list := '[' [ expr { ',' expr } ] ']' */
static Expr *list(Parser *p)
{
    Expr *e = expr_make(p, X_LIST, here(p), here(p));
    size_t from = p->exprs.n;
    bool comma;
    if (!next(p) || !items(p, TOK_RBRACKET, "',' or ']'", &comma))
        return NULL;
    e->end = here(p);
    expr_take_items(p, e, from);
    return e;
}

/* dict := '{' [ expr ':' expr { ',' expr ':' expr } ] '}' */
static Expr *dict(Parser *p)
{
    Expr *e = expr_make(p, X_DICT, here(p), here(p));
    size_t from = p->exprs.n;
    bool more = true;
    if (!next(p))
        return NULL;
    while (more && !at(p, TOK_RBRACE)) {
        Expr *key = parse_expr(p);
        if (!key || !vec_push(p->cx, &p->exprs, key) || !expect(p, TOK_COLON, "':'"))
            return NULL;
        Expr *value = parse_expr(p);
        if (!value || !vec_push(p->cx, &p->exprs, value) || !take(p, TOK_COMMA, &more))
            return NULL;
    }
    if (!expect(p, TOK_RBRACE, "',' or '}'"))
        return NULL;
    e->end = here(p);
    expr_take_items(p, e, from);
    return e;
}

/* ---- expressions: names and the forms that begin with one ---- */

/* typed_form := 'annotate' '(' type ',' expr ')' | 'unchecked_cast' '(' type ',' expr ')' |
 * 'uninitialized' '(' type ')' | 'isinstance' '(' expr ',' type_test ')' */
static Expr *typed_form(Parser *p)
{
    Expr *callee = expr_make(p, X_NAME, here(p), p->lx.tok.end);
    Expr *value = NULL;
    const TypeExpr *t;
    bool test = at_word(p, W_isinstance);
    bool alone = at_word(p, W_uninitialized);
    bool comma;
    callee->name = p->lx.tok.s;
    if (!next(p) || !expect(p, TOK_LPAREN, "'('"))
        return NULL;
    if (test) {
        if (!(value = parse_expr(p)) || !expect(p, TOK_COMMA, "','") || !(t = type_test(p)))
            return NULL;
    } else {
        if (!(t = parse_type(p)) ||
            (!alone && (!expect(p, TOK_COMMA, "','") || !(value = parse_expr(p)))))
            return NULL;
    }
    uint32_t end = p->lx.tok.end;
    if (!take(p, TOK_COMMA, &comma) || !expect(p, TOK_RPAREN, "')'"))
        return NULL;
    Expr *e = expr_make(p, X_CALL, callee->start, end);
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
    Expr *object = parse_expr(p);
    if (!object || !expect(p, TOK_COMMA, "','"))
        return NULL;
    if (!at(p, TOK_STRING))
        return fail_now(p, "expected the attribute's name as a string"), NULL;
    Expr *e = expr_make(p, X_ATTR, start, 0);
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
    Expr *e = expr_make(p, X_CONSTANT, here(p), 0);
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
        map_put(p->cx, &p->aten, op, full);
    }
    return full;
}

static bool call_args(Parser *p, Expr *e);

/* operator := 'torch' '.' [ 'autograd' '.' ] WORD call | 'ops' '.' WORD '.' WORD [ '.' WORD ] call
 *
 * *e stays NULL, and nothing is read, where something else stands. */
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
    Str name = NULL;
    if (torch && called && n == 1)
        name = aten_name(p, part[0]);
    else if (torch && called && n == 2 && part[0] == p->word[W_autograd])
        name = aten_name(p, part[1]);
    else if (!torch && called && n >= 2)
        name = str_fmt(p->cx, "%s::%s", part[0]->s, part[1]->s);
    if (!name) {
        p->lx = before;
        return true;
    }
    *e = expr_make(p, X_OP, start, 0);
    (*e)->op = op_find(p->cx, name);
    (*e)->overload = n == 3 ? part[2] : NULL;
    return call_args(p, *e);
}

/* name := local | dotted path of anything else */
static Expr *name(Parser *p)
{
    uint32_t slot;
    bool builtin = lex_followed_by(&p->lx, "(") && map_get(p->builtin, p->lx.tok.s);
    if (!builtin && scope_find(p, p->lx.tok.s, &slot)) {
        Expr *e = make_of_token(p, X_LOCAL);
        if (e)
            e->slot = slot;
        return e;
    }
    Expr *e = expr_make(p, X_NAME, here(p), 0);
    if (!dotted(p, &e->name))
        return NULL;
    e->end = e->start + e->name->len;
    return e;
}

/* word := 'True' | 'False' | 'None' | number | constant | operator | typed_form | odd_attribute |
 * name */
static Expr *word(Parser *p)
{
    Str w = p->lx.tok.s;
    Expr *e = NULL;
    if (w == p->word[W_True])
        return make_of_token(p, X_TRUE);
    if (w == p->word[W_False])
        return make_of_token(p, X_FALSE);
    if (w == p->word[W_None])
        return make_of_token(p, X_NONE);
    if (at_number(p))
        return number(p, here(p), false);
    if (w == p->word[W_CONSTANTS])
        return constant(p);
    if ((w == p->word[W_torch] || w == p->word[W_ops]) && (!operator(p, &e) || e))
        return e;
    if (lex_followed_by(&p->lx, "(")) {
        if (w == p->word[W_annotate] || w == p->word[W_unchecked_cast] ||
            w == p->word[W_uninitialized] || w == p->word[W_isinstance])
            return typed_form(p);
        if (w == p->word[W_getattr])
            return odd_attribute(p);
    }
    if (map_get(p->refused, w))
        return fail_now(p, "'%s' is Python that TorchScript archives do not hold", w->s), NULL;
    return name(p);
}

/* atom := number | string | word | parenthesised | list | dict */
static Expr *atom(Parser *p)
{
    switch (p->lx.tok.kind) {
    case TOK_INT:
    case TOK_FLOAT:
    case TOK_IMAGINARY: return number(p, here(p), false);
    case TOK_STRING:    return string(p);
    case TOK_WORD:      return word(p);
    case TOK_LPAREN:    return parenthesised(p);
    case TOK_LBRACKET:  return list(p);
    case TOK_LBRACE:    return dict(p);
    default:            fail_now(p, "expected an expression"); return NULL;
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
    a.value = parse_expr(p);
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
    Expr *e = expr_make(p, X_TUPLE_SLICE, base->start, 0), *index;
    if (!next(p) || !(index = parse_expr(p)))
        return NULL;
    if (at(p, TOK_COLON)) {
        if (index->kind != X_INT)
            return fail_now(p, "a tuple slice has constant bounds"), NULL;
        e->lo = index->i;
        if (!next(p) || !bound(p, &e->hi))
            return NULL;
    } else {
        e->kind = X_INDEX;
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
    Expr *e = expr_make(p, X_ATTR, base->start, p->lx.tok.end);
    e->a = base;
    return any_word(p, &e->name, "a name behind the dot") ? e : NULL;
}

static Expr *call(Parser *p, Expr *callee)
{
    Expr *e = expr_make(p, X_CALL, callee->start, 0);
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
        if (at(p, TOK_DOT))
            e = attribute(p, e);
        else
            e = at(p, TOK_LBRACKET) ? subscript(p, e) : call(p, e);
    }
    p->depth = depth;
    return e;
}

/* ---- expressions: operators, which only people write ---- */

enum {
    LEVEL_OR = 1,
    LEVEL_AND,
    LEVEL_NOT,
    LEVEL_COMPARE,
    LEVEL_BITOR,
    LEVEL_BITXOR,
    LEVEL_BITAND,
    LEVEL_SHIFT,
    LEVEL_SUM,
    LEVEL_PRODUCT,
    LEVEL_POWER
};

static const struct {
    TokKind kind;
    int level;
    const char *op;
} operators[] = {
    { TOK_EQ, LEVEL_COMPARE, "eq" },
    { TOK_NE, LEVEL_COMPARE, "ne" },
    { TOK_LT, LEVEL_COMPARE, "lt" },
    { TOK_LE, LEVEL_COMPARE, "le" },
    { TOK_GT, LEVEL_COMPARE, "gt" },
    { TOK_GE, LEVEL_COMPARE, "ge" },
    { TOK_OR, LEVEL_BITOR, "__or__" },
    { TOK_XOR, LEVEL_BITXOR, "__xor__" },
    { TOK_AND, LEVEL_BITAND, "__and__" },
    { TOK_SHL, LEVEL_SHIFT, "__lshift__" },
    { TOK_SHR, LEVEL_SHIFT, "__rshift__" },
    { TOK_PLUS, LEVEL_SUM, "add" },
    { TOK_MINUS, LEVEL_SUM, "sub" },
    { TOK_STAR, LEVEL_PRODUCT, "mul" },
    { TOK_SLASH, LEVEL_PRODUCT, "div" },
    { TOK_FLOORDIV, LEVEL_PRODUCT, "floordiv" },
    { TOK_PERCENT, LEVEL_PRODUCT, "remainder" },
    { TOK_POWER, LEVEL_POWER, "pow" },
};

typedef struct Infix {
    int level;
    const char *op; /* NULL: and, or */
    int tokens;
    bool swapped, negated;
} Infix;

/* The operator that starts at the current token; level 0: none. For `is not` and `not in` the
 * next token is read too. */
static Infix infix(const Parser *p)
{
    if (at_word(p, W_or) || at_word(p, W_and))
        return (Infix){ .level = at_word(p, W_or) ? LEVEL_OR : LEVEL_AND, .tokens = 1 };
    if (at_word(p, W_is))
        return lex_followed_by(&p->lx, "not ")
            ? (Infix){ .level = LEVEL_COMPARE, .op = "__isnot__", .tokens = 2 }
            : (Infix){ .level = LEVEL_COMPARE, .op = "__is__", .tokens = 1 };
    if (at_word(p, W_in))
        return (
            Infix){ .level = LEVEL_COMPARE, .op = "__contains__", .tokens = 1, .swapped = true };
    if (at_word(p, W_not) && lex_followed_by(&p->lx, "in "))
        return (Infix){ .level = LEVEL_COMPARE,
                        .op = "__contains__",
                        .tokens = 2,
                        .swapped = true,
                        .negated = true };
    if (p->lx.tok.kind >= TOK_PLUS)
        for (size_t i = 0; i < COUNT(operators); i++)
            if (operators[i].kind == p->lx.tok.kind)
                return (Infix){ .level = operators[i].level, .op = operators[i].op, .tokens = 1 };
    return (Infix){ 0 };
}

static Expr *op_of(Parser *p, const char *op, Expr *a, Expr *b)
{
    Expr *e = expr_make(p, X_OP, a->start, b ? b->end : a->end);
    Arg args[2] = { { .value = a }, { .value = b } };
    e->op = op_find(p->cx, aten_name(p, str_of(p->cx, op)));
    e->n_args = b ? 2 : 1;
    e->args = mem_copy(p->cx, args, e->n_args * sizeof(Arg));
    return e;
}

static Expr *infix_expr(Parser *p, Infix f, Expr *a, Expr *b)
{
    if (!f.op) {
        Expr *e = expr_make(p, X_BINARY, a->start, b->end);
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
    bool negative = at(p, TOK_MINUS);
    bool negated = at_word(p, W_not);
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
        e = expr_make(p, X_NEG, start, 0);
        e->a = binary(p, LEVEL_POWER);
        e->end = e->a ? e->a->end : 0;
        e = e->a ? e : NULL;
    }
    if (e)
        e->start = start;
    p->depth--;
    return e;
}

/* binary(n) := unary { operator of level n or tighter, binary(level + 1) }      powers group to the
 * right */
static Expr *binary(Parser *p, int least)
{
    int64_t depth = p->depth;
    Expr *a = unary(p);
    while (a) {
        Infix f = infix(p);
        if (f.level < least || f.level <= 0)
            break;
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
Expr *parse_expr(Parser *p)
{
    if (!deeper(p))
        return NULL;
    Expr *e = binary(p, LEVEL_OR);
    p->depth--;
    return e;
}
