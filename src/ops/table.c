/* table.c - every family, and the candidates of a name.
 *
 * The build writes down which rows and rules have which name (tools/compile_tables.c), so a context
 * makes the entries of those names that it asks for, and no others; a schema is parsed when its
 * name is first called. A user's rules stand before the built-in rows of their name. */
#include "ops/internal.h"

/* One line a family: its folder; its rows, OP_ROWS(NAME) of NAME.c; and NAME.rules where it has
 * one. ELEMENT_BY_ELEMENT: both, and PyTorch's TensorIterator computes what its rows and rules say.
 */
#define FAMILIES(ROWS, ROWS_AND_RULES, ELEMENT_BY_ELEMENT) \
    ELEMENT_BY_ELEMENT(elementwise, pointwise)             \
    ROWS_AND_RULES(elementwise, special)                   \
    ROWS(elementwise, foreach)                             \
    ROWS(elementwise, polynomial)                          \
    ROWS(elementwise, gamma)                               \
    ROWS(elementwise, bessel)                              \
    ROWS(nn, loss)                                         \
    ROWS(nn, ctc)                                          \
    ROWS_AND_RULES(elementwise, prims)                     \
    ROWS(elementwise, complex)                             \
    ROWS(signal, fft)                                      \
    ROWS(create, random)                                   \
    ROWS(signal, window)                                   \
    ROWS(create, convert)                                  \
    ROWS(reduce, reduce)                                   \
    ROWS(reduce, cumulative)                               \
    ROWS(reduce, hash)                                     \
    ROWS(reduce, calculus)                                 \
    ROWS(reduce, norm)                                     \
    ROWS(shape, view)                                      \
    ROWS(shape, slice)                                     \
    ROWS(shape, split)                                     \
    ROWS(shape, strided)                                   \
    ROWS(shape, shape)                                     \
    ROWS(shape, concat)                                    \
    ROWS(shape, pad)                                       \
    ROWS(index, index)                                     \
    ROWS(index, scatter)                                   \
    ROWS(nn, embedding)                                    \
    ROWS(index, sort)                                      \
    ROWS(index, search)                                    \
    ROWS(index, binned)                                    \
    ROWS(create, create)                                   \
    ROWS(linalg, einsum)                                   \
    ROWS(linalg, linalg)                                   \
    ROWS(linalg, grouped)                                  \
    ROWS(linalg, solve)                                    \
    ROWS(linalg, householder)                              \
    ROWS(linalg, jacobi)                                   \
    ROWS(linalg, schur)                                    \
    ROWS(linalg, lu)                                       \
    ROWS(linalg, ldl)                                      \
    ROWS(nn, conv)                                         \
    ROWS(nn, pool)                                         \
    ROWS(nn, fractional)                                   \
    ROWS(nn, normalization)                                \
    ROWS(nn, resize)                                       \
    ROWS(nn, interpolate)                                  \
    ROWS(nn, grid)                                         \
    ROWS(nn, im2col)                                       \
    ROWS(nn, attention)                                    \
    ROWS(nn, nested)                                       \
    ROWS(nn, torch_onnx)                                   \
    ROWS(quantized, quantized)                             \
    ROWS(quantized, quantized_layers)                      \
    ROWS(quantized, quantized_dynamic)                     \
    ROWS_AND_RULES(quantized, packed_weights)              \
    ROWS(quantized, quantized_blocks)                      \
    ROWS_AND_RULES(quantized, fake_quantized)              \
    ROWS(quantized, observed)                              \
    ROWS(nn, prepacked)                                    \
    ROWS(nn, rnn)                                          \
    ROWS(nn, packed)                                       \
    ROWS(shape, symint)                                    \
    ROWS(nn, vision)

#define DECLARE(folder, name) OP_ROWS(name);
#define DECLARE_BOTH(folder, name) \
    OP_ROWS(name);                 \
    extern const char rules_##name[];
FAMILIES(DECLARE, DECLARE_BOTH, DECLARE_BOTH)

