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


class Asks(nn.Module):
    """Questions about types and shapes, as checks of arguments ask them. Python has answered them when the program is saved; the calls are left in it."""
    def forward(self, x, y):
        common = torch.promote_types(x.dtype, y.dtype)
        if torch.can_cast(x.dtype, y.dtype) and not torch.is_same_size(x, y):
            x = x.to(torch.result_type(x, y)) * 2
        assert torch.result_type(x, 3.5) == torch.result_type(3.5, y) == common
        return x.to(common) + y.sum()


def test_answered_questions(tmp_path):
    x, y = torch.arange(4), torch.rand(3)
    program = export(Asks(), (x, y), strict=False)
    asked = {str(n.target) for n in program.graph.nodes}
    assert {"aten.promote_types.default", "aten.can_cast.default", "aten.is_same_size.default", "aten.result_type.Tensor", "aten.result_type.Scalar",
            "aten.result_type.Scalar_Tensor"} <= asked
    torch.export.save(program, str(tmp_path / "model.pt2"))
    oracle.converted(tmp_path / "model.pt2", tmp_path / "model.onnx")
    oracle.run(tmp_path / "model.onnx", [([x.numpy(), y.numpy()], [Asks()(x, y).numpy()])])
