"""Numbers that the data of a .pt2 gives (item, nonzero): as ends of slices, as sizes, beside what the program's checks say about them."""
import os
import sys

import pytest
import torch
from torch import nn
from torch.export import Dim, export

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import oracle                                                       # noqa: E402


class First(nn.Module):
    """The file says that the slice is as long as its end, so never cut short by the tensor."""
    def forward(self, x):
        n = (x > 0).sum().item()
        torch._check(n >= 0)
        torch._check(n <= x.shape[0] * 3)
        y = x.flatten()[:n]
        return y, y.shape[0] * 2, torch.arange(n)


class Last(nn.Module):
    def forward(self, x):
        n = (x > 0).sum().item()
        torch._check(n >= 0)
        torch._check(n <= x.shape[0] * 3)
        return x.flatten()[n:].clone() + 1, x.flatten().narrow(0, 0, n)


@pytest.mark.parametrize("decomposed", [False, True])
@pytest.mark.parametrize("model", [First, Last])
def test_end_of_a_slice(model, decomposed, tmp_path):
    torch.manual_seed(1)
    runs = [(torch.randn(n, 3) + shift,) for n in (5, 2, 9) for shift in (0, 3, -3)]
    program = export(model(), runs[0], dynamic_shapes=({0: Dim.DYNAMIC},))
    torch.export.save(program.run_decompositions({}) if decomposed else program, str(tmp_path / "model.pt2"))
    oracle.converted(tmp_path / "model.pt2", tmp_path / "model.onnx")
    oracle.check(tmp_path / "model.onnx")

    def numpy(y):
        return y.numpy() if isinstance(y, torch.Tensor) else torch.tensor(y).numpy()
    oracle.run(tmp_path / "model.onnx", [([r[0].numpy()], [numpy(y) for y in model()(*r)]) for r in runs])
