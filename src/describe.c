/* describe.c - what the program knows, printed from its tables, so it cannot be out of date:
 * operators, ONNX's operators, limits. */
#include "session.h"

#include "base/limits.h"
#include "onnx/gradient/gradient.h"
#include "ops/ops.h"

#include <stdlib.h>

/* op_nodes.txt: what the cases of tests/ops have of each operator. */
extern const char text_op_nodes[];

/* ---- PyTorch's operators ---- */

/* "aten::add.Tensor(Tensor self, ..) -> Tensor" -> "aten::add" */
static Str schema_name(Ctx *cx, const char *schema)
{
    return str_n(cx, schema, strcspn(schema, ".( "));
}

/* An operator, as "aten::add.Tensor", and its lines of op_nodes.txt. */
typedef struct OpText {
    Str name;
    const char *lines;
} OpText;
typedef VEC(OpText) OpTexts;

/* All operators, or with `only` one of them in full. */
typedef struct Listing {
    Ctx *cx;
    Buf *out;
    Str only;
    OpTexts recorded;
    size_t n;
    bool titled;
} Listing;

static bool is_listed(const Listing *l, const char *schema)
{
    return !l->only || schema_name(l->cx, schema) == l->only;
}

static void put_schema(Listing *l, const OpFamily *family, const char *schema)
{
    if (!is_listed(l, schema))
        return;
    if (!l->titled && !l->only)
        buf_fmt(l->out, "%s\n", family->name);
    l->titled = true;
    l->n++;
    buf_fmt(l->out, "%s%s\n", l->only ? "" : "    ", schema);
}

static void put_kinds(Buf *out, bool quant, bool nested)
{
    buf_str(out, quant ? ", quantised too" : "");
    buf_str(out, nested ? ", nested too" : "");
}

/* ---- what the operator cases have recorded ---- */

/* A row of op_nodes.txt, as "  9? integers: Add Cast Mul": calls of this kind become these nodes
 * from this opset on. */
typedef struct OpNodes {
    Str of; /* "" for the usual calls */
    int from;
    bool partly; /* some of the calls are refused */
    Str nodes;   /* "refused" when all of them are */
} OpNodes;

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

static OpTexts find_recorded(Ctx *cx)
{
    OpTexts found = { 0 };
    for (const char *line = text_op_nodes, *next; *line; line = next) {
        next = next_line(line);
        if (*line != ' ' && *line != '#')
            vec_push(cx, &found, (OpText){ str_n(cx, line, (size_t)(next - line) - 1), next });
    }
    return found;
}

/* The lines below the operator's name; NULL when no case has recorded it. */
static const char *lines_of(const OpTexts *recorded, Str name)
{
    for (size_t i = 0; i < recorded->n; i++)
        if (recorded->at[i].name == name)
            return recorded->at[i].lines;
    return NULL;
}

/* False when the line is none: a refusal, or the next operator's name. */
static bool read_nodes(Ctx *cx, const char *line, OpNodes *out)
{
    char *p;
    long from = strtol(line, &p, 10);
    if (p == line)
        return false;
    *out = (OpNodes){ .from = (int)from, .partly = *p == '?' };
    p += out->partly;
    p += *p == ' ';
    size_t n = strcspn(p, ":");
    out->of = str_n(cx, p, n);
    p += n + 1;
    p += *p == ' ';
    out->nodes = str_n(cx, p, strcspn(p, "\n"));
    return true;
}

/* "opset 9 to 19: Add Mul", "opset 9 to 26, integers: Add Cast Mul" */
static void put_opsets(Listing *l, const OpNodes *n, int to, bool always)
{
    buf_str(l->out, l->only ? "    " : "; ");
    if (l->only || !always) {
        buf_fmt(l->out, to > n->from ? "opset %d to %d" : "opset %d", n->from, to);
        if (l->only && n->of->len)
            buf_fmt(l->out, ", %s", n->of->s);
        buf_str(l->out, ": ");
    }
    buf_str(l->out, n->nodes->len ? n->nodes->s : "no node");
    buf_str(l->out, n->partly ? " (some calls need a later opset)" : "");
    buf_str(l->out, l->only ? "\n" : "");
}

