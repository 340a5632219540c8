"""Forms that ONNX Runtime knows: what its default session and its tools make of programs as people write them."""
import onnx
import onnxruntime
import pytest
import torch
from torch import nn

import oracle
from left import converted, nodes, nodes_of_session


class RootMeanSquare(nn.Module):
    """As T5 and Llama write it."""

    def __init__(self, width, inverse_root):
        super().__init__()
        self.weight, self.inverse_root = nn.Parameter(torch.rand(width) + 0.5), inverse_root

    def forward(self, x):
        variance = x.to(torch.float32).pow(2).mean(-1, keepdim=True)
        return self.weight * (x * self.inverse_root(variance + 1e-6))


@pytest.mark.parametrize("inverse_root", [torch.rsqrt, lambda v: v ** -0.5], ids=["rsqrt", "power"])
def test_a_norm_with_rsqrt_is_one_node_of_a_default_session(tmp_path, inverse_root):
    net, x = RootMeanSquare(8, inverse_root), torch.randn(2, 3, 8)
    made = converted(tmp_path, net, x)
    assert nodes_of_session(tmp_path, made, net, x) == {"SimplifiedLayerNormalization": 1}


class CentredAndScaled(nn.Module):
    """A layer norm with its root as a power."""

    def __init__(self, width):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.rand(width) + 0.5), nn.Parameter(torch.rand(width))

    def forward(self, x):
        away = x - x.mean(-1, keepdim=True)
        return away / (away.pow(2).mean(-1, keepdim=True) + 1e-5) ** 0.5 * self.weight + self.bias


def test_a_layer_norm_with_a_power_is_one_node_of_a_default_session(tmp_path):
    net, x = CentredAndScaled(8), torch.randn(2, 3, 8)
    made = converted(tmp_path, net, x)
    assert nodes_of_session(tmp_path, made, net, x) == {"LayerNormalization": 1}


@pytest.mark.parametrize("opset", [9, 12, 13, 16, 17])
def test_a_layer_norm_is_one_node_of_a_default_session_at_any_opset(tmp_path, opset):
    net, x = nn.LayerNorm(8), torch.randn(2, 3, 8)
    made = converted(tmp_path, net, x, options=["--opset", str(opset)])
    assert nodes_of_session(tmp_path, made, net, x) == {"LayerNormalization": 1}


@pytest.mark.parametrize("opset", [9, 13, 18, 22])
@pytest.mark.parametrize("net", [nn.RMSNorm(8), nn.RMSNorm(8, elementwise_affine=False)], ids=["weights", "bare"])
def test_an_rms_norm_is_one_node_of_a_default_session_at_any_opset(tmp_path, net, opset):
    x = torch.randn(2, 3, 8)
    made = converted(tmp_path, net, x, options=["--opset", str(opset)])
    assert nodes_of_session(tmp_path, made, net, x) == {"SimplifiedLayerNormalization": 1}


@pytest.mark.parametrize("net, opset", [(nn.LayerNorm(8), 16), (nn.RMSNorm(8), 22)], ids=["layer", "rms"])
def test_a_norm_of_doubles_keeps_its_epsilon_in_a_default_session(tmp_path, net, opset):
    """One that a session finds has an epsilon of float32."""
    x = torch.randn(2, 3, 8, dtype=torch.float64)
    made = converted(tmp_path, net.double(), x, options=["--opset", str(opset)])
    assert not {"LayerNormalization", "SimplifiedLayerNormalization"} & set(nodes_of_session(tmp_path, made, net, x))


@pytest.mark.parametrize("opset", [13, 18])
def test_a_tanh_gelu_is_one_node_of_the_optimizer(tmp_path, opset):
    from onnxruntime.transformers import optimizer
    made = converted(tmp_path, nn.GELU(approximate="tanh"), torch.randn(2, 3, 8), options=["--opset", str(opset)])
    assert optimizer.optimize_model(made, "gpt2", num_heads=0, hidden_size=0, opt_level=0).get_operator_statistics() == {"FastGelu": 1}


class Cell(nn.Module):
    """A step of a recurrent layer: a trace has each gate written in place, to a part of one tensor."""

    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def forward(self, x, *state):
        return self.cell(x, state if len(state) > 1 else state[0])


@pytest.mark.parametrize("cell, states, want", [
    (nn.LSTMCell, 2, {"Gemm": 2, "Add": 2, "Split": 1, "Sigmoid": 3, "Tanh": 2, "Mul": 3}),
    (nn.GRUCell, 1, {"Gemm": 2, "Split": 2, "Add": 4, "Sigmoid": 2, "Mul": 2, "Tanh": 1, "Sub": 1})])
