/* rules.c - the rule language: text to trees (rules_apply.c applies them to values).
 *
 *     file        = { rule }
 *     rule        = head { head } { setting } alternative { alternative }
 *     head        = schema-line
 *                 | ("onnx" | "one.of") "::" NAME "(" [NAME {"," NAME}] ")" ["before" INT]
 *     setting     = "kinds" words | "promote" rest-of-line | "layout" word
 *                 | "derivative" NAME "=" expr | "function" [domain "::" NAME]
 *     alternative = ["when" guard {"and" guard}] {"let" NAME {"," NAME} "=" expr} "=" result
 *     result      = "(" expr "," expr {"," expr} ")" | expr
 *     guard       = "not" guard
 *                 | test "(" NAME ")"
 *                 | expr ("=" | "!=" | "<" | "<=" | ">" | ">=") expr
 *     test        = "float" | "int" | "bool" | "complex" | "const" | "given" | "none" | "nan"
 *     expr        = term {("+" | "-") term}
 *     term        = factor {("*" | "/") factor}
 *     factor      = "-" factor | NUMBER | STRING | "true" | "false" | "none"
 *                 | "[" [expr {"," expr}] "]" | "(" expr ")" | NAME
 *                 | [domain "::"] NAME ["<" NAME "=" expr {"," NAME "=" expr} ">"]
 *                   "(" [expr {"," expr}] ")" ["as" (NAME | DTYPE)]
 *                 | "dtype" "(" expr ")" | "rank" "(" expr ")"
 *                 | "cast" "(" expr "," expr ")" | "like" "(" expr "," expr ")"
 *
 * A head starts in column 1, clauses are indented, # begins a comment. Several heads share what
 * follows them. Arithmetic is on numbers only: tensors are added with Add(..). */
#include "onnx/rules/rules_tree.h"

#include <stdlib.h>

/* ---- reading ---- */

#define ONNX_HEAD "onnx::"
#define FORM_HEAD "one.of::"
enum { MAX_DEPTH = 64 }; /* most levels of nested expressions, as rule files come from users */
typedef struct Reader {
    Ctx *cx;
    const Text *text;
    size_t at, end;
    int depth;
    bool failed;
} Reader;
typedef VEC(Tree *) Trees;
typedef VEC(Str) Strs;

static void *broken_at(Reader *r, size_t at, const char *what)
{
    size_t line = 1;
    size_t start = 0;
    for (size_t i = 0; i < at; i++)
        if (r->text->at[i] == '\n')
            line++, start = i + 1;
    if (!r->failed)
        fail(r->cx, E_USAGE, "%s:%zu:%zu: %s", r->text->name->s, line, at - start + 1, what);
    r->failed = true;
    return NULL;
}

static void *broken(Reader *r, const char *what) { return broken_at(r, r->at, what); }

static char peek_raw(const Reader *r, size_t ahead)
{
    return r->at + ahead < r->end ? r->text->at[r->at + ahead] : 0;
}
static bool at_line_start(const Reader *r) { return r->at == 0 || r->text->at[r->at - 1] == '\n'; }
static bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool digit(char c) { return c >= '0' && c <= '9'; }

/* Skip blanks, ends of lines and comments. */
static void blanks(Reader *r)
{
    for (;;) {
        char c = peek_raw(r, 0);
        if (c == '#')
            while (r->at < r->end && peek_raw(r, 0) != '\n')
                r->at++;
        else if (c == ' ' || c == '\t' || c == '\r' || c == '\n')
            r->at++;
        else
            return;
    }
}

/* The next character of this rule, after blanks: 0 at its end, which is any text in column 1. */
static char peek(Reader *r)
{
    blanks(r);
    return at_line_start(r) ? 0 : peek_raw(r, 0);
}

static bool take(Reader *r, const char *text)
{
    if (!peek(r))
        return false;
    size_t n = strlen(text);
    if (r->end - r->at < n || memcmp(r->text->at + r->at, text, n) != 0)
        return false;
    if (letter(text[0]) && (letter(peek_raw(r, n)) || digit(peek_raw(r, n))))
        return false;
    r->at += n;
    return true;
}

