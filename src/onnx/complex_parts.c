/* complex_parts.c - values of a complex type, which exist while the graph is being built and not in
 * the file.
 *
 * Two nodes of a domain of our own lead from complex values to real ones and back: Pair(z), a real
 * tensor with a last axis of 2, and OfPair. Reading the parts of what was just put together finds
 * the parts; so a chain of complex operators meets no Pair at all. tidy/split_complex.c removes
 * both. */
#include "onnx/edit.h"

static bool is_ours(Ox v, const char *name)
{
    return v->kind == OX_NODE && !v->node->op && str_is(v->node->domain, COMPLEX_DOMAIN) &&
        str_is(v->node->name, name);
}

static bool known_rank(Graph *g, Ox v)
{
    if (ox_rank(v) < 0)
        fail(g->cx, E_UNDECIDED, "the rank of a complex tensor is not known");
    return ox_rank(v) >= 0;
}

static Ox convert(Graph *g, const char *name, Ox v, DType t, int rank, const Dim *dims)
{
    Ox out = POISON;
    Type type = type_tensor(g->cx, t, rank, dims);
    (void)ox_make_custom(g, str_of(g->cx, COMPLEX_DOMAIN), str_of(g->cx, name), INPUTS(v), NULL, 0,
                         &type, &out, 1);
    return out;
}

Ox ox_pair(Graph *g, Ox z)
{
    Dim dims[MAX_RANK];
    if (!ox_ok(z) || !known_rank(g, z))
        return POISON;
    if (z->kind == OX_CONST)
        return ox_const(g, const_as_pairs(g->cx, z->k));
    if (is_ours(z, "OfPair"))
        return z->node->in[0];
    int rank = ox_rank(z);
    for (int i = 0; i < rank; i++)
        dims[i] = ox_dim(z, i);
    dims[rank] = dim_int(g->cx, 2);
    return convert(g, "Pair", z, dtype_of_parts(ox_dtype(z)), rank + 1, dims);
}

Ox ox_of_pair(Graph *g, Ox pair)
{
    if (!ox_ok(pair) || !known_rank(g, pair))
        return POISON;
    if (is_ours(pair, "Pair"))
        return pair->node->in[0];
    DType t = ox_dtype(pair) == DT_DOUBLE ? DT_COMPLEX128 : DT_COMPLEX64;
    if (ox_dtype(pair) != DT_FLOAT && ox_dtype(pair) != DT_DOUBLE) {
        fail(g->cx, E_UNSUPPORTED, "complex numbers of %s parts", dtype_name(ox_dtype(pair)));
        return POISON;
    }
    return convert(g, "OfPair", pair, t, ox_rank(pair) - 1, pair->type->dim);
}

/* Part i of Concat(re, im) on the last axis, when the pair was put together so. */
static Ox joined_part(Graph *g, Ox pair, int i)
{
    if (pair->kind != OX_NODE || !node_is(pair->node, "Concat") || pair->node->n_in != 2 ||
        node_int(pair->node, "axis", 0) != ox_rank(pair) - 1)
        return NULL;
    Ox part = pair->node->in[i];
    const int64_t *axes;
    int64_t n;
    if (!dim_is(ox_dim(part, ox_rank(part) - 1), 1))
        return NULL;
    if (part->kind == OX_NODE && node_is(part->node, "Unsqueeze") &&
        ox_known_ints(g, part->node->in[1], &axes, &n) && n == 1 && axes[0] == ox_rank(part) - 1)
        return part->node->in[0];
    return ox_g(g, "Squeeze", part, ox_ints(g, (int64_t[]){ -1 }, 1));
}

Ox ox_part(Graph *g, Ox z, int part)
{
    Ox pair = ox_pair(g, z);
    Ox made = ox_ok(pair) ? joined_part(g, pair, part) : POISON;
    return made ? made : ox_g_with(g, "Gather", INPUTS(pair, ox_int(g, part)), INT("axis", -1));
}

Ox ox_complex(Graph *g, Ox re, Ox im)
{
    if (!ox_ok(re) || !ox_ok(im) || !known_rank(g, re))
        return POISON;
    Ox last = ox_ints(g, (int64_t[]){ ox_rank(re) }, 1);
    Ox a = ox_g(g, "Unsqueeze", re, last);
    Ox b = ox_g(g, "Unsqueeze", im, last);
    return ox_of_pair(g, ox_g_with(g, "Concat", INPUTS(a, b), INT("axis", ox_rank(re))));
}

Ox ox_complex_number(Graph *g, DType t, double re, double im)
{
    float f[2] = { (float)re, (float)im };
    double d[2] = { re, im };
    if (ctx_failed(g->cx))
        return POISON;
    const void *parts = t == DT_COMPLEX64 ? (const void *)f : d;
    return ox_const(g, const_make(g->cx, t, 0, NULL, parts));
}

/* A cast from or to a complex type. Of a real tensor the imaginary part is zeros; a bool says
 * whether either part is not 0. Any other real type is refused: a lowering that wants the real part
 * asks ox_part for it. */
Ox ox_cast_complex(Graph *g, Ox v, DType to)
{
    if (!ox_ok(v))
        return v;
    if (dtype_is_complex(ox_dtype(v)) && dtype_is_complex(to))
        return ox_of_pair(g, ox_cast(g, ox_pair(g, v), dtype_of_parts(to)));
    if (dtype_is_complex(to)) {
        Ox re = ox_cast(g, v, dtype_of_parts(to));
        Ox zero = ox_number(g, dtype_of_parts(to), 0);
        Ox shape = ox_shape(g, re);
        return ox_complex(g, re, ox_g(g, "Expand", zero, shape));
    }
    if (to != DT_BOOL) { /* a lowering that means the real part says so: ox_part */
        fail(g->cx, E_UNSUPPORTED, "a %s tensor where a real one is needed",
             dtype_name(ox_dtype(v)));
        return POISON;
    }
    Ox re = ox_cast(g, ox_part(g, v, 0), DT_BOOL);
    Ox im = ox_cast(g, ox_part(g, v, 1), DT_BOOL);
    return ox_g(g, "Or", re, im);
}
