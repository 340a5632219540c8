"""A symbolic function put into torch's own module for an opset: it holds from that opset on.

    python examples/operators/opset_module.py model.onnx"""
import sys

import torch

import pt2onnx
import torch.onnx.symbolic_opset9


def log1p(g, x):
    return g.op("Log", g.op("Add", x, g.op("Constant", value_t=torch.tensor(1.0))))


torch.onnx.symbolic_opset9.log1p = log1p


class Net(torch.nn.Module):
    def forward(self, x):
        return torch.log1p(x)


pt2onnx.export(Net(), torch.rand(2, 3), sys.argv[1])