static bool want(Reader *r, const char *text)
{
    if (take(r, text))
        return true;
    return broken(r, str_fmt(r->cx, "expected '%s'", text)->s);
}

static Str name(Reader *r)
{
    if (!letter(peek(r)))
        return broken(r, "expected a name");
    size_t start = r->at;
    while (letter(peek_raw(r, 0)) || digit(peek_raw(r, 0)))
        r->at++;
    return str_n(r->cx, r->text->at + start, r->at - start);
}

static Tree *tree(Reader *r, TreeKind kind)
{
    Tree *t = new(r->cx, Tree);
    t->kind = kind;
    t->at = (uint32_t)r->at;
    return t;
}

static Tree *expr(Reader *r);

/* expr {"," expr} and the closing bracket; the opening one is taken. */
static bool exprs(Reader *r, const char *close, Tree *into)
{
    Trees items = { 0 };
    while (!take(r, close)) {
        if (items.n > 0 && !want(r, ","))
            return false;
        Tree *t = expr(r);
        if (!t)
            return false;
        vec_push(r->cx, &items, t);
    }
    into->arg = items.at;
    into->n_arg = items.n;
    return true;
}

static Tree *number(Reader *r)
{
    const char *start = r->text->at + r->at;
    const char *end;
    const char *p = start;
    double f = parse_double(start, r->end - r->at, &end);
    while (p < end && digit(*p))
        p++;
    Tree *t = tree(r, p == end ? N_INT : N_FLOAT);
    if (end == start)
        return broken(r, "expected a number");
    t->f = f;
    for (p = start; t->kind == N_INT && p < end; p++)
        if (!mul_ok(t->i, 10, &t->i) || !add_ok(t->i, *p - '0', &t->i))
            return broken(r, "the number does not fit 64 bits");
    r->at += (size_t)(end - start);
    return t;
}

static Tree *string(Reader *r)
{
    Tree *t = tree(r, N_STR);
    size_t start = ++r->at;
    while (peek_raw(r, 0) && peek_raw(r, 0) != '"' && peek_raw(r, 0) != '\n')
        r->at++;
    if (peek_raw(r, 0) != '"')
        return broken_at(r, start - 1, "the string is not closed");
    t->s = str_n(r->cx, r->text->at + start, r->at++ - start);
    return t;
}

static bool settings(Reader *r, Tree *call)
{
    VEC(Setting) out = { 0 };
    do {
        Setting s = { .name = name(r) };
        if (!s.name || !want(r, "="))
            return false;
        if (!(s.value = expr(r)))
            return false;
        vec_push(r->cx, &out, s);
    } while (take(r, ","));
    call->attr = out.at;
    call->n_attr = out.n;
    return want(r, ">");
}

/* The function-like words of the language; each takes a fixed number of arguments. */
static const struct {
    const char *name;
    TreeKind kind;
    size_t n;
} words[] = {
    { "dtype", N_DTYPE, 1 },
    { "rank", N_RANK, 1 },
    { "cast", N_CAST, 2 },
    { "like", N_LIKE, 2 },
};

static Tree *word_call(Reader *r, Tree *t)
{
    for (size_t i = 0; i < COUNT(words); i++)
        if (!t->domain && str_is(t->s, words[i].name)) {
            t->kind = words[i].kind;
            if (t->n_arg != words[i].n)
                return broken_at(r, t->at,
                                 str_fmt(r->cx, "%s takes %zu argument%s", words[i].name,
                                         words[i].n, words[i].n == 1 ? "" : "s")
                                     ->s);
        }
    if (t->kind == N_CALL && !t->domain && !onnx_op(r->cx, t->s->s))
        return broken_at(r, t->at, str_fmt(r->cx, "ONNX has no operator '%s'", t->s->s)->s);
    return t;
}

