/* run_extremes.c - no number in a call may bring about undefined behaviour. Each operator case is
 * run with every extreme in the place of every argument (extremes.h), through all passes and the
 * writer, with small limits.
 *
 *     run_extremes [OPTIONS] [--call CALL] FILE.txt...
 *
 * A call converts, or is refused or fails with a message. A find is anything else: a crash, a
 * report of a sanitizer, a bug that we report of ourselves, an error without a text, a size below
 * 0, more than SECONDS. Calls are run one behind the other in a child; what ends the child is a
 * find, and another child goes on behind it. A find is printed once for each place in the sources,
 * with the shortest call that shows it.
 *
 *     --opset N    for another opset than the default
 *     --share N    runs one call of N, always the same ones
 *     --gradients  and takes the gradients of the results by the call's tensors
 *     --open       sizes of inputs have names, but for one that is an extreme
 *     --float16    --weights-type float16
 *     --fuse       --fuse
 *     --list       print the calls that convert
 *     --cases      the cases' own calls alone
 *     --emit DIR   writes DIR/K.onnx of each call that converts, and prints K, how many results it
 *                  has, behind which gradients come, and the call
 *     --call CALL  runs this one, and says what comes of it */
#include "base/limits.h"
#include "onnx/dim/dim.h"
#include "onnx/wire/model_file.h"
#include "ops/case_reader.h"
#include "ops/extremes.h"
#include "plain_file.h"
#include "tidy/tidy.h"
#include "value/autograd.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 10, CALLS_A_CONTEXT = 64, PLACE = 120, WHY = 400 };

typedef struct Find {
    char place[PLACE], why[WHY];
    char *call; /* the shortest */
    size_t times;
} Find;

/* What a child tells, also when it dies. */
typedef struct Told {
    size_t at; /* the call that runs */
    size_t converted, refused, unread;
} Told;

typedef struct Extremes {
    Ctx *cx;
    VEC(char *) calls;
    VEC(Find) finds;
    Map seen; /* hashes of calls: those of a file are different */
    uint64_t share;
    int opset;
    Told *told;
    FILE *report; /* what a child prints */
    bool gradients, open, float16, fuse, list, cases, aloud;
    const char *emit; /* a folder; NULL: models are made and forgotten */
} Extremes;

/* ---- one call, in the child ---- */

typedef struct Attempt {
    Ctx *cx;
    Graph *g;
    const char *call;
    const Extremes *x;
    bool read;
    size_t results;
} Attempt;

/* All tensors of the call that can have a gradient require one. */
static bool require_all(Graph *g, const Reader *r)
{
    for (size_t i = 0; i < r->made.n; i++)
        if (r->made.at[i].tag == V_TENSOR && may_have_gradient(tensor_read(g, r->made.at[i].t)) &&
            !tensor_require(g, r->made.at[i].t))
            return false;
    return true;
}

/* The gradients of all results together, behind the results: one for each leaf, or None. */
static bool add_gradients(Graph *g, Values *got)
{
    VEC(Ox) y = { 0 }, dy = { 0 };
    OxList x = autograd_leaves(g->cx);
    Ox *dx = new_array(g->cx, Ox, x.n + 1);
    for (size_t i = 0; i < got->n; i++) {
        Ox v = got->at[i].tag == V_TENSOR ? tensor_read(g, got->at[i].t) : NULL;
        if (!v || !ox_ok(v) || !autograd_requires(g->cx, v))
            continue;
        Ox shape = ox_shape(g, v);
        vec_push(g->cx, &y, v);
        vec_push(g->cx, &dy, ox_g(g, "Expand", ox_number(g, ox_dtype(v), 1), shape));
    }
    if (!dx || y.n == 0 || failure(g->cx) ||
        !gradients(g, (OxList)LIST(y), (OxList)LIST(dy), x, autograd_tape(g->cx), dx))
        return !failure(g->cx);
    for (size_t i = 0; i < x.n; i++)
        vec_push(g->cx, got, dx[i] ? val_tensor(g->cx, dx[i]) : val_none());
    return true;
}

