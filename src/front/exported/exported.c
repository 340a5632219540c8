/* exported.c - a .pt2 (torch.export archive) as a Program.
 *
 * The graph becomes one function, forward(self, inputs..): weights are attributes of a flat root
 * object, and what is written to at the end (a mutated buffer or input) is an in-place copy_, so
 * that the evaluator has one rule for state in both formats. The file records the type of every
 * value; they go with the statements and are compared with ours. */
#include "value/options.h"
#include "front/exported/exported.h"

/* Of the program's schema: torch 2.2 wrote 2, 2.3 and later 5 to 8; no release wrote 3 and 4. */
enum { OLDEST_MAJOR = 2, SECOND_MAJOR = 5, NEWEST_MAJOR = 8, OPERATORS_VERSION = 10 };

/* One input_spec or output_spec. */
typedef struct Spec {
    Str tag, target;
    bool persistent;
} Spec;
typedef VEC(Spec) Specs;

/* What stands beside the graph. */
typedef struct Signature {
    Specs inputs, outputs;
    Str in_spec, out_spec;
    Map tuples; /* name of a NamedTuple -> ExNames, its fields */
    VEC(Str) arg_names;
} Signature;

/* ---- finding the program ---- */

static bool byte_order(Exported *x)
{
    const ZipEntry *e = zip_find_in_root(x->zip, "byteorder");
    Slice s;
    if (!e)
        return true;
    if (!zip_slice(x->cx, x->zip, e, &s))
        return false;
    return !(s.n >= 3 && memcmp(s.p, "big", 3) == 0) ||
        fail(x->cx, E_UNSUPPORTED,
             "the file was saved on a big-endian machine; save it on a little-endian one");
}

static bool archive_version(Exported *x)
{
    const ZipEntry *e = zip_find_in_root(x->zip, "archive_version");
    Slice s;
    if (!e)
        return true;
    if (!zip_slice(x->cx, x->zip, e, &s))
        return false;
    if (s.n >= 1 && s.p[0] == '0' && (s.n == 1 || s.p[1] == '\n'))
        return true;
    return fail(x->cx, E_UNSUPPORTED, "the archive has version %.*s, newer than what is known here",
                s.n < 20 ? (int)s.n : 20, (const char *)s.p);
}

/* The NAME of models/NAME.json; it may have slashes. NULL: the record is no program. */
static Str model_of(Exported *x, const ZipEntry *e)
{
    static const char folder[] = "models/";
    static const char ending[] = ".json";
    size_t from = x->zip->root->len + sizeof folder - 1;
    size_t to = from;
    if (e->name_len > from + sizeof ending - 1)
        to = e->name_len - (sizeof ending - 1);
    if (to == from || !zip_in_root(x->zip, e) || strcmp(e->name + to, ending) ||
        strncmp(e->name + x->zip->root->len, folder, sizeof folder - 1))
        return NULL;
    return str_n(x->cx, e->name + from, to - from);
}

static const ZipEntry *which_model(Exported *x, Str wanted, size_t n, Buf *names)
{
    if (wanted)
        fail(x->cx, E_USAGE, "--model %s: the package holds no such program, but %s", wanted->s,
             n ? buf_done(names)->s : "none at all");
    else
        fail(x->cx, E_UNDECIDED, "the package holds %zu programs: %s", n, buf_done(names)->s);
    if (!wanted)
        fail_hint(x->cx, "--model NAME");
    return NULL;
}

/* The program that --model names, or else the only one. */
static const ZipEntry *find_model(Exported *x)
{
    const Options *o = x->cx->opt;
    Str wanted = o ? o->model : NULL;
    Buf names = buf_new(x->cx);
    const ZipEntry *found = NULL;
    size_t n = 0;
    for (size_t i = 0; i < x->zip->n; i++) {
        Str name = model_of(x, &x->zip->entry[i]);
        if (!name)
            continue;
        buf_fmt(&names, "%s%s", n++ ? ", " : "", name->s);
        if (!wanted || name == wanted) {
            found = &x->zip->entry[i];
            x->model = name;
        }
    }
    bool unclear = wanted ? !found : n > 1;
    return unclear ? which_model(x, wanted, n, &names) : found;
}

