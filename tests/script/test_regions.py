"""Regions of a .pt2 that ONNX decides or that mean nothing to it: cond, while_loop, no_grad; as saved and after decomposition."""
import os
import sys

import onnx
import pytest
import torch
from torch import nn
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim, export

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import oracle                                                       # noqa: E402


class Cond(nn.Module):
    def forward(self, x):
        a, b = torch.cond(x.sum() > 0, lambda x: (x * 2, x.sum()), lambda x: (x - 1, x.mean()), (x,))
        return a + b


class CondOnSize(nn.Module):
    def forward(self, x):
        return torch.cond(x.shape[0] > 3, lambda x: x * 2, lambda x: x + 1, (x,))


class While(nn.Module):
    def forward(self, i, x):
        return while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 2), (i, x))


class NoGrad(nn.Module):
    def forward(self, x):
        y = x * 2
        with torch.no_grad():
            z = y + 1
        return z * x


def tensors(*sizes):
    return [(torch.rand(n) * sign,) for n in sizes for sign in (1, -1)]


CASES = [(Cond, tensors(4), None, "If"), (CondOnSize, tensors(2, 4, 7), ({0: Dim("n", min=1, max=20)},), "If"),
         (While, [(torch.tensor(i), torch.rand(3)) for i in (1, 4, 9)], None, "Loop"), (NoGrad, tensors(3), None, None)]


@pytest.mark.parametrize("decomposed", [False, True])
@pytest.mark.parametrize("model,runs,sizes,node", CASES, ids=lambda v: v.__name__ if isinstance(v, type) else "")
def test_region(model, runs, sizes, node, decomposed, tmp_path):
    module = model().eval()
    program = export(module, runs[0], dynamic_shapes=sizes)
    if decomposed:
        program = program.run_decompositions({})
    torch.export.save(program, str(tmp_path / "model.pt2"))
    out = tmp_path / "model.onnx"
    oracle.converted(tmp_path / "model.pt2", out)
    oracle.check(out)
    results = [module(*r) for r in runs]
    oracle.run(out, [([x.numpy() for x in r], [y.numpy() for y in (w if isinstance(w, (list, tuple)) else [w])]) for r, w in zip(runs, results)])
    found = [n.op_type for n in onnx.load(str(out)).graph.node]
    assert (node in found) if node else not {"If", "Loop"} & set(found)
