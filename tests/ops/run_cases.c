/* run_cases.c - operator cases: what a call emits, what its results are, what it refuses.
 *
 *     run_cases [--stop] [--emit DIR | --twins DIR | --show | --nodes] FILE.txt...
 *
 * A case:
 *
 *     addcmul(f32[2] 1 2, f32[2] 3 4, f32[2] 5 6, value=2.0)
 *         a call of aten::addcmul; each tensor is an input of the graph
 *     -> f32[2] 31 50
 *         a result: its type is checked here, its values by run_in_ort.py
 *     => Mul Mul Add
 *         the nodes, in order
 *     =23> Attention
 *         the nodes of the finished model at opset 23, or why there is none
 *     !! message
 *         the whole error, instead of all that; with results when it names an opset that gives them
 *
 * `const f32[2] 1 2` is a constant, `num f64[] 2` a 0-d constant that counts as a Python number,
 * `sym N` a size. A complex tensor, c64 or c128, lists the parts of each element: c64[2] 1 0 2 -1.
 * A tensor without values gets a fixed pattern (see fill); a dim may be a name: f32[N,3].
 *
 * An argument may be a call itself: quantized::linear(quantize_per_tensor(f32[2], 0.1, 3, 13), ..);
 * one of the results of a call, neg(unbind(f32[2,3])[1]); or a tuple, (3, [1, 2], None), as an
 * archive holds packed parameters, of which PyTorch is not asked. *call(..) stands for all results
 * of a call, an argument each. a0 is the first tensor again, as the calls before have left it:
 * add(zero_(select(f32[2,3], 0, 1)), a0).
 *
 *     --emit   writes DIR/FAMILY.LINE.18.onnx for every case that converts
 *     --twins  writes the model of each case at other opsets too; what one of them cannot say is
 *              refused, and the opset that the message names must do
 *     --show   prints the nodes of each case
 *     --nodes  prints those of its finished model at each opset (tools/gen-operators)
 *     --stop   ends at the first failure
 *
 * A family whose rows or rules lack a case fails. */
#include "eval/program.h"
#include "onnx/wire/model_file.h"
#include "ops/case_reader.h"
#include "plain_file.h"
#include "tidy/tidy.h"

#include <errno.h>
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

/* ---- what came out ---- */

/* "f32[2,N]" as the case writes it; "3" for a number */
static Str result_text(Ctx *cx, Value v)
{
    if (v.tag == V_SYMINT)
        return dim_text(cx, v.dim);
    if (v.tag == V_SYMBOOL || v.tag == V_SYMFLOAT)
        return str_of(cx, val_kind(v));
    if (v.tag != V_TENSOR)
        return val_text(cx, v);
    Type t = tensor_type(v.t);
    Buf b = buf_new(cx);
    buf_fmt(&b, "%s[", short_name(t->dtype));
    for (int i = 0; i < t->rank; i++)
        buf_fmt(&b, "%s%s", i ? "," : "", dim_text(cx, t->dim[i])->s);
    buf_str(&b, t->rank < 0 ? "?]" : "]");
    return buf_done(&b);
}

static Str node_names(Graph *g)
{
    Buf b = buf_new(g->cx);
    for (size_t i = 0; i < g->nodes.n; i++)
        if (!g->nodes.at[i]->dead)
            buf_fmt(&b, "%s%s", b.n ? " " : "", g->nodes.at[i]->name->s);
    return buf_done(&b);
}

/* The type at the start of a result line, up to "]", is got's. A size that depends on data is a
 * symbol of ours: any number fits. */
static bool same_type_text(const char *line, Str got)
{
    const char *want = line + strspn(line, " ");
    const char *have = got->s;
    if (!strchr(want, ']'))
        return strcmp(want, have) == 0;
    while (*want && *want == *have && *want != ']') {
        want++;
        have++;
        if (*have == 'u' && (have[-1] == '[' || have[-1] == ',')) {
            want += strspn(want, "0123456789");
            have += strcspn(have, ",]");
        }
    }
    return *want == ']' && *have == ']';
}

