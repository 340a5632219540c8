/* pt2onnx.c - the public functions: what the file is, its front end, the evaluator, tidy, legalise,
 * the writer.
 *
 * Each call owns one context and frees it whole. Outputs are made under temporary names and renamed
 * when everything has gone well, so a failure at any step leaves nothing behind. */
#include "session.h"

#include "base/limits.h"
#include "front/front.h"
#include "onnx/wire/model_file.h"
#include "tidy/tidy.h"

const char *pt2onnx_version(void) { return PT2ONNX_VERSION; }

/* ---- errors that outlive their context ---- */

struct pt2onnx_error {
    Arena *arena;
    pt2onnx_status status;
    const char *text;
    const char **inputs;
    size_t n_inputs;
};

/* Never written; not const because a caller gets it as any other error. */
static pt2onnx_error no_memory = { NULL, PT2ONNX_UNREADABLE, "out of memory", NULL, 0 };

const char *pt2onnx_error_message(const pt2onnx_error *e) { return e ? e->text : ""; }
pt2onnx_status pt2onnx_error_status(const pt2onnx_error *e) { return e ? e->status : PT2ONNX_OK; }

size_t pt2onnx_error_inputs(const pt2onnx_error *e, const char *const **specs)
{
    *specs = e ? e->inputs : NULL;
    return e ? e->n_inputs : 0;
}

void pt2onnx_error_free(pt2onnx_error *e)
{
    if (e && e->arena)
        arena_free(e->arena); /* e lies in it */
}

static pt2onnx_error *error_keep(pt2onnx_status status, Str text)
{
    Arena *arena = arena_new();
    pt2onnx_error *e = arena ? arena_alloc(arena, sizeof *e) : NULL;
    char *copy = e ? arena_alloc(arena, (size_t)text->len + 1) : NULL;
    if (!copy) {
        arena_free(arena);
        return &no_memory;
    }
    memcpy(copy, text->s, text->len);
    *e = (pt2onnx_error){ arena, status, copy, NULL, 0 };
    return e;
}

/* With what would have helped; without it where memory is out. */
static void error_keep_inputs(pt2onnx_error *e, Str *specs, size_t n)
{
    const char **all = e->arena ? arena_alloc(e->arena, (n + 1) * sizeof *all) : NULL;
    if (!all)
        return;
    for (size_t i = 0; i < n; i++) {
        char *copy = arena_alloc(e->arena, (size_t)specs[i]->len + 1);
        if (!copy)
            return;
        all[i] = memcpy(copy, specs[i]->s, specs[i]->len);
    }
    e->inputs = all;
    e->n_inputs = n;
}

const char *pt2onnx_nearest(const char *word, const char *const *words)
{
    return word_nearest(word, strlen(word), words);
}
void pt2onnx_remove_temporaries(void) { out_remove_all(); }

/* ---- a session ---- */

static void tell_notes(const Session *s)
{
    static const pt2onnx_note kind[] = { [NOTE_ASSUMED] = PT2ONNX_ASSUMED,
                                         [NOTE_ADDED] = PT2ONNX_ADDED,
                                         [NOTE_DROPPED] = PT2ONNX_DROPPED,
                                         [NOTE_CHANGED] = PT2ONNX_CHANGED,
                                         [NOTE_INFO] = PT2ONNX_INFO };
    if (!s->o.on_note)
        return;
    for (size_t i = 0; i < s->cx->notes.n; i++)
        s->o.on_note(s->o.user, kind[s->cx->notes.at[i].kind],
                     text_printable(s->cx, s->cx->notes.at[i].text, LINE_SHOWN)->s);
}