static const ZipEntry *find_program(Exported *x)
{
    if (x->generation != FILE_PT2_OLD)
        return byte_order(x) && archive_version(x) ? find_model(x) : NULL;
    if (x->cx->opt && x->cx->opt->model) {
        fail(x->cx, E_USAGE, "--model %s: this package is older than packages of several programs",
             x->cx->opt->model->s);
        return NULL;
    }
    return zip_find_in_root(x->zip, "serialized_exported_program.json");
}

/* ---- around the graph ---- */

/* {"major": 8, "minor": 20}, or the major alone. */
static bool read_version(Exported *x, Json *j)
{
    Str key;
    int64_t major = -1;
    if (json_peek(j) == J_INT) {
        if (!json_int(j, &major))
            return false;
    } else {
        if (!json_enter_object(j))
            return false;
        while (json_key(j, &key))
            if (!(str_is(key, "major") ? json_int(j, &major) : json_skip(j)))
                return false;
        if (j->failed)
            return false;
    }
    if (major == OLDEST_MAJOR || (major >= SECOND_MAJOR && major <= NEWEST_MAJOR))
        return true;
    fail(x->cx, E_UNSUPPORTED,
         "the program is written in schema %lld, and schemas %d and %d to %d are read",
         (long long)major, OLDEST_MAJOR, SECOND_MAJOR, NEWEST_MAJOR);
    if (major < SECOND_MAJOR)
        fail_hint(
            x->cx,
            "load it with the torch that saved it, export the model again with torch 2.6 or later");
    return false;
}

static bool dialect_ok(Exported *x, Str d, Str *dialect)
{
    *dialect = d;
    if (str_is(d, "TRAINING") || str_is(d, "ATEN"))
        return true;
    fail(x->cx, E_UNSUPPORTED,
         "the program is in the dialect %s, not one of torch.export's own (TRAINING, ATEN)",
         d ? d->s : "null");
    fail_hint(x->cx,
              "save the program before it is lowered: "
              "torch.export.save(torch.export.export(model, args), \"net.pt2\")");
    return false;
}

static bool read_verifiers(Exported *x, Json *j, Str *dialect)
{
    Str d;
    if (json_peek(j) == J_STRING)
        return json_str(j, &d) && dialect_ok(x, d, dialect);
    if (!json_enter_array(j))
        return false;
    while (json_more(j))
        if (!json_str(j, &d) || !dialect_ok(x, d, dialect))
            return false;
    return !j->failed;
}

/* Reads a bound; null, a huge number and Infinity all mean that there is none: *out is `none`. */
static bool read_bound(Json *j, int64_t none, int64_t *out)
{
    *out = none;
    if (json_peek(j) != J_INT)
        return json_skip(j);
    if (!json_int(j, out))
        return false;
    if (*out >= INT64_MAX - 1)
        *out = none;
    return true;
}

static bool is_symbol(Str s)
{
    for (uint32_t i = 0; i < s->len; i++) {
        char c = s->s[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
              (i > 0 && c >= '0' && c <= '9')))
            return false;
    }
    return s->len > 0;
}

/* Reads range_constraints. Keys that are expressions, and not symbols, are skipped: they repeat
 * what the sizes say. */
static bool read_ranges(Exported *x, Json *j)
{
    Str name, key;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &name)) {
        SymbolDecl d = { name, INT64_MIN, DIM_MAX };
        if (!json_enter_object(j))
            return false;
        while (json_key(j, &key)) {
            bool ok;
            if (str_is(key, "min_val"))
                ok = read_bound(j, INT64_MIN, &d.lo);
            else if (str_is(key, "max_val"))
                ok = read_bound(j, DIM_MAX, &d.hi);
            else
                ok = json_skip(j);
            if (!ok)
                return false;
        }
        if (is_symbol(name) && !str_starts(name, "zuf") &&
            d.lo >= 0) /* zuf0 is a float from data, no size */
            vec_push(x->cx, &x->symbols, d);
    }
    x->p->symbol = x->symbols.at;
    x->p->n_symbol = (uint32_t)x->symbols.n;
    return !j->failed;
}

