/* attention.c - scaled dot product attention in its many spellings, and the fused encoder operators
 * that tracing in eval mode leaves (_native_multi_head_attention, _transformer_encoder_layer_fwd).
 *
 * All of them are attend(): softmax(q k^T * scale + mask) v, with zeros for a row that the mask
 * leaves nothing. For tensors of rank 4 that is ONNX's Attention from opset 23 on; else it is
 * written as its parts. */
#include "ops/nn/attention.h"
#include "ops/nn/nested.h"

#include <math.h>

/* The arguments of attention; q [.., L, E], k [.., S, E], v [.., S, Ev]. */
typedef struct Attention {
    Ox q, k, v;
    Ox mask;        /* NULL none; bools: true takes part; numbers: added to the scores */
    bool causal;    /* row i sees columns 0..i */
    bool safe;      /* a row that sees nothing gives zeros (torch 2's softmax), not NaN */
    Ox seeing;      /* [.., L, 1]: 0 for a row that sees nothing, else 1; NULL: all rows see */
    bool scaled;    /* by `scale`; else by 1/sqrt(E) */
    double scale;   /* of the scores */
    double dropout; /* of the weights */
} Attention;

static Ox transpose_last_two(Op *op, Ox x)
{
    if (!ox_ok(x))
        return POISON;
    int rank = ox_rank(x);
    int perm[MAX_RANK];
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    perm[rank - 2] = rank - 1;
    perm[rank - 1] = rank - 2;
    return permute_to(op, x, perm, rank);
}

/* bool [L, S]: column j <= row i */
static Ox causal_mask(Op *op, Dim rows, Dim columns)
{
    Ox all = expand_dims(op, ox_bool(op->g, true), (const Dim[]){ rows, columns }, 2);
    return ox_with(op, "Trilu", INPUTS(all), INT("upper", 0));
}

static Ox masked(Op *op, Ox scores, Ox mask)
{
    if (!ox_ok(mask) || !ox_ok(scores))
        return POISON;
    if (ox_dtype(mask) != DT_BOOL) {
        mask = ox_cast(op->g, mask, ox_dtype(scores));
        return ox(op, "Add", scores, mask);
    }
    Ox nothing = number_like(op, -INFINITY, scores);
    return ox(op, "Where", mask, scores, nothing);
}

/* The mask without the columns that a causal one leaves out. */
static Ox join_causal(Op *op, const Attention *a)
{
    Dim columns = ox_dim(a->k, ox_rank(a->k) - 2);
    Ox causal = causal_mask(op, ox_dim(a->q, ox_rank(a->q) - 2), columns);
    if (ox_dtype(a->mask) == DT_BOOL)
        return ox(op, "And", causal, a->mask);
    Ox nothing = number_like(op, -INFINITY, a->mask);
    return ox(op, "Where", causal, a->mask, nothing);
}

/* Bools as numbers that are added: 0 for true, -inf for false, in rows without any true 0 too. */
static void open_bools(Op *op, Attention *a, Ox shown)
{
    Ox taken = ox_cast(op->g, shown, ox_dtype(a->q));
    Ox count = ox(op, "ReduceSum", taken, ints(op, -1));
    a->seeing = ox(op, "Min", count, number_like(op, 1, a->q));
    Ox kept = ox(op, "Equal", taken, a->seeing);
    a->mask = ox(op, "Where", kept, number_like(op, 0, a->q), number_like(op, -INFINITY, a->q));
}

/* Numbers that are added, with 0 in rows of -inf throughout. */
static void open_numbers(Op *op, Attention *a, Ox mask)
{
    Ox hidden = ox(op, "Equal", mask, number_like(op, -INFINITY, a->q));
    Ox shown = ox(op, "Not", hidden);
    Ox taken = ox_cast(op->g, shown, ox_dtype(a->q));
    Ox count = ox(op, "ReduceSum", taken, ints(op, -1));
    Ox one = number_like(op, 1, a->q);
    a->seeing = ox(op, "Min", count, one);
    Ox kept = ox(op, "Equal", a->seeing, one);
    a->mask = ox(op, "Where", kept, mask, number_like(op, 0, a->q));
}

