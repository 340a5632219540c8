/* case_reader.c - the text of an operator call as a case writes it: `add(f32[2] 1 2, const i64[],
 * alpha=2)`. */
#include "ops/case_reader.h"

#include <stdlib.h>

static void blanks(Reader *r) { r->at += strspn(r->at, " "); }

static bool take(Reader *r, const char *s)
{
    blanks(r);
    if (strncmp(r->at, s, strlen(s)) != 0)
        return false;
    r->at += strlen(s);
    return true;
}

static const struct {
    const char *name;
    DType dtype;
} short_names[] = {
    { "f16", DT_FLOAT16 }, { "bf16", DT_BFLOAT16 }, { "f32", DT_FLOAT },
    { "f64", DT_DOUBLE },  { "i8", DT_INT8 },       { "u8", DT_UINT8 },
    { "i16", DT_INT16 },   { "i32", DT_INT32 },     { "i64", DT_INT64 },
    { "b", DT_BOOL },      { "c64", DT_COMPLEX64 }, { "c128", DT_COMPLEX128 },
};

const char *short_name(DType t)
{
    for (size_t i = 0; i < COUNT(short_names); i++)
        if (short_names[i].dtype == t)
            return short_names[i].name;
    return dtype_name(t);
}

/* Element k of the n-th tensor where a case gives no values; tests/ops/cases.py has the same. */
static double fill(DType t, int64_t k, int n)
{
    int64_t v = (k * 7 + 3 + n * 5) % 11;
    return t == DT_BOOL                            ? v % 2
        : t == DT_UINT8                            ? (double)v
        : dtype_is_float(t) || dtype_is_complex(t) ? (double)(v - 5) / 2
                                                   : (double)(v - 5);
}

/* Values through a float64 constant and ox_cast, which folds: no second table of number formats
 * here. */
static Ox constant(Reader *r, DType t, int rank, const int64_t *dims, const double *at)
{
    if (dtype_is_complex(t))
        return ox_cast(r->g, ox_const(r->g, const_make(r->cx, DT_COMPLEX128, rank, dims, at)), t);
    Ox v = ox_const(r->g, const_make(r->cx, DT_DOUBLE, rank, dims, at));
    return ox_cast(r->g, v, t);
}

/* The number at r->at; where there is none r fails and stays there. */
static double number_at(Reader *r)
{
    char *end;
    double v = strtod(r->at, &end);
    r->failed |= end == r->at;
    r->at = end;
    return v;
}

enum { VALUES_KEPT = 1 << 20 };

/* The values of a graph's input are read and not kept: its sizes may be any. */
static Value tensor(Reader *r, DType t, bool is_const, bool number)
{
    Dim dims[MAX_RANK];
    int64_t sizes[MAX_RANK];
    int rank = 0;
    while (!r->failed && !take(r, "]")) {
        size_t n = strcspn(r->at, ",]");
        if (!r->at[n] || rank == MAX_RANK) {
            r->failed = true;
            return val_poison();
        }
        dims[rank] = dim_parse(r->cx, r->at, n);
        if (!dims[rank] || !dim_known(dims[rank], &sizes[rank]))
            sizes[rank] = 2;
        rank++;
        r->at += n;
        take(r, ",");
    }
    int64_t numel = numel_of_ints(rank, sizes);
    if (dtype_is_complex(t) && !mul_ok(numel, 2, &numel)) /* real and imaginary part in turn */
        numel = INT64_MAX;
    bool kept = is_const || number;
    double *at = kept && numel <= VALUES_KEPT ? new_array(r->cx, double, numel + 1) : NULL;
    r->failed |= kept && !at;
    for (int64_t k = 0; k < numel && !r->failed; k++) {
        blanks(r);
        if (k == 0 && strchr(",)]", *r->at)) {
            for (; at && k < numel; k++)
                at[k] = fill(t, k, r->tensors);
            break;
        }
        double v = number_at(r);
        if (at)
            at[k] = v;
    }
    if (r->failed || !strchr(",)]", *r->at)) { /* too few values, or too many */
        r->failed = true;
        return val_poison();
    }
    Str name = str_fmt(r->cx, "a%d", r->tensors++);
    Ox v = kept ? constant(r, t, rank, sizes, at)
                : graph_input(r->g, name, type_tensor(r->cx, t, rank, dims));
    Value out = val_tensor(r->cx, v);
    if (number)
        out.t->number = true;
    vec_push(r->cx, &r->made, out);
    return out;
}

