"""--weights-type: accuracy against torch at each type, in both kinds of sessions, the bits that are written, memory, what is refused.

Tolerances are units of the type's rounding error (EPSILON) relative to the largest element of the output: a value that passes through
D roundings is off by at most D of them as long as nothing cancels, and these models round each value fewer than 16 times."""
import collections
import os
import sys
from typing import Optional

import numpy
import onnx
import onnx.reference
import onnxruntime
import pytest
import torch
from onnx import numpy_helper

import scripted

sys.path.insert(0, os.path.join(scripted.oracle.TOP, "python"))
sys.path.insert(0, os.path.join(scripted.oracle.TOP, "tools"))
import oracle                                                       # noqa: E402
import write_chain                                                  # noqa: E402
from test_memory import peak                                        # noqa: E402

EPSILON = {"float16": 2 ** -11, "bfloat16": 2 ** -8}
HALF = {"float16": torch.float16, "bfloat16": torch.bfloat16}
LEVELS = [onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL]


class Text(torch.nn.Module):
    """Embeddings, attention with a mask, norms, a gated product and a head: what language models are made of."""

    def __init__(self, width=64, words=300):
        super().__init__()
        self.words, self.lowest = torch.nn.Embedding(words, width), torch.finfo(torch.float32).min
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.norm, self.last = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)
        self.head = torch.nn.Linear(width, words, bias=False)

    def forward(self, ids):
        x = self.words(ids)
        qkv = self.qkv(self.norm(x)).view(ids.size(0), ids.size(1), 3, 4, 16).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        scores = q @ k.transpose(-1, -2) / 4
        mask = torch.full((ids.size(1), ids.size(1)), self.lowest).triu(1).to(scores.dtype)
        x = x + self.out((torch.softmax(scores + mask, -1) @ v).transpose(1, 2).reshape(ids.size(0), ids.size(1), 64))
        return self.head(x + self.down(torch.nn.functional.gelu(self.up(self.last(x)))))