/* Makes a->mask numbers that are added to the scores, none of whose rows is -inf throughout, and
 * a->seeing what makes zeros of the rows that were. All of it depends on the mask alone, so that
 * layers share the nodes, and has no ReduceMax, of which ONNX Runtime's symbolic_shape_infer does
 * not know the shape. As in PyTorch a score that is not-a-number stays that, in any row.
 *
 *     true false    ->  0 -inf    seeing 1
 *     false false       0    0           0 */
static void open_rows(Op *op, Attention *a)
{
    if (!a->safe || !a->mask || !ox_ok(a->mask))
        return;
    Ox mask = a->causal ? join_causal(op, a) : a->mask;
    a->causal = false;
    if (ox_ok(mask) && ox_rank(mask) == 0)
        mask = unsqueeze_axis(op, mask, 0);
    bool bools = ox_ok(mask) && ox_dtype(mask) == DT_BOOL;
    bool open = mask_opens_rows(op, mask);
    if (!bools)
        mask = ox_cast(op->g, mask, ox_dtype(a->q));
    if (open && bools)
        a->mask = ox(op, "Where", mask, number_like(op, 0, a->q), number_like(op, -INFINITY, a->q));
    else if (open)
        a->mask = mask;
    else if (bools)
        open_bools(op, a, mask);
    else
        open_numbers(op, a, mask);
}

/* The factor of the scores. */
static Ox score_scale(Op *op, const Attention *a)
{
    int64_t e;
    Dim last = ox_dim(a->q, ox_rank(a->q) - 1);
    if (a->scaled)
        return number_like(op, a->scale, a->q);
    if (dim_known(last, &e))
        return number_like(op, 1 / sqrt((double)e), a->q);
    Ox size = ox_cast(op->g, ox_dim_value(op->g, last), ox_dtype(a->q));
    Ox root = ox(op, "Sqrt", size);
    return ox(op, "Reciprocal", root);
}

/* The scores after scale and mask, [.., L, S]. */
static Ox attention_scores(Op *op, const Attention *a)
{
    if (!ox_ok(a->q) || !ox_ok(a->k) || !ox_ok(a->v))
        return POISON;
    int rank = ox_rank(a->q);
    if (rank < 2 || ox_rank(a->k) < 2 || ox_rank(a->v) < 2)
        return op_fail(op, E_VALUE, "attention needs query, key and value of rank 2 or more");
    Ox factor = score_scale(op, a);
    Ox q = ox(op, "Mul", a->q, factor);
    Ox kt = transpose_last_two(op, a->k);
    Ox scores = ox(op, "MatMul", q, kt);
    if (a->causal) {
        Dim columns = ox_dim(a->k, ox_rank(a->k) - 2);
        scores = masked(op, scores, causal_mask(op, ox_dim(a->q, rank - 2), columns));
    }
    return a->mask ? masked(op, scores, a->mask) : scores;
}

/* The softmax of the scores, after dropout; zeros in rows that see nothing (open_rows). */
static Ox attention_weights(Op *op, const Attention *a, Ox scores)
{
    Ox weights = ox_with(op, "Softmax", INPUTS(scores), INT("axis", -1));
    if (a->dropout > 0) {
        const Value args[3] = { val_tensor(op->cx, weights), val_float(a->dropout),
                                val_bool(true) };
        weights = call_ox(op, "aten::dropout", args, 3);
    }
    return a->seeing ? ox(op, "Mul", weights, a->seeing) : weights;
}

/* Is the size a of a mask one that broadcasts into b? */
static bool fits_into(Op *op, Dim a, Dim b) { return dim_is(a, 1) || dim_eq(op->cx, a, b) == YES; }

