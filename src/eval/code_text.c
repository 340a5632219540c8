/* code_text.c - programs as text: expressions, statements and functions of program.h.
 *
 * Two styles. As source it is TorchScript's own language, and parsing it again gives the same
 * tree. For `pt2onnx show` every operator stands under the name that people search for,
 * aten::elu(...). */
#include <math.h>

#include "base/limits.h"
#include "eval/program.h"

typedef struct Printer {
    Buf *out;
    const Function *fn; /* the function that has these locals */
    TextStyle style;
} Printer;

static void print_expr(Printer *p, const Expr *e);

/* ---- types ---- */

void type_expr_print(Buf *b, const TypeExpr *t)
{
    buf_str(b, t->name->s);
    if (t->n == 0)
        buf_str(b, str_is(t->name, "Tuple") ? "[()]" : "");
    for (uint32_t i = 0; i < t->n; i++) {
        buf_str(b, i ? ", " : "[");
        type_expr_print(b, t->args[i]);
    }
    if (t->n)
        buf_str(b, "]");
}

Str type_expr_text(Ctx *cx, const TypeExpr *t)
{
    Buf b = buf_new(cx);
    if (t)
        type_expr_print(&b, t);
    else
        buf_str(&b, "Tensor");
    return buf_done(&b);
}

/* ---- literals ---- */

static void print_float(Buf *b, double v)
{
    char text[32];
    if (isnan(v)) {
        buf_str(b, "nan");
        return;
    }
    format_double(text, v);
    buf_str(b, text);
    if (!strpbrk(text, ".ein"))
        buf_str(b, ".");
}

static void print_complex(Buf *b, const double c[2])
{
    print_float(b, c[0]);
    /* Compilers differ in the sign of a NaN. */
    buf_str(b, !isnan(c[1]) && signbit(c[1]) ? "-" : "+");
    print_float(b, fabs(c[1]));
    buf_str(b, "j");
}

void string_print(Buf *b, Str s)
{
    static const char letters[] = "\\\\\"\"\aa\bb\ff\nn\rr\tt\vv";
    buf_str(b, "\"");
    for (uint32_t i = 0; i < s->len; i++) {
        const char *p = letters;
        while (*p && *p != s->s[i])
            p += 2;
        if (s->s[i] && *p)
            buf_fmt(b, "\\%c", p[1]);
        else if (s->s[i] < 0x20 ||
                 s->s[i] == 0x7f) /* where char is signed: bytes outside ASCII too */
            buf_fmt(b, "\\%03o", (unsigned char)s->s[i]);
        else
            buf_add(b, &s->s[i], 1);
    }
    buf_str(b, "\"");
}

/* ---- expressions ---- */

static void print_local(Printer *p, uint32_t slot)
{
    buf_str(p->out, p->fn && slot < p->fn->n_slot ? p->fn->slot_name[slot]->s : "?");
}

static void print_parenthesised(Printer *p, const Expr *e)
{
    buf_str(p->out, "(");
    print_expr(p, e);
    buf_str(p->out, ")");
}

/* Something that a dot may follow without parentheses: locals and chains of attributes. */
static void print_base(Printer *p, const Expr *e)
{
    if (e->kind == X_LOCAL || e->kind == X_ATTR || e->kind == X_CONSTANT)
        print_expr(p, e);
    else
        print_parenthesised(p, e);
}

static bool is_word(Str s)
{
    for (uint32_t i = 0; i < s->len; i++) {
        char c = s->s[i];
        bool letter = c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
            (unsigned char)c >= 0x80;
        if (!letter && !(i > 0 && c >= '0' && c <= '9'))
            return false;
    }
    return s->len > 0;
}

static void print_attr(Printer *p, const Expr *object, Str name)
{
    if (is_word(name)) {
        print_base(p, object);
        buf_fmt(p->out, ".%s", name->s);
        return;
    }
    buf_str(p->out, "getattr(");
    print_expr(p, object);
    buf_str(p->out, ", ");
    string_print(p->out, name);
    buf_str(p->out, ")");
}

static void print_items(Printer *p, const Expr *e, const char *open, const char *close)
{
    buf_str(p->out, open);
    for (uint32_t i = 0; i < e->n; i++) {
        if (i)
            buf_str(p->out, e->kind == X_DICT && i % 2 ? ": " : ", ");
        print_expr(p, e->items[i]);
    }
    buf_str(p->out, close);
}

static void print_args(Printer *p, const Expr *e)
{
    buf_str(p->out, "(");
    for (uint32_t i = 0; i < e->n_args; i++) {
        if (i)
            buf_str(p->out, ", ");
        if (e->args[i].name)
            buf_fmt(p->out, "%s=", e->args[i].name->s);
        print_expr(p, e->args[i].value);
    }
    buf_str(p->out, ")");
}

