"""A symbolic function that makes an If, whose two blocks have nodes of their own: the larger half of x, decided when the model runs.

    python examples/operators/blocks.py model.onnx"""
import sys

import torch

import pt2onnx
from pt2onnx.versions import jit_utils, utils      # torch 1.13 and 2.x keep these in different places


class LargerHalf(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        first, second = x.chunk(2)
        return first if first.sum() > second.sum() else second

    @staticmethod
    def symbolic(g, x):
        first, second = g.op("Split", x, g.op("Constant", value_t=torch.tensor([2, 2])), axis_i=0, outputs=2)
        wins = g.op("Greater", g.op("ReduceSum", first, keepdims_i=0), g.op("ReduceSum", second, keepdims_i=0))
        half, (then, other), _ = jit_utils.add_op_with_blocks(g, "If", wins, n_blocks=2)
        for block, value in ((then, first), (other, second)):
            utils._add_output_to_block(block.block, block.op("Identity", value))
        return half.setType(first.type())


class Net(torch.nn.Module):
    def forward(self, x):
        return LargerHalf.apply(x) * 2


pt2onnx.export(Net(), torch.rand(4, 3), sys.argv[1], opset_version=14)
