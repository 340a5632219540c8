/* compile_tables.c - a program of the build: reads all rows and rules of src, and writes which names
 * they have as constant data, so that no run has to.
 *
 *     compile_tables OUT.c
 *
 * It is linked of the same objects as the library, with empty tables in the place of those that it
 * writes. A schema, a rule or an expression that cannot be read ends the build, with its place. What
 * it writes depends on the sources alone: neither on the machine nor on the compiler. */
#include "eval/builtin/builtin.h"
#include "onnx/fold/fold.h"
#include "onnx/infer/infer.h"
#include "ops/internal.h"

const NameTable op_names, builtin_names, infer_names, fold_names, legal_names, form_names,
    root_names;
extern const char rules_legal[], rules_find[];

typedef VEC(NameItem) Items;
typedef struct Index {
    Ctx *cx;
    Map by_name; /* Str -> Items */
    size_t n_item;
} Index;

static void add(Index *index, Str name, NameItem item)
{
    Items *items = map_get(&index->by_name, name);
    if (!items) {
        items = new(index->cx, Items);
        map_put(index->cx, &index->by_name, name, items);
    }
    vec_push(index->cx, items, item);
    index->n_item++;
}

static NameItem row_item(size_t family, size_t number)
{
    return (NameItem){ .at = NAME_OF_ROW, .family = (uint16_t)family, .number = (uint16_t)number };
}

/* ---- writing ---- */

/* At most half full. */
static uint32_t slots_for(size_t n)
{
    uint32_t n_slot = 8;
    while (n_slot < 2 * n)
        n_slot *= 2;
    return n_slot;
}

static void write_rows(FILE *out, const char *table, const Index *index)
{
    uint32_t text = 0;
    uint32_t item = 0;
    fprintf(out, "static const char %s_text[] =\n", table);
    for (size_t i = 0; i < index->by_name.n; i++)
        fprintf(out, "    \"%s\"\n", ((Str)index->by_name.at[i].key)->s);
    fprintf(out, "    ;\nstatic const NameRow %s_row[] = {\n", table);
    for (size_t i = 0; i < index->by_name.n; i++) {
        Str name = index->by_name.at[i].key;
        const Items *items = index->by_name.at[i].val;
        fprintf(out, "    { %u, %u, %u, %zu },\n", text, item, name->len, items->n);
        text += name->len;
        item += (uint32_t)items->n;
    }
    fprintf(out, "};\n");
}

static void write_items(FILE *out, const char *table, const Index *index)
{
    fprintf(out, "static const NameItem %s_item[] = {\n", table);
    for (size_t i = 0; i < index->by_name.n; i++) {
        const Items *items = index->by_name.at[i].val;
        for (size_t k = 0; k < items->n; k++)
            fprintf(out, "    { %uu, %u, %u },\n", items->at[k].at, items->at[k].family,
                    items->at[k].number);
    }
    fprintf(out, "};\n");
}

static void write_slots(FILE *out, const char *table, const Index *index)
{
    uint32_t n_slot = slots_for(index->by_name.n);
    uint16_t *slot = new_array(index->cx, uint16_t, n_slot);
    if (!slot)
        return;
    for (size_t i = 0; i < index->by_name.n; i++) {
        Str name = index->by_name.at[i].key;
        uint32_t at = (uint32_t)hash_bytes(name->s, name->len, 0) & (n_slot - 1);
        while (slot[at])
            at = (at + 1) & (n_slot - 1);
        slot[at] = (uint16_t)(i + 1);
    }
    fprintf(out, "static const uint16_t %s_slot[] = {", table);
    for (uint32_t i = 0; i < n_slot; i++)
        fprintf(out, "%s%u,", i % 16 ? " " : "\n    ", slot[i]);
    fprintf(out, "\n};\n");
}

static void write_table(FILE *out, const char *table, const Index *index)
{
    write_rows(out, table, index);
    write_items(out, table, index);
    write_slots(out, table, index);
    fprintf(out, "extern const NameTable %s;\n", table);
    fprintf(out, "const NameTable %s = { %s_text, %s_row, %s_item, %s_slot, %u };\n\n", table, table,
            table, table, table, slots_for(index->by_name.n));
}

/* ---- what has which name ---- */

/* "aten::max.dim(Tensor .." -> "aten::max" */
static Str name_of(Ctx *cx, const char *line) { return str_n(cx, line, strcspn(line, "(.")); }

static Text *text_of(Ctx *cx, const char *file, const char *at)
{
    Text *text = new(cx, Text);
    *text = (Text){ .name = str_of(cx, file), .at = at, .n = strlen(at) };
    return text;
}

/* The place of rule i as rule_at() takes it: heads that share what follows them are numbered. */
static NameItem rule_item(const RuleList *rules, size_t i, size_t family)
{
    size_t first = i;
    while (first > 0 && rules->at[first - 1]->body == rules->at[i]->body)
        first--;
    return (NameItem){ .at = rules->at[first]->start,
                       .family = (uint16_t)family,
                       .number = (uint16_t)(i - first) };
}

