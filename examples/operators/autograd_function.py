"""An autograd Function says itself what it is in ONNX: its static method `symbolic`.

    python examples/operators/autograd_function.py model.onnx"""
import sys

import torch

import pt2onnx


class ScaledAdd(torch.autograd.Function):
    """2*a + b, computed where torch's tracer cannot look (a C++ extension, say)."""

    @staticmethod
    def forward(ctx, a, b, factor):
        return factor * a + b

    @staticmethod
    def symbolic(g, a, b, factor):                      # tensors are values of the graph, all else is what Python passed
        constant = g.op("Constant", value_t=torch.tensor([factor]))
        return g.op("Add", g.op("Mul", a, constant), b)


class Net(torch.nn.Module):
    def forward(self, a, b):
        return ScaledAdd.apply(a, b, 2.0)


x = torch.rand(2, 3)
pt2onnx.export(Net(), (x, x), sys.argv[1], verify=True)
