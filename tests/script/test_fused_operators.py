"""--fuse: operators of com.microsoft, in ONNX Runtime's default session, without optimisations and in PyTorch; also for NaN and sizes 0 and 1."""
import numpy
import onnx
import onnxruntime
import pytest
import torch
from torch import Tensor, nn

from scripted import flat, oracle, save

LEVELS = (onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)


class Residual(nn.Module):
    """The sum goes on beside its norm; the last norm's sum does not."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.norm, self.last, self.wide = nn.LayerNorm(8), nn.LayerNorm(8, bias=False), nn.Linear(8, 8)

    def forward(self, x: Tensor, y: Tensor):
        x = x + y
        x = x + nn.functional.gelu(self.wide(self.norm(x)))
        return self.last(x + y), x


class Root(nn.Module):
    """RMSNorm as language models write it; the first has no sum before it."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.weight = nn.Parameter(torch.rand(8) + 0.5)

    def norm(self, x: Tensor) -> Tensor:
        x = x.to(torch.float32)
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))

    def forward(self, x: Tensor, y: Tensor):
        x = self.norm(x) + y
        return self.norm(x), x


class Broadcast(Residual):
    """A vector is added: no sum of two of one shape."""

    def forward(self, x: Tensor, y: Tensor):
        return self.norm(x + self.wide.bias), self.last(y)


class Rotary(nn.Module):
    def forward(self, x: Tensor, y: Tensor):
        angles = y.cumsum(1)[:, :, :4]
        angles = torch.cat([angles, angles], -1)[:, None]
        heads = x.view(x.shape[0], x.shape[1], 1, 8).transpose(1, 2)
        half = torch.cat([-heads[..., 4:], heads[..., :4]], -1)
        return heads * angles.cos() + half * angles.sin()


NETS = {
    Residual: {"SkipLayerNormalization": 2, "BiasGelu": 1},
    Root: {"SkipSimplifiedLayerNormalization": 1},
    Broadcast: {},
    Rotary: {"RotaryEmbedding": 1},
}
SIZES = {"open": ("batch", "length"), "never empty": ("batch=1..9", "length=1..9")}


def checked(out, module, runs):
    for level in LEVELS:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level, options.log_severity_level = level, 3
        session = onnxruntime.InferenceSession(str(out), options, providers=["CPUExecutionProvider"])
        for x, y in runs:
            got, want = session.run(None, {"x": x.numpy(), "y": y.numpy()}), flat(module(x, y))
            for a, b in zip(got, want):
                assert a.shape == b.shape and numpy.allclose(a, b, rtol=1e-5, atol=1e-5, equal_nan=True), (level, x.shape)


def drawn(batch, length, spoiled=False):
    x, y = torch.randn(batch, length, 8), torch.randn(batch, length, 8)
    if spoiled:
        x[0, 0, 1], y[-1, -1, 2] = float("nan"), float("inf")
    return x, y


@pytest.mark.parametrize("opset", (17, 18, 23))
@pytest.mark.parametrize("net", NETS)
def test_fused(tmp_path, net, opset):
    module, out = net().eval(), tmp_path / "model.onnx"
    path = save(module, tmp_path)
    for sizes, (batch, length) in SIZES.items():
        specs = ("-i", "x:float32[%s,%s,8]" % (batch, length), "-i", "y:float32[batch,length,8]")
        oracle.converted(path, out, "--opset", str(opset), "--fuse", *specs)
        found = [n.op_type for n in onnx.load(str(out)).graph.node if n.domain == "com.microsoft"]
        rotary = net is Rotary and (sizes == "open" or opset == 23)     # its kernel takes no empty batch, and opset 23 has its own
        assert {n: found.count(n) for n in found} == ({} if rotary else NETS[net])
        shapes = [(2, 3), (1, 1), (3, 7)] + [(0, 3), (2, 0)] * (sizes == "open")
        with torch.no_grad():
            checked(out, module, [drawn(*s) for s in shapes] + [drawn(2, 3, True)])


def test_not_without_being_asked(tmp_path):
    path, out = save(Residual().eval(), tmp_path), tmp_path / "model.onnx"
    oracle.converted(path, out, "-i", "x:float32[batch,length,8]", "-i", "y:float32[batch,length,8]")
    assert not [n for n in onnx.load(str(out)).graph.node if n.domain]
