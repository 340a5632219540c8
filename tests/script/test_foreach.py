"""torch._foreach_*: what an operator does, to each item of lists; in place one after the other, since two items may share memory."""
from typing import List

import pytest
import torch
from torch import nn

from scripted import oracle, same

pytestmark = pytest.mark.filterwarnings("ignore")


class Steps(nn.Module):
    """As an optimiser has them."""
    def forward(self, x, y):
        kept: List[torch.Tensor] = [x * 1, y * 1]
        grads = torch._foreach_mul([x, y], 0.5)
        torch._foreach_mul_(kept, 0.9)
        torch._foreach_add_(kept, grads, alpha=0.1)
        torch._foreach_addcdiv_(kept, grads, torch._foreach_add(torch._foreach_abs(grads), 1.0), value=-0.5)
        torch._foreach_sqrt_(torch._foreach_abs(kept))
        torch._foreach_sign_([kept[0]])
        return kept[0], kept[1]


class OfOneMemory(nn.Module):
    """The second item is a part of the first."""
    def forward(self, x, y):
        x, y = x * 1, y + 1
        torch._foreach_mul_([x, x[1:], y], 3.0)
        torch._foreach_add_([y, y.t()], [y, y.t()])
        return x, y


RUNS = [(torch.rand(3) - 0.5, torch.rand(2, 2) - 0.5)]


@pytest.mark.parametrize("model", [Steps, OfOneMemory])
def test_scripted(model, tmp_path):
    same(model(), tmp_path, RUNS, "-i", "x:float32[3]", "-i", "y:float32[2,2]")


@pytest.mark.parametrize("model", [Steps, OfOneMemory])
@pytest.mark.parametrize("decomposed", [False, True])
def test_exported(model, decomposed, tmp_path):
    program = torch.export.export(model(), RUNS[0], strict=False)
    if decomposed:
        program = program.run_decompositions()
    path, out = tmp_path / "model.pt2", tmp_path / "model.onnx"
    torch.export.save(program, str(path))
    oracle.converted(path, out)
    oracle.run(out, [([t.numpy() for t in RUNS[0]], [t.numpy() for t in program.module()(*RUNS[0])])])


class BoolPowers(nn.Module):
    def forward(self, x, y):
        return torch._foreach_pow([x, y], [True, False]) + torch._foreach_pow([x, y], True)


def test_exported_powers_of_bools(tmp_path):
    """torch 2.13 records int64 for them and computes bools."""
    xs = torch.tensor([True, False]), torch.tensor([False, True])
    torch.export.save(torch.export.export(BoolPowers(), xs), str(tmp_path / "model.pt2"))
    oracle.converted(tmp_path / "model.pt2", tmp_path / "model.onnx")
    oracle.run(tmp_path / "model.onnx", [([t.numpy() for t in xs], [t.numpy() for t in BoolPowers()(*xs)])])
