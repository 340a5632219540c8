"""Sizes that are outputs: the node that computes one carries the output's name, wherever that can be."""
import pytest
import torch
from torch import Tensor

from scripted import same

SIZES = [[torch.ones(n, 3)] for n in (5, 2, 1)] + [[-torch.ones(4, 3)]]


class Halved(torch.nn.Module):
    def forward(self, x: Tensor):
        return x * 2, x.size(0) // 2


class Twice(torch.nn.Module):
    def forward(self, x: Tensor):
        n = x.size(0)
        return n // 2, n // 2, n, 3, x[: n // 2]


class Chosen(torch.nn.Module):
    def forward(self, x: Tensor):
        n = x.size(0)
        if bool(x.sum() > 0):
            n = n // 2
        return n, n + 1


@pytest.mark.parametrize("net, identities", [(Halved, 0), (Twice, 2), (Chosen, None)])
def test_sizes_that_are_outputs(tmp_path, net, identities):
    _, kinds = same(net(), tmp_path, SIZES, "-i", "x:float32[N,3]")
    assert identities is None or kinds.count("Identity") == identities


def test_half_a_size_is_four_nodes(tmp_path):
    _, kinds = same(Halved(), tmp_path, SIZES, "-i", "x:float32[N,3]")
    assert kinds == ["Mul", "Shape", "Gather", "Div", "Reshape"]


class Clamped(torch.nn.Module):
    """Clip of ints, which older opsets say as Max and Min: of sizes, these are sizes again."""
    def forward(self, x: Tensor):
        n = torch.tensor(x.size(0))
        y = torch.tensor([x.size(0), 9])
        if bool(x.sum() > 0):
            y = y.clamp(max=4)
        return torch.tensor(x.shape).clamp(max=4), torch.clamp(n, 2, 4), torch.arange(3).clamp(0, x.size(0)), y, x[: int(n.clamp(max=2))]


@pytest.mark.parametrize("opset", [9, 11, 12, 18])
def test_limits_of_sizes(opset, tmp_path):
    same(Clamped(), tmp_path, SIZES, "-i", "x:float32[N,3]", "--opset", str(opset))
