/* rnn.c - recurrent layers and cells: lstm, gru, rnn_tanh, rnn_relu, over padded and over packed
 * sequences.
 *
 * One ONNX operator per layer, both directions in it. PyTorch keeps the gates of a weight in
 * another order than ONNX, so weights are re-ordered (a Gather of each, which tidy turns
 * into recipes). ONNX's LSTM has no projection: with proj_size, for doubles, and where quantised
 * products give each step a scale of its own, each direction is a Scan over the cell. Packed
 * sequences are in packed.c. Dropout between layers while training is refused. */
#include "ops/quantized/quantized.h"
#include "ops/nn/rnn.h"

/* What differs between the cells. */
typedef struct CellSpec {
    const char *onnx;       /* the operator */
    int gates;              /* of a weight */
    int order[4];           /* for each place of ONNX's order, the number of PyTorch's gate */
    const char *activation; /* of RNN */
} CellSpec;

/* LSTM: torch i f g o, ONNX i o f c (g is ONNX's c). GRU: torch r z n, ONNX z r h. */
enum { CELL_LSTM, CELL_GRU, CELL_TANH, CELL_RELU };
static const CellSpec cells[] = {
    [CELL_LSTM] = { "LSTM", 4, { 0, 3, 1, 2 }, NULL },
    [CELL_GRU] = { "GRU", 3, { 1, 0, 2 }, NULL },
    [CELL_TANH] = { "RNN", 1, { 0 }, "Tanh" },
    [CELL_RELU] = { "RNN", 1, { 0 }, "Relu" },
};

static Ox cut(Op *op, Ox x, int64_t from, int64_t to)
{
    return slice_axis(op, x, 0, dim_int(op->cx, from), dim_int(op->cx, to), 1);
}

/* The gate blocks (rows of `hidden`) of a weight or bias, in ONNX's order. One Gather, so that the
 * weight has one use and becomes an initializer in this order; of LSTM's order i o f c:
 *
 *     Gather(w, [0, .., h-1, 3h, .., 4h-1, h, .., 2h-1, 2h, .., 3h-1]) */
static Ox reorder_gates(Op *op, const CellSpec *cell, Ox w, int64_t hidden)
{
    if (cell->gates == 1 || !ox_ok(w))
        return w;
    int64_t n = cell->gates * hidden;
    if (ox_rank(w) < 1 || dim_eq(op->cx, ox_dim(w, 0), dim_int(op->cx, n)) == NO)
        return op_fail(op, E_VALUE, "a weight or bias has not the %lld rows of %d gates",
                       (long long)n, cell->gates);
    int64_t *rows = new_array(op->cx, int64_t, n ? n : 1);
    if (!rows)
        return POISON;
    for (int64_t i = 0; i < n; i++)
        rows[i] = cell->order[i / hidden] * hidden + i % hidden;
    return ox_with(op, "Gather", INPUTS(w, ox_ints(op->g, rows, (size_t)n)), INT("axis", 0));
}

/* The weights of a direction whose input, and state at each step, are rounded to integers. */
typedef struct RoundedCell {
    IntWeight ih, hh;
} RoundedCell;