/* ONNX's Attention broadcasts neither batches nor heads of q, k and v, where PyTorch does: k and v
 * are as many, and each of their heads serves as many of q's. */
static bool has_equal_heads(Op *op, const Attention *a)
{
    Dim times;
    for (int i = 0; i < 2; i++)
        if (dim_eq(op->cx, ox_dim(a->k, i), ox_dim(a->v, i)) != YES)
            return false;
    return dim_eq(op->cx, ox_dim(a->q, 0), ox_dim(a->k, 0)) == YES &&
        dim_divide(op->cx, ox_dim(a->q, 1), ox_dim(a->k, 1), &times);
}

/* A mask of whole rows and columns, whose batches and heads are q's or 1. */
static bool is_whole_mask(Op *op, const Attention *a)
{
    int rank = ox_rank(a->mask);
    if (rank < 2 || rank > 4 || dim_eq(op->cx, ox_dim(a->mask, rank - 2), ox_dim(a->q, 2)) != YES ||
        dim_eq(op->cx, ox_dim(a->mask, rank - 1), ox_dim(a->k, 2)) != YES)
        return false;
    for (int i = 0; i < rank - 2; i++)
        if (!fits_into(op, ox_dim(a->mask, i), ox_dim(a->q, 4 - rank + i)))
            return false;
    return true;
}

/* Can it be ONNX's Attention? That takes rank 4, without dropout; ONNX Runtime's takes no empty
 * tensor and only a scale above 0, and computes doubles in float32. */
static bool is_attention(Op *op, const Attention *a)
{
    if (op->g->target < 23 || a->dropout > 0 || ox_dtype(a->q) == DT_DOUBLE)
        return false;
    if (a->scaled && !(a->scale > 0))
        return false;
    if (ox_rank(a->q) != 4 || ox_rank(a->k) != 4 || ox_rank(a->v) != 4 ||
        !ox_never_empty(op->cx, a->q) || !ox_never_empty(op->cx, a->k))
        return false;
    return has_equal_heads(op, a) && (!a->mask || (!a->causal && is_whole_mask(op, a)));
}

static Ox attention_node(Op *op, const Attention *a)
{
    Ox mask = a->mask;
    if (mask && ox_dtype(mask) != DT_BOOL)
        mask = ox_cast(op->g, mask, ox_dtype(a->q));
    Attr causal = a->causal ? INT("is_causal", 1) : NO_ATTR;
    Attr scale = a->scaled ? FLOAT("scale", a->scale) : NO_ATTR;
    return ox_make(op->g, "Attention", INPUTS(a->q, a->k, a->v, mask), ATTRS(causal, scale));
}

/* PyTorch computes attention of half precision in float32. The scores need it most: an error of
 * 2^-11 in a score of 10 is 0.5 % of its weight. */
static Attention in_single(Op *op, const Attention *a)
{
    Attention wide = *a;
    if (ox_dtype(a->q) != DT_FLOAT16 && ox_dtype(a->q) != DT_BFLOAT16)
        return wide;
    wide.q = ox_cast(op->g, a->q, DT_FLOAT);
    wide.k = ox_cast(op->g, a->k, DT_FLOAT);
    wide.v = ox_cast(op->g, a->v, DT_FLOAT);
    return wide;
}

/* softmax(q k^T * scale + mask) v, in q's type. */
static Ox attend(Op *op, const Attention *a)
{
    Attention wide = in_single(op, a);
    Ox out;
    if (is_attention(op, a)) {
        out = attention_node(op, &wide);
    } else {
        open_rows(op, &wide);
        Ox scores = attention_scores(op, &wide);
        Ox weights = attention_weights(op, &wide, scores);
        out = ox(op, "MatMul", weights, wide.v);
    }
    return ox_cast(op->g, out, ox_dtype(a->q));
}

/* Grouped queries: each key head serves Hq / Hkv query heads next to each other.
 * x [B, Hkv, S, E] -> [B, Hq, S, E] */