/* annotate(T, e), unchecked_cast(T, e), uninitialized(T), isinstance(e, T) */
static void print_typed(Printer *p, const Expr *e)
{
    bool test = str_is(e->callee->name, "isinstance");
    buf_fmt(p->out, "%s(", e->callee->name->s);
    if (test)
        print_expr(p, e->args[0].value);
    else
        type_expr_print(p->out, e->type);
    buf_str(p->out, test || e->n_args ? ", " : "");
    if (test)
        type_expr_print(p->out, e->type);
    else if (e->n_args)
        print_expr(p, e->args[0].value);
    buf_str(p->out, ")");
}

/* A callee that would read as something else without parentheses: a local of any name, an uncalled
 * torch.x, a form's name. */
static bool plain_callee(const Expr *e, Str local)
{
    static const char *const forms[] = { "annotate", "unchecked_cast", "uninitialized",
                                         "isinstance", "getattr" };
    if (e->kind == X_LOCAL)
        return local->s[0] == '_';
    if (e->kind != X_NAME || str_starts(e->name, "torch.") || str_starts(e->name, "ops."))
        return false;
    for (size_t i = 0; i < COUNT(forms); i++)
        if (str_is(e->name, forms[i]))
            return false;
    return true;
}

static void print_call(Printer *p, const Expr *e)
{
    const Expr *callee = e->callee;
    if (e->type) {
        print_typed(p, e);
        return;
    }
    if (callee->kind == X_ATTR && is_word(callee->name)) {
        print_parenthesised(p, callee->a);
        buf_fmt(p->out, ".%s", callee->name->s);
    } else if (plain_callee(callee,
                            callee->kind == X_LOCAL ? p->fn->slot_name[callee->slot] : NULL)) {
        print_expr(p, callee);
    } else {
        print_parenthesised(p, callee);
    }
    print_args(p, e);
}

/* aten::add is torch.add, NS::f is ops.NS.f, aten::add.Tensor is ops.aten.add.Tensor */
static void print_op(Printer *p, const Expr *e)
{
    const char *colons = strstr(e->op->name->s, "::");
    bool named = e->overload && e->overload->len;
    if (p->style == TEXT_SHOW || !colons)
        buf_str(p->out, e->op->name->s);
    else if (str_starts(e->op->name, "aten::") && !named)
        buf_fmt(p->out, "torch.%s", colons + 2);
    else
        buf_fmt(p->out, "ops.%.*s.%s", (int)(colons - e->op->name->s), e->op->name->s, colons + 2);
    if (named)
        buf_fmt(p->out, ".%s", e->overload->s);
    print_args(p, e);
}

static void print_neg(Printer *p, const Expr *e)
{
    ExprKind k = e->a->kind;
    buf_str(p->out, "-");
    if (k == X_LOCAL || k == X_ATTR || k == X_CALL || k == X_OP || k == X_INDEX)
        print_expr(p, e->a);
    else
        print_parenthesised(p, e->a);
}

static void print_binary(Printer *p, const Expr *e)
{
    buf_str(p->out, "(");
    print_expr(p, e->a);
    buf_fmt(p->out, " %s ", e->name->s);
    print_expr(p, e->b);
    buf_str(p->out, ")");
}

static void print_index(Printer *p, const Expr *e)
{
    if (e->a->kind == X_LOCAL && e->kind == X_INDEX)
        print_expr(p, e->a);
    else
        print_parenthesised(p, e->a);
    if (e->kind == X_TUPLE_SLICE) {
        buf_fmt(p->out, "[%lld:%lld]", (long long)e->lo, (long long)e->hi);
        return;
    }
    buf_str(p->out, "[");
    print_expr(p, e->b);
    buf_str(p->out, "]");
}