/* A name, a call, or a call of a custom domain: my.domain::Op(x). */
static Tree *named(Reader *r)
{
    Tree *t = tree(r, N_NAME);
    size_t start = r->at;
    while (letter(peek_raw(r, 0)) || digit(peek_raw(r, 0)) || peek_raw(r, 0) == '.')
        r->at++;
    t->s = str_n(r->cx, r->text->at + start, r->at - start);
    if (take(r, "::")) {
        t->domain = t->s;
        if (!(t->s = name(r)))
            return NULL;
    }
    char next = peek(r);
    bool attrs = next == '<' && (letter(peek_raw(r, 1)) && t->s->s[0] >= 'A' && t->s->s[0] <= 'Z');
    if (attrs && (r->at++, !settings(r, t)))
        return NULL;
    if (!take(r, "("))
        return attrs || t->domain ? broken(r, "expected '('") : t;
    t->kind = N_CALL;
    if (!exprs(r, ")", t))
        return NULL;
    if (t->domain && take(r, "as") && !(t->as = name(r)))
        return NULL;
    return word_call(r, t);
}

static Tree *factor(Reader *r);

/* t becomes the negative of the factor that follows. */
static Tree *negated(Reader *r, Tree *t)
{
    t->kind = N_NEG;
    t->arg = new(r->cx, Tree *);
    t->n_arg = 1;
    if (++r->depth > MAX_DEPTH)
        return broken(r, "the expression is nested too deeply");
    t->arg[0] = factor(r);
    r->depth--;
    return t->arg[0] ? t : NULL;
}

/* factor = NUMBER | STRING | "-" factor | "(" expr ")" | "[" exprs "]" | "true" | "false" | "none"
 *        | named */
static Tree *factor(Reader *r)
{
    char c = peek(r);
    if (digit(c) || c == '.')
        return number(r);
    if (c == '"')
        return string(r);
    Tree *t = tree(r, N_NONE);
    if (take(r, "-"))
        return negated(r, t);
    if (take(r, "(")) {
        Tree *inner = expr(r);
        return inner && want(r, ")") ? inner : NULL;
    }
    if (take(r, "[")) {
        t->kind = N_LIST;
        return exprs(r, "]", t) ? t : NULL;
    }
    bool yes = take(r, "true");
    if (yes || take(r, "false")) {
        t->kind = N_BOOL;
        t->i = yes;
        return t;
    }
    if (take(r, "none"))
        return t;
    return letter(c) ? named(r) : broken(r, "expected an expression");
}

static Tree *arith(Reader *r, char operator, Tree *a, Tree *b)
{
    Tree *t = tree(r, N_ARITH);
    t->i = operator;
    t->arg = new_array(r->cx, Tree *, 2);
    if (!t->arg)
        return NULL;
    t->n_arg = 2;
    t->arg[0] = a;
    t->arg[1] = b;
    return a && b ? t : NULL;
}

static Tree *term(Reader *r)
{
    Tree *t = factor(r);
    while (t) {
        char c = peek(r);
        if (c != '*' && c != '/')
            break;
        r->at++;
        t = arith(r, c, t, factor(r));
    }
    return t;
}

static Tree *expr(Reader *r)
{
    if (++r->depth > MAX_DEPTH)
        return broken(r, "the expression is nested too deeply");
    Tree *t = term(r);
    while (t) {
        char c = peek(r);
        if (c != '+' && c != '-')
            break;
        r->at++;
        t = arith(r, c, t, term(r));
    }
    r->depth--;
    return t;
}

typedef struct GuardWord {
    const char *text;
    GuardKind kind;
} GuardWord;

static const GuardWord guard_tests[] = {
    { "float", G_FLOAT }, { "int", G_INT },     { "bool", G_BOOL }, { "complex", G_COMPLEX },
    { "const", G_CONST }, { "given", G_GIVEN }, { "none", G_NONE }, { "nan", G_NAN },
};
static const GuardWord guard_compares[] = {
    { "!=", G_NE }, { "<=", G_LE }, { ">=", G_GE }, { "=", G_EQ }, { "<", G_LT }, { ">", G_GT },
};

/* Reads the next word if it is one of these; else NULL. */
static const GuardWord *take_word(Reader *r, const GuardWord *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (take(r, at[i].text))
            return &at[i];
    return NULL;
}