static Ox repeat_heads(Op *op, Ox x, Dim heads)
{
    if (!ox_ok(x) || dim_eq(op->cx, ox_dim(x, 1), heads) == YES)
        return x;
    Dim times;
    if (!dim_divide(op->cx, heads, ox_dim(x, 1), &times))
        return op_refuse(op, "the number of query heads is no known multiple of the key heads");
    Dim wide[5] = { ox_dim(x, 0), ox_dim(x, 1), times, ox_dim(x, 2), ox_dim(x, 3) };
    Dim flat[4] = { ox_dim(x, 0), heads, ox_dim(x, 2), ox_dim(x, 3) };
    Ox apart = unsqueeze_axis(op, x, 2);
    Ox repeated = expand_dims(op, apart, wide, 5);
    return reshape_to(op, repeated, flat, 4);
}

/* One argument a statement: reading a tensor may make nodes, and their order must not depend on the
 * compiler. */
static void attention_tensors(Op *op, const char *mask, Attention *a)
{
    a->q = arg(op, "query");
    a->k = arg(op, "key");
    a->v = arg(op, "value");
    a->mask = has_param(op, mask) ? arg_opt(op, mask) : NULL;
}

/* Reads the parameters that the spellings of scaled_dot_product_attention share; `mask` names its
 * mask. False after an error or refusal. */
static bool sdpa_args(Op *op, const char *mask, Attention *a)
{
    *a = (Attention){ .causal = arg_bool(op, "is_causal"), .safe = true };
    attention_tensors(op, mask, a);
    a->dropout = arg_float(op, "dropout_p");
    a->scaled = arg_given(op, "scale");
    a->scale = a->scaled ? arg_float(op, "scale") : 0;
    return ox_ok(a->q) && ox_ok(a->k) && ox_ok(a->v) && (!a->mask || ox_ok(a->mask)) &&
        !ctx_failed(op->cx);
}

/* Repeats key and value heads until there are as many as query heads. ONNX's Attention does so by
 * itself. */
static void share_heads(Op *op, Attention *a)
{
    if (ox_rank(a->q) != 4 || ox_rank(a->k) != 4 || ox_rank(a->v) != 4)
        return;
    Dim heads = ox_dim(a->q, 1);
    a->k = repeat_heads(op, a->k, heads);
    a->v = repeat_heads(op, a->v, heads);
}

static Ox lower_scaled_dot_product_attention(Op *op)
{
    Attention a;
    if (!sdpa_args(op, "attn_mask", &a))
        return POISON;
    if (has_param(op, "enable_gqa") && arg_bool(op, "enable_gqa") && !is_attention(op, &a))
        share_heads(op, &a);
    return attend(op, &a);
}

/* The fused forms give the log of the softmax's denominator as their second result (dead unless it
 * is read). Further results are for gradients: None here, so that using one is an error.
 * row->datum: how many results there are. */
static Value lower_fused_attention(Op *op)
{
    Attention a;
    Value out[9];
    int n = (int)op->row->datum;
    if (!sdpa_args(op, has_param(op, "attn_bias") ? "attn_bias" : "attn_mask", &a))
        return val_poison();
    out[0] = val_tensor(op->cx, attend(op, &a));
    Attention wide = in_single(op, &a);
    Ox scores = attention_scores(op, &wide);
    Ox axes = ints(op, -1);
    Ox log_sums = ox_with(op, "ReduceLogSumExp", INPUTS(scores, axes), INT("keepdims", 0));
    out[1] = val_tensor(op->cx, log_sums);
    for (int i = 2; i < n; i++)
        out[i] = val_none();
    return val_tuple(op->cx, out, n);
}

/* Attention with the weights as second result. A mask of bools is added to the scores as 0 and 1:
 * PyTorch's callers of this operator have made a mask of numbers. */