#define FAMILY_OF_ROWS(folder, name)     { #folder, #name, ops_##name, NULL, false },
#define FAMILY_OF_BOTH(folder, name)     { #folder, #name, ops_##name, rules_##name, false },
#define FAMILY_OF_ELEMENTS(folder, name) { #folder, #name, ops_##name, rules_##name, true },
const OpFamily op_families[] = {
    FAMILIES(FAMILY_OF_ROWS, FAMILY_OF_BOTH, FAMILY_OF_ELEMENTS){ NULL, NULL, NULL, NULL, false },
};

extern const NameTable op_names;
enum { FAMILIES_COUNT = COUNT(op_families) - 1 };

struct OpTable {
    Map entries; /* of the names asked for; Str -> Entry, which may have no candidate */
    RuleSet *rules[FAMILIES_COUNT]; /* of the families that have been asked for a rule */
    int version;
    DType default_dtype;
};

/* Forgotten by ctx_restart, as the values are. */
struct RecordErrors {
    Map values;
};

/* "aten::max.dim(Tensor .." -> "aten::max" */
static Str line_name(Ctx *cx, const char *line)
{
    size_t n = 0;
    while (line[n] && line[n] != '(' && line[n] != '.')
        n++;
    return str_n(cx, line, n);
}

bool op_row(const OpFamily *family, size_t number, OpRow *out)
{
    *out = (OpRow){ .kind = ROW_END };
    family->rows(out, number);
    return out->kind != ROW_END;
}

static Candidate row_candidate(Ctx *cx, const OpFamily *family, size_t number)
{
    OpRow row;
    OpRow *owner = new(cx, OpRow);
    op_row(family, number, &row);
    *owner = row;
    while (owner->kind == ROW_OLDER)
        op_row(family, --number, owner);
    return (Candidate){ .row = owner,
                        .line = row.schema,
                        .promote = owner->promote,
                        .kinds = owner->kinds ? owner->kinds : PLAIN,
                        .layout = owner->layout };
}

static bool has_word(const char *words, const char *word)
{
    size_t len = strlen(word);
    for (size_t n; *words; words += n + strspn(words + n, " \t")) {
        n = strcspn(words, " \t");
        if (n == len && memcmp(words, word, n) == 0)
            return true;
    }
    return false;
}

/* The kinds among these words: "plain quant". Without any: PLAIN if `plain`, else none. */
static unsigned kinds_of(Str words, bool plain)
{
    static const struct {
        const char *name;
        Kinds kind;
    } names[] = {
        { "plain", PLAIN },
        { "quant", QUANT },
        { "nested", NESTED },
    };
    unsigned out = 0;
    if (words)
        for (size_t i = 0; i < COUNT(names); i++)
            if (has_word(words->s, names[i].name))
                out |= names[i].kind;
    return out || !plain ? out : PLAIN;
}

/* What the clause `layout` of a rule says. False: no such word. */
static bool layout_of_word(Str word, RowLayout *out)
{
    bool own = word && str_is(word, "own");
    bool contiguous = word && str_is(word, "contiguous");
    if (own)
        *out = LAYOUT_OWN_ORDER;
    else if (contiguous)
        *out = LAYOUT_CONTIGUOUS;
    return own || contiguous;
}

static Candidate rule_candidate(const Rule *r)
{
    Candidate c = { .rule = r,
                    .line = r->head->s,
                    .promote = r->promote ? r->promote->s : NULL,
                    .kinds = kinds_of(r->kinds, true) };
    layout_of_word(r->layout, &c.layout);
    return c;
}

static struct OpTable *table(Ctx *cx)
{
    if (!cx->ops) {
        keep_begin(cx);
        cx->ops = new(cx, struct OpTable);
        keep_end(cx);
    }
    return cx->ops;
}

static RuleSet *rules_of_family(Ctx *cx, uint16_t number)
{
    RuleSet **set = &table(cx)->rules[number];
    const OpFamily *f = &op_families[number];
    if (!*set) {
        *set = new(cx, RuleSet);
        **set = rule_set(cx, str_fmt(cx, "%s.rules", f->name)->s, f->rules, NULL);
    }
    return *set;
}

static void add_candidate(Ctx *cx, Entry *e, NameItem at)
{
    const OpFamily *f = &op_families[at.family];
    bool row = at.at == NAME_OF_ROW;
    const Rule *rule = row ? NULL : rule_at(cx, rules_of_family(cx, at.family), at);
    if (!row && !rule)
        return;
    Candidate c = row ? row_candidate(cx, f, at.number) : rule_candidate(rule);
    c.elementwise = f->elementwise;
    vec_push(cx, &e->at, c);
}

