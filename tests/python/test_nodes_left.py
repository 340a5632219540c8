"""A default session of ONNX Runtime has no more nodes left from ours than from torch.onnx's file, module by module: forms that it knows."""
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from left import converted, nodes_left, nodes_of_session

warnings.filterwarnings("ignore", module="torch.onnx")


class Of(nn.Module):
    """A function, with the modules that it calls."""

    def __init__(self, fn, *parts):
        super().__init__()
        self.fn, self.parts = fn, nn.ModuleList(parts)

    def forward(self, *args):
        return self.fn(*self.parts, *args)


def written(x, v):
    y = x.clone()
    y[:, 2:5] = v
    return y


IMAGE, ROWS, TABLE, WORDS = torch.randn(2, 8, 12, 12), torch.randn(2, 8, 16), torch.randn(4, 16), torch.arange(6).view(2, 3)
HEADS, INDEX, FEW = torch.randn(2, 4, 8, 16), torch.zeros(2, 3, 16, dtype=torch.int64), torch.tensor([0, 1])
MODULES = {
    **{type(m).__name__: (m, ROWS) for m in (
        nn.LayerNorm(16), nn.RMSNorm(16), nn.GELU(), nn.SiLU(), nn.Mish(), nn.Hardswish(), nn.Hardsigmoid(), nn.ELU(), nn.SELU(),
        nn.CELU(1.5), nn.GLU(-1), nn.LeakyReLU(), nn.ReLU6(), nn.Softplus(), nn.Softsign(), nn.Tanhshrink(), nn.Threshold(0.1, 20), nn.Softshrink(),
        nn.Hardshrink(), nn.Softmin(-1), nn.LogSoftmax(-1), nn.RReLU(), nn.Linear(16, 8), nn.Conv1d(8, 8, 3), nn.Dropout(0.1))},
    **{type(m).__name__: (m, IMAGE) for m in (
        nn.GroupNorm(4, 8), nn.InstanceNorm2d(8, affine=True), nn.BatchNorm2d(8), nn.PReLU(8), nn.Softmax2d(), nn.ConvTranspose2d(8, 4, 3, 2, 1, 1),
        nn.MaxPool2d(3, 2, 1), nn.AvgPool2d(3, 2, 1), nn.AdaptiveAvgPool2d(1), nn.AdaptiveMaxPool2d(3), nn.PixelShuffle(2), nn.PixelUnshuffle(2),
        nn.ChannelShuffle(4), nn.Unfold(3), nn.LocalResponseNorm(3), nn.Upsample(scale_factor=2))},
    "norm without bias": (nn.LayerNorm(16, bias=False), ROWS),
    "gelu tanh": (nn.GELU("tanh"), ROWS),
    "upsample bilinear": (nn.Upsample(scale_factor=2, mode="bilinear"), IMAGE),
    "upsample corners": (nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), IMAGE),
    "upsample cubic": (nn.Upsample(scale_factor=2, mode="bicubic"), IMAGE),
    "norm of channels": (Of(lambda n, x: n(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2), nn.LayerNorm(8)), IMAGE),
    "norm of a sum": (Of(lambda n, x, y: n(x + y), nn.LayerNorm(16)), ROWS, ROWS + 1),
    "gelu of a linear": (Of(lambda a, x: F.gelu(a(x)), nn.Linear(16, 32)), ROWS),
    "quick gelu": (Of(lambda x: x * torch.sigmoid(1.702 * x)), ROWS),
    "swiglu": (Of(lambda a, b, c, x: c(F.silu(a(x)) * b(x)), nn.Linear(16, 32), nn.Linear(16, 32), nn.Linear(32, 16)), ROWS),
    "two layers": (nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8), nn.LogSoftmax(-1)), TABLE),
    "two layers of rows": (nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16)), ROWS),
    "bilinear": (nn.Bilinear(16, 16, 4), TABLE, TABLE + 1),
    "conv, norm, relu": (nn.Sequential(nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8), nn.ReLU()), IMAGE),
    "conv, norm, silu": (nn.Sequential(nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8), nn.SiLU()), IMAGE),
    "conv, norm, hardswish": (nn.Sequential(nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8), nn.Hardswish()), IMAGE),
    "residual": (Of(lambda c, x: F.relu(c(x) + x), nn.Conv2d(8, 8, 3, padding=1)), IMAGE),
    "same padding": (nn.Conv2d(8, 8, 3, padding="same"), IMAGE),
    "reflected padding": (nn.Conv2d(8, 8, 3, padding=1, padding_mode="reflect"), IMAGE),
    "circular padding": (nn.Conv2d(8, 8, 3, padding=1, padding_mode="circular"), IMAGE),
    "zeros, conv": (nn.Sequential(nn.ZeroPad2d(1), nn.Conv2d(8, 8, 3)), IMAGE),
    "zeros, pool": (Of(lambda x: F.max_pool2d(F.pad(x, (0, 1, 0, 1)), 2)), IMAGE),
    "head": (Of(lambda a, x: a(F.adaptive_avg_pool2d(x, 1).flatten(1)), nn.Linear(8, 4)), IMAGE),
    "head of a mean": (Of(lambda a, x: a(x.mean([2, 3])), nn.Linear(8, 4)), IMAGE),
    "squeeze and excite": (Of(lambda a, b, x: x * torch.sigmoid(b(F.relu(a(x.mean((2, 3), keepdim=True))))), nn.Conv2d(8, 2, 1), nn.Conv2d(2, 8, 1)), IMAGE),
    "branches of branches": (Of(lambda x: torch.cat([torch.cat([x, x + 1], 1), torch.cat([x * 2, x - 1], 1)], 1)), IMAGE),
    "attention": (Of(lambda m, x: m(x, x, x, need_weights=False)[0], nn.MultiheadAttention(16, 4, batch_first=True)), ROWS),
    "cross attention": (Of(lambda m, x, y: m(x, y, y, need_weights=False)[0], nn.MultiheadAttention(16, 4, batch_first=True)), ROWS, torch.randn(2, 5, 16)),
    "attention in parts": (Of(lambda q, k, v: torch.softmax(q @ k.transpose(-2, -1) / 4.0, -1) @ v), HEADS, HEADS + 1, HEADS + 2),
    "scaled products": (Of(lambda q, k, v: F.scaled_dot_product_attention(q, k, v)), HEADS, HEADS + 1, HEADS + 2),
    "causal products": (Of(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)), HEADS, HEADS + 1, HEADS + 2),
    "addmm": (Of(lambda a, b, c: torch.addmm(a, b, c, alpha=0.5)), torch.randn(4), TABLE, torch.randn(16, 4)),
    "lstm": (Of(lambda m, x: m(x)[0], nn.LSTM(16, 8, 2, bidirectional=True)), ROWS),
    "gru": (Of(lambda m, x: m(x)[0], nn.GRU(16, 8, batch_first=True, bidirectional=True)), ROWS),
    "rnn": (Of(lambda m, x: m(x)[0], nn.RNN(16, 8)), ROWS),
    "lstm cell": (Of(lambda m, x, h, c: m(x, (h, c)), nn.LSTMCell(16, 8)), TABLE, torch.randn(4, 8), torch.randn(4, 8)),
    "gru cell": (Of(lambda m, x, h: m(x, h), nn.GRUCell(16, 8)), TABLE, torch.randn(4, 8)),
    "embedding": (nn.Embedding(100, 16), WORDS),
    "mean of embeddings": (Of(lambda e, x: e(x).mean(1), nn.Embedding(100, 16)), WORDS),
    "words and places": (Of(lambda w, p, n, x: n(w(x) + p(torch.arange(3)[None])), nn.Embedding(300, 32), nn.Embedding(200, 32), nn.LayerNorm(32)), WORDS),
    "normalize": (Of(lambda x: F.normalize(x, dim=-1)), ROWS),
    "similarity": (nn.CosineSimilarity(-1), ROWS, ROWS + 1),
    "distances": (Of(torch.cdist), ROWS, ROWS + 1),
    "deviation": (Of(lambda x: x.std(-1)), ROWS),
    "norm": (Of(lambda x: x.norm(dim=-1)), ROWS),
    "log of a sum": (Of(lambda x: x.logsumexp(-1)), ROWS),
    "cumulative sum": (Of(lambda x: x.cumsum(1)), ROWS),
    "turned round": (Of(lambda x: x.flip(1)), ROWS),
    "rolled": (Of(lambda x: x.roll((1, 2), (2, 3))), IMAGE),
    "lower half": (Of(lambda x: x.tril()), ROWS),
    "chunks": (Of(lambda x: x.chunk(3, -1)), ROWS),
    "where": (Of(lambda x: torch.where(x > 0, x, x * 0.1)), ROWS),
    "filled": (Of(lambda x, m: x.masked_fill(m, -1e9)), ROWS, ROWS > 0),
    "largest": (Of(lambda x: x.topk(3)), ROWS),
    "sorted": (Of(lambda x: x.sort(-1, descending=True)), ROWS),
    "maximum": (Of(lambda x: x.max(-1)), ROWS),
    "gathered": (Of(lambda x, i: x.gather(1, i)), ROWS, INDEX),
    "selected": (Of(lambda x, i: x[:, i]), ROWS, FEW),
    "of two indices": (Of(lambda x, i, j: x[i, j]), ROWS, FEW, FEW + 1),
    "scattered": (Of(lambda x, i, s: x.scatter(1, i, s)), ROWS, INDEX, torch.randn(2, 3, 16)),
    "written": (Of(written), ROWS, torch.randn(2, 3, 16)),
    "one hot": (Of(lambda i: F.one_hot(i, 10)), torch.arange(6)),
    "repeated": (Of(lambda x: x.repeat(1, 2, 1)), ROWS),
    "interleaved": (Of(lambda x: x.repeat_interleave(2, 1)), ROWS),
    "rotary": (Of(lambda x, c, s: x * c + torch.cat([-x[..., 8:], x[..., :8]], -1) * s), HEADS, torch.randn(8, 16), torch.randn(8, 16)),
    "windows": (Of(lambda x: x.view(2, 8, 3, 4, 3, 4).permute(0, 2, 4, 3, 5, 1).reshape(-1, 16, 8)), IMAGE),
    "patches": (Of(lambda c, x: c(x).flatten(2).transpose(1, 2), nn.Conv2d(8, 16, 4, 4)), IMAGE),
    "whole numbers": (Of(lambda x: (x % 3) * 2 + 1), torch.arange(6)),
    "weight norm": (nn.utils.parametrizations.weight_norm(nn.Linear(16, 8)), ROWS),
    "standardised weight": (Of(lambda c, x: F.conv2d(x, (c.weight - c.weight.mean((1, 2, 3), keepdim=True)) / c.weight.std((1, 2, 3), keepdim=True)), nn.Conv2d(8, 8, 3)), IMAGE),
    "generalised mean": (Of(lambda x: F.avg_pool2d(x.clamp(min=1e-6).pow(3), 12).pow(1 / 3)), IMAGE),
}


@pytest.mark.parametrize("opset", [13, 18])
@pytest.mark.parametrize("name", MODULES)
def test_none_has_more_nodes_left(tmp_path, name, opset):
    net, *args = MODULES[name]
    ours = nodes_of_session(tmp_path, converted(tmp_path, net, *args, options=["--opset", str(opset)]), net, *args)
    theirs = str(tmp_path / "theirs.onnx")
    try:
        torch.onnx.export(net.eval(), tuple(args), theirs, dynamo=False, opset_version=opset)
    except torch.onnx.errors.OnnxExporterError:
        return                                                      # it does not know the operator
    assert ours.total() <= nodes_left(theirs, tmp_path).total(), ours