static bool tensor_start(Reader *r, DType *t)
{
    for (size_t i = 0; i < COUNT(short_names); i++) {
        size_t n = strlen(short_names[i].name);
        if (strncmp(r->at, short_names[i].name, n) == 0 && r->at[n] == '[') {
            *t = short_names[i].dtype;
            r->at += n + 1;
            return true;
        }
    }
    return false;
}

static Value value(Reader *r);

/* [..], or (..): a tuple is what packed parameters are in an archive */
static Value list(Reader *r, const char *end)
{
    VEC(Value) items = { 0 };
    while (!take(r, end)) {
        vec_push(r->cx, &items, value(r));
        take(r, ",");
        r->failed |= !*r->at;
        if (r->failed)
            return val_poison();
    }
    if (*end == ')')
        return val_tuple(r->cx, items.at, (int64_t)items.n);
    bool tensors = items.n > 0 &&
        (items.at[0].tag == V_TENSOR || items.at[items.n - 1].tag == V_TENSOR);
    return val_list(r->cx, items.at, (int64_t)items.n, tensors ? "Tensor" : NULL);
}

/* An operator's result as an argument: quantized::linear_prepack(..), or one of several:
 * unbind(..)[1] */
static Value nested(Reader *r)
{
    Call c = { 0 };
    r->nested = true;
    if (!read_call(r, &c)) {
        r->failed = true;
        return val_poison();
    }
    Value v = op_call(r->g, c.name, c.overload, c.args.at, c.args.n, NULL, 0);
    if (!take(r, "["))
        return v;
    int64_t i = strtoll(r->at, &r->at, 10);
    int64_t n = v.tag == V_LIST ? v.list->n : v.tag == V_TUPLE ? v.tuple->n : 0;
    r->failed |= !take(r, "]") || i < 0 || (i >= n && v.tag != V_POISON);
    return r->failed || v.tag == V_POISON ? val_poison()
        : v.tag == V_LIST                 ? v.list->at[i].v
                                          : v.tuple->at[i];
}

/* a0: the case's first tensor once more, as it is by now. NULL where that is not what stands
 * here. */
static const Value *again(Reader *r)
{
    size_t digits = *r->at == 'a' ? strspn(r->at + 1, "0123456789") : 0;
    size_t i = digits ? strtoul(r->at + 1, NULL, 10) : 0;
    if (digits == 0 || !strchr(",)]", r->at[1 + digits]) || i >= r->made.n)
        return NULL;
    r->at += 1 + digits;
    return &r->made.at[i];
}