/* ---- the signature ---- */

/* {"arg": .., "parameter_name": n, ..}: the argument, and the name under a key that differs from
 * kind to kind. */
static bool read_spec_fields(Json *j, Spec *s)
{
    static const char *const names[] = { "parameter_name", "buffer_name", "tensor_constant_name",
                                         "custom_obj_name", "user_input_name" };
    Str key;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key)) {
        bool target = false;
        for (size_t i = 0; i < COUNT(names); i++)
            target |= str_is(key, names[i]);
        bool persistent = str_is(key, "persistent") && json_peek(j) != J_NULL;
        bool ok;
        if (target)
            ok = json_str(j, &s->target);
        else if (persistent)
            ok = json_bool(j, &s->persistent);
        else
            ok = json_skip(j);
        if (!ok)
            return false;
    }
    return !j->failed;
}

static bool read_specs(Exported *x, Json *j, Specs *out)
{
    if (!json_enter_array(j))
        return false;
    while (json_more(j)) {
        Spec s = { .persistent = true };
        if (!ex_open_union(x, j, &s.tag) || !read_spec_fields(j, &s) || !ex_close_union(x, j))
            return false;
        vec_push(x->cx, out, s);
    }
    return !j->failed;
}

static bool read_signature(Exported *x, Json *j, Signature *s)
{
    Str key;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key)) {
        bool ok;
        if (str_is(key, "input_specs"))
            ok = read_specs(x, j, &s->inputs);
        else if (str_is(key, "output_specs"))
            ok = read_specs(x, j, &s->outputs);
        else
            ok = json_skip(j);
        if (!ok)
            return false;
    }
    return !j->failed;
}

static bool read_arg_names(Exported *x, Json *j, Signature *s)
{
    Str name;
    if (json_peek(j) == J_NULL)
        return json_skip(j);
    if (!json_enter_array(j))
        return false;
    while (json_more(j))
        if (!json_str(j, &name) || !vec_push(x->cx, &s->arg_names, name))
            return false;
    return !j->failed;
}

/* How the program is called, as torch.export wrote: how arguments and results nest, and the
 * names of forward's arguments. May be null. */
static bool read_call_signature(Exported *x, Json *j, Signature *s)
{
    Str key;
    if (json_peek(j) == J_NULL)
        return json_skip(j);
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key)) {
        bool ok;
        if (str_is(key, "in_spec"))
            ok = json_str(j, &s->in_spec);
        else if (str_is(key, "out_spec"))
            ok = json_str(j, &s->out_spec);
        else if (str_is(key, "forward_arg_names"))
            ok = read_arg_names(x, j, s);
        else
            ok = json_skip(j);
        if (!ok)
            return false;
    }
    return !j->failed;
}

/* The first entry is the whole model; the others are its modules. */
static bool read_call_graph(Exported *x, Json *j, Signature *s)
{
    Str key;
    if (!json_enter_array(j))
        return false;
    for (bool first = true; json_more(j); first = false) {
        if (!first) {
            if (!json_skip(j))
                return false;
            continue;
        }
        if (!json_enter_object(j))
            return false;
        while (json_key(j, &key))
            if (!(str_is(key, "signature") ? read_call_signature(x, j, s) : json_skip(j)))
                return false;
    }
    return !j->failed;
}

/* {"my.Point": {"field_names": ["x", "y"]}} */
static bool read_tuples(Exported *x, Json *j, Signature *s)
{
    Str name, key, field;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &name)) {
        ExNames *fields = new(x->cx, ExNames);
        if (!json_enter_object(j))
            return false;
        while (json_key(j, &key)) {
            if (!str_is(key, "field_names")) {
                if (!json_skip(j))
                    return false;
                continue;
            }
            if (!json_enter_array(j))
                return false;
            while (json_more(j))
                if (!json_str(j, &field) || !vec_push(x->cx, fields, field))
                    return false;
        }
        map_put(x->cx, &s->tuples, name, fields);
    }
    return !j->failed;
}