/* The rows from this line on; the line behind them. Without `only` those of the usual calls. */
static const char *put_nodes(Listing *l, const char *line)
{
    OpNodes n, next;
    Str usual = NULL;
    for (bool more = read_nodes(l->cx, line, &n); more; n = next) {
        line = next_line(line);
        more = read_nodes(l->cx, line, &next);
        bool goes_on = more && next.of == n.of;
        bool always = n.from == ONNX_OLDEST_TARGET && !goes_on;
        usual = usual ? usual : n.of;
        if (l->only || n.of == usual)
            put_opsets(l, &n, goes_on ? next.from - 1 : ONNX_NEWEST, always);
    }
    return line;
}

/* What the cases have of the schemas that share a row or a rule, by the first of them: of the usual
 * call; in full also of types that need others. */
static void put_recorded(Listing *l, const char *schema)
{
    const char *line = lines_of(&l->recorded, str_n(l->cx, schema, strcspn(schema, "(")));
    if (line)
        line = put_nodes(l, line);
    for (; line && strncmp(line, "  ! ", 4) == 0; line = next_line(line))
        buf_fmt(l->out, l->only ? "    refused: %.*s\n" : "; refused: %.*s",
                (int)strcspn(line + 4, "\n"), line + 4);
    buf_str(l->out, l->only ? "" : "\n");
}

/* ---- rows and rules ---- */

/* Row `at` with the older forms that follow it; the number of the next one. */
static size_t list_row(Listing *l, const OpFamily *family, size_t at)
{
    static const char *const how[] = { [ROW_LOWER] = "a C function",
                                       [ROW_ITSELF] = "a C function",
                                       [ROW_CALL] = "a C function",
                                       [ROW_EACH] = "a C function",
                                       [ROW_VIEW] = "a view: a C function" };
    OpRow owner, row;
    size_t before = l->n;
    op_row(family, at, &owner);
    row = owner;
    do {
        put_schema(l, family, row.schema);
    } while (op_row(family, ++at, &row) && row.kind == ROW_OLDER);
    if (l->n == before)
        return at;
    if (owner.kind == ROW_REFUSE) {
        const char *why = owner.text ? owner.text : "ONNX cannot say it";
        buf_fmt(l->out, l->only ? "    refused: %s\n" : "        refused: %s\n", why);
        return at;
    }
    buf_fmt(l->out, l->only ? "    %s of ops/%s/%s.c" : "        %s", how[owner.kind],
            family->folder, family->name);
    buf_str(l->out,
            l->only && strncmp(owner.schema, "complex::", 9) == 0 ? ", where a tensor is complex"
                                                                  : "");
    put_kinds(l->out, owner.kinds & QUANT, owner.kinds & NESTED);
    buf_str(l->out, l->only ? "\n" : "");
    if (l->only && owner.promote)
        buf_fmt(l->out, "    promotes %s\n", owner.promote);
    if (l->only && owner.derivative)
        buf_fmt(l->out, "    derivative %s\n", owner.derivative);
    put_recorded(l, owner.schema);
    return at;
}

/* The indented lines of a rule: its heads are printed as schemas. */
static void put_body(Buf *out, const Rule *rule)
{
    const char *end = rule->text->at + rule->end;
    for (const char *p = rule->text->at + rule->start, *next; p < end; p = next) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        next = newline ? newline + 1 : end;
        if (*p == ' ')
            buf_fmt(out, "    %.*s\n", (int)((newline ? newline : end) - p), p);
    }
}

