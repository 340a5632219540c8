/* torchscript_print.c - a parsed code record as text again.
 *
 * The text is canonical, not the one that was read: parsing it gives the same definitions, and
 * printing those the same text. That is what the tests and the fuzzer hold the parser to. */
#include "front/internal.h"

static void print_strings(Buf *b, const char *name, const Str *at, uint32_t n)
{
    if (n == 0)
        return;
    buf_fmt(b, "  %s = [", name);
    for (uint32_t i = 0; i < n; i++) {
        string_print(b, at[i]);
        buf_str(b, ", ");
    }
    buf_str(b, "]\n");
}

static bool is_identifier(Str s)
{
    for (uint32_t i = 0; i < s->len; i++) {
        unsigned char c = (unsigned char)s->s[i];
        bool letter = c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
        if (!letter && !(i > 0 && c >= '0' && c <= '9'))
            return false;
    }
    return s->len > 0;
}

static void print_field(Buf *b, const ClassDef *c, const Field *f)
{
    if (c->kind == CLASS_ENUM && !f->type) {
        buf_fmt(b, "  %s = ", f->name->s);
    } else if (!is_identifier(f->name)) {
        buf_str(b, "  __annotations__[");
        string_print(b, f->name);
        buf_str(b, "] = ");
        type_expr_print(b, f->type);
    } else {
        buf_fmt(b, f->constant ? "  %s : Final[" : "  %s : ", f->name->s);
        type_expr_print(b, f->type);
        buf_str(b, f->constant ? "] = " : "");
    }
    if (f->constant)
        expr_print(b, NULL, f->constant, TEXT_SOURCE);
    buf_str(b, "\n");
}

/* The class as the archive's code has it: lists of names, fields, then methods. */
static void print_class(Buf *b, const ClassDef *c)
{
    static const char *const bases[] = {
        [CLASS_PLAIN] = "",
        [CLASS_MODULE] = "(Module)",
        [CLASS_NAMEDTUPLE] = "(NamedTuple)",
        [CLASS_ENUM] = "(Enum)",
        [CLASS_INTERFACE] = "(Interface)",
        [CLASS_TORCHBIND] = "",
    };
    const char *dot = strrchr(c->qualname->s, '.');
    buf_fmt(b, "class %s%s:\n", dot ? dot + 1 : c->qualname->s, bases[c->kind]);
    print_strings(b, "__parameters__", c->parameter, c->n_parameter);
    print_strings(b, "__buffers__", c->buffer, c->n_buffer);
    print_strings(b, "__forward_pre_hooks__", c->pre_hook, c->n_pre_hook);
    print_strings(b, "__forward_hooks__", c->hook, c->n_hook);
    for (uint32_t i = 0; i < c->n_field; i++)
        print_field(b, c, &c->field[i]);
    for (size_t i = 0; i < c->method.n; i++)
        function_print(b, c->method.at[i].val, 2, TEXT_SOURCE);
}

/* Classes and functions in the order of the file. */
Str torchscript_print(Ctx *cx, const CodeFile *file)
{
    Buf b = buf_new(cx);
    if (file->op_version)
        buf_fmt(&b, "op_version_set = %d\n", file->op_version);
    size_t c = 0;
    size_t f = 0;
    while (c < file->classes.n || f < file->functions.n) {
        bool class_first = f == file->functions.n ||
            (c < file->classes.n && file->classes.at[c]->start < file->functions.at[f]->start);
        if (class_first)
            print_class(&b, file->classes.at[c++]);
        else
            function_print(&b, file->functions.at[f++], 0, TEXT_SOURCE);
    }
    return buf_done(&b);
}
