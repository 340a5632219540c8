"""Quantised layers one by one against PyTorch: at most a step apart in ONNX Runtime's default session, and without its optimizations; dynamic ones to 1e-6."""
import os
import sys

import numpy
import onnx
import onnxruntime
import pytest
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "python"))
import oracle                                                       # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
quantized, fused, aten = torch.ao.nn.quantized, torch.ao.nn.intrinsic.quantized, torch.nn.functional
STEP, ZERO = 0.0613, 60                                             # of a layer's result


def both_sessions(path, x):
    """The results in a session without optimizations, and in a default one."""
    for level in (onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        yield session.run(None, {session.get_inputs()[0].name: x.numpy()})[0]


def saved(model, x, tmp_path, *options):
    path = str(tmp_path / "model.pt")
    program = torch.jit.trace(model.eval(), x)
    program.save(path)
    out = tmp_path / "model.onnx"
    oracle.converted(path, out, *options)
    with torch.no_grad():
        return program(x).numpy(), out


class Between(torch.nn.Module):
    """x quantised with these numbers, the layer, and floats again."""

    def __init__(self, layer, scale=0.03, zero=100):
        super().__init__()
        self.layer, self.scale, self.zero = layer, scale, zero

    def forward(self, x):
        return torch.dequantize(self.layer(torch.quantize_per_tensor(x, self.scale, self.zero, torch.quint8)))


def with_weight(layer, channels, zero=0):
    weight = torch.randn_like(layer.weight().dequantize()) * 0.2
    if channels:
        n = weight.shape[0]
        weight = torch.quantize_per_channel(weight, weight.abs().flatten(1).amax(1) / 127, torch.zeros(n, dtype=torch.long), 0, torch.qint8)
    else:
        weight = torch.quantize_per_tensor(weight, float(weight.abs().max()) / 100, zero, torch.qint8)
    layer.set_weight_bias(weight, torch.randn(weight.shape[0]))
    layer.scale, layer.zero_point = STEP, ZERO
    return layer


class Pair(torch.nn.Module):
    """An operator of two quantised tensors."""

    def __init__(self, name):
        super().__init__()
        self.name, self.f = name, quantized.QFunctional()
        self.f.scale, self.f.zero_point = STEP, ZERO

    def forward(self, x):
        a = torch.quantize_per_tensor(x, 0.03, 100, torch.quint8)
        b = torch.quantize_per_tensor(x.flip(-1) * 0.7, 0.021, 131, torch.quint8)
        y = self.f.cat([a, b], 1) if self.name == "cat" else getattr(self.f, self.name)(a, b)
        return torch.dequantize(y)


class Call(torch.nn.Module):
    def __init__(self, call):
        super().__init__()
        self.call = call

    def forward(self, x):
        return self.call(x)


IMAGE, ROWS, SEQUENCE = (2, 8, 12, 12), (5, 32), (2, 7, 32)
LAYERS = {
    "conv by channel": (lambda: with_weight(quantized.Conv2d(8, 16, 3), True), IMAGE),
    "conv": (lambda: with_weight(quantized.Conv2d(8, 16, 3), False), IMAGE),
    "conv with a zero point": (lambda: with_weight(quantized.Conv2d(8, 16, 3), False, 7), IMAGE),
    "conv and relu": (lambda: with_weight(fused.ConvReLU2d(8, 16, 3), True), IMAGE),
    "conv of each channel": (lambda: with_weight(quantized.Conv2d(8, 8, 3, groups=8, padding=1), True), IMAGE),
    "conv with strides": (lambda: with_weight(quantized.Conv2d(8, 16, 3, stride=2, padding=1), True), IMAGE),
    "conv1d": (lambda: with_weight(quantized.Conv1d(8, 16, 3), True), (2, 8, 32)),
    "conv3d": (lambda: with_weight(quantized.Conv3d(8, 4, 3), True), (2, 8, 6, 6, 6)),
    "linear by channel": (lambda: with_weight(quantized.Linear(32, 16), True), ROWS),
    "linear": (lambda: with_weight(quantized.Linear(32, 16), False, 7), ROWS),
    "linear of sequences": (lambda: with_weight(quantized.Linear(32, 16), True), SEQUENCE),
    "linear and relu": (lambda: with_weight(fused.LinearReLU(32, 16), True), ROWS),
    "hardswish": (lambda: quantized.Hardswish(STEP, ZERO), IMAGE),
    "leaky relu": (lambda: quantized.LeakyReLU(STEP, ZERO), IMAGE),
    "elu": (lambda: quantized.ELU(STEP, ZERO), IMAGE),
    "average pool": (lambda: Call(lambda q: aten.avg_pool2d(q, 3, 2)), IMAGE),
    "max pool": (lambda: Call(lambda q: aten.max_pool2d(q, 3, 2)), IMAGE),
    "global pool": (lambda: Call(lambda q: aten.adaptive_avg_pool2d(q, 1)), IMAGE),
    "bilinear": (lambda: Call(lambda q: aten.interpolate(q, scale_factor=2.0, mode="bilinear")), IMAGE),
    "sigmoid": (lambda: Call(torch.sigmoid), IMAGE),
    "tanh": (lambda: Call(torch.tanh), IMAGE),
}
STEPS = {"sigmoid": 1 / 256, "tanh": 2 / 256, "average pool": 0.03, "max pool": 0.03, "global pool": 0.03, "bilinear": 0.03}


def within_a_step(path, x, want, step, share=0.05):
    """At most a step apart, and hardly anywhere: ONNX Runtime rounds a bias to integers, PyTorch does not; both round once, so a number between two steps may go to the other."""
    for got in both_sessions(path, x):
        off = numpy.abs(got - want) / step
        assert off.max() < 1.01 and (off > 0.5).mean() <= share


@pytest.mark.parametrize("name", LAYERS)
def test_static_layer(name, tmp_path):
    torch.manual_seed(0)
    make, shape = LAYERS[name]
    x = torch.randn(shape)
    want, path = saved(Between(make()), x, tmp_path)
    within_a_step(path, x, want, STEPS.get(name, STEP))


@pytest.mark.parametrize("name", ["add", "mul", "add_relu", "cat", "matmul"])
def test_static_pair(name, tmp_path):
    torch.manual_seed(0)
    x = torch.randn(3, 9, 9)
    want, path = saved(Pair(name), x, tmp_path)
    within_a_step(path, x, want, STEP)


def heavy(layer):
    """All weights at the end of int8: 255 * 127 twice is no number of 16 bits, in which processors with AVX2, but without VNNI, add two products."""
    weight = layer.weight().dequantize().sign() * 0.2
    layer.set_weight_bias(torch.quantize_per_tensor(weight, 0.2 / 127, 0, torch.qint8), layer.bias())
    layer.scale, layer.zero_point = 0.5, 120
    return layer


@pytest.mark.parametrize("make, shape", [(lambda: quantized.Conv2d(8, 16, 3), IMAGE), (lambda: quantized.Linear(32, 16), ROWS)], ids=["conv", "linear"])
def test_weights_with_one_scale_are_unsigned(make, shape, tmp_path):
    """ONNX Runtime's kernels saturate sums of uint8 by int8 on some processors, those of uint8 by uint8 nowhere. Other runtimes want int8."""
    torch.manual_seed(0)
    x = torch.rand(shape) * 2 + 5.5
    model = Between(heavy(with_weight(make(), False)), 0.03, 0)
    want, path = saved(model, x, tmp_path)
    within_a_step(path, x, want, 0.5)
    assert weight_types(path) == {onnx.TensorProto.UINT8}
    _, path = saved(model, x, tmp_path, "--target=onnx")
    assert weight_types(path) == {onnx.TensorProto.INT8}
    _, path = saved(Between(with_weight(make(), True)), x, tmp_path)       # a scale for each channel, and a zero point below 128: 7 bits are used beside it
    assert weight_types(path) == {onnx.TensorProto.INT8}


def weight_types(path):
    graph = onnx.load(path).graph
    weights = {i.name: i.data_type for i in graph.initializer if i.dims and i.data_type in (onnx.TensorProto.INT8, onnx.TensorProto.UINT8) and numpy.prod(i.dims) > 16}
    return {weights[n.input[0]] for n in graph.node if n.op_type == "DequantizeLinear" and n.input[0] in weights}


# ---- dynamic ones ----

class Recurrent(torch.nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.layer = kind(16, 12, num_layers=2, **options)

    def forward(self, x):
        return self.layer(x)[0]


class Eight(torch.nn.Module):
    """A layer as PyTorch saved it before reduce_range: of 8 bits."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return torch.ops.quantized.linear_dynamic(x, self.layer._packed_params._packed_params)


def dynamic(model, config=None):
    kinds = {torch.nn.Linear, torch.nn.LSTM, torch.nn.GRU}
    return torch.ao.quantization.quantize_dynamic(model.eval(), {k: config for k in kinds} if config else kinds)


def network(width=64):
    return torch.nn.Sequential(torch.nn.Linear(32, width), torch.nn.LayerNorm(width), torch.nn.GELU(), torch.nn.Linear(width, 8))


DYNAMIC = {
    "linear": (lambda: dynamic(network()), (5, 32)),
    "linear of sequences": (lambda: dynamic(network()), (2, 7, 32)),
    "a scale for each channel": (lambda: dynamic(network(), torch.ao.quantization.per_channel_dynamic_qconfig), (2, 7, 32)),
    "wide": (lambda: dynamic(torch.nn.Linear(768, 512)), (256, 768)),
    "8 bits": (lambda: Eight(with_weight(quantized.Linear(32, 16), False, 7)), (2, 7, 32)),
    "lstm": (lambda: dynamic(Recurrent(torch.nn.LSTM, bidirectional=True)), (6, 3, 16)),
    "gru": (lambda: dynamic(Recurrent(torch.nn.GRU)), (6, 3, 16)),
}


@pytest.mark.parametrize("scale", [1e-4, 1, 5])
@pytest.mark.parametrize("name", DYNAMIC)
def test_dynamic_layer(name, scale, tmp_path):
    torch.manual_seed(1)
    make, shape = DYNAMIC[name]
    x = torch.randn(shape) * scale
    want, path = saved(make(), x, tmp_path)
    for got in both_sessions(path, x):
        assert numpy.abs(got - want).max() <= 1e-6 * max(1, numpy.abs(want).max())


# ---- what torchao's convert_pt2e writes: the operators on floats, between quantize and dequantize ----

class Converted(torch.nn.Module):
    """The form of a network that prepare_pt2e and convert_pt2e have quantised, with and without training before: weights by channel, inputs and results with one scale."""

    def __init__(self, most):
        super().__init__()
        self.most = most
        for name, shape in (("conv", (16, 8, 3, 3)), ("linear", (4, 16))):
            weight = torch.randn(shape) * 0.2
            scales = weight.abs().flatten(1).amax(1) / 127
            self.register_buffer(name, torch.clamp(torch.round(weight / scales.reshape(-1, *[1] * (len(shape) - 1))), -128, 127).to(torch.int8))
            self.register_buffer(name + "_scales", scales)
            self.register_buffer(name + "_zeros", torch.zeros(shape[0], dtype=torch.int64))
            self.register_buffer(name + "_bias", torch.randn(shape[0]))

    def rounded(self, x, scale, zero):
        steps = torch.ops.quantized_decomposed.quantize_per_tensor(x, scale, zero, 0, self.most, torch.uint8)
        return torch.ops.quantized_decomposed.dequantize_per_tensor(steps, scale, zero, 0, self.most, torch.uint8)

    def weight(self, name):
        scales, zeros = getattr(self, name + "_scales"), getattr(self, name + "_zeros")
        return torch.ops.quantized_decomposed.dequantize_per_channel(getattr(self, name), scales, zeros, 0, -128, 127, torch.int8)

    def forward(self, x):
        x = self.rounded(x, 0.05, 60)
        x = self.rounded(torch.relu(aten.conv2d(x, self.weight("conv"), self.conv_bias)), 0.06, 0)
        x = self.rounded(x.mean([2, 3]), 0.05, 0)
        return self.rounded(aten.linear(x, self.weight("linear"), self.linear_bias), 0.04, 60)


@pytest.mark.parametrize("most", [255, 127])
def test_converted_by_pt2e(most, tmp_path):
    import torch.ao.quantization.fx._decomposed                     # noqa: F401  (the operators)
    torch.manual_seed(0)
    model, x = Converted(most).eval(), torch.randn(IMAGE)
    torch.export.save(torch.export.export(model, (x,)), str(tmp_path / "model.pt2"))
    out = tmp_path / "model.onnx"
    oracle.converted(tmp_path / "model.pt2", out)
    # Two layers lie behind each other: where the first is a step off, the mean of 100 numbers is a hundredth, and the result at most a step
    within_a_step(out, x, model(x).numpy(), 0.04, share=0.2)
    run = nodes_run(out, tmp_path)
    assert {"QLinearConv", "QGemm"} <= set(run) and not IN_FLOATS & set(run)


IN_FLOATS = {"Conv", "FusedConv", "Gemm", "FusedGemm", "MatMul", "MatMulNBits"}


def nodes_run(path, tmp_path):
    """The operators that a default session runs."""
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath, options.log_severity_level = str(tmp_path / "optimized.onnx"), 3
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return [n.op_type for n in onnx.load(options.optimized_model_filepath).graph.node]


def exported(model, x, tmp_path, *options):
    """What PyTorch gives, and the file."""
    import torch.ao.quantization.fx._decomposed                     # noqa: F401  (the operators)
    out = tmp_path / "model.onnx"
    with torch.no_grad():
        torch.export.save(torch.export.export(model.eval(), (x,)), str(tmp_path / "model.pt2"))
        oracle.converted(tmp_path / "model.pt2", out, *options)
        return model(x).numpy(), out


class Linear(torch.nn.Module):
    """A linear layer of int8, by channel or not, whose result stays in floats, behind an input that is quantised by `of_input`."""

    def __init__(self, of_input, bias=True, by_channel=True, n=16, k=32):
        super().__init__()
        self.of_input = of_input
        weight = torch.randn(n, k) * 0.2
        scales = weight.abs().amax(1) / 127 if by_channel else weight.abs().max() / 127
        self.register_buffer("codes", torch.round(weight / (scales[:, None] if by_channel else scales)).to(torch.int8))
        self.register_buffer("scales", scales)
        self.register_buffer("zeros", torch.zeros(n, dtype=torch.int64))
        self.register_buffer("bias", torch.randn(n) if bias else None)

    def forward(self, x):
        one = torch.ops.quantized_decomposed
        if self.scales.ndim:
            weight = one.dequantize_per_channel(self.codes, self.scales, self.zeros, 0, -128, 127, torch.int8)
        else:
            weight = one.dequantize_per_tensor.tensor(self.codes, self.scales, self.zeros[0], -128, 127, torch.int8)
        return aten.linear(self.of_input(x), weight, self.bias)


def by_own_scale(low, most, dtype):
    """As a dynamic layer quantises its input."""
    def call(x):
        scale, zero = torch.ops.quantized_decomposed.choose_qparams.tensor(x, low, most, 2 ** -12, dtype)
        steps = torch.ops.quantized_decomposed.quantize_per_tensor.tensor(x, scale, zero, low, most, dtype)
        return torch.ops.quantized_decomposed.dequantize_per_tensor.tensor(steps, scale, zero, low, most, dtype)
    return call


def by_scale(scale, zero, low, most, dtype):
    def call(x):
        steps = torch.ops.quantized_decomposed.quantize_per_tensor(x, scale, zero, low, most, dtype)
        return torch.ops.quantized_decomposed.dequantize_per_tensor(steps, scale, zero, low, most, dtype)
    return call


INPUTS = {"own uint8": by_own_scale(0, 255, torch.uint8), "own int8": by_own_scale(-128, 127, torch.int8), "own 7 bits": by_own_scale(0, 127, torch.uint8),
          "uint8": by_scale(0.03, 100, 0, 255, torch.uint8), "int8": by_scale(0.03, -20, -128, 127, torch.int8)}


class Linears(torch.nn.Module):
    """Rows and a sequence through layers with and without a bias, with a scale for each channel and with one; all results in a row."""

    def __init__(self, of_input):
        super().__init__()
        self.layers = torch.nn.ModuleList(Linear(of_input, bias, by_channel) for bias in (True, False) for by_channel in (True, False))

    def forward(self, x):
        return torch.cat([layer(y).flatten() for layer in self.layers for y in (x, x[0])])


@pytest.mark.parametrize("how", INPUTS)
def test_linear_of_pt2e_gives_floats(how, tmp_path):
    """Scales that the model finds, or has: integers are multiplied, and nothing is rounded that PyTorch does not round, in no session."""
    torch.manual_seed(0)
    x = torch.randn(SEQUENCE)
    want, path = exported(Linears(INPUTS[how]), x, tmp_path)
    for got in both_sessions(path, x):
        assert numpy.abs(got - want).max() <= 2e-6 * numpy.abs(want).max()
    run = nodes_run(path, tmp_path)
    assert run.count("MatMulIntegerToFloat") + run.count("QGemm") == 8 and not IN_FLOATS & set(run)


def test_other_runtimes_get_linear_of_floats(tmp_path):
    torch.manual_seed(0)
    want, path = exported(Linear(INPUTS["own uint8"]), torch.randn(SEQUENCE), tmp_path, "--target=onnx")
    assert [n.op_type for n in onnx.load(path).graph.node if "MatMul" in n.op_type] == ["MatMul"]


class Reshaped(torch.nn.Module):
    """A reshape between the steps and their product; with weights of int8 that PT2E cuts to -127..127, or of uint8."""

    def __init__(self, dtype, least):
        super().__init__()
        self.dtype, self.least = dtype, least
        low, zero = (-127, 0) if dtype == torch.int8 else (0, 128)
        self.register_buffer("codes", torch.randint(low, low + 255, (8, 16)).to(dtype))
        self.register_buffer("scales", torch.rand(8) * 0.01)
        self.register_buffer("zeros", torch.full((8,), zero))

    def forward(self, x):
        one = torch.ops.quantized_decomposed
        scale, zero = one.choose_qparams.tensor(x, self.least, 127, 1e-6, torch.int8)
        steps = one.quantize_per_tensor.tensor(x, scale, zero, self.least, 127, torch.int8).reshape(-1, 16)
        weight = one.dequantize_per_channel(self.codes, self.scales, self.zeros, 0, *((-127, 127) if self.dtype == torch.int8 else (0, 255)), self.dtype)
        return one.dequantize_per_tensor.tensor(steps, scale, zero, self.least, 127, torch.int8) @ weight.t()


@pytest.mark.parametrize("options", [[], ["--keep-weights"]], ids=" ".join)
@pytest.mark.parametrize("least", [-128, -127])
@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8], ids=str)
def test_both_sides_of_a_product_are_uint8_or_neither(dtype, least, options, tmp_path):
    """ONNX Runtime 1.31 has no kernel for int8 times uint8, and says so when the model loads."""
    torch.manual_seed(0)
    x = torch.randn(2, 3, 16)
    want, path = exported(Reshaped(dtype, least), x, tmp_path, *options)
    for got in both_sessions(path, x):
        assert numpy.abs(got - want).max() <= 2e-6 * numpy.abs(want).max()
    assert "MatMulIntegerToFloat" in nodes_run(path, tmp_path)


class Twice(torch.nn.Module):
    """Activations of int8 that two nodes read: ONNX Runtime makes those of one reader uint8 by itself."""

    def __init__(self):
        super().__init__()
        for name in "ab":
            self.register_buffer(name, torch.randint(-127, 128, (8, 8, 3, 3), dtype=torch.int8))
        self.register_buffer("scales", torch.rand(8) * 0.001 + 0.001)
        self.register_buffer("bias", torch.randn(8))

    def conv(self, x, codes):
        weight = torch.ops.quantized_decomposed.dequantize_per_channel(codes, self.scales, torch.zeros(8, dtype=torch.int64), 0, -127, 127, torch.int8)
        return aten.conv2d(x, weight, self.bias, padding=1)

    def forward(self, x):
        x = by_scale(0.05, -20, -128, 127, torch.int8)(x)
        x = by_scale(0.03, -128, -128, 127, torch.int8)(torch.relu(self.conv(x, self.a)))
        y = by_scale(0.04, 3, -128, 127, torch.int8)(self.conv(x, self.b))
        return by_scale(0.05, -128, -128, 127, torch.int8)(torch.relu(y + x))


def test_activations_of_int8_are_run_as_integers(tmp_path):
    torch.manual_seed(0)
    model, x = Twice(), torch.randn(IMAGE)
    want, path = exported(model, x, tmp_path)
    within_a_step(path, x, want, 0.05, share=0.2)
    run = nodes_run(path, tmp_path)
    assert run.count("QLinearConv") == 2 and "QLinearAdd" in run and not IN_FLOATS & set(run)


class Rows(torch.nn.Module):
    """What torchao's int8 layers with activations of int8 are: a scale for each row of both. On some processors it makes uint8 of the activations."""

    def __init__(self, moved):
        super().__init__()
        self.moved = moved
        self.register_buffer("codes", torch.randint(-128, 128, (16, 32), dtype=torch.int8))
        self.register_buffer("scales", torch.rand(16) * 0.01)

    def forward(self, x):
        scale = x.abs().amax(1, keepdim=True) / 127
        steps = torch.clamp(torch.round(x / scale), -128, 127).to(torch.int8)
        if self.moved:
            sums = torch._int_mm((steps.int() + 128).to(torch.uint8), self.codes.t()) - 128 * self.codes.t().sum(0, keepdim=True, dtype=torch.int32)
        else:
            sums = torch._int_mm(steps, self.codes.t())
        return sums.float() * scale * self.scales


class Truncated(torch.nn.Module):
    """Activations that a cast makes whole, and ones that bounds which are not whole cut off."""

    def __init__(self, whole, least=-128., most=127.):
        super().__init__()
        self.whole, self.least, self.most = whole, least, most
        self.register_buffer("codes", torch.randint(-128, 128, (16, 32), dtype=torch.int8))

    def forward(self, x):
        return torch._int_mm(torch.clamp(self.whole(x * 10), self.least, self.most).to(torch.int8), self.codes.t())


def unchanged(x):
    return x


@pytest.mark.parametrize("whole,bounds,casts", [(unchanged, (-128., 127.), 3), (torch.round, (-100.5, 100.), 3), (torch.round, (-100., 100.5), 3),
                                                (torch.floor, (-128., 127.), 1), (torch.ceil, (-5., 5.), 1)])
def test_a_cast_to_int8_truncates_towards_zero(whole, bounds, casts, tmp_path):
    """As -0.5 becomes 0, and 127.5 127: 128 is added in floats only to what is whole."""
    torch.manual_seed(0)
    x = torch.randn(32, 32) * 8
    want, path = exported(Truncated(whole, *bounds), x, tmp_path)
    for got in both_sessions(path, x):
        assert numpy.array_equal(got, want)
    assert len([n for n in onnx.load(path).graph.node if n.op_type == "Cast"]) == casts


@pytest.mark.parametrize("moved", [False, True])
def test_products_of_int8_are_of_uint8(moved, tmp_path):
    """ONNX Runtime has fast kernels for uint8 on the left side only, and on the right int8 saturates beside 8 bits on some processors."""
    torch.manual_seed(0)
    x = torch.randn(32, 32)
    want, path = exported(Rows(moved), x, tmp_path)
    for got in both_sessions(path, x):
        assert numpy.abs(got - want).max() <= 2e-6 * numpy.abs(want).max()
    model = onnx.shape_inference.infer_shapes(onnx.load(path))
    types = {v.name: v.type.tensor_type.elem_type for v in model.graph.value_info} | {i.name: i.data_type for i in model.graph.initializer}
    product = next(n for n in model.graph.node if n.op_type == "MatMulInteger")
    assert {types[name] for name in product.input if name} == {onnx.TensorProto.UINT8}
    _, path = exported(Rows(moved), x, tmp_path, "--target=onnx")
    assert len(next(n for n in onnx.load(path).graph.node if n.op_type == "MatMulInteger").input) == 2