static bool convert(void *arg)
{
    Attempt *a = arg;
    char *text = strdup(a->call);
    Reader r = { .cx = a->cx, .g = a->g, .at = text };
    Call call = { 0 };
    Values got = { 0 };
    a->read = read_call(&r, &call);
    free(text);
    if (!a->read || (a->x->gradients && !require_all(a->g, &r)))
        return false;
    Value v = op_call(a->g, call.name, call.overload, call.args.at, call.args.n, NULL, 0);
    if (failure(a->cx))
        return false;
    flatten(a->cx, v, &got);
    a->results = got.n;
    if (a->x->gradients && !add_gradients(a->g, &got))
        return false;
    TidyOptions o = { .opset = a->g->target, .target_ort = true, .fuse = a->x->fuse };
    o.weights_type = a->x->float16 ? DT_FLOAT16 : DT_NONE;
    if (add_outputs(a->g, &got) == 0 || !tidy(a->g, &o) || a->cx->refusals.n)
        return !failure(a->cx);
    ModelInfo info = { .opset = a->g->target, .graph_name = str_of(a->cx, "case") };
    info.most_weights = 50000000;
    if (a->x->emit)
        return write_plain(a->g, &info,
                           str_fmt(a->cx, "%s/%zu.onnx", a->x->emit, a->x->told->at)->s);
    Sink sink = { .fd = SYS_NONE, .write = swallow };
    return wire_write(a->cx, a->g, &info, &sink, NULL, NULL);
}

/* Has the call found out a size that was open? A program is evaluated again then, and knows it. */
static bool has_learnt(const Graph *g)
{
    for (size_t i = 0; i < g->inputs.n; i++) {
        Type t = g->inputs.at[i]->type;
        for (int k = 0; k < t->rank; k++)
            if (dim_now(t->dim[k]) != t->dim[k])
                return true;
    }
    return false;
}

static bool has_negative_size(const Graph *g)
{
    for (size_t i = 0; i < g->outputs.n; i++) {
        Type t = g->outputs.at[i]->type;
        int64_t n;
        for (int k = 0; t && k < t->rank; k++)
            if (dim_known(t->dim[k], &n) && n < 0)
                return true;
    }
    return false;
}

/* A line that the parent reads: the place is where we failed, or else the operator. */
static void tell(const Extremes *x, const Attempt *a, const char *why)
{
    const Error *e = &a->cx->error;
    if (e->our_file)
        fprintf(stderr, "\nFIND %zu %s:%d %.300s\n", x->told->at, e->our_file, e->our_line, why);
    else
        fprintf(stderr, "\nFIND %zu %.*s %.300s\n", x->told->at, (int)strcspn(a->call, "("),
                a->call, why);
}

static void judge(Extremes *x, const Attempt *a, bool ok)
{
    const char *why = failure(a->cx);
    const Error *e = &a->cx->error;
    x->told->converted += ok;
    x->told->refused += !ok && a->read;
    x->told->unread += !ok && !a->read;
    if (x->list && ok)
        printf("%s\n", a->call);
    if (x->emit && ok)
        printf("%zu\t%zu\t%s\n", x->told->at, a->results, a->call);
    if (x->aloud)
        printf("%s: %s\n", ok ? "converted" : "refused", why ? why : "without a text");
    if (e->code == E_BUG)
        tell(x, a, e->text->s);
    else if (why && e->code != E_RESTART && strlen(why) < 8)
        tell(x, a, "an error without a text");
    else if (!ok && !why && a->read)
        tell(x, a, "a refusal without a text");
    else if (ok && has_negative_size(a->g) && !has_learnt(a->g))
        tell(x, a, "a size below 0");
    else if (e->code == E_LIMIT && strstr(why, "s of processor time"))
        tell(x, a, why);
}

static void set_limits(Ctx *cx)
{
    cx->limit[LIMIT_STEPS] = 200000;
    cx->limit[LIMIT_HEAP] = 100000000;
    cx->limit[LIMIT_SECONDS] = SECONDS / 2;
    cx->limit[LIMIT_NODES] = 20000;
    cx->limit[LIMIT_UNROLL] = 300;
    cx->limit[LIMIT_OUTPUT] = 50000000;
}

