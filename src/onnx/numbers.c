/* numbers.c - numbers as values of a graph: constants, dims, and what is known of a value's
 * contents.
 *
 * Small constants of equal content are one value, and so are equal lists of dims. An int value of
 * rank 0 or 1 may carry its items as dims; one made of dims (OX_DIMS) has no node until tidy makes
 * the arithmetic that is still needed. */
#include "onnx/internal.h"

static int64_t int_at(DType t, const void *p, int64_t i)
{
    switch (t) {
    case DT_UINT8:  return ((const uint8_t *)p)[i];
    case DT_INT8:   return ((const int8_t *)p)[i];
    case DT_UINT16: return ((const uint16_t *)p)[i];
    case DT_INT16:  return ((const int16_t *)p)[i];
    case DT_UINT32: return ((const uint32_t *)p)[i];
    case DT_INT32:  return ((const int32_t *)p)[i];
    case DT_BOOL:   return ((const uint8_t *)p)[i] != 0;
    default:        return ((const int64_t *)p)[i];
    }
}

/* Small int64 and int32 constants carry their items, as every value may. */
static void add_items(Graph *g, Ox v)
{
    const Const *k = v->k;
    int64_t n = const_numel(k);
    if ((k->dtype != DT_INT64 && k->dtype != DT_INT32) || k->rank > 1 || n > MAX_ITEMS)
        return;
    const void *data = const_data(g->cx, k);
    if (!data)
        return;
    Dim *items = new_array(g->cx, Dim, n ? n : 1);
    if (!items)
        return;
    for (int64_t i = 0; i < n; i++)
        items[i] = dim_int(g->cx, int_at(k->dtype, data, i));
    v->items = items;
    v->n_items = (int)n;
}

static Ox new_const(Graph *g, const Const *k)
{
    Ox v = ox_new(g, OX_CONST, type_of_ints(g->cx, k->dtype, k->rank, k->dims));
    v->k = k;
    add_items(g, v);
    return v;
}

/* A number of ours, not bytes of the file: those of equal content are one value. */
static bool is_small(const Const *k)
{
    return !k->name && !k->storage && !k->derived && k->dtype != DT_STRING && k->bytes.src &&
        k->bytes.src->kind == SRC_MEMORY && const_contiguous(k) && const_numel(k) <= FOLD_NUMEL;
}

static bool same_small(const Const *a, const Const *b, const void *pa, const void *pb)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
        (a->rank == 0 || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0) &&
        memcmp(pa, pb, (size_t)dtype_bytes(a->dtype, (uint64_t)const_numel(a))) == 0;
}

static Ox weight_const(Graph *g, const Const *k)
{
    Ox *known = shared_weight(graph_root(g), k);
    if (!known)
        return new_const(g, k);
    if (!*known)
        *known = new_const(g, k);
    return *known;
}

/* The hash of a small constant: of its type, its dims and the bytes at p. */
static uint64_t hash_small(const Const *k, const void *p)
{
    uint64_t key[2] = { k->dtype, (uint64_t)k->rank };
    uint64_t h = 2;
    if (k->rank)
        h = hash_bytes(k->dims, (size_t)k->rank * sizeof *k->dims, h);
    h = hash_bytes(key, sizeof key, h);
    return hash_bytes(p, (size_t)dtype_bytes(k->dtype, (uint64_t)const_numel(k)), h);
}

/* The one value of k: a weight's is found by the Const's address, that of a small constant of ours
 * by its content. NULL for k gives POISON. */
Ox ox_const(Graph *g, const Const *k)
{
    if (!k || ctx_failed(g->cx) || !strides_fit(g->cx, k->rank, k->dims))
        return POISON;
    if (!is_small(k))
        return weight_const(g, k);
    Graph *root = graph_root(g);
    const void *p = const_data(g->cx, k);
    if (!p && ctx_failed(g->cx))
        return POISON;
    uint32_t h = (uint32_t)hash_small(k, p);
    size_t at = h;
    for (;;) {
        Ox known = next_shared(root->share, h, SHARED_CONST, &at);
        if (!known)
            break;
        if (same_small(known->k, k, const_data(g->cx, known->k), p))
            return known;
    }
    Ox v = new_const(g, k);
    share(root, (Shared){ h, SHARED_CONST, v });
    return v;
}

