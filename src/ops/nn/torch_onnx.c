/* torch_onnx.c - torch.onnx.ops: operators of ONNX that a PyTorch program calls by their name.
 *
 * torch.onnx.ops.attention(..) stands in a .pt2 as onnx::Attention.opset23, with ONNX's inputs and
 * attributes, and becomes that operator as it is. An attribute that has ONNX's default is left
 * out. */
#include "ops/internal.h"

enum { MOST_ATTRS = 8, ATTENTION_RESULTS = 4 };

typedef struct Attrs {
    Attr at[MOST_ATTRS];
    size_t n;
} Attrs;

/* The int or bool argument `name`, unless it is `usual`. */
static void add_int(Op *op, Attrs *a, const char *name, int64_t usual)
{
    Value v = arg_value(op, name);
    int64_t i = v.tag == V_BOOL ? v.b : arg_int(op, name);
    if (i != usual)
        a->at[a->n++] = INT(name, i);
}

static Ox lower_rotary_embedding(Op *op)
{
    Ox x = arg(op, "x");
    Ox cos = arg(op, "cos_cache");
    Ox sin = arg(op, "sin_cache");
    Ox positions = arg_opt(op, "position_ids");
    Attrs a = { .n = 0 };
    if (!need_opset(op, 23, "torch.onnx.ops.rotary_embedding"))
        return POISON;
    add_int(op, &a, "interleaved", 0);
    add_int(op, &a, "num_heads", 0);
    add_int(op, &a, "rotary_embedding_dim", 0);
    return ox_make(op->g, "RotaryEmbedding", INPUTS(x, cos, sin, positions), a.at, a.n);
}

/* PyTorch 2.13 runs three forms of its attention(..) otherwise than ONNX describes the operator. */
static bool means_the_same(Op *op, Ox mask, Ox past)
{
    bool causal = arg_bool(op, "is_causal");
    const char *differs = NULL;
    if (past && causal)
        differs = "PyTorch counts the positions of a causal mask without the past, ONNX with it";
    else if ((mask || causal) && arg_float(op, "softcap") != 0)
        differs = "PyTorch masks the scores before softcap, ONNX behind it";
    else if ((mask || causal) && arg_int(op, "qk_matmul_output_mode") == 1)
        differs = "PyTorch gives masked scores for qk_matmul_output_mode=1, ONNX those before the "
                  "mask";
    if (differs)
        op_refuse(op, "%s", differs);
    return !differs;
}

/* All four results: those that nobody reads go when the graph is tidied. */
static Value lower_attention(Op *op)
{
    Ox q = arg(op, "Q");
    Ox k = arg(op, "K");
    Ox v = arg(op, "V");
    Ox mask = arg_opt(op, "attn_mask");
    Ox past_k = arg_opt(op, "past_key");
    Ox past_v = arg_opt(op, "past_value");
    Ox out[ATTENTION_RESULTS];
    Attrs a = { .n = 0 };
    if (!need_opset(op, 23, "torch.onnx.ops.attention") || !means_the_same(op, mask, past_k))
        return val_poison();
    add_int(op, &a, "is_causal", 0);
    add_int(op, &a, "kv_num_heads", 0);
    add_int(op, &a, "q_num_heads", 0);
    add_int(op, &a, "qk_matmul_output_mode", 0);
    if (arg_given(op, "scale"))
        a.at[a.n++] = FLOAT("scale", arg_float(op, "scale"));
    if (arg_float(op, "softcap") != 0)
        a.at[a.n++] = FLOAT("softcap", arg_float(op, "softcap"));
    if (arg_given(op, "softmax_precision"))
        a.at[a.n++] = INT("softmax_precision", arg_int(op, "softmax_precision"));
    OxList in = INPUTS(q, k, v, mask, past_k, past_v);
    if (!ox_make_n(op->g, "Attention", in, a.at, a.n, out, ATTENTION_RESULTS))
        return val_poison();
    return result_tuple(op, out, ATTENTION_RESULTS);
}

OP_ROWS(torch_onnx)
{
    LOWER(lower_rotary_embedding, NULL, PLAIN,
          "onnx::RotaryEmbedding.opset23(Tensor x, Tensor cos_cache, Tensor sin_cache, Tensor? "
          "position_ids=None, *, bool interleaved=False, SymInt num_heads=0, SymInt "
          "rotary_embedding_dim=0) -> Tensor");
    CALL(lower_attention, NULL, PLAIN,
         "onnx::Attention.opset23(Tensor Q, Tensor K, Tensor V, Tensor? attn_mask=None, Tensor? "
         "past_key=None, Tensor? past_value=None, *, bool is_causal=False, SymInt "
         "kv_num_heads=0, SymInt q_num_heads=0, SymInt qk_matmul_output_mode=0, float? "
         "scale=None, float softcap=0., SymInt? softmax_precision=None) -> (Tensor, Tensor, "
         "Tensor, Tensor)");
}