static void run_call(Extremes *x, Ctx *cx, const char *text)
{
    struct itimerval time = { .it_value = { .tv_sec = SECONDS } };
    setitimer(ITIMER_VIRTUAL, &time, NULL);
    ctx_restart(cx);
    cx->steps = cx->values = cx->work = 0;
    cx->stage = NULL;
    tell_progress(cx, "converting a call", -1);
    Attempt a = { .cx = cx, .call = text, .x = x };
    a.g = graph_new(cx, NULL, str_of(cx, "case"));
    a.g->target = x->opset;
    a.g->ort = true;
    bool ok = bounded(cx, convert, &a);
    judge(x, &a, ok);
}

/* That there will be gradients is found out once: a context knows it behind its first restart. */
static Ctx *begin_context(const Extremes *x)
{
    Ctx *cx = ctx_new();
    set_limits(cx);
    if (x->gradients && !autograd_use(cx))
        ctx_restart(cx);
    return cx;
}

static void run_from(Extremes *x, size_t from)
{
    Ctx *cx = NULL;
    for (size_t i = from; i < x->calls.n; i++) {
        if (!cx || i % CALLS_A_CONTEXT == 0) {
            ctx_free(cx);
            cx = begin_context(x);
        }
        x->told->at = i;
        run_call(x, cx, x->calls.at[i]);
    }
    ctx_free(cx);
}

/* ---- finds, in the parent ---- */

static void add_find(Extremes *x, const char *place, const char *why, const char *call)
{
    Find *f = NULL;
    for (size_t i = 0; i < x->finds.n && !f; i++)
        if (strcmp(x->finds.at[i].place, place) == 0)
            f = &x->finds.at[i];
    if (!f) {
        vec_push(x->cx, &x->finds, (Find){ 0 });
        f = &x->finds.at[x->finds.n - 1];
        snprintf(f->place, PLACE, "%s", place);
        snprintf(f->why, WHY, "%s", why);
    }
    f->times++;
    if (!f->call || strlen(call) < strlen(f->call)) {
        free(f->call);
        f->call = strdup(call);
    }
}

/* "src/ops/nn/rnn.c:428" of a line with a place in our sources; false where there is none. */
static bool place_in(const char *line, char out[PLACE])
{
    const char *at = strstr(line, "src/");
    size_t path = at ? strcspn(at, ": \n") : 0;
    if (!at || at[path] != ':')
        return false;
    size_t n = path + 1 + strspn(at + path + 1, "0123456789");
    snprintf(out, PLACE, "%.*s", (int)n, at);
    return true;
}

/* "FIND 12 src/ops/nn/rnn.c:428 why", as `tell` writes it. */
static void read_find(Extremes *x, char *line)
{
    char *at;
    size_t call = strtoul(line + 5, &at, 10);
    char *place = at + (*at == ' ');
    char *why = strchr(place, ' ');
    if (!why || call >= x->calls.n)
        return;
    *why++ = 0;
    add_find(x, place, why, x->calls.at[call]);
}

/* What the child has told, and why it died, if it did: of a sanitizer's report the first place in
 * src. */
static void read_report(Extremes *x, const char *died)
{
    char line[4096];
    char place[PLACE] = "";
    char why[WHY] = "";
    rewind(x->report);
    while (fgets(line, sizeof line, x->report)) {
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, "FIND ", 5) == 0) {
            read_find(x, line);
            continue;
        }
        if (!why[0] && (strstr(line, "runtime error:") || strstr(line, "ERROR: ")))
            snprintf(why, WHY, "%.300s", line);
        if (why[0] && !place[0])
            place_in(line, place);
    }
    if (!died)
        return;
    const char *call = x->calls.at[x->told->at];
    if (!place[0])
        snprintf(place, PLACE, "%.*s", (int)strcspn(call, "("), call);
    add_find(x, place, why[0] ? why : died, call);
}

