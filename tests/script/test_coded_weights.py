"""Weights of 4 and 8 bits that the program itself holds, as torchao leaves them: tensors that wrap others, blocks of codes, codes laid out for a kernel of CUDA."""
import os
import subprocess
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
LEVELS = (onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL)
AFFINE = "(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, ScalarType input_dtype, Scalar? quant_min=None, Scalar? quant_max=None, ScalarType output_dtype=6) -> Tensor"


@torch.library.custom_op("torchao::dequantize_affine", mutates_args=(), schema=AFFINE)
def dequantize_affine(input, block_size, scale, zero_point, input_dtype, quant_min=None, quant_max=None, output_dtype=torch.float32):
    """torchao's own, for matrices in blocks of a row: it is no part of PyTorch."""
    codes = input.to(output_dtype).reshape(scale.shape[0], scale.shape[1], -1)
    zero = 0 if zero_point is None else zero_point.to(output_dtype)[..., None]
    return ((codes - zero) * scale[..., None]).reshape(input.shape)


@dequantize_affine.register_fake
def _(input, block_size, scale, zero_point, input_dtype, quant_min=None, quant_max=None, output_dtype=torch.float32):
    return torch.empty(input.shape, dtype=output_dtype)


class Wrapped(torch.Tensor):
    """A weight that wraps codes and scales. torch.export writes what is taken out of it as export.access_subclass_inner_tensor."""

    @staticmethod
    def __new__(cls, codes, scale):
        return torch.Tensor._make_wrapper_subclass(cls, codes.shape, dtype=torch.float32)

    def __init__(self, codes, scale):
        self.codes, self.scale = codes, scale

    def __tensor_flatten__(self):
        return ["codes", "scale"], None

    @classmethod
    def __tensor_unflatten__(cls, parts, context, size, stride):
        return cls(parts["codes"], parts["scale"])

    @classmethod
    def __torch_function__(cls, f, types, args=(), kwargs=None):
        if f is torch.nn.functional.linear:
            x, w, *bias = args
            return f(x, w.codes.float() * w.scale, *bias)
        return super().__torch_function__(f, types, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, f, types, args=(), kwargs=None):
        if f is torch.ops.aten.detach.default:
            return cls(args[0].codes, args[0].scale)
        raise NotImplementedError(f)


class Linear(torch.nn.Module):
    """x W + b, of a weight that is made as the model runs."""

    def __init__(self, weight, n):
        super().__init__()
        self.make, self.bias = weight, torch.nn.Parameter(torch.randn(n))
        for name, value in vars(weight).items():
            if isinstance(value, torch.Tensor):
                self.register_buffer(name, value)

    def forward(self, x):
        return torch.nn.functional.linear(x, self.make(self), self.bias)