static Value lower__scaled_dot_product_attention_math(Op *op)
{
    Attention a;
    if (!sdpa_args(op, "attn_mask", &a))
        return val_poison();
    if (arg_given(op, "dropout_mask"))
        return val_tensor(op->cx, op_refuse(op, "a dropout_mask: save the model in eval mode"));
    if (a.mask && ox_dtype(a.mask) == DT_BOOL)
        a.mask = ox_cast(op->g, a.mask, ox_dtype(a.q));
    if (arg_bool(op, "enable_gqa"))
        share_heads(op, &a);
    Attention wide = in_single(op, &a);
    open_rows(op, &wide);
    Ox weights = attention_weights(op, &wide, attention_scores(op, &wide));
    Ox out = ox(op, "MatMul", weights, wide.v);
    Ox at[2] = { ox_cast(op->g, out, ox_dtype(a.q)), ox_cast(op->g, weights, ox_dtype(a.q)) };
    return result_tuple(op, at, 2);
}

/* torch 1.13's private form: no scale, NaN for a row that sees nothing, the weights as second
 * result. */
static Value lower__scaled_dot_product_attention(Op *op)
{
    Attention a = { .causal = arg_bool(op, "is_causal"), .dropout = arg_float(op, "dropout_p") };
    attention_tensors(op, "attn_mask", &a);
    if (!ox_ok(a.q) || !ox_ok(a.k) || !ox_ok(a.v) || (a.mask && !ox_ok(a.mask)))
        return val_poison();
    Ox weights = attention_weights(op, &a, attention_scores(op, &a));
    Ox out = ox(op, "MatMul", weights, a.v);
    return result_tuple(op, (const Ox[]){ out, weights }, 2);
}

/* ---- the fused encoder operators ---- */

static Ox linear(Op *op, Ox x, Ox weight, Ox bias)
{
    Value args[3] = { val_tensor(op->cx, x), val_tensor(op->cx, weight), val_tensor(op->cx, bias) };
    return call_ox(op, "aten::linear", args, 3);
}

/* Rows from * embed to to * embed of a packed weight or bias. */
static Ox rows(Op *op, Ox x, int64_t embed, int64_t from, int64_t to)
{
    Dim each = dim_int(op->cx, embed);
    Dim start = dim_mul(op->cx, dim_int(op->cx, from), each);
    Dim end = dim_mul(op->cx, dim_int(op->cx, to), each);
    return start && end ? slice_axis(op, x, 0, start, end, 1) : POISON;
}

/* [B, T, D] -> [B, heads, T, D / heads] */
static Ox split_heads(Op *op, Ox x, int64_t heads, int64_t width)
{
    if (!ox_ok(x))
        return POISON;
    if (ox_rank(x) != 3)
        return op_fail(op, E_VALUE, "a batch of sequences has 3 dimensions, not %d", ox_rank(x));
    Ctx *cx = op->cx;
    Dim d[4] = { ox_dim(x, 0), ox_dim(x, 1), dim_int(cx, heads), dim_int(cx, width) };
    return permute_to(op, reshape_to(op, x, d, 4), (const int[]){ 0, 2, 1, 3 }, 4);
}

/* [B, heads, T, D / heads] -> [B, T, D] */
static Ox join_heads(Op *op, Ox x, int64_t embed)
{
    Ox moved = permute_to(op, x, (const int[]){ 0, 2, 1, 3 }, 4);
    if (!ox_ok(moved))
        return POISON;
    Dim d[3] = { ox_dim(moved, 0), ox_dim(moved, 1), dim_int(op->cx, embed) };
    return reshape_to(op, moved, d, 3);
}

/* Nested sequences take part as far as they go: [B, 1, 1, S]. */
static Ox nested_mask(Op *op, Ox src, Ox lengths)
{
    Ox rows = nested_rows(op, src, lengths);
    Ox axes = ints(op, 1, 2);
    return ox(op, "Unsqueeze", rows, axes);
}

