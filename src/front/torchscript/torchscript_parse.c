/* torchscript_parse.c - TorchScript's code language as classes and functions of eval/program.h:
 * statements and definitions; torchscript_expr.c has names, types and expressions.
 *
 * Recursive descent, a function per grammar symbol with its rule above it. Reads all
 * that PyTorch's printer writes and, for files edited by hand, `elif` and binary operators;
 * whatever else Python has is refused by its name. Nothing is looked up outside the text: names
 * that are not locals stay names. */
#include "front/torchscript/torchscript_parse.h"

static const char *const word_text[W_COUNT] = {
#define X(w) #w,
    WORDS(X)
#undef X
};

/* Called by these names whatever local has them too; `torch.X(` and `ops.N.X(` likewise. */
static const char *const builtin_names[] = {
    "int",  "float", "bool", "str", "complex", "print", "sorted",  "len",   "hex",    "oct",
    "bin",  "round", "hash", "min", "max",     "abs",   "all",     "any",   "divmod", "sum",
    "list", "dict",  "ord",  "chr", "pow",     "fork",  "hasattr", "tuple",
};

/* Python that no writer emits: named in the message. */
static const char *const refused_words[] = {
    "assert",   "raise", "break",  "continue", "del",    "global",
    "nonlocal", "try",   "except", "finally",  "lambda", "yield",
};

/* What no local is ever called, so that a statement's first word tells what it is. */
static const int reserved_words[] = {
    W_and,    W_as,    W_class, W_def, W_elif, W_else, W_for,    W_from,      W_if,
    W_import, W_in,    W_is,    W_not, W_or,   W_pass, W_return, W_while,     W_with,
    W_True,   W_False, W_None,  W_inf, W_nan,  W_infj, W_nanj,   W_CONSTANTS,
};

static bool expect_word(Parser *p, int w)
{
    if (!at_word(p, w))
        return fail_now(p, "expected '%s'", word_text[w]);
    return next(p);
}

/* ---- statements ---- */

static bool block(Parser *p, Block *out);
static Function *function(Parser *p, Scope *outer, Str owner);

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
    if (!next(p) || !(s->value = parse_expr(p)) || !colon(p, s) || !block(p, &s->body))
        return false;
    if (at_word(p, W_else))
        return next(p) && expect(p, TOK_COLON, "':'") && block(p, &s->other);
    if (!at_word(p, W_elif))
        return true;
    Stmt *inner = stmt_new(p->cx, S_IF);
    inner->start = here(p);
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
    return scope_declare(p, name, s->target);
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
    if (!next(p) || !expect(p, TOK_LPAREN, "'('") || !(s->value = parse_expr(p)) ||
        !expect(p, TOK_RPAREN, "')'"))
        return false;
    return one_target(p, s, name) && colon(p, s) && block(p, &s->body);
}

/* while := 'while' expr ':' block */
static bool while_stmt(Parser *p, Stmt *s)
{
    s->kind = S_WHILE;
    return next(p) && (s->value = parse_expr(p)) && colon(p, s) && block(p, &s->body);
}

/* with := 'with' expr [ 'as' WORD ] ':' block */
static bool with_stmt(Parser *p, Stmt *s)
{
    s->kind = S_WITH;
    if (!next(p) || !(s->value = parse_expr(p)))
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
        Expr *e = parse_expr(p);
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
    Expr *e = expr_make(p, X_TUPLE, p->exprs.at[from]->start, p->exprs.at[p->exprs.n - 1]->end);
    expr_take_items(p, e, from);
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
        s->value = expr_make(p, X_NONE, here(p), here(p));
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
        return text_fail(p->cx, E_FORMAT, p->text, e->start, e->end,
                         "only a name or one attribute can be assigned");
    return scope_declare(p, e->name, slot);
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
        return text_fail(p->cx, E_FORMAT, p->text, s->start, s->end,
                         "%u names on the left, %zu values on the right", s->n_target, n);
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

static bool end_of_assignment(Parser *p, Stmt *s)
{
    if (at(p, TOK_ASSIGN))
        return fail_now(p, "write a chain of assignments as two assignments");
    return end_of_line(p, s, s->end);
}

/* assignment := exprlist '=' exprlist | WORD ',' '=' expr      the right side is read first, so its
 * names are the old ones */
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
    return end_of_assignment(p, s);
}

/* WORD '=' exprlist. Most statements are of this form, so no expression is made of the left
 * side. */