/* The entry of a name, in the keep arena; one that nothing has the name of has no candidates. */
static Entry *entry(Ctx *cx, Str name)
{
    struct OpTable *t = table(cx);
    MapEntry *made = map_find(&t->entries, name);
    if (made)
        return made->val;
    size_t n;
    const NameItem *at = names_find(&op_names, name->s, name->len, &n);
    keep_begin(cx);
    Entry *e = new(cx, Entry);
    e->op = (Operator){ .name = name, .entry = e };
    for (size_t i = 0; i < n; i++)
        add_candidate(cx, e, at[i]);
    map_put(cx, &t->entries, name, e);
    keep_end(cx);
    return e;
}

Operator *op_find(Ctx *cx, Str name) { return &entry(cx, name)->op; }
Operator *op_named(Ctx *cx, const char *name) { return op_find(cx, str_of(cx, name)); }

Entry *table_find(Ctx *cx, Str name)
{
    Entry *e = entry(cx, name);
    return e->at.n || e->callback ? e : NULL;
}

const Schema *candidate_schema(Ctx *cx, Candidate *c)
{
    if (!c->schema)
        c->schema = schema_parse(cx, c->line);
    return c->schema;
}

const Rule *candidate_derivative(Ctx *cx, Candidate *c)
{
    if (c->rule)
        return c->rule->derivatives ? c->rule : NULL;
    if (!c->derivative && c->row->derivative)
        c->derivative = rule_of_derivatives(cx, c->line, c->row->derivative);
    return c->derivative;
}

/* ---- operators whose meaning has changed ---- */

/* Up to version `last` of the operator set, calls of `name` are lowered by `row`. into: the calls
 * with out= that the change concerns. full has always given out='s type, and div has always divided
 * truly into floats. */
typedef enum { INTO_NOTHING, INTO_INTEGERS } UpgradeInto;
typedef struct Upgrade {
    const char *name;
    int last;
    const char *row;
    UpgradeInto into;
} Upgrade;
static const Upgrade upgrades[] = {
    { "aten::div", 3, "upgrade::div_0_3", INTO_INTEGERS },
    { "aten::div_", 3, "upgrade::div_0_3_", INTO_NOTHING },
    { "aten::full", 4, "upgrade::full_0_4", INTO_NOTHING },
};

void ops_set_default(Ctx *cx, DType t) { table(cx)->default_dtype = t; }

DType dtype_default(Ctx *cx)
{
    return table(cx)->default_dtype != DT_NONE ? table(cx)->default_dtype : DT_FLOAT;
}

/* ---- results whose recorded type is torch's mistake ---- */

void record_note_erred(Ctx *cx, Ox v)
{
    if (!cx->record_errors)
        cx->record_errors = new(cx, struct RecordErrors);
    map_add(cx, &cx->record_errors->values, v, NULL);
}

static void push_once(Ctx *cx, Ox v, Map *seen, Oxs *todo)
{
    if (v && map_add(cx, seen, v, NULL))
        vec_push(cx, todo, v);
}

/* The values that v was computed from: its node's inputs, and the outputs of the node's branches
 * or body. */
static void push_sources(Ctx *cx, Ox v, Map *seen, Oxs *todo)
{
    const Node *n = v->kind == OX_NODE ? v->node : NULL;
    if (!n)
        return;
    for (int i = 0; i < n->n_in; i++)
        push_once(cx, n->in[i], seen, todo);
    for (int i = 0; i < n->n_attr; i++)
        for (size_t k = 0; n->attr[i].kind == ATTR_GRAPH && k < n->attr[i].g->outputs.n; k++)
            push_once(cx, n->attr[i].g->outputs.at[k], seen, todo);
}

bool record_fail(Ctx *cx, Str name, int i, Str recorded, Str computed)
{
    Str prefix = name ? str_cat(cx, name->s, "", ": ") : str_of(cx, "");
    fail(cx, E_FORMAT,
         "%sthe file records %s for result %d, pt2onnx computed %s: the file is damaged, or "
         "pt2onnx is wrong",
         prefix->s, recorded->s, i, computed->s);
    fail_hint(cx, "save the program again; if that says the same, please report it");
    return false;
}

