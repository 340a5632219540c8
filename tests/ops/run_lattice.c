/* run_lattice.c - every combination of operand types: is the result's dtype PyTorch's?
 *
 *     run_lattice [--emit DIR [--opset N]] FILE.lattice
 *
 * The file:
 *
 *     left  i320 i32[] 7
 *     right 3    3
 *         an operand by name, as an operator case writes it (run_cases.c); `sym N` is a size
 *     add($a, $b)
 *         a call; below it a column for each right operand and a row for each left one
 *     f32  3
 *     i320 f32  i32
 *         the result's dtype; - where PyTorch refuses the operands, and so must we; . is left out
 *
 * --emit writes DIR/K.onnx for the K-th call, all its combinations in one model, and DIR/K.calls,
 * which says what output r0, r1, .. is the result of: lattice_in_ort.py compares the numbers. */
#include "onnx/wire/model_file.h"
#include "ops/case_reader.h"
#include "plain_file.h"
#include "tidy/tidy.h"

#include <stdlib.h>

typedef struct Operand {
    char *name, *text;
} Operand;
typedef VEC(Operand) Operands;

typedef struct Lattice {
    Ctx *cx;
    Operands left, right, columns;
    const char *emit_to, *call; /* the call whose rows are read; NULL before the first */
    Graph *g;                   /* of the call's model, when there is --emit */
    FILE *calls;
    int opset, tensors, outputs, table, cells, refused, failures;
    Contexts spare;
} Lattice;

/* A copy that may be written to, as long as cx lives. */
static char *copy(Ctx *cx, const char *s)
{
    char *out = new_array(cx, char, strlen(s) + 1);
    if (!out)
        exit(2);
    return strcpy(out, s);
}

static const char *operand(const Operands *of, const char *name)
{
    for (size_t i = 0; i < of->n; i++)
        if (strcmp(of->at[i].name, name) == 0)
            return of->at[i].text;
    return NULL;
}

/* The call with $a and $b replaced. */
static Str call_with(Ctx *cx, const char *call, const char *a, const char *b)
{
    Buf out = buf_new(cx);
    for (const char *p = call; *p; p++)
        if (p[0] == '$' && (p[1] == 'a' || p[1] == 'b'))
            buf_str(&out, *++p == 'a' ? a : b);
        else
            buf_add(&out, p, 1);
    return buf_done(&out);
}

/* The result's tensor after the call was added to g; NULL where it is refused. */
static Tensor *result_of(Graph *g, Str text, int *tensors)
{
    Call call = { 0 };
    Reader r = { .cx = g->cx, .g = g, .at = copy(g->cx, text->s), .tensors = *tensors };
    if (!read_call(&r, &call)) {
        fprintf(stderr, "cannot read %s\n", text->s);
        exit(2);
    }
    *tensors = r.tensors;
    Value v = op_call(g, call.name, call.overload, call.args.at, call.args.n, NULL, 0);
    return v.tag == V_TENSOR && !ctx_failed(g->cx) && !g->cx->refusals.n ? v.t : NULL;
}

/* Each in a context begun anew: what is refused must not touch the next. */
static bool check_cell(Lattice *l, Str text, const char *want)
{
    Ctx *cx = context_begin(&l->spare);
    int tensors = 0;
    Tensor *t = result_of(graph_new(cx, NULL, str_of(cx, "cell")), text, &tensors);
    const char *got = t ? short_name(tensor_type(t)->dtype) : "-";
    bool same = strcmp(got, want) == 0;
    l->cells++;
    if (!same) {
        l->failures++;
        fprintf(stderr, "%s\n    wanted %s\n    got    %s %s\n", text->s, want, got,
                t ? ""
                    : ctx_failed(cx) ? cx->error.text->s
                    : cx->refusals.n ? cx->refusals.at[0].text->s
                                     : "");
    }
    context_end(&l->spare, cx);
    return same;
}

/* Can the target say it? Tried in a graph of its own: a refusal would concern the whole model. */
static bool can_say(Lattice *l, Str text)
{
    Ctx *cx = context_begin(&l->spare);
    Graph *g = graph_new(cx, NULL, str_of(cx, "cell"));
    TidyOptions o = { .opset = l->opset, .target_ort = true };
    int tensors = 0;
    g->target = l->opset;
    Tensor *t = result_of(g, text, &tensors);
    if (t)
        graph_output(g, ox_g(g, "Identity", tensor_read(g, t)), str_of(cx, "r"));
    bool said = t && tidy(g, &o) && cx->refusals.n == 0;
    context_end(&l->spare, cx);
    return said;
}