/* The graph is read from a copy of the position, so that the signature may stand before or behind
 * it. Both must be there and agree about how many inputs and outputs there are. */
static bool read_graph_module(Exported *x, Json *j, Signature *s)
{
    Str key;
    bool graph = false;
    bool signature = false;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key)) {
        Json at = *j;
        bool ok;
        graph |= str_is(key, "graph");
        signature |= str_is(key, "signature");
        if (str_is(key, "graph"))
            ok = ex_graph(x, &at) && json_skip(j);
        else if (str_is(key, "signature"))
            ok = read_signature(x, j, s);
        else if (str_is(key, "module_call_graph"))
            ok = read_call_graph(x, j, s);
        else if (str_is(key, "treespec_namedtuple_fields"))
            ok = read_tuples(x, j, s);
        else
            ok = json_skip(j);
        if (!ok)
            return false;
    }
    if (j->failed)
        return false;
    if (!graph || !signature)
        return fail(x->cx, E_FORMAT, "%s: the program has no graph or no signature", j->record);
    if (s->inputs.n != x->inputs.n || s->outputs.n != x->outputs.n)
        return fail(x->cx, E_FORMAT,
                    "%s: the signature has %zu inputs and %zu outputs, the graph %zu and %zu",
                    j->record, s->inputs.n, s->outputs.n, x->inputs.n, x->outputs.n);
    return true;
}

/* The guards: conditions in Python on which the exported graph relies beside the ranges. */
static bool read_guards(Exported *x, Json *j)
{
    Str guard;
    if (json_peek(j) == J_NULL)
        return json_skip(j);
    if (!json_enter_array(j))
        return false;
    while (json_more(j)) {
        if (!json_str(j, &guard))
            return false;
        if (guard)
            vec_push(x->cx, &x->guards, guard);
    }
    x->p->guard = x->guards.at;
    x->p->n_guard = (uint32_t)x->guards.n;
    x->p->has_guards = true;
    return !j->failed;
}

/* Keys come in any order, so the object is gone through twice: first what decides how the rest is
 * read (version, symbols and their ranges), then the graph and the guards. */
static bool read_program(Exported *x, Json *j, Signature *s)
{
    Str key;
    Str torch = NULL;
    Str dialect = NULL;
    if (!json_enter_object(j))
        return false;
    Json first = *j;
    /* the version and the symbols decide how the rest is read */
    while (json_key(&first, &key)) {
        bool ok;
        if (str_is(key, "schema_version"))
            ok = read_version(x, &first);
        else if (str_is(key, "verifiers") || str_is(key, "dialect"))
            ok = read_verifiers(x, &first, &dialect);
        else if (str_is(key, "torch_version"))
            ok = json_str(&first, &torch);
        else if (str_is(key, "range_constraints"))
            ok = read_ranges(x, &first);
        else
            ok = json_skip(&first);
        if (!ok)
            return false;
    }
    while (json_key(j, &key)) {
        bool ok;
        if (str_is(key, "graph_module"))
            ok = read_graph_module(x, j, s);
        else if (str_is(key, "guards_code"))
            ok = read_guards(x, j);
        else
            ok = json_skip(j);
        if (!ok)
            return false;
    }
    if (j->failed || first.failed)
        return false;
    if (!x->fn)
        return fail(x->cx, E_FORMAT, "%s: there is no graph_module", j->record);
    if (json_next(j) != J_END)
        return fail(x->cx, E_FORMAT, "%s: more text follows the program", j->record);
    const char *version = torch ? torch->s : "2.4 or older";
    x->p->kind = str_fmt(x->cx, "torch.export archive (torch %s, %s)", version,
                         dialect ? dialect->s : "?");
    return true;
}

/* ---- inputs ---- */

static Stmt *statement(Exported *x, StmtKind kind, Expr *value)
{
    Stmt *s = stmt_new(x->cx, kind);
    s->value = value;
    return s;
}

