"""quantised.py - writes quantised/*.pt and their .npz: models of torch.ao.quantization, by torch 2.13.

    python tests/programs/quantised.py

tests/script/test_quantised.py runs them in ONNX Runtime without its optimizations: there the results are PyTorch's to the step."""
import io
import os
import warnings

import numpy
import torch
import torch.ao.nn.quantized as nnq
import torch.ao.quantization as tq
from torch import nn

from archive import without_debug

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "quantised")


class Images(nn.Module):
    """Convolutions with a scale for each channel, pooling, arithmetic, views."""

    def __init__(self):
        super().__init__()
        self.quant, self.dequant = tq.QuantStub(), tq.DeQuantStub()
        self.first, self.relu = nn.Conv2d(3, 4, 3, padding=1), nn.ReLU()
        self.second = nn.Conv2d(4, 4, 3, stride=2, groups=2, bias=False)
        self.pool, self.mean = nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1)
        self.linear = nn.Linear(8, 5)
        self.ops = nnq.FloatFunctional()
        self.more = nnq.FloatFunctional()
        self.last = nnq.FloatFunctional()

    def forward(self, x):
        y = self.relu(self.first(self.quant(x)))
        z = self.second(self.ops.add(y, y))
        z = self.more.cat([z, self.last.mul(z, z)], 1)
        z = torch.flatten(self.mean(self.pool(z)), 1)
        return self.dequant(torch.sigmoid(self.linear(z)))


class Rows(nn.Module):
    """One scale for a weight, a convolution of one axis, activations and a norm with scales of their own."""

    def __init__(self):
        super().__init__()
        self.quant, self.dequant = tq.QuantStub(), tq.DeQuantStub()
        self.conv, self.linear, self.relu = nn.Conv1d(4, 6, 3, dilation=2), nn.Linear(6, 4), nn.ReLU()
        self.swish, self.leaky, self.norm = nn.Hardswish(), nn.LeakyReLU(0.2), nn.LayerNorm(6)

    def forward(self, x):
        y = self.leaky(self.swish(self.conv(self.quant(x))))
        y = self.norm(y.transpose(1, 2).contiguous())
        return self.dequant(self.relu(self.linear(y)))


class Tables(nn.Module):
    """Tables of 8 and of 4 bits, looked up and added up."""

    def __init__(self):
        super().__init__()
        self.bags, self.words, self.few = nn.EmbeddingBag(9, 6, mode="sum", include_last_offset=True), nn.Embedding(7, 3), nn.EmbeddingBag(5, 4, mode="sum")
        self.bags.qconfig = self.few.qconfig = tq.float_qparams_weight_only_qconfig_4bit
        self.words.qconfig = tq.float_qparams_weight_only_qconfig

    def forward(self, x, ends, words):
        return torch.cat([self.bags(x, ends), self.words(words), self.few(words.view(-1, 1) % 5)], 1)


def tables():
    return tq.convert(tq.prepare(Tables().eval()))


def static(model, x, weights, fuse):
    model.eval().qconfig = tq.QConfig(activation=tq.HistogramObserver.with_args(reduce_range=True), weight=weights)
    model = tq.fuse_modules(model, fuse)
    tq.prepare(model, inplace=True)
    model(x)
    return tq.convert(model)


def dynamic(x, dtype):
    return tq.quantize_dynamic(nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)).eval(), {nn.Linear}, dtype=dtype)


def programs():
    images, rows, few = torch.rand(2, 3, 14, 14), torch.rand(2, 4, 9) - 0.5, torch.randn(3, 4)
    yield "images", static(Images(), images, tq.default_per_channel_weight_observer, [["first", "relu"]]), images
    yield "rows", static(Rows(), rows, tq.default_weight_observer, [["linear", "relu"]]), rows
    yield "dynamic", dynamic(few, torch.qint8), few
    yield "dynamic_fp16", dynamic(few, torch.float16), few
    yield "tables", tables(), (torch.tensor([1, 8, 0, 3, 3]), torch.tensor([0, 2, 2, 5]), torch.tensor([6, 0, 2]))


def save(model, x, path):
    """A trace, without its debug records."""
    whole = io.BytesIO()
    torch.jit.save(torch.jit.trace(model, x), whole)
    without_debug(whole.getvalue(), path)


def main():
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    torch.backends.quantized.engine = "fbgemm"
    for name, model, x in programs():
        save(model, x, os.path.join(HERE, name + ".pt"))
        x = x if isinstance(x, tuple) else (x,)
        with torch.no_grad():
            numpy.savez_compressed(os.path.join(HERE, name + ".npz"), y=model(*x).numpy(), **{"x%s" % (i or ""): t.numpy() for i, t in enumerate(x)})


if __name__ == "__main__":
    main()