/* The result of the call. ok false without an error is our own mistake, and is said. */
static pt2onnx_status session_end(Session *s, bool ok, pt2onnx_error **e)
{
    if (e)
        *e = NULL;
    if (!s->cx) {
        if (e)
            *e = &no_memory;
        return no_memory.status;
    }
    if (!ok && !ctx_failed(s->cx))
        fail(s->cx, E_BUG, "failed without a reason");
    int64_t heap = s->cx->limit[LIMIT_HEAP];
    s->cx->limit[LIMIT_HEAP] = INT64_MAX; /* a message about it needs a little more */
    tell_notes(s);                        /* of a failure too: what was assumed may explain it */
    pt2onnx_status status = PT2ONNX_OK;
    if (ctx_failed(s->cx)) {
        status = (pt2onnx_status)error_exit_code(s->cx->error.code);
        if (e)
            *e = error_keep(
                status, error_text(s->cx, NULL, s->cx->error.code == E_USAGE ? NULL : s->subject));
        s->cx->limit[LIMIT_HEAP] = heap;
        Strs specs = { 0 };
        if (e && s->program && s->cx->error.code == E_UNDECIDED && missing_inputs(s, &specs))
            error_keep_inputs(*e, specs.at, specs.n);
    } else if (s->written.bytes && s->o.on_written)
        s->o.on_written(s->o.user, &s->written);
    ctx_free(s->cx);
    return status;
}

/* What one call of the library was given; each uses some of it. */
typedef struct Call {
    Session s;
    const pt2onnx_options *o;
    bool (*work)(struct Call *c);
    const char *out, *what; /* what: of pt2onnx_describe */
    const pt2onnx_trace *trace;
    pt2onnx_write write;
    void *user;
} Call;

static bool do_call(void *arg)
{
    Call *c = arg;
    return settings_read(&c->s, c->o) && c->work(c);
}

static pt2onnx_status run_call(Call *c, const char *file, const pt2onnx_options *o,
                               pt2onnx_error **e)
{
    c->s = (Session){ .cx = ctx_new(), .file = file, .subject = file, .kind = FILE_OTHER };
    c->s.stream.fd = sys_standard_output();
    c->o = o;
    bool ok = c->s.cx && bounded(c->s.cx, do_call, c);
    return session_end(&c->s, ok, e);
}

/* ---- from file to program ---- */

static bool open_file(Session *s)
{
    s->src = source_file(s->cx, s->file);
    if (!s->src)
        return false;
    s->kind = kind_of(s->cx, s->src, &s->zip);
    return s->kind != FILE_OTHER && !ctx_failed(s->cx);
}

static bool check_crcs(Session *s)
{
    for (size_t i = 0; i < s->zip->n; i++)
        if (!zip_check_crc(s->cx, s->zip, &s->zip->entry[i]))
            return false;
    return true;
}

/* The program, in the keep arena; nothing has run yet. NULL after an error. */
static Program *load(Session *s)
{
    if (s->kind == FILE_ONNX) {
        fail(s->cx, E_FORMAT, "this is an ONNX model already");
        fail_hint(s->cx, "pt2onnx show %s", s->file);
        return NULL;
    }
    if (s->kind == FILE_TORCHSCRIPT && s->opt.model) {
        fail(s->cx, E_USAGE, "--model %s: a TorchScript archive holds one program",
             s->opt.model->s);
        return NULL;
    }
    if (s->opt.check_crc && !check_crcs(s))
        return NULL;
    keep_begin(s->cx);
    Program *p = s->kind == FILE_TORCHSCRIPT ? torchscript_load(s->cx, s->zip)
                                             : exported_load(s->cx, s->zip, s->kind);
    keep_end(s->cx);
    s->program = ctx_failed(s->cx) ? NULL : p;
    return s->program;
}

/* ---- from program to graph ---- */

/* The opset that has all calls of `op` that were refused; 0: there is none. */
static int opset_of_refused(Ctx *cx, Str op)
{
    int newest = 0;
    for (size_t i = 0; i < cx->refusals.n; i++) {
        const Refusal *r = &cx->refusals.at[i];
        if (r->op == op && !r->opset)
            return 0;
        if (r->op == op && r->opset > newest)
            newest = r->opset;
    }
    return newest;
}

/* All refusals at once. The first lines are PyTorch's own words, because that is what people search
 * for; they say whether a newer opset helps, because scripts print the first line only. */