/* A child runs the calls from `from` on. -> the first that it did not run. */
static size_t run_child(Extremes *x, size_t from)
{
    rewind(x->report);
    if (ftruncate(fileno(x->report), 0) != 0)
        exit(2);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(fileno(x->report), STDERR_FILENO);
        run_from(x, from);
        fflush(NULL);
        _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        exit(2);
    bool ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    bool late = WIFSIGNALED(status) && WTERMSIG(status) == SIGVTALRM;
    read_report(x, ended ? NULL : late ? "no end within the time" : "the process ended");
    return ended ? x->calls.n : x->told->at + 1;
}

static void run_calls(Extremes *x)
{
    for (size_t from = 0; from < x->calls.n;)
        from = run_child(x, from);
}

/* ---- files ---- */

/* One of extremes_of: kept when it is new and belongs to the share. */
static void keep(void *user, const char *text)
{
    Extremes *x = user;
    uint64_t h = hash_bytes(text, strlen(text), 0);
    if (h / 7 % x->share == 0 && map_add(x->cx, &x->seen, (const void *)(uintptr_t)h, ""))
        vec_push(x->cx, &x->calls, strdup(text));
}

static bool run_file(Extremes *x, const char *path)
{
    char *text = read_all(path);
    Cases cases = { 0 };
    if (!text) {
        fprintf(stderr, "run_extremes: cannot read %s\n", path);
        return false;
    }
    read_cases(x->cx, text, &cases);
    for (size_t i = 0; i < cases.n; i++) {
        char *opened = x->open ? with_open_sizes(cases.at[i].call) : NULL;
        if (opened || x->cases)
            keep(x, opened ? opened : cases.at[i].call);
        if (!x->cases)
            extremes_of(opened ? opened : cases.at[i].call, keep, x);
        free(opened);
    }
    Told before = *x->told;
    size_t finds = x->finds.n;
    run_calls(x);
    printf("%s: %zu cases, %zu calls, %zu converted, %zu refused, %zu finds\n", path, cases.n,
           x->calls.n, x->told->converted - before.converted, x->told->refused - before.refused,
           x->finds.n - finds);
    fflush(stdout);
    for (size_t i = 0; i < x->calls.n; i++)
        free(x->calls.at[i]);
    x->calls.n = 0;
    free(text);
    return true;
}

static void print_finds(const Extremes *x)
{
    for (size_t i = 0; i < x->finds.n; i++) {
        const Find *f = &x->finds.at[i];
        printf("%s (%zu times)\n    %s\n    %s\n", f->place, f->times, f->call, f->why);
        free(f->call);
    }
}

static bool set_flag(Extremes *x, const char *word)
{
    const struct {
        const char *word;
        bool *to;
    } flags[] = { { "--gradients", &x->gradients }, { "--open", &x->open },
                  { "--float16", &x->float16 },     { "--fuse", &x->fuse },
                  { "--list", &x->list },           { "--cases", &x->cases } };
    for (size_t i = 0; i < COUNT(flags); i++)
        if (strcmp(flags[i].word, word) == 0)
            return *flags[i].to = true;
    return false;
}

int main(int argc, char **argv)
{
    void *shared = mmap(NULL, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                        0);
    Extremes x = { .cx = ctx_new(), .share = 1, .report = tmpfile() };
    x.opset = ONNX_DEFAULT_TARGET;
    if (!x.cx || !x.report || shared == MAP_FAILED)
        return 2;
    x.told = shared;
    bool ok = true;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--share") == 0 && i + 1 < argc) {
            x.share = strtoull(argv[++i], NULL, 10);
        } else if (set_flag(&x, argv[i])) {
            continue;
        } else if (strcmp(argv[i], "--opset") == 0 && i + 1 < argc) {
            x.opset = atoi(argv[++i]);
        } else if (strcmp(argv[i], "--emit") == 0 && i + 1 < argc) {
            x.emit = argv[++i];
        } else if (strcmp(argv[i], "--call") == 0 && i + 1 < argc) {
            x.aloud = true;
            vec_push(x.cx, &x.calls, argv[++i]);
            run_from(&x, 0);
            x.calls.n = 0;
        } else {
            ok &= run_file(&x, argv[i]);
        }
    print_finds(&x);
    ok &= x.finds.n == 0;
    ctx_free(x.cx);
    return ok ? 0 : 1;
}