/* The mask as attention_scores() takes it: true for the columns that take part, of a shape that
 * broadcasts to [B, heads, L, S]; NULL when there is none. These operators' masks are non-zero for
 * columns that are *left out*; their shape is [L, S] for mask_type 0, [B, S] for 1, else
 * [B, heads, L, S]. */
static Ox encoder_mask(Op *op)
{
    const Tensor *src = has_param(op, "src") ? arg_tensor(op, "src") : NULL;
    if (src && src->kind == NESTED)
        return nested_mask(op, arg(op, "src"), src->lengths);
    Ox mask = arg_opt(op, "mask");
    if (!mask || !ox_ok(mask))
        return mask;
    Ox out = ox_cast(op->g, mask, DT_BOOL);
    Ox taken = ox(op, "Not", out);
    if (ox_rank(mask) == 2 && arg_given(op, "mask_type") && arg_int(op, "mask_type") == 1) {
        Ox axes = ints(op, 1, 2);
        return ox(op, "Unsqueeze", taken, axes);
    }
    if (ox_rank(mask) != 2 && ox_rank(mask) != 4)
        return op_refuse(op, "a mask of rank %d", ox_rank(mask));
    return taken;
}

typedef struct SelfAttention {
    int64_t embed, heads;
    Ox qkv_weight, qkv_bias, proj_weight, proj_bias;
} SelfAttention;

/* Query, key and value of each head, [B, heads, T, D / heads], of the batch-first sequences in[].
 * Like PyTorch, one product for all three where they are one tensor. False after an error. */
static bool project_heads(Op *op, const SelfAttention *m, const Ox in[3], Ox heads[3])
{
    int64_t width = m->embed / m->heads;
    if (in[0] == in[1] && in[1] == in[2]) {
        Ox parts[3];
        Ox all = linear(op, in[0], m->qkv_weight, m->qkv_bias);
        if (!ox_ok(all) ||
            !ox_make_n(op->g, "Split", INPUTS(all),
                       ATTRS(INT("axis", ox_rank(all) - 1), INT("num_outputs", 3)), parts, 3))
            return false;
        for (int i = 0; i < 3; i++)
            heads[i] = split_heads(op, parts[i], m->heads, width);
        return true;
    }
    for (int i = 0; i < 3; i++) {
        Ox w = rows(op, m->qkv_weight, m->embed, i, i + 1);
        Ox b = rows(op, m->qkv_bias, m->embed, i, i + 1);
        heads[i] = split_heads(op, linear(op, in[i], w, b), m->heads, width);
    }
    return true;
}

/* Multi-head attention over batch-first sequences, query, key and value; *weights: those of each
 * head, [B, heads, L, S]. */
static Ox multi_head(Op *op, const SelfAttention *m, const Ox in[3], Ox *weights)
{
    Ox heads[3];
    *weights = POISON;
    if (!project_heads(op, m, in, heads))
        return POISON;
    Attention a = { .q = heads[0], .k = heads[1], .v = heads[2], .mask = encoder_mask(op) };
    if (a.mask && !ox_ok(a.mask))
        return POISON;
    *weights = attention_weights(op, &a, attention_scores(op, &a));
    Ox mixed = join_heads(op, ox(op, "MatMul", *weights, a.v), m->embed);
    return linear(op, mixed, m->proj_weight, m->proj_bias);
}

static bool self_attention_args(Op *op, const char *heads, SelfAttention *m)
{
    m->embed = arg_int(op, "embed_dim");
    m->heads = arg_int(op, heads);
    m->qkv_weight = arg(op, "qkv_weight");
    m->qkv_bias = arg(op, "qkv_bias");
    m->proj_weight = arg(op, "proj_weight");
    m->proj_bias = arg(op, "proj_bias");
    if (ctx_failed(op->cx))
        return false;
    if (m->embed <= 0 || m->heads <= 0 || m->embed % m->heads)
        return fail(op->cx, E_VALUE, "embed_dim %lld is no multiple of %lld heads",
                    (long long)m->embed, (long long)m->heads);
    return true;
}