/* guard = "not" guard | TEST "(" expr ")" | expr COMPARE expr */
static Guard *guard(Reader *r)
{
    Guard *g = new(r->cx, Guard);
    if (take(r, "not")) {
        g->kind = G_NOT;
        if (++r->depth > MAX_DEPTH)
            return broken(r, "the guard is nested too deeply");
        g->inner = guard(r);
        r->depth--;
        return g->inner ? g : NULL;
    }
    const GuardWord *test = take_word(r, guard_tests, COUNT(guard_tests));
    if (test) {
        g->kind = test->kind;
        return want(r, "(") && (g->a = expr(r)) && want(r, ")") ? g : NULL;
    }
    g->a = expr(r);
    if (!g->a)
        return NULL;
    const GuardWord *compare = take_word(r, guard_compares, COUNT(guard_compares));
    if (!compare)
        return broken(r, "a guard compares, as in keepdim = true");
    g->kind = compare->kind;
    g->b = expr(r);
    return g->b ? g : NULL;
}

static bool let(Reader *r, Alternative *a)
{
    Strs names = { 0 };
    do {
        Str s = name(r);
        if (!s)
            return false;
        vec_push(r->cx, &names, s);
    } while (take(r, ","));
    Let l = { .name = names.at, .n_name = names.n };
    if (!want(r, "=") || !(l.value = expr(r)))
        return false;
    vec_push(r->cx, &a->lets, l);
    return true;
}

/* "(" starts a list of results when a comma follows its first expression; else it is arithmetic. */
static bool results(Reader *r, Alternative *a)
{
    size_t start = r->at;
    Tree list = { 0 };
    if (take(r, "(") && exprs(r, ")", &list) && list.n_arg > 1) {
        for (size_t i = 0; i < list.n_arg; i++)
            vec_push(r->cx, &a->results, list.arg[i]);
        return true;
    }
    if (r->failed)
        return false;
    r->at = start;
    Tree *t = expr(r);
    if (t)
        vec_push(r->cx, &a->results, t);
    return t != NULL;
}

/* Reads the `when` and `let` clauses of an alternative. */
static bool conditions(Reader *r, Alternative *a)
{
    if (take(r, "when")) {
        do {
            Guard *g = guard(r);
            if (!g)
                return false;
            vec_push(r->cx, &a->guards, g);
        } while (take(r, "and"));
    }
    while (take(r, "let"))
        if (!let(r, a))
            return false;
    return want(r, "=");
}

static bool alternative(Reader *r, struct RuleBody *body)
{
    Alternative a = { 0 };
    if (!conditions(r, &a) || !results(r, &a))
        return false;
    vec_push(r->cx, &body->at, a);
    return true;
}

/* Skips the rest of Op<..>(..) behind its name. depth: how many brackets are open around it. */
static void skip_call(Reader *r, int depth)
{
    for (;;) {
        char c = peek(r);
        if (!c)
            return;
        if (c == '"') {
            string(r);
            continue;
        }
        depth += (c == '(' || c == '[' || c == '<') - (c == ')' || c == ']' || c == '>');
        r->at++;
        if (depth == 0 && peek(r) != '(')
            return;
    }
}

/* The outermost operators of a result, which is a call. */
static bool top(Reader *r, RuleTops *out)
{
    int casts = 0;
    for (; take(r, "cast"); casts++)
        if (!vec_push(r->cx, out, str_of(r->cx, "Cast")) || !want(r, "("))
            return false;
    size_t start = (peek(r), r->at);
    if (!name(r) || (take(r, ".") && !(name(r) && want(r, "::") && name(r))))
        return false;
    vec_push(r->cx, out, str_n(r->cx, r->text->at + start, r->at - start));
    skip_call(r, casts);
    return true;
}

static Str rest_of_line(Reader *r)
{
    while (peek_raw(r, 0) == ' ' || peek_raw(r, 0) == '\t')
        r->at++;
    size_t start = r->at, end;
    while (r->at < r->end && peek_raw(r, 0) != '\n' && peek_raw(r, 0) != '#')
        r->at++;
    for (end = r->at; end > start && strchr(" \t\r", r->text->at[end - 1]); end--)
        ;
    return str_n(r->cx, r->text->at + start, end - start);
}