def test_a_cell_has_no_slices(tmp_path, cell, states, want):
    net, args = Cell(cell(16, 8)), (torch.randn(4, 16), *(torch.randn(4, 8) for _ in range(states)))
    made = converted(tmp_path, net, *args)
    assert nodes(onnx.load(made)) == want
    nodes_of_session(tmp_path, made, net, *args)


@pytest.mark.parametrize("sizes", ["N,3,5,7", "N,3,H,W"])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_a_resize_by_a_whole_scale_asks_for_no_sizes(tmp_path, mode, sizes):
    """Where corners meet the sizes say where samples are taken; a whole scale says the same."""
    net = nn.Upsample(scale_factor=2, mode=mode, align_corners=True)
    made = converted(tmp_path, net, torch.randn(2, 3, 5, 7), options=["-i", "input:float32[%s]" % sizes])
    assert nodes(onnx.load(made)) == {"Resize": 1}
    for shape in [(1, 3, 5, 7), (3, 3, 5, 7), *([(2, 3, 1, 9), (1, 3, 8, 1)] if "H" in sizes else [])]:
        nodes_of_session(tmp_path, made, net, torch.randn(shape))


class Layers(nn.Module):
    """Attention of several layers with one mask, behind each a norm."""

    def __init__(self, mask, layers=3):
        super().__init__()
        self.mask, self.norms = mask, nn.ModuleList(nn.LayerNorm(8) for _ in range(layers))

    def forward(self, x, padding):
        for norm in self.norms:
            heads = x.reshape(2, 5, 2, 4).transpose(1, 2)
            seen = torch.nn.functional.scaled_dot_product_attention(heads, heads, heads, attn_mask=self.mask(padding))
            x = norm(x + seen.transpose(1, 2).reshape(2, 5, 8))
        return x


def left_padded():
    """The second of two sequences has nothing but padding in front: causal rows that see nothing."""
    return torch.tensor([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1]])


def padded(padding):
    return padding.bool()[:, None, None, :]


def causal(padding):
    return torch.ones(5, 5, dtype=torch.bool).tril()


def padded_and_causal(padding):
    return padded(padding) & causal(padding)


def padded_or_diagonal(padding):
    return padded_and_causal(padding) | torch.eye(5, dtype=torch.bool)


def lowest(padding):
    return torch.where(padded_and_causal(padding), 0.0, torch.finfo(torch.float32).min)


@pytest.mark.parametrize("mask, may_close", [(padded, True), (causal, False), (padded_and_causal, True), (padded_or_diagonal, False), (lowest, False)])
def test_a_mask_is_looked_at_once_for_all_layers(tmp_path, mask, may_close):
    """A layer has one node more where the mask may close a row, and none where it cannot."""
    net, args = Layers(mask), (torch.randn(2, 5, 8), left_padded())
    made = converted(tmp_path, net, *args)
    nodes_of_session(tmp_path, made, net, *args)
    count = nodes(onnx.load(made))
    assert count["Softmax"] == 3 and count["ReduceMax"] == 0
    assert count["ReduceSum"] == may_close
    assert count["Mul"] == (6 if may_close else 3)


@pytest.mark.parametrize("mask", [padded, causal, padded_and_causal, padded_or_diagonal, lowest])
def test_shape_inference_reads_attention(tmp_path, mask):
    """The tools of ONNX Runtime begin with it, and do nothing where it fails."""
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference
    made = converted(tmp_path, Layers(mask), torch.randn(2, 5, 8), left_padded())
    model = SymbolicShapeInference.infer_shapes(onnx.load(made), auto_merge=True)
    known = {v.name for v in [*model.graph.value_info, *model.graph.output]}
    assert {o for n in model.graph.node for o in n.output} <= known


class Embedded(nn.Module):
    """Words and their places, summed and normalised, as models of language begin."""

    def __init__(self, norm):
        super().__init__()
        self.words, self.places, self.norm = nn.Embedding(300, 32), nn.Embedding(200, 32), norm

    def forward(self, ids):
        return self.norm(self.words(ids) + self.places(torch.arange(ids.shape[1])[None]))


@pytest.mark.parametrize("norm, fused", [(nn.LayerNorm(32), "SkipLayerNormalization"), (nn.RMSNorm(32), "SkipSimplifiedLayerNormalization")],
                         ids=["layer", "rms"])