/* ---- one case ---- */

typedef struct Run {
    const char *file, *emit;
    bool show, twins;
    int refused, failures;
    VEC(const void *) used;
    Ctx *cx;
    Contexts spare;
} Run;

static void say(Run *run, const Case *c, const char *what, const char *want, const char *got)
{
    fprintf(stderr, "%s:%d: %s\n    %s\n    wanted %s\n    got    %s\n", run->file, c->line, what,
            c->call, want, got);
    run->failures++;
}

/* A case with a named dim runs at several sizes against PyTorch, so it records no result. */
static bool has_named_dim(Graph *g)
{
    for (size_t i = 0; i < g->inputs.n; i++)
        if (!type_static(g->inputs.at[i]->type, NULL))
            return true;
    return false;
}

static void check_results(Run *run, Graph *g, const Case *c, const Values *got)
{
    Ctx *cx = g->cx;
    if (c->results.n == 0 && got->n > 0 && !has_named_dim(g))
        say(run, c, "the case lists no results", "-> ..", result_text(cx, got->at[0])->s);
    if (c->results.n && c->results.n != got->n)
        say(run, c, "the number of results differs", str_fmt(cx, "%zu", c->results.n)->s,
            str_fmt(cx, "%zu", got->n)->s);
    for (size_t i = 0; i < c->results.n && i < got->n; i++) {
        Str text = result_text(cx, got->at[i]);
        if (!same_type_text(c->results.at[i], text))
            say(run, c, "the result's type differs", c->results.at[i] + 1, text->s);
    }
}

static bool write_model(Ctx *cx, Graph *g, const char *path)
{
    ModelInfo info = { .opset = g->target, .graph_name = str_of(cx, "case") };
    return write_plain(g, &info, path);
}

static Str family_of(Ctx *cx, const char *file)
{
    const char *slash = strrchr(file, '/');
    const char *name = slash ? slash + 1 : file;
    return str_n(cx, name, strcspn(name, "."));
}

/* False where the opset is refused. */
static bool emit(Run *run, Ctx *cx, const Case *c, Graph *g, const Values *got)
{
    Str path = str_fmt(cx, "%s/%s.%d.%d.onnx", run->emit, family_of(cx, run->file)->s, c->line,
                       g->target);
    TidyOptions o = { .opset = g->target, .target_ort = true };
    if (add_outputs(g, got) == 0)
        return true;
    bool tidied = tidy(g, &o);
    if (!tidied && cx->error.code == E_UNSUPPORTED)
        return false;
    if (tidied && cx->refusals.n)
        return false;
    if (!tidied || !write_model(cx, g, path->s))
        say(run, c, str_fmt(cx, "no model was written at opset %d", g->target)->s, path->s,
            error_text(cx, "run_cases", run->file)->s);
    return true;
}

/* What serves the call: the schema line, of the row or the rule. NULL: nothing does. */
static const Candidate *served_by(Graph *g, const Call *call)
{
    CallForm form;
    Value *bound;
    VEC(OpArg) args = { 0 };
    for (size_t i = 0; i < call->args.n; i++)
        if (!str_is(call->args.at[i].name, "out"))
            vec_push(g->cx, &args, call->args.at[i]);
    Entry *e = table_resolve(g->cx, call->name, &form);
    Candidate *c = e ? bind_choose(g, e, call->overload, args.at, args.n, &bound) : NULL;
    return c ? bind_twin(g->cx, c, bound) : NULL;
}

/* For the list of rows and rules without a case. */
static void mark(Run *run, Graph *g, const Call *call)
{
    const Candidate *c = served_by(g, call);
    if (c)
        vec_push(run->cx, &run->used,
                 c->rule ? (const void *)str_of(run->cx, c->rule->head->s) : (const void *)c->line);
}