static bool starts(const Reader *r, const char *text)
{
    size_t n = strlen(text);
    return r->end - r->at > n && memcmp(r->text->at + r->at, text, n) == 0;
}

/* Reads a head that is no PyTorch schema: onnx::HardSwish(X) before 14, or one.of::square(X), a
 * form for use in other rules. */
static bool graph_head(Reader *r, Rule *rule, const char *domain)
{
    r->at += strlen(domain);
    Strs params = { 0 };
    size_t start = r->at;
    while (letter(peek_raw(r, 0)) || digit(peek_raw(r, 0)))
        r->at++;
    Str op = str_n(r->cx, r->text->at + start, r->at - start);
    if (strcmp(domain, ONNX_HEAD) == 0 && !onnx_op(r->cx, op->s))
        return broken_at(r, start, str_fmt(r->cx, "ONNX has no operator '%s'", op->s)->s);
    rule->head = str_fmt(r->cx, "%s%s", domain, op->s);
    if (!want(r, "("))
        return false;
    while (!take(r, ")")) {
        if (params.n > 0 && !want(r, ","))
            return false;
        Str s = name(r);
        if (!s)
            return false;
        vec_push(r->cx, &params, s);
    }
    rule->params = params.at;
    rule->n_params = params.n;
    if (take(r, "before")) {
        Tree *n = (peek(r), number(r));
        if (!n)
            return false;
        rule->before = (int)n->i;
    }
    return true;
}

static bool head(Reader *r, Rule *rule)
{
    if (starts(r, ONNX_HEAD) || starts(r, FORM_HEAD))
        return graph_head(r, rule, starts(r, ONNX_HEAD) ? ONNX_HEAD : FORM_HEAD);
    size_t start = r->at;
    rule->head = rest_of_line(r);
    if (!strstr(rule->head->s, "::") || !strchr(rule->head->s, '('))
        return broken_at(r, start,
                         "expected an operator's schema, as in my::op(Tensor x) -> Tensor");
    return true;
}

static Rule *one_head(Reader *r)
{
    Rule *out = new(r->cx, Rule);
    out->text = r->text;
    out->start = (uint32_t)r->at;
    return head(r, out) ? out : NULL;
}

static void skip_line(Reader *r)
{
    const char *from = r->text->at + r->at;
    const char *newline = memchr(from, '\n', r->end - r->at);
    r->at = newline ? (size_t)(newline - r->text->at) + 1 : r->end;
}

/* Skips to the next text in column 1. */
static void skip_rule(Reader *r)
{
    while (peek(r))
        skip_line(r);
}

/* "my::op(Tensor x) ..." -> my, op; the whole text must be a name when it is `exact`. */
static bool split_name(Ctx *cx, const char *text, bool exact, Rule *out)
{
    const char *sep = strstr(text, "::");
    const char *end = sep ? sep + 2 : text;
    while (letter(*end) || digit(*end))
        end++;
    if (!sep || sep == text || end == sep + 2 || digit(sep[2]) || (exact && *end))
        return false;
    out->domain = str_n(cx, text, (size_t)(sep - text));
    out->function = str_n(cx, sep + 2, (size_t)(end - sep - 2));
    return true;
}

/* Reads the name of the clause `function`. Without one it is the operator's own: my::op is the
 * function op of domain my. */
static bool function_name(Reader *r, Rule *out)
{
    size_t at = r->at;
    Str word = rest_of_line(r);
    out->own_name = word->len == 0;
    return split_name(r->cx, out->own_name ? out->head->s : word->s, !out->own_name, out) ||
        broken_at(r, at, "expected a function's name, as in my.domain::Op");
}

/* Does a clause begin here, or an alternative? */
static bool begins_clause(const Reader *r)
{
    static const char *const clauses[] = { "kinds ",   "promote ", "layout ", "derivative ",
                                           "function", "when ",    "let ",    "=" };
    for (size_t i = 0; i < COUNT(clauses); i++)
        if (starts(r, clauses[i]))
            return true;
    return false;
}