static bool report_refusals(Ctx *cx, int opset)
{
    if (ctx_failed(cx) || cx->refusals.n == 0)
        return !ctx_failed(cx);
    enum { SHOWN = 16 }; /* the list behind it has the others */
    Map said = { 0 };
    Buf b = buf_new(cx);
    for (size_t i = 0; i < cx->refusals.n; i++) {
        Str op = cx->refusals.at[i].op;
        if (!op || cx->refusals.at[i].unreached || map_find(&said, op))
            continue;
        map_put(cx, &said, op, NULL);
        if (said.n > SHOWN)
            continue;
        buf_fmt(&b, "%sExporting the operator '%s' to ONNX opset version %d is not supported",
                b.n ? "\n" : "", op->s, opset);
        int newer = opset_of_refused(cx, op);
        if (newer)
            buf_fmt(&b, ": version %d supports it", newer);
    }
    if (said.n > SHOWN)
        buf_fmt(&b, "\n... and %zu more operators", said.n - SHOWN);
    return fail(cx, E_UNSUPPORTED, "%s",
                b.n ? buf_done(&b)->s : "something in the model cannot be said in ONNX");
}

/* ---- inputs that nothing uses ---- */

static void find_uses(Ctx *cx, const Graph *g, Map *used)
{
    for (size_t k = 0; k < g->nodes.n; k++) {
        const Node *n = g->nodes.at[k];
        if (n->dead)
            continue;
        for (int i = 0; i < n->n_in; i++)
            if (n->in[i] && n->in[i]->kind == OX_INPUT)
                map_put(cx, used, n->in[i], NULL);
        for (int i = 0; i < n->n_attr; i++)
            if (n->attr[i].kind == ATTR_GRAPH)
                find_uses(cx, n->attr[i].g, used);
    }
    for (size_t i = 0; i < g->outputs.n; i++)
        map_put(cx, used, g->outputs.at[i], NULL);
}

/* Inputs that nothing uses leave the graph, but for those of keep_inputs; a note names each. */
static void drop_inputs(const Session *s, Graph *g)
{
    Ctx *cx = s->cx;
    Map used = { 0 };
    size_t kept = 0;
    find_uses(cx, g, &used);
    for (size_t i = 0; i < g->inputs.n; i++)
        for (size_t k = 0; k < s->o.n_keep_inputs; k++)
            if (strcmp(g->inputs.at[i]->name->s, s->o.keep_inputs[k]) == 0)
                map_put(cx, &used, g->inputs.at[i], NULL);
    for (size_t i = 0; i < g->inputs.n; i++) {
        Ox v = g->inputs.at[i];
        if (map_find(&used, v))
            g->inputs.at[kept++] = v;
        else
            note(cx, NOTE_DROPPED, "the input %s, because nothing uses it", v->name->s);
    }
    g->inputs.n = kept;
}

/* ---- names that the caller has for inputs and outputs, whatever the program calls them ---- */

/* state: where the program says what its state is called, by the name. */
static bool rename_values(Ctx *cx, const char *what, const char *const *names, size_t n,
                          const Map *state, Ox *at, size_t count)
{
    if (n > count)
        return fail(cx, E_USAGE, "number of %s names provided (%zu) exceeded number of %ss (%zu)",
                    what, n, what, count);
    for (size_t i = 0; i < n; i++) {
        Str name = names[i][0] ? str_of(cx, names[i]) : at[i]->name;
        Str *of_state = map_get(state, at[i]->name);
        if (name != at[i]->name && map_find(state, name))
            return fail(cx, E_USAGE, "%s %zu cannot be called %s: the model's state is", what,
                        i + 1, name->s);
        if (of_state)
            *of_state = name;
        at[i]->name = name;
    }
    return true;
}