/* e, made as an X_ATTR, is this attribute of the model. */
static void set_attribute(Exported *x, Expr *e, Str name)
{
    if (!x->self)
        x->self = ex_local(x, 0);
    e->kind = X_ATTR;
    e->a = x->self;
    e->name = name;
}

static Expr *attribute(Exported *x, Str name)
{
    Expr *e = ex_expr(x, X_ATTR);
    set_attribute(x, e, name);
    return e;
}

static const void *slot_key(uint32_t slot) { return (const void *)((uintptr_t)slot + 1); }

/* The parts of each weight as a list, in the order of the file. */
static void link_parts(Exported *x)
{
    for (size_t i = x->parts.n; i > 0; i--) {
        ExPart *part = &x->parts.at[i - 1];
        if (part->fn != x->fn)
            continue;
        part->next = (size_t)(uintptr_t)map_get(&x->parts_of, slot_key(part->from));
        map_put(x->cx, &x->parts_of, slot_key(part->from), (const void *)(uintptr_t)i);
    }
}

/* The statements that take parts of what lies in slot `from`, which the entry of this name is, read
 * the entries of those parts. A part may wrap others in turn. *n: how many there are. */
static bool load_parts(Exported *x, const Spec *s, Str name, uint32_t from, ExStore store,
                       size_t *n)
{
    check_stack(x->cx); /* a pickle may put a wrapper into itself */
    size_t i = (size_t)(uintptr_t)map_get(&x->parts_of, slot_key(from));
    while (i > 0) {
        const ExPart part = x->parts.at[i - 1];
        i = part.next;
        count_work(x->cx);
        if (part.value->kind != X_NONE)
            continue;
        Str inner = str_fmt(x->cx, "%s.%s", name->s, part.name->s);
        size_t index, inside = 0;
        bool apart;
        ++*n;
        if (!ex_take_apart(x, store, inner, &apart) ||
            (apart && !load_parts(x, s, inner, part.to, store, &inside)))
            return false;
        if (inside) { /* the whole is not asked for */
            part.value->kind = X_TRUE;
            continue;
        }
        if (!ex_state(x, store, inner, str_is(s->tag, "parameter"), s->persistent, &index))
            return false;
        set_attribute(x, part.value, inner);
    }
    return true;
}

static void set_local(Exported *x, uint32_t slot, Expr *value)
{
    Stmt *s = statement(x, S_ASSIGN, value);
    s->target = mem_copy(x->cx, &slot, sizeof slot);
    s->n_target = 1;
    ex_prologue(x, s);
}

/* slot = self.NAME. A model has many: where nobody sees them they become one statement. */
static bool add_load(Exported *x, uint32_t slot, Expr *value)
{
    if (!program_is_shown(x->cx))
        return vec_push(x->cx, &x->loaded, slot) && vec_push(x->cx, &x->loads, value);
    set_local(x, slot, value);
    return true;
}

/* p_fc_weight = self.fc.weight */
static bool load_state(Exported *x, const Spec *s, const ExArg *input, ExStore store)
{
    size_t index, n = 0;
    bool apart;
    if (!s->target || s->target->len == 0 || !input->name)
        return fail(x->cx, E_FORMAT, "an input of the kind %s has no name", s->tag->s);
    if (!ex_take_apart(x, store, s->target, &apart) ||
        (apart && !load_parts(x, s, s->target, input->value->slot, store, &n)))
        return false;
    if (n)
        return true;
    if (!ex_state(x, store, s->target, str_is(s->tag, "parameter"), s->persistent, &index))
        return false;
    return add_load(x, input->value->slot, attribute(x, s->target));
}

/* Those that nobody sees, in one statement. */
static void add_loads(Exported *x)
{
    Stmt *s = statement(x, S_ASSIGN, NULL);
    s->target = x->loaded.at;
    s->values = x->loads.at;
    s->n_target = s->n_values = (uint32_t)x->loads.n;
    ex_prologue(x, s);
}

static const TypeExpr *type_named(Exported *x, const char *name)
{
    TypeExpr *t = new(x->cx, TypeExpr);
    t->name = str_of(x->cx, name);
    return t;
}