/* NAME =, of a parameter: EXPR begins where the reader stands then. NULL after an error. */
static Derivative *derivative_of(Reader *r, Rule *out)
{
    if (!out->derivatives)
        out->derivatives = new(r->cx, struct Derivatives);
    Derivative d = { .param = name(r) };
    if (!d.param || !want(r, "="))
        return NULL;
    d.start = (uint32_t)r->at;
    if (!vec_push(r->cx, &out->derivatives->at, d))
        return NULL;
    return &out->derivatives->at.at[out->derivatives->at.n - 1];
}

/* EXPR goes on over lines, up to the next clause. */
static bool derivative(Reader *r, Rule *out)
{
    if (!derivative_of(r, out))
        return false;
    do
        skip_line(r);
    while (peek(r) && !begins_clause(r));
    return true;
}

bool derivative_read(Ctx *cx, const Rule *rule, Derivative *d)
{
    if (d->value)
        return true;
    Reader r = { .cx = cx, .text = rule->text, .at = d->start, .end = rule->end };
    keep_begin(cx);
    d->value = expr(&r);
    if (d->value && peek(&r) && !begins_clause(&r))
        broken(&r, "expected the next clause, or '='");
    keep_end(cx);
    return !r.failed && !ctx_failed(cx);
}

const Rule *rule_of_derivatives(Ctx *cx, const char *head, const char *text)
{
    keep_begin(cx);
    Text *whole = new(cx, Text);
    Rule *out = new(cx, Rule);
    Str indented = str_cat(cx, " ", text, "");
    *whole = (Text){ .name = str_of(cx, head), .at = indented->s, .n = indented->len };
    *out = (Rule){ .head = whole->name, .text = whole };
    Reader r = { .cx = cx, .text = whole, .end = whole->n };
    bool fine = true;
    while (fine && peek(&r)) {
        Derivative *d = derivative_of(&r, out);
        fine = d && (d->value = expr(&r));
    }
    keep_end(cx);
    return fine && !ctx_failed(cx) ? out : NULL;
}

/* ("kinds" LINE | "promote" LINE | "layout" LINE | "derivative" ..| "function" NAME)* and then the
 * body. Only the
 * place of the body is kept: it is read when a node first needs the rule. */
static bool settings_then_body(Reader *r, Rule *out)
{
    for (;;) {
        if (take(r, "kinds")) {
            out->kinds_at = (uint32_t)r->at + 1;
            out->kinds = rest_of_line(r);
        } else if (take(r, "promote")) {
            out->promote_at = (uint32_t)r->at + 1;
            out->promote = rest_of_line(r);
        } else if (take(r, "layout")) {
            out->layout_at = (uint32_t)r->at + 1;
            out->layout = rest_of_line(r);
        } else if (take(r, "derivative")) {
            if (!derivative(r, out))
                return false;
        } else if (!take(r, "function")) {
            break;
        } else if (!function_name(r, out)) {
            return false;
        }
    }
    out->body = new(r->cx, struct RuleBody);
    out->body->start = (uint32_t)r->at;
    bool empty = !peek(r);
    skip_rule(r);
    out->end = (uint32_t)r->at;
    return !empty || broken_at(r, out->start, "the rule has no '= ...'");
}

/* One or more heads, then the clauses that they share. */
static bool rule(Reader *r, RuleList *out)
{
    size_t first = out->n;
    do {
        Rule *one = at_line_start(r) ? one_head(r) : broken(r, "a rule starts in column 1");
        if (!one || !vec_push(r->cx, out, one))
            return false;
        blanks(r);
    } while (r->at < r->end && at_line_start(r));
    Rule *last = out->at[out->n - 1];
    if (!settings_then_body(r, last))
        return false;
    for (size_t i = first; i + 1 < out->n; i++) {
        Rule *each = out->at[i];
        each->kinds = last->kinds;
        each->kinds_at = last->kinds_at;
        each->promote_at = last->promote_at;
        each->promote = last->promote;
        each->layout_at = last->layout_at;
        each->layout = last->layout;
        each->derivatives = last->derivatives;
        each->domain = last->domain;
        each->function = last->function;
        if (last->own_name)
            split_name(r->cx, each->head->s, false, each);
        each->body = last->body;
        each->end = last->end;
    }
    return true;
}