/* One case for each kind of expression. */
static void print_expr(Printer *p, const Expr *e)
{
    switch (e->kind) {
    case X_NONE:        buf_str(p->out, "None"); break;
    case X_TRUE:        buf_str(p->out, "True"); break;
    case X_FALSE:       buf_str(p->out, "False"); break;
    case X_INT:         buf_fmt(p->out, "%lld", (long long)e->i); break;
    case X_FLOAT:       print_float(p->out, e->f); break;
    case X_COMPLEX:     print_complex(p->out, e->c); break;
    case X_STR:         string_print(p->out, e->s); break;
    case X_LOCAL:       print_local(p, e->slot); break;
    case X_NAME:        buf_str(p->out, e->name->s); break;
    case X_CONSTANT:    buf_fmt(p->out, "CONSTANTS.c%lld", (long long)e->i); break;
    case X_ATTR:        print_attr(p, e->a, e->name); break;
    case X_INDEX:
    case X_TUPLE_SLICE: print_index(p, e); break;
    case X_CALL:        print_call(p, e); break;
    case X_OP:          print_op(p, e); break;
    case X_TUPLE:       print_items(p, e, "(", e->n == 1 ? ",)" : ")"); break;
    case X_LIST:        print_items(p, e, "[", "]"); break;
    case X_DICT:        print_items(p, e, "{", "}"); break;
    case X_NEG:         print_neg(p, e); break;
    case X_BINARY:      print_binary(p, e); break;
    case X_VALUE:       buf_str(p->out, val_text(p->out->cx, e->value)->s); break;
    case X_GRAPH:       buf_str(p->out, e->fn->name ? e->fn->name->s : "a nested graph"); break;
    }
}

void expr_print(Buf *b, const Function *fn, const Expr *e, TextStyle style)
{
    Printer p = { .out = b, .fn = fn, .style = style };
    print_expr(&p, e);
}

Str expr_text(Ctx *cx, const Function *fn, const Expr *e)
{
    Buf b = buf_new(cx);
    expr_print(&b, fn, e, TEXT_SHOW);
    return buf_done(&b);
}

/* ---- statements ---- */

static void print_block(Printer *p, const Block *b, int indent);

static void start_line(Printer *p, int indent) { buf_fmt(p->out, "%*s", indent, ""); }

/* a, b = x, y        q, = x        w : T = x */
static void print_assign(Printer *p, const Stmt *s)
{
    for (uint32_t i = 0; i < s->n_target; i++) {
        buf_str(p->out, i ? ", " : "");
        print_local(p, s->target[i]);
    }
    buf_str(p->out, s->unpack ? "," : "");
    if (!s->n_values && s->type) {
        buf_str(p->out, " : ");
        type_expr_print(p->out, s->type);
    }
    buf_str(p->out, s->n_target ? " = " : "");
    if (s->value)
        print_expr(p, s->value);
    for (uint32_t i = 0; i < s->n_values; i++) {
        buf_str(p->out, i ? ", " : "");
        print_expr(p, s->values[i]);
    }
}

static void print_headed(Printer *p, const char *word, const Stmt *s, int indent)
{
    buf_str(p->out, word);
    print_expr(p, s->value);
    if (s->kind == S_WITH && s->n_target) {
        buf_str(p->out, " as ");
        print_local(p, s->target[0]);
    }
    buf_str(p->out, s->kind == S_FOR ? "):\n" : ":\n");
    print_block(p, &s->body, indent + 2);
}

/* One case for each kind of statement; with its line end, and its blocks two spaces deeper. */
static void print_stmt(Printer *p, const Stmt *s, int indent)
{
    if (s->kind != S_DEF)
        start_line(p, indent);
    switch (s->kind) {
    case S_EXPR:   print_expr(p, s->value); break;
    case S_ASSIGN: print_assign(p, s); break;
    case S_SET_ATTR:
        print_attr(p, s->object, s->attr);
        buf_str(p->out, " = ");
        print_expr(p, s->value);
        break;
    case S_RETURN:
        buf_str(p->out, "return ");
        print_expr(p, s->value);
        break;
    case S_PASS: buf_str(p->out, "pass"); break;
    case S_IF:
        print_headed(p, "if ", s, indent);
        if (s->other.n) {
            start_line(p, indent);
            buf_str(p->out, "else:\n");
            print_block(p, &s->other, indent + 2);
        }
        return;
    case S_FOR:
        buf_str(p->out, "for ");
        print_local(p, s->target[0]);
        print_headed(p, " in range(", s, indent);
        return;
    case S_WHILE: print_headed(p, "while ", s, indent); return;
    case S_WITH:  print_headed(p, "with ", s, indent); return;
    case S_DEF:   function_print(p->out, s->def, indent, p->style); return;
    }
    buf_str(p->out, "\n");
}

static void print_block(Printer *p, const Block *b, int indent)
{
    for (uint32_t i = 0; i < b->n; i++)
        print_stmt(p, b->at[i], indent);
    if (b->n == 0) {
        start_line(p, indent);
        buf_str(p->out, "pass\n");
    }
}

static void print_param(Printer *p, const ParamDecl *d)
{
    buf_str(p->out, d->name->s);
    if (d->type) {
        buf_str(p->out, ": ");
        type_expr_print(p->out, d->type);
    }
    if (d->deflt) {
        buf_str(p->out, "=");
        print_expr(p, d->deflt);
    }
}