/* False, and an error, where x is known to be no batch of sequences. */
static bool need_sequences(Op *op, Ox x, const char *name)
{
    int rank;
    if (!need_rank(op, x, 3, &rank))
        return false;
    return rank == 3 || fail(op->cx, E_VALUE, "expected 3-D `%s`, got %d-D tensor", name, rank);
}

/* The second result is None unless need_weights, as PyTorch has it. */
static Value lower__native_multi_head_attention(Op *op)
{
    SelfAttention m;
    Ox in[3];
    Ox weights;
    in[0] = arg(op, "query");
    in[1] = arg(op, "key");
    in[2] = arg(op, "value");
    if (!self_attention_args(op, "num_head", &m) || !need_sequences(op, in[0], "query") ||
        !need_sequences(op, in[1], "key") || !need_sequences(op, in[2], "value"))
        return val_poison();
    Ox out = multi_head(op, &m, in, &weights);
    if (!arg_bool(op, "need_weights"))
        return val_tuple(op->cx, (const Value[]){ val_tensor(op->cx, out), val_none() }, 2);
    if (arg_bool(op, "average_attn_weights")) {
        Ox axes = ints(op, 1);
        weights = ox_with(op, "ReduceMean", INPUTS(weights, axes), INT("keepdims", 0));
    }
    return result_tuple(op, (const Ox[]){ out, weights }, 2);
}

static Ox encoder_norm(Op *op, Ox x, const char *weight, const char *bias, double eps)
{
    Ox w = arg(op, weight);
    Ox b = arg(op, bias);
    return ox_with(op, "LayerNormalization", INPUTS(x, w, b), INT("axis", -1),
                   FLOAT("epsilon", eps));
}

static Ox activation(Op *op, Ox x, bool gelu) { return ox(op, gelu ? "Gelu" : "Relu", x); }

/* A whole encoder layer of x: attention and feed-forward, each with its residual, normalised before
 * or after. */
static Ox encoder_layer(Op *op, Ox x)
{
    SelfAttention m;
    if (!self_attention_args(op, "num_heads", &m) || !need_sequences(op, x, "query"))
        return POISON;
    bool norm_first = arg_bool(op, "norm_first");
    double eps = arg_float(op, "eps");
    Ox weights;

    Ox in = norm_first ? encoder_norm(op, x, "norm_weight_1", "norm_bias_1", eps) : x;
    Ox attended = multi_head(op, &m, (const Ox[]){ in, in, in }, &weights);
    x = ox(op, "Add", attended, x);
    if (!norm_first)
        x = encoder_norm(op, x, "norm_weight_1", "norm_bias_1", eps);

    in = norm_first ? encoder_norm(op, x, "norm_weight_2", "norm_bias_2", eps) : x;
    Ox w1 = arg(op, "ffn_weight_1");
    Ox b1 = arg(op, "ffn_bias_1");
    Ox w2 = arg(op, "ffn_weight_2");
    Ox b2 = arg(op, "ffn_bias_2");
    Ox wide = activation(op, linear(op, in, w1, b1), arg_bool(op, "use_gelu"));
    Ox narrow = linear(op, wide, w2, b2);
    x = ox(op, "Add", narrow, x);
    return norm_first ? x : encoder_norm(op, x, "norm_weight_2", "norm_bias_2", eps);
}

/* Of nested sequences nobody looks at the rows that are padding. */
static Value lower__transformer_encoder_layer_fwd(Op *op)
{
    const Tensor *src = arg_tensor(op, "src");
    bool nested = src && src->kind == NESTED;
    if (nested && arg_given(op, "mask")) {
        fail(op->cx, E_VALUE, "NestedTensor with mask is not supported yet");
        return val_poison();
    }
    Ox y = encoder_layer(op, arg(op, "src"));
    if (!ox_ok(y))
        return val_poison();
    return nested ? nested_of(op, y, src->lengths) : val_tensor(op->cx, y);
}