def test_places_stay_an_embedding_before_a_norm(tmp_path, norm, fused):
    """A constant in its place keeps ONNX Runtime's tool from fusing the sum; a default session folds the table itself."""
    from onnxruntime.transformers import optimizer
    net, ids = Embedded(norm), torch.arange(7)[None]
    made = converted(tmp_path, net, ids)
    table = next(i for i in onnx.load(made).graph.initializer if i.name == "places.weight")
    assert list(table.dims) == [200, 32]
    assert optimizer.optimize_model(made, "gpt2", num_heads=0, hidden_size=0, opt_level=0).get_operator_statistics() == {"Gather": 2, fused: 1}
    assert nodes_of_session(tmp_path, made, net, ids).total() <= 3


def test_an_embedding_of_known_words_is_a_constant(tmp_path):
    net, ids = Embedded(nn.Tanh()), torch.arange(7)[None]
    model = onnx.load(converted(tmp_path, net, ids))
    assert nodes(model) == {"Gather": 1, "Add": 1, "Tanh": 1}
    assert [list(i.dims) for i in model.graph.initializer if i.name == "places.weight.gather"] == [[1, 7, 32]]


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.layer = kind(16, 24, **options)

    def forward(self, x):
        return self.layer(x)[0]


@pytest.mark.parametrize("layers, both", [(1, False), (1, True), (3, False), (2, True)])
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_stacked_weights_of_recurrent_layers_are_initializers(tmp_path, kind, layers, both):
    net, x = Recurrent(kind, num_layers=layers, bidirectional=both), torch.randn(5, 2, 16)
    made = converted(tmp_path, net, x)
    between = {"Transpose": layers, "Reshape": layers} if both else {"Squeeze": layers}
    assert nodes(onnx.load(made)) == {kind.__name__: layers, **between}
    nodes_of_session(tmp_path, made, net, x)


class CastAndBack(nn.Module):
    """In a branch, so that ONNX Runtime 1.31 would lose the result of the second cast, which it leaves out by itself."""

    def __init__(self, there, back):
        super().__init__()
        self.there, self.back = there, back

    def forward(self, x, y):
        z = x.to(self.there).to(self.back)
        if bool(y.sum() > 0):
            return z.flip(0)
        return z


EXTREMES = {torch.bool: [False, True], torch.uint8: [0, 1, 255], torch.int16: [-2 ** 15, -1, 2 ** 15 - 1], torch.int32: [-2 ** 31, 2 ** 24 + 1, 2 ** 31 - 1],
            torch.int64: [-2 ** 63, 2 ** 53 + 1, 2 ** 63 - 512], torch.float16: [-65504.0, 1 + 2 ** -10, 2 ** -24],
            torch.float32: [-3e38, 1 + 2 ** -23, 1e-38, -0.0], torch.float64: [-1e300, 1 + 2 ** -52, 1e-300]}
WIDER = {torch.bool: set(EXTREMES) - {torch.bool}, torch.uint8: {torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64},
         torch.int16: {torch.int32, torch.int64, torch.float32, torch.float64}, torch.int32: {torch.int64, torch.float64}, torch.int64: set(),
         torch.float16: {torch.float32, torch.float64}, torch.float32: {torch.float64}, torch.float64: set()}


@pytest.mark.parametrize("there", EXTREMES, ids=str)
@pytest.mark.parametrize("back", EXTREMES, ids=str)
def test_a_cast_to_a_wider_type_and_back_is_none(there, back, tmp_path):
    net = CastAndBack(there, back)
    saved, made = str(tmp_path / "net.pt"), str(tmp_path / "net.onnx")
    torch.jit.script(net.eval()).save(saved)
    oracle.converted(saved, made, "-i", "x:%s[N]" % str(back).split(".")[1], "-i", "y:float32[2]")
    left = nodes(onnx.load(made))["Cast"]
    if there == back or there in WIDER[back]:
        assert left == 0
    else:
        assert left >= 2
    x = torch.tensor(EXTREMES[back], dtype=back)
    if there in WIDER[back]:
        assert torch.equal(x, x.to(there).to(back))
        for y in (torch.ones(2), -torch.ones(2)):
            oracle.run(made, [([x.numpy(), y.numpy()], [net(x, y).numpy()])])


class CastBehindTurn(nn.Module):
    """With optimisations ONNX Runtime 1.31 ends the process as it loads the product of a Cast of a Transpose that moves the batch with a tensor of another rank."""

    def __init__(self, order, to, first, inside=False):
        super().__init__()
        self.order, self.to, self.first, self.inside = order, to, first, inside

    def forward(self, x, w):
        y = x.permute(self.order).to(self.to)
        if self.inside:
            if bool(w.sum() > 0):
                return y @ w
            return y @ -w
        return y @ w if self.first else w @ y