static Ox const_of(Graph *g, DType t, int rank, const int64_t *dims, const void *data)
{
    return ctx_failed(g->cx) ? POISON : ox_const(g, const_make(g->cx, t, rank, dims, data));
}

Ox ox_int(Graph *g, int64_t v) { return const_of(g, DT_INT64, 0, NULL, &v); }

Ox ox_ints(Graph *g, const int64_t *v, size_t n)
{
    int64_t dim = (int64_t)n;
    return const_of(g, DT_INT64, 1, &dim, v);
}

Ox ox_bool(Graph *g, bool v)
{
    uint8_t b = v;
    return const_of(g, DT_BOOL, 0, NULL, &b);
}

/* Rounded once, from double: float16 and bfloat16 to nearest even by the bits, not through
 * float32. */
static uint16_t narrow_float(double v, int mantissa, int exponent)
{
    union {
        double f;
        uint64_t u;
    } x = { .f = v };
    uint16_t sign = (uint16_t)(x.u >> 63 << 15);
    int bias = (1 << (exponent - 1)) - 1;
    int e = (int)(x.u >> 52 & 0x7ff) - 1023 + bias;
    uint64_t m = x.u & 0xfffffffffffffu;
    uint16_t inf = (uint16_t)(((1u << exponent) - 1) << mantissa);
    if ((x.u >> 52 & 0x7ff) == 0x7ff)
        return (uint16_t)(sign | inf | (m ? 1u << (mantissa - 1) : 0));
    m |= 1ull << 52;
    int drop = 52 - mantissa;
    if (e <= 0) { /* subnormal here */
        drop += 1 - e;
        e = 0;
        if (drop > 54)
            return sign;
    }
    uint64_t kept = m >> drop;
    uint64_t rest = m & ((1ull << drop) - 1);
    uint64_t half = 1ull << (drop - 1);
    kept += rest > half || (rest == half && (kept & 1));
    if (e > 0)
        kept += (uint64_t)(e - 1) << mantissa; /* the hidden bit adds the last one */
    return (uint16_t)(sign | (kept >= inf ? inf : kept));
}

/* v as a 0-d constant of type t, rounded once. An integer type takes what an int64 holds, anything
 * else is E_VALUE. */
Ox ox_number(Graph *g, DType t, double v)
{
    union {
        float f;
        double d;
        uint16_t h;
        float c[2];
        double z[2];
    } x = { .z = { 0, 0 } };
    switch (t) {
    case DT_FLOAT:      x.f = (float)v; break;
    case DT_DOUBLE:     x.d = v; break;
    case DT_FLOAT16:    x.h = narrow_float(v, 10, 5); break;
    case DT_BFLOAT16:   x.h = narrow_float(v, 7, 8); break;
    case DT_COMPLEX64:  x.c[0] = (float)v; break;
    case DT_COMPLEX128: x.z[0] = v; break;
    case DT_BOOL:       return ox_bool(g, v != 0);
    default:
        if (v != v || v < -9223372036854775808.0 || v >= 9223372036854775808.0 ||
            !(dtype_is_int(t))) {
            fail(g->cx, E_VALUE, "%g is not a number of type %s", v, dtype_name(t));
            return POISON;
        }
        return ox_integer(g, t, (int64_t)v);
    }
    return const_of(g, t, 0, NULL, &x);
}

/* v as a 0-d constant of type t, whose low bits it keeps: exact for int64, where a double is not.
 */
Ox ox_integer(Graph *g, DType t, int64_t v)
{
    union {
        int8_t b;
        int16_t h;
        int32_t w;
        int64_t d;
        uint8_t any[8];
    } x = { .d = 0 };
    if (!dtype_is_int(t))
        return ox_number(g, t, (double)v);
    switch (dtype_bits(t)) {
    case 8:  x.b = (int8_t)v; break;
    case 16: x.h = (int16_t)v; break;
    case 32: x.w = (int32_t)v; break;
    case 64: x.d = v; break;
    default: x.any[0] = (uint8_t)(v & ((1 << dtype_bits(t)) - 1)); break; /* 2 or 4 */
    }
    return const_of(g, t, 0, NULL, &x);
}