class Picture(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.bn = torch.nn.Conv2d(3, 32, 5, stride=2, padding=2), torch.nn.BatchNorm2d(32)
        self.b, self.fc = torch.nn.Conv2d(32, 64, 3, groups=2, padding=1), torch.nn.Linear(64, 100)

    def forward(self, x):
        x = torch.nn.functional.max_pool2d(torch.relu(self.bn(self.a(x))), 2)
        return self.fc(torch.relu(self.b(x)).mean((2, 3)))


def text():
    return Text().eval(), torch.randint(0, 300, (2, 7)), "ids:int64[N,T]"


def picture():
    net = Picture().eval()
    net.bn.running_mean.uniform_(-1, 1), net.bn.running_var.uniform_(0.5, 2)
    return net, torch.rand(2, 3, 33, 33), "x:float32[N,3,33,33]"


MODELS = {"text": text, "picture": picture}


def saved(make, tmp_path):
    net, x, spec = make()
    path = tmp_path / "net.pt"
    torch.jit.save(torch.jit.script(net), str(path))
    return net, x, spec, path


def run(out, *inputs):
    """What both kinds of sessions give, as float64."""
    for level in LEVELS:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level, options.log_severity_level = level, 3
        session = onnxruntime.InferenceSession(str(out), options, providers=["CPUExecutionProvider"])
        names = [i.name for i in session.get_inputs()]
        yield [numpy.asarray(y, dtype=numpy.float64) for y in session.run(None, dict(zip(names, inputs)))]


def error(got, wanted):
    wanted = wanted.detach().numpy().astype(numpy.float64)
    return numpy.abs(got - wanted).max() / numpy.abs(wanted).max()


def initializers(out):
    return {t.name: t for t in onnx.load(str(out)).graph.initializer}


def plain(make, *args):
    """A module of one function of float32 tensors."""
    class Net(torch.nn.Module):
        def forward(self, x):
            return make(x)
    return torch.jit.trace(Net(), args)


# ---- float16 and bfloat16 ----

@pytest.mark.parametrize("opset", [13, 18, 21, 23])
@pytest.mark.parametrize("name", sorted(MODELS))
@pytest.mark.parametrize("kind", sorted(EPSILON))
def test_narrow_floats_agree_with_torch(kind, name, opset, tmp_path):
    net, x, spec, path = saved(MODELS[name], tmp_path)
    out = tmp_path / "net.onnx"
    oracle.converted(path, out, "-i", spec, "--weights-type", kind, "--opset", str(opset))
    onnx.checker.check_model(str(out), full_check=True)
    wanted = net(x)
    for got in run(out, x.numpy()):
        assert got[0].shape == wanted.shape
        assert 0 < error(got[0], wanted) <= 16 * EPSILON[kind]
    model = onnx.load(str(out))
    assert all(v.type.tensor_type.elem_type in (1, 7) for v in list(model.graph.input) + list(model.graph.output))
    large = [t for t in model.graph.initializer if numpy.prod(t.dims) >= 1024]
    assert large and {t.data_type for t in large} == {onnx.TensorProto.FLOAT16 if kind == "float16" else onnx.TensorProto.BFLOAT16}


@pytest.mark.parametrize("name", sorted(MODELS))
@pytest.mark.parametrize("kind", sorted(EPSILON))
def test_not_much_further_off_than_torch_in_that_type(kind, name, tmp_path):
    """torch itself, with the same weights in the type and all arithmetic in it."""
    net, x, spec, path = saved(MODELS[name], tmp_path)
    out = tmp_path / "net.onnx"
    oracle.converted(path, out, "-i", spec, "--weights-type", kind)
    wanted = net(x)
    own = error(net.to(HALF[kind])(x.to(HALF[kind]) if x.is_floating_point() else x).float().detach().numpy(), wanted)
    for got in run(out, x.numpy()):
        assert error(got[0], wanted) <= 1.5 * own


def test_only_casts_that_are_needed(tmp_path):
    """Inputs and outputs, and around softmax: none between two products."""
    net, x, spec, path = saved(text, tmp_path)
    out = tmp_path / "net.onnx"
    oracle.converted(path, out, "-i", spec, "--weights-type", "float16", "--opset", "20")
    nodes = onnx.load(str(out)).graph.node
    makes = {o: n for n in nodes for o in n.output}
    casts = [n for n in nodes if n.op_type == "Cast"]
    assert not [c for c in casts if c.input[0] in makes and makes[c.input[0]].op_type == "Cast"]
    assert len(casts) <= 5


@pytest.mark.parametrize("kind", sorted(EPSILON))
@pytest.mark.parametrize("turned", [False, True])
def test_bits_are_torchs(kind, turned, tmp_path):
    """Ties, numbers that are subnormal in the type, signed zeros, infinities and NaN; contiguous and transposed. What is finite and too
    large becomes the largest number, where torch gives infinity."""
    bits = torch.randint(-2 ** 31, 2 ** 31, (96, 512), dtype=torch.int64).to(torch.int32)
    bits[0] = torch.arange(0, 512) * 0x1000 + 0x38800000 - 0x100000         # around float16's least normal number, with ties
    bits[1, :256] = torch.arange(0, 256) * 0x8000 + 0x3f800000              # bfloat16's ties
    bits[1, 256:] = torch.arange(0, 256) * 0x1000 + 0x477fe000 - 0x80000    # around float16's largest
    w = bits.view(torch.float32)
    w[2, :6] = torch.tensor([0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 2.0 ** -25])

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(w)

        def forward(self, x):
            return x @ (self.w.t() if turned else self.w)
    path, out = tmp_path / "net.pt", tmp_path / "net.onnx"
    torch.jit.save(torch.jit.trace(Net(), torch.zeros(1, 512 if turned else 96), check_trace=False), str(path))
    done = oracle.converted(path, out, "-i", "x:float32[1,%d]" % (512 if turned else 96), "--weights-type", kind)
    t, = [t for t in initializers(out).values() if len(t.dims) == 2]
    got = numpy.frombuffer(t.raw_data, dtype=numpy.uint16).reshape(t.dims)
    half = w.to(HALF[kind])
    beyond = torch.isinf(half) & torch.isfinite(w)
    half[beyond] = torch.finfo(HALF[kind]).max * torch.sign(w[beyond]).to(HALF[kind])
    wanted = (half.t() if turned else half).contiguous().view(torch.int16).numpy().view(numpy.uint16)
    nan = numpy.isnan((w.t() if turned else w).numpy())
    numpy.testing.assert_array_equal(got[~nan], wanted[~nan])
    assert numpy.isnan(numpy_helper.to_array(t).astype(numpy.float32)[nan]).all()
    assert "changed: %d values of %s are beyond %s" % (int(beyond.sum()), "w.t" if turned else "w", kind) in done.stderr


def test_inputs_and_outputs_of_that_type(tmp_path):
    net, x, spec, path = saved(picture, tmp_path)
    out = tmp_path / "net.onnx"
    oracle.converted(path, out, "-i", spec, "--weights-type", "float16", "--keep-io-types", "no")
    onnx.checker.check_model(str(out), full_check=True)
    model = onnx.load(str(out))
    assert {v.type.tensor_type.elem_type for v in list(model.graph.input) + list(model.graph.output)} == {onnx.TensorProto.FLOAT16}
    for got in run(out, x.half().numpy()):
        assert error(got[0], net(x)) <= 16 * EPSILON["float16"]


def test_state_is_float32_unless_asked(tmp_path):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Linear(64, 64)
            self.register_buffer("total", torch.zeros(2, 64))

        def forward(self, x):
            self.total += self.w(x)
            return self.total * 2
    path, out, x = tmp_path / "net.pt", tmp_path / "net.onnx", torch.rand(2, 64)
    torch.jit.save(torch.jit.script(Net().eval()), str(path))
    for keep, dtype in (("yes", onnx.TensorProto.FLOAT), ("no", onnx.TensorProto.FLOAT16)):
        oracle.converted(path, out, "-i", "x:float32[2,64]", "--weights-type", "float16", "--keep-io-types", keep)
        onnx.checker.check_model(str(out), full_check=True)
        values = onnx.load(str(out)).graph
        assert {v.type.tensor_type.elem_type for v in list(values.input) + list(values.output)} == {dtype}
        of = numpy.float32 if keep == "yes" else numpy.float16
        for got in run(out, x.numpy().astype(of), numpy.zeros((2, 64), of)):
            assert error(got[0], torch.jit.load(str(path))(x)) <= 16 * EPSILON["float16"]


def test_float32_where_it_is_asked_for(tmp_path):
    """By operator and by module: its weights stay float32 too."""
    net, x, spec, path = saved(text, tmp_path)
    out = tmp_path / "net.onnx"
    oracle.converted(path, out, "-i", spec, "--weights-type", "float16", "--float32", "up", "--float32", "Gel*", "--opset", "20")
    onnx.checker.check_model(str(out), full_check=True)
    model = onnx.shape_inference.infer_shapes(onnx.load(str(out)))
    types = {v.name: v.type.tensor_type.elem_type for v in model.graph.value_info}
    of = {n.op_type: {types.get(o) for o in n.output} for n in model.graph.node if n.op_type == "Gelu"}
    assert of == {"Gelu": {onnx.TensorProto.FLOAT}}
    assert {t.name: t.data_type for t in model.graph.initializer if t.name.startswith("up.weight")} == {
        next(n for n in initializers(out) if n.startswith("up.weight")): onnx.TensorProto.FLOAT}
    for got in run(out, x.numpy()):
        assert error(got[0], net(x)) <= 16 * EPSILON["float16"]
    done = oracle.convert(path, out, "-i", spec, "--weights-type", "float16", "--float32", "upp")
    assert done.returncode == 2 and "--float32 upp: no operator and no module of the model is called so" in done.stderr


SQUARE = torch.arange(1.0, 10).view(3, 3)
OUT_OF_REACH = {
    "sums": (lambda x: (x * 100).sum(-1) / 1000, torch.ones(3, 1000)),
    "norms": (lambda x: x / x.norm(dim=-1, keepdim=True).clamp_min(1e-12), torch.tensor([[0.0] * 8, [300.0] * 8])),
    "squares": (lambda x: (x * x).mean(-1, keepdim=True).sqrt(), torch.full((2, 8), 1000.0)),
    "exponentials": (lambda x: torch.exp(x) / torch.exp(x).sum(-1, keepdim=True), torch.tensor([[12.0, 11.0, 1.0]])),
    "sinh": (lambda x: torch.sinh(x).t(), torch.tensor([[12.0, 11.0, 1.0]])),
    "cosh": (lambda x: torch.cosh(x).t(), torch.tensor([[12.0, 11.0, 1.0]])),
    "transforms": (lambda x: torch.fft.rfft(x * 100).abs() / 1e3, torch.ones(1, 1024)),
    "windows": (lambda x: torch.stft(x * 100, 1024, window=torch.ones(1024), center=False, return_complex=True).abs() / 1e3, torch.ones(1, 2048)),
    "sums at indices": (lambda x: torch.zeros(2, 4).index_add(0, torch.zeros(20, dtype=torch.int64), x * 1000.), torch.full((20, 4), 12.0)),
    "sums at elements": (lambda x: torch.zeros(2, 4).scatter_add(0, torch.zeros(20, 4, dtype=torch.int64), x * 1000.), torch.full((20, 4), 12.0)),
    "products at indices": (lambda x: torch.ones(2, 4).scatter_reduce(0, torch.zeros(20, 4, dtype=torch.int64), x, "prod"), torch.full((20, 4), 6.0)),
    "masks": (lambda x: torch.softmax(x + torch.tensor([[0.0, 0.0, 0.0], [torch.finfo(torch.float32).min] * 3]), -1), torch.rand(2, 3)),
    "numbers": (lambda x: x * 1e5 + 3e5, torch.rand(2, 3)),
    "counts": (lambda x: x.sum(-1) / (torch.arange(2) + 70000), torch.full((2, 100), 700.0)),
    "limits": (lambda x: torch.clamp(x, -1e9, 1e9), torch.rand(2, 3)),
    "small weights": (lambda x: x @ (SQUARE * 1e-8), torch.rand(2, 3)),
    "summands of products": (lambda x: x @ SQUARE + 3e5, torch.rand(2, 3)),
    "summands of convolutions": (lambda x: torch.nn.functional.conv1d(x.unsqueeze(-1), SQUARE.unsqueeze(-1)) + 3e5, torch.rand(2, 3)),
}


@pytest.mark.parametrize("kind", sorted(EPSILON))
@pytest.mark.parametrize("what", sorted(OUT_OF_REACH))
def test_what_the_type_does_not_hold_stays_float32(what, kind, tmp_path):
    function, x = OUT_OF_REACH[what]
    path, out = tmp_path / "net.pt", tmp_path / "net.onnx"
    torch.jit.save(plain(function, x), str(path))
    oracle.converted(path, out, "-i", "x:float32[%d,%d]" % tuple(x.shape), "--weights-type", kind)
    onnx.checker.check_model(str(out), full_check=True)
    for got in run(out, x.numpy()):
        assert numpy.isfinite(got[0]).all() and error(got[0], function(x)) <= 8 * EPSILON[kind]


def norm_behind(weight, var, eps=1e-5, mean=0.0, turned=False, channels=16):
    """A convolution with weights of this size, and a batch norm whose variance is `var`: one number, or one for each channel."""
    kind = torch.nn.ConvTranspose2d if turned else torch.nn.Conv2d
    net = torch.nn.Sequential(kind(8, channels, 3, padding=1), torch.nn.BatchNorm2d(channels, eps=eps)).eval()
    with torch.no_grad():
        for p in net[0].parameters():
            p.uniform_(-1, 1).mul_(torch.as_tensor(weight))
        net[1].running_var.copy_(torch.as_tensor(var)), net[1].running_mean.fill_(mean)
        net[1].weight.uniform_(0.5, 1.5), net[1].bias.zero_()
    return net


def scale_behind(*factors, weight=0.1, bias=True, width=64):
    class Net(torch.nn.Module):
        """The scale of a layer, as ConvNeXt and DINO begin with; or two of them."""
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(width, width, bias=bias)
            self.gamma = torch.nn.ParameterList(torch.nn.Parameter(torch.full((width,), f)) for f in factors)
            torch.nn.init.uniform_(self.fc.weight, -weight, weight)

        def forward(self, x):
            x = self.fc(x)
            for gamma in self.gamma:
                x = x * gamma
            return x
    return Net().eval()


def each_other(small, large, n=16):
    return torch.tensor([small, large] * (n // 2))


# A factor behind a weight, the model, the size of its input: multiplied in or not, float16 gives what torch does.
FACTORS = {
    "tiny variance": (lambda: norm_behind(1.0, 1e-10, eps=1e-12), 1e-3),
    "tiny variance, large weights": (lambda: norm_behind(1e3, 1e-10, eps=1e-12), 1e-4),
    "tiny variance of tiny weights": (lambda: norm_behind(1e-4, 1e-10, eps=1e-12), 1.0),
    "huge variance": (lambda: norm_behind(0.1, 1e10), 1e3),
    "huge variance, large weights": (lambda: norm_behind(1e3, 1e10), 1.0),
    "huge variance, turned": (lambda: norm_behind(0.1, 1e10, turned=True), 1e3),
    "tiny variance, turned": (lambda: norm_behind(1e3, 1e-10, eps=1e-12, turned=True), 1e-4),
    "mean beyond": (lambda: norm_behind(10.0, 1e-10, eps=1e-12, mean=1.0), 1e-4),
    "layer scale 1e-5": (lambda: scale_behind(1e-5), 1.0),
    "layer scale 1e-5, no bias": (lambda: scale_behind(1e-5, bias=False), 1.0),
    "layer scale 1e-5 of large weights": (lambda: scale_behind(1e-5, weight=1e3), 1.0),
    "layer scale 1e5": (lambda: scale_behind(1e5), 1.0),
    "layer scale 1e5, no bias": (lambda: scale_behind(1e5, bias=False), 1.0),
    "layer scale 1e5 of tiny weights": (lambda: scale_behind(1e5, weight=1e-4), 1.0),
    "layer scale 1e-3": (lambda: scale_behind(1e-3), 1.0),
    "layer scale 1e-3 of a wide layer": (lambda: scale_behind(1e-3, width=256), 1.0),
    "layer scales 0.01 and 0.01": (lambda: scale_behind(0.01, 0.01), 1.0),
    "layer scales 0.03 and 0.03 of a wide layer": (lambda: scale_behind(0.03, 0.03, width=256), 1.0),
}


@pytest.mark.parametrize("what", sorted(FACTORS))
def test_factors_go_into_weights_where_float16_holds_them(what, tmp_path):
    make, size = FACTORS[what]
    net = make()
    path, out = tmp_path / "net.pt", tmp_path / "net.onnx"
    shapes = [(2, 8, 9, 9)]
    if what.startswith("layer"):
        shapes = [(3, net.fc.in_features), (3, 5, net.fc.in_features)]
    for shape in shapes:
        x = torch.randn(shape) * size
        torch.jit.save(torch.jit.trace(net, x), str(path))
        spec = ("x" if what.startswith("layer") else "input") + ":float32[%s]" % ",".join(map(str, shape))
        oracle.converted(path, out, "-i", spec, "--weights-type", "float16")
        onnx.checker.check_model(str(out), full_check=True)
        for got in run(out, x.numpy()):
            assert numpy.isfinite(got[0]).all() and error(got[0], net(x)) <= 8 * EPSILON["float16"]


def test_one_channel_decides(tmp_path):
    """A channel that float16 would lose keeps the batch norm; one that is zero anyway does not."""
    for var, gamma, kept in ((1.0, 1.0, 0), (1e10, 1.0, 1), (1.0, 0.0, 0), (1e10, 0.0, 0)):
        net = norm_behind(0.1, each_other(1.0, var))
        with torch.no_grad():
            net[1].weight[1::2] = gamma
        path, out, x = tmp_path / "net.pt", tmp_path / "net.onnx", torch.randn(2, 8, 9, 9)
        torch.jit.save(torch.jit.script(net), str(path))
        oracle.converted(path, out, "-i", "input:float32[2,8,9,9]", "--weights-type", "float16")
        assert sum(n.op_type == "BatchNormalization" for n in onnx.load(str(out)).graph.node) == kept
        wanted = net(x)
        for got in run(out, x.numpy()):
            for c in range(2):
                assert gamma == 0 and c or error(got[0][:, c::2], wanted[:, c::2]) <= 8 * EPSILON["float16"]



@pytest.mark.parametrize("factor", [1e-6, 7e-5, 1e-3, 0.1])
def test_a_number_behind_a_convolution(factor, tmp_path):
    """A default session of ONNX Runtime multiplies it into weights of float16 itself where it can."""
    weight = torch.randn(16, 512, 3, 3) * 0.01
    function, x = lambda x: torch.nn.functional.conv2d(x, weight) * factor, torch.randn(1, 512, 5, 5)
    path, out = tmp_path / "net.pt", tmp_path / "net.onnx"
    torch.jit.save(plain(function, x), str(path))
    oracle.converted(path, out, "-i", "x:float32[1,512,5,5]", "--weights-type", "float16")
    for got in run(out, x.numpy()):
        assert error(got[0], function(x)) <= 4 * EPSILON["float16"]


def test_a_batch_norm_says_how_large_its_input_is(tmp_path):
    """ONNX Runtime's CPU runs a Conv of float16 in float32, others do not: there it would be infinite."""
    path, out = tmp_path / "net.pt", tmp_path / "net.onnx"
    for weight, var, mean, kind, kept in ((100.0, 1e10, 0.0, numpy.float16, 0), (0.1, 1e6, 0.0, numpy.float16, 1), (0.1, 1e10, 0.0, numpy.float32, 1),
                                          (0.1, 1e6, 1e5, numpy.float32, 1)):
        net, x = norm_behind(weight, var, mean=mean), torch.randn(2, 8, 9, 9)
        torch.jit.save(torch.jit.script(net), str(path))
        oracle.converted(path, out, "-i", "input:float32[2,8,9,9]", "--weights-type", "float16")
        onnx.checker.check_model(str(out), full_check=True)
        assert sum(n.op_type == "BatchNormalization" for n in onnx.load(str(out)).graph.node) == kept
        assert {numpy_helper.to_array(t).dtype.type for t in initializers(out).values() if len(t.dims) == 4} == {kind}
        for got in run(out, x.numpy()):
            assert error(got[0], net(x)) <= 8 * EPSILON["float16"]


class Small(torch.nn.Module):
    """An epsilon that is a parameter, of one number or of many."""
    def __init__(self, shape, divides):
        super().__init__()
        self.eps, self.divides = torch.nn.Parameter(torch.full(shape, 1e-12)), divides
        self.fc = torch.nn.Linear(32, 32, bias=False)

    def forward(self, x):
        y = self.fc(x)
        if self.divides == 0:
            return y / (y.abs() + self.eps)
        if self.divides == 1:
            return y / torch.sqrt(y.var(-1, keepdim=True, unbiased=False) + self.eps)
        return torch.maximum(y.abs().mean(-1, keepdim=True), self.eps).log()


class Normed(torch.nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.fc, self.kind = torch.nn.Linear(32, 32, bias=False), kind

    def forward(self, x):
        y = self.fc(x)
        if self.kind == "norm":
            return y / (y.norm(dim=-1, keepdim=True) + 1e-12)
        if self.kind == "normalize":
            return torch.nn.functional.normalize(y, dim=-1)
        if self.kind == "layer norm":
            return torch.nn.functional.layer_norm(y, (32,), eps=1e-12)
        if self.kind == "rms norm":
            return y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-12)
        if self.kind == "cosine":
            return torch.nn.functional.cosine_similarity(y, x, dim=-1, eps=1e-12)
        return y / y.abs().clamp(min=1e-12)


NORMED = ["norm", "normalize", "layer norm", "rms norm", "cosine", "clamp"]
SMALL = {"%s" % k: (lambda k=k: Normed(k)) for k in NORMED}
SMALL.update({"parameter %s %d" % (list(s), d): (lambda s=s, d=d: Small(s, d)) for s in ((), (1,), (32,)) for d in range(3)})


@pytest.mark.parametrize("opset", ["13", "18", "23"])
@pytest.mark.parametrize("what", sorted(SMALL))
def test_small_numbers_that_float16_does_not_hold(what, opset, tmp_path):
    """A row of zeros makes what is divided by the epsilon alone."""
    net = SMALL[what]().eval()
    path, out, x = tmp_path / "net.pt", tmp_path / "net.onnx", torch.randn(4, 32)
    x[1] = 0
    torch.jit.save(torch.jit.trace(net, x), str(path))
    oracle.converted(path, out, "-i", "x:float32[4,32]", "--weights-type", "float16", "--opset", opset)
    onnx.checker.check_model(str(out), full_check=True)
    for got in run(out, x.numpy()):
        assert numpy.isfinite(got[0]).all() and error(got[0], net(x)) <= 8 * EPSILON["float16"]


HALF_STEPS = {"softmax": lambda h: torch.softmax(h, -1), "exp": lambda h: h.exp(), "sum": lambda h: h.sum(1), "mean": lambda h: h.mean(1), "norm": lambda h: h.norm(dim=1),
              "layer norm": lambda h: torch.nn.functional.layer_norm(h, (8,)), "comparison": lambda h: torch.where(h > h.flip(1), h, -h), "argmax": lambda h: h.argmax(1),
              "product": lambda h: h @ h.t(), "join": lambda h: torch.cat([h, h * 2], 1), "again": lambda h: h.float().half() * 2}


@pytest.mark.parametrize("kind", HALF)
@pytest.mark.parametrize("step", HALF_STEPS)
def test_what_the_program_computes_in_half_stays_so(step, kind, tmp_path):
    class Inside(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(4, 8)

        def forward(self, x):
            return HALF_STEPS[step](torch.relu(self.fc(x)).half()).float() * 2
    net, x, out = Inside().eval(), torch.rand(3, 4), str(tmp_path / "net.onnx")
    torch.jit.trace(net, x).save(str(tmp_path / "net.pt"))
    scripted.oracle.converted(str(tmp_path / "net.pt"), out, "-i", "x:float32[3,4]", "--weights-type", kind)
    onnx.checker.check_model(out, full_check=True)
    with torch.no_grad():
        wanted = net(x).numpy()
    for (got,) in run(out, x.numpy()):
        if step not in ("comparison", "argmax"):            # a last digit decides
            numpy.testing.assert_allclose(got, wanted, rtol=0.05, atol=0.05)


def test_branches_and_loops(tmp_path):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(40, 40), torch.nn.Linear(40, 40)

        def forward(self, x, n: int):
            y = x
            for i in range(n):
                if bool(y.sum() > 0):
                    y = torch.tanh(self.a(y)) + x
                else:
                    y = self.b(y)
            return y
    net, path, out, x = Net().eval(), tmp_path / "net.pt", tmp_path / "net.onnx", torch.randn(3, 40)
    torch.jit.save(torch.jit.script(net), str(path))
    for kind in EPSILON:
        oracle.converted(path, out, "-i", "x:float32[N,40]", "-i", "n:int64[]", "--weights-type", kind)
        onnx.checker.check_model(str(out), full_check=True)
        for n in (0, 1, 5):
            for got in run(out, x.numpy(), numpy.array(n)):
                assert error(got[0], net(x, n)) <= 16 * EPSILON[kind]


class Maybe(torch.nn.Module):
    """A tensor that one of two branches has."""

    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(64, 64)

    def forward(self, x):
        h = self.fc(x)
        r: Optional[torch.Tensor] = None
        if bool(x.sum() > 0):
            r = h
        return h, r


@pytest.mark.parametrize("kind", sorted(EPSILON))
def test_an_optional_holds_what_it_held(kind, tmp_path):
    net, path, out = Maybe().eval(), tmp_path / "net.pt", tmp_path / "net.onnx"
    torch.jit.save(torch.jit.script(net), str(path))
    oracle.converted(path, out, "-i", "x:float32[N,64]", "--weights-type", kind)
    onnx.checker.check_model(str(out), full_check=True)
    x = torch.rand(3, 64)
    for h, r in run(out, x.numpy()):
        assert error(h, net(x)[0]) <= 2 * EPSILON[kind] and numpy.array_equal(h, r)


class Bits(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(64, 64)

    def forward(self, x):
        h = self.fc(x)
        return h, h.view(torch.int32)


@pytest.mark.parametrize("kind", sorted(EPSILON))
def test_bits_are_those_of_float32(kind, tmp_path):
    """By ONNX's own runtime: ONNX Runtime 1.31 does not have BitCast."""
    path, out = tmp_path / "net.pt2", tmp_path / "net.onnx"
    torch.export.save(torch.export.export(Bits().eval(), (torch.rand(3, 64),)), str(path))
    oracle.converted(path, out, "--weights-type", kind, "--opset", "26", "--target=onnx")
    onnx.checker.check_model(str(out), full_check=True)
    x = numpy.random.rand(3, 64).astype(numpy.float32)
    h, bits = onnx.reference.ReferenceEvaluator(str(out)).run(None, {"x": x})
    assert numpy.array_equal(numpy.asarray(h).view(numpy.int32), bits)


class Timestep(torch.nn.Module):
    """Angles of a time that is an input, as diffusion models take it, and places that are counted."""

    def __init__(self):
        super().__init__()
        self.dense = torch.nn.Linear(64, 64)

    def forward(self, t, n):
        f = torch.exp(-9.2 * torch.arange(32, dtype=torch.float32) / 32)
        a = t[:, None] * f[None]
        angles = torch.cat((a.cos(), a.sin()), -1)
        return angles, self.dense(angles), (torch.arange(3000.) < n).sum(1)


@pytest.mark.parametrize("kind", sorted(EPSILON))
def test_angles_and_counts_keep_their_digits(kind, tmp_path):
    torch.manual_seed(4)
    net, path, out = Timestep().eval(), tmp_path / "net.pt", tmp_path / "net.onnx"
    torch.jit.save(torch.jit.script(net), str(path))
    oracle.converted(path, out, "-i", "t:float32[N]", "-i", "n:float32[N,1]", "--weights-type", kind)
    t, n = torch.tensor([999., 0., 321.5]), torch.tensor([[2500.], [2049.], [257.]])
    for got in run(out, t.numpy(), n.numpy()):
        for a, b in zip(got, net(t, n)):
            assert error(a, b) <= 16 * EPSILON[kind]
        assert numpy.array_equal(got[2], [2500, 2049, 257])


class Spread(torch.nn.Module):
    """An angle whose value goes 300 times into each of six nodes: as many ways lead to it as 300 to the sixth."""

    def forward(self, x):
        y = x * 0.5
        for _ in range(6):
            y = torch.cat([y] * 300)[:4]
        return y.sin() @ torch.ones(4, 4)


def test_an_angle_is_looked_for_in_bounded_time(tmp_path):
    path, x = tmp_path / "net.pt", torch.rand(4, 4)
    torch.jit.save(torch.jit.trace(Spread(), x), str(path))
    oracle.converted(path, tmp_path / "net.onnx", "-i", "x:float32[4,4]", "--weights-type", "float16", "--limit", "seconds=10")
    for got in run(tmp_path / "net.onnx", x.numpy()):
        assert error(got[0], Spread()(x)) <= 16 * EPSILON["float16"]


# ---- int8 and int4 ----

FORMS = [("int8", 13, []), ("int8", 18, []), ("int8", 21, []), ("int8", 23, ["--weights-block", "64"]), ("int4", 21, []), ("int4", 23, []),
         ("int4", 23, ["--weights-block", "16"]), ("int8", 18, ["--fuse"]), ("int4", 11, ["--fuse"]), ("int4", 21, ["--fuse"])]
# The largest error of an element, as a share of the largest: a code where 128 of them are cut to 127; with 4 bits 1.5 where 8.5 are cut to 7.
BOUND = {"int8": 1.001 / 128, "int4": 1.5 / 8.5}


@pytest.mark.parametrize("kind,opset,more", FORMS, ids=lambda v: "".join(v) if isinstance(v, list) else str(v))
@pytest.mark.parametrize("name", sorted(MODELS))
def test_whole_weights_agree_with_torch(name, kind, opset, more, tmp_path):
    """With optimisations off the model computes with the weights of the file, exactly: torch with those weights gives the same. A default
    session may round activations to 8 bits where it makes MatMulNBits of a product."""
    net, x, spec, path = saved(MODELS[name], tmp_path)
    out = tmp_path / "net.onnx"
    oracle.converted(path, out, "-i", spec, "--weights-type", kind, "--opset", str(opset), *more)
    onnx.checker.check_model(str(out), full_check=True)
    wanted = net(x)
    with torch.no_grad():
        for key, weight in weights_of(out).items():
            parameter = dict(net.named_parameters())[key]
            assert parameter.shape == weight.shape, key
            bound = BOUND[kind if "words" not in key and parameter.dim() == 2 else "int8"]
            assert 0 < (parameter - torch.from_numpy(weight)).abs().max() <= bound * parameter.abs().max()
            parameter.copy_(torch.from_numpy(weight))
    exact = net(x)
    default, off = run(out, x.numpy())
    assert error(off[0], exact) <= 1e-5
    assert error(default[0], exact) <= (1e-5 if "--fuse" in more or name == "picture" and opset < 21 and kind == "int4" else 0.03)
    assert error(off[0], wanted) <= (0.03 if kind == "int8" else 0.25)


@pytest.mark.parametrize("kind", sorted(BOUND))
def test_a_session_option_keeps_activations(kind, tmp_path):
    """What docs/onnx-output.md says of session.qdq_matmulnbits_accuracy_level."""
    net, x, spec, path = saved(text, tmp_path)
    out, options = tmp_path / "net.onnx", onnxruntime.SessionOptions()
    oracle.converted(path, out, "-i", spec, "--weights-type", kind, "--opset", "21")
    with torch.no_grad():
        for key, weight in weights_of(out).items():
            dict(net.named_parameters())[key].copy_(torch.from_numpy(weight))
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    got = onnxruntime.InferenceSession(str(out), options).run(None, {"ids": x.numpy()})[0]
    assert error(got, net(x)) <= 1e-5


def weights_of(out):
    """The float32 weights that the codes of a file stand for, as torch has them, by their names."""
    found, model = {}, onnx.load(str(out))
    tensors = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    for name, codes in tensors.items():
        key, _, kind = name.rpartition(".")
        if kind not in ("int8", "int4") or key + ".scale" not in tensors:
            continue
        scale = tensors[key + ".scale"]
        turned = key.endswith(".t") or key.endswith(".T")
        user = next(n for n in model.graph.node if name in n.input)
        attrs = {a.name: onnx.helper.get_attribute_value(a) for a in user.attribute}
        if user.op_type == "MatMulNBits":
            bits, n, k = attrs["bits"], attrs["N"], attrs["K"]
            codes = codes.reshape(n, -1).astype(numpy.int64)
            if bits == 4:
                codes = numpy.stack([codes & 15, codes >> 4], -1).reshape(n, -1)
            scale = numpy.repeat(scale.reshape(n, -1), attrs["block_size"], 1)
            weight = ((codes - (8 if bits == 4 else 128)) * scale)[:, :k]
        elif user.op_type == "Gather":
            weight = codes.astype(numpy.float32) * numpy.repeat(scale, -(-codes.shape[1] // scale.shape[1]), 1)[:, :codes.shape[1]]
        elif "block_size" in attrs:
            weight = (codes.astype(numpy.float32) * numpy.repeat(scale, attrs["block_size"], 0)[:codes.shape[0]]).T
        elif attrs["axis"] == 0:
            weight = codes.astype(numpy.float32) * scale.reshape([-1] + [1] * (codes.ndim - 1))
        else:
            weight = (codes.astype(numpy.float32) * scale).T
        found[key[:-2] if turned else key] = weight.astype(numpy.float32)
    return {k: numpy.ascontiguousarray(v) for k, v in found.items()}


@pytest.mark.parametrize("more", [[], ["--fuse"]], ids=["blocks", "fuse"])
@pytest.mark.parametrize("shape", [(70, 300), (300, 70), (33, 257), (64, 64), (129, 4100)], ids=str)
@pytest.mark.parametrize("turned", [False, True])
def test_blocks_of_any_matrix(shape, turned, more, tmp_path):
    """Sizes that are no multiple of a block, weights stored either way round, and an error no larger than of the usual scale, the
    element of the largest size divided by -8."""
    w = torch.randn(*shape)
    w[0, :40] = 0

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(w.t().contiguous() if turned else w)

        def forward(self, x):
            return x @ (self.w.t() if turned else self.w)
    path, out, x = tmp_path / "net.pt", tmp_path / "net.onnx", torch.randn(3, shape[0])
    torch.jit.save(torch.jit.trace(Net(), x), str(path))
    oracle.converted(path, out, "-i", "x:float32[3,%d]" % shape[0], "--weights-type", "int4", "--opset", "21", *more)
    got, = weights_of(out).values()
    got = torch.from_numpy(got).t()                                     # [K, N]
    assert got.shape == w.shape
    padded = torch.nn.functional.pad(w, (0, 0, 0, -shape[0] % 32)).reshape(-1, 32, shape[1])
    most = padded.gather(1, padded.abs().argmax(1, keepdim=True)) / -8
    usual = torch.where(most == 0, padded * 0, (padded / most).round().clamp(-8, 7) * most).reshape(-1, shape[1])[:shape[0]]
    assert 0 < ((got - w) ** 2).mean() < 0.97 * ((usual - w) ** 2).mean()
    assert (got[0, :40] == w[0, :40]).all() or shape[0] > 1
    for y in list(run(out, x.numpy()))[1 - len(more):]:
        assert error(y[0], x @ got) <= 1e-5


def test_embeddings_take_rows_of_integers(tmp_path):
    """The table is never dequantised whole."""
    net, x, spec, path = saved(text, tmp_path)
    out = tmp_path / "net.onnx"
    oracle.converted(path, out, "-i", spec, "--weights-type", "int4", "--opset", "21")
    model = onnx.load(str(out))
    table, = [t for t in model.graph.initializer if t.name == "words.weight.int8"]
    assert [n.op_type for n in model.graph.node if table.name in n.input] == ["Gather"] and table.data_type == onnx.TensorProto.INT8


@pytest.mark.parametrize("kind", sorted(BOUND))
def test_an_embedding_that_is_a_small_part_stays(kind, tmp_path):
    net = torch.nn.Sequential(torch.nn.Embedding(100, 64), torch.nn.Linear(64, 512), torch.nn.Linear(512, 64)).eval()
    path, out = tmp_path / "net.pt", tmp_path / "net.onnx"
    torch.jit.save(torch.jit.script(net), str(path))
    done = oracle.converted(path, out, "-i", "input:int64[3]", "--weights-type", kind, "--opset", "21", "-v")
    assert "info: 0.weight stays float32: embeddings are less than an eighth of the weights" in done.stderr
    assert initializers(out)["0.weight"].data_type == onnx.TensorProto.FLOAT


def test_a_tied_head_stays_with_its_embedding(tmp_path):
    """Its codes beside the table in float32 would make the file larger."""
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.a, self.b = torch.nn.Embedding(100, 64), torch.nn.Linear(64, 512), torch.nn.Linear(512, 64)
            self.head = torch.nn.Linear(64, 100, bias=False)
            self.head.weight = self.words.weight

        def forward(self, ids):
            return self.head(self.b(self.a(self.words(ids))))
    path, out = tmp_path / "net.pt", tmp_path / "net.onnx"
    torch.jit.save(torch.jit.script(Net().eval()), str(path))
    oracle.converted(path, out, "-i", "ids:int64[N]", "--weights-type", "int8", "--opset", "21")
    assert len([t for t in initializers(out).values() if 6400 in (numpy.prod(t.dims),)]) == 1


def test_two_uses_of_a_weight_share_its_codes(tmp_path):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.head = torch.nn.Embedding(128, 128), torch.nn.Linear(128, 128, bias=False)
            self.head.weight = self.words.weight

        def forward(self, a, b):
            return self.head(self.words(a) + self.head(self.words(b)))
    net, path, out = Net().eval(), tmp_path / "net.pt", tmp_path / "net.onnx"
    torch.jit.save(torch.jit.script(net), str(path))
    for options in ALL[2:]:
        oracle.converted(path, out, "-i", "a:int64[3]", "-i", "b:int64[3]", *options)
        large = [t for t in initializers(out).values() if numpy.prod(t.dims) >= 4096]
        assert len(large) == 2                                      # codes of rows, codes of columns
        a, b = torch.randint(0, 128, (2, 3))
        for got in run(out, a.numpy(), b.numpy()):
            assert error(got[0], net(a, b)) <= 0.3


def test_weights_that_branches_and_loops_take(tmp_path):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = torch.nn.Linear(128, 64), torch.nn.Linear(128, 64, bias=False), torch.nn.Linear(64, 64)

        def forward(self, x, steps: int):
            if bool(x.sum() > 0):
                y = self.a(x)
            else:
                y = self.b(x) + self.a(-x)
            for _ in range(steps):
                y = torch.tanh(self.c(y))
            return y
    torch.manual_seed(3)
    net, path, out = Net().eval(), tmp_path / "net.pt", tmp_path / "net.onnx"
    torch.jit.save(torch.jit.script(net), str(path))
    for options in ALL[2:]:
        oracle.converted(path, out, "-i", "x:float32[2,128]", "-i", "steps:int64[]", *options)
        for x in (torch.rand(2, 128), -torch.rand(2, 128)):
            for got in run(out, x.numpy(), numpy.array(3)):
                assert error(got[0], net(x, 3)) <= 0.3


def test_what_is_not_finite_makes_its_block_nan(tmp_path):
    net = torch.nn.Linear(128, 64, bias=False).eval()
    with torch.no_grad():
        net.weight[3, 70] = numpy.inf
    path, out = tmp_path / "net.pt", tmp_path / "net.onnx"
    torch.jit.save(torch.jit.script(net), str(path))
    for kind in BOUND:
        oracle.converted(path, out, "-i", "input:float32[1,128]", "--weights-type", kind, "--opset", "21")
        weight, = weights_of(out).values()
        nan = numpy.zeros((64, 128), bool)
        nan[3, 64:96] = True
        numpy.testing.assert_array_equal(numpy.isnan(weight), nan)


@pytest.mark.parametrize("kind", sorted(BOUND))
@pytest.mark.parametrize("size", [1e-39, 1e-29, 1e-25, 1e-22, 1e-19, 1.0, 1e19, 1e30, 1e37, 3e38])
def test_blocks_of_numbers_of_any_size(size, kind, tmp_path):
    """The squares of which float32 does not hold, as 0 or infinity. Numbers below 1e-30 are zeros."""
    net = torch.nn.Linear(128, 64, bias=False).eval()
    with torch.no_grad():
        net.weight.uniform_(-1, 1)
        net.weight[3, 32:96] *= size
        net.weight[5, 32:64] = size
    path, out = tmp_path / "net.pt", tmp_path / "net.onnx"
    torch.jit.save(torch.jit.script(net), str(path))
    for more in ([], ["--fuse"]):
        oracle.converted(path, out, "-i", "input:float32[1,128]", "--weights-type", kind, "--opset", "21", *more)
        weight, = weights_of(out).values()
        assert numpy.isfinite(weight).all()
        off = numpy.abs(weight.astype(numpy.float64) - net.weight.detach().numpy())
        assert off[0].max() <= BOUND[kind] and off[3:6, 32:96].max() <= max(size, 1) * BOUND[kind]
        assert size < 1e-30 or max(off[3, 32:64].max(), off[3, 64:96].max(), off[5, 32:64].max()) <= size * BOUND[kind]


def test_says_when_nothing_changes(tmp_path):
    path, out = tmp_path / "net.pt", tmp_path / "net.onnx"
    torch.jit.save(torch.jit.trace(torch.nn.GRU(64, 64).eval(), torch.zeros(3, 1, 64)), str(path))
    done = oracle.converted(path, out, "-i", "input:float32[3,1,64]", "--weights-type", "int8")
    assert "dropped: --weights-type: no weight of this model became int8; -v says why" in done.stderr
    done = oracle.converted(path, out, "-i", "input:float32[3,1,64]", "--weights-type", "int8", "-v")
    assert done.stderr.count("stays float32: its operator takes no integers") == 2


def test_says_what_stays(tmp_path):
    net, x, spec, path = saved(picture, tmp_path)
    done = oracle.converted(path, tmp_path / "net.onnx", "-i", spec, "--weights-type", "int4", "--opset", "21", "-v")
    assert "info: b.weight stays float32: int4 is for products" in done.stderr
    assert "info: 1 weights are int4: 4000 bytes, 25600 before" in done.stderr


# ---- all types ----

ALL = [["--weights-type=float16"], ["--weights-type=bfloat16"], ["--weights-type=int8"], ["--weights-type=int8", "--opset=21"],
       ["--weights-type=int4", "--opset=21"], ["--weights-type=int4", "--fuse"]]


@pytest.mark.parametrize("options", ALL, ids=" ".join)
def test_same_bytes_and_same_weights_wherever_they_lie(options, tmp_path):
    net, x, spec, path = saved(text, tmp_path)
    out = [tmp_path / ("%d.onnx" % i) for i in range(3)]
    oracle.converted(path, out[0], "-i", spec, *options)
    oracle.converted(path, out[1], "-i", spec, *options)
    oracle.converted(path, out[2], "-i", spec, "--weights=external", *options)
    assert out[0].read_bytes() == out[1].read_bytes()
    inside, beside = initializers(out[0]), initializers(out[2])
    assert os.path.getsize(str(out[2]) + ".data") > 10000
    assert {k: v.raw_data for k, v in inside.items()} == {k: v.raw_data for k, v in beside.items()}
    streamed = oracle.convert(path, "-", "-i", spec, "-q", *options)
    assert streamed.returncode == 0


@pytest.mark.parametrize("options", ALL, ids=" ".join)
def test_memory_does_not_grow_with_weights(options, tmp_path):
    """380 MB: weights of Linear, which a MatMul has the other way round."""
    large, tiny = tmp_path / "large.pt", tmp_path / "tiny.pt"
    write_chain.write(str(large), 23, 2048)
    write_chain.write(str(tiny), 23, 64)
    assert large.stat().st_size > 380e6
    more = (peak(large, tmp_path / "large.onnx", "-i", "x:float32[1,3,2048]", *options)
            - peak(tiny, tmp_path / "tiny.onnx", "-i", "x:float32[1,3,64]", *options))
    assert more <= 40 << 20, "%.0f MB more than with tiny weights" % (more / 1e6)


REFUSED = [
    (["--weights-type=float16", "--weights=link"], 2, "--weights=link leaves weights as they are in the archive; --weights-type writes others"),
    (["--weights-type=int4"], 2, "int4 weights need ONNX opset 21, the target is 18; with --fuse ONNX Runtime takes them at any opset"),
    (["--weights-type=int8", "--opset=11"], 2, "int8 weights need ONNX opset 13, the target is 11"),
    (["--weights-type=bfloat16", "--opset=11"], 2, "bfloat16 needs ONNX opset 13, the target is 11"),
    (["--weights-type=int8", "--weights-block=48"], 2, "--weights-block 48: one of 16, 32, 64, 128, 256 is expected"),
    (["--weights-block=64"], 2, "--weights-block needs --weights-type int8 or int4"),
    (["--float32=Gelu"], 2, "--float32 needs --weights-type float16 or bfloat16"),
    (["--keep-io-types=no"], 2, "--keep-io-types=no needs --weights-type float16 or bfloat16"),
    (["--weights-type=int8", "--fuse", "--target=onnx"], 2, "--fuse writes operators of ONNX Runtime, which --target=onnx is not"),
]


@pytest.mark.parametrize("options,code,message", REFUSED, ids=lambda v: " ".join(v) if isinstance(v, list) else None)
def test_refused(options, code, message, tmp_path):
    net, x, spec, path = saved(picture, tmp_path)
    done = oracle.convert(path, tmp_path / "net.onnx", "-i", spec, *options)
    assert done.returncode == code and message in done.stderr
    assert not (tmp_path / "net.onnx").exists()


@pytest.mark.parametrize("options", ALL, ids=" ".join)
def test_a_huge_weight_of_few_bytes_is_bounded(options, tmp_path):
    """4 bytes that are read as 2^40 elements."""
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("w", torch.ones(1).expand(1 << 20, 1 << 20))

        def forward(self, x):
            return x @ self.w
    path, out = tmp_path / "net.pt", tmp_path / "net.onnx"
    torch.jit.save(torch.jit.script(Net()), str(path))
    done = oracle.convert(path, out, "-i", "x:float32[1,1048576]", *options, timeout=20)
    assert done.returncode == 3 and "the limit is" in done.stderr and not out.exists()


def test_from_python(tmp_path):
    import pt2onnx
    net, x, spec, path = saved(picture, tmp_path)
    out = tmp_path / "net.onnx"
    pt2onnx.convert(path, out, inputs=[spec], weights_type="int8", weights_block=64, opset=21)
    assert initializers(out)["b.weight.int8"].data_type == onnx.TensorProto.INT8
    pt2onnx.export(net, (x,), str(out), weights_type="float16", float32=["fc"], opset_version=18)
    kinds = collections.Counter(t.data_type for t in initializers(out).values() if len(t.dims) > 1)
    assert kinds == {onnx.TensorProto.FLOAT16: 2, onnx.TensorProto.FLOAT: 1}
    for got in run(out, x.numpy()):
        assert error(got[0], net(x)) <= 16 * EPSILON["float16"]
    with pytest.raises(ValueError, match="weights_type is one of bfloat16, float16, int4, int8 or None, not 'half'"):
        pt2onnx.convert(path, out, weights_type="half")
    with pytest.raises(pt2onnx.ConversionError, match="int4 weights need ONNX opset 21"):
        pt2onnx.convert(path, out, inputs=[spec], weights_type="int4")