/* Rules that share a body, from `at` on; the number of the next one. */
static size_t list_rules(Listing *l, const OpFamily *family, const RuleList *rules, size_t at)
{
    const Rule *first = rules->at[at];
    size_t before = l->n;
    for (; at < rules->n && rules->at[at]->body == first->body; at++)
        put_schema(l, family, rules->at[at]->head->s);
    const Rule *last = rules->at[at - 1];
    if (l->n == before)
        return at;
    buf_fmt(l->out, l->only ? "    a rule of ops/%s/%s.rules" : "        a rule", family->folder,
            family->name);
    const char *kinds = last->kinds ? last->kinds->s : "";
    put_kinds(l->out, strstr(kinds, "quant"), strstr(kinds, "nested"));
    if (l->only) {
        buf_str(l->out, "\n");
        put_body(l->out, last);
    }
    put_recorded(l, first->head->s);
    return at;
}

/* The rows of a family, then its rules. False after an error. */
static bool list_family(Listing *l, const OpFamily *family)
{
    l->titled = false;
    OpRow row;
    for (size_t i = 0; op_row(family, i, &row);)
        i = list_row(l, family, i);
    if (!family->rules)
        return true;
    Text *text = new(l->cx, Text);
    *text = (Text){ .name = str_fmt(l->cx, "%s.rules", family->name),
                    .at = family->rules,
                    .n = strlen(family->rules) };
    RuleList rules = { 0 };
    if (!rules_scan(l->cx, text, &rules))
        return false;
    for (size_t i = 0; i < rules.n;)
        i = list_rules(l, family, &rules, i);
    return true;
}

/* All rows, or those of one name; false when there is none. */
static bool describe_rows(Ctx *cx, Str only, Buf *out)
{
    Listing l = { .cx = cx, .out = out, .only = only, .recorded = find_recorded(cx) };
    for (const OpFamily *family = op_families; family->name; family++)
        if (!list_family(&l, family))
            return false;
    return l.n > 0;
}

/* complex::add serves aten::add of complex tensors. */
static bool describe_name(Ctx *cx, Str name, Buf *out)
{
    bool any = describe_rows(cx, name, out);
    if (any && strncmp(name->s, "aten::", 6) == 0)
        any |= describe_rows(cx, str_fmt(cx, "complex%s", name->s + 4), out);
    return any;
}

/* The forms that follow from a plain operator: aten::add_ from aten::add, aten::view_copy from
 * aten::view. */
static bool describe_derived(Ctx *cx, const char *name, Buf *out)
{
    static const struct {
        const char *suffix, *what;
    } forms[] = {
        { "_copy", "its result is a copy" },
        { "_", "the result is written to the first argument" },
    };
    for (size_t i = 0; i < COUNT(forms); i++) {
        size_t n = strlen(name);
        size_t k = strlen(forms[i].suffix);
        if (n <= k || strcmp(name + n - k, forms[i].suffix) != 0)
            continue;
        Str plain = str_n(cx, name, n - k);
        Buf of = buf_new(cx);
        if (!describe_name(cx, plain, &of))
            continue;
        buf_fmt(out, "%s follows from %s: %s\n%s", name, plain->s, forms[i].what, buf_done(&of)->s);
        return true;
    }
    return false;
}

static bool describe_operators(Ctx *cx, const char *what, Buf *out)
{
    if (!*what) {
        if (!describe_rows(cx, NULL, out))
            return false;
        describe_forms(out);
        return true;
    }
    Str name = schema_name(cx, what);
    bool form = describe_form(what, out) || (name->s != what && describe_form(name->s, out));
    bool rows = describe_name(cx, name, out);
    if (form || rows || describe_derived(cx, name->s, out))
        return true;
    fail(cx, E_USAGE, "no operator %s is known", what);
    fail_hint(cx, "pt2onnx ops lists all of them");
    return false;
}

/* ---- ONNX's operators ---- */

/* at_least: how many of all of them there must be, of which a variadic one, the last, has the
 * rest. */
static void put_formals(Buf *out, const char *title, const FormalArg *at, int n, int at_least)
{
    for (int i = 0; i < n; i++) {
        buf_fmt(out, "    %-11s%s: %s", i ? "" : title, at[i].name, at[i].type);
        if (at[i].option == 1)
            buf_str(out, " (optional)");
        if (at[i].option == 2) {
            buf_fmt(out, at_least > i ? " (%d or more" : " (any number", at_least - i);
            buf_str(out, at[i].homogeneous ? ")" : ", each of its own type)");
        }
        buf_str(out, "\n");
    }
}