/* See ops.h. Called only where a record differs, so the walk back through the graph is rare; v is
 * noted when the answer is yes, so that later walks are short. */
bool record_erred(Ctx *cx, Ox v)
{
    Map *erred = cx->record_errors ? &cx->record_errors->values : NULL;
    Map seen = { 0 };
    Oxs todo = { 0 };
    bool found = false;
    if (!erred || !v || !ox_ok(v))
        return false;
    vec_push(cx, &todo, v);
    while (todo.n > 0 && !found) {
        Ox from = todo.at[--todo.n];
        found = map_find(erred, from) != NULL;
        push_sources(cx, from, &seen, &todo);
    }
    if (found)
        record_note_erred(cx, v);
    return found;
}

/* ---- derived forms ---- */

static Entry *plain_of(Ctx *cx, Str name, const char *suffix)
{
    size_t n = strlen(suffix);
    return str_ends(name, suffix) && name->len > n
        ? table_find(cx, str_n(cx, name->s, name->len - n))
        : NULL;
}

/* aten::__iand__ is the in-place form of aten::__and__. */
static Entry *plain_of_dunder(Ctx *cx, Str name)
{
    const char *p = strstr(name->s, "::__i");
    return p && str_ends(name, "__")
        ? table_find(cx, str_fmt(cx, "%.*s::__%s", (int)(p - name->s), name->s, p + 5))
        : NULL;
}

Entry *table_resolve(Ctx *cx, Str name, CallForm *form)
{
    Entry *e = table_find(cx, name);
    *form = FORM_PLAIN;
    if (!e && (e = plain_of(cx, name, "_copy")))
        *form = FORM_COPY;
    if (!e && ((e = plain_of_dunder(cx, name)) || (e = plain_of(cx, name, "_"))))
        *form = FORM_IN_PLACE;
    return e;
}

bool is_in_place(Str name) { return str_ends(name, "_") && !str_ends(name, "__"); }

/* ---- what a name means ---- */

typedef struct Meaning {
    Served callback; /* the user's function that serves an in-place name, before all else */
    Served today;
    Served then;            /* in an archive as old as this one .. */
    const Upgrade *upgrade; /* .. where that differs; NULL: it does not */
} Meaning;

/* The user's function for this in-place name: one registered for `add_` itself, else one for `add`,
 * even where `add_` has a built-in row. Its result is what is written. */
static Served callback_in_place(Ctx *cx, Str name)
{
    Entry *e = is_in_place(name) ? table_find(cx, name) : NULL;
    if (is_in_place(name) && !(e && e->callback))
        e = table_find(cx, str_n(cx, name->s, name->len - 1));
    return (Served){ e && e->callback ? e : NULL, FORM_IN_PLACE };
}

static const Upgrade *upgrade_of(Ctx *cx, Str name)
{
    int version = table(cx)->version;
    for (size_t i = 0; version > 0 && i < COUNT(upgrades); i++)
        if (version <= upgrades[i].last && str_is(name, upgrades[i].name))
            return &upgrades[i];
    return NULL;
}

static bool concerns(const Upgrade *upgrade, DType out)
{
    return upgrade && (out == DT_NONE || (upgrade->into == INTO_INTEGERS && dtype_is_int(out)));
}

static Meaning find_meaning(Ctx *cx, Str name)
{
    Meaning m = { .callback = callback_in_place(cx, name), .upgrade = upgrade_of(cx, name) };
    m.today.by = table_resolve(cx, name, &m.today.form);
    if (m.upgrade)
        m.then.by = table_resolve(cx, str_of(cx, m.upgrade->row), &m.then.form);
    return m;
}

static const Meaning *meaning(Ctx *cx, const Operator *op)
{
    Entry *e = op->entry;
    if (!e->means) {
        keep_begin(cx);
        Meaning *m = new(cx, Meaning);
        *m = find_meaning(cx, op->name);
        e->means = m;
        keep_end(cx);
    }
    return e->means;
}

/* Before something is added that may change them. */
static void forget_meanings(Ctx *cx)
{
    struct OpTable *t = table(cx);
    for (size_t i = 0; i < t->entries.n; i++)
        ((Entry *)t->entries.at[i].val)->means = NULL;
}

