#include "fuzz/make/schemas.h"

enum { SCHEMAS_MAX = 8192 };

static const Schema *all[SCHEMAS_MAX];
static uint32_t n_all, n_aten;

static void add_line(Ctx *cx, const char *line, bool aten)
{
    bool is_aten = strncmp(line, "aten::", 6) == 0;
    bool calls_itself = strncmp(line, "complex::", 9) == 0 || strncmp(line, "upgrade::", 9) == 0;
    if (is_aten != aten || calls_itself || n_all == SCHEMAS_MAX)
        return;
    all[n_all] = schema_parse(cx, line);
    if (!all[n_all++])
        abort();
}

static void add_family(Ctx *cx, const OpFamily *f, bool aten)
{
    OpRow row;
    for (size_t i = 0; op_row(f, i, &row); i++)
        add_line(cx, row.schema, aten);
    if (!f->rules)
        return;
    RuleList rules = { 0 };
    Text *text = new(cx, Text);
    *text = (Text){ .name = str_of(cx, f->name), .at = f->rules, .n = strlen(f->rules) };
    if (!rules_scan(cx, text, &rules))
        abort();
    for (size_t i = 0; i < rules.n; i++)
        add_line(cx, rules.at[i]->head->s, aten);
}

/* Once for the process: the context lives on. */
static void collect_schemas(void)
{
    static Ctx *cx;
    if (cx)
        return;
    cx = ctx_new();
    for (const OpFamily *f = op_families; f->name; f++)
        add_family(cx, f, true);
    n_aten = n_all;
    for (const OpFamily *f = op_families; f->name; f++)
        add_family(cx, f, false);
}

const Schema *find_schema(const char *name, const char *overload)
{
    collect_schemas();
    for (uint32_t i = 0; i < n_aten; i++)
        if (str_is(all[i]->name, name) && str_is(all[i]->overload, overload))
            return all[i];
    abort();
}

/* One of those that pick; bytes that have run out pick the first. */
static const Schema *choose_of(Choices *c, bool (*pick)(const Schema *s))
{
    static const Schema *picked[SCHEMAS_MAX];
    uint32_t n = 0;
    collect_schemas();
    for (uint32_t i = 0; i < n_aten; i++)
        if (pick(all[i]))
            picked[n++] = all[i];
    return picked[choose(c, n)];
}

static bool is_view(const Schema *s) { return s->ret_alias && !s->ret_writes; }

static bool is_writer(const Schema *s)
{
    static const char *const names[] = { "add",
                                         "mul",
                                         "copy_",
                                         "fill_",
                                         "zero_",
                                         "relu",
                                         "neg",
                                         "masked_fill",
                                         "index_put",
                                         "index_fill",
                                         "index_add",
                                         "index_copy",
                                         "scatter",
                                         "scatter_add",
                                         "clamp",
                                         "addcmul",
                                         "masked_scatter",
                                         "squeeze",
                                         "transpose",
                                         "exp",
                                         "floor_divide",
                                         "bitwise_and",
                                         "eq",
                                         "lerp" };
    for (size_t i = 0; i < COUNT(names); i++)
        if (strcmp(s->name->s + strlen("aten::"), names[i]) == 0)
            return true;
    return false;
}

const Schema *choose_view(Choices *c) { return choose_of(c, is_view); }
const Schema *choose_writer(Choices *c) { return choose_of(c, is_writer); }

const Schema *choose_schema(Choices *c)
{
    collect_schemas();
    bool other = choose(c, 5) == 4;
    return other ? all[n_aten + choose(c, n_all - n_aten)] : all[choose(c, n_aten)];
}