static bool index_family(Index *index, size_t number)
{
    const OpFamily *family = &op_families[number];
    Ctx *cx = index->cx;
    RuleList rules = { 0 };
    OpRow row;
    for (size_t i = 0; op_row(family, i, &row); i++) {
        if (!schema_parse(cx, row.schema))
            return false;
        add(index, name_of(cx, row.schema), row_item(number, i));
    }
    if (family->rules &&
        !rules_parse(cx, text_of(cx, str_fmt(cx, "%s.rules", family->name)->s, family->rules),
                     &rules))
        return false;
    for (size_t i = 0; i < rules.n; i++) {
        if (!schema_parse(cx, rules.at[i]->head->s))
            return false;
        add(index, name_of(cx, rules.at[i]->head->s), rule_item(&rules, i, number));
    }
    return true;
}

static bool write_operators(Ctx *cx, FILE *out)
{
    Index index = { .cx = cx };
    for (size_t i = 0; op_families[i].name; i++)
        if (!index_family(&index, i))
            return false;
    write_table(out, "op_names", &index);
    return true;
}

static void write_builtins(Ctx *cx, FILE *out)
{
    Index index = { .cx = cx };
    for (size_t f = 0; builtin_families[f]; f++)
        for (size_t i = 0; builtin_families[f][i].name; i++)
            add(&index, str_of(cx, builtin_families[f][i].name), row_item(f, i));
    write_table(out, "builtin_names", &index);
}

static void write_onnx(Ctx *cx, FILE *out)
{
    Index infer = { .cx = cx };
    Index fold = { .cx = cx };
    for (size_t f = 0; infer_families[f]; f++)
        for (size_t i = 0; infer_families[f][i].op; i++)
            add(&infer, str_of(cx, infer_families[f][i].op), row_item(f, i));
    for (size_t f = 0; fold_families[f]; f++)
        for (size_t i = 0; fold_families[f][i].op; i++)
            add(&fold, str_of(cx, fold_families[f][i].op), row_item(f, i));
    write_table(out, "infer_names", &infer);
    write_table(out, "fold_names", &fold);
}

/* The rules whose heads begin with "onnx::" or "one.of::", by what follows that. */
static void index_heads(Index *index, const RuleList *rules, const char *domain)
{
    for (size_t i = 0; i < rules->n; i++)
        if (str_starts(rules->at[i]->head, domain))
            add(index, str_of(index->cx, rules->at[i]->head->s + strlen(domain)),
                rule_item(rules, i, 0));
}

static bool write_legal(Ctx *cx, FILE *out)
{
    Index index = { .cx = cx };
    RuleList rules = { 0 };
    if (!rules_parse(cx, text_of(cx, "legal.rules", rules_legal), &rules))
        return false;
    index_heads(&index, &rules, "onnx::");
    write_table(out, "legal_names", &index);
    return true;
}

/* Forms by name; operators that are looked for by the operators that their formulas end with. */
static bool write_find(Ctx *cx, FILE *out)
{
    Index form = { .cx = cx };
    Index root = { .cx = cx };
    RuleList rules = { 0 };
    RuleSet forms = { 0 };
    if (!rules_parse(cx, text_of(cx, "find.rules", rules_find), &rules))
        return false;
    index_heads(&form, &rules, "one.of::");
    for (size_t i = 0; i < rules.n; i++)
        if (str_starts(rules.at[i]->head, "one.of::"))
            map_put(cx, &forms.put, str_of(cx, rules.at[i]->head->s + strlen("one.of::")),
                    rules.at[i]);
    for (size_t i = 0; i < rules.n; i++) {
        Map names = { 0 };
        if (!str_starts(rules.at[i]->head, "onnx::"))
            continue;
        if (!rule_roots(cx, rules.at[i], &forms, &names))
            return false;
        for (size_t k = 0; k < names.n; k++)
            add(&root, names.at[k].key, rule_item(&rules, i, 0));
    }
    write_table(out, "form_names", &form);
    write_table(out, "root_names", &root);
    return true;
}

static bool write_all(Ctx *cx, FILE *out)
{
    fprintf(out, "/* generated by tools/compile_tables.c */\n#include \"base/base.h\"\n\n");
    write_builtins(cx, out);
    write_onnx(cx, out);
    return write_operators(cx, out) && write_legal(cx, out) && write_find(cx, out) &&
        !ctx_failed(cx);
}

int main(int argc, char **argv)
{
    Ctx *cx = ctx_new();
    FILE *out = argc == 2 ? fopen(argv[1], "w") : NULL;
    if (!cx || !out) {
        fprintf(stderr, argc == 2 ? "compile_tables: %s cannot be written\n"
                                  : "usage: compile_tables OUT.c\n",
                argc == 2 ? argv[1] : "");
        return 1;
    }
    bool done = write_all(cx, out) && !ferror(out);
    done &= fclose(out) == 0;
    if (!done) {
        fprintf(stderr, "%s\n", ctx_failed(cx) ? error_text(cx, NULL, NULL)->s : "not written");
        remove(argv[1]);
    }
    ctx_free(cx);
    return done ? 0 : 1;
}