typedef struct Params {
    VEC(ParamDecl) param;
    VEC(InputDecl) input;
} Params;

/* Records a number that was dynamic at first, while the exported program holds for one value
 * alone. */
static bool add_pinned(Exported *x, const ExArg *in, Str path, int64_t value)
{
    Expr *e = ex_expr(x, X_INT);
    e->i = value;
    set_local(x, in->value->slot, e);
    note(x->cx, NOTE_DROPPED, "the input %s: torch.export made the program for %s = %lld only",
         path->s, path->s, (long long)value);
    return !ctx_failed(x->cx);
}

/* Adds an input of the user under this name, with what the file records of it. Refused: an empty
 * name, and an element type that ONNX does not have, also of an input that nothing uses. */
static bool add_input(Exported *x, Params *ps, const ExArg *in, Str path)
{
    const Recorded *r = map_get(&x->input_types, in->name);
    bool number = r && r->what;
    if (number && r->dim && r->dim->known >= 0)
        return add_pinned(x, in, path, r->dim->known);
    if (path->len == 0)
        return fail(x->cx, E_FORMAT, "an input of the program has no name");
    if (r && !number && r->dtype == DT_NONE)
        return fail(x->cx, E_UNSUPPORTED, "the input %s is of complex32, which ONNX does not have",
                    path->s);
    const TypeExpr *type = number ? type_named(x, r->what->s) : NULL;
    vec_push(x->cx, &ps->param, (ParamDecl){ .name = path, .type = type, .slot = in->value->slot });
    InputDecl d = { .name = path, .type = type, .known = r != NULL };
    if (r) {
        d.dtype = number ? DT_INT64 : r->dtype;
        d.rank = r->rank;
        d.dim = r->dim;
    }
    return vec_push(x->cx, &ps->input, d);
}

static bool is_leaf(const Spec *s)
{
    return str_is(s->tag, "user_input") || str_is(s->tag, "constant_input");
}

/* Paths of the leaves in their order; NULL when the nesting is not known, then placeholders' own
 * names are used. */
static const Str *leaf_paths(Exported *x, const Signature *s)
{
    size_t n = 0;
    ExPaths paths = { 0 };
    for (size_t i = 0; i < s->inputs.n; i++)
        n += is_leaf(&s->inputs.at[i]);
    bool ok = s->in_spec &&
        ex_input_paths(x->cx, s->in_spec, s->arg_names.at, s->arg_names.n, &s->tuples, &paths);
    return ok && paths.n == n ? paths.at : NULL;
}

/* A leaf's path in the call's arguments (batch.image), or the graph's name for it where the file
 * records no path or an empty one. */
static Str input_name(const ExArg *in, const Str *paths, size_t leaf)
{
    return paths && paths[leaf]->len > 0 ? paths[leaf] : in->name;
}

/* Parameters of forward are made of the user's inputs; weights, buffers and constants are loaded
 * under their names. */
static bool read_inputs(Exported *x, const Signature *s, Params *ps)
{
    const Str *paths = leaf_paths(x, s);
    size_t leaf = 0;
    link_parts(x);
    vec_push(x->cx, &ps->param, (ParamDecl){ .name = str_of(x->cx, "self") });
    for (size_t i = 0; i < s->inputs.n; i++) {
        const Spec *spec = &s->inputs.at[i];
        const ExArg *in = &x->inputs.at[i];
        bool ok = true;
        if (is_leaf(spec)) {
            if (in->name && str_is(spec->tag, "user_input"))
                ok = add_input(x, ps, in, input_name(in, paths, leaf));
            leaf++;
        } else if (str_is(spec->tag, "parameter") || str_is(spec->tag, "buffer")) {
            ok = load_state(x, spec, in, spec->persistent ? EX_WEIGHTS : EX_CONSTANTS);
        } else if (str_is(spec->tag, "tensor_constant")) {
            ok = load_state(x, spec, in, EX_CONSTANTS);
        } else if (!str_is(spec->tag, "token")) {
            ok = fail(x->cx, E_UNSUPPORTED,
                      "the program takes an input of the kind %s, which ONNX has no place for",
                      spec->tag->s);
        }
        if (!ok)
            return false;
    }
    if (x->loads.n)
        add_loads(x);
    for (size_t i = 0; i < x->parts.n; i++)
        if (x->parts.at[i].value->kind == X_NONE)
            return fail(x->cx, E_UNSUPPORTED,
                        "the program takes %s out of a tensor that is no saved weight",
                        x->parts.at[i].name->s);
    x->p->input = ps->input.at;
    x->p->n_input = (uint32_t)ps->input.n;
    return true;
}

