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


class InBranches(nn.Module):
    """Norms in a branch and in a loop, of a sum that is read behind them too."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.norm = nn.LayerNorm(8)

    def forward(self, x: Tensor, y: Tensor):
        t = x + y
        r = t * 2
        if bool(x.sum() > 0):
            r = self.norm(t)
        for _ in range(x.size(1)):
            r = r * 0.5 + self.norm(t)
        return r + t * 3


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


class Attention(nn.Module):
    """Two heads of four; where rows of the mask see nothing, zeros."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.q, self.k, self.v, self.out = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)

    def split(self, x: Tensor) -> Tensor:
        return x.view(x.shape[0], x.shape[1], 2, 4).transpose(1, 2)

    def joined(self, x: Tensor) -> Tensor:
        return self.out(x.transpose(1, 2).reshape(x.shape[0], x.shape[2], 8))

    def forward(self, x: Tensor, y: Tensor):
        mask = (y[:, None, :, :1] > 0) & (y[:, None, :, 1] > 0)[:, :, None]
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        return self.joined(nn.functional.scaled_dot_product_attention(q, k, v, mask)), x


class Across(Attention):
    """No mask; queries of one sequence, keys and values of another."""

    def forward(self, x: Tensor, y: Tensor):
        y = torch.cat([y, y[:, :1]], 1)
        q, k, v = self.split(self.q(x)), self.split(self.k(y)), self.split(self.v(y))
        return self.joined(nn.functional.scaled_dot_product_attention(q, k, v, scale=-0.3)), x


class Eager(Attention):
    """A mask for columns alone is added, for all rows; the scale stands behind the product."""

    def forward(self, x: Tensor, y: Tensor):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = q @ k.transpose(-1, -2) / 1.7 + (y[:, None, None, :, 0] > 0) * -10000.0
        return self.joined(scores.softmax(-1) @ v), x


class Biased(Attention):
    """As T5: a bias for each head, without batch; no scale."""

    def forward(self, x: Tensor, y: Tensor):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        bias = y.sum((0, 2))[:, None] * torch.tensor([0.5, -2.0])[:, None, None]
        return self.joined(torch.softmax(q @ k.transpose(-1, -2) + bias, -1) @ v), x


class Cached(Attention):
    """Keys and values are appended to those of earlier runs, and leave the model."""

    def forward(self, x: Tensor, y: Tensor):
        k = torch.cat([self.split(y), self.split(self.k(x))], 2)
        v = torch.cat([self.split(y).sin(), self.split(self.v(x))], 2)
        mask = torch.ones(x.shape[1], k.shape[2], dtype=torch.bool).tril(y.shape[1])
        return self.joined(nn.functional.scaled_dot_product_attention(self.split(self.q(x)), k, v, mask)), k, v


class Grouped(Attention):
    """Both heads have one of keys and values: these are repeated, and taken with their heads."""

    def forward(self, x: Tensor, y: Tensor):
        k, v = [h[:, :, None, :4].transpose(1, 2).expand(-1, 2, -1, -1) for h in (self.k(x), self.v(y))]
        return self.joined(torch.softmax(self.split(self.q(x)) @ k.transpose(-1, -2), -1) @ v), x