typedef struct Layer {
    const CellSpec *cell;
    int64_t hidden, directions;
    const Ox *param; /* of this layer: per direction w_ih, w_hh and, with biases, b_ih, b_hh */
    int per_direction;
    bool biases, projected;     /* projected: a last parameter w_hr */
    const RoundedCell *rounded; /* by direction; NULL: nothing is rounded */
    const Packed *packed;       /* NULL: every sequence has all steps */
    Ox h0, c0;                  /* [directions, batch, hidden]; c0 NULL but for LSTM */
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
    if (!l->biases)
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

/* Y [time, directions, batch, hidden] -> [time, batch, directions * hidden] */
static Ox directions_beside(Op *op, Ox y, int64_t directions, int64_t hidden)
{
    if (directions == 1) {
        Ox axes = ints(op, 1);
        return ox(op, "Squeeze", y, axes);
    }
    Ox moved = permute_to(op, y, (const int[]){ 0, 2, 1, 3 }, 4);
    if (!ox_ok(moved))
        return POISON;
    Dim wide = dim_int(op->cx, directions * hidden);
    return reshape_to(op, moved, (const Dim[]){ ox_dim(moved, 0), ox_dim(moved, 1), wide }, 3);
}

/* One layer over x [time, batch, features] as ONNX's operator: -> out[0] [time, batch, directions *
 * hidden], out[1] h, out[2] c; POISON after an error. */
static void run_layer(Op *op, const Layer *l, Ox x, Ox out[3])
{
    Ox w = layer_weight(op, l, 0);
    Ox r = layer_weight(op, l, 1);
    Ox b = layer_bias(op, l);
    bool lstm = l->cell == &cells[CELL_LSTM];
    Str direction = str_of(op->cx, l->directions == 2 ? "bidirectional" : "forward");
    Str act[2]; /* of each direction */
    Attr attr[4] = { INT("hidden_size", l->hidden), STRING("direction", direction), NO_ATTR,
                     NO_ATTR };
    if (l->cell == &cells[CELL_GRU])
        attr[2] = INT("linear_before_reset", 1);
    if (l->cell->activation) {
        act[0] = str_of(op->cx, l->cell->activation);
        act[1] = act[0];
        attr[3] = (Attr){
            .name = "activations", .kind = ATTR_STRINGS, .n = (size_t)l->directions, .strs = act
        };
    }
    Ox lengths = l->packed ? packed_lengths(op, l->packed, DT_INT32) : NULL;
    OxList in = lstm ? INPUTS(x, w, r, b, lengths, l->h0, l->c0)
                     : INPUTS(x, w, r, b, lengths, l->h0);
    Ox y[3] = { POISON, POISON, POISON };
    bool made = ox_make_n(op->g, l->cell->onnx, in, attr, COUNT(attr), y, lstm ? 3 : 2);
    out[0] = made ? directions_beside(op, y[0], l->directions, l->hidden) : POISON;
    out[1] = made ? y[1] : POISON;
    out[2] = made ? y[2] : POISON;
}

/* ---- cells ---- */

static Ox linear(Op *op, Ox x, Ox weight, Ox bias)
{
    if (!ox_ok(x) || !ox_ok(weight))
        return POISON;
    const Value args[3] = { val_tensor(op->cx, x), val_tensor(op->cx, weight),
                            bias ? val_tensor(op->cx, bias) : val_none() };
    return call_ox(op, "aten::linear", args, 3);
}

typedef struct State {
    Ox h;
    Ox c; /* LSTM's; else NULL */
} State;

/* One step of a cell. of_input and of_state, here and below, are the products with the input and
 * with the state h, biases added; the gates lie behind each other, LSTM's as i f g o, GRU's as
 * r z n. */
static State lstm_step(Op *op, Ox of_input, Ox of_state, State s)
{
    Ox part[4];
    Ox gates = ox(op, "Add", of_input, of_state);
    if (!ox_make_n(op->g, "Split", INPUTS(gates), ATTRS(INT("axis", -1), INT("num_outputs", 4)),
                   part, 4))
        return (State){ POISON, POISON };
    Ox in = ox(op, "Sigmoid", part[0]);
    Ox forget = ox(op, "Sigmoid", part[1]);
    Ox fresh = ox(op, "Tanh", part[2]);
    Ox show = ox(op, "Sigmoid", part[3]);
    Ox kept = ox(op, "Mul", forget, s.c);
    Ox added = ox(op, "Mul", in, fresh);
    Ox c = ox(op, "Add", kept, added);
    Ox seen = ox(op, "Tanh", c);
    return (State){ ox(op, "Mul", show, seen), c };
}

/* h' = n + z (h - n),  n = tanh(i_n + r h_n) */
static State gru_step(Op *op, Ox of_input, Ox of_state, State s)
{
    Ox i[3], h[3];
    const Attr attrs[] = { INT("axis", -1), INT("num_outputs", 3) };
    if (!ox_make_n(op->g, "Split", INPUTS(of_input), attrs, 2, i, 3) ||
        !ox_make_n(op->g, "Split", INPUTS(of_state), attrs, 2, h, 3))
        return (State){ POISON, NULL };
    Ox reset = ox(op, "Sigmoid", ox(op, "Add", i[0], h[0]));
    Ox update = ox(op, "Sigmoid", ox(op, "Add", i[1], h[1]));
    Ox gated = ox(op, "Mul", reset, h[2]);
    Ox fresh = ox(op, "Tanh", ox(op, "Add", i[2], gated));
    Ox away = ox(op, "Sub", s.h, fresh);
    Ox part = ox(op, "Mul", away, update);
    return (State){ ox(op, "Add", part, fresh), NULL };
}

static State cell_step(Op *op, const CellSpec *cell, Ox of_input, Ox of_state, State s)
{
    if (cell->gates == 4)
        return lstm_step(op, of_input, of_state, s);
    if (cell->gates == 3)
        return gru_step(op, of_input, of_state, s);
    return (State){ ox(op, cell->activation, ox(op, "Add", of_input, of_state)), NULL };
}

/* Has a weight a row for each gate of each hidden unit? */
static bool gates_fit(Op *op, const char *name, Ox w, Ox h, int gates)
{
    Ctx *cx = op->cx;
    Dim rows = dim_mul(cx, dim_int(cx, gates), ox_dim(h, ox_rank(h) - 1));
    return !surely_differ(op, ox_dim(w, 0), rows) ||
        fail(cx, E_VALUE, "%s first dim must be %d * hidden_size = %s, but got %s", name, gates,
             dim_text(cx, rows)->s, dim_text(cx, ox_dim(w, 0))->s);
}

/* Do the input and the state of a cell fit together, and to the weights? False after PyTorch's
 * error. */
static bool cell_fits(Op *op, Ox x, Ox h, Ox w_ih, Ox w_hh)
{
    int gates = cells[op->row->datum].gates;
    Ctx *cx = op->cx;
    if (!ranks_known(op, (Ox[]){ x, h, w_ih, w_hh }, 4))
        return false;
    if (ox_rank(w_ih) != 2 || ox_rank(w_hh) != 2)
        return fail(cx, E_VALUE, "the weights of a cell are matrices, got %s and %s",
                    shape_text(op, w_ih)->s, shape_text(op, w_hh)->s);
    if (ox_rank(x) < 1 || ox_rank(h) != ox_rank(x))
        return fail(cx, E_VALUE, "Expected hidden to be %dD, got %dD instead", ox_rank(x),
                    ox_rank(h));
    int last = ox_rank(x) - 1;
    if (surely_differ(op, ox_dim(x, last), ox_dim(w_ih, 1)))
        return fail(cx, E_VALUE, "input has inconsistent input_size: got %s expected %s",
                    dim_text(cx, ox_dim(x, last))->s, dim_text(cx, ox_dim(w_ih, 1))->s);
    if (surely_differ(op, ox_dim(h, last), ox_dim(w_hh, 1)))
        return fail(cx, E_VALUE, "hidden0 has inconsistent hidden_size: got %s, expected %s",
                    dim_text(cx, ox_dim(h, last))->s, dim_text(cx, ox_dim(w_hh, 1))->s);
    if (!gates_fit(op, "weight_ih", w_ih, h, gates) || !gates_fit(op, "weight_hh", w_hh, h, gates))
        return false;
    return last == 0 || !surely_differ(op, ox_dim(x, 0), ox_dim(h, 0)) ||
        fail(cx, E_VALUE, "Input batch size %s doesn't match hidden0 batch size %s",
             dim_text(cx, ox_dim(x, 0))->s, dim_text(cx, ox_dim(h, 0))->s);
}

static State cell_call(Op *op, State s)
{
    Ox x = arg(op, "input");
    Ox w_ih = arg(op, "w_ih");
    Ox w_hh = arg(op, "w_hh");
    Ox b_ih = arg_opt(op, "b_ih");
    Ox b_hh = arg_opt(op, "b_hh");
    if (!cell_fits(op, x, s.h, w_ih, w_hh))
        return (State){ POISON, POISON };
    Ox of_input = linear(op, x, w_ih, b_ih);
    Ox of_state = linear(op, s.h, w_hh, b_hh);
    return cell_step(op, &cells[op->row->datum], of_input, of_state, s);
}

static Value lower_lstm_cell(Op *op)
{
    Oxs hx = arg_list(op, "hx");
    if (hx.n != 2)
        return val_tensor(op->cx, op_fail(op, E_VALUE, "lstm_cell expects two hidden states"));
    State s = cell_call(op, (State){ hx.at[0], hx.at[1] });
    return result_tuple(op, (const Ox[]){ s.h, s.c }, 2);
}

static Ox lower_cell(Op *op) { return cell_call(op, (State){ arg(op, "hx"), NULL }).h; }

/* ---- a layer as a Scan over the cell: LSTM with a projection, h = w_hr (o tanh(c)); doubles;
 * products that are rounded at each step ---- */

typedef struct ScanCell {
    const CellSpec *cell;
    Ox w_hh, b_hh, w_hr;        /* right sides of products; b_hh and w_hr may be NULL */
    const RoundedCell *rounded; /* or NULL */
} ScanCell;

/* x W + b of rounded x. Where `on` is false, x is of no sequence, and must not widen the scale by
 * which it is rounded. */
static Ox rounded_product(Op *op, Ox x, Ox on, const IntWeight *w)
{
    if (on && ox_ok(x))
        x = ox(op, "Where", on, x, number_like(op, 0, x));
    return int_product(op, x, w);
}

static Ox product_with_state(Op *op, const ScanCell *w, Ox h, Ox on)
{
    if (w->rounded)
        return rounded_product(op, h, on, &w->rounded->hh);
    Ox y = ox(op, "MatMul", h, w->w_hh);
    return w->b_hh ? ox(op, "Add", y, w->b_hh) : y;
}

/* The Scan's body; NULL after an error. Its inputs are h [batch, ..], LSTM's c, the products with
 * the input [batch, gates] and, for packed sequences, whether each is still going on, bool
 * [batch, 1]: one that has ended keeps its state and gives zeros. Its results are h, c and the
 * step's result. */
static Graph *scan_cell_body(Op *op, const ScanCell *w, State start, Ox of_input, Ox going)
{
    Op body = *op;
    State was = { NULL, NULL };
    Ox on = NULL;
    body.g = graph_new(op->cx, op->g, str_of(op->cx, "step"));
    was.h = graph_input(body.g, NULL, start.h->type);
    if (start.c)
        was.c = graph_input(body.g, NULL, start.c->type);
    Type step = type_tensor(op->cx, ox_dtype(of_input), 2, of_input->type->dim + 1);
    Ox x = graph_input(body.g, NULL, step);
    if (going)
        on = graph_input(body.g, NULL, type_tensor(op->cx, DT_BOOL, 2, going->type->dim + 1));
    Ox of_state = product_with_state(&body, w, was.h, on);
    State is = cell_step(&body, w->cell, x, of_state, was);
    if (w->w_hr)
        is.h = ox(&body, "MatMul", is.h, w->w_hr);
    Ox shown = is.h;
    if (on) {
        Ox zero = number_like(&body, 0, is.h);
        shown = ox(&body, "Where", on, is.h, zero);
        is.h = ox(&body, "Where", on, is.h, was.h);
        is.c = is.c ? ox(&body, "Where", on, is.c, was.c) : NULL;
    }
    graph_output(body.g, is.h, NULL);
    if (is.c)
        graph_output(body.g, is.c, NULL);
    graph_output(body.g, ox(&body, "Identity", shown), NULL);
    return ctx_failed(op->cx) ? NULL : body.g;
}

static Ox state_of(Op *op, Ox all, int d)
{
    Ox row = ox_int(op->g, d);
    return all ? ox_with(op, "Gather", INPUTS(all, row), INT("axis", 0)) : NULL;
}

/* The parameters of direction d that a step uses. */
static ScanCell scan_cell(Op *op, const Layer *l, int d)
{
    const Ox *p = l->param + d * l->per_direction;
    const int turn[2] = { 1, 0 };
    ScanCell w = { .cell = l->cell, .w_hh = permute_to(op, p[1], turn, 2) };
    if (l->biases)
        w.b_hh = p[3];
    if (l->rounded)
        w.rounded = l->rounded + d;
    if (l->projected)
        w.w_hr = permute_to(op, p[l->per_direction - 1], turn, 2);
    return w;
}

/* The Scan of direction d, of which the second goes backwards: its states after all steps, then the
 * results of all steps, into made[]. False after an error. */
static bool scan_steps(Op *op, int d, Graph *body, State start, Ox of_input, Ox going, Ox made[3])
{
    const int64_t ways[2] = { d, d };
    const Ox all[] = { start.h, start.c, of_input, going };
    Ox in[COUNT(all)];
    size_t n = 0;
    size_t scanned = going ? 2 : 1;
    size_t states = start.c ? 2 : 1;
    for (size_t i = 0; i < COUNT(all); i++)
        if (all[i])
            in[n++] = all[i];
    return ox_make_n(op->g, "Scan", (OxList){ in, n },
                     ATTRS(SUBGRAPH("body", body), INT("num_scan_inputs", (int64_t)scanned),
                           INT_LIST("scan_input_directions", ways, scanned),
                           INT_LIST("scan_output_directions", ways, 1)),
                     made, states + 1);
}

/* Direction d over x [time, batch, in]: -> out[0] [time, batch, ..], out[1] h, out[2] c (NULL but
 * for LSTM). False after an error. */
static bool run_direction(Op *op, const Layer *l, int d, Ox x, Ox out[3])
{
    const Ox *p = l->param + d * l->per_direction;
    Ox made[3];
    ScanCell w = scan_cell(op, l, d);
    Ox going = l->packed ? unsqueeze_axis(op, l->packed->mask, 2) : NULL;
    Ox of_input = w.rounded ? rounded_product(op, x, going, &w.rounded->ih)
                            : linear(op, x, p[0], l->biases ? p[2] : NULL);
    State start = { .h = state_of(op, l->h0, d) };
    start.c = state_of(op, l->c0, d);
    if (!ox_ok(of_input) || !ox_ok(start.h) || (start.c && !ox_ok(start.c)))
        return false;
    Graph *body = scan_cell_body(op, &w, start, of_input, going);
    if (!body || !scan_steps(op, d, body, start, of_input, going, made))
        return false;
    out[0] = made[start.c ? 2 : 1];
    out[1] = unsqueeze_axis(op, made[0], 0);
    out[2] = start.c ? unsqueeze_axis(op, made[1], 0) : NULL;
    return true;
}

/* run_layer() by a Scan for each direction. */
static void run_scanned_layer(Op *op, const Layer *l, Ox x, Ox out[3])
{
    Ox of[3][2];
    for (int d = 0; d < l->directions; d++) {
        Ox one[3];
        bool ran = run_direction(op, l, d, x, one);
        for (int i = 0; i < 3; i++)
            of[i][d] = ran ? one[i] : POISON;
    }
    size_t n = (size_t)l->directions;
    out[0] = concat_axis(op, of[0], n, 2);
    out[1] = concat_axis(op, of[1], n, 0);
    out[2] = of[2][0] ? concat_axis(op, of[2], n, 0) : NULL;
}

/* ---- layers ---- */

typedef struct Rnn {
    const CellSpec *cell;
    bool lstm, biases, bidirectional;
    int64_t layers, hidden;
    Oxs params;
    RoundedCell *rounded; /* by layer and direction; NULL: nothing is rounded while running */
    Ox h0, c0;            /* [layers * directions, batch, hidden] */
    const Packed *packed;
} Rnn;

static bool rnn_states(Op *op, Rnn *r)
{
    if (!r->lstm) {
        r->h0 = arg(op, "hx");
        return ox_ok(r->h0);
    }
    Oxs hx = arg_list(op, "hx");
    if (hx.n != 2)
        return fail(op->cx, E_VALUE, "lstm expects two hidden states");
    r->h0 = hx.at[0];
    r->c0 = hx.at[1];
    return ox_ok(r->h0) && ox_ok(r->c0);
}

/* How many parameters a direction of a layer has: 4 or 2, one more with a projection; 0 when the
 * list does not fit. */
static int params_each(const Rnn *r)
{
    int64_t each = r->biases ? 4 : 2;
    if (r->layers < 1 || r->layers > 1 << 20)
        return 0;
    int64_t sets = r->layers * (r->bidirectional ? 2 : 1);
    for (int64_t more = 0; more <= (r->lstm ? 1 : 0); more++)
        if (r->params.n == (size_t)(sets * (each + more)))
            return (int)(each + more);
    return 0;
}

/* Appends the parameters of one direction from the state of a C++ object: (kind, tensors, doubles,
 * ints, [packed w_ih, packed w_hh]). A bias lies with its weight; the first one decides whether
 * there are biases, whatever has_biases says. -> whether each step is rounded, and the weights of
 * its products then. False after an error or refusal. */
static bool quantized_set(Op *op, Value state, Rnn *r, bool *dynamic, RoundedCell *rounded)
{
    Value kind = packed_item(state, 0);
    Value packed = packed_item(state, 4);
    Value flag = packed_item(packed_item(state, 3), 0);
    *dynamic = kind.tag == V_STR && str_is(kind.s, "quantized_dynamic");
    bool reduced = flag.tag == V_INT && flag.i != 0;
    Value state_of[] = { packed_value_state(packed_item(packed, 0)),
                         packed_value_state(packed_item(packed, 1)) };
    bool known = *dynamic ? int_weight(op, state_of[0], reduced, &rounded->ih) &&
            int_weight(op, state_of[1], reduced, &rounded->hh)
                          : kind.tag == V_STR && str_is(kind.s, "quantized_fp16");
    if (!known) {
        op_refuse(op, "parameters of a recurrent layer in a form that is not known");
        return false;
    }
    if (r->params.n == 0)
        r->biases = packed_item(state_of[0], 1).tag == V_TENSOR;
    for (int i = 0; i < 2; i++) {
        vec_push(op->cx, &r->params, float_weight(op, packed_item(state_of[i], 0)));
        if ((packed_item(state_of[i], 1).tag == V_TENSOR) != r->biases) {
            op_refuse(op, "a recurrent layer of which only some weights have a bias");
            return false;
        }
    }
    if (!r->biases)
        return true;
    for (int i = 0; i < 2; i++)
        vec_push(op->cx, &r->params, tensor_read(op->g, packed_item(state_of[i], 1).t));
    return true;
}

/* The parameters of quantised layers, a list of C++ objects. False after an error or refusal. */
static bool quantized_params(Op *op, Rnn *r)
{
    Value list = arg_value(op, "params");
    int64_t n = 0;
    int64_t rounded = 0;
    if (r->lstm && !r->biases)
        return fail(op->cx, E_VALUE, "quantized LSTM requires biases");
    while (packed_item(list, n).tag != V_NONE)
        n++;
    RoundedCell *cells_of = new_array(op->cx, RoundedCell, n + 1);
    if (!cells_of)
        return false;
    for (int64_t i = 0; i < n; i++) {
        bool dynamic;
        Value state = packed_value_state(packed_item(list, i));
        if (!quantized_set(op, state, r, &dynamic, &cells_of[i]))
            return false;
        rounded += dynamic;
    }
    if (rounded != 0 && rounded != n) {
        op_refuse(op, "layers of which only some are rounded while running");
        return false;
    }
    r->rounded = rounded ? cells_of : NULL;
    return !ctx_failed(op->cx);
}

/* The parameters of a layer; row->text: they are quantised. False after an error or refusal. */
static bool rnn_params(Op *op, Rnn *r)
{
    if (op->row->text)
        return quantized_params(op, r);
    r->params = arg_list(op, "params");
    return true;
}

/* Have the weights and biases of all layers their ranks, and a row for each gate of each hidden
 * unit, as the first has? A projection has other rows. False after an error. */
static bool params_fit(Op *op, const Rnn *r)
{
    int each = params_each(r);
    Dim rows = ox_dim(r->params.at[0], 0);
    for (size_t i = 0; i < r->params.n; i++) {
        Ox p = r->params.at[i];
        int place = (int)(i % (size_t)each);
        bool bias = r->biases && (place == 2 || place == 3);
        bool projection = each % 2 && place == each - 1;
        const char *form = bias ? "a vector" : "a matrix";
        if (ox_rank(p) != 2 - bias)
            return fail(op->cx, E_VALUE,
                        "parameter %zu of a recurrent layer must be %s, but has the shape %s", i,
                        form, shape_text(op, p)->s);
        if (!projection && surely_differ(op, ox_dim(p, 0), rows))
            return fail(op->cx, E_VALUE,
                        "parameter %zu of a recurrent layer must have %s rows, but has the shape "
                        "%s",
                        i, dim_text(op->cx, rows)->s, shape_text(op, p)->s);
    }
    return true;
}

/* Reads and checks the arguments of any layer. False after an error or refusal. */
static bool rnn_args(Op *op, Rnn *r)
{
    *r = (Rnn){ .cell = &cells[op->row->datum],
                .lstm = op->row->datum == CELL_LSTM,
                .biases = arg_bool(op, "has_biases"),
                .bidirectional = arg_bool(op, "bidirectional"),
                .layers = arg_int(op, "num_layers") };
    if (ctx_failed(op->cx) || !rnn_states(op, r) || !rnn_params(op, r))
        return false;
    if (arg_bool(op, "train") && r->layers > 1 && arg_float(op, "dropout") > 0) {
        op_refuse(op, "dropout between the layers while training; save the model in eval mode");
        return false;
    }
    for (size_t i = 0; i < r->params.n; i++)
        if (!ox_ok(r->params.at[i]))
            return false;
    if (!params_each(r))
        return fail(op->cx, E_VALUE, "%zu weights do not make %lld layers", r->params.n,
                    (long long)r->layers);
    Ox w_ih = r->params.at[0]; /* [gates * hidden, in] */
    int64_t wide;
    if (ox_rank(w_ih) != 2 || !dim_known(ox_dim(w_ih, 0), &wide)) {
        op_refuse(op, "the hidden size is not known");
        return false;
    }
    r->hidden = wide / r->cell->gates;
    return params_fit(op, r);
}

static bool same_batch(Op *op, Ox x, Ox state, int64_t layers)
{
    int rank;
    if (!need_rank(op, state, 3, &rank))
        return false;
    if (rank != 3)
        return fail(op->cx, E_VALUE,
                    "the states of a recurrent layer are [layers, batch, features], got rank %d",
                    rank);
    if (surely_differ(op, ox_dim(state, 0), dim_int(op->cx, layers)))
        return fail(op->cx, E_VALUE, "Expected hidden[0] size %lld layers, got %s",
                    (long long)layers, shape_text(op, state)->s);
    return dim_require(op->cx, ox_dim(state, 1), ox_dim(x, 1),
                       "the batch of the states is not the input's");
}

/* Layer number i, with its part of the parameters and states. */
static Layer nth_layer(Op *op, const Rnn *r, int64_t i)
{
    int64_t directions = r->bidirectional ? 2 : 1;
    int each = params_each(r);
    Layer l = { .cell = r->cell,
                .hidden = r->hidden,
                .directions = directions,
                .param = r->params.at + i * directions * each,
                .per_direction = each,
                .biases = r->biases,
                .projected = each % 2,
                .rounded = r->rounded ? r->rounded + i * directions : NULL,
                .packed = r->packed,
                .h0 = r->h0,
                .c0 = r->c0 };
    if (r->layers > 1) {
        l.h0 = cut(op, r->h0, i * directions, (i + 1) * directions);
        l.c0 = r->c0 ? cut(op, r->c0, i * directions, (i + 1) * directions) : NULL;
    }
    return l;
}

/* Must the layer be a Scan? ONNX Runtime has kernels for doubles in name only. */
static bool is_scanned(const Layer *l)
{
    return l->projected || l->rounded || ox_dtype(l->param[0]) == DT_DOUBLE;
}

/* All layers over x [time, batch, in]: -> out[0] [time, batch, ..], out[1] h, out[2] c (NULL but
 * for LSTM), as PyTorch orders them; POISON after an error. */
static void run_layers(Op *op, const Rnn *r, Ox x, Ox out[3])
{
    Oxs hs = { 0 };
    Oxs cs = { 0 };
    for (int i = 0; i < 3; i++)
        out[i] = POISON;
    int64_t layers = r->layers * (r->bidirectional ? 2 : 1);
    if (!ox_ok(x) || !same_batch(op, x, r->h0, layers) ||
        (r->c0 && !same_batch(op, x, r->c0, layers)))
        return;
    for (int64_t i = 0; i < r->layers; i++) {
        Ox made[3];
        Layer l = nth_layer(op, r, i);
        if (is_scanned(&l))
            run_scanned_layer(op, &l, x, made);
        else
            run_layer(op, &l, x, made);
        x = made[0];
        vec_push(op->cx, &hs, made[1]);
        vec_push(op->cx, &cs, made[2]);
    }
    out[0] = x;
    out[1] = concat_axis(op, hs.at, hs.n, 0);
    out[2] = r->lstm ? concat_axis(op, cs.at, cs.n, 0) : NULL;
}

/* ---- a batch of 0 ---- */

/* ONNX Runtime 1.31 ends the process when an LSTM or a GRU has a batch of 0. Where the batch n may
 * be 0 the layers run on max(n, 1) sequences, of which the added one is zeros. */
static bool may_end_process(Op *op, const Rnn *r, Ox x)
{
    int64_t lo, hi;
    Layer first = nth_layer(op, r, 0);
    if (!op->g->ort || !ox_ok(x) || is_scanned(&first) || r->cell->gates == 1)
        return false;
    dim_range(op->cx, ox_dim(x, 1), &lo, &hi);
    return lo <= 0;
}

/* x [.., n, ..], whose axis 1 is the batch, with max(n, 1) sequences. */
static Ox at_least_one(Op *op, Ox x)
{
    enum { BATCH = 1, RANK = 3, OPSET_OF_PAD = 11 };
    Ctx *cx = op->cx;
    Dim zero = dim_int(cx, 0);
    if (!ox_ok(x))
        return POISON;
    Dim n = ox_dim(x, BATCH);
    Dim more = dim_sub(cx, dim_max(cx, n, dim_int(cx, 1)), n);
    if (op->g->target < OPSET_OF_PAD) {
        Ox shape = ox_dims(op->g, (Dim[]){ ox_dim(x, 0), more, ox_dim(x, 2) }, RANK);
        Ox part[2] = { x, ox(op, "Expand", number_like(op, 0, x), shape) };
        return concat_axis(op, part, COUNT(part), BATCH);
    }
    Ox amounts = ox_dims(op->g, (Dim[]){ zero, zero, zero, zero, more, zero }, 2 * RANK);
    return ox(op, "Pad", x, amounts);
}

/* run_layers() over padded sequences, which any batch may be of. */
static void run_any_batch(Op *op, Rnn *r, Ox x, Ox out[3])
{
    if (!may_end_process(op, r, x)) {
        run_layers(op, r, x, out);
        return;
    }
    Dim n = ox_dim(x, 1);
    Dim none = dim_int(op->cx, 0);
    r->h0 = at_least_one(op, r->h0);
    r->c0 = r->c0 ? at_least_one(op, r->c0) : NULL;
    run_layers(op, r, at_least_one(op, x), out);
    for (int i = 0; i < (r->lstm ? 3 : 2); i++)
        out[i] = slice_axis(op, out[i], 1, none, n, 1);
}

/* Up to 2.12, torch records LSTM's h and c in a .pt2 as [layers, 1, batch, hidden]. */
static void note_lstm_record(Op *op)
{
    if (op->n_expect == 3 && op->expect[1] && op->expect[1]->rank == 4)
        op->record_errs = RESULT(1) | RESULT(2);
}

/* lstm, gru, rnn_tanh, rnn_relu over padded sequences: -> (output, h) and LSTM's c. row->datum: the
 * cell */
static Value lower_rnn(Op *op)
{
    static const int batch_and_time[] = { 1, 0, 2 };
    Rnn r;
    Ox x = arg(op, "input");
    Ox out[3];
    int rank;
    if (!rnn_args(op, &r) || !need_rank(op, x, 3, &rank))
        return val_poison();
    if (rank != 3) {
        fail(op->cx, E_VALUE,
             "the input of a recurrent layer is [time, batch, features], got rank %d", rank);
        return val_poison();
    }
    bool batch_first = arg_bool(op, "batch_first");
    run_any_batch(op, &r, batch_first ? permute_to(op, x, batch_and_time, 3) : x, out);
    if (batch_first)
        out[0] = permute_to(op, out[0], batch_and_time, 3);
    if (r.lstm)
        note_lstm_record(op);
    return result_tuple(op, out, r.lstm ? 3 : 2);
}

/* Over packed sequences: unpacked, with their lengths, and packed again. */
static Value lower_packed_rnn(Op *op)
{
    Rnn r;
    Packed packed;
    Ox data = arg(op, "data");
    Ox sizes = arg(op, "batch_sizes");
    Ox out[3];
    if (!rnn_args(op, &r))
        return val_poison();
    Dim batch = ox_rank(r.h0) == 3 ? ox_dim(r.h0, 1) : NULL;
    int rank;
    if (!need_rank(op, data, 2, &rank))
        return val_poison();
    if (rank != 2) {
        fail(op->cx, E_VALUE, "the data of packed sequences are [steps, features], got rank %d",
             rank);
        return val_poison();
    }
    if (!packed_by_sizes(op, sizes, batch, &packed))
        return val_poison();
    r.packed = &packed;
    run_layers(op, &r, unpacked(op, &packed, data), out);
    out[0] = packed_data(op, &packed, out[0]);
    return result_tuple(op, out, r.lstm ? 3 : 2);
}

/* ---- quantised cells ---- */

/* (kind, tensors, doubles, ints, packed weights), as the objects of an archive have it */
static Value lower_cell_params(Op *op)
{
    bool dynamic = has_param(op, "reduce_range");
    Str kind = str_of(op->cx, dynamic ? "quantized_dynamic" : "quantized_fp16");
    Value reduced = dynamic ? val_int(arg_bool(op, "reduce_range")) : val_int(0);
    Value packed[2] = { arg_value(op, "w_ih"), arg_value(op, "w_hh") };
    const Value state[] = { val_str(kind), val_tuple(op->cx, NULL, 0), val_tuple(op->cx, NULL, 0),
                            val_tuple(op->cx, &reduced, 1), val_tuple(op->cx, packed, 2) };
    return val_tuple(op->cx, state, COUNT(state));
}

static State quantized_cell_call(Op *op, State s)
{
    Ox x = arg(op, "input");
    Ox of_input = dynamic_linear(op, x, packed_state(op, "w_ih"), true);
    Ox of_state = dynamic_linear(op, s.h, packed_state(op, "w_hh"), true);
    return cell_step(op, &cells[op->row->datum], of_input, of_state, s);
}

static Value lower_quantized_lstm_cell(Op *op)
{
    Oxs hx = arg_list(op, "hx");
    if (hx.n != 2)
        return val_tensor(op->cx, op_fail(op, E_VALUE, "lstm_cell expects two hidden states"));
    State s = quantized_cell_call(op, (State){ hx.at[0], hx.at[1] });
    return result_tuple(op, (const Ox[]){ s.h, s.c }, 2);
}

static Ox lower_quantized_cell(Op *op)
{
    return quantized_cell_call(op, (State){ arg(op, "hx"), NULL }).h;
}

#define PADDED_RNN                                                                               \
    "Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, " \
    "bool train, bool bidirectional, bool batch_first"
#define PACKED_RNN                                                                       \
    "Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int " \
    "num_layers, float dropout, bool train, bool bidirectional"
#define CELL                                                                                       \
    "Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> " \
    "Tensor"
#define CELL_CLASS "__torch__.torch.classes.rnn.CellParamsBase"
#define CELL_PARAMS                                                                           \
    CELL_CLASS "[] params, bool has_biases, int num_layers, float dropout, bool train, bool " \
               "bidirectional"
#define PACKED_LINEAR "__torch__.torch.classes.quantized.LinearPackedParamsBase"
#define QUANTIZED(fn, d, line)                                                          \
    OP_ROW(.kind = ROW_CALL, .schema = "aten::quantized_" line, .kinds = PLAIN | QUANT, \
           .call = (fn), .datum = (d), .text = "quantised")
#define QUANTIZED_CELL                                                \
    "Tensor input, Tensor hx, " PACKED_LINEAR " w_ih, " PACKED_LINEAR \
    " w_hh, Tensor b_ih, Tensor b_hh) -> Tensor"

OP_ROWS(rnn)
{
    CALL_FAMILY(lower_rnn, CELL_LSTM, NULL, PLAIN,
                "aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int "
                "num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> "
                "(Tensor, Tensor, Tensor)",
                .layout = LAYOUT_OWN_ORDER);
    CALL_FAMILY(lower_rnn, CELL_GRU, NULL, PLAIN,
                "aten::gru.input(" PADDED_RNN ") -> (Tensor, Tensor)", .layout = LAYOUT_OWN_ORDER);
    CALL_FAMILY(lower_rnn, CELL_TANH, NULL, PLAIN,
                "aten::rnn_tanh.input(" PADDED_RNN ") -> (Tensor, Tensor)",
                .layout = LAYOUT_OWN_ORDER);
    CALL_FAMILY(lower_rnn, CELL_RELU, NULL, PLAIN,
                "aten::rnn_relu.input(" PADDED_RNN ") -> (Tensor, Tensor)",
                .layout = LAYOUT_OWN_ORDER);
    CALL_FAMILY(lower_packed_rnn, CELL_LSTM, NULL, PLAIN,
                "aten::lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, "
                "bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) "
                "-> (Tensor, Tensor, Tensor)",
                .layout = LAYOUT_OWN_ORDER);
    CALL_FAMILY(lower_packed_rnn, CELL_GRU, NULL, PLAIN,
                "aten::gru.data(" PACKED_RNN ") -> (Tensor, Tensor)", .layout = LAYOUT_OWN_ORDER);
    CALL_FAMILY(lower_packed_rnn, CELL_TANH, NULL, PLAIN,
                "aten::rnn_tanh.data(" PACKED_RNN ") -> (Tensor, Tensor)",
                .layout = LAYOUT_OWN_ORDER);
    CALL_FAMILY(lower_packed_rnn, CELL_RELU, NULL, PLAIN,
                "aten::rnn_relu.data(" PACKED_RNN ") -> (Tensor, Tensor)",
                .layout = LAYOUT_OWN_ORDER);
    CALL_FAMILY(lower_lstm_cell, CELL_LSTM, NULL, PLAIN,
                "aten::lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? "
                "b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)");
    FAMILY(lower_cell, CELL_GRU, NULL, PLAIN, "aten::gru_cell(" CELL);
    FAMILY(lower_cell, CELL_TANH, NULL, PLAIN, "aten::rnn_tanh_cell(" CELL);
    FAMILY(lower_cell, CELL_RELU, NULL, PLAIN, "aten::rnn_relu_cell(" CELL);
    QUANTIZED(lower_rnn, CELL_LSTM,
              "lstm.input(Tensor input, Tensor[] hx, " CELL_PARAMS
              ", bool batch_first, *, ScalarType? dtype=None, bool use_dynamic=False) -> (Tensor, "
              "Tensor, Tensor)");
    QUANTIZED(lower_packed_rnn, CELL_LSTM,
              "lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, " CELL_PARAMS
              ", *, ScalarType? dtype=None, bool use_dynamic=False) -> (Tensor, Tensor, Tensor)");
    QUANTIZED(lower_rnn, CELL_GRU,
              "gru.input(Tensor input, Tensor hx, " CELL_PARAMS
              ", bool batch_first) -> (Tensor, Tensor)");
    QUANTIZED(lower_packed_rnn, CELL_GRU,
              "gru.data(Tensor data, Tensor batch_sizes, Tensor hx, " CELL_PARAMS
              ") -> (Tensor, Tensor)");
    CALL(lower_cell_params, NULL, PLAIN | QUANT,
         "quantized::make_quantized_cell_params_dynamic(" PACKED_LINEAR " w_ih, " PACKED_LINEAR
         " w_hh, Tensor bias_ih, Tensor bias_hh, bool reduce_range=False) -> " CELL_CLASS);
    CALL(lower_cell_params, NULL, PLAIN | QUANT,
         "quantized::make_quantized_cell_params_fp16(" PACKED_LINEAR " w_ih, " PACKED_LINEAR
         " w_hh) -> " CELL_CLASS);
    CALL_FAMILY(lower_quantized_lstm_cell, CELL_LSTM, NULL, PLAIN | QUANT,
                "quantized::quantized_lstm_cell_dynamic(Tensor input, Tensor[] hx, " PACKED_LINEAR
                " w_ih, " PACKED_LINEAR
                " w_hh, Tensor bias_ih, Tensor bias_hh) -> (Tensor, Tensor)");
    FAMILY(lower_quantized_cell, CELL_GRU, NULL, PLAIN | QUANT,
           "quantized::quantized_gru_cell_dynamic(" QUANTIZED_CELL);
    FAMILY(lower_quantized_cell, CELL_TANH, NULL, PLAIN | QUANT,
           "quantized::quantized_rnn_tanh_cell_dynamic(" QUANTIZED_CELL);
    FAMILY(lower_quantized_cell, CELL_RELU, NULL, PLAIN | QUANT,
           "quantized::quantized_rnn_relu_cell_dynamic(" QUANTIZED_CELL);
}