/* ---- outputs ---- */

/* What a mutation writes to: a buffer, a parameter, an input. NULL: the spec is no mutation. */
static Expr *mutated(Exported *x, const Spec *s)
{
    if (!s->target)
        return NULL;
    if (str_is(s->tag, "buffer_mutation") || str_is(s->tag, "parameter_mutation"))
        return map_find(&x->state_by_name, s->target) ? attribute(x, s->target) : NULL;
    for (size_t i = 0; i < x->inputs.n; i++)
        if (x->inputs.at[i].name == s->target)
            return x->inputs.at[i].value;
    return NULL;
}

static bool write_back(Exported *x, const Spec *s, Expr *value)
{
    Expr *to = mutated(x, s);
    if (!to)
        return fail(x->cx, E_FORMAT,
                    "an output of the kind %s changes what the program does not have", s->tag->s);
    Expr *copy = ex_expr(x, X_OP);
    copy->op = op_named(x->cx, "aten::copy_");
    copy->overload = str_of(x->cx, "");
    copy->args = new_array(x->cx, Arg, 2);
    copy->n_args = 2;
    copy->args[0].value = to;
    copy->args[1].value = value;
    ex_epilogue(x, statement(x, S_EXPR, copy));
    return true;
}

/* Does the path have a name in it? One of numbers alone says no more than the position does. */
static bool tells(Str path)
{
    for (uint32_t i = 0; i < path->len; i++)
        if (path->s[i] != '.' && (path->s[i] < '0' || path->s[i] > '9'))
            return true;
    return false;
}

typedef struct Outputs {
    VEC(Expr *) value;
    VEC(Str) name;
} Outputs;

static bool read_output(Exported *x, const Spec *s, const ExArg *a, const ExPaths *paths,
                        size_t leaf, Outputs *out)
{
    if (str_is(s->tag, "user_output")) {
        Str path = leaf < paths->n && tells(paths->at[leaf]) ? paths->at[leaf] : NULL;
        if (a->value->kind == X_NONE)
            return true;
        return vec_push(x->cx, &out->value, a->value) && vec_push(x->cx, &out->name, path);
    }
    if (str_is(s->tag, "buffer_mutation") || str_is(s->tag, "parameter_mutation") ||
        str_is(s->tag, "user_input_mutation"))
        return write_back(x, s, a->value);
    if (str_is(s->tag, "token"))
        return true;
    return fail(x->cx, E_UNSUPPORTED,
                "the program is a training graph: it has an output of the kind %s", s->tag->s);
}

/* The return statement, and the outputs' names from the out_spec: only where that has as many
 * leaves as the program has user outputs. Outputs that are writes (a buffer's new value) become
 * assignments. */
static bool read_outputs(Exported *x, const Signature *s)
{
    ExPaths paths = { 0 };
    Outputs out = { 0 };
    size_t leaf = 0;
    size_t leaves = 0;
    for (size_t i = 0; i < s->outputs.n; i++)
        leaves += str_is(s->outputs.at[i].tag, "user_output");
    if (!s->out_spec || !ex_output_paths(x->cx, s->out_spec, &s->tuples, &paths) ||
        paths.n != leaves)
        paths.n = 0;
    for (size_t i = 0; i < s->outputs.n; i++) {
        if (!read_output(x, &s->outputs.at[i], &x->outputs.at[i], &paths, leaf, &out))
            return false;
        leaf += str_is(s->outputs.at[i].tag, "user_output");
    }
    Expr *all = ex_expr(x, X_TUPLE);
    all->items = out.value.at;
    all->n = (uint32_t)out.value.n;
    ex_epilogue(x, statement(x, S_RETURN, out.value.n == 1 ? out.value.at[0] : all));
    x->p->output_name = out.name.at;
    x->p->n_output_name = (uint32_t)out.name.n;
    return !ctx_failed(x->cx);
}