class OneText(nn.Module):
    """Four heads share two of keys and values, which are appended to a cache: a text at a time."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.q, self.kv = nn.Linear(8, 32), nn.Linear(8, 32)

    def forward(self, x: Tensor, y: Tensor):
        past = torch.stack([y.cumsum(1), y.sin()], 1)
        new = self.kv(x).view(x.shape[0], x.shape[1], 4, 8)
        k = torch.cat([past, new[:, :, :2].transpose(1, 2)], 2)
        v = torch.cat([past.cos(), new[:, :, 2:].transpose(1, 2)], 2)
        q = self.q(x).view(x.shape[0], x.shape[1], 4, 8).transpose(1, 2)
        shared = [t[:, :, None].expand(-1, -1, 2, -1, -1).reshape(t.shape[0], 4, t.shape[2], 8) for t in (k, v)]
        seen = torch.where(torch.ones(x.shape[1], k.shape[2], dtype=torch.bool).tril(1), 0.0, -1e9)
        mixed = (q @ shared[0].transpose(2, 3) * 0.3 + seen).softmax(-1) @ shared[1]
        return mixed.transpose(1, 2).reshape(x.shape[0], x.shape[1], 32), k, v


class Shown(Attention):
    """The weights are a result too: left alone."""

    def forward(self, x: Tensor, y: Tensor):
        weights = torch.softmax(self.split(self.q(x)) @ self.split(self.k(x)).transpose(-1, -2), -1)
        return self.joined(weights @ self.split(self.v(x))), weights


class Sums(Attention):
    """A softmax over the rows, and values of another size: left alone."""

    def forward(self, x: Tensor, y: Tensor):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        narrow = torch.softmax(q @ k.transpose(-1, -2), -1) @ v[..., :3]
        return self.joined(torch.softmax(q @ k.transpose(-1, -2), -2) @ v), narrow.transpose(1, 2).flatten(2)


NETS = {
    Residual: {"SkipLayerNormalization": 2, "BiasGelu": 1},
    InBranches: {},
    Root: {"SkipSimplifiedLayerNormalization": 1},
    Broadcast: {},
    Rotary: {"RotaryEmbedding": 1},
    **dict.fromkeys((Attention, Across, Eager, Biased, Cached, Grouped), {"MultiHeadAttention": 1}),
    Shown: {},
    Sums: {},
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
        own = net in (Attention, Cached) and sizes != "open" and opset == 23
        assert {n: found.count(n) for n in found} == ({} if rotary or own else NETS[net])
        shapes = [(2, 3), (1, 1), (3, 7)] + [(0, 3), (2, 0)] * (sizes == "open")
        # PyTorch's other attention on a CPU loses a NaN of the queries.
        with torch.no_grad(), nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH):
            checked(out, module, [drawn(*s) for s in shapes] + [drawn(2, 3, True)])


@pytest.mark.parametrize("batch, name", [("1", "GroupQueryAttention"), ("batch=1..9", "MultiHeadAttention")])
def test_shared_heads(tmp_path, batch, name):
    """The kernel of GroupQueryAttention refuses several texts of several new tokens behind a cache, and an empty one ends the process."""
    module, out = OneText().eval(), tmp_path / "model.onnx"
    for past in ("past", "length"):
        specs = ("-i", "x:float32[%s,length=1..99,8]" % batch, "-i", "y:float32[%s,%s,8]" % (batch, past))
        oracle.converted(save(module, tmp_path), out, "--fuse", *specs)
        assert [n.op_type for n in onnx.load(str(out)).graph.node if n.domain] == [name]
        texts = (1,) if batch == "1" else (1, 3)
        runs = [(torch.randn(b, n, 8), torch.randn(b, n if past == "length" else p, 8)) for b in texts for n in (1, 4) for p in (0, 1, 5)]
        runs[-1][0][0, 0, 1], runs[-1][1][0, 0, 0] = float("nan"), float("inf")
        with torch.no_grad():
            checked(out, module, runs)


def test_not_without_being_asked(tmp_path):
    path, out = save(Residual().eval(), tmp_path), tmp_path / "model.onnx"
    oracle.converted(path, out, "-i", "x:float32[batch,length,8]", "-i", "y:float32[batch,length,8]")
    assert not [n for n in onnx.load(str(out)).graph.node if n.domain]


class Noisy(nn.Module):
    """Random numbers come from a node without inputs."""

    def forward(self, x: Tensor):
        return x + torch.randn(2, 3) * 0


def test_nodes_without_inputs(tmp_path):
    out = tmp_path / "model.onnx"
    oracle.converted(save(Noisy(), tmp_path), out, "-i", "x:float32[2,3]", "--fuse")
    assert "RandomNormal" in [n.op_type for n in onnx.load(str(out)).graph.node]
