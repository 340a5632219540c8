"""The same operator by a rule in text (docs/rules.md), which also works for saved models and without Python.

    python examples/operators/rules.py model.onnx"""
import os
import sys

import torch

import pt2onnx

library = torch.library.Library("example", "DEF")
library.define("smooth(Tensor x, float strength, int steps) -> Tensor")
library.impl("smooth", lambda x, strength, steps: x * strength ** steps, "CPU")


class Net(torch.nn.Module):
    def forward(self, x):
        return torch.ops.example.smooth(x, 0.5, 2) + 1


here = os.path.dirname(os.path.abspath(__file__))
pt2onnx.export(Net(), torch.rand(2, 3), sys.argv[1], rules=[os.path.join(here, "smooth.rules")], verify=True)