void ops_set_version(Ctx *cx, int version)
{
    if (table(cx)->version != version)
        forget_meanings(cx);
    table(cx)->version = version;
}

Served table_served(Ctx *cx, const Operator *op, bool of_program, DType out)
{
    const Meaning *m = meaning(cx, op);
    if (m->callback.by)
        return m->callback;
    return of_program && concerns(m->upgrade, out) ? m->then : m->today;
}

bool op_exists(Ctx *cx, const Operator *op) { return meaning(cx, op)->today.by; }

static bool users_rule(const Entry *e)
{
    return e->at.n > 0 && e->at.at[0].rule && e->at.at[0].rule->users;
}

static bool writes_any(const Schema *s)
{
    bool any = false;
    if (!s)
        return false;
    for (int i = 0; i < s->n_param; i++)
        any |= s->param[i].writes;
    return any;
}

bool op_only_gives(Ctx *cx, const Operator *op)
{
    Served s = meaning(cx, op)->today;
    const Entry *e = s.by;
    return !e ||
        (s.form == FORM_PLAIN && !e->callback && users_rule(e) &&
         !writes_any(candidate_schema(cx, &e->at.at[0])));
}

bool op_writes_to(Ctx *cx, const Operator *op, Str arg, bool first)
{
    Served served = meaning(cx, op)->today;
    const Entry *e = served.by;
    if (!e || (!e->callback && !users_rule(e)))
        return e != NULL;
    if (e->callback)
        return served.form == FORM_IN_PLACE && first;
    const Schema *s = candidate_schema(cx, &e->at.at[0]);
    int i = s ? param_index(s, arg) : -1;
    return served.form == FORM_IN_PLACE ? i == 0 || str_is(arg, "self")
                                        : i >= 0 && s->param[i].writes;
}

bool op_is_callback(Ctx *cx, const Operator *op)
{
    Served s = meaning(cx, op)->today;
    return s.by && s.by->callback && s.form == FORM_PLAIN && !is_in_place(op->name);
}

const char *op_refused(Ctx *cx, const Operator *op)
{
    const Entry *e = meaning(cx, op)->today.by;
    if (e)
        for (size_t i = 0; i < e->at.n; i++)
            if (!e->at.at[i].row || e->at.at[i].row->kind != ROW_REFUSE)
                return NULL;
    return e && e->at.n > 0 && !e->callback ? e->at.at[0].row->text : NULL;
}

/* ---- what users add ---- */

/* Put c before the candidates that e has. A rule without `layout` takes the layout of the row that
 * it overrides, because PyTorch's kernel has made the tensor that the program writes to. */
static void override(Ctx *cx, Entry *e, Candidate c)
{
    if (!c.rule->layout && e->at.n > 0) {
        c.layout = e->at.at[0].layout;
        c.elementwise = e->at.at[0].elementwise;
    }
    vec_push(cx, &e->at, c);
    for (size_t i = e->at.n; i-- > 1;)
        e->at.at[i] = e->at.at[i - 1];
    if (e->at.n > 0)
        e->at.at[0] = c;
}

/* A user's rule for an in-place name must mark what it writes, Tensor(a!); without a mark it is
 * refused, because `mut_` already follows from the rule for `mut`. */
static bool refuse_in_place(Ctx *cx, const Rule *r)
{
    Str name = line_name(cx, r->head->s);
    if (!is_in_place(name) || strchr(r->head->s, '!'))
        return true;
    fail(cx, E_USAGE, "%s: %s writes to its argument, which this head does not say",
         rule_position(cx, r, r->start)->s, name->s);
    fail_hint(cx, "a rule for %.*s: its result is what %s writes; or Tensor(a!) for the argument",
              (int)(name->len - 1), name->s, name->s);
    return false;
}

/* The parameter that result i is itself: Tensor(a!) among the results is the parameter Tensor(a!).
 * -1: none, or it is ambiguous which. */
int schema_itself(const Schema *s, int i)
{
    int found = -1;
    int n = 0;
    if (s->ret[i].writes)
        for (int p = 0; p < s->n_param; p++)
            if (s->param[p].writes && s->param[p].alias == s->ret[i].alias) {
                found = p;
                n++;
            }
    return n == 1 ? found : -1;
}