/* Text as a constant: its bytes are those of the string. */
Ox ox_string(Graph *g, Str s)
{
    if (ctx_failed(g->cx))
        return POISON;
    Const *k = new(g->cx, Const);
    Str *item = new(g->cx, Str);
    *item = s;
    *k = (Const){ .dtype = DT_STRING,
                  .bytes = { source_memory(g->cx, item, sizeof s), 0, sizeof s } };
    return ox_const(g, k);
}

/* n known numbers as a constant of t, which is int64 or int32; v is overwritten. */
static Ox const_of_ints(Graph *g, DType t, int rank, int64_t *v, int64_t n)
{
    int32_t *narrow = (int32_t *)v; /* in place, front to back */
    for (int64_t i = 0; t == DT_INT32 && i < n; i++)
        narrow[i] = (int32_t)v[i];
    return const_of(g, t, rank, &n, v);
}

/* An int64 or int32 tensor of rank 0 or 1 with these items: a constant when all are known, else a
 * value without a node (OX_DIMS), which is the same one for the same items. */
Ox ox_of_items(Graph *g, DType t, int rank, const Dim *items, int64_t n)
{
    if (ctx_failed(g->cx))
        return POISON;
    bool known = true;
    int64_t *v = new_array(g->cx, int64_t, n ? n : 1);
    if (!v)
        return POISON;
    for (int64_t i = 0; i < n; i++)
        known &= dim_known(items[i], &v[i]);
    if (known)
        return const_of_ints(g, t, rank, v, n);
    Graph *root = graph_root(g);
    uint64_t key[2] = { t, (uint64_t)rank };
    uint64_t of_items = hash_bytes(items, (size_t)n * sizeof *items, 3);
    uint32_t h = (uint32_t)hash_bytes(key, sizeof key, of_items);
    size_t at = h;
    for (;;) {
        Ox old = next_shared(root->share, h, SHARED_DIMS, &at);
        if (!old)
            break;
        if (ox_dtype(old) == t && ox_rank(old) == rank && old->n_items == n &&
            memcmp(old->items, items, (size_t)n * sizeof *items) == 0)
            return old;
    }
    Ox o = ox_new(g, OX_DIMS, type_of_ints(g->cx, t, rank, &n));
    o->items = mem_copy(g->cx, items, (size_t)n * sizeof *items);
    if (!o->items)
        return POISON;
    o->n_items = (int)n;
    share(root, (Shared){ h, SHARED_DIMS, o });
    return o;
}

/* Dims as a value. More than fit into the contents of a value are a bug of the caller:
 * MAX_ITEMS. */
Ox ox_dims(Graph *g, const Dim *d, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!d[i])
            return POISON;
    return ox_of_items(g, DT_INT64, 1, d, (int64_t)n);
}

Ox ox_dim_value(Graph *g, Dim d) { return d ? ox_of_items(g, DT_INT64, 0, &d, 1) : POISON; }

/* The floats of 8 bits in which PyTorch 2.13 has infinity, or not-a-number, for what is too large;
 * in float8_e4m3fn it has the largest number, as ONNX has by default. */
static bool overflows(DType t)
{
    return t == DT_FLOAT8E5M2 || t == DT_FLOAT8E4M3FNUZ || t == DT_FLOAT8E5M2FNUZ;
}

Ox ox_cast(Graph *g, Ox v, DType to)
{
    if (!ox_ok(v) || ox_dtype(v) == to)
        return v;
    if (dtype_is_complex(to) || dtype_is_complex(ox_dtype(v)))
        return ox_cast_complex(g, v, to);
    Attr past_the_end = overflows(to) ? INT("saturate", 0) : NO_ATTR;
    return ox_g_with(g, "Cast", INPUTS(v), past_the_end, INT("to", to));
}

Ox ox_unsigned(Graph *g, Ox v)
{
    if (!ox_ok(v))
        return v;
    Ox moved = ox_g(g, "Add", ox_cast(g, v, DT_INT16), ox_integer(g, DT_INT16, 128));
    return ox_cast(g, moved, DT_UINT8);
}