static Value value(Reader *r)
{
    DType t;
    blanks(r);
    size_t word = strspn(r->at,
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789:.");
    if (word > 0 && r->at[word] == '(')
        return nested(r);
    bool is_const = take(r, "const ");
    bool number = !is_const && take(r, "num ");
    blanks(r);
    if (take(r, "sym ")) {
        size_t len = strcspn(r->at, ",)]");
        Dim d = dim_parse(r->cx, r->at, len);
        r->at += len;
        return val_dim(r->cx, d);
    }
    const Value *same = again(r);
    if (same)
        return *same;
    if (tensor_start(r, &t))
        return tensor(r, t, is_const, number);
    if (take(r, "["))
        return list(r, "]");
    if (take(r, "("))
        return list(r, ")");
    if (take(r, "None"))
        return val_none();
    if (take(r, "True"))
        return val_bool(true);
    if (take(r, "False"))
        return val_bool(false);
    if (*r->at == '"') {
        char *end = strchr(r->at + 1, '"');
        Str s = str_n(r->cx, r->at + 1, end ? (size_t)(end - r->at - 1) : 0);
        r->at = end ? end + 1 : r->at + strlen(r->at);
        return val_str(s);
    }
    size_t n = strcspn(r->at, ",)] ");
    DType named = dtype_named(r->at, n);
    if (named != DT_NONE) {
        r->at += n;
        return (Value){ .tag = V_DTYPE, .dtype = named };
    }
    bool fraction = memchr(r->at, '.', n) || memchr(r->at, 'e', n) || memchr(r->at, 'n', n);
    int64_t i = strtoll(r->at, NULL, 10);
    double f = number_at(r);
    return fraction ? val_float(f) : val_int(i);
}

bool read_call(Reader *r, Call *c)
{
    size_t n = strcspn(r->at, ".(");
    bool spelled = memchr(r->at, ':', n);
    c->name = str_fmt(r->cx, "%s%.*s", spelled ? "" : "aten::", (int)n, r->at);
    r->at += n;
    if (take(r, ".")) {
        n = strcspn(r->at, "(");
        c->overload = str_n(r->cx, r->at, n);
        r->at += n;
    }
    if (!take(r, "("))
        return false;
    while (!take(r, ")")) {
        OpArg a = { 0 };
        blanks(r);
        n = strspn(r->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
        if (n > 0 && r->at[n] == '=') {
            a.name = str_n(r->cx, r->at, n);
            r->at += n + 1;
        }
        bool spread = take(r, "*");
        a.v = value(r);
        for (int64_t i = 0; spread && a.v.tag == V_TUPLE && i < a.v.tuple->n; i++)
            vec_push(r->cx, &c->args, (OpArg){ .v = a.v.tuple->at[i] });
        if (!spread || a.v.tag != V_TUPLE)
            vec_push(r->cx, &c->args, a);
        take(r, ",");
        if (!*r->at || r->failed)
            return false;
    }
    c->nested = r->nested;
    return true;
}

Ctx *context_begin(Contexts *all)
{
    if (all->n == 0)
        return ctx_new();
    Ctx *cx = all->ended[--all->n];
    ctx_restart(cx);
    cx->steps = cx->values = cx->work = 0;
    return cx;
}

void context_end(Contexts *all, Ctx *cx)
{
#ifdef __SANITIZE_ADDRESS__
    bool kept = false;
#else
    bool kept = all->n < COUNT(all->ended);
#endif
    if (kept)
        all->ended[all->n++] = cx;
    else
        ctx_free(cx);
}

void contexts_free(Contexts *all)
{
    while (all->n > 0)
        ctx_free(all->ended[--all->n]);
}

/* ---- the file ---- */

char *read_all(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    size_t n = 0;
    size_t cap = 1 << 20;
    char *s = malloc(cap + 1);
    for (size_t got; (got = fread(s + n, 1, cap - n, f)) > 0;)
        if ((n += got) == cap)
            s = realloc(s, (cap *= 2) + 1);
    s[n] = 0;
    fclose(f);
    return s;
}

static void cut_end(char *s, const char *comment)
{
    char *c = comment ? strstr(s, comment) : NULL;
    size_t n = c ? (size_t)(c - s) : strlen(s);
    while (n > 0 && strchr(" \t\r", s[n - 1]))
        n--;
    s[n] = 0;
}

void read_cases(Ctx *cx, char *text, Cases *out)
{
    int line = 0;
    for (char *s = text, *next; s; s = next) {
        next = strchr(s, '\n');
        if (next)
            *next++ = 0;
        line++;
        Case *last = out->n ? &out->at[out->n - 1] : NULL;
        if (strncmp(s, "!! ", 3) == 0) {
            cut_end(s, NULL);
            if (last)
                last->message = s + 3;
            continue;
        }
        cut_end(s, s[0] == '#' ? "#" : "    #");
        if (s[0] == 0)
            continue;
        if (strncmp(s, "->", 2) == 0 && last)
            vec_push(cx, &last->results, s + 2);
        else if (s[0] == '=' && s[1] >= '0' && s[1] <= '9' && last)
            vec_push(cx, &last->finished, s + 1);
        else if (strncmp(s, "=>", 2) == 0 && last)
            last->nodes = s + 2;
        else
            vec_push(cx, out, (Case){ .call = s, .line = line });
    }
}

/* ---- what came out ---- */

void flatten(Ctx *cx, Value v, Values *out)
{
    if (v.tag == V_TUPLE)
        for (int64_t i = 0; i < v.tuple->n; i++)
            flatten(cx, v.tuple->at[i], out);
    else if (v.tag == V_LIST)
        for (int64_t i = 0; i < v.list->n; i++)
            flatten(cx, v.list->at[i].v, out);
    else
        vec_push(cx, out, v);
}

int add_outputs(Graph *g, const Values *got)
{
    int tensors = 0;
    for (size_t i = 0; i < got->n; i++)
        if (got->at[i].tag == V_TENSOR) {
            graph_output(g, ox_g(g, "Identity", tensor_read(g, got->at[i].t)),
                         str_fmt(g->cx, "r%zu", i));
            tensors++;
        }
    return tensors;
}

const char *failure(Ctx *cx)
{
    return ctx_failed(cx) ? cx->error.text->s : cx->refusals.n ? cx->refusals.at[0].text->s : NULL;
}

bool swallow(void *user, const void *p, size_t n)
{
    (void)user;
    (void)p;
    (void)n;
    return true;
}