void function_print(Buf *b, const Function *f, int indent, TextStyle style)
{
    Printer p = { .out = b, .fn = f, .style = style };
    start_line(&p, indent);
    buf_fmt(b, "def %s(", f->name->s);
    for (uint32_t i = 0; i < f->n_param; i++) {
        buf_str(b, i ? ", " : "");
        print_param(&p, &f->param[i]);
    }
    buf_str(b, ")");
    if (f->ret) {
        buf_str(b, " -> ");
        type_expr_print(b, f->ret);
    }
    buf_str(b, ":\n");
    print_block(&p, &f->body, indent + 2);
}

/* ---- values: what str() and format() give ---- */

static void print_value(Buf *b, Value v, int depth);

void float_print(Buf *b, const char *fmt, double v)
{
    char text[400]; /* %f of the largest double has 317 characters */
    snprintf(text, sizeof text, fmt, v);
    for (const char *s = text; *s;) {
        size_t n = strspn(s, "0123456789+-eEinfaINFA");
        buf_add(b, s, n);
        s += n;
        if (*s)
            buf_str(b, "."); /* in place of the locale's decimal point, which may be longer */
        s += strcspn(s, "0123456789");
    }
}

/* Integral floats have a dot and no exponent, as TorchScript prints them: -0.0 is "0.". */
static void print_number(Buf *b, double v)
{
    if (v == floor(v) && fabs(v) < 0x1p63)
        buf_fmt(b, "%lld.", (long long)v);
    else if (isnan(v))
        buf_str(b, "nan");
    else if (isinf(v))
        buf_str(b, v < 0 ? "-inf" : "inf");
    else
        float_print(b, "%.17g", v);
}

static void print_cells(Buf *b, const List *l, int depth)
{
    buf_str(b, l->stacked ? "[..." : "[");
    for (int64_t i = 0; i < l->n; i++) {
        buf_str(b, i ? ", " : "");
        print_value(b, l->at[i].v, depth);
    }
    buf_str(b, "]");
}

static void print_tuple(Buf *b, const Tuple *t, int depth)
{
    buf_str(b, "(");
    for (int64_t i = 0; i < t->n; i++) {
        buf_str(b, i ? ", " : "");
        print_value(b, t->at[i], depth);
    }
    buf_str(b, t->n == 1 ? ",)" : ")");
}

static void print_dict(Buf *b, const Dict *d, int depth)
{
    buf_str(b, "{");
    for (int64_t i = 0; i < d->n; i++) {
        buf_str(b, i ? ", " : "");
        print_value(b, d->at[i].key, depth);
        buf_str(b, ": ");
        print_value(b, d->at[i].val.v, depth);
    }
    buf_str(b, "}");
}

/* A list of type Any may hold itself: depth ends that. */
static void print_value(Buf *b, Value v, int depth)
{
    count_values(b->cx, 1);
    if (!limit_ok(b->cx, LIMIT_DEPTH, (uint64_t)++depth, "levels of nesting"))
        return;
    switch (v.tag) {
    case V_NONE:  buf_str(b, "None"); break;
    case V_BOOL:  buf_str(b, v.b ? "True" : "False"); break;
    case V_INT:   buf_fmt(b, "%lld", (long long)v.i); break;
    case V_FLOAT: print_number(b, v.f); break;
    case V_COMPLEX:
        print_number(b, v.c[0]);
        buf_str(b, !isnan(v.c[1]) && signbit(v.c[1]) ? "-" : "+");
        print_number(b, fabs(v.c[1]));
        buf_str(b, "j");
        break;
    case V_STR:
    case V_DEVICE: buf_add(b, v.s->s, v.s->len); break;
    case V_DTYPE:  buf_str(b, dtype_name(v.dtype)); break;
    case V_SYMINT: buf_str(b, dim_text(b->cx, v.dim)->s); break;
    case V_LIST:   print_cells(b, v.list, depth); break;
    case V_TUPLE:  print_tuple(b, v.tuple, depth); break;
    case V_DICT:   print_dict(b, v.dict, depth); break;
    case V_ENUM:   buf_fmt(b, "%s.%s", v.e->cls->qualname->s, v.e->name->s); break;
    case V_TENSOR: buf_fmt(b, "Tensor(%s)", type_text(b->cx, tensor_type(v.t))->s); break;
    default:       buf_str(b, val_kind(v)); break;
    }
}

Str val_text(Ctx *cx, Value v)
{
    Buf b = buf_new(cx);
    print_value(&b, v, 0);
    return buf_done(&b);
}
