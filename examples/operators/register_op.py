"""The older way: torch.onnx.symbolic_registry.register_op, for one opset. Newer torch has no such module: install() supplies it.

    python examples/operators/register_op.py model.onnx"""
import sys

import torch

import pt2onnx

pt2onnx.install()

from torch.onnx.symbolic_registry import register_op


def asinh(g, input, *, out=None):
    return g.op("Asinh", input)


register_op("asinh", asinh, "", 9)


class Net(torch.nn.Module):
    def forward(self, x):
        return torch.asinh(x)


torch.onnx.export(Net(), torch.rand(2, 3), sys.argv[1], opset_version=9)
