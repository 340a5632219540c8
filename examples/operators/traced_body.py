"""An autograd Function that nobody translates: what its forward has done is exported.

    python examples/operators/traced_body.py model.onnx"""
import sys

import torch

import pt2onnx


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * x * x


class Net(torch.nn.Module):
    def forward(self, x):
        return Cube.apply(x).relu()


pt2onnx.export(Net(), torch.rand(2, 3), sys.argv[1])
