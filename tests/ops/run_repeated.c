/* run_repeated.c - four times the calls take four times the work, whatever the operator. Each case
 * is called 20 and 80 times, every time with tensors of its own, through all passes and the writer;
 * at the newest opset where the default one has not what it needs.
 *
 *     run_repeated [--open | --apart] [--share N] FILE.txt...
 *
 * Work is the basic blocks that are run, so this is a program of the build with sanitizers, as
 * tests/faults/growth.c. Prints each call whose work grows faster, and ends with 1 if one does,
 * or if of a file whose sizes are known nothing converts.
 *
 *     --open     sizes of inputs have names, the same ones in each call
 *     --apart    sizes of inputs have names, others in each call
 *     --share N  one case of N, always the same ones */
#include <inttypes.h>
#include <stdlib.h>

#include "base/limits.h"
#include "onnx/wire/model_file.h"
#include "ops/case_reader.h"
#include "ops/extremes.h"
#include "tidy/tidy.h"

enum { FEW = 20, MANY = 80 };
/* Of work at MANY by that at FEW: sorting, and tables that double. With the square it would be 16,
 * less what is the same for any number of calls. MOST_APART: once a size is replaced by another
 * expression, what was learnt of all sizes is looked at again (docs/limits.md, How large). */
#define MOST       5.2
#define MOST_APART 7.0

typedef struct Repeated {
    Ctx *cx;
    const char *call;
    int times, opset;
    bool apart;
    uint64_t work; /* what the last one took */
} Repeated;

/* What is asked for. */
typedef struct How {
    size_t share;
    bool open, apart;
} How;

typedef struct Tally {
    size_t converted, refused, grown;
} Tally;

/* The call with other names of sizes: D2 is D2_7 in the 7th one. */
static char *with_own_sizes(const char *call, int which)
{
    char *own = malloc(strlen(call) * 8 + 1);
    char *to = own;
    while (*call) {
        size_t digits = *call == 'D' ? strspn(call + 1, "0123456789") : 0;
        memcpy(to, call, digits + 1);
        to += digits + 1;
        call += digits + 1;
        if (digits > 0)
            to += sprintf(to, "_%d", which);
    }
    *to = 0;
    return own;
}

static bool call_once(Graph *g, Reader *r, char *own, Values *got)
{
    Call call = { 0 };
    r->at = own;
    bool read = read_call(r, &call);
    free(own);
    if (!read)
        return false;
    Value v = op_call(g, call.name, call.overload, call.args.at, call.args.n, NULL, 0);
    if (failure(g->cx))
        return false;
    flatten(g->cx, v, got);
    return true;
}

static bool convert(void *arg)
{
    Repeated *a = arg;
    Graph *g = graph_new(a->cx, NULL, str_of(a->cx, "case"));
    Reader r = { .cx = a->cx, .g = g };
    Values got = { 0 };
    g->target = a->opset;
    g->ort = true;
    for (int i = 0; i < a->times; i++)
        if (!call_once(g, &r, a->apart ? with_own_sizes(a->call, i) : strdup(a->call), &got))
            return false;
    TidyOptions o = { .opset = g->target, .target_ort = true };
    if (add_outputs(g, &got) == 0 || !tidy(g, &o) || a->cx->refusals.n)
        return false;
    ModelInfo info = { .opset = g->target, .graph_name = str_of(a->cx, "case") };
    Sink sink = { .fd = SYS_NONE, .write = swallow };
    info.most_weights = UINT64_MAX;
    return wire_write(a->cx, g, &info, &sink, NULL, NULL);
}

static bool measure(Repeated *a, int times)
{
    ctx_restart(a->cx);
    a->cx->steps = a->cx->values = a->cx->work = 0;
    a->times = times;
    uint64_t before = work_done();
    bool ok = bounded(a->cx, convert, a);
    a->work = work_done() - before;
    return ok;
}

static void judge(Ctx *cx, const char *call, bool apart, Tally *tally)
{
    Repeated a = { .cx = cx, .call = call, .opset = ONNX_DEFAULT_TARGET, .apart = apart };
    if (!measure(&a, FEW)) {
        a.opset = ONNX_NEWEST;
        if (!measure(&a, FEW)) {
            tally->refused++;
            return;
        }
    }
    uint64_t few = a.work;
    tally->converted++;
    if (measure(&a, MANY) && (double)a.work <= (apart ? MOST_APART : MOST) * (double)few)
        return;
    const char *why = failure(cx);
    tally->grown++;
    printf("%s: %" PRIu64 " basic blocks for %d calls, %" PRIu64 " for %d, %.2f times %s\n", call,
           few, FEW, a.work, MANY, (double)a.work / (double)few, why ? why : "");
}

static bool run_file(Ctx *cx, const char *path, const How *how)
{
    char *text = read_all(path);
    Cases cases = { 0 };
    Tally tally = { 0 };
    Ctx *reading = ctx_new();
    if (!text || !reading) {
        fprintf(stderr, "run_repeated: cannot read %s\n", path);
        return false;
    }
    read_cases(reading, text, &cases);
    for (size_t i = 0; i < cases.n; i += how->share) {
        char *opened = how->open ? with_open_sizes(cases.at[i].call) : NULL;
        judge(cx, opened ? opened : cases.at[i].call, how->apart, &tally);
        free(opened);
    }
    printf("%s: %zu cases, %zu converted, %zu refused, %zu grow faster\n", path, cases.n,
           tally.converted, tally.refused, tally.grown);
    ctx_free(reading);
    free(text);
    return tally.grown == 0 && (how->open || tally.converted > 0);
}

int main(int argc, char **argv)
{
    Ctx *cx = ctx_new();
    How how = { .share = 1 };
    bool ok = true;
    if (!cx)
        return 2;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--open") == 0)
            how.open = true;
        else if (strcmp(argv[i], "--apart") == 0)
            how.open = how.apart = true;
        else if (strcmp(argv[i], "--share") == 0 && i + 1 < argc)
            how.share = strtoull(argv[++i], NULL, 10);
        else
            ok &= run_file(cx, argv[i], &how);
    ctx_free(cx);
    return ok ? 0 : 1;
}