def casts_behind_turns(model):
    made = {o: n for g in oracle.graphs(model.graph) for n in g.node for o in n.output}
    casts = [made[i] for n in made.values() if n.op_type == "MatMul" for i in n.input if i in made and made[i].op_type == "Cast"]
    return [c for c in casts if c.input[0] in made and made[c.input[0]].op_type == "Transpose"]


@pytest.mark.parametrize("order", [(1, 0, 2), (1, 2, 0), (0, 2, 1), (2, 1, 0), (1, 2, 0, 3), (1, 2, 3, 0), (0, 2, 1, 3), (0, 3, 1, 2)], ids=str)
@pytest.mark.parametrize("of, to", [(torch.float16, torch.float32), (torch.int64, torch.float32), (torch.float64, torch.float32)], ids=str)
@pytest.mark.parametrize("how", ["first", "second", "in a branch"])
def test_a_cast_stands_before_the_transpose_of_a_product(order, of, to, how, tmp_path):
    net = CastBehindTurn(order, to, how != "second", how == "in a branch")
    x = torch.arange(2 * 3 * 4 * 5).reshape((2, 3, 4, 5) if len(order) == 4 else (2, 3, 20)).to(of) * (1 if of == torch.int64 else 0.015625)
    sizes = [x.shape[i] for i in order]
    w = torch.arange(7.0 * sizes[-1]).reshape(-1, 7) if how != "second" else torch.arange(7.0 * sizes[-2]).reshape(7, -1)
    saved, made = str(tmp_path / "net.pt"), str(tmp_path / "net.onnx")
    torch.jit.script(net).save(saved)
    for options in (), ("--opset", "9"), ("--opset", "23"):
        oracle.converted(saved, made, "-i", "x:%s[%s]" % (str(of).split(".")[1], ",".join("?" * x.ndim)), "-i", "w:float32[?,?]", *options)
        moved = order[:2] == (1, 0) or order[:2] == (1, 2)
        assert bool(casts_behind_turns(onnx.load(made))) != moved
        oracle.run(made, [([x.numpy(), w.numpy()], [net(x, w).numpy()])])


@pytest.mark.parametrize("constant", [True, False], ids=["weight", "input"])
@pytest.mark.parametrize("between", [lambda y: y, lambda y: y.flip(1), lambda y: y[:, :, 0], lambda y: y * y.sigmoid()], ids=["none", "backwards", "part", "gated"])
def test_the_factors_have_one_rank_where_a_transpose_may_arrive(between, constant, tmp_path):
    """ONNX Runtime moves a Transpose through other operators towards the Cast."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.rand(6, 7))

        def forward(self, x, w):
            y = between((x * 8).to(torch.int32).permute(1, 2, 3, 0).half()).float()
            return y @ (self.w if constant else w)
    x, w = torch.rand(6, 2, 3, 4) - 0.5, torch.rand(6, 7)
    net = Net()
    made = converted(tmp_path, net, x, w)
    with torch.no_grad():
        want = net(x, w)
    graph = onnx.shape_inference.infer_shapes(onnx.load(made)).graph
    ranks = {v.name: len(v.type.tensor_type.shape.dim) for v in [*graph.value_info, *graph.input]}
    ranks.update((t.name, len(t.dims)) for t in graph.initializer)
    makers = {o: n.op_type for n in graph.node for o in n.output}
    product = next(n for n in graph.node if n.op_type == "MatMul")
    assert makers[product.input[0]] != "Cast" or ranks[product.input[0]] == ranks[product.input[1]]
    oracle.run(made, [([x.numpy(), w.numpy()], [want.numpy()])])


def test_a_cast_stands_before_the_transpose_with_weights_of_bfloat16(tmp_path):
    class Turned(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 4)

        def forward(self, x):
            return self.linear(x.transpose(0, 1))
    saved, made, x = str(tmp_path / "net.pt"), str(tmp_path / "net.onnx"), torch.rand(2, 5, 3)
    net = Turned()
    torch.jit.script(net).save(saved)
    oracle.converted(saved, made, "-i", "x:float32[?,?,3]", "--weights-type", "bfloat16")
    assert casts_behind_turns(onnx.load(made)) == []
    with torch.no_grad():
        got = onnxruntime.InferenceSession(made, providers=["CPUExecutionProvider"]).run(None, {"x": x.numpy()})[0]
        torch.testing.assert_close(torch.from_numpy(got), net(x), rtol=0.05, atol=0.05)