class Blocks:
    """torchao's weights of `bits` bits: a scale and a zero point for each block of a row."""

    def __init__(self, n, k, block, bits, zeros=True):
        least = -2 ** (bits - 1)
        self.codes = torch.randint(least, -least, (n, k), dtype=torch.int8)
        self.scale = torch.rand(n, k // block) * 0.1 + 0.01
        self.zero = torch.randint(-3, 4, (n, k // block), dtype=torch.int8) if zeros else None
        self.block, self.least = block, least

    def __call__(self, net):
        zero = net.zero if self.zero is not None else None
        return torch.ops.torchao.dequantize_affine(net.codes, [1, self.block], net.scale, zero, torch.int8, self.least, -self.least - 1)


def converted(model, x, tmp_path, *options):
    path, out = tmp_path / "model.pt2", tmp_path / "model.onnx"
    with torch.no_grad():
        torch.export.save(torch.export.export(model.eval(), (x,)), str(path))
    oracle.converted(path, out, *options)
    return out


def results(path, x):
    for level in LEVELS:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        yield session.run(None, {session.get_inputs()[0].name: x.numpy()})[0]


def agrees(path, x, want):
    for got in results(path, x):
        assert got.shape == want.shape and numpy.abs(got - want).max() <= 2e-6 * numpy.abs(want).max()


def nodes_of(path):
    return [n.op_type for n in onnx.load(path).graph.node]


def types_of(path):
    return {i.name: i.data_type for i in onnx.load(path).graph.initializer}


# ---- tensors that wrap others ----

def test_a_weight_that_wraps_others_is_taken_apart(tmp_path):
    torch.manual_seed(0)
    model, x = torch.nn.Sequential(torch.nn.Linear(8, 6), torch.nn.ReLU(), torch.nn.Linear(6, 4)), torch.randn(3, 8)
    for layer in (model[0], model[2]):
        weight = Wrapped(torch.randint(-128, 128, layer.weight.shape, dtype=torch.int8), torch.rand(layer.out_features, 1))
        layer.weight = torch.nn.Parameter(weight, requires_grad=False)
    out = converted(model, x, tmp_path)
    agrees(out, x, model(x).detach().numpy())
    assert {"0.weight.codes.cast.mul", "2.weight.codes.cast.mul"} <= set(types_of(out))
    shown = subprocess.run([oracle.PROGRAM, "show", str(tmp_path / "model.pt2")], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert "0.weight.scale" in shown


# ---- blocks ----

@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("bits, block, zeros", [(4, 32, True), (4, 16, False), (8, 64, True), (4, 96, True), (8, 192, False)])
def test_weights_in_blocks(bits, block, zeros, rank, tmp_path):
    """4 bits are packed; --fuse makes MatMulNBits, where a row with one scale (block 192) has that for each of its blocks, and leaves what its kernel does not take (96)."""
    torch.manual_seed(0)
    model, x = Linear(Blocks(10, 192, block, bits, zeros), 10), torch.randn(*[3, 2][:rank - 1], 192)
    want = model(x).detach().numpy()
    plain = converted(model, x, tmp_path, "--opset=21")
    agrees(plain, x, want)
    assert types_of(plain)["codes.int4" if bits == 4 else "codes"] == (onnx.TensorProto.INT4 if bits == 4 else onnx.TensorProto.INT8)
    fused = converted(model, x, tmp_path, "--opset=21", "--fuse")
    agrees(fused, x, want)
    assert ("MatMulNBits" in nodes_of(fused)) == (block != 96) and ("DequantizeLinear" in nodes_of(fused)) == (block == 96)
    agrees(converted(model, x, tmp_path, "--opset=18", "--fuse"), x, want)


def test_codes_that_4_bits_do_not_hold_are_an_error(tmp_path):
    torch.manual_seed(0)
    weight = Blocks(10, 64, 32, 4)
    weight.codes[3, 5] = 9
    with torch.no_grad():
        torch.export.save(torch.export.export(Linear(weight, 10), (torch.randn(2, 64),)), str(tmp_path / "model.pt2"))
    out = tmp_path / "model.onnx"
    done = subprocess.run([oracle.PROGRAM, str(tmp_path / "model.pt2"), "-o", str(out), "--opset=21"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "has other numbers than those of 4 bits" in done.stderr and not out.exists()


class Rows(torch.nn.Module):
    """int8 weight-only, with one scale for each row behind the product."""

    def __init__(self, n, k, call):
        super().__init__()
        self.register_buffer("codes", torch.randint(-128, 128, (n, k), dtype=torch.int8))
        self.register_buffer("scale", torch.rand(n))
        self.call = call

    def forward(self, x):
        return torch.ops.aten._weight_int8pack_mm(x, self.codes, self.scale) if self.call else (x @ self.codes.t().float()) * self.scale


@pytest.mark.parametrize("k, fuses", [(768, True), (48, True), (40, False)])
@pytest.mark.parametrize("call", [True, False], ids=["_weight_int8pack_mm", "in parts"])
def test_rows_of_8_bits(call, k, fuses, tmp_path):
    torch.manual_seed(0)
    model, x = Rows(600, k, call), torch.randn(5, k)    # smaller ones would be folded
    want = model(x).numpy()
    plain = converted(model, x, tmp_path)
    agrees(plain, x, want)
    assert onnx.TensorProto.INT8 in types_of(plain).values()
    fused = converted(model, x, tmp_path, "--fuse")
    agrees(fused, x, want)
    assert ("MatMulNBits" in nodes_of(fused)) == fuses


# ---- codes for CUDA's tensor cores ----

def for_tensor_cores(codes, inner):
    """codes [N, K] from 0 to 15, as aten::_convert_weight_to_int4pack lays them out: eight to an int32, of a row each."""
    n, k = codes.shape
    out = numpy.zeros((n // 8, k // (16 * inner), 32, inner // 2), numpy.uint32)
    for place in numpy.ndindex(out.shape):
        row, column = 8 * place[0] + place[2] // 4, 16 * (inner * place[1] + 2 * place[3]) + 2 * (place[2] % 4)
        # PyTorch's order: the 1st, 3rd, 5th and 7th of eight codes below the others
        eight = [int(codes[row, column + o]) for o in (0, 1, 8, 9, 16, 17, 24, 25)]
        out[place] = sum(eight[i] << 4 * at for at, i in enumerate((0, 2, 4, 6, 1, 3, 5, 7)))
    return torch.from_numpy(out.view(numpy.int32))


class Cores(torch.nn.Module):
    def __init__(self, codes, inner, group):
        super().__init__()
        self.register_buffer("codes", for_tensor_cores(codes.numpy(), inner))
        self.register_buffer("both", (torch.rand(codes.shape[1] // group, codes.shape[0], 2) - 0.5).bfloat16())
        self.group = group

    def forward(self, x):
        return torch.ops.aten._weight_int4pack_mm(x.bfloat16(), self.codes, self.group, self.both).float()


@pytest.mark.parametrize("inner", [2, 4, 8])
def test_codes_for_tensor_cores(inner, tmp_path):
    torch.manual_seed(0)
    codes, group = torch.randint(0, 16, (24, 32 * inner)), 32
    model, x = Cores(codes, inner, group), torch.randn(5, 32 * inner).bfloat16().float()
    scale, zero = (model.both[..., i].float().t().repeat_interleave(group, 1) for i in (0, 1))
    want = (x @ ((codes - 8) * scale + zero).t()).numpy()
    for options, kind in ((["--opset=18"], None), (["--opset=21"], "DequantizeLinear"), (["--opset=21", "--fuse"], "MatMulNBits")):
        out = converted(model, x, tmp_path, *options)
        assert kind is None or kind in nodes_of(out)
        for got in results(out, x):                                 # the result is bfloat16: half a step of 2^-8
            assert (numpy.abs(got - want) <= 2 ** -8 * numpy.abs(want) + 1e-5).all()


def test_codes_for_a_cpu_are_refused(tmp_path):
    class Packed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("codes", torch.ops.aten._convert_weight_to_int4pack_for_cpu(torch.randint(0, 16, (64, 64), dtype=torch.int32), 1))
            self.register_buffer("both", torch.rand(2, 64, 2))

        def forward(self, x):
            return torch.ops.aten._weight_int4pack_mm_for_cpu(x, self.codes, 32, self.both)

    torch.export.save(torch.export.export(Packed(), (torch.randn(2, 64),)), str(tmp_path / "model.pt2"))
    done = subprocess.run([oracle.PROGRAM, "check", str(tmp_path / "model.pt2")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 1 and "laid out for the processor that packed it" in done.stdout


class Float8(torch.nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.register_buffer("weight", torch.randn(64, 80).to(dtype))

    def forward(self, x):
        return x @ self.weight.to(torch.float32), x.to(self.weight.dtype).to(torch.float32)


@pytest.mark.parametrize("kind", ["e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz"])
def test_floats_of_8_bits(kind, tmp_path):
    """A weight of more elements than are computed ahead, and numbers that are too large."""
    torch.manual_seed(2)
    net, path, out = Float8(getattr(torch, "float8_" + kind)), tmp_path / "net.pt", tmp_path / "net.onnx"
    torch.jit.save(torch.jit.script(net), str(path))
    x = torch.randn(2, 64)
    x[0, :4] = torch.tensor([1e6, -70000, float("inf"), float("nan")])
    x[1, 0] = 300
    oracle.converted(path, out, "-i", "x:float32[N,64]", "--opset", "19")
    for level in LEVELS:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        got = onnxruntime.InferenceSession(str(out), options).run(None, {"x": x.numpy()})
        for a, b in zip(got, net(x)):
            numpy.testing.assert_allclose(a, b.numpy(), rtol=1e-5, atol=1e-5)