/* Read and make the case's call; false when it cannot be read. */
static bool make_call(Run *run, const Case *c, Graph *g, Call *call, Value *out)
{
    char *text = strdup(c->call);
    Reader r = { .cx = g->cx, .g = g, .at = text };
    bool read = read_call(&r, call);
    if (read)
        *out = op_call(g, call->name, call->overload, call->args.at, call->args.n, NULL, 0);
    else {
        if (*r.at)
            fprintf(stderr, "%s:%d: the case cannot be read from '%s' on: %s\n", run->file, c->line,
                    r.at, c->call);
        else
            fprintf(stderr, "%s:%d: the case ends too early: %s\n", run->file, c->line, c->call);
        run->failures++;
    }
    free(text);
    return read;
}

/* A case's call at an opset: what it gives, or a failure. The context is the caller's to end. */
typedef struct Attempt {
    Ctx *cx;
    Graph *g;
    Call call;
    Values got;
    bool read;
} Attempt;

static Attempt attempt(Run *run, const Case *c, int opset)
{
    Ctx *cx = context_begin(&run->spare);
    Attempt a = { .cx = cx, .g = graph_new(cx, NULL, str_of(cx, "case")) };
    Value v;
    a.g->target = opset;
    a.g->ort = true;
    a.read = make_call(run, c, a.g, &a.call, &v);
    if (a.read && !failure(cx))
        flatten(cx, v, &a.got);
    return a;
}

/* The opset that the refusals ask for, all of them at once; 0 when they name none. */
static int asked_opset(Ctx *cx)
{
    int opset = 0;
    for (size_t i = 0; i < cx->refusals.n; i++) {
        Str hint = cx->refusals.at[i].hint;
        int asked = hint && strncmp(hint->s, "--opset ", 8) == 0 ? atoi(hint->s + 8) : 0;
        opset = asked > opset ? asked : opset;
    }
    return opset;
}

/* The case's model at another opset. 0 when it is written, else the opset that the refusal names,
 * -1 for none. */
static int twin(Run *run, const Case *c, int opset)
{
    Attempt a = attempt(run, c, opset);
    int asked = 0;
    if (a.read && (failure(a.cx) || !emit(run, a.cx, c, a.g, &a.got))) {
        asked = asked_opset(a.cx);
        asked = asked ? asked : -1;
        if (asked < 0)
            say(run, c, str_fmt(a.cx, "refused at opset %d", opset)->s, "the opset that would do",
                failure(a.cx) ? failure(a.cx) : "");
    }
    context_end(&run->spare, a.cx);
    return asked;
}

/* At other opsets a case is written or refused; the opset that the refusal names must do. */
static void run_twins(Run *run, const Case *c)
{
    static const int opsets[] = { 9, 11, 13, 16, 21, 23, 26 };
    for (size_t i = 0; i < COUNT(opsets); i++) {
        int asked = twin(run, c, opsets[i]);
        run->refused += asked != 0;
        if (asked > 0 && twin(run, c, asked) != 0)
            say(run, c, str_fmt(run->cx, "refused at opset %d", opsets[i])->s, "an opset that does",
                str_fmt(run->cx, "%d, which is refused too", asked)->s);
    }
}

static void list_nodes(const Graph *g, Buf *out)
{
    for (size_t i = 0; i < g->nodes.n; i++) {
        const Node *n = g->nodes.at[i];
        if (!n->dead && n->op && !node_is(n, "Identity"))
            buf_fmt(out, " %s", n->name->s);
        for (int k = 0; !n->dead && k < n->n_attr; k++)
            if (n->attr[k].kind == ATTR_GRAPH)
                list_nodes(n->attr[k].g, out);
    }
}

/* What tells the calls of one operator apart, for tools/gen-operators: of what types their tensors
 * are, whether a size is open, and whether more than the operator is in the model: an argument that
 * is a call of its own, or the writing of an in-place form. */
