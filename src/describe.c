/* describe.c - what the program knows, printed from its tables, so it cannot be out of date: operators, ONNX's operators,
 * limits. */
#include "session.h"

#include "base/limits.h"
#include "ops/ops.h"

/* ---- PyTorch's operators ---- */

/* "aten::add.Tensor(Tensor self, ..) -> Tensor" -> "aten::add" */
static Str schema_name(Ctx *cx, const char *schema)
{
    return str_n(cx, schema, strcspn(schema, ".( "));
}

static const char *row_how(const OpRow *row)
{
    switch (row->kind) {
    case ROW_LOWER: return "converted by a C function";
    case ROW_CALL: return "converted by a C function that returns any value";
    case ROW_VIEW: return "a view";
    case ROW_OLDER: return "another form of the one above";
    case ROW_REFUSE: return "refused";
    case ROW_END: break;
    }
    return "";
}

/* One operator in full, or of all operators a line a schema. */
typedef struct Listing { Ctx *cx; Buf *out; Str only; size_t n; } Listing;

static void list_row(Listing *l, const OpFamily *family, const OpRow *row)
{
    if (l->only && schema_name(l->cx, row->schema) != l->only)
        return;
    l->n++;
    buf_fmt(l->out, "%s%s\n", row->schema, row->kind == ROW_REFUSE && !l->only ? "  # refused" : "");
    if (!l->only)
        return;
    buf_fmt(l->out, "    %s (%s)\n", row_how(row), family->name);
    if (row->kind == ROW_REFUSE && row->text)
        buf_fmt(l->out, "    because %s\n", row->text);
    if (row->promote)
        buf_fmt(l->out, "    promote %s\n", row->promote);
}

static void list_rule(Listing *l, const OpFamily *family, const Rule *rule)
{
    if (l->only && schema_name(l->cx, rule->head->s) != l->only)
        return;
    l->n++;
    buf_fmt(l->out, "%s\n", rule->head->s);
    if (l->only)
        buf_fmt(l->out, "    converted by a rule (%s)\n\n%.*s\n", family->name, (int)(rule->end - rule->start), rule->text->at + rule->start);
}

static bool list_family(Listing *l, const OpFamily *family)
{
    for (const OpRow *row = family->rows; row && row->kind != ROW_END; row++)
        list_row(l, family, row);
    if (!family->rules)
        return true;
    Text *text = new(l->cx, Text);
    *text = (Text){ .name = str_fmt(l->cx, "%s.rules", family->name), .at = family->rules, .n = strlen(family->rules) };
    RuleList rules = { 0 };
    if (!rules_parse(l->cx, text, &rules))
        return false;
    for (size_t i = 0; i < rules.n; i++)
        list_rule(l, family, rules.at[i]);
    return true;
}

static bool describe_operators(Ctx *cx, const char *what, Buf *out)
{
    Listing l = { cx, out, *what ? schema_name(cx, what) : NULL, 0 };
    for (const OpFamily *family = op_families; family->name; family++)
        if (!list_family(&l, family))
            return false;
    if (l.n > 0 || !*what)
        return true;
    fail(cx, E_USAGE, "no operator %s is known", what);
    fail_hint(cx, "pt2onnx ops lists all of them");
    return false;
}

/* ---- ONNX's operators ---- */

static void put_formals(Buf *out, const char *title, const FormalArg *at, int n)
{
    buf_fmt(out, "    %s:", title);
    for (int i = 0; i < n; i++)
        buf_fmt(out, "%s %s%s", i ? "," : "", at[i].name, at[i].option == 1 ? "?" : at[i].option == 2 ? ".." : "");
    buf_str(out, "\n");
}

static bool describe_onnx(Ctx *cx, const char *name, Buf *out)
{
    const OnnxOp *op = onnx_op(cx, name);
    if (!op)
        return fail(cx, E_USAGE, "ONNX has no operator %s", name);
    buf_fmt(out, "onnx::%s\n    versions:", op->name);
    for (int i = 0; i < op->n_version; i++)
        buf_fmt(out, " %d%s", op->version[i].since, op->version[i].deprecated ? " (deprecated)" : "");
    buf_str(out, "\n");
    const OpVersion *newest = onnx_version(op, ONNX_NEWEST);
    if (newest) {
        put_formals(out, "inputs", newest->in, newest->n_in);
        put_formals(out, "outputs", newest->out, newest->n_out);
        buf_str(out, "    attributes:");
        for (int i = 0; i < newest->n_attr; i++)
            buf_fmt(out, "%s %s", i ? "," : "", newest->attr[i].name);
        buf_str(out, "\n");
    }
    buf_fmt(out, "    shape inference: %s, folding: %s\n", op->infer ? "yes" : "no", op->fold ? "yes" : "no");
    return true;
}

/* ---- limits ---- */

static void describe_limits(Buf *out)
{
#define X(id, name, deflt, why) buf_fmt(out, "%-10s %12lld  %s\n", name, (long long)(deflt), why);
    PT2ONNX_LIMITS(X)
#undef X
}

bool describe(Ctx *cx, const char *what, Buf *out)
{
    if (strcmp(what, "limits") == 0) {
        describe_limits(out);
        return true;
    }
    if (strncmp(what, "onnx::", 6) == 0)
        return describe_onnx(cx, what + 6, out);
    return describe_operators(cx, what, out);
}
