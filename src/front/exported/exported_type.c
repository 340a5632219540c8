/* exported_type.c - what a .pt2 records about values: tensors with their sizes, numbers, and the
 * ranges of symbols.
 *
 * Sizes are SymPy texts (sympy.c), read once each. One that is not understood whole is an unknown
 * size, never a guess. */
#include "front/exported/exported.h"

/* ---- JSON of a union, of a name ---- */

static bool one_kind(Exported *x, const Json *j)
{
    return ex_bad(x, j, "exactly one kind of value is expected");
}

bool ex_union(Exported *x, Json *j, Str *tag, Json *value)
{
    Str key;
    int set = 0;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key)) {
        Json here = *j;
        if (json_peek(j) != J_NULL) {
            *tag = key;
            *value = here;
            set++;
        }
        if (!json_skip(j))
            return false;
    }
    return !j->failed && (set == 1 || one_kind(x, j));
}

bool ex_open_union(Exported *x, Json *j, Str *tag)
{
    if (!json_enter_object(j))
        return false;
    while (json_key(j, tag)) {
        if (json_peek(j) != J_NULL)
            return true;
        if (!json_skip(j))
            return false;
    }
    return j->failed ? false : one_kind(x, j);
}

bool ex_close_union(Exported *x, Json *j)
{
    Str key;
    while (json_key(j, &key)) {
        if (json_peek(j) != J_NULL)
            return one_kind(x, j);
        if (!json_skip(j))
            return false;
    }
    return !j->failed;
}

/* {"name": n, ..} */
bool ex_name(Json *j, Str *out)
{
    Str key;
    *out = NULL;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key))
        if (!(str_is(key, "name") ? json_str(j, out) : json_skip(j)))
            return false;
    return !j->failed;
}

const void *ex_shared(Exported *x, const void *p, size_t n)
{
    ExShared *known = &x->shared[hash_bytes(p, n, 0) % COUNT(x->shared)];
    if (known->p && known->n == n && memcmp(known->p, p, n) == 0)
        return known->p;
    /* also when it is a weight's, which is read in memory that goes earlier */
    PhaseAround around = phase_begin(x->cx, PHASE_PROGRAM);
    const void *kept = mem_copy(x->cx, p, n);
    phase_end(x->cx, around);
    if (kept)
        *known = (ExShared){ kept, n };
    return kept;
}

/* ---- sizes and tensors ---- */

typedef struct Sized {
    const Exported *x;
    bool yes;
} Sized;

static Dim look_at_symbol(void *arg, Dim sym)
{
    Sized *s = arg;
    Str name;
    bool known = !dim_is_sym(sym, &name);
    for (size_t i = 0; i < s->x->symbols.n; i++)
        known |= s->x->symbols.at[i].name == name;
    s->yes &= known;
    return NULL;
}

/* Are all symbols of this size sizes themselves, 0 or more? A number from data is not, if no
 * check of the program bounds it from below. */
static bool only_sizes(Exported *x, Dim size)
{
    Sized s = { x, true };
    dim_replace(x->cx, size, look_at_symbol, &s);
    return s.yes;
}

static const RecordedDim *dim_of_text(Exported *x, Str text)
{
    RecordedDim *d = map_get(&x->dims, text);
    if (d)
        return d;
    d = new(x->cx, RecordedDim);
    *d = (RecordedDim){ .known = -1 };
    keep_begin(x->cx); /* dimensions are the graph's too */
    Dim size = sympy_dim(x->cx, text);
    if (size && !dim_known(size, &d->known) && only_sizes(x, size))
        d->expr = dim_text(x->cx, size);
    keep_end(x->cx);
    if (!size)
        note(x->cx, NOTE_INFO, "the size %s is not understood: it becomes an unknown one", text->s);
    map_put(x->cx, &x->dims, text, d);
    return d;
}

/* {"expr_str": text, "hint": ..} */
static bool read_expr(Exported *x, Json *j, RecordedDim *out)
{
    Str key, text = NULL;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key))
        if (!(str_is(key, "expr_str") ? json_str(j, &text) : json_skip(j)))
            return false;
    if (j->failed || !text)
        return j->failed ? false : ex_bad(x, j, "a symbolic size has no expr_str");
    *out = *dim_of_text(x, text);
    return true;
}

/* SymInt; schema 2 has bare ints. */
static bool read_sym_int(Exported *x, Json *j, RecordedDim *out, bool *number)
{
    Str tag;
    *out = (RecordedDim){ .known = -1 };
    *number = true;
    if (json_peek(j) == J_INT)
        return json_int(j, &out->known);
    if (!ex_open_union(x, j, &tag))
        return false;
    *number = str_is(tag, "as_int");
    bool ok;
    if (*number)
        ok = json_int(j, &out->known);
    else if (str_is(tag, "as_expr"))
        ok = read_expr(x, j, out);
    else
        ok = ex_bad(x, j, "a size is expected");
    return ok && ex_close_union(x, j);
}

static bool read_size(Exported *x, Json *j, RecordedDim *out)
{
    bool number;
    return read_sym_int(x, j, out, &number) &&
        (!number || out->known >= 0 || ex_bad(x, j, "a negative size"));
}