typedef enum {
    OF_FLOAT32,
    OF_FLOAT64,
    OF_FLOAT16,
    OF_BFLOAT16,
    OF_FLOAT8,
    OF_INTEGERS,
    OF_BOOL,
    OF_COMPLEX,
    OF_QUANTISED,
    OF_OPEN_SIZES,
    OF_MORE
} Trait;
static const char *const trait_names[] = { "float32",   "float64",  "float16", "bfloat16",
                                           "float8",    "integers", "bool",    "complex",
                                           "quantised", "open",     "more" };

static Trait trait_of(const Tensor *t)
{
    DType type = tensor_type(t)->dtype;
    return t->kind == QUANT      ? OF_QUANTISED
        : dtype_is_complex(type) ? OF_COMPLEX
        : dtype_is_int(type)     ? OF_INTEGERS
        : type == DT_BOOL        ? OF_BOOL
        : type == DT_FLOAT       ? OF_FLOAT32
        : type == DT_DOUBLE      ? OF_FLOAT64
        : type == DT_FLOAT16     ? OF_FLOAT16
        : type == DT_BFLOAT16    ? OF_BFLOAT16
                                 : OF_FLOAT8;
}

/* A set of traits, a bit each. */
static unsigned traits_of(Graph *g, const Call *call, bool more)
{
    unsigned set = (has_named_dim(g) ? 1u << OF_OPEN_SIZES : 0) | (more ? 1u << OF_MORE : 0);
    for (size_t i = 0; i < call->args.n; i++) {
        Value v = call->args.at[i].v;
        if (v.tag == V_TENSOR)
            set |= 1u << trait_of(v.t);
        for (int64_t k = 0; v.tag == V_LIST && k < v.list->n; k++)
            if (v.list->at[k].v.tag == V_TENSOR)
                set |= 1u << trait_of(v.list->at[k].v.t);
    }
    return set;
}

/* Was an argument refused already? The call has nothing to do with it. */
static bool takes_poison(const Call *call)
{
    bool poison = false;
    for (size_t i = 0; i < call->args.n; i++) {
        Value v = call->args.at[i].v;
        poison |= v.tag == V_POISON;
        for (int64_t k = 0; v.tag == V_LIST && k < v.list->n; k++)
            poison |= v.list->at[k].v.tag == V_POISON;
    }
    return poison;
}

static Str traits_text(Ctx *cx, unsigned set)
{
    Buf b = buf_new(cx);
    for (size_t i = 0; i < COUNT(trait_names); i++)
        if (set >> i & 1)
            buf_fmt(&b, "%s%s", b.n ? "," : "", trait_names[i]);
    return b.n ? buf_done(&b) : str_of(cx, "-");
}

/* `line` is "23> Attention", or "9> why not". */
static void check_finished(Run *run, const Case *c, const char *line)
{
    char *names;
    int opset = (int)strtol(line, &names, 10);
    Attempt a = attempt(run, c, opset);
    TidyOptions o = { .opset = opset, .target_ort = true };
    Buf b = buf_new(a.cx);
    if (a.read && !failure(a.cx) && add_outputs(a.g, &a.got) && tidy(a.g, &o))
        list_nodes(a.g, &b);
    const char *have = failure(a.cx) ? failure(a.cx) : buf_done(&b)->s;
    const char *want = names + strspn(names, "> ");
    have += *have == ' ';
    if (strcmp(want, have) != 0)
        say(run, c, str_fmt(a.cx, "other nodes at opset %d", opset)->s, want, have);
    context_end(&run->spare, a.cx);
}

/* "aten::gelu float32 18: Mul Div Erf Add Mul", "aten::gelu float32 9!" for what is refused there,
 * "aten::x ? why" for a case that is refused; the name is that of the schema with its overload.
 * Where an operator meets quantised tensors that its rows know nothing of, the nodes around it are
 * not its own. */
