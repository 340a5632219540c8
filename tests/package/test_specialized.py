"""dynamic_axes of a size that the trace has specialized: one warning, with its line; none of a size that stays dynamic."""
import inspect
import math

import pytest
import torch

from helpers import TORCH_2, agrees, checked


class Rows(torch.nn.Module):
    def forward(self, x):
        out = []
        for i in range(x.shape[1]):
            out.append(x[:, i] * (i + 1))          # here
        return torch.stack(out, 1)


class Filled(torch.nn.Module):
    def forward(self, x):
        out, total = torch.zeros(x.shape), x.sum()
        for i in range(x.shape[1]):
            out[:, i] = total * i          # here
        return out


class Root(torch.nn.Module):
    def forward(self, x):
        return x / math.sqrt(x.size(1))          # here


class Shape(torch.nn.Module):
    def forward(self, x):
        return x * torch.tensor(x.shape).prod()          # here


class Half(torch.nn.Module):
    def forward(self, x):
        return torch.roll(x, int(x.shape[1]) // 2, 1)          # here


class Weight(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.rand(7))

    def forward(self, x):
        return x + self.bias          # here


FIXED = [
    (Rows, r"reads positions 0 to 6 of it by number"),
    (Filled, r"writes positions 0 to 6 of "),
    (Root, r"has the number sqrt\(7\)"),
    (Shape, r"has the example's sizes \[2, 7\] as a constant"),
    (Half, r"rolls it by [34], half of 7"),
    (Weight, r"combines it with a size of 7"),
]


@pytest.mark.parametrize("module, says", FIXED, ids=[m.__name__ for m, _ in FIXED])
def test_a_size_that_the_trace_has_fixed_is_a_warning(module, says):
    module = module().eval()
    lines, first = inspect.getsourcelines(type(module))
    here = first + next(i for i, line in enumerate(lines) if "# here" in line)
    says = r"dimension 1 \(L\) of x does not stay dynamic, it was 7 in the trace's example: .*test_specialized.py:%d %s" % (here, says)
    with pytest.warns(torch.onnx.errors.OnnxExporterWarning, match=says) as told:
        model = checked(module, torch.rand(2, 7), input_names=["x"], dynamic_axes={"x": {0: "N", 1: "L"}})
    assert sum("(L) of x" in str(w.message) for w in told) == 1
    agrees(model, module, torch.rand(2, 7))


def test_a_saved_trace_is_told_alike():
    traced = torch.jit.trace(Rows(), torch.rand(2, 7))
    if not TORCH_2:
        pytest.skip("torch 1.13 does not save the example's sizes")
    with pytest.warns(torch.onnx.errors.OnnxExporterWarning, match=r"dimension 1 \(L\) of x does not stay dynamic"):
        checked(traced, torch.rand(2, 7), input_names=["x"], dynamic_axes={"x": {0: "N", 1: "L"}})


@pytest.mark.parametrize("function", [
    lambda x: x.cumsum(1) / x.shape[1],
    lambda x: (x.view(x.shape[0], x.shape[1], 4, 2) / math.sqrt(2)).flatten(2),
    lambda x: x[:, 0] + x[:, -1],
    lambda x: x.flip(1) + torch.arange(x.shape[1]).unsqueeze(1),
])
@pytest.mark.parametrize("length", [4, 8])
def test_a_size_that_stays_dynamic_is_not(function, length, recwarn):
    model = checked(function, torch.rand(2, length, 8), input_names=["x"], dynamic_axes={"x": {0: "N", 1: "L"}})
    assert not [w for w in recwarn if "does not stay dynamic" in str(w.message)]
    agrees(model, function, torch.rand(3, 9, 8))