/* A value has one name: of an output that is called as an input is, the writer makes another. */
static void tell_names_of_inputs(const Session *s, const Graph *g)
{
    Map inputs = { 0 };
    size_t n_named = s->o.n_rename_outputs ? s->o.n_rename_outputs : s->o.n_output_names;
    for (size_t i = 0; i < g->inputs.n; i++)
        map_put(s->cx, &inputs, g->inputs.at[i]->name, NULL);
    for (size_t i = 0; i < n_named && i < g->outputs.n; i++)
        if (map_find(&inputs, g->outputs.at[i]->name))
            note(s->cx, NOTE_DROPPED, "the name %s of an output, because an input has it",
                 g->outputs.at[i]->name->s);
}

/* Identity(constant) as an output -> the constant itself, which a Constant node makes. */
static void lay_bare(Ctx *cx, Graph *g)
{
    Map used = { 0 };
    for (size_t i = 0; i < g->outputs.n; i++) {
        Ox v = g->outputs.at[i];
        if (v->kind != OX_NODE || !node_is(v->node, "Identity") ||
            v->node->in[0]->kind != OX_CONST || map_find(&used, v->node->in[0]))
            continue;
        Ox k = v->node->in[0];
        if (k->name || const_is_weight(k->k))
            continue;
        map_put(cx, &used, k, NULL);
        k->name = v->name;
        v->node->dead = true;
        g->outputs.at[i] = k;
    }
}

static bool rename_all(Session *s, Program *p, Graph *g)
{
    Ctx *cx = s->cx;
    Map state = { 0 };
    for (uint32_t i = 0; i < p->n_state; i++) {
        map_put(cx, &state, p->state[i].input, &p->state[i].input);
        map_put(cx, &state, p->state[i].output, &p->state[i].output);
    }
    if (!rename_values(cx, "input", s->o.rename_inputs, s->o.n_rename_inputs, &state, g->inputs.at,
                       g->inputs.n) ||
        !rename_values(cx, "output", s->o.rename_outputs, s->o.n_rename_outputs, &state,
                       g->outputs.at, g->outputs.n))
        return false;
    tell_names_of_inputs(s, g);
    return true;
}

static bool is_number(Str s) { return s->len > 0 && strspn(s->s, "0123456789") == s->len; }

/* "0" -> "onnx::Asinh_0": the first operator that takes it. */
static void name_as_torch(Ctx *cx, Graph *g)
{
    for (size_t k = 0; k < g->nodes.n; k++) {
        const Node *n = g->nodes.at[k];
        if (n->dead)
            continue;
        for (int i = 0; i < n->n_in; i++)
            if (n->in[i] && n->in[i]->kind == OX_INPUT && n->in[i]->name &&
                is_number(n->in[i]->name))
                n->in[i]->name = str_fmt(cx, "onnx::%s_%s", n->name->s, n->in[i]->name->s);
    }
}

/* The program's graph. NULL after an error or refusals. */
static Graph *evaluated(Session *s, Program *p)
{
    Graph *g = eval_program(s->cx, p);
    return report_refusals(s->cx, s->opt.opset) ? g : NULL;
}

/* Behind the evaluation: neither what tidies the graph nor what writes the model reads what the
 * file says of the program, nor the values of the run. */
static void forget_program(Session *s)
{
    s->program = NULL;
    phase_forget(s->cx, PHASE_PICKLES);
    phase_forget(s->cx, PHASE_PROGRAM);
    phase_forget(s->cx, PHASE_VALUES);
}

/* Makes g the graph that is written: tidied and legalised, then renamed as the options say. False
 * after an error or refusals. */
static bool tidied(Session *s, Program *p, Graph *g)
{
    Ctx *cx = s->cx;
    TidyOptions t = { .opset = s->opt.opset,
                      .keep_weights = s->opt.keep_weights,
                      .target_ort = s->opt.target_ort,
                      .weights_type = s->opt.weights_type,
                      .change_io_types = s->opt.change_io_types,
                      .float32 = s->o.float32,
                      .n_float32 = s->o.n_float32,
                      .float32_used = new_array(cx, bool, s->o.n_float32 + 1),
                      .block = s->opt.block,
                      .fuse = s->opt.fuse,
                      .functions = p->has_calls,
                      .dump_after = s->opt.dump_after,
                      .dump = s->opt.dump,
                      .dump_user = s->opt.dump_user };
    bool ok = t.float32_used && tidy(g, &t); /* tidy ends with legalise */
    if (!report_refusals(cx, s->opt.opset) || !ok || !rename_all(s, p, g))
        return false;
    if (s->o.torch_names)
        name_as_torch(cx, g);
    if (s->o.constant_nodes)
        lay_bare(cx, g);
    if (s->o.drop_unused_inputs)
        drop_inputs(s, g);
    return true;
}

