/* legal_samples.c - writes each case of tests/python/legalise.txt as one model per opset, for
 * test_legalise.py. usage: legal_samples CASES DIR
 *
 *     NAME FIRST: x:float32[N,3] k:int64[] = EXPR
 *         EXPR in the rule language, over the inputs
 *
 * A refused case prints "NAME OPSET: the message | the hint" instead. */
#include "onnx/rules/rules.h"
#include "onnx/wire/model_file.h"
#include "plain_file.h"
#include "tidy/tidy.h"

#include <stdio.h>
#include <stdlib.h>

static const int opsets[] = { 9, 10, 11, 12, 13, 14, 17, 18, 20, 21, 23, 24, 26 };
typedef struct Case {
    char name[64];
    const char *inputs, *expr;
    size_t n_inputs;
} Case;

static bool look_up(void *arg, Str name, RuleVal *out)
{
    Graph *g = arg;
    for (size_t i = 0; i < g->inputs.n; i++)
        if (g->inputs.at[i]->name == name) {
            *out = (RuleVal){ .tag = RV_OX, .ox = g->inputs.at[i] };
            return true;
        }
    return false;
}

/* "x:float32[N,3]" */
static bool add_input(Graph *g, const char *s, size_t n)
{
    Dim d[MAX_RANK];
    int rank = 0;
    const char *colon = memchr(s, ':', n);
    const char *open = memchr(s, '[', n);
    const char *end = s + n - 1;
    if (!colon || !open || *end != ']')
        return false;
    for (const char *p = open + 1; p < end; rank++) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        const char *stop = comma ? comma : end;
        d[rank] = dim_parse(g->cx, p, (size_t)(stop - p));
        p = comma ? comma + 1 : end;
    }
    graph_input(g, str_n(g->cx, s, (size_t)(colon - s)),
                type_tensor(g->cx, dtype_named(colon + 1, (size_t)(open - colon - 1)), rank, d));
    return true;
}

static bool build(Graph *g, const Case *c)
{
    Ctx *cx = g->cx;
    for (const char *p = c->inputs, *end = p + c->n_inputs; p < end;) {
        size_t n = strcspn(p, " =");
        if (n == 0) {
            p++;
            continue;
        }
        if (!add_input(g, p, n))
            return fail(cx, E_USAGE, "%s: inputs", c->name);
        p += n;
    }
    Str rule = str_fmt(cx, "onnx::Identity(input)\n    = %s\n", c->expr);
    Text *text = new(cx, Text);
    *text = (Text){ .name = str_of(cx, c->name), .at = rule->s, .n = rule->len };
    RuleList rules = { 0 };
    if (!rules_parse(cx, text, &rules))
        return false;
    Ox out = NULL;
    RuleEnv env = { .g = g,
                    .target = ONNX_NEWEST,
                    .lookup = look_up,
                    .arg = g,
                    .like = g->inputs.n ? g->inputs.at[0] : NULL };
    if (rule_apply(rules.at[0], &env, &out, 1) != RULE_DONE)
        return false;
    graph_output(g, out, str_of(cx, "out"));
    return !ctx_failed(cx);
}

static bool write_model(Graph *g, const Case *c, int opset, const char *dir)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.%d.onnx", dir, c->name, opset);
    ModelInfo info = { .opset = opset };
    return write_plain(g, &info, path);
}

static bool one(const Case *c, int opset, const char *dir)
{
    Ctx *cx = ctx_new();
    Graph *g = graph_new(cx, NULL, str_of(cx, "main"));
    TidyOptions o = { .opset = opset, .target_ort = true };
    bool ok = build(g, c) && tidy(g, &o);
    if (ok && cx->refusals.n)
        printf("%s %d: %s | %s\n", c->name, opset, cx->refusals.at[0].text->s,
               cx->refusals.at[0].hint ? cx->refusals.at[0].hint->s : "");
    else if (!ok || !write_model(g, c, opset, dir)) {
        fprintf(stderr, "%s %d: %s\n", c->name, opset,
                ctx_failed(cx) ? cx->error.text->s : "no match");
        ok = false;
    }
    ctx_free(cx);
    return ok;
}

int main(int argc, char **argv)
{
    FILE *f = argc == 3 ? fopen(argv[1], "r") : NULL;
    char line[1024];
    bool ok = f != NULL;
    while (f && fgets(line, sizeof line, f)) {
        Case c;
        int first, at = 0;
        line[strcspn(line, "\n")] = 0;
        if (line[0] == '#' || line[0] == 0)
            continue;
        const char *equals = strstr(line, "] = ");
        if (sscanf(line, "%63s %d: %n", c.name, &first, &at) != 2 || !at || !equals) {
            fprintf(stderr, "not a case: %s\n", line);
            return 1;
        }
        c.inputs = line + at;
        c.n_inputs = (size_t)(equals + 1 - c.inputs);
        c.expr = equals + 4;
        for (size_t i = 0; i < COUNT(opsets); i++)
            ok &= one(&c, opsets[i], argv[2]);
    }
    if (f)
        fclose(f);
    return ok ? 0 : 1;
}