static bool assign_name(Parser *p, Stmt *s)
{
    Str name = p->lx.tok.s;
    s->kind = S_ASSIGN;
    s->n_target = 1;
    s->target = new(p->cx, uint32_t);
    bool known = scope_find(p, name, s->target);
    return next(p) && next(p) && assigned_values(p, s) &&
        (known || scope_declare(p, name, s->target)) && end_of_assignment(p, s);
}

static bool at_assigned_name(const Parser *p)
{
    return at(p, TOK_WORD) && lex_followed_by(&p->lx, "=") && !lex_followed_by(&p->lx, "==") &&
        !map_get(p->reserved, p->lx.tok.s) && !map_get(p->refused, p->lx.tok.s);
}

/* annotated := WORD ':' type '=' expr */
static bool annotated(Parser *p, Stmt *s)
{
    Expr *left = p->exprs.at[--p->exprs.n];
    uint32_t slot;
    s->kind = S_ASSIGN;
    s->n_target = 1;
    if (!next(p) || !(s->type = parse_type(p)) || !expect(p, TOK_ASSIGN, "'='") ||
        !assigned_values(p, s) || !target_of(p, left, &slot))
        return false;
    s->target = mem_copy(p->cx, &slot, sizeof slot);
    return end_of_line(p, s, s->end);
}

/* simple := assignment | annotated | set_attribute | expr */
static bool simple_stmt(Parser *p, Stmt *s)
{
    size_t from = p->exprs.n;
    bool comma;
    if (at_assigned_name(p))
        return assign_name(p, s);
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
    Stmt made = { .kind = S_PASS, .start = here(p) }; /* its kind is not yet known */
    Stmt *s = &made;
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
    return done ? stmt_copy(p->cx, s) : NULL;
}

/* block := NEWLINE INDENT stmt { stmt } DEDENT */
static bool block(Parser *p, Block *out)
{
    size_t from = p->stmts.n;
    if (!expect(p, TOK_NEWLINE, "the end of the line") || !deeper(p) ||
        !expect(p, TOK_INDENT, "an indented block"))
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
    if (!any_word(p, &d->name, "a parameter") || !take(p, TOK_COLON, &more) ||
        (more && !(d->type = parse_type(p))) || !take(p, TOK_ASSIGN, &more) ||
        (more && !(d->deflt = parse_expr(p))))
        return false;
    if (map_get(&p->scope->slot, d->name))
        return fail_now(p, "two parameters are called '%s'", d->name->s);
    return scope_declare(p, d->name, &d->slot);
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
    if (!params(p, f) || !take(p, TOK_ARROW, &typed) || (typed && !(f->ret = parse_type(p))))
        return false;
    f->end = here(p);
    return expect(p, TOK_COLON, "':'") && block(p, &f->body);
}

/* function := 'def' WORD params [ '->' type ] ':' block      owner: the class or file around it;
 * NULL for a fork body */
static Function *function(Parser *p, Scope *outer, Str owner)
{
    Function *f = new(p->cx, Function);
    Scope scope = { .outer = outer };
    Scope *before = p->scope;
    f->text = p->text;
    f->start = here(p);
    if (!next(p) || !any_word(p, &f->name, "the function's name"))
        return NULL;
    f->qualname = owner ? str_fmt(p->cx, "%s.%s", owner->s, f->name->s) : f->name;
    p->scope = &scope;
    bool done = function_rest(p, f);
    p->scope = before;
    map_give(p->cx, &scope.slot);
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
        return text_fail(p->cx, E_FORMAT, p->text, start, here(p),
                         "the class has two attributes called '%s'", f.name->s);
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
    return expect(p, TOK_RBRACKET, "a string or ']'") &&
        expect(p, TOK_NEWLINE, "the end of the line");
}

/* odd_field := '__annotations__' '=' '[' ']' | '__annotations__' '[' STRING ']' '=' type */
static bool odd_field(Parser *p, ClassMaker *m)
{
    uint32_t start = here(p);
    bool opening;
    if (!next(p) || !take(p, TOK_ASSIGN, &opening))
        return false;
    if (opening)
        return expect(p, TOK_LBRACKET, "'['") && expect(p, TOK_RBRACKET, "']'") &&
            expect(p, TOK_NEWLINE, "the end of the line");
    if (!expect(p, TOK_LBRACKET, "'['"))
        return false;
    if (!at(p, TOK_STRING))
        return fail_now(p, "expected the attribute's name as a string");
    Field f = { .name = p->lx.tok.s };
    if (!next(p) || !expect(p, TOK_RBRACKET, "']'") || !expect(p, TOK_ASSIGN, "'='") ||
        !(f.type = parse_type(p)))
        return false;
    return add_field(p, m, f, start);
}