/* ---- what stands in the model beside the graph ---- */

static void find_domains(Ctx *cx, const Graph *g, Map *seen, ModelInfo *info)
{
    for (size_t k = 0; k < g->nodes.n; k++) {
        const Node *n = g->nodes.at[k];
        if (n->dead)
            continue;
        if (n->domain && n->domain->len && !map_find(seen, n->domain)) {
            map_put(cx, seen, n->domain, NULL);
            vec_push(cx, &info->domains, (OpsetImport){ n->domain, 1 });
        }
        for (int i = 0; i < n->n_attr; i++)
            if (n->attr[i].kind == ATTR_GRAPH)
                find_domains(cx, n->attr[i].g, seen, info);
    }
}

/* Notes as metadata: one entry a kind, one line a note. */
static void add_notes(Ctx *cx, ModelInfo *info)
{
    static const char *const key[] = { [NOTE_ASSUMED] = "pt2onnx.assumed",
                                       [NOTE_ADDED] = "pt2onnx.added",
                                       [NOTE_DROPPED] = "pt2onnx.dropped",
                                       [NOTE_CHANGED] = "pt2onnx.changed" };
    for (size_t kind = 0; kind < COUNT(key); kind++) {
        Buf b = buf_new(cx);
        for (size_t i = 0; i < cx->notes.n; i++)
            if (cx->notes.at[i].kind == kind)
                buf_fmt(&b, "%s%s", b.n ? "\n" : "", cx->notes.at[i].text->s);
        if (b.n)
            vec_push(cx, &info->props, (Prop){ str_of(cx, key[kind]), buf_done(&b) });
    }
}

/* "__torch__.torchvision.models.resnet.ResNet" -> "ResNet"; programs without a class are "main". */
static Str graph_name(Ctx *cx, const Program *p)
{
    if (p->root.tag != V_OBJ || !p->root.obj->cls)
        return str_of(cx, "main");
    Str name = p->root.obj->cls->plain ? p->root.obj->cls->plain : p->root.obj->cls->qualname;
    const char *dot = strrchr(name->s, '.');
    return dot ? str_of(cx, dot + 1) : name;
}

/* "my.domain=2", "y.0=batch": the text behind the equals sign. */
static Str value_given_for(Ctx *cx, const char *const *texts, size_t n, Str key)
{
    for (size_t i = 0; i < n; i++)
        if (strncmp(texts[i], key->s, key->len) == 0 && texts[i][key->len] == '=')
            return str_of(cx, texts[i] + key->len + 1);
    return NULL;
}

static void set_versions(Session *s, ModelInfo *info)
{
    for (size_t i = 0; i < info->domains.n; i++) {
        Str version = value_given_for(s->cx, s->o.domains, s->o.n_domains,
                                      info->domains.at[i].domain);
        if (version)
            parse_int(version->s, version->len, &info->domains.at[i].version);
    }
}

static void set_output_dims(Session *s, ModelInfo *info)
{
    for (size_t i = 0; i < s->o.n_output_dims; i++) {
        const char *text = s->o.output_dims[i];
        const char *sep = strchr(text, '=');
        if (sep)
            map_put(s->cx, &info->dim_names, str_n(s->cx, text, (size_t)(sep - text)),
                    str_of(s->cx, sep + 1));
    }
}

/* What the file repeats (stride 0, overlapping views, deflated zeros) may be a few times its own
 * size. Weights that the caller holds in memory have no such bound. */