Ox ox_shape(Graph *g, Ox v)
{
    if (!ox_ok(v))
        return v;
    return ox_rank(v) >= 0 ? ox_dims(g, v->type->dim, (size_t)ox_rank(v)) : ox_g(g, "Shape", v);
}

bool ox_never_empty(Ctx *cx, Ox v)
{
    bool some = ox_rank(v) >= 0;
    for (int i = 0; i < ox_rank(v); i++)
        some &= dim_lt(cx, dim_int(cx, 0), ox_dim(v, i)) == YES;
    return some;
}

bool ox_items(Ox v, const Dim **out, int64_t *n)
{
    if (!v->items)
        return false;
    for (int64_t i = 0; i < v->n_items; i++)
        if (!v->items[i])
            return false;
    *out = v->items;
    *n = v->n_items;
    return true;
}

static bool items_as_ints(Graph *g, Ox v, const int64_t **out, int64_t *n)
{
    const Dim *items;
    if (!ox_items(v, &items, n))
        return false;
    int64_t *ints = new_array(g->cx, int64_t, *n ? *n : 1);
    if (!ints)
        return false;
    for (int64_t i = 0; i < *n; i++)
        if (!dim_known(items[i], &ints[i]))
            return false;
    *out = ints;
    return true;
}

/* The items of an integer or bool tensor in row-major order, where all are known: contents of a
 * small value, or a constant of up to FOLD_NUMEL elements. *out lies in the arena. */
bool ox_known_ints(Graph *g, Ox v, const int64_t **out, int64_t *n)
{
    if (!ox_ok(v))
        return false;
    if (items_as_ints(g, v, out, n))
        return true;
    if (v->kind != OX_CONST || !(dtype_is_int(v->k->dtype) || v->k->dtype == DT_BOOL) ||
        dtype_is_packed(v->k->dtype))
        return false;
    *n = const_numel(v->k);
    const void *data = *n <= FOLD_NUMEL ? const_data(g->cx, v->k) : NULL;
    if (!data)
        return false;
    int64_t *ints = new_array(g->cx, int64_t, *n ? *n : 1);
    if (!ints)
        return false;
    for (int64_t i = 0; i < *n; i++)
        ints[i] = int_at(v->k->dtype, data, i);
    *out = ints;
    return true;
}

/* The value of a 16-bit float. */
static double wide_float(uint16_t h, int mantissa, int exponent)
{
    int bias = (1 << (exponent - 1)) - 1;
    int e = h >> mantissa & ((1 << exponent) - 1);
    double m = h & ((1 << mantissa) - 1);
    double scale = 1;
    double sign = h >> 15 ? -1 : 1;
    if (e == (1 << exponent) - 1)
        return m != 0 ? __builtin_nan("") : sign * __builtin_inf();
    if (e)
        m += 1 << mantissa;
    int shift = (e ? e : 1) - bias - mantissa;
    for (; shift < 0; shift++)
        scale *= 0.5;
    for (; shift > 0; shift--)
        scale *= 2;
    return sign * m * scale;
}

/* The number in a constant of one element, of any rank; a complex or a string is none. */
bool ox_known_scalar(Graph *g, Ox v, double *out)
{
    const int64_t *ints;
    int64_t n;
    if (!ox_ok(v) || v->kind != OX_CONST || const_numel(v->k) != 1)
        return false;
    if (ox_known_ints(g, v, &ints, &n)) {
        *out = ox_dtype(v) == DT_UINT64 ? (double)(uint64_t)ints[0] : (double)ints[0];
        return true;
    }
    const void *p = dtype_is_float(v->k->dtype) ? const_data(g->cx, v->k) : NULL;
    if (!p)
        return false;
    switch (v->k->dtype) {
    case DT_FLOAT:    *out = *(const float *)p; return true;
    case DT_DOUBLE:   *out = *(const double *)p; return true;
    case DT_FLOAT16:  *out = wide_float(*(const uint16_t *)p, 10, 5); return true;
    case DT_BFLOAT16: *out = wide_float(*(const uint16_t *)p, 7, 8); return true;
    default:          return false;
    }
}