static void put_attrs(Buf *out, const FormalAttr *at, int n)
{
    static const char *const kinds[] = { "int",     "float",  "string", "ints", "floats",
                                         "strings", "tensor", "graph",  "type", "sparse tensor" };
    for (int i = 0; i < n; i++) {
        buf_fmt(out, "    %-11s%s: %s", i ? "" : "attributes", at[i].name, kinds[at[i].kind]);
        if (*at[i].deflt)
            buf_fmt(out, at[i].kind == ATTR_STRING ? " = \"%s\"" : " = %s", at[i].deflt);
        buf_str(out, at[i].required ? " (required)\n" : "\n");
    }
}

/* "float32 int64; sequences of the same": what is behind a "; " already when there is something
 * before it */
static void put_elements(Buf *out, const char *made, uint32_t set, uint32_t tensors, bool *some)
{
    if (!set)
        return;
    buf_str(out, *some ? ";" : "");
    buf_str(out, *made ? " " : "");
    buf_str(out, made);
    *some = true;
    if (*made && set == tensors) {
        buf_str(out, " the same");
        return;
    }
    for (DType t = DT_FLOAT; t < DT_COUNT; t++)
        if (set >> t & 1)
            buf_fmt(out, " %s", dtype_name(t));
    buf_str(out, set & 1 ? " and others" : "");
}

static void put_types(Buf *out, const FormalType *at, int n)
{
    bool titled = false;
    for (int i = 0; i < n; i++) {
        bool some = false;
        if (strchr(at[i].name, '(')) /* tensor(float): no variable */
            continue;
        buf_fmt(out, "    %-11s%s:", titled ? "" : "types", at[i].name);
        titled = true;
        put_elements(out, "", at[i].dtypes, 0, &some);
        put_elements(out, "sequences of", at[i].seq, at[i].dtypes, &some);
        put_elements(out, "optionals of", at[i].optional, at[i].dtypes, &some);
        put_elements(out, "optional sequences of", at[i].optional_seq, at[i].dtypes, &some);
        buf_str(out, "\n");
    }
}

static bool has_gradient(Ctx *cx, const char *name)
{
    for (size_t i = 0;; i++) {
        const char *with = gradient_op(cx, i);
        if (!with || strcmp(with, name) == 0)
            return with != NULL;
    }
}

/* An operator of ONNX, its versions from the newest to the oldest. */
static bool describe_onnx(Ctx *cx, const char *name, Buf *out)
{
    const OnnxOp *op = onnx_op(cx, name);
    if (!op)
        return fail(cx, E_USAGE, "ONNX has no operator %s", name);
    buf_fmt(out, "onnx::%s changed in opset", op->name);
    for (int i = 0; i < op->n_version; i++)
        buf_fmt(out, "%s %d", i ? "," : "", op->version[i].since);
    buf_fmt(out, "\nshape inference: %s", op->infer ? "yes" : "no");
    buf_fmt(out, ", folding of constants: %s", op->fold ? "yes" : "no");
    buf_fmt(out, ", gradient: %s\n", has_gradient(cx, op->name) ? "yes" : "no");
    for (int i = op->n_version; i-- > 0;) {
        const OpVersion *v = &op->version[i];
        buf_fmt(out, "\nopset %d%s\n", v->since, v->deprecated ? ": deprecated" : "");
        put_formals(out, "inputs", v->in, v->n_in, v->min_in);
        put_formals(out, "outputs", v->out, v->n_out, v->min_out);
        put_attrs(out, v->attr, v->n_attr);
        put_types(out, v->type, v->n_type);
    }
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
        return describe_form(what, out) || describe_onnx(cx, what + 6, out);
    return describe_operators(cx, what, out);
}