static void emit_cell(Lattice *l, Str text)
{
    if (l->opset != ONNX_DEFAULT_TARGET && !can_say(l, text)) {
        l->refused++;
        return;
    }
    Tensor *t = result_of(l->g, text, &l->tensors);
    if (!t)
        return;
    graph_output(l->g, ox_g(l->g, "Identity", tensor_read(l->g, t)),
                 str_fmt(l->g->cx, "r%d", l->outputs++));
    fprintf(l->calls, "%s\n", text->s);
}

/* ---- the file ---- */

static void close_table(Lattice *l)
{
    if (!l->g)
        return;
    Ctx *cx = l->g->cx;
    ModelInfo info = { .opset = l->g->target, .graph_name = str_of(cx, "lattice") };
    TidyOptions o = { .opset = l->g->target, .target_ort = true };
    if (l->outputs &&
        (!tidy(l->g, &o) ||
         !write_plain(l->g, &info, str_fmt(cx, "%s/%d.onnx", l->emit_to, l->table)->s))) {
        fprintf(stderr, "%s: %s\n", l->call, error_text(cx, "run_lattice", l->emit_to)->s);
        l->failures++;
    }
    fclose(l->calls);
    ctx_free(cx);
    l->g = NULL;
}

/* N comes from an input of its own, so that it is a size of something. */
static void open_table(Lattice *l, char *call)
{
    close_table(l);
    l->call = call;
    l->columns.n = 0;
    l->tensors = l->outputs = 0;
    l->table++;
    if (!l->emit_to)
        return;
    Ctx *cx = ctx_new();
    Dim n = dim_parse(cx, "N", 1);
    l->g = graph_new(cx, NULL, str_of(cx, "lattice"));
    l->g->target = l->opset;
    graph_input(l->g, str_of(cx, "n"), type_tensor(cx, DT_FLOAT, 1, &n));
    l->calls = fopen(str_fmt(l->cx, "%s/%d.calls", l->emit_to, l->table)->s, "w");
    if (!l->calls)
        exit(2);
}

static void read_columns(Lattice *l, char *line)
{
    for (char *name = strtok(line, " "); name; name = strtok(NULL, " "))
        vec_push(l->cx, &l->columns,
                 (Operand){ .name = name, .text = (char *)operand(&l->right, name) });
}

static void read_row(Lattice *l, char *line)
{
    const char *a = operand(&l->left, strtok(line, " "));
    for (size_t i = 0; i < l->columns.n; i++) {
        const char *want = strtok(NULL, " ");
        if (!a || !want || !l->columns.at[i].text) {
            fprintf(stderr, "%s: a row or column is not known\n", l->call);
            exit(2);
        }
        if (strcmp(want, ".") == 0)
            continue;
        Str text = call_with(l->cx, l->call, a, l->columns.at[i].text);
        if (check_cell(l, text, want) && l->g && strcmp(want, "-") != 0)
            emit_cell(l, text);
    }
}

static void read_line(Lattice *l, char *line)
{
    char name[8];
    int at = 0;
    if (line[0] == 0 || line[0] == '#')
        return;
    bool right = strncmp(line, "right ", 6) == 0;
    if (right || strncmp(line, "left ", 5) == 0) {
        if (sscanf(line + 6, "%7s %n", name, &at) != 1)
            exit(2);
        Operand o = { .name = copy(l->cx, name), .text = line + 6 + at };
        if (right)
            vec_push(l->cx, &l->right, o);
        else
            vec_push(l->cx, &l->left, o);
    } else if (strchr(line, '(')) {
        open_table(l, line);
    } else if (line[0] == ' ') {
        read_columns(l, line);
    } else {
        read_row(l, line);
    }
}

int main(int argc, char **argv)
{
    Lattice l = { .cx = ctx_new(), .opset = ONNX_DEFAULT_TARGET };
    const char *path = NULL;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--emit") == 0 && i + 1 < argc)
            l.emit_to = argv[++i];
        else if (strcmp(argv[i], "--opset") == 0 && i + 1 < argc)
            l.opset = atoi(argv[++i]);
        else
            path = argv[i];
    FILE *f = path ? fopen(path, "r") : NULL;
    if (!f) {
        fprintf(stderr, "usage: run_lattice [--emit DIR] FILE.lattice\n");
        return 2;
    }
    for (char line[1024]; fgets(line, sizeof line, f);) {
        line[strcspn(line, "\n")] = 0;
        read_line(&l, copy(l.cx, line));
    }
    fclose(f);
    close_table(&l);
    printf("%d combinations, %d refused at opset %d, %d failures\n", l.cells, l.refused, l.opset,
           l.failures);
    bool good = l.failures == 0 && l.cells > 0;
    contexts_free(&l.spare);
    ctx_free(l.cx);
    return good ? 0 : 1;
}
