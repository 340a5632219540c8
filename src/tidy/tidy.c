/* tidy.c - the passes, in the order in which they run. Each is one plain sentence; drop.c, views.c,
 * combine.c, slices.c, fuse.c, attention_inputs.c, fused.c, fused_attention.c, weights.c,
 * weight_groups.c, dims.c, find.rules (find_rotary.c, find_attention.c, find_col2im.c), legalise.c
 * and modules.c draw what is matched and what replaces it. */
#include "tidy/internal.h"

const Pass tidy_passes[] = {
    { "drop-unused", pass_unused, "remove nodes whose values are not used" },
    { "complex-to-pairs", pass_complex, "make complex values float tensors with a last axis of 2" },
    { "part-modules", pass_borders, "keep apart the modules that become functions" },
    { "drop-identities", pass_identities,
      "remove nodes that return their input, x + 0, x * 1, what is empty from Concat, states of "
      "zeros from LSTM" },
    { "move-views", pass_views,
      "Reshape(Transpose(Reshape(x, r), p), s) -> Transpose(Reshape(x, r'), p') where s only "
      "splits axes" },
    { "join-transposes", pass_transposes,
      "Transpose(Transpose(x, p), q) -> Transpose(x, p*q); a Reshape where only axes of one "
      "element move" },
    { "unflatten-linears", pass_linears,
      "Reshape(Gemm(Reshape(x), w, b)) -> Add(MatMul(x, w), b), where x's axes but the last come "
      "back" },
    { "join-unsqueezes", pass_unsqueezes,
      "Unsqueeze(Unsqueeze(x, a), b) -> Unsqueeze(x, a+b); Squeeze alike" },
    { "join-reshapes", pass_reshapes,
      "Reshape(Reshape(x, a), b) -> Reshape(x, b); Squeeze, Unsqueeze and Flatten where the shape "
      "is constant" },
    { "join-slices", pass_slices, "Slice(Slice(x, ..), ..) -> Slice(x, ..) of different axes" },
    { "join-nots", pass_nots, "Where(Not(c), x, y) -> Where(c, y, x)" },
    { "find-operators", pass_find,
      "one operator where the program has written out its parts (find.rules)" },
    { "share-heads", pass_heads,
      "Attention(q, k, v) of keys and values whose heads were repeated -> of those heads" },
    { "join-caches", pass_caches,
      "Attention(q, Concat(past, k), ..) -> Attention(q, k, .., past), which gives the cache too" },
    { "read-sources", pass_sources,
      "Slice(Concat(.., y, ..)) -> y, or Slice(y); Slice(Split(x)) -> Slice(x)" },
    { "drop-expands", pass_expands,
      "Add(x, Expand(y)) -> Add(x, y) where x and y alone give that shape" },
    { "fuse-conv-bn", pass_conv_bn,
      "BatchNormalization(Conv(x, w, b), ..) -> Conv(x, w*f, (b - mean)*f + B)" },
    { "fuse-gemm", pass_gemm, "Add(MatMul(x, w), c) -> Gemm(x, w, c) for rank 2" },
    { "multiply-integers", pass_integers,
      "MatMul(DequantizeLinear(q, s, z), DequantizeLinear(w)) -> MatMulInteger(q, w, z), scaled, "
      "where the running model finds s, for ONNX Runtime" },
    { "dims-to-nodes", pass_dims, "compute dimensions where an operator needs the number" },
    { "fold-weights", pass_weights,
      "compute what depends on weights only when the file is written" },
    { "drop-masks", pass_masks,
      "remove masks that let everything pass: Softmax(x + 0), y * 1, Where(true, x, y)" },
    { "join-concats", pass_concats, "Concat(Concat(x, y), z) -> Concat(x, y, z)" },
    { "drop-dead", pass_dead, "remove nodes that the passes have left without a use" },
    { "fuse-scales", pass_scales,
      "Mul(Conv(x, w, b), s) -> Conv(x, w*s, b*s); a summand, a border of zeros, MatMul and Gemm "
      "too" },
    { "join-negs", pass_negs, "x + Neg(y) -> x - y, x - Neg(y) -> x + y, Neg(Neg(x)) -> x" },
    { "part-summands", pass_summands,
      "Gemm(DequantizeLinear(x), DequantizeLinear(w), b) -> Add(Gemm(x, w), b) unless it is "
      "quantised again, for ONNX Runtime" },
    { "unsign-activations", pass_unsigned, "QuantizeLinear to int8 -> to uint8, for ONNX Runtime" },
    { "fuse-coded-weights", pass_coded,
      "--fuse: MatMul(x, Transpose(DequantizeLinear(q, scale))) -> MatMulNBits(x, q, scale)" },
    { "quantise-weights", pass_quantise,
      "--weights-type int8, int4: MatMul(x, w) -> MatMul(x, DequantizeLinear(q, scale))" },
    { "narrow-floats", pass_half,
      "--weights-type float16, bfloat16: compute in that type but for sums and exponentials" },
    { "fuse-operators", pass_fused,
      "--fuse: LayerNormalization(Add(x, y)) -> SkipLayerNormalization(x, y), and others of "
      "com.microsoft" },
    { "legalise", legalise, "say it in the target opset" },
    { "view-weights", pass_weight_views, "read weights in the shape that legalising asks for" },
    { "move-casts", pass_casts,
      "MatMul(Cast(Transpose(x)), y) -> MatMul(Transpose(Cast(x)), y) where the batch moves, for "
      "ONNX Runtime" },
    { "drop-leftovers", pass_dead, "remove nodes that legalising has left without a use" },
    { "modules-to-functions", pass_functions,
      "the nodes of a call of a module -> a function, and a node that calls it" },
    { 0 },
};

bool tidy(Graph *g, const TidyOptions *o)
{
    for (const Pass *p = tidy_passes; p->name; p++) {
        tell_progress(g->cx, "tidying the graph",
                      (double)(p - tidy_passes) / (double)COUNT(tidy_passes));
        if (!p->run(g, o) || ctx_failed(g->cx))
            return ctx_failed(g->cx)
                ? false
                : fail(g->cx, E_BUG, "the pass %s failed without saying why", p->name);
        if (o->dump_after && o->dump && strcmp(o->dump_after, p->name) == 0)
            o->dump(o->dump_user, p->name, text_printable(g->cx, graph_text(g), SIZE_MAX - 1));
    }
    return true;
}
