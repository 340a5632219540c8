/* fuzz_agree.c - one program of operator calls, written as a TorchScript archive and as an exported
 * graph. Both convert, to the same graph but for names, or neither does. */
#include "fuzz/make/calls.h"
#include "onnx/wire/model_file.h"

#include <ctype.h>

/* The graph's text with every value numbered in order. */
static Out without_names(const Out *model)
{
    Ctx *cx = ctx_new();
    ModelInfo info;
    Graph *g = cx ? wire_read(cx, source_memory(cx, model->p, model->n), &info) : NULL;
    require(g != NULL, "a model that does not read back");
    Map seen = { 0 };
    Out o = { 0 };
    size_t numbered = 0;
    const char *at = strchr(graph_text(g)->s, '(');
    while (at && *at) {
        size_t n = *at == '%' ? strcspn(at, " :,()=") : 0;
        if (n == 0) {
            out_put(&o, at++, 1);
            continue;
        }
        Str name = str_n(cx, at, n);
        if (!map_find(&seen, name))
            map_put(cx, &seen, name, (void *)++numbered);
        out_fmt(&o, "%%%zu", (size_t)map_get(&seen, name));
        at += n;
    }
    out_put(&o, "", 1);
    ctx_free(cx);
    return o;
}

/* A script's call chooses its overload by its arguments, a graph names it: these have another
 * meaning in one that takes the same arguments. */
static bool is_ambiguous(const Calls *p)
{
    static const char *const names[] = { "aten::stft" };
    for (uint32_t i = 0; i < p->n_call; i++)
        for (size_t k = 0; k < COUNT(names); k++)
            if (str_is(p->call[i].schema->name, names[k]))
                return true;
    return false;
}

static void compare(const Out *script, const Out *graph)
{
    Out a = without_names(script);
    Out b = without_names(graph);
    bool same = a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
    if (!same)
        fprintf(stderr, "script: %s\ngraph: %s\n", (char *)a.p, (char *)b.p);
    require(same, "the script and the graph of one program become different models");
    out_free(&a);
    out_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    Choices c = { p, n };
    pt2onnx_options o = choose_options(&c);
    o.dynamic = 0; /* of the two a graph alone has recorded sizes */
    Calls calls = choose_calls(&c);
    BothModels models = convert_both(&calls, o);
    if (models.of_script == PT2ONNX_OK && models.of_graph == PT2ONNX_OK && !is_ambiguous(&calls))
        compare(&models.script, &models.graph);
    out_free(&models.script);
    out_free(&models.graph);
    return 0;
}