static void print_case(Run *run, const Case *c, int opset)
{
    Attempt a = attempt(run, c, opset);
    Ctx *cx = a.cx;
    TidyOptions o = { .opset = opset };
    CallForm form = FORM_PLAIN;
    Buf b = buf_new(cx);
    if (a.read && table_resolve(cx, a.call.name, &form)) {
        bool made = !failure(cx) && (add_outputs(a.g, &a.got) == 0 || tidy(a.g, &o)) &&
            !failure(cx);
        bool refused = cx->error.code == E_UNSUPPORTED || (!ctx_failed(cx) && cx->refusals.n);
        const char *why = failure(cx);
        if (made)
            list_nodes(a.g, &b);
        cx->error = (Error){ 0 };
        const Candidate *by = served_by(a.g, &a.call);
        const char *line = !by ? a.call.name->s : by->row ? by->row->schema : by->line;
        unsigned traits = traits_of(a.g, &a.call, a.call.nested || form != FORM_PLAIN);
        bool strange = traits >> OF_QUANTISED & 1 && by && !(by->kinds & QUANT);
        bool own = !takes_poison(&a.call);
        if (own && c->message && refused && form == FORM_PLAIN)
            printf("%.*s ? %s\n", (int)strcspn(line, "("), line, why);
        if (own && !c->message && !strange)
            printf("%.*s %s %d%s%s\n", (int)strcspn(line, "("), line, traits_text(cx, traits)->s,
                   opset, made ? ":" : "!", buf_done(&b)->s);
    }
    context_end(&run->spare, cx);
}

static void check_case(Run *run, const Case *c, Graph *g, const Values *got)
{
    check_results(run, g, c, got);
    Str names = node_names(g);
    if (c->nodes && strcmp(c->nodes + strspn(c->nodes, " "), names->s) != 0)
        say(run, c, "other nodes", c->nodes + 1, names->s);
    if (!c->nodes)
        say(run, c, "the case lists no nodes", "=> ..", names->s);
    for (size_t i = 0; i < c->finished.n; i++)
        check_finished(run, c, c->finished.at[i]);
    if (run->emit && !emit(run, g->cx, c, g, got))
        say(run, c, "refused", "a model", failure(g->cx));
    if (run->twins)
        run_twins(run, c);
}

/* A case that is refused, and whose results at the opset that the refusal names are told. */
static void check_asked(Run *run, const Case *c, int opset)
{
    Attempt a = attempt(run, c, opset);
    if (!failure(a.cx))
        check_results(run, a.g, c, &a.got);
    if (failure(a.cx) || (run->emit && !emit(run, a.cx, c, a.g, &a.got)))
        say(run, c, str_fmt(a.cx, "refused at opset %d too", opset)->s, "a result", failure(a.cx));
    context_end(&run->spare, a.cx);
}

static void run_case(Run *run, const Case *c)
{
    Attempt a = attempt(run, c, ONNX_DEFAULT_TARGET);
    if (a.read) {
        const char *bad = failure(a.cx);
        if (run->show)
            printf("%d\t%s\t%s\n", c->line, bad ? "!!" : "=>", bad ? bad : node_names(a.g)->s);
        else if (bad && c->message ? strcmp(bad, c->message) != 0 : bad || c->message)
            say(run, c,
                bad && c->message ? "the message differs"
                    : bad         ? "the call failed"
                                  : "the call did not fail",
                c->message ? c->message : "a result", bad ? bad : "a result");
        else if (!bad)
            check_case(run, c, a.g, &a.got);
        else if (c->results.n)
            check_asked(run, c, asked_opset(a.cx));
        a.cx->error = (Error){ 0 };
        mark(run, a.g, &a.call);
    }
    context_end(&run->spare, a.cx);
}

/* ---- is every row and rule tried? ---- */

static bool tried(const Run *run, Ctx *cx, const OpRow *row, const Rule *rule)
{
    for (size_t i = 0; i < run->used.n; i++)
        if (row ? run->used.at[i] == row->schema : run->used.at[i] == str_of(cx, rule->head->s))
            return true;
    return false;
}

/* Row `at` of the family, or an older form of it. */
static bool row_tried(const Run *run, Ctx *cx, const OpFamily *f, size_t at)
{
    OpRow row;
    op_row(f, at, &row);
    do {
        if (tried(run, cx, &row, NULL))
            return true;
    } while (op_row(f, ++at, &row) && row.kind == ROW_OLDER);
    return false;
}

