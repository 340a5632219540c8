"""An operator of one's own, made with torch.library (or in C++), as an operator of one's own in ONNX.

The function holds from opset 9 on. Its result is a node of the domain my.domain, whose version custom_opsets gives; a runtime
has to know that operator.

    python examples/operators/registered_symbolic.py model.onnx"""
import sys

import torch

import pt2onnx
from torch.onnx.symbolic_helper import parse_args

library = torch.library.Library("example", "DEF")
library.define("smooth(Tensor x, float strength, int steps) -> Tensor")
library.impl("smooth", lambda x, strength, steps: x * strength ** steps, "CPU")


@parse_args("v", "f", "i")
def smooth(g, x, strength, steps):
    return g.op("my.domain::Smooth", x, strength_f=strength, steps_i=steps)


torch.onnx.register_custom_op_symbolic("example::smooth", smooth, 9)


class Net(torch.nn.Module):
    def forward(self, x):
        return torch.ops.example.smooth(x, 0.5, 2) + 1


pt2onnx.export(Net(), torch.rand(2, 3), sys.argv[1], custom_opsets={"my.domain": 2})