static uint64_t most_weights(const Session *s)
{
    enum { ALWAYS = 256 << 20, TIMES = 16 };
    int64_t asked = s->cx->limit[LIMIT_OUTPUT];
    if (asked > 0 || !s->src)
        return (uint64_t)asked;
    return s->src->size > UINT64_MAX / TIMES - ALWAYS ? 0 : ALWAYS + TIMES * s->src->size;
}

static ModelInfo model_info(Session *s, Str name, const Graph *g)
{
    ModelInfo info = { .opset = s->opt.opset,
                       .graph_name = name,
                       .weights = s->opt.weights,
                       .node_props = true,
                       .constant_nodes = s->o.constant_nodes != 0,
                       .initializers_as_inputs = s->o.initializers_as_inputs != 0,
                       .doc_strings = s->o.doc_strings != 0,
                       .most_weights = most_weights(s) };
    Map seen = { 0 };
    find_domains(s->cx, g, &seen, &info);
    set_versions(s, &info);
    set_output_dims(s, &info);
    add_notes(s->cx, &info);
    return info;
}

/* ---- converting ---- */

/* What is to be written of p, which is used up (NULL after an error, and so is the result). */
static Graph *finished(Session *s, Program *p, ModelInfo *info)
{
    Graph *g = p ? evaluated(s, p) : NULL;
    if (!g)
        return NULL;
    Str name = graph_name(s->cx, p);
    forget_program(s);
    if (!tidied(s, p, g))
        return NULL;
    *info = model_info(s, name, g);
    if (!state_metadata(s, p, g, info))
        return NULL;
    if (s->o.on_source)
        graph_lines(s->cx, g, s->o.on_source, s->o.user);
    return g;
}

/* All that the call needs is open. Always true. */
static bool shut_door(Session *s)
{
    if (s->o.sandbox)
        sandbox_enter(s->cx);
    return true;
}

static uint64_t nodes_in(Ctx *cx, const Graph *g)
{
    uint64_t count = 0;
    check_stack(cx);
    for (size_t k = 0; k < g->nodes.n; k++) {
        const Node *n = g->nodes.at[k];
        if (n->dead)
            continue;
        count++;
        for (int i = 0; i < n->n_attr; i++)
            if (n->attr[i].kind == ATTR_GRAPH)
                count += nodes_in(cx, n->attr[i].g);
    }
    return count;
}

/* For on_written, which is called behind the notes. Always true. */
static bool count_written(Session *s, const Graph *g)
{
    s->written = (pt2onnx_written){ .opset = s->opt.opset, .nodes = nodes_in(s->cx, g) };
    s->written.bytes = s->model ? out_sink(s->model)->at : s->stream.at;
    if (s->data)
        s->written.bytes += out_sink(s->data)->at;
    return true;
}

/* The outputs are open. */
static bool convert_program(Session *s, Program *p)
{
    ModelInfo info;
    Graph *g = finished(s, p, &info);
    if (!g)
        return false;
    info.link_name = s->file ? sys_base(s->file) : NULL;
    return outputs_write(s, g, &info) && count_written(s, g);
}

static bool convert_file(Call *c)
{
    Session *s = &c->s;
    return outputs_check_link(s, c->out) && open_file(s) && outputs_open(s, c->out) &&
        shut_door(s) && convert_program(s, load(s));
}

pt2onnx_status pt2onnx_convert(const char *model, const char *out, const pt2onnx_options *o,
                               pt2onnx_error **e)
{
    Call c = { .work = convert_file, .out = out };
    return run_call(&c, model, o, e);
}

static bool convert_trace(Call *c)
{
    Session *s = &c->s;
    if (s->opt.weights == WEIGHTS_LINK)
        return fail(s->cx, E_USAGE, "weights=link needs an archive; a trace has none");
    if (!outputs_open(s, c->out) || !shut_door(s))
        return false;
    keep_begin(s->cx);
    Program *p = handed_load(s->cx, c->trace, s->o.symbolic_names,
                             s->o.symbolic ? s->o.n_symbolic_names : 0);
    keep_end(s->cx);
    return convert_program(s, p);
}