/* field := WORD ':' type [ '=' expr ]      Final[T] = constant is a constant of the class */
static bool field(Parser *p, ClassMaker *m)
{
    uint32_t start = here(p);
    Field f = { .name = p->lx.tok.s };
    bool more;
    if (!next(p) || !next(p) || !(f.type = parse_type(p)) || !take(p, TOK_ASSIGN, &more) ||
        (more && !(f.constant = parse_expr(p))))
        return false;
    if (f.constant && f.type->name == p->word[W_Final] && f.type->n == 1)
        f.type = f.type->args[0];
    return add_field(p, m, f, start);
}

/* member := WORD '=' [ '-' ] ( NUMBER | STRING | 'inf' | 'nan' )      PyTorch prints the string as
 * it is, without escapes */
static bool member(Parser *p, ClassMaker *m)
{
    uint32_t start = here(p);
    Field f = { .name = p->lx.tok.s };
    if (!next(p) || !next(p))
        return false;
    if (at(p, TOK_STRING) && p->lx.tok.escaped)
        return fail_now(
            p, "an enum's string with a backslash is not saved in a way that can be read back");
    if (!(f.constant = parse_expr(p)))
        return false;
    return add_field(p, m, f, start);
}

static bool method(Parser *p, ClassMaker *m)
{
    uint32_t start = here(p);
    uint32_t end = p->lx.tok.end;
    Function *f = function(p, NULL, m->def->qualname);
    if (!f)
        return false;
    if (map_find(&m->def->method, f->name))
        return text_fail(p->cx, E_FORMAT, p->text, start, end,
                         "the class has two methods called '%s'", f->name->s);
    map_put(p->cx, &m->def->method, f->name, f);
    return true;
}

/* class_item := a strlist of __parameters__ .. | odd_field | field | member | function | 'pass'
 *
 * An attribute may have the name of a keyword, so a colon behind the first word decides before
 * the word does. */
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

/* class_base := 'Module' | 'NamedTuple' | 'Enum' | 'Interface' | 'ModuleInterface' */
static bool class_base(Parser *p, ClassKind *out)
{
    static const struct {
        const char *name;
        ClassKind kind;
    } bases[] = {
        { "Module", CLASS_MODULE },
        { "NamedTuple", CLASS_NAMEDTUPLE },
        { "Enum", CLASS_ENUM },
        { "Interface", CLASS_INTERFACE },
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
    class_set_fields(p->cx, m.def, m.fields.at, m.fields.n);
    return m.def;
}

/* ---- files ---- */

/* "code/__torch__/a/b.py" holds the names of __torch__.a.b. Before PyTorch 1.4 that was "libs/..",
 * in 1.1 "libs.py". */
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

struct Words {
    Str word[W_COUNT];
    Map builtin, refused, reserved;
};

/* In the keep arena: the words that have a meaning, the names of builtins, the words that are
 * refused, and those that no name may be. */
static struct Words *words_new(Ctx *cx)
{
    struct Words *w = new(cx, struct Words);
    for (int i = 0; i < W_COUNT; i++)
        w->word[i] = str_of(cx, word_text[i]);
    for (size_t i = 0; i < COUNT(builtin_names); i++) {
        Str s = str_of(cx, builtin_names[i]);
        map_put(cx, &w->builtin, s, s);
    }
    for (size_t i = 0; i < COUNT(refused_words); i++) {
        Str s = str_of(cx, refused_words[i]);
        map_put(cx, &w->refused, s, s);
    }
    for (size_t i = 0; i < COUNT(reserved_words); i++) {
        Str s = w->word[reserved_words[i]];
        map_put(cx, &w->reserved, s, s);
    }
    return w;
}

/* The words of the language, made for the first of the files that a program has. */
static void learn_words(Parser *p)
{
    if (!p->cx->words) {
        keep_begin(p->cx);
        p->cx->words = words_new(p->cx);
        keep_end(p->cx);
    }
    const struct Words *w = p->cx->words;
    p->word = w->word;
    p->builtin = &w->builtin;
    p->refused = &w->refused;
    p->reserved = &w->reserved;
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
    mem_give(cx, p.exprs.at, p.exprs.cap * sizeof *p.exprs.at);
    mem_give(cx, p.stmts.at, p.stmts.cap * sizeof *p.stmts.at);
    return ctx_failed(cx) ? NULL : file;
}

CodeFile *torchscript_parse(Ctx *cx, const Text *text)
{
    PhaseAround around = phase_begin(cx, PHASE_PROGRAM);
    CodeFile *file = parse(cx, text);
    phase_end(cx, around);
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
    const TypeExpr *made = parse_type(&p);
    return made && expect(&p, TOK_NEWLINE, "the end of the type") ? made : NULL;
}
