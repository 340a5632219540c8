"""Functions that somebody else wrote, without `symbolic`: one function for prim::PythonOp lowers them all, told apart by name.

    python examples/operators/python_op.py model.onnx"""
import sys

import torch

import pt2onnx


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low):
        return x.clamp(min=low)


def python_op(g, *args, name, **more):
    if name == "Clip":
        return g.op("Max", args[0], g.op("Constant", value_t=torch.tensor(args[1])))
    return torch.onnx.symbolic_helper._unimplemented("prim::PythonOp", "unknown Function: " + name)


torch.onnx.register_custom_op_symbolic("prim::PythonOp", python_op, 9)


class Net(torch.nn.Module):
    def forward(self, x):
        return Clip.apply(x, 0.25)


pt2onnx.export(Net(), torch.rand(2, 3), sys.argv[1], verify=True)