bool rules_scan(Ctx *cx, const Text *text, RuleList *out)
{
    Reader r = { .cx = cx, .text = text, .end = text->n };
    bool fine = true;
    keep_begin(cx);
    for (blanks(&r); fine && r.at < r.end && !ctx_failed(cx); blanks(&r))
        fine = rule(&r, out);
    keep_end(cx);
    return fine && !r.failed && !ctx_failed(cx);
}

/* ---- the rules of a text of our own ---- */

RuleSet rule_set(Ctx *cx, const char *file, const char *text, const NameTable *names)
{
    Text *whole = new(cx, Text);
    *whole = (Text){ .name = str_of(cx, file), .at = text, .n = strlen(text) };
    return (RuleSet){ .text = whole, .names = names };
}

/* A head's place as a key of a map; never NULL. */
static const void *key_of(uint32_t at, size_t number)
{
    return (const void *)(((uintptr_t)at << 8 | (uintptr_t)number) + 1);
}

/* Heads share what follows them, so a rule is read with all of its heads. */
static void read_heads(Ctx *cx, RuleSet *set, uint32_t at)
{
    RuleList heads = { 0 };
    Reader r = { .cx = cx, .text = set->text, .at = at, .end = set->text->n };
    keep_begin(cx);
    bool fine = rule(&r, &heads);
    keep_end(cx);
    if (!fine)
        return;
    for (size_t i = 0; i < heads.n; i++)
        map_put(cx, &set->read, key_of(at, i), heads.at[i]);
}

const Rule *rule_at(Ctx *cx, RuleSet *set, NameItem at)
{
    const void *key = key_of(at.at, at.number);
    if (!map_find(&set->read, key))
        read_heads(cx, set, at.at);
    return map_get(&set->read, key);
}

const Rule *rule_named(Ctx *cx, RuleSet *set, const char *name, size_t len)
{
    size_t n = 0;
    const NameItem *at = set->names ? names_find(set->names, name, len, &n) : NULL;
    if (n > 0)
        return rule_at(cx, set, at[n - 1]);
    return set->put.n ? map_get(&set->put, str_n(cx, name, len)) : NULL;
}

bool rule_read(Ctx *cx, const Rule *rule)
{
    struct RuleBody *body = rule->body;
    if (body->read)
        return true;
    body->read = true;
    Reader r = { .cx = cx, .text = rule->text, .at = body->start, .end = rule->end };
    bool fine = true;
    keep_begin(cx);
    while (fine && peek(&r))
        fine = alternative(&r, body);
    keep_end(cx);
    return fine && !r.failed && !ctx_failed(cx);
}

bool rule_tops(Ctx *cx, const Rule *rule, RuleTops *out)
{
    Reader r = { .cx = cx, .text = rule->text, .at = rule->body->start, .end = rule->end };
    bool fine = true;
    while (fine && peek(&r)) {
        Alternative a = { 0 };
        fine = conditions(&r, &a) && top(&r, out);
    }
    return fine && !r.failed && !ctx_failed(cx);
}

static bool derivatives_read(Ctx *cx, const Rule *rule)
{
    bool fine = true;
    for (size_t i = 0; fine && rule->derivatives && i < rule->derivatives->at.n; i++)
        fine = derivative_read(cx, rule, &rule->derivatives->at.at[i]);
    return fine;
}

bool rules_parse(Ctx *cx, const Text *text, RuleList *out)
{
    size_t first = out->n;
    bool fine = rules_scan(cx, text, out);
    for (size_t i = first; fine && i < out->n; i++)
        fine = rule_read(cx, out->at[i]) && derivatives_read(cx, out->at[i]);
    return fine;
}
