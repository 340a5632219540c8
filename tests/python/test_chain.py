"""The archives that tools/write_chain.py makes are what torch would have saved."""
import os
import sys

import numpy
import onnx
import torch
from torch import nn

import oracle

sys.path.insert(0, os.path.join(oracle.TOP, "tools"))
import write_chain                                                  # noqa: E402


class Layer(nn.Module):
    def __init__(self, w, b):
        super().__init__()
        self.weight = nn.Parameter(torch.from_numpy(w))
        self.bias = nn.Parameter(torch.from_numpy(b))

    def forward(self, input):
        return torch.relu(nn.functional.linear(input, self.weight, self.bias))


class Chain(nn.Module):
    def __init__(self, layers, width):
        super().__init__()
        self.n = layers
        for i, (w, b) in enumerate(write_chain.weights(layers, width)):
            setattr(self, "l%d" % i, Layer(w, b))

    def forward(self, x):
        for i in range(self.n):
            x = getattr(self, "l%d" % i)(x)
        return x


def test_250_layers(tmp_path):
    ours, theirs = str(tmp_path / "ours.pt"), str(tmp_path / "theirs.pt")
    write_chain.write(ours, 250, 8)
    x = torch.rand(3, 8, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        traced = torch.jit.trace(Chain(250, 8).eval(), x)
        torch.jit.save(traced, theirs)
        want = traced(x).numpy()
        assert (torch.jit.load(ours)(x).numpy() == want).all()
    assert numpy.abs(want).max() > 1e-3
    kinds = []
    for path in (ours, theirs):
        oracle.converted(path, path + ".onnx", "-i", "x:float32[3,8]")
        oracle.check(path + ".onnx")
        oracle.run(path + ".onnx", [([x.numpy()], [want])])
        kinds.append([n.op_type for n in onnx.load(path + ".onnx").graph.node])
    assert kinds[0] == kinds[1] and len(kinds[0]) == 500