pt2onnx_status pt2onnx_convert_trace(const pt2onnx_trace *t, const char *out,
                                     const pt2onnx_options *o, pt2onnx_error **e)
{
    Call c = { .work = convert_trace, .trace = t, .out = out };
    return run_call(&c, NULL, o, e);
}

static bool call_write(void *user, const void *p, size_t n)
{
    const Call *c = user;
    return c->write(c->user, p, n) == 0;
}

static bool convert_stream(Call *c)
{
    Session *s = &c->s;
    s->stream = (Sink){ .fd = -1, .write = call_write, .user = c };
    return outputs_check_link(s, NULL) && outputs_check_stream(s) && open_file(s) && shut_door(s) &&
        convert_program(s, load(s));
}

pt2onnx_status pt2onnx_convert_to(const char *model, pt2onnx_write write, void *write_user,
                                  const pt2onnx_options *o, pt2onnx_error **e)
{
    Call c = { .work = convert_stream, .write = write, .user = write_user };
    return run_call(&c, model, o, e);
}

/* Everything but the writing; measuring the file finds what the writer would refuse. */
static bool check_file(Call *c)
{
    Session *s = &c->s;
    ModelInfo info;
    Graph *g = open_file(s) && shut_door(s) ? finished(s, load(s), &info) : NULL;
    return g && wire_size(s->cx, g, &info) > 0 && !ctx_failed(s->cx);
}

pt2onnx_status pt2onnx_check(const char *model, const pt2onnx_options *o, pt2onnx_error **e)
{
    Call c = { .work = check_file };
    return run_call(&c, model, o, e);
}

/* ---- showing ---- */

/* Without the control characters that a file may have put into it, its lines of no more than `most`
 * characters. JSON has none of the former, and is whole. */
static bool send(Call *c, Buf *b, size_t most)
{
    Ctx *cx = c->s.cx;
    Str text = ctx_failed(cx) ? NULL : buf_done(b);
    if (text && !c->s.o.show_json)
        text = text_printable(cx, text, most);
    return !ctx_failed(cx) &&
        (b->n == 0 || c->write(c->user, text->s, text->len) == 0 ||
         fail(cx, E_IO, "the output was refused"));
}

static bool show_file(Call *c)
{
    Session *s = &c->s;
    if (!open_file(s) || !shut_door(s))
        return false;
    Buf b = buf_new(s->cx);
    s->opt.shown = true;
    if (s->kind == FILE_ONNX)
        return show_onnx(s, &b) && send(c, &b, LINE_SHOWN);
    Program *p = load(s);
    return p && show_program(s, p, &b) && send(c, &b, LINE_SHOWN);
}

pt2onnx_status pt2onnx_show(const char *file, pt2onnx_write write, void *write_user,
                            const pt2onnx_options *o, pt2onnx_error **e)
{
    Call c = { .work = show_file, .write = write, .user = write_user };
    return run_call(&c, file, o, e);
}

/* The page has no weights: none need a file beside it. */
static bool view_file(Call *c)
{
    Session *s = &c->s;
    s->opt.weights = WEIGHTS_INLINE;
    if (!open_file(s) || !outputs_open(s, c->out) || !shut_door(s))
        return false;
    if (s->kind == FILE_ONNX)
        return view_write(s, NULL, NULL);
    ModelInfo info;
    Graph *g = finished(s, load(s), &info);
    return g && view_write(s, g, &info);
}

pt2onnx_status pt2onnx_view(const char *file, const char *out, const pt2onnx_options *o,
                            pt2onnx_error **e)
{
    Call c = { .work = view_file, .out = out };
    return run_call(&c, file, o, e);
}

static bool describe_word(Call *c)
{
    Buf b = buf_new(c->s.cx);
    return describe(c->s.cx, c->what, &b) && send(c, &b, SIZE_MAX - 1);
}

pt2onnx_status pt2onnx_describe(const char *what, pt2onnx_write write, void *write_user,
                                pt2onnx_error **e)
{
    Call c = { .work = describe_word, .what = what, .write = write, .user = write_user };
    return run_call(&c, NULL, NULL, e);
}
