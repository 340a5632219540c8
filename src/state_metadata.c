/* state_metadata.c - what the file's metadata says of state: which output is the next value of
 * which input, and what each input is before the first run. */
#include "onnx/edit.h"
#include "session.h"

#include <math.h>

/* Up to LISTED elements stand in the metadata one by one. Equal ones are written as one, however
 * many there are. */
enum { LISTED = 1024, TILE = 65536 };

static bool has_number(DType t)
{
    return t == DT_BOOL || (dtype_is_int(t) && dtype_size(t) && t != DT_UINT64 && t < DT_UINT4) ||
        t == DT_FLOAT || t == DT_DOUBLE || t == DT_FLOAT16 || t == DT_BFLOAT16;
}

/* JSON has no word for numbers that are not finite, and would make a whole number of "-0". */
static void put_real(Buf *b, double v)
{
    char text[32];
    format_double(text, v);
    if (!isfinite(v))
        buf_fmt(b, "\"%s\"", text);
    else if (strpbrk(text, ".e"))
        buf_str(b, text);
    else
        buf_fmt(b, "%s.0", text);
}

/* The first n elements of data as numbers of JSON, with commas between them. */
static bool put_numbers(Graph *g, DType t, int64_t n, const void *data, Buf *b)
{
    bool real = dtype_is_float(t);
    Ox v = ox_const(g, const_make(g->cx, t, 1, &n, data));
    Ox plain = ox_cast(g, v, real ? DT_DOUBLE : DT_INT64);
    if (!ox_ok(plain) || plain->kind != OX_CONST)
        return fail(g->cx, E_BUG, "the initial value of state is no constant");
    const void *at = const_data(g->cx, plain->k);
    if (!at)
        return false;
    for (int64_t i = 0; i < n; i++) {
        buf_str(b, i ? ", " : "");
        if (real)
            put_real(b, ((const double *)at)[i]);
        else if (t == DT_BOOL)
            buf_str(b, ((const int64_t *)at)[i] ? "true" : "false");
        else
            buf_fmt(b, "%lld", (long long)((const int64_t *)at)[i]);
    }
    return !ctx_failed(g->cx);
}

/* Does every element of a contiguous k have the bytes of its first? A piece at a time: k may be
 * larger than memory. */
static bool all_equal(Ctx *cx, const Const *k, uint8_t *tile)
{
    size_t size = dtype_size(k->dtype);
    uint64_t all = dtype_bytes(k->dtype, (uint64_t)const_numel(k));
    uint8_t first[16];
    for (uint64_t at = 0; at < all; at += TILE) {
        size_t n = all - at < TILE ? (size_t)(all - at) : TILE;
        if (!bytes_read(cx, k->bytes, at, tile, n))
            return false;
        if (at == 0)
            memcpy(first, tile, size);
        if (memcmp(tile, first, size) != 0 || memcmp(tile, tile + size, n - size) != 0)
            return false;
    }
    return true;
}

/* Is k one element, seen many times, as expand() makes it? */
static bool is_repeated(const Const *k)
{
    for (int i = 0; i < k->rank; i++)
        if (k->dims[i] != 1 && (!k->strides || k->strides[i] != 0))
            return false;
    return true;
}

/* "value": 0 or "values": [1, 2]; *put is false where k is neither small nor of equal elements. */
static bool put_value(Graph *g, const Const *k, Buf *b, bool *put)
{
    int64_t n = const_numel(k);
    bool small = n <= LISTED;
    *put = false;
    if (!small && is_repeated(k))
        for (int i = 0; k && i < k->rank; i++)
            k = const_slice(g->cx, k, i, 0, 1, 1);
    if (!k || !has_number(k->dtype) || !(small || const_contiguous(k)))
        return k != NULL;
    uint8_t *data = new_array(g->cx, uint8_t, TILE);
    if (!data || (small && !const_read(g->cx, k, data)))
        return false;
    const Const *read = small ? const_make(g->cx, k->dtype, k->rank, k->dims, data) : k;
    if (!read)
        return false;
    bool equal = n > 0 && all_equal(g->cx, read, data);
    *put = equal || small;
    if (!*put)
        return !ctx_failed(g->cx);
    buf_str(b, equal ? "\"value\": " : "\"values\": [");
    bool ok = put_numbers(g, k->dtype, equal ? 1 : n, data, b);
    buf_str(b, equal ? "" : "]");
    return ok;
}

