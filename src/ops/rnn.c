/* rnn.c - recurrent layers: aten::lstm, gru, rnn_tanh, rnn_relu, over padded sequences.
 *
 * One ONNX operator per layer, both directions in it. PyTorch keeps the gates of a weight in another order than ONNX, so
 * weights are re-cut (Slice and Concat of constants, which tidy turns into recipes). Packed sequences, proj_size and
 * dropout between layers while training are refused. */
#include "ops/internal.h"

/* What differs between the cells: the ONNX operator, gates per weight, and PyTorch's gate that ONNX wants at each place. */
typedef struct CellSpec { const char *onnx; int gates; int order[4]; const char *activation; } CellSpec;

enum { CELL_LSTM, CELL_GRU, CELL_TANH, CELL_RELU };
static const CellSpec cells[] = {
    [CELL_LSTM] = { "LSTM", 4, { 0, 3, 1, 2 }, NULL },      /* torch i f g o; ONNX i o f c (g is ONNX's c) */
    [CELL_GRU]  = { "GRU", 3, { 1, 0, 2 }, NULL },          /* torch r z n;   ONNX z r h */
    [CELL_TANH] = { "RNN", 1, { 0 }, "Tanh" },
    [CELL_RELU] = { "RNN", 1, { 0 }, "Relu" },
};

static Ox cut(Op *op, Ox x, int64_t from, int64_t to)
{
    return slice_axis(op, x, 0, dim_int(op->cx, from), dim_int(op->cx, to), 1);
}

/* The gate blocks (rows of `hidden`) of a weight or bias, in ONNX's order. */
static Ox reorder_gates(Op *op, const CellSpec *cell, Ox w, int64_t hidden)
{
    if (cell->gates == 1)
        return w;
    Ox block[4];
    for (int i = 0; i < cell->gates; i++)
        block[i] = cut(op, w, cell->order[i] * hidden, (cell->order[i] + 1) * hidden);
    return concat_axis(op, block, (size_t)cell->gates, 0);
}

typedef struct Layer {
    const CellSpec *cell;
    int64_t hidden, directions;
    const Ox *param;                /* of this layer: per direction w_ih, w_hh and, with biases, b_ih, b_hh */
    int per_direction;
    Ox h0, c0;                      /* [directions, batch, hidden]; c0 NULL but for LSTM */
} Layer;

/* Both directions of parameter `which` (0 w_ih, 1 w_hh) stacked on a new axis 0. */
static Ox layer_weight(Op *op, const Layer *l, int which)
{
    Ox part[2];
    for (int d = 0; d < l->directions; d++) {
        Ox w = reorder_gates(op, l->cell, l->param[d * l->per_direction + which], l->hidden);
        part[d] = unsqueeze_axis(op, w, 0);
    }
    return concat_axis(op, part, (size_t)l->directions, 0);
}

/* [directions, 2 * gates * hidden]: input bias, then recurrent bias. NULL without biases. */
static Ox layer_bias(Op *op, const Layer *l)
{
    if (l->per_direction == 2)
        return NULL;
    Ox part[2];
    for (int d = 0; d < l->directions; d++) {
        const Ox *p = l->param + d * l->per_direction;
        Ox both[2];
        both[0] = reorder_gates(op, l->cell, p[2], l->hidden);
        both[1] = reorder_gates(op, l->cell, p[3], l->hidden);
        Ox joined = concat_axis(op, both, 2, 0);
        part[d] = unsqueeze_axis(op, joined, 0);
    }
    return concat_axis(op, part, (size_t)l->directions, 0);
}

/* One layer over x [time, batch, features]: out[0] [time, batch, directions * hidden], out[1] h, out[2] c. */
static void run_layer(Op *op, const Layer *l, Ox x, Ox out[3])
{
    Ox w = layer_weight(op, l, 0), r = layer_weight(op, l, 1), b = layer_bias(op, l);
    Str direction = str_of(op->cx, l->directions == 2 ? "bidirectional" : "forward");
    const Str act[2] = { l->cell->activation ? str_of(op->cx, l->cell->activation) : NULL,
                         l->cell->activation ? str_of(op->cx, l->cell->activation) : NULL };
    const Attr attr[] = {
        INT("hidden_size", l->hidden),
        STRING("direction", direction),
        l->cell == &cells[CELL_GRU] ? INT("linear_before_reset", 1) : NO_ATTR,
        l->cell->activation ? (Attr){ .name = "activations", .kind = ATTR_STRINGS, .n = (size_t)l->directions, .strs = act } : NO_ATTR,
    };
    bool lstm = l->cell == &cells[CELL_LSTM];
    OxList in = lstm ? INPUTS(x, w, r, b, NULL, l->h0, l->c0) : INPUTS(x, w, r, b, NULL, l->h0);
    Ox y[3] = { POISON, POISON, POISON };
    if (!ox_make_n(op->g, l->cell->onnx, in, attr, COUNT(attr), y, lstm ? 3 : 2)) {
        out[0] = out[1] = out[2] = POISON;
        return;
    }
    /* Y is [time, directions, batch, hidden]: bring the directions beside hidden */
    if (l->directions == 1) {
        Ox axes = ints(op, 1);
        out[0] = ox(op, "Squeeze", y[0], axes);
    } else {
        Ox moved = permute_to(op, y[0], (const int[]){ 0, 2, 1, 3 }, 4);
        Dim d[3] = { NULL, NULL, dim_int(op->cx, 2 * l->hidden) };
        if (ox_ok(moved))
            d[0] = ox_dim(moved, 0), d[1] = ox_dim(moved, 1);
        out[0] = reshape_to(op, moved, d, 3);
    }
    out[1] = y[1];
    out[2] = y[2];
}