/* ---- the program ---- */

static ClassDef *root_class(Exported *x)
{
    ClassDef *c = new(x->cx, ClassDef);
    c->qualname = c->plain = str_of(x->cx, "ExportedProgram");
    c->kind = CLASS_MODULE;
    return c;
}

/* What only reading asks for of the graph's values. */
static void forget_graph(Exported *x, Signature *s)
{
    mem_give(x->cx, s->inputs.at, s->inputs.cap * sizeof *s->inputs.at);
    mem_give(x->cx, x->inputs.at, x->inputs.cap * sizeof *x->inputs.at);
    mem_give(x->cx, x->locals.at, x->locals.cap * sizeof *x->locals.at);
    memset(&x->inputs, 0, sizeof x->inputs);
    memset(&x->locals, 0, sizeof x->locals);
}

/* From the package to x->p: the program's JSON, the weights it refers to, its inputs, its outputs.
 * False after an error. */
static bool load(Exported *x)
{
    Slice text;
    Signature s = { 0 };
    Params ps = { 0 };
    const ZipEntry *e = find_program(x);
    if (!e)
        return ctx_failed(x->cx) ? false : fail(x->cx, E_FORMAT, "the package holds no program");
    if (!zip_slice(x->cx, x->zip, e, &text))
        return false;
    Json j = json_over(x->cx, str_of(x->cx, e->name)->s, text);
    JsonEnds ends = { 0 };
    j.nan_words = true;
    j.ends = &ends;
    bool read = read_program(x, &j, &s);
    json_forget(x->cx, &ends);
    zip_give(x->cx, text);
    if (!read || !ex_open_stores(x) || !read_inputs(x, &s, &ps) || !read_outputs(x, &s))
        return false;
    ex_close_stores(x);
    zip_close(x->cx, x->zip);
    map_give(x->cx, &x->input_types);
    map_give(x->cx, &x->parts_of);
    x->cls->field_index = x->state_by_name; /* all are known, and each is a slot of the root */
    x->p->entry = ex_finish(x, ps.param.at, (uint32_t)ps.param.n);
    map_put(x->cx, &x->cls->method, x->p->entry->name, x->p->entry);
    forget_graph(x, &s);
    if (x->n_assertions)
        note(x->cx, NOTE_DROPPED, "%zu assertion%s about sizes and values, which ONNX cannot say",
             x->n_assertions, x->n_assertions == 1 ? "" : "s");
    return !ctx_failed(x->cx);
}

/* The program has its sizes as texts. The evaluation makes them of these, once it is known which
 * symbols are sizes, and so 0 or more, and which are numbers of any sign (eval/io/symbols.c). */
static void forget_sizes(Ctx *cx)
{
    cx->dims = NULL;
    cx->types = NULL;
}

/* The program that lies in the package; NULL after an error. It serves every evaluation, so it lies
 * beside what a restart forgets. */
Program *exported_load(Ctx *cx, Zip *zip, FileKind generation)
{
    keep_begin(cx);
    Exported *x = new(cx, Exported);
    Program *p = new(cx, Program);
    *x = (Exported){ .cx = cx, .p = p, .zip = zip, .generation = generation };
    x->cls = root_class(x);
    p->file = zip->src->name ? zip->src->name : str_of(cx, "model");
    p->op_version = OPERATORS_VERSION;
    p->traced = p->exported = true;
    p->build_root = ex_build_root;
    p->front = x;
    PhaseAround around = phase_begin(cx, PHASE_PROGRAM);
    bool ok = load(x);
    phase_end(cx, around);
    keep_end(cx);
    forget_sizes(cx);
    return ok ? p : NULL;
}