static void missing(Run *run, const char *what)
{
    fprintf(stderr, "%s: no case for %s\n", run->file, what);
    run->failures++;
}

/* Rows that take or give C++ objects have none: those are in tests/programs. */
static void check_complete(Run *run, const char *family)
{
    static const char packed[] = "torch.classes.";
    RuleList rules = { 0 };
    OpRow r;
    for (const OpFamily *f = op_families; f->name; f++) {
        if (strcmp(f->name, family) != 0)
            continue;
        for (size_t i = 0; op_row(f, i, &r); i++)
            if (r.kind != ROW_OLDER && !strstr(r.schema, packed) && !row_tried(run, run->cx, f, i))
                missing(run, r.schema);
        Text text = { .name = str_of(run->cx, family),
                      .at = f->rules,
                      .n = f->rules ? strlen(f->rules) : 0 };
        if (f->rules && !rules_parse(run->cx, &text, &rules))
            missing(run, run->cx->error.text->s);
    }
    for (size_t i = 0; i < rules.n;) {
        size_t end = i;
        bool some = false;
        for (; end < rules.n && rules.at[end]->body == rules.at[i]->body; end++)
            some |= tried(run, run->cx, NULL, rules.at[end]);
        if (!some)
            missing(run, rules.at[i]->head->s);
        i = end;
    }
}

static int run_file(const char *path, const char *emit_to, bool twins, bool show, bool nodes,
                    bool stop)
{
    Run run = { .file = path, .emit = emit_to, .twins = twins, .show = show, .cx = ctx_new() };
    char *text = read_all(path);
    Cases cases = { 0 };
    if (!text) {
        fprintf(stderr, "run_cases: cannot read %s\n", path);
        return 1;
    }
    read_cases(run.cx, text, &cases);
    for (size_t i = 0; i < cases.n && !(stop && run.failures); i++) {
        for (int opset = cases.at[i].message ? ONNX_NEWEST : ONNX_OLDEST_TARGET;
             nodes && opset <= ONNX_NEWEST; opset++)
            print_case(&run, &cases.at[i], opset);
        if (!nodes)
            run_case(&run, &cases.at[i]);
    }
    show |= nodes;
    if (!show && !(stop && run.failures))
        check_complete(&run, family_of(run.cx, path)->s);
    if (!show)
        printf("%s: %zu cases, %d refused at other opsets, %d failures\n", path, cases.n,
               run.refused, run.failures);
    free(text);
    contexts_free(&run.spare);
    ctx_free(run.cx);
    return run.failures != 0;
}

/* Make the folder that models are written to; false where that is not possible. */
static bool make_folder(const char *path)
{
    if (sys_make_folder(path) || errno == EEXIST)
        return true;
    fprintf(stderr, "run_cases: cannot make the folder %s: %s\n", path, strerror(errno));
    return false;
}

/* Each case has a context of its own: memory given back in between would double the time. */
static void keep_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

int main(int argc, char **argv)
{
    keep_memory();
    const char *emit_to = NULL;
    bool show = false;
    bool twins = false;
    bool nodes = false;
    bool stop = false;
    int failed = 0;
    for (int i = 1; i < argc; i++)
        if ((strcmp(argv[i], "--emit") == 0 || strcmp(argv[i], "--twins") == 0) && i + 1 < argc) {
            twins = argv[i][2] == 't';
            emit_to = argv[++i];
            if (!make_folder(emit_to))
                return 1;
        } else if (strcmp(argv[i], "--show") == 0) {
            show = true;
        } else if (strcmp(argv[i], "--nodes") == 0) {
            nodes = true;
        } else if (strcmp(argv[i], "--stop") == 0) {
            stop = true;
        } else {
            failed |= run_file(argv[i], emit_to, twins, show, nodes, stop);
        }
    return failed;
}