OP_ROWS(attention)
{
    LOWER(lower_scaled_dot_product_attention, "default(query, key, value)", PLAIN,
          "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? "
          "attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, bool "
          "enable_gqa=False) -> Tensor",
          .layout = LAYOUT_OWN_ORDER);
    CALL_FAMILY(lower_fused_attention, 2, NULL, PLAIN,
                "aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, "
                "Tensor value, float dropout_p=0., bool is_causal=False, *, Tensor? "
                "attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
                .layout = LAYOUT_OWN_ORDER);
    CALL_FAMILY(
        lower_fused_attention, 9, NULL, PLAIN,
        "aten::_scaled_dot_product_flash_attention(Tensor query, Tensor key, Tensor value, float "
        "dropout_p=0., bool is_causal=False, bool return_debug_mask=False, *, float? scale=None) "
        "-> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, "
        "SymInt max_k, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)",
        .layout = LAYOUT_OWN_ORDER);
    CALL_FAMILY(lower_fused_attention, 9, NULL, PLAIN,
                "aten::_scaled_dot_product_cudnn_attention(Tensor query, Tensor key, Tensor value, "
                "Tensor? attn_bias, bool compute_log_sumexp, float dropout_p=0., bool "
                "is_causal=False, bool return_debug_mask=False, *, float? scale=None) -> (Tensor "
                "output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, "
                "SymInt max_k, Tensor philox_seed, Tensor philox_offset, Tensor debug_attn_mask)",
                .layout = LAYOUT_OWN_ORDER);
    CALL_FAMILY(lower_fused_attention, 9, NULL, PLAIN,
                "aten::_scaled_dot_product_fused_attention_overrideable(Tensor query, Tensor key, "
                "Tensor value, Tensor? attn_bias=None, float dropout_p=0., bool is_causal=False, "
                "bool return_debug_mask=False, *, float? scale=None) -> (Tensor output, Tensor "
                "logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor "
                "philox_seed, Tensor philox_offset, Tensor debug_attn_mask)",
                .layout = LAYOUT_OWN_ORDER);
    CALL_FAMILY(lower_fused_attention, 4, NULL, PLAIN,
                "aten::_scaled_dot_product_efficient_attention(Tensor query, Tensor key, Tensor "
                "value, Tensor? attn_bias, bool compute_log_sumexp, float dropout_p=0., bool "
                "is_causal=False, *, float? scale=None) -> (Tensor output, Tensor log_sumexp, "
                "Tensor philox_seed, Tensor philox_offset)",
                .layout = LAYOUT_OWN_ORDER);
    CALL(lower__scaled_dot_product_attention_math, NULL, PLAIN,
         "aten::_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? "
         "attn_mask=None, float dropout_p=0., bool is_causal=False, Tensor? dropout_mask=None, *, "
         "float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)",
         .layout = LAYOUT_OWN_ORDER);
    CALL(lower__scaled_dot_product_attention, NULL, PLAIN,
         "aten::_scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? "
         "attn_mask=None, float dropout_p=0., bool need_attn_weights=False, bool is_causal=False) "
         "-> (Tensor, Tensor)",
         .layout = LAYOUT_OWN_ORDER);
    CALL(lower__native_multi_head_attention, NULL, PLAIN,
         "aten::_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int "
         "embed_dim, int num_head, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor "
         "proj_bias, Tensor? mask=None, bool need_weights=True, bool average_attn_weights=True, "
         "int? mask_type=None) -> (Tensor, Tensor)");
    CALL(lower__transformer_encoder_layer_fwd, NULL, PLAIN | NESTED,
         "aten::_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor "
         "qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool "
         "norm_first, float eps, Tensor norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2, "
         "Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor "
         "ffn_bias_2, Tensor? mask=None, int? mask_type=None) -> Tensor");
}