/* All layers; shared by the three kinds. Returns the sequence and the final states, as PyTorch orders them. */
static Value lower_rnn(Op *op)
{
    const CellSpec *cell = &cells[op->row->datum];
    bool lstm = op->row->datum == CELL_LSTM;
    Ox x = arg(op, "input");
    Oxs params = arg_list(op, "params");
    bool biases = arg_bool(op, "has_biases"), bidirectional = arg_bool(op, "bidirectional"), batch_first = arg_bool(op, "batch_first");
    int64_t layers = arg_int(op, "num_layers");
    Ox h0 = POISON, c0 = NULL;
    if (lstm) {
        Oxs hx = arg_list(op, "hx");
        if (hx.n != 2)
            return val_tensor(op->cx, op_fail(op, E_VALUE, "lstm expects two hidden states"));
        h0 = hx.at[0], c0 = hx.at[1];
    } else {
        h0 = arg(op, "hx");
    }
    if (ctx_failed(op->cx) || !ox_ok(x) || !ox_ok(h0))
        return val_poison();
    if (arg_bool(op, "train") && layers > 1 && arg_float(op, "dropout") > 0)
        return val_tensor(op->cx, op_refuse(op, "dropout between the layers while training; save the model in eval mode"));
    int rank;
    if (!need_rank(op, x, 3, &rank))
        return val_poison();
    int64_t directions = bidirectional ? 2 : 1;
    int per_direction = biases ? 4 : 2;
    if (layers < 1 || params.n != (size_t)(layers * directions * per_direction))
        return val_tensor(op->cx, op_refuse(op, "%zu weights for %lld layers: proj_size is not supported", params.n, (long long)layers));
    int64_t hidden;
    if (!ox_ok(params.at[1]) || ox_rank(params.at[1]) != 2 || !dim_known(ox_dim(params.at[1], 1), &hidden))
        return val_tensor(op->cx, op_refuse(op, "the hidden size is not known"));

    bool batched = rank == 3;
    if (!batched) {                                 /* one sequence: [time, features], states [layers, hidden] */
        x = unsqueeze_axis(op, x, 1);
        h0 = unsqueeze_axis(op, h0, 1);
        c0 = c0 ? unsqueeze_axis(op, c0, 1) : NULL;
    } else if (batch_first) {
        x = permute_to(op, x, (const int[]){ 1, 0, 2 }, 3);
    }
    Oxs hs = { 0 }, cs = { 0 };
    for (int64_t i = 0; i < layers; i++) {
        Layer l = { cell, hidden, directions, params.at + i * directions * per_direction, per_direction, h0, c0 };
        if (layers > 1) {
            l.h0 = cut(op, h0, i * directions, (i + 1) * directions);
            l.c0 = c0 ? cut(op, c0, i * directions, (i + 1) * directions) : NULL;
        }
        Ox out[3];
        run_layer(op, &l, x, out);
        x = out[0];
        vec_push(op->cx, &hs, out[1]);
        vec_push(op->cx, &cs, out[2]);
    }
    Ox h = concat_axis(op, hs.at, hs.n, 0), c = lstm ? concat_axis(op, cs.at, cs.n, 0) : NULL;
    if (!batched) {
        Ox axes = ints(op, 1);
        x = ox(op, "Squeeze", x, axes);
        h = ox(op, "Squeeze", h, axes);
        c = c ? ox(op, "Squeeze", c, axes) : NULL;
    } else if (batch_first) {
        x = permute_to(op, x, (const int[]){ 1, 0, 2 }, 3);
    }
    return result_tuple(op, (const Ox[]){ x, h, c }, lstm ? 3 : 2);
}

#define PADDED_RNN "Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first"
#define PACKED_RNN "Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional"
#define PACKED_WHY "packed sequences are not supported yet: pass padded sequences"

const OpRow ops_rnn[] = {
    CALL_FAMILY(lower_rnn, CELL_LSTM, NULL, PLAIN, "aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)"),
    CALL_FAMILY(lower_rnn, CELL_GRU, NULL, PLAIN, "aten::gru.input(" PADDED_RNN ") -> (Tensor, Tensor)"),
    CALL_FAMILY(lower_rnn, CELL_TANH, NULL, PLAIN, "aten::rnn_tanh.input(" PADDED_RNN ") -> (Tensor, Tensor)"),
    CALL_FAMILY(lower_rnn, CELL_RELU, NULL, PLAIN, "aten::rnn_relu.input(" PADDED_RNN ") -> (Tensor, Tensor)"),
    REFUSE(PACKED_WHY, "aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)"),
    REFUSE(PACKED_WHY, "aten::_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, int total_length) -> (Tensor, Tensor)"),
    REFUSE(PACKED_WHY, "aten::lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor, Tensor)"),
    REFUSE(PACKED_WHY, "aten::gru.data(" PACKED_RNN ") -> (Tensor, Tensor)"),
    REFUSE(PACKED_WHY, "aten::rnn_tanh.data(" PACKED_RNN ") -> (Tensor, Tensor)"),
    REFUSE(PACKED_WHY, "aten::rnn_relu.data(" PACKED_RNN ") -> (Tensor, Tensor)"),
    OPS_END
};