static bool read_sizes(Exported *x, Json *j, RecordedDim *out, int *n)
{
    if (!json_enter_array(j))
        return false;
    for (*n = 0; json_more(j); ++*n) {
        if (*n == MAX_RANK)
            return fail(x->cx, E_LIMIT, "%s: byte %zu: a tensor of more than %d dimensions",
                        j->record, json_mark(j), MAX_RANK);
        if (!read_size(x, j, &out[*n]))
            return false;
    }
    return !j->failed;
}

static bool all_known(const RecordedDim *d, int n, int64_t *out)
{
    for (int i = 0; i < n; i++) {
        if (d[i].known < 0)
            return false;
        out[i] = d[i].known;
    }
    return true;
}

/* The export schema's number of complex32, the one of its element types that ONNX has no place
 * for. */
enum { COMPLEX_HALF = 9 };

static bool unknown_dtype(Exported *x, const Json *j, int64_t code)
{
    return fail(x->cx, E_FORMAT, "%s: byte %zu: dtype: no element type has the number %lld",
                j->record, json_mark(j), (long long)code);
}

/* What is recorded about a tensor. is_static: sizes, strides and offset are all numbers, in
 * out->size, out->stride and out->offset. */
bool ex_tensor_meta(Exported *x, Json *j, ExTensor *out)
{
    RecordedDim size[MAX_RANK], stride[MAX_RANK], offset = { .known = 0 };
    Str key;
    int rank = 0;
    int n_stride = 0;
    *out = (ExTensor){ .layout = 7 };
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key)) {
        bool ok;
        if (str_is(key, "dtype"))
            ok = json_int(j, &out->code);
        else if (str_is(key, "sizes"))
            ok = read_sizes(x, j, size, &rank);
        else if (str_is(key, "strides"))
            ok = read_sizes(x, j, stride, &n_stride);
        else if (str_is(key, "storage_offset"))
            ok = read_size(x, j, &offset);
        else if (str_is(key, "layout"))
            ok = json_int(j, &out->layout);
        else
            ok = json_skip(j);
        if (!ok)
            return false;
    }
    if (j->failed)
        return false;
    out->type.dtype = dtype_of_pt2(out->code);
    if (out->type.dtype == DT_NONE && out->code != COMPLEX_HALF)
        return unknown_dtype(x, j, out->code);
    out->type.rank = rank;
    out->type.dim = ex_shared(x, size, (size_t)rank * sizeof *size);
    out->is_static = rank == n_stride && all_known(size, rank, out->size) &&
        all_known(stride, rank, out->stride) && all_known(&offset, 1, &out->offset);
    return true;
}

/* ---- what values are ---- */

/* Does the expression hold a size that data decides, u0 or u17? */
static bool from_data(Str expr)
{
    for (const char *at = expr->s; *at; at++) {
        bool starts = at == expr->s ||
            !strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789", at[-1]);
        if (starts && at[0] == 'u' && at[1] >= '0' && at[1] <= '9')
            return true;
    }
    return false;
}

/* A copy of n sizes, of which those that data decide are unknown. */
static const RecordedDim *without_data(Ctx *cx, const RecordedDim *from, int n)
{
    RecordedDim *dim = mem_copy(cx, from, (size_t)n * sizeof *dim);
    if (!dim)
        return NULL;
    for (int i = 0; i < n; i++)
        if (dim[i].expr && from_data(dim[i].expr))
            dim[i].expr = NULL;
    return dim;
}

/* Keeps what the file records about the value of this name. In a loop's body u0 is another number
 * in each iteration, so a size that depends on u0 is kept as unknown there. */
static bool add_type(ExScope *s, const Json *j, Str name, const Recorded *r)
{
    if (map_find(&s->types, name))
        return fail(s->x->cx, E_FORMAT, "%s: byte %zu: %s is described twice", j->record,
                    json_mark(j), name->s);
    Recorded known = *r;
    int n = r->rank;
    if (r->what)
        n = r->dim != NULL;
    if (s->repeated && n)
        known.dim = without_data(s->x->cx, r->dim, n);
    map_put(s->x->cx, &s->types, name, ex_shared(s->x, &known, sizeof known));
    return true;
}

bool ex_tensor_values(ExScope *s, Json *j)
{
    Str name;
    ExTensor t;
    if (!json_enter_object(j))
        return false;
    size_t from = j->at;
    while (json_key(j, &name)) {
        if (!ex_tensor_meta(s->x, j, &t) || !add_type(s, j, name, &t.type))
            return false;
        if (s->whole)
            json_discard(j, &from);
    }
    return !j->failed;
}

/* sym_int_values, sym_float_values, sym_bool_values: `what` is "int", "float", "bool". An int's
 * size is its one dim. */
bool ex_sym_values(ExScope *s, Json *j, const char *what)
{
    Str name;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &name)) {
        Recorded r = { .what = str_of(s->x->cx, what) };
        RecordedDim d;
        bool number, is_int = !strcmp(what, "int");
        if (!(is_int ? read_sym_int(s->x, j, &d, &number) : json_skip(j)))
            return false;
        if (is_int && d.known < 0)
            d.known = -1; /* an int may be negative, which a dimension cannot say */
        r.dim = is_int ? ex_shared(s->x, &d, sizeof d) : NULL;
        if (!add_type(s, j, name, &r))
            return false;
    }
    return !j->failed;
}

const Recorded *ex_type_of(const ExScope *s, Str name)
{
    static const Recorded nothing;
    const Recorded *r = name ? map_get(&s->types, name) : NULL;
    return r ? r : &nothing;
}