static bool is_taken(const Graph *g, Str name)
{
    for (size_t i = 0; i < g->inputs.n; i++)
        if (g->inputs.at[i]->name == name)
            return true;
    for (size_t i = 0; i < g->outputs.n; i++)
        if (g->outputs.at[i]->name == name)
            return true;
    return false;
}

/* k as an initializer that no node uses, from where it can be read: its bytes never pass through
 * memory. */
static bool put_initializer(Graph *g, Str input, const Const *k, ModelInfo *info, Buf *b)
{
    Str name = str_cat(g->cx, input->s, ".", "initial");
    while (is_taken(g, name))
        name = str_cat(g->cx, name->s, "_", "");
    Const *own = new(g->cx, Const);
    if (!own)
        return false;
    *own = *k;
    own->name = name;
    Ox v = ox_const(g, own);
    buf_str(b, "\"initializer\": ");
    buf_json(b, name);
    return ox_ok(v) && vec_push(g->cx, &info->unused, v);
}

/* {"type": "float32", "shape": [2, 3], "value": 0.0} */
static bool put_initial(Graph *g, Str input, const Const *k, ModelInfo *info, Buf *b)
{
    bool put = false;
    buf_fmt(b, "{\"type\": \"%s\", \"shape\": [", dtype_name(k->dtype));
    for (int i = 0; i < k->rank; i++)
        buf_fmt(b, "%s%lld", i ? ", " : "", (long long)k->dims[i]);
    buf_str(b, "], ");
    if (!put_value(g, k, b, &put) || (!put && !put_initializer(g, input, k, info, b)))
        return false;
    buf_str(b, "}");
    return true;
}

/* pt2onnx.state.initial, of every input that is state; from here on these have no default. */
static bool add_initial(Session *s, const Program *p, Graph *g, ModelInfo *info)
{
    Buf b = buf_new(s->cx);
    Map by_name = { 0 };
    for (size_t i = 0; i < g->inputs.n; i++)
        map_put(s->cx, &by_name, g->inputs.at[i]->name, g->inputs.at[i]);
    for (uint32_t i = 0; i < p->n_state; i++) {
        Ox in = map_get(&by_name, p->state[i].input);
        if (!in || !in->k)
            continue;
        buf_str(&b, b.n ? ", " : "{");
        buf_json(&b, in->name);
        buf_str(&b, ": ");
        if (!put_initial(g, in->name, in->k, info, &b))
            return false;
        graph_input_default(in, NULL);
    }
    if (!b.n)
        return true;
    buf_str(&b, "}");
    vec_push(s->cx, &info->props, (Prop){ str_of(s->cx, "pt2onnx.state.initial"), buf_done(&b) });
    return !ctx_failed(s->cx);
}

bool state_metadata(Session *s, const Program *p, Graph *g, ModelInfo *info)
{
    Buf b = buf_new(s->cx);
    for (uint32_t i = 0; i < p->n_state; i++) {
        buf_str(&b, i ? ", " : "{");
        buf_json(&b, p->state[i].input);
        buf_str(&b, ": ");
        buf_json(&b, p->state[i].output);
    }
    if (!b.n)
        return true;
    buf_str(&b, "}");
    vec_push(s->cx, &info->props, (Prop){ str_of(s->cx, "pt2onnx.state"), buf_done(&b) });
    return s->opt.state == STATE_DEFAULTS || add_initial(s, p, g, info);
}