/* Can a rule give what this schema writes and returns? Each written tensor is one more result of
 * the rule; a list is refused, because its length is the call's. */
static bool check_writes(Ctx *cx, const Rule *r, const Schema *s)
{
    const char *place = rule_position(cx, r, r->start)->s;
    for (int i = 0; i < s->n_param; i++)
        if (s->param[i].writes && (s->param[i].list || s->param[i].base != A_TENSOR))
            return fail(cx, E_USAGE,
                        "%s: %s writes to the tensors of a list, '%s': a rule can only say what a "
                        "single tensor becomes",
                        place, s->name->s, s->param[i].name->s);
    for (int i = 0; i < s->n_ret; i++)
        if (writes_any(s) && (s->ret[i].list || (s->ret[i].alias && schema_itself(s, i) < 0)))
            return fail(cx, E_USAGE,
                        "%s: %s writes, and gives %s, which a rule cannot say beside that", place,
                        s->name->s,
                        s->ret[i].list ? "a list" : "a part of an argument, or one of several");
    return true;
}

/* Does each clause `derivative` name a tensor among the parameters? */
static bool check_derivatives(Ctx *cx, const Rule *r, const Schema *s)
{
    Str param = rule_derivative_of(r, 0);
    for (size_t i = 1; param; i++) {
        int at = param_index(s, param);
        if (at < 0 || s->param[at].base != A_TENSOR || s->param[at].list)
            return fail(cx, E_USAGE, "%s: 'derivative %s': %s has no such tensor",
                        rule_place(cx, r)->s, param->s, s->name->s);
        param = rule_derivative_of(r, i);
    }
    return true;
}

/* Check a user's rule for what the reader of rules cannot know: the name, the kinds, the schema and
 * the promote column. Parses c->schema. */
static bool check_rule(Ctx *cx, const Rule *r, Candidate *c)
{
    const char *kinds = r->kinds ? r->kinds->s : "";
    if (str_starts(r->head, "onnx::"))
        return fail(cx, E_USAGE, "%s: a rule file teaches PyTorch operators; '%s' is ONNX's own",
                    rule_position(cx, r, r->start)->s, r->head->s);
    if (!refuse_in_place(cx, r))
        return false;
    while (*kinds) {
        size_t n = strcspn(kinds, " \t");
        if (n && !kinds_of(str_n(cx, kinds, n), false))
            return fail(cx, E_USAGE, "%s: 'kinds %.*s': the kinds are plain, quant and packed",
                        rule_position(cx, r, r->kinds_at)->s, (int)n, kinds);
        kinds += n + strspn(kinds + n, " \t");
    }
    if (r->layout && !layout_of_word(r->layout, &c->layout))
        return fail(cx, E_USAGE, "%s: 'layout %s': a layout is own or contiguous",
                    rule_position(cx, r, r->layout_at)->s, r->layout->s);
    c->schema = schema_parse_at(cx, c->line, rule_place(cx, r));
    return c->schema && check_writes(cx, r, c->schema) && check_derivatives(cx, r, c->schema) &&
        (!c->promote ||
         column_check(cx, c->schema, c->promote, rule_position(cx, r, r->promote_at)));
}

/* Each rule goes before the rows of its name, the last rule first: so the file's order stays. */
static bool add_user_rules(Ctx *cx, const RuleList *rules)
{
    for (size_t i = rules->n; i-- > 0;) {
        Rule *r = rules->at[i];
        Candidate c = rule_candidate(r);
        r->users = true;
        if (!check_rule(cx, r, &c))
            return false;
        override(cx, entry(cx, line_name(cx, c.line)), c);
    }
    return true;
}

bool ops_add_rules(Ctx *cx, const Text *text)
{
    RuleList rules = { 0 };
    forget_meanings(cx);
    keep_begin(cx);
    bool done = rules_parse(cx, text, &rules) && add_user_rules(cx, &rules);
    keep_end(cx);
    return done;
}

void ops_add_callback(Ctx *cx, Str name, OpCallback fn, void *user)
{
    forget_meanings(cx);
    keep_begin(cx);
    Entry *e = entry(cx, name);
    e->callback = fn;
    e->user = user;
    keep_end(cx);
}
